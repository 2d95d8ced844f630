"""The links of runs over time: whether runs differ in them, and the rates of those in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from midflight.plot.over_time.curves import (
    Curve,
    Values,
    WatchedRun,
    averaged,
    held_in,
    longest,
)
from midflight.plot.over_time.history import NS_PER_S

__all__ = ["paths_of", "rate_in_use", "rates_of"]

#: Rates that change more often, together, are not drawn over each other.
_MOST_CHANGES = 60


def paths_of(runs: Sequence[WatchedRun]) -> list[WatchedRun]:
    """The runs, or one of them if all have their links in use, and outages, at the same times as
    long as all of them last.
    """
    until = min(run.end_ns for run in runs)
    # Until when the last link is in use is no matter of the path.
    paths = [
        (
            *((one.from_ns, one.link) for one in run.stretches if one.from_ns < until),
            *(one for one in run.moments.outages if one[0] < until),
        )
        for run in runs
    ]
    return [longest(runs)] if len({*paths}) == 1 else list(runs)


def _differ(runs: Sequence[WatchedRun], window: tuple[float, float]) -> bool:
    """Whether the links in use have other rates in some of the runs, while all of them last."""
    until = min(run.end_ns for run in runs) / NS_PER_S
    if until <= window[0]:
        return True
    each = [rate_in_use(run, (window[0], min(window[1], until))) for run in runs]
    return any(
        not np.array_equal(one.value, each[0].value)
        or not np.array_equal(one.time_s, each[0].time_s)
        for one in each[1:]
    )


def rates_of(runs: Sequence[WatchedRun], window: tuple[float, float], edges: Values) -> list[Curve]:
    """The rate of the links in use, as means over intervals with these edges if it has more steps;
    of runs that differ in it that of each, in the look of its line, or none if these change often.
    """
    differ = len({run.path for run in runs}) > 1 and (
        len(paths_of(runs)) > 1 or _differ(runs, window)
    )
    if not differ:
        # Its first mean is over a whole interval, as those of the lines are.
        begin = min([window[0], *edges[:1].tolist()])
        run = longest(runs)
        exact = rate_in_use(run, (begin, window[1]))
        rate = _without_outages(averaged(exact, edges), run)
        return [replace(rate, exact=(exact.time_s, exact.value))]
    found = [
        replace(rate_in_use(run, window), look=run.looks[0], scheme=run.scheme) for run in runs
    ]
    return found if sum(len(one.time_s) for one in found) <= _MOST_CHANGES else []


def _without_outages(rate: Curve, run: WatchedRun) -> Curve:
    """A rate that is 0 in outages: the first mean in one of a Mahimahi file has a part of the time
    of the last opportunity before.
    """
    value = rate.value.copy()
    for outage in run.moments.outages:
        first, end = np.searchsorted(rate.time_s, np.array(outage) / NS_PER_S - 1e-9)
        value[first:end] = 0.0
    return replace(rate, value=value)


def rate_in_use(run: WatchedRun, window: tuple[float, float]) -> Curve:
    """The rate of the link in use, in Mbit/s."""
    times: list[Values] = []
    values: list[Values] = []
    at = {}
    for stretch in run.stretches:
        link = run.link_of(stretch.link) if stretch.link else None
        start, end = stretch.from_ns / NS_PER_S, stretch.until_ns / NS_PER_S
        if link is None:
            times.append(np.array([start]))
            values.append(np.array([0.0 if not stretch.link else np.nan]))
            continue
        if link not in at:
            at[link] = _rate_of(run, link)
        time, rate = at[link]
        first = max(0, int(np.searchsorted(time, start, side="right")) - 1)
        last = max(first + 1, int(np.searchsorted(time, end)))
        some, rates = np.maximum(time[first:last], start), rate[first:last].copy()
        if len(rates) > 1 and link not in run.recorded_rates:
            # A sample from before the link was in use does not describe it.
            rates[0] = rates[1]
        new = np.concatenate([[True], np.diff(rates) != 0])
        times.append(some[new])
        values.append(rates[new])
    none = np.empty(0)
    time = np.concatenate([none, *times])
    value = np.concatenate([none, *values])
    time, value = held_in(time, value, window, run.end_ns / NS_PER_S)
    return Curve(f"rate of the link{run.way}", "area", time, value)


def _rate_of(run: WatchedRun, link: int) -> tuple[Values, Values]:
    """The rate of a link in Mbit/s, from instants in seconds on: at the points of its recording, or
    as sampled. A sampled change is at the instant of the path's, if one is between the samples.
    """
    if link in run.recorded_rates:
        time_ns, bps = run.recorded_rates[link]
        return np.array(time_ns) / NS_PER_S, np.array(bps) / 1e6
    sampled = (run.sampled(link, name) for name in ("time_ns", "rate_bps", "up"))
    time, rate, up = sampled
    time, value = time / NS_PER_S, rate * up / 1e6
    changed = np.flatnonzero(np.diff(value)) + 1
    cuts = np.array(run.cuts)
    if len(cuts) and len(changed):
        near = cuts[np.maximum(np.searchsorted(cuts, time[changed], side="right") - 1, 0)]
        is_between = (near >= time[changed - 1]) & (near <= time[changed])
        time[changed[is_between]] = near[is_between]
    return time, value
