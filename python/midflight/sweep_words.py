"""What a sweep found in sentences: how each compared value changes a metric.

A change is clear if its interval is on one side of 0, or if all its samples are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from midflight.percentiles import PERCENTILES
from midflight.sweep_results import LEAST_CHANGE, LEAST_WORDS, SEED, have_no_percentage, why_same
from midflight.sweep_where import where_words

if TYPE_CHECKING:
    from midflight.sweep_results import Comparison
    from midflight.sweep_summary import Summary

__all__ = [
    "Direction",
    "Size",
    "all_of",
    "change_lines",
    "direction_of",
    "is_by_end",
    "is_no_other",
    "is_time",
    "side_of",
    "size_of",
    "told_side",
]

#: Metrics of which less is faster, and others of which less, or more, is better.
_FASTER = {"duration_ns", "delivered_ns", "load_ns", "first_new_ns", "all_new_ns"}
_LESS = {
    *("timeouts", "spurious_timeouts", "rebuffers"),
    *("frames_missed", "frames_late", "frames_lost"),
}
_MORE = {"goodput_bps", "objects_done", "mean_rate_bps", "played_ns"}


class Direction(NamedTuple):
    """Which way a metric is better: -1 for less, 1 for more, 0 if neither is known; and the words
    for a lower and a higher value, and for the best one.
    """

    sign: int
    lower: str
    higher: str
    best: str

    def word(self, side: int) -> str:
        """The word for a change that is above (1) or below (-1) 0."""
        return self.higher if side > 0 else self.lower

    def subject(self, flow: str, value: str) -> str:
        """How a sentence on a value begins; `flow` is "" for the only one."""
        who = f"{flow} with {value}" if flow else value
        if self.lower == "faster":
            return f"{who} is"
        return f"for {who} it is" if flow else f"with {who} it is"


def direction_of(metric: str) -> Direction:
    """Return which way a metric is better."""
    of = PERCENTILES[metric].of if metric in PERCENTILES else metric
    if of in _FASTER:
        return Direction(-1, "faster", "slower", "fastest")
    how = "lower", "higher"
    if of in _MORE:
        return Direction(1, *how, "highest")
    is_less = of in _LESS or of.endswith("_ns")
    return Direction(-1 if is_less else 0, *how, "lowest")


def is_time(metric: str) -> bool:
    """Return whether a metric is a time until something, which a run without an end has not."""
    return metric.endswith("_ns") and direction_of(metric).sign < 0


def side_of(one: Comparison) -> int:
    """1 or -1 for a change that is clear, and for one that is of one sample or the same in all of
    them; else 0, and for one that is too small to matter or of too few pairs.
    """
    if one.is_negligible or one.is_hint:
        return 0
    if one.is_same or one.samples == 1:
        return (one.difference > 0) - (one.difference < 0)
    return one.side


def told_side(one: Comparison, *, is_end: bool) -> int:
    """The side on which a change is: of times (`is_end`) by who finished, where the pairs that
    count do not tell it, or else by these.
    """
    return one.ended_side if is_end and is_by_end(one) else side_of(one) if one.pairs else 0


def is_equal(one: Comparison) -> bool:
    """Whether a value is the same as the baseline in all pairs, or in the means of all runs; in
    pairs that do not count both runs lack a value.
    """
    if one.difference or not (one.is_same or one.samples == 1):
        return False
    lack_both = one.value_missing == one.baseline_missing == one.left_out
    return not one.is_hint or (one.is_same and lack_both)


def is_no_other(one: Comparison) -> bool:
    """Whether a value is the same as the baseline, or differs from it by too little to matter."""
    return is_equal(one) or one.is_negligible


def all_of(among: int) -> str:
    """All combinations, in words."""
    return "both combinations" if among == 2 else f"all {among} combinations"


def change_lines(summary: Summary) -> Iterator[str]:
    """Yield a sentence on each value that is compared, the best one first: which way it changes the
    metric, how often that is clear and by how much. Against a mean that may be 0 the change is a
    difference in the metric's unit.
    """
    from midflight.plot.results.axis import shown_value
    from midflight.plot.results.places import change_unit

    if summary.is_all_early:
        return
    way = direction_of(summary.metric)
    unit, scale = change_unit(summary.metric)
    # As in the figure, all are in the same unit.
    size = size_of(summary.compared, (unit, scale))
    is_relative = size.is_relative
    found: list[tuple[tuple[int, bool, float], str, str]] = []
    values = dict.fromkeys((one.flow, one.value) for one in summary.compared)
    flows = list(dict.fromkeys(flow for flow, _ in values))
    several_flows = len(flows) > 1
    for flow, value in values:
        every = [one for one in summary.compared if (one.flow, one.value) == (flow, value)]
        ended = [one for one in every if is_time(summary.metric) and is_by_end(one)]
        known = [one for one in every if math.isfinite(one.difference) and one not in ended]
        name = shown_value(value)
        subject = way.subject(flow if several_flows else "", name)
        by_end = _by_end(ended, every, way, summary.others)
        if not known and ended:
            said = f"{subject} {by_end}"
        elif not known:
            label = f"{flow} with {name}" if several_flows else name
            said = f"{label}:"
        else:
            change = _changes(known, every, way, size, summary.others)
            if len(every) == 1:
                # Places are those of samples: seeds that change nothing are none.
                skipped = (*summary.by, SEED)
                pooled = [key for key in summary.asked.axes if key not in skipped]
                change = _one_change(known[0], way, size, pooled)
            said = f"{subject} {change}{'; ' * bool(ended)}{by_end}"
        why = _no_percentage(known, is_relative=is_relative)
        said += f" ({why})" if why and len(every) > 1 else ""
        no_pairs = _without_pairs(every, summary, name)
        if not known and not ended:
            said, no_pairs = f"{said}{no_pairs.removeprefix(';')}", ""
        # Those of few pairs say nothing, unless there are no others.
        told = [one for one in known if not one.is_hint] or known
        sizes = [*filter(math.isfinite, map(size.of, told))]
        mean = sum(sizes) / len(sizes) if sizes else 0.0
        if not told and ended:
            mean = math.copysign(math.inf, sum(one.ended_side for one in ended))
        # Of each flow the best one first, if it is known which, and those without a pair last.
        found.append(((flows.index(flow), not (known or ended), -way.sign * mean), said, no_pairs))
    # What holds for all values is said once.
    caveats = {no_pairs for *_, no_pairs in found}
    common = "".join(caveats) if len(caveats) == 1 and len(found) > 1 else ""
    for _, said, no_pairs in sorted(found, key=lambda one: one[0]):
        yield said if common else f"{said}{no_pairs}"
    if common:
        yield f"for each of them{common.removeprefix(';')}"


def size_of(compared: Iterable[Comparison], unit: tuple[str, float]) -> Size:
    """Return the size in which changes are given: in per cent, or, where most have no percentage,
    as the mean of the baseline may be 0, as differences in a unit, with its scale.
    """
    measured = [one for one in compared if math.isfinite(one.difference)]
    # Where both means are 0 there is no change.
    some = [one for one in measured if one.difference or not one.is_of_zero] or measured
    if have_no_percentage(one.is_endless or one.may_lose_all for one in some):
        return Size(*unit)
    return Size("%", 100.0, is_relative=True)


class Size:
    """The size of a change: in per cent, or as a difference in a unit."""

    def __init__(self, unit: str, scale: float, *, is_relative: bool = False) -> None:
        self.unit, self.scale, self.is_relative = unit, scale, is_relative

    def of(self, one: Comparison) -> float:
        return self.scale * (one.ratio if self.is_relative else one.difference)

    def between(self, mine: float, theirs: float) -> float:
        """The size of the change of one sample."""
        change = mine - theirs
        if not self.is_relative:
            return self.scale * change
        return self.scale * change / theirs if theirs else 0.0

    def ends(self, one: Comparison) -> tuple[float, float]:
        """The ends of the interval of a change."""
        if self.is_relative:
            return self.scale * one.ratio_low, self.scale * one.ratio_high
        ends = (one.difference + side * one.half_width for side in (-1, 1))
        low, high = (self.scale * end for end in ends)
        return low, high

    def text(self, value: float, *, signed: bool = False) -> str:
        """A size without its unit, of two digits in per cent and three of a difference."""
        if math.isinf(value):
            return "no end"
        least, digits = (10, 2) if self.is_relative else (1000, 3)
        sign = "+" if signed and value else ""
        is_large = abs(value) >= least - 0.5
        text = f"{value:{sign}.0f}" if is_large else f"{value:{sign}.{digits}g}"
        return text.replace("-", "\N{MINUS SIGN}")

    def range(self, values: Iterable[float]) -> str:
        """The least and the largest of some sizes, with their unit."""
        sizes = sorted(filter(math.isfinite, values))
        if not sizes:
            return "an amount without a percentage"
        low, high = self.text(sizes[0]), self.text(sizes[-1])
        return f"{low if low == high else f'{low} to {high}'} {self.unit}".rstrip()


def _one_change(one: Comparison, way: Direction, size: Size, pooled: Sequence[str]) -> str:
    """The change of the only combination, with its interval, over the values of these axes."""
    side = side_of(one)
    has_interval = one.samples > 1 and not one.is_same
    why = _no_percentage([one], is_relative=size.is_relative)
    if not side:
        if one.is_hint:
            return f"neither {way.lower} nor {way.higher} for certain, as {_hint_words([one])}"
        if is_equal(one):
            if one.is_averaged:
                return "the same in the mean of each run"
            return "the same in all pairs" if one.samples > 1 else "the same"
        if one.is_negligible:
            return f"no different ({LEAST_WORDS})"
        ends = " to ".join(size.text(end, signed=True) for end in size.ends(one))
        change = f"{size.text(size.of(one), signed=True)} {size.unit}".rstrip()
        more = "; ".join(filter(None, (ends, why)))
        return f"neither {way.lower} nor {way.higher} for certain: {change} ({more})"
    said = f"{way.word(side)} by {size.range([abs(size.of(one))])}"
    ends = " to ".join(map(size.text, sorted(map(abs, size.ends(one))))) if has_interval else ""
    if more := "; ".join(filter(None, (ends, why))):
        said += f" ({more})"
    said += _against(one, way, size, pooled)
    return f"{said}; no interval, as {why_same([one])}" if one.is_same else said


def _against(one: Comparison, way: Direction, size: Size, pooled: Sequence[str]) -> str:
    """At which values of these axes a change is the other way; "" if it is at none by at least half
    as much as the mean change.
    """
    from midflight.plot.common.names import plural_name

    mean = size.of(one)
    each = {key: size.between(mine, theirs) for key, mine, theirs in one.each}
    if not any(change * mean <= -0.5 * mean * mean for change in each.values()) or not mean:
        return ""
    counted = (key for key, mine, theirs in one.each if abs(mine - theirs) > LEAST_CHANGE * theirs)
    other = {key: each[key] for key in counted if each[key] * mean < 0}
    varied = [
        axis
        for axis, values in zip(pooled, zip(*each, strict=True), strict=True)
        if len({*values}) > 1
    ]
    what = plural_name(varied[0]) if len(varied) == 1 else "combinations"
    where = where_words([*other], [*each], pooled).replace("(at ", "(")
    side = -1 if mean > 0 else 1
    count = f"{len(other)} of {len(each)} {what}{where}"
    return f", but {way.word(side)} at {count}, by {size.range(map(abs, other.values()))}"


def is_by_end(one: Comparison) -> bool:
    """Whether unfinished runs tell which of two is faster, and the pairs that count do not."""
    return one.ended_side not in (0, side_of(one))


def _by_end(
    ended: Sequence[Comparison], every: Sequence[Comparison], way: Direction, axes: Sequence[str]
) -> str:
    """In how many combinations which one is faster, if unfinished runs are counted as longer."""
    parts: list[str] = []
    for side in (-1, 1):
        if not (here := [one for one in ended if one.ended_side == side]):
            continue
        first = sum(one.lower if side < 0 else one.higher for one in here)
        differ = sum(one.lower + one.higher for one in here)
        what = "runs" if any(one.is_averaged for one in here) else "pairs"
        among = "" if parts else f" of {len(every)} combinations"
        count = f" in {len(here)}{among}{_where(here, every, axes)}" if len(every) > 1 else ""
        parts.append(f"{way.word(side)}{count} in {first} of the {differ} {what} that differ")
    said = ", and ".join(parts)
    return f"{said}, counting unfinished runs as longer" if said else ""


def _changes(
    known: Sequence[Comparison],
    every: Sequence[Comparison],
    way: Direction,
    size: Size,
    axes: Sequence[str],
) -> str:
    """The changes of several combinations of values of these axes: in how many there is which."""
    among = len(every)
    sides = {side: [one for one in known if side_of(one) == side] for side in (1, -1)}
    order = sorted(sides, key=lambda side: side != (way.sign or -1))
    parts: list[str] = []
    all_alike = all(one.is_same for one in known)
    for side in order:
        if here := sides[side]:
            amount = size.range(abs(size.of(one)) for one in here)
            amount += "" if all_alike else _no_intervals(here)
            count = f"{len(here)}"
            where = _where(here, every, axes)
            if parts:
                parts.append(f"{way.word(side)} in {count}{where}, by {amount}")
            elif len(here) == among:
                parts.append(f"{way.word(side)} in {all_of(among)}, by {amount}")
            elif 1 < len(here) == sum(one.pairs > 0 for one in every):
                those = "both" if len(here) == 2 else f"all {len(here)}"
                parts.append(f"{way.word(side)} in {those} that count{where}, by {amount}")
            else:
                parts.append(
                    f"{way.word(side)} in {count} of {among} combinations{where}, by {amount}"
                )
    same = sum(map(is_equal, known))
    small = sum(map(is_no_other, known)) - same
    hints = [one for one in known if one.is_hint and not is_equal(one)]
    unclear = len(known) - len(sides[1]) - len(sides[-1]) - same - small - len(hints)
    if same == among:
        return f"the same in {all_of(among)}"
    if same + small == among:
        of_them = f", and the same in {same} of these" if same else ""
        return f"no different in {all_of(among)} ({LEAST_WORDS}){of_them}"
    if unclear + len(hints) == len(known):
        where = f" in 1 of {among} combinations" if among > 1 else ""
        if len(known) > 1:
            where = f" in any of {len(known)} combinations"
        whys = ["intervals contain 0"] * bool(unclear) + [_hint_words(hints)] * bool(hints)
        said = f"neither {way.lower} nor {way.higher} for certain{where}"
        return f"{said}: {', or '.join(whys)}"
    if not parts:
        parts.append(f"neither {way.lower} nor {way.higher} for certain")
    said = ", and ".join(parts)
    if same:
        said += f"; the same in {same}"
    if small:
        said += f"; no different in {small} ({LEAST_WORDS})"
    if unclear:
        said += f"; in {unclear} unclear, as the interval contains 0"
    if hints:
        said += f"; in {len(hints)} unclear, as {_hint_words(hints)}"
    return f"{said}; no interval, as {why_same(known)}" if all_alike else said


def _hint_words(hints: Sequence[Comparison]) -> str:
    """Why some changes are no evidence."""
    are_few = any(one.pairs < one.left_out for one in hints)
    return "most pairs do not count" if are_few else "there is one run of each"


def _where(some: Sequence[Comparison], every: Sequence[Comparison], axes: Sequence[str]) -> str:
    """Where some changes are, by the values of the other axes."""
    return where_words([one.values for one in some], [one.values for one in every], axes)


def _no_intervals(some: Sequence[Comparison]) -> str:
    """In how many of some changes all samples are the same, so that there is no interval."""
    alike = [one for one in some if one.is_same]
    if not alike:
        return ""
    count = f"{len(alike)} of these " if len(some) > 1 else ""
    return f" ({count}without an interval, as {why_same(alike)})"


def _no_percentage(known: Sequence[Comparison], *, is_relative: bool) -> str:
    """Why changes are differences, or some of them have no percentage: the mean of the baseline is
    0, or is not known well.
    """
    from midflight.plot.results.axis import shown_value

    if is_relative:
        # Those with a percentage have one; that its interval has no end is seen.
        none = [one for one in known if one.is_of_zero and one.difference]
        in_some = f" in {len(none)}" if len(known) > 1 else ""
        baseline = shown_value(known[0].baseline) if known else ""
        return f"no percentage{in_some}: the mean of {baseline} is 0" if none else ""
    endless = [one for one in known if one.is_endless]
    if not endless:
        return ""
    is_zero = all(one.is_of_zero for one in known)
    said = "is 0" if is_zero else "is too uncertain"
    return f"no percentage: the mean of {shown_value(known[0].baseline)} {said}"


def _who_finished(none: Sequence[Comparison], baseline: str, name: str) -> str:
    """Which of two finished in how many combinations without a pair; "" if it is one of them that
    never did, or if flows were early.
    """
    if any(one.done_before for one in none) or len(none) < 2:
        return ""
    found: dict[str, int] = {}
    for one in none:
        mine, other = one.value_missing < one.left_out, one.baseline_missing < one.left_out
        said = f"{name} finished, {baseline} never did"
        if other:
            said = f"{baseline} finished, {name} never did"
        if mine == other:
            said = "each finished, but never in the same pair" if mine else "neither finished"
        found[said] = found.get(said, 0) + 1
    if len(found) == 1 and next(iter(found)).endswith("never did"):
        return ""
    return f": {'; '.join(f'{said}, in {count}' for said, count in found.items())}"


def _without_pairs(every: Sequence[Comparison], summary: Summary, name: str) -> str:
    """Say in how many combinations no pair counts, or only some, and why."""
    from midflight.plot.results.axis import shown_value

    def whole(one: Comparison) -> int:
        return one.pairs + one.left_out + one.done_before

    ends = "did not finish" if summary.metric.endswith("_ns") else "has no value"
    baseline = shown_value(every[0].baseline)

    def causes(some: Sequence[Comparison]) -> str:
        who = [
            each
            for each, key in ((baseline, "baseline_missing"), (name, "value_missing"))
            if any(getattr(one, key) for one in some)
        ]
        said = [f"{' or '.join(who)} {ends}"] if who else []
        if any(one.done_before for one in some):
            said.append(f"flows were {summary.early_words}")
        return f": {' and '.join(said)}" if said else ""

    said = ""
    none = [one for one in every if not one.pairs]
    if none:
        where = f" in {len(none)} of {len(every)} combinations{_where(none, every, summary.others)}"
        why = _who_finished(none, baseline, name) if ends == "did not finish" else ""
        said += f"; no pair counts{where if len(none) < len(every) else ''}{why or causes(none)}"
    some = [one for one in every if 0 < one.pairs < whole(one)]
    if some:
        least = min(some, key=lambda one: one.pairs / whole(one))
        count = f"{least.pairs} of {whole(least)}"
        if len(every) == 1:
            said += f"; only {count} pairs count{causes(some)}"
        else:
            among = f"{len(some)} of {len(every)}" if len(some) < len(every) else all_of(len(every))
            # The same cause is said once.
            why = causes(some) if not none or causes(none) != causes(some) else ""
            said += f"; in {among} only some pairs count, {count} at the least{why}"
    return said
