"""Means of schemes as bars, with their confidence intervals, in one plot or in panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from midflight.plot.common.style import (
    COLUMN_IN,
    DARK,
    MIDDLE,
    PAGE_IN,
    save,
    style,
    text_width,
    wrapped,
)
from midflight.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BarPanel", "Bars", "bar_panels", "bar_plot"]

_TICK_PT = 7.0


@dataclass(frozen=True)
class _Fill:
    """How one area is filled: colours of face and edge, and a hatch in the edge's colour."""

    face: str
    edge: str
    hatch: str | None = None


#: Fills that can be distinguished in greyscale: dark and plain, light and hatched, white and
#: dotted.
_FILLS: Sequence[_Fill] = (
    _Fill("#5d8fc4", DARK),
    _Fill("#fbe3c6", "#b85f00", "//////"),
    _Fill("white", MIDDLE, "......"),
    _Fill("0.8", "0.25", "xxxx"),
    _Fill("#e3def2", "#5b4a8a", "\\\\\\\\"),
    _Fill("white", "0.3", "-----"),
    _Fill("#17324f", "black"),
)


@dataclass(frozen=True)
class Bars:
    """One bar in every group: the name in the legend, and an estimate for each group.

    `references` are values to compare with, such as a paper's, one for each group or none at all;
    where there is no such value it is nan.
    """

    label: str
    estimates: Sequence[Estimate]
    references: Sequence[float] = ()


