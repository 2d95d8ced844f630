"""Maps of results: cells with colours and numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.log_ticks import log_locator, number_text
from midflight.plot.common.style import chosen_axes, labelled, text_width, wrapped
from midflight.plot.results.places import axis_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "NOTHING",
    "Colours",
    "Layout",
    "Map",
    "between_pt",
    "colours_of",
    "decimals",
    "draw_bar",
    "draw_map",
    "fitting_pt",
    "hatched_side",
    "is_dark",
    "letters_pt",
    "name_cells",
    "named_places",
    "number_words",
    "without_far",
]

#: With more cells, or more of them side by side, there is no room for their values.
_MOST_WRITTEN, _MOST_ACROSS = 150, 16
#: The colours of values on both sides of 0.
_SIGNED = "PuOr_r"
#: The share of the scale that the least change from 0 has.
_LEAST_STRENGTH = 0.4
#: More cells of a map are one image in a vector file, which has 250 bytes for each area.
_MOST_AREAS = 4000
#: The largest letters of the values in a map of usual and of many columns, and the smallest.
_LARGE_PT, _SMALL_PT, _LEAST_PT = 6.5, 5.5, 4.4
#: The letters have at most this share of the width and the height of a cell.
_OF_SIDE = 0.8
#: From one line of a cell to the next, in sizes of its letters.
_LINE = 1.2
#: Values that are farther from the quartiles than so many times their distance have no say in the
#: scale of the colours, if they are no more than this share of all.
_FAR, _FEW = 3.0, 0.15
#: Nor if they are no more than so many times as large as the largest other one, or as small.
_BEYOND = 3.0
#: A scale ends before far values if it would otherwise be so many times as long.
_GAIN = 2.0
#: A group of values is far from the others, of which there are so many or more, if it reaches so
#: many times as far, and not more than so many.
_LEAST_OTHERS, _FAR_GROUP, _MOST_GROUP = 2, 3.0, 100.0
#: Half of the values would have less than this share of a linear scale, whose ends are apart by
#: more than this factor.
_CROWDED, _WIDE = 0.25, 8
#: The width of the bar of the colours beside several maps, in inches.
_BAR_IN = 0.12
#: So many colours of the bar are looked at to find where they are dark.
_SHADES = 100
#: The white between two cells, in points and as a share of a cell, and the smallest cells with it.
_BETWEEN_PT, _BETWEEN_SHARE, _LEAST_PARTED_PT = 0.8, 0.05, 6.0
#: Whole numbers are the ticks of a bar up to this number.
_MOST_TICKS = 8
#: The most names of the columns or rows of a map.
_MOST_NAMED = 14
#: With fewer equal steps between names the last step is longer instead.
_LEAST_STEPS = 3
#: About what is beside the maps, in inches.
_AROUND_IN = 1.5
#: Cells on one side of 0, where there are no numbers, on light and on dark colours.
_SIDE: Mapping[str, Any] = {"fill": False, "hatch": "////", "linewidth": 0}
_ON_LIGHT, _ON_DARK = "0.25", "0.9"
#: Cells with a change that may be none, where there are no numbers.
_UNSURE: Mapping[str, Any] = {
    "marker": "o",
    "markersize": 3.6,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 0.7,
    "zorder": 4,
}
#: Empty cells where only one side of the pairs finished.
_ARROWS: Mapping[str, str] = {"up": "$\N{UPWARDS ARROW}$", "down": "$\N{DOWNWARDS ARROW}$"}
_ARROW: Mapping[str, Any] = {"markersize": 8, "color": "black", "zorder": 4}
#: Empty cells.
NOTHING: Mapping[str, Any] = {
    "facecolor": "0.9",
    "hatch": "xxxx",
    "edgecolor": "0.7",
    "linewidth": 0,
}
_ONE_SIDE: Mapping[str, Any] = {"facecolor": "0.9", "linewidth": 0}
#: Cells of runs that did not finish, whose words would otherwise be one sentence.
_NEVER: Mapping[str, Any] = {
    "facecolor": "white",
    "edgecolor": "0.75",
    "linewidth": 0.8,
    "zorder": 3,
}


@dataclass(frozen=True)
class Colours:
    """The scale of the colours of a map."""

    low: float
    high: float
    is_signed: bool = False
    is_log: bool = False


class Layout(NamedTuple):
    """How maps beside each other stand in figures: so many in a row, and the height of a row in
    inches.
    """

    in_row: int
    row_in: float


@dataclass(frozen=True)
class Map:
    """The values of the cells, by row and column: nan where there is none, inf where half of the
    runs or more did not finish; what these cells say instead, which changes may be none, which
    empty cells have an arrow, "up" or "down", and which are changes from 0, with their size and
    what they say.
    """

    cells: NDArray[np.float64]
    columns: Sequence[str]
    rows: Sequence[str]
    words: Mapping[tuple[int, int], str] = field(default_factory=dict)
    unsure: Collection[tuple[int, int]] = ()
    arrows: Mapping[tuple[int, int], str] = field(default_factory=dict)
    from_zero: Mapping[tuple[int, int], tuple[float, str]] = field(default_factory=dict)

    @property
    def finite(self) -> NDArray[np.float64]:
        return self.cells[np.isfinite(self.cells)]


def colours_of(
    finite: NDArray[np.float64], *, signed: bool = False, ends: tuple[float, float] | None = None
) -> Colours:
    """Return the scale of the colours for these values, with the given ends or those that suit.

    It is as far above 0 as below it for values on both sides of 0, or that are `signed`. A few
    values that are far from all others lie beyond its ends. It is logarithmic if half of the others
    would have less than a quarter of the colours, and the largest is many times the smallest.
    """
    if not finite.size:
        return Colours(*(ends or (0.0, 1.0)))
    is_signed = signed or bool(finite.min() < 0 < finite.max())
    usual = np.abs(finite) if is_signed else finite
    first, third = np.quantile(usual, [0.25, 0.75])
    room = _FAR * (third - first)
    near = usual[(usual >= first - room) & (usual <= third + room)]
    if room > 0 and near.size >= (1 - _FEW) * usual.size:
        if (least := float(near.min())) >= 0:
            # Those that are not many times as large or as small keep colours of their own.
            most = _BEYOND * float(near.max())
            near = usual[(usual >= least / _BEYOND) & (usual <= most)]
        # An end beyond which few colours are is none: all values on that side have colours.
        lowest, highest = float(near.min()), float(near.max())
        length = _GAIN * (highest - lowest)
        if not is_signed and highest - float(usual.min()) < length:
            near = np.append(near, usual.min())
        if float(usual.max()) - lowest < length:
            near = np.append(near, usual.max())
        usual = near
    low, high = (float(usual.min()), float(usual.max())) if ends is None else ends
    high = high if high > low else low + 1.0
    if is_signed:
        # As far above 0 as below it, so that equal colours are equal sizes.
        high = max(abs(low), abs(high)) if ends is not None else high
        return Colours(-high, high, is_signed=True)
    is_log = high > _WIDE * low > 0 and np.median(usual) - low < _CROWDED * (high - low)
    return Colours(low, high, is_log=bool(is_log))


def without_far(
    values: NDArray[np.float64], groups: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the values without those groups of them, of up to a third of all, that reach so much
    farther from 0 than the others that these would have few of the colours.
    """
    known = [one for one in groups if one.size]
    known.sort(key=lambda one: -float(np.abs(one).max()))
    sizes = [float(np.abs(one).max()) for one in known]
    for count in range(len(known) // 3, 0, -1):
        if len(known) - count >= _LEAST_OTHERS and sizes[count - 1] >= _FAR_GROUP * sizes[count]:
            # Colours of changes that are next to nothing say nothing either.
            if sizes[count] * _MOST_GROUP < sizes[count - 1]:
                break
            return np.concatenate(known[count:])
    return values


def hatched_side(maps: Sequence[Map], colours: Colours) -> int:
    """Return the side of 0 with fewer cells, -1 or 1, of a scale that has both; 0 if one of them
    has no cell, or only changes that may be none.
    """
    sides = [[(sign * one.cells > 0) & np.isfinite(one.cells) for one in maps] for sign in (-1, 1)]
    sure = [
        any((line, column) not in one.unsure for line, column in np.argwhere(chosen).tolist())
        for each in sides
        for one, chosen in zip(maps, each, strict=True)
    ]
    if not colours.is_signed or not any(sure[: len(maps)]) or not any(sure[len(maps) :]):
        return 0
    below, above = (sum(int(one.sum()) for one in each) for each in sides)
    return 1 if above < below else -1


def is_dark(colour: Sequence[float]) -> bool:
    """Whether white letters have more contrast with a colour than black ones (WCAG 2)."""

    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)

    red, green, blue = map(linear, colour[:3])
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05


