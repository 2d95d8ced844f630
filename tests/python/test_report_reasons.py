"""What reports say of the reasons: why a video stood still, and what limited a flow."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from html import unescape
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from midflight import CongestionController, Control, Flow, Handoff, Link, Scenario
from midflight.cli import main
from midflight.explain import explain, limit_near
from midflight.explain.arrivals import RunEvents
from midflight.explain.limits import (
    Flowing,
    Held,
    _losses,
    _of_receiver,
    _still_share,
    _stop,
    held_by_receiver,
    limits_of,
    long_uses,
)
from midflight.explain.path import Passing, PathSamples
from midflight.explain.playback import playback_stalls
from midflight.explain.recovery import MOST_EVENTS
from midflight.explain.use_of_link import times_words, uses_of_link
from midflight.explain.words import to_ms
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.watched import watch
from midflight.recording_use import recording_tables
from midflight.report_reasons import reasons_of
from midflight.run_report import (
    alike_limits,
    at_text,
    comparison,
    explain_command,
    outcomes_of,
    page_command,
    report_html,
    report_run,
    rounded,
    stall_lines,
)
from midflight.run_tables import RunSummary, rows

if TYPE_CHECKING:
    from midflight.scenario import Outcome

#: A window of the receiver that limits most flows.
SMALL = {"receiver_window": 40}
#: Six handoffs.
TO = ("lte", "wifi") * 3

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
    assert (
        "; nothing of it arrived from 30 s to 50.468 s; there was no link from 30 s to 42 s; then"
        in found.why
    )
    assert "too slow" not in found.why


def test_a_stall_that_the_buffer_covers_is_called_so() -> None:
    sets = {"handoffs.0.gap": "2 s"}
    outcome = Scenario.read("video-tunnel", sets=sets).run()
    assert outcome.flows.column("rebuffers")[0] == 0
    assert outcome.flows.column("stall_ns")[0] > 2e9
    (line,) = stall_lines(outcome, outcome.flows.column("flow"))
    assert line["what"].startswith("the longest stall lasted ")
    assert line["what"].endswith("; the buffer had enough for it, and the video went on")
    assert line["why"].startswith("there was no link from")


def test_a_pause_without_anything_to_send_is_no_delay() -> None:
    name = "film"
    links = {
        one: Link(rate="20 Mbit/s", delay=delay) for one, delay in (("a", "10 ms"), ("b", "20 ms"))
    }
    film = Flow(workload="video", set={"video_rates": "1 Mbit/s", "video_length": "60 s"})
    # Its buffer is full.
    handoffs = [Handoff(at="30.1 s", to="b")]
    scenario = Scenario(links=links, flows={name: film}, handoffs=handoffs, end="70 s")
    outcome = scenario.run()
    phases = (row for row in rows(outcome.phases) if row["from_ns"] == 30_100_000_000)
    took = next(row["first_new_ns"] for row in phases if row["flow"] == name)
    (line, *_) = reasons_of({"": outcome}, [name]).recoveries
    assert (idle := re.search(r"\(for ([0-9.]+) s of that time it had nothing to send\)", line))
    assert 0.05 < float(idle[1]) < took / 1e9


def test_with_several_links_the_limit_is_that_of_the_longest_one() -> None:
    links = {"wifi": Link(preset="wifi"), "lte": Link(rate="10 Mbit/s", delay="20 ms")}
    handoffs = [Handoff(at="2 s", to="lte")]
    scenario = Scenario(links=links, flows={"a": Flow()}, handoffs=handoffs, end="20 s")
    said = limit_in(scenario)
    assert said.startswith("from 2 s to 20 s on `lte`: the link was the limit: ")
    assert "wifi" not in said
    late = Scenario(links=links, flows={"a": Flow(start="1.5 s")}, handoffs=handoffs, end="20 s")
    assert limit_in(late).startswith("from 2 s to 20 s on `lte`: ")


@pytest.mark.parametrize("name", ["bufferbloat", "lte-to-egprs", "upload", "train"])
def test_no_more_of_a_link_is_used_than_it_could_carry(name: str) -> None:
    """What the queue of the link before still sends is not of the link in use."""
    outcome = Scenario.read(name).run()
    flow = outcome.flows.column("flow")[0]
    found = reasons_of({"": outcome}, [flow]).limits
    (share,) = re.findall(r": ([0-9]+)% of what", found[0][2])
    assert 90 <= int(share) <= 100
    assert "could carry, with headers, was this flow's" in found[0][2]


def test_what_a_flow_had_of_a_link_is_of_the_same_time() -> None:
    """A flow that opens late finds a full link, and packets of another flow under way."""
    links = {"geo": Link(rate="10 Mbit/s", delay="300 ms", queue="400 packets")}
    flows = {"early": Flow(), "late": Flow(start="15 s")}
    setup = Scenario(links=links, flows=flows, end="18 s").plan().setup(0)
    path, events = PathSamples(setup), RunEvents(setup)
    span = 15_000_000_000, 18_000_000_000
    passing = path.passing(*span)
    assert passing == (15_300_000_000, 18_300_000_000, ["geo-mobile"], 0)
    assert path.bits(*span) == pytest.approx(30e6)
    assert 0.8 < events.bits_of("down", passing) / path.bits(*span) <= 1
    # Both directions have the delays of their own way.
    assert PathSamples(setup, is_up=True).passing(*span)[:2] == (15_310_000_000, 18_310_000_000)


def test_a_recorded_link_carries_what_its_rows_say() -> None:
    times = [round(0.05 * place, 2) for place in range(1200)]
    columns = {"time_s": times, "rate_mbps": [10, 2, 30, 6] * 300}
    cell = Link(delay="20 ms", trace={"columns": columns})
    setup = Scenario(links={"cell": cell}, flows={"a": Flow()}, end="60 s").plan().setup(0)
    path = PathSamples(setup)
    # 0.02 s of 2 Mbit/s and 0.03 s of 30 Mbit/s, which samples of 10 ms would miss.
    assert path.bits(80_000_000, 130_000_000) == pytest.approx(0.02 * 2e6 + 0.03 * 30e6)
    assert path.bits(0, 60_000_000_000) == pytest.approx(60 * 12e6, rel=1e-6)


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


def limit_in(scenario: Scenario, name: str = "a") -> str:
    """What limited a flow."""
    found = reasons_of({"": scenario.run()}, [name]).limits
    return "".join(what for _, flow, what in found if flow == name)


def test_a_full_link_is_the_limit_with_its_queue() -> None:
    links = {"lte": Link(rate="10 Mbit/s", delay="20 ms", queue="100 packets")}
    scenario = Scenario(links=links, flows={"a": Flow()}, end="20 s")
    outcome = scenario.run()
    said = limit_in(scenario)
    lost = outcome.flows.column("drops_queue")[0]
    assert f"; {lost} packets were lost at queues" in said
    share = int(said.split("the link was the limit: ")[1].split("%")[0])
    # Headers are a few percent.
    assert outcome.flows.column("goodput_bps")[0] / 1e5 < share <= 100
    packets, wait = re.findall(
        r"had ([0-9.]+) packets on average, which is ([0-9.]+) ms at the link's rate", said
    )[0]
    assert 20 < float(packets) <= 100
    assert float(wait) == pytest.approx(float(packets) * 1500 * 8 / 10e6 * 1e3, rel=0.1)
    both = Scenario(links=links, flows={"a": Flow(), "b": Flow()}, end="20 s")
    assert "% that of all flows together" in limit_in(both)


def test_losses_of_the_radio_are_the_limit_in_numbers() -> None:
    links = {"lte": Link(rate="50 Mbit/s", delay="20 ms", loss="uniform 2%")}
    scenario = Scenario(links=links, flows={"a": Flow()}, end="20 s")
    outcome = scenario.run()
    said = limit_in(scenario)
    lost, sent = (outcome.flows.column(one)[0] for one in ("drops_radio", "sent"))
    assert f"probably the limit: {lost:,} of {sent:,} packets ({lost / sent:.1%}) were lost" in said
    rate = float(said.split(" Mbit/s arrived, with headers")[0].split()[-1])
    assert rate == pytest.approx(outcome.flows.column("goodput_bps")[0] / 1e6, rel=0.25)
    assert "while `lte` could carry 50 Mbit/s" in said
    # With cross traffic the link may be full of that.
    crossed = Link(rate="50 Mbit/s", delay="20 ms", loss="uniform 2%", cross="cbr 10 Mbit/s")
    assert limit_in(Scenario(links={"lte": crossed}, flows={"a": Flow()}, end="20 s")) == ""


def test_a_window_after_an_outage_is_that_of_the_time_in_which_data_flowed() -> None:
    links = {"lte": Link(preset="lte"), "satellite": Link(rate="20 Mbit/s", delay="300 ms")}
    away = Handoff(at="1 s", to="satellite", gap="3 s")
    scenario = Scenario(links=links, flows={"a": Flow(size="10 MB")}, handoffs=[away], end="600 s")
    said = limit_in(scenario)
    of_window, *_ = re.findall(
        r"window was the limit: ([0-9.]+) segments on average from ([0-9.]+) s on, with a round "
        r"trip of ([0-9.]+) ms; ([0-9.]+) Mbit/s arrived",
        said,
    )
    window, since, trip, rate = map(float, of_window)
    setup = scenario.plan().setup(0)
    trace = setup.trace(flow="a", only=["rcv"])
    time, size = trace.numpy("time_ns") / 1e9, np.array(trace.column("bytes"), np.float64)
    here = time > 4
    # The first data over the satellite came late, as the sender waited for its timer.
    assert since == pytest.approx(float(time[here][0]), abs=1e-3)
    assert since > 5
    end = scenario.run().flows.column("finished_ns")[0] / 1e9
    assert rate == pytest.approx(8 * size[here].sum() / (end - since) / 1e6, rel=0.01)
    # No sample of the RTT there is shorter than the link's.
    assert 610 < trip < 700
    assert window * 1500 * 8 / trip / 1e3 == pytest.approx(rate, rel=0.15)


def test_a_short_flow_is_limited_by_its_slow_start() -> None:
    scenario = Scenario(links={"lte": Link(preset="lte")}, flows={"a": Flow(size="100 kB")})
    # A few round trips are no time of which something is most.
    assert limit_in(scenario) == ""
    links = {"lte": Link(rate="1 Gbit/s", delay="20 ms")}
    long = Scenario(links=links, flows={"a": Flow(size="4 MB")}, set={"initial_window": 1})
    assert "the slow start was the limit: the window grew from 1 to " in limit_in(long)


def test_the_last_data_of_a_short_flow_are_no_limit_of_the_receiver() -> None:
    link = Link(rate="50 Mbit/s", delay="10 ms")
    short = Scenario(links={"cell": link}, flows={"a": Flow(size="20 kB")})
    assert "receiver's window" not in limit_in(short)


def test_a_small_receive_window_is_probably_the_limit() -> None:
    links = {"lte": Link(rate="50 Mbit/s", delay="80 ms")}
    how = {"links": links, "flows": {"a": Flow()}, "end": "10 s", "profile": "rfc"}
    small = Scenario(**how, set=SMALL)
    said = limit_in(small)
    assert (
        "probably the receiver's window was the limit (`receiver_window` sets it): no more than 40 "
        "segments were in flight"
    ) in said
    assert "receiver" not in limit_in(Scenario(**how))


def above(scenario: Scenario, kind: str = "cwnd", **how: Any) -> str:
    """The text above a panel of a run."""
    runs = watch(scenario, kinds=[kind], **how.pop("flows", {}))
    return shown_panels(runs, [kind], **how)[1][0].detail


def test_figures_say_when_the_receivers_window_is_the_limit() -> None:
    ferry = Scenario.read("ferry")
    assert above(ferry).endswith(
        "; flight probably limited by the receiver's window from 67.7 s on"
    )
    assert above(ferry, "pipe").endswith(" receiver's window from 67.7 s on")
    # All of the time shown, and none of it.
    assert above(ferry, from_s=75, until_s=80).endswith("limited by the receiver's window")
    assert "receiver" not in above(ferry, until_s=60)
    # The pace of BBR is its limit.
    several = above(ferry, flows={"schemes": ["sack", "bbr-linux"]})
    assert several.endswith("receiver's window: sack from 67.7 s on")
    large = Scenario.read("ferry", sets={"set.tcp_rmem_max": "40000000"})
    assert "receiver" not in above(large)


def test_a_window_that_stands_still_unfilled_is_limited_by_the_receiver() -> None:
    """On a full link its flight goes up and down, and the window does not grow."""
    leo = Scenario.read("leo-handoffs")
    assert above(leo).endswith("; flight probably limited by the receiver's window from 2.88 s on")
    assert "receiver" not in above(Scenario.read("drive-test"))


def test_reports_and_figures_name_the_receivers_window_alike() -> None:
    """On a full link the window is named after the queue; of a late flow both ask of its time."""
    leo = Scenario.read("leo-handoffs")
    said = limit_in(leo, "download")
    assert "the link was the limit: 99%" in said
    assert "; probably the receiver's window was the limit of what was in flight (`tcp_" in said
    links = {"lte": Link(rate="50 Mbit/s", delay="80 ms")}
    flows = {"a": Flow(start="20 s")}
    late = Scenario(links=links, flows=flows, end="30 s", profile="rfc", set=SMALL)
    assert limit_in(late).startswith("most of the time: probably the receiver's window was")
    assert above(late).endswith("flight probably limited by the receiver's window from 20.7 s on")


def test_a_limit_of_less_than_half_of_a_time_is_not_most_of_it() -> None:
    held = Held(0, 10, 0.35, 40.0, 60.0)
    limit = _of_receiver(held, (0, 10), "all", "")
    assert limit.said("").startswith("for 35% of the time, probably the receiver's window was")
    mostly = _of_receiver(held._replace(share=0.6), (0, 10), "all", "")
    assert mostly.said("").startswith("most of the time: probably the receiver's window was")
    assert mostly.said("on `lte`").startswith("on `lte`: probably the receiver's window was")


def test_a_sender_is_stopped_at_the_flight_that_lasts_and_not_at_a_peak() -> None:
    flight = np.array([60.0, 30, 35, 38, 38, 38, 36, 20, 25, 33, 38, 38])
    assert _stop(flight) == (38, False)
    assert _stop(np.minimum(flight, 38)) == (38, True)
    # Without a flight that lasts.
    assert _stop(np.arange(0.0, 600, 7)) == (595, True)
    found = explain(Scenario.read("ferry").plan(), at_ns=80_000_000_000)
    assert found is not None
    assert "the sender stopped at 2,210 segments in flight, while" in found.remark


def recorded(rates: list[float], **how: Any) -> Scenario:
    """A flow over a link whose rate in Mbit/s is the next of these every 20 s."""
    columns = {"time_s": [20 * n for n in range(len(rates))], "rate_mbps": rates}
    cell = Link(delay="20 ms", queue="100 packets", trace={"columns": columns}, **how)
    return Scenario(links={"cell": cell}, flows={"a": Flow()}, end=f"{20 * len(rates)} s")


def test_a_time_with_a_full_link_and_one_with_room_have_limits_of_their_own() -> None:
    """A window that losses keep small fills a slow link, and not one that is faster."""
    scenario = recorded([2, 50], loss="uniform 0.2%")
    full, room = limit_in(scenario).split(". ")
    assert full.startswith("from 0 s to 20 s, the link was the limit: ")
    assert int(re.findall(r"limit: ([0-9]+)% of what `cell` could carry", full)[0]) >= 90
    assert room.startswith("From 20 s to 40 s, losses on the link were probably the limit: ")
    # Both are of data of their times.
    setup = scenario.plan().setup(0)
    trace = setup.trace(flow="a", only=["rcv", "drop"], from_ns=20_000_000_000)
    lost = sum(
        (event, packet, cause) == ("drop", "data", "radio")
        for event, packet, cause in zip(
            *(trace.column(one) for one in ("event", "packet", "cause")), strict=True
        )
    )
    assert f"limit: {lost} of " in room
    assert "while `cell` could carry 50 Mbit/s" in room
    # At an instant it is that of the part.
    for at, said in ((10, "The link was the limit: "), (35, "Losses on the link were probably")):
        found = limit_near(
            setup, "a", at * 10**9, setup.end_ns, json.loads(scenario.plan().canonical)
        )
        assert found.startswith(said)
        begin = 0 if at == 10 else 20
        assert found.endswith(f" (from {begin} s to {begin + 20} s).")
    # What other traffic a run without its scenario has is not known.
    assert limit_near(setup, "a", 35 * 10**9, setup.end_ns) == ""


def test_times_of_a_full_link_are_told_together() -> None:
    said = limit_in(recorded([2, 50, 2, 50], loss="uniform 0.2%"))
    full, *rooms = said.split(". ")
    assert full.startswith("for 40 s, from 0 s to 20 s and from 40 s to 60 s, the link was the")
    assert len(rooms) == 2
    assert all("losses on the link were probably the limit" in one for one in rooms)
    # A link that is used as a whole has one limit.
    assert limit_in(recorded([5, 6])).startswith("most of the time: the link was the limit: ")


GAP = (Path(__file__).parents[1] / "data" / "gap.toml").read_text(encoding="utf-8")


def test_parts_of_a_time_say_when_the_link_was_full_silent_or_had_no_rate() -> None:
    setup = recorded([2, 0, 50], loss="uniform 0.2%").plan().setup(0)
    path, run = PathSamples(setup), RunEvents(setup)
    parts = uses_of_link(run, "a", (0, setup.end_ns), path)
    assert parts[0].begin_ns == 0
    assert parts[-1].end_ns == setup.end_ns
    assert all(one.end_ns == other.begin_ns for one, other in pairwise(parts))
    (idle,) = (one for one in parts if one.kind == "idle")
    assert idle.span == pytest.approx((20e9, 40e9), abs=1e9)
    assert parts[0].kind == "full"
    assert parts[-1].kind == "open"
    assert uses_of_link(run, "a", (0, 100_000_000), path) == []


def test_many_times_are_counted_and_not_listed() -> None:
    spans = [(n * 10**10, n * 10**10 + 10**9) for n in range(4)]
    assert times_words(spans) == "for 4 s in 4 parts"
    assert times_words(spans[:2]) == "for 2 s, from 0 s to 1 s and from 10 s to 11 s"
    assert times_words(spans[:1]) == "from 0 s to 1 s"
    # Short times have as many digits as it takes.
    assert times_words([(0, 15 * 10**6)]) == "from 0 s to 0.015 s"
    short = [(0, 145 * 10**6), (160 * 10**6, 240 * 10**6)]
    assert times_words(short) == "for 0.225 s, from 0 s to 0.145 s and from 0.16 s to 0.24 s"


def test_schemes_with_the_same_limit_have_one_sentence() -> None:
    found = alike_limits([("x", "a", "same"), ("y", "a", "other"), ("z", "a", "same")])
    assert [(one["schemes"], one["what"]) for one in found] == [
        (["x", "z"], "same"),
        (["y"], "other"),
    ]
    assert alike_limits([("", "a", "same")])[0]["schemes"] == []


def test_a_run_that_is_done_before_its_end_ends_there() -> None:
    """No outage comes after that, and no recording is in use."""
    columns = {"time_s": [0, 3, 5, 10, 12], "rate_mbps": [10, 0, 10, 0, 10]}
    cell = Link(delay="20 ms", trace={"columns": columns})
    flows = {"a": Flow(size="4 MB"), "b": Flow()}
    outcome = Scenario(links={"cell": cell}, flows=flows, end="14 s").run()
    done = outcome.flows.column("finished_ns")[0]
    assert 5e9 < done < 10e9
    (said,) = reasons_of({"": outcome}, ["a", "b"]).recoveries
    assert said.startswith("Outage of `cell` from 3 s to 5 s: ")
    (table,) = recording_tables(outcome)
    assert table["used"].startswith(f"the link is in use from 0 s to {to_ms(done)}, ")
    # Of a run that ends in an outage nothing is known after it.
    part = Scenario(links={"cell": cell}, flows={"a": Flow(size="1 MB")}, end="14 s").run()
    assert not reasons_of({"": part}, ["a"]).recoveries


def test_a_link_that_other_nodes_share_is_not_called_unused() -> None:
    """Three downloads in the cell have the rest of its rate."""
    found = reasons_of({"": Scenario.read("busy-cell").run()}, ["mine"])
    assert not [what for *_, what in found.limits if "congestion window was the limit" in what]
    assert not found.slowest
    assert found.recoveries
    assert "of the link's rate" not in found.recoveries[0]


def test_of_many_short_uses_only_the_longest_has_a_limit() -> None:
    path = SimpleNamespace(
        used=[(at, at + 1 + (at == 4), "a" if at % 2 else "b") for at in range(9)]
    )
    assert [one for _, one in long_uses(cast("PathSamples", path), (0, 10))] == [(4, 6)]


def test_each_link_that_is_used_for_long_has_its_limit() -> None:
    """Of the second one the receiver's buffer, as a larger one shows."""
    links = {
        "lte": Link(rate="10 Mbit/s", delay="20 ms"),
        "geo": Link(rate="50 Mbit/s", delay="300 ms", queue="4000 packets"),
    }
    handoffs = [Handoff(at="10 s", to="geo"), Handoff(at="39 s", to="lte")]
    how = {"links": links, "handoffs": handoffs, "flows": {"a": Flow()}, "end": "40 s"}
    small = Scenario(**how, set={"tcp_rmem_max": 1_000_000}, runs=1)
    on_lte, on_geo = (what for *_, what in reasons_of({"": small.run()}, ["a"]).limits)
    assert on_lte.startswith("from 0 s to 10 s on `lte`: the link was the")
    assert on_geo.startswith("from 10 s to 39 s on `geo`: ")
    assert "probably the receiver's window was the limit (`tcp_rmem_max` sets it): no" in on_geo
    large = Scenario(**how, set={"tcp_rmem_max": 40_000_000})
    assert "receiver" not in limit_in(large)
    found = explain(small.plan().setup(0), at_ns=30_000_000_000)
    assert found is not None
    finding, last = found.remark.rsplit(" (", 1)
    assert "robably the receiver's window was the limit: " in finding[:50]
    assert re.search(": (no more than|the sender stopped at) [0-9,]+ segments ", finding)
    assert ";" not in finding
    assert last.startswith("on `geo`, from 21.8")
    assert " on). Nothing else notable happened just before" in last
    assert len(found.steps) == 4


