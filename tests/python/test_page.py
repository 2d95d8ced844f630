"""The interactive page and the report: read back, opened without a network, and used."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import midflight
from browser import Browser
from midflight import Change, Flow, Handoff, Link, MidflightError, Notice, Scenario
from midflight.cli import main
from midflight.plot import plot_page
from midflight.plot.common.style import SERIES, looks_of
from midflight.plot.over_time.applications import (
    bitrate_of,
    buffer_of,
    frames_of,
    objects_of,
    stalls_of,
)
from midflight.plot.over_time.history import History, histories
from midflight.plot.page import data as page_data
from midflight.plot.page import html as page
from midflight.plot.page.data import packed
from midflight.run_report import report_run
from pages import Page, data_of, legend, opened_browser, series, unpacked

OF_PATHS = ("band", "bars", "gaps", "holes", "moments", "outages", "ticks")
SCHEMES = ("sack", "enhanced", "freeze")
#: What a page calls the first of them.
PLAIN = "sack (CUBIC)"


def moving(**more: Any) -> Scenario:
    return Scenario(
        title="Away </script><b>& back",
        links={
            "wifi": Link(preset="wifi"),
            "lte": Link(rate="4 Mbit/s", delay="60 ms", loss="uniform 0.5%"),
        },
        flows={"download": Flow(scheme="sack", size="1 MB")},
        handoffs=[Handoff(at="0.15 s", to="lte", gap="100 ms")],
        end="20 s",
        seed=3,
        **more,
    )


def test_numbers_survive_packing() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    numbers = [0, 0, 1, -1, 63, 64, -64, -65, 2**31, -(2**31), 2**53, 5]
    assert unpacked(packed(np.array(numbers))) == numbers
    many = rng.integers(-(2**40), 2**40, 10_000)
    assert unpacked(packed(many)) == many.tolist()
    assert packed(np.empty(0)) == ""


def test_every_segment_has_its_fate(tmp_path: Path) -> None:
    html = plot_page(moving(), tmp_path / "a.html", schemes=SCHEMES).read_text()
    runs = histories(moving(), schemes=SCHEMES)
    for found, one in zip(data_of(html)["runs"], runs, strict=True):
        assert found["label"] == {"sack": PLAIN}.get(one.label, one.label)
        sent, segment = unpacked(found["sent"]), unpacked(found["segment"])
        after, how = unpacked(found["after"]), unpacked(found["how"])
        assert len(sent) == len(one.rows("send", "rexmit", "window_probe"))
        # Each arrival and each loss is of one copy, which was sent before.
        ends = [
            (at + took, number, found["ends"][place])
            for at, number, took, place in zip(sent, segment, after, how, strict=True)
            if place >= 0
        ]
        lost = zip(*one.lost_segments(), strict=True)
        said = [(int(at), int(number), f"lost {why}") for at, number, why in lost]
        rcv = zip(one.times("rcv"), one.values("rcv"), one.details("rcv"), strict=True)
        said += [(int(at), int(number), f"received {link}") for at, number, link in rcv]
        assert sorted(ends) == sorted(said)
        assert all(took > 0 for took, place in zip(after, how, strict=True) if place >= 0)
        copies = {number: segment.count(number) for number in segment}
        assert all(copies[segment[place]] > 1 for place in unpacked(found["unsure"]))
        assert len(found["orders"]) == len(one.orders)


def test_copies_that_were_not_under_way_together_are_distinguished() -> None:
    times = {"sent": [0, 10, 20, 100], "segment": [1, 2, 1, 1], "rcv": [5, 12, 130, 140]}

    class Log(History):
        def __init__(self) -> None:
            rows = [(t, "send", s) for t, s in zip(times["sent"], times["segment"], strict=True)]
            numbers = [1, 2, 1, 1]
            rows += [(t, "rcv", s) for t, s in zip(times["rcv"], numbers, strict=True)]
            rows.sort()
            self._time = np.array([row[0] for row in rows])
            self._value = np.array([float(row[2]) for row in rows])
            self._rows = {
                name: np.flatnonzero([row[1] == name for row in rows]) for name in ("send", "rcv")
            }
            # Nothing is lost.
            texts: Any = SimpleNamespace(codes=lambda _: ([""], np.zeros(len(rows), np.uint8)))
            self._table = texts

    found = page_data._fates(Log())
    assert list(found["after"]) == [5, 2, 110, 40]
    # The copies sent at 20 and 100 were both under way until 130.
    assert list(found["unsure"]) == [2, 3]


class Reader(HTMLParser):
    """The data from which a page is made."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")


