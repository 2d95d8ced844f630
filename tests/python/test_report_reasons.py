"""What reports say of the reasons: why a video stood still, and what limited a flow."""

from __future__ import annotations

import numpy as np
import pytest

from midflight import Flow, Link, Scenario
from midflight.explain import explain
from midflight.explain.playback import playback_stalls
from midflight.run_report import rounded, stall_lines

#: A video over a link that is too slow for it.
SLOW = Scenario(
    links={"cell": Link(rate="0.5 Mbit/s", delay="20 ms")},
    flows={"movie": Flow(workload="video", set={"video_length": "20 s"})},
    end="80 s",
)


def test_a_video_over_a_slow_link_stands_still_because_of_its_rate() -> None:
    outcome = SLOW.run()
    setup = SLOW.plan().setup(0)
    found = playback_stalls(setup, "movie")
    assert len(found) == outcome.flows.column("rebuffers")[0] > 0
    in_all = sum(one.end_ns - one.begin_ns for one in found)
    assert in_all == outcome.flows.column("rebuffer_ns")[0]
    first = found[0]
    assert "while `cell` could carry 0.5 Mbit/s on average: too slow for a video of" in first.why
    # The rate of arrivals is that of the events.
    trace = setup.trace(flow="movie", only=["rcv", "segment"])
    events, times = np.array(trace.column("event")), trace.numpy("time_ns")
    details = np.array(trace.column("detail"))
    by = int(times[(events == "segment") & (details == first.segment)][0])
    within = (events == "rcv") & (times > first.since_ns) & (times <= by)
    sizes = [one for one, is_in in zip(trace.column("bytes"), within, strict=True) if is_in]
    rate = 8 * sum(sizes) / ((by - first.since_ns) / 1e9) / 1e6
    assert f"arrived with headers, {rate:.3g} Mbit/s" in first.why
    told = explain(setup, at_ns=first.begin_ns, flow="movie", what="stalled")
    assert told is not None
    assert told.in_short == f"In short: {first.why}."
    lines = stall_lines(outcome, ["movie", "movie-requests"])
    lengths = [one.end_ns - one.begin_ns for one in found]
    assert {one["flow"] for one in lines} == {"movie"}
    assert f"stood still for {max(lengths) / 1e9:.3f}".rstrip("0") in lines[0]["what"]


def test_a_video_that_stands_still_without_a_link_says_so() -> None:
    plan = Scenario.read("video-tunnel").plan()
    setup = plan.setup(0)
    (found,) = playback_stalls(setup, setup.flows[0]["name"])
    assert "; there was no link from 30 s to 42 s; nothing of it arrived from 30 s to" in found.why
    assert "too slow" not in found.why


def test_a_stall_that_the_buffer_covers_is_not_explained() -> None:
    sets = {"handoffs.0.gap": "2 s"}
    outcome = Scenario.read("video-tunnel", sets=sets).run()
    assert outcome.flows.column("rebuffers")[0] == 0
    assert outcome.flows.column("stall_ns")[0] > 2e9
    assert stall_lines(outcome, outcome.flows.column("flow")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("6.02844 s from 70.014387 s", "6.028 s from 70.014 s"),
        ("1.5 s, 2.0004 s", "1.5 s, 2 s"),
        ("a link `x1.23456 s`", "a link `x1.23456 s`"),
    ],
)
def test_times_in_sentences_have_three_decimals(text: str, said: str) -> None:
    assert rounded(text) == said
