"""The name of the only line of a figure of results, and the columns of lines in its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from midflight.plot.common.line_looks import is_of_schemes
from midflight.plot.results.rows import ordered
from midflight.plot.results.tables import Columns

__all__ = ["line_cells", "line_columns", "one_line_name"]


class _Line(Protocol):
    """A line, and its values of the columns that tell lines apart."""

    label: str
    key: Sequence[str]


def line_columns(by: Sequence[str]) -> Sequence[str]:
    """Return the columns of a table for lines that several columns tell apart: these."""
    return by if len(by) > 1 else ["line"]


def line_cells(line: _Line, by: Sequence[str]) -> Sequence[str]:
    """Return the cells of a line in these columns."""
    return line.key if len(by) > 1 else [line.label]


def one_line_name(
    columns: Columns, rows: Sequence[int], x: str, kept: Mapping[str, Sequence[str]]
) -> str:
    """The label of a single line: its flow and scheme if it has one of each."""
    words = []
    # Such an axis says more than the scheme that its values are in.
    usual = ("flow",) if is_of_schemes(x) else ("flow", "scheme")
    for name in usual:
        values = ordered(columns, rows, name, kept) if name in columns and name != x else []
        if len(values) == 1 and values[0] not in words:
            words.append(values[0])
    return ", ".join(words)
