"""Handoffs that no flow meets: those after all of the node's flows are done, or before one opens.

Such a run says nothing of the handoff, and its numbers do not show it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight.scenario import Outcome
    from midflight.sweep import Sweep

__all__ = ["Unmet", "unmet_cells", "unmet_notes"]


@dataclass(frozen=True)
class Unmet:
    """In how many cells of a sweep a handoff is met by no flow, or a flow meets none."""

    #: A handoff comes when all flows of the mobile node are done, in one run at least.
    all_done: int = 0
    #: A flow of the mobile node opens after the last handoff.
    opens_late: int = 0

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each that there is."""
        if self.all_done:
            yield f"In {cells(self.all_done)} a handoff came when every flow was done."
        if self.opens_late:
            yield f"In {cells(self.opens_late)} a flow opened after the last handoff."


def cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def done_ns(flows: Iterable[Mapping[str, Any]]) -> int | None:
    """Return when the last of these flows was done; None if one was not, or there is none."""
    ends = [row["finished_ns"] for row in flows]
    return None if not ends or any(end in (None, "") for end in ends) else max(map(int, ends))


def handoffs_ns(occasions: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return when the handoffs begin."""
    return [one["at_ns"] for one in occasions if one["kind"] == "handoff"]


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


def unmet_notes(outcome: Outcome) -> Iterator[str]:
    """Yield notes on handoffs that no flow of a run meets, and on flows that meet none."""
    from midflight.explain.telling import when
    from midflight.run_tables import rows

    handoffs = handoffs_ns(outcome.plan.occasions)
    moving = [row for row in rows(outcome.flows) if row["moves"]]
    runs: dict[int, list[dict[str, Any]]] = {}
    for row in moving:
        runs.setdefault(row["run"], []).append(row)
    ends = [end for flows in runs.values() if (end := done_ns(flows)) is not None]
    late = [at for at in handoffs if any(end <= at for end in ends)]
    if late:
        early = [end for end in ends if end <= late[0]]
        which = f"handoff at {when(late[0])}" + (f" and {len(late) - 1} later" if late[1:] else "")
        where = "" if len(runs) == 1 else f" in {len(early)} of {len(runs)} runs, the last"
        yield f"{which}: every flow was done{where} at {max(early) / 1e9:.3f} s"
    for name, at in late_flows(moving, handoffs).items():
        yield f"{name} opens at {when(at)}, after the last handoff at {when(max(handoffs))}"


def unmet_cells(sweep: Sweep, folder: Path) -> Unmet:
    """Count the cells of a sweep, which is put together in a folder, where that is so."""
    # Only these axes move handoffs.
    moving = [axis for axis in sweep.axes if axis.startswith("handoffs")]
    known: dict[tuple[str, ...], list[int]] = {}
    done: set[str] = set()
    late: set[str] = set()
    with (folder / "flows.csv").open(newline="", encoding="utf-8") as file:
        each = (row for row in csv.DictReader(file) if row["moves"] == "1")
        for (cell, _), found in groupby(each, key=itemgetter("cell", "run")):
            flows = list(found)
            values = tuple(flows[0][axis] for axis in moving)
            if values not in known:
                known[values] = handoffs_ns(sweep.plan(int(cell)).occasions)
            handoffs = known[values]
            end = done_ns(flows)
            if handoffs and end is not None and end <= handoffs[-1]:
                done.add(cell)
            if late_flows(flows, handoffs):
                late.add(cell)
    return Unmet(len(done), len(late))
