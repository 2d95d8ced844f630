"""The events of a flow with what led to each, for `midflight explain` and `midflight diff`.

A sender acts when something reaches it: an ACK, a notice, a deadline of its own. What it does at
that instant, up to the next such event, follows from that one, its head here. Numbers are those of
segments; the SYN is segment 0, and ACK n says that everything up to segment n has arrived.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight._core import Occasion, Plan, Table

__all__ = ["SENT", "ZERO", "Copy", "History", "Row", "Stall", "Standing"]

#: Events that reach a sender; what follows at the same instant follows from them.
HEADS = frozenset({"ack", "notice", "wake"})
#: What an ACK says that closes the window.
ZERO = "zero window"
#: Events outside the sender.
OUTSIDE = frozenset({"rcv", "drop", "break", "make", "ack_sent"})
#: Events that are transmissions of a segment.
SENT = frozenset({"send", "rexmit"})


@dataclass(frozen=True)
class Row:
    """One event; the columns are those of `Plan.causes`."""

    index: int
    time_ns: int
    event: str
    value: float
    detail: str
    segment: int | None
    sent_ns: int | None
    since_ns: int | None
    sack: str

    @property
    def number(self) -> int:
        """The value as a whole number."""
        return int(self.value)


@dataclass(frozen=True)
class Standing:
    """The sender before an event, as far as the events tell."""

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
    #: Rows of the fast retransmit whose recovery is on, and of the timeout after which everything
    #: up to then is not yet acknowledged.
    recovery: int | None = None
    timeout: int | None = None


@dataclass(frozen=True)
class Copy:
    """One transmission of a segment, and what became of it."""

    seq: int
    sent: Row
    arrived: Row | None
    dropped: Row | None


@dataclass(frozen=True)
class Stall:
    """A time in which nothing new was acknowledged."""

    begin_ns: int
    end_ns: int
    #: The ACK of something new that ended it, or else the last event.
    row: int
    is_ended: bool
    #: The first segment that was not acknowledged.
    waited: int

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.end_ns - self.begin_ns


class History:
    """The events of a flow in one run."""

    def __init__(self, plan: Plan, *, run: int = 0, flow: str | None = None) -> None:
        self.plan, self.run = plan, run
        told = plan.flows
        self.flow = flow if flow is not None else told[0]["name"]
        table = plan.causes(run=run, flow=flow)
        self.digest = table.digest
        self.occasions: list[Occasion] = plan.occasions
        self.rows = _rows(table)
        self.times = [row.time_ns for row in self.rows]
        self.heads = _heads(self.rows)
        self.standings = list(_standings(self.rows))
        self.sent: dict[int, list[Row]] = {}
        self.arrived: dict[tuple[int, int | None], Row] = {}
        self.dropped: dict[tuple[int, int | None], Row] = {}
        self.acks_sent: dict[tuple[int | None, int | None, float], Row] = {}
        self.acks_come: dict[tuple[int | None, int | None, float], Row] = {}
        self.acks_dropped: dict[tuple[int | None, int | None, float], Row] = {}
        for row in self.rows:
            self._note(row)

    def _note(self, row: Row) -> None:
        if row.event in SENT or row.event == "window_probe":
            self.sent.setdefault(row.number, []).append(row)
        elif row.event == "rcv":
            self.arrived.setdefault((row.number, row.sent_ns), row)
        elif row.event == "drop" and row.detail.startswith("data"):
            self.dropped.setdefault((row.number, row.sent_ns), row)
        else:
            of = {"ack_sent": self.acks_sent, "ack": self.acks_come, "drop": self.acks_dropped}
            if row.event in of:
                key = (row.segment, row.since_ns, row.value)
                of[row.event].setdefault(key, row)

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, time_ns: int) -> int:
        """Return how many events there are up to then, that instant included."""
        return bisect_right(self.times, time_ns)

    def activation(self, index: int) -> range:
        """Return the rows of what the sender did on the same occasion, up to and with this one."""
        head = self.heads[index]
        if head is not None:
            return range(head, index + 1)
        first = index
        while (
            first > 0
            and self.times[first - 1] == self.times[index]
            and self.heads[first - 1] is None
        ):
            first -= 1
        return range(first, index + 1)

    def counted(self, ack: int) -> int | None:
        """Return the how manieth duplicate the sender counts this ACK for, if for one."""
        before = self.standings[ack].duplicates
        for row in self.rows[ack + 1 :]:
            if self.times[row.index] != self.times[ack] or self.heads[row.index] not in (ack, None):
                return None
            if row.event == "dupacks":
                return row.number if row.number > before else None
        return None

    def copies(self, seq: int, before_ns: int) -> list[Copy]:
        """Return the transmissions of a segment up to then, the first one first."""
        found = []
        for sent in self.sent.get(seq, []):
            if sent.time_ns <= before_ns and sent.event != "window_probe":
                key = (seq, sent.time_ns)
                found.append(Copy(seq, sent, self.arrived.get(key), self.dropped.get(key)))
        return found

    def has_arrived(self, seq: int, before_ns: int) -> Row | None:
        """Return the first arrival of a segment before then, if there is one."""
        rows = [
            copy.arrived
            for copy in self.copies(seq, before_ns)
            if copy.arrived is not None and copy.arrived.time_ns < before_ns
        ]
        return min(rows, key=lambda row: row.index) if rows else None

    def longest_stall(self) -> Stall | None:
        """Return the longest time from one ACK of something new to the next; None without a flow.

        It begins with the opening at the earliest, and ends with the run at the latest.
        """
        first = next((row for row in self.rows if row.event in SENT), None)
        if first is None:
            return None
        longest, since, waited = None, first.time_ns, 0
        for row in self.rows:
            if row.event != "ack" or row.number < self.standings[row.index].una:
                continue
            stall = Stall(since, row.time_ns, row.index, True, waited)
            if longest is None or stall.length_ns > longest.length_ns:
                longest = stall
            since, waited = row.time_ns, row.number + 1
        last = self.rows[-1]
        if waited < max(self.sent) + 1:
            stall = Stall(since, self._end_ns(last), last.index, False, waited)
            if longest is None or stall.length_ns > longest.length_ns:
                longest = stall
        return longest

    def _end_ns(self, last: Row) -> int:
        """Return when the run ended for a flow that has segments outstanding then."""
        from midflight import parse_duration

        said = json.loads(self.plan.canonical)
        sizes = {name: one["size"] for name, one in said["flows"].items()}
        own = sizes.get(self.flow) or sizes[self.flow.rpartition("-")[0]]
        others_end = own == "unlimited" and set(sizes.values()) != {"unlimited"}
        if others_end or said.get("stop") == "measured":
            # It ends when others are done or something is measured, which is not told here.
            return last.time_ns
        return parse_duration(said["end"])

    def sender(self, at_ns: int) -> dict[str, Any]:
        """Return the sender after everything before that instant."""
        return dict(self.plan.sender(at_ns, run=self.run, flow=self.flow))


def _rows(table: Table) -> list[Row]:
    names = (
        "time_ns",
        "event",
        "value",
        "detail",
        "segment",
        "sent_ns",
        "since_ns",
        "sack",
    )
    columns = (table.column(name) for name in names)
    return [Row(i, *cells) for i, cells in enumerate(zip(*columns, strict=True))]


def _heads(rows: list[Row]) -> list[int | None]:
    """Return for each row that of what reached the sender; None outside it and without any."""
    heads: list[int | None] = []
    head: int | None = None
    for row in rows:
        if head is not None and rows[head].time_ns != row.time_ns:
            head = None
        if row.event in HEADS:
            head = row.index
        heads.append(None if row.event in OUTSIDE else head)
    return heads


def _standings(rows: list[Row]) -> Any:
    """Yield the sender before each row."""
    values: dict[str, Any] = {}
    standing = Standing()
    point = 0
    for row in rows:
        yield standing
        values = {}
        if row.event in ("cwnd", "ssthresh", "min_rto"):
            values[row.event] = row.value
        elif row.event == "rto_value":
            values["rto"] = row.value
        elif row.event == "backoff":
            values["backoff"] = row.number
        elif row.event == "dupacks":
            values["duplicates"] = row.number
        elif row.event in SENT:
            values["max"] = max(standing.max, row.number + 1)
        elif row.event == "ack":
            una = row.number + 1
            if standing.una < una <= standing.max:
                values["una"] = una
                if standing.timeout is not None and una >= point:
                    values["timeout"] = None
            values["closed"] = row.detail == ZERO if una >= standing.una else standing.closed
        elif row.event == "fast_retransmit":
            values["recovery"] = row.index
        elif row.event == "state" and standing.recovery is not None:
            # Tahoe has no fast recovery after a fast retransmit.
            state = row.detail.partition(" -> ")[2].partition(":")[0]
            at_once = rows[standing.recovery].time_ns == row.time_ns
            if at_once and state in ("slow-start", "congestion-avoidance"):
                values["recovery"] = None
        elif row.event == "recovery_exit":
            values["recovery"] = None
        elif row.event == "spurious" or (
            row.event == "order" and ": send everything outstanding again" in row.detail
        ):
            values = {"recovery": None, "timeout": None}
        elif row.event == "rto":
            values = {"recovery": None, "timeout": row.index}
            point = standing.max
        if values:
            standing = Standing(**{**standing.__dict__, **values})
