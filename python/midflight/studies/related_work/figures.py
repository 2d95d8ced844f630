"""The figures: losses of the radio, segments acknowledged too early, handoffs and outages."""

from __future__ import annotations

from functools import partial

import numpy as np

from midflight.plot import PAGE_IN, Drawing, Series, quartile_plot
from midflight.plot.common.style import SERIES
from midflight.results import Quartiles, quartiles
from midflight.studies.related_work.claims import HANDED, KEPT, OPTION, SEMANTICS, after_s, took_s
from midflight.studies.related_work.scenarios import (
    GAP_S,
    HIGH,
    I_TCP,
    LONG_GAP_S,
    LOSSES,
    PLAIN,
    PROFILES,
    SIZE,
    SNOOP,
    WAYS,
    Way,
    encrypted,
    handoff,
    lossy,
    outage,
)
from midflight.studies.runs import Runs, Scenarios
from midflight.studies.study import Figure

__all__ = ["FIGURES"]


def _of(values: np.ndarray) -> Quartiles:
    """Quartiles of the finite values; NaN, which is not drawn, if there are none."""
    known = values[np.isfinite(values)]
    nothing = Quartiles(float("nan"), float("nan"), float("nan"))
    return (quartiles(known) if len(known) else None) or nothing


def _losses() -> Figure:
    cells = [(profile, loss) for profile in PROFILES for loss in LOSSES]

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for way, look in zip(WAYS, SERIES, strict=False):
            points = []
            for profile, loss in cells:
                job = lossy(way, profile, loss)
                points.append(_of(took_s(runs, job)))
                middle = points[-1].median
                table = runs.scenarios(job)
                counts = (sum(table[name]) for name in ("rexmits", "fast_rexmits", "timeouts"))
                rows.append((PROFILES[profile], loss, way.name, middle, *counts))
            series.append(Series(way.name, look, points))
        plot = partial(
            quartile_plot,
            categories=[f"{loss:g} %\n{PROFILES[profile]}" for profile, loss in cells],
            x_title="Lost by the radio, profile",
            y_title=f"Time of {SIZE} (s)",
            series=series,
            width_in=PAGE_IN,
            legend_columns=4,
        )
        head = ("profile", "percent", "way", "median_s", "rexmits", "fast_rexmits", "timeouts")
        return Drawing(plot, head, rows)

    jobs = [lossy(way, profile, loss) for way in WAYS for profile, loss in cells]
    more = [encrypted(way) for way in (PLAIN, I_TCP, SNOOP)]
    return Figure(
        "1",
        "A download over a link that loses packets",
        "Until all data have arrived; five seeds. The data include the sender's counters over all "
        "seeds.",
        (*jobs, *more),
        draw,
        wide=True,
    )


def _ahead() -> Figure:
    jobs: dict[str, tuple[Scenarios, ...]] = {I_TCP.name: SEMANTICS, SNOOP.name: KEPT}

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for (name, of), look in zip(jobs.items(), SERIES, strict=False):
            points = []
            for job in of:
                table = runs.scenarios(job)
                for column in ("acked_ahead", "acked_missing"):
                    values = np.asarray(table[column], dtype=float)
                    points.append(_of(values))
                    rows.append((name, str(job), column, float(np.median(values))))
            series.append(Series(name, look, points))
        plot = partial(
            quartile_plot,
            categories=[
                *(f"{HIGH:g} % lost\nat most", f"{HIGH:g} % lost\nnever"),
                *("handoff\nat most", "handoff\nnever"),
            ],
            x_title="",
            y_title="Segments acknowledged and not arrived",
            series=series,
        )
        return Drawing(plot, ("way", "runs", "what", "median"), rows)

    return Figure(
        "2",
        "Acknowledged and not arrived",
        "Segments that were acknowledged to the sender and had not arrived at the receiver: the "
        "most at one time, and at the end of the run. At the handoff no state is handed over "
        "between stations.",
        tuple(job for of in jobs.values() for job in of),
        draw,
    )


def _handoffs() -> Figure:
    def jobs_of(way: Way) -> list[Scenarios]:
        return [
            *(handoff(way, profile) for profile in PROFILES),
            *(outage(way, profile) for profile in PROFILES),
        ]

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for way, look in zip(WAYS, SERIES, strict=False):
            points = []
            for job in jobs_of(way):
                times = after_s(runs, job)
                points.append(_of(times))
                middle = points[-1].median
                missing = max(runs.scenarios(job)["acked_missing"])
                rows.append((str(job), way.name, middle, missing))
            series.append(Series(way.name, look, points))
        plot = partial(
            quartile_plot,
            categories=[
                *(f"handoff, {GAP_S:g} s\n{name}" for name in PROFILES.values()),
                *(f"outage, {LONG_GAP_S:g} s\n{name}" for name in PROFILES.values()),
            ],
            x_title="",
            y_title="Time of 100 new packets (s)",
            series=series,
            width_in=PAGE_IN,
            legend_columns=4,
        )
        return Drawing(plot, ("runs", "way", "median_s", "never_arrived"), rows)

    without = [handoff(way, "ns2", handover=False) for way in (I_TCP, SNOOP)]
    every = (job for way in WAYS for job in jobs_of(way))
    return Figure(
        "3",
        "Handoffs and outages",
        "From the start of the gap until 100 packets are acknowledged that were first sent after "
        "it; five instants. Agents hand over their state.",
        tuple(dict.fromkeys((*every, *without, *HANDED, *OPTION))),
        draw,
        wide=True,
    )


FIGURES = (_losses(), _ahead(), _handoffs())
