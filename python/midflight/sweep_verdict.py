"""Which compared value of a sweep is best, in a sentence, as far as pairs of runs tell.

One that has the best mean, but is not clearly apart from others, is named with these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from midflight.sweep_results import compare
from midflight.sweep_words import all_of, direction_of, is_no_other, side_of

if TYPE_CHECKING:
    from midflight.sweep_results import Comparison, Group
    from midflight.sweep_summary import Summary
    from midflight.sweep_words import Direction

__all__ = ["best_lines"]

#: With so many pairs in which only the same one of two finishes, a sign test has p < 0.05.
_LEAST_APART = 6
#: Values that a sentence names; more are counted.
_MOST_NAMED = 4


class _First(NamedTuple):
    """The value with the best mean in one combination, or all those that are the same as it in all
    pairs, or differ by too little to matter, by their names; none if that is not known, or if all
    are the same. The other values that are `near` it cannot be told apart from it, and the `others`
    are all but it.
    """

    best: tuple[str, ...]
    near: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def is_clear(self) -> bool:
        return bool(self.best) and not self.near


def best_lines(summary: Summary) -> Iterator[str]:
    """Yield for each flow which compared value is best, or has the best mean and cannot be told
    apart from which others; nothing of a metric that is not known to be better one way.
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
    place = summary.by.index(axis)
    sets: dict[tuple[str, ...], list[Group]] = {}
    for one in summary.grouped:
        # Nothing is known of values whose flows were all done before the handoff.
        if not one.counted:
            continue
        others = (*one.values[:place], *one.values[place + 1 :])
        sets.setdefault((one.flow, *others), []).append(one)
    # Without any pair nothing is said of single ones.
    told = any(one.samples > 1 for one in summary.compared) or not summary.has_pairs
    several_flows = len({one.flow for one in summary.grouped}) > 1
    for flow in dict.fromkeys(one.flow for one in summary.grouped):
        every = [groups for (of, *_), groups in sets.items() if of == flow and len(groups) > 1]
        if not every:
            continue
        found = [_first(groups, place, way.sign, summary, has_intervals=told) for groups in every]
        said = _best(found, way, has_intervals=told)
        # A name is at the beginning as it is everywhere, without a capital.
        is_name = any(one.best and said.startswith(f"{one.best[0]} ") for one in found)
        # What is near because few of its runs finish, or none, is not alike.
        ended, is_near = summary.finished(flow), any(one.near for one in found if one.best)
        few = any(not one.done or (is_near and 2 * one.done <= one.runs) for one in ended)
        if few and any(one.done for one in ended):
            each = (one._replace(value=shown_value(one.value)).ended_words() for one in ended)
            said = f"{said}; {summary.end_word} {', '.join(each)}"
        if several_flows:
            said = f"For {flow}: {said}"
        elif not is_name:
            said = f"{said[0].upper()}{said[1:]}"
        yield said


def _extremes(summary: Summary) -> Iterator[str]:
    """Yield for each flow of a sweep that compares nothing at which values its median is least and
    largest, if several are different.
    """
    from midflight.plot.common.names import column_name, short_name, within_text
    from midflight.plot.common.style import labelled
    from midflight.plot.results.axis import shown_value, unit_of

    unit, scale = unit_of(summary.metric)
    axes = [place for place, key in enumerate(summary.by) if len(summary.asked.axes[key]) > 1]
    flows = list(dict.fromkeys(one.flow for one in summary.grouped))

    def at(one: Group) -> str:
        number = f"{scale * one.quartiles().median:.3g} {unit}".rstrip()
        names = [
            f"{labelled(short_name(summary.by[place]))} {shown_value(one.values[place])}"
            for place in axes
        ]
        return f"{number} with {', '.join(names)}"

    for flow in flows:
        every = [one for one in summary.grouped if one.flow == flow and one.counted]
        known = [one for one in every if math.isfinite(one.quartiles().median)]
        least, largest = (
            some(known, key=lambda one: one.quartiles().median, default=None) for some in (min, max)
        )
        if least is None or largest is None or at(least).split()[0] == at(largest).split()[0]:
            continue
        of = f" of {flow}" if len(flows) > 1 else ""
        named = within_text(labelled(column_name(summary.metric)))
        median = "median " if any(len(one.counted) > 1 for one in known) else ""
        said = f"The {median}{named}{of} is least, {at(least)}, and largest, {at(largest)}"
        left = len(every) - len(known)
        ended = "half of the runs or more did not finish" if median else "the run did not finish"
        yield f"{said}; in {left} of {len(every)} combinations {ended}" if left else said


