"""Runs of a scenario on a kernel, measured as simulated ones are."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from midflight.lab.errors import LabError
from midflight.lab.guest import LIMIT_S, Guest, Ran, run_guests
from midflight.lab.host import HOST, Lateness, run_on_host
from midflight.lab.record import CounterRow, counters
from midflight.lab.samples import INTERVAL_NS, sample_table
from midflight.refusal import refusal
from midflight.results import Columns

if TYPE_CHECKING:
    from midflight._core import Events, Plan, Setup, Table
    from midflight.lab.store import Kernel

__all__ = [
    "OURS",
    "OWN",
    "STACKS",
    "KernelRun",
    "LabRuns",
    "kernel_plans",
    "sender_line",
    "turns_of",
]

#: The possible senders of the flows; the receivers are the kernel's.
STACKS = ("linux", "midflight")
#: What runs of midflight's senders have in the place of a congestion control.
OURS = "midflight"
#: The place of congestion controls for those that the flows have as schemes (stack "linux").
OWN = ""


def sender_line() -> str:
    """Return the line of a script with the path of midflight's sender on this machine.

    Raises `LabError` if a guest could not start it.
    """
    from midflight import _core

    python, module = os.path.realpath(sys.executable), str(_core.__file__)
    paths = (python, str(Path(__file__).with_name("sender.py").resolve()), module)
    if not python or any(not Path(one).is_file() or set(one) & set("\t\n") for one in paths):
        raise LabError(
            "midflight's sender cannot be started in a guest: one of these is not a file: "
            f"{', '.join(paths)}"
        )
    return "program " + "\t".join(paths)


def turns_of(ran: Ran) -> dict[int, bytes]:
    """Return the turns of midflight's senders in a guest, by the numbers of their flows."""
    found = {}
    for name, data in ran.files.items():
        number = name.removeprefix("sender-").removesuffix(".turns")
        if name == f"sender-{number}.turns" and number.isdigit():
            found[int(number)] = data
    return found


def scheme_of_all(congestion: str) -> str | None:
    """Return the congestion control of all flows; None where each has its own scheme."""
    return None if congestion in (OWN, OURS) else congestion


class KernelRun:
    """A run of a kernel; it has the same information on the scenario as `Setup`."""

    def __init__(self, setup: Setup, ran: Ran, scheme: str) -> None:
        """Take the run's setup, the results of the guest, and the congestion control."""
        self.setup, self.packets, self.scheme = setup, ran.packets, scheme
        self.turns = turns_of(ran)
        of_all = scheme_of_all(scheme)
        #: As in the setup, with the values of the kernel.
        self.flows: list[dict[str, Any]] = [
            {**flow, "scheme": of_all or flow["scheme"], "payload_bytes": payload}
            for flow, payload in zip(setup.flows, setup.lab_payloads(self.packets), strict=True)
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.setup, name)

    def trace(self, *, flow: str | None = None, only: Sequence[str] = ()) -> Table:
        """Return every event of a flow, or those of these names, with the columns of
        `Setup.trace`.
        """
        return self.setup.lab_trace(self.packets, flow=flow, turns=self.turns, only=only)

    def samples(self, **when: Any) -> tuple[Table, Table]:
        """Return the links and the senders, as `Setup.samples` does."""
        return self.setup.lab_samples(self.packets, **when)

    def backlogs(self, **when: Any) -> Table:
        """Return the packets of each flow at links with a queue for each flow, as the core does."""
        return self.setup.lab_backlogs(self.packets, **when)

    def events(self, *, flow: str | None = None, **kept: Any) -> Events:
        """Return events of a flow, with the arguments of `Setup.events`."""
        # A run that is there is always played to its end.
        kept.pop("to_end", None)
        return self.setup.lab_events(self.packets, flow=flow, turns=self.turns, **kept)

    def stall(self, *, flow: str | None = None) -> dict[str, Any] | None:
        """Return the longest time without progress of a flow, as `Setup.stall` does."""
        return self.setup.lab_stall(self.packets, flow=flow, turns=self.turns)

    def capture(self, *, flow: str | None = None, **_: int) -> dict[str, bytes]:
        """Return pcapng files with the kernel's headers, by place; there are no data to cut."""
        kernel = f"Linux, {self.scheme or 'by flow'}"
        about = "midflight to Linux" if self.turns else kernel
        return self.setup.lab_capture(self.packets, flow=flow, about=about)


