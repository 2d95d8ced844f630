"""Panels of usual figures that show nothing: queues in which hardly a packet waits."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from midflight.plot.common.style import chosen_axes
from midflight.plot.over_time.curves import Panel
from midflight.plot.over_time.marks import EVENTS

__all__ = ["without_idle_queues"]

#: Up to so many packets wait, and more than the one in transmission for no more than this share of
#: the time.
_FEW, _RARE = 5, 0.1
#: What happens to packets there, though few wait; those of a link that is down are not lost there.
_AT_QUEUE = ("full", "early", "marked", "node")


def without_idle_queues(
    panels: Sequence[Panel], asked: Collection[str] = ()
) -> tuple[list[Panel], str]:
    """Return the panels of a usual figure without queues in which hardly a packet waits, and why;
    with those of the kinds that options ask for, or whose marks are asked for.
    """
    axes = chosen_axes()
    asked = {*asked, *(() if axes is None else (*axes.ylim, *axes.ylabel))}
    found, most = [], 0.0
    for panel in panels:
        is_asked = panel.kind in asked or panel.are_marks_asked
        top = None if panel.kind != "queue" or is_asked else _most_if_idle(panel)
        if top is None:
            found.append(panel)
        else:
            most = max(most, top)
    if len(found) in (0, len(panels)):
        return [*panels], ""
    packets = f"{most:.0f} packet{'s' * (most != 1)}"
    return found, f"the panel of queues is left out, as there are at most {packets} in one"


def _most_if_idle(panel: Panel) -> float | None:
    """The largest number of packets in a panel of queues if hardly any wait there, else None."""
    if not panel.curves or any(one.draw in _AT_QUEUE for one in panel.curves):
        return None
    most = 0.0
    for one in (one for one in panel.curves if one.draw not in EVENTS and not one.in_row):
        value = np.nan_to_num(one.value if one.high is None else one.high)
        lasts = np.diff(one.time_s)
        most = max(most, float(value.max(initial=0.0)))
        if most > _FEW or lasts[value[:-1] > 1].sum() > _RARE * lasts.sum():
            return None
    return most
