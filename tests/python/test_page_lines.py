"""Pages of several flows and runs, their panels, and pages of long runs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from browser import Browser
from midflight import Change, Flow, Handoff, Link, MidflightError, Scenario
from midflight.cli import main
from midflight.plot import plot_page
from midflight.plot.common.line_looks import look_of
from midflight.plot.common.style import LINKS, SERIES
from midflight.plot.over_time.bins import bin_edges
from midflight.plot.over_time.history import History, Order
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.watched import panels_of, watch
from midflight.plot.page import data as page_data
from midflight.plot.page import html as page
from pages import Page, data_of, legend, opened_browser, series, unpacked


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser()


def test_ten_minutes_of_a_drive_are_a_page(tmp_path: Path) -> None:
    """2.3 GB in 5 million events; around the outage everything is there."""
    seconds = list(range(600))
    rates = [0 if 300 <= one < 306 else 30 + one % 7 for one in seconds]
    drive = Scenario(
        links={
            "cell": Link(delay="30 ms", trace={"columns": {"time_s": seconds, "rate_mbps": rates}})
        },
        flows={"download": Flow()},
        end="600 s",
    )
    file = plot_page(drive, tmp_path / "drive.html")
    assert file.stat().st_size < 5_000_000
    html = file.read_text()
    data = data_of(html)
    (run,) = data["runs"]
    assert run["every"] > 10
    assert "before and after links that break or come into use, outages and timeouts" in html
    for at in (300_000_000_000, 306_000_000_000):
        (span,) = [(begin, end) for begin, end in run["near"] if begin < at < end]
        assert span[1] - span[0] >= 2e9
    assert unpacked(run["bytes"])[-1] > 2e9


def test_times_near_instants_are_found_and_joined() -> None:
    near = page_data._spans((np.array([5, 100, 130]), np.array([90, 300])), (20, 10))
    assert near.tolist() == [[0, 25], [80, 150], [290, 310]]
    times = np.array([0, 25, 26, 79, 80, 150, 151, 290, 311])
    inside = [True, True, False, False, True, True, False, True, False]
    assert page_data._within(times, near).tolist() == inside
    none = page_data._spans((np.empty(0, np.int64), np.empty(0, np.int64)), (20, 0))
    assert none.shape == (0, 2)
    assert not page_data._within(times, none).any()


def test_a_page_has_all_flows_with_the_colours_of_figures(tmp_path: Path) -> None:
    html = plot_page("household", tmp_path / "a.html").read_text()
    data = data_of(html)
    (one,) = watch("household")
    assert [run["flow"] for run in data["runs"]] == ["film", "page", "backup"]
    named = [label.replace("sack", "sack (CUBIC)") for label in one.labels]
    assert [run["label"] for run in data["runs"]] == named
    colours, dark = data["colours"]
    assert [colours[run["look"]] for run in data["runs"]] == [
        look_of(look).colour for look in one.looks
    ]
    # The flows of a scheme have its colour.
    lines = colours[: len(SERIES)]
    assert len({*lines}) == len({*dark[: len(SERIES)]}) == len(SERIES)
    # Those of links are no flow's.
    links = {colours[one["look"]] for one in data["queues"]}
    assert links == {one.colour for one in LINKS}
    assert links.isdisjoint(lines)
    for run, flow in zip(data["runs"], one.flows, strict=True):
        assert unpacked(run["acked"]) == flow.values("ack").tolist()
        assert np.array_equal(series(run["pipe"])[1], flow.pipe.value)
    assert "Flows <b>film, page, backup</b>" in html
    chosen = data_of(plot_page("household", tmp_path / "b.html", flow="page").read_text())
    assert [run["flow"] for run in chosen["runs"]] == ["page"]


def test_flows_beyond_the_colours_are_named(tmp_path: Path) -> None:
    many = Scenario(
        links={"cell": Link(rate="10 Mbit/s", delay="20 ms")},
        flows={"f": Flow(size="20 kB", count=11)},
        end="5 s",
    )
    html = plot_page(many, tmp_path / "a.html").read_text()
    assert len(data_of(html)["runs"]) == len(SERIES) == 9
    assert "Not in the page: f-9, f-10" in html
    with pytest.raises(MidflightError, match="10 lines cannot be told apart"):
        plot_page(many, tmp_path / "b.html", flow=[f"f-{place}" for place in range(10)])


def test_a_page_of_several_runs(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The values of an axis, and schemes of several flows, as a figure has them."""
    out = tmp_path / "a.html"
    axis = ["--axis", "handoffs.0.gap=1s,2s"]
    assert main(["plot", "wifi-to-lte", *axis, "--out", str(out)]) == 0
    html = out.read_text()
    data = data_of(html)
    assert [run["label"] for run in data["runs"]] == ["1 s", "2 s"]
    gaps = [{kind: time for time, kind, _ in path["moments"]} for path in data["paths"]]
    assert [one["make"] - one["break"] for one in gaps] == [10**9, 2 * 10**9]
    assert [one["path"] for one in data["queues"]] == [0, 1]
    assert "--axis handoffs.0.gap=1s,2s" in html
    assert "One line for each value of <b>Gap of the handoff</b>." in html
    page = Page(browser, out)
    both_gaps = [[one["break"], one["make"]] for one in gaps]
    assert page.drawn()["gaps"] == both_gaps
    page.click("#runs button:nth-child(2)")
    assert page.drawn()["gaps"] == both_gaps[:1]
    assert "A download of 3 MB moves from Wi-Fi to LTE with a gap of 2 s</h1>" in html
    both = ["--flow", "film", "--flow", "page", "--scheme", "sack", "--scheme", "westwood"]
    assert main(["plot", "household", *both, "--out", str(out)]) == 0
    labels = [run["label"] for run in data_of(out.read_text())["runs"]]
    plain = [f"{flow}, sack (CUBIC)" for flow in ("film", "page")]
    assert labels == [*plain, "film, westwood", "page, westwood"]
    capsys.readouterr()


