"""Folders of results: tables as CSV and Parquet, and the manifest that repeats them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from midflight.cli.output import UserError, open_result
from midflight.run_tables import csv_cell

if TYPE_CHECKING:
    from midflight._core import Table

__all__ = ["FolderOption", "ManifestFile", "TableFiles", "result_folder"]

FolderOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the tables of flows and phases to DIR, as CSV and, where pyarrow is "
        "installed, Parquet, with a manifest that `midflight verify` repeats.",
    ),
]

TABLES = ("flows", "phases")
#: The file that says what results are of.
MANIFEST = "manifest.json"


@contextmanager
def result_folder(name: str | None, *, option: str = "--out") -> Iterator[Path | None]:
    """Make a folder of results before the runs, so that a bad place shows at once."""
    if name is None:
        yield None
        return
    if name == "":
        raise UserError(f'{option} "" names no folder')
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f'cannot write to "{folder}": {error.strerror}; give {option} a folder in a place '
            "that can be written to"
        ) from error
    yield folder


class TableFiles:
    """The tables of runs as CSV and, where pyarrow is installed, Parquet, written as they come.

    They have their names when all is written and the context ends without an error.
    """

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self.folder, self.files = folder, files
        self.csv = {
            name: files.enter_context(open_result(folder / f"{name}.csv")) for name in TABLES
        }
        self.parquet: dict[str, Any] = {}
        self.begun = False

    def add(self, flows: Table, phases: Table) -> None:
        """Write some runs."""
        for name, table in zip(TABLES, (flows, phases), strict=True):
            names = table.column_names
            writer = csv.writer(self.csv[name], lineterminator="\n")
            if not self.begun:
                writer.writerow(names)
            for row in zip(*(table.column(one) for one in names), strict=True):
                writer.writerow(map(csv_cell, row))
            self.add_parquet(name, table)
        self.begun = True

    def add_parquet(self, name: str, table: Table) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            return
        rows = pa.table(table)
        if name not in self.parquet:
            path = self.folder / f"{name}.parquet"
            file = self.files.enter_context(open_result(path, binary=True))
            self.parquet[name] = self.files.enter_context(pq.ParquetWriter(file, rows.schema))
        self.parquet[name].write_table(rows)

    def close(self) -> None:
        """Write what is left: what cannot be written shows before any file has its name."""
        for writer in self.parquet.values():
            writer.close()
        for file in self.csv.values():
            file.flush()


class ManifestFile:
    """What repeats the results: its digests are written as the runs come."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], files: ExitStack) -> None:
        """Begin the file with a manifest that has no digests yet."""
        self.file = files.enter_context(open_result(folder / MANIFEST))
        text = json.dumps(manifest, indent=2, allow_nan=False)
        # What a user may have written comes later in it.
        head, empty, self.tail = text.partition('"digests": []')
        assert empty
        self.file.write(f'{head}"digests": [')
        self.comma = ""

    def add(self, flows: Table, _phases: Table) -> None:
        """Write the digests of some runs, each once."""
        runs = dict(zip(flows.column("run"), flows.column("digest"), strict=True))
        for digest in runs.values():
            self.file.write(f"{self.comma}\n    {json.dumps(digest)}")
            self.comma = ","

    def close(self) -> None:
        """Write what is behind the digests."""
        self.file.write(f"\n  ]{self.tail}\n")
        self.file.flush()
