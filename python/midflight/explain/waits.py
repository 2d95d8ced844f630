"""Why a sender waited for so long: pauses of its path, long timers, and a full window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from midflight.explain.events import SENT, Copy, History, Row, Stall
from midflight.explain.path import PathSamples
from midflight.explain.words import (
    link_text,
    number,
    outage_text,
    path_change_text,
    to_ms,
    when,
)

__all__ = [
    "TIMERS",
    "FirstLoss",
    "full_window",
    "in_short",
    "is_written_then",
    "long_sample",
    "pauses",
    "rto_words",
    "still_waiting",
    "why_long",
]

#: A sample counts as that of a pause from this share of its length on.
_LEAST_SHARE = 0.5
#: What is shorter than this share of a stall is left out of its summary; of timers also what is
#: shorter than this.
_LEAST_REST, _LEAST_TIMER_NS = 0.1, 100_000_000
#: A segment that was underway for this share of a stall is the reason for it, and so is a queue of
#: this share of its time.
_MOST_LATE = 0.5
#: Copies that were lost again, and are told one by one.
_MOST_AGAIN = 2

#: The ticks of Linux's timer wheel are apart by at most this share of a time, and this.
_TICK_SHARE = 1 / 8
_TICK_NS = 8_000_000

#: What a sender waits for, by the names of its timers.
TIMERS = {
    "retransmission": "its retransmission timer",
    "loss probe": "the timer of its tail loss probe",
    "reordering": "RACK's reordering timer",
    "persist": "its persist timer",
}


def is_written_then(history: History, row: Row) -> bool:
    """Whether an application had just written what was sent without an ACK or a timer: nothing was
    in flight, or its sender has no pace.
    """
    before = history.sender_before(row.index)
    if not history.described.get("workload"):
        return False
    return before.una >= before.max or not history.is_paced


class Pause(NamedTuple):
    """A time in which the path of a flow let nothing pass: a sentence on it, and a short one."""

    begin_ns: int
    end_ns: int
    text: str
    words: str


def pauses(history: History, begin_ns: int, end_ns: int) -> Iterator[Pause]:
    """Yield the outages of recordings, and the times without a link, of which a part is between
    two instants.
    """
    for outage in history.outages_within(begin_ns, end_ns):
        from_ns, until_ns, link, _ = outage
        span = f"from {when(from_ns)} to {when(until_ns)}"
        words = f"{link_text(link)} had no rate {span}"
        yield Pause(from_ns, until_ns, outage_text(outage), words)
    for one in history.path_changes:
        from_ns, until_ns = one["at_ns"], one["make_ns"]
        if one["breaks"] and from_ns < until_ns and from_ns <= end_ns and until_ns >= begin_ns:
            span = f"from {when(from_ns)} to {when(until_ns)}"
            yield Pause(from_ns, until_ns, path_change_text(one), f"there was no link {span}")


def long_sample(history: History, since_ns: int, wait_ns: int) -> tuple[Row, Pause] | None:
    """Return the RTT sample that made a timer of `wait_ns` long, and the pause in which its segment
    had waited; None if it was not long because of that.
    """
    found = None
    for pause in pauses(history, since_ns - wait_ns, since_ns):
        least = _LEAST_SHARE * (pause.end_ns - pause.begin_ns) / 1e9
        if pause.end_ns > since_ns or wait_ns < least * 1e9:
            continue
        for row in history.backward(history.at(since_ns + 1)):
            if row.time_ns < pause.end_ns:
                break
            if row.event == "rtt_sample" and row.value >= least:
                found = row, pause
    return found


def full_window(history: History, stall: Stall) -> tuple[int, str] | None:
    """Return why nothing was sent in a stall without a pause, up to the last timer in it, and since
    when: the window was full, or a segment taken for lost was not sent again. None if that is not
    so, or if SACK blocks leave open how much was in flight.
    """
    then = history.sender(stall.begin_ns + 1)
    recovers = then.get("in_fast_recovery") or then.get("in_rto_recovery")
    if not then or recovers or not 0 < then["cwnd"] <= then["flight_size"]:
        return None
    rows = history.slice(history.at(stall.begin_ns), history.at(stall.end_ns))
    last = max((row.index for row in rows if row.event == "wake"), default=stall.row)
    before = [row for row in rows if row.index < last]
    is_paused = any(True for _ in pauses(history, stall.begin_ns, stall.end_ns))
    if is_paused or any(row.event in SENT for row in before):
        return None
    for row in before:
        if row.event == "fast_retransmit":
            cwnd = number(history.sender(row.time_ns + 1)["cwnd"])
            until = when(history.row(last).time_ns)
            text = f"segment {number(row.value)} was taken for lost, but nothing was sent until "
            return row.time_ns, f"{text}{until}; the window was {cwnd}"
    at_begin = history.slice(history.at(max(stall.begin_ns - 1, 0)), history.at(stall.begin_ns))
    if any(row.event == "suspect" or row.sack for row in [*at_begin, *before]):
        return None
    return stall.begin_ns, (
        f"the window of {number(then['cwnd'])} was full: {then['flight_size']} segments were in "
        "flight, and none was known to be lost"
    )


def rto_words(wait_ns: int, rto_ns: int) -> str:
    """Return how long a retransmission timer is beside the RTO, and the probable reason.

    A timer that is set again counts from when the oldest segment was sent, and a wheel fires at its
    ticks, an eighth of the time apart at most. The events show only the two times.
    """
    if wait_ns == rto_ns:
        return ", the RTO"
    rto = f"{number(abs(wait_ns - rto_ns) / 1e9)} s"
    rto += f" {'less' if wait_ns < rto_ns else 'more'} than the RTO of {number(rto_ns / 1e9)} s"
    if wait_ns < rto_ns:
        return f", {rto}, probably because it counts from when the oldest segment was sent"
    is_tick = wait_ns - rto_ns <= _TICK_SHARE * rto_ns + _TICK_NS
    return f", {rto}, probably rounded up to a tick" if is_tick else f", {rto}"


class FirstLoss(NamedTuple):
    """When the first copy of the segment that was waited for was lost, and where, in words."""

    at_ns: int
    words: str


def in_short(history: History, stall: Stall, lost: FirstLoss | None) -> str:
    """Return in words why nothing new was acknowledged for so long, in the order of time; "" if
    that is not known. The loss of the segment that was waited for is told first if it was `lost`
    before any pause.
    """
    long = _LEAST_REST * stall.length_ns
    within = [
        one
        for one in pauses(history, stall.begin_ns, stall.end_ns)
        if min(one.end_ns, stall.end_ns) - max(one.begin_ns, stall.begin_ns) > long
    ]
    told = [(one.begin_ns, one.words) for one in within[:2]]
    if len(within) > 2:
        told.append((within[2].begin_ns, f"and {len(within) - 2} more times"))
    known = [one.words for one in within[:2]]
    ready_ns = max([stall.begin_ns, *(one.end_ns for one in within)])
    rows = history.slice(history.at(stall.begin_ns), history.at(stall.end_ns))

    def waited_ns(wake: Row) -> int:
        return wake.time_ns - max(wake.since_ns or 0, ready_ns)

    # What was sent after a pause before a timer expired did not wait for that.
    sent = (row.time_ns for row in rows if row.event in SENT and row.time_ns > ready_ns)
    until_ns = next(sent, stall.end_ns) if within else stall.end_ns
    wakes = [row for row in rows if row.event == "wake" and row.detail in TIMERS]
    wakes = [row for row in wakes if row.time_ns <= until_ns]
    wake = max((row for row in wakes if row.time_ns > ready_ns), key=waited_ns, default=None)
    if wake is not None and waited_ns(wake) > min(long, _LEAST_TIMER_NS):
        text = f"the sender waited {number(waited_ns(wake) / 1e9)} s for {TIMERS[wake.detail]}"
        text += why_long(history, wake.since_ns or 0, round(wake.value * 1e9), known)
        told.append((wake.time_ns - waited_ns(wake), f"{_THEN}{text}"))
    waiting = still_waiting(history, stall)
    silent_ns = 0 if waiting is None else stall.end_ns - max(waiting.since_ns, ready_ns)
    if waiting is not None and silent_ns > long:
        text = f"nothing was sent for {number(silent_ns / 1e9)} s, until the run ended: "
        text += waiting.text + why_long(history, waiting.set_ns, waiting.rto_ns, known)
        told.append((stall.end_ns - silent_ns, f"{_THEN}{text}"))
    late = "" if told else _late_copy(history, stall)
    # One that is sent after the last wait is what ended that.
    before_ns = ready_ns if told else stall.end_ns
    copies = _copies_words(history, stall, within, 0 if late else before_ns)
    if late:
        told.append((stall.end_ns, late))
    if lost is not None and (not within or lost.at_ns < within[0].begin_ns):
        told.append((lost.at_ns, f"{lost.words}, at {to_ms(lost.at_ns)}"))
        told += copies
    return "; ".join(text for _, text in sorted(told)).removeprefix(_THEN)


#: What begins the words on a wait that follows something else.
_THEN = "then "


def _copies_words(
    history: History, stall: Stall, within: Sequence[Pause], before_ns: int
) -> list[tuple[int, str]]:
    """Return in words when the segment that was waited for was sent again, and which copies were
    lost, but to a pause `within` the stall; and of the one that ended the stall, if it was sent
    before an instant, when it arrived.
    """
    copies = history.copies(stall.waited, stall.end_ns)
    came = [(one.arrived.time_ns, one) for one in copies if one.arrived is not None]
    in_time = [one for one in came if one[0] <= stall.end_ns]
    first_ns, last = min(in_time, key=lambda one: one[0], default=(0, None))
    rows = history.slice(history.at(stall.begin_ns), history.at(stall.end_ns))
    timeouts_ns = {row.time_ns for row in rows if row.event == "rto"}

    def sent_again(copy: Copy) -> str:
        after = " after a timeout" if copy.sent.time_ns in timeouts_ns else ""
        return f"it was sent again at {to_ms(copy.sent.time_ns)}{after}"

    told = []
    again = [one for one in copies[1:] if last is None or one.sent.index < last.sent.index]
    lost = [one for one in again if one.dropped is not None and one.dropped.time_ns < stall.end_ns]
    lost = [one for one in lost if not any(p.begin_ns <= _lost_ns(one) <= p.end_ns for p in within)]
    for copy in lost[:_MOST_AGAIN]:
        told.append((copy.sent.time_ns, f"{sent_again(copy)}, and lost again"))
    if len(lost) > _MOST_AGAIN:
        more = len(lost) - _MOST_AGAIN
        told.append((lost[_MOST_AGAIN].sent.time_ns, f"so were {more} more copies of it"))
    ended = last or (copies[-1] if copies[1:] and copies[-1] not in lost else None)
    if ended is None or ended is copies[0] or ended.sent.time_ns >= before_ns:
        return told
    sent_ns = ended.sent.time_ns
    if last is None:
        text = f"{sent_again(ended)}, and had not arrived when the run ended"
        return [*told, (sent_ns, text)]
    came_at = f"arrived at {to_ms(first_ns)}"
    if any(sent_ns < one.begin_ns < first_ns for one in within):
        held = first_ns, f"it was held by that, and {came_at}"
        return [*told, (sent_ns, sent_again(ended)), held]
    return [*told, (sent_ns, f"{sent_again(ended)}, and {came_at}")]


def _lost_ns(copy: Copy) -> int:
    return copy.sent.time_ns if copy.dropped is None else copy.dropped.time_ns


def _late_copy(history: History, stall: Stall) -> str:
    """Return that the copy that ended a stall was in a queue for most of it; "" if it was not."""
    copies = [one for one in history.copies(stall.waited, stall.end_ns) if one.arrived is not None]
    if not copies or copies[0].arrived is None:
        return ""
    sent, arrived = copies[0].sent, copies[0].arrived
    took_ns = arrived.time_ns - sent.time_ns
    if arrived.time_ns - max(sent.time_ns, stall.begin_ns) < _MOST_LATE * stall.length_ns:
        return ""
    again = "sent again" if sent.event == "rexmit" else "sent"
    words = f"it took {number(took_ns / 1e9)} s to arrive"
    queue = _queue_words(history, sent.time_ns, arrived.time_ns)
    if not queue:
        return ""
    words += queue
    return f"segment {stall.waited} was {again} at {when(sent.time_ns)}, and {words}"


def _queue_words(history: History, sent_ns: int, arrived_ns: int) -> str:
    """Return how long the queue of the link in use was when something was sent that arrived at
    another instant; "" if that is not known, or if it was short beside that time.
    """
    from midflight._core import Setup

    setup, took_ns = history.setup, arrived_ns - sent_ns
    if not isinstance(setup, Setup):
        return ""
    every_ns = max(took_ns // 16, 1_000)
    samples = setup.samples(every_ns=every_ns, from_ns=sent_ns, until_ns=arrived_ns)
    path = PathSamples(setup, is_up=history.described["direction"] == "up", samples=samples)
    waits = [float(one) for one in path.wait_ns if one >= _MOST_LATE * took_ns]
    links = " and ".join(map(link_text, path.links(sent_ns, arrived_ns)))
    return f", through a queue of {to_ms(waits[0])} at {links}" if waits and links else ""


def why_long(history: History, since_ns: int, wait_ns: int, known: Sequence[str]) -> str:
    """Return why a timer was long, if a pause, which may be `known`, made it so; else ""."""
    found = long_sample(history, since_ns, wait_ns)
    if found is None:
        return ""
    sample, pause = found
    after = "that" if pause.words in known else pause.words
    said = f"an RTT sample of {number(sample.value)} s, taken after {after}"
    return f", which was long because of {said}"


class Waiting(NamedTuple):
    """Since when a sender sends nothing while its retransmission timer runs, since when that has
    its RTO, the RTO, and a sentence on it.
    """

    since_ns: int
    set_ns: int
    rto_ns: int
    text: str


def still_waiting(history: History, stall: Stall) -> Waiting | None:
    """Return since when nothing was sent up to the end of a run that ended during a stall; None if
    the stall ended, if the ACKs of what was sent last are not late, or if the RTO does not explain
    it.
    """
    then = history.sender(stall.end_ns)
    if stall.is_ended or not then or not then["flight_size"]:
        return None
    end = history.at(stall.end_ns)
    last = next((row for row in history.backward(end) if row.event in SENT), None)
    set_at = next((row for row in history.backward(end) if row.event == "rto_value"), last)
    rto_ns = then["rto_ns"]
    if last is None or set_at is None or last.time_ns + rto_ns <= stall.end_ns:
        return None
    if stall.end_ns - last.time_ns <= (then["srtt_ns"] or 0):
        return None
    rto = f"an RTO of {number(rto_ns / 1e9)} s"
    text = f"the sender still waited for its retransmission timer, with {rto}"
    return Waiting(last.time_ns, set_at.time_ns, rto_ns, text)
