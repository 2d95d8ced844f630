"""Other interpretations of the paper: the claims on start-ups and handoffs, judged on changed
runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from midflight.claims import Finding, Verdict
from midflight.results import Columns, EventLog, RunTable, StartupTable
from midflight.studies.daniel_abest import scenarios as sc
from midflight.studies.daniel_abest.claims import LEDGER
from midflight.studies.runs import FlowTrace, Runs, Startup, Sweep, Trace

Run = Sweep | Startup | Trace
J = TypeVar("J", bound=Run)

AS_TAKEN = "as taken"
STARTS = ("A11-F2", "A11-F3", "A11-F4", "A11-F5", "A11-C1", "A11-C2")
HANDOFFS = tuple(f"A11-F{n}" for n in range(6, 14))


@dataclass(frozen=True)
class Reading:
    """Another interpretation: its name, and what it changes.

    `knobs` are for the scheme of the core that `of` names, or for all. With `even` handoffs come in
    equal steps; with `from_make` the transfer time of a break-before-make handoff counts from the
    make; with `slowest` the goodput of several flows is the slowest one's; with `text_13` figure 13
    is about the link that the text names.
    """

    name: str
    knobs: tuple[tuple[str, str], ...] = ()
    of: str | None = None
    fixed_ms: float | None = None
    stagger_s: float = 0.0
    even: bool = False
    from_make: bool = False
    slowest: bool = False
    text_13: bool = False

    def job(self, job: J) -> J:
        """The same runs under this interpretation."""
        if self.name == AS_TAKEN:
            return job
        if self.of in (None, job.scheme) and self.knobs:
            job = replace(job, knobs=sc.with_knobs(job.knobs, **dict(self.knobs)))
        if self.fixed_ms is not None:
            job = replace(job, fixed_delay_ms=self.fixed_ms)
        if isinstance(job, Trace):
            return job
        if job.flows > 1:
            job = replace(job, stagger_s=self.stagger_s)
        if isinstance(job, Sweep):
            at_ns = sc.EVEN_INSTANTS_NS if self.even else job.at_ns
            if self.fixed_ms is not None:
                at_ns = sc.over_path(job, self.fixed_ms).at_ns
            job = replace(job, at_ns=at_ns)
            if self.text_13 and job.cell == sc.EXPERIMENTS["13"].cell:
                job = replace(job, cell=sc.FIG13_TEXT.cell)
        return job

    def needs(self) -> Iterable[Sweep | Startup | Trace]:
        """The runs that judging takes."""
        for id in (*STARTS, *HANDOFFS):
            for job in LEDGER[id].needs:
                assert isinstance(job, Sweep | Startup | Trace)
                yield self.job(job)

    def judge(self, runs: Runs) -> dict[str, Finding]:
        """The finding of each claim."""
        changed = _Changed(runs, self)
        return {id: LEDGER[id].evaluate(changed) for id in (*STARTS, *HANDOFFS)}


class _SlowestStart(StartupTable):
    """A start-up whose goodput is that of its slowest flow."""

    def goodput_bit_s(self, packets: int, payload_bytes: int = 1460) -> NDArray[np.float64]:
        return np.array([super().goodput_bit_s(packets, payload_bytes).min()])


def since_make(table: RunTable, gap_s: float) -> RunTable:
    """Runs whose transfer time counts from the make."""
    names = table._table.column_names
    columns = {name: table._table.column(name) for name in names}
    gap_ns = round(1e9 * gap_s)
    columns["t_new_ns"] = [None if t is None else t - gap_ns for t in columns["t_new_ns"]]
    return RunTable(Columns(columns))


class _Changed(Runs):
    """Runs as a claim sees them under an interpretation."""

    def __init__(self, runs: Runs, reading: Reading) -> None:
        super().__init__(runs.core)
        self._runs, self._reading = runs, reading

    def sweep(self, job: Sweep) -> RunTable:
        table = self._runs.sweep(self._reading.job(job))
        if self._reading.from_make and job.cell.kind == "bbm":
            return since_make(table, job.gap_s)
        return table

    def startup(self, job: Startup) -> StartupTable:
        table = self._runs.startup(self._reading.job(job))
        return _SlowestStart(table._table) if self._reading.slowest else table

    def trace(self, job: Trace | FlowTrace) -> EventLog:
        assert isinstance(job, Trace)
        return self._runs.trace(self._reading.job(job))


def _chirp(rule: str) -> tuple[tuple[str, str], ...]:
    return (("chirp_estimator", rule),)


_SYN_AT_ONCE = (("delay_syn_ack", "off"),)
_NEW_ONLY = (("quick_start_resend", "wait"),)
_ABEST, _QS, _VHO = sc.ABEST.core, sc.QS.core, sc.VHO.core
_RULES = {
    "chirps: rate of the first rise": "first-rise",
    "chirps: average weighted by gaps": "abest",
    "chirps: plain average": "abest-plain",
}
_WITHHELD = (("abest_withhold", "always"),)

#: How trains are sent and evaluated. The first version's interpretation has three parts.
TRAINS = (
    Reading(
        "trains as first read: nothing new until the report, chirps as long as the window, rate of "
        "the first rise",
        (*_WITHHELD, ("abest_longest", "none"), *_chirp("first-rise")),
        _ABEST,
    ),
    Reading("trains: nothing new until the report", _WITHHELD, _ABEST),
    Reading(
        "trains: nothing new until the report, then everything at once",
        (*_WITHHELD, ("abest_release", "burst")),
        _ABEST,
    ),
    Reading("trains: chirps as long as the window", (("abest_longest", "none"),), _ABEST),
    Reading("trains: one chirp alone", (("abest_cycles", "1"),), _ABEST),
    *(Reading(name, _chirp(rule), _ABEST) for name, rule in _RULES.items()),
    Reading("second chirp up to what the first found (text)", (("abest_c2_high", "1x"),), _ABEST),
)
PATHS = tuple(
    Reading(f"fixed path of {2 * fixed_ms:g} ms", fixed_ms=fixed_ms)
    for fixed_ms in sc.PATHS_MS
    if fixed_ms != sc.FIXED_MS
)
OTHERS = (
    Reading("SYN: only Quick-Start's ACK at once (as first read)", _SYN_AT_ONCE, _QS),
    Reading("SYN: no ACK of it delayed", _SYN_AT_ONCE),
    Reading("Quick-Start leaves ssthresh alone", (("quick_start_ssthresh", "keep"),), _QS),
    Reading("Quick-Start waits until a timeout's retransmissions are complete", _NEW_ONLY, _QS),
    Reading(
        "routers account for the rate before rounding (ns-2)",
        (("quick_start_booking", "unrounded"),),
        _QS,
    ),
    Reading(
        "Vho's threshold at the start: rate x delay one way",
        (("initial_ssthresh_delay", "one-way"),),
        _VHO,
    ),
    Reading("every segment is acknowledged", (("delayed_ack", "off"),)),
    Reading("flows open 20 ms apart", stagger_s=0.02),
    Reading("each flow's clock ticks 2.5 ms later", (("rtt_tick_phase_step", "2.5ms"),)),
    Reading("goodput of the slowest flow", slowest=True),
    Reading("handoffs every 0.5 s up to 10 s", even=True),
    Reading("break-before-make counted from the make", from_make=True),
    Reading("figure 13: LTE's 15 ms", text_13=True),
)
READINGS = (Reading(AS_TAKEN), *TRAINS, *PATHS, *OTHERS)

EVERYTHING: tuple[Sweep | Startup | Trace, ...] = tuple(
    dict.fromkeys(job for reading in READINGS for job in reading.needs())
)


def cell(finding: Finding) -> str:
    """How many parts of a rule pass, bold if all do."""
    passed = sum(bool(check.passed) for check in finding.checks)
    text = f"{passed} of {len(finding.checks)}"
    return f"**{text}**" if finding.verdict is Verdict.REPRODUCED else text
