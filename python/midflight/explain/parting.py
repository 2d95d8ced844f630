"""Where two runs part: the first event that one of them has and the other has not.

Compared is what a digest folds: what was sent, received, lost and changed, and when. Orders and
opinions are not: they show in their effects, and are told beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from midflight.explain import Step, chain
from midflight.explain.events import History, Row

if TYPE_CHECKING:
    from midflight._core import Plan

__all__ = ["Comparison", "Parting", "Side", "compare"]

#: Events that are compared; the details of those in the second list are, too.
COMPARED = frozenset(
    "send rexmit window_probe ack rcv drop break make cwnd ssthresh backoff min_rto rtt_sample rto "
    "fast_retransmit recovery_exit".split()
)
WITH_DETAIL = frozenset(("ack", "rcv", "drop"))
#: Events told before and after the parting.
AROUND = 5
#: Orders told of each side, and steps that explain its event.
MOST_ORDERS = 8
STEPS = 5


@dataclass(frozen=True)
class Side:
    """What one run did where it parts from the other."""

    #: Its first event that the other has not; None if it has no more events.
    event: Row | None
    after: Sequence[Row]
    #: The sender before the instant of the parting, and after it.
    before: dict[str, Any]
    then: dict[str, Any]
    #: Orders that the other side was not given, up to the parting.
    orders: Sequence[Row]
    why: Sequence[Step]


@dataclass(frozen=True)
class Parting:
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
    parting: Parting | None = None
    #: Only this flow was asked about.
    of_flow: str | None = None

    @property
    def identical(self) -> bool:
        """Whether everything is the same, or everything of the flow that was asked about."""
        if self.of_flow is not None:
            return self.parting is None
        return self.digests[0] == self.digests[1]


Histories: TypeAlias = tuple[History, History]


def compare(a: Plan, b: Plan, *, run: int = 0, flow: str | None = None) -> Comparison:
    """Compare a run of two plans: of one flow, or of all that they have in common.

    `run` is the number of the run from 0. Raises `MidflightError` for a flow that there is not.
    """
    named = [[one["name"] for one in plan.flows] for plan in (a, b)]
    names = [flow] if flow is not None else [name for name in named[0] if name in named[1]]
    only = (
        [name for name in named[0] if name not in named[1]],
        [name for name in named[1] if name not in named[0]],
    )
    same: dict[str, int] = {}
    first: tuple[int, Histories, int] | None = None
    digests = ("", "")
    for name in names:
        pair = History(a, run=run, flow=name), History(b, run=run, flow=name)
        digests = pair[0].digest, pair[1].digest
        happened = [[row for row in one.rows if row.event in COMPARED] for one in pair]
        common = first_difference(*happened)
        same[name] = common
        ends = [rows[common].time_ns for rows in happened if common < len(rows)]
        if ends and (first is None or min(ends) < first[0]):
            first = min(ends), pair, common
    if not names:
        digests = _digest(a, run), _digest(b, run)
    parting = None
    if digests[0] != digests[1] and first is not None:
        parting = part(first[1], first[0], first[2])
    return Comparison(digests, same, only, parting, flow)


def _digest(plan: Plan, run: int) -> str:
    return plan.trace(run=run, only=["make"]).digest


def key(row: Row) -> tuple[int, str, float, str]:
    """Return what must be the same of an event."""
    detail = row.detail if row.event in WITH_DETAIL else ""
    return row.time_ns, row.event, row.value, detail


def first_difference(a: Sequence[Row], b: Sequence[Row]) -> int:
    """Return how many events two runs begin with in common."""
    for place, (one, other) in enumerate(zip(a, b, strict=False)):
        if key(one) != key(other):
            return place
    return min(len(a), len(b))


def part(pair: Histories, time_ns: int, common: int) -> Parting:
    """Return what there is to say of a parting after so many common events."""
    happened = [[row for row in one.rows if row.event in COMPARED] for one in pair]
    orders = [[row for row in one.rows[: one.at(time_ns)] if row.event == "order"] for one in pair]
    given = [{(row.time_ns, row.detail) for row in rows} for rows in orders]
    sides = []
    for place, (history, rows) in enumerate(zip(pair, happened, strict=True)):
        event = rows[common] if common < len(rows) else None
        own = [row for row in orders[place] if (row.time_ns, row.detail) not in given[1 - place]]
        sides.append(
            Side(
                event,
                rows[common + 1 : common + 1 + AROUND],
                history.sender(time_ns),
                history.sender(time_ns + 1),
                own[-MOST_ORDERS:],
                chain(history, event.index, STEPS) if event is not None else [],
            )
        )
    before = happened[0][max(0, common - AROUND) : common]
    return Parting(pair[0].flow, time_ns, common, before, (sides[0], sides[1]))
