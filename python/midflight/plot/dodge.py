"""Where markers and whiskers of several lines stand that belong to the same number of an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

__all__ = ["APART_PT", "ARROWS_APART_PT", "dodge"]

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
