"""Panels of medians beside each other, one for each value of a setting, for lines that are too many
for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.place_scale import PlaceScale
from midflight.plot.common.style import SERIES
from midflight.plot.usual import MOST_LINES

if TYPE_CHECKING:
    # A class of this module, which imports this one, is named in full.
    from midflight.plot.results import axis

__all__ = [
    "MOST_PANELS",
    "are_panels",
    "are_strokes",
    "in_panels",
    "names_of_own",
    "near_ends",
    "own_words",
]

#: What the title of a panel says whose own axis does not begin at 0, as those of others do.
_NOT_FROM_0 = " (not from 0)"
#: The most panels.
MOST_PANELS = 6
#: Panels whose values have a smaller share of a common axis do not have one.
_LEAST_SHARE = 0.15
#: The room at the ends of an own axis, as a share of it.
_MARGIN = 0.08


def are_panels(keys: Sequence[tuple[str, ...]], most: int = MOST_LINES) -> bool:
    """Whether lines with these values of several columns are so many, more than `most`, that each
    value of the last column has a panel, and few enough for it.
    """
    if len(keys) <= most or len(keys[0]) < 2:
        return False
    panels, lines = {key[-1] for key in keys}, {key[:-1] for key in keys}
    return 1 < len(panels) <= MOST_PANELS and len(lines) <= len(SERIES)


def in_panels(data: axis.AxisData, values: Sequence[str], lines_title: str) -> axis.AxisData:
    """Return a figure with a panel for each of these values of the last column that tells its lines
    apart; `lines_title` is what the others are.
    """
    from midflight.plot.results.axis import panel_name

    *others, last = data.by
    more: Any = {"by": others, "lines_title": lines_title}
    panels = []
    for value in values:
        lines = [
            replace(line, label=", ".join(line.key[:-1]), key=line.key[:-1])
            for line in data.lines
            if line.key[-1] == value
        ]
        if lines:
            name = panel_name(last, value)
            panels.append(replace(data, lines=lines, name=name, of=value, **more))
    every = [line for one in panels for line in one.lines]
    return replace(data, lines=every, panels=panels, panels_by=last, **more)


def are_strokes(panels: Sequence[Sequence[float]], scale: PlaceScale) -> bool:
    """Whether a common axis hides the values of panels, so that each has an axis of its own: those
    of one, which are told apart on an axis of its own from 0, or those of most panels, have so
    small a share of it, if values are to be told apart in several panels.
    """
    known = [values for values in panels if values]
    ends = [(min(values), max(values)) for values in known]
    if len(ends) < 2:
        return False
    along = scale.along(ends)
    # Of a single value there is nothing to see.
    wide = [last > first for first, last in along.tolist()]
    if sum(wide) < 2:
        return False
    least = _LEAST_SHARE * float(np.ptp(along))
    hidden = [
        own
        for own, (first, last) in zip(ends, along.tolist(), strict=True)
        if 0 < last - first < least
    ]
    return any(not _is_flat(*own) for own in hidden) or 2 * len(hidden) > sum(wide)


def _is_flat(low: float, high: float) -> bool:
    """Whether values, none of them below 0, are a stroke on an axis from 0 to the largest."""
    return 0 < low < high and high - low < _LEAST_SHARE * high


def near_ends(panels: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """The ends of the axes of values of panels that have one each: it begins at 0, or, where the
    values would be a stroke then or some are below 0, near these. One without values, or of 0
    alone, is from 0 to 1.
    """
    found = []
    for values in panels:
        low, high = (min(values), max(values)) if values else (0.0, 0.0)
        if low == high == 0:
            found.append((0.0, 1.0))
            continue
        room = _MARGIN * ((high - low) or abs(high))
        near = low - room if low < 0 or _is_flat(low, high) else 0.0
        found.append((near, high + room))
    return found


def own_words(ends: Sequence[tuple[float, float]]) -> str:
    """Return that each panel has an axis of its own with these ends, and if none is from 0."""
    are_above = bool(ends) and all(low > 0 for low, _ in ends)
    return f"each panel has an axis of its own{', not from 0' if are_above else ''}"


def names_of_own(names: Sequence[str], ends: Sequence[tuple[float, float]]) -> list[str]:
    """Return the titles of panels with these names, of which some have axes of their own with
    these ends that are not from 0, as those of others are.
    """
    are_alike = len({low > 0 for low, _ in ends}) < 2
    each = zip(names, ends, strict=True)
    return [*names] if are_alike else [one + _NOT_FROM_0 * (low > 0) for one, (low, _) in each]
