"""What each compared value of a sweep changes, in a table: at how many combinations it is better or
worse, by how much in all, and where it does most harm.

The counts are of the rows of the comparison, by the rule of the sentences (`sweep_words`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from midflight.listing import joined
from midflight.run_tables import csv_row
from midflight.sweep_results import SEED, compare, regrouped
from midflight.sweep_words import direction_of, is_by_end, is_no_other, is_time, size_of, told_side

if TYPE_CHECKING:
    from midflight.sweep_results import Comparison
    from midflight.sweep_summary import Summary
    from midflight.sweep_words import Size

__all__ = [
    "COLUMNS",
    "NO_CELL",
    "WHERE",
    "Effect",
    "effect_cells",
    "effect_columns",
    "effect_notes",
    "effect_rows",
    "effect_text",
    "effects_of",
]

#: The columns of the file, and of the table in Python.
COLUMNS = (
    *("flow", "metric", "compared", "value", "baseline", "combinations", "lower", "higher"),
    *("open", "same", "without_pairs", "runs", "finished", "pairs", "over", "samples"),
    *("difference", "half_width", "ratio", "ratio_low", "ratio_high", "gains", "harms", "points"),
    *("harm_at", "harm_difference", "harm_ratio", "harm_ratio_low", "harm_ratio_high"),
)
#: A cell without a number.
NO_CELL = "-"
#: The head of the last column, with the places of the largest harm.
WHERE = "where"


@dataclass(frozen=True)
class Effect:
    """What one value changes for one flow; the first one, the baseline, has only its runs."""

    flow: str
    value: str
    baseline: str
    #: The combinations of the other axes, and in how many it is which way.
    combinations: int = 0
    lower: int = 0
    higher: int = 0
    open: int = 0
    same: int = 0
    without_pairs: int = 0
    runs: int = 0
    finished: int = 0
    #: The change of the mean over all pairs of all combinations; None without any.
    mean: Comparison | None = None
    #: At how many combinations, with all axes but seeds apart, it is clearly better and worse, of
    #: how many, and where it is worse by most.
    gains: int = 0
    harms: int = 0
    points: int = 0
    harm: Comparison | None = None
    #: The axes that these combinations have values of.
    axes: tuple[str, ...] = ()

    @property
    def is_of_some(self) -> bool:
        """Whether the change of the mean is of pairs in which both runs have a value, while one of
        the two has one in more runs than the other, of which the mean says nothing.
        """
        mean = self.mean
        return mean is not None and mean.value_missing != mean.baseline_missing

    def harm_at(self, varied: Sequence[str]) -> list[tuple[str, str]]:
        """Where the largest harm is, by those of the axes that have several values."""
        values = () if self.harm is None else self.harm.values
        each = zip(self.axes, values, strict=False)
        return [(key, value) for key, value in each if key in varied]


def effects_of(summary: Summary) -> list[Effect]:
    """Return what each value changes, in the order of the axis, with the baseline first, for each
    flow; nothing without a comparison.
    """
    compare_by = summary.asked.compare
    if compare_by is None or not summary.compared:
        return []
    axes, order = list(summary.asked.axes), summary.asked.axes[compare_by]
    sign, is_end = direction_of(summary.metric).sign, is_time(summary.metric)

    def compared_by(by: list[str]) -> list[Comparison]:
        groups = regrouped(summary.grouped, axes, summary.by, by)
        return compare(groups, by, compare_by, order)

    # What is pooled hides harm that is at some of its values.
    apart = [key for key in axes if key in summary.by or key != SEED]
    wholes, points = compared_by([compare_by]), compared_by(apart)
    found = []
    for flow in dict.fromkeys(one.flow for one in summary.compared):
        ended = {one.value: one for one in summary.finished(flow)}
        values = {one.value for one in summary.compared if one.flow == flow}
        for value in order:
            if value not in values and value != order[0]:
                continue
            key = (flow, value)
            rows = [one for one in summary.compared if (one.flow, one.value) == key]
            sides = [told_side(one, is_end=is_end) for one in rows]
            known = [one.pairs > 0 or side != 0 for one, side in zip(rows, sides, strict=True)]
            same = [
                has and not side and is_no_other(one)
                for one, side, has in zip(rows, sides, known, strict=True)
            ]
            here = [one for one in points if (one.flow, one.value) == key]
            here = [one for one in here if one.pairs or told_side(one, is_end=is_end)]
            # Only of what has a direction something is better or harm.
            ways = [sign * told_side(one, is_end=is_end) for one in here]
            harms = [one for one, way in zip(here, ways, strict=True) if way < 0]
            done = ended.get(value)
            found.append(
                Effect(
                    flow,
                    value,
                    order[0],
                    combinations=len(rows),
                    lower=sides.count(-1),
                    higher=sides.count(1),
                    open=known.count(True) - sum(map(abs, sides)) - sum(same),
                    same=sum(same),
                    without_pairs=known.count(False),
                    runs=done.runs if done else 0,
                    finished=done.done if done else 0,
                    mean=next((w for w in wholes if (w.flow, w.value) == key and w.pairs), None),
                    gains=ways.count(1),
                    harms=len(harms),
                    points=len(here),
                    harm=max(harms, key=lambda one: -sign * _amount(one), default=None),
                    axes=tuple(axis for axis in apart if axis != compare_by),
                )
            )
    return found


def _amount(one: Comparison) -> float:
    """The size of a change; against a mean of 0, or a run that finished, it is more than any."""
    if _is_unfinished(one):
        return math.inf
    return one.ratio if math.isfinite(one.ratio) else math.copysign(math.inf, one.difference)


def _is_unfinished(harm: Comparison) -> bool:
    """Whether harm is that runs did not finish."""
    return told_side(harm, is_end=False) == 0


def effect_columns(summary: Summary) -> dict[str, list[Any]]:
    """Return the table as columns by their names, in the unit of the metric; None is no value."""
    rows = [*effect_rows(summary)]
    return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


def effect_text(summary: Summary) -> str:
    """Return the table as CSV."""
    text = io.StringIO()
    rows = (["" if cell is None else cell for cell in row] for row in effect_rows(summary))
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *map(csv_row, rows)])
    return text.getvalue()


def effect_rows(summary: Summary) -> Iterator[list[Any]]:
    """Yield the rows of the table, in the order of `COLUMNS`; None is no value."""
    varied = _varied(summary)

    def finite(one: Comparison | None, name: str) -> Any:
        value = None if one is None else getattr(one, name)
        return None if isinstance(value, float) and math.isnan(value) else value

    for one in summary.effects:
        at = "; ".join(f"{key}={value}" for key, value in one.harm_at(varied))
        of_mean = ("pairs", "over", "samples", "difference", "half_width")
        ratios = ("ratio", "ratio_low", "ratio_high")
        is_base = one.value == one.baseline
        counts = (one.combinations, one.lower, one.higher, one.open, one.same, one.without_pairs)
        yield [
            *(one.flow, summary.metric, str(summary.asked.compare), one.value, one.baseline),
            *((None,) * len(counts) if is_base else counts),
            *(one.runs, one.finished),
            *(finite(one.mean, name) for name in (*of_mean, *ratios)),
            *((None,) * 3 if is_base else (one.gains, one.harms, one.points)),
            at or None,
            *(finite(one.harm, name) for name in ("difference", *ratios)),
        ]


def _varied(summary: Summary) -> list[str]:
    return [key for key, values in summary.asked.axes.items() if len(values) > 1]


def effect_cells(
    summary: Summary,
    named: Callable[[str], str] | None = None,
    shown: Callable[[str], str] = str,
    unit: tuple[str, float] = ("", 1.0),
) -> list[list[str]]:
    """Return the head and a line for each value of the table that reports and the terminal show.

    `named` is what an axis is called, in plain words by default, `shown` a value, and `unit` that
    of differences, with its scale; they are in place of per cent where a mean is 0.
    """
    from midflight.plot.common.names import short_name, with_value

    named = named or short_name
    way, varied = direction_of(summary.metric), _varied(summary)
    every = summary.effects
    means = [one.mean for one in every if one.mean is not None]
    size = size_of([*summary.compared, *means], unit)
    lower_first = way.sign <= 0
    words = (way.lower, way.higher) if lower_first else (way.higher, way.lower)
    counts = [(one.lower, one.higher)[:: 1 if lower_first else -1] for one in every]
    has_flows = len({one.flow for one in every}) > 1
    has_same, has_none = (any(getattr(one, n) for one in every) for n in ("same", "without_pairs"))
    has_runs = any(one.finished < one.runs for one in every)
    several = max((one.combinations for one in every), default=0) > 1
    # Of a single combination without instants the change is all there is.
    has_harm = bool(way.sign) and max((one.points for one in every), default=0) > 1
    in_unit = f" ({size.unit})" if size.unit else ""
    head = [
        *(["flow"] if has_flows else []),
        named(str(summary.asked.compare)),
        *([*words, "open"] if several else []),
        *(["the same"] if several and has_same else []),
        *(["no pairs"] if several and has_none else []),
        f"mean change{in_unit}",
        "95 % interval",
        *(["finished" if summary.metric.endswith("_ns") else "with a value"] if has_runs else []),
        *(
            [*(f"{one} at" for one in _sides(summary)), f"worst{in_unit}", WHERE]
            if has_harm
            else []
        ),
    ]
    lines = [head]
    for one, sides in zip(every, counts, strict=True):
        is_base = one.value == one.baseline
        numbers = [*sides, one.open, *[one.same] * has_same, *[one.without_pairs] * has_none]
        texts = [NO_CELL if is_base else f"{number}" for number in numbers] if several else []
        at_points = [
            f"{n} of {one.points}" if one.points else NO_CELL for n in (one.gains, one.harms)
        ]
        worst = [NO_CELL] * 2
        if one.harm is not None:
            places = one.harm_at(varied)
            at = ", ".join(with_value(named(key), shown(value)) for key, value in places)
            worst = [_harm_text(one.harm, size, unit), at or NO_CELL]
        lines.append(
            [
                *([one.flow] if has_flows else []),
                shown(one.value) + (" (baseline)" if is_base else ""),
                *texts,
                *((NO_CELL, NO_CELL) if is_base else _mean_words(one, size)),
                *([f"{one.finished} of {one.runs}"] if has_runs else []),
                *([*at_points, *worst] if has_harm else []),
            ]
        )
    return lines


def _sized(one: Comparison, size: Size) -> str:
    """The size of a change with its sign; of no mean to relate it to a dash."""
    value = size.of(one)
    return size.text(value, signed=True) if math.isfinite(value) else NO_CELL


def _harm_text(one: Comparison, size: Size, unit: tuple[str, float]) -> str:
    """The size of harm; against a mean of 0 from that to what, in this unit with its scale."""
    if _is_unfinished(one):
        return "unfinished"
    if math.isfinite(size.of(one)):
        return _sized(one, size)
    name, scale = unit
    return f"0\N{RIGHTWARDS ARROW}{scale * one.difference:.3g} {name}".rstrip()


def _mean_words(one: Effect, size: Size) -> tuple[str, str]:
    mean, form = one.mean, "({})" if one.is_of_some else "{}"
    if mean is None:
        return NO_CELL, NO_CELL
    of = form.format(_sized(mean, size))
    ends = size.ends(mean)
    if mean.is_hint or mean.is_same or mean.samples < 2 or all(map(math.isinf, ends)):
        return of, NO_CELL
    return of, form.format(" to ".join(size.text(end, signed=True) for end in ends))


def _sides(summary: Summary) -> tuple[str, ...]:
    """What better and worse are called; nothing of a metric that is not better one way."""
    way = direction_of(summary.metric)
    return (way.word(way.sign), way.word(-way.sign)) if way.sign else ()


def effect_notes(summary: Summary) -> list[str]:
    """Return what the columns of the table mean, as far as that is not plain."""
    from midflight.plot.common.names import plural_name

    every = summary.effects
    notes = []
    if any(one.open and one.combinations > 1 for one in every):
        notes.append("open: the interval contains 0, or too few pairs count")
    if is_time(summary.metric) and any(map(is_by_end, summary.compared)):
        way = direction_of(summary.metric)
        notes.append(f"{way.lower} and {way.higher}: also by who finished (sign test)")
    of_mean = []
    if any(one.open and one.combinations > 1 for one in every):
        of_mean.append(
            "over all combinations together, which may be clear where single ones are open"
        )
    some = [one.mean for one in every if one.mean is not None and not one.is_of_some]
    if any(one.left_out for one in some):
        of_mean.append("of the pairs in which both runs have a value")
    if of_mean:
        notes.append(f"mean change: {', '.join(of_mean)}")
    if any(one.is_of_some for one in every):
        both = "both finished" if summary.metric.endswith("_ns") else "both have a value"
        notes.append(f"( ): only of the pairs in which {both}")
    harms = [one.harm for one in every if one.harm is not None]
    if harms:
        notes.append("worst: the largest clear change")
    if any(map(_is_unfinished, harms)):
        notes.append(f"unfinished: {every[0].baseline} finished there more often")
    if (sides := _sides(summary)) and any(one.points > one.combinations for one in every):
        apart = [key for key in every[0].axes if key not in summary.by and key in _varied(summary)]
        each = joined([plural_name(key) for key in apart])
        notes.append(f"{' and '.join(sides)} at: counts all {each} separately")
    return notes
