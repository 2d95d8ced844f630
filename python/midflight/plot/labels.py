"""Placement of the names of events, so that none overlaps another or the edge of a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from midflight.plot.style import text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LABEL_PT", "EventNames"]

LABEL_PT = 6.5

# Offsets from the point in points, the first ones preferred: a sequence goes up to the right, so
# that there is room on its right below and on its left above.
_OFFSETS = [
    (side * right, up * far)
    for far, right in ((11, 7), (21, 7), (11, 25), (31, 7), (21, 25))
    for side, up in ((1, -1), (-1, 1), (1, 1), (-1, -1))
]
_GAP_PT = 1.5
#: On a screen letters are up to so many times as wide as their outlines.
_HINTED = 1.05

#: The distance of two lines of a name, in sizes of their letters.
_LINES_APART = 1.4

#: Left, low, right and high, in points from the panel's lower left corner.
_Box: TypeAlias = tuple[float, float, float, float]


class EventNames:
    """Writes names beside points of a panel. The panel must have its limits and its place in the
    figure.

    A name covers objects that are already drawn in the panel only if it has no other place.
    """

    def __init__(self, axes: Axes) -> None:
        self._axes = axes
        width, height = self._points(axes.transAxes.transform([[0.0, 0.0], [1.0, 1.0]]))[1]
        self._whole: _Box = (0.0, _GAP_PT, width, height)
        drawn = [line.get_xydata() for line in axes.lines if line.get_transform() == axes.transData]
        self._drawn = self._points(axes.transData.transform(np.concatenate(drawn or [[(0, 0)]])))
        upright = axes.get_xaxis_transform(which="grid")
        marked = [line for line in axes.lines if line.get_transform() == upright]
        places = [[np.asarray(line.get_xdata())[0], 0.0] for line in marked]
        #: Where lines over the whole height stand.
        self._upright = self._points(axes.transData.transform(np.array(places or [[0.0, 0.0]])))
        self._taken: list[_Box] = []

    def write(self, x: float, y: float, text: str) -> bool:
        """Write a name beside a point, each word below the other if there is no room for one line;
        without room for it, nothing.
        """
        at = self._points(self._axes.transData.transform([(x, y)]))[0]
        free = [offset for offset in _OFFSETS if self._is_free(_box(at, offset, text))]
        if not free:
            return " " in text and self.write(x, y, text.replace(" ", "\n"))
        best = min(free, key=lambda offset: self._covers(_box(at, offset, text)))
        self._taken.append(_box(at, best, text))
        self._annotate((x, y), best, text)
        return True

    def keep_clear(self, x: float, width_pt: float, height_pt: float) -> None:
        """Write nothing over what stands on the lower edge around `x`."""
        at = self._points(self._axes.transData.transform([(x, 0.0)]))[0][0]
        self._taken.append((at - width_pt / 2, 0.0, at + width_pt / 2, height_pt))

    def _points(self, pixels: Any) -> Any:
        """Places in points from the lower left corner of the panel."""
        corner = self._axes.transAxes.transform((0.0, 0.0))
        return (np.asarray(pixels) - corner) * 72 / self._axes.figure.dpi

    def _is_free(self, box: _Box) -> bool:
        left, low, right, high = box
        a, b, c, d = self._whole
        if left < a or low < b or right > c or high > d:
            return False
        return all(right < a or left > c or high < b or low > d for a, b, c, d in self._taken)

    def _covers(self, box: _Box) -> bool:
        """Whether it covers something that is drawn."""
        inside = (self._drawn > box[:2]) & (self._drawn < box[2:])
        across = self._upright[:, 0]
        crossed = (across > box[0]) & (across < box[2])
        return bool(inside.all(axis=1).any() or crossed.any())

    def _annotate(self, point: tuple[float, float], offset: tuple[int, int], text: str) -> None:
        across, up = offset
        line = {"arrowstyle": "-", "linewidth": 0.5, "color": "0.2", "shrinkA": 0, "shrinkB": 2}
        self._axes.annotate(
            text,
            point,
            xytext=offset,
            textcoords="offset points",
            fontsize=LABEL_PT,
            ha="left" if across > 0 else "right",
            va="bottom" if up > 0 else "top",
            zorder=6,
            arrowprops=line,
        ).set_in_layout(False)


def _box(at: Any, offset: tuple[int, int], text: str) -> _Box:
    """The place of a name with a gap around it."""
    across, up = offset
    width = _HINTED * text_width(text, LABEL_PT)
    left = at[0] + across - (0 if across > 0 else width)
    height = LABEL_PT * (1 + _LINES_APART * text.count("\n"))
    low = at[1] + up - (0 if up > 0 else height)
    return left - _GAP_PT, low - _GAP_PT, left + width + _GAP_PT, low + height + _GAP_PT
