"""Why the playback of a video stood still: what arrived of the segment that was due, and what the
link could carry in that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from midflight.explain.afterwards import limit_after
from midflight.explain.path import PathSamples
from midflight.explain.requests import lost_request
from midflight.explain.silences import why_silent
from midflight.explain.words import link_text, to_ms

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["PlaybackStall", "playback_stalls"]

NS_PER_S = 1e9
#: A link that carried at least this share of what it could was the limit.
_FULL = 0.8
#: Pauses shorter than this share of the time that a segment took are no reason.
_LEAST_PAUSE = 0.1
#: The same of a time without arrivals that no pause covers.
_LEAST_SILENCE = 0.25


class PlaybackStall(NamedTuple):
    """A time in which playback stood still, since when and as which number the segment that was due
    had been requested, and why it was late ("" if it had not been requested).
    """

    begin_ns: int
    end_ns: int
    since_ns: int
    segment: str
    why: str


def playback_stalls(
    setup: Setup, flow: str, path: PathSamples | None = None
) -> list[PlaybackStall]:
    """Return the times in which a video stood still, without its start-up, in their order."""
    names = ("request", "segment", "stalled", "playing", "rcv")
    trace = setup.trace(flow=flow, only=list(names))
    columns = (trace.column(one) for one in ("time_ns", "event", "value", "detail"))
    rows = [row for row in zip(*columns, strict=True) if row[1] != "rcv"]
    begun = [(at, detail) for at, event, _, detail in rows if event == "stalled"]
    if not begun:
        return []
    events = np.array(trace.column("event"))
    came = events == "rcv"
    times = np.asarray(trace.numpy("time_ns"), np.int64)[came]
    sizes = np.array([float(one or 0) for one in trace.column("bytes")])[came]
    direction = next(one["direction"] for one in setup.flows if one["name"] == flow)
    path = path or PathSamples(setup, is_up=direction == "up")
    playing = [at for at, event, *_ in rows if event == "playing"]
    found = []
    for at, number in begun:
        until = next((one for one in playing if one > at), setup.end_ns)
        asked = [(t, v) for t, event, v, one in rows if event == "request" and one == number]
        read = [t for t, event, _, one in rows if event == "segment" and one == number]
        why, since = "", at
        if asked:
            since, media_bps = asked[0]
            by = read[0] if read else setup.end_ns
            within = (times > since) & (times <= by)
            arrived = times[within], sizes[within]
            request = lost_request(setup, flow, since, by)
            again = _silence(since, by, times[within])[1]
            after = limit_after(setup, flow, at, again, by)
            silent = why_silent(setup, flow, *_silence(since, by, times[within]))
            back = [end for _, end, _ in _pauses(path, since, by) if end < at]
            if silent and back and at - back[-1] >= _LEAST_PAUSE * (by - since):
                silent += f"; the link was back {to_ms(at - back[-1])} before the buffer was empty"
            why = _why(path, number, (since, by), media_bps, arrived, (silent, request, after))
        found.append(PlaybackStall(at, until, since, number, why))
    return found


def _mbit(bits_per_second: float) -> str:
    return f"{bits_per_second / 1e6:.3g} Mbit/s"


def _why(
    path: PathSamples,
    number: str,
    span: tuple[int, int],
    media_bps: float,
    arrived: tuple[np.ndarray, np.ndarray],
    others: tuple[str, str, str],
) -> str:
    """Return what arrived of a segment from its request until it was read, and beside what; and of
    the `others` why nothing came for the longest time, what became of the request, and what limited
    the flow after that.
    """
    silent, request, after = others
    since, by = span
    times, sizes = arrived
    bits = 8 * float(sizes.sum())
    length_s = (by - since) / NS_PER_S
    rate, could = bits / length_s, path.bits(since, by) / length_s
    links = " and ".join(map(link_text, path.links(since, by)))
    words = [
        f"video segment {number} was due: from its request at {to_ms(since)} to {to_ms(by)}, "
        f"{bits / 1e6:.3g} Mbit arrived with headers, {_mbit(rate)}"
    ]
    if np.isfinite(could) and links:
        words[0] += f", while {links} could carry {_mbit(could)} on average"
        if rate >= _FULL * could and could < media_bps:
            words[0] += f": too slow for a video of {_mbit(media_bps)}"
    pauses = [
        one for one in _pauses(path, since, by) if one[1] - one[0] >= _LEAST_PAUSE * (by - since)
    ]
    begin, end = _silence(since, by, times)
    covered = sum(max(0, min(end, e) - max(begin, b)) for b, e, _ in pauses)
    if end - begin - covered > _LEAST_SILENCE * (by - since):
        words.append(f"nothing of it arrived from {to_ms(begin)} to {to_ms(end)}")
        words.append(silent)
    told = [f"{what} from {to_ms(b)} to {to_ms(e)}" for b, e, what in pauses[:2]]
    # The words on the silence have the pauses in it.
    words[1:1] = [one for one in told if one not in silent]
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
