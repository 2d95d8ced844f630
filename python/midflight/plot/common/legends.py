"""Legends of figures: which entries they have, in which order, and in how many columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from midflight.plot.common.style import CORNERS, is_paper, labelled, legend_place, text_width
from midflight.plot.over_time.marks import EVENTS
from midflight.refusal import refusal
from midflight.remark import warn_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["joined_timeouts", "legend"]

#: The sizes of a legend's letters, and in these of its samples and of what is beside them.
_SIZES = ("fontsize", "handlelength", "handletextpad", "columnspacing")
#: The length of the samples of broken lines with markers, which hide the gaps of short ones.
_BROKEN_LENGTH, _BROKEN_IN_PAPER = 3.8, 2.8
#: More names in a panel would hide its lines.
_MOST_INSIDE = 9
#: The room between the rows of a legend that has lines and marks, in the size of its letters.
_LOW_SPACING = 0.3
#: Marks in a legend are no smaller, in points.
_LEAST_MARK_PT = 3.8


def joined_timeouts(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of a legend with one for both kinds of timeouts, if there are both."""
    timeout, spurious = (EVENTS[one].label for one in ("timeout", "spurious"))
    if not {timeout, spurious} <= entries.keys():
        return dict(entries)
    joined = f"{timeout} (hollow: spurious)"
    kept = {name: one for name, one in entries.items() if name != spurious}
    return {joined if name == timeout else name: one for name, one in kept.items()}


def legend(
    figure: Figure,
    entries: Mapping[str, Any],
    *,
    loc: Literal["outside upper center", "outside lower center"],
    title: str = "",
    most: int = 9,
    lines: Collection[str] | None = None,
    first: Collection[str] | None = None,
    may_grow: bool = False,
) -> None:
    """Put a legend outside the axes, to be read line by line, in as many columns as fit, at most
    `most`; `entries` are the drawn objects by name.

    Where the user wants it inside a panel, only the `lines` are there (by default all), and what
    their marks are stays outside. It covers nothing that is drawn: the axis of values grows if it
    `may_grow`, or else the legend is above the panels, with a note; but for that in a corner. The
    `first` entries have rows of their own, by default the lines.
    """
    import matplotlib as mpl

    place = legend_place()
    if place == "none":
        return
    if figure.get_suptitle():
        # The title of several panels has the place above them.
        loc = "outside lower center"
    longer: Any = {"legend.handlelength": _BROKEN_IN_PAPER if is_paper() else _BROKEN_LENGTH}
    with mpl.rc_context(longer if any(map(_is_broken, entries.values())) else {}):
        if place != "inside":
            _put(figure, entries, place, loc, title, most, lines, first)
            return
        inner = {name: entries[name] for name in entries if lines is None or name in lines}
        if rest := {name: entries[name] for name in entries if name not in inner}:
            _put(figure, rest, "outside", loc, "", most, None, None)
        if inner and not _put_inside(figure, inner, title, may_grow):
            said = "there is no room that is free of data; the legend is above the panel"
            warn_of([f"--legend inside: {said}{'' if lines is None else 's'}"])
            above = loc if lines is None else "outside upper center"
            _put(figure, inner, "outside", above, title, most, None, first)


def _put_inside(figure: Figure, entries: Mapping[str, Any], title: str, may_grow: bool) -> bool:
    """Put a legend inside the first panel where it covers nothing; return whether there is one."""
    from midflight.plot.common.legend_room import settle

    places = [axes.get_position() for axes in figure.axes]
    # Bands have no values.
    for panel in (axes for axes in figure.axes if axes.get_ylabel()):
        inside = _inside(panel, entries, "inside", title)
        if settle(figure, panel, inside, may_grow=may_grow):
            return True
        inside.remove()
        for axes, place in zip(figure.axes, places, strict=True):
            axes.set_position(place)
            # A position that is set takes axes out of the layout, and the legend needs room above.
            axes.set_in_layout(True)
    return False


def _inside(panel: Axes, entries: Mapping[str, Any], place: str, title: str) -> Any:
    """Return a legend with these entries inside a panel.

    Raises `MidflightError` for too many entries.
    """
    if len(entries) > _MOST_INSIDE:
        raise refusal(
            f"--legend {place} is for up to {_MOST_INSIDE} names; this figure has {len(entries)}",
            name="--legend",
            value=place,
            accepted="outside, none",
        )
    how: Any = {"loc": CORNERS.get(place, "best"), "title": labelled(title) or None}
    inside = panel.legend(*_shown_entries(entries, 1), frameon=True, framealpha=0.95, **how)
    # Above the marks.
    inside.set_zorder(20)
    return inside


