"""Sections 6.1 and 6.2: regular against enhanced TCP at equal bandwidth or delay (F17-F22)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from midflight.claims import (
    Check,
    Finding,
    Ledger,
    Reading,
    at_least,
    at_most,
    below,
    between,
    near,
    percent,
)
from midflight.results import quantile
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.common import (
    AS_LISTED,
    Cells,
    at_most_either_way,
    both,
    by_timeouts,
    count,
    each,
    found,
    highest_min_rto,
    inside,
    instant,
    largest,
    median_unused_s,
    milliseconds,
    nth,
    outside,
    ratio,
    reduction,
    reduction_as_listed,
    reductions_text,
    ssthresh_after,
    table,
    timeouts,
    timeouts_text,
    traced,
    until_done,
    upper_reduction,
    what_happened,
)
from midflight.studies.daniel_kojo_2008.scenarios import (
    BBM,
    ENHANCED,
    MBB,
    REGULAR,
)
from midflight.studies.runs import Cell, Kind, Runs, Trace

LEDGER = Ledger()

UP, DOWN = sc.low_to_high_delay, sc.high_to_low_delay
NARROWER, WIDER = sc.high_to_low_bandwidth, sc.low_to_high_bandwidth


def by_delay(
    make: sc.CellOfDelay, kbps: int, kind: Kind, delays: Iterable[int] = sc.DELAYS
) -> dict[str, Cell]:
    """Cells named by their varied delay."""
    return {f"{ms} ms": make(kbps, ms, kind) for ms in delays}


def by_rate(
    make: sc.CellOfDelay, ms: int, kind: Kind, rates: Iterable[int] = sc.BANDWIDTHS
) -> dict[str, Cell]:
    """Cells named by their varied rate."""
    return {f"{kbps} kbit/s": make(kbps, ms, kind) for kbps in rates}


# Section 6.1, from a short to a long delay (Fig 17)

FAR, NEAR = (37, 18, 9, 1), (150, 75)
F17A = {kbps: by_delay(UP, kbps, MBB) for kbps in sc.DELAY_BANDWIDTHS}
F17B = {kbps: by_delay(UP, kbps, BBM) for kbps in sc.DELAY_BANDWIDTHS}


def pick(cells: Cells, delays: Iterable[int]) -> dict[str, Cell]:
    """The cells with these delays."""
    return {f"{ms} ms": cells[f"{ms} ms"] for ms in delays}


@LEDGER.claim(
    "D08-F17a-1",
    "6400 kbit/s to 300 ms, make-before-break, delay ratio of eight or more: enhanced TCP takes 35 "
    "to 65 % less time (median).",
    "Reduction of the median in 30 to 70 % at 37, 18, 9, 1 ms each.",
    figures=("17a",),
    needs=both(pick(F17A[6400], FAR).values()),
)
def f17a_1(runs: Runs) -> Finding:
    cells = pick(F17A[6400], FAR)
    checks = each(runs, cells, inside(0.30, 0.70))
    return found(checks, note=outside(runs, cells, checks))


@LEDGER.claim(
    "D08-F17a-2",
    "The same with a ratio below eight: enhanced TCP is like regular TCP, because spurious RTOs "
    "are rare.",
    "Reduction of the median smaller than 5 % either way at 150 and 75 ms (6400 kbit/s).",
    figures=("17a",),
    needs=both([*pick(F17A[6400], NEAR).values(), *pick(F17A[1600], NEAR).values()]),
)
def f17a_2(runs: Runs) -> Finding:
    cells = pick(F17A[6400], NEAR)
    checks = each(runs, cells, at_most_either_way(0.05))
    return found(
        checks,
        context="1600 kbit/s: " + reductions_text(runs, pick(F17A[1600], NEAR)) + ".",
        note=outside(runs, cells, checks),
    )


@LEDGER.claim(
    "D08-F17a-3",
    "1600 kbit/s to 300 ms, make-before-break: up to 55 % less time.",
    "Largest reduction of the median over the six cells in 30 to 60 %.",
    figures=("17a",),
    needs=both(F17A[1600].values()),
)
def f17a_3(runs: Runs) -> Finding:
    name, value = largest(runs, F17A[1600])
    return found(
        [between(f"largest, at {name}", value, 0.30, 0.60, percent)],
        context="All: " + reductions_text(runs, F17A[1600]) + ".",
        note=what_happened(runs, {name: F17A[1600][name]}),
    )


@LEDGER.claim(
    "D08-F17a-4",
    "200 kbit/s to 300 ms, make-before-break: enhanced TCP is only slightly better.",
    "Reduction of the median in 0 to 10 % in each of the six cells.",
    figures=("17a",),
    needs=both(F17A[200].values()),
)
def f17a_4(runs: Runs) -> Finding:
    checks = each(runs, F17A[200], inside(0.0, 0.10))
    return found(checks, note=outside(runs, F17A[200], checks))


@LEDGER.claim(
    "D08-F17b-1",
    "6400 kbit/s to 300 ms, break-before-make: up to 55 % less time, about 55 % from 75 ms.",
    "Reduction of the median at 75 ms in 50 to 65 %; it is the largest of the six.",
    figures=("17b",),
    needs=both(F17B[6400].values()),
)
def f17b_1(runs: Runs) -> Finding:
    cells = F17B[6400]
    name, value = largest(runs, cells)
    return found(
        [
            between("75 ms", reduction(runs, cells["75 ms"]), 0.50, 0.65, percent),
            Check("largest", f"{percent(value)} at {name}", name == "75 ms"),
        ],
        context="All: " + reductions_text(runs, cells) + ".",
        note=what_happened(runs, {"75 ms": cells["75 ms"], name: cells[name]}),
    )


@LEDGER.claim(
    "D08-F17b-2",
    "6400 kbit/s, break-before-make from 1 ms: only a slight gain, because ssthresh is small "
    "anyway.",
    "Reduction of the median < 20 % at 1 ms.",
    figures=("17b",),
    needs=both([F17B[6400]["1 ms"]]),
)
def f17b_2(runs: Runs) -> Finding:
    cells = pick(F17B[6400], (1,))
    checks = each(runs, cells, lambda n, v: below(n, v, 0.20, percent))
    rows = table(runs, cells["1 ms"])
    return found(
        checks,
        context=f"FlightSize at the break: median {np.median(rows['flight']):.0f}.",
        note=outside(runs, cells, checks),
    )


@LEDGER.claim(
    "D08-F17b-3",
    "1600 kbit/s to 300 ms, break-before-make: up to 45 % less time.",
    "Largest reduction of the median over the six cells in 40 to 50 %.",
    figures=("17b",),
    needs=both(F17B[1600].values()),
)
def f17b_3(runs: Runs) -> Finding:
    name, value = largest(runs, F17B[1600])
    return found(
        [between(f"largest, at {name}", value, 0.40, 0.50, percent)],
        context="All: " + reductions_text(runs, F17B[1600]) + ".",
        note=what_happened(runs, {name: F17B[1600][name]}),
    )


@LEDGER.claim(
    "D08-F17b-4",
    "Break-before-make from 150 ms: no gain, because the sender is not in RTO recovery when the "
    "notice arrives.",
    "Reduction of the median smaller than 5 % either way at 6400 kbit/s and 150 ms; 1600 kbit/s is "
    "shown beside it.",
    figures=("17b",),
    needs=both([F17B[6400]["150 ms"], F17B[1600]["150 ms"]]),
)
def f17b_4(runs: Runs) -> Finding:
    cells = pick(F17B[6400], (150,))
    checks = each(runs, cells, at_most_either_way(0.05))
    waiting = {
        kbps: table(runs, F17B[kbps]["150 ms"]).mean("in_rto_recovery_at_make")
        for kbps in (6400, 1600)
    }
    return found(
        checks,
        context=f"1600 kbit/s: {percent(reduction(runs, F17B[1600]['150 ms']))}. Instants in RTO "
        f"recovery at the make: {percent(waiting[6400])} (6400), {percent(waiting[1600])} (1600).",
        note=outside(runs, cells, checks),
    )


# Section 6.1, from a long to a short delay (Figs 18 and 19)

F18 = {kind: by_delay(DOWN, 1600, kind) for kind in sc.KINDS}
F18_6400_MBB = by_delay(DOWN, 6400, MBB)
F19 = {kind: by_delay(DOWN, 200, kind) for kind in sc.KINDS}


def second_rto(runs: Runs, cells: Cells, checks: list[Check]) -> str:
    """Regular TCP's transfer time with one RTO and with two, in the cells whose check failed."""
    parts = []
    for name in (check.what for check in checks if not check.passed):
        regular, enhanced = (table(runs, cells[name], s) for s in (REGULAR, ENHANCED))
        one = quantile(regular.transfer_time_s[regular["nrto"] == 1], 0.5)
        value = enhanced.transfer_time.median
        parts.append(
            f"{name}: regular {by_timeouts(regular)}; enhanced {by_timeouts(enhanced)}. Against "
            f"the instants with one RTO enhanced takes {percent(value / one - 1)} longer"
        )
    return (
        "Regular TCP needs a second RTO at most of the 200 instants, enhanced does not. Instants "
        "and medians by number of RTOs, " + "; ".join(parts) + "."
    )