def test_packets_are_those_of_the_chosen_flow(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page("household", tmp_path / "a.html"))
    assert page.run("[...document.getElementById('flow').options].map(o => o.value)") == [
        *("film", "page", "backup")
    ]
    film, backup = "film, sack (CUBIC)", "backup, sack (CUBIC) (up)"
    drawn = page.drawn()
    assert film in drawn
    assert not {"page, enhanced", backup} & set(drawn)
    most = page.view()["s1"]
    choose = "(f => { f.value = 'page'; f.dispatchEvent(new Event('change')); })"
    page.run(f"{choose}(document.getElementById('flow'))")
    drawn = page.drawn()
    assert "page, enhanced" in drawn
    assert not {film, backup} & set(drawn)
    assert page.view()["s1"] != most
    greatest = page.run("midflight.runs[1].segment.reduce((a, b) => Math.max(a, b))")
    assert page.view()["s1"] == pytest.approx(1.03 * greatest + 1)
    page.click("[data-below=timer]")
    assert "RTO (page)" in legend(page)[1]
    # The buttons hide a flow from all panels; the axis below is that of the flows that are left.
    highest = page.drawn()["below"]["high"]
    page.click("#runs button:nth-child(2)")
    drawn = page.drawn()
    assert "page, enhanced" not in drawn
    assert drawn["below"]["high"] < highest
    assert browser.complaints == []


def test_means_of_the_throughput_are_finer_the_closer_one_looks(
    browser: Browser, tmp_path: Path
) -> None:
    page = Page(browser, plot_page("bufferbloat", tmp_path / "a.html"))
    times, means = page.run("midflight.means(0)")
    trace = Scenario.read("bufferbloat").trace()
    came = trace.numpy("event") == "rcv"
    edges = np.append(times, page.run("midflight.runs[0].received ?? midflight.runs[0].end"))
    sums, _ = np.histogram(trace.numpy("time_ns")[came], edges, weights=trace.numpy("bytes")[came])
    assert np.sum(np.array(means) * np.diff(edges)) / 8e3 == pytest.approx(sums.sum(), rel=1e-6)
    # Behind the whole interval of a burst is what is left of one.
    assert means == pytest.approx(sums * 8e3 / np.diff(edges), rel=1e-6)
    page.click("[data-below=throughput]")
    assert page.drawn()["below"]["title"] == "throughput (Mbit/s), means of 0.5 s"
    page.run("midflight.look(5e9, 7e9, 0, 1e6)")
    assert page.drawn()["below"]["title"] == "throughput (Mbit/s), means of 0.2 s"
    page.run("midflight.look(5e9, 5.2e9, 0, 1e6)")
    # A round trip is longer than an eighth of that, which is 0.05 s as a round number.
    assert page.drawn()["below"]["title"] == "throughput (Mbit/s), means of 0.05 s"


