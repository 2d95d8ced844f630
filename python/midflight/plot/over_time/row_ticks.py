"""Axes of values that end below rows of marks: nobody reads a value beside these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from midflight.plot.common.style import text_width, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

__all__ = ["BELOW_ROWS", "below_end", "end_below_rows", "end_of_values", "title_below_rows"]

#: The group of the line between the values and the rows.
BELOW_ROWS = "below the rows"
#: An axis has so many ticks, unless its values have no room for them.
_LEAST_TICKS = 3
#: The size of the letters of titles of axes, and the share of the height of a panel that is no less
#: when the figure has its legend.
_TITLE_PT, _OF_PANEL = 7.5, 0.85


def end_of_values(axes: Axes, above: float) -> float:
    """Where the values of an axis end whose rows of marks take a share of the height `above`."""
    low, high = axes.get_ylim()
    share = 1 - above
    is_log = axes.get_yscale() == "log"
    return low * (high / low) ** share if is_log else low + share * (high - low)


def below_end(axes: Axes, above: float) -> float:
    """How far the highest tick of an axis is below the end of its values, as a share of the height
    of the panel; 1 without any.
    """
    end, least = end_of_values(axes, above), axes.get_ylim()[0]
    below = axes.transData - axes.transAxes
    ticks = [one for one in axes.yaxis.get_majorticklocs() if least <= one <= end * (1 + 1e-9)]
    places = below.transform([(0.0, one) for one in [*ticks, end]])[:, 1]
    return float(places[-1] - places[-2]) if ticks else 1.0


def end_below_rows(axes: Axes, above: float) -> None:
    """End the ticks of the axis of values, their labels and grid lines, and all that is drawn at
    values, and draw a thin line, below the rows of marks, which take a share of the height `above`
    that.
    """
    from matplotlib.ticker import NullLocator

    if not above:
        return
    end, share = end_of_values(axes, above), 1 - above
    is_log = axes.get_yscale() == "log"
    axis = axes.yaxis
    axis.set_major_locator(_ended(axis.get_major_locator(), end, may_be_finer=not is_log))
    if not isinstance(axis.get_minor_locator(), NullLocator):
        axis.set_minor_locator(_ended(axis.get_minor_locator(), end, may_be_finer=False))
    thin: Any = {"color": "0.75", "linewidth": 0.5, "zorder": 0.6, "gid": BELOW_ROWS}
    axes.plot([0, 1], [share, share], transform=axes.transAxes, **thin)
    _clip_below(axes, share)
    if not axes.spines["right"].get_visible():
        # A frame goes around the rows, too.
        axes.spines["left"].set_bounds(axes.get_ylim()[0], end)


def _clip_below(axes: Axes, share: float) -> None:
    """Cut what is drawn at values where these end, at a share of the height: a line that goes on
    among the rows would look like a part of them.
    """
    from matplotlib.patches import Rectangle

    below = Rectangle((0, 0), 1, share, transform=axes.transAxes)
    for one in (*axes.lines, *axes.collections, *axes.patches):
        # Shaded times, and the marks of rows, are no values.
        if one.get_clip_on() and one.get_transform().contains_branch(axes.transData):
            one.set_clip_path(below)


def title_below_rows(axes: Axes, above: float, panel_pt: float) -> bool:
    """Put the title of the axis of values beside the values, as far as it has room, of a panel that
    is about so many points high: rows of marks, which take a share of the height `above` that, have
    numbers beside them. A title that is longer than the values has its unit, or its last words, in
    a line of their own. Return whether it is below the rows.
    """
    high = panel_pt * _OF_PANEL
    room = (1 - above) * high
    title = axes.get_ylabel()
    if _longest(title) > room:
        title = wrapped(title.replace(" (", "\n("), _TITLE_PT, room)
        axes.set_ylabel(title)
    half = _longest(title) / 2 / high
    middle = max((1 - above) / 2, min(half, 0.5))
    axes.yaxis.label.set_y(middle)
    return middle + half <= 1 - above + 1e-9


def _longest(title: str) -> float:
    """The width in points of the longest line of a title."""
    return max((text_width(line, _TITLE_PT) for line in title.splitlines()), default=0.0)


def _ended(usual: Locator, end: float, *, may_be_finer: bool) -> Locator:
    """A locator of the usual ticks up to the end of the values; if these are few, and the ticks
    `may_be_finer`, of those that the axis would have if it ended there.
    """
    from matplotlib.ticker import Locator

    class Ended(Locator):
        def set_axis(self, axis: Any) -> None:
            super().set_axis(axis)
            usual.set_axis(axis)

        def __call__(self) -> Any:
            found = self._kept(usual())
            if may_be_finer and len(found) < _LEAST_TICKS:
                assert self.axis is not None
                low = min(self.axis.get_view_interval())
                found = self._kept(usual.tick_values(low, end))
            return found

        def tick_values(self, vmin: float, vmax: float) -> Any:
            return self._kept(usual.tick_values(vmin, vmax))

        def view_limits(self, vmin: float, vmax: float) -> Any:
            return usual.view_limits(vmin, vmax)

        def nonsingular(self, v0: float, v1: float) -> Any:
            return usual.nonsingular(v0, v1)

        @staticmethod
        def _kept(ticks: Any) -> list[float]:
            return [one for one in ticks if one <= end + 1e-9 * abs(end)]

    return Ended()
