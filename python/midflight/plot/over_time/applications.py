"""The behaviour of applications over time: a video's bit rate and buffer, a call's frames, a page's
objects.

All values come from the events that an application reports (docs/workloads.md): a flow without a
workload has no curve here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.plot.over_time.history import NS_PER_S, SetupSource, plan_of

if TYPE_CHECKING:
    from midflight.plot.over_time.history import History, RunSource
    from midflight.policy import Policies

__all__ = [
    "OF_APPLICATIONS",
    "Call",
    "Frames",
    "bitrate_of",
    "buffer_of",
    "calls_of",
    "cycle_of",
    "end_of_segments",
    "frames_of",
    "has_events",
    "objects_of",
    "segments_of",
    "spans_of_segments",
    "stalls_of",
    "wanted_of",
]

Values = NDArray[np.float64]

#: Kinds of panels by the workload that they show.
OF_APPLICATIONS = {"bitrate": "video", "buffer": "video", "frames": "call", "objects": "web"}


def has_events(flow: History) -> bool:
    """Whether this flow has the events of its application: of several connections, the first."""
    return len(flow.rows("request", "frame", "late_frame")) > 0


def bitrate_of(flow: History) -> tuple[Values, Values]:
    """Return the bit rate of each segment of a video from its request on, in seconds and Mbit/s, as
    steps; the last one holds until that segment has been read.
    """
    at, rate = flow.times("request") / NS_PER_S, flow.values("request") / 1e6
    if not len(at):
        return np.empty(0), np.empty(0)
    read = flow.times("segment") / NS_PER_S
    is_read = len(read) == len(at)
    end = read[-1] if is_read else flow.end_ns / NS_PER_S
    return np.append(at, max(at[-1], end)), np.append(rate, rate[-1])


def spans_of_segments(flow: History) -> tuple[Values, Values]:
    """Return when the segments of a video are requested, and when they have been read, in seconds;
    none of another flow.
    """
    read = flow.times("segment") / NS_PER_S
    return (flow.times("request") / NS_PER_S if len(read) else read), read


def end_of_segments(flow: History, segment_s: float) -> Values:
    """Return until when the mean of the last segment of a video is taken, in seconds; none of
    another flow.

    A video that waits before its requests, as its buffer is full, has one as long as the others. In
    one that loads all the time the mean ends behind the last data: a time without any would look
    like a slower link.
    """
    requested, read = spans_of_segments(flow)
    is_read = 0 < len(read) == len(requested)
    if is_read and (len(read) == 1 or requested[-1] <= read[-2]):
        # Data that arrive at an edge are behind it.
        return (flow.times("segment")[-1:] + 1) / NS_PER_S
    return np.maximum(read[-1:], requested[-1:] + segment_s)


def buffer_of(flow: History) -> tuple[Values, Values]:
    """Return the seconds of media in a video's buffer, as the corners of a line.

    It grows by a segment when that has been read, and shrinks by a second in each while it plays.
    A flow that is no video, or carries its requests, has no buffer.
    """
    if not len(flow.rows("buffer")):
        return np.empty(0), np.empty(0)
    events = [
        (int(at), kind, float(value) / NS_PER_S)
        for kind in ("buffer", "playing", "stalled", "done")
        for at, value in zip(flow.times(kind), flow.values(kind), strict=True)
    ]
    # At one instant a segment has been read before playback begins or ends.
    order = ("buffer", "stalled", "playing", "done")
    events.sort(key=lambda one: (one[0], order.index(one[1])))
    if not events:
        return np.empty(0), np.empty(0)
    time, value, level, plays, since = [0.0], [0.0], 0.0, False, 0

    def drained(now: int) -> float:
        return max(0.0, level - (now - since) / NS_PER_S) if plays else level

    for now, kind, said in events:
        level = drained(now)
        time.append(now / NS_PER_S)
        value.append(level)
        if kind == "buffer":
            level = said
        elif kind in ("stalled", "done"):
            level = 0.0
        plays = kind == "playing" or (plays and kind == "buffer")
        since = now
        time.append(now / NS_PER_S)
        value.append(level)
    if flow.end_ns > since:
        empties = since + level * NS_PER_S
        for now in sorted({min(flow.end_ns, int(empties)), flow.end_ns}):
            time.append(now / NS_PER_S)
            value.append(drained(now))
    return np.array(time), np.array(value)


def stalls_of(flow: History) -> list[tuple[float, float]]:
    """Return from when to when playback stood still, in seconds; without the start-up."""
    playing = flow.times("playing")
    found = []
    for begun in flow.times("stalled"):
        later = playing[playing > begun]
        found.append(
            (int(begun) / NS_PER_S, (int(later[0]) if len(later) else flow.end_ns) / NS_PER_S)
        )
    return found


class Call(NamedTuple):
    """A call in a scenario, in seconds: its deadline, for how long it makes frames, and how often;
    0 if that is not known.
    """

    deadline_s: float
    length_s: float
    interval_s: float = 0.0


@dataclass(frozen=True)
class Frames:
    """The frames of a call that were read, in the order of their creation: when, and their delays,
    in seconds.
    """

    made_s: Values
    took_s: Values
    is_late: NDArray[np.bool_]
    #: When those were made that were not read by the end of the run or by their deadline, if that
    #: is later.
    lost_s: Values
    #: When those were made that the end of the run leaves until their deadline to be read.
    open_s: Values


def frames_of(flow: History, call: Call | None = None) -> Frames:
    """Return the frames of a call; one that is not read is lost only after its deadline, if what
    the scenario says of the call is known.
    """
    at, took = flow.times("frame", "late_frame"), flow.values("frame", "late_frame")
    late_rows = flow.rows("late_frame")
    is_late = np.isin(flow.rows("frame", "late_frame"), late_rows)
    numbers = np.array([int(one) for one in flow.details("frame", "late_frame")], np.int64)
    made = (at - took) / NS_PER_S
    lost = still_open = np.empty(0)
    if len(numbers) > 1:
        first, last = int(numbers.argmin()), int(numbers.argmax())
        interval = (made[last] - made[first]) / max(1, numbers[last] - numbers[first])
        begin = made[first] - numbers[first] * interval
        # Until the end of the run, or until the call was over.
        is_over = len(flow.times("done")) > 0
        end_s = flow.end_ns / NS_PER_S
        until_s = end_s if call is None else min(end_s, begin + call.length_s)
        # None is made at the instant of the end.
        made_until = math.ceil((until_s - begin) / interval - 1e-6)
        many = int(numbers.max()) + 1 if is_over else made_until
        missing = np.setdiff1d(np.arange(many), numbers)
        unread = begin + missing * interval
        has_passed = unread + (call.deadline_s if call else 0.0) <= end_s
        lost, still_open = unread[has_passed], unread[~has_passed]
    # Streams of a connection may be read in another order.
    order = np.argsort(made, kind="stable")
    return Frames(made[order], took[order] / NS_PER_S, is_late[order], lost, still_open)


def calls_of(source: RunSource, policies: Policies | None = None) -> Mapping[str, Call]:
    """Return what a scenario says of its calls, by the flows' names."""
    deadlines = _times_of(source, policies, "call", "call_deadline")
    lengths = _times_of(source, policies, "call", "call_length")
    every = _times_of(source, policies, "call", "call_interval")
    return {name: Call(deadlines[name], lengths[name], every[name]) for name in deadlines}


