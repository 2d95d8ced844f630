"""One flow of a run over time: its packets, its window, its timer, and the handoffs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np

from midflight.plot.common.figure import SMALL_PT, Dress, check_dress, finish_panels, write_figure
from midflight.plot.common.labels import EventNames
from midflight.plot.common.legends import joined_timeouts
from midflight.plot.common.log_ticks import plain_log
from midflight.plot.common.plain import usual_of_flows
from midflight.plot.common.style import (
    DARK,
    LIGHT,
    MIDDLE,
    PAGE_IN,
    Size,
    captioned,
    check_format,
    is_paper,
    labelled,
    size_in,
    style,
    text_width,
    usually,
)
from midflight.plot.over_time.curves import Peak, Values, held_in
from midflight.plot.over_time.followed import time_title
from midflight.plot.over_time.history import (
    NS_PER_S,
    History,
    RunSource,
    Steps,
    histories,
    time_shown,
)
from midflight.plot.over_time.marks import EVENTS, marker_of
from midflight.plot.over_time.panel_scales import mark_cut_lines, most_but_rare
from midflight.plot.over_time.room import (
    HEAD,
    MOST_VECTORS,
    NO_ROWS,
    Room,
    draw_dots,
    draw_holes,
    draw_moments,
    draw_outages,
    label_levels,
    seen_holes,
    show_time,
)
from midflight.refusal import names_arguments, refusal
from midflight.remark import warn_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from midflight.policy import Policies

__all__ = ["KINDS", "MOST_PANELS", "PANELS", "Kind", "plot_run", "run_figure", "run_rows"]

Kind: TypeAlias = Literal["time-sequence", "window", "both"]
KINDS: Sequence[Kind] = ("time-sequence", "window", "both")
#: The kinds of its panels, from top to bottom.
PANELS = ("time-sequence", "window", "timer")

#: More runs side by side cannot be read on a page.
MOST_PANELS = 4

#: With more timeouts and fast retransmits than these none is named, else the first ones; in panels
#: that are narrower, in inches, none.
_MOST_EVENTS, _MOST_NAMED, _LEAST_NAMED_IN = 8, 3, 2.3
#: The size of the letters of titles of panels.
_TITLE_PT = 7.5
#: How the numbers of events beside or above a title look.
_COUNTS: Mapping[str, Any] = {"fontsize": SMALL_PT, "color": "0.35"}
#: The height of panels in papers, in those of others.
_PAPER_LOWER = 0.55
#: Panels side by side that are narrower, in inches, show little.
_NARROW_IN = 1.4
#: What a row of panels has at its left and right, and between two panels, in inches.
_LEFT_IN, _NAMES_IN, _BETWEEN_IN = 0.7, 0.5, 0.1
#: The pipe is drawn if it differs by more than this share from the lesser of cwnd and flight, for
#: more than this share of the time with data in flight.
_OTHER_PIPE, _OTHER_TIME = 0.1, 0.1
#: The lines of panels whose names are written beside them, by their labels; of so many runs.
_MOST_WITH_NAMES = 2
_OF_WINDOWS = {"cwnd": "cwnd", "ssthresh": "ssthresh"}
_OF_TIMERS = {"RTO": "RTO", "RTT sample": "RTT"}
#: The colour of the pipe, which is seen on that of cwnd and beside it.
_PIPE = "#5fd3a5"
#: What happens to the path of a flow over QUIC: event, mark, and its words. No mark is that of a
#: packet or a timeout.
PATH_EVENTS: Sequence[tuple[str, Any, str]] = (
    ("migrated", "h", "another address"),
    ("path_opened", "p", "another path"),
    ("path_used", ">", "data on another path"),
    ("path_validated", "P", "path validated"),
    ("path_failed", (4, 1, 0), "path not validated"),
)


@names_arguments
def plot_run(
    source: RunSource | Mapping[str, RunSource],
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
    **dress: Unpack[Dress],
) -> Path:
    """Draw a flow of a scenario's run over time into a .png, .svg, .pdf or .pgf file.

    Returns its path.

    `source` is a `Scenario`, a `Plan`, a file, the name of a starter, or several of them by names,
    which are drawn side by side. `flow` is the name of a
    flow (default: the first), `run` the number of the run. With `schemes` the flow is drawn with
    each of them, side by side; `policies` are your own policies, which schemes can name. `kind` is
    "time-sequence", "window" (with the timer below) or "both". `from_s` and `until_s` are seconds
    from the start of the run, `segments` is the range of segment numbers; the defaults are the
    whole run. `title` is put above the figure. `size` is "single" or "double" (column, the
    default), or inches: a width, or width and height.
    `Dress` describes how it looks (`look`, `font`, `labels`, `legend`, `ylim`, `xlabel`, `ylabel`)
    and `csv`.

    Raises `MidflightError` for an invalid argument, `OSError` for a file that cannot be written.
    """
    check_dress(plot_run, dress)
    check_format(path)
    found = histories(source, flow=flow, run=run, schemes=schemes, policies=policies)
    drawn: dict[str, Any] = {"kind": kind, "from_s": from_s, "until_s": until_s}

    def draw() -> Figure:
        return run_figure(found, segments=segments, title=title, size=size, **drawn)

    table = chain([HEAD], run_rows(found, **drawn))
    return write_figure(path, draw, table, dress)


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
            f'"{kind}" is not a kind of figure; there are {", ".join(KINDS)}',
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
    if segments is not None:
        last = max((float(one.values("send").max(initial=0)) for one in runs), default=0.0)
        if segments[0] > last:
            raise refusal(
                f"--segments {segments[0]}:{segments[1]}: the last segment of the run is {last:g}",
                name="--segments",
                value=f"{segments[0]}:{segments[1]}",
                accepted=f"numbers up to {last:g}",
            )
    rows = {"time-sequence": (2.6,), "window": (1.5, 1.1), "both": (2.6, 1.35, 1.1)}[kind]
    lower = _PAPER_LOWER if is_paper() else 1.0
    width, height = size_in(size, (PAGE_IN, lower * sum(rows) + 0.75))
    with usually(usual_of_flows(runs)), style():
        from matplotlib.figure import Figure
        from matplotlib.transforms import ScaledTranslation

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
        has_names = len(runs) <= _MOST_WITH_NAMES and kind != "time-sequence"
        beside = _LEFT_IN + _NAMES_IN * has_names
        room = Room(max(0.5, (width - beside) / len(runs) - _BETWEEN_IN), window)
        if room.width_in < _NARROW_IN and len(runs) > 1 and width < PAGE_IN:
            warn_of(
                [
                    f"{len(runs)} panels side by side in {width:g} in are narrow; --size double "
                    f"makes the figure {PAGE_IN:g} in wide, and --kind throughput,sequence draws "
                    "all in one panel"
                ]
            )
        for axes, one in zip(sequence, runs, strict=False):
            _time_sequence(axes, one, room)
        for axes, one in zip(windows, runs, strict=False):
            _window_panel(axes, one, room)
        for axes, one in zip(timers, runs, strict=False):
            _timer_panel(axes, one, room)
        _limits(grid[0][0], room, sequence, windows, timers, runs, segments)
        for row in grid:
            for axes, one in zip(row, runs, strict=True):
                draw_moments(axes, one.moments, room, named=axes in grid[0])
                draw_outages(axes, one.outages, room)
                draw_holes(axes, [hole for _, hole in one.holes], room)
                handles, labels = axes.get_legend_handles_labels()
                entries |= dict(zip(labels, handles, strict=True))
        for axes, one in zip(grid[0], runs, strict=True):
            heading = labelled(one.title)
            how: Any = {"pad": 7 + 9 * label_levels(one.moments, room)}
            free = 72 * room.width_in - 1.1 * text_width(heading, _TITLE_PT) - SMALL_PT
            said = _event_counts(one, room, segments)
            axes.set_title(heading, loc="left", fontweight="bold", **how)
            drawn = axes.set_title(captioned(said), loc="right", **_COUNTS, **how)
            if text_width(said, SMALL_PT) > free:
                # Above the title.
                raised = ScaledTranslation(0, 1.3 * _TITLE_PT / 72, figure.dpi_scale_trans)
                drawn.set_transform(drawn.get_transform() + raised)
        for axes, one in zip(grid[-1], runs, strict=True):
            axes.set_xlabel(time_title([(one.recorded, one.end_ns)], room.window))
        for row in grid:
            figure.align_ylabels(row[0])
        figure.align_ylabels(grid[:, 0])
        if len(runs) <= _MOST_WITH_NAMES:
            # A line whose name is beside it needs no entry. With more columns there is no room.
            told = [*_named_lines([*windows][-1:], _OF_WINDOWS)]
            told += _named_lines([*timers][-1:], _OF_TIMERS)
            entries = {name: one for name, one in entries.items() if name not in told}
        entries = joined_timeouts(entries)
        kinds = PANELS[:1] if kind == "time-sequence" else PANELS[-len(rows) :]
        named = [(one, axes) for one, row in zip(kinds, grid, strict=True) for axes in row]
        finish_panels(figure, named, entries, title)
        for axes, one in zip(windows, runs, strict=False):
            mark_cut_lines(axes, _peaks(one, room, axes.get_ylim()[1]), "segments")
        for axes, one in zip(sequence, runs, strict=False):
            _named_events(axes, one, room, segments)
    return figure


def run_rows(
    runs: Sequence[History],
    *,
    kind: Kind = "both",
    from_s: float | None = None,
    until_s: float | None = None,
) -> Iterator[Sequence[object]]:
    """Yield what `run_figure` draws as rows with the columns of `HEAD`."""
    window = time_shown(runs, from_s, until_s)
    room = Room(PAGE_IN, window)
    for one in runs:
        found: list[tuple[str, str, str, Any, Any]] = []
        if kind != "window":
            for line, events in (
                ("new segment", ("send",)),
                ("retransmission", ("rexmit",)),
                ("window probe", ("window_probe",)),
                ("ACK", ("ack",)),
            ):
                at, value = one.times(*events), one.values(*events)
                found.append(("time-sequence", "segments", line, at, value))
            at, value, _ = one.lost_segments()
            found.append(("time-sequence", "segments", "lost", at, value))
        if kind != "time-sequence":
            for line, steps in (
                ("flight", one.flight),
                ("cwnd", one.steps("cwnd")),
                ("ssthresh", one.steps("ssthresh")),
                *((("pipe", one.pipe),) if _tells_pipe(one, window) else ()),
            ):
                found.append(("window", "segments", line, steps.time_ns, steps.value))
            for line, event in (("RTO", "rto_value"), ("RTT sample", "rtt_sample")):
                steps = one.steps(event)
                found.append(("timer", "s", line, steps.time_ns, steps.value))
        for panel, unit, line, at, value in found:
            seen = room.seen(at)
            words = (panel, unit, line, one.flow, one.label, "")
            each = zip((at[seen] / NS_PER_S).tolist(), value[seen].tolist(), strict=True)
            yield from ((*words, *pair, "", "", "") for pair in each)
        for a, b in seen_holes([hole for _, hole in one.holes], room):
            words = ("path", "s", NO_ROWS, one.flow, one.label, "")
            yield (*words, a, b - a, a, b, "")


def _time_sequence(axes: Axes, one: History, room: Room) -> None:
    """Segments when they are sent, ACKs when they reach the sender, and losses when they happen."""
    many = len(one.times("send")[room.seen(one.times("send"))]) > MOST_VECTORS / 3
    small = 0.6 if many else 1.0
    # Losses and retransmissions are the most important dots, so all of them are kept.
    acks = room.dots(one.times("ack"), one.values("ack"))
    draw_dots(axes, *acks, "ACK", 2, marker="_", ms=3.4 * small, mec="0.45", mew=0.7)
    sent = room.dots(one.times("send"), one.values("send"))
    draw_dots(axes, *sent, "new segment", 3, marker="o", ms=2.3 * small, mfc=DARK, mew=0)
    repeated = room.dots(one.times("rexmit"), one.values("rexmit"))
    draw_dots(
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
    probes = room.dots(one.times("window_probe"), one.values("window_probe"))
    draw_dots(axes, *probes, "window probe", 4, marker="s", ms=3.2, mfc="white", mec="0.3", mew=0.8)
    lost = room.dots(*one.lost_segments()[:2])
    draw_dots(axes, *lost, "lost", 5, marker="x", ms=3.4 * math.sqrt(small), mec="black", mew=0.8)
    axes.grid(not is_paper(), axis="x")


def _events(
    one: History, room: Room, segments: tuple[int, int] | None
) -> Iterator[tuple[float, str, float]]:
    """Yield the timeouts and fast retransmits that are shown: time, event, segment."""
    for event in ("rto", "fast_retransmit"):
        for at, segment in zip(one.times(event), one.values(event), strict=True):
            if room.shows(int(at)) and (segments is None or segments[0] <= segment <= segments[1]):
                yield at / NS_PER_S, event, float(segment)


def _names(
    one: History, room: Room, segments: tuple[int, int] | None
) -> list[tuple[float, float, str]]:
    """The timeouts and fast retransmits with names, if there are few: time, segment, name.

    Timeouts of one segment after each other have a name with their number at the first of them. The
    names of timeouts are first, those of most timeouts before others.
    """
    groups: list[tuple[float, str, float, int]] = []
    for at_s, event, segment in sorted(_events(one, room, segments)):
        if groups and event == "rto" and groups[-1][1:3] == (event, segment):
            groups[-1] = (*groups[-1][:3], groups[-1][3] + 1)
        else:
            groups.append((at_s, event, segment, 1))
    if len(groups) > _MOST_EVENTS:
        return []
    groups.sort(key=lambda group: (group[1] != "rto", -group[3], group[0]))
    return [
        (at_s, segment, _event_name(event, count))
        for at_s, event, segment, count in groups[:_MOST_NAMED]
    ]


def _event_counts(one: History, room: Room, segments: tuple[int, int] | None) -> str:
    """How many timeouts and fast retransmits are shown: names are not at all of them, and timeouts
    that are near each other are one triangle.
    """
    counts = Counter(event for _, event, _ in _events(one, room, segments))
    words = {"rto": "timeout", "fast_retransmit": "fast retransmit"}
    each = ((counts[event], what) for event, what in words.items() if counts[event])
    return ", ".join(f"{count:,} {what}{'s' * (count > 1)}" for count, what in each)


def _event_name(event: str, count: int) -> str:
    if event != "rto":
        return "fast retransmit"
    return "timeout" if count == 1 else f"{count} timeouts"


def _named_events(axes: Axes, one: History, room: Room, segments: tuple[int, int] | None) -> None:
    """Write timeouts and fast retransmits beside their segments, where a panel has room."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    if axes.get_position().width * figure.get_size_inches()[0] < _LEAST_NAMED_IN:
        return
    names = EventNames(axes)
    for at, segment, text in _names(one, room, segments):
        names.write(at, segment, text)


