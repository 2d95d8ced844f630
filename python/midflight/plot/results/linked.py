"""Tables of the results of a sweep that know its folder, and what figures of them have from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.plot.results.tables import (
    CHANGES,
    OF_FLOW,
    Columns,
    TableSource,
    folder_of,
    table_columns,
)
from midflight.results import Columns as Table
from midflight.sweep_folder import read_definition
from midflight.sweep_tables import column_kind, read_table

if TYPE_CHECKING:
    from midflight.plot.usual import Shown

__all__ = ["axes_in", "sweep_of", "usual_source"]

#: What tells the rows of a table of results apart.
_ROW = (*OF_FLOW, "phase")


def sweep_of(source: TableSource) -> Path | None:
    """Return the folder of the sweep that a source is, or whose results a table has."""
    is_path = isinstance(source, str | Path)
    folder = Path(source) if isinstance(source, str | Path) else folder_of(source)
    has_file = folder is not None and (folder / "sweep.json").is_file()
    return folder if has_file and (is_path or _has_rows(source)) else None


def _has_rows(source: Any) -> bool:
    """Whether a linked table still has names of columns, and not those of groups of rows."""
    names = getattr(source, "column_names", getattr(source, "columns", ()))
    return all(isinstance(one, str) for one in names)


def axes_in(columns: Columns, axes: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the axes of a sweep that a table of its results has, with the values in its rows."""
    found: dict[str, Sequence[str]] = {}
    for key in axes:
        if key not in columns:
            continue
        kind, there = column_kind(key, axes), {*columns[key]}
        values = [one for one in axes[key] if one in there or kind(one) in there]
        if values:
            found[key] = values
    return found


def usual_source(
    source: TableSource, asked: Shown, where: Mapping[str, Any] | None = None
) -> TableSource:
    """Return the folder of a sweep for a whole table of its results, if no measurement of the table
    is asked for, as the figure may be that of the comparison in the folder; others as they are.
    """
    folder = sweep_of(source)
    is_table = folder is not None and not isinstance(source, str | Path)
    if folder is None or not is_table or asked.value not in (None, *CHANGES):
        return source
    names = {asked.x, asked.y, *asked.by, *(where or {})} - {None}
    return folder if _is_whole(source, folder, names) else source


def _is_whole(source: TableSource, folder: Path, names: Iterable[str | None]) -> bool:
    """Whether a table has all rows of one in the folder of a sweep, unchanged, and none of these
    columns besides.
    """
    if isinstance(source, Table):
        return True
    columns = table_columns(source)
    file = folder / f"{'phases' if 'phase' in columns else 'flows'}.csv"
    if not file.is_file() or not {*OF_FLOW} <= {*columns}:
        return False
    table = read_table(file, read_definition(folder)["axes"])
    known = [name for name in table.column_names if name in columns]
    if any(name in columns and name not in known for name in names):
        return False
    return _rows(columns, known) == _rows({name: table.column(name) for name in known}, known)


def _rows(columns: Columns, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of a table in the order of its runs."""
    apart = [place for place, name in enumerate(names) if name in _ROW]
    rows = zip(*(columns[name] for name in names), strict=True)
    return sorted(rows, key=lambda row: [str(row[place]) for place in apart])