def test_handoffs_and_outages_are_told_each() -> None:
    scenario = Scenario(
        links={"wifi": Link(preset="wifi"), "lte": Link(preset="lte")},
        flows={"a": Flow(), "b": Flow(scheme="bbr3")},
        handoffs=[Handoff(at=f"{2 * n + 2} s", to=to, gap="500 ms") for n, to in enumerate(TO)],
        end="16 s",
    )
    outcome = scenario.run()
    lines = reasons_of({"": outcome}, ["a", "b"]).recoveries
    assert len(lines) == 6
    assert lines[-1] == "1 more is not told here"
    first = {
        row["flow"]: row["first_new_ns"]
        for row in rows(outcome.phases)
        if row["from_ns"] == 2_000_000_000
    }
    assert lines[0].startswith("Handoff from `wifi` to `lte` at 2 s, with 0.5 s without a link: ")
    for name, took in first.items():
        # Since the link came.
        assert f"`{name}` {to_ms(took - 500_000_000)}" in lines[0]
    # Different flows are in no race; one flow with several schemes is.
    assert "was first" not in lines[0]
    both = outcomes_of(scenario.plan(), ["sack", "freeze"])
    lines = reasons_of(both, ["a"]).recoveries
    assert re.search(", so (sack|freeze) was first, by ", lines[0])
    # One flow has no name, and counts its timeouts up to then.
    alone = Scenario.read("wifi-to-lte")
    (line,) = reasons_of({"": alone.run()}, ["download"]).recoveries
    trace = alone.plan().setup(0).trace(flow="download", only=["rto"])
    took = alone.run().phases.column("first_new_ns")[-1]
    count = sum(3e8 <= at <= 3e8 + took for at in trace.column("time_ns"))
    assert f" with {count} timeouts and " in line


