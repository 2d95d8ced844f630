"""Section 4.1: how a change of the delay affects regular TCP (F2, F3)."""

from __future__ import annotations

import math

import numpy as np

from midflight.claims import (
    Check,
    Finding,
    Ledger,
    at_least,
    at_most,
    below,
    between,
    percent,
)
from midflight.results import quantile, rank_correlation
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.common import (
    count,
    found,
    instant,
    median,
    median_unused_s,
    medians_text,
    milliseconds,
    number,
    ratio,
    resent_window,
    ssthresh_after,
    steps,
    table,
    timeouts,
    timeouts_text,
    unused_s,
    with_spurious_rto,
    yes,
)
from midflight.studies.daniel_kojo_2008.scenarios import (
    BBM,
    MBB,
    REGULAR,
    sweeps,
)
from midflight.studies.runs import Cell, Kind, Runs, Trace

LEDGER = Ledger()

UP, DOWN = sc.low_to_high_delay, sc.high_to_low_delay
#: Delays with a ratio of at least eight, and the others.
FAR, NEAR = (37, 18, 9, 1), (150, 75)


def delays(make: sc.CellOfDelay, kbps: int, kind: Kind) -> dict[int, Cell]:
    """The cells of one bandwidth over the varied delay."""
    return {ms: make(kbps, ms, kind) for ms in sc.DELAYS}


# Section 4.1, from a short to a long delay (Fig 2)

F2_6400_MBB = delays(UP, 6400, MBB)
F2_6400_BBM = delays(UP, 6400, BBM)
F2_200_MBB = delays(UP, 200, MBB)
F2_200_BBM = delays(UP, 200, BBM)


@LEDGER.claim(
    "D08-F2a",
    "From a short to a long delay at 6400 kbit/s, make-before-break: the larger the ratio of the "
    "delays, the longer the transfer takes.",
    "The median rises at each step of the old delay from ratio 4 on: 75, 37, 18, 9, 1 ms.",
    figures=("2",),
    needs=sweeps(F2_6400_MBB.values(), REGULAR),
)
def f2a(runs: Runs) -> Finding:
    values = {ms: median(runs, cell) for ms, cell in F2_6400_MBB.items() if ms <= 75}
    return found(steps(values, "ms", rising=True))


F2B_CELLS = {
    f"{kbps} kbit/s {ms} ms": UP(kbps, ms, MBB) for kbps in (1600, 6400) for ms in sc.DELAYS
}


def _spurious_checks(runs: Runs, wanted: tuple[int, ...], share: float, above: bool) -> list[Check]:
    rule = at_least if above else below
    return [
        rule(name, with_spurious_rto(runs, cell), share, percent)
        for name, cell in F2B_CELLS.items()
        if cell.old.ms in wanted
    ]


@LEDGER.claim(
    "D08-F2b",
    "At 1600 and 6400 kbit/s, make-before-break to a delay at least eight times as long: the RTO "
    "fires spuriously at more than 85 % of the handoff instants.",
    "In each cell with old delay 37, 18, 9, 1 ms: >= 85 % of the instants have a spurious RTO.",
    figures=("2",),
    needs=sweeps((c for c in F2B_CELLS.values() if c.old.ms in FAR), REGULAR),
)
def f2b(runs: Runs) -> Finding:
    return found(_spurious_checks(runs, FAR, 0.85, above=True))


@LEDGER.claim(
    "D08-F2c",
    "At 1600 and 6400 kbit/s with a delay ratio below eight: spurious RTOs at less than 20 % of "
    "the instants.",
    "In each cell with old delay 150, 75 ms: < 20 % of the instants have a spurious RTO.",
    figures=("2",),
    needs=sweeps((c for c in F2B_CELLS.values() if c.old.ms in NEAR), REGULAR),
)
def f2c(runs: Runs) -> Finding:
    return found(_spurious_checks(runs, NEAR, 0.20, above=False))


@LEDGER.claim(
    "D08-F2d",
    "At 200 kbit/s, make-before-break: spurious RTOs at 10 to 40 % of the instants, the more the "
    "shorter the old delay.",
    "The percentage lies in 0 to 45 % in each of the six cells; rank correlation of percentage and "
    "delay ratio > 0.7.",
    figures=("2",),
    needs=sweeps(F2_200_MBB.values(), REGULAR),
)
def f2d(runs: Runs) -> Finding:
    share = {ms: with_spurious_rto(runs, cell) for ms, cell in F2_200_MBB.items()}
    checks = [between(f"{ms} ms", value, 0.0, 0.45, percent) for ms, value in share.items()]
    order = rank_correlation([sc.delay_ratio(ms) for ms in share], list(share.values()))
    checks.append(Check("rank correlation", ratio(order), order > 0.7))
    return found(checks)


