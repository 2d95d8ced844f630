"""The chain of causes of an event, one sentence for each step.

>>> import midflight
>>> from midflight.explain import explain
>>> from midflight.scenario import Scenario
>>> plan = Scenario.read("wifi-to-lte").plan(sets={"flows.download.scheme": "enhanced"})
>>> explained = explain(plan, at_ns=midflight.parse_duration("0.8 s"))
>>> explained.steps[-1].text
'the handoff from `wifi` to `lte` began; there was no link until 0.8 s'
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from midflight.explain.afterwards import limit_after, since_when
from midflight.explain.applications import APPLICATION, Waiting, slow_objects, waiting_for
from midflight.explain.arrivals import RunEvents
from midflight.explain.events import (
    Copy,
    History,
    LinkOutage,
    Row,
    Stall,
    Step,
    setup_of,
    widening,
)
from midflight.explain.playback import playback_stalls
from midflight.explain.requests import lost_request, requests_of
from midflight.explain.sender_waits import wait_at
from midflight.explain.silences import first_loss
from midflight.explain.steps import MOST_COPIES, RESENDS, Sentence, Steps, Where
from midflight.explain.waits import full_window, in_short, pauses, still_waiting
from midflight.explain.words import clock, link_text, number, outage_text, row_text, when

if TYPE_CHECKING:
    from midflight._core import Plan, Setup

__all__ = [
    "CHOICES",
    "STALL",
    "Explanation",
    "Step",
    "chain",
    "choose",
    "explain",
    "explain_stall",
    "with_outages",
]

#: Steps of a chain at most, and of that to the end of a stall: those listed, and those followed to
#: find what the sender waited for.
MOST_STEPS = 12
STALL_STEPS = 6
#: Steps of a chain of events of which none is notable, beside what limited the flow then.
ROUTINE_STEPS = 4
MOST_FOLLOWED = 500
#: Outages of a recording that are named one by one.
MOST_OUTAGES = 3
#: This name is not an event: it selects the longest time without progress.
STALL = "stall"
#: Without --what the event is searched for in this time before the requested instant.
LOOK_BACK_NS = 100_000_000
NEIGHBOURS = 6

#: Why an event was chosen that is none of the following.
NOTHING_NEAR = "the last event before it"
#: Turning points, the most significant first: one of these is chosen before anything else.
TURNS = (
    "stalled",
    "closed",
    "persistent_congestion",
    "path_failed",
    "migrated",
    "path_used",
    "amplification_limit",
    "path_validated",
    "rto",
    "fast_retransmit",
    "jump",
    "ssthresh",
    "spurious",
    "order",
    "min_rto",
    "recovery_exit",
    "window_probe",
    "judge",
    "reordered",
    "drop",
    "mark",
    "node_send",
    "notice",
    "signal",
    "break",
    "make",
)
#: Then these, and then everything else.
SECOND = ("rexmit", "backoff", "state", "late_frame")
#: Other names for events.
ALIASES = {
    "timeout": "rto",
    "retransmission": "rexmit",
    "loss": "drop",
    "pto": "rto",
    "arrival": "rcv",
    "rtt": "rtt_sample",
}
#: Events that `what` may be.
CHOICES = (
    "cwnd",
    "ssthresh",
    "rto",
    "rto_value",
    "min_rto",
    "backoff",
    "rtt_sample",
    "srtt",
    "pacing_rate",
    "delivery_rate",
    "mode",
    "dupacks",
    "send",
    "rexmit",
    "window_probe",
    "ack",
    "ack_sent",
    "rcv",
    "drop",
    "mark",
    "node_send",
    "fast_retransmit",
    "recovery_exit",
    "spurious",
    "suspect",
    "judge",
    "reordered",
    "state",
    "order",
    "notice",
    "signal",
    "break",
    "make",
    "wake",
    "ld_rtt",
    "ld_threshold",
    "ld_min",
    "established",
    "migrates",
    "migrated",
    "path_opened",
    "path_found",
    "path_used",
    "path_closed",
    "path_challenge",
    "path_validated",
    "path_failed",
    "amplification_limit",
    "lost",
    "needless",
    "persistent_congestion",
    "closed",
    *APPLICATION,
)


@dataclass(frozen=True)
class Explanation:
    """An event, why it was chosen, its causes, and the events around it."""

    chosen: Row
    why_chosen: str
    steps: Sequence[Step]
    before: Sequence[Row]
    after: Sequence[Row]
    digest: str
    #: When the run was over, if that is known.
    ended_ns: int | None = None
    #: A sentence on the instant, if nothing could pass then, or nothing relevant happened near it.
    remark: str = ""
    #: The causes of a stall in a sentence, if they are known.
    in_short: str = ""


def explain(
    source: Setup | Plan,
    *,
    at_ns: int,
    run: int = 0,
    flow: str | None = None,
    what: str | None = None,
) -> Explanation | None:
    """Explain the most significant event at or just before an instant; None if there is none.

    `source` is a setup, or a plan with the number `run` of its run from 0. `at_ns` is counted from
    the start of the run, `flow` is the name of a flow (default: the first). `what` selects the last
    event of one kind, one of `CHOICES`. Raises `MidflightError` for an unknown flow.
    """
    from midflight import _core

    find = None if what is None else ALIASES.get(what, what)
    setup = setup_of(source, run)
    scenario = json.loads(source.canonical) if isinstance(source, _core.Plan) else None

    if find == "slow_object":
        # No trace lists these: they are found among the objects of a page.
        slow = slow_objects(setup, flow if flow is not None else setup.flows[0]["name"])
        slow = [one for one in slow if one.time_ns <= at_ns]
        why = f"the last {find} at or before {clock(at_ns)}"
        return explain_object(setup, slow[-1], why, flow=flow) if slow else None

    def look(size: int) -> Explanation | None:
        history = History(setup, flow=flow, near_ns=at_ns, size=size, find=find)
        ended_ns = history.ended_ns
        if find is not None and history.found is not None:
            index, time_ns = history.found
            if index < history.first + len(history) // 4 and history.first > 0:
                # It is long before that instant.
                history = History(
                    setup, flow=flow, near_ns=time_ns, size=size, digest=history.digest
                )
            found = history.row(index), f"the last {find} at or before {clock(at_ns)}"
        elif find is not None:
            return None
        else:
            chosen = choose(history, at_ns)
            if chosen is None:
                return None
            found = chosen
        row, why = found
        if row.event in APPLICATION:
            return replace(explained_wait(history, row, why), ended_ns=ended_ns)
        steps = chain(history, row.index)
        if find is None and row.time_ns == history.opened_ns:
            steps = [opening(history, row.time_ns), *steps]
        now = [one for one in history.outages_within(at_ns, at_ns) if row.time_ns >= one[0]]
        steps = with_outages(steps, now)
        if find is not None:
            return replace(explained(history, row, why, steps), ended_ns=ended_ns)
        over_ns = ended_ns if ended_ns is not None else setup.end_ns
        is_simulated = isinstance(setup, _core.Setup)
        waits = wait_at(history, at_ns, over_ns) if is_simulated else None
        if waits is not None:
            texts = {(step.time_ns, step.text) for step in steps}
            about = {step.row for step in steps} - {None}
            new = (one for one in waits.steps if one[:2] not in texts and one[2] not in about)
            steps = sorted([*steps, *(Step(*one) for one in new)], key=lambda step: -step.time_ns)
        remark = ""
        if why == NOTHING_NEAR and row.time_ns == history.opened_ns:
            why = f"the last event at or before {clock(at_ns)}"
        elif why == NOTHING_NEAR and (waits is None or not waits.is_all):
            remark = f"Nothing notable happened just before {when(at_ns)}."
            if said := limit_near(setup, history.flow, at_ns, ended_ns, scenario):
                # Each of the routine steps before it tells less than that.
                remark = f"{said} Nothing else notable happened just before {when(at_ns)}."
                steps = steps[:ROUTINE_STEPS]
        # If nothing can pass, what the sender does has that reason.
        probing = next((one for one in history.probes_of_rtt if one.holds(at_ns)), None)
        if probing is not None:
            # What limits the flow at other times is no answer.
            remark = f"At {when(at_ns)} {probing.words}."
        remarks = (waits.text if waits is not None else "", closed_path(history, at_ns), remark)
        return replace(
            explained(history, row, why, steps),
            ended_ns=ended_ns,
            remark=" ".join(filter(None, remarks)),
        )

    return widening(look)


def explain_object(
    setup: Setup, row: Row, why: str = "", *, flow: str | None = None
) -> Explanation:
    """Explain why an object of a page, one of `slow_objects`, was slow."""

    def look(size: int) -> Explanation:
        history = History(setup, flow=flow, near_ns=row.time_ns, size=size)
        return replace(explained_wait(history, row, why), ended_ns=history.ended_ns)

    return widening(look)


def explained_wait(history: History, row: Row, why: str) -> Explanation:
    """Return an event of an application with what it waited for."""
    waiting = waiting_for(history.setup, history.flow, row, chain)
    found = explained(history, row, why, waiting_steps(history, row, waiting))
    return replace(found, in_short=shortly(waiting_words(history, row, waiting)))


def shortly(*words: str) -> str:
    """Return words on causes as the sentence of an explanation; "" if there are none."""
    said = "; ".join(filter(None, words))
    return f"In short: {said}." if said else ""


def closed_path(history: History, at_ns: int) -> str:
    """Return that nothing can pass at an instant, as there is no link, or the recording of the link
    in use has no rate; "" if something can.
    """
    for outage in history.outages_within(at_ns, at_ns):
        return f"At {when(at_ns)} {outage_text(outage)}."
    open_at = (one for one in pauses(history, at_ns, at_ns) if at_ns < one.end_ns)
    return next((f"At {when(at_ns)} {one.words}." for one in open_at), "")


def limit_near(
    setup: Setup,
    flow: str,
    at_ns: int,
    ended_ns: int | None,
    scenario: Mapping[str, Any] | None = None,
) -> str:
    """Return what limited a flow on the link that it is on at an instant; "" if that is not known,
    or of a run of a kernel.
    """
    from midflight import _core
    from midflight.explain.limits import Flowing, has_own_links, limit_at, long_uses
    from midflight.explain.path import PathSamples

    longest = setup.stall(flow=flow) if isinstance(setup, _core.Setup) else None
    if longest is None:
        return ""
    run = RunEvents(setup)
    path = PathSamples(setup, is_up=run.flows[flow]["direction"] == "up")
    ended = path.end_ns if ended_ns is None else ended_ns
    # What other traffic the links of a setup have is not known.
    is_alone = scenario is not None and has_own_links(scenario, run)
    still = longest["from_ns"], longest["until_ns"]
    for words, span in long_uses(path, (0, ended), least=0.0):
        if span[0] <= at_ns <= span[1]:
            said = limit_at(Flowing(run, flow, path, still, is_alone), span, at_ns)
            if said is not None:
                # The finding comes first, and its details are for reports.
                first, on = said.finding, said.when_on(words)
                return f"{first[0].upper()}{first[1:]} ({on})."
    return ""


def waiting_words(history: History, row: Row, waiting: Waiting) -> str:
    """Return in words why an application waited; "" if that is not known."""
    setup, flow = history.setup, history.flow
    if row.event == "stalled":
        stalls = playback_stalls(setup, flow)
        return next((one.why for one in stalls if one.begin_ns == row.time_ns), "")
    request = lost_request(setup, waiting.of, *waiting.span)
    run, since_ns = RunEvents(setup), waiting.span[0]
    begin_ns = since_when(run, waiting.of, (since_ns, row.time_ns), waiting.gap)
    before = ""
    if begin_ns > since_ns:
        # What came first: losses before the silence, from which it had not recovered.
        before = limit_after(run, waiting.of, since_ns, since_ns, waiting.gap[0])
        before = before.partition("; ")[0] if "recovery of losses" in before else ""
    after = limit_after(run, waiting.of, since_ns, begin_ns, row.time_ns)
    return "; ".join(filter(None, (before, waiting.silent, waiting.usual, request, after)))


def waiting_steps(history: History, row: Row, waiting: Waiting) -> list[Step]:
    """Return the data that an application waited for, and why it was late, newest first."""
    steps = [Step(at_ns, text, None) for at_ns, text in waiting.sentences]
    if steps:
        since_ns = min(step.time_ns for step in steps)
        paused = [
            Step(pause.begin_ns, pause.text, None)
            for pause in pauses(history, since_ns, row.time_ns)
        ]
        steps += paused[-MOST_OUTAGES:]
    is_own = waiting.flow == history.flow
    # The rows of another flow are not those of this one.
    steps += [
        step if is_own else replace(step, text=f"`{waiting.flow}`: {step.text}", row=None)
        for step in waiting.causes
    ]
    # A chain may name the same handoff or outage.
    known = {(step.time_ns, step.text): step for step in steps}
    return sorted(known.values(), key=lambda step: -step.time_ns)


def opening(history: History, at_ns: int) -> Step:
    """Return the sender's state after its opening, which few events show."""
    then = history.sender(at_ns + 1)
    if not then:
        return Step(at_ns, "the handshake was complete, and the first data went", None)
    text = (
        f"the sender has opened: state {then['state']}, cwnd {number(then['cwnd'])}, "
        f"ssthresh {then['ssthresh']:.12g}, RTO {number(then['rto_ns'] / 1e9)} s, "
        f"{then['flight_size']} segment in flight"
    )
    return Step(at_ns, text, None)