@dataclass(frozen=True)
class LabRuns:
    """The runs of a scenario with some congestion controls of a kernel."""

    plan: Plan
    kernel: Kernel
    #: Congestion controls of all flows; `OWN` for those of the flows.
    congestion: tuple[str, ...] = ("cubic",)
    #: Settings of the kernel at both ends of each flow.
    sysctls: tuple[tuple[str, str], ...] = ()
    #: The most seconds that a guest may take.
    limit_s: float = LIMIT_S
    #: The senders of the flows, one of `STACKS`; with midflight's senders `congestion` is
    #: `(OURS,)`.
    stack: str = "linux"
    #: The interval at which each of the kernel's senders reports its state, in nanoseconds; 0 for
    #: never.
    sample_ns: int = INTERVAL_NS
    #: How late packets were on the machine's own kernel, by congestion control and run, and how
    #: many runs that took.
    lateness: dict[tuple[str, int], tuple[Lateness, int]] = field(
        default_factory=dict, repr=False, compare=False
    )
    #: Results that are used again, by congestion control and run.
    _kept: dict[tuple[str, int], Ran] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the runs that `values` are of; raises `LabError` if their kernel is not there."""
        from midflight import _core
        from midflight.lab.store import choose

        if values.get("host"):
            raise LabError(
                "runs on a machine's own kernel are of real time and never the same again: there "
                "is nothing to verify"
            )
        plan = _core.Plan(json.dumps(values["scenario"]), name=None)
        sysctls = tuple((str(key), str(value)) for key, value in values["sysctls"])
        # A kernel that the environment names is in no list.
        kernel = choose()
        if kernel.name != values["kernel"]:
            kernel = choose(values["kernel"])
        return cls(
            plan,
            kernel,
            tuple(values["congestion"]),
            sysctls,
            stack=str(values.get("stack", "linux")),
            sample_ns=int(values.get("sample_ns", INTERVAL_NS)),
        )

    def values(self) -> dict[str, Any]:
        """Return what repeats the runs, as values for JSON."""
        return {
            "kernel": self.kernel.name,
            "version": self.kernel.version,
            "hz": self.kernel.hz,
            "stack": self.stack,
            "host": self.is_host,
            "congestion": list(self.congestion),
            "sysctls": [list(pair) for pair in self.sysctls],
            "sample_ns": self.sample_ns,
            "scenario": self.scenario,
        }

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default."""
        found: dict[str, Any] = json.loads(self.plan.canonical)
        return found

    @property
    def is_host(self) -> bool:
        """Whether the kernel is the machine's own."""
        return self.kernel.recipe == HOST

    @property
    def runs(self) -> int:
        """How many runs there are with each congestion control."""
        return int(self.scenario["runs"])

    @property
    def schemes(self) -> tuple[str, ...]:
        """The congestion controls."""
        return self.congestion

    @property
    def headings(self) -> tuple[str, str, int | None]:
        """Title, description and seed, for a page."""
        scenario = self.scenario
        return scenario.get("title") or "Linux", self.kernel.name, int(scenario["seed"])

    def but(self, sets: Iterable[tuple[str, str]]) -> LabRuns:
        """Return the same with another congestion control, which is the path `scheme`."""
        found = self
        for path, value in sets:
            if (path, value) == ("scheme", OWN):
                continue
            if path != "scheme":
                raise refusal(
                    f'"{path}" cannot be set of runs on a kernel; expected scheme',
                    name=path,
                    value=value,
                    accepted="scheme",
                )
            found = replace(found, congestion=(value,))
        return found

    def setup(self, run: int = 0) -> Setup:
        """Return the run of a number, from 0, with the first congestion control."""
        setup, key = self.plan.setup(run), (self.congestion[0], run)
        if key not in self._kept:
            if self.is_host:
                self.run_on_host(*key)
            else:
                (ran,) = run_guests(self.kernel, [self.guest(*key)], limit_s=self.limit_s)
                self._kept[key] = ran
        # It has the methods of a setup that figures and captures use.
        return cast("Setup", KernelRun(setup, self._kept[key], self.congestion[0]))

    def run_on_host(self, congestion: str, run: int) -> Ran:
        """Make a run on the machine's own kernel, and keep it: another would be another one."""
        setup = self.plan.setup(run)
        guest = self.guest(congestion, run)
        scenario = json.dumps({"scenario": self.scenario, "run": run})
        guest = replace(guest, script=f"{sender_line()}\n{guest.script}", scenario=scenario)
        ran, late, attempts = run_on_host(guest, setup.end_ns / 1e9)
        self._kept[congestion, run] = ran
        self.lateness[congestion, run] = (late, attempts)
        return ran

    def guest(self, congestion: str, run: int) -> Guest:
        """Return the guest of a run."""
        setup = self.plan.setup(run)
        seed, scenario = f"{self.scenario['seed']}.{run}", ""
        of_all = scheme_of_all(congestion)
        script = setup.lab_script(
            congestion=[of_all] if of_all else [],
            sysctls=self.sysctls,
            stack=self.stack,
            sample_ns=self.sample_ns,
        )
        if self.stack == OURS:
            scenario = json.dumps({"scenario": self.scenario, "run": run})
            script = f"{sender_line()}\n{script}"
        name = f"the guest of run {run}{f' with {of_all}' if of_all else ''}"
        return Guest(script, seed, setup.lab_serve, scenario=scenario, name=name)

    def pieces(
        self, *, threads: int = 0, progress: Callable[[int, int], object] | None = None
    ) -> Iterator[tuple[Table, Table, Columns, Columns]]:
        """Run all; yield flows, phases, counters and samples of each run, in their order.

        `threads` is how many guests run at a time, 0 for one on each core. The cell of a row is the
        place of its congestion control.
        """
        if self.is_host:
            yield from self.host_pieces(progress or (lambda _done, _total: None))
            return
        numbers = range(self.runs)
        all_runs = [(cell, run) for cell in range(len(self.congestion)) for run in numbers]
        guests = (self.guest(self.congestion[cell], run) for cell, run in all_runs)

        def report(done: int) -> None:
            if progress is not None:
                progress(done, len(all_runs))

        made = run_guests(
            self.kernel, guests, limit_s=self.limit_s, at_once=threads, progress=report
        )
        for (cell, run), ran in zip(all_runs, made, strict=True):
            yield self.tables(cell, run, ran)

    def host_pieces(
        self, progress: Callable[[int, int], object]
    ) -> Iterator[tuple[Table, Table, Columns, Columns]]:
        """Run all on the machine's own kernel, one after the other."""
        total = len(self.congestion) * self.runs
        for cell, congestion in enumerate(self.congestion):
            for run in range(self.runs):
                ran = self.run_on_host(congestion, run)
                progress(cell * self.runs + run + 1, total)
                yield self.tables(cell, run, ran)

    def tables(self, cell: int, run: int, ran: Ran) -> tuple[Table, Table, Columns, Columns]:
        """Return the measurements of a run."""
        setup, scheme = self.plan.setup(run), self.congestion[cell]
        of_all = scheme_of_all(scheme)
        flows, phases = setup.lab_tables(ran.packets, scheme=of_all, cell=cell, turns=turns_of(ran))
        senders = [(one["name"], of_all or one["scheme"]) for one in setup.flows]
        counted = counter_table(cell, run, scheme, counters(ran.files))
        return flows, phases, counted, sample_table(ran.files, senders, cell=cell, run=run)


