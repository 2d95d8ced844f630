"""What a sender that sends nothing at an instant waits for, since when, and what ends that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from midflight.explain.events import SENT, History, Row
from midflight.explain.steps import Sentence, Steps
from midflight.explain.waits import TIMERS, why_long
from midflight.explain.words import number, row_text, when

__all__ = ["SenderWait", "wait_at"]

#: A sender that sends nothing for so many round trips waits.
_LEAST_TRIPS = 0.5

#: An instant of whole microseconds has all events that are printed with it.
_INSTANT_NS = 1_000

_SENT = SENT | {"window_probe"}
#: These are no timers of which a stall's summary speaks.
_OTHER_TIMERS = {
    "delay": "the delay of its response to duplicate ACKs",
    "patience": "the end of the time in which it took duplicate ACKs for reordering",
}


class SenderWait(NamedTuple):
    """What a sender waits for, in a sentence, the events that belong to that, and whether what
    limits the flow otherwise is no answer: it waits for a timer, the application, or in a recovery.
    """

    text: str
    is_all: bool = True
    steps: Sequence[Sentence] = ()


def wait_at(history: History, at_ns: int, end_ns: int) -> SenderWait | None:
    """Return what a sender waits for at an instant of a run that ends at another; None if it sent
    something then, if it sends again within half a round trip, or if it has nothing more to send.
    """
    end = history.at(at_ns)
    last = next((row for row in history.backward(end) if row.event in _SENT), None)
    if last is None or at_ns - last.time_ns < _INSTANT_NS or at_ns >= end_ns:
        return None
    # What comes next, and the sender just before that.
    following = next((row for row in history.onward(end) if row.event in _SENT), None)
    until_ns = end_ns if following is None else following.time_ns
    if until_ns - last.time_ns < _LEAST_TRIPS * _round_trip_ns(history, last):
        return None
    if following is None:
        return _to_the_end(history, last, at_ns, end_ns)
    then = history.sender_before(following.index)
    head_index = history.head(following.index)
    head = None if head_index in (None, following.index) else history.row(head_index or 0)
    span = f"from {when(last.time_ns)} until {when(until_ns)}"
    begin = f"At {when(at_ns)} the sender waited for"
    state = history.sender(at_ns)
    recovers = bool(state.get("in_rto_recovery") or state.get("in_fast_recovery"))
    if head is not None and head.event == "wake":
        return _for_timer(history, head, begin, span)
    if head is not None and head.event == "ack":
        before = history.sender_before(head.index)
        if before.closed:
            text = f"{begin} the window to open again, {span}, when ACK {head.number} came."
            return SenderWait(text)
        if before.una >= before.max:
            head = None
        else:
            text = f"{begin} an ACK of {_waited(history, before.una, at_ns)}, {span}, when ACK "
            text += f"{head.number} came"
            if cwnd := state.get("cwnd"):
                text += f"; the window was {number(cwnd)}"
            return SenderWait(f"{text}.", recovers)
    if head is not None:
        what = f"an ACK of {_waited(history, then.una, at_ns)} or its retransmission timer"
        is_notice = head.event == "notice"
        ended = "when a notice came" if is_notice else f"because of {row_text(head)}"
        return SenderWait(f"{begin} {what}, {span}, {ended}.")
    is_done = then.una >= then.max
    if history.described.get("workload") or is_done:
        known = (
            "all that it had sent was acknowledged" if is_done else "it had nothing more to send"
        )
        return SenderWait(f"{begin} its application, {span}, which then wrote something: {known}.")
    return SenderWait(f"{begin} its pace, {span}.", recovers)


def _round_trip_ns(history: History, last: Row) -> float:
    """The sender's smoothed round trip when it sent something, or its last sample; 0 of none."""
    state = history.sender(last.time_ns + 1)
    if state:
        return float(state["srtt_ns"] or 0)
    rows = history.backward(last.index)
    return next((1e9 * row.value for row in rows if row.event == "rtt_sample"), 0.0)


def _waited(history: History, seq: int, at_ns: int) -> str:
    """The first segment that is not acknowledged, and when it was sent last."""
    copies = history.copies(seq, at_ns)
    if not copies:
        return f"segment {seq}"
    again = "sent again" if len(copies) > 1 else "sent"
    return f"segment {seq}, {again} at {when(copies[-1].sent.time_ns)}"


def _for_timer(history: History, wake: Row, begin: str, span: str) -> SenderWait:
    """A wait that a timer ends."""
    timer = (TIMERS | _OTHER_TIMERS).get(wake.detail, f"its timer ({wake.detail})")
    since = wake.since_ns or 0
    text = f"{begin} {timer}, {span}, when that expired: it was set at {when(since)} for "
    text += f"{number(wake.value)} s"
    backoff = history.sender(since + 1).get("backoff", 1)
    if wake.detail == "retransmission" and backoff > 1:
        text += f", with a back-off of {backoff}"
    text += why_long(history, since, round(wake.value * 1e9), ())
    steps = Steps(history).expiry(wake) if wake.detail == "retransmission" else []
    return SenderWait(f"{text}.", steps=steps)


def _to_the_end(history: History, last: Row, at_ns: int, end_ns: int) -> SenderWait | None:
    """A wait after which nothing is sent: for the last ACKs, or for what does not come in time."""
    end = history.at(at_ns)
    acks = [row for row in history.onward(end) if row.event == "ack"]
    newest = history.row(end - 1)
    then = history.sender_before(end if end < history.end else newest.index)
    una = max(then.una, newest.number + 1) if newest.event == "ack" else then.una
    if una >= then.max:
        return None
    what = f"At {when(at_ns)} the sender waited for an ACK of {_waited(history, una, at_ns)}"
    done = next((row for row in acks if row.number + 1 >= then.max), None)
    until = f"the run ended at {when(end_ns)}"
    if done is not None:
        until = f"{when(done.time_ns)}, when ACK {done.number} came, the last one"
    return SenderWait(f"{what}, from {when(last.time_ns)} until {until}.")
