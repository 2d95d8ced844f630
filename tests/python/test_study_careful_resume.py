"""Careful Resume: the rows, the runs behind them, and the services of its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from midflight.cli import app
from midflight.results import EventLog
from midflight.studies import reproduce
from midflight.studies.careful_resume import claims
from midflight.studies.careful_resume import scenarios as sc
from midflight.studies.figure_runs import figure_runs
from midflight.studies.runs import Runs, Scenarios

NAME = "careful-resume"


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_saved_windows_are_the_products() -> None:
    assert [sc.saved(down) for down, _ in sc.GEO.values()] == [15_625, 3_125, 625]
    # 178 Mbit/s in 40 ms and 50 Mbit/s in 650 ms, in packets of 1500 bytes.
    assert [sc.holds(one) for one in ("leo", "geo")] == [593, 2708]


def test_computed_times_are_those_of_the_windows() -> None:
    # 3 and 6 windows of 10, 20, 40 ... are less than 610 packets: 0.75 MB with headers.
    assert claims.computed_plain_s(10) == pytest.approx(8 * 0.6 + 0.6 * 0 + 83.45, rel=2e-3)
    # Four round trips, and 90.9 MB at 250 Mbit/s less headers.
    assert claims.computed_resume_s(250) == pytest.approx(2.4 + 3.06, rel=2e-3)


def test_a_run_that_is_not_traced_is_the_same_run() -> None:
    of = sc.moved(sc.QUIC_RESUMES, "LTE to Starlink", "MBB")
    alone = Scenarios("with events", of.texts)
    runs = Runs()
    runs.make([of, alone])
    one, other = (runs.scenarios(job) for job in (of, alone))
    assert list(one["digest"]) == list(other["digest"])
    assert list(one["t_new_ns"]) == list(other["t_new_ns"])
    assert all(needless >= 0 for needless in other["needless"])


def test_the_jump_of_appendix_b(runs: Runs) -> None:
    finding = claims.appendix(runs)
    assert [check.value for check in finding.checks] == ["29", "set cwnd to 150", "121"]


def test_a_retreat_that_did_not_happen_is_no_retreat(runs: Runs) -> None:
    log = runs.trace(claims.ORDERED["cubic"])
    assert isinstance(log, EventLog)
    (check,) = claims._retreat(log, "cubic")
    assert check.passed is False


def test_figures_are_written(tmp_path: Path) -> None:
    for figure in ("1", "2", "3"):
        got = reproduce(NAME, figure=figure, out=tmp_path / figure)
        assert all(file.stat().st_size > 100 for one in got.figures for file in one.files)
        assert got.report is not None
        assert got.report.stat().st_size > 10_000


@pytest.mark.parametrize("figure", ["1", "2", "4", "6"])
def test_the_commands_take_a_figure(figure: str, tmp_path: Path) -> None:
    of = ["--study", NAME, "--figure", figure]
    run = CliRunner().invoke
    listed = run(app, ["explain", *of, "--job", "all"]).stdout.splitlines()
    jobs = [line for line in listed if line.partition(":")[0].isdigit()]
    assert len(jobs) == len(figure_runs(NAME, figure))
    told = run(app, ["explain", *of, "--job", "1", "--what", "cwnd", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["events"]
    out = tmp_path / "run.png"
    drawn = run(app, ["plot", *of, "--job", "1", "--out", str(out)])
    assert drawn.exit_code == 0, drawn.output
    assert out.stat().st_size > 10_000


def test_a_setting_of_its_runs_is_refused() -> None:
    refused = CliRunner().invoke(
        app, ["plot", "--study", NAME, "--figure", "2", "--set", "set.rto=1s", "--out", "no.png"]
    )
    assert refused.exit_code != 0
    assert 'have no "set.rto" to set' in str(refused.exception or refused.output)
