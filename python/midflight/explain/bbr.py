"""The modes of BBR in a run, and the times in which it measured the round trip."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["Mode", "modes_of", "probes_of_rtt"]

#: The mode in which it holds a small window, until the queue is gone.
_PROBE_RTT = "ProbeRTT"


class Mode(NamedTuple):
    """From when to when a congestion controller was in a mode, and its last window there."""

    name: str
    begin_ns: int
    end_ns: int
    cwnd: float

    def holds(self, at_ns: int) -> bool:
        """Whether it was in it at an instant."""
        return self.begin_ns <= at_ns < self.end_ns

    @property
    def words(self) -> str:
        """What it did then, in ProbeRTT."""
        from midflight.explain.words import number, when

        return (
            f"BBR was in ProbeRTT from {when(self.begin_ns)} to {when(self.end_ns)}: it held its "
            f"window at {number(self.cwnd)} segments, to measure the round trip without a queue"
        )


@lru_cache(maxsize=2)
def modes_of(setup: Setup, flow: str) -> Sequence[Mode]:
    """Return the modes of a flow's congestion controller in their order; none of one without modes,
    such as CUBIC. The last one ends with the run.

    The run is simulated for that, once for all steps of an explanation.
    """
    trace = setup.trace(flow=flow, only=["mode", "cwnd"])
    columns = (trace.column(one) for one in ("time_ns", "event", "value", "detail"))
    rows = list(zip(*columns, strict=True))
    begun = [(at, name) for at, event, _, name in rows if event == "mode"]
    windows = [(at, value) for at, event, value, _ in rows if event == "cwnd"]
    ends = [*(at for at, _ in begun[1:]), setup.end_ns]
    found = []
    for (begin, name), end in zip(begun, ends, strict=False):
        # The event that ends a mode changes the window first.
        last = bisect_left(windows, (end,)) - 1
        found.append(Mode(name, begin, end, windows[max(last, 0)][1]))
    return found


def probes_of_rtt(modes: Sequence[Mode]) -> list[Mode]:
    """Return those in which it measured the round trip."""
    return [one for one in modes if one.name == _PROBE_RTT]
