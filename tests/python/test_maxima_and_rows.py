"""Figures over time: maxima of queues, times without arrivals, and whose marks are whose."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

from midflight import Scenario
from midflight.plot.panels import over_time_figure, shown_panels
from midflight.plot.strokes import MOST
from midflight.plot.watched import watch


def _panel_of(axes_of: list[Axes], what: str) -> Axes:
    return next(one for one in axes_of if what in one.get_ylabel())


@pytest.mark.parametrize("schemes", [["sack"], ["sack", "enhanced", "freeze"]])
@pytest.mark.parametrize("bands", [None, False])
def test_queues_without_bands_show_or_tell_their_maxima(
    schemes: list[str], bands: bool | None
) -> None:
    """A full queue of 18 packets may have a mean of 2."""
    runs = watch(Scenario.read("wifi-to-lte"), kinds=["queue"], schemes=schemes)
    window, panels = shown_panels(runs, ["queue"], bands=bands)
    queues = [one for one in panels[0].curves if one.draw == "queue"]
    most = max(float(np.nanmax(one.high)) for one in queues if one.high is not None)
    assert most > 3 * max(float(np.nanmax(one.value)) for one in queues)
    figure = over_time_figure(runs, panels, window)
    axes = _panel_of(figure.axes, "Queue")
    labels = axes.get_legend_handles_labels()[1]
    if bands is None:
        assert axes.get_ylim()[1] > most
        assert any(most in line.get_ydata() for line in axes.lines)
        assert MOST in labels
    else:
        assert f"most: {most:g} packets, " in axes.get_title("right")
        assert MOST not in labels
