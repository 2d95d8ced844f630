"""Where results go: tables as CSV and Parquet, JSON, and the manifest that repeats them."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

import typer

from midflight.cli.output import QUIET_S, UserError, note, open_result, progress_display
from midflight.run_tables import csv_cell, rows

if TYPE_CHECKING:
    from midflight._core import Plan
    from midflight.cli.watched import RunFiles
    from midflight.plot.over_time.history import SetupSource

__all__ = [
    "CsvOption",
    "FolderOption",
    "JsonOption",
    "Results",
    "note_folder",
    "produce",
    "result_folder",
]

FolderOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the tables to DIR, as CSV and, where pyarrow is installed, Parquet, with a "
        "manifest that `midflight verify` repeats.",
    ),
]
CsvOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--csv", metavar="FILE", help="Write the table of runs as CSV; - is standard output."
    ),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print summary, tables and manifest as JSON instead.")
]

#: The file that describes the source of results.
MANIFEST = "manifest.json"
STANDARD_OUTPUT = ("-", "/dev/stdout")

#: A table of results, as the core has them: names of columns, and each as a list.
Rows: TypeAlias = Any
Progress: TypeAlias = Callable[[int, int], object]


class Results(Protocol):
    """Runs that are made and summarised; tables come some runs at a time."""

    @property
    def tables(self) -> Sequence[str]:
        """Names of the tables."""

    @property
    def schemes(self) -> Sequence[str]:
        """The schemes; the files of one run are for the first scheme."""

    @property
    def source(self) -> Plan | SetupSource:
        """The source of pictures and files of one run."""

    def pieces(self, *, threads: int, progress: Progress) -> Iterator[Sequence[Rows]]:
        """Run all; yield the tables of some runs at a time, in their order."""

    def digests(self, *tables: Rows) -> Sequence[str]:
        """Return the digest of each run of these tables."""

    def manifest(self, command: str) -> dict[str, Any]:
        """Return what repeats the runs, without their digests."""

    def add(self, *tables: Rows) -> None:
        """Take some runs into the summary."""

    def notes(self) -> Iterator[str]:
        """Yield notes on the runs for the user."""

    def text(self) -> str:
        """Return the summary as text."""

    def values(self) -> dict[str, Any]:
        """Return the summary as values for JSON."""


def produce(
    results: Results,
    watched: RunFiles,
    *,
    command: str,
    threads: int,
    out: str | None,
    csv_file: str | None,
    as_json: bool,
) -> None:
    """Make runs, and write the requested results."""
    if as_json and csv_file is not None:
        raise UserError("--csv and --json exclude each other; give one of them")
    watched.check(results.schemes)
    manifest = results.manifest(command)
    held: list[Sequence[Rows]] = []
    is_first = True
    with (
        result_folder(out) as folder,
        destination(csv_file) as csv_to,
        watched.places() as places,
    ):
        # First: what cannot be watched shows before the runs.
        watched.write(places, results.source.setup, results.source)
        with ExitStack() as files:
            tables = None if folder is None else TableFiles(folder, results.tables, files)
            folders = {one.resolve(): one for one in (folder, places["--trace"]) if one is not None}
            manifests = [ManifestFile(one, manifest, files) for one in folders.values()]
            with progress_display(quiet_s=QUIET_S) as progress:
                for made in results.pieces(
                    threads=threads, progress=lambda done, total: progress("runs", done, total)
                ):
                    results.add(*made)
                    if tables is not None:
                        tables.add(*made)
                    for one in manifests:
                        one.add(results.digests(*made))
                    if csv_to is not None:
                        write_table(made[0], csv_to, head=is_first)
                    if as_json:
                        held.append(made)
                    is_first = False
            for text in results.notes():
                note(text)
            if tables is not None:
                tables.close()
            for one in manifests:
                one.close()
    if as_json:
        found = {
            name: [row for made in held for row in rows(made[place])]
            for place, name in enumerate(results.tables)
        }
        digests = [one for made in held for one in results.digests(*made)]
        values = {**results.values(), **found, "manifest": {**manifest, "digests": digests}}
        json.dump(values, sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        sys.stdout.flush()
        print(results.text(), file=sys.stderr if csv_file in STANDARD_OUTPUT else sys.stdout)


def destination(file: str | None) -> AbstractContextManager[IO[str] | None]:
    """Return the destination of an output: none, standard output, or a file."""
    if file is None:
        return nullcontext(None)
    return nullcontext(sys.stdout) if file in STANDARD_OUTPUT else open_result(Path(file))


def note_folder(name: str) -> None:
    """Print that a name is a folder of results, where it is a starter's, too."""
    note(
        f"{name} is the folder of that name here, not the starter, which other commands take; "
        "rename the folder to use the starter"
    )