def test_an_unfinished_transfer_is_called_so() -> None:
    links = {"lte": Link(rate="10 Mbit/s", delay="20 ms")}
    flows = {"a": Flow(size="20 MB", start="1 s")}
    outcome = Scenario(links=links, flows=flows, end="9 s").run()
    # Without the SYN, and with payloads of 1448 bytes.
    moved = outcome.flows.column("acked")[0] * 1448 / 1e6
    html = report_html(outcome)
    assert f"In short: it was not done: {moved:.3g} of 20 MB after 8\u00a0s, " in html
    assert f"<td>{moved:.3g} of 20 MB</td>" in html
    assert "was not done" not in report_html(Scenario(links=links, flows=flows, end="60 s").run())


def test_schemes_are_compared_in_a_sentence() -> None:
    links = {"lte": Link(rate="10 Mbit/s", delay="20 ms")}
    flows = {"z": Flow(), "b": Flow(scheme="bbr3")}
    outcome = Scenario(links=links, flows=flows, end="20 s").run()
    rates = dict(zip("zb", outcome.flows.column("goodput_bps"), strict=True))
    fast, slow = sorted(rates, key=lambda name: -rates[name])
    total = sum(rates.values())
    said = comparison({"": RunSummary.of(outcome)}, ["z", "b"], dict.fromkeys("zb", "None"))
    assert said == (
        f"of the {total / 1e6:.3f} Mbit/s of both, `{fast}` had {rates[fast] / total:.0%} and "
        f"`{slow}` had {rates[slow] / total:.0%}"
    )
    assert comparison({"": RunSummary.of(outcome)}, ["z"], {"z": "None"}) == ""
    plan = Scenario.read("wifi-to-lte").plan()
    found = outcomes_of(plan, ["sack", "enhanced"])
    took = {name: one.flows.column("duration_ns")[0] / 1e9 for name, one in found.items()}
    fast, slow = sorted(took, key=lambda name: took[name])
    said = comparison({name: RunSummary.of(one) for name, one in found.items()}, ["download"], {})
    assert said.startswith(f"{fast} was done first, after {to_ms(1e9 * took[fast])}; {slow} took ")
    assert float(said.split()[-4]) == pytest.approx(took[slow] - took[fast], abs=0.001)
    assert said.endswith(f" s longer ({took[slow] / took[fast] - 1:.0%})")


