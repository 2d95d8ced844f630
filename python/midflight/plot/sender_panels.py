"""The panels of what senders do: rates, window, pipe, and segments that are acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from midflight.plot.bins import bin_edges
from midflight.plot.curves import (
    Curve,
    Panel,
    Values,
    WatchedRun,
    averaged,
    each_line,
    held_in,
    inside,
    is_alone,
)
from midflight.plot.history import NS_PER_S, History, Steps
from midflight.plot.marks import EVENTS, GROUPS, timeouts
from midflight.plot.timed import MOST_DOTS, Times, lines_of

__all__ = ["cwnd_panel", "pipe_panel", "rates_panel", "sequence_panel"]

#: Of several lines none goes up and down over the whole of its values more often than this.
_MOST_SWINGS = 60
#: A window from which on it has no limit.
_UNLIMITED = 2**30
#: Values of steps in an interval of which medians are taken.
_SAMPLES = 20


def _steps_in(steps: Steps, window: tuple[float, float], flow: History) -> tuple[Values, Values]:
    """The steps of a flow in a window, in seconds and values."""
    return held_in(steps.time_ns / NS_PER_S, steps.value, window, flow.end_ns / NS_PER_S)


def rates_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    """The rate at which a sender paces, as steps, and each sample of its delivery rate; many of
    either are medians of intervals.
    """
    curves: list[Curve] = []
    details: list[str] = []

    def of_intervals(run: WatchedRun, flow: History, line: Curve) -> Curve:
        edges = bin_edges(window, interval, flow.end_ns / NS_PER_S, run.cuts)
        how = {
            name: getattr(line, name) for name in ("label", "look", "quantity", "flow", "scheme")
        }
        (curve,), detail = lines_of([Times(how, edges, line.time_s, line.value)], interval)
        details.append(detail)
        # Dots have no band.
        is_dots = line.draw == "dots" and curve.draw != "dots"
        return replace(curve, draw="dots", low=None, high=None, most=None) if is_dots else curve

    for run, flow, how in each_line(runs):
        time, rate = _steps_in(flow.steps("pacing_rate"), window, flow)
        steps = time, rate / 1e6
        if len(steps[0]):
            how["quantity"] = "pacing rate"
            line = Curve(draw="steps", time_s=steps[0], value=steps[1], **how)
            if len(steps[0]) > MOST_DOTS:
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
            curves.append(of_intervals(run, flow, line))
    detail = next(filter(None, details), "")
    if is_alone(runs) and any(one.quantity == "pacing rate" for one in curves):
        # In the legend a single line has its name.
        detail = "; ".join(filter(None, ("the line is the pacing rate", detail)))
    return Panel("rates", "Sender's rates\n(Mbit/s)", "Mbit/s", curves, detail)


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


def cwnd_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    curves, behind = [], []
    alone = is_alone(runs)
    for _, flow, how in each_line(runs):
        if alone:
            aux: dict[str, Any] = {"flow": flow.flow, "scheme": flow.label}
            behind.append(Curve("pipe", "area", *_steps_in(flow.pipe, window, flow), **aux))
            steps = _steps_in(flow.steps("ssthresh"), window, flow)
            # Without a loss there is none, which senders write as a very large number.
            known = np.where(steps[1] < _UNLIMITED, steps[1], np.nan)
            if not np.isnan(known).all():
                behind.append(Curve("ssthresh", "limit", steps[0], known, **aux))
        steps = _steps_in(flow.steps("cwnd"), window, flow)
        curves.append(Curve(draw="steps", time_s=steps[0], value=steps[1], **how))
        behind += timeouts(flow, curves[-1], alone=alone)
    curves, said = _calmed(runs, curves, window, interval)
    shown = [one for one in (*curves, *behind) if len(one.time_s)]
    detail = "; ".join(filter(None, (_of_segments(runs), said)))
    return Panel("cwnd", "cwnd (segments)", "segments", shown, detail)


def _calmed(
    runs: Sequence[WatchedRun],
    lines: Sequence[Curve],
    window: tuple[float, float],
    interval: float,
) -> tuple[list[Curve], str]:
    """Lines of steps, or, if several of them go up and down so often that they would hide each
    other, their means of intervals, and what to say of them.
    """
    swings = [
        np.abs(np.diff(one.value)).sum() / span
        for one in lines
        if len(one.value) and (span := float(np.ptp(one.value))) > 0
    ]
    if len(lines) < 2 or max(swings, default=0.0) <= _MOST_SWINGS:
        return list(lines), ""
    found = []
    for (run, flow, _), line in zip(each_line(runs), lines, strict=True):
        if len(line.time_s):
            edges = bin_edges(window, interval, flow.end_ns / NS_PER_S, run.cuts)
            edges = np.unique(np.clip(edges, line.time_s[0], line.time_s[-1]))
            line = averaged(line, edges)
        found.append(line)
    return found, f"means of {interval:g} s"


def pipe_panel(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    curves, marks = [], []
    for _, flow, how in each_line(runs):
        steps = _steps_in(flow.pipe, window, flow)
        curves.append(Curve(draw="steps", time_s=steps[0], value=steps[1], **how))
        marks += timeouts(flow, curves[-1], alone=is_alone(runs))
    curves, said = _calmed(runs, curves, window, interval)
    detail = "; ".join(filter(None, (_of_segments(runs), said)))
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
        curves += [line, *timeouts(flow, line, alone=is_alone(runs))]
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
