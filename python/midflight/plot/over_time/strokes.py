"""How the curves of panels over time are drawn: lines, bands, dots, bars, and rows of marks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from midflight.plot.common.line_looks import look_of
from midflight.plot.common.style import Look, captioned, is_paper, lighter, text_width
from midflight.plot.over_time.crowded import with_room
from midflight.plot.over_time.curves import Curve, Draw, Panel, Values
from midflight.plot.over_time.history import NS_PER_S
from midflight.plot.over_time.marks import (
    AT_TIMEOUTS,
    EVENTS,
    GROUPS,
    LASTING,
    STALL,
    TIMEOUTS,
    UNHEARD,
    Event,
    marker_of,
)
from midflight.plot.over_time.panel_scales import SPANS
from midflight.plot.over_time.room import MOST_VECTORS, PANEL_IN, Room, draw_dots, widened
from midflight.plot.over_time.together import LINE_PT, LineStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from midflight.plot.over_time.curves import WatchedRun

__all__ = [
    "LINES",
    "STROKED",
    "Stroke",
    "causes_of_losses",
    "clear_of_counts",
    "draw_curve",
    "draw_in_row",
    "draw_row_names",
    "draw_whole_markers",
    "is_stroked",
    "larger_words",
    "line_sample",
    "row_height",
    "rows_of",
    "share_above",
]

_MARKERS = 7
#: The share of the height of a panel for a row of marks, and for all.
_ROW, _ROWS = 0.085, 0.34
#: How far below a frame they begin.
_BELOW_FRAME = 0.025
#: How large a mark of a row is that is of so many events or more, in sizes of its kind; and how
#: many times as thick its strokes are at the most.
_LARGER, _HEAVIEST = ((1, 1.0), (3, 1.25), (10, 1.5), (100, 1.8)), 1.4
#: What the rows of marks are counted as, and the size of these letters.
_COUNTED: Sequence[tuple[Sequence[Draw], str]] = (
    (GROUPS["losses"], "lost"),
    (TIMEOUTS, "timeouts"),
    (GROUPS["acks"], "ACKs lost"),
    (GROUPS["ecn"], "marked"),
    (GROUPS["retransmissions"], "sent again"),
    (("late",), "late"),
    (("unread",), "not read"),
    (("stalled",), "stalls"),
)
_COUNT_PT, _COUNT_IN_PAPER_PT = 7.0, 5.5
#: Rows of a paper that are nearer to each other, in the size of these letters, have none.
_LEAST_APART = 0.8
#: The group of these, and how far from them the title of an axis is in points.
_COUNTS, _FROM_COUNTS_PT = "counts", 2.0
#: They take no more than this share of the figure's width: whether parts are told apart, and named,
#: in the order in which this is tried.
_MOST_OF_WIDTH = 0.16
_FORMS = ((True, True), (True, False), (False, False))
#: Bars that are thinner, in points, have no gaps between them.
_LEAST_BAR_PT = 2.0
#: So few dots are no band.
_FEW_DOTS = 300
#: The band of a black line.
_OF_BLACK = "#d3cce2"
#: The grey of a link's rate, on which also pale lines are seen in a grey print.
_OF_RATE = "0.93"
#: A colour whose parts differ by no more than this is a grey.
_GREY = 0.1
#: Kinds of curves that are the lines of flows and links.
LINES = ("steps", "line", "dots", "queue", "bars")
#: Those that are strokes; those of queues are narrower by a factor.
STROKED, _QUEUE_WIDTH = ("steps", "line", "queue"), 0.75


class Stroke(NamedTuple):
    """How a line is drawn: its style, its width in points, and whether it repeats another one."""

    style: LineStyle
    width: float
    is_repeated: bool = False


def is_stroked(one: Curve) -> bool:
    """Whether a curve is the line of a flow or of a run, and no link's."""
    return one.draw in STROKED and one.look is not None


def _look_of(one: Curve) -> Look:
    return look_of(one.look if one.look is not None else 4)


