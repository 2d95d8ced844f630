"""The handoffs of the study: cells of Daniel and Kojo (2008), and the starters.

A cell is a scenario with two links and one handoff, on the network of that paper: a wired link of
100 Mbit/s and 2 ms, queues of one bandwidth-delay product. It is run by the simulator with the
sender of 2008 and by the kernel with each of its congestion controls.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from midflight.scenario import read_plan, starter_names
from midflight.studies.daniel_kojo_2008.scenarios import BBM, INSTANTS_NS, MBB
from midflight.studies.runs import Cell, Link, Scenarios
from midflight.studies.scenario_runs import scenario_text

#: The senders: the simulator's sender of 2008, its sender that uses notices, then the kernel's.
OLD, ENHANCED = "sack", "enhanced"
RENO, CUBIC, BBR = "reno", "cubic", "bbr"
KERNEL = (RENO, CUBIC, BBR)
SENDERS = (OLD, *KERNEL)

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
    return "linux" if sender in KERNEL else "midflight"


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
            "profile": "ns2",
            "end": f"{at_ns + AFTER_S * 10**9} ns",
            "start": "old",
            "wired": {"rate": "100 Mbit/s", "delay": "2 ms"},
            "links": {"old": link(cell.old), "new": link(cell.new)},
            "flows": {"download": {"stack": stack_of(sender), "scheme": sender}},
            "handoffs": [handoff],
        }
        texts.append(scenario_text(scenario))
    return Scenarios(f"{cell}, {sender}", tuple(texts))


@cache
def starter(name: str, sender: str) -> Scenarios:
    """The first run of a starter with a sender in all its flows."""
    values = json.loads(read_plan(name).canonical)
    values.pop("sweep", None)
    values |= {"runs": 1}
    for flow in values["flows"].values():
        flow |= {"stack": stack_of(sender), "scheme": sender}
    return Scenarios(f"{name}, {sender}", (scenario_text(values),))


def starters() -> list[str]:
    """The starters with a handoff, or a change of the link."""
    return [name for name in starter_names() if read_plan(name).path_changes]
