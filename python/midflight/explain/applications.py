"""Why an application waited: a stalled video, a late frame of a call.

The application waited for a segment of video or for a frame. From its request, or from its
creation, the longest time in which nothing arrived is explained. The cause may be in the
connection's data or in its requests, because packets of both can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from midflight.explain.events import History, Row, Step, widening
from midflight.explain.words import number, when

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["APPLICATION", "Waiting", "waiting_for"]

#: Events of applications that are explained.
APPLICATION = ("stalled", "late_frame")
NS_PER_S = 1e9


@dataclass(frozen=True)
class Waiting:
    """The data that the application waited for: sentences with their instants, and the causes of
    the arrival that ended a pause.
    """

    sentences: list[tuple[int, str]]
    #: The flow of that arrival; None if nothing arrived to the end.
    flow: str | None
    causes: Sequence[Step]


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
    setup: Setup, flow: str, row: Row, follow: Callable[[History, int], Sequence[Step]]
) -> Waiting:
    """Return what an application waited for when a frame was late or playback stopped.

    `follow` returns the causes of an event. It is called within the search for a large enough
    window, as the history of another flow is not that which the caller can widen.
    """
    table = _Table.of(setup, flow)
    end_ns = table.rows[-1][0] if table.rows else row.time_ns
    if row.event == "late_frame":
        sentences, span = _of_frame(table, row)
    else:
        sentences, span = _of_stall(table, row, end_ns)
    flows = [flow]
    if any(one["name"] == f"{flow}-requests" for one in setup.flows):
        flows.append(f"{flow}-requests")
    arrivals = [
        (at, name)
        for name in flows
        for at in (table if name == flow else _Table.of(setup, name)).times("rcv")
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
    what = f"`{name or flow}`"
    if name == f"{flow}-requests":
        what = f"the request (flow {what})"
    text = f"nothing of {what} arrived for {number(length / NS_PER_S)} s from here on"
    sentences.append((since, text))
    if name is None:
        return Waiting(sentences, None, ())

    def look(size: int) -> Sequence[Step]:
        history = History(setup, flow=name, near_ns=until, size=size)
        came = [one for one in history.instant(until) if one.event == "rcv"]
        return follow(history, came[0].index)

    return Waiting(sentences, name, widening(look))


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
