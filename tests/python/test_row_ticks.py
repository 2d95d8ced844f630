"""Axes of values end below the rows of marks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from midflight.plot import figure_of, plot_over_time
from midflight.plot.over_time.row_ticks import BELOW_ROWS, end_below_rows


def _line_below(axes: Any) -> float | None:
    """The value at which the line below the rows stands, if there is one."""
    lines = [one for one in axes.lines if one.get_gid() == BELOW_ROWS]
    if not lines:
        return None
    (line,) = lines
    place = axes.transAxes.transform((0.0, line.get_ydata()[0]))
    return float(axes.transData.inverted().transform(place)[1])


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("look", ["plain", "paper"])
def test_no_tick_stands_beside_a_row_of_marks(scale: str, look: str) -> None:
    how: Any = {"schemes": ["sack", "vho-qs", "freeze"], "yscale": scale, "look": look}
    kinds = ["throughput", "queue"]
    figure = figure_of(plot_over_time, "wifi-to-lte", kinds, **how)
    figure.canvas.draw()
    panels = [axes for axes in figure.axes if axes.get_ylabel()]
    assert len(panels) == 2
    for axes in panels:
        end = _line_below(axes)
        assert end is not None
        low, high = axes.get_ylim()
        assert low < end < high
        ticks = [*axes.yaxis.get_majorticklocs(), *axes.yaxis.get_minorticklocs()]
        assert len([one for one in axes.get_yticks() if low <= one <= end]) > 1
        assert max(ticks) <= end * (1 + 1e-6)
        # The usual ones would go on beside the rows.
        shares = [one.get_ydata() for one in axes.lines if one.get_marker() in ("v", "x", "|")]
        rows = np.concatenate([one for one in shares if len(one)])
        share = axes.transAxes.inverted().transform(axes.transData.transform((0, end)))[1]
        assert rows.min() > share
        # All that is drawn as a line is below them.
        steps = [one for one in axes.lines if one.get_drawstyle() == "steps-post"]
        assert max(float(np.nanmax(one.get_ydata())) for one in steps) <= end
        is_framed = axes.spines["right"].get_visible()
        assert is_framed == (look == "paper")
        if not is_framed:
            assert axes.spines["left"].get_bounds() == pytest.approx((low, end))


def test_panels_without_rows_have_no_line() -> None:
    how: Any = {"schemes": ["sack", "vho-qs"]}
    figure = figure_of(plot_over_time, "wifi-to-lte", ["rtt"], **how)
    assert all(_line_below(axes) is None for axes in figure.axes)
    # Its ends are those of the axis.
    figure = figure_of(plot_over_time, "wifi-to-lte", ["rtt"], ylim=(0, 700), **how)
    assert figure.axes[-1].get_ylim() == (0, 700)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("look", ["plain", "paper"])
@pytest.mark.parametrize("top", [10, 30, 60])
def test_ends_that_are_asked_for_are_those_of_the_values(scale: str, look: str, top: int) -> None:
    """Rows of marks stand above them, also where the values would go on."""
    low = 0.3 if scale == "log" else 0
    ylim = {"throughput": (low, top), "queue": (low, 5 * top)}
    how: Any = {"schemes": ["sack", "bbr-linux"], "yscale": scale, "look": look, "ylim": ylim}
    figure = figure_of(plot_over_time, "train", [*ylim], **how)
    figure.canvas.draw()
    panels = [axes for axes in figure.axes if axes.get_ylabel()]
    for axes, (least, most) in zip(panels, ylim.values(), strict=True):
        assert _line_below(axes) == pytest.approx(most)
        assert axes.get_ylim()[0] == least
        ticks = [*axes.yaxis.get_majorticklocs(), *axes.yaxis.get_minorticklocs()]
        assert max(ticks) <= most * (1 + 1e-6)
        end = axes.transData.transform((0, most))[1]
        rows = [one for one in axes.lines if one.get_marker() in ("v", "x", "|")]
        marks = [one for one in rows if len(one.get_xdata())]
        assert marks
        for one in marks:
            assert one.get_transform().transform(one.get_xydata())[:, 1].min() > end
        # Neither a line nor an area goes on among them.
        drawn = [one for one in axes.lines if one.get_drawstyle() == "steps-post"]
        areas = [
            one for one in axes.collections if one.get_transform().contains_branch(axes.transData)
        ]
        # Whole markers at the lower end are in no box.
        for artist in (one for one in (*drawn, *areas) if one.get_clip_on()):
            box = artist.get_clip_box()
            assert box is not None
            assert box.y1 == pytest.approx(end)
        # Numbers beside rows are clear of those of ticks.
        counts = [one for one in axes.texts if one.get_text().endswith("lost")]
        numbers = [one for one in axes.yaxis.get_ticklabels() if one.get_text()]
        assert len(counts) == 2 * (axes is panels[1])
        for count in counts:
            box = count.get_window_extent()
            assert not any(box.overlaps(one.get_window_extent()) for one in numbers)


def test_an_axis_with_few_ticks_below_its_rows_has_finer_ones() -> None:
    axes = Figure(figsize=(3, 1.3)).subplots()
    axes.set_ylim(0, 12)
    assert len([one for one in axes.get_yticks() if one <= 7.2]) < 3
    end_below_rows(axes, 0.4)
    ticks = [one for one in axes.get_yticks() if one >= 0]
    assert len(ticks) >= 3
    assert max(ticks) <= 7.2
