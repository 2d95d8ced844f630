"""Maps of which compared value of a sweep is best at each place of two axes, and of its median.

What is best is decided by the pairs of runs, as in the sentences of reports (`sweep_verdict`).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from midflight.listing import joined
from midflight.plot.common.figure import Dress, check_dress, label_panels, write_figure
from midflight.plot.common.legends import legend
from midflight.plot.common.names import column_name, plural_name, within_text
from midflight.plot.common.style import (
    COLUMN_IN,
    PAGE_IN,
    Size,
    check_format,
    labelled,
    lighter,
    size_in,
    style,
)
from midflight.plot.results.axis import kept_words, shown_value
from midflight.plot.results.choice import chosen_values
from midflight.plot.results.maps import (
    NOTHING,
    between_pt,
    decimals,
    fitting_pt,
    is_dark,
    name_cells,
    number_words,
)
from midflight.plot.results.places import place_title, unit_of
from midflight.plot.results.rows import kept_rows, kept_values
from midflight.plot.results.spread_data import side_by_side
from midflight.plot.results.tables import TableSource, results_of
from midflight.refusal import names_arguments, refusal
from midflight.sweep_verdict import ALL_SAME, OPEN, First, firsts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from midflight.sweep_summary import Summary

__all__ = ["BEST", "best_figure", "best_of", "bests_of", "plot_best"]

#: What is given as the measurement of a heat map for one of what is best.
BEST = "best"
#: The size of a figure, the height of a row of its cells, and what is around these, in inches.
_SIZE_IN, _ROW_IN = (COLUMN_IN * 1.25, 2.9), 0.36
_BESIDE_IN, _AROUND_IN = 0.9, 1.2
#: The most maps beside each other, and what is below each row of several.
_IN_ROW, _BELOW_IN = 3, 0.35
#: How much of its colour a cell has of whose first value is clearly best, or not.
_CLEAR, _PALE = 0.75, 0.25
#: What tells values apart in cells without room for letters, and the mark of several best ones.
_HATCHES = ("", "////", "\\\\\\\\", "....", "----", "||||", "++++", "oo", "**")
_HATCH = "0.25"
_TIE: Mapping[str, Any] = {"marker": "o", "markersize": 2.2, "color": "black", "zorder": 4}
#: Sets of values that are the same that the text above names.
_MOST_TIES = 2
#: Cells in which none is best, and what these say by the reason, or that no run finished.
_NONE = "0.93"
_NO_BEST, _NEVER = {OPEN: "open", ALL_SAME: "same"}, "never"


class Best(NamedTuple):
    """Which compared value of a flow is first at each place of two axes of a sweep, which its
    summary `apart` separates.
    """

    apart: Summary
    x: str
    y: str
    flow: str
    firsts: Sequence[First]

    def values_at(self, one: First) -> tuple[str, str]:
        """The values of both axes of a combination."""
        keys = [key for key in self.apart.asked.axes if key in (self.x, self.y)]
        return one.point[keys.index(self.x)], one.point[keys.index(self.y)]

    @property
    def order(self) -> dict[str, str]:
        """The compared values by their names, in the order of the axis."""
        axes, compared = self.apart.asked.axes, str(self.apart.asked.compare)
        return {shown_value(one): one for one in axes[compared]}

    def is_clear(self, one: First) -> bool:
        """Whether the first value is clearly best: by one pair of runs none is."""
        return one.is_clear and self.apart.has_intervals


def bests_of(summary: Summary, x: str, y: str) -> list[Best]:
    """Return which value is first at each place of two axes, for each flow of which that is known
    anywhere. Other axes are pooled.
    """
    apart = summary.separated([x, y])
    return [
        Best(apart, x, y, flow, firsts)
        for flow, firsts in firsts_of(apart).items()
        if any(one.best for one in firsts)
    ]


class _Cells(NamedTuple):
    """What the cells of maps say, for each map a text for each cell, the size of the letters,
    whether the best values stand there by the letters of the legend, and whether medians do.
    Without room there are no texts.
    """

    texts: Sequence[Sequence[str]]
    letters: float | None = None
    is_by_letter: bool = False
    has_medians: bool = False


class _Plan(NamedTuple):
    """How maps stand in a figure: its size, the maps in a row, the room of one, and its cells."""

    size_in: tuple[float, float]
    in_row: int
    room_pt: tuple[float, float]
    cells: _Cells


def best_figure(
    bests: Sequence[Best], *, title: str | None = None, size: Size | None = None, remark: str = ""
) -> Figure:
    """Return a map for each flow of which value is best at each place, and of its median, with a
    `remark` above them.
    """
    first = bests[0]
    axes_of, order = first.apart.asked.axes, first.order
    at = [[best.values_at(one) for one in best.firsts] for best in bests]
    every = [place for each in at for place in each]
    # Values at which there is nothing to compare have no cells.
    (columns, across, x_unit), (rows, down, y_unit) = [
        side_by_side([one for one in axes_of[key] if one in some], key)
        for key, some in zip((first.x, first.y), zip(*every, strict=True), strict=True)
    ]
    plan = _planned(bests, (len(across), len(down)), size)
    with style():
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch

        figure = Figure(figsize=plan.size_in)
        lines = math.ceil(len(bests) / plan.in_row)
        grid = figure.subplots(lines, plan.in_row, squeeze=False).flatten()
        for axes in grid[len(bests) :]:
            axes.remove()
        panels = list(grid[: len(bests)])
        looks = dict(zip(order, _looks(first, has_hatch=plan.cells.letters is None), strict=True))
        is_full = True
        for number, (axes, best) in enumerate(zip(panels, bests, strict=True)):
            places = [(columns[x], rows[y]) for x, y in at[number]]
            is_full &= len(places) == len(across) * len(down)
            texts = plan.cells.texts[number] if plan.cells.texts else None
            _draw(axes, best, places, texts, (len(across), len(down)), looks, plan)
            name_cells(axes, across, down, plan.room_pt[0])
            if len(bests) > 1:
                axes.set_title(labelled(best.flow), parse_math=False)
        titles = [
            place_title(column_name(key), unit, places)
            for key, unit, places in ((first.x, x_unit, columns), (first.y, y_unit, rows))
        ]
        below = len(panels) - plan.in_row
        sides = [
            (
                axes,
                titles[0] if place >= below else "",
                titles[1] if place % plan.in_row == 0 else "",
            )
            for place, axes in enumerate(panels)
        ]
        for place, axes in enumerate(panels):
            axes.tick_params(labelleft=place % plan.in_row == 0, labelbottom=place >= below)
        label_panels(
            figure,
            sides,
            plan.room_pt,
            "heatmap",
            title=title,
            remark=remark,
            detail=_detail(bests, plan.cells, is_full=is_full),
            x_refused="the cells of a map stand side by side",
        )
        entries = {}
        for name, letter in _letters_of(bests).items():
            shade, hatch = looks[name]
            how: Any = {"facecolor": lighter(shade, _CLEAR), "edgecolor": _HATCH, "linewidth": 0}
            named = f"{letter}: {order[name]}" if plan.cells.is_by_letter else order[name]
            entries[named] = Patch(hatch=hatch, **how)
        legend(figure, entries, loc="outside upper center")
    return figure


def _draw(
    axes: Axes,
    best: Best,
    places: Sequence[tuple[int, int]],
    texts: Sequence[str] | None,
    cells: tuple[int, int],
    looks: Mapping[str, tuple[str, str]],
    plan: _Plan,
) -> None:
    """Draw the cells of one map, with their texts, or without room for these with hatches."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    axes.grid(False)
    white = min(between_pt(room / count) for room, count in zip(plan.room_pt, cells, strict=True))

    def fill(place: tuple[int, int], how: Mapping[str, Any]) -> None:
        axes.add_patch(Rectangle((place[0] - 0.5, place[1] - 0.5), 1, 1, **how))

    for number, (place, one) in enumerate(zip(places, best.firsts, strict=True)):
        colour: tuple[float, ...] = to_rgb(_NONE)
        hatch = ""
        if one.best:
            shade, hatch = looks[one.best[0]]
            colour = lighter(shade, _CLEAR if best.is_clear(one) else _PALE)
        fill(place, {"facecolor": colour, "edgecolor": "white", "linewidth": white})
        if hatch:
            fill(place, {"fill": False, "hatch": hatch, "edgecolor": _HATCH, "linewidth": 0})
        if texts is not None:
            how: Any = {"ha": "center", "va": "center", "fontsize": plan.cells.letters}
            how["color"] = "white" if is_dark(colour) else "black"
            axes.text(*place, texts[number], **how).set_parse_math(False)
        elif len(one.best) > 1:
            axes.plot(*place, **_TIE)
    taken = {*places}
    for place in itertools.product(range(cells[0]), range(cells[1])):
        if place not in taken:
            fill(place, NOTHING)
    axes.set_xlim(-0.5, cells[0] - 0.5)
    axes.set_ylim(-0.5, cells[1] - 0.5)


