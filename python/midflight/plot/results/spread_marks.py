"""The marks of distributions and means: boxes, means with their intervals, and how they look."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.coincide import widths_of_joined
from midflight.plot.common.line_looks import (
    few_entries,
    line_looks,
    schemes_apart,
)
from midflight.plot.common.place_scale import LINEAR, PlaceScale
from midflight.plot.common.style import (
    Look,
    chosen_axes,
)
from midflight.plot.results.axis import name_categories
from midflight.plot.results.boxes import draw_boxes, draw_few, draw_single
from midflight.plot.results.compared import (
    usual_ends,
)
from midflight.plot.results.dodge import (
    Whiskers,
    marker_high,
    side_by_side_at_names,
    whiskers_of,
)
from midflight.plot.results.edge_rows import EdgeMarks, Shape, draw_edge_marks
from midflight.plot.results.quartiles import mark_endless
from midflight.plot.results.scales import (
    beyond,
    open_edges,
    set_log,
    set_places,
)
from midflight.plot.results.shares import (
    LINE_PT,
    line_style,
)
from midflight.plot.results.spans import Span, draw_span, pale_look, takes_bands
from midflight.plot.results.spread_data import (
    Group,
    Spread,
    bars_of,
    box_of,
    known_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Endless",
    "Logs",
    "cut_of",
    "draw_endless",
    "draw_spread_boxes",
    "draw_spread_intervals",
    "ends_of_boxes",
    "ends_of_means",
    "entries_of",
    "is_cut",
    "schemes_of",
    "spread_looks",
    "spread_styles",
    "widths_of_means",
]

#: The room above and below a panel of boxes, in inches, about.
_AROUND_IN = 0.9
#: That beside it.
_BESIDE_IN = 0.6
#: How much of the way from one place to the next the boxes of a place have, and how much of the way
#: from one of these to the next is a box: those of two places are farther apart than those of one.
_OF_PLACE, _OF_STEP = 0.72, 0.82

#: How strong points of few pairs are beside others, and the line that leads to them.
_WEAK = 0.35

_Values: TypeAlias = NDArray[np.float64]
_Ends: TypeAlias = tuple[float, float]


class Endless(NamedTuple):
    """The places, the lower and the upper ends, and the look of a line's intervals, some of which
    have no end, the marks of places without any value, which intervals are pale, and whether these
    places are aside of the numbers.
    """

    x: _Values
    low: _Values
    high: _Values
    look: Look
    empty: Sequence[str]
    weak: NDArray[np.bool_]
    is_aside: bool


class Logs(NamedTuple):
    """The scale of the horizontal axis, and whether that of values is logarithmic."""

    x: PlaceScale = LINEAR
    y: bool = False


def spread_looks(data: Spread) -> list[Look]:
    return [look for look, _ in spread_styles(data)]


def spread_styles(data: Spread) -> list[tuple[Look, int]]:
    """The look of each line, and the place of its line style in `SERIES`."""
    return [(look, style) for _, look, style in _styled(data)]


def _styled(data: Spread) -> list[tuple[Group, Look, int]]:
    """What is drawn, with its look and the place of its line style in `SERIES`."""
    if schemes := schemes_of(data):
        return schemes
    keys, labels = [one.key for one in data.groups], [one.label for one in data.groups]
    looks = line_looks(data.by, keys, labels)
    return [(one, look, style) for one, (look, style) in zip(data.groups, looks, strict=True)]


def entries_of(data: Spread) -> dict[str, Any]:
    """The entries of the legend where they are not the lines."""
    keys = [one.key for one in data.groups]
    if any(len(key) != len(data.by) for key in keys):
        return {}
    return few_entries(data.by, keys, spread_looks(data))


def _step(data: Spread) -> float:
    """The least way between two places of the axis."""
    places = sorted({x for group in data.groups for x in group.x})
    return min((b - a for a, b in pairwise(places)), default=1.0)


def _dodged(data: Spread, group: Group, place: int, step: float) -> NDArray[np.float64]:
    """The places of a group's values side by side, with this distance between two groups."""
    aside = 0.0 if schemes_of(data) else (place - (len(data.groups) - 1) / 2) * step
    return np.array(group.x, dtype=np.float64) + aside


def _ends_of_values(data: Spread, logs: Logs, cut: tuple[float, float] | None) -> _Ends:
    """The ends of the axis of values of means and intervals, without its margin."""
    bars = [bar for group in data.groups for bar in bars_of(group)]
    known = [one for bar in bars for one in bar if math.isfinite(one) and not (logs.y and one <= 0)]
    if logs.y:
        return min(known), max(known)
    return cut or (min([0.0, *known]), max([0.0, *known]))


