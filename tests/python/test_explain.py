"""Explanations and comparisons agree with the trace, for every scheme."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Literal

import pytest

import midflight
from midflight import Flow, Handoff, Link, MidflightError, Plan, Scenario
from midflight.cli import main
from midflight.explain import CHOICES, Step, chain, explain, neighbour_lines
from midflight.explain.divergence import compare
from midflight.explain.events import SENT, History, Row
from midflight.explain.steps import Steps
from midflight.scenario import starter_names

SCHEMES = [one["name"] for one in midflight.schemes()]
MOVE = (Path(__file__).parents[1] / "data" / "move.toml").read_text(encoding="utf-8")
GAP = {"handoffs.0.gap": "2 s"}


@pytest.fixture
def move(tmp_path: Path) -> str:
    file = tmp_path / "move.toml"
    file.write_text(MOVE)
    return str(file)


def plan(scheme: str = "enhanced", **sets: str) -> Plan:
    values = {"flows.download.scheme": scheme, **GAP}
    values.update({key.replace("__", "."): value for key, value in sets.items()})
    return Plan(MOVE, sets=list(values.items()))


def lines(steps: Any) -> list[tuple[str, str]]:
    return [(f"{step.time_ns / 1e9:.6f}", step.text) for step in steps]


# ---- facts of the trace ----------------------------------------------------


def check_facts(history: History) -> None:
    """Compare the cause of each event with the other events."""
    sent = {(row.number, row.time_ns) for row in history.rows if row.event in SENT}
    sent |= {(row.number, row.time_ns) for row in history.rows if row.event == "window_probe"}
    # Two copies may have left at one instant.
    arrived = defaultdict(list)
    for row in history.rows:
        if row.event == "rcv":
            arrived[row.number, row.sent_ns].append(row.time_ns)
    left = Counter(
        (row.value, row.time_ns, row.segment, row.sent_ns)
        for row in history.rows
        if row.event == "ack_sent"
    )
    for row in history.rows:
        if row.event == "rcv" or (row.event == "drop" and row.detail.startswith("data")):
            assert (row.number, row.sent_ns) in sent, row
            assert row.sent_ns is not None
            assert row.sent_ns <= row.time_ns
        elif row.event == "drop" and row.since_ns is None:
            # One of the sender's own ACKs, which answers no segment.
            assert row.place is not None
            assert not row.place[0].startswith("mobile-")
            assert any(one.event == "empty_ack" for one in history.rows[: row.index])
        elif row.event in ("ack", "ack_sent", "drop"):
            assert row.since_ns is not None
            assert row.since_ns <= row.time_ns
            assert row.segment is not None
            # The segment had arrived when the ACK left.
            assert arrived[row.segment, row.sent_ns][0] <= row.since_ns, row
            if row.event != "ack_sent":
                key = (row.value, row.since_ns, row.segment, row.sent_ns)
                left[key] -= 1
                assert left[key] >= 0, row
            elif row.detail == "":
                assert row.time_ns in arrived[row.segment, row.sent_ns]
        elif row.event == "wake":
            assert row.since_ns is not None
            assert row.since_ns + round(row.value * 1e9) == row.time_ns
        elif row.event == "rto":
            head = history.head(row.index)
            assert head is not None
            assert history.rows[head].detail == "retransmission"


def check_standings(history: History, some: int) -> None:
    """Compare the state of the sender that follows from the events with the sender itself."""
    for row in history.rows[:: max(1, len(history) // some)]:
        if row.index and history.row(row.index - 1).time_ns == row.time_ns:
            continue
        is_, says = history.sender_before(row.index), history.sender(row.time_ns)
        assert is_.duplicates == says["dupacks"]
        assert (is_.una, is_.max) == (says["snd_una"], says["snd_max"])
        assert (is_.cwnd, is_.ssthresh) in ((says["cwnd"], says["ssthresh"]), (None, None))
        assert (is_.recovery is not None) == says["in_fast_recovery"]


def check_chain(history: History, row: Row, steps: list[Step]) -> None:
    """Every step describes an event at its instant or one in its text, and causes are earlier."""
    assert 1 <= len(steps) <= 12
    assert steps[0].time_ns == row.time_ns
    times = [step.time_ns for step in steps]
    assert times == sorted(times, reverse=True), lines(steps)
    for step in steps:
        assert step.text
        assert "None" not in step.text
        if step.row is not None:
            of = history.rows[step.row]
            late = of.event in ("rcv", "drop") and of.sent_ns == step.time_ns
            assert of.time_ns == step.time_ns or late, (step, of)


def cut(name: str) -> Scenario:
    """Return a starter with the first thing that happens in it, at 0.3 s, and 0.7 s after it.

    All flows are open by then.
    """
    full = Scenario.read(name)
    starts = [(midflight.parse_instants(one.at)[0], one) for one in (*full.handoffs, *full.changes)]
    # A path over time has no other events.
    _, event = min(starts, key=lambda start: start[0], default=(0, None))
    gap = getattr(event, "gap", None) or getattr(event, "pause", None) or "0 s"
    early = None if event is None else dataclasses.replace(event, at="0.3 s")
    return dataclasses.replace(
        full,
        runs=1,
        end=f"{1_000_000_000 + midflight.parse_duration(gap)} ns",
        flows={
            flow: dataclasses.replace(one, start="0 s", stagger="1 ms")
            for flow, one in full.flows.items()
        },
        handoffs=[early for one in full.handoffs if one is event],
        changes=[early for one in full.changes if one is event],
        sweep=None,
    )


@pytest.mark.parametrize("profile", ["linux", "rfc"])
@pytest.mark.parametrize("name", starter_names())
def test_every_scheme_of_every_starter_can_be_explained_and_compared(
    name: str, profile: Literal["linux", "rfc"]
) -> None:
    scenario = dataclasses.replace(cut(name), profile=profile)
    flow = next(iter(scenario.flows))
    base = scenario.plan()
    tried, explained = 0, 0
    turn = starter_names().index(name)
    for number, scheme in enumerate(SCHEMES):
        # Every scheme is in a quarter of the starters, and in other ones with each profile.
        if (number + turn + (profile == "rfc")) % 4 != 0:
            continue
        tried += 1
        try:
            other = scenario.plan(sets={f"flows.{flow}.scheme": scheme})
        except MidflightError:
            # Not every profile works with every scheme.
            continue
        first = other.flows[0]["name"]
        history = History(other, flow=first)
        assert history.digest == other.setup().trace(flow=first).digest
        check_facts(history)
        # The last of each kind of event, and some more.
        last = {row.event: row for row in history.rows}
        some = history.rows[number % 7 :: max(1, len(history) // 20)]
        for row in [*last.values(), *some]:
            check_chain(history, row, chain(history, row.index))
        explained += 1
        # Each comparison is two more runs: of every third scheme.
        found = compare(base, other, flow=first) if number % 3 == 0 else None
        if found is not None and found.divergence is not None:
            sides = found.divergence.sides
            assert sides[0].event is None or sides[0].event.time_ns >= found.divergence.time_ns
            assert sides[0].event != sides[1].event
    assert explained > tried // 2


MANY = """
end = "6 s"
[links]
wifi = {preset = "wifi", loss = "uniform 0.5%"}
lte = {preset = "lte", reorder = "linkrtx 5% 100ms"}
[flows]
down = {scheme = "enhanced", count = 2, stagger = "50 ms"}
up = {scheme = "dcr-frto-ld", direction = "up", start_notice = true}
neighbour = {scheme = "sack", on = "lte"}
[[handoffs]]
at = "1 s"
to = "lte"
notice = {delay = "100 ms"}
[[handoffs]]
at = "3 s"
to = "wifi"
gap = "300 ms"
[[handoffs]]
at = "5 s"
to = "wifi"
gap = "200 ms"
[[changes]]
at = "2 s"
link = "lte"
rate = "3 Mbit/s"
pause = "100 ms"
"""


@pytest.mark.parametrize("profile", ["rfc", "ns2"])
@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack1", "sack"])
def test_flows_of_every_kind_can_be_explained(profile: str, recovery: str) -> None:
    values = {"profile": profile, "set.recovery": recovery}
    if recovery == "tahoe":
        # It works with no loss classifier.
        values["flows.up.scheme"] = "enhanced"
    one = Plan(MANY, sets=list(values.items()))
    for flow in one.flows:
        history = History(one, flow=flow["name"])
        check_facts(history)
        check_standings(history, 20)
        last = {row.event: row for row in history.rows}
        some = history.rows[:: max(1, len(history) // 40)]
        for row in [*last.values(), *some]:
            check_chain(history, row, chain(history, row.index))
    texts = {
        step.text
        for row in history.rows
        if row.event in ("make", "break")
        for step in chain(history, row.index)
    }
    assert "`wifi` was in use from then on" in texts
    assert "the mobile node lost `wifi`, which was back at 5.2 s" in texts
    assert "`lte` stood still from then on until 2.1 s" in texts


# ---- known moments ---------------------------------------------------------


def test_an_order_is_reported_with_its_author_its_notice_and_its_handoff() -> None:
    found = explain(plan(), at_ns=2_310_000_000, what="rexmit")
    assert found is not None
    assert lines(found.steps) == [
        (
            "2.300000",
            "segment 452 was sent again: a3 ordered to retransmit the first unacknowledged "
            "segment, because in RTO recovery and the link is back",
        ),
        ("2.300000", "because at that instant a notice of the handoff at 0.3 s came"),
        ("0.300000", "the handoff from `wifi` to `lte` began; there was no link until 2.3 s"),
    ]
    wrong = plan(**{"handoffs__0__notice__says_delay": "200 ms"})
    found = explain(wrong, at_ns=2_310_000_000)
    assert found is not None
    # Of several orders at that instant the one that ended the wait is explained.
    assert found.steps[0].text.startswith("a3 ordered to retransmit the first unacknowledged")
    assert any("from 2 ms to 200 ms" in line for line in neighbour_lines(found.before))
    assert found.steps[1].text.endswith("; it said other numbers than `lte` has")


def test_a_timeout_is_reported_with_its_timer_and_what_became_of_the_segment() -> None:
    found = explain(plan(), at_ns=2_000_000_000, what="timeout")
    assert found is not None
    texts = [text for _, text in lines(found.steps)]
    assert texts[0].startswith("the retransmission timer expired for segment 452 (needed")
    assert (
        "but ACK 452, sent over `wifi` at 0.497621 s, was lost at `wifi`, which was down"
        in texts[1]
    )
    assert texts[2].startswith("the timer was set for 1 s, the RTO, when ACK 451 arrived")
    assert texts[3].startswith("the handoff from `wifi` to `lte` began")
    # The same from the events themselves.
    history = History(plan())
    (timeout,) = (row for row in history.rows if row.event == "rto")
    drop = next(
        r for r in history.rows if r.event == "drop" and r.detail == "ack mobile-wifi break"
    )
    assert (drop.number, timeout.number) == (452, 452)
    armed = [r for r in history.rows if r.event == "ack" and r.time_ns < timeout.time_ns][-1]
    assert (armed.number, armed.time_ns + 10**9) == (451, timeout.time_ns)


FAR = {
    "handoffs.0.gap": "none",
    "handoffs.0.at": "0.1 s",
    "links.lte.delay": "700 ms",
    "links.lte.rate": "50 Mbit/s",
}


def test_a_spurious_timeout_of_a_handoff_without_a_gap_names_it() -> None:
    far = Plan(MOVE, sets=list(FAR.items()))
    found = explain(far, at_ns=3_000_000_000, what="rto")
    assert found is not None
    assert found.chosen.detail == "spurious"
    late = found.steps[1].text
    assert "had arrived over `lte`" in late
    assert ", sent over `lte` at " in late
    assert "the handoff from `wifi` to `lte`, without a gap" in late
    told_of = [step.text for step in found.steps]
    assert sum("the handoff from `wifi` to `lte`" in text for text in told_of) == 1
    # A timeout soon after a handoff also names the handoff if its segment was sent after it.
    after = Plan(MOVE, sets=list({**FAR, "links.lte.delay": "1.3 s"}.items()))
    history = History(after)
    wakes = [row.index for row in history.rows if row.event == "wake"]
    sent = [row for row in history.rows if row.event == "send" and row.time_ns > 100_000_000]
    steps = Steps(history)
    (told_since,) = steps.unanswered_handoff(sent[0].number, history.rows[wakes[0]])
    assert told_since[0] == 100_000_000
    assert told_since[1].endswith("nothing sent since then had been answered")


def test_a_handoff_is_reported_once() -> None:
    gap = Plan(MOVE, sets=[("handoffs.0.gap", "8 s")])
    found = explain(gap, at_ns=20_000_000_000, what="rto")
    assert found is not None
    texts = [(step.time_ns, step.text) for step in found.steps]
    assert sum("the handoff from `wifi` to `lte` began" in text for _, text in texts) == 1
    assert len(set(texts)) == len(texts)


def test_an_rto_is_reported_with_what_made_it() -> None:
    far = Plan(MOVE, sets=list(FAR.items()))
    history = History(far)
    steps = Steps(history)
    told_of = [(row, steps.what(row)) for row in history.rows if row.event == "rto_value"]
    first = next(row for row in history.rows if row.event == "srtt")
    assert steps.what(first).startswith("the smoothed RTT became 0.02")
    assert ": the first sample, 0.02" in steps.what(first)
    backed_off = next(text for _, text in told_of if "back-off 1 -> 2" in text)
    assert backed_off == "the RTO became 2 s: minimum RTO 1 s, back-off 1 -> 2"
    counted = [text for _, text in told_of if " counted 1/" in text]
    assert counted
    for row, text in told_of:
        found = re.search(
            r"a sample of (\S+) s counted 1/(\d+) \((\d+) samples a window, RFC 7323 appendix G\), "
            r"smoothed RTT (\S+) s -> (\S+) s, deviation (\S+) s -> (\S+) s",
            text,
        )
        if found is None:
            continue
        sample, share, window, was, now, old, new = map(float, found.groups())
        assert share == 8 * window
        assert now == pytest.approx(was + (sample - was) / share, rel=1e-4)
        assert new == pytest.approx(old + (abs(sample - was) - old) / (4 * window), rel=1e-4)
        assert row.value == pytest.approx(max(now + 4 * new, 1), rel=1e-4)


def test_late_segments_and_losses_are_distinguished() -> None:
    late = plan(
        "dcr-frto-ld",
        links__lte__reorder="linkrtx 10% 100ms",
        links__lte__loss="uniform 1%",
        handoffs__0__gap="500 ms",
    )
    history = History(late)
    kinds = Counter()
    for row in history.rows:
        if row.event != "judge":
            continue
        steps = chain(history, row.index)
        assert "duplicate" in steps[1].text
        fate = next(s for s in steps if s.text.startswith(f"segment {row.number}, "))
        copies = history.copies(row.number, steps[2].time_ns)
        came = copies[-1].arrived
        kinds[came is not None] += 1
        if came is None:
            assert "lost" in fate.text or "dropped" in fate.text
            assert fate.row == copies[-1].dropped.index  # type: ignore[union-attr]
        else:
            assert "was only late" in fate.text
            assert fate.row == came.index
    assert kinds[True] > 3
    assert kinds[False] > 3


def test_the_duplicates_counted_are_the_senders() -> None:
    one = plan("sack", handoffs__0__gap="500 ms")
    history = History(one)
    entry = next(row for row in history.rows if row.event == "fast_retransmit")
    before = history.sender(entry.time_ns)
    assert before["dupacks"] == history.sender_before(entry.index).duplicates == 2
    head = history.rows[history.head(entry.index) or 0]
    assert "the third duplicate" in chain(history, head.index)[0].text
    check_standings(history, 40)


def test_signals_and_closed_windows_are_reported() -> None:
    one = plan("freeze")
    found = explain(one, at_ns=2_330_000_000, what="ack")
    assert found is not None
    texts = [text for _, text in lines(found.steps)]
    assert texts[1] == "the mobile node sent ACK 177 as a signal: it was on `lte` now"
    assert texts[2].startswith("the handoff from `wifi` to `lte` began")
    history = History(one)
    opened = next(r for r in history.rows if r.event == "ack" and r.time_ns > 2_300_000_000)
    assert "which opened the window again" in chain(history, opened.index)[0].text


def test_an_ack_of_a_timer_is_no_signal() -> None:
    """Linux's delayed ACK adapts and it compresses SACKs: their timers have no fixed length."""
    values = {
        "links": {"cell": {"rate": "20 Mbit/s", "delay": "20 ms", "loss": "uniform 1%"}},
        "flows": {"download": {"size": "1 MB"}},
    }
    history = History(Scenario.from_dict(values).plan())
    kinds = Counter(row.detail for row in history.rows if row.event == "ack_sent")
    assert kinds.keys() == {"", "delayed"}
    assert kinds["delayed"] > 10


