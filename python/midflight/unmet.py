"""Handoffs that affect no flow: those after all of the node's flows are done, or before one opens.

Such a run does not measure the handoff, and its numbers do not show that. A flow is done before a
handoff if all its data had arrived, so that at most its last ACK was under way. Nor does a flow
that is done before it had as many new packets after the handoff as a time after it counts.
"""

from __future__ import annotations

import csv
import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.run_tables import counted, is_kept, plain_text, rows

if TYPE_CHECKING:
    from midflight._core import PathChange, Plan, Table
    from midflight.results import Columns
    from midflight.sweep import Sweep

__all__ = [
    "MET",
    "WHICH",
    "PathChanges",
    "Unmet",
    "UnmetRuns",
    "done_early",
    "drawn_notes",
    "handoff_words",
    "met_handoff",
    "unmet_cells",
    "unmet_notes",
]

#: The column of results that says whether a flow was not done before the handoff, or, for a time
#: after the handoff, before it had that time.
MET = "met_handoff"
#: The column that has in words which handoff that is, or which one a comparison is about.
WHICH = "which_handoff"
#: Handoffs at more instants than this are not searched for.
_MOST_INSTANTS = 5000
#: When a flow began, and how long after that all its data had arrived, where that is recorded.
_ARRIVED = ("opened_ns", "delivered_ns")
#: Axes of links that cannot change a delay.
_NO_DELAY = ("at", "pause", "rate", "queue", "loss", "reorder", "cross", "agent")


def handoff_words(scenario: Mapping[str, Any], phase: int | None) -> str:
    """Return which handoff a measurement is about, or which change of a scenario that has some."""
    if phase is None:
        return "the handoff"
    kinds = [one for one in ("handoff", "change") if scenario.get(f"{one}s")]
    return f"{' or '.join(kinds) or 'handoff'} {phase}"


def done_early(metric: str, which: str = "the handoff") -> str:
    """Return in words which flows do not measure a handoff with a metric."""
    few = {"all_new_ns": "with fewer new packets", "first_new_ns": "without a new packet"}
    return f"done {few[metric]} after {which}" if metric in few else f"done before {which}"


@dataclass(frozen=True)
class Unmet:
    """The number of cells of a sweep in which a handoff affects no flow, or a flow has no
    handoff."""

    #: A handoff occurs when all flows of the mobile node are done, in at least one run.
    all_done: int = 0
    #: A flow of the mobile node opens after the last handoff.
    opens_late: int = 0

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each count above zero."""
        if self.all_done:
            yield f"In {counted(self.all_done, 'cell')} a handoff came when every flow was done."
        if self.opens_late:
            yield f"In {counted(self.opens_late, 'cell')} a flow opened after the last handoff."


def done_ns(flows: Iterable[Mapping[str, Any]]) -> int | None:
    """Return when the last of these flows was done; None if one was not, or there is none."""
    ends = [row["finished_ns"] for row in flows]
    return None if not ends or any(end in (None, "") for end in ends) else max(map(int, ends))


def handoffs_ns(path_changes: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return when the handoffs begin."""
    return [one["at_ns"] for one in path_changes if one["kind"] == "handoff"]


def late_flows(flows: Iterable[Mapping[str, Any]], handoffs: Sequence[int]) -> dict[str, int]:
    """Return the flows that open after the last handoff, and when."""
    if not handoffs:
        return {}
    opened = {row["flow"]: row["opened_ns"] for row in flows}
    return {
        name: int(at)
        for name, at in opened.items()
        if at not in (None, "") and int(at) > max(handoffs)
    }


