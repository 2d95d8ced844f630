"""The tables of a sweep: shards' tables as one, with types, and as Parquet."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from midflight.results import Columns
from midflight.run_tables import plain_text

__all__ = ["concatenate", "read_table", "write_parquet"]


def concatenate(files: Sequence[Path], target: Path) -> None:
    """Write CSV files as one. Those of flows without a workload lack the columns of measures."""
    heads = {}
    for path in files:
        with path.open("rb") as file:
            heads[path] = file.readline()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("wb") as all_of_them:
            widest = max(heads.values(), key=len)
            all_of_them.write(widest)
            for path in files:
                with path.open("rb") as file:
                    if heads[path] == widest:
                        file.readline()
                        shutil.copyfileobj(file, all_of_them)
                    else:
                        all_of_them.write(widened(file.read(), widest))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def widened(text: bytes, head: bytes) -> bytes:
    """Return the lines of a CSV file with the columns of another head, empty where it has none."""
    columns = next(csv.reader([head.decode()]))
    lines = io.StringIO()
    writer = csv.DictWriter(lines, columns, restval="", lineterminator="\n")
    writer.writerows(csv.DictReader(io.StringIO(text.decode())))
    return lines.getvalue().encode()


def kind_of(values: Sequence[str]) -> type[int] | type[float] | type[str]:
    """Return what all these texts can be read as."""
    for kind, form in (
        (int, r"[+-]?[0-9]{1,18}"),
        (float, r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?"),
    ):
        if all(re.fullmatch(form, value) for value in values):
            return kind
    return str


#: Columns of texts; the others are numbers, whole but for rates and percentages.
TEXTS = ("flow", "entry", "scheme", "direction", "kind", "link", "digest", "workload")


def column_kind(
    name: str, axes: Mapping[str, Sequence[str]]
) -> type[int] | type[float] | type[str]:
    """Return what the values of a column of a sweep's tables are."""
    if name in axes:
        return kind_of(axes[name])
    if name in TEXTS:
        return str
    return float if name.endswith(("_bps", "_percent")) else int


def read_table(path: Path, axes: Mapping[str, Sequence[str]]) -> Columns:
    """Return a sweep's table, with numbers where `write_parquet` has them, and None where there is
    no value.
    """
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        names = next(reader)
        cells = list(zip(*reader, strict=True)) or [() for _ in names]

    def column(place: int) -> list[Any]:
        kind: Any = column_kind(names[place], axes)
        of = plain_text if kind is str else kind
        return [of(cell) if cell else None for cell in cells[place]]

    columns = {name: partial(column, place) for place, name in enumerate(names)}
    return Columns(columns, path.parent)


def write_parquet(path: Path, axes: Mapping[str, Sequence[str]]) -> None:
    """Write a CSV file as Parquet beside it, where pyarrow is installed, a batch at a time.

    Texts are as they were before they went into a CSV file. An axis of numbers has a column of
    numbers.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute as pa_compute
        import pyarrow.csv as pa_csv
        import pyarrow.parquet as pq
    except ImportError:
        return
    with path.open(newline="", encoding="utf-8") as file:
        names = next(csv.reader(file))

    types = {int: pa.int64(), float: pa.float64(), str: pa.string()}

    def plain(column: Any) -> Any:
        if column.type != pa.string():
            return column
        return pa_compute.replace_substring_regex(column, "^'", "")

    target = path.with_suffix(".parquet")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    of = {name: types[column_kind(name, axes)] for name in names}
    options = pa_csv.ConvertOptions(column_types=of)
    try:
        with (
            pa_csv.open_csv(path, convert_options=options) as reader,
            pq.ParquetWriter(unfinished, reader.schema) as writer,
        ):
            for batch in reader:
                columns = [plain(column) for column in batch.columns]
                writer.write_batch(pa.record_batch(columns, schema=reader.schema))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
