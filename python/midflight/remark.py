"""Notes on what a scenario does not use or takes in another way, as warnings of Python."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight._core import Plan

__all__ = ["ScenarioWarning", "equal_runs", "remarks_of", "warn_of"]


class ScenarioWarning(UserWarning):
    """A note on a scenario, which the command line prints: a column that is not used, a time
    without rows in a recording, a run that ends before it.
    """


def remarks_of(
    plan: Plan, axes: Collection[str] = (), *, run: Iterable[Plan] | None = None
) -> list[str]:
    """Return the notes on a scenario, of which `axes` have other values than its own; one that is
    true of several links or flows is one note. `run` are what is run in place of it: the same with
    other schemes.
    """
    every = [*plan.remarks, *_short_applications(json.loads(plan.canonical), axes)]
    if run is not None:
        # Those of the core on flows are on their schemes.
        of_flows = (said for one in run for said in one.remarks if said.startswith("flows."))
        own = {said for said in plan.remarks if said.startswith("flows.")}
        every = [*(said for said in every if said not in own), *of_flows]
    keys: dict[str, list[str]] = {}
    for one in every:
        key, colon, said = one.partition(": ")
        is_of_part = bool(colon) and key.startswith(("links.", "flows."))
        keys.setdefault(said if is_of_part else one, []).append(key if is_of_part else "")
    return [
        f"{', '.join(dict.fromkeys(of))}: {said}" if of[0] else said for said, of in keys.items()
    ]


def equal_runs(plans: Iterable[Plan]) -> str:
    """Return a note if these scenarios have several runs, which are equal, as nothing is random."""
    runs = 1
    for one in plans:
        if one.has_chance:
            return ""
        runs = max(runs, json.loads(one.canonical)["runs"])
    if runs == 1:
        return ""
    return (
        f"all {runs} runs are equal: nothing is random in this scenario (losses, reordering, cross "
        "traffic, notices and signals that are lost)"
    )


def _short_applications(scenario: Mapping[str, Any], axes: Collection[str]) -> Iterator[str]:
    """Yield a note for each application that ends at the default length, before the recording."""
    from midflight import _core

    if not any(link.get("trace") for link in scenario["links"].values()):
        return
    knobs = {one["name"]: one["knobs"] for one in _core.workloads()}
    until_ns = _core.parse_duration(scenario["end"])
    for name, flow in scenario["flows"].items():
        workload = flow.get("workload")
        of_length = (one for one in knobs.get(workload, ()) if one["name"] == f"{workload}_length")
        for knob in of_length:
            key = knob["name"]
            given = {*flow.get("set", {}), *scenario.get("set", {})}
            if key in given or any(axis.endswith(f"set.{key}") for axis in axes):
                continue
            last_ns = _core.parse_duration(flow["stagger"]) * (flow["count"] - 1)
            start_ns = _core.parse_duration(flow["start"]) + last_ns
            left_ns = until_ns - start_ns
            if _core.parse_duration(knob["default"]) < left_ns:
                yield (
                    f"flows.{name}: the {workload} lasts {knob['default']}, and the run may last "
                    f'until {until_ns / 1e9:g} s; set.{key} = "{left_ns / 1e9:g} s" makes it last '
                    "that long"
                )


def warn_of(remarks: Iterable[str]) -> None:
    """Issue notes as warnings at the line that called midflight."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_own(str(frame.f_globals.get("__name__"))):
        level, frame = level + 1, frame.f_back
    for one in remarks:
        warnings.warn(one, ScenarioWarning, stacklevel=level)


def _is_own(module: str) -> bool:
    """Whether a module is one of this package."""
    return module.partition(".")[0] == "midflight"
