"""The same scenario in the simulator and on a kernel, measure by measure and packet by packet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight._core import Table
    from midflight.lab.runs import LabRuns

__all__ = ["MEASURES", "Compared", "Packets", "compare_runs"]

#: Columns of flows that are put side by side, and what they are multiplied by.
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
#: Events that are packets at the sender, and those that tell its state.
PACKETS = ("send", "rexmit", "ack", "handshake_ack")
STATES = ("cwnd", "ssthresh", "rto_value")
#: Packets at the same place count as equal up to this many nanoseconds apart.
TOLERANCE_NS = 1000


@dataclass(frozen=True)
class Packets:
    """The packets that the sender of a flow sends and gets, in the simulator and on the kernel."""

    simulated: int
    kernel: int
    #: How many there are with the same kind, number and instant, at the same place of both.
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


def packets_of(trace: Table) -> list[tuple[int, str, int, dict[str, float]]]:
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
    """Compare packets place by place."""
    ours, theirs = packets_of(simulated), packets_of(kernel)
    equal = 0
    first: tuple[dict[str, Any] | None, dict[str, Any] | None] | None = None
    for a, b in zip(ours, theirs, strict=False):
        if a[1:3] == b[1:3] and abs(a[0] - b[0]) <= TOLERANCE_NS:
            equal += 1
        elif first is None:
            first = (described(a), described(b))
    if first is None and len(ours) != len(theirs):
        both = min(len(ours), len(theirs))
        rest = [described(one[both]) if len(one) > both else None for one in (ours, theirs)]
        first = (rest[0], rest[1])
    return Packets(len(ours), len(theirs), equal, first)


def described(packet: tuple[int, str, int, dict[str, float]]) -> dict[str, Any]:
    """Return a packet and the state of its sender by their names."""
    at_ns, kind, number, state = packet
    known = {name: value for name, value in state.items() if value == value}
    return {"time_ns": at_ns, "packet": kind, "number": number, **known}
