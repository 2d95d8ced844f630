"""When the link in use was full, and when it was not, in parts of a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.explain.regained import over_ns
from midflight.explain.words import to_ms
from midflight.listing import joined

if TYPE_CHECKING:
    from midflight.explain.arrivals import RunEvents
    from midflight.explain.path import PathSamples

__all__ = ["FULL", "Part", "Span", "length_of", "times_words", "uses_of_link"]

#: From when to when, in nanoseconds.
Span = tuple[int, int]

#: Flows that use this share of a link together are limited by it.
FULL = 0.85
#: So is what waits in a queue that is never empty, in this share of the samples.
_NEVER_EMPTY = 0.95
#: A time in which the link has no rate for more than this share has none.
_MOST_IDLE = 0.5
#: Times that are listed; of more the number is given.
_MOST_LISTED = 3


class Part(NamedTuple):
    """A part of a time, and what the link in use was in it: "full", "open" if there was room,
    "silent" if nothing arrived although it had a rate, or "idle" if it had none.
    """

    begin_ns: int
    end_ns: int
    kind: str

    @property
    def span(self) -> Span:
        """From when to when it is."""
        return self.begin_ns, self.end_ns


def uses_of_link(run: RunEvents, flow: str, span: Span, path: PathSamples) -> list[Part]:
    """Return these parts of the time between two instants, one after the other, by what all flows
    of a flow's direction used of the link; none if that is not known, or if the time is short.
    """
    begin, end = span
    direction = run.flows[flow]["direction"]
    flows = [run.of(name) for name in run.moving(direction)]
    trips = np.concatenate([one.trips_of(begin, end) for one in flows])
    over = over_ns(end - begin, float(np.median(trips)) if len(trips) else 0.0)
    count = int((end - begin) / over)
    if count < 2:
        return []
    edges = np.linspace(begin, end, count + 1)
    could = np.diff(path.bits_until(edges))
    if not np.isfinite(could).all():
        return []
    passing = path.passing(begin, end)
    arrive = edges + (passing.first_ns - begin)
    came = np.diff(np.sum([one.bits_until(passing, arrive) for one in flows], axis=0))
    kinds = []
    for (since, until), can, had in zip(pairwise(edges), could, came, strict=True):
        here = (path.time_ns >= since) & (path.time_ns < until)
        if path.idle_share(int(since), int(until)) > _MOST_IDLE or not can:
            kinds.append("idle")
        elif had >= FULL * can or (here.any() and np.mean(path.least[here] > 0) >= _NEVER_EMPTY):
            kinds.append("full")
        else:
            kinds.append("open" if had else "silent")
    # A single interval between others that are alike is as these are.
    for place in range(1, count - 1):
        around = {kinds[place - 1], kinds[place + 1]}
        if {kinds[place]} | around == {"full", "open"} and len(around) == 1:
            kinds[place] = kinds[place - 1]
    changes = [0, *(n for n in range(1, count) if kinds[n] != kinds[n - 1]), count]
    parts = [Part(int(edges[a]), int(edges[b]), kinds[a]) for a, b in pairwise(changes)]
    times = np.sort(np.concatenate([one.arrived_of(passing) for one in flows]))
    return list(_without_waits(parts, times))


def _without_waits(parts: Sequence[Part], times: NDArray[np.int64]) -> Iterator[Part]:
    """Yield parts in order, those with room cut to what arrived in them at these instants, beside
    times without arrivals: an interval may have a wait and what came after it.
    """
    for place, part in enumerate(parts):
        begin, end, kind = part
        # What comes at the end of all may be on its way.
        before = parts[place - 1].kind if place else "silent"
        after = parts[place + 1].kind if place + 1 < len(parts) else ""
        within = times[(times >= begin) & (times <= end)]
        if kind != "open" or not len(within):
            yield part
            continue
        since = int(within[0]) if before in ("silent", "idle") else begin
        until = int(within[-1]) if after in ("silent", "idle") else end
        cut = Part(begin, since, "silent"), Part(since, until, kind), Part(until, end, "silent")
        yield from (one for one in cut if one.end_ns > one.begin_ns)


def length_of(spans: Sequence[Span]) -> int:
    """How long some times are together."""
    return sum(end - begin for begin, end in spans)


def times_words(spans: Sequence[Span]) -> str:
    """How long some times are together, and when they are: to a tenth of a second, or a tenth of
    the shortest one's decade, as the edges of means are no better known.
    """
    whole = f"for {length_of(spans) / 1e9:.3g} s"
    if len(spans) > _MOST_LISTED:
        return f"{whole} in {len(spans)} parts"
    shortest = min(end - begin for begin, end in spans)
    unit = min(max(10 ** (len(str(shortest)) - 2), 10**6), 10**8)
    ends = [[to_ms(round(one / unit) * unit) for one in span] for span in spans]
    each = [f"from {begin} to {end}" for begin, end in ends]
    return each[0] if len(each) == 1 else f"{whole}, {joined(each)}"
