"""Percentiles over flows that are alike: of completion times, and of the load times of pages.

An entry of a scenario with a `count` makes several flows, `load-0`, `load-1`, ... Of each run they
give one value of a percentile, such as the 99th percentile of their completion times. Percentiles
are metrics of a sweep and measurements of figures, computed from the rows of `flows.csv`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from midflight.results import quantile

__all__ = ["PERCENTILES", "Percentile", "alike", "percentile_columns", "percentile_rows"]


class Percentile(NamedTuple):
    """A percentile of a measurement over the flows of an entry."""

    #: The column of the measurement, in nanoseconds.
    of: str
    share: float
    #: What it is, in words.
    words: str


_OF = {"duration_ns": "completion times", "load_ns": "load times of pages"}
_SHARES = {
    "median": (0.5, "median"),
    "p95": (0.95, "95th percentile"),
    "p99": (0.99, "99th percentile"),
    "max": (1.0, "longest"),
}

#: The percentiles by their names, such as `duration_p99_ns`.
PERCENTILES: Mapping[str, Percentile] = {
    f"{column.removesuffix('_ns')}_{name}_ns": Percentile(column, share, f"{words} of the {what}")
    for column, what in _OF.items()
    for name, (share, words) in _SHARES.items()
}


def alike(entry: str, flow: str) -> str:
    """Return what flows that are alike have in common: the entry, and of several connections which.

    `load` of `load-3` in the entry `load`, `page-c1` of `page-3-c1`. The entry is that of the plan:
    a name alone does not show whether its number comes from a `count`.
    """
    return entry + re.sub("^-[0-9]+", "", flow.removeprefix(entry))


def percentile_rows(rows: Iterable[Mapping[str, Any]], metric: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each entry of each run, with the percentile as the column `metric`.

    `rows` are those of `flows.csv` in its order. The other columns are those of the first flow of
    the entry, with the entry as `flow`; `finished_ns` is when the last flow ended, and
    `delivered_ns` when the last data of all arrived. A flow without
    a value has not ended, and counts as longer than every other; a percentile that lies among
    such flows has no value. Flows that have no such measurement, as the requests of a page have no
    load time, give no row.
    """
    percentile = PERCENTILES[metric]
    for _, of_run in groupby(rows, key=lambda row: (row.get("cell"), row.get("run"))):
        entries: dict[str, list[Mapping[str, Any]]] = {}
        for row in of_run:
            if percentile.of != "load_ns" or row.get("workload") == "web":
                name = alike(str(row["entry"]), str(row["flow"]))
                entries.setdefault(name, []).append(row)
        for entry, flows in entries.items():
            value = quantile([_number(row[percentile.of]) for row in flows], percentile.share)
            ends = [_number(row.get("finished_ns")) for row in flows]
            is_open = any(math.isnan(one) for one in ends)
            found = {**flows[0], "flow": entry, metric: "" if math.isinf(value) else str(value)}
            if "finished_ns" in found:
                found["finished_ns"] = "" if is_open else str(int(max(ends)))
            if "delivered_ns" in found:
                begun = (_number(row.get("opened_ns")) for row in flows)
                took = (_number(row["delivered_ns"]) for row in flows)
                last = [sum(one) for one in zip(begun, took, strict=True)]
                is_known = not any(map(math.isnan, last))
                since = int(max(last)) - int(found["opened_ns"]) if is_known else ""
                found["delivered_ns"] = str(since)
            yield found


def percentile_columns(columns: Mapping[str, Sequence[Any]], metric: str) -> dict[str, list[Any]]:
    """Return the rows of `percentile_rows` as columns."""
    names = list(columns)
    each = (dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True))
    found: dict[str, list[Any]] = {name: [] for name in [*names, metric]}
    for row in percentile_rows(each, metric):
        for name, column in found.items():
            column.append(row[name])
    return found


def _number(value: Any) -> float:
    return math.nan if value is None or value == "" else float(value)
