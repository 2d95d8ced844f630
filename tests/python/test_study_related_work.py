"""Related work: the rows, the runs behind them, and the services of its figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from midflight.cli import app
from midflight.studies import reproduce
from midflight.studies.figure_runs import figure_runs
from midflight.studies.related_work import claims
from midflight.studies.related_work import scenarios as sc
from midflight.studies.runs import Runs

NAME = "related-work"


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_a_split_sender_is_done_before_its_data_have_arrived(runs: Runs) -> None:
    table = runs.scenarios(sc.lossy(sc.I_TCP, "ns2", sc.HIGH))
    assert (table.seconds("delivered_ns") <= table.seconds("duration_ns")).all()
    assert 0 < min(table["acked_ahead"]) <= max(table["acked_ahead"]) <= 200
    assert max(table["acked_missing"]) == 0


def test_what_a_station_does_not_hand_over_is_lost(runs: Runs) -> None:
    table = runs.scenarios(sc.handoff(sc.I_TCP, "ns2", handover=False))
    assert min(table["acked_missing"]) > 0
    assert np.isinf(claims.after_s(runs, sc.handoff(sc.I_TCP, "ns2", handover=False))).all()


def test_figures_are_written(tmp_path: Path) -> None:
    got = reproduce(NAME, figure="2", out=tmp_path)
    assert all(file.stat().st_size > 100 for one in got.figures for file in one.files)
    assert got.report is not None


def test_runs_of_a_figure_can_be_explained() -> None:
    assert figure_runs(NAME, "2")
    asked = ["explain", "--study", NAME, "--figure", "2", "--what", "node_send"]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    assert "node_send" in told.output
