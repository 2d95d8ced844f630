"""The common parts of panels over time: the room that they have, and the marks of handoffs and
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.labels import LABEL_PT
from midflight.plot.common.style import labelled, text_width
from midflight.plot.over_time.followed import TimeUnit
from midflight.plot.over_time.history import NS_PER_S, Moment, Steps
from midflight.plot.over_time.holes import Hole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "HEAD",
    "MOST_MARKS",
    "MOST_VECTORS",
    "NARROW_NO_LINK",
    "NO_LINK",
    "NO_ROWS",
    "OUTAGE",
    "PANEL_IN",
    "WITHOUT",
    "Room",
    "draw_dots",
    "draw_holes",
    "draw_moments",
    "draw_outages",
    "extremes",
    "is_narrow",
    "label_levels",
    "seen_holes",
    "shade_spans",
    "show_time",
    "unseen_holes",
    "widened",
]

#: The resolution at which dots are distinguished, in dots per inch: a little finer than the eye's
#: in print.
_GRID_PER_IN = 150
#: The usual height of a panel in inches.
PANEL_IN = 1.25
#: With more dots than this a panel's dots become an image within the figure.
MOST_VECTORS = 3000
#: Handoffs and changes that are marked one by one.
MOST_MARKS = 60

#: What the legend calls times at which a recording has a rate of zero.
OUTAGE = "outage"
#: What it calls times without a link.
WITHOUT = "no link"
#: What it calls times for which a recording has no rows.
NO_ROWS = "no rows"
#: They are at least so wide, in points; those that lack only a few rows and would be narrower are
#: left out if together they would be more than this share of the time shown.
_LEAST_HOLE_PT, _MOST_SLIGHT = 2.0, 0.1
#: Times without a link: hatched, as their colour is that of a light grey without colours.
NO_LINK: Mapping[str, Any] = {
    "facecolor": "#faf4e6",
    "edgecolor": "#e9dcc0",
    "hatch": "//",
    "linewidth": 0,
}
#: Outages; the hatching of a pipe goes the other way.
_OF_OUTAGES: Mapping[str, Any] = {
    "facecolor": "#f2e3c8",
    "edgecolor": "white",
    "hatch": "\\\\\\\\",
    "linewidth": 0,
}
#: How they are filled where some are narrow.
NARROW_NO_LINK: Mapping[str, Any] = {"facecolor": "#bfae88", "linewidth": 0}
_NARROW_OUTAGES: Mapping[str, Any] = {"facecolor": "#dfbf80", "linewidth": 0}
#: How times are shaded that the legend calls so, usually and where some are narrow.
_SHADES = {OUTAGE: (_OF_OUTAGES, _NARROW_OUTAGES), WITHOUT: (NO_LINK, NARROW_NO_LINK)}
#: Shaded times are at least so wide, in points, as far as there is room.
_LEAST_SPAN_PT = 1.0
#: The columns of tables of the data of figures over time.
HEAD = ("kind", "unit", "line", "flow", "scheme", "link", "time_s", "value", "low", "high", "most")


@dataclass(frozen=True)
class Room:
    """The room of a panel: its width in inches, and the time that it shows in seconds. Steps
    that are widened to be seen do not reach beyond `edges`, ascending instants in seconds, such as
    the ends of outages.
    """

    width_in: float
    window: tuple[float, float]
    edges: tuple[float, ...] = ()

    @property
    def point_s(self) -> float:
        """The time that a point of the axis is, in seconds."""
        return (self.window[1] - self.window[0]) / (self.width_in * 72)

    @property
    def columns(self) -> int:
        return max(1, int(self.width_in * _GRID_PER_IN))

    def seen(self, time_ns: NDArray[np.int64]) -> slice:
        """The places of ascending times that are shown."""
        start, end = (one * NS_PER_S for one in self.window)
        low, high = np.searchsorted(time_ns, [start, end], side="left")
        return slice(int(low), int(high))

    def dots(
        self, time_ns: NDArray[np.int64], value: NDArray[np.float64], height_in: float = 2.6
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The dots to be drawn, in seconds: one of those that would cover each other."""
        seen = self.seen(time_ns)
        time, value = time_ns[seen] / NS_PER_S, value[seen]
        if len(time) <= MOST_VECTORS:
            return time, value
        start, end = self.window
        low, high = float(value.min()), float(value.max())
        column = ((time - start) / (end - start) * self.columns).astype(np.int64)
        lines = int(height_in * _GRID_PER_IN)
        line = ((value - low) / max(high - low, 1e-9) * lines).astype(np.int64)
        _, first = np.unique(column * (lines + 1) + line, return_index=True)
        first.sort()
        return time[first], value[first]

    def steps(self, steps: Steps, end_ns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A step line in seconds, from what holds when the time shown begins to the run's end.

        Of many steps in a column of the grid its first, least, greatest and last.
        """
        seen = self.seen(steps.time_ns)
        start, end = self.window
        time, value = steps.time_ns[seen] / NS_PER_S, steps.value[seen]
        if seen.start > 0:
            time = np.concatenate([[start], time])
            value = np.concatenate([steps.value[seen.start - 1 : seen.start], value])
        if len(time) == 0:
            return time, value
        if len(time) > 4 * self.columns:
            column = ((time - start) / (end - start) * self.columns).astype(np.int64)
            kept = extremes(column, value)
            time, value = time[kept], value[kept]
        last = min(end, max(time[-1], end_ns / NS_PER_S))
        return np.append(time, last), np.append(value, value[-1])

    def labels(self, moments: Iterable[Moment]) -> list[tuple[Moment, int]]:
        """The moments with enough room for their names, with the level of each name.

        Names of links in use have priority over names of lost links.
        """
        taken: list[list[tuple[float, float]]] = [[], []]
        found = []
        point = self.width_in * 72 / (self.window[1] - self.window[0])
        shown = [one for one in moments if self.shows(one.time_ns)]
        for kind in ("make", "break"):
            for one in shown:
                if one.kind != kind:
                    continue
                middle = (one.time_ns / NS_PER_S - self.window[0]) * point
                half = text_width(labelled(one.label), LABEL_PT) / 2 + 3
                if middle - half < -20 or middle + half > self.width_in * 72 + 20:
                    continue
                for level, places in enumerate(taken):
                    if all(middle + half < a or middle - half > b for a, b in places):
                        places.append((middle - half, middle + half))
                        found.append((one, level))
                        break
        return found

    def shows(self, time_ns: int) -> bool:
        return self.window[0] <= time_ns / NS_PER_S < self.window[1]


def extremes(column: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of the first, least, greatest and last value of each column."""
    edges = np.flatnonzero(np.diff(column)) + 1
    starts = np.concatenate([[0], edges])
    ends = np.concatenate([edges, [len(column)]])
    kept = np.zeros(len(column), np.bool_)
    kept[starts] = kept[ends - 1] = True
    number = np.repeat(np.arange(len(starts)), ends - starts)
    for best in (np.fmin.reduceat(value, starts), np.fmax.reduceat(value, starts)):
        hits = np.flatnonzero(value == best[number])
        # The first of equal ones.
        kept[hits[np.diff(number[hits], prepend=-1) > 0]] = True
    return np.flatnonzero(kept)


def draw_dots(axes: Axes, time: Any, value: Any, label: str, order: float, **how: Any) -> None:
    if len(time) == 0:
        return
    axes.plot(
        time,
        value,
        linestyle="none",
        label=label,
        zorder=order,
        rasterized=len(time) >= MOST_VECTORS,
        **how,
    )


def label_levels(moments: Sequence[Moment], room: Room) -> int:
    """Return on how many levels names of moments stand."""
    if sum(one.kind == "make" and room.shows(one.time_ns) for one in moments) > MOST_MARKS:
        return 1
    return 1 + max((level for _, level in room.labels(moments)), default=-1)


def _many_moments(axes: Axes, makes: Sequence[float], room: Room, *, named: bool) -> None:
    """Mark a time with more handoffs and changes than can be drawn as lines."""
    first, last = min(makes), max(makes)
    words = f"{len(makes)} handoffs or changes"
    axes.axvspan(first, last, facecolor="0.94", edgecolor="none", zorder=0, label=words)
    if named:
        axes.annotate(
            words,
            ((max(first, room.window[0]) + min(last, room.window[1])) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 5),
            textcoords="offset points",
            fontsize=LABEL_PT,
            color="0.25",
            ha="center",
            va="bottom",
            annotation_clip=False,
        )


def draw_outages(axes: Axes, outages: Sequence[tuple[int, int]], room: Room) -> None:
    """Shade the times at which the recording of the link in use has a rate of zero."""
    shade_spans(axes, [(a / NS_PER_S, b / NS_PER_S) for a, b in outages], OUTAGE, room)


def seen_holes(holes: Iterable[Hole], room: Room) -> list[tuple[float, float]]:
    """The times without rows that are drawn, in seconds: all but those that are `unseen_holes`."""
    found = _holes_in(holes, room)
    if _are_many(found, room):
        found = [one for one in found if not _is_slight(one, room)]
    return [(a, b) for a, b, _ in found]


def unseen_holes(holes: Iterable[Hole], room: Room) -> int:
    """How many times without rows are not drawn: those that lack only a few rows and are too narrow
    to be seen, if they are so many that as wide as is needed for that they would hide how little
    they are.
    """
    found = _holes_in(holes, room)
    return sum(_is_slight(one, room) for one in found) if _are_many(found, room) else 0


def _holes_in(holes: Iterable[Hole], room: Room) -> list[tuple[float, float, bool]]:
    """The times without rows in the time shown, ascending and in seconds, and whether each lacks
    only a few; without those of which it shows hardly anything, such as the time from the end of a
    recording to that of the run.
    """
    start, end = room.window
    found: list[tuple[float, float, bool]] = []
    for a_ns, b_ns, is_short in sorted(holes):
        a, b = max(a_ns / NS_PER_S, start), min(b_ns / NS_PER_S, end)
        if b <= a:
            continue
        if found and a <= found[-1][1]:
            # Both directions of a link may lack the same rows.
            before = found.pop()
            a, b, is_short = before[0], max(before[1], b), is_short and before[2]
        found.append((a, b, is_short))
    return [one for one in found if start < one[0] < one[1] < end or not _is_slight(one, room)]


def _is_slight(one: tuple[float, float, bool], room: Room) -> bool:
    """Whether a time lacks only a few rows, and is too narrow to be seen."""
    return one[2] and one[1] - one[0] < _LEAST_HOLE_PT * room.point_s


def _are_many(found: Sequence[tuple[float, float, bool]], room: Room) -> bool:
    """Whether narrow times without rows would be too much of the panel if they were seen."""
    slight = sum(_is_slight(one, room) for one in found)
    return slight * _LEAST_HOLE_PT * room.point_s > _MOST_SLIGHT * (room.window[1] - room.window[0])


def show_time(axes: Axes, window: tuple[float, float]) -> None:
    """Let an axis of time show this window, in seconds, with ticks at 1, 2, 5, 10, ..."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_xlim(*window)
    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10]))
    unit = TimeUnit.of(window)
    if unit.title:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: unit.text(at)))


def draw_holes(axes: Axes, holes: Iterable[Hole], room: Room) -> None:
    """Hatch the times for which a recording has no rows."""
    how: Any = {"facecolor": "none", "edgecolor": "0.65", "linewidth": 0, "hatch": "////"}
    for number, (a, b) in enumerate(widened(seen_holes(holes, room), room, _LEAST_HOLE_PT)):
        axes.axvspan(a, b, label=None if number else NO_ROWS, zorder=0.5, **how)


def is_narrow(span: tuple[float, float], room: Room) -> bool:
    """Whether a shaded time, in seconds, is drawn wider than it is, and darker."""
    return span[1] - span[0] < _LEAST_SPAN_PT * room.point_s


def widened(
    spans: Sequence[tuple[float, float]], room: Room, least_pt: float = _LEAST_SPAN_PT
) -> list[tuple[float, float]]:
    """Return ascending times; those that could not be seen are as wide as is needed for that, with
    the same middle, but within the time shown, and up to half of the way to the next ones.
    """
    least, (start, end) = least_pt * room.point_s, room.window
    found = []
    for place, (a, b) in enumerate(spans):
        before = spans[place - 1][1] if place else -np.inf
        after = spans[place + 1][0] if place + 1 < len(spans) else np.inf
        low, high = a, b
        if b - a < least:
            low = max(start, min((a + b - least) / 2, end - least))
            high = min(low + least, (b + after) / 2)
            low = max(low, (before + a) / 2)
        found.append((low, high))
    return found


def shade_spans(
    axes: Axes,
    spans: Sequence[tuple[float, float]],
    what: str,
    room: Room,
    *,
    is_named: bool = True,
) -> None:
    """Shade ascending times, which are `OUTAGE` or `WITHOUT` a link, over the height of a panel.
    Where some are wider than they are, to be seen, all are darker, and none is hatched.
    """
    from matplotlib.collections import PolyCollection

    start, end = room.window
    spans = [(max(a, start), min(b, end)) for a, b in spans if b > start and a < end and b > a]
    shown = widened(spans, room)
    usual, narrow = _SHADES[what]
    how = narrow if any(is_narrow(one, room) for one in spans) else usual
    if shown:
        corners = [[(a, 0.0), (a, 1.0), (b, 1.0), (b, 0.0)] for a, b in shown]
        across = axes.get_xaxis_transform()
        area = PolyCollection(corners, transform=across, zorder=0.1, **how)
        area.set_label(what if is_named else "_")
        axes.add_collection(area, autolim=False)


def draw_moments(axes: Axes, moments: Sequence[Moment], room: Room, *, named: bool) -> None:
    """Mark times without a link, links that come into use, and notices."""
    broken: float | None = None
    start, end = room.window
    makes = [one.time_ns / NS_PER_S for one in moments if one.kind == "make"]
    within = [at for at in makes if start <= at < end]
    if len(within) > MOST_MARKS:
        _many_moments(axes, within, room, named=named)
        return
    thin = len(within) > 15
    spans = []
    for one in moments:
        at = one.time_ns / NS_PER_S
        if one.kind == "break" and broken is None:
            broken = at
        elif one.kind == "make" and broken is not None:
            spans.append((broken, at))
            broken = None
    if broken is not None:
        spans.append((broken, end))
    shown = [(a, b) for a, b in spans if b > start and a < end and b > a]
    # What has its name above the panels needs none in the legend.
    written = {one.time_ns / NS_PER_S for one, _ in room.labels(moments)}
    untold = [one for one in shown if one[0] not in written]
    shade_spans(axes, shown, WITHOUT, room, is_named=bool(untold))
    for number, at in enumerate(within):
        axes.axvline(
            at,
            color="0.25",
            linewidth=0.4 if thin else 0.8,
            linestyle=(0, (5, 2)),
            zorder=1.5,
            label="link in use" if number == 0 and not {*within} <= written else None,
        )
    if not named:
        return
    for one, level in room.labels(moments):
        axes.annotate(
            labelled(one.label),
            (one.time_ns / NS_PER_S, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 5 + 8 * level),
            textcoords="offset points",
            fontsize=LABEL_PT,
            color="0.25",
            ha="center",
            va="bottom",
            annotation_clip=False,
            parse_math=False,
        )
    told = [one.time_ns / NS_PER_S for one in moments if one.kind == "notice"]
    told = [at for at in told if start <= at < end]
    if told:
        axes.plot(
            told,
            [1.0] * len(told),
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            marker="*",
            ms=3 if thin else 5,
            mfc="0.25",
            mew=0,
            label="notice to the sender",
            clip_on=False,
            zorder=6,
        )
