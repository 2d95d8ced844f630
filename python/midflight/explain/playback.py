"""Why the playback of a video stood still: what arrived of the segment that was due, and what the
link could carry in that time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from midflight.explain.afterwards import limit_after, since_when
from midflight.explain.arrivals import RunEvents
from midflight.explain.path import NS_PER_S, PathSamples
from midflight.explain.requests import lost_request
from midflight.explain.silences import why_silent
from midflight.explain.words import link_text, to_ms

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["PlaybackStall", "playback_stalls"]

#: A link that carried at least this share of what it could was the limit.
_FULL = 0.8
#: Pauses shorter than this share of the time that a segment took are no reason.
_LEAST_PAUSE = 0.1
#: The same of a time without arrivals that no pause covers.
_LEAST_SILENCE = 0.25


class _Video:
    """A video in a run, which is simulated again for reasons only if these are asked for."""

    def __init__(self, setup: Setup, flow: str) -> None:
        self.run, self.flow = RunEvents(setup), flow

    @cached_property
    def path(self) -> PathSamples:
        """The link in use."""
        is_up = self.run.flows[self.flow]["direction"] == "up"
        return PathSamples(self.run.setup, is_up=is_up)


@dataclass(frozen=True)
class PlaybackStall:
    """A time in which playback stood still, as which number the segment that was due had been
    requested, since when, until when it was read, and at which rate it was encoded; without a
    request it was due from the beginning of the stall on.
    """

    begin_ns: int
    end_ns: int
    segment: str
    since_ns: int
    read_ns: int
    media_bps: float | None
    _video: _Video

    @cached_property
    def why(self) -> str:
        """Why the segment was late; "" if it had not been requested."""
        return "" if self.media_bps is None else _why(self._video, self, self.media_bps)


def playback_stalls(setup: Setup, flow: str) -> list[PlaybackStall]:
    """Return the times in which a video stood still, without its start-up, in their order."""
    trace = setup.trace(flow=flow, only=["request", "segment", "stalled", "playing"])
    columns = (trace.column(one) for one in ("time_ns", "event", "value", "detail"))
    rows = list(zip(*columns, strict=True))
    playing = [at for at, event, *_ in rows if event == "playing"]
    video = _Video(setup, flow)
    found = []
    for at, event, _, number in rows:
        if event != "stalled":
            continue
        until = next((one for one in playing if one > at), setup.end_ns)
        asked = [(t, v) for t, event, v, one in rows if event == "request" and one == number]
        read = [t for t, event, _, one in rows if event == "segment" and one == number]
        since, media_bps = asked[0] if asked else (at, None)
        by = read[0] if read else setup.end_ns
        found.append(PlaybackStall(at, until, number, since, by, media_bps, video))
    return found


def _mbit(bits_per_second: float) -> str:
    return f"{bits_per_second / 1e6:.3g} Mbit/s"


def _why(video: _Video, stall: PlaybackStall, media_bps: float) -> str:
    """Return what arrived of a segment from its request until it was read, and beside what; why
    nothing came for the longest time, what became of the request, and what limited the flow after
    that.
    """
    run, flow, path = video.run, video.flow, video.path
    since, by = stall.since_ns, stall.read_ns
    events = run.of(flow)
    within = (events.arrived_ns > since) & (events.arrived_ns <= by)
    bits = float(events.bits[within].sum())
    length_s = (by - since) / NS_PER_S
    rate, could = bits / length_s, path.bits(since, by) / length_s
    links = " and ".join(map(link_text, path.links(since, by)))
    words = [
        f"video segment {stall.segment} was due: from its request at {to_ms(since)} to "
        f"{to_ms(by)}, {bits / 1e6:.3g} Mbit arrived with headers, {_mbit(rate)}"
    ]
    if np.isfinite(could) and links:
        words[0] += f", while {links} could carry {_mbit(could)} on average"
        if rate >= _FULL * could and could < media_bps:
            words[0] += f": too slow for a video of {_mbit(media_bps)}"
    pauses = _pauses(path, since, by)
    long = [one for one in pauses if one[1] - one[0] >= _LEAST_PAUSE * (by - since)]
    begin, end = _silence(since, by, events.arrived_ns[within])
    silent = why_silent(run.setup, flow, begin, end)
    back = [until for _, until, _ in pauses if until < stall.begin_ns]
    if silent and back and stall.begin_ns - back[-1] >= _LEAST_PAUSE * (by - since):
        silent += (
            f"; the link was back {to_ms(stall.begin_ns - back[-1])} before the buffer was empty"
        )
    covered = sum(max(0, min(end, e) - max(begin, b)) for b, e, _ in long)
    if end - begin - covered > _LEAST_SILENCE * (by - since):
        words.append(f"nothing of it arrived from {to_ms(begin)} to {to_ms(end)}")
        words.append(silent)
    told = [f"{what} from {to_ms(b)} to {to_ms(e)}" for b, e, what in long[:2]]
    # The words on the silence have the pauses in it.
    words[1:1] = [one for one in told if one not in silent]
    request = lost_request(run.setup, flow, since, by)
    again = since_when(run, flow, (since, by), (begin, end))
    after = limit_after(run, flow, stall.begin_ns, again, by)
    return "; ".join(filter(None, (*words, request, after)))


def _silence(since: int, by: int, times: np.ndarray) -> tuple[int, int]:
    """The longest time without arrivals between two instants."""
    edges = np.concatenate([[since], times, [by]])
    place = int(np.argmax(np.diff(edges)))
    return int(edges[place]), int(edges[place + 1])


def _pauses(path: PathSamples, since: int, by: int) -> list[tuple[int, int, str]]:
    """Times without a link or without a rate, cut to a span, in their order."""
    found = [(b, e, "there was no link") for b, e, name in path.used if not name]
    found += [(b, e, f"{link_text(link)} had no rate") for b, e, link, _ in path.setup.link_outages]
    return sorted((max(b, since), min(e, by), what) for b, e, what in found if b < by and e > since)