def _first(
    groups: Sequence[Group], place: int, sign: int, summary: Summary, *, has_intervals: bool
) -> _First:
    """Return which value of one combination is first, and which ones are not clearly worse. If any
    change has several samples (`has_intervals`), it is known how much chance does.
    """
    from midflight.plot.results.axis import shown_value

    names = {one.values[place]: shown_value(one.values[place]) for one in groups}
    first = min(groups, key=lambda one: _rank(one, sign))
    value = first.values[place]
    found = compare(groups, summary.by, summary.by[place], [value, *names])
    open_ones = [
        one for one in found if not _is_behind(one, sign, summary, has_intervals=has_intervals)
    ]
    same = [one.value for one in open_ones if is_no_other(one) and not one.value_missing]
    near = tuple(names[one.value] for one in open_ones if one.value not in same)
    others = tuple(name for other, name in names.items() if other not in (value, *same))
    means = [_mean(one) for one in groups]
    # Of values of which more are missing the mean may be better; it is that of other runs.
    is_first = all(sign * (_mean(first) - mean) >= 0 for mean in means if math.isfinite(mean))
    is_known = bool(others) and math.isfinite(_mean(first)) and (is_first or not near)
    best = tuple(names[one] for one in (value, *same)) if is_known else ()
    return _First(best, near, others)


def _mean(one: Group) -> float:
    """The mean of the results of a group; infinite without any."""
    there = [value for value in one.counted.values() if math.isfinite(value)]
    return sum(there) / len(there) if there else math.inf


def _rank(one: Group, sign: int) -> tuple[int, float]:
    """What sorts the values of one combination: those with most results first, then the best."""
    return one.missing(), -sign * _mean(one)


def _is_behind(one: Comparison, sign: int, summary: Summary, *, has_intervals: bool) -> bool:
    """Whether a value is clearly worse than the one that may be the best, its baseline, which has
    a result in each pair. A transfer that is not done took longer than one that is.
    """
    if one.baseline_missing or math.isnan(one.difference):
        is_time = sign < 0 and summary.metric.endswith("_ns")
        if is_time and one.baseline_missing and one.value_missing == one.left_out and not one.pairs:
            # Only the other one finished in so many pairs that chance is ruled out.
            return one.left_out - one.baseline_missing >= _LEAST_APART
        return is_time and not one.baseline_missing and one.value_missing > 0 and not one.pairs
    if has_intervals and one.samples == 1:
        return False
    return side_of(one) == -sign


def _best(found: Sequence[_First], way: Direction, *, has_intervals: bool) -> str:
    """Return which values are best, or first, by the number of combinations in which each is so."""
    among = len(found)
    led = Counter(one.best for one in found if one.best)
    won = Counter(one.best for one in found if one.is_clear)
    one_each = "" if has_intervals else " (one pair of runs each, so chance is not ruled out)"
    if not led:
        where = f" in any of the {among} combinations" if among > 1 else ""
        return f"none is clearly best{where}{one_each}"
    rest = among - sum(led.values())
    said = _several(found, led, won, way) if len(led) > 1 else _alone(found, won.total(), way)
    if rest:
        said += f"; in the other {rest} none is clearly best"
    return f"{said}{one_each}" if won else said