def test_means_of_the_whole_run_are_those_of_its_figure(browser: Browser, tmp_path: Path) -> None:
    """Of round trips, of whole frames of a call, of segments of a video, and of several lines."""
    cases: list[tuple[str | Scenario, list[str]]]
    cases = [("ferry", []), ("call-handoff", []), ("train", ["sack", "bbr-linux"])]
    # Of a video that waits before its requests, and of one that loads all the time.
    film = Flow(workload="video", set={"video_length": "2 min"})
    dsl = Link(rate="850 kbit/s", delay="20 ms")
    slow = Scenario(links={"dsl": dsl}, flows={"film": film}, end="150 s")
    cases += [("video-tunnel", []), (slow, [])]
    for name, schemes in [*cases, ("web-page", [])]:
        file = plot_page(name, tmp_path / "a.html", schemes=schemes, from_s=0.0)
        page, data = Page(browser, file), data_of(file.read_text())
        count = data["intervals"][0][2][0] // data["unit"]
        runs = watch(name, schemes=schemes)
        window, (panel,) = shown_panels(runs, ["throughput"])
        curves = [curve for curve in panel.curves if curve.draw == "steps"]
        assert page.run("midflight.runs.length") == len(curves)
        for place, curve in enumerate(curves):
            times, means = page.run(f"midflight.means({place}, {count})")
            is_mean = ~np.isnan(curve.value[:-1])
            places = np.searchsorted(np.array(times) / 1e9, curve.time_s[:-1] + 1e-6) - 1
            assert np.array(means)[places[is_mean]] == pytest.approx(
                curve.value[:-1][is_mean], rel=1e-3, abs=1e-3
            )
        assert window[0] == 0


def test_intervals_with_any_cuts_and_end_are_those_of_figures(
    browser: Browser, tmp_path: Path
) -> None:
    page = Page(browser, plot_page("wifi-to-lte", tmp_path / "a.html"))
    rng = np.random.default_rng(1)
    cases = []
    for _ in range(200):
        end = int(rng.integers(1, 90)) * 100_000_000 + 3
        cuts = np.unique(rng.integers(1, end, int(rng.integers(0, 9)))).tolist()
        cases.append((cuts, end))
    found = page.run(f"{json.dumps(cases)}.map(([c, end]) => [...Data.edges(c, 1e9, end)])")
    for (cuts, end), edges in zip(cases, found, strict=True):
        figure = bin_edges((0.0, 9.1), 1.0, end / 1e9, [one / 1e9 for one in cuts])
        assert np.array(edges) / 1e9 == pytest.approx(figure), (cuts, end)


def with_outage() -> Scenario:
    """An outage from 17.303 to 21.7 s."""
    trace = {"columns": {"time_s": [0, 17.303, 21.7, 40], "rate_mbps": [8, 0, 8, 8]}}
    return Scenario(
        links={"cell": Link(delay="30 ms", queue="100 packets", trace=trace)},
        flows={"a": Flow()},
        end="60 s",
    )


def test_what_is_after_the_end_of_a_run_is_not_in_its_page(
    browser: Browser, tmp_path: Path
) -> None:
    short = Scenario(links=with_outage().links, flows={"a": Flow(size="1 MB")}, end="60 s")
    page = Page(browser, plot_page(short, tmp_path / "a.html"))
    assert page.drawn()["outages"] == []
    assert "outage" not in legend(page)[0]
    assert page.run("document.getElementById('next').hidden")
    assert data_of((tmp_path / "a.html").read_text())["paths"][0]["outages"] == []
    # Beside a run that has it, it is there, and the paths do not differ.
    both = {"short": short, "long": with_outage()}
    page = Page(browser, plot_page(both, tmp_path / "b.html"))
    assert page.drawn()["outages"] == [[17_303_000_000, 21_700_000_000]]
    assert page.drawn()["bars"] == []
    assert not page.run("document.getElementById('next').hidden")


