"""The scales of the axes of results, linear or logarithmic, and their limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from midflight.plot.common.log_ticks import number_text, plain_log
from midflight.plot.common.options import check_scale
from midflight.plot.common.place_scale import LINEAR, LOG, PlaceScale, log_with_zero
from midflight.plot.common.style import chosen_axes, text_width
from midflight.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = [
    "WIDE",
    "beyond",
    "hides",
    "is_log_value",
    "log_title",
    "open_edges",
    "place_limits",
    "scale_of_places",
    "set_log",
    "set_places",
]

#: A linear axis hides values that are smaller than the largest one by more than this factor.
WIDE = 12
#: Values with this factor or more between neighbours, if there are so many, are a geometric series.
_LEAST_FACTOR, _LEAST_VALUES = 2, 4
#: The factors of 1, 2, 5, 10 are the same.
_MOST_FACTORS = 1.3
#: The places on an axis are logarithmic if the largest is larger by this factor, and linear places
#: would be crowded.
_WIDE_PLACES = 100
#: A linear axis that would begin so near to 0, in shares of its largest place, begins at 0.
_NEAR_0 = 0.2
#: With more places the ticks of a geometric series are at round numbers.
_MOST_TICKS = 9
#: Up to so many places of any axis are its ticks, with room beside its ends and between two
#: numbers, in points.
_MOST_TICKED, _BESIDE_PT, _BETWEEN_PT = 8, 60.0, 4.0


def is_geometric(places: Sequence[float], least: int = _LEAST_VALUES) -> bool:
    """Whether places, in ascending order and above 0, are so many and have about a constant factor
    of 2 or more, as 1, 3, 10, 30 and 1, 2, 5, 10 have.
    """
    if len(places) < least:
        return False
    factors = [b / a for a, b in pairwise(places)]
    # The values of an axis have six digits.
    return min(factors) >= _LEAST_FACTOR * 0.999 and max(factors) <= _MOST_FACTORS * min(factors)


def suits_log(places: Sequence[float]) -> bool:
    """Whether places, in ascending order, are better seen on a logarithmic axis.

    They are a geometric series, or each is at least twice the one before, and a linear axis would
    hide the least; or they extend over more than two decades and are not so evenly spaced
    that the largest step of a linear axis is the smaller one. With a place at 0, which is one of
    them, the others are, and a linear axis would hide the least one.
    """
    has_zero = len(places) > 0 and places[0] == 0
    places = places[1:] if has_zero else places
    if len(places) < 2 or places[0] <= 0 or (has_zero and places[-1] < WIDE * places[0]):
        return False
    if is_geometric(places, _LEAST_VALUES - has_zero):
        return True
    if len(places) > 2 and places[-1] >= WIDE * places[0]:
        least = min(b / a for a, b in pairwise(places))
        if least >= _LEAST_FACTOR * 0.999:
            return True
    step = max(b - a for a, b in pairwise(places)) / (places[-1] - places[0])
    log_step = max(math.log(b / a) for a, b in pairwise(places)) / math.log(places[-1] / places[0])
    return places[-1] > _WIDE_PLACES * places[0] and log_step < step


def hides(usual: Sequence[float], others: Iterable[float] = ()) -> bool:
    """Whether a linear axis would hide more than a fifth of the usual values beside the largest
    one of all.

    The rule is that of throughputs over time. Without it are values of 0 and below.
    """
    known = [one for one in usual if math.isfinite(one)]
    all_of_them = [*known, *(one for one in others if math.isfinite(one))]
    if not known or min(all_of_them) <= 0:
        return False
    most = max(all_of_them)
    return sum(one * WIDE < most for one in known) > 0.2 * len(known)


def scale_of_places(asked: str | None, places: Iterable[float], *, has_names: bool) -> PlaceScale:
    """Return the scale of an axis of places: logarithmic as requested by `xscale`, or if it suits
    them; 0 then has a place before the others.

    Raises `MidflightError` for another scale, and for a logarithmic axis of names, of values below
    0, or of 0 alone.
    """
    check_scale("--xscale", asked)
    values = sorted({*places})
    if asked == "log" and (has_names or not values or values[0] < 0 or values[-1] <= 0):
        why = "has names, not numbers" if has_names else "has values below 0, or 0 alone"
        raise refusal(
            f"--xscale log: the axis {why}",
            name="--xscale",
            value=asked,
            accepted="log only for an axis of numbers above 0, or of these and 0",
        )
    is_log = asked == "log" or (asked is None and not has_names and suits_log(values))
    if not is_log:
        return LINEAR
    return LOG if values[0] > 0 else log_with_zero(values[1:])


def is_log_value(
    asked: str | None, drawn: Iterable[float], *, suits: bool, option: str = "--yscale"
) -> bool:
    """Whether an axis of values is logarithmic: as requested by the option, or if it suits them.

    Raises `MidflightError` for another scale, and for a logarithmic axis without a value above 0.
    """
    check_scale(option, asked)
    if asked == "log" and not any(0 < one < math.inf for one in drawn):
        raise refusal(
            f"{option} log: no value is above 0",
            name=option,
            value=asked,
            accepted="log only for values above 0",
        )
    return asked == "log" or (asked is None and suits)


def log_title(title: str) -> str:
    """Return the title of an axis that is logarithmic."""
    return title.removesuffix(")") + (", log)" if title.endswith(")") else " (log)")


def set_log(axis: Axis, low: float, high: float, places: Iterable[float] = ()) -> None:
    """Make an axis logarithmic, with these ends; the ticks are at places that are a geometric
    series, if few.
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    plain_log(axis)
    (axis.axes.set_xlim if axis is axis.axes.xaxis else axis.axes.set_ylim)(low, high)
    values = sorted({*places})
    if is_geometric(values) and len(values) <= _MOST_TICKS:
        axis.set_major_locator(FixedLocator(values))
    elif high >= 10 * low:
        return
    axis.set_minor_locator(NullLocator())


