"""What is drawn of marks and steps that would not be told apart or seen in a panel over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from midflight.plot.over_time.curves import Curve, Draw, Panel, Values
from midflight.plot.over_time.marks import AT_TIMEOUTS, EVENTS, GROUPS, STALL, TIMEOUTS
from midflight.plot.over_time.room import PANEL_IN, Room

__all__ = ["MOST_ROWS", "spurious_words", "with_room", "without_many", "without_overlaps"]

#: How far apart marks in a row are at least, in sizes of their kind.
_APART = 1.2
#: The least length of a step that stands alone, in points.
_LEAST_STEP_PT = 1.0
#: Rows of marks of more lines than this would take half of a panel, or be too low for their marks.
MOST_ROWS = 4
#: What is told of rows that are left out.
_OF_ROWS: Mapping[Sequence[Draw], str] = {
    tuple(GROUPS["losses"]): "lost packets",
    tuple(TIMEOUTS): "timeouts",
    ("late",): "late frames",
    ("unread",): "frames not read",
    ("stalled",): "stalls of playback",
    ("request_timeout",): "timeouts of requests",
}
#: Of several lines those of a sequence are not marked if one of them has more of these marks that
#: can be told apart: they would hide the lines.
_MOST_BESIDE = 30
_OF_SEQUENCE: Mapping[Draw, str] = {
    "full": "lost to a full queue",
    "retransmissions": "sent again",
}


def without_overlaps(panel: Panel, room: Room) -> Panel:
    """Return a panel whose rows of marks, and a sequence of several lines, have one of the marks of
    a kind that would cover each other. How many there are stands beside the row; of timeouts only
    if those of some line are not told apart. Each mark of a row knows how many it is of.
    """
    are_crowded = any(_are_crowded(panel, one.look, room) for one in panel.curves)
    curves = []
    is_sequence = panel.kind == "sequence"
    is_alone = is_sequence and len({one.look for one in panel.curves} - {None}) == 1
    values = np.concatenate([one.value for one in panel.curves]) if is_alone else np.empty(0)
    # The height of a point.
    point = float(np.ptp(values)) / (72 * PANEL_IN * panel.high) if len(values) else 0.0
    for one in panel.curves:
        if one.draw in EVENTS and (one.in_row or is_sequence):
            # Those of a burst in a sequence would be a blob at which neither lines nor marks are
            # seen.
            is_timeout = one.in_row and one.draw in AT_TIMEOUTS
            least = _APART * EVENTS[one.draw].size
            if is_alone and not one.in_row:
                # Below each other they are seen, too.
                kept = _apart_both(one.time_s, one.value, least * room.point_s, least * point)
            else:
                kept = _apart(one.time_s, least * room.point_s)
            # The others at timeouts are named by the legend alone.
            is_counted = one.in_row and (not is_timeout or (are_crowded and one.draw in TIMEOUTS))
            count = len(one.time_s) if is_counted else 0
            each = np.diff([*kept, len(one.time_s)]) if one.in_row else None
            some: Any = {"time_s": one.time_s[kept], "value": one.value[kept]}
            one = replace(one, events=count, each=each, **some)
        curves.append(one)
    return replace(panel, curves=curves)


def spurious_words(panel: Panel, names: Mapping[int, str]) -> str:
    """Return how many of the timeouts that a panel marks are spurious, of several lines for each of
    them, by its look in `names`; "" of none: of marks that cover each other one is drawn, and of
    small ones nobody sees which are hollow.
    """
    marks = [one for one in panel.curves if one.in_row and one.draw in TIMEOUTS]
    spurious = [one for one in marks if one.draw == "spurious"]
    count, total = (sum(len(one.time_s) for one in each) for each in (spurious, marks))
    if not count or total == 1:
        return ""
    if count == total == 2:
        return "both timeouts spurious"
    if panel.line or all(one.look is None for one in marks):
        return f"{f'{count:,} of' if count < total else 'all'} {total:,} timeouts spurious"
    if count == total:
        return "all timeouts spurious"
    return f"spurious timeouts: {_of_each(spurious, names)}"


def _are_crowded(panel: Panel, look: int | None, room: Room) -> bool:
    """Whether timeouts of a line, of both kinds, cover each other."""
    mine = [one for one in panel.curves if one.in_row and one.draw in TIMEOUTS]
    times = [one.time_s for one in mine if one.look == look]
    at = np.sort(np.concatenate([np.empty(0), *times]))
    return bool((np.diff(at) < _APART * EVENTS["timeout"].size * room.point_s).any())


def _apart(time_s: Values, least: float) -> list[int]:
    """The places of ascending times, each so far from the one before."""
    found, place = [], 0
    while place < len(time_s):
        found.append(place)
        place = max(place + 1, int(np.searchsorted(time_s, time_s[place] + least)))
    return found


def _apart_both(time_s: Values, value: Values, least_s: float, least: float) -> list[int]:
    """The places of the first mark in each field of this length and height."""
    fields = np.column_stack([time_s // least_s, value // least if least > 0 else 0 * value])
    _, first = np.unique(fields, axis=0, return_index=True)
    found: list[int] = sorted(first.tolist())
    return found


def without_many(panel: Panel, room: Room, lines: int, names: Mapping[int, str]) -> Panel:
    """Leave out rows of marks if the figure has many `lines`, and marks of a sequence that would
    hide several lines; the panel's text has the numbers of each line, by its look in `names`. Leave
    out lost ACKs, too, which would be taken for lost data. Marks that are asked for are all there.
    """
    if panel.are_marks_asked:
        return panel
    curves = [one for one in panel.curves if one.draw != "acks"]
    words = []
    if lines > MOST_ROWS:
        for draws, what in _OF_ROWS.items():
            marks = [one for one in curves if one.in_row and one.draw in draws]
            if told := _of_each(marks, names):
                words.append(f"{what} ({told})")
        curves = [one for one in curves if not one.in_row]
    for draw, what in _OF_SEQUENCE.items() if panel.kind == "sequence" and lines > 1 else ():
        marks = [one for one in curves if one.draw == draw]
        least = _APART * EVENTS[draw].size * room.point_s
        if any(len(_apart(one.time_s, least)) > _MOST_BESIDE for one in marks):
            words.append(f"segments {what} ({_of_each(marks, names)})")
            curves = [one for one in curves if one.draw != draw]
    said = f"not marked: {', '.join(words)}" if words else ""
    detail = "; ".join(filter(None, (panel.detail, said)))
    return replace(panel, curves=curves, detail=detail)


def _of_each(marks: Sequence[Curve], names: Mapping[int, str]) -> str:
    """How many marks each line has, in the order of the lines."""
    counts = {
        name: sum(len(one.time_s) for one in marks if one.look == look and one.label != STALL)
        for look, name in names.items()
    }
    return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)


def with_room(time_s: Values, value: Values, room: Room, *, of_intervals: bool = False) -> Values:
    """Return the times of steps, those of steps that are too short to be seen further apart: of
    parts between gaps, and of means or medians `of_intervals` above or below both of their
    neighbours, or at a gap, which would be no more than an upright line. The latter take a part of
    the time of the next one, or at a gap of the one before. None reaches over an edge of the room.
    """
    there = np.isfinite(value)
    edges = np.flatnonzero(np.diff(there.astype(np.int8), prepend=0, append=0))
    least = _LEAST_STEP_PT * room.point_s
    found = _with_short_ones(time_s, value, room) if of_intervals else time_s.copy()
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        # The gap begins at its end, or later.
        last = min(int(end), len(time_s) - 1)
        lacks = least - (time_s[last] - time_s[first])
        if lacks > 0:
            moved = slice(end - 1 if time_s[end - 1] == time_s[last] else last, last + 1)
            begin = float(_held(time_s[first], time_s[first] - lacks / 2, room))
            found[moved] = time_s[moved] + lacks - (time_s[first] - begin)
            found[first] = begin
    ordered: Values = np.maximum.accumulate(_held(time_s, found, room))
    return ordered


def _held(time_s: Values, moved_s: Values, room: Room) -> Values:
    """Return moved instants, those that would have crossed an edge of the room at this."""
    edges = np.array([-np.inf, *room.edges, np.inf])
    low = edges[np.searchsorted(edges, time_s, side="right") - 1]
    high = edges[np.searchsorted(edges, time_s, side="left")]
    return np.clip(moved_s, low, high)


def _with_short_ones(time_s: Values, value: Values, room: Room) -> Values:
    """The times of steps, with room for short ones between or beside others."""
    found = time_s.copy()
    if len(time_s) < 2:
        return found
    is_same = (value[1:] == value[:-1]) | (np.isnan(value[1:]) & np.isnan(value[:-1]))
    starts = np.concatenate([[0], np.flatnonzero(~is_same) + 1])
    level, begins = value[starts], time_s[starts]
    length = np.diff(begins, append=time_s[-1])
    # What is before the first one and behind the last one is a gap.
    gap = np.full(1, np.nan)
    above = level - np.concatenate([gap, level[:-1]]), level - np.concatenate([level[1:], gap])
    has = np.isfinite(above[0]), np.isfinite(above[1])
    beside = np.concatenate([gap, length[:-1]]), np.concatenate([length[1:], gap])
    both, least = has[0] & has[1], _LEAST_STEP_PT * room.point_s
    # Neighbours keep about as much as they give. No value is drawn before its time, such as that
    # of an outage, but where a gap follows.
    between = np.minimum(least, 2 / 3 * beside[1]) * (above[0] * above[1] > 0)
    before, after = (np.minimum(least, one / 2) for one in beside)
    target = np.select([both, has[0], has[1]], [between, before, after], 0.0)
    lacks = np.maximum(0.0, target - length)
    found[starts] -= np.where(has[1], 0.0, lacks)
    found[starts[1:]] += np.where(has[1], lacks, 0.0)[:-1]
    return found
