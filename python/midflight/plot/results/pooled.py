"""The axes and the flows that a figure of results pools: those that share its points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

from midflight.plot.common.names import plural_name
from midflight.plot.results.rows import Pooled, is_key, measured_flows, rows_of
from midflight.plot.results.tables import Columns
from midflight.sweep_results import SEED, is_sample

__all__ = ["axes_of", "pooled_axes", "pooled_flows", "pooled_words"]

#: Flows that are taken together are named up to this number.
_MOST_FLOWS = 3


def axes_of(columns: Columns) -> list[str]:
    """Return the columns of a table that are axes of a sweep, without their numbers."""

    def is_number(name: str) -> bool:
        axis, _, unit = name.rpartition("_")
        return bool(unit) and axis in columns

    keys = (name for name in columns if is_key(name))
    return [name for name in keys if not is_number(name)]


def pooled_axes(
    columns: Columns,
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
) -> list[tuple[str, int]]:
    """Return the axes that a figure pools, and their numbers of values at one of its points.

    As in the summary of a sweep, samples (`is_sample`) are not named. An axis that has one value at
    each point, such as one that changes with a shown one, is not pooled.
    """
    points = _points_of(columns, measured, shown, kept)
    return [one for one in _axes_at(columns, points, measured, shown) if not is_sample(one[0])]


def pooled_words(
    columns: Columns,
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
    *,
    counted: str = "",
    rows: Sequence[int] | None = None,
) -> Pooled:
    """What a figure says of axes and flows that it pools in the rows that are kept, which are
    searched for if they are not known. Seeds are not named if their runs are `counted`.
    """
    points = _points_of(columns, measured, shown, kept, rows)
    pooled = _axes_at(columns, points, measured, shown)
    pooled = [one for one in pooled if not (counted == "runs" and one[0] == SEED)]
    named = [f"{count} {plural_name(name)}" for name, count in pooled]
    flows = _flows_at(columns, points, measured, kept)
    together = f"flows {' and '.join(flows)} together" if len(flows) > 1 else ""
    if len(flows) > _MOST_FLOWS:
        together = f"{len(flows)} flows together"
    number = prod(count for _, count in pooled)
    each_point = (Counter(_keys(columns, [name for name, _ in pooled], one)) for one in points)
    is_whole = all(len(each) == number and len({*each.values()}) == 1 for each in each_point)
    return Pooled(named, number, together, is_whole)


def pooled_flows(
    columns: Columns,
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the flows that share points of a figure; flows with schemes of their own do not, if
    these have lines.
    """
    return _flows_at(columns, _points_of(columns, measured, shown, kept), measured, kept)


def _points_of(
    columns: Columns,
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
    rows: Sequence[int] | None = None,
) -> list[list[int]]:
    """The rows at each point of a figure; none of a table that lacks a column."""
    if any(name not in columns for name in (measured, *kept)):
        return []
    if rows is None:
        rows = rows_of(columns, measured, kept, shown).shown
    points: dict[tuple[str, ...], list[int]] = {}
    names = [name for name in columns if name in shown]
    for row, point in zip(rows, _keys(columns, names, rows), strict=True):
        points.setdefault(point, []).append(row)
    return [*points.values()]


def _keys(columns: Columns, names: Sequence[str], rows: Sequence[int]) -> Sequence[tuple[str, ...]]:
    """The values of these columns in each row."""
    if not names:
        return [()] * len(rows)
    # A column at a time: there are many rows.
    return [*zip(*([str(columns[name][row]) for row in rows] for name in names), strict=True)]


def _axes_at(
    columns: Columns, points: Sequence[Sequence[int]], measured: str, shown: set[str | None]
) -> list[tuple[str, int]]:
    """The axes, also samples, that have several values at a point, and the most of these."""
    # Beside an axis stand its numbers, as handoffs.0.gap_ns.
    shown = {measured, *shown, *(name.rpartition("_")[0] for name in shown if name)}
    names = [name for name in axes_of(columns) if name not in shown]
    counts = {
        name: max((len({str(columns[name][row]) for row in rows}) for rows in points), default=0)
        for name in names
    }
    return [(name, count) for name, count in counts.items() if count > 1]


def _flows_at(
    columns: Columns,
    points: Sequence[Sequence[int]],
    measured: str,
    kept: Mapping[str, Sequence[str]],
) -> list[str]:
    """The flows that share one of these points."""
    if "flow" not in columns:
        return []
    each_point = ({str(columns["flow"][row]) for row in rows} for rows in points)
    together = {flow for flows in each_point if len(flows) > 1 for flow in flows}
    if not together:
        return []
    return [flow for flow in measured_flows(columns, measured, kept) if flow in together]
