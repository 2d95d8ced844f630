"""The panels below the packets of the interactive page: up to three over the same time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser
from midflight import Flow, Link, Scenario
from midflight.cli import main
from midflight.plot import plot_page
from pages import Page, legend, opened_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser()


def page_of(
    browser: Browser, file: Path, source: str | Scenario = "wifi-to-lte", height: int = 1000
) -> Page:
    browser.resize(1200, height)
    return Page(browser, plot_page(source, file))


def panels(page: Page) -> list[str]:
    found: list[str] = page.run("midflight.panels()")
    pressed = page.run(
        "[...document.querySelectorAll('[data-below][aria-pressed=true]')]"
        ".map(b => b.dataset.below)"
    )
    assert set(pressed) == set(found)
    return found


def places(page: Page) -> list[list[float]]:
    """Where panels begin and how high they are, from the upper one on."""
    found: list[list[float]] = page.run("midflight.area.panels")
    return found


def long() -> Scenario:
    flow = Flow(size="10 MB", scheme="sack")
    link = Link(rate="1 Mbit/s", delay="20 ms", queue="30 packets")
    return Scenario(links={"a": link}, flows={"download": flow}, end="70 s")


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("wifi-to-lte", ["window", "throughput"]),
        (long(), ["throughput", "queue"]),
        ("call-handoff", ["frames", "throughput"]),
    ],
    ids=["window", "long", "call"],
)
def test_a_high_window_has_two_panels_at_first(
    browser: Browser, tmp_path: Path, source: str | Scenario, kinds: list[str]
) -> None:
    page = page_of(browser, tmp_path / "a.html", source, 740)
    assert panels(page) == kinds
    drawn = page.drawn()
    assert [drawn["below"]["kind"], *(one["kind"] for one in drawn["others"])] == kinds
    page = page_of(browser, tmp_path / "a.html", source, 739)
    assert panels(page) == kinds[:1]
    assert "others" not in page.drawn()


def test_panels_are_added_and_taken_away(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path / "a.html", height=730)
    assert panels(page) == ["window"]
    # A single panel cannot be taken away.
    page.click("[data-more=window]")
    assert panels(page) == ["window"]
    page.click("[data-more=throughput]")
    page.click("[data-below=queue]", shift=True)
    assert panels(page) == ["window", "throughput", "queue"]
    # The legend names each, and explains events that two of them have once.
    below = legend(page)[1]
    assert [below.count(f"{one}:") for one in ("window", "throughput", "queue")] == [1, 1, 1]
    assert below.count("spurious timeout") <= 1
    assert below.count("nothing arrives") == 1
    # A fourth one has no room, which is said.
    page.click("[data-more=timer]")
    assert panels(page) == ["window", "throughput", "queue"]
    assert "No more than 3" in page.run("document.getElementById('status').textContent")
    page.click("[data-below=throughput]", shift=True)
    assert panels(page) == ["window", "queue"]
    assert len(places(page)) == 3
    page.click("[data-more=window]")
    assert panels(page) == ["queue"]
    # Without Shift a quantity is shown alone.
    page.click("[data-more=window]")
    page.click("[data-below=timer]")
    assert panels(page) == ["timer"]
    assert browser.complaints == []


def test_the_keyboard_adds_panels(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path / "a.html", height=730)
    page.run("document.querySelector('[data-below=queue]').focus()")
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}

    def press(modifiers: int) -> None:
        browser.ask("Input.dispatchKeyEvent", type="keyDown", modifiers=modifiers, **enter)
        browser.ask("Input.dispatchKeyEvent", type="keyUp", key="Enter", modifiers=modifiers)

    press(8)
    assert panels(page) == ["window", "queue"]
    press(8)
    assert panels(page) == ["window"]
    press(0)
    assert panels(page) == ["queue"]
    # The button beside it can be reached, and takes away what it added.
    page.run("document.querySelector('[data-more=window]').focus()")
    press(0)
    assert panels(page) == ["queue", "window"]
    press(0)
    assert panels(page) == ["queue"]


@pytest.mark.parametrize("height", [500, 1000])
def test_the_page_grows_with_its_panels(browser: Browser, tmp_path: Path, height: int) -> None:
    page = page_of(browser, tmp_path / "a.html", height=height)
    page.click("[data-below=throughput]")
    ends = [page.run("midflight.area.end")]
    for kind in ("queue", "timer"):
        page.click(f"[data-more={kind}]")
        (top, high), *below = places(page)
        ends.append(page.run("midflight.area.end"))
        assert ends[-1] == sum(below[-1])
        assert len({one for _, one in below}) == 1
        assert min(one for _, one in below) >= 96
        assert high >= 0.46 * (high + sum(one for _, one in below)) - 1
        assert all(a + b < c for (a, b), (c, _) in zip([[top, high], *below], below, strict=False))
        # The labels of the axis of time have room.
        assert page.run("midflight.area.height") >= ends[-1] + 30
    if height == 500:
        assert page.run("midflight.area.height") > height
    else:
        assert ends[1] == pytest.approx(ends[2], abs=25)


def test_the_pointer_tells_what_all_panels_have(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path / "a.html")
    page.click("[data-below=throughput]")
    told = []
    for kind in ("queue", "timer"):
        page.click(f"[data-more={kind}]")
    page.run("midflight.draw()")
    x = page.left + page.run("midflight.area.left + .9 * midflight.area.w")
    for y, high in places(page)[1:]:
        browser.mouse("Moved", x, page.top + y + 0.7 * high)
        told.append(page.run("midflight.picked()"))
    assert told[0] == told[1] == told[2]
    text = "\n".join(told[0])
    names = [text.index(f"\u2013 {one} \u2013") for one in ("throughput", "queue", "RTT, RTO")]
    values = [text.index(one) for one in ("Mbit/s, mean of", " packets", "last RTT")]
    assert names[0] < values[0] < names[1] < values[1] < names[2] < values[2]
    # A single panel needs no name.
    page.click("[data-below=queue]")
    browser.mouse("Moved", x, page.top + places(page)[1][0] + 60)
    assert not [one for one in page.run("midflight.picked()") if one.startswith("\u2013")]


def test_a_video_has_a_panel_of_bit_rates(browser: Browser, tmp_path: Path) -> None:
    """The pointer tells the rate of the segment that was requested last, and none after the end."""
    page = page_of(browser, tmp_path / "a.html", "video-tunnel")
    page.click("[data-below=bitrate]")
    assert panels(page) == ["bitrate"]
    assert page.drawn()["below"]["title"] == "video bit rate (Mbit/s)"
    assert "bit rate of the segment" in legend(page)[1]
    page.run("(w => midflight.look(w.t0, w.t1, w.s0, w.s1))(midflight.whole)")
    page.drawn()
    y, high = places(page)[1]
    told = []
    for time in (1, 20, 54, 120):
        x = page.run(
            f"(({{t0, t1}}, a) => a.left + ({time}e9 - t0) / (t1 - t0) * a.w)"
            "(midflight.view(), midflight.area)"
        )
        browser.mouse("Moved", page.left + x, page.top + y + 0.3 * high)
        told.append(page.run("midflight.picked()"))
    # Between the last request and the end of playback nothing is chosen any more.
    *rates, after = told
    assert [one[1].split(": ")[1] for one in rates] == ["3 Mbit/s", "6 Mbit/s", "3 Mbit/s"]
    assert after is None
    assert browser.complaints == []


def test_each_panel_has_an_axis(browser: Browser, tmp_path: Path) -> None:
    """Of numbers and of their logarithms; the button is for the panel chosen last."""
    page = page_of(browser, tmp_path / "a.html")
    page.click("[data-below=throughput]")
    page.click("[data-more=window]")

    def axes() -> list[bool]:
        drawn = page.drawn()
        return [drawn["below"]["isLog"], *(one["isLog"] for one in drawn["others"])]

    def button() -> str:
        page.drawn()
        found: str = page.run("document.getElementById('log').textContent")
        return found

    assert axes() == [False, False]
    assert button() == "axis of window: linear"
    page.click("#log")
    assert axes() == [False, True]
    assert button() == "axis of window: log"
    y, high = places(page)[1]
    for kind in ("Pressed", "Released"):
        at = (page.left + 300, page.top + y + high / 2)
        browser.mouse(kind, *at, button="left", clickCount=1)
    assert button() == "axis of throughput: linear"
    page.click("#log")
    assert axes() == [True, True]
    drawn = page.drawn()
    titles = [drawn["below"]["title"], drawn["others"][0]["title"]]
    assert titles[0].startswith("throughput (Mbit/s), means of ")
    assert titles[1] == "cwnd (segments)"
    assert all(len(drawn["ticks"][one]) >= 3 for one in titles)


def test_all_panels_have_the_shades_and_rows_of_marks(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    assert main(["plot", "wifi-to-lte", "--set", "handoffs.0.gap=500 ms", "--out", str(file)]) == 0
    browser.resize(1200, 1000)
    page = Page(browser, file)
    page.click("[data-below=throughput]")
    page.click("[data-more=window]")
    ((begin, end),) = page.drawn()["gaps"]
    drawn = page.drawn()
    assert "timeout" in drawn["below"]["rows"][0]
    assert "timeout" in drawn["others"][0]["rows"][0]
    x = page.run(
        f"((a, v) => a.left + ({begin + 0.52 * (end - begin)} - v.t0) / (v.t1 - v.t0) * a.w)"
        "(midflight.area, midflight.view())"
    )

    def shaded(y: float, high: float) -> int:
        """How many pixels of a column have the shade of no link."""
        found: int = page.run(
            "(([...all], gap) => all.filter((_, i) => i % 4 === 0 && all[i] === gap[0]"
            f" && all[i + 1] === gap[1]).length)(document.getElementById('graph').getContext('2d')"
            f".getImageData({round(x)}, {round(y)}, 1, {round(high)}).data, [0xfa, 0xf4])"
        )
        return found

    (top, first), (y, high), (y2, high2) = places(page)
    assert min(shaded(top, first) / first, shaded(y, high) / high, shaded(y2, high2) / high2) > 0.5
    assert shaded(y + high + 2, y2 - y - high - 4) == 0


def test_things_of_applications_are_found_in_any_panel(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path / "a.html", "call-handoff")
    page.click("[data-below=throughput]")
    page.click("[data-more=frames]")
    page.run("midflight.draw()")
    late = page.run("[...midflight.runs[0].frames.late].indexOf(1)")
    y, high = places(page)[2]
    assert page.top + y <= page.point(0, "frame", late)[1] <= page.top + y + high
    assert page.hover(0, "frame", late)[0].startswith("Frame, late")


def test_means_are_of_a_round_trip_as_in_figures(browser: Browser, tmp_path: Path) -> None:
    """Those of less show the bursts of a window."""
    links = {"sat": Link(rate="20 Mbit/s", delay="300 ms", queue="1500 packets")}
    scenario = Scenario(links=links, flows={"a": Flow()}, end="30 s")
    out = plot_page(scenario, tmp_path / "a.html", schemes=["sack", "bbr-linux"])
    page = Page(browser, out)
    page.click("[data-below=throughput]")
    assert "means of 1 s" in page.drawn()["below"]["title"]
    # A round trip is longer than an eighth of a short time, which is 0.5 s as a round number.
    page.run("midflight.look(10e9, 12e9)")
    assert "means of 0.5 s" in page.drawn()["below"]["title"]


def test_the_legend_explains_timeouts_of_two_panels_once(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path / "a.html", height=800)
    page.click("[data-below=throughput]")
    page.click("[data-more=timer]")
    assert legend(page)[1].replace("timeout undone", "").count("timeout") == 1
    page.click("[data-more=throughput]")
    assert legend(page)[1].replace("timeout undone", "").count("timeout") == 1


def test_axes_of_all_panels_have_names_with_units(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path / "a.html", "wifi-to-lte")
    titles = {}
    for kind in ("window", "pipe", "timer", "throughput", "queue"):
        page.click(f"[data-below={kind}]")
        titles[kind] = page.drawn()["below"]["title"].partition(", means of ")[0]
    assert titles == {
        "window": "cwnd (segments)",
        "pipe": "pipe (segments)",
        "timer": "RTT, RTO (s)",
        "throughput": "throughput (Mbit/s)",
        "queue": "queue (packets)",
    }
