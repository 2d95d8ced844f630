"""The axes of figures of results: their scales and ends, and what stands at a number."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from midflight import MidflightError
from midflight.plot import figure_of, plot_axis
from midflight.plot.common.place_scale import LINEAR, LOG, log_with_zero
from midflight.plot.results.axis import axis_data, axis_figure
from midflight.plot.results.spread import spread_figure, spread_of


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def over_places(places: list[float], values: list[float]) -> dict[str, list[Any]]:
    return {
        "links.a.rate": [f"{one:.6g} Mbit/s" for one in places],
        "duration_ns": [1e9 * one for one in values],
    }


@pytest.mark.parametrize(
    ("places", "scale"),
    [
        ([1, 2, 4, 8], "log"),
        ([0.064, 0.256, 1.024, 4.096, 16.384], "log"),
        # A factor of six digits, as a sweep writes it.
        ([1, 3.16228, 10, 31.6228], "log"),
        ([1, 2, 4], "linear"),
        ([1, 1.5, 2.25, 3.375], "linear"),
        ([0.1, 0.3, 1, 3], "log"),
        ([1, 2, 5, 10], "log"),
        ([0.2, 0.5, 1, 2, 4], "log"),
        # Each is at least twice the one before, and a linear axis would hide the least.
        ([2, 5, 20, 50], "log"),
        ([0.2, 1, 4], "log"),
        ([1, 2, 6, 11], "linear"),
        ([1, 5, 20, 1000], "log"),
        # 0 has a place of its own.
        ([0, 5, 20, 1000], "symlog"),
        ([0, 0.1, 0.3, 1, 3], "symlog"),
        ([0, 0.05, 0.25, 1], "symlog"),
        # A linear axis shows all of these.
        ([0, 1, 2, 4, 8], "linear"),
        ([0, 1, 50], "linear"),
        # Evenly spaced: the first ones would be far apart.
        ([one / 10 for one in range(1, 201)], "linear"),
    ],
)
def test_an_axis_of_a_geometric_series_is_logarithmic(places: list[float], scale: str) -> None:
    columns = over_places(places, [1.0 + one / 1000 for one in range(len(places))])
    data = axis_data(columns, x="links.a.rate", y="duration_ns")
    (axes,) = axis_figure(data).axes
    assert axes.get_xscale() == scale
    assert axes.get_xlabel() == f"Rate of a (Mbit/s{'' if scale == 'linear' else ', log'})"
    assert axes.get_xlim()[0] >= 0 or scale == "symlog"
    log = "log" if places[0] > 0 else "symlog"
    other = log if scale == "linear" else "linear"
    asked: Any = other.removeprefix("sym")
    assert axis_figure(data, xscale=asked).axes[0].get_xscale() == other
    means = spread_of(columns, "interval", x="links.a.rate", value="duration_ns")
    (axes,) = spread_figure(means).axes
    assert axes.get_xscale() == scale
    assert axes.get_xlim()[0] >= 0 or scale == "symlog"


def test_a_logarithmic_axis_has_a_place_for_0() -> None:
    places = [0, 0.05, 0.1, 0.2, 0.5, 1, 2, 4]
    data = axis_data(over_places(places, [1.0] * 8), x="links.a.rate", y="duration_ns")
    (axes,) = axis_figure(data).axes
    assert axes.get_xticks().tolist() == places
    shown = axes.transData.transform([(one, 1) for one in places])[:, 0]
    steps = np.diff(shown) / np.ptp(shown)
    # 0 is a usual step of the others before the least one.
    assert steps[0] == pytest.approx(steps[1])
    assert steps.min() > 0.1
    limits = axes.transData.transform([(one, 1) for one in axes.get_xlim()])[:, 0]
    assert (limits - shown[[0, -1]]) / np.ptp(shown) == pytest.approx([-0.05, 0.05])
    # The break is marked between them, on the axis.
    breaks = [one for one in axes.lines if one.get_transform() == axes.get_xaxis_transform()]
    assert breaks
    assert all(0 < float(one.get_xdata()[0]) < 0.05 for one in breaks)
    (line,) = (one for one in axes.lines if one.get_linestyle() != "None")
    assert line.get_xdata().tolist() == places
    (axes,) = axis_figure(data, xscale="linear").axes
    assert not any(one.get_transform() == axes.get_xaxis_transform() for one in axes.lines)


@pytest.mark.parametrize(("places", "why"), [([-1, 1, 9], "below 0"), ([0], "names")])
def test_a_logarithmic_axis_has_nothing_below_0(places: list[float], why: str) -> None:
    data = axis_data(over_places(places, [1.0] * len(places)), x="links.a.rate", y="duration_ns")
    with pytest.raises(MidflightError, match=f"--xscale log: the axis has .*{why}"):
        axis_figure(data, xscale="log")


def test_places_beside_others_are_found_on_each_scale() -> None:
    scale = log_with_zero([0.05, 0.1, 0.4])
    each = np.array([0.0, 0.02, 0.05, 0.07, 0.4])
    assert np.diff(scale.along(each)).min() > 0
    for one in (LINEAR, LOG, scale):
        at = each[1:] if one is LOG else each
        assert one.along(one.moved(at, 0.1)) == pytest.approx(one.along(at) + 0.1)


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1, 1, 1, 20], "log"),
        ([20, 20, 20, 20, 1], "linear"),
        ([1, 1, 1, 11], "linear"),
        ([0, 1, 1, 20], "linear"),
    ],
)
def test_values_that_a_linear_axis_hides(values: list[float], scale: str) -> None:
    columns = over_places([1, 2, 3, 4, 5][: len(values)], values)
    how: Any = {"x": "links.a.rate"}
    figures = [axis_figure(axis_data(columns, y="duration_ns", **how))]
    for kind in ("box", "interval"):
        figures.append(spread_figure(spread_of(columns, kind, value="duration_ns", **how)))
    for figure in figures:
        (axes,) = figure.axes
        assert axes.get_yscale() == scale
        assert axes.get_ylabel() == f"Transfer time (s{', log' if scale == 'log' else ''})"
        assert (axes.get_ylim()[0] > 0) == (scale == "log")


def test_an_interval_of_a_positive_quantity_begins_at_0() -> None:
    """The interval reaches below it, the axis does not; that of a difference does."""
    columns: dict[str, list[Any]] = {"a.x": ["1", "1", "2", "2"], "sent": [1.0, 9.0, 2.0, 3.0]}
    data = spread_of(columns, "interval", value="sent", x="a.x")
    assert spread_figure(data).axes[0].get_ylim()[0] == 0
    compared = {"a.x": ["1", "2"], "difference": [1.0, 2.0], "half_width": [5.0, 1.0]}
    data = spread_of(compared, "interval", value="difference", x="a.x")
    assert spread_figure(data).axes[0].get_ylim()[0] < -4


def test_the_edges_of_a_cdf_are_not_below_0() -> None:
    columns = {"a_ns": [1e7, 1e9, 1.1e9]}
    (axes,) = spread_figure(spread_of(columns, "cdf", value="a_ns"), xscale="linear").axes
    assert axes.get_xlim()[0] == 0


def test_a_logarithmic_axis_has_several_ticks_within_a_decade() -> None:
    for values in ([5.1, 6.0, 7.0, 15.0], [2.0, 2.2, 2.4, 3.0], [3.0, 5.0, 9.0, 28.0]):
        columns = over_places([1, 2, 3, 4], values)
        data = axis_data(columns, x="links.a.rate", y="duration_ns")
        (axes,) = axis_figure(data, yscale="log").axes
        low, high = axes.get_ylim()
        assert len([one for one in axes.get_yticks() if low <= one <= high]) >= 3


@pytest.mark.parametrize("yscale", ["linear", "log"])
def test_what_never_ends_leaves_the_axes_at_the_top(yscale: str) -> None:
    columns = over_places([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0])
    columns["duration_ns"][3] = None
    data = axis_data(columns, x="links.a.rate", y="duration_ns")
    box = spread_of(columns, "box", x="links.a.rate", value="duration_ns")
    for figure, is_box in (
        (axis_figure(data, yscale=yscale), False),
        (spread_figure(box, yscale=yscale), True),
    ):
        (axes,) = figure.axes
        arrows = [line for line in axes.lines if line.get_marker() == r"$\uparrow$"]
        assert [line.get_ydata()[0] for line in arrows] == [axes.get_ylim()[1]]
        drawn = np.concatenate([line.get_ydata() for line in axes.lines if line not in arrows])
        # Whiskers leave the axes; a line of medians ends before.
        assert (np.nanmax(drawn) > axes.get_ylim()[1]) == is_box
        assert "did not finish" in " ".join(text.get_text() for text in axes.texts)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_whiskers_at_a_number_are_points_apart_and_inside_the_axes(scale: str) -> None:
    schemes = ["sack", "enhanced", "freeze", "vho"]
    columns: dict[str, list[Any]] = {
        "a.x": ["1", "1", "3", "3"] * len(schemes),
        "scheme": [one for one in schemes for _ in range(4)],
        # Lines that are the same would be one.
        "sent": [one / 10 + sent for one in range(4) for sent in (1.0, 2.0, 3.0, 4.0)],
    }
    data = spread_of(columns, "interval", value="sent", x="a.x", by=["scheme"])
    for size in ("single", "double"):
        figure = spread_figure(data, xscale=scale, size=size)
        figure.canvas.draw()
        (axes,) = figure.axes
        lines = [one for one in axes.lines if one.get_label() in schemes]
        bars = [[bar[0] for bar in each.get_segments()] for each in axes.collections]
        # A line and its markers are on its whiskers.
        starts = [[float(bar[0, 0]) for bar in each.get_segments()] for each in axes.collections]
        assert [one.get_xdata().tolist() for one in lines] == starts
        places = np.array([axes.transData.transform(each)[:, 0] for each in bars])
        apart = np.diff(places, axis=0) * 72 / figure.dpi
        assert len(bars) == len(schemes)
        # Caps, which have marker sizes of their widths, do not touch.
        caps = [one for one in axes.lines if one.get_marker() == "_"]
        assert (apart > max(one.get_markersize() for one in caps)).all()
        numbers = axes.transData.transform([(1.0, 2.0), (3.0, 2.0)])[:, 0]
        # Four points, and one more for each line after the second.
        assert (np.abs(places - numbers) * 72 / figure.dpi <= 6.1).all()
        box = axes.get_window_extent()
        assert ((places >= box.x0) & (places <= box.x1)).all()


def test_means_at_the_number_zero_are_not_cut_off() -> None:
    columns: dict[str, list[Any]] = {
        "a.x": ["0", "2"] * 3,
        "scheme": ["sack", "sack", "freeze", "freeze", "vho", "vho"],
        "sent": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
    data = spread_of(columns, "interval", value="sent", x="a.x", by=["scheme"])
    (axes,) = spread_figure(data).axes
    low, high = axes.get_xlim()
    lines = [one for one in axes.lines if one.get_label() in columns["scheme"]]
    assert len(lines) == 3
    assert all(low <= x <= high for one in lines for x in np.asarray(one.get_xdata()))


@pytest.mark.parametrize("size", [1.8, 2.5, 3.5, 7.16])
@pytest.mark.parametrize("panels", [1, 3])
@pytest.mark.parametrize(
    "places",
    [
        (0, 0.1, 0.25, 0.5, 1, 2, 4, 8),
        (0, 0.25, 0.5, 1, 2, 4, 8, 16, 32),
        (0, 0.25, 0.5, 4),
        (100, 200, 400, 800, 1600, 3200),
    ],
)
def test_numbers_at_logarithmic_axes_do_not_touch(
    places: Sequence[float], panels: int, size: float
) -> None:
    each = [(one, line, panel) for one in places for line in "abc" for panel in range(panels)]
    columns = {
        "handoffs.0.gap": [f"{one} s" for one, _, _ in each],
        "line": [line for _, line, _ in each],
        "panel": ["xyz"[panel] for *_, panel in each],
        "duration_ns": [1e9 * (1 + one) for one, _, _ in each],
    }
    by = ["line", "panel"] if panels > 1 else ["line"]
    how: Any = {"x": "handoffs.0.gap", "y": "duration_ns", "by": by, "size": size}
    figure = figure_of(plot_axis, columns, **how, xscale="log")
    figure.canvas.draw()
    # Of panels below each other the last one has the numbers.
    axes = figure.axes[-1]
    low, high = axes.get_xlim()
    labels = [one for one in axes.get_xticklabels() if low <= one.get_position()[0] <= high]
    boxes = [one.get_window_extent() for one in labels]
    assert len(labels) > 1
    assert all(second.x0 - first.x1 > 1 for first, second in pairwise(boxes))
    assert (labels[0].get_text() == "0") == (places[0] == 0)
