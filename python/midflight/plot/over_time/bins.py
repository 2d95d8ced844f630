"""The intervals of means over time: a regular grid, cut where a path ends or begins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from midflight.plot.over_time.curves import Values

__all__ = [
    "LEAST_PAUSE",
    "LEAST_SHARE",
    "MOST_MOVED",
    "NEAR",
    "Places",
    "at_bursts",
    "at_instants",
    "bin_edges",
    "places_in",
    "stepped",
    "with_whole_bursts",
    "without_gaps",
]

Places = NDArray[np.int64]

#: No interval is shorter than this share of what a figure says, unless two cuts are nearer than
#: that to each other: a peak would depend on where it is. None is longer than the other one.
LEAST_SHARE, _MOST_SHARE = 0.8, 1.8
#: Cuts that are nearer than this share of an interval to each other are together.
NEAR = 0.25
#: Two cuts that are near each other, such as the ends of an outage, and one near the beginning or
#: the end, have an interval of this share or more between them: a mean over a longer one would hide
#: that nothing arrives there, or be of two links.
_LEAST_PAIR = 0.05
#: Data that arrive after a pause of this share of an interval begin a burst, and an interval ends
#: there if it is longer or shorter than others by no more than the other one then.
LEAST_PAUSE, MOST_MOVED = 0.2, 0.15


def bin_edges(
    window: tuple[float, float], interval: float, end_s: float, cuts: Sequence[float] = ()
) -> Values:
    """Return the edges of the intervals of a window, in seconds: multiples of `interval`, and the
    `cuts`, ascending instants.

    An edge of the grid that is nearer than 0.8 intervals to a cut is left out; an interval that
    would be longer than 1.8 has two halves. Of cuts that are nearer than a quarter to each other
    the first and the last one count, or the first one alone if these are nearer than a twentieth;
    cuts that are nearer than that to the beginning or the end do not. The last interval ends
    with the flow, at `end_s`: where less than 0.8 intervals are left, it is longer.
    """
    first, end = int(window[0] / interval + 1e-9), min(end_s, window[1])
    whole = int(end / interval + 1e-9)
    grid: Values = interval * np.arange(first, whole + 1, dtype=np.float64)
    if not len(grid) or end <= grid[0]:
        return grid[:1]
    shortest = _LEAST_PAIR * interval
    begin = max([float(grid[0]), *(one for one in cuts if one <= window[0])])
    kept, near = [begin], [begin]
    for group in _groups([one for one in cuts if one > begin], NEAR * interval):
        is_long = group[-1] - group[0] >= shortest
        ends = [group[0], group[-1]] if is_long else [group[0]]
        kept += [one for one in ends if begin + shortest <= one <= end - shortest]
        near += [group[0], group[-1]]
    far = np.abs(grid[:, None] - np.array([*near, end])).min(axis=1)
    is_far = (far >= LEAST_SHARE * interval * (1 - 1e-9)) & (grid > begin)
    edges: Values = np.unique([*kept, *grid[is_far], end])
    long = np.flatnonzero(np.diff(edges) > _MOST_SHARE * interval * (1 + 1e-9))
    return np.union1d(edges, (edges[long] + edges[long + 1]) / 2)


def with_whole_bursts(
    edges: Values,
    begins: Sequence[float],
    interval: float,
    cuts: Sequence[float],
    arrived: Values,
) -> Values:
    """Return edges with which the intervals that begin with bursts, at the instants `begins`, are
    whole ones, unless there are `cuts` in them: a grid would end each after another time, so that
    equal bursts had different means. The last one may end after the last edge.

    An edge of the grid that is nearer than 0.8 intervals behind such an interval is left out, or is
    in the middle of the next two if the next one would be too long. A cut there ends the interval
    in place of its own end, and so does the end of the flow if some of the data, which `arrived` at
    these ascending instants, are later. An interval up to the next burst may be shorter: it has no
    data.
    """
    for place, begin in enumerate(begins):
        # The next burst may begin a little before its first data arrive.
        following = [one for one in begins[place + 1 : place + 2] if one > begin]
        end = min([begin + interval, *following])
        if begin not in edges or any(begin < one < end for one in cuts):
            continue
        behind = edges[edges > end]
        if len(behind) and behind[0] - end < LEAST_SHARE * interval * (1 - 1e-9):
            near = float(behind[0])
            if near in cuts or (len(behind) == 1 and arrived[-1] > end):
                end, behind = near, behind[1:]
            elif near not in begins:
                behind = behind[1:]
                if len(behind) and behind[0] - end > _MOST_SHARE * interval:
                    behind = np.concatenate([[(end + behind[0]) / 2], behind])
        edges = np.concatenate([edges[edges <= begin], [end], behind])
    return edges


def at_bursts(
    edges: Values,
    bursts: Sequence[float],
    interval: float,
    fixed: Sequence[float],
    last_s: float = math.inf,
) -> Values:
    """Return edges with intervals that end where one of the `bursts` begins, if that is about an
    interval after their own beginning: those of a grid would come to be in a burst, and have parts
    of it. From one of a grid to the first such edge may be half an interval more or less. The last
    burst has a whole interval, which may end after the last edge, up to `last_s`. The ends of
    `edges` and `fixed` ones stay as they are.
    """
    if not bursts or len(edges) < 2:
        return edges
    begins, fix, found = np.array(bursts), np.array(fixed), [float(edges[0])]
    least = LEAST_SHARE * interval
    while (edge := found[-1]) < edges[-1]:
        until = min([last_s, *fix[fix > edge].tolist()])
        # The end is no cut: what arrives later is not seen, or nothing does.
        is_burst = bool((begins == edge).any())
        most = (MOST_MOVED if is_burst else 0.5) * interval
        end = edge + interval
        near = begins[(np.abs(begins - end) <= most) & (begins <= until - least)]
        near = near[near < edges[-1]]
        if len(near):
            end = float(near[np.abs(near - end).argmin()])
        elif is_burst:
            is_part = until - edge < least and not (fix == edge).any()
            if is_part and len(found) > 1:
                found.pop()
            end = until if until - end < least else end
        else:
            behind = edges[edges > edge]
            # That of the grid may be near one that was found.
            is_far = np.isin(behind, [*fix, edges[-1]]) | (behind - edge >= least)
            end = float(behind[0] if edge in edges else behind[is_far][0])
        found.append(end)
    return np.array(found)


def at_instants(edges: Values, at: Values, cuts: Sequence[float], interval: float) -> Values:
    """Return edges of intervals that begin `at` these instants, at `cuts`, and at the ends of
    `edges`, such as those of the segments of a video; of a grid they would have parts of two. Long
    intervals have the edges that they had, but for those that are near their ends.
    """
    inside = at[(at > edges[0]) & (at < edges[-1])]
    kept = np.isin(edges, [edges[0], edges[-1], *cuts])
    found: Values = np.unique(np.concatenate([edges[kept], inside]))
    place = np.searchsorted(found, edges)
    before, behind = found[np.maximum(place - 1, 0)], found[np.minimum(place, len(found) - 1)]
    is_far = np.minimum(edges - before, behind - edges) >= LEAST_SHARE * interval
    return np.union1d(found, edges[is_far & (behind - before > _MOST_SHARE * interval)])


def _groups(cuts: Sequence[float], least: float) -> Iterator[list[float]]:
    """Cuts that are nearer than `least` to the next one, together."""
    group: list[float] = []
    for one in cuts:
        if group and one - group[-1] >= least:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def places_in(edges: Values, time_s: Values) -> Places:
    """Return the number of the interval of each time, which all lie within the edges."""
    found: Places = np.searchsorted(edges, time_s, side="right").astype(np.int64) - 1
    return np.clip(found, 0, len(edges) - 2)


def stepped(
    edges: Values,
    numbers: Places,
    columns: Sequence[Values],
    gaps: Sequence[int] | Places = (),
    ends: tuple[Values, Values] | None = None,
) -> tuple[Values, list[Values]]:
    """Return steps of the values of intervals, which have these ascending numbers: each holds from
    the beginning of its interval to the next one.

    After the last one, and those at the places `gaps`, the step ends with its interval, and a
    missing value follows. `ends` are the times of the first and the last value in each interval:
    the line then begins and ends there, also beside such a gap.
    """
    if not len(numbers):
        return np.empty(0), [np.empty(0) for _ in columns]
    gaps = np.asarray(gaps, np.int64)
    # The value at the end of its interval, and a missing one.
    again = np.sort(np.concatenate([np.arange(len(numbers)), gaps, gaps, [len(numbers) - 1]]))
    is_first = np.diff(again, prepend=-1) > 0
    begin, until = edges[numbers].copy(), edges[numbers + 1].copy()
    if ends is not None:
        first, last = ends
        begins = np.append(0, gaps + 1)
        begin[begins] = first[begins]
        # It can be seen if it is a single value.
        least = begin + 0.1 * (until - begin)
        until[gaps] = np.maximum(last, least)[gaps]
    time = np.where(is_first, begin[again], until[again])
    # Of three equal places the last one, of two that at the very end has a value.
    is_missing = ~is_first & np.append(again[1:] != again[:-1], True)
    is_missing[-1] = False
    found = [np.where(is_missing, np.nan, column[again]) for column in columns]
    return time, found


def without_gaps(
    time: Values,
    columns: Sequence[Values],
    arrived: Values,
    gaps: Sequence[tuple[float, float]],
) -> tuple[Values, list[Values]]:
    """Return steps that end where nothing can arrive: from the last of the ascending instants
    `arrived` in a gap, or its beginning, to the first one after it there is a missing value.
    """
    for begin, end in gaps:
        first, last = np.searchsorted(arrived, [begin, end], side="left")
        stop = float(np.nextafter(arrived[last - 1], np.inf)) if last > first else begin
        end = float(arrived[last]) if last < len(arrived) else end
        before, until = np.searchsorted(time, [stop, end], side="right")
        if before == 0 or before == len(time):
            # The line begins later, or is over.
            continue
        if np.isnan(columns[0][until - 1]):
            # It has ended.
            continue
        resumes = until < len(time)
        at = [stop, stop, *([end] if resumes else [])]
        pieces = []
        for column in columns:
            between = [column[before - 1], np.nan, *([column[until - 1]] if resumes else [])]
            pieces.append(np.concatenate([column[:before], between, column[until:]]))
        time, columns = np.concatenate([time[:before], at, time[until:]]), pieces
    return time, [*columns]
