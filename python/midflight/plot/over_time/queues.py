"""The panel of queues: their lengths, what became of packets at them, and backlogs of flows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from midflight.plot.common.line_looks import link_look
from midflight.plot.common.style import PAGE_IN
from midflight.plot.over_time.bins import bin_edges, places_in, stepped
from midflight.plot.over_time.curves import (
    Curve,
    Panel,
    Values,
    WatchedRun,
    inside,
    longest,
    nice,
    seconds_text,
)
from midflight.plot.over_time.history import NS_PER_S
from midflight.plot.over_time.intervals import LEAST_INTERVALS
from midflight.plot.over_time.marks import EVENTS, GROUPS, timeouts

__all__ = ["queue_panel", "without_maxima"]

#: Means of a queue alone in the time that is shown, about.
_INTERVALS = 360
#: Queues of several runs are maxima if that of most intervals is so many times the mean; those that
#: are shorter than this share of the longest one do not count.
_OF_BURSTS, _LEAST_BURST = 5, 0.1
#: Lines of several runs have their maxima; those of more would be a tangle with the means.
_MOST_WITH_MAXIMA, _OF_MAXIMA, _LEFT_OUT = 2, "; thin line: maxima", "; maxima not drawn"
#: A line of means that goes up and down over the height of its panel more often in an inch is a
#: black area.
_MOST_SWINGS_PER_IN = 8


def _at_queue(
    run: WatchedRun,
    links: Collection[int],
    queue: Curve,
    window: tuple[float, float],
    *,
    alone: bool,
) -> list[Curve]:
    """What became of packets of each shown flow at a queue, with its longest length then; a single
    line needs no colour to tell whose they are.
    """
    if queue.high is None or not len(queue.time_s):
        return []
    names = run.labels_along(links)
    found = []
    for flow, look in zip(run.flows, run.looks, strict=True):
        for draw in (*GROUPS["losses"], *GROUPS["acks"], *GROUPS["ecn"]):
            label, (at, where) = EVENTS[draw].label, flow.at_queues[draw]
            time = at[[one in names for one in where]] / NS_PER_S
            time = time[inside(time, window)]
            if not len(time):
                continue
            place = np.maximum(np.searchsorted(queue.time_s, time, side="right") - 1, 0)
            how: Any = {"look": None if alone else look, "link": queue.link}
            # The legend has it behind the lines.
            how |= {"flow": flow.flow, "scheme": flow.label, "quantity": label, "in_row": True}
            found.append(Curve(label, draw, time, queue.high[place], **how))
    return found


def _backlogs(run: WatchedRun, link: int, name: str, edges: Values) -> list[Curve]:
    """The packets of each shown flow at a link with a queue for each flow; none with one flow."""
    if len(run.flows) < 2 or len(edges) < 2:
        return []
    rows = run.backlogs
    here = rows.numpy("number") == link
    flows = rows.numpy("flow").astype(str)
    each = list(zip(run.flows, run.labels, run.looks, strict=True))
    if len({*flows[here]} & {flow.flow for flow, _, _ in each}) < 2:
        return []
    found = []
    for flow, label, look in each:
        mine = np.flatnonzero(here & (flows == flow.flow))
        time = rows.numpy("time_ns")[mine] / NS_PER_S
        seen = inside(time, (edges[0], edges[-1]))
        packets = rows.numpy("packets")[mine][seen].astype(np.float64)
        if len(packets):
            levels = _Levels(time[seen], packets, packets, packets, packets).means(edges)
            how: Any = {"look": look, "flow": flow.flow, "scheme": flow.label, "link": name}
            found.append(Curve(label, "steps", levels.time_s, levels.packets, **how))
    return found


class _Levels(NamedTuple):
    """The packets of a queue at instants in seconds, as steps, and the least and the most of them
    and their mean from each instant to the next one.
    """

    time_s: Values
    packets: Values
    least: Values
    most: Values
    mean: Values

    def means(self, edges: Values) -> _Levels:
        """Return the means, the least and the most of intervals; where a queue is known no more
        often than once in an interval, what is known.
        """
        if len(self.time_s) < len(edges):
            last = [np.append(one, one[-1]) for one in self[1:]]
            return _Levels(np.append(self.time_s, edges[-1]), *last)
        # What is known from an instant to the next one, beyond an edge, is that of the later
        # interval: a queue that is full until an outage ends would seem to empty before.
        until = np.nextafter(np.append(self.time_s[1:], edges[-1]), 0.0)
        place = places_in(edges, np.maximum(until, self.time_s))
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        means = np.add.reduceat(self.mean, starts) / np.diff(np.append(starts, len(place)))
        least, most = (
            np.minimum.reduceat(self.least, starts),
            np.maximum.reduceat(self.most, starts),
        )
        time, steps = stepped(edges, place[starts], (means, least, most))
        mean, least, most = steps
        return _Levels(time, mean, least, most, mean)


def _levels(run: WatchedRun, links: Collection[int], window: tuple[float, float]) -> _Levels:
    """What is known of the packets at some links, together, in a window of time."""
    columns = ("packets", "least", "most", "mean")
    rows = [sum(run.sampled(one, name, near=True) for one in links) for name in columns]
    time = run.sampled(next(iter(links)), "time_ns", near=True) / NS_PER_S
    seen = inside(time, (window[0], min(window[1], run.end_ns / NS_PER_S)))
    seen = slice(max(0, seen.start - 1), seen.stop)
    packets, *rest = (np.asarray(one, dtype=np.float64) for one in rows)
    # These are since the sample before.
    least, most, mean = (np.append(one[1:], packets[-1:])[seen] for one in rest)
    time, packets = np.maximum(time[seen], window[0]), packets[seen]
    return _Levels(time, packets, np.minimum(least, packets), np.maximum(most, packets), mean)


def queue_panel(
    runs: Sequence[WatchedRun],
    window: tuple[float, float],
    interval: float,
    *,
    is_fixed: bool = False,
    width_in: float = PAGE_IN,
) -> Panel:
    """The packets at the access links in the direction of the data, and what became of packets, as
    means of an interval that is fixed, or of shorter ones than the usual one; of longer ones if
    their means would go up and down more often than can be seen in a figure of this width.
    """
    means = interval
    if not is_fixed and len(runs) == 1 and not runs[0].other_links:
        # The sawtooth of one queue can be seen, those of several cover each other.
        interval = min(interval, nice((window[1] - window[0]) / _INTERVALS))
    panel = _panel_of(runs, window, interval, means)
    shown_s = min(window[1], longest(runs).end_ns / NS_PER_S) - window[0]
    while not is_fixed and 2 * LEAST_INTERVALS * interval < shown_s:
        if _swings(panel) <= _MOST_SWINGS_PER_IN * width_in:
            break
        interval = nice(1.1 * interval)
        panel = _panel_of(runs, window, interval, max(means, interval))
    return panel


def _panel_of(
    runs: Sequence[WatchedRun], window: tuple[float, float], interval: float, means: float
) -> Panel:
    """The panel with means of an interval, and those of single flows of another one."""
    curves, is_binned = [], False
    alone = sum(len(one.flows) for one in runs) == 1
    for run in runs:
        one_run, end_s = len(runs) == 1, run.end_ns / NS_PER_S
        links = run.queue_links if one_run else run.shown_links
        edges = bin_edges(window, interval, end_s, run.cuts)
        # A line for each scheme: what waits on the way.
        each = {at: [at] for at in links} if one_run else {-1: list(links)}
        for at, numbers in each.items() if links and len(edges) > 1 else ():
            link = ", ".join(links[one] for one in numbers)
            known = _levels(run, numbers, window)
            if not len(known.time_s):
                continue
            levels = known.means(edges)
            is_binned |= len(known.time_s) >= len(edges)
            name = f"queue of {link}{run.way}" if one_run else run.scheme
            beside, other = run.other_links.get(at, (at, ""))
            if other:
                name = f"queue of {other}, {run.other_way}"
            # That of several flows has the look of the first one.
            look = run.looks[0]
            if one_run:
                look = link_look(run.place_of(beside), is_other_way=bool(other))
            if not one_run and len(run.flows) > 1:
                name = f"queue, {name}"
            queue = Curve(
                name,
                "queue",
                levels.time_s,
                levels.packets,
                look=look,
                low=levels.least,
                high=levels.most,
                scheme=run.scheme,
                link=link,
            )
            marks = _at_queue(run, numbers, queue, window, alone=alone)
            if one_run and len(each) > 1 and not (marks or levels.most.any()):
                # Nothing happens at this link in the time that is shown.
                continue
            curves += [_while_used(run, at, queue) if one_run else queue, *marks]
            if one_run:
                of_flows = bin_edges(window, means, end_s, run.cuts)
                curves += _backlogs(run, at, link, of_flows)
        curves += _timeouts_at(run, curves, window, alone=alone)
    detail = f"means of {seconds_text(interval)}, band: smallest to largest" if is_binned else ""
    if is_binned and len(runs) > 1 and _hides_bursts(curves):
        curves = [one if one.high is None else replace(one, value=one.high) for one in curves]
        detail = f"maxima of {seconds_text(interval)}"
    elif is_binned and len(runs) > 1:
        # Bands of several runs would cover each other.
        is_many = sum(one.draw == "queue" for one in curves) > _MOST_WITH_MAXIMA
        detail += _LEFT_OUT if is_many else _OF_MAXIMA
        curves = curves if is_many else [replace(one, most=one.high) for one in curves]
    together = {one.link for one in curves if one.draw == "queue" and ", " in one.link}
    if together:
        # A queue at a link that is no longer in use counts, too.
        detail = "; ".join(filter(None, ("sum of links", detail)))
    what, with_bands = "Queue (packets)", "Queue, range\n(packets)"
    if any(_is_shared(run) for run in runs) and not any(one.draw == "steps" for one in curves):
        # Its lines have the colours of links, or of a scheme, and are of no flow alone.
        what, with_bands = "Queue of all flows\n(packets)", "Queue of all,\nrange (packets)"
    return Panel("queue", what, "packets", curves, detail, what_with_bands=with_bands)


def _is_shared(run: WatchedRun) -> bool:
    """Whether other flows have data in the queues of the first one of a run."""
    return sum(one["direction"] == run.directions[0] for one in run.setup.flows) > 1


def _hides_bursts(curves: Sequence[Curve]) -> bool:
    """Whether the longest queue of most intervals, but for those of nearly none, is far above their
    means, so that maxima tell more.
    """
    pairs = [(one.value, one.high) for one in curves if one.high is not None and len(one.value)]
    if not pairs:
        return False
    value, high = (np.concatenate(each) for each in zip(*pairs, strict=True))
    is_one = high > _LEAST_BURST * float(np.nanmax(high))
    return bool(is_one.any()) and float(np.mean(high[is_one] > _OF_BURSTS * value[is_one])) > 0.5


def _swings(panel: Panel) -> float:
    """How often a line of queues goes up and down over the whole height of its panel."""
    queues = [one for one in panel.curves if one.draw == "queue"]
    most = max(map(_most_of, queues), default=0.0)
    ways = (float(np.abs(np.diff(one.value[~np.isnan(one.value)])).sum()) for one in queues)
    return max(ways, default=0.0) / most if most > 0 else 0.0


def _most_of(one: Curve) -> float:
    """The largest maximum of a curve; 0 without any."""
    return 0.0 if one.high is None else float(np.nanmax(one.high, initial=0.0))


def without_maxima(panel: Panel) -> Panel:
    """Return a panel of queues without the maxima of several runs."""
    curves = [replace(one, most=None) for one in panel.curves]
    return replace(panel, curves=curves, detail=panel.detail.replace(_OF_MAXIMA, ""))


def _timeouts_at(
    run: WatchedRun, curves: Sequence[Curve], window: tuple[float, float], *, alone: bool
) -> list[Curve]:
    """The timeouts of each shown flow, with the longest queue of its run then."""
    queues = [one for one in curves if one.draw == "queue" and one.scheme == run.scheme]
    found: list[Curve] = []
    if not queues:
        return found
    time = np.unique(np.concatenate([one.time_s for one in queues]))
    most = np.zeros(len(time))
    for one in queues:
        assert one.high is not None
        place = np.searchsorted(one.time_s, time, side="right") - 1
        most = np.fmax(most, np.where(place >= 0, one.high[place], 0.0))
    for flow, label, look in zip(run.flows, run.labels, run.looks, strict=True):
        how: Any = {"flow": flow.flow, "scheme": flow.label}
        line = Curve(label, "steps", time, most, look, **how)
        found += timeouts(flow, line, window, alone=alone)
    return found


def _while_used(run: WatchedRun, link: int, queue: Curve) -> Curve:
    """A queue without the times in which it is empty and the link is not in use."""
    time = queue.time_s
    until = np.append(time[1:], time[-1:])
    is_used = np.zeros(len(time), np.bool_)
    for one in run.used(link):
        is_used |= (until > one.from_ns / NS_PER_S) & (time < one.until_ns / NS_PER_S)
    assert queue.low is not None
    assert queue.high is not None
    is_shown = is_used | (queue.high > 0)
    # The last value is that of the last interval, at its end.
    is_shown[-1:] = is_shown[-2:-1]
    # A step holds to the end of its interval.
    last = np.flatnonzero(is_shown[:-1] & ~is_shown[1:]) + 1
    columns = []
    for column in (queue.value, queue.low, queue.high):
        shown = np.where(is_shown, column, np.nan)
        columns.append(np.insert(shown, last, shown[last - 1]))
    value, low, high = columns
    return replace(queue, time_s=np.insert(time, last, time[last]), value=value, low=low, high=high)
