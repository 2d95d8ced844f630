"""Lines that lie over each other in figures over time: their styles and widths, and runs that are
the same.

The throughputs of several schemes on a full link coincide (`midflight.plot.common.coincide`). A
wide line would fill narrow spikes: lines with many are nearly as wide as others, and the first one
is seen in the gaps of the dashes above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from midflight.plot.common.coincide import NEAR, widths_of_rows
from midflight.plot.common.line_looks import look_of

if TYPE_CHECKING:
    from midflight.plot.over_time.curves import Curve, Values, WatchedRun

__all__ = ["LINE_PT", "LineStyle", "repeated_lines", "styles_of", "take_turns", "widths_of"]

#: The width of a line in points.
LINE_PT = 1.1
#: The width of the first line in points if more than a share of the time is in spikes that are
#: narrower than two of the widest lines, and higher than a share of the panel's values.
_FIRST_OF_SPIKES, _MOST_SPIKES, _NARROW, _HIGH = 1.4, 0.06, 2.0, 0.06
#: The number of instants at which lines are compared.
_INSTANTS = 500

#: Lines of which two have values for no more than this share of the time follow each other.
_BOTH = 0.05

LineStyle: TypeAlias = str | tuple[int, tuple[float, ...]]


def styles_of(looks: Sequence[int]) -> dict[int, LineStyle]:
    """Return the line styles of a figure by the places of the looks of its lines (`look_of`).

    The first line is solid. If another one has a solid line in its look, it takes the style of the
    first.
    """
    if not looks:
        return {}
    first = look_of(looks[0]).line
    found: dict[int, LineStyle] = {looks[0]: "-"}
    for look in looks:
        line = look_of(look).line
        found.setdefault(look, first if line == "-" else line)
    return found


def widths_of(lines: Sequence[Curve], *, is_log: bool = False, point_s: float = 0.0) -> list[float]:
    """Return the widths in points of the lines of a panel, in the order in which they are drawn:
    those that coincide with others are narrower from line to line, by less if they have many narrow
    spikes. The axis may be logarithmic, and a point of it is so many seconds.
    """
    at, values = _at_same_instants(lines, is_log=is_log)
    known = values[np.isfinite(values)]
    if len(lines) < 2 or not len(known):
        return [LINE_PT] * len(lines)
    reach = float(np.ptp(known) if is_log else np.abs(known).max())

    def first(members: Sequence[int], first_pt: float) -> float:
        # So many of the instants are a spike that the line would fill.
        narrow = round(_NARROW * first_pt * point_s / max(at[1] - at[0], 1e-12))
        most = max(_spikes(values[one], narrow, _HIGH * reach) for one in members)
        return _FIRST_OF_SPIKES if most > _MOST_SPIKES else first_pt

    near = NEAR * reach
    # Where both are 0, as in an outage, they lie on the axis, and nobody asks which is which.
    above = -np.inf if is_log else near
    return widths_of_rows(values, near, LINE_PT, above=above, first=first)


def take_turns(lines: Sequence[Curve]) -> bool:
    """Whether hardly ever two of some lines have a value at the same time."""
    _, values = _at_same_instants(lines, is_log=False)
    there = np.isfinite(values).sum(axis=0)
    return bool(np.mean(there > 1) <= _BOTH) if len(there) else True


def _spikes(values: Values, narrow: int, high: float) -> float:
    """The share of a line's values that are in spikes, up or down, of at most so many values and at
    least so high.
    """
    there = np.flatnonzero(np.isfinite(values))
    if narrow < 1 or len(there) <= narrow:
        return 0.0
    line = np.interp(np.arange(there[0], there[-1] + 1), there, values[there])

    def around(one: Values) -> Values:
        found: Values = np.lib.stride_tricks.sliding_window_view(one, narrow + 1)
        return found

    # No window is within a peak that is narrower, and none within such a trough.
    padded = np.pad(line, narrow, "edge")
    without_peaks = around(around(padded).min(axis=1)).max(axis=1)
    without_troughs = around(around(padded).max(axis=1)).min(axis=1)
    is_spike = (line - without_peaks >= high) | (without_troughs - line >= high)
    return float(np.mean(is_spike))


def _at_same_instants(lines: Sequence[Curve], *, is_log: bool) -> tuple[Values, Values]:
    """Instants from the beginning of the first line to the end of the last, and the values of the
    lines there: a row for each, which is nan where the line has no value.
    """
    ends = [one.time_s[[0, -1]] for one in lines if len(one.time_s)]
    if not ends:
        return np.empty(0), np.full((len(lines), 0), np.nan)
    at = np.linspace(np.min(ends), np.max(ends), _INSTANTS)
    rows = []
    for one in lines:
        if not len(one.time_s):
            row = np.full(len(at), np.nan)
        elif one.draw == "line":
            row = np.interp(at, one.time_s, one.value, left=np.nan, right=np.nan)
        else:
            place = np.searchsorted(one.time_s, at, side="right") - 1
            row = np.where(place >= 0, one.value[np.maximum(place, 0)], np.nan)
            row[at > one.time_s[-1]] = np.nan
        rows.append(np.log(np.where(row > 0, row, np.nan)) if is_log else row)
    return at, np.array(rows)


def repeated_lines(runs: Sequence[WatchedRun]) -> Mapping[str, str]:
    """Return the lines of runs that are the same as an earlier one, event by event: the label of
    each, with that of the earlier line.
    """
    found: dict[str, str] = {}
    known: dict[tuple[str, str], str] = {}
    for run in runs:
        for flow, label in zip(run.flows, run.labels, strict=True):
            # All flows of a run have its digest.
            earlier = known.setdefault((flow.digest, flow.flow), label)
            if flow.digest and earlier != label:
                found[label] = earlier
    return found
