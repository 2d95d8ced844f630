"""The claims, written before the kernel was run: which problems of 2008 remain.

What is expected follows from the mechanisms: timestamps and F-RTO detect a spurious timeout, but
only afterwards; RACK waits for reordering; the timer ends a break. "2008" is the plain sender of
the simulator with the profile ns2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from midflight.claims import Check, Finding, Ledger, at_least, at_most
from midflight.results import RunTable
from midflight.studies.linux_handoffs.scenarios import (
    BBR,
    BREAKS,
    CELLS,
    CUBIC,
    ENHANCED,
    KERNEL,
    LESS_RATE,
    LONGER,
    MORE_RATE,
    OLD,
    RENO,
    SHORTER,
    TO_SLOW,
    handoffs,
    starter,
    starters,
)
from midflight.studies.runs import Cell, Runs, Scenarios

LEDGER = Ledger()


def needs(cells: Iterable[Cell], senders: Sequence[str] = KERNEL) -> list[Scenarios]:
    return [handoffs(cell, sender) for cell in cells for sender in senders]


def each(
    runs: Runs,
    cells: Iterable[Cell],
    check: Callable[[str, RunTable, Cell], Check],
    senders: Sequence[str] = KERNEL,
) -> list[Check]:
    """A check for each cell and sender."""
    return [
        check(f"{cell}, {sender}", runs.scenarios(handoffs(cell, sender)), cell)
        for cell in cells
        for sender in senders
    ]


def share(table: RunTable, column: str) -> float:
    """The share of the runs with at least one."""
    return float(np.mean(np.asarray(table[column], dtype=float) > 0))


def median_s(table: RunTable) -> float:
    return table.transfer_time.median


@LEDGER.claim(
    "LH-1",
    "A handoff to a path of much longer delay still makes the timer expire although nothing is "
    "lost.",
    "At least one spurious timeout at half of the instants or more; a part for each cell and "
    "congestion control",
    figures=("3",),
    needs=needs(LONGER),
)
def spurious_timeouts(runs: Runs) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_least(what, share(table, "spurious_timeouts"), 0.5)

    return Finding(each(runs, LONGER, check))


@LEDGER.claim(
    "LH-2",
    "The kernel resends much less needlessly after such a timeout than the sender of 2008: it "
    "detects the spurious timeout at the first ACK and stops.",
    "The mean of needless retransmissions is at most a quarter of that of 2008; a part for each "
    "cell and congestion control",
    figures=("4",),
    needs=needs(LONGER, (OLD, *KERNEL)),
)
def needless_retransmissions(runs: Runs) -> Finding:
    def check(what: str, table: RunTable, cell: Cell) -> Check:
        before = runs.scenarios(handoffs(cell, OLD)).mean("needless")
        return at_most(what, table.mean("needless"), before / 4)

    return Finding(each(runs, LONGER, check))


@LEDGER.claim(
    "LH-3",
    "After a break the kernel still waits for its timer while the new link is unused.",
    "Mean time from the new link until something is sent: at least 100 ms; a part "
    "for each cell and congestion control",
    figures=("5",),
    needs=needs(BREAKS),
)
def unused_time(runs: Runs) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_least(what, float(np.nanmean(table.seconds("unused_ns"))), 0.1)

    return Finding(each(runs, BREAKS, check))


@LEDGER.claim(
    "LH-4",
    "A handoff to a slower link still overflows its queue: the window is that of the old link.",
    "Losses to a full queue at 90 % of the instants or more; a part for each cell and congestion "
    "control",
    figures=("6",),
    needs=needs((LESS_RATE, TO_SLOW)),
)
def queue_losses(runs: Runs) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_least(what, share(table, "drops_queue"), 0.9)

    return Finding(each(runs, (LESS_RATE, TO_SLOW), check))


@LEDGER.claim(
    "LH-5",
    "BBR loses the most there: its rate is that of the old link until its filter expires.",
    "The mean of BBR's losses to a full queue is at least three times that of CUBIC and of Reno; a "
    "part for each cell and each of these",
    figures=("6",),
    needs=needs((LESS_RATE, TO_SLOW)),
)
def losses_of_bbr(runs: Runs) -> Finding:
    checks = []
    for cell in (LESS_RATE, TO_SLOW):
        of_bbr = runs.scenarios(handoffs(cell, BBR)).mean("drops_queue")
        for sender in (CUBIC, RENO):
            other = runs.scenarios(handoffs(cell, sender)).mean("drops_queue")
            checks.append(at_least(f"{cell}, {BBR} and {sender}", of_bbr, 3 * other))
    return Finding(checks)


@LEDGER.claim(
    "LH-6",
    "Segments that overtake others on a shorter path no longer cause retransmissions: RACK waits.",
    "Mean of at most one needless retransmission; a part for each congestion control",
    figures=("4",),
    needs=needs((SHORTER,)),
)
def reordering(runs: Runs) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_most(what, table.mean("needless"), 1.0)

    return Finding(each(runs, (SHORTER,), check))


@LEDGER.claim(
    "LH-7",
    "Reno and CUBIC use a faster link no sooner than in 2008, because they get no notice.",
    "The median time for 100 segments is at least 0.9 of that of 2008; a part for each cell and "
    "congestion control",
    figures=("1",),
    needs=needs((MORE_RATE,), (OLD, RENO, CUBIC)),
)
def more_rate(runs: Runs) -> Finding:
    def check(what: str, table: RunTable, cell: Cell) -> Check:
        before = median_s(runs.scenarios(handoffs(cell, OLD)))
        return at_least(what, median_s(table), 0.9 * before)

    return Finding(each(runs, (MORE_RATE,), check, (RENO, CUBIC)))


@LEDGER.claim(
    "LH-8",
    "On the whole the kernel is no slower after a handoff than the sender of 2008.",
    "The median time for 100 segments is at most 1.1 of that of 2008; a part for each cell and "
    "congestion control",
    figures=("1", "2"),
    needs=needs(CELLS, (OLD, *KERNEL)),
)
def no_slower(runs: Runs) -> Finding:
    def check(what: str, table: RunTable, cell: Cell) -> Check:
        before = median_s(runs.scenarios(handoffs(cell, OLD)))
        return at_most(what, median_s(table), 1.1 * before)

    return Finding(each(runs, CELLS, check))


@LEDGER.claim(
    "LH-9",
    "A sender that gets a notice, as in 2008, would still be faster than the kernel's CUBIC.",
    "The median time for 100 segments of the simulated scheme enhanced is below that of CUBIC; a "
    "part for each cell",
    figures=("1", "2"),
    needs=needs(CELLS, (ENHANCED, CUBIC)),
)
def notices_would_help(runs: Runs) -> Finding:
    checks = []
    for cell in CELLS:
        told, kernel = (median_s(runs.scenarios(handoffs(cell, s))) for s in (ENHANCED, CUBIC))
        text = f"{told:.3g} s, {kernel:.3g} s"
        checks.append(Check(f"{cell}", text, told < kernel))
    return Finding(checks)


@LEDGER.claim(
    "LH-10",
    "BBR, which paces, has fewer spurious timeouts after a handoff to a path of longer delay than "
    "CUBIC.",
    "Spurious timeouts at fewer instants than CUBIC, or at none; a part for each cell",
    figures=("3",),
    needs=needs(LONGER, (CUBIC, BBR)),
)
def timeouts_of_bbr(runs: Runs) -> Finding:
    checks = []
    for cell in LONGER:
        bbr, cubic = (
            share(runs.scenarios(handoffs(cell, sender)), "spurious_timeouts")
            for sender in (BBR, CUBIC)
        )
        checks.append(Check(f"{cell}", f"{bbr:.0%}, {cubic:.0%}", bbr < cubic or bbr == 0))
    return Finding(checks)


def of_starters(senders: Sequence[str]) -> list[Scenarios]:
    return [starter(name, sender) for name in starters() for sender in senders]


def value(runs: Runs, name: str, sender: str, column: str) -> Any:
    return runs.scenarios(starter(name, sender))[column][0]


@LEDGER.claim(
    "LH-11",
    "On the starters CUBIC's longest time without progress is no longer than that of the "
    "standards' sender with a timer of at least one second.",
    "At most 1.1 of that of the profile rfc; a part for each starter",
    figures=("7",),
    needs=of_starters((OLD, CUBIC)),
)
def stalls(runs: Runs) -> Finding:
    checks = []
    for name in starters():
        kernel, ours = (value(runs, name, sender, "stall_ns") for sender in (CUBIC, OLD))
        checks.append(
            Check(name, f"{kernel / 1e9:.3g} s, {ours / 1e9:.3g} s", bool(kernel <= 1.1 * ours))
        )
    return Finding(checks)
