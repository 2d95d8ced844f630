"""Boxes and maps of results: values alone at their place, what stands side by side, and names."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.common.style import SERIES, lighter, looks_of
from midflight.plot.results.spread_data import Spread, box_of
from midflight.remark import ScenarioWarning

SCHEME, AT, GAP = "flows.download.scheme", "handoffs.0.at", "handoffs.0.gap"


def boxes(values: Sequence[Sequence[float | None]], **more: Any) -> Any:
    """Boxes of the values, in seconds, of two lines at the same places, one after the other."""
    half = len(values) // 2
    cells = [(place % half, "ab"[place // half], one) for place, one in enumerate(values)]
    rows = [(place, line, one) for place, line, each in cells for one in each]
    columns = {
        "x": [f"at {place}" for place, _, _ in rows],
        "line": [line for _, line, _ in rows],
        "duration_ns": [None if one is None else one * 1e9 for _, _, one in rows],
    }
    how: Any = {"x": "x", "value": "duration_ns", "by": ["line"]} | more
    return figure_of(plot_spread, columns, "box", **how)


def grouped() -> Any:
    """Two groups of two boxes."""
    table: dict[str, list[Any]] = {"gap": [], "scheme": [], "y_ns": []}
    for gap in ("1 s", "2 s"):
        for scheme in ("sack", "enhanced"):
            for one in range(12):
                for name, cell in zip(table, (gap, scheme, 10**9 * one), strict=True):
                    table[name].append(cell)
    how: Any = {"value": "y_ns", "x": "gap", "by": ["scheme"]}
    return figure_of(plot_spread, table, "box", **how)


def filled(values: Sequence[float]) -> list[float]:
    """Values with the same ends and quartiles that are enough for a box."""
    at = np.linspace(0, len(values) - 1, 6 * (len(values) - 1) + 1)
    return list(map(float, np.interp(at, range(len(values)), values)))


def markers_in(axes: Any) -> list[Any]:
    return [line for line in axes.lines if line.get_marker() not in ("", "None", None)]


def names_in(figure: Any) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def words_of(figure: Any) -> str:
    """The caption above the axes."""
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return " ".join(word for text in texts for word in text.get_text().split())


def test_single_runs_are_markers_of_their_line() -> None:
    figure = boxes([[1.0], [2.0], [3.0], [4.0]])
    (axes,) = figure.axes
    assert not axes.patches
    marked = [line for line in axes.lines if line.get_marker() not in ("", "None", None)]
    assert [line.get_ydata().tolist() for line in marked] == [[1.0, 2.0], [3.0, 4.0]]
    assert [line.get_marker() for line in marked] == [look.marker for look in SERIES[:2]]
    assert "no boxes, as each is of one value" in words_of(figure)
    assert names_in(figure)[-2:] == ["a", "b"]


def test_alike_runs_are_a_marker_beside_boxes() -> None:
    figure = boxes([[1.0, 1.0], [2.0, 2.0], filled([3.0, 3.5, 4.0]), [4.0]])
    (axes,) = figure.axes
    marked = [line for line in markers_in(axes) if len(line.get_ydata())]
    assert [line.get_ydata().tolist() for line in marked] == [[1.0, 2.0], [4.0]]
    assert axes.patches
    assert "markers: values that are alike" in words_of(figure)
    # The legend has the order of the lines, whatever their marks are.
    assert names_in(figure)[-2:] == ["a", "b"]
    assert "markers" not in words_of(boxes([[1.0, 2.0], [3.0, 4.0]]))
    none = boxes([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0]])
    assert words_of(none).startswith("no boxes, as the values of each are alike")


def test_whiskers_end_at_values_and_points_are_beyond_them() -> None:
    """Five of a hundred values are beyond each end, one of twenty, and none of fewer."""
    data = Spread("box", "", "", [], is_time=True)
    for count, outside in ((10, 0), (19, 0), (20, 1), (39, 1), (40, 2), (100, 5)):
        values = [float(one) for one in range(count)]
        low, q1, median, q3, high = box_of(data, values[::-1]).points
        assert (low, high) == (outside, count - 1 - outside)
        assert (q1, median, q3) == pytest.approx(np.percentile(values, [25, 50, 75]))
        assert box_of(data, values).singles == [*values[:outside], *values[count - outside :]]
    data = replace(data, has_points=True)
    assert box_of(data, [1.0, math.nan, 0.5]).singles == [0.5, 1.0, math.inf]
    values = [float(one) for one in range(1, 21)]
    figure = boxes([values, values])
    assert (
        "whiskers to the runs at 5 and 95 % over 20 values, points: values beyond these"
        in words_of(figure)
    )
    points = [line.get_ydata().tolist() for line in markers_in(figure.axes[0])]
    assert points == [[1.0, 20.0]] * 2
    assert "whiskers from the least to the largest over 19 values" in words_of(
        boxes([values[1:], values[1:]])
    )


def test_few_values_are_points_without_a_box() -> None:
    few = [1.0, 1.0001, 1.0002, 4.0]
    figure = boxes([few, [*few[:3], 5.0]])
    (axes,) = figure.axes
    assert not axes.patches
    for line, look in zip(markers_in(axes), SERIES, strict=False):
        assert (line.get_ydata().tolist()[:3], line.get_marker()) == (few[:3], look.marker)
        # Those that would cover each other stand side by side, around the middle.
        first, second, third, alone = line.get_xdata()
        assert second < first < third or third < first < second
        assert first == pytest.approx(alone)
    assert words_of(figure) == "a point for each value and a line at the median over 4 values"
    assert names_in(figure)[-2:] == ["a", "b"]
    # In one figure all values are points, or none, where they are too many for it.
    mixed = boxes([few, [float(one) for one in range(10)]])
    assert not mixed.axes[0].patches
    assert words_of(mixed).startswith("a point for each value")
    assert "4 to 10" in words_of(mixed)
    many = boxes([few, [float(one) for one in range(100)]])
    assert len(many.axes[0].patches) == 2
    assert "boxes 25 to 75 %" in words_of(many)


def test_points_of_few_values_have_no_slant_and_their_median_is_seen() -> None:
    values = [20.0 + 0.03 * one for one in range(8)]
    figure = boxes([values, [one + 2 for one in values], *[[1.0, 2.0, 3.0]] * 2])
    (axes,) = figure.axes
    for line in markers_in(axes)[:2]:
        x, y = line.get_xdata(), line.get_ydata()
        assert len(y) == len(values)
        assert len({*x}) > 2
        assert abs(np.corrcoef(x, y)[0, 1]) < 0.4
    # Above the points, one of which is at the median of three, and wider than these.
    dark = [one for one in axes.lines if one.get_solid_capstyle() == "butt"]
    assert all(one.get_zorder() > markers_in(axes)[0].get_zorder() for one in dark[-3:])
    assert np.ptp(dark[-1].get_xdata()) > np.ptp(markers_in(axes)[0].get_xdata())


def test_boxes_of_a_place_are_nearer_to_each_other_than_to_those_of_the_next() -> None:
    figure = grouped()
    spans = sorted((one.get_x(), one.get_x() + one.get_width()) for one in figure.axes[0].patches)
    within, between, _ = (low - high for (_, high), (low, _) in pairwise(spans))
    assert between > 3 * within > 0


def test_the_table_has_what_is_drawn(tmp_path: Path) -> None:
    table = tmp_path / "box.csv"
    boxes([[float(one) for one in range(20)]] * 2, csv=table)
    with table.open(newline="") as file:
        many, _ = csv.DictReader(file)
    assert (many["low"], many["high"], many["runs"], many["points"]) == ("1", "18", "20", "0 19")
    boxes([[3.0, 1.0, None]] * 2, csv=table)
    with table.open(newline="") as file:
        few, _ = csv.DictReader(file)
    assert (few["median"], few["high"], few["points"]) == ("3", "inf", "1 3 inf")


def medians_in(figure: Any) -> list[tuple[float, float]]:
    """The lines of medians, which are darker than their boxes, and their widths in points."""
    dark = [tuple(0.45 * one for one in to_rgb(look.colour)) for look in SERIES[:2]]
    lines = [one for one in figure.axes[0].lines if to_rgb(one.get_color()) in dark]
    return [(float(one.get_ydata()[0]), one.get_linewidth()) for one in lines]


def fills_in(figure: Any) -> list[tuple[str, str | None]]:
    """The colours and hatches of boxes."""
    patches = figure.axes[0].patches
    return [(to_hex(one.get_facecolor()), one.get_hatch() or None) for one in patches]


def test_low_boxes_have_thin_lines_at_their_medians_and_no_hatch() -> None:
    tall, low = filled([1.0, 3.0, 5.0]), filled([2.0, 2.1, 2.2])
    line = filled([2.0, 2.02, 2.04])
    figure = boxes([tall, tall, tall, tall, low, line])
    # The lowest ones are a line themselves.
    assert medians_in(figure) == [(3.0, 1.6)] * 4 + [(2.1, 0.8)]
    light, colour = to_hex(lighter(SERIES[1].colour, 0.3)), SERIES[1].colour
    assert fills_in(figure)[3:] == [(light, "////"), (light, None), (colour, None)]
    assert not any(one.get_marker() in ("o", "s") for one in figure.axes[0].lines)
    # The box itself is as high as its quartiles are apart.
    heights = [one.get_height() for one in figure.axes[0].patches]
    assert heights == pytest.approx([2.0] * 4 + [0.1, 0.02])
    said = "boxes 25 to 75 % and whiskers from the least to the largest over 13 values"
    assert words_of(figure).endswith(said)
    # The legend has the fill of a high box, wherever that is, and if there is none.
    for each in ([line, low, tall], [line, low, low]):
        (_, shown) = boxes([tall, tall, tall, *each]).legends[0].get_patches()
        assert (to_hex(shown.get_facecolor()), shown.get_hatch() or None) == (light, "////")
    # In a higher figure, or near it, there is room for the line.
    for how in ({"size": (3.5, 39.0)}, {"ylim": (1.9, 2.2)}):
        near = boxes([low, line], **how)
        assert [width for _, width in medians_in(near)] == [1.6, 1.6]
    # On a logarithmic axis heights are factors.
    small, large = filled([0.01, 0.02, 0.03]), filled([100.0, 101.0, 102.0])
    assert medians_in(boxes([small, small], yscale="log")) == [(0.02, 1.6)] * 2
    assert medians_in(boxes([small, large], yscale="log")) == [(0.02, 1.6)]


def test_low_boxes_of_the_same_colour_have_keys_of_their_own() -> None:
    runs = [str(1 + one / 6) for one in range(13)]
    each = [(scheme, rate, run) for scheme in ("sack", "bbr3") for rate in "12" for run in runs]
    columns = {
        "scheme": [scheme for scheme, _, _ in each],
        "rate": [f"{rate} Mbit/s" for _, rate, _ in each],
        "at": ["1 s" for _ in each],
        "seed": [run for _, _, run in each],
        "duration_ns": [
            1e9 * (10 * float(run) if scheme == "sack" else 4 + 0.01 * float(run) + int(rate))
            for scheme, rate, run in each
        ],
    }
    how: Any = {"x": "at", "value": "duration_ns", "by": ["scheme", "rate"]}
    shown = figure_of(plot_spread, columns, "box", **how).legends[0].get_patches()
    keys = {(to_hex(one.get_facecolor()), one.get_hatch()) for one in shown}
    assert len(keys) == len(shown) == 4


def test_a_single_run_without_an_end_has_no_marker() -> None:
    figure = boxes([[1.0], [None], [3.0], [4.0]])
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    marked = [line for line in axes.lines if line.get_marker() == SERIES[0].marker]
    shown = [[one for one in line.get_ydata() if low <= one <= high] for line in marked]
    assert shown == [[1.0]]
    assert "arrows: 1 run of a that did not finish counts as longest" in words_of(figure)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes at six instants."""
    folder = tmp_path_factory.mktemp("boxes") / "out"
    axes = (f"{SCHEME}=sack,freeze", f"{AT}=1s,1.5s,2s,2.5s,3s,3.5s")
    words = ["sweep", "wifi-to-lte", "--out", str(folder), "--compare", SCHEME]
    assert main([*words, *(word for axis in axes for word in ("--axis", axis))]) == 0
    return folder


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), f"--x {SCHEME}"),
        (("--by", SCHEME), f"--x {SCHEME}"),
        (("--by", "flow"), f"--x {SCHEME} --y duration_ns --by flow"),
        (("--x", AT), f"--x {AT} --y duration_ns --by {SCHEME}"),
    ],
)
def test_instants_are_in_the_boxes(
    swept: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: Sequence[str],
    shown: str,
) -> None:
    words = ["plot", str(swept), "--kind", "box", "--value", "duration_ns", *options]
    assert main([*words, "--out", str(tmp_path / "x.svg")]) == 0
    assert f"the figure shows {shown}" in capsys.readouterr().err