def decimals(values: NDArray[np.float64]) -> int:
    """The decimals of all numbers of a map: three digits of the least, or four of the greatest."""
    sizes = np.abs(values[values != 0])
    if not sizes.size:
        return 0
    least, most = (math.floor(math.log10(one)) for one in (sizes.min(), sizes.max()))
    if least >= 2 or bool((values == np.round(values)).all()):
        return 0
    return max(0, min(2 - least, 3 - most))


def number_words(value: float, digits: int, *, signed: bool) -> str:
    """A number with so many decimals as a cell shows it: with a minus sign, not a hyphen, and with
    a plus sign if the others may be below 0; 0 has no sign.
    """
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def draw_map(
    axes: Axes,
    shown: Map,
    colours: Colours,
    digits: int,
    room_pt: tuple[float, float],
    size: float | None,
    *,
    hatched: int,
    far_from_0: float,
) -> Any:
    """Draw cells with lighter colours for larger values, and return what a colour bar explains.

    Their numbers, with so many decimals, are written in letters of a size (`letters_pt`); without
    one, cells on the side of 0 that is `hatched` (`hatched_side`) are, and changes that may be none
    have a circle. Cells without a value are grey. `room_pt` is the width and the height of the
    map. A change from 0 that is as large as `far_from_0` has the colour of the end of the scale.
    """
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.patches import Rectangle

    cells, across, down = shown.cells, len(shown.columns), len(shown.cells)
    norm = (LogNorm if colours.is_log else Normalize)(colours.low, colours.high)
    # Few cells are areas, which stay sharp at any size; many are one image.
    image = axes.pcolormesh(
        np.arange(across + 1) - 0.5,
        np.arange(down + 1) - 0.5,
        np.ma.masked_invalid(cells),
        cmap=_SIGNED if colours.is_signed else "cividis",
        norm=norm,
        rasterized=cells.size > _MOST_AREAS,
    )
    axes.grid(False)

    def fill(chosen: NDArray[np.bool_], how: Mapping[str, Any]) -> None:
        for line, column in np.argwhere(chosen):
            axes.add_patch(Rectangle((column - 0.5, line - 0.5), 1, 1, **how))

    nothing = np.isnan(cells)
    for cell in shown.from_zero:
        nothing[cell] = False
    fill(nothing, NOTHING)
    inks = {}
    for (line, column), (change, _) in shown.from_zero.items():
        # Among themselves changes from 0, which have no percentage, are told apart by their size.
        strength = _LEAST_STRENGTH + (1 - _LEAST_STRENGTH) * abs(change) / far_from_0
        colour = colormaps[_SIGNED]((1 + math.copysign(strength, change) * (change != 0)) / 2)
        inks[line, column] = "white" if is_dark(colour) else "black"
        corner = (column - 0.5, line - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, linewidth=0))
    fill(np.isinf(cells), _NEVER)
    for (line, column), way in shown.arrows.items():
        # Its cell has no pattern, which would cover it.
        axes.add_patch(Rectangle((column - 0.5, line - 0.5), 1, 1, **_ONE_SIDE))
        axes.plot(column, line, marker=_ARROWS[way], **_ARROW)
    if across * down <= _MOST_WRITTEN:
        # Equal neighbours are two cells.
        for draw, count, room in zip(
            (axes.axvline, axes.axhline), cells.T.shape, room_pt, strict=True
        ):
            if (wide := between_pt(room / count)) > 0:
                for place in range(1, count):
                    draw(place - 0.5, color="white", linewidth=wide)
    name_cells(axes, shown.columns, shown.rows, room_pt[0])
    texts = _texts(shown, digits, signed=colours.is_signed)
    if size is None:
        for line, column in np.argwhere(np.isfinite(cells) & (hatched * cells > 0)).tolist():
            ink = _ON_DARK if is_dark(image.cmap(norm(cells[line, column]))) else _ON_LIGHT
            corner = (column - 0.5, line - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, edgecolor=ink, **_SIDE))
        for line, column in shown.unsure:
            axes.plot(column, line, **_UNSURE)
        return image
    for (line, column), text in texts.items():
        value = cells[line, column]
        on_dark = math.isfinite(value) and is_dark(image.cmap(norm(value)))
        axes.text(
            column,
            line,
            text,
            ha="center",
            va="center",
            fontsize=size,
            color=inks.get((line, column), "white" if on_dark else "black"),
        )
    return image


