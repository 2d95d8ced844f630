"""Why the flows of a report were as fast as they were: limits, handoffs and outages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from midflight.explain.arrivals import RunEvents
from midflight.explain.limits import (
    Flowing,
    buffer_setting,
    has_own_links,
    limits_of,
    long_uses,
    sentence,
    use_of,
)
from midflight.explain.path import PathSamples
from midflight.explain.recovery import Recovering, recovery_lines, slow_recovery
from midflight.explain.slow_times import Using, slow_line
from midflight.explain.use_of_link import Span
from midflight.run_tables import is_requests, rows

if TYPE_CHECKING:
    from midflight.scenario import Outcome

__all__ = ["Reasons", "reasons_of"]


#: A link of which a flow used less than this share has its limit told, however short that was.
_LITTLE = 0.2


class Reasons(NamedTuple):
    """Why flows were as fast as they were: what limited each, as the name of its outcome, the flow
    and a sentence; what handoffs and outages did to all of them, after when the link was worst by
    its recording; and the slowest recovery of each, by the names of its outcome and its own.
    """

    limits: list[tuple[str, str, str]]
    recoveries: list[str]
    slowest: dict[tuple[str, str], str]


def reasons_of(
    outcomes: Mapping[str, Outcome], names: Sequence[str], means_ns: float | None = None
) -> Reasons:
    """Return these of flows of the first run of each outcome. Rates that were used again are means
    over whole `means_ns`, the steps of a figure beside them, if that is given.
    """
    limits: list[tuple[str, str, str]] = []
    flows = []
    slowest: dict[tuple[str, str], str] = {}
    using: list[Using] = []
    for key, outcome in outcomes.items():
        if outcome.plan.stack == "linux":
            # The events of a kernel's run are those of its own programs.
            continue
        setup = outcome.plan.setup(0)
        run = RunEvents(setup)
        scenario = json.loads(outcome.plan.canonical)
        is_alone = has_own_links(scenario, run)
        own = [row for row in rows(outcome.flows) if row["run"] == 0 and row["flow"] in names]
        own = [row for row in own if not is_requests(row)]
        phases = [row for row in rows(outcome.phases) if row["run"] == 0]
        paths: dict[bool, PathSamples] = {}
        for row in own:
            name, is_up = row["flow"], row["direction"] == "up"
            if is_up not in paths:
                paths[is_up] = PathSamples(setup, is_up=is_up)
            ended = row["finished_ns"]
            span = row["opened_ns"], paths[is_up].end_ns if ended is None else ended
            setting = buffer_setting(scenario, scenario["flows"][row["entry"]])
            stalled = row["stalled_at_ns"] or 0
            stall = stalled, stalled + row["stall_ns"]
            of = Flowing(run, name, paths[is_up], stall, is_alone, setting)
            told = len(limits)
            uses = long_uses(paths[is_up], span)
            for when, within in [*uses, *_least_used(of, span, uses)]:
                if found := limits_of(of, within):
                    limits.append((key, name, sentence(found, when)))
            if len(outcomes) > 1 and told == len(limits) and (used := use_of(of, span)):
                # Each of the compared schemes has a sentence.
                limits.append((key, name, used))
            label = f"`{name}`" if len(own) > 1 else key
            of_flow = [one for one in phases if one["flow"] == name]
            using.append(Using(label, run, name, paths[is_up], span))
            is_paced = row.get("workload") not in (None, "", "bulk")
            path = paths[is_up] if is_alone else None
            flows.append(Recovering(label, run, name, span, of_flow, is_paced, path, means_ns))
            if said := slow_recovery(flows[-1]):
                slowest[key, name] = said
    # Flows of one direction have the same link.
    ways = {one.run.flows[one.flow]["direction"] for one in using}
    slow = slow_line(using) if len(ways) == 1 else ""
    recoveries = recovery_lines(flows, has_summary=bool(slowest))
    return Reasons(limits, [*([slow] if slow else []), *recoveries], slowest)


def _least_used(
    of: Flowing, span: Span, told: Sequence[tuple[str, Span]]
) -> list[tuple[str, Span]]:
    """Return the time on a link, none of those that are told, in which a flow used least of it, if
    that was little.
    """
    events = of.run.of(of.flow)
    found = []
    for when, within in long_uses(of.path, span, least=0.0):
        could = of.path.bits(*within)
        if (when, within) not in told and could > 0:
            share = events.bits_of(of.path.passing(*within)) / could
            found.append((share, (when, within)))
    least = min(found, default=None)
    return [] if least is None or least[0] >= _LITTLE else [least[1]]