@contextmanager
def result_folder(name: str | None, *, option: str = "--out") -> Iterator[Path | None]:
    """Make a folder of results before the runs, so that a bad place shows at once."""
    if name is None:
        yield None
        return
    if name == "":
        raise UserError(f'{option} "" names no folder')
    folder = Path(name)
    if (folder / "sweep.json").is_file():
        raise UserError(
            f'{option} "{folder}" has a sweep, whose tables would be lost; choose another folder'
        )
    absent = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f'cannot write to "{folder}": {error.strerror}; give {option} a folder in a place '
            "that can be written to"
        ) from error
    try:
        yield folder
    except BaseException:
        # What was made for results that there are not.
        for one in absent:
            with suppress(OSError):
                one.rmdir()
        raise


def write_table(table: Rows, file: IO[str], *, head: bool = True) -> None:
    """Write a table as CSV, with the names of its columns if it is the first of some."""
    writer = csv.writer(file, lineterminator="\n")
    names = table.column_names
    if head:
        writer.writerow(names)
    for row in zip(*(table.column(one) for one in names), strict=True):
        writer.writerow(map(csv_cell, row))


class TableFiles:
    """The tables of runs as CSV and, where pyarrow is installed, Parquet, written as they come.

    They have their names when all is written and the context ends without an error.
    """

    def __init__(self, folder: Path, names: Sequence[str], files: ExitStack) -> None:
        self.folder, self.files = folder, files
        self.csv = {
            name: files.enter_context(open_result(folder / f"{name}.csv")) for name in names
        }
        self.parquet: dict[str, Any] = {}
        self.begun = False

    def add(self, *tables: Rows) -> None:
        """Write some runs."""
        for (name, file), table in zip(self.csv.items(), tables, strict=True):
            write_table(table, file, head=not self.begun)
            self.add_parquet(name, table)
        self.begun = True

    def add_parquet(self, name: str, table: Rows) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            return
        if hasattr(table, "__arrow_c_stream__"):
            found = pa.table(table)
        else:
            found = pa.table({one: table.column(one) for one in table.column_names})
        if name not in self.parquet:
            path = self.folder / f"{name}.parquet"
            file = self.files.enter_context(open_result(path, binary=True))
            self.parquet[name] = self.files.enter_context(pq.ParquetWriter(file, found.schema))
        self.parquet[name].write_table(found)

    def close(self) -> None:
        """Write the remaining files; an error occurs before any file has its final name."""
        for writer in self.parquet.values():
            writer.close()
        for file in self.csv.values():
            file.flush()


class ManifestFile:
    """The data that repeat the results; the digests are written as the runs finish."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], files: ExitStack) -> None:
        """Begin the file with a manifest that has no digests yet."""
        self.file = files.enter_context(open_result(folder / MANIFEST))
        text = json.dumps(manifest, indent=2, allow_nan=False)
        # Text of the user is later in the message.
        head, empty, self.tail = text.partition('"digests": []')
        assert empty
        self.file.write(f'{head}"digests": [')
        self.comma = ""

    def add(self, digests: Sequence[str]) -> None:
        """Write the digests of some runs."""
        for digest in digests:
            self.file.write(f"{self.comma}\n    {json.dumps(digest)}")
            self.comma = ","

    def close(self) -> None:
        """Write the part after the digests."""
        self.file.write(f"\n  ]{self.tail}\n")
        self.file.flush()
