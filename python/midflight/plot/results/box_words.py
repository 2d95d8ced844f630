"""What figures of boxes say of their boxes and arrows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from midflight.plot.results.rows import over_words
from midflight.plot.results.spread_data import Spread, known_of, quantiles_of

__all__ = ["arrow_words", "box_words", "has_no_boxes"]

#: What the marks of boxes are, and what markers are.
_BOXES = "boxes 25 to 75 % and whiskers 5 to 95 %"
_ALIKE = "markers: runs that are alike"


def has_no_boxes(data: Spread) -> bool:
    """Whether too few runs have a value for any part of a box."""
    cells = (values for group in data.groups for values in group.values)
    return not any(math.isfinite(one) for values in cells for one in quantiles_of(data, values))


def box_words(data: Spread, counted: str) -> str:
    """What the marks of boxes are, of how many runs or values, and those of equal values."""
    cells = [
        values if data.is_time else known_of(values)
        for group in data.groups
        for values in group.values
    ]
    if all(len(one) == 1 for one in cells):
        return "no boxes, as each is of one run"
    if has_no_boxes(data):
        return "no boxes: half or more of the runs did not finish; the kind cdf shows the others"
    boxes = [quantiles_of(data, one) for one in cells]
    alike = [len({*one}) == 1 and math.isfinite(one[0]) for one in boxes]
    if all(alike):
        return "no boxes, as the runs of each are alike"
    boxes_of = f"{_BOXES} {over_words(map(len, cells), counted)}"
    return f"{boxes_of}, {_ALIKE}" if any(alike) else boxes_of


def arrow_words(boxes: Sequence[Sequence[float]], *, is_of_runs: bool) -> str:
    """What the arrows of boxes are that have infinite quantiles, or of single runs."""
    if is_of_runs:
        return "arrows where runs did not finish"
    parts = []
    if any(math.isinf(one[2]) and not math.isinf(one[1]) for one in boxes):
        parts.append("without a median: half or more")
    if any(math.isinf(one[1]) for one in boxes):
        parts.append("without a box: most")
    more = f" ({', '.join(parts)})" if parts else ""
    return f"arrows where 5 % of the runs or more did not finish{more}"
