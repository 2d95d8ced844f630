"""The axis of values of a panel over time: its ends, and whether it is logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from midflight.plot.curves import Curve, Panel
from midflight.plot.room import plain_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SCALED", "SPANS", "least_of", "off_scale", "scale_of", "within_scale"]

#: Kinds of curves that extend from one instant to another.
SPANS = ("stalls", "bars")
#: If the ratio of rates is larger, the axis is logarithmic.
_WIDE = 12
#: A rate that is so many times what the flows take is above the axis.
_FAR = 2.5
#: The panels whose axis of values may have either scale, and those for which a logarithmic one may
#: be the usual one.
SCALED = ("throughput", "rates", "queue", "delay", "rtt", "cwnd", "pipe", "frames")
_MAY_BE_LOG = ("throughput", "delay", "rtt", "frames")


def scale_of(axes: Axes, panel: Panel, yscale: str | None, above: float) -> None:
    """The axis of values begins at zero, and ends with what counts: a window that was never limited
    has a threshold far above it, a path that is faster than its flows a rate. Rows of marks take a
    share of the height `above` that.
    """
    least = least_of(panel, yscale)
    most, behind = _tops(panel)
    # A logarithmic axis has room for both.
    is_behind_shown = most == 0 or behind <= _FAR * most or least is not None
    if is_behind_shown:
        most = max(most, behind)
    if panel.kind == "objects":
        # The first one above, as a browser's tools draw it.
        axes.set_ylim(most + 0.7, -0.7)
        return
    if panel.kind == "sequence":
        lines = [one for one in panel.curves if one.draw not in ("area", "limit")]
        low = min((float(one.value.min()) for one in lines if len(one.value)), default=0.0)
        height = most - low or 1.0
        axes.set_ylim(low - 0.04 * height, low + 1.04 * height / (1 - above))
        return
    if least is not None:
        # Beside large values the usual ones would not be visible.
        plain_log(axes.yaxis)
        axes.set_ylim(least, most * (1.3 * most / least) ** (above / (1 - above)) * 1.3)
        axes.set_ylabel(panel.what.removesuffix(")") + ", log)")
        return
    axes.set_ylim(0, 1.08 * most / (1 - above) or 1.0)


def least_of(panel: Panel, yscale: str | None) -> float | None:
    """Where the axis of values begins if it is logarithmic, as is asked for or as the values need
    it; otherwise None.
    """
    found = None
    if panel.kind in _MAY_BE_LOG and yscale != "linear" and not _is_unused(panel):
        found = (_least_rate if panel.kind == "throughput" else _least_time)(panel.curves)
    most, _ = _tops(panel)
    if found is None and panel.kind in SCALED and yscale == "log" and most > 0:
        areas = [one for one in panel.curves if one.draw == "area"]
        lines = [one for one in panel.curves if one.draw not in ("area", "limit")]
        found = min(_least_above_0(areas) / 10, _least_above_0(lines) / 1.3, most)
    return found


def _is_unused(panel: Panel) -> bool:
    """Whether the flows take only a small part of each rate that the path has: none of them needs
    to be seen beside the flows.
    """
    rates = [one.value[one.value > 0] for one in panel.curves if one.draw == "area"]
    least = min((float(one.min()) for one in rates if len(one)), default=0.0)
    return panel.kind == "throughput" and least > _FAR * _tops(panel)[0] > 0


def _tops(panel: Panel) -> tuple[float, float]:
    """The largest value of the lines of a panel, and of the areas behind them."""

    def top(curves: Sequence[Curve]) -> float:
        # The ends of bars and stalls are times.
        levels = [
            (one.value,) if one.draw in SPANS else (one.most, one.high, one.value)
            for one in curves
            if not one.in_row
        ]
        ends = [next(v for v in each if v is not None) for each in levels]
        known = [float(np.nanmax(one)) for one in ends if len(one) and not np.isnan(one).all()]
        return max(known, default=0.0)

    lines = [one for one in panel.curves if one.draw not in ("area", "limit")]
    return top(lines), top([one for one in panel.curves if one.draw == "area"])


def off_scale(panel: Panel) -> str:
    """What to say of a rate that is far above what the flows take of it."""
    most, behind = _tops(panel)
    if panel.kind != "throughput" or most == 0 or behind <= _FAR * most:
        return ""
    areas = [one.value for one in panel.curves if one.draw == "area"]
    rates = np.concatenate(areas)
    low = float(np.nanmin(rates[rates > 1.08 * most]))
    span = f"{behind:.3g}" if low > 0.99 * behind else f"{low:.3g} to {behind:.3g}"
    some = " for a part of the time" if np.any((rates > 0) & (rates <= 1.08 * most)) else ""
    return f"the link's rate is {span} Mbit/s{some}, above the axis"


def within_scale(panel: Panel, yscale: str | None) -> list[Curve]:
    """The curves of a panel without the parts of a rate that is above the axis: an area over its
    whole height would only be a grey panel.
    """
    if least_of(panel, yscale) is not None or not off_scale(panel):
        return list(panel.curves)
    most, _ = _tops(panel)
    found = []
    for one in panel.curves:
        if one.draw == "area":
            value = np.where(one.value > 1.08 * most, np.nan, one.value)
            if not np.any(value > 0):
                continue
            one = replace(one, value=value)
        found.append(one)
    return found


def _least_rate(curves: Sequence[Curve]) -> float | None:
    """Where the axis of rates begins that has to be logarithmic, as the path is for a good part of
    the time far slower than at its best; none otherwise.
    """
    for one in (one for one in curves if one.draw == "area"):
        lasts, rates = np.diff(one.time_s), one.value[:-1]
        there = (rates > 0) & (lasts > 0)
        lasts, rates = lasts[there], rates[there]
        if len(rates) and lasts[rates * _WIDE < rates.max()].sum() > 0.2 * lasts.sum():
            # The least throughput of each flow is seen, too.
            steps = [one for one in curves if one.draw == "steps"]
            return min(float(rates.min()) / 10, _least_above_0(steps) / 1.3)
    return None


def _least_above_0(curves: Iterable[Curve]) -> float:
    """The least value above 0 of curves that are drawn at their values, or infinity."""
    each = (one.value for one in curves if not (one.in_row or one.draw in SPANS))
    least = (float(values[values > 0].min(initial=np.inf)) for values in each)
    return min(least, default=math.inf)


def _least_time(curves: Sequence[Curve]) -> float | None:
    """The beginning of a logarithmic axis of times, which is needed if most times are far below the
    longest; otherwise None.
    """
    curves = [one for one in curves if not one.in_row]
    values = np.concatenate([one.value for one in curves])
    known = np.concatenate([one.value if one.low is None else one.low for one in curves])
    known = known[known > 0]
    tops = (one.value if one.most is None else one.most for one in curves)
    most = max(float(np.nanmax(one)) for one in tops)
    if not known.size or most <= _WIDE * float(np.nanmedian(values)):
        return None
    return float(np.nanmin(known)) / 1.3