def draw_curve(
    axes: Axes,
    one: Curve,
    room: Room,
    number: int,
    stroke: Stroke,
    *,
    several: bool,
    marked: bool,
) -> None:
    """Draw a curve of a panel, with markers if it is `marked`; if there are
    `several` lines in the figure, colours tell which marks belong to which.
    """
    time, value = one.time_s, one.value
    if len(time) == 0:
        return
    if one.draw in ("steps", "queue"):
        time = with_room(time, value, room, of_intervals=one.of_intervals)
    look = _look_of(one)
    if one.draw == "area" and one.look is not None and not one.flow:
        # Of several rates none is an area.
        thin_rate: Any = {"linewidth": 0.6, "drawstyle": "steps-post", "zorder": 0.4}
        axes.plot(time, value, color=look.colour, **thin_rate)
        axes.plot([], [], color="0.5", linewidth=0.6, label=one.label)
        return
    if one.draw == "area":
        # The amount that a sender has in the network is no property of the link.
        fill: Any = (
            {"facecolor": "none", "edgecolor": "0.72", "hatch": "//////"}
            if one.flow
            else {"facecolor": _OF_RATE}
        )
        # Below the ticks of the axes.
        axes.fill_between(
            time, value, step="post", linewidth=0, label=one.label, zorder=0.3, **fill
        )
        if not one.flow:
            edge: Any = {"color": "0.62", "linewidth": 0.6, "drawstyle": "steps-post"}
            axes.plot(time, value, zorder=0.4, rasterized=len(time) > MOST_VECTORS, **edge)
        return
    if one.draw in EVENTS:
        is_on_bar = one.draw in AT_TIMEOUTS
        how: Any = _mark(EVENTS[one.draw], look.colour if several and not is_on_bar else None)
        if is_on_bar:
            # It is seen on a bar of any colour.
            how |= {"mec": "white", "mew": 0.6} if one.draw == "timeout" else {}
            how |= {"ms": 1.2 * how["ms"], "clip_on": False}
        order = 5 if one.draw == "late" else 6
        draw_dots(axes, *_thinned(room, one), "", order, **how)
        # Those of each line have its colour; in the legend they have none.
        in_legend = _mark(EVENTS[one.draw], "0.3" if several else None)
        axes.plot([], [], ls="none", label=one.label, **in_legend)
        return
    if one.quantity and (several or one.draw == "dots"):
        # The colour identifies the line, the mark the quantity.
        # Dots that are as small and as close as those of the panel.
        row: Any = {"color": "0.5", "linewidth": 1.6, "dash_capstyle": "round"}
        row |= {"linestyle": (0, (0.01, 1.7))}
        line: Any = row if one.draw == "dots" else {"color": "0.3", "linewidth": 1.1}
        axes.plot([], [], label=one.quantity, **line)
    if one.draw == "deadline":
        colour = "black" if one.look is None else look.colour
        dashes: Any = {"color": colour, "linewidth": 0.9, "linestyle": (0, (7, 2, 1.5, 2))}
        axes.plot(time, value, label=one.label, zorder=4.5, **dashes)
        return
    if one.draw == "limit":
        dots: Any = {"color": "0.3", "linewidth": 1.0, "linestyle": (0, (1.0, 1.0))}
        axes.plot(time, value, label=one.label, drawstyle="steps-post", zorder=2.8, **dots)
        return
    if one.draw in SPANS:
        _draw_spans(axes, one, room)
        return
    if one.draw in LASTING:
        _draw_lasting(axes, one)
        return
    if one.draw == "dots":
        face = lighter(look.colour) if one.quantity else look.colour
        some = _thinned(room, one)
        # Medians are few: where they are as large as what a line shows they lie on it.
        is_above = one.quantity != "" and len(one.time_s) <= _FEW_DOTS
        behind = 2.5 if one.quantity else 3.0
        order_of, size = 4.5 if is_above else behind, 3.2 if is_above else 2.6
        draw_dots(axes, *some, one.label, order_of, marker=".", ms=size, mfc=face, mew=0)
        return
    if one.low is not None and one.high is not None:
        axes.fill_between(
            time,
            one.low,
            one.high,
            step=None if one.draw == "line" else "post",
            linewidth=0,
            zorder=2,
            **_band(one, several=several),
            rasterized=len(time) > MOST_VECTORS,
        )
    if one.most is not None and not stroke.is_repeated:
        thin: Any = {"linewidth": 0.5, "alpha": 0.75, "drawstyle": "steps-post", "zorder": 2.5}
        axes.plot(*_closed(time, one.most, value), color=look.colour, ls=stroke.style, **thin)
    markers: dict[str, Any] = {}
    if marked:
        every = (room.window[1] - room.window[0]) / _MARKERS
        places = room.window[0] + every * (np.arange(_MARKERS) + (0.25 + 0.5 * (number % 2)))
        places = places + every * 0.09 * number
        inside = (places >= time[0]) & (places <= time[-1])
        at = np.unique(np.searchsorted(time, places[inside], side="right") - 1)
        at = at[~np.isnan(value[at])]
        markers = {
            "marker": look.marker,
            "markevery": [int(place) for place in at],
            "markersize": 0.8 * look.size,
            "markerfacecolor": look.colour if look.filled else "white",
            "markeredgecolor": look.colour,
            "markeredgewidth": 0.8,
        }
    # Solid ones are seen in the gaps of others.
    is_solid = stroke.style == "-" and one.look is not None
    axes.plot(
        time,
        value,
        color=look.colour,
        linestyle="none" if stroke.is_repeated else stroke.style,
        # Those of several runs have the dashes of these, which are seen less in a thin line.
        linewidth=stroke.width * (_QUEUE_WIDTH if one.draw == "queue" and not marked else 1.0),
        drawstyle="default" if one.draw == "line" else "steps-post",
        label=one.label,
        zorder=2.9 + 0.001 * number if is_solid else 3 + 0.1 * number,
        rasterized=len(time) > 3 * MOST_VECTORS,
        **markers,
    )


