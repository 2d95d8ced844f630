"""`midflight diff`: the first event at which two runs differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.explain import RunOption, read_run, row_values
from midflight.cli.options import PoliciesOption, SetsOption, SourceProfileOption
from midflight.cli.output import UserError, align
from midflight.cli.run import with_shorthands
from midflight.cli.source import FigureOption, JobOption, OptionalFile, StudyOption, read_source

if TYPE_CHECKING:
    from midflight.explain.divergence import Comparison, Divergence, Side

__all__ = ["diff"]

#: The values of a sender that are shown.
SHOWN = (
    "snd_una",
    "snd_nxt",
    "snd_max",
    "flight_size",
    "cwnd",
    "ssthresh",
    "rto_ns",
    "min_rto_ns",
    "backoff",
    "srtt_ns",
    "dupacks",
    "dup_threshold",
    "in_fast_recovery",
    "in_rto_recovery",
    "window_closed",
    "state",
)


def diff(
    file: OptionalFile = None,
    other: Annotated[
        str | None,
        typer.Argument(metavar="[OTHER]", help="The second source.  [default: the same]"),
    ] = None,
    of_a: Annotated[
        list[str] | None,
        typer.Option("--a", metavar="PATH=VALUE", help="Set a value in the first run only."),
    ] = None,
    of_b: Annotated[
        list[str] | None,
        typer.Option("--b", metavar="PATH=VALUE", help="Set a value in the second run only."),
    ] = None,
    profile: SourceProfileOption = None,
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    flow: Annotated[
        str | None,
        typer.Option("--flow", metavar="NAME", help="Compare this flow.  [default: all]"),
    ] = None,
    run: RunOption = "0",
    study: StudyOption = None,
    figure: FigureOption = None,
    job: JobOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> int:
    """Find the first event at which two runs differ, and explain it.

    The runs are of one source with different values, or of two sources. Prints the number of
    equal events, the last of them, what each run does then, its sender before and after, the orders
    that only it was given, and the causes of its event. The exit status is that of diff: 0 if the
    runs are identical, 1 if they differ, 2 for an error.

    \b
    Examples:
      midflight diff wifi-to-lte --a flows.download.scheme=sack --b flows.download.scheme=enhanced
      midflight diff a.toml b.toml --set seed=7
      midflight diff --study daniel-kojo-2008 --figure 8 --a scheme=sack --b scheme=enhanced
      midflight diff handoff --old "6400 kbit/s, 9 ms" --new "200 kbit/s, 300 ms" --at 8.2s \\
          --a scheme=sack --b scheme=enhanced
    """
    from midflight.explain.divergence import compare

    common = with_shorthands(sets, profile)
    if other is None and not (of_a or of_b):
        raise UserError("both runs are the same; give values with --a and --b, or two files")
    number = read_run(run)
    of_figure = {"study": study, "figure": figure, "job": job}
    setups = (
        read_source(file, [*common, *(of_a or [])], policies, run=number, **of_figure),
        read_source(other or file, [*common, *(of_b or [])], policies, run=number, **of_figure),
    )
    found = compare(*setups, flow=flow)
    if as_json:
        json.dump(values(found), sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        print(text(found))
    return 0 if found.identical else 1


def text(found: Comparison) -> str:
    """Return a comparison as text."""
    total = sum(found.same.values())
    if found.identical and found.digests[0] != found.digests[1]:
        return (
            f"The runs of {found.of_flow} are identical: {total} events; those of other flows are "
            f"not, digests {found.digests[0]} and {found.digests[1]}."
        )
    if found.identical:
        return f"The runs are identical: {total} events, digest {found.digests[0]}."
    lines = []
    for name, only in zip("AB", found.only, strict=True):
        if only:
            lines.append(f"Only {name} has the flows {', '.join(only)}.")
    if found.divergence is None:
        lines.append(
            f"The runs have other digests, {found.digests[0]} and {found.digests[1]}, but every "
            f"event of the flows compared is the same ({total}): what differs is another flow's, "
            "or the order of events at one instant."
        )
        return "\n".join(lines)
    return "\n".join([*lines, *divergence_lines(found.divergence)])


def divergence_lines(divergence: Divergence) -> list[str]:
    from midflight.explain import neighbour_lines
    from midflight.explain.words import clock

    lines = [
        f"The runs of {divergence.flow} part at {clock(divergence.time_ns)}, after "
        f"{divergence.common} events that are the same.",
        "",
        "The last of them:",
        *(f"  {line}" for line in neighbour_lines(divergence.before)),
    ]
    for name, side in zip("AB", divergence.sides, strict=True):
        lines += ["", *side_lines(name, side)]
    lines += ["", f"The senders before {clock(divergence.time_ns)}, and after that instant:", ""]
    return lines + ["  " + line for line in state_table(divergence).splitlines()]


def side_lines(name: str, side: Side) -> list[str]:
    """Return the text for one of the runs."""
    from midflight.explain import neighbour_lines
    from midflight.explain.words import clock, order_text

    if side.event is None:
        return [f"{name} has no more events."]
    first, *others = neighbour_lines([side.event, *side.after])
    lines = [f"{name} then:", f"> {first}", *(f"  {line}" for line in others)]
    lines.append("  because:")
    lines += [f"    {clock(step.time_ns):>12}  {step.text}" for step in side.why]
    if side.orders:
        lines.append(f"  Orders that only {name} was given so far:")
        lines += [f"    {clock(row.time_ns):>12}  {order_text(row)}" for row in side.orders]
    return lines


def state_table(divergence: Divergence) -> str:
    """Return the senders before and after; one column before where they are the same."""
    a, b = divergence.sides
    columns = [("before", a.before), ("A", a.then), ("B", b.then)]
    if a.before != b.before:
        columns = [("A before", a.before), ("B before", b.before), *columns[1:]]
    cells = [["", *(name for name, _ in columns)]]
    for shown in SHOWN:
        name = shown.removesuffix("_ns")
        cells.append([name, *(cell(shown, values.get(shown)) for _, values in columns)])
    return align(cells)


def cell(name: str, value: Any) -> str:
    """Return a value of a sender as text."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_ns"):
        return f"{value / 1e9:.6g} s"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def values(found: Comparison) -> dict[str, Any]:
    """Return a comparison as values for JSON."""
    divergence = found.divergence
    return {
        "identical": found.identical,
        "digests": list(found.digests),
        "same_events": found.same,
        "only": [list(names) for names in found.only],
        "divergence": None
        if divergence is None
        else {
            "flow": divergence.flow,
            "time_ns": divergence.time_ns,
            "common": divergence.common,
            "before": [row_values(row) for row in divergence.before],
            "a": side_values(divergence.sides[0]),
            "b": side_values(divergence.sides[1]),
        },
    }


def side_values(side: Side) -> dict[str, Any]:
    """Return the data of one of the runs as values for JSON."""

    def rows(some: Sequence[Any]) -> list[dict[str, Any]]:
        return [row_values(row) for row in some]

    return {
        "event": None if side.event is None else row_values(side.event),
        "after": rows(side.after),
        "sender_before": side.before,
        "sender_after": side.then,
        "orders": rows(side.orders),
        "why": [{"time_ns": step.time_ns, "text": step.text} for step in side.why],
    }
