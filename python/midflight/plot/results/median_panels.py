"""Panels of medians beside each other, one for each value of a setting, for lines that are too many
for one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.coincide import usual_line
from midflight.plot.common.figure import label_panels
from midflight.plot.common.legends import legend
from midflight.plot.common.names import short_name
from midflight.plot.common.place_scale import PlaceScale
from midflight.plot.common.style import PAGE_IN, SERIES, Size, size_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    # A class of this module, which imports this one, is named in full.
    from midflight.plot.results import axis

__all__ = ["MOST_PANELS", "Grid", "are_panels", "are_strokes", "in_panels", "near_ends"]

#: A panel has lines up to this number if it is the only one.
_MOST_LINES = 6
#: The most panels, the most in a row, and the least width of one in inches.
MOST_PANELS, _MOST_IN_ROW, _PANEL_IN = 6, 3, 1.4
#: The height of a row of panels, and the room for the legend and the texts, in inches.
_ROW_IN, _AROUND_IN = 1.8, 0.8
#: What a figure of one panel has beside and below it, in inches.
_BESIDE_IN, _BELOW_IN = 0.6, 0.9
#: Panels whose values have a smaller share of a common axis do not have one.
_LEAST_SHARE = 0.1
#: The room at the ends of an own axis, and what is near 0, in shares of its largest value.
_MARGIN, _NEAR_0 = 0.08, 0.5


def are_panels(keys: Sequence[tuple[str, ...]]) -> bool:
    """Whether lines with these values of several columns are so many that each value of the last
    column has a panel, and few enough for it.
    """
    if len(keys) <= _MOST_LINES or len(keys[0]) < 2:
        return False
    panels, lines = {key[-1] for key in keys}, {key[:-1] for key in keys}
    return 1 < len(panels) <= MOST_PANELS and len(lines) <= len(SERIES)


def in_panels(data: axis.AxisData, values: Sequence[str], lines_title: str) -> axis.AxisData:
    """Return a figure with a panel for each of these values of the last column that tells its lines
    apart; `lines_title` is what the others are.
    """
    from midflight.plot.results.axis import spaced

    *others, last = data.by
    called = short_name(last)
    more: Any = {"by": others, "lines_title": lines_title}
    panels = []
    for value in values:
        lines = [
            replace(line, label=", ".join(line.key[:-1]), key=line.key[:-1])
            for line in data.lines
            if line.key[-1] == value
        ]
        if lines:
            title = f"{called[:1].upper()}{called[1:]} {spaced(value)}"
            panels.append(replace(data, lines=lines, name=title, **more))
    every = [line for one in panels for line in one.lines]
    return replace(data, lines=every, panels=panels, panels_by=last, **more)


def are_strokes(panels: Sequence[Sequence[float]], scale: PlaceScale) -> bool:
    """Whether the values of one of several panels would have a small share of a common axis."""
    ends = [(min(values), max(values)) for values in panels if values]
    along = scale.along(ends)
    wide = [last - first for first, last in along.tolist() if last > first]
    return len(wide) > 1 and min(wide) < _LEAST_SHARE * float(np.ptp(along))


def near_ends(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis of values of a panel that has one of its own: near them, unless it begins
    near 0 anyway.
    """
    low, high = min(values), max(values)
    room = _MARGIN * ((high - low) or abs(high) or 1.0)
    return (0.0 if 0 <= low < _NEAR_0 * high else low - room), high + room


@dataclass(frozen=True)
class Grid:
    """A figure with panels in rows, which share their axis of places; `panel_in` is the size of a
    figure of one panel that has as much room.
    """

    figure: Figure
    panels: Sequence[Axes]
    in_row: int
    room_in: tuple[float, float]
    has_own: bool

    @classmethod
    def of(cls, count: int, size: Size | None, *, has_own: bool) -> Grid:
        """Return one with so many panels, which have own axes of values or share them."""
        from matplotlib.figure import Figure

        width = size_in(size, (PAGE_IN, _ROW_IN))[0]
        most = max(1, int((width - 0.5) / _PANEL_IN))
        rows = math.ceil(count / min(_MOST_IN_ROW, most))
        in_row = math.ceil(count / rows)
        width, height = size_in(size, (PAGE_IN, _ROW_IN * rows + _AROUND_IN))
        figure = Figure(figsize=(width, height))
        how: Any = {"squeeze": False, "sharex": True, "sharey": not has_own}
        grid = figure.subplots(rows, in_row, **how).flatten()
        for axes in grid[count:]:
            axes.remove()
        room = (width - _BESIDE_IN) / in_row, (height - _AROUND_IN) / rows
        return cls(figure, list(grid[:count]), in_row, room, has_own)

    @property
    def panel_in(self) -> tuple[float, float]:
        """The size of a figure of one panel with as much room, in inches."""
        return self.room_in[0] + _BESIDE_IN, self.room_in[1] + _BELOW_IN

    def finish(self, x_title: str, y_title: str, lines_title: str, kind: str, **texts: Any) -> None:
        """Write what the axes and the lines are, with the `texts` of `label_panels`."""
        entries: dict[str, Any] = {}
        named = []
        for place, axes in enumerate(self.panels):
            # Each column ends with a panel that has numbers.
            is_last, is_first = place + self.in_row >= len(self.panels), place % self.in_row == 0
            axes.tick_params(labelbottom=is_last, labelleft=is_first or self.has_own)
            named.append((axes, x_title if is_last else "", y_title if is_first else ""))
            handles, labels = axes.get_legend_handles_labels()
            entries |= dict(zip(labels, map(usual_line, handles), strict=True))
        across, up = self.room_in
        label_panels(self.figure, named, (across * 72, up * 72), kind, **texts)
        legend(self.figure, entries, loc="outside upper center", title=lines_title)
