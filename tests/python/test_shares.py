"""Shares of runs (CDFs) of sweeps over settings: panels, not settings together."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.common.style import SERIES, looks_of
from midflight.plot.results.shares import _which
from midflight.remark import ScenarioWarning

KINDS = ("interval", "box")
SCHEME, GAP = "flows.download.scheme", "handoffs.0.gap"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shares") / "out"
    axes = [f"{SCHEME}=sack,freeze,enhanced", f"{GAP}=0.2s,0.5s,1s,2s", "seed=1,2,3"]
    words = ["sweep", "wifi-to-lte", "--out", str(folder), "--set", "links.lte.loss=uniform 0.5%"]
    assert main([*words, *(word for axis in axes for word in ("--axis", axis))]) == 0
    return folder


def test_a_setting_has_panels_with_the_same_axes(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, table = tmp_path / "x.svg", tmp_path / "x.csv"
    words = ["plot", str(swept), "--kind", "cdf", "--out", str(out), "--csv", str(table)]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert f"--value duration_ns --by {SCHEME} --by {GAP}" in said
    assert "pooled" not in said
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    gaps = [f"Gap {gap}" for gap in ("0.2 s", "0.5 s", "1 s", "2 s")]
    # A table has the values of flows.csv, not the titles of panels.
    assert list(dict.fromkeys(row[GAP] for row in rows)) == ["0.2s", "0.5s", "1s", "2s"]
    with (swept / "flows.csv").open(newline="") as file:
        flows = list(csv.DictReader(file))
    for scheme in ("sack", "freeze", "enhanced"):
        mine = [float(r["value"]) for r in rows if (r[GAP], r["line"]) == ("1s", scheme)]
        known = [r for r in flows if (r[GAP], r[SCHEME]) == ("1s", scheme)]
        assert mine == pytest.approx(sorted(float(r["duration_ns"]) / 1e9 for r in known))
    # The options of the note, and Python, draw the same.
    again = tmp_path / "again.svg"
    by = ["--value", "duration_ns", "--by", SCHEME, "--by", GAP]
    assert main([*words[:4], *by, "--out", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()
    figure = figure_of(plot_spread, swept, "cdf")
    assert [axes.get_title() for axes in figure.axes] == gaps
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    colours = [to_hex(one.get_color()) for one in figure.axes[2].lines]
    known = looks_of(["sack", "freeze", "enhanced"])
    assert colours == [SERIES[look].colour for look in known]
    said_above = [one.get_text() for one in figure.findobj(Text)]
    # The seeds are these runs.
    assert "shares over 3 runs" in said_above
    (legend,) = figure.legends
    assert len(legend.get_lines()) >= 3


def test_panels_have_two_columns_in_one_of_a_paper(swept: Path) -> None:
    for size, columns in (("single", 2), ("double", 2), (2.0, 1)):
        figure = figure_of(plot_spread, swept, "cdf", size=size)
        grid = figure.axes[0].get_subplotspec().get_gridspec()
        assert grid.ncols == columns
        figure.draw_without_rendering()
        assert all(axes.get_window_extent().height > 40 for axes in figure.axes)


def test_many_values_of_a_setting_have_some_panels() -> None:
    columns: dict[str, list[Any]] = {"line": [], "rate": [], "duration_ns": []}
    for line in "ab":
        for rate in range(1, 12):
            for one in range(3):
                columns["line"].append(line)
                columns["rate"].append(f"{rate} Mbit/s")
                columns["duration_ns"].append(1e9 * (rate + one))
    how: Any = {"value": "duration_ns", "by": ["line", "rate"]}
    figure = figure_of(plot_spread, columns, "cdf", **how)
    assert [one.get_title() for one in figure.axes] == [
        f"Rate {rate} Mbit/s" for rate in (1, 3, 5, 7, 9, 11)
    ]
    above = [one.get_text() for one in figure.findobj(Text)]
    assert "6 of 11 rates, every other one; shares over 3 values" in above
    with pytest.raises(MidflightError, match="nothing is there"):
        figure_of(plot_spread, columns, "cdf", xlim=(100, 200), **how)
    # As few as six lines have no panels.
    few = {"where": {"rate": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"]}}
    assert len(figure_of(plot_spread, columns, "cdf", **few, **how).axes) == 1


def test_lines_that_are_the_same_are_named_so() -> None:
    """Of medians, means, boxes and shares; of panels those that are the same in all."""
    values = {"sack": [1.0, 2.0, 3.0, 5.0], "freeze": [1.0, 2.0, 3.0, 5.0], "vho": [1.0, 2, 3, 4]}
    columns: dict[str, list[Any]] = {"scheme": [], "x": [], "seed": [], "duration_ns": []}
    for scheme, times in values.items():
        for place, one in enumerate(times):
            columns["scheme"].append(scheme)
            columns["x"].append(f"{1 + place // 2} s")
            columns["seed"].append(str(place % 2))
            columns["duration_ns"].append(1e9 * one)
    names = ["sack", "freeze (same as sack)", "vho"]
    how: Any = {"by": ["scheme"]}
    measured: Any = {"x": "x", "value": "duration_ns"}
    figures = [figure_of(plot_axis, columns, x="x", y="duration_ns", **how)]
    figures += [figure_of(plot_spread, columns, one, **measured, **how) for one in KINDS]
    figures.append(figure_of(plot_spread, columns, "cdf", value="duration_ns", **how))
    for figure in figures:
        texts = [one.get_text() for one in figure.legends[0].get_texts()]
        assert texts[-3:] == names
    # They keep the looks of their names.
    looks = [SERIES[one].colour for one in looks_of(["sack", "freeze", "vho"])]
    assert [to_hex(one.get_color()) for one in figures[-1].axes[0].lines] == looks
    # In one panel vho is the same, too, but not in the other one.
    columns["by"] = [*columns["x"]]
    many = {name: [*cells, *cells] for name, cells in columns.items()}
    many["scheme"] = [*columns["scheme"], *(f"{one}-2" for one in columns["scheme"])]
    figure = figure_of(plot_spread, many, "cdf", value="duration_ns", by=["scheme", "by"])
    assert len(figure.axes) == 2
    texts = [one.get_text() for one in figure.legends[0].get_texts()]
    assert "freeze (same as sack)" in texts
    assert "vho" in texts


def test_a_scheme_that_changes_nothing_is_the_same_as_the_baseline(tmp_path: Path) -> None:
    axes = ["flows.*.scheme=sack,freeze", "links.lte.rate=2Mbit/s,4Mbit/s", "seed=1,2"]
    words = ["sweep", "bufferbloat", "--out", str(tmp_path / "out"), "--set", "handoffs=[]"]
    words += ["--set", "end=5s", "--compare", "flows.*.scheme"]
    assert main([*words, *(word for axis in axes for word in ("--axis", axis))]) == 0
    figure = figure_of(plot_axis, tmp_path / "out")
    # A line alone has no legend.
    assert not figure.legends
    words = " ".join(one.get_text() for one in figure.axes[0].texts).replace("\n", " ")
    assert "freeze (same as sack (CUBIC))" in words


def test_settings_of_a_single_run_have_no_panels(tmp_path: Path) -> None:
    axes = [f"{SCHEME}=sack,freeze,enhanced", f"{GAP}=0.2s,0.5s,1s,2s"]
    words = ["sweep", "wifi-to-lte", "--out", str(tmp_path / "out")]
    assert main([*words, *(word for axis in axes for word in ("--axis", axis))]) == 0
    (panel,) = figure_of(plot_spread, tmp_path / "out", "cdf").axes
    assert "each line: all 4 gaps" in " ".join(one.get_text() for one in panel.texts)


def apart(centres: Sequence[float]) -> dict[str, list[object]]:
    """Times of two schemes, which are close to one of these for each gap."""
    each = [
        (scheme, gap, centre * (1 + 0.01 * run + 0.1 * (scheme == "freeze")))
        for gap, centre in enumerate(centres)
        for scheme in ("sack", "freeze")
        for run in range(4)
    ]
    return {
        SCHEME: [scheme for scheme, _, _ in each],
        GAP: [f"{gap} s" for _, gap, _ in each],
        "duration_ns": [1e9 * value for _, _, value in each],
    }


def test_panels_whose_lines_would_be_strokes_have_axes_of_their_own() -> None:
    how: Any = {"value": "duration_ns", "by": [SCHEME, GAP]}
    table = apart([0.1, 0.4, 1, 5])
    figure = figure_of(plot_spread, table, "cdf", **how)
    for axes in figure.axes:
        values = [one for line in axes.lines for one in line.get_xdata()[1:-1]]
        assert np.ptp(values) > 0.8 * np.ptp(axes.get_xlim())
        assert axes.xaxis.get_tick_params()["labelbottom"]
    texts = "".join(one.get_text() for one in figure.findobj(Text) if isinstance(one, Text))
    assert "each panel has an axis of its own" in texts
    # A chosen scale, and chosen ends, are those of all.
    for more in ({"xscale": "linear"}, {"xscale": "log"}, {"xlim": (0.1, 5)}):
        figure = figure_of(plot_spread, table, "cdf", **how, **more)
        assert len({axes.get_xlim() for axes in figure.axes}) == 1
    # Where a logarithmic axis is enough, it is one for all.
    wide = [(1 + 8 * (place % 4 == 3)) for place in range(len(table[SCHEME]))]
    each = zip(apart([0.1, 0.4, 1, 5])["duration_ns"], wide, strict=True)
    table["duration_ns"] = [float(str(value)) * factor for value, factor in each]
    figure = figure_of(plot_spread, table, "cdf", **how)
    assert {axes.get_xscale() for axes in figure.axes} == {"log"}
    assert len({axes.get_xlim() for axes in figure.axes}) == 1


def test_values_without_a_panel_are_named() -> None:
    gaps = ["0s", "0.1s", "0.2s", "0.5s", "1s", "2s", "4s", "8s"]
    some = [one for one in gaps if one not in ("0.2s", "2s")]
    assert _which(gaps, some) == ", without 0.2 s and 2 s"
    assert _which(gaps, gaps[::2]) == ", every other one"
    assert _which(gaps, gaps[:3]) == ", evenly spaced"


def test_lines_without_a_value_are_not_the_same() -> None:
    """Runs that never finish have no values that could be the same; an empty panel says why."""
    schemes = ("sack", "freeze", "vho")
    each = [(gap, scheme, run) for gap in "12345678" for scheme in schemes for run in "12"]
    columns: dict[str, list[Any]] = {
        "gap": [f"{gap} s" for gap, _, _ in each],
        "scheme": [scheme for _, scheme, _ in each],
        "seed": [run for _, _, run in each],
        "duration_ns": [
            1e9 * (int(gap) + int(run)) if scheme == schemes[2] and gap in "12" else None
            for gap, scheme, run in each
        ],
    }
    how: Any = {"by": ["scheme"]}
    measured: Any = {"x": "gap", "value": "duration_ns"}
    figures = [figure_of(plot_axis, columns, x="gap", y="duration_ns", **how)]
    figures += [figure_of(plot_spread, columns, one, **measured, **how) for one in KINDS]
    panels = figure_of(plot_spread, columns, "cdf", value="duration_ns", by=["scheme", "gap"])
    for figure in [*figures, panels]:
        texts = [one.get_text() for one in figure.legends[0].get_texts()]
        assert not any("same as" in one for one in texts)
    said = {
        axes.get_title(): [one.get_text() for one in axes.texts if "no run" in one.get_text()]
        for axes in panels.axes
    }
    assert said["Gap 1 s"] == []
    assert said["Gap 8 s"] == ["no run finished"]


def test_each_setting_of_a_figure_has_a_column_of_its_values() -> None:
    from midflight.plot.results.axis import axis_data, axis_rows
    from midflight.plot.results.spread import spread_of, spread_rows

    columns: dict[str, list[Any]] = {"scheme": [], "rate": [], "gap": [], "duration_ns": []}
    for place in range(32):
        columns["scheme"].append(("a", "b")[place % 2])
        columns["rate"].append(("5Mbit/s", "10Mbit/s")[place // 2 % 2])
        columns["gap"].append(("1s", "2s")[place // 4 % 2])
        columns["duration_ns"].append(1e9 * (1 + place))
    by = ["scheme", "rate"]
    drawn = [axis_rows(axis_data(columns, x="gap", y="duration_ns", by=by))]
    for kind in ("box", "cdf", "interval"):
        x = None if kind == "cdf" else "gap"
        drawn.append(spread_rows(spread_of(columns, kind, value="duration_ns", x=x, by=by)))
    for head, *rows in drawn:
        assert list(head[:2]) == by
        assert {tuple(row[:2]) for row in rows} == {
            (scheme, rate) for scheme in "ab" for rate in ("5Mbit/s", "10Mbit/s")
        }


@pytest.mark.parametrize(("values", "panels"), [(7, 7), (9, 9), (10, 6)])
def test_up_to_nine_values_have_a_panel_each(values: int, panels: int) -> None:
    each = [(str(gap), scheme, run) for gap in range(values) for scheme in "ab" for run in "12"]
    columns: dict[str, list[Any]] = {
        "gap": [f"{gap} s" for gap, _, _ in each],
        "scheme": [scheme for _, scheme, _ in each],
        "seed": [run for _, _, run in each],
        "duration_ns": [1e9 * (int(gap) + int(run) + (one == "a")) for gap, one, run in each],
    }
    figure = figure_of(plot_spread, columns, "cdf", value="duration_ns", by=["scheme", "gap"])
    assert len(figure.axes) == panels
    # Each column of panels has its numbers below the last one.
    shown = [any(one.get_visible() for one in axes.get_xticklabels()) for axes in figure.axes]
    assert all(shown[-3:])


def test_panels_of_many_lines_are_larger() -> None:
    each = [(line, panel, run) for line in "abcdef" for panel in "stuvwxy" for run in range(5)]
    columns = {
        "line": [line for line, _, _ in each],
        "panel": [panel for _, panel, _ in each],
        "duration_ns": [1e9 * (1 + run + ord(line)) for line, _, run in each],
    }
    how: Any = {"value": "duration_ns", "by": ["line", "panel"]}
    figure = figure_of(plot_spread, columns, "cdf", **how)
    width, height = figure.get_size_inches()
    # Four rows of two.
    assert (width, height) == pytest.approx((7.16, 8.8))
    assert len({round(axes.get_position().x0, 3) for axes in figure.axes}) == 2
    with pytest.warns(ScenarioWarning, match="6 lines in each of 7 panels in 3.5 in are hard"):
        figure_of(plot_spread, columns, "cdf", **how, size="single")
