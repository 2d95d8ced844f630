"""Boxes of quartiles with whiskers, each group with its own fill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.style import Look, lighter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["draw_boxes", "draw_few", "draw_single"]

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


#: The size of a marker of values that are alike, in sizes of that of a line.
_MARKER = 0.85
#: The sizes in points of a value beyond the whiskers, and of one of few that have no box, which is
#: smaller where a box would have no room for two, but not less than the last.
_SINGLE_PT, _FEW_PT, _LEAST_FEW_PT = 2.0, 3.2, 2.2
#: The most of the width of a box that these have side by side, so that the line of the median is
#: seen beside them, and the least number of places there.
_MOST_ASIDE, _LEAST_ASIDE = 0.8, 3


def _are_flat(points_pt: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which boxes are so low that the line of the median would hide their fill, by the
    heights in points of the ends of their whiskers, and of 25, 50 and 75 % between these.
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
    `SERIES`; return what a legend has of them, None if nothing is drawn.

    A row of `points` has the end of a whisker, the box with its median, and the end of the other
    whisker, and one of `points_pt` their heights. A row of nan
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
        at, (low, q1, median, q3, high) = x[place], points[place]
        if math.isnan(median):
            continue
        axes.plot([at, at], [low, q1], **thin)
        axes.plot([at, at], [q3, high], **thin)
        for end in (low, high):
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


def _draw_markers(
    axes: Axes,
    label: str,
    look: Look,
    x: NDArray[Any],
    values: NDArray[Any],
    size: float = _MARKER,
) -> Any:
    if not x.size:
        return None
    (drawn,) = axes.plot(x, values, label=label, **_marker_of(look, size))
    return drawn


def _marker_of(look: Look, size: float = _MARKER) -> dict[str, Any]:
    """A marker of a line, so many times as large as usual."""
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": size * look.size,
        "markerfacecolor": look.colour if look.filled else "white",
        "markeredgecolor": look.colour,
        "markeredgewidth": 0.8,
        "zorder": 6,
    }


def draw_single(axes: Axes, look: Look, x: float, values: Sequence[float]) -> None:
    """Draw the values beyond the whiskers of a box at `x`."""
    if not len(values):
        return
    how: Any = {"markersize": _SINGLE_PT, "markeredgewidth": 0.6, "zorder": 3}
    how |= {"markerfacecolor": "white", "markeredgecolor": look.colour, "linestyle": "none"}
    axes.plot([x] * len(values), values, marker="o", **how)


def draw_few(
    axes: Axes,
    label: str,
    look: Look,
    x: float,
    values: NDArray[Any],
    values_pt: NDArray[Any],
    median: float,
    width: float,
    width_pt: float,
) -> Any:
    """Draw each of a few values at `x`, in ascending order and with their heights in points, those
    that would cover each other side by side, and a line at their median; return what a legend has
    of them. A box would be so wide, in units of the axis and in points.
    """
    from matplotlib.lines import Line2D

    # Above the points, of which one of an odd number is at the median.
    line: dict[str, Any] = {"solid_capstyle": "butt", "color": _darker(look.colour), "zorder": 7}
    if math.isfinite(median):
        axes.plot([x - width / 2, x + width / 2], [median] * 2, linewidth=_MEDIAN_PT * 0.75, **line)
    size_pt = max(_LEAST_FEW_PT, min(_FEW_PT, width_pt / 2))
    at = x + width * _aside(values_pt, size_pt, width_pt) / width_pt
    drawn = _draw_markers(axes, label, look, at, values, size_pt / look.size)
    return None if drawn is None else Line2D([], [], **_marker_of(look))


def _aside(heights_pt: NDArray[Any], size_pt: float, width_pt: float) -> NDArray[np.float64]:
    """How far aside points of a size with these heights, in ascending order, stand, in points: as
    near the middle as there is room, and else farther aside, in turn on both sides.

    In the order of their heights they would slant, as if there were a trend.
    """
    room_pt = _MOST_ASIDE * width_pt - size_pt
    places = max(_LEAST_ASIDE // 2, int(room_pt / 2 / size_pt))
    step_pt = min(size_pt, max(room_pt, size_pt) / 2 / places)
    sides = [0, *(side for one in range(1, places + 1) for side in (one, -one))]
    found, last = np.zeros(len(heights_pt)), dict.fromkeys(sides, -math.inf)
    for place, height in enumerate(heights_pt.tolist()):
        free = [side for side in sides if height - last[side] >= size_pt]
        # Where all places are taken they cover each other, the lowest first.
        side = free[0] if free else min(sides, key=last.__getitem__)
        if side and free and -side in free and place % 2:
            side = -side
        found[place], last[side] = side * step_pt, height
    # Two beside each other stand on both sides of the middle.
    starts = np.flatnonzero(np.diff(heights_pt) >= size_pt) + 1
    middles = [(one.max() + one.min()) / 2 for one in np.split(found, starts)]
    shifts: NDArray[np.float64] = np.repeat(middles, np.diff([0, *starts, len(found)]))
    return found - shifts
