"""The intervals of means of a page: those of figures of what is seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from midflight.plot.common.style import PAGE_IN
from midflight.plot.over_time.curves import WatchedRun
from midflight.plot.over_time.history import NS_PER_S, time_shown
from midflight.plot.over_time.intervals import main_uses, usual_intervals

__all__ = ["Intervals", "intervals_of"]

#: Units of time of all lines.
_UNITS = 100_000
#: No unit is shorter, in nanoseconds.
_LEAST_NS = 1_000_000
#: So many times the view may be half as long.
_MOST_LEVELS = 12


class Intervals(NamedTuple):
    """The unit of which intervals of means are multiples, and of parts of the run, the first of
    which is all of it, from when to when each is and its intervals, each of a view that is half as
    long as that of the one before; in nanoseconds.
    """

    unit_ns: int
    parts: list[tuple[int, int, list[int]]]

    @property
    def lengths(self) -> list[int]:
        """Those of all parts."""
        return sorted({one for _, _, each in self.parts for one in each})

    @property
    def data(self) -> dict[str, Any]:
        """As a page has it."""
        return {"unit": self.unit_ns, "intervals": [[*one] for one in self.parts]}


def intervals_of(runs: Sequence[WatchedRun], interval_s: float | None) -> Intervals:
    """Return the intervals of runs that are shown as a whole at first; all have `interval_s`
    seconds if that is given.
    """
    whole = time_shown([flow for one in runs for flow in one.flows], None, None)
    begin, end = (round(one * NS_PER_S) for one in whole)
    if interval_s is not None:
        asked = round(interval_s * NS_PER_S)
        return Intervals(asked, [(begin, end, [asked])])
    count = sum(len(one.flows) for one in runs)
    least = max(_LEAST_NS, (end - begin) * count / _UNITS)
    found = [(part, [*_levels(runs, part, whole, least)]) for part in (whole, *_uses(runs, whole))]
    every = sorted({one for _, levels in found for one in levels})
    # What has arrived is known at multiples of the unit.
    while (unit := math.gcd(*every)) < least and len(every) > 1:
        every.pop(0)
    parts = []
    for (since, until), levels in found:
        kept = [one for one in levels if one in every]
        if kept:
            parts.append((round(since * NS_PER_S), round(until * NS_PER_S), kept))
    return Intervals(unit, parts)


def _levels(
    runs: Sequence[WatchedRun],
    part: tuple[float, float],
    whole: tuple[float, float],
    least_ns: float,
) -> Iterator[int]:
    """Yield the intervals of a view in a part of runs, at first as long as all of them, then each
    time half as long, as long as they are no shorter than `least_ns`.
    """
    share = (part[1] - part[0]) / (whole[1] - whole[0])
    zooms = [share * 2**level for level in range(_MOST_LEVELS)]
    for level, usual in enumerate(usual_intervals(runs, part, PAGE_IN, zooms)):
        length = max(_LEAST_NS, round(usual.length_s * NS_PER_S / _LEAST_NS) * _LEAST_NS)
        if level and length < least_ns:
            return
        yield length


def _uses(runs: Sequence[WatchedRun], whole: tuple[float, float]) -> list[tuple[float, float]]:
    """From when to when one link is in use for long in runs that have several, each once."""
    several = [run for run in runs if len({one.link for one in run.stretches if one.link}) > 1]
    return list(dict.fromkeys(one for run in several for one in main_uses(run, whole)))