def _closed(time: Values, most: Values, value: Values) -> tuple[Values, Values]:
    """A line of maxima that begins and ends at the line itself, so that also one that is above the
    axis from its beginning, or to its end, is seen to leave and to return.
    """
    there = np.isfinite(most) & np.isfinite(value)
    edges = np.flatnonzero(np.diff(there.astype(np.int8), prepend=0, append=0))
    at = np.ravel(np.column_stack([edges[::2], edges[1::2]]))
    of = np.ravel(np.column_stack([edges[::2], edges[1::2] - 1]))
    return np.insert(time, at, time[of]), np.insert(most, at, value[of])


def draw_whole_markers(axes: Axes, panel_pt: float) -> None:
    """Draw the markers of lines that the lower end of the axis of values, whose height is so many
    points, cuts: the half of one looks like another one.
    """
    for line in axes.lines[:]:
        places: Any = line.get_markevery()
        if not isinstance(places, list):
            continue
        data = np.column_stack([np.asarray(one, np.float64) for one in line.get_data()])[places]
        above_pt = panel_pt * (axes.transData - axes.transAxes).transform(data)[:, 1]
        cut = data[(above_pt >= -0.01) & (above_pt < line.get_markersize())]
        if len(cut):
            (whole,) = axes.plot(*cut.T, ls="none", clip_on=False)
            whole.update_from(line)
            whole.set(linestyle="none", markevery=None, label="", clip_path=None)
            whole.set_clip_on(False)


def _band(one: Curve, *, several: bool) -> dict[str, Any]:
    """How a band around a line is filled: that of a black line is no grey area, as rates of links
    are, which panels of queues do not have; dots would look like samples.
    """
    from matplotlib.colors import to_rgb

    colour = _look_of(one).colour
    red, green, blue = to_rgb(colour)
    if one.draw == "queue" or max(red, green, blue) - min(red, green, blue) > _GREY:
        return {"color": colour, "alpha": 0.14 if several else 0.22}
    return {"facecolor": _OF_BLACK}


def _mark(event: Event, colour: str | None) -> dict[str, Any]:
    """How an event is drawn, in the colour of its line or, without one, in its own."""
    edge = colour or event.colour
    how: dict[str, Any] = {"marker": marker_of(event), "ms": event.size, "mec": edge}
    # Small ones stand close together.
    how["mew"] = 0.8 if event.size > 2.5 else 0.4
    # Of hollow ones that cover each other in part each is seen.
    return how | {"mfc": edge if event.is_filled else "white" if event.marker in "^v" else "none"}


def rows_of(
    panel: Panel, gaps: Sequence[WatchedRun] = (), legend: Sequence[int] = ()
) -> dict[int, float]:
    """The heights, as shares of the panel's, of the rows of marks above the lines: by the look of a
    line where there are several, in the order of those of the legend, by the kind of the mark for a
    single line. Runs with gaps have rows for them.
    """
    marks = [one for one in panel.curves if one.in_row]
    looks = {one.look for one in marks if one.look is not None}
    looks |= {run.looks[0] for run in gaps if run.gaps}
    lines = [one.look for one in panel.curves if one.draw in LINES]
    order = dict.fromkeys([*legend, *lines, *(run.looks[0] for run in gaps), *sorted(looks)])
    rows = [one for one in order if one is not None and one in looks]
    if not rows:
        rows = sorted({_row_of(one) for one in marks if one.draw in (*EVENTS, *LASTING)})
    height = row_height(len(rows), panel.high)
    # A frame would cut the marks of the first row.
    below = _BELOW_FRAME if is_paper() else 0.0
    return {row: 1 - below - height * (place + 0.5) for place, row in enumerate(rows)}


