"""The runs that a study needs, each made once and kept.

A study describes its runs as *jobs*: a `Sweep` is one cell (old link, new link, kind of
handoff) under one scheme over many handoff instants; a `Startup` is the start of connections under
one scheme; a `Trace` is one run with all its events.
A `Flow` is a long-lived flow over a radio link, run many times, a `Roaming` a mobile node that
changes its base station repeatedly; a `FlowTrace` is the events of one run of either. A `Probing`
is trains of segments over a bottleneck with known cross traffic. Jobs are plain values, so the same
job is run once, and a figure can list what it needs before anything runs.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from midflight.results import (
    NS_PER_S,
    EventLog,
    FlowTable,
    RoamingTable,
    RunTable,
    StartupTable,
)
from midflight.studies.scenario_runs import Scenarios, measure_all, table_of

__all__ = [
    "Cell",
    "Flow",
    "FlowTrace",
    "Job",
    "Kind",
    "Link",
    "Probing",
    "Progress",
    "Radio",
    "Roaming",
    "Runs",
    "Scenarios",
    "Startup",
    "Sweep",
    "Trace",
]

Kind = Literal["mbb", "bbm"]
Progress = Callable[[str, int, int], None]
Knobs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, order=True)
class Link:
    """An access link: rate in kbit/s and one-way propagation delay in milliseconds."""

    kbps: int
    ms: int

    @property
    def core(self) -> tuple[int, int]:
        """The link in the core's form: bit/s and nanoseconds."""
        return self.kbps * 1000, self.ms * 1_000_000

    @property
    def bdp(self) -> float:
        """Bandwidth times twice the one-way delay, in packets of 1500 bytes."""
        return self.kbps * 1e3 * 2 * self.ms * 1e-3 / 12_000

    def __str__(self) -> str:
        return f"{self.kbps}/{self.ms}"


@dataclass(frozen=True)
class Cell:
    """A handoff: from which link to which, make-before-break (mbb) or break-before-make (bbm)."""

    old: Link
    new: Link
    kind: Kind

    def __str__(self) -> str:
        return f"{self.old} -> {self.new} {self.kind.upper()}"


@dataclass(frozen=True)
class Sweep:
    """One cell under one scheme, one run per handoff instant.

    `packets` is the number of new segments that the transfer time counts; `extra_packets` are
    further such numbers, in the columns `t_new_extra0_ns` and so on. `flows` flows move together,
    `residents` flows use the new link from the start; flow i of either kind opens `stagger_s` times
    i after the start of the run. What is acknowledged in `window_s` from the handoff on is in
    `acked_window`. With `start_notice` senders get a notice of the old link before they open.
    `gap_s` is the time without a link of a break-before-make handoff.
    """

    cell: Cell
    scheme: str
    at_ns: tuple[int, ...]
    notify: bool = True
    packets: int = 100
    extra_packets: tuple[int, ...] = ()
    fixed_delay_ms: float = 2
    knobs: Knobs = ()
    flows: int = 1
    stagger_s: float = 0.0
    residents: int = 0
    resident_scheme: str = "sack"
    window_s: float | None = None
    start_notice: bool = False
    gap_s: float = 0.5
    profile: str = "ns2"

    def __str__(self) -> str:
        more = f", {self.flows} flows" if self.flows > 1 else ""
        more += f", {self.residents} residents" if self.residents else ""
        return f"{self.cell}, {self.scheme}{more}"

    def core(self, core: Any) -> Any:
        """The sweep in the core's form."""
        return core.HandoffSweep(
            old=self.cell.old.core,
            new=self.cell.new.core,
            kind=self.cell.kind,
            at_ns=list(self.at_ns),
            schemes=[self.scheme],
            packets=self.packets,
            extra_packets=list(self.extra_packets),
            notice=self.notify,
            wired=fixed_link(self.fixed_delay_ms),
            knobs=dict(self.knobs),
            flows=self.flows,
            stagger_ns=to_ns(self.stagger_s),
            residents=self.residents,
            resident_scheme=self.resident_scheme,
            window_ns=None if self.window_s is None else to_ns(self.window_s),
            start_notice=self.start_notice,
            gap_ns=to_ns(self.gap_s),
            profile=self.profile,
        )


