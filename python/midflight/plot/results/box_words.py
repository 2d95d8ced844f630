"""What figures of boxes say of their boxes, points and arrows."""

from __future__ import annotations

import math

from midflight.plot.results.rows import Pooled, over_words
from midflight.plot.results.spread_data import (
    BEYOND,
    Spread,
    box_of,
    known_of,
)

__all__ = ["box_words"]

#: What the marks of boxes are, also of values of which none is beyond the whiskers, and what
#: markers are.
_BOXES = "boxes 25 to 75 % and whiskers to the runs at 5 and 95 %"
_OF_ALL = "boxes 25 to 75 % and whiskers from the least to the largest"
_ALIKE = "markers: {} that are alike"


def box_words(data: Spread, counted: str, missing: str, pooled: Pooled) -> str:
    """What the marks of boxes are, of how many runs or values, and those of equal values; what is
    said of `missing` runs; what arrows are; and what is `pooled`.
    """
    every = [values for group in data.groups for values in group.values]
    cells = [values if data.is_time else known_of(values) for values in every]
    boxes = [box_of(data, values) for values in every]
    alike = [len({*one.points}) == 1 and math.isfinite(one.points[0]) for one in boxes]
    counts = [*map(len, cells)]
    # What is pooled is a part of its own.
    apart = "; " if pooled.axes else ", "
    what = counted.removesuffix("s")
    if all(len(one) == 1 for one in cells):
        marks = f"no boxes, as each is of one {what}"
    elif all(alike):
        marks = f"no boxes, as the {counted} of each are alike"
        marks = over_words(marks, counts, counted, pooled, "marker") if pooled.axes else marks
    elif data.has_points:
        marks = f"a point for each {what} and a line at the median"
        marks = over_words(marks, counts, counted, pooled, "line")
        marks += f"{apart}{_ALIKE.format(counted)}" if any(alike) else ""
    else:
        is_beyond = any(len(one) * BEYOND >= 1 for one in cells)
        marks = over_words(_BOXES if is_beyond else _OF_ALL, counts, counted, pooled, "box")
        has_beyond = any(one.singles for one in boxes)
        marks += f"{apart}points: {counted} beyond these" if has_beyond else ""
        marks += f"{apart}{_ALIKE.format(counted)}" if any(alike) else ""
    is_endless = data.is_time and any(math.isnan(one) for values in every for one in values)
    words = (marks, f"arrows: {missing}" if is_endless else missing, pooled.flows)
    return "; ".join(filter(None, words))
