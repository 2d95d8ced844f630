"""What handoffs, changes and outages did to flows: how soon something new arrived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from midflight.explain.words import link_text, to_ms

if TYPE_CHECKING:
    from midflight._core import Setup
    from midflight.explain.arrivals import RunEvents

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
    run: RunEvents
    flow: str
    span: tuple[int, int]
    phases: Sequence[Mapping[str, Any]]
    #: Whether an application determines when it has something to send.
    is_paced: bool = False


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
    told = [one for one in _events(flows[0].run.setup) if any(_knows(one, of) for of in flows)]
    longest = sorted(told, key=lambda one: one.begin_ns - one.end_ns)[:MOST_EVENTS]
    lines = [_line(event, flows) for event in sorted(longest)]
    left = len(told) - len(lines)
    if left:
        lines.append(f"{left} more {'is' if left == 1 else 'are'} not told here")
    return lines


def _events(setup: Setup) -> Iterator[_Event]:
    """Yield what happened to the path of the mobile node."""
    for one in setup.path_changes:
        begin, end = one["at_ns"], one["make_ns"]
        here, there = link_text(one["from_link"]), link_text(one["to_link"])
        gap = f", with {to_ms(end - begin)} without a link" if one["breaks"] and end > begin else ""
        if one["kind"] == "change":
            text = f"change of {there} at {to_ms(begin)}"
        elif here == there:
            text = f"loss of {here} at {to_ms(begin)}{gap}"
        else:
            text = f"handoff from {here} to {there} at {to_ms(begin)}{gap}"
        yield _Event(begin, end, text, False)
    for begin, end, link, _ in setup.link_outages:
        text = f"outage of {link_text(link)} from {to_ms(begin)} to {to_ms(end)}"
        yield _Event(begin, end, text, True)


def _knows(event: _Event, one: Recovering) -> bool:
    """Whether a flow was open at an event, and what became of it is known."""
    is_open = one.span[0] < event.begin_ns < one.span[1]
    return is_open and (event.is_recorded or len(_phases(event, one)) == 1)


def _phases(event: _Event, one: Recovering) -> list[Mapping[str, Any]]:
    """The rows of a flow from an event on."""
    return [row for row in one.phases if row["from_ns"] == event.begin_ns]


def _line(event: _Event, flows: Sequence[Recovering]) -> str:
    """Return what an event did to flows of which at least one knows it."""
    found = [(one, _first_new(event, one)) for one in flows if _knows(event, one)]
    said = []
    for one, first in found:
        whose = f" of {one.label}" if one.label else ""
        if first is None:
            what = "arrived" if event.is_recorded else "was acknowledged"
            said.append(f"no new packet{whose} {what}")
        elif event.is_recorded:
            after = to_ms(first - (event.end_ns - event.begin_ns))
            costs = _costs(event, one, first)
            said.append(f"the first new packet{whose} arrived {after} after its end{costs}")
        else:
            said.append(
                f"the first new packet{whose} was acknowledged after {to_ms(first)}"
                f"{_idle(event, one, first)}{_costs(event, one, first)}"
            )
    # Only runs of the same flow are ranked.
    is_race = len({one.flow for one, _ in found}) == 1
    times = sorted((first, one.label) for one, first in found if first is not None)
    if (
        is_race
        and len(times) > 1
        and len(times) == len(said)
        and times[1][0] - times[0][0] > _NEAR_NS
    ):
        said.append(f"{times[0][1]} was first, by {to_ms(times[1][0] - times[0][0])}")
    return f"{event.text[0].upper()}{event.text[1:]}: {'; '.join(said)}"


def _first_new(event: _Event, one: Recovering) -> int | None:
    """Return how long from the beginning of an event until something new arrived or was
    acknowledged; None if nothing was.
    """
    if not event.is_recorded:
        (phase,) = _phases(event, one)
        found: int | None = phase["first_new_ns"]
        return found
    events = one.run.of(one.flow)
    times, segments = events.arrived_ns, events.segments
    before = times < event.begin_ns
    highest = float(segments[before].max()) if before.any() else -1.0
    later = times[(times >= event.end_ns) & (segments > highest)]
    return int(later[0]) - event.begin_ns if len(later) else None


def _idle(event: _Event, one: Recovering, first: int) -> str:
    """Return for how long of that time an application had nothing to send."""
    if not one.is_paced:
        return ""
    idle = one.run.of(one.flow).idle_ns(event.begin_ns, first)
    return f" (for {to_ms(idle)} of that time it had nothing to send)" if idle else ""


def _costs(event: _Event, one: Recovering, first: int) -> str:
    """Return the timeouts and retransmissions of a flow until then."""
    begin, until = event.begin_ns, event.begin_ns + first
    events = one.run.of(one.flow)
    timeouts, rexmits = (
        int(np.sum((times >= begin) & (times <= until)))
        for times in (events.timeouts_ns, events.rexmits_ns)
    )
    counts = [
        (timeouts, "timeout", "timeouts"),
        (rexmits, "retransmission", "retransmissions"),
    ]
    said = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count]
    return f", with {' and '.join(said)} until then" if said else ""
