"""Heat maps of results: their colours, cells without a median, maps beside each other; and figures
that would be empty.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.text import Text

from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.common.style import figure_bytes
from midflight.plot.results.axis import axis_data, axis_figure
from midflight.plot.results.heatmaps import shared_layout
from midflight.plot.results.maps import Map, colours_of, hatched_side, named_places
from midflight.plot.results.spread import spread_figure, spread_of
from midflight.plot.results.spread_data import box_of

SCHEME, GAP, RATE = "flows.download.scheme", "handoffs.0.gap", "links.lte.rate"


def texts_in(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten changes against a baseline at each gap, more than a figure has lines."""
    folder = tmp_path_factory.mktemp("maps") / "out"
    rates = ",".join(f"{one}Mbit/s" for one in range(5, 10))
    gaps = ",".join(f"{one}s" for one in range(1, 7))
    schemes = f"{SCHEME}=sack,freeze,enhanced"
    axes = [schemes, f"{GAP}={gaps}", f"{RATE}={rates}", "seed=1,2"]
    words = ["sweep", "wifi-to-lte", "--out", str(folder), "--compare", SCHEME]
    words += [word for axis in axes for word in ("--axis", axis)]
    assert main([*words, "--set", "links.lte.loss=uniform 0.5%"]) == 0
    return folder