def explain_stall(
    source: Setup | Plan, *, run: int = 0, flow: str | None = None
) -> Explanation | None:
    """Explain the longest time without an ACK of new data; None if nothing was sent."""
    setup = setup_of(source, run)
    longest = setup.stall(flow=flow)
    of = flow if flow is not None else setup.flows[0]["name"]
    asks = requests_of(setup, of)
    of_requests = setup.stall(flow=asks) if asks else None
    remark = ""
    if of_requests is not None and (longest is None or _length(of_requests) > _length(longest)):
        own = 0 if longest is None else _length(longest)
        remark = (
            f"The requests of {link_text(of)}, which are the flow {link_text(asks)}, were without "
            f"progress for longer than its data: {number(_length(of_requests) / 1e9)} s and "
            f"{number(own / 1e9)} s."
        )
        if flow is None:
            # What the application waited for is what the question is about.
            longest, flow = of_requests, asks
            remark += f" This is about the requests; --flow {of} is about the data."
        else:
            remark += f" This is about the data; --flow {asks} is about the requests."
    if longest is None:
        return None
    begin_ns, end_ns, digest = longest["from_ns"], longest["until_ns"], longest["digest"]

    def look(size: int) -> Explanation:
        history = History(setup, flow=flow, near_ns=end_ns, size=size, digest=digest)
        stall = history.stall(begin_ns, end_ns)
        why = (
            f"the longest time without progress: {number(stall.length_ns / 1e9)} s from "
            f"{clock(stall.begin_ns)} to {clock(stall.end_ns)}"
        )
        found = explained(history, history.row(stall.row), why, stall_steps(history, stall))
        said = in_short(history, stall, first_loss(history, stall))
        request = lost_request(setup, of, 0, end_ns, whose="the") if asks and flow == asks else ""
        return replace(found, in_short=shortly(said, request), remark=remark)

    return widening(look)


