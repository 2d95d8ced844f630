"""Which compared value of a sweep is best, in a sentence, as far as pairs of runs tell.

One that has the best mean, but is not clearly apart from others, is named with these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from midflight.listing import joined, listed
from midflight.sweep_results import compare, is_sample
from midflight.sweep_where import where_words
from midflight.sweep_words import all_of, direction_of, is_no_other, is_time, side_of

if TYPE_CHECKING:
    from midflight.sweep_results import Comparison, Group
    from midflight.sweep_summary import Summary
    from midflight.sweep_words import Direction

__all__ = ["ALL_SAME", "OPEN", "First", "best_lines", "firsts_of", "pooled_words"]

#: Values that a sentence names; more are counted.
_MOST_NAMED = 4
#: Sets of best values that a sentence names one by one.
_MOST_SETS = 2
#: Settings, beside those of `set`, that one chooses.
_CHOSEN = ("queue", "agent", "profile", "stack", "notices")
#: A sentence of a verdict with more words is given in short.
_MOST_WORDS = 40
#: What a single pair of runs in each combination tells, or several that are the same.
_ONE_EACH = "but a single pair of runs decides nothing"
_ALIKE = "but all runs of each are the same, and a single case decides nothing"
#: Why a combination has no best value: neither runs nor pairs tell, or all values are the same.
OPEN, ALL_SAME = "which one is best is open", "all are the same"


class First(NamedTuple):
    """The value with the best mean in one combination, or all those that are the same as it in all
    pairs, or differ by too little to matter, by their names; none if that is not known, or if all
    are the same. The other values that are `near` it cannot be told apart from it, and the `others`
    are all but it.
    """

    best: tuple[str, ...]
    near: tuple[str, ...]
    others: tuple[str, ...]
    #: The values of the other axes, and without a best one why it has none.
    point: tuple[str, ...] = ()
    why: str = ""
    #: Whether its mean is the best one and of most of the runs; it may be best without.
    has_mean: bool = True
    #: The median of the first one, infinite if half of its runs or more did not finish, and how
    #: many of all its runs did.
    median: float = math.nan
    finished: tuple[int, int] = (0, 0)
    #: How many runs of each value its mean is of, and of how many: not of those in which the flow
    #: was done before the handoff with any value.
    base: tuple[int, int] = (0, 0)

    @property
    def is_clear(self) -> bool:
        return bool(self.best) and not self.near


def best_lines(summary: Summary, *, whole: bool = False) -> Iterator[str]:
    """Yield for each flow which compared value is best, or has the best mean and cannot be told
    apart from which others; nothing of a metric that is not known to be better one way.

    Where it is one of many the sentence names the few that are enough, or, as a `whole`, all.
    """
    from midflight.plot.results.axis import shown_value

    way, axis = direction_of(summary.metric), summary.asked.compare
    if summary.is_all_early:
        yield f"All flows were {summary.early_words}: no number is about it"
        return
    if axis is None:
        yield from _extremes(summary)
        return
    if not way.sign or not summary.compared:
        return
    # Without any pair nothing is said of single ones.
    told = _is_told(summary)
    several_flows = len({one.flow for one in summary.grouped}) > 1
    for flow, found in firsts_of(summary).items():
        are_alike = any(one.pairs > 1 for one in summary.compared)
        how: Any = {"whole": whole, "one_each": _ALIKE if are_alike else _ONE_EACH}
        said = _best(found, way, has_intervals=told, axes=summary.others, **how)
        said += pooled_words(summary) if any(one.best for one in found) else ""
        # A name is at the beginning as it is everywhere, without a capital.
        is_name = any(one.best and said.startswith(f"{one.best[0]} ") for one in found)
        # What is near because few of its runs finish, or none, is not alike.
        ended, is_near = summary.finished(flow), any(one.near for one in found if one.best)
        few = any(not one.done or (is_near and 2 * one.done <= one.runs) for one in ended)
        if few and any(one.done for one in ended):
            each = (one._replace(value=shown_value(one.value)).ended_words() for one in ended)
            said = f"{said}; {summary.end_word} {', '.join(each)}"
        said += _base_words(summary, found)
        if several_flows:
            said = f"For {flow}: {said}"
        elif not is_name:
            said = f"{said[0].upper()}{said[1:]}"
        yield said


def _is_told(summary: Summary) -> bool:
    """Whether it is known of any combination how much chance does, or there is no pair."""
    return any(one.samples > 1 for one in summary.compared) or not summary.has_pairs


def firsts_of(summary: Summary) -> dict[str, list[First]]:
    """Return for each flow which value is first in each combination of the other axes."""
    sign, place = direction_of(summary.metric).sign, summary.by.index(str(summary.asked.compare))
    sets: dict[tuple[str, ...], list[Group]] = {}
    for one in summary.grouped:
        # Nothing is known of values whose flows were all done before the handoff.
        if not one.counted:
            continue
        others = (*one.values[:place], *one.values[place + 1 :])
        sets.setdefault((one.flow, *others), []).append(one)
    how: Any = {"has_intervals": _is_told(summary)}
    found: dict[str, list[First]] = {}
    for (flow, *_), groups in sets.items():
        if len(groups) > 1:
            first = _first(groups, place, sign, summary, **how)
            found.setdefault(flow, []).append(first)
    return found


def _extremes(summary: Summary) -> Iterator[str]:
    """Yield for each flow of a sweep that compares nothing at which values its median is least and
    largest, if several are different.
    """
    from midflight.plot.common.names import column_name, with_value, within_text
    from midflight.plot.common.style import labelled, short_label
    from midflight.plot.results.axis import shown_value
    from midflight.plot.results.places import change_unit

    unit, scale = change_unit(summary.metric)
    axes = [place for place, key in enumerate(summary.by) if len(summary.asked.axes[key]) > 1]
    flows = list(dict.fromkeys(one.flow for one in summary.grouped))

    def size(median: float) -> str:
        return f"{scale * median:.3g} {unit}".rstrip()

    def at(end: str, sizes: Sequence[tuple[str, Group]], every: Sequence[Group]) -> str:
        # Those that are as written the same are named together.
        alike = [one.values for other, one in sizes if other == end]
        if len(alike) > 1:
            where = where_words(alike, [one.values for one in every], summary.by)
            return f"{end} in {len(alike)} of {len(every)} combinations{where}"
        (values,) = alike
        names = [
            with_value(short_label(summary.by[place]), shown_value(values[place])) for place in axes
        ]
        return f"{end} with {', '.join(names)}"

    for flow in flows:
        every = [one for one in summary.grouped if one.flow == flow and one.counted]
        medians = [(one.quartiles().median, one) for one in every]
        known = [(median, one) for median, one in medians if math.isfinite(median)]
        if not known:
            continue
        sizes = [(size(median), one) for median, one in known]
        least, largest = (size(end(median for median, _ in known)) for end in (min, max))
        if least == largest:
            continue
        of = f" of {flow}" if len(flows) > 1 else ""
        named = within_text(labelled(column_name(summary.metric)))
        median = "median " if any(len(one.counted) > 1 for _, one in known) else ""
        # A name may be no noun.
        named = f"{median}{named}{of}"
        low, high = (at(end, sizes, every) for end in (least, largest))
        said = f"{named[0].upper()}{named[1:]}: least {low}; largest {high}"
        left = len(every) - len(known)
        ended = "half of the runs or more did not finish" if median else "the run did not finish"
        yield f"{said}; in {left} of {len(every)} combinations {ended}" if left else said
        yield from _effects(every, [one for one in axes if not is_sample(summary.by[one])], summary)
    if flows and (key := _comparable(summary)) is not None:
        named = within_text(labelled(column_name(key)))
        says = "which is best" if direction_of(summary.metric).sign else "how much each changes"
        yield f"Nothing is compared: a comparison of {named} needs no new run, and says {says}"


def _effects(every: Sequence[Group], axes: Sequence[int], summary: Summary) -> Iterator[str]:
    """Yield which settings change the median most, the largest one first: its widest range over the
    values of each while all others stay; nothing of a single one.
    """
    from midflight.plot.common.style import short_label
    from midflight.plot.results.places import change_unit

    unit, scale = change_unit(summary.metric)

    def range_of(medians: Sequence[float]) -> tuple[float, str]:
        known = [one for one in medians if math.isfinite(one)]
        if not known:
            return 0.0, ""
        # Of what does not finish nothing is larger.
        span = math.inf if len(known) < len(medians) else max(known) - min(known)
        first = f"{min(known):.3g} {unit}".rstrip()
        last = "no end" if span == math.inf else f"{max(known):.3g} {unit}".rstrip()
        # What changes nothing that is seen matters not.
        return span, f"{min(known):.3g} to {last}" if first != last else ""

    found = []
    for place in axes:
        others: dict[tuple[str, ...], list[float]] = {}
        for one in every:
            rest = (*one.values[:place], *one.values[place + 1 :])
            others.setdefault(rest, []).append(scale * one.quartiles().median)
        span, said = max(map(range_of, others.values()), key=lambda one: one[0])
        if said:
            found.append((span, f"{short_label(summary.by[place])} ({said})"))
    found.sort(key=lambda one: -one[0])
    if found and len(axes) > 1:
        first, *more = [said for _, said in found[:_MOST_NAMED]]
        then = f", then on {', '.join(more)}" if more else ""
        yield f"The median depends most on {first}{then}, at the same values of the others"


def _comparable(summary: Summary) -> str | None:
    """The axis of what one chooses that a sweep could compare: schemes, or else a queue or another
    setting; None if all are of what one finds, as the rate of a link or the size of a transfer.
    """
    from midflight.plot.common.line_looks import is_of_schemes

    axes = [key for key, values in summary.asked.axes.items() if len(values) > 1]
    settings = [key for key in axes if not is_sample(key)]
    chosen = [key for key in settings if key.rpartition(".")[2] in _CHOSEN or ".set." in f".{key}"]
    return next((key for key in settings if is_of_schemes(key)), next(iter(chosen), None))


def _first(
    groups: Sequence[Group], place: int, sign: int, summary: Summary, *, has_intervals: bool
) -> First:
    """Return which value of one combination is first, and which ones are not clearly worse. If any
    change has several samples (`has_intervals`), it is known how much chance does.
    """
    from midflight.plot.results.axis import shown_value

    of = {one.values[place]: one for one in _alike(groups)}
    names = {value: shown_value(value) for value in of}
    # Means are of the same runs, while there are some in which all have a value.
    there = [set(_there(one)) for one in of.values() if _there(one)]
    whole = set.intersection(*there) if there else set()
    means = {value: _mean(one, whole) for value, one in of.items()}
    # Those with most results first, then the best.
    value = min(of, key=lambda one: (of[one].missing(), -sign * means[one]))
    found = compare(groups, summary.by, summary.by[place], [value])
    # One of which more runs are missing may be clearly better in pairs.
    how: Any = {"has_intervals": has_intervals}
    if better := [one.value for one in found if _is_ahead(one, sign, summary, **how)]:
        value = better[0]
        found = compare(groups, summary.by, summary.by[place], [value])
    open_ones = [one for one in found if not _is_behind(one, sign, summary, **how)]
    same = [one.value for one in open_ones if is_no_other(one) and not one.value_missing]
    near = tuple(names[one.value] for one in open_ones if one.value not in same)
    others = tuple(name for other, name in names.items() if other not in (value, *same))
    # Of values of which more are missing the mean may be better; it is that of other runs.
    known = [mean for mean in means.values() if math.isfinite(mean)]
    is_first = all(sign * (means[value] - mean) >= 0 for mean in known)
    close = [one for other, one in of.items() if other == value or names[other] in near]
    has_mean = is_first and all(2 * one.missing() < len(one.counted) for one in close)
    is_known = bool(others) and math.isfinite(means[value]) and (has_mean or not near)
    # In the order of the axis: which of equal ones has the least mean is chance.
    best = tuple(names[one] for one in of if one in (value, *same)) if is_known else ()
    ends = "finished" if summary.metric.endswith("_ns") else "has a value"
    why = OPEN
    if not known:
        why = f"no run {ends}"
    elif not others:
        why = ALL_SAME
    point = (*groups[0].values[:place], *groups[0].values[place + 1 :])
    mine = of[value]
    runs = len(mine.counted)
    median, finished = mine.quartiles().median, (runs - mine.missing(), runs)
    base = (runs, len(mine.runs))
    return First(best, near, others, point, "" if best else why, has_mean, median, finished, base)


def _alike(groups: Sequence[Group]) -> Sequence[Group]:
    """The groups of one combination with the same runs: those in which no flow was done before the
    handoff; as they are if there are none.
    """
    early = {key for one in groups for key in one.early}
    if not early or any(one.is_all_early for one in groups):
        return groups
    found = [replace(one, early=early & {*one.runs}) for one in groups]
    return found if all(one.counted for one in found) else groups


def _base_words(summary: Summary, found: Sequence[First]) -> str:
    """Of which runs the means are that a verdict names, where that is not all of them."""
    from midflight.plot.common.names import plural_name

    named = [one.base for one in found if one.best and one.near]
    bases = [one for one in named if one[0] < one[1]]
    if not bases:
        return ""
    axes = [key for key, values in summary.asked.axes.items() if len(values) > 1]
    pooled = [key for key in axes if key not in summary.by]
    (least, every), (most, _) = min(bases), max(bases)
    counts = f"{least}" if least == most else f"{least} to {most}"
    is_each = len(pooled) == 1 and len(summary.asked.axes[pooled[0]]) == every
    what = plural_name(pooled[0]) if is_each else "runs"
    of = "the means are" if len(bases) == len(named) else f"{len(bases)} of the means are"
    where = f"{'at' if is_each else 'in'} which no flow was {summary.early_words}"
    return f"; {of} of the {counts} of {every} {what} {where}"


def pooled_words(summary: Summary) -> str:
    """The settings, no samples, over which a verdict is."""
    from midflight.plot.common.names import plural_name
    from midflight.plot.common.style import labelled

    axes = {key: len(values) for key, values in summary.asked.axes.items() if len(values) > 1}
    pooled = [key for key in axes if key not in summary.by and not is_sample(key)]
    named = [f"{axes[key]} {labelled(plural_name(key))}" for key in pooled]
    return f" (pooled over {joined(named)})" if named else ""


def _there(one: Group) -> dict[tuple[str, ...], float]:
    """The results of a group that have a value, by their runs."""
    return {key: value for key, value in one.counted.items() if math.isfinite(value)}


def _mean(one: Group, some: set[tuple[str, ...]]) -> float:
    """The mean of some of the results of a group, or of all if it has none of these; infinite
    without any.
    """
    there = _there(one)
    values = [value for key, value in there.items() if key in some] or [*there.values()]
    return sum(values) / len(values) if values else math.inf


def _pairs_side(one: Comparison, *, has_intervals: bool) -> int:
    """The side on which the pairs of a change are (`side_of`); 0 for a single sample beside others
    with intervals.
    """
    return 0 if has_intervals and one.samples == 1 else side_of(one)


def _is_ahead(one: Comparison, sign: int, summary: Summary, *, has_intervals: bool) -> bool:
    """Whether a value is clearly better than its baseline, of times by who finished, or else in
    pairs.
    """
    ended = one.ended_side if is_time(summary.metric) else 0
    return (ended or _pairs_side(one, has_intervals=has_intervals)) == sign


def _is_behind(one: Comparison, sign: int, summary: Summary, *, has_intervals: bool) -> bool:
    """Whether a value is clearly worse than the one that may be the best, its baseline, which has
    most results. A transfer that is not done took longer than one that is.
    """
    if is_time(summary.metric):
        if side := one.ended_side:
            return side == -sign
        if one.value_missing and not one.baseline_missing and not one.pairs:
            # Of what is not random a single pair tells.
            return one.over == "axes"
    has_most = one.left_out <= one.value_missing
    return has_most and _pairs_side(one, has_intervals=has_intervals) == -sign


def _best(
    found: Sequence[First],
    way: Direction,
    *,
    has_intervals: bool,
    axes: Sequence[str] = (),
    whole: bool = False,
    one_each: str = _ONE_EACH,
) -> str:
    """Return which values are best, or first, by the number of combinations in which each is so,
    and where, by the values of these other axes.
    """
    among = len(found)
    led = Counter(one.best for one in found if one.best)
    one_each = "" if has_intervals else f", {one_each}"
    where = _Where(found, axes)
    if not led:
        in_any = f" in any of the {among} combinations" if among > 1 else ""
        whys = {one.why for one in found}
        if len(whys) == 1 and whys != {OPEN}:
            # The reason is the answer.
            in_all = f" in {all_of(among)}" if among > 1 else ""
            return f"none is best: {whys.pop()}{in_all}"
        return f"none is clearly best{in_any}{where.rest()}{one_each}"
    here = [one for one in found if one.best]
    # One that is best somewhere without the best mean has not the best mean in all.
    is_mixed = any(one.near for one in here) and not all(one.has_mean for one in here)
    are_several = len(led) > 1 or is_mixed
    if not has_intervals:
        # Nothing is best by one pair.
        return f"{_single(found, way, where)}{where.rest()}{one_each}"
    said = _several(found, way, where) if are_several else _alone(found, way, where)
    if are_several and not whole and (few := _few(found, way, where)):
        said = few
    said = f"{said}{where.rest()}"
    if are_several and not whole and len(said.split()) > _MOST_WORDS:
        return _short(found, way)
    return said


class _Where:
    """Where something is so among all combinations, in words."""

    def __init__(self, found: Sequence[First], axes: Sequence[str]) -> None:
        self.found, self.axes = found, axes

    def of(self, some: Sequence[First]) -> str:
        """In how many combinations, and, if few words say it, which."""
        points = [one.point for one in some]
        return f"{len(some)}{where_words(points, [one.point for one in self.found], self.axes)}"

    def each(self, some: Sequence[First]) -> list[tuple[str, str]]:
        """Each of the best values, and where it is so, the most frequent one first."""
        sets: dict[tuple[str, ...], list[First]] = {}
        for one in some:
            sets.setdefault(one.best, []).append(one)
        ordered = sorted(sets.values(), key=lambda every: -len(every))
        told = [(_tied(every[0].best), self.of(every)) for every in ordered]
        if len(told) > _MOST_NAMED + 1:
            told[_MOST_NAMED:] = [("others", str(sum(map(len, ordered[_MOST_NAMED:]))))]
        return told

    def rest(self) -> str:
        """Where there is no best one, and why; "" if it is nowhere, or said otherwise."""
        rest = [one for one in self.found if one.why]
        whys = dict.fromkeys(one.why for one in rest)
        if len(rest) == len(self.found) and len(whys) == 1:
            return ""
        each = {why: [one for one in rest if one.why == why] for why in whys}
        return "".join(f"; in {self.of(some)} {why}" for why, some in each.items())


def _single(found: Sequence[First], way: Direction, where: _Where) -> str:
    """What is said where there is one pair of runs in each combination."""
    here = [one for one in found if one.best]
    if len({one.best for one in here}) > 1:
        (name, count), *more = where.each(here)
        first = f"{name} in {_of_all(count, len(found))}"
        return f"the {way.best} is {listed([first, *(' in '.join(one) for one in more)])}"
    name = _joined(here[0].best)
    are = "are" if len(here[0].best) > 1 else "is"
    at = ""
    if len(found) > 1:
        is_all = len(here) == len(found)
        at = f" in {all_of(len(found)) if is_all else _of_all(where.of(here), len(found))}"
    return f"the {way.best}{at} {are} {name}"


def _alone(found: Sequence[First], way: Direction, where: _Where) -> str:
    """What is said if the same value is first wherever it is known which is."""
    here = [one for one in found if one.best]
    won = [one for one in here if one.is_clear]
    among, count, clear, best = len(found), len(here), len(won), here[0].best
    name = _joined(best)
    isolated = "are" if len(best) > 1 else "is"
    in_all = f" in {all_of(among)}" if among > 1 else ""
    if clear == among:
        return f"best {isolated} {name}: the {way.best}{in_all}"
    if clear == count:
        said = _of_all(where.of(won), among)
        return f"best in {said} {isolated} {name}, the {way.best} there"
    if count < among:
        in_all = f" in {_of_all(where.of(here), among)}"
    it, has = ("they", "have") if len(best) > 1 else ("it", "has")
    near = _near(here, "of them" if count > 1 and not clear else "")
    said = f"{name} {has} {_mean_words(way)}{in_all}"
    if clear:
        left = count - clear
        of_them = where.of(won).replace(f"{clear}", f"{clear} of them", 1)
        return (
            f"{said}, and {isolated} clearly the {way.best} in {of_them}; in the other {left} "
            f"{it} cannot be told apart from {near}"
        )
    return f"{said}; {it} cannot be told apart from {near}"


def _of_all(said: str, among: int) -> str:
    """A count of combinations, which its place may follow, as one of all."""
    count, space, place = said.partition(" ")
    return f"{count} of {among} combinations{space}{place}"


def _near(found: Sequence[First], of_them: str) -> str:
    """The values that are near the first one: those that are so in all combinations in which any
    is, and the others with how often.
    """
    here = [one for one in found if one.near]
    times = Counter(name for one in here for name in one.near)
    always = [name for name, count in times.items() if count == len(here)]
    parts = []
    if len(always) > 1 and all(set(always) == {*one.others} for one in here):
        parts.append("any other" if len(always) > 2 else _joined(always, "or"))
    elif always:
        parts.append(_joined(always, "or"))
    some = sorted((one for one in times.items() if one[0] not in always), key=lambda one: -one[1])
    parts += [f"{name} in {count}" for name, count in some[:_MOST_NAMED]]
    if some and of_them:
        parts[bool(always)] += f" {of_them}"
    if len(some) > _MOST_NAMED:
        parts.append(f"{len(some) - _MOST_NAMED} others in fewer")
    return ", nor from ".join(parts)


def _several(found: Sequence[First], way: Direction, where: _Where) -> str:
    """What is said if the first one differs among combinations: where which is clearly so, and
    where which is first but not clearly.
    """
    among = len(found)
    won = [one for one in found if one.is_clear]
    unclear = [one for one in found if one.best and one.near]
    good, is_choice = _good(found)
    # Others may be as good as these at some combinations.
    best = [name for name in won[0].best if all(name in one.best for one in won)] if won else []
    is_one = bool(best) and {*best} <= {*good}
    if is_one:
        isolated = "are" if len(best) > 1 else "is"
        tied = f" ({ties})" if (ties := _ties(best, won)) else ""
        said = (
            f"best {isolated} {_joined(best)}: clearly the {way.best} in "
            f"{_of_all(where.of(won), among)}{tied}, and clearly worse in none"
        )
    elif won:
        (name, count), *wins = where.each(won)
        first = f"{name} in {_of_all(count, among)}"
        clearly = "clearly " if unclear else ""
        more = [" in ".join(one) for one in wins]
        said = f"no single one is best: {clearly}the {way.best} is {listed([first, *more])}"
    else:
        said = "none is clearly best"
    if unclear:
        (name, count), *more_led = where.each(unclear)
        have = _have(name)
        of_all = count if won else _of_all(count, among)
        first = f"{name} {have} {_mean_words(way)} in {of_all}"
        led = listed([first, *(" in ".join(one) for one in more_led)])
        said += f"{'; ' if won else ': '}{led}, but not clearly"
    if not is_one and is_choice and len(good) <= _MOST_NAMED and unclear:
        said += f"; {_in_none(good)}"
    return said


def _short(found: Sequence[First], way: Direction) -> str:
    """What is said of many in two short sentences: how often which one is clearly first, or none
    is, and which ones are a good choice everywhere, or lead most often.
    """
    among = len(found)
    good, is_choice = _good(found)
    won = [one for one in found if one.is_clear]
    always = [name for name in good if won and all(name in one.best for one in won)]
    if always:
        are, they = ("are", "They are") if len(always) > 1 else ("is", "It is")
        tied = f" ({ties})" if (ties := _ties(always, won)) else ""
        return (
            f"best {are} {_joined(always)}: clearly the {way.best} in {len(won)} of {among} "
            f"combinations{tied}. {they} clearly worse in none"
        )
    first = f"none is clearly best in any of {among} combinations"
    if won:
        # Those that are the same are one: the numbers are of different combinations.
        wins = Counter(_tied(one.best) for one in won).most_common()
        few = wins if len(wins) <= _MOST_NAMED else wins[: _MOST_NAMED - 1]
        parts = [f"{name} in {times}" for name, times in few]
        if rest := len(won) - sum(times for _, times in few):
            parts.append(f"others in {rest}")
        parts[0] += f" of {among} combinations"
        first = f"no single one is best: clearly the {way.best} is {listed(parts)}"
    if is_choice:
        return f"{first}. {_in_none(good)}"
    if len(won) == sum(bool(one.best) for one in found):
        # It was said.
        return first
    # Also where others are the same.
    led = {
        name: [place for place, one in enumerate(found) if name in one.best]
        for name in dict.fromkeys(name for one in found for name in one.best)
    }
    most = max(led.values(), key=len)
    name = _tied([one for one, places in led.items() if places == most])
    return f"{first}. Most often {name} {_have(name)} {_mean_words(way)}, in {len(most)}"


def _good(found: Sequence[First]) -> tuple[list[str], bool]:
    """The values that are clearly worse at no combination, and whether there are such ones and
    others.
    """
    every = dict.fromkeys(name for one in found for name in (*one.best, *one.others))
    worse = {name for one in found for name in {*one.others} - {*one.near}}
    good = [name for name in every if name not in worse]
    return good, 0 < len(good) < len(every)


def _in_none(good: Sequence[str]) -> str:
    """That these values are such ones."""
    return f"{_joined(good)} {'are' if len(good) > 1 else 'is'} clearly worse in none"


def _few(found: Sequence[First], way: Direction, where: _Where) -> str:
    """The few values of which one is a good choice at each combination, the first one at most of
    these; "" if all that are best are as few, or a single one is so everywhere.
    """
    here = [one for one in found if one.best]
    sets = {(one.best, one.is_clear) for one in here}
    if len(sets) <= _MOST_SETS:
        return ""
    left, parts = here, list[tuple[str, list[First]]]()
    while left:
        names = dict.fromkeys(name for one in left for name in (*one.best, *one.near))
        # Of those that are good as often the one that is best most often.
        counts = {
            name: (
                sum(name in (*one.best, *one.near) for one in left),
                sum(name in one.best for one in left),
            )
            for name in names
        }
        name = max(counts, key=lambda one: counts[one])
        parts.append((name, [one for one in left if name in (*one.best, *one.near)]))
        left = [one for one in left if name not in (*one.best, *one.near)]
    (name, some), *more = parts
    if not more:
        return ""
    clear = sum(one.is_clear and name in one.best for one in some)
    how = f"the {way.best}" + ", or not clearly apart from it," * (clear < len(some))
    # Where the other one is says where this one is.
    is_other = len(more) == 1 and sum(len(one) for _, one in parts) == len(found)
    count = _of_all(f"{len(some)}" if is_other else where.of(some), len(found))
    # Those with a part of their own say there where else they are as good.
    own = [one for one, _ in parts]
    same = f", and {ties}" if (ties := _ties([name], some, own)) else ""
    said = f"no single one is best: {name} is {how} in {count}{same}"
    last = " the other" if is_other else ""
    rest = []
    for other, those in more[:_MOST_NAMED]:
        every = sum(other in (*one.best, *one.near) for one in here)
        # Combinations of values before it at which it is a good choice, too.
        also = every - len(those)
        is_so, more_of = (" is so", f", and also in {also} of those before") if also else ("", "")
        same = f", and {ties}" if (ties := _ties([other], those, own)) else ""
        rest.append(f"{other}{is_so} in{last} {where.of(those)}{same}{more_of}")
    if len(more) > _MOST_NAMED:
        rest.append(f"others in {sum(len(those) for _, those in more[_MOST_NAMED:])}")
    return f"{said}; {'; '.join(rest)}"


def _mean_words(way: Direction) -> str:
    return "the lowest mean" if way.sign < 0 else "the highest mean"


def _have(name: str) -> str:
    return "have" if " and " in name else "has"


def _tied(names: Sequence[str]) -> str:
    """The best values of some combinations, in a list of such ones."""
    return f"{_joined(names)}{' (the same there)' if len(names) > 1 else ''}"


def _ties(names: Sequence[str], found: Sequence[First], told: Sequence[str] = ()) -> str:
    """In how many of some combinations others, but those that are `told` of, are the same as these
    values; "" if in none.
    """
    known = {*names, *told}
    tied = [one for one in found if {*names} < {*one.best} and {*one.best} - known]
    sets = [[name for name in one.best if name not in known] for one in tied]
    others = [*dict.fromkeys(name for each in sets for name in each)]
    are_all = all(len(each) == len(others) for each in sets)
    are = "are" if are_all and len(others) > 1 else "is"
    named = _joined(others, "and" if are_all else "or")
    how_many = "all" if len(tied) == len(found) else str(len(tied))
    return f"{named} {are} the same in {how_many} of them" if tied else ""


def _joined(names: Sequence[str], word: str = "and") -> str:
    """Some names as a list in a sentence; the first ones of many."""
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} others"]
    return joined(names, word)