class UnmetRuns:
    """Handoffs that affect no flow in a scenario's runs. Runs are added in batches."""

    def __init__(self, plan: Plan) -> None:
        self.handoffs = sorted(handoffs_ns(plan.path_changes))
        self.runs = 0
        #: For each handoff, by its index: the number of runs in which all flows are done before it
        #: but not before the previous one, and the time at which the last of them was done.
        self.done: dict[int, tuple[int, int]] = {}
        self.late: dict[str, int] = {}

    def add(self, flows: Table | Columns, _phases: Table | Columns) -> None:
        """Add some runs."""
        moving = [row for row in rows(flows) if row["moves"]]
        for _, found in groupby(moving, key=itemgetter("run")):
            self.runs += 1
            of_run = list(found)
            end = done_ns(of_run)
            if end is not None:
                place = bisect_left(self.handoffs, end)
                count, last = self.done.get(place, (0, 0))
                self.done[place] = count + 1, max(last, end)
            self.late.update(late_flows(of_run, self.handoffs))

    def notes(self) -> Iterator[str]:
        """Yield notes on handoffs that affect no flow of a run, and on flows without a handoff."""
        from midflight.explain.words import when

        first = min(self.done, default=len(self.handoffs))
        late = self.handoffs[first:]
        if late:
            early, last = self.done[first]
            more = f" and {len(late) - 1} later" if late[1:] else ""
            where = "" if self.runs == 1 else f" in {early} of {self.runs} runs, the last"
            done = f"every flow was done{where} at {last / 1e9:.3f} s"
            yield f"handoff at {when(late[0])}{more}: {done}"
        for name, at in self.late.items():
            yield f"{name} opens at {when(at)}, after the last handoff at {when(self.handoffs[-1])}"


def unmet_notes(made: Iterable[tuple[Plan, Table | Columns, Table | Columns]]) -> list[str]:
    """Return the notes on runs of several scenarios, each with its tables of flows and of phases.
    Those with handoffs at the same instants, as with other schemes, are told together.
    """
    each: dict[tuple[int, ...], UnmetRuns] = {}
    for plan, flows, phases in made:
        new = UnmetRuns(plan)
        each.setdefault(tuple(new.handoffs), new).add(flows, phases)
    return [said for one in each.values() for said in one.notes()]


def drawn_notes(plans: Iterable[Plan], run: int) -> list[str]:
    """Return the same notes on one run of each scenario. A run on a kernel is not repeated."""
    from midflight.scenario import run_tables

    moving = [one for one in plans if handoffs_ns(one.path_changes) and one.stack != "linux"]
    return unmet_notes((one, *run_tables([one], runs=(run, run + 1))) for one in moving)


class PathChanges:
    """When the handoffs and changes of a sweep's cells begin."""

    def __init__(self, sweep: Sweep) -> None:
        from midflight.sweep_folder import AFTER

        self.sweep = sweep
        #: The measurements that are taken after a handoff or change.
        self.after = AFTER
        # Only these axes move them, or the node's link.
        moving = ("handoffs", "changes", "start")
        self.axes = [axis for axis in sweep.axes if axis.startswith(moving)]
        self.known: dict[tuple[str, ...], list[PathChange]] = {}
        of_delays = [one for one in sweep.axes if one.startswith(("links", "wired", "changes"))]
        self.delay_axes = [one for one in of_delays if one.rpartition(".")[2] not in _NO_DELAY]
        #: For each combination of their values the least delays of the paths over each link.
        self.delays: dict[tuple[str, ...], Mapping[str, int]] = {}

    def of(self, row: Mapping[str, str]) -> list[PathChange]:
        """Return those of the cell that a row is of."""
        values = tuple(row[axis] for axis in self.axes)
        if values not in self.known:
            self.known[values] = self._made(row).path_changes
        return self.known[values]

    def _made(self, row: Mapping[str, str]) -> Plan:
        """Make the plan of the cell that a row is of, and note its delays if they are new."""
        plan = self.sweep.plan(int(row["cell"]))
        values = tuple(row[axis] for axis in self.delay_axes)
        if values not in self.delays:
            self.delays[values] = _path_delays_ns(json.loads(plan.canonical))
        return plan

    def _path_delay_ns(self, row: Mapping[str, str], link: str) -> int:
        """The least time that an ACK takes from one end of a path over a link to the other."""
        values = tuple(row[axis] for axis in self.delay_axes)
        if values not in self.delays:
            self._made(row)
        return self.delays[values][link]

    def had_arrived(self, row: Mapping[str, str], began: PathChange) -> bool:
        """Whether all data of a flow that finished had arrived when this handoff or change began.

        Where the arrival is not recorded, the last ACK left at least one path delay before it came.
        """
        if row.get("delivered_ns", "") != "":
            arrived = int(row["opened_ns"]) + int(row["delivered_ns"])
        else:
            arrived = int(row["finished_ns"]) - self._path_delay_ns(row, began["from_link"])
        return arrived <= began["at_ns"]

    def is_early(self, row: Mapping[str, str], metric: str, phase: int | None = None) -> bool:
        """Whether a flow was done before the handoff or change of that number, or, for a time after
        it, before it had that time.

        Without a number it is the first handoff.
        """
        if row["finished_ns"] == "":
            return False
        if metric in self.after and row[metric] != "":
            return False
        all_of_them = self.of(row)
        if phase is None:
            some = [one for one in all_of_them if one["kind"] == "handoff"][:1]
        else:
            some = all_of_them[phase - 1 : phase]
        return any(metric in self.after or self.had_arrived(row, one) for one in some)


