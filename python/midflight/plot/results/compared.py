"""The columns of a comparison in figures of results: a change against a baseline, or a difference,
and its interval.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.names import column_name, with_unit
from midflight.plot.results.axis import shown_number
from midflight.plot.results.places import change_unit, spaced, unit_of
from midflight.plot.results.rows import done_early_in, is_early_pair, text_of
from midflight.plot.results.scales import WIDE
from midflight.plot.results.tables import CHANGES, Columns
from midflight.plot.results.unfinished import unfinished_words
from midflight.refusal import refusal
from midflight.sweep_results import (
    LEAST_CHANGE,
    LEAST_WORDS,
    METRICS,
    are_averaged,
    has_no_spread,
    have_no_percentage,
    is_hint,
    is_negligible,
)
from midflight.sweep_results import same_words as why_same

if TYPE_CHECKING:
    from midflight.sweep_words import Size

__all__ = [
    "EMPTY_MARKS",
    "HINT",
    "MEANS",
    "PALE",
    "UNSURE",
    "are_legible",
    "check_is_one",
    "counts_of",
    "empty_mark",
    "empty_words",
    "ends_of",
    "from_zero",
    "from_zero_words",
    "has_changes",
    "has_ends",
    "has_intervals",
    "is_both_zero",
    "is_compared",
    "is_curve",
    "is_hint_of",
    "is_number",
    "is_same",
    "is_small",
    "is_unsure",
    "left_out_words",
    "measured_of",
    "over_of",
    "same_words",
    "small_words",
    "usual_change",
    "usual_ends",
    "why_empty",
    "why_no_change",
]

_RATIO, _DIFFERENCE = CHANGES
#: Columns of a comparison that are an interval already: those of its ends, or of half its width.
_ENDS: Mapping[str, Sequence[str]] = {
    "ratio": ("ratio_low", "ratio_high"),
    "difference": ("half_width",),
}
#: What they are, above the figure.
MEANS: Mapping[str, str] = {"ratio": "change of the mean", "difference": "mean difference"}
#: What a cell of a map has whose interval contains 0, or that has none beside others.
UNSURE = "95 % interval contains 0"
#: What a cell has whose change is of too few runs or pairs.
HINT = "of one run, or of fewer pairs than are left out"
#: What such a point of a line is.
PALE = f"pale: {HINT}"
#: The marks of places of a line without pairs: beyond the upper or the lower edge of the axes, as
#: only the value or only the baseline never finished, or that nothing is known.
EMPTY_MARKS: Mapping[str, str] = {
    "up": "arrows up",
    "down": "arrows down",
    "none": "\N{MULTIPLICATION SIGN}",
}
#: Intervals that are wider than the upper quartile of all by so many times the distance of the
#: quartiles have no say in the ends of the axis, if they are no more than this share of them.
_FAR, _FAR_SHARE = 3.0, 0.15
#: An axis that shows all of them is then so many times as long, or does show them.
_WORTH = 2.0
#: So do, however many they are, those that are wider by this factor than the extent of the means
#: and than the lower quartile of all, if an axis that shows them hides the others (`WIDE`).
_FAR_FACTOR = 4.0
#: The runs without a value on each side of the pairs.
_SIDES = ("value_missing", "baseline_missing")
#: Lines and places are named up to this number.
_MOST_NAMED = 4
#: With fewer intervals none is far from the others.
_LEAST_INTERVALS = 4
#: The shares of changes below and up to the ends of most of them.
_MOST_CHANGES = (0.1, 0.9)
#: What tells comparisons apart that have nothing to do with each other.
_APART = ("flow", "metric", "value")


def is_compared(columns: Columns, value: str) -> bool:
    """Whether a column is a change or a difference of a comparison."""
    return value in _ENDS and {"metric", "baseline"} <= {*columns}


def has_ends(columns: Columns, value: str) -> bool:
    """Whether a column has intervals of its own."""
    return value in _ENDS and {*_ENDS[value]} <= {*columns}


def usual_change(columns: Columns) -> str:
    """Return the change that figures show: in per cent, or in the unit of the metric if most
    percentages have no interval with ends above -100 %, as where a mean may be 0.
    """
    if not all(one in columns and has_ends(columns, one) for one in CHANGES):
        return _RATIO
    known = [row for row, one in enumerate(columns[_DIFFERENCE]) if is_number(one)]
    # Beside percentages a place where both are 0 needs none.
    known = [row for row in known if not is_both_zero(columns, row)] or known
    is_unfit = have_no_percentage(
        _is_endless(columns, row) or _may_lose_all(columns, row) for row in known
    )
    return _DIFFERENCE if is_unfit else _RATIO


def has_changes(columns: Columns) -> bool:
    """Whether a comparison has what figures show, and any change."""
    needed = {*CHANGES, "samples", "metric", "value", "flow"}
    return needed <= {*columns} and any(is_number(cell) for one in CHANGES for cell in columns[one])


def has_intervals(columns: Columns) -> bool:
    """Whether it has that, and any interval."""
    return has_changes(columns) and any(
        int(samples) > 1
        and any(is_number(columns[one][row]) for one in CHANGES)
        and not is_same(columns, row)
        for row, samples in enumerate(columns["samples"])
    )


def are_legible(columns: Columns) -> bool:
    """Whether the changes of a comparison are seen beside their intervals: more than two thirds of
    these have ends, and are not wider than most changes are apart.
    """
    value = usual_change(columns)
    rows = [row for row, one in enumerate(columns[value]) if is_number(one)]
    if not rows or not has_ends(columns, value):
        return True
    changes = np.array([float(columns[value][row]) for row in rows])
    ends = np.array([ends_of(columns, row, value, 1.0) for row in rows])
    widths = ends[~np.isnan(ends).any(axis=1)] @ np.array([-1.0, 1.0])
    low, high = np.quantile(np.append(changes, 0.0), _MOST_CHANGES)
    return bool(3 * (widths > high - low).sum() < max(1, widths.size))


def is_curve(columns: Columns) -> bool:
    """Whether changes at each of several instants are lines that say more than one change over all
    of these: they are not hidden by their intervals.
    """
    return not has_intervals(columns) or are_legible(columns)


def same_words(columns: Columns, rows: Sequence[int], value: str) -> str:
    """Return that some of these comparisons have no change, as both means are 0, or no interval, as
    all samples are the same, or one without a width; "" if all have some width.
    """
    zero = [row for row in rows if is_both_zero(columns, row)]
    same = [row for row in rows if is_same(columns, row) and row not in zero]
    alike = [row for row in rows if value == _DIFFERENCE and _is_of_no_width(columns, row)]
    each = []
    if zero:
        what = "no change" if value == _DIFFERENCE else "no percentage"
        each.append(f"{what}{':' if len(zero) == len(rows) else ' where'} both are 0")
    if value == _RATIO and (words := _differences_from_0(columns, rows)):
        each.append(words)
    if same:
        why = why_same(averaged=any(_is_averaged(columns, row) for row in same))
        each.append(f"no interval where {why}")
    if alike := [row for row in alike if row not in same and row not in zero]:
        are_means = any(_is_averaged(columns, row) for row in alike)
        why = (
            "all runs have the same mean difference"
            if are_means
            else "all pairs differ by the same"
        )
        each.append(f"intervals of zero width where {why}")
    return "; ".join(each)


def _differences_from_0(columns: Columns, rows: Sequence[int]) -> str:
    """Where there is no percentage, as the mean of the baseline is 0, and how large the differences
    are there, from the least to the largest of each value; "" if there are none.
    """
    found: dict[str, list[float]] = {}
    for row in rows:
        (difference,) = _numbers(columns, row, (_DIFFERENCE,))
        if difference and math.isfinite(difference) and not is_number(columns[_RATIO][row]):
            found.setdefault(text_of(columns["value"][row]), []).append(difference)
    if not found:
        return ""
    size, named = _size_of(columns, rows[0]), []
    for name, each in found.items():
        ends = (size.text(size.scale * one, signed=True) for one in (min(each), max(each)))
        named.append(f"{spaced(name)} {' to '.join(dict.fromkeys(ends))} {size.unit}".rstrip())
    baseline = text_of(columns["baseline"][rows[0]])
    return f"no percentage where {baseline} is 0: {', '.join(named)} there"


def is_both_zero(columns: Columns, row: int) -> bool:
    """Whether a comparison is of two means of 0, which have no difference and no ratio."""
    (difference,) = _numbers(columns, row, (_DIFFERENCE,))
    return difference == 0 and _RATIO in columns and not is_number(columns[_RATIO][row])


def _is_averaged(columns: Columns, row: int) -> bool:
    """Whether the samples of a comparison are means of several pairs."""
    over = str(columns["over"][row]) if "over" in columns else ""
    return are_averaged(over, *counts_of(columns, row))


def _is_of_no_width(columns: Columns, row: int) -> bool:
    """Whether all samples of a comparison differ by the same."""
    difference, half_width = _numbers(columns, row, (_DIFFERENCE, "half_width"))
    return has_no_spread(difference, half_width, math.nan, math.nan)


def _numbers(columns: Columns, row: int, names: Sequence[str]) -> list[float]:
    """The numbers in some columns, nan where there is none."""
    cells: list[Any] = [columns[name][row] if name in columns else None for name in names]
    return [float(one) if is_number(one) else math.nan for one in cells]


def is_small(columns: Columns, row: int) -> bool:
    """Whether a change is so small that it is called none."""
    ratio, low, high = _numbers(columns, row, (_RATIO, *_ENDS[_RATIO]))
    # One of 0 says itself that it is none.
    return ratio != 0 and is_negligible(ratio, low, high) and not is_hint_of(columns, row)


def small_words(columns: Columns, row: int, value: str) -> str:
    """What such changes are, of percentages and of differences, which have another unit."""
    if value == _RATIO:
        return LEAST_WORDS
    return f"|difference| < {100 * LEAST_CHANGE:g} % of {text_of(columns['baseline'][row])}"


def is_hint_of(columns: Columns, row: int) -> bool:
    """Whether a change is of too few runs or pairs to say anything."""
    if not {"over", "left_out"} <= {*columns}:
        return False
    over, left_out = str(columns["over"][row]), int(columns["left_out"][row] or 0)
    return is_hint(over, *counts_of(columns, row), left_out)


def _is_endless(columns: Columns, row: int) -> bool:
    """Whether a change has no percentage, or one whose interval has no ends."""
    if not is_number(columns[_RATIO][row]):
        return True
    ends = (columns[one][row] for one in _ENDS[_RATIO])
    return any(one not in (None, "") and math.isinf(float(one)) for one in ends)


def _may_lose_all(columns: Columns, row: int) -> bool:
    """Whether the interval of a percentage reaches -100 %, but not the percentage."""
    ratio, low = (columns[one][row] for one in (_RATIO, _ENDS[_RATIO][0]))
    known = is_number(ratio) and is_number(low) and _is_positive(columns, row)
    return known and float(low) <= -1.0 < float(ratio)


def _is_positive(columns: Columns, row: int) -> bool:
    """Whether what is compared cannot be negative, as all that is measured."""
    metric = str(columns["metric"][row])
    return metric in METRICS or metric.endswith("_ns")


def is_number(value: Any) -> bool:
    """Whether a cell of a table has a finite number."""
    return value not in (None, "") and math.isfinite(float(value))


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
                f"a cell has the comparisons of {', '.join(found)} ({name}): keep one with "
                f"--where {name}={found[0]}, or add --by {name}, which gives each a map",
                name="--where",
                value=None,
                accepted=f"one {name}",
            )


def _end(value: Any, name: str) -> float:
    if value not in (None, "") and math.isinf(float(value)):
        return float(value)
    return shown_number(value, name)


def ends_of(columns: Columns, row: int, value: str, scale: float) -> tuple[float, float]:
    """The ends of the interval of a comparison; infinite ones of an interval without ends, and nan
    without an interval.
    """
    if is_same(columns, row):
        return math.nan, math.nan
    first, *others = (scale * _end(columns[one][row], one) for one in _ENDS[value])
    if others:
        # No time and no count falls by more than all of it.
        has_least = math.isfinite(first) and _is_positive(columns, row)
        return max(first, -scale) if has_least else first, others[0]
    middle = scale * shown_number(columns[value][row], value)
    return middle - first, middle + first


def counts_of(columns: Columns, row: int) -> tuple[int, int]:
    """The samples and the pairs of a comparison; 0 where the table does not have them."""
    samples, pairs = (columns[one][row] if one in columns else 0 for one in ("samples", "pairs"))
    return int(samples), int(pairs)


def is_same(columns: Columns, row: int) -> bool:
    """Whether all samples of a comparison are the same, as where nothing is random, so that there
    is no interval.
    """
    names = (_DIFFERENCE, "half_width", *_ENDS[_RATIO])
    if not {"samples", *names} <= {*columns} or int(columns["samples"][row]) < 2:
        return False
    difference, half_width, low, high = _numbers(columns, row, names)
    return has_no_spread(difference, half_width, low, high)


def is_unsure(columns: Columns, row: int, value: str) -> bool:
    """Whether the interval of a change contains 0, or there is none, or it is of too few runs or
    pairs, so that it shows no change.

    Where the change in per cent has no ends, that of the difference tells it. Of samples that are
    all the same the change is sure without one.
    """
    if is_hint_of(columns, row):
        return True
    if is_same(columns, row):
        return False
    if value == _RATIO and _is_endless(columns, row) and has_ends(columns, _DIFFERENCE):
        value = _DIFFERENCE
    low, high = ends_of(columns, row, value, 1.0)
    return not (low > 0 or high < 0)


def usual_ends(
    means: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float] | None:
    """Return the ends of the means, and of the intervals but those that are far wider than the
    others; None if none is, or if an axis that shows these is little longer.

    They are a few, or all of those beside which means and other intervals would not be seen.
    """
    sure = [one for one in intervals if all(map(math.isfinite, one))]
    known = [0.0, *filter(math.isfinite, means)]
    widths = np.array([high - low for low, high in sure])
    chosen = (
        (_are_hiding(widths, max(known) - min(known)), WIDE),
        (_are_few_and_far(widths), _WORTH),
    )
    for far, worth in chosen:
        usual = [one for one, is_far in zip(sure, far, strict=True) if not is_far]
        each = [*known, *(end for one in usual for end in one)]
        every = [*each, *(end for one in sure for end in one)]
        if far.any() and max(every) - min(every) >= worth * (max(each) - min(each)) > 0:
            return min(each), max(each)
    return None


def _are_hiding(widths: NDArray[np.float64], extent: float) -> NDArray[np.bool_]:
    """Which intervals are far wider than the extent of the means and many others."""
    # Values that never change say nothing of the others.
    above = widths[widths > 0]
    usual = float(np.quantile(above, 0.25, method="lower")) if above.size else 0.0
    return np.greater(widths, _FAR_FACTOR * max(extent, usual))


def _are_few_and_far(widths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which intervals are so few and so much wider than the upper quartile that they are no
    measure of the others.
    """
    if len(widths) < _LEAST_INTERVALS:
        return np.zeros(widths.shape, np.bool_)
    first, third = np.quantile(widths, [0.25, 0.75])
    far = widths > third + _FAR * (third - first)
    is_few = far.sum() <= max(1.0, _FAR_SHARE * len(widths))
    return far if is_few else np.zeros(widths.shape, np.bool_)


