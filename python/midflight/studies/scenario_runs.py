"""Scenarios as jobs of a study: in the simulator or, by the stack of their flows, on a kernel.

Both give the same kinds of events, so one function computes a measure for both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.results import Columns, RunTable

if TYPE_CHECKING:
    from midflight._core import Plan, Setup, Table
    from midflight.lab.store import Kernel

__all__ = ["COLUMNS", "Scenarios", "measure_all"]

#: The values of each run; counts are from the first handoff or change on, times in nanoseconds.
COLUMNS = (
    "at_ns",
    "t_new_ns",
    "unused_ns",
    "duration_ns",
    "stall_ns",
    "goodput_bps",
    "timeouts",
    "spurious_timeouts",
    "rexmits",
    "needless",
    "drops_queue",
    "drops_break",
    "acked",
    "fast_rexmits",
    "delivered_ns",
    "acked_ahead",
    "acked_missing",
    "digest",
)
#: Columns of phases that are added up.
COUNTS = (
    *("timeouts", "spurious_timeouts", "rexmits", "drops_queue", "drops_break", "acked"),
    "fast_rexmits",
)
#: Columns of the flow as they are.
OF_FLOW = (
    *("duration_ns", "stall_ns", "goodput_bps", "delivered_ns", "acked_ahead", "acked_missing"),
)
#: Values of traced runs only; none for others.
TRACED = ("unused_ns", "needless")


@dataclass(frozen=True)
class Scenarios:
    """The first run of some scenarios, which are JSON; measured is the first flow.

    Measures that need the events of a run require `traced`; runs without it are run together.
    Without a kernel, the `optional` ones that need it are left out: they have no rows.
    """

    name: str
    texts: tuple[str, ...]
    traced: bool = field(default=True, repr=False)
    optional: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def scheme(self) -> str:
        """The scheme of the first flow."""
        flows = json.loads(self.texts[0])["flows"]
        return str(next(iter(flows.values()))["scheme"])

    def plans(self, core: Any) -> list[Plan]:
        """The scenarios, checked."""
        return [core.Plan(text, name=None) for text in self.texts]

    def core(self, core: Any) -> SetupsOf:
        """The scenarios compiled, with the setup of each."""
        return SetupsOf(self.plans(core))


@dataclass(frozen=True)
class SetupsOf:
    """The first runs of some plans."""

    plans: Sequence[Plan]

    def setup(self, number: int) -> Setup:
        """The first run of the plan of this number."""
        from midflight.plot.over_time.history import run_of

        return run_of(self.plans[number], 0)


def measure_all(
    jobs: Sequence[Scenarios], core: Any, progress: Callable[[int], object] = lambda _done: None
) -> list[list[list[Any]]]:
    """Return the values of each scenario of each job, by `COLUMNS`, in their order.

    `progress` is called with the number of finished runs. Raises `LabError` if there is no kernel
    for those that need one.
    """
    found: list[list[list[Any]]] = [[] for _ in jobs]
    together: list[tuple[int, Plan]] = []
    alone: list[tuple[int, Plan]] = []
    for place, job in enumerate(jobs):
        for plan in job.plans(core):
            (alone if job.traced else together).append((place, plan))
    # All guests of a kernel run in parallel, across jobs.
    of_kernel = [(place, plan) for place, plan in alone if plan.stack == "linux"]
    made: Iterator[tuple[Table, Table, Table]] = iter(())
    if of_kernel:
        from midflight.lab.store import available, choose

        is_optional = all(jobs[place].optional for place, _ in of_kernel)
        # A missing kernel is reported before anything is run.
        kernel = available() if is_optional else choose()
        if kernel is None:
            alone = [one for one in alone if one[1].stack != "linux"]
        else:
            made = kernel_runs(kernel, [plan for _, plan in of_kernel])
    for done, (place, plan) in enumerate(alone):
        setup = plan.setup()
        if plan.stack == "linux":
            flows, phases, trace = next(made)
        else:
            flows, phases = core.run_plans([plan], threads=1, runs=(0, 1))
            trace = setup.trace()
        found[place].append(measured(setup, flows, phases, trace))
        progress(done + 1)
    tables = core.run_plans(
        [plan for _, plan in together],
        runs=(0, 1),
        progress=lambda done, _of: progress(len(alone) + done),
    )
    flows_of, phases_of = (_by_cell(table) for table in tables)
    for cell, (place, plan) in enumerate(together):
        found[place].append(measured(plan.setup(), flows_of[cell], phases_of[cell], None))
    return found


class _Rows:
    """The rows of one cell of a table."""

    def __init__(self, table: dict[str, list[Any]]) -> None:
        self._table = table

    def column(self, name: str) -> list[Any]:
        return self._table[name]


def _by_cell(table: Table) -> dict[int, _Rows]:
    columns = {name: table.column(name) for name in table.column_names}
    places: dict[int, list[int]] = {}
    for place, cell in enumerate(columns["cell"]):
        places.setdefault(cell, []).append(place)
    return {
        cell: _Rows({name: [column[one] for one in rows] for name, column in columns.items()})
        for cell, rows in places.items()
    }


def kernel_runs(kernel: Kernel, plans: Sequence[Plan]) -> Iterator[tuple[Table, Table, Table]]:
    """Yield flows, phases and the events of the first flow of each first run, in their order."""
    from midflight.lab.guest import run_guests
    from midflight.lab.runs import OWN, LabRuns

    guests = (LabRuns(plan, kernel, (OWN,), sample_ns=0).guest(OWN, 0) for plan in plans)
    for plan, ran in zip(plans, run_guests(kernel, guests), strict=True):
        setup = plan.setup()
        flows, phases = setup.lab_tables(ran.packets)
        yield flows, phases, setup.lab_trace(ran.packets)


def measured(
    setup: Setup, flows: Table | _Rows, phases: Table | _Rows, trace: Table | None
) -> list[Any]:
    """Return the values of a run's first flow, by `COLUMNS`; without a trace those of `TRACED` are
    missing."""
    of_first = [flow == flows.column("flow")[0] for flow in phases.column("flow")]
    numbers = phases.column("phase")
    after = [place for place, first in enumerate(of_first) if first and numbers[place] > 0] or [
        place for place, first in enumerate(of_first) if first
    ]
    changes = setup.path_changes
    at_ns = changes[0]["at_ns"] if changes else 0
    make_ns = changes[0]["make_ns"] if changes else 0
    counts = {name: sum(phases.column(name)[place] for place in after) for name in COUNTS}
    row = {
        "at_ns": at_ns,
        "t_new_ns": phases.column("all_new_ns")[after[0]] if changes else None,
        **{name: flows.column(name)[0] for name in OF_FLOW},
        **counts,
        **(dict.fromkeys(TRACED) if trace is None else traced(trace, at_ns, make_ns)),
        "digest": flows.column("digest")[0],
    }
    if not changes:
        row["unused_ns"] = None
    return [row[name] for name in COLUMNS]


def traced(trace: Table, at_ns: int, make_ns: int) -> dict[str, Any]:
    """Return the values, by `TRACED`, of the events of a run whose new link is in use from
    `make_ns` on."""
    time_ns, event, value = (trace.numpy(name) for name in ("time_ns", "event", "value"))
    arrived = event == "rcv"
    first_copies = np.zeros(len(event), dtype=bool)
    first_copies[np.flatnonzero(arrived)[np.unique(value[arrived], return_index=True)[1]]] = True
    sent = time_ns[np.isin(event, ("send", "rexmit")) & (time_ns >= make_ns)]
    return {
        "unused_ns": int(sent[0]) - make_ns if len(sent) else None,
        "needless": int(np.sum(arrived & ~first_copies & (time_ns >= at_ns))),
    }


def table_of(rows: Sequence[Sequence[Any]]) -> RunTable:
    """Rows by `COLUMNS` as a table; there may be none."""
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    return RunTable(Columns({name: list(one) for name, one in zip(COLUMNS, columns, strict=True)}))


def scenario_text(values: dict[str, Any]) -> str:
    """A scenario in the form that a job holds; the order of links and flows matters."""
    return json.dumps(values)
