"""The numbers at axes and colour bars, of logarithmic ones round ones, near both ends."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.ticker import Locator

    from midflight.plot.common.place_scale import PlaceScale

__all__ = ["log_locator", "log_ticks", "number_text", "plain_log", "separate_thousands"]

#: The numbers of each decade, sparse ones first.
_NUMBERS: Sequence[Sequence[float]] = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 2, 3, 5),
    (1, 1.5, 2, 3, 5, 7),
)
#: Within a decade the ticks may also have equal distances, of these numbers: up to so many, or so
#: many.
_STEPS, _FEW_STEPS, _MANY_STEPS = (1, 2, 3, 5, 10), 6, 9
#: An end is near a tick up to this share of the axis, ...
_NEAR = 0.22
#: ... and that is enough with so many ticks.
_ENOUGH = 4
#: The ticks of an axis that has room for fewer or more.
_FEWEST, _MOST = 3, 9


def log_ticks(low: float, high: float, most: int = _MOST) -> list[float]:
    """Return at most so many round numbers, three or more, on a logarithmic axis with these ends.

    They are the sparsest ones of which some are near both ends, or those that are nearest.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = range(first, last + 1)
    # As text, so that a number of any decade is the nearest one.
    found = [[float(f"{one}e{at}") for at in decades for one in few] for few in _NUMBERS]
    if high < 10 * low:
        # Powers of ten and their parts may be too few.
        for bins in (_FEW_STEPS, _MANY_STEPS):
            equal = MaxNLocator(bins, steps=_STEPS).tick_values(low, high)
            found.append([float(f"{one:.12g}") for one in equal])
    chosen = [[one for one in each if low <= one <= high] for each in found]
    scored = [(_gap(each, low, high), each) for each in chosen if 0 < len(each) <= most]
    for gap, each in scored:
        if gap <= _NEAR and len(each) >= min(_ENOUGH, most):
            return each
    if not scored:
        every = LogLocator(numticks=most).tick_values(low, high)
        return [float(one) for one in every if low <= one <= high]
    return min(scored, key=lambda one: (one[0], -len(one[1])))[1]


def _gap(ticks: Sequence[float], low: float, high: float) -> float:
    """The way from an end to the first or last tick, the longer one, as a share of the axis."""
    return max(math.log(ticks[0] / low), math.log(high / ticks[-1])) / math.log(high / low)


def log_locator(zero: PlaceScale | None = None) -> Locator:
    """Return what puts `log_ticks` at an axis, as many as its length has room for, and one at 0 if
    its scale has a place for it.
    """
    from matplotlib.ticker import Locator

    class LogTicks(Locator):
        def __call__(self) -> Any:
            return self.tick_values(*self.axis.get_view_interval())  # type: ignore[union-attr]

        def tick_values(self, vmin: float, vmax: float) -> Any:
            low, high = sorted((vmin, vmax))
            if zero is not None:
                at_zero = [0.0] if low <= 0 <= high else []
                low = max(low, zero.least)
                found = log_ticks(low, high, _MOST - 1) if high > low else []
                return np.array([*at_zero, *found])
            if not 0 < low < high < math.inf:
                return np.array([])
            room = _MOST if self.axis is None else self.axis.get_tick_space()
            return np.array(log_ticks(low, high, max(_FEWEST, min(_MOST, room))))

    return LogTicks()


def plain_log(
    axis: Axis, subs: Sequence[float] | None = None, *, zero: PlaceScale | None = None
) -> None:
    """Make an axis logarithmic, with plain numbers at its ticks: those times a power of ten, or
    round ones that are near both ends; with a scale that has a place for 0, a tick there.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    set_scale = axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale
    if zero is None:
        set_scale("log")
    else:
        # Linear up to the least place, for which matplotlib takes a length in powers of the base.
        how: Any = {"base": math.e, "linthresh": zero.least}
        set_scale("symlog", linscale=zero.step * (1 - 1 / math.e), **how)
        axis.set_minor_locator(NullLocator())
    ticks = log_locator(zero) if subs is None else LogLocator(base=10, subs=subs, numticks=9)
    axis.set_major_locator(ticks)
    axis.set_major_formatter(FuncFormatter(lambda value, _place: number_text(value)))
    axis.set_minor_formatter(NullFormatter())


def number_text(value: float) -> str:
    """A number as axes and texts of figures have it: 0.5, 250 or 1,600,000."""
    return f"{value:,.0f}" if abs(value) >= 1000 and value == round(value) else f"{value:g}"


def separate_thousands(axes: Axes) -> None:
    """Write the usual numbers at linear axes with separators, as texts of figures have them."""
    from matplotlib.ticker import ScalarFormatter

    class Separated(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            text: str = super().__call__(x, pos)
            # In mathematics a comma has a space behind it unless it is in braces.
            comma = "{,}" if "$" in text else ","
            return re.sub(r"(?<![\d.])\d{4,}", lambda one: _in_threes(one[0], comma), text)

    for axis in (axes.xaxis, axes.yaxis):
        if type(axis.get_major_formatter()) is ScalarFormatter:
            axis.set_major_formatter(Separated())


def _in_threes(digits: str, comma: str) -> str:
    return f"{int(digits):,}".replace(",", comma)