def set_places(
    axes: Axes,
    places: Sequence[float],
    lines: Iterable[Iterable[float]],
    width_in: float,
    scale: PlaceScale,
    *,
    wide: bool,
    zero: str = "",
) -> None:
    """Set the scale, the ends and the ticks of an axis of numbers, by these and by where `lines`
    stand, in a figure so wide; `wide` is that of `place_limits`, and `zero` what is called 0.
    """
    around = [*places, *(one for line in lines for one in line)]
    limits = place_limits(around, 0.05, scale, wide=wide)
    if scale.has_zero:
        set_log_with_zero(axes, scale, places)
    elif scale.is_log:
        set_log(axes.xaxis, *limits, places)
    axes.set_xlim(*limits)
    tick_places(axes.xaxis, places, width_in, scale, zero)
    if zero:
        from matplotlib.ticker import FuncFormatter

        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _named(value, zero)))


def _named(value: float, zero: str) -> str:
    """A number as an axis has it, of which 0 may have a name."""
    return (zero if value == 0 else "") or number_text(value).replace("-", "\N{MINUS SIGN}")


def place_limits(
    places: Iterable[float], margin: float, scale: PlaceScale, *, wide: bool = False
) -> tuple[float, float]:
    """Return the ends of an axis of places with a margin, a share of their extent or, with a single
    one, of itself.

    An axis of values that are not below 0 does not begin below 0, and begins there if it begins
    near it; where the marks at the places are `wide`, as whiskers are, one at 0 has the margin.
    """
    values = [*places] or [0.0, 1.0]
    low, high = min(values), max(values)
    if scale.has_zero:
        aside = margin * float(scale.along(high) - scale.along(low))
        return float(scale.moved(low, -aside)), float(scale.moved(high, aside))
    if scale.is_log:
        factor = (high / low) ** margin if high > low else 2.0
        return low / factor, high * factor
    room = margin * ((high - low) or abs(high) or 1.0)
    if 0 <= low - room <= _NEAR_0 * high and high > low:
        # The tick at 0 says that it begins there.
        return 0.0, high + room
    begins = low - room if low < 0 or (wide and low == 0) else max(0.0, low - room)
    return begins, high + room


