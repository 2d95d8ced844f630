"""Verification of results: repeats manifests and sweeps, and compares digests and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.refusal import refusal
from midflight.run_tables import csv_cell, csv_row
from midflight.verify_tables import Difference, Made, differences, plain, read_rows, table_rows

if TYPE_CHECKING:
    from midflight._core import Table
    from midflight.lab.runs import LabRuns
    from midflight.policy import Policies
    from midflight.results import Columns

__all__ = [
    "Difference",
    "Verified",
    "VerifiedResults",
    "other_policies",
    "sample",
    "verify_manifest",
    "verify_sweep",
]

TABLES = ("flows", "phases")
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Verified:
    """A run repeated."""

    #: Its cell in a sweep; None of a manifest.
    cell: int | None
    run: int
    expected: str
    found: str

    @property
    def same(self) -> bool:
        """Whether the digest is the same."""
        return self.expected == self.found


@dataclass(frozen=True)
class VerifiedResults:
    """The runs that were repeated, and the differences in the tables beside them."""

    runs: Sequence[Verified]
    differences: Sequence[Difference] = field(default=())

    @property
    def same(self) -> bool:
        """Whether all digests and tables are the same."""
        return not self.differences and all(one.same for one in self.runs)


def other_policies(of: Mapping[str, Any], policies: Policies | None) -> list[str]:
    """Return the names of the policies that differ from those that made the results.

    Raises `MidflightError` if one of those is not given at all.
    """
    from midflight.policy import sources

    made_with: Mapping[str, str] = of.get("policies") or {}
    given = dict(re.findall(r"--policy=([\w-]+)=([^\s']+)", str(of.get("command", ""))))
    missing = [name for name in made_with if name not in (policies or {})]
    if missing:
        words = (f"--policy {name}={given.get(name, 'FILE.py:CLASS')}" for name in missing)
        accepted = " ".join(words)
        raise refusal(
            f"the results were made with {accepted}; give it again",
            name="policies",
            accepted=accepted,
        )
    now = sources({name: one for name, one in (policies or {}).items() if name in made_with})
    return [name for name, was in made_with.items() if now[name] != was]


def verify_manifest(
    manifest: Mapping[str, Any],
    folder: Path | None = None,
    *,
    threads: int = 0,
    progress: Progress | None = None,
    policies: Policies | None = None,
) -> VerifiedResults:
    """Repeat the runs of a manifest, and compare the tables in the folder that exist.

    Raises `MidflightError` if it is not a valid manifest.
    """
    digests = manifest.get("digests")
    if not (isinstance(digests, list) and digests):
        raise refusal(
            'the manifest lacks "digests"; give one that a command with --out wrote',
            name="digests",
            value=digests,
            accepted="a list of digests",
        )
    other_policies(manifest, policies)
    found, tables = remade(manifest, policies, threads=threads, progress=progress)
    if len(found) != len(digests):
        raise refusal(
            f"the manifest has {len(digests)} digests but what it repeats {len(found)} runs",
            name="digests",
            value=len(digests),
            accepted=str(len(found)),
        )
    pairs = zip(digests, found, strict=True)
    runs = [Verified(None, run, str(was), now) for run, (was, now) in enumerate(pairs)]
    if folder is None:
        return VerifiedResults(runs)
    return VerifiedResults(runs, list(manifest_differences(tables, folder)))


def remade(
    manifest: Mapping[str, Any], policies: Policies | None, **how: Any
) -> tuple[list[str], Mapping[str, Table | Columns]]:
    """Repeat the runs of a manifest; return their digests, and tables by their names."""
    from midflight import _core
    from midflight.question import Question
    from midflight.scenario import Outcome

    if "question" in manifest:
        asked = Question.of(manifest["question"], policies)
        table = asked.table(**how)
        return asked.digests(table), {"runs": table}
    if "lab" in manifest:
        from midflight.lab.runs import LabRuns

        return remade_in_lab(LabRuns.of(manifest["lab"]), **how)
    scenario = manifest.get("scenario")
    if not isinstance(scenario, dict):
        raise refusal(
            'the manifest lacks "scenario" or "question"; give one that a command with --out wrote',
            name="scenario",
            value=scenario,
            accepted="a scenario, or a question",
        )
    outcome = Outcome.of(_core.Plan(json.dumps(scenario), name=None, policies=policies), **how)
    return outcome.digests, {"flows": outcome.flows, "phases": outcome.phases}


def remade_in_lab(runs: LabRuns, **how: Any) -> tuple[list[str], Mapping[str, Table | Columns]]:
    """Repeat runs on a kernel."""
    from midflight.results import Columns

    digests: list[str] = []
    names = ("flows", "phases", "counters", "samples")
    found: dict[str, dict[str, list[Any]]] = {name: {} for name in names}
    for made in runs.pieces(**how):
        tables: Sequence[Table | Columns] = made
        digests += dict.fromkeys(tables[0].column("digest"))
        for columns, table in zip(found.values(), tables, strict=True):
            for name in table.column_names:
                columns.setdefault(name, []).extend(table.column(name))
    return digests, {name: Columns(dict(columns)) for name, columns in found.items()}


def manifest_differences(
    tables: Mapping[str, Table | Columns], folder: Path
) -> Iterator[Difference]:
    """Yield the differences in the tables beside a manifest."""
    for path, name in table_files(folder, list(tables)):
        table = tables[name]
        rows = table_rows(table, csv_cell if path.suffix == ".csv" else plain)
        names = table.column_names
        made: dict[str, list[list[str]]] = {}
        for row in rows:
            # The table of a question has no cells.
            cell = row[names.index("cell")] if "cell" in names else "0"
            made.setdefault(cell, []).append(row)
        yield from differences(path, names, made, whole=True)


def table_files(folder: Path, names: Sequence[str] = TABLES) -> Iterator[tuple[Path, str]]:
    """Yield the tables that are in a folder; Parquet where pyarrow is installed."""
    import importlib.util

    suffixes = (".csv", ".parquet") if importlib.util.find_spec("pyarrow") else (".csv",)
    for name in names:
        for suffix in suffixes:
            path = folder / f"{name}{suffix}"
            if path.is_file():
                yield path, name


def sample(cells: int, wanted: int | None) -> list[int]:
    """Return this many cells of a sweep, spread evenly from the first to the last; all for None."""
    if wanted is None or wanted >= cells:
        return list(range(cells))
    if wanted == 1:
        return [0]
    return [place * (cells - 1) // (wanted - 1) for place in range(wanted)]


def verify_sweep(
    folder: Path,
    wanted: int | None,
    *,
    threads: int = 0,
    progress: Progress | None = None,
    policies: Policies | None = None,
) -> VerifiedResults:
    """Repeat some cells of a sweep, or all for None, and compare their rows.

    Raises `MidflightError` if the folder has no sweep, `OSError` if a file cannot be read.
    """
    from midflight.scenario import Outcome
    from midflight.sweep import Sweep

    sweep = Sweep.read(folder, policies=policies)
    cells = sample(sweep.cells, wanted)
    was = sweep_digests(folder / "flows.csv", cells)
    made: dict[str, dict[str, list[list[str]]]] = {name: {} for name in TABLES}
    names: dict[str, list[str]] = {}
    runs: list[Verified] = []
    if progress is not None:
        progress(0, len(cells))
    for done, cell in enumerate(cells, start=1):
        if not was[cell]:
            raise refusal(
                f"{folder / 'flows.csv'} has no cell {cell}; is it complete?",
                name="cell",
                value=cell,
                accepted="cells whose rows are in the table",
            )
        outcome = Outcome.of(sweep.plan(cell), threads=threads)
        found = outcome.digests
        for name in TABLES:
            names[name], *rows = sweep.rows([cell], getattr(outcome, name))
            made[name][str(cell)] = [[plain(value) for value in row] for row in rows]
        if progress is not None:
            progress(done, len(cells))
        for run, digest in sorted(was[cell].items()):
            now = found[run] if run < len(found) else "no such run"
            runs.append(Verified(cell, run, digest, now))
    whole = len(cells) == sweep.cells
    differ = [
        one
        for path, name in table_files(folder)
        for one in differences(path, names[name], as_in(path, made[name]), whole=whole)
    ]
    return VerifiedResults(runs, differ)


def as_in(path: Path, made: Made) -> Made:
    """Return rows as a file of this name has them."""
    if path.suffix != ".csv":
        return made
    return {cell: [csv_row(row) for row in found] for cell, found in made.items()}


def sweep_digests(flows: Path, cells: Sequence[int]) -> dict[int, dict[int, str]]:
    """Return the digests that a sweep has written down for some cells, by cell and run."""
    was: dict[int, dict[int, str]] = {cell: {} for cell in cells}
    rows = read_rows(flows)
    head = next(rows, [])
    lacks = [name for name in ("cell", "run", "digest") if name not in head]
    if lacks:
        raise refusal(
            f'"{flows}" is not a table of a sweep: it has no column "{lacks[0]}"',
            name=lacks[0],
            value=", ".join(head),
            accepted="the columns cell, run and digest",
        )
    cell, run, digest = (head.index(name) for name in ("cell", "run", "digest"))
    for number, row in enumerate(rows, start=1):
        if len(row) != len(head) or not (row[cell].isdigit() and row[run].isdigit()):
            raise refusal(
                f'"{flows}" is damaged: row {number} has no cell and run',
                name="row",
                value=number,
                accepted="a whole number in the columns cell and run",
            )
        if int(row[cell]) in was:
            was[int(row[cell])][int(row[run])] = row[digest]
    return was


def models(of: Mapping[str, Any]) -> Sequence[str]:
    """Return the model's version that results are of, and the one here."""
    import midflight

    return str(of.get("model", "unknown")), midflight.MODEL_VERSION
