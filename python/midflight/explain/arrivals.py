"""The arrivals, losses and repairs of each flow of a run, from one trace each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.explain.path import NS_PER_S

if TYPE_CHECKING:
    from midflight._core import Setup
    from midflight.explain.path import Passing

__all__ = ["FlowEvents", "RunEvents"]

Integers = NDArray[np.int64]

#: Why packets are lost.
_CAUSES = ("queue", "radio", "break", "node")
#: Shorter pauses do not count as idle.
_LEAST_PAUSE_NS = 50e6
#: Events of flows with several paths, whose link in use is not one.
_PATHS = ("path_opened", "path_used")


class FlowEvents(NamedTuple):
    """The events of a flow: when its segments arrived, which, over which last link, when these
    copies were sent, and their bits on the wire, with headers; timeouts and retransmissions; when
    new segments were sent, and which; when packets of data were lost, by cause; when the sender
    took samples of the round trip, and these; and when it changed its pace, and to what.
    """

    arrived_ns: Integers
    segments: NDArray[np.float64]
    links: NDArray[np.str_]
    copies_ns: Integers
    bits: NDArray[np.float64]
    timeouts_ns: Integers
    rexmits_ns: Integers
    sent_ns: Integers
    sent: NDArray[np.float64]
    lost_ns: dict[str, Integers]
    has_paths: bool
    sampled_ns: Integers
    trips_ns: NDArray[np.float64]
    paced_ns: Integers
    paces_bps: NDArray[np.float64]

    @property
    def is_paced(self) -> bool:
        """Whether the sender paced them."""
        return bool((self.paces_bps > 0).any())

    def pace_bps(self, begin_ns: int, end_ns: int) -> float:
        """Its mean pace between two instants; nan if that is not known."""
        place = int(np.searchsorted(self.paced_ns, begin_ns, "right")) - 1
        if place < 0 or end_ns <= begin_ns:
            return float("nan")
        last = int(np.searchsorted(self.paced_ns, end_ns, "left"))
        edges = np.clip([*self.paced_ns[place:last], end_ns], begin_ns, end_ns)
        return float(np.sum(np.diff(edges) * self.paces_bps[place:last]) / (end_ns - begin_ns))

    def bits_of(self, passing: Passing) -> float:
        """What arrived of that which passed the link in use, with headers."""
        return float(self.bits[self._passed(passing)].sum())

    def bits_until(self, passing: Passing, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same up to each of ascending instants."""
        places = self._passed(passing)
        total = np.concatenate([[0.0], np.cumsum(self.bits[places])])
        found: NDArray[np.float64] = total[np.searchsorted(self.arrived_ns[places], times, "left")]
        return found

    def first_of(self, passing: Passing) -> int | None:
        """When the first of that arrived; None if nothing did."""
        times = self.arrived_of(passing)
        return int(times[0]) if len(times) else None

    def arrived_of(self, passing: Passing) -> Integers:
        """When that arrived."""
        return self.arrived_ns[self._passed(passing)]

    def trips_of(self, begin_ns: int, end_ns: int) -> NDArray[np.float64]:
        """The samples of the round trip between two instants, in ns, of packets sent then."""
        of = (self.sampled_ns - self.trips_ns >= begin_ns) & (self.sampled_ns <= end_ns)
        return self.trips_ns[of]

    def _passed(self, passing: Passing) -> NDArray[np.int64]:
        """The places of the arrivals of what passed the link in use."""
        first = int(np.searchsorted(self.arrived_ns, passing.first_ns, "left"))
        last = int(np.searchsorted(self.arrived_ns, passing.last_ns, "right"))
        is_of = self.copies_ns[first:last] >= passing.sent_ns
        if passing.links:
            is_of &= np.isin(self.links[first:last], passing.links)
        return np.flatnonzero(is_of) + first

    def sent_within(self, begin_ns: int, end_ns: int) -> int:
        """How many packets of data were sent between two instants, both included."""
        return sum(_within(one, begin_ns, end_ns) for one in (self.sent_ns, self.rexmits_ns))

    def lost_within(self, begin_ns: int, end_ns: int) -> dict[str, int]:
        """How many of them were lost between two instants, by cause."""
        return {cause: _within(one, begin_ns, end_ns) for cause, one in self.lost_ns.items()}

    def idle_ns(self, begin_ns: int, first_ns: int) -> int:
        """For how long of the time from an instant until the acknowledgment of the first new packet
        the sender had nothing to send: until it sent that, after all that it had sent before had
        arrived.
        """
        until = begin_ns + first_ns
        done = np.sort(np.concatenate([self.arrived_ns, self.sent_ns, self.rexmits_ns]))
        longest = 0
        for at in self.sent_ns[(self.sent_ns > begin_ns) & (self.sent_ns < until)]:
            before = int(done[np.searchsorted(done, at) - 1]) if done[0] < at else begin_ns
            pause = int(at) - max(begin_ns, before)
            if pause <= max(longest, _LEAST_PAUSE_NS):
                continue
            came = self.segments[self.arrived_ns < at]
            if np.isin(self.sent[self.sent_ns < at], came).all():
                longest = pause
        return longest


def _within(times: Integers, begin_ns: int, end_ns: int) -> int:
    return int(np.sum((times >= begin_ns) & (times <= end_ns)))


class RunEvents:
    """A run, and the events of its flows, for each of which it runs once at most."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.flows = {one["name"]: one for one in setup.flows}
        self._known: dict[str, FlowEvents] = {}

    def of(self, flow: str) -> FlowEvents:
        """Return the events of a flow."""
        if flow not in self._known:
            self._known[flow] = _events(self.setup, flow)
        return self._known[flow]

    def bits_of(self, direction: str, passing: Passing) -> float:
        """What arrived of all moving flows of a direction, as of one flow."""
        return sum(self.of(name).bits_of(passing) for name in self.moving(direction))

    def moving(self, direction: str) -> list[str]:
        """The moving flows of a direction."""
        flows = self.flows.items()
        return [name for name, one in flows if one["moves"] and one["direction"] == direction]


def _events(setup: Setup, flow: str) -> FlowEvents:
    only = ["rcv", "drop", "send", "rexmit", "rto", "rtt_sample", "pacing_rate", *_PATHS]
    trace = setup.trace(flow=flow, only=only)
    events = np.array(trace.column("event"))
    time = np.asarray(trace.numpy("time_ns"), np.int64)
    came, is_lost = events == "rcv", events == "drop"
    sizes = np.array([float(one or 0) for one in trace.column("bytes")])
    packets, causes = np.array(trace.column("packet")), np.array(trace.column("cause"))
    return FlowEvents(
        time[came],
        np.asarray(trace.numpy("value"), np.float64)[came],
        np.array(trace.column("link"), dtype=np.str_)[came],
        np.array([int(one or 0) for one in trace.column("sent_ns")], np.int64)[came],
        8 * sizes[came],
        time[events == "rto"],
        time[events == "rexmit"],
        time[events == "send"],
        np.asarray(trace.numpy("value"), np.float64)[events == "send"],
        {one: time[is_lost & (packets == "data") & (causes == one)] for one in _CAUSES},
        bool(np.isin(events, _PATHS).any()),
        time[events == "rtt_sample"],
        NS_PER_S * np.asarray(trace.numpy("value"), np.float64)[events == "rtt_sample"],
        time[events == "pacing_rate"],
        np.asarray(trace.numpy("value"), np.float64)[events == "pacing_rate"],
    )