@pytest.mark.parametrize("kind", ["page", "report"])
def test_nothing_is_loaded_from_elsewhere(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    html = (plot_page if kind == "page" else report_run)(moving(), path).read_text()
    found = Reader(html)
    for name in ("src", "href"):
        assert all(one.startswith(("data:", "#")) for one in found.attributes.get(name, []))
    assert "link" not in found.tags
    assert "@import" not in html
    assert "url(" not in re.sub(r'"data:[^"]*"', "", html)
    assert found.attributes["lang"] == ["en"]
    assert "<title>" in html
    # A title is text.
    assert "b" not in found.tags or "<b>& back" not in html
    assert "Away &lt;/script&gt;&lt;b&gt;&amp; back" in html


def test_a_page_has_throughput_and_queue(tmp_path: Path) -> None:
    file = plot_page("bufferbloat", tmp_path / "a.html")
    data = data_of(file.read_text())
    (run,) = data["runs"]
    trace = Scenario.read("bufferbloat").trace()
    came = trace.numpy("event") == "rcv"
    times, sizes = trace.numpy("time_ns")[came], trace.numpy("bytes")[came]
    arrived = unpacked(run["bytes"])
    assert (len(arrived) - 2) * data["unit"] < run["end"] <= (len(arrived) - 1) * data["unit"]
    for place in (0, 1, len(arrived) // 3, len(arrived) // 2):
        assert arrived[place] == sizes[times < place * data["unit"]].sum()
    assert arrived[-1] == sizes.sum()
    (path,) = data["paths"]
    _, rate = series(path["rate"])
    assert set(np.round(rate)) == {50, 6}
    setup = Scenario.read("bufferbloat").plan().setup(0)
    links, _ = setup.samples()
    # Both links have a queue for a while.
    assert [one["label"] for one in data["queues"]] == ["queue of lte", "queue of hsdpa"]
    # Each is drawn while its link is used.
    assert [len(one["used"]) for one in data["queues"]] == [1, 1]
    assert data["queues"][0]["used"][0][1] <= data["queues"][1]["used"][0][0]
    for one, link in zip(data["queues"], setup.access_links, strict=True):
        here = (links.numpy("number") == link["down"]) & (links.numpy("time_ns") <= run["end"])
        mean, least, most = (series(one[name])[1] for name in ("packets", "least", "most"))
        packets = links.numpy("packets")[here]
        # Until the next sample.
        assert np.allclose(mean[:-1], links.numpy("mean")[here][1:])
        assert np.array_equal(least[:-1], np.minimum(packets[:-1], links.numpy("least")[here][1:]))
        assert np.array_equal(most[:-1], np.maximum(packets[:-1], links.numpy("most")[here][1:]))
        assert one["every"] == 8_000_000
    assert run["every"] == 1


def test_a_long_run_is_thinned_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = plot_page("wifi-to-lte", tmp_path / "whole.html").read_text()
    assert "To stay small" not in whole
    (all_of_it,) = data_of(whole)["runs"]
    monkeypatch.setattr(page, "MOST_CHARACTERS", 300_000)
    monkeypatch.setattr(page_data, "_LEAST_STEPS", 200)
    thin = plot_page("wifi-to-lte", tmp_path / "thin.html").read_text()
    (run,) = data_of(thin)["runs"]
    assert run["every"] > 1
    named = {2: "second", 3: "third"}.get(run["every"], f"{run['every']}th")
    assert f"and elsewhere every {named} new segment and ACK" in thin
    assert len(unpacked(run["sent"])) < len(unpacked(all_of_it["sent"]))
    assert len(json.dumps(data_of(thin), separators=(",", ":"))) <= 300_000
    # All losses and retransmissions are there, with their fate.
    for kind in (1, 2):
        assert unpacked(run["kind"]).count(kind) == unpacked(all_of_it["kind"]).count(kind)
    lost = {run["ends"].index(one) for one in run["ends"] if one.startswith("lost ")}
    how = [one for one in unpacked(run["how"]) if one in lost]
    assert len(how) == len([one for one in unpacked(all_of_it["how"]) if one in lost]) >= 60
    # Near the handoff, timeouts and fast retransmits all packets are there, and all of cwnd.
    (history,) = histories("wifi-to-lte")
    assert len(run["near"]) >= 2
    times = {name: np.array(unpacked(all_of_it[name])) for name in ("sent", "ack")}
    times["cwnd"] = np.array(series(all_of_it["cwnd"])[0])
    kept = {name: unpacked(run[name]) for name in ("sent", "ack")} | {
        "cwnd": series(run["cwnd"])[0]
    }
    for begin, end in run["near"]:
        for name, all_times in times.items():
            inside = (all_times >= begin) & (all_times <= end)
            assert sorted({*all_times[inside].tolist()} - {*kept[name]}) == []
    for at in (*history.times("break", "rto"), history.times("make")[-1]):
        assert any(begin < at < end for begin, end in run["near"])
    # Lines keep their greatest values.
    for name in ("cwnd", "rtt"):
        assert series(run[name])[1].max() == series(all_of_it[name])[1].max()
    assert series(run["flight"])[1].max() == history.flight.value.max()
    assert unpacked(run["acked"])[-1] == history.values("ack")[-1]


def test_a_gigabyte_is_a_page_of_less_than_five_megabytes(tmp_path: Path) -> None:
    """A video of that size, with its buffer and its stalls."""
    long = Scenario(
        links={"cell": Link(rate="50 Mbit/s", delay="20 ms")},
        flows={
            "video": Flow(
                workload="video", set={"video_length": "800 s", "video_rates": "10 Mbit/s"}
            )
        },
        handoffs=[Handoff(at="300 s", to="cell", gap="60 s")],
        end="1200 s",
    )
    file = plot_page(long, tmp_path / "long.html", flow="video")
    assert long.run().flows.column("acked")[0] * 1448 > 1e9
    assert file.stat().st_size < 5_000_000
    (run,) = data_of(file.read_text())["runs"]
    assert run["every"] > 1
    assert len(run["stalls"]) >= 1


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser()


@pytest.fixture(scope="module")
def shown(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    file = plot_page(moving(), tmp_path_factory.mktemp("page") / "page.html", schemes=SCHEMES)
    return Page(browser, file)


@pytest.fixture
def opened(shown: Page) -> Iterator[Page]:
    """The page as it was when it was opened."""
    shown.browser.ask("Page.reload")
    page = Page(shown.browser, shown.file)
    yield page
    assert page.browser.complaints == []
    assert all(one.startswith("file://") for one in page.browser.requests)


def test_the_page_shows_what_the_runs_did(opened: Page) -> None:
    runs = histories(moving(), schemes=SCHEMES)
    assert opened.run("document.documentElement.lang") == "en"
    assert opened.run("document.title").startswith("Away </script><b>& back")
    for number, one in enumerate(runs):
        at = f"midflight.runs[{number}]"
        assert opened.run(f"{at}.label") == {"sack": PLAIN}.get(one.label, one.label)
        sent = ("send", "rexmit", "window_probe")
        assert opened.run(f"[...{at}.sent]") == one.times(*sent).tolist()
        assert opened.run(f"[...{at}.segment]") == one.values(*sent).tolist()
        assert opened.run(f"[...{at}.acked]") == one.values("ack").tolist()
        cwnd = opened.run(f"[...{at}.cwnd.v]")
        assert np.array_equal(cwnd, one.values("cwnd").astype(np.float32))
        for instant in (10_000_000, 150_000_000, 400_000_000, 1_500_000_000):
            assert opened.run(f"midflight.flightAt({number}, {instant})") == one.flight.at(instant)
    drawn = opened.drawn()
    assert set(drawn) == {PLAIN, *SCHEMES[1:], "below", "beneath", *OF_PATHS}
    assert sorted(drawn["moments"]) == ["notice", "to lte", "wifi lost"]
    assert drawn[PLAIN]["segments"] == len(runs[0].rows("send"))
    assert drawn[PLAIN]["retransmissions"] == len(runs[0].rows("rexmit"))
    assert drawn[PLAIN]["lost"] == len(runs[0].lost)
    # Probes of a closed window are no retransmissions.
    frozen = next(one for one in runs if one.label == "freeze")
    assert drawn["freeze"]["probes"] == len(frozen.rows("window_probe")) > 0
    assert drawn["freeze"]["retransmissions"] == len(frozen.rows("rexmit"))
    assert "probe of a closed window" in opened.run("document.getElementById('marks').innerText")


def test_schemes_are_toggled(opened: Page) -> None:
    pressed = "[...document.querySelectorAll('#runs button')].map(b => b.ariaPressed)"
    assert opened.run(pressed) == ["true"] * 3
    opened.click("#runs button:nth-child(2)")
    assert opened.run(pressed) == ["true", "false", "true"]
    assert set(opened.drawn()) == {PLAIN, "freeze", "below", "beneath", *OF_PATHS}
    assert opened.run("document.getElementById('status').textContent") == "enhanced is hidden."
    opened.click("#runs button:nth-child(2)")
    assert set(opened.drawn()) == {PLAIN, *SCHEMES[1:], "below", "beneath", *OF_PATHS}


def test_zoom_move_and_reset(opened: Page) -> None:
    whole = opened.view()
    # Pixels are whole to a page.
    x, y = (int(one) for one in opened.point(0, "segment", 100))
    before = opened.under(x, y)
    shift, alt = 8, 1
    opened.browser.mouse("Wheel", x, y, deltaX=0, deltaY=-300, modifiers=shift)
    near = opened.view()
    for low, high in (("t0", "t1"), ("s0", "s1")):
        assert near[high] - near[low] == pytest.approx((whole[high] - whole[low]) / np.e, rel=0.01)
    # The point under the pointer stays there.
    assert opened.under(x, y) == pytest.approx(before)
    opened.browser.mouse("Wheel", x, y, deltaX=0, deltaY=-300, modifiers=alt)
    high = opened.view()
    assert (high["t0"], high["t1"]) == (near["t0"], near["t1"])
    assert high["s1"] - high["s0"] < 0.4 * (near["s1"] - near["s0"])
    # Without a key the segments of that time are in sight, and the time under the pointer stays.
    before = opened.under(x, y)
    opened.browser.mouse("Wheel", x, y, deltaX=0, deltaY=-300)
    fitted = opened.view()
    assert fitted["t1"] - fitted["t0"] == pytest.approx((near["t1"] - near["t0"]) / np.e, rel=0.01)
    assert opened.under(x, y)[0] == pytest.approx(before[0])
    opened.run("document.querySelector('#fit').click()")
    assert opened.view() == pytest.approx(fitted)
    before = opened.under(x, y)
    opened.browser.drag(x, y, x + 80, y + 30)
    assert opened.under(x + 80, y + 30) == pytest.approx(before)
    opened.click("#reset")
    assert opened.view() == pytest.approx(whole)
    left, top = opened.left, opened.top
    opened.browser.drag(left + 200, top + 100, left + 400, top + 250, shift=True)
    box = opened.view()
    assert whole["t0"] < box["t0"] < box["t1"] < whole["t1"]
    assert (box["t1"] - box["t0"]) / (whole["t1"] - whole["t0"]) == pytest.approx(
        200 / opened.run("midflight.area.w"), rel=0.02
    )
    opened.run("document.getElementById('graph').focus()")
    opened.browser.press("0")
    assert opened.view() == pytest.approx(whole)


def test_two_fingers_zoom(opened: Page) -> None:
    browser, whole = opened.browser, opened.view()
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    x, y = (int(one) for one in opened.point(0, "segment", 400))
    before = opened.under(x, y)
    browser.touch("Start", (x - 40, y))
    browser.touch("Start", (x - 40, y), (x + 40, y))
    browser.touch("Move", (x - 60, y), (x + 60, y))
    browser.touch("Move", (x - 80, y), (x + 80, y))
    near = opened.view()
    for low, high in (("t0", "t1"), ("s0", "s1")):
        assert near[high] - near[low] == pytest.approx((whole[high] - whole[low]) / 2)
    assert opened.under(x, y) == pytest.approx(before)
    # Both move on: what was between them goes along.
    browser.touch("Move", (x - 50, y + 20), (x + 110, y + 20))
    assert opened.under(x + 30, y + 20) == pytest.approx(before)
    # One leaves, the other moves the view without a jump.
    at = opened.under(x + 110, y + 20)
    browser.touch("End", (x - 50, y + 20))
    browser.touch("Move", (x + 80, y + 30), first=1)
    assert opened.under(x + 80, y + 30) == pytest.approx(at)
    browser.touch("End")
    moved = opened.view()
    assert moved["t1"] - moved["t0"] == pytest.approx(near["t1"] - near["t0"])
    # Fingers on the panel below zoom the time alone.
    low = opened.top + opened.run("midflight.area.y2") + 20
    browser.touch("Start", (x - 20, low), (x + 20, low))
    browser.touch("Move", (x - 40, low), (x + 40, low))
    browser.touch("End")
    flat = opened.view()
    assert flat["t1"] - flat["t0"] == pytest.approx((moved["t1"] - moved["t0"]) / 2)
    assert (flat["s0"], flat["s1"]) == pytest.approx((moved["s0"], moved["s1"]))
    # A tap shows the details.
    opened.run("midflight.look(0, 0.1e9, 0, 60)")
    place = opened.run("midflight.runs[0].segment.indexOf(20)")
    browser.touch("Start", opened.point(0, "segment", place))
    browser.touch("End")
    assert opened.run("midflight.picked()")[0].startswith("Segment 20, new [")
    assert opened.run("!document.getElementById('tip').hidden")
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=False)


def test_shapes_of_a_page_mean_one_thing(opened: Page) -> None:
    shapes = opened.run("midflight.shapes")
    assert len(set(shapes)) == len(SCHEMES)
    # Orders of policies, timeouts, losses and ACKs.
    assert not {"flag", "down", "cross", "dash"} & set(shapes)
    markers = {"o": "circle", "s": "square", "D": "diamond", "p": "pentagon", "*": "star"}
    looks = looks_of(SCHEMES)
    assert shapes == [markers[str(SERIES[look].marker)] for look in looks]
    assert opened.run("midflight.colours()") == [SERIES[look].colour for look in looks]


def test_hovering_reports_what_became_of_a_segment(opened: Page) -> None:
    (one,) = histories(moving())
    at = "midflight.runs[0]"
    opened.run("midflight.look(0, 0.1e9, 0, 60)")
    place = opened.run(f"{at}.segment.indexOf(20)")
    found = opened.hover(0, "segment", place)
    assert found[0].startswith("Segment 20, new [")
    sent = one.times("send")[list(one.values("send")).index(20)]
    received = one.times("rcv")[list(one.values("rcv")).index(20)]
    covered = one.times("ack")[np.argmax(one.values("ack") >= 20)]
    assert found[1] == f"sent {sent / 1e9:.6f} s"
    assert found[2] == f"received {received / 1e9:.6f} s over wifi-mobile"
    assert found[3] == f"acknowledged {covered / 1e9:.6f} s"
    cwnd, flight = one.steps("cwnd").at(int(sent)), one.flight.at(int(sent))
    assert found[-1].startswith(f"when sent: cwnd {cwnd:g}, ssthresh ")
    assert f"flight {flight:g}, RTO {one.steps('rto_value').at(int(sent)):.3f} s" in found[-1]

    lost, segment, _ = (column[0] for column in one.lost_segments())
    opened.run(f"midflight.look({lost} - 2e7, {lost} + 2e7, {segment} - 9, {segment} + 9)")
    place = opened.run(f"{at}.lost[0]")
    assert opened.hover(0, "lost", place)[2].startswith(f"lost {lost / 1e9:.6f} s at wifi")

    time = int(one.times("rexmit")[-1])
    segment = int(one.values("rexmit")[-1])
    opened.run(f"midflight.look({time} - 2e7, {time} + 2e7, {segment} - 9, {segment} + 9)")
    place = opened.run(f"{at}.kind.lastIndexOf(1)")
    assert re.match(
        rf"Segment {segment}, retransmission, copy (\d) of \1 \[sack \(CUBIC\)\]",
        opened.hover(0, "segment", place)[0],
    )


def test_hovering_reports_acks_orders_and_handoffs(opened: Page) -> None:
    runs = histories(moving(), schemes=SCHEMES)
    duplicate = int(np.flatnonzero(np.diff(runs[0].values("ack")) == 0)[0]) + 1
    time, number = runs[0].times("ack")[duplicate], runs[0].values("ack")[duplicate]
    for button in (2, 3):
        opened.click(f"#runs button:nth-child({button})")
    opened.run(f"midflight.look({time} - 3e5, {time} + 3e5, {number} - 20, {number} + 20)")
    found = opened.hover(0, "ack", duplicate)
    assert found[0] == f"ACK {number:g}, duplicate 1 [{PLAIN}]"
    assert found[1] == f"reached the sender {time / 1e9:.6f} s"
    for button in (2, 3):
        opened.click(f"#runs button:nth-child({button})")
    opened.click("#reset")
    order = runs[1].orders[0]
    found = opened.hover(1, "order", 0)
    assert found[0] == f"{order.author}: {order.order}"
    assert found[1] == f"because {order.reason}"
    opened.browser.mouse("Moved", opened.left + opened.run("midflight.area.width") - 5, opened.top)
    assert opened.run("midflight.picked()") is None
    x = opened.point(0, "moment", 0)[0]
    opened.browser.mouse("Moved", x, opened.top + opened.run("midflight.area.top") + 12)
    assert opened.run("midflight.picked()")[0] == "wifi lost"
    assert f"{PLAIN}: cwnd" in opened.run("document.getElementById('status').textContent")


def test_keys_do_what_the_mouse_does(opened: Page) -> None:
    opened.run("document.getElementById('graph').focus()")
    whole = opened.view()
    opened.browser.press("+")
    near = opened.view()
    assert near["t1"] - near["t0"] == pytest.approx((whole["t1"] - whole["t0"]) / 1.5)
    opened.browser.press("ArrowRight")
    assert opened.view()["t0"] > near["t0"]
    opened.browser.press("h")
    said = opened.run("document.getElementById('status').textContent")
    assert said == "wifi lost at 0.150000 s"
    assert opened.view()["t0"] < 150e6 < opened.view()["t1"] < near["t1"]
    opened.browser.press("n")
    assert opened.run("midflight.picked()")[0].startswith("Segment ")
    first = opened.run("document.getElementById('status').textContent")
    opened.browser.press("n")
    assert opened.run("document.getElementById('status').textContent") != first
    opened.browser.press("b")
    assert opened.run("document.getElementById('box').ariaPressed") == "true"
    opened.browser.press("Escape")
    assert opened.run("midflight.boxMode") is not None
    assert opened.run("document.getElementById('box').ariaPressed") == "false"
    assert opened.run("midflight.picked()") is None


def test_the_legend_has_a_picture_of_each_mark(opened: Page) -> None:
    above, below = legend(opened)
    for mark in ("segment sent", "sent again", "ACK", "lost", "link in use", "no link", "notice"):
        assert mark in above
    assert "RTOsent again after a timeout" in above
    for mark in ("cwnd", "timeout", "order of a policy"):
        assert mark in below
    # Of three lines ssthresh and flight would hide the windows.
    assert "flight" not in below
    spans, pictures = opened.run(
        "['span', 'svg'].map(one => document.querySelectorAll(`#marks ${one}`).length)"
    )
    assert spans == pictures >= 10
    opened.click("[data-below=timer]")
    assert "RTT sample" in legend(opened)[1]
    assert "cwnd" not in legend(opened)[1]
    # Panels of applications are offered to flows that have one.
    hidden = opened.run(
        "[...document.querySelectorAll('[data-below]')].filter(b => b.hidden)"
        ".map(b => b.dataset.below)"
    )
    assert hidden == ["bitrate", "buffer", "frames", "objects"]


@pytest.mark.parametrize(
    ("starter", "panel", "words"),
    [
        ("video-tunnel", "buffer", ("seconds of video", "stands still")),
        ("call-handoff", "frames", ("in time", "late", "deadline")),
        ("web-page", "objects", ("from its request until it is read",)),
    ],
)
def test_applications_have_a_panel(
    browser: Browser, tmp_path: Path, starter: str, panel: str, words: tuple[str, ...]
) -> None:
    """It is shown first, has the numbers of the run, and says what is under the pointer."""
    page = Page(browser, plot_page(starter, tmp_path / "a.html"))
    (one,) = histories(starter)
    assert page.run("midflight.below()") == panel
    assert all(word in legend(page)[1] for word in words)
    # A legend names only marks that are there.
    assert "order" not in legend(page)[1]
    run = "midflight.runs[0]"
    if panel == "buffer":
        time, level = buffer_of(one)
        assert page.run(f"[...{run}.buffer.t]") == np.round(time * 1e9).tolist()
        assert page.run(f"[...{run}.buffer.v]") == level.astype(np.float32).tolist()
        at, rate = bitrate_of(one)
        assert page.run(f"[...{run}.bitrate.t]") == np.round(at * 1e9).tolist()
        assert page.run(f"[...{run}.bitrate.v]") == rate.tolist()
        ((begin, end),) = stalls_of(one)
        assert page.run(f"{run}.stalls") == [[round(begin * 1e9), round(end * 1e9)]]
        found = page.hover(0, "stall", 0)
        assert found[0] == f"Playback stands still [{PLAIN}]"
        assert found[2] == f"for {end - begin:.6f} s"
    elif panel == "frames":
        frames = frames_of(one)
        table = Scenario.read(starter).run().flows
        late = page.run(f"[...{run}.frames.late]")
        assert sum(late) == table.column("frames_late")[0] > 0
        assert page.run(f"{run}.frames.deadline") == 150
        took = np.array(page.run(f"[...{run}.frames.took]"))
        assert took == pytest.approx(frames.took_s * 1e3, rel=1e-6)
        assert ((took > 150) == np.array(late, bool)).all()
        found = page.hover(0, "frame", late.index(1))
        assert found[0] == f"Frame, late [{PLAIN}]"
        assert found[2] == f"read {took[late.index(1)]:.3f} ms later"
    else:
        numbers, begins, ends = objects_of(one)
        assert page.run(f"[...{run}.objects.number]") == numbers.tolist()
        assert page.run(f"[...{run}.objects.end]") == np.round(ends * 1e9).tolist()
        found = page.hover(0, "object", 3)
        assert found[0] == f"Object 3 of the page [{PLAIN}]"
        assert found[2] == f"read {ends[3]:.6f} s, after {ends[3] - begins[3]:.6f} s"
    for other in ("window", "timer", "throughput", "queue", panel):
        page.click(f"[data-below={other}]")
        page.drawn()
    assert browser.complaints == []


def test_an_object_that_was_not_read_says_so(browser: Browser, tmp_path: Path) -> None:
    cut = Scenario.read("web-page", sets={"end": "1.2 s"})
    page = Page(browser, plot_page(cut, tmp_path / "cut.html"))
    ends = page.run("[...midflight.runs[0].objects.end]")
    assert ends[-1] == -1
    assert page.hover(0, "object", len(ends) - 1)[2] == "not read"
    assert "not read" in legend(page)[1]
    assert browser.complaints == []


@pytest.mark.parametrize("panel", ["window", "pipe", "timer", "throughput", "queue"])
def test_axes_are_logarithmic_or_linear(opened: Page, panel: str) -> None:
    opened.click(f"[data-below={panel}]")
    pressed = "document.getElementById('log').ariaPressed === 'true'"
    for key in (None, "l"):
        before = opened.drawn()["below"]
        assert opened.run(pressed) == before["isLog"]
        if key is None:
            opened.click("#log")
        else:
            opened.run("document.getElementById('graph').focus()")
            opened.browser.press(key)
        after = opened.drawn()["below"]
        assert after["isLog"] != before["isLog"]
        assert opened.run(pressed) == after["isLog"]
        says = opened.run("document.getElementById('log').textContent")
        assert says == ("axis: log" if after["isLog"] else "axis: linear")
        assert (after["low"] > 0) == after["isLog"]
    # What is chosen for one panel is not chosen for others.
    other = "pipe" if panel != "pipe" else "window"
    opened.click(f"[data-below={other}]")
    assert opened.drawn()["below"]["isLog"] is False


def colours(page: Page) -> Any:
    """The colours of the middle of the graph's upper left corner, and of the letters."""
    return page.run(
        "[[...document.getElementById('graph').getContext('2d').getImageData(2, 2, 1, 1).data],"
        " getComputedStyle(document.body).backgroundColor]"
    )


def test_dark_where_dark_is_preferred(opened: Page) -> None:
    opened.drawn()
    assert colours(opened) == [[255, 255, 255, 255], "rgb(255, 255, 255)"]
    opened.browser.dark(True)
    dark = [[20, 25, 30, 255], "rgb(20, 25, 30)"]
    # The page receives it with its next frame.
    until = time.monotonic() + 20
    while colours(opened) != dark and time.monotonic() < until:
        time.sleep(0.02)
    assert colours(opened) == dark


def test_a_page_begins_at_the_given_time(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "zoomed.html"
    args = ["--from", "0.1 s", "--until", "0.3 s", "--segments", "50:300"]
    assert main(["plot", "wifi-to-lte", *args, "--out", str(file)]) == 0
    opened = Page(browser, file)
    found = opened.view()
    assert (found["t0"], found["t1"]) == (pytest.approx(1e8), pytest.approx(3e8))
    assert (found["s0"], found["s1"]) == (50, 300)
    opened.click("[data-below=timer]")
    opened.drawn()
    assert browser.complaints == []
    assert "--from '0.1 s' --until '0.3 s' --segments 50:300" in file.read_text().replace(
        "&#39;", "'"
    )


def test_a_hundred_thousand_segments_are_thinned(browser: Browser, tmp_path: Path) -> None:
    long = Scenario(
        links={"fast": Link(rate="100 Mbit/s", delay="10 ms")},
        flows={"bulk": Flow()},
        changes=[Change(at="3 s", link="fast", pause="50 ms", notice=Notice())],
        end="15 s",
    )
    opened = Page(browser, plot_page(long, tmp_path / "long.html"))
    assert opened.run("midflight.runs[0].sent.length") > 100_000
    drawn = opened.drawn()[PLAIN]
    assert 500 < drawn["segments"] < 20_000
    assert opened.run("midflight.drawn().moments.length") == 3
    opened.run("midflight.look(5e9, 5.01e9, 0, 1e7)")
    opened.click("#fit")
    near = opened.drawn()[PLAIN]
    seen = opened.run("midflight.runs[0].sent.filter(t => t >= 5e9 && t <= 5.01e9).length")
    assert near["segments"] == seen > 50
    assert browser.complaints == []


def test_the_report_has_the_scenario_its_results_and_how_to_repeat_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    args = ["report", "wifi-to-lte", "--set", "flows.download.scheme=enhanced", "--out", str(out)]
    assert main(args) == 0
    assert capsys.readouterr().out == ""
    html = out.read_text()
    outcome = Scenario.read("wifi-to-lte", sets={"flows.download.scheme": "enhanced"}).run()
    figures = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', html)
    # Throughput and queue of all, and the packets of the flow.
    assert len(figures) == 2
    svg = base64.b64decode(figures[0]).decode()
    assert svg.startswith("<?xml")
    manifest = re.search(r'<pre id="manifest">(.*?)</pre>', html, re.S)
    assert manifest
    import html as markup

    again = json.loads(markup.unescape(manifest[1]))
    assert again["digests"] == outcome.digests
    assert Scenario.from_dict(again["scenario"]).run().digests == outcome.digests
    assert "midflight report wifi-to-lte --set=flows.download.scheme=enhanced --out" in html
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", html)
    took = outcome.flows.column("duration_ns")[0] / 1e9
    for expected in ("wifi", "lte", "download", "3 MB", "handoff to lte", f"{took:.3f}"):
        assert expected in cells, expected
    assert cells.count("at once") == 1


def test_a_report_of_several_runs_and_flows(tmp_path: Path) -> None:
    one = moving(runs=3)
    flows = {"bulk": Flow(size="300 kB", count=6), "cross": Flow(on="lte", size="300 kB")}
    many = midflight.Scenario.from_dict({**one.to_dict(), "flows": {}, "runs": 3})
    many = Scenario(**{**vars(many), "flows": flows, "notices": False})
    html = report_run(many.run(), tmp_path / "r.html").read_text()
    assert html.count("<img ") == 5
    assert "Not drawn: bulk-4, bulk-5." in html
    assert "Means per run" in html
    assert "<td>nothing</td>" in html


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["report", "nothing", "--out", "r.html"], 'there is no file "nothing"'),
        (["report", "wifi-to-lte", "--out", "/proc/r.html"], 'cannot write "/proc/r.html"'),
        (["report", "wifi-to-lte", "--set", "x", "--out", "r.html"], '--set "x" is not PATH=VALUE'),
        (["report", "wifi-to-lte"], "--out"),
    ],
)
def test_mistakes_are_one_sentence(
    args: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(args) == 2
    said = capsys.readouterr()
    assert expected in said.err
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_heading_names_the_scenario_and_what_was_set(tmp_path: Path) -> None:
    file, out = tmp_path / "mine.toml", tmp_path / "mine.html"
    file.write_text('links.lte.preset = "lte"\nflows.download.size = "50 kB"\n')
    words = ["plot", str(file), "--out", str(out)]
    for sets, title in (
        ([], "mine.toml"),
        (["links.lte.loss=uniform 1%"], "mine.toml, but with links.lte.loss=uniform 1%"),
    ):
        assert main([*words, *(one for pair in sets for one in ("--set", pair))]) == 0
        assert f"<h1>{title}</h1>" in out.read_text()
    # Without a command the source has a name.
    plot_page(file, out)
    assert "<h1>mine.toml</h1>" in out.read_text()
    plot_page(Scenario.read(file), out)
    assert "<h1>Scenario without a title</h1>" in out.read_text()


def test_a_page_has_the_name_of_a_page(tmp_path: Path) -> None:
    with pytest.raises(MidflightError, match=r"is not the name of a page; it ends in \.html"):
        plot_page("wifi-to-lte", tmp_path / "run.png")
    assert not [*tmp_path.iterdir()]


def test_times_without_rows_are_hatched(browser: Browser, tmp_path: Path) -> None:
    times = [*range(9), *range(16, 25)]
    columns = {"time_s": times, "rate_mbps": [4.0] * len(times)}
    trace = {"columns": columns, "from": "5 s"}
    one = Scenario(
        links={"cell": Link(delay="20 ms", trace=trace)},
        flows={"download": Flow()},
        end="19 s",
    )
    path = plot_page(one, tmp_path / "holes.html")
    page = Page(browser, path)
    assert page.drawn()["holes"] == [[4_000_000_000, 11_000_000_000, False]]
    assert "no rows in the recording" in legend(page)[0]
    assert data_of(path.read_text())["time"] == "Time after 5 s of the recording (s)"


def test_outages_of_a_recording_are_shaded(browser: Browser, tmp_path: Path) -> None:
    columns = {"time_s": [0, 1, 2, 3], "rate_mbps": [4, 0, 4, 4]}
    one = Scenario(
        links={"cell": Link(delay="20 ms", trace={"columns": columns})},
        flows={"download": Flow()},
        end="4 s",
    )
    page = Page(browser, plot_page(one, tmp_path / "outage.html"))
    assert page.drawn()["outages"] == [[1_000_000_000, 2_000_000_000]]
    assert "outage (rate of 0)" in legend(page)[0]
    pixel = "[...document.getElementById('graph').getContext('2d').getImageData"
    scale = page.run("window.devicePixelRatio")

    def shade(seconds: float) -> set[tuple[int, ...]]:
        """The colours of a part of a line across the upper panel."""
        x, y = page.run(
            f"(({{t0, t1}}, a) => [a.left + ({seconds * 1e9} - t0) / (t1 - t0) * a.w, a.top + 6])"
            "(midflight.view(), midflight.area)"
        )
        found = page.run(f"{pixel}({x * scale}, {y * scale}, 20, 1).data]")
        return {tuple(found[place : place + 3]) for place in range(0, len(found), 4)}

    # The colour of a time without a link, and hatching over it.
    assert (0xF2, 0xE3, 0xC8) in shade(1.4)
    assert len(shade(1.4)) > len(shade(2.6))
    assert (0xF2, 0xE3, 0xC8) not in shade(2.6)
    page.run("document.getElementById('graph').focus()")
    browser.press("H")
    assert page.run("document.getElementById('status').textContent") == "outage at 1.000000 s"


def test_the_legend_explains_names_only_while_they_are_drawn(
    browser: Browser, tmp_path: Path
) -> None:
    page = Page(browser, plot_page("ferry", tmp_path / "ferry.html"))
    page.drawn()
    shown = "[...document.querySelectorAll('#marks [data-mark=RTO]')].map(o => o.style.display)"
    states: list[bool] = []
    for view in ("0, 90e9, 0, 1e6", "39e9, 46e9, 0, 1e6"):
        page.run(f"midflight.look({view})")
        page.drawn()
        is_drawn = page.run("midflight.named().some(one => one.text === 'RTO')")
        states.append(is_drawn)
        assert page.run(shown) == ["" if is_drawn else "none"], view
    assert False in states
