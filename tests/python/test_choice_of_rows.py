"""Which rows figures of sweeps keep, by several values and ranges, and axes with `none`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.results.choice import chosen_values
from midflight.plot.results.maps import without_far
from midflight.plot.results.median_panels import near_ends
from midflight.plot.results.places import axis_places, change_unit, zero_name
from midflight.plot.results.tables import FOLDER
from midflight.sweep_results import have_no_percentage
from midflight.sweep_words import Size

SCHEME, AT, GAP = "flows.download.scheme", "handoffs.0.at", "handoffs.0.gap"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("choice") / "swept"
    axes = [f"{SCHEME}=sack,freeze,enhanced", f"{AT}=0.1s:0.5s:0.1s", f"{GAP}=none,0.5s,2s"]
    words = [word for axis in axes for word in ("--axis", axis)]
    assert main(["sweep", "wifi-to-lte", "--out", str(folder), *words, "--compare", SCHEME]) == 0
    return folder


def said_in(figure: Any) -> str:
    return " ".join(" ".join(one.get_text() for one in figure.findobj(Text)).split())


def test_one_option_keeps_several_values_or_a_range(swept: Path) -> None:
    times = ["0.1 s", "0.2 s", "0.3 s"]
    texts = ("0.1s,200ms, 0.3s", "0.1s:0.3s:0.1s", "0.1s:0.3s", "0.1s,0.1s,0.2s:350ms")
    for given in (*texts, times, ["0.1s", "0.2s:0.3s"], np.array(times), dict.fromkeys(times)):
        assert chosen_values(swept, {AT: given}) == {AT: times}
    assert chosen_values(swept, {"value": "freeze,enhanced"})["value"] == ["freeze", "enhanced"]
    assert chosen_values(swept, {"run": 0}) == {"run": ["0"]}
    assert chosen_values(swept, None, {AT: "0.1s:0.3s"}) == {AT: ["0.4 s", "0.5 s"]}
    with pytest.raises(MidflightError, match=r"--without handoffs.0.at: no row has 7s.*0.1 s, "):
        chosen_values(swept, None, {AT: "7s"})
    for source in (swept, swept / "flows.csv"):
        with pytest.raises(MidflightError, match='--without: there is no column "colour"'):
            chosen_values(source, None, {"colour": "red"})
    with pytest.raises(MidflightError, match="no row is left"):
        chosen_values(swept, None, {AT: "0.1s:0.5s"})
    # Texts with commas that are values themselves are these.
    columns = {"flows.a": ["{a, b}", "c"]}
    assert chosen_values(columns, {"flows.a": "{a, b}"}) == {"flows.a": ["{a, b}"]}


def test_a_table_may_have_some_of_the_rows_of_a_sweep(swept: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(swept / "flows.csv", keep_default_na=False)
    table.attrs[FOLDER] = str(swept)
    some = table[table[AT] != "0.1 s"]
    assert chosen_values(some, {AT: "0.1s:0.3s"}) == {AT: ["0.2 s", "0.3 s"]}
    assert chosen_values(some, None, {AT: "0.3s:0.5s"}) == {AT: ["0.2 s"]}
    assert chosen_values(table, None, {"value": "freeze"}) == {"value": ["enhanced"]}


def test_a_value_that_is_not_there_is_named(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plot", str(swept), "--out", str(tmp_path / "a.svg"), "--where"]
    assert main([*words, f"{AT}=0.1s,7s"]) == 2
    assert f'--where {AT}=7s: no row has that; "{AT}" is 0.1 s, 0.2 s' in capsys.readouterr().err
    assert main([*words, AT]) == 2
    assert f'--where "{AT}" is not column=value' in capsys.readouterr().err


def test_a_change_is_over_the_instants_that_are_kept(swept: Path) -> None:
    every, some = (
        figure_of(plot_axis, swept, where=where) for where in ({}, {AT: "0.3s:0.5s:0.1s"})
    )
    assert "each point: all 5 instants" in said_in(every)
    said = said_in(some)
    assert "Instant of the handoff: 0.3 s or 0.4 s or 0.5 s" in said
    assert "each point: all 3 instants" in said
    heights = [[[*line.get_ydata()] for line in one.axes[0].lines] for one in (every, some)]
    assert heights[0] != heights[1]
    assert "each point: all 4 instants" in said_in(
        figure_of(plot_axis, swept, without={AT: "0.1s"})
    )


def test_none_is_a_place_of_an_axis_of_numbers(swept: Path, tmp_path: Path) -> None:
    assert axis_places(["none", "0.5s", "2s"], "") == (
        {"none": 0.0, "0.5s": 0.5, "2s": 2.0},
        None,
        "s",
    )
    assert zero_name(["0.5s", "none"]) == "none"
    # A setting of none may have no limit.
    assert axis_places(["none", "4", "8"], "flows.a.set.abest_cycles")[1] == ["none", "4", "8"]
    # Beside 0 itself, and a single number, it is a name.
    for texts in (["none", "0s", "2s"], ["none", "2s"]):
        assert axis_places(texts, "")[1] == texts
    for where in ({}, {AT: "0.1s"}):
        table = tmp_path / "a.csv"
        figure = figure_of(plot_axis, swept, where=where, csv=table)
        assert figure.axes[0].get_xlabel() == "Gap of the handoff (s)"
        figure.draw_without_rendering()
        names = [one.get_text() for one in figure.axes[0].get_xticklabels()]
        assert names == ["none", "0.5", "2"]
        assert [line.split(",")[1] for line in table.read_text().splitlines()[1:4]] == names
    (axes, *_) = figure_of(plot_spread, swept, "heatmap", value="duration_ns").axes
    assert [one.get_text() for one in axes.get_xticklabels()][:3] == ["none", "0.5", "2"]


def test_changes_are_told_apart_by_axes_that_the_comparison_pools(
    swept: Path, tmp_path: Path
) -> None:
    words = ["plot", str(swept), "--out", str(tmp_path / "a.svg"), "--value", "ratio"]
    # The compared axis has its own name, too.
    for by in (SCHEME, "value"):
        assert main([*words, "--kind", "interval", "--by", by]) == 0
        assert main([*words, "--kind", "interval", "--by", by, "--x", AT]) == 0
        assert main([*words, "--kind", "heatmap", "--by", by]) == 0
    assert main([*words, "--kind", "interval", "--x", SCHEME]) == 0
    kept = ["--where", "value=freeze"]
    assert main([*words, "--kind", "interval", "--by", AT, *kept]) == 0
    # Of more lines each instant has a panel.
    assert main([*words, "--kind", "interval", "--by", AT]) == 0


def test_changes_are_against_another_baseline(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = figure_of(plot_axis, swept, baseline="freeze")
    assert "against freeze (%)" in figure.axes[0].get_ylabel().replace("\n", " ")
    assert {"sack (CUBIC)", "enhanced"} <= {one.get_text() for one in figure.findobj(Text)}
    words = ["--baseline", "freeze", "--out", str(tmp_path / "a.html")]
    assert main(["report", str(swept), *words]) == 0
    assert "Against freeze" in (tmp_path / "a.html").read_text()
    capsys.readouterr()
    words = ["plot", str(swept), "--out", str(tmp_path / "a.svg"), "--baseline"]
    assert main([*words, "vegas"]) == 2
    assert "expected sack, freeze, enhanced" in capsys.readouterr().err
    assert main([*words, "freeze", "--kind", "median"]) == 2
    assert "shows no change against it" in capsys.readouterr().err
    # What is not all run has no pairs.
    part = tmp_path / "part"
    axes = ["--axis", f"{SCHEME}=sack,freeze", "--compare", SCHEME, "--shard-cells", "1"]
    assert main(["sweep", "wifi-to-lte", "--out", str(part), *axes, "--shard", "1/2"]) == 0
    words = ["plot", str(part), "--out", str(tmp_path / "a.svg"), "--baseline", "freeze"]
    assert main(words) == 2
    assert "has no tables yet" in capsys.readouterr().err


def test_the_baseline_is_no_value_that_changes_are_kept_by(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines(**how: Any) -> set[str]:
        table = tmp_path / "a.csv"
        figure_of(plot_spread, swept, "interval", csv=table, **how)
        return {line.split(",")[0] for line in table.read_text().splitlines()[1:]}

    assert lines(value="ratio", without={SCHEME: "freeze"}) == {"enhanced"}
    assert lines(value="ratio", where={SCHEME: "sack,freeze"}) == {"freeze"}
    # It is that of the figure.
    for kept in ({SCHEME: "enhanced"}, {"value": "enhanced"}):
        assert lines(baseline="freeze", without=kept) == {"sack"}
    assert lines(baseline="freeze", where={SCHEME: "freeze,enhanced"}) == {"enhanced"}
    words = ["plot", str(swept), "--out", str(tmp_path / "a.svg"), "--baseline", "freeze"]
    assert main([*words, "--kind", "heatmap", "--value", "best"]) == 2
    assert "shows no change against it" in capsys.readouterr().err


def test_a_folder_of_a_sweep_is_drawn_before_a_starter_of_its_name(
    swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drive-test").symlink_to(swept)
    said = "drive-test is the folder of that name here, not the starter"
    assert main(["plot", "drive-test", "--out", "a.svg"]) == 0
    assert said in capsys.readouterr().err
    assert main(["report", "drive-test", "--out", "a.html"]) == 0
    # What only a run has is of the starter.
    assert main(["plot", "drive-test", "--until", "5s", "--out", "b.svg"]) == 0
    assert (tmp_path / "a.svg").read_text() != (tmp_path / "b.svg").read_text()


def test_differences_of_counts_have_a_unit() -> None:
    assert change_unit("frames_late") == ("frames", 1.0)
    assert change_unit("timeouts") == ("timeouts", 1.0)
    assert change_unit("duration_ns") == ("s", 1e-9)
    columns = {
        "flow": ["a"] * 2,
        GAP: ["1s", "2s"],
        "metric": ["timeouts"] * 2,
        "compared": [SCHEME] * 2,
        "value": ["freeze"] * 2,
        "baseline": ["sack"] * 2,
        "difference": [-1.0, -2.0],
        "half_width": [0.5, 0.5],
    }
    (axes,) = figure_of(plot_spread, columns, "interval", x=GAP, value="difference").axes
    assert axes.get_ylabel().replace("\n", " ").endswith("(timeouts)")


def test_a_difference_from_a_mean_of_0_is_told_beside_percentages() -> None:
    columns: dict[str, list[Any]] = {
        "flow": ["a"] * 3,
        GAP: ["1s", "2s", "3s"],
        "metric": ["frames_late"] * 3,
        "compared": [SCHEME] * 3,
        "value": ["freeze"] * 3,
        "baseline": ["vho"] * 3,
        "difference": [2.0, -1.0, -2.0],
        "half_width": [0.5, 0.5, 0.5],
        "ratio": [None, -0.1, -0.2],
        "ratio_low": [None, -0.15, -0.25],
        "ratio_high": [None, -0.05, -0.15],
        "samples": [3, 3, 3],
        "pairs": [3, 3, 3],
    }
    figure = figure_of(plot_spread, columns, "interval", x=GAP, value="ratio")
    assert "no percentage where vho is 0: freeze +2 frames there" in said_in(figure)
    columns["difference"][0] = 1234.0
    figure = figure_of(plot_spread, columns, "interval", x=GAP, value="ratio")
    assert "freeze +1234 frames there" in said_in(figure)
    figure = figure_of(plot_spread, columns, "heatmap", x=GAP, y="value", value="ratio")
    assert "0\N{RIGHTWARDS ARROW}1234" in said_in(figure)


def test_a_scheme_that_is_far_from_the_others_takes_no_colours() -> None:
    others = [np.array([-10.0, 5.0 + one]) for one in range(5)]
    far = np.array([3.0, 300.0])
    values = np.concatenate([*others, far])
    assert without_far(values, [*others, far]).max() == 9.0
    # One of two is as far from the other as that from it; and changes may be next to nothing.
    assert without_far(values, [others[0], far]).max() == 300.0
    tiny = [np.array([0.01, -0.02])] * 3
    assert without_far(np.concatenate([*tiny, far]), [*tiny, far]).max() == 300.0


def test_values_beyond_the_scale_are_named_from_the_least_to_the_largest() -> None:
    names = list("abcdef")
    far = [-300.0, -200.0, 250.0]
    columns: dict[str, list[Any]] = {"x": [], "y": [], "value": [], "ratio": []}
    for name in names:
        for place in range(9):
            columns["x"].append(f"{place}s")
            columns["y"].append("1s")
            columns["value"].append(name)
            columns["ratio"].append(far[place % 3] / 100 if name == "f" else (place - 4) / 100)
    count = len(columns["x"])
    columns |= {"flow": ["a"] * count, "metric": ["duration_ns"] * count}
    columns |= {"compared": [SCHEME] * count, "baseline": ["sack"] * count}
    columns |= {"difference": [1.0] * count, "half_width": [0.1] * count}
    how: Any = {"x": "x", "y": "value", "value": "ratio"}
    said = said_in(figure_of(plot_spread, columns, "heatmap", **how))
    minus = "\N{MINUS SIGN}"
    assert f"beyond the scale: f in 9 cells, {minus}300 to +250 %" in said.replace(".0", "")


def test_percentages_are_given_while_most_have_some() -> None:
    assert not have_no_percentage([False, False, True])
    assert have_no_percentage([True, False])
    assert not have_no_percentage([])
    per_cent = Size("%", 100.0, is_relative=True)
    assert per_cent.text(float("inf")) == "no end"
    assert near_ends([[1.0, 2.0]])[0][0] == 0.0
