"""The name of the only line of a figure of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from midflight.plot.common.line_looks import is_of_schemes
from midflight.plot.results.rows import ordered
from midflight.plot.results.tables import Columns

__all__ = ["one_line_name"]


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
