"""The flows of an application: its connections, and those that carry its requests, with what became
of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from midflight.explain.words import link_text, loss_words, names_in_events, to_ms

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["connections_of", "lost_request", "lost_segments", "requests_of"]


def connections_of(setup: Setup, flow: str) -> list[str]:
    """Return the names of the flows of all connections of a page, whose first one has its events;
    the name of the flow itself if it has one.
    """
    page = flow.removesuffix("-c0")
    if page == flow:
        return [flow]
    there = {one["name"] for one in setup.flows}
    each = (f"{page}-c{number}" for number in range(len(there)))
    return [one for one in each if one in there]


def requests_of(setup: Setup, flow: str) -> str:
    """Return the name of the flow that carries the requests of another one; "" if none does."""
    name = f"{flow}-requests"
    each = {one["name"]: one for one in setup.flows}
    return name if name in each and each[flow]["workload"] else ""


def lost_segments(
    lost: Iterable[tuple[int, float]], came: Iterable[tuple[int, float]]
) -> Iterator[tuple[int, int, int | None]]:
    """Yield segments that were lost, when at first, and when each arrived at first (None: never),
    of instants and segments in the order of time; not those of which a copy had arrived before.
    """
    arrived: dict[int, int] = {}
    for at, segment in came:
        arrived.setdefault(int(segment), int(at))
    seen = set[int]()
    for at, segment in lost:
        by = arrived.get(int(segment))
        if int(segment) not in seen and (by is None or by > at):
            yield int(segment), int(at), by
        seen.add(int(segment))


def lost_request(
    setup: Setup, flow: str, begin_ns: int, until_ns: int, *, whose: str = "its"
) -> str:
    """Return that a request of a flow was lost between two instants, when it was sent again, and
    when it arrived, of several the one that was missing longest; "" if none was lost.
    """
    name = requests_of(setup, flow)
    if not name:
        return ""
    trace = setup.trace(flow=name, only=["drop", "rexmit", "rcv"])
    columns = ("time_ns", "event", "value", "link", "packet", "cause")
    rows = list(zip(*(trace.column(one) for one in columns), strict=True))
    drops = {
        (at, int(segment)): (cause, link)
        for at, event, segment, link, packet, cause in rows
        if event == "drop" and packet == "data"
    }
    came = ((row[0], row[2]) for row in rows if row[1] == "rcv")
    found = [
        ((setup.end_ns if by is None else by) - at, at, segment, by)
        for segment, at, by in lost_segments(drops, came)
        if begin_ns <= at <= until_ns
    ]
    if not found:
        return ""
    _, at, segment, by = max(found, key=lambda one: one[:3])
    again = [
        row[0] for row in rows if row[1:3] == ("rexmit", segment) and (by is None or row[0] < by)
    ]
    cause, link = drops[at, segment]
    where = loss_words(cause, names_in_events(setup.places).get(link, link))
    said = f"{whose} request (segment {segment} of {link_text(name)}) was {where}, at {to_ms(at)}"
    if again:
        times = "" if len(again) == 1 else f" {len(again)} times, the last time"
        said += f", and sent again{times} at {to_ms(again[-1])}"
    return f"{said}; it {'did not arrive' if by is None else f'arrived at {to_ms(by)}'}"
