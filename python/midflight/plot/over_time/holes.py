"""What a recording that a link follows has, apart from its values: handovers, and times without
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Followed", "Hole"]


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
