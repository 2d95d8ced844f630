"""What became of the requests of an application, which a flow of their own carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from midflight.explain.words import link_text, loss_words, names_in_events, to_ms

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["lost_request", "requests_of"]


def requests_of(setup: Setup, flow: str) -> str:
    """Return the name of the flow that carries the requests of another one; "" if none does."""
    name = f"{flow}-requests"
    each = {one["name"]: one for one in setup.flows}
    return name if name in each and each[flow]["workload"] else ""


def lost_request(setup: Setup, flow: str, begin_ns: int, until_ns: int) -> str:
    """Return that a request of a flow was lost between two instants, when it was sent again, and
    when it arrived, of several the one that was missing longest; "" if none was lost.
    """
    name = requests_of(setup, flow)
    if not name:
        return ""
    trace = setup.trace(flow=name, only=["drop", "rexmit", "rcv"])
    columns = ("time_ns", "event", "value", "link", "packet", "cause")
    rows = list(zip(*(trace.column(one) for one in columns), strict=True))
    names = names_in_events(setup.places)
    found = []
    for at, event, segment, link, packet, cause in rows:
        if event != "drop" or packet != "data" or not begin_ns <= at <= until_ns:
            continue
        of = [row for row in rows if row[2] == segment]
        came = next((row[0] for row in of if row[1] == "rcv"), None)
        first = min(row[0] for row in of if row[1] == "drop" and row[4] == "data")
        if first == at and (came is None or came > at):
            again = [row[0] for row in of if row[1] == "rexmit" and (came is None or row[0] < came)]
            where = loss_words(cause, names.get(link, link))
            missing = (setup.end_ns if came is None else came) - at
            found.append((missing, at, int(segment), where, again, came))
    if not found:
        return ""
    _, at, segment, where, again, came = max(found)
    said = f"its request (segment {segment} of {link_text(name)}) was {where}, at {to_ms(at)}"
    if again:
        times = "" if len(again) == 1 else f" {len(again)} times, the last time"
        said += f", and sent again{times} at {to_ms(again[-1])}"
    return f"{said}; it {'did not arrive' if came is None else f'arrived at {to_ms(came)}'}"