def _alone(found: Sequence[_First], clear: int, way: Direction) -> str:
    """What is said if the same value is first wherever it is known which is."""
    here = [one for one in found if one.best]
    among, count, best = len(found), len(here), here[0].best
    name = _joined(best)
    isolated = "are" if len(best) > 1 else "is"
    where = f" in {all_of(among)}" if among > 1 else ""
    if clear == among:
        return f"best {isolated} {name}: the {way.best}{where}"
    if clear == count:
        return f"best in {count} of {among} combinations {isolated} {name}, the {way.best} there"
    if count < among:
        where = f" in {count} of {among} combinations"
    it, has = ("they", "have") if len(best) > 1 else ("it", "has")
    near = _near(here, "of them" if count > 1 and not clear else "")
    said = f"{name} {has} {_mean_words(way)}{where}"
    if clear:
        left = count - clear
        return (
            f"{said}, and {isolated} clearly the {way.best} in {clear} of them; in the other "
            f"{left} {it} cannot be told apart from {near}"
        )
    return f"{said}; {it} cannot be told apart from {near}"


def _near(found: Sequence[_First], of_them: str) -> str:
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


def _several(
    found: Sequence[_First],
    led: Counter[tuple[str, ...]],
    won: Counter[tuple[str, ...]],
    way: Direction,
) -> str:
    """What is said if the first one differs among combinations."""
    among, is_clear = len(found), won == led
    # Those that are a good choice everywhere.
    every = dict.fromkeys(name for one in found for name in (*one.best, *one.others))
    good = [name for name in every if not any(name in {*one.others} - {*one.near} for one in found)]
    if len(won) == 1 and {*(best := next(iter(won)))} <= {*good}:
        # Where some of the best ones are first without the others, no other one is first.
        firsts = [
            (rest, times)
            for names, times in led.most_common()
            if (rest := [name for name in names if name not in best])
        ]
        isolated = "are" if len(best) > 1 else "is"
        said = (
            f"best {isolated} {_joined(best)}: clearly the {way.best} in {won[best]} of {among} "
            "combinations, and clearly worse in none"
        )
        if not firsts:
            return said
        (first, times), *more = firsts
        each = [f"{_joined(names)} in {count}" for names, count in more]
        if len(each) > _MOST_NAMED:
            each[_MOST_NAMED:] = [f"others in {sum(n for _, n in more[_MOST_NAMED:])}"]
        have = "have" if len(first) > 1 else "has"
        lowest = f"{_joined(first)} {have} {_mean_words(way)} in {times}"
        return f"{said}; {', '.join([lowest, *each])}"
    what = f"the {way.best} is" if is_clear else f"{_mean_words(way)} is that of"
    wins = [f"{_joined(names)} in {times}" for names, times in led.most_common()]
    wins[0] += f" of {among} combinations"
    if len(wins) > _MOST_NAMED + 1:
        wins[_MOST_NAMED:] = [f"others in {sum(n for _, n in led.most_common()[_MOST_NAMED:])}"]
    said = f"no single one is best: {what} {', '.join(wins)}"
    if is_clear:
        return said
    if won:
        clear = [f"{_joined(names)} in {times}" for names, times in won.most_common()]
        left = len(clear) - _MOST_NAMED
        clear[_MOST_NAMED:] = [f"{left} others"] if left > 0 else []
        said += f"; it is clearly so for {', '.join(clear)}"
    else:
        said += "; none of them is clearly so"
    if len(good) == len(every):
        return f"{said}, and none is clearly worse than another"
    if 0 < len(good) <= _MOST_NAMED:
        said += f"; {_joined(good)} {'are' if len(good) > 1 else 'is'} clearly worse in none"
    return said


def _mean_words(way: Direction) -> str:
    return "the lowest mean" if way.sign < 0 else "the highest mean"


def _joined(names: Sequence[str], word: str = "and") -> str:
    """Some names as a list in a sentence; the first ones of many."""
    from midflight.plot.results.unfinished import joined

    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} others"]
    return joined(names, word)