@LEDGER.claim(
    "D08-F18-1",
    "From 300 ms at 1600 kbit/s, make-before-break: up to 85 % less time.",
    "Largest reduction of the median over the six cells in 75 to 92 %.",
    figures=("18",),
    needs=both(F18[MBB].values()),
)
def f18_1(runs: Runs) -> Finding:
    name, value = largest(runs, F18[MBB])
    return found(
        [between(f"largest, at {name}", value, 0.75, 0.92, percent)],
        context="All: " + reductions_text(runs, F18[MBB]) + ".",
        note=what_happened(runs, {name: F18[MBB][name]}),
    )


@LEDGER.claim(
    "D08-F18-2",
    "6400 kbit/s gains about as much.",
    "Largest reduction of the median over the six cells >= 70 %.",
    figures=("18",),
    needs=both(F18_6400_MBB.values()),
)
def f18_2(runs: Runs) -> Finding:
    name, value = largest(runs, F18_6400_MBB)
    return found(
        [at_least(f"largest, at {name}", value, 0.70, percent)],
        context="All: " + reductions_text(runs, F18_6400_MBB) + ".",
        note=what_happened(runs, {name: F18_6400_MBB[name]}),
    )


@LEDGER.claim(
    "D08-F18-3",
    "From 300 ms at 1600 kbit/s, break-before-make to 37 ms or less: 35 to 50 % less time.",
    "Reduction of the median >= 30 % at 37, 18, 9, 1 ms each.",
    figures=("18",),
    needs=both(pick(F18[BBM], FAR).values()),
)
def f18_3(runs: Runs) -> Finding:
    cells = pick(F18[BBM], FAR)
    checks = each(runs, cells, lambda n, v: at_least(n, v, 0.30, percent))
    return found(checks, note=outside(runs, cells, checks))


