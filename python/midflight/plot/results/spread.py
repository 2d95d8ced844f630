"""Results as distributions, means and maps: how the runs of a sweep are spread.

The tables, axes and units are those of `midflight.plot.results.axis`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from midflight.meant import did_you_mean
from midflight.plot.common.coincide import widths_of_joined
from midflight.plot.common.figure import Dress, check_dress, label_axes, write_figure
from midflight.plot.common.line_looks import (
    few_entries,
    line_looks,
    line_named_by,
    schemes_apart,
    unbroken,
)
from midflight.plot.common.options import as_names, check_scale
from midflight.plot.common.place_scale import LINEAR, LOG, PlaceScale
from midflight.plot.common.plain import usual_of_folder
from midflight.plot.common.style import (
    COLUMN_IN,
    SERIES,
    Look,
    Size,
    check_format,
    chosen_axes,
    size_in,
    style,
)
from midflight.plot.results.alike import alike
from midflight.plot.results.axis import (
    axis_places,
    check_is_measured,
    compared_name,
    kept_words,
    lines_name,
    name_categories,
    place_title,
    pooled_words,
    shown_number,
)
from midflight.plot.results.box_words import arrow_words, box_words, has_no_boxes
from midflight.plot.results.boxes import draw_boxes
from midflight.plot.results.compared import (
    FEW,
    MEANS,
    counts_of,
    empty_words,
    ends_of,
    has_ends,
    is_few,
    left_out_words,
    measured_of,
    over_of,
    same_words,
    usual_ends,
)
from midflight.plot.results.dodge import (
    Whiskers,
    marker_high,
    side_by_side_at_names,
    whiskers_of,
)
from midflight.plot.results.heatmaps import heatmap_of, heatmaps_figure
from midflight.plot.results.line_names import one_line_name
from midflight.plot.results.maps import number_words
from midflight.plot.results.paired import (
    by_value,
    check_is_apart,
    paired_figure,
    samples_of,
    source_of,
)
from midflight.plot.results.quartiles import mark_endless
from midflight.plot.results.rows import (
    early_words,
    kept_text,
    kept_values,
    ordered,
    rows_of,
    text_of,
)
from midflight.plot.results.samples import averaged_words, interval_words, sampling
from midflight.plot.results.scales import (
    beyond,
    hides,
    is_log_value,
    log_title,
    open_edges,
    scale_of_places,
    set_log,
    set_places,
)
from midflight.plot.results.shares import (
    LINE_PT,
    counted_axes,
    draw_shares,
    is_wide,
    line_style,
    panels_of,
    share_words,
    shares_figure,
)
from midflight.plot.results.spans import Span, draw_span, takes_bands
from midflight.plot.results.spread_data import (
    Group,
    Spread,
    interval_of,
    known_of,
    quantiles_of,
    side_by_side,
    spread_rows,
)
from midflight.plot.results.tables import (
    Columns,
    TableSource,
    columns_of,
    missing_column,
    results_of,
)
from midflight.plot.results.unfinished import counted_words, unfinished_words
from midflight.plot.usual import Shown, missing_argument, usual_rows, usual_shown
from midflight.refusal import names_arguments, refusal
from midflight.sweep_results import unit_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SPREADS", "Spread", "plot_spread", "spread_figure", "spread_of", "spread_rows"]

#: The kinds of figures of results, beside the medians over an axis.
SPREADS = ("cdf", "box", "interval", "heatmap")

_USUAL_IN = (COLUMN_IN * 1.25, 2.9)
#: Why an axis of a kind cannot be logarithmic.
_NAMED: Mapping[str, str] = {
    "box": "boxes stand side by side, however far apart their numbers are",
    "heatmap": "the cells of a map stand side by side, however far apart their numbers are",
}

#: The room above and below a panel of boxes, in inches, about.
_AROUND_IN = 0.9

#: How the mark of a point of few pairs stands beside it.
_FEW_HOW: Mapping[str, Any] = {
    "textcoords": "offset points",
    "va": "center",
    "fontsize": 9,
    "zorder": 6,
}


_Values: TypeAlias = NDArray[np.float64]
_Ends: TypeAlias = tuple[float, float]


@names_arguments
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
    title: str | None = None,
    xscale: str | None = None,
    yscale: str | None = None,
    size: Size | None = None,
    **dress: Unpack[Dress],
) -> Path:
    """Draw the distribution of a measurement into a .png, .svg, .pdf or .pgf file; return the file.

    `kind` is "cdf" (the share of runs with at most a value, a line for each value of `by`), "box"
    (5, 25, 50, 75 and 95 % of the values at each `x`), "interval" (means at each `x` with their 95
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
    has: Any = {"has_by": by is not None}
    paired = paired_figure(source, kind, asked, where, **has)
    if paired is not None:
        source, shown = paired.file, paired.shown
    else:
        source = source_of(source, value)
        shown = usual_shown(source, kind, asked, where=where, **has)
    if shown.value is None:
        raise missing_argument("value")
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
    data = spread_of(columns, kind, value=str(shown.value), **how)

    def draw() -> Figure:
        return spread_figure(data, xscale=xscale, yscale=yscale, size=size, title=title)

    with usual_of_folder(source):
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
    samples: Sequence[str] = (),
) -> Spread:
    """Return what `plot_spread` draws; `samples` are the axes that the intervals of a comparison
    are over, if they are known.
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

        if (panels := panels_of(columns, rows, kept, by, value, lines_of)) is not None:
            found = panels
        else:
            found = _lines(columns, rows, kept, kind, None, value, by, samples)
    else:
        found = _lines(columns, rows, kept, kind, x, value, by, samples)
    words = (found.detail, early_words(columns, found_rows, by))
    return replace(
        found,
        detail="; ".join(filter(None, words)),
        remark=kept_words(columns, {x, *by}, kept),
        where=kept_text(kept),
    )


def _lines(
    columns: Columns,
    rows: Sequence[int],
    kept: Mapping[str, Sequence[str]],
    kind: str,
    x: str | None,
    value: str,
    by: Sequence[str],
    samples: Sequence[str],
) -> Spread:
    orders = [ordered(columns, rows, name, kept) for name in by]
    keys: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        keys.setdefault(tuple(text_of(columns[name][row]) for name in by), []).append(row)
    if len(keys) > len(SERIES):
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
        if kind == "box":
            # However far apart their numbers are.
            numbers, categories, x_unit = side_by_side(texts, x)
            places = {text: float(number) for text, number in numbers.items()}
        else:
            places, categories, x_unit = axis_places(texts, x)
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
            group.names.append(f"{place:.12g}" if categories is None else categories[int(place)])
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
            group.values.append(each)
        groups.append(group)
    has_baseline = has_intervals and "baseline" in columns
    _mark_same(groups, baseline=text_of(columns["baseline"][rows[0]]) if has_baseline else "")
    over, detail = "", ""
    lost = {} if has_intervals else {one.label: sum(one.missing) for one in groups}
    # The values of these are counted as samples, or as runs.
    taken: Sequence[str] = ()
    if kind == "cdf":
        detail = share_words([Spread(kind, "", "", groups)], is_time=is_time)
        taken = counted_axes(detail)
    if kind == "box":
        boxes = Spread(kind, "", "", groups, is_time=is_time)
        detail = "; ".join(filter(None, (box_words(boxes), counted_words(lost, is_time=is_time))))
        # Of fewer runs that do not finish no whisker is endless.
        drawn = [quantiles_of(boxes, one) for group in groups for one in group.values]
        misses = any(math.isinf(one[4]) for one in drawn)
    if kind == "interval":
        counts = [number for group in groups for number, _ in group.counts]
        over = over_of(columns, rows) if sampled is None else sampled.over
        taken = samples if sampled is None else sampled.axes
        what = MEANS[value] if has_intervals else "mean"
        detail = interval_words(what, over, counts, taken)
        if misses:
            detail += f"; arrows: too short, without {unfinished_words(lost)}"
        if has_intervals:
            most = _most_pairs(groups)
            has_few = any(is_few(pairs, most) for group in groups for _, pairs in group.counts)
            empty = empty_words(columns, rows, by, str(x))
            few_as = left_out_words(columns, rows)
            averaged = averaged_words(over, samples)
            same = same_words(columns, rows, value)
            words = (detail, same, averaged, few_as, FEW * has_few, empty)
            detail = "; ".join(filter(None, words))
    if kind == "box" and misses and not detail.startswith("no boxes: "):
        detail += f"; {arrow_words(drawn, is_of_runs=detail.startswith('no boxes'))}"
    pooled = pooled_words(columns, value, {x, *by, *taken}, kept)
    detail = "; ".join(filter(None, (detail, pooled)))
    shares = kind == "cdf"
    return Spread(
        kind,
        title if shares else place_title(lines_name([str(x)], columns), x_unit, texts),
        "Share of runs" if shares else title,
        groups,
        categories,
        lines_name(by, columns),
        is_time=is_time,
        axes=[] if x is None else [(x, x_unit)],
        measure=(value, unit),
        is_wide=shares and is_wide([group.values[0] for group in groups if group.values]),
        detail=detail,
        over=over,
        by=by,
        along=compared_name(str(x), columns),
        counted="pairs" if has_intervals else "values" if kind == "interval" else "runs",
    )


def spread_figure(
    data: Spread,
    *,
    title: str | None = None,
    xscale: str | None = None,
    yscale: str | None = None,
    size: Size | None = None,
) -> Figure:
    """Return the figure of `plot_spread`."""
    logs = _logs(data, xscale, yscale)
    cut = None if logs.y else _cut(data)
    detail = _detail(data, cut)
    if data.kind == "heatmap":
        return heatmaps_figure(data, title=title, size=size)
    if data.panels:
        groups = {tuple(one.key): one for panel in data.panels for one in panel.groups}
        of_all = replace(data, groups=[*groups.values()])
        looks = dict(zip(groups, _looks(of_all), strict=True))
        how: Any = {"is_log": logs.x.is_log, "is_asked": xscale is not None}
        return shares_figure(data, looks, title=title, size=size, **how)
    width, height = size_in(size, _USUAL_IN)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        axes = figure.add_subplot()
        entries: dict[str, Any] = {}
        if data.kind == "interval":
            _draw_intervals(axes, data, logs, (width, height), cut)
        elif data.kind == "cdf":
            draw_shares(axes, data, _looks(data), _places(data)[0], is_log=logs.x.is_log)
        else:
            entries = _draw_boxes(axes, data, logs, height)
        if data.kind != "cdf" and data.categories is not None:
            name_categories(axes, data.categories, width)
        label_axes(
            figure,
            axes,
            log_title(data.x_title) if logs.x.is_log else data.x_title,
            log_title(data.y_title) if logs.y else data.y_title,
            data.lines_title,
            title=title,
            kind=data.name or data.kind,
            entries=entries or _entries(data),
            seen=_places(data),
            units=_units(data),
            x_refused=_NAMED.get(data.kind, "")
            or ("the axis has names" if data.categories is not None else ""),
            remark=data.remark,
            detail=detail,
        )
    return figure


def _mark_same(groups: Sequence[Group], *, baseline: str) -> None:
    """Note which lines have the same values everywhere as an earlier one, or, of changes, as the
    baseline.
    """
    same = alike((one.label, repr((one.x, one.values, one.ends))) for one in groups)
    for one in groups:
        values = [value for cell in one.values for value in cell]
        is_none = bool(baseline) and bool(values) and not any(values)
        one.same = baseline if is_none else same.get(one.label, "")


def _places(data: Spread) -> tuple[list[float], list[float]]:
    """The places of what is drawn, across and up."""
    values = [one for group in data.groups for cell in group.values for one in known_of(cell)]
    if data.kind == "cdf":
        return values, []
    if data.kind == "interval":
        values = [
            interval_of(group, place)[0] for group in data.groups for place in range(len(group.x))
        ]
    return [x for group in data.groups for x in group.x], values


def _units(data: Spread) -> tuple[str, str]:
    if data.kind == "cdf":
        return data.measure[1], ""
    return data.axes[0][1], data.measure[1]


class Logs(NamedTuple):
    """The scale of the horizontal axis, and whether that of values is logarithmic."""

    x: PlaceScale = LINEAR
    y: bool = False


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
        boxes = [quantiles_of(data, values) for group in data.groups for values in group.values]
        drawn = [one for box in boxes for one in box if math.isfinite(one)]
        suits = hides([box[2] for box in boxes], drawn)
        return Logs(y=is_log_value(yscale, drawn, suits=suits))
    places = [x for group in data.groups for x in group.x]
    bars = [interval_of(group, one) for group in data.groups for one in range(len(group.x))]
    drawn = [one for bar in bars for one in bar]
    # Differences and ratios are around 0.
    suits = not any(group.ends for group in data.groups) and hides([bar[0] for bar in bars], drawn)
    return Logs(
        scale_of_places(xscale, places, has_names=data.categories is not None),
        is_log_value(yscale, drawn, suits=suits),
    )


def _looks(data: Spread) -> list[Look]:
    looks = [look for _, look, _ in _styled(data)]
    return unbroken(looks) if data.kind == "cdf" else looks


def _styled(data: Spread) -> list[tuple[Group, Look, int]]:
    """What is drawn, with its look and the place of its line style in `SERIES`."""
    if schemes := _schemes(data):
        return schemes
    keys, labels = [one.key for one in data.groups], [one.label for one in data.groups]
    looks = line_looks(data.by, keys, labels)
    return [(one, look, style) for one, (look, style) in zip(data.groups, looks, strict=True)]


def _entries(data: Spread) -> dict[str, Any]:
    """The entries of the legend where they are not the lines."""
    keys = [one.key for one in data.groups]
    if any(len(key) != len(data.by) for key in keys):
        return {}
    return few_entries(data.by, keys, _looks(data))


def _step(data: Spread) -> float:
    """The least way between two places of the axis."""
    places = sorted({x for group in data.groups for x in group.x})
    return min((b - a for a, b in pairwise(places)), default=1.0)


def _dodged(data: Spread, group: Group, place: int, step: float) -> NDArray[np.float64]:
    """The places of a group's values side by side, with this distance between two groups."""
    aside = 0.0 if _schemes(data) else (place - (len(data.groups) - 1) / 2) * step
    return np.array(group.x, dtype=np.float64) + aside