def _length(stall: Mapping[str, Any]) -> int:
    """How long a stall of a run lasts."""
    return int(stall["until_ns"] - stall["from_ns"])


def explained(history: History, row: Row, why: str, steps: Sequence[Step]) -> Explanation:
    """Return an event with its causes and the events around it."""
    before = history.slice(row.index - NEIGHBOURS, row.index)
    after = history.slice(row.index + 1, row.index + 1 + NEIGHBOURS)
    return Explanation(row, why, steps, before, after, history.digest)


def stall_steps(history: History, stall: Stall) -> list[Step]:
    """Return the end of a stall, the events in it, and the segment that the sender waited for,
    newest first.
    """
    waited = f"segment {stall.waited}"
    ended_by = history.row(stall.row).event
    if stall.is_ended and ended_by not in ("ack", "rcv"):
        text = "progress again: a message in the other direction was read or written"
        steps = [Step(stall.end_ns, text, None)]
    elif stall.is_ended:
        led, *others = causes_of_end(history, stall)
        text = f"progress again: {led.text}"
        if ended_by == "rcv":
            text += "; the application then had all that had been sent to it"
        steps = [Step(led.time_ns, text, led.row), *others]
    else:
        steps = [Step(stall.end_ns, f"the run ended, and {waited} was still waited for", None)]
    texts = Steps(history)
    sentences: list[Sentence] = []
    for copy in waited_copies(history, stall):
        sentences += texts.fate_of(copy, stall.end_ns, "the progress")
    for row in history.slice(history.at(stall.begin_ns), history.at(stall.end_ns)):
        if row.event == "rto":
            sentences.append((row.time_ns, texts.timeout_text(row), row.index))
    since = f"nothing new was acknowledged from then on: {waited} was waited for"
    sentences.append((stall.begin_ns, since, None))
    if full := full_window(history, stall):
        sentences.append((*full, None))
    if waiting := still_waiting(history, stall):
        text = f"nothing was sent from then on until the run ended: {waiting.text}"
        sentences.append((waiting.since_ns, text, None))
    steps = with_outages(steps, history.outages_within(stall.begin_ns, stall.end_ns))
    known = {(step.time_ns, step.text.removeprefix("because ")) for step in steps}
    steps += [Step(*one) for one in dict.fromkeys(sentences) if one[:2] not in known]
    return sorted(steps, key=lambda step: -step.time_ns)


