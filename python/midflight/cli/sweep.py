"""`midflight sweep`: a scenario over every combination of some values."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import own_policies, read_pairs, read_whole
from midflight.cli.options import (
    FileArgument,
    OwnProfileOption,
    OwnRunsOption,
    OwnSeedOption,
    PoliciesOption,
    SetsOption,
    ThreadsOption,
)
from midflight.cli.output import QUIET_S, UserError, note, open_result, progress_display
from midflight.cli.run import idle_notes_of, scenario_plan, with_shorthands
from midflight.remark import equal_runs, remarks_of
from midflight.run_tables import counted
from midflight.sweep_summary import Summary

if TYPE_CHECKING:
    from midflight.sweep import Shard, Sweep

__all__ = ["sweep"]

# Cells that a forecast runs.
FORETOLD = 32
# Whether something is random is checked in all cells, up to so many.
MOST_CHECKED = 500
# How long a shard takes at most, about: so much is lost when a sweep is interrupted.
SHARD_S = 10


def sweep(
    file: FileArgument,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder of the sweep. Existing shards are not run again.",
        ),
    ],
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--axis",
            metavar="KEY=VALUES",
            help="An axis: the path to a value and its values, separated by commas or as "
            "from:to:step. flows.download.scheme=sack,enhanced; "
            'handoffs.0.at="0.1s:20s:0.1s"; links.*.queue="bdp,100 ms". May be repeated; '
            "overrides the file's [sweep.axes].",
        ),
    ] = None,
    profile: OwnProfileOption = None,
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    runs: OwnRunsOption = None,
    seed: OwnSeedOption = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="The axis whose values are compared with its first, in pairs."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The summarised measurement: duration_ns, all_new_ns, first_new_ns, "
            "goodput_bps, stall_ns, timeouts, spurious_timeouts, rexmits or drops_queue, a "
            "percentile over alike flows (duration_p99_ns, load_p95_ns), or what a workload "
            "measures (midflight list workloads).  "
            "[default: the first of these if flows have a workload, duration_ns if they have a "
            "size, else goodput_bps]",
        ),
    ] = None,
    phase: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="The handoff or change after which all_new_ns and first_new_ns are measured, from "
            "1 in the order of time.  [default: the first handoff]",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="KEYS",
            help="The axes that the summary separates, with commas between them, in addition to "
            "the compared one. The others are pooled.  [default: all but "
            "instants, offsets of traces, and seeds]",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Run only the I-th of N shares of the shards, from 1."),
    ] = None,
    shard_cells: Annotated[
        str | None,
        typer.Option(
            "--shard-cells",
            metavar="N",
            help="Number of cells in a shard. An interrupted sweep loses the shard that runs.  "
            "[default: 500; fewer on this machine alone if they would take longer than 10 s]",
        ),
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="local; dask, or dask:ADDRESS of a scheduler; slurm, or slurm:PARTITION.",
        ),
    ] = "local",
    jobs: Annotated[
        str, typer.Option(metavar="N", help="Maximum number of jobs for slurm.")
    ] = "10",
    job: Annotated[
        list[str] | None,
        typer.Option(
            "--job",
            metavar="KEY=VALUE",
            help="A parameter of each slurm job, by submitit's name: timeout_min=720, mem_gb=4, "
            "cpus_per_task=8, slurm_account=NAME. May be repeated.",
        ),
    ] = None,
    forecast: Annotated[
        bool,
        typer.Option(
            "--forecast",
            help="Run 32 cells from all parts of the sweep, keep nothing, and estimate the time "
            "and the size of all.",
        ),
    ] = False,
    threads: ThreadsOption = "0",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a scenario over every combination of its axes' values.

    Cells are run in shards, which are written completely or not at all. After an interruption the
    same command resumes. Results are DIR/flows.csv and phases.csv with a column for each axis, also
    as Parquet if pyarrow is installed, and DIR/comparison.csv and effects.csv, which says for
    each compared value how often it is better or worse (comparison-METRIC.csv and
    effects-METRIC.csv for another metric). `midflight plot DIR` and `midflight report DIR` show
    this metric and comparison, and separate the same axes, unless told otherwise. All cells
    use the same random numbers; values of the compared axis are compared in pairs, with 95 %
    confidence intervals over runs if there are several.

    \b
    Examples:
      midflight sweep wifi-to-lte --axis flows.download.scheme=sack,enhanced \\
          --axis handoffs.0.at=0.1s:1s:0.1s --compare flows.download.scheme --out sweep
      midflight sweep wifi-to-lte --axis handoffs.0.at=0.1s:1s:0.1s --shard 1/4 --out sweep
      midflight sweep operators --by flows.download.scheme --metric all_new_ns --out pairs
      midflight sweep wifi-to-lte --axis links.lte.delay="15ms:45ms:5ms" --out delays --json
    """
    from midflight import _core
    from midflight.sweep import SHARD_CELLS, Sweep, plans_of_flows
    from midflight.sweep_folder import check_metric

    after = None if phase is None else read_whole("--phase", phase, 1, 1_000_000)
    check_metric(metric, after, "--")
    own = own_policies(policies)
    sets = with_shorthands(sets, profile, runs, seed)
    plan = scenario_plan(file, sets, own)
    cells = None if shard_cells is None else read_whole("--shard-cells", shard_cells, 1, 1_000_000)
    asked = Sweep.of(
        plan,
        read_axes(axes or []),
        compare=compare,
        metric=metric,
        phase=after,
        shard_cells=cells or SHARD_CELLS,
        policies=own,
    )
    check_sets(asked, sets)
    asked = replace(asked, by=read_by(by, asked))
    share = read_share(shard)
    how_many = read_whole("--threads", threads, 0, 1024)
    run = read_executor(executor, jobs, how_many, share, read_job(job or []))
    folder = Path(out)
    if not out:
        raise UserError('--out "" names no folder')
    if folder.is_file():
        raise UserError(f'--out "{out}" is a file; give the name of a folder')
    noted = [*remarks_of(plan, asked.axes, run=plans_of_flows(asked))]
    # Of the cells, not of the scenario, whose schemes no cell has if an axis replaces them.
    of_flows = [key for key in asked.axes if key.startswith(("flows.", "set."))]
    plans = asked.plans(of_flows) if of_flows else [plan]
    noted += idle_notes_of(json.loads(one.canonical) for one in plans)
    if equal_runs([plan]) and asked.cells <= MOST_CHECKED:
        # An axis may have losses.
        document = _core.Document(asked.scenario)
        noted.append(equal_runs(asked.plan(cell, document) for cell in range(asked.cells)))
    for one in filter(None, noted):
        note(one)
    if forecast:
        print(foretold(asked, how_many))
        return
    try:
        if cells is None and executor == "local" and shard is None:
            asked = replace(asked, shard_cells=fitting_shard(asked, folder, how_many))
        asked.begin(folder)
        missing = asked.missing(folder, share)
        execute(asked, folder, missing, run, asked.cells_of(share))
        left = sum(len(one.cells) for one in asked.missing(folder))
        if left:
            note(
                f"{counted(asked.cells, 'cell')}, of which {left} are left to other shares; there "
                "are no tables yet"
            )
            return
        asked.merge(folder)
        made = Summary.of(asked, folder)
        for name, text in made.tables().items():
            with open_result(folder / name) as table:
                table.write(text)
    except OSError as error:
        raise UserError(
            f'cannot write to "{folder}": {error.strerror or error}; shards that are there stay'
        ) from error
    if as_json:
        json.dump(made.values(), sys.stdout, indent=2)
        print()
    else:
        print(made.text(folder, *terminal_width()))


