"""When the flows of a figure over time are done, for its legend."""

from __future__ import annotations

from collections.abc import Sequence

from midflight.plot.over_time.curves import WatchedRun, each_line
from midflight.plot.over_time.history import NS_PER_S

__all__ = ["done_words"]


def done_words(runs: Sequence[WatchedRun], window: tuple[float, float]) -> dict[str, str]:
    """Return when transfers are done in the time shown, by the labels of their lines: where lines
    lie over each other the end of none is seen. Applications have other ends, which their panels
    tell.
    """
    found = {}
    for run, flow, how in each_line(runs):
        end_s = flow.end_ns / NS_PER_S
        is_transfer = run.workload_of(flow) in (None, "", "bulk")
        if is_transfer and not flow.is_waiting and window[0] < end_s <= window[1]:
            digits = f"{end_s:.3g}" if end_s < 1000 else f"{end_s:.0f}"
            found[how["label"]] = f"done at {digits} s"
    return found
