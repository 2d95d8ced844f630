"""What figures of comparisons name, and their heat maps."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

from drawn import texts_of
from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_spread
from midflight.plot.common.place_scale import LINEAR
from midflight.plot.results.compared import usual_change
from midflight.plot.results.maps import number_words
from midflight.plot.results.median_panels import (
    are_strokes,
    names_of_own,
    near_ends,
    own_words,
)
from midflight.plot.results.samples import interval_words, pooled_of

SCHEME, GAP, AT = "flows.download.scheme", "handoffs.0.gap", "handoffs.0.at"
RATE = "links.lte.rate"


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One scheme against the plain one at the same gaps, rates and instants, without chance."""
    folder = tmp_path_factory.mktemp("paired") / "out"
    axes = [f"{SCHEME}=sack,freeze", f"{GAP}=0.5s,2s", f"{AT}=0.2s,0.3s,0.4s"]
    axes.append(f"{RATE}=5 Mbit/s,10 Mbit/s")
    words = [word for axis in axes for word in ("--axis", axis)]
    assert main(["sweep", "wifi-to-lte", "--out", str(folder), *words, "--compare", SCHEME]) == 0
    return folder


def ratios(folder: Path) -> dict[tuple[str, str], float]:
    with (folder / "comparison.csv").open(newline="") as text:
        return {(row[RATE], row[GAP]): 100 * float(row["ratio"]) for row in csv.DictReader(text)}


def of_map(columns: Any, **how: Any) -> tuple[Axes, Axes]:
    cells, bar = figure_of(plot_spread, columns, "heatmap", **how).axes
    return cells, bar


