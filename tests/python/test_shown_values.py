"""Which values figures and sentences of sweeps and comparisons show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.container import ErrorbarContainer

from midflight.cli import main
from midflight.plot import figure_of, plot_spread
from midflight.plot.results.axis import axis_data
from midflight.plot.results.compared import same_words
from midflight.plot.results.paired import paired_shown
from midflight.plot.results.spread import spread_of
from midflight.plot.usual import Shown, _best_first, usual_by
from midflight.sweep_words import change_lines
from test_sweep_reports import made_lines, summary_of

if TYPE_CHECKING:
    from midflight.sweep_summary import Summary

GAP = "handoffs.0.gap"
_INF = float("inf")


def comparison(endless: int, **other: Any) -> dict[str, list[Any]]:
    """Changes by 100 s, 50 s less or more than that, at four gaps; so many percentages are endless,
    from the first.
    """
    bare = {
        "flow": "download",
        "metric": "duration_ns",
        "compared": "flows.download.scheme",
        "value": "freeze",
        "baseline": "sack",
        "pairs": 4,
        "left_out": 0,
        "done_before": 0,
        "over": "axes",
        "samples": 4,
        "difference": 1e11,
        "half_width": 5e10,
        "ratio": 2.0,
        **other,
    }
    rows = [
        {
            **bare,
            GAP: f"{place + 1}s",
            "ratio_low": -_INF if place < endless else 1.0,
            "ratio_high": _INF if place < endless else 3.0,
        }
        for place in range(4)
    ]
    order = ["flow", GAP, *(name for name in rows[0] if name not in ("flow", GAP))]
    return {name: [row[name] for row in rows] for name in order}


@pytest.mark.parametrize(("endless", "shown"), [(0, "ratio"), (1, "ratio"), (2, "difference")])
def test_changes_are_differences_where_half_have_no_percentage(endless: int, shown: str) -> None:
    found = paired_shown(comparison(endless))
    assert found is not None
    assert found.value == shown
    # An interval that reaches -100 % is one of a mean that may be 0.
    reaching = comparison(0)
    reaching["ratio_low"][1:3] = [-1.0, -1.0]
    found = paired_shown(reaching)
    assert found is not None
    assert found.value == "difference"
    # A mean of 0 has no percentage at all.
    none = comparison(0, ratio=None)
    found = paired_shown({**none, "ratio_low": [None] * 4, "ratio_high": [None] * 4})
    assert found is not None
    assert found.value == "difference"


@pytest.mark.parametrize(("half_width", "brackets"), [(5e10, 0), (2e11, 2)])
def test_differences_tell_what_percentages_without_ends_do_not(
    half_width: float, brackets: int
) -> None:
    columns = comparison(2, half_width=half_width)
    how: Any = {"x": GAP, "y": "value", "value": "ratio"}
    cells, _ = figure_of(plot_spread, columns, "heatmap", **how).axes
    numbers = [one.get_text() for one in cells.texts if one.get_text()[-1:] in "0)"]
    assert sum(one.startswith("(") for one in numbers) == brackets


def test_sentences_judge_changes_by_differences_where_percentages_have_no_ends() -> None:
    (sentence,) = change_lines(summary_of({"sack": [0, 0, 1], "freeze": [3, 3.1, 4]}))
    assert sentence == (
        "with freeze it is higher by 3.03 s (2.89 to 3.18; no percentage: the mean of sack is too "
        "uncertain)"
    )


def test_pairs_that_are_all_the_same_have_no_interval() -> None:
    made = summary_of({"sack": [1, 1, 1], "freeze": [1.5, 1.5, 1.5], "vho": [2, 1, 1.5]})
    freeze, vho = change_lines(made)
    assert freeze == "with freeze it is higher by 50 %; no interval, as all pairs are the same"
    assert vho == (
        "with vho it is neither lower nor higher for certain: +50 % (\N{MINUS SIGN}74 to +174)"
    )
    (_, line, other), (foot,) = made_lines(made), made.comparison_foot()
    assert line[-5:] == ["0.5", "-", "50.0", "-", "-"]
    assert "-" not in other
    assert foot.startswith("1 of 2 have no interval: all pairs are the same")
    # Without any interval the table has none.
    alone = summary_of({"sack": [1, 1, 1], "freeze": [1.5, 1.5, 1.5]})
    assert not alone.has_intervals
    assert made_lines(alone)[1][-2:] == ["0.5", "50.0"]


def pooled(over: str) -> Summary:
    """Three runs that are alike, each of two pairs that are not."""
    made = summary_of({"sack": [1, 1, 1], "freeze": [1.5, 1.5, 1.5]})
    made.compared[:] = [replace(one, over=over, pairs=6) for one in made.compared]
    return made


def test_pairs_that_are_averaged_first_are_not_said_to_be_the_same() -> None:
    (sentence,), head = change_lines(pooled("runs")), pooled("runs").comparison_head()
    why = "all runs have the same means"
    assert sentence == f"with freeze it is higher by 50 %; no interval, as {why}"
    assert f"{why.capitalize()}, so no confidence interval." in " ".join(head.split())
    # Where runs do not differ at random their pairs are the same.
    (sentence,) = change_lines(pooled("axes"))
    assert sentence.endswith("no interval, as all pairs are the same")
    made = pooled("runs")
    vho = summary_of({"sack": [1, 1, 1], "vho": [2, 1, 1.5]}).compared
    made.compared += vho
    foot = made.comparison_foot()[-1]
    assert foot.startswith(f"1 of 2 have no interval: {why} there")
    same = summary_of({"sack": [1, 1, 1], "freeze": [1, 1, 1]})
    same.compared[:] = [replace(one, over="runs", pairs=6) for one in same.compared]
    assert [*change_lines(same)] == ["with freeze it is the same in the mean of each run"]


def test_figures_do_not_say_that_pairs_that_are_averaged_first_are_the_same() -> None:
    columns = comparison(0, half_width=0.0)
    columns["ratio_low"] = columns["ratio_high"] = columns["ratio"]
    rows = range(len(columns["ratio"]))
    assert same_words(columns, rows, "ratio") == "no interval where all pairs are the same"
    columns["over"] = ["runs" for _ in rows]
    columns["pairs"] = [11 * int(one) for one in columns["samples"]]
    why = "all runs have the same mean"
    assert same_words(columns, rows, "ratio") == f"no interval where {why}s"
    columns["ratio_high"] = [one + 0.1 for one in columns["ratio"]]
    words = f"intervals of zero width where {why} difference"
    assert same_words(columns, rows, "difference") == words


def test_maps_do_not_speak_of_intervals_that_they_do_not_show() -> None:
    columns = comparison(0, half_width=0.0)
    columns["ratio_low"] = columns["ratio_high"] = columns["ratio"]
    data = spread_of(columns, "heatmap", x=GAP, y="value", value="ratio")
    assert "interval" not in data.detail


@pytest.mark.parametrize("value", ["ratio", "difference"])
def test_a_figure_has_no_whiskers_where_all_pairs_are_the_same(value: str) -> None:
    columns = comparison(0)
    columns["half_width"][0], columns["ratio_low"][0], columns["ratio_high"][0] = 0.0, 2.0, 2.0
    how: Any = {"x": GAP, "value": value}
    (axes,) = figure_of(plot_spread, columns, "interval", **how).axes
    (bars,) = (one for one in axes.containers if isinstance(one, ErrorbarContainer))
    assert len(bars.lines[2][0].get_segments()) == 3
    said = " ".join(one.get_text().replace("\n", " ") for one in axes.texts)
    assert "no interval where all pairs are the same" in said
    columns = comparison(0, half_width=0.0)
    columns["ratio_low"] = columns["ratio_high"] = columns["ratio"]
    # The figure has the changes without intervals.
    assert paired_shown(columns) == Shown(GAP, None, "ratio", ["value"])


def test_pairs_with_other_values_and_the_same_difference_have_the_interval_of_the_ratio() -> None:
    (sentence,) = change_lines(summary_of({"sack": [10, 11, 12], "freeze": [11, 12, 13]}))
    assert sentence == "with freeze it is higher by 9.1 % (7.4 to 12)"


AXES = {
    "links.*.queue": ["bdp", "500ms", "codel", "fq-codel", "pie"],
    "flows.bulk.scheme": ["sack", "bbr3"],
    "handoffs.0.at": ["10s", "11s", "12s"],
}


def test_settings_rather_than_instants_are_on_the_axis_if_others_would_be_pooled() -> None:
    first, *_ = _best_first(AXES, None, [])
    assert first == "links.*.queue"
    assert usual_by(AXES, None, {first}) == ["flows.bulk.scheme"]
    # Where nothing else is pooled instants are an axis, as other numbers are.
    few = {**AXES, "links.*.queue": ["bdp", "pie"]}
    assert _best_first(few, None, [])[0] == "handoffs.0.at"


def test_schemes_have_up_to_nine_lines() -> None:
    schemes = [f"s{number}" for number in range(9)]
    axes = {"flows.get.scheme": schemes, "handoffs.0.gap": ["1s", "2s", "3s"]}
    assert usual_by(axes, None, {"handoffs.0.gap"}) == ["flows.get.scheme"]
    # Others only where they can be told apart by more than that.
    other = {"links.lte.loss": schemes, "handoffs.0.gap": ["1s", "2s", "3s"]}
    assert usual_by(other, None, {"handoffs.0.gap"}) == []
    # With more schemes than lines these are the axis.
    many = {"flows.get.scheme": [*schemes, "s9"], "handoffs.0.gap": ["1s", "2s", "3s"]}
    assert _best_first(many, None, [])[0] == "flows.get.scheme"


def test_more_schemes_than_lines_are_refused_and_not_pooled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(tmp_path / "out"), str(tmp_path / "x.svg")
    schemes = "sack,reno-linux,bbr-linux,bbr3,vho,freeze,enhanced,vho-qs,trigger,ehn"
    axis = f"flows.download.scheme={schemes}"
    assert main(["sweep", "wifi-to-lte", "--out", folder, "--axis", axis]) == 0
    words = ["plot", folder, "--out", out, "--kind", "cdf"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "lines for 10 values of flows.download.scheme cannot be distinguished" in said
    assert main([*words, "--where", axis.split(",")[0], "--where", f"{axis[:22]}vho"]) == 0


@pytest.mark.parametrize("end", ["60s", "5s"])
def test_runs_that_do_not_finish_have_maps_of_settings(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(tmp_path / "out"), str(tmp_path / "x.csv")
    axes = ["flows.download.scheme=sack,freeze", "handoffs.0.gap=0.5s,0.7s,1s,1.5s,2s,2.5s,3s"]
    # Values of a setting with fewer ones have panels.
    axes += [
        "links.lte.rate=" + ",".join(f"{rate} Mbit/s" for rate in (1, 1.5, 2, 2.5, 3, 3.5, 50))
    ]
    words = [word for axis in axes for word in ("--axis", axis)]
    assert main(["sweep", "wifi-to-lte", "--out", folder, *words, "--set", f"end={end}"]) == 0
    capsys.readouterr()
    plot = ["plot", folder, "--out", str(tmp_path / "x.svg"), "--csv", out]
    assert main(plot) == 0
    said = capsys.readouterr().err
    assert ("the figure is --kind heatmap" in said) == (end == "5s")
    assert ("note: pooled" in said) == (end == "60s")
    # Another kind is asked for.
    assert main([*plot, "--kind", "median"]) == 0
    assert "heatmap" not in capsys.readouterr().err


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three schemes at two gaps and three instants, whose comparison separates the gaps."""
    folder = str(tmp_path_factory.mktemp("gaps") / "out")
    axes = ["flows.download.scheme=sack,freeze,vho", f"{GAP}=0.5s,2s", "handoffs.0.at=0.2s,0.3s,1s"]
    words = [word for axis in axes for word in ("--axis", axis)]
    words += ["--compare", "flows.download.scheme"]
    assert main(["sweep", "wifi-to-lte", "--out", folder, *words]) == 0
    return folder


