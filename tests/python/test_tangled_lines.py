"""Lines that nobody can follow have a panel each, with one axis."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from drawn import texts_of
from midflight import Scenario
from midflight.plot import plot_over_time
from midflight.plot.over_time.apart import line_by_line
from midflight.plot.over_time.curves import Curve, Panel, WatchedRun
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.watched import watch

SCHEMES = ("sack", "enhanced", "bbr3", "westwood")


@pytest.fixture(scope="module")
def runs() -> list[WatchedRun]:
    return watch(Scenario.read("starlink-to-lte"), schemes=SCHEMES, kinds=["cwnd", "throughput"])


def test_lines_that_cross_often_are_apart_on_one_axis(runs: list[WatchedRun]) -> None:
    window, panels = shown_panels(runs, ["cwnd", "throughput"])
    figure = over_time_figure(runs, panels, window)
    titled = [one for one in figure.axes if one.get_title("left")]
    names = ["sack (CUBIC)", "enhanced", "bbr3", "westwood"]
    assert [one.get_title("left") for one in titled] == names
    assert {one.get_ylabel() for one in titled} == {"cwnd\n(segments)"}
    assert len({one.get_ylim() for one in titled}) == 1
    heights = [one.get_position().height for one in figure.axes[1:]]
    assert max(heights[:4]) < 0.75 * heights[4]
    # The lines of one throughput panel can be followed, and are named in the legend.
    throughput = figure.axes[5]
    assert "Throughput" in throughput.get_ylabel()
    assert len([one for one in throughput.lines if one.get_label() in SCHEMES]) == 4
    (legend,) = figure.legends
    assert {*names} <= {one.get_text() for one in legend.get_texts()}


def test_a_line_alone_needs_no_dashes_markers_or_legend(runs: list[WatchedRun]) -> None:
    window, panels = shown_panels(runs, ["cwnd"])
    figure = over_time_figure(runs, panels, window)
    lines = [line for axes in figure.axes for line in axes.lines if line.get_label() in SCHEMES[1:]]
    assert {(one.get_linestyle(), one.get_marker()) for one in lines} == {("-", "None")}
    told = {one.get_text() for legend in figure.legends for one in legend.get_texts()}
    assert told.isdisjoint(SCHEMES)


def test_a_line_that_repeats_another_is_named_with_it(tmp_path: Path) -> None:
    path = tmp_path / "x.svg"
    plot_over_time("drive-test", path, "cwnd", schemes=["sack", "enhanced", "bbr3"])
    assert "sack (CUBIC), enhanced (the same)" in texts_of(path)


def test_lines_are_apart_by_how_often_they_change_places(runs: list[WatchedRun]) -> None:
    at = np.arange(120, dtype=np.float64)
    (first, label), (second, other) = (
        (run.looks[0], run.labels[0]) for run in itertools.islice(runs, 2)
    )

    def panels(changes: int, width_in: float) -> int:
        value = np.where((at < changes + 1) & (at % 2 == 1), 9.0, 1.0)
        lines = [
            Curve(label, "steps", at, np.full(120, 5.0), first),
            Curve(other, "steps", at, value, second),
        ]
        panel = Panel("cwnd", "cwnd (segments)", "segments", lines)
        return len(line_by_line(panel, runs, {}, width_in, is_log=False))

    assert panels(60, 6.5) == 1
    assert panels(80, 6.5) == 2
    assert panels(40, 2.85) == 2
