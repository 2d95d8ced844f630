"""Statistics of a sweep's tables: quartiles over its axes, and comparisons of axis values.

Values are compared in pairs: the runs of two cells that differ in nothing else met the same losses
(common random numbers), so the difference is the effect of the value.

Independent samples are runs, which draw their own random numbers. The pairs of one run, at its
instants and on its links, share them: they are averaged first, and a confidence interval is over
runs. Where runs do not differ in random numbers, the values of
the other axes are the sample.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight import _core
from midflight.percentiles import PERCENTILES, percentile_rows
from midflight.refusal import refusal
from midflight.results import Quartiles, difference_ci, quantile, quartiles, ratio_ci
from midflight.run_tables import is_further_connection, is_requests, measures_of, plain_text

__all__ = [
    "METRICS",
    "SEED",
    "Chance",
    "Comparison",
    "Group",
    "Tails",
    "are_averaged",
    "compare",
    "groups",
    "has_no_spread",
    "have_no_percentage",
    "is_hint",
    "is_negligible",
    "read_flows",
    "regrouped",
    "same_words",
    "sample_places",
    "unit_means",
    "why_same",
]

#: The axis with values that select different random numbers, like different runs.
SEED = "seed"


def is_sample(axis: str) -> bool:
    """Return whether the values of an axis are samples of what is measured, as instants of
    handoffs, starts in a recording and seeds are, and no settings that are compared.
    """
    return axis == SEED or axis.endswith((".at", ".trace.offset", ".trace.seed"))


#: The workload of a measure.
WORKLOAD_OF: Mapping[str, str] = {
    measure["name"]: one["name"] for one in _core.workloads() for measure in one["measures"]
}


#: The measure of a workload that a handoff changes most, where it is not the first one.
_MAIN: Mapping[str, str] = {"call": "frames_missed", "video": "rebuffer_ns"}


def _of_workloads() -> dict[str, tuple[str, float]]:
    """Return what workloads measure, in the same form."""
    units = {"ns": ("in seconds", 1e9), "bps": ("in Mbit/s", 1e6), "": ("", 1.0)}
    found = {}
    for workload in _core.workloads():
        for one in workload["measures"]:
            unit, scale = units[one["unit"]]
            words = f"{workload['name']}: {one['summary']}"
            found[one["name"]] = (f"{words}, {unit}" if unit else words, scale)
    return found


#: The metrics that can be compared, with their scale to the displayed unit.
METRICS: Mapping[str, tuple[str, float]] = {
    "duration_ns": ("seconds from the opening to the end", 1e9),
    "all_new_ns": ("seconds from the first handoff until the new packets are acknowledged", 1e9),
    "first_new_ns": ("seconds from the first handoff until a new packet is acknowledged", 1e9),
    "goodput_bps": ("goodput in Mbit/s", 1e6),
    "stall_ns": ("seconds of the longest time without progress", 1e9),
    "delivered_ns": ("seconds from the opening until all data had arrived", 1e9),
    "acked_ahead": ("segments acknowledged that had not arrived, at most at once", 1.0),
    "acked_missing": ("segments acknowledged that never arrived", 1.0),
    "timeouts": ("timeouts", 1.0),
    "spurious_timeouts": ("spurious timeouts", 1.0),
    "rexmits": ("retransmissions", 1.0),
    "drops_queue": ("packets lost to a full queue", 1.0),
    "drops_early": ("packets dropped early by a queue", 1.0),
    "node_sent": ("segments sent by nodes on the path", 1.0),
    "node_kept": ("segments and ACKs kept back by nodes on the path", 1.0),
    "marks": ("packets marked by a queue", 1.0),
    **{
        name: (f"the {one.words} of alike flows, in seconds", 1e9)
        for name, one in PERCENTILES.items()
    },
    **_of_workloads(),
}


class Tails(NamedTuple):
    """The 5th and the 95th percentile, in the unit of the values."""

    p5: float
    p95: float


@dataclass
class Group:
    """The runs of one flow with the same values of some axes."""

    flow: str
    values: tuple[str, ...]
    #: Values of the metric by the other variables of the runs; missing ones are nan.
    runs: dict[tuple[str, ...], float] = field(default_factory=dict)
    #: Runs in which the flow was done before the handoff; they do not measure it.
    early: set[tuple[str, ...]] = field(default_factory=set)
    #: Whether runs differ at random, and the indices of the independent samples: seed and number of
    #: the run, or, if nothing is random, the values of the other axes.
    by_chance: bool = False
    sample: tuple[int, ...] = ()

    #: Whether that holds for all runs of all groups, so that tables have them.
    is_all_early: bool = False

    @property
    def counted(self) -> Mapping[tuple[str, ...], float]:
        """The runs that tables and figures are made of, without the early ones."""
        if self.is_all_early or not self.early:
            return self.runs
        return {key: value for key, value in self.runs.items() if key not in self.early}

    def tails(self) -> Tails:
        """The values that 5 % are below and above; a missing value is slower than every other."""
        values = list(self.counted.values())
        return Tails(quantile(values, 0.05), quantile(values, 0.95))

    def quartiles(self) -> Quartiles:
        """Quartiles of the metric; a missing value is slower than every other."""
        return quartiles(list(self.counted.values()))

    def missing(self) -> int:
        """The number of runs without a value."""
        return int(np.isnan(list(self.counted.values())).sum())


@dataclass(frozen=True)
class Comparison:
    """One value of the compared axis against the first one, for one flow and values of others."""

    flow: str
    values: tuple[str, ...]
    value: str
    baseline: str
    pairs: int
    #: Pairs that are left out: a run has no value, or a flow was done before the handoff.
    left_out: int
    #: Of the pairs in which a run has no value those in which it is that of the value, and of the
    #: baseline; both, in some.
    value_missing: int
    baseline_missing: int
    done_before: int
    #: The samples of the intervals, and their number: runs, or, where runs do not differ in random
    #: numbers, values of the other axes. The pairs of each are averaged first.
    over: Literal["runs", "axes"]
    samples: int
    #: Mean difference, value minus baseline, and half the width of its 95 % confidence interval.
    difference: float
    half_width: float
    #: Ratio of the means minus one, with its 95 % confidence interval.
    ratio: float
    ratio_low: float
    ratio_high: float
    #: Samples in which the value is lower, and higher, in more pairs, if a missing value is higher
    #: than every other. They are in no file.
    lower: int = 0
    higher: int = 0
    #: Of samples that are values of other axes: these, and the means of both sides. In no file.
    each: Sequence[tuple[tuple[str, ...], float, float]] = ()

    @property
    def ended_side(self) -> int:
        """Of a time, where in some pairs one of the two runs did not finish: 1 or -1 if the value
        is higher or lower by a sign test over the samples that differ, else 0.
        """
        if self.value_missing == self.baseline_missing == self.left_out:
            return 0
        return is_no_chance(self.higher, self.lower) - is_no_chance(self.lower, self.higher)

    @property
    def is_of_zero(self) -> bool:
        """Whether there is a difference but no ratio, as the mean of the baseline is 0."""
        return bool(np.isfinite(self.difference) and not np.isfinite(self.ratio))

    @property
    def is_endless(self) -> bool:
        """Whether there is a difference but no ratio with an interval that has ends, as the mean of
        the baseline is 0 or may be.
        """
        return self.is_of_zero or bool(np.isinf(self.ratio_low))

    @property
    def may_lose_all(self) -> bool:
        """Whether the interval of the ratio reaches -100 %, but not the ratio."""
        return bool(self.ratio_low <= -1.0 < self.ratio)

    @property
    def is_negligible(self) -> bool:
        """Whether the change is so small that it is called none."""
        small = is_negligible(self.ratio, self.ratio_low, self.ratio_high)
        return small and not self.is_hint

    @property
    def is_hint(self) -> bool:
        """Whether it is of too few runs or pairs to say anything (`is_hint`)."""
        return is_hint(self.over, self.samples, self.pairs, self.left_out)

    @property
    def is_same(self) -> bool:
        """Whether all samples, pairs or their means, are the same, so that there is no interval."""
        ends = self.ratio_low, self.ratio_high
        return self.samples > 1 and has_no_spread(self.difference, self.half_width, *ends)

    @property
    def is_averaged(self) -> bool:
        """Whether samples are means of several pairs."""
        return are_averaged(self.over, self.samples, self.pairs)

    @property
    def side(self) -> int:
        """1 or -1 for a change whose whole interval is above or below 0, else 0, as without one.

        Where the ratio's interval has no ends, that of the difference tells it.
        """
        if self.is_same or self.is_hint:
            return 0
        low, high = self.ratio_low, self.ratio_high
        if self.is_endless:
            low, high = self.difference - self.half_width, self.difference + self.half_width
        return int(low > 0) - int(high < 0)


#: Percentages are given unless this share of them, or more, have no interval with ends.
_MANY_UNFIT = 0.5


def have_no_percentage(unfit: Iterable[bool]) -> bool:
    """Return whether changes are no percentages, if these say which ones have none, or one whose
    interval has no end or reaches -100 %: as one mean may be 0, others still have some.
    """
    each = [*unfit]
    return bool(each) and sum(each) >= _MANY_UNFIT * len(each)


#: Changes that are known to be less than this share of the baseline are called none, and how.
LEAST_CHANGE, LEAST_WORDS = 0.001, "|change| < 0.1 %"


def is_negligible(ratio: float, low: float, high: float) -> bool:
    """Return whether a relative change is so small that it is called none: it is clear, or has no
    interval, or one that ends below that size on both sides. Of an unclear one that is not known.
    """
    if not abs(ratio) < LEAST_CHANGE:
        return False
    is_unclear = low <= 0 <= high
    return not is_unclear or max(-low, high) < LEAST_CHANGE


#: A sign test is clear if chance does as much in fewer than one of so many cases.
_CASES = 20


def is_no_chance(more: int, less: int) -> bool:
    """Return whether a two-sided sign test rules out chance, if one side has so many `more`."""
    if more <= less:
        return False
    # Whole numbers, as those of many pairs are too large for others.
    count, term, tail = more + less, 1, 1
    for one in range(less):
        term = term * (count - one) // (one + 1)
        tail += term
    return 2 * tail * _CASES < 1 << count


def is_hint(over: str, samples: int, pairs: int, left_out: int) -> bool:
    """Return whether a change is no evidence, in sentences and in figures: it is of one run of
    several that differ at random, so that it has no interval, or of fewer pairs than are left out
    since a run has no value, which are seldom like the others.
    """
    return pairs > 0 and ((over == "runs" and samples == 1) or pairs < left_out)


def are_averaged(over: str, samples: int, pairs: int) -> bool:
    """Return whether the samples of a comparison are runs, each of them the mean of several pairs.

    If these means are the same, the pairs need not be. Pairs of runs that do not differ in their
    random numbers are the same.
    """
    return over == "runs" and pairs > samples


def same_words(*, averaged: bool) -> str:
    """Return why changes have no interval: all samples of each are the same."""
    return "all runs have the same means" if averaged else "all pairs are the same"


def why_same(same: Iterable[Comparison]) -> str:
    """Return why these comparisons have no interval."""
    return same_words(averaged=any(one.is_averaged for one in same))


def has_no_spread(difference: float, half_width: float, low: float, high: float) -> bool:
    """Return whether the widths of the intervals of a mean difference and of a ratio, which may
    have none, are 0 but for rounding.
    """
    has_ratio = bool(np.isfinite(low) and np.isfinite(high))
    return half_width <= 1e-9 * abs(difference) and not (has_ratio and high - low > 1e-6)


def check_has_tables(folder: Path, *others: str) -> None:
    """Raise `MidflightError` for the folder of a sweep whose cells are not all run: it has neither
    flows.csv nor one of the `others`.
    """
    if not any((folder / name).is_file() for name in ("flows.csv", *others)):
        raise refusal(
            f'"{folder}" has no tables yet; `midflight sweep` makes them when all cells are run',
            name="folder",
            value=folder,
            accepted="the folder of a sweep with flows.csv",
        )


def read_flows(folder: Path, phase: int | None = None) -> Iterator[dict[str, str]]:
    """Yield the rows of a sweep's flows, with the times after a handoff or change.

    The columns are those of `flows.csv`, and `first_new_ns` and `all_new_ns` of the phase of that
    number, from 1, or without one of the phase after the first handoff; "" is a missing value.
    Raises `OSError` for a folder without the tables.
    """
    column, wanted = ("kind", "handoff") if phase is None else ("phase", str(phase))
    with (
        (folder / "flows.csv").open(newline="", encoding="utf-8") as flows,
        (folder / "phases.csv").open(newline="", encoding="utf-8") as phases,
    ):
        # Both are in the order of cells, runs and flows.
        by_flow = groupby(csv.DictReader(phases), key=itemgetter("cell", "run", "flow"))
        for row, (_, its_phases) in zip(csv.DictReader(flows), by_flow, strict=True):
            after = next((one for one in its_phases if one[column] == wanted), {})
            row = {name: plain_text(cell) for name, cell in row.items()}
            for name in ("first_new_ns", "all_new_ns"):
                row[name] = after.get(name, "")
            yield row


def groups(
    rows: Iterator[dict[str, str]],
    axes: Sequence[str],
    by: Sequence[str],
    metric: str,
    is_early: Callable[[Mapping[str, str]], bool] | None = None,
) -> list[Group]:
    """Return the mobile node's flows grouped by these axes, in the order of the table.

    `rows` are those of `read_flows`, `axes` all axes of the sweep, `by` the axes that are
    separated, and `metric` is a column; the values have its unit. It may be a percentile over the
    flows of an entry (`midflight.percentiles`), which are then one flow with the entry's name.
    `is_early` returns whether the flow of a row was done before the handoff.
    """
    found: dict[tuple[str, ...], Group] = {}
    rest = [axis for axis in axes if axis not in by]
    workload = WORKLOAD_OF.get(metric)
    chance = Chance(axes)
    for row in percentile_rows(rows, metric) if metric in PERCENTILES else rows:
        # A flow of requests has no result of its own.
        if row["moves"] != "1" or is_requests(row):
            continue
        if workload and (row.get("workload") != workload or is_further_connection(row)):
            continue
        values = tuple(row[axis] for axis in by)
        group = found.setdefault((row["flow"], *values), Group(row["flow"], values))
        place = (*(row[axis] for axis in rest), row["run"])
        group.runs[place] = float(row[metric] or "nan")
        if is_early is not None and is_early(row):
            group.early.add(place)
        chance.note(row)
    is_all_early = all(len(group.early) == len(group.runs) for group in found.values())
    for group in found.values():
        group.is_all_early = is_all_early
        group.by_chance = chance.is_there
        group.sample = sample_places(rest, by_chance=chance.is_there)
    return list(found.values())


def regrouped(
    grouped: Sequence[Group], axes: Sequence[str], was: Sequence[str], by: Sequence[str]
) -> list[Group]:
    """Return groups by the axes `was` as groups by other axes, of all the `axes` of a sweep."""
    rest, others = ([key for key in axes if key not in some] for some in (was, by))
    found: dict[tuple[str, ...], Group] = {}
    sample = {one: sample_places(others, by_chance=one) for one in (False, True)}
    for group in grouped:
        own = dict(zip(was, group.values, strict=True))
        for key, value in group.runs.items():
            of = {**own, **dict(zip(rest, key, strict=False))}
            values = tuple(of[axis] for axis in by)
            place = (group.flow, *values)
            if (into := found.get(place)) is None:
                new: Any = {"runs": {}, "early": set(), "sample": sample[group.by_chance]}
                into = found[place] = replace(group, values=values, **new)
            run = (*(of[axis] for axis in others), key[-1])
            into.runs[run] = value
            if key in group.early:
                into.early.add(run)
    return list(found.values())


def sample_places(rest: Sequence[str], *, by_chance: bool) -> tuple[int, ...]:
    """Return the places in `(*rest, run)` of what tells independent samples apart.

    `rest` are the axes that are pooled. If runs differ `by_chance`, samples are runs: the seed and
    the number of the run. Otherwise they are the values of the other axes.
    """
    drawn_by = {*(i for i, axis in enumerate(rest) if axis == SEED), len(rest)}
    return tuple(i for i in range(len(rest) + 1) if (i in drawn_by) == by_chance)


class Chance:
    """Whether there are runs that differ only in their random numbers."""

    def __init__(self, axes: Sequence[str]) -> None:
        self.axes = [axis for axis in axes if axis != SEED]
        self.first: dict[tuple[str, ...], Hashable] = {}
        self.is_there = False

    def note(self, row: Mapping[str, str]) -> None:
        """Note a row of a run; without a digest all its columns tell whether it differs."""
        if self.is_there:
            return
        same = tuple(row[axis] for axis in self.axes)
        what: Hashable = row.get("digest")
        if what is None:
            same = (*same, row.get("flow", ""), row.get("phase", ""))
            what = tuple(cell for name, cell in row.items() if name not in _NUMBERS)
        self.is_there = self.first.setdefault(same, what) != what


#: Columns that number the runs.
_NUMBERS = ("cell", "run", SEED)


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
        pairs = {
            key: (value, against.runs[key])
            for key, value in group.runs.items()
            if key in against.runs
        }
        early = group.early | against.early
        met = {key: pair for key, pair in pairs.items() if key not in early}
        whole = {key: pair for key, pair in met.items() if all(map(math.isfinite, pair))}
        sides = ~np.isfinite(np.array([*met.values()], dtype=float)).reshape(-1, 2)
        value_missing, baseline_missing = sides.sum(axis=0).tolist()
        samples = {key: tuple(key[i] for i in group.sample) for key in met}
        signs: dict[tuple[str, ...], int] = {}
        for key, pair in met.items():
            mine_ends, other_ends = (one if math.isfinite(one) else math.inf for one in pair)
            sign = (mine_ends > other_ends) - (mine_ends < other_ends)
            signs[samples[key]] = signs.get(samples[key], 0) + sign
        keyed = [(samples[key], pair) for key, pair in whole.items()]
        mine, theirs = unit_means(keyed).reshape(-1, 2).T
        difference = difference_ci(mine, theirs)
        ratio = ratio_ci(mine, theirs)
        found.append(
            Comparison(
                flow=group.flow,
                values=others,
                value=group.values[place],
                baseline=baseline,
                pairs=len(whole),
                left_out=len(met) - len(whole),
                value_missing=value_missing,
                baseline_missing=baseline_missing,
                done_before=len(pairs) - len(met),
                over="runs" if group.by_chance else "axes",
                samples=mine.size,
                difference=difference.mean,
                half_width=difference.half_width,
                ratio=ratio.value,
                ratio_low=ratio.low,
                ratio_high=ratio.high,
                lower=sum(one < 0 for one in signs.values()),
                higher=sum(one > 0 for one in signs.values()),
                each=()
                if group.by_chance
                else [*zip(dict(keyed), mine.tolist(), theirs.tolist(), strict=True)],
            )
        )
    return found


def unit_means(
    keyed: Iterable[tuple[Hashable, float | tuple[float, float]]],
) -> NDArray[np.float64]:
    """Return the mean of the values, or of both sides of the pairs, of each independent sample,
    which the keys identify.
    """
    units: dict[Hashable, list[float | tuple[float, float]]] = {}
    for key, value in keyed:
        units.setdefault(key, []).append(value)
    # The mean of one is itself, and most have one.
    means = (one[0] if len(one) == 1 else np.mean(one, axis=0) for one in units.values())
    return np.array([*means], dtype=float)


def main_metrics(rows: Iterator[dict[str, str]]) -> list[str]:
    """Return the main metric of each kind of flow of the mobile node; the first is the default.

    Kinds are the workloads, in the order of the table, and then bulk transfers: durations where a
    flow has them, else goodput.
    """
    workloads: dict[str, None] = {}
    has_bulk = has_durations = False
    for row in rows:
        if row["moves"] != "1" or is_requests(row):
            continue
        if row.get("workload"):
            workloads[row["workload"]] = None
            continue
        has_bulk = True
        has_durations = has_durations or bool(row["duration_ns"])
        if has_durations and "workload" not in row:
            break
    found = [_MAIN.get(name) or measures_of(name)[0]["name"] for name in workloads]
    if has_bulk or not found:
        found.append("duration_ns" if has_durations else "goodput_bps")
    return found
