"""The claims, written before the kernel was run: which problems of 2008 remain.

What is expected follows from the mechanisms: timestamps and F-RTO detect a spurious timeout, but
only afterwards; RACK waits for reordering; the timer ends a break. "2008" is the plain sender of
the simulator with the profile ns2.

Each rule is applied twice: to the kernel (LH-1) and to the simulator's profile linux (LH-X1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from midflight.claims import Check, Finding, Ledger, at_least, at_most
from midflight.results import RunTable
from midflight.studies.linux_handoffs.scenarios import (
    BREAKS,
    CELLS,
    ENHANCED,
    KERNEL,
    LESS_RATE,
    LONGER,
    MORE_RATE,
    NAMES,
    OLD,
    SHORTER,
    SIMULATOR,
    TO_SLOW,
    Side,
    handoffs,
    starter,
    starters,
)
from midflight.studies.runs import Cell, Runs, Scenarios

LEDGER = Ledger()

#: What a claim needs of a side, and how it is evaluated there.
Needs = Callable[[Side], list[Scenarios]]
Evaluate = Callable[[Runs, Side], Finding]


def needs(cells: Iterable[Cell], senders: Iterable[str]) -> list[Scenarios]:
    return [handoffs(cell, sender) for cell in cells for sender in senders]


def of_all(cells: Iterable[Cell], *others: str) -> Needs:
    """The cells with all senders of a side, and with others."""
    return lambda side: needs(cells, (*others, *side.senders))


def claim(
    number: int, claim: str, rule: str, figures: tuple[str, ...], needs: Needs
) -> Callable[[Evaluate], Evaluate]:
    """Register a claim about the kernel, and the same about the simulator."""

    def register(evaluate: Evaluate) -> Evaluate:
        for side, id, text in (
            (KERNEL, f"LH-{number}", claim),
            (SIMULATOR, f"LH-X{number}", f"LH-{number} for the simulator's profile linux: {claim}"),
        ):
            jobs = needs(side)
            LEDGER.claim(id, text, rule, figures=figures, needs=jobs)(on(side, jobs, evaluate))
        return evaluate

    return register


def on(side: Side, jobs: Sequence[Scenarios], evaluate: Evaluate) -> Callable[[Runs], Finding]:
    """The evaluation on a side; undecidable without a kernel if that is needed."""

    def decided(runs: Runs) -> Finding:
        if lacks_kernel(runs, jobs):
            return Finding((), note="No kernel is built: midflight lab build.")
        return evaluate(runs, side)

    return decided


def lacks_kernel(runs: Runs, jobs: Iterable[Scenarios]) -> bool:
    return any(len(runs.scenarios(job)) == 0 for job in jobs)


def each(
    runs: Runs,
    cells: Iterable[Cell],
    check: Callable[[str, RunTable, Cell], Check],
    senders: Sequence[str],
) -> list[Check]:
    """A check for each cell and sender."""
    return [
        check(f"{cell}, {NAMES[sender]}", runs.scenarios(handoffs(cell, sender)), cell)
        for cell in cells
        for sender in senders
    ]


def share(table: RunTable, column: str) -> float:
    """The share of the runs with at least one."""
    return float(np.mean(np.asarray(table[column], dtype=float) > 0))


def median_s(table: RunTable) -> float:
    return table.transfer_time.median


@claim(
    1,
    "A handoff to a path of much longer delay still makes the timer expire although nothing is "
    "lost.",
    "At least one spurious timeout at half of the instants or more; a part for each cell and "
    "congestion control",
    ("3",),
    of_all(LONGER),
)
def spurious_timeouts(runs: Runs, side: Side) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_least(what, share(table, "spurious_timeouts"), 0.5)

    return Finding(each(runs, LONGER, check, side.senders))


@claim(
    2,
    "The kernel resends much less needlessly after such a timeout than the sender of 2008: it "
    "detects the spurious timeout at the first ACK and stops.",
    "The mean of needless retransmissions is at most a quarter of that of 2008; a part for each "
    "cell and congestion control",
    ("4",),
    of_all(LONGER, OLD),
)
def needless_retransmissions(runs: Runs, side: Side) -> Finding:
    def check(what: str, table: RunTable, cell: Cell) -> Check:
        before = runs.scenarios(handoffs(cell, OLD)).mean("needless")
        return at_most(what, table.mean("needless"), before / 4)

    return Finding(each(runs, LONGER, check, side.senders))


@claim(
    3,
    "After a break the kernel still waits for its timer while the new link is unused.",
    "Mean time from the new link until something is sent: at least 100 ms; a part "
    "for each cell and congestion control",
    ("5",),
    of_all(BREAKS),
)
def unused_time(runs: Runs, side: Side) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_least(what, float(np.nanmean(table.seconds("unused_ns"))), 0.1)

    return Finding(each(runs, BREAKS, check, side.senders))


@claim(
    4,
    "A handoff to a slower link still overflows its queue: the window is that of the old link.",
    "Losses to a full queue at 90 % of the instants or more; a part for each cell and congestion "
    "control",
    ("6",),
    of_all((LESS_RATE, TO_SLOW)),
)
def queue_losses(runs: Runs, side: Side) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_least(what, share(table, "drops_queue"), 0.9)

    return Finding(each(runs, (LESS_RATE, TO_SLOW), check, side.senders))


@claim(
    5,
    "BBR loses the most there: its rate is that of the old link until its filter expires.",
    "The mean of BBR's losses to a full queue is at least three times that of CUBIC and of Reno; a "
    "part for each cell and each of these",
    ("6",),
    of_all((LESS_RATE, TO_SLOW)),
)
def losses_of_bbr(runs: Runs, side: Side) -> Finding:
    checks = []
    for cell in (LESS_RATE, TO_SLOW):
        of_bbr = runs.scenarios(handoffs(cell, side.bbr)).mean("drops_queue")
        for sender in (side.cubic, side.reno):
            other = runs.scenarios(handoffs(cell, sender)).mean("drops_queue")
            checks.append(at_least(f"{cell}, BBR and {NAMES[sender]}", of_bbr, 3 * other))
    return Finding(checks)


@claim(
    6,
    "Segments that overtake others on a shorter path no longer cause retransmissions: RACK waits.",
    "Mean of at most one needless retransmission; a part for each congestion control",
    ("4",),
    of_all((SHORTER,)),
)
def reordering(runs: Runs, side: Side) -> Finding:
    def check(what: str, table: RunTable, _: Cell) -> Check:
        return at_most(what, table.mean("needless"), 1.0)

    return Finding(each(runs, (SHORTER,), check, side.senders))


@claim(
    7,
    "Reno and CUBIC use a faster link no sooner than in 2008, because they get no notice.",
    "The median time for 100 segments is at least 0.9 of that of 2008; a part for each cell and "
    "congestion control",
    ("1",),
    lambda side: needs((MORE_RATE,), (OLD, side.reno, side.cubic)),
)
def more_rate(runs: Runs, side: Side) -> Finding:
    def check(what: str, table: RunTable, cell: Cell) -> Check:
        before = median_s(runs.scenarios(handoffs(cell, OLD)))
        return at_least(what, median_s(table), 0.9 * before)

    return Finding(each(runs, (MORE_RATE,), check, (side.reno, side.cubic)))


@claim(
    8,
    "On the whole the kernel is no slower after a handoff than the sender of 2008.",
    "The median time for 100 segments is at most 1.1 of that of 2008; a part for each cell and "
    "congestion control",
    ("1", "2"),
    of_all(CELLS, OLD),
)
def no_slower(runs: Runs, side: Side) -> Finding:
    def check(what: str, table: RunTable, cell: Cell) -> Check:
        before = median_s(runs.scenarios(handoffs(cell, OLD)))
        return at_most(what, median_s(table), 1.1 * before)

    return Finding(each(runs, CELLS, check, side.senders))


@claim(
    9,
    "A sender that gets a notice, as in 2008, would still be faster than the kernel's CUBIC.",
    "The median time for 100 segments of the simulated scheme enhanced is below that of CUBIC; a "
    "part for each cell",
    ("1", "2"),
    lambda side: needs(CELLS, (ENHANCED, side.cubic)),
)
def notices_would_help(runs: Runs, side: Side) -> Finding:
    checks = []
    for cell in CELLS:
        told, cubic = (median_s(runs.scenarios(handoffs(cell, s))) for s in (ENHANCED, side.cubic))
        text = f"{told:.3g} s, {cubic:.3g} s"
        checks.append(Check(f"{cell}", text, told < cubic))
    return Finding(checks)


@claim(
    10,
    "BBR, which paces, has fewer spurious timeouts after a handoff to a path of longer delay than "
    "CUBIC.",
    "Spurious timeouts at fewer instants than CUBIC, or at none; a part for each cell",
    ("3",),
    lambda side: needs(LONGER, (side.cubic, side.bbr)),
)
def timeouts_of_bbr(runs: Runs, side: Side) -> Finding:
    checks = []
    for cell in LONGER:
        bbr, cubic = (
            share(runs.scenarios(handoffs(cell, sender)), "spurious_timeouts")
            for sender in (side.bbr, side.cubic)
        )
        checks.append(Check(f"{cell}", f"{bbr:.0%}, {cubic:.0%}", bbr < cubic or bbr == 0))
    return Finding(checks)


def of_starters(senders: Sequence[str]) -> list[Scenarios]:
    return [starter(name, sender) for name in starters() for sender in senders]


def value(runs: Runs, name: str, sender: str, column: str) -> Any:
    return runs.scenarios(starter(name, sender))[column][0]


@claim(
    11,
    "On the starters CUBIC's longest time without progress is no longer than that of the "
    "standards' sender with a timer of at least one second.",
    "At most 1.1 of that of the profile rfc; a part for each starter",
    ("7",),
    lambda side: of_starters((OLD, side.cubic)),
)
def stalls(runs: Runs, side: Side) -> Finding:
    checks = []
    for name in starters():
        cubic, old = (value(runs, name, sender, "stall_ns") for sender in (side.cubic, OLD))
        checks.append(
            Check(name, f"{cubic / 1e9:.3g} s, {old / 1e9:.3g} s", bool(cubic <= 1.1 * old))
        )
    return Finding(checks)


@LEDGER.claim(
    "LH-X12",
    "The simulator's profile linux takes as long as the kernel.",
    "The median time for 100 segments is within 2 % of the kernel's; a part for each cell and "
    "congestion control",
    figures=("1", "2"),
    needs=needs(CELLS, (*KERNEL.senders, *SIMULATOR.senders)),
)
def agreement(runs: Runs) -> Finding:
    if lacks_kernel(runs, needs(CELLS, KERNEL.senders)):
        return Finding((), note="No kernel is built: midflight lab build.")
    checks = []
    for cell in CELLS:
        for kernel, simulator in zip(KERNEL.senders, SIMULATOR.senders, strict=True):
            theirs, ours = (
                median_s(runs.scenarios(handoffs(cell, s))) for s in (kernel, simulator)
            )
            is_near = abs(ours - theirs) <= 0.02 * theirs
            text = f"{ours:.4g} s, {theirs:.4g} s"
            checks.append(Check(f"{cell}, {NAMES[kernel]}", text, is_near))
    return Finding(checks)
