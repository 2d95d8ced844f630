"""Time-sequence graphs of one run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from midflight.plot.common.labels import EventNames
from midflight.plot.common.style import (
    DARK,
    LIGHT,
    MIDDLE,
    PAGE_IN,
    arrange,
    save,
    style,
    text_width,
)
from midflight.results import EventLog

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Mark", "Panel", "time_sequence_plot"]


@dataclass(frozen=True)
class Mark:
    """A vertical line at an instant (seconds), with a word above it."""

    time_s: float
    label: str


@dataclass(frozen=True)
class Panel:
    """One time-sequence graph: its title and the events of its run.

    `expected` are instants at which something should happen, such as by a paper's words.
    """

    title: str
    log: EventLog
    marks: Sequence[Mark] = field(default_factory=tuple)
    expected: Sequence[Mark] = field(default_factory=tuple)


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
    expected: str = "event in the paper",
) -> list[Path]:
    """Draw segment numbers over time, one panel per run, with shared axes.

    Dots are new segments and triangles retransmissions, both when the sender sends them; short
    bars are acknowledgments when they reach the sender, at the segment they acknowledge; crosses
    are data segments when they are lost.  Retransmission timeouts (RTO) and fast retransmits (FR)
    are written beside the segment that they retransmit.  Triangles on the lower edge, with a dotted
    line up, are the expected instants; the legend calls them `expected`.

    `window_s` is the time shown, `segments` the range of segment numbers (default: what is sent or
    acknowledged in any panel after its first mark).  Returns the files written.
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(PAGE_IN, height_in))
        axes_row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        low, high = segments or _segment_range(panels, window_s)
        for axes, panel in zip(axes_row, panels, strict=True):
            _time_sequence(axes, panel, window_s)
            axes.set_xlabel("Time (s)")
        axes_row[0].set_xlim(*window_s)
        axes_row[0].set_ylim(low, high)
        for axes, panel in zip(axes_row, panels, strict=True):
            _expected(axes, panel, expected)
        axes_row[0].set_ylabel("Segment number")
        found = [axes.get_legend_handles_labels() for axes in axes_row]
        known = {label: handle for pair in found for handle, label in zip(*pair, strict=True)}
        figure.legend(
            list(known.values()), list(known), loc="outside lower center", ncols=len(known)
        )
        arrange(figure)
        for axes, panel in zip(axes_row, panels, strict=True):
            _name_events(axes, panel, window_s, (low, high))
        return save(figure, stem)


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


def _time_sequence(axes: Axes, panel: Panel, window_s: tuple[float, float]) -> None:
    """Draw one panel."""
    start, end = window_s
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
    axes.set_title(panel.title, loc="right")
    axes.grid(True, axis="x")


def _expected(axes: Axes, panel: Panel, label: str) -> None:
    """Mark the instants at which something is expected, each with its word at the lower edge."""
    if not panel.expected:
        return
    edge = axes.get_xaxis_transform()
    times = [mark.time_s for mark in panel.expected]
    axes.vlines(times, 0, 1, transform=edge, color=MIDDLE, linewidth=0.6, linestyle=":", zorder=1)
    axes.plot(
        times,
        [0.0] * len(times),
        linestyle="none",
        marker="^",
        markersize=4.6,
        color=MIDDLE,
        transform=edge,
        clip_on=False,
        zorder=6,
        label=label,
    )
    start, end = axes.get_xlim()
    for mark, later in zip(panel.expected, [*times[1:], math.inf], strict=True):
        left = later - mark.time_s < 0.05 * (end - start)  # the next name would lie on this one
        axes.annotate(
            mark.label,
            (mark.time_s, 0.0),
            xycoords=("data", "axes fraction"),
            xytext=(-1, 5) if left else (2, 5),
            textcoords="offset points",
            fontsize=6,
            color=MIDDLE,
            ha="right" if left else "left",
            va="bottom",
            rotation=90,
        )


def _name_events(
    axes: Axes, panel: Panel, window_s: tuple[float, float], segments: tuple[int, int]
) -> None:
    """Write timeouts and fast retransmits beside the segments that they retransmit."""
    names = EventNames(axes)
    for mark in panel.expected:
        names.keep_clear(mark.time_s, 16, 6 + text_width(mark.label, 6))
    log = panel.log.within(*window_s)
    low, high = segments
    for kind, text in (("rto", "RTO"), ("fast_retransmit", "FR")):
        events = log.of(kind)
        for time_s, value in zip(events.time_s, events.value, strict=True):
            if low <= value <= high:
                names.write(time_s, value, text)
