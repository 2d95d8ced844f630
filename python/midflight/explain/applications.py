"""Why an application waited: a stalled video, a late frame of a call, a slow object of a page.

The application waited for a segment of video, a frame or an object. From its request, or from its
creation, the longest time in which nothing arrived is explained. The cause may be in the
connection's data or in its requests, because packets of both can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from midflight.explain.events import History, Row, Step, widening
from midflight.explain.requests import connections_of, requests_of
from midflight.explain.silences import why_silent
from midflight.explain.words import clock, number, row_text, to_ms, when

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["APPLICATION", "SLOW", "Waiting", "burst_lines", "slow_objects", "waiting_for"]

#: Events of applications that are explained.
APPLICATION = ("stalled", "late_frame", "slow_object")
NS_PER_S = 1e9
#: The object of a page is slow if it took so many times as long as the median one, of a larger one
#: in proportion to its size.
SLOW = 3.0


@dataclass(frozen=True)
class Waiting:
    """The data that the application waited for: sentences with their instants, and the causes of
    the arrival that ended a pause.
    """

    sentences: list[tuple[int, str]]
    #: The flow of that arrival; None if nothing arrived to the end.
    flow: str | None
    causes: Sequence[Step]
    #: From its request or creation until it was read, and the longest time in it without arrivals.
    span: tuple[int, int]
    gap: tuple[int, int]
    #: The flow of the data.
    of: str
    #: Why nothing arrived in that time, in a sentence, as far as that is known.
    silent: str = ""
    #: That an object would have been read before that in the usual time, in a sentence, if so.
    usual: str = ""


def slow_objects(setup: Setup, flow: str) -> list[Row]:
    """Return when the slow objects of a page had been read, and how long each took from its request
    on, in the order of time: those that took at least `SLOW` times as long as the median, in
    proportion to their sizes if they are larger, or else the slowest one.
    """
    rows = [Row(*one) for one in setup.events(flow=flow, name="object").rows()]
    if not rows:
        return []
    asked = setup.events(flow=flow, name="request").rows()
    size = {row[4]: row[3] for row in asked}
    sizes = [max(size.get(row.detail, 0.0), 1.0) for row in rows]
    usual, usual_size = median(row.value for row in rows), median(sizes)
    found = [
        row
        for row, own in zip(rows, sizes, strict=True)
        if row.value >= SLOW * usual * max(1.0, own / usual_size)
    ]
    found = found or [max(rows, key=lambda row: row.value)]
    return [replace(row, event="slow_object") for row in found]


@dataclass(frozen=True)
class _Table:
    """The events of a flow: instant, name, value and detail."""

    rows: list[tuple[int, str, float, str]]

    @classmethod
    def of(cls, setup: Setup, flow: str) -> _Table:
        table = setup.trace(flow=flow)
        names = ("time_ns", "event", "value", "detail")
        columns: list[Any] = [table.column(name) for name in names]
        return cls(list(zip(*columns, strict=True)))

    def times(self, event: str, is_it: Callable[[float, str], bool] = lambda *_: True) -> list[int]:
        """Return when an event happened."""
        return [
            at for at, name, value, detail in self.rows if name == event and is_it(value, detail)
        ]


def waiting_for(
    setup: Setup,
    flow: str,
    row: Row,
    follow: Callable[[History, int], Sequence[Step]],
) -> Waiting:
    """Return what an application waited for when a frame was late or playback stopped.

    `follow` returns the causes of an event. It is called within the search for a large enough
    window, as the history of another flow is not that which the caller can widen.
    """
    table = _Table.of(setup, flow)
    end_ns = table.rows[-1][0] if table.rows else row.time_ns
    if row.event == "late_frame":
        sentences, span = _of_frame(table, row)
    elif row.event == "slow_object":
        sentences, span = _of_object(table, row)
    else:
        sentences, span = _of_stall(table, row, end_ns)
    of, own = _connection(setup, flow, table, row)
    flows = {of: own}
    if requests := requests_of(setup, of):
        flows[requests] = _Table.of(setup, requests)
    arrivals = [
        (at, name)
        for name, table_of in flows.items()
        for at in table_of.times("rcv")
        if span[0] < at <= span[1]
    ]
    arrivals.sort()
    begins = [span[0], *(at for at, _ in arrivals)]
    ends: list[tuple[int, str | None]] = [*arrivals, (span[1], None)]
    gaps = [
        (until - since, since, until, name)
        for since, (until, name) in zip(begins, ends, strict=True)
    ]
    length, since, until, name = max(gaps, key=lambda gap: (gap[0], -gap[1]))
    what = f"`{name or of}`"
    if name == requests and requests:
        what = f"the request (flow {what})"
    text = f"nothing of {what} arrived for {number(length / NS_PER_S)} s from here on"
    sentences.append((since, text))
    found = Waiting(sentences, name, (), span, (since, until), of)
    if name is None:
        return found

    def look(size: int) -> Sequence[Step]:
        history = History(setup, flow=name, near_ns=until, size=size)
        came = next(one for one in history.instant(until) if one.event == "rcv")
        return follow(history, came.index)

    silent = why_silent(setup, name, since, until)
    usual = ""
    if row.event == "slow_object":
        usual_ns = median(value for _, event, value, _ in table.rows if event == "object")
        if span[0] + usual_ns < since:
            usual = (
                f"in the median time of the page's objects, {to_ms(usual_ns)}, it would have been "
                f"read at {to_ms(span[0] + usual_ns)}, before nothing more arrived"
            )
    return replace(found, causes=widening(look), silent=silent, usual=usual)


def burst_lines(rows: Sequence[Row]) -> list[str]:
    """Return a line for late frames that follow each other: when they were read, their numbers, and
    how long the first, the slowest and the last one took.
    """
    bursts: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: int(row.detail)):
        if bursts and int(row.detail) == int(bursts[-1][-1].detail) + 1:
            bursts[-1].append(row)
        else:
            bursts.append([row])
    lines = []
    for burst in bursts:
        first, last = burst[0], burst[-1]
        if len(burst) == 1:
            lines.append(f"{clock(first.time_ns):>12}  {row_text(first)}")
            continue
        took = (to_ms(one) for one in (first.value, max(o.value for o in burst), last.value))
        least, most, end = took
        lines.append(
            f"{clock(first.time_ns):>12}  late_frame {first.detail} to {last.detail}, {len(burst)} "
            f"frames read until {clock(last.time_ns)}: the first one after {least}, the slowest "
            f"after {most}, the last after {end}"
        )
    return lines


def _connection(setup: Setup, flow: str, table: _Table, row: Row) -> tuple[str, _Table]:
    """The flow that carried what was waited for, and its events: of several connections of a page,
    whose first one has its events, that on which data arrived as it was read.
    """
    for name in connections_of(setup, flow) if row.event == "slow_object" else ():
        own = table if name == flow else _Table.of(setup, name)
        if row.time_ns in own.times("rcv"):
            return name, own
    return flow, table


def _of_object(table: _Table, row: Row) -> tuple[list[tuple[int, str]], tuple[int, int]]:
    """A slow object of a page, from its request until it was read."""
    asked = table.times("request", lambda _, detail: detail == row.detail)
    began = asked[0] if asked else row.time_ns - int(row.value)
    every = [value for _, name, value, _ in table.rows if name == "object"]
    what = "the document" if row.detail == "0" else f"object {row.detail}"
    text = (
        f"{what} was read {number(row.value / NS_PER_S)} s after its request; the median of the "
        f"page's {len(every):,} objects is {number(median(every) / NS_PER_S)} s"
    )
    return [(row.time_ns, text), (began, f"{what} was requested")], (began, row.time_ns)


def _of_frame(table: _Table, row: Row) -> tuple[list[tuple[int, str]], tuple[int, int]]:
    """A late frame: over one connection it waits for those before it, which took at least half as
    long.
    """
    made_ns = row.time_ns - int(row.value)
    text = (
        f"frame {row.detail} was read {number(row.value / NS_PER_S)} s after it was made at "
        f"{when(made_ns)}, later than its deadline"
    )
    sentences = [(row.time_ns, text)]
    first = row.time_ns, row.value, row.detail
    for at, name, value, detail in reversed(table.rows):
        if at > row.time_ns or name not in ("frame", "late_frame"):
            continue
        if value < row.value / 2:
            break
        first = at, value, detail
    at, value, detail = first
    if detail != row.detail:
        begun_ns = at - int(value)
        text = (
            f"it waited for those before it: from frame {detail} on, made at {when(begun_ns)}, "
            f"each took {number(row.value / 2 / NS_PER_S)} s or more"
        )
        sentences.append((begun_ns, text))
    return sentences, (at - int(value), at)


def _of_stall(
    table: _Table, row: Row, end_ns: int
) -> tuple[list[tuple[int, str]], tuple[int, int]]:
    """Playback that stops: a segment was not read before the buffer was empty."""

    def is_it(_: float, detail: str) -> bool:
        return detail == row.detail

    asked = table.times("request", is_it)
    read = table.times("segment", is_it)
    requested_ns = asked[0] if asked else row.time_ns
    until_ns = read[0] if read else end_ns
    text = (
        f"playback stopped: the buffer was empty, and video segment {row.detail} had not been read"
    )
    sentences = [(row.time_ns, text), (requested_ns, f"video segment {row.detail} was requested")]
    if read:
        sentences.append(
            (until_ns, f"video segment {row.detail} was read, after the buffer was empty")
        )
    else:
        sentences.append((until_ns, f"the run ended, and video segment {row.detail} was not read"))
    return sentences, (requested_ns, until_ns)
