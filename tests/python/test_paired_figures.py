"""Figures of sweeps whose values are compared in pairs, and how their lines are told apart."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

import midflight
from midflight import Sweep
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.common.line_looks import line_looks
from midflight.plot.common.place_scale import LINEAR
from midflight.plot.common.plain import control_of_question, usual_of_folder
from midflight.plot.common.style import SERIES, looks_of
from midflight.plot.results.compared import are_legible
from midflight.plot.results.paired import paired_of
from midflight.plot.results.scales import place_limits
from midflight.plot.usual import Shown

CROSS = "\N{MULTIPLICATION SIGN}"
SCHEME, GAP, AT = "flows.download.scheme", "handoffs.0.gap", "handoffs.0.at"
NOTHING = Shown(None, None, None, [])


def swept(folder: Path, *axes: str, compare: str | None = SCHEME, **sets: str) -> Path:
    words = ["sweep", "wifi-to-lte", "--out", str(folder)]
    words += [word for axis in axes for word in ("--axis", axis)]
    words += [word for key, one in sets.items() for word in ("--set", f"{key}={one}")]
    assert main([*words, *(() if compare is None else ("--compare", compare))]) == 0
    return folder


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three schemes at the same gaps, instants and seeds."""
    folder = tmp_path_factory.mktemp("paired") / "out"
    axes = [f"{SCHEME}=sack,freeze,enhanced", f"{GAP}=0.5s,2s", f"{AT}=0.2s,0.4s", "seed=1,2,3"]
    return swept(folder, *axes, **{"links.lte.loss": "uniform 0.5%"})


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_a_compared_sweep_shows_the_change_of_each_pair(
    paired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, table = tmp_path / "x.svg", tmp_path / "x.csv"
    words = ["plot", str(paired), "--out", str(out), "--csv", str(table)]
    known = rows_of(paired / "comparison.csv")
    for kind in ([], ["--kind", "interval"], [*("--x", GAP)]):
        capsys.readouterr()
        assert main([*words, *kind]) == 0
        said = capsys.readouterr().err
        assert "the figure shows the change of each pair" in said
        options = f"--kind interval --x {GAP} --y ratio --by value"
        assert f"{paired}/comparison.csv {options}; --kind median shows the values" in said
        rows = rows_of(table)
        assert len(rows) == len(known) == 4
        found = {(row["line"], float(row[GAP])): row for row in rows}
        for row in known:
            drawn = found[row["value"], float(row[GAP].removesuffix("s"))]
            for name, column in (("mean", "ratio"), ("low", "ratio_low"), ("high", "ratio_high")):
                assert float(drawn[name]) == pytest.approx(100 * float(row[column]), rel=1e-5)
    # The options of the note draw the same.
    again = tmp_path / "again.svg"
    comparison = str(paired / "comparison.csv")
    assert main(["plot", comparison, *options.split(), "--out", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()
    texts = " ".join(re.findall(r">([^<>]+)</text>", out.read_text()))
    assert "Transfer time: change against sack (CUBIC) (%)" in texts
    # What is asked for is shown.
    for asked in (["--kind", "median"], ["--y", "duration_ns"], ["--by", SCHEME]):
        assert main([*words, *asked]) == 0
        assert {row["line"] for row in rows_of(table)} == {"sack", "freeze", "enhanced"}


def test_rows_kept_by_the_compared_axis_are_values_and_the_note_says_why(
    paired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plot", str(paired), "--out", str(tmp_path / "x.svg")]

    def said(*where: str) -> str:
        capsys.readouterr()
        assert main([*words, *(word for one in where for word in ("--where", one))]) == 0
        return capsys.readouterr().err

    text = said(f"{SCHEME}=freeze", f"{SCHEME}=enhanced")
    again = "--where value=freeze --where value=enhanced"
    assert (
        "the figure shows values, not the change of each pair, as the rows of the baseline of "
        f"{SCHEME}, sack, are left out; {again} keeps the comparison\n"
    ) in text
    text = said("value=freeze", "value=enhanced")
    assert "the figure shows the change of each pair" in text
    assert "not the change" not in text
    text = said(f"{SCHEME}=sack", f"{SCHEME}=freeze")
    some = f"as only some values of {SCHEME} are kept"
    assert f"{some}; --where value=freeze keeps the comparison" in text
    # Only values have CDFs.
    capsys.readouterr()
    assert main([*words, "--kind", "cdf", "--where", f"{SCHEME}=freeze"]) == 0
    assert "not the change" not in capsys.readouterr().err


def test_the_baseline_of_a_comparison_is_a_line_at_0(paired: Path) -> None:
    (axes,) = figure_of(plot_spread, paired, "interval").axes
    low, high = axes.get_ylim()
    assert low <= 0 <= high
    zero = [line for line in axes.lines if {*map(float, line.get_ydata())} == {0.0}]
    assert len(zero) == 1


def test_samples_alone_leave_the_compared_values_as_the_axis(tmp_path: Path) -> None:
    axes = [f"{SCHEME}=sack,freeze,enhanced", f"{AT}=0.2s,0.3s,0.4s"]
    folder = swept(tmp_path / "out", *axes)
    (axes_of,) = figure_of(plot_spread, folder, "interval").axes
    assert [text.get_text() for text in axes_of.get_xticklabels()] == ["freeze", "enhanced"]
    assert axes_of.get_xlabel() == "Scheme of download"


def test_without_intervals_the_changes_are_shown_over_axes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of changes over one axis and a map over two; one change is no figure."""
    schemes = f"{SCHEME}=sack,freeze"
    line = swept(tmp_path / "line", schemes, f"{GAP}=0.5s,2s")
    grid = swept(tmp_path / "grid", schemes, f"{GAP}=0.5s,2s", "links.lte.delay=20ms,40ms,60ms")
    for one, kind in ((line, "interval"), (grid, "heatmap")):
        assert main(["plot", str(one), "--out", str(tmp_path / "x.png")]) == 0
        assert f"comparison.csv --kind {kind}" in capsys.readouterr().err
        report = tmp_path / "x.html"
        assert main(["report", str(one), "--out", str(report)]) == 0
        first = re.findall(r"<figcaption>(.*?)</figcaption>", report.read_text())[0]
        assert first == "Transfer time: change against sack (CUBIC), pair by pair."
    heat = ["--kind", "heatmap", "--value", "ratio"]
    assert main(["plot", str(grid), *heat, "--out", str(tmp_path / "x.png")]) == 0
    # The axis that is asked for has lines, not a map.
    axis = ["--x", "links.lte.delay"]
    assert main(["plot", str(grid), *axis, "--out", str(tmp_path / "x.png")]) == 0
    assert "--kind interval --x links.lte.delay" in capsys.readouterr().err
    folder = swept(tmp_path / "one", schemes)
    assert paired_of(folder, NOTHING, has_by=False) is None
    plain = swept(tmp_path / "plain", f"{SCHEME}=sack,freeze", f"{AT}=0.2s,0.4s", compare=None)
    assert paired_of(plain, NOTHING, has_by=False) is None
    for one in (folder, plain):
        assert main(["plot", str(one), "--out", str(tmp_path / "x.png")]) == 0
        said = capsys.readouterr().err
        assert "--y duration_ns" in said
        assert "each pair" not in said


@pytest.mark.parametrize(("half", "is_seen"), [(0.05, True), (2.0, False), (math.inf, False)])
def test_changes_that_intervals_hide_are_maps(half: float, is_seen: bool) -> None:
    changes = [-0.4, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 9.0]
    columns: dict[str, list[Any]] = {
        "flow": ["download"] * 8,
        "metric": ["duration_ns"] * 8,
        "compared": [SCHEME] * 8,
        "value": ["freeze"] * 8,
        "baseline": ["sack"] * 8,
        GAP: ["1s", "2s", "4s", "8s"] * 2,
        "links.lte.rate": ["1 Mbit/s"] * 4 + ["2 Mbit/s"] * 4,
        "pairs": [3] * 8,
        "over": ["axes"] * 8,
        "samples": [3] * 8,
        "difference": [1e9 * one for one in changes],
        "half_width": [1e9 * min(half, 9.0)] * 8,
        "ratio": changes,
        "ratio_low": [max(-0.99, one - half) for one in changes],
        "ratio_high": [one + half for one in changes],
    }
    assert are_legible(columns) == is_seen


def test_a_usual_figure_with_wide_intervals_is_a_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = [f"{SCHEME}=sack,freeze", f"{GAP}=0.5s,1s,2s", f"{AT}=0.2s,0.25s"]
    folder = swept(tmp_path / "out", *axes, "links.lte.rate=5 Mbit/s,10 Mbit/s")
    file = folder / "comparison.csv"
    rows = rows_of(file)
    for row in rows:
        row["ratio_low"], row["ratio_high"] = "-0.99", "9"
        row["half_width"] = "9e12"
    with file.open("w", newline="") as text:
        table = csv.DictWriter(text, rows[0])
        table.writeheader()
        table.writerows(rows)
    capsys.readouterr()
    assert main(["plot", str(folder), "--out", str(tmp_path / "x.svg")]) == 0
    said = capsys.readouterr().err
    assert "--kind heatmap" in said
    assert "--kind interval shows them" in said


def test_a_comparison_lacks_samples_and_what_it_is_not_kept_by(paired: Path) -> None:
    file, shown = paired_of(paired, NOTHING, has_by=False) or (None, None)
    assert file == paired / "comparison.csv"
    assert shown == Shown(GAP, None, "ratio", ["value"])
    assert paired_of(paired, NOTHING._replace(x=AT), has_by=False) is None
    assert paired_of(paired, NOTHING, {SCHEME: "sack"}, has_by=False) is None
    assert paired_of(paired, NOTHING, {GAP: "2s"}, has_by=False) is not None
    assert paired_of(paired, NOTHING, has_by=True) is None


def test_reports_and_notebooks_begin_with_the_comparison(paired: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(paired), "--out", str(out)]) == 0
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", out.read_text())
    assert captions[0] == "Transfer time: change against sack (CUBIC), pair by pair."
    assert captions[1] == "Transfer time: which value is best, and its median."
    assert captions[2].startswith("Transfer time over gap of the handoff")
    assert captions[2].endswith(": medians.")
    assert len({*captions}) == len(captions)
    text = Sweep.read(paired)._repr_html_()
    assert re.findall(r"<figcaption>(.*?)</figcaption>", text) == captions[:1]
    assert "Against sack (CUBIC), pair by pair" in text
    assert text.index("<figure>") < text.index("<table>")


def test_a_value_has_one_colour_and_a_flow_one_style() -> None:
    by = ["flow", "scheme"]
    keys = [(flow, scheme) for flow in ("a", "b") for scheme in ("sack", "freeze", "vho")]
    labels = [", ".join(key) for key in keys]
    found = line_looks(by, keys, labels)
    colours = {(scheme, look.colour) for (_, scheme), (look, _) in zip(keys, found, strict=True)}
    assert colours == {
        (scheme, SERIES[look].colour)
        for scheme, look in zip(
            ("sack", "freeze", "vho"), looks_of(["sack", "freeze", "vho"]), strict=True
        )
    }
    styles = {
        (flow, look.line, look.marker) for (flow, _), (look, _) in zip(keys, found, strict=True)
    }
    assert len(styles) == 2
    assert len({(look.colour, look.line) for look, _ in found}) == len(keys)
    # One column, or more than line styles can tell apart: each line has its own.
    for some, columns in ((keys[:3], by), ([(str(n), "sack") for n in range(6)], by)):
        names = [", ".join(key) for key in some]
        assert [place for _, place in line_looks(columns, some, names)] == looks_of(names)
    many = [(str(flow), scheme) for flow in range(5) for scheme in ("sack", "vho")]
    names = [", ".join(key) for key in many]
    assert [place for _, place in line_looks(by, many, names)] == looks_of(names)


@pytest.mark.parametrize("kind", ["median", "interval", "box", "cdf"])
def test_figures_of_two_settings_have_a_colour_for_each_value(kind: str) -> None:
    schemes, gaps = ("sack", "freeze"), ("1 s", "2 s")
    each = itertools.product("ab", schemes, gaps, range(12))
    keys = [(flow, scheme, x) for flow, scheme, x, _ in each]
    columns: dict[str, list[Any]] = {
        "flow": [flow for flow, _, _ in keys],
        SCHEME: [scheme for _, scheme, _ in keys],
        GAP: [x for _, _, x in keys],
        # So far apart that boxes have room for the lines of their medians.
        "duration_ns": [1e9 * (1 + number + 9 * (number % 2)) for number in range(len(keys))],
    }
    how: Any = {"by": ["flow", SCHEME]} | ({} if kind == "cdf" else {"x": GAP})
    if kind == "median":
        figure = figure_of(plot_axis, columns, y="duration_ns", **how)
    else:
        figure = figure_of(plot_spread, columns, kind, value="duration_ns", **how)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    colours: dict[str, set[str]] = {}
    for handle, label in zip(handles, labels, strict=True):
        is_box = kind == "box"
        colour = handle.patches[0].get_edgecolor() if is_box else handle.get_color()
        colours.setdefault(label.split(", ")[1], set()).add(to_hex(colour))
    assert colours == {"sack": {SERIES[0].colour}, "freeze": {SERIES[2].colour}}


@pytest.mark.parametrize(
    ("places", "low"),
    [([0.5, 1, 2, 4], 0.0), ([0.2, 0.5, 4], 0.0), ([2, 3, 4], 1.9), ([0, 1, 2], 0.0)],
)
def test_a_linear_axis_that_begins_near_0_begins_there(places: list[float], low: float) -> None:
    assert place_limits(places, 0.05, LINEAR)[0] == pytest.approx(low)
    columns = {"a.x": [f"{one}" for one in places], "sent": places}
    how: Any = {"x": "a.x", "y": "sent", "xscale": "linear"}
    (axes,) = figure_of(plot_axis, columns, **how).axes
    start, end = axes.get_xlim()
    ticks = [one for one in axes.get_xticks() if start <= one <= end]
    assert (ticks[0] == 0) == (low == 0)


def test_midflights_sender_in_the_lab_has_the_name_of_the_simulators() -> None:
    scenario = midflight.Scenario.read("wifi-to-lte").plan().canonical

    class Runs:
        def __init__(self, stack: str) -> None:
            self.stack, self.scenario = stack, json.loads(scenario)

    assert control_of_question(Runs("midflight")) == "CUBIC"
    assert control_of_question(Runs("linux")) == ""


def test_flows_of_a_sweep_are_not_pooled_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each flow and value, while there are few."""
    more = {"flows.backup": '{ size = "500 kB" }'}
    scheme = "flows.*.scheme"
    folder = swept(
        tmp_path / "out", f"{scheme}=sack,freeze", f"{GAP}=0.5s,2s", compare=None, **more
    )
    table = tmp_path / "x.csv"
    words = ["plot", str(folder), "--out", str(tmp_path / "x.png"), "--csv", str(table)]
    assert main(words) == 0
    assert f"--by flow --by {scheme}\n" in capsys.readouterr().err
    expected = {(flow, one) for flow in ("download", "backup") for one in ("sack", "freeze")}
    assert {(row["flow"], row[scheme]) for row in rows_of(table)} == expected
    for asked in (["--where", "flow=backup"], ["--by", scheme]):
        assert main([*words, *asked]) == 0
        assert {row["line"] for row in rows_of(table)} == {"sack", "freeze"}


def test_the_data_of_a_figure_are_the_same_from_the_command_and_from_python(
    paired: Path, tmp_path: Path
) -> None:
    out, one, other = tmp_path / "x.svg", tmp_path / "one.csv", tmp_path / "other.csv"
    words = ["plot", str(paired), "--out", str(out), "--csv", str(one)]
    how: Any = {"csv": other}
    for kind in (None, "median", "cdf", "box", "interval", "heatmap"):
        assert main([*words, *([] if kind is None else ["--kind", kind])]) == 0
        if kind is None:
            # Without options both show the comparison.
            assert "ratio" in one.read_text()
            plot_axis(paired, out, **how)
        elif kind == "median":
            plot_axis(paired, out, y="duration_ns", **how)
        else:
            plot_spread(paired, out, kind, **how)
        assert one.read_bytes() == other.read_bytes()
    assert "0.000000" not in one.read_text()


def test_a_value_has_one_look_in_all_figures_of_a_sweep(tmp_path: Path) -> None:
    schemes, gaps = ["sack", "vho-qs", "mine"], ["100 ms", "400 ms", "900 ms"]
    definition: Any = {"scenario": {"links": {}, "profile": "linux"}, "shard_cells": 1}
    definition["axes"] = {SCHEME: schemes, GAP: gaps}
    definition["scenario"]["flows"] = {"film": {}, "page": {}}
    (tmp_path / "sweep.json").write_text(json.dumps(definition))
    assert looks_of(["mine"]) == [0]
    every = line_looks([GAP], [(one,) for one in gaps], gaps)
    with usual_of_folder(tmp_path):
        # A figure of changes lacks the baseline, whose look a name without one would have.
        (own,) = looks_of(["mine"])
        assert own == looks_of(schemes)[2] != 0
        assert looks_of(["vho-qs", "mine"]) == [looks_of(["vho-qs"])[0], own]
        assert [one for _, one in line_looks(["value"], [("mine",)], ["mine"])] == [own]
        assert [one for _, one in line_looks(["flow", "value"], [("get", "mine")], ["x"])] == [own]
        # Others have the looks that they have elsewhere, and numbers their part of the scale.
        assert looks_of(["x", "mine"]) == [0, 1]
        some = line_looks([GAP], [(one,) for one in gaps[1:]], gaps[1:])
        assert [one.colour for one, _ in some] == [one.colour for one, _ in every[1:]]
        # A flow has its own without the others, and as a line style beside schemes.
        assert looks_of(["page"]) == [1]
        pairs = [("page", "sack"), ("page", "mine"), ("film", "sack")]
        beside = line_looks(["flow", SCHEME], pairs, ["a", "b", "c"])
        assert [place for _, place in beside] == [1, 1, 0]


def test_schemes_of_more_than_nine_have_their_looks_where_some_are_left_out(tmp_path: Path) -> None:
    many = ["sack", "freeze", "enhanced", "rlci", "ehn", "trigger", "a1", "a2", "vho", "westwood"]
    flows = {"links": {}, "flows": {}, "profile": "linux"}
    definition = {"scenario": flows, "shard_cells": 1, "axes": {SCHEME: many, GAP: ["1 s", "2 s"]}}
    (tmp_path / "sweep.json").write_text(json.dumps(definition))
    with usual_of_folder(tmp_path):
        (rlci,) = looks_of(["rlci"])
        # Its own is that of `enhanced`, which is before it.
        assert rlci != looks_of(["enhanced"])[0]
        assert looks_of(["rlci", "vho"])[0] == looks_of(["sack", "rlci", "a1"])[1] == rlci
        # Colours are those of schemes, whatever the order of the columns.
        keys = [("1 s", "rlci"), ("2 s", "rlci"), ("1 s", "vho")]
        found = line_looks([GAP, SCHEME], keys, ["a", "b", "c"])
        assert [look.colour for look, _ in found[:2]] == [SERIES[rlci].colour] * 2


def test_where_the_baseline_hardly_finishes_the_values_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = [f"{SCHEME}=sack,freeze", "links.lte.rate=5Mbit/s,10kbit/s,20kbit/s", "seed=1,2,3"]
    folder = swept(tmp_path / "out", *axes, end="20s", **{"links.lte.loss": "uniform 0.5%"})
    capsys.readouterr()
    assert main(["plot", str(folder), "--out", str(tmp_path / "x.png")]) == 0
    said = capsys.readouterr().err
    assert "--value duration_ns" in said
    assert "as neither sack nor the other one finished in 2 of 3 combinations" in said
    assert "; the figure is --kind heatmap of the values; --y ratio shows it" in said
    # As it says.
    assert main(["plot", str(folder), "--y", "ratio", "--out", str(tmp_path / "x.png")]) == 0
    report = tmp_path / "x.html"
    assert main(["report", str(folder), "--out", str(report)]) == 0
    # A number and its unit stay together.
    text = report.read_text().replace("\N{NO-BREAK SPACE}", " ")
    where = "in 2 of 3 combinations (up to 20 kbit/s)"
    assert f"no pair counts {where}: neither finished" in text
    assert "pair by pair." not in re.findall(r"<figcaption>(.*?)</figcaption>", text)[0]


def test_what_is_compared_is_not_pooled_where_half_of_the_flows_were_done_early(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schemes = f"{SCHEME}=sack,enhanced,vho,vho-qs,freeze,ehn,lmdr,a1"
    axes = [schemes, "links.lte.rate=5Mbit/s,20Mbit/s", f"{GAP}=0s,1s"]
    folder = swept(tmp_path / "out", *axes, "flows.download.size=300kB,3MB")
    found = {}
    for words in ((), ("--kind", "heatmap"), ("--kind", "heatmap", "--y", "ratio")):
        capsys.readouterr()
        assert main(["plot", str(folder), *words, "--out", str(tmp_path / "x.png")]) == 0
        said = capsys.readouterr().err
        assert "pooled: 8 schemes" not in said
        found[words[1:]] = said
    # The file of the comparison has the axes that its folder has.
    for words in ((), ("--y", "ratio"), ("--kind", "heatmap")):
        file = folder / "comparison.csv"
        assert main(["plot", str(file), *words, "--out", str(tmp_path / "x.png")]) == 0
    usual, values, changes = found.values()
    assert "--kind heatmap --x " in usual
    assert "does not show the change" not in usual
    assert f"--value duration_ns --by {SCHEME}" in values
    assert "--value ratio --by value" in changes


def test_a_note_says_why_changes_are_no_percentages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = swept(tmp_path / "out", f"{SCHEME}=sack,freeze", f"{GAP}=0s,1s", "seed=1,2,3")
    file = folder / "comparison.csv"
    with file.open(newline="") as text:
        head, *rows = list(csv.reader(text))
    for row in rows:
        # An interval of a percentage that reaches its end.
        row[head.index("ratio_low")], row[head.index("ratio_high")] = "-1.2", "0.4"
    for has_ends in (True, False):
        if not has_ends:
            with file.open("w", newline="") as text:
                csv.writer(text).writerows([head, *rows])
        capsys.readouterr()
        assert main(["plot", str(folder), "--out", str(tmp_path / "x.png")]) == 0
        said = capsys.readouterr().err
        assert ("--y difference" in said) == (not has_ends)
        assert ("unit of the measurement, not per cent" in said) == (not has_ends)


@pytest.mark.parametrize(("schemes", "panels"), [(["a"], 1), (["a", "b"], 3), (["a", "b", "c"], 3)])
@pytest.mark.parametrize("look", ["plain", "paper"])
def test_many_changes_over_two_settings_have_panels(
    schemes: list[str], panels: int, look: str, tmp_path: Path
) -> None:
    """Three, six and nine lines."""
    rates, gaps = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"], ["1 s", "2 s", "4 s", "8 s"]
    cells = [(one, rate, gap) for one in schemes for rate in rates for gap in gaps]
    change = [0.1 * rates.index(rate) + 0.02 * gaps.index(gap) for _, rate, gap in cells]
    own = {"a": -0.5, "c": 0.4}
    change = [own.get(one, value) for value, (one, *_) in zip(change, cells, strict=True)]
    columns: dict[str, list[Any]] = {
        "flow": ["dl"] * len(cells),
        GAP: [gap for *_, gap in cells],
        "links.lte.rate": [rate for _, rate, _ in cells],
        "metric": ["duration_ns"] * len(cells),
        "compared": [SCHEME] * len(cells),
        "value": [one for one, *_ in cells],
        "baseline": ["sack"] * len(cells),
        "pairs": [5] * len(cells),
        "over": ["runs"] * len(cells),
        "samples": [5] * len(cells),
        "difference": [1e9 * one for one in change],
        "half_width": [1e8] * len(cells),
        "ratio": change,
        "ratio_low": [one - 0.05 for one in change],
        # One has no end.
        "ratio_high": [float("inf"), *(one + 0.05 for one in change[1:])],
    }
    how: Any = {"value": "ratio", "x": GAP, "by": ["value", "links.lte.rate"], "look": look}
    how |= {"csv": tmp_path / "x.csv", "where": {"flow": "dl"}}
    size = None if look == "plain" else "single"
    figure = figure_of(plot_spread, columns, "interval", size=size, **how)
    figure.draw_without_rendering()
    axes = figure.axes
    assert len(axes) == panels
    assert len({one.get_ylim() for one in axes}) == len({one.get_xlim() for one in axes}) == 1
    head = next(csv.reader((tmp_path / "x.csv").read_text().splitlines()))
    assert (head[0] == "links.lte.rate") == (panels > 1)
    said = " ".join(one.get_text() for each in axes for one in each.texts)
    said += " ".join(one.get_title(loc) for one in axes for loc in ("left", "right"))
    assert "over 5 runs" in " ".join(said.split())
    assert "arrows: intervals without an end" in said.replace("\n", " ")
    assert "Flow: dl" in said
    if panels == 1:
        return
    assert [one.get_title() for one in axes] == [f"Rate of lte {rate}" for rate in rates]
    (legend,) = figure.legends
    assert [one.get_text() for one in legend.get_texts()][-len(schemes) :] == schemes
    # A line has the same look in all panels, and an arrow leaves the panel of its own.
    for name in schemes:
        found = [one for each in axes for one in each.lines if one.get_label() == name]
        assert len(found) == panels
        assert len({to_hex(one.get_color()) for one in found}) == 1
    arrows = [sum("arrow" in str(one.get_marker()) for one in each.lines) for each in axes]
    assert arrows == [1, 0, 0]


@pytest.mark.parametrize(
    ("value_missing", "baseline_missing", "mark", "why"),
    [
        (5, 2, "arrows up", "only sack finished"),
        (1, 5, "arrows down", "sack never finished"),
        (5, 5, CROSS, "neither finished"),
        (3, 2, CROSS, "sack or the other one did not finish"),
    ],
)
def test_a_place_without_pairs_has_a_mark(
    value_missing: int, baseline_missing: int, mark: str, why: str
) -> None:
    nan = float("nan")
    columns: dict[str, list[Any]] = {
        "flow": ["dl"] * 2,
        GAP: ["1 s", "2 s"],
        "metric": ["duration_ns"] * 2,
        "compared": [SCHEME] * 2,
        "value": ["a"] * 2,
        "baseline": ["sack"] * 2,
        "pairs": [5, 0],
        "left_out": [0, 5],
        "value_missing": [0, value_missing],
        "baseline_missing": [0, baseline_missing],
        "over": ["runs"] * 2,
        "samples": [5, 0],
        "difference": [1e9, nan],
        "half_width": [1e8, nan],
        "ratio": [0.1, nan],
        "ratio_low": [0.05, nan],
        "ratio_high": [0.15, nan],
    }
    figure = figure_of(plot_spread, columns, "interval", value="ratio", x=GAP, by=["value"])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    found = [one for one in axes.lines if [*one.get_xdata()] == [2.0]]
    shown = {"arrows up": r"$\uparrow$", "arrows down": r"$\downarrow$", CROSS: "x"}[mark]
    assert [str(one.get_marker()) for one in found] == [shown]
    said = " ".join(one.get_text() for one in axes.texts).replace("\n", " ")
    assert f"no pairs: {mark} ({why})" in said
    # It is outside of the axes, where it cannot be taken for data.
    places = found[0].get_transform().transform(np.column_stack(found[0].get_data()))
    assert places[0, 1] > axes.get_window_extent().y1


def test_a_mean_of_runs_that_never_finished_is_an_arrow_at_the_edge() -> None:
    columns: dict[str, list[Any]] = {
        GAP: ["1 s"] * 3 + ["2 s"] * 3,
        "run": [0, 1, 2] * 2,
        "duration_ns": [1e9, 2e9, 3e9, None, None, None],
    }
    figure = figure_of(plot_spread, columns, "interval", value="duration_ns", x=GAP)
    (axes,) = figure.axes
    arrows = [one for one in axes.lines if "arrow" in str(one.get_marker())]
    at = {(x, y) for one in arrows for x, y in zip(one.get_xdata(), one.get_ydata(), strict=True)}
    assert at == {(2.0, axes.get_ylim()[1])}
    said = " ".join(one.get_text() for one in axes.texts).replace("\n", " ")
    assert "at the upper edge: none finished" in said
