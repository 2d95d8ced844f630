"""The report of a run: what its tables say of their values, and its sentences on applications."""

from __future__ import annotations

import base64
import math
import re
from pathlib import Path

import numpy as np
import pytest

from midflight import Flow, Link, Scenario, Sweep
from midflight.cli import main
from midflight.explain.words import to_ms
from midflight.plot.common.style import SERIES
from midflight.plot.over_time.applications import Call, frames_of
from midflight.plot.over_time.watched import watch
from midflight.report_words import happened
from midflight.run_report import late_lines, report_run, side_by_side, watched
from midflight.run_tables import Means
from midflight.scenario import OWN_VALUES, Outcome, description_of_changed

#: A call with this deadline that lasts until the end.
CALL = Call(0.15, math.inf)


def text_of(file: Path) -> str:
    """The words of a page, with one space between them."""
    return " ".join(re.sub(r"<[^>]*>", " ", file.read_text()).split())


def late_of(outcome: Outcome, flows: list[str]) -> list[str]:
    """The sentences on late frames in the report of these flows."""
    return late_lines([outcome], watched(outcome, flows)[0])


def test_a_report_says_how_many_frames_were_late(tmp_path: Path) -> None:
    outcome = Scenario.read("call-handoff").run()
    ((flow,),) = (one.flows for one in watch("call-handoff"))
    frames = frames_of(flow, CALL)
    late = frames.made_s[frames.is_late]
    count, of = len(late), len(frames.made_s)
    assert outcome.flows.column("frames_late")[0] == count > 0
    text = text_of(report_run(outcome, tmp_path / "r.html"))
    longest = np.max(frames.took_s)
    assert (
        f"{count} of {of} frames ({count / of:.1%}) were late, made from {late[0]:.3f}"
        in text.replace("\u00a0", " ")
    )
    assert f"the longest delay is {longest:.3f} s." in text.replace("\u00a0", " ")
    # The panel of frames is in the figure, and the columns have their units.
    assert "their applications" in (tmp_path / "r.html").read_text()
    assert "median (s)" in text
    assert "late: frames read after their deadline" in text
    calm = Scenario.read("call-handoff", sets={"handoffs.0.gap": "0 s"}).run()
    assert late_of(calm, ["call"]) == []
    assert late_of(Scenario.read("wifi-to-lte").run(), ["download"]) == []


def test_sentences_on_several_calls_and_runs_name_theirs() -> None:
    sets = {"flows.call.count": 2, "runs": 2}
    lines = late_of(Scenario.read("call-handoff", sets=sets).run(), ["call-0", "call-1"])
    assert [one.split(" of flow ")[1].split("`")[1] for one in lines] == ["call-0", "call-1"]
    assert all(one.startswith("In the first run, ") for one in lines)


def test_a_report_of_many_calls_has_those_of_its_figure(tmp_path: Path) -> None:
    """It was refused for more lines than a figure has."""
    outcome = Scenario.read("call-handoff", sets={"flows.call.count": len(SERIES) + 1}).run()
    text = text_of(report_run(outcome, tmp_path / "r.html"))
    assert text.count("Of flow") == len(SERIES)


def test_a_report_says_of_how_many_values_its_tables_are(tmp_path: Path) -> None:
    columns = {"time_s": list(range(20)), "rate_mbps": [8 + k % 2 for k in range(20)]}
    trace = {"columns": columns, "from": "4 s", "until": "16 s"}
    # A flow with a size would end the run before the recording.
    scenario = Scenario(
        links={"cell": Link(delay="20 ms", trace=trace)}, flows={"a": Flow()}, end="12 s", runs=3
    )
    text = text_of(report_run(scenario, tmp_path / "r.html"))
    assert "Means per run, of 3 runs." in text
    assert "What a run follows: 4 s to 16 s of the recording." in text
    assert "down rate, Mbit/s 12 8.000 8.500 9.000 1 s" in text
    single = text_of(report_run("wifi-to-lte", tmp_path / "s.html"))
    assert "Means" not in single


