"""Maps of which compared value of a sweep is best at each place of two axes, and of its median.

What is best is decided by the pairs of runs, as in the sentences of reports (`sweep_verdict`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from midflight.plot.common.figure import Dress, check_dress, label_axes, write_figure
from midflight.plot.common.legends import legend
from midflight.plot.common.names import column_name, within_text
from midflight.plot.common.style import (
    COLUMN_IN,
    Size,
    check_format,
    labelled,
    size_in,
    style,
)
from midflight.plot.results.axis import kept_words, place_title, shown_value, unit_of
from midflight.plot.results.maps import (
    NOTHING,
    between_pt,
    decimals,
    fitting_pt,
    is_dark,
    name_cells,
    number_words,
)
from midflight.plot.results.rows import kept_rows, kept_values
from midflight.plot.results.spread_data import side_by_side
from midflight.plot.results.tables import TableSource, results_of
from midflight.refusal import names_arguments, refusal
from midflight.sweep_verdict import First, firsts_of, pooled_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from midflight.sweep_summary import Summary

__all__ = ["BEST", "best_figure", "best_of", "plot_best"]

#: What is given as the measurement of a heat map for one of what is best.
BEST = "best"
#: The size of a figure, the height of a row of its cells, and what is around these, in inches.
_SIZE_IN, _ROW_IN = (COLUMN_IN * 1.25, 2.9), 0.36
_BESIDE_IN, _AROUND_IN = 0.9, 1.2
#: How much of its colour a cell has of whose first value is clearly best, or not.
_CLEAR, _PALE = 0.75, 0.25
#: Cells in which none is best.
_NONE = "0.93"


def best_figure(
    summary: Summary,
    x: str,
    y: str,
    *,
    flow: str | None = None,
    title: str | None = None,
    size: Size | None = None,
    remark: str = "",
) -> Figure | None:
    """Return a map of which compared value is best at each place of two axes of a sweep, and of its
    median, with a `remark` above it; None if that is nowhere known. Other axes are pooled.
    """
    apart = summary.separated([x, y])
    firsts = _firsts(apart, flow)
    if not any(one.best for one in firsts):
        return None
    # The places of the axes in the points of combinations.
    axes_of = summary.asked.axes
    keys = [key for key in axes_of if key in (x, y)]
    at = [keys.index(x), keys.index(y)]
    # Values at which there is nothing to compare have no cells.
    compared = [{one.point[place] for one in firsts} for place in at]
    (columns, across, _), (rows, down, _) = sides = [
        side_by_side([one for one in axes_of[key] if one in some], key)
        for key, some in zip((x, y), compared, strict=True)
    ]
    places = [(columns[one.point[at[0]]], rows[one.point[at[1]]]) for one in firsts]
    order = {shown_value(one): one for one in axes_of[str(summary.asked.compare)]}
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
            texts, letters, is_named = _texts(apart, firsts, cells, room_pt)
            if letters is not None:
                break
        figure = Figure(figsize=(width, high))
        panel = figure.subplots()
        panel.grid(False)
        colours = dict(zip(order, _colours(summary, [*order]), strict=True))
        white = min(between_pt(room / count) for room, count in zip(room_pt, cells, strict=True))

        def fill(place: tuple[int, int], how: Mapping[str, Any]) -> None:
            panel.add_patch(Rectangle((place[0] - 0.5, place[1] - 0.5), 1, 1, **how))

        for place, one, text in zip(places, firsts, texts, strict=True):
            colour = to_rgb(_NONE)
            if one.best:
                share = _CLEAR if _is_clear(apart, one) else _PALE
                colour = _lighter(to_rgb(colours[one.best[0]]), share)
            fill(place, {"facecolor": colour, "edgecolor": "white", "linewidth": white})
            if letters is not None:
                how: Any = {"ha": "center", "va": "center", "fontsize": letters}
                how["color"] = "white" if is_dark(colour) else "black"
                written = panel.text(*place, text, **how)
                written.set_parse_math(False)
        for place in product(range(len(across)), range(len(down))):
            if place not in places:
                fill(place, NOTHING)
        panel.set_xlim(-0.5, len(across) - 0.5)
        panel.set_ylim(-0.5, len(down) - 0.5)
        name_cells(panel, across, down, room_pt[0])
        label_axes(
            figure,
            panel,
            place_title(column_name(x), sides[0][2], columns),
            place_title(column_name(y), sides[1][2], rows),
            "",
            title=title,
            remark=remark,
            detail=_detail(
                apart,
                firsts,
                is_written=letters is not None,
                is_named=is_named,
                is_full=len(places) == math.prod(cells),
            ),
            x_refused="the cells of a map stand side by side",
        )
        shades = {name: _lighter(to_rgb(colours[name]), _CLEAR) for name in names}
        entries = {order[name]: Patch(facecolor=shade) for name, shade in shades.items()}
        legend(figure, entries, loc="outside upper center")
    return figure


def _lighter(colour: tuple[float, float, float], share: float) -> tuple[float, float, float]:
    """A mixture of white and so much of a colour."""
    red, green, blue = (1 - share * (1 - one) for one in colour)
    return red, green, blue


def _firsts(apart: Summary, flow: str | None) -> list[First]:
    """Which values are first in the combinations of a flow, by default of the first one."""
    found = firsts_of(apart)
    return found.get(next(iter(found), "") if flow is None else flow, [])


def _is_clear(apart: Summary, one: First) -> bool:
    """Whether the first value is clearly best: by one pair of runs none is."""
    return one.is_clear and apart.has_intervals


def _why(one: First) -> str:
    """Why there is no best value, as a cell says it."""
    return "open" if "open" in one.why else ("never" if "no run" in one.why else "same")


def _texts(
    apart: Summary, firsts: Sequence[First], cells: tuple[int, int], room_pt: tuple[float, float]
) -> tuple[list[str], float | None, bool]:
    """What the cells say, the size of the letters, and whether names are among them: the best value
    and its median, or where there is less room the median only; None without room for that.
    """
    scale = unit_of(apart.metric)[1]
    medians = [scale * one.median for one in firsts if math.isfinite(one.median)]
    digits = decimals(np.array(medians))
    short, long = [], []
    for one in firsts:
        if not one.best:
            short.append(_why(one))
            long.append(short[-1])
            continue
        text = " of ".join(map(str, one.finished))
        if math.isfinite(one.median):
            text = number_words(scale * one.median, digits, signed=False)
        name, *same = one.best
        equal = f"\n= {same[0] if len(same) == 1 else f'{len(same)} others'}" if same else ""
        for texts, named in ((short, "*" * bool(same)), (long, "")):
            cell = f"{text}{named}"
            texts.append(cell if _is_clear(apart, one) else f"({cell})")
        long[-1] = f"{name}{equal}\n{long[-1]}"
    for texts in (long, short):
        if (letters := fitting_pt(texts, cells, room_pt)) is not None:
            return texts, letters, texts is long
    return short, None, False


def _detail(
    apart: Summary, firsts: Sequence[First], *, is_written: bool, is_named: bool, is_full: bool
) -> str:
    """What the cells are, and their marks."""
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
    whys = {_why(one): one.why for one in firsts if not one.best}
    words += [f"{name if is_written else 'grey'}: {why}" for name, why in whys.items()]
    return "; ".join(words)


def best_rows(summary: Summary, x: str, y: str, *, flow: str | None = None) -> list[list[object]]:
    """Return the cells of the map as a head and rows: the place, the best values, those that are
    not clearly apart from them, their median in the unit of the metric, and the runs that finished.
    """
    others = [key for key in summary.asked.axes if key in (x, y)]
    # A table has the values themselves.
    names = {shown_value(one): one for one in summary.asked.axes[str(summary.asked.compare)]}
    rows: list[list[object]] = [[x, y, "best", "near", "median", "finished", "runs"]]
    for one in _firsts(summary.separated([x, y]), flow):
        place = (one.point[others.index(x)], one.point[others.index(y)])
        is_known = bool(one.best) and math.isfinite(one.median)
        median = one.median if is_known else ""
        done = one.finished if one.best else ("", "")
        best, near = ("; ".join(names[name] for name in some) for some in (one.best, one.near))
        rows.append([*place, best, near, median, *done])
    return rows


def _colours(summary: Summary, names: list[str]) -> list[str]:
    """The colours that the values have in other figures."""
    from midflight.plot.common.line_looks import line_looks

    key = str(summary.asked.compare)
    looks = line_looks([key], [[one] for one in summary.asked.axes[key]], names)
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
    title: str | None = None,
    size: Size | None = None,
    **dress: Unpack[Dress],
) -> Path:
    """Draw which compared value of a sweep is best at each place of two axes; return the file.

    The axes are by default those of the maps in reports, and `metric` that of the sweep. `where`
    keeps some values of axes, and with `flow` one of several flows, by default the first. The map
    has a colour for each value that is best somewhere, and its median in each cell. Raises
    `MidflightError` for a sweep without a comparison or two other axes, and for a metric of which
    neither more nor less is better.
    """
    check_dress(plot_best, dress)
    check_format(path)
    rows: list[list[object]] = []

    def draw() -> Figure:
        how: Any = {"metric": metric, "where": where, "title": title, "size": size}
        figure, cells, _ = best_of(source, x, y, **how)
        rows.extend(cells)
        return figure

    # The rows are there when the figure is drawn.
    return write_figure(path, draw, rows, dress)


def best_of(
    source: TableSource,
    x: str | None = None,
    y: str | None = None,
    *,
    metric: str | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    title: str | None = None,
    size: Size | None = None,
) -> tuple[Figure, list[list[object]], tuple[str, str]]:
    """Return the map of what is best, its cells as rows, and its sides."""
    from midflight.plot.common.plain import usual_of_folder
    from midflight.plot.usual import settled_sides
    from midflight.sweep import Sweep
    from midflight.sweep_folder import check_metric
    from midflight.sweep_results import check_has_tables
    from midflight.sweep_summary import Summary, check_by, check_has_measure
    from midflight.sweep_words import direction_of

    folder = Path(str(results_of(source)))
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
        remark = kept_words({}, {x, y}, kept)
        figure = best_figure(made, x, y, flow=flow, title=title, size=size, remark=remark)
        if figure is None:
            raise refused
        return figure, best_rows(made, x, y, flow=flow), (x, y)


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
