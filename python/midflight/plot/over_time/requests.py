"""The requests of a page or a video, which the client sends over a flow of their own: when some
were lost, until when they arrived, and the timeouts with which they were sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from midflight.explain.requests import lost_segments
from midflight.plot.over_time.curves import Curve, Values, WatchedRun
from midflight.plot.over_time.history import NS_PER_S, History
from midflight.plot.over_time.marks import EVENTS, UNHEARD

__all__ = ["in_order", "lost_requests", "request_marks", "request_rows", "segments_at"]


def lost_requests(requests: History) -> list[tuple[float, float]]:
    """Return from when to when requests that were lost had not arrived at the server, in seconds:
    from the first loss of each to its first arrival, or to the end of the flow. What overlaps is
    one time.
    """
    at, segments, _ = requests.lost_segments()
    came = zip(requests.times("rcv"), requests.values("rcv"), strict=True)
    found = [
        (begin / NS_PER_S, until / NS_PER_S)
        for _, begin, end in lost_segments(zip(at, segments, strict=True), came)
        if (until := requests.end_ns if end is None else end) > begin
    ]
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(found):
        if joined and begin <= joined[-1][1]:
            begin, end = joined[-1][0], max(joined.pop()[1], end)
        joined.append((begin, end))
    return joined


def segments_at(requests: History, times_s: Values) -> Values:
    """Return the number of the request, from 0 on its connection, that a lost one or a timeout at
    each of these instants is of, as far as a segment carries one; nan if that is not known.
    """
    at, segments, _ = requests.lost_segments()
    events = np.concatenate([requests.times("rto"), at])
    numbers = np.concatenate([requests.values("rto"), segments])
    found = np.full(len(times_s), np.nan)
    for place, time in enumerate(np.round(times_s * NS_PER_S)):
        here = numbers[events == time]
        # Segment 0 is the SYN.
        found[place] = here[0] - 1 if len(here) else np.nan
    return found


def request_marks(
    requests: History, how: dict[str, Any], window: tuple[float, float], *, alone: bool
) -> list[Curve]:
    """Return the marks of the requests of a connection in a window of time, in a row above the
    lines: the times in which some were lost, and their timeouts.
    """
    found = []
    usual: Any = {"in_row": True, **how}
    if alone:
        usual["look"] = None
    spans = [(a, b) for a, b in lost_requests(requests) if b > window[0] and a < window[1]]
    if spans:
        low, high = np.array(spans).T
        aux = usual | {"label": UNHEARD, "quantity": UNHEARD, "low": low, "high": high}
        found.append(Curve(draw="unheard", time_s=low, value=np.zeros(len(low)), **aux))
    at = requests.times("rto") / NS_PER_S
    at = at[(at >= window[0]) & (at <= window[1])]
    if len(at):
        label = EVENTS["request_timeout"].label
        aux = usual | {"label": label, "quantity": label}
        found.append(Curve(draw="request_timeout", time_s=at, value=np.zeros(len(at)), **aux))
    return found


def request_rows(
    run: WatchedRun, flow: History, how: dict[str, Any], window: tuple[float, float], *, alone: bool
) -> Sequence[Curve]:
    """Return these marks of the connection of a line."""
    requests = run.requests(flow).get(flow.flow)
    return [] if requests is None else request_marks(requests, how, window, alone=alone)


def in_order(marks: Sequence[Curve]) -> Curve:
    """Return marks of the same kind and line as one curve, in the order of time."""
    columns: Any = {
        name: np.concatenate([getattr(one, name) for one in marks])
        for name in ("time_s", "value", "low", "high")
        if getattr(marks[0], name) is not None
    }
    order = np.argsort(columns["time_s"], kind="stable")
    return replace(marks[0], **{name: values[order] for name, values in columns.items()})