def test_means_are_cut_at_outages_as_in_figures(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page(with_outage(), tmp_path / "a.html"))
    (one,) = watch(with_outage())
    page.click("[data-below=queue]")
    for interval in (0.1, 1, 5):
        (panel,) = panels_of([one], ["throughput"], (0, 60), interval)
        curve = next(curve for curve in panel.curves if curve.draw == "steps")
        times, means = page.run(
            f"midflight.means(0, {interval} * 1e9 / {page.run('midflight.unit')})"
        )
        assert np.array(times) / 1e9 == pytest.approx(curve.time_s[:-1])
        assert means == pytest.approx(curve.value[:-1], rel=1e-6, abs=1e-9)
    # The mean of the outage is that of the outage alone: what was under way arrives.
    at = times.index(17_303_000_000)
    assert times[at + 1] == 21_700_000_000
    assert means[at] < 0.2 < 7 < means[at - 1]
    # Means do not change while one drags, and a mean of the queue begins at the cut, too.
    page.drawn()
    before = page.run("midflight.levels(0)")
    page.run("midflight.look(8.3e9, 48.3e9, 0, 1e6)")
    narrow = page.run("midflight.levels(0)")
    page.run("midflight.look(9.1e9, 49.1e9, 0, 1e6)")
    moved = page.run("midflight.levels(0)")
    assert 17_303_000_000 in narrow["t"]
    assert 17_303_000_000 in before["t"]
    common = sorted({*narrow["t"]} & {*moved["t"]})
    assert len(common) > 50
    for time in common:
        assert narrow["v"][narrow["t"].index(time)] == moved["v"][moved["t"].index(time)]
    assert browser.complaints == []


def test_spurious_timeouts_are_hollow_as_in_figures(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page("drive-test", tmp_path / "a.html"))
    (one,) = watch("drive-test")
    kinds = one.flows[0].details("rto")
    spurious = kinds.count("spurious")
    assert spurious >= 1
    page.click("[data-below=timer]")
    assert page.drawn()["timeouts"] == {"filled": len(kinds) - spurious, "hollow": spurious}
    assert "spurious timeout" in legend(page)[1]
    lost = plot_page("wifi-to-lte", tmp_path / "b.html")
    page = Page(browser, lost)
    page.click("[data-below=timer]")
    found = page.drawn()["timeouts"]
    assert found["filled"] >= 1
    assert found["hollow"] == 0
    assert "spurious" not in legend(page)[1]