def causes_of_end(history: History, stall: Stall) -> list[Step]:
    """Return the causes of the end of a stall: the latest ones, every timer, and both ends of the
    longest time between two of them.

    Whatever the sender waited for is at the later end: a timer, its pace or a late packet.
    """
    found = chain(history, stall.row, MOST_FOLLOWED, since_ns=stall.begin_ns)
    instants = [max(step.time_ns, stall.begin_ns) for step in found]
    waits = [after - before for after, before in itertools.pairwise(instants)]
    longest = waits.index(max(waits)) if waits else 0
    kept = {*range(STALL_STEPS), longest, longest + 1}
    kept |= {
        place
        for place, step in enumerate(found)
        if step.row is not None and history.row(step.row).event in ("wake", "rtt_sample")
    }
    return [step for place, step in enumerate(found) if place in kept]


def with_outages(steps: list[Step], outages: Sequence[LinkOutage]) -> list[Step]:
    """Return steps with outages of a recording: the longest few, and the number of the others."""
    longest = sorted(outages, key=lambda one: one[0] - one[1])[:MOST_OUTAGES]
    found = {step.text for step in steps}
    for outage in longest:
        text = outage_text(outage)
        if text in found:
            continue
        more = len(outages) - len(longest)
        if more and outage is longest[0]:
            text += f"; {more} shorter outages" if more > 1 else "; a shorter outage"
            text += " are not listed" if more > 1 else " is not listed"
        steps = [*steps, Step(outage[0], text, None)]
    return sorted(steps, key=lambda step: -step.time_ns)


