"""How long it takes until the rate of a link is used again after a handoff or an outage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from midflight.explain.path import Values

if TYPE_CHECKING:
    from midflight.explain.arrivals import RunEvents
    from midflight.explain.path import PathSamples

__all__ = ["USED", "Regained", "over_ns", "regained"]

#: The rate of a link is used if so much arrives of what it could carry, ...
USED = 0.8
#: ... over this share of the time, but no longer than this, and at least so many round trips: a
#: queue that was held sends a burst, which is no use of the rate.
_OVER, _MOST_NS, _TRIPS = 1 / 40, 1e9, 4
#: The windows that are looked at are apart by this share of their length.
_STEP = 1 / 8


class Regained(NamedTuple):
    """How long from an instant until the rate of the link in use was used; None if it was not up to
    another instant; how much of it the flows had at most, and over how long a time that is.
    """

    after_ns: int | None
    most: float
    over_ns: float


def over_ns(span_ns: int, trip_ns: float) -> float:
    """Over how long a time means of what a link carries are taken."""
    return max(min(_OVER * span_ns, _MOST_NS), _TRIPS * trip_ns)


def regained(
    run: RunEvents,
    direction: str,
    path: PathSamples,
    begin_ns: int,
    until_ns: int,
    span_ns: int,
    means_ns: float | None = None,
) -> Regained | None:
    """Return when all moving flows of a direction together used the rate of the link in use again,
    from one instant up to another of a run whose flows last for `span_ns`; None if that is not
    known, or if that time is too short. Means are over whole `means_ns`, if that is given.
    """
    names = run.moving(direction)
    flows = [run.of(name) for name in names]
    trips = np.concatenate([one.trips_of(begin_ns, until_ns) for one in flows])
    if any(one.has_paths for one in flows):
        return None
    trip = float(np.median(trips)) if len(trips) else 0.0
    over = over_ns(span_ns, trip)
    if means_ns is not None:
        # Shorter ones would have the burst of a queue that was held.
        over = means_ns * max(1, math.ceil(over_ns(span_ns, 0.0) / means_ns * (1 - 1e-9)))
    passing = path.passing(begin_ns, until_ns)
    # What passes the link later than this is not there yet when the run ends.
    last = min(until_ns, path.end_ns - (passing.last_ns - until_ns))
    if last - begin_ns < 2 * over:
        return None
    step = _STEP * over
    places = np.arange(int((last - begin_ns - over) / step) + 1, dtype=np.float64)
    # One of them ends there, too.
    begins: Values = np.append(begin_ns + step * places, last - over)
    edges = np.unique(np.concatenate([begins, begins + over]))
    first, end = np.searchsorted(edges, begins), np.searchsorted(edges, begins + over)
    carried = path.bits_until(edges)
    arrive = edges + (passing.first_ns - begin_ns)
    arrived = np.sum([one.bits_until(passing, arrive) for one in flows], axis=0)
    could, came = carried[end] - carried[first], arrived[end] - arrived[first]
    if not np.isfinite(could).all() or not (could > 0).any():
        return None
    share = np.where(could > 0, came / np.where(could > 0, could, 1.0), 0.0)
    used = np.flatnonzero(share >= USED)
    after = int(begins[used[0]]) - begin_ns if len(used) else None
    return Regained(after, float(share.max()), over)
