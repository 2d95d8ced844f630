"""What a report of a run says of a link that follows a recording, and how it writes counts."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight import Flow, Handoff, Link, Scenario
from midflight.explain import explain
from midflight.explain.arrivals import RunEvents
from midflight.explain.path import PathSamples
from midflight.explain.slow_times import SlowTime, Using, slow_line, worst_time
from midflight.recording_use import part_of, recording_tables
from midflight.report_reasons import reasons_of
from midflight.report_words import apart
from midflight.run_report import headed, report_html


def over(rates: dict[float, float], end: str = "60 s", **more: Any) -> Scenario:
    """A download over a link that has these rates in Mbit/s from these seconds on."""
    columns = {"time_s": [*rates], "rate_mbps": [*rates.values()]}
    cell = Link(delay="20 ms", queue="100 packets", trace={"columns": columns})
    return Scenario(links={"cell": cell}, flows={"get": Flow()}, end=end, **more)


#: A tunnel from 20 s to 30 s, and a shorter slow time.
TUNNEL = {0: 20.0, 5: 2.0, 7: 20.0, 20: 1.0, 24: 0.5, 30: 24.0}


def test_the_worst_time_of_a_recording_is_told() -> None:
    scenario = over(TUNNEL)
    line, *more = reasons_of({"": scenario.run()}, ["get"]).recoveries
    assert not more
    found = re.fullmatch(
        r"`cell` was slowest from 20 s to 30 s: 0.5 to 1 Mbit/s, 0.7 on average, while half of the "
        r"other time it had 24 or more; the flow had ([0-9.]+) Mbit/s, and its segments took up to "
        r"([0-9.]+) s",
        line,
    )
    assert found is not None
    assert float(found[1]) == pytest.approx(0.7, rel=0.05)
    # A hundred packets, at 0.5 to 1 Mbit/s.
    assert 1.2 < float(found[2]) < 2.6
    assert "was slowest from 20" in report_html(scenario.run()).replace("\N{NO-BREAK SPACE}", " ")


def test_slow_times_that_are_near_are_one() -> None:
    setup = over({0: 20.0, 10: 1.0, 20: 20.0, 21: 1.0, 30: 20.0, 50: 1.0, 54: 20.0}).plan().setup(0)
    found = worst_time(PathSamples(setup), (0, 60_000_000_000))
    assert found is not None
    assert (found.begin_ns, found.end_ns) == (10_000_000_000, 30_000_000_000)
    assert (found.least_bps, found.most_bps) == (1e6, 20e6)
    # Only what a flow met.
    found = worst_time(PathSamples(setup), (40_000_000_000, 60_000_000_000))
    assert found is not None
    assert (found.begin_ns, found.end_ns) == (50_000_000_000, 54_000_000_000)


@pytest.mark.parametrize(
    "rates",
    [
        # About the same all the time; a short dip; an outage, which has its own sentence.
        {0: 20.0, 20: 8.0, 40: 12.0},
        {0: 20.0, 20: 1.0, 20.5: 20.0},
        {0: 20.0, 20: 0.0, 24: 20.0},
    ],
)
def test_a_link_without_a_slow_time_has_no_such_sentence(rates: dict[float, float]) -> None:
    setup = over(rates).plan().setup(0)
    path = PathSamples(setup)
    assert worst_time(path, (0, 60_000_000_000)) is None
    assert slow_line([Using("", RunEvents(setup), "get", path, (0, 60_000_000_000))]) == ""
    assert slow_line([]) == ""


def test_an_outage_is_no_part_of_the_slowest_time() -> None:
    """Of a recording in milliseconds, whose rate steps are not those of its outage."""
    outage = range(20_001, 23_001)
    slow = range(35_000, 40_000)
    sent = [
        one for one in range(1, 60_001) if one not in outage and (one not in slow or one % 5 == 0)
    ]
    found = slow_of("\n".join(map(str, sent)))
    assert (found.begin_ns, found.end_ns) == pytest.approx((35e9, 40e9), abs=1e7)
    assert found.mean_bps == pytest.approx(2.4e6, rel=0.02)
    # Slow times before and after an outage are two.
    setup = over({0: 20.0, 10: 1.0, 14: 0.0, 15: 1.0, 18: 20.0, 60: 20.0}).plan().setup(0)
    worst = worst_time(PathSamples(setup), (0, 60_000_000_000))
    assert worst is not None
    assert (worst.begin_ns, worst.end_ns) == (10_000_000_000, 14_000_000_000)


def slow_of(lines: str) -> SlowTime:
    """The slowest time of a minute over a Mahimahi file with these lines."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cell.trace")
        file.write_text(lines + "\n")
        cell = Link(
            delay="20 ms", queue="200 packets", trace={"file": str(file)}, up={"rate": "9 Mbit/s"}
        )
        setup = Scenario(links={"cell": cell}, flows={"get": Flow()}, end="60 s").plan().setup(0)
    found = worst_time(PathSamples(setup), (0, 60_000_000_000))
    assert found is not None
    return found