def set_log_with_zero(axes: Axes, scale: PlaceScale, places: Iterable[float]) -> None:
    """Make an axis logarithmic, with 0 before a break that is marked, and ticks at 0 and at places
    that are a geometric series, if few, or at round numbers.
    """
    from matplotlib.lines import Line2D
    from matplotlib.path import Path
    from matplotlib.ticker import FixedLocator

    plain_log(axes.xaxis, zero=scale)
    above = sorted({*places} - {0.0})
    if is_geometric(above, 1) and len(above) < _MOST_TICKS:
        axes.xaxis.set_major_locator(FixedLocator([0.0, *above]))
    choice = chosen_axes()
    if choice is not None and choice.xlim and choice.xlim[0] > 0:
        return
    middle = [float(scale.moved(0.0, scale.step / 2))]
    # The two strokes of a break, on an axis that has none between them.
    corners = [(-0.9, -1), (-0.1, 1), (0.9, 1), (0.1, -1), (-0.9, -1)]
    strokes = [(-0.9, -1), (-0.1, 1), (0.1, -1), (0.9, 1)]
    how: Any = {"transform": axes.get_xaxis_transform(), "clip_on": False, "linestyle": "none"}
    how |= {"markersize": 4.5, "zorder": 5}
    gap = Line2D(middle, [0.0], marker=Path(corners), color="white", markeredgewidth=0, **how)
    ends = Path(strokes, [Path.MOVETO, Path.LINETO] * 2)
    axes.add_line(gap)
    axes.add_line(Line2D(middle, [0.0], marker=ends, color="0.2", markeredgewidth=0.8, **how))


def tick_places(
    axis: Axis, places: Iterable[float], width_in: float, scale: PlaceScale, zero: str = ""
) -> None:
    """Put the ticks of an axis at its places, if they are few and have room in a figure so wide,
    and of a linear one at 0 if it begins there; of those that a logarithmic one has without room,
    leave out as few as is needed. An axis whose ends are chosen has round numbers.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    choice, values = chosen_axes(), sorted({*places})
    if choice is not None and choice.xlim:
        return

    def along(value: float) -> float:
        return float(scale.along(value))

    low, high = map(along, axis.get_view_interval())
    point = (high - low) / (width_in * 72 - _BESIDE_PT)

    def room(left: float, right: float) -> float:
        wide = sum(text_width(_named(one, zero), 7) for one in (left, right)) / 2
        return (along(right) - along(left)) / point - wide - _BETWEEN_PT

    def has_room(ticks: Sequence[float]) -> bool:
        return all(room(*each) >= 0 for each in pairwise(ticks))

    if not 2 <= len(values) <= _MOST_TICKED or not has_room(values):
        if scale.is_log or scale.has_zero:
            ticks = [one for one in axis.get_majorticklocs() if low <= along(one) <= high]
            # The place of 0 keeps its tick.
            first = ticks[:1] if scale.has_zero else []
            steps = ((begin, step) for step in range(1, len(ticks) + 1) for begin in range(step))
            fewer = ([*first, *ticks[len(first) + begin :: step]] for begin, step in steps)
            axis.set_major_locator(FixedLocator(next(filter(has_room, fewer), ticks)))
        return
    if not scale.is_log and low == 0 < values[0] and room(0.0, values[0]) >= 0:
        values.insert(0, 0.0)
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _named(value, "")))


def beyond(low: float, top: float, *, is_log: bool) -> float:
    """Return a value that is just above the axis of values from `low` to `top`."""
    return top * (top / low) ** 0.03 if is_log else 1.03 * top


def open_edges(axes: Axes, artists: Iterable[Any], *, top: float = 1.0) -> None:
    """Show the markers and bars that stand on the left, lower and right edge; what is above `top`,
    a share of the height, is not shown.
    """
    from matplotlib.transforms import Bbox, TransformedBbox

    clip = TransformedBbox(Bbox.from_extents(-0.02, -0.03, 1.02, top), axes.transAxes)
    for one in artists:
        one.set_clip_path(None)
        one.set_clip_box(clip)
