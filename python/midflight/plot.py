"""Figures for papers: quartiles over link parameters, and time-sequence graphs of one run.

Sizes are those of two-column journals: 3.5 in for one column, 7.16 in for both.  Schemes and
kinds of handoff differ by marker, fill and line style as well as by colour, and the colours differ
in lightness, so that grey print loses nothing.  Every figure is written as SVG and PNG without
dates or random identifiers: the same data gives the same bytes with the same version of matplotlib.

matplotlib is imported when the first figure is drawn, not before.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.results import EventLog, Quartiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLUMN_IN",
    "LOOKS",
    "PAGE_IN",
    "Drawing",
    "Look",
    "Mark",
    "Panel",
    "Series",
    "quartile_plot",
    "time_sequence_plot",
    "write_csv",
]

COLUMN_IN = 3.5
PAGE_IN = 7.16

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.0,
    "figure.dpi": 100,
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "svg.hashsalt": "midflight",
    "figure.facecolor": "white",
    "axes.facecolor": "white",
}


def _style() -> AbstractContextManager[None]:
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


@dataclass(frozen=True)
class Look:
    """How one series is drawn: colour, line style, marker, and whether the marker is filled."""

    colour: str
    line: str | tuple[int, tuple[float, ...]]
    marker: str
    filled: bool
    size: float = 4.2


# Two hues far apart in lightness (dark blue 0.27, orange 0.62 of white) and one between them.
DARK, LIGHT, MIDDLE = "#08417a", "#e07b00", "#2f8f6f"
_DASH = (0, (4.0, 1.6))
_DOT = (0, (1.0, 1.4))

#: Named looks.  The first word is what colour and line say, the second what the marker says.
LOOKS: Mapping[str, Look] = {
    "solid circle": Look(DARK, "-", "o", True),
    "solid square": Look(DARK, "-", "s", True, 3.9),
    "dashed circle": Look(LIGHT, _DASH, "o", False),
    "dashed square": Look(LIGHT, _DASH, "s", False, 3.9),
    "dotted triangle": Look(MIDDLE, _DOT, "^", True, 4.4),
    "dashed-dark circle": Look(DARK, _DASH, "o", False),
    "dashed-dark square": Look(DARK, _DASH, "s", False, 3.9),
    "solid-light circle": Look(LIGHT, "-", "o", True),
    "solid-light square": Look(LIGHT, "-", "s", True, 3.9),
}


@dataclass(frozen=True)
class Series:
    """One line of a quartile plot: its name in the legend, its look, and one point per category."""

    label: str
    look: Look
    points: Sequence[Quartiles]


def _save(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.svg and `stem`.png without anything that changes from run to run."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    stem.parent.mkdir(parents=True, exist_ok=True)
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    # Both files share the layout that the letters of the SVG need.  As the figure's own, the layout
    # would cost each file a drawing more.
    FigureCanvasSVG(figure)
    ConstrainedLayoutEngine().execute(figure)
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    figure.savefig(png, metadata={"Software": None})
    return [svg, png]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Write a CSV file; floats get six decimals, infinity is `inf`, no data is `nan`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{v:.6f}" if isinstance(v, float) else v for v in row] for row in rows)
    return path


@dataclass(frozen=True)
class Drawing:
    """A plot and the data beside it, ready to be written: plain values, which any process can take.

    `plot` takes a path without suffix and returns the files it wrote.
    """

    plot: Callable[[Path], list[Path]]
    header: Sequence[str]
    rows: Sequence[Sequence[object]]

    def write(self, stem: Path) -> list[Path]:
        """Write the plot and `stem`.csv; return the files."""
        return [*self.plot(stem), write_csv(stem.with_suffix(".csv"), self.header, self.rows)]


def _top(series: Sequence[Series]) -> float:
    """The highest finite value to be shown."""
    values = [v for s in series for point in s.points for v in point if math.isfinite(v)]
    return max(values, default=1.0)


def quartile_plot(
    stem: Path,
    *,
    categories: Sequence[str],
    x_title: str,
    y_title: str,
    series: Sequence[Series],
    height_in: float = 2.55,
    legend_columns: int = 2,
) -> list[Path]:
    """Draw lower quartile, median and upper quartile of each series over link parameters.

    Categories stand at equal distances in the given order.  Markers are medians, bars run from the
    lower to the upper quartile; the series of one category are set side by side so that no bar
    hides another.  An upper quartile of runs that never finish leaves the axes with an arrow.

    Returns the files written (`stem`.svg and `stem`.png).
    """
    with _style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(COLUMN_IN, height_in))
        axes = figure.add_subplot()
        top = _top(series) * 1.06 or 1.0
        step = min(0.17, 0.6 / max(1, len(series)))
        for index, one in enumerate(series):
            x = np.arange(len(categories)) + (index - (len(series) - 1) / 2) * step
            _quartile_series(axes, x, one, top)
        axes.set_xticks(range(len(categories)), categories)
        axes.set_xlim(-0.5, len(categories) - 0.5)
        axes.set_ylim(0, top)
        axes.set_xlabel(x_title)
        axes.set_ylabel(y_title)
        axes.tick_params(axis="x", length=0)
        for edge in range(1, len(categories)):
            axes.axvline(edge - 0.5, color="0.93", linewidth=0.5, zorder=0)
        figure.legend(loc="outside upper center", ncols=legend_columns)
        return _save(figure, stem)


def _quartile_series(axes: Axes, x: np.ndarray, one: Series, top: float) -> None:
    """Draw the line, the bars and the markers of one series."""
    data = np.array(one.points, dtype=float)
    shown = np.minimum(data, top)
    q1, median, q3 = shown.T
    look = one.look
    axes.plot(x, median, color=look.colour, linestyle=look.line, linewidth=0.7, zorder=2)
    axes.errorbar(
        x,
        median,
        yerr=np.vstack([median - q1, q3 - median]),
        fmt="none",
        ecolor=look.colour,
        elinewidth=0.9,
        capsize=2.0,
        capthick=0.9,
        zorder=3,
        clip_on=False,
    )
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
    endless = ~np.isfinite(data[:, 2])
    if endless.any():
        axes.plot(
            x[endless],
            np.full(endless.sum(), top),
            linestyle="none",
            marker=r"$\uparrow$",
            markersize=6,
            color=look.colour,
            clip_on=False,
            zorder=5,
        )
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


@dataclass(frozen=True)
class Mark:
    """A vertical line at an instant (seconds), with a word above it."""

    time_s: float
    label: str


@dataclass(frozen=True)
class Panel:
    """One time-sequence graph: its title and the events of its run."""

    title: str
    log: EventLog
    marks: Sequence[Mark] = field(default_factory=tuple)


# kind of event -> (legend, marker, size, face colour, edge colour, edge width, z-order)
_PACKETS: Mapping[str, tuple[str, str, float, str, str, float, int]] = {
    "ack": ("ACK", "_", 3.4, "0.45", "0.45", 0.7, 2),
    "send": ("new segment", "o", 2.3, DARK, DARK, 0.0, 3),
    "rexmit": ("retransmission", "^", 4.2, "white", LIGHT, 0.9, 4),
    "drop": ("lost", "x", 3.4, "black", "black", 0.8, 5),
}


def time_sequence_plot(
    stem: Path,
    panels: Sequence[Panel],
    *,
    window_s: tuple[float, float],
    height_in: float = 2.9,
    segments: tuple[int, int] | None = None,
) -> list[Path]:
    """Draw segment numbers over time, one panel per run, with shared axes.

    Dots are new segments and triangles retransmissions, both when the sender sends them; short
    bars are acknowledgments when they reach the sender, at the segment they acknowledge; crosses
    are data segments when they are lost.  Retransmission timeouts (RTO) and fast retransmits (FR)
    are written beside the segment that they retransmit.

    `window_s` is the time shown, `segments` the range of segment numbers (default: what is sent or
    acknowledged in any panel after its first mark).  Returns the files written.
    """
    with _style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(PAGE_IN, height_in))
        axes_row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        low, high = segments or _segment_range(panels, window_s)
        for axes, panel in zip(axes_row, panels, strict=True):
            _time_sequence(axes, panel, window_s, (low, high))
            axes.set_xlabel("Time (s)")
        axes_row[0].set_xlim(*window_s)
        axes_row[0].set_ylim(low, high)
        axes_row[0].set_ylabel("Segment number")
        handles, labels = axes_row[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        return _save(figure, stem)


def _segment_range(panels: Sequence[Panel], window_s: tuple[float, float]) -> tuple[int, int]:
    """The segment numbers that occur in any panel after its first mark, with a margin.

    What a fast old link carried before the handoff would otherwise take most of the axis.
    """
    packets = (
        panel.log.within(max([window_s[0], *(m.time_s for m in panel.marks[:1])]), window_s[1])
        for panel in panels
    )
    values = np.concatenate([log.of("send", "rexmit", "ack").value for log in packets])
    if values.size == 0:
        return 0, 1
    low, high = float(values.min()), float(values.max())
    margin = max(2.0, 0.08 * (high - low))
    return int(low - 2 * margin), int(high + margin)


def _time_sequence(
    axes: Axes, panel: Panel, window_s: tuple[float, float], segments: tuple[int, int]
) -> None:
    """Draw one panel."""
    start, end = window_s
    low, high = segments
    log = panel.log.within(start, end)
    lost = log.dropped()
    for kind, (label, marker, size, face, edge, width, order) in _PACKETS.items():
        events = lost if kind == "drop" else log.of(kind)
        axes.plot(
            events.time_s,
            events.value,
            linestyle="none",
            marker=marker,
            markersize=size,
            markerfacecolor=face,
            markeredgecolor=edge,
            markeredgewidth=width,
            label=label,
            zorder=order,
        )
    for mark in panel.marks:
        axes.axvline(mark.time_s, color="0.25", linewidth=0.8, linestyle=(0, (5, 2)), zorder=1)
        axes.annotate(
            mark.label,
            (mark.time_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=6.5,
            color="0.25",
            ha="center",
            va="bottom",
        )
    for kind, text in (("rto", "RTO"), ("fast_retransmit", "FR")):
        events = log.of(kind)
        for time_s, value in zip(events.time_s, events.value, strict=True):
            if low <= value <= high:
                axes.annotate(
                    text,
                    (time_s, value),
                    xytext=(7, -11),
                    textcoords="offset points",
                    fontsize=6.5,
                    ha="left",
                    va="top",
                    zorder=6,
                    arrowprops={
                        "arrowstyle": "-",
                        "linewidth": 0.5,
                        "color": "0.2",
                        "shrinkA": 0,
                        "shrinkB": 2,
                    },
                )
    axes.set_title(panel.title, loc="right")
    axes.grid(True, axis="x")
