"""Times in which nothing arrives, as throughputs over time show them.

They are called stalls here, and in figures *nothing arrives*: elsewhere a stall is a time without
an acknowledgment of new data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from midflight.plot.bins import Places
from midflight.plot.curves import Curve, Values, WatchedRun
from midflight.plot.history import History
from midflight.plot.marks import STALL

__all__ = ["Heard", "least_stall_s", "stalls_of"]

#: A time without arrivals is a stall if it lasts so long, and so many median RTTs, ...
_LEAST_S, _TRIPS = 1.0, 3.0
#: ... or this share of a stall of another line that it overlaps.
_ALIKE = 0.5


class Heard(NamedTuple):
    """The arrivals of a line in seconds, ascending, its throughput and timeouts, and the shortest
    time without arrivals that is a stall without a timeout, in seconds.
    """

    arrivals_s: Values
    line: Curve
    timeouts: Sequence[Curve]
    least_s: float


def least_stall_s(run: WatchedRun, flow: History) -> float:
    """The shortest time without arrivals that is a stall without a timeout, in seconds; infinite
    for a flow of an application, which may have nothing to send.
    """
    if run.workload_of(flow) is not None:
        return math.inf
    trips = flow.values("rtt_sample")
    return max(_LEAST_S, _TRIPS * float(np.median(trips)) if len(trips) else 0.0)


def stalls_of(lines: Sequence[Heard], *, alone: bool) -> Iterator[list[Curve]]:
    """Yield the stalls of each line: times in which nothing arrives while it is shown that are
    around its timeouts, last long enough, or are like a stall of another line at the same time: of
    two lines that hardly differ none has a stall alone. A single line needs no look.
    """
    each = [_own_stalls(one) for one in lines]
    ends = [
        (one.arrivals_s[after - 1], one.arrivals_s[after])
        for one, after in zip(lines, each, strict=True)
    ]
    for place, (one, after) in enumerate(zip(lines, each, strict=True)):
        others = chain(
            *(zip(*ends[other], strict=True) for other in range(len(lines)) if other != place)
        )
        after = np.union1d(after, _alike(one, [*others]))
        if not len(after):
            yield []
            continue
        low, high = one.arrivals_s[after - 1], one.arrivals_s[after]
        how: Any = {"low": low, "high": high, "in_row": True, "quantity": STALL}
        how |= {"flow": one.line.flow, "scheme": one.line.scheme}
        look = None if alone else one.line.look
        yield [Curve(STALL, "stalled", low, np.zeros(len(low)), look, **how)]


def _own_stalls(one: Heard) -> Places:
    """The places of the arrivals that end stalls of a line: around timeouts, and long ones."""
    at = np.concatenate([np.empty(0), *(marks.time_s for marks in one.timeouts)])
    after = np.searchsorted(one.arrivals_s, at, side="right")
    after = np.union1d(
        after, _shown(one, np.flatnonzero(np.diff(one.arrivals_s) >= one.least_s) + 1)
    )
    found: Places = after[(after > 0) & (after < len(one.arrivals_s))].astype(np.int64)
    return found


def _alike(one: Heard, others: Sequence[tuple[float, float]]) -> Places:
    """The places of the arrivals that end times like the stalls of other lines."""
    found = [np.empty(0, np.int64)]
    for low, high in others if one.least_s < math.inf else ():
        first, last = np.searchsorted(one.arrivals_s, [low, high], side="right")
        after = np.arange(max(1, int(first)), min(int(last) + 1, len(one.arrivals_s)))
        long = one.arrivals_s[after] - one.arrivals_s[after - 1] >= _ALIKE * (high - low)
        found.append(after[long & (one.arrivals_s[after - 1] < high)])
    return _shown(one, np.unique(np.concatenate(found)))


def _shown(one: Heard, after: Places) -> Places:
    """Those of times without arrivals, by the places of the arrivals that end them, in which the
    line is shown.
    """
    time = one.line.time_s
    is_shown = (one.arrivals_s[after] > time[0]) & (one.arrivals_s[after - 1] < time[-1])
    found: Places = after[is_shown]
    return found
