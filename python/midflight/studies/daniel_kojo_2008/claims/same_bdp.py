"""Section 6.3: equal bandwidth-delay product (F23-F27, T6.3); the claim of the abstract (T1)."""

from __future__ import annotations

import numpy as np

from midflight.claims import Check, Finding, Ledger, Reading, at_least, between, near, percent
from midflight.results import EventLog
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.common import (
    at_most_either_way,
    both,
    by_link,
    count,
    each,
    found,
    inside,
    instant,
    median,
    nth,
    outside,
    reduction,
    reductions_text,
    table,
    timeouts,
    traced,
    until_done,
    with_spurious_rto,
)
from midflight.studies.daniel_kojo_2008.scenarios import (
    BBM,
    ENHANCED,
    ENHANCED_A5,
    MBB,
    REGULAR,
    sweeps,
)
from midflight.studies.runs import Cell, Runs

LEDGER = Ledger()

TO_SLOW = {kind: by_link(sc.to_slow(p, kind) for p in sc.SLOW_PARTNERS) for kind in sc.KINDS}
TO_FAST = {kind: by_link(sc.to_fast(p, kind) for p in sc.FAST_PARTNERS) for kind in sc.KINDS}
FROM_FAST = {
    kind: by_link((Cell(sc.FAST, p, kind) for p in sc.FAST_PARTNERS), new=True) for kind in sc.KINDS
}
FROM_SLOW_BBM = by_link((Cell(sc.SLOW, p, BBM) for p in sc.SLOW_PARTNERS), new=True)
EIGHTFOLD = {name: c for name, c in TO_SLOW[MBB].items() if c.old.kbps >= 8 * sc.SLOW.kbps}
LESS = {name: c for name, c in TO_SLOW[MBB].items() if c.old.kbps < 8 * sc.SLOW.kbps}


@LEDGER.claim(
    "D08-F23a-1",
    "To 200/300 at equal product, make-before-break, from a ratio of eight: up to 45 % less time.",
    "Reduction of the median in 30 to 50 % from 1600/37, 3200/18, 6400/9 each (`enhanced`, that is "
    "with A2).",
    figures=("23a",),
    needs=sweeps(EIGHTFOLD.values(), REGULAR, ENHANCED, ENHANCED_A5),
)
def f23a_1(runs: Runs) -> Finding:
    checks = each(runs, EIGHTFOLD, inside(0.30, 0.50))
    return found(
        checks,
        context="With A5: " + reductions_text(runs, EIGHTFOLD, ENHANCED_A5) + ".",
        note=outside(runs, EIGHTFOLD, checks),
    )


@LEDGER.claim(
    "D08-F23a-2",
    "The same with a ratio below eight: like regular TCP.",
    "Reduction of the median smaller than 5 % either way from 400/150 and 800/75 each.",
    figures=("23a",),
    needs=both(LESS.values()),
)
def f23a_2(runs: Runs) -> Finding:
    checks = each(runs, LESS, at_most_either_way(0.05))
    spurious = ", ".join(
        f"{name}: {percent(with_spurious_rto(runs, cell), 0)}" for name, cell in LESS.items()
    )
    return found(
        checks,
        context=f"Instants with a spurious RTO of regular TCP: {spurious}.",
        note=outside(runs, LESS, checks),
    )


@LEDGER.claim(
    "D08-F23b",
    "The same from a ratio of eight: A2 loses fewer packets than regular TCP, A5 practically none.",
    "Mean lost data segments from 1600/37, 3200/18, 6400/9 each: with A5 <= 0.3 of those with A2, "
    "and with A2 <= 0.6 of those of regular TCP.",
    figures=("23b",),
    needs=sweeps(EIGHTFOLD.values(), REGULAR, ENHANCED, ENHANCED_A5),
)
def f23b(runs: Runs) -> Finding:
    checks, where = [], []
    for name, cell in EIGHTFOLD.items():
        rows = {s: table(runs, cell, s) for s in (REGULAR, ENHANCED, ENHANCED_A5)}
        drops = {s: r.mean("drops_data") for s, r in rows.items()}
        for label, less, more, factor in (
            ("A5 against A2", ENHANCED_A5, ENHANCED, 0.3),
            ("A2 against regular", ENHANCED, REGULAR, 0.6),
        ):
            checks.append(
                Check(
                    f"{name} {label}",
                    f"{drops[less]:.2f} <= {factor} x {drops[more]:.2f}",
                    drops[less] <= factor * drops[more],
                )
            )
        start = np.isin(rows[ENHANCED]["phase"], ("slow-start", "overshoot"))
        where.append(
            f"{name}: A5 {rows[ENHANCED_A5].mean('drops_data', start):.2f} in slow start and "
            f"overshoot, {rows[ENHANCED_A5].mean('drops_data', ~start):.2f} otherwise (A2: "
            f"{rows[ENHANCED].mean('drops_data', start):.2f}, "
            f"{rows[ENHANCED].mean('drops_data', ~start):.2f})"
        )
    return found(checks, note="Mean losses by phase at the handoff. " + "; ".join(where) + ".")


