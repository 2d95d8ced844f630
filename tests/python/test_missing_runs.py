"""What figures of sweeps say of runs that did not finish, of what they pool, and of changes whose
interval contains 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.results.spread import spread_of
from midflight.plot.results.tables import read_columns
from midflight.plot.results.unfinished import counted_flows, counted_words, unfinished_words
from midflight.plot.usual import Shown, usual_shown
from test_over_time import rows_of

SCHEME, GAP, AT = "flows.download.scheme", "handoffs.0.gap", "handoffs.0.at"
DELAY = "links.lte.delay"


def swept(folder: Path, *more: str, end: str = "30 s") -> Path:
    axes = [f"{SCHEME}=sack,freeze", f"{GAP}=0.2s,2s,4s", f"{DELAY}=20ms,100ms"]
    axes += [f"{AT}=0.1s,0.3s,0.5s"]
    words = ["sweep", "wifi-to-lte", "--set", f"end={end}", "--out", str(folder)]
    words += [word for axis in axes for word in ("--axis", axis)]
    assert main([*words, "--compare", SCHEME, *more]) == 0
    return folder


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep in which runs of plain TCP, and fewer of the other scheme, do not finish."""
    return swept(tmp_path_factory.mktemp("short") / "out", end="8 s")


def said_in(figure: Any) -> str:
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    above = [axes.get_title(loc="right") for axes in figure.axes]
    return " ".join(" ".join([*above, *words]).split())


def test_a_comparison_says_which_side_of_a_pair_is_missing(
    short: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = {
        (row[SCHEME], row[GAP], row[DELAY], row[AT]): bool(row["duration_ns"])
        for row in rows_of(short / "flows.csv")
    }
    rows = rows_of(short / "comparison.csv")
    partly = 0
    for row in rows:
        sides = [
            (flows["freeze", row[GAP], row[DELAY], at], flows["sack", row[GAP], row[DELAY], at])
            for at in ("0.1s", "0.3s", "0.5s")
        ]
        assert int(row["pairs"]) == sum(map(all, sides))
        assert int(row["left_out"]) == sum(not all(one) for one in sides)
        assert int(row["value_missing"]) == sum(not one for one, _ in sides)
        assert int(row["baseline_missing"]) == sum(not one for _, one in sides)
        partly += 0 < int(row["pairs"]) < 3
    # The runs make a difference.
    assert partly
    assert {one["baseline_missing"] for one in rows} > {"0"}
    capsys.readouterr()
    swept(short, end="8 s")
    lost, mine, theirs = (
        sum(int(row[name]) for row in rows)
        for name in ("left_out", "value_missing", "baseline_missing")
    )
    said = " ".join(capsys.readouterr().out.split())
    assert (
        f"{lost} of 18 pairs are left out, as a run has no value: in {theirs} that of sack, in "
        f"{mine} the other one."
    ) in said


def test_figures_of_changes_name_the_runs_that_are_left_out(short: Path) -> None:
    columns = read_columns(short / "comparison.csv", "ratio")
    each = zip(
        *(columns[one] for one in ("pairs", "baseline_missing", "value_missing")), strict=True
    )
    # Those of all places, also without a pair.
    sack, freeze = (sum(map(int, one)) for one in [*zip(*each, strict=True)][1:])
    assert sack
    named = f"{sack} run{'s' * (sack > 1)} of sack (CUBIC)" + f" and {freeze} of freeze" * bool(
        freeze
    )
    for kind in ("interval", "heatmap"):
        said = said_in(figure_of(plot_spread, short, kind, value="ratio"))
        assert f"left out: {named} that did not finish" in said
        words = "no pairs, as sack (CUBIC) did not finish"
        if kind == "interval":
            words = "no pairs: arrows down (sack (CUBIC) never finished)"
        assert words in said
        assert "instants" in said


def compared(**sides: int) -> dict[str, list[Any]]:
    """Changes at two gaps, of which the second one lacks these runs."""
    none = dict.fromkeys(("left_out", "value_missing", "baseline_missing", "done_before"), 0)
    count = {"pairs": 3} | none | sides
    return {
        "flow": ["x"] * 2,
        GAP: ["1 s", "2 s"],
        "metric": ["duration_ns"] * 2,
        "compared": [SCHEME] * 2,
        "value": ["freeze"] * 2,
        "baseline": ["sack"] * 2,
        "pairs": [5, count["pairs"]],
        **{name: [0, count[name]] for name in none},
        "over": ["runs"] * 2,
        "samples": [5, count["pairs"]],
        "ratio": [-0.2, -0.1 if count["pairs"] else None],
        "ratio_low": [-0.3, -0.2 if count["pairs"] else None],
        "ratio_high": [-0.1, 0.1 if count["pairs"] else None],
    }


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        ({"left_out": 2, "baseline_missing": 2}, "left out: 2 runs of sack that did not finish"),
        ({"left_out": 2, "value_missing": 2}, "left out: 2 runs of freeze that did not finish"),
        (
            {"left_out": 2, "value_missing": 1, "baseline_missing": 2},
            "left out: 2 runs of sack and 1 of freeze that did not finish",
        ),
        (
            {"pairs": 0, "left_out": 5, "baseline_missing": 5},
            "no pairs: arrows down (sack never finished)",
        ),
        (
            {"pairs": 0, "left_out": 5, "value_missing": 5},
            "no pairs: arrows up (only sack finished)",
        ),
        (
            {"pairs": 0, "left_out": 5, "value_missing": 3, "baseline_missing": 2},
            "no pairs: \N{MULTIPLICATION SIGN} (sack or the other one did not finish)",
        ),
        (
            {"pairs": 0, "left_out": 1, "done_before": 4, "baseline_missing": 1},
            "no pairs: \N{MULTIPLICATION SIGN} (sack or the other one did not finish or was done "
            "before the handoff)",
        ),
    ],
)
def test_each_side_of_a_pair_has_its_words(sides: dict[str, int], words: str) -> None:
    data = spread_of(compared(**sides), "interval", x=GAP, value="ratio", by=["value"])
    assert words in data.detail
    # Runs that did not finish are counted at all places, also where no pair is left.
    for name, side in (("sack", "baseline_missing"), ("freeze", "value_missing")):
        assert (
            f"{sides.get(side)} of {name}" in data.detail.replace(" runs", "").replace(" run", "")
        ) == (side in sides)


