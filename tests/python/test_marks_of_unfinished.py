"""Marks of runs that did not finish, of several lines at the same places."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.results.maps import Layout
from midflight.plot.results.paired import lacks_pairs
from midflight.plot.results.spread import spread_figure, spread_of

SCHEME, GAP, RATE = "flows.download.scheme", "handoffs.0.gap", "links.lte.rate"
SCHEMES = ("sack", "freeze", "enhanced", "bbr3")
GAPS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def results(done: dict[str, float], rates: tuple[str, ...] = ("2 Mbit/s",)) -> dict[str, Any]:
    """Times of eight runs at each gap, of which those up to the gap of a scheme are done."""
    each = [*product(rates, SCHEMES, GAPS, range(8))]
    return {
        RATE: [rate for rate, *_ in each],
        SCHEME: [scheme for _, scheme, *_ in each],
        GAP: [f"{gap:g} s" for *_, gap, _ in each],
        "seed": [seed for *_, seed in each],
        "duration_ns": [
            None if gap > done.get(scheme, 1.0) else 1e9 * (3 + gap + 0.1 * seed)
            for _, scheme, gap, seed in each
        ],
    }


def arrows_in(figure: Figure, axes: Axes) -> list[tuple[str, float, float]]:
    """The colours and the places of arrows in pixels."""
    figure.canvas.draw()
    found = []
    for line in axes.lines:
        if "arrow" in str(line.get_marker()):
            places = line.get_transform().transform(np.column_stack(line.get_data()))
            found += [(str(line.get_color()), float(x), float(y)) for x, y in places]
    return found


@pytest.mark.parametrize("look", ["plain", "paper"])
@pytest.mark.parametrize("rates", [("2 Mbit/s",), ("1 Mbit/s", "2 Mbit/s")])
def test_arrows_of_different_lines_do_not_cover_each_other(
    look: Any, rates: tuple[str, ...]
) -> None:
    by = [SCHEME, RATE][: len(rates)]
    figure = figure_of(plot_axis, results({}, rates), x=GAP, y="duration_ns", by=by, look=look)
    for axes in figure.axes:
        found = arrows_in(figure, axes)
        # Four lines at the four gaps above 1 s.
        assert len(found) == 16
        point = figure.dpi / 72
        for first, second in product(found, found):
            if first[0] != second[0]:
                assert np.hypot(first[1] - second[1], first[2] - second[2]) > 2 * point
        # The rows are above the axes, in the order of the legend, and no title is among them.
        rows = [max(y for colour, _, y in found if colour == one) for one in _colours(axes)]
        assert all(a > b for a, b in pairwise(rows))
        assert min(rows) > axes.get_window_extent().y1
        above = [axes.title, *axes.texts]
        titles = [one.get_window_extent().y0 for one in above if one.get_text()]
        assert all(one > max(rows) for one in titles)


def _colours(axes: Axes) -> list[str]:
    return [str(one.get_color()) for one in axes.get_legend_handles_labels()[0]]


def test_arrows_with_room_beside_each_other_stand_on_the_edge() -> None:
    figure = figure_of(
        plot_axis,
        results({"sack": 3.0, "freeze": 9, "enhanced": 9, "bbr3": 9}),
        x=GAP,
        y="duration_ns",
        by=[SCHEME],
    )
    (axes,) = figure.axes
    ((_, _, up),) = arrows_in(figure, axes)
    assert up == pytest.approx(axes.get_window_extent().y1)


@pytest.mark.parametrize("kind", ["median", "box", "interval"])
def test_the_legend_says_that_no_run_of_a_line_finished(kind: str) -> None:
    table: Any = results({"freeze": 0.0})
    how: Any = {"x": GAP, "by": [SCHEME]}
    if kind == "median":
        figure = figure_of(plot_axis, table, y="duration_ns", **how)
    else:
        figure = figure_of(plot_spread, table, kind, value="duration_ns", **how)
    (legend,) = figure.legends
    names = [one.get_text() for one in legend.get_texts()]
    assert [one for one in names if "none finished" in one] == ["freeze (none finished)"]


@pytest.mark.parametrize("is_table", [True, False])
def test_a_comparison_with_few_pairs_is_no_usual_figure(is_table: bool) -> None:
    def comparison(weak: int) -> dict[str, Any]:
        rows = range(12)
        left_out = [4 if row < weak else 0 for row in rows]
        return {
            "pairs": [6 - one for one in left_out],
            "left_out": [str(one) for one in left_out] if is_table else left_out,
            "done_before": [0] * 12,
        }

    assert [lacks_pairs(comparison(weak)) for weak in (0, 2, 3, 12)] == [False, False, True, True]


def test_means_of_times_that_are_too_short_stand_side_by_side() -> None:
    how: Any = {"value": "duration_ns", "x": GAP, "by": [SCHEME]}
    table: Any = results({})
    # Half of the runs at the longer gaps finish.
    table["duration_ns"] = [
        5e9 if one is None and seed % 2 else one
        for one, seed in zip(table["duration_ns"], table["seed"], strict=True)
    ]
    figure = figure_of(plot_spread, table, "interval", **how)
    (axes,) = figure.axes
    found = sorted(x for _, x, _ in arrows_in(figure, axes))
    assert len(found) == 16
    assert min(b - a for a, b in pairwise(found)) > 2 * figure.dpi / 72
    # Without such means the axis has numbers, and lines.
    done = results(dict.fromkeys(SCHEMES, 9.0))
    (axes,) = figure_of(plot_spread, done, "interval", **how).axes
    assert [line for line in axes.lines if line.get_linestyle() != "None"]


@pytest.mark.parametrize("size", [None, 3.5])
def test_the_text_above_a_map_is_inside_of_the_figure(size: float | None) -> None:
    how: Any = {"value": "duration_ns", "x": GAP, "y": RATE, "where": {SCHEME: "sack"}}
    data = spread_of(results({}, ("1 Mbit/s", "2 Mbit/s")), "heatmap", **how)
    figure = spread_figure(replace(data, detail="pooled " * 60), size=size)
    figure.canvas.draw()
    (text,) = (one for one in figure.axes[0].texts if "pooled" in one.get_text())
    assert text.get_window_extent().x0 > 0


def test_three_maps_are_not_two_and_one() -> None:
    how: Any = {"value": "duration_ns", "x": GAP, "y": RATE, "by": [SCHEME]}
    table: Any = results({}, ("1 Mbit/s", "2 Mbit/s"))
    data = spread_of(table, "heatmap", **how, where={SCHEME: SCHEMES[:3]})
    figure = spread_figure(replace(data, layout=Layout(2, 2.5)))
    rows, columns, *_ = figure.axes[0].get_subplotspec().get_geometry()
    assert {rows, columns} == {1, 3}