def test_outages_of_single_runs_are_in_their_colours(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, zero in (("early", 5), ("late", 8), ("again", 5)):
        rates = [0 if zero <= one < zero + 2 else 6 for one in range(15)]
        rows = [f"{one},{rate}" for one, rate in enumerate(rates)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["time_s,rate_mbps", *rows, ""]))
    out = tmp_path / "a.html"

    def opened(*names: str) -> Page:
        files = ",".join(str(tmp_path / f"{name}.csv") for name in names)
        args = ["--axis", f"links.lte.trace={files}", "--set", "end=15 s", "--out", str(out)]
        assert main(["plot", "drive-test", *args]) == 0
        return Page(browser, out)

    page = opened("early", "late")
    first, second = page.run("midflight.runs.map(run => run.label)")
    spans = [(5e9, 7e9), (8e9, 10e9)]
    assert page.drawn()["bars"] == [[first, *spans[0]], [second, *spans[1]]]
    assert "outage of a line" in legend(page)[0]
    assert "outage (rate of 0)" not in legend(page)[0]
    # A bar has the colour of its run, above the lines of the grid.
    pixel = (
        "(([r, g, b]) => [r, g, b])(((x, y) => document.getElementById('graph').getContext('2d')"
        ".getImageData(x, y, 1, 1).data)(Math.round((a => a.left + (time - midflight.view().t0) /"
        " (midflight.view().t1 - midflight.view().t0) * a.w)(midflight.area) * devicePixelRatio),"
        " Math.round((midflight.area.y2 + y) * devicePixelRatio)))"
    )
    for place, (begin, end) in enumerate(spans):
        at = pixel.replace("time", str(begin + 0.63 * (end - begin))).replace(
            "y2 + y", f"y2 + {3 + 6 * place}"
        )
        colour = page.run(f"midflight.colours()[{place}]")
        half = [(255 + int(colour[one : one + 2], 16)) / 2 for one in (1, 3, 5)]
        assert page.run(at) == pytest.approx(half, abs=2)
    # A single run that is shown is shaded.
    page.click("#runs button:nth-child(2)")
    drawn = page.drawn()
    assert drawn["bars"] == []
    assert drawn["outages"] == [list(spans[0])]
    assert "outage (rate of 0)" in legend(page)[0]
    page = opened("early", "again")
    assert page.drawn()["bars"] == []
    assert "outage (rate of 0)" in legend(page)[0]
    capsys.readouterr()
    assert browser.complaints == []


def test_the_button_goes_to_outages_in_order_of_time(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page("drive-test", tmp_path / "a.html", schemes=["sack"]))
    assert page.run("document.getElementById('next').textContent") == "outage"
    status = "document.getElementById('status').textContent"
    page.click("#next")
    assert page.run(status) == "outage at 73.000000 s"
    # Two handoffs, the first of which is in the first half.
    path = Scenario(
        links={"a": Link(preset="wifi"), "b": Link(rate="4 Mbit/s", delay="60 ms")},
        flows={"f": Flow()},
        handoffs=[Handoff(at="2 s", to="b"), Handoff(at="16 s", to="a")],
        end="20 s",
    )
    page = Page(browser, plot_page(path, tmp_path / "b.html"))
    assert page.run("document.getElementById('next').textContent") == "handoff"
    moments = page.run("midflight.runs[0].moments.filter(m => m[1] !== 'notice').map(m => m[0])")
    instants = sorted(set(moments))
    assert len(instants) >= 2
    for at in (*instants, instants[0]):
        page.click("#next")
        assert page.run(status).endswith(f"at {at / 1e9:.6f} s")
        page.drawn()
    page.click("#reset")
    page.click("#next")
    assert page.run(status).endswith(f"at {instants[0] / 1e9:.6f} s")
    # From a view that begins later, the first one in it.
    page.run("midflight.look(10e9, 20e9, 0, 1e6)")
    page.click("#next")
    assert page.run(status).endswith(
        f"at {next(one for one in instants if one >= 10e9) / 1e9:.6f} s"
    )
    assert browser.complaints == []


