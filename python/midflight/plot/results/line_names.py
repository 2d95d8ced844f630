"""The name of the only line of a figure of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from midflight.plot.common.line_looks import is_of_schemes
from midflight.plot.common.names import column_name, within_text
from midflight.plot.results.tables import Columns

__all__ = ["one_line_name"]


def one_line_name(
    columns: Columns, rows: Sequence[int], x: str, kept: Mapping[str, Sequence[str]]
) -> str:
    """The label of a single line: its flow and scheme if it has one of each, and the kept rows."""
    from midflight.plot.results.axis import ordered

    words = []
    # Such an axis says more than the scheme that its values are in.
    usual = ("flow",) if is_of_schemes(x) else ("flow", "scheme")
    for name in dict.fromkeys((*usual, *kept)):
        values = ordered(columns, rows, name, kept) if name in columns and name != x else []
        text = " or ".join(values)
        if not values or (len(values) > 1 and name not in kept) or text in words:
            continue
        is_name = name.rpartition(".")[2] in ("flow", "scheme", "link", "preset", "to")
        words.append(text if is_name else f"{within_text(column_name(name))} {text}")
    return ", ".join(words)