def terminal_width() -> list[int]:
    """Return the columns of the terminal; nothing if the output is none."""
    import shutil

    return [shutil.get_terminal_size().columns] if sys.stdout.isatty() else []


def read_axes(words: Sequence[str]) -> dict[str, Any]:
    """Read the values of --axis."""
    import tomllib

    found: dict[str, Any] = {}
    for word in words:
        key, equals, values = word.partition("=")
        key, values = key.strip(), values.strip()
        if not (equals and key and values):
            raise UserError(
                f'--axis "{word}" is not KEY=VALUES; write for example '
                "flows.download.scheme=sack,enhanced"
            )
        found[key] = values
        if values.startswith("["):
            try:
                found[key] = tomllib.loads(f"v = {values}")["v"]
            except tomllib.TOMLDecodeError as error:
                raise UserError(f"--axis {key}: {values} is not a list in TOML: {error}") from error
    return found


def check_sets(asked: Sweep, words: Sequence[str]) -> None:
    """Refuse a value of --set that an axis has values for as well."""

    def parts(path: str) -> list[str]:
        return [str(int(part)) if part.isdecimal() else part for part in path.split(".")]

    for key, _ in read_pairs(words):
        for axis, paths in asked.paths.items():
            if any(parts(key)[: len(parts(path))] == parts(path) for path in paths):
                raise UserError(
                    f"--set {key} and the axis {axis} give values for the same; one of them is "
                    "accepted"
                )


def read_by(text: str | None, asked: Sweep) -> list[str] | None:
    """Read --by; its axes and the compared one in the order of the sweep."""
    from midflight.sweep_summary import check_by

    if text is None:
        return None
    return check_by([key.strip() for key in text.split(",")], asked, "--")