@dataclass(frozen=True)
class Startup:
    """The start of connections over one link under one scheme.

    The fields are those of `midflight.Startup`, in seconds; `packets` are the numbers of packets
    whose transfer is timed.
    """

    link: Link
    scheme: str
    flows: int = 1
    packets: tuple[int, ...] = (10, 100, 200, 300, 400)
    stagger_s: float = 0.0
    residents: int = 0
    resident_scheme: str = "sack"
    lead_s: float = 0.0
    window_s: float | None = None
    fixed_delay_ms: float = 2
    profile: str = "ns2"
    knobs: Knobs = ()

    def __str__(self) -> str:
        return f"start over {self.link}, {self.scheme}, {self.flows} flows"

    def core(self, core: Any) -> Any:
        """The start-up in the core's form."""
        return core.Startup(
            link=self.link.core,
            schemes=[self.scheme],
            flows=self.flows,
            packets=list(self.packets),
            stagger_ns=to_ns(self.stagger_s),
            residents=self.residents,
            resident_scheme=self.resident_scheme,
            lead_ns=to_ns(self.lead_s),
            window_ns=None if self.window_s is None else to_ns(self.window_s),
            wired=fixed_link(self.fixed_delay_ms),
            profile=self.profile,
            knobs=dict(self.knobs),
        )


@dataclass(frozen=True)
class Trace:
    """One run with all its events until `until_s` seconds; no handoff if `at_s` is None.

    Of several flows, the events of the one with number `flow`. The other fields are as for `Sweep`.
    """

    cell: Cell
    scheme: str
    at_s: float | None
    until_s: float
    knobs: Knobs = ()
    flows: int = 1
    flow: int = 0
    fixed_delay_ms: float = 2
    start_notice: bool = False
    gap_s: float = 0.5

    def setup(self, core: Any) -> Any:
        """The run in the core's form."""
        return core.Setup.handoff(
            old=self.cell.old.core,
            new=self.cell.new.core,
            kind=self.cell.kind,
            at_ns=None if self.at_s is None else to_ns(self.at_s),
            scheme=self.scheme,
            packets=WITHOUT_END,
            end_ns=to_ns(self.until_s),
            knobs=dict(self.knobs),
            flows=self.flows,
            wired=fixed_link(self.fixed_delay_ms),
            start_notice=self.start_notice,
            gap_ns=to_ns(self.gap_s),
            profile="ns2",
        )

    def __str__(self) -> str:
        instant = "no handoff" if self.at_s is None else f"at {self.at_s:g} s"
        return f"{self.cell} {instant}, {self.scheme}"


#: The fate of a packet of a radio link: lost, or late by this many seconds.
Fate = Literal["lose"] | float


@dataclass(frozen=True)
class Radio:
    """A radio link: rate in kbit/s, one-way delay in ms, packet limit, impairments.

    `loss` and `reordering` are models in words, `script` the fate of the packets of these numbers.
    """

    kbps: int
    ms: int
    limit: int = 50
    loss: str | None = None
    reordering: str | None = None
    script: tuple[tuple[int, Fate], ...] = ()

    def core(self, core: Any) -> Any:
        """The link in the core's form."""
        return core.Radio(
            (self.kbps * 1000, self.ms * 1_000_000),
            queue=self.limit,
            loss=self.loss,
            reorder=self.reordering,
            script=_core_script(self.script),
        )


@dataclass(frozen=True)
class Flow:
    """A long-lived flow under one scheme, run `runs` times.

    `marks_s` are the ends of the intervals that are measured, in seconds; the last one ends the
    run. At `at_s` the radio link pauses for `pause_s` and continues as `then`; the sender gets no
    notice. `wired` is the wired link: rate in kbit/s, one-way delay in ms, packet limit.
    """

    radio: Radio
    scheme: str
    marks_s: tuple[float, ...]
    then: Radio | None = None
    at_s: float | None = None
    pause_s: float = 0.0
    runs: int = 1
    seed: int = 1
    cross_flows: int = 0
    cross_delay_us: int = 0
    cross_spread_us: int = 0
    overhead_us: int = 0
    wired: tuple[int, int, int] = (20_000, 1, 30)
    profile: str = "ns2"
    knobs: Knobs = ()

    def __str__(self) -> str:
        to = "" if self.then is None else f" -> {self.then.kbps}/{self.then.ms}"
        return f"{self.radio.kbps}/{self.radio.ms}{to}, {self.scheme}"

    def core(self, core: Any) -> Any:
        """The flow in the core's form."""
        return core.LongFlow(
            radio=self.radio.core(core),
            then=None if self.then is None else self.then.core(core),
            at_ns=None if self.at_s is None else to_ns(self.at_s),
            pause_ns=to_ns(self.pause_s),
            notice=False,
            scheme=self.scheme,
            marks_ns=[to_ns(mark) for mark in self.marks_s],
            wired=(self.wired[0] * 1000, self.wired[1] * 1_000_000),
            wired_queue=self.wired[2],
            cross_flows=self.cross_flows,
            cross_delay_ns=self.cross_delay_us * 1000,
            cross_spread_ns=self.cross_spread_us * 1000,
            overhead_ns=self.overhead_us * 1000,
            profile=self.profile,
            knobs=dict(self.knobs),
            seed=self.seed,
            runs=list(range(self.runs)),
        )


