"""What a sweep is summarised by is what its figures and its report show."""

from __future__ import annotations

import csv
import json
import re
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from midflight import MidflightError, Sweep
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.sweep_folder import kept_comparison, read_definition
from midflight.sweep_report import sweep_report_html
from midflight.sweep_summary import Summary

SCHEME, AT, GAP = "flows.download.scheme", "handoffs.0.at", "handoffs.0.gap"
AXES = [f"{SCHEME}=sack,freeze", f"{AT}=0.2s,0.3s,0.4s"]


def swept(folder: Path, *more: str, axes: list[str] = AXES) -> Path:
    words = [word for axis in axes for word in ("--axis", axis)]
    assert main(["sweep", "wifi-to-lte", *words, *more, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def stalls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over instants whose schemes are compared by another metric than the usual one."""
    folder = tmp_path_factory.mktemp("metric") / "out"
    return swept(folder, "--metric", "stall_ns", "--compare", SCHEME)


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def drawn(source: Path, tmp_path: Path, *more: str) -> list[dict[str, str]]:
    table = tmp_path / "drawn.csv"
    words = ["plot", str(source), "--out", str(tmp_path / "x.png"), "--csv", str(table)]
    assert main([*words, *more]) == 0
    return rows_of(table)


def check_is_comparison(rows: list[dict[str, str]], file: Path, metric: str) -> None:
    (known,) = rows_of(file)
    (row,) = rows
    assert known["metric"] == metric
    for name, column in (("mean", "ratio"), ("low", "ratio_low"), ("high", "ratio_high")):
        assert float(row[name]) == pytest.approx(100 * float(known[column]), rel=1e-5)


@pytest.mark.parametrize(
    "more", [[], ["--kind", "interval"], ["--kind", "interval", "--value", "ratio"], ["--y=ratio"]]
)
def test_a_figure_shows_the_comparison_of_the_sweeps_metric(
    stalls: Path, tmp_path: Path, more: list[str]
) -> None:
    assert not (stalls / "comparison.csv").exists()
    file = stalls / "comparison-stall_ns.csv"
    check_is_comparison(drawn(stalls, tmp_path, *more), file, "stall_ns")
    # The file of a comparison needs no more options than the folder.
    check_is_comparison(drawn(file, tmp_path, *more), file, "stall_ns")


def test_values_reports_and_python_have_the_sweeps_metric(stalls: Path, tmp_path: Path) -> None:
    assert {row["measure"] for row in drawn(stalls, tmp_path, "--kind", "median")} == {"stall_ns"}
    assert {row["measure"] for row in drawn(stalls, tmp_path, "--kind", "cdf")} == {"stall_ns"}
    table = tmp_path / "python.csv"
    plot_axis(stalls, tmp_path / "x.svg", by=[SCHEME], csv=table)
    assert {row["measure"] for row in rows_of(table)} == {"stall_ns"}
    plot_axis(stalls, tmp_path / "x.svg", csv=table)
    check_is_comparison(rows_of(table), stalls / "comparison-stall_ns.csv", "stall_ns")
    plot_spread(Sweep.read(stalls), tmp_path / "x.svg", "interval", csv=table)
    check_is_comparison(rows_of(table), stalls / "comparison-stall_ns.csv", "stall_ns")
    plot_spread(stalls, tmp_path / "x.svg", "interval", value="difference", csv=table)
    (row,), (known,) = rows_of(table), rows_of(stalls / "comparison-stall_ns.csv")
    assert float(row["mean"]) == pytest.approx(float(known["difference"]) / 1e9, rel=1e-5)
    assert Sweep.read(stalls).metric == "stall_ns"
    assert main(["report", str(stalls), "--out", str(tmp_path / "report.html")]) == 0
    text = (tmp_path / "report.html").read_text()
    assert "Longest time without progress: change against sack (CUBIC), pair by pair." in text
    assert "Transfer time: change" not in text
    assert "Longest time without progress: change against" in Sweep.read(stalls)._repr_html_()


def test_another_summary_of_the_same_cells_takes_the_place_of_the_first(
    stalls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(stalls, tmp_path / "out"))
    written = {path: path.stat().st_mtime_ns for path in (folder / "shards").rglob("*.csv")}
    for more, metric, file in (
        (["--metric", "rexmits"], "rexmits", "comparison-rexmits.csv"),
        ([], "duration_ns", "comparison.csv"),
        (["--metric", "duration_ns"], "duration_ns", "comparison.csv"),
        (["--metric", "stall_ns"], "stall_ns", "comparison-stall_ns.csv"),
    ):
        swept(folder, *more, "--compare", SCHEME)
        assert kept_comparison(folder) == folder / file
        # Few retransmissions may be none: without a request the figure shows differences.
        check_is_comparison(drawn(folder, tmp_path, "--y=ratio"), folder / file, metric)
    # The files of other summaries stay, but the sweep compares nothing any more.
    swept(folder, "--metric", "stall_ns")
    assert kept_comparison(folder) is None
    rows = drawn(folder, tmp_path)
    assert {(row["measure"], row["line"]) for row in rows} == {
        ("stall_ns", "sack"),
        ("stall_ns", "freeze"),
    }
    capsys.readouterr()
    out = str(tmp_path / "x.png")
    assert main(["plot", str(folder), "--y", "ratio", "--out", out]) == 2
    assert "run it again with --compare" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in (folder / "shards").rglob("*.csv")} == written


def test_sweeps_in_python_have_a_metric(tmp_path: Path) -> None:
    axes = {SCHEME: ["sack", "freeze"], AT: ["0.2 s", "0.3 s"]}
    found = Sweep.of("wifi-to-lte", axes, compare=SCHEME, metric="rexmits").run(tmp_path / "out")
    assert found.summary.metric == "rexmits"
    assert kept_comparison(found.folder) == found.folder / "comparison-rexmits.csv"
    again = Sweep.read(found.folder).run(found.folder)
    assert again.summary.metric == "rexmits"
    for wrong, said in (
        ({"metric": "speed"}, 'metric "speed" is not a measurement'),
        ({"metric": "load_p95_ns"}, 'load_p95_ns is measured on flows with workload = "web"'),
        ({"phase": 1}, "phase is for metric all_new_ns and first_new_ns"),
        ({"metric": "all_new_ns", "phase": 0}, "phase is 0; expected a whole number from 1"),
        ({"shard_cells": 0}, "shard_cells: 0 is not accepted"),
    ):
        how: Any = wrong
        with pytest.raises(MidflightError, match=said):
            Sweep.of("wifi-to-lte", axes, **how)


def test_an_axis_of_one_value_is_compared_with_nothing(tmp_path: Path) -> None:
    sweep = Sweep.of("wifi-to-lte", {SCHEME: ["sack"], AT: ["0.2 s"]}, compare=SCHEME)
    assert not sweep.run(tmp_path / "out").summary.compared
    assert not (tmp_path / "out" / "comparison.csv").exists()


def test_a_folder_without_its_tables_of_text_has_no_summary(stalls: Path, tmp_path: Path) -> None:
    shutil.copy(stalls / "sweep.json", tmp_path)
    (tmp_path / "flows.parquet").touch()
    with pytest.raises(MidflightError, match="has no tables yet"):
        sweep_report_html(tmp_path)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], (None, None)),
        (["comparison.csv", "comparison-stall_ns.csv"], (None, None)),
        (["comparison-stall_ns.csv"], ("stall_ns", None)),
        (["comparison-all_new_ns-phase12.csv"], ("all_new_ns", 12)),
        (["comparison-other.csv"], (None, None)),
    ],
)
def test_a_folder_that_does_not_say_its_metric_has_that_of_its_comparison(
    stalls: Path, tmp_path: Path, files: list[str], expected: tuple[str | None, int | None]
) -> None:
    said = json.loads((stalls / "sweep.json").read_text())
    assert (said.pop("metric"), said.pop("phase")) == ("stall_ns", None)
    (tmp_path / "sweep.json").write_text(json.dumps(said))
    for name in files:
        shutil.copy(stalls / "comparison-stall_ns.csv", tmp_path / name)
    found = read_definition(tmp_path)
    assert (found["metric"], found["phase"]) == expected


@pytest.mark.parametrize("metric", ["speed", 3, ["stall_ns"]])
def test_a_folder_with_a_metric_that_is_none_is_refused(
    stalls: Path, tmp_path: Path, metric: object
) -> None:
    said = json.loads((stalls / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps({**said, "metric": metric}))
    with pytest.raises(MidflightError, match="is not a sweep: metric"):
        read_definition(tmp_path)


def test_times_after_a_handoff_are_those_that_the_sweep_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A figure of phases has the one after the handoff, not the time before it as well."""
    folder = swept(tmp_path / "out", "--metric", "all_new_ns", axes=[f"{AT}=0.2s,0.3s,0.4s"])
    capsys.readouterr()
    rows = drawn(folder, tmp_path)
    assert "--y all_new_ns --where phase=1\n" in capsys.readouterr().err
    known = [one for one in rows_of(folder / "phases.csv") if one["kind"] == "handoff"]
    assert [1e9 * float(row["median"]) for row in rows] == pytest.approx(
        [float(one["all_new_ns"]) for one in known], rel=1e-4
    )
    assert {row["runs"] for row in rows} == {"1"}
    # The options of the note draw the same.
    options = ["--x", AT, "--y", "all_new_ns", "--where", "phase=1"]
    assert [row["median"] for row in drawn(folder, tmp_path, *options)] == [
        row["median"] for row in rows
    ]
    swept(folder, "--metric", "all_new_ns", "--phase", "2", axes=[f"{AT}=0.2s,0.3s,0.4s"])
    asked = Sweep.read(folder)
    assert (asked.metric, asked.phase) == ("all_new_ns", 2)
    assert Summary.of(asked, folder).phase == 2
    assert Summary.of(asked, folder, "first_new_ns").phase is None
    # So say a report and a notebook.
    for page in (sweep_report_html(folder), asked._repr_html_()):
        assert "seconds from handoff 2 until the new packets" in page
        assert "the first handoff" not in page


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--x", "value", "--y", "ratio", "--by", "a.b"], 'there is no column "a.b"'),
        (["--kind", "median"], "give --x and --y, such as --x value --y ratio"),
        (
            ["--kind", "heatmap", "--by", "value"],
            f"over value (the values of {SCHEME}): give --x and --y, two of",
        ),
    ],
)
def test_errors_name_the_columns_of_a_comparison(
    stalls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    file = str(stalls / "comparison-stall_ns.csv")
    assert main(["plot", file, *options, "--out", str(tmp_path / "x.png")]) == 2
    assert words in capsys.readouterr().err


def test_a_map_of_changes_has_the_compared_values_and_what_is_pooled(
    stalls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comparison of one change each has no other sides."""
    words = ["plot", str(stalls), "--kind", "heatmap", "--value", "ratio"]
    made = []
    for options in ([], ["--x", AT], ["--y", SCHEME]):
        table = tmp_path / "x.csv"
        more = ["--out", str(tmp_path / "x.png"), "--csv", str(table)]
        assert main([*words, *options, *more]) == 0
        assert f"--x {AT} --y value --value ratio" in capsys.readouterr().err
        made.append(table.read_text())
    assert len({*made}) == 1


def test_lines_of_a_comparison_may_be_chosen(tmp_path: Path) -> None:
    axes = [f"{SCHEME}=sack,freeze,vho", f"{GAP}=0.5s,2s", f"{AT}=0.2s,0.4s"]
    folder = swept(tmp_path / "out", "--metric", "stall_ns", "--compare", SCHEME, axes=axes)
    options = ["--kind", "interval", "--value", "ratio"]
    rows = drawn(folder, tmp_path, *options)
    assert {row["line"] for row in rows} == {"freeze", "vho"}
    rows = drawn(folder, tmp_path, *options, "--by", GAP)
    assert {(row["line"], row["value"]) for row in rows} == {
        (gap, one) for gap in ("0.5s", "2s") for one in ("freeze", "vho")
    }


def test_reports_figures_and_python_separate_what_the_sweep_separated(tmp_path: Path) -> None:
    axes = [f"{SCHEME}=sack,freeze", f"{GAP}=1s,2s", "links.lte.delay=20ms,40ms"]
    folder = swept(tmp_path / "out", "--by", GAP, "--compare", SCHEME, axes=axes)
    assert read_definition(folder)["by"] == [SCHEME, GAP]
    asked = Sweep.read(folder)
    assert asked.by == [SCHEME, GAP]
    # Two schemes and two gaps; the delays are pooled.
    assert [len(one.runs) for one in Summary.of(asked, folder).grouped] == [2] * 4
    html = sweep_report_html(folder)
    assert "One-way delay of lte" not in table_of(html, "results")
    assert "Gap of the handoff" in table_of(html, "results")
    captions = re.findall("<figcaption>(.*?)<", html)
    # The pooled delays are neither an axis nor lines; shares of all settings would tell nothing.
    assert not any("the share of runs" in one for one in captions)
    # The figures say so, and not the captions, too.
    assert "ooled" not in "".join(captions)
    images = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", html)
    told = [one for one in images if "both one-way delays of lte" in b64decode(one).decode()]
    assert len(told) >= 2
    every = sweep_report_html(folder, by=[GAP, "links.lte.delay"])
    assert "One-way delay of lte" in table_of(every, "results")
    rows = drawn(folder, tmp_path, "--kind", "median")
    assert {row["handoffs.0.gap"] for row in rows} == {"1", "2"}
    assert len(rows) == 4
    more = ["--kind", "median", "--by", "links.lte.delay"]
    # Those of both schemes.
    lines = {(row[SCHEME], row["links.lte.delay"]) for row in drawn(folder, tmp_path, *more)}
    assert len(lines) == 4
    # A folder of an earlier version does not say it.
    definition = json.loads((folder / "sweep.json").read_text())
    del definition["by"]
    (folder / "sweep.json").write_text(json.dumps(definition))
    assert Sweep.read(folder).by is None
    assert "One-way delay of lte" in table_of(sweep_report_html(folder), "results")


def table_of(html: str, part: str) -> str:
    return html.split(f'<h2 id="{part}">')[1].split("<h2")[0]


@pytest.mark.parametrize("by", ["links.lte.delay", ["links.lte.rate"], 1])
def test_a_folder_with_other_axes_to_separate_is_refused(
    stalls: Path, tmp_path: Path, by: Any
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(stalls, folder)
    definition = json.loads((folder / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps({**definition, "by": by}))
    with pytest.raises(MidflightError, match='"by" is no list of its axes'):
        read_definition(folder)


def test_what_python_separates_is_checked() -> None:
    axes = {GAP: ["1 s", "2 s"]}
    assert Sweep.of("wifi-to-lte", axes, by=[GAP]).by == [GAP]
    with pytest.raises(MidflightError, match=r'^by "handoffs\.0\.gab" is not an axis') as found:
        Sweep.of("wifi-to-lte", axes, by=["handoffs.0.gab"])
    assert found.value.name == "by"


def test_the_time_of_counted_packets_says_how_many(tmp_path: Path) -> None:
    axes = [f"{AT}=0.2s,0.3s,0.4s"]
    folder = swept(tmp_path / "out", "--metric", "all_new_ns", "--set", "packets=20", axes=axes)
    (shown,) = figure_of(plot_axis, folder).axes
    named = "Time from the handoff until 20 new packets are acknowledged (s)"
    assert " ".join(shown.get_ylabel().split()) == named
    assert shown.get_ylabel().count("\n") < 3
    html = sweep_report_html(folder)
    assert "time from the handoff until 20 new packets are acknowledged" in html.lower()
    # A table alone does not know it, nor a sweep over it.
    table = {AT: ["0.2 s", "0.3 s"], "all_new_ns": [1e9, 2e9]}
    (shown,) = figure_of(plot_axis, table, x=AT, y="all_new_ns").axes
    assert "the counted new packets are" in " ".join(shown.get_ylabel().split())
    folder = swept(tmp_path / "two", "--metric", "all_new_ns", axes=["packets=10,20,40"])
    (shown,) = figure_of(plot_axis, folder).axes
    assert "the counted new packets are" in " ".join(shown.get_ylabel().split())
