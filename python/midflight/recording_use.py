"""What a run meets of the recording of a link: the times in which the link is in use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight._core import Setup
from midflight.explain.path import ended_ns, used_links
from midflight.explain.words import to_ms
from midflight.recordings import event_lines, outages, part_words, pauses, value_cells, ways
from midflight.run_tables import rows

if TYPE_CHECKING:
    from midflight._core import RecordedWay, Recording
    from midflight.scenario import Outcome

__all__ = ["part_of", "recording_tables"]

#: From when to when, in nanoseconds.
Spans = Sequence[tuple[int, int]]
#: Times of use that are listed; of more the number and the sum are given.
_MOST_LISTED = 3


def recording_tables(outcome: Outcome) -> list[dict[str, Any]]:
    """The values of each recording that a link follows, its outages and its handovers, while the
    link is in use in the first run, and when that is.
    """
    links = json.loads(outcome.plan.canonical)["links"]
    recordings = outcome.plan.recordings()
    # When the run ended takes another one.
    found_uses = _uses_of(outcome) if recordings else None
    tables = []
    for name, (found, uplink) in recordings.items():
        part = part_words("the recording", links[name]["trace"], found["span_ns"])
        uses = None if found_uses is None else found_uses.get(name, [])
        used = ""
        cells, lines = value_cells(found, uplink), list(event_lines(found, uplink, is_of_run=True))
        if uses == []:
            used = "the link is not used, and the numbers are of all of it"
        elif uses is not None and not _is_whole(uses, found):
            used = f"the link is in use {_words(uses)}, and the numbers are of that time"
            other = None if uplink is None else part_of(uplink, uses)
            cells = value_cells(part_of(found, uses), other)
            lines = list(_event_lines(found, uplink, uses))
        tables.append(
            {
                "link": name,
                "part": part,
                "span": f"{found['span_ns'] / 1e9:g} s",
                "used": used,
                "is_linear": found["interpolation"] == "linear",
                "cells": cells,
                "lines": [" ".join(one.split()) for one in lines],
            }
        )
    return tables


def _uses_of(outcome: Outcome) -> dict[str, list[tuple[int, int]]] | None:
    """From when to when each link is in use in the first run, until it ended; None if flows may use
    several links at once, or others, or if that is not known.
    """
    scenario = json.loads(outcome.plan.canonical)
    if any(not isinstance(one["to"], str) for one in scenario.get("handoffs", ())):
        return None
    # Flows of other nodes use their links all the time.
    if any(one.get("multipath") or one.get("on") for one in scenario["flows"].values()):
        return None
    setup = outcome.plan.setup(0)
    if not isinstance(setup, Setup):
        # A run of a kernel.
        return None
    done = (row["finished_ns"] or 0 for row in rows(outcome.flows) if row["run"] == 0)
    # The last flow with a size is done after the last sample.
    until = max([ended_ns(setup, setup.samples()[0]), *done])
    found: dict[str, list[tuple[int, int]]] = {}
    for begin, end, name in used_links(setup, until):
        if name:
            found.setdefault(name, []).append((begin, end))
    return found or None


def part_of(found: Recording, uses: Spans) -> Recording:
    """The values of a recording in some times, one after the other as if nothing were between."""
    spans = _within(found, uses)
    is_linear = found["interpolation"] == "linear"
    parts = {
        name: {
            "rate_bps": _joined(way["rate_bps"], spans, is_linear=is_linear),
            "delay_s": _joined(way["delay_s"], spans, is_linear=is_linear),
            "loss": _joined(way["loss"], spans, is_linear=is_linear),
            "opportunities_ns": _shifted(way["opportunities_ns"], spans),
        }
        for name, way in (("down", found["down"]), ("up", found["up"]))
    }
    length = sum(end - begin for begin, end in spans)
    part: Any = {**found, **parts, "span_ns": length}
    return part  # type: ignore[no-any-return]


def _within(found: Recording, uses: Spans) -> list[tuple[int, int]]:
    """These times in a recording; of one that repeats those of its first round in which they are
    the same.
    """
    span = found["span_ns"]
    if not found["repeats"]:
        return list(uses)
    rounds = [
        (max(begin, at) - at, min(end, at + span) - at)
        for begin, end in uses
        for at in range(begin // span * span, end, span)
    ]
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(rounds):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif end > begin:
            joined.append((begin, end))
    return joined


def _is_whole(uses: Spans, found: Recording) -> bool:
    """Whether all of a recording is in use."""
    spans = _within(found, uses)
    return any(begin <= 0 and end >= found["span_ns"] for begin, end in spans)


def _joined(
    series: tuple[Sequence[int], Sequence[float]], spans: Spans, *, is_linear: bool
) -> tuple[list[int], list[float]]:
    """The points of a quantity in some times, and its values at their ends."""
    times, values = (np.asarray(one, np.float64) for one in series)
    at: list[int] = []
    had: list[float] = []
    if not len(times):
        return at, had
    offset = 0
    for begin, end in spans:
        here = (times > begin) & (times < end)
        edges = np.array([begin, end] if is_linear else [begin], np.float64)
        if is_linear:
            first, *last = np.interp(edges, times, values).tolist()
        else:
            place = max(0, int(np.searchsorted(times, begin, side="right")) - 1)
            first, last = float(values[place]), []
        at += [offset, *(int(one) - begin + offset for one in times[here])]
        had += [first, *values[here].tolist(), *last]
        offset += end - begin
        at += [offset] * len(last)
    return at, had


def _shifted(opportunities_ns: Sequence[int], spans: Spans) -> list[int]:
    """The opportunities in some times, one after the other."""
    found: list[int] = []
    offset = 0
    for begin, end in spans:
        found += [one - begin + offset for one in opportunities_ns if begin < one <= end]
        offset += end - begin
    return found


def _event_lines(found: Recording, uplink: Recording | None, uses: Spans) -> Iterator[str]:
    """Yield sentences on the outages and handovers of a recording in some times."""
    spans = _within(found, uses)
    for name, (way, _) in ways(found, uplink).items():
        if way["opportunities_ns"]:
            yield from _pause_line(name, way, spans)
    none: tuple[list[int], list[float]] = [], []
    nothing = {"rate_bps": none, "delay_s": none, "loss": none, "opportunities_ns": []}
    handovers = [one for one in found["handovers"] if any(b <= one[0] < e for b, e in spans)]
    cut = _cut(outages(found), spans)
    part: Any = {**found, "down": nothing, "up": nothing, "outages": cut, "handovers": handovers}
    yield from event_lines(part, is_of_run=True)


def _pause_line(name: str, way: RecordedWay, spans: Spans) -> Iterator[str]:
    """Yield a sentence on the outages of opportunities in some times."""
    long = _cut(pauses(way["opportunities_ns"]), spans)
    if not long:
        return
    begin, end = max(long, key=lambda one: one[1] - one[0])
    length = to_ms(end - begin)
    said = f"{name}: the longest time without an opportunity is {length}, at {to_ms(begin)}"
    if len(long) > 1:
        took = sum(end - begin for begin, end in long)
        said += f"; {len(long)} outages take {to_ms(took)} in all"
    yield said


def _cut(times: Spans, spans: Spans) -> list[tuple[int, int]]:
    """The parts of some times that are within others."""
    both = ((max(a, b), min(c, d)) for a, c in times for b, d in spans)
    return sorted(one for one in both if one[1] > one[0])


def _words(uses: Spans) -> str:
    """When a link is in use."""
    if len(uses) > _MOST_LISTED:
        return f"{len(uses)} times, {to_ms(sum(end - begin for begin, end in uses))} in all"
    return " and ".join(f"from {to_ms(begin)} to {to_ms(end)}" for begin, end in uses)
