"""Results as distributions, means and maps: how the runs of a sweep are spread.

The tables, axes and units are those of `midflight.plot.results.axis`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from midflight.meant import did_you_mean
from midflight.plot.common.band_above import make_room_above
from midflight.plot.common.coincide import same_widths
from midflight.plot.common.figure import Dress, check_dress, label_axes, write_figure
from midflight.plot.common.line_looks import is_of_schemes, line_named_by
from midflight.plot.common.options import as_names, check_scale
from midflight.plot.common.place_scale import LINEAR, LOG
from midflight.plot.common.plain import usual_of_folder
from midflight.plot.common.style import (
    COLUMN_IN,
    PAGE_IN,
    SERIES,
    Size,
    check_format,
    chosen_axes,
    size_in,
    style,
)
from midflight.plot.results.alike import alike
from midflight.plot.results.axis import (
    after_words,
    check_is_measured,
    kept_words,
    lines_name,
    name_categories,
    shown_number,
)
from midflight.plot.results.box_words import box_words
from midflight.plot.results.choice import chosen_values
from midflight.plot.results.compared import (
    MEANS,
    PALE,
    counts_of,
    empty_mark,
    empty_words,
    ends_of,
    has_ends,
    is_hint_of,
    left_out_words,
    measured_of,
    over_of,
    same_words,
)
from midflight.plot.results.dodge import ASIDE
from midflight.plot.results.heatmaps import heatmap_of, heatmaps_figure
from midflight.plot.results.line_names import one_line_name
from midflight.plot.results.linked import usual_source
from midflight.plot.results.maps import number_words
from midflight.plot.results.median_panels import are_panels, names_of_own, near_ends, own_words
from midflight.plot.results.paired import (
    by_compared,
    by_value,
    check_is_apart,
    paired_figure,
    samples_of,
    source_of,
)
from midflight.plot.results.panel_grid import warn_dense
from midflight.plot.results.panels import in_rows, is_in_rows, panels_figure, panels_over
from midflight.plot.results.places import axis_places, place_title, zero_name
from midflight.plot.results.pooled import pooled_words
from midflight.plot.results.rows import (
    NONE_POOLED,
    compared_name,
    counted_as,
    early_words,
    kept_text,
    kept_values,
    ordered,
    rows_of,
    text_of,
)
from midflight.plot.results.samples import interval_words, pooled_of, sampling
from midflight.plot.results.scales import (
    hides,
    is_log_value,
    log_title,
    scale_of_places,
)
from midflight.plot.results.shares import (
    LINE_PT,
    draw_shares,
    has_strokes,
    is_wide,
    panels_of,
    share_widths,
    share_words,
)
from midflight.plot.results.spans import LEAST_FOR_BANDS
from midflight.plot.results.spread_data import (
    Group,
    Spread,
    are_points,
    bars_of,
    drawn_of,
    known_of,
    median_of,
    side_by_side,
    spread_rows,
    units_of,
)
from midflight.plot.results.spread_marks import (
    Endless,
    Logs,
    cut_of,
    draw_endless,
    draw_spread_boxes,
    draw_spread_intervals,
    ends_of_boxes,
    ends_of_means,
    entries_of,
    is_cut,
    schemes_of,
    spread_looks,
    spread_styles,
    widths_of_means,
)
from midflight.plot.results.tables import (
    Columns,
    TableSource,
    columns_of,
    missing_column,
    read_once,
    results_of,
)
from midflight.plot.results.unfinished import counted_words, unfinished_words
from midflight.plot.usual import (
    Shown,
    free_columns,
    missing_argument,
    usual_rows,
    usual_shown,
    which_after,
)
from midflight.refusal import names_arguments, refusal
from midflight.sweep_results import unit_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SPREADS", "Spread", "plot_spread", "spread_figure", "spread_of", "spread_rows"]

#: The kinds of figures of results, beside the medians over an axis.
SPREADS = ("cdf", "box", "interval", "heatmap")

#: Runs that are left out of changes are counted apart for so many lines.
_MOST_LOST = 2
_USUAL_IN = (COLUMN_IN * 1.25, 2.9)
#: A figure of more boxes is as wide as a page; with more in an inch it has several rows.
_MANY_BOXES, _MOST_IN_INCH = 24, 10.0
#: Why an axis of a kind cannot be logarithmic.
_NAMED: Mapping[str, str] = {
    "box": "boxes stand side by side, however far apart their numbers are",
    "heatmap": "the cells of a map stand side by side, however far apart their numbers are",
}


@names_arguments
@read_once()
def plot_spread(
    source: TableSource,
    path: str | Path,
    kind: str,
    *,
    value: str | None = None,
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
    """Draw the distribution of a measurement into a .png, .svg, .pdf or .pgf file; return the file.

    `kind` is "cdf" (the share of runs with at most a value, a line for each value of `by`), "box"
    (quartiles of the values at each `x`, and whiskers), "interval" (means at each `x` with their 95
    % confidence intervals) or "heatmap" (medians over `x` and `y`). `value` is the measurement. The
    samples of intervals are those of a comparison: where runs differ in their random numbers, the
    values of each run, at its instants and on its links, are averaged first. For a `comparison.csv`
    its own intervals are drawn, and `value` is "ratio" or "difference". The other arguments are
    those of `plot_axis` and `plot_over_time`.

    Raises `MidflightError` for an invalid argument, `OSError` for a file that cannot be read or
    written.
    """
    check_dress(plot_spread, dress)
    check_format(path)
    asked = Shown(x, y, value, as_names(by or ()))
    source = results_of(source)
    where = chosen_values(source, where, without, baseline)
    source = usual_source(source, asked, where)
    asked = by_compared(source, asked)
    has: Any = {"has_by": by is not None}
    paired = paired_figure(source, kind, asked, where, **has, baseline=baseline)
    if paired is not None:
        source, shown = paired.file, paired.shown
    else:
        source = source_of(source, value)
        shown = usual_shown(source, kind, asked, where=where, **has)
    if shown.value is None:
        raise missing_argument("value")
    if shown.x is None and kind in ("box", "interval"):
        raise missing_argument("x", free_columns(source, shown, where))
    found = kind, source, shown, None if paired is None else paired.columns
    texts: Any = {"title": title, "xscale": xscale, "yscale": yscale, "size": size}
    return plot_shown(path, found, asked, where, dress, **texts)


def plot_shown(
    path: str | Path,
    found: tuple[str, TableSource, Shown, Columns | None],
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None,
    dress: Dress,
    *,
    title: str | None,
    xscale: str | None,
    yscale: str | None,
    size: Size | None,
) -> Path:
    """Draw what is `found` to be shown where `asked` was asked for: the kind of the figure, its
    source, what it shows, and the columns if they are not those of the source. The other arguments
    and the returned path are those of `plot_spread`.
    """
    kind, source, shown, columns = found
    if columns is None:
        columns = usual_rows(columns_of(source, str(shown.value)), source, asked, shown, where)
    where = by_value(columns, where)
    how: Any = {"x": shown.x, "y": shown.y, "by": shown.by, "where": where}
    how["samples"] = samples_of(source, columns)
    apart = {"x": shown.x, "y": shown.y if kind == "heatmap" else None}
    check_is_apart(source, columns, apart, how["samples"])
    with usual_of_folder(source, which_after(columns, asked, where)):
        data = spread_of(columns, kind, value=str(shown.value), **how)

    def draw() -> Figure:
        return spread_figure(data, xscale=xscale, yscale=yscale, size=size, title=title)

    with usual_of_folder(source, which_after(columns, asked, where)):
        return write_figure(path, draw, spread_rows(data), dress)


def spread_of(
    columns: Columns,
    kind: str,
    *,
    value: str,
    x: str | None = None,
    y: str | None = None,
    by: Sequence[str] = (),
    where: Mapping[str, str | Sequence[str]] | None = None,
    samples: Mapping[str, int] | None = None,
) -> Spread:
    """Return what `plot_spread` draws; `samples` are the axes that the intervals of a comparison
    are over, with their numbers of values, if they are known.
    """
    if kind not in SPREADS:
        accepted = ", ".join(SPREADS)
        raise refusal(
            f'"{kind}" is not a kind of figure of results{did_you_mean(kind, SPREADS)}; there are '
            f"{accepted}",
            name="kind",
            value=kind,
            accepted=accepted,
        )
    needed = {"--x": x, "--y": y} if kind == "heatmap" else {} if kind == "cdf" else {"--x": x}
    for option, given in needed.items():
        if given is None:
            raise refusal(
                f"the kind {kind} needs {option}, a column of the table",
                name=option,
                value=None,
                accepted=", ".join(columns),
            )
    by, kept = as_names(by), kept_values(columns, where)
    asked = {value: "--value", **dict.fromkeys(by, "--by"), **dict.fromkeys(kept, "--where")}
    asked |= {name: option for option, name in needed.items() if name is not None}
    for name, option in asked.items():
        if name not in columns:
            raise missing_column(option, name, columns)
    found_rows = rows_of(columns, value, kept, {x, y, *by})
    rows = found_rows.shown
    check_is_measured(columns, rows, value, "--value")
    if kind == "heatmap":
        return heatmap_of(columns, found_rows, kept, str(x), str(y), value, by, samples)
    flows = {columns["flow"][row] for row in rows} if "flow" in columns else set()
    if not by and x != "flow" and len(flows) > 1:
        by = ["flow"]
    if kind == "cdf":

        def lines_of(
            some: Sequence[int], having: Mapping[str, Sequence[str]], apart: Sequence[str]
        ) -> Spread:
            return _lines(columns, some, having, kind, None, value, apart, samples)

        found = panels_of(columns, rows, kept, by, lines_of) or lines_of(rows, kept, by)
        found = replace(found, detail=_cdf_words(found, columns, rows, kept, value, by))
    else:
        found = _lines(columns, rows, kept, kind, x, value, by, samples, found_rows.early)
        values = ordered(columns, rows, by[-1], kept) if by else []
        found = panels_over(found, values, lines_name(by[:-1], columns))
        if by and by[-1] == "phase" and (after := after_words(columns, rows)):
            named = [replace(one, name=f"After {after} {one.of[0]}") for one in found.panels]
            found = replace(found, panels=named)
    _unmark_empty(found)
    # Without lines schemes at places are told apart.
    of_early = by or [one for one in (x,) if one is not None and is_of_schemes(one)]
    words = (found.detail, early_words(columns, found_rows, value, of_early))
    return replace(
        found,
        detail="; ".join(filter(None, words)),
        remark=kept_words(columns, {x, *by}, kept),
        where=kept_text(kept),
    )


def _shared(columns: Columns, rows: Sequence[int], by: Sequence[str]) -> str:
    """What the shares of a CDF are of: runs, or flows of them, or combinations of a comparison."""
    if "baseline" in columns:
        return "combinations"
    counted = counted_as(columns, rows, {*by})
    flows = {text_of(columns["flow"][row]) for row in rows} if "flow" in columns else set()
    return "flows" if counted == "values" and len(flows) > 1 and "flow" not in by else counted


def _cdf_words(
    found: Spread,
    columns: Columns,
    rows: Sequence[int],
    kept: Mapping[str, Sequence[str]],
    value: str,
    by: Sequence[str],
) -> str:
    """What CDFs say of all their panels: which these are, and what their lines are over."""
    counted = counted_as(columns, rows, {*by})
    if found.panels:
        for place, name in enumerate(found.panels_by):
            some = list(dict.fromkeys(one.of[place] for one in found.panels))
            kept = {**kept, name: some}
            rows = [row for row in rows if text_of(columns[name][row]) in some]
    pooled = pooled_words(columns, value, {*by}, kept, counted=counted, rows=rows)
    words = share_words(found.panels or [found], counted, pooled, is_time=found.is_time)
    return "; ".join(filter(None, (found.detail, words)))


def _lines(
    columns: Columns,
    rows: Sequence[int],
    kept: Mapping[str, Sequence[str]],
    kind: str,
    x: str | None,
    value: str,
    by: Sequence[str],
    samples: Mapping[str, int] | None,
    early: Sequence[int] = (),
) -> Spread:
    orders = [ordered(columns, rows, name, kept) for name in by]
    keys: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        keys.setdefault(tuple(text_of(columns[name][row]) for name in by), []).append(row)
    if len(keys) > len(SERIES) and (kind == "cdf" or not are_panels([*keys])):
        raise refusal(
            f"{len(keys)} lines cannot be distinguished; a figure has up to {len(SERIES)}: "
            f"keep fewer of {', '.join(by)} with --where, or give another --by",
            name="--by",
            value=by,
            accepted=f"up to {len(SERIES)} lines",
        )
    # What the lines or the axis do not name is named with the measurement.
    title, unit, scale = measured_of(columns, rows, value, [*by, str(x)])
    places, categories, x_unit = {"": 0.0}, None, ""
    texts: list[str] = []
    if x is not None:
        texts = ordered(columns, rows, x, kept)
        are_means = kind == "interval" and not has_ends(columns, value)
        if kind == "box" or (are_means and _are_crowded(columns, keys, x, value)):
            # However far apart their numbers are.
            numbers, categories, x_unit = side_by_side(texts, x)
            places = {text: float(number) for text, number in numbers.items()}
        else:
            places, categories, x_unit = axis_places(texts, x)
    zero = zero_name(texts, x or "")
    has_intervals = kind == "interval" and has_ends(columns, value)
    sampled = None
    if kind == "interval" and not has_intervals:
        sampled = sampling(columns, rows, value, [*by, str(x)])
    groups, is_time, misses = [], value.endswith("_ns"), False
    for key in filter(keys.__contains__, product(*orders)):
        alone = one_line_name(columns, rows, x or "", kept)
        group = Group(", ".join(key) if by else alone, key)
        found: dict[str, list[int]] = {}
        for row in keys[key]:
            found.setdefault(text_of(columns[x][row]) if x else "", []).append(row)
        for text in sorted(found, key=places.__getitem__):
            mine, place = found[text], places[text]
            each = [scale * shown_number(columns[value][row], value) for row in mine]
            unfinished = is_time and any(map(math.isnan, each))
            misses |= unfinished
            group.missing.append(sum(map(math.isnan, each)))
            group.is_short.append(kind == "interval" and not has_intervals and unfinished)
            group.x.append(place)
            number = (zero if place == 0 else "") or f"{place:.12g}"
            group.names.append(number if categories is None else categories[int(place)])
            if sampled is not None:
                keyed = zip(map(sampled.key, mine), each, strict=True)
                known = [one for one in keyed if not math.isnan(one[1])]
                each = unit_means(known).tolist()
                group.counts.append((len(each), len(known)))
            elif has_intervals:
                if len(mine) > 1:
                    raise refusal(
                        f"{len(mine)} comparisons are at the same place of {x}; tell them apart "
                        "with --by or --where",
                        name="--by",
                        value=by,
                        accepted="columns that tell the comparisons apart",
                    )
                group.ends.append(ends_of(columns, mine[0], value, scale))
                group.counts.append(counts_of(columns, mine[0]))
                group.empty.append(empty_mark(columns, mine[0]))
                group.hints.append(is_hint_of(columns, mine[0]))
            group.values.append(each)
        groups.append(group)
    has_baseline = has_intervals and "baseline" in columns
    _mark_same(groups, baseline=text_of(columns["baseline"][rows[0]]) if has_baseline else "")
    over, detail = "", ""
    lost = {} if has_intervals else {one.label: sum(one.missing) for one in groups}
    # The values of these are counted as samples.
    taken: Mapping[str, int] = {}
    counted = counted_as(columns, rows, {x, *by}) if kind == "box" else ""
    if sampled is not None:
        taken = {name: len({text_of(columns[name][row]) for row in rows}) for name in sampled.axes}
    elif kind == "interval":
        taken = samples or {}
    apart = {x, *by, *taken}
    pooled = NONE_POOLED
    if kind != "cdf":
        pooled = pooled_words(columns, value, apart, kept, counted=counted, rows=rows)
    has_points = kind == "box" and are_points(groups, is_time=is_time)
    if kind == "box":
        boxes = Spread(kind, "", "", groups, is_time=is_time, has_points=has_points)
        detail = box_words(boxes, counted, counted_words(lost, is_time=is_time), pooled)
    if kind == "interval":
        over = over_of(columns, rows) if sampled is None else sampled.over
        what = MEANS[value] if has_intervals else "mean"
        has_few = any(any(group.hints) for group in groups)
        behind = [one for group in groups for one in group.counts]
        # Where the runs are the samples, their axes are those of the other ones.
        are_runs = sampled is not None and over == "runs"
        together = pooled if are_runs else pooled_of(over, taken)
        ends = [low for group in groups for low, _ in group.ends]
        # Of pairs that are all the same nothing is beside the mean.
        is_alone = has_intervals and all(map(math.isnan, ends))
        shown: Any = {"shown": ""} if is_alone else {}
        shown["counted"] = "pairs" if has_intervals else "runs"
        detail = interval_words(what, over, behind, together, **shown)
        if misses:
            none = any(not known_of(one) for each in groups for one in each.values)
            at_edge = " (at the upper edge: none finished)" if none else ""
            detail += f"; arrows: too short, without {unfinished_words(lost)}{at_edge}"
        if has_intervals:
            empty = empty_words(columns, rows)
            few_as = left_out_words(columns, [*rows, *early], most_named=_MOST_LOST)
            same = same_words(columns, rows, value)
            words = (detail, same, few_as, PALE * has_few, empty)
            detail = "; ".join(filter(None, words))
        detail = "; ".join(filter(None, (detail, pooled.flows)))
    shares = kind == "cdf"
    return Spread(
        kind,
        title if shares else place_title(lines_name([str(x)], columns), x_unit, texts),
        f"Share of {_shared(columns, rows, by)}" if shares else title,
        groups,
        categories,
        lines_name(by, columns),
        is_time=is_time,
        has_points=has_points,
        axes=[] if x is None else [(x, x_unit)],
        measure=(value, unit),
        is_wide=shares and is_wide([group.values[0] for group in groups if group.values]),
        detail=detail,
        over=over,
        by=by,
        along=compared_name(str(x), columns),
        counted="pairs" if has_intervals else "values" if kind == "interval" else "runs",
        zero=zero,
    )


def _are_crowded(
    columns: Columns, keys: Mapping[tuple[str, ...], Sequence[int]], x: str, value: str
) -> bool:
    """Whether means of times, of lines with these rows, have no room at their numbers: these are
    many, and several lines have marks of their own at some, as runs of theirs did not finish.
    """
    every: set[str] = set()
    short: dict[str, set[tuple[str, ...]]] = {}
    for key, rows in keys.items():
        for row in rows:
            text = text_of(columns[x][row])
            every.add(text)
            if math.isnan(shown_number(columns[value][row], value)):
                short.setdefault(text, set()).add(key)
    is_time = value.endswith("_ns")
    return is_time and len(every) >= LEAST_FOR_BANDS and any(len(one) > 1 for one in short.values())


def spread_figure(
    data: Spread,
    *,
    title: str | None = None,
    xscale: str | None = None,
    yscale: str | None = None,
    size: Size | None = None,
) -> Figure:
    """Return the figure of `plot_spread`."""
    every = data
    if data.kind in ("box", "interval") and data.panels:
        every = replace(data, groups=[group for one in data.panels for group in one.groups])
    logs = _logs(every, xscale, yscale)
    cut = None if logs.y else cut_of(every)
    detail = _detail(every, cut)
    if data.kind == "heatmap":
        return heatmaps_figure(data, title=title, size=size)
    usual_in = _USUAL_IN
    if boxes := _boxes_side_by_side(data):
        # More boxes have the width of a page, and then more rows, unless the user wants another.
        usual_in = (PAGE_IN, 2.9) if boxes > _MANY_BOXES else _USUAL_IN
        width, height = size_in(size, (usual_in[0], 0.0))
        rows = math.ceil(boxes / (_MOST_IN_INCH * (width - 0.6)))
        if rows > 1 and height == 0:
            data = in_rows(data, min(rows, len(data.categories or ())))
        elif rows > 1:
            warn_dense(f"{boxes} boxes", width)
    if data.panels:
        scale = xscale if data.kind == "cdf" else yscale
        how: Any = {"title": title, "size": size, "is_asked": scale is not None}
        return _panels_figure(replace(data, detail=detail), logs, cut, **how)
    width, height = size_in(size, usual_in)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        axes = figure.add_subplot()
        entries: dict[str, Any] = {}
        if data.kind == "interval":
            found = draw_spread_intervals(axes, data, logs, (width, height), cut)
            are_changes = any(group.ends for group in data.groups)
            draw_endless(axes, found, width, logs.x, are_changes=are_changes)
            detail = "; ".join(filter(None, (detail, _aside_words(found))))
        elif data.kind == "cdf":
            looks = [*zip(spread_looks(data), share_widths(len(data.groups)), strict=True)]
            draw_shares(axes, data, looks, _places(data)[0], is_log=logs.x.is_log)
        else:
            entries = draw_spread_boxes(axes, data, logs, (width, height))
        if data.kind == "interval" and data.categories is not None:
            name_categories(axes, data.categories, width)
        make_room_above(figure, [[axes]], size)
        label_axes(
            figure,
            axes,
            log_title(data.x_title) if logs.x.is_log else data.x_title,
            log_title(data.y_title) if logs.y else data.y_title,
            data.lines_title,
            title=title,
            kind=data.name or data.kind,
            entries=entries or entries_of(data),
            seen=_places(data),
            units=units_of(data),
            x_refused=_NAMED.get(data.kind, "")
            or ("the axis has names" if data.categories is not None else ""),
            remark=data.remark,
            detail=detail,
        )
    return figure


def _aside_words(drawn: Iterable[Endless]) -> str:
    return ASIDE * any(one.is_aside for one in drawn)


def _boxes_side_by_side(data: Spread) -> int:
    """How many boxes stand side by side in the only panel of a figure; 0 of another one."""
    if data.kind != "box" or data.panels or schemes_of(data):
        return 0
    return len(data.groups) * len(data.categories or ())


def _panels_figure(
    data: Spread,
    logs: Logs,
    cut: tuple[float, float] | None,
    *,
    title: str | None,
    size: Size | None,
    is_asked: bool,
) -> Figure:
    """Return the figure of panels beside each other, in which a line has the same look.

    They have the same axes, unless the values of one would be a stroke and neither the ends of
    their axis nor its scale, which `is_asked` for, are chosen. Changes always have the same.
    """
    groups = {tuple(one.key): one for panel in data.panels for one in panel.groups}
    of_all = replace(data, groups=[*groups.values()], panels=())
    looks = dict(zip(groups, spread_looks(of_all), strict=True))
    styles = dict(zip(groups, spread_styles(of_all), strict=True))
    widths = dict(zip(groups, share_widths(len(groups)), strict=True))
    places = [_places(one) for one in data.panels]
    every = [one for across, _ in places for one in across]
    is_share, choice = data.kind == "cdf", chosen_axes()
    has_ends = choice is not None and bool(choice.xlim if is_share else choice.ylim)
    are_changes = any(one.ends for one in groups.values())
    is_free = not (is_asked or has_ends or are_changes or is_in_rows(data))
    is_log = logs.x.is_log if is_share else logs.y
    has_own = is_free and has_strokes(data.panels, is_log=is_log)
    of_kind = ends_of_boxes if data.kind == "box" else ends_of_means
    drawn_all = replace(of_all, groups=[one for panel in data.panels for one in panel.groups])
    endless: list[tuple[Axes, Sequence[Endless], float]] = []
    entries: dict[str, Any] = {}
    wide: Mapping[tuple[str, ...], float] = {}

    own_ends = near_ends([*map(drawn_of, data.panels)])

    def ends_of(place: int) -> tuple[float, float]:
        """The ends of the axis of values of a panel."""
        if not has_own or not places[place][1]:
            return of_kind(drawn_all, logs)
        one = data.panels[place]
        if logs.y:
            return of_kind(one, logs)
        low, high = own_ends[place]
        # An interval of what cannot be negative may reach below 0.
        return (low if min(places[place][1]) < 0 else max(low, 0.0)), high

    def draw(axes: Axes, place: int, size_in: tuple[float, float]) -> None:
        one = data.panels[place]
        if is_share:
            keys = [tuple(group.key) for group in one.groups]
            drawn = [(looks[key], widths[key]) for key in keys]
            own = places[place][0] if has_own and places[place][0] else every
            draw_shares(axes, one, drawn, own, is_log=logs.x.is_log)
            return
        if data.kind == "box":
            entries.update(draw_spread_boxes(axes, one, logs, size_in, ends_of(place), styles))
            if has_own and not places[place][1]:
                # There are only arrows, which have no place on the axis.
                axes.set_yticks([])
            return
        found = draw_spread_intervals(axes, one, logs, size_in, cut, looks, shown[place], wide)
        endless.append((axes, found, size_in[0]))
        if one.categories is not None:
            name_categories(axes, one.categories, size_in[0])

    shown = [None if are_changes else ends_of(place) for place in range(len(data.panels))]
    if data.kind == "interval":
        each = zip(data.panels, shown, strict=True)
        wide = same_widths([widths_of_means(one, logs, cut, ends) for one, ends in each], LINE_PT)

    def finish() -> str:
        # The axes of values have their ends when all panels are drawn.
        for axes, some, width in endless:
            draw_endless(axes, some, width, logs.x, are_changes=are_changes)
        return _aside_words(one for _, some, _ in endless for one in some)

    linear = [] if is_share or logs.y else [*map(ends_of, range(len(data.panels)))]
    words = own_words(linear) if has_own else ""
    if has_own and linear:
        titles = names_of_own([one.name for one in data.panels], linear)
        named = zip(data.panels, titles, strict=True)
        data = replace(data, panels=[replace(one, name=name) for one, name in named])
    data = replace(data, detail="; ".join(filter(None, (data.detail, words))))
    seen = every, [one for _, up in places for one in up]
    how: Any = {"title": title, "size": size, "log_y": logs.y, "entries": entries}
    own: Any = {"own_x": has_own and is_share, "own_y": has_own and not is_share}
    return panels_figure(data, draw, finish, seen, logs.x, **how, **own)


def _mark_same(groups: Sequence[Group], *, baseline: str) -> None:
    """Note which lines have the same values everywhere as an earlier one, or, of changes, as the
    baseline.
    """
    same = alike((one.label, repr((one.x, one.values, one.ends))) for one in groups)
    for one in groups:
        values = [value for cell in one.values for value in cell]
        is_none = bool(baseline) and bool(values) and not any(values)
        one.same = baseline if is_none else same.get(one.label, "")


def _unmark_empty(data: Spread) -> None:
    """Of lines without any value do not say that they are the same; of times say that no run
    finished.
    """
    groups = [group for one in data.panels or [data] for group in one.groups]
    having = {group.label for group in groups if any(known_of(cell) for cell in group.values)}
    for group in groups:
        group.same = group.same if group.label in having else ""
        group.is_empty = data.is_time and group.label not in having


def _places(data: Spread) -> tuple[list[float], list[float]]:
    """The places of what is drawn, across and up."""
    values = [one for group in data.groups for cell in group.values for one in known_of(cell)]
    if data.kind == "cdf":
        return values, []
    if data.kind == "interval":
        values = [mean for group in data.groups for mean, *_ in bars_of(group)]
    return [x for group in data.groups for x in group.x], values


def _logs(data: Spread, xscale: str | None, yscale: str | None) -> Logs:
    """Return which axes are logarithmic: as requested, or if it suits the values."""
    check_scale("--xscale", xscale)
    check_scale("--yscale", yscale)
    for option, scale, why in (
        ("--xscale", xscale, _NAMED.get(data.kind)),
        ("--yscale", yscale, _NAMED.get(data.kind) if data.kind == "heatmap" else None),
        ("--yscale", yscale, "shares have a linear axis" if data.kind == "cdf" else None),
    ):
        if scale == "log" and why is not None:
            raise refusal(
                f"{option} log: {why}", name=option, value=scale, accepted="linear for this kind"
            )
    if data.kind == "heatmap":
        return Logs()
    if data.kind == "cdf":
        panels = data.panels or [data]
        groups = [group for panel in panels for group in panel.groups]
        known = [one for group in groups for values in group.values for one in values]
        is_log = is_log_value(xscale, known, suits=data.is_wide, option="--xscale")
        return Logs(x=LOG if is_log else LINEAR)
    if data.kind == "box":
        medians = [median_of(data, values) for group in data.groups for values in group.values]
        drawn = drawn_of(data)
        suits = hides(medians, drawn)
        return Logs(y=is_log_value(yscale, drawn, suits=suits))
    places = [x for group in data.groups for x in group.x]
    bars = [bar for group in data.groups for bar in bars_of(group)]
    drawn = [one for bar in bars for one in bar]
    # Differences and ratios are around 0.
    suits = not any(group.ends for group in data.groups) and hides([bar[0] for bar in bars], drawn)
    return Logs(
        scale_of_places(xscale, places, has_names=data.categories is not None),
        is_log_value(yscale, drawn, suits=suits),
    )


def _detail(data: Spread, cut: tuple[float, float] | None = None) -> str:
    """What the marks are, and what else a legend would have."""
    label = data.groups[0].label if schemes_of(data) else ""
    words = [*line_named_by(label, data.x_title), data.detail]
    ends = [one for group in data.groups for one in group.ends]
    # Intervals without an end, and those with ends beyond the axis.
    arrows = ["without an end"] * any(math.isinf(end) for one in ends for end in one)
    beyond_it = [] if cut is None else [one for one in ends if is_cut(one, cut)]
    if beyond_it:
        longest = max(beyond_it, key=lambda one: one[1] - one[0])
        # Three digits.
        digits = max(0, 2 - math.floor(math.log10(max(map(abs, longest)))))
        far = " to ".join(number_words(one, digits, signed=True) for one in longest)
        most = "the longest " if len(beyond_it) > 1 else ""
        arrows.append(f"beyond the axis, {most}from {far} {data.measure[1]}".rstrip())
    words.append(f"arrows: intervals {' or '.join(arrows)}" if arrows else "")
    return "; ".join(filter(None, words))
