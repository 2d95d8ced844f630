"""Panels whose lines would tangle, as panels of a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from midflight.plot.common.style import labelled
from midflight.plot.over_time.curves import Panel, WatchedRun
from midflight.plot.over_time.strokes import is_stroked
from midflight.plot.over_time.together import at_same_instants

__all__ = ["line_by_line"]

#: Lines tangle if in an inch of the panel they change places more often than this, each time by
#: more than this share of the largest value.
_MOST_PER_IN, _CLEARLY = 10, 0.05


def line_by_line(
    panel: Panel,
    runs: Sequence[WatchedRun],
    same: Mapping[str, str],
    width_in: float,
    *,
    is_log: bool,
) -> list[Panel]:
    """A panel of bars, or of lines that tangle, as one for each of its lines, but for those that
    are the `same` as another one; other panels. What is behind the lines is in each of them.
    """
    looks = {look: label for run in runs for label, look in zip(run.labels, run.looks, strict=True)}
    shown = {one.look for one in panel.curves if one.draw == "bars" or is_stroked(one)}
    has_bars = any(one.draw == "bars" for one in panel.curves)
    if not shown <= {*looks} or not (has_bars or _tangle(panel, width_in, is_log=is_log)):
        return [panel]
    found: list[Panel] = []
    for look, label in looks.items():
        if look not in shown or label in same:
            continue
        mine = [one for one in panel.curves if one.look in (None, look)]
        peaks = [one for one in panel.peaks if one.look == look]
        # What is said of all stands above the first one.
        detail = "" if found else panel.detail
        alike = [labelled(name) for name, other in same.items() if other == label]
        line = ", ".join([labelled(label), *alike]) + " (the same)" * bool(alike)
        line = ": ".join(filter(None, (line, panel.said_of.get(look, ""))))
        found.append(replace(panel, curves=mine, detail=detail, line=line, peaks=peaks, of=panel))
    return found if len(found) > 1 else [panel]


def _tangle(panel: Panel, width_in: float, *, is_log: bool) -> bool:
    """Whether the lines of a panel change places so often that nobody can follow them."""
    lines = [one for one in panel.curves if is_stroked(one)]
    _, values = at_same_instants(lines, is_log=is_log)
    known = values[np.isfinite(values)]
    if len(lines) < 2 or not len(known):
        return False
    least = _CLEARLY * float(np.ptp(known) if is_log else np.abs(known).max())
    changes = 0
    for one, other in combinations(values, 2):
        apart = one - other
        ahead = np.sign(apart[np.abs(apart) > least])
        changes += int(np.count_nonzero(np.diff(ahead)))
    return changes > _MOST_PER_IN * width_in