@LEDGER.claim(
    "D08-F2e",
    "Break-before-make at 6400 kbit/s: the transfer time has a sharp maximum for 75 to 300 ms.",
    "The largest of the six medians is the one at old delay 75 ms.",
    figures=("2",),
    needs=sweeps(F2_6400_BBM.values(), REGULAR),
)
def f2e(runs: Runs) -> Finding:
    values = {ms: median(runs, cell) for ms, cell in F2_6400_BBM.items()}
    top = max(values, key=lambda ms: values[ms])
    return found([yes("median over old delay (ms)", top == 75, medians_text(values.items()))])


@LEDGER.claim(
    "D08-F2f",
    "Break-before-make from 75 to 300 ms at 6400 kbit/s: one expiry during the disconnection and a "
    "second one to recover, which leaves ssthresh at two segments; the new link stays unused for "
    "100 to 300 ms.",
    "Mean number of RTOs per instant in 1.8 to 2.2; smallest ssthresh after the break is 2 at more "
    "than 80 % of the instants; median unused time in 100 to 300 ms.",
    figures=("2",),
    needs=sweeps([F2_6400_BBM[75]], REGULAR),
)
def f2f(runs: Runs) -> Finding:
    rows = table(runs, F2_6400_BBM[75])
    low, waiting = rows["ssthresh_min"], unused_s(rows)
    at_two = float("nan") if np.isnan(low).all() else rows.share(low == 2)
    within = rows.share(rows.seconds("first_rto_ns") < 0.5)
    rto = quantile(rows.seconds("rto_ns")[rows["in_rto_recovery_at_make"] == 1], 0.5)
    note = (
        f"Unused time, quartiles: {quantile(waiting, 0.25):.2f}, {quantile(waiting, 0.5):.2f}, "
        f"{quantile(waiting, 0.75):.2f} s; in 100 to 300 ms at "
        f"{percent(float(np.mean((waiting >= 0.1) & (waiting <= 0.3))))} of the instants in RTO "
        "recovery. The second RTO comes three times the RTO after the last ACK, and the RTO is "
        f"{rto:.2f} s at the break in the median; 100 to 300 ms would need an RTO of about 0.25 s."
    )
    return found(
        [
            between("mean RTOs", rows.mean("nrto"), 1.8, 2.2, number),
            Check("ssthresh 2", percent(at_two), None if math.isnan(at_two) else at_two > 0.8),
            between("median unused time", median_unused_s(rows), 0.1, 0.3, milliseconds),
        ],
        context=f"First expiry within 500 ms at {percent(within)} of the instants.",
        note=note,
        why=f"The RTO at the break is {rto:.2f} s in the median; the paper's unused time would "
        "need about 0.25 s",
    )


@LEDGER.claim(
    "D08-F2g",
    "Break-before-make from 150 to 300 ms at 6400 kbit/s: the timer does not expire during the "
    "disconnection, and one RTO recovers the losses.",
    "Mean number of RTOs per instant <= 1.3.",
    figures=("2",),
    needs=sweeps([F2_6400_BBM[150]], REGULAR),
)
def f2g(runs: Runs) -> Finding:
    rows = table(runs, F2_6400_BBM[150])
    within = rows.share(rows.seconds("first_rto_ns") < 0.5)
    return found(
        [at_most("mean RTOs", rows.mean("nrto"), 1.3, number)],
        context=f"Expiry within 500 ms at {percent(within)} of the instants.",
    )


@LEDGER.claim(
    "D08-F2h",
    "Break-before-make at 200 kbit/s: the transfer time is about the same for every old delay.",
    "Largest over smallest of the six medians < 1.25.",
    figures=("2",),
    needs=sweeps(F2_200_BBM.values(), REGULAR),
)
def f2h(runs: Runs) -> Finding:
    values = {ms: median(runs, cell) for ms, cell in F2_200_BBM.items()}
    spread = max(values.values()) / min(values.values())
    return found(
        [below("max/min", spread, 1.25, ratio)], context=medians_text(values.items()) + "."
    )


F2I_CELLS = {
    f"{kbps} kbit/s {ms} ms": UP(kbps, ms, MBB) for kbps in sc.DELAY_BANDWIDTHS for ms in sc.DELAYS
}
SLOW_START = ("slow-start", "overshoot")


