"""The marks of medians and quartiles over an axis: markers and lines, bands, and whiskers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.style import Look
from midflight.plot.results.quartiles import draw_whiskers
from midflight.plot.results.scales import open_edges
from midflight.results import Quartiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "LEAST_FOR_BANDS",
    "Line",
    "draw_band",
    "draw_medians",
    "draw_spread",
    "has_few_medians",
]

#: With fewer values whiskers are clearer than bands.
LEAST_FOR_BANDS = 8
_MOST_MARKERS = 25


@dataclass
class Line:
    """The quartiles of one series, in the order of the axis."""

    label: str
    #: Its values of the columns that tell lines apart.
    key: Sequence[str] = ()
    x: list[float] = field(default_factory=list)
    points: list[Quartiles] = field(default_factory=list)
    #: Runs at each point, and those of them that have no value.
    runs: list[int] = field(default_factory=list)
    #: The values of all runs at each point, in the order of the table.
    values: list[tuple[float, ...]] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)


def has_few_medians(lines: Sequence[Line]) -> bool:
    """Whether more than half of the points of a figure have no median."""
    medians = [point.median for line in lines for point in line.points]
    return 2 * sum(map(math.isinf, medians)) > len(medians)


def _shown(line: Line, over: float) -> Any:
    """Lower quartiles, medians and upper quartiles; infinite values are `over` the axes."""
    return np.minimum(np.array(line.points, dtype=float).reshape(-1, 3), over).T


def draw_medians(axes: Axes, line: Line, look: Look, x: Any, number: int, *, joined: bool) -> None:
    """Draw the medians of one series.

    Between names there is nothing, so that a line over names is not `joined`.
    """
    every = max(1, math.ceil(len(x) / _MOST_MARKERS))
    medians = np.array([point.median for point in line.points], dtype=float)
    drawn = axes.plot(
        x,
        # A line ends where half of the runs or more did not finish.
        np.where(np.isfinite(medians), medians, np.nan),
        color=look.colour,
        linestyle=look.line if joined else "none",
        linewidth=1.0,
        marker=look.marker,
        markersize=look.size * (0.75 if len(x) >= LEAST_FOR_BANDS else 1),
        # Of lines that run together each shows its markers at other places.
        markevery=(number % every, every),
        markerfacecolor=look.colour if look.filled else "white",
        markeredgecolor=look.colour,
        markeredgewidth=0.9,
        label=line.label,
        zorder=4,
    )
    open_edges(axes, drawn)


def draw_band(axes: Axes, line: Line, look: Look, x: Any, over: float, *, strong: bool) -> None:
    """Draw the quartiles of one series as an area, if there is a point with several values."""
    q1, _, q3 = _shown(line, over)
    if not np.any(q1 < q3):
        return
    axes.fill_between(
        x, q1, q3, color=look.colour, alpha=0.18 if strong else 0.1, linewidth=0, zorder=2
    )
    for edge in (q1, q3):
        axes.plot(x, edge, color=look.colour, linestyle=look.line, linewidth=0.35, zorder=3)


def draw_spread(
    axes: Axes, line: Line, look: Look, x: Any, over: float, cap_pt: float = 2.0
) -> None:
    """Draw the quartiles of one series as bars at the points that have several values; half of a
    cap is so wide.
    """
    q1, median, q3 = _shown(line, over)
    several = q1 < q3
    lengths = np.vstack([median - q1, q3 - median])[:, several]
    drawn = draw_whiskers(axes, look, x[several], median[several], lengths, cap_pt)
    open_edges(axes, drawn.get_children())
