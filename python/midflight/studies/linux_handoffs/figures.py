"""The figures: transfer times, timeouts, retransmissions, losses and idle time of each sender."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from midflight.plot import PAGE_IN, Drawing, Series, quartile_plot
from midflight.plot.style import SERIES
from midflight.results import Quartiles, RunTable, quartiles
from midflight.studies.linux_handoffs.scenarios import (
    BREAKS,
    KERNEL,
    MAKES,
    OLD,
    SENDERS,
    SOME_NS,
    handoffs,
    starter,
    starters,
)
from midflight.studies.runs import Cell, Runs
from midflight.studies.study import Figure

__all__ = ["FIGURES"]

NAMES = {OLD: "2008", "reno": "Linux, Reno", "cubic": "Linux, CUBIC", "bbr": "Linux, BBR"}
HEADER = ("handoff", "sender", "runs", "q1", "median", "q3", "mean")


def times(column: str) -> Callable[[RunTable], np.ndarray]:
    return lambda table: table.seconds(column)


def counts(column: str) -> Callable[[RunTable], np.ndarray]:
    return lambda table: np.asarray(table[column], dtype=float)


def _figure(
    id: str,
    title: str,
    caption: str,
    cells: Sequence[Cell],
    y_title: str,
    values: Callable[[RunTable], np.ndarray],
) -> Figure:
    """Quartiles of a measure for each handoff and sender."""

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for sender, look in zip(SENDERS, SERIES, strict=False):
            points: list[Quartiles] = []
            for cell in cells:
                found = values(runs.scenarios(handoffs(cell, sender)))
                points.append(quartiles(found))
                mean = float(np.nanmean(found)) if np.isfinite(found).any() else ""
                rows.append((str(cell), sender, len(found), *points[-1], mean))
            series.append(Series(NAMES[sender], look, points))
        plot = partial(
            quartile_plot,
            categories=[f"{cell.old}\n{cell.new}" for cell in cells],
            x_title="Old and new link (kbit/s, ms)",
            y_title=y_title,
            series=series,
            width_in=PAGE_IN,
            legend_columns=4,
        )
        return Drawing(plot, HEADER, rows)

    jobs = tuple(handoffs(cell, sender) for sender in SENDERS for cell in cells)
    text = f"{caption} Medians and quartiles of {len(SOME_NS)} instants."
    return Figure(id, title, text, jobs, draw, wide=True)


def _starters() -> Figure:
    """The longest time without progress in each starter."""
    senders = (OLD, *KERNEL)

    def draw(runs: Runs) -> Drawing:
        names = starters()
        rows: list[tuple[object, ...]] = []
        series = []
        for sender, look in zip(senders, SERIES, strict=False):
            points = []
            for name in names:
                table = runs.scenarios(starter(name, sender))
                stall = float(table.seconds("stall_ns")[0])
                goodput = float(table["goodput_bps"][0]) / 1e6
                points.append(Quartiles(stall, stall, stall))
                counted = (table[one][0] for one in ("timeouts", "spurious_timeouts", "needless"))
                rows.append((name, sender, stall, goodput, *counted))
            label = "midflight, SACK" if sender == OLD else NAMES[sender]
            series.append(Series(label, look, points))
        plot = partial(
            quartile_plot,
            categories=[name.replace("-", "\n") for name in names],
            x_title="Starter",
            y_title="Longest time without progress (s)",
            series=series,
            width_in=PAGE_IN,
            legend_columns=4,
        )
        header = (
            "starter",
            "sender",
            "stall_s",
            "goodput_mbps",
            "timeouts",
            "spurious",
            "needless",
        )
        return Drawing(plot, header, rows)

    return Figure(
        "7",
        "The starters",
        "The longest time without progress of the first flow in the first run of each starter; "
        "beside the kernel the simulator's plain sender with the starter's profile.",
        tuple(starter(name, sender) for sender in senders for name in starters()),
        draw,
        wide=True,
    )


_T100 = "Time to transfer 100 segments (s)"
FIGURES: tuple[Figure, ...] = (
    _figure(
        "1",
        "Transfer time, make before break",
        "From the handoff until 100 new segments are acknowledged.",
        MAKES,
        _T100,
        times("t_new_ns"),
    ),
    _figure(
        "2",
        "Transfer time, break before make",
        "From the break, 0.5 s before the new link, until 100 new segments are acknowledged.",
        BREAKS,
        _T100,
        times("t_new_ns"),
    ),
    _figure(
        "3",
        "Spurious timeouts, make before break",
        "Timeouts from the handoff on of segments that were not lost.",
        MAKES,
        "Spurious timeouts",
        counts("spurious_timeouts"),
    ),
    _figure(
        "4",
        "Needless retransmissions, make before break",
        "Segments that arrive from the handoff on and that the receiver has already.",
        MAKES,
        "Needless retransmissions",
        counts("needless"),
    ),
    _figure(
        "5",
        "Unused time, break before make",
        "From the new link on until the sender sends something.",
        BREAKS,
        "Unused time (s)",
        times("unused_ns"),
    ),
    _figure(
        "6",
        "Losses to full queues, make before break",
        "Data packets dropped by full queues, from the handoff on.",
        MAKES,
        "Queue losses",
        counts("drops_queue"),
    ),
    _starters(),
)