def test_flows_have_the_same_order_in_all_tables() -> None:
    scenario = Scenario.read("wifi-to-lte", sets={"flows.download.count": 12})
    summary = RunSummary.of(scenario.run())
    cells = summary.phase_cells()
    assert cells is not None
    named = [line[2] for line in cells[1:13]]
    assert named == [line[0] for line in summary.flow_cells()[1:]]
    assert named != sorted(named)


def test_there_is_one_summary_of_several_flows() -> None:
    html = report_html(Scenario.read("wifi-to-lte", sets={"flows.download.count": 2}).run())
    assert html.count("In short") == 1


def test_a_report_has_the_commands_that_show_more() -> None:
    command = "midflight report 'my file.toml' --scheme=sack --set=seed=3 --set end=5s --out r.html"
    assert page_command(command) == (
        "midflight plot 'my file.toml' --set=seed=3 --set=end=5s --scheme=sack --out r-page.html"
    )
    line = {"flow": "movie", "event": "stalled", "at": at_text(25_194_094_844)}
    assert explain_command(command, line, ["--set=flows.movie.scheme=sack"]) == (
        "midflight explain 'my file.toml' --set=seed=3 --set=end=5s --set=flows.movie.scheme=sack "
        "--flow movie --what stalled --at 25.195s"
    )
    assert page_command("python mine.py") == explain_command("", line, []) == ""