def test_changes_whose_interval_contains_0_have_brackets() -> None:
    columns = compared() | {"a.y": ["1", "1"]}
    how: Any = {"x": GAP, "y": "a.y", "value": "ratio"}
    cells, _ = figure_of(plot_spread, columns, "heatmap", **how).axes
    minus = "\N{MINUS SIGN}"
    assert [one.get_text() for one in cells.texts][:2] == [f"{minus}20", f"({minus}10)"]
    said = said_in(cells.figure)
    assert "change of the mean over 3 to 5 runs; in brackets: 95 % interval contains 0" in said
    # Where nothing is written they have a circle; all are below 0, and none has a hatch.
    wide = {name: [*column, *column[:1] * 300] for name, column in columns.items()}
    wide["a.y"] = [str(place) for place in range(302)]
    cells, _ = figure_of(plot_spread, wide, "heatmap", **how).axes
    (circle,) = [line for line in cells.lines if line.get_marker() == "o"]
    assert (circle.get_xdata()[0], circle.get_ydata()[0]) == (1, 1)
    said = said_in(cells.figure)
    assert "circles: 95 % interval contains 0" in said
    assert "hatched" not in said
    # Without intervals nothing is said of them.
    columns["samples"] = [1, 1]
    cells, _ = figure_of(plot_spread, columns, "heatmap", **how).axes
    assert "(" not in "".join(one.get_text() for one in cells.texts[:2])


def test_changes_have_a_decimal_as_in_tables(short: Path) -> None:
    figure = figure_of(plot_spread, short, "heatmap", value="ratio")
    written = [one.get_text().strip("()*") for one in figure.axes[0].texts]
    numbers = [one for one in written if one[:1] in "+\N{MINUS SIGN}"]
    assert numbers
    assert all(len(one.partition(".")[2]) == 1 for one in numbers)


def test_figures_of_values_count_the_runs_that_did_not_finish(short: Path) -> None:
    rows = rows_of(short / "flows.csv")
    lost = {
        one: sum(not row["duration_ns"] for row in rows if row[SCHEME] == one)
        for one in ("sack", "freeze")
    }
    assert min(lost.values()) > 1
    named = f"{lost['sack']} runs of sack (CUBIC) and {lost['freeze']} of freeze"
    how: Any = {"value": "duration_ns", "by": [SCHEME]}
    axis: Any = {"x": GAP, **how}
    for figure, words in (
        (figure_of(plot_axis, short, x=GAP, y="duration_ns", by=[SCHEME]), "count as longest"),
        (figure_of(plot_spread, short, "box", **axis), "count as longest"),
        (figure_of(plot_spread, short, "heatmap", y=DELAY, **axis), "count as longest"),
        (figure_of(plot_spread, short, "cdf", **how), "below 1 at the end: "),
        (figure_of(plot_spread, short, "interval", **axis), "too short, without "),
    ):
        said = said_in(figure)
        what = f"{named} that did not finish"
        assert (f"{words}{what}" if words.endswith(" ") else f"{what} {words}") in said