def burst_after(log: EventLog, at_s: float, gap_s: float = 0.1) -> tuple[float, int]:
    """The burst of new segments that the late acknowledgments trigger.

    It starts with the first new segment sent at least the new link's one-way delay of 0.3 s after
    the handoff (no earlier acknowledgment can have taken the new path) and ends before the first
    gap of `gap_s` seconds.  Returns its start in seconds and its length in segments.
    """
    sent = log.of("send").within(at_s + 0.3)
    if not len(sent):
        return float("nan"), 0
    gaps = np.flatnonzero(np.diff(sent.time_s) > gap_s)
    return sent.first_s, int(gaps[0]) + 1 if gaps.size else len(sent)


@LEDGER.claim(
    "D08-F24a",
    "1600/37 to 200/300, make-before-break at 8.9 s. Regular: a spurious RTO at 9.1 s; late ACKs "
    "trigger retransmissions faster than the new link takes them, many are lost and so are new "
    "segments; another RTO at 10.18 s.",
    "First RTO in 9.1 to 9.2 s, second in 10.1 to 10.4 s; at least 5 data segments lost until 100 "
    "new ones are acknowledged.",
    figures=("24",),
    needs=(sc.FIG24.trace(REGULAR),),
)
def f24a(runs: Runs) -> Finding:
    at = sc.FIG24.at_s
    log = traced(runs, sc.FIG24)
    times = [t for t, _ in timeouts(log.within(at))]
    lost = until_done(log, at).dropped()
    return found(
        [
            between("first RTO", nth(times, 0), 9.1, 9.2, instant),
            between("second RTO", nth(times, 1), 10.1, 10.4, instant),
            at_least("lost segments", len(lost), 5, count),
        ],
        context=f"First segment on the new path: {first_on_new_path(log, at)}.",
    )


def first_on_new_path(log: EventLog, at_s: float) -> int:
    """The first new segment that leaves the fork after the handoff (2.12 ms after its sending)."""
    sent = log.of("send").within(at_s - 0.00212)
    return int(sent.value[0]) if len(sent) else -1


@LEDGER.claim(
    "D08-F24b",
    "The same run with A2: no spurious RTO, but 16 new segments leave in a burst at 9.2 s; the "
    "last ones are lost and a fast retransmit follows at 10.7 s.",
    "A burst of 14 to 18 new segments; 1 to 5 data segments lost until 100 new ones are "
    "acknowledged; first fast retransmit after the handoff in 10.5 to 10.9 s; no RTO before it.",
    figures=("24",),
    needs=(sc.FIG24.trace(ENHANCED),),
)
def f24b(runs: Runs) -> Finding:
    at = sc.FIG24.at_s
    log = traced(runs, sc.FIG24, ENHANCED)
    start, burst = burst_after(log, at)
    fast = log.of("fast_retransmit").within(at).first_s
    lost = until_done(log, at).dropped()
    early = [t for t, _ in timeouts(log.within(at)) if not t > fast]
    return found(
        [
            between("burst", burst, 14, 18, count),
            between("lost segments", len(lost), 1, 5, count),
            between("fast retransmit", fast, 10.5, 10.9, instant),
            Check("RTOs before it", str(len(early)), not early),
        ],
        context=f"The burst starts at {instant(start)}.",
    )


@LEDGER.claim(
    "D08-F24c",
    "The same run with A5: no loss.",
    "0 data segments lost from the handoff until 100 new ones are acknowledged (`enhanced-a5`).",
    figures=("24",),
    needs=(sc.FIG24.trace(ENHANCED_A5),),
)
def f24c(runs: Runs) -> Finding:
    at = sc.FIG24.at_s
    lost = until_done(traced(runs, sc.FIG24, ENHANCED_A5), at).dropped()
    return found([near("lost segments", len(lost), 0, 0, count)])


@LEDGER.claim(
    "D08-F26",
    "To 200/300 at equal product, break-before-make: retransmitting at once pays where the old "
    "delay is 75 ms or less; otherwise enhanced TCP is like regular TCP.",
    "Reduction of the median smaller than 5 % either way from 400/150; >= 20 % from 800/75, "
    "1600/37, 3200/18, 6400/9 each.",
    figures=("26",),
    needs=both(TO_SLOW[BBM].values()),
)
def f26(runs: Runs) -> Finding:
    cells = TO_SLOW[BBM]
    checks = [
        at_most_either_way(0.05)(name, reduction(runs, cell))
        if cell.old.ms > 75
        else at_least(name, reduction(runs, cell), 0.20, percent)
        for name, cell in cells.items()
    ]
    return found(checks, note=outside(runs, cells, checks))