def ends_of_means(data: Spread, logs: Logs) -> _Ends:
    """The ends of the axis of means that are not negative, with their intervals."""
    bars = [bar for group in data.groups for bar in bars_of(group)]
    known = [one for bar in bars for one in bar if math.isfinite(one)]
    if logs.y:
        known = [one for one in known if one > 0]
        return min(known) / 1.3, 1.3 * max(known)
    has_short = any(one for group in data.groups for one in group.is_short)
    return 0.0, (1.12 if has_short else 1.05) * max(known, default=1.0) or 1.0


def _whiskers(
    data: Spread, logs: Logs, size_in: tuple[float, float], ends: _Ends, *, bands: bool
) -> Whiskers:
    """Where the lines of means over numbers stand, with their whiskers."""
    width, height = size_in

    def up(value: float) -> float:
        return math.log(max(value, 1e-300)) if logs.y else value

    marks = []
    for group in data.groups:
        each = zip(group.x, bars_of(group), strict=True)
        marks.append([(x, up(low), up(high)) for x, (_, low, high) in each])
    marker = marker_high(up(ends[1]) - up(ends[0]), height)
    return whiskers_of(marks, marker, width, logs.x, bands=bands)


def is_cut(ends: tuple[float, float], cut: tuple[float, float]) -> bool:
    return math.isfinite(ends[1] - ends[0]) and (ends[0] < cut[0] or ends[1] > cut[1])


def cut_of(data: Spread) -> tuple[float, float] | None:
    """The ends of an axis beyond which a few long intervals of a comparison are not shown; None for
    other figures, and if the user has chosen the ends.
    """
    choice = chosen_axes()
    if data.kind != "interval" or (choice is not None and choice.ylim):
        return None
    means = [one for group in data.groups for values in group.values for one in known_of(values)]
    ends = usual_ends(means, [one for group in data.groups for one in group.ends])
    if ends is None:
        return None
    room = 0.08 * (ends[1] - ends[0])
    return ends[0] - room, ends[1] + room


def schemes_of(data: Spread) -> list[tuple[Group, Look, int]]:
    """The schemes that the axis names, if there is a single line over these."""
    return schemes_apart(data.along, data.categories, data.groups) if data.kind != "cdf" else []


def ends_of_boxes(data: Spread, logs: Logs) -> _Ends:
    """The ends of the axis of values of boxes."""
    every = [one for group in data.groups for values in group.values for one in known_of(values)]
    top = (1.3 if logs.y else 1.04) * max(every, default=1.0) or 1.0
    return min(one for one in every if one > 0) / 1.3 if logs.y else min(0.0, *every, 0.0), top


def draw_spread_boxes(
    axes: Axes,
    data: Spread,
    logs: Logs,
    size_in: tuple[float, float],
    ends: _Ends | None = None,
    styles: Mapping[tuple[str, ...], tuple[Look, int]] | None = None,
) -> dict[str, Any]:
    """Draw boxes in a figure of a size, with these ends of the axis of values, and styles by the
    values of the columns that tell lines apart, if these are not those of this figure alone; return
    the entries of the legend.
    """
    step = _OF_PLACE * _step(data) / max(1, len(data.groups))
    width = _OF_STEP * step
    places = len(data.categories or ()) or 1
    width_pt = 72 * max(0.5, size_in[0] - _BESIDE_IN) * width / places
    low, top = ends or ends_of_boxes(data, logs)
    over = beyond(low, top, is_log=logs.y)
    choice = chosen_axes()
    ends = next(iter(choice.ylim.values()), (low, top)) if choice is not None else (low, top)
    room_pt = 72 * max(0.5, size_in[1] - _AROUND_IN)
    entries: dict[str, Any] = {}
    endless = []
    drawn = _styled(data)
    if styles is not None:
        drawn = [(one, *styles[tuple(one.key)]) for one in data.groups]
    for place, (group, look, number) in enumerate(drawn):
        each = [box_of(data, values) for values in group.values]
        points = np.array([one.points for one in each]).reshape(-1, 5)
        x, shown = _dodged(data, group, place, step), np.minimum(points, over)
        points_pt = room_pt * _shares(shown, ends, is_log=logs.y)
        few = np.array([one.is_few for one in each], dtype=np.bool_)
        handle = None
        for at, one in zip(x, each, strict=True):
            finite = [value for value in one.singles if math.isfinite(value)]
            if not one.is_few:
                draw_single(axes, look, at, finite)
                continue
            heights_pt = room_pt * _shares(np.array(finite), ends, is_log=logs.y)
            how: Any = {"median": one.points[2], "width": width}
            how["width_pt"] = width_pt
            handle = (
                draw_few(axes, group.named, look, at, np.array(finite), heights_pt, **how) or handle
            )
        boxes = shown[~few], width, number, points_pt[~few]
        # Points say more of a line than the marker of values that are alike.
        drawn_boxes = draw_boxes(axes, group.named, look, x[~few], *boxes)
        handle = handle or drawn_boxes
        if group.label and handle is not None:
            entries[group.named] = handle
        some = [any(map(math.isnan, values)) and data.is_time for values in group.values]
        is_endless = np.array(some, dtype=np.bool_)
        endless.append(EdgeMarks(x[is_endless], look))
    if logs.y:
        set_log(axes.yaxis, low, top)
    else:
        axes.set_ylim(low, top)
    open_edges(axes, [*axes.lines, *axes.patches])
    if data.categories is not None:
        name_categories(axes, data.categories, size_in[0])
    draw_edge_marks(axes, endless, top, size_in[0], logs.x, outside=True)
    return entries


