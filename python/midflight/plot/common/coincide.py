"""Lines that coincide in a figure: the first one is wide and each further one, above it, is
narrower, so that all of them are seen, also in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.place_scale import PlaceScale

__all__ = [
    "NEAR",
    "groups_of",
    "marker_share",
    "narrower",
    "same_widths",
    "usual_line",
    "widths_of_joined",
]

#: The width in points of the last one of lines that coincide.
_LAST = 0.9
#: Lines that are nearer than this share of a panel's values cannot be told apart; two that are for
#: this share of the axis coincide, as seen at so many places.
NEAR, _SHARE, _PLACES = 0.015, 0.6, 500

#: The first line of results that coincide is wider than usual by this factor: one that is far wider
#: than the others would seem to be the important one.
_WIDER = 1.6
#: The markers of a line that is twice as wide as usual are larger by this power of it.
_MARKER_POWER = 0.45

_Key = TypeVar("_Key")
_Values: TypeAlias = NDArray[np.float64]


def groups_of(values: _Values, near: float, *, above: float = -np.inf) -> list[list[int]]:
    """Return which lines coincide, as groups of their numbers; a row of values for each line.

    Values are the same if they are not farther than `near` from each other. Places where no value
    of two lines is `above` another one do not count for these.
    """
    group = list(range(len(values)))
    for second in range(len(values)):
        for first in range(second):
            both = np.isfinite(values[first]) & np.isfinite(values[second])
            both &= np.maximum(values[first], values[second]) > above
            apart = np.abs(values[first][both] - values[second][both])
            if len(apart) and np.mean(apart <= near) > _SHARE:
                group = [group[first] if one == group[second] else one for one in group]
    return [[at for at, one in enumerate(group) if one == number] for number in sorted({*group})]


def narrower(count: int, first_pt: float) -> list[float]:
    """The widths in points of so many lines that coincide, two or more, in the order in which they
    are drawn.
    """
    shares = ((count - 1 - place) / (count - 1) for place in range(count))
    return [float(_LAST * (first_pt / _LAST) ** share) for share in shares]


def marker_share(width_pt: float, usual_pt: float) -> float:
    """How much larger or smaller than usual the markers of a line so wide are."""
    return float((width_pt / usual_pt) ** _MARKER_POWER)


def widths_of_joined(
    lines: Sequence[tuple[Any, Any]],
    ends: tuple[float, float],
    usual_pt: float,
    *,
    scale_x: PlaceScale,
    log_y: bool,
) -> list[float]:
    """Return the widths in points of lines through points, each a row of numbers and one of values,
    in axes with these ends of values and this scale of numbers.
    """

    def shown(values: Any, *, is_log: bool) -> _Values:
        found = np.array(values, dtype=float).reshape(-1)
        if is_log:
            found = np.log(np.where(found > 0, found, np.nan))
        # A line ends at a point without a value.
        return np.where(np.isfinite(found), found, np.nan)

    widths = [usual_pt] * len(lines)
    points = [(scale_x.along(x).reshape(-1), shown(value, is_log=log_y)) for x, value in lines]
    every = np.concatenate([x for x, _ in points]) if points else np.empty(0)
    if len(lines) < 2 or not len(every):
        return widths
    at = np.linspace(np.min(every), np.max(every), _PLACES)
    rows = np.full((len(lines), len(at)), np.nan)
    for row, (x, value) in zip(rows, points, strict=True):
        if len(x):
            order = np.argsort(x)
            row[:] = np.interp(at, x[order], value[order], left=np.nan, right=np.nan)
    low, high = shown(ends, is_log=log_y)

    for members in groups_of(rows, NEAR * (high - low)):
        if len(members) > 1:
            found = narrower(len(members), _WIDER * usual_pt)
            for member, width in zip(members, found, strict=True):
                widths[member] = width
    return widths


def same_widths(
    panels: Sequence[Sequence[tuple[_Key, float]]], usual_pt: float
) -> dict[_Key, float]:
    """Return one width in points for each line of several panels, each with its lines and the
    widths that they have there: one that is wide in some is wide in all, as a line that is wide
    here and there would seem to say something.
    """
    found: dict[_Key, float] = {}
    for key, width in (one for panel in panels for one in panel):
        before = found.get(key, usual_pt)
        widest = max(before, width)
        found[key] = widest if widest > usual_pt else min(before, width)
    return found


def usual_line(handle: Any, usual_pt: float | None = None) -> Any:
    """A line for the legend, as wide as usual also where others coincide with it: the dashes of
    a wide one have no room there.
    """
    from matplotlib import rcParams
    from matplotlib.lines import Line2D

    if not isinstance(handle, Line2D):
        return handle
    found = Line2D([], [])
    found.update_from(handle)
    found.set_linewidth(rcParams["lines.linewidth"] if usual_pt is None else usual_pt)
    return found