def test_orders_and_notes_of_a_long_run_are_thinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy with an order at each ACK has more of them than a page has room for."""

    def ordered(self: History) -> list[Order]:
        return [Order(int(at), "mine", "resume", "x" * 80) for at in self.times("ack")]

    monkeypatch.setattr(History, "orders", property(ordered))
    monkeypatch.setattr(page, "MOST_CHARACTERS", 400_000)
    monkeypatch.setattr(page_data, "_LEAST_STEPS", 200)
    text = plot_page("bufferbloat", tmp_path / "a.html").read_text()
    data = data_of(text)
    assert len(json.dumps(data, separators=(",", ":"))) <= 400_000
    (run,) = data["runs"]
    (one,) = watch("bufferbloat")
    flow = one.flows[0]
    assert 0 < len(run["orders"]) < len(flow.orders) / 2
    assert len(flow.orders) * 80 > 400_000
    for event in ("rto", "fast_retransmit"):
        found = [note[0] for note in run["notes"] if note[1] == event]
        assert found == flow.times(event).tolist()


def tip_over(page: Page, time: float) -> str:
    """What is said in the middle of the panel below at a time in ns."""
    x, y = page.run(
        f"((a, v) => [a.left + ({time} - v.t0) / (v.t1 - v.t0) * a.w, a.y2 + a.h2 / 2])"
        "(midflight.area, midflight.view())"
    )
    page.browser.mouse("Moved", page.left + x, page.top + y)
    text: str = page.run("document.getElementById('tip').innerText")
    return text


def test_values_of_means_are_told_where_one_points(browser: Browser, tmp_path: Path) -> None:
    page = Page(browser, plot_page(with_outage(), tmp_path / "a.html"))
    page.left, page.top = page.run(
        "(document.querySelector('[data-below=throughput]').click(), midflight.draw(),"
        " (r => [r.left, r.top])(document.getElementById('graph').getBoundingClientRect()))"
    )
    (one,) = watch(with_outage())
    (panel,) = panels_of([one], ["throughput"], (0, 60))
    curve = next(curve for curve in panel.curves if curve.draw == "steps")
    place = int(np.searchsorted(curve.time_s, 10.3, side="right")) - 1
    found = tip_over(page, 10.3e9)
    words = (
        f"{one.labels[0]} (CUBIC): {round(curve.value[place], 2):g} Mbit/s, "
        "mean of 10 to 10.5 s; link 8"
    )
    assert words in found
    assert "17.303 to 18 s" in tip_over(page, 17.35e9)
    page.run("(document.querySelector('[data-below=queue]').click(), midflight.draw())")
    assert "queue of cell: mean 100, 100 to 100 packets" in tip_over(page, 19.5e9)
    assert "2.1e+9" not in page.run("document.getElementById('status').textContent")
    page.run("midflight.look(0, 0.2e9, 0, 1e6)")
    tip_over(page, 0.1e9)
    assert "ssthresh not set" in page.run("document.getElementById('status').textContent")
    assert browser.complaints == []


def test_the_rate_of_a_link_has_means_and_room(browser: Browser, tmp_path: Path) -> None:
    seconds = list(range(600))
    rates = [2 + one % 9 for one in seconds]
    trace = {"columns": {"time_s": seconds, "rate_mbps": rates}}
    drive = Scenario(
        links={"cell": Link(delay="30 ms", trace=trace)}, flows={"a": Flow()}, end="600 s"
    )
    page = Page(browser, plot_page(drive, tmp_path / "a.html"))
    page.click("[data-below=throughput]")
    texts = (
        "(g => { const was = g.fillText, all = []; g.fillText = t => all.push(t);"
        " midflight.draw(); g.fillText = was; return all; })"
    )
    written = page.run(f"{texts}(document.getElementById('graph').getContext('2d'))")
    assert any(re.fullmatch(r"\d{2,3},000", one) for one in written)
    assert "-0" not in written
    drawn = page.drawn()
    assert drawn["below"]["title"] == "throughput (Mbit/s), means of 1 s"
    assert drawn["rate"]["t"] == [1e9 * one for one in range(600)]
    # The rate is sampled, so that a step is known a little later.
    assert drawn["rate"]["v"] == pytest.approx(rates, abs=0.2)
    assert max(drawn["rate"]["v"]) < drawn["below"]["high"]
    # Where there is room for its steps, they are drawn, up to the highest.
    page.run("midflight.look(100e9, 150e9, 0, 1e6)")
    drawn = page.drawn()
    assert len(drawn["rate"]["t"]) >= 600
    assert drawn["below"]["high"] >= 10
    # Runs whose links have the same rate have one area, others one each.
    for axis, areas in (("seed=1,2", 1), ("links.cell.rate=4 Mbit/s,8 Mbit/s", 2)):
        out = tmp_path / "c.html"
        plain = tmp_path / "plain.toml"
        plain.write_text(
            'end = "5 s"\n[links.cell]\nrate = "5 Mbit/s"\ndelay = "20 ms"\n[flows.a]\n'
        )
        assert main(["plot", str(plain), "--axis", axis, "--out", str(out)]) == 0
        page = Page(browser, out)
        page.click("[data-below=throughput]")
        assert len(page.drawn()["areas"]) == areas
    # A rate that is far above what the flow takes is told.
    slow = Scenario(
        links={"cell": Link(rate="50 Mbit/s", delay="20 ms")},
        flows={"a": Flow(workload="call")},
        end="10 s",
    )
    page = Page(browser, plot_page(slow, tmp_path / "b.html"))
    page.click("[data-below=throughput]")
    drawn = page.drawn()
    assert drawn["far"] == "the link's rate is 50 Mbit/s"
    assert drawn["below"]["high"] < 5
    assert browser.complaints == []


def test_an_empty_queue_of_a_link_that_is_not_used_is_not_drawn(
    browser: Browser, tmp_path: Path
) -> None:
    page = Page(browser, plot_page("ferry", tmp_path / "a.html"))
    page.left, page.top = page.run(
        "(document.querySelector('[data-below=queue]').click(), midflight.look(0, 90e9, 0, 1e6),"
        " (r => [r.left, r.top])(document.getElementById('graph').getBoundingClientRect()))"
    )
    for second, used, other in ((20, "lte", "satellite"), (70, "satellite", "lte")):
        told = tip_over(page, second * 1e9)
        assert f"queue of {used}: mean" in told
        assert f"queue of {other}" not in told
    assert page.run("Math.max(...midflight.levels(0).t)") < 45e9
    assert browser.complaints == []


def test_queues_of_flows_are_theirs(browser: Browser, tmp_path: Path) -> None:
    """A link with a queue for each flow: one line for all packets, and one for each flow."""
    two = Scenario(
        links={"cell": Link(rate="10 Mbit/s", delay="20 ms", queue="fq-codel")},
        flows={"a": Flow(), "b": Flow()},
        end="4 s",
    )
    page = Page(browser, plot_page(two, tmp_path / "a.html"))
    assert page.run("midflight.queues.map(q => q.run && q.run.label)") == [None, "a", "b"]
    page.click("[data-below=queue]")
    page.drawn()
    assert all(f"packets of {name}" in legend(page)[1] for name in "ab")
    page.click("#runs button:nth-child(1)")
    assert "packets of a" not in legend(page)[1]
    assert "packets of b" in legend(page)[1]
    assert browser.complaints == []


def test_many_changes_are_a_bar_until_one_looks_closely(browser: Browser, tmp_path: Path) -> None:
    changes = [
        Change(at=f"{0.1 * (1 + place)} s", link="cell", rate=f"{4 + place % 3} Mbit/s")
        for place in range(70)
    ]
    one = Scenario(
        links={"cell": Link(rate="4 Mbit/s", delay="20 ms")},
        flows={"a": Flow()},
        changes=changes,
        end="8 s",
    )
    page = Page(browser, plot_page(one, tmp_path / "a.html"))
    assert page.drawn()["moments"] == ["70 handoffs or changes: zoom in to see them"]
    page.run("midflight.look(0.95e9, 1.25e9, 0, 1e6)")
    assert page.drawn()["moments"] == ["cell changes"] * 3


def test_a_line_beneath_others_is_seen(browser: Browser, tmp_path: Path) -> None:
    # Both do the same until the link breaks.
    page = Page(
        browser,
        plot_page(
            "wifi-to-lte", tmp_path / "a.html", schemes=["sack", "freeze"], from_s=0, until_s=0.2
        ),
    )
    drawn = page.drawn()
    first = page.run("midflight.runs[0].label")
    assert list(drawn["beneath"]) == [first]
    assert drawn["beneath"][first] >= drawn[first]["segments"] > 20

    def colours(place: int) -> list[float]:
        """The colour a few pixels beside a segment of the second line."""
        found: list[float] = page.run(
            f"(([x, y]) => [...document.getElementById('graph').getContext('2d')"
            f".getImageData((x - 5) * devicePixelRatio, (y - 2) * devicePixelRatio, 1, 1).data])"
            f"(midflight.point(1, 'segment', {place}))"
        )
        return found[:3]

    # The first segments of a burst have nothing at their left but what is beneath them.
    sent = page.run("[...midflight.runs[1].sent]")
    begins = [k for k in range(5, 60) if sent[k] - sent[k - 1] > 10_000_000]
    assert begins
    red, _, blue = colours(begins[0])
    assert blue > red + 20
    page.run("(document.querySelector('#runs button').click(), midflight.draw())")
    assert "beneath" not in page.drawn()
    red, _, blue = colours(begins[0])
    assert blue <= red + 20


def test_numbers_of_an_axis_end_below_the_rows_of_marks(browser: Browser, tmp_path: Path) -> None:
    page = Page(
        browser, plot_page("wifi-to-lte", tmp_path / "a.html", schemes=["sack", "enhanced"])
    )
    rowed = 0
    for panel in ("window", "throughput", "queue"):
        page.click(f"[data-below={panel}]")
        for _ in ("linear", "log"):
            drawn = page.drawn()
            below, height = drawn["below"], page.run("midflight.area.h2")
            share = 1 - below["rowsHigh"] / height
            rowed += bool(below["rows"])
            low, high = below["low"], below["high"]
            for one in drawn["ticks"][below["title"]]:
                is_log = below["isLog"]
                at = math.log(one / low) / math.log(high / low) if is_log else one / high
                # Half of a number is as high as that.
                assert share * at * height <= share * height + 1 - 6 * bool(below["rows"])
            page.click("#log")
    assert rowed >= 4


def test_names_of_events_cover_neither_packets_nor_each_other(
    browser: Browser, tmp_path: Path
) -> None:
    sets = {"handoffs.0.gap": "4 s", "links.lte.loss": "uniform 0.3%"}
    crowded = Scenario.read("wifi-to-lte", sets=sets)
    page = plot_page(crowded, tmp_path / "a.html", schemes=["sack", "enhanced", "freeze", "ehn"])
    opened = Page(browser, page)
    area = opened.run("midflight.area")
    named = opened.run("(midflight.draw(), midflight.named())")
    assert {one["text"] for one in named} == {"RTO", "FR"}
    assert len(named) > 8
    packets = np.array(
        opened.run(
            "midflight.runs.flatMap((run, k) => ['segment', 'ack'].flatMap(kind =>"
            " [...kind === 'ack' ? run.ack : run.sent].map((_, i) => midflight.point(k, kind, i))))"
        )
    )
    for place, one in enumerate(named):
        assert area["left"] <= one["left"]
        assert one["right"] <= area["left"] + area["w"]
        assert area["top"] <= one["top"]
        assert one["bottom"] <= area["top"] + area["h1"]
        low, high = [one["left"], one["top"]], [one["right"], one["bottom"]]
        assert not ((packets > low) & (packets < high)).all(axis=1).any()
        x = np.linspace(*one["line"][::2], 40)
        line = np.stack([x, np.linspace(*one["line"][1::2], 40)], axis=1)
        for other in (*named[:place], *named[place + 1 :]):
            low, high = [other["left"], other["top"]], [other["right"], other["bottom"]]
            assert not ((line > low) & (line < high)).all(axis=1).any()
            assert not (
                one["left"] < other["right"]
                and other["left"] < one["right"]
                and one["top"] < other["bottom"]
                and other["top"] < one["bottom"]
            )


def test_the_rate_of_a_link_names_its_direction_where_flows_go_both_ways(
    browser: Browser, tmp_path: Path
) -> None:
    """The way up may be far slower; the figure's legend has it, too."""
    link = Link(rate="80 Mbit/s", delay="20 ms", up={"rate": "10 Mbit/s"})
    up, down = Flow(size="1 MB", direction="up"), Flow(size="1 MB")
    for flows, way in (({"a": up, "b": down}, ", up"), ({"b": down, "a": up}, ", down")):
        both = Scenario(links={"cell": link}, flows=flows, end="60 s")
        page = Page(browser, plot_page(both, tmp_path / "a.html"))
        page.click("[data-below=throughput]")
        assert any(f"rate of the link in use{way}" in one for one in legend(page))
    one = Scenario(links={"cell": link}, flows={"b": down}, end="60 s")
    page = Page(browser, plot_page(one, tmp_path / "b.html"))
    page.click("[data-below=throughput]")
    assert not any("rate of the link in use," in one for one in legend(page))
