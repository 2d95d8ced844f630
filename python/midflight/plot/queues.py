"""The panel of queues: their lengths, what became of packets at them, and backlogs of flows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from midflight.plot.curves import Curve, Draw, Panel, WatchedRun, inside, nice
from midflight.plot.history import NS_PER_S
from midflight.plot.style import SERIES

__all__ = ["INTERVALS", "queue_panel"]

#: Means of a throughput in the time that is shown, about, and of a queue for each of them.
INTERVALS = 90
_FINER = 4

#: What the legend says of packets at queues.
_AT_QUEUES: Mapping[Draw, str] = {
    "full": "lost: the queue is full",
    "broken": "lost: the link is down",
    "radio": "lost on the radio",
    "early": "dropped early",
    "marked": "marked (ECN)",
}


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
    names = {run.link_label(one) for one in links}
    found = []
    for flow, look in zip(run.flows, run.looks, strict=True):
        for draw, label in _AT_QUEUES.items():
            at, where = flow.at_queues[draw]
            time = at[[one in names for one in where]] / NS_PER_S
            time = time[inside(time, window)]
            if not len(time):
                continue
            place = np.maximum(np.searchsorted(queue.time_s, time, side="right") - 1, 0)
            how: Any = {"look": None if alone else look, "link": queue.link}
            # The legend has it behind the lines.
            how |= {"flow": flow.flow, "scheme": flow.label, "quantity": label}
            found.append(Curve(label, draw, time, queue.high[place], **how))
    return found


def _backlogs(
    run: WatchedRun, link: int, name: str, window: tuple[float, float], interval: float
) -> list[Curve]:
    """The packets of each shown flow at a link with a queue for each flow; none with one flow."""
    if len(run.flows) < 2:
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
        seen = inside(time, (window[0], min(window[1], run.end_ns / NS_PER_S)))
        time = time[seen]
        packets = rows.numpy("packets")[mine][seen].astype(np.float64)
        starts = np.flatnonzero(np.diff(np.floor(time / interval), prepend=-1))
        if len(starts):
            packets = np.add.reduceat(packets, starts) / np.diff(np.append(starts, len(packets)))
            how: Any = {"look": look, "flow": flow.flow, "scheme": flow.label, "link": name}
            found.append(Curve(label, "line", time[starts], packets, **how))
    return found


def queue_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    """The packets at the access links in the direction of the data, and what became of packets."""
    means = interval
    # The sawtooth of one queue can be seen, those of several cover each other.
    finer = _FINER if len(runs) == 1 else 1
    interval = nice(max(interval, (window[1] - window[0]) / INTERVALS) / finer)
    curves = []
    alone = sum(len(one.flows) for one in runs) == 1
    # Links are no flows: their looks are the last ones.
    taken = {look for run in runs for look in run.looks}
    free = [one for one in reversed(range(len(SERIES))) if one not in taken] or [len(SERIES) - 1]
    for run in runs:
        links = run.shown_links
        columns = ("time_ns", "packets", "least", "most")
        each = {name: [run.sampled(at, one) for one in columns] for at, name in links.items()}
        if len(runs) > 1 and each:
            # A line for each scheme: what waits on the way.
            sums = [np.sum([rows[one] for rows in each.values()], axis=0) for one in (1, 2, 3)]
            times = next(iter(each.values()))[0]
            each = {", ".join(each): [times, *sums]}
        for number, (link, (time, *rows)) in enumerate(each.items()):
            time = time / NS_PER_S
            seen = inside(time, (window[0], min(window[1], run.end_ns / NS_PER_S)))
            packets, least, most = (row[seen] for row in rows)
            starts = np.flatnonzero(np.diff(np.floor(time[seen] / interval), prepend=-1))
            if len(starts) < len(packets):
                # Means of intervals, and the least and the most in each.
                counts = np.diff(np.append(starts, len(packets)))
                packets = np.add.reduceat(packets, starts) / counts
                least, most = np.minimum.reduceat(least, starts), np.maximum.reduceat(most, starts)
            one_run = len(runs) == 1
            name = f"queue of {link}{run.way}" if one_run else run.scheme
            if not one_run and len(run.flows) > 1:
                name = f"queue, {name}"
            queue = Curve(
                name,
                "queue",
                time[seen][starts],
                packets,
                look=free[number % len(free)] if one_run else run.looks[0],
                low=least,
                high=most,
                scheme=run.scheme,
                link=link,
            )
            numbers = [list(links)[number]] if one_run else list(links)
            marks = _at_queue(run, numbers, queue, window, alone=alone)
            if one_run and len(each) > 1 and not (marks or most.any()):
                # Nothing happens at this link in the time that is shown.
                continue
            curves += [queue, *marks]
            if one_run:
                curves += _backlogs(run, numbers[0], link, window, means)
    is_binned = any(one.draw == "queue" and np.any(one.high != one.low) for one in curves)
    detail = f"means of {interval:g} s, band from least to most" if is_binned else ""
    return Panel("queue", "Queue (packets)", "packets", curves, detail)
