"""Panels over time, one above the other: throughput, queues, delays, windows of several flows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from midflight.plot.common.coincide import usual_line
from midflight.plot.common.figure import (
    SMALL_PT,
    Dress,
    check_dress,
    dressed,
    finish_panels,
    write_figure,
)
from midflight.plot.common.legends import joined_timeouts
from midflight.plot.common.line_looks import look_of
from midflight.plot.common.options import check_scales, choose_ends
from midflight.plot.common.plain import usual_of_flows
from midflight.plot.common.style import (
    PAGE_IN,
    Size,
    captioned,
    check_format,
    is_paper,
    legend_place,
    size_in,
    style,
    usually,
)
from midflight.plot.over_time.apart import line_by_line
from midflight.plot.over_time.band import (
    band_height,
    draw_band,
    draw_handovers,
    has_changes,
    names_above,
    unnamed_entries,
)
from midflight.plot.over_time.company import in_common
from midflight.plot.over_time.crowded import (
    MOST_ROWS,
    spurious_words,
    without_many,
    without_overlaps,
)
from midflight.plot.over_time.curves import Curve, Panel, Peak
from midflight.plot.over_time.ends import done_words
from midflight.plot.over_time.followed import time_title
from midflight.plot.over_time.history import RunSource, time_shown
from midflight.plot.over_time.link_rates import paths_of
from midflight.plot.over_time.marks import EVENTS, IN_PAPERS, PLAYBACK, STALL, TIMEOUTS, UNHEARD
from midflight.plot.over_time.panel_heads import asked_top, head_of
from midflight.plot.over_time.panel_scales import (
    SCALED,
    end_of_axis,
    least_of,
    mark_cut_lines,
    peaks_off,
    scale_of,
    with_one_scale,
    with_peaks,
    within_scale,
    without_lone_peaks,
)
from midflight.plot.over_time.path_marks import draw_path, edges_of, holes_of
from midflight.plot.over_time.queues import without_maxima
from midflight.plot.over_time.room import (
    HEAD,
    NO_ROWS,
    PANEL_IN,
    Room,
    seen_holes,
    show_time,
    unseen_holes,
)
from midflight.plot.over_time.row_ticks import below_end, end_below_rows, title_below_rows
from midflight.plot.over_time.same_runs import same_words
from midflight.plot.over_time.stalls import without_short_stalls
from midflight.plot.over_time.strokes import (
    LINES,
    STROKED,
    Causes,
    Stroke,
    causes_of_losses,
    clear_of_counts,
    draw_curve,
    draw_in_row,
    draw_row_names,
    draw_whole_markers,
    is_stroked,
    line_sample,
    row_height,
    rows_of,
    share_above,
)
from midflight.plot.over_time.teeth import without_teeth
from midflight.plot.over_time.together import (
    LINE_PT,
    LineStyle,
    repeated_lines,
    styles_of,
    take_turns,
    widths_of,
)
from midflight.plot.over_time.watched import (
    OVER_TIME,
    WatchedRun,
    list_kinds,
    longest,
    panels_of,
    watch,
    without_requests,
)
from midflight.refusal import names_arguments, refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from midflight.policy import Policies

__all__ = [
    "HEAD",
    "has_bands",
    "over_time_figure",
    "panel_rows",
    "path_rows",
    "plot_over_time",
    "shown_panels",
]

#: The height in inches of what stands around the panels.
_AROUND_IN, _AROUND_IN_PAPER = 0.85, 0.7
#: In papers a panel is no lower, in inches, nor higher than its part of so many.
_PAPER_PANELS_IN = 0.75, 1.8
#: Height of a line of the text above a panel, in inches.
_LINE_IN = 0.13
#: Rows of marks that one panel has, and the panels with these, that in which they mean most first.
_ROWS_ONCE: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (
        (*(EVENTS[one].label for one in (*TIMEOUTS, "undone")), STALL),
        ("throughput", "cwnd", "sequence", "pipe", "queue"),
    ),
    ((PLAYBACK,), ("buffer", "bitrate")),
    ((EVENTS["request_timeout"].label, UNHEARD), ("buffer", "bitrate", "throughput")),
)
#: The room for the number of a tick at the end of the values, below rows of marks.
_ABOVE_TICK_PT = 4.5


@names_arguments
def plot_over_time(
    source: RunSource | Mapping[str, RunSource],
    path: str | Path,
    kinds: str | Sequence[str] = ("throughput", "queue"),
    *,
    flows: Sequence[str] = (),
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    from_s: float | None = None,
    until_s: float | None = None,
    interval_s: float | None = None,
    yscale: str | Mapping[str, str] | None = None,
    marks: Sequence[str] | None = None,
    bands: bool | None = None,
    title: str | None = None,
    size: Size | None = None,
    **dress: Unpack[Dress],
) -> Path:
    """Draw panels over time of a run's flows into a .png, .svg, .pdf or .pgf file; return its path.

    `kinds`, one or several, are "throughput" (of packets that arrive at the receiver, with
    headers), "rates" (the pacing rate of a sender, and samples of its delivery rate), "queue"
    (packets at the access links, including the one in transmission), "delay" (one way), "rtt"
    (samples of the sender), "cwnd", "pipe" (the sender's estimate of the segments in the network)
    and "sequence". For applications there are "bitrate" (of the segments of a video, from their
    requests on), "buffer" (seconds of video, and stalls of the playback), "frames" (the delay of
    each frame of a call, at the instant at which it was created) and "objects" (objects of a page,
    from the request until they are read).

    `flows` are names of flows (default: all flows; with several `schemes` the first flow, and the
    schemes replace its scheme). A throughput is a mean of `interval_s` seconds. The default is the
    next round number above what a 28th of an inch shows, or the step of a recording that the link
    follows if that is shorter. `yscale` is "linear" or "log", or a mapping of kinds to these; the
    default is linear, and for throughputs, delays and RTTs logarithmic where a linear axis would
    hide a part. `marks` are the events to be marked, some of "retransmissions", "losses", "ecn" and
    "timeouts" (default: all; an empty list for none). With `bands` lines have ranges and maxima
    (default: where there is one line). Several sources by their names are drawn together,
    each with all flows if that is up to six lines, or with one of them. The other arguments are
    those of `plot_run`.

    Raises `MidflightError` for an invalid argument, `OSError` for a file that cannot be written.
    """
    check_dress(plot_over_time, dress)
    check_format(path)
    kinds = list_kinds(kinds)
    if not kinds:
        accepted = ", ".join(OVER_TIME)
        raise refusal(
            f"no kind of panel is given; expected one or several of {accepted}",
            name="kinds",
            value=[],
            accepted=accepted,
        )
    how: Any = {"flows": flows, "run": run, "schemes": schemes, "policies": policies}
    found = watch(source, kinds=kinds, **how)
    with dressed(dress):
        shown: Any = {"size": size, "marks": marks, "bands": bands}
        window, panels = shown_panels(found, kinds, from_s, until_s, interval_s, **shown)

    def draw() -> Figure:
        return over_time_figure(found, panels, window, yscale=yscale, title=title, size=size)

    table = chain([HEAD], panel_rows(panels), path_rows(found, window, size))
    return write_figure(path, draw, table, dress)


def shown_panels(
    runs: Sequence[WatchedRun],
    kinds: Sequence[str],
    from_s: float | None = None,
    until_s: float | None = None,
    interval_s: float | None = None,
    *,
    size: Size | None = None,
    marks: Sequence[str] | None = None,
    bands: bool | None = None,
) -> tuple[tuple[float, float], list[Panel]]:
    """Return the time that is shown, in seconds, and the panels of these kinds for a figure of a
    size, with the marks of these events, and with `bands` or without; the default is with them
    where one line has some.
    """
    window = time_shown([flow for one in runs for flow in one.flows], from_s, until_s)
    width, _ = size_in(size, (PAGE_IN, 1.0))
    for one in runs:
        one.show(window)
    how: Any = {"width_in": width, "marks": marks}
    panels = panels_of(runs, kinds, window, interval_s, **how)
    if bands is False:
        panels = [without_maxima(one) if one.kind == "queue" else one for one in panels]
    return window, [replace(one, has_bands=has_bands(one, bands)) for one in panels]


def has_bands(panel: Panel, asked: bool | None = None) -> bool:
    """Whether the lines of a panel have bands: those of several lines cover each other, but for
    queues of links that are used one after the other, and one of several would be the only one
    without.
    """
    if asked is not None:
        return asked
    with_one = [
        one
        for one in panel.curves
        # Buffers may have some if the figure is too narrow for their lines.
        if one.draw in LINES[:-1] and (one.low is not None or panel.kind == "buffer")
    ]
    kinds = {(one.draw, one.quantity) for one in with_one}
    alike = [one for one in panel.curves if (one.draw, one.quantity) in kinds]
    return len(alike) <= 1 or (panel.kind == "queue" and take_turns(alike))


def _without_repeats(panels: Sequence[Panel]) -> list[Panel]:
    """Panels of which one has the rows of timeouts, and one those of stalls of a playback, unless
    they are asked for: that in which they mean most. A row in each panel would take the room of the
    lines.
    """
    found = list(panels)
    for labels, kinds in _ROWS_ONCE:

        def rest(panel: Panel, labels: Sequence[str] = labels) -> list[Curve]:
            return [one for one in panel.curves if not (one.in_row and one.label in labels)]

        having = [one.kind for one in found if len(rest(one)) < len(one.curves)]
        first = next((one for one in kinds if one in having), "")
        found = [
            one if one.are_marks_asked or one.kind == first else replace(one, curves=rest(one))
            for one in found
        ]
    return found


def _without_repeated_marks(
    panel: Panel, runs: Sequence[WatchedRun], same: Collection[str]
) -> Panel:
    """A panel without the marks of lines that are the `same` as others, which have them."""
    looks = {
        look
        for run in runs
        for label, look in zip(run.labels, run.looks, strict=True)
        if label in same
    }
    is_mark = [one.draw in EVENTS or one.in_row for one in panel.curves]
    each = zip(panel.curves, is_mark, strict=True)
    return replace(panel, curves=[one for one, mark in each if not (mark and one.look in looks)])


def _entitled(panel: Panel) -> Panel:
    """A panel with bands whose title names these if no text above does: an area that fills the axis
    of a queue would look like that of a rate.
    """
    has_some = any(one.low is not None for one in panel.curves if one.draw in LINES[:-1])
    is_said = captioned(panel.detail) != ""
    if is_said or not has_some or not panel.what_with_bands:
        return panel
    return replace(panel, what=panel.what_with_bands)


def _without_bands(panel: Panel) -> Panel:
    """A panel whose lines have no ranges around them and no maxima, but for those of queues that
    means hide.
    """
    curves = [
        replace(one, low=None, high=None, most=one.most if one.draw == "queue" else None)
        if one.draw in LINES[:-1]
        else one
        for one in panel.curves
    ]
    return replace(panel, curves=curves, detail=re.sub(", band: [^;]*", "", panel.detail))


def panel_rows(panels: Sequence[Panel]) -> Iterable[Sequence[object]]:
    """Yield the data of the figure as rows with the columns of `HEAD`; "" is a missing value."""
    for panel in panels:
        for one in panel.curves:
            line = one.quantity or one.label
            words = (panel.kind, panel.unit, line, one.flow, one.scheme, one.link)
            none = [""] * len(one.time_s)
            ends = (one.low, one.high, one.most)
            columns = (none if end is None else end.tolist() for end in ends)
            each = zip(one.time_s.tolist(), one.value.tolist(), *columns, strict=True)
            for row in each:
                if row[1] == row[1]:
                    yield (*words, *row)
                elif one.draw == "steps":
                    # There the line ends.
                    yield (*words, row[0], "", "", "", "")


def path_rows(
    runs: Sequence[WatchedRun], window: tuple[float, float], size: Size | None = None
) -> Iterator[Sequence[object]]:
    """Yield the times without rows that a figure of this size hatches, with the columns of `HEAD`:
    from `low` to `high`, the value is how long that is.
    """
    width, _ = size_in(size, (PAGE_IN, 1.0))
    room = Room(max(0.5, width - 0.65), window)
    holes = holes_of(runs)
    for link in dict.fromkeys(link for link, _ in holes):
        for a, b in seen_holes([hole for of, hole in holes if of == link], room):
            yield ("path", "s", NO_ROWS, "", "", link, a, b - a, a, b, "")


def over_time_figure(
    runs: Sequence[WatchedRun],
    panels: Sequence[Panel],
    window: tuple[float, float],
    *,
    yscale: str | Mapping[str, str] | None = None,
    title: str | None = None,
    size: Size | None = None,
) -> Figure:
    """Return the figure of `plot_over_time`."""
    usual = usual_of_flows(flow for one in runs for flow in one.flows)
    with usually({**usual, **IN_PAPERS} if is_paper() else usual):
        return _figure(runs, panels, window, yscale=yscale, title=title, size=size)


def _figure(
    runs: Sequence[WatchedRun],
    panels: Sequence[Panel],
    window: tuple[float, float],
    *,
    yscale: str | Mapping[str, str] | None,
    title: str | None,
    size: Size | None,
) -> Figure:
    """Return the figure, with the usual names of its lines."""
    scales = check_scales(yscale, [one.kind for one in panels], SCALED)
    stretches = longest(runs).stretches
    # Runs whose links are in use at other times have a band each.
    each = paths_of(runs)
    has_band = any(one.link for one in stretches) and has_changes(each, window)
    band_in = has_band * band_height(len(each))
    # Of a panel without values stands above the others why there are none.
    lacks = [f"not drawn: {why}" for panel in panels if not panel.curves for why in panel.lacks]
    holes = holes_of(runs)
    if any(run.holes for run in runs) and not holes:
        lacks.append("times without rows are not hatched, as they differ between the runs")
    if company := in_common(runs):
        lacks.append("; ".join(company))
    shown_flows = {flow.flow for one in runs for flow in one.flows}
    if len(runs) > 1 and len(shown_flows) == 1 < len(without_requests(runs[0].setup)):
        lacks.append(f"flow {runs[0].flows[0].flow}")
    panels = [panel for panel in panels if panel.curves]
    count = sum(len(one.flows) for one in runs)
    several = count > 1
    same = repeated_lines(runs)
    panels = [with_peaks(panel, same) for panel in _without_repeats(panels)]
    panels = [_without_repeated_marks(panel, runs, same) for panel in panels]
    # Lines that are the same share a row of marks.
    count -= len(same)
    panels = [_entitled(panel) if panel.has_bands else _without_bands(panel) for panel in panels]

    shared: dict[str, str] = {}

    def _scale(panel: Panel) -> str | None:
        return scales.get(panel.kind, scales.get("", shared.get(panel.kind)))

    shared |= dict.fromkeys(with_one_scale(panels, _scale), "log")
    width, _ = size_in(size, (PAGE_IN, 1.0))
    room = Room(max(0.5, width - 0.65), window)
    room = replace(room, edges=edges_of(runs, room))
    if count_of_holes := unseen_holes([hole for _, hole in holes], room):
        lacks.append(f"{count_of_holes} short times without rows are not hatched")
    panels = [
        one
        for panel in panels
        for one in line_by_line(
            panel, runs, same, room.width_in, is_log=least_of(panel, _scale(panel)) is not None
        )
    ]
    names_of = {
        look: label
        for run in runs
        for label, look in zip(run.labels, run.looks, strict=True)
        if label not in same
    }
    # Also of those that are not marked.
    spurious = [spurious_words(panel, names_of) for panel in panels]
    panels = [
        without_short_stalls(without_many(one, room, 1 if one.line else count, names_of), room)
        for one in panels
    ]
    panels = [without_overlaps(without_teeth(panel, room), room) for panel in panels]
    high = sum(one.high for one in panels)
    looks = [look for run in runs for look in run.looks]
    rows_in: list[dict[int, float]] = []
    heads: list[str] = []
    told: list[bool] = []
    off: list[list[Peak]] = []
    tops: list[float] = []
    for panel, of_timeouts in zip(panels, spurious, strict=True):
        has_gaps = len(each) > 1 and (count <= MOST_ROWS or panel.are_marks_asked)
        with_gaps = [run for run in each if has_gaps and run.labels[0] not in same]
        rows_in.append(_rows_of(panel, with_gaps, looks))
        top = asked_top(panel) or end_of_axis(panel, _scale(panel), 0.0)
        off.append(peaks_off(panel, top, room))
        tops.append(top)
        # What is true of panels with one axis is said above the first.
        is_next = panel.of is not None and any(panel.of is one.of for one in panels[: len(heads)])
        own: Any = {
            "spurious": of_timeouts,
            "off": off[-1],
            "others": () if heads else lacks,
            "is_next": is_next,
        }
        causes = Causes() if is_next else causes_of_losses(panel, rows_in[-1], width)
        head, is_told = head_of(panel, room, _scale(panel), stretches, causes=causes, **own)
        heads.append(head)
        told.append(is_told and causes.has_numbers)
    written = sum(len(one.splitlines()) for one in heads)
    written += has_band and len(names_above(each, room)) > 0
    written += sum(bool(panel.line) and not head for panel, head in zip(panels, heads, strict=True))
    panel_in, around_in = PANEL_IN, _AROUND_IN
    if is_paper():
        least, together = _PAPER_PANELS_IN
        panel_in, around_in = min(PANEL_IN, max(least, together / high)), _AROUND_IN_PAPER
    usual = band_in + panel_in * high + _LINE_IN * written + around_in
    width, height = size_in(size, (PAGE_IN, usual))
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        # The band is as high as its letters, however high the figure is.
        rest = (height - around_in - band_in) / max(1.0, high)
        usual_pt = 72 * max(0.2, rest - _LINE_IN * written / max(1.0, high))
        ratios = [band_in] * has_band + [max(0.2, rest) * one.high for one in panels]
        grid = figure.subplots(
            len(ratios), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": ratios}
        )[:, 0]
        show_time(grid[0], window)
        styles = styles_of(looks)
        # What the band, or the axis, tells needs no entry, and no line style.
        unnamed = dict(unnamed_entries(each, room))
        of_queues = _names_of_queues(runs, panels, unnamed, has_band=has_band)
        entries: dict[str, Any] = {}
        bands: dict[str, Any] = {}
        for row, run in enumerate(each if has_band else ()):
            look = look_of(run.looks[0]) if len(each) > 1 else None
            draw_band(grid[0], run, room, (row, len(each)), look)
            bands |= draw_handovers(grid[0], run, room, (row, len(each)))
        if has_band:
            bands = unnamed | bands
        # The scale is that of all values.
        cut_at = [top if peaks else 0.0 for top, peaks in zip(tops, off, strict=True)]
        parts = [
            replace(one, curves=within_scale(one, _scale(panel), asked_top(panel)))
            for panel, one in zip(panels, map(without_lone_peaks, panels, cut_at), strict=True)
        ]
        widths = widths_of(
            [
                (
                    [] if one.line else _stroked(one, styles, same),
                    least_of(panel, _scale(panel)) is not None,
                )
                for panel, one in zip(panels, parts, strict=True)
            ]
        )
        long_titles: list[Axes] = []
        above_values: list[float] = []
        names = {label for run in runs for label in run.labels}
        shown_in = zip(grid[has_band:], panels, parts, heads, told, rows_in, strict=True)
        for axes, panel, drawn, head, are_told, rows in shown_in:
            for number, one in enumerate(drawn.curves):
                if one.in_row:
                    draw_in_row(axes, one, rows)
                    continue
                # That of a link is told by its dashes, with its colour, or by the band.
                marked = several and not (one.draw == "queue" and len(runs) == 1)
                marked = marked and not panel.line
                is_plain = one.look is None or (one.draw == "queue" and one.label in of_queues)
                own = "-" if one.look is None or is_plain else look_of(one.look).line
                # Alone it needs no dashes, in which short steps are not seen.
                stroke = Stroke(
                    "-" if panel.line or one.look is None else styles.get(one.look, own),
                    widths.get(one.label, LINE_PT),
                    # Its markers are on the line that it repeats.
                    one.label in same and one.draw in STROKED,
                )
                how_line: Any = {"several": several, "marked": marked}
                draw_curve(axes, one, room, number, stroke, **how_line)
            mine = {one.label for one in panel.curves} if panel.line else names
            draw_path(axes, each, mine, room, rows, holes)
            if rows:
                high_pt = usual_pt * panel.high
                draw_row_names(axes, panel, rows, are_told=are_told, panel_pt=high_pt)
            axes.set_ylabel(panel.what)
            axes.set_title(panel.line, loc="left", fontsize=SMALL_PT, pad=2)
            scale_of(axes, panel, _scale(panel), share_above(rows))
            above_values.append(_share_above(axes, panel, rows, usual_pt * panel.high))
            scale_of(axes, panel, _scale(panel), above_values[-1])
            below: Any = (above_values[-1], usual_pt * panel.high)
            if (rows or panel.line) and not title_below_rows(axes, *below):
                long_titles.append(axes)
            axes.set_title(
                head, loc="right", fontsize=SMALL_PT, color="0.35", pad=2, parse_math=False
            )
            handles, labels = axes.get_legend_handles_labels()
            for handle, label in zip(handles, labels, strict=True):
                # A line that is alone has its name above it.
                if not (panel.line and label in names):
                    entries.setdefault(label, handle)
        named = [(one.kind, axes) for one, axes in zip(panels, grid[has_band:], strict=True)]
        above = {axes: share for (_, axes), share in zip(named, above_values, strict=True)}
        choose_ends(named, above)
        for (axes, share), panel in zip(above.items(), panels, strict=True):
            draw_whole_markers(axes, usual_pt * panel.high)
            end_below_rows(axes, share)
        grid[-1].set_xlabel(time_title(((run.recorded, run.end_ns) for run in runs), window))
        figure.align_ylabels(grid[has_band:])
        for axes in long_titles:
            clear_of_counts(axes)
        # Flows may have only marks: those of a queue.
        alone = {one.label for panel in panels if panel.line for one in panel.curves}
        marked_looks = {one.look for panel in panels for one in panel.curves if one.in_row}
        only_marked = {
            label: line_sample(look)
            for run in runs
            for label, look in zip(run.labels, run.looks, strict=True)
            if look in marked_looks and label not in {*entries, *alone} and label not in same
        }
        entries = only_marked | entries
        # The lines come first, then what their marks are.
        events = [STALL, UNHEARD, *(one.label for one in EVENTS.values())]
        quantities = [one.quantity for panel in panels for one in panel.curves]
        marks = [*(one for one in quantities if one not in events), *events]
        called = ((of_queues.get(name, name), handle) for name, handle in entries.items())
        entries = {name: handle for name, handle in called if name}
        lines = {one.label for panel in panels for one in panel.curves if one.draw in LINES}
        lines |= {*only_marked, *of_queues.values()}

        def order(entry: tuple[str, Any]) -> int:
            # Marks have the order of the counts beside their rows.
            name = entry[0]
            return -1 if name in lines else 1 + marks.index(name) if name in marks else 0

        entries = joined_timeouts(dict(sorted(entries.items(), key=order)) | bands)
        said = same_words(runs)
        # More, or one inside a panel, would take the room of the lines; a paper's text has it.
        has_ends = count <= MOST_ROWS and legend_place() == "outside" and not is_paper()
        done = done_words(runs, window) if has_ends else {}
        said |= {name: f"{said.get(name, name)}, {when}" for name, when in done.items()}
        entries = {
            said.get(name, name): usual_line(handle, widths.get(name, LINE_PT))
            if name in lines
            else handle
            for name, handle in entries.items()
        }
        lines |= {*said.values()}
        finish_panels(figure, named, entries, title, runs[0].names, lines, has_ends=True)
        for (_, axes), panel, peaks in zip(named, panels, off, strict=True):
            mark_cut_lines(axes, peaks, panel.unit, above[axes])
    return figure


def _stroked(panel: Panel, styles: Mapping[int, LineStyle], same: Collection[str]) -> list[Curve]:
    """The lines of a panel that flows, or runs, have of their own, in these looks."""
    lines = [one for one in panel.curves if is_stroked(one) and one.look in styles]
    lines = [one for one in lines if one.label not in same]
    # In the order in which they are drawn.
    return sorted(lines, key=lambda one: styles[one.look or 0] != "-")


def _names_of_queues(
    runs: Sequence[WatchedRun],
    panels: Sequence[Panel],
    unnamed: Collection[str],
    *,
    has_band: bool,
) -> dict[str, str]:
    """What queues are called in the legend, by their labels, if that is shorter; "" without an
    entry. The axis says what the queue of the only link of a run is, and the band which link is in
    use: of those that are used one after the other, only the ways of the data need to be told.
    """
    run = runs[0]
    each = [one for panel in panels for one in panel.curves if panel.kind == "queue"]
    queues = [one for one in each if one.draw in LINES]
    if len(runs) > 1 or any(one.draw != "queue" for one in queues):
        return {}
    if not has_band:
        return {one.label: "" for one in queues} if len(queues) == 1 else {}
    ways = [run.directions[0], run.other_way] if run.other_links else [""]
    found: dict[str, str] = {}
    for way in ways:
        mine = [one for one in queues if not way or one.label.endswith(f", {way}")]
        if unnamed or not take_turns(mine):
            return {}
        found |= dict.fromkeys((one.label for one in mine), "")
        found |= {one.label: f"queue, {way}" for one in mine[:1] if way}
    return found


def _rows_of(panel: Panel, gaps: Sequence[WatchedRun], looks: Sequence[int]) -> dict[int, float]:
    """The rows of marks of a panel. Panels of the lines of one have a row each if one of them does:
    they have the same axis.
    """
    if panel.of is None or panel.kind == "objects":
        return rows_of(panel, gaps, looks)
    if not rows_of(panel.of, gaps, looks):
        return {}
    first = next(one.look for one in panel.curves if one.look is not None and is_stroked(one))
    return {first: 1 - row_height(1, panel.high) / 2}


def _share_above(axes: Axes, panel: Panel, rows: Mapping[int, float], panel_pt: float) -> float:
    """The share of the height of a panel, which is so many points, above its values. The number of
    a tick at their end, as one that is asked for may have, must not touch that of a row.
    """
    if not rows or panel.kind == "objects":
        # These are listed from above.
        return 0.0
    above = share_above(rows)
    lacks = _ABOVE_TICK_PT
    if asked_top(panel) is None:
        lacks -= below_end(axes, above) * panel_pt
    return above + max(0.0, lacks) / panel_pt
