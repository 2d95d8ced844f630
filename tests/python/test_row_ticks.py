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


def test_panels_without_rows_have_no_line_and_ends_that_are_asked_for_have_their_ticks() -> None:
    how: Any = {"schemes": ["sack", "vho-qs"]}
    figure = figure_of(plot_over_time, "wifi-to-lte", ["rtt"], **how)
    assert all(_line_below(axes) is None for axes in figure.axes)
    figure = figure_of(plot_over_time, "wifi-to-lte", ["throughput"], ylim=(0, 60), **how)
    axes = figure.axes[-1]
    assert _line_below(axes) is None
    assert axes.get_yticks()[-1] == 60


def test_an_axis_with_few_ticks_below_its_rows_has_finer_ones() -> None:
    axes = Figure(figsize=(3, 1.3)).subplots()
    axes.set_ylim(0, 12)
    assert len([one for one in axes.get_yticks() if one <= 7.2]) < 3
    end_below_rows(axes, 0.4)
    ticks = [one for one in axes.get_yticks() if one >= 0]
    assert len(ticks) >= 3
    assert max(ticks) <= 7.2
