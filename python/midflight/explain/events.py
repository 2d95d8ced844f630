"""The events of a flow with their causes, for `midflight explain` and `midflight diff`.

A sender acts on an ACK, a notice, or the expiry of one of its timers. This event is the *head*: it
is the cause of everything that the sender does until the next such event. Numbers are those of
segments; the SYN is segment 0, and ACK n acknowledges everything up to segment n.

A run may have millions of events, and an explanation needs those of a few round trips. So a history
is a window of events around an instant. A query for an event that may be outside raises
`OutsideWindowError`, and `widening` repeats it with a larger window. So no explanation depends on
the size of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from midflight._core import QUIC_STACKS
from midflight.explain.bbr import Mode, modes_of, probes_of_rtt

if TYPE_CHECKING:
    from midflight._core import Events, PathChange, Plan, Setup

__all__ = [
    "CLOSES",
    "CONGESTION",
    "SENT",
    "Copy",
    "History",
    "LinkOutage",
    "OutsideWindowError",
    "Row",
    "SenderBefore",
    "Stall",
    "Step",
    "widening",
]

#: The details of ACKs after which the sender waits: a zero window, and a notice to wait.
CLOSES = frozenset({"zero window", "standby"})
#: The detail of an ACK that echoes a mark (ECE).
CONGESTION = "congestion"
#: Events that are transmissions of a segment.
SENT = frozenset({"send", "rexmit"})
#: Events of applications that have read a message.
READ = frozenset({"object", "segment", "frame", "late_frame", "done"})
#: Events of the first window up to an instant, and by how much the next one is larger.
WINDOW = 65_536
WIDER = 4

#: From when to when the recording of a link let nothing pass, which link, and whether packets were
#: lost; otherwise they waited.
LinkOutage: TypeAlias = tuple[int, int, str, bool]

Found = TypeVar("Found")


class OutsideWindowError(Exception):
    """The answer may be outside the window."""


def widening(look: Callable[[int], Found]) -> Found:
    """Return the result of `look` in the smallest window of events that is sufficient."""
    size = WINDOW
    while True:
        try:
            return look(size)
        except OutsideWindowError:
            size *= WIDER


@dataclass(frozen=True, slots=True)
class Row:
    """One event; `index` is its number, and the next ones are columns of `Setup.causes`.

    `by` is the author of a change of a window or of an order; `ordered` has the name, the text and
    the reason of an order. `place` is the link where a segment arrived or a packet was lost; for a
    loss it also has the kind of packet (data, ack or datagram) and the cause.
    """

    index: int
    time_ns: int
    event: str
    value: float
    detail: str
    segment: int | None
    sent_ns: int | None
    since_ns: int | None
    sack: str
    by: str | None
    ordered: tuple[str, str, str] | None
    place: tuple[str, str | None, str | None] | None

    @property
    def link(self) -> str:
        """The link where a segment arrived or a packet was lost; empty for other events."""
        return "" if self.place is None else self.place[0]

    @property
    def lost(self) -> tuple[str, str] | None:
        """The kind of packet that was lost, and the cause."""
        _, packet, cause = self.place or ("", None, None)
        return None if packet is None or cause is None else (packet, cause)

    @property
    def order(self) -> str:
        """The name of the order that was given; empty for other events."""
        return "" if self.ordered is None else self.ordered[0]

    @property
    def number(self) -> int:
        """The value as a whole number."""
        return int(self.value)


@dataclass(frozen=True)
class SenderBefore:
    """The state of the sender before an event, as far as it follows from the events."""

    cwnd: float | None = None
    ssthresh: float | None = None
    rto: float | None = None
    min_rto: float | None = None
    backoff: int = 1
    #: First unacknowledged segment, and one past the highest sent.
    una: int = 0
    max: int = 0
    #: Duplicate ACKs as the sender counts them.
    duplicates: int = 0
    #: The receiver's window is closed.
    closed: bool = False
    #: Rows of the fast retransmit of the current recovery, and of the timeout before which segments
    #: were sent that are not yet acknowledged.
    recovery: int | None = None
    timeout: int | None = None


@dataclass(frozen=True)
class Copy:
    """One transmission of a segment, and its fate."""

    seq: int
    sent: Row
    arrived: Row | None
    dropped: Row | None


@dataclass(frozen=True)
class Step:
    """A sentence on an event, and the row that it is about."""

    time_ns: int
    text: str
    row: int | None


@dataclass(frozen=True)
class Stall:
    """The longest time without an ACK of new data, as `run` measures it."""

    begin_ns: int
    end_ns: int
    #: The ACK of something new that ended it; the arrival with which an application had read all
    #: that was written, or another event of that instant; or else the last event.
    row: int
    is_ended: bool
    #: The first segment that was not acknowledged.
    waited: int

    @property
    def length_ns(self) -> int:
        """Its length."""
        return self.end_ns - self.begin_ns


class History:
    """The events of a flow in one run: all, or a window of them.

    `rows` are the events of the window; `index` of a row is its number among all.
    """

    def __init__(
        self,
        source: Setup | Plan,
        *,
        run: int = 0,
        flow: str | None = None,
        near_ns: int | None = None,
        size: int = WINDOW,
        find: str | None = None,
        digest: str | None = None,
    ) -> None:
        """Run a setup for all its events, or for about this number of events near an instant.

        `find` is the name of an event; the last one up to that instant is searched for. If the
        digest is already known, the run ends with the window.
        """
        self.setup = setup = setup_of(source, run)
        self.flow = flow if flow is not None else setup.flows[0]["name"]
        self.path_changes: list[PathChange] = setup.path_changes
        self.events: Events = setup.events(
            flow=flow,
            at_ns=near_ns,
            before=size,
            after=size,
            find=find,
            to_end=digest is None,
        )
        self.digest = digest if digest is not None else self.events.digest or ""
        self.found = self.events.found
        #: When the run was over, and when the flow opened, as far as that is known.
        self.ended_ns = self.events.ended_ns
        self.opened_ns = self.events.opened_ns
        self.first: int = self.events.first
        #: One past the last event of the window, and whether there is none behind it.
        self.end = self.first + len(self.events)
        self.is_complete = self.events.is_complete
        self._known: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self.events)

    @cached_property
    def rows(self) -> list[Row]:
        """All events of the window."""
        return [Row(*values) for values in self.events.rows()]

    @cached_property
    def outages(self) -> list[LinkOutage]:
        """The times in which the recording of the link in use let nothing pass, in their order."""
        return self.setup.link_outages

    @cached_property
    def modes(self) -> Sequence[Mode]:
        """The modes of the congestion controller, if it has some, in their order."""
        return modes_of(self.setup, self.flow)

    @cached_property
    def probes_of_rtt(self) -> list[Mode]:
        """When BBR measured the round trip, in their order."""
        return probes_of_rtt(self.modes)

    def outages_within(self, begin_ns: int, end_ns: int) -> list[LinkOutage]:
        """Return the outages of which a part is between two instants, both included."""
        return [one for one in self.outages if one[0] <= end_ns and one[1] >= begin_ns]

    # ---- events by their numbers ---------------------------------------

    def row(self, index: int) -> Row:
        """Return an event."""
        found = self._known.get(index)
        if found is None:
            self._holds(index)
            found = self._known[index] = Row(*self.events.row(index))
        return found

    def _holds(self, index: int) -> None:
        """Extend the window so that it contains an event."""
        if not self.first <= index < self.end:
            raise OutsideWindowError

    def head(self, index: int) -> int | None:
        """Return the head of an event: the event that made the sender act, if it is an event of the
        sender.
        """
        self._holds(index)
        return self.events.head(index)

    def sender_before(self, index: int) -> SenderBefore:
        """Return the sender before an event."""
        self._holds(index)
        return SenderBefore(*self.events.sender_before(index))

    def slice(self, first: int, end: int) -> list[Row]:
        """Return the events from one number to another; none where the run has none."""
        first = max(0, first)
        if first < self.first or (end > self.end and not self.is_complete):
            raise OutsideWindowError
        return [self.row(index) for index in range(first, min(end, self.end))]

    def onward(self, index: int) -> Iterator[Row]:
        """Yield events from this one on."""
        for number in range(index, self.end):
            yield self.row(number)
        if not self.is_complete:
            raise OutsideWindowError

    def backward(self, index: int) -> Iterator[Row]:
        """Yield the events before this one, the last first."""
        for number in range(index - 1, self.first - 1, -1):
            yield self.row(number)
        if self.first > 0:
            raise OutsideWindowError

    # ---- events by their instants --------------------------------------

    def at(self, time_ns: int) -> int:
        """Return how many events there are up to then, that instant included."""
        _, up_to = self.events.until(time_ns)
        if (up_to == 0 and self.first > 0) or (up_to == len(self) and not self.is_complete):
            raise OutsideWindowError
        return self.first + up_to

    def instant(self, time_ns: int) -> list[Row]:
        """Return the events at an instant."""
        before, _ = self.events.until(time_ns)
        if before == 0 and self.first > 0:
            raise OutsideWindowError
        return self.slice(self.first + before, self.at(time_ns))

    def last(self) -> Row | None:
        """Return the last event of the run, if there is one."""
        if not self.is_complete:
            raise OutsideWindowError
        return self.row(self.end - 1) if len(self) else None

    def _reaches(self, time_ns: int) -> None:
        """Extend the window so that it contains everything from an instant on."""
        if self.first > 0 and (not len(self) or time_ns <= self.row(self.first).time_ns):
            raise OutsideWindowError

    def activation(self, index: int) -> range:
        """Return the rows of the sender's actions with the same head, up to this one, included."""
        head = self.head(index)
        if head is not None:
            self.row(head)
            return range(head, index + 1)
        first = index
        for row in self.backward(index):
            if row.time_ns != self.row(index).time_ns or self.head(row.index) is not None:
                break
            first = row.index
        return range(first, index + 1)

    def counted(self, ack: int) -> int | None:
        """Return the number of this ACK in the count of duplicates, if it is counted."""
        before = self.sender_before(ack).duplicates
        for row in self.onward(ack + 1):
            if row.time_ns != self.row(ack).time_ns or self.head(row.index) not in (ack, None):
                return None
            if row.event == "dupacks":
                return row.number if row.number > before else None
        return None

    def echo(self, index: int) -> Row | None:
        """Return the echo of congestion to which a sender still reacts at an event, if there is
        one.
        """
        for row in self.backward(index):
            if row.event in ("fast_retransmit", "rto", "recovery_exit", "spurious"):
                return None
            if row.event == "ack" and row.detail == CONGESTION:
                return row
        return None

    def echoed(self, ack_sent: Row) -> Row | None:
        """Return the mark that an ACK echoes: the last one to reach the receiver before it left."""
        for row in self.backward(ack_sent.index):
            if row.event != "mark" or row.sent_ns is None:
                continue
            arrived = self.arrival(row.number, row.sent_ns)
            if arrived is not None and arrived.index < ack_sent.index:
                return row
        return None

    # ---- what became of packets ----------------------------------------

    def _of_data(self, event: str, other: str, seq: int, sent_ns: int) -> Row | None:
        """Return an event of a segment that was sent then; None if there is none."""
        self._reaches(sent_ns)
        found = self.events.of_data(event, seq, sent_ns)
        if found is None:
            # A lost packet does not arrive.
            if self.is_complete or self.events.of_data(other, seq, sent_ns) is not None:
                return None
            raise OutsideWindowError
        return self.row(found)

    def _of_ack(self, event: str, other: str, sent: Row) -> Row | None:
        """Return an event of an ACK that left the receiver; None if there is none."""
        key = sent.segment, sent.since_ns, sent.value
        found = self.events.of_ack(event, *key)
        if found is None:
            if self.is_complete or self.events.of_ack(other, *key) is not None:
                return None
            raise OutsideWindowError
        return self.row(found)

    def sending(self, seq: int, sent_ns: int) -> Row | None:
        """Return the transmission of a segment at an instant."""
        self._reaches(sent_ns)
        sent = map(self.row, self.events.sent(seq))
        return next((row for row in sent if row.time_ns == sent_ns), None)

    def arrival(self, seq: int, sent_ns: int) -> Row | None:
        """Return the arrival of a segment that was sent then."""
        return self._of_data("rcv", "data drop", seq, sent_ns)

    def loss(self, seq: int, sent_ns: int) -> Row | None:
        """Return the loss of a segment that was sent then."""
        return self._of_data("data drop", "rcv", seq, sent_ns)

    def ack_sending(self, ack: Row) -> Row | None:
        """Return the departure of an ACK that arrived or was lost; None if no node sent it."""
        if ack.since_ns is None:
            return None
        self._reaches(ack.since_ns)
        found = self.events.of_ack("ack_sent", ack.segment, ack.since_ns, ack.value)
        return None if found is None else self.row(found)

    def ack_arrival(self, sent: Row) -> Row | None:
        """Return the arrival of an ACK that left the receiver."""
        return self._of_ack("ack", "ack drop", sent)

    def ack_loss(self, sent: Row) -> Row | None:
        """Return the loss of an ACK that left the receiver."""
        return self._of_ack("ack drop", "ack", sent)

    def copies(self, seq: int, before_ns: int) -> list[Copy]:
        """Return the transmissions of a segment up to then, the first one first."""
        if self.first > 0 and (not len(self) or seq < self.sender_before(self.first).max):
            raise OutsideWindowError
        found = []
        for sent in map(self.row, self.events.sent(seq) if seq >= 0 else ()):
            if sent.time_ns <= before_ns and sent.event != "window_probe":
                arrived = self.arrival(seq, sent.time_ns)
                found.append(Copy(seq, sent, arrived, self.loss(seq, sent.time_ns)))
        return found

    def has_arrived(self, seq: int, before_ns: int) -> Row | None:
        """Return the first arrival of a segment before then, if there is one."""
        rows = [
            copy.arrived
            for copy in self.copies(seq, before_ns)
            if copy.arrived is not None and copy.arrived.time_ns < before_ns
        ]
        return min(rows, key=lambda row: row.index) if rows else None

    def stall(self, begin_ns: int, end_ns: int) -> Stall:
        """Return the time without progress from one instant to another."""
        for row in self.instant(end_ns):
            una = self.sender_before(row.index).una
            if row.event == "ack" and row.number >= una:
                return Stall(begin_ns, end_ns, row.index, True, una)
        # A flow with an application waits only while messages of it are in transit: the last of
        # their segments ends that, before its ACK, or a message in the other direction.
        then = self.instant(end_ns)
        if self.described.get("workload") and then and self._goes_on(end_ns):
            row = next((row for row in reversed(then) if row.event == "rcv"), then[0])
            return Stall(begin_ns, end_ns, row.index, True, self.sender_before(row.index).una)
        last = self.last()
        # The flow has sent something.
        assert last is not None
        return Stall(begin_ns, end_ns, last.index, False, self.sender_before(last.index).una)

    def _goes_on(self, end_ns: int) -> bool:
        """Whether the application does something at an instant, or anything happens after it."""
        is_read = any(row.event in READ for row in self.instant(end_ns))
        return is_read or next(self.onward(self.at(end_ns)), None) is not None

    @cached_property
    def described(self) -> dict[str, Any]:
        """What the setup says of the flow."""
        return dict(next(one for one in self.setup.flows if one["name"] == self.flow))

    @cached_property
    def is_paced(self) -> bool:
        """Whether a controller gave the sender a rate at which it sends."""
        rates = self.setup.events(flow=self.flow, name="pacing_rate")
        return any(row[3] > 0 for row in rates.rows())

    def sender(self, at_ns: int) -> dict[str, Any]:
        """Return the state of the sender after everything before that instant; empty for a QUIC
        stack.
        """
        if self.described["stack"] in QUIC_STACKS:
            return {}
        return dict(self.events.sender(at_ns))


def setup_of(source: Setup | Plan, run: int) -> Setup:
    """Return a setup, or the run of a plan."""
    from midflight import _core

    # A run of a kernel has the methods of a setup that are used here.
    return source.setup(run) if isinstance(source, _core.Plan) else source


def listed(
    source: Setup | Plan, name: str, *, run: int = 0, flow: str | None = None
) -> tuple[list[Row], str]:
    """Return all events of a name in the order of time, and the digest of the run."""
    setup = setup_of(source, run)
    if name == "slow_object":
        from midflight.explain.applications import slow_objects

        of = flow if flow is not None else setup.flows[0]["name"]
        return slow_objects(setup, of), setup.events(flow=of, name="object").digest or ""
    events = setup.events(flow=flow, name=name)
    return [Row(*values) for values in events.rows()], events.digest or ""