def labels_below(names: Sequence[str], **how: Any) -> tuple[list[str], float]:
    """The names of the places on the axis, and how far they are turned."""
    columns = {"x": list(names), "sent": [float(one) for one in range(len(names))]}
    figure = figure_of(plot_spread, columns, "box", x="x", value="sent", **how)
    labels = figure.axes[0].get_xticklabels()
    return [one.get_text() for one in labels], labels[0].get_rotation()


def test_numbers_below_boxes_are_thinned_where_there_is_no_room() -> None:
    numbers = [f"{3 + one / 4:g} s" for one in range(25)]
    few, turn = labels_below(numbers, size=(3.5, 2.5))
    assert turn == 0
    assert few[0] == "3"
    assert 4 < len(few) < 13
    every, _ = labels_below(numbers, size=(12.0, 2.5))
    assert len(every) == 25


def test_names_below_boxes_are_turned_and_then_thinned() -> None:
    assert labels_below(["one", "two"]) == (["one", "two"], 0.0)
    names = [f"a long name {one}" for one in "abcdef"]
    assert labels_below(names) == (names, 30.0)
    many = [f"{one} and some" for one in "abcdefghijklmnopqrstu"]
    assert labels_below(many) == (many, 90.0)
    few, turn = labels_below([f"name{one}x" for one in range(90)])
    assert turn == 90
    assert 20 < len(few) < 46