@LEDGER.claim(
    "D08-F18-4",
    "Break-before-make to 150 or 75 ms: enhanced TCP takes about 10 % longer, because the window "
    "of one product underuses the path a little.",
    "Reduction of the median in -25 to 0 % at 150 and 75 ms each.",
    figures=("18",),
    needs=both(pick(F18[BBM], NEAR).values()),
)
def f18_4(runs: Runs) -> Finding:
    cells = pick(F18[BBM], NEAR)
    checks = each(runs, cells, inside(-0.25, 0.0))
    return found(checks, note=second_rto(runs, cells, checks))


@LEDGER.claim(
    "D08-F19-1",
    "From 300 ms at 200 kbit/s, make-before-break: 15 % less time.",
    "Reduction of the median in 10 to 20 % at 75, 37, 18, 9, 1 ms each.",
    figures=("19",),
    needs=both(pick(F19[MBB], (75, *FAR)).values()),
)
def f19_1(runs: Runs) -> Finding:
    cells = pick(F19[MBB], (75, *FAR))
    checks = each(runs, cells, inside(0.10, 0.20))
    return found(checks, note=outside(runs, cells, checks))


@LEDGER.claim(
    "D08-F19-2",
    "The same: regular TCP's upper quartile is almost twice that of enhanced TCP.",
    "RunFiles: upper quartile of regular over that of enhanced >= 1.7 in each of the six cells "
    "(`almost twice` as in D08-F4b).",
    figures=("19",),
    needs=both(F19[MBB].values()),
)
def f19_2(runs: Runs) -> Finding:
    checks, parts = [], []
    for name, cell in F19[MBB].items():
        regular, enhanced = (table(runs, cell, s) for s in (REGULAR, ENHANCED))
        value = regular.transfer_time.q3 / enhanced.transfer_time.q3
        checks.append(at_least(name, value, 1.7, ratio))
        parts.append(
            f"{name}: {regular.transfer_time.q3:.2f} against {enhanced.transfer_time.q3:.2f} s, "
            f"two RTOs or more at {percent(regular.share(regular['nrto'] >= 2), 0)}"
        )
    return found(
        checks,
        note="A second RTO raises regular TCP's upper quartile only where more than a quarter of "
        "the instants have one, and then by about half. Upper quartiles of regular and enhanced, "
        "instants with two RTOs: " + "; ".join(parts) + ".",
    )


