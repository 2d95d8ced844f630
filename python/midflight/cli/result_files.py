"""Folders of results: tables as CSV and Parquet, and the manifest that repeats them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from midflight.cli.output import UserError, open_result
from midflight.run_tables import csv_cell

if TYPE_CHECKING:
    from midflight._core import Table

__all__ = ["FolderOption", "result_folder", "write_manifest", "write_table"]

FolderOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the tables of flows and phases to DIR, as CSV and, where pyarrow is "
        "installed, Parquet, with a manifest that `midflight verify` repeats.",
    ),
]

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


def write_table(folder: Path, name: str, table: Table) -> None:
    """Write a table as CSV and, where pyarrow is installed, Parquet."""
    with open_result(folder / f"{name}.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = table.column_names
        writer.writerow(names)
        for row in zip(*(table.column(one) for one in names), strict=True):
            writer.writerow(map(csv_cell, row))
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    with open_result(folder / f"{name}.parquet", binary=True) as file:
        pq.write_table(pa.table(table), file)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write what repeats the results."""
    with open_result(folder / MANIFEST) as file:
        json.dump(manifest, file, indent=2, allow_nan=False)
        file.write("\n")