def draw_row_names(
    axes: Axes,
    panel: Panel,
    rows: Mapping[int, float],
    *,
    are_told: bool = False,
    panel_pt: float = math.inf,
) -> None:
    """Write beside each row of marks how many packets or frames it is of, and draw the marker of
    its line if some rows of lines have the same colour. Causes of losses may be told above the
    panel (`causes_of_losses`). In a paper rows of a panel of this height, in points, that are too
    near each other have no numbers.
    """
    from matplotlib.transforms import offset_copy

    of_lines = [one.look for one in panel.curves if one.in_row and one.look is not None]
    colours = {look_of(row).colour for row in rows}
    has_markers = bool(of_lines) and len(colours) < len(rows)
    figure = axes.get_figure(root=True)
    assert figure is not None
    texts = _texts_of_rows(panel, rows, figure.get_size_inches()[0], are_told=are_told)
    size = _COUNT_IN_PAPER_PT if is_paper() else _COUNT_PT
    places = sorted(rows.values())
    apart = min((b - a for a, b in pairwise(places)), default=1.0) * panel_pt
    for row in rows:
        if has_markers:
            look = look_of(row)
            axes.plot(
                [0.0],
                [rows[row]],
                transform=offset_copy(axes.transAxes, figure, x=-5, units="points"),
                clip_on=False,
                marker=look.marker,
                ms=0.8 * look.size,
                mfc=look.colour if look.filled else "white",
                mec=look.colour,
                mew=0.8,
                ls="none",
            )
        if not (counts := texts[row]) or (is_paper() and apart < _LEAST_APART * size):
            continue
        axes.annotate(
            counts,
            (0.0, rows[row]),
            xycoords="axes fraction",
            xytext=(-10 if has_markers else -3, 0),
            textcoords="offset points",
            fontsize=size,
            color="0.25",
            ha="right",
            va="center_baseline",
            annotation_clip=False,
            gid=_COUNTS,
        )


def _texts_of_rows(
    panel: Panel, rows: Collection[int], width_in: float, *, are_told: bool = False
) -> dict[int, str]:
    """What stands beside each row of marks in a figure so wide, in the longest form that fits."""
    texts: dict[int, str] = {}
    for are_apart, are_named in _FORMS:
        if are_apart and not are_named and not captioned("told above"):
            # Nothing would say what the parts are.
            continue
        how: Any = {"are_apart": are_apart, "are_named": are_named}
        how["are_told"] = are_told
        texts = {row: ", ".join(_counts(panel, row, **how)) for row in rows}
        if all(
            text_width(one, _COUNT_PT) <= _MOST_OF_WIDTH * 72 * width_in for one in texts.values()
        ):
            break
    return texts


class Causes(NamedTuple):
    """What to say above a panel of losses of several causes; whether that has their numbers, which
    then do not stand beside the row; and whether it alone says what the numbers there are of.
    """

    words: str = ""
    has_numbers: bool = False
    is_needed: bool = False


def causes_of_losses(panel: Panel, rows: Collection[int], width_in: float) -> Causes:
    """What to say above a panel if the marks of a row are losses of several causes: of a single
    line with their numbers. The rows of several lines have their own; if these are without marks,
    which the legend explains, the words tell their order.
    """
    lost = [
        one for one in panel.curves if one.in_row and one.draw in GROUPS["losses"] and one.events
    ]
    causes = {row: {one.draw for one in lost if _row_of(one) == row} for row in rows}
    if all(len(each) < 2 for each in causes.values()):
        return Causes()
    found = [draw for draw in GROUPS["losses"] if any(draw in each for each in causes.values())]
    texts = _texts_of_rows(panel, rows, width_in).values()
    has_marks = any(EVENTS[draw].sign in one for one in texts for draw in found)
    if all(one.look is None for one in lost):
        counts = [sum(one.events for one in lost if one.draw == draw) for draw in found]
        numbered = zip(counts, found, strict=True)
        first, *rest = (f"{count:,} lost {EVENTS[draw].cause}" for count, draw in numbered)
        words = ", ".join([first, *(one.replace(" lost", "") for one in rest)])
        return Causes(words, True, is_needed=not has_marks)
    if has_marks or not any(" + " in one and one.endswith(" lost") for one in texts):
        # The legend explains the marks.
        return Causes()
    words = " + ".join(EVENTS[draw].label.removeprefix("lost").lstrip(": ") for draw in found)
    return Causes(f"lost: {words}", is_needed=True)


