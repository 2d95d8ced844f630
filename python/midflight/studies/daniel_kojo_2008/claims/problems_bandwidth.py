"""Sections 4.2 and 4.3: how a change of the bandwidth affects regular TCP (F4 to F7)."""

from __future__ import annotations

import numpy as np

from midflight.claims import (
    Check,
    Finding,
    Ledger,
    Reading,
    at_least,
    below,
    between,
    percent,
)
from midflight.results import EventLog, RunTable, quantile
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.common import (
    STAGES,
    count,
    found,
    instant,
    median,
    median_unused_s,
    medians_text,
    milliseconds,
    nth,
    number,
    ratio,
    steps,
    table,
    timeouts,
    timeouts_text,
    with_spurious_rto,
    yes,
)
from midflight.studies.daniel_kojo_2008.scenarios import (
    BBM,
    MBB,
    REGULAR,
    sweeps,
)
from midflight.studies.runs import Cell, Kind, Link, Runs, Trace

LEDGER = Ledger()

NARROWER, WIDER = sc.high_to_low_bandwidth, sc.low_to_high_bandwidth


def rates(make: sc.CellOfDelay, ms: int, kind: Kind) -> dict[int, Cell]:
    """The cells of one delay over the varied bandwidth."""
    return {kbps: make(kbps, ms, kind) for kbps in sc.BANDWIDTHS}


# Section 4.2: equal delay (Figs 4 and 5)

F4_300 = {kind: rates(NARROWER, 300, kind) for kind in sc.KINDS}
START_6400_300 = sc.start_of(Link(6400, 300))
START_800_300 = sc.start_of(Link(800, 300))


def first_overflow_s(log: EventLog) -> float:
    """When a queue first drops a data segment, in seconds."""
    return log.dropped().first_s


@LEDGER.claim(
    "D08-F4a",
    "A connection over 6400 kbit/s and 300 ms overshoots at the end of slow start at about 9.3 s.",
    "The first queue drop of a run without a handoff falls in 9.2 to 9.4 s.",
    figures=("4",),
    needs=(START_6400_300,),
)
def f4a(runs: Runs) -> Finding:
    log = runs.trace(START_6400_300)
    return found([between("first drop", first_overflow_s(log), 9.2, 9.4, instant)])


@LEDGER.claim(
    "D08-F4b",
    "At 300 ms from 6400 to 200 kbit/s, make-before-break: the upper quartile is almost twice the "
    "median.",
    "Upper quartile over median >= 1.7.",
    figures=("4",),
    needs=sweeps([F4_300[MBB][200]], REGULAR),
)
def f4b(runs: Runs) -> Finding:
    rows = table(runs, F4_300[MBB][200])
    quartile = rows.transfer_time
    slow = rows.transfer_time_s >= quartile.q3
    early = rows.instant_s[slow]
    return found(
        [at_least("q3/median", quartile.q3 / quartile.median, 1.7, ratio)],
        context=f"Quartiles {quartile.q1:.2f}, {quartile.median:.2f}, {quartile.q3:.2f} s; the "
        f"slowest quarter hands off between {early.min():.1f} and {early.max():.1f} s.",
    )


@LEDGER.claim(
    "D08-F4c",
    "At 300 ms from 6400 kbit/s: the transfer takes longest to 200 kbit/s and less the more "
    "bandwidth the new link has.",
    "The median falls at each step 200, 400, 800, 1600, 3200 kbit/s (make-before-break and "
    "break-before-make each).",
    figures=("4",),
    needs=sweeps((c for k in sc.KINDS for c in F4_300[k].values()), REGULAR),
)
def f4c(runs: Runs) -> Finding:
    checks = []
    for kind in sc.KINDS:
        values = {kbps: median(runs, cell) for kbps, cell in F4_300[kind].items()}
        checks += steps(values, f"kbit/s {kind.upper()}", rising=False)
    return found(checks)


