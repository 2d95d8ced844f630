"""What the figure of a sweep shows whose values are compared in pairs: how each value changes the
measurement. The spread over instants and seeds, which both sides of a pair share, would hide that
in a figure of the values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from midflight.plot.style import SERIES
from midflight.plot.tables import Columns, TableSource, read_columns
from midflight.plot.usual import Shown, places_of

__all__ = ["paired_of", "paired_shown", "samples_of"]

#: The measurement, and the column with the values that are compared.
_RATIO, _VALUE = "ratio", "value"


def paired_of(
    source: TableSource, asked: Shown, where: Collection[str] = (), *, has_by: bool
) -> tuple[Path, Shown] | None:
    """Return the comparison in the folder of a sweep, and what a figure of it shows.

    None for other sources, if a measurement or lines are asked for (`has_by`), or if the comparison
    has no intervals or lacks the axis or what rows are kept by.
    """
    from midflight.sweep import comparison_file

    if asked.value is not None or has_by or not isinstance(source, str | Path):
        return None
    file = Path(source) / comparison_file(None)
    if not file.is_file() or not (Path(source) / "sweep.json").is_file():
        return None
    columns = read_columns(file, _RATIO)
    shown = paired_shown(columns, asked.x)
    if shown is None or not {*where} <= {*columns}:
        return None
    return file, shown


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
    names = list(columns)
    axes = {name: _texts(columns, name) for name in names[1 : names.index("metric")]}
    varied = {name: values for name, values in axes.items() if len(values) > 1}
    if x is None:
        x = next(iter(places_of(varied, None)), _VALUE)
    elif x not in axes and x != _VALUE:
        return None
    apart = {"flow": _texts(columns, "flow"), _VALUE: _texts(columns, _VALUE), **varied}
    by = [name for name, values in apart.items() if name != x and len(values) > 1]
    if not by and x != _VALUE:
        # The legend names the only value.
        by = [_VALUE]
    lines = {tuple(str(columns[name][row]) for name in by) for row in range(len(columns[_RATIO]))}
    return Shown(x, None, _RATIO, by) if len(lines) <= len(SERIES) else None


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
