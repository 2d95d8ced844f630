"""What limited a flow of an application after its data arrived again, until what was waited for had
been read: in that time it always has something to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from midflight.explain.causes import Samples, cause_of
from midflight.explain.limits import LEAST_WAIT_NS
from midflight.explain.path import NS_PER_S, PathSamples
from midflight.explain.use_of_link import FULL, Span
from midflight.explain.words import link_text, short_time, to_ms

if TYPE_CHECKING:
    from midflight.explain.arrivals import RunEvents

__all__ = ["limit_after", "since_when"]

#: The samples of a time, and how near to each other they may be.
_SAMPLES, _LEAST_NS = 400, 200_000
#: A time that is shorter than these round trips, or than this share of the whole wait, is left out.
_LEAST_TRIPS, _LEAST_SHARE = 1.5, 0.1


def since_when(run: RunEvents, flow: str, wait: Span, gap: Span) -> int:
    """Return from when on the data of a flow came in a wait, of which `gap` is the longest time
    without arrivals: from its end, or from the beginning if it is a round trip, as between the
    flights of a small window.
    """
    trips = run.of(flow).trips_of(*wait)
    is_trip = len(trips) and gap[1] - gap[0] < _LEAST_TRIPS * float(np.median(trips))
    return wait[0] if is_trip else gap[1]


def limit_after(run: RunEvents, flow: str, since_ns: int, begin_ns: int, end_ns: int) -> str:
    """Return what limited a flow from one instant, at which its data arrived again, until another,
    of a wait that began at `since_ns`; "" if that was a small part of the wait, or is not known.
    """
    from midflight._core import Setup

    setup, whole = run.setup, (begin_ns, end_ns)
    if not isinstance(setup, Setup) or end_ns - begin_ns < _LEAST_SHARE * (end_ns - since_ns):
        return ""
    every = max(_LEAST_NS, (end_ns - begin_ns) // _SAMPLES)
    samples = setup.samples(every_ns=every, from_ns=begin_ns, until_ns=end_ns + every)
    path = PathSamples(setup, is_up=run.flows[flow]["direction"] == "up", samples=samples)
    time, cwnd, threshold, _, trips = Samples.of(path, flow, [whole])
    if len(time) < 3:
        return ""
    own = run.of(flow).trips_of(*whole)
    trips = own if len(own) else trips[np.isfinite(trips)]
    trip = float(np.median(trips)) if len(trips) else np.nan
    if not end_ns - begin_ns >= _LEAST_TRIPS * trip:
        return ""
    # The slow start, and what follows it.
    slow = cwnd < threshold
    ends = np.flatnonzero(~slow)
    turn = int(time[ends[0]]) if len(ends) and slow[0] else begin_ns
    least = max(_LEAST_SHARE * (end_ns - begin_ns), _LEAST_TRIPS * trip)
    spans = [one for one in ((begin_ns, turn), (turn, end_ns)) if one[1] - one[0] >= least]
    spans = spans or [whole]
    said = [_limit(run, path, flow, one) for one in spans]
    if len(said) > 1 and said[0] and said[0] == said[1]:
        said, spans = said[:1], [whole]
    each = zip(spans, said, strict=True)
    return "; ".join(f"from {to_ms(a)} to {to_ms(b)} {text}" for (a, b), text in each if text)


def _limit(run: RunEvents, path: PathSamples, flow: str, span: Span) -> str:
    """What limited a flow between two instants; "" if that is not known."""
    begin, end = span
    length = end - begin
    events = run.of(flow)
    could, passing = path.bits(begin, end), path.passing(begin, end)
    links = " and ".join(map(link_text, path.links(begin, end)))
    of_link = ""
    if np.isfinite(could) and could > 0:
        came = run.bits_of(run.flows[flow]["direction"], passing)
        rate = could / length * NS_PER_S / 1e6
        if came >= FULL * could:
            within = (path.time_ns >= begin) & (path.time_ns <= end) & np.isfinite(path.wait_ns)
            wait = float(np.mean(path.wait_ns[within])) if within.any() else 0.0
            queue = f", with a queue of {short_time(wait)}" if wait >= LEAST_WAIT_NS else ""
            return f"the rate of {links} was the limit ({rate:.3g} Mbit/s{queue})"
        of_link = f"; {came / could:.0%} of what {links} could carry was used"
    cause = cause_of(run, flow, path, [span], begin)
    if cause is None:
        return ""
    trips = events.trips_of(begin, end)
    has_trips = cause.kind in ("growth", "window", "radio") and len(trips)
    of_trips = f", in round trips of {short_time(float(np.median(trips)))}" if has_trips else ""
    return f"{cause.words}{of_trips}{of_link}"
