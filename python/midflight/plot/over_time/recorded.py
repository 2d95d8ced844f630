"""A recording of a path, or what a model has drawn: rate, delay and losses over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.figure import SMALL_PT, finish_panels
from midflight.plot.common.style import COLUMN_IN, LINKS, Size, captioned, size_in, style
from midflight.plot.over_time.followed import time_title
from midflight.plot.over_time.holes import Followed, Hole
from midflight.plot.over_time.room import OUTAGE, Room, draw_holes, shade_spans, show_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from midflight._core import Recording

__all__ = ["Row", "recording_figure"]

NS_PER_S = 1e9
#: What a panel shows, with the sizes of its units, and height of one in inches.
PANELS = (
    ("rate", "Rate (Mbit/s)", 1e6),
    ("delay", "One-way delay\n(ms)", 1e-3),
    ("loss", "Losses (%)", 1e-2),
)
PANEL_IN, AROUND_IN = 1.15, 0.8
#: An axis of time ends with a whole second that is as near as this share of it.
_NEARLY = 0.001
#: What the legend calls a line of both directions, and one that only holds.
_ALIKE, _HELD = "both directions", "no value: the one before holds"
#: The formats of which a row has a value of each quantity, at the same times.
_OF_ROWS = ("csv", "g-net-track")
#: A quantity is measured at regular times if it has so many values, and this share of its steps
#: differ from the usual one by no more than this share of it. It lacks values where a step is so
#: many times as long.
_REGULAR, _USUAL_STEPS, _DIFFERS, _LACKS = 20, 0.8, 0.2, 1.5
#: More handovers than this would be a wall of lines.
MOST_HANDOVERS = 60

#: Of a panel: "down" or "up", what it shows, instants in nanoseconds, and values from then on.
Row = tuple[str, str, Sequence[int], Sequence[float]]


def recording_figure(
    found: Recording,
    rows: Sequence[Row],
    outages: Sequence[tuple[int, int]],
    *,
    title: str | None = None,
    size: Size | None = None,
    holes: Sequence[tuple[int, int]] = (),
    begins_s: float = 0.0,
    detail: str = "",
) -> Figure:
    """Return panels over time: steps of each direction, outages shaded, handovers as lines, times
    without rows (`holes`) hatched. The steps have gaps where nothing is known: in holes, and those
    of delays and losses also in outages. A part of a recording begins in it after `begins_s`
    seconds. `detail` stands above its rates.

    `title` may have mathematics, `size` is that of figures of runs. `rows` are what `found` has of
    each direction; what both directions have alike is drawn once.
    """
    shown = [panel for panel in PANELS if any(what == panel[0] for _, what, *_ in rows)]
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size_in(size, (2 * COLUMN_IN, PANEL_IN * len(shown) + AROUND_IN)))
        grid = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        span = found["span_ns"] / NS_PER_S
        # A file of 60 s may end a millisecond before.
        whole = math.ceil(span)
        show_time(grid[0], (0.0, whole if whole - span < _NEARLY * span else span))
        entries: dict[str, Any] = {}
        missing = [Hole(*one) for one in holes]
        missing += [Hole(start, until, True) for start, until, _ in found["short_holes"]]
        room = Room(max(0.5, figure.get_size_inches()[0] - 0.65), (0.0, span))
        unknown = [one for one in holes if one not in outages]
        for axes, (kind, label, unit) in zip(grid, shown, strict=True):
            top = 0.0
            of_kind = [(way, times, values) for way, what, times, values in rows if what == kind]
            is_alike = len(of_kind) == 2 and of_kind[0][1:] == of_kind[1][1:]
            for way, times, values in of_kind[:1] if is_alike else of_kind:
                look = LINKS[0 if is_alike or way == "down" else len(LINKS) // 2]
                scaled = [value / unit for value in values]
                gaps = unknown if kind == "rate" else [*unknown, *outages]
                lacks = _without_values(times, [*gaps, *((a, b) for a, b, _ in missing)])
                lacks = lacks if found["format"] in _OF_ROWS else []
                gaps = sorted([*gaps, *lacks])
                axes.plot(
                    *_with_gaps([*times, found["span_ns"]], [*scaled, scaled[-1]], gaps),
                    drawstyle="steps-post",
                    color=look.colour,
                    linestyle=look.line,
                    linewidth=0.9,
                    rasterized=len(scaled) > 5000,
                    label=_ALIKE if is_alike else way,
                )
                _draw_held(axes, lacks, (times, scaled), look.colour)
                top = max(top, *scaled)
            axes.set_ylim(0, 1.08 * top or 1.0)
            axes.set_ylabel(label)
            if kind == "rate":
                axes.set_title(
                    captioned(detail), loc="right", fontsize=SMALL_PT, color="0.35", pad=2
                )
            spans = [(start / NS_PER_S, until / NS_PER_S) for start, until in outages]
            shade_spans(axes, spans, OUTAGE, room)
            draw_holes(axes, missing, room)
            if len(found["handovers"]) <= MOST_HANDOVERS:
                for at, _ in found["handovers"]:
                    axes.axvline(
                        at / NS_PER_S,
                        color="0.6",
                        linewidth=0.6,
                        linestyle=(0, (4, 2)),
                        zorder=1,
                        label="handover",
                    )
            handles, labels = axes.get_legend_handles_labels()
            for handle, one in zip(handles, labels, strict=True):
                entries.setdefault(one, handle)
        followed = {"": Followed([], [], begins_s=begins_s)}
        grid[-1].set_xlabel(time_title([(followed, found["span_ns"])]))
        figure.align_ylabels(grid)
        if {"down", _ALIKE} <= entries.keys():
            # These look the same: the panels say what their line is.
            told = {_ALIKE} if "up" in entries else {"down", _ALIKE}
            for axes in grid:
                labels = axes.get_legend_handles_labels()[1]
                way = next((one for one in labels if one in told), "")
                axes.set_title(way, loc="left", fontsize=SMALL_PT, color="0.35", pad=2)
            entries = {name: one for name, one in entries.items() if name not in told}
        ways = ("down", "up", _ALIKE)
        entries = dict(sorted(entries.items(), key=lambda one: one[0] not in ways))
        named = [(kind, axes) for axes, (kind, *_) in zip(grid, shown, strict=True)]
        finish_panels(figure, named, entries, title)
    return figure


def _without_values(
    times_ns: Sequence[int], others: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """From when to when a quantity that is measured at regular times has no values, although its
    recording has rows: all but what the `others` overlap.
    """
    steps = np.diff(np.array(times_ns, np.float64))
    if len(steps) < _REGULAR:
        return []
    usual = float(np.median(steps))
    if np.mean(np.abs(steps - usual) <= _DIFFERS * usual) < _USUAL_STEPS:
        return []
    long = np.flatnonzero(steps > _LACKS * usual).tolist()
    found = [(times_ns[one] + round(usual), times_ns[one + 1]) for one in long]
    return [(a, b) for a, b in found if not any(a < end and b > begin for begin, end in others)]


def _draw_held(
    axes: Axes,
    spans: Sequence[tuple[int, int]],
    steps: tuple[Sequence[int], Sequence[float]],
    colour: str,
) -> None:
    """Draw the value that holds while a recording has none, as dots."""
    times, values = steps
    for start, until in spans:
        level = values[int(np.searchsorted(times, start, side="right")) - 1]
        how: Any = {"color": colour, "linewidth": 0.9, "linestyle": (0, (1.0, 1.6))}
        axes.plot([start / NS_PER_S, until / NS_PER_S], [level, level], label=_HELD, **how)


def _with_gaps(
    times_ns: Sequence[int], values: Sequence[float], gaps: Sequence[tuple[int, int]]
) -> tuple[Any, Any]:
    """Return steps, the instants in seconds, with nothing from when to when there are gaps."""
    time, value = np.array(times_ns, np.float64), np.array(values, np.float64)
    for start, until in gaps:
        # What holds at its end goes on from there.
        held = value[max(0, int(np.searchsorted(time, until, side="right")) - 1)]
        low, high = np.searchsorted(time, [start, until])
        inside = [start, until] if until < times_ns[-1] else [start]
        time = np.concatenate([time[:low], inside, time[high:]])
        value = np.concatenate([value[:low], [np.nan, held][: len(inside)], value[high:]])
    if any(until >= times_ns[-1] for _, until in gaps):
        value[-1] = np.nan
    return time / NS_PER_S, value
