"""Lines of times that packets and frames take: as dots, or as quantiles of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.plot.over_time.bins import Places, places_in, stepped, without_gaps
from midflight.plot.over_time.curves import Curve, Values, seconds_text

__all__ = ["MOST_DOTS", "OF_MOST", "Times", "lines_of", "unit_of"]

#: A line with more values, or beside another line, is drawn as quantiles.
MOST_DOTS = 4000
#: What the text above a panel says of the thin line above medians.
OF_MOST = ", thin line: maximum"
#: The share of the times that decides on their unit.
_USUAL = 0.98
#: Gaps that are shorter than this share of an interval are not seen.
_LEAST_GAP = 0.1
#: A line ends where it has no values for longer than an interval and so many times what this share
#: of its values are apart at the most.
_TIMES, _NEARLY_ALL = 2.0, 0.95


class Times(NamedTuple):
    """The times that the packets or frames of a line take, in seconds, and when, with the edges of
    the intervals of its quantiles; `how` are the fields of its curve. In the `gaps` nothing can
    arrive.
    """

    how: dict[str, Any]
    edges: Values
    time_s: Values
    took_s: Values
    gaps: Sequence[tuple[float, float]] = ()


def unit_of(found: Sequence[Times]) -> tuple[str, float]:
    """Return the unit in which times are drawn, and its factor; a few long ones do not count."""
    tops = (float(np.quantile(one.took_s, _USUAL)) for one in found if len(one.took_s))
    top = max(tops, default=0.0)
    return ("s", 1.0) if top >= 2.0 else ("ms", 1e3)


def lines_of(
    found: Sequence[Times], interval: float, scale: float = 1.0
) -> tuple[list[Curve], str]:
    """Return the curves of lines, and what their values are: dots if there is one line with few
    values, otherwise medians of intervals with a band and a maximum.
    """
    several = sum(len(one.time_s) > 0 for one in found) > 1
    curves, has_medians = [], False
    for how, edges, time, took, gaps in found:
        if len(edges) > 1 and (several or len(time) > MOST_DOTS):
            has_medians = True
            starts, quantiles = _quantiles(edges, time, took * scale)
            seen = [one for one in gaps if one[1] - one[0] >= _LEAST_GAP * interval]
            starts, quantiles = without_gaps(starts, quantiles, time, seen)
            low, median, high, most, most_s = quantiles
            own: dict[str, Any] = {"low": low, "high": high, "most": most, "of_intervals": True}
            own["most_s"] = most_s
            curves.append(Curve(draw="steps", time_s=starts, value=median, **own, **how))
        else:
            curves.append(Curve(draw="dots", time_s=time, value=took * scale, **how))
    detail = f"medians of {seconds_text(interval)}, band: 5 to 95 %{OF_MOST}" if has_medians else ""
    return curves, detail


def _quantiles(edges: Values, time: Values, value: Values) -> tuple[Values, list[Values]]:
    """The 5 %, 50 % and 95 % quantiles and the maximum of each interval that has values, as steps,
    and when the maximum is.

    A time without values that is longer than those before ends the line at the last value, and it
    begins again at the next one.
    """
    if not len(value):
        return np.empty(0), [np.empty(0)] * 5
    place = places_in(edges, time)
    apart = np.quantile(np.diff(time), _NEARLY_ALL) if len(time) > 1 else 0.0
    silent = max(float(np.median(np.diff(edges))), _TIMES * float(apart))
    place = _without_lone(place, np.diff(time, prepend=-np.inf) > silent)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    parts = np.split(value, first[1:])
    points = np.array([np.quantile(one, (0.05, 0.5, 0.95, 1.0)) for one in parts])
    at = np.array([begin + int(one.argmax()) for begin, one in zip(first, parts, strict=True)])
    ends = time[first], time[np.append(first[1:], len(time)) - 1]
    gaps = np.flatnonzero(ends[0][1:] - ends[1][:-1] > silent)
    return stepped(edges, place[first], [*points.T, time[at]], gaps, ends)


def _without_lone(place: Places, begins: NDArray[np.bool_]) -> Places:
    """The intervals of values, those of which begin after a silence as given: one that begins there
    and is alone in its interval is of the next one, if that has several. As a median it would be a
    line of its own, such as the time that a copy took that was sent before the silence.
    """
    count = np.bincount(place)[place]
    is_lone = begins & (count == 1)
    is_lone[:-1] &= ~begins[1:] & (count[1:] > 1)
    is_lone[-1] = False
    found = place.copy()
    found[is_lone] = place[np.flatnonzero(is_lone) + 1]
    return found
