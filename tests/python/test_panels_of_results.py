"""Panels of figures of results: which settings have them, and their axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drawn import rows_drawn
from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.results.panel_grid import Grid
from midflight.results import FOLDER

SCHEME, GAP, RATE = "flows.download.scheme", "handoffs.0.gap", "links.lte.rate"


def swept(folder: Path, *axes: str) -> Path:
    words = ["sweep", "wifi-to-lte", "--out", str(folder), "--set", "links.lte.loss=uniform 0.5%"]
    assert main([*words, *(word for axis in axes for word in ("--axis", axis))]) == 0
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    axes = f"{SCHEME}=sack,freeze,enhanced", f"{GAP}=0.2s,1s", f"{RATE}=2Mbit/s,5Mbit/s,10Mbit/s"
    return swept(tmp_path_factory.mktemp("runs") / "out", *axes, "seed=1,2,3")


@pytest.mark.parametrize("kind", ["median", "box", "interval", "cdf"])
def test_what_medians_have_panels_for_no_kind_pools(
    kind: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    rows = rows_drawn(runs, tmp_path, "--kind", kind)
    said = capsys.readouterr().err
    assert "pooled" not in said
    apart = f"--by {SCHEME} --by {GAP} --by {RATE}" if kind == "cdf" else f"--by {SCHEME}"
    assert apart in said
    # A column for each setting that has panels, with its plain values.
    first = [name for name in rows[0] if name in (GAP, RATE)]
    of = {tuple(row[name] for name in first) for row in rows}
    assert len(of) == 6, "each combination is apart"
    assert {row["runs" if "runs" in rows[0] else "samples"] for row in rows} == {"3"}
    # What is left out of the lines is pooled, and named.
    rows_drawn(runs, tmp_path, "--kind", kind, "--by", SCHEME)
    assert "pooled: " in capsys.readouterr().err


def test_shares_of_single_runs_have_the_panels_of_medians(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = f"{SCHEME}=sack,freeze,enhanced", f"{GAP}=0.2s:1.4s:0.2s", f"{RATE}=2Mbit/s,5Mbit/s"
    folder, out = swept(tmp_path / "out", *axes), str(tmp_path / "x.png")
    assert main(["plot", str(folder), "--kind", "cdf", "--out", out]) == 0
    said = capsys.readouterr().err
    assert f"--by {SCHEME} --by {RATE}\n" in said
    assert "pooled: 7 gaps; --where" in said


def table_of(first_s: float, other_s: float) -> dict[str, list[Any]]:
    """Three schemes and two gaps at three rates; with the first of these others times."""
    rows = [
        (scheme, gap, rate, run)
        for scheme in ("a", "b", "c")
        for gap in ("1 s", "2 s")
        for rate in ("1 Mbit/s", "2 Mbit/s", "4 Mbit/s")
        for run in range(4)
    ]
    base = [first_s if rate == "1 Mbit/s" else other_s for *_, rate, _ in rows]
    return {
        "scheme": [one for one, *_ in rows],
        GAP: [gap for _, gap, *_ in rows],
        RATE: [rate for *_, rate, _ in rows],
        "run": [run for *_, run in rows],
        "duration_ns": [
            1e9 * at * (1 + 0.05 * run + 0.01 * ord(scheme))
            for at, (scheme, *_, run) in zip(base, rows, strict=True)
        ],
    }


@pytest.mark.parametrize("kind", ["box", "interval"])
@pytest.mark.parametrize(("other_s", "own"), [(40.0, True), (8.0, False)])
@pytest.mark.parametrize("size", [None, "single"])
def test_panels_of_boxes_and_means_share_an_axis_unless_one_would_be_a_stroke(
    kind: str, other_s: float, own: bool, size: Any
) -> None:
    how: Any = {"value": "duration_ns", "x": GAP, "by": ["scheme", RATE], "size": size}
    figure = figure_of(plot_spread, table_of(10.0, other_s), kind, **how)
    figure.draw_without_rendering()
    rates = ("1 Mbit/s", "2 Mbit/s", "4 Mbit/s")
    titles = [one.get_title() for one in figure.axes]
    assert titles == [f"Rate of lte {one}" for one in rates]
    ends = [one.get_ylim() for one in figure.axes]
    assert len({*ends}) == (2 if own else 1)
    said = " ".join(text.get_text() for one in figure.axes for text in one.texts)
    said += " ".join(one.get_title(loc) for one in figure.axes for loc in ("left", "right"))
    assert ("each panel has an axis of its own" in said.replace("\n", " ")) == own
    # Below each other, they have one title.
    assert sum(bool(one.get_ylabel()) for one in figure.axes) == 1
    (legend,) = figure.legends
    assert [one.get_text() for one in legend.get_texts()][-3:] == ["a", "b", "c"]
    how["yscale"] = "linear"
    asked = figure_of(plot_spread, table_of(10.0, other_s), kind, **how)
    assert len({one.get_ylim() for one in asked.axes}) == 1


@pytest.mark.parametrize(
    ("values", "ticks"), [([1, 2, 2, 1], ["1", "2"]), ([0, 3, 5, 3], ["0", "3", "5"])]
)
def test_few_whole_numbers_are_the_ticks_of_a_map(values: list[int], ticks: list[str]) -> None:
    columns = {"a": ["x", "x", "y", "y"], "b": ["u", "v"] * 2, "timeouts": values}
    figure = figure_of(plot_spread, columns, "heatmap", value="timeouts", x="a", y="b")
    figure.draw_without_rendering()
    _, bar = figure.axes
    assert [one.get_text() for one in bar.get_yticklabels()] == ticks


def test_a_selection_without_rows_is_said_to_have_none(runs: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(runs / "flows.csv")
    table.attrs[FOLDER] = str(runs)
    with pytest.raises(MidflightError, match="the table has no rows"):
        figure_of(plot_axis, table[table["seed"] > 9])


def test_own_axes_of_means_do_not_go_below_0_and_lines_have_one_width() -> None:
    """The interval of few times of very different lengths reaches below 0."""
    each = [
        (panel, line, place, run)
        for panel, _ in enumerate("abcd")
        for line, _ in enumerate("klmn")
        for place in (1, 2)
        for run in (0, 1, 2)
    ]
    columns = {
        "panel": [f"panel {one}" for one, *_ in each],
        "line": [f"line {one}" for _, one, *_ in each],
        "handoffs.0.gap": [f"{place} s" for *_, place, _ in each],
        "seed": [str(run) for *_, run in each],
        # In one panel the first lines coincide.
        "duration_ns": [
            1e9 * 100**panel * (1 + 30 * (run == 2) + (line * 9 if panel else line // 3))
            for panel, line, _, run in each
        ],
    }
    how: Any = {"x": "handoffs.0.gap", "value": "duration_ns", "by": ["line", "panel"]}
    figure = figure_of(plot_spread, columns, "interval", **how, yscale=None)
    assert all(axes.get_ylim()[0] >= 0 for axes in figure.axes)
    widths = [
        {one.get_label(): one.get_linewidth() for one in axes.lines if one.get_label()[0] != "_"}
        for axes in figure.axes
    ]
    assert len(widths) == 4
    assert all(one == widths[0] for one in widths)
    assert len({*widths[0].values()}) > 1


@pytest.mark.parametrize(
    ("count", "rows"), [(2, [2]), (4, [2, 2]), (6, [3, 3]), (7, [4, 3]), (9, [3, 3, 3])]
)
def test_no_panel_is_alone_in_the_last_row(count: int, rows: list[int]) -> None:
    grid = Grid.of("cdf", count, None)
    assert [len(one) for one in grid._rows()] == rows