@LEDGER.claim(
    "D08-F19-3",
    "From 300 ms at 200 kbit/s, break-before-make to 150, 75, 37 ms: enhanced TCP takes slightly "
    "longer.",
    "Reduction of the median in -12 to 0 % at 150, 75, 37 ms each.",
    figures=("19",),
    needs=both(pick(F19[BBM], (150, 75, 37)).values()),
)
def f19_3(runs: Runs) -> Finding:
    cells = pick(F19[BBM], (150, 75, 37))
    checks = each(runs, cells, inside(-0.12, 0.0))
    return found(checks, note=second_rto(runs, cells, checks))


@LEDGER.claim(
    "D08-F19-4",
    "The same to 18, 9, 1 ms: enhanced TCP's upper quartile is close to its median, regular TCP's "
    "is about 25 % above it.",
    "RunFiles, at 18, 9, 1 ms each: upper quartile over median of enhanced <= 1.10, of regular in "
    "1.15 to 1.35.",
    figures=("19",),
    needs=both(pick(F19[BBM], (18, 9, 1)).values()),
)
def f19_4(runs: Runs) -> Finding:
    checks, details = [], []
    for name, cell in pick(F19[BBM], (18, 9, 1)).items():
        regular, enhanced = (table(runs, cell, s).transfer_time for s in (REGULAR, ENHANCED))
        checks.append(at_most(f"{name} enhanced", enhanced.q3 / enhanced.median, 1.10, ratio))
        checks.append(between(f"{name} regular", regular.q3 / regular.median, 1.15, 1.35, ratio))
        details.append(
            f"{name}: regular {regular.q1:.2f}, {regular.median:.2f}, {regular.q3:.2f} s, "
            f"enhanced {enhanced.q1:.2f}, {enhanced.median:.2f}, {enhanced.q3:.2f} s; regular "
            + by_timeouts(table(runs, cell))
        )
    return found(
        checks,
        note="Regular TCP's second RTO is in its median already, because most instants have one, "
        "so its upper quartile is only a little higher. Quartiles, and instants and medians by "
        "number of RTOs: " + ". ".join(details) + ".",
    )