def _planned(bests: Sequence[Best], cells: tuple[int, int], size: Size | None) -> _Plan:
    """Return how the maps stand in a figure: as many in a row as leave room for what their cells
    say, or else for the most of that.
    """
    high_in = max(_SIZE_IN[1] - _AROUND_IN, _ROW_IN * cells[1])
    plans = []
    for in_row in range(min(_IN_ROW, len(bests)), 0, -1):
        lines = math.ceil(len(bests) / in_row)
        wide_in = _SIZE_IN[0] if in_row == 1 else PAGE_IN
        # Many rows of numbers are higher than the usual map.
        for each_in in dict.fromkeys((high_in, _SIZE_IN[1] - _AROUND_IN)):
            usual = wide_in, lines * (each_in + _BELOW_IN) + _AROUND_IN - _BELOW_IN
            width, high = size_in(size, usual)
            room_pt = (
                72 * (width - _BESIDE_IN) / in_row,
                72 * ((high - _AROUND_IN + _BELOW_IN) / lines - _BELOW_IN),
            )
            for level, found in enumerate(_texts(bests, cells, room_pt)):
                if found.letters is not None or not found.texts:
                    plans.append((level, _Plan((width, high), in_row, room_pt, found)))
                    break
    return min(plans, key=lambda one: one[0])[1]