def waited_copies(history: History, stall: Stall) -> list[Copy]:
    """Return the first and the last transmissions of the segment that the sender waited for, and
    those after the timeouts in the stall, all of which are steps.
    """
    copies = history.copies(stall.waited, stall.end_ns)
    if stall.is_ended:
        # The transmission that ended the stall is already in the chain.
        end = history.row(stall.row)
        ended_by = end.number if end.event == "rcv" else end.segment, end.sent_ns
        copies = [copy for copy in copies if (copy.seq, copy.sent.time_ns) != ended_by]
    within = history.slice(history.at(stall.begin_ns), history.at(stall.end_ns))
    timeouts_ns = {row.time_ns for row in within if row.event == "rto"}
    last = len(copies) - (MOST_COPIES - 1)
    return [
        copy
        for place, copy in enumerate(copies)
        if place == 0 or place >= last or copy.sent.time_ns in timeouts_ns
    ]


def choose(history: History, at_ns: int) -> tuple[Row, str] | None:
    """Return the event to explain, and the reason for the choice; None if there is no event up to
    then.
    """
    end = history.at(at_ns)
    last = next(history.backward(end), None)
    if last is None:
        return None
    since = min(at_ns - LOOK_BACK_NS, last.time_ns)
    near: list[Row] = []
    for row in history.backward(end):
        if row.time_ns < since:
            break
        near.append(row)
    near.reverse()
    for names, words in ((TURNS, "turning point"), (SECOND, "change")):
        found = [row for row in near if rank(history, row, names) is not None]
        if found:
            last_ns = found[-1].time_ns
            together = [row for row in found if row.time_ns == last_ns]
            best = min(together, key=lambda row: significance(history, row, names))
            others = len(together) - 1
            why = f"the last {words} in the 0.1 s up to {clock(at_ns)}"
            if last_ns < at_ns - LOOK_BACK_NS:
                why = f"the last {words}, after which nothing happened until {clock(at_ns)}"
            if others:
                why += f", and of the {others + 1} at that instant the most significant"
            return best, why
    return near[-1], NOTHING_NEAR


