"""Of times after a handoff: figures and tables leave out the flows that are done before they have
that time, and show the rows after the handoff unless phases are asked for.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from drawn import texts_of
from midflight.cli import main
from midflight.plot.results.axis import axis_data
from midflight.plot.results.places import spaced
from midflight.plot.results.rows import rows_of
from midflight.plot.results.tables import read_columns
from midflight.plot.usual import Shown, after_handoff, usual_rows
from midflight.sweep import Sweep
from midflight.sweep_summary import Summary
from midflight.unmet import handoff_words

SCHEME, AT = "flows.download.scheme", "handoffs.0.at"


@pytest.fixture(scope="module")
def few_left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transfer and two instants, after which hundreds of packets are left, or few."""
    folder = tmp_path_factory.mktemp("few") / "out"
    words = ["--set", "flows.download.size=1 MB", "--compare", SCHEME, "--out", str(folder)]
    words += ["--axis", f"{SCHEME}=sack,enhanced", "--axis", f"{AT}=0.3s,0.39s"]
    assert main(["sweep", "wifi-to-lte", *words, "--metric", "all_new_ns"]) == 0
    return folder


def flows_of(folder: Path) -> dict[tuple[str, str], tuple[bool, bool]]:
    """Which flows were done, and which have a time after the handoff, as the tables say."""
    ends = list(csv.DictReader((folder / "flows.csv").open()))
    phases = csv.DictReader((folder / "phases.csv").open())
    after = {row["cell"]: row["all_new_ns"] != "" for row in phases if row["phase"] == "1"}
    return {
        (row[SCHEME], spaced(row[AT])): (row["finished_ns"] != "", after.get(row["cell"], False))
        for row in ends
    }


def after_two_handoffs(into: Path, *words: str) -> Path:
    """A sweep of times after the second handoff."""
    scenario, folder = into / "two.toml", into / "out"
    text = """
    end = "30 s"
    links.a = { rate = "20 Mbit/s", delay = "10 ms" }
    links.b = { rate = "20 Mbit/s", delay = "20 ms" }
    flows.f = { size = "3 MB", scheme = "sack" }
    handoffs = [{ at = "0.5 s", to = "b", gap = "0 s" }, { at = "2 s", to = "a", gap = "0 s" }]
    """
    scenario.write_text(text)
    measured = ["--metric", "all_new_ns", "--phase", "2", "--out", str(folder)]
    assert main(["sweep", str(scenario), *words, *measured]) == 0
    return folder


def test_flows_with_too_few_packets_are_no_runs_that_did_not_finish(few_left: Path) -> None:
    flows = flows_of(few_left)
    assert all(done for done, _ in flows.values())
    short = [key for key, (_, has_time) in flows.items() if not has_time]
    assert short == [("sack", "0.39 s"), ("enhanced", "0.39 s")]
    columns = after_handoff(read_columns(few_left, "all_new_ns"), "all_new_ns", None)
    found = rows_of(columns, "all_new_ns", {})
    assert [(columns[SCHEME][row], spaced(columns[AT][row])) for row in found.early] == short
    data = axis_data(columns, x=AT, y="all_new_ns", by=[SCHEME])
    assert [(line.missing, line.runs) for line in data.lines] == [([0], [1]), ([0], [1])]
    words = "left out: 1 flow of sack and 1 of enhanced done with fewer new packets"
    assert data.early == f"{words} after the handoff"
    # A transfer time is of the whole flow.
    found = rows_of(read_columns(few_left, "duration_ns"), "duration_ns", {})
    assert (len(found.shown), len(found.early)) == (4, 0)


def test_tables_and_comparisons_leave_them_out(few_left: Path) -> None:
    summary = Summary.of(Sweep.read(few_left), few_left)
    (one,) = summary.compared
    assert (one.pairs, one.left_out, one.done_before) == (1, 0, 1)
    assert [group.missing() for group in summary.grouped] == [0, 0]
    said = " ".join(summary.text(few_left).split())
    assert "Left out: 2 of 4 flows, which were done with fewer new packets after" in said
    assert "1 of 2 pairs are left out and counted apart: a flow was done with fewer" in said


