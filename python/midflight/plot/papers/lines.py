"""Means over a number, such as a delay, as lines with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.style import COLUMN_IN, Look, save, style
from midflight.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Line", "LinePanel", "line_plot"]


@dataclass(frozen=True)
class Line:
    """A line: its name in the legend, its look, and an estimate at each x."""

    label: str
    look: Look
    x: Sequence[float]
    estimates: Sequence[Estimate]


@dataclass(frozen=True)
class LinePanel:
    """Lines over the same x axis."""

    x_title: str
    lines: Sequence[Line]
    title: str = ""


def line_plot(
    stem: Path,
    panels: Sequence[LinePanel],
    *,
    y_title: str,
    width_in: float = COLUMN_IN,
    height_in: float = 2.5,
    legend_columns: int = 2,
) -> list[Path]:
    """Draw panels side by side over one y axis, which starts at zero.

    Whiskers are 95 % confidence intervals.  Points without a mean are left out, those without an
    interval have no whiskers.  Lines of one name and look are one entry of the legend.

    Returns the files written (`stem`.svg and `stem`.png).
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width_in, height_in))
        row = figure.subplots(1, max(1, len(panels)), sharey=True, squeeze=False)[0]
        known: dict[str, Any] = {}
        top = 0.0
        for axes, panel in zip(row, panels, strict=False):
            for line in panel.lines:
                top = max(top, _line(axes, line))
            handles, labels = axes.get_legend_handles_labels()
            known |= dict(zip(labels, handles, strict=True))
            axes.set_xlabel(panel.x_title)
            axes.set_title(panel.title)
        row[0].set_ylim(0, 1.06 * top or 1.0)
        row[0].set_ylabel(y_title)
        if known:
            figure.legend(
                list(known.values()),
                list(known),
                loc="outside upper center",
                ncols=min(legend_columns, len(known)),
            )
        return save(figure, stem)


def _line(axes: Axes, line: Line) -> float:
    """Draw one line; return the highest value shown."""
    data = np.array([*line.estimates], dtype=float).reshape(-1, 2)
    x = np.array(line.x, dtype=float)[: len(data)]
    known = np.isfinite(data[: len(x), 0])
    x, (mean, half_width) = x[known], data[: len(known)][known].T
    sure = np.isfinite(half_width)
    look = line.look
    axes.errorbar(
        x,
        mean,
        yerr=np.where(sure, half_width, 0.0) if sure.any() else None,
        color=look.colour,
        linestyle=look.line,
        linewidth=1.0,
        marker=look.marker,
        markersize=look.size,
        markerfacecolor=look.colour if look.filled else "white",
        markeredgecolor=look.colour,
        elinewidth=0.7,
        capsize=1.8,
        capthick=0.7,
        label=line.label,
    )
    reach = [m + (h if math.isfinite(h) else 0.0) for m, h in zip(mean, half_width, strict=True)]
    return max(reach, default=0.0)