def _shares(values: _Values, ends: tuple[float, float], *, is_log: bool) -> _Values:
    """How far up an axis with these ends values are, in shares of it."""
    low, top = map(math.log, ends) if is_log else ends
    return ((np.log(np.maximum(values, ends[0])) if is_log else values) - low) / (top - low)


def draw_endless(
    axes: Axes,
    every: Sequence[Endless],
    width_in: float,
    scale: PlaceScale,
    *,
    are_changes: bool = False,
) -> None:
    """Draw intervals without an end to the edges of the axes, with arrows there, and mark places
    without a value above them, in a figure so wide. Changes have no place on the axes there, as
    values that are longer than all others have.
    """
    _, top = axes.get_ylim()
    axes.set_ylim(*axes.get_ylim())
    shapes: Sequence[tuple[str, Shape]] = (("up", "up"), ("down", "down"), ("none", "cross"))
    marks = [
        EdgeMarks(one.x[[mark == name for mark in one.empty]], one.look, shape)
        for one in every
        for name, shape in shapes
    ]
    draw_edge_marks(axes, marks, top, width_in, scale, outside=are_changes)
    parts = [
        (one, one.weak == is_weak, pale_look(one.look) if is_weak else one.look)
        for one in every
        for is_weak in (False, True)
    ]
    for (x, low, high, *_), some, look in parts:
        chosen = (np.isinf(low) | np.isinf(high)) & some
        if not chosen.any():
            continue
        at, ends = x[chosen], (low[chosen], high[chosen])
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, top)
        shown = np.maximum(ends[0], bottom), np.minimum(ends[1], top)
        axes.vlines(at, *shown, look.colour, linewidth=0.9)
        how: Any = {"color": look.colour, "markersize": 4.4, "markeredgewidth": 0.9}
        for one in ends:
            sure = np.isfinite(one)
            axes.plot(at[sure], one[sure], "_", **how)
        mark_endless(axes, at, ends[0], bottom, look, "down")
        mark_endless(axes, at, ends[1], top, look)


def _joined_means(group: Group) -> list[float]:
    """The means that a line goes through; nan where it does not."""
    each = zip(group.is_short, bars_of(group), strict=True)
    return [math.nan if short else mean for short, (mean, *_) in each]


def widths_of_means(
    data: Spread, logs: Logs, cut: tuple[float, float] | None, shown: _Ends | None
) -> list[tuple[tuple[str, ...], float]]:
    """Return the lines of means in axes with these ends, if they are not those of this figure
    alone, by their values of the columns that tell them apart, and their widths in points.
    """
    keys = [tuple(one.key) for one in data.groups]
    if data.categories is not None:
        return [(key, LINE_PT) for key in keys]
    values = shown or _ends_of_values(data, logs, cut)
    means = [(group.x, _joined_means(group)) for group in data.groups]
    widths = widths_of_joined(means, values, LINE_PT, scale_x=logs.x, log_y=logs.y)
    return [*zip(keys, widths, strict=True)]