@pytest.mark.parametrize(
    ("words", "shown", "cells"),
    [
        (["--value", "ratio"], f"--x {GAP} --y value --value ratio", 4),
        (["--y", "ratio"], f"--x {GAP} --y value --value ratio", 4),
        (
            ["--value", "ratio", "--where", "flows.download.scheme=vho"],
            f"--x {GAP} --y value --value ratio",
            2,
        ),
        (["--y", "goodput_bps"], "--value goodput_bps", 6),
    ],
)
def test_heat_maps_find_their_sides(
    words: list[str],
    shown: str,
    cells: int,
    gaps: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = tmp_path / "x.csv"
    out = ["--out", str(tmp_path / "x.svg"), "--csv", str(table)]
    assert main(["plot", gaps, "--kind", "heatmap", *words, *out]) == 0
    assert shown in capsys.readouterr().err
    assert len(table.read_text().splitlines()) == 1 + cells
    assert "Value" not in (tmp_path / "x.svg").read_text()


def test_numbers_after_the_same_words_are_an_axis_of_numbers() -> None:
    losses = ["uniform 0.5%", "uniform 2%", "uniform 0.1%"]
    columns = {"links.a.loss": losses, "duration_ns": [2e9, 3e9, 1e9]}
    data = axis_data(columns, x="links.a.loss", y="duration_ns")
    assert data.categories is None
    assert data.x_title == "Loss of a (%), uniform"
    assert data.lines[0].x == [0.1, 0.5, 2.0]
    box = spread_of(columns, "box", x="links.a.loss", value="duration_ns")
    assert (box.x_title, box.categories) == (data.x_title, ["0.1", "0.5", "2"])
    # Other words, or none, and other units are names.
    for one in ("burst 3%", "3%", "uniform 3 ms", "uniform"):
        columns["links.a.loss"] = [*losses[:2], one]
        found = axis_data(columns, x="links.a.loss", y="duration_ns")
        assert found.categories == columns["links.a.loss"]
        assert found.x_title == "Loss of a"
