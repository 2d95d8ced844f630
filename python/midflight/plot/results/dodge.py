"""Where lines with whiskers stand: at their numbers, or a little aside if whiskers of theirs would
cover each other.

A line stands aside as a whole, by a few points and everywhere as far, with its markers and
whiskers: one that is beside its line would seem to be of another. Lines that are the same as
another stand where that does.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.place_scale import PlaceScale

__all__ = [
    "ASIDE",
    "Apart",
    "Whiskers",
    "beside",
    "dodge",
    "has_seen",
    "marker_high",
    "side_by_side_at_names",
    "whiskers_of",
]

#: The height of a marker, and the room above and below the values, in points.
_MARKER_PT, _AROUND_PT = 5.0, 80.0

#: Lines whose whiskers would cover each other are so far apart, in points, ...
_APART_PT = 4.0
#: ... none farther than this from its number, with this more for each line after the second, ...
_MOST_ASIDE_PT, _EACH_ASIDE_PT = 4.0, 0.5
#: ... and than this share of the way to the next number, or that one if they are many.
_SHARE_OF_WAY, _SHARE_OF_MANY, _MANY = 1 / 8, 1 / 6, 5
#: Half the width of the caps of whiskers, in points, and its share of the way to the next whisker.
_CAP_PT, _CAP_SHARE = 2.2, 0.35
#: Whiskers that are this share of the height of a marker apart do not cover each other.
_GAP = 0.2
#: A band is seen if it is as wide as this share of the height of a marker.
_SEEN_BAND = 0.25


class Apart(NamedTuple):
    """The way between two lines that stand side by side, in the unit of the axis or of its
    logarithm, and half the width of the caps of whiskers, in points, which do not overlap then.
    """

    step: float
    cap_pt: float = _CAP_PT


class Whiskers(NamedTuple):
    """The places of the markers and whiskers of each line, and half the width of caps, in points;
    whether any stand aside of their numbers.
    """

    at: Sequence[NDArray[np.float64]]
    cap_pt: float = _CAP_PT
    are_aside: bool = False


#: What a figure says where they do.
ASIDE = "lines a little aside, so that whiskers do not cover each other"


#: A number, and the ends of the whisker there.
_Mark = tuple[float, float, float]


def dodge(places: Iterable[float], most: int, width_in: float, scale: PlaceScale) -> Apart:
    """Return how far apart lines stand of which so many stand side by side, in a figure so wide."""
    values = sorted({float(scale.along(x)) for x in places})
    if len(values) < 2 or most < 2:
        return Apart(0.0)  # One number, written in two units.
    point = (values[-1] - values[0]) / _room_pt(width_in)
    nearest = min(b - a for a, b in pairwise(values))
    most_pt = _MOST_ASIDE_PT + _EACH_ASIDE_PT * (most - 2)
    share = _SHARE_OF_WAY if most < _MANY else _SHARE_OF_MANY
    aside = min(most_pt * point, share * nearest)
    step = min(_APART_PT * point, 2 * aside / (most - 1))
    return Apart(step, _cap_pt(step / point))


def side_by_side_at_names(step: float, names: int, width_in: float) -> Apart:
    """Return what `dodge` does for so many names, whose lines stand this share of the way to the
    next name apart.
    """
    return Apart(step, _cap_pt(step * _room_pt(width_in) / max(1, names)))


def _room_pt(width_in: float) -> float:
    return (width_in - 0.8) * 72


def _cap_pt(apart_pt: float) -> float:
    return min(_CAP_PT, _CAP_SHARE * apart_pt)


def marker_high(extent: float, height_in: float) -> float:
    """Return the height of a marker in the unit of an axis of values, by the extent of these and
    the height of the figure.
    """
    return extent * _MARKER_PT / max(36.0, 72 * height_in - _AROUND_PT)


def has_seen(lines: Sequence[Sequence[_Mark]], marker: float, *, bands: bool) -> bool:
    """Whether any whisker is longer than a marker is high, or any band so wide that it is seen."""
    least = marker * (_SEEN_BAND if bands else 1.0)
    return any(high > low + least for line in lines for _, low, high in line)


def beside(lines: Sequence[Sequence[_Mark]], marker: float) -> list[float]:
    """Return how far each line stands from its numbers, in steps of `dodge`.

    Those whose whiskers would cover each other at any number stand side by side in their order;
    others are at the numbers. A whisker that is hidden by a marker, which is so high, covers none.
    """
    marks: defaultdict[float, list[tuple[float, float, int]]] = defaultdict(list)
    first: dict[str, int] = {}
    same = [first.setdefault(repr(line), number) for number, line in enumerate(lines)]
    for number, line in enumerate(lines):
        for x, low, high in line if same[number] == number else ():
            # Not a number: there is no whisker.
            if high > low + marker or high == low == math.inf:
                marks[x].append((low, high, number))
    aside: set[int] = set()
    for each in marks.values():
        together: set[int] = set()
        top = -math.inf
        for low, high, number in sorted(each):
            if low > top + _GAP * marker:
                together = set()
            together.add(number)
            if len(together) > 1:
                aside |= together
            top = max(top, high)
    order = {number: place for place, number in enumerate(sorted(aside))}
    middle = (len(aside) - 1) / 2
    return [order[number] - middle if number in order else 0.0 for number in same]


def whiskers_of(
    lines: Sequence[Sequence[_Mark]],
    marker: float,
    width_in: float,
    scale: PlaceScale,
    *,
    bands: bool = False,
) -> Whiskers:
    """Return where the lines of a figure over numbers stand, with their whiskers; it is so wide,
    and its markers are so high in the unit of the ends. Lines with `bands` stand at their numbers.
    """
    steps = beside(lines, marker)
    most = round(2 * max(steps, default=0.0)) + 1
    apart = dodge([x for line in lines for x, _, _ in line], most, width_in, scale)
    found = []
    for line, steps_aside in zip(lines, steps, strict=True):
        at = np.array([x for x, _, _ in line], dtype=np.float64)
        aside = 0.0 if bands else apart.step * steps_aside
        found.append(scale.moved(at, aside))
    return Whiskers(found, apart.cap_pt, apart.step > 0 and any(steps) and not bands)
