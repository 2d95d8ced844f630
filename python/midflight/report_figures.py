"""The figures of a report of a run: over time, and each flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.report import data_url

if TYPE_CHECKING:
    from midflight._core import Plan
    from midflight.plot.over_time.history import History
    from midflight.plot.over_time.watched import WatchedRun

__all__ = ["figures", "means_ns", "over_time"]

#: Packets are told apart if a point of the axis of time is no longer than so many round trips.
_TRIPS = 5
#: What the axis does not have of the width of a figure, in inches.
_BESIDE_IN = 1.2


def over_time(runs: Sequence[WatchedRun], kinds: Sequence[str]) -> tuple[str, bool, str, bool]:
    """Draw the panels of these kinds over time; return the image, "" if nothing was
    sent, whether it has a band with the links in use, which panel is left out, and whether a rate
    of a link is an area in it.
    """
    from midflight.plot.common.style import figure_bytes
    from midflight.plot.over_time.band import has_changes
    from midflight.plot.over_time.idle import without_idle_queues
    from midflight.plot.over_time.panel_scales import off_scale
    from midflight.plot.over_time.panels import over_time_figure, shown_panels

    if not any(len(flow.times("rcv")) for one in runs for flow in one.flows):
        return "", False, "", False
    window, panels = shown_panels(runs, kinds)
    panels, left_out = without_idle_queues(panels)
    figure = over_time_figure(runs, panels, window)
    image = data_url(figure_bytes(figure, ".svg"), "image/svg+xml")
    areas = [
        one for one in panels for curve in one.curves if curve.draw == "area" and not curve.flow
    ]
    has_rate = any(off_scale(one) == "" or "for a part" in off_scale(one) for one in areas)
    return image, has_changes(runs, window), left_out, has_rate


def means_ns(runs: Sequence[WatchedRun]) -> float | None:
    """Over how long a time the means in these panels are; None if nothing was sent."""
    from midflight.plot.common.style import PAGE_IN
    from midflight.plot.over_time.history import time_shown
    from midflight.plot.over_time.intervals import usual_interval

    flows = [flow for one in runs for flow in one.flows]
    if not any(len(flow.times("rcv")) for flow in flows):
        return None
    window = time_shown(flows, None, None)
    for one in runs:
        one.show(window)
    return usual_interval(runs, window, PAGE_IN).length_s * 1e9


def figures(plans: Mapping[str, Plan], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Draw flows in the first run, of several plans by their names beside each other. One that is
    so long that its packets would not be told apart has the image "".
    """
    from midflight.plot.common.plain import usual_of_flows
    from midflight.plot.common.style import figure_bytes, labelled, usually
    from midflight.plot.over_time.history import histories
    from midflight.plot.over_time.run import run_figure

    source = plans if len(plans) > 1 else next(iter(plans.values()))
    for name in names:
        runs = histories(source, flow=name)
        with usually(usual_of_flows(runs)):
            label = ", ".join(labelled(one.label) for one in runs)
        yield {
            "flow": name,
            "scheme": label,
            "image": ""
            if _is_long(runs)
            else data_url(figure_bytes(run_figure(runs), ".svg"), "image/svg+xml"),
        }


def _is_long(runs: Sequence[History]) -> bool:
    """Whether a point of the figure of runs is many of their round trips."""
    from midflight.plot.common.style import PAGE_IN
    from midflight.plot.over_time.history import time_shown
    from midflight.plot.over_time.room import Room

    trips = [
        float(np.median(one.values("rtt_sample"))) for one in runs if one.times("rtt_sample").size
    ]
    point_s = Room((PAGE_IN - _BESIDE_IN) / len(runs), time_shown(runs, None, None)).point_s
    return bool(trips) and point_s > _TRIPS * max(trips)