@LEDGER.claim(
    "D08-F4d",
    "At equal delay and to less bandwidth, break-before-make takes longer than make-before-break.",
    "In each of the 20 pairs of cells from 6400 kbit/s (300, 75, 9, 1 ms; 200 to 3200 kbit/s) the "
    "break-before-make median is the larger.",
    figures=("4",),
    needs=sweeps(
        (
            NARROWER(kbps, ms, kind)
            for ms in sc.BANDWIDTH_DELAYS
            for kbps in sc.BANDWIDTHS
            for kind in sc.KINDS
        ),
        REGULAR,
    ),
)
def f4d(runs: Runs) -> Finding:
    checks = []
    for ms in sc.BANDWIDTH_DELAYS:
        for kbps in sc.BANDWIDTHS:
            mbb, bbm = (median(runs, NARROWER(kbps, ms, kind)) for kind in sc.KINDS)
            checks.append(Check(f"{kbps} kbit/s {ms} ms", f"{bbm:.2f} s > {mbb:.2f} s", bbm > mbb))
    return found(checks)


F4E_CELL = NARROWER(200, 9, MBB)
#: An instant in congestion avoidance with a spurious RTO at 300 ms.
F4E_TRACE = Trace(F4_300[MBB][200], REGULAR, 17.0, 27.0)


@LEDGER.claim(
    "D08-F4e",
    "From 6400 kbit/s to less at equal delay, make-before-break: spurious RTOs occur at 9 and 1 ms "
    "and never at 300 ms.",
    "Spurious RTO (by what happened to the segments, not by what the sender could know) at > 25 % "
    "of the instants to 200 kbit/s at 9 ms; at < 5 % in each of the five cells at 300 ms.",
    figures=("4",),
    needs=(*sweeps([F4E_CELL, *F4_300[MBB].values()], REGULAR), F4E_TRACE),
)
def f4e(runs: Runs) -> Finding:
    short = with_spurious_rto(runs, F4E_CELL)
    long = {kbps: with_spurious_rto(runs, cell) for kbps, cell in F4_300[MBB].items()}
    checks = [Check("200 kbit/s 9 ms", percent(short), short > 0.25)]
    checks += [below(f"{kbps} kbit/s 300 ms", v, 0.05, percent) for kbps, v in long.items()]
    after_fast = []
    for kbps, cell in F4_300[MBB].items():
        rows = table(runs, cell)
        hit = rows["nspur"] >= 1
        if hit.any():
            share = float(np.mean(rows["fast_rexmits"][hit] >= 1))
            after_fast.append(f"{kbps} kbit/s {percent(share, 0)}")
    log = runs.trace(F4E_TRACE).within(17.0)
    fast = log.of("fast_retransmit")
    expiry = nth([t for t, needless in timeouts(log) if needless and t > fast.first_s], 0)
    late = log.ack_time(int(fast.value[0]), fast.first_s) if len(fast) else float("nan")
    note = (
        "Under the strict definition (the segment and its acknowledgment were both delivered) the "
        f"RTO is spurious at {percent(min(long.values()))} to {percent(max(long.values()))} of the "
        "instants at 300 ms, as in ns-2 itself: a fast retransmit waits in the queue of the slower "
        "link and the RTO of the old path fires before its ACK. For example, handoff to 200 kbit/s "
        f"at 17.0 s: fast retransmit at {instant(fast.first_s)}, RTO at {instant(expiry)}, ACK of "
        f"the retransmission at {instant(late)}. Share of these instants with a fast retransmit "
        "after the handoff: " + ", ".join(after_fast) + "."
    )
    return found(checks, note=note)