def _ends_of_values(data: Spread, logs: Logs, cut: tuple[float, float] | None) -> _Ends:
    """The ends of the axis of values of means and intervals, without its margin."""
    bars = [interval_of(group, place) for group in data.groups for place in range(len(group.x))]
    known = [one for bar in bars for one in bar if math.isfinite(one) and not (logs.y and one <= 0)]
    if logs.y:
        return min(known), max(known)
    return cut or (min([0.0, *known]), max([0.0, *known]))


def _whiskers(
    data: Spread, logs: Logs, size_in: tuple[float, float], ends: _Ends, *, bands: bool
) -> Whiskers:
    """Where the lines of means over numbers stand, with their whiskers."""
    width, height = size_in

    def up(value: float) -> float:
        return math.log(max(value, 1e-300)) if logs.y else value

    marks = []
    for group in data.groups:
        bars = [interval_of(group, place) for place in range(len(group.x))]
        each = zip(group.x, bars, strict=True)
        marks.append([(x, up(low), up(high)) for x, (_, low, high) in each])
    marker = marker_high(up(ends[1]) - up(ends[0]), height)
    return whiskers_of(marks, marker, width, logs.x, bands=bands)


def _detail(data: Spread, cut: tuple[float, float] | None = None) -> str:
    """What the marks are, and what else a legend would have."""
    label = data.groups[0].label if _schemes(data) else ""
    words = [*line_named_by(label, data.x_title), data.detail]
    ends = [one for group in data.groups for one in group.ends]
    # Intervals without an end, and those with ends beyond the axis.
    arrows = ["without an end"] * any(math.isinf(end) for one in ends for end in one)
    beyond_it = [] if cut is None else [one for one in ends if _is_cut(one, cut)]
    if beyond_it:
        longest = max(beyond_it, key=lambda one: one[1] - one[0])
        # Three digits.
        digits = max(0, 2 - math.floor(math.log10(max(map(abs, longest)))))
        far = " to ".join(number_words(one, digits, signed=True) for one in longest)
        most = "the longest " if len(beyond_it) > 1 else ""
        arrows.append(f"beyond the axis, {most}from {far} {data.measure[1]}".rstrip())
    words.append(f"arrows: intervals {' or '.join(arrows)}" if arrows else "")
    return "; ".join(filter(None, words))


