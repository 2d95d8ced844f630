"""The usual length of the intervals of means over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from midflight.plot.over_time.applications import cycle_of
from midflight.plot.over_time.bins import MOST_MOVED
from midflight.plot.over_time.curves import (
    Values,
    WatchedRun,
    inside,
    longest,
    nice,
    seconds_text,
)
from midflight.plot.over_time.history import NS_PER_S, History
from midflight.plot.over_time.link_rates import rate_in_use

__all__ = [
    "LEAST_INTERVALS",
    "Usual",
    "has_whole_bursts",
    "interval_note",
    "main_uses",
    "usual_interval",
    "usual_intervals",
]

#: A rate that changes so often follows a recording. An inch of a panel has no more than so many of
#: its intervals: with one line, and with several, whose dashes need longer steps.
_MANY_CHANGES = 20
_MOST_PER_IN, _MOST_OF_SEVERAL = 150, 60
#: Otherwise an inch has no more than so many.
_PER_IN = 28
#: A link that is in use for less than this share of a time has no say in how long they are.
#: Reports tell fewer (`long_uses`): means of less than a round trip are wrong also where few are.
_LEAST_USE = 0.1
#: Intervals fit the changes of a rate if more than this share of them is at their edges.
_MOST_FIT = 0.9
#: However long a round trip is, a figure has so many intervals.
LEAST_INTERVALS = 8
#: Of a video's segment an interval of means has so much at the most, or whole ones.
_MOST_OF_SEGMENT = 0.25
#: Narrower segments have no means of parts of them, in inches; so have narrower cycles of a page.
_LEAST_SEGMENT_IN, _LEAST_CYCLE_IN = 0.4, 0.18
#: The means of objects that are requested one after the other, or of whole round trips, are no
#: fewer than these.
_LEAST_CYCLES = 8
#: Of so many frames of a call one more or less is hardly seen.
_MANY_FRAMES = 20
#: A cycle that is no narrower has at least so many means.
_OF_CYCLE = 3
#: Slopes that differ by less than this share are the same.
_STRAIGHT = 0.02
#: An interval with fewer round trips of a flow that sends in bursts has whole ones.
_FEW_TRIPS = 6
#: It has whole ones if it differs from these by less than this share of a round trip.
_WHOLE = 0.1
#: They are a round number if that differs from them by no more than this share.
_ROUNDED = 0.03
#: A flow sends in bursts if this share of the time is in pauses that are longer than this share of
#: a round trip, and shorter than two: longer ones are stalls.
_IN_PAUSES, _LEAST_PAUSE, _MOST_PAUSE = 0.5, 0.2, 2.0


class Usual(NamedTuple):
    """The length of intervals in seconds, and whether it is also that of queues."""

    length_s: float
    is_fixed: bool


def usual_interval(
    runs: Sequence[WatchedRun], window: tuple[float, float], width_in: float
) -> Usual:
    """The usual interval of means of a figure of this width, which shows a window."""
    return next(usual_intervals(runs, window, width_in, [1.0]))


def usual_intervals(
    runs: Sequence[WatchedRun], window: tuple[float, float], width_in: float, zooms: Iterable[float]
) -> Iterator[Usual]:
    """Yield the usual interval of means of a figure of this width, which shows some part of a
    window that is so many times shorter, for each of these times.
    """
    flows = [(run, flow) for run in runs for flow in run.flows]
    most = width_in * (_MOST_PER_IN if len(flows) == 1 else _MOST_OF_SEVERAL)
    seen = _Seen.of(runs, window)
    segments = sorted({one for run, flow in flows if (one := run.segments.get(flow.flow))})
    cycles = [cycle_of(flow) for run, flow in flows if run.workload_of(flow) == "web"]
    frames = [run.calls[flow.flow].interval_s for run, flow in flows if flow.flow in run.calls]
    for zoom in zooms:
        usual = _of_links(seen, (window[1] - window[0]) / zoom, width_in * _PER_IN, most)
        shown_s = (min(window[1], longest(runs).end_ns / NS_PER_S) - window[0]) / zoom
        inch_s = shown_s / width_in
        usual = _of_whole_segments(segments, usual, _LEAST_SEGMENT_IN * inch_s)
        cycle = max(cycles, default=0.0)
        of_cycles = _of_cycles(cycle, usual, _LEAST_CYCLE_IN * inch_s, shown_s)
        found = _of_whole_frames(max(frames, default=0.0), of_cycles)
        # A queue that is full and empty in each segment of a video would be a comb.
        has_segments = len(segments) > 0 and usual >= segments[0]
        # So would one that bursts fill and that is empty between them.
        has_bursts = found < _FEW_TRIPS * seen.of_bursts
        yield Usual(found, has_segments or has_bursts or of_cycles > usual)


class _Seen(NamedTuple):
    """What determines intervals in a window, in seconds: the longest round trip of the longest run,
    that of all flows that send in bursts, when the rate of the link in use changes, and by how much
    later that is known; and whether that follows a recording.
    """

    trip: float
    of_bursts: float
    changes: Values
    between: float
    is_recorded: bool

    @classmethod
    def of(cls, runs: Sequence[WatchedRun], window: tuple[float, float]) -> _Seen:
        """Those of runs. A rate with an even slope changes where the slope ends."""
        run = longest(runs)
        rate = rate_in_use(run, window)
        sampled = run.sampled(next(iter(run.access.values())), "time_ns")
        between = float(np.median(np.diff(sampled))) / NS_PER_S if len(sampled) > 1 else 0.0
        is_recorded = not {*run.access.values()}.isdisjoint(run.recorded_rates)
        if is_recorded:
            # Its changes are known as they happen, and not from the next sample on.
            between = 0.0
        at = _corners(rate.time_s, rate.value, 1.5 * between)
        trip = max([0.0, *_trips(run, window)])
        return cls(trip, _trip_of_bursts(runs, window), at, between, is_recorded)


def _of_links(seen: _Seen, shown: float, count: float, most: float) -> float:
    """The interval of means, in seconds, of which the time `shown` has `count` or fewer. If the
    rate of the link in use changes all the time, as with a recording, it is the interval of these
    changes, if that is shorter than the usual one and there are no more than `most`.
    """
    trip, of_bursts, at, between, is_recorded = seen
    least = max(shown / count, min(trip, shown / LEAST_INTERVALS))
    usual = _of_whole_trips(of_bursts, least, shown)
    many = len(at) >= _MANY_CHANGES
    if not many and not (is_recorded and len(at) > 2):
        return usual
    step = float(np.median(np.diff(at))) - between
    if many:
        usual = max(usual, nice(shown / most))
    if step < usual:
        return min(usual, nice(max(step, trip, shown / most))) if many else usual
    # No interval has parts of two steps of the recording.
    shorter = (usual, nice(0.4 * usual), nice(0.4 * nice(0.4 * usual)))
    near = 2 * between + 1e-6

    def fits(one: float) -> bool:
        aside = np.abs(at[1:-1] - one * np.round(at[1:-1] / one))
        return float(np.mean(aside <= near)) > _MOST_FIT

    return next((one for one in shorter if one >= max(trip, shown / most) and fits(one)), usual)


def _trips(
    run: WatchedRun,
    window: tuple[float, float],
    *,
    in_bursts: bool = False,
    flows: Sequence[History] | None = None,
) -> Iterator[float]:
    """The round trips, in seconds, of the flows on each link that is in use for a good part of a
    window: means of less than these show the bursts of a window, and no throughput. What waits in a
    queue arrives without bursts, so that the shortest one of each link counts. They may be those of
    flows that send `in_bursts`, or only of some `flows`.
    """
    uses = main_uses(run, window)
    for flow in run.flows if flows is None else flows:
        at, every = flow.times("rtt_sample") / NS_PER_S, flow.values("rtt_sample")
        for use in uses:
            seen = inside(at, use)
            # What was sent before took the way over the link before.
            trips = every[seen][(at - every)[seen] >= _whole_use(run, use)[0]]
            if not len(trips):
                continue
            trip = float(trips.min())
            if not in_bursts:
                yield trip
            # A part of its time on a link with fewer pauses is no other flow.
            elif any(_has_bursts(run, flow, one, trip) for one in (use, _whole_use(run, use))):
                # That of most of them, with what bursts wait for each other.
                yield float(np.median(trips))


def _whole_use(run: WatchedRun, use: tuple[float, float]) -> tuple[float, float]:
    """The time for which the link is in use of which this is a part."""
    whole = _uses(run, (0.0, math.inf))
    return next(one for one in whole if one[0] <= use[0] and use[1] <= one[1])


def _trip_of_bursts(runs: Sequence[WatchedRun], window: tuple[float, float]) -> float:
    """The longest round trip of flows that send in bursts; 0 without any."""
    return max((one for run in runs for one in _trips(run, window, in_bursts=True)), default=0.0)


def interval_note(
    runs: Sequence[WatchedRun], window: tuple[float, float], interval_s: float
) -> str:
    """What to say of intervals of means that were asked for if a flow sends in bursts, and these
    have few round trips of it, and no whole ones.
    """
    trip = _trip_of_bursts(runs, window)
    if interval_s >= _FEW_TRIPS * trip or interval_s < _LEAST_PAUSE * trip:
        # Parts of a round trip show the bursts.
        return ""
    whole = max(1, round(interval_s / trip))
    if _is_whole(interval_s, trip):
        # Its intervals end where bursts begin.
        return ""
    return (
        f"a flow sends in bursts, one in each round trip of {seconds_text(trip)}: means of "
        f"{interval_s:g} s have more of one or less by turns; --interval {whole * trip:.2g}s has "
        "whole round trips"
    )


def has_whole_bursts(run: WatchedRun, flow: History, interval_s: float) -> bool:
    """Whether intervals have few, whole round trips of a flow that sends in bursts, so that they
    can end where bursts begin.
    """
    trips = _trips(run, (0.0, run.end_ns / NS_PER_S), in_bursts=True, flows=[flow])
    return any(interval_s < _FEW_TRIPS * trip and _is_whole(interval_s, trip) for trip in trips)


def _is_whole(interval_s: float, trip: float) -> bool:
    """Whether an interval has whole round trips, but for what its ends may be moved."""
    apart = abs(interval_s - max(1, round(interval_s / trip)) * trip)
    return apart < max(_WHOLE * trip, MOST_MOVED * interval_s)


def _has_bursts(run: WatchedRun, flow: History, use: tuple[float, float], trip: float) -> bool:
    """Whether data of a flow that always has some arrive in bursts, each a part of a round trip."""
    if run.workload_of(flow) not in (None, "", "bulk"):
        return False
    at = flow.times("rcv") / NS_PER_S
    gaps = np.diff(at[inside(at, use)])
    gaps = gaps[gaps < _MOST_PAUSE * trip]
    return float(gaps[gaps > _LEAST_PAUSE * trip].sum()) > _IN_PAUSES * float(gaps.sum())


def _of_whole_trips(trip: float, least: float, shown: float) -> float:
    """An interval of `least` seconds or longer, of `shown` that are seen: a round number, or if a
    flow sends a window of data at once, one in each round `trip`, and that has few of these, whole
    ones, to three digits, or a round number near these. The means of others would have one burst
    and two by turns, or, if they are nearly whole ones, a false dip or peak from time to time.
    """
    usual = nice(least)
    if not usual / _FEW_TRIPS < trip <= shown / _LEAST_CYCLES:
        return usual
    fewest = math.ceil(least / trip * (1 - 1e-9))
    whole = float(f"{fewest * trip:.3g}")
    # An interval ends where a burst begins, also if that is a little later or sooner.
    rounded = nice((1 - _ROUNDED) * whole)
    return rounded if rounded <= (1 + _ROUNDED) * whole else whole


def _uses(run: WatchedRun, window: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """From when to when each link is in use in a window, in seconds."""
    for one in run.stretches:
        begin, end = max(one.from_ns / NS_PER_S, window[0]), min(one.until_ns / NS_PER_S, window[1])
        if one.link and begin < end:
            yield begin, end


def main_uses(run: WatchedRun, window: tuple[float, float]) -> list[tuple[float, float]]:
    """Return those of these times that are a good part of the window."""
    least = _LEAST_USE * (window[1] - window[0])
    return [(begin, end) for begin, end in _uses(run, window) if end - begin >= least]


def _of_whole_segments(segments: Sequence[float], interval: float, narrow_s: float) -> float:
    """An interval of means that has whole segments of videos of these lengths, or is much shorter
    than these, if they are not narrow: means of half a segment of a flow that is on and off would
    depend on where they begin, and many narrow bursts be a comb.
    """
    for segment in segments:
        if segment < narrow_s or interval > _MOST_OF_SEGMENT * segment * (1 + 1e-9):
            interval = segment * math.ceil(interval / segment - 1e-9)
    return interval


def _of_whole_frames(frame_s: float, interval: float) -> float:
    """An interval of means that has whole frames of a call, or many: others have one more or less
    by turns.
    """
    if not frame_s or interval >= _MANY_FRAMES * frame_s:
        return interval
    return float(f"{frame_s * math.ceil(interval / frame_s - 1e-9):.3g}")


def _of_cycles(cycle: float, interval: float, narrow_s: float, shown_s: float) -> float:
    """An interval of means that has about two of the cycles of a flow that is on and off, or if
    they are not narrow a part of one; of few narrow ones it is as it was.
    """
    if not cycle:
        return interval
    if cycle >= narrow_s:
        # These show when its data arrive.
        most = cycle / _OF_CYCLE
        return min(interval, found if (found := nice(most)) <= most else nice(most / 2))
    found = nice(2 * cycle)
    return max(interval, found) if _LEAST_CYCLES * found <= shown_s else interval


def _corners(time_s: Values, value: Values, near_s: float) -> Values:
    """The times at which a value of steps changes, without those on a straight slope, whose steps
    are no further apart than `near_s`.
    """
    if len(time_s) < 3:
        return time_s
    apart = np.diff(time_s)
    slope = np.diff(value) / np.maximum(apart, 1e-12)
    change: Values = np.abs(np.diff(slope))
    is_corner = change > _STRAIGHT * np.maximum(np.abs(slope[1:]), np.abs(slope[:-1]))
    is_far = np.maximum(apart[1:], apart[:-1]) > near_s
    found: Values = time_s[np.concatenate([[True], is_corner | is_far, [True]])]
    return found