def over(values: list[float | None], **more: list[str]) -> dict[str, list[Any]]:
    """Runs of times in seconds over the axis x, two for each place."""
    places = [str(one // 2 + 1) for one in range(len(values))]
    times = [None if one is None else one * 1e9 for one in values]
    return {"x": places, "y": ["1"] * len(values), "duration_ns": times, **more}


def test_cells_say_how_many_runs_finished() -> None:
    columns = over([1.0, 2.0, 3.0, None, None, None])
    (axes, _) = figure_of(plot_spread, columns, "heatmap", x="x", y="y", value="duration_ns").axes
    said = texts_in(axes)
    assert said[:3] == ["1.50", "1 of 2", "never"]
    caption = " ".join(said[3].split())
    assert "3 runs that did not finish count as longest" in caption
    assert "never: no run finished" in caption
    assert "1 of 2: so many runs finished" in caption


def test_words_and_numbers_stand_apart_in_their_cells() -> None:
    columns = over([10.96, 10.96, 0.48, 0.48, None, None, None, None])
    how: Any = {"x": "x", "y": "y", "value": "duration_ns"}
    for size in ((2.4, 2.0), (3.5, 2.5)):
        figure = figure_of(plot_spread, columns, "heatmap", size=size, **how)
        figure.canvas.draw()
        axes = figure.axes[0]
        assert texts_in(axes)[:4] == ["10.96", "0.48", "never", "never"]
        cell = axes.get_window_extent().width / 4
        assert all(one.get_window_extent().width <= 0.85 * cell for one in axes.texts[:4])
        # Cells that never finish have edges.
        edges = [one.get_xy()[0] for one in axes.patches if one.get_edgecolor()[:3] == (0.75,) * 3]
        assert edges == [1.5, 2.5]
    # One decimal fewer has room where all have none.
    wide = over([10.96, 10.96, *[0.48] * 18])
    said = texts_in(figure_of(plot_spread, wide, "heatmap", size=(3.2, 2.0), **how).axes[0])
    assert said[:2] == ["11.0", "0.5"]


def test_one_outlier_leaves_the_colours_to_the_others() -> None:
    usual = np.array([10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0])
    assert colours_of(usual).high == 17
    colours = colours_of(np.append(usual, 900.0))
    assert (colours.low, colours.high, colours.is_log) == (10, 17, False)
    # One that is less than three times as large has a colour of its own.
    assert colours_of(np.append(usual, 49.0)).high == 49
    over: Any = {"x": "a", "y": "b", "value": "goodput_bps"}
    columns = {"a": list("abcdefghi"), "b": ["z"] * 9, "goodput_bps": [*(usual * 1e6), 900e6]}
    (axes, _) = figure_of(plot_spread, columns, "heatmap", **over).axes
    assert "beyond the scale: 900" in " ".join(one.get_text() for one in axes.texts)
    # A scale over several decades is logarithmic, and one with signs is as long on both sides.
    assert colours_of(np.logspace(0, 3, 20)).is_log
    # So is one of which the largest values would have nearly all colours.
    low = [*np.linspace(2.8, 5.0, 15), *np.linspace(7.0, 9.0, 10)]
    assert colours_of(np.array([*low, *[12.0] * 5, *[15.0] * 6, *[29.0] * 6])).is_log
    assert not colours_of(np.linspace(2.8, 29.6, 40)).is_log
    assert not colours_of(np.array([*[5.0] * 6, *[29.0] * 6, 30.0])).is_log
    assert not colours_of(np.array([0.0, *low, *[12.0] * 5, *[15.0] * 6, *[29.0] * 6])).is_log
    signed = colours_of(np.array([-1.0, 2.0, 3.0, -4.0]))
    assert (signed.low, signed.high, signed.is_signed) == (-4, 4, True)
    assert colours_of(usual, ends=(5.0, 12.0)).high == 12


def test_one_number_in_two_units_is_one_place() -> None:
    columns: dict[str, list[Any]] = {
        "gap": ["100ms", "0.5s", "0.1s", "500 ms"],
        "rate": ["1 Mbit/s", "1000 kbit/s", "2 Mbit/s", "2 Mbit/s"],
        "sent": [1.0, 2.0, 3.0, 4.0],
    }
    axes = figure_of(plot_spread, columns, "heatmap", x="gap", y="rate", value="sent").axes[0]
    for side, names in ((axes.xaxis, ["0.1", "0.5"]), (axes.yaxis, ["1", "2"])):
        assert [one.get_text() for one in side.get_ticklabels()] == names
    assert texts_in(axes)[:4] == ["1", "2", "3", "4"]
    boxes = figure_of(plot_spread, columns, "box", x="gap", value="sent").axes[0]
    assert [one.get_text() for one in boxes.xaxis.get_ticklabels()] == ["0.1", "0.5"]


def test_titles_beside_two_rows_of_maps_are_as_high_as_a_map() -> None:
    values = [(x, y, by) for x in "12" for y in "12" for by in "abcde"]
    columns: dict[str, list[Any]] = {
        "x": [x for x, _, _ in values],
        "A quantity with a very long name that is the axis up": [y for _, y, _ in values],
        "by": [by for *_, by in values],
        "sent": [float(one) for one in range(20)],
    }
    _, up, *_ = columns
    how: Any = {"x": "x", "y": up, "by": ["by"], "value": "sent"}
    sizes: list[Any] = [{"size": (7.16, 4.0)}, {"size": (3.5, 4.0)}]
    for size in (*sizes, sizes[0] | {"ylabel": up, "xlabel": up}):
        figure = figure_of(plot_spread, columns, "heatmap", **size, **how)
        figure.canvas.draw()
        first, *_, fourth, _, _ = figure.axes
        for axes in (first, fourth):
            assert axes.yaxis.label.get_text().startswith("A quantity")
            title = axes.yaxis.label.get_window_extent()
            assert title.height < 1.1 * axes.get_window_extent().height


def test_maps_stand_below_each_other_where_their_numbers_need_it() -> None:
    cells = [(x, y, by) for by in "abc" for y in "12345" for x in "123456"]
    columns: dict[str, list[Any]] = {
        "x": [x for x, _, _ in cells],
        "y": [y for _, y, _ in cells],
        "by": [by for *_, by in cells],
        "goodput_bps": [1e6 * (10 + 0.11 * one) for one in range(len(cells))],
    }
    how: Any = {"x": "x", "y": "y", "by": ["by"], "value": "goodput_bps"}
    # The places of the maps in a grid of a width, and the sizes of their letters.
    for size, grid in ((7.16, (1, 3)), (5.0, (3, 1)), (3.5, (3, 1))):
        figure = figure_of(plot_spread, columns, "heatmap", size=size, **how)
        figure.draw_without_rendering()
        *maps, bar = figure.axes
        assert {one.get_subplotspec().get_gridspec().get_geometry() for one in maps} == {grid}
        for one in maps:
            numbers = [text for text in one.texts if text.get_text()]
            assert len(numbers) == 30
            assert all(text.get_fontsize() >= 5.5 for text in numbers)
        # The bar is as high as all of them.
        ends = [one.get_window_extent() for one in maps]
        high = max(one.y1 for one in ends) - min(one.y0 for one in ends)
        assert bar.get_window_extent().height == pytest.approx(high, rel=0.03)
    # Numbers without room in any way leave the maps beside each other.
    figure = figure_of(plot_spread, columns, "heatmap", size=(3.5, 1.5), **how)
    assert len({one.get_subplotspec().rowspan.start for one in figure.axes[:-1]}) == 1


def test_text_above_several_maps_looks_like_that_above_one(swept: Path) -> None:
    how: Any = {"x": GAP, "y": RATE, "where": {SCHEME: ["sack", "freeze"]}, "title": "Maps"}
    above = []
    for by in ([SCHEME], []):
        figure = figure_of(plot_spread, swept, "heatmap", by=by, **how)
        figure.draw_without_rendering()
        found = figure.findobj(Text)
        # Of the axis "medians" is at the end.
        (text,) = (one for one in found if re.search("medians(;|\\sover)", one.get_text()))
        above.append((text.get_color(), text.get_fontsize(), text.get_horizontalalignment()))
        box = text.get_window_extent()
        last = [one for one in figure.axes if one.get_label() != "<colorbar>"][-1]
        assert box.x1 == pytest.approx(last.get_window_extent().x1, abs=2)
        # It covers neither the title nor the names of the maps.
        others = [one for one in figure.findobj(Text) if one is not text and one.get_text()]
        assert not any(box.overlaps(one.get_window_extent()) for one in others)
    assert above[0] == above[1] == ("0.35", 6.5, "right")


def test_the_ends_of_colours_can_be_chosen(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = over([1.0, 1.0, 9.0, 9.0])
    how: Any = {"x": "x", "y": "y", "value": "duration_ns"}
    axes, bar = figure_of(plot_spread, columns, "heatmap", vlim=(2.0, 4.0), **how).axes
    assert axes.collections[0].get_clim() == (2.0, 4.0)
    # The bar has pointed ends for what is beyond it.
    assert len(bar.patches) == 2
    words = ["plot", str(swept), "--out", str(tmp_path / "x.png")]
    assert main([*words, "--kind", "heatmap", "--ylim", "20:40"]) == 2
    assert "--vlim has the ends of its colours" in capsys.readouterr().err
    assert main([*words, "--kind", "box", "--vlim", "20:40"]) == 2
    assert "the figure has no colours of values" in capsys.readouterr().err


def test_changes_from_0_have_both_means_and_the_colour_of_their_direction() -> None:
    columns: dict[str, list[Any]] = {
        "x": ["1", "2", "3", "4"],
        "y": ["1"] * 4,
        "metric": ["stall_ns"] * 4,
        "value": ["freeze"] * 4,
        "baseline": ["sack"] * 4,
        "ratio": [-0.1, None, None, None],
        "difference": [-1e9, 2e9, 0.0, 0.2e9],
        "pairs": [3] * 4,
        "samples": [3] * 4,
    }
    (axes, _) = figure_of(plot_spread, columns, "heatmap", x="x", y="y", value="ratio").axes
    assert [one.get_text() for one in axes.texts[1:4]] == ["0→2", "0", "0→0.2"]
    said = " ".join(texts_in(axes)[-1].split())
    assert said.endswith("0→n s: no percentage, as sack is 0 there")
    # The largest has the colour of the end of the scale, and none that of 0.
    largest, none, small = (one.get_facecolor() for one in axes.patches if one.get_alpha() is None)
    assert largest == pytest.approx(colormaps["PuOr_r"](1.0))
    assert none == pytest.approx(colormaps["PuOr_r"](0.5))
    assert sum(largest[:3]) < sum(small[:3]) < sum(none[:3])


def test_a_change_from_0_that_may_be_none_has_brackets_and_little_colour() -> None:
    columns: dict[str, list[Any]] = {
        "x": ["1", "2"],
        "y": ["1"] * 2,
        "metric": ["stall_ns"] * 2,
        "value": ["freeze"] * 2,
        "baseline": ["sack"] * 2,
        "ratio": [-0.1, None],
        "ratio_low": [-0.2, None],
        "ratio_high": [-0.05, None],
        "difference": [-1e9, 2e9],
        "half_width": [0.1e9, 5e9],
        "pairs": [3] * 2,
        "samples": [3] * 2,
    }
    (axes, _) = figure_of(plot_spread, columns, "heatmap", x="x", y="y", value="ratio").axes
    assert axes.texts[1].get_text() == "(0\N{RIGHTWARDS ARROW}2)"
    colours = [one.get_facecolor() for one in axes.patches]
    assert colours[-1] == pytest.approx(colormaps["PuOr_r"](0.7), abs=0.02)


def test_no_change_is_0_without_brackets_in_every_cell() -> None:
    columns: dict[str, list[Any]] = {
        "x": ["1", "2", "3"],
        "y": ["1"] * 3,
        "metric": ["frames_late"] * 3,
        "value": ["freeze"] * 3,
        "baseline": ["sack"] * 3,
        "ratio": [None, 0.0, 0.0005],
        "ratio_low": [None] * 3,
        "ratio_high": [None] * 3,
        "difference": [0.0, 0.0, 1.0],
        "half_width": [None] * 3,
        "pairs": [1] * 3,
        "samples": [1] * 3,
    }
    for value, words, small in (
        ("difference", ["0", "0", "(+1)"], "|difference| < 0.1 % of sack"),
        ("ratio", ["0", "0", "(+0.1)"], "|change| < 0.1 %"),
    ):
        (axes, *_) = figure_of(plot_spread, columns, "heatmap", x="x", y="y", value=value).axes
        assert [one.get_text() for one in axes.texts[:3]] == words
        assert f"in brackets: {small}" in " ".join(texts_in(axes)[-1].split())


def test_cells_without_pairs_do_not_look_like_no_change() -> None:
    columns: dict[str, list[Any]] = {
        "x": ["1", "2", "3"],
        "y": ["1"] * 3,
        "metric": ["duration_ns"] * 3,
        "value": ["freeze"] * 3,
        "baseline": ["sack"] * 3,
        "ratio": [0.1, None, -0.2],
        "pairs": [10, 0, 3],
        "samples": [10, 0, 3],
    }
    (axes, _) = figure_of(plot_spread, columns, "heatmap", x="x", y="y", value="ratio").axes
    said = texts_in(axes)
    assert said[:2] == ["+10", "\N{MINUS SIGN}20"]
    what = "change of the mean over 3 to 10 samples"
    assert " ".join(said[2].split()) == f"{what}; grey: no pairs"
    (hatched,) = axes.patches
    assert (hatched.get_xy(), hatched.get_hatch()) == ((0.5, -0.5), "xxxx")


def test_compared_values_have_a_map_each(swept: Path, tmp_path: Path) -> None:
    table = tmp_path / "x.csv"
    words = ["plot", str(swept), "--out", str(tmp_path / "x.png"), "--csv", str(table)]
    assert main([*words, "--kind", "heatmap"]) == 0
    with table.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert {row[SCHEME] for row in rows} == {"sack", "freeze", "enhanced"}
    assert len(rows) == 3 * 5 * 6
    figure = figure_of(plot_spread, swept, "heatmap")
    assert [axes.get_title() for axes in figure.axes[:3]] == [
        "sack (CUBIC)",
        "freeze",
        "enhanced",
    ]
    # They share their colours.
    one, other = (axes.collections[0].get_clim() for axes in figure.axes[:2])
    assert one == other


@pytest.mark.parametrize(("count", "maps"), [(3, 3), (7, 7), (10, 1)])
def test_schemes_that_are_not_compared_have_a_map_each(
    tmp_path: Path, count: int, maps: int
) -> None:
    schemes = ["sack", "freeze", "enhanced", "vho", "lmdr", "ehn", "kim-copeland"]
    schemes = [*schemes, "vho-qs", "quick-start", "cubic"][:count]
    axes = [f"{SCHEME}={','.join(schemes)}", f"{GAP}=1s,2s", f"{RATE}=5Mbit/s,6Mbit/s"]
    words = [word for axis in axes for word in ("--axis", axis)]
    assert main(["sweep", "wifi-to-lte", "--out", str(tmp_path / "out"), *words]) == 0
    how: Any = {"x": GAP, "y": RATE}
    *drawn, _ = figure_of(plot_spread, tmp_path / "out", "heatmap", **how).axes
    assert len(drawn) == maps
    pooled = [] if maps == count else [f"medians; each cell: all {count} schemes of download"]
    assert [one for one in texts_in(drawn[0]) if " schemes of" in one] == pooled
    # A scheme that is a side of the map has none, and one that is kept neither.
    for more in ({"y": SCHEME}, {"where": {SCHEME: "sack"}}):
        figure = figure_of(plot_spread, tmp_path / "out", "heatmap", **(how | more))
        assert len(figure.axes) == 2


def test_too_many_lines_of_a_comparison_are_maps(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plot", str(swept), "--out", str(tmp_path / "x.png")]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "the figure shows the change of each pair" in said
    assert f"--kind heatmap --x {GAP} --y {RATE} --value ratio --by value" in said
    # With fewer lines they are intervals.
    assert main([*words, "--where", f"{RATE}=5Mbit/s"]) == 0
    assert f"--kind interval --x {GAP} --y ratio --by value" in capsys.readouterr().err


def test_changes_with_too_many_lines_are_pooled_over_all_but_one_axis(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "x.csv"
    words = ["plot", str(swept), "--out", str(tmp_path / "x.png"), "--csv", str(table)]
    assert main([*words, "--x", RATE]) == 0
    said = capsys.readouterr().err
    assert "the figure shows the change of each pair" in said
    assert f"{swept} --kind interval --x {RATE} --y ratio" in said
    assert f"each change is over all gaps; --x {GAP} shows it at each" in said
    drawn = list(csv.DictReader(table.open(newline="")))
    # The ratio of the means over all gaps and seeds, in per cent.
    with (swept / "flows.csv").open(newline="") as file:
        flows = list(csv.DictReader(file))

    def mean(scheme: str, rate: str) -> float:
        times = [float(one["duration_ns"]) for one in flows if one[SCHEME] == scheme]
        rates = [one[RATE] for one in flows if one[SCHEME] == scheme]
        return float(np.mean([t for t, r in zip(times, rates, strict=True) if r == rate]))

    assert len(drawn) == 10
    for row in drawn:
        rate = f"{row[RATE]}Mbit/s"
        change = 100 * (mean(row["line"], rate) / mean("sack", rate) - 1)
        assert float(row["mean"]) == pytest.approx(change)
        assert (row["over"], row["samples"], row["pairs"]) == ("runs", "2", "12")
    # Python draws the same, and so does the kind alone, over the longest axis.
    plot_axis(swept, tmp_path / "x.png", x=RATE, csv=tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_bytes() == table.read_bytes()
    (axes,) = figure_of(plot_spread, swept, "interval").axes
    assert axes.get_xlabel().startswith("Gap of the handoff")
    # An axis that the comparison pools can be asked for, in lines and maps.
    assert main([*words, "--x", "seed"]) == 0
    assert {row["seed"] for row in csv.DictReader(table.open(newline=""))} == {"1", "2"}
    maps = ["--kind", "heatmap", "--value", "ratio", "--x", GAP, "--y", "seed"]
    assert main([*words, *maps]) == 0
    assert len(list(csv.DictReader(table.open(newline="")))) == 24
    # What has other values than the sweep's shows its values.
    assert main([*words, "--x", RATE, "--by", SCHEME]) == 0
    assert {row["measure"] for row in csv.DictReader(table.open(newline=""))} == {"duration_ns"}


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (
            lambda columns: figure_of(plot_axis, columns, x="x", y="duration_ns", xlim=(100, 200)),
            "xlim 100:200: nothing is there; the values are from 1 to 3",
        ),
        (
            lambda columns: figure_of(
                plot_spread, columns, "box", x="x", value="duration_ns", ylim=(100, 200)
            ),
            "ylim 100:200: nothing is there; the values are from 1 to 5 s",
        ),
        (
            lambda columns: figure_of(
                plot_axis, {name: [] for name in columns}, x="x", y="duration_ns"
            ),
            'the table has no rows with "duration_ns"',
        ),
    ],
)
def test_empty_figures_are_refused(draw: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(MidflightError, match=said):
        draw(over([1.0, 2.0, 3.0, 4.0, 5.0, 5.0]))


def test_lines_end_where_runs_do_not_finish() -> None:
    values = [1.0, 2.0, 3.0, 4.0, None, None]
    # Lines that are the same would have one place.
    others = [one and one + 1 for one in values]
    columns = over([*values, *others], scheme=["a"] * 6 + ["b"] * 6)
    columns["x"] = columns["x"][:6] * 2
    (axes,) = axis_figure(axis_data(columns, x="x", y="duration_ns", by=["scheme"])).axes
    arrows = [line for line in axes.lines if line.get_marker() == r"$\uparrow$"]
    places = [axes.transData.transform((line.get_xdata()[0], 0))[0] for line in arrows]
    # Arrows at the same number stand side by side, as markers do: about four points.
    points = abs(places[1] - places[0]) * 72 / axes.figure.dpi
    assert 3 < points <= 4
    for line in axes.lines:
        if line.get_label() in ("a", "b"):
            assert np.isnan(line.get_ydata()[2])
    words = "arrows: 25 % of the runs or more did not finish (without a marker: half or more)"
    assert words in texts_in(axes)[0].replace("\n", " ")


@pytest.mark.parametrize("finished", [1, 2])
@pytest.mark.parametrize("missing", [0, 1])
def test_half_of_the_runs_or_more_have_no_median(finished: int, missing: int) -> None:
    times = [1e9] * finished + [None] * (finished - missing)
    columns = {"x": ["1", "2"] * len(times), "duration_ns": [one for one in times for _ in "12"]}
    data = axis_data(columns, x="x", y="duration_ns")
    (axes,) = axis_figure(data).axes
    assert all(np.isinf(one.median) == (missing == 0) for one in data.lines[0].points)
    assert ("half or more" in "".join(texts_in(axes))) == (missing == 0)


@pytest.mark.parametrize(("runs", "is_endless"), [(19, True), (20, False), (40, False)])
def test_more_than_a_twentieth_of_the_runs_has_an_endless_whisker(
    runs: int, is_endless: bool
) -> None:
    times = [float(one) * 1e9 for one in range(1, runs)]
    columns = {"x": ["a"] * runs, "duration_ns": [*times, None]}
    data = spread_of(columns, "box", x="x", value="duration_ns")
    ((*_, high),) = [box_of(data, values).points for values in data.groups[0].values]
    assert (high == math.inf) == is_endless
    # Any run that did not finish has an arrow.
    (axes,) = spread_figure(data).axes
    assert [one for one in axes.lines if one.get_marker() == r"$\uparrow$"]
    assert "arrows: 1 run that did not finish counts as longest" in data.detail


def test_means_without_slow_runs_are_marked() -> None:
    columns = over([1.0, 2.0, 3.0, None])
    data = spread_of(columns, "interval", x="x", value="duration_ns")
    (axes,) = spread_figure(data).axes
    (joined,) = (line for line in axes.lines if len(line.get_xdata()) == 2)
    assert np.isnan(joined.get_ydata()[1])
    (arrow,) = (line for line in axes.lines if line.get_marker() == r"$\uparrow$")
    assert arrow.get_ydata()[0] == 3
    assert "arrows: too short, without 1 run that did not finish" in " ".join(
        texts_in(axes)[0].split()
    )


def test_single_runs_stand_at_their_number() -> None:
    columns = {"x": ["1", "2"] * 2, "by": ["a", "a", "b", "b"], "sent": [1.0, 2.0, 3.0, 4.0]}
    (axes,) = axis_figure(axis_data(columns, x="x", y="sent", by=["by"])).axes
    drawn = [line.get_xdata().tolist() for line in axes.lines if line.get_label() in ("a", "b")]
    assert drawn == [[1.0, 2.0], [1.0, 2.0]]


def test_reports_of_sweeps_begin_with_words_and_figures(swept: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    assert main(["report", str(swept), "--out", str(page)]) == 0
    text = page.read_text()
    places = [text.index(one) for one in ("In short, transfer time", "<figure", 'id="comparison"')]
    assert places == sorted(places)
    # The scenario's title is about one gap, and no heading.
    heading = "Sweep over scheme of download, gap of the handoff and rate of lte"
    assert f"<h1>{heading}</h1>" in text
    shown = text.split('id="again"')[0]
    assert "with a gap of 2 s" not in shown
    assert "the stall lasts" not in shown
    assert f"the axes ({heading.removeprefix('Sweep over ')}) replace some of them" in shown
    where = r"( \([^)]+\))?"
    assert re.search(
        rf"<li>freeze is faster in [0-9]+ of 30 combinations{where}, by [0-9.]+ to ", text
    )
    # Long tables are closed; the column of the only flow is left out.
    assert "<summary>All changes: a table of 60 lines</summary>" in text
    assert '<th scope="col">flow</th><th scope="col">Gap' not in text
    assert "5 Mbit/s</td>" in text


def test_many_lines_have_the_colours_and_styles_in_their_legend() -> None:
    names = [(one, two) for one in ("a", "b", "c") for two in ("1 s", "2 s")]
    columns = {
        "x": ["1", "2"] * 6,
        "scheme": [one for one, _ in names for _ in range(2)],
        "gap": [two for _, two in names for _ in range(2)],
        "sent": [float(one) for one in range(12)],
    }
    figure = axis_figure(axis_data(columns, x="x", y="sent", by=["scheme", "gap"]))
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} - {""} >= {"a", "b", "c", "1 s", "2 s"}
    assert "a, 1 s" not in [text.get_text() for text in legend.get_texts()]
    # Few lines are named each.
    few = axis_figure(axis_data(columns, x="x", y="sent", by=["scheme"]))
    assert {"a", "b", "c"} <= {text.get_text() for text in few.legends[0].get_texts()}


def test_figures_name_the_flows_that_they_take_together() -> None:
    columns = {
        "x": ["1", "2"] * 3,
        "scheme": ["sack"] * 6,
        "entry": ["film", "film", "film", "film", "get", "get"],
        "flow": ["film", "film", "film-requests", "film-requests", "get", "get"],
        "sent": [1.0, 2.0, 0.0, 0.0, 5.0, 6.0],
    }
    # Two flows of one scheme share its line, and two of different schemes do not.
    data = axis_data(columns, x="x", y="sent", by=["scheme"])
    assert data.pooled.flows == "flows film and get together"
    apart = {**columns, "scheme": ["sack"] * 4 + ["vho"] * 2}
    assert axis_data(apart, x="x", y="sent", by=["scheme"]).pooled.flows == ""
    assert axis_data(columns, x="x", y="sent", by=["flow"]).pooled.flows == ""
    kept = {"flow": ["get"]}
    assert axis_data(columns, x="x", y="sent", by=["scheme"], where=kept).pooled.flows == ""
    columns["a.b"] = ["1"] * 6
    data = axis_data(columns, x="x", y="sent", by=["a.b"])
    assert data.pooled.flows == "flows film and get together"
    # Those that only carry requests do not count.
    assert data.lines[0].runs == [2, 2]


@pytest.mark.parametrize(
    ("cells", "unsure", "side"),
    [
        ([-3.0, -2.0, 1.0], [], 1),
        ([-3.0, 2.0, 1.0], [], -1),
        ([-3.0, 2.0, np.nan, 0.0], [], -1),
        # Nothing is sure to be above 0.
        ([-3.0, -2.0, 1.0, 0.5], [2, 3], 0),
        ([-3.0, -2.0, 1.0, 0.5], [1, 3], -1),
        ([-3.0, -2.0, np.inf], [], 0),
    ],
)
def test_the_side_of_0_with_fewer_cells_is_hatched(
    cells: list[float], unsure: list[int], side: int
) -> None:
    shown = Map(np.array([cells]), [""] * len(cells), [""], unsure=[(0, one) for one in unsure])
    assert hatched_side([shown], colours_of(shown.finite, signed=True)) == side


def test_a_hatch_is_light_on_dark_colours_and_ticks_of_the_bar_are_outside() -> None:
    places = range(20)
    columns = {
        "a.x": [str(x) for x in places for _ in places],
        "b.y": [str(y) for _ in places for y in places],
        "change": [float(x - 12) for x in places for _ in places],
    }
    how: Any = {"x": "a.x", "y": "b.y", "value": "change", "look": "paper"}
    cells, bar = figure_of(plot_spread, columns, "heatmap", **how).axes
    assert "hatched: above 0" in texts_in(cells)[0]
    hatched = [one for one in cells.patches if one.get_hatch()]
    assert len(hatched) == 7 * 20
    inks = {one.get_edgecolor() for one in hatched}
    assert inks <= {one.get_edgecolor() for one in bar.patches if one.get_hatch()}
    assert len(inks) == 1
    # Fewer cells below 0, and farther from it.
    change = [float(4 * (x - 7) if x < 7 else x - 6) for x in places for _ in places]
    dark = {**columns, "change": change}
    cells, bar = figure_of(plot_spread, dark, "heatmap", **{**how, "x": "a.x"}).axes
    assert "hatched: below 0" in texts_in(cells)[0]
    inks = {one.get_edgecolor() for one in cells.patches if one.get_hatch()}
    assert inks <= {one.get_edgecolor() for one in bar.patches if one.get_hatch()}
    assert len(inks) == 2
    assert {one.get_tickdir() for one in bar.yaxis.get_major_ticks()} == {"out"}


@pytest.mark.parametrize("numbers", [("1.5", "2.5"), ("1234.5", "2345.5")])
def test_maps_of_several_figures_have_the_same_size(numbers: tuple[str, str]) -> None:
    """Seven are six and one."""
    names = [f"v{number}" for number in range(7)]
    cells = [(name, x, y) for name in names for x in "abcdef" for y in "pq"]
    columns: dict[str, list[Any]] = {
        "name": [name for name, _, _ in cells],
        "x": [x for _, x, _ in cells],
        "y": [y for _, _, y in cells],
        "sent": [float(numbers[place % 2]) for place in range(len(cells))],
    }
    how: Any = {"value": "sent", "x": "x", "y": "y", "by": ["name"]}
    figures = [
        spread_of(columns, "heatmap", where={"name": some}, **how)
        for some in (names[:6], names[6:])
    ]
    layout = shared_layout(figures)
    sizes = []
    for one in figures:
        figure = spread_figure(replace(one, layout=layout))
        figure.set_layout_engine("constrained")
        figure.draw_without_rendering()
        sizes += [axes.get_window_extent() for axes in figure.axes[: len(one.panels)]]
    assert len(sizes) == 7
    for of in ("width", "height"):
        least, most = (end(getattr(one, of) for one in sizes) for end in (min, max))
        assert most < 1.15 * least
    # A figure with one map alone is as before.
    assert shared_layout([replace(figures[0], panels=())]) is None


@pytest.mark.parametrize(("columns", "wide"), [(40, 0), (20, 0.1), (4, 0.8)])
def test_the_white_between_cells_is_narrow_beside_them(columns: int, wide: float) -> None:
    table = {
        "x": [str(one) for one in range(columns)] * 2,
        "y": [str(one) for one in range(2) for _ in range(columns)],
        "duration_ns": [1e9 * (one + 1) for one in range(2 * columns)],
    }
    how: Any = {"x": "x", "y": "y", "value": "duration_ns", "size": (4.3, 2.5)}
    axes = figure_of(plot_spread, table, "heatmap", **how).axes[0]
    upright = [one for one in axes.lines if np.ptp(one.get_xdata()) == 0]
    assert len(upright) == (columns - 1) * (wide > 0)
    assert all(wide <= one.get_linewidth() <= 0.8 for one in upright)
    level = [one for one in axes.lines if np.ptp(one.get_ydata()) == 0]
    assert [one.get_linewidth() for one in level] == [0.8]
    shown = [one.get_text() for one in axes.get_xticklabels()]
    assert (shown[0], shown[-1]) == ("0", str(columns - 1))


@pytest.mark.parametrize(("places", "images"), [(20, 0), (200, 1)])
def test_a_vector_file_has_many_cells_as_one_image(places: int, images: int) -> None:
    cells = [(str(x), str(y)) for x in range(places) for y in range(30)]
    rates = [1e6 + place for place in range(len(cells))]
    columns = {"x": [x for x, _ in cells], "y": [y for _, y in cells], "goodput_bps": rates}
    figure = figure_of(plot_spread, columns, "heatmap", x="x", y="y", value="goodput_bps")
    drawn = figure_bytes(figure, ".svg").decode()
    # The bar of the colours is an image, too.
    assert drawn.count("<image") == 1 + images
    # An area would have a path.
    assert (drawn.count("<path") >= len(cells)) is (images == 0)
    assert len(drawn) < 300_000


def test_the_first_and_the_last_of_many_cells_are_named() -> None:
    assert named_places(5, 8) == [0, 1, 2, 3, 4]
    assert named_places(40, 8) == [0, 13, 26, 39]
    assert named_places(41, 9) == [0, 5, 10, 15, 20, 25, 30, 35, 40]
    # 37 is prime: the last step is longer.
    assert named_places(38, 8) == [0, 6, 12, 18, 24, 30, 37]
    for count in range(1, 100):
        for most in range(2, 15):
            found = named_places(count, most)
            assert (found[0], found[-1]) == (0, count - 1)
            assert len(found) <= most
            assert len({b - a for a, b in pairwise(found[:-1])}) <= 1
    assert named_places(9, 1) == [0]


def test_the_data_of_a_map_of_changes_have_the_intervals(swept: Path, tmp_path: Path) -> None:
    table = tmp_path / "x.csv"
    words = ["plot", str(swept), "--kind", "heatmap", "--value", "ratio", "--csv", str(table)]
    assert main([*words, "--out", str(tmp_path / "x.png")]) == 0
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert "median" not in rows[0]
    with (swept / "comparison.csv").open(newline="") as file:
        known = {(r["value"], r[GAP], r[RATE]): r for r in csv.DictReader(file)}
    assert len(rows) == len(known)
    for row in rows:
        one = known[row["value"], f"{row[GAP]}s", f"{row[RATE]}Mbit/s"]
        assert (row["pairs"], row["samples"]) == (one["pairs"], one["samples"])
        assert (row["over"], row["unit"]) == ("runs", "%")
        assert float(row["mean"]) == pytest.approx(100 * float(one["ratio"]))
        if one["ratio_low"]:
            assert float(row["low"]) == pytest.approx(100 * float(one["ratio_low"]))
            assert float(row["high"]) == pytest.approx(100 * float(one["ratio_high"]))