@LEDGER.claim(
    "D08-F4f",
    "At 300 ms from 6400 to 200 kbit/s during the recovery from the slow-start overshoot: a series "
    "of RTOs is needed, because the path shrinks from 320 packets to ten.",
    "Mean number of RTOs per instant >= 3 for make-before-break handoffs at 9.4 to 13.0 s.",
    figures=("4",),
    needs=sweeps([F4_300[MBB][200]], REGULAR),
)
def f4f(runs: Runs) -> Finding:
    rows = table(runs, F4_300[MBB][200])
    early = (rows.instant_s > 9.35) & (rows.instant_s < 13.05)
    mean = rows.mean("nrto", early)
    n, c = np.unique(rows["nrto"][early], return_counts=True)
    note = "Instants by number of RTOs: " + ", ".join(
        f"{int(a)}: {int(b)}" for a, b in zip(n, c, strict=True)
    )
    return found(
        [at_least("mean RTOs", mean, 3.0, number)],
        note=note + ".",
        context=f"Over all instants: {rows.mean('nrto'):.2f}.",
    )


F5_300 = {kind: rates(WIDER, 300, kind) for kind in sc.KINDS}
F5_9_BBM = rates(WIDER, 9, BBM)


@LEDGER.claim(
    "D08-F5a",
    "At 300 ms to 6400 kbit/s, make-before-break: the transfer time depends on the old link's rate "
    "although the new link is always the same.",
    "Over the old rates 200, 400, 800, 1600, 3200 kbit/s the largest median is at least twice the "
    "smallest, and the largest is at 800, which the paper calls the worst affected.",
    figures=("5",),
    needs=sweeps(F5_300[MBB].values(), REGULAR),
)
def f5a(runs: Runs) -> Finding:
    values = {kbps: median(runs, cell) for kbps, cell in F5_300[MBB].items()}
    recovering, slow = [], []
    for kbps, cell in F5_300[MBB].items():
        rows = table(runs, cell)
        at = np.isin(rows["phase"], STAGES["overshoot and recovery"])
        recovering.append(f"{kbps}: {at.sum()}")
        slow.append((kbps, quantile(rows.transfer_time_s[at], 0.5)))
    worst = max(values, key=lambda kbps: values[kbps])
    return found(
        [
            at_least(
                "largest over smallest median", max(values.values()) / min(values.values()), 2.0
            ),
            yes("largest", worst == 800, f"{values[worst]:.2f} s at {worst} kbit/s"),
        ],
        context=f"Medians: {medians_text(values.items())}. From 800 kbit/s the recovery from the "
        "slow-start overshoot needs two RTOs (D08-F5c) and lasts for many of the 200 instants. "
        "Instants in the overshoot or in loss recovery: "
        + ", ".join(recovering)
        + "; their medians: "
        + medians_text(slow)
        + ".",
        readings=[
            Reading(
                "The median falls at each step of the old rate, which contradicts D08-F5b",
                steps(values, "kbit/s", rising=False),
            )
        ],
    )


@LEDGER.claim(
    "D08-F5b",
    "At 300 ms to 6400 kbit/s the worst affected old link is 800 kbit/s.",
    "RunFiles: the upper quartile (make-before-break) at 800 kbit/s is above those at 400 and at "
    "1600 kbit/s.",
    figures=("5",),
    needs=sweeps(F5_300[MBB].values(), REGULAR),
)
def f5b(runs: Runs) -> Finding:
    upper = {kbps: table(runs, cell).transfer_time.q3 for kbps, cell in F5_300[MBB].items()}
    return found(
        [
            Check(
                f"q3 at 800 against {other} kbit/s",
                f"{upper[800]:.2f} s > {upper[other]:.2f} s",
                upper[800] > upper[other],
            )
            for other in (400, 1600)
        ],
        note="Upper quartiles: " + medians_text(upper.items()) + ".",
    )