def rank(history: History, row: Row, names: Sequence[str]) -> int | None:
    """Return the place of an event among names, the most significant first; None without one."""
    event = row.event
    if event == "cwnd":
        before = history.sender_before(row.index).cwnd
        # What an ACK adds is no turn.
        if before is None or before <= row.value <= before + 2:
            return None
        event = "jump"
    if event == "ssthresh" and history.sender_before(row.index).ssthresh is None:
        return None
    # The initial values of a sender are no changes.
    if event in ("backoff", "state") and row.time_ns == history.opened_ns:
        return None
    return names.index(event) if event in names else None


def significance(history: History, row: Row, names: Sequence[str]) -> tuple[int, bool]:
    """Return what the most significant of several events has least of: its place among names, and
    of orders at one instant those that send segments again, which ends a wait, are first.
    """
    return rank(history, row, names) or 0, row.order not in RESENDS


def chain(
    history: History, index: int, most: int = MOST_STEPS, *, since_ns: int | None = None
) -> list[Step]:
    """Return the causes of an event, beginning with the event itself, up to an external event.

    The order is newest first: the fate of a packet is listed before the next cause if it is later.
    With `since_ns` it is the chain of what the sender waited for since then: a duplicate ACK leads
    to the segment that caused it, and a paced segment to the one before.
    """
    steps = Steps(history, since_ns=since_ns)
    where: Where | None = ("row", index)
    found: list[Step] = []
    said: set[tuple[int, str]] = set()
    seen: set[Where] = set()
    while where is not None and where not in seen and len(found) < most:
        seen.add(where)
        is_before = since_ns is not None and history.row(where[1]).time_ns < since_ns
        if is_before and len(found) >= STALL_STEPS:
            break
        sentences, where = steps.of(where, first=not found)
        for time_ns, text, row in sentences:
            if (time_ns, text) not in said:
                found.append(Step(time_ns, text, row))
            said.add((time_ns, text))
    return sorted(found[:most], key=lambda step: -step.time_ns)


def neighbour_lines(rows: Sequence[Row]) -> list[str]:
    """Return a line for each event."""
    return [f"{clock(row.time_ns):>12}  {row_text(row)}" for row in rows]