def letters_of(rows: int, height: float) -> set[float]:
    """The sizes of the numbers in a map, which are no higher than their cells."""
    places = [(x, y) for y in range(rows) for x in range(3)]
    columns = {
        "x": [str(x) for x, _ in places],
        "y": [str(y) for _, y in places],
        "sent": [float(x + y) for x, y in places],
    }
    how: Any = {"x": "x", "y": "y", "value": "sent", "size": (4.0, height)}
    figure = figure_of(plot_spread, columns, "heatmap", **how)
    figure.canvas.draw()
    axes = figure.axes[0]
    cell = axes.get_window_extent().height / rows
    drawn = [one for one in axes.texts if one.get_text().isdigit()]
    assert all(one.get_window_extent().height <= 1.05 * cell for one in drawn)
    return {one.get_fontsize() for one in drawn}


def test_numbers_of_a_map_are_no_higher_than_their_cells() -> None:
    (usual,), (small,) = letters_of(8, 2.9), letters_of(25, 2.9)
    assert 4.4 <= small < usual
    assert not letters_of(40, 2.9)
    assert letters_of(40, 6.0)


def test_no_marker_is_a_rectangle_that_lies_as_a_low_box() -> None:
    """Medians of low boxes are markers."""
    for look in SERIES:
        if isinstance(look.marker, str):
            continue
        places = list(zip(*look.marker, strict=True))
        across, up = (max(one) - min(one) for one in places)
        # A tie has its corners in another order.
        is_box = look.marker[0][1] == look.marker[1][1]
        assert across <= up or not is_box


