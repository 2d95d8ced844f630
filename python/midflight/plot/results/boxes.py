"""Boxes of quartiles with whiskers, each group with its own fill."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.style import Look, lighter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["draw_boxes"]

#: The hatches of the looks of `SERIES`, which tell boxes apart in greyscale. None has horizontal
#: lines, which could be taken for medians.
_HATCHES = ("", "////", "....", "xxxx", "||||", "\\\\\\\\", "oooo", "//", "\\\\..")
#: The width in points of the line of a median, in boxes of usual height and in flat ones, and the
#: share of the colour of its box that it has on black, so that it stands out from every fill, in
#: greyscale too.
_MEDIAN_PT, _THIN_PT, _DARK = 1.6, 0.8, 0.45
#: So much of the fill of a box has to be seen above or below the line for a hatch, in points.
_LEAST_FILL_PT = 2.0
#: A box that is no higher is a line of its own, without one of its median.
_LINE_PT = 2.2


def _are_flat(points_pt: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which boxes are so low that the line of the median would hide their fill, by the
    heights in points of 5, 25, 50, 75 and 95 % of their values.
    """
    _, q1, median, q3, _ = np.transpose(points_pt)
    fill = np.maximum(q3 - median, median - q1) - _MEDIAN_PT / 2
    found: NDArray[np.bool_] = fill < _LEAST_FILL_PT
    return found


def draw_boxes(
    axes: Axes,
    label: str,
    look: Look,
    x: NDArray[Any],
    points: NDArray[Any],
    width: float,
    style: int,
    points_pt: NDArray[Any],
) -> Any:
    """Draw the boxes of a group at `x` with the hatch of a `style`, the place of a line style in
    `SERIES`; return what a legend has of it, None if nothing is drawn.

    A row of `points` has 5, 25, 50, 75 and 95 % of the values, and of `points_pt` their heights:
    the end of a whisker, the box with its median, and the end of the other whisker. A row of nan
    has no box, and one of equal values a marker. A flat box (`_are_flat`) has no hatch, which would
    hide the line of its median.
    """
    from matplotlib.container import BarContainer
    from matplotlib.patches import Rectangle

    alone = np.ptp(points, axis=1) == 0
    marker = _draw_markers(axes, label, look, x[alone], points[alone, 2])
    fill: dict[str, Any] = {"edgecolor": look.colour, "linewidth": 0.8, "zorder": 4}
    thin: dict[str, Any] = {"color": look.colour, "linewidth": 0.8, "zorder": 3}
    line: dict[str, Any] = {"solid_capstyle": "butt", "color": _darker(look.colour), "zorder": 6}
    heights, flat = points_pt[:, 3] - points_pt[:, 1], _are_flat(points_pt)
    has_boxes = False
    for place in np.flatnonzero(~alone).tolist():
        at, (p5, q1, median, q3, p95) = x[place], points[place]
        if math.isnan(median):
            continue
        axes.plot([at, at], [p5, q1], **thin)
        axes.plot([at, at], [q3, p95], **thin)
        for end in (p5, p95):
            axes.plot([at - width / 4, at + width / 4], [end, end], **thin)
        is_line, is_flat = heights[place] < _LINE_PT, flat[place]
        colour = look.colour if is_line else lighter(look.colour, 0.3)
        hatch = None if is_flat else _HATCHES[style]
        axes.bar(at, q3 - q1, width, q1, facecolor=colour, hatch=hatch, label=label, **fill)
        has_boxes = True
        if not is_line:
            sides = [at - width / 2, at + width / 2]
            axes.plot(sides, [median] * 2, linewidth=_THIN_PT if is_flat else _MEDIAN_PT, **line)
    if not has_boxes:
        return marker
    # In a legend all boxes have fill and hatch, also if they are drawn flat or as lines: lines of
    # the same colour are told apart by the hatch alone.
    light: Any = {"facecolor": lighter(look.colour, 0.3), **fill}
    return BarContainer([Rectangle((0, 0), 1, 1, hatch=_HATCHES[style] or None, **light)])


def _darker(colour: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(_DARK * one for one in to_rgb(colour))


def _draw_markers(axes: Axes, label: str, look: Look, x: NDArray[Any], values: NDArray[Any]) -> Any:
    if not x.size:
        return None
    (drawn,) = axes.plot(
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
    return drawn