def test_the_recovery_from_the_longest_outage_is_in_short() -> None:
    outages = {0: 20.0, 10: 0.0, 25: 20.0, 40: 0.0, 41: 20.0, 60: 20.0}
    found = reasons_of({"": over(outages).run()}, ["get"])
    assert found.slowest["", "get"].startswith("after the outage of `cell` from 10 s to 25 s it ")


def test_links_without_a_recording_have_no_worst_time() -> None:
    links = {"a": Link(rate="20 Mbit/s", delay="9 ms"), "b": Link(rate="1 Mbit/s", delay="9 ms")}
    handoffs = [Handoff(at="9 s", to="b")]
    slow = Scenario(links=links, flows={"get": Flow()}, handoffs=handoffs, end="20 s")
    assert worst_time(PathSamples(slow.plan().setup(0)), (0, 20_000_000_000)) is None


def test_a_queue_lasts_what_its_packets_need_at_the_mean_rate() -> None:
    ((_, _, said),) = reasons_of({"": over(TUNNEL).run()}, ["get"]).limits
    packets, wait, rate = map(
        float,
        re.findall(
            r"had ([0-9.]+) packets on average, which is ([0-9.]+) ms at the link's mean rate of "
            r"([0-9.]+) Mbit/s, and more where the link was slower",
            said,
        )[0],
    )
    assert rate == pytest.approx((18 * 20 + 2 * 2 + 4 * 1 + 6 * 0.5 + 30 * 24) / 60, rel=0.01)
    assert wait == pytest.approx(packets * 1500 * 8 / rate / 1e3, rel=0.03)


def test_the_caption_names_links_on_top_if_there_are_several() -> None:
    words = "The links in use are on top."
    assert words not in report_html(over({0: 20.0, 3: 9.0}, end="6 s").run())
    assert words in report_html(Scenario.read("wifi-to-lte").run())


@pytest.mark.parametrize(
    ("cell", "text"),
    [("1001", "1,001"), ("950", "950"), ("1234.5", "1234.5"), ("-", "-"), ("lte", "lte")],
)
def test_thousands_are_apart(cell: str, text: str) -> None:
    assert apart(cell) == text


def test_counts_have_one_form_in_a_report() -> None:
    assert headed([["flow", "rexmits"], ["get", "1001"]])[1] == ["get", "1,001"]
    links = {"cell": Link(rate="30 Mbit/s", delay="9 ms", loss="uniform 3%")}
    scenario = Scenario(links=links, flows={"get": Flow(scheme="bbr-linux")}, end="20 s")
    outcome = scenario.run()
    sent_again = outcome.flows.column("rexmits")[0]
    assert sent_again >= 1000
    page = report_html(outcome)
    body = re.sub("<pre.*?</pre>", "", page, flags=re.DOTALL)
    assert f"{sent_again:,} segments were sent again" in body
    assert f"<td>{sent_again:,}</td>" in body
    assert f">{sent_again}<" not in body
    assert f" {sent_again} " not in body