def test_the_commands_of_a_report_run_and_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.html"
    assert main(["report", "wifi-to-lte", "--scheme", "sack,enhanced", "--out", str(out)]) == 0
    html = out.read_text()
    found = [unescape(one) for one in re.findall('class="more"><code>([^<]*)', html)]
    assert [one.split()[1] for one in found] == ["plot", "explain", "explain"]
    capsys.readouterr()
    assert main(shlex.split(found[2])[1:]) == 0
    said = capsys.readouterr().out
    length = re.findall(r"the longest time without progress: ([0-9.]+) s", said)[0]
    summary = html.replace("\u00a0", " ").split("with <b>enhanced</b>: ")[1]
    assert f"The longest stall lasted {float(length):.3f} s, " in summary
    # The digest of each run is there once, beside the manifests.
    digests = re.findall("<code>([0-9a-f]{32})</code>", html)
    assert len(digests) == len({*digests}) == 2


class CountedRuns:
    """A setup that counts the traces of each flow."""

    def __init__(self, setup: Any) -> None:
        self.setup, self.traced = setup, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.setup, name)

    def trace(self, *, flow: str, **how: Any) -> Any:
        self.traced[flow] += 1
        return self.setup.trace(flow=flow, **how)


def test_each_flow_is_traced_once_for_all_sentences() -> None:
    """Each trace is a run, and there were several for every outage and every other flow."""
    columns = {"time_s": [*range(16)], "rate_mbps": [10, 0] * 8}
    cell = Link(delay="20 ms", trace={"columns": columns})
    flows = {name: Flow(scheme="sack") for name in "abcdef"}
    outcome = Scenario(links={"cell": cell}, flows=flows, end="15 s").run()
    counted = CountedRuns(outcome.plan.setup(0))
    assert len(counted.link_outages) > MOST_EVENTS
    plan = SimpleNamespace(stack="", canonical=outcome.plan.canonical, setup=lambda _: counted)
    found = SimpleNamespace(plan=plan, flows=outcome.flows, phases=outcome.phases)
    reasons = reasons_of({"": cast("Outcome", found)}, ["a", "b"])
    assert counted.traced == dict.fromkeys("abcdef", 1)
    assert reasons == reasons_of({"": outcome}, ["a", "b"])
    assert reasons[1][-1].endswith("more are not told here")
    assert len(reasons[1]) == MOST_EVENTS + 1


