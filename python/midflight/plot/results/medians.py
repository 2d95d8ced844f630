"""The lines of medians over an axis, and their quartiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.coincide import marker_share
from midflight.plot.common.style import Look
from midflight.plot.results.scales import open_edges
from midflight.plot.results.spans import LEAST_FOR_BANDS, Span
from midflight.results import Quartiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MEDIANS_PT",
    "Line",
    "bottom_of",
    "draw_medians",
    "has_few_medians",
    "quartile_marks",
    "quartiles_over",
]

#: The width of a line in points.
MEDIANS_PT = 1.0
_MOST_MARKERS = 25
#: Markers nearer than this cover each other, in points; then they are so far apart.
_DENSE_PT, _APART_PT = 8.0, 20.0
#: How far aside the markers of the next line are, of the distance of two: few lines are far apart.
_ASIDE = 0.38


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


def quartiles_over(line: Line, over: float) -> Span:
    """The quartiles of one series around its medians; infinite values are `over` the axes."""
    q1, median, q3 = np.minimum(np.array(line.points, dtype=float).reshape(-1, 3), over).T
    return Span(np.array(line.x, dtype=float), median, q1, q3)


def quartile_marks(
    lines: Sequence[Line], low: float, *, is_log: bool
) -> list[list[tuple[float, float, float]]]:
    """The numbers of each line with the ends of its quartiles there, as an axis of values that
    begins at `low` shows them.
    """

    def up(value: float) -> float:
        return math.log(max(value, low)) if is_log else value

    return [
        [(x, up(one.q1), up(one.q3)) for x, one in zip(line.x, line.points, strict=True)]
        for line in lines
    ]


def bottom_of(least: float, top: float) -> float:
    """Where an axis of values begins: at 0, or a little below values that are below it."""
    return least - 0.04 * (top - least) if least < 0 else 0.0


def _markers_every(axes: Axes, count: int) -> int:
    """Return how many numbers are between two markers of a line over so many of them: markers that
    would cover each other, and those of other lines, are as far apart as in a wide panel.
    """
    figure = axes.get_figure(root=True)
    width_pt = 72 * axes.get_window_extent().width / figure.dpi if figure is not None else 0.0
    most = _MOST_MARKERS
    if count * _DENSE_PT > width_pt:
        most = max(2, min(most, int(width_pt / _APART_PT)))
    return max(1, math.ceil(count / most))


def draw_medians(
    axes: Axes,
    line: Line,
    look: Look,
    at: Any,
    number: int,
    *,
    joined: bool,
    width_pt: float = MEDIANS_PT,
) -> None:
    """Draw the medians of one series at these places, with a line so wide.

    Between names there is nothing, so that a line over names is not `joined`.
    """
    size = 0.75 if len(at) >= LEAST_FOR_BANDS else 1.0
    every = _markers_every(axes, len(at))
    medians = np.array([point.median for point in line.points], dtype=float)
    drawn = axes.plot(
        at,
        # A line ends where half of the runs or more did not finish.
        np.where(np.isfinite(medians), medians, np.nan),
        color=look.colour,
        linestyle=look.line if joined else "none",
        linewidth=width_pt,
        marker=look.marker,
        markersize=look.size * size * marker_share(width_pt, MEDIANS_PT),
        # Of lines that run together each shows its markers at other places.
        markevery=(round(number * every * _ASIDE) % every, every),
        markerfacecolor=look.colour if look.filled else "white",
        markeredgecolor=look.colour,
        markeredgewidth=0.9,
        label=line.label,
        zorder=4,
    )
    open_edges(axes, drawn)
