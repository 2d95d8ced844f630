"""One flow of a run over time: its packets, its window, its timer, and the handoffs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from midflight.plot.history import (
    NS_PER_S,
    History,
    Moment,
    RunSource,
    Steps,
    histories,
    time_shown,
)
from midflight.plot.labels import LABEL_PT, EventNames
from midflight.plot.style import (
    DARK,
    LIGHT,
    MIDDLE,
    PAGE_IN,
    Size,
    arrange,
    check_format,
    figure_bytes,
    legend,
    size_in,
    style,
    text_width,
    wrapped,
)
from midflight.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from midflight.policy import Policies

__all__ = ["KINDS", "MOST_PANELS", "Kind", "plot_run", "run_figure"]

Kind: TypeAlias = Literal["time-sequence", "window", "both"]
KINDS: Sequence[Kind] = ("time-sequence", "window", "both")

#: More runs side by side cannot be read on a page.
MOST_PANELS = 4

#: Dots are told apart on a grid of so many to the inch, a little finer than the eye does in print.
_GRID_PER_IN = 150
#: With more dots than this a panel's dots become an image within the figure.
_MOST_VECTORS = 3000
#: Handoffs and changes that are marked one by one.
MOST_MARKS = 60
_MOST_NAMED = 8


def plot_run(
    source: RunSource,
    path: str | Path,
    *,
    flow: str | None = None,
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    kind: Kind = "both",
    from_s: float | None = None,
    until_s: float | None = None,
    segments: tuple[int, int] | None = None,
    title: str | None = None,
    size: Size | None = None,
) -> Path:
    """Draw a flow of a scenario's run over time into a .png, .svg or .pdf file; return its path.

    `source` is a `Scenario`, a `Plan`, a file, or the name of a starter. `flow` is the name of
    a flow (default: the first), `run` the number of the run. With `schemes` the flow has each
    of them in turn, side by side; `policies` are your own ones that they name. `kind` is
    "time-sequence", "window" (with the timer below) or "both". `from_s` and `until_s` are
    seconds from the start of the run, `segments` the range of segment numbers; what is left out
    is all there is. `title` is put above; `size` is "single" or "double" (column, the usual
    one), or inches: a width, or width and height.

    Raises `MidflightError` for what is not accepted, `OSError` for a place that cannot be written.
    """
    path = Path(path)
    suffix = check_format(path)
    found = histories(source, flow=flow, run=run, schemes=schemes, policies=policies)
    figure = run_figure(
        found,
        kind=kind,
        from_s=from_s,
        until_s=until_s,
        segments=segments,
        title=title,
        size=size,
    )
    path.write_bytes(figure_bytes(figure, suffix))
    return path


def run_figure(
    runs: Sequence[History],
    *,
    kind: Kind = "both",
    from_s: float | None = None,
    until_s: float | None = None,
    segments: tuple[int, int] | None = None,
    title: str | None = None,
    size: Size | None = None,
) -> Figure:
    """Return the figure of `plot_run` for histories, side by side with shared axes."""

    if kind not in KINDS:
        raise refusal(
            f'"{kind}" is no kind of figure; there are {", ".join(KINDS)}',
            name="kind",
            value=kind,
            accepted=", ".join(KINDS),
        )
    if not 1 <= len(runs) <= MOST_PANELS:
        accepted = f"1 to {MOST_PANELS}"
        raise refusal(
            f"{len(runs)} runs do not fit side by side; give {accepted}, or a page (.html)",
            name="runs",
            value=len(runs),
            accepted=accepted,
        )
    window = time_shown(runs, from_s, until_s)
    rows = {"time-sequence": (2.6,), "window": (1.5, 1.1), "both": (2.6, 1.35, 1.1)}[kind]
    width, height = size_in(size, (PAGE_IN, sum(rows) + 0.75))
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        grid = figure.subplots(
            len(rows),
            len(runs),
            sharex=True,
            sharey="row",
            squeeze=False,
            gridspec_kw={"height_ratios": rows},
        )
        entries: dict[str, Any] = {}
        sequence = grid[0] if kind != "window" else []
        windows, timers = (grid[-2], grid[-1]) if kind != "time-sequence" else ([], [])
        room = _Room(max(0.5, width / len(runs) - 0.55), window)
        for axes, one in zip(sequence, runs, strict=False):
            _time_sequence(axes, one, room)
        for axes, one in zip(windows, runs, strict=False):
            _window_panel(axes, one, room)
        for axes, one in zip(timers, runs, strict=False):
            _timer_panel(axes, one, room)
        _limits(grid[0][0], room, sequence, windows, timers, runs, segments)
        for row in grid:
            for axes, one in zip(row, runs, strict=True):
                _moments(axes, one.moments, room, named=axes in grid[0])
                handles, labels = axes.get_legend_handles_labels()
                entries |= dict(zip(labels, handles, strict=True))
        for axes, one in zip(grid[0], runs, strict=True):
            levels = _levels(one.moments, room)
            axes.set_title(one.title, loc="left", pad=7 + 9 * levels, fontweight="bold")
        for axes in grid[-1]:
            axes.set_xlabel("Time (s)")
        for row in grid:
            figure.align_ylabels(row[0])
        figure.align_ylabels(grid[:, 0])
        if title:
            figure.suptitle(wrapped(title, 7.5, (width - 0.6) * 72), parse_math=False)
        legend(figure, entries, loc="outside lower center", most=6)
        arrange(figure)
        for axes, one in zip(sequence, runs, strict=False):
            _named_events(axes, one, room, segments)
    return figure


@dataclass(frozen=True)
class _Room:
    """What a panel has room for: its width in inches, and the time that it shows in seconds."""

    width_in: float
    window: tuple[float, float]

    @property
    def columns(self) -> int:
        return max(1, int(self.width_in * _GRID_PER_IN))

    def seen(self, time_ns: NDArray[np.int64]) -> slice:
        """The places of ascending times that are shown."""
        start, end = (one * NS_PER_S for one in self.window)
        low, high = np.searchsorted(time_ns, [start, end], side="left")
        return slice(int(low), int(high))

    def dots(
        self, time_ns: NDArray[np.int64], value: NDArray[np.float64], height_in: float = 2.6
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The dots to be drawn, in seconds: one of those that would cover each other."""
        seen = self.seen(time_ns)
        time, value = time_ns[seen] / NS_PER_S, value[seen]
        if len(time) <= _MOST_VECTORS:
            return time, value
        start, end = self.window
        low, high = float(value.min()), float(value.max())
        column = ((time - start) / (end - start) * self.columns).astype(np.int64)
        lines = int(height_in * _GRID_PER_IN)
        line = ((value - low) / max(high - low, 1e-9) * lines).astype(np.int64)
        _, first = np.unique(column * (lines + 1) + line, return_index=True)
        first.sort()
        return time[first], value[first]

    def steps(self, steps: Steps, end_ns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A step line in seconds, from what holds when the time shown begins to the run's end.

        Of many steps in a column of the grid its first, least, greatest and last.
        """
        seen = self.seen(steps.time_ns)
        start, end = self.window
        time, value = steps.time_ns[seen] / NS_PER_S, steps.value[seen]
        if seen.start > 0:
            time = np.concatenate([[start], time])
            value = np.concatenate([steps.value[seen.start - 1 : seen.start], value])
        if len(time) == 0:
            return time, value
        if len(time) > 4 * self.columns:
            column = ((time - start) / (end - start) * self.columns).astype(np.int64)
            kept = _extremes(column, value)
            time, value = time[kept], value[kept]
        last = min(end, max(time[-1], end_ns / NS_PER_S))
        return np.append(time, last), np.append(value, value[-1])

    def labels(self, moments: Iterable[Moment]) -> list[tuple[Moment, int]]:
        """The moments whose names there is room for, with the level that they stand on.

        What a link is in use for comes before what is lost.
        """
        taken: list[list[tuple[float, float]]] = [[], []]
        found = []
        point = self.width_in * 72 / (self.window[1] - self.window[0])
        shown = [one for one in moments if self.shows(one.time_ns)]
        for kind in ("make", "break"):
            for one in shown:
                if one.kind != kind:
                    continue
                middle = (one.time_ns / NS_PER_S - self.window[0]) * point
                half = text_width(one.label, LABEL_PT) / 2 + 2
                if middle - half < -20 or middle + half > self.width_in * 72 + 20:
                    continue
                for level, places in enumerate(taken):
                    if all(middle + half < a or middle - half > b for a, b in places):
                        places.append((middle - half, middle + half))
                        found.append((one, level))
                        break
        return found

    def shows(self, time_ns: int) -> bool:
        return self.window[0] <= time_ns / NS_PER_S < self.window[1]


def _extremes(column: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of the first, least, greatest and last value of each column."""
    edges = np.flatnonzero(np.diff(column)) + 1
    starts = np.concatenate([[0], edges])
    ends = np.concatenate([edges, [len(column)]])
    kept = [starts, ends - 1]
    for order in (np.lexsort((value, column)), np.lexsort((-value, column))):
        kept.append(order[starts])
    return np.unique(np.concatenate(kept))


def _dots(axes: Axes, time: Any, value: Any, label: str, order: float, **how: Any) -> None:
    if len(time) == 0:
        return
    axes.plot(
        time,
        value,
        linestyle="none",
        label=label,
        zorder=order,
        rasterized=len(time) >= _MOST_VECTORS,
        **how,
    )


def _time_sequence(axes: Axes, one: History, room: _Room) -> None:
    """Segments when they are sent, ACKs when they reach the sender, and losses when they happen."""
    many = len(one.times("send")[room.seen(one.times("send"))]) > _MOST_VECTORS / 3
    small = 0.6 if many else 1.0
    # What is lost or sent again is what a reader looks for, and stays whole.
    acks = room.dots(one.times("ack"), one.values("ack"))
    _dots(axes, *acks, "ACK", 2, marker="_", ms=3.4 * small, mec="0.45", mew=0.7)
    sent = room.dots(one.times("send"), one.values("send"))
    _dots(axes, *sent, "new segment", 3, marker="o", ms=2.3 * small, mfc=DARK, mew=0)
    again = ("rexmit", "window_probe")
    repeated = room.dots(one.times(*again), one.values(*again))
    _dots(
        axes,
        *repeated,
        "retransmission",
        4,
        marker="^",
        ms=4.2 * math.sqrt(small),
        mfc="white",
        mec=LIGHT,
        mew=0.9,
    )
    lost = room.dots(*one.lost_segments()[:2])
    _dots(axes, *lost, "lost", 5, marker="x", ms=3.4 * math.sqrt(small), mec="black", mew=0.8)
    axes.grid(True, axis="x")


def _named_events(axes: Axes, one: History, room: _Room, segments: tuple[int, int] | None) -> None:
    """Write timeouts and fast retransmits beside their segments while there are few of them.

    The first of several that leave no room for each other has its name.
    """
    named = []
    for event, text in (("rto", "RTO"), ("fast_retransmit", "FR")):
        time, value = one.times(event), one.values(event)
        for at, segment in zip(time, value, strict=True):
            if room.shows(int(at)) and (segments is None or segments[0] <= segment <= segments[1]):
                named.append((at / NS_PER_S, segment, text))
    if len(named) > _MOST_NAMED:
        return
    names = EventNames(axes)
    for at, segment, text in sorted(named):
        names.write(at, segment, text)


def _window_panel(axes: Axes, one: History, room: _Room) -> None:
    """cwnd, ssthresh and what is in flight."""
    time, value = room.steps(one.flight, one.end_ns)
    axes.fill_between(
        time,
        value,
        step="post",
        color="0.82",
        linewidth=0,
        label="flight (sent less acknowledged)",
        zorder=1,
        rasterized=len(time) > _MOST_VECTORS,
    )
    looks: Sequence[tuple[str, str, Any]] = (
        ("cwnd", DARK, "-"),
        ("ssthresh", LIGHT, (0, (4.0, 1.6))),
    )
    for order, (event, colour, line) in enumerate(looks, 2):
        time, value = room.steps(one.steps(event), one.end_ns)
        if len(time) == 0:
            continue
        axes.plot(
            time,
            value,
            color=colour,
            linestyle=line,
            drawstyle="steps-post",
            label=event,
            zorder=order,
            rasterized=len(time) > _MOST_VECTORS,
        )
    times = [order.time_ns / NS_PER_S for order in one.orders if room.shows(order.time_ns)]
    if times:
        axes.plot(
            times,
            [1.0] * len(times),
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            marker="D",
            ms=3,
            mfc="white",
            mec="black",
            mew=0.7,
            label="order of a policy",
            clip_on=False,
            zorder=6,
        )


def _timer_panel(axes: Axes, one: History, room: _Room) -> None:
    """The retransmission timeout, the samples it comes from, and when it expired."""
    time, value = room.dots(one.times("rtt_sample"), one.values("rtt_sample"), 1.1)
    _dots(axes, time, value, "RTT sample", 2, marker=".", ms=2.6, mfc=MIDDLE, mew=0)
    rto = one.steps("rto_value")
    time, value = room.steps(rto, one.end_ns)
    axes.plot(
        time,
        value,
        color=DARK,
        drawstyle="steps-post",
        label="RTO",
        zorder=3,
        rasterized=len(time) > _MOST_VECTORS,
    )
    for spurious in (False, True):
        # The timer expires with the value that it had the moment before.
        found = [
            (at / NS_PER_S, rto.at(int(at) - 1))
            for at, judged in zip(one.times("rto"), one.details("rto"), strict=True)
            if (judged == "spurious") == spurious and room.shows(int(at))
        ]
        if found:
            axes.plot(
                *zip(*found, strict=True),
                linestyle="none",
                marker="v",
                ms=4.2,
                mfc="white" if spurious else "black",
                mec="black",
                mew=0.8,
                label="timeout, spurious" if spurious else "timeout",
                zorder=4,
            )


def _limits(
    first: Axes,
    room: _Room,
    sequence: Iterable[Axes],
    windows: Iterable[Axes],
    timers: Iterable[Axes],
    runs: Sequence[History],
    segments: tuple[int, int] | None,
) -> None:
    """Set the ranges and titles of the axes that the panels of a row share."""
    first.set_xlim(*room.window)
    for axes in list(sequence)[:1]:
        if segments is not None:
            low, high = float(segments[0]), float(segments[1])
        else:
            events = ("send", "rexmit", "ack")
            values = [one.values(*events)[room.seen(one.times(*events))] for one in runs]
            all_values = np.concatenate(values)
            low, high = (
                (float(all_values.min()), float(all_values.max())) if all_values.size else (0, 1)
            )
        margin = max(1.0, 0.04 * (high - low))
        axes.set_ylim(low - margin, high + margin)
        axes.set_ylabel("Segment number")
    for axes in list(windows)[:1]:
        tops = [
            np.max(room.steps(s, one.end_ns)[1], initial=1.0)
            for one in runs
            for s in _windows_of(one)
        ]
        top = 1.1 * max(tops)
        axes.set_ylim(0, top)
        axes.set_ylabel("Segments")
    for axes in list(timers)[:1]:
        values = [room.steps(one.steps("rto_value"), one.end_ns)[1] for one in runs]
        values += [room.dots(one.times("rtt_sample"), one.values("rtt_sample"))[1] for one in runs]
        known = np.concatenate(values)
        known = known[known > 0]
        axes.set_ylabel("RTO, RTT (s)")
        if known.size and known.max() > 12 * known.min():
            from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0), numticks=9))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(known.min() / 1.4, known.max() * 1.6)
        else:
            axes.set_ylim(0, 1.1 * float(known.max()) if known.size else 1.0)


