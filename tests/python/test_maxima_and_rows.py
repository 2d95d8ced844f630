"""Figures over time: maxima of queues, times without arrivals, and whose marks are whose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from midflight import Flow, Link, Scenario
from midflight.cli import main
from midflight.plot import figure_of, plot_over_time
from midflight.plot.common.line_looks import look_of
from midflight.plot.over_time.applications import spans_of_segments
from midflight.plot.over_time.curves import Curve, Panel, Peak
from midflight.plot.over_time.history import plan_of
from midflight.plot.over_time.marks import EVENTS
from midflight.plot.over_time.panel_scales import CUT, mark_cut_lines, peak_words, with_peaks
from midflight.plot.over_time.panels import over_time_figure, panel_rows, shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.stalls import without_short_stalls
from midflight.plot.over_time.watched import WatchedRun, watch
from midflight.plot.usual import usual_kinds


def _panel_of(axes_of: list[Axes], what: str) -> Axes:
    return next(one for one in axes_of if what in one.get_ylabel())


@pytest.mark.parametrize("schemes", [["sack"], ["sack", "enhanced", "freeze"]])
@pytest.mark.parametrize("bands", [None, False])
def test_queues_without_bands_tell_their_maxima(schemes: list[str], bands: bool | None) -> None:
    """A full queue of 18 packets may have a mean of 2."""
    runs = watch(Scenario.read("wifi-to-lte"), kinds=["queue"], schemes=schemes)
    window, panels = shown_panels(runs, ["queue"], bands=bands)
    queues = [one for one in panels[0].curves if one.draw == "queue"]
    most = max(float(np.nanmax(one.high)) for one in queues if one.high is not None)
    means = max(float(np.nanmax(one.value)) for one in queues)
    assert (most > 2 * means) == (len(schemes) == 1)
    figure = over_time_figure(runs, panels, window)
    axes = _panel_of(figure.axes, "Queue")
    if bands is None and len(schemes) == 1:
        # Two links that are used one after the other.
        assert axes.get_ylim()[1] > most
        tops = [one.get_paths()[0].vertices[:, 1].max() for one in axes.collections]
        assert max(tops) == most
        assert "largest: " not in axes.get_title("right")
    elif len(schemes) > 1:
        # Means would hide the bursts of several runs: the lines are their maxima.
        assert means == most
        assert panels[0].detail.endswith("maxima of 0.05 s")
        assert "largest: " not in axes.get_title("right")
    else:
        words = axes.get_title("right").split("; ")
        (said,) = [one for one in words if one.startswith("largest: ")]
        assert said.endswith(f" {most:g} packets")
        # The lines are the means alone, and fill the panel.
        lines = [line for line in axes.lines if len(line.get_ydata()) > 2]
        assert max(float(np.nanmax(line.get_ydata())) for line in lines) == means
        # The table has both.
        rows = list(panel_rows(panels))
        assert max(row[9] for row in rows if isinstance(row[9], float)) == most


@pytest.mark.parametrize("count", [2, 4])
def test_of_many_different_queues_the_text_has_the_least_and_the_most(count: int) -> None:
    time = np.array([0.0, 1.0, 2.0])

    def queue(place: int) -> Curve:
        most = np.array([1.0, 10.0 * (place + 1), 1.0])
        how: Any = {"low": np.zeros(3), "high": most, "look": place}
        return Curve(f"scheme {place}", "queue", time, np.array([1.0, 3.0, 1.0]), **how)

    panel = Panel("queue", "Queue", "packets", [queue(place) for place in range(count)])
    assert peak_words(with_peaks(panel), None) == ""
    words = peak_words(with_peaks(replace(panel, has_bands=False)), None)
    assert words == f"largest: 10 to {10 * count} packets"


def _silent(runs: list[WatchedRun], size: float) -> list[list[tuple[float, float]]]:
    """The times in which nothing arrives of each line, as a figure of this size shows them."""
    window, (panel,) = shown_panels(runs, ["throughput"], size=size)
    curves = without_short_stalls(panel, Room(size - 0.65, window)).curves
    return [
        [*zip(one.low.tolist(), one.high.tolist(), strict=True)]
        for one in curves
        if one.draw == "stalled" and one.low is not None and one.high is not None
    ]


def test_a_video_that_waits_for_data_has_times_without_arrivals() -> None:
    """After the outage BBR has one probe through, and then nothing for five seconds; between its
    segments it has nothing to send for more than a second.
    """
    source = Scenario.read("video-tunnel")
    runs = watch(source, kinds=["throughput"], schemes=["sack", "bbr-linux"])
    sack, bbr = _silent(runs, 7.16)
    assert len(sack) == 1
    assert [round(end) for _, end in bbr] == [48, 53]
    gaps = np.diff(runs[0].flows[0].times("rcv") / 1e9)
    assert (gaps > 1).sum() > 5


def test_times_without_arrivals_are_drawn_at_any_width() -> None:
    rates = {"time_s": [0, 60, 67, 120], "rate_mbps": [12, 0, 12, 12]}
    link = Link(trace={"columns": rates}, delay="40 ms", queue="100 packets")
    drive = Scenario(links={"cell": link}, flows={"a": Flow()}, end="120 s")
    runs = watch(drive, kinds=["throughput"], schemes=["sack", "bbr-linux"])
    wide, narrow = (_silent(runs, size) for size in (7.16, 2.5))
    assert wide == narrow
    for line in wide:
        assert any(begin < 61 and end > 66.9 for begin, end in line)
    for size in (7.16, 2.5):
        window, panels = shown_panels(runs, ["throughput"], size=size)
        figure = over_time_figure(runs, panels, window, size=size)
        axes = _panel_of(figure.axes, "Throughput")
        bars = [one for one in axes.lines if one.get_marker() == "|" and len(one.get_xdata()) == 2]
        assert len(bars) == sum(map(len, wide))


@pytest.mark.parametrize("segment", ["4 s", "6 s"])
def test_means_of_a_video_have_whole_segments(segment: str) -> None:
    """Where a video takes a segment every few seconds its mean is the video's rate."""
    source = Scenario.read("video-tunnel", sets={"set.video_segment": segment})
    runs = watch(source, kinds=["throughput"], schemes=["sack", "bbr-linux"])
    _, (panel,) = shown_panels(runs, ["throughput"])
    assert panel.detail == "means per video segment, pauses included"
    for run, one in zip(runs, (one for one in panel.curves if one.draw == "steps"), strict=True):
        steady = one.value[(one.time_s > 75) & (one.time_s < 95)]
        assert steady.max() < 1.01 * steady.min()
        # Each begins with its request, and the last one is as long as the others.
        requested, read = spans_of_segments(run.flows[0])
        assert np.isin(requested[1:], one.time_s).all()
        last = one.time_s[(one.time_s > requested[-1]) & (one.value == 0)][0]
        assert last == pytest.approx(requested[-1] + float(segment.removesuffix(" s")))
        # All that arrived is in them.
        mbit = 8e-6 * run.flows[0].sizes("rcv").sum()
        assert (one.value[:-1] * np.diff(one.time_s)).sum() == pytest.approx(mbit, rel=1e-3)
        assert read[-1] < last
    # Much shorter ones show when it loads.
    _, (panel,) = shown_panels(runs, ["throughput"], 70.0, 90.0)
    assert panel.detail == "means of 0.1 s"


