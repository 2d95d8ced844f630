"""Panels beside each other for lines that are too many for one, with the same axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from midflight.plot.common.figure import label_panels
from midflight.plot.common.legends import legend
from midflight.plot.common.options import check_is_seen
from midflight.plot.common.place_scale import PlaceScale
from midflight.plot.common.style import PAGE_IN, Size, chosen_axes, size_in, style
from midflight.plot.results.alike import alike
from midflight.plot.results.scales import log_title
from midflight.plot.results.shares import panel_name
from midflight.plot.results.spread_data import Group, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["panels_figure", "panels_of_changes"]

#: Changes of more lines than this have panels: with their intervals they would be a wall of lines.
_MOST_CHANGES = 5
#: The least width of a panel, and the most in a row.
_PANEL_IN, _MOST_IN_ROW = 1.4, 3
#: The height of a row of panels by the kind, and the room for the legend and the texts, in inches.
_ROWS_IN, _AROUND_IN = {"cdf": 1.5, "interval": 1.8}, 0.8
#: More room at the ends of an axis of places, as a share of it.
_MARGIN = 0.04
#: What is beside and below the panels of a figure that has one, in inches.
_BESIDE_IN, _BELOW_IN = 0.6, 0.9

#: Draws the lines of the panel of a number, which has as much room as a figure of that size has.
_Draw: TypeAlias = "Callable[[Axes, int, tuple[float, float]], None]"


def panels_of_changes(data: Spread, values: Sequence[str], lines_title: str) -> Spread:
    """Return a figure of changes with a panel for each of these values of the last column that
    tells its lines apart, if they are many; `lines_title` is what the others are.
    """
    if len(data.by) < 2 or len(data.groups) <= _MOST_CHANGES:
        return data
    labels = {one.label for one in data.groups}
    panels = []
    for value in values:
        groups = [_within(one, labels) for one in data.groups if one.key[-1] == value]
        same = alike((one.label, repr((one.x, one.values, one.ends))) for one in groups)
        for one in groups:
            one.same = one.same or same.get(one.label, "")
        title = panel_name(data.by[-1], value)
        panels.append(replace(data, groups=groups, by=data.by[:-1], name=title))
    found: dict[str, set[str]] = {}
    every = [group for one in panels for group in one.groups]
    for group in every:
        found.setdefault(group.label, set()).add(group.same)
    for group in every:
        # What is the same in one panel may differ in others.
        group.same = group.same if len(found[group.label]) == 1 else ""
    by, name = data.by[:-1], data.by[-1]
    more: Any = {"panels": panels, "panels_by": name, "by": by, "lines_title": lines_title}
    return replace(data, groups=(), **more)


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
    finish: Callable[[], None],
    seen: tuple[Sequence[float], Sequence[float]],
    scale: PlaceScale,
    *,
    title: str | None = None,
    size: Size | None = None,
    has_own: bool = False,
) -> Figure:
    """Return the figure of panels, which have the same axes, or each `has_own` horizontal one of
    this scale. `draw` draws one, `finish` what needs the ends of the axes of all; `seen` are the
    places of what is drawn, across and up.
    """
    count, row_in = len(data.panels), _ROWS_IN[data.kind]
    width = size_in(size, (PAGE_IN, row_in))[0]
    most = max(1, int((width - 0.5) / _PANEL_IN))
    rows = math.ceil(count / min(_MOST_IN_ROW, most))
    in_row = math.ceil(count / rows)
    width, height = size_in(size, (PAGE_IN, row_in * rows + _AROUND_IN))
    across, up = (width - _BESIDE_IN) / in_row, (height - _AROUND_IN) / rows
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        shared: Any = {"sharex": not has_own, "sharey": True}
        grid = figure.subplots(rows, in_row, squeeze=False, **shared).flatten()
        for axes in grid[count:]:
            axes.remove()
        entries: dict[str, Any] = {}
        limits: list[tuple[float, float]] = []
        for place, (axes, one) in enumerate(zip(grid, data.panels, strict=False)):
            draw(axes, place, (across + _BESIDE_IN, up + _BELOW_IN))
            axes.set_title(one.name, fontsize=7.5, parse_math=False)
            # Each column ends with a panel that has numbers.
            is_last = has_own or place + in_row >= count
            axes.tick_params(labelbottom=is_last, labelleft=place % in_row == 0)
            handles, labels = axes.get_legend_handles_labels()
            entries |= dict(zip(labels, handles, strict=True))
            limits.append(axes.get_xlim())
        if data.kind != "cdf" and data.categories is None:
            grid[0].set_xlim(_around(limits, scale))
        finish()
        x_title = log_title(data.x_title) if scale.is_log else data.x_title
        label_panels(
            figure,
            [
                (
                    axes,
                    x_title if place + in_row >= count else "",
                    data.y_title if place % in_row == 0 else "",
                )
                for place, axes in enumerate(grid[:count])
            ],
            (across * 72, up * 72),
            data.kind,
            title=title,
            remark=data.remark,
            detail=data.detail,
            x_refused="the axis has names" if data.categories is not None else "",
        )
        if (choice := chosen_axes()) is not None:
            unit = data.measure[1]
            is_cdf = data.kind == "cdf"
            check_is_seen("--xlim", choice.xlim, seen[0], unit if is_cdf else data.axes[0][1])
            for ends in () if is_cdf else choice.ylim.values():
                check_is_seen("--ylim", ends, seen[1], unit)
        legend(figure, entries, loc="outside upper center", title=data.lines_title)
    return figure
