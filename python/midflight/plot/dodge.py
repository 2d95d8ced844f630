"""Where markers and whiskers of several lines stand that belong to the same number of an axis."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

__all__ = ["APART_PT", "ARROWS_APART_PT", "SIDE_BY_SIDE", "beside", "dodge", "marker_high"]

#: What a figure says of points beside their number.
SIDE_BY_SIDE = "points at one place stand side by side"
#: The height of a marker, and the room above and below the values, in points.
_MARKER_PT, _AROUND_PT = 5.0, 80.0

#: Whiskers of lines with the same x stand so far apart, in points, where there is room, arrows that
#: would cover each other so far, ...
APART_PT, ARROWS_APART_PT = 2.0, 5.0
#: ... and take up no more than this share of the way to the next x.
_SHARE_OF_STEP = 0.4


def dodge(
    places: Iterable[float],
    lines: int,
    width_in: float,
    *,
    is_log: bool,
    apart_pt: float = APART_PT,
) -> float:
    """Return the distance between the markers and whiskers of lines at the same number, in the unit
    of the axis, or of its logarithm. The ticks are at the numbers.
    """
    values = sorted({math.log(x) if is_log else x for x in places})
    if len(values) < 2:
        return 0.0  # One number, written in two units.
    point = (values[-1] - values[0]) / ((width_in - 0.8) * 72)
    nearest = min(b - a for a, b in pairwise(values))
    return min(apart_pt * point, _SHARE_OF_STEP * nearest / max(1, lines))


def marker_high(extent: float, height_in: float) -> float:
    """Return the height of a marker in the unit of an axis of values, by the extent of these and
    the height of the figure.
    """
    return extent * _MARKER_PT / max(36.0, 72 * height_in - _AROUND_PT)


def beside(
    lines: Sequence[Sequence[tuple[float, float, float]]], marker: float
) -> list[list[float]]:
    """Return how far the marks of each line stand from their numbers, in steps of `dodge`.

    A mark is a number and the ends of a whisker there; markers are so high. Marks that would touch
    those of other lines at their number stand side by side, in the order of the lines; others, and
    those without a value, stand at their number.
    """
    found = [[0.0] * len(one) for one in lines]
    marks: defaultdict[float, list[tuple[float, float, int, int]]] = defaultdict(list)
    for number, line in enumerate(lines):
        for place, (x, low, high) in enumerate(line):
            if not (math.isnan(low) or math.isnan(high)):
                marks[x].append((low, high, number, place))
    for each in marks.values():
        together: list[list[tuple[float, float, int, int]]] = []
        top = -math.inf
        for mark in sorted(each):
            if together and mark[0] <= top + marker:
                together[-1].append(mark)
                top = max(top, mark[1])
            else:
                together.append([mark])
                top = mark[1]
        for some in together:
            for at, (_, _, number, place) in enumerate(sorted(some, key=lambda one: one[2:])):
                found[number][place] = at - (len(some) - 1) / 2
    return found