def counter_table(cell: int, run: int, scheme: str, rows: Sequence[CounterRow]) -> Columns:
    """Return the kernel's counters of a run as a table."""
    return Columns(
        {
            "cell": [cell] * len(rows),
            "run": [run] * len(rows),
            "scheme": [scheme] * len(rows),
            **{name: [getattr(row, name) for row in rows] for name in CounterRow._fields},
        }
    )


def kernel_plans(
    plans: Sequence[tuple[int, Plan]],
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
    runs: tuple[int, int] | None = None,
) -> Iterator[tuple[Table, Table]]:
    """Run scenarios whose flows have the stack "linux"; yield flows and phases of each run.

    `plans` are given with the number of their cell, which is in their rows. `threads`, `progress`
    and `runs` are those of `run_plans`. Raises `LabError` if there is no kernel, or a guest fails.
    """
    from midflight.lab.store import choose

    kernel = choose()
    first, end = runs or (0, 2**63)
    each = [LabRuns(plan, kernel, (OWN,), sample_ns=0) for _, plan in plans]
    all_runs = [
        (place, run) for place, one in enumerate(each) for run in range(first, min(end, one.runs))
    ]
    guests = (each[place].guest(OWN, run) for place, run in all_runs)

    def report(done: int) -> None:
        if progress is not None:
            progress(done, len(all_runs))

    made = run_guests(kernel, guests, at_once=threads, progress=report)
    for (place, run), ran in zip(all_runs, made, strict=True):
        cell, plan = plans[place]
        yield plan.setup(run).lab_tables(ran.packets, cell=cell)
