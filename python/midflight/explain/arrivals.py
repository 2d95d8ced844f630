"""The arrivals, losses and repairs of each flow of a run, from one trace each."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["FlowEvents", "RunEvents"]

Integers = NDArray[np.int64]

#: Why packets are lost.
_CAUSES = ("queue", "radio", "break", "node")
#: Shorter pauses are no time without anything to send.
_LEAST_PAUSE_NS = 50e6
#: Events of flows with several paths, whose link in use is not one.
_PATHS = ("path_opened", "path_used")


class FlowEvents(NamedTuple):
    """The events of a flow: when its segments arrived, which, and up to which bit on the wire (one
    more, from 0); timeouts and retransmissions; when new segments were sent, and which; when
    packets of data were lost, by cause.
    """

    arrived_ns: Integers
    segments: NDArray[np.float64]
    bits: NDArray[np.float64]
    timeouts_ns: Integers
    rexmits_ns: Integers
    sent_ns: Integers
    sent: NDArray[np.float64]
    lost_ns: dict[str, Integers]
    has_paths: bool

    def bits_within(self, begin_ns: int, end_ns: int) -> float:
        """What arrived between two instants, both included, with headers."""
        first = np.searchsorted(self.arrived_ns, begin_ns, "left")
        last = np.searchsorted(self.arrived_ns, end_ns, "right")
        return float(self.bits[last] - self.bits[first])

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

    def bits_within(self, direction: str, begin_ns: int, end_ns: int) -> float:
        """What arrived of all moving flows of a direction between two instants."""
        time, bits = self._down if direction == "down" else self._up
        first = np.searchsorted(time, begin_ns, "left")
        last = np.searchsorted(time, end_ns, "right")
        return float(bits[last] - bits[first])

    @cached_property
    def _down(self) -> tuple[Integers, NDArray[np.float64]]:
        return self._total("down")

    @cached_property
    def _up(self) -> tuple[Integers, NDArray[np.float64]]:
        return self._total("up")

    def _total(self, direction: str) -> tuple[Integers, NDArray[np.float64]]:
        """The arrivals of a direction, and their sum up to each."""
        found = [
            self.of(name)
            for name, one in self.flows.items()
            if one["moves"] and one["direction"] == direction
        ]
        time = np.concatenate([one.arrived_ns for one in found] or [np.empty(0, np.int64)])
        bits = np.concatenate([np.diff(one.bits) for one in found] or [np.empty(0)])
        order = np.argsort(time, kind="stable")
        return time[order], _summed(bits[order])


def _summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of the first values: of none, one, two and so on."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _events(setup: Setup, flow: str) -> FlowEvents:
    trace = setup.trace(flow=flow, only=["rcv", "drop", "send", "rexmit", "rto", *_PATHS])
    events = np.array(trace.column("event"))
    time = np.asarray(trace.numpy("time_ns"), np.int64)
    came, is_lost = events == "rcv", events == "drop"
    sizes = np.array([float(one or 0) for one in trace.column("bytes")])
    packets, causes = np.array(trace.column("packet")), np.array(trace.column("cause"))
    return FlowEvents(
        time[came],
        np.asarray(trace.numpy("value"), np.float64)[came],
        _summed(8 * sizes[came]),
        time[events == "rto"],
        time[events == "rexmit"],
        time[events == "send"],
        np.asarray(trace.numpy("value"), np.float64)[events == "send"],
        {one: time[is_lost & (packets == "data") & (causes == one)] for one in _CAUSES},
        bool(np.isin(events, _PATHS).any()),
    )