def test_words_of_runs_without_a_value() -> None:
    assert unfinished_words({"a": 1, "b": 0}) == "1 run of a that did not finish"
    assert unfinished_words({"": 2}) == "2 runs that did not finish"
    many = {str(place): 1 for place in range(9)}
    assert unfinished_words(many, is_time=False) == "9 runs without a value"
    some = {"a": 6, "b": 6, "c": 6, "d": 5, "e": 11}
    assert counted_flows(some, "done early") == (
        "6 flows each of a, b and c; 5 of d; 11 of e done early"
    )
    most = {str(place): place for place in range(1, 8)}
    assert counted_flows(most, "done early") == "28 flows, 7 of 7, done early"
    assert counted_words({"a": 1}) == "1 run of a that did not finish counts as longest"
    assert counted_words({"a": 0}) == ""


def test_what_is_compared_is_not_pooled(tmp_path: Path) -> None:
    folder = swept(tmp_path / "out")
    given = Shown(GAP, None, None, [DELAY])
    for kind in ("median", "interval", "box"):
        assert usual_shown(folder, kind, given, has_by=True).by == [SCHEME, DELAY]
    given = Shown(None, None, None, [GAP])
    assert usual_shown(folder, "cdf", given, has_by=True).by == [SCHEME, GAP]
    given = Shown(GAP, AT, None, [DELAY])
    assert usual_shown(folder, "heatmap", given, has_by=True).by == [SCHEME, DELAY]
    # It is where it is shown or kept, or named by another column.
    for by in ([SCHEME], ["scheme"]):
        given = Shown(GAP, None, None, by)
        assert usual_shown(folder, "median", given, has_by=True).by == by
    where = {SCHEME: "freeze"}
    given = Shown(GAP, None, None, [DELAY])
    assert usual_shown(folder, "median", given, has_by=True, where=where).by == [DELAY]
    # Changes of several values are told apart, too.
    file = tmp_path / "x.csv"
    words = ["--value", "ratio", "--x", GAP, "--by", DELAY, "--out", str(tmp_path / "x.svg")]
    assert main(["plot", str(folder), "--kind", "interval", *words, "--csv", str(file)]) == 0
    assert len(rows_of(file)) == 6


@pytest.mark.parametrize("kind", ["median", "interval", "cdf", "box", "heatmap"])
def test_what_a_figure_pools_is_named_with_its_instants(short: Path, kind: str) -> None:
    if kind == "median":
        figure = figure_of(plot_axis, short, x=GAP, y="duration_ns", by=[SCHEME])
    else:
        x = None if kind == "cdf" else GAP
        y = SCHEME if kind == "heatmap" else None
        by = [] if kind == "heatmap" else [SCHEME]
        how: Any = {"x": x, "y": y, "by": by, "value": "duration_ns"}
        figure = figure_of(plot_spread, short, kind, **how)
    said = said_in(figure) + " ".join(axes.get_title() for axes in figure.axes)
    times = " \N{MULTIPLICATION SIGN} "
    gaps = f"3 gaps{times}" if kind == "cdf" else ""
    some = "3 to 6 runs of" if kind == "interval" else "all"
    assert f": {some} {gaps}2 one-way delays of lte{times}3 instants" in said


def test_lines_are_of_instants_if_the_sweep_keeps_them_apart(tmp_path: Path) -> None:
    folder = swept(tmp_path / "out", "--by", AT)
    shown = usual_shown(folder, "cdf", Shown(None, None, None, []), has_by=False)
    assert shown.by == [SCHEME, AT]


@pytest.mark.parametrize(("maps", "rows"), [(3, [3]), (4, [2, 2]), (5, [3, 2]), (6, [3, 3])])
def test_rows_of_maps_are_about_as_long(maps: int, rows: list[int]) -> None:
    cells = [(str(x), str(y), str(by)) for x in range(2) for y in range(2) for by in range(maps)]
    names = dict(zip("xyz", map(list, zip(*cells, strict=True)), strict=True))
    columns = names | {"sent": [float(one) for one in range(len(cells))]}
    figure = figure_of(plot_spread, columns, "heatmap", x="x", y="y", by=["z"], value="sent")
    figure.draw_without_rendering()
    heights = [round(axes.get_position().y0, 2) for axes in figure.axes[:maps]]
    assert [heights.count(one) for one in dict.fromkeys(heights)] == rows


def test_what_each_run_is_averaged_over_is_named() -> None:
    columns = compared() | {"a.y": ["1", "1"]}
    for kind in ("interval", "heatmap"):
        how: Any = {"x": GAP, "y": "a.y", "value": "ratio", "samples": {AT: 3, "seed": 5}}
        # Of each run one pair counts, or, where some are left out, not as many of each.
        assert "over 3 to 5 runs" in spread_of(columns, kind, **how).detail
        some = columns | {"pairs": [9, 3]}
        assert "over 3 to 5 seeds; each" in spread_of(some, kind, **how).detail
        # Where the instants are the samples, they are named once.
        by_axes = columns | {"over": ["axes"] * 2}
        assert "pooled" not in spread_of(by_axes, kind, **how).detail
