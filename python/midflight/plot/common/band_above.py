"""A band above a panel for marks that have no place on its axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from midflight.plot.common.style import Size, size_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_band_above", "make_room_above", "room_above"]

#: What names the band among the artists of a panel; no legend has it.
_BAND = "_marks above"


def room_above(axes: Axes) -> float:
    """Return how high the band of marks above a panel is, in points; 0 without one."""
    from matplotlib.patches import Rectangle

    patches = (one for one in axes.patches if isinstance(one, Rectangle))
    bands = (one for one in patches if one.get_label() == _BAND)
    return max((72 * float(one.get_height()) for one in bands), default=0.0)


def make_room_above(figure: Figure, rows: Sequence[Sequence[Axes]], size: Size | None) -> None:
    """Make a figure with these rows of panels higher by the bands above them, unless the height is
    a part of the `size` that was asked for.
    """
    if size_in(size, (1.0, 1.0))[1] != size_in(size, (1.0, 2.0))[1]:
        bands = sum(max(map(room_above, row)) for row in rows) / 72
        figure.set_figheight(figure.get_figheight() + bands)


def draw_band_above(axes: Axes, high_pt: float) -> None:
    """Draw a band for marks that are above a panel, so high in points."""
    from matplotlib.patches import Rectangle
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    assert axes.figure is not None
    inside: Any = axes.transAxes
    up = axes.figure.dpi_scale_trans + ScaledTranslation(0, 1, inside)
    how: Any = {"transform": blended_transform_factory(axes.transAxes, up), "label": _BAND}
    how |= {"facecolor": "0.93", "edgecolor": "none", "clip_on": False, "zorder": 1}
    axes.add_patch(Rectangle((0, 0), 1, high_pt / 72, **how))
