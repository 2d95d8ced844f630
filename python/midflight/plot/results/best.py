"""Maps of which compared value of a sweep is best at each place of two axes, and of its median.

What is best is decided by the pairs of runs, as in the sentences of reports (`sweep_verdict`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from midflight.plot.common.figure import Dress, check_dress, label_axes, write_figure
from midflight.plot.common.legends import legend
from midflight.plot.common.names import column_name, within_text
from midflight.plot.common.style import (
    COLUMN_IN,
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
from midflight.sweep_verdict import ALL_SAME, OPEN, First, firsts_of, pooled_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from midflight.sweep_summary import Summary

__all__ = ["BEST", "best_figure", "best_of", "bests_of", "plot_best"]

#: What is given as the measurement of a heat map for one of what is best.
BEST = "best"
#: The size of a figure, the height of a row of its cells, and what is around these, in inches.
_SIZE_IN, _ROW_IN = (COLUMN_IN * 1.25, 2.9), 0.36
_BESIDE_IN, _AROUND_IN = 0.9, 1.2
#: How much of its colour a cell has of whose first value is clearly best, or not.
_CLEAR, _PALE = 0.75, 0.25
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


def best_figure(
    best: Best, *, title: str | None = None, size: Size | None = None, remark: str = ""
) -> Figure:
    """Return a map of which value is best at each place, and of its median, with a `remark` above
    it.
    """
    axes_of, firsts, order = best.apart.asked.axes, best.firsts, best.order
    at = [best.values_at(one) for one in firsts]
    # Values at which there is nothing to compare have no cells.
    (columns, across, x_unit), (rows, down, y_unit) = [
        side_by_side([one for one in axes_of[key] if one in some], key)
        for key, some in zip((best.x, best.y), zip(*at, strict=True), strict=True)
    ]
    places = [(columns[x], rows[y]) for x, y in at]
    names = [name for name in order if any(name == one.best[0] for one in firsts if one.best)]
    with style():
        from matplotlib.colors import to_rgb
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch, Rectangle

        cells = len(across), len(down)
        # Many rows of numbers are higher than the usual map.
        usual = max(_SIZE_IN[1], _AROUND_IN + _ROW_IN * len(down))
        for high_in in (usual, _SIZE_IN[1]):
            width, high = size_in(size, (_SIZE_IN[0], high_in))
            room_pt = (width - _BESIDE_IN) * 72, (high - _AROUND_IN) * 72
            texts, letters, is_named = _texts(best, cells, room_pt)
            if letters is not None:
                break
        figure = Figure(figsize=(width, high))
        panel = figure.subplots()
        panel.grid(False)
        colours = dict(zip(order, _colours(best), strict=True))
        white = min(between_pt(room / count) for room, count in zip(room_pt, cells, strict=True))

        def fill(place: tuple[int, int], how: Mapping[str, Any]) -> None:
            panel.add_patch(Rectangle((place[0] - 0.5, place[1] - 0.5), 1, 1, **how))

        for place, one, text in zip(places, firsts, texts, strict=True):
            colour: tuple[float, ...] = to_rgb(_NONE)
            if one.best:
                colour = lighter(colours[one.best[0]], _CLEAR if best.is_clear(one) else _PALE)
            fill(place, {"facecolor": colour, "edgecolor": "white", "linewidth": white})
            if letters is not None:
                how: Any = {"ha": "center", "va": "center", "fontsize": letters}
                how["color"] = "white" if is_dark(colour) else "black"
                written = panel.text(*place, text, **how)
                written.set_parse_math(False)
        taken = {*places}
        for place in product(range(len(across)), range(len(down))):
            if place not in taken:
                fill(place, NOTHING)
        panel.set_xlim(-0.5, len(across) - 0.5)
        panel.set_ylim(-0.5, len(down) - 0.5)
        name_cells(panel, across, down, room_pt[0])
        label_axes(
            figure,
            panel,
            place_title(column_name(best.x), x_unit, columns),
            place_title(column_name(best.y), y_unit, rows),
            "",
            title=title,
            remark=remark,
            detail=_detail(
                best,
                is_written=letters is not None,
                is_named=is_named,
                is_full=len(places) == math.prod(cells),
            ),
            x_refused="the cells of a map stand side by side",
        )
        shades: Any = {name: lighter(colours[name], _CLEAR) for name in names}
        entries = {order[name]: Patch(facecolor=shade) for name, shade in shades.items()}
        legend(figure, entries, loc="outside upper center")
    return figure


def _texts(
    best: Best, cells: tuple[int, int], room_pt: tuple[float, float]
) -> tuple[list[str], float | None, bool]:
    """What the cells say, the size of the letters, and whether names are among them: the best value
    and its median, or where there is less room the median only; None without room for that.
    """
    scale = unit_of(best.apart.metric)[1]
    medians = [scale * one.median for one in best.firsts if math.isfinite(one.median)]
    digits = decimals(np.array(medians))
    short, long = [], []
    for one in best.firsts:
        if not one.best:
            short.append(_NO_BEST.get(one.why, _NEVER))
            long.append(short[-1])
            continue
        text = " of ".join(map(str, one.finished))
        if math.isfinite(one.median):
            text = number_words(scale * one.median, digits, signed=False)
        around = "{}" if best.is_clear(one) else "({})"
        name, *same = one.best
        equal = f"\n= {same[0] if len(same) == 1 else f'{len(same)} others'}" if same else ""
        short.append(around.format(text + "*" * bool(same)))
        long.append(f"{name}{equal}\n{around.format(text)}")
    for texts in (long, short):
        if (letters := fitting_pt(texts, cells, room_pt)) is not None:
            return texts, letters, texts is long
    return short, None, False


def _detail(best: Best, *, is_written: bool, is_named: bool, is_full: bool) -> str:
    """What the cells are, and their marks."""
    apart, firsts = best.apart, best.firsts
    unit, of = unit_of(apart.metric)[0], column_name(str(apart.asked.compare))
    measured = labelled(column_name(apart.metric))
    words = [f"{measured}: best {within_text(labelled(of))} by pairs of runs"]
    if is_written:
        words[0] += f", and its median ({unit})" if unit else ", and its median"
    words[0] += pooled_words(apart)
    pale = "pale, in brackets" if is_written else "pale"
    if not apart.has_intervals:
        words.append(f"{pale}: a single case decides nothing")
    elif any(one.best and not one.is_clear for one in firsts):
        words.append(f"{pale}: not clearly apart from others")
    if is_written:
        if any(len(one.best) > 1 for one in firsts) and not is_named:
            words.append("*: others are the same")
        lost = [one for one in firsts if one.best and not math.isfinite(one.median)]
        if lost:
            few = " of ".join(map(str, lost[0].finished))
            words.append(f"{few}: so many runs finished, too few for a median")
    if not is_full:
        words.append("hatched: nothing to compare")
    whys = {_NO_BEST.get(one.why, _NEVER): one.why for one in firsts if not one.best}
    words += [f"{name if is_written else 'grey'}: {why}" for name, why in whys.items()]
    return "; ".join(words)


def best_rows(best: Best) -> list[list[object]]:
    """Return the cells of the map as a head and rows: the place, the best values, those that are
    not clearly apart from them, their median in the unit of the metric, and the runs that finished.
    """
    # A table has the values themselves.
    names = best.order
    rows: list[list[object]] = [[best.x, best.y, "best", "near", "median", "finished", "runs"]]
    for one in best.firsts:
        is_known = bool(one.best) and math.isfinite(one.median)
        median = one.median if is_known else ""
        done = one.finished if one.best else ("", "")
        values, near = ("; ".join(names[name] for name in some) for some in (one.best, one.near))
        rows.append([*best.values_at(one), values, near, median, *done])
    return rows


def _colours(best: Best) -> list[str]:
    """The colours that the values have in other figures."""
    from midflight.plot.common.line_looks import line_looks

    key = str(best.apart.asked.compare)
    looks = line_looks([key], [[one] for one in best.apart.asked.axes[key]], [*best.order])
    return [str(look.colour) for look, _ in looks]


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
    keeps some values of axes, `without` all but some (`plot_axis`), and `where` with `flow` one of
    several flows, by default the first. The map has a colour for each value that is best somewhere,
    and its median in each cell. Raises `MidflightError` for a sweep without a comparison or two
    other axes, and for a metric of which neither more nor less is better, `TypeError` for a table.
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
    from midflight.plot.usual import settled_sides
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
    flow = kept.pop("flow", flows[:1])[0] if flows else ""
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
        best = next((one for one in bests_of(made, x, y) if one.flow == flow), None)
        if best is None:
            raise refused
        figure = best_figure(best, remark=kept_words({}, {x, y}, kept), **look)
        return figure, best_rows(best), (x, y)


def _kept(
    axes: Mapping[str, Sequence[str]], where: Mapping[str, str | Sequence[str]] | None
) -> dict[str, list[str]]:
    """Return the kept values of axes, and the flow; raises `MidflightError` for others."""
    kept = kept_values(axes, where)
    for key, values in kept.items():
        if key not in axes or (key == "flow" and len(values) > 1):
            accepted = f"axes of the sweep, {', '.join(axes)}, with one flow"
            raise refusal(
                f'--where "{key}": a map of what is best is of {accepted}',
                name="--where",
                value=key,
                accepted=accepted,
            )
        kept_rows({key: list(axes[key])}, len(axes[key]), {key: values})
    return kept
