"""`midflight list`: schemes, settings, links, scenarios and more."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from midflight.cli.output import UserError
from midflight.meant import did_you_mean
from midflight.run_tables import stack_summary

KINDS = (
    "schemes",
    "policies",
    "controllers",
    "responses",
    "classifiers",
    "detectors",
    "signals",
    "workloads",
    "stacks",
    "agents",
    "settings",
    "profiles",
    "links",
    "queues",
    "models",
    "scenarios",
    "studies",
    "metrics",
)
# The content of a list where its name does not describe it.
HEADINGS = {
    "controllers": "Congestion controllers",
    "responses": "Responses to duplicate ACKs",
    "classifiers": "Loss classifiers",
    "detectors": "Detectors of spurious retransmissions",
    "signals": "Handoff signals of a mobile node",
    "workloads": "Workloads: applications at the ends of a flow (flows.NAME.workload)",
    "stacks": "Stacks of a flow (flows.NAME.stack)",
    "agents": "Agents of nodes on the path (agent, links.NAME.agent)",
    "links": "Presets of access links",
    "queues": "Disciplines of queues (links.NAME.queue)",
    "models": "Models of paths (links.NAME.trace.model)",
    "scenarios": "Starter scenarios",
    "metrics": "Measurements of a sweep (--metric) and columns of its figures (--y, --value)",
}

#: The stacks that are not QUIC.
OTHER_STACKS: tuple[dict[str, Any], ...] = (
    {"name": "midflight", "summary": "the simulator's own sender and receiver"},
    {"name": "linux", "summary": "TCP of a Linux kernel in virtual time (midflight lab build)"},
)

#: How a value that a list shows as KNOB is set.
HOW_TO_SET = """\
How to set a KNOB
  every command                                    --set set.KNOB=VALUE for all flows
  run, sweep, plot, report, explain, diff          --set flows.NAME.set.KNOB=VALUE for one
  a scenario file                                  [set] or [flows.NAME.set], KNOB = "VALUE"
  an axis of a sweep                               --axis set.KNOB=VALUES
  of an agent                                      --set set.KNOB=VALUE
  of a model of a path                             --set links.NAME.trace.set.KNOB=VALUE"""


def list_registry(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[LIST]",
            help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}; all if left out.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List schemes and their parts, settings, stacks, links, queues, scenarios, studies, metrics.

    A scheme is the plain sender with parts: policies, and at most one congestion controller,
    one response to duplicate ACKs, one loss classifier, one detector of spurious retransmissions
    and one handoff signal. `--scheme` accepts several joined by +, such as enhanced+westwood.
    `--set` sets the knobs of the parts and the settings of sender and receiver. The
    list ends with how they are spelled.

    \b
    Examples:
      midflight list
      midflight list policies
      midflight list detectors
      midflight list schemes --json
    """
    if what is not None and what not in KINDS:
        near = did_you_mean(what, KINDS)
        raise UserError(f'there is no list "{what}"{near}; there are {", ".join(KINDS)}')
    found = {kind: entries(kind) for kind in KINDS if what in (None, kind)}
    if as_json:
        json.dump(found if what is None else found[what], sys.stdout, indent=2)
        print()
    else:
        texts = [section(kind, items) for kind, items in found.items()]
        if any(has_knobs(items) for items in found.values()):
            texts.append(HOW_TO_SET)
        print("\n\n".join(texts))


def entries(kind: str) -> list[dict[str, Any]]:
    """Return the entries of one list."""
    from midflight import _core

    listed: Mapping[str, Callable[[], Sequence[Mapping[str, Any]]]] = {
        "links": _core.link_presets,
        "queues": _core.queue_disciplines,
        "models": _core.path_models,
    }
    if kind in listed:
        return [dict(one) for one in listed[kind]()]
    if kind == "stacks":
        return [*OTHER_STACKS, *map(stack_entry, _core.quic_stacks())]
    if kind == "scenarios":
        from midflight.scenario import Scenario, starter_names

        starters = ((name, Scenario.read(name)) for name in starter_names())
        return [{"name": name, "summary": one.title or ""} for name, one in starters]
    if kind == "metrics":
        from midflight.sweep_results import METRICS

        return [{"name": name, "summary": words} for name, (words, _) in METRICS.items()]
    if kind != "studies":
        return [dict(one) for one in getattr(_core, kind)()]
    from midflight.studies import STUDIES, load

    studies = map(load, STUDIES)
    return [
        {
            "name": study.name,
            "summary": study.title,
            "source": study.citation,
            "figures": [figure.id for figure in study.figures],
        }
        for study in studies
    ]


def stack_entry(stack: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a QUIC stack."""
    return {
        "name": stack["name"],
        "summary": stack_summary(stack),
        "cc": stack["cc"],
        "missing": stack["missing"],
    }


def section(kind: str, items: list[dict[str, Any]]) -> str:
    """Return one list as text."""
    width = max((len(one["name"]) for one in items), default=0)
    lines = [HEADINGS.get(kind, kind.capitalize())]
    for one in items:
        lines.append(f"  {one['name']:<{width}}  {one['summary']}")
        indent = " " * (width + 4)
        if "accepts" in one:
            lines += setting(indent, one)
        if one.get("parts"):
            lines.append(f"{indent}parts: {', '.join(one['parts'])}")
        for knob in one.get("knobs", ()):
            lines += [f"{indent}{knob['summary']}", *setting(indent, knob)]
        for measure in one.get("measures", ()):
            lines.append(f"{indent}measures {measure['name']}: {measure['summary']}")
        if one.get("cc"):
            lines.append(f"{indent}cc: {', '.join(one['cc'])}")
        if one.get("missing"):
            lines.append(f"{indent}cannot run here: {one['missing']}")
        if one.get("figures"):
            lines.append(f"{indent}figures: {', '.join(one['figures'])}")
        if one.get("source"):
            lines.append(f"{indent}source: {one['source']}")
    return "\n".join(lines)


def has_knobs(items: list[dict[str, Any]]) -> bool:
    """Whether a list shows something that can be set."""
    return any("accepts" in one or one.get("knobs") for one in items)


def setting(indent: str, knob: dict[str, Any]) -> list[str]:
    """Return how a knob is set, and its accepted values."""
    if "values" in knob:
        values = ", ".join(
            f"{profile}: {value or '-'}" for profile, value in knob["values"].items()
        )
        return [f"{indent}  {values}; accepts {knob['accepts']}"]
    return [f"{indent}  {knob['name']}={knob['default']}  accepts {knob['accepts']}"]