@LEDGER.claim(
    "D08-F2i",
    "A make-before-break handoff from a short to a long delay typically loses nothing.",
    "In each of the 18 cells (200, 1600, 6400 kbit/s): mean number of data segments lost from the "
    "handoff to the end of the transfer < 1, over the instants that are not in slow start or its "
    "overshoot.",
    figures=("2",),
    needs=sweeps(F2I_CELLS.values(), REGULAR),
)
def f2i(runs: Runs) -> Finding:
    checks, parts = [], []
    for name, cell in F2I_CELLS.items():
        rows = table(runs, cell)
        steady = ~np.isin(rows["phase"], SLOW_START)
        checks.append(below(name, rows.mean("drops_data", steady), 1.0, number))
        if checks[-1].passed is False:
            hit = rows.share(rows["drops_data"][steady] > 0)
            parts.append(f"{name}: a loss at {percent(hit)} of these instants")
    return found(checks, note="; ".join(parts) + "." if parts else "")


#: The cell of F2j: the ratio of Fig 8 at equal bandwidth, in congestion avoidance.
F2J = Trace(UP(6400, 9, MBB), REGULAR, 8.2, 30.0)


@LEDGER.claim(
    "D08-F2j",
    "After a spurious RTO the sender retransmits its whole window needlessly and continues in "
    "congestion avoidance with a smaller window.",
    "In the trace of 6400/9 to 6400/300, make-before-break at 8.2 s: a spurious RTO; at least the "
    "window outstanding at that RTO less one is sent again (an acknowledgment of two segments "
    "spares one), none of it lost before; then ssthresh is at most half that window and cwnd grows "
    "past ssthresh.",
    figures=("2",),
    needs=(F2J,),
)
def f2j(runs: Runs) -> Finding:
    log = runs.trace(F2J)
    spurious = [time_s for time_s, needless in timeouts(log) if needless and time_s > 8.2]
    if not spurious:
        return found([yes("spurious RTO", False, timeouts_text(log))])
    window, again, needless = resent_window(log, spurious[0])
    ssthresh = ssthresh_after(log, spurious[0])
    cwnd = log.of("cwnd").within(spurious[0])
    return found(
        [
            yes("spurious RTO", True, instant(spurious[0])),
            at_least(f"sent again of {window} outstanding", again, window - 1, count),
            yes("needlessly", needless == again, f"{needless} of {again}"),
            at_most("ssthresh after the RTO", ssthresh, window / 2, count),
            at_least("largest cwnd after it", float(cwnd.value.max()), ssthresh, number),
        ]
    )


# Section 4.1, from a long to a short delay (Fig 3)

F3_1600 = {kind: delays(DOWN, 1600, kind) for kind in sc.KINDS}
F3_6400 = {kind: delays(DOWN, 6400, kind) for kind in sc.KINDS}
F3_200 = {kind: delays(DOWN, 200, kind) for kind in sc.KINDS}


@LEDGER.claim(
    "D08-F3a",
    "From 300 ms to 18, 9 or 1 ms at 1600 kbit/s, make-before-break takes about as long as "
    "break-before-make, or longer.",
    "At 18, 9, 1 ms each: the make-before-break median is at least 0.5 of the break-before-make "
    "median, and above the make-before-break median at 75 ms.",
    figures=("3",),
    needs=sweeps((F3_1600[kind][ms] for ms in (75, 18, 9, 1) for kind in sc.KINDS), REGULAR),
)
def f3a(runs: Runs) -> Finding:
    at_75 = median(runs, F3_1600[MBB][75])
    checks, by_ack = [], []
    for ms in (18, 9, 1):
        mbb, bbm = (table(runs, F3_1600[kind][ms]) for kind in sc.KINDS)
        value = mbb.transfer_time.median
        checks.append(at_least(f"{ms} ms MBB/BBM", value / bbm.transfer_time.median, 0.5, ratio))
        checks.append(
            Check(f"{ms} ms MBB against 75 ms", f"{value:.2f} s > {at_75:.2f} s", value > at_75)
        )
        by_ack.append(f"{ms} ms: {value / quantile(bbm.seconds('t_ack_ns'), 0.5):.2f}")
    return found(
        checks,
        note="A break-before-make transfer also sends again what the break lost, before any new "
        f"segment counts: {np.median(table(runs, F3_1600[BBM][1])['flight']):.0f} segments "
        "(median). If its 100 segments were counted from the highest ACK at the break instead, "
        "the ratio would be " + ", ".join(by_ack) + ".",
    )


@LEDGER.claim(
    "D08-F3b",
    "At 1600 kbit/s to 9 and 1 ms, make-before-break: the quartiles lie far apart because the "
    "number of RTOs varies.",
    "Upper over lower quartile >= 1.5 at 1 ms.",
    figures=("3",),
    needs=sweeps((F3_1600[MBB][ms] for ms in (9, 1)), REGULAR),
)
def f3b(runs: Runs) -> Finding:
    rows = {ms: table(runs, F3_1600[MBB][ms]) for ms in (9, 1)}
    spread = {ms: r.transfer_time.q3 / r.transfer_time.q1 for ms, r in rows.items()}
    rtos = {ms: np.unique(r["nrto"], return_counts=True) for ms, r in rows.items()}
    histogram = ", ".join(f"{int(n)}: {int(c)}" for n, c in zip(*rtos[1], strict=True))
    return found(
        [at_least("1 ms q3/q1", spread[1], 1.5, ratio)],
        context=f"9 ms q3/q1: {ratio(spread[9])}. RTOs per instant at 1 ms: {histogram}.",
    )


