"""What limited a flow of an application after its data arrived again, until what was waited for had
been read: in that time it always has something to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from midflight.explain.arrivals import RunEvents
from midflight.explain.path import NS_PER_S, PathSamples, Values
from midflight.explain.use_of_link import FULL
from midflight.explain.words import link_text, to_ms

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["limit_after"]

#: The samples of a time, and how near to each other they may be.
_SAMPLES, _LEAST_NS = 400, 200_000
#: A time that is shorter than these round trips, or than this share of the whole wait, is left out.
_LEAST_TRIPS, _LEAST_SHARE = 1.5, 0.1
#: A window is in use if so much of it is in flight on average.
_IN_USE = 0.6
#: Segments sent again from which on, and for which share of a time, their recovery is the reason.
_LEAST_AGAIN, _MOST_AGAIN = 3, 0.5
#: A time in a queue that is worth a word.
_LEAST_WAIT_NS = 2e6


def limit_after(setup: Setup, flow: str, since_ns: int, begin_ns: int, end_ns: int) -> str:
    """Return what limited a flow from one instant, at which its data arrived again, until another,
    of a wait that began at `since_ns`; "" if that was a small part of the wait, or is not known.
    """
    from midflight._core import Setup

    if not isinstance(setup, Setup) or end_ns - begin_ns < _LEAST_SHARE * (end_ns - since_ns):
        return ""
    every = max(_LEAST_NS, (end_ns - begin_ns) // _SAMPLES)
    samples = setup.samples(every_ns=every, from_ns=begin_ns, until_ns=end_ns + every)
    run = RunEvents(setup)
    path = PathSamples(setup, is_up=run.flows[flow]["direction"] == "up", samples=samples)
    table = path.senders
    time = np.asarray(table.numpy("time_ns"), np.float64)
    mine = (np.array(table.column("flow")) == flow) & (time <= end_ns)
    names = ("cwnd", "ssthresh", "flight", "srtt_ns")
    columns = [np.asarray(table.numpy(one), np.float64)[mine] for one in names]
    time = time[mine]
    if len(time) < 3:
        return ""
    trip = float(np.nanmedian(columns[3])) if np.isfinite(columns[3]).any() else np.nan
    if not end_ns - begin_ns >= _LEAST_TRIPS * trip:
        return ""
    # The slow start, and what follows it.
    slow = columns[0] < columns[1]
    ends = np.flatnonzero(~slow)
    turn = float(time[ends[0]]) if len(ends) and slow[0] else float(begin_ns)
    least = max(_LEAST_SHARE * (end_ns - begin_ns), _LEAST_TRIPS * trip)
    spans = [(float(begin_ns), turn), (turn, float(end_ns))]
    spans = [one for one in spans if one[1] - one[0] >= least] or [(begin_ns, end_ns)]
    said = [_limit(run, path, flow, one, (time, *columns)) for one in spans]
    if len(said) > 1 and said[0] and said[0] == said[1]:
        said = said[:1]
        spans = [(begin_ns, end_ns)]
    each = zip(spans, said, strict=True)
    return "; ".join(f"from {to_ms(a)} to {to_ms(b)} {text}" for (a, b), text in each if text)


def _limit(
    run: RunEvents,
    path: PathSamples,
    flow: str,
    span: tuple[float, float],
    sampled: tuple[Values, ...],
) -> str:
    """What limited a flow between two instants; "" if that is not known."""
    begin, end = int(span[0]), int(span[1])
    time, cwnd, threshold, flight, trip = (
        one[(sampled[0] >= begin) & (sampled[0] <= end)] for one in sampled
    )
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
            queue = f", with a queue of {wait / 1e6:.3g} ms" if wait >= _LEAST_WAIT_NS else ""
            return f"the rate of {links} was the limit ({rate:.3g} Mbit/s{queue})"
        of_link = f"; {came / could:.0%} of what {links} could carry was used"
    if not len(time) or not np.isfinite(cwnd).all():
        return ""
    again = events.rexmits_ns[(events.rexmits_ns >= begin) & (events.rexmits_ns <= end)]
    is_in_use = np.mean(flight) >= _IN_USE * np.mean(cwnd)
    trips = f"round trips of {float(np.nanmedian(trip)) / 1e6:.3g} ms"
    if len(again) >= _LEAST_AGAIN and int(again[-1]) - begin >= _MOST_AGAIN * length:
        return (
            f"the recovery of losses was the limit: {len(again):,} segments were sent again until "
            f"{to_ms(int(again[-1]))}, with a window of {cwnd.min():,.0f} to {cwnd.max():,.0f} "
            f"segments{of_link}"
        )
    if not is_in_use:
        return "" if not events.is_paced else f"the sender's pace was the limit{of_link}"
    if np.mean(cwnd < threshold) > 0.5:
        return (
            f"the slow start was the limit: the window grew from {cwnd[0]:,.0f} to "
            f"{cwnd[-1]:,.0f} segments, in {trips}{of_link}"
        )
    return (
        f"the congestion window was the limit: {np.mean(cwnd):.3g} segments on average, in "
        f"{trips}{of_link}"
    )
