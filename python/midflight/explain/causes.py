"""What limited a flow while its link had room, by its sender and its losses: for reports, and for
what applications waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.explain.bbr import modes_of
from midflight.explain.path import NS_PER_S, PathSamples, Values
from midflight.explain.use_of_link import Span, length_of
from midflight.explain.words import to_ms

if TYPE_CHECKING:
    from midflight.explain.arrivals import RunEvents

__all__ = ["Cause", "Samples", "cause_of", "has_pace"]

#: A window is in use if so much of it is in flight on average.
_LEAST_FLIGHT = 0.6
#: Window / RTT, or a pace, explains a goodput that is within this share of it.
_NEAR = 0.25
#: Segments sent again from which on their recovery is the cause, if it takes this share of a time.
#: Each is acknowledged within so many round trips.
_LEAST_AGAIN, _MOST, _TRIPS = 3, 0.5, 1.5
#: The window of a flow with a pace grows if it is so many times as large at the end.
_GROWN = 2
#: Losses by the radio from which on they are a cause, and their share of all.
_LEAST_LOST, _MOST_LOST = 3, 0.8


class Samples(NamedTuple):
    """The states of a sender at intervals."""

    time_ns: NDArray[np.int64]
    cwnd: Values
    ssthresh: Values
    flight: Values
    trip_ns: Values

    @classmethod
    def of(cls, path: PathSamples, flow: str, spans: Sequence[Span]) -> Samples:
        """Those of a flow in some times."""
        table = path.senders
        time = np.asarray(table.numpy("time_ns"), np.int64)
        within = np.any([(time >= begin) & (time <= end) for begin, end in spans], axis=0)
        rows = (np.array(table.column("flow")) == flow) & within
        names = ("cwnd", "ssthresh", "flight", "srtt_ns")
        columns = [np.asarray(table.numpy(name), np.float64)[rows] for name in names]
        return cls(time[rows], *columns)

    @property
    def are_known(self) -> bool:
        """Whether there are enough of them, with windows and round trips."""
        known = len(self.cwnd) >= 10 and np.isfinite(self.cwnd).all()
        return bool(known and np.isfinite(self.trip_ns).any())


class Cause(NamedTuple):
    """What limited a flow: "pace", "recovery", "growth" of its window, "window", or "radio" for one
    that losses by the radio keep small; and the first words of a sentence on it.
    """

    kind: str
    words: str


def has_pace(run: RunEvents, flow: str) -> bool:
    """Whether the pace of a flow keeps its flight below its window, as that of BBR does: its
    controller gave a rate. Of a stack that does not report its rates only the name tells it.
    """
    info = run.flows[flow]
    if info["stack"] != "midflight":
        return "bbr" in str(info["scheme"]).lower()
    return run.of(flow).is_paced


def cause_of(
    run: RunEvents, flow: str, path: PathSamples, spans: Sequence[Span], since_ns: int
) -> Cause | None:
    """Return what limited a flow in some times, in the first of which its data came from an instant
    on; None if that is not known.
    """
    flowing = [(since_ns, spans[0][1]), *spans[1:]]
    sampled = Samples.of(path, flow, flowing)
    if not len(sampled.time_ns) or not np.isfinite(sampled.cwnd).all():
        return None
    events = run.of(flow)
    _, cwnd, threshold, flight, smoothed = sampled
    trips = np.concatenate([events.trips_of(*one) for one in spans])
    goodput = sum(events.bits_of(path.arriving(*one)) for one in flowing)
    goodput *= NS_PER_S / length_of(flowing)
    is_paced = has_pace(run, flow)
    is_in_use = np.mean(flight) >= _LEAST_FLIGHT * np.mean(cwnd)
    if is_paced and not is_in_use:
        pace = sum(events.pace_bps(*one) * (one[1] - one[0]) for one in flowing)
        pace /= length_of(flowing)
        if abs(goodput - pace) <= _NEAR * pace:
            of_bbr = ", from BBR's estimate of the bandwidth" * bool(modes_of(run.setup, flow))
            words = f"the sender's pace was the limit, {pace / 1e6:.3g} Mbit/s on average{of_bbr}"
            return Cause("pace", words)
    # The smoothed round trip may still have the path before.
    known = trips if len(trips) else smoothed[np.isfinite(smoothed)]
    trip = float(np.median(known)) if len(known) else 0.0
    each = [events.lost_within(*one) for one in spans]
    of_radio = sum(one["radio"] for one in each)
    # Such losses go on, and so do the recoveries of them.
    is_radio = of_radio >= max(_LEAST_LOST, _MOST_LOST * sum(sum(one.values()) for one in each))
    if not is_radio and (words := _recovery(run, flow, flowing, sampled, trip)):
        return Cause("recovery", words)
    if not is_in_use:
        return None
    if np.mean(cwnd < threshold) > _MOST and (not is_paced or cwnd[-1] >= _GROWN * cwnd[0]):
        # A controller with a pace has a start of its own, and no threshold at which that ends.
        what = "the growth of the window" if is_paced else "the slow start"
        grown = f"from {cwnd[0]:,.0f} to {cwnd[-1]:,.0f} segments"
        grown = grown if is_paced else f"the window grew {grown}"
        return Cause("growth", f"{what} was the limit: {grown}")
    if not len(trips):
        return None
    rate = 8 * run.flows[flow]["payload_bytes"] * np.mean(cwnd) / np.mean(trips) * NS_PER_S
    if not abs(rate - goodput) <= _NEAR * goodput:
        return None
    window = f"{np.mean(cwnd):.3g} segments on average"
    sent = sum(events.sent_within(*one) for one in spans)
    if not is_radio or not sent:
        return Cause("window", f"the congestion window was the limit: {window}")
    return Cause(
        "radio",
        f"losses on the link were probably the limit: {of_radio:,} of {sent:,} packets "
        f"({of_radio / sent:.1%}) were lost by the radio; the window had {window}",
    )


def _recovery(
    run: RunEvents, flow: str, spans: Sequence[Span], sampled: Samples, trip_ns: float
) -> str:
    """Return that the recovery of losses took most of some times; "" if it did not."""
    every = run.of(flow).rexmits_ns
    again = np.sort(np.concatenate([every[(every >= a) & (every <= b)] for a, b in spans]))
    if len(again) < _LEAST_AGAIN:
        return ""
    took = 0.0
    for begin, end in spans:
        here = again[(again >= begin) & (again <= end)]
        until = np.append(here[1:], end)[: len(here)]
        took += float(np.minimum(until - here, _TRIPS * trip_ns).sum())
    if took < _MOST * length_of(spans):
        return ""
    first, last = int(again[0]), int(again[-1])
    then = sampled.cwnd[(sampled.time_ns >= first) & (sampled.time_ns <= last)]
    window = ""
    if len(then):
        sizes = dict.fromkeys((f"{then.min():,.0f}", f"{then.max():,.0f}"))
        window = f", with a window of {' to '.join(sizes)} segments"
    return (
        f"the recovery of losses was the limit: {len(again):,} segments were sent again from "
        f"{to_ms(first)} to {to_ms(last)}{window}"
    )