def draw_spread_intervals(
    axes: Axes,
    data: Spread,
    logs: Logs,
    size_in: tuple[float, float],
    cut: tuple[float, float] | None,
    looks: Mapping[tuple[str, ...], Look] | None = None,
    shown: _Ends | None = None,
    widths_pt: Mapping[tuple[str, ...], float] | None = None,
) -> list[Endless]:
    """Draw means and intervals in axes of a size, with the looks and the widths of lines by their
    values of the columns that tell them apart, and the ends of an axis of means that are `shown`,
    if these are not those of this figure alone; return the intervals for `draw_endless`.
    """
    has_numbers = data.categories is None
    has_negative = False
    places = [x for group in data.groups for x in group.x]
    most_places = max((len(group.x) for group in data.groups), default=0)
    drawn_groups = [(one, look) for one, look, _ in _styled(data)]
    if looks is not None:
        drawn_groups = [(one, looks[tuple(one.key)]) for one in data.groups]
    bands = takes_bands(most_places, has_names=not has_numbers)
    # Means over numbers stand at their number, or a little aside; means over names side by side.
    if has_numbers:
        values = shown or _ends_of_values(data, logs, cut)
        whiskers = _whiskers(data, logs, size_in, values, bands=bands)
        widths = [width for _, width in widths_of_means(data, logs, cut, shown)]
        if widths_pt is not None:
            widths = [widths_pt[tuple(one.key)] for one in data.groups]
    else:
        step = 0.64 * _step(data) / (1 if schemes_of(data) else max(1, len(data.groups)))
        apart = side_by_side_at_names(step, len(data.categories or ()), size_in[0])
        each = enumerate(drawn_groups)
        at_names = [_dodged(data, group, place, apart.step) for place, (group, *_) in each]
        whiskers = Whiskers(at_names, apart.cap_pt)
        widths = [LINE_PT] * len(drawn_groups)
    endless = []
    has_bars = False
    for place, (group, look) in enumerate(drawn_groups):
        at = whiskers.at[place]
        points = np.array(bars_of(group)).reshape(-1, 3)
        mean, low, high = points.T
        if cut is not None and group.ends:
            low[low < cut[0]] = -np.inf
            high[high > cut[1]] = np.inf
        sure = np.isfinite(low) & np.isfinite(high)
        has_bars |= bool(sure.any())
        # Of mean times it is known that they are longer than all others.
        are_longest = np.isnan(mean) & data.is_time
        empty = group.empty or ["up" if one else "" for one in are_longest]
        weak = np.array(group.hints or [False] * len(mean), dtype=np.bool_)
        endless.append(Endless(at, low, high, look, empty, weak, whiskers.are_aside))
        # An interval of what cannot be negative may reach below 0.
        # That of a comparison has the baseline at 0.
        has_negative |= bool((mean < 0).any() or group.ends)
        short = np.array(group.is_short, dtype=np.bool_)
        span = Span(at, mean, low, high, ~short & ~weak)
        draw_span(
            axes, span, look, at, whiskers.cap_pt, bands=bands, lines=len(drawn_groups), weak=weak
        )
        how = line_style(look, widths[place])
        how |= {} if has_numbers else {"linestyle": "none"}
        # A line of means that leave out more and more runs would fall where times grow.
        alone = {**how, "linestyle": "none"}
        sure_mean = np.where(short | weak, np.nan, mean)
        drawn = axes.plot(at, sure_mean, label=group.named, zorder=4, **how)
        drawn += axes.plot(at[short], mean[short], zorder=4, **alone)
        if weak.any():
            # The parts of the line that lead to these points, and these.
            around = np.pad(weak, 1)
            leads = (weak | around[:-2] | around[2:]) & ~short
            faint: Any = {"zorder": 3, "alpha": _WEAK}
            drawn += axes.plot(at, np.where(leads, mean, np.nan), **{**how, "marker": ""}, **faint)
            drawn += axes.plot(at[weak], mean[weak], **alone, **faint)
        open_edges(axes, drawn)
        is_seen = short & np.isfinite(mean)
        above = np.where(sure, high, mean)[is_seen]
        mark_endless(axes, at[is_seen], np.full(above.shape, np.inf), above, look, above_pt=6.0)
    if logs.y:
        set_log(axes.yaxis, *(shown or ends_of_means(data, logs)))
    elif has_negative:
        axes.axhline(0, color="0.3", linewidth=0.8, zorder=2)
        if cut is not None:
            axes.set_ylim(*cut)
        elif not any(_ends_of_values(data, logs, cut)):
            # Without any change the axis would be of some thousandths.
            axes.set_ylim(-1, 1)
    else:
        axes.set_ylim(*(shown or ends_of_means(data, logs)))
    if has_numbers:
        wide = has_bars and not bands
        set_places(axes, places, whiskers.at, size_in[0], logs.x, wide=wide, zero=data.zero)
    return endless
