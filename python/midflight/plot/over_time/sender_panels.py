"""The panels of what senders do: rates, window, pipe, and segments that are acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from midflight.plot.common.line_looks import plain_look
from midflight.plot.common.style import PAGE_IN
from midflight.plot.over_time.bins import bin_edges
from midflight.plot.over_time.curves import (
    Curve,
    Panel,
    Values,
    WatchedRun,
    averaged,
    each_line,
    held_in,
    inside,
    is_alone,
    seconds_text,
)
from midflight.plot.over_time.history import NS_PER_S, History, Steps
from midflight.plot.over_time.marks import EVENTS, GROUPS, timeouts
from midflight.plot.over_time.timed import MOST_DOTS, OF_MOST, Times, lines_of

__all__ = ["cwnd_panel", "pipe_panel", "rates_panel", "sequence_panel"]

#: Lines that go up and down over the whole of their values more often than this hide each other, or
#: themselves.
_MOST_SWINGS = 60
#: The share of the time for which the smallest and the largest rates are rare, as seen at so many
#: instants.
_RARE, _INSTANTS = 0.05, 1000
#: The looks of medians of samples beside a single line, whichever is free: in grey they are light.
_OF_SAMPLES = (1, 6)
#: A single line is a comb if in so many intervals it goes up and down by this share of its values.
_MOST_COMBED, _OF_COMB = 15, 0.2
#: So few windows are drawn as they are if an inch has no more swings of a line, and no more
#: intervals in which it is a comb: their teeth can be seen.
_FEW_LINES, _MOST_SWINGS_PER_IN, _MOST_COMBED_PER_IN = 3, 16, 10
#: A window from which on it has no limit.
_UNLIMITED = 2**30
#: What begins, or ends, nearer to an end of the time shown than this share of it is seen with that.
_SEEN = 0.02
#: Values of steps in an interval of which medians are taken.
_SAMPLES = 20


def _steps_in(steps: Steps, window: tuple[float, float], flow: History) -> tuple[Values, Values]:
    """The steps of a flow in a window, in seconds and values."""
    return held_in(steps.time_ns / NS_PER_S, steps.value, window, flow.end_ns / NS_PER_S)


def rates_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    """The rate at which a sender paces, as steps, and each sample of its delivery rate; many of
    either are medians of intervals. A rate that goes up and down all the time is many, too.
    """
    curves: list[Curve] = []
    details: list[str] = []
    alone = is_alone(runs)
    taken = {plain_look(look) for run in runs for look in run.looks}

    def of_intervals(run: WatchedRun, flow: History, line: Curve) -> Curve:
        edges = bin_edges(window, interval, flow.end_ns / NS_PER_S, run.cuts)
        how = {
            name: getattr(line, name) for name in ("label", "look", "quantity", "flow", "scheme")
        }
        (curve,), detail = lines_of([Times(how, edges, line.time_s, line.value)], interval)
        details.append(detail.removesuffix(OF_MOST))
        return replace(curve, most=None)

    def of_samples(run: WatchedRun, flow: History, line: Curve) -> Curve:
        curve = of_intervals(run, flow, line)
        if curve.draw == "dots":
            return curve
        # The band is that of the pacing rate.
        curve = replace(curve, low=None, high=None)
        if not alone:
            return replace(curve, draw="dots")
        free = next(one for one in _OF_SAMPLES if one not in taken)
        return replace(curve, label="delivery rate", look=free)

    for run, flow, how in each_line(runs):
        time, rate = _steps_in(flow.steps("pacing_rate"), window, flow)
        steps = time, rate / 1e6
        if len(steps[0]):
            how["quantity"] = "pacing rate"
            line = Curve(draw="steps", time_s=steps[0], value=steps[1], **how)
            # A peak at the start says nothing about what comes after it.
            if len(steps[0]) > MOST_DOTS or _swings(line, _RARE) > _MOST_SWINGS:
                # Values hold: their medians are over time, not over changes.
                first, last = steps[0][0], steps[0][-1]
                count = max(2 * MOST_DOTS, round(_SAMPLES * (last - first) / interval))
                at = np.linspace(first, last, count)
                held = steps[1][np.searchsorted(steps[0], at, side="right") - 1]
                line = of_intervals(run, flow, replace(line, time_s=at, value=held))
            curves.append(line)
        time, value = flow.times("delivery_rate") / NS_PER_S, flow.values("delivery_rate")
        seen = inside(time, window)
        if seen.stop > seen.start:
            how["quantity"] = "sample of the delivery rate"
            line = Curve(draw="dots", time_s=time[seen], value=value[seen] / 1e6, **how)
            curves.append(of_samples(run, flow, line))
    detail = next(filter(None, details), "")
    if all(one.low is None for one in curves):
        detail, _, _ = detail.partition(", band")
    if alone and any(one.quantity == "pacing rate" for one in curves):
        # In the legend a single line has its name.
        solid = any(one.draw == "steps" and one.quantity != "pacing rate" for one in curves)
        said = f"the {'solid ' * solid}line is the pacing rate"
        own = next(one for one in curves if one.quantity == "pacing rate")
        if detail and solid and not own.of_intervals:
            detail = f"dashed: {detail} of the delivery rate"
        detail = "; ".join(filter(None, (said, detail)))
    return Panel("rates", "Sender's rates\n(Mbit/s)", "Mbit/s", curves, detail)


def _swings(line: Curve, rare: float = 0.0) -> float:
    """How often a line goes up and down over the whole of its values, but for those that are the
    smallest and the largest for this share of the time.
    """
    if not len(line.value):
        return 0.0
    at = np.linspace(line.time_s[0], line.time_s[-1], _INSTANTS) if rare else line.time_s
    held = line.value[np.searchsorted(line.time_s, at, side="right") - 1]
    span = float(np.ptp(np.quantile(held, (rare, 1 - rare))))
    return float(np.abs(np.diff(line.value)).sum()) / span if span > 0 else 0.0


def _of_segments(runs: Sequence[WatchedRun]) -> str:
    """What to say of segments whose sizes differ between the lines."""
    sizes: dict[int, list[str]] = {}
    for run, flow, how in each_line(runs):
        payload = {one["name"]: one["payload_bytes"] for one in run.setup.flows}[flow.flow]
        sizes.setdefault(payload, []).append(how["label"])
    if len(sizes) < 2:
        return ""
    return "; ".join(
        f"{', '.join(names)}: segments of {size} bytes" for size, names in sizes.items()
    )


def _limited_by_receiver(runs: Sequence[WatchedRun], window: tuple[float, float]) -> str:
    """When the receiver's window limits what is in flight, as reports say it, so that the
    congestion window has no effect; "" where that is not for long, or not in the time shown.
    """
    first, last = (round(one * NS_PER_S) for one in window)
    each: dict[str, list[str]] = {}
    for run, flow, how in each_line(runs):
        shown = first, min(last, flow.end_ns)
        for held in run.held.get(flow.flow, ()):
            if held.until_ns <= shown[0] or held.since_ns >= shown[1]:
                continue
            since, until = held.when(shown, _SEEN)
            words = [] if since is None else [f"from {since / NS_PER_S:.3g} s on"]
            if until is not None:
                begins = max(held.since_ns, shown[0]) / NS_PER_S
                words = [f"from {begins:.3g} s to {until / NS_PER_S:.3g} s"]
            each.setdefault(how["label"], []).extend(words)
    if not each:
        return ""
    said = "flight probably limited by the receiver's window"
    times = {label: " and ".join(words) for label, words in each.items()}
    of_all = len(times) == sum(len(run.flows) for run in runs) and len({*times.values()}) == 1
    if of_all:
        return " ".join(filter(None, (said, next(iter(times.values())))))
    return f"{said}: " + ", ".join(
        " ".join(filter(None, (label, when))) for label, when in times.items()
    )


def cwnd_panel(
    runs: Sequence[WatchedRun],
    window: tuple[float, float],
    interval: float,
    *,
    width_in: float = PAGE_IN,
) -> Panel:
    curves, behind = [], []
    alone, has_means = is_alone(runs), False
    for run, flow, how in each_line(runs):
        if alone:
            aux: dict[str, Any] = {"flow": flow.flow, "scheme": flow.label}
            pipe = Curve("pipe", "area", *_steps_in(flow.pipe, window, flow), **aux)
            behind.append(_combed(pipe, _edges_of(run, flow, pipe, window, interval)))
            has_means = behind[-1] is not pipe
            steps = _steps_in(flow.steps("ssthresh"), window, flow)
            # Without a loss there is none, which senders write as a very large number.
            known = np.where(steps[1] < _UNLIMITED, steps[1], np.nan)
            if not np.isnan(known).all():
                behind.append(Curve("ssthresh", "limit", steps[0], known, **aux))
        steps = _steps_in(flow.steps("cwnd"), window, flow)
        curves.append(Curve(draw="steps", time_s=steps[0], value=steps[1], **how))
        behind += timeouts(flow, curves[-1], window, alone=alone)
    few = (_MOST_SWINGS_PER_IN * width_in, _MOST_COMBED_PER_IN * width_in)
    most = few if len(curves) <= _FEW_LINES else (_MOST_SWINGS, _MOST_COMBED)
    curves, said = _calmed(runs, curves, window, interval, most)
    shown = [one for one in (*curves, *behind) if len(one.time_s)]
    of_pipe = f"pipe: means of {seconds_text(interval)}" if has_means else ""
    limits = _limited_by_receiver(runs, window)
    detail = "; ".join(filter(None, (_of_segments(runs), said, of_pipe, limits)))
    return Panel("cwnd", "cwnd (segments)", "segments", shown, detail)


def _edges_of(
    run: WatchedRun, flow: History, line: Curve, window: tuple[float, float], interval: float
) -> Values:
    """The edges of the intervals in which a line of a flow has values, cut also where one holds for
    longer than an interval: a mean would begin before what it shows does, such as after a stall.
    """
    if not len(line.time_s):
        return np.empty(0)
    holds = np.flatnonzero(np.diff(line.time_s) > interval)
    ends = line.time_s[np.union1d(holds, holds + 1)].tolist()
    edges = bin_edges(window, interval, flow.end_ns / NS_PER_S, sorted({*run.cuts, *ends}))
    found: Values = np.unique(np.clip(edges, line.time_s[0], line.time_s[-1]))
    return found


def _calmed(
    runs: Sequence[WatchedRun],
    lines: Sequence[Curve],
    window: tuple[float, float],
    interval: float,
    most: tuple[float, float] = (_MOST_SWINGS, _MOST_COMBED),
) -> tuple[list[Curve], str]:
    """Lines of steps, or, if several of them go up and down so often that they would hide each
    other, their means of intervals, and what to say of them. They may have so many swings, and so
    many intervals in which they are a comb.
    """
    most_swings, most_combed = most
    if len(lines) < 2:
        return list(lines), ""
    each = [
        (line, _edges_of(run, flow, line, window, interval))
        for (run, flow, _), line in zip(each_line(runs), lines, strict=True)
    ]

    def is_restless(line: Curve, edges: Values) -> bool:
        # Beside a line that reaches far more, it is no comb on its axis, but hides what is near it.
        usual = float(np.median(line.value))
        return _swings(line) > most_swings or _is_comb(*_ends_in(line, edges), usual, most_combed)

    if not any(len(one.time_s) and is_restless(one, at) for one, at in each):
        return list(lines), ""
    found = [averaged(line, edges) if len(line.time_s) else line for line, edges in each]
    return found, f"means of {seconds_text(interval)}"


def _ends_in(line: Curve, edges: Values) -> tuple[Values, Values, Values]:
    """The smallest and the largest value of a line of steps in each interval, and how far it goes
    up and down there.
    """
    places = np.searchsorted(line.time_s, edges, side="right").tolist()
    parts = [line.value[max(0, a - 1) : max(a, b, 1)] for a, b in pairwise(places)]
    low, high = (np.array([end(one) for one in parts]) for end in (np.min, np.max))
    return low, high, np.array([np.abs(np.diff(one)).sum() for one in parts])


def _is_comb(
    low: Values, high: Values, ways: Values, of: float, most: float = _MOST_COMBED
) -> bool:
    """Whether a line of steps with these ends (`_ends_in`) goes up and down, by a share `of` a
    value, in more than so many intervals.
    """
    span = high - low
    return int(((span > _OF_COMB * of) & (ways > 1.5 * span)).sum()) > most


def _combed(line: Curve, edges: Values) -> Curve:
    """A single line of steps, or, if it goes up and down in many of the intervals with these edges,
    means of these, with a band from the smallest to the largest value: a comb has no line that one
    can follow.
    """
    low, high, ways = _ends_in(line, edges)
    if not _is_comb(low, high, ways, float(np.ptp(line.value)) if len(line.value) else 0.0):
        return line
    found = averaged(line, edges)
    ends: dict[str, Any] = {"low": np.append(low, low[-1]), "high": np.append(high, high[-1])}
    return replace(found, of_intervals=True, **(ends if line.draw == "steps" else {}))


def pipe_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    curves, marks = [], []
    for _, flow, how in each_line(runs):
        steps = _steps_in(flow.pipe, window, flow)
        curves.append(Curve(draw="steps", time_s=steps[0], value=steps[1], **how))
        marks += timeouts(flow, curves[-1], window, alone=is_alone(runs))
    curves, said = _calmed(runs, curves, window, interval)
    if is_alone(runs):
        ((run, flow, _),) = each_line(runs)
        line = _combed(curves[0], _edges_of(run, flow, curves[0], window, interval))
        if line is not curves[0]:
            curves = [line]
            said = f"means of {seconds_text(interval)}, band: smallest to largest"
    limits = _limited_by_receiver(runs, window)
    detail = "; ".join(filter(None, (_of_segments(runs), said, limits)))
    return Panel("pipe", "Pipe (segments)", "segments", [*curves, *marks], detail)


def sequence_panel(
    runs: Sequence[WatchedRun], window: tuple[float, float], interval: float
) -> Panel:
    del interval
    curves = []
    for _, flow, how in each_line(runs):
        time, acked = flow.times("ack") / NS_PER_S, flow.values("ack")
        acked = np.maximum.accumulate(acked) if len(acked) else acked
        new = np.concatenate([[True], np.diff(acked) > 0]) if len(acked) else slice(0)
        steps = held_in(time[new], acked[new], window, flow.end_ns / NS_PER_S)
        line = Curve(draw="steps", time_s=steps[0], value=steps[1], **how)
        curves += [line, *timeouts(flow, line, window, alone=is_alone(runs))]
        again = flow.times("rexmit"), flow.values("rexmit")
        marks = {"retransmissions": again, **flow.lost_by_cause()}
        for draw in (*GROUPS["retransmissions"], *GROUPS["losses"]):
            time_ns, value = marks[draw]
            at = time_ns / NS_PER_S
            seen = inside(at, window)
            if seen.stop > seen.start:
                label = EVENTS[draw].label
                aux = {**how, "label": label, "quantity": label}
                curves.append(Curve(draw=draw, time_s=at[seen], value=value[seen], **aux))
    return Panel("sequence", "Segments\nacknowledged", "segments", curves, _of_segments(runs))
