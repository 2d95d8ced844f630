"""What became of a flow, in a sentence for a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from midflight.run_tables import count_cell, counted, rate_cell, time_cell

if TYPE_CHECKING:
    from midflight.run_tables import Means

__all__ = ["happened"]


def happened(found: Means, flow: Mapping[str, Any], end: str) -> str:
    """Return what became of a flow of a scenario, as means of its runs; "" for the requests of an
    application. `end` is when the runs end.
    """
    workload, own = found.first.get("workload"), flow.get("workload")
    if own and own != "bulk":
        return _OF_WORKLOADS[workload](found) if workload in _OF_WORKLOADS else ""
    took, rate = found["duration_ns"], rate_cell(found["goodput_bps"].value or 0.0)
    if took.value is not None:
        said = f"{flow['size']} took {time_cell(took.value)} s, {rate} Mbit/s"
    else:
        open_ones = "" if took.some is None else f"{took.some} runs were done in time; "
        said = f"{open_ones}{rate} Mbit/s on average until it was done or the run ended ({end})"
        if not took.there:
            said = f"{rate} Mbit/s on average until the run ended ({end})"
    resent = _some(found, "rexmits", "segment was sent again", "segments were sent again")
    timeouts = _some(found, "timeouts", "timeout", "timeouts")
    return "; ".join([said, *(one for one in (resent, timeouts) if one)])


def _web(found: Means) -> str:
    load, objects = found["load_ns"], found["objects_done"].value
    if load.value is None:
        if load.some is None:
            return "the page was not complete by the end of the run"
        return f"the page was complete in {load.some} runs"
    longest = found["object_max_ns"].value
    most = "" if longest is None else f"; the slowest of them took {time_cell(longest)} s"
    return f"the page with its {count_cell(objects)} objects took {time_cell(load.value)} s{most}"


def _video(found: Means) -> str:
    begun, stalls, stood = (
        found[name].value for name in ("startup_ns", "rebuffers", "rebuffer_ns")
    )
    if begun is None:
        return "the video did not begin in each run"
    still = "never stood still"
    if stalls:
        times = "once" if stalls == 1 else f"{count_cell(stalls)} times"
        still = f"stood still {times}, for {time_cell(stood)} s in all"
    played, rate = found["played_ns"].value, found["mean_rate_bps"].value
    shown = "" if played is None else f"; {time_cell(played)} s of it were played"
    at_rate = "" if rate is None else f", at {rate_cell(rate)} Mbit/s on average"
    return f"the video began after {time_cell(begun)} s and {still}{shown}{at_rate}"


def _call(found: Means) -> str:
    made, late, lost = (found[name].value for name in ("frames", "frames_late", "frames_lost"))
    if not made:
        return ""
    usual, longest = (found[f"frame_delay_{name}_ns"].value for name in ("median", "max"))
    gone = f", and {count_cell(lost)} were not read in time" if lost else ""
    delays = (
        ""
        if usual is None or longest is None
        else f"; half of them took up to {time_cell(usual)} s, the longest {time_cell(longest)} s"
    )
    if not late:
        return f"none of {count_cell(made)} frames was late{gone}{delays}"
    share = f"{late / made:.1%}"
    return f"{count_cell(late)} of {count_cell(made)} frames ({share}) were late{gone}{delays}"


_OF_WORKLOADS = {"web": _web, "video": _video, "call": _call}


def _some(found: Means, name: str, one: str, many: str) -> str:
    """A count in words; "" for none."""
    count = found[name].value
    if not count:
        return ""
    return counted(1, one) if count == 1 else f"{count_cell(count)} {many}"
