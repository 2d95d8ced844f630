"""Every claim of the overview of Daniel, Järvinen and Kojo with its pass rule.

T1 is the table of problems, G1 to G3 are the graphs for a single flow, G4 to G7 those for several,
C1 and C2 the summary.  The graphs for a single flow are those of Daniel and Kojo (2008), whose
study has their rules.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from midflight.claims import Check, Finding, Ledger, at_least, percent
from midflight.results import quantile, rank_correlation
from midflight.studies.daniel_kojo_2008.claims import LEDGER as EARLIER
from midflight.studies.daniel_kojo_2008.claims.common import found
from midflight.studies.daniel_overview.measures import (
    Pairs,
    carried,
    fairness,
    graph_reduction,
    mean_window,
    reduction,
    slowest_of,
)
from midflight.studies.daniel_overview.problems import PROBLEMS, Problem
from midflight.studies.daniel_overview.scenarios import (
    ENHANCED,
    FLOWS,
    G4,
    G5,
    G6,
    G7,
    GRAPHS,
    MORE_PACKETS,
    REGULAR,
    SCHEMES,
    SINGLE,
    VHO,
    Graph,
    alone,
)
from midflight.studies.runs import Job, Runs, Sweep

__all__ = ["EARLIER_CLAIMS", "LEDGER", "single_reductions"]

LEDGER = Ledger()


# The table of problems


def amount(value: float, unit: str) -> str:
    """A measure with its unit."""
    return percent(value) if unit == "share" else f"{value:.2f} {unit}".removesuffix(" per handoff")


def lowered(text: str) -> str:
    """A text with a lower-case first letter."""
    return text[:1].lower() + text[1:]


def problem_check(problem: Problem, pairs: Pairs) -> Check:
    """Checks that the problem exists and that the enhancement alone reduces it."""
    unit = problem.unit
    return Check(
        f"{problem.name}, {problem.enhancement}",
        f"{lowered(problem.what)} {amount(pairs.first.mean, unit)} to "
        f"{amount(pairs.second.mean, unit)}",
        pairs.there and pairs.reduced if pairs.n else None,
    )


def pairs_text(problem: Problem, pairs: Pairs) -> str:
    """How often each scheme is better."""
    saved, half_width = (amount(value, problem.unit) for value in pairs.saved)
    return (
        f"{saved} +- {half_width} less, better at {pairs.better} and worse at {pairs.worse} of "
        f"{pairs.n}"
    )


@LEDGER.claim(
    "P10-T1",
    "A vertical handoff has six problems, and each has its enhancement: spurious RTOs (A1), packet "
    "reordering (`reordering`), slow convergence of the RTO (A4), packet losses (A2, for each "
    "flow), inability to catch up with a high bandwidth (Quick-Start), unused connection time "
    "(A3).",
    "Each problem in a handoff of its own, over the same instants: its mean measure under `sack` "
    "is above zero, and lower with the enhancement alone, both by more than the 95 % interval (of "
    "the paired differences).",
    figures=("8",),
    needs=tuple(job for problem in PROBLEMS for job in problem.needs()),
)
def t1(runs: Runs) -> Finding:
    checks, parts = [], []
    for problem in PROBLEMS:
        single, whole = (problem.against(runs, scheme) for scheme in (problem.scheme, VHO))
        checks.append(problem_check(problem, single))
        parts.append(
            f"{problem.name} ({problem.cell}): {pairs_text(problem, single)}; all enhancements "
            f"{amount(whole.second.mean, problem.unit)}"
        )
    return found(checks, context=". ".join(parts) + ".")


# The graphs for a single flow

#: The claims of 2008 about the same results as these graphs.  The overview has 6400 kbit/s only.
EARLIER_CLAIMS = {
    "G1": ("D08-F17b-1", "D08-F17b-2", "D08-F17b-4"),
    "G2": ("D08-F23a-1", "D08-F23a-2", "D08-F23b"),
    "G3": ("D08-F26",),
}


def single_jobs(graph: str) -> tuple[Job, ...]:
    """The runs of a graph for a single flow."""
    return tuple(alone(cell, scheme) for cell in SINGLE[graph].values() for scheme in SCHEMES)


def single_reductions(runs: Runs, graph: str, scheme: str) -> dict[str, float]:
    """The reductions of the median in a graph for a single flow, by the varied link."""
    return {
        name: reduction(runs, alone(cell, REGULAR), alone(cell, scheme))
        for name, cell in SINGLE[graph].items()
    }


def texts(values: dict[str, float]) -> str:
    """`150: 3.1 %, ...`"""
    return ", ".join(f"{name}: {percent(value)}" for name, value in values.items())


def as_in_2008(runs: Runs, graph: str) -> Finding:
    """The findings of the claims of 2008 in the same runs."""
    checks: list[Check] = []
    notes = []
    for id in EARLIER_CLAIMS[graph]:
        earlier = EARLIER[id].evaluate(runs)
        name = id.removeprefix("D08-")
        checks += [Check(f"{name}, {c.what}", c.value, c.passed) for c in earlier.checks]
        if earlier.note:
            notes.append(f"{name}: {earlier.note}")
    return found(
        checks,
        context="Reductions with A1 to A4, "
        + texts(single_reductions(runs, graph, ENHANCED))
        + "; with all enhancements of the table, "
        + texts(single_reductions(runs, graph, VHO))
        + ".",
        note=" ".join(notes),
    )


def single_needs(graph: str) -> tuple[Job, ...]:
    """The runs that a graph for a single flow reads, those of the claims of 2008 included."""
    earlier = (job for id in EARLIER_CLAIMS[graph] for job in EARLIER[id].needs)
    return (*single_jobs(graph), *earlier)


@LEDGER.claim(
    "P10-G1",
    "One flow at 6400 kbit/s, break-before-make from a shorter delay to 300 ms: the enhancements "
    "reduce the transfer time.",
    "As D08-F17b-1, F17b-2 and F17b-4, whose parts are these: from 75 ms 50 to 65 %, and more than "
    "from elsewhere; from 1 ms < 20 %; from 150 ms less than 5 % either way.",
    figures=("1",),
    needs=single_needs("G1"),
)
def g1(runs: Runs) -> Finding:
    return as_in_2008(runs, "G1")


@LEDGER.claim(
    "P10-G2",
    "One flow, make-before-break from a link of ten packets with less delay and more bandwidth to "
    "200/300: the enhancements reduce the transfer time.",
    "As D08-F23a-1, F23a-2 and F23b, whose parts are these: 30 to 50 % from 1600/37, 3200/18, "
    "6400/9 each; less than 5 % either way from 400/150 and 800/75 each; losses with A5 <= 0.3 of "
    "those with A2, with A2 <= 0.6 of those of regular TCP.",
    figures=("2",),
    needs=single_needs("G2"),
)
def g2(runs: Runs) -> Finding:
    return as_in_2008(runs, "G2")


@LEDGER.claim(
    "P10-G3",
    "The same, break-before-make.",
    "As D08-F26, whose parts are these: less than 5 % either way from 400/150; >= 20 % from "
    "800/75, 1600/37, 3200/18, 6400/9 each.",
    figures=("3",),
    needs=single_needs("G3"),
)
def g3(runs: Runs) -> Finding:
    return as_in_2008(runs, "G3")


# The graphs for several flows


def flows_text(flows: int) -> str:
    """A number of flows in words."""
    return "1 flow" if flows == 1 else f"{flows} flows"


def by_flows(runs: Runs, graph: Graph, scheme: str = VHO, column: str = "t_new_ns") -> str:
    """`1: 41.9 %, 2: ...`"""
    return texts({str(n): graph_reduction(runs, graph, n, scheme, column) for n in FLOWS})


def both_schemes(runs: Runs, graph: Graph) -> str:
    """The reductions with all enhancements and with A1 to A4."""
    return (
        f"Reductions by number of flows: {by_flows(runs, graph)}; with A1 to A4 alone: "
        f"{by_flows(runs, graph, ENHANCED)}."
    )


def means_text(runs: Runs, graph: Graph, flows: int, column: str) -> str:
    """The mean of a count, plain and with all enhancements: `29.1 to 0.1`."""
    rows = (slowest_of(runs, graph.sweep(scheme, flows)) for scheme in (REGULAR, VHO))
    return " to ".join(f"{row.mean(column):.1f}" for row in rows)


def ends_mean(runs: Runs, job: Sweep, column: str) -> tuple[float, float]:
    """The mean of a column over the fastest flow of each run, and over the slowest."""
    table = runs.sweep(job)
    times = np.nan_to_num(table.by_flow("t_new_ns"), nan=np.inf)
    values = table.by_flow(column)
    rows = np.arange(len(values))
    return (
        float(values[rows, times.argmin(axis=1)].mean()),
        float(values[rows, times.argmax(axis=1)].mean()),
    )


def fastest_s(runs: Runs, graph: Graph, flows: int, scheme: str) -> float:
    """The median time of the fastest flow in seconds."""
    times = runs.sweep(graph.sweep(scheme, flows)).by_flow("t_new_ns") / 1e9
    return quantile(np.nan_to_num(times, nan=np.inf).min(axis=1), 0.5)


def who_gains(runs: Runs, graph: Graph, flows: int) -> str:
    """The fastest and the slowest flow, the total, and its fairness: plain and enhanced."""
    values = []
    for scheme in (REGULAR, VHO):
        job = graph.sweep(scheme, flows)
        rows = slowest_of(runs, job)
        values.append(
            (
                f"{fastest_s(runs, graph, flows, scheme):.1f}",
                f"{rows.transfer_time.median:.1f}",
                f"{rows.mean('timeouts'):.1f}",
                f"{carried(runs, job).mean():.0f}",
                f"{np.mean(fairness(runs, job)):.2f}",
            )
        )
    fast, slow, timeouts, acked, index = (
        f"{before} to {after}" for before, after in zip(*values, strict=True)
    )
    losses = " to ".join(
        " and ".join(
            f"{ends_mean(runs, graph.sweep(s, flows), 'drops_data')[i]:.1f}" for i in (0, 1)
        )
        for s in (REGULAR, VHO)
    )
    return (
        f"With {flows} flows the fastest takes {fast} s and the slowest {slow} s, timeouts are "
        f"{timeouts}, segments acknowledged in {graph.window_s:g} s {acked}, Jain's index {index}, "
        f"segments lost by the fastest and by the slowest flow {losses}"
    )


@LEDGER.claim(
    "P10-G4",
    "Several flows, make-before-break from 6400/9 to 200/300: the gain shrinks with the number of "
    "flows.",
    "Reductions of the median of the slowest flow's time (`vho-qs`): with one flow not less than "
    "with two, and with two not less than five points below that with four.",
    figures=("4", "9"),
    needs=G4.sweeps(*SCHEMES),
)
def g4(runs: Runs) -> Finding:
    one, two, four = (graph_reduction(runs, G4, n) for n in (1, 2, 4))
    return found(
        [
            Check("1 flow to 2", f"{percent(one)} to {percent(two)}", one >= two),
            Check("2 flows to 4", f"{percent(two)} to {percent(four)}", two >= four - 0.05),
        ],
        context=f"{both_schemes(runs, G4)} {who_gains(runs, G4, 4)}. Under `sack` spurious "
        "timeouts delay every flow. Without them more is transferred in total, and the losses "
        "decide which flow is the slowest: the flow that loses most waits for its timer while the "
        "others fill the new link.",
    )


@LEDGER.claim(
    "P10-G5",
    "Several flows, make-before-break from 54000/2 to 2000/50, which hold 18 packets: the gain is "
    "visible.",
    "Reduction of the median with one flow (`vho-qs`) > 10 %.",
    figures=("5", "9"),
    needs=G5.sweeps(*SCHEMES),
)
def g5(runs: Runs) -> Finding:
    value = graph_reduction(runs, G5, 1)
    losses = ", ".join(f"{n}: {means_text(runs, G5, n, 'drops_data')}" for n in FLOWS)
    return found(
        [Check("1 flow", percent(value), value > 0.10)],
        context=f"{both_schemes(runs, G5)} Segments lost by number of flows: {losses}.",
    )


@LEDGER.claim(
    "P10-G6",
    "Several flows, make-before-break from 6000/50 to 54000/4: packets are reordered and the "
    "bandwidth is not used; the enhancements help.",
    "Mean false fast retransmits with `vho-qs` below those of `sack`, with 1, 2, 4 and 8 flows "
    "each.",
    figures=("6",),
    needs=G6.sweeps(*SCHEMES),
)
def g6(runs: Runs) -> Finding:
    checks = []
    for flows in FLOWS:
        regular, other = (
            slowest_of(runs, G6.sweep(scheme, flows)).mean("false_fast_rexmits")
            for scheme in (REGULAR, VHO)
        )
        checks.append(Check(flows_text(flows), f"{regular:.2f} to {other:.2f}", other < regular))
    capacity = G6.cell.new.kbps * 1e3 * G6.window_s / 12_000
    used = ", ".join(
        f"{n}: "
        + " to ".join(
            percent(float(carried(runs, G6.sweep(scheme, n)).mean()) / capacity, 0)
            for scheme in (REGULAR, VHO)
        )
        for n in FLOWS
    )
    evenly = " to ".join(
        f"{np.mean(fairness(runs, G6.sweep(scheme, 8))):.2f}" for scheme in (REGULAR, VHO)
    )
    return found(
        checks,
        context=f"The new link's use in the first second, by number of flows: {used}. The time for "
        f"100 segments differs: {both_schemes(runs, G6)} For {MORE_PACKETS} segments: "
        f"{by_flows(runs, G6, column='t_new_extra0_ns')}; with A1 to A4 alone: "
        f"{by_flows(runs, G6, ENHANCED, 't_new_extra0_ns')}. The needless retransmissions of "
        "`sack` go over the new link, overtake the segments that are still on the old one, and so "
        "end the wait for them; A2 sends nothing until half of the outstanding segments are "
        "acknowledged; and of simultaneous requests Quick-Start grants most to the first one "
        f"(Jain's index with 8 flows {evenly}).",
    )


@LEDGER.claim(
    "P10-G7",
    "Several flows, break-before-make from 6000/50 to 54000/4: it helps to retransmit at the make.",
    "Reduction of the median of the slowest flow's time (`vho-qs`) > 0 with 1, 2, 4 and 8 flows "
    "each.",
    figures=("7",),
    needs=G7.sweeps(*SCHEMES),
)
def g7(runs: Runs) -> Finding:
    checks = [
        Check(flows_text(n), percent(value), value > 0)
        for n, value in ((n, graph_reduction(runs, G7, n)) for n in FLOWS)
    ]
    waited = slowest_of(runs, G7.sweep(REGULAR, 1)).seconds("unused_ns")
    return found(
        checks,
        context=f"With A1 to A4 alone: {by_flows(runs, G7, ENHANCED)}. For {MORE_PACKETS} "
        f"segments: {by_flows(runs, G7, column='t_new_extra0_ns')}. Unused time of `sack` after "
        f"the make, one flow: median {quantile(waited[np.isfinite(waited)], 0.5):.2f} s.",
    )


# The summary


@LEDGER.claim(
    "P10-C1",
    "The enhancements reduce the transfer time by up to 40 % for a single flow.",
    "Largest reduction of the median over the cells of G1 to G3 (A1 to A4, as there) >= 35 %.",
    figures=("1", "2", "3"),
    needs=tuple(job for graph in SINGLE for job in single_jobs(graph)),
)
def c1(runs: Runs) -> Finding:
    def largest(scheme: str) -> tuple[float, str]:
        return max(
            (value, f"{graph}, from {name}")
            for graph in SINGLE
            for name, value in single_reductions(runs, graph, scheme).items()
        )

    value, where = largest(ENHANCED)
    whole, there = largest(VHO)
    return found(
        [at_least(f"largest ({where})", value, 0.35, percent)],
        context=f"With all enhancements of the table: {percent(whole)} ({there}).",
    )


def correlation(runs: Runs, graphs: Sequence[Graph], scheme: str = VHO) -> float:
    """Rank correlation of the reduction with the window, over graphs and numbers of flows."""
    windows = [mean_window(runs, g.sweep(REGULAR, n)) for g in graphs for n in FLOWS]
    gains = [graph_reduction(runs, g, n, scheme) for g in graphs for n in FLOWS]
    return rank_correlation(windows, gains)


@LEDGER.claim(
    "P10-C2",
    "With more flows the window of each is smaller, and so are the problems; the enhancements "
    "have an effect where the window is large.",
    "Over the four graphs for several flows, with 1, 2, 4 and 8 flows each: the rank correlation "
    "of the reduction (`vho-qs`) with the mean FlightSize of a flow at the handoff is > 0.",
    figures=("4", "5", "6", "7"),
    needs=tuple(job for graph in GRAPHS.values() for job in graph.sweeps(*SCHEMES)),
)
def c2(runs: Runs) -> Finding:
    graphs = list(GRAPHS.values())
    value = correlation(runs, graphs)
    alone = {g.id: correlation(runs, [g]) for g in graphs}
    each = ", ".join(f"{id} {one:.2f}" for id, one in alone.items())
    against = [id for id, one in alone.items() if not one > 0]
    windows = "; ".join(
        f"{g.id} " + ", ".join(f"{mean_window(runs, g.sweep(REGULAR, n)):.0f}" for n in FLOWS)
        for g in graphs
    )
    return found(
        [Check("rank correlation", f"{value:.2f}", None if np.isnan(value) else value > 0)],
        context=f"Graph by graph: {each}. With A1 to A4 alone: "
        f"{correlation(runs, graphs, ENHANCED):.2f}. The rule asks for the sign only, over "
        f"{len(FLOWS) * len(graphs)} points; against the claim is "
        f"{', '.join(against) or 'no graph'}. Windows with 1, 2, 4, 8 flows: {windows}.",
    )
