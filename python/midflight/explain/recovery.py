"""What handoffs, changes and outages did to flows: how soon something new arrived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from midflight.explain.words import link_text

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["MOST_EVENTS", "Recovering", "recovery_lines"]

#: Handoffs and outages that are told, the longest first.
MOST_EVENTS = 5
#: Two flows that are nearer to each other than this are equally fast.
_NEAR_NS = 1e6


class Recovering(NamedTuple):
    """A flow of a run: what it is called ("" if it is the only one), its run, its name, when it
    was open, and the rows of its phases.
    """

    label: str
    setup: Setup
    flow: str
    span: tuple[int, int]
    phases: Sequence[Mapping[str, Any]]


class _Event(NamedTuple):
    begin_ns: int
    end_ns: int
    text: str
    is_recorded: bool


def recovery_lines(flows: Sequence[Recovering]) -> list[str]:
    """Return a sentence for each handoff, change of a link and outage, in their order: the longest
    few, and then how many are left out.
    """
    if not flows:
        return []
    every = list(_events(flows[0].setup))
    told = [(event, line) for event in every if (line := _line(event, flows))]
    longest = sorted(told, key=lambda one: one[0].begin_ns - one[0].end_ns)[:MOST_EVENTS]
    lines = [line for event, line in sorted(longest)]
    left = len(told) - len(lines)
    if left:
        lines.append(f"{left} more {'is' if left == 1 else 'are'} not told here")
    return lines


def _s(time_ns: float) -> str:
    return f"{time_ns / 1e9:.3f}".rstrip("0").rstrip(".") + " s"


def _events(setup: Setup) -> Iterator[_Event]:
    """Yield what happened to the path of the mobile node."""
    for one in setup.path_changes:
        begin, end = one["at_ns"], one["make_ns"]
        here, there = link_text(one["from_link"]), link_text(one["to_link"])
        gap = f", with {_s(end - begin)} without a link" if one["breaks"] and end > begin else ""
        if one["kind"] == "change":
            text = f"change of {there} at {_s(begin)}"
        elif here == there:
            text = f"loss of {here} at {_s(begin)}{gap}"
        else:
            text = f"handoff from {here} to {there} at {_s(begin)}{gap}"
        yield _Event(begin, end, text, False)
    for begin, end, link, _ in setup.link_outages:
        text = f"outage of {link_text(link)} from {_s(begin)} to {_s(end)}"
        yield _Event(begin, end, text, True)


def _line(event: _Event, flows: Sequence[Recovering]) -> str:
    """Return what an event did to flows; "" if none was open then."""
    open_ones = [one for one in flows if one.span[0] < event.begin_ns < one.span[1]]
    found = [(one, *_first_new(event, one)) for one in open_ones]
    said = []
    for one, first, known in found:
        if not known:
            continue
        whose = f" of {one.label}" if one.label else ""
        if first is None:
            what = "arrived" if event.is_recorded else "was acknowledged"
            said.append(f"no new packet{whose} {what}")
        elif event.is_recorded:
            said.append(
                f"the first new packet{whose} arrived {_s(first - (event.end_ns - event.begin_ns))}"
                f" after its end{_costs(event, one, first)}"
            )
        else:
            said.append(
                f"the first new packet{whose} was acknowledged after {_s(first)}"
                f"{_costs(event, one, first)}"
            )
    if not said:
        return ""
    times = sorted((first, one.label) for one, first, known in found if known and first is not None)
    if len(times) > 1 and len(times) == len(said) and times[1][0] - times[0][0] > _NEAR_NS:
        said.append(f"{times[0][1]} was first, by {_s(times[1][0] - times[0][0])}")
    return f"{event.text[0].upper()}{event.text[1:]}: {'; '.join(said)}"


def _first_new(event: _Event, one: Recovering) -> tuple[int | None, bool]:
    """Return how long from the beginning of an event until something new arrived or was
    acknowledged, None if nothing was; and whether that is known.
    """
    if not event.is_recorded:
        phases = [row for row in one.phases if row["from_ns"] == event.begin_ns]
        return (phases[0]["first_new_ns"], True) if len(phases) == 1 else (None, False)
    trace = one.setup.trace(flow=one.flow, only=["rcv"])
    times, values = trace.numpy("time_ns"), np.asarray(trace.numpy("value"), np.float64)
    before = times < event.begin_ns
    highest = float(values[before].max()) if before.any() else -1.0
    later = times[(times >= event.end_ns) & (values > highest)]
    return (int(later[0]) - event.begin_ns, True) if len(later) else (None, True)


def _costs(event: _Event, one: Recovering, first: int) -> str:
    """Return the timeouts and retransmissions of a flow until then."""
    until = event.begin_ns + first
    trace = one.setup.trace(
        flow=one.flow, only=["rto", "rexmit"], from_ns=event.begin_ns, until_ns=until
    )
    events = [
        name
        for name, at in zip(trace.column("event"), trace.column("time_ns"), strict=True)
        if at <= until
    ]
    counts = [
        (events.count("rto"), "timeout", "timeouts"),
        (events.count("rexmit"), "retransmission", "retransmissions"),
    ]
    said = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    return f", with {' and '.join(said)} until then" if said else ""
