"""Quartiles over link parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.style import COLUMN_IN, MIDDLE, Look, chosen_axes, save, style
from midflight.results import Quartiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

__all__ = ["Series", "draw_whiskers", "mark_endless", "quartile_plot"]


@dataclass(frozen=True)
class Series:
    """One line of a quartile plot: its name in the legend, its look, and one point per category.

    `expected` is where the median of each category should lie, such as by a paper's words: a range
    (both ends alike for a single value), or None where nothing is said. A series that is `over` the
    one before it has the same places, and its markers are drawn on those of that one.
    """

    label: str
    look: Look
    points: Sequence[Quartiles]
    expected: Sequence[tuple[float, float] | None] = ()
    over: bool = False


def _top(series: Sequence[Series]) -> float:
    """The highest finite value to be shown."""
    values = [v for s in series for point in s.points for v in point if math.isfinite(v)]
    values += [high for s in series for one in s.expected if one for high in one]
    return max(values, default=1.0)


def quartile_plot(
    stem: Path,
    *,
    categories: Sequence[str],
    x_title: str,
    y_title: str,
    series: Sequence[Series],
    width_in: float = COLUMN_IN,
    height_in: float = 2.55,
    legend_columns: int = 2,
    reference: float | None = None,
    expected: str = "paper",
    connected: bool = True,
    upright: bool = False,
) -> list[Path]:
    """Draw lower quartile, median and upper quartile of each series over link parameters.

    Categories stand at equal distances in the given order.  Markers are medians, bars run from the
    lower to the upper quartile; the series of one category are set side by side so that no bar
    hides another.  An upper quartile of runs that never finish leaves the axes with an arrow.  At
    `reference`, if given, is a thin line.  A box behind a marker is the range in which its median
    is expected, a thick line the value; the legend calls both `expected`. Lines connect the medians
    of a series if it is `connected`. The names of many categories are set `upright`.

    Returns the files written (`stem`.svg and `stem`.png).
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width_in, height_in))
        axes = figure.add_subplot()
        top = _top(series) * 1.06 or 1.0
        columns = list(accumulate(int(not one.over) for one in series))
        step = min(0.17, 0.6 / max(1, *columns))
        boxes = None
        for column, one in zip(columns, series, strict=True):
            x = np.arange(len(categories)) + (column - (columns[-1] + 1) / 2) * step
            boxes = _expected(axes, x, one.expected, 0.8 * step, top) or boxes
            _quartile_series(axes, x, one, top, connected=connected)
        if boxes is not None:
            boxes.set_label(expected)
        axes.set_xticks(range(len(categories)), categories, rotation=90 if upright else 0)
        axes.set_xlim(-0.5, len(categories) - 0.5)
        axes.set_ylim(0, top)
        axes.set_xlabel(x_title)
        axes.set_ylabel(y_title)
        axes.tick_params(axis="x", length=0)
        if reference is not None:
            axes.axhline(reference, color="0.4", linewidth=0.6, zorder=1)
        for edge in range(1, len(categories)):
            axes.axvline(edge - 0.5, color="0.93", linewidth=0.5, zorder=0)
        figure.legend(loc="outside upper center", ncols=legend_columns)
        return save(figure, stem)


def _expected(
    axes: Axes,
    x: np.ndarray,
    ranges: Sequence[tuple[float, float] | None],
    width: float,
    top: float,
) -> BarContainer | None:
    """Draw where medians are expected; a single value is a line of some thickness."""
    known = [(at, *one) for at, one in zip(x, ranges, strict=False) if one is not None]
    if not known:
        return None
    least = 0.012 * top
    ends = [
        (at, *((low, high) if high - low > least else _around(low, least)))
        for at, low, high in known
    ]
    return axes.bar(
        [at for at, _, _ in ends],
        [high - low for _, low, high in ends],
        width,
        [low for _, low, _ in ends],
        color=MIDDLE,
        alpha=0.45,
        linewidth=0,
        zorder=1,
    )


def _around(value: float, extent: float) -> tuple[float, float]:
    return value - extent / 2, value + extent / 2


def _quartile_series(
    axes: Axes, x: np.ndarray, one: Series, top: float, *, connected: bool
) -> None:
    """Draw the line, the bars and the markers of one series."""
    data = np.array(one.points, dtype=float)
    shown = np.minimum(data, top)
    q1, median, q3 = shown.T
    look = one.look
    if connected:
        axes.plot(x, median, color=look.colour, linestyle=look.line, linewidth=0.7, zorder=2)
    draw_whiskers(axes, look, x, median, np.vstack([median - q1, q3 - median]), clip_on=False)
    axes.plot(
        x,
        median,
        linestyle=look.line,
        linewidth=0,
        marker=look.marker,
        markersize=look.size,
        markerfacecolor=look.colour if look.filled else "white",
        markeredgecolor=look.colour,
        markeredgewidth=0.9,
        zorder=4,
        clip_on=False,
    )
    mark_endless(axes, x, data[:, 2], top, look)
    # An empty line with everything on it, for the legend only.
    axes.plot(
        [],
        [],
        color=look.colour,
        linestyle=look.line,
        linewidth=0.9,
        marker=look.marker,
        markersize=look.size,
        markerfacecolor=look.colour if look.filled else "white",
        markeredgewidth=0.9,
        label=one.label,
    )


def draw_whiskers(
    axes: Axes, look: Look, x: Any, middle: Any, lengths: Any, cap_pt: float = 2.0, **how: Any
) -> Any:
    """Draw whiskers below and above values, of these two rows of lengths; return what is drawn."""
    return axes.errorbar(
        x,
        middle,
        yerr=lengths,
        fmt="none",
        ecolor=look.colour,
        elinewidth=0.9,
        capsize=cap_pt,
        capthick=0.9,
        zorder=3,
        **how,
    )


def mark_endless(
    axes: Axes,
    x: NDArray[Any],
    ends: NDArray[Any],
    edge: float | NDArray[Any],
    look: Look,
    arrow: Literal["up", "down", "cross"] = "up",
    *,
    above_pt: float = 0.0,
    size_pt: float = 6.0,
) -> None:
    """Put an arrow, or a cross, at an edge of the axes where an upper quartile or an interval is
    endless, or so much above it.
    """
    from matplotlib.transforms import Bbox, ScaledTranslation, TransformedBbox

    endless = ~np.isfinite(ends)
    if endless.any():
        raised = ScaledTranslation(0, above_pt / 72, axes.figure.dpi_scale_trans)
        (drawn,) = axes.plot(
            x[endless],
            np.broadcast_to(edge, x.shape)[endless],
            transform=axes.transData + raised,
            linestyle="none",
            marker="x" if arrow == "cross" else rf"$\{arrow}arrow$",
            markersize=0.8 * size_pt if arrow == "cross" else size_pt,
            color=look.colour,
            clip_on=False,
            zorder=5,
        )
        if (choice := chosen_axes()) is not None and choice.xlim is not None:
            # Not beside the axes, where others have their places.
            across = Bbox.from_extents(-0.02, -1.0, 1.02, 2.0)
            drawn.set_clip_path(None)
            drawn.set_clip_box(TransformedBbox(across, axes.transAxes))
            drawn.set_clip_on(True)