def test_the_arrivals_of_a_run_are_those_of_its_trace() -> None:
    setup = Scenario.read("wifi-to-lte", sets={"flows.download.count": 2}).plan().setup(0)
    events = RunEvents(setup)
    passing = Passing(100_000_000, 1_500_000_000, ["wifi-mobile"], 0)
    sums = []
    for name in events.flows:
        trace = setup.trace(flow=name, only=["rcv"], from_ns=100_000_000)
        times, sizes = trace.column("time_ns"), trace.column("bytes")
        sums.append(8 * sum(n for at, n in zip(times, sizes, strict=True) if at <= 1_500_000_000))
        assert events.of(name).bits_of(passing) == sums[-1] > 0
    assert events.bits_of("down", passing) == sum(sums)
    assert events.bits_of("up", passing) == 0
    assert events.bits_of("down", passing._replace(links=["lte-mobile"])) == 0


def compared_in(flows: dict[str, Flow], shown: list[str], end: str = "40 s") -> str:
    """How the flows of one run compare."""
    links = {"a": Link(rate="10 Mbit/s", delay="20 ms")}
    summary = RunSummary.of(Scenario(links=links, flows=flows, end=end).run())
    sizes = {name: str(flow.size) for name, flow in flows.items()}
    return comparison({"": summary}, shown, sizes)