def _most_pairs(groups: Sequence[Group]) -> int:
    return max((pairs for group in groups for _, pairs in group.counts), default=0)


def _is_cut(ends: tuple[float, float], cut: tuple[float, float]) -> bool:
    return math.isfinite(ends[1] - ends[0]) and (ends[0] < cut[0] or ends[1] > cut[1])


def _cut(data: Spread) -> tuple[float, float] | None:
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


def _schemes(data: Spread) -> list[tuple[Group, Look, int]]:
    """The schemes that the axis names, if there is a single line over these."""
    return schemes_apart(data.along, data.categories, data.groups) if data.kind != "cdf" else []


def _draw_boxes(axes: Axes, data: Spread, logs: Logs, height_in: float) -> dict[str, Any]:
    """Draw boxes in a figure of a height; return the entries of the legend."""
    step = 0.8 * _step(data) / max(1, len(data.groups))
    width = 0.775 * step
    every = [one for group in data.groups for values in group.values for one in known_of(values)]
    top = (1.3 if logs.y else 1.04) * max(every, default=1.0) or 1.0
    low = min(one for one in every if one > 0) / 1.3 if logs.y else min(0.0, *every, 0.0)
    over = beyond(low, top, is_log=logs.y)
    choice = chosen_axes()
    ends = next(iter(choice.ylim.values()), (low, top)) if choice is not None else (low, top)
    room_pt = 72 * max(0.5, height_in - _AROUND_IN)
    entries: dict[str, Any] = {}
    for place, (group, look, number) in enumerate(_styled(data)):
        points = np.array([quantiles_of(data, values) for values in group.values]).reshape(-1, 5)
        x, shown = _dodged(data, group, place, step), np.minimum(points, over)
        points_pt = room_pt * _shares(shown, ends, is_log=logs.y)
        handle = draw_boxes(axes, group.named, look, x, shown, width, number, points_pt)
        if group.label and handle is not None:
            entries[group.named] = handle
        mark_endless(axes, x, points[:, 4], top, look)
    if logs.y:
        set_log(axes.yaxis, low, top)
    else:
        axes.set_ylim(low, top)
    if has_no_boxes(data):
        # There are only arrows, which have no place on the axis.
        axes.set_yticks([])
    open_edges(axes, [*axes.lines, *axes.patches])
    return entries


