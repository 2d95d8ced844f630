"""How soon the rate of a link is used again after a handoff or an outage, and what reports say of
it and of runs that end during a stall.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from midflight import Flow, Handoff, Link, Scenario
from midflight.explain import explain_stall
from midflight.explain.arrivals import RunEvents
from midflight.explain.path import PathSamples
from midflight.explain.recovery import Recovering, _race, _two_digits
from midflight.explain.regained import USED, regained
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.watched import watch
from midflight.report_reasons import reasons_of
from midflight.report_words import compared, happened
from midflight.run_report import outcomes_of, report_html
from midflight.run_tables import Means, RunSummary

S = 1_000_000_000


@pytest.fixture(scope="module")
def train() -> str:
    """The report of two senders, of which one hardly sends after the outage."""
    found = outcomes_of(Scenario.read("train").plan(), ["sack", "bbr-linux"])
    return report_html(found).replace("\u00a0", " ")


def test_a_run_that_ends_while_a_timer_runs_says_so() -> None:
    sets = {"flows.download.scheme": "bbr-linux"}
    setup = Scenario.read("train", sets=sets).plan().setup(0)
    found = explain_stall(setup)
    assert found is not None
    assert "; then nothing was sent for 19 s, until the run ended: " in found.in_short
    assert "its retransmission timer, with an RTO of " in found.in_short
    trace = setup.trace(flow="download", only=["send", "rexmit", "rto"])
    assert not [one for one in trace.column("time_ns") if one > 21 * S]
    assert any(
        "nothing was sent from then on until the run ended" in one.text for one in found.steps
    )
    # A sender that goes on says nothing like it.
    other = explain_stall(Scenario.read("train").plan().setup(0))
    assert other is not None
    assert "until the run ended" not in other.in_short


def test_the_summary_of_a_report_has_the_stall_and_the_recovery(train: str) -> None:
    summary = train.split("In short")[1].split("<figure")[0]
    sack, bbr = summary.split("<li>")[1:3]
    assert "The longest stall lasted 8.823 s, from 12.565 s to 21.389 s: " in sack
    # That is the length of the first mean, so that it has no other one.
    assert re.search(
        r"After the outage of .* used 80% of the link's rate within at most 1 s\.$",
        prose(sack).strip(),
    )
    assert "The longest stall lasted 27.688 s, from 12.312 s to the end of the run: " in bbr
    assert re.search("it used at most 16% of the link's rate until the run ended", prose(bbr))
    assert re.search(
        r"first new packet arrived after its end: sack \(CUBIC\) 0\.055 s .*, bbr-linux 0\.044 s "
        r"[^;]*; 80% of the link's rate used after its end: sack \(CUBIC\) within at most 1 s, "
        r"bbr-linux at most 16% until the run ended \(means of 1 s\)",
        prose(train),
    )
    # It stands still after its first packet.
    assert "was first" not in prose(train)


@pytest.mark.parametrize(
    ("gap", "within"),
    [("1.2 s", r"\S+ s after `b` came \(means of \S+ s\)"), (None, r"at most \S+ s")],
)
def test_the_summary_says_since_when_the_time_of_a_handoff_with_a_gap_counts(
    gap: str | None, within: str
) -> None:
    links = {"a": Link(rate="20 Mbit/s", delay="10 ms"), "b": Link(rate="10 Mbit/s", delay="30 ms")}
    handoffs = [Handoff(at="4 s", to="b", gap=gap)]
    one = Scenario(links=links, flows={"f": Flow()}, handoffs=handoffs, end="20 s").run()
    (said,) = reasons_of({"": one}, ["f"]).slowest.values()
    begin = "after the handoff from `a` to `b` at 4 s it used 80% of the link's rate within "
    assert re.fullmatch(begin + within, said)


def racing(**times_ns: float) -> str:
    """Which of several runs was first with a new packet."""
    run: Any = None
    found = [(Recovering(name, run, "get", (0, S), []), int(at)) for name, at in times_ns.items()]
    return _race(found)


def test_only_times_that_differ_by_a_hundredth_of_themselves_are_the_same() -> None:
    """Not by a hundredth of the time of the flow, nor where only the last digit differs."""
    assert racing(sack=152e6, bbr=27e6) == ", so bbr was first, by 0.125 s"
    assert racing(sack=6555e6, bbr=6166e6) == ", so bbr was first, by 0.389 s"
    assert racing(sack=6555e6, bbr=6500e6) == ", both the same"
    assert racing(a=31e6, b=31.4e6, c=32e6) == ", all the same"
    assert racing(a=152e6, b=27e6, c=27.2e6) == ", so b and c were first, by 0.125 s"


def test_what_was_first_but_used_the_rate_later_is_not_called_first() -> None:
    run: Any = None
    flows = [Recovering(name, run, "get", (0, S), []) for name in "ab"]
    found = list(zip(flows, (55_000_000, 44_000_000), strict=True))

    def within(**times: int | None) -> str:
        return _race(found, {id(one): times[one.label] for one in flows if one.label in times})

    assert within(a=S, b=None) == within(a=S, b=2 * S) == within(a=S) == ""
    for times in ({"a": 2 * S, "b": S}, {"a": None, "b": S}, {"a": None, "b": None}, {}):
        assert within(**times) == ", so b was first, by 0.011 s"


def prose(html: str) -> str:
    return re.sub("<[^>]*>", "", html).replace("&#39;", "'")


def test_the_rate_is_used_from_when_so_much_arrives() -> None:
    """By the trace: the first of the windows in which 80 % of the link's rate arrive."""
    links = {"a": Link(rate="20 Mbit/s", delay="10 ms"), "b": Link(rate="10 Mbit/s", delay="60 ms")}
    scenario = Scenario(
        links=links,
        flows={"f": Flow()},
        handoffs=[Handoff(at="4 s", to="b", gap="1 s")],
        end="20 s",
    )
    setup = scenario.plan().setup(0)
    run, path = RunEvents(setup), PathSamples(setup)
    found = regained(run, "down", path, 5 * S, 20 * S, 20 * S)
    assert found is not None
    assert found.after_ns is not None
    events = run.of("f")
    times, bits = events.arrived_ns, events.bits
    delay = path.passing(5 * S, 20 * S).first_ns - 5 * S

    def share(since: float) -> float:
        since += 5 * S + delay
        here = (times >= since) & (times < since + found.over_ns)
        return float(bits[here].sum() / (10e6 * found.over_ns / 1e9))

    assert share(found.after_ns) >= USED
    before = [share(at) for at in np.arange(0, found.after_ns - 1, found.over_ns / 8)]
    assert before
    assert max(before) < USED + 0.02
    # In a time too short for it nothing is said.
    assert regained(run, "down", path, 5 * S, 5 * S + 1000, 20 * S) is None