def why_empty(columns: Columns, row: int) -> str:
    """Why a comparison has no pairs; "" if it has some, or the table does not say it."""
    if "pairs" not in columns or int(columns["pairs"][row]):
        return ""
    left_out, early = (_count(columns, one, row) for one in ("left_out", "done_before"))
    if not left_out:
        return f"a flow was {done_early_in(columns, str(columns['metric'][row]))}" if early else ""
    baseline = columns["baseline"][row]
    sides = [_count(columns, one, row) == left_out for one in _SIDES]
    is_time = _is_time(columns, row)
    more = f" or was {done_early_in(columns, str(columns['metric'][row]))}" if early else ""
    if all(sides) and not early:
        return f"neither {baseline} nor the other one {'finished' if is_time else 'has a value'}"
    who = f"{baseline} or the other one"
    if sides[1] and not early:
        who = f"{baseline}"
    elif sides[0] and not early:
        who = f"what is compared with {baseline}"
    return f"{who} {'did not finish' if is_time else 'has no value'}{more}"


def empty_mark(columns: Columns, row: int) -> str:
    """Return how a line shows that a comparison has no pairs (`EMPTY_MARKS`): a time that only runs
    of one side have is shorter than those of the other side; "" if it has some.
    """
    if not why_empty(columns, row):
        return ""
    left_out = _count(columns, "left_out", row)
    value, baseline = (left_out == _count(columns, one, row) > 0 for one in _SIDES)
    is_early = _count(columns, "done_before", row) > 0
    if value == baseline or is_early or not _is_time(columns, row):
        return "none"
    return "up" if value else "down"


