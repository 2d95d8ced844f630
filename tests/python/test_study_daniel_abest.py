"""The study of Daniel and Kojo's report: its ledger, its world, its trains, its readings."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from midflight.claims import Verdict
from midflight.cli import main
from midflight.results import EventLog, RunTable, StartupTable
from midflight.studies import load, reproduce
from midflight.studies.daniel_abest import fairness, readings
from midflight.studies.daniel_abest import scenarios as sc
from midflight.studies.daniel_abest.appendix import PATHS, chosen_path, figure_6
from midflight.studies.daniel_abest.claims import LEDGER, ONE, OVERFLOWS, STARTED
from midflight.studies.daniel_abest.measures import (
    drops,
    goodput_mbps,
    ideal_s,
    inside_axis,
    median_s,
    queue_limit,
    rate_bps,
    trains,
)
from midflight.studies.daniel_abest.scenarios import ABEST, IW10, QS, TCP, VHO
from midflight.studies.runs import Job, Link, Probing, Runs, Startup, Sweep, Trace
from midflight.studies.study import Study

NAME = "daniel-abest"

#: The rows of the acceptance list in the order of the paper, those beyond it, and what comes out.
VERDICTS = {
    "T1": "reproduced",
    "F1": "reproduced",
    "F2": "partly",
    "F3": "not",
    "F4": "partly",
    "F5": "reproduced",
    "C1": "partly",
    "C2": "partly",
    "F6": "partly",
    "F7": "reproduced",
    "F8": "partly",
    "F9": "partly",
    "F10": "partly",
    "F11": "partly",
    "F12": "reproduced",
    "F13": "partly",
    "X1": "partly",
    "X2": "partly",
    "X3": "not",
    "X4": "reproduced",
    "X5": "reproduced",
    "X6": "partly",
}
FIGURES = [str(n) for n in range(2, 31)]


@pytest.fixture(scope="module")
def study() -> Study:
    return load(NAME)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_every_row_of_the_acceptance_list_and_every_figure_is_there(study: Study) -> None:
    assert [claim.id for claim in study.claims] == [f"A11-{id}" for id in VERDICTS]
    assert all(claim.claim and claim.rule and claim.needs for claim in study.claims)
    assert [figure.id for figure in study.figures] == FIGURES
    assert len({figure.stem for figure in study.figures}) == len(FIGURES)


@pytest.mark.parametrize("id", VERDICTS)
def test_the_verdict_of_every_row(runs: Runs, id: str) -> None:
    finding = LEDGER[f"A11-{id}"].evaluate(runs)
    assert str(finding.verdict) == VERDICTS[id], finding.measured
    assert finding.note or finding.verdict is Verdict.REPRODUCED


def test_a_claim_needs_what_it_reads(study: Study) -> None:
    class Listed(Runs):
        """Makes only the requested runs."""

        asked = False

        def make(self, jobs: Any, progress: Any = None) -> None:
            assert not self.asked
            super().make(jobs, progress)

        def trace(self, job: Any) -> EventLog:
            assert not self.asked or job in self._traces
            return super().trace(job)

    for claim in study.claims:
        if claim.id in ("A11-F2", "A11-C2", "A11-F12", "A11-X1"):
            own = Listed()
            own.make(claim.needs)
            own.asked = True
            claim.evaluate(own)


# The world


def test_the_links_hold_what_the_paper_says() -> None:
    for link, held in sc.HELD.items():
        assert round(link.bdp) == (36 if link == sc.WLAN_4 else held)


def test_the_limit_of_a_queue_is_counted_with_what_leaves_at_that_instant() -> None:
    # One of three has arrived when the fourth is lost: two, and the one that leaves right then.
    link = Link(12_000, 1)
    node_ns = 1_000_000 + 120_000
    events = [(0, "send", 1), (1, "send", 2), (2, "send", 3), (3, "send", 4)]
    events += [
        (1_000_000, "drop", 4),
        (500_000 + node_ns, "rcv", 1),
        (1_000_000 + node_ns, "rcv", 2),
    ]
    time_ns, kind, value = zip(*sorted(events), strict=True)
    detail = ["data bs1-wir1 queue" if k == "drop" else "" for k in kind]
    assert queue_limit(EventLog(time_ns, kind, value, detail), link) == 2
    assert np.isnan(queue_limit(EventLog([0], ["send"], [1], [""]), link))


def test_a_queue_of_another_length_is_measured_as_such(runs: Runs) -> None:
    job = OVERFLOWS[sc.HSDPA_6]
    other = Link(6000, 25)
    cell = replace(job.cell, old=other, new=other)
    assert queue_limit(runs.trace(replace(job, cell=cell)), other) == 25


@pytest.mark.parametrize("figure", sc.EXPERIMENTS)
def test_handoffs_come_in_every_phase_of_plain_tcp(runs: Runs, figure: str) -> None:
    phases = set(runs.sweep(sc.EXPERIMENTS[figure].sweep(TCP))["phase"])
    assert {"slow-start", "congestion-avoidance"} <= phases
    assert phases & {"overshoot", "fast-recovery", "rto-recovery"}


def test_all_schemes_have_the_same_instants_when_all_flows_are_open() -> None:
    for e in sc.EXPERIMENTS.values():
        instants = {job.at_ns for job in e.sweeps()}
        assert len(instants) == 1
        at_ns = instants.pop()
        assert len(set(at_ns)) == sc.INSTANTS
        assert list(at_ns) == sorted(at_ns)
        assert at_ns[0] >= 4 * 1e9 * sc.idle_rtt_s(e.old) - 1e6
        assert at_ns[-1] == 10_000_000_000
        steps = np.diff(np.log(at_ns))
        assert steps.max() / steps.min() < 1.3  # whole milliseconds


def test_without_a_scheme_the_settings_are_those_of_the_paper(runs: Runs) -> None:
    settings = dict(sc.KNOBS)
    assert settings["initial_window"] == "3"
    assert settings["receiver_window"] == "5000"
    for name in ("dsack", "limited_transmit"):
        assert settings[name] == "on"
    log = runs.trace(sc.start_trace(sc.LTE, scheme=TCP, until_s=0.3))
    opened = log.of("send").where(log.of("send").value > 0).time_s
    assert int((opened == opened[0]).sum()) == 3


def test_the_path_is_the_one_that_the_rule_selects(study: Study, runs: Runs) -> None:
    assert list(PATHS) == ["5.5 ms", "8 ms", "10 ms", "15 ms", "20 ms", "40 ms"]
    assert PATHS[chosen_path(runs)] == sc.FIXED_MS
    for name, fixed_ms in PATHS.items():
        jobs = figure_6(fixed_ms)
        assert {job.at_ns[0] for job in jobs} == {sc.instants_ns(sc.WLAN_4, fixed_ms)[0]}
        inside, of, least, most = inside_axis(runs, jobs)
        taken = f"**{name}** (used)" if fixed_ms == sc.FIXED_MS else name
        row = f"| {taken} | {inside} of {of} | {least:.2f} s | {most:.2f} s |"
        assert row in study.assumptions(), row


def test_of_equal_paths_the_shortest_is_taken_and_of_unequal_ones_the_best() -> None:
    class FixedQuartiles(Runs):
        """Quartiles of figure 6 that are within the axis for some paths."""

        good: set[float]

        def sweep(self, job: Sweep) -> RunTable:
            seconds = 1.0 if job.fixed_delay_ms in self.good else 3.0
            table = {"t_new_ns": [round(1e9 * seconds)] * 2, "flow": [0, 0], "resident": [0, 0]}
            return RunTable(readings.Columns({**table, "at_ns": [1, 2], "run": [0, 1]}))

    told = FixedQuartiles()
    for good, taken in [({5.0, 20.0}, "10 ms"), ({20.0}, "40 ms"), (set(), "5.5 ms")]:
        told.good = good
        assert chosen_path(told) == taken


def test_the_part_of_figure_12_that_hangs_on_the_ack_of_the_syn(runs: Runs) -> None:
    at_once = next(r for r in readings.READINGS if r.name.startswith("SYN: only"))
    checks = at_once.judge(runs)["A11-F12"].checks
    assert [check.what for check in checks if not check.passed] == ["1 flow, AbestVho below QS"]
    assert "One of the eleven parts depends" in LEDGER["A11-F12"].evaluate(runs).note


# Trains


def test_a_rate_in_words_is_a_number() -> None:
    assert rate_bps("216957 bit/s") == 216957
    assert rate_bps("12.5 Mbit/s") == 12.5e6
    assert rate_bps("1280 kbit/s") == 1.28e6
    assert np.isnan(rate_bps("a segment is missing"))


def test_trains_are_those_that_were_reported(runs: Runs) -> None:
    log = runs.trace(ONE)
    found = trains(log)
    assert len(found[0].sent_s) == 4
    assert all(train.reported_s - train.sent_s[-1] > 0.041 for train in found)
    assert trains(log.within(0.0, found[0].reported_s)) == []
    assert trains(runs.trace(replace(ONE, scheme=TCP.core))) == []


@pytest.mark.parametrize(
    ("job", "changes"),
    [
        (ONE, {"knobs": sc.with_knobs(sc.KNOBS, abest_c2_high="1x")}),
        (ONE, {"flows": 2}),
    ],
    ids=["the text's second chirp", "another number of flows"],
)
def test_figure_1_can_fail(runs: Runs, job: Trace, changes: dict[str, Any]) -> None:
    class Other(Runs):
        def trace(self, asked: Any) -> EventLog:
            return runs.trace(replace(asked, **changes) if asked == job else asked)

    assert LEDGER["A11-F1"].evaluate(Other()).verdict is Verdict.PARTLY


# Claims


class Scaled(Runs):
    """Runs in which the time of a scheme is a multiple of what it is for every scheme alike."""

    def __init__(self, factors: dict[str, float], lost: dict[str, int]) -> None:
        super().__init__()
        self.factors, self.lost = factors, lost

    def startup(self, job: Startup) -> StartupTable:
        factor, lost = self.factors.get(job.scheme, 1.0), self.lost.get(job.scheme, 0)

        class Table:
            def goodput_bit_s(self, *_: int) -> Any:
                return np.full(job.flows, 1e6 * factor)

            def total(self, _: str) -> float:
                return lost

        return Table()  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("id", "factors", "lost", "passed"),
    [
        ("F2", {"quick-start": 3, "iw10": 1.3, "abest-vho": 1.2, "vho": 0.9}, {"iw10": 1}, 10),
        ("F2", {"quick-start": 3, "iw10": 1.5, "abest-vho": 1.2, "vho": 0.9}, {"iw10": 1}, 9),
        ("F2", {"quick-start": 3, "iw10": 1.3, "abest-vho": 1.2, "vho": 1.0}, {"iw10": 1}, 9),
        ("F2", {"quick-start": 3, "iw10": 1.3, "abest-vho": 1.2, "vho": 0.9}, {}, 9),
        ("F3", {"quick-start": 1.1}, {}, 1),
        ("F3", {"quick-start": 1.2}, {}, 0),
        ("F5", {"iw10": 1.1}, {"iw10": 1}, 3),
        ("F5", {"iw10": 1.1}, {"iw10": 1, "abest-vho": 1}, 2),
        ("F5", {"iw10": 1.1, "quick-start": 1.2}, {"iw10": 1}, 2),
    ],
)
def test_start_up_claims_pass_and_fail_at_their_limits(
    id: str, factors: dict[str, float], lost: dict[str, int], passed: int
) -> None:
    finding = LEDGER[f"A11-{id}"].evaluate(Scaled(factors, lost))
    assert sum(bool(check.passed) for check in finding.checks) == passed, finding.measured


class Timed(Runs):
    """Handoffs whose slowest flow takes this long, by scheme."""

    def __init__(self, seconds: dict[str, float]) -> None:
        super().__init__()
        self.seconds, self.real = seconds, Runs()

    def sweep(self, job: Sweep) -> RunTable:
        table = self.real.sweep(replace(job, at_ns=job.at_ns[::8]))
        columns = {name: table._table.column(name) for name in table._table.column_names}
        columns["t_new_ns"] = [round(1e9 * self.seconds[job.scheme])] * len(table)
        return RunTable(readings.Columns(columns))


@pytest.mark.parametrize(
    ("id", "seconds", "passed"),
    [
        ("F8", (1.0, 1.0, 0.80, 1.0), 3),
        ("F8", (1.0, 1.0, 0.86, 1.0), 0),
        ("F9", (1.0, 0.9, 0.80, 1.0), 0),
        ("F7", (1.0, 1.0, 0.9, 0.9), 6),
        ("F7", (1.0, 0.9, 0.9, 0.8), 3),
        ("F11", (1.8, 1.2, 1.0, 1.1), 6),
        ("F11", (1.7, 1.2, 1.0, 0.9), 0),
    ],
)
def test_handoff_claims_pass_and_fail_at_their_limits(
    id: str, seconds: tuple[float, ...], passed: int
) -> None:
    times = dict(zip((s.core for s in sc.MOVING), seconds, strict=True))
    finding = LEDGER[f"A11-{id}"].evaluate(Timed(times))
    assert sum(bool(check.passed) for check in finding.checks) == passed, finding.measured


def test_nothing_is_faster_than_the_ideal(runs: Runs) -> None:
    for figure in ("6", "8"):
        e = sc.EXPERIMENTS[figure]
        for scheme in sc.MOVING:
            assert median_s(runs, e.sweep(scheme)) > ideal_s(e.sweep(scheme))


# Readings


def test_a_reading_changes_something_and_is_judged_on_every_claim(study: Study) -> None:
    own = [c.id for c in study.claims if c.id not in ("A11-T1", "A11-F1")]
    own = [id for id in own if not id.startswith("A11-X")]
    assert sorted(own) == sorted((*readings.STARTS, *readings.HANDOFFS))
    jobs = [job for id in own for job in LEDGER[id].needs]
    for reading in readings.READINGS:
        changed = any(reading.job(job) != job for job in jobs)
        measured_otherwise = reading.slowest or reading.from_make
        assert changed == (reading.name != readings.AS_TAKEN and not measured_otherwise)
    names = [reading.name for reading in readings.READINGS]
    assert len(set(names)) == len(names)


def test_the_rules_for_chirps_find_different_things(runs: Runs) -> None:
    found = {}
    for rule in ("first-rise", "abest", "abest-plain"):
        job = replace(STARTED["2"], knobs=sc.with_knobs(sc.KNOBS, chirp_estimator=rule))
        found[rule] = trains(runs.trace(job))[-1].rate_bps
    assert found["abest"] < found["abest-plain"] < found["first-rise"]
    assert found["abest"] < 5e6  # of 50 Mbit/s on an idle link
    # Where only the chirp builds a queue, pathChirp's last excursion is the first rise.
    assert trains(runs.trace(STARTED["2"]))[-1].rate_bps == found["first-rise"]


def test_trains_withhold_nothing_and_chirps_are_no_longer_than_the_paper_has_them(
    runs: Runs,
) -> None:
    assert max(len(train.sent_s) for train in trains(runs.trace(ONE))) <= 16
    e = sc.EXPERIMENTS["8"]
    log = runs.trace(e.trace(ABEST, sc.instants_ns(e.old)[12] / 1e9, 1, 2.0))
    found = [t for t in trains(log) if t.sent_s[0] >= sc.instants_ns(e.old)[12] / 1e9]
    assert len(found) >= 2
    sent = log.of("send").time_s
    for train in found:
        assert ((sent > train.sent_s[-1]) & (sent < train.reported_s)).any()


def test_counted_from_the_make_a_transfer_is_shorter_by_the_gap(runs: Runs) -> None:
    e = sc.EXPERIMENTS["12"]
    job = replace(e.sweep(VHO), at_ns=e.sweep(VHO).at_ns[::8])
    table = runs.sweep(job)
    shifted = readings.since_make(table, e.gap_s)
    assert shifted.transfer_time_s == pytest.approx(table.transfer_time_s - 1.0)
    assert np.array_equal(shifted["nrto"], table["nrto"])


def test_the_slowest_flow_is_not_faster_than_the_mean(runs: Runs) -> None:
    reading = next(r for r in readings.READINGS if r.slowest)
    changed = readings._Changed(runs, reading)
    job = sc.start("4", QS)
    assert goodput_mbps(changed, job, 400) < goodput_mbps(runs, job, 400)
    assert drops(changed, job) == drops(runs, job)


# Beside a plain flow


def test_shares_and_losses_are_of_newcomer_and_resident(runs: Runs) -> None:
    for e in fairness.ENCOUNTERS:
        got = e.column(runs, IW10, "acked_window")
        assert got.shape[1] == 2
        assert (got > 0).all()
        carried = e.link.kbps * 1000 * fairness.WINDOW_S / 12_000
        assert (got.sum(axis=1) < 1.1 * carried).all()
        assert e.share(runs, IW10).mean == pytest.approx((got[:, 1] / got.sum(axis=1)).mean())
        assert 0.5 <= e.index(runs, IW10) <= 1.0


def test_what_harms_the_resident_fails() -> None:
    class Harmful(Runs):
        """AbestVho's newcomers cost the resident more than plain ones."""

        def startup(self, job: Startup) -> StartupTable:
            harm = job.scheme == ABEST.core

            class Table:
                def __getitem__(self, name: str) -> Any:
                    return np.array(
                        [90.0, 10.0 + harm] if name == "drops_data" else [1.0, 1 - 0.1 * harm]
                    )

            return Table()  # type: ignore[return-value]

    checks = LEDGER["A11-X1"].evaluate(Harmful()).checks
    assert [check.passed for check in checks] == [False] * len(checks)


