"""What a figure over time says of a run besides its lines: cross traffic, flows that stay on their
link, and which of several runs it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from midflight.plot.over_time.drained import drains
from midflight.plot.over_time.history import NS_PER_S, RunSource, SetupSource, plan_of

if TYPE_CHECKING:
    from midflight.plot.over_time.curves import Curve, WatchedRun
    from midflight.plot.over_time.history import History
    from midflight.policy import Policies

__all__ = ["company_of", "in_common", "late_words"]

#: What arrives over the old link after a handoff is told if it is so much faster than the new one.
_FASTER = 1.2


def company_of(source: RunSource, run: int, policies: Policies | None) -> list[str]:
    """Return what a figure of a run of this number has beside its lines, each in a few words."""
    if isinstance(source, SetupSource):
        return []
    scenario = json.loads(plan_of(source, policies=policies).canonical)
    crossed = {
        name: str(link["cross"])
        for name, link in scenario.get("links", {}).items()
        if link.get("cross") not in (None, "", "none")
    }
    said = [f"cross traffic on {name}: {cross}" for name, cross in crossed.items()]
    flows: Mapping[str, Mapping[str, object]] = scenario.get("flows", {})
    staying: dict[str, list[str]] = {}
    for name, flow in flows.items():
        if flow.get("on"):
            staying.setdefault(str(flow["on"]), []).append(name)
    if staying and len(scenario.get("links", {})) > 1:
        moving = [name for name, flow in flows.items() if not flow.get("on")]
        said += [f"{', '.join(names)}: always on {link}" for link, names in staying.items()]
        if moving:
            said.append(f"the links on top are those of {', '.join(moving)}")
    if (runs := int(scenario.get("runs") or 1)) > 1:
        said.append(f"run {run} of {runs}")
    return said


def in_common(runs: Sequence[WatchedRun]) -> list[str]:
    """Return what is said of each of some runs."""
    return [one for one in runs[0].company if all(one in run.company for run in runs)]


def late_words(found: Iterable[tuple[WatchedRun, History, Curve]]) -> str:
    """Return for how long data still arrive over the old link after a handoff, of lines that are
    then above the rate of the new one; "" if none is.
    """
    longest_s, handoffs = 0.0, 1
    for run, flow, line in found:
        for make, last, _ in drains(run, flow):
            since = round(make * NS_PER_S)
            new = next((one.link for one in run.stretches if one.from_ns == since), "")
            number = run.link_of(new)
            inside = (line.time_s[1:] > make + 1e-9) & (line.time_s[:-1] < last)
            if number is None or not inside.any():
                continue
            sampled = run.sampled(number, "time_ns") / NS_PER_S
            place = min(int(np.searchsorted(sampled, make)), len(sampled) - 1)
            rate = float(run.sampled(number, "rate_bps")[place]) / 1e6
            if np.nanmax(line.value[:-1][inside]) > _FASTER * rate:
                longest_s, handoffs = max(longest_s, last - make), len(run.setup.path_changes)
    if not longest_s:
        return ""
    most = "up to " * (handoffs > 1)
    return f"after a handoff data of the old link arrive for {most}{longest_s:.2g} s"
