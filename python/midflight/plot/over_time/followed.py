"""What figures of runs show of the recordings that links follow: handovers, times without rows,
and which part of a recording a run begins with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from midflight.plot.over_time.curves import time_unit
from midflight.plot.over_time.history import RunSource, SetupSource, plan_of
from midflight.plot.over_time.holes import Followed, Hole
from midflight.recordings import part_begins_s, part_words

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["TimeUnit", "followed_of", "time_title"]


_RECORDING = "the recording"
#: After any run.
_NEVER_NS = 2**62
#: The least length of an axis of time in seconds.
_LEAST_S = 0.01


def followed_of(source: RunSource, policies: Policies | None = None) -> dict[str, Followed]:
    """Return what the recordings of a scenario's links have, by the links' names.

    Questions and figures of papers have none.
    """
    if isinstance(source, SetupSource):
        return {}
    plan = plan_of(source, policies=policies)
    links: Mapping[str, Any] = json.loads(plan.canonical)["links"]
    found = {}
    for name, (down, up) in plan.recordings().items():
        trace, both = links[name]["trace"], (down, *([] if up is None else [up]))
        holes = {Hole(*one) for each in both for one in each["holes"]}
        holes |= {Hole(*one[:2], True) for each in both for one in each["short_holes"]}
        is_recorded = "model" not in trace
        part = part_words(_RECORDING, trace, down["span_ns"]) if is_recorded else _RECORDING
        if not down["repeats"]:
            # Its last values stay.
            holes.add(Hole(down["span_ns"], _NEVER_NS, True))
        found[name] = Followed(
            sorted(at for at, _ in down["handovers"]),
            sorted(holes),
            down["span_ns"] if down["repeats"] else None,
            down["span_ns"],
            part_begins_s(trace) if is_recorded else None,
            "" if part == _RECORDING else part,
        )
    return found


class TimeUnit(NamedTuple):
    """How an axis of time is numbered: from an instant in seconds on, in a unit of which a second
    has so many. Of short times the numbers would have many digits, all but the last ones the same.
    """

    since_s: float
    per_s: float
    title: str

    @classmethod
    def of(cls, window: tuple[float, float]) -> TimeUnit:
        """That of an axis that shows a window, in seconds."""
        span = float(f"{window[1] - window[0]:.6g}")
        unit, per_s = time_unit(span, _LEAST_S)
        if unit == "s":
            return cls(0.0, per_s, "")
        digits = math.floor(-math.log10(span))
        since = math.floor(round(window[0] * 10**digits, 6)) / 10**digits
        return cls(since, per_s, f"Time after {since:.12g} s ({unit})")

    def text(self, at_s: float) -> str:
        """The number of an instant."""
        return f"{(at_s - self.since_s) * self.per_s:.6g}"


def time_title(
    runs: Iterable[tuple[Mapping[str, Followed], int]] = (),
    window: tuple[float, float] = (0.0, math.inf),
) -> str:
    """Return the title of the axis of time of runs, each with its recordings and its end: if all of
    them begin in the same instant of their only recording, or repeat the same part of it, the title
    says which. Of a short window it says since when, and in which unit, the axis is numbered.
    """
    if short := TimeUnit.of(window).title:
        return short
    titles = {_title(recorded, end_ns) for recorded, end_ns in runs}
    return titles.pop() if len(titles) == 1 else "Time (s)"


def _title(recorded: Mapping[str, Followed], end_ns: int) -> str:
    """Return the title of a run."""
    if len(recorded) == 1:
        (one,) = recorded.values()
        if one.every_ns is not None and one.every_ns < end_ns:
            return f"Time (s), with {one.part} repeated" if one.part else "Time (s)"
        if one.begins_s:
            return f"Time after {one.begins_s:g} s of the recording (s)"
    return "Time (s)"