def _named_lines(panels: Iterable[Axes], names: Mapping[str, str]) -> Iterator[str]:
    """Write at the right edge of panels what their lines with these labels are, at the height at
    which each ends, and yield the labels of those that end within the panel.
    """
    for axes in panels:
        figure = axes.get_figure(root=True)
        assert figure is not None
        high = axes.get_position().height * figure.get_size_inches()[1] * 72
        found = []
        for line in axes.lines:
            label, values = str(line.get_label()), np.asarray(line.get_ydata(), np.float64)
            if label not in names or not len(values):
                continue
            place = axes.transData.transform((0.0, float(values[-1])))
            at = high * float(axes.transAxes.inverted().transform(place)[1])
            if 0 <= at <= high:
                found.append((at, label, line))
        floor = -math.inf
        for at, label, line in sorted(found, key=lambda one: one[0]):
            floor = max(at, floor + 1.1 * SMALL_PT)
            colour = line.get_color() if line.get_linestyle() != "None" else MIDDLE
            axes.annotate(
                names[label],
                (1.0, at / high),
                xycoords="axes fraction",
                xytext=(3, floor - at),
                textcoords="offset points",
                fontsize=SMALL_PT,
                color=colour,
                va="center",
                annotation_clip=False,
            )
            yield label


def _tells_pipe(one: History, window: tuple[float, float]) -> bool:
    """Whether the pipe says more than cwnd and flight do: it is another for some time."""
    cwnd, start, end = one.steps("cwnd"), *(at * NS_PER_S for at in window)
    if not len(one.pipe.value) or not len(cwnd.value) or not len(one.flight.value):
        return False
    each = (one.pipe, cwnd, one.flight)
    first = max(start, *(int(steps.time_ns[0]) for steps in each))
    last = min(end, one.end_ns)
    times = np.unique(np.concatenate([[first], *(steps.time_ns for steps in each)]))
    times = times[(times >= first) & (times < last)]
    lasts = np.diff(np.append(times, last))
    pipe, windows, flight = (
        steps.value[np.searchsorted(steps.time_ns, times, side="right") - 1] for steps in each
    )
    usual = np.minimum(windows, flight)
    # A part of a segment is no difference.
    is_other = np.abs(pipe - usual) > np.maximum(1.0, _OTHER_PIPE * usual)
    has_data = flight > 0
    return bool(lasts[is_other & has_data].sum() > _OTHER_TIME * lasts[has_data].sum())


