"""Panels beside each other for lines that are too many for one, with the same axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from midflight.plot.common.place_scale import PlaceScale
from midflight.plot.common.style import Size, style
from midflight.plot.results.alike import alike
from midflight.plot.results.axis import panel_name
from midflight.plot.results.median_panels import are_panels
from midflight.plot.results.panel_grid import Grid
from midflight.plot.results.scales import log_title
from midflight.plot.results.spread_data import Group, Spread, same_in_all, units_of
from midflight.plot.usual import MOST_CHANGES, MOST_LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["in_rows", "is_in_rows", "panels_figure", "panels_over"]

#: More room at the ends of an axis of places, as a share of it.
_MARGIN = 0.04

#: What a line of boxes has at each place, beside the place itself.
_AT_PLACES = ("names", "values", "missing", "is_short")

#: Draws the lines of the panel of a number, which has as much room as a figure of that size has.
_Draw: TypeAlias = "Callable[[Axes, int, tuple[float, float]], None]"


def panels_over(data: Spread, values: Sequence[str], lines_title: str) -> Spread:
    """Return a figure over an axis with a panel for each of these values of the last column that
    tells its lines apart, if they are many; `lines_title` is what the others are.
    """
    are_changes = any(one.ends for one in data.groups)
    most = MOST_CHANGES if are_changes else MOST_LINES
    if not are_panels([tuple(one.key) for one in data.groups], most):
        return data
    labels = {one.label for one in data.groups}
    panels = []
    for value in values:
        groups = [_within(one, labels) for one in data.groups if one.key[-1] == value]
        same = alike((one.label, repr((one.x, one.values, one.ends))) for one in groups)
        for one in groups:
            one.same = one.same or same.get(one.label, "")
        title = panel_name(data.by[-1], value)
        panel = replace(data, groups=groups, by=data.by[:-1], name=title, of=[value])
        panels.append(panel)
    same_in_all([group for one in panels for group in one.groups])
    by, names = data.by[:-1], data.by[-1:]
    more: Any = {"panels": panels, "panels_by": names, "by": by, "lines_title": lines_title}
    return replace(data, groups=(), **more)


def in_rows(data: Spread, rows: int) -> Spread:
    """Return a figure of boxes whose places stand in so many rows, each with as many of them."""
    names = list(data.categories or ())
    in_row = math.ceil(len(names) / rows)
    panels = []
    for first in range(0, len(names), in_row):
        some = names[first : first + in_row]
        groups = []
        for group in data.groups:
            chosen = [n for n, x in enumerate(group.x) if first <= x < first + in_row]
            own: Any = {name: [getattr(group, name)[n] for n in chosen] for name in _AT_PLACES}
            groups.append(replace(group, **own, x=[group.x[n] - first for n in chosen]))
        # A row that is not full has boxes as wide as those of the others.
        rest = [""] * (in_row - len(some))
        panels.append(replace(data, groups=groups, categories=[*some, *rest]))
    return replace(data, panels=panels)


def is_in_rows(data: Spread) -> bool:
    """Whether the panels are rows of one (`in_rows`)."""
    return bool(data.panels) and not data.panels_by


def _within(group: Group, labels: set[str]) -> Group:
    """A line as a panel has it; what it is the same as only if that is no other line."""
    same = "" if group.same in labels else group.same
    return replace(group, label=", ".join(group.key[:-1]), key=group.key[:-1], same=same)


def _around(limits: Sequence[tuple[float, float]], scale: PlaceScale) -> tuple[float, float]:
    """The ends of the axis of places of all panels, with room for marks, which are as large as in
    wider figures.
    """
    low, high = min(one for one, _ in limits), max(one for _, one in limits)
    if scale.has_zero:
        return low, high
    room = _MARGIN * float(np.ptp(scale.along([low, high])))
    # What begins at 0 still does.
    return float(scale.moved(low, -room if low else 0.0)), float(scale.moved(high, room))


def panels_figure(
    data: Spread,
    draw: _Draw,
    finish: Callable[[], str],
    seen: tuple[Sequence[float], Sequence[float]],
    scale: PlaceScale,
    *,
    log_y: bool = False,
    entries: Mapping[str, Any] | None = None,
    title: str | None = None,
    size: Size | None = None,
    own_x: bool = False,
    own_y: bool = False,
) -> Figure:
    """Return the figure of panels, which have the same axes, or each its `own` one across, of this
    scale, or up. `draw` draws one, `finish` what needs the ends of the axes of all, and returns
    what is said of it; `seen` are the places of what is drawn, across and up, `entries` those of
    the legend that are no lines.
    """
    # Each row has the values of the last column, if several have panels.
    in_row = len({one.of[-1] for one in data.panels}) if len(data.panels_by) > 1 else 0
    if is_in_rows(data):
        in_row, own_x = 1, True
    with style():
        how: Any = {"in_row": in_row, "own_x": own_x, "own_y": own_y}
        how["lines"] = max(len(one.groups) for one in data.panels)
        grid = Grid.of(data.kind, len(data.panels), size, **how)
        limits: list[tuple[float, float]] = []
        for place, (axes, one) in enumerate(zip(grid.panels, data.panels, strict=True)):
            draw(axes, place, grid.panel_in)
            axes.set_title(one.name, fontsize=7.5, parse_math=False)
            limits.append(axes.get_xlim())
        if data.kind != "cdf" and data.categories is None:
            grid.panels[0].set_xlim(_around(limits, scale))
        more = finish()
        grid.finish(
            log_title(data.x_title) if scale.is_log else data.x_title,
            log_title(data.y_title) if log_y else data.y_title,
            data.lines_title,
            title=title,
            remark=data.remark,
            detail="; ".join(filter(None, (data.detail, more))),
            x_refused="the axis has names" if data.categories is not None else "",
            seen=seen,
            units=units_of(data),
            entries=entries,
        )
    return grid.figure
