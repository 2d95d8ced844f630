"""Marks of events in figures over time: what happens to packets, and timeouts.

They are strokes and triangles that point up or down. The markers of lines
(`midflight.plot.common.style`) are other shapes, so that no mark of an event can be taken for one
of a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from midflight.plot.common.style import LIGHT
from midflight.plot.over_time.curves import Curve, Draw
from midflight.plot.over_time.history import NS_PER_S, History
from midflight.refusal import refusal

__all__ = [
    "AT_TIMEOUTS",
    "EVENTS",
    "GROUPS",
    "IN_PAPERS",
    "LASTING",
    "LASTING_WORDS",
    "PLAYBACK",
    "STALL",
    "TIMEOUTS",
    "UNHEARD",
    "Event",
    "check_marks",
    "marker_of",
    "timeouts",
]


class Event(NamedTuple):
    """How a kind of event is marked: its words in the legend, marker, size and colour."""

    label: str
    marker: str
    size: float
    colour: str
    #: Of several rows of marks above a single line: the order of this one.
    row: int = 0
    is_filled: bool = False
    #: The mark, or its cause in a word, in a text that counts several kinds.
    sign: str = ""
    #: Where or how packets are lost, after "lost".
    cause: str = ""


EVENTS: Mapping[Draw, Event] = {
    "retransmissions": Event("retransmission", "^", 3.6, LIGHT),
    "timeout": Event("timeout", "v", 3.4, "black", 0, True),
    "spurious": Event("spurious timeout", "v", 3.4, "black", 0),
    "undone": Event("timeout undone", "caret", 4.6, "black", 0),
    "request_timeout": Event("timeout of a request", "lidded", 3.8, "black", 0, True),
    # A link that is down has no full queue.
    "full": Event("lost: queue full", "x", 2.8, "black", 1, sign="\u00d7", cause="to a full queue"),
    "broken": Event(
        "lost: link down", "slashes", 3.6, "#8a6d1f", 1, sign="//", cause="on a link that is down"
    ),
    "radio": Event(
        "lost on the radio", "asterisk", 3.6, "#2f6f8f", 2, sign="*", cause="on the radio"
    ),
    "node": Event("dropped by a node", "2", 4.0, "#5b4a8a", 2, sign="node", cause="by a node"),
    "early": Event("dropped early", "1", 4.0, "#b03a2e", 2, sign="early", cause="by early drops"),
    "acks": Event("lost ACK", "3", 4.0, "0.45", 2),
    "marked": Event("marked (ECN)", "+", 3.4, "#6a3d9a", 3),
    "late": Event("late: after its deadline", "^", 2.0, "#b03a2e", 0, True),
    "unread": Event("not read", "barred", 3.2, "black"),
}

#: What the legend of a paper's figure calls events and lines, for which a column has less room.
IN_PAPERS: Mapping[str, str] = {
    "rate of the link": "link rate",
    "nothing arrives": "no arrivals",
    "timeout undone": "undone",
    "lost: queue full": "lost: queue",
    "lost: link down": "lost: link",
}

#: The events that can be left out of a figure, by their names.
GROUPS: Mapping[str, Sequence[Draw]] = {
    "retransmissions": ("retransmissions",),
    "losses": ("full", "broken", "radio", "node", "early"),
    "acks": ("acks",),
    "ecn": ("marked",),
    "timeouts": ("timeout", "spurious", "undone", "stalled"),
    "requests": ("request_timeout", "unheard"),
}
TIMEOUTS: Sequence[Draw] = ("timeout", "spurious")
#: What stands at timeouts, and the times around them, which are lines with ends.
AT_TIMEOUTS: Sequence[Draw] = (*TIMEOUTS, "undone", "request_timeout")
LASTING: Sequence[Draw] = ("stalled", "unheard")
#: What the legend calls the time in which nothing arrives around timeouts.
STALL = "nothing arrives"
#: What it calls the stall of a video.
PLAYBACK = "playback stands still"
#: What it calls the time from the loss of a request until it arrives at the server.
UNHEARD = "request lost, until it arrives"
#: What it calls the times that lines with ends stand for.
LASTING_WORDS: Mapping[Draw, str] = {"stalled": STALL, "unheard": UNHEARD}


@cache
def marker_of(event: Event) -> Any:
    """Return matplotlib's marker of an event."""
    from matplotlib.path import Path

    if event.marker == "slashes":
        # As an axis with a part left out.
        ends = [(-0.75, -1.0), (0.05, 1.0), (-0.05, -1.0), (0.75, 1.0)]
        return Path(ends, [Path.MOVETO, Path.LINETO] * 2)
    if event.marker == "caret":
        return Path([(-0.8, -0.7), (0.0, 0.8), (0.8, -0.7)])
    if event.marker == "lidded":
        # A timeout with a bar above it.
        corners = [(-0.8, 0.45), (0.8, 0.45), (0.0, -1.0), (-0.8, 0.45), (-1.0, 1.0), (1.0, 1.0)]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY, Path.MOVETO, Path.LINETO]
        return Path(corners, codes)
    if event.marker == "asterisk":
        return (6, 2, 0)
    if event.marker == "barred":
        bar = Path([(-0.7, -0.7), (0.7, 0.7)], [Path.MOVETO, Path.LINETO])
        return Path.make_compound_path(Path.unit_circle(), bar)
    return event.marker


def check_marks(kinds: Sequence[str] | None) -> list[str] | None:
    """Return the events to be marked; None is all of them, and "none" none.

    Raises `MidflightError` for a kind that does not exist.
    """
    if kinds is None:
        return None
    found = list(dict.fromkeys(kinds))
    accepted = f"none, or one or several of {', '.join(GROUPS)}"
    for one in found:
        if one not in GROUPS and found != ["none"]:
            raise refusal(
                f'--marks: "{one}" is not accepted; expected {accepted}',
                name="--marks",
                value=one,
                accepted=accepted,
            )
    return [one for one in found if one != "none"]


def timeouts(
    flow: History, line: Curve, window: tuple[float, float], *, alone: bool
) -> list[Curve]:
    """The timeouts of a flow in a window of time, in seconds, and when it undoes some, with the
    value of its line then, or the nearest one that it has: data may be lost before any arrive. A
    single line needs no colour to tell whose they are.
    """
    if not len(line.time_s):
        return []
    found = []
    at, details = flow.times("rto") / NS_PER_S, np.array(flow.details("rto"), dtype=str)
    times = {draw: at[(details == "spurious") == (draw == "spurious")] for draw in TIMEOUTS}
    times["undone"] = flow.undone / NS_PER_S
    for draw, each in times.items():
        label = EVENTS[draw].label
        time = each[(each >= window[0]) & (each <= window[1])]
        if len(time):
            place = np.searchsorted(line.time_s, time, side="right") - 1
            value = line.value[np.maximum(place, 0)]
            look = None if alone else line.look
            how: Any = {"flow": line.flow, "scheme": line.scheme, "quantity": label}
            found.append(Curve(label, draw, time, value, look, in_row=True, **how))
    return found