def _window_panel(axes: Axes, one: History, room: Room) -> None:
    """cwnd, ssthresh and flight."""
    time, value = room.steps(one.flight, one.end_ns)
    axes.fill_between(
        time,
        value,
        step="post",
        # Times without a link are seen behind it.
        color="0.5",
        alpha=0.35,
        linewidth=0,
        label="flight (unacknowledged)",
        zorder=1,
        rasterized=len(time) > MOST_VECTORS,
    )
    # Where the pipe is as large as cwnd it is a thin line on a wide one: neither hides the other.
    has_pipe = _tells_pipe(one, room.window)
    looks: Sequence[tuple[str, str, Any, float | None]] = (
        ("cwnd", DARK, "-", 1.9 if has_pipe else None),
        ("ssthresh", LIGHT, (0, (7.0, 2.5)), None),
        ("pipe (sender's estimate)", _PIPE, (0, (1.0, 1.1)), 1.2),
    )
    for order, (event, colour, line, width) in enumerate(looks, 2):
        is_pipe = event.startswith("pipe")
        if is_pipe and not has_pipe:
            continue
        time, value = room.steps(one.pipe if is_pipe else one.steps(event), one.end_ns)
        if len(time) == 0:
            continue
        axes.plot(
            time,
            value,
            color=colour,
            linestyle=line,
            linewidth=width,
            drawstyle="steps-post",
            label=event,
            zorder=order,
            rasterized=len(time) > MOST_VECTORS,
        )
    undone = [at for at in one.undone.tolist() if room.shows(at)]
    if undone:
        mark_of = EVENTS["undone"]
        how: Any = {"ms": mark_of.size, "mfc": "none", "mec": "black", "mew": 0.9, "zorder": 6}
        values = [one.steps("cwnd").at(at) for at in undone]
        times = [at / NS_PER_S for at in undone]
        how |= {"marker": marker_of(mark_of), "label": mark_of.label, "ls": "none"}
        axes.plot(times, values, **how)
    ordered = [order.time_ns for order in one.orders]
    marks = [("D", "order of a policy", ordered)]
    marks += [(mark, text, list(one.times(event))) for event, mark, text in PATH_EVENTS]
    for mark, text, when in marks:
        times = [at / NS_PER_S for at in when if room.shows(int(at))]
        if times:
            axes.plot(
                times,
                [1.0] * len(times),
                transform=axes.get_xaxis_transform(),
                linestyle="none",
                marker=mark,
                ms=3 if mark == "D" else 4,
                mfc="white",
                mec="black",
                mew=0.7,
                label=text,
                clip_on=False,
                zorder=6,
            )


