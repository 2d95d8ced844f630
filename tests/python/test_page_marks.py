"""Marks, looks and the band of links of the interactive page, which are those of figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import Browser
from midflight import Flow, Handoff, Link, Scenario
from midflight.cli import main
from midflight.plot import plot_page
from midflight.plot.common.style import SERIES
from midflight.plot.over_time.history import histories
from midflight.plot.over_time.marks import EVENTS, GROUPS, LASTING_WORDS
from midflight.plot.over_time.watched import panels_of, watch
from pages import Page, data_of, legend, opened_browser, unpacked


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser()


def two(queue: str, **more: Any) -> Scenario:
    flow = Flow(size="2 MB", scheme="sack", set={"ecn": "on"})
    link = Link(preset="lte", queue=queue, **more)
    return Scenario(links={"lte": link}, flows={"a": flow, "b": flow}, seed=2)


def recorded(end: str = "12 s") -> Scenario:
    """A link whose recording has an outage and two handovers."""
    seconds = list(range(12))
    columns = {
        "time_s": seconds,
        "rate_mbps": [0 if one == 6 else 8 for one in seconds],
        "cell": [one // 4 for one in seconds],
    }
    link = Link(delay="20 ms", trace={"columns": columns})
    return Scenario(links={"cell": link}, flows={"download": Flow()}, end=end)


def at_middle_of(page: Page, time_ns: float, y: str) -> str:
    """What is told with the pointer at an instant, at a height of the graph."""
    x, height = page.run(
        f"((a, v) => [a.left + ({time_ns} - v.t0) / (v.t1 - v.t0) * a.w, {y}])"
        "(midflight.area, midflight.view())"
    )
    page.browser.mouse("Moved", page.left + x, page.top + height)
    text: str = page.run("document.getElementById('tip').innerText")
    return text


def test_every_event_of_figures_has_a_shape(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page("wifi-to-lte", tmp_path / "a.html"))
    shapes = page.run("Events.SHAPES")
    of_packets = [*GROUPS["losses"], *GROUPS["ecn"]]
    of_times = ["timeout", "spurious", "undone", "request_timeout", "stalled", "unheard"]
    assert list(shapes) == [*of_packets, *of_times]
    assert len({shapes[one] for one in of_packets}) == len(of_packets)
    assert not {*shapes.values()} & {*page.run("Shapes.ofLooks")}
    assert page.run("Events.LOSSES") == list(GROUPS["losses"])
    words = {kind: event.label for kind, event in EVENTS.items()} | LASTING_WORDS
    data = data_of((tmp_path / "a.html").read_text())
    assert {kind: label for kind, (label, _) in data["events"].items()} == words


def test_marks_of_ecn_are_in_both_panels(browser: Browser, tmp_path: Path) -> None:
    scenario = two("fq-codel ecn")
    page = Page(browser, plot_page(scenario, tmp_path / "a.html"))
    runs = watch(scenario)
    times = [flow.times("mark").tolist() for flow in runs[0].flows]
    assert all(times)
    found = page.run("midflight.runs.map(run => [[...run.marked.t], [...run.events.marked]])")
    assert found == [[one, one] for one in times]
    assert page.drawn()["a"]["marked"] == len(times[0])
    assert "marked (ECN)" in legend(page)[0]
    assert "lost" not in legend(page)[0]
    assert page.hover(0, "marked", 0)[0].endswith(", marked (ECN) (a)")
    page.click("[data-below=queue]")
    assert "marked (ECN)" in legend(page)[1]
    assert page.drawn()["below"]["rows"] == [["a", "marked"], ["b", "marked"]]
    (panel,) = panels_of(runs, ["queue"], (0, runs[0].end_ns / 1e9))
    marks = [one for one in panel.curves if one.draw == "marked"]
    assert [np.round(one.time_s * 1e9).tolist() for one in marks] == times
    told = at_middle_of(page, times[1][0], "a.y2 + 1.5 * 14")
    assert told.startswith("marked (ECN) (b)")
    assert browser.complaints == []


@pytest.mark.parametrize(
    ("queue", "more", "kinds"),
    [
        ("20 packets", {}, {"full"}),
        ("codel no-ecn target 1 ms limit 100 packets", {}, {"full", "early"}),
        ("20 packets", {"loss": "uniform 1%"}, {"full", "radio"}),
    ],
)
def test_losses_are_marked_by_their_cause(
    browser: Browser, tmp_path: Path, queue: str, more: dict[str, str], kinds: set[str]
) -> None:
    scenario = two(queue, **more)
    page = Page(browser, plot_page(scenario, tmp_path / "a.html", flow="a"))
    (one,) = watch(scenario, flows=["a"])[0].flows
    counts = {kind: len(times) for kind, (times, _) in one.lost_by_cause().items()}
    causes = page.drawn()["sack (CUBIC)"]["causes"]
    assert causes == {kind: count for kind, count in counts.items() if count}
    assert set(causes) == kinds
    above = legend(page)[0]
    assert {kind for kind in GROUPS["losses"] if EVENTS[kind].label in above} >= kinds
    page.click("[data-below=queue]")
    # A single line has a row for each kind of mark, as in figures.
    rows = {kind: row for row, each in enumerate(page.drawn()["below"]["rows"]) for kind in each}
    ordered = sorted((kind for kind in rows if kind in EVENTS), key=lambda kind: rows[kind])
    assert [EVENTS[kind].row for kind in ordered] == sorted(EVENTS[kind].row for kind in ordered)
    at_link = {kind for kind in kinds if one.at_queues[kind][1].count("lte")}
    assert at_link <= set(rows)
    assert browser.complaints == []


def test_lines_have_the_dashes_and_markers_of_figures(browser: Browser, tmp_path: Path) -> None:
    file = plot_page("wifi-to-lte", tmp_path / "a.html", schemes=("sack", "freeze", "enhanced"))
    page = Page(browser, file)
    dashes = [[] if look.line == "-" else list(look.line[1]) for look in SERIES]
    assert data_of(file.read_text())["dashes"] == dashes
    looks = page.run("midflight.runs.map(run => run.look)")
    shown = page.run(
        "[...document.querySelectorAll('#runs button path[stroke-dasharray]')]"
        ".map(one => one.getAttribute('stroke-dasharray').split(',').filter(Boolean).map(Number))"
    )
    assert shown == [pytest.approx([1.7 * one for one in dashes[look]]) for look in looks]


def test_the_marker_of_own_corners_is_that_of_figures(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page("wifi-to-lte", tmp_path / "a.html"))
    own = [place for place, look in enumerate(SERIES) if not isinstance(look.marker, str)]
    assert len(own) == 1
    corners = page.run(
        "(made => { const to = (x, y) => made.push([x, y]); Shapes.trace({ moveTo: to, lineTo: to,"
        f" closePath() {{}} }}, Shapes.ofLooks[{own[0]}], 0, 0, 1); return made; }})([])"
    )
    # Below is positive in a page, and the last corner of a figure's is its first one.
    figure = np.array(SERIES[own[0]].marker)[:-1] * [1, -1]
    assert np.array(corners) / np.max(corners) == pytest.approx(figure)


def test_of_many_segments_retransmissions_have_thin_edges(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page("wifi-to-lte", tmp_path / "a.html", schemes=("bbr-linux",)))
    many = page.drawn()["bbr-linux"]
    assert many["retransmissions"] > 0
    page.run("midflight.look(0, 0.2e9, 0, 200)")
    few = page.drawn()["bbr-linux"]
    assert many["edge"] < few["edge"]


def test_a_line_alone_has_its_threshold_and_flight(browser: Browser, tmp_path: Path) -> None:
    file = plot_page("wifi-to-lte", tmp_path / "a.html", schemes=("sack", "freeze", "enhanced"))
    page = Page(browser, file)
    assert "ssthresh" not in legend(page)[1]
    pressed = "[...document.querySelectorAll('#runs button')].map(b => b.ariaPressed)"
    twice = "b => ['click', 'click', 'dblclick'].forEach(one => b.dispatchEvent(new Event(one)))"
    double_click = f"({twice})(document.querySelectorAll('#runs button')[1])"
    page.run(double_click)
    assert page.run(pressed) == ["false", "true", "false"]
    assert all(one in legend(page)[1] for one in ("cwnd", "ssthresh", "flight"))
    told = at_middle_of(page, 0.1e9, "a.y2 + a.h2 / 2")
    assert "freeze: cwnd " in told
    page.run(double_click)
    assert page.run(pressed) == ["true"] * 3
    page.click("[data-below=timer]")
    told = at_middle_of(page, 1.5e9, "a.y2 + a.h2 / 2")
    (one,) = histories("wifi-to-lte", schemes=("sack",))
    rto = one.steps("rto_value").at(1_500_000_000)
    assert f"RTO {round(1e3 * rto, 2):g} ms" in told
    assert browser.complaints == []


def test_the_band_names_the_links_in_use(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page("wifi-to-lte", tmp_path / "a.html"))
    (band,) = page.drawn()["band"]
    assert band["links"] == ["wifi", "no link", "lte"]
    assert {"no link", "lte"} <= set(band["named"]) <= set(band["links"])
    (run,) = watch("wifi-to-lte")
    gap = run.stretches[1]
    told = at_middle_of(page, (gap.from_ns + gap.until_ns) / 2, "a.top - 12")
    assert told.splitlines() == [
        "No link",
        f"from {gap.from_ns / 1e9:.6f} s to {gap.until_ns / 1e9:.6f} s",
    ]
    page.run("midflight.look(0, 0.1e9, 0, 1e6)")
    assert page.drawn()["band"][0]["links"] == ["wifi"]
    assert browser.complaints == []


def test_runs_on_other_paths_have_bands_of_their_own(browser: Browser, tmp_path: Path) -> None:
    out = tmp_path / "a.html"
    gaps = ["--axis", "handoffs.0.gap=0.5s,1s,2s"]
    assert main(["plot", "wifi-to-lte", *gaps, "--out", str(out)]) == 0
    page = Page(browser, out)
    assert [one["run"] for one in page.drawn()["band"]] == ["0.5 s", "1 s", "2 s"]
    # They say when there is no link: bars in all panels would say it again.
    assert page.drawn()["bars"] == []
    assert "of the line of this colour" not in legend(page)[0]
    three = page.run("midflight.area.top")
    page.click("#runs button:nth-child(2)")
    assert [one["run"] for one in page.drawn()["band"]] == ["0.5 s", "2 s"]
    assert page.run("midflight.area.top") < three
    page.click("#runs button:nth-child(1)")
    assert [one["run"] for one in page.drawn()["band"]] == ["2 s"]
    many = ["--axis", "handoffs.0.gap=0.5s,1s,1.5s,2s,2.5s"]
    assert main(["plot", "wifi-to-lte", *many, "--out", str(out)]) == 0
    drawn = Page(browser, out).drawn()["band"]
    assert [one["run"] for one in drawn] == ["0.5 s", "1 s", "1.5 s", "2 s", "2.5 s"]
    assert "lte" in drawn[-1]["named"]
    assert browser.complaints == []
    same = plot_page("wifi-to-lte", tmp_path / "b.html", schemes=("sack", "freeze"))
    assert len(Page(browser, same).drawn()["band"]) == 1


def test_handovers_of_a_recording_are_ticks(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    cells = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    rows = [f"{at},8000,1000,{cell}" for at, cell in enumerate(cells)]
    file.write_text("\n".join(["Timestamp,DL_bitrate,UL_bitrate,CellID", *rows]))
    trace = {"file": str(file), "format": "g-net-track"}
    link = Link(delay="20 ms", trace=trace)
    scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="9 s")
    page = Page(browser, plot_page(scenario, tmp_path / "a.html"))
    (run,) = watch(scenario)
    assert run.handovers == [4.0, 8.0]
    data = data_of((tmp_path / "a.html").read_text())
    assert unpacked(data["paths"][0]["handovers"]) == [4_000_000_000, 8_000_000_000]
    assert page.drawn()["band"][0]["ticks"] == 2
    assert "handover in the recording" in legend(page)[0]
    told = at_middle_of(page, 8e9, "a.top - 8")
    assert told.splitlines() == ["Handover in the recording", "at 8.000000 s"]
    assert "2 handovers in the recording" in at_middle_of(page, 6e9, "a.top - 8")
    page.run("midflight.look(0, 5e9, 0, 1e6)")
    assert page.drawn()["band"][0]["ticks"] == 1
    # There is no handoff and no outage to go to.
    assert page.run("document.getElementById('next').textContent") == "handover"
    page.click("#next")
    says = page.run("document.getElementById('status').textContent")
    assert says == "handover in the recording at 4.000000 s"
    assert browser.complaints == []


def test_the_first_panel_suits_the_run(browser: Browser, tmp_path: Path) -> None:
    def first(scenario: Scenario) -> str:
        page = Page(browser, plot_page(scenario, tmp_path / "a.html"))
        found: str = page.run("midflight.below()")
        return found

    link = {"cell": Link(rate="1 Mbit/s", delay="20 ms")}
    short, long = (
        Scenario(links=link, flows={"download": Flow()}, end=end) for end in ("5 s", "70 s")
    )
    assert first(short) == "window"
    assert first(long) == "throughput"
    assert first(recorded()) == "throughput"


def test_labels_name_lines_and_links(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.html"
    words = ["--label", "lte=LTE", "--label", "sack=Linux", "--label", "none=?"]
    schemes = ["--scheme", "sack", "--scheme", "freeze"]
    assert main(["plot", "wifi-to-lte", *schemes, *words, "--out", str(out)]) == 0
    assert '--label none: the figure shows no "none"' in capsys.readouterr().err
    assert "--label lte=LTE --label sack=Linux" in out.read_text()
    page = Page(browser, out)
    drawn = page.drawn()
    assert set(drawn) >= {"Linux", "freeze"}
    assert drawn["band"][0]["links"] == ["wifi", "no link", "LTE"]
    assert "to LTE" in drawn["moments"]
    labels = {"lte": "LTE", "sack": "Linux"}
    same = plot_page("wifi-to-lte", tmp_path / "b.html", schemes=("sack", "freeze"), labels=labels)
    assert data_of(same.read_text()) == data_of(out.read_text())


def test_a_page_of_many_marks_keeps_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from midflight.plot.page import data as page_data
    from midflight.plot.page import html as page

    whole = data_of(plot_page(two("fq-codel ecn target 1 ms"), tmp_path / "a.html").read_text())
    monkeypatch.setattr(page, "MOST_CHARACTERS", 40_000)
    monkeypatch.setattr(page_data, "_MOST_SPECIAL", 40)
    file = plot_page(two("fq-codel ecn target 1 ms"), tmp_path / "b.html")
    for all_of, some in zip(whole["runs"], data_of(file.read_text())["runs"], strict=True):
        marks, kept = (unpacked(one["events"]["marked"]) for one in (all_of, some))
        assert 0 < len(kept) <= len(marks)
        assert set(kept) <= set(marks)
        assert unpacked(some["marked"][0]) == kept


def test_means_and_scales_are_as_asked(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.html"
    asked = ["--interval", "250 ms", "--yscale", "log", "--yscale", "queue=linear"]
    assert main(["plot", "wifi-to-lte", *asked, "--out", str(out)]) == 0
    html = out.read_text()
    assert "--interval &#39;250 ms&#39; --yscale log --yscale queue=linear" in html
    page = Page(browser, out)
    assert page.drawn()["below"]["isLog"]
    page.click("[data-below=queue]")
    assert not page.drawn()["below"]["isLog"]
    page.click("[data-below=throughput]")
    assert page.drawn()["below"]["title"] == "throughput (Mbit/s), means of 0.25 s"
    (one,) = watch("wifi-to-lte")
    (panel,) = panels_of([one], ["throughput"], (0, one.end_ns / 1e9), 0.25)
    curve = next(curve for curve in panel.curves if curve.draw == "steps")
    times, values = page.run("midflight.means(0)")
    place = np.searchsorted(curve.time_s, np.array(times) / 1e9 + 1e-9, side="right") - 1
    assert np.allclose(curve.value[place], values, rtol=1e-5)
    page.run("midflight.look(0, 0.5e9, 0, 1e6)")
    assert page.drawn()["below"]["title"] == "throughput (Mbit/s), means of 0.25 s"
    assert browser.complaints == []
    for wrong, words in (
        (["--interval", "1 us"], "--interval 1 us is not accepted"),
        (["--yscale", "log2"], '"log2"'),
        (["--yscale", "delay=log"], "the figure has no panel delay"),
    ):
        capsys.readouterr()
        assert main(["plot", "wifi-to-lte", *wrong, "--out", str(out)]) != 0
        assert words in capsys.readouterr().err


def test_stalls_are_those_of_figures(browser: Browser, tmp_path: Path) -> None:
    schemes = ("sack", "freeze")
    page = Page(browser, plot_page("wifi-to-lte", tmp_path / "a.html", schemes=schemes))
    runs = watch("wifi-to-lte", schemes=schemes)
    (panel,) = panels_of(runs, ["throughput"], (0, max(one.end_ns for one in runs) / 1e9))
    stalls = {one.scheme: one for one in panel.curves if one.draw == "stalled"}
    assert "sack" in stalls
    for run in page.run("midflight.runs.map(({ label, silent }) => [label, silent])"):
        label, silent = run
        one = stalls.get(label.removesuffix(" (CUBIC)"))
        ends = np.empty((0, 2))
        if one is not None and one.low is not None and one.high is not None:
            ends = np.stack([one.low, one.high], axis=1)
        assert np.array(silent).reshape(-1, 2) / 1e9 == pytest.approx(ends)
    page.click("[data-below=throughput]")
    assert "stalled" in page.drawn()["below"]["rows"][0]
    assert "nothing arrives" in legend(page)[1]
    begin, end = page.run("midflight.runs[0].silent[0]")
    told = at_middle_of(page, begin + 0.97 * (end - begin), "a.y2 + 7")
    assert told.startswith("nothing arrives [sack (CUBIC)]")
    assert f"until {end / 1e9:.6f} s" in told
    assert browser.complaints == []


def test_hollow_markers_are_those_of_figures(browser: Browser, tmp_path: Path) -> None:
    file = plot_page("wifi-to-lte", tmp_path / "a.html", schemes=("sack", "enhanced"))
    page = Page(browser, file)
    assert data_of(file.read_text())["filled"] == [look.filled for look in SERIES]
    fills = page.run(
        "[...document.querySelectorAll('#runs button path:last-child')]"
        ".map(one => one.getAttribute('fill'))"
    )
    looks = [SERIES[look] for look in page.run("midflight.runs.map(run => run.look)")]
    assert [one.filled for one in looks] == [True, False]
    assert fills == [looks[0].colour, "var(--back)"]
    # On the graph its inside hides the line, too.
    alike = page.run(
        "(made => { Shapes.fill({ g: { fill() { made.push(this.fillStyle); }, stroke() {},"
        " setLineDash() {}, fillStyle: 'own' }, css: { back: 'back' },"
        " isFilled: look => look === 0 }, 1); return made; })([])"
    )
    assert alike == ["back"]


def count_of(page: Page, colour: str, box: str = "a.left, a.y2, a.w, a.h2") -> int:
    """How many pixels of a box of the graph have a colour (of a page with one pixel for each of
    CSS).
    """
    found: int = page.run(
        f"(({{area: a}}, [r, g, b]) => {{ const d = document.getElementById('graph')"
        f".getContext('2d').getImageData({box}).data; let n = 0;"
        " for (let i = 0; i < d.length; i += 4)"
        " n += Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 40;"
        f" return n; }})(midflight, {[int(colour[k : k + 2], 16) for k in (1, 3, 5)]})"
    )
    return found


def test_late_frames_have_the_colours_of_their_lines(browser: Browser, tmp_path: Path) -> None:
    """Most frames are late with both schemes alike: neither hides the other."""
    file = plot_page(
        "call-handoff", tmp_path / "a.html", schemes=("sack", "enhanced"), from_s=4.9, until_s=5.4
    )
    page = Page(browser, file)
    late = page.run("midflight.runs.map(run => run.frames.late.reduce((a, b) => a + b, 0))")
    assert min(late) > 20
    page.run("midflight.draw()")
    top = "a.left + .2 * a.w, a.y2, .8 * a.w, .6 * a.h2"
    seen = [count_of(page, one, top) for one in page.run("midflight.colours()")]
    assert min(seen) > 0.2 * max(seen) > 20
    assert browser.complaints == []


def test_a_long_run_opens_at_its_longest_stall(browser: Browser, tmp_path: Path) -> None:
    """In all of it the sequence would be a line; a note says what is shown, and shows the rest."""
    links = {
        "wifi": Link(rate="2 Mbit/s", delay="5 ms"),
        "lte": Link(rate="1 Mbit/s", delay="9 ms"),
    }
    handoffs = [Handoff(at="40 s", to="lte", gap="3 s"), Handoff(at="70 s", to="wifi")]
    flows = {"a": Flow()}
    end = "100 s"
    long = Scenario(links=links, flows=flows, handoffs=handoffs, end=end)
    file = plot_page(long, tmp_path / "a.html", schemes=("sack", "enhanced"))
    page = Page(browser, file)

    def note() -> str:
        found: str = page.run(
            "(one => one.hidden ? '' : one.textContent)(document.getElementById('opened'))"
        )
        return found

    view, whole = page.view(), page.run("midflight.whole")
    stalls = [one for run in page.run("midflight.runs.map(run => run.silent)") for one in run]
    begin, until = max(stalls, key=lambda one: one[1] - one[0])
    assert view["t0"] < begin < until < view["t1"]
    assert view["t1"] - view["t0"] < 0.5 * 100e9
    # The segments are those of this time.
    assert view["s1"] - view["s0"] < 0.5 * (whole["s1"] - whole["s0"])
    assert "opens at the longest time in which nothing arrives with sack (CUBIC)" in note()
    page.click("#opened button")
    assert page.view() == {name: pytest.approx(value) for name, value in whole.items()}
    assert note() == ""
    smooth = Scenario(links=links, flows=flows, handoffs=[Handoff(at="70 s", to="lte")], end=end)
    page = Page(browser, plot_page(smooth, tmp_path / "b.html"))
    assert page.view()["t0"] < 70e9 < page.view()["t1"] < 80e9
    assert "opens at the first handoff or change" in note()
    for scenario, more in ((long, {"from_s": 0.0}), (Scenario.read("wifi-to-lte"), {})):
        page = Page(browser, plot_page(scenario, tmp_path / "c.html", **more))
        assert note() == ""
        assert page.view()["t0"] <= 0
    video = Scenario(
        links={"cell": Link(rate="0.5 Mbit/s", delay="20 ms")},
        flows={"movie": Flow(workload="video", set={"video_length": "60 s"})},
        end="300 s",
        handoffs=[Handoff(at="200 s", to="cell", gap="6 s")],
    )
    page = Page(browser, plot_page(video, tmp_path / "d.html"))
    stood = [one for run in page.run("midflight.runs.map(run => run.stalls)") for one in run]
    begin, until = max(stood, key=lambda one: one[1] - one[0])
    assert page.view()["t0"] < begin < until < page.view()["t1"]
    assert "opens at the longest stall of playback" in note()
    # The buffer has enough for the beginning of the tunnel.
    page = Page(browser, plot_page("video-tunnel", tmp_path / "e.html"))
    assert page.view()["t0"] < 30e9 < 52e9 < page.view()["t1"] < 60e9
    assert "with what was before it from 30 s on (no link)" in note()
    assert browser.complaints == []


def test_axes_have_enough_numbers(browser: Browser, tmp_path: Path) -> None:
    browser.resize(1200, 890)
    page = Page(browser, plot_page("wifi-to-lte", tmp_path / "a.html"))
    for panel in ("window", "throughput", "queue"):
        page.click(f"[data-below={panel}]")
        ticks = page.drawn()["ticks"]
        assert len(ticks) == 2
        assert [panel for one in ticks.values() if not 5 <= len(one) <= 16] == []
    for low, high in ((10, 900), (0.02, 5), (1, 40)):
        assert 4 <= page.run(f"Axis.powers({low}, {high}).length") <= 12
