"""Maps of results: cells with colours and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.axis import axis_places
from midflight.plot.style import labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["decimals", "draw_map"]

#: With more cells there is no room for their values.
_MOST_WRITTEN = 150


def decimals(values: NDArray[np.float64]) -> int:
    """The decimals of all numbers of a map: three digits of the least, or four of the greatest."""
    sizes = np.abs(values[values != 0])
    if not sizes.size:
        return 0
    least, most = (math.floor(math.log10(one)) for one in (sizes.min(), sizes.max()))
    if least >= 2 or bool((values == np.round(values)).all()):
        return 0
    return max(0, min(2 - least, 3 - most))


def draw_map(
    figure: Figure,
    axes: Axes,
    cells: NDArray[np.float64],
    names: tuple[Sequence[str], Sequence[str]],
    title: str,
    limits: tuple[float, float] | None,
) -> None:
    """Draw cells with lighter colours for larger values; their numbers are written if they fit.

    `names` are those of the columns and of the rows, `title` is what the colours mean, `limits` are
    the least and the greatest value that has a colour, by default those that there are.
    """
    from matplotlib.colors import Normalize, TwoSlopeNorm

    columns, rows = names
    across = len(columns)
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if limits is not None:
        low, high = limits
    high = high if high > low else low + 1.0
    both = low < 0 < high
    norm: Any = TwoSlopeNorm(0.0, low, high) if both else Normalize(low, high)
    colours = "PuOr_r" if both else "cividis"
    image = axes.imshow(
        np.where(np.isfinite(cells), cells, np.nan),
        cmap=colours,
        norm=norm,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
    )
    axes.grid(False)
    down = len(cells)
    if across * down <= _MOST_WRITTEN:
        # Equal neighbours are two cells.
        for place in range(1, across):
            axes.axvline(place - 0.5, color="white", linewidth=0.8)
        for place in range(1, down):
            axes.axhline(place - 0.5, color="white", linewidth=0.8)
    if down > 1 and axis_places(list(rows), "")[1] is not None:
        # Names are read from the top.
        axes.invert_yaxis()
    for side, shown_names in ((axes.xaxis, columns), (axes.yaxis, rows)):
        # As many names as there is room for.
        every = max(1, math.ceil(len(shown_names) / 14))
        shown = [labelled(name) for name in list(shown_names)[::every]]
        side.set_ticks(range(0, len(shown_names), every), shown, parse_math=False)
    axes.tick_params(length=0)
    if any(len(one) > 5 for one in columns) and across > 4:
        axes.tick_params(axis="x", rotation=30)
    for spine in axes.spines.values():
        spine.set_visible(False)
    # Runs that never end have no colour.
    if len(finite):
        bar = figure.colorbar(image, ax=axes, pad=0.02, fraction=0.06, use_gridspec=False)
        bar.outline.set_visible(False)
        bar.set_label(title, parse_math=False)
    if cells.size > _MOST_WRITTEN or across > 16:
        return
    digits = decimals(finite)
    for (line, column), value in np.ndenumerate(cells):
        if math.isnan(value):
            continue
        red, green, blue, _ = image.cmap(norm(value)) if math.isfinite(value) else (1, 1, 1, 1)
        is_dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        text = f"{value:.{digits}f}" if math.isfinite(value) else "never"
        axes.text(
            column,
            line,
            text,
            ha="center",
            va="center",
            fontsize=5.5 if across > 9 else 6.5,
            color="white" if is_dark else "black",
        )