# The whole


def test_probes_are_jobs_like_others(runs: Runs) -> None:
    job = Probing(sc.HSDPA_6, "probe-train", 16, runs=2)
    own = Runs()
    told: list[tuple[str, int, int]] = []
    own.make([job], lambda *progress: told.append(progress))
    assert told[-1] == ("runs", 2, 2)
    assert own.made == [job]
    assert own[job].column("run") == [0, 1]
    assert own.digest() != Runs().digest()
    assert runs[job].column("digest") == own[job].column("digest")


def test_one_figure_is_reproduced(tmp_path: Path) -> None:
    result = reproduce(NAME, figure="12", out=tmp_path)
    assert [claim.id for claim in result.claims] == ["A11-F12"]
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "A11-F12" in report
    again = reproduce(NAME, figure="12", out=tmp_path / "again")
    assert again.digest == result.digest


def test_the_command_in_the_assumptions_repeats_figure_2(
    study: Study, runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    command = study.assumptions().split("```")[1].replace("\\\n", " ")
    assert main([*shlex.split(command)[1:], "--json"]) == 0
    schemes = json.loads(capsys.readouterr().out)["schemes"]
    for one, scheme in zip(schemes, sc.STARTING, strict=True):
        assert one["scheme"] == scheme.core
        for n in sc.PACKETS:
            found = goodput_mbps(runs, sc.start("2", scheme), n)
            assert one[f"first_{n}_bps"] == pytest.approx(1e6 * found)


def test_every_job_of_the_study_is_a_run_of_the_papers_links(study: Study) -> None:
    jobs: list[Job] = [job for figure in study.figures[:12] for job in figure.needs]
    links = {job.link for job in jobs if isinstance(job, Startup)}
    for job in jobs:
        if isinstance(job, Sweep):
            links |= {job.cell.old, job.cell.new}
    table_1 = {sc.EGPRS, sc.HSDPA_2, sc.HSDPA_6, sc.LTE, sc.WLAN_2, sc.WLAN_4}
    assert links == table_1 | {sc.LTE_50}


def test_lost_figures_and_swapped_captions_are_argued(study: Study) -> None:
    text = study.assumptions()
    for wanted in ("Figure 3 (lost)", "Figure 10 (its caption is lost)", "Figure 13", "An outage"):
        assert re.search(re.escape(wanted), text), wanted