@LEDGER.claim(
    "D08-F20",
    "1600/300 to 1600/1, make-before-break at 15.0 s: 124 segments are outstanding and the new "
    "path holds about six. Regular: fast retransmit at 15.62 s, RTOs at 17.08, 20.01 and 25.77 s, "
    "a new ssthresh of 61. Enhanced loses nothing after the handoff.",
    "Regular: fast retransmit at 15.62 +- 0.05 s; RTOs at 17.08 +- 0.05, 20.01 +- 0.1, 25.77 +- "
    "0.2 s; FlightSize 124 +- 1; ssthresh 61 +- 1 after the fast retransmit. Enhanced: 0 data "
    "segments lost from the handoff until 100 new ones are acknowledged.",
    figures=("20",),
    needs=sc.FIG20.needs,
)
def f20(runs: Runs) -> Finding:
    at = sc.FIG20.at_s
    regular, enhanced = traced(runs, sc.FIG20), traced(runs, sc.FIG20, ENHANCED)
    times = [t for t, _ in timeouts(regular.within(at))]
    kept = until_done(enhanced, at).dropped()
    first = nth(times, 0)
    fast = regular.of("fast_retransmit").within(at).first_s
    halved = ssthresh_after(regular, fast)
    loss = kept.first_s
    wanted = ((17.08, 0.05), (20.01, 0.1), (25.77, 0.2))
    return found(
        [
            near("FlightSize", regular.flight_size(at), 124, 1, count),
            near("fast retransmit", fast, 15.62, 0.05, instant),
            *(
                near(f"RTO {n + 1}", nth(times, n), target, tolerance, instant)
                for n, (target, tolerance) in enumerate(wanted)
            ),
            near("ssthresh after the fast retransmit", halved, 61, 1, count),
            near("enhanced, lost segments", len(kept), 0, 0, count),
        ],
        context=f"Regular RTOs: {timeouts_text(regular.within(at))}; it loses "
        f"{len(until_done(regular, at).dropped())} segments.",
        note="Under enhanced TCP A2 sets cwnd to "
        f"{enhanced.last('cwnd', at + 1e-6):.0f}, but each ACK of old data still increases it in "
        f"congestion avoidance while nothing may be sent; it is {enhanced.last('cwnd', loss):.1f} "
        f"when the first new segments leave in a burst at {instant(loss)}, more than the path "
        f"holds, and {len(kept)} are lost: "
        + ", ".join(f"{e.value:.0f}" for e in kept.events())
        + ".",
        why="After A2 has reduced cwnd, ACKs of old data increase it again while nothing may be "
        "sent, and the first new segments leave in a burst that the path cannot hold",
        readings=[
            Reading(
                "ssthresh 61 after the first RTO, as the order of the sentences suggests (ns-2 "
                "has 30 there)",
                [near("ssthresh after RTO 1", ssthresh_after(regular, first), 61, 1, count)],
            )
        ],
    )


# Section 6.2: equal delay (Figs 21 and 22)

F21 = {(ms, kind): by_rate(NARROWER, ms, kind) for ms in (300, 9) for kind in sc.KINDS}
F21_LARGE = {name: c for name, c in F21[300, MBB].items() if c.new.kbps <= 1600}
#: A handoff during the overshoot of 6400/300, A1 triggered as listed.
F21_TRACE = Trace(F21[300, MBB]["200 kbit/s"], ENHANCED, 9.8, 15.0, knobs=sc.LISTED)
F22 = {kind: by_rate(WIDER, 9, kind) for kind in sc.KINDS}


@LEDGER.claim(
    "D08-F21-1",
    "At 300 ms from 6400 kbit/s, make-before-break: 25 to 35 % less time (median).",
    "Reduction of the median in 20 to 50 % to 200, 400, 800, 1600 kbit/s each.",
    figures=("21",),
    needs=both(F21_LARGE.values()),
)
def f21_1(runs: Runs) -> Finding:
    checks = each(runs, F21_LARGE, inside(0.20, 0.50))
    return found(checks, note=outside(runs, F21_LARGE, checks))


@LEDGER.claim(
    "D08-F21-2",
    "The same: the upper quartile falls by at least 25 %.",
    "Reduction of the upper quartile >= 25 % to 200, 400, 800, 1600 kbit/s each.",
    figures=("21",),
    needs=(*both(F21_LARGE.values()), *map(sc.as_listed, F21_LARGE.values()), F21_TRACE),
)
def f21_2(runs: Runs) -> Finding:
    checks = [
        at_least(name, upper_reduction(runs, cell), 0.25, percent)
        for name, cell in F21_LARGE.items()
    ]
    listed = [
        at_least(name, reduction_as_listed(runs, cell, upper=True), 0.25, percent)
        for name, cell in F21_LARGE.items()
    ]
    raised_s, raised_to = highest_min_rto(runs.trace(F21_TRACE), 9.8)
    return found(
        checks,
        context="With the listing's trigger case 3 of A1 sets a minimum RTO for the whole old "
        "flight at the new rate after the losses have already happened (handoff to 200 kbit/s at "
        f"9.8 s: {raised_to:.1f} s at {instant(raised_s)}), so that a lost retransmission waits "
        "long.",
        note="More than a quarter of the instants are in the overshoot or the recovery from it and "
        "determine the upper quartile. " + outside(runs, F21_LARGE, checks),
        readings=[Reading(AS_LISTED, listed)],
    )


