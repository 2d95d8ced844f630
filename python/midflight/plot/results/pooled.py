"""The axes and the flows that a figure of results pools: those that share its points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

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
    columns: Mapping[str, Sequence[Any]],
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
    *,
    with_samples: bool = False,
    rows: Sequence[int] | None = None,
) -> list[tuple[str, int]]:
    """Return the axes that a figure pools, and their numbers of values at one of its points; its
    `rows` are searched for if they are not known.

    As in the summary of a sweep, samples (`is_sample`) are named only if they are asked for. An
    axis that has one value at each point, such as one that changes with a shown one, is not pooled.
    """
    if any(name not in columns for name in (measured, *kept)):
        return []
    if rows is None:
        rows = rows_of(columns, measured, kept, shown).shown
    names = [name for name in columns if name in shown]
    points = [tuple(str(columns[name][row]) for name in names) for row in rows]
    # Beside an axis stand its numbers, as handoffs.0.gap_ns.
    shown = {*shown, *(name.rpartition("_")[0] for name in shown if name)}
    found = []
    for name in axes_of(columns):
        if (is_sample(name) and not with_samples) or name in (*shown, measured):
            continue
        values: dict[tuple[str, ...], set[str]] = {}
        for point, row in zip(points, rows, strict=True):
            values.setdefault(point, set()).add(str(columns[name][row]))
        count = max(map(len, values.values()), default=0)
        if count > 1:
            found.append((name, count))
    return found


def pooled_words(
    columns: Columns,
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
    *,
    counted: str = "",
    rows: Sequence[int] | None = None,
) -> Pooled:
    """What a figure says of axes and flows that it pools in the rows that are kept. Seeds are not
    named if their runs are `counted`.
    """
    if rows is None and measured in columns:
        rows = rows_of(columns, measured, kept, shown).shown
    pooled = pooled_axes(columns, measured, shown, kept, with_samples=True, rows=rows)
    pooled = [one for one in pooled if not (counted == "runs" and one[0] == SEED)]
    named = [f"{count} {plural_name(name)}" for name, count in pooled]
    flows = pooled_flows(columns, measured, shown, kept, rows=rows)
    together = f"flows {' and '.join(flows)} together" if len(flows) > 1 else ""
    if len(flows) > _MOST_FLOWS:
        together = f"{len(flows)} flows together"
    number = prod(count for _, count in pooled)
    points: dict[tuple[str, ...], Counter[tuple[str, ...]]] = {}
    for row in rows or ():
        point = tuple(str(columns[name][row]) for name in columns if name in shown)
        which = tuple(str(columns[name][row]) for name, _ in pooled)
        points.setdefault(point, Counter())[which] += 1
    is_whole = all(len(each) == number and len({*each.values()}) == 1 for each in points.values())
    return Pooled(named, number, together, is_whole)


def pooled_flows(
    columns: Mapping[str, Sequence[Any]],
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
    *,
    rows: Sequence[int] | None = None,
) -> list[str]:
    """Return the flows that share points of a figure; flows with schemes of their own do not, if
    these have lines.
    """
    if any(name not in columns for name in ("flow", measured, *kept)):
        return []
    if rows is None:
        rows = rows_of(columns, measured, kept, shown).shown
    names = [name for name in columns if name in shown]
    points: dict[tuple[str, ...], dict[str, None]] = {}
    for row in rows:
        point = tuple(str(columns[name][row]) for name in names)
        points.setdefault(point, {})[str(columns["flow"][row])] = None
    together = {flow for flows in points.values() if len(flows) > 1 for flow in flows}
    if not together:
        return []
    return [flow for flow in measured_flows(columns, measured, kept) if flow in together]