def test_rows_of_marks_of_flows_of_a_scheme_are_told_apart() -> None:
    """They are in the order of the legend, each with the marker of its flow."""
    link = Link(rate="20 Mbit/s", delay="5 ms", queue="20 packets")
    source = Scenario(links={"cell": link}, flows={"a": Flow(), "b": Flow()}, end="20 s")
    schemes = ["sack", "bbr-linux"]
    runs = watch(source, kinds=["throughput", "queue"], schemes=schemes, flows=["a", "b"])
    looks = [look_of(one) for run in runs for one in run.looks]
    assert looks[0].colour == looks[1].colour != looks[2].colour == looks[3].colour
    for kinds in (["throughput", "queue"], ["queue"]):
        window, panels = shown_panels(runs, kinds, marks=["losses"])
        figure = over_time_figure(runs, panels, window)
        axes = _panel_of(figure.axes, "Queue")
        beside = [
            one for one in axes.lines if [*one.get_xdata()] == [0.0] and not one.get_clip_on()
        ]
        assert [one.get_marker() for one in beside] == [one.marker for one in looks]
        heights = [float(one.get_ydata()[0]) for one in beside]
        assert heights == sorted(heights, reverse=True)
        # Those of many packets are larger, and lines of their own.
        crosses = {
            (one.get_markeredgecolor(), float(one.get_ydata()[0]))
            for one in axes.lines
            if one.get_marker() == "x" and len(one.get_xdata())
        }
        colours = [one.colour for one in looks]
        assert sorted(crosses) == sorted(zip(colours, heights, strict=True))
        (legend,) = figure.legends
        words = [text.get_text() for text in legend.get_texts()]
        assert {"a, bbr-linux", "b, bbr-linux"} <= {*words}


