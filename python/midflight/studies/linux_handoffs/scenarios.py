"""The handoffs of the study: cells of Daniel and Kojo (2008), and the starters.

A cell is a scenario with two links and one handoff, on the network of that paper: a wired link of
100 Mbit/s and 2 ms, queues of one bandwidth-delay product. With each congestion control of Linux it
is run twice: by the kernel, and by the simulator with the profile `linux`. The sender of 2008 is
the simulator's with the profile `ns2`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from midflight.scenario import read_plan, starter_names
from midflight.studies.daniel_kojo_2008.scenarios import BBM, INSTANTS_NS, MBB
from midflight.studies.runs import Cell, Link, Scenarios
from midflight.studies.scenario_runs import scenario_text

#: The simulator's sender of 2008, and its sender that uses notices.
OLD, ENHANCED = "sack", "enhanced"


@dataclass(frozen=True)
class Side:
    """One of the two that run Linux's senders: its name, and its schemes."""

    name: str
    reno: str
    cubic: str
    bbr: str

    @property
    def senders(self) -> tuple[str, ...]:
        """Its senders, in the order of the figures."""
        return (self.reno, self.cubic, self.bbr)


KERNEL = Side("kernel", "reno", "cubic", "bbr")
SIMULATOR = Side("simulator", "reno-linux", "cubic-linux", "bbr-linux")
#: What texts call a sender.
NAMES = {
    OLD: "2008",
    ENHANCED: "2008 with notices",
    **dict(zip(KERNEL.senders, ("Reno", "CUBIC", "BBR"), strict=True)),
    **dict(zip(SIMULATOR.senders, ("Reno", "CUBIC", "BBR"), strict=True)),
}

#: Every tenth of the paper's 200 instants, from 0.3 s to 19.3 s.
SOME_NS = INSTANTS_NS[2::10]
#: The length of a run after its handoff, in seconds: a sender takes longer for 100 segments only
#: with several timeouts in a row.
AFTER_S = 16
GAP = "500 ms"

#: To a longer delay: from a short one and from a shorter one.
LONGER = (
    Cell(Link(6400, 9), Link(6400, 300), MBB),
    Cell(Link(6400, 1), Link(6400, 300), MBB),
)
SHORTER = Cell(Link(6400, 300), Link(6400, 9), MBB)
LESS_RATE = Cell(Link(6400, 75), Link(800, 75), MBB)
MORE_RATE = Cell(Link(800, 75), Link(6400, 75), MBB)
TO_SLOW = Cell(Link(6400, 9), Link(200, 300), MBB)
TO_FAST = Cell(Link(200, 300), Link(6400, 9), MBB)
#: Make before break.
MAKES = (*LONGER, SHORTER, LESS_RATE, MORE_RATE, TO_SLOW, TO_FAST)
#: Break before make.
BREAKS = tuple(Cell(cell.old, cell.new, BBM) for cell in (LONGER[0], SHORTER, TO_SLOW, TO_FAST))
CELLS = (*MAKES, *BREAKS)


def stack_of(sender: str) -> str:
    """Whose TCP a sender is of."""
    return "linux" if sender in KERNEL.senders else "midflight"


def profile_of(sender: str, old: str) -> str:
    """The profile of a sender, whose receiver it has too; that of 2008 has the profile `old`."""
    return old if sender in (OLD, ENHANCED) else "linux"


def link(of: Link) -> dict[str, Any]:
    return {"rate": f"{of.kbps} kbit/s", "delay": f"{of.ms} ms", "queue": "bdp"}


@cache
def handoffs(cell: Cell, sender: str) -> Scenarios:
    """The runs of a cell with a sender, one for each instant."""
    texts = []
    for at_ns in SOME_NS:
        handoff: dict[str, Any] = {"at": f"{at_ns} ns", "to": "new"}
        if cell.kind == BBM:
            handoff["gap"] = GAP
        scenario = {
            "profile": profile_of(sender, "ns2"),
            "end": f"{at_ns + AFTER_S * 10**9} ns",
            "start": "old",
            "wired": {"rate": "100 Mbit/s", "delay": "2 ms"},
            "links": {"old": link(cell.old), "new": link(cell.new)},
            "flows": {"download": {"stack": stack_of(sender), "scheme": sender}},
            "handoffs": [handoff],
        }
        texts.append(scenario_text(scenario))
    return jobs(f"{cell}, {sender}", sender, texts)


def jobs(name: str, sender: str, texts: list[str]) -> Scenarios:
    """Scenarios with a sender; without a kernel, those of the kernel are left out."""
    return Scenarios(name, tuple(texts), optional=sender in KERNEL.senders)


@cache
def starter(name: str, sender: str) -> Scenarios:
    """The first run of a starter with a sender in all its flows."""
    values = json.loads(read_plan(name).canonical)
    values.pop("sweep", None)
    values |= {"runs": 1, "profile": profile_of(sender, "rfc")}
    for flow in values["flows"].values():
        flow |= {"stack": stack_of(sender), "scheme": sender}
    return jobs(f"{name}, {sender}", sender, [scenario_text(values)])


@cache
def starters() -> tuple[str, ...]:
    """The starters with a handoff or a change of the link whose flows are bulk transfers: the
    lab's programs send nothing else."""
    plans = {name: read_plan(name) for name in starter_names()}
    return tuple(
        name
        for name, plan in plans.items()
        if plan.path_changes
        and not any("workload" in flow for flow in json.loads(plan.canonical)["flows"].values())
    )