@pytest.mark.parametrize(
    ("size", "start", "is_said"),
    [("2 MB", "0 s", True), ("1 MB", "0 s", False), ("2 MB", "5 s", False)],
)
def test_the_first_to_be_done_had_the_same_to_do(size: str, start: str, is_said: bool) -> None:
    flows = {"x": Flow(size="2 MB"), "y": Flow(scheme="bbr3", size=size, start=start)}
    said = compared_in(flows, ["x", "y"])
    assert ("was done first" in said) == is_said
    assert is_said or not said


def test_shares_are_told_only_of_all_flows() -> None:
    flows = {"x": Flow(), "y": Flow(scheme="bbr3"), "z": Flow()}
    assert "of all, " in compared_in(flows, ["x", "y", "z"], "5 s")
    assert compared_in(flows, ["x", "y"], "5 s") == ""


def test_a_link_that_is_down_for_long_leaves_open_what_the_limit_was() -> None:
    flows = {"a": Flow(scheme="sack")}
    how = {"rate": "50 Mbit/s", "delay": "20 ms", "loss": "uniform 2%"}
    assert "were probably the limit" in limit_in(
        Scenario(links={"cell": Link(**how)}, flows=flows, end="20 s")
    )
    columns = {"time_s": [*range(20)], "rate_mbps": [50, 50, 50, 0] * 5}
    gaps = Link(**{key: how[key] for key in ("delay", "loss")}, trace={"columns": columns})
    assert limit_in(Scenario(links={"cell": gaps}, flows=flows, end="19 s")) == ""


