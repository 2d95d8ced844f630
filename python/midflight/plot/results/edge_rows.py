"""Marks beyond the upper edge of a panel, of places at which lines have no value: where those of
several lines would cover each other, each line has a row of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.band_above import draw_band_above
from midflight.plot.common.place_scale import PlaceScale
from midflight.plot.common.style import Look
from midflight.plot.results.quartiles import mark_endless

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EdgeMarks", "draw_edge_marks", "rows_apart"]

#: Marks that are nearer cover each other, in points.
_APART_PT = 2.6
#: The height of a row, and the size of the marks in it, in points.
_ROW_PT, _SIZE_PT = 6.5, 5.0
#: What a panel has beside its axes, in inches.
_BESIDE_IN = 0.8

Shape: TypeAlias = Literal["up", "down", "cross"]


class EdgeMarks(NamedTuple):
    """The places of a line that have a mark of this shape, and its look."""

    at: NDArray[np.float64]
    look: Look
    shape: Shape = "up"


def rows_apart(places_pt: Sequence[NDArray[np.float64]]) -> list[int]:
    """Return the row of each line by the places of its marks in points: the lowest one in which
    they cover none of another line, so that lines without room have rows in their order from above.
    """
    rows: list[list[NDArray[np.float64]]] = []
    found = []
    for at in reversed(places_pt):
        free = (number for number, row in enumerate(rows) if not _covers(at, np.concatenate(row)))
        number = next(free, len(rows))
        if number == len(rows):
            rows.append([])
        rows[number].append(at)
        found.append(number)
    return found[::-1]


def _covers(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    apart = np.abs(first[:, None] - second)
    return bool(apart.size) and float(apart.min()) < _APART_PT


def draw_edge_marks(
    axes: Axes,
    marks: Sequence[EdgeMarks],
    top: float,
    width_in: float,
    scale: PlaceScale,
    *,
    outside: bool = False,
) -> None:
    """Draw marks at the upper edge of axes, which is at `top`, in a figure so wide; the scale is
    that of the places, whose ends are set.

    They stand on the edge if one row has room for all, unless they belong `outside`; else in a grey
    band above it.
    """
    lines: dict[int, list[EdgeMarks]] = {}
    for one in marks:
        if one.at.size:
            lines.setdefault(id(one.look), []).append(one)
    if not lines:
        return
    low, high = scale.along(np.array(axes.get_xlim()))
    point = float(high - low) / (72 * (width_in - _BESIDE_IN))
    along = [np.concatenate([scale.along(one.at) for one in each]) for each in lines.values()]
    rows = rows_apart([one / point for one in along])
    has_band = outside or max(rows) > 0
    if has_band:
        draw_band_above(axes, _ROW_PT * (max(rows) + 1))
    for row, each in zip(rows, lines.values(), strict=True):
        above = _ROW_PT * (row + 0.5) if has_band else 0.0
        size = _SIZE_PT if has_band else 6.0
        for at, look, shape in each:
            endless = np.full(at.shape, np.inf)
            mark_endless(axes, at, endless, top, look, shape, above_pt=above, size_pt=size)
