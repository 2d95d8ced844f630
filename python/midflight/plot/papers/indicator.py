"""The input and output of a loss classifier: round-trip times, its threshold, and its decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.style import (
    COLUMN_IN,
    DARK,
    LIGHT,
    LOOKS,
    MIDDLE,
    save,
    style,
    text_width,
)
from midflight.plot.papers.time_sequence import Mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "Curves", "Indicator", "Judged", "Points", "indicator_plot"]

#: Pairs of an instant (s) and a value, in time order.
Points = Sequence[tuple[float, float]]

_MARK_PT = 6.5
_CURVE_LOOKS = ("solid circle", "dashed circle", "dotted triangle", "dashed-dark circle")


@dataclass(frozen=True)
class Judged:
    """A loss: when (s) and at which value of the indicator (ms), and whether by congestion."""

    time_s: float
    value_ms: float
    congestion: bool


@dataclass(frozen=True)
class Indicator:
    """A panel of round-trip times: instants in s, values in ms.

    `threshold` and `t_min` hold from their instant until the next, and are drawn as steps.
    """

    samples: Points
    threshold: Points = ()
    t_min: Points = ()
    judged: Sequence[Judged] = ()
    title: str = ""
    y_title: str = "RTT (ms)"
    log: bool = False


@dataclass(frozen=True)
class Curve:
    """A line of a further panel: its name in the legend, and its points (steps, or joined)."""

    label: str
    points: Points
    steps: bool = True


@dataclass(frozen=True)
class Curves:
    """A panel of any quantity over time, such as the congestion window."""

    y_title: str
    curves: Sequence[Curve] = field(default_factory=tuple)
    title: str = ""
    log: bool = False


def indicator_plot(
    stem: Path,
    panels: Sequence[Indicator | Curves],
    *,
    window_s: tuple[float, float],
    marks: Sequence[Mark] = (),
    names: tuple[str, str, str] = ("RTT sample", "threshold", r"$T_{\min}$"),
    verdicts: tuple[str, str] = ("loss: congestion", "loss: not congestion"),
    width_in: float = COLUMN_IN,
    height_in: float | None = None,
) -> list[Path]:
    """Draw panels one below the other over the same time, with `marks` such as the handoff.

    Dots are samples of the RTT, the solid line is the threshold and the dotted one the least RTT.
    Losses are filled triangles when judged as congestion and empty squares when not.  Points that
    are not finite (or, on a logarithmic axis, not positive) are left out.  `names` and `verdicts`
    are words for the legend; what does not occur is not in it.

    `height_in` defaults to 1.25 in for each panel and 0.9 in for what is around them.  Returns the
    files written (`stem`.svg and `stem`.png).
    """
    with style():
        from matplotlib.figure import Figure

        count = max(1, len(panels))
        figure = Figure(figsize=(width_in, height_in or 0.9 + 1.25 * count))
        column = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        legend: dict[str, Any] = {}
        for axes, panel in zip(column, panels, strict=False):
            if isinstance(panel, Indicator):
                _indicator(axes, panel, window_s, names, verdicts)
                handles, labels = axes.get_legend_handles_labels()
                legend |= dict(zip(labels, handles, strict=True))
            else:
                _curves(axes, panel, window_s)
            axes.set_ylabel(panel.y_title)
            axes.set_title(panel.title, loc="right", pad=9 if marks and axes is column[0] else None)
            axes.grid(True, axis="x")
        for axes in column:
            for mark in marks:
                axes.axvline(mark.time_s, color="0.25", linewidth=0.8, linestyle=(0, (5, 2)))
        column[0].set_xlim(*window_s)
        column[-1].set_xlabel("Time (s)")
        _name_marks(column[0], marks, window_s, width_in)
        figure.align_ylabels(column)
        if legend:
            order = [name for name in (*names, *verdicts) if name in legend]
            figure.legend(
                [legend[name] for name in order],
                order,
                loc="outside lower center",
                ncols=len(order) if width_in > 1.5 * COLUMN_IN or len(order) < 4 else 3,
                columnspacing=1.0,
                handlelength=2.0,
            )
        return save(figure, stem)


def _name_marks(
    axes: Axes, marks: Sequence[Mark], window_s: tuple[float, float], width_in: float
) -> None:
    """Write the names of the marks above the panel, side by side where they are near."""
    span = (window_s[1] - window_s[0]) or 1.0
    places = [((width_in * 72) - 45) * (mark.time_s - window_s[0]) / span for mark in marks]
    for index, mark in enumerate(marks):
        room = text_width(mark.label, _MARK_PT)
        near = [
            abs(places[index] - places[other])
            < (room + text_width(marks[other].label, _MARK_PT)) / 2 + 4
            for other in range(len(marks))
        ]
        after = index > 0 and near[index - 1]
        before = index + 1 < len(marks) and near[index + 1]
        side = "left" if after else "right" if before else "center"
        axes.annotate(
            mark.label,
            (mark.time_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=({"left": -1, "center": 0, "right": 1}[side], 2),
            textcoords="offset points",
            fontsize=_MARK_PT,
            color="0.25",
            ha=side,
            va="bottom",
        )


def _finite(points: Points, log: bool) -> np.ndarray:
    """The points that can be shown, one per row."""
    shown = [(t, v) for t, v in points if isfinite(t) and isfinite(v) and (v > 0 or not log)]
    return np.array(shown, dtype=float).reshape(-1, 2)


def _steps(axes: Axes, points: np.ndarray, end_s: float, **looks: Any) -> None:
    """Draw values that hold until the next one, the last until the end of the window."""
    if len(points):
        last = [max(end_s, float(points[-1, 0])), points[-1, 1]]
        time_s, value = np.vstack([points, last]).T
        axes.plot(time_s, value, drawstyle="steps-post", **looks)


def _limits(axes: Axes, data: Sequence[np.ndarray], window_s: tuple[float, float]) -> None:
    """Fit the y axis to what the window shows."""
    seen = []
    for points in data:
        inside = (points[:, 0] >= window_s[0]) & (points[:, 0] <= window_s[1])
        before = points[points[:, 0] < window_s[0]][-1:]  # a step that reaches into the window
        seen += [*points[inside, 1], *before[:, 1]]
    if not seen:
        return
    low, high = min(seen), max(seen)
    if axes.get_yscale() == "log":
        axes.set_ylim(low / 1.25, high * 1.25)
    else:
        axes.set_ylim(0 if low >= 0 else 1.08 * low, 1.08 * high if high > 0 else 1.0)


def _scale(axes: Axes, log: bool) -> None:
    """A logarithmic axis has plain numbers: 50, 100, 200."""
    if log:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _indicator(
    axes: Axes,
    panel: Indicator,
    window_s: tuple[float, float],
    names: tuple[str, str, str],
    verdicts: tuple[str, str],
) -> None:
    """Draw one panel of round-trip times."""
    _scale(axes, panel.log)
    samples, threshold, t_min = (
        _finite(points, panel.log) for points in (panel.samples, panel.threshold, panel.t_min)
    )
    if len(samples):
        axes.plot(
            *samples.T,
            linestyle="none",
            marker=".",
            markersize=3.0,
            markerfacecolor="0.45",
            markeredgewidth=0,
            label=names[0],
            zorder=2,
        )
    _steps(axes, threshold, window_s[1], color=DARK, linewidth=1.0, label=names[1], zorder=3)
    _steps(
        axes,
        t_min,
        window_s[1],
        color=MIDDLE,
        linewidth=1.1,
        linestyle=(0, (1.0, 1.2)),
        label=names[2],
        zorder=3,
    )
    shown = [samples, threshold, t_min]
    for congestion, label in zip((True, False), verdicts, strict=True):
        losses = _finite(
            [(j.time_s, j.value_ms) for j in panel.judged if j.congestion is congestion], panel.log
        )
        shown.append(losses)
        if len(losses):
            axes.plot(
                *losses.T,
                linestyle="none",
                marker="^" if congestion else "s",
                markersize=4.6 if congestion else 4.2,
                markerfacecolor=LIGHT if congestion else "white",
                markeredgecolor="black" if congestion else DARK,
                markeredgewidth=0.5 if congestion else 1.0,
                label=label,
                zorder=5,
            )
    _limits(axes, shown, window_s)


def _curves(axes: Axes, panel: Curves, window_s: tuple[float, float]) -> None:
    """Draw one panel of other quantities, with its own legend when there are several."""
    _scale(axes, panel.log)
    shown = [_finite(curve.points, panel.log) for curve in panel.curves]
    for index, (curve, points) in enumerate(zip(panel.curves, shown, strict=True)):
        look = LOOKS[_CURVE_LOOKS[index % len(_CURVE_LOOKS)]]
        looks: dict[str, Any] = {"color": look.colour, "linestyle": look.line, "label": curve.label}
        if curve.steps:
            _steps(axes, points, window_s[1], **looks)
        elif len(points):
            axes.plot(*points.T, marker="." if len(points) == 1 else None, **looks)
    _limits(axes, shown, window_s)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(
            loc="best", frameon=True, framealpha=0.9, edgecolor="none", handlelength=2.0, ncols=2
        )