def _letters_of(bests: Sequence[Best]) -> dict[str, str]:
    """A letter for each value that is best somewhere, which stands for it in small cells."""
    named = {name for best in bests for one in best.firsts for name in one.best}
    names = (name for name in bests[0].order if name in named)
    letters = itertools.chain(ascii_uppercase, map(str, itertools.count(1)))
    return dict(zip(names, letters, strict=False))


def _texts(
    bests: Sequence[Best], cells: tuple[int, int], room_pt: tuple[float, float]
) -> Iterator[_Cells]:
    """Yield what the cells may say, the most first, with the size of the letters, if it fits: the
    best values and the median of the first one; with letters for the names; only these; nothing.
    """
    scale = unit_of(bests[0].apart.metric)[1]
    every = [one for best in bests for one in best.firsts]
    medians = [scale * one.median for one in every if math.isfinite(one.median)]
    digits = decimals(np.array(medians))
    keys = _letters_of(bests)

    def words(best: Best, one: First, is_by_letter: bool, between: str | None) -> str:
        if not one.best:
            return _NO_BEST.get(one.why, _NEVER)
        named = "=".join(keys[n] for n in one.best) if is_by_letter else "\n= ".join(one.best)
        if between is None:
            return named
        text = " of ".join(map(str, one.finished))
        if math.isfinite(one.median):
            text = number_words(scale * one.median, digits, signed=False)
        return f"{named}{between}{text}" if best.is_clear(one) else f"{named}{between}({text})"

    for is_by_letter, between in ((False, "\n"), (True, "\n"), (True, " "), (True, None)):
        texts = [[words(best, one, is_by_letter, between) for one in best.firsts] for best in bests]
        letters = fitting_pt([text for each in texts for text in each], cells, room_pt)
        yield _Cells(texts, letters, is_by_letter, between is not None)
    yield _Cells([])


