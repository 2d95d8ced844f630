"""Where markers and whiskers of several lines stand that belong to the same number of an axis."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = [
    "Apart",
    "beside",
    "dodge",
    "marker_high",
    "most_beside",
    "side_by_side_at_names",
]

#: The height of a marker, and the room above and below the values, in points.
_MARKER_PT, _AROUND_PT = 5.0, 80.0

#: Lines with the same x stand so far apart, in points, where there is room, ...
_APART_PT = 4.0
#: ... the outer ones no farther than this from each other, so that curves keep their form, ...
_MOST_APART_PT = 9.0
#: ... and take up no more than this share of the way to the next x.
_SHARE_OF_STEP = 0.6
#: Half the width of the caps of whiskers, in points, and its share of the way to the next whisker.
_CAP_PT, _CAP_SHARE = 2.2, 0.35


class Apart(NamedTuple):
    """The way between two lines at one place, in the unit of the axis or of its logarithm, and half
    the width of the caps of their whiskers, in points, so that these do not overlap.
    """

    step: float
    cap_pt: float = _CAP_PT


def dodge(places: Iterable[float], lines: int, width_in: float, *, is_log: bool) -> Apart:
    """Return how far apart so many lines stand whose whiskers touch at some number, in a figure so
    wide. Each marker is on its whisker, and the lines go through the markers.
    """
    values = sorted({math.log(x) if is_log else x for x in places})
    if len(values) < 2 or lines < 2:
        return Apart(0.0)  # One number, written in two units.
    point = (values[-1] - values[0]) / _room_pt(width_in)
    nearest = min(b - a for a, b in pairwise(values))
    most_pt = min(_APART_PT, _MOST_APART_PT / (lines - 1))
    step = min(most_pt * point, _SHARE_OF_STEP * nearest / lines)
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


def beside(lines: Sequence[Sequence[tuple[float, float, float]]], marker: float) -> list[float]:
    """Return how far each line stands from its numbers, in steps of `dodge`.

    A mark is a number and the ends of a whisker there; markers are so high. Lines with marks that
    would touch at some number stand side by side at all of them, in their order, so that each keeps
    its form; others stand at their numbers.
    """
    # The lines with which each stands together.
    together = [{number} for number in range(len(lines))]
    marks: defaultdict[float, list[tuple[float, float, int]]] = defaultdict(list)
    for number, line in enumerate(lines):
        for x, low, high in line:
            if not (math.isnan(low) or math.isnan(high)):
                marks[x].append((low, high, number))
    for each in marks.values():
        top, below = -math.inf, -1
        for low, high, number in sorted(each):
            if below >= 0 and low <= top + marker:
                found = together[below] | together[number]
                for one in found:
                    together[one] = found
            if high >= top or below < 0:
                top, below = high, number
    return [
        sorted(found).index(number) - (len(found) - 1) / 2 for number, found in enumerate(together)
    ]


def most_beside(asides: Sequence[float]) -> int:
    """Return how many lines stand side by side at the most."""
    return round(2 * max(asides, default=0.0)) + 1