def between_pt(cell_pt: float) -> float:
    """The width of the white between two cells that are so wide or high; 0 between small ones,
    which would be a pattern of stripes.
    """
    return min(_BETWEEN_PT, _BETWEEN_SHARE * cell_pt) if cell_pt >= _LEAST_PARTED_PT else 0.0


def letters_pt(
    maps: Sequence[Map], digits: int, room_pt: tuple[float, float], *, signed: bool
) -> float | None:
    """Return the size of the letters with which the numbers of maps beside each other, each so
    wide and high, fit into their cells; None if there is no room for them.
    """
    if not all(map(_has_room, maps)):
        return None
    sizes = [_text_pt(one, _texts(one, digits, signed=signed).values(), room_pt) for one in maps]
    known = [one for one in sizes if one is not None]
    return min(known) if len(known) == len(sizes) else None


def _texts(shown: Map, digits: int, *, signed: bool) -> dict[tuple[int, int], str]:
    """What is written into the cells that have a value, or runs that did not finish."""
    found = {}
    for (line, column), value in np.ndenumerate(shown.cells):
        if math.isfinite(value):
            # Where nothing changes there are no digits.
            text = number_words(value, 0 if signed and value == 0 else digits, signed=signed)
            found[line, column] = f"({text})" if (line, column) in shown.unsure else text
        elif (line, column) in shown.from_zero:
            found[line, column] = shown.from_zero[line, column][1]
        elif not math.isnan(value):
            found[line, column] = shown.words.get((line, column), "never")
    return found