def clear_of_counts(axes: Axes) -> None:
    """Move the title of the axis of values to the left of numbers beside rows that it would touch,
    however high it is.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    counts = [one for one in axes.texts if one.get_gid() == _COUNTS]
    if not counts or not axes.get_ylabel():
        return
    # The place of the title is known when those of the ticks are.
    axes.yaxis.get_tightbbox()
    left = min(one.get_window_extent().x0 for one in counts)
    lacks = (axes.yaxis.label.get_window_extent().x1 - left) * 72 / figure.dpi + _FROM_COUNTS_PT
    axes.yaxis.labelpad += max(0.0, lacks)


def _row_of(one: Curve) -> int:
    """The row of marks: that of its line or, above a single line, that of their kind."""
    if one.look is not None:
        return one.look
    return EVENTS["timeout" if one.draw in LASTING else one.draw].row


def _counts(
    panel: Panel, row: int, *, are_apart: bool, are_named: bool, are_told: bool
) -> Iterator[str]:
    """Yield how many events of each kind a row of marks is of, in the order of the legend, if some
    row has several with their marks, or of all kinds with the same word.
    """
    counted = [one for one in panel.curves if one.in_row and one.events]
    mine = [one for one in panel.curves if one.in_row and _row_of(one) == row]

    def has_several(draws: Collection[Draw]) -> bool:
        """Whether some row has several kinds: then each row says which ones it has."""
        kinds = {(_row_of(one), one.draw) for one in counted if one.draw in draws}
        return len(kinds) > len({of for of, _ in kinds})

    for draws, word in _COUNTED:
        some = [[one for one in mine if one.draw == draw] for draw in draws]
        each = [sum(one.events for one in kind) for kind in some]
        # Kinds without a sign would be told apart by nothing.
        apart = are_apart and draws == GROUPS["losses"] and not are_told and has_several(draws)
        # In that order a row has all of them.
        kinds = {one.draw for one in counted if apart and not are_named}
        known = [(one, draw) for one, draw in zip(each, draws, strict=True) if one or draw in kinds]
        if not sum(each):
            continue
        shown = [f"{count:,}" for count, _ in known] if apart else [f"{sum(each):,}"]
        if are_named and apart:
            shown = [f"{EVENTS[draw].sign} {count:,}".strip() for count, draw in known]
        is_one = word in ("stalls", "timeouts") and sum(each) == 1
        called = word.removesuffix("s") if is_one else word
        yield f"{' + '.join(shown)} {called}"


def larger_words(panel: Panel) -> str:
    """What to say of a panel some of whose marks are larger; "" if none is."""
    most = max(
        (int(one.each.max(initial=0)) for one in panel.curves if one.each is not None), default=0
    )
    return "larger marks: more" if most >= _LARGER[1][0] else ""


def line_sample(place: int) -> Any:
    """A line for the legend with the look of a place."""
    from matplotlib.lines import Line2D

    look = look_of(place)
    how: Any = {"color": look.colour, "linestyle": look.line, "linewidth": LINE_PT}
    how |= {"marker": look.marker, "markersize": 0.8 * look.size, "markeredgewidth": 0.8}
    how["markerfacecolor"] = look.colour if look.filled else "white"
    return Line2D([], [], **how)


def row_height(rows: int, high: float = 1.0) -> float:
    """The share of the height of a panel, which is so many times as `high` as others, that each of
    so many rows of marks takes.
    """
    return min(_ROW / high, _ROWS / max(1, rows))


def share_above(rows: Mapping[int, float]) -> float:
    """The share of the height of a panel that its rows of marks take."""
    return 2 * (1 - min(rows.values())) * len(rows) / (2 * len(rows) - 1) if rows else 0.0


def draw_in_row(axes: Axes, one: Curve, rows: Mapping[int, float]) -> None:
    """Draw marks in a row above the lines: at the queue's length many would hide it."""
    if not len(one.time_s):
        return
    if one.draw in LASTING:
        _draw_stalls(axes, one, rows)
        return
    event = EVENTS[one.draw]
    is_first = one.label not in axes.get_legend_handles_labels()[1]
    # Of several lines each has its colour, and in the legend none.
    alone = one.look is None
    height = rows[event.row if one.look is None else one.look]
    how = _mark(event, None if alone else _look_of(one).colour)
    each = np.ones(len(one.time_s)) if one.each is None else one.each
    for (least, times), (end, _) in pairwise((*_LARGER, (np.inf, 0.0))):
        at = one.time_s[(each >= least) & (each < end)]
        if not len(at):
            continue
        how_large = {"ms": times * how["ms"], "mew": min(times, _HEAVIEST) * how["mew"]}
        axes.plot(
            at,
            np.full(len(at), height),
            ls="none",
            transform=axes.get_xaxis_transform(),
            # A timeout is seen on what undoes it, which is larger.
            zorder=5.95 if one.draw == "undone" else 6,
            # The half of one at the beginning or the end looks like another one.
            clip_on=False,
            rasterized=len(at) > MOST_VECTORS,
            **how | how_large,
        )
    if is_first:
        axes.plot([], [], ls="none", label=one.label, **_mark(event, None if alone else "0.3"))