def test_several_schemes_are_side_by_side(tmp_path: Path) -> None:
    """In one table, with the results of each alone, and in one figure over time."""
    page = tmp_path / "both.html"
    assert main(["report", "wifi-to-lte", "--scheme", "sack,enhanced", "--out", str(page)]) == 0
    text = text_of(page)
    alone = {}
    for scheme in ("sack", "enhanced"):
        sets = {"flows.download.scheme": scheme}
        flows = Scenario.read("wifi-to-lte", sets=sets).run().flows
        alone[scheme] = flows.column("duration_ns")[0] / 1e9
        label = "sack (CUBIC)" if scheme == "sack" else scheme
        assert f"download {label} {alone[scheme]:.3f} " in text
        assert f"Flow download with {label} : 3 MB took {to_ms(1e9 * alone[scheme])}" in text
        assert f"0.3 s lte download {label} " in text
        assert flows.column("digest")[0] in text
    assert alone["sack"] > alone["enhanced"]
    assert re.search(r"Flow download with sack \(CUBIC\) : .*? The longest stall lasted ", text)
    assert "schemes sack (CUBIC), enhanced." in text
    (lines,) = re.findall(
        r'<figure id="over-time">\s*<img src="data:image/svg[^,]*,([^"]*)"', page.read_text()
    )
    drawn = base64.b64decode(lines).decode()
    # The names are in the legend, as comments or as text.
    assert "enhanced" in drawn
    assert "sack (CUBIC)" in drawn
    again = report_run("wifi-to-lte", tmp_path / "api.html", schemes=["sack", "enhanced"])
    assert f"{alone['enhanced']:.3f}" in text_of(again)


def test_a_flow_of_requests_adds_no_column_of_schemes(tmp_path: Path) -> None:
    scenario, page = tmp_path / "web.toml", tmp_path / "web.html"
    scenario.write_text(
        'end = "20 s"\nlinks.cell = { rate = "8 Mbit/s", delay = "20 ms" }\n'
        '[flows.page]\nworkload = "web"\nset = { web_objects = 3 }\n'
    )
    words = ["report", str(scenario), "--scheme", "cubic-linux,bbr-linux", "--out", str(page)]
    assert main(words) == 0
    heads = re.findall(r'<table class="numbers">\s*<thead><tr>(.*?)</tr>', page.read_text(), re.S)
    named = [re.findall(r"<th[^>]*>([^<]*)</th>", one) for one in heads]
    (results,) = (one for one in named if "timeouts" in one)
    assert results.count("scheme") == 1
    text = text_of(page)
    for scheme in ("cubic-linux", "bbr-linux"):
        assert f"page {scheme} " in text
    # The flow that carries the requests has no row.
    assert "page-requests" not in text


def test_columns_of_several_tables_are_joined() -> None:
    tables = {
        "a": [["flow", "n"], ["x", "1"], ["y", "2"]],
        "b": [["flow", "n", "m"], ["x", "3", "4"]],
    }
    assert side_by_side(tables, 1, "scheme") == [
        ["flow", "scheme", "n", "m"],
        ["x", "a", "1", "0"],
        ["x", "b", "3", "4"],
        ["y", "a", "2", "0"],
    ]
    assert side_by_side({"a": tables["a"]}, 1, "") == tables["a"]
    assert side_by_side({}, 1, "scheme") == []


def test_a_report_says_in_short_what_became_of_a_flow(tmp_path: Path) -> None:
    """Of a page, a video, a download and one without an end, in numbers of their tables."""
    for name, sets, said in (
        ("web-page", {}, "the page with its 21 objects took {load_ns} s; the slowest"),
        ("web-page", {"end": "1 s"}, "the page was not complete by the end of the run"),
        (
            "video-tunnel",
            {},
            "the video began after {startup_ns} s and stood still once, for {rebuffer_ns} s in all",
        ),
        ("video-tunnel", {"handoffs.0.gap": "100 ms"}, " s and never stood still"),
        ("wifi-to-lte", {}, "3 MB took {duration_ns} s, "),
        (
            "call-handoff",
            {"handoffs.0.gap": "0 s"},
            "none of 500 frames was late; half of those that were read took",
        ),
        ("drive-test", {"end": "20 s"}, "Mbit/s on average until the run ended (20 s)"),
        (
            "call-handoff",
            {"runs": 2},
            "In short, as means of 2 runs: 35 of 500 frames (7.0%) were late",
        ),
    ):
        outcome = Scenario.read(name, sets=sets).run()
        columns = ("load_ns", "startup_ns", "rebuffer_ns", "duration_ns")
        there = [one for one in columns if one in outcome.flows.column_names]
        values = {one: outcome.flows.column(one)[0] for one in there}
        numbers = {
            one: to_ms(ns).removesuffix(" s") for one, ns in values.items() if ns is not None
        }
        text = text_of(report_run(outcome, tmp_path / "r.html"))
        assert said.format(**numbers) in text, name


def test_late_frames_have_one_base(tmp_path: Path) -> None:
    """The number of frames that were made, also if some are not read at the end of the run."""
    sets = {"end": "7 s"}
    outcome = Scenario.read("call-handoff", sets=sets).run()
    made, late, lost = (
        outcome.flows.column(one)[0] for one in ("frames", "frames_late", "frames_lost")
    )
    (flow,) = (flow for one in watch(outcome.plan) for flow in one.flows)
    assert made > len(frames_of(flow, CALL).made_s) + lost
    text = text_of(report_run(outcome, tmp_path / "r.html")).replace("\u00a0", " ")
    assert re.findall("([0-9]+) of ([0-9]+) frames", text) == [(str(late), str(made))] * 2