def test_a_long_run_has_no_figure_of_segments_but_one_of_delays() -> None:
    rates = {0: 20.0, 5: 0.0, 7: 20.0, 299: 20.0}
    for end, is_long in (("20 s", False), ("300 s", True)):
        html = report_html(over(rates, end).run())
        assert ("segments over time, window" in html) is not is_long
        assert ("Segments over time are not drawn of get" in html) is is_long
        assert ("queues of the links, delays over time" in html) is is_long


def test_the_table_of_a_recording_is_of_the_time_in_which_the_link_is_in_use() -> None:
    times = [0, 10, 12, 40, 70, 72]
    columns = {"time_s": times, "rate_mbps": [10, 0, 20, 5, 0, 90]}
    links = {
        "cell": Link(delay="20 ms", trace={"columns": columns}),
        "other": Link(rate="9 Mbit/s", delay="30 ms"),
        "spare": Link(delay="20 ms", trace={"columns": columns}),
    }
    handoffs = [Handoff(at="20 s", to="other"), Handoff(at="50 s", to="cell")]
    scenario = Scenario(links=links, flows={"get": Flow()}, handoffs=handoffs, end="60 s")
    cell, spare = recording_tables(scenario.run())
    assert cell["used"].startswith("the link is in use from 0 s to 20 s and from 50 s to 60 s, ")
    (row,) = cell["cells"][1:]
    # 10 s of 10, 2 s of none, 8 s of 20, and 10 s of 5.
    assert list(map(float, row[2:5])) == [0, pytest.approx(310 / 30, abs=1e-3), 20]
    assert cell["lines"][0] == "outages: 1, 2 s in all, the longest 2 s; packets are held"
    assert cell["lines"][1] == "10-12 s"
    assert spare["used"].startswith("the link is not used")
    assert spare["lines"][0].startswith("outages: 2, ")
    # A run that meets all of it says nothing.
    (all_of,) = recording_tables(over({0: 20.0, 5: 2.0, 7: 20.0}, end="30 s").run())
    assert all_of["used"] == ""


def test_linear_values_of_a_part_end_where_it_ends() -> None:
    cells = recording_tables(Scenario.read("ferry").run())[0]["cells"]
    rate, loss = (list(map(float, row[2:5])) for row in cells[1:])
    # 10 s of 40 Mbit/s, 20 s from 40 to 4, and 10 s from 4 to 1.
    assert rate == [1, pytest.approx((400 + 440 + 25) / 40, abs=1e-3), 40]
    assert loss[2] == 5


def test_a_part_of_a_recording_that_repeats_is_of_its_rounds() -> None:
    found: Any = {
        "span_ns": 10,
        "repeats": True,
        "interpolation": "",
        "down": {"rate_bps": ([0, 4], [8.0, 2.0]), "opportunities_ns": [1, 5, 9]},
    }
    for way in ("down", "up"):
        found.setdefault(way, {"rate_bps": ([], []), "opportunities_ns": []})
        found[way] |= {"delay_s": ([], []), "loss": ([], [])}
    part = part_of(found, [(13, 16)])
    assert part["span_ns"] == 3
    assert part["down"]["rate_bps"] == ([0, 1], [8.0, 2.0])
    assert part["down"]["opportunities_ns"] == [2]
    # Round its end.
    part = part_of(found, [(8, 13)])
    assert part["span_ns"] == 5
    assert part["down"]["rate_bps"] == ([0, 3], [8.0, 2.0])


def test_a_limit_at_an_instant_is_that_of_its_part() -> None:
    """The link is full on the whole, but has room after its rate has grown."""
    columns = {"time_s": [0, 10, 30], "rate_mbps": [8, 40, 40]}
    link = Link(delay="30 ms", queue="100 packets", trace={"columns": columns})
    plan = Scenario(links={"cell": link}, flows={"a": Flow()}, end="30 s").plan()

    def said(at: str) -> str:
        found = explain(plan, at_ns=midflight.parse_duration(at))
        assert found is not None
        return found.remark

    assert said("8 s").startswith("The link was the limit: ")
    assert said("11 s").startswith("The congestion window was the limit: ")
    assert "(from 9.8 s to 16.5 s)" in said("11 s")
