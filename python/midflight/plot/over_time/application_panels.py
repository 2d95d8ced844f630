"""Panels of applications: a video's bit rate and buffer, a call's frames, a page's objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.over_time.applications import (
    OF_APPLICATIONS,
    bitrate_of,
    buffer_of,
    frames_of,
    has_events,
    objects_of,
    stalls_of,
)
from midflight.plot.over_time.bins import bin_edges
from midflight.plot.over_time.curves import (
    Curve,
    Panel,
    Values,
    WatchedRun,
    each_line,
    held_in,
    inside,
    is_alone,
)
from midflight.plot.over_time.history import NS_PER_S, History
from midflight.plot.over_time.marks import EVENTS, PLAYBACK, timeouts
from midflight.plot.over_time.requests import (
    in_order,
    request_marks,
    request_rows,
    segments_at,
)
from midflight.plot.over_time.timed import Times, lines_of, unit_of

__all__ = ["bitrate_panel", "buffer_panel", "frames_panel", "objects_panel"]


def _lines(
    runs: Sequence[WatchedRun], kind: str
) -> Iterator[tuple[WatchedRun, History, dict[str, Any]]]:
    """The lines of flows with the workload that a kind of panel shows: of the connections of a page
    the first one, which has its events.
    """
    for run, flow, how in each_line(runs):
        if run.workload_of(flow) == OF_APPLICATIONS[kind] and has_events(flow):
            yield run, flow, how


def _standstills(
    flow: History, how: dict[str, Any], window: tuple[float, float], *, alone: bool
) -> list[Curve]:
    """The times in which a video stands still: of several lines each has its own row."""
    stalls = [(a, b) for a, b in stalls_of(flow) if b > window[0] and a < window[1]]
    if not stalls:
        return []
    low, high = np.array(stalls).T
    aux = {**how, "label": PLAYBACK, "draw": "stalls" if alone else "stalled"}
    if not alone:
        aux |= {"in_row": True, "quantity": PLAYBACK, "events": len(low)}
    return [Curve(time_s=low, value=np.zeros(len(low)), low=low, high=high, **aux)]


def _stalls_words(curves: Sequence[Curve]) -> str:
    """How many stalls of a single video are in the time shown, at least in part, and how long they
    are together.
    """
    lasts: list[float] = []
    for one in curves:
        if one.draw == "stalls" and one.low is not None and one.high is not None:
            lasts += (one.high - one.low).tolist()
    if not lasts:
        return ""
    return f"{len(lasts)} stall{'s' * (len(lasts) > 1)}, {sum(lasts):.3g} s"


def bitrate_panel(
    runs: Sequence[WatchedRun], window: tuple[float, float], interval: float
) -> Panel:
    """The bit rates of the segments of videos, from when they are requested, and stalls."""
    del interval
    curves = []
    found = list(_lines(runs, "bitrate"))
    for run, flow, how in found:
        time, rate = bitrate_of(flow)
        if len(time) and time[-1] > window[0]:
            time, rate = held_in(time, rate, window, time[-1])
            curves.append(Curve(draw="steps", time_s=time, value=rate, **how))
        curves += _standstills(flow, how, window, alone=len(found) == 1)
        curves += request_rows(run, flow, how, window, alone=len(found) == 1)
    return Panel("bitrate", "Video bit rate\n(Mbit/s)", "Mbit/s", curves)


def buffer_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    """The seconds of media in the buffers of videos, and their stalls: of several lines each has
    its own row.
    """
    del interval
    curves = []
    found = list(_lines(runs, "buffer"))
    for run, flow, how in found:
        time, value = buffer_of(flow)
        if not len(time):
            continue
        # The corners, and where the line leaves the window.
        ends = [one for one in window if time[0] < one < time[-1]]
        inside = (time >= window[0]) & (time <= window[1])
        corners = [*zip(time[inside], value[inside], strict=True)]
        corners += [(one, float(np.interp(one, time, value))) for one in ends]
        # Two corners may have one instant: in the order of the line.
        corners.sort(key=lambda one: one[0])
        line = np.array(corners).reshape(-1, 2)
        curves.append(Curve(draw="line", time_s=line[:, 0], value=line[:, 1], **how))
        curves += _standstills(flow, how, window, alone=len(found) == 1)
        curves += request_rows(run, flow, how, window, alone=len(found) == 1)
    return Panel("buffer", "Video in the\nbuffer (s)", "s", curves, _stalls_words(curves))


def frames_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    """The delays of the frames of calls, with the deadline: dots, or of several calls quantiles of
    intervals, with the frames that are late or lost in a row for each call.
    """
    found, marks = [], []
    for run, flow, how in _lines(runs, "frames"):
        frames = frames_of(flow, run.calls.get(flow.flow))
        seen = inside(frames.made_s, window)
        made, took, is_late = frames.made_s[seen], frames.took_s[seen], frames.is_late[seen]
        lost = frames.lost_s[inside(frames.lost_s, window)]
        edges = bin_edges(window, interval, flow.end_ns / NS_PER_S, run.cuts)
        found.append(Times(how, edges, made, took))
        # As many as the tables of a run count: the last ones may not have been read at its end.
        count = len(made) + len(lost) + int(np.count_nonzero(frames.open_s < window[1]))
        marks.append((how, made, took, is_late, lost, count))
    several = len(found) > 1
    unit, scale = unit_of(found)
    if several:
        curves, detail = lines_of(found, interval, scale)
    else:
        curves, detail = [], ""
        for how, made, took, is_late, lost, count in marks:
            said = [f"{is_late.sum():,} of {count:,} frames late"]
            said += [f"{len(lost):,} not read"] if len(lost) else []
            detail = ", ".join(said)
            dots: dict[str, Any] = {**how, "draw": "dots", "label": "in time"}
            curves.append(Curve(time_s=made[~is_late], value=took[~is_late] * scale, **dots))
    for how, made, took, is_late, lost, _ in marks:
        aux: dict[str, Any] = {**how, "in_row": several, "label": EVENTS["late"].label}
        curves.append(Curve(draw="late", time_s=made[is_late], value=took[is_late] * scale, **aux))
        aux |= {"in_row": True, "label": EVENTS["unread"].label}
        aux |= {} if several else {"look": None}
        curves.append(Curve(draw="unread", time_s=lost, value=np.zeros(len(lost)), **aux))
    curves = [one for one in curves if len(one.time_s)]
    # Calls with the same deadline have one line; others have the colours of their calls.
    deadlines = {
        run.calls[flow.flow].deadline_s: how["look"]
        for run, flow, how in each_line(runs)
        if flow.flow in run.calls
    }
    end = min(window[1], max(run.end_ns for run in runs) / NS_PER_S)
    for deadline, look in sorted(deadlines.items()) if curves else ():
        label = f"deadline, {deadline * 1e3:g} ms"
        level = np.full(2, deadline * scale)
        own = look if len(deadlines) > 1 else None
        curves.append(Curve(label, "deadline", np.array([window[0], end]), level, own))
    return Panel("frames", f"Frame delay\n({unit})", unit, curves, detail)


def objects_panel(
    runs: Sequence[WatchedRun], window: tuple[float, float], interval: float
) -> Panel:
    """The objects of pages, from request to last byte, with the timeouts at those under way."""
    del interval
    curves = []
    said_of = {}
    for run, flow, how in _lines(runs, "objects"):
        numbers, begins, ends = objects_of(flow)
        end_s = max(run.end_ns, flow.end_ns) / NS_PER_S
        until = np.where(np.isnan(ends), end_s, ends)
        said_of[how["look"]] = _page_words(flow, ends)
        seen = (until >= window[0]) & (begins <= window[1])
        low, high = np.maximum(begins[seen], window[0]), np.minimum(until[seen], window[1])
        if len(low):
            curves.append(
                Curve(draw="bars", time_s=low, value=numbers[seen], low=low, high=high, **how)
            )
        lost = np.isnan(ends) & seen & (until <= window[1])
        if lost.any():
            aux = {**how, "label": EVENTS["unread"].label}
            curves.append(Curve(draw="unread", time_s=until[lost], value=numbers[lost], **aux))
        line = Curve(draw="steps", time_s=begins, value=numbers, **how)
        each = run.connections(flow) if len(numbers) else []
        over = _connections_of(ends, each)
        marks: dict[str, list[Curve]] = {}
        alone = is_alone(runs)
        asking = run.requests(flow) if len(numbers) else {}
        for place, connection in enumerate(each):
            if (requests := asking.get(connection.flow)) is None:
                continue
            is_own = over == place
            ordered = np.flatnonzero(is_own)[np.argsort(begins[is_own], kind="stable")]
            # As many segments as objects carry a request each.
            carried = requests.values("rcv")
            are_single = len(carried) > 0 and float(carried.max()) == len(ordered)
            for one in request_marks(requests, how, window, alone=alone):
                times = one.time_s
                asked = segments_at(requests, times) if are_single else [np.nan] * len(times)
                at = [
                    int(ordered[int(k)])
                    if 0 <= k < len(ordered)
                    else _waiting((begins <= t) & (t < until), is_own)
                    for t, k in zip(times, asked, strict=True)
                ]
                value = np.where(np.array(at) < 0, 0.0, numbers[at])
                marks.setdefault(one.draw, []).append(replace(one, value=value, in_row=False))
        for place, connection in enumerate(each):
            for one in timeouts(connection, line, window, alone=alone):
                at = [_waiting((begins <= at) & (at < until), over == place) for at in one.time_s]
                value = np.where(np.array(at) < 0, one.value, numbers[at])
                marks.setdefault(one.draw, []).append(replace(one, value=value, in_row=False))
        curves += [in_order(those) for those in marks.values()]
    said = next(iter(said_of.values())) if len(said_of) == 1 else ""
    detail = "; ".join(filter(None, ("bars: request until read", said)))
    return Panel("objects", "Object", "number", curves, detail, said_of=said_of)


def _connections_of(ends: Values, connections: Sequence[History]) -> NDArray[np.int64]:
    """The place of the connection of each object: that on which data arrive as it is read; -1 of
    those that are not read.
    """
    found = np.full(len(ends), -1)
    at = np.nan_to_num(np.round(ends * NS_PER_S), nan=-1.0).astype(np.int64)
    for place, one in enumerate(connections):
        found[np.isin(at, one.times("rcv"))] = place
    return found


def _waiting(is_under_way: NDArray[np.bool_], is_own: NDArray[np.bool_]) -> int:
    """The place of the first object under way that waits for a connection, of several for its own
    if that is known; -1 if none is.
    """
    for those in (is_under_way & is_own, is_under_way):
        if those.any():
            return int(those.argmax())
    return -1


def _page_words(flow: History, ends: Values) -> str:
    """How long a page took, from the opening of its flow on, or how much of it was read."""
    if np.isnan(ends).any() or not len(flow.times("done")):
        return f"{np.count_nonzero(~np.isnan(ends)):,} objects by the end"
    took_s = f"{float(ends.max()) - flow.begin_ns / NS_PER_S:#.3g}".removesuffix(".")
    return f"page in {took_s} s"
