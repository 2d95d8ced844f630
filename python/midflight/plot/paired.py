"""What the figure of a sweep shows whose values are compared in pairs: how each value changes the
measurement. The spread over instants and seeds, which both sides of a pair share, would hide that
in a figure of the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod
from pathlib import Path
from typing import Any

from midflight.plot.axis import kept_rows, kept_values
from midflight.plot.style import SERIES
from midflight.plot.tables import Columns, TableSource, read_columns
from midflight.plot.usual import MOST_MAPS, Shown, places_of

__all__ = [
    "comparison_of",
    "is_left_out",
    "paired_maps",
    "paired_maps_of",
    "paired_of",
    "paired_shown",
    "samples_of",
]

#: The measurement, and the column with the values that are compared.
_RATIO, _VALUE = "ratio", "value"


def paired_of(
    source: TableSource,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None = None,
    *,
    has_by: bool,
) -> tuple[Path, Shown] | None:
    """Return the comparison in the folder of a sweep, and what a figure of it shows.

    None for other sources, if a measurement or lines are asked for (`has_by`), or if the comparison
    has no intervals or lacks the axis or what rows are kept by.
    """
    if (file := comparison_of(source)) is None or has_by:
        return None
    if asked.value not in (None, _RATIO):
        return None
    columns = _kept(read_columns(file, _RATIO), where)
    shown = None if columns is None else paired_shown(columns, asked.x)
    return None if shown is None else (file, shown)


def _kept(columns: Columns, where: Mapping[str, str | Sequence[str]] | None) -> Columns | None:
    """The rows of a comparison that are kept; None if it lacks one of the columns."""
    if not {*(where or {})} <= {*columns}:
        return None
    rows = kept_rows(columns, len(columns[_RATIO]), kept_values(columns, where))
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def paired_maps_of(
    source: TableSource,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None = None,
    *,
    has_by: bool,
) -> tuple[Path, Shown] | None:
    """Return the comparison of a sweep of which `paired_of` draws nothing because its lines are too
    many, and what maps of it show: the change over the two axes that it separates, one map for each
    compared value. None if it has other axes, more values, or what `paired_of` refuses.
    """
    if (file := comparison_of(source)) is None or has_by:
        return None
    if asked.value not in (None, _RATIO):
        return None
    columns = _kept(read_columns(file, _RATIO), where)
    if columns is None or (shown := paired_maps(columns)) is None:
        return None
    if shown.x in (asked.y, None) or shown.y == asked.x:
        shown = shown._replace(x=shown.y, y=shown.x)
    given = (asked.x or shown.x, asked.y or shown.y)
    return (file, shown) if given == (shown.x, shown.y) else None


def paired_maps(columns: Columns) -> Shown | None:
    """Return what maps of a comparison with two axes show; None for other ones."""
    if not _has_intervals(columns):
        return None
    varied = _varied(columns)
    apart = {name: _texts(columns, name) for name in ("flow", _VALUE)}
    by = [name for name, values in apart.items() if len(values) > 1] or [_VALUE]
    if len(varied) != 2 or prod(len(apart[name]) for name in by) > MOST_MAPS:
        return None
    x, y = places_of(varied, None)
    return Shown(x, y, _RATIO, by)


def comparison_of(source: TableSource) -> Path | None:
    """Return the file with the comparison of the sweep in a folder, if it has one."""
    from midflight.sweep import comparison_file

    if not isinstance(source, str | Path):
        return None
    file = Path(source) / comparison_file(None)
    return file if file.is_file() and (Path(source) / "sweep.json").is_file() else None


def is_left_out(source: TableSource, where: Mapping[str, Any] | None = None) -> bool:
    """Whether the comparison of a sweep has intervals, for a figure that does not show them."""
    file = comparison_of(source)
    columns = None if file is None else _kept(read_columns(file, _RATIO), where)
    return columns is not None and _has_intervals(columns)


def samples_of(source: TableSource, columns: Columns) -> Sequence[str]:
    """Return the axes of a sweep over whose values the intervals of its comparison are, if `source`
    is the file of one.
    """
    if "over" not in columns or not isinstance(source, str | Path):
        return ()
    folder = Path(source).parent
    if not Path(source).is_file() or not (folder / "sweep.json").is_file():
        return ()
    from midflight.sweep import read_definition

    asked = read_definition(folder)
    kept = {*columns, asked.get("compare")}
    return [key for key, values in asked["axes"].items() if len(values) > 1 and key not in kept]


def paired_shown(columns: Columns, x: str | None = None) -> Shown | None:
    """Return what a figure of a comparison shows: the ratio, over an axis, by default the longest
    one of numbers, or else over the compared values.

    None if it has no intervals, or more lines than can be distinguished.
    """
    if not _has_intervals(columns):
        return None
    varied = _varied(columns)
    if x is None:
        x = next(iter(places_of(varied, None)), _VALUE)
    elif x not in _axes(columns) and x != _VALUE:
        return None
    apart = {"flow": _texts(columns, "flow"), _VALUE: _texts(columns, _VALUE), **varied}
    by = [name for name, values in apart.items() if name != x and len(values) > 1]
    if not by and x != _VALUE:
        # The legend names the only value.
        by = [_VALUE]
    lines = {tuple(str(columns[name][row]) for name in by) for row in range(len(columns[_RATIO]))}
    return Shown(x, None, _RATIO, by) if len(lines) <= len(SERIES) else None


def _axes(columns: Columns) -> list[str]:
    """The axes that a comparison separates."""
    names = list(columns)
    return names[1 : names.index("metric")]


def _varied(columns: Columns) -> dict[str, list[str]]:
    """Those with several values, and these."""
    axes = {name: _texts(columns, name) for name in _axes(columns)}
    return {name: values for name, values in axes.items() if len(values) > 1}


def _has_intervals(columns: Columns) -> bool:
    needed = {_RATIO, "samples", "metric", _VALUE, "flow"}
    if not needed <= {*columns}:
        return False
    each = zip(columns["samples"], columns[_RATIO], strict=True)
    return any(int(samples) > 1 and _is_number(ratio) for samples, ratio in each)


def _is_number(value: Any) -> bool:
    return value not in (None, "") and isfinite(float(value))


def _texts(columns: Mapping[str, Any], name: str) -> list[str]:
    return list(dict.fromkeys(map(str, columns[name])))
