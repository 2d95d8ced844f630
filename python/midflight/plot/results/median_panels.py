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

__all__ = ["MOST_PANELS", "OWN", "are_panels", "are_strokes", "in_panels", "near_ends", "own_words"]

#: What the title of a panel says that has an axis of its own: beside each other panels are read as
#: of one scale.
OWN = " (own axis)"
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
    """Whether the values of one of several panels would have so small a share of a common axis that
    each panel has an axis of its own, if values are to be told apart in several panels.
    """
    ends = [(min(values), max(values)) for values in panels if values]
    if len(ends) < 2:
        return False
    along = scale.along(ends)
    # Of a single value there is nothing to see.
    wide = [last - first for first, last in along.tolist() if last > first]
    return len(wide) > 1 and min(wide) < _LEAST_SHARE * float(np.ptp(along))


def near_ends(panels: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """The ends of the axes of values of panels that have one each: all begin at 0, or, where that
    would leave the values of one too small a share of its axis, all near their values. One without
    values, or of 0 alone, is from 0 to 1.
    """
    known = [(min(values), max(values)) for values in panels if values]
    spans = [(low, high) for low, high in known if high > low]
    from_0 = all(low >= 0 and high - low >= _LEAST_SHARE * high for low, high in spans)
    found = []
    for values in panels:
        low, high = (min(values), max(values)) if values else (0.0, 0.0)
        if low == high == 0:
            found.append((0.0, 1.0))
            continue
        room = _MARGIN * ((high - low) or abs(high))
        # Where the room would reach 0 the axis begins there.
        near = 0.0 if 0 <= low <= room else low - room
        found.append((0.0 if from_0 and low >= 0 else near, high + room))
    return found


def own_words(ends: Sequence[tuple[float, float]]) -> str:
    """Return that each panel has an axis of its own with these ends, and which are not from 0."""
    above = [low > 0 for low, _ in ends]
    which = (", not from 0" if all(above) else ", some not from 0") if any(above) else ""
    return f"each panel has an axis of its own{which}"
