"""Quartiles of a sweep's measurements over one of its axes, from a folder of results or any table.

A table has a row for each run (and flow, and phase), a column for each axis, named by the axis's
key, and columns of measurements (`flows.csv`, `phases.csv`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from midflight.plot.common.band_above import make_room_above
from midflight.plot.common.coincide import same_widths, widths_of_joined
from midflight.plot.common.figure import Dress, check_dress, label_axes, write_figure
from midflight.plot.common.line_looks import few_entries, line_looks, line_named_by, schemes_apart
from midflight.plot.common.names import (
    column_name,
    with_unit,
    with_value,
    within_text,
)
from midflight.plot.common.options import as_names
from midflight.plot.common.place_scale import LINEAR, LOG, PlaceScale
from midflight.plot.common.plain import usual_of_folder
from midflight.plot.common.style import (
    COLUMN_IN,
    SERIES,
    Look,
    Size,
    check_format,
    chosen_axes,
    labelled,
    short_label,
    size_in,
    style,
    text_width,
)
from midflight.plot.results.alike import alike, named_alike
from midflight.plot.results.dodge import (
    ASIDE,
    Apart,
    Whiskers,
    has_seen,
    marker_high,
    side_by_side_at_names,
    whiskers_of,
)
from midflight.plot.results.edge_rows import EdgeMarks, draw_edge_marks
from midflight.plot.results.line_names import line_cells, line_columns, one_line_name
from midflight.plot.results.median_panels import (
    are_panels,
    are_strokes,
    in_panels,
    names_of_own,
    near_ends,
    own_words,
)
from midflight.plot.results.medians import (
    MEDIANS_PT,
    Line,
    bottom_of,
    draw_medians,
    has_few_medians,
    quartile_marks,
    quartiles_over,
)
from midflight.plot.results.panel_grid import Grid
from midflight.plot.results.places import (
    QUANTITY,
    axis_places,
    place_title,
    spaced,
    unit_of,
    zero_name,
)
from midflight.plot.results.pooled import pooled_words
from midflight.plot.results.rows import (
    NONE_POOLED,
    Pooled,
    compared_name,
    counted_as,
    early_words,
    kept_text,
    kept_values,
    ordered,
    over_words,
    rows_of,
    selection_words,
    text_of,
    with_selection,
)
from midflight.plot.results.scales import (
    beyond,
    hides,
    is_log_value,
    log_title,
    scale_of_places,
    set_log,
    set_places,
)
from midflight.plot.results.spans import draw_span, takes_bands
from midflight.plot.results.tables import (
    Columns,
    TableSource,
    columns_of,
    missing_column,
    read_once,
    results_of,
)
from midflight.plot.results.unfinished import counted_words
from midflight.plot.usual import (
    Shown,
    free_columns,
    maps_instead,
    missing_argument,
    usual_rows,
    usual_shown,
    which_after,
)
from midflight.refusal import names_arguments, refusal
from midflight.results import quartiles
from midflight.sweep_folder import AFTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = [
    "AxisData",
    "after_words",
    "axis_data",
    "axis_figure",
    "axis_rows",
    "kept_words",
    "lines_name",
    "name_categories",
    "panel_name",
    "panels_name",
    "plot_axis",
    "shown_number",
    "shown_value",
]

#: The room between two numbers below an axis, and the height of a name, in points.
_TICKS_APART_PT, _NAME_PT = 5.0, 8.0
#: The room between names of places side by side, and that between panels beside each other.
_NAMES_APART_PT = 4.0
_USUAL_IN = (COLUMN_IN * 1.25, 2.9)


@dataclass(frozen=True)
class AxisData:
    """The content of a figure: series over an axis of numbers or of names (`categories`)."""

    x_title: str
    y_title: str
    lines: Sequence[Line]
    categories: Sequence[str] | None = None
    #: The quantity that the labels of the lines are values of.
    lines_title: str = ""
    #: For a table: the columns of the axis and of the measurement, and the units of their values.
    axis: tuple[str, str] = ("", "")
    measure: tuple[str, str] = ("", "")
    #: What the values at each point are: "runs" or "values".
    counted: str = "values"
    #: The axes that are pooled, and the flows that were done before the handoff, in words.
    pooled: Pooled = NONE_POOLED
    early: str = ""
    #: What rows are kept by, in words, and as a table has it.
    remark: str = ""
    where: str = ""
    #: The columns that tell lines apart.
    by: Sequence[str] = ()
    #: Panels beside each other, each with its own `name`, and the column of these names; the lines
    #: are then those of all.
    panels: Sequence[AxisData] = ()
    panels_by: str = ""
    #: What stands at 0 of an axis of numbers in the place of a number.
    zero: str = ""
    #: Of a panel the value of that column, as a table has it.
    of: str = ""
    name: str = ""


@names_arguments
@read_once()
def plot_axis(
    source: TableSource,
    path: str | Path,
    *,
    x: str | None = None,
    y: str | None = None,
    by: Sequence[str] | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    without: Mapping[str, str | Sequence[str]] | None = None,
    baseline: str | None = None,
    title: str | None = None,
    xscale: str | None = None,
    yscale: str | None = None,
    size: Size | None = None,
    **dress: Unpack[Dress],
) -> Path:
    """Draw the quartiles of a measurement over an axis into a .png, .svg, .pdf or .pgf file; return
    it.

    `source` is a folder of results, a `Sweep` that has them, a CSV or Parquet file, columns by
    their names, a `Table`, or a table of pandas, polars or pyarrow.
    `x` is the column along the axis, such as "handoffs.0.at". `y` is the measurement: times (`_ns`)
    are shown in seconds, rates (`_bps`) in Mbit/s. Each value of the columns `by` has a line
    (default: the flow's name, if there are several flows). Of the folder of a sweep, and of tables
    of its results, all three may be left out: the figure is then that of `midflight plot FOLDER`,
    which is the comparison if the sweep has one; of a table with some of the rows it is that of
    their values. `where` keeps the rows with these values, "a,b", a range as of an axis,
    "from:to", or a list; several values for a column keep the rows with any of them, and lines and
    names have the order of these values. `without` leaves out those with its values.
    `baseline` is what changes are against, by default the first of the compared values. A missing
    time of a run that did not finish counts as longer than every other; other missing values are
    left out.

    `title` is put above the figure; it may have mathematics between dollar signs, such as `Gap $g$
    (s)`. `xscale` and `yscale` are "linear" or "log". The default is logarithmic for an axis of
    numbers that are a geometric series or extend over more than two decades, and for measurements
    of which a linear axis would hide a part. `size` is "single" or "double" (column), or inches: a
    width, or width and height. `Dress` describes how it looks (`look`, `font`, `labels`, `legend`,
    `xlim`, `ylim`, `xlabel`, `ylabel`) and `csv`.

    Raises `MidflightError` for an invalid argument, `OSError` for a file that cannot be read or
    written.
    """
    # They need this module.
    from midflight.plot.results.choice import chosen_values
    from midflight.plot.results.linked import sweep_of, usual_source
    from midflight.plot.results.paired import by_compared, left_out_reason, paired_figure, source_of
    from midflight.plot.results.spread import plot_shown, plot_spread

    check_dress(plot_axis, dress)
    check_format(path)
    asked = Shown(x, None, y, as_names(by or ()))
    source = results_of(source)
    where = chosen_values(source, where, without, baseline)
    source = usual_source(source, asked, where)
    texts: Any = {"title": title, "xscale": xscale, "yscale": yscale, "size": size}
    asked = by_compared(source, asked)
    paired = paired_figure(source, None, asked, where, has_by=by is not None, baseline=baseline)
    if paired is not None:
        return plot_shown(path, paired, asked, where, dress, **texts)
    source = source_of(source, y)
    shown = usual_shown(source, "median", asked, has_by=by is not None, where=where)
    if shown.value is None:
        raise missing_argument("y")
    if shown.x is None:
        raise missing_argument("x", free_columns(source, shown, where))
    columns = usual_rows(columns_of(source, shown.value), source, asked, shown, where)
    with usual_of_folder(source, which_after(columns, asked, where)):
        data = axis_data(columns, x=shown.x, y=shown.value, by=shown.by, where=where)
    is_chosen = x is None and y is None and by is None and sweep_of(source) is not None
    lacks = is_chosen and bool(left_out_reason(source, where))
    if is_chosen and (lacks or has_few_medians(data.lines)):
        maps = maps_instead(source, asked, shown, columns, where or {}, lacks_pairs=lacks)
        if maps is not None:
            return plot_spread(source, path, "heatmap", where=where, **texts, **dress)

    def draw() -> Figure:
        return axis_figure(data, **texts)

    with usual_of_folder(source, which_after(columns, asked, where)):
        return write_figure(path, draw, axis_rows(data), dress)


def axis_data(
    columns: Columns,
    *,
    x: str,
    y: str,
    by: Sequence[str] = (),
    where: Mapping[str, str | Sequence[str]] | None = None,
) -> AxisData:
    """Return the quartiles that `plot_axis` draws."""
    by, kept = as_names(by), kept_values(columns, where)
    options = {x: "--x", y: "--y"} | dict.fromkeys(by, "--by") | dict.fromkeys(kept, "--where")
    for name, option in options.items():
        if name not in columns:
            raise missing_column(option, name, columns)
    found_rows = rows_of(columns, y, kept, {x, *by})
    rows = found_rows.shown
    check_is_measured(columns, rows, y, "--y")
    flows = {columns["flow"][row] for row in rows} if "flow" in columns else set()
    if not by and x != "flow" and len(flows) > 1:
        by = ["flow"]
    values = {row: shown_number(columns[y][row], y) for row in rows}
    texts = ordered(columns, rows, x, kept)
    places, categories, unit = axis_places(texts, x)
    grouped: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for row in rows:
        key = tuple(text_of(columns[name][row]) for name in by)
        grouped.setdefault(key, {}).setdefault(text_of(columns[x][row]), []).append(values[row])
    has_panels = are_panels([*grouped])
    if len(grouped) > len(SERIES) and not has_panels:
        raise refusal(
            f"{len(grouped)} lines cannot be distinguished; a figure has up to {len(SERIES)}: "
            f"keep fewer of {', '.join(by)} with --where, or give another --by",
            name="by",
            value=", ".join(by),
            accepted=f"columns with up to {len(SERIES)} combinations of values",
        )
    orders = [ordered(columns, rows, name, kept) for name in by]
    is_time, lines = y.endswith("_ns"), []
    for key in filter(grouped.__contains__, product(*orders)):
        found = grouped[key]
        line = Line(", ".join(key) if by else one_line_name(columns, rows, x, kept), key)
        for text in sorted(found, key=lambda text: places[text]):
            known = [one for one in found[text] if not math.isnan(one)]
            if not known and not is_time:
                continue
            line.x.append(places[text])
            line.points.append(quartiles(found[text] if is_time else known))
            line.runs.append(len(found[text]))
            line.values.append(tuple(found[text]))
            line.missing.append(len(found[text]) - len(known))
        lines.append(line)
    data = AxisData(
        place_title(column_name(x), unit, texts),
        with_unit(column_name(y), unit_of(y)[0]),
        lines,
        categories,
        lines_name(by, columns),
        zero=zero_name(texts, x),
        axis=(x, unit),
        measure=(y, unit_of(y)[0]),
        counted=(counted := counted_as(columns, rows, {x, *by})),
        pooled=pooled_words(columns, y, {x, *by}, kept, counted=counted, rows=rows),
        early=early_words(columns, found_rows, y, by),
        remark=kept_words(columns, {x, *by}, kept),
        where=kept_text(kept),
        by=by,
    )
    if not has_panels:
        return data
    data = in_panels(data, orders[-1], lines_name(by[:-1], columns))
    if by[-1] == "phase" and (after := after_words(columns, rows)):
        panels = [replace(one, name=f"After {after} {one.of}") for one in data.panels]
        data = replace(data, panels=panels)
    return data


def after_words(columns: Columns, rows: Iterable[int]) -> str:
    """Return what the phases of rows begin with: a handoff, a change, or either; "" if the table
    does not say it.
    """
    kinds = {str(columns["kind"][row]) for row in rows} - {"start"} if "kind" in columns else set()
    return " or ".join(one for one in ("handoff", "change") if one in kinds)


def lines_name(by: Sequence[str], columns: Columns) -> str:
    """The quantity of the names of lines; for a comparison the compared axis."""
    first, *others = (column_name(compared_name(name, columns)) for name in by or [""])
    return ", ".join((first, *map(within_text, others)))


def kept_words(
    columns: Columns, shown: set[str | None], kept: Mapping[str, Sequence[str]], *more: str
) -> str:
    """The note of a figure on what its rows are kept by, and `more` of it."""
    words = [*selection_words(kept, shown, columns), *filter(None, more)]
    first, *others = words or [""]
    return "; ".join((first[:1].upper() + first[1:], *map(within_text, others)))


def check_is_measured(columns: Columns, rows: Sequence[int], name: str, option: str) -> None:
    """Refuse a table without rows, and a measurement that no row has, such as the duration of flows
    without an end.
    """
    if not rows:
        raise refusal(
            f'the table has no rows with "{name}"; there is nothing to draw',
            name="source",
            value="no rows",
            accepted="a table with rows",
        )
    if not all(math.isnan(shown_number(columns[name][row], name)) for row in rows):
        return
    if name == "ratio" and "difference" in columns:
        raise refusal(
            f'{option} "{name}" has no value in any of {len(rows)} rows: all means of the baseline '
            f"are 0, or have no pairs; give {option} difference",
            name=option,
            value=name,
            accepted="difference",
        )
    accepted = "one that some run has, such as goodput_bps"
    few = ", or had so many packets left" if name in AFTER else ""
    raise refusal(
        f'{option} "{name}" has no value in any of {len(rows)} rows: no run finished what it '
        f"measures{few}; give {accepted}, or the runs a later end",
        name=option,
        value=name,
        accepted=accepted,
    )


def shown_value(text: str) -> str:
    """Return a value of an axis as figures and sentences have it."""
    return labelled(spaced(text))


def panel_name(name: str, value: str) -> str:
    """What a panel is called that has the lines with a value of a column."""
    if name == "value":
        # A column of comparisons, whose values say enough.
        return spaced(value)
    called = short_label(name)
    return with_value(f"{called[:1].upper()}{called[1:]}", spaced(value))


def panels_name(names: Sequence[str], values: Sequence[str]) -> str:
    """What a panel is called that has the lines with these values of several columns."""
    first, *others = map(panel_name, names, values)
    return ", ".join((first, *map(within_text, others)))


def shown_number(value: Any, name: str) -> float:
    """A measurement in the unit that it is shown in; nan where it is missing or not finite, as of a
    run that did not finish.
    """
    if value is None or value == "":
        return math.nan
    try:
        number = float(value) * unit_of(name)[1]
        return number if math.isfinite(number) else math.nan
    except ValueError:
        raise refusal(
            f'--y or --value: "{name}" has no numbers, but for example "{value}"; '
            "a measurement is such as duration_ns",
            name="--y or --value",
            value=name,
            accepted="a measurement such as duration_ns",
        ) from None


class _Ends(NamedTuple):
    """The scales of the axes of a figure, the ends of that of values as marks are placed by them,
    and where a linear one begins.
    """

    scale_x: PlaceScale
    log_y: bool
    low: float
    top: float
    bottom: float


def _finite(data: AxisData) -> list[float]:
    """The values that are drawn."""
    points = [point for line in data.lines for point in line.points]
    return [value for point in points for value in point if math.isfinite(value)]


def _places(data: AxisData) -> list[float]:
    return [x for line in data.lines for x in line.x]


def _ends_of(data: AxisData, xscale: str | None, yscale: str | None) -> _Ends:
    medians, finite = [one.median for line in data.lines for one in line.points], _finite(data)
    scale_x = scale_of_places(xscale, _places(data), has_names=data.categories is not None)
    log_y = is_log_value(yscale, finite, suits=hides(medians, finite))
    top = max(finite, default=1.0) * (1.3 if log_y else 1.06) or 1.0
    low = min(one for one in finite if one > 0) / 1.3 if log_y else 0.0
    return _Ends(scale_x, log_y, low, top, bottom_of(min(finite, default=top), top))


def _names(data: AxisData) -> Mapping[str, str]:
    """The names in the legend of lines that are the same as an earlier one, in all panels, and of
    those without any value, of which no run finished.
    """
    values: dict[str, list[str]] = {}
    having = set()
    for one in data.panels or [data]:
        for line in one.lines:
            values.setdefault(line.label, []).append(repr((one.name, line.x, line.values)))
            if any(math.isfinite(value) for each in line.values for value in each):
                having.add(line.label)
    same = alike((label, tuple(each)) for label, each in values.items() if label in having)
    empty = {*values} - having if data.measure[0].endswith("_ns") else set()
    return {one: named_alike(one, same.get(one, ""), is_empty=one in empty) for one in values}


def axis_figure(
    data: AxisData,
    *,
    title: str | None = None,
    xscale: str | None = None,
    yscale: str | None = None,
    size: Size | None = None,
) -> Figure:
    """Return the figure of `plot_axis`."""
    ends = _ends_of(data, xscale, yscale)
    if data.panels:
        return _panels_figure(data, ends, title=title, yscale=yscale, size=size)
    width, height = size_in(size, _USUAL_IN)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        axes = figure.add_subplot()
        keys, labels = [line.key for line in data.lines], [line.label for line in data.lines]
        looks = [look for look, _ in line_looks(data.by, keys, labels)]
        marks = [_draw(axes, data, looks, ends, (width, height), _places(data), _names(data))]
        make_room_above(figure, [[axes]], size)
        if not _finite(data):
            # There are only arrows, which have no place on the axis.
            axes.set_yticks([])
        label_axes(
            figure,
            axes,
            log_title(data.x_title) if ends.scale_x.is_log else data.x_title,
            log_title(data.y_title) if ends.log_y else data.y_title,
            data.lines_title,
            title=title,
            kind="median",
            x_refused="the axis has names" if data.categories is not None else "",
            remark=data.remark,
            detail=_detail(data, marks),
            entries=few_entries(data.by, keys, looks),
            seen=(_places(data), _finite(data)),
            units=(data.axis[1], data.measure[1]),
        )
    return figure


def _panels_figure(
    data: AxisData, ends: _Ends, *, title: str | None, yscale: str | None, size: Size | None
) -> Figure:
    """Return the figure of panels, which have the same axes, but for those of values if one would
    have no room on it.
    """
    choice = chosen_axes()
    is_free = yscale is None and (choice is None or not choice.ylim)
    scale = LOG if ends.log_y else LINEAR
    has_own = is_free and are_strokes([*map(_finite, data.panels)], scale)
    labels = list(dict.fromkeys(line.label for line in data.lines))
    keys = list(dict.fromkeys(tuple(line.key) for line in data.lines))
    looks = dict(zip(keys, (one for one, _ in line_looks(data.by, keys, labels)), strict=True))
    seen, names = [], _names(data)
    with style():
        grid = Grid.of("median", len(data.panels), size, own_y=has_own)
        owns = []
        own_ends = near_ends([*map(_finite, data.panels)])
        for panel, (bottom, top) in zip(data.panels, own_ends, strict=True):
            name, is_empty = "log" if ends.log_y else "linear", not _finite(panel)
            own = _ends_of(panel, None, name) if has_own and not is_empty else ends
            own = own._replace(scale_x=ends.scale_x)
            if has_own and not is_empty and not ends.log_y:
                own = own._replace(low=bottom, top=top, bottom=bottom)
            owns.append(own)
        each = zip(data.panels, owns, strict=True)
        widths = same_widths(
            [[*zip(_keys(one), _widths(one, own), strict=True)] for one, own in each], MEDIANS_PT
        )
        titles = [panel.name for panel in data.panels]
        if has_own and not ends.log_y:
            titles = names_of_own(titles, [(own.bottom, own.top) for own in owns])
        every = zip(grid.panels, data.panels, owns, titles, strict=True)
        for axes, panel, own, name in every:
            mine = [looks[tuple(line.key)] for line in panel.lines]
            wide = [widths[key] for key in _keys(panel)]
            seen.append(_draw(axes, panel, mine, own, grid.panel_in, _places(data), names, wide))
            axes.set_title(name, fontsize=7.5, parse_math=False)
            if not _finite(panel) and (has_own or not _finite(data)):
                axes.set_yticks([])
        said_ends = [(own.bottom, own.top) for own in owns if not own.log_y]
        of_own = own_words(said_ends) if has_own else ""
        detail = "; ".join(filter(None, (_detail(data, seen), of_own)))
        grid.finish(
            log_title(data.x_title) if ends.scale_x.is_log else data.x_title,
            log_title(data.y_title) if ends.log_y else data.y_title,
            data.lines_title,
            title=title,
            remark=data.remark,
            detail=detail,
            x_refused="the axis has names" if data.categories is not None else "",
            seen=(_places(data), _finite(data)),
            units=(data.axis[1], data.measure[1]),
        )
    return grid.figure


def _keys(data: AxisData) -> list[tuple[str, ...]]:
    return [tuple(line.key) for line in data.lines]


def _widths(data: AxisData, ends: _Ends) -> list[float]:
    """The widths of the lines of a panel in points: those that coincide are told apart by them."""
    if data.categories is not None:
        # Points over names are not joined.
        return [MEDIANS_PT] * len(data.lines)
    how: Any = {"scale_x": ends.scale_x, "log_y": ends.log_y}
    medians = [(one.x, [point.median for point in one.points]) for one in data.lines]
    return widths_of_joined(medians, (ends.low, ends.top), MEDIANS_PT, **how)


def _draw(
    axes: Axes,
    data: AxisData,
    looks: Sequence[Look],
    ends: _Ends,
    size: tuple[float, float],
    places: Sequence[float],
    names: Mapping[str, str],
    widths: Sequence[float] | None = None,
) -> tuple[bool, bool]:
    """Draw the lines of a panel with these looks and widths in points, by default its own, in axes
    for these places that have so much room as a figure of this size in inches; return whether any
    quartiles are seen, and whether markers stand aside for these.
    """
    (scale_x, log_y, low, top, bottom), (width, height) = ends, size
    has_names = data.categories is not None
    over = beyond(low, top, is_log=log_y)
    bands = takes_bands(max((len(one.x) for one in data.lines), default=0), has_names=has_names)
    lines = max(1, len(data.lines))
    drawn = list(zip(data.lines, looks, strict=True))
    if schemes := schemes_apart(data.axis[0], data.categories, data.lines):
        drawn = [(line, look) for line, look, _ in schemes]
    marks = quartile_marks(data.lines, low, is_log=log_y)
    marker = marker_high(math.log(top / low) if log_y else top - low, height)
    apart = Apart(0.0)
    if has_names or widths is None:
        # Of one line over schemes each has a look of its own.
        widths = [MEDIANS_PT] * len(drawn) if has_names else _widths(data, ends)
    if not has_names:
        whiskers = whiskers_of(marks, marker, width, scale_x, bands=bands)
    else:
        # Names have no room between them that says anything.
        if not schemes:
            count = len(data.categories or ())
            apart = side_by_side_at_names(min(0.17, 0.6 / lines), count, width)
        middle = (len(drawn) - 1) / 2
        each = enumerate(drawn)
        at_names = [np.array(one.x) + (n - middle) * apart.step for n, (one, _) in each]
        whiskers = Whiskers(at_names, apart.cap_pt)
    endless = []
    for number, (line, look) in enumerate(drawn):
        at = whiskers.at[number]
        named = replace(line, label=names.get(line.label, line.label))
        how: Any = {"joined": not has_names, "width_pt": widths[number]}
        draw_medians(axes, named, look, at, number, **how)
        span = quartiles_over(line, over)
        draw_span(axes, span, look, at, whiskers.cap_pt, bands=bands, lines=lines)
        is_endless = np.isinf(np.array([one[2] for one in line.points], dtype=float))
        endless.append(EdgeMarks(np.asarray(at)[is_endless], look))
    if log_y:
        set_log(axes.yaxis, low, top)
    else:
        axes.set_ylim(bottom, top)
    if data.categories is not None:
        name_categories(axes, data.categories, width)
    else:
        wide = _is_spread(data) and not bands
        set_places(axes, places, whiskers.at, width, scale_x, wide=wide, zero=data.zero)
    draw_edge_marks(axes, endless, top, width, scale_x)
    return has_seen(marks, marker, bands=bands), whiskers.are_aside


def _is_spread(data: AxisData) -> bool:
    """Whether there are quartiles: with one value at each place there are none."""
    return any(runs > 1 for line in data.lines for runs in line.runs)


def _detail(data: AxisData, marks: Sequence[tuple[bool, bool]]) -> str:
    """What the lines are, of how many values if all are of as many, and what arrows are; of each
    panel whether quartiles are seen, and whether markers stand aside.
    """
    points, is_spread = [one for line in data.lines for one in line.points], _is_spread(data)
    if not any(math.isfinite(value) for point in points for value in point):
        why = "half or more of the runs did not finish (arrows)"
        none = f"no medians and quartiles: {why}; the kind cdf shows the others"
        return "; ".join(filter(None, (none, data.early)))
    words = []
    if is_spread:
        counts = [runs for line in data.lines for runs in line.runs]
        what = "medians and quartiles" if any(seen for seen, _ in marks) else "medians"
        words.append(over_words(what, counts, data.counted, data.pooled))
    if any(are_aside for _, are_aside in marks):
        words.append(ASIDE)
    if any(math.isinf(point.q3) for point in points):
        runs = "25 % of the runs or more" if is_spread else "runs"
        words.append(f"arrows: {runs} did not finish")
        if is_spread and any(math.isinf(point.median) for point in points):
            words[-1] += " (without a marker: half or more)"
    lost: dict[str, int] = {}
    for line in data.lines:
        lost[line.label] = lost.get(line.label, 0) + sum(line.missing)
    words.append(counted_words(lost, is_time=data.measure[0].endswith("_ns")))
    if schemes_apart(data.axis[0], data.categories, data.lines):
        words[:0] = line_named_by(data.lines[0].label, data.x_title)
    return "; ".join(filter(None, [*words, data.pooled.flows, data.early]))


def axis_rows(data: AxisData) -> Iterator[Sequence[object]]:
    """Yield the head of a table of what `axis_figure` draws, and its rows."""
    return with_selection(_axis_rows(data), data.where)


def _axis_rows(data: AxisData) -> Iterator[Sequence[object]]:
    shares = ("p25", "median", "p75")
    named = [data.panels_by] if data.panels else []
    start = (*named, *line_columns(data.by), data.axis[0], "x_unit")
    yield (*start, "measure", "unit", *shares, "runs", "missing")
    for panel, line in ((one, line) for one in data.panels or [data] for line in one.lines):
        each = zip(line.x, line.points, line.runs, line.missing, strict=True)
        for x, points, runs, missing in each:
            place = (data.zero if x == 0 else "") or x
            place = place if data.categories is None else data.categories[int(x)]
            yield (
                *([panel.of] if named else []),
                *line_cells(line, panel.by),
                place,
                data.axis[1],
                *data.measure,
                *points,
                runs,
                missing,
            )


def name_categories(axes: Axes, categories: Sequence[str], width_in: float) -> None:
    """Name places side by side: if there is no room, some of several numbers, and names turned."""
    room = (width_in - 0.6) * 72 / max(1, len(categories))
    names = [labelled(name) for name in categories]
    widest = max((text_width(name, 7) for name in names), default=0.0)
    turn, every = 0, 1
    if all(QUANTITY.fullmatch(name) for name in categories):
        every = max(1, math.ceil((widest + _TICKS_APART_PT) / room))
    elif widest + _NAMES_APART_PT > room:
        # Names that are turned stand behind each other by a line.
        turn = 30 if room >= 2 * _NAME_PT else 90
        every = max(1, math.ceil(_NAME_PT / room))
    axes.set_xticks(
        range(0, len(names), every),
        names[::every],
        rotation=turn,
        ha="right" if turn else "center",
        va="center" if turn == 90 else "top",
        rotation_mode="anchor",
        parse_math=False,
    )
    axes.set_xlim(-0.5, len(categories) - 0.5)
    axes.tick_params(axis="x", length=0)