def _has_room(shown: Map) -> bool:
    """Whether there may be room for the values of the cells."""
    return shown.cells.size <= _MOST_WRITTEN and len(shown.columns) <= _MOST_ACROSS


def _text_pt(shown: Map, texts: Collection[str], room_pt: tuple[float, float]) -> float | None:
    """The size of the letters with which the texts fit into the cells; None without room."""
    return fitting_pt(texts, (len(shown.columns), len(shown.cells)), room_pt)


def fitting_pt(
    texts: Collection[str], cells: tuple[int, int], room_pt: tuple[float, float]
) -> float | None:
    """Return the size of the letters with which texts, of one line or several, fit into the cells
    of a map with so many columns and rows, so wide and high; None without room.
    """
    (wide, high), (across, down) = room_pt, cells
    most = _SMALL_PT if across > 9 else _LARGE_PT
    widest = max((text_width(one, most) for one in texts), default=0.0)
    deepest = _LINE * max((one.count("\n") for one in texts), default=0) + 1
    fits = _OF_SIDE * most * wide / across / widest if widest else most
    fits = min(fits, _OF_SIDE * high / max(1, down) / deepest)
    return min(most, fits) if fits >= _LEAST_PT else None


def named_places(count: int, most: int) -> list[int]:
    """The places of so many cells in a row that are named, at most so many: the first and the last
    one, with steps between them that are equal if that leaves enough names.
    """
    if count <= most or most < 2:
        return list(range(count))[: None if count <= most else 1]
    last = count - 1
    least = math.ceil(last / (most - 1))
    for step in range(least, last // _LEAST_STEPS + 1):
        if last % step == 0:
            return list(range(0, count, step))
    # The last step is longer than the others.
    return [*range(0, last - least + 1, least), last]


def name_cells(axes: Axes, columns: Sequence[str], rows: Sequence[str], room_pt: float) -> None:
    """Name the columns and rows of a map that is so wide, as many as there is room for."""
    if len(rows) > 1 and axis_places(list(rows), "")[1] is not None:
        # Names are read from the top.
        axes.invert_yaxis()
    across, down = [labelled(one) for one in columns], [labelled(one) for one in rows]
    are_names = axis_places(list(columns), "")[1] is not None
    widest = max((text_width(one, 7.5) for one in across), default=0.0)
    turned = are_names and widest > 0.95 * room_pt / len(across)
    room = max(1, min(_MOST_NAMED, _MOST_NAMED if are_names else int(room_pt / (widest + 4))))
    for side, names, most in ((axes.xaxis, across, room), (axes.yaxis, down, _MOST_NAMED)):
        places = named_places(len(names), most)
        side.set_ticks(places, [names[one] for one in places], parse_math=False)
    axes.tick_params(length=0)
    if turned:
        axes.tick_params(axis="x", rotation=30)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _few_whole(finite: NDArray[np.float64]) -> list[float]:
    """The values of maps if they are few different whole numbers, with room between their names
    beside a bar of the colours; none otherwise.
    """
    found = np.unique(finite)
    if not 1 < found.size <= _MOST_TICKS or (found != np.round(found)).any():
        return []
    has_room = np.diff(found).min() >= np.ptp(found) / _MOST_TICKS
    return [float(one) for one in found] if has_room else []


def draw_bar(
    figure: Figure,
    panels: Sequence[Axes],
    image: Any,
    title: str,
    maps: Sequence[Map],
    colours: Colours,
    *,
    hatched: int,
) -> None:
    """Draw the bar of the colours beside maps that share them, with pointed ends for values beyond
    it; `hatched` is the side of 0 whose cells are.
    """
    from matplotlib.patches import Rectangle

    finite = np.concatenate([one.finite for one in maps])
    # Runs that never end have no colour.
    if not finite.size:
        return
    under, over = bool(finite.min() < colours.low), bool(finite.max() > colours.high)
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get((under, over))
    how: Any = {"pad": 0.02, "fraction": 0.06, "extend": extend or "neither"}
    if len(panels) == 1:
        how |= {"use_gridspec": False}
    else:
        # As high as the maps, and as wide as beside one of them.
        wide, high = figure.get_size_inches()
        how |= {"fraction": _BAR_IN / max(0.5, wide - _AROUND_IN), "aspect": high / _BAR_IN}
    bar = figure.colorbar(image, ax=panels[0] if len(panels) == 1 else list(panels), **how)
    bar.outline.set_visible(False)
    if (ticks := _few_whole(finite)) and not colours.is_signed:
        # Between these there is nothing.
        bar.set_ticks(ticks, labels=[number_text(one) for one in ticks])
    # Within the bar they would be dots.
    bar.ax.tick_params(which="both", direction="out", left=False, right=True)
    # No seams between the areas of the bar.
    if bar.solids is not None:
        bar.solids.set_edgecolor("face")
    if colours.is_log:
        from matplotlib.ticker import FuncFormatter

        bar.formatter = FuncFormatter(lambda value, _: number_text(value))
        bar.locator = log_locator()
        bar.update_ticks()
        bar.ax.minorticks_off()
    height = (figure.get_size_inches()[1] - 0.6) * 72
    bar.set_label(wrapped(labelled(title), 7.5, height), parse_math=False)
    if hatched:
        # On light colours up to where they are dark.
        end = colours.high if hatched > 0 else colours.low
        shades = image.cmap(image.norm(np.linspace(0, end, _SHADES)))
        turn = end * sum(not is_dark(one) for one in shades) / _SHADES
        for first, last, ink in ((0.0, turn, _ON_LIGHT), (turn, end, _ON_DARK)):
            side: Any = {"transform": bar.ax.get_yaxis_transform(), "edgecolor": ink, **_SIDE}
            bar.ax.add_patch(Rectangle((0, first), 1, last - first, **side))
    choice = chosen_axes()
    if colours.is_signed and (choice is None or choice.vlim is None):
        # Equal colours are equal sizes on both sides; a side without values is left out.
        low, high = min(0.0, float(finite.min())), max(0.0, float(finite.max()))
        if low < high:
            bar.ax.set_ylim(max(colours.low, low), min(colours.high, high))
