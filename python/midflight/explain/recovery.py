"""What handoffs, changes and outages did to flows: how soon something new arrived, and how soon the
rate of the link was used again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from midflight.explain.regained import USED, regained
from midflight.explain.words import are_same_times, link_text, to_ms
from midflight.listing import joined

if TYPE_CHECKING:
    from midflight._core import Setup
    from midflight.explain.arrivals import RunEvents
    from midflight.explain.path import PathSamples

__all__ = ["MOST_EVENTS", "Recovering", "recovery_lines", "slow_recovery"]

#: Handoffs and outages that are told, the longest first.
MOST_EVENTS = 5
#: Another recovery than that from the longest event is told if it took this many times as long.
_SLOWER = 1.5
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
    #: How long the steps of a figure beside them are, of which means have whole ones; or None.
    means_ns: float | None = None


class _Event(NamedTuple):
    begin_ns: int
    end_ns: int
    text: str
    is_recorded: bool
    #: From when on times are counted: when the link came or returned, or the change was made.
    since: str
    #: How long there was no link, in words.
    gap: str = ""


def recovery_lines(flows: Sequence[Recovering], *, has_summary: bool = False) -> list[str]:
    """Return a sentence for each handoff, change of a link and outage, in their order: the longest
    few, and then how many are left out. With `has_summary` some of `slow_recovery` was said.
    """
    told = _told(flows)
    longest = _longest(told, MOST_EVENTS)
    # Of a single event and flow the summary has said how soon the rate was used.
    has_rates = len(told) != 1 or len(flows) != 1 or not has_summary
    lines = [_line(event, until, flows, has_rates=has_rates) for event, until in longest]
    left = len(told) - len(lines)
    if left:
        lines.append(f"{left} more {'is' if left == 1 else 'are'} not told here")
    return lines


def slow_recovery(one: Recovering) -> str:
    """Return how soon a flow that is alone in its run used the rate of the link again after the
    longest of what happened, in a sentence, and after what it took longest, if that is another one
    and took clearly longer; "" if that is not known.
    """
    found: list[tuple[int, int, _Event, _Again]] = []
    for event, until in _longest(_told([one]), _MOST_LOOKED_AT):
        again = _regained(event, until, one)
        if again is None or again.is_of_several:
            continue
        took = again.until_ns - event.end_ns if again.within_ns is None else again.within_ns
        found.append((event.end_ns - event.begin_ns, took, event, again))
    if not found:
        return ""
    longest = max(found, key=lambda each: each[:2])
    slowest = max(found, key=lambda each: each[1])
    said = _after(*longest[2:])
    if slowest[1] <= _SLOWER * longest[1]:
        return said
    # One that the next event cut off may have taken longer.
    if any(again.within_ns is None for *_, again in found):
        return f"{said}; {_after(*slowest[2:])}"
    _, took, event, again = slowest
    since = again.since if event.gap else ""
    return f"{said}; it took longest after the {event.text}: {_two_digits(took)}{since}"


def _after(event: _Event, again: _Again) -> str:
    """How soon the rate was used again; after what is said once."""
    # An outage says when it ends, and a handoff without a gap when the link came.
    since = again.since if event.gap else ""
    return f"after the {event.text} it {again.words}{since}{again.means}"


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
            text, since = f"change of {there} at {to_ms(begin)}", "after the change"
        elif here == there:
            text, since = f"loss of {here} at {to_ms(begin)}", "after its return"
        else:
            text = f"handoff from {here} to {there} at {to_ms(begin)}"
            since = f"after {there} came" if gap else "after the handoff"
        yield _Event(begin, end, text, False, since, "" if one["kind"] == "change" else gap)
    for begin, end, link, _ in setup.link_outages:
        text = f"outage of {link_text(link)} from {to_ms(begin)} to {to_ms(end)}"
        yield _Event(begin, end, text, True, "after its end")


def _knows(event: _Event, one: Recovering) -> bool:
    """Whether a flow was open at an event, and what became of it is known."""
    is_open = one.span[0] < event.begin_ns < one.span[1]
    return is_open and (event.is_recorded or len(_phases(event, one)) == 1)


def _phases(event: _Event, one: Recovering) -> list[Mapping[str, Any]]:
    """The rows of a flow from an event on."""
    return [row for row in one.phases if row["from_ns"] == event.begin_ns]


def _line(
    event: _Event, until: int | None, flows: Sequence[Recovering], *, has_rates: bool = True
) -> str:
    """Return what an event, up to the beginning of the next one, did to flows of which at least one
    knows it; without `has_rates` only when something new came.
    """
    found = [(one, _first_new(event, one)) for one in flows if _knows(event, one)]
    again = {id(one): _regained(event, until, one) if has_rates else None for one, _ in found}
    own = [
        (one, back)
        for one, _ in found
        if (back := again[id(one)]) is not None and not back.is_of_several
    ]
    came = "arrived" if event.is_recorded else "was acknowledged"
    said = []
    if len(found) == 1:
        ((one, first),) = found
        of = f" of {one.label}" if one.label else ""
        if first is None:
            what = f"no new packet{of} {came}"
        else:
            costs, idle = _costs(event, one, first), _idle(event, one, first)
            costs = f", with {costs} until then" if costs else ""
            what = f"the first new packet{of} {came} {to_ms(first)} {event.since}{idle}{costs}"
        for _, back in own:
            but = "but then" if back.within_ns is None else "and"
            what += f", {but} {one.label or 'the flow'} {back.words}{back.since}{back.means}"
        said.append(what)
    else:
        each = [f"{one.label} {_first_words(event, one, first)}" for one, first in found]
        came = came.removeprefix("was ")
        race = _race(found, {id(one): back.within_ns for one, back in own})
        said.append(f"first new packet {came} {event.since}: {', '.join(each)}{race}")
        if own:
            means = own[0][1].means
            words = ", ".join(
                f"{one.label} {back.of_several}{back.means if back.means != means else ''}"
                for one, back in own
            )
            said.append(f"{USED:.0%} of the link's rate used {event.since}{means}: {words}")
    together = {
        id(one.run): (one, back)
        for one, _ in found
        if (back := again[id(one)]) is not None and back.is_of_several
    }
    for one, back in together.values():
        whose = f"with {one.label}, " if len(together) > 1 else ""
        said.append(f"{whose}{_all_flows(one)} together {back.words}{back.since}{back.means}")
    return f"{event.text[0].upper()}{event.text[1:]}{event.gap}: {'; '.join(said)}"


def _all_flows(one: Recovering) -> str:
    """What all flows of a run in the direction of one are called."""
    ways = {flow["direction"] for flow in one.run.flows.values() if flow["moves"]}
    return "all flows" if len(ways) == 1 else f"all {one.run.flows[one.flow]['direction']}loads"


def _first_words(event: _Event, one: Recovering, first: int | None) -> str:
    """Return when the first new packet of one of several flows came."""
    if first is None:
        return "never"
    costs = _costs(event, one, first)
    return f"{to_ms(first)}{_idle(event, one, first)}{f' ({costs} until then)' if costs else ''}"


def _race(
    found: Sequence[tuple[Recovering, int | None]], within: Mapping[int, int | None] | None = None
) -> str:
    """Return which of several runs of the same flow was the first with a new packet; "" if one has
    none, or if they are several flows. `within` are the times within which they used the rate of
    the link again, as far as these are known: what was first, but not in that, is not called so.
    """
    times = [(first, one.label) for one, first in found if first is not None]
    if len({one.flow for one, _ in found}) > 1 or len(times) < len(found):
        return ""
    least = min(times)[0]
    ahead = [label for time, label in times if are_same_times(least, time)]
    if len(ahead) == len(times):
        return f", {'both' if len(times) == 2 else 'all'} the same"
    again = {one.label: (within or {}).get(id(one), math.inf) for one, _ in found}
    took = {label: math.inf if time is None else time for label, time in again.items()}
    if within and max(took[label] for label in ahead) > min(took.values()):
        return ""
    verb = "was" if len(ahead) == 1 else "were"
    behind = min(time for time, label in times if label not in ahead)
    return f", so {joined(ahead)} {verb} first, by {to_ms(behind - least)}"


class _Again(NamedTuple):
    """Within what time after the end of an event the flows of a run used the rate of the link
    again, on average over the end of that time; None if they did not until an instant; that in
    words, since when it counts, and for a list of several flows; how long the means are; and
    whether these are several flows of one run.
    """

    within_ns: int | None
    until_ns: int
    words: str
    since: str
    of_several: str
    means: str
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
    # Other flows may last longer.
    ended = one.span[1] if len(moving) == 1 else one.path.end_ns
    last = ended if until is None else min(ended, until)
    length = one.span[1] - one.span[0]
    found = regained(one.run, way, one.path, event.end_ns, last, length, one.means_ns)
    if found is None:
        return None
    means = f" (means of {found.over_ns / 1e9:.2g} s)"
    if found.after_ns is None:
        end = "its end" if last == ended < one.path.end_ns else f"{to_ms(last)}"
        end = "the run ended" if last >= one.path.end_ns else end
        several = f"at most {found.most:.0%} until {end}"
        words = f"used at most {found.most:.0%} of the link's rate until {end}"
        return _Again(None, last, words, "", several, means, len(moving) > 1)
    within = round(found.after_ns + found.over_ns)
    several = f"within {_two_digits(within)}"
    if not found.after_ns:
        # Of the first mean it is only known how long that is.
        several, means = f"within at most {_two_digits(within)}", ""
    words = f"used {USED:.0%} of the link's rate {several}"
    return _Again(within, last, words, f" {event.since}", several, means, len(moving) > 1)


def _two_digits(time_ns: int) -> str:
    """A time within which something is done, to two digits: means that overlap tell no more."""
    step = 10 ** max(0, len(str(time_ns)) - 2)
    return to_ms(-(-time_ns // step) * step)


def _first_new(event: _Event, one: Recovering) -> int | None:
    """Return how long from the end of an event until something new arrived or was acknowledged;
    None if nothing was.
    """
    if not event.is_recorded:
        (phase,) = _phases(event, one)
        found: int | None = phase["first_new_ns"]
        return None if found is None else found - (event.end_ns - event.begin_ns)
    events = one.run.of(one.flow)
    times, segments = events.arrived_ns, events.segments
    before = times < event.begin_ns
    highest = float(segments[before].max()) if before.any() else -1.0
    later = times[(times >= event.end_ns) & (segments > highest)]
    return int(later[0]) - event.end_ns if len(later) else None


def _idle(event: _Event, one: Recovering, first: int) -> str:
    """Return for how long of that time an application had nothing to send."""
    if not one.is_paced:
        return ""
    idle = one.run.of(one.flow).idle_ns(event.end_ns, first)
    return f" (for {to_ms(idle)} of that time it had nothing to send)" if idle else ""


def _costs(event: _Event, one: Recovering, first: int) -> str:
    """Return the timeouts and retransmissions of a flow from the beginning of an event until so
    long after its end.
    """
    begin, until = event.begin_ns, event.end_ns + first
    events = one.run.of(one.flow)
    timeouts, rexmits = (
        int(np.sum((times >= begin) & (times <= until)))
        for times in (events.timeouts_ns, events.rexmits_ns)
    )
    counts = [
        (timeouts, "timeout", "timeouts"),
        (rexmits, "retransmission", "retransmissions"),
    ]
    return " and ".join(
        f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count
    )