def test_a_queue_that_was_held_is_no_use_of_the_rate() -> None:
    """Its burst after the outage lasts less than the mean."""
    setup = Scenario.read("train", sets={"flows.download.scheme": "bbr-linux"}).plan().setup(0)
    found = regained(RunEvents(setup), "down", PathSamples(setup), 21 * S, 40 * S, 40 * S)
    assert found is not None
    assert found.after_ns is None
    assert 0 < found.most < 0.5


def test_what_a_link_could_carry_is_the_same_at_once_and_in_steps() -> None:
    path = PathSamples(Scenario.read("ferry").plan().setup(0))
    times = np.linspace(30e9, 60e9, 31)
    found = path.bits_until(times)
    parts = [path.bits(30 * S, int(one)) for one in times[1:]]
    assert found[0] == 0
    assert found[1:] == pytest.approx(parts, rel=1e-6)


def test_flows_that_share_a_run_have_one_recovery() -> None:
    links = {"a": Link(rate="20 Mbit/s", delay="10 ms")}
    scenario = Scenario(
        links=links,
        flows={"x": Flow(), "y": Flow(scheme="bbr3")},
        handoffs=[Handoff(at="4 s", to="a", gap="1 s")],
        end="20 s",
    )
    found = reasons_of({"": scenario.run()}, ["x", "y"])
    (line,) = found.recoveries
    assert line.count("all flows together used 80% of the link's rate") == 1
    assert not found.slowest
    # Those of the other direction are no part of it.
    flows = {**scenario.flows, "z": Flow(direction="up")}
    both = Scenario(links=links, flows=flows, handoffs=scenario.handoffs, end="20 s")
    (line,) = reasons_of({"": both.run()}, ["x", "y"]).recoveries
    assert "; all downloads together used 80% of" in line