def why_no_change(columns: Columns, row: int) -> str:
    """Why a cell of a map has no change: it has no pairs (`why_empty`); "" if it has some, or the
    table does not say it.
    """
    why = why_empty(columns, row)
    return f"no pairs, as {why}" if why else ""


def from_zero(columns: Columns, row: int, value: str) -> tuple[float, str] | None:
    """Return the size of a change from a mean of 0, which has no percentage, and what a cell of a
    map says of it: the two means, or 0 if both are; None of other changes.
    """
    if value != _RATIO or why_empty(columns, row) or is_number(columns[_RATIO][row]):
        return None
    (difference,) = _numbers(columns, row, (_DIFFERENCE,))
    if math.isnan(difference):
        return None
    if difference == 0:
        return 0.0, "0"
    size = _size_of(columns, row)
    return difference, f"0\N{RIGHTWARDS ARROW}{size.text(size.scale * difference)}"


def _size_of(columns: Columns, row: int) -> Size:
    """The size of differences of a comparison."""
    from midflight.sweep_words import Size

    return Size(*change_unit(str(columns["metric"][row])))


def from_zero_words(columns: Columns, rows: Sequence[int], value: str) -> str:
    """What such cells are (`from_zero`), and in which unit; "" if there are none."""
    found = [from_zero(columns, row, value) for row in rows]
    if not any(one and one[0] for one in found):
        return ""
    unit, _ = change_unit(str(columns["metric"][rows[0]]))
    baseline = text_of(columns["baseline"][rows[0]])
    size = f"0\N{RIGHTWARDS ARROW}n {unit}".rstrip()
    return f"{size}: no percentage, as {spaced(baseline)} is 0 there"


