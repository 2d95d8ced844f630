"""`midflight run`: run a scenario."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.captures import Captures, SnaplenOption
from midflight.cli.flow_tables import write_trace
from midflight.cli.input import idle_knobs, read_pairs, read_whole
from midflight.cli.options import ThreadsOption
from midflight.cli.output import QUIET_S, UserError, align, note, open_result, progress_display
from midflight.cli.result_files import FolderOption, ManifestFile, TableFiles, result_folder
from midflight.run_tables import RunSummary, counted, rows
from midflight.unmet import UnmetRuns

if TYPE_CHECKING:
    from midflight._core import Plan, Table
    from midflight.policy import Policies

__all__ = [
    "FileArgument",
    "PoliciesOption",
    "SetsOption",
    "idle_notes",
    "own_policies",
    "run",
    "scenario_plan",
]

# Lines of the table of handoffs and changes.
MOST_LINES = 40

SetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a value by its path, which overrides the file: flows.download.scheme=enhanced, "
        'links.lte.rate="5 Mbit/s", handoffs.0.gap="1 s", set.min_rto="1 s". May be '
        "repeated.",
    ),
]


def scenario_names(incomplete: str) -> list[str]:
    """Return starters and files that go on like this, for the shell's completion."""
    from midflight.scenario import starter_names

    files = (str(path) for path in Path().glob(f"{incomplete}*") if path.suffix in (".toml", ""))
    return [name for name in (*starter_names(), *files) if name.startswith(incomplete)]


FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        autocompletion=scenario_names,
        help="A scenario in TOML, or the name of a starter (`midflight list scenarios`).",
    ),
]


PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME=FILE.py:CLASS",
        help="A policy of your own in Python, as the name of a scheme. May be repeated.",
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
            help="Write every event of each flow in one run as CSV to DIR/FLOW.csv.",
        ),
    ] = None,
    pcap: Annotated[
        str | None,
        typer.Option(
            "--pcap",
            metavar="DIR",
            help="Write the packets of a flow in one run at its sender, its receiver and each "
            "base station as pcapng files for Wireshark.",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw a flow in one run over time, as .png, .svg or .pdf; `midflight plot` has "
            "more options.",
        ),
    ] = None,
    qlog: Annotated[
        str | None,
        typer.Option(
            "--qlog",
            metavar="DIR",
            help="Write the recovery of each flow in one run as qlog's events to DIR/FLOW.sqlog.",
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The flow for --pcap and --plot.  [default: the first]"),
    ] = None,
    of_run: Annotated[
        str,
        typer.Option(
            "--run", metavar="N", help="The run for --trace, --pcap, --plot and --qlog, from 0."
        ),
    ] = "0",
    snaplen: SnaplenOption = "128",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print flows, phases and the manifest as JSON.")
    ] = False,
) -> None:
    """Run a scenario: a file with links, flows, handoffs and changes.

    Prints for each flow its duration, goodput, longest time without progress, timeouts and losses;
    and for each handoff or change the time until each of the mobile node's flows made progress on
    the new link. With several runs these are means per run.

    The keys of a scenario are in docs/scenarios.md; `midflight list links` shows the presets.

    \b
    Examples:
      midflight run wifi-to-lte
      midflight run wifi-to-lte --set flows.download.scheme=enhanced --set runs=20
      midflight run leo-handovers --set links.dish.queue=bdp --json
      midflight run wifi-to-lte --trace events --pcap captures --out results
      midflight run wifi-to-lte --plot run.png
    """
    captures = Captures(pcap, snaplen, [])
    number = read_whole("--run", of_run, 0, 999_999_999)
    thread_count = read_whole("--threads", threads, 0, 1024)
    own = own_policies(policies)
    plan = scenario_plan(file, sets, own)
    values = json.loads(plan.canonical)
    if number >= values["runs"]:
        raise UserError(
            f"--run {number}: the scenario has {counted(values['runs'], 'run')}, numbered from 0"
        )
    for one in (*plan.remarks, *idle_notes(values)):
        note(one)
    if values["runs"] > 1 and not plan.has_chance:
        note(
            f"all {values['runs']} runs are equal: nothing is random in this scenario (losses, "
            "reordering, cross traffic, notices and signals that are lost)"
        )
    from midflight.scenario import manifest_of, run_pieces

    flags = [
        *(f"--set={one}" for one in sets or []),
        *(f"--policy={one}" for one in policies or []),
    ]
    command = shlex.join(["midflight", "run", file, *flags])
    with (
        result_folder(out) as folder,
        trace_folder(trace) as traces,
        figure_file(plot) as figure,
        result_folder(qlog, option="--qlog") as qlogs,
    ):
        captures.write(lambda bytes_kept: plan.setup(number).capture(flow=flow, snaplen=bytes_kept))
        with ExitStack() as files:
            summary, unmet = RunSummary(), UnmetRuns(plan)
            found = Found() if as_json else None
            manifest = manifest_of(plan, [], command, policies=own)
            places = {place.resolve(): place for place in (folder, traces) if place is not None}
            written: list[TableFiles | ManifestFile] = [
                *(() if folder is None else (TableFiles(folder, files),)),
                *(ManifestFile(place, manifest, files) for place in places.values()),
            ]
            with progress_display(quiet_s=QUIET_S) as progress:
                pieces = run_pieces(
                    plan,
                    threads=thread_count,
                    progress=lambda done, total: progress("runs", done, total),
                )
                for piece in pieces:
                    for taker in (summary, unmet, *([] if found is None else [found]), *written):
                        taker.add(*piece)
            for text in unmet.notes():
                note(text)
            if traces is not None:
                write_traces(traces, plan, number)
            for file_written in written:
                file_written.close()
        if plot is not None and figure is not None:
            from midflight.plot.history import histories
            from midflight.plot.run import run_figure
            from midflight.plot.style import check_format, figure_bytes

            drawn = run_figure(histories(plan, flow=flow, run=number))
            figure.write(figure_bytes(drawn, check_format(Path(plot))))
        if qlogs is not None:
            write_qlogs(qlogs, plan, number)
    if found is not None:
        json.dump(found.values(manifest), sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        print(summary_text(values, summary))


class Found:
    """The rows of runs for JSON, which are held until all are there."""

    def __init__(self) -> None:
        self.flows: list[dict[str, Any]] = []
        self.phases: list[dict[str, Any]] = []

    def add(self, flows: Table, phases: Table) -> None:
        """Add some runs."""
        self.flows += rows(flows)
        self.phases += rows(phases)

    def values(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return all of it, with the manifest of the runs."""
        digests = list({row["run"]: row["digest"] for row in self.flows}.values())
        return {
            "flows": self.flows,
            "phases": self.phases,
            "manifest": manifest | {"digests": digests},
        }


def own_policies(words: Sequence[str] | None) -> Policies:
    """Load the policies of --policy."""
    from midflight.policy import load_policies

    try:
        return load_policies(words or [])
    except ValueError as error:
        raise UserError(f"--policy: {error}") from error


def scenario_plan(file: str, sets: Sequence[str] | None, policies: Policies | None = None) -> Plan:
    """Read and check a scenario file with values that go over its own."""
    from midflight.policy import did_you_mean
    from midflight.scenario import read_plan, starter_names

    pairs: list[tuple[str, Any]] = [*read_pairs(sets or [])]
    try:
        return read_plan(file, sets=pairs, policies=policies)
    except FileNotFoundError as error:
        files = (str(path) for path in Path().glob("*.toml"))
        near = did_you_mean(file, [*starter_names(), *files])
        raise UserError(
            f'there is no file "{file}", and no starter scenario of that name{near}; '
            "`midflight list scenarios` has all"
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


def figure_file(name: str | None) -> Any:
    """Return a context with the file of a figure, if one is wanted."""
    if name is None:
        return nullcontext(None)
    from midflight.plot.style import check_format

    check_format(Path(name))
    return open_result(Path(name), binary=True)


def trace_folder(name: str | None) -> Any:
    """Return a context that makes the folder of traces, if one is wanted."""
    return result_folder(name, option="--trace")


def write_traces(folder: Path, plan: Plan, run: int) -> None:
    """Write the events of each flow in a run."""
    names = [one["name"] for one in plan.flows]
    for name in names:
        with open_result(folder / f"{name}.csv") as file:
            write_trace(plan.setup(run).trace(flow=name), file)
    note(f"events in {folder}: {', '.join(f'{name}.csv' for name in names)}")


def write_qlogs(folder: Path, plan: Plan, run: int) -> None:
    """Write the recovery of each flow in a run."""
    from midflight.qlog import SUFFIX, write_qlog

    names = [one["name"] for one in plan.flows]
    for name in names:
        with open_result(folder / f"{name}{SUFFIX}") as file:
            write_qlog(plan, name, file, run=run)
    note(f"qlog in {folder}: {', '.join(f'{name}{SUFFIX}' for name in names)}")


def summary_text(scenario: dict[str, Any], summary: RunSummary) -> str:
    """Return what was measured as text."""
    runs = scenario["runs"]
    lines = [scenario["title"]] if scenario.get("title") else []
    lines.append(f"{counted(runs, 'run')}, seed {scenario['seed']}, profile {scenario['profile']}")
    lines.append(
        "Seconds from the opening to the end and of the longest time without progress; goodput in "
        "Mbit/s;\nlosses to a full queue, a link that was down, and the radio"
        + ("." if runs == 1 else "; means per run.")
    )
    lines += ["", align(summary.flow_cells())]
    false_fast = summary.false_fast_line()
    if false_fast is not None:
        lines.append(false_fast)
    phases = summary.phase_cells()
    if phases is not None:
        lines += [
            "",
            "From each handoff or change on: seconds until the first and until "
            f"{scenario['packets']} new packets are acknowledged.",
            "",
            align(phases[: MOST_LINES + 1]),
        ]
        left = len(phases) - 1 - MOST_LINES
        if left > 0:
            lines.append(f"... and {left} more; --out DIR and --json give all")
    return "\n".join(lines)
