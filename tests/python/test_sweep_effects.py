"""The table of what each compared value of a sweep changes in all, and where it does harm."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from midflight import MidflightError, Scenario, Sweep
from midflight.cli import main
from midflight.listing import joined, listed
from midflight.plot import figure_of, plot_best, plot_spread
from midflight.plot.results.best import Best, best_figure
from midflight.plot.results.maps import colours_of, is_dark
from midflight.run_tables import fitted
from midflight.sweep_effects import effect_cells, effect_columns, effect_notes
from midflight.sweep_folder import running_mark
from midflight.sweep_report import sweep_report_html
from midflight.sweep_results import Group, compare, groups, regrouped
from midflight.sweep_summary import Summary
from midflight.sweep_verdict import _alike, best_lines, firsts_of

SCHEME, GAP, AT = "flows.get.scheme", "handoffs.0.gap", "handoffs.0.at"
NONE = float("nan")


def summary_of(
    results: dict[str, dict[tuple[str, str], list[float]]], metric: str = "duration_ns"
) -> Summary:
    """The comparison of schemes with these values, of a run each, at gaps and instants."""
    rows = [
        {
            **{"flow": "get", "entry": "get", "moves": "1", "run": str(run), "digest": f"{value}"},
            **{SCHEME: scheme, GAP: gap, AT: at, metric: "" if value != value else f"{value}e9"},
        }
        for scheme, places in results.items()
        for (gap, at), values in places.items()
        for run, value in enumerate(values)
    ]
    by = [SCHEME, GAP]
    axes: dict[str, list[str]] = {SCHEME: [*results]}
    for place, key in enumerate((GAP, AT)):
        axes[key] = list(dict.fromkeys(one[place] for one in next(iter(results.values()))))
    grouped = groups(iter(rows), [*axes], by, metric)
    compared = compare(grouped, by, SCHEME, axes[SCHEME])
    asked: Any = type("Asked", (), {"compare": SCHEME, "scenario": "{}", "axes": axes})()
    nothing: Any = None
    return Summary(asked, metric, by, grouped, compared, "comparison.csv", nothing, None)


def near(value: float) -> list[float]:
    return [value, 1.01 * value, 0.99 * value, 1.005 * value]


def at_two(early: float, late: float, *, gap: str = "1s") -> dict[tuple[str, str], list[float]]:
    return {(gap, "1s"): near(early), (gap, "2s"): near(late)}


def test_harm_at_an_instant_is_told_of_several_combinations() -> None:
    made = summary_of(
        {
            "sack": at_two(10, 10) | at_two(10, 10, gap="2s"),
            "a": at_two(4, 12) | at_two(5, 5, gap="2s"),
        }
    )
    baseline, one = made.effects
    assert (baseline.value, baseline.runs, baseline.finished, baseline.combinations) == (
        *("sack", 16, 16),
        0,
    )
    assert (one.lower, one.higher, one.open, one.same, one.without_pairs) == (2, 0, 0, 0, 0)
    assert (one.gains, one.harms, one.points) == (3, 1, 4)
    assert one.harm_at([GAP, AT]) == [(GAP, "1s"), (AT, "2s")]
    (head, _, line) = effect_cells(made)
    assert dict(zip(head, line, strict=True)) == {
        **{"scheme of get": "a", "faster": "2", "slower": "0", "open": "0"},
        **{"mean change (%)": "\N{MINUS SIGN}35", "95 % interval": line[5]},
        **{
            "faster at": "3 of 4",
            "slower at": "1 of 4",
            "worst (%)": "+20",
            "where": "gap 1s, instant 2s",
        },
    }
    assert "faster and slower at: counts all instants separately" in effect_notes(made)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_printed_table_is_as_wide_as_the_terminal(width: int) -> None:
    made = summary_of(
        {
            "sack": at_two(10, 10) | at_two(10, 10, gap="2s"),
            "a-long-name": at_two(4, 12) | at_two(5, 5, gap="2s"),
        }
    )
    said = made.effect_lines(width)
    assert max(map(len, "\n".join(said).splitlines()[:-1])) <= max(width, 76)
    text = " ".join(" ".join(said).split())
    # Where it is so stands below what has no room beside it; axes have the words of figures.
    assert ("worst: gap 1s, instant 2s" in text) == (width < 100)
    assert text.count("gap 1s, instant 2s") == 1
    assert not {SCHEME, GAP, AT} & {*text.replace(",", " ").split()}


def test_heads_are_wrapped_before_what_is_below_them() -> None:
    rows = [["a", "two words"], ["1", "3 of 4"]]
    assert fitted(rows, 12) == [[row] for row in rows]
    assert fitted(rows, 9) == [[["", "two"], ["a", "words"]], [rows[1]]]
    assert fitted(rows, 8)[1] == [["1", "3 of"], ["", "4"]]
    # Words are not cut.
    assert fitted(rows, 3) == fitted(rows, 8)


def test_runs_that_do_not_finish_are_given_for_each_value_and_are_harm() -> None:
    lost = {("1s", "1s"): [NONE] * 8, ("1s", "2s"): [10.0 + run / 100 for run in range(8)]}
    whole = {at: [10.0 + run / 90 for run in range(8)] for at in lost}
    made = summary_of({"sack": whole, "a": lost})
    baseline, one = made.effects
    assert [(of.finished, of.runs) for of in (baseline, one)] == [(16, 16), (8, 16)]
    assert one.harm_at([AT]) == [(AT, "1s")]
    cells = effect_cells(made)
    assert "unfinished" in cells[2]
    assert [line[cells[0].index("finished")] for line in cells[1:]] == ["16 of 16", "8 of 16"]
    assert "unfinished: sack finished there more often" in effect_notes(made)


def test_a_mean_change_of_some_pairs_is_in_brackets_and_says_so() -> None:
    """Where one of both finishes more often, what it is of is not what is compared."""
    lost = {("1s", "1s"): [10.0, 10.1, 10.2, *[NONE] * 3]}
    whole = {("1s", "1s"): [8.0, 8.1, 8.3, 7.9, 8.0, 8.1]}
    note = "( ): only of the pairs in which both finished"
    for made, is_of_some in (
        (summary_of({"sack": lost, "a": whole}), True),
        (summary_of({"sack": lost, "a": {("1s", "1s"): [8.0, 8.1, 8.3, *[NONE] * 3]}}), False),
    ):
        head, _, line = effect_cells(made)
        shown = dict(zip(head, line, strict=True))
        cells = [shown["mean change (%)"], shown["95 % interval"]]
        assert [one.startswith("(") and one.endswith(")") for one in cells] == [is_of_some] * 2
        notes = effect_notes(made)
        assert (note in notes) == is_of_some
        assert any("of the pairs in which both runs have a value" in one for one in notes) != (
            is_of_some
        )


def test_of_a_metric_that_is_not_better_one_way_nothing_is_harm() -> None:
    made = summary_of({"sack": at_two(10, 10), "a": at_two(4, 12)}, "rexmits")
    assert [one.harm for one in made.effects] == [None, None]
    assert "where" not in effect_cells(made)[0]


def test_groups_by_other_axes_are_those_of_the_rows() -> None:
    made = summary_of({"sack": at_two(10, 11), "a": at_two(4, 12)})
    axes = [*made.asked.axes]
    again = regrouped(made.grouped, axes, made.by, [SCHEME, GAP, AT])
    assert [one.values for one in again] == [
        (scheme, "1s", at) for scheme in ("sack", "a") for at in ("1s", "2s")
    ]
    back = regrouped(again, axes, [SCHEME, GAP, AT], made.by)
    assert [(one.values, one.runs, one.sample) for one in back] == [
        (one.values, one.runs, one.sample) for one in made.grouped
    ]


def test_means_are_of_the_same_runs() -> None:
    """Where flows are early with one scheme, the other runs of the others do not count."""

    def group(value: str, runs: list[float], early: set[int]) -> Group:
        each = {(str(run),): one for run, one in enumerate(runs)}
        return Group("get", (value,), each, {(str(run),) for run in early}, by_chance=True)

    some = _alike([group("sack", [1, 1, 9, 9], set()), group("a", [1, 1, 8, 8], {0, 1})])
    assert [[*one.counted.values()] for one in some] == [[9, 9], [8, 8]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("effects") / "out"
    axes = ["flows.download.scheme=sack,enhanced", "handoffs.0.gap=0.2s,1s", f"{AT}=0.3s,0.5s"]
    words = [word for axis in [*axes, "seed=1,2,3,4"] for word in ("--axis", axis)]
    words += ["--compare", "flows.download.scheme", "--set", "links.lte.loss=uniform 1%"]
    assert main(["sweep", "wifi-to-lte", *words, "--out", str(place)]) == 0
    return place


def test_the_table_is_a_file_and_is_had_from_python(folder: Path) -> None:
    asked = Sweep.read(folder)
    made = Summary.of(asked, folder)
    with (folder / "effects.csv").open(newline="") as text:
        rows = [*csv.DictReader(text)]
    columns = effect_columns(made)
    assert [row["value"] for row in rows] == columns["value"] == ["sack", "enhanced"]
    assert [row["finished"] for row in rows] == [str(one) for one in columns["finished"]]
    # The change of the mean is that of a comparison which pools all other axes.
    (all_in_one,) = Summary.of(asked, folder, None, ["flows.download.scheme"]).compared
    assert math.isclose(float(rows[1]["ratio"]), all_in_one.ratio)
    assert math.isclose(float(rows[1]["half_width"]), all_in_one.half_width)
    assert int(rows[1]["samples"]) == all_in_one.samples == 4
    page = sweep_report_html(folder)
    assert '<table class="effects">' in page
    assert page.index('<table class="effects">') < page.index('id="sentences"')


def test_any_metric_is_compared_from_python(folder: Path) -> None:
    from midflight.sweep import SweepOutcome

    found = SweepOutcome(Sweep.read(folder), folder)
    assert found.effects.column("value") == ["sack", "enhanced"]
    other = found.compared("goodput_bps")
    assert set(other.column("metric")) == {"goodput_bps"}
    by = ["flows.download.scheme"]
    assert found.compared("goodput_bps", by=by).column("ratio") == [
        pytest.approx(found.compared("goodput_bps", by=by, in_all=True).column("ratio")[1])
    ]
    with pytest.raises(MidflightError, match="is not a measurement"):
        found.compared("speed")


def test_a_sweep_without_a_comparison_has_no_effects(tmp_path: Path) -> None:
    found = Sweep.of(Scenario.read("wifi-to-lte").plan(), {AT: "0.1s,0.2s"}).run(tmp_path / "x")
    with pytest.raises(MidflightError, match="no comparison"):
        _ = found.effects
    assert not (tmp_path / "x" / "effects.csv").exists()


def test_what_has_commas_is_joined_by_semicolons() -> None:
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert joined(["1, 2", "3, 4", "5"]) == "1, 2; 3, 4; and 5"
    assert listed(["1, 2", "3"]) == "1, 2; 3"


def test_the_few_that_are_enough_are_named() -> None:
    def places(*values: float) -> dict[tuple[str, str], list[float]]:
        return {(f"{gap}s", "1s"): near(value) for gap, value in enumerate(values)}

    made = summary_of({"sack": places(5, 5, 2), "a": places(2, 3, 3), "b": places(3, 2, 3)})
    (said,) = best_lines(made)
    assert said == (
        "No single one is best: a is the fastest in 1 of 3 combinations (at 0 s); b in 1 (at 1 "
        "s); sack in 1 (at 2 s)"
    )
    # Where both are the fastest the second one is not named first.
    few = {"sack": places(5, 5, 2, 5), "a": places(2, 2, 3, 3), "b": places(3, 2, 3, 2)}
    (said,) = best_lines(summary_of(few))
    assert said.endswith("; b is so in 1 (at 3 s), and also in 1 of those before")


def test_a_map_says_which_value_is_best_where(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "best.csv"
    plot_best(folder, tmp_path / "best.svg", csv=table)
    with table.open(newline="") as text:
        rows = [*csv.DictReader(text)]
    sides = ["flow", "handoffs.0.gap", AT]
    assert [*rows[0]] == [*sides, "best", "near", "median", "finished", "runs"]
    assert len(rows) == 4
    # It is what the sentences say of the same combinations.
    apart = Summary.of(Sweep.read(folder), folder).separated(["handoffs.0.gap", AT])
    (firsts,) = firsts_of(apart).values()
    assert [row["best"] for row in rows] == ["; ".join(one.best) for one in firsts]
    drawn = tmp_path / "x.png"
    words = ["plot", str(folder), "--kind", "heatmap", "--value", "best", "--out", str(drawn)]
    assert main([*words, "--csv", str(tmp_path / "again.csv")]) == 0
    assert drawn.is_file()
    assert (tmp_path / "again.csv").read_text() == table.read_text()
    assert {row["best"] for row in rows} <= {"sack", "enhanced", "sack; enhanced", ""}
    assert main([*words, "--where", "run=1"]) == 2
    assert main([*words, "--where", f"{AT}=99s"]) == 2
    # One instant has no map of two axes.
    assert main([*words, "--where", f"{AT}={rows[0][AT]}"]) == 2
    one = tmp_path / "one.csv"
    plot_best(folder, drawn, where={"flow": "download", AT: rows[0][AT]}, x=AT, csv=one)
    with one.open(newline="") as text:
        assert [*csv.DictReader(text)] == [row for row in rows if row[AT] == rows[0][AT]]
    with pytest.raises(MidflightError, match="no map of what is best"):
        plot_best(folder, drawn, metric="rexmits")


def test_a_map_has_the_share_of_runs_that_finished(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "shares.csv"
    how: Any = {"x": "handoffs.0.gap", "y": AT, "csv": table}
    plot_spread(folder, tmp_path / "x.svg", "heatmap", value="finished_percent", **how)
    with table.open(newline="") as text:
        cells = list(csv.DictReader(text))
    assert cells
    source = {
        "scheme": ["a"] * 4 + ["b"] * 4,
        "links.x.rate": ["1", "2"] * 4,
        "finished_ns": [1, None, 1, 1, None, None, 1, ""],
    }
    found = figure_of(
        plot_spread, source, "heatmap", value="finished_percent", x="links.x.rate", y="scheme"
    )
    written = [one.get_text() for one in found.axes[0].texts]
    assert {"100", "50", "0"} <= {*written}
    # The colours are those of 0 to 100 %, whatever the shares are.
    assert found.axes[0].collections[0].get_clim() == (0, 100)


def test_a_map_of_what_is_best_has_names_where_there_is_room(folder: Path) -> None:
    how: Any = {"x": "handoffs.0.gap", "y": AT}
    for size, is_named in (((4.4, 2.9), True), ((1.8, 2.9), False)):
        (panel,) = figure_of(plot_best, folder, size=size, **how).axes
        cells = [one.get_text().split("\n") for one in panel.texts]
        assert len(cells) == 4
        # Where names have no room there are letters, which the legend explains.
        firsts = {one[0] for one in cells}
        assert (firsts <= {"A", "B"}) == (not is_named)
        entries = [text.get_text() for one in panel.figure.legends for text in one.get_texts()]
        assert all(one.startswith(("A: ", "B: ")) for one in entries) == (not is_named)
    # On dark cells the letters are white.
    assert (is_dark((0.25, 0.25, 0.25)), is_dark((0.9, 0.7, 0.2))) == (True, False)
    # What is written is what the legend says.
    (panel,) = figure_of(plot_best, folder, **how).axes
    named = {one.get_text().split("\n")[0] for one in panel.texts}
    legends = [one for one in panel.figure.legends if one.get_texts()]
    assert named <= {text.get_text() for one in legends for text in one.get_texts()} | {"same"}


def test_the_data_of_a_figure_are_not_written_over_it(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MidflightError, match="csv is the file of the figure"):
        plot_best(folder, tmp_path / "x.svg", csv=tmp_path / "x.svg")
    assert not (tmp_path / "x.svg").exists()


def test_a_scale_is_clipped_only_where_that_helps() -> None:
    # Without its end at 10 the others would have 20 of 28 parts of it: nothing is gained.
    values = np.array([2.0, *np.linspace(10, 30, 20)])
    assert (colours_of(values).low, colours_of(values).high) == (2.0, 30.0)
    values = np.array([200.0, *np.linspace(10, 30, 20)])
    assert colours_of(values).high == 30.0


def test_a_folder_whose_first_shard_runs_is_not_taken_over(tmp_path: Path) -> None:
    plan = Scenario.read("wifi-to-lte").plan()
    one, other = (Sweep.of(plan, {AT: at}) for at in ("0.1s,0.2s", "0.3s,0.4s"))
    one.begin(tmp_path)
    # Of this process it was begun, and has no results to lose.
    other.begin(tmp_path)
    mark = running_mark(tmp_path)
    for pid, runs in ((os.getppid(), True), (2**22 + 1, False)):
        theirs = mark.rename(mark.with_name(mark.name.replace(str(os.getpid()), str(pid))))
        if runs:
            with pytest.raises(MidflightError, match="has another sweep"):
                one.begin(tmp_path)
            mark = theirs.rename(mark)
        else:
            one.begin(tmp_path)
            assert not theirs.exists()
    one.run(tmp_path)
    assert not running_mark(tmp_path).exists()


def test_several_flows_have_a_map_each(tmp_path: Path) -> None:
    """None is shown in place of all, and a map of one of several names it."""
    axes = {"flows.*.scheme": "sack,vho", "handoffs.0.gap": "0.1s,2s", AT: "1s,2s"}
    asked = Sweep.of("household", axes, compare="flows.*.scheme")
    asked.run(tmp_path / "x")
    folder = str(tmp_path / "x")
    found = figure_of(plot_best, folder)
    assert [one.get_title() for one in found.axes] == ["film", "page", "backup"]
    (one,) = figure_of(plot_best, folder, where={"flow": "page"}).axes
    assert "Goodput of page" in one.get_title(loc="right").replace("\n", " ")
    table = tmp_path / "best.csv"
    plot_best(folder, tmp_path / "x.svg", where={"flow": "page,film"}, csv=table)
    with table.open(newline="") as text:
        assert {row["flow"] for row in csv.DictReader(text)} == {"film", "page"}


def test_values_that_are_the_same_are_named_in_the_cells(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = Summary.of(Sweep.read(folder), folder).separated(["handoffs.0.gap", AT])
    (firsts,) = firsts_of(apart).values()
    tied = [one._replace(best=("sack", "enhanced"), near=(), why="") for one in firsts]
    best = Best(apart, "handoffs.0.gap", AT, "download", tied)
    for size, said in (((5.0, 3.0), "= enhanced"), ((1.8, 2.9), "A=B")):
        (panel,) = best_figure([best], size=size).axes
        assert all(said in one.get_text() for one in panel.texts)
    # Without room for letters each value has its hatch, and ties have dots.
    monkeypatch.setattr("midflight.plot.results.best.fitting_pt", lambda *_: None)
    (panel,) = best_figure([best]).axes
    assert not panel.texts
    assert len(panel.lines) == len(firsts)