@dataclass(frozen=True)
class Roaming:
    """A mobile node that changes its base station, under one scheme, run `runs` times.

    The fields are those of `midflight.Roaming`, in seconds; `script` and `back_script` are the
    fate of the packets of these numbers at the first station.
    """

    scheme: str
    end_s: float
    every_s: float | None = 5.0
    stations: int = 2
    fixed: tuple[int, ...] = ()
    loss: str | None = None
    back_loss: str | None = None
    script: tuple[tuple[int, Fate], ...] = ()
    back_script: tuple[tuple[int, Fate], ...] = ()
    limit: int = 50
    advertisement_s: float = 0.1
    blackout_s: float = 0.0
    foresight_error_s: float = 0.0
    foresight_missed: float = 0.0
    signal_lost: float = 0.0
    signal_copies: int = 1
    signal_delay_s: float = 0.0
    forged: str | None = None
    forged_every_s: float = 1.0
    profile: str = "ns2"
    knobs: Knobs = ()
    seed: int = 1
    runs: int = 1

    def __str__(self) -> str:
        return f"roaming, {self.scheme}"

    def core(self, core: Any) -> Any:
        """The node in the core's form."""
        return core.Roaming(
            scheme=self.scheme,
            end_ns=to_ns(self.end_s),
            every_ns=None if self.every_s is None else to_ns(self.every_s),
            stations=self.stations,
            residents=list(self.fixed),
            loss=self.loss,
            up_loss=self.back_loss,
            script=_core_script(self.script),
            up_script=_core_script(self.back_script),
            queue=self.limit,
            advertisement_ns=to_ns(self.advertisement_s),
            gap_ns=to_ns(self.blackout_s),
            foresight_error_ns=to_ns(self.foresight_error_s),
            foresight_missed=self.foresight_missed,
            signal_lost=self.signal_lost,
            signal_copies=self.signal_copies,
            signal_delay_ns=to_ns(self.signal_delay_s),
            forged=self.forged,
            forged_every_ns=to_ns(self.forged_every_s),
            profile=self.profile,
            knobs=dict(self.knobs),
            seed=self.seed,
            runs=list(range(self.runs)),
        )


@dataclass(frozen=True)
class FlowTrace:
    """The events (all, or those of `events`) of one run of a flow between two instants.

    Of a roaming node, those of its own flow; of scenarios, those of the first flow.
    """

    flow: Flow | Roaming | Scenarios
    run: int = 0
    from_s: float = 0.0
    until_s: float | None = None
    events: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.flow}, run {self.run}"


@dataclass(frozen=True)
class Probing:
    """Trains of segments over a bottleneck with known cross traffic.

    The fields are those of `midflight.Probe`.
    """

    bottleneck: Link
    scheme: str
    segments: int
    limit: int = 1000
    access: str = "10 Gbit/s"
    share: float = 0.0
    irregular: bool = False
    runs: int = 1
    profile: str = "rfc"
    knobs: Knobs = ()
    mark_after: str | None = None

    def __str__(self) -> str:
        return f"{self.segments} segments over {self.bottleneck}, {self.scheme}"

    def core(self, core: Any) -> Any:
        """The probe in the core's form."""
        return core.Probe(
            bottleneck=self.bottleneck.core,
            scheme=self.scheme,
            segments=self.segments,
            queue=self.limit,
            access=self.access,
            share=self.share,
            irregular=self.irregular,
            runs=list(range(self.runs)),
            profile=self.profile,
            knobs=dict(self.knobs),
            mark_after=self.mark_after,
        )


