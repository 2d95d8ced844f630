"""Sentences on the events of a flow, each with its cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from midflight._core import QUIC_STACKS
from midflight.explain.estimates import sample_parts
from midflight.explain.events import CLOSES, CONGESTION, SENT, Copy, History, Row
from midflight.explain.waits import is_written_then, long_sample, rto_words
from midflight.explain.window_reasons import window_reason
from midflight.explain.words import (
    OF_QUIC,
    WAKES,
    link_text,
    loss_words,
    names_in_events,
    number,
    order_text,
    ordinal,
    outage_text,
    path_change_text,
    row_text,
    seconds_text,
    when,
)

if TYPE_CHECKING:
    from midflight._core import PathChange

__all__ = ["MOST_COPIES", "Sentence", "Steps", "Where"]

#: When, what, and the row that it is about.
Sentence: TypeAlias = tuple[int, str, int | None]
#: The next step: a row as a cause, or the segment that a duplicate ACK lacks.
Where: TypeAlias = tuple[str, int]
Explained: TypeAlias = tuple[list[Sentence], Where | None]

#: Maximum number of transmissions of a segment for which the fate is described.
MOST_COPIES = 3
#: Orders by their effect: restart the timer, retransmit segments, release other segments.
RESTARTS = ("restart_timer", "retransmit_now", "restart_rtt", "rewind")
RESENDS = ("retransmit_now", "retransmit_and_wait", "go_back", "rewind")
RELEASES = (
    "probe",
    "rewind",
    "send_train",
    "set_cwnd",
    "resume",
    "resume_counting",
    "leave_recovery",
)
#: Events that follow from an order at once, and from which.
EFFECTS = {
    "cwnd": ("set_cwnd", "rewind"),
    "ssthresh": ("set_ssthresh",),
    "min_rto": ("set_min_rto",),
    "backoff": ("restart_rtt", "retransmit_now", "rewind"),
    "spurious": ("resume", "resume_counting", "leave_recovery"),
    "rto_value": ("set_min_rto", "restart_rtt"),
}


class Steps:
    """The steps of a chain, one at a time."""

    def __init__(self, history: History, *, since_ns: int | None = None) -> None:
        """With `since_ns`, follow what the sender waited for since then (`explain.chain`)."""
        self.history = history
        self.since_ns = since_ns
        self.names = names_in_events(history.setup.places)
        said = next(one for one in history.setup.flows if one["name"] == history.flow)
        self.is_of_stack = said["stack"] in QUIC_STACKS
        self.node_sends_acks = said["moves"] and said["direction"] == "down"
        #: The handoffs and changes that were described in full, by their beginning.
        self.named: set[int] = set()

    def of(self, where: Where, *, first: bool) -> Explained:
        """Return the sentences of a step, and the next cause."""
        kind, index = where
        row = self.history.row(index)
        if kind == "missing":
            return self.missing(row)
        if kind == "open":
            return [(row.time_ns, "because the connection opened", index)], None
        if kind == "timer":
            return self.expiry(row), None
        if first:
            return self.target(row)
        causes = {
            "ack": self.ack,
            "ack_sent": self.ack_sent,
            "notice": self.notice,
            "wake": self.wake,
        }
        if row.event in causes:
            return causes[row.event](row)
        if row.event in SENT:
            return self.sent(row)
        return [(row.time_ns, f"because of {row_text(row)}", index)], None

    # ---- the event that is explained -----------------------------------

    def target(self, row: Row) -> Explained:
        """Describe the event itself; the following steps are causes."""
        outside = {
            "rcv": self.arrival,
            "drop": self.lost,
            "mark": self.marked,
            "node_send": self.node_sent,
            "ack_sent": self.ack_sent,
            "break": self.at_occasion,
            "make": self.at_occasion,
        }
        if row.event in outside:
            return outside[row.event](row)
        if row.event in SENT:
            return self.sent(row, first=True)
        if row.event == "ack":
            text = f"ACK {row.number} arrived{self.ack_kind(row)}"
            return [(row.time_ns, text, row.index)], self.before_ack(row)
        if row.event == "notice":
            return self.notice(row, first=True)
        if row.event == "signal":
            return self.node_does(row)
        if row.event == "wake":
            return self.wake(row, first=True)
        if row.event in ("migrates", "migrated", "path_opened", "path_found"):
            past = [one for one in self.history.path_changes if one["make_ns"] <= row.time_ns]
            moved = [(one["at_ns"], path_change_text(one), self.mark(one)) for one in past[-1:]]
            return [(row.time_ns, self.what(row), row.index), *moved], None
        where = self.head(row)
        if row.event == "rto" and where is not None:
            where = "timer", where[1]
        return [(row.time_ns, self.what(row), row.index)], where

    def what(self, row: Row) -> str:
        """Return a change inside the sender with its author."""
        sender_before = self.history.sender_before(row.index)
        value = number(row.value)
        order = self.ordered(row)
        by = f": {order_text(order)}" if order is not None else ""
        if row.event in ("cwnd", "ssthresh"):
            before = sender_before.cwnd if row.event == "cwnd" else sender_before.ssthresh
            change = f"{row.event} {value}"
            if before is not None:
                change = f"{row.event} {number(before)} -> {value}"
            return change + (by or window_reason(self.history, row, is_of_stack=self.is_of_stack))
        if row.event in ("rto_value", "srtt") and order is None:
            text = self.estimate_text(row)
            if text:
                return text
        if row.event in ("rto_value", "min_rto", "srtt", "rtt_sample"):
            names = {
                "rto_value": "the RTO became",
                "min_rto": "the minimum RTO became",
                "srtt": "the smoothed RTT became",
                "rtt_sample": "an RTT sample was taken:",
            }
            return f"{names[row.event]} {value} s{by}"
        if row.event in ("pacing_rate", "delivery_rate"):
            what = "segments are paced at" if row.event == "pacing_rate" else "data is delivered at"
            limited = ", while the application limits it" if row.detail else ""
            return f"{what} {row.value / 1e6:.4g} Mbit/s{limited}{by}"
        if row.event == "backoff":
            return f"the timer's back-off factor became {row.number}{by}"
        if row.event == "dupacks":
            return f"{row.number} duplicate ACKs were counted"
        if row.event == "rto":
            return self.timeout_text(row)
        if row.event == "order":
            return order_text(row)
        plain = {
            "fast_retransmit": f"fast retransmit of segment {value}{self.recovery_text(row)}",
            "recovery_exit": "fast recovery ended",
            "spurious": f"the sender took the last {row.detail} for spurious" + self.mistaken(row),
            "suspect": f"segment {value} was suspected to be lost",
            "judge": f"the loss of segment {value} was taken for one by {row.detail}",
            "reordered": f"segment {value} had only been late",
            "state": f"the sender's state changed, {row.detail}",
            "window_probe": "a probe of the closed window was sent",
            "mode": f"the congestion controller began {row.detail}",
        }
        plain |= {event: words.format(value=value, detail=row.detail) for event, words in OF_QUIC}
        return plain.get(row.event, row_text(row)) + by

    def mistaken(self, row: Row) -> str:
        """Return that a timeout that the sender takes for spurious was needed; "" if not so."""
        if row.event != "spurious" or row.detail != "timeout":
            return ""
        last = next((one for one in self.history.backward(row.index) if one.event == "rto"), None)
        if last is None or last.detail != "needed":
            return ""
        return " by mistake: only a copy sent after it was acknowledged"

    def estimate_text(self, row: Row) -> str:
        """Return how a sample or the back-off changed the RTO or the smoothed RTT."""
        history = self.history
        together = [history.row(i) for i in history.activation(row.index)]
        before, then = history.sender(row.time_ns), history.sender(row.time_ns + 1)
        parts = []
        for sample in (r for r in together if r.event == "rtt_sample"):
            parts = sample_parts(round(sample.value * 1e9), before, then)
        if row.event == "rto_value":
            parts.append(f"minimum RTO {seconds_text(then['min_rto_ns'])}")
            if before["backoff"] != then["backoff"]:
                parts.append(f"back-off {before['backoff']} -> {then['backoff']}")
            elif then["backoff"] != 1:
                parts.append(f"back-off {then['backoff']}")
        elif not parts:
            return ""
        name = "the RTO" if row.event == "rto_value" else "the smoothed RTT"
        return f"{name} became {number(row.value)} s: {', '.join(parts)}"

    def ordered(self, row: Row) -> Row | None:
        """Return the order that had this effect at once, if one did."""
        if row.event not in EFFECTS:
            return None
        for index in reversed(self.history.activation(row.index)[:-1]):
            other = self.history.row(index)
            if other.order in EFFECTS[row.event] and row.by in (None, other.by):
                return other
            # Another change of the same kind occurred in between.
            if other.event in (row.event, "rto", "fast_retransmit") or (
                row.event == "rto_value" and other.event == "rtt_sample"
            ):
                return None
            if other.event == "order" and row.event != "rto_value":
                return None
        return None

    def recovery_text(self, row: Row) -> str:
        """Return whether a fast recovery began with a fast retransmit."""
        later = self.history.onward(self.history.at(row.time_ns))
        after = next((self.history.sender_before(one.index) for one in later), None)
        began = after is not None and after.recovery == row.index
        return ", and fast recovery began" if began else ""

    def head(self, row: Row) -> Where | None:
        """Return what reached the sender, from which a change in it follows."""
        head = self.history.head(row.index)
        if head is not None:
            return "row", head
        opened = self.history.events.opened_ns
        if opened is not None and row.time_ns <= opened:
            return "open", row.index
        # A departure of a train: it follows from the order that began it.
        order = self.train_order(row)
        return None if order is None else self.head(order)

    def train_order(self, row: Row) -> Row | None:
        """Return the last order to send a train before an event."""
        for other in self.history.backward(row.index):
            if other.order == "send_train":
                return other
        return None

    # ---- causes --------------------------------------------------------

    def ack_kind(self, row: Row) -> str:
        """Return what an ACK meant for the sender."""
        sender_before = self.history.sender_before(row.index)
        una = row.number + 1
        said = f"; it says: {row.detail}" if row.detail else ""
        if una > sender_before.max:
            return ", of what was never sent" + said
        counted = self.history.counted(row.index)
        duplicate = "" if counted is None else f"the {ordinal(counted)} duplicate"
        sacked = f" (SACK {row.sack})" if row.sack else ""
        if una > sender_before.una:
            first = f"segments {sender_before.una} to {row.number}"
            if una == sender_before.una + 1:
                first = f"segment {row.number}"
            also = f", which counts as {duplicate}" if duplicate else ""
            return f", the first of {first}{sacked}{also}{said}"
        if una == sender_before.una and sender_before.closed and row.detail not in CLOSES:
            return ", which opened the window again" + said
        if duplicate:
            return f", {duplicate}{sacked}{said}"
        if una == sender_before.una:
            return f", which repeated the last one{sacked}{said}"
        return f", which reported nothing new{sacked}{said}"

    def is_duplicate(self, row: Row) -> bool:
        sender_before = self.history.sender_before(row.index)
        closed = sender_before.closed or row.detail in CLOSES
        repeats = row.number + 1 == sender_before.una < sender_before.max and not closed
        return repeats or self.history.counted(row.index) is not None

    def ack(self, row: Row) -> Explained:
        text = f"because ACK {row.number} arrived{self.ack_kind(row)}"
        return [(row.time_ns, text, row.index)], self.before_ack(row)

    def before_ack(self, row: Row) -> Where | None:
        sent = self.history.ack_sending(row)
        return None if sent is None else ("row", sent.index)

    def ack_sent(self, row: Row) -> Explained:
        """Describe which segment caused an ACK, and its path."""
        history = self.history
        ack = f"ACK {row.number}"
        if row.detail == "signal":
            return self.signal(row), None
        arrived = history.arrival(row.segment or 0, row.sent_ns or 0)
        over = self.over(arrived)
        caused = f"segment {row.segment} (sent at {when(row.sent_ns or 0)})"
        if row.detail == "delayed" and arrived is not None:
            late = when(arrived.time_ns)
            text = f"for {caused}, which arrived{over} at {late}: a delayed ACK"
        elif row.detail == "held" and arrived is not None:
            late = when(arrived.time_ns)
            text = (
                f"for {caused}, which arrived{over} at {late}: the node held it back or repeats it"
            )
        else:
            text = f"when {caused} arrived{over}"
        sentence = (row.time_ns, f"the receiver sent {ack} {text}", row.index)
        come = history.ack_arrival(row)
        if come is not None and come.detail == CONGESTION:
            mark = history.echoed(row)
            if mark is not None:
                return [sentence, (mark.time_ns, self.mark_text(mark), mark.index)], self.sending(
                    mark.number, mark.sent_ns
                )
        if come is not None and self.is_duplicate(come) and not self.is_waited_for(row.sent_ns):
            return [sentence], ("missing", row.index)
        return [sentence], self.sending(row.segment, row.sent_ns)

    def is_waited_for(self, at_ns: int | None) -> bool:
        """Whether an instant is in the time in which the sender waited."""
        return self.since_ns is not None and at_ns is not None and at_ns > self.since_ns

    def signal(self, row: Row) -> list[Sentence]:
        """Describe why a mobile node sent an ACK by itself."""
        text = f"the mobile node sent ACK {row.number} as a signal"
        for one in self.history.path_changes:
            began = (one["at_ns"], path_change_text(one), self.mark(one))
            if one["make_ns"] == row.time_ns:
                return [
                    (row.time_ns, f"{text}: it was on {link_text(one['to_link'])} now", row.index),
                    began,
                ]
            if one["at_ns"] > row.time_ns:
                gone = link_text(one["from_link"])
                foreseen = f"{text}: it foresaw what happened to {gone} at"
                return [(row.time_ns, f"{foreseen} {when(one['at_ns'])}", row.index)]
        return [(row.time_ns, text, row.index)]

    def sending(self, seq: int | None, sent_ns: int | None) -> Where | None:
        """Return the transmission of a segment at an instant."""
        if seq is None or sent_ns is None:
            return None
        row = self.history.sending(seq, sent_ns)
        return None if row is None else ("row", row.index)

    def missing(self, row: Row) -> Explained:
        """Describe the fate of the segment that an ACK misses, or which segment arrived twice."""
        history = self.history
        # A delayed ACK leaves after its segment has arrived.
        own = history.arrival(row.segment or 0, row.sent_ns or 0)
        until = row.time_ns if own is None else own.time_ns
        first = history.has_arrived(-1 if row.segment is None else row.segment, until)
        if first is not None:
            text = f"segment {row.segment} had arrived{self.over(first)} at {when(first.time_ns)}"
            sentence = (row.time_ns, f"{text} before: it came twice", row.index)
            return [sentence], self.sending(row.segment, row.sent_ns)
        return list(self.fate(row.number + 1, row.time_ns, f"ACK {row.number} left")), None

    def sent(self, row: Row, *, first: bool = False) -> Explained:
        """Describe why a segment was sent."""
        history = self.history
        again = "again" if row.event == "rexmit" else "for the first time"
        text = f"segment {row.number} was sent {again}"
        if row.detail:
            text += f" ({row.detail})"
        where = self.head(row)
        if history.head(row.index) is None and (where is None or where[0] != "open"):
            order = self.train_order(row)
            if order is None and is_written_then(history, row):
                text += ", when the application had written it: the flow is application-limited"
            elif order is None:
                text += ", when its time had come: sending is paced"
                where = self.sent_before(row)
            else:
                at = f"at {when(order.time_ns)} {order_text(order)}"
                text += f", when its time in a train had come; {at}"
        text += self.sent_reason(row)
        return [(row.time_ns, text if first else f"because {text}", row.index)], where

    def sent_before(self, row: Row) -> Where | None:
        """Return the transmission before a paced one, if the sender waited since then."""
        for other in self.history.backward(row.index):
            if not self.is_waited_for(other.time_ns):
                return None
            if other.event in SENT:
                return "row", other.index
        return None

    def sent_reason(self, row: Row) -> str:
        history = self.history
        together = [history.row(i) for i in history.activation(row.index)]
        sender_before = history.sender_before(row.index)
        orders = [r for r in together if r.event == "order"]
        if row.event == "rexmit":
            for order in reversed(orders):
                if order.order in RESENDS:
                    return f": {order_text(order)}"
            if any(r.event == "rto" for r in together):
                return ": the timeout's retransmission"
            if any(r.event == "fast_retransmit" for r in together):
                return ": fast retransmit"
        for order in reversed(orders):
            if order.order in RELEASES:
                return f"; at that instant {order_text(order)}"
        if sender_before.recovery is not None:
            began = when(history.row(sender_before.recovery).time_ns)
            return f", in the fast recovery that began at {began}"
        if sender_before.timeout is not None:
            after = when(history.row(sender_before.timeout).time_ns)
            return f", after the timeout at {after}"
        return ""

    def notice(self, row: Row, *, first: bool = False) -> Explained:
        changes = [one for one in self.history.path_changes if one["notified_ns"] == row.time_ns]
        if not changes:
            text = "a notice of the link came"
            return [(row.time_ns, text if first else f"because {text}", row.index)], None
        one = changes[-1]
        late = row.time_ns - one["make_ns"]
        text = f"a notice of the {one['kind']} at {when(one['at_ns'])} came"
        if late:
            text += f", {number(late / 1e9)} s after {link_text(one['to_link'])} was in use"
        if one["misstated"]:
            text += f"; it said other numbers than {link_text(one['to_link'])} has"
        responses = [r for r in self.history.instant(row.time_ns) if r.index >= row.index]
        responses = [r for r in responses if self.history.head(r.index) == row.index]
        if first and not any(r.event == "order" for r in responses):
            text += "; it led to no order"
        text = text if first else f"because at that instant {text}"
        return [
            (row.time_ns, text, row.index),
            (one["at_ns"], path_change_text(one), self.mark(one)),
        ], None

    def node_does(self, row: Row) -> Explained:
        """Describe the actions of a part of the mobile node from then on, and the handoff."""
        part, _, what = row.detail.partition(": ")
        steps: list[Sentence] = [(row.time_ns, f"{part} at the mobile node: {what}", row.index)]
        coming = [one for one in self.history.path_changes if one["make_ns"] >= row.time_ns]
        if coming:
            one = coming[0]
            steps.append((one["at_ns"], path_change_text(one), self.mark(one)))
        return steps, None

    def mark(self, one: PathChange) -> int | None:
        """Return the row that marks the beginning of a handoff or a change."""
        event = "break" if one["breaks"] else "make"
        marks = self.history.events.marks
        here = [index for index, at, name in marks if (at, name) == (one["at_ns"], event)]
        return here[-1] if here else None

    def at_occasion(self, row: Row) -> Explained:
        """Describe the handoff or change that begins or ends there."""
        key = "at_ns" if row.event == "break" else "make_ns"
        for one in self.history.path_changes:
            if one["at_ns" if key == "at_ns" else "make_ns"] == row.time_ns:
                if row.event == "break" or not one["breaks"]:
                    return [(row.time_ns, path_change_text(one), row.index)], None
                text = f"{link_text(one['to_link'])} was in use from then on"
                began = (one["at_ns"], path_change_text(one), self.mark(one))
                return [(row.time_ns, text, row.index), began], None
        return [(row.time_ns, row.event, row.index)], None

    # ---- timers --------------------------------------------------------

    def timeout_text(self, row: Row) -> str:
        judged = {
            "spurious": " (spurious: the segment was then acknowledged because of a copy "
            "sent before the timeout)",
            "needed": " (needed: only the copy sent after the timeout was acknowledged)",
        }
        timer = "probe timeout" if self.is_of_stack else "retransmission timer"
        return f"the {timer} expired for segment {row.number}" + judged.get(
            row.detail, " (nothing acknowledged it until the end of the run)"
        )

    def wake(self, row: Row, *, first: bool = False) -> Explained:
        history = self.history
        since = row.since_ns or 0
        if row.detail != "retransmission":
            text = f"{WAKES[row.detail]}; at {when(since)} it was set for {number(row.value)} s"
            if (then := history.sender(since + 1)).get("srtt_ns") is not None:
                text += f" (smoothed RTT {seconds_text(then['srtt_ns'])})"
            heads = [one.index for one in history.instant(since)]
            heads = [i for i in heads if history.head(i) == i and i != row.index]
            where: Where | None = ("row", heads[-1]) if heads else None
            said = (row.time_ns, text if first else f"because {text}", row.index)
            return [said, *self.why_long(row)], where
        text = self.timeout_text(self.timeout_of(row))
        sentence = (row.time_ns, text if first else f"because {text}", row.index)
        return [sentence, *self.expiry(row)], None

    def why_long(self, wake: Row) -> Iterator[Sentence]:
        """Yield the RTT sample of a pause that made a timer long, if one did."""
        found = long_sample(self.history, wake.since_ns or 0, round(wake.value * 1e9))
        if found is not None:
            sample, pause = found
            text = f"an RTT sample of {number(sample.value)} s made the timers long: {pause.text}"
            yield sample.time_ns, text, sample.index

    def timeout_of(self, wake: Row) -> Row:
        return next(row for row in self.history.onward(wake.index) if row.event == "rto")

    def expiry(self, wake: Row) -> list[Sentence]:
        """Return since when the retransmission timer ran, and what became of its segment."""
        seq = self.timeout_of(wake).number
        began = (wake.since_ns or 0, self.timer_set(wake), None)
        causes = [began, *self.fate(seq, wake.time_ns, "the timer expired")]
        causes += self.unanswered_handoff(seq, wake)
        causes += self.why_long(wake)
        return sorted(causes, key=lambda sentence: -sentence[0])

    def unanswered_handoff(self, seq: int, wake: Row) -> Iterator[Sentence]:
        """Yield the last handoff if nothing over its link was answered and none was named."""
        past = [one for one in self.history.path_changes if one["at_ns"] <= wake.time_ns]
        copies = self.history.copies(seq, wake.time_ns)
        copies = [copy for copy in copies if copy.sent.index < wake.index]
        if not past or not copies or past[-1]["at_ns"] in self.named:
            return
        last = past[-1]
        lost = copies[-1].dropped
        if lost is not None and lost.time_ns < last["at_ns"]:
            # This is the reason why no answer arrived, wherever the node moved afterwards.
            return
        for row in self.history.backward(wake.index):
            if row.time_ns <= last["at_ns"]:
                break
            if row.event == "ack" and row.sent_ns is not None and row.sent_ns >= last["at_ns"]:
                return
        text = f"{self.occasion(last)}; nothing sent since then had been answered"
        yield last["at_ns"], text, self.mark(last)

    def timer_set(self, row: Row) -> str:
        """Return when the retransmission timer was set, and the values from which its time was
        computed.
        """
        history = self.history
        since = row.since_ns or 0
        together = [r for r in history.instant(since) if r.index < row.index]
        by = "when segments were sent"
        if any(r.event == "wake" and r.detail == "reordering" for r in together):
            by = "when RACK's reordering timer expired"
        sent = [r for r in together if r.event in SENT]
        if sent:
            by = f"when segment {sent[0].number} was sent"
        news = [
            r
            for r in together
            if r.event == "ack" and r.number + 1 > history.sender_before(r.index).una
        ]
        if news:
            by = f"when ACK {news[-1].number} arrived"
        for ack in together:
            if (
                ack.event == "ack"
                and ack.detail not in CLOSES
                and history.sender_before(ack.index).closed
            ):
                by = f"when ACK {ack.number} opened the window again"
        for other in together:
            if other.event == "fast_retransmit":
                by = f"by the fast retransmit of segment {other.number}"
            elif other.event == "order":
                if other.order in RESTARTS:
                    by = f"when {order_text(other)}"
            elif other.event == "rto":
                by = f"with back-off, after the timeout for segment {other.number}"
        if self.is_of_stack:
            return f"the probe timeout counts from then, {number(row.value)} s, {by}"
        then = history.sender(since + 1)
        wait_ns = round(row.value * 1e9)
        what = rto_words(wait_ns, then["rto_ns"])
        parts = ["no RTT estimate"]
        if then["srtt_ns"] is not None:
            parts = [f"smoothed RTT {number(then['srtt_ns'] / 1e9)} s"]
            # In Linux it is more than the deviation of the last samples.
            added_ns = then["rto_ns"] / then["backoff"] - then["srtt_ns"]
            if added_ns > 1.01 * then["min_rto_ns"]:
                parts.append(f"variation {number(added_ns / 1e9)} s")
        if then["backoff"] != 1:
            parts.append(f"back-off {then['backoff']}")
        parts.append(f"minimum RTO {number(then['min_rto_ns'] / 1e9)} s")
        return f"the timer was set for {number(row.value)} s{what}, {by} ({', '.join(parts)})"

    # ---- what became of segments ---------------------------------------

    def over(self, arrived: Row | None) -> str:
        if arrived is None or arrived.link not in self.names:
            return ""
        return f" over {link_text(self.names[arrived.link])}"

    def link_name(self, row: Row) -> str:
        """Return the name of an event's link."""
        return self.names.get(row.link, row.link)

    def loss_text(self, row: Row) -> str:
        """Return where and why something was lost."""
        _, cause = row.lost or ("", "")
        return loss_words(cause, self.link_name(row))

    def fate(self, seq: int, by_ns: int, what: str) -> Iterator[Sentence]:
        """Yield what became of a segment, of its last transmission first."""
        copies = self.history.copies(seq, by_ns)
        # A segment sent at the same instant is the answer to it.
        copies = [copy for copy in copies if copy.sent.time_ns < by_ns] or copies
        for copy in reversed(copies[-MOST_COPIES:]):
            yield from self.fate_of(copy, by_ns, what)

    def fate_of(self, copy: Copy, by_ns: int, what: str) -> Iterator[Sentence]:
        again = " again" if copy.sent.event == "rexmit" else ""
        name = f"segment {copy.seq}, sent{again} at {when(copy.sent.time_ns)},"
        lost, arrived = copy.dropped, copy.arrived
        if lost is not None and lost.time_ns <= by_ns:
            yield lost.time_ns, f"{name} had been {self.loss_text(lost)}", lost.index
            yield from self.why_down(lost)
        elif lost is not None:
            after = number((lost.time_ns - by_ns) / 1e9)
            text = f"{name} was {self.loss_text(lost)}, only {after} s after {what}"
            # What came later is no step on the way.
            why = list(self.why_down(lost))
            text += "".join(f" ({began})" for at, began, _ in why if at > by_ns)
            yield copy.sent.time_ns, text, lost.index
            yield from (one for one in why if one[0] <= by_ns)
        elif arrived is None:
            text = f"{name} was still on its way at the end of the run"
            yield copy.sent.time_ns, text, copy.sent.index
        elif arrived.time_ns > by_ns:
            after = number((arrived.time_ns - by_ns) / 1e9)
            text = (
                f"{name} was only late: it arrived{self.over(arrived)} at "
                f"{when(arrived.time_ns)}, {after} s after {what}"
            )
            text += self.meanwhile(copy, arrived.time_ns)
            yield copy.sent.time_ns, text, arrived.index
        else:
            text, ack_lost = self.ack_fate(copy, by_ns)
            where = f"{name} had arrived{self.over(arrived)} at {when(arrived.time_ns)}"
            last = arrived if ack_lost is None else ack_lost
            yield last.time_ns, where + text, last.index
            yield from self.why_down(last)

    def ack_fate(self, copy: Copy, by_ns: int) -> tuple[str, Row | None]:
        """Return what became of the ACK of a segment that had arrived, and its loss."""
        history = self.history
        assert copy.arrived is not None
        for row in history.onward(copy.arrived.index):
            if row.event != "ack_sent" or row.number < copy.seq:
                continue
            come, lost = history.ack_arrival(row), history.ack_loss(row)
            over = self.ack_over(row)
            ack = f"ACK {row.number}, sent{over} at {when(row.time_ns)},"
            if lost is not None:
                return f", but {ack} was {self.loss_text(lost)}", lost
            if come is not None and come.time_ns <= by_ns:
                return f"; {ack} had come at {when(come.time_ns)}", None
            if come is not None:
                text = f"; {ack} was on its way until {when(come.time_ns)}"
                return text + self.meanwhile(copy, come.time_ns), None
            return f"; {ack} was still on its way at the end of the run", None
        return "; nothing acknowledged it until the end of the run", None

    def ack_over(self, row: Row) -> str:
        """Return the link of an ACK, if the mobile node sent it."""
        if not self.node_sends_acks:
            return ""
        moves = [one for one in self.history.path_changes if one["kind"] == "handoff"]
        done = [one["to_link"] for one in moves if one["make_ns"] <= row.time_ns]
        if done:
            return f" over {link_text(done[-1])}"
        return f" over {link_text(moves[0]['from_link'])}" if moves else ""

    def meanwhile(self, copy: Copy, until: int) -> str:
        """Return which handoff or change began before a segment was answered.

        That may be the one that sent it over another link than the segment before it.
        """
        for one in self.history.path_changes:
            if copy.sent.time_ns <= one["at_ns"] < until:
                return f"; meanwhile, at {when(one['at_ns'])}, {self.occasion(one)}"
        for outage in self.history.outages_within(copy.sent.time_ns, until)[:1]:
            return f"; meanwhile {outage_text(outage)}"
        before = self.history.has_arrived(copy.seq - 1, until)
        arrived = copy.arrived
        if before is None or arrived is None or before.link == arrived.link:
            return ""
        past = [one for one in self.history.path_changes if one["at_ns"] <= copy.sent.time_ns]
        if not past:
            return ""
        came = f"; segment {copy.seq - 1} had come{self.over(before)}"
        return f"{came}, and then, at {when(past[-1]['at_ns'])}, {self.occasion(past[-1])}"

    def occasion(self, one: PathChange) -> str:
        """Return the description of a handoff or a change; a short one if it has been described
        already.
        """
        if one["at_ns"] in self.named:
            return f"the {one['kind']} of {link_text(one['from_link'])} began"
        self.named.add(one["at_ns"])
        return path_change_text(one)

    def why_down(self, lost: Row) -> Iterator[Sentence]:
        """Yield the handoff or outage that a loss is due to, if the link was down."""
        if lost.lost is None or lost.lost[1] != "break":
            return
        name = self.link_name(lost)
        began = [
            one
            for one in self.history.path_changes
            if one["breaks"] and one["from_link"] == name and one["at_ns"] <= lost.time_ns
        ]
        sent_ns = lost.time_ns if lost.sent_ns is None else lost.sent_ns
        outages = self.history.outages_within(sent_ns, lost.time_ns)
        # An outage of a recording loses packets of both directions.
        outages = [one for one in outages if one[3] and name.removesuffix("-up") == one[2]]
        if outages:
            yield outages[-1][0], outage_text(outages[-1]), None
        elif began:
            self.named.add(began[-1]["at_ns"])
            yield began[-1]["at_ns"], path_change_text(began[-1]), self.mark(began[-1])

    def lost(self, row: Row) -> Explained:
        """Describe a loss."""
        what = "segment" if row.lost is not None and row.lost[0] == "data" else "ACK"
        text = f"{what} {row.number} was {self.loss_text(row)}"
        text += "".join(f" ({began})" for _, began, _ in self.why_down(row))
        where = self.sending(row.number, row.sent_ns) if what == "segment" else self.before_ack(row)
        return [(row.time_ns, text, row.index)], where

    def mark_text(self, row: Row) -> str:
        """Return where a segment was marked."""
        name = link_text(self.link_name(row))
        return f"segment {row.number} was marked (CE) by the discipline of the queue of {name}"

    def marked(self, row: Row) -> Explained:
        """Describe a mark."""
        sentence = (row.time_ns, self.mark_text(row), row.index)
        return [sentence], self.sending(row.number, row.sent_ns)

    def node_sent(self, row: Row) -> Explained:
        """Describe a packet that a node on the path sent by itself."""
        if row.detail != "data":
            text = f"a node on the path sent ACK {row.number} by itself"
            return [(row.time_ns, text, row.index)], None
        text = f"a node on the path sent segment {row.number} by itself"
        return [(row.time_ns, text, row.index)], self.sending(row.number, row.sent_ns)

    def arrival(self, row: Row) -> Explained:
        text = f"segment {row.number} arrived{self.over(row)}, sent at {when(row.sent_ns or 0)}"
        return [(row.time_ns, text, row.index)], self.sending(row.number, row.sent_ns)