def _path_delays_ns(scenario: Mapping[str, Any]) -> dict[str, int]:
    """The least delays of the paths of a scenario, by their links."""
    # Commands import this module before they print help, which loads no core.
    from midflight._core import parse_duration
    from midflight.link_cells import least_delay_ns

    wired, found = 2 * parse_duration(scenario["wired"]["delay"]), {}
    for name, link in scenario["links"].items():
        changes = [one for one in scenario.get("changes") or () if one["link"] == name]
        found[name] = wired + least_delay_ns(link, changes)
    return found


def met_handoff(
    folder: Path, columns: Mapping[str, Sequence[Any]], measured: str
) -> Mapping[str, Sequence[str]]:
    """Return two columns for a sweep's table of flows: for each row "1", or "0" if its flow was
    done before the handoff or change that a comparison of a measurement is about, usually the
    first handoff, or had too few packets after it to be measured; and which one that is, in words.
    Return none if the folder is no sweep with handoffs, or has too many.
    """
    from midflight._core import MidflightError
    from midflight.sweep import Sweep
    from midflight.sweep_folder import AFTER

    if not {"cell", "finished_ns"} <= set(columns):
        return {}
    try:
        sweep = Sweep.read(folder)
        path_changes = PathChanges(sweep)
    except (OSError, MidflightError):
        # Results alone, or schemes of the user.
        return {}
    names = [*dict.fromkeys([*path_changes.axes, *path_changes.delay_axes]), "cell", "finished_ns"]
    names += {measured} & {*AFTER}
    if {*_ARRIVED} <= {*columns}:
        names += _ARRIVED
    if any(name not in columns for name in names):
        return {}
    each = zip(*(columns[name] for name in names), strict=True)
    texts = [dict(zip(names, map(_text, row), strict=True)) for row in each]
    if len({tuple(row[axis] for axis in path_changes.axes) for row in texts}) > _MOST_INSTANTS:
        return {}
    if not texts or not handoffs_ns(path_changes.of(texts[0])):
        return {}
    phase = sweep.phase if sweep.metric in (None, measured) else None
    which = handoff_words(json.loads(sweep.scenario), phase)
    met = ["0" if path_changes.is_early(row, measured, phase) else "1" for row in texts]
    return {MET: met, WHICH: [which] * len(met)}


def _text(value: object) -> str:
    """A cell of a table as its CSV file has it."""
    if value is None or value != value:
        return ""
    # Integers of a column with missing values are floats.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def unmet_cells(
    path_changes: PathChanges, folder: Path, where: Mapping[str, Sequence[str]]
) -> Unmet:
    """Count these cells of a sweep, from the rows with these values of the tables in its folder."""
    done: set[str] = set()
    late: set[str] = set()
    with (folder / "flows.csv").open(newline="", encoding="utf-8") as file:
        plain = (
            {key: plain_text(cell) for key, cell in row.items()} for row in csv.DictReader(file)
        )
        each = (row for row in plain if row["moves"] == "1" and is_kept(row, where))
        for (cell, _), found in groupby(each, key=itemgetter("cell", "run")):
            flows = list(found)
            handoffs = [one for one in path_changes.of(flows[0]) if one["kind"] == "handoff"]
            is_done = bool(handoffs) and done_ns(flows) is not None
            if is_done and all(path_changes.had_arrived(row, handoffs[-1]) for row in flows):
                done.add(cell)
            if late_flows(flows, handoffs_ns(handoffs)):
                late.add(cell)
    return Unmet(len(done), len(late))
