"""What figures over time leave out so that they can be read at a glance, and how they say it."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from midflight import Flow, Handoff, Link, Scenario
from midflight.plot import figure_of, plot_over_time
from midflight.plot.over_time.bins import at_bursts, without_gaps
from midflight.plot.over_time.crowded import without_many
from midflight.plot.over_time.curves import Curve, Panel, seconds_text
from midflight.plot.over_time.followed import TimeUnit, time_title
from midflight.plot.over_time.history import histories
from midflight.plot.over_time.intervals import has_whole_bursts
from midflight.plot.over_time.marks import STALL
from midflight.plot.over_time.panel_scales import (
    CUT,
    mark_cut_lines,
    peak_words,
    peaks_off,
    scale_of,
    with_peaks,
)
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.room import OUTAGE, Room, shade_spans
from midflight.plot.over_time.run import run_figure
from midflight.plot.over_time.stalls import without_short_stalls
from midflight.plot.over_time.timed import Times, lines_of
from midflight.plot.over_time.watched import watch


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def words_of(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_long_outage_does_not_flatten_the_delays(tmp_path: Path) -> None:
    """The axis is that of usual delays, and the text above it has the longest one."""
    outage = {"time_s": [0, 10, 22, 60], "rate_mbps": [20, 0, 20, 20]}
    scenario = Scenario(
        links={"cell": Link(delay="30 ms", queue="100 packets", trace=outage)},
        flows={"download": Flow(direction="down")},
        end="60 s",
    )
    for schemes in ([], ["sack", "cubic"], ["sack", "cubic", "vho", "bbr-linux"]):
        runs = watch(scenario, kinds=["delay"], schemes=schemes)
        window, panels = shown_panels(runs, ["delay"])
        axes = over_time_figure(runs, panels, window).axes[-1]
        medians = np.concatenate([one.value for one in panels[0].curves])
        longest = max(panels[0].curves, key=lambda one: np.nanmax(one.most))
        most = float(np.nanmax(longest.most)) / 1000
        assert most > 11
        # Few have their values beside their arrowheads.
        assert axes.get_title("right").endswith("; arrowhead: longest delay")
        values = [text.get_text() for text in axes.texts if not text.get_path_effects()]
        assert f"{round(1000 * most, -2):,.0f} ms" in values
        assert len(values) == len([one for one in axes.lines if one.get_gid() == CUT])
        assert axes.get_yscale() == "linear"
        assert axes.get_ylabel() == "One-way delay\n(ms)"
        assert np.nanquantile(medians, 0.95) < axes.get_ylim()[1] < 1000
    # All of it is drawn on demand, and in the table.
    for scale in ("linear", "log"):
        axes = over_time_figure(runs, panels, window, yscale=scale).axes[-1]
        assert axes.get_yscale() == scale
    table = tmp_path / "delays.csv"
    plot_over_time(scenario, tmp_path / "a.svg", "delay", yscale="linear", csv=table)
    assert max(float(row["most"] or 0) for row in rows_of(table)) > 11_000
    axes = figure_of(plot_over_time, scenario, "delay", yscale="linear").axes[-1]
    assert axes.get_ylim()[1] > 11_000
    steady = watch("bufferbloat")
    window, panels = shown_panels(steady, ["delay"])
    axes = over_time_figure(steady, panels, window).axes[-1]
    assert axes.get_yscale() == "linear"
    assert "most:" not in axes.get_title("right")


def test_delays_that_are_long_for_a_good_part_of_the_time_have_a_logarithmic_axis() -> None:
    scenario = Scenario(
        links={
            "fast": Link(rate="100 Mbit/s", delay="5 ms", queue="20 packets"),
            "slow": Link(rate="1 Mbit/s", delay="60 ms", queue="60 packets"),
        },
        flows={"download": Flow()},
        handoffs=[Handoff(at="15 s", to="slow")],
        end="20 s",
    )
    runs = watch(scenario, kinds=["delay"], schemes=["sack", "cubic"])
    window, panels = shown_panels(runs, ["delay"])
    axes = over_time_figure(runs, panels, window).axes[-1]
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "One-way delay\n(ms, log)"
    low, high = axes.get_ylim()
    values = np.concatenate([one.value for one in panels[0].curves])
    assert low < np.nanmin(values) < np.nanmax(values) < high


def test_a_single_link_has_no_band() -> None:
    link = Link(rate="10 Mbit/s", delay="20 ms")
    one = Scenario(links={"cell": link}, flows={"a": Flow(size="1 MB")}, end="5 s")
    assert len(figure_of(plot_over_time, one, ["throughput", "queue"]).axes) == 2
    two = Scenario(
        links={"cell": link, "lte": Link(preset="lte")},
        flows={"a": Flow()},
        handoffs=[Handoff(at="1 s", to="lte")],
        end="3 s",
    )
    band, _ = figure_of(plot_over_time, two, ["throughput"]).axes
    assert [text.get_text() for text in band.texts] == ["cell", "lte"]
    # Its handovers are seen there.
    dish = Link(trace={"model": "starlink"})
    sky = Scenario(links={"dish": dish}, flows={"a": Flow()}, end="20 s")
    assert len(figure_of(plot_over_time, sky, ["throughput"]).axes) == 2
    assert len(figure_of(plot_over_time, sky, ["throughput"], until_s=5.0).axes) == 1


@pytest.mark.parametrize(
    ("ends", "is_drawn"),
    [
        ((9.5, 10.4), False),
        ((9.5, 11.0), True),
        # Beyond the time that is shown.
        ((99.5, 140.0), False),
        ((98.0, 140.0), True),
    ],
)
def test_times_without_arrivals_that_are_too_short_are_not_drawn(
    ends: tuple[float, float], is_drawn: bool
) -> None:
    """The width of a figure makes no difference."""

    def stall(ends: tuple[float, float], flow: str) -> Curve:
        low, high = np.array([ends[0]]), np.array([ends[1]])
        how: Any = {"flow": flow, "in_row": True}
        return Curve(STALL, "stalled", low, np.zeros(1), low=low, high=high, **how)

    room = Room(6.5, (0.0, 100.0))
    panel = Panel("throughput", "Throughput", "Mbit/s", [stall(ends, "a")])
    found = without_short_stalls(panel, room)
    assert sum(len(one.time_s) for one in found.curves) == is_drawn
    assert found.detail == ""
    # It is drawn beside a long one of another line.
    panel = replace(panel, curves=[*panel.curves, stall((5.0, 200.0), "b")])
    assert len(without_short_stalls(panel, room).curves[0].time_s) == 1


def test_times_without_arrivals_that_timeouts_hide_are_drawn() -> None:
    """Their ends are seen beside the triangles: another size of a figure would have them, too."""
    low, high = np.array([10.0, 50.0]), np.array([12.0, 53.0])
    how: Any = {"flow": "a", "in_row": True}
    line = Curve(STALL, "stalled", low, np.zeros(2), low=low, high=high, **how)
    marks = Curve("timeout", "timeout", np.array([11.0, 51.5]), np.zeros(2), **how)
    panel = Panel("throughput", "Throughput", "Mbit/s", [line, marks])

    def drawn(width_in: float, curves: list[Curve]) -> list[list[float]]:
        found = without_short_stalls(replace(panel, curves=curves), Room(width_in, (0.0, 100.0)))
        return [one.time_s.tolist() for one in found.curves if one.label == STALL]

    assert drawn(6.5, [line, marks]) == [[10.0, 50.0]]
    assert drawn(2.5, [line, marks]) == [[10.0, 50.0]]


def test_the_legend_has_the_stalls_that_are_seen(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    figure = figure_of(plot_over_time, "wifi-to-lte", ["throughput"], csv=table)
    assert STALL in words_of(figure)
    short = {"time_s": [0, 30, 32.5, 600], "rate_mbps": [5, 0, 5, 5]}
    scenario = Scenario(
        links={"cell": Link(delay="30 ms", queue="50 packets", trace=short)},
        flows={"a": Flow()},
        end="600 s",
    )
    figure = figure_of(plot_over_time, scenario, ["throughput"], csv=table)
    drawn = {row["line"] for row in rows_of(table)}
    assert STALL in drawn
    assert any("timeout" in word for word in words_of(figure))
    assert STALL not in words_of(figure)


def test_both_kinds_of_timeouts_are_one_entry() -> None:
    runs = watch("train", kinds=["throughput"], schemes=["sack", "bbr-linux"])
    window, panels = shown_panels(runs, ["throughput"])
    drawn = {one.draw for one in panels[0].curves}
    words = words_of(over_time_figure(runs, panels, window))
    if {"timeout", "spurious"} <= drawn:
        assert "timeout (hollow: spurious)" in words
        assert not {"timeout", "spurious timeout"} & {*words}
    else:
        pytest.fail("no run with both")


@pytest.mark.parametrize("width", [7.16, 3.5])
@pytest.mark.parametrize("schemes", [["sack"], ["sack", "cubic", "bbr-linux"]])
def test_rows_of_marks_have_the_number_of_all(width: float, schemes: list[str]) -> None:
    link = Link(rate="20 Mbit/s", delay="5 ms", queue="20 packets", loss="uniform 1%")
    scenario = Scenario(links={"cell": link}, flows={"a": Flow()}, end="60 s")
    runs = watch(scenario, kinds=["queue"], schemes=schemes)
    window, panels = shown_panels(runs, ["queue"], size=width)
    (axes,) = over_time_figure(runs, panels, window, size=width).axes
    lost = [sum(map(len, (one.lost for one in run.flows))) for run in runs]
    assert min(lost) > 150
    if len(schemes) > 1:
        # Those of the queue, and those on the radio; the legend explains their marks.
        shown = [
            text.get_text().removesuffix(" lost").split(" + ")
            for text in axes.texts
            if not text.get_path_effects()
        ]
        numbers = [[int(one.strip("\u00d7* ").replace(",", "")) for one in row] for row in shown]
        assert [sum(row) for row in numbers] == lost
        assert "lost: " not in axes.get_title("right")
        assert max(len(row) for row in shown) == (2 if width > 7 else 1)
    else:
        # A row for those on the radio, and one for the others.
        shown = [
            text.get_text().removesuffix(" lost")
            for text in axes.texts
            if not text.get_path_effects()
        ]
        assert sum(int(one.replace(",", "")) for one in shown) == lost[0]
    assert "marked" not in axes.get_title("right")


@pytest.mark.parametrize("count", [4, 5])
def test_rows_of_marks_of_more_than_four_lines_have_to_be_asked_for(count: int) -> None:
    gaps = {"handoffs.0.gap": "500 ms"}
    schemes = ["sack", "freeze", "vho", "bbr-linux", "enhanced"][:count]
    runs = watch(Scenario.read("wifi-to-lte", sets=gaps), schemes=schemes)

    def in_rows(marks: list[str] | None) -> bool:
        window, panels = shown_panels(runs, ["throughput", "queue"], marks=marks)
        figure = over_time_figure(runs, panels, window)
        said = [axes.get_title("right") for axes in figure.axes]
        is_told = "timeout" in said[-2] and "lost packets" in said[-1]
        assert is_told == (count > 4 and marks is None)
        found = {
            axes.get_ylabel()
            for axes in figure.axes
            for line in axes.lines
            if line.get_marker() in ("v", "|") and len(line.get_xdata())
        }
        texts = [text for axes in figure.axes for text in axes.texts if "lost" in text.get_text()]
        assert len(texts) == count * bool(found)
        return bool(found)

    assert in_rows(None) == (count == 4)
    assert in_rows(["losses", "timeouts"])


def test_timeouts_are_in_the_panel_in_which_they_mean_most(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    cases: list[tuple[list[str], list[str], list[str] | None, list[bool]]] = [
        (["throughput", "queue", "cwnd"], [], None, [True, False, False]),
        (["queue", "cwnd", "throughput"], ["sack", "freeze"], None, [False, False, True]),
        (["queue", "cwnd"], [], None, [False, True]),
        (["queue"], [], None, [True]),
        # Those that are asked for are in all.
        (["throughput", "queue", "cwnd"], [], ["timeouts"], [True, True, True]),
    ]
    for kinds, schemes, marks, expected in cases:
        how: Any = {"schemes": schemes, "marks": marks, "csv": table}
        figure = figure_of(plot_over_time, "wifi-to-lte", kinds, **how)
        panels = [axes for axes in figure.axes if axes.get_ylabel()]
        marked = [
            any(line.get_marker() == "v" and len(line.get_xdata()) > 0 for line in axes.lines)
            for axes in panels
        ]
        assert marked == expected
        # The table has all.
        assert {row["kind"] for row in rows_of(table) if row["line"] == "timeout"} == {*kinds}


def test_windows_that_change_all_the_time_are_means_beside_others() -> None:
    link = Link(rate="20 Mbit/s", delay="5 ms", queue="20 packets")
    scenario = Scenario(links={"cell": link}, flows={"a": Flow()}, end="60 s")
    kinds = ["cwnd", "pipe"]
    several = watch(scenario, kinds=kinds, schemes=["sack", "bbr-linux"])
    panels = shown_panels(several, kinds, interval_s=1.0)[1]
    assert [panel.detail for panel in panels] == ["means of 1 s"] * 2
    line = next(one for one in panels[0].curves if one.label == "sack")
    steps = several[0].flows[0].steps("cwnd")
    time = np.append(steps.time_ns / 1e9, 60.0)
    begin, end = 20.0, 21.0
    held = np.clip(np.minimum(time[1:], end) - np.maximum(time[:-1], begin), 0, None)
    mean = line.value[np.searchsorted(line.time_s, 20.5, side="right") - 1]
    assert mean == pytest.approx((held * steps.value).sum(), rel=1e-6)
    # A single window is as it was, of the pipe under it there is a mean, and few changes stay.
    (alone, _) = shown_panels(watch(scenario, kinds=kinds), kinds)[1]
    assert alone.detail == "pipe: means of 0.5 s"
    windows = [one for one in alone.curves if one.draw == "steps"]
    assert len(windows[0].value) > 500
    few = watch("wifi-to-lte", kinds=kinds, schemes=["sack", "freeze"])
    assert [panel.detail for panel in shown_panels(few, kinds)[1]] == ["", ""]


def test_marks_of_a_sequence_do_not_hide_several_lines() -> None:
    link = Link(rate="20 Mbit/s", delay="5 ms", queue="20 packets")
    scenario = Scenario(links={"cell": link}, flows={"a": Flow()}, end="60 s")
    window, (panel,) = shown_panels(
        watch(scenario, kinds=["sequence"], schemes=["sack", "cubic"]), ["sequence"]
    )
    panel = without_many(panel, Room(6.5, window), 2, {0: "a", 1: "b"})
    assert {one.draw for one in panel.curves} == {"steps"}
    said = panel.detail.removeprefix("not marked: ")
    each = r"\(a [\d,]+\)"
    assert re.fullmatch(rf"segments lost to a full queue {each}, segments sent again {each}", said)
    (alone,) = shown_panels(watch(scenario, kinds=["sequence"]), ["sequence"])[1]
    assert {"retransmissions", "full"} <= {one.draw for one in alone.curves}


def _delays(value: list[float], *, most: list[float] | None = None, label: str = "a") -> Curve:
    time = np.arange(float(len(value)))
    ends: Any = {} if most is None else {"most": np.array(most), "high": np.array(value)}
    return Curve(label, "steps", time, np.array(value), look=0, **ends)


def _panel(*curves: Curve) -> Panel:
    return with_peaks(Panel("delay", "One-way delay\n(ms)", "ms", curves))


def test_an_axis_of_delays_has_all_medians_but_single_ones_far_above_it() -> None:

    def top(panel: Panel) -> float:
        axes = Figure().add_subplot()
        scale_of(axes, panel, None, 0.0)
        assert axes.get_yscale() == "linear"
        return axes.get_ylim()[1]

    usual, most = [100.0] * 98, [100.0] * 97 + [13000.0] * 3
    # One that is less than twice as high as the axis, two in succession, and one far above it.
    near = _panel(_delays([*usual[:50], 240.0, *usual[50:], 100.0], most=most))
    assert 240 < top(near) < 300
    two = _panel(_delays([*usual[:50], 700.0, 600.0, *usual[50:]], most=most))
    assert 700 < top(two) < 800
    alone = _panel(_delays([*usual[:50], 700.0, *usual[50:], 100.0], most=most))
    assert 100 < top(alone) < 200


def _marked(
    panel: Panel, window: tuple[float, float] = (0.0, 100.0), yscale: str | None = None
) -> tuple[str, list[tuple[float, float]], list[str], float]:
    """The text above a panel, its arrowheads, their values, and the end of the axis."""
    axes = Figure(figsize=(5.0, 2.0)).add_subplot()
    axes.set_xlim(*window)
    scale_of(axes, panel, yscale, 0.0)
    top = axes.get_ylim()[1]
    off = peaks_off(panel, top, Room(5.0, window))
    mark_cut_lines(axes, off, panel.unit)
    heads = [line for line in axes.lines if line.get_gid() == CUT]
    places = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in heads]
    return (
        peak_words(panel, yscale, off),
        places,
        [one.get_text() for one in axes.texts if not one.get_path_effects()],
        top,
    )


def test_each_time_above_the_axis_has_an_arrowhead_with_its_value() -> None:
    usual = [100.0] * 100
    first = _delays([*usual[:50], 9000.0, *usual[51:]], label="a")
    second = _delays([*usual[:20], 4000.0, *usual[21:]], label="b")
    third = _delays(usual, label="c")
    said, heads, values, top = _marked(_panel(second, first, third))
    assert said == "arrowhead: longest delay"
    # Each is in the middle of its interval, whose strokes are at its ends.
    assert heads == [(20.5, top), (50.5, top)]
    assert values == ["4,000 ms", "9,000 ms"]
    # Near ones of a line are one, which has the largest value; without a place at its right a value
    # is at the left. Maxima count where they are drawn.
    most = [*usual[:50], 700.0, 900.0, 100.0, 800.0, *usual[54:99], 600.0]
    _, heads, values, _ = _marked(_panel(_delays(usual, most=most, label="a")))
    assert [at for at, _ in heads] == [51.5, 99.0]
    assert values == ["900 ms", "600 ms"]


@pytest.mark.parametrize(
    ("unit", "are_whole"), [("number", True), ("packets", True), ("ms", False)]
)
@pytest.mark.parametrize("top", [1.0, 3.0, 20.0])
def test_what_is_counted_has_whole_ticks(unit: str, are_whole: bool, top: float) -> None:
    axes = Figure(figsize=(7.0, 8.0)).add_subplot()
    line = Curve("a", "steps", np.array([0.0, 9.0]), np.array([0.0, top]))
    scale_of(axes, Panel("cwnd", "", unit, [line]), None, 0.0)
    ticks = [one for one in axes.get_yticks() if one <= axes.get_ylim()[1]]
    assert all(one == round(one) for one in ticks) == are_whole
    assert len(ticks) > 1


def test_many_arrowheads_have_no_values_but_the_panel_has_those_of_lines() -> None:
    value = [100.0 if one % 200 else 5000.0 + one for one in range(1, 1001)]
    panel = _panel(_delays(value), _delays([100.0] * 999 + [7000.0], label="b"))
    said, heads, values, _ = _marked(panel, (0.0, 1000.0))
    assert said == "arrowheads: longest delays, 6,000 to 7,000 ms"
    assert len(heads) == 6
    assert values == []


def test_the_axis_needs_no_arrowhead_for_what_it_has() -> None:
    panel = _panel(_delays([100.0] * 50 + [9000.0] + [100.0] * 50))
    assert peaks_off(panel, 10_000.0, Room(5.0, (0.0, 100.0))) == []


def test_a_longest_time_that_is_not_drawn_has_an_arrowhead() -> None:
    """Its line has only medians, which the axis shows all."""

    def drawn(*lines: Curve, yscale: str | None) -> tuple[list[str], list[Any]]:
        panel = with_peaks(Panel("rtt", "RTT\n(ms)", "ms", lines), ["c"])
        panel = replace(panel, curves=[replace(one, most=None, high=None) for one in lines])
        # A part of the first interval is before the time shown.
        said, heads, values, top = _marked(panel, (0.5, 50.0), yscale)
        assert said == ("arrowhead: longest sample" if heads else "")
        return values, [(at, "edge" if y == top else y) for at, y in heads]

    usual = [100.0] * 50
    first = _delays(usual, most=[5990.0, *usual[1:]], label="a")
    second = _delays(usual, most=[*usual[:30], 5156.0, *usual[31:]], label="b")
    # The same as the first one.
    third = replace(first, label="c")
    values, heads = drawn(first, second, third, yscale=None)
    assert values == ["5,990 ms", "5,160 ms"]
    assert heads == [(0.5, "edge"), (30.5, "edge")]
    # One that is up to twice as long as the others has none, as the axis reaches it.
    near = _delays(usual, most=[*usual[:30], 120.0, *usual[31:]], label="b")
    assert drawn(_delays(usual, label="a"), near, yscale=None) == ([], [])
    above = _delays(usual, most=[*usual[:30], 280.0, *usual[31:]], label="b")
    assert drawn(_delays(usual, label="a"), above, yscale=None) == (["280 ms"], [(30.5, "edge")])
    long = _delays([*usual[:20], 5000.0, 5000.0, *usual[22:]], label="b")
    values, heads = drawn(first, long, yscale="log")
    assert (values, heads) == ([], [])


def test_without_captions_arrowheads_tell_of_what_is_above_the_axis() -> None:
    outage = {"time_s": [0, 10, 22, 60], "rate_mbps": [20, 0, 20, 20]}
    scenario = Scenario(
        links={"cell": Link(delay="30 ms", queue="100 packets", trace=outage)},
        flows={"download": Flow(direction="down")},
        end="60 s",
    )
    how: Any = {"schemes": ["sack", "bbr-linux"], "captions": False}
    axes = figure_of(plot_over_time, scenario, "delay", **how).axes[-1]
    assert not axes.get_title("right")
    heads = [line for line in axes.lines if line.get_gid() == CUT]
    assert heads
    assert all(21 < float(at) < 25 for line in heads for at in line.get_xdata())


def test_a_line_of_delays_ends_at_an_outage_shorter_than_its_interval(tmp_path: Path) -> None:
    outage = {"time_s": [0, 41, 48, 100], "rate_mbps": [5, 0, 5, 5]}
    scenario = Scenario(
        links={"cell": Link(delay="30 ms", queue="100 packets", trace=outage)},
        flows={"download": Flow(direction="down")},
        end="100 s",
    )
    table = tmp_path / "delays.csv"
    how: Any = {"interval_s": 10, "schemes": ["sack", "cubic"], "csv": table}
    for kind in ("delay", "rtt"):
        figure = figure_of(plot_over_time, scenario, kind, **how)
        for scheme in ("sack", "cubic"):
            of = [row for row in rows_of(table) if (row["kind"], row["scheme"]) == (kind, scheme)]
            times = [float(row["time_s"]) for row in of if row["line"] == scheme]
            values = [row["value"] for row in of if row["line"] == scheme]
            (ends,) = [place for place, value in enumerate(values) if not value]
            assert 41 <= times[ends] < 42
            # The first data, or the first ACK, after it.
            assert times[ends] == times[ends - 1] < 48 <= times[ends + 1] < 48.2
        lines = [line for line in figure.axes[-1].lines if len(line.get_xdata()) > 5]
        for line in lines:
            missing = np.isnan(np.asarray(line.get_ydata(), dtype=float))
            assert [41 <= float(at) < 42 for at in np.asarray(line.get_xdata())[missing]] == [True]


def test_steps_end_where_nothing_can_arrive() -> None:
    time, values = np.array([0.0, 10.0, 20.0]), [np.array([1.0, 2.0, 2.0])]
    found, (value,) = without_gaps(time, values, np.array([1.0, 3.0, 6.0]), [(2.0, 5.0)])
    assert found == pytest.approx([0, 3, 3, 6, 10, 20])
    assert value == pytest.approx([1, 1, np.nan, 1, 2, 2], nan_ok=True)
    # Over an edge, before the first value, and where the line has ended.
    found, (value,) = without_gaps(time, values, np.array([1.0, 12.0]), [(8.0, 11.0)])
    assert found == pytest.approx([0, 8, 8, 12, 20])
    assert value == pytest.approx([1, 1, np.nan, 2, 2], nan_ok=True)
    for gap in ((-3.0, -1.0), (20.0, 30.0)):
        found, _ = without_gaps(time, values, np.array([1.0, 12.0]), [gap])
        assert found == pytest.approx(time)


def test_a_median_begins_with_its_first_sample_after_a_long_silence() -> None:
    edges, time = np.arange(11.0), np.arange(0.1, 2.2, 0.02)
    time = np.append(time, time + 4.6)
    how: dict[str, Any] = {"label": "a"}
    few = Times(how, edges, np.array([1.0]), np.array([1.0]))
    (line, _), _ = lines_of([Times(how, edges, time, np.ones(len(time))), few], 1.0)
    assert line.time_s == pytest.approx([0.1, 1, 2, 2.2, 2.2, 4.7, 5, 6, 7], abs=0.03)
    assert np.isnan(line.value).tolist() == [False] * 4 + [True] + [False] * 4
    # Where samples are usually that far apart it does not end.
    slow = np.array([0.5, 2.5, 4.5, 6.6, 8.5])
    (line, _), _ = lines_of([Times(how, edges, slow, np.arange(5.0)), few], 1.0)
    assert not np.isnan(line.value).any()


def test_narrow_times_without_a_link_are_wider_as_far_as_there_is_room() -> None:
    axes = Figure().subplots()
    room = Room(5.0, (0.0, 360.0))
    spans = [(10.0, 30.0), (100.0, 100.1), (200.0, 200.1), (200.4, 200.5), (359.9, 400.0)]
    shade_spans(axes, spans, OUTAGE, room)
    shade_spans(axes, spans[:1], OUTAGE, room)
    some, wide = axes.collections
    assert some.get_label() == wide.get_label() == OUTAGE
    assert isinstance(some, PolyCollection)
    ends = [(one.get_extents().x0, one.get_extents().x1) for one in some.get_paths()]
    # A point is a second. They have the same middle.
    assert ends[0] == pytest.approx((10.0, 30.0))
    assert ends[1] == pytest.approx((99.55, 100.55))
    assert ends[2] == pytest.approx((199.55, 200.25))
    assert ends[3] == pytest.approx((200.25, 200.95))
    # Within the time shown.
    assert ends[4] == pytest.approx((359.0, 360.0))
    # All look alike, and can be seen.
    dark, light = (sum(one.get_facecolor()[0][:3]) for one in (some, wide))
    assert dark < light
    assert not some.get_hatch()
    assert wide.get_hatch()


@pytest.mark.parametrize(
    ("window", "title", "first", "last"),
    [
        ((3.0001, 3.0002), "Time after 3.0001 s (\u00b5s)", "0", "100"),
        ((4.0001, 4.00025), "Time after 4 s (\u00b5s)", "100", "250"),
        ((3.001, 3.006), "Time after 3 s (ms)", "1", "6"),
        ((3.0001, 3.0011), "Time after 3 s (ms)", "0.1", "1.1"),
        ((8.11, 8.12), "Time (s)", "8.11", "8.12"),
        ((0.0, 0.002), "Time after 0 s (ms)", "0", "2"),
        ((2.3, 2.4), "Time (s)", "2.3", "2.4"),
    ],
)
def test_short_times_have_numbers_that_can_be_read(
    window: tuple[float, float], title: str, first: str, last: str
) -> None:
    assert time_title(window=window) == title
    unit = TimeUnit.of(window)
    assert (unit.text(window[0]), unit.text(window[1])) == (first, last)


@pytest.mark.parametrize("kind", ["cwnd", "window"])
def test_a_tenth_of_a_millisecond_has_microseconds(kind: Any) -> None:
    how: Any = {"from_s": 3.0001, "until_s": 3.0002}
    if kind == "window":
        figure = run_figure(histories(Scenario.read("wifi-to-lte")), kind=kind, **how)
    else:
        runs = watch(Scenario.read("wifi-to-lte"), kinds=[kind])
        window, panels = shown_panels(runs, [kind], **how)
        figure = over_time_figure(runs, panels, window)
    figure.canvas.draw()
    axes = figure.axes[-1]
    assert axes.get_xlabel() == "Time after 3.0001 s (\u00b5s)"
    assert "20" in [one.get_text() for one in axes.get_xticklabels()]


def test_short_means_are_in_microseconds() -> None:
    assert seconds_text(1e-6) == "1 \u00b5s"
    assert seconds_text(0.0009999) == "0.001 s"
    assert seconds_text(0.005) == "0.005 s"


def test_bursts_of_one_size_have_equal_means() -> None:
    """A round number near a round trip would have a mean with less than half of a burst."""
    link = Link(rate="50 Mbit/s", delay="374 ms", queue="4000 packets")
    flow = Flow(set={"tcp_rmem_max": 300_000})
    runs = watch(Scenario(links={"geo": link}, flows={"a": flow}, end="60 s"), kinds=["throughput"])
    (panel,) = shown_panels(runs, ["throughput"])[1]
    line = next(one for one in reversed(panel.curves) if one.draw == "steps")
    late = line.value[(line.time_s > 5) & (line.time_s < 58)]
    assert len(late) > 60
    assert np.ptp(late) < 0.02 * late.mean()


def test_intervals_end_where_bursts_begin() -> None:
    """One that ended a few packets behind the beginning of a burst, at a handoff's grid, made a
    peak and a collapse of two equal bursts; and a round trip that is not that of the grid has
    bursts in parts of it at times.
    """
    links = {
        "lte": Link(preset="lte"),
        "satellite": Link(rate="20 Mbit/s", delay="300 ms", up={"rate": "2 Mbit/s"}),
    }
    sea = Scenario(
        links=links,
        flows={"download": Flow(size="10 MB", scheme="sack")},
        handoffs=[Handoff(at="1 s", to="satellite", gap="3 s")],
        end="600 s",
    )
    for scenario, since, until in ((sea, 6.0, 15.3), ("ferry", 68.0, 88.9)):
        runs = watch(scenario, kinds=["throughput"])
        (flow,) = runs[0].flows
        at = flow.times("rcv") / 1e9
        begins = at[1:][np.diff(at) > 0.2]
        (panel,) = shown_panels(runs, ["throughput"])[1]
        line = next(one for one in reversed(panel.curves) if one.draw == "steps")
        edges = line.time_s[(line.time_s > since) & (line.time_s < until)]
        assert len(edges) > 10
        for edge in edges:
            assert np.abs(begins - edge).min() < 2e-3
        means = line.value[(line.time_s > since) & (line.time_s < until)]
        if scenario == sea:
            # Of the first two bursts, of the same number of packets.
            assert means[0] == pytest.approx(means[1], rel=1e-6)
            assert (np.diff(means) > -1e-3).all()
        else:
            assert np.ptp(means) < 0.01 * means.mean()


def test_intervals_of_other_lengths_than_round_trips_keep_their_grid() -> None:
    """Those that end at some bursts would be longer and shorter by turns."""
    (run,) = runs = watch("wifi-to-lte", kinds=["throughput"])
    trip = float(np.median(run.flows[0].values("rtt_sample")))
    assert not has_whole_bursts(run, run.flows[0], 1.6 * trip)
    (ferry,) = watch("ferry", kinds=["throughput"])
    assert has_whole_bursts(ferry, ferry.flows[0], 0.78)
    assert not has_whole_bursts(ferry, ferry.flows[0], 1.15)
    assert len(runs) == 1


def test_bursts_end_no_interval_in_which_a_link_begins() -> None:
    edges, interval = np.arange(0.0, 6.0), 1.0
    assert at_bursts(edges, [], interval, []).tolist() == edges.tolist()
    found = at_bursts(edges, [1.9, 2.95, 4.0], interval, [])
    assert found.tolist() == pytest.approx([0, 1, 1.9, 2.95, 4.0, 5.0])
    # Not a quarter of an interval before a cut.
    cut = np.union1d(edges[edges != 3], [3.1])
    assert 2.95 not in at_bursts(cut, [1.9, 2.95, 4.0], interval, [3.1])
    # A run may end in a burst, of which most of an interval is missing.
    assert at_bursts(edges, [4.4], interval, [], 5.0).tolist() == [0, 1, 2, 3, 4, 5.0]
    assert at_bursts(edges, [4.6], interval, [], 5.0).tolist() == [0, 1, 2, 3, 4, 5.0]
    assert at_bursts(edges, [4.4], interval, []).tolist() == [0, 1, 2, 3, 4.4, 5.4]
    assert at_bursts(edges, [4.1], interval, []).tolist() == [0, 1, 2, 3, 4.1, 5.1]


def test_a_sample_alone_after_a_silence_is_no_median() -> None:
    """The first one on a new link may be of a copy that was sent before the gap."""
    before = np.arange(0.0, 5.0, 0.05)
    at = np.array([*before, 8.5, *np.arange(9.0, 12.0, 0.2)])
    took = np.array([*np.full(len(before), 0.06), 2.6, *np.full(len(at) - len(before) - 1, 0.5)])
    edges = np.arange(0.0, 12.5, 1.0)
    found = [Times({"label": str(one), "look": one}, edges, at, took) for one in (0, 1)]
    line = lines_of(found, 1.0)[0][0]
    known = ~np.isnan(line.value)
    assert {*line.value[known].round(3).tolist()} == {0.06, 0.5}
    # There the line begins again.
    assert 8.5 in line.time_s[known]
    assert line.most is not None
    assert np.nanmax(line.most) == 2.6


def test_queues_have_the_whole_round_trips_of_throughputs() -> None:
    """In a flow that a window limits a burst fills the queue once in each of them."""
    kinds = ["throughput", "queue"]
    throughput, queue = shown_panels(watch("ferry", kinds=kinds), kinds)[1]
    assert throughput.detail == "means of 0.78 s"
    assert queue.detail.startswith("means of 0.78 s, band")
    for draw, panel in (("steps", throughput), ("queue", queue)):
        line = next(one for one in reversed(panel.curves) if one.draw == draw)
        late = line.value[(line.time_s > 70) & (line.time_s < 88)]
        assert np.ptp(late) < 0.15 * late.mean()


def test_windows_of_which_one_is_far_above_the_others_have_a_logarithmic_axis() -> None:
    def axis(*most: float) -> str:
        time = np.arange(100.0)
        values = [np.where(time < 95, 50.0, one) for one in most]
        curves = [
            Curve(str(look), "steps", time, value, look=look) for look, value in enumerate(values)
        ]
        axes = Figure().add_subplot()
        scale_of(axes, Panel("cwnd", "cwnd (segments)", "segments", curves), None, 0.0)
        return axes.get_yscale()

    assert axis(100.0, 500.0) == "linear"
    assert axis(100.0, 700.0) == "log"