def segments_of(source: RunSource, policies: Policies | None = None) -> Mapping[str, float]:
    """Return how long a segment of a scenario's videos plays, in seconds, by the flows' names."""
    return _times_of(source, policies, "video", "video_segment")


def _times_of(
    source: RunSource, policies: Policies | None, workload: str, knob: str
) -> Mapping[str, float]:
    """A time of the flows with a workload, in seconds, by their names."""
    if isinstance(source, SetupSource):
        return {}
    from midflight import parse_duration

    scenario = json.loads(plan_of(source, policies=policies).canonical)
    found: dict[str, float] = {}
    for name, flow in scenario["flows"].items():
        if flow.get("workload") != workload:
            continue
        said = {**(scenario.get("set") or {}), **(flow.get("set") or {})}
        time = parse_duration(str(said.get(knob, _usual(workload, knob))))
        count = int(flow.get("count") or 1)
        names = [name] if count == 1 else [f"{name}-{number}" for number in range(count)]
        found |= dict.fromkeys(names, time / NS_PER_S)
    return found


def _usual(workload: str, knob: str) -> str:
    """The default of a knob of a workload."""
    from midflight import _core

    parts = next(one["knobs"] for one in _core.workloads() if one["name"] == workload)
    return str(next(one["default"] for one in parts if one["name"] == knob))


def objects_of(flow: History) -> tuple[Values, Values, Values]:
    """Return number, request and last byte of each object of a page, in seconds.

    The last byte of one that was not read by the end of the run is nan.
    """
    asked = dict(zip(flow.details("request"), flow.times("request"), strict=True))
    read = dict(zip(flow.details("object"), flow.times("object"), strict=True))
    numbers = np.array(sorted(int(one) for one in asked), np.float64)
    begins = np.array([asked[str(int(one))] / NS_PER_S for one in numbers])
    ends = [read[str(int(one))] / NS_PER_S if str(int(one)) in read else np.nan for one in numbers]
    return numbers, begins, np.array(ends)


def wanted_of(flow: History, workload: str) -> list[tuple[float, float]]:
    """Return from when to when an application waits for data, in seconds: a page or a video from
    each request until that is read, or to the end of the run, and a call all the time.
    """
    if workload == "call":
        end_ns = [*flow.times("done").tolist(), flow.end_ns][0]
        return [(flow.begin_ns / NS_PER_S, end_ns / NS_PER_S)] if has_events(flow) else []
    begins = flow.times("request") / NS_PER_S
    read = flow.times("object" if workload == "web" else "segment") / NS_PER_S
    if workload == "web":
        _, begins, read = objects_of(flow)
    ends = np.append(read, np.full(len(begins), np.nan))[: len(begins)]
    ends = np.where(np.isnan(ends), flow.end_ns / NS_PER_S, ends)
    return [*zip(begins.tolist(), ends.tolist(), strict=True)]


def cycle_of(flow: History) -> float:
    """Return the usual time from a request of a page to the next one, in seconds, if each waits
    until the object before has been read, so that the flow is on and off; otherwise 0.
    """
    _, begins, ends = objects_of(flow)
    # What is not read compares as later.
    if len(begins) < 2 or not (begins[1:] >= ends[:-1]).all():
        return 0.0
    return float(np.median(np.diff(begins)))