Job = Sweep | Startup | Trace | Flow | Roaming | FlowTrace | Probing | Scenarios

#: More segments than any traced run transfers: a trace ends at its time.
WITHOUT_END = 1_000_000_000


def to_ns(seconds: float) -> int:
    """Seconds to integer nanoseconds."""
    return round(seconds * NS_PER_S)


def fixed_link(delay_ms: float) -> tuple[int, int]:
    """A fixed link in the core's form: 100 Mbit/s with this delay."""
    return 100_000_000, round(delay_ms * 1_000_000)


def _core_script(script: tuple[tuple[int, Fate], ...]) -> list[tuple[int, int | str]]:
    """A script in the core's form."""
    return [(n, "lose" if fate == "lose" else to_ns(fate)) for n, fate in script]


class Runs:
    """Runs jobs in the core and keeps their results.

    `core` is the simulator's module; by default `midflight._core`.
    """

    def __init__(self, core: Any = None) -> None:
        self.core = core if core is not None else importlib.import_module("midflight._core")
        self._sweeps: dict[Sweep, RunTable] = {}
        self._startups: dict[Startup, StartupTable] = {}
        self._traces: dict[Trace | FlowTrace, EventLog] = {}
        self._flows: dict[Flow, FlowTable] = {}
        self._roaming: dict[Roaming, RoamingTable] = {}
        self._probes: dict[Probing, Any] = {}
        self._scenarios: dict[Scenarios, RunTable] = {}

    def make(self, jobs: Iterable[Job], progress: Progress | None = None) -> None:
        """Run all jobs that have no result yet, and call `progress` (what, done, total). Sweeps go
        to the core together, which runs their common parts once, and so do start-ups, flows,
        roaming nodes and probes. The core releases the interpreter while it simulates, so traces
        run in parallel, one for each processor; their results do not depend on that.
        """
        wanted = [job for job in dict.fromkeys(jobs) if not self._has(job)]
        sweeps = [job for job in wanted if isinstance(job, Sweep)]
        startups = [job for job in wanted if isinstance(job, Startup)]
        flows = [job for job in wanted if isinstance(job, Flow)]
        roaming = [job for job in wanted if isinstance(job, Roaming)]
        probes = [job for job in wanted if isinstance(job, Probing)]
        scenarios = [job for job in wanted if isinstance(job, Scenarios)]
        traces = [job for job in wanted if isinstance(job, Trace | FlowTrace)]
        show = progress or (lambda _what, _done, _total: None)
        swept = 0
        total = len(startups) + len(traces) + sum(len(job.at_ns) for job in sweeps)
        total += sum(job.runs for job in flows) + sum(job.runs for job in roaming)
        total += sum(job.runs for job in probes) + sum(len(job.texts) for job in scenarios)

        def report(done: int, _of: int) -> None:
            show("runs", swept + done, total)

        tables = self.core.run_handoff_sweeps(
            [job.core(self.core) for job in sweeps], progress=report
        )
        self._sweeps.update(zip(sweeps, map(RunTable, tables), strict=True))
        swept += sum(len(job.at_ns) for job in sweeps)
        tables = self.core.run_startups([job.core(self.core) for job in startups], progress=report)
        self._startups.update(zip(startups, map(StartupTable, tables), strict=True))
        swept += len(startups)
        tables = self.core.run_long_flows([job.core(self.core) for job in flows], progress=report)
        self._flows.update(zip(flows, map(FlowTable, tables), strict=True))
        swept += sum(job.runs for job in flows)
        tables = self.core.run_roaming([job.core(self.core) for job in roaming], progress=report)
        self._roaming.update(zip(roaming, map(RoamingTable, tables), strict=True))
        swept += sum(job.runs for job in roaming)
        tables = self.core.run_probes([job.core(self.core) for job in probes], progress=report)
        self._probes.update(zip(probes, tables, strict=True))
        swept += sum(job.runs for job in probes)
        rows = measure_all(scenarios, self.core, lambda done: report(done, total))
        self._scenarios.update(zip(scenarios, map(table_of, rows), strict=True))
        swept += sum(len(job.texts) for job in scenarios)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            try:
                for done, job in enumerate(pool.map(self._made, traces)):
                    show(str(job), swept + done, total)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        show("runs", total, total)

    def _has(self, job: Job) -> bool:
        return any(job in kind for kind in self._kinds)

    def _made(self, job: Job) -> Job:
        self[job]
        return job

    def __getitem__(self, job: Job) -> Any:
        if isinstance(job, Sweep):
            return self.sweep(job)
        if isinstance(job, Roaming):
            return self.roaming(job)
        if isinstance(job, Startup):
            return self.startup(job)
        if isinstance(job, Probing):
            return self.probe(job)
        if isinstance(job, Scenarios):
            return self.scenarios(job)
        return self.flow(job) if isinstance(job, Flow) else self.trace(job)

    def flow(self, job: Flow) -> FlowTable:
        """The runs of a long-lived flow."""
        if job not in self._flows:
            self.make([job])
        return self._flows[job]

    def roaming(self, job: Roaming) -> RoamingTable:
        """The runs of a roaming node."""
        if job not in self._roaming:
            self.make([job])
        return self._roaming[job]

    def sweep(self, job: Sweep) -> RunTable:
        """The runs of a sweep."""
        if job not in self._sweeps:
            self.make([job])
        return self._sweeps[job]

    def startup(self, job: Startup) -> StartupTable:
        """The start of the connections of a run."""
        if job not in self._startups:
            self.make([job])
        return self._startups[job]

    def probe(self, job: Probing) -> Any:
        """The trains of a probe, one row for each train of each run."""
        if job not in self._probes:
            self.make([job])
        return self._probes[job]

    def scenarios(self, job: Scenarios) -> RunTable:
        """The first run of each scenario, one row for each."""
        if job not in self._scenarios:
            self.make([job])
        return self._scenarios[job]

    def trace(self, job: Trace | FlowTrace) -> EventLog:
        """The events of a traced run."""
        if job not in self._traces and isinstance(job, FlowTrace):
            setup = job.flow.core(self.core).setup(job.run)
            self._traces[job] = EventLog.from_table(
                setup.trace(
                    from_ns=to_ns(job.from_s),
                    until_ns=None if job.until_s is None else to_ns(job.until_s),
                    only=list(job.events),
                )
            )
        elif job not in self._traces:
            assert isinstance(job, Trace)
            self._traces[job] = EventLog.from_table(
                job.setup(self.core).trace(flow=f"flow-{job.flow}")
            )
        return self._traces[job]

    @property
    def _kinds(self) -> tuple[Mapping[Any, Any], ...]:
        return (
            self._sweeps,
            self._startups,
            self._flows,
            self._roaming,
            self._probes,
            self._scenarios,
            self._traces,
        )

    @property
    def made(self) -> list[Job]:
        """All jobs made so far."""
        return [job for kind in self._kinds for job in kind]

    def digest(self) -> str:
        """One digest over the digests of all swept runs, independent of the order in which they
        were made."""
        total = hashlib.blake2b(digest_size=16)
        for job in sorted(self._sweeps, key=repr):
            total.update(repr(job).encode())
            total.update("".join(self._sweeps[job]["digest"].tolist()).encode())
        for startup in sorted(self._startups, key=repr):
            total.update(repr(startup).encode())
            total.update(self._startups[startup].digest.encode())
        for flow in sorted(self._flows, key=repr):
            total.update(repr(flow).encode())
            total.update("".join(self._flows[flow].digests()).encode())
        for node in sorted(self._roaming, key=repr):
            total.update(repr(node).encode())
            total.update("".join(self._roaming[node].digests()).encode())
        for probe in sorted(self._probes, key=repr):
            total.update(repr(probe).encode())
            total.update("".join(self._probes[probe].column("digest")).encode())
        for scenario in sorted(self._scenarios, key=repr):
            total.update(repr(scenario).encode())
            total.update("".join(self._scenarios[scenario]["digest"].tolist()).encode())
        for trace in sorted(self._traces, key=repr):
            log = self._traces[trace]
            total.update(repr(trace).encode())
            total.update(log.time_ns.tobytes())
            total.update("".join(log.kind.tolist()).encode())
            total.update(log.value.tobytes())
        return total.hexdigest()