@LEDGER.claim(
    "D08-F5c",
    "A connection over 800 kbit/s and 300 ms overshoots at about 6.5 s and loses about 120 "
    "packets; the first is recovered by fast retransmit, a spurious RTO and another RTO follow.",
    "The first queue drop of a run without a handoff falls in 6.3 to 6.6 s. RunFiles: 108 to 132 "
    "segments (120 +- 10 %) are lost before the first RTO; a fast retransmit, then a spurious RTO, "
    "then another RTO.",
    figures=("5",),
    needs=(START_800_300,),
)
def f5c(runs: Runs) -> Finding:
    log = runs.trace(START_800_300)
    start = first_overflow_s(log)
    fast = log.of("fast_retransmit").first_s
    expiries = timeouts(log)
    first_rto = expiries[0][0] if expiries else float("inf")
    window = log.flight_size(fast)
    lost = len(np.unique(log.dropped().within(start, first_rto).value))
    sequence = fast < first_rto and len(expiries) >= 2 and expiries[0][1]
    return found(
        [
            between("first drop", start, 6.3, 6.6, instant),
            between("segments lost before the first RTO", lost, 108, 132, count),
            yes(
                "fast retransmit, spurious RTO, RTO",
                sequence,
                f"{instant(fast)}; {timeouts_text(log)}",
            ),
        ],
        note=f"{window} segments are outstanding at the fast retransmit, of which {lost} are lost: "
        "with delayed ACKs slow start sends three segments for every two that leave the queue, so "
        "one in three arrives at a full queue. The paper's number may be the window.",
    )


@LEDGER.claim(
    "D08-F5d",
    "Break-before-make at 9 ms to 6400 kbit/s: the new link stays unused for about 700 ms when the "
    "old link had 200 kbit/s and for 100 ms from 800 kbit/s.",
    "Median time from the make to the next retransmission by timer, over the instants in RTO "
    "recovery at the make: 600 to 800 ms at 200 kbit/s; 80 to 120 ms at 800, 1600, 3200 kbit/s "
    "each.",
    figures=("5",),
    needs=sweeps(F5_9_BBM.values(), REGULAR),
)
def f5d(runs: Runs) -> Finding:
    rows = {kbps: table(runs, cell) for kbps, cell in F5_9_BBM.items()}
    unused = {kbps: median_unused_s(r) for kbps, r in rows.items()}
    checks = [between("200 kbit/s", unused[200], 0.6, 0.8, milliseconds)]
    checks += [
        between(f"{kbps} kbit/s", unused[kbps], 0.08, 0.12, milliseconds)
        for kbps in (800, 1600, 3200)
    ]
    waiting = ", ".join(
        f"{kbps}: {percent(r.share(r['in_rto_recovery_at_make'] == 1), 0)}"
        for kbps, r in rows.items()
    )
    return found(
        checks,
        context=f"400 kbit/s: {milliseconds(unused[400])}. Instants in RTO recovery at the make: "
        f"{waiting}.",
        note=_unused_note(rows),
    )


def _unused_note(rows: dict[int, RunTable]) -> str:
    """The retransmission timeout that the senders had at the break, by old rate."""
    rto = ", ".join(
        f"{kbps} kbit/s {np.median(r.seconds('rto_ns')):.2f} s" for kbps, r in rows.items()
    )
    return (
        "The unused time follows from the RTO at the break, which doubles at each expiry. Median "
        f"RTO at the break: {rto}."
    )


# Section 4.3: equal bandwidth-delay product (Figs 6 and 7)

SLOW = {kind: {p.kbps: sc.to_slow(p, kind) for p in sc.SLOW_PARTNERS} for kind in sc.KINDS}
FAST = {kind: {p.kbps: sc.to_fast(p, kind) for p in sc.FAST_PARTNERS} for kind in sc.KINDS}
#: Old rates with a ratio of at least eight to 200 kbit/s.
FAR_RATES = (1600, 3200, 6400)


@LEDGER.claim(
    "D08-F6a",
    "To 200/300 at equal bandwidth-delay product, make-before-break: spurious RTOs at more than "
    "90 % of the instants when bandwidth and delay change by a factor of eight or more.",
    "From 1600/37, 3200/18 and 6400/9 each: >= 90 % of the instants have a spurious RTO.",
    figures=("6",),
    needs=sweeps((SLOW[MBB][k] for k in FAR_RATES), REGULAR),
)
def f6a(runs: Runs) -> Finding:
    return found(
        [
            at_least(str(SLOW[MBB][k].old), with_spurious_rto(runs, SLOW[MBB][k]), 0.9, percent)
            for k in FAR_RATES
        ]
    )


