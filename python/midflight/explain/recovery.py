"""What handoffs, changes and outages did to flows: how soon something new arrived, and how soon the
rate of the link was used again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from midflight.explain.regained import USED, regained
from midflight.explain.words import link_text, to_ms

if TYPE_CHECKING:
    from midflight._core import Setup
    from midflight.explain.arrivals import RunEvents
    from midflight.explain.path import PathSamples

__all__ = ["MOST_EVENTS", "Recovering", "recovery_lines", "slow_recovery"]

#: Handoffs and outages that are told, the longest first.
MOST_EVENTS = 5
#: Two flows that are nearer to each other than this share of their time are equally fast: in a
#: figure of that time it is not seen.
_NEAR = 0.01
#: For the slowest recovery so many events are looked at, the longest ones.
_MOST_LOOKED_AT = 100


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
    #: The links in the flow's direction, if all that they carry is that of the run's flows.
    path: PathSamples | None = None


class _Event(NamedTuple):
    begin_ns: int
    end_ns: int
    text: str
    is_recorded: bool
    #: What its end is called.
    since: str
    #: How long there was no link, in words.
    gap: str = ""


def recovery_lines(flows: Sequence[Recovering]) -> list[str]:
    """Return a sentence for each handoff, change of a link and outage, in their order: the longest
    few, and then how many are left out.
    """
    told = _told(flows)
    longest = _longest(told, MOST_EVENTS)
    lines = [_line(event, until, flows) for event, until in longest]
    left = len(told) - len(lines)
    if left:
        lines.append(f"{left} more {'is' if left == 1 else 'are'} not told here")
    return lines


def slow_recovery(one: Recovering) -> str:
    """Return after what a flow that is alone in its run took longest to use the rate of the link
    again, in a sentence; "" if that is not known.
    """
    slowest = -1.0, ""
    for event, until in _longest(_told([one]), _MOST_LOOKED_AT):
        again = _regained(event, until, one)
        if again is None or again.is_of_several:
            continue
        after, what = again.after_ns, f"after the {event.text}"
        if after:
            said = f"{what} it took {to_ms(after)} until {USED:.0%} of the link's rate was used"
        else:
            said = f"{what} it {again.words}"
        took = again.until_ns - event.end_ns if after is None else after
        slowest = max(slowest, (float(took), said))
    return slowest[1]


def _told(flows: Sequence[Recovering]) -> list[tuple[_Event, int | None]]:
    """What at least one flow knows of, in the order of time, and when the next event begins."""
    if not flows:
        return []
    events = sorted(_events(flows[0].run.setup))
    nexts = [*(one.begin_ns for one in events[1:]), None]
    both = zip(events, nexts, strict=True) if events else ()
    return [(one, after) for one, after in both if any(_knows(one, of) for of in flows)]


def _longest(
    told: Sequence[tuple[_Event, int | None]], most: int
) -> list[tuple[_Event, int | None]]:
    """The longest events, in the order of time."""
    return sorted(sorted(told, key=lambda one: one[0].begin_ns - one[0].end_ns)[:most])


def _events(setup: Setup) -> Iterator[_Event]:
    """Yield what happened to the path of the mobile node."""
    for one in setup.path_changes:
        begin, end = one["at_ns"], one["make_ns"]
        here, there = link_text(one["from_link"]), link_text(one["to_link"])
        gap = f", with {to_ms(end - begin)} without a link" if one["breaks"] and end > begin else ""
        if one["kind"] == "change":
            text, since = f"change of {there} at {to_ms(begin)}", "the change"
        elif here == there:
            text, since = f"loss of {here} at {to_ms(begin)}", "its return"
        else:
            text = f"handoff from {here} to {there} at {to_ms(begin)}"
            since = "the gap" if gap else "the handoff"
        yield _Event(begin, end, text, False, since, "" if one["kind"] == "change" else gap)
    for begin, end, link, _ in setup.link_outages:
        text = f"outage of {link_text(link)} from {to_ms(begin)} to {to_ms(end)}"
        yield _Event(begin, end, text, True, "the outage")


def _knows(event: _Event, one: Recovering) -> bool:
    """Whether a flow was open at an event, and what became of it is known."""
    is_open = one.span[0] < event.begin_ns < one.span[1]
    return is_open and (event.is_recorded or len(_phases(event, one)) == 1)


def _phases(event: _Event, one: Recovering) -> list[Mapping[str, Any]]:
    """The rows of a flow from an event on."""
    return [row for row in one.phases if row["from_ns"] == event.begin_ns]


def _line(event: _Event, until: int | None, flows: Sequence[Recovering]) -> str:
    """Return what an event, up to the beginning of the next one, did to flows of which at least one
    knows it.
    """
    found = [(one, _first_new(event, one)) for one in flows if _knows(event, one)]
    said = []
    together: dict[int, str] = {}
    for one, first in found:
        whose = f" of {one.label}" if one.label else ""
        if first is None:
            what = "arrived" if event.is_recorded else "was acknowledged"
            said.append(f"no new packet{whose} {what}")
            continue
        costs = _costs(event, one, first)
        if event.is_recorded:
            after = to_ms(first - (event.end_ns - event.begin_ns))
            what = f"the first new packet{whose} arrived {after} after its end{costs}"
        else:
            idle = _idle(event, one, first)
            after = f"was acknowledged after {to_ms(first)}{idle}"
            what = f"the first new packet{whose} {after}{costs}"
        again = _regained(event, until, one)
        if again is not None and again.is_of_several:
            together[id(one.run)] = f"all flows together {again.words}"
        elif again is not None:
            but = "but then" if again.after_ns is None else "and"
            what += f", {but} {one.label or 'the flow'} {again.words}"
        said.append(what)
    # Only runs of the same flow are ranked.
    is_race = len({one.flow for one, _ in found}) == 1
    times = sorted((first, one.label) for one, first in found if first is not None)
    if is_race and len(times) > 1 and len(times) == len(said):
        near = _NEAR * max(one.span[1] - one.span[0] for one, _ in found)
        ahead, spread = (place[0] - times[0][0] for place in (times[1], times[-1]))
        if spread < near:
            all_of = "the two" if len(times) == 2 else "all"
            said.append(f"{all_of} times are the same within {to_ms(max(spread, 1e6))}")
        elif ahead >= near:
            said.append(f"{times[0][1]} was first, by {to_ms(ahead)}")
    said += together.values()
    return f"{event.text[0].upper()}{event.text[1:]}{event.gap}: {'; '.join(said)}"


class _Again(NamedTuple):
    """How long after the end of an event the flows of a run used the rate of the link again; None
    if they did not until an instant; that in words, and whether these are several flows.
    """

    after_ns: int | None
    until_ns: int
    words: str
    is_of_several: bool


def _regained(event: _Event, until: int | None, one: Recovering) -> _Again | None:
    """Return when a flow, or all of its run, used the rate of the link again, up to the beginning
    of the next event; None if that is not known.
    """
    if one.path is None or one.is_paced:
        return None
    way = one.run.flows[one.flow]["direction"]
    moving = one.run.moving(way)
    if any(one.run.flows[name]["workload"] not in (None, "", "bulk") for name in moving):
        return None
    setup = one.run.setup
    # Other flows may last longer.
    ended = one.span[1] if len(moving) == 1 else setup.end_ns
    last = ended if until is None else min(ended, until)
    found = regained(one.run, way, one.path, event.end_ns, last, one.span[1] - one.span[0])
    if found is None:
        return None
    if found.after_ns is None:
        end = "its end" if last == ended < setup.end_ns else f"{to_ms(last)}"
        end = "the run ended" if last >= setup.end_ns else end
        mean = f"means of {found.over_ns / 1e9:.2g} s"
        words = f"used at most {found.most:.0%} of the link's rate until {end} ({mean})"
    else:
        when = f"{to_ms(found.after_ns)} after {event.since}" if found.after_ns else "at once"
        words = f"used {USED:.0%} of the link's rate {when}"
    return _Again(found.after_ns, last, words, len(moving) > 1)


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