@pytest.mark.parametrize("look", ["plain", "paper"])
def test_a_figure_of_one_of_several_flows_names_it(
    look: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.svg"
    assert main(["plot", "household", "--style", look, "--out", str(out)]) == 0
    assert "flow film is drawn, not page, backup; --flow names" in capsys.readouterr().err
    assert "film, sack (CUBIC)" in out.read_text(encoding="utf-8")
    assert main(["plot", "household", "--flow", "page", "--out", str(out)]) == 0
    assert "is drawn, not" not in capsys.readouterr().err
    assert main(["plot", "wifi-to-lte", "--style", look, "--out", str(out)]) == 0
    assert "is drawn, not" not in capsys.readouterr().err
    assert "sack (CUBIC)" in out.read_text(encoding="utf-8")


def test_no_arrowhead_is_within_the_axis() -> None:
    runs = watch(Scenario.read("wifi-to-lte"), kinds=["delay"], schemes=["sack", "freeze"])
    window, panels = shown_panels(runs, ["delay"], interval_s=0.1)
    axes = _panel_of(over_time_figure(runs, panels, window).axes, "delay")
    most = max(float(np.nanmax(one.most)) for one in panels[0].curves if one.most is not None)
    assert "arrowhead" not in axes.get_title("right")
    assert axes.get_ylim()[1] > most
    assert not [one for one in axes.lines if one.get_gid() == CUT]


def test_samples_of_rates_are_dots_in_the_legend_and_what_lacks_has_a_line() -> None:
    runs = watch(Scenario.read("wifi-to-lte"), kinds=["rates"], schemes=["sack", "bbr-linux"])
    window, panels = shown_panels(runs, ["rates"])
    figure = over_time_figure(runs, panels, window)
    lacks, detail = _panel_of(figure.axes, "rates").get_title("right").split("\n")
    assert lacks.startswith("sack (CUBIC): no pacing rate")
    assert detail.startswith("medians of ")
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    sample = legend.get_lines()[words.index("sample of the delivery rate")]
    # A row of dots, as in the panel, and no single one.
    assert sample.get_dash_capstyle() == "round"
    assert sample.get_linestyle() != "None"
    assert sample.get_marker() == "None"


def test_the_band_of_a_queue_has_each_packet_of_a_call() -> None:
    """Its frames are sent at regular times, and are in a queue for less than samples are apart."""
    runs = watch(Scenario.read("call-handoff"), kinds=["queue", "throughput"])
    window, panels = shown_panels(runs, ["queue"])
    axes = _panel_of(over_time_figure(runs, panels, window).axes, "Queue")
    assert "band: smallest to largest" in axes.get_title("right")
    (lte,) = (one for one in panels[0].curves if one.draw == "queue" and one.link == "lte")
    assert lte.high is not None
    late = (lte.time_s > 9) & (lte.time_s < 9.9)
    sent = runs[0].flows[0].times("rcv") / 1e9
    assert ((sent > 9) & (sent < 9.9)).sum() > 40
    assert lte.high[late].all()
    assert lte.value[late].all()
    # Means of queues that are nearly always empty would tell nothing of several runs.
    runs = watch(Scenario.read("call-handoff"), kinds=["queue"], schemes=["sack", "freeze"])
    window, panels = shown_panels(runs, ["queue"])
    assert panels[0].detail.endswith("maxima of 0.1 s")
    assert "largest" not in _panel_of(
        over_time_figure(runs, panels, window).axes, "Queue"
    ).get_title("right")
    highest = [max(one.value) for one in panels[0].curves if one.draw == "queue"]
    assert min(highest) > 1


@pytest.mark.parametrize(
    ("how", "title"),
    [
        ({}, "Queue (packets)"),
        ({"captions": False}, "Queue, range (packets)"),
        ({"captions": False, "bands": False}, "Queue (packets)"),
        ({"captions": False, "ylabel": "Buffer"}, "Buffer"),
    ],
)
def test_without_text_above_the_title_of_a_queue_names_its_range(
    how: dict[str, Any], title: str
) -> None:
    """An area that fills the axis would look like the rate of the link."""
    axes = figure_of(plot_over_time, "drive-test", ["queue"], **how).axes[-1]
    assert " ".join(axes.get_ylabel().split()) == title


def test_a_single_sample_above_the_axis_has_an_arrowhead_and_no_line() -> None:
    runs = watch(Scenario.read("wifi-to-lte"), kinds=["rtt"], schemes=["sack", "freeze"])
    window, panels = shown_panels(runs, ["rtt"], interval_s=0.1)
    assert max(np.nanmax(one.most) for one in panels[0].curves if one.most is not None) > 3000
    axes = _panel_of(over_time_figure(runs, panels, window).axes, "RTT")
    assert "3,600 ms" in [one.get_text() for one in axes.texts]
    lines = [one for one in axes.lines if one.get_gid() != CUT]
    assert max(np.nanmax(np.asarray(one.get_ydata(), np.float64)) for one in lines) < 100


def test_an_axis_reaches_each_of_several_samples_that_are_a_little_longer() -> None:
    runs = watch(Scenario.read("household"), kinds=["rtt"])
    window, panels = shown_panels(runs, ["rtt"])
    axes = _panel_of(over_time_figure(runs, panels, window).axes, "RTT")
    assert not [one for one in axes.lines if one.get_gid() == CUT]
    assert axes.get_ylim()[1] > 275


def test_no_dashes_of_a_handoff_are_seen_between_the_digits_of_a_value() -> None:
    axes = Figure().add_subplot()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 10)
    axes.axvline(51.5, linestyle="--")
    mark_cut_lines(axes, [Peak(91.3, "a", 50.0, 0), Peak(30.0, "b", 80.0, 1)], "ms")
    crossed, clear = axes.texts
    assert crossed.get_bbox_patch() is not None
    assert clear.get_bbox_patch() is None