def test_shares_of_time_are_of_silence_and_of_links_without_a_rate() -> None:
    columns = {"time_s": [0, 1, 2, 3, 4], "rate_mbps": [10, 0, 10, 10, 10]}
    cell = Link(delay="20 ms", trace={"columns": columns})
    setup = Scenario(links={"cell": cell}, flows={"a": Flow()}, end="4 s").plan().setup(0)
    path = PathSamples(setup)
    assert path.idle_share(0, setup.end_ns) == pytest.approx(0.25, abs=0.02)
    assert path.idle_share(2_500_000_000, setup.end_ns) == 0
    events = RunEvents(setup).of("a")
    assert _still_share(events, [(0, setup.end_ns)], 100e6) == pytest.approx(0.25, abs=0.05)
    assert _still_share(events, [(0, 900_000_000)], 100e6) == 0


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ({"queue": 2, "radio": 0, "break": 0, "node": 2}, ""),
        ({"queue": 3, "radio": 2, "break": 0, "node": 0}, "3 packets were lost at queues"),
        (
            {"queue": 5, "radio": 7, "break": 4, "node": 3},
            "5 packets were lost at queues and 7 by the radio and 4 to links that were down and 3 "
            "at nodes",
        ),
    ],
)
def test_all_causes_of_losses_are_named(lost: dict[str, int], said: str) -> None:
    assert _losses(lost) == said


def test_losses_of_the_radio_are_named_beside_those_of_queues() -> None:
    links = {"a": Link(rate="10 Mbit/s", delay="20 ms", loss="uniform 0.5%", queue="10 packets")}
    scenario = Scenario(links=links, flows={"a": Flow(scheme="sack")}, end="30 s")
    outcome = scenario.run()
    radio, queue = (outcome.flows.column(f"drops_{one}")[0] for one in ("radio", "queue"))
    assert radio > 2 < queue
    assert f"; {queue} packets were lost at queues and {radio} by the radio" in limit_in(scenario)


def test_a_scheme_in_the_settings_gives_way_to_that_of_a_stall() -> None:
    command = "midflight report x.toml --set=flows.x.scheme=bbr3 --set seed=2 --scheme sack"
    line = {"flow": "x", "event": "stall", "at": ""}
    assert explain_command(command, line, ["--set=flows.x.scheme=sack"]) == (
        "midflight explain x.toml --set=seed=2 --set=flows.x.scheme=sack --flow x --what stall"
    )
    assert "--set=flows.x.scheme=bbr3" in explain_command(command, line, [])
    assert "=flows.xx.scheme=bbr3" in explain_command(
        command.replace("flows.x.", "flows.xx."), line, ["--set=flows.x.scheme=sack"]
    )


def test_a_command_with_an_open_quote_is_none(tmp_path: Path) -> None:
    assert page_command("it's mine") == ""
    html = report_run("wifi-to-lte", tmp_path / "r.html", command="it's mine").read_text()
    assert 'class="more"' not in html


class Even(CongestionController):
    """It paces, and its name says nothing of that."""

    def on_ack(self, view: object) -> Control:
        del view
        return Control(cwnd=200, pacing_rate=500)


def test_a_sender_is_paced_if_its_controller_gives_a_rate() -> None:
    """Its flight stays below its window because of that, and not of the receiver's."""
    link = Link(rate="20 Mbit/s", delay="20 ms")
    for scheme, is_paced in (("even", True), ("sack", False), ("bbr-linux", True)):
        one = Scenario(links={"cell": link}, flows={"dl": Flow(scheme=scheme)}, end="5 s")
        run = RunEvents(one.plan(policies={"even": Even}).setup(0))
        assert run.of("dl").is_paced is is_paced
        spans = (0, 5_000_000_000)
        path = PathSamples(run.setup, is_up=False)
        assert not (is_paced and held_by_receiver(run, "dl", spans, path))


def test_a_link_of_which_little_was_used_has_its_limit_however_short_that_was() -> None:
    """After a long time on another link it is a small part of the flow."""
    sets = {"handoffs.0.at": "2 s"}
    outcome = Scenario.read("wifi-to-5g", sets=sets).run()
    said = [what for *_, what in reasons_of({"": outcome}, ["download"]).limits]
    assert any("on `5g`: the congestion window was the limit" in one for one in said)


def test_a_wait_for_a_timer_is_no_time_with_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "gap.toml"
    file.write_text(GAP)
    plan = Scenario.read(str(file)).plan()
    setup = plan.setup(0)
    path, run = PathSamples(setup), RunEvents(setup)
    parts = uses_of_link(run, "download", (2_700_000_000, path.end_ns), path)
    # The retransmission at 3.2 s is the first that arrives.
    assert [one.kind for one in parts[:2]] == ["silent", "open"]
    came = run.of("download").arrived_ns
    first = int(came[came > 2_700_000_000][0])
    assert parts[0].end_ns == first == pytest.approx(3.246e9, abs=1e6)
    of = Flowing(run, "download", path)
    told = limits_of(of, (2_700_000_000, path.end_ns))
    assert told[0].when == "from 3.25 s to 3.78 s"