def bar_plot(
    stem: Path,
    *,
    groups: Sequence[str],
    series: Sequence[Bars],
    y_title: str,
    reference: str = "paper",
    top: float | None = None,
    width_in: float = COLUMN_IN,
    height_in: float = 2.3,
    legend_columns: int = 4,
) -> list[Path]:
    """Draw a group of bars for each scheme, with 95 % confidence intervals.

    Bars start at zero and end at the mean; whiskers are the confidence interval.  A short line
    across a bar is the value to compare it with, named `reference` in the legend.  A bar without a
    mean is marked n/a, one without an interval has no whiskers.  Names of groups that do not fit
    side by side are set aslant.  The y axis ends at `top` (default: above everything shown).

    Returns the files written (`stem`.svg and `stem`.png).
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width_in, height_in))
        axes = figure.add_subplot()
        width = 0.76 / max(1, len(series))
        for index, one in enumerate(series):
            x = np.arange(len(groups)) + (index - (len(series) - 1) / 2) * width
            _bars(axes, x, width, one, index, reference)
        low, high = _range(series)
        axes.set_ylim(low, top if top is not None else high)
        if low < 0:
            axes.axhline(0, color="black", linewidth=0.6)
        axes.set_xlim(-0.5, max(1, len(groups)) - 0.5)
        axes.set_ylabel(y_title)
        _group_names(axes, groups, width_in)
        handles, labels = axes.get_legend_handles_labels()
        known = dict(zip(labels, handles, strict=True))
        if reference in known:  # last, and once for all bars
            known[reference] = known.pop(reference)
        if known:
            figure.legend(
                known.values(),
                known.keys(),
                loc="outside upper center",
                ncols=min(legend_columns, len(known)),
            )
        return save(figure, stem)


@dataclass(frozen=True)
class BarPanel:
    """One measure: what it is of, its axis, and a bar for each scheme."""

    title: str
    y_title: str
    estimates: Sequence[Estimate]


def bar_panels(
    stem: Path,
    panels: Sequence[BarPanel],
    *,
    labels: Sequence[str],
    columns: int = 3,
    width_in: float = PAGE_IN,
    height_in: float = 3.9,
) -> list[Path]:
    """Draw measures that have units of their own, one panel each, the same bars in every panel.

    Bars are as in `bar_plot`; `labels` are their names, which the legend has once.  Every axis
    starts at zero, and the mean is written above its bar.

    Returns the files written (`stem`.svg and `stem`.png).
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width_in, height_in))
        rows = -(-len(panels) // columns)
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        for axes, panel in zip(grid, panels, strict=False):
            ends = [0.0]
            for index, (label, one) in enumerate(zip(labels, panel.estimates, strict=True)):
                _bars(axes, np.array([index]), 0.8, Bars(label, [one]), index, "")
                if math.isfinite(one.mean):
                    reach = one.half_width if math.isfinite(one.half_width) else 0.0
                    ends.append(one.mean + reach)
            top = max(ends) or 1.0
            for index, one in enumerate(panel.estimates):
                _value_above(axes, index, one)
            axes.set_ylim(0, 1.16 * top)
            axes.set_xlim(-0.6, len(labels) - 0.4)
            axes.set_xticks([])
            axes.set_title(wrapped(panel.title, 7.5, 72 * width_in / columns - 50), loc="left")
            axes.set_ylabel(wrapped(panel.y_title, 7.5, 72 * height_in / rows - 45))
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        handles, names = grid[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(labels))
        return save(figure, stem)


def _value_above(axes: Axes, place: float, one: Estimate) -> None:
    """Write a mean above its bar and its whiskers."""
    if not math.isfinite(one.mean):
        return
    reach = one.half_width if math.isfinite(one.half_width) else 0.0
    axes.annotate(
        f"{one.mean:.3g}",
        (place, one.mean + reach),
        xytext=(0, 2.5),
        textcoords="offset points",
        fontsize=6.5,
        ha="center",
        va="bottom",
    )


def _range(series: Sequence[Bars]) -> tuple[float, float]:
    """The limits of the y axis: zero, and what is shown with a margin."""
    ends = [0.0]
    for one in series:
        for mean, half_width in one.estimates:
            reach = half_width if math.isfinite(half_width) else 0.0
            ends += [mean - reach, mean + reach] if mean < 0 else [mean + reach]
        ends += one.references
    ends = [end for end in ends if math.isfinite(end)]
    low, high = min(ends), max(ends)
    margin = 0.06 * (high - low) or 1.0
    return (low - margin if low < 0 else 0.0), high + margin


def _bars(axes: Axes, x: np.ndarray, width: float, one: Bars, index: int, reference: str) -> None:
    """Draw one bar of every group, its whiskers and its reference."""
    from matplotlib.patheffects import withStroke

    data = np.array([*one.estimates], dtype=float).reshape(-1, 2)
    x = x[: len(data)]
    mean, half_width = data.T
    known = np.isfinite(mean)
    fill = _FILLS[index % len(_FILLS)]
    axes.bar(
        x[known],
        mean[known],
        width * 0.94,
        facecolor=fill.face,
        edgecolor=fill.edge,
        hatch=fill.hatch,
        linewidth=0.7,
        label=one.label,
        zorder=2,
    )
    sure = known & np.isfinite(half_width)
    for colour, more, order in (("white", 1.1, 4), ("black", 0.0, 5)):  # a rim, then the whisker
        axes.errorbar(
            x[sure],
            mean[sure],
            yerr=half_width[sure],
            fmt="none",
            ecolor=colour,
            elinewidth=0.8 + more,
            capsize=2.2 + more / 2,
            capthick=0.8 + more,
            zorder=order,
        )
    for place in x[~known]:
        axes.annotate(
            "n/a",
            (place, 0),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=6,
            rotation=90,
            ha="center",
            va="bottom",
        )
    marked = [(p, v) for p, v in zip(x, one.references, strict=False) if math.isfinite(v)]
    if marked:
        places, values = zip(*marked, strict=True)
        axes.hlines(
            values,
            np.array(places) - width * 0.56,
            np.array(places) + width * 0.56,
            color="#b00020",
            linewidth=1.3,
            zorder=3,
            label=reference,
            path_effects=[withStroke(linewidth=2.2, foreground="white")],
        )


def _group_names(axes: Axes, groups: Sequence[str], width_in: float) -> None:
    """Write the names below the groups, aslant when they are too wide."""
    room = (width_in * 72 - 42) / max(1, len(groups))
    widest = max((text_width(name, _TICK_PT) for name in groups), default=0.0)
    axes.tick_params(axis="x", length=0)
    if widest + 3 <= room:
        axes.set_xticks(range(len(groups)), groups)
    else:
        axes.set_xticks(range(len(groups)), groups, rotation=30, ha="right", rotation_mode="anchor")
