"""Runs of a scenario on a kernel, measured as simulated ones are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, cast

from midflight.lab.guest import LIMIT_S, Guest, Ran, run_guests
from midflight.lab.record import CounterRow, counters
from midflight.refusal import refusal
from midflight.results import Columns

if TYPE_CHECKING:
    from midflight._core import Plan, Setup, Table
    from midflight.lab.store import Kernel

__all__ = ["KernelRun", "LabRuns"]


class KernelRun:
    """A run that a kernel has made; what `Setup` tells of the scenario, it tells too."""

    def __init__(self, setup: Setup, packets: bytes, scheme: str) -> None:
        """Take the run's setup, the guest's record of packets, and the congestion control."""
        self.setup, self.packets, self.scheme = setup, packets, scheme

    def __getattr__(self, name: str) -> Any:
        return getattr(self.setup, name)

    def trace(self, *, flow: str | None = None) -> Table:
        """Return every event of a flow, with the columns of `Setup.trace`."""
        return self.setup.lab_trace(self.packets, flow=flow)

    def capture(self, *, flow: str | None = None, **_: int) -> dict[str, bytes]:
        """Return pcapng files with the kernel's headers, by place; there are no data to cut."""
        return self.setup.lab_capture(self.packets, flow=flow, about=f"Linux, {self.scheme}")


@dataclass(frozen=True)
class LabRuns:
    """The runs of a scenario with some congestion controls of a kernel."""

    plan: Plan
    kernel: Kernel
    congestion: tuple[str, ...] = ("cubic",)
    #: Settings of the kernel at both ends of each flow.
    sysctls: tuple[tuple[str, str], ...] = ()
    #: The most seconds that a guest may take.
    limit_s: float = LIMIT_S
    #: Records that are used again, by congestion control and run.
    _kept: dict[tuple[str, int], bytes] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the runs that `values` are of; raises `LabError` if their kernel is not there."""
        from midflight import _core
        from midflight.lab.store import choose

        plan = _core.Plan(json.dumps(values["scenario"]), name=None)
        sysctls = tuple((str(key), str(value)) for key, value in values["sysctls"])
        # A kernel that the environment names is in no list.
        kernel = choose()
        if kernel.name != values["kernel"]:
            kernel = choose(values["kernel"])
        return cls(plan, kernel, tuple(values["congestion"]), sysctls)

    def values(self) -> dict[str, Any]:
        """Return what repeats the runs, as values for JSON."""
        return {
            "kernel": self.kernel.name,
            "version": self.kernel.version,
            "hz": self.kernel.hz,
            "congestion": list(self.congestion),
            "sysctls": [list(pair) for pair in self.sysctls],
            "scenario": self.scenario,
        }

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default."""
        found: dict[str, Any] = json.loads(self.plan.canonical)
        return found

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
            (ran,) = run_guests(self.kernel, [self.guest(*key)], limit_s=self.limit_s)
            self._kept[key] = ran.packets
        # It has what pictures and captures ask of a setup.
        return cast("Setup", KernelRun(setup, self._kept[key], self.congestion[0]))

    def guest(self, congestion: str, run: int) -> Guest:
        """Return the guest of a run."""
        setup = self.plan.setup(run)
        script = setup.lab_script(congestion=[congestion], sysctls=self.sysctls)
        seed = f"{self.scenario['seed']}.{run}"
        return Guest(script, seed=seed, name=f"the guest of run {run} with {congestion}")

    def pieces(
        self, *, threads: int = 0, progress: Callable[[int, int], object] | None = None
    ) -> Iterator[tuple[Table, Table, Columns]]:
        """Run all; yield the tables of flows, phases and counters of each run, in their order.

        `threads` is how many guests run at a time, 0 for one on each core. The cell of a row is the
        place of its congestion control.
        """
        numbers = range(self.runs)
        all_runs = [(cell, run) for cell in range(len(self.congestion)) for run in numbers]
        guests = (self.guest(self.congestion[cell], run) for cell, run in all_runs)

        def told(done: int) -> None:
            if progress is not None:
                progress(done, len(all_runs))

        made = run_guests(self.kernel, guests, limit_s=self.limit_s, at_once=threads, told=told)
        for (cell, run), ran in zip(all_runs, made, strict=True):
            yield self.tables(cell, run, ran)

    def tables(self, cell: int, run: int, ran: Ran) -> tuple[Table, Table, Columns]:
        """Return what was measured of a run."""
        setup, scheme = self.plan.setup(run), self.congestion[cell]
        flows, phases = setup.lab_tables(ran.packets, scheme=scheme, cell=cell)
        return flows, phases, counter_table(cell, run, scheme, counters(ran.files))


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
