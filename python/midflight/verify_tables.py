"""Comparison of the tables beside results with those of repeated runs, cell by cell."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import Table
    from midflight.results import Columns

__all__ = ["Difference", "Made", "differences", "read_rows"]

#: Rows of a table by the cell of a sweep that they are of, as texts.
Made: TypeAlias = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Difference:
    """A value of a file that differs in the repeated run."""

    file: str
    #: The row, from 1 behind the head; None if it is about the head.
    row: int | None
    column: str
    was: str
    now: str

    def text(self) -> str:
        """Return it as a line."""
        row = "the head" if self.row is None else f"row {self.row}"
        return f"{self.file}, {row}, {self.column}: {self.was or '-'}, but now {self.now or '-'}"


def table_rows(table: Table | Columns, cell: Callable[[Any], str]) -> list[list[str]]:
    """Return the rows of a table as texts."""
    columns = (table.column(name) for name in table.column_names)
    return [[cell(value) for value in row] for row in zip(*columns, strict=True)]


def plain(value: Any) -> str:
    """Return a value as a sweep writes it, or as Parquet gives it back."""
    return "" if value is None else str(value)


def read_rows(path: Path) -> Iterator[list[str]]:
    """Yield the head and the rows of a CSV or Parquet file as texts.

    Raises `MidflightError` for another format, `OSError` if the file cannot be read.
    """
    if path.suffix == ".parquet":
        yield from parquet_rows(path)
        return
    try:
        with path.open(newline="", encoding="utf-8") as file:
            yield from csv.reader(file, strict=True)
    except (UnicodeDecodeError, csv.Error) as error:
        raise refusal(
            f'"{path}" is not a CSV table: {error}',
            name="table",
            value=path,
            accepted="CSV in UTF-8",
        ) from error


def parquet_rows(path: Path) -> Iterator[list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield list(file.schema_arrow.names)
            for batch in file.iter_batches():
                columns = (column.to_pylist() for column in batch.columns)
                for row in zip(*columns, strict=True):
                    yield [plain(value) for value in row]
    except pa.ArrowException as error:
        raise refusal(
            f'"{path}" is not a Parquet table', name="table", value=path, accepted="Parquet"
        ) from error


def differences(
    path: Path, names: Sequence[str], made: Made, *, whole: bool
) -> Iterator[Difference]:
    """Yield the differences between a file and the rows of repeated runs.

    Cells that were not repeated are ignored unless all were.
    """
    rows = read_rows(path)
    head = next(rows, [])
    if head != list(names):
        yield Difference(path.name, None, "columns", " ".join(head), " ".join(names))
        return
    # The table of a question is of one cell.
    place = head.index("cell") if "cell" in head else None
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows, start=1):
        if len(row) != len(head):
            yield Difference(path.name, number, "columns", str(len(row)), str(len(head)))
            continue
        cell = "0" if place is None else row[place]
        if cell not in made:
            if whole:
                yield Difference(path.name, number, "cell", cell, "no such row")
            continue
        if seen[cell] == len(made[cell]):
            yield Difference(path.name, number, names[0], row[0], "no such row")
            continue
        pairs = zip(names, row, made[cell][seen[cell]], strict=True)
        seen[cell] += 1
        for name, was, now in pairs:
            if was != now:
                yield Difference(path.name, number, name, was, now)
    for cell, found in made.items():
        if seen[cell] < len(found):
            yield Difference(
                path.name, None, f"rows of cell {cell}", str(seen[cell]), str(len(found))
            )
