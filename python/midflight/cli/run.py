"""`midflight run`: a scenario of one's own."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.captures import Captures, SnaplenOption
from midflight.cli.flow_tables import write_trace
from midflight.cli.input import idle_knobs, read_knobs, read_whole
from midflight.cli.options import ThreadsOption
from midflight.cli.output import UserError, align, note, open_result, progress_display, time_text
from midflight.cli.result_files import FolderOption, result_folder, write_manifest, write_table

if TYPE_CHECKING:
    from midflight._core import Plan, Table
    from midflight.policy import Policies
    from midflight.scenario import Outcome

__all__ = [
    "FileArgument",
    "PoliciesOption",
    "SetsOption",
    "idle_notes",
    "own_policies",
    "run",
    "scenario_plan",
]

SetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a value by the path to it, over the file's: flows.download.scheme=enhanced, "
        'links.lte.rate="5 Mbit/s", handoffs.0.gap="1 s", set.min_rto="1 s". May be repeated.',
    ),
]
FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A scenario in TOML, or the name of a starter (`midflight list scenarios`).",
    ),
]


PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME=FILE.py:CLASS",
        help="A policy of one's own in Python, for schemes to name. May be repeated.",
    ),
]


def run(
    file: FileArgument,
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    threads: ThreadsOption = "0",
    out: FolderOption = None,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="DIR",
            help="Write every event of each flow in the first run as CSV to DIR/FLOW.csv.",
        ),
    ] = None,
    pcap: Annotated[
        str | None,
        typer.Option(
            "--pcap",
            metavar="DIR",
            help="Write what is seen of a flow in the first run at its sender, its receiver and "
            "each base station, as pcapng files for Wireshark.",
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The flow for --pcap.  [default: the first]"),
    ] = None,
    snaplen: SnaplenOption = "128",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print flows, phases and the manifest as JSON.")
    ] = False,
) -> None:
    """Run a scenario: links, flows, handoffs and changes in a file of one's own.

    Prints for each flow how long it took, its goodput, the longest time without progress, and its
    timeouts and losses; and for each handoff or change how long each of the mobile node's flows
    needed to get going on the new link. Means per run where there are several.

    The keys of a scenario are in docs/scenarios.md; `midflight list links` shows the presets.

    \b
    Examples:
      midflight run wifi-to-lte
      midflight run wifi-to-lte --set flows.download.scheme=enhanced --set runs=20
      midflight run leo-handovers --set links.dish.queue=bdp --json
      midflight run wifi-to-lte --trace events --pcap captures --out results
    """
    captures = Captures(pcap, snaplen, [])
    thread_count = read_whole("--threads", threads, 0, 1024)
    plan = scenario_plan(file, sets, own_policies(policies))
    values = json.loads(plan.canonical)
    for one in idle_notes(values):
        note(one)
    from midflight.scenario import Outcome

    own = (f"--policy={one}" for one in policies or [])
    command = shlex.join(["midflight", "run", file, *(f"--set={one}" for one in sets or []), *own])
    with result_folder(out) as folder, trace_folder(trace) as traces:
        captures.write(lambda bytes_kept: plan.capture(flow=flow, snaplen=bytes_kept))
        with progress_display(lines=False) as progress:
            outcome = Outcome.of(
                plan,
                threads=thread_count,
                progress=lambda done, total: progress("runs", done, total),
            )
        manifest = outcome.manifest(command)
        if folder is not None:
            write_table(folder, "flows", outcome.flows)
            write_table(folder, "phases", outcome.phases)
            write_manifest(folder, manifest)
        if traces is not None:
            write_traces(traces, plan, outcome, manifest)
    if as_json:
        found = {
            "flows": list(rows(outcome.flows)),
            "phases": list(rows(outcome.phases)),
            "manifest": manifest,
        }
        json.dump(found, sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        print(summary(values, outcome))


def own_policies(words: Sequence[str] | None) -> Policies:
    """Load the policies of --policy."""
    from midflight.policy import load_policies

    try:
        return load_policies(words or [])
    except ValueError as error:
        raise UserError(f"--policy: {error}") from error


def scenario_plan(file: str, sets: Sequence[str] | None, policies: Policies | None = None) -> Plan:
    """Read and check a scenario file with values that go over its own."""
    from midflight.scenario import read_plan, starter_names

    knobs = read_knobs(list(sets or []))
    try:
        return read_plan(file, sets=knobs, policies=policies)
    except FileNotFoundError as error:
        raise UserError(
            f'there is no file "{file}", and no starter scenario of that name; '
            f"there are {', '.join(starter_names())}"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f'"{file}" is not text in UTF-8: {error.reason}') from error
    except OSError as error:
        raise UserError(f'cannot read "{file}": {error.strerror or error}') from error


def idle_notes(scenario: dict[str, Any]) -> Iterator[str]:
    """Yield a note for each setting that none of the flows it is for can use."""
    flows = scenario["flows"]
    schemes = [one["scheme"] for one in flows.values()]
    yield from idle_knobs(schemes, scenario.get("set", {}))
    for one in flows.values():
        yield from idle_knobs([one["scheme"]], one.get("set", {}))


def trace_folder(name: str | None) -> Any:
    """Return a context that makes the folder of traces, if one is wanted."""
    return result_folder(name, option="--trace")


def write_traces(folder: Path, plan: Plan, outcome: Outcome, manifest: dict[str, Any]) -> None:
    """Write the events of each flow in the first run."""
    names = dict.fromkeys(outcome.flows.column("flow"))
    for name in names:
        with open_result(folder / f"{name}.csv") as file:
            write_trace(plan.trace(flow=name), file)
    write_manifest(folder, manifest)
    note(f"events in {folder}: {', '.join(f'{name}.csv' for name in names)}")


def rows(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    names = table.column_names
    for row in zip(*(table.column(name) for name in names), strict=True):
        yield dict(zip(names, row, strict=True))


def mean(values: Sequence[Any]) -> float | None:
    """Return the mean, or None if a value is missing."""
    if not values or any(value is None for value in values):
        return None
    return float(sum(values)) / len(values)


def time_cell(nanoseconds: float | None, decimals: int = 3) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds / 1e9:.{decimals}f}"


def rate_cell(bits_per_second: float) -> str:
    return f"{bits_per_second / 1e6:.3f}"


def summary(scenario: dict[str, Any], outcome: Outcome) -> str:
    """Return what was measured as text."""
    runs = scenario["runs"]
    lines = [scenario["title"]] if scenario.get("title") else []
    many = "1 run" if runs == 1 else f"{runs} runs"
    lines.append(f"{many}, seed {scenario['seed']}, profile {scenario['profile']}")
    lines.append(
        "Seconds from the opening to the end and of the longest time without progress; goodput in "
        "Mbit/s;\nlosses to a full queue, a link that was down, and the radio"
        + ("." if runs == 1 else "; means per run.")
    )
    lines += ["", flow_table(outcome, runs)]
    phases = phase_table(outcome)
    if phases is not None:
        lines += [
            "",
            "From each handoff or change on: seconds until the first and until "
            f"{scenario['packets']} new packets are acknowledged.",
            "",
            phases,
        ]
    return "\n".join(lines)


def flow_table(outcome: Outcome, runs: int) -> str:
    """Return a line for each flow."""
    by_flow: dict[str, list[dict[str, Any]]] = {}
    for row in rows(outcome.flows):
        by_flow.setdefault(row["flow"], []).append(row)
    head = "flow scheme seconds goodput stall timeouts spurious rexmits queue down radio"
    cells = [head.split()]
    for name, found in by_flow.items():
        unfinished = sum(one["finished_ns"] is None for one in found)
        took = time_cell(mean([one["duration_ns"] for one in found]))
        if unfinished and unfinished < runs:
            took = f"{runs - unfinished} of {runs}"
        counts = (
            "timeouts",
            "spurious_timeouts",
            "rexmits",
            "drops_queue",
            "drops_break",
            "drops_radio",
        )
        cells.append(
            [
                name,
                found[0]["scheme"],
                took,
                rate_cell(mean([one["goodput_bps"] for one in found]) or 0.0),
                time_cell(mean([one["stall_ns"] for one in found])),
                *(f"{mean([one[count] for one in found]):.12g}" for count in counts),
            ]
        )
    return align(cells)


def phase_table(outcome: Outcome) -> str | None:
    """Return a line for each handoff or change and flow of the mobile node; None without any."""
    moving = {row["flow"] for row in rows(outcome.flows) if row["moves"]}
    by_phase: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in rows(outcome.phases):
        if row["flow"] in moving and row["phase"] > 0:
            by_phase.setdefault((row["phase"], row["flow"]), []).append(row)
    if not by_phase:
        return None
    cells = ["at link flow first all acked timeouts spurious rexmits queue down radio".split()]
    counts = ("timeouts", "spurious_timeouts", "rexmits")
    drops = ("drops_queue", "drops_break", "drops_radio")
    for (_, name), found in sorted(by_phase.items()):
        cells.append(
            [
                time_text(found[0]["from_ns"]),
                found[0]["link"],
                name,
                time_cell(mean([one["first_new_ns"] for one in found])),
                time_cell(mean([one["all_new_ns"] for one in found])),
                *(
                    f"{mean([one[key] for one in found]):.12g}"
                    for key in ("acked", *counts, *drops)
                ),
            ]
        )
    return align(cells)