def _detail(bests: Sequence[Best], cells: _Cells, *, is_full: bool) -> str:
    """What the cells are, and their marks."""
    apart, firsts = bests[0].apart, [one for best in bests for one in best.firsts]
    unit, of = unit_of(apart.metric)[0], column_name(str(apart.asked.compare))
    measured = labelled(column_name(apart.metric))
    flows = list(dict.fromkeys(one.flow for one in apart.grouped))
    if len(bests) > 1:
        measured += " of each flow"
    elif len(flows) > 1:
        measured += f" of {labelled(bests[0].flow)}"
    words = [f"{measured}: best {within_text(labelled(of))} by pairs of runs"]
    is_written = bool(cells.texts)
    if cells.has_medians:
        words[0] += f", and its median ({unit})" if unit else ", and its median"
    if pooled := _pooled(apart):
        words.append(f"each cell: {pooled}")
    pale = "pale, in brackets" if cells.has_medians else "pale"
    if not apart.has_intervals:
        words.append(f"{pale}: a single case decides nothing")
    elif any(one.best and not one.is_clear for one in firsts):
        words.append(f"{pale}: not clearly apart from others")
    ties = list(dict.fromkeys(one.best for one in firsts if len(one.best) > 1))
    if ties and (cells.is_by_letter or not is_written):
        # Names in the cells say it themselves.
        order, keys = bests[0].order, _letters_of(bests)
        for tie in ties[:_MOST_TIES]:
            mark = "=".join(keys[name] for name in tie) if is_written else "dot"
            words.append(f"{mark}: {joined([order[name] for name in tie])} are the same")
    if cells.has_medians:
        lost = [one for one in firsts if one.best and not math.isfinite(one.median)]
        if lost:
            few = " of ".join(map(str, lost[0].finished))
            words.append(f"{few}: so many runs finished, too few for a median")
    if not is_full:
        words.append("hatched grey: nothing to compare")
    whys = {_NO_BEST.get(one.why, _NEVER): one.why for one in firsts if not one.best}
    words += [f"{name if is_written else 'grey'}: {why}" for name, why in whys.items()]
    return "; ".join(words)


def _pooled(apart: Summary) -> str:
    """The values of axes and the runs that each cell takes together."""
    axes = {key: len(values) for key, values in apart.asked.axes.items() if len(values) > 1}
    named = [
        f"{count} {labelled(plural_name(key))}"
        for key, count in axes.items()
        if key not in (*apart.by, apart.asked.compare)
    ]
    runs = json.loads(apart.asked.scenario)["runs"]
    return joined([*named, *([f"{runs} runs"] if runs > 1 else [])])


def best_rows(bests: Sequence[Best]) -> list[list[object]]:
    """Return the cells of maps as a head and rows: the flow and the place, the best values, those
    that are not clearly apart from them, their median in the unit of the metric, and the runs that
    finished.
    """
    head = ["flow", bests[0].x, bests[0].y, "best", "near", "median", "finished", "runs"]
    rows: list[list[object]] = [[*head]]
    for best in bests:
        # A table has the values themselves.
        names = best.order
        for one in best.firsts:
            is_known = bool(one.best) and math.isfinite(one.median)
            median = one.median if is_known else ""
            done = one.finished if one.best else ("", "")
            values, near = (
                "; ".join(names[name] for name in some) for some in (one.best, one.near)
            )
            rows.append([best.flow, *best.values_at(one), values, near, median, *done])
    return rows


def _looks(best: Best, *, has_hatch: bool) -> list[tuple[str, str]]:
    """The colours that the values have in other figures, and their hatches, if they have some."""
    from midflight.plot.common.line_looks import line_looks

    key = str(best.apart.asked.compare)
    looks = line_looks([key], [[one] for one in best.apart.asked.axes[key]], [*best.order])
    hatches = _HATCHES if has_hatch else ("",)
    return [
        (str(look.colour), hatches[place % len(hatches)]) for place, (look, _) in enumerate(looks)
    ]


@names_arguments
def plot_best(
    source: TableSource,
    path: str | Path,
    *,
    x: str | None = None,
    y: str | None = None,
    metric: str | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    without: Mapping[str, str | Sequence[str]] | None = None,
    title: str | None = None,
    size: Size | None = None,
    **dress: Unpack[Dress],
) -> Path:
    """Draw which compared value of a sweep is best at each place of two axes; return the file.

    The axes are by default those of the maps in reports, and `metric` that of the sweep. `where`
    keeps some values of axes, `without` all but some (`plot_axis`), and `where` with `flow` some of
    several flows, each of which has a map, up to twelve. A map has a colour for each value that is
    best somewhere, and in each cell its name, or a letter for it, and its median. Raises
    `MidflightError` for a sweep without a comparison or two other axes, and for a metric of which
    neither more nor less is better, `TypeError` for a table.
    """
    check_dress(plot_best, dress)
    check_format(path)
    where = chosen_values(_folder_of(source), where, without)
    rows: list[list[object]] = []

    def draw() -> Figure:
        figure, cells, _ = best_of(source, x, y, metric, where, title=title, size=size)
        rows.extend(cells)
        return figure

    # The rows are there when the figure is drawn.
    return write_figure(path, draw, rows, dress)


