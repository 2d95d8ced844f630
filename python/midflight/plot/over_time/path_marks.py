"""What happens to the paths of runs, in panels over time: times without a link, outages, and times
without rows of a recording.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight.plot.common.line_looks import look_of
from midflight.plot.over_time.curves import Stretch, WatchedRun, longest
from midflight.plot.over_time.history import NS_PER_S
from midflight.plot.over_time.holes import Hole
from midflight.plot.over_time.room import (
    MOST_MARKS,
    PANEL_IN,
    WITHOUT,
    Room,
    draw_holes,
    draw_outages,
    is_narrow,
    shade_spans,
)
from midflight.plot.over_time.strokes import row_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_path", "edges_of", "holes_of"]

#: Times without a link, where they differ between the lines: width in points, and words if some
#: are outages.
_GAP_PT, _GAP = 3.6, "no link or outage"


def edges_of(runs: Sequence[WatchedRun], room: Room) -> tuple[float, ...]:
    """Return the instants, in seconds, at which what is widened to be seen ends: those at which the
    path changes, but not the ends of gaps that are widened themselves.
    """
    found: set[float] = set()
    for run in runs:
        found |= {*run.cuts} - {gap[1] for gap in run.gaps if is_narrow(gap, room)}
    return tuple(sorted(found))


def holes_of(runs: Sequence[WatchedRun]) -> Sequence[tuple[str, Hole]]:
    """Return the times without rows of the links in use, if they are the same in all runs as long
    as these last; runs that are drawn over each other may follow different parts of a recording.
    """
    until = min(run.end_ns for run in runs)
    each = [[(a, min(b, until)) for _, (a, b, _) in run.holes if a < until] for run in runs]
    return longest(runs).holes if all(one == each[0] for one in each) else []


def draw_path(
    axes: Axes,
    paths: Sequence[WatchedRun],
    labels: Collection[str],
    room: Room,
    rows: Mapping[int, float],
    holes: Sequence[tuple[str, Hole]],
) -> None:
    """Shade what happens to the path of the runs of `paths` in a panel; if they have several, each
    run with one of these labels has its row.
    """
    if len(paths) > 1:
        _draw_gaps(axes, [run for run in paths if not {*run.labels}.isdisjoint(labels)], room, rows)
    else:
        run = paths[0]
        _outages(axes, run.stretches, room)
        draw_outages(axes, run.moments.outages, room)
    draw_holes(axes, [hole for _, hole in holes], room)


def _draw_gaps(
    axes: Axes, runs: Sequence[WatchedRun], room: Room, rows: Mapping[int, float]
) -> None:
    """Draw the times of each run without a link or in an outage in the row of its line, and when it
    begins to use a link as a line of its colour.
    """
    start, end = room.window
    label = _GAP if any(run.moments.outages for run in runs) else WITHOUT
    width = min(_GAP_PT, 0.6 * row_height(len(rows)) * PANEL_IN * 0.8 * 72)
    for run in runs:
        spans = [(max(a, start), min(b, end)) for a, b in run.gaps if b > start and a < end]
        look = look_of(run.looks[0])
        # Without gaps a run may have no row, and of many lines none has one.
        if spans and run.looks[0] in rows:
            axes.plot([], [], color="0.5", linewidth=_GAP_PT, alpha=0.5, label=label)
            axes.hlines(
                [rows[run.looks[0]]] * len(spans),
                [a for a, _ in spans],
                [b for _, b in spans],
                transform=axes.get_xaxis_transform(),
                colors=look.colour,
                linewidth=width,
                alpha=0.3,
                zorder=5.5,
            )
        makes = [one.from_ns / NS_PER_S for one in run.stretches[1:] if one.link]
        if len(makes) <= MOST_MARKS / len(runs):
            how: Any = {"linewidth": 0.6, "linestyle": (0, (4, 2)), "alpha": 0.6, "zorder": 1.5}
            for at in (at for at in makes if start < at < end):
                axes.axvline(at, color=look.colour, **how)


def _outages(axes: Axes, stretches: Sequence[Stretch], room: Room) -> None:
    """Shade the times without a link, and mark handoffs quietly while there are few."""
    if len(stretches) > MOST_MARKS:
        return
    gaps = [(one.from_ns / NS_PER_S, one.until_ns / NS_PER_S) for one in stretches if not one.link]
    shade_spans(axes, gaps, WITHOUT, room, is_named=False)
    for one in stretches[1:]:
        at = one.from_ns / NS_PER_S
        if one.link and room.window[0] < at < room.window[1]:
            axes.axvline(at, color="0.6", linewidth=0.6, linestyle=(0, (4, 2)), zorder=1.5)
