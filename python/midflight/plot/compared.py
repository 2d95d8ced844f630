"""The columns of a comparison in figures of results: a change against a baseline, or a difference,
and its interval.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from midflight.plot.axis import shown_number, text_of, unit_of
from midflight.plot.names import column_name, with_unit
from midflight.plot.tables import Columns
from midflight.refusal import refusal

__all__ = [
    "MEANS",
    "check_is_one",
    "counts_of",
    "ends_of",
    "has_ends",
    "is_compared",
    "measured_of",
    "over_of",
]

#: Columns of a comparison that are an interval already: those of its ends, or of half its width.
_ENDS: Mapping[str, Sequence[str]] = {
    "ratio": ("ratio_low", "ratio_high"),
    "difference": ("half_width",),
}
#: What they are, above the figure.
MEANS: Mapping[str, str] = {"ratio": "change of the mean", "difference": "mean difference"}
#: What tells comparisons apart that have nothing to do with each other.
_APART = ("flow", "metric", "value")


def is_compared(columns: Columns, value: str) -> bool:
    """Whether a column is a change or a difference of a comparison."""
    return value in _ENDS and {"metric", "baseline"} <= {*columns}


def has_ends(columns: Columns, value: str) -> bool:
    """Whether a column has intervals of its own."""
    return value in _ENDS and {*_ENDS[value]} <= {*columns}


def check_is_one(columns: Columns, rows: Sequence[int], value: str) -> None:
    """Refuse a cell of a map with changes of several flows, metrics or values, whose median says
    nothing.
    """
    if not is_compared(columns, value):
        return
    for name in (one for one in _APART if one in columns):
        found = list(dict.fromkeys(str(columns[name][row]) for row in rows))
        if len(found) > 1:
            raise refusal(
                f"a cell has the comparisons of {', '.join(found)} ({name}); keep one with "
                f"--where {name}={found[0]}",
                name="--where",
                value=None,
                accepted=f"one {name}",
            )


def _end(value: Any, name: str) -> float:
    if value not in (None, "") and math.isinf(float(value)):
        return float(value)
    return shown_number(value, name)


def ends_of(columns: Columns, row: int, value: str, scale: float) -> tuple[float, float]:
    """The ends of the interval of a comparison; infinite ones of an interval without ends."""
    first, *others = (scale * _end(columns[one][row], one) for one in _ENDS[value])
    if others:
        return first, others[0]
    middle = scale * shown_number(columns[value][row], value)
    return middle - first, middle + first


def counts_of(columns: Columns, row: int) -> tuple[int, int]:
    """The samples and the pairs of a comparison; 0 where the table does not have them."""
    samples, pairs = (columns[one][row] if one in columns else 0 for one in ("samples", "pairs"))
    return int(samples), int(pairs)


def over_of(columns: Columns, rows: Sequence[int]) -> str:
    """What the samples of comparisons are; "" if it is not known or not the same for all."""
    kinds = {text_of(columns["over"][row]) for row in rows} if "over" in columns else {""}
    return kinds.pop() if len(kinds) == 1 else ""


def measured_of(
    columns: Columns, rows: Sequence[int], value: str, shown: Collection[str] = ()
) -> tuple[str, str, float]:
    """The name of a measurement with its unit, the unit, and its size in units of the column.

    The differences of a comparison have the unit of the metric that is compared. The compared value
    is named unless its column is `shown` otherwise.
    """
    if not is_compared(columns, value) or not rows:
        unit = unit_of(value)[0]
        return with_unit(column_name(value), unit), unit, 1.0
    metrics = {str(columns["metric"][row]) for row in rows}
    baselines = {str(columns["baseline"][row]) for row in rows}
    metric, baseline = (next(iter(one)) if len(one) == 1 else "" for one in (metrics, baselines))
    named = column_name(metric) if metric else column_name(value)
    values = {str(columns["value"][row]) for row in rows} if "value" in columns else set()
    alone = "" if len(values) != 1 or "value" in shown else next(iter(values))
    if value == "ratio":
        words = f"change with {alone} against" if alone else "change against"
        return with_unit(f"{named}: {words} {baseline}", "%"), "%", 100.0
    unit, scale = unit_of(metric)
    words = f"difference of {alone} from" if alone else "difference from"
    return with_unit(f"{named}: {words} {baseline}", unit), unit, scale
