"""The table of problems: for each a handoff that causes it, its measure, and its enhancement.

Each problem is measured under the plain sender, under its enhancement alone, and under all
enhancements together, at the same instants.  For every measure less is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from midflight.studies.daniel_kojo_2008.scenarios import BBM, INSTANTS_NS, MBB
from midflight.studies.daniel_overview.measures import (
    Pairs,
    Values,
    paired,
    retransmission_timeouts,
    slowest_of,
)
from midflight.studies.daniel_overview.scenarios import DSACK, FEWER_NS, REGULAR, VHO, sweep
from midflight.studies.runs import Cell, Job, Link, Runs, Sweep, Trace


@dataclass(frozen=True)
class Problem:
    """A row of the table.

    `scheme` is the enhancement alone, `measure` what is measured at each instant under a scheme and
    a profile, in `unit`; `jobs` are the runs that it reads.
    """

    name: str
    enhancement: str
    scheme: str
    cell: Cell
    flows: int
    what: str
    unit: str
    measure: Callable[[Runs, str, str], Values]
    jobs: Callable[[str, str], tuple[Job, ...]]

    def needs(self, profile: str = "ns2") -> tuple[Job, ...]:
        """The runs under the plain sender, the enhancement and all enhancements."""
        schemes = (REGULAR, self.scheme, VHO)
        return tuple(job for scheme in schemes for job in self.jobs(scheme, profile))

    def against(self, runs: Runs, scheme: str, profile: str = "ns2") -> Pairs:
        """The plain sender and a scheme at the same instants."""
        regular, other = (self.measure(runs, name, profile) for name in (REGULAR, scheme))
        return paired(regular, other)


def _counted(column: str) -> Callable[[Runs, Sweep], Values]:
    """A column, added up over the flows of a run."""
    return lambda runs, job: np.asarray(slowest_of(runs, job)[column], dtype=float)


def _swept(
    name: str,
    enhancement: str,
    scheme: str,
    cell: Cell,
    what: str,
    unit: str,
    measure: Callable[[Runs, Sweep], Values],
    *,
    flows: int = 1,
    window_s: float | None = None,
) -> Problem:
    """A problem that is measured in sweeps."""

    def job(scheme: str, profile: str) -> Sweep:
        at_ns = INSTANTS_NS if profile == "ns2" else FEWER_NS
        return sweep(cell, scheme, flows, window_s=window_s, profile=profile, at_ns=at_ns)

    return Problem(
        name,
        enhancement,
        scheme,
        cell,
        flows,
        what,
        unit,
        lambda runs, scheme, profile: measure(runs, job(scheme, profile)),
        lambda scheme, profile: (job(scheme, profile),),
    )


# Slow convergence of the RTO, measured in traces

CONVERGENCE = Cell(Link(200, 300), Link(6400, 9), MBB)
#: Every fifth instant, because a trace takes a hundred times as long as a run of a sweep.
TRACED_NS = INSTANTS_NS[4::5]
#: How long after the handoff a run is traced, in seconds.
TRACED_S = 4.0
#: The RTO has converged when it stays at or below this, twice the minimum of 0.2 s, in seconds.
CONVERGED_S = 0.4


def convergence_trace(scheme: str, at_ns: int) -> Trace:
    """One handoff, traced until some seconds after it."""
    at_s = at_ns / 1e9
    return Trace(CONVERGENCE, scheme, at_s, at_s + TRACED_S, knobs=DSACK)


def _traces(scheme: str, profile: str) -> tuple[Trace, ...]:
    """The traces of a scheme; there are traces under `ns2` only."""
    return tuple(convergence_trace(scheme, at) for at in TRACED_NS) if profile == "ns2" else ()


def convergence_s(runs: Runs, scheme: str, profile: str = "ns2") -> Values:
    """From each handoff until the RTO has converged, in seconds; the whole trace if it has not."""
    if profile != "ns2":
        return np.array([])
    found = []
    for at_ns in TRACED_NS:
        timeouts = retransmission_timeouts(runs.trace(convergence_trace(scheme, at_ns)))
        took = timeouts.settled_after(at_ns / 1e9, CONVERGED_S)
        found.append(TRACED_S if np.isnan(took) else took)
    return np.array(found)


# Inability to catch up with a high bandwidth

FASTER = Cell(Link(800, 75), Link(6400, 75), MBB)
FASTER_WINDOW_S = 5.0


def unfilled(runs: Runs, job: Sweep) -> Values:
    """The share of what the new link could carry in the window that was not acknowledged."""
    assert job.window_s is not None
    capacity = job.cell.new.kbps * 1e3 * job.window_s / 12_000
    return 1.0 - slowest_of(runs, job)["acked_window"] / capacity


def _unused(runs: Runs, job: Sweep) -> Values:
    """Time from the make to the next transmission if the sender was in RTO recovery; else nan."""
    table = slowest_of(runs, job)
    waited = table.seconds("unused_ns")
    return np.where(table["in_rto_recovery_at_make"] == 1, waited, np.nan)


SPURIOUS = _swept(
    "Spurious RTO",
    "A1",
    "a1",
    Cell(Link(6400, 9), Link(6400, 300), MBB),
    "Spurious RTOs",
    "per handoff",
    _counted("nspur"),
)
REORDERING = _swept(
    "Packet reordering",
    "its policy",
    "reordering",
    Cell(Link(6000, 50), Link(54_000, 4), MBB),
    "False fast retransmits",
    "per handoff",
    _counted("false_fast_rexmits"),
)
SLOW_RTO = Problem(
    "Slow convergence of RTO",
    "A4",
    "a4",
    CONVERGENCE,
    1,
    "Time to an RTO of 0.4 s",
    "s",
    convergence_s,
    _traces,
)
LOSSES = _swept(
    "Packet losses",
    "A2",
    "a2",
    Cell(Link(6400, 300), Link(800, 300), MBB),
    "Lost segments",
    "per handoff",
    _counted("drops_data"),
    flows=4,
)
CATCHING_UP = _swept(
    "Inability to catch up with high bandwidth",
    "Quick-Start",
    "quick-start",
    FASTER,
    "Capacity not used in the first 5 s",
    "share",
    unfilled,
    window_s=FASTER_WINDOW_S,
)
UNUSED = _swept(
    "Unused connection time",
    "A3",
    "a3",
    Cell(Link(6400, 9), Link(6400, 300), BBM),
    "Time until the retransmission",
    "s",
    _unused,
)
PROBLEMS = (SPURIOUS, REORDERING, SLOW_RTO, LOSSES, CATCHING_UP, UNUSED)