def test_values_that_hardly_differ_are_the_same() -> None:
    found = outcomes_of(Scenario.read("ferry").plan(), ["sack", "bbr-linux"])
    flows = {name: RunSummary.of(one).flows["download"] for name, one in found.items()}
    said = compared(flows, ["", ""], is_one_run=False)
    assert re.fullmatch(r"the two had [0-9.]+ Mbit/s, the same within 0\.0\d%", said)


def test_calls_and_videos_are_compared_by_what_their_users_get() -> None:
    for name, what in (
        ("call-handoff", "late or lost frames: "),
        ("video-tunnel", "the video stood still: "),
    ):
        found = outcomes_of(Scenario.read(name).plan(), ["sack", "bbr-linux"])
        (flow,) = (one for one in ("call", "video") if one in name)
        flows = {key: RunSummary.of(one).flows[flow] for key, one in found.items()}
        said = compared(flows, ["", ""], is_one_run=False)
        assert said.startswith(what)
        key = "frames_missed" if flow == "call" else "rebuffer_ns"
        best = min(found, key=lambda one: found[one].flows.column(key)[0] or 0)
        assert f"with {best}, the least; " in said


@pytest.mark.parametrize(
    ("time_ns", "said"),
    [(1_375_000_000, "1.4 s"), (8_156_000_000, "8.2 s"), (10_750_000_000, "11 s"), (S, "1 s")],
)
def test_times_of_means_that_overlap_have_two_digits(time_ns: int, said: str) -> None:
    assert _two_digits(time_ns) == said


@pytest.mark.parametrize(
    ("count", "spurious", "said"),
    [
        (7, 7, "; 7 timeouts, all spurious"),
        (2, 2, "; 2 timeouts, both spurious"),
        (7, 2, "; 7 timeouts, 2 of them spurious"),
        (7, 0, "; 7 timeouts"),
        (1, 1, "; 1 timeout, which was spurious"),
    ],
)
def test_timeouts_that_were_spurious_are_called_so(count: int, spurious: int, said: str) -> None:
    row = {
        "duration_ns": 2 * S,
        "goodput_bps": 4e6,
        "rexmits": 0,
        "timeouts": count,
        "spurious_timeouts": spurious,
    }
    found = Means(row, tuple(row))
    found.add(row)
    assert happened(found, {"size": "1 MB"}, "60 s") == f"1 MB took 2 s, 4.000 Mbit/s{said}"


def test_the_end_of_a_run_counts_for_what_was_used_at_most() -> None:
    """A window that grows until the end has most of the link in the last mean, whose data arrive a
    delay after they passed the link.
    """
    links = {"lte": Link(preset="lte"), "geo": Link(rate="40 Mbit/s", delay="300 ms")}
    away = Handoff(at="1 s", to="geo", gap="1 s")
    scenario = Scenario(links=links, flows={"a": Flow()}, handoffs=[away], end="14 s")
    setup = scenario.plan().setup(0)
    trace = setup.trace(flow="a", only=["rcv"], from_ns=13_000_000_000)
    last = 8 * np.array(trace.column("bytes"), np.float64).sum() / 40e6
    times = 2_000_000_000, setup.end_ns, setup.end_ns
    found = regained(RunEvents(setup), "down", PathSamples(setup), *times, 1e9)
    assert found is not None
    assert found.over_ns == 1e9
    assert 0.1 < last < 0.8
    assert found.most >= last - 0.01


def test_a_report_has_the_means_of_its_figure_in_its_sentences() -> None:
    html = report_html(Scenario.read("ferry").run()).replace("\u00a0", " ")
    (means,) = {*re.findall(r"until the run ended \(means of ([0-9.]+) s\)", html)}
    # These are two steps, as of shorter means a held queue would fill some.
    (panel,) = shown_panels(watch("ferry", kinds=["throughput"]), ["throughput"])[1]
    (shown,) = re.findall(r"means of ([0-9.]+) s", panel.detail)
    # Both are rounded to two digits.
    assert float(means) == pytest.approx(2 * float(shown), rel=0.04)
