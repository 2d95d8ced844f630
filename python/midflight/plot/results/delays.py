"""The distribution of the one-way delays of a run's segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from midflight.plot.common.figure import Dress, check_dress, write_figure
from midflight.plot.common.plain import usual_of_flows
from midflight.plot.common.style import Size, check_format, usually
from midflight.plot.over_time.history import RunSource, time_shown
from midflight.plot.over_time.watched import WatchedRun, delay_of, watch
from midflight.plot.results.shares import is_wide
from midflight.plot.results.spread import spread_figure, spread_rows
from midflight.plot.results.spread_data import Group, Spread
from midflight.refusal import names_arguments, refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from midflight.policy import Policies

__all__ = ["DELAY_CDF", "delay_figure", "delay_spread", "plot_delay_cdf"]

#: The kind of `midflight plot`.
DELAY_CDF = "delay-cdf"


@names_arguments
def plot_delay_cdf(
    source: RunSource | Mapping[str, RunSource],
    path: str | Path,
    *,
    flows: Sequence[str] = (),
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    from_s: float | None = None,
    until_s: float | None = None,
    title: str | None = None,
    size: Size | None = None,
    **dress: Unpack[Dress],
) -> Path:
    """Draw the CDF of the one-way delays of a run's segments, a line for each flow or scheme.

    It includes each segment that arrives from `from_s` to `until_s`. The delay is counted from the
    transmission of the copy that arrived; lost segments have none. The other arguments are those of
    `plot_over_time`. Returns the file. Raises `MidflightError` for an invalid argument, `OSError`
    for a file that cannot be written.
    """
    check_dress(plot_delay_cdf, dress)
    check_format(path)
    how: Any = {"flows": flows, "run": run, "schemes": schemes, "policies": policies}
    found = watch(source, kinds=("delay",), **how)
    data = delay_spread(found, from_s, until_s)

    def draw() -> Figure:
        return delay_figure(found, data, title=title, size=size)

    return write_figure(path, draw, spread_rows(data), dress)


def delay_figure(runs: Sequence[WatchedRun], data: Spread, **how: Any) -> Figure:
    """Return the figure of `plot_delay_cdf` of runs, which are shown as `data`."""
    with usually(usual_of_flows(flow for one in runs for flow in one.flows)):
        return spread_figure(data, **how)


def delay_spread(
    runs: Sequence[WatchedRun], from_s: float | None = None, until_s: float | None = None
) -> Spread:
    """Return what `plot_delay_cdf` draws."""
    start, end = time_shown([flow for one in runs for flow in one.flows], from_s, until_s)
    lines = []
    senders = Counter(flow.label for one in runs for flow in one.flows)
    # Flows of a scheme have its colour.
    by = ("flow", "scheme") if len(senders) > 1 and max(senders.values()) > 1 else ()
    for one in runs:
        for flow, label in zip(one.flows, one.labels, strict=True):
            at, delay = delay_of(flow)
            key = (flow.flow, flow.label) if by else ()
            lines.append((label, key, delay[(at >= start) & (at <= end)]))
    top = max((float(delay.max()) for *_, delay in lines if len(delay)), default=None)
    if top is None:
        raise refusal(
            f"there is nothing to draw of {DELAY_CDF} from {start:g} s to {end:g} s: no segment "
            "arrives there",
            name="kind",
            value=DELAY_CDF,
            accepted="a time in which segments arrive",
        )
    unit, scale = ("s", 1.0) if top >= 2.0 else ("ms", 1e3)
    groups = [
        Group(label, key, [0.0], [""], [np.asarray(scale * delay).tolist()])
        for label, key, delay in lines
        if len(delay)
    ]
    wide = is_wide([group.values[0] for group in groups])
    title = f"One-way delay ({unit})"
    measure = ("one_way_delay", unit)
    return Spread(
        "cdf",
        title,
        "Share of segments",
        groups,
        lines_title=runs[0].names,
        counted="segments",
        measure=measure,
        is_wide=wide,
        by=by,
        name=DELAY_CDF,
    )
