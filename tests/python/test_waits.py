"""Why a sender waited: the summary of a stall, long timers, full windows, and restored ones."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

import midflight
from midflight import Flow, Handoff, Link, Scenario
from midflight.cli import main
from midflight.explain import Explanation, explain, explain_stall
from midflight.explain.events import History, Stall
from midflight.explain.waits import full_window

OUTAGE = Path(__file__).parents[2] / "examples" / "path-change" / "outage.toml"
SECOND = 1_000_000_000


def stall_of(source: str | Path, sets: dict[str, str] | None = None) -> Explanation:
    found = explain_stall(Scenario.read(source).plan(sets=sets))
    assert found is not None
    return found


def test_an_outage_that_makes_a_timer_long_is_named() -> None:
    found = stall_of(OUTAGE)
    lost, waited = found.in_short.removeprefix("In short: ").split("; then ")
    assert lost.endswith("was dropped at the queue of `cell`, which was full, at 10.06 s")
    assert waited.startswith("the sender waited 49.868 s for the timer of its tail loss probe")
    end = "an RTT sample of 24.052 s, taken after `cell` had no rate from 10 s to 34 s."
    assert waited.endswith(end)
    texts = [step.text for step in found.steps]
    assert any(one.startswith("an RTT sample of 24.052 s made the timers long") for one in texts)
    assert any(one.startswith("the window of 4 was full: 97 segments") for one in texts)


@pytest.mark.parametrize("profile", ["linux", "rfc", "ns2"])
def test_a_gap_and_the_timer_behind_it_are_a_summary(
    profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "wifi-to-lte", "--profile", profile, "--what", "stall"]) == 0
    _, short, empty, *_ = capsys.readouterr().out.splitlines()
    assert empty == ""
    assert short.startswith("In short: there was no link from 0.3 s to 2.3 s")
    if profile == "linux":
        assert short.endswith("; then the sender waited 1.54 s for its retransmission timer.")


def test_a_timer_that_expires_after_a_signal_has_sent_again_is_no_wait() -> None:
    """A window that opens after the gap sends a segment, which comes before the timeout."""
    links = {
        "lte": Link(preset="lte"),
        "satellite": Link(rate="20 Mbit/s", delay="300 ms", up={"rate": "2 Mbit/s"}),
    }
    handoffs = [Handoff(at="1 s", to="satellite", gap="3 s")]

    def said(scheme: str) -> str:
        flows = {"download": Flow(size="10 MB", scheme=scheme)}
        found = explain_stall(Scenario(links=links, flows=flows, handoffs=handoffs).plan())
        assert found is not None
        return found.in_short

    assert said("freeze") == "In short: there was no link from 1 s to 4 s."
    assert "; then the sender waited 1.12 s for its retransmission timer" in said("sack")


@pytest.mark.parametrize(("end", "waits"), [("1.5 s", False), ("2.3 s", True)])
def test_a_round_trip_at_the_end_of_a_run_is_no_wait_for_a_timer(end: str, waits: bool) -> None:
    """The link has no rate after the first data are sent, and a round trip takes 0.82 s."""
    columns = {"time_s": [0, 0.9, 9], "rate_mbps": [1, 0, 0]}
    link = Link(delay="400 ms", trace={"columns": columns})
    found = explain_stall(Scenario(links={"geo": link}, flows={"a": Flow()}, end=end).plan())
    assert found is not None
    told = "; ".join([found.in_short, *(step.text for step in found.steps)])
    assert ("still waited for its retransmission timer" in told) == waits


def test_a_stack_has_a_summary_without_its_timers() -> None:
    found = stall_of("wifi-to-lte", {"flows.download.stack": "quinn"})
    assert found.in_short.startswith("In short: there was no link from 0.3 s to 2.3 s")


def test_the_timer_is_the_sum_of_what_is_said() -> None:
    found = stall_of("wifi-to-lte")
    (said,) = (step.text for step in found.steps if step.text.startswith("the timer was set for"))
    values = {
        name: float(said.split(f"{name} ")[1].split(" ")[0].rstrip(",)"))
        for name in ("set for", "smoothed RTT", "variation", "back-off")
    }
    total = values["back-off"] * (values["smoothed RTT"] + values["variation"])
    # The RTO is that product, and the timer's time rounds it up, by what is said.
    more = float(said.split(" s more than the RTO")[0].rsplit(", ", 1)[1])
    assert more == pytest.approx(values["set for"] - total, abs=1e-6)
    assert (
        said.split("the RTO of ")[1].split(" s, probably rounded up to a tick")[0] == f"{total:.6g}"
    )
    # Timers of Linux expire at the next tick of 4 ms, or the wheel's.
    assert total <= values["set for"] <= total + 0.04


def test_a_window_that_an_undo_restores_is_no_growth() -> None:
    plan = Scenario.read(OUTAGE).plan()
    found = explain(plan, at_ns=midflight.parse_duration("34.2 s"), what="spurious")
    assert found is not None
    after = explain(plan, at_ns=found.chosen.time_ns, what="cwnd")
    assert after is not None
    assert "taken for spurious" in after.steps[0].text


def test_a_late_frame_names_the_outage_that_it_waited_in() -> None:
    columns = {"time_s": [0.0, 4.0, 6.0], "rate_mbps": [5.0, 0.0, 5.0]}
    scenario = Scenario(
        links={"cell": midflight.Link(trace={"columns": columns}, delay="20 ms")},
        flows={"call": midflight.Flow(workload="call")},
        end="10 s",
    )
    found = explain(scenario.plan(), at_ns=midflight.parse_duration("6.1 s"), what="late_frame")
    assert found is not None
    outage = "the recording of `cell` had no rate from 4 s to 6 s; packets waited"
    assert outage in [step.text for step in found.steps]


class Recorded:
    """Rows of a stall from 1 s to 9 s of which the timer expires last, and a window of 4."""

    path_changes: ClassVar[list[Any]] = []

    def __init__(self, *between: tuple[str, str]) -> None:
        kinds = [*between, ("wake", "")]
        self.rows = [
            SimpleNamespace(index=i, time_ns=(i + 2) * SECOND, event=event, sack=sack, value=10)
            for i, (event, sack) in enumerate(kinds)
        ]

    def row(self, index: int) -> Any:
        return self.rows[index]

    def at(self, time_ns: int) -> int:
        return sum(row.time_ns <= time_ns for row in self.rows)

    def slice(self, first: int, end: int) -> list[Any]:
        return self.rows[first:end]

    def sender(self, _: int) -> dict[str, Any]:
        return {"cwnd": 4, "flight_size": 92}

    def outages_within(self, _begin_ns: int, _end_ns: int) -> list[Any]:
        return []

    def said(self) -> tuple[int, str] | None:
        stall = SimpleNamespace(begin_ns=SECOND, end_ns=9 * SECOND, row=len(self.rows))
        return full_window(cast(History, self), cast(Stall, stall))


def test_a_segment_taken_for_lost_is_not_said_to_be_unknown() -> None:
    full = Recorded(("ack", "")).said()
    assert full is not None
    assert full[1].endswith("92 segments were in flight, and none was known to be lost")
    text = "segment 10 was taken for lost, but nothing was sent until 4 s; the window was 4"
    found = Recorded(("ack", "12-12"), ("fast_retransmit", "")).said()
    assert found == (3 * SECOND, text)


def test_a_window_is_not_said_to_be_full_if_that_is_open() -> None:
    assert Recorded(("ack", "12-12")).said() is None
    assert Recorded(("suspect", "")).said() is None
    assert Recorded(("fast_retransmit", ""), ("rexmit", "")).said() is None


def test_what_became_of_each_copy_is_in_the_summary() -> None:
    """The last one had been sent before an outage, which held it; or copies were lost twice."""
    columns = {
        "time_s": [0, 2, 3, 4, 5, 6, 9, 10],
        "rate_mbps": [40, 25, 12, 5, 1.5, 0, 4, 18],
        "delay_ms": [22, 26, 30, 40, 60, 60, 45, 35],
    }
    links = {"cell": Link(trace={"columns": columns}, queue="200 packets")}
    held = Scenario(links=links, flows={"a": Flow()}, end="12 s")
    for scheme, again in (("cubic", 0), ("bbr3", 1)):
        found = explain_stall(held.plan(sets={"flows.a.scheme": scheme}))
        assert found is not None
        words = found.in_short.removeprefix("In short: ").split("; ")
        assert "was dropped at the queue of `cell`, which was full, at " in words[0]
        assert "`cell` had no rate from 6 s to 9 s" in words
        assert sum(one.endswith(", and lost again") for one in words) >= again
        assert ", and arrived at 9." in words[-1]
    links = {
        "lte": Link(rate="20 Mbit/s", delay="30 ms", queue="100 packets"),
        "egprs": Link(rate="200 kbit/s", delay="300 ms", queue="50 packets"),
    }
    move = [Handoff(at="0.7 s", to="egprs")]
    flows = {"a": Flow(size="2 MB", scheme="sack")}
    found = explain_stall(Scenario(links=links, flows=flows, handoffs=move, end="30 s").plan())
    assert found is not None
    assert found.in_short.endswith(
        "; it was sent again at 26.184 s, and lost again; it was sent "
        "again at 29.82 s, and had not arrived when the run ended."
    )
