"""Maps of results: cells with colours and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.axis import axis_places
from midflight.plot.style import labelled, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["decimals", "draw_map", "number_words"]

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


def number_words(value: float, digits: int, *, signed: bool) -> str:
    """A number with so many decimals as a cell shows it: with a minus sign, not a hyphen, and with
    a plus sign if the others may be below 0; 0 has no sign.
    """
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def draw_map(
    figure: Figure,
    axes: Axes,
    cells: NDArray[np.float64],
    names: tuple[Sequence[str], Sequence[str]],
    title: str,
    limits: tuple[float, float] | None,
    *,
    signed: bool = False,
) -> None:
    """Draw cells with lighter colours for larger values; their numbers are written if they fit.

    `names` are those of the columns and of the rows, `title` is what the colours mean, `limits` are
    the least and the greatest value that has a colour, by default those that there are. Values on
    both sides of 0, or those that are `signed`, have colours that are white at 0, and signs; where
    there is no room for numbers, cells below 0 are hatched.
    """
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    columns, rows = names
    across = len(columns)
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if limits is not None:
        low, high = limits
    high = high if high > low else low + 1.0
    is_signed = signed or low < 0 < high
    if is_signed:
        # As far above 0 as below it, so that equal colours are equal sizes.
        high = max(abs(low), abs(high))
        low = -high
    norm = Normalize(low, high)
    # Cells as areas: PGF has no images.
    image = axes.pcolormesh(
        np.arange(across + 1) - 0.5,
        np.arange(len(cells) + 1) - 0.5,
        np.ma.masked_invalid(cells),
        cmap="PuOr_r" if is_signed else "cividis",
        norm=norm,
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
    is_written = cells.size <= _MOST_WRITTEN and across <= 16
    # Runs that never end have no colour.
    if len(finite):
        bar = figure.colorbar(image, ax=axes, pad=0.02, fraction=0.06, use_gridspec=False)
        bar.outline.set_visible(False)
        # No seams between the areas of the bar.
        if bar.solids is not None:
            bar.solids.set_edgecolor("face")
        height = (figure.get_size_inches()[1] - 0.6) * 72
        bar.set_label(wrapped(labelled(title), 7.5, height), parse_math=False)
    if is_signed and not is_written:
        hatched: Any = {"fill": False, "hatch": "////", "edgecolor": "0.25", "linewidth": 0}
        for line, column in np.argwhere(np.isfinite(cells) & (cells < 0)):
            axes.add_patch(Rectangle((column - 0.5, line - 0.5), 1, 1, **hatched))
        if len(finite):
            bar.ax.add_patch(Rectangle((0, 0), 1, 0.5, transform=bar.ax.transAxes, **hatched))
    if not is_written:
        return
    digits = decimals(finite)
    for (line, column), value in np.ndenumerate(cells):
        if math.isnan(value):
            continue
        red, green, blue, _ = image.cmap(norm(value)) if math.isfinite(value) else (1, 1, 1, 1)
        is_dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        text = number_words(value, digits, signed=is_signed) if math.isfinite(value) else "never"
        axes.text(
            column,
            line,
            text,
            ha="center",
            va="center",
            fontsize=5.5 if across > 9 else 6.5,
            color="white" if is_dark else "black",
        )
