"""The overview of Daniel, Järvinen and Kojo: ledger, measures, and the table of problems."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from midflight.claims import Verdict
from midflight.plot import BarPanel, bar_panels
from midflight.results import Estimate, EventLog
from midflight.studies import load, reproduce
from midflight.studies.daniel_kojo_2008 import scenarios as earlier
from midflight.studies.daniel_kojo_2008.claims import LEDGER as EARLIER
from midflight.studies.daniel_overview import scenarios as sc
from midflight.studies.daniel_overview.appendix import OTHER_NS, PARTS, SETTINGS
from midflight.studies.daniel_overview.claims import EARLIER_CLAIMS, LEDGER, problem_check
from midflight.studies.daniel_overview.measures import (
    Timeouts,
    fairness,
    graph_reduction,
    mean_window,
    paired,
    reduction,
    retransmission_timeouts,
    slowest_of,
)
from midflight.studies.daniel_overview.problems import (
    CATCHING_UP,
    CONVERGED_S,
    LOSSES,
    PROBLEMS,
    SLOW_RTO,
    SPURIOUS,
    TRACED_NS,
    TRACED_S,
    UNUSED,
    Problem,
    convergence_trace,
)
from midflight.studies.runs import Cell, Link, Runs, Sweep, Trace
from midflight.studies.study import Study

NAME = "daniel-overview"

#: The rows of the acceptance list.
IDS = "T1 G1 G2 G3 G4 G5 G6 G7 C1 C2".split()
FIGURES = "1 2 3 4 5 6 7 8 9".split()


@pytest.fixture(scope="module")
def study() -> Study:
    return load(NAME)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_every_row_of_the_acceptance_list_and_every_figure_is_there(study: Study) -> None:
    assert [claim.id for claim in study.claims] == [f"P10-{id}" for id in IDS]
    assert all(claim.claim and claim.rule and claim.needs for claim in study.claims)
    assert [figure.id for figure in study.figures] == FIGURES
    named = {figure for claim in study.claims for figure in claim.figures}
    assert named == set(FIGURES)


def test_the_handoffs_are_those_of_the_graphs() -> None:
    cells = {id: str(graph.cell) for id, graph in sc.GRAPHS.items()}
    assert cells == {
        "G4": "6400/9 -> 200/300 MBB",
        "G5": "54000/2 -> 2000/50 MBB",
        "G6": "6000/50 -> 54000/4 MBB",
        "G7": "6000/50 -> 54000/4 BBM",
    }
    assert sc.G5.cell.old.bdp == pytest.approx(18.0)
    assert all(job.flows in sc.FLOWS for job in sc.G4.sweeps(*sc.SCHEMES))
    instants = {id: len(graph.at_ns) for id, graph in sc.GRAPHS.items()}
    assert instants == {"G4": 100, "G5": 50, "G6": 100, "G7": 100}
    for graph in sc.GRAPHS.values():
        assert set(OTHER_NS) < set(graph.at_ns) < set(earlier.INSTANTS_NS)


def test_graphs_for_one_flow_read_the_runs_of_2008() -> None:
    for graph, ids in EARLIER_CLAIMS.items():
        needed = {job for id in ids for job in EARLIER[f"{id}"].needs}
        own = {
            sc.alone(cell, scheme)
            for cell in sc.SINGLE[graph].values()
            for scheme in (sc.REGULAR, sc.ENHANCED)
        }
        assert own & needed
        cells = {job.cell for job in needed if isinstance(job, Sweep)}
        # G1 has 6400 kbit/s only; D08-F17b-4 shows 1600 kbit/s beside it.
        assert {c for c in cells if c.old.kbps != 1600 or graph != "G1"} <= {
            *sc.SINGLE[graph].values()
        }
    assert sc.alone(sc.SINGLE["G1"]["75"], sc.VHO).knobs == sc.DSACK


@pytest.mark.parametrize("graph", ["G1", "G3"])
def test_graphs_for_one_flow_have_the_verdicts_of_2008(runs: Runs, graph: str) -> None:
    here = LEDGER[f"P10-{graph}"].evaluate(runs)
    there = [c for id in EARLIER_CLAIMS[graph] for c in EARLIER[id].evaluate(runs).checks]
    assert [(c.value, c.passed) for c in here.checks] == [(c.value, c.passed) for c in there]


# What is measured


@pytest.mark.parametrize("link", [Link(200, 300), Link(6400, 9), Link(800, 75)])
def test_the_timeout_of_a_trace_is_the_senders(runs: Runs, link: Link) -> None:
    log = runs.trace(Trace(Cell(link, link, "mbb"), sc.REGULAR, None, 20.0))
    told = retransmission_timeouts(log)
    table = runs.sweep(earlier.sweep(Cell(link, Link(6400, 300), "mbb")))
    of_sender = table.seconds("rto_ns") / table["backoff"]
    before = np.nextafter(table.instant_s, 0)
    assert [told.at(at) for at in before] == pytest.approx(of_sender.tolist(), abs=1e-9)
    assert len(set(of_sender)) > 3


def test_the_timeout_after_a_restart_is_the_senders() -> None:
    """A1 raises the minimum, A4 restarts: the values that the orders name, in their order."""
    log = Runs().trace(convergence_trace("a4", 10_000_000_000))
    restart = log.of("order").detailed("a4").first_s
    told = retransmission_timeouts(log)
    assert told.at(restart) == 3.0
    assert told.at(restart + 1.0) == 0.2
    raised = Runs().trace(Trace(SPURIOUS.cell, "a1", 8.2, 9.0))
    order = raised.of("min_rto")
    assert retransmission_timeouts(raised).at(order.first_s) == pytest.approx(order.value[0])
    assert order.value[0] > 0.5


def test_a_timeout_settles_when_it_stays_low() -> None:
    timeouts = Timeouts(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.3, 0.9, 0.2]))
    assert timeouts.settled_after(0.5, 0.4) == 2.5
    assert timeouts.settled_after(3.5, 0.4) == 0.0
    assert timeouts.settled_after(0.5, 2.0) == 0.0
    assert math.isnan(timeouts.settled_after(0.5, 0.1))
    assert math.isnan(timeouts.at(-1.0))


def test_pairs_are_counted_and_their_differences_judged() -> None:
    nan = math.nan
    pairs = paired(np.array([3.0, 2.0, 4.0, nan, 1.0]), np.array([1.0, 2.0, 1.0, 0.0, nan]))
    assert (pairs.n, pairs.better, pairs.worse) == (3, 2, 0)
    assert (pairs.first.mean, pairs.second.mean) == (3.0, pytest.approx(4 / 3))
    # Differences 2, 0, 3: mean 5/3, t(2) = 4.303, s = 1.528: the interval reaches below zero.
    assert pairs.saved.half_width == pytest.approx(4.3027 * 1.5275 / math.sqrt(3), rel=1e-3)
    assert pairs.there
    assert not pairs.reduced
    many = paired(np.full(20, 2.0), np.arange(20) % 2)
    assert many.reduced
    assert not paired(np.zeros(9), np.zeros(9)).there


def test_a_problem_that_is_not_there_or_not_reduced_fails() -> None:
    here, gone = np.full(9, 1.0), np.zeros(9)
    for first, second, passed in (
        (here, gone, True),
        (here, here, False),
        (gone, gone, False),
        (gone, here, False),
        (np.full(9, math.nan), gone, None),
    ):
        assert problem_check(SPURIOUS, paired(first, second)).passed is passed


def test_a_reduction_is_of_the_slowest_flow_and_of_the_instants_asked_for(runs: Runs) -> None:
    jobs = [sc.sweep(sc.G4.cell, s, 2, at_ns=sc.FEWER_NS[:6]) for s in (sc.REGULAR, sc.VHO)]
    slow = [runs.sweep(job).by_flow("t_new_ns").max(axis=1) for job in jobs]
    assert reduction(runs, *jobs) == pytest.approx(1 - np.median(slow[1]) / np.median(slow[0]))
    one = reduction(runs, *jobs, at_ns=sc.FEWER_NS[2:3])
    assert one == pytest.approx(1 - slow[1][2] / slow[0][2])


def test_fairness_has_a_value_for_each_run(runs: Runs) -> None:
    alone, four = sc.G4.sweep(sc.REGULAR, 1), sc.G4.sweep(sc.REGULAR, 4)
    assert fairness(runs, alone).tolist() == pytest.approx([1.0] * len(sc.FEWER_NS))
    assert fairness(runs, four).shape == (len(sc.FEWER_NS),)
    late = sc.G7.sweep(sc.REGULAR, 1)
    nothing = runs.sweep(late)["acked_window"] == 0
    assert nothing.sum() == 1
    assert fairness(runs, late).tolist() == [1.0] * int((~nothing).sum())
    assert 0.25 < fairness(runs, four).min() < fairness(runs, four).max() <= 1.0


# The table of problems


def test_each_problem_has_its_own_enhancement_and_handoff() -> None:
    assert [problem.scheme for problem in PROBLEMS] == [
        "a1",
        "reordering",
        "a4",
        "a2",
        "quick-start",
        "a3",
    ]
    assert len({problem.cell for problem in PROBLEMS}) == 6
    assert LOSSES.flows == 4
    assert all(
        job.knobs == sc.DSACK
        for problem in PROBLEMS
        for job in problem.needs()
        if isinstance(job, Sweep | Trace)
    )


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.scheme)
def test_another_enhancement_does_not_help(runs: Runs, problem: Problem) -> None:
    """What is measured is that problem: A3 does nothing make-before-break, A2 nothing else."""
    other = "a2" if problem is UNUSED else "a3"
    pairs = paired(problem.measure(runs, sc.REGULAR, "ns2"), problem.measure(runs, other, "ns2"))
    assert pairs.there
    assert not pairs.reduced


def test_unused_time_is_that_of_instants_in_rto_recovery(runs: Runs) -> None:
    values = UNUSED.measure(runs, sc.REGULAR, "ns2")
    (job,) = UNUSED.jobs(sc.REGULAR, "ns2")
    assert isinstance(job, Sweep)
    stalled = slowest_of(runs, job)["in_rto_recovery_at_make"] == 1
    assert (np.isfinite(values) == stalled).all()
    assert np.nanmin(values) > 0
    assert np.nanmax(UNUSED.measure(runs, "a3", "ns2")) == 0


def test_the_capacity_is_what_the_link_carries(runs: Runs) -> None:
    for scheme in (sc.REGULAR, "quick-start"):
        unfilled = CATCHING_UP.measure(runs, scheme, "ns2")
        assert ((unfilled > 0) & (unfilled < 1)).all()


def test_the_rto_converges_within_the_trace(runs: Runs) -> None:
    assert len(TRACED_NS) == 40
    for scheme in (sc.REGULAR, "a4"):
        assert SLOW_RTO.measure(runs, scheme, "ns2").max() < TRACED_S
    assert SLOW_RTO.measure(runs, sc.REGULAR, "rfc").size == 0
    log = runs.trace(convergence_trace("a4", TRACED_NS[0]))
    assert isinstance(log, EventLog)
    assert retransmission_timeouts(log).rto_s[-1] <= CONVERGED_S


#: Verdicts.  A change here is a change of what the simulator says about the overview, and needs a
#: reason.
VERDICTS = dict.fromkeys(IDS, "reproduced")


@pytest.mark.parametrize("row", VERDICTS)
def test_verdicts_stand_and_are_explained(study: Study, runs: Runs, row: str) -> None:
    finding = study.claims[f"P10-{row}"].evaluate(runs)
    assert str(finding.verdict) == VERDICTS[row], finding.measured
    assert finding.note or finding.verdict is Verdict.REPRODUCED
    assert "nan" not in f"{finding.measured} {finding.note}".split()
    assert "no data" not in finding.measured


def test_what_a_verdict_hides_is_in_the_report(runs: Runs) -> None:
    """Gains that turn into losses although the rule of the row is met."""
    assert graph_reduction(runs, sc.G6, 1) < -0.2
    assert graph_reduction(runs, sc.G4, 4) < 0 < graph_reduction(runs, sc.G4, 1)
    text = LEDGER["P10-G6"].evaluate(runs).context
    assert "The time for 100 segments differs" in text
    windows = [mean_window(runs, sc.G6.sweep(sc.REGULAR, n)) for n in sc.FLOWS]
    assert windows == sorted(windows, reverse=True)


def test_under_rfc_two_problems_are_not_there(runs: Runs) -> None:
    """What the report says of the profile: a minimum RTO of 1 s outlasts these handoffs."""
    assert SPURIOUS.against(runs, "a1", "rfc").first.mean == 0
    assert UNUSED.against(runs, "a3", "rfc").n == 0
    (rfc,) = (setting for setting in SETTINGS if setting.profile == "rfc")
    unneeded, recovering = {}, {}
    for graph, cells in sc.SINGLE.items():
        for name, cell in cells.items():
            table = runs.sweep(rfc.single(cell, sc.REGULAR))
            assert len(table) == 24
            unneeded[graph, name] = round(24 * table.mean("nspur"))
            recovering[graph, name] = round(24 * table.mean("in_rto_recovery_at_make"))
    # All that is left, in 24 instants each: unneeded retransmissions, and flows in recovery.
    assert {cell: count for cell, count in unneeded.items() if count} == {
        ("G2", "400/150"): 2,
        ("G2", "800/75"): 5,
        ("G2", "1600/37"): 6,
        ("G2", "3200/18"): 1,
        ("G2", "6400/9"): 3,
    }
    assert {cell: count for cell, count in recovering.items() if count} == {("G3", "400/150"): 1}
    assert LOSSES.against(runs, "a2", "rfc").reduced
    assert CATCHING_UP.against(runs, "quick-start", "rfc").reduced


# The report


def test_the_assumptions_say_what_is_taken(study: Study) -> None:
    text = study.assumptions()
    for problem in PROBLEMS:
        assert f"{problem.cell.old} to {problem.cell.new}" in text, problem.name
        assert f"| {problem.name} |" in text
    for word in ("`vho-qs`", "`enhanced`", "`dsack=on`", "D08-F17b-3", "slowest flow"):
        assert word in text
    numbers = ", ".join(map(str, sc.FLOWS))
    assert f"| {numbers};" in text


def test_other_settings_change_one_thing() -> None:
    names = [setting.name for setting in SETTINGS]
    assert len(set(names)) == len(names)
    cell = sc.SINGLE["G1"]["75"]
    for setting in SETTINGS:
        job = setting.several(sc.G4, sc.VHO, 2)
        usual = sc.G4.sweep(sc.VHO, 2)
        assert (
            (job == usual) == setting.usual == (setting.single(cell, "a1") == sc.alone(cell, "a1"))
        )
        assert job.profile == setting.profile
        assert job.stagger_s == setting.stagger_s
        if setting.stagger_s:
            assert min(OTHER_NS) / 1e9 > setting.stagger_s * max(sc.FLOWS)
    assert {graph.id for graph, _, _ in PARTS} == {"G4", "G6"}


def test_one_figure_is_reproduced(tmp_path: Path) -> None:
    result = reproduce(NAME, figure="8", out=tmp_path)
    assert [claim.id for claim in result.claims] == ["P10-T1"]
    assert result.claims[0].verdict is Verdict.REPRODUCED
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "P10-T1" in report
    with (tmp_path / "figures" / "fig08.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * len(PROBLEMS)
    of = {(row["problem"], row["scheme"]): row for row in rows}
    for problem in PROBLEMS:
        plain, single = of[problem.name, sc.REGULAR], of[problem.name, problem.scheme]
        saved = float(plain["mean"]) - float(single["mean"])
        assert saved == pytest.approx(float(single["mean_saved"]), abs=1e-5)
        assert plain["mean_saved"] == ""
    again = reproduce(NAME, figure="8", out=tmp_path / "again")
    assert again.digest == result.digest


def test_panels_are_drawn_with_what_has_no_value(tmp_path: Path) -> None:
    nan = math.nan
    known, unknown = Estimate(1.0, 0.2), Estimate(nan, nan)
    panels = [
        BarPanel("(a) One", "Losses\n(per handoff)", [known, Estimate(0.0, 0.0)]),
        BarPanel(
            "(b) Two, with a title that takes more than a line of its panel", "s", [unknown, known]
        ),
        BarPanel("(c) Three", "s", [Estimate(2.0, nan), unknown]),
        BarPanel("(d) Four", "s", [unknown, unknown]),
    ]
    drawn = [
        bar_panels(tmp_path / name, panels, labels=("plain", "enhanced")) for name in ("a", "b")
    ]
    assert [path.suffix for path in drawn[0]] == [".svg", ".png"]
    for one, other in zip(*drawn, strict=True):
        assert one.read_bytes() == other.read_bytes()