@LEDGER.claim(
    "D08-F21-3",
    "At 9 ms from 6400 kbit/s, make-before-break: A1 saves about 5 %.",
    "RunFiles: reduction of the median in 0 to 30 % in each of the five cells.",
    figures=("21",),
    needs=(*both(F21[9, MBB].values()), *map(sc.as_listed, F21[9, MBB].values())),
)
def f21_3(runs: Runs) -> Finding:
    cells = F21[9, MBB]
    checks = each(runs, cells, inside(0.0, 0.30))
    listed = [inside(0.0, 0.30)(n, reduction_as_listed(runs, c)) for n, c in cells.items()]
    return found(
        checks,
        note=outside(runs, cells, checks),
        context="The paper credits A1, which section 5.2 invokes for a longer delay only; either "
        "trigger gives the same medians.",
        readings=[Reading(AS_LISTED, listed)],
    )


@LEDGER.claim(
    "D08-F21-4",
    "At 300 ms from 6400 kbit/s, break-before-make: like regular TCP, because the timer does not "
    "expire within 500 ms.",
    "Reduction of the median at most 12 % either way in each of the five cells.",
    figures=("21",),
    needs=both(F21[300, BBM].values()),
)
def f21_4(runs: Runs) -> Finding:
    cells = F21[300, BBM]
    checks = [near(name, reduction(runs, cell), 0.0, 0.12, percent) for name, cell in cells.items()]
    return found(checks, note=outside(runs, cells, checks))


@LEDGER.claim(
    "D08-F21-5",
    "At 9 ms from 6400 kbit/s, break-before-make: A3 does not bring much, because the windows are "
    "small.",
    "Reduction of the median < 25 % in each of the five cells.",
    figures=("21",),
    needs=both(F21[9, BBM].values()),
)
def f21_5(runs: Runs) -> Finding:
    cells = F21[9, BBM]
    checks = each(runs, cells, lambda n, v: below(n, v, 0.25, percent))
    return found(checks, note=outside(runs, cells, checks))


@LEDGER.claim(
    "D08-F22-1",
    "At 9 ms to 6400 kbit/s, make-before-break: no improvement, because the algorithms do not "
    "raise the window.",
    "Reduction of the median smaller than 3 % either way in each of the five cells.",
    figures=("22",),
    needs=both(F22[MBB].values()),
)
def f22_1(runs: Runs) -> Finding:
    checks = each(runs, F22[MBB], at_most_either_way(0.03))
    return found(checks, note=outside(runs, F22[MBB], checks))


@LEDGER.claim(
    "D08-F22-2",
    "At 9 ms from 200 to 6400 kbit/s, break-before-make: 40 % less time, because about 700 ms of "
    "unused time are avoided.",
    "Reduction of the median in 25 to 45 %.",
    figures=("22",),
    needs=both([F22[BBM]["200 kbit/s"]]),
)
def f22_2(runs: Runs) -> Finding:
    cells = {"200 kbit/s": F22[BBM]["200 kbit/s"]}
    checks = each(runs, cells, inside(0.25, 0.45))
    unused = median_unused_s(table(runs, cells["200 kbit/s"]))
    return found(
        checks,
        context=f"Median unused time of regular TCP: {milliseconds(unused)}.",
        note=outside(runs, cells, checks),
    )


@LEDGER.claim(
    "D08-F22-3",
    "The same from higher bandwidths: only 10 %, because only 100 ms are unused.",
    "Reduction of the median in 8 to 25 % from 400, 800, 1600, 3200 kbit/s each.",
    figures=("22",),
    needs=both(c for c in F22[BBM].values() if c.old.kbps > 200),
)
def f22_3(runs: Runs) -> Finding:
    cells = {name: cell for name, cell in F22[BBM].items() if cell.old.kbps > 200}
    checks = each(runs, cells, inside(0.08, 0.25))
    unused = ", ".join(
        f"{name}: {milliseconds(median_unused_s(table(runs, cell)))}"
        for name, cell in cells.items()
    )
    return found(
        checks,
        context=f"Median unused time of regular TCP: {unused}.",
        note=outside(runs, cells, checks),
    )
