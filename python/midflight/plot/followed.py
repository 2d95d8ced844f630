"""What figures of runs show of the recordings that links follow: handovers, times without rows,
and which part of a recording a run begins with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from midflight.plot.history import RunSource, SetupSource, plan_of
from midflight.recordings import part_begins_s, part_words

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["Followed", "Hole", "followed_of", "time_title"]


_RECORDING = "the recording"
#: After any run.
_NEVER_NS = 2**62


class Hole(NamedTuple):
    """A time in which a recording has no rows, in nanoseconds; a short one lacks only a few."""

    from_ns: int
    until_ns: int
    is_short: bool = False


class Followed(NamedTuple):
    """What a recording has, from when the run begins, in nanoseconds."""

    handovers_ns: list[int]
    holes: list[Hole]
    #: After what time it starts again, if it does.
    every_ns: int | None = None
    #: How long it lasts, and which second of it the run begins with; a model has no seconds.
    span_ns: int = 0
    begins_s: float | None = None
    #: Which part of the recording is followed; "" for all of it, and for a model.
    part: str = ""

    def rounds(self, until_ns: int) -> Iterator[int]:
        """Yield when it starts, and starts again, until an instant."""
        yield from range(0, until_ns + 1, self.every_ns) if self.every_ns else (0,)


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


def time_title(runs: Iterable[tuple[Mapping[str, Followed], int]] = ()) -> str:
    """Return the title of the axis of time of runs, each with its recordings and its end: if all of
    them begin in the same instant of their only recording, or repeat the same part of it, the title
    says which.
    """
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
