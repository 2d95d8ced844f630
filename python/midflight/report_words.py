"""What became of a flow, in a sentence for a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight._core import parse_duration
from midflight.run_tables import count_cell, counted, rate_cell, time_cell

if TYPE_CHECKING:
    from midflight.run_tables import Means

__all__ = ["apart", "compared", "happened", "late_words", "missed_words", "unfinished"]


def apart(cell: str) -> str:
    """Return a cell of a table, or a number, with the thousands of a count apart, as in figures."""
    return f"{int(cell):,}" if cell.isdecimal() else cell


def count_words(count: float | None) -> str:
    """Return a count as in tables, in the same way."""
    return apart(count_cell(count))


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
    elif left := unfinished(found, flow, end):
        said = f"it was not done: {left} after {_open_s(found, end):.12g} s, {rate} Mbit/s"
    else:
        open_ones = "" if took.some is None else f"{took.some} runs were done in time; "
        said = f"{open_ones}{rate} Mbit/s on average until it was done or the run ended ({end})"
        if not took.there:
            said = f"{rate} Mbit/s on average until the run ended ({end})"
    resent = _some(found, "rexmits", "segment was sent again", "segments were sent again")
    timeouts = _some(found, "timeouts", "timeout", "timeouts")
    return "; ".join([said, *(one for one in (resent, timeouts) if one)])


def unfinished(found: Means, flow: Mapping[str, Any], end: str) -> str:
    """Return how much of its size a flow of bulk data had moved when the runs ended, as a mean of
    them, such as "12.9 of 20 MB"; "" if it has no size, or if a run was done.
    """
    size = str(flow.get("size") or "")
    number, _, unit = size.partition(" ")
    if (
        found["duration_ns"].there
        or unit not in _BYTES
        or (flow.get("workload") or "bulk") != "bulk"
    ):
        return ""
    moved = (found["goodput_bps"].value or 0.0) * _open_s(found, end) / 8
    return f"{moved / _BYTES[unit]:.3g} of {number} {unit}"


def _open_s(found: Means, end: str) -> float:
    """How long a flow was open that was not done, in seconds."""
    return float(parse_duration(end) - found.first["opened_ns"]) / 1e9


def compared(flows: Mapping[str, Means], sizes: Sequence[str], *, is_one_run: bool) -> str:
    """Return a sentence on several flows by their names, all of one run or each in its own, and of
    the given sizes: which was done first, or what share each had; "" if they cannot be compared so.
    """
    if len(flows) < 2:
        return ""
    kinds = {found.first.get("workload") or "bulk" for found in flows.values()}
    if kinds not in ({"bulk"}, {"web"}):
        return ""
    opened = {found.first["opened_ns"] for found in flows.values()}
    if is_one_run and len(opened) > 1:
        return ""
    key = "load_ns" if kinds == {"web"} else "duration_ns"
    took = {name: found[key].value for name, found in flows.items()}
    times = sorted((time, name) for name, time in took.items() if time is not None)
    if len(times) == len(flows):
        if kinds == {"bulk"} and len({*sizes}) > 1:
            return ""
        first, fastest = times[0]
        more = [f"{name} took {time_cell(time - first)} s longer" for time, name in times[1:]]
        return f"{fastest} was done first, after {time_cell(first)} s; {'; '.join(more)}"
    rates = {name: found["goodput_bps"].value or 0.0 for name, found in flows.items()}
    if (
        any(found[key].there for found in flows.values())
        or len(opened) > 1
        or not all(rates.values())
    ):
        return ""
    ranked = sorted(rates, key=lambda name: -rates[name])
    if is_one_run:
        total = sum(rates.values())
        shares = " and ".join(f"{name} had {rates[name] / total:.0%}" for name in ranked)
        who = "both" if len(flows) == 2 else "all"
        return f"of the {rate_cell(total)} Mbit/s of {who}, {shares}"
    best = ranked[0]
    more = [f"{rates[best] / rates[name]:.3g} times that of {name}" for name in ranked[1:]]
    return f"{best} had {rate_cell(rates[best])} Mbit/s, {' and '.join(more)}"


#: Units of the sizes of flows.
_BYTES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _web(found: Means) -> str:
    load, objects = found["load_ns"], found["objects_done"].value
    if load.value is None:
        if load.some is None:
            return "the page was not complete by the end of the run"
        return f"the page was complete in {load.some} runs"
    longest = found["object_max_ns"].value
    most = "" if longest is None else f"; the slowest of them took {time_cell(longest)} s"
    return f"the page with its {count_words(objects)} objects took {time_cell(load.value)} s{most}"


def _video(found: Means) -> str:
    begun, stalls, stood = (
        found[name].value for name in ("startup_ns", "rebuffers", "rebuffer_ns")
    )
    if begun is None:
        start = found["startup_ns"]
        if start.some is not None:
            return f"the video began in {start.some} runs"
        return f"the video did not begin{' in any run' if start.missing > 1 else ''}"
    still = "never stood still"
    if stalls:
        times = "once" if stalls == 1 else f"{count_words(stalls)} times"
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
    gone = f", and {missed_words(lost)}" if lost else ""
    delays = (
        ""
        if usual is None or longest is None
        else f"; half of those that were read took up to {time_cell(usual)} s, "
        f"the longest {time_cell(longest)} s"
    )
    if not late:
        return f"none of {count_words(made)} frames was late{gone}{delays}"
    return f"{late_words(late, made)}{gone}{delays}"


def late_words(late: float, made: float) -> str:
    """Return how many of the frames that were made were read late."""
    return f"{count_words(late)} of {count_words(made)} frames ({late / made:.1%}) were late"


def missed_words(lost: float) -> str:
    """Return how many frames were not read, although their deadline passed."""
    return f"{count_words(lost)} {'was' if lost == 1 else 'were'} missed (not read)"


_OF_WORKLOADS = {"web": _web, "video": _video, "call": _call}


def _some(found: Means, name: str, one: str, many: str) -> str:
    """A count in words; "" for none."""
    count = found[name].value
    if not count:
        return ""
    return counted(1, one) if count == 1 else f"{count_words(count)} {many}"