@LEDGER.claim(
    "D08-T6.3a",
    "From 6400/9 to the other links of equal product, enhanced TCP is better: with "
    "make-before-break because it avoids spurious RTOs, with break-before-make because it "
    "retransmits at once.",
    "The median is not longer by 5 % or more in any of the ten cells (five new links, both kinds).",
    needs=both(c for kind in sc.KINDS for c in FROM_FAST[kind].values()),
)
def t6_3a(runs: Runs) -> Finding:
    cells = {
        f"{name} {kind.upper()}": cell
        for kind in sc.KINDS
        for name, cell in FROM_FAST[kind].items()
    }
    values = {name: reduction(runs, cell) for name, cell in cells.items()}
    checks = [Check(name, percent(value), value > -0.05) for name, value in values.items()]
    return found(
        checks,
        note=outside(runs, cells, checks),
        readings=[
            Reading(
                "The reduction is above zero in each cell",
                [Check(name, percent(value), value > 0) for name, value in values.items()],
            )
        ],
    )


@LEDGER.claim(
    "D08-T6.3b",
    "From 200/300 to the other links of equal product, break-before-make: like regular TCP, "
    "because the timer is unlikely to expire within 500 ms.",
    "Reduction of the median smaller than 5 % either way in each of the five cells.",
    needs=both(FROM_SLOW_BBM.values()),
)
def t6_3b(runs: Runs) -> Finding:
    checks = each(runs, FROM_SLOW_BBM, at_most_either_way(0.05))
    return found(checks, note=outside(runs, FROM_SLOW_BBM, checks))


F27_SHORT = {name: c for name, c in TO_FAST[BBM].items() if c.old.ms < 150}
F27_LONG = {name: c for name, c in TO_FAST[BBM].items() if c.old.ms >= 150}


@LEDGER.claim(
    "D08-F27-1",
    "To 6400/9 at equal product, break-before-make from a delay below 150 ms: 20 to 45 % less "
    "time.",
    "Reduction of the median in 18 to 50 % from 800/75, 1600/37, 3200/18 each.",
    figures=("27",),
    needs=both(F27_SHORT.values()),
)
def f27_1(runs: Runs) -> Finding:
    checks = each(runs, F27_SHORT, inside(0.18, 0.50))
    return found(checks, note=outside(runs, F27_SHORT, checks))


@LEDGER.claim(
    "D08-F27-2",
    "The same from 300 and 150 ms: like regular TCP, because the timer may not have expired.",
    "Reduction of the median smaller than 3 % either way from 200/300 and 400/150 each.",
    figures=("27",),
    needs=both(F27_LONG.values()),
)
def f27_2(runs: Runs) -> Finding:
    checks = each(runs, F27_LONG, at_most_either_way(0.03))
    waiting = ", ".join(
        f"{name}: {percent(table(runs, cell).mean('in_rto_recovery_at_make'), 0)}"
        for name, cell in F27_LONG.items()
    )
    return found(
        checks,
        context=f"Instants in RTO recovery at the make: {waiting}.",
        note=outside(runs, F27_LONG, checks),
    )


@LEDGER.claim(
    "D08-F27-3",
    "To 6400/9, make-before-break: neither regular nor enhanced TCP makes use of the high "
    "bandwidth.",
    "Reduction of the median smaller than 5 % either way in each of the five cells.",
    figures=("27",),
    needs=both(TO_FAST[MBB].values()),
)
def f27_3(runs: Runs) -> Finding:
    checks = each(runs, TO_FAST[MBB], at_most_either_way(0.05))
    return found(checks, note=outside(runs, TO_FAST[MBB], checks))


@LEDGER.claim(
    "D08-T1",
    "In some scenarios enhanced TCP is more than twice as fast.",
    "The median of regular over that of enhanced TCP is >= 2 in at least one cell of the grid.",
    needs=both(sc.CELLS),
)
def t1(runs: Runs) -> Finding:
    speedup = {str(cell): median(runs, cell) / median(runs, cell, ENHANCED) for cell in sc.CELLS}
    best = max(speedup, key=lambda name: speedup[name])
    twice = sum(1 for value in speedup.values() if value >= 2)
    return found(
        [at_least(f"cells of {len(speedup)} with a ratio of 2 or more", twice, 1, count)],
        context=f"Largest ratio {speedup[best]:.2f} ({best}).",
    )