def read_share(text: str | None) -> tuple[int, int]:
    """Read --shard; (i, n) with i from 0."""
    if text is None:
        return 0, 1
    i, slash, n = text.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise UserError(f'--shard "{text}" is not a share; write for example 1/4, up to 4/4')
    return int(i) - 1, int(n)


def read_job(words: Sequence[str]) -> dict[str, Any]:
    """Read the values of --job."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not (equals and key and value):
            raise UserError(f'--job "{word}" is not KEY=VALUE; write for example timeout_min=720')
        number = re.fullmatch(r"[0-9]+(\.[0-9]+)?", value)
        found[key] = value if not number else float(value) if "." in value else int(value)
    return found


def fitting_shard(asked: Sweep, folder: Path, threads: int) -> int:
    """Return how many cells a shard has so that it takes about `SHARD_S` on this machine.

    A sweep that was begun in this folder keeps its shards. The tables do not depend on the number.
    """
    import os
    import time

    from midflight.scenario import run_tables
    from midflight.sweep_folder import shard_cells_of

    if there := shard_cells_of(folder):
        return there
    began = time.perf_counter()
    plan = asked.plan(0)
    run_tables([plan], threads=1, runs=(0, 1))
    runs = json.loads(plan.canonical)["runs"]
    took = (time.perf_counter() - began) * runs
    at_once = threads or os.cpu_count() or 1
    return max(at_once, min(asked.shard_cells, int(SHARD_S * at_once / took)))


def foretold(asked: Sweep, threads: int) -> str:
    """Return how long a sweep would take, from some of its cells."""
    import time

    from midflight.scenario import run_tables

    count = min(FORETOLD, asked.cells)
    cells = [number * asked.cells // count for number in range(count)]
    took, size = 0.0, 0
    for some, plans in asked.pieces(cells):
        began = time.perf_counter()
        tables = run_tables(plans, threads=threads)
        took += time.perf_counter() - began
        size += sum(len(asked.table(some, table)) for table in tables)
    each = asked.cells / count
    shards = -(-asked.cells // asked.shard_cells)
    return (
        f"{counted(asked.cells, 'cell')} in {counted(shards, 'shard')}; {count} of them took "
        f"{took:.2g} s and make {size / 1e3:.3g} kB\nall would take some "
        f"{duration(took * each)} here, and {size * each * 2 / 1e6:.3g} MB in shards and tables"
    )


def duration(seconds: float) -> str:
    """Return a time in the unit that reads best."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} s"


def read_executor(
    text: str, jobs: str, threads: int, share: tuple[int, int], job: dict[str, Any]
) -> Any:
    """Read --executor; return a function that runs shards and reports its progress."""
    from functools import partial

    from midflight import executors

    kind, _, where = text.partition(":")
    if job and kind != "slurm":
        raise UserError(f"--job is for --executor slurm, not {kind}")
    needs = {"dask": "distributed", "slurm": "submitit"}
    if kind in needs:
        import importlib.util

        if importlib.util.find_spec(needs[kind]) is None:
            raise UserError(
                f"--executor {kind} needs {needs[kind]}: pip install 'midflight[{kind}]'"
            )
    if kind == "local" and not where:
        return partial(executors.run_local, threads=threads)
    if kind == "dask":
        return partial(executors.run_dask, address=where or None)
    if kind == "slurm":
        if share != (0, 1):
            raise UserError("--shard and --executor slurm exclude each other; slurm makes shares")
        options = job | ({"slurm_partition": where} if where else {})
        most = read_whole("--jobs", jobs, 1, 10_000)
        return partial(executors.run_slurm, jobs=most, options=options)
    raise UserError(
        f'--executor "{text}" is not accepted; expected local, dask, dask:ADDRESS, slurm and '
        "slurm:PARTITION"
    )


def execute(asked: Sweep, folder: Path, missing: list[Shard], run: Any, mine: int) -> None:
    """Run missing shards; if interrupted, print how many cells are done."""
    total = sum(len(one.cells) for one in missing)
    if total < mine:
        note(f"{counted(mine, 'cell')}, of which {mine - total} are there already")
    if not missing:
        return
    try:
        with progress_display(quiet_s=QUIET_S) as progress:
            run(asked, folder, missing, progress=lambda done, of: progress("cells", done, of))
    except KeyboardInterrupt:
        left = sum(len(one.cells) for one in asked.missing(folder))
        note(
            f"{counted(asked.cells, 'cell')}, of which {asked.cells - left} are in {folder}; "
            "the same command goes on from there"
        )
        raise
