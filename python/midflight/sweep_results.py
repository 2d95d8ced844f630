"""What a sweep's tables say: quartiles over its axes, and one axis value against another.

Values are compared pair by pair: the runs of two cells that differ in nothing else met the same
losses (common random numbers), so what is left is the difference that the value makes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from midflight.results import Quartiles, difference_ci, quartiles, ratio_ci

__all__ = ["METRICS", "Comparison", "Group", "compare", "groups", "read_flows"]

#: What may be compared, with what one of it is in the unit that people read.
METRICS: Mapping[str, tuple[str, float]] = {
    "duration_ns": ("seconds from the opening to the end", 1e9),
    "all_new_ns": ("seconds from the first handoff until the new packets are acknowledged", 1e9),
    "first_new_ns": ("seconds from the first handoff until a new packet is acknowledged", 1e9),
    "goodput_bps": ("goodput in Mbit/s", 1e6),
    "stall_ns": ("seconds of the longest time without progress", 1e9),
    "timeouts": ("timeouts", 1.0),
    "spurious_timeouts": ("spurious timeouts", 1.0),
    "rexmits": ("retransmissions", 1.0),
    "drops_queue": ("packets lost to a full queue", 1.0),
}


@dataclass
class Group:
    """The runs of one flow with the same values of some axes."""

    flow: str
    values: tuple[str, ...]
    #: Values of the metric by what else tells the runs apart; missing ones are nan.
    runs: dict[tuple[str, ...], float] = field(default_factory=dict)

    def quartiles(self) -> Quartiles:
        """Quartiles of the metric; a missing value is slower than every other."""
        return quartiles(list(self.runs.values()))

    def missing(self) -> int:
        """How many runs have no value."""
        return int(np.isnan(list(self.runs.values())).sum())


@dataclass(frozen=True)
class Comparison:
    """One value of the compared axis against the first one, for one flow and values of others."""

    flow: str
    values: tuple[str, ...]
    value: str
    baseline: str
    pairs: int
    #: Pairs of which a run has no value; they are left out.
    left_out: int
    #: Mean difference, value minus baseline, and half the width of its 95 % confidence interval.
    difference: float
    half_width: float
    #: Ratio of the means minus one, with its 95 % confidence interval.
    ratio: float
    ratio_low: float
    ratio_high: float


def read_flows(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a sweep's flows, with the times after the first handoff.

    The columns are those of `flows.csv`, and `first_new_ns` and `all_new_ns` of the phase after the
    first handoff; "" is a missing value. Raises `OSError` for a folder without the tables.
    """
    with (
        (folder / "flows.csv").open(newline="", encoding="utf-8") as flows,
        (folder / "phases.csv").open(newline="", encoding="utf-8") as phases,
    ):
        # Both are in the order of cells, runs and flows.
        by_flow = groupby(csv.DictReader(phases), key=itemgetter("cell", "run", "flow"))
        for row, (_, its_phases) in zip(csv.DictReader(flows), by_flow, strict=True):
            after = next((one for one in its_phases if one["kind"] == "handoff"), {})
            for name in ("first_new_ns", "all_new_ns"):
                row[name] = after.get(name, "")
            yield row


def groups(
    rows: Iterator[dict[str, str]], axes: Sequence[str], by: Sequence[str], metric: str
) -> list[Group]:
    """Return the mobile node's flows grouped by these axes, in the order of the table.

    `rows` are those of `read_flows`, `axes` all axes of the sweep, `by` those that are told apart,
    `metric` a column, whose unit the values have.
    """
    found: dict[tuple[str, ...], Group] = {}
    rest = [axis for axis in axes if axis not in by]
    for row in rows:
        if row["moves"] != "1":
            continue
        values = tuple(row[axis] for axis in by)
        group = found.setdefault((row["flow"], *values), Group(row["flow"], values))
        place = (*(row[axis] for axis in rest), row["run"])
        group.runs[place] = float(row[metric] or "nan")
    return list(found.values())


def compare(
    grouped: Sequence[Group], by: Sequence[str], axis: str, order: Sequence[str]
) -> list[Comparison]:
    """Return the values of an axis against its first one, pair by pair.

    The axis is one of those that the groups are by, `order` its values, the first of them the
    baseline. Pairs have the same other values and run. Differences are in the metric's unit.
    """
    place = by.index(axis)
    baseline = order[0]
    base = {
        (group.flow, *group.values[:place], *group.values[place + 1 :]): group
        for group in grouped
        if group.values[place] == baseline
    }
    found = []
    for group in grouped:
        others = (*group.values[:place], *group.values[place + 1 :])
        against = base.get((group.flow, *others))
        if against is None or group is against:
            continue
        keys = [key for key in group.runs if key in against.runs]
        mine = np.array([group.runs[key] for key in keys])
        theirs = np.array([against.runs[key] for key in keys])
        whole = np.isfinite(mine) & np.isfinite(theirs)
        difference = difference_ci(mine[whole], theirs[whole])
        ratio = ratio_ci(mine[whole], theirs[whole])
        found.append(
            Comparison(
                flow=group.flow,
                values=others,
                value=group.values[place],
                baseline=baseline,
                pairs=int(whole.sum()),
                left_out=int((~whole).sum()),
                difference=difference.mean,
                half_width=difference.half_width,
                ratio=ratio.value,
                ratio_low=ratio.low,
                ratio_high=ratio.high,
            )
        )
    return found


def default_metric(rows: Iterator[dict[str, str]]) -> str:
    """Return what tells most: durations where a flow has them, else goodput."""
    durations: Any = (row["duration_ns"] for row in rows if row["moves"] == "1")
    return "duration_ns" if any(durations) else "goodput_bps"
