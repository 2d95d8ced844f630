"""The study of Lim and Jang (2009): its ledger, its world, its figures, and the calibration."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from midflight.claims import Verdict
from midflight.cli import main
from midflight.results import Ratio
from midflight.studies import load, reproduce
from midflight.studies.lim_jang_2009 import calibration
from midflight.studies.lim_jang_2009 import scenarios as sc
from midflight.studies.lim_jang_2009.appendix import (
    AS_TAKEN,
    CONGESTED_READINGS,
    RADIO_READINGS,
    Column,
    both_readings,
)
from midflight.studies.lim_jang_2009.claims import above_zero
from midflight.studies.lim_jang_2009.figures import messages, paper_bars
from midflight.studies.lim_jang_2009.measures import base_rtt_s, throughput_bps, wired_drops
from midflight.studies.runs import Flow, FlowTrace, Runs
from midflight.studies.study import Study

NAME = "lim-jang-2009"

#: The rows of the acceptance list.
IDS = """
T1 F2 F3 T4.1 F4 F5 F6 F7 F8 F9 T4.3 F11-1 F11-2 F11-3 F12-1 F12-2 F12-3 F12-4 F12-5
F13-1 F13-2 F13-3 F13-4 F13-5 F14 T0
""".split()
FIGURES = "2 3 4 5 6 7 8 9 11 12 13 14".split()


@pytest.fixture(scope="module")
def study() -> Study:
    return load(NAME)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_every_row_of_the_acceptance_list_and_every_figure_is_there(study: Study) -> None:
    assert [claim.id for claim in study.claims] == [f"L09-{id}" for id in IDS]
    assert all(claim.claim and claim.rule for claim in study.claims)
    assert [figure.id for figure in study.figures] == FIGURES


def test_every_scenario_has_thirty_runs_of_five_schemes() -> None:
    assert len(sc.SCHEMES) == 5
    for figure in sc.SCENARIOS:
        assert [flow.runs for flow in sc.scenarios(figure)] == [30] * 5
        assert all(flow.marks_s == (250, 280, 500) for flow in sc.scenarios(figure))


def test_readings_of_the_congested_path_change_one_thing() -> None:
    for scheme in sc.SCHEMES:
        table, text = (sc.scenario("13", scheme, one) for one in (sc.TABLE_1, sc.TEXT))
        assert (table.cross_delay_us, text.cross_delay_us) == (16_000, 1000)
        assert replace(text, cross_delay_us=table.cross_delay_us) == table
        for other in sc.OTHER_LD:
            job = sc.scenario("13", scheme, other)
            usual = sc.scenario("13", scheme, sc.Congested(other.delay_us))
            has_k = scheme in (sc.SCHEME_I, sc.SCHEME_II)
            assert job == (sc.with_knobs(usual, ld_k=str(other.k)) if has_k else usual)
    assert sc.scenario("11", sc.SACK, sc.TEXT) == sc.scenario("11", sc.SACK)
    readings = [(one.delay_us, one.k) for one in both_readings()]
    assert readings == [(us, k) for k in (1, 2, 4, 5) for us in (16_000, 1000)]
    assert all(job.runs == 30 for job in sc.scenarios("14", sc.TABLE_1, *sc.OTHER_LD))


def test_congested_rows_have_the_runs_of_both_readings(study: Study) -> None:
    for row in ("F13-1", "F13-2", "F13-3", "F13-4", "F13-5", "F14"):
        needs = study.claims[f"L09-{row}"].needs
        for reading in (sc.TABLE_1, sc.TEXT):
            assert sc.scenario(f"{row[1:3]}", sc.SCHEME_II, reading) in needs, row


def test_the_report_begins_with_what_excludes_what(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    gains = {1: 5.2, 2: 4.3, 4: 0.1, 5: 0.0}

    def ratio(_self: Column, _runs: Runs, reading: sc.Congested) -> Ratio:
        return Ratio(gains[reading.k] if reading.delay_us == 16_000 else 2.0, 0.0, 9.0)

    monkeypatch.setattr(Column, "ratio", ratio)
    module = importlib.import_module("midflight.studies.lim_jang_2009.appendix")
    monkeypatch.setattr(module, "wired_drops", lambda _, jobs: jobs[0].cross_delay_us / 1e6)
    assert study.conclusion is not None
    text = study.conclusion(Runs())
    assert "the +480 % of L09-F13-2 needs k <= 2" in text
    assert "k = 1: +520 % and +200 %" in text
    assert "drops 1.6 % of all packets" in text
    assert "0.1 % with the text's path" in text


def test_a_gain_whose_interval_includes_zero_is_undecided() -> None:
    outcomes = [
        above_zero("", Ratio(value, low, high)).passed
        for value, low, high in (
            (0.1, 0.02, 0.2),
            (0.007, -0.053, 0.071),
            (-0.1, -0.2, -0.01),
            (0.5, -math.inf, math.inf),
        )
    ]
    assert outcomes == [True, None, False, None]


def test_what_the_text_gives_is_drawn() -> None:
    shares = dict(zip(sc.SCHEMES, (0.1, 0.2, 0.2, 0.3, 0.4), strict=True))
    nan = pytest.approx(math.nan, nan_ok=True)
    assert paper_bars("11", False, shares) == [nan, nan, nan, *[pytest.approx(0.252)] * 2]
    assert paper_bars("12", True, shares)[1] == pytest.approx(0.2)
    assert paper_bars("13", True, shares) == [nan, nan, nan, 0.0459, 0.0734]
    assert paper_bars("14", False, shares) == [nan] * 5
    assert paper_bars("14", True, shares)[4] == pytest.approx(1.045 * 0.3)


def test_schemes_meet_the_same_radio(runs: Runs) -> None:
    """The n-th packet over the link meets the same fate, whoever sends it."""
    fates = []
    for scheme in (sc.SACK, sc.SCHEME_I):
        link = replace(sc.CLEAN_3G, loss="uniform 2%")
        flow = Flow(link, scheme, (60.0,), knobs=sc.KNOBS)
        log = runs.trace(FlowTrace(flow, events=("rcv", "drop")))
        over = log.where((log.kind == "rcv") | np.char.endswith(log.detail, "radio radio"))
        fates.append((over.kind == "drop").tolist())
    common = min(map(len, fates))
    assert common > 300
    assert sum(fates[0][:common]) > 3
    assert fates[0][:common] == fates[1][:common]


def test_the_link_loses_what_it_is_said_to(runs: Runs) -> None:
    table = runs.flow(replace(sc.scenario("12", sc.SCHEME_I), runs=8))
    wlan = table.total("drops_radio", sc.BEFORE).sum() / table.total("sent", sc.BEFORE).sum()
    g3 = table.total("drops_radio", sc.AFTER).sum() / table.total("sent", sc.AFTER).sum()
    # One eleventh of the time is bad, in the mean 1.0 %; a sender sends less in it.
    assert 0.006 < wlan < 0.0105
    assert g3 == pytest.approx(0.005, abs=0.001)
    late = table.total("reordered", sc.AFTER).sum() / table.total("sent", sc.AFTER).sum()
    assert late == pytest.approx(0.05, abs=0.005)


def test_nothing_is_lost_by_the_pause(runs: Runs) -> None:
    flow = replace(sc.scenario("12", sc.SACK), radio=sc.CLEAN_WLAN, then=sc.CLEAN_3G, runs=1)
    flow = sc.with_knobs(flow, receiver_window="30")
    table = runs.flow(flow)
    assert table.total("drops_radio").sum() == 0
    assert table.total("drops_queue").sum() == 0
    assert table.total("spurious_timeouts", sc.PAUSE).sum() > 0


def test_throughput_is_bounded_by_the_link(runs: Runs) -> None:
    clean = replace(sc.scenario("11", sc.SACK), radio=sc.CLEAN_3G, then=sc.CLEAN_WLAN, runs=1)
    bps = throughput_bps(runs, clean, False)
    assert (bps > 0.9e6).all()
    assert (bps <= 1e6).all()


def test_the_idle_round_trip_is_the_one_that_is_measured(runs: Runs) -> None:
    log = runs.trace(sc.indicators(True, sc.SCHEME_II))
    assert log.of("ld_min").value.min() == pytest.approx(base_rtt_s(sc.WLAN), rel=0.01)


def test_the_cross_traffic_is_as_calibrated(runs: Runs) -> None:
    """1.5 % of what is handed to the wired queue is dropped, within 0.2 points."""
    flows = calibration.trial_flows(sc.CROSS_DELAY_US)
    assert wired_drops(runs, flows) == pytest.approx(sc.DROP_TARGET, abs=0.002)


def test_the_calibration_ends_at_the_constants() -> None:
    found: dict[str, int] = {}
    for trial in calibration.calibrate(Runs()):
        found[trial.reading] = trial.delay_us
    wanted = (sc.CROSS_DELAY_US, sc.CROSS_DELAY_OWN_US)
    assert found == dict(zip(calibration.READINGS, wanted, strict=True))


def test_a_study_without_calibration_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "daniel-kojo-2008"]) == 2
    assert NAME in capsys.readouterr().err


def test_an_exchange_has_an_arrow_for_everything(runs: Runs) -> None:
    log = runs.trace(sc.OUTAGE)
    kinds = Counter(m.kind for m in messages(log, (0.0, 1e9)))
    assert kinds["data"] + kinds["retransmission"] <= len(log.of("send", "rexmit"))
    assert kinds["retransmission"] >= len(log.dropped())
    assert kinds["ack"] + kinds["dupack"] == len(log.of("ack"))


def test_a_reading_changes_one_thing() -> None:
    for reading in (*RADIO_READINGS, *CONGESTED_READINGS):
        figure = "13" if reading.congested else "11"
        changed = reading.flow(figure, sc.SACK)
        plain = replace(sc.scenario(figure, sc.SACK), runs=changed.runs)
        assert (changed == plain) == (reading.name == AS_TAKEN), reading.name


def test_one_figure_is_reproduced(tmp_path: Path) -> None:
    result = reproduce(NAME, figure="6", out=tmp_path)
    assert [claim.id for claim in result.claims] == ["L09-F6"]
    assert result.claims[0].verdict is Verdict.REPRODUCED
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "L09-F6" in report
    assert "http://" not in report.replace("http://www.w3.org", "")
    again = reproduce(NAME, figure="6", out=tmp_path / "again")
    assert again.digest == result.digest