@LEDGER.claim(
    "D08-F6b",
    "To 200/300, make-before-break from 1600 kbit/s or more: late ACKs arrive in bursts and many "
    "packets are lost.",
    "Mean number of lost data segments from 1600/37, 3200/18 and 6400/9 each >= 2 times the larger "
    "one of those from 400/150 and 800/75.",
    figures=("6",),
    needs=sweeps(SLOW[MBB].values(), REGULAR),
)
def f6b(runs: Runs) -> Finding:
    drops = {k: table(runs, cell).mean("drops_data") for k, cell in SLOW[MBB].items()}
    low = max(drops[400], drops[800])
    return found(
        [at_least(f"{SLOW[MBB][k].old}", drops[k], 2 * low, number) for k in FAR_RATES],
        context=f"400/150: {drops[400]:.2f}; 800/75: {drops[800]:.2f}.",
        note="Mean losses per handoff: "
        + ", ".join(f"{SLOW[MBB][k].old} {v:.2f}" for k, v in drops.items())
        + ".",
    )


@LEDGER.claim(
    "D08-F6c",
    "To 200/300, break-before-make: unused connection time and the reduced ssthresh make the "
    "transfer longer than it is from the link with the smallest change.",
    "The medians from 800/75, 1600/37, 3200/18 and 6400/9 are each above the one from 400/150.",
    figures=("6",),
    needs=sweeps(SLOW[BBM].values(), REGULAR),
)
def f6c(runs: Runs) -> Finding:
    values = {k: median(runs, cell) for k, cell in SLOW[BBM].items()}
    return found(
        [
            Check(
                str(SLOW[BBM][k].old),
                f"{values[k]:.2f} s > {values[400]:.2f} s",
                values[k] > values[400],
            )
            for k in (800, *FAR_RATES)
        ]
    )


@LEDGER.claim(
    "D08-F7a",
    "To 6400/9, break-before-make: the transfer time peaks at 800/75, where the unused time is "
    "longest; from 200/300 and 400/150 a high RTO delays the recovery.",
    "The median from 800/75 is above those from 400/150 and from 1600/37.",
    figures=("7",),
    needs=sweeps(FAST[BBM].values(), REGULAR),
)
def f7a(runs: Runs) -> Finding:
    rows = {k: table(runs, cell) for k, cell in FAST[BBM].items()}
    values = {k: r.transfer_time.median for k, r in rows.items()}
    details = ", ".join(
        f"{FAST[BBM][k].old}: {values[k]:.2f} s, first RTO after "
        f"{np.nanmedian(r.seconds('first_rto_ns')):.2f} s, {r.mean('nrto'):.2f} RTOs, unused "
        f"{milliseconds(median_unused_s(r))}"
        for k, r in rows.items()
    )
    return found(
        [
            Check(
                f"800/75 against {FAST[BBM][k].old}",
                f"{values[800]:.2f} s > {values[k]:.2f} s",
                values[800] > values[k],
            )
            for k in (400, 1600)
        ],
        context=details + ".",
        note="Medians: "
        + medians_text((FAST[BBM][k].old, value) for k, value in values.items())
        + ".",
    )


@LEDGER.claim(
    "D08-F7b",
    "To 6400/9, make-before-break: packets overtake each other.",
    "In each of the five cells (all have a delay ratio of at least 2): some segment reaches the "
    "mobile node after a higher one that overtook it.",
    figures=("7",),
    needs=sweeps(FAST[MBB].values(), REGULAR),
)
def f7b(runs: Runs) -> Finding:
    checks = []
    for cell in FAST[MBB].values():
        rows = table(runs, cell)
        total = float(rows["reordered"].sum())
        hit = rows.share(rows["reordered"] > 0)
        checks.append(
            Check(str(cell.old), f"{rows.mean('reordered'):.2f} ({percent(hit, 0)})", total > 0)
        )
    return found(checks, context="Mean overtaken segments per handoff (instants with any).")
