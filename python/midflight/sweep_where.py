"""At which values of the axes of a sweep something is so, in words: where a scheme is faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from midflight.listing import joined, listed

__all__ = ["where_words"]

#: The values of a combination, one of each axis.
_Point: TypeAlias = tuple[str, ...]
#: Values are named up to this number.
_MOST_NAMED = 4
#: Counts at each value are named if the shares there differ by this much.
_LEAST_APART = 0.3


def where_words(some: Sequence[_Point], every: Sequence[_Point], axes: Sequence[str]) -> str:
    """Return which ones `some` of all combinations of values of these axes are, in brackets with a
    space before them; "" if these are all or none, or if no few words say it.

    They are named by the values of each axis, or, if they are not all combinations of some values,
    by the values at which all or none of them are, or by their number at each value of an axis.
    """
    if not some or len({*some}) == len({*every}):
        return ""
    found = [_Axis(place, name, every) for place, name in enumerate(axes)]
    varied = [one for one in found if len(one.values) > 1]
    chosen = {one.name: {point[one.place] for point in some} for one in varied}
    inside = [p for p in every if all(p[one.place] in chosen[one.name] for one in varied)]
    if len({*inside}) == len({*some}):
        told = [one for one in varied if len(chosen[one.name]) < len(one.values)]
        parts = [one.words(chosen[one.name], is_alone=len(varied) == 1) for one in told]
        return f" ({listed(parts)})" if all(parts) else ""
    each = {one.name: one.shares(some, every) for one in varied}
    every_where = _told(varied, each, lambda count, of: count == of)
    # Where none is, in the words that are clearer beside the others.
    if every_where:
        nowhere = _told(varied, each, lambda count, _: count == 0)
        parts = [f"everywhere with {every_where}", f"nowhere with {nowhere}" if nowhere else ""]
    else:
        only = _told(varied, each, lambda count, _: count > 0, most=False)
        parts = [f"only with {only}" if only else _counts(varied, each)]
    said = listed([*filter(None, parts)])
    return f" ({said})" if said else ""


def _told(
    varied: Sequence[_Axis],
    each: Mapping[str, Mapping[str, tuple[int, int]]],
    is_one: Callable[[int, int], bool],
    *,
    most: bool = True,
) -> str:
    """The values of the axis of which most combinations, or fewest, but not all, have one of these,
    by how many there are of all with a value; "" without such an axis, or if no few words say it.
    """
    found = []
    for one in varied:
        counts = each[one.name]
        values = {value for value, (count, of) in counts.items() if is_one(count, of)}
        if 0 < len(values) < len(one.values) and (text := one.words(values)):
            found.append((sum(counts[value][1] for value in values), text))
    choose = max if most else min
    return choose(found, key=lambda one: one[0])[1] if found else ""


class _Axis:
    """An axis with its values, numbers in their order."""

    def __init__(self, place: int, name: str, every: Sequence[_Point]) -> None:
        from midflight.plot.results.places import axis_places

        self.place, self.name = place, name
        values = list(dict.fromkeys(point[place] for point in every))
        self.numbers, names, _ = axis_places(values, name)
        self.has_numbers = names is None
        self.values = sorted(values, key=self.numbers.__getitem__)

    def shares(self, some: Sequence[_Point], every: Sequence[_Point]) -> dict[str, tuple[int, int]]:
        """How many of all combinations with each value are some."""
        here, of = (Counter(point[self.place] for point in each) for each in (some, every))
        return {value: (here[value], of[value]) for value in self.values}

    def words(self, chosen: set[str], *, is_alone: bool = False) -> str:
        """Some of the values, with the name of the axis unless it `is_alone`; "" if they are many
        and no range.
        """
        from midflight.plot.common.names import with_value
        from midflight.plot.common.style import short_label
        from midflight.plot.results.axis import shown_value

        rest = {self.numbers[one] for one in self.values if one not in chosen}
        if rest & {self.numbers[one] for one in chosen}:
            # Texts of the same number, such as 1 s and 1000 ms.
            return ""
        places = [place for place, value in enumerate(self.values) if value in chosen]
        first, last = places[0], places[-1]
        names = [shown_value(self.values[place]) for place in places]
        is_range = self.has_numbers and last - first + 1 == len(places) > 1
        if is_range and first == 0:
            said = f"up to {names[-1]}"
        elif is_range and last + 1 == len(self.values):
            said = f"from {names[0]} on"
        elif is_range and len(places) > 2:
            said = f"{names[0]} to {names[-1]}"
        elif len(names) <= _MOST_NAMED:
            said = f"{'at ' * is_alone}{joined(names, 'and' if is_alone else 'or')}"
        else:
            return ""
        return said if is_alone else with_value(short_label(self.name), said)


def _counts(varied: Sequence[_Axis], each: Mapping[str, Mapping[str, tuple[int, int]]]) -> str:
    """How many there are at each value of the axis where these numbers differ most; "" if they are
    nearly the same, or many.
    """
    from midflight.plot.common.style import short_label
    from midflight.plot.results.axis import shown_value

    found = []
    for one in varied:
        shares = [count / of for count, of in each[one.name].values()]
        if len(shares) <= _MOST_NAMED:
            found.append((max(shares) - min(shares), one))
    if not found or (best := max(found, key=lambda one: one[0]))[0] < _LEAST_APART:
        return ""
    axis = best[1]
    words = [f"{count} of {of} at {shown_value(v)}" for v, (count, of) in each[axis.name].items()]
    return f"by {short_label(axis.name)}: {', '.join(words)}"
