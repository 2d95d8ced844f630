"""What figures of boxes say of their boxes and arrows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from midflight.plot.results.rows import Pooled, over_words
from midflight.plot.results.spread_data import Spread, known_of, quantiles_of

__all__ = ["box_words", "has_no_boxes"]

#: What the marks of boxes are, and what markers are.
_BOXES = "boxes 25 to 75 % and whiskers 5 to 95 %"
_ALIKE = "markers: runs that are alike"
#: What arrows are where there are no boxes.
_OF_RUNS = "arrows where runs did not finish"


def has_no_boxes(data: Spread) -> bool:
    """Whether too few runs have a value for any part of a box."""
    cells = (values for group in data.groups for values in group.values)
    return not any(math.isfinite(one) for values in cells for one in quantiles_of(data, values))


def box_words(data: Spread, counted: str, missing: str, pooled: Pooled) -> str:
    """What the marks of boxes are, of how many runs or values, and those of equal values; what is
    said of `missing` runs; what arrows are; and what is `pooled`.
    """
    every = [values for group in data.groups for values in group.values]
    cells = [values if data.is_time else known_of(values) for values in every]
    boxes = [quantiles_of(data, values) for values in every]
    alike = [len({*one}) == 1 and math.isfinite(one[0]) for one in boxes]
    arrows = _OF_RUNS
    if all(len(one) == 1 for one in cells):
        marks = "no boxes, as each is of one run"
    elif has_no_boxes(data):
        marks = "no boxes: half or more of the runs did not finish; the kind cdf shows the others"
        arrows = ""
    elif all(alike):
        marks = "no boxes, as the runs of each are alike"
        marks += f" ({over_words(map(len, cells), counted, pooled)})" if pooled.axes else ""
    else:
        marks = f"{_BOXES} {over_words(map(len, cells), counted, pooled)}"
        marks += f", {_ALIKE}" if any(alike) else ""
        arrows = _arrow_words(boxes)
    # Of fewer runs that do not finish no whisker is endless.
    has_arrows = any(math.isinf(one[4]) for one in boxes)
    words = (marks, missing, arrows if has_arrows else "", pooled.flows)
    return "; ".join(filter(None, words))


def _arrow_words(boxes: Sequence[Sequence[float]]) -> str:
    """What the arrows of boxes are that have infinite quantiles."""
    parts = []
    if any(math.isinf(one[2]) and not math.isinf(one[1]) for one in boxes):
        parts.append("without a median: half or more")
    if any(math.isinf(one[1]) for one in boxes):
        parts.append("without a box: most")
    more = f" ({', '.join(parts)})" if parts else ""
    return f"arrows where 5 % of the runs or more did not finish{more}"
