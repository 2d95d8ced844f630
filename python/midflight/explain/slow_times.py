"""The worst time of a link that follows a recording: the one that held up most, by its rates."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.explain.path import NS_PER_S, Values
from midflight.explain.words import link_text, to_ms
from midflight.results import weighted_quantile

if TYPE_CHECKING:
    from midflight.explain.arrivals import FlowEvents, RunEvents
    from midflight.explain.path import PathSamples

__all__ = ["SlowTime", "Using", "slow_line", "worst_time"]

#: A link is slow at less than this share of its median rate, for at least so long.
_SLOW = 0.25
_LEAST_NS = 1e9
#: Two slow times are one if what is between them is shorter than this share of the shorter one.
_JOINED = 0.5


class Using(NamedTuple):
    """A flow of a run on a path: what it is called ("" if it is the only one)."""

    label: str
    run: RunEvents
    flow: str
    path: PathSamples
    span: tuple[int, int]


class SlowTime(NamedTuple):
    """A time of a link, its least, mean and largest rate in it, and its median rate at others."""

    link: str
    begin_ns: int
    end_ns: int
    least_bps: float
    mean_bps: float
    most_bps: float
    usual_bps: float


def worst_time(path: PathSamples, span: tuple[int, int]) -> SlowTime | None:
    """Return the slow time within a span in which the link in use could carry least of what it
    usually could; None if there is none. Outages, which are told on their own, are no part of it.
    """
    found: list[tuple[float, SlowTime]] = []
    every = path.setup.link_outages
    for link in path.links(*span):
        steps = path.recorded(link, *span)
        if steps is None:
            continue
        outages = [(begin, end) for begin, end, name, _ in every if name == link]
        begins, ends, rates = _outside(steps, outages)
        length = ends - begins
        usual = _median(rates, length)
        times = _slow_times(begins, ends, rates < _SLOW * usual, [one for one, _ in outages])
        for begin, end in times:
            here = (begins >= begin) & (ends <= end)
            mean = float(np.sum((rates * length)[here]) / (end - begin))
            if end - begin < _LEAST_NS or not mean:
                continue
            rest = _median(rates[~here], length[~here])
            some = float(rates[here].min()), mean, float(rates[here].max()), rest
            found.append(((usual - mean) * (end - begin), SlowTime(link, begin, end, *some)))
    return max(found)[1] if found else None


def _median(rates: Values, length: Values) -> float:
    """The rate that the link has less than half of the time."""
    return weighted_quantile(rates, length, 0.5) if len(rates) else 0.0


def _outside(
    steps: tuple[Values, Values, Values], outages: Sequence[tuple[int, int]]
) -> tuple[Values, Values, Values]:
    """The steps of a recording, without the parts of them in which it has an outage."""
    begins, ends, rates = steps
    for begin, end in outages:
        before, after = begins < begin, ends > end
        begins, ends, rates = (
            np.concatenate([begins[before], np.maximum(begins[after], end)]),
            np.concatenate([np.minimum(ends[before], begin), ends[after]]),
            np.concatenate([rates[before], rates[after]]),
        )
    order = np.argsort(begins)
    return begins[order], ends[order], rates[order]


def _slow_times(
    begins: Values, ends: Values, slow: NDArray[np.bool_], outages_ns: Sequence[int]
) -> list[tuple[int, int]]:
    """The times of slow steps, joined with their neighbours where these are near, and no outage
    begins between them.
    """
    times: list[tuple[int, int]] = []
    outages_ns = sorted(outages_ns)
    for begin, end in zip(begins[slow].tolist(), ends[slow].tolist(), strict=True):
        if times:
            before, last = times[-1]
            is_cut = bisect_left(outages_ns, last) < bisect_left(outages_ns, begin)
            if not is_cut and begin - last <= _JOINED * min(last - before, end - begin):
                times[-1] = before, int(end)
                continue
        times.append((int(begin), int(end)))
    return times


def slow_line(flows: Sequence[Using]) -> str:
    """Return in a sentence when the link in use was worst, by its recording, and what each flow had
    of it; "" if there is no such time.
    """
    if not flows:
        return ""
    first = flows[0]
    worst = worst_time(first.path, first.span)
    if worst is None:
        return ""
    begin, end = worst.begin_ns, worst.end_ns
    least, mean, most, usual = (one / 1e6 for one in worst[3:])
    said = (
        f"{link_text(worst.link)} was slowest from {to_ms(begin)} to {to_ms(end)}: "
        f"{least:.3g} to {most:.3g} Mbit/s, {mean:.3g} on average, while half of the other time it "
        f"had {usual:.3g} or more"
    )
    had = []
    for one in flows:
        passing, events = one.path.passing(begin, end), one.run.of(one.flow)
        rate = events.bits_of(passing) / (end - begin) * NS_PER_S / 1e6
        underway = _longest_ns(events, passing.first_ns, passing.last_ns)
        late = f", and its segments took up to {underway / NS_PER_S:.2g} s" if underway else ""
        had.append(f"{one.label or 'the flow'} had {rate:.3g} Mbit/s{late}")
    return f"{said}; {'; '.join(had)}"


def _longest_ns(events: FlowEvents, begin_ns: int, end_ns: int) -> float:
    """How long the slowest of the segments was underway that arrived between two instants."""
    here = (events.arrived_ns >= begin_ns) & (events.arrived_ns <= end_ns)
    return float((events.arrived_ns - events.copies_ns)[here].max()) if here.any() else 0.0
