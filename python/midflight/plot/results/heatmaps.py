"""Heat maps of results: medians, or changes in pairs, over two axes, and several beside each other.

The tables, axes and units are those of `midflight.plot.results.axis`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.figure import label_axes, label_panels
from midflight.plot.common.names import FINISHED, column_name
from midflight.plot.common.style import (
    COLUMN_IN,
    PAGE_IN,
    Size,
    chosen_axes,
    is_paper,
    labelled,
    size_in,
    style,
)
from midflight.plot.results.axis import kept_words, lines_name, shown_number
from midflight.plot.results.compared import (
    EMPTY_MARKS,
    HINT,
    MEANS,
    UNSURE,
    check_is_one,
    counts_of,
    empty_mark,
    empty_words,
    ends_of,
    from_zero,
    from_zero_words,
    has_ends,
    is_compared,
    is_hint_of,
    is_number,
    is_small,
    is_unsure,
    left_out_words,
    measured_of,
    over_of,
    small_words,
    why_no_change,
)
from midflight.plot.results.maps import (
    Colours,
    Layout,
    Map,
    colours_of,
    decimals,
    draw_bar,
    draw_map,
    hatched_side,
    letters_pt,
    number_words,
    without_far,
)
from midflight.plot.results.places import place_title, spaced
from midflight.plot.results.pooled import pooled_words
from midflight.plot.results.rows import (
    Rows,
    compared_name,
    counted_as,
    done_early_in,
    early_words,
    kept_text,
    ordered,
    over_words,
    text_of,
)
from midflight.plot.results.samples import interval_words, pooled_of
from midflight.plot.results.scales import log_title
from midflight.plot.results.spread_data import Group, Spread, known_of, middle_of, side_by_side
from midflight.plot.results.tables import Columns
from midflight.plot.results.unfinished import counted_words
from midflight.plot.usual import MOST_MAPS
from midflight.refusal import refusal
from midflight.remark import warn_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["heatmap_of", "heatmaps_figure", "map_colours", "map_of", "shared_layout"]

#: The most maps beside each other in one row.
_IN_ROW = 3
#: The room that names of rows and the colour bar take up, in inches.
_BESIDE_IN = 1.3
#: That of the names and titles of the columns of a row of maps, and that of the text above all.
_BELOW_IN, _ABOVE_IN = 0.5, 0.3
#: The height of the text of a page in a paper of two columns.
_PAGE_HIGH_IN = 9.0
#: The size of a map, and the height of each row of several.
_USUAL_IN, _ROW_IN = (COLUMN_IN * 1.25, 2.9), 2.5
#: The least height of a row of maps that are below each other for their numbers, and that of a row
#: of their cells.
_LEAST_ROW_IN, _CELL_IN = 1.2, 0.2
#: Numbers that are easily read have letters of this size.
_EASY_PT = 5.5
#: The most decimals of changes in per cent.
_PER_CENT_DIGITS = 1
#: Values beyond the scale are named up to this number.
_MOST_BEYOND = 4
#: The looks of cells without pairs, if there are several.
_EMPTY_CELLS: Mapping[str, str] = {**EMPTY_MARKS, "none": "no arrow"}
#: Why the ends of the axes cannot be chosen.
_SIDE_BY_SIDE = "the cells of a map stand side by side, however far apart their numbers are"


class _Side(NamedTuple):
    """The places of the values of an axis of a map, their names, and the column with its unit."""

    places: Mapping[str, int]
    names: Sequence[str]
    axis: tuple[str, str]
    #: The column that it is called by, of the values of a comparison the compared one.
    named: str

    @property
    def title(self) -> str:
        return place_title(column_name(self.named), self.axis[1], self.places)


class _Plan(NamedTuple):
    """How several maps stand in a figure: its size, their rows, the room for one of them, and the
    decimals and the letters of their numbers, None without room for these.
    """

    size_in: tuple[float, float]
    lines: int
    layout: Layout
    room_pt: float
    room_up_pt: float
    digits: int
    letters: float | None


def heatmap_of(
    columns: Columns,
    found_rows: Rows,
    kept: Mapping[str, Sequence[str]],
    x: str,
    y: str,
    value: str,
    by: Sequence[str] = (),
    samples: Mapping[str, int] | None = None,
) -> Spread:
    """Return the content of a heat map, with `by` of one for each combination of their values;
    `samples` are the axes that the intervals of a comparison are over, with their numbers of
    values, if they are known.
    """
    sides, rows = [], found_rows.shown
    for name in (x, y):
        places, names, unit = side_by_side(ordered(columns, rows, name, kept), name)
        sides.append(_Side(places, names, (name, unit), compared_name(name, columns)))
    counted = counted_as(columns, rows, {x, y, *by})
    pooled = pooled_words(columns, value, {x, y, *by}, kept, counted=counted, rows=rows)
    words: dict[str, Any] = {"remark": kept_words(columns, {x, y, *by}, kept, pooled.flows)}
    words["where"] = kept_text(kept)
    unsure: Sequence[int] = ()
    has_arrows = False
    if is_compared(columns, value):
        # That only one side finished is a result, unlike that neither did.
        has_arrows = len({*filter(None, (empty_mark(columns, row) for row in rows))}) > 1
        lacking = [row for row in rows if not (has_arrows and empty_mark(columns, row))]
        each_why = [why_no_change(columns, row) for row in lacking]
        marked = empty_words(columns, rows, _EMPTY_CELLS) if has_arrows else ""
        reasons = dict.fromkeys(filter(None, (marked, *each_why)))
        words["empty"] = "; or ".join(reasons)
        over, each_count = over_of(columns, rows), [counts_of(columns, row) for row in rows]
        counts = [count for count, _ in each_count]
        hints = [row for row in rows if is_hint_of(columns, row)]
        # Without any interval none contains 0.
        if has_ends(columns, value) and max(counts, default=0) > 1:
            unsure = [row for row in rows if is_unsure(columns, row, value)]
        contain = any(row not in hints and is_number(columns[value][row]) for row in unsure)
        none = (
            UNSURE * contain,
            HINT * bool(hints and unsure),
            small_words(columns, rows[0], value) * any(is_small(columns, row) for row in rows),
        )
        words["unsure"] = " or ".join(filter(None, none))
        how: Any = {"shown": "", "one": "cell"}
        behind = pooled_of(over, samples or {})
        means = interval_words(MEANS[value], over, each_count, behind, **how) if any(counts) else ""
        zero = from_zero_words(columns, rows, value)
        each = (means, zero, left_out_words(columns, [*rows, *found_rows.early]))
        words["detail"] = "; ".join(filter(None, each))
    else:
        lost: dict[str, int] = {}
        for row in rows:
            named = ", ".join(text_of(columns[name][row]) for name in by)
            missing = math.isnan(shown_number(columns[value][row], value))
            lost[named] = lost.get(named, 0) + missing
        early = early_words(columns, found_rows, value, by)
        unfinished = counted_words(lost, is_time=value.endswith("_ns"))
        cells = Counter(tuple(text_of(columns[name][row]) for name in (x, y, *by)) for row in rows)
        is_one = max(cells.values(), default=0) < 2
        what = "medians" if value != FINISHED else "shares"
        medians = "" if is_one else over_words(what, cells.values(), counted, pooled, "cell")
        words["detail"] = "; ".join(filter(None, (medians, unfinished, early)))
        if found_rows.early:
            words["empty"] = f"flows {done_early_in(columns, value)}"
    if not by:
        marks: Any = {"has_unsure": bool(unsure), "has_arrows": has_arrows}
        return replace(_one_map(columns, rows, sides, value, **marks), **words)
    keys: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        keys.setdefault(tuple(text_of(columns[name][row]) for name in by), []).append(row)
    if len(keys) > MOST_MAPS:
        raise refusal(
            f"{len(keys)} maps have no room beside each other; a figure has up to {MOST_MAPS}: "
            f"keep fewer of {', '.join(by)} with --where, or give another --by",
            name="--by",
            value=", ".join(by),
            accepted=f"columns with up to {MOST_MAPS} combinations of values",
        )
    orders = [ordered(columns, rows, name, kept) for name in by]
    maps = [
        replace(
            _one_map(
                columns, keys[key], sides, value, has_unsure=bool(unsure), has_arrows=has_arrows
            ),
            name=", ".join(key),
            of=key,
        )
        for key in product(*orders)
        if key in keys
    ]
    title = measured_of(columns, rows, value, [x, y, *by])[0]
    medians = ", medians" if any(one.value_title.endswith(", medians") for one in maps) else ""
    return replace(
        maps[0],
        groups=(),
        panels=maps,
        panels_by=by,
        of=(),
        by=by,
        lines_title=lines_name(by, columns),
        name="",
        value_title=title + medians,
        **words,
    )


def _one_map(
    columns: Columns,
    rows: Sequence[int],
    sides: Sequence[_Side],
    value: str,
    *,
    has_unsure: bool,
    has_arrows: bool,
) -> Spread:
    """One map: a group for each of its rows. Changes that may be none are marked if they are known
    (`has_unsure`), and cells where only one side finished if they are to be told apart
    (`has_arrows`).
    """
    across, up = sides
    x, y = across.axis[0], up.axis[0]
    groups = []
    compared, has_intervals = is_compared(columns, value), has_ends(columns, value)
    title, unit, scale = measured_of(columns, rows, value, [x, y])
    cells: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        place = up.places[text_of(columns[y][row])], across.places[text_of(columns[x][row])]
        cells.setdefault(place, []).append(row)
    for line, named in enumerate(up.names):
        group = Group(named)
        for number in range(len(across.names)):
            found = cells.get((line, number), [])
            check_is_one(columns, found, value)
            if cell := [scale * shown_number(columns[value][row], value) for row in found]:
                group.x.append(float(number))
                group.names.append(across.names[number])
                group.values.append(cell)
                if compared:
                    ends = ends_of(columns, found[0], value, scale) if has_intervals else None
                    group.ends.append(ends or (math.nan, math.nan))
                    group.counts.append(counts_of(columns, found[0]))
                    is_none = has_unsure and is_unsure(columns, found[0], value)
                    group.unsure.append(is_none or is_small(columns, found[0]))
                    change = from_zero(columns, found[0], value)
                    if is_none and change is not None and change[0]:
                        # It may be none, so that it has the least colour of its direction.
                        change = math.copysign(math.ulp(0.0), change[0]), f"({change[1]})"
                    group.from_zero.append(change)
                    group.empty.append(empty_mark(columns, found[0]) if has_arrows else "")
        groups.append(group)
    # A cell of one run has its value.
    has_several = any(len(cell) > 1 for group in groups for cell in group.values)
    if has_several and value != FINISHED:
        title += ", medians"
    return Spread(
        "heatmap",
        across.title,
        up.title,
        groups,
        across.names,
        value_title=title,
        is_time=value.endswith("_ns"),
        axes=[across.axis, up.axis],
        measure=(value, unit),
        is_signed=compared,
        counted="pairs" if compared else "runs",
        over=over_of(columns, rows) if compared else "",
    )


def map_of(data: Spread) -> Map:
    """Return the cells of one map."""
    cells = np.full((len(data.groups), len(data.categories or ())), np.nan)
    words, arrows, from_0 = {}, {}, {}
    unsure: set[tuple[int, int]] = set()
    for line, group in enumerate(data.groups):
        for place, (x, values) in enumerate(zip(group.x, group.values, strict=True)):
            cells[line, int(x)] = middle_of(data, values)
            done = len(known_of(values))
            words[line, int(x)] = f"{done} of {len(values)}" if done else "never"
            if group.from_zero and (change := group.from_zero[place]) is not None:
                from_0[line, int(x)] = change
            if group.empty and group.empty[place] in ("up", "down"):
                arrows[line, int(x)] = group.empty[place]
            if group.counts and math.isfinite(cells[line, int(x)]) and group.unsure[place]:
                unsure.add((line, int(x)))
    rows = [group.label for group in data.groups]
    return Map(cells, data.categories or (), rows, words, unsure, arrows, from_0)


def map_colours(
    maps: Sequence[Map],
    *,
    signed: bool,
    usual: tuple[float, float] | None = None,
    groups: Mapping[str, NDArray[np.float64]] | None = None,
) -> Colours:
    """Return the colours of maps that share them, with the ends that the user has chosen, or else
    the `usual` ones, or those that suit all of the `groups` (`_groups_of`) but a few far ones.
    """
    choice = chosen_axes()
    ends = usual if choice is None or choice.vlim is None else choice.vlim
    finite = np.concatenate([one.finite for one in maps])
    if ends is None and signed and groups:
        finite = without_far(finite, [*groups.values()])
    return colours_of(finite, signed=signed, ends=ends)


def _groups_of(shown: Sequence[Spread], maps: Sequence[Map]) -> dict[str, NDArray[np.float64]]:
    """The values of each map of several, or of each compared value that is a side of the only one,
    by their names; none of other maps.
    """
    if len(maps) > 1:
        each = zip((one.name for one in shown), (one.finite for one in maps), strict=True)
        return dict(each)
    (one,), (data,) = maps, shown
    for place, (names, cells) in enumerate(((one.columns, one.cells.T), (one.rows, one.cells))):
        if data.axes[place][0] == "value":
            rows = zip(names, cells, strict=True)
            return {name: row[np.isfinite(row)] for name, row in rows}
    return {}


def heatmaps_figure(data: Spread, *, title: str | None = None, size: Size | None = None) -> Figure:
    """Return the figure of a heat map, or of several that share their colours."""
    shown = data.panels or [data]
    maps = [map_of(one) for one in shown]
    # A share is one of all runs.
    usual = (0.0, 100.0) if data.measure[0] == FINISHED else None
    groups = _groups_of(shown, maps)
    of: Any = {"signed": data.is_signed, "usual": usual, "groups": groups}
    colours = data.colours or map_colours(maps, **of)
    plan = _planned(maps, data, size, signed=colours.is_signed)
    (width, height), lines, in_row = plan.size_in, plan.lines, plan.layout.in_row
    if is_paper() and lines > 1 and height > _PAGE_HIGH_IN:
        warn_of(
            [
                f"{len(maps)} maps in {width:g} in are {height:.1f} in high, more than a page of a "
                "paper; --size double has them beside each other, and --where keeps fewer"
            ]
        )
    room, room_up, digits, letters = plan.room_pt, plan.room_up_pt, plan.digits, plan.letters
    hatched = hatched_side(maps, colours) if letters is None else 0
    detail = _detail(data, maps, is_written=letters is not None, hatched=hatched)
    detail = "; ".join(
        filter(None, (detail, _beyond_words(maps, colours, digits, groups, data.measure[1])))
    )
    far = max((abs(size) for one in maps for size, _ in one.from_zero.values()), default=0.0)
    # Those that may be none are no measure of the others.
    far = far if far > math.ulp(0.0) else 1.0
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        grid = figure.subplots(lines, in_row, squeeze=False).flatten()
        for axes in grid[len(maps) :]:
            axes.remove()
        panels = list(grid[: len(maps)])
        images = [
            draw_map(
                axes,
                one,
                colours,
                digits,
                (room, room_up),
                letters,
                hatched=hatched,
                far_from_0=far,
            )
            for axes, one in zip(panels, maps, strict=True)
        ]
        bar = log_title(data.value_title) if colours.is_log else data.value_title
        draw_bar(figure, panels, images[0], bar, maps, colours, hatched=hatched)
        how = {"title": title, "remark": data.remark, "detail": detail}
        if not data.panels:
            label_axes(
                figure,
                panels[0],
                data.x_title,
                data.y_title,
                "",
                kind="heatmap",
                x_refused=_SIDE_BY_SIDE,
                **how,  # type: ignore[arg-type]
            )
            return figure
        for place, (axes, one) in enumerate(zip(panels, shown, strict=True)):
            axes.set_title(labelled(one.name), parse_math=False)
            if place % in_row:
                axes.tick_params(labelleft=False)
            if place + in_row < len(panels):
                axes.tick_params(labelbottom=False)
        label_panels(
            figure,
            [
                (
                    axes,
                    data.x_title if place + in_row >= len(panels) else "",
                    data.y_title if place % in_row == 0 else "",
                )
                for place, axes in enumerate(panels)
            ],
            (room, room_up),
            "heatmap",
            x_refused=_SIDE_BY_SIDE,
            **how,  # type: ignore[arg-type]
        )
    return figure


def shared_layout(figures: Sequence[Spread]) -> Layout | None:
    """Return how maps stand in several figures so that all have the same size: as the one of them
    needs it that has most maps, and the longest numbers; None if none has several.
    """
    most = max((len(one.panels) for one in figures), default=0)
    if most < 2:
        return None
    found = []
    for one in (one for one in figures if one.panels):
        maps = [map_of(panel) for panel in one.panels]
        signed = map_colours(maps, signed=one.is_signed).is_signed
        found.append(_planned(maps, one, None, signed=signed, count=most).layout)
    return min(found)


def _planned(
    maps: Sequence[Map], data: Spread, size: Size | None, *, signed: bool, count: int = 0
) -> _Plan:
    """Return how maps stand in a figure of a size: as the data says, or beside each other, or as
    far below each other as their numbers need it to be easily read, or else to be there, if that
    gives them room. The figure has places for a `count` of maps, by default for these.
    """
    most = decimals(np.concatenate([one.finite for one in maps]))
    # As in tables.
    digits = min(_PER_CENT_DIGITS, most) if data.measure[1] == "%" else most
    count = count or len(maps)
    # Rows of about the same length: four maps are two rows of two.
    usual = math.ceil(count / _IN_ROW)
    given = data.layout
    if count == _IN_ROW and given is not None and given.in_row == 2:
        # Two and one would leave a hole.
        given = None
    cells = max(len(one.rows) for one in maps)
    low_in = min(_ROW_IN, max(_LEAST_ROW_IN, _BELOW_IN + _CELL_IN * cells))
    shapes = {math.ceil(count / lines): lines for lines in range(count, usual - 1, -1)}
    if count == _IN_ROW:
        shapes.pop(2)
    layouts = [
        Layout(in_row, low_in if lines > usual else _ROW_IN)
        for in_row, lines in sorted(shapes.items(), reverse=True)
    ]
    plans = []
    for layout in layouts if given is None else [given]:
        in_row, row_in = layout
        lines = math.ceil(count / in_row)
        figure_in = (PAGE_IN, row_in * lines + 0.4)
        is_alone = count == 1 and data.layout is None
        width, height = size_in(size, _USUAL_IN if is_alone else figure_in)
        room = max(0.3, width - _BESIDE_IN) / in_row * 72
        room_up = ((height - _ABOVE_IN) / lines - _BELOW_IN) * 72
        # Rather one decimal fewer than no numbers.
        for fewer in range(2 if digits > 1 else 1):
            letters = letters_pt(maps, digits - fewer, (room, room_up), signed=signed)
            plan = _Plan((width, height), lines, layout, room, room_up, digits - fewer, letters)
            if letters is not None:
                break
        plans.append(plan)
        if letters is not None and letters >= _EASY_PT:
            return plan
    return next((one for one in plans if one.letters is not None), plans[0])


def _beyond_words(
    maps: Sequence[Map],
    colours: Colours,
    digits: int,
    groups: Mapping[str, NDArray[np.float64]],
    unit: str,
) -> str:
    """Which values are beyond the ends of a scale that suits the others, and of which maps or
    compared values they are; "" if none are.
    """
    choice = chosen_axes()
    if choice is not None and choice.vlim is not None:
        return ""

    def far(values: NDArray[np.float64]) -> list[float]:
        return list(values[(values < colours.low) | (values > colours.high)].tolist())

    def words(value: float) -> str:
        return number_words(value, digits, signed=colours.is_signed)

    every = far(np.concatenate([one.finite for one in maps]))
    if not every:
        return ""
    found = {name: some for name, values in groups.items() if (some := far(values))}
    if not 0 < len(found) <= _MOST_BEYOND:
        several = len(every) > _MOST_BEYOND
        said = f"{len(every)} cells" if several else ", ".join(map(words, every))
        return f"beyond the scale: {said}"
    each = []
    for name, some in found.items():
        count = f" in {len(some)} cells," if len(some) > 1 else ""
        ends = " to ".join(dict.fromkeys(map(words, (min(some), max(some)))))
        each.append(f"{spaced(name)}{count} {ends} {unit}".rstrip())
    return f"beyond the scale: {', '.join(each)}"


def _detail(data: Spread, maps: Sequence[Map], *, is_written: bool, hatched: int) -> str:
    """What the cells are, and their marks."""
    never = [
        one.words[line, column]
        for one in maps
        for line, column in np.argwhere(np.isinf(one.cells)).tolist()
    ]
    words = []
    if any(one.unsure for one in maps):
        words.append(f"{'in brackets' if is_written else 'circles'}: {data.unsure}")
    if is_written:
        if "never" in never:
            words.append("never: no run finished")
        if any(one != "never" for one in never):
            some = next(one for one in never if one != "never")
            words.append(f"{some}: so many runs finished, too few for a median")
    else:
        if hatched:
            words.append(f"hatched: {'above' if hatched > 0 else 'below'} 0")
        if never:
            words.append("white: half of the runs or more did not finish")
    if any(int(np.isnan(one.cells).sum()) > len(one.from_zero) for one in maps):
        what = "pairs" if data.is_signed else "values"
        words.append(f"grey: {data.empty or f'no {what}'}")
    return "; ".join(filter(None, (data.detail, *words)))