def test_flows_that_are_tables_have_the_names_and_looks_of_their_values() -> None:
    flows = ['{scheme = "sack"}', '{scheme = "bbr3"}', '{stack = "quinn", cc = "cubic"}']
    columns: dict[str, list[Any]] = {
        "flows.get": [one for one in flows for _ in "12"],
        "x": ["a", "b"] * 3,
        "goodput_bps": [1e6, 2e6, 3e6, 4e6, 5e6, 6e6],
    }
    figure = figure_of(plot_axis, columns, x="x", y="goodput_bps", by=["flows.get"])
    assert names_in(figure)[-3:] == ["sack", "bbr3", "quinn, cubic"]
    colours = [to_hex(one.get_color()) for one in figure.axes[0].lines if one.get_label()[0] != "_"]
    known = looks_of(["sack", "bbr3", "cubic"])
    assert colours == [SERIES[one].colour for one in known]
    how: Any = {"x": "x", "y": "flows.get", "value": "goodput_bps"}
    axes, _ = figure_of(plot_spread, columns, "heatmap", **how).axes
    assert [one.get_text() for one in axes.get_yticklabels()] == ["sack", "bbr3", "quinn, cubic"]


def many_boxes(**how: Any) -> Any:
    """Boxes of eight lines at seven places."""
    each = [(place, line, run) for place in range(7) for line in "abcdefgh" for run in range(12)]
    columns = {
        "x": [f"{place} s" for place, _, _ in each],
        "line": [line for _, line, _ in each],
        "duration_ns": [1e9 * (1 + place + run) for place, _, run in each],
    }
    return figure_of(plot_spread, columns, "box", x="x", value="duration_ns", by=["line"], **how)