@pytest.mark.parametrize("what", CHOICES)
def test_every_kind_of_event_can_be_asked_for(what: str) -> None:
    found = explain(plan("dcr-frto-ld"), at_ns=20_000_000_000, what=what)
    assert found is None or found.chosen.event == what


@pytest.mark.parametrize("what", [None, "rto", "drop", "send"])
def test_an_explanation_does_not_depend_on_its_window(
    what: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from midflight.explain import events, explain_stall
    from midflight.explain.divergence import compare

    one, other = plan("sack"), plan("enhanced")
    at = 4_000_000_000
    whole = explain(one, at_ns=at, what=what), explain_stall(one), compare(one, other)
    monkeypatch.setattr(events, "WINDOW", 16)
    monkeypatch.setattr(events, "WIDER", 2)
    assert (explain(one, at_ns=at, what=what), explain_stall(one), compare(one, other)) == whole


def test_the_sender_is_the_same_from_any_copy_of_its_past() -> None:
    one = plan("enhanced")
    near = History(one, near_ns=4_000_000_000, size=50)
    for at in (0, 100, 2_000_000_000, 3_309_407_001, 3_999_999_999, 4_000_000_000, 9_000_000_000):
        assert near.sender(at) == one.setup().sender(at)


def test_a_comparison_is_that_of_all_events() -> None:
    from midflight.explain.divergence import COMPARED, compare

    one, other = plan("sack"), plan("enhanced")

    def keys(of: Plan) -> list[tuple[object, ...]]:
        rows = [row for row in History(of).rows if row.event in COMPARED]
        detailed = ("ack", "rcv", "drop")
        return [
            (r.time_ns, r.event, r.value, r.detail if r.event in detailed else "") for r in rows
        ]

    both = keys(one), keys(other)
    common = next(i for i, (a, b) in enumerate(zip(*both, strict=False)) if a != b)
    found = compare(one, other)
    assert found.divergence is not None
    assert found.divergence.common == found.same["download"] == common
    assert found.divergence.time_ns == min(both[0][common][0], both[1][common][0])
    for side, rows in zip(found.divergence.sides, both, strict=True):
        assert side.event is not None
        assert (side.event.time_ns, side.event.event) == rows[common][:2]
    same = compare(one, plan("sack"))
    assert same.identical
    assert same.same["download"] == len(both[0])


def test_a_stall_of_a_flow_that_others_outlast_or_end_is_that_of_the_run() -> None:
    from midflight.explain import explain_stall
    from midflight.scenario import Outcome

    for sets in ({}, {"stop": "measured"}):
        one = Plan(MANY, sets=[("profile", "rfc"), *sets.items()])
        flows = Outcome.of(one).flows
        names, lengths = flows.column("flow"), flows.column("stall_ns")
        for name, begin, length in zip(names, flows.column("stalled_at_ns"), lengths, strict=True):
            told_of = explain_stall(one, flow=name)
            assert told_of is not None
            waited = [one for one in told_of.steps if "nothing new was acknowledged" in one.text]
            assert [one.time_ns for one in waited] == [begin]
            assert f": {length / 1e9:.6g} s from" in told_of.why_chosen


def test_an_instant_after_the_end_of_the_run_is_said_to_be_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    explain = ["explain", "wifi-to-lte", "--profile", "rfc"]
    for at in ("5.8285s", "3s"):
        assert main([*explain, "--at", at]) == 0
        assert "after the end" not in capsys.readouterr().err
    for more in ([], ["--what", "rto"]):
        assert main([*explain, "--at", "100s", *more]) == 0
        found = capsys.readouterr().err
        assert "--at 100s is after the end of the run, which was over at 5.828594 s" in found
    # A flow without an end continues until the run's.
    ends = ["--set", "flows.download.size=unlimited", "--set", "end=4s"]
    assert main([*explain, "--at", "4.5s", *ends, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["ended_ns"] == 4_000_000_000
    assert "which was over at 4 s" in captured.err


def test_the_opening_is_explained_by_the_state_of_the_sender(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for at in ("0s", "1ms"):
        assert main(["explain", "wifi-to-lte", "--at", at]) == 0
        first, _, lines = capsys.readouterr().out.partition("\n\n")
        waits = "At 0.001 s the sender waited for an ACK of segment 0, sent at 0 s, from 0 s until "
        assert first.startswith(waits if at == "1ms" else "Causes of the last event at or before")
        assert [line.split(maxsplit=3)[3] for line in lines.splitlines()[:3]] == [
            "the sender has opened: state slow-start, cwnd 1, ssthresh 2147483647, RTO 1 s, "
            "1 segment in flight",
            "segment 0 was sent for the first time",
            "because the connection opened",
        ]


CALL = """\
end = "30 s"
links.wifi.preset = "wifi"
links.lte.preset = "lte"
handoffs = [{ at = "8 s", to = "lte", gap = "1 s" }]
flows.call = { workload = "call", set = { call_length = "12 s" } }
"""
VIDEO = """\
end = "60 s"
links.wifi.preset = "wifi"
links.lte.preset = "lte"
handoffs = [{ at = "8 s", to = "lte", gap = "6 s" }]
[flows.movie]
workload = "video"
set = { video_length = "40 s", video_buffer = "8 s", video_startup = "4 s" }
"""


def read_plan(text: str, tmp_path: Path) -> Plan:
    (tmp_path / "own.toml").write_text(text)
    return Scenario.read(tmp_path / "own.toml").plan()


def test_a_late_frame_is_explained_by_the_first_that_was_late(tmp_path: Path) -> None:
    plan = read_plan(CALL, tmp_path)
    trace = plan.setup(0).trace()
    late = [
        (int(at), str(detail))
        for at, event, detail in zip(
            trace.column("time_ns"), trace.column("event"), trace.column("detail"), strict=True
        )
        if event == "late_frame"
    ]
    assert len(late) > 50
    first, last = late[0], late[-1]
    for at_ns, number in (first, last):
        told = explain(plan, at_ns=at_ns, what="late_frame")
        assert told is not None
        assert told.chosen.detail == number
        texts = [step.text for step in told.steps]
        assert texts[0].startswith(f"frame {number} was read")
        assert any("retransmission timer expired" in text for text in texts)
        assert texts[-1].startswith("the handoff from `wifi` to `lte` began")
        waits = [text for text in texts if text.startswith("it waited for those before it")]
        assert len(waits) == (number != first[1])
        assert all(f"from frame {first[1]} on" in text for text in waits)


def test_a_video_that_stands_still_is_explained_by_its_request(tmp_path: Path) -> None:
    """The client sends a request while there is no link: the request is lost, and not the server's
    data.
    """
    told = explain(read_plan(VIDEO, tmp_path), at_ns=13 * 10**9)
    assert told is not None
    assert told.chosen.event == "stalled"
    texts = [step.text for step in told.steps]
    assert texts[0] == "video segment 3 was read, after the buffer was empty"
    assert any(text.startswith("nothing of the request (flow `movie-requests`)") for text in texts)
    timers = [step for step in told.steps if "retransmission timer expired" in step.text]
    assert [step.text.split(":")[0] for step in timers] == ["`movie-requests`"]
    assert all(step.row is None for step in timers)
    assert "the handoff from `wifi` to `lte` began" in texts[-1]


def test_an_instant_at_which_nothing_can_pass_is_told(tmp_path: Path) -> None:
    """What the sender did last before it may be long ago."""
    rows = [
        "time_s,rate_mbps,delay_ms",
        *(f"{at},{0 if 6 <= at < 12 else 8},20" for at in range(20)),
    ]
    (tmp_path / "drive.csv").write_text("\n".join(rows))
    cell = Link(trace=str(tmp_path / "drive.csv"), queue="50 packets")
    one = Scenario(links={"cell": cell}, flows={"dl": Flow()}, end="20 s").plan()
    found = explain(one, at_ns=11_000_000_000)
    assert found is not None
    outage = "At 11 s the recording of `cell` had no rate from 6 s to 12 s; packets waited."
    assert found.remark.endswith(f"for 2.688 s, with a back-off of 8. {outage}")
    assert found.why_chosen.startswith("the last turning point, after which nothing happened until")
    assert found.chosen.time_ns < 10_900_000_000
    passing = explain(one, at_ns=15_000_000_000)
    assert passing is not None
    assert "no rate" not in passing.remark
    links = {"wifi": Link(preset="wifi"), "lte": Link(preset="lte")}
    gap = [Handoff(at="2 s", to="lte", gap="500 ms")]
    two = Scenario(links=links, flows={"dl": Flow()}, handoffs=gap, end="4 s").plan()
    for at_ms, is_gap in ((1999, False), (2250, True), (2500, False)):
        found = explain(two, at_ns=at_ms * 1_000_000)
        assert found is not None
        assert (f"At {at_ms / 1000:g} s there was no link" in found.remark) == is_gap


@pytest.mark.parametrize("scheme", ["bbr3", "bbr-linux", "sack"])
def test_a_window_of_bbr_grows_by_its_model_and_not_in_slow_start(scheme: str) -> None:
    sets = {"flows.download.scheme": scheme}
    one = Scenario.read("wifi-to-lte", sets=sets).plan()
    found = explain(one, at_ns=200_000_000, what="cwnd")
    assert found is not None
    said = found.steps[0].text
    assert ("growth in " in said) == (scheme == "sack")
    assert ("growth towards the window of BBR's model, in " in said) == (scheme != "sack")


def test_each_retransmission_by_the_timer_in_a_stall_has_its_fate() -> None:
    """All of them are dropped at a queue that stays full while the link has no rate."""
    from midflight.explain import explain_stall

    rates = [0.0 if 10 <= second < 18 else 40.0 for second in range(30)]
    recorded = {"time_s": list(range(30)), "rate_mbps": rates}
    cell = Link(delay="20 ms", queue="100 packets", trace=recorded)
    one = Scenario(links={"cell": cell}, flows={"a": Flow()}, end="30 s").plan()
    told_of = explain_stall(one)
    assert told_of is not None
    texts = [step.text for step in told_of.steps]
    timeouts = sum("the retransmission timer expired" in text for text in texts)
    assert timeouts >= 4
    again = [text for text in texts if re.match(r"segment \d+, sent again at .* had been", text)]
    assert len(again) == timeouts
    assert all("had been dropped at the queue of" in text for text in again)


SEA = {
    "links": {
        "lte": Link(preset="lte"),
        "satellite": Link(rate="20 Mbit/s", delay="300 ms", up={"rate": "2 Mbit/s"}),
    },
    "handoffs": [Handoff(at="1 s", to="satellite", gap="3 s")],
}


@pytest.mark.parametrize(
    ("at_ms", "waits"),
    [
        (
            4_500,
            "At 4.5 s the sender waited for its retransmission timer, from 3.008 s until 5.12 s, "
            "when that expired: it was set at 3.008 s for 2.112 s, with a back-off of 8.",
        ),
        (
            5_740,
            "At 5.74 s the sender waited for an ACK of segment 3052, sent again at 5.12 s, from "
            "5.12 s until 5.740894 s, when ACK 3114 came; the window was 1.",
        ),
        (
            16_800,
            "At 16.8 s the sender waited for an ACK of segment 6897, sent at 16.295408 s, from "
            "16.300808 s until 16.922253 s, when ACK 6907 came, the last one.",
        ),
    ],
)
def test_what_a_silent_sender_waits_for_is_told_first(at_ms: int, waits: str) -> None:
    """Not what limits the flow at other times, and not only the event before."""
    flows = {"download": Flow(size="10 MB", scheme="sack")}
    found = explain(Scenario(flows=flows, **SEA).plan(), at_ns=at_ms * 1_000_000)
    assert found is not None
    assert found.remark == waits
    if at_ms == 4_500:
        assert any("the timer was set for 2.112 s" in step.text for step in found.steps)


@pytest.mark.parametrize(
    ("scenario", "at_ms", "waits"),
    [
        ("video-tunnel", 45_000, "its retransmission timer, from 40.192 s until 50.432 s"),
        ("wifi-to-lte", 3_000, "its retransmission timer, from 1.984 s until 3.84 s"),
        ("tunnel", 6_200, "its retransmission timer, from 4.128 s until 6.4 s"),
        ("web-page", 900, "its retransmission timer, from 0.536 s until 1.024 s"),
        ("web-page", 2_300, "its application, from 2.276522 s until 2.335047 s"),
        ("call-handoff", 5_400, "its retransmission timer, from 5.232 s until 5.464 s"),
    ],
)
def test_starters_with_silent_senders_say_what_these_wait_for(
    scenario: str, at_ms: int, waits: str
) -> None:
    found = explain(Scenario.read(scenario).plan(), at_ns=at_ms * 1_000_000)
    assert found is not None
    assert found.remark.startswith(f"At {at_ms / 1000:g} s the sender waited for {waits}, ")


def test_a_sender_with_a_closed_window_waits_for_that_to_open() -> None:
    frozen = Scenario.read("tunnel", sets={"flows.download.scheme": "freeze"}).plan()
    found = explain(frozen, at_ns=4_000_000_000)
    assert found is not None
    assert "waited for the window to open again" in found.remark
    assert "At 4 s there was no link from 2 s to 6 s." in found.remark


@pytest.mark.parametrize(
    ("scenario", "parts"),
    [
        (
            "tunnel",
            [
                "there was no link from 2 s to 6 s",
                "then the sender waited 0.4 s for its retransmission timer.",
            ],
        ),
        (
            "bufferbloat",
            [
                "segment 29197 was dropped at the queue of `hsdpa`, which was full, at 12.946 s",
                "segment 29197 was sent again at 14.0833 s, and it took 1.05879 s to arrive, "
                "through a queue of 0.998 s at `hsdpa`.",
            ],
        ),
        (
            "web-page",
            [
                "segment 90 was dropped at the queue of `wifi`, which was full, at 0.195 s",
                "there was no link from 0.3 s to 0.8 s",
                "then the sender waited 0.224 s for its retransmission timer.",
            ],
        ),
    ],
)
def test_a_stall_in_short_has_its_first_loss_its_last_timer_and_its_queue(
    scenario: str, parts: list[str]
) -> None:
    from midflight.explain import explain_stall

    found = explain_stall(Scenario.read(scenario).plan())
    assert found is not None
    assert found.in_short == f"In short: {'; '.join(parts)}"


def test_a_needed_timeout_that_is_taken_for_spurious_is_called_a_mistake() -> None:
    sets = {"flows.download.scheme": "enhanced", "handoffs.0.gap": "2 s"}
    found = explain(
        Scenario.read("wifi-to-lte", sets=sets).plan(), at_ns=3_000_000_000, what="spurious"
    )
    assert found is not None
    assert found.steps[0].text == (
        "the sender took the last timeout for spurious by mistake: only a copy sent after it was "
        "acknowledged"
    )