def test_the_only_compared_value_is_named(paired: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    for labels, name in (([], "freeze"), (["--label", "freeze=Frozen"], "Frozen")):
        assert main(["plot", str(paired), "--out", str(out), *labels]) == 0
        said = texts_of(out)
        assert f"Transfer time: change with {name} against sack (CUBIC) (%)" in said
        assert "change of the mean and 95 % interval; each point: all 3 instants" in said
        assert said.count("instant") == 1
    # Where the axis or the legend has it, once is enough.
    for option in ("--x", "--by"):
        other = ["--x", GAP] if option == "--by" else []
        kept = ["--where", f"{RATE}=5 Mbit/s"] + (["--where", f"{GAP}=2s"] if not other else [])
        file = str(paired / "comparison.csv")
        asked = ["--kind", "interval", "--y", "ratio", option, "value", *other, *kept]
        assert main(["plot", file, "--out", str(out), *asked]) == 0
        assert "Transfer time: change against sack (CUBIC) (%)" in texts_of(out)


def test_a_map_of_a_comparison_has_signed_percentages(paired: Path) -> None:
    how: Any = {"x": GAP, "y": RATE, "value": "ratio"}
    cells, bar = of_map(paired / "comparison.csv", **how)
    words = " ".join(bar.get_ylabel().split())
    assert words == "Transfer time: change against sack (CUBIC) (%)"
    assert cells.get_title() == "freeze"
    written = [text.get_text() for text in cells.texts]
    every = [one.get_text() for one in cells.figure.findobj(Text)]
    assert any(
        "change of the mean; each cell: all 3 instants" in " ".join(one.split()) for one in every
    )
    written = [one.strip("()") for one in written]
    known = ratios(paired)
    assert len(written) == len(known) == 4
    found = [float(one.replace("\N{MINUS SIGN}", "-")) for one in written]
    assert sorted(found) == pytest.approx(sorted(known.values()), abs=0.06)
    assert all(one[0] in "+\N{MINUS SIGN}" for one in written)
    low, high = bar.get_ylim()
    assert low == pytest.approx(min(0, *known.values()))
    assert high == pytest.approx(max(0, *known.values()), abs=1e-9)
    # The colours are as strong below 0 as above it.
    norm = cells.collections[0].norm
    assert -norm.vmin == norm.vmax == pytest.approx(max(map(abs, known.values())))


def test_the_colours_below_0_mirror_those_above_it_and_have_a_hatch() -> None:
    places = range(20)
    columns = {
        "a.x": [str(x) for x in places for _ in places],
        "b.y": [str(y) for _ in places for y in places],
        "change": [float(x - 4) for x in places for _ in places],
    }
    cells, bar = of_map(columns, x="a.x", y="b.y", value="change")
    assert bar.get_ylim() == (-4, 15)
    norm = cells.collections[0].norm
    assert (norm.vmin, norm.vmax) == (-15, 15)
    assert [one.get_text() for one in cells.texts] == ["hatched: below 0"]
    hatched = [one for one in cells.patches if one.get_hatch()]
    assert {one.get_x() + 0.5 for one in hatched} == {0, 1, 2, 3}  # type: ignore[attr-defined]
    assert len(hatched) == 4 * 20
    assert [one.get_hatch() for one in bar.patches if one.get_hatch()]
    # Values on one side of 0 need none of it.
    above = columns | {"change": [one + 5 for one in columns["change"]]}
    cells, bar = of_map(above, x="a.x", y="b.y", value="change")
    assert bar.get_ylim() == (1, 20)
    assert not [one for one in cells.patches if one.get_hatch()]


def test_comparisons_of_several_values_are_no_cell() -> None:
    columns = {
        **{"g": ["1", "2"] * 2, "h": ["1"] * 4, "metric": ["duration_ns"] * 4},
        **{"value": ["a", "a", "b", "b"], "baseline": ["sack"] * 4, "ratio": [0.1, -0.2, 0.3, 0.4]},
    }
    how: Any = {"x": "g", "y": "h", "value": "ratio"}
    with pytest.raises(MidflightError, match="comparisons of a, b \\(value\\)"):
        of_map(columns, **how)
    cells, _ = of_map(columns, where={"value": "a"}, **how)
    said = [text.get_text() for text in cells.texts]
    assert said == ["+10", "\N{MINUS SIGN}20", "Value: a"]


@pytest.mark.parametrize("more", [[], ["--style", "paper"]])
def test_maps_are_areas_in_a_pgf(paired: Path, tmp_path: Path, more: list[str]) -> None:
    out = tmp_path / "map.pgf"
    words = ["plot", str(paired), "--kind", "heatmap", "--x", GAP, "--y", RATE]
    assert main([*words, "--out", str(out), *more]) == 0
    code = out.read_text()
    assert "\\pgfimage" not in code
    assert "\\includegraphics" not in code
    how: Any = {"x": GAP, "y": RATE}
    cells, *_ = figure_of(plot_spread, paired, "heatmap", **how).axes
    (mesh,) = cells.collections
    mesh.update_scalarmappable()
    for colour in np.unique(mesh.get_facecolor(), axis=0):  # type: ignore[call-overload]
        red, green, blue, _ = colour
        assert f"{{{red:f},{green:f},{blue:f}}}" in code.replace(" ", ""), to_hex(colour)


def test_numbers_of_a_map_have_a_minus_sign() -> None:
    minus = "\N{MINUS SIGN}"
    assert number_words(-0.663, 2, signed=True) == f"{minus}0.66"
    assert number_words(0.663, 2, signed=True) == "+0.66"
    assert number_words(0.663, 2, signed=False) == "0.66"
    assert number_words(-3, 0, signed=False) == f"{minus}3"
    assert number_words(-0.001, 2, signed=True) == number_words(0.0, 2, signed=True) == "0.00"


def test_captions_of_intervals_say_what_each_point_takes_together() -> None:
    at, start = {AT: 11}, {"links.cell.trace.offset": 3}
    times = "\N{MULTIPLICATION SIGN}"
    both = pooled_of("axes", at | start)
    for counts, words in (
        ([(33, 33)] * 2, f"all 11 instants {times} 3 starts in the recording of cell"),
        ([(33, 33), (30, 30)], "30 to 33 pairs of 11 instants"),
    ):
        said = interval_words("mean", "axes", counts, both)
        assert said.startswith(f"mean and 95 % interval; each point: {words}")
    assert interval_words("mean", "axes", [(2, 2)], pooled_of("axes", {AT: 2})).endswith(
        "each point: both instants"
    )
    # Seeds are samples of their own: of each the instants are averaged.
    seeds = pooled_of("runs", at | {"seed": 5})
    assert interval_words("mean", "runs", [(5, 55)], seeds) == (
        f"mean and 95 % interval over 5 seeds; each point: all 5 seeds {times} 11 instants"
    )
    assert interval_words("mean", "runs", [(1, 1), (3, 3)]).endswith(
        "over 1 to 3 runs; none where there is only one run"
    )


def test_a_caption_names_a_sampled_axis_once(paired: Path) -> None:
    figure = figure_of(plot_spread, paired, "interval", value="duration_ns", x=GAP, by=[SCHEME])
    (said,) = [one.get_text() for one in figure.axes[0].texts]
    said = " ".join(said.split())
    values = "each point: all 2 rates of lte \N{MULTIPLICATION SIGN} 3 instants"
    assert values in said
    assert "together" not in said


def test_nothing_in_a_box_but_the_median_is_horizontal() -> None:
    from midflight.plot.common.style import SERIES
    from midflight.plot.results.boxes import _HATCHES

    assert len({*_HATCHES}) == len(SERIES)
    assert not [one for one in _HATCHES if {*one} & {"-", "+"}]
    schemes = ["sack", "bbr-linux"]
    columns = {"scheme": schemes * 20, "x.y": ["1"] * 40, "sent": list(range(40))}
    (axes,) = figure_of(plot_spread, columns, "box", value="sent", x="x.y", by=["scheme"]).axes
    medians = [one for one in axes.lines if one.get_zorder() == 6]
    boxes = [one for one in axes.patches if one.get_hatch() is not None]
    assert len(medians) == len(boxes) == 2
    for median, box in zip(medians, boxes, strict=True):
        # Darker than the box, also where that is black, and thicker than its edges and hatches.
        assert max(to_rgb(median.get_color())) <= max(to_rgb(box.get_edgecolor()))
        assert median.get_linewidth() > box.get_linewidth()
    boxes = [one for one in axes.patches if one.get_hatch() is not None or one.get_width() > 0]  # type: ignore[attr-defined]
    assert all(
        median.get_linewidth() >= 2 * box.get_linewidth() for median in medians for box in boxes
    )


def test_an_interval_without_an_end_reaches_the_edges() -> None:
    columns = {
        "flow": ["a", "a"],
        "gap": [1.0, 2.0],
        "metric": ["duration_ns"] * 2,
        "compared": [SCHEME] * 2,
        "value": ["freeze"] * 2,
        "baseline": ["sack"] * 2,
        "pairs": [3, 3],
        "left_out": [0, 0],
        "done_before": [0, 0],
        "over": ["runs"] * 2,
        "samples": [3, 3],
        "ratio": [-0.5, -0.2],
        "ratio_low": [-math.inf, -0.3],
        "ratio_high": [math.inf, -0.1],
    }
    figure = figure_of(plot_spread, columns, "interval", x="gap", value="ratio")
    (axes,) = figure.axes
    said = " ".join(text.get_text() for text in (*figure.texts, *axes.texts))
    said = " ".join((said + axes.get_title("right")).split())
    assert "arrows: intervals without an end" in said
    low, high = axes.get_ylim()
    found = [part.vertices[:, 1].tolist() for one in axes.collections for part in one.get_paths()]
    assert [low, high] in found
    assert [-30, -10] in [[round(y) for y in one] for one in found]


@pytest.mark.parametrize("has_comparison", [True, False])
@pytest.mark.parametrize("value", ["ratio", "difference"])
def test_a_missing_ratio_names_the_comparison(
    value: str, has_comparison: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    folder.mkdir()
    (folder / "flows.csv").write_text("x,y,sent\n1,2,3\n")
    if has_comparison:
        (folder / "comparison.csv").write_text("flow,x,metric\n")
    with pytest.raises(MidflightError) as caught:
        plot_spread(folder, tmp_path / "a.png", "heatmap", x="x", y="y", value=value)
    said = str(caught.value)
    assert f'no column "{value}", which is of comparisons' in said
    assert (str(folder / "comparison.csv") in said) == has_comparison
    assert ("with compare KEY" in said) != has_comparison
    # Others are no columns of comparisons.
    with pytest.raises(MidflightError) as caught:
        plot_spread(folder, tmp_path / "a.png", "heatmap", x="x", y="y", value="sentt")
    assert "comparison" not in str(caught.value)


def without_change(zero: int) -> dict[str, list[Any]]:
    """A comparison at four gaps, of which the first ones have means of 0 on both sides."""
    return {
        "flow": ["download"] * 4,
        GAP: ["1 s", "2 s", "3 s", "4 s"],
        "metric": ["timeouts"] * 4,
        "compared": [SCHEME] * 4,
        "value": ["freeze"] * 4,
        "baseline": ["sack"] * 4,
        "pairs": [5] * 4,
        "samples": [5] * 4,
        "over": ["runs"] * 4,
        "left_out": [0] * 4,
        "difference": [0.0] * zero + [-1.0] * (4 - zero),
        "half_width": [0.0] * 4,
        "ratio": [None] * zero + [-0.5] * (4 - zero),
        "ratio_low": [None] * zero + [-0.5] * (4 - zero),
        "ratio_high": [None] * zero + [-0.5] * (4 - zero),
    }


@pytest.mark.parametrize(
    ("zero", "value", "words"),
    [
        (4, "difference", "no change: both are 0"),
        (2, "difference", "no change where both are 0"),
        (2, "ratio", "no percentage where both are 0"),
    ],
)
def test_a_figure_says_where_both_are_0(zero: int, value: str, words: str) -> None:
    columns = without_change(zero)
    assert usual_change(columns) == ("difference" if zero == 4 else "ratio")
    (axes,) = figure_of(plot_spread, columns, "interval", x=GAP, value=value).axes
    said = " ".join(" ".join(one.get_text().split()) for one in axes.texts)
    assert words in said
    if zero == 4:
        # Not some thousandths.
        assert axes.get_ylim() == (-1, 1)
        with pytest.raises(MidflightError, match="all means of the baseline are 0"):
            figure_of(plot_spread, columns, "interval", x=GAP, value="ratio")


def test_shares_of_values_of_0_have_an_axis_of_ones() -> None:
    (axes,) = figure_of(plot_spread, {"sent": [0.0] * 5}, "cdf", value="sent").axes
    assert axes.get_xlim() == (0, 1)
    assert near_ends([[0.0, 0.0], []]) == [(0, 1), (0, 1)]


def test_panels_with_axes_of_their_own_begin_at_0_unless_they_would_be_strokes() -> None:
    ends, names = near_ends([[1.0, 2.0], [90.0, 140.0]]), ["a", "b"]
    assert [low for low, _ in ends] == [0.0, 0.0]
    assert own_words(ends) == "each panel has an axis of its own"
    assert names_of_own(names, ends) == names
    # 90 to 91 would be a stroke on an axis from 0; the title of that panel says so.
    for first in ([1.0, 2.0], [0.0, 2.0]):
        ends = near_ends([first, [90.0, 91.0]])
        assert ends[0][0] == 0
        assert 89 < ends[1][0] < 90
        assert own_words(ends) == "each panel has an axis of its own"
        assert names_of_own(names, ends) == ["a", "b (not from 0)"]
    ends = near_ends([[40.0, 40.5], [90.0, 91.0]])
    assert all(low > 0 for low, _ in ends)
    assert own_words(ends) == "each panel has an axis of its own, not from 0"
    assert names_of_own(names, ends) == names
    assert near_ends([[-1.0, 2.0]])[0][0] < -1


def test_panels_have_axes_of_their_own_where_a_common_one_hides_some() -> None:
    wide = [[6.0, 140.0], [26.0, 250.0], [44.0, 250.0]]
    # What differs by a fiftieth is flat on an axis of its own, too.
    assert not are_strokes([*wide, [250.0, 256.0]], LINEAR)
    assert are_strokes([*wide, [3.0, 9.0]], LINEAR)
    # Most panels are hidden.
    assert are_strokes([[90.0, 91.0], [40.0, 40.5], [10.0, 60.0]], LINEAR)
    assert not are_strokes([[1.0, 1.0], [90.0, 91.0]], LINEAR)