def test_many_boxes_have_the_width_of_a_page_or_rows() -> None:
    (axes,) = many_boxes().axes
    assert axes.figure.get_size_inches()[0] == pytest.approx(7.16)
    first, second = many_boxes(size="single").axes
    assert [len(one.patches) for one in (first, second)] == [32, 24]
    # Of the same axis of values, and with boxes as wide.
    assert first.get_ylim() == second.get_ylim()
    assert first.get_xlim() == second.get_xlim()
    names = [[one.get_text() for one in axes.get_xticklabels()] for axes in (first, second)]
    assert names == [["0", "1", "2", "3"], ["4", "5", "6", ""]]
    with pytest.warns(ScenarioWarning, match=r"56 boxes in 3.5 in are hard to read: --where"):
        (axes,) = many_boxes(size=(3.5, 2.5)).axes
    assert len(boxes([filled([1, 2, 3])] * 4, size="single").axes) == 1


def test_a_panel_without_values_takes_no_numbers_from_the_others() -> None:
    each = [(line, panel, run) for line in "abcdefgh" for panel in "xy" for run in range(12)]
    columns = {
        "gap": ["1 s" for _ in each],
        "line": [line for line, _, _ in each],
        "panel": [panel for _, panel, _ in each],
        "duration_ns": [None if panel == "x" else 1e9 * (1 + run) for _, panel, run in each],
    }
    how: Any = {"x": "gap", "value": "duration_ns", "by": ["line", "panel"]}
    none, some = figure_of(plot_spread, columns, "box", **how).axes
    assert none.get_ylim() == some.get_ylim()
    assert len(some.get_yticks()) > 2
