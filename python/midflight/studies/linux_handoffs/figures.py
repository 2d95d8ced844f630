"""The figures: transfer times, timeouts, retransmissions, losses and idle time of each sender.

The simulator's senders are circles, the kernel's are dots of the same colour in the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from midflight.plot import PAGE_IN, Drawing, Series, quartile_plot
from midflight.plot.common.style import Look
from midflight.results import Quartiles, RunTable, quartiles
from midflight.studies.linux_handoffs.scenarios import (
    BREAKS,
    KERNEL,
    MAKES,
    NAMES,
    OLD,
    SIMULATOR,
    SOME_NS,
    handoffs,
    starter,
    starters,
)
from midflight.studies.runs import Cell, Runs
from midflight.studies.study import Figure

__all__ = ["FIGURES"]

HEADER = ("handoff", "side", "sender", "runs", "q1", "median", "q3", "mean")
NO_KERNEL = "No kernel is built, so its markers are missing: midflight lab build."
#: The colours of Reno, CUBIC and BBR, and of what is no sender of Linux.
COLOURS = ("#e69f00", "#0072b2", "#cc79a7")
OTHER = Look("#000000", "none", "v", True, 4.4)


@dataclass(frozen=True)
class Shown:
    """A sender in a figure: which side runs it, and how it is drawn."""

    side: str
    sender: str
    label: str
    look: Look
    over: bool = False


def shown(senders: Sequence[int], old: str) -> list[Shown]:
    """The senders of these numbers of both sides, and then the old one."""
    found = []
    for number in senders:
        colour = COLOURS[number]
        for side, look in (
            (SIMULATOR, Look(colour, "none", "o", False, 7.0)),
            (KERNEL, Look(colour, "none", "o", True, 3.2)),
        ):
            sender = side.senders[number]
            label = f"{NAMES[sender]}, {side.name}"
            found.append(Shown(side.name, sender, label, look, over=side is KERNEL))
    found.append(Shown("simulator", OLD, old, OTHER))
    return found


def series_of(one: Shown, points: Sequence[Quartiles]) -> Series:
    return Series(one.label, one.look, points, over=one.over)


def remark(series: Sequence[Series], senders: Sequence[Shown]) -> str:
    """What is added to the caption of a figure that lacks the kernel's series."""
    return "" if len(series) == len(senders) else NO_KERNEL


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

    senders = shown((0, 1, 2), "2008")

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for one in senders:
            points: list[Quartiles] = []
            for cell in cells:
                found = values(runs.scenarios(handoffs(cell, one.sender)))
                if len(found) == 0:
                    continue
                points.append(quartiles(found))
                mean = float(np.nanmean(found)) if np.isfinite(found).any() else ""
                name = NAMES[one.sender]
                rows.append((str(cell), one.side, name, len(found), *points[-1], mean))
            if points:
                series.append(series_of(one, points))
        plot = partial(
            quartile_plot,
            categories=[f"{cell.old}\nto {cell.new}" for cell in cells],
            x_title="Old and new link (kbit/s, ms)",
            y_title=y_title,
            series=series,
            width_in=PAGE_IN,
            height_in=3.1,
            legend_columns=4,
            connected=False,
        )
        return Drawing(plot, HEADER, rows, remark=remark(series, senders))

    jobs = tuple(handoffs(cell, sender.sender) for sender in senders for cell in cells)
    text = f"{caption} Medians and quartiles of {len(SOME_NS)} instants."
    return Figure(id, title, text, jobs, draw, wide=True)


def _starters() -> Figure:
    """The longest time without progress in each starter."""
    senders = shown((1,), "standards (profile rfc)")

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for one in senders:
            points = []
            for name in starters():
                table = runs.scenarios(starter(name, one.sender))
                if len(table) == 0:
                    continue
                stall = float(table.seconds("stall_ns")[0])
                goodput = float(table["goodput_bps"][0]) / 1e6
                points.append(Quartiles(stall, stall, stall))
                counted = (table[kind][0] for kind in ("timeouts", "spurious_timeouts", "needless"))
                rows.append((name, one.side, NAMES[one.sender], stall, goodput, *counted))
            if points:
                series.append(series_of(one, points))
        plot = partial(
            quartile_plot,
            categories=starters(),
            x_title="Starter",
            y_title="Longest time without progress (s)",
            series=series,
            width_in=PAGE_IN,
            height_in=3.6,
            legend_columns=3,
            connected=False,
            upright=True,
        )
        header = (
            *("starter", "side", "sender", "stall_s", "goodput_mbps"),
            *("timeouts", "spurious", "needless"),
        )
        return Drawing(plot, header, rows, remark=remark(series, senders))

    return Figure(
        "7",
        "The starters",
        "The longest time without progress of the first flow in the first run of each starter: "
        "the standards' sender, and CUBIC in the simulator and on the kernel.",
        tuple(starter(name, one.sender) for one in senders for name in starters()),
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
