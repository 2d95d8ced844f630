"""The same scenario in the simulator and on a kernel, measure by measure and packet by packet."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight._core import Table
    from midflight.lab.runs import LabRuns

__all__ = ["MEASURES", "Compared", "Packets", "compare_runs"]

#: Columns of flows that are compared, and their factors.
MEASURES = {
    "duration_ns": 1e-9,
    "goodput_bps": 1e-6,
    "stall_ns": 1e-9,
    "sent": 1,
    "rexmits": 1,
    "timeouts": 1,
    "spurious_timeouts": 1,
    "fast_rexmits": 1,
    "drops_queue": 1,
    "drops_break": 1,
    "drops_radio": 1,
}
#: Events that are packets at the sender, and those that report its state.
PACKETS = ("send", "rexmit", "ack", "empty_ack")
STATES = ("cwnd", "ssthresh", "rto_value")
#: Packets count as equal up to this difference, in nanoseconds.
TOLERANCE_NS = 1000

#: Instant in nanoseconds, kind, number, and the sender's state.
Packet = tuple[int, str, int, dict[str, float]]


@dataclass(frozen=True)
class Packets:
    """The packets that the sender of a flow sends and gets, in the simulator and on the kernel."""

    simulated: int
    kernel: int
    #: How many there are with the same kind, number and instant in both.
    equal: int
    #: The first that differ, with the instant in nanoseconds, kind and number, and the sender's
    #: state there by its names; None at the end of one, or if none differ.
    first: tuple[dict[str, Any] | None, dict[str, Any] | None] | None


@dataclass(frozen=True)
class Compared:
    """A flow in a run of both."""

    congestion: str
    run: int
    flow: str
    #: The value in the simulator and on the kernel of each of `MEASURES`; None where it has none.
    measures: dict[str, tuple[float | None, float | None]]
    packets: Packets


def compare_runs(runs: LabRuns) -> Iterator[Compared]:
    """Yield the flows of each run: with the plan's profile and schemes, and on the kernel."""
    from midflight import _core

    for number, congestion in enumerate(runs.congestion):
        one = runs.but([("scheme", congestion)])
        for run, (flows, *_) in enumerate(one.pieces()):
            simulated, _ = _core.run_plans([runs.plan], runs=(run, run + 1))
            setup, kernel = runs.plan.setup(run), one.setup(run)
            for place, flow in enumerate(simulated.column("flow")):
                values = {
                    name: (scaled(simulated, name, place), scaled(flows, name, place))
                    for name in MEASURES
                }
                traces = setup.trace(flow=flow), kernel.trace(flow=flow)
                yield Compared(
                    runs.congestion[number], run, str(flow), values, compare_packets(*traces)
                )


def scaled(table: Table, name: str, row: int) -> float | None:
    """Return a measure in seconds, Mbit/s or as a count."""
    value = table.column(name)[row]
    return None if value is None else value * MEASURES[name]


def packets_of(trace: Table) -> list[Packet]:
    """Return instant, kind and number of each packet, and the state that the sender has there."""
    found, state = [], dict.fromkeys(STATES, float("nan"))
    columns = (trace.column(name) for name in ("time_ns", "event", "value"))
    for at_ns, event, value in zip(*columns, strict=True):
        if event in STATES:
            state = {**state, event: value}
        elif event in PACKETS:
            found.append((at_ns, event, int(value), state))
    return found


def compare_packets(simulated: Table, kernel: Table) -> Packets:
    """Compare packets: how many are in both, and at which place the two first differ."""
    ours, theirs = packets_of(simulated), packets_of(kernel)
    found = first_difference(ours, theirs)
    first = found and (found[0] and described(found[0]), found[1] and described(found[1]))
    return Packets(len(ours), len(theirs), count_equal(ours, theirs), first)


def first_difference(
    ours: list[Packet], theirs: list[Packet]
) -> tuple[Packet | None, Packet | None] | None:
    """Return the packets of the first place at which the two are not the same."""
    pairs = zip_longest(ours, theirs)
    return next(((a, b) for a, b in pairs if a is None or b is None or not is_same(a, b)), None)


def is_same(a: Packet, b: Packet) -> bool:
    """Whether kind and number are the same, and the instant to `TOLERANCE_NS`."""
    return a[1:3] == b[1:3] and abs(a[0] - b[0]) <= TOLERANCE_NS


def count_equal(ours: list[Packet], theirs: list[Packet]) -> int:
    """Count the packets that have an equal one on the other side, at whichever place."""
    waiting: dict[tuple[str, int], deque[int]] = defaultdict(deque)
    for at_ns, kind, number, _ in theirs:
        waiting[kind, number].append(at_ns)
    equal = 0
    for at_ns, kind, number, _ in ours:
        instants = waiting[kind, number]
        while instants and instants[0] < at_ns - TOLERANCE_NS:
            instants.popleft()
        if instants and instants[0] <= at_ns + TOLERANCE_NS:
            instants.popleft()
            equal += 1
    return equal


def described(packet: Packet) -> dict[str, Any]:
    """Return a packet and the state of its sender by their names."""
    at_ns, kind, number, state = packet
    known = {name: value for name, value in state.items() if value == value}
    return {"time_ns": at_ns, "packet": kind, "number": number, **known}
