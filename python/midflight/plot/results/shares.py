"""Shares of runs with at most a value (CDFs): their lines, and panels of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.listing import joined
from midflight.plot.common.coincide import marker_share, narrower
from midflight.plot.common.names import plural_name
from midflight.plot.common.place_scale import LINEAR, LOG
from midflight.plot.common.style import Look
from midflight.plot.results.axis import panels_name
from midflight.plot.results.median_panels import are_strokes
from midflight.plot.results.places import spaced
from midflight.plot.results.rows import Pooled, ordered, over_words, text_of
from midflight.plot.results.scales import WIDE, open_edges, place_limits, set_log
from midflight.plot.results.spread_data import Spread, drawn_of, known_of, same_in_all
from midflight.plot.results.unfinished import unfinished_words
from midflight.plot.usual import MOST_LINES
from midflight.results import quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from midflight.plot.results.tables import Columns

__all__ = [
    "LINE_PT",
    "draw_shares",
    "has_room",
    "has_strokes",
    "is_wide",
    "line_style",
    "panels_of",
    "share_widths",
    "share_words",
]

#: The width of a line in points, and of the first one of several lines of shares.
LINE_PT, _FIRST_PT = 1.1, 1.8

#: A line has so many steps at the most.
_MOST_STEPS = 4000
#: The most panels if all values of a column have one, in three rows of a page, those of more
#: values, and the most ones if all combinations of two columns have one.
_MOST_ALL, _MOST_PANELS, _MOST_COMBINED = 9, 6, 12
#: Values without a panel are named up to this number.
_MOST_LEFT = 4


def is_wide(lines: Sequence[Sequence[float]]) -> bool:
    """Whether the largest value of the lines is far above the usual values of each line."""
    known = [values for one in lines if (values := known_of(one))]
    if not known or min(map(min, known)) <= 0:
        return False
    return max(map(max, known)) > WIDE * max(quantile(one, 0.5) for one in known)


def has_strokes(panels: Sequence[Spread], *, is_log: bool = False) -> bool:
    """Whether the values of one of several panels would have so small a share of a common axis that
    its lines would be one stroke.
    """
    values = [*map(drawn_of, panels)]
    if is_log and min((min(each) for each in values if each), default=0.0) <= 0:
        return False
    return are_strokes(values, LOG if is_log else LINEAR)


def share_words(panels: Sequence[Spread], counted: str, pooled: Pooled, *, is_time: bool) -> str:
    """How many runs or values the lines of panels are over, which of them end below 1, and what is
    pooled.
    """
    groups = [group for one in panels for group in one.groups]
    counts = [len(values) for group in groups for values in group.values]
    words = [] if {*counts} <= {1} else [over_words("shares", counts, counted, pooled, "line")]
    lost: dict[str, int] = {}
    for one in groups:
        lost[one.label] = lost.get(one.label, 0) + sum(one.missing)
    if any(lost.values()):
        unfinished = unfinished_words(lost, is_time=is_time)
        words.append(f"{'below 1 at the end' if is_time else 'left out'}: {unfinished}")
    return "; ".join(filter(None, (*words, pooled.flows)))


def _which(values: Sequence[str], some: Sequence[str]) -> str:
    """Which of the values have panels: every other one, or all without those that are named."""
    if [*some] == [*values[::2]]:
        return ", every other one"
    left = [spaced(one) for one in values if one not in some]
    return f", without {joined(left)}" if len(left) <= _MOST_LEFT else ", evenly spaced"


def _panel_columns(counts: Sequence[int]) -> int:
    """How many of the last columns that tell lines apart, each with so many values, have panels:
    as many as leave few enough lines in each.
    """
    for panels in range(len(counts)):
        if prod(counts[: len(counts) - panels]) <= MOST_LINES:
            return panels
    # The lines of the first column are as many as can be distinguished.
    return max(0, len(counts) - 1)


def has_room(counts: Sequence[int]) -> bool:
    """Whether lines for all values of columns, each with so many, have room in a figure."""
    panels = _panel_columns(counts)
    return panels < 2 or prod(counts[len(counts) - panels :]) <= _MOST_COMBINED


def panels_of(
    columns: Columns,
    rows: Sequence[int],
    kept: Mapping[str, Sequence[str]],
    by: Sequence[str],
    lines_of: Callable[[Sequence[int], Mapping[str, Sequence[str]], Sequence[str]], Spread],
) -> Spread | None:
    """Return the panels of a figure whose lines, told apart by these columns, are too many for one:
    one for each value of the last column, or for some that are spread over all, or for each
    combination of the values of the last columns. None if the lines are few.

    `lines_of` returns the lines of some rows, those with these values, told apart by these columns.
    """
    if len(by) < 2:
        return None
    lines = {tuple(text_of(columns[name][row]) for name in by) for row in rows}
    if len(lines) <= MOST_LINES:
        return None
    each = [ordered(columns, rows, name, kept) for name in by]
    counts = [len(values) for values in each]
    number = _panel_columns(counts) if has_room(counts) else 1
    others, names, some, words = by[:-number], by[-number:], each[-number:], ""
    if number == 1 and counts[-1] > _MOST_ALL:
        places = np.linspace(0, counts[-1] - 1, _MOST_PANELS).round().astype(int)
        some = [[each[-1][place] for place in places]]
        which = _which(each[-1], some[0])
        words = f"{_MOST_PANELS} of {counts[-1]} {plural_name(names[0])}{which}"
    of_panel: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        key = tuple(text_of(columns[name][row]) for name in names)
        of_panel.setdefault(key, []).append(row)
    panels = []
    for key in filter(of_panel.__contains__, product(*some)):
        kept_ones = {**kept, **{name: [one] for name, one in zip(names, key, strict=True)}}
        panel = lines_of(of_panel[key], kept_ones, others)
        panels.append(replace(panel, name=panels_name(names, key), of=key))
    same_in_all([group for one in panels for group in one.groups])
    every = [group.values[0] for one in panels for group in one.groups if group.values]
    is_above = min((one for values in every for one in known_of(values)), default=0.0) > 0
    suits = is_above and has_strokes(panels) and not has_strokes(panels, is_log=True)
    return replace(
        panels[0],
        panels=panels,
        name="",
        panels_by=names,
        detail=words,
        is_wide=is_wide(every) or suits,
    )


def line_style(look: Look, width_pt: float = LINE_PT) -> dict[str, Any]:
    """The style of a line so wide, and of its markers."""
    return {
        "color": look.colour,
        "linestyle": look.line,
        "linewidth": width_pt,
        "marker": look.marker,
        "markersize": 0.85 * look.size * marker_share(width_pt, LINE_PT),
        "markerfacecolor": look.colour if look.filled else "white",
        "markeredgecolor": look.colour,
        "markeredgewidth": 0.8,
    }


def share_widths(count: int) -> list[float]:
    """The widths in points of so many lines in the order in which they are drawn, each narrower
    than those beneath it: all of them coincide at 0 and 1, and on long steps.
    """
    return narrower(count, _FIRST_PT) if count > 1 else [LINE_PT] * count


def draw_shares(
    axes: Axes,
    data: Spread,
    looks: Sequence[tuple[Look, float]],
    every: Sequence[float],
    *,
    is_log: bool,
) -> None:
    """Draw steps of the share of runs, each line with its look and its width in points, on an axis
    for all of these values; a line that ends below one is of runs that did not finish.
    """
    shown = [one for one in every if one > 0] if is_log else every
    # What lies before the first value and behind the last one.
    usual = place_limits(shown, 0.04, LINEAR) if any(shown) else (0.0, 1.0)
    edges = (min(shown) / 1.15, max(shown) * 1.15) if is_log else usual
    for place, (group, (look, width_pt)) in enumerate(zip(data.groups, looks, strict=True)):
        values = group.values[0] if group.values else []
        known = np.sort(np.array(known_of(values)))
        counted = len(values) if data.is_time else len(known)
        x = np.concatenate([[edges[0]], known, [edges[1]]])
        share = np.concatenate([[0.0], np.arange(1, len(known) + 1), [len(known)]]) / max(
            counted, 1
        )
        if len(x) > _MOST_STEPS:
            # Omit steps that cannot be distinguished; both ends stay.
            kept = np.linspace(0, len(x) - 1, _MOST_STEPS).astype(np.int64)
            x, share = x[kept], share[kept]
        # Lines that run together have their markers at other heights.
        heights = (np.arange(5) + 0.3 + 0.11 * place) / 5.5
        marks = {*np.searchsorted(share, heights[heights < share[-1]]).tolist()}
        if len(known):
            # The last step may be that of a line above it, too.
            marks.add(len(x) - 2)
        drawn = axes.plot(
            x,
            share,
            drawstyle="steps-post",
            label=group.named,
            markevery=sorted(marks),
            **{**line_style(look), "linewidth": width_pt},
        )
        # The last marker of a line is at 1.
        open_edges(axes, drawn, top=1.05)
    values = [one for group in data.groups for cell in group.values for one in cell]
    if data.is_time and values and not known_of(values):
        middle: Any = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        # Between two lines of the grid.
        axes.text(0.5, 0.625 / 1.02, "no run finished", fontsize=7, color="0.35", **middle)
    if is_log:
        set_log(axes.xaxis, *edges)
    axes.set_xlim(*edges)
    axes.set_ylim(0, 1.02)
