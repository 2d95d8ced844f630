"""Placement of the names of events: in the empty part of a panel, with a line to what they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.style import text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LABEL_PT", "EventNames"]

LABEL_PT = 6.5

#: On a screen letters are up to so many times as wide as their outlines.
_HINTED = 1.05
#: The distance of two lines of a name, in sizes of their letters.
_LINES_APART = 1.4

#: All lengths are in points. Places are tried that are so far apart.
_STEP = 3
#: Marks are about so large around their places, and upright lines so wide.
_MARK, _UPRIGHT = 3, 1
#: The gap between a name and what is drawn: what it has, and what looks better.
_GAP, _EASY = 2, 9
#: A line from a name to its event is no longer, and begins so far from the event.
_LONGEST, _BEGINS = 80.0, 5.0
#: What disturbs more than a longer line, as the length of such a line: a name near to what is drawn
#: or on a shade; a line that crosses an upright one; each point of a line that lies on data.
_NEAR, _SHADED, _ACROSS, _ON_DATA = 10.0, 12.0, 15.0, 3.0
_SAMPLES = 80

_Mask: TypeAlias = NDArray[np.bool_]
_Places: TypeAlias = NDArray[np.float64]


class EventNames:
    """Writes names beside points of a panel. The panel must have its limits and its place in the
    figure.

    A name covers neither data, nor upright lines, nor other names with their lines, and its line
    crosses none of the latter; a name without such a place is left out.
    """

    def __init__(self, axes: Axes) -> None:
        self._axes = axes
        width, height = self._points(axes.transAxes.transform([[0.0, 0.0], [1.0, 1.0]]))[1]
        self._size = np.array([width, height])
        # Cells of a point, up and across.
        empty = np.zeros((int(height) + 1, int(width) + 1), np.bool_)
        self._data, self._upright, self._shade, self._taken = (empty.copy() for _ in range(4))
        upright = axes.get_xaxis_transform(which="grid")
        for line in axes.lines:
            if line.get_transform() == axes.transData:
                at = self._points(axes.transData.transform(line.get_xydata()))
                _mark(self._data, at, _MARK)
            elif line.get_transform() == upright:
                across = np.asarray(line.get_xdata(), np.float64)[:1]
                at = self._points(axes.transData.transform(np.stack([across, 0 * across], 1)))
                self._columns(self._upright, at[0, 0] - _UPRIGHT, at[0, 0] + _UPRIGHT)
        spans = [one for one in axes.patches if one.get_transform() != axes.transData]
        boxes = [one.get_window_extent() for one in spans]
        for area in (one for one in axes.collections if one.get_transform() == upright):
            boxes += [path.get_extents(upright) for path in area.get_paths()]
        for box in boxes:
            (left, _), (right, _) = self._points([[box.x0, box.y0], [box.x1, box.y1]])
            self._columns(self._shade, left, right)

    def write(self, x: float, y: float, text: str) -> bool:
        """Write a name for a point, in words below each other if there is no room for one line;
        without room for it, nothing. Returns whether it is written.
        """
        at = self._points(self._axes.transData.transform([(x, y)]))[0]
        size = np.array(
            [
                _HINTED * text_width(text, LABEL_PT),
                LABEL_PT * (1 + _LINES_APART * text.count("\n")),
            ]
        )
        corner = self._place(at, size)
        if corner is None:
            return " " in text and self.write(x, y, text.replace(" ", "\n"))
        near = np.clip(at, corner, corner + size)
        _mark(self._taken, np.linspace(at, near, _SAMPLES)[_from(at, near)], 1)
        (left, low), (right, high) = np.rint([corner - _GAP, corner + size + _GAP]).astype(int)
        self._taken[max(low, 0) : high + 1, max(left, 0) : right + 1] = True
        self._annotate((x, y), corner - at, (near - corner) / size, text)
        return True

    def keep_clear(self, x: float, width_pt: float, height_pt: float) -> None:
        """Write nothing over what stands on the lower edge around `x`."""
        at = self._points(self._axes.transData.transform([(x, 0.0)]))[0][0]
        within = self._taken[: int(height_pt) + 1]
        self._columns(within, at - width_pt / 2, at + width_pt / 2)

    def _columns(self, mask: _Mask, left: float, right: float) -> None:
        if right >= 0 and left <= self._size[0]:
            mask[:, max(0, round(left)) : max(0, round(right)) + 1] = True

    def _points(self, pixels: Any) -> Any:
        """Places in points from the lower left corner of the panel."""
        corner = self._axes.transAxes.transform((0.0, 0.0))
        return (np.asarray(pixels) - corner) * 72 / self._axes.figure.dpi

    def _place(self, at: _Places, size: _Places) -> _Places | None:
        """The lower left corner of the best place for a name of a size, if there is any."""
        most = self._size - size - _GAP
        if (most < _GAP).any():
            return None
        axes = [np.arange(_GAP, end + 1e-9, _STEP) for end in most]
        corners = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)
        near = np.clip(at, corners, corners + size)
        length = np.hypot(*(near - at).T)
        kept = (length > _BEGINS) & (length <= _LONGEST)
        kept &= ~_covers(self._data | self._upright | self._taken, corners, size, _GAP)
        corners, near, length = corners[kept], near[kept], length[kept]
        if not len(corners):
            return None
        # The lines, without what is beside their event: shape (places, samples, 2).
        share = np.linspace(0, 1, _SAMPLES)[None, :, None]
        lines = at + share * (near - at)[:, None, :]
        counted = share[..., 0] * length[:, None] > _BEGINS
        free = ~(self._at(self._taken, lines) & counted).any(axis=1)
        if not free.any():
            return None
        cost = length + _ON_DATA * length * (self._at(self._data, lines) & counted).mean(axis=1)
        cost += _ACROSS * self._at(self._upright, lines).any(axis=1)
        cost += _NEAR * _covers(self._data | self._upright | self._taken, corners, size, _EASY)
        cost += _SHADED * _covers(self._shade, corners, size, 0)
        return np.asarray(corners[int(np.where(free, cost, np.inf).argmin())])

    @staticmethod
    def _at(mask: _Mask, places: _Places) -> _Mask:
        high, wide = mask.shape
        x, y = np.moveaxis(np.rint(places).astype(int), -1, 0)
        return np.asarray(mask[np.clip(y, 0, high - 1), np.clip(x, 0, wide - 1)])

    def _annotate(
        self, point: tuple[float, float], offset: _Places, edge: _Places, text: str
    ) -> None:
        line = {"arrowstyle": "-", "linewidth": 0.5, "color": "0.2", "shrinkA": 0, "shrinkB": 2}
        self._axes.annotate(
            text,
            point,
            xytext=(float(offset[0]), float(offset[1])),
            textcoords="offset points",
            fontsize=LABEL_PT,
            ha="left",
            va="bottom",
            zorder=6,
            arrowprops={**line, "relpos": (float(edge[0]), float(edge[1]))},
        ).set_in_layout(False)


def _from(at: _Places, near: _Places) -> slice:
    """The samples of a line that are not beside its event."""
    length = float(np.hypot(*(near - at)))
    return slice(int(np.ceil(_SAMPLES * _BEGINS / length)), None)


def _mark(mask: _Mask, places: _Places, radius: int) -> None:
    """Mark the cells around places, in points across and up."""
    high, wide = mask.shape
    seen = places[np.isfinite(places).all(axis=1)]
    cells = np.unique(np.rint(seen).astype(np.int64), axis=0)
    for across in range(-radius, radius + 1):
        for up in range(-radius, radius + 1):
            x, y = cells[:, 0] + across, cells[:, 1] + up
            inside = (x >= 0) & (x < wide) & (y >= 0) & (y < high)
            mask[y[inside], x[inside]] = True


def _covers(mask: _Mask, corners: _Places, size: _Places, gap: int) -> _Mask:
    """Whether boxes of a size with these lower left corners, and a gap around them, cover anything
    that is marked.
    """
    sums = np.zeros(np.array(mask.shape) + 1, np.int64)
    sums[1:, 1:] = mask.cumsum(axis=0).cumsum(axis=1)
    limits = np.array(mask.shape)[::-1]
    (left, low), (right, high) = (
        np.clip(one.astype(np.int64), 0, limits).T
        for one in (np.floor(corners - gap), np.ceil(corners + size + gap) + 1)
    )
    return np.asarray(sums[high, right] - sums[low, right] - sums[high, left] + sums[low, left] > 0)