def _count(columns: Columns, name: str, row: int) -> int:
    """The number in a column of counts, 0 without it."""
    return int(columns[name][row] or 0) if name in columns else 0


def _is_time(columns: Columns, row: int) -> bool:
    """Whether a comparison is of times, which runs that do not finish lack."""
    return str(columns["metric"][row]).endswith("_ns")


def left_out_words(columns: Columns, rows: Sequence[int], *, most_named: int = _MOST_NAMED) -> str:
    """Which runs are the reason why comparisons lack pairs, together if they are of more than so
    many lines; "" if none does.
    """
    lost = [row for row in rows if _count(columns, "left_out", row)]
    words = []
    if lost and {*_SIDES} <= {*columns}:
        apart = list(columns)[: list(columns).index("metric")]
        runs: dict[str, dict[tuple[str, ...], int]] = {}
        for row in lost:
            place = tuple(text_of(columns[name][row]) for name in apart)
            for name, side in zip(("value", "baseline"), _SIDES, strict=True):
                # The runs of the baseline are those of each comparison with it.
                of = runs.setdefault(text_of(columns[name][row]), {})
                of[place] = max(of.get(place, 0), _count(columns, side, row))
        # The baseline first.
        first = text_of(columns["baseline"][lost[0]])
        named = sorted(runs, key=lambda name: name != first)
        counts = {spaced(name): sum(runs[name].values()) for name in named}
        if sum(map(bool, counts.values())) > most_named:
            counts = {"": sum(counts.values())}
        words.append(unfinished_words(counts, is_time=_is_time(columns, lost[0])))
    elif lost:
        pairs = sum(_count(columns, "left_out", row) for row in lost)
        words.append(f"{pairs} pair{'s' * (pairs > 1)} in which a run has no value")
    # Where all were, the marks say it.
    is_all = all(is_early_pair(columns, row) for row in rows)
    if early := 0 if is_all else sum(_count(columns, "done_before", row) for row in rows):
        words.append(f"{early} pairs {done_early_in(columns, str(columns['metric'][rows[0]]))}")
    return f"left out: {', '.join(words)}" if words else ""


def empty_words(
    columns: Columns, rows: Sequence[int], marks: Mapping[str, str] = EMPTY_MARKS
) -> str:
    """What the marks of places without pairs are, and why these have none; "" if all have some."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if why := why_empty(columns, row):
            mark, baseline = empty_mark(columns, row), columns["baseline"][row]
            # Of times it is known which side has none.
            short = {"up": f"only {baseline} finished", "down": f"{baseline} never finished"}
            why = short.get(mark, "neither finished" if why.startswith("neither") else why)
            found.setdefault(mark, []).append(why)
    each = [
        f"{marks[mark]} ({' or '.join(dict.fromkeys(found[mark]))})"
        for mark in marks
        if mark in found
    ]
    return f"no pairs: {', '.join(each)}" if each else ""


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
    unit, scale = change_unit(metric)
    words = f"difference of {alone} from" if alone else "difference from"
    return with_unit(f"{named}: {words} {baseline}", unit), unit, scale
