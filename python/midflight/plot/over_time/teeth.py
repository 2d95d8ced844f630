"""The buffer of a video where its teeth are too narrow to be seen: their tops, and a band below.

It grows by a segment at once and shrinks while that plays. Many narrow teeth would be a thick
ribbon, whose line nobody can follow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from midflight.plot.over_time.curves import Curve, Panel, Values
from midflight.plot.over_time.room import Room
from midflight.results import weighted_quantile

__all__ = ["without_teeth"]

#: The least width of a usual tooth of a line, in points; those of several lines cover each other.
_LEAST_PT, _MOST_LINES = 4.0, 3
#: A tooth that is so many times as wide as the usual one is drawn, as where a buffer runs empty: a
#: segment that comes a little later than usual is no event, but among blunt teeth looks like one.
_WIDER = 2.0


def without_teeth(panel: Panel, room: Room) -> Panel:
    """Return a panel in which a line whose teeth are too narrow for it is the largest value of
    each, with a band down to the smallest one if the panel has bands. Wider teeth than the others
    are as they were.
    """
    if panel.kind != "buffer":
        return panel
    lines = sum(one.draw == "line" for one in panel.curves)
    least_s = _LEAST_PT * min(_MOST_LINES, lines) * room.point_s
    curves = [
        _blunt(one, least_s, has_band=panel.has_bands) if one.draw == "line" else one
        for one in panel.curves
    ]
    if all(new is old for new, old in zip(curves, panel.curves, strict=True)):
        return panel
    detail = "maxima per segment" + ", band: down to minima" * panel.has_bands
    return replace(panel, curves=curves, detail="; ".join(filter(None, (detail, panel.detail))))


def _blunt(curve: Curve, least_s: float, *, has_band: bool) -> Curve:
    """A line without its narrow teeth, if the usual one is narrower than `least_s`."""
    time, value = curve.time_s, curve.value
    # A tooth begins where the line goes straight up, and ends where the next one does.
    ups = np.flatnonzero((np.diff(time) == 0) & (np.diff(value) > 0))
    first, last = ups[:-1] + 1, ups[1:]
    length = time[last] - time[first]
    # The usual one is that at half of their time.
    if not len(length) or (usual := weighted_quantile(length, length, 0.5)) >= least_s:
        return curve
    columns: list[list[Values]] = []
    done = 0
    for a, b in zip(first, last, strict=True):
        if time[b] - time[a] > _WIDER * usual:
            continue
        columns.append([time[done:a], *[value[done:a]] * 3])
        top, bottom = (np.full(2, one) for one in (value[a : b + 1].max(), value[a : b + 1].min()))
        columns.append([time[[a, b]], top, bottom, top])
        done = b + 1
    columns.append([time[done:], *[value[done:]] * 3])
    time, value, low, high = (np.concatenate(one) for one in zip(*columns, strict=True))
    blunt = replace(curve, time_s=time, value=value)
    return replace(blunt, low=low, high=high) if has_band else blunt