def test_values_below_each_other_have_the_order_of_the_legend() -> None:
    axes = Figure().add_subplot()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 10)
    axes.plot([0, 47, 47, 49, 100], [1, 1, 20, 1, 1])
    peaks = [Peak(30.0, "a", 50.2, 0), Peak(40.0, "b", 50.1, 1), Peak(50.0, "c", 50.0, 2)]
    mark_cut_lines(axes, peaks, "ms")
    axes.figure.draw_without_rendering()
    heights = [one.get_window_extent().y0 for one in axes.texts if one.get_text()]
    assert [one.get_text() for one in axes.texts] == ["30 ms", "40 ms", "50 ms"]
    assert heights == sorted(heights, reverse=True)


def test_a_value_is_clear_of_lines_that_go_up_beside_its_arrowhead() -> None:
    axes = Figure().add_subplot()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 10)
    axes.plot([0, 51, 51, 51.4, 51.4, 100], [1, 1, 20, 20, 1, 1])
    mark_cut_lines(axes, [Peak(30.0, "a", 50.0, 0)], "ms")
    axes.figure.draw_without_rendering()
    value = axes.texts[-1]
    strokes = axes.transData.transform([(51.0, 9.0), (51.4, 9.0)])[:, 0]
    assert value.get_window_extent().x0 > strokes.max()


