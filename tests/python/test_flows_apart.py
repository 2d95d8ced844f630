"""Figures and reports of a sweep tell a few flows apart, which differ in what they measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest

from drawn import rows_drawn
from midflight import Sweep
from midflight.cli import main
from midflight.plot.common.plain import usual_of_folder
from midflight.plot.results.axis import panel_name
from midflight.plot.results.paired import paired_maps, paired_shown
from midflight.plot.results.spread import spread_of
from midflight.plot.results.tables import Columns, read_columns
from midflight.plot.usual import Shown, _sides, map_sides, usual_shown, with_flows
from midflight.sweep_report import shown_effects, sweep_figures
from midflight.sweep_summary import Summary

SCHEME, AT = "flows.page.scheme", "handoffs.0.at"
FLOWS = {"film", "page", "backup"}


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three flows with three schemes of one of them: more lines than a panel has."""
    folder = tmp_path_factory.mktemp("flows") / "out"
    axes = [f"--axis={SCHEME}=sack,enhanced,rlci", f"--axis={AT}=1.5s,2s,2.5s"]
    words = ["sweep", "household", *axes, "--set", "end=6s", "--compare", SCHEME]
    assert main([*words, "--out", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("kind", ["median", "box", "cdf", "heatmap"])
def test_flows_are_not_taken_together(
    household: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_drawn(household, tmp_path, "--kind", kind)
    assert "taken together" not in capsys.readouterr().err
    # They are named in the rows, as lines, panels or maps.
    assert all(FLOWS & {*row.values()} for row in rows)
    assert {flow for row in rows for flow in FLOWS & {*row.values()}} == FLOWS


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three flows with four schemes over two settings: more maps than two rows."""
    folder = tmp_path_factory.mktemp("crowded") / "out"
    axes = [f"--axis={SCHEME}=sack,enhanced,rlci,vho", "--axis=handoffs.0.gap=0.1s,1s"]
    words = ["sweep", "household", *axes, "--axis=links.hsdpa.rate=1Mbit/s,2Mbit/s"]
    sets = ["--set", "end=4s", "--set", "handoffs.0.at=2s", "--compare", SCHEME]
    assert main([*words, *sets, "--out", str(folder)]) == 0
    return folder


@pytest.mark.parametrize(
    "words", [["--kind", "heatmap"], ["--kind", "heatmap", "--value", "ratio"]]
)
def test_flows_have_maps_of_their_own(
    crowded: Path, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_drawn(crowded, tmp_path, *words)
    assert "taken together" not in capsys.readouterr().err
    assert {flow for row in rows for flow in FLOWS & {*row.values()}} == FLOWS


def test_flows_of_changes_have_maps_whose_sides_are_given(crowded: Path, tmp_path: Path) -> None:
    sides = ["--x", "handoffs.0.gap", "--y", "links.hsdpa.rate", "--by", "value"]
    rows = rows_drawn(crowded, tmp_path, "--kind", "heatmap", "--value", "ratio", *sides)
    assert {row["flow"] for row in rows} == FLOWS


def test_many_changes_of_flows_over_one_axis_have_maps(household: Path) -> None:
    """One of them for each flow, with the compared values up it."""
    columns = read_columns(household / "comparison.csv", "ratio")
    count = len(columns["flow"])
    twice = {name: [*cells, *cells] for name, cells in columns.items()}
    gaps = ["0 s"] * count + ["1 s"] * count
    shown = paired_maps({"flow": twice.pop("flow"), "handoffs.0.gap": gaps, **twice})
    assert shown is not None
    assert (shown.x, shown.y, shown.by) == ("handoffs.0.gap", "value", ["flow"])


def test_flows_are_panels_if_lines_have_no_room(household: Path) -> None:
    shown = usual_shown(household, "median", Shown(None, None, None, ()), has_by=False)
    assert list(shown.by) == [SCHEME, "flow"]
    kept = {"flow": ["film", "page"]}
    shown = usual_shown(household, "median", Shown(None, None, None, ()), has_by=False, where=kept)
    assert list(shown.by) == ["flow", SCHEME]


def test_changes_have_the_panels_of_medians(household: Path) -> None:
    """Readers compare schemes, so that these are lines in one panel, and flows have panels."""
    columns = read_columns(household / "comparison.csv", "ratio")
    shown = paired_shown(columns)
    # Over the compared values there are no other lines than flows.
    assert shown is not None
    assert list(shown.by) == ["flow"]
    gaps = {name: [*cells, *cells] for name, cells in columns.items()}
    count = len(columns["flow"])
    more = {"flow": gaps.pop("flow"), "handoffs.0.gap": ["0 s"] * count + ["1 s"] * count, **gaps}
    shown = paired_shown(more)
    assert shown is not None
    assert (shown.x, shown.by) == ("handoffs.0.gap", ["value", "flow"])
    # So are those that one panel would have no room for, but not a wall of lines in each.
    values = {"flow": "xyz", "value": "abcd"}
    assert paired_by(more, values) == ["value", "flow"]
    assert paired_by(more, {**values, "value": "abcdef"}) is None
    # Few lines have one panel, and changes of many flows, which are not pooled, lines.
    assert paired_by(more, {"flow": "xy", "value": "ab"}) == ["flow", "value"]
    assert paired_by(more, {"flow": "abcdefgh", "value": "a"}) == ["flow"]


def paired_by(columns: Columns, values: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """The columns that tell the changes of these flows and values apart."""
    gaps = ["0 s", "1 s"]
    rows = [*product(values["flow"], values["value"], gaps)]
    names = ("flow", "value", "handoffs.0.gap")
    filled = {name: [cells[0]] * len(rows) for name, cells in columns.items()}
    told = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    shown = paired_shown({**filled, **told})
    return None if shown is None else shown.by


def test_settings_have_panels_only_beside_few_flows() -> None:
    values = {"scheme": "abc", "rate": "12", "flow": "xy"}
    assert with_flows(["scheme"], ["rate"], values) == ["flow", "scheme", "rate"]
    values["flow"] = "xyz"
    assert with_flows(["scheme"], ["rate"], values) == ["scheme", "flow"]
    # Shares have panels for two columns.
    assert with_flows(["scheme"], ["rate"], values, is_cdf=True) == ["scheme", "rate", "flow"]
    values["flow"] = "x" * 20
    assert with_flows(["scheme"], ["rate"], values) == ["scheme", "rate"]


def test_figures_of_a_report_have_all_flows(household: Path) -> None:
    asked = Sweep.read(household)
    figures = [*sweep_figures(asked, household, Summary.of(asked, household))]
    captions = [one["caption"] for one in figures]
    # No flow is left out, nor stands for the others.
    assert not any(f" of {flow}" in one for one in captions for flow in FLOWS if "med" not in one)
    assert len(figures) >= 3


def test_the_table_of_effects_names_axes_in_words_beside_flows(household: Path) -> None:
    asked = Sweep.read(household)
    with usual_of_folder(household, None):
        (head, *lines) = shown_effects(Summary.of(asked, household))
    assert [*head[:2]] == ["flow", "Scheme of page"]
    assert {line[0] for line in lines} == FLOWS


def test_samples_are_no_sides_of_a_map_beside_settings() -> None:
    axes = {
        AT: ["1 s", "2 s", "3 s"],
        "links.old.preset": ["lte", "geo"],
        "links.new.preset": ["3g", "lte", "wifi"],
        SCHEME: ["sack", "vho"],
    }
    assert map_sides(axes, SCHEME) == ["links.new.preset", "links.old.preset", SCHEME, AT]
    assert _sides(axes, SCHEME, None, None) == ("links.new.preset", "links.old.preset")
    assert _sides(axes, SCHEME, AT, None) == (AT, "links.new.preset")
    del axes["links.new.preset"]
    assert _sides(axes, SCHEME, None, None) == ("links.old.preset", SCHEME)
    # Without settings they are all that there is.
    del axes["links.old.preset"]
    assert _sides(axes, SCHEME, None, None) == (AT, SCHEME)


def test_shares_say_what_they_are_of(household: Path) -> None:
    metric = "goodput_bps"
    runs = read_columns(household, metric)
    each = spread_of(runs, "cdf", value=metric, by=["flow", SCHEME])
    assert each.y_title == "Share of runs"
    assert spread_of(runs, "cdf", value=metric, by=[SCHEME]).y_title == "Share of flows"
    changes = read_columns(household / "comparison.csv", "ratio")
    shares = spread_of(changes, "cdf", value="ratio", by=["flow"])
    assert shares.y_title == "Share of combinations"
    # A compared value is a name that says enough.
    assert panel_name("value", "enhanced") == "enhanced"
    assert panel_name("flow", "film") == "Flow film"
