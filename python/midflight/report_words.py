"""What became of a flow, in a sentence for a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight._core import parse_duration
from midflight.explain.words import SAME, are_same_times, to_ms
from midflight.run_tables import count_cell, counted, rate_cell

if TYPE_CHECKING:
    from midflight.run_tables import Means

__all__ = ["SAME", "apart", "compared", "happened", "late_words", "lost_words", "unfinished"]

#: A value this many times another one is called so, a smaller one by its share.
_TIMES = 1.5


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
        said = f"{flow['size']} took {to_ms(took.value)}, {rate} Mbit/s"
    elif left := unfinished(found, flow, end):
        said = f"it was not done: {left} after {_open_s(found, end):.12g} s, {rate} Mbit/s"
    else:
        open_ones = "" if took.some is None else f"{took.some} runs were done in time; "
        said = f"{open_ones}{rate} Mbit/s on average until it was done or the run ended ({end})"
        if not took.there:
            said = f"{rate} Mbit/s on average until the run ended ({end})"
    resent = _some(found, "rexmits", "segment was sent again", "segments were sent again")
    timeouts = _some(found, "timeouts", "timeout", "timeouts")
    timeouts += _spurious_words(found) if timeouts else ""
    return "; ".join([said, *(one for one in (resent, timeouts) if one)])


def _spurious_words(found: Means) -> str:
    """How many of some timeouts were spurious; "" if none was, or if that is not known."""
    count, of = found["spurious_timeouts"].value, found["timeouts"].value
    if not count:
        return ""
    if count == of:
        return ", which was spurious" if of == 1 else f", {'both' if of == 2 else 'all'} spurious"
    return f", {count_words(count)} of them spurious"


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
    if len(kinds) == 1 and (of_least := _LEAST.get(next(iter(kinds)))):
        return _least(flows, *of_least)
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
        last = times[-1][0]
        if are_same_times(first, last):
            all_of = "the two" if len(times) == 2 else "all"
            return (
                f"{all_of} were done after {to_ms(last)}, the same within "
                f"{to_ms(max(last - first, 1e6))}"
            )
        more = [
            f"{name} took {to_ms(time - first)} longer ({(time - first) / first:.0%})"
            for time, name in times[1:]
        ]
        return f"{fastest} was done first, after {to_ms(first)}; {'; '.join(more)}"
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
    most, least = rates[best], rates[ranked[-1]]
    if most - least < SAME * most:
        all_of = "the two" if len(ranked) == 2 else "all"
        apart_by = max(100 * (1 - least / most), 0.01)
        return f"{all_of} had {rate_cell(most)} Mbit/s, the same within {apart_by:.1g}%"
    more = [f"{_more(most / rates[name])} {name}" for name in ranked[1:]]
    return f"{best} had {rate_cell(most)} Mbit/s, {' and '.join(more)}"


def _least(flows: Mapping[str, Means], key: str, what: str, said: Callable[[float], str]) -> str:
    """Return with which flow something is least; "" if one has no value."""
    values = {name: found[key].value for name, found in flows.items()}
    known = sorted((value, name) for name, value in values.items() if value is not None)
    if len(known) < len(flows):
        return ""
    least, most = known[0][0], known[-1][0]
    if most - least <= SAME * most:
        return f"{what}: the same, {said(most)}"
    each = [f"{said(value)} with {name}" for value, name in known]
    return f"{what}: {each[0]}, the least; {', '.join(each[1:])}"


def _more(ratio: float) -> str:
    """By how much a value is larger than that of whose name follows."""
    if ratio >= _TIMES:
        return f"{ratio:.3g} times that of"
    if ratio - 1 < SAME:
        return "the same as" if ratio == 1 else f"within {SAME:.0%} of"
    return f"{ratio - 1:.0%} more than"


#: Units of the sizes of flows.
_BYTES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _web(found: Means) -> str:
    load, objects = found["load_ns"], found["objects_done"].value
    if load.value is None:
        if load.some is None:
            return "the page was not complete by the end of the run"
        return f"the page was complete in {load.some} runs"
    longest = found["object_max_ns"].value
    most = "" if longest is None else f"; the slowest of them took {to_ms(longest)}"
    return f"the page with its {count_words(objects)} objects took {to_ms(load.value)}{most}"


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
        still = f"stood still {times}, for {to_ms(stood or 0.0)} in all"
    played, rate = found["played_ns"].value, found["mean_rate_bps"].value
    shown = "" if played is None else f"; {to_ms(played)} of it were played"
    at_rate = "" if rate is None else f", at {rate_cell(rate)} Mbit/s on average"
    return f"the video began after {to_ms(begun)} and {still}{shown}{at_rate}"


def _call(found: Means) -> str:
    made, late, lost = (found[name].value for name in ("frames", "frames_late", "frames_lost"))
    if not made:
        return ""
    usual, longest = (found[f"frame_delay_{name}_ns"].value for name in ("median", "max"))
    gone = f", and {lost_words(lost)}" if lost else ""
    delays = (
        ""
        if usual is None or longest is None
        else f"; half of those that were read took up to {to_ms(usual)}, "
        f"the longest {to_ms(longest)}"
    )
    if not late:
        return f"none of {count_words(made)} frames was late{gone}{delays}"
    return f"{late_words(late, made)}{gone}{delays}"


def late_words(late: float, made: float) -> str:
    """Return how many of the frames that were made were read late."""
    return f"{count_words(late)} of {count_words(made)} frames ({late / made:.1%}) were late"


def lost_words(lost: float) -> str:
    """Return how many frames were not read, although their deadline passed."""
    return f"{count_words(lost)} {'was' if lost == 1 else 'were'} lost (not read)"


_OF_WORKLOADS = {"web": _web, "video": _video, "call": _call}


#: What is compared of applications whose flows end at the same time, and what it is called.
_LEAST: Mapping[str, tuple[str, str, Callable[[float], str]]] = {
    "video": ("rebuffer_ns", "the video stood still", to_ms),
    "call": ("frames_missed", "late or lost frames", count_words),
}


def _some(found: Means, name: str, one: str, many: str) -> str:
    """A count in words; "" for none."""
    count = found[name].value
    if not count:
        return ""
    return counted(1, one) if count == 1 else f"{count_words(count)} {many}"