def test_a_value_above_lines_is_read() -> None:
    def marked(high: float, *times: float) -> list[Any]:
        axes = Figure().add_subplot()
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 10)
        (line,) = axes.plot([0, 50, 100], [1, high, high])
        mark_cut_lines(axes, [Peak(30.0, "a", one, 0) for one in times], "ms")
        assert all(one.get_zorder() > line.get_zorder() for one in axes.texts)
        axes.figure.draw_without_rendering()
        return list(axes.texts)

    (low,) = marked(1.0, 60.0)
    assert not low.get_path_effects()
    # The rim is beneath the value, which stays text in files of vectors.
    rim, high = marked(9.9, 60.0)
    assert rim.get_path_effects()
    assert not high.get_path_effects()
    # The second one is at the left of its arrowhead, in place of below the first one.
    first, second = (one.get_window_extent() for one in marked(1.0, 60.0, 58.0))
    assert second.x1 < first.x0
    assert second.y0 == pytest.approx(first.y0, abs=1)


def test_marks_of_a_row_are_larger_where_they_are_of_more() -> None:
    """A full queue drops many packets at a time, and a link that breaks a window."""
    how: Any = {"schemes": ["sack"], "kinds": ["queue"]}
    runs = watch(Scenario.read("wifi-to-lte"), **how)
    window, panels = shown_panels(runs, ["queue"])
    axes = _panel_of(over_time_figure(runs, panels, window).axes, "Queue")
    assert axes.get_title("right").endswith("larger marks: more")
    crosses = [one for one in axes.lines if one.get_marker() == "x" and len(one.get_xdata())]
    sizes = [one.get_markersize() for one in crosses]
    assert len(set(sizes)) == len(sizes)
    assert max(sizes) <= 1.8 * EVENTS["full"].size


@pytest.mark.parametrize(
    ("schemes", "words"),
    [
        (["sack"], ""),
        (["freeze"], "all 5 timeouts spurious"),
        (["sack", "freeze"], "spurious timeouts: freeze 5"),
    ],
)
def test_spurious_timeouts_are_counted(schemes: list[str], words: str) -> None:
    """Nobody sees which of the small marks, some of which are not drawn, are hollow."""
    figure = figure_of(plot_over_time, "video-tunnel", ["throughput"], schemes=schemes)
    said = _panel_of(figure.axes, "Throughput").get_title("right")
    assert ("spurious" in said) == bool(words)
    assert said.endswith(words)


def test_the_longest_sample_has_its_arrowhead_when_it_is() -> None:
    """In the middle of its interval it would stand before the handoff, or long after it."""
    runs = watch("wifi-to-lte", kinds=["rtt"], schemes=["sack", "freeze"])
    _, (panel,) = shown_panels(runs, ["rtt"])
    for peak in with_peaks(panel).peaks:
        flow = next(
            run.flows[0]
            for run in runs
            if run.looks[0] == peak.look and run.labels[0] == peak.label
        )
        values = flow.values("rtt_sample")
        assert peak.time_s == flow.times("rtt_sample")[values.argmax()] / 1e9
        assert peak.value == pytest.approx(1e3 * values.max())


def test_pages_of_several_senders_have_a_panel_each_and_no_others() -> None:
    """Their throughputs and queues would be as many panels again."""
    source = Scenario.read("web-page")
    plan = plan_of(source)
    assert [*usual_kinds(plan)] == ["throughput", "objects", "queue"]
    assert [*usual_kinds(plan, are_several=True)] == ["objects"]
    figure = figure_of(plot_over_time, source, ["objects"], schemes=["sack", "a3"])
    titles = [axes.get_title("left") for axes in figure.axes if axes.get_ylabel()]
    flows = [source.but({"flows.page.scheme": one}).run().flows for one in ("sack", "a3")]
    times = [float(one.numpy("load_ns")[0]) / 1e9 for one in flows]
    assert titles == [
        f"{name}: page in {time:.2f} s"
        for name, time in zip(("sack (CUBIC)", "a3"), times, strict=True)
    ]
