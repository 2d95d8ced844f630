"""`midflight explain`: why something happened, from an event back to what set it off."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import read, read_whole
from midflight.cli.output import UserError
from midflight.cli.run import (
    FileArgument,
    PoliciesOption,
    SetsOption,
    own_policies,
    scenario_plan,
)

if TYPE_CHECKING:
    from midflight.explain import Explanation
    from midflight.history import Row

__all__ = ["FlowOption", "RunOption", "explain", "read_run"]

FlowOption = Annotated[
    str | None, typer.Option("--flow", metavar="NAME", help="The flow.  [default: the first]")
]
RunOption = Annotated[
    str, typer.Option("--run", metavar="N", help="The run, where there are several.")
]
MOST_RUNS = 2**63 - 1


def explain(
    file: FileArgument,
    at: Annotated[
        str, typer.Option("--at", metavar="TIME", help="The instant to look at, such as 6.23s.")
    ],
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    flow: FlowOption = None,
    run: RunOption = "0",
    what: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="What to explain: the last cwnd, ssthresh, rto, send, rexmit, ack, drop, order, "
            "notice ... at or before that instant.  [default: the most telling event in the 0.1 s "
            "before it]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Explain what happened at a moment of a run: a chain of causes, newest first.

    Each line has its instant, and follows from the next one: a change of the window from an order
    with its author and reason, that from a notice, an ACK or a timer; an ACK from the segment that
    caused it; a timeout from when and from what the timer was set and from what became of the
    segment. The chain ends at something from outside (the opening, a handoff, a notice, a loss) or
    after 12 steps. Numbers are those of segments.

    \b
    Examples:
      midflight explain wifi-to-lte --at 0.8s --set flows.download.scheme=enhanced
      midflight explain wifi-to-lte --at 2s --what rto
    """
    from midflight import parse_duration
    from midflight.explain import ALIASES, CHOICES
    from midflight.explain import explain as tell

    at_ns = read("--at", parse_duration, at)
    run_number = read_run(run)
    if what is not None and what not in (*CHOICES, *ALIASES):
        names = ", ".join((*CHOICES, *ALIASES))
        raise UserError(f'--what "{what}" is not an event; there are {names}')
    plan = scenario_plan(file, sets, own_policies(policies))
    found = tell(plan, at_ns=at_ns, run=run_number, flow=flow, what=what)
    if found is None:
        name = "event" if what is None else ALIASES.get(what, what)
        raise UserError(f"there is no {name} of this flow at or before {at}; give a later --at")
    if as_json:
        json.dump(values(found), sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        print(text(found))


def read_run(text: str) -> int:
    """Read --run."""
    return read_whole("--run", text, 0, MOST_RUNS)


def text(found: Explanation) -> str:
    """Return an explanation as numbered lines with what happened around them."""
    from midflight.explain import neighbour_lines
    from midflight.telling import clock

    times = [clock(step.time_ns) for step in found.steps]
    width = max(map(len, times))
    lines = [f"Explained is {found.why_chosen}; newest cause first.", ""]
    for place, (time, step) in enumerate(zip(times, found.steps, strict=True), start=1):
        lines.append(f"{place:>3}  {time:>{width}}  {step.text}")
    lines += ["", "Events around it:"]
    around = neighbour_lines([*found.before, found.chosen, *found.after])
    for place, line in enumerate(around):
        lines.append(f"{'>' if place == len(found.before) else ' '} {line}")
    return "\n".join(lines)


def values(found: Explanation) -> dict[str, Any]:
    """Return an explanation as values for JSON."""
    return {
        "chosen": row_values(found.chosen),
        "why_chosen": found.why_chosen,
        "steps": [
            {"time_ns": step.time_ns, "text": step.text, "row": step.row} for step in found.steps
        ],
        "before": [row_values(row) for row in found.before],
        "after": [row_values(row) for row in found.after],
        "digest": found.digest,
    }


def row_values(row: Row) -> dict[str, Any]:
    """Return an event as values for JSON, its causes as far as it has them."""
    causes = {"segment": row.segment, "sent_ns": row.sent_ns, "since_ns": row.since_ns}
    return {
        "row": row.index,
        "time_ns": row.time_ns,
        "event": row.event,
        "value": row.value,
        "detail": row.detail,
        **{name: value for name, value in causes.items() if value is not None},
        **({"sack": row.sack} if row.sack else {}),
    }