def _windows_of(one: History) -> Sequence[Steps]:
    """What the axis of windows is to hold: an ssthresh that was never set leaves it at the top."""
    return (one.steps("cwnd"), one.flight)


def _levels(moments: Sequence[Moment], room: _Room) -> int:
    """Return on how many levels names of moments stand."""
    if sum(one.kind == "make" and room.shows(one.time_ns) for one in moments) > MOST_MARKS:
        return 1
    return 1 + max((level for _, level in room.labels(moments)), default=-1)


def _many_moments(axes: Axes, makes: Sequence[float], room: _Room, *, named: bool) -> None:
    """Mark a time with more handoffs and changes than lines could tell apart."""
    first, last = min(makes), max(makes)
    words = f"{len(makes)} handoffs or changes"
    axes.axvspan(first, last, facecolor="0.94", edgecolor="none", zorder=0, label=words)
    if named:
        axes.annotate(
            words,
            ((max(first, room.window[0]) + min(last, room.window[1])) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 5),
            textcoords="offset points",
            fontsize=LABEL_PT,
            color="0.25",
            ha="center",
            va="bottom",
            annotation_clip=False,
        )


def _moments(axes: Axes, moments: Sequence[Moment], room: _Room, *, named: bool) -> None:
    """Mark times without a link, links that come into use, and notices."""
    broken: float | None = None
    start, end = room.window
    makes = [one.time_ns / NS_PER_S for one in moments if one.kind == "make"]
    within = [at for at in makes if start <= at < end]
    if len(within) > MOST_MARKS:
        _many_moments(axes, within, room, named=named)
        return
    thin = len(within) > 15
    spans = []
    for one in moments:
        at = one.time_ns / NS_PER_S
        if one.kind == "break" and broken is None:
            broken = at
        elif one.kind == "make" and broken is not None:
            spans.append((broken, at))
            broken = None
    if broken is not None:
        spans.append((broken, end))
    shown = [(a, b) for a, b in spans if b > start and a < end and b > a]
    for number, (a, b) in enumerate(shown):
        axes.axvspan(
            max(a, start),
            min(b, end),
            facecolor="#f2e3c8",
            edgecolor="none",
            zorder=0,
            label="no link" if number == 0 else None,
        )
    for number, at in enumerate(within):
        axes.axvline(
            at,
            color="0.25",
            linewidth=0.4 if thin else 0.8,
            linestyle=(0, (5, 2)),
            zorder=1.5,
            label="link in use" if number == 0 else None,
        )
    if not named:
        return
    for one, level in room.labels(moments):
        axes.annotate(
            one.label,
            (one.time_ns / NS_PER_S, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 5 + 8 * level),
            textcoords="offset points",
            fontsize=LABEL_PT,
            color="0.25",
            ha="center",
            va="bottom",
            annotation_clip=False,
        )
    told = [one.time_ns / NS_PER_S for one in moments if one.kind == "notice"]
    told = [at for at in told if start <= at < end]
    if told:
        axes.plot(
            told,
            [1.0] * len(told),
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            marker="*",
            ms=3 if thin else 5,
            mfc="0.25",
            mew=0,
            label="notice",
            clip_on=False,
            zorder=6,
        )