def _timer_panel(axes: Axes, one: History, room: Room) -> None:
    """The retransmission timeout, its RTT samples, and the instants at which it expired."""
    time, value = room.dots(one.times("rtt_sample"), one.values("rtt_sample"), 1.1)
    draw_dots(axes, time, value, "RTT sample", 3.5, marker=".", ms=2.6, mfc=MIDDLE, mew=0)
    rto = one.steps("rto_value")
    time, value = room.steps(rto, one.end_ns)
    if len(time):
        axes.plot(
            time,
            value,
            # Neither the colour of cwnd nor that of ssthresh, with which it shares the legend.
            color="0.2",
            drawstyle="steps-post",
            label="RTO",
            zorder=3,
            rasterized=len(time) > MOST_VECTORS,
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
                label=EVENTS["spurious" if spurious else "timeout"].label,
                zorder=4,
            )


def _limits(
    first: Axes,
    room: Room,
    sequence: Iterable[Axes],
    windows: Iterable[Axes],
    timers: Iterable[Axes],
    runs: Sequence[History],
    segments: tuple[int, int] | None,
) -> None:
    """Set the ranges and titles of the axes that the panels of a row share."""
    show_time(first, room.window)
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
        held = [_held(s, one, room) for one in runs for s, _ in _windows_of(one)]
        axes.set_ylim(0, 1.1 * max(1.0, most_but_rare(held)))
        axes.set_ylabel("Window, flight\n(segments)")
    for axes in list(timers)[:1]:
        values = [room.steps(one.steps("rto_value"), one.end_ns)[1] for one in runs]
        values += [room.dots(one.times("rtt_sample"), one.values("rtt_sample"))[1] for one in runs]
        known = np.concatenate(values)
        known = known[known > 0]
        has_timer = any(len(one.steps("rto_value").value) for one in runs)
        axes.set_ylabel("RTO, RTT (s)" if has_timer else "RTT (s)")
        if known.size and known.max() > 12 * known.min():
            plain_log(axes.yaxis)
            axes.set_ylim(known.min() / 1.4, known.max() * 1.6)
        else:
            axes.set_ylim(0, 1.1 * float(known.max()) if known.size else 1.0)


def _windows_of(one: History) -> Sequence[tuple[Steps, str]]:
    """The lines that the axis of windows is made for, with the colours of their peaks: an ssthresh
    that was never set leaves it at the top.
    """
    return ((one.steps("cwnd"), DARK), (one.flight, "0.35"))


def _held(steps: Steps, one: History, room: Room) -> tuple[Values, Values]:
    """All that holds in the time shown: the lines drawn have no more than there are columns."""
    end_s = one.end_ns / NS_PER_S
    return held_in(steps.time_ns / NS_PER_S, steps.value, room.window, end_s)


def _peaks(one: History, room: Room, top: float) -> list[Peak]:
    """The peaks of the lines of a panel of windows that leave its axis."""
    found = []
    for steps, colour in _windows_of(one):
        time, value = _held(steps, one, room)
        if len(value) and value.max() > top:
            at = int(value.argmax())
            found.append(Peak(float(value[at]), "", float(time[at]), None, colour))
    return found