def _shares(values: _Values, ends: tuple[float, float], *, is_log: bool) -> _Values:
    """How far up an axis with these ends values are, in shares of it."""
    low, top = map(math.log, ends) if is_log else ends
    return ((np.log(np.maximum(values, ends[0])) if is_log else values) - low) / (top - low)


def _draw_endless(axes: Axes, x: _Values, low: _Values, high: _Values, look: Look) -> None:
    """Draw intervals without an end to the edges of the axes, with arrows there."""
    chosen = np.isinf(low) | np.isinf(high)
    if not chosen.any():
        return
    x, low, high = x[chosen], low[chosen], high[chosen]
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top)
    axes.vlines(x, np.maximum(low, bottom), np.minimum(high, top), look.colour, linewidth=0.9)
    for ends in (low, high):
        sure = np.isfinite(ends)
        axes.plot(x[sure], ends[sure], "_", color=look.colour, markersize=4.4, markeredgewidth=0.9)
    mark_endless(axes, x, low, bottom, look, "down")
    mark_endless(axes, x, high, top, look)


def _joined_means(group: Group) -> list[float]:
    """The means that a line goes through; nan where it does not."""
    each = enumerate(group.is_short)
    return [math.nan if short else interval_of(group, place)[0] for place, short in each]


def _draw_intervals(
    axes: Axes,
    data: Spread,
    logs: Logs,
    size_in: tuple[float, float],
    cut: tuple[float, float] | None,
) -> None:
    """Draw means and intervals."""
    has_numbers = data.categories is None
    has_negative = False
    ends: list[float] = []
    places = [x for group in data.groups for x in group.x]
    has_short = any(one for group in data.groups for one in group.is_short)
    most_places = max((len(group.x) for group in data.groups), default=0)
    styled = _styled(data)
    bands = takes_bands(most_places, has_names=not has_numbers)
    # Means over numbers stand at their number, or a little aside; means over names side by side.
    if has_numbers:
        values = _ends_of_values(data, logs, cut)
        whiskers = _whiskers(data, logs, size_in, values, bands=bands)
        means = [(group.x, _joined_means(group)) for group in data.groups]
        widths = widths_of_joined(means, values, LINE_PT, scale_x=logs.x, log_y=logs.y)
    else:
        step = 0.64 * _step(data) / (1 if _schemes(data) else max(1, len(data.groups)))
        apart = side_by_side_at_names(step, len(data.categories or ()), size_in[0])
        each = enumerate(styled)
        at_names = [_dodged(data, group, place, apart.step) for place, (group, *_) in each]
        whiskers = Whiskers(at_names, apart.cap_pt)
        widths = [LINE_PT] * len(styled)
    endless = []
    has_bars = False
    most = _most_pairs(data.groups)
    for place, (group, look, _) in enumerate(styled):
        at = whiskers.at[place]
        points = np.array([interval_of(group, one) for one in range(len(group.x))]).reshape(-1, 3)
        mean, low, high = points.T
        if cut is not None and group.ends:
            low[low < cut[0]] = -np.inf
            high[high > cut[1]] = np.inf
        sure = np.isfinite(low) & np.isfinite(high)
        has_bars |= bool(sure.any())
        endless.append((at, low, high, look))
        # An interval of what cannot be negative may reach below 0.
        # That of a comparison has the baseline at 0.
        has_negative |= bool((mean < 0).any() or group.ends)
        ends += points[np.isfinite(points)].tolist()
        short = np.array(group.is_short, dtype=np.bool_)
        span = Span(at, mean, low, high, ~short)
        draw_span(axes, span, look, at, whiskers.cap_pt, bands=bands, lines=len(styled))
        how = line_style(look, widths[place])
        how |= {} if has_numbers else {"linestyle": "none"}
        # A line of means that leave out more and more runs would fall where times grow.
        drawn = axes.plot(at, np.where(short, np.nan, mean), label=group.named, zorder=4, **how)
        drawn += axes.plot(at[short], mean[short], zorder=4, **{**how, "linestyle": "none"})
        open_edges(axes, drawn)
        for number, (_, pairs) in enumerate(group.counts if group.ends else ()):
            if is_few(pairs, most):
                axes.annotate(
                    "*", (at[number], mean[number]), (3, -1), color=look.colour, **_FEW_HOW
                )
        above = np.where(sure, high, mean)[short]
        mark_endless(axes, at[short], np.full(above.shape, np.inf), above, look, above_pt=6.0)
    if logs.y:
        known = [one for one in ends if one > 0]
        set_log(axes.yaxis, min(known) / 1.3, 1.3 * max(known))
    elif has_negative:
        axes.axhline(0, color="0.3", linewidth=0.8, zorder=2)
        if cut is not None:
            axes.set_ylim(*cut)
    else:
        axes.set_ylim(0.0, (1.12 if has_short else 1.05) * max(ends, default=1.0) or 1.0)
    for one in endless:
        _draw_endless(axes, *one)
    if has_numbers:
        wide = has_bars and not bands
        set_places(axes, places, whiskers.at, size_in[0], logs.x, wide=wide)
