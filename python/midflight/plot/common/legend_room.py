"""Room for a legend within a panel, where it covers nothing that is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.style import arrange

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

__all__ = ["settle"]

#: Places of a legend, the usual one first.
_PLACES: Sequence[Any] = (
    *("upper left", "upper right", "lower right", "lower left"),
    *("upper center", "lower center", "center left", "center right"),
)
#: The room around a legend, and the way between two points of a line that is looked at, in points.
_BESIDE_PT, _STEP_PT = 3.0, 2.0
#: What is drawn keeps at least this share of its height.
_LEAST_SHARE = 0.6


def settle(figure: Figure, panel: Axes, legend: Legend, *, may_grow: bool) -> bool:
    """Put a legend where it covers nothing of a panel, if need be above what is drawn, for which
    the axis of values grows if it may; return whether there is such a place.
    """
    arrange(figure)
    # In pixels.
    point = figure.dpi / 72
    marks = np.concatenate([np.empty((0, 3)), *_marks(panel, point)])
    found: list[tuple[float, Any]] = []
    for place in _PLACES:
        legend.set_loc(place)
        box = legend.get_window_extent().padded(_BESIDE_PT * point)
        x, y, beside = marks.T
        across = (x + beside > box.x0) & (x - beside < box.x1)
        if not (across & (y + beside > box.y0) & (y - beside < box.y1)).any():
            return True
        if place.startswith("upper"):
            bottom = panel.get_window_extent().y0
            highest = float((y + beside)[across].max())
            found.append(((box.y0 - bottom) / (highest - bottom), place))
    share, place = max(found, key=lambda one: one[0])
    legend.set_loc(place)
    if not may_grow or share < _LEAST_SHARE or _has_arrows(panel):
        return False
    low, high = panel.get_ylim()
    if panel.get_yscale() == "log":
        panel.set_ylim(low, low * (high / low) ** (1 / share))
    else:
        panel.set_ylim(low, low + (high - low) / share)
    return True


def _marks(panel: Axes, point: float) -> Iterator[NDArray[np.float64]]:
    """Points of what is drawn at data, in pixels, and how far its marks reach beyond them."""
    for line in panel.get_lines():
        # Marks in rows have an instant, and no value, and the line at 0 a value, and no instant.
        is_of_data = any(line.get_transform().contains_branch_seperately(panel.transData))
        if not is_of_data or not line.get_visible():
            continue
        corners = line.get_transform().transform(line.get_path().vertices)
        has_marker = line.get_marker() not in ("None", "none", "", None)
        reach = point * (line.get_markersize() if has_marker else line.get_linewidth()) / 2
        yield _along(corners if line.get_linestyle() == "None" else _filled(corners, point), reach)
    for patch in panel.patches:
        if patch.get_transform().contains_branch_seperately(panel.transData)[0]:
            corners = patch.get_transform().transform(patch.get_path().vertices)
            yield _along(_filled(corners, point), 0.0)
    for collection in panel.collections:
        for path in collection.get_paths():
            corners = collection.get_transform().transform(path.vertices)
            yield _along(_filled(corners, point), point)


def _along(points: NDArray[Any], reach: float) -> NDArray[np.float64]:
    known = points[np.isfinite(points).all(axis=1)]
    return np.column_stack([known, np.full(len(known), reach)])


def _filled(corners: NDArray[Any], point: float) -> NDArray[Any]:
    """Corners with points between each and the next one."""
    steps = np.diff(corners, axis=0)
    far = np.hypot(*steps.T) / (_STEP_PT * point)
    counts = np.where(np.isfinite(far), far, 0).astype(int) + 1
    at = np.repeat(np.arange(len(steps)), counts)
    shares = (np.arange(len(at)) - (np.cumsum(counts) - counts)[at]) / counts[at]
    return np.concatenate([corners[-1:], corners[at] + shares[:, None] * steps[at]])


def _has_arrows(panel: Axes) -> bool:
    """Whether arrows stand at an edge of the axis, which cannot move."""
    return any("arrow" in str(line.get_marker()) for line in panel.get_lines())
