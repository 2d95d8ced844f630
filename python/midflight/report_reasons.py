"""Why the flows of a report were as fast as they were: limits, handoffs and outages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from midflight.explain.arrivals import RunEvents
from midflight.explain.limits import limit_of
from midflight.explain.path import PathSamples
from midflight.explain.recovery import Recovering, recovery_lines
from midflight.run_tables import rows

if TYPE_CHECKING:
    from midflight.scenario import Outcome

__all__ = ["reason_lines"]


def reason_lines(
    outcomes: Mapping[str, Outcome], names: Sequence[str]
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return what limited flows of the first run of each outcome, as its name, the flow and a
    sentence; and what handoffs and outages did to all of them.
    """
    limits, flows = [], []
    for key, outcome in outcomes.items():
        if outcome.plan.stack == "linux":
            # The events of a kernel's run are those of its own programs.
            continue
        setup = outcome.plan.setup(0)
        run = RunEvents(setup)
        links = json.loads(outcome.plan.canonical)["links"].values()
        is_alone = not any(link.get("cross") for link in links)
        own = [row for row in rows(outcome.flows) if row["run"] == 0 and row["flow"] in names]
        own = [row for row in own if row["flow"] != f"{row['entry']}-requests"]
        phases = [row for row in rows(outcome.phases) if row["run"] == 0]
        paths: dict[bool, PathSamples] = {}
        for row in own:
            name, is_up = row["flow"], row["direction"] == "up"
            if is_up not in paths:
                paths[is_up] = PathSamples(setup, is_up=is_up)
            ended = row["finished_ns"]
            span = row["opened_ns"], setup.end_ns if ended is None else ended
            how = {"stall_ns": row["stall_ns"], "is_alone": is_alone}
            limits.append((key, name, limit_of(run, name, span, paths[is_up], **how)))
            label = f"`{name}`" if len(own) > 1 else key
            of_flow = [one for one in phases if one["flow"] == name]
            flows.append(Recovering(label, run, name, span, of_flow))
    return [one for one in limits if one[-1]], recovery_lines(flows)
