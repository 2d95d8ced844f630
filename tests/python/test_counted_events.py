"""Events that figures over time do not show one by one are in a count."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from midflight.plot import figure_of, plot_over_time, plot_run
from midflight.plot.over_time.crowded import without_overlaps
from midflight.plot.over_time.curves import Curve, Draw, Panel
from midflight.plot.over_time.marks import timeouts
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.strokes import causes_of_losses, draw_row_names, rows_of


def counted(*curves: Curve, width: float = 7.16) -> list[str]:
    """What stands beside the rows of marks of a panel of 216 points and 10 s."""
    panel = without_overlaps(Panel("throughput", "", "", curves), Room(3.0, (0.0, 10.0)))
    axes = Figure(figsize=(width, 4.8)).add_subplot()
    draw_row_names(axes, panel, rows_of(panel))
    return [one.get_text() for one in axes.texts]


def marks(draw: Draw, *time_s: float) -> Curve:
    return Curve(draw, draw, np.array(time_s), np.zeros(len(time_s)), in_row=True)


def test_timeouts_that_cover_each_other_are_counted() -> None:
    assert counted(marks("timeout", 1, 2, 4, 8)) == []
    assert counted(marks("timeout", 1, 1.07, 1.15, 1.16)) == ["4 timeouts"]
    assert counted(marks("timeout", 1, 1.05)) == ["2 timeouts"]
    # Hollow ones that lie on others, too.
    assert counted(marks("timeout", 1, 4), marks("spurious", 2, 4.05)) == ["4 timeouts"]


def test_losses_of_several_causes_have_their_marks() -> None:
    lost = marks("full", *np.arange(1, 3, 0.01)), marks("broken", *np.arange(5, 6, 0.01))
    assert counted(lost[0]) == ["200 lost"]
    both = [replace(one, look=0) for one in lost]
    line = Curve("a", "steps", np.array([0.0, 9.0]), np.array([1.0, 2.0]), 0)
    assert counted(line, *both) == ["\u00d7 200 + // 100 lost"]
    assert counted(line, *both, width=4.7) == ["200 + 100 lost"]


def test_causes_of_losses_are_told_in_words() -> None:
    lost = marks("full", *np.arange(1, 3, 0.01)), marks("broken", *np.arange(5, 6, 0.01))

    def told(*curves: Curve, width: float = 7.16) -> tuple[str, bool, bool]:
        panel = without_overlaps(Panel("queue", "", "", curves), Room(3.0, (0.0, 10.0)))
        return causes_of_losses(panel, rows_of(panel), width)

    # Marks of one cause are in the legend alone, also those in a row of their own.
    assert told(lost[0], marks("radio", *np.arange(1, 3, 0.01))) == ("", False, False)
    words = "200 lost to a full queue, 100 on a link that is down"
    assert told(*lost) == (words, True, False)
    # They are needed where the numbers beside the row have no marks.
    assert told(*lost, width=4.7) == (words, True, True)
    # Rows of several lines have their own numbers, in the same order.
    line = Curve("a", "steps", np.array([0.0, 9.0]), np.array([1.0, 2.0]), 0)
    both = [replace(one, look=0) for one in lost]
    # With marks these are in the legend, too.
    assert told(line, *both) == ("", False, False)
    assert told(line, *both, width=4.7) == ("lost: queue full + link down", False, True)
    assert told(line, *both, width=2.5) == ("", False, False)
    # In that order a row has a number of each.
    other = replace(lost[1], look=1)
    assert counted(line, *both, other, width=4.7) == ["200 + 100 lost", "0 + 100 lost"]


@pytest.mark.parametrize(("width", "captions"), [(7.16, True), (3.5, True), (7.16, False)])
def test_what_the_text_above_tells_does_not_stand_beside_rows(width: float, captions: bool) -> None:
    how: Any = {"size": width, "captions": captions}
    axes = figure_of(plot_over_time, "ferry", ["queue"], **how).axes[-1]
    head = " ".join(axes.get_title("right").split())
    is_told = "24 lost to a full queue, 4 on a link that is down" in head
    assert is_told == captions
    beside = [one.get_text() for one in axes.texts if one.get_text().endswith(" lost")]
    # Numbers of causes have words above, or marks, or there is one of all.
    assert beside[0] == ("28 lost" if is_told else "\u00d7 24 + // 4 lost")


def test_timeouts_before_the_first_data_arrive_are_shown() -> None:
    flow: Any = SimpleNamespace(
        times=lambda _: np.array([1, 5, 9]) * 10**9,
        details=lambda _: ["", "", ""],
        undone=np.empty(0, np.int64),
    )
    line = Curve("a", "steps", np.array([3.0, 6.0]), np.array([10.0, 20.0]))
    (found,) = timeouts(flow, line, (0.0, 8.0), alone=True)
    assert found.time_s.tolist() == [1, 5]
    assert found.value.tolist() == [10, 10]


@pytest.mark.parametrize("kind", ["both", "time-sequence"])
def test_a_figure_of_segments_counts_what_it_does_not_name(kind: str) -> None:
    figure = figure_of(plot_run, "wifi-to-lte", kind=kind)
    assert figure.axes[0].get_title("right") == "4 timeouts, 2 fast retransmits"
    narrow = figure_of(plot_run, "wifi-to-lte", kind=kind, until_s=1.5, look="paper")
    assert narrow.axes[0].get_title("right") == "2 timeouts, 1 fast retransmit"
    without = figure_of(plot_run, "wifi-to-lte", kind=kind, captions=False)
    assert without.axes[0].get_title("right") == ""


def test_counts_beside_rows_take_next_to_no_width_from_panels() -> None:
    how: Any = {"look": "paper", "from_s": 1.0}
    with_rows, without = (
        figure_of(plot_over_time, "walk-out-of-wifi", ["queue"], marks=one, **how)
        for one in (["losses"], [])
    )
    assert any(one.get_text().endswith(" lost") for one in with_rows.axes[1].texts)
    widths = []
    for figure in (with_rows, without):
        figure.draw_without_rendering()
        widths.append(figure.axes[1].get_position().width)
    assert widths[0] == pytest.approx(widths[1], abs=0.03)


@pytest.mark.parametrize("schemes", [["sack", "freeze"], ["sack", "freeze", "vho", "enhanced"]])
@pytest.mark.filterwarnings("ignore::midflight.remark.ScenarioWarning")
def test_counts_of_narrow_panels_cover_no_title(schemes: list[str]) -> None:
    look = "paper" if len(schemes) == 2 else "plain"
    figure = figure_of(plot_run, "wifi-to-lte", schemes=schemes, look=look, kind="time-sequence")
    figure.draw_without_rendering()
    for axes in figure.axes:
        left, right = (
            getattr(axes, name).get_window_extent() for name in ("_left_title", "_right_title")
        )
        assert left.width > 0
        assert right.width > 0
        assert not left.overlaps(right)


def test_counts_beside_rows_cover_no_title_of_an_axis() -> None:
    how: Any = {"look": "paper", "schemes": ["sack", "freeze", "enhanced"]}
    figure = figure_of(plot_over_time, "commute", ["throughput", "queue"], **how)
    figure.draw_without_rendering()
    for axes in figure.axes[1:]:
        counts = [one for one in axes.texts if one.get_text().endswith((" lost", " timeouts"))]
        assert len(counts) == 3
        title = axes.yaxis.label.get_window_extent()
        assert not any(one.get_window_extent().overlaps(title) for one in counts)


@pytest.mark.parametrize("height", [None, 2.0])
@pytest.mark.filterwarnings("ignore::midflight.remark.ScenarioWarning")
def test_long_counts_beside_rows_cover_no_title_of_an_axis(height: float | None) -> None:
    how: Any = {"schemes": ["sack", "bbr-linux", "bbr3"]}
    if height is not None:
        # The title has no room beside the values.
        how |= {"size": (7.0, height), "legend": "none"}
    figure = figure_of(plot_over_time, "starlink-to-lte", ["queue"], **how)
    figure.draw_without_rendering()
    axes = figure.axes[-1]
    counts = [one for one in axes.texts if one.get_text().endswith(" lost")]
    assert max(len(one.get_text()) for one in counts) > len("1,000 lost")
    title = axes.yaxis.label.get_window_extent()
    assert not any(one.get_window_extent().overlaps(title) for one in counts)
    assert title.x0 >= 0
    if height is None:
        # That takes no width from the panel.
        assert axes.get_ylabel() == "Queue\n(packets)"
