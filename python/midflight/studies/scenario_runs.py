"""Scenarios as jobs of a study: in the simulator or, by the stack of their flows, on a kernel.

Both give the same events, so each measure is the same function of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.results import Columns, RunTable

if TYPE_CHECKING:
    from midflight._core import Plan, Setup, Table
    from midflight.lab.store import Kernel

__all__ = ["COLUMNS", "Scenarios", "measure_all"]

#: What is known of each run; counts are from the first handoff or change on, times in nanoseconds.
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
    "digest",
)
#: Columns of phases that are added up.
COUNTS = ("timeouts", "spurious_timeouts", "rexmits", "drops_queue", "drops_break")


@dataclass(frozen=True)
class Scenarios:
    """The first run of some scenarios, which are JSON, and what each gave its first flow."""

    name: str
    texts: tuple[str, ...]

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


def measure_all(
    plans: Sequence[Plan], told: Callable[[int], object] = lambda _done: None
) -> Iterator[list[Any]]:
    """Yield what each scenario gave, by `COLUMNS`, in their order.

    `told` is called with how many runs are over. Raises `LabError` if there is no kernel for those
    that need one.
    """
    of_kernel = [plan for plan in plans if plan.stack == "linux"]
    made: Iterator[tuple[Table, Table, Table]] = iter(())
    if of_kernel:
        from midflight.lab.store import choose

        # That there is none shows before anything is run.
        made = kernel_runs(choose(), of_kernel)
    for done, plan in enumerate(plans):
        setup = plan.setup()
        if plan.stack == "linux":
            flows, phases, trace = next(made)
        else:
            flows, phases = _one(plan)
            trace = setup.trace()
        yield measured(setup, flows, phases, trace)
        told(done + 1)


def _one(plan: Plan) -> tuple[Table, Table]:
    from midflight import _core

    return _core.run_plans([plan], threads=1, runs=(0, 1))


def kernel_runs(kernel: Kernel, plans: Sequence[Plan]) -> Iterator[tuple[Table, Table, Table]]:
    """Yield flows, phases and the events of the first flow of each first run, in their order."""
    from midflight.lab.guest import run_guests
    from midflight.lab.runs import OWN, LabRuns

    guests = (LabRuns(plan, kernel, (OWN,), sample_ns=0).guest(OWN, 0) for plan in plans)
    for plan, ran in zip(plans, run_guests(kernel, guests), strict=True):
        setup = plan.setup()
        flows, phases = setup.lab_tables(ran.packets)
        yield flows, phases, setup.lab_trace(ran.packets)


def measured(setup: Setup, flows: Table, phases: Table, trace: Table) -> list[Any]:
    """Return what a run gave its first flow, by `COLUMNS`."""
    of_first = [flow == flows.column("flow")[0] for flow in phases.column("flow")]
    numbers = phases.column("phase")
    after = [place for place, first in enumerate(of_first) if first and numbers[place] > 0] or [
        place for place, first in enumerate(of_first) if first
    ]
    changes = setup.path_changes
    at_ns = changes[0]["at_ns"] if changes else 0
    make_ns = changes[0]["make_ns"] if changes else 0
    counts = {name: sum(phases.column(name)[place] for place in after) for name in COUNTS}
    time_ns, event, value = (trace.numpy(name) for name in ("time_ns", "event", "value"))
    arrived = event == "rcv"
    first_copies = np.zeros(len(event), dtype=bool)
    first_copies[np.flatnonzero(arrived)[np.unique(value[arrived], return_index=True)[1]]] = True
    sent = time_ns[np.isin(event, ("send", "rexmit")) & (time_ns >= make_ns)]
    row = {
        "at_ns": at_ns,
        "t_new_ns": phases.column("all_new_ns")[after[0]] if changes else None,
        "unused_ns": int(sent[0]) - make_ns if changes and len(sent) else None,
        **{name: flows.column(name)[0] for name in ("duration_ns", "stall_ns", "goodput_bps")},
        **counts,
        "needless": int(np.sum(arrived & ~first_copies & (time_ns >= at_ns))),
        "digest": flows.column("digest")[0],
    }
    return [row[name] for name in COLUMNS]


def table_of(rows: Sequence[Sequence[Any]]) -> RunTable:
    """Rows by `COLUMNS` as a table."""
    columns = zip(*rows, strict=True)
    return RunTable(Columns({name: list(one) for name, one in zip(COLUMNS, columns, strict=True)}))


def scenario_text(values: dict[str, Any]) -> str:
    """A scenario as a job has it; the order of links and flows is a part of it."""
    return json.dumps(values)