def _draw_stalls(axes: Axes, one: Curve, rows: Mapping[int, float]) -> None:
    """Draw the times in which nothing arrives as thin lines behind the timeouts in them, of which
    hollow ones stay so.
    """
    assert one.low is not None
    assert one.high is not None
    colour = "0.3" if one.look is None else _look_of(one).colour
    height = rows[EVENTS["timeout"].row if one.look is None else one.look]
    thin = _lasting(one.label)
    across = axes.get_xaxis_transform()
    for ends in zip(one.low, one.high, strict=True):
        axes.plot(ends, [height] * 2, transform=across, color=colour, **thin)
    axes.plot([], [], color="0.3", label=one.label, **thin)


def _draw_lasting(axes: Axes, one: Curve) -> None:
    """Draw times as lines with ends at their values, on the bars there."""
    assert one.low is not None
    assert one.high is not None
    how = _lasting(one.label)
    for low, high, value in zip(one.low, one.high, one.value, strict=True):
        under: Any = {**how, "linestyle": "-", "linewidth": 2.2, "mew": 2.0, "zorder": 5.8}
        axes.plot([low, high], [value] * 2, color="white", **under)
        axes.plot([low, high], [value] * 2, color="black", **how)
    axes.plot([], [], color="0.3", label=one.label, **how)


def _lasting(label: str) -> dict[str, Any]:
    """How a line with ends is drawn that stands for a time: its ends are seen beside a timeout that
    hides the line; those of a playback are thick.
    """
    thin: Any = {"linewidth": 0.8, "marker": "|", "ms": 5.5, "mew": 0.8, "zorder": 5.9}
    if label == UNHEARD:
        return {**thin, "linestyle": (0, (2.5, 1.5)), "zorder": 5.85}
    if label == STALL:
        return dict(thin)
    return {"linewidth": 3.0, "solid_capstyle": "butt", "zorder": 5.8}


def _draw_spans(axes: Axes, one: Curve, room: Room) -> None:
    """Draw what lasts: stalls, or bars at their values."""
    assert one.low is not None
    assert one.high is not None
    if one.draw == "bars":
        # What lasts next to nothing is seen, too.
        long = np.maximum(one.high - one.low, 0.002 * (room.window[1] - room.window[0]))
        how: Any = {"color": _look_of(one).colour, "linewidth": 0, "label": one.label}
        # Gaps between many thin ones would be a pattern of their own.
        figure = axes.get_figure(root=True)
        assert figure is not None
        high_pt = 72 * axes.get_position().height * figure.get_size_inches()[1]
        thick = 0.8 if np.ptp(one.value) * _LEAST_BAR_PT < high_pt else 1.0
        axes.barh(one.value, long, thick, left=one.low, zorder=3, **how)
        return
    hatch: Any = {"facecolor": "#f3d3cd", "edgecolor": "#b03a2e", "hatch": "////", "lw": 0}
    for low, high in widened(list(zip(one.low, one.high, strict=True)), room):
        axes.axvspan(low, min(high, room.window[1]), label=one.label, zorder=0.5, **hatch)


def _thinned(room: Room, one: Curve) -> tuple[Any, Any]:
    """Dots that are seen; those that would cover each other once."""
    return room.dots((one.time_s * NS_PER_S).astype(np.int64), one.value, PANEL_IN)