def test_a_time_that_is_asked_for_has_the_rows_after_the_handoff(
    few_left: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What comes before it has no such time, and is no run that did not finish."""
    for kind in ("cdf", "interval", "box", "median"):
        out, table = tmp_path / f"{kind}.svg", tmp_path / f"{kind}.csv"
        words = ["plot", str(few_left), "--kind", kind, "--by", SCHEME, "--csv", str(table)]
        words += ["--value" if kind == "cdf" else "--y", "all_new_ns", "--out", str(out)]
        assert main([*words, *([] if kind == "cdf" else ["--x", AT])]) == 0
        said = texts_of(out)
        assert "did not finish" not in said
        assert "--where phase=1" in capsys.readouterr().err
        assert {row.get("missing") or "0" for row in csv.DictReader(table.open())} == {"0"}
    # Phases that are asked for are those after a handoff or change.
    words = ["plot", str(few_left), "--kind", "median", "--x", "phase", "--y", "all_new_ns"]
    assert main([*words, "--by", SCHEME, "--csv", str(table), "--out", str(out)]) == 0
    assert {row["phase"] for row in csv.DictReader(table.open())} == {"1"}
    assert "--where phase" not in capsys.readouterr().err


def test_as_many_flows_are_left_out_where_a_phase_is_kept(few_left: Path) -> None:
    def rows(where: Any) -> tuple[int, list[str]]:
        asked = Shown(None, None, "all_new_ns", ())
        columns = read_columns(few_left, "all_new_ns")
        found = usual_rows(columns, few_left, asked, asked, where)
        return len(found["phase"]), [str(one) for one in found["all_new_ns"]]

    assert rows({"phase": "1"}) == rows(None)


def test_a_figure_of_a_later_handoff_has_no_times_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a flow that was done before the second handoff, the first one has a time."""
    table = tmp_path / "x.csv"
    folder = after_two_handoffs(tmp_path, "--axis", "flows.f.size=2 MB,20 MB")
    printed = Summary.of(Sweep.read(folder), folder).grouped
    counted = [value for one in printed for value in one.counted.values()]
    capsys.readouterr()
    plot = ["plot", str(folder), "--kind", "median", "--csv", str(table)]
    for more in ([], ["--y", "all_new_ns"], ["--y", "all_new_ns", "--where", "phase=2"]):
        words = [*plot, *more, "--x", "flows.f.size", "--out", str(tmp_path / "x.svg")]
        assert main(words) == 0
        said = capsys.readouterr().err
        assert "1 of 2 flows were done with fewer new packets after handoff 2 and are" in said
        svg = texts_of(tmp_path / "x.svg")
        assert "with fewer new packets after handoff 2" in svg
        (row,) = csv.DictReader(table.open())
        assert (row["runs"], row["missing"]) == ("1", "0")
        assert [float(row["median"])] == pytest.approx([one / 1e9 for one in counted])


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (("handoffs",), "handoff 2"),
        (("changes",), "change 2"),
        (("handoffs", "changes"), "handoff or change 2"),
    ],
)
def test_a_later_handoff_is_named_by_its_number(parts: tuple[str, ...], words: str) -> None:
    scenario = {"handoffs": [], "changes": [], **{one: [{}] for one in parts}}
    assert handoff_words(scenario, 2) == words
    assert handoff_words(scenario, None) == "the handoff"


def test_a_comparison_after_a_later_handoff_names_it(tmp_path: Path) -> None:
    """Its pairs that are left out, as a flow was done before that handoff."""
    out, words = tmp_path / "x.svg", ["--axis", "flows.f.size=2 MB,20 MB,30 MB"]
    words += ["--axis", "flows.f.scheme=sack,freeze", "--compare", "flows.f.scheme"]
    folder = after_two_handoffs(tmp_path, *words)
    for kind in ("interval", "heatmap"):
        words = ["plot", str(folder), "--kind", kind, "--value", "ratio", "--out", str(out)]
        assert main(words) == 0
        said = texts_of(out)
        assert "fewer new packets after handoff 2" in said


@pytest.mark.parametrize("metric", ["first_new_ns", "all_new_ns"])
def test_times_after_the_only_handoff_say_since_when(
    metric: str, few_left: Path, tmp_path: Path
) -> None:
    out = tmp_path / "x.svg"
    assert main(["plot", str(few_left), "--x", AT, "--y", metric, "--out", str(out)]) == 0
    said = texts_of(out)
    assert "Time from the handoff until" in said


def test_a_table_of_a_sweep_leaves_out_what_its_folder_does(few_left: Path) -> None:
    for name, metric in (("flows", "duration_ns"), ("phases", "all_new_ns")):
        of_folder = rows_of(read_columns(few_left, metric), metric, {})
        of_file = rows_of(read_columns(few_left / f"{name}.csv", metric), metric, {})
        assert of_file == of_folder
    assert of_file.early