@LEDGER.claim(
    "D08-F3c",
    "At 200 kbit/s, make-before-break: the transfer time hardly depends on the new delay.",
    "Largest over smallest of the six medians < 1.2.",
    figures=("3",),
    needs=sweeps(F3_200[MBB].values(), REGULAR),
)
def f3c(runs: Runs) -> Finding:
    values = {ms: median(runs, cell) for ms, cell in F3_200[MBB].items()}
    spread = max(values.values()) / min(values.values())
    return found([below("max/min", spread, 1.2, ratio)], context=medians_text(values.items()) + ".")


@LEDGER.claim(
    "D08-F3d",
    "From a long to a short delay, break-before-make takes longer than make-before-break.",
    "At each bandwidth (200, 1600, 6400 kbit/s): the break-before-make median is the larger in at "
    "least 4 of the 6 cells.",
    figures=("3",),
    needs=sweeps(
        (
            DOWN(kbps, ms, kind)
            for kbps in sc.DELAY_BANDWIDTHS
            for ms in sc.DELAYS
            for kind in sc.KINDS
        ),
        REGULAR,
    ),
)
def f3d(runs: Runs) -> Finding:
    checks, reverse = [], []
    for kbps in sc.DELAY_BANDWIDTHS:
        worse = []
        for ms in sc.DELAYS:
            mbb, bbm = (median(runs, DOWN(kbps, ms, kind)) for kind in sc.KINDS)
            if bbm > mbb:
                worse.append(ms)
            else:
                reverse.append(f"{kbps} kbit/s {ms} ms ({bbm:.2f} s against {mbb:.2f} s)")
        checks.append(Check(f"{kbps} kbit/s", f"{len(worse)} of 6", len(worse) >= 4))
    return found(
        checks, context="BBM is not the slower in " + ", ".join(reverse) + "." if reverse else ""
    )


@LEDGER.claim(
    "D08-F3e",
    "6400 kbit/s behaves like 1600 kbit/s: make-before-break takes longer the shorter the new "
    "delay.",
    "At 6400 kbit/s, make-before-break: the median at 1 ms is above the one at 150 ms, and the "
    "rank correlation of median and delay ratio is > 0.7.",
    figures=("3",),
    needs=sweeps(F3_6400[MBB].values(), REGULAR),
)
def f3e(runs: Runs) -> Finding:
    values = {ms: median(runs, cell) for ms, cell in F3_6400[MBB].items()}
    order = rank_correlation([sc.delay_ratio(ms) for ms in values], list(values.values()))
    return found(
        [
            yes("1 ms above 150 ms", values[1] > values[150], f"{values[1]:.2f} s"),
            Check("rank correlation", ratio(order), order > 0.7),
        ],
        context=medians_text(values.items()) + ".",
    )


F3F_CELLS = {
    f"{kbps} kbit/s {ms} ms": DOWN(kbps, ms, MBB)
    for kbps in sc.DELAY_BANDWIDTHS
    for ms in sc.DELAYS
}


@LEDGER.claim(
    "D08-F3f",
    "At equal bandwidth, the reordering of a make-before-break handoff to a shorter delay seldom "
    "triggers a false fast retransmit.",
    "In each of the 18 cells (200, 1600, 6400 kbit/s): fast recovery for a segment that was not "
    "lost at < 20 % of the instants.",
    figures=("3",),
    needs=sweeps(F3F_CELLS.values(), REGULAR),
)
def f3f(runs: Runs) -> Finding:
    checks, parts = [], []
    for name, cell in F3F_CELLS.items():
        rows = table(runs, cell)
        false = rows["false_fast_rexmits"] >= 1
        checks.append(below(name, rows.share(false), 0.20, percent))
        if checks[-1].passed is False:
            idle = int((false & (rows["flight"] < cell.old.bdp)).sum())
            parts.append(f"{name} {idle} of {int(false.sum())}")
    note = (
        "When less is outstanding than the old link holds, the link is idle between the bursts of "
        "a window, and three segments together can overtake one burst. Instants with a false fast "
        "retransmit and less than the old link's bandwidth-delay product outstanding: "
        + ", ".join(parts)
        + "."
    )
    return found(checks, note=note)
