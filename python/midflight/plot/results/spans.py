"""Quartiles and intervals over an axis: whiskers, or bands where there are many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.style import Look, lighter
from midflight.plot.results.quartiles import draw_whiskers
from midflight.plot.results.scales import open_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LEAST_FOR_BANDS", "Span", "draw_span", "pale_look", "takes_bands"]

#: With values at fewer numbers whiskers are clearer than bands.
LEAST_FOR_BANDS = 8
#: With more bands each is fainter.
_MOST_STRONG_BANDS = 3
#: The share of the colour of a line that pale whiskers have.
_PALE = 0.4

_Values = NDArray[np.float64]


class Span(NamedTuple):
    """The middle values of a line, and the ends around them; nan where there are none. At places
    where its line is not `joined` to the next value it has no band.
    """

    x: _Values
    middle: _Values
    low: _Values
    high: _Values
    joined: NDArray[np.bool_] | None = None


def takes_bands(most: int, *, has_names: bool) -> bool:
    """Whether a figure has bands whose longest line has values at so many places."""
    return not has_names and most >= LEAST_FOR_BANDS


def pale_look(look: Look) -> Look:
    """Return the look of intervals that are no evidence."""
    from matplotlib.colors import to_hex

    red, green, blue = lighter(look.colour, _PALE)
    return replace(look, colour=to_hex((red, green, blue)))


def draw_span(
    axes: Axes,
    span: Span,
    look: Look,
    at: _Values,
    cap_pt: float,
    *,
    bands: bool,
    lines: int = 1,
    weak: NDArray[np.bool_] | None = None,
) -> None:
    """Draw the ends of one of so many lines, as a band or as whiskers at these places; those of
    `weak` values are pale.
    """
    known = np.isfinite(span.low) & np.isfinite(span.high)
    ranged = known & (span.low < span.high)
    banded = np.zeros(len(known), dtype=np.bool_)
    if bands and ranged.any():
        inside = known if span.joined is None else known & span.joined
        # A band needs two places.
        padded = np.pad(inside, 1)
        banded = inside & (padded[:-2] | padded[2:])
        _draw_band(axes, span, look, banded, strong=lines <= _MOST_STRONG_BANDS)
    pale = np.zeros(len(known), dtype=np.bool_) if weak is None else weak
    for some, of in ((~pale, look), (pale, pale_look(look))):
        alone = ranged & ~banded & some
        if not alone.any():
            continue
        lengths = np.abs(np.vstack([span.middle - span.low, span.high - span.middle]))[:, alone]
        drawn = draw_whiskers(axes, of, at[alone], span.middle[alone], lengths, cap_pt)
        open_edges(axes, drawn.get_children())


def _draw_band(
    axes: Axes, span: Span, look: Look, where: NDArray[np.bool_], *, strong: bool
) -> None:
    axes.fill_between(
        span.x,
        span.low,
        span.high,
        where=where,
        color=look.colour,
        alpha=0.18 if strong else 0.1,
        linewidth=0,
        zorder=2,
    )
    for edge in (span.low, span.high):
        axes.plot(
            span.x,
            np.where(where, edge, np.nan),
            color=look.colour,
            linestyle=look.line,
            linewidth=0.35,
            zorder=3,
        )