def _folder_of(source: TableSource) -> Path:
    """The folder of results of a sweep; a table does not have what the sweep compares."""
    found = results_of(source)
    if not isinstance(found, str | Path):
        raise TypeError(
            f"source: {type(source).__name__} is a table; a map of what is best needs the folder "
            "of a sweep, or the Sweep or SweepOutcome with results"
        )
    return Path(found)


def best_of(
    source: TableSource,
    x: str | None,
    y: str | None,
    metric: str | None,
    where: Mapping[str, str | Sequence[str]] | None,
    **look: Any,
) -> tuple[Figure, list[list[object]], tuple[str, str]]:
    """Return the map of what is best, with the `look` of `best_figure`, its cells as rows, and its
    sides, by the arguments of `plot_best`.
    """
    from midflight.plot.common.plain import usual_of_folder
    from midflight.plot.usual import MOST_MAPS, settled_sides
    from midflight.sweep import Sweep
    from midflight.sweep_folder import check_metric
    from midflight.sweep_results import check_has_tables
    from midflight.sweep_summary import Summary, check_by, check_has_measure
    from midflight.sweep_words import direction_of

    folder = _folder_of(source)
    accepted = "a sweep that compares an axis, with two others, by a metric that is better one way"
    refused = refusal(
        f'"{folder}" has no map of what is best; expected {accepted}',
        name="source",
        value=folder,
        accepted=accepted,
    )
    if not (folder / "sweep.json").is_file():
        raise refused
    check_has_tables(folder)
    asked = Sweep.read(folder)
    check_metric(metric, None)
    check_has_measure(metric, asked)
    check_by([one for one in (x, y) if one is not None], asked)
    made = Summary.of(asked, folder, metric)
    by = made.by
    flows = list(dict.fromkeys(one.flow for one in made.grouped))
    kept = _kept({**asked.axes, "flow": flows}, where)
    flows = kept.pop("flow", flows)
    if kept:
        made = made.kept(kept)
    axes = made.asked.axes
    free = [key for key in settled_sides(axes, asked.compare, by) if key not in (x, y)]
    # The sides that are not given, in this order.
    left = iter(free[: (x is None) + (y is None)])
    x = x or next(left, "")
    y = y or next(left, "")
    has_sides = "" not in (x, y) and len({x, y, asked.compare}) == 3
    if not (asked.compare and has_sides and direction_of(made.metric).sign):
        raise refused
    with usual_of_folder(folder, made.which_handoff):
        bests = [one for one in bests_of(made, x, y) if one.flow in flows]
        if not bests:
            raise refused
        if len(bests) > MOST_MAPS:
            accepted = f"up to {MOST_MAPS} of {', '.join(flows)}"
            raise refusal(
                f"{len(bests)} maps, one of each flow, have no room beside each other; keep up to "
                f"{MOST_MAPS} with --where flow=NAME,NAME",
                name="--where",
                value=flows,
                accepted=accepted,
            )
        known = {one.flow for one in bests}
        open_ones = [one for one in flows if one not in known]
        none = f"nothing is best for {joined(open_ones)}" if open_ones else ""
        figure = best_figure(bests, remark=kept_words({}, {x, y}, kept, none), **look)
        return figure, best_rows(bests), (x, y)


def _kept(
    axes: Mapping[str, Sequence[str]], where: Mapping[str, str | Sequence[str]] | None
) -> dict[str, list[str]]:
    """Return the kept values of axes, and the flow; raises `MidflightError` for others."""
    kept = kept_values(axes, where)
    for key, values in kept.items():
        if key not in axes:
            accepted = f"axes of the sweep, {', '.join(axes)}"
            raise refusal(
                f'--where "{key}": a map of what is best is of {accepted}',
                name="--where",
                value=key,
                accepted=accepted,
            )
        kept_rows({key: list(axes[key])}, len(axes[key]), {key: values})
    return kept
