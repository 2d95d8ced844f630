"""What a sweep simulates, in a line: flows, links and handoffs without the values of its axes, and
how many runs it has of which combinations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.flow_tables import shared_settings, tables_of
from midflight.listing import joined
from midflight.run_tables import counted, stack_summary

if TYPE_CHECKING:
    from midflight.sweep import Sweep

__all__ = ["replaced", "runs_words", "simulated_words", "value_lines"]

#: Flows, links, handoffs and changes that are named each; more are counted.
_MOST_NAMED = 4


def replaced(path: str, axes: Collection[str]) -> bool:
    """Whether an axis replaces what is at a path of a scenario, such as "links.lte.rate"."""
    parts = path.split(".")

    def covers(axis: str) -> bool:
        own = axis.split(".")
        return len(own) <= len(parts) and all(
            "*" in pair or pair[0] == pair[1] for pair in zip(own, parts, strict=False)
        )

    return any(map(covers, axes))


def simulated_words(scenario: Mapping[str, Any], axes: Mapping[str, Sequence[str]]) -> str:
    """Return what a scenario in its canonical form simulates, without what the axes replace."""
    handoffs, changes = scenario.get("handoffs") or (), scenario.get("changes") or ()
    parts = [
        _listed("flow", [_flow(name, one, axes) for name, one in scenario["flows"].items()]),
        _listed("link", [_link(name, one, axes) for name, one in scenario["links"].items()]),
        _listed("handoff", [_handoff(place, one, axes) for place, one in enumerate(handoffs)]),
        _listed("change", [_change(place, one, axes) for place, one in enumerate(changes)]),
    ]
    said = "; ".join(one for one in parts if one)
    return f"{said[:1].upper()}{said[1:]}."


def _listed(what: str, words: Sequence[str]) -> str:
    """Things by their words, or how many they are."""
    if len(words) > _MOST_NAMED:
        return counted(len(words), what)
    return f"{what}{'s' * (len(words) > 1)} {joined(words)}" if words else ""


def _with(name: str, values: Sequence[str]) -> str:
    return f"{name} ({', '.join(values)})" if values else name


def _flow(name: str, flow: Mapping[str, Any], axes: Mapping[str, Sequence[str]]) -> str:
    at = f"flows.{name}"
    for key in axes:
        if replaced(at, [key]):
            # Tables in place of the flow may have settings in common.
            flow = shared_settings(tables_of(axes[key]))
            axes = {one: axes[one] for one in axes if one != key}
    key = "workload" if flow.get("workload") else "size"
    keys = [key, *(["direction"] if key == "size" else []), "stack"]
    values = [str(flow[one]) for one in keys if flow.get(one) and not replaced(f"{at}.{one}", axes)]
    count = flow.get("count") or 1
    if count > 1 and not replaced(f"{at}.count", axes):
        values.insert(0, f"{count} alike")
    return _with(name, values)


def _link(name: str, link: Mapping[str, Any], axes: Collection[str]) -> str:
    from midflight.link_cells import link_cells

    at = f"links.{name}"
    if replaced(at, axes):
        return name
    trace = link.get("trace")
    if trace:
        if replaced(f"{at}.trace", axes):
            return name
        what = f"model {trace['model']}" if trace.get("model") else "a recording"
        if trace.get("file") and not replaced(f"{at}.trace.file", axes):
            what = f"recording {Path(str(trace['file'])).name}"
        return _with(name, [what, *_losses_and_queues(link, at, axes)])
    head, line = link_cells({name: link})
    known = dict(zip(head, line, strict=True))
    values = []
    for key in ("rate", "delay"):
        own = link.get(key) is not None
        is_axis = replaced(f"{at}.{key}", axes) or (not own and replaced(f"{at}.preset", axes))
        if not is_axis and known.get(key, "-") != "-":
            values.append(known[key])
    return _with(name, [*values, *_losses_and_queues(link, at, axes)])


def _losses_and_queues(link: Mapping[str, Any], at: str, axes: Collection[str]) -> list[str]:
    """The losses of a link and its queue disciplines, which are not those of most links: none, and
    drop-tail.
    """
    from midflight import _core
    from midflight.plot.common.plain import loss_words
    from midflight.plot.results.places import spaced

    disciplines = {one["name"] for one in _core.queue_disciplines()}
    values = []
    for side, where, words in ((link, at, ""), (link.get("up") or {}, f"{at}.up", "up ")):
        kind, _, chance = str(side.get("loss") or "none").partition(" ")
        is_none = kind == "none" or (kind == "uniform" and float(chance.rstrip("% ") or 0) == 0)
        if not (is_none or replaced(f"{where}.loss", axes)):
            loss = (
                f"{spaced(chance)} loss"
                if kind == "uniform"
                else f"loss {loss_words(side['loss'])}"
            )
            values.append(f"{words}{loss}")
        queue = str(side.get("queue") or "")
        if queue.split(" ")[0] in disciplines and not replaced(f"{where}.queue", axes):
            values.append(f"{words}queue {queue}")
    return values


def _handoff(place: int, handoff: Mapping[str, Any], axes: Collection[str]) -> str:
    at = f"handoffs.{place}"
    to = handoff["to"] if isinstance(handoff["to"], str) else " or ".join(handoff["to"])
    words = [] if replaced(f"{at}.to", axes) else [f"to {to}"]
    if not replaced(f"{at}.at", axes):
        words.append(f"at {handoff['at']}")
    if not replaced(f"{at}.gap", axes):
        words.append(f"with a gap of {handoff['gap']}" if handoff.get("gap") else "without a gap")
    return " ".join(words)


def _change(place: int, change: Mapping[str, Any], axes: Collection[str]) -> str:
    at = f"changes.{place}"
    words = [] if replaced(f"{at}.link", axes) else [f"of {change['link']}"]
    if not replaced(f"{at}.at", axes):
        words.append(f"at {change['at']}")
    return " ".join(words)


def runs_words(asked: Sweep, runs: int) -> str:
    """Return how many runs a sweep has, of how many settings, and what differs among the runs of
    each: seeds, instants, or random numbers.
    """
    from midflight.plot.common.names import plural_name
    from midflight.sweep_results import is_sample

    axes = {key: len(values) for key, values in asked.axes.items()}
    settings = math.prod(count for key, count in axes.items() if not is_sample(key))
    each = [
        f"{count} {plural_name(key)}" for key, count in axes.items() if is_sample(key) and count > 1
    ]
    if runs > 1:
        each.append(counted(runs, "run"))
    total = f"{asked.cells * runs:,} run{'s' * (asked.cells * runs > 1)}"
    if not each:
        return f"{total}, one of each combination" if settings > 1 else total
    of_each = " and ".join(each)
    if settings == 1:
        return f"{total}, with {of_each}"
    return f"{total}: {settings:,} combinations, each with {of_each}"


def value_lines(asked: Sweep) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the names and descriptions of the schemes, congestion controls, QUIC stacks, queues
    and workloads that are values of axes, as `midflight list` has them, and of the parts that these
    schemes are made of; without those that it does not know, such as own policies.
    """
    from midflight import _core
    from midflight.plot.common.style import labelled

    kinds = ("policies", "controllers", "responses", "classifiers", "detectors", "signals")
    of_parts = {one["name"]: one["summary"] for kind in kinds for one in getattr(_core, kind)()}
    schemes = {one["name"]: one for one in _core.schemes()}
    registries: Mapping[str, Mapping[str, str]] = {
        "scheme": of_parts | {name: one["summary"] for name, one in schemes.items()},
        "queue": {one["name"]: one["summary"] for one in _core.queue_disciplines()},
        "workload": {one["name"]: one["summary"] for one in _core.workloads()},
        "congestion": of_parts,
        "stack": {one["name"]: stack_summary(one) for one in _core.quic_stacks()},
    }
    found: dict[str, str] = {}
    parts: dict[str, str] = {}
    for key, values in asked.axes.items():
        tables = tables_of(values)
        # Of a table, which is a flow, what its sender is.
        each = [
            (value, "stack" if "stack" in one else "scheme", one.get("stack") or one.get("scheme"))
            for value, one in zip(values, tables, strict=False)
        ] or [(value, key.split(".")[-1], value) for value in values]
        for value, kind, name in each:
            known = registries.get(kind, {})
            names = [one.strip() for one in str(name).split("+")]
            if not all(one in known for one in names):
                continue
            found[labelled(value)] = "; with ".join(known[one] for one in names)
            for one in names if kind == "scheme" else ():
                own = schemes[one]["parts"] if one in schemes else []
                if len(own) > 1:
                    parts |= {part: of_parts[part] for part in own if part in of_parts}
    return list(found.items()), [one for one in parts.items() if one[0] not in found]