def _is_broken(handle: Any) -> bool:
    """Whether a sample is a broken line with a marker."""
    from matplotlib.lines import Line2D

    is_line = isinstance(handle, Line2D) and handle.get_marker() not in ("None", "none", "")
    return is_line and handle.is_dashed()


def _put(
    figure: Figure,
    entries: Mapping[str, Any],
    place: str,
    loc: Literal["outside upper center", "outside lower center"],
    title: str,
    most: int,
    lines: Collection[str] | None,
    first: Collection[str] | None,
) -> None:
    """Put a legend at its place, with the other arguments of `legend`."""
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    rest = dict(entries)
    if place != "outside":
        inner = {name: rest.pop(name) for name in entries if lines is None or name in lines}
        if inner:
            # Bands have no values.
            panel = next(axes for axes in figure.axes if axes.get_ylabel())
            _inside(panel, inner, place, title)
        title = ""
    if not rest:
        return
    room = figure.get_size_inches()[0] * 72
    own = lines if first is None else first
    named = {name: one for name, one in rest.items() if own is None or name in own}
    if title and named and len(rest) < most:
        # Before its entries, if all are one line: nothing is drawn before it.
        others = {name: one for name, one in rest.items() if name not in named}
        entitled = {f"{title}:": Line2D([], [], linestyle="none"), **named}
        inline = {**others, **entitled} if first is None else {**entitled, **others}
        if sum(_entry_widths(inline)) <= room:
            rest, title = inline, ""
    title = labelled(title)
    is_long = is_paper() and len(named) > 1 and sum(_entry_widths(rest)) > room
    if (title or is_long) and 0 < len(named) < len(rest):
        # With columns of their own both have fewer rows.
        others = {name: one for name, one in rest.items() if name not in named}
        low: Any = {"labelspacing": _LOW_SPACING}
        drawn = figure.legend(**_rows(named, room, most), loc=loc, title=title or None, **low)
        _add_rows(drawn, Legend(figure, **_rows(others, room, most), **low))
    else:
        figure.legend(**_rows(rest, room, most), loc=loc, title=title or None)


def _rows(entries: Mapping[str, Any], room: float, most: int) -> dict[str, Any]:
    """The arguments for a legend of these entries, which has room of so many points."""
    columns = _columns([*entries], room, most)
    handles, names = _shown_entries(entries, columns)
    return {"handles": handles, "labels": names, "ncols": columns}


def _add_rows(first: Any, other: Any) -> None:
    """Put the entries of another legend, in their own columns, below those of the first one."""
    first._legend_box.get_children().append(other._legend_handle_box)
    first.texts.extend(other.texts)
    first.legend_handles.extend(other.legend_handles)


def _columns(names: Sequence[str], room: float, most: int) -> int:
    """How many columns of entries with these names have room, in points; of those with as few rows
    the fewest, so that rows are about as long.
    """
    widths = _entry_widths(names)
    fits = [
        n
        for n in range(1, min(len(names), most) + 1)
        if n == 1 or sum(max(widths[k::n]) for k in range(n)) <= room
    ]
    return min(fits, key=lambda n: (math.ceil(len(names) / n), n))


def _entry_widths(names: Iterable[str]) -> list[float]:
    """The widths of entries of a legend with these names, in points."""
    # The sample of each, what is between the two, and what is between columns.
    import matplotlib as mpl

    of: Any = mpl.rcParams
    size, length, pad, spacing = (float(of[f"legend.{one}"]) for one in _SIZES)
    beside = (length + pad + spacing) * size
    return [text_width(_entry(name), size) + beside + 1 for name in names]


def _entry(name: str) -> str:
    """A name as a legend shows it: a dollar sign of data begins no mathematics."""
    return labelled(name, plain=lambda text: text.replace("$", r"\$"))


def _shown_entries(entries: Mapping[str, Any], columns: int) -> tuple[list[Any], list[str]]:
    """The objects and names of a legend with so many columns, which matplotlib fills one by one."""
    names = list(entries)
    order = [
        names[place] for first in range(columns) for place in range(len(names))[first::columns]
    ]
    return [_legible(entries[one]) for one in order], [_entry(one) for one in order]


def _legible(handle: Any) -> Any:
    """What stands for dots in a legend: dots that can be seen, however small those drawn are."""
    from matplotlib.lines import Line2D

    if not isinstance(handle, Line2D) or handle.get_linestyle() != "None":
        return handle
    dot = Line2D([], [])
    dot.update_from(handle)
    # A "." is half as large as its size says.
    least = 2 * _LEAST_MARK_PT if handle.get_marker() == "." else _LEAST_MARK_PT
    dot.set_markersize(max(float(handle.get_markersize()), least))
    return dot
