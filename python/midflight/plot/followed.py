"""What figures of runs show of the recordings that links follow: handovers, times without rows,
and which part of a recording a run begins with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from midflight.plot.history import RunSource, SetupSource, plan_of
from midflight.recordings import part_begins_s

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["Followed", "Hole", "followed_of", "time_title"]


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
        found[name] = Followed(
            sorted(at for at, _ in down["handovers"]),
            sorted(holes),
            down["span_ns"] if trace.get("repeat") else None,
            down["span_ns"],
            None if "model" in trace else part_begins_s(trace),
        )
    return found


def time_title(runs: Iterable[tuple[Mapping[str, Followed], int]] = ()) -> str:
    """Return the title of the axis of time of runs, each with its recordings and its end: if all of
    them begin in the same instant of their only recording, the title says which.
    """
    begins = {_begins_s(recorded, end_ns) for recorded, end_ns in runs}
    begin = begins.pop() if len(begins) == 1 else 0.0
    return f"Time after {begin:g} s of the recording (s)" if begin else "Time (s)"


def _begins_s(recorded: Mapping[str, Followed], end_ns: int) -> float:
    """Return which second of its only recording a run begins with; 0 without such a recording, and
    for one that starts again.
    """
    begins = 0.0
    if len(recorded) == 1:
        (one,) = recorded.values()
        is_repeated = one.every_ns is not None and one.every_ns < end_ns
        begins = 0.0 if is_repeated else one.begins_s or 0.0
    return begins
