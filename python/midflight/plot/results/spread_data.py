"""What a figure of the distributions of results shows: values at the places of an axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from midflight.plot.common.names import FINISHED
from midflight.plot.results.alike import named_alike
from midflight.plot.results.line_names import line_cells, line_columns
from midflight.plot.results.maps import Colours, Layout
from midflight.plot.results.places import axis_places, zero_name
from midflight.plot.results.rows import with_selection
from midflight.results import mean_ci, quantile

__all__ = [
    "BEYOND",
    "Box",
    "Group",
    "Spread",
    "are_points",
    "bars_of",
    "box_of",
    "drawn_of",
    "interval_of",
    "known_of",
    "median_of",
    "middle_of",
    "same_in_all",
    "side_by_side",
    "spread_rows",
    "units_of",
]

#: The shares of values of which a box has the quantiles, and the one beyond each whisker.
_BOX, BEYOND = (0.25, 0.5, 0.75), 0.05
#: Fewer values are drawn one by one: quartiles of so few would say more than is known. So are all
#: others of the figure then, unless some are more than have room one by one.
LEAST_IN_BOX, _MOST_ONE_BY_ONE = 10, 60
#: What a table has of a mean, beside the number of what is counted.
_MEANS = ("mean", "low", "high", "over", "samples")


@dataclass
class Group:
    """The values of one line at each place of its axis, in the unit that is shown."""

    label: str
    #: Its values of the columns that tell lines apart.
    key: Sequence[str] = ()
    x: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    #: Of intervals: one value, a mean, for each independent sample.
    values: list[list[float]] = field(default_factory=list)
    #: Of a comparison: the ends of its intervals.
    ends: list[tuple[float, float]] = field(default_factory=list)
    #: The runs without a value at each place.
    missing: list[int] = field(default_factory=list)
    #: Of mean times: whether runs that did not finish are left out, so that the mean is too short.
    is_short: list[bool] = field(default_factory=list)
    #: Of the cells of a map of a comparison: whether the interval contains 0, or there is none, or
    #: the change is too small to matter.
    unsure: list[bool] = field(default_factory=list)
    #: Of the cells of a map of percentages: what changes from 0 say instead (`from_zero`).
    from_zero: list[tuple[float, str] | None] = field(default_factory=list)
    #: Of a line of a comparison: whether it is of too few runs or pairs to say anything.
    hints: list[bool] = field(default_factory=list)
    #: What it is the same as, everywhere: the label of an earlier group, or the baseline.
    same: str = ""
    #: Of times: whether it has none, as no run finished.
    is_empty: bool = False
    #: Of intervals: the number of samples, and of the values or pairs in their means.
    counts: list[tuple[int, int]] = field(default_factory=list)
    #: Of a comparison: how places without pairs are marked (`EMPTY_MARKS`), "" with pairs.
    empty: list[str] = field(default_factory=list)

    @property
    def named(self) -> str:
        """Its name in a legend."""
        return named_alike(self.label, self.same, is_empty=self.is_empty)


@dataclass(frozen=True)
class Spread:
    """The content of a figure: groups over an axis of numbers or of names (`categories`)."""

    kind: str
    x_title: str
    y_title: str
    groups: Sequence[Group]
    categories: Sequence[str] | None = None
    lines_title: str = ""
    #: The column of the axis; of the values of a comparison the compared one.
    along: str = ""
    #: For a map, whose groups are its rows: the meaning of its colours.
    value_title: str = ""
    #: The scale of its colours; without one that which suits its values.
    colours: Colours | None = None
    #: How its maps stand beside each other, as in the other figures of a report; without it as
    #: suits their numbers.
    layout: Layout | None = None
    #: Maps or panels beside each other, each with its own `name`, and the columns of these names.
    panels: Sequence[Spread] = ()
    panels_by: Sequence[str] = ()
    #: Of a panel the values of these columns, as a table has them.
    of: Sequence[str] = ()
    #: Whether the values are changes, which are below 0 or above it.
    is_signed: bool = False
    #: Missing values are times of runs that did not finish, longer than every other.
    is_time: bool = False
    #: The name of the counted objects, in a table.
    counted: str = "runs"
    #: Of boxes: whether every value is a point instead (`are_points`).
    has_points: bool = False
    #: What the marks are; of intervals the kind of their samples: "runs", "axes" or "values".
    detail: str = ""
    over: str = ""
    #: For a map of a comparison: why cells have no change, and what changes are that may be none.
    empty: str = ""
    unsure: str = ""
    #: For a table: the columns of the axes and of the measurement, and the units of their values.
    axes: Sequence[tuple[str, str]] = ()
    measure: tuple[str, str] = ("", "")
    #: The rows that a map leaves out, and the axes that it pools.
    remark: str = ""
    #: What rows are kept by, as a table has it.
    where: str = ""
    #: What stands at 0 of an axis of numbers in the place of a number.
    zero: str = ""
    #: The longest values are so far from the usual ones that the axis of a CDF is logarithmic.
    is_wide: bool = False
    #: The columns that tell lines apart.
    by: Sequence[str] = ()
    #: The kind of the figure, if it has another name than its distribution.
    name: str = ""


def same_in_all(groups: Sequence[Group]) -> None:
    """Of the lines of several panels keep what they are the same as only where it is so in all."""
    found: dict[str, set[str]] = {}
    for group in groups:
        found.setdefault(group.label, set()).add(group.same)
    for group in groups:
        group.same = group.same if len(found[group.label]) == 1 else ""


def known_of(values: Sequence[float]) -> list[float]:
    return [one for one in values if not math.isnan(one)]


def units_of(data: Spread) -> tuple[str, str]:
    """The units of the axes of a figure with lines or boxes, across and up."""
    if data.kind == "cdf":
        return data.measure[1], ""
    return data.axes[0][1], data.measure[1]


class Box(NamedTuple):
    """What is drawn of some values: the lower end of the whiskers, the quartiles with the median,
    and the upper end; in ascending order the values beyond the whiskers, or all if they are points;
    and whether they are points instead of a box, and not alike. A time that is missing is infinite.
    """

    points: tuple[float, ...]
    singles: Sequence[float]
    is_few: bool


def box_of(data: Spread, values: Sequence[float]) -> Box:
    """Return the box of values. Its whiskers end at values: 5 % of these, rounded down, are beyond
    each end.
    """
    counted = [math.inf if math.isnan(one) else one for one in _counted_of(data, values)]
    counted.sort()
    if not counted:
        return Box((math.nan,) * 5, (), False)
    # Also where the product is a little below a whole number.
    outside = math.floor(BEYOND * len(counted) + 1e-9)
    low, high = counted[outside], counted[-1 - outside]
    quartiles = (quantile(counted, share) for share in _BOX)
    is_few = data.has_points and len({*counted}) > 1
    singles = counted if is_few else [one for one in counted if not low <= one <= high]
    return Box((low, *quartiles, high), singles, is_few)


def are_points(groups: Sequence[Group], *, is_time: bool) -> bool:
    """Whether the values of boxes are drawn one by one: those of one are few, and of none many."""
    cells = [values if is_time else known_of(values) for one in groups for values in one.values]
    # All times that are missing are alike.
    counts = [len(one) for one in cells if len({str(value) for value in one}) > 1]
    return bool(counts) and min(counts) < LEAST_IN_BOX and max(counts) <= _MOST_ONE_BY_ONE


def median_of(data: Spread, values: Sequence[float]) -> float:
    """Their median; a time that is missing is longer than every other."""
    return quantile(_counted_of(data, values), 0.5)


def middle_of(data: Spread, values: Sequence[float]) -> float:
    """What a cell of a map has: the median, and of whether runs finished the share that did."""
    if data.measure[0] == FINISHED:
        return math.fsum(values) / len(values) if values else math.nan
    return median_of(data, values)


def _counted_of(data: Spread, values: Sequence[float]) -> Sequence[float]:
    return values if data.is_time else known_of(values)


def side_by_side(texts: Sequence[str], name: str) -> tuple[dict[str, int], Sequence[str], str]:
    """Return the places of the values of an axis whose marks stand side by side, the names of the
    places, and the unit of numbers. These are in their order; texts that are the same number, such
    as `0.1 s` and `100 ms`, are at one place.
    """
    numbers, categories, unit = axis_places(texts, name)
    if categories is not None:
        return {text: place for place, text in enumerate(categories)}, categories, unit
    ordered = sorted(texts, key=numbers.__getitem__)
    zero = zero_name(texts, name)
    words = {text: zero if text == zero else f"{numbers[text]:g}" for text in ordered}
    places = {word: place for place, word in enumerate(dict.fromkeys(words.values()))}
    return {text: places[word] for text, word in words.items()}, list(places), unit


def interval_of(group: Group, place: int) -> tuple[float, float, float]:
    """A mean of samples and the ends of its interval; nan without one."""
    known = known_of(group.values[place])
    if group.ends:
        return known[0] if known else math.nan, *group.ends[place]
    mean, half = mean_ci(known)
    return mean, mean - half, mean + half


def bars_of(group: Group) -> list[tuple[float, float, float]]:
    """The means of a line at its places, each with the ends of its interval."""
    return [interval_of(group, place) for place in range(len(group.x))]


def drawn_of(data: Spread) -> list[float]:
    """The finite values of what is drawn: of shares and boxes all, of means their intervals."""
    if data.kind == "interval":
        bars = [bar for group in data.groups for bar in bars_of(group)]
        return [one for bar in bars for one in bar if math.isfinite(one)]
    cells = [values for group in data.groups for values in group.values]
    return [one for values in cells for one in known_of(values)]


def spread_rows(data: Spread) -> Iterator[Sequence[object]]:
    """Yield the head and the rows of a table of the data of the figure."""
    return with_selection(_rows(data), data.where)


def _rows(data: Spread) -> Iterator[Sequence[object]]:
    if data.kind == "cdf":
        lines = line_columns(data.by)
        yield (*data.panels_by, *lines, "measure", "unit", "value", "share", data.counted)
        for panel in data.panels or [data]:
            for group in panel.groups:
                label = [*panel.of, *line_cells(group, panel.by)]
                (values,) = group.values or [[]]
                counted = len(values) if data.is_time else len(known_of(values))
                for place, one in enumerate(sorted(known_of(values)), 1):
                    yield (*label, *data.measure, one, place / counted, counted)
        return
    if data.kind == "heatmap":
        (x, x_unit), (y, y_unit) = data.axes
        # A cell of a comparison has a mean with its interval.
        has_ends = any(group.ends for panel in data.panels or [data] for group in panel.groups)
        of_cells = (*_MEANS, data.counted) if has_ends else ("median", "runs")
        yield (*data.panels_by, x, "x_unit", y, "y_unit", "measure", "unit", *of_cells)
        for panel in data.panels or [data]:
            for group in panel.groups:
                for place, values in enumerate(group.values):
                    name = group.names[place]
                    cell = (*panel.of, name, x_unit, group.label, y_unit, *data.measure)
                    if has_ends:
                        mean = interval_of(group, place)
                        yield (*cell, *mean, data.over, *group.counts[place])
                    else:
                        yield (*cell, median_of(panel, values), len(values))
        return
    (x, x_unit), *_ = data.axes
    lines = line_columns(data.by)
    start: Sequence[object] = (*data.panels_by, *lines, x, "x_unit", "measure", "unit")
    if data.kind == "box":
        yield (*start, "low", "p25", "median", "p75", "high", "runs", "points")
    else:
        yield (*start, *_MEANS, data.counted)
    for panel, group in ((one, group) for one in data.panels or [data] for group in one.groups):
        label = [*panel.of, *line_cells(group, panel.by)]
        for place, values in enumerate(group.values):
            start = (*label, group.names[place], x_unit, *data.measure)
            if data.kind == "box":
                box = box_of(data, values)
                points = " ".join(f"{one:.6g}" for one in box.singles)
                yield (*start, *box.points, len(values), points)
            else:
                yield (*start, *interval_of(group, place), data.over, *group.counts[place])
