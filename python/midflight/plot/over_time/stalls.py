"""Times in which nothing arrives, as throughputs over time show them.

They are called stalls here, and in figures *nothing arrives*: elsewhere a stall is a time without
an acknowledgment of new data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.plot.over_time.applications import wanted_of
from midflight.plot.over_time.bins import Places
from midflight.plot.over_time.curves import Curve, Panel, Values, WatchedRun, inside
from midflight.plot.over_time.history import NS_PER_S, History
from midflight.plot.over_time.marks import STALL
from midflight.plot.over_time.room import Room

__all__ = [
    "MOST_EARLY",
    "Heard",
    "least_stall_s",
    "received_from",
    "silences",
    "stalls_of",
    "waits_of",
    "without_short_stalls",
]

#: A time without arrivals is a stall if it lasts so long, and so many median RTTs, ...
_LEAST_S, _TRIPS = 1.0, 3.0
#: ... or if it is around a timeout, or around the end of a time without a link or of an outage and
#: at least this share of that.
_OF_GAP = 0.5
#: An interval of means begins after so many of the longest times without arrivals.
_MOST_SILENCES = 400
#: It begins no longer before the first data after such a time than this share of it.
MOST_EARLY = 0.05
#: Shorter ones than this share of the time that is shown are not drawn.
_LEAST_SHARE = 0.01


class Heard(NamedTuple):
    """The arrivals of a line in seconds, ascending, and the end of the run if data wait until then;
    its throughput and timeouts; the shortest time without arrivals that is a stall by itself, in
    seconds; when the flow of an application waits for something (`waits_of`); and the times in
    which its path has no link or an outage.
    """

    arrivals_s: Values
    line: Curve
    timeouts: Sequence[Curve]
    least_s: float
    waits: Sequence[tuple[float, float]] | None = None
    gaps: Sequence[tuple[float, float]] = ()


def silences(flow: History, window: tuple[float, float]) -> tuple[float, Values, Values]:
    """Return when the first data of a flow arrive, or the beginning of a window that is later; the
    lengths of the longest times in it without arrivals; and when data arrive after each; in
    seconds.
    """
    data = flow.times("rcv")[flow.values("rcv") > 0] / NS_PER_S
    at = data[inside(data, window)]
    if not len(at):
        return window[0], np.empty(0), np.empty(0)
    begin = float(at[0]) if at[0] == data[0] else window[0]
    lengths = np.diff(at)
    longest = np.sort(np.argsort(-lengths, kind="stable")[:_MOST_SILENCES])
    return begin, lengths[longest], at[1:][longest]


def received_from(flow: History, again: Values) -> Values:
    """Return from when on the data were received that arrive at these instants, each after a
    silence: as long before as the next ones arrive later, in seconds. In a burst from the first
    arrival on would be one packet more than the link carries in that time.
    """
    arrivals: Values = flow.times("rcv") / NS_PER_S
    behind = np.searchsorted(arrivals, again, side="right")
    following = np.append(arrivals, np.inf)[behind]
    found: Values = np.where(np.isfinite(following), 2 * again - following, again)
    return found


def least_stall_s(run: WatchedRun, flow: History) -> float:
    """The shortest time without arrivals that is a stall without a timeout, in seconds; infinite
    for a flow of an application of which it is not known when it has nothing to send.
    """
    if waits_of(run, flow) == []:
        return math.inf
    trips = flow.values("rtt_sample")
    return max(_LEAST_S, _TRIPS * float(np.median(trips)) if len(trips) else 0.0)


def waits_of(run: WatchedRun, flow: History) -> list[tuple[float, float]] | None:
    """From when to when a flow of an application has data in the network, as far as its sender
    knows, or its application wants some, in seconds; None for others, which always wait. A sender
    that is told to stop has none in the network, and its application waits.
    """
    workload = run.workload_of(flow)
    if workload is None:
        return None
    time, is_there = flow.pipe.time_ns / NS_PER_S, flow.pipe.value > 0
    # The first state is that from the beginning on, the last one to the end.
    begins = np.append(-math.inf, time[1:])[: len(time)]
    until = np.append(time, math.inf)[1:]
    spans = [*zip(begins[is_there].tolist(), until[is_there].tolist(), strict=True)]
    found: list[tuple[float, float]] = []
    for begin, end in sorted([*spans, *wanted_of(flow, workload)]):
        if found and begin <= found[-1][1]:
            begin, end = found[-1][0], max(found.pop()[1], end)
        found.append((begin, end))
    return found


def stalls_of(lines: Sequence[Heard], *, alone: bool) -> Iterator[list[Curve]]:
    """Yield the stalls of each line: times in which nothing arrives while it is shown that are
    around its timeouts, or around the ends of times without a link and outages, or last long
    enough. Other lines do not matter. A single line needs no look.
    """
    for one in lines:
        # Those that no wait is known of are stalls only around timeouts.
        begins, is_known = _begins(one)
        after = _stalls(one, begins, is_known)
        if not len(after):
            yield []
            continue
        low, high = begins[after - 1], one.arrivals_s[after]
        how: Any = {"low": low, "high": high, "in_row": True, "quantity": STALL}
        how |= {"flow": one.line.flow, "scheme": one.line.scheme}
        look = None if alone else one.line.look
        yield [Curve(STALL, "stalled", low, np.zeros(len(low)), look, **how)]


def _stalls(one: Heard, begins_s: Values, is_known: NDArray[np.bool_]) -> Places:
    """The places of the arrivals that end stalls of a line: around timeouts, around times without a
    link, and long ones.
    """
    at = np.concatenate([np.empty(0), *(marks.time_s for marks in one.timeouts)])
    after = np.searchsorted(one.arrivals_s, at, side="right")
    lengths = one.arrivals_s[1:] - begins_s
    long = np.flatnonzero(lengths >= one.least_s) + 1
    begins, ends = np.array([*one.gaps], np.float64).reshape(-1, 2).T
    around = np.searchsorted(one.arrivals_s, ends, side="right")
    is_within = (around > 0) & (around < len(one.arrivals_s)) & (one.least_s < math.inf)
    around, least = around[is_within], _OF_GAP * (ends - begins)[is_within]
    long = np.union1d(long, around[lengths[around - 1] >= least])
    after = np.union1d(after, _shown(one, long[is_known[long - 1]]))
    found: Places = after[(after > 0) & (after < len(one.arrivals_s))].astype(np.int64)
    return found


def _begins(one: Heard) -> tuple[Values, NDArray[np.bool_]]:
    """From when on each time without arrivals counts, in seconds: from the arrival before it, but
    of the flow of an application no sooner than it waits for what ends that time, such as from a
    request on; and of which of them that wait is known. Others begin no sooner than the last wait
    that holds at a timeout in them.
    """
    before, again = one.arrivals_s[:-1], one.arrivals_s[1:]
    if one.waits is None:
        return before, np.ones(len(before), np.bool_)
    # None is before the first one.
    begins, ends = np.array([(-math.inf, -math.inf), *one.waits]).T
    place = np.searchsorted(begins, again, side="left") - 1
    is_known = ends[place] >= again
    found = np.where(is_known, np.maximum(before, begins[place]), before)
    # A timeout belongs to its time without arrivals, also if another wait follows in that.
    for at in sorted(at for marks in one.timeouts for at in marks.time_s.tolist())[::-1]:
        silence = int(np.searchsorted(one.arrivals_s, at, side="right")) - 1
        if 0 <= silence < len(found) and (not is_known[silence] or at < found[silence]):
            begun = begins[np.searchsorted(begins, at, side="right") - 1]
            found[silence] = max(before[silence], begun)
    return found, is_known


def _shown(one: Heard, after: Places) -> Places:
    """Those of times without arrivals, by the places of the arrivals that end them, in which the
    line is shown.
    """
    time = one.line.time_s
    is_shown = (one.arrivals_s[after] > time[0]) & (one.arrivals_s[after - 1] < time[-1])
    found: Places = after[is_shown]
    return found


def without_short_stalls(panel: Panel, room: Room) -> Panel:
    """Return a panel without times without arrivals that are shorter than a hundredth of the time
    shown, but for those beside one of another line that is not.
    """
    least = _LEAST_SHARE * (room.window[1] - room.window[0])
    curves = []
    for one in panel.curves:
        kept = _long_enough(one, room.window, least)
        if kept is None or one.low is None or one.high is None:
            curves.append(one)
            continue
        for other in panel.curves:
            long = None if other is one else _long_enough(other, room.window, least)
            if long is not None and other.low is not None and other.high is not None:
                for low, high in zip(other.low[long], other.high[long], strict=True):
                    kept |= (one.low < high) & (one.high > low)
        how: Any = {"low": one.low[kept], "high": one.high[kept]}
        one = replace(one, time_s=one.time_s[kept], value=one.value[kept], **how)
        if kept.any():
            curves.append(one)
    return replace(panel, curves=curves)


def _long_enough(one: Curve, window: tuple[float, float], least: float) -> NDArray[np.bool_] | None:
    """Which times without arrivals of a curve are shown for so long, in seconds; None for others
    than these.
    """
    if one.draw != "stalled" or one.label != STALL or one.low is None or one.high is None:
        return None
    shown = np.minimum(one.high, window[1]) - np.maximum(one.low, window[0])
    found: NDArray[np.bool_] = shown >= least
    return found