def test_a_video_that_never_begins_is_said_so() -> None:
    def said(*started: float | None) -> str:
        found = Means({"workload": "video"}, ("startup_ns", "rebuffers", "rebuffer_ns"))
        for one in started:
            found.add({"startup_ns": one, "rebuffers": 0, "rebuffer_ns": 0})
        return happened(found, {"workload": "video"}, "10 s")

    assert said(None) == "the video did not begin"
    assert said(None, None) == "the video did not begin in any run"
    assert said(1e9, None, 2e9) == "the video began in 2 of 3 runs"


def test_flows_of_requests_are_not_in_a_report(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    report_run("video-tunnel", page)
    said = text_of(page)
    assert "-requests" not in said
    assert page.read_text().count("<figure") == 2


def test_a_report_can_be_printed(tmp_path: Path) -> None:
    """Nothing is scrolled on paper, and figures leave room for others."""
    page = tmp_path / "r.html"
    report_run("wifi-to-lte", page)
    rules = page.read_text().split("@media print")[1].split("</style>")[0]
    assert ".scroll, pre { overflow: visible; }" in rules
    assert "max-height" in rules


def test_all_figures_of_reports_have_one_scale(tmp_path: Path) -> None:
    """A wide one has its own row, in the report of a sweep and of a run, and in a notebook."""
    schemes, axes = "flows.download.scheme=sack,freeze,enhanced,vho", ["handoffs.0.gap=1s,2s,4s"]
    axes += [schemes, "handoffs.0.at=0.3s,0.4s", "links.lte.rate=5Mbit/s,20Mbit/s,50Mbit/s"]
    words = [word for axis in axes for word in ("--axis", axis)]
    words += ["--compare", "flows.download.scheme", "--out", str(tmp_path / "out")]
    assert main(["sweep", "wifi-to-lte", *words]) == 0
    pages = [tmp_path / "sweep.html", tmp_path / "run.html"]
    for source, page in zip((tmp_path / "out", "wifi-to-lte"), pages, strict=True):
        assert main(["report", str(source), "--out", str(page)]) == 0
    rule = "figure img { width: calc(var(--inches) * 8rem); max-width: 100%;"
    seen = []
    for page in pages:
        text = page.read_text()
        assert rule in text
        for frame, url, inches in re.findall(
            r'<figure([^>]*)>\s*<img src="([^"]*)"[^>]*--inches: ([0-9.]+)', text
        ):
            drawn = base64.b64decode(url.partition(",")[2]).decode()
            width = float(re.findall(r'<svg[^>]* width="([0-9.]+)pt"', drawn)[0])
            assert float(inches) == pytest.approx(width / 72, abs=0.01)
            if "over-time" not in frame and page == pages[0]:
                assert ('class="wide"' in frame) == (float(inches) > 4.5)
            seen.append(float(inches))
    assert max(seen) == pytest.approx(7.16, abs=0.01)
    shown = Sweep.read(tmp_path / "out")._repr_html_()
    assert f"width: {seen[0] * 128:.0f}px" in shown


def test_a_description_is_that_of_the_scenario_which_ran(tmp_path: Path) -> None:
    """Its numbers are of the starter's own values."""

    def described(*options: str) -> bool:
        out = tmp_path / "a.html"
        assert main(["report", "tunnel", *options, "--out", str(out)]) == 0
        # The manifest has the scenario as it is.
        page = out.read_text(encoding="utf-8").partition('id="over-time"')[0]
        assert "own values" not in page
        return "<p>A handoff to the same link with a gap is an outage." in page

    assert described()
    assert not described("--set", "end=9 s")
    assert not described("--scheme", "cubic")
    assert not described("--scheme", "sack,cubic")
    # Words without numbers hold for all values.
    assert description_of_changed(f"{OWN_VALUES} A phone moves.") == "A phone moves."
    assert description_of_changed(f"{OWN_VALUES} A phone moves 2 m.") == ""


def test_a_report_of_several_schemes_begins_with_their_comparison(tmp_path: Path) -> None:
    """And it has one time without progress of each, with one command."""
    from midflight.run_report import report_run

    command = "midflight report web-page --scheme=sack --scheme=enhanced --out w.html"
    path = report_run(
        "web-page", tmp_path / "w.html", schemes=["sack", "enhanced"], command=command
    )
    page = path.read_text()
    assert page.index("Compared: ") < page.index("longest stall (s)") < page.index("In short")
    assert page.count("midflight explain web-page") == 2
    assert "Object 2 took" in page
    assert "The longest stall lasted" not in page
