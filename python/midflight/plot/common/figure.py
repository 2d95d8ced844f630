"""Common code of the figures of runs and of results: writing, labels and layout."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from midflight.plot.common.band_above import room_above
from midflight.plot.common.coincide import usual_line
from midflight.plot.common.legends import legend
from midflight.plot.common.line_looks import line_named_by
from midflight.plot.common.options import (
    Ends,
    Labels,
    Limits,
    check_is_seen,
    choose_axes,
    dress_panels,
)
from midflight.plot.common.style import (
    MOST_IN,
    arrange,
    balanced,
    captioned,
    check_format,
    chosen_axes,
    chosen_style,
    figure_bytes,
    labelled,
    legend_place,
    typeset,
    wrapped,
)
from midflight.refusal import refusal
from midflight.run_tables import write_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

__all__ = [
    "SMALL_PT",
    "Dress",
    "check_dress",
    "dressed",
    "figure_of",
    "finish_panels",
    "is_only_line",
    "label_axes",
    "label_panels",
    "only_line_words",
    "write_figure",
]

#: The places of what is drawn, across and up.
_Seen: TypeAlias = tuple[Iterable[float], Iterable[float]]
#: Size of the letters of what is said beside a plot.
SMALL_PT = 6.5
#: How it looks.
_CAPTION: Mapping[str, Any] = {"fontsize": SMALL_PT, "color": "0.35", "parse_math": False}


class Dress(TypedDict, total=False):
    """What every function that draws a figure accepts of how it looks."""

    #: "plain", or "paper" (serif, a column wide, framed).
    look: str | None
    #: "sans", "serif" or "latex".
    font: str | None
    #: Other names for lines and links, by the usual ones.
    labels: Mapping[str, str] | None
    #: "outside" (the default), "inside", a corner such as "upper-left", or "none".
    legend: str | None
    #: The ends of the horizontal axis of results.
    xlim: Ends | None
    #: The ends of the axis of values, in a figure with one panel; of panels over time by their
    #: kinds.
    ylim: Limits | None
    #: The ends of the colours of a heat map.
    vlim: Ends | None
    #: Labels in place of those of the axes, which may have mathematics between dollar signs; of
    #: panels over time by their kinds.
    xlabel: str | None
    ylabel: Labels | None
    #: Whether small letters above the panels say what the values are (default: they do).
    captions: bool | None
    #: A file for the data of the figure.
    csv: str | Path | None


def check_dress(plot: Callable[..., Path], dress: Mapping[str, object]) -> None:
    """Raise `TypeError` for keywords that a function with a `Dress` does not accept."""
    from midflight.meant import did_you_mean

    unknown = [one for one in dress if one not in Dress.__annotations__]
    if unknown:
        own = [*inspect.signature(plot).parameters][:-1]
        accepted = [*(one for one in own if one not in ("source", "path")), *Dress.__annotations__]
        given = ", ".join(f'"{one}"{did_you_mean(one, accepted)}' for one in unknown)
        raise TypeError(
            f"{plot.__name__} does not accept {given}; its keywords are {', '.join(accepted)}"
        )


#: The figures of `figure_of`.
_KEPT: ContextVar[list[Figure] | None] = ContextVar("kept", default=None)


def dressed(dress: Dress, suffix: str = "") -> AbstractContextManager[None]:
    """Return the context in which a figure looks so, in a file with a suffix."""
    return chosen_style(
        dress.get("look"),
        dress.get("font"),
        legend=dress.get("legend"),
        labels=dress.get("labels"),
        captions=dress.get("captions"),
        axes=choose_axes(
            dress.get("xlim"),
            dress.get("ylim"),
            dress.get("xlabel"),
            dress.get("ylabel"),
            dress.get("vlim"),
        ),
        suffix=suffix,
    )


def write_figure(
    path: str | Path,
    draw: Callable[[], Figure],
    table: Iterable[Sequence[object]],
    dress: Dress,
) -> Path:
    """Draw a figure and write it, and the table with its head if a file for it is given.

    Nothing is written if it cannot be drawn. Returns the path of the figure.
    """
    path = Path(path)
    suffix = check_format(path)
    kept, csv = _KEPT.get(), dress.get("csv")
    if kept is None and csv is not None and Path(csv).resolve() == path.resolve():
        accepted = "a file of its own"
        raise refusal(
            f"csv is the file of the figure, {path}; expected {accepted}",
            name="csv",
            value=csv,
            accepted=accepted,
        )
    with dressed(dress, suffix):
        figure = draw()
        drawn = figure_bytes(figure, suffix) if kept is None else b""
    if kept is not None:
        kept.append(figure)
    if csv is not None:
        # The figure is written only if its data can be.
        head, *rows = table
        place = Path(csv)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w", newline="", encoding="utf-8") as file:
            write_cells(file, [str(one) for one in head], rows)
    if kept is None:
        path.write_bytes(drawn)
    return path


def figure_of(plot: Callable[..., Path], source: Any, *args: Any, **named: Any) -> Figure:
    """Return the figure that a function of `midflight.plot` draws, as matplotlib's, to be changed.

    `plot` is such a function, `source` its source; the other arguments are its own, without the
    path: `figure_of(plot_over_time, "wifi-to-lte", ["throughput"], schemes=["sack", "vho"])`. The
    figure can be saved with `Figure.savefig`. Raises what `plot` raises, such as `TypeError` for a
    keyword that it does not accept.
    """
    token = _KEPT.set([])
    try:
        plot(source, "figure.png", *args, **named)
        kept = _KEPT.get() or []
    finally:
        _KEPT.reset(token)
    figure = kept[-1]
    figure.set_layout_engine("constrained")
    return figure


def label_axes(
    figure: Figure,
    axes: Axes,
    x_title: str,
    y_title: str,
    lines_title: str,
    *,
    title: str | None = None,
    kind: str = "",
    remark: str = "",
    detail: str = "",
    x_refused: str = "",
    entries: Mapping[str, Any] | None = None,
    seen: _Seen = ((), ()),
    units: tuple[str, str] = ("", ""),
) -> None:
    """Write what the axes are, wrapped to the figure, and name the lines above them.

    `kind` is that of the figure. `title` is the user's text, which may have mathematics between
    dollar signs. Below it, in small letters, stand `remark`, and `detail`, which says what the
    marks are, such as "medians and quartiles", and may be left out. `x_refused` is why the ends of
    the horizontal axis cannot be chosen. `entries` are those of the legend, by default the lines
    with a name. `seen` are the places of what is drawn, across and up, in these units: ends of an
    axis without any of them are refused.
    """
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    for put, text, room in (
        (axes.set_xlabel, x_title, width - 0.6),
        (axes.set_ylabel, y_title, height - 0.9),
    ):
        put(wrapped(labelled(text), 7.5, room * 72), parse_math=False)
    typed = typeset("--title", title or "")
    axes.set_title(wrapped(typed, 7.5, (width - 0.6) * 72), parse_math=True)
    beside = _BESIDE_MAP_IN if kind == "heatmap" else 0.6
    handles, labels = axes.get_legend_handles_labels()
    is_alone = is_only_line(labels)
    if is_alone:
        remark = only_line_words(labels[0], lines_title, x_title, remark)
    if detail := _caption(remark, detail, (width - beside) * 72):
        # Above it stands the title, if there is one.
        places: Any = {"xycoords": "axes fraction", "textcoords": "offset points"}
        places |= {"ha": "right", "va": "bottom", "annotation_clip": False}
        band = room_above(axes)
        axes.annotate(detail, (1.0, 1.0), xytext=(0, 4 + band), **places, **_CAPTION)
        pad = 7 + band + 1.3 * SMALL_PT * len(detail.splitlines())
        axes.set_title(axes.get_title(), pad=pad)
    dress_panels([(kind, axes)], x_refused=x_refused, is_map=kind == "heatmap")
    _check_seen(seen, units)
    choice = chosen_axes()
    if labels and not is_alone:
        # The colours of one column have no markers, as those of another have the line styles.
        plain = [
            name
            for name, one in (entries or {}).items()
            if isinstance(one, Line2D) and one.get_marker() == "None"
        ]
        usual = (usual_line(one) for one in handles)
        entries = entries or dict(zip(labels, usual, strict=True))
        # A share is at most 1, and chosen ends stay.
        is_fixed = kind.endswith("cdf") or bool(choice is not None and choice.ylim)
        above: Any = {"loc": "outside upper center", "may_grow": not is_fixed}
        legend(figure, entries, title=lines_title, first=plain or None, **above)


def is_only_line(labels: Collection[str]) -> bool:
    """Whether a figure of results with lines of these names needs no legend: it has one line, and
    no place for a legend was chosen.
    """
    return len({*labels}) == 1 and legend_place() in ("outside", "none")


def only_line_words(label: str, lines_title: str, x_title: str, remark: str) -> str:
    """Return what stands above a figure that `is_only_line`, with the name of its line, unless the
    title of the axis or the remark has it.
    """
    if legend_place() == "none" or not line_named_by(label, x_title):
        return remark
    # What rows are kept by is said already.
    known = {one.rpartition(": ")[2] for one in remark.split("; ")}
    parts = [one for one in label.split(", ") if one not in known]
    if not parts:
        return remark
    words = ", ".join(parts)
    words = f"{lines_title}: {words}" if lines_title else words
    return "; ".join(filter(None, (words, remark)))


def _check_seen(seen: _Seen, units: tuple[str, str]) -> None:
    """Refuse chosen ends of an axis without any of the places that are drawn."""
    if (choice := chosen_axes()) is None:
        return
    check_is_seen("--xlim", choice.xlim, seen[0], units[0])
    for ends in choice.ylim.values():
        check_is_seen("--ylim", ends, seen[1], units[1])


def _caption(remark: str, detail: str, room_pt: float) -> str:
    """What stands in small letters above a figure, wrapped to the room for it."""
    text = "; ".join(filter(None, (labelled(remark), captioned(labelled(detail)))))
    return balanced(text, SMALL_PT, room_pt)


#: What is beside the text above a map, which ends with it: the bar of colours, in inches.
_BESIDE_MAP_IN = 1.3
#: The width of the text above panels in a row, in panels.
_MOST_PANELS_WIDE = 1.9


def label_panels(
    figure: Figure,
    panels: Sequence[tuple[Axes, str, str]],
    room_pt: tuple[float, float],
    kind: str,
    *,
    title: str | None = None,
    remark: str = "",
    detail: str = "",
    x_refused: str = "",
    seen: _Seen = ((), ()),
    units: tuple[str, str] = ("", ""),
) -> None:
    """Write what the axes of panels of one kind are, each with its titles, "" for none, which have
    so much room across and up; the other arguments are those of `label_axes`, and what they say is
    above all panels.
    """
    from matplotlib.transforms import ScaledTranslation

    width, _ = figure.get_size_inches()
    across, up = room_pt
    for axes, x_title, y_title in panels:
        axes.set_xlabel(wrapped(labelled(x_title), 7.5, across), parse_math=False)
        axes.set_ylabel(wrapped(labelled(y_title), 7.5, up), parse_math=False)
    if title:
        above = wrapped(typeset("--title", title), 7.5, (width - 0.4) * 72)
        figure.suptitle(above, fontsize=7.5, parse_math=True)
    # Beside the layout's panel its middle would take room.
    beside = _BESIDE_MAP_IN if kind == "heatmap" else 0.9
    widest = min((width - beside) * 72, _MOST_PANELS_WIDE * across)
    if detail := _caption(remark, detail, widest):
        rows = [axes.get_subplotspec() for axes, _, _ in panels]
        last = max(n for n, one in enumerate(rows) if one is None or one.rowspan.start == 0)
        place = rows[last]
        # Beside a row that is not full there is nothing to end with.
        is_short = place is not None and place.colspan.stop < place.get_gridspec().ncols
        first = panels[0 if is_short else last][0]
        drawn = first.set_title(detail, loc="left" if is_short else "right", **_CAPTION)
        if any(axes.get_title() for axes, _, _ in panels):
            # Above the names of the panels.
            band = max(room_above(axes) for axes, _, _ in panels[: last + 1])
            raised = ScaledTranslation(0, (11 + band) / 72, figure.dpi_scale_trans)
            drawn.set_transform(drawn.get_transform() + raised)
    named = [(kind, axes) for axes, _, _ in panels]
    room: Any = {"width_in": across / 72, "height_in": up / 72}
    dress_panels(named, x_refused=x_refused, is_map=kind == "heatmap", **room)
    _check_seen(seen, units)


def _has_room(figure: Figure, panels: Sequence[tuple[str, Axes]]) -> bool:
    """Place the panels, and return whether each is high enough."""
    with warnings.catch_warnings():
        # If nothing is left for the panels, they stay where they were.
        warnings.filterwarnings("error", "constrained_layout not applied", UserWarning)
        try:
            arrange(figure)
        except UserWarning:
            return False
    height = figure.get_size_inches()[1]
    heights = (axes.get_position().height * height for _, axes in panels)
    return min(heights, default=1.0) >= _LEAST_PANEL_IN


#: Panels that are lower cannot be read, in inches.
_LEAST_PANEL_IN = 0.35


def finish_panels(
    figure: Figure,
    panels: Sequence[tuple[str, Axes]],
    entries: Mapping[str, Any],
    title: str | None,
    names: str = "",
    lines: Collection[str] | None = None,
    *,
    has_ends: bool = False,
) -> None:
    """Put a title above panels over time, each with its kind, and a legend below them, and give
    them their places.

    `names` is what the names of the lines in the legend are, if it needs to be said. `lines` are
    the entries that a legend inside a panel has, by default all. With `has_ends` the axes of values
    have the chosen ends already (`choose_ends`).

    Raises `MidflightError` if the figure leaves too little room for the panels.
    """
    width, height = figure.get_size_inches()
    # Those of a row are side by side.
    rows = len({round(axes.get_position().y0, 6) for _, axes in panels})
    room = (height - 0.6) / max(1, rows)
    dress_panels(panels, has_ends=has_ends, x_refused="give --from and --until", height_in=room)
    if title:
        figure.suptitle(
            wrapped(typeset("--title", title), 7.5, (width - 0.6) * 72), parse_math=True
        )
    legend(figure, entries, loc="outside lower center", title=names, most=6, lines=lines)
    places = [axes.get_position() for axes in figure.axes]
    if not _has_room(figure, panels):
        needed = _needed_height(figure, panels, places)
        if needed is None:
            advice = "give a larger width or fewer panels, or --legend none"
        else:
            advice = f"give --size {width:g}x{needed:g} or more, or --legend none"
        raise refusal(
            f"a figure of {width:g} x {height:g} in has no room for its panels and its legend; "
            f"{advice}",
            name="--size",
            value=f"{width:g}x{height:g}",
            accepted="a larger size",
        )


def _needed_height(
    figure: Figure, panels: Sequence[tuple[str, Axes]], places: Sequence[Bbox]
) -> float | None:
    """Return the least height, in tenths of an inch, with which a figure that is too low has room
    for its panels; None if no accepted height is enough. `places` are those of its axes before they
    were arranged.
    """
    width, height = figure.get_size_inches()

    def is_enough(tenths: int) -> bool:
        figure.set_size_inches(width, tenths / 10)
        for axes, place in zip(figure.axes, places, strict=True):
            axes.set_position(place)
            # A position that is set takes axes out of the layout.
            axes.set_in_layout(True)
        return _has_room(figure, panels)

    low, high = math.floor(10 * height), math.floor(10 * MOST_IN)
    if not is_enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high / 10
