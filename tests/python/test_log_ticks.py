"""The numbers at logarithmic axes and bars of colours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from midflight.plot import figure_of, plot_spread
from midflight.plot.common.log_ticks import log_ticks
from midflight.plot.results.axis import axis_data, axis_figure


def test_the_ends_of_a_logarithmic_axis_have_numbers_near_them() -> None:
    # As few as suffice: powers of ten over decades, 1-2-5 over a few.
    assert log_ticks(0.9, 1100) == [1, 10, 100, 1000]
    assert log_ticks(0.366, 9.8) == [0.5, 1, 2, 5]
    assert log_ticks(1e-9, 1e9, 4) == [1e-9, 1e-3, 1e3, 1e9]
    for low in np.geomspace(0.1, 1, 50).tolist():
        for decades in (0.2, 0.5, 1.0, 1.5, 2.2, 4.0):
            high = low * 10**decades
            ticks = log_ticks(low, high)
            assert 3 <= len(ticks) <= 9
            assert low <= ticks[0] < ticks[-1] <= high
            ends = math.log10(ticks[0] / low), math.log10(high / ticks[-1])
            assert max(ends) <= 0.35 * decades


def test_logarithmic_axes_and_colours_have_numbers_at_both_ends() -> None:
    times: list[Any] = [4.77e8, 4.77e8, 4.77e8, 7.5e9]
    data = axis_data({"x": list("1234"), "duration_ns": times}, x="x", y="duration_ns")
    (axes,) = axis_figure(data, yscale="log").axes
    low, high = axes.get_ylim()
    assert [one for one in axes.get_yticks() if low <= one <= high] == [0.5, 1, 2, 5]
    assert axes.yaxis.get_major_formatter()(0.5, 0) == "0.5"
    # A bar of colours, too, which ends at its data.
    times = [4.8e8, 4.8e8, 4.9e8, 6e8, 9e9, 14e9]
    cells = {"x": list("123456"), "y": ["1"] * 6, "duration_ns": times}
    how: Any = {"x": "x", "y": "y", "value": "duration_ns", "vlim": (0.48, 14.0)}
    _, bar = figure_of(plot_spread, cells, "heatmap", **how).axes
    assert bar.get_yscale() == "log"
    assert bar.get_yticks().tolist() == [0.5, 1, 2, 5, 10]
