"""Lines that lie over each other in figures over time: their styles and widths, and runs that are
the same.

The throughputs of several schemes on a full link coincide (`midflight.plot.common.coincide`). The
first one is a little wider, and seen in the gaps of the dashes above it; solid lines are drawn
first, whatever the order of the schemes, as they would hide the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from midflight.plot.common.coincide import NEAR, groups_of, narrower
from midflight.plot.common.line_looks import look_of

if TYPE_CHECKING:
    from midflight.plot.over_time.curves import Curve, Values, WatchedRun

__all__ = ["LINE_PT", "LineStyle", "repeated_lines", "styles_of", "take_turns", "widths_of"]

#: The width of a line in points.
LINE_PT = 1.1
#: The width in points of the first one of lines that coincide: a far wider one would seem to be the
#: important one, and fill narrow spikes.
_FIRST = 1.5
#: The number of instants at which lines are compared.
_INSTANTS = 500

#: Lines of which two have values for no more than this share of the time follow each other.
_BOTH = 0.05

LineStyle: TypeAlias = str | tuple[int, tuple[float, ...]]


def styles_of(looks: Sequence[int]) -> dict[int, LineStyle]:
    """Return the line styles of a figure by the places of the looks of its lines (`look_of`).

    Each is that of the look, in all figures. Where no look is solid, the first one of all looks is,
    whatever the order of the lines.
    """
    found: dict[int, LineStyle] = {look: look_of(look).line for look in looks}
    if looks and "-" not in found.values():
        found[min(looks)] = "-"
    return found


def widths_of(panels: Sequence[tuple[Sequence[Curve], bool]]) -> dict[str, float]:
    """Return the widths in points of the lines of a figure by their labels. A line has one width in
    all panels: those that coincide with others in some panel are narrower from line to line, in the
    order in which they are given. Each panel has its lines and whether its axis is logarithmic.
    """
    order = list(dict.fromkeys(one.label for lines, _ in panels for one in lines))
    group = {label: {label} for label in order}
    for lines, is_log in panels:
        _, values = at_same_instants(lines, is_log=is_log)
        known = values[np.isfinite(values)]
        if len(lines) < 2 or not len(known):
            continue
        reach = float(np.ptp(known) if is_log else np.abs(known).max())
        near = NEAR * reach
        # Where both are 0, as in an outage, they lie on the axis, and nobody asks which is which.
        for members in groups_of(values, near, above=-np.inf if is_log else near):
            joined = set().union(*(group[lines[one].label] for one in members))
            group |= dict.fromkeys(joined, joined)
    widths = dict.fromkeys(order, LINE_PT)
    for joined in group.values():
        if len(joined) > 1:
            members_of = [one for one in order if one in joined]
            widths |= dict(zip(members_of, narrower(len(members_of), _FIRST), strict=True))
    return widths


def take_turns(lines: Sequence[Curve]) -> bool:
    """Whether hardly ever two of some lines have a value at the same time."""
    _, values = at_same_instants(lines, is_log=False)
    there = np.isfinite(values).sum(axis=0)
    return bool(np.mean(there > 1) <= _BOTH) if len(there) else True


def at_same_instants(lines: Sequence[Curve], *, is_log: bool) -> tuple[Values, Values]:
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
