"""Beyond the paper: how a newcomer affects a plain flow that has a link for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from midflight.claims import Finding, Ledger, at_least, at_most, percent
from midflight.results import Estimate, jain, mean_ci
from midflight.studies.daniel_abest import scenarios as sc
from midflight.studies.daniel_abest.scenarios import ABEST, TCP, Scheme
from midflight.studies.runs import Job, Link, Runs, Startup, Sweep

LEDGER = Ledger()

#: Everything is counted in this number of seconds from the newcomer's SYN, or from the handoff.
WINDOW_S = 5.0
#: When the newcomer starts, in seconds after the resident: over a cycle of its window.
LEADS_S = tuple(float(n) for n in range(2, 22, 2))
#: A number of packets that every newcomer gets acknowledged within the window.
PACKETS = 100


@dataclass(frozen=True)
class Encounter:
    """A plain flow on a link, and a newcomer under a scheme: one column for each flow, the newcomer
    last."""

    name: str
    link: Link
    jobs: Callable[[Scheme], tuple[Job, ...]]

    def column(self, runs: Runs, scheme: Scheme, name: str) -> NDArray[np.float64]:
        """A count of the newcomer and the resident, one row for each run."""
        parts = []
        for job in self.jobs(scheme):
            if isinstance(job, Sweep):
                parts.append(runs.sweep(job).by_flow(name))
            elif isinstance(job, Startup):
                parts.append(np.asarray(runs.startup(job)[name], dtype=float).reshape(1, -1))
        return np.concatenate(parts)

    def lost(self, runs: Runs, scheme: Scheme) -> tuple[float, float]:
        """Packets that the newcomer and the resident lose, means of the runs."""
        newcomer, resident = self.column(runs, scheme, "drops_data").mean(axis=0)
        return float(newcomer), float(resident)

    def share(self, runs: Runs, scheme: Scheme) -> Estimate:
        """The resident's share of the packets that both got acknowledged, with its 95 %
        interval."""
        got = self.column(runs, scheme, "acked_window")
        return mean_ci(got[:, 1] / got.sum(axis=1))

    def index(self, runs: Runs, scheme: Scheme) -> float:
        """Jain's index of the packets that both got acknowledged, the mean of the runs."""
        got = self.column(runs, scheme, "acked_window")
        return float(np.mean([jain(run) for run in got]))


def _start(link: Link, scheme: Scheme) -> tuple[Job, ...]:
    job = Startup(
        link,
        scheme.core,
        packets=(PACKETS,),
        residents=1,
        window_s=WINDOW_S,
        fixed_delay_ms=sc.FIXED_MS,
        knobs=sc.KNOBS,
    )
    return tuple(replace(job, lead_s=lead) for lead in LEADS_S)


#: Every other handoff instant.
HANDOFFS_EACH = sc.INSTANTS // 2


def _handoff(figure: str, scheme: Scheme) -> tuple[Job, ...]:
    job = sc.EXPERIMENTS[figure].sweep(scheme, packets=PACKETS, residents=1, window_s=WINDOW_S)
    return (replace(job, at_ns=job.at_ns[: 2 * HANDOFFS_EACH : 2]),)


ENCOUNTERS = (
    Encounter("start, LTE", sc.LTE, lambda s: _start(sc.LTE, s)),
    Encounter("start, WLAN", sc.WLAN_2, lambda s: _start(sc.WLAN_2, s)),
    Encounter("handoff to LTE", sc.LTE, lambda s: _handoff("8", s)),
    Encounter("handoff to WLAN", sc.WLAN_4, lambda s: _handoff("9", s)),
)
STARTS, HANDOFFS = ENCOUNTERS[:2], ENCOUNTERS[2:]
NEEDS = tuple(job for e in ENCOUNTERS for s in sc.STARTING for job in e.jobs(s))


def tenths(value: float) -> str:
    """A mean count."""
    return f"{value:.1f}"


def judged(runs: Runs, encounters: Sequence[Encounter]) -> Finding:
    """AbestVho beside a resident against a plain newcomer."""
    checks = []
    for e in encounters:
        plain, abest = e.lost(runs, TCP), e.lost(runs, ABEST)
        checks += [
            at_most(f"{e.name}, both lose (TCP: {sum(plain):.1f})", sum(abest), sum(plain), tenths),
            at_most(
                f"{e.name}, the resident loses (TCP: {plain[1]:.1f})", abest[1], plain[1], tenths
            ),
            at_least(
                f"{e.name}, Jain's index (TCP: {e.index(runs, TCP):.3f})",
                e.index(runs, ABEST),
                e.index(runs, TCP),
                lambda v: f"{v:.3f}",
            ),
        ]
    shares = "; ".join(
        f"{e.name}: "
        + ", ".join(f"{s.name} {percent(e.share(runs, s).mean, 0)}" for s in sc.STARTING)
        for e in encounters
    )
    return Finding(
        checks,
        context=f"The resident's share, {shares}.",
        note="A chirp ends at the rate of the link or above it, independent of other traffic, and "
        "pathChirp ignores a temporary rise: where the resident has nearly filled the queue, it "
        "overflows, and most of the lost packets are the resident's.",
    )


_RULE = (
    f"In {WINDOW_S:g} s from {{}}: packets lost by both, packets lost by the resident, both not "
    "more than with a plain newcomer, and Jain's index not lower; means of the runs."
)


@LEDGER.claim(
    "A11-X1",
    "Beyond the paper: a connection that starts with AbestVho beside a plain flow, which had LTE "
    "or the WLAN for itself, does that flow no more harm than a plain newcomer does.",
    _RULE.format("the newcomer's SYN"),
    figures=("14",),
    needs=(job for e in STARTS for s in sc.STARTING for job in e.jobs(s)),
)
def x1(runs: Runs) -> Finding:
    return judged(runs, STARTS)


@LEDGER.claim(
    "A11-X2",
    "Beyond the paper: a connection with AbestVho that moves to LTE or to the WLAN, which a plain "
    "flow had for itself, does that flow no more harm than a plain newcomer does.",
    _RULE.format("the handoff"),
    figures=("14",),
    needs=(job for e in HANDOFFS for s in sc.STARTING for job in e.jobs(s)),
)
def x2(runs: Runs) -> Finding:
    return judged(runs, HANDOFFS)
