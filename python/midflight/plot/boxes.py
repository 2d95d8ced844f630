"""Boxes of quartiles with whiskers, each group with its own fill."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.style import Look, lighter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["are_flat", "draw_boxes"]

#: The hatches of the looks of `SERIES`, which tell boxes apart in greyscale. None has horizontal
#: lines, which could be taken for medians.
_HATCHES = ("", "////", "....", "xxxx", "||||", "\\\\\\\\", "oooo", "//", "\\\\..")
#: The width in points of the line of a median, and the share of the colour of its box that it has
#: on black, so that it stands out from every fill, in greyscale too.
_MEDIAN_PT, _DARK = 1.6, 0.45
#: So much of the fill of a box has to be seen above or below these, in points.
_LEAST_FILL_PT = 2.0


def are_flat(points_pt: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which boxes are so low that the line of the median would hide their fill, by the
    heights in points of 5, 25, 50, 75 and 95 % of their values; those without a height are not.
    """
    _, q1, median, q3, _ = np.transpose(points_pt)
    fill = np.maximum(q3 - median, median - q1) - _MEDIAN_PT / 2
    found: NDArray[np.bool_] = (np.ptp(points_pt, axis=1) > 0) & (fill < _LEAST_FILL_PT)
    return found


def draw_boxes(
    axes: Axes,
    label: str,
    look: Look,
    x: NDArray[Any],
    points: NDArray[Any],
    width: float,
    style: int,
    flat: NDArray[np.bool_],
) -> list[Any]:
    """Draw the boxes of a group at `x` with the hatch of a `style`, the place of a line style in
    `SERIES`; return what a legend has of it, fills and markers as they are drawn.

    A row of `points` has 5, 25, 50, 75 and 95 % of the values: the end of a whisker, the box with
    its median, and the end of the other whisker. A row of nan has no box, and one of equal values a
    marker: its box would be the line of the median. A `flat` box (`are_flat`) has a marker in
    place of that line.
    """
    alone = np.ptp(points, axis=1) == 0
    marked = alone | flat
    handles = _draw_markers(axes, label, look, x[marked], points[marked, 2])
    fill: dict[str, Any] = {
        "facecolor": lighter(look.colour, 0.3),
        "edgecolor": look.colour,
        "hatch": _HATCHES[style],
        "linewidth": 0.8,
        "zorder": 4,
    }
    thin: dict[str, Any] = {"color": look.colour, "linewidth": 0.8, "zorder": 3}
    for at, (p5, q1, median, q3, p95), is_flat in zip(
        x[~alone], points[~alone], flat[~alone], strict=True
    ):
        if math.isnan(median):
            continue
        axes.plot([at, at], [p5, q1], **thin)
        axes.plot([at, at], [q3, p95], **thin)
        for end in (p5, p95):
            axes.plot([at - width / 4, at + width / 4], [end, end], **thin)
        box = axes.bar(at, q3 - q1, width, q1, label=label, **fill)
        if not any(isinstance(one, type(box)) for one in handles):
            handles.insert(0, box)
        if is_flat:
            continue
        sides = [at - width / 2, at + width / 2]
        line: dict[str, Any] = {"solid_capstyle": "butt", "color": _darker(look.colour)}
        axes.plot(sides, [median] * 2, linewidth=_MEDIAN_PT, zorder=6, **line)
    # Of values alone among boxes the legend has the fill only.
    return handles if flat.any() else handles[:1]


def _darker(colour: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(_DARK * one for one in to_rgb(colour))


def _draw_markers(
    axes: Axes, label: str, look: Look, x: NDArray[Any], values: NDArray[Any]
) -> list[Any]:
    if not x.size:
        return []
    return axes.plot(
        x,
        values,
        label=label,
        linestyle="none",
        marker=look.marker,
        markersize=0.85 * look.size,
        markerfacecolor=look.colour if look.filled else "white",
        markeredgecolor=look.colour,
        markeredgewidth=0.8,
        zorder=6,
    )
