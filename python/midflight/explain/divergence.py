"""The first difference of two runs: the first event that only one of them has.

The comparison uses the events of a digest: what was sent, received, lost and changed, and when.
Orders and classifications are not compared, because their effects are; they are reported beside
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from midflight.explain import Step, chain
from midflight.explain.events import History, Row, setup_of, widening

if TYPE_CHECKING:
    from midflight._core import DivergenceFields, Plan, Setup

__all__ = ["Comparison", "Divergence", "Side", "compare"]

#: Events that are compared.
COMPARED = frozenset(
    "send rexmit window_probe ack rcv drop break make cwnd ssthresh backoff min_rto rtt_sample rto "
    "fast_retransmit recovery_exit".split()
)
#: Number of events shown before and after the divergence.
AROUND = 5
#: Steps that explain the event of a side.
STEPS = 5


@dataclass(frozen=True)
class Side:
    """The events of one run at the first difference."""

    #: Its first event that the other has not; None if it has no more events.
    event: Row | None
    after: Sequence[Row]
    #: The sender before the instant of the divergence, and after it.
    before: dict[str, Any]
    then: dict[str, Any]
    #: Orders that the other side was not given, up to the divergence.
    orders: Sequence[Row]
    why: Sequence[Step]


@dataclass(frozen=True)
class Divergence:
    """The first difference between two runs of a flow."""

    flow: str
    time_ns: int
    #: Events of the flow that are the same.
    common: int
    before: Sequence[Row]
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    digests: tuple[str, str]
    #: Events of each flow that are the same, by its name.
    same: dict[str, int] = field(default_factory=dict)
    #: Flows that only one of the runs has.
    only: tuple[Sequence[str], Sequence[str]] = ((), ())
    divergence: Divergence | None = None
    #: The requested flow, if there is one.
    of_flow: str | None = None

    @property
    def identical(self) -> bool:
        """Whether everything is the same, or everything of the requested flow."""
        if self.of_flow is not None:
            return self.divergence is None
        return self.digests[0] == self.digests[1]


def compare(
    a: Setup | Plan, b: Setup | Plan, *, run: int = 0, flow: str | None = None
) -> Comparison:
    """Compare two runs: one flow, or all flows that they have in common.

    For plans `run` is the number of the run from 0. Raises `MidflightError` for an unknown flow.
    """
    setups = setup_of(a, run), setup_of(b, run)
    named = [[one["name"] for one in setup.flows] for setup in setups]
    names = [flow] if flow is not None else [name for name in named[0] if name in named[1]]
    only = (
        [name for name in named[0] if name not in named[1]],
        [name for name in named[1] if name not in named[0]],
    )
    (first, second), flows = setups[0].compare(setups[1], names)
    same = {name: common for name, (common, _) in zip(names, flows, strict=True)}
    parted = [
        (fields["at_ns"], place) for place, (_, fields) in enumerate(flows) if fields is not None
    ]
    divergence = None
    if first != second and parted:
        _, place = min(parted)
        common, fields = flows[place]
        assert fields is not None
        divergence = part(setups, (first, second), names[place], common, fields)
    return Comparison((first, second), same, only, divergence, flow)


def part(
    setups: tuple[Setup, Setup],
    digests: tuple[str, str],
    flow: str,
    common: int,
    fields: DivergenceFields,
) -> Divergence:
    """Return the description of a divergence after this number of common events."""
    time_ns, last = fields["at_ns"], fields["last"]

    def look(place: int, size: int) -> tuple[Side, list[Row]]:
        event = fields["events"][place]
        history = History(
            setups[place],
            flow=flow,
            near_ns=time_ns if event is None else event[1],
            size=size,
            digest=digests[place],
        )
        orders = [
            Row(index, at_ns, "order", 0.0, text, None, None, None, "", by, ordered, None)
            for index, at_ns, text, by, ordered in fields["orders"][place]
        ]
        before, then = history.sender(time_ns), history.sender(time_ns + 1)
        earlier = [] if last is None or place else compared(history.backward(last + 1))
        if event is None:
            return Side(None, [], before, then, orders, []), earlier
        row = history.row(event[0])
        after = compared(history.onward(row.index + 1))
        why = chain(history, row.index, STEPS)
        return Side(row, after, before, then, orders, why), earlier

    one, before = widening(lambda size: look(0, size))
    other, _ = widening(lambda size: look(1, size))
    return Divergence(flow, time_ns, common, before[::-1], (one, other))


def compared(rows: Iterator[Row]) -> list[Row]:
    """Return the next few of the events that are compared."""
    found: list[Row] = []
    for row in rows:
        if row.event in COMPARED:
            found.append(row)
            if len(found) == AROUND:
                break
    return found
