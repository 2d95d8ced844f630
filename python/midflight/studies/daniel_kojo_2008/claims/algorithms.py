"""Section 5: the algorithms A1 to A5, and the single runs that show them (F8-F16, F25)."""

from __future__ import annotations

import math

import numpy as np

from midflight.claims import Check, Finding, Ledger, Reading, at_least, between, near
from midflight.results import EventLog
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.common import (
    EXACT_S,
    MIN_RTO_S,
    count,
    found,
    highest_min_rto,
    instant,
    milliseconds,
    nth,
    orders,
    resent_window,
    ssthresh_after,
    table,
    timeouts,
    timeouts_text,
    traced,
    until_done,
    yes,
)
from midflight.studies.daniel_kojo_2008.scenarios import (
    ENHANCED,
    ENHANCED_A5,
    MBB,
    Example,
    sweeps,
)
from midflight.studies.runs import Runs, Trace

LEDGER = Ledger()


def a1_formula_ms(runs: Runs, example: Example, case: int, packets: int) -> float:
    """The minimum RTO that A1 sets, in ms: `packets` is FlightSize (case 3: pipe)."""
    cell = example.cell
    return float(runs.core.a1_min_rto_ms(case, cell.old.core, cell.new.core, packets))


def formula_check(value_ms: float, target_ms: float, what: str) -> Check:
    """An exact value of a formula, to the digits that the requirement prints."""
    return Check(what, f"{value_ms:.3f} ms", abs(value_ms - target_ms) < 1e-6 * target_ms)


def no_timeouts(log: EventLog, at_s: float) -> Check:
    """Enhanced TCP: no RTO from the handoff until 100 new segments are acknowledged."""
    text = timeouts_text(until_done(log, at_s))
    return yes("enhanced, RTOs until 100 new segments are acknowledged", text == "none", text)


def last_fast_retransmit(log: EventLog, before_s: float) -> tuple[float, int]:
    """Time and segment of the last fast retransmit before an instant."""
    events = log.of("fast_retransmit").within(0.0, before_s)
    if not len(events):
        return float("nan"), -1
    return float(events.time_s[-1]), int(events.value[-1])


@LEDGER.claim(
    "D08-F8",
    "6400/9 to 200/300, make-before-break at 8.2 s. Regular: the RTO of 200 ms fires spuriously at "
    "8.4 s, a window is sent again, a second spurious RTO follows at 9.7 s. Enhanced: A1 raises "
    "the minimum RTO to 552 ms and no RTO fires.",
    "Regular: a spurious RTO at 8.4 +- 0.05 s, and at least the window outstanding at it less one "
    "is sent again (an acknowledgment of two segments spares one). Formula: minimum RTO of case 1 "
    "with FlightSize 21 is exactly 551.85 ms. Enhanced: no RTO until 100 new segments are "
    "acknowledged.",
    figures=("8",),
    needs=sc.FIG8.needs,
)
def f8(runs: Runs) -> Finding:
    at = sc.FIG8.at_s
    regular, enhanced = traced(runs, sc.FIG8), traced(runs, sc.FIG8, ENHANCED)
    spurious = [t for t, needless in timeouts(regular.within(at)) if needless]
    first = nth(spurious, 0)
    checks = [near("regular, first spurious RTO", first, 8.4, 0.05, instant)]
    if not math.isnan(first):
        window, again, _ = resent_window(regular, first)
        checks.append(at_least(f"sent again of {window} outstanding", again, window - 1, count))
    value = a1_formula_ms(runs, sc.FIG8, 1, 21)
    checks.append(formula_check(value, 551.85, "formula, case 1, FlightSize 21"))
    checks.append(no_timeouts(enhanced, at))
    _, set_to = highest_min_rto(enhanced, at)
    seen = regular.of("ack").within(at + sc.SLOW.ms * 1e-3).first_s - at
    return found(
        checks,
        context=f"FlightSize at the handoff: {enhanced.flight_size(at)}; minimum RTO set: "
        f"{1e3 * set_to:.2f} ms; first ACK over the new path {milliseconds(seen)} after the "
        "handoff; spurious RTOs: " + ", ".join(instant(t) for t in spurious) + ".",
    )


@LEDGER.claim(
    "D08-F9",
    "800/75 to 200/300, make-before-break at 6.0 s, just after a fast retransmit. Regular: the "
    "retransmission is acknowledged after 529 ms and the RTO fires spuriously at 6.3 s. Enhanced: "
    "minimum RTO 1220 ms, no RTO.",
    "FlightSize at the handoff is 24 +- 1; the retransmitted segment is acknowledged 529 +- 15 ms "
    "after its retransmission; an RTO fires in 6.25 to 6.4 s. Formula: case 2 with FlightSize 24 "
    "is exactly 1221.6 ms. Enhanced: no RTO until 100 new segments are acknowledged.",
    figures=("9",),
    needs=sc.FIG9.needs,
)
def f9(runs: Runs) -> Finding:
    at = sc.FIG9.at_s
    regular, enhanced = traced(runs, sc.FIG9), traced(runs, sc.FIG9, ENHANCED)
    sent_s, segment = last_fast_retransmit(regular, at)
    expiries = timeouts(regular.within(at))
    return found(
        [
            near("FlightSize", regular.flight_size(at), 24, 1, count),
            near(
                "fast retransmit to its ACK",
                regular.ack_time(segment, sent_s) - sent_s,
                0.529,
                0.015,
                milliseconds,
            ),
            between("first RTO", nth([t for t, _ in expiries], 0), 6.25, 6.4, instant),
            formula_check(
                a1_formula_ms(runs, sc.FIG9, 2, 24), 1221.6, "formula, case 2, FlightSize 24"
            ),
            no_timeouts(enhanced, at),
        ],
        context=f"Fast retransmit at {instant(sent_s)}; regular RTOs: "
        f"{timeouts_text(regular.within(at, at + 5))}; minimum RTO set: "
        f"{1e3 * highest_min_rto(enhanced, at)[1]:.1f} ms. {regular.flight_size(sent_s)} segments "
        "are outstanding at the fast retransmit.",
        readings=[
            Reading(
                "FlightSize exactly 24 (ns-2 itself has 23)",
                [near("FlightSize", regular.flight_size(at), 24, 0, count)],
            )
        ],
    )


@LEDGER.claim(
    "D08-F10",
    "400/150 to 200/300, make-before-break at 10.9 s. Regular: the third dupack arrives at 11.6 s, "
    "the retransmission waits in the new link's queue and the RTO of 850 ms fires spuriously at "
    "12.4 s. Enhanced: minimum RTO 2.12 s, no RTO.",
    "Fast retransmit at 11.6 +- 0.05 s; a spurious RTO in 12.3 to 12.6 s. Formula: case 3 with "
    "pipe 21 is exactly 2121.6 ms. Enhanced: no RTO until 100 new segments are acknowledged.",
    figures=("10",),
    needs=sc.FIG10.needs,
)
def f10(runs: Runs) -> Finding:
    at = sc.FIG10.at_s
    regular, enhanced = traced(runs, sc.FIG10), traced(runs, sc.FIG10, ENHANCED)
    fast = regular.of("fast_retransmit").within(at).first_s
    spurious = [t for t, needless in timeouts(regular.within(at)) if needless]
    return found(
        [
            near("fast retransmit", fast, 11.6, 0.05, instant),
            between("spurious RTO", nth(spurious, 0), 12.3, 12.6, instant),
            formula_check(a1_formula_ms(runs, sc.FIG10, 3, 21), 2121.6, "formula, case 3, pipe 21"),
            no_timeouts(enhanced, at),
        ],
        context=f"Outstanding at the fast retransmit: {regular.flight_size(fast)}; regular RTOs: "
        f"{timeouts_text(regular.within(at, at + 5))}; minimum RTO set: "
        f"{1e3 * highest_min_rto(enhanced, at)[1]:.1f} ms.",
    )


# The listings, through real runs.  The trace has the orders of a policy with their author.


def _min_rto_check(
    runs: Runs, log: EventLog, example: Example, case: int, name: str
) -> list[Check]:
    """Checks that A1 set the minimum RTO of this case for the sender's FlightSize, and took it
    back."""
    at = example.at_s
    when, value = highest_min_rto(log, at)
    if math.isnan(value):
        return [yes(name, False, "minimum RTO not raised")]
    packets = log.flight_size(when) - (3 if case == 3 else 0)
    wanted = a1_formula_ms(runs, example, case, packets) * 1e-3
    covered = log.ack_time(log.highest_sent(at), at)
    restored = log.of("min_rto").within(covered - EXACT_S)
    back = len(restored) > 0 and abs(restored.value[-1] - MIN_RTO_S) < EXACT_S
    return [
        yes(
            f"{name}, minimum RTO",
            abs(value - wanted) < EXACT_S,
            f"{1e3 * value:.2f} ms for {packets} packets",
        ),
        yes(
            f"{name}, taken back",
            back,
            instant(restored.first_s) if back else "never",
        ),
    ]


@LEDGER.claim(
    "D08-F11",
    "Algorithm A1 raises the minimum RTO in its three cases, takes it back once the segments sent "
    "before the handoff are acknowledged, restarts the RTT estimation where the delay grows, and "
    "does nothing in RTO recovery.",
    "In the traces of Figs 8, 9, 10 under `enhanced`: the minimum RTO set equals the formula of "
    "case 1, 2, 3 for the FlightSize (case 3: less 3) of that instant; it is 0.2 s again after the "
    "segments sent before the handoff are acknowledged; the RTT is sampled anew after that. Fig 14 "
    "(in RTO recovery at the notice): no order of A1.",
    figures=("11",),
    needs=(*sc.FIG8.needs, *sc.FIG9.needs, *sc.FIG10.needs, *sc.FIG14.needs),
)
def f11(runs: Runs) -> Finding:
    checks = []
    for case, example in enumerate((sc.FIG8, sc.FIG9, sc.FIG10), start=1):
        log = traced(runs, example, ENHANCED)
        checks += _min_rto_check(runs, log, example, case, f"case {case}")
        covered = log.ack_time(log.highest_sent(example.at_s), example.at_s)
        sample = log.of("rtt_sample").within(covered - EXACT_S)
        checks.append(
            yes(f"case {case}, RTT sample after", len(sample) > 0, instant(sample.first_s))
        )
    quiet = orders(traced(runs, sc.FIG14, ENHANCED), "a1")
    checks.append(yes("in RTO recovery, orders of A1", len(quiet) == 0, str(len(quiet))))
    return found(checks)


def _window_check(
    runs: Runs, log: EventLog, example: Example, author: str, name: str
) -> list[Check]:
    """A2 or A5 set cwnd and ssthresh to the bandwidth-delay product of the new path."""
    bdp = int(runs.core.bdp_packets(example.cell.new.core))
    just_after = example.at_s + EXACT_S
    cwnd, ssthresh = log.last("cwnd", just_after), ssthresh_after(log, example.at_s)
    made = len(orders(log, author)) > 0
    return [
        yes(f"{name}, orders of {author.upper()}", made, str(len(orders(log, author)))),
        yes(
            f"{name}, cwnd and ssthresh for BDP {bdp}",
            cwnd == bdp and ssthresh == bdp,
            f"{cwnd:g} and {ssthresh:g}",
        ),
    ]


#: A2 acts while segments are already lost on the old link.
F13_TRACE = Trace(sc.high_to_low_bandwidth(200, 300, MBB), ENHANCED, 9.8, 15.0)


@LEDGER.claim(
    "D08-F13",
    "Algorithm A2 sets cwnd and ssthresh to the new path's bandwidth-delay product when more than "
    "twice that is outstanding, not otherwise and not in RTO recovery; a loss from before the "
    "handoff does not halve the window again.",
    "Fig 12 (39 outstanding, BDP 11) under `enhanced`: cwnd = ssthresh = 11 at the notice; Fig 24 "
    "(at most twice the BDP outstanding) and Fig 14 (RTO recovery): no order of A2. From 6400/300 "
    "to 200/300, make-before-break at 9.8 s (during the overshoot): the fast retransmit for a "
    "segment sent before the handoff changes neither cwnd nor ssthresh.",
    figures=("13",),
    needs=(*sc.FIG12.needs, *sc.FIG14.needs, *sc.FIG24.needs, F13_TRACE),
)
def f13(runs: Runs) -> Finding:
    checks = _window_check(runs, traced(runs, sc.FIG12, ENHANCED), sc.FIG12, "a2", "Fig 12")
    for example in (sc.FIG24, sc.FIG14):
        log = traced(runs, example, ENHANCED)
        made = len(orders(log, "a2"))
        checks.append(yes(f"Fig {example.figure}, orders of A2", made == 0, str(made)))
    log = runs.trace(F13_TRACE)
    at = log.of("fast_retransmit").within(9.8).first_s
    for window in ("cwnd", "ssthresh"):
        changes = len(log.of(window).within(at, at + EXACT_S))
        checks.append(
            yes(
                f"at {instant(at)}, {window} left alone by the fast retransmit",
                changes == 0,
                f"{changes} changes from {log.last(window, at):g}",
            )
        )
    return found(checks)


@LEDGER.claim(
    "D08-F15",
    "Algorithm A3 retransmits as soon as the new link is there, if the sender is in RTO recovery, "
    "and restores the ssthresh that the first RTO set.",
    "Fig 14 under `enhanced`: the first unacknowledged segment is retransmitted at the make (7.5 "
    "s, to a microsecond); ssthresh there equals ssthresh after the first RTO. Fig 8 (not in RTO "
    "recovery at the notice): no order of A3.",
    figures=("15",),
    needs=(*sc.FIG14.needs, *sc.FIG8.needs),
)
def f15(runs: Runs) -> Finding:
    log = traced(runs, sc.FIG14, ENHANCED)
    make = sc.FIG14.at_s + 0.5
    again = log.of("rexmit").within(make - EXACT_S, make + EXACT_S)
    una = log.highest_ack(make) + 1
    first = nth([t for t, _ in timeouts(log.within(sc.FIG14.at_s))], 0)
    saved, restored = ssthresh_after(log, first), ssthresh_after(log, make)
    quiet = orders(traced(runs, sc.FIG8, ENHANCED), "a3")
    return found(
        [
            yes(
                "retransmission at the make",
                len(again) > 0 and again.value[0] == una,
                f"segment {again.value[0]:.0f} at {instant(again.first_s)}"
                if len(again)
                else "none",
            ),
            yes("ssthresh", saved == restored, f"{restored:g}, saved {saved:g}"),
            yes("Fig 8, orders of A3", len(quiet) == 0, str(len(quiet))),
        ]
    )


@LEDGER.claim(
    "D08-F16",
    "Algorithm A4 restarts the RTT estimation after a handoff to a shorter delay, once the "
    "segments sent before the handoff are acknowledged.",
    "Fig 20 under `enhanced`: an order of A4 when the segments sent before the handoff are "
    "acknowledged and not before; the first RTT sample after it is below half of the last one "
    "before the handoff. Fig 8 (longer delay): no order of A4.",
    figures=("16",),
    needs=(*sc.FIG20.needs, *sc.FIG8.needs),
)
def f16(runs: Runs) -> Finding:
    at = sc.FIG20.at_s
    log = traced(runs, sc.FIG20, ENHANCED)
    covered = log.ack_time(log.highest_sent(at), at)
    made = orders(log, "a4").within(at + EXACT_S)
    before = log.last("rtt_sample", at)
    sample = log.of("rtt_sample").within(covered + EXACT_S)
    value = float(sample.value[0]) if len(sample) else float("nan")
    quiet = orders(traced(runs, sc.FIG8, ENHANCED), "a4")
    return found(
        [
            yes(
                "restart when the old segments are acknowledged",
                len(made) > 0 and abs(made.first_s - covered) < EXACT_S,
                f"{instant(made.first_s)}, acknowledged {instant(covered)}",
            ),
            Check(
                "first RTT sample after it",
                f"{milliseconds(value)}, last before the handoff {milliseconds(before)}",
                value < before / 2,
            ),
            yes("Fig 8, orders of A4", len(quiet) == 0, str(len(quiet))),
        ]
    )


A5_SAME_AS_A2 = tuple(sc.to_slow(old, MBB) for old in sc.SLOW_PARTNERS if old.kbps < 8 * 200)


@LEDGER.claim(
    "D08-F25",
    "Algorithm A5 is A2 with a threshold of 1.5 instead of 2 bandwidth-delay products where the "
    "bandwidth falls to an eighth or less.",
    "Fig 24 (1600 to 200 kbit/s, between 1.5 and 2 BDP outstanding) under `enhanced-a5`: cwnd = "
    "ssthresh = BDP at the notice, under `enhanced` no order of A2. From 400/150 and 800/75 to "
    "200/300: `enhanced-a5` gives the same digests as `enhanced` (each cell).",
    figures=("25",),
    needs=(*sc.FIG24.needs, *sweeps(A5_SAME_AS_A2, ENHANCED, ENHANCED_A5)),
)
def f25(runs: Runs) -> Finding:
    at = sc.FIG24.at_s
    log = traced(runs, sc.FIG24, ENHANCED_A5)
    bdp = int(runs.core.bdp_packets(sc.FIG24.cell.new.core))
    flight = log.flight_size(at)
    checks = [yes("outstanding", 1.5 * bdp < flight <= 2 * bdp, f"{flight}, BDP {bdp}")]
    checks += _window_check(runs, log, sc.FIG24, "a5", "Fig 24")
    made = len(orders(traced(runs, sc.FIG24, ENHANCED), "a2"))
    checks.append(yes("enhanced, orders of A2", made == 0, str(made)))
    for cell in A5_SAME_AS_A2:
        a2, a5 = (table(runs, cell, scheme)["digest"] for scheme in (ENHANCED, ENHANCED_A5))
        same = int((a2 == a5).sum())
        checks.append(yes(f"{cell.old}, equal digests", same == len(a2), f"{same} of {len(a2)}"))
    return found(checks)


@LEDGER.claim(
    "D08-F12",
    "1600/75 to 400/150, make-before-break at 6.5 s: 39 segments are outstanding on a path whose "
    "product is 11. Regular loses packets from segment 764 on and needs about 2.5 s to recover; "
    "enhanced sets cwnd to 11 and loses nothing.",
    "FlightSize at the handoff 39 +- 1; enhanced loses 0 data segments from the handoff until 100 "
    "new ones are acknowledged. Formula: BDP of 400/150 is 11 packets.",
    figures=("12",),
    needs=sc.FIG12.needs,
)
def f12(runs: Runs) -> Finding:
    at = sc.FIG12.at_s
    regular, enhanced = traced(runs, sc.FIG12), traced(runs, sc.FIG12, ENHANCED)
    lost = until_done(regular, at).dropped()
    bdp = int(runs.core.bdp_packets(sc.FIG12.cell.new.core))
    first = int(lost.value[0]) if len(lost) else -1
    # Recovered: the highest segment sent when the last loss was repaired is acknowledged.
    recovered = regular.of("recovery_exit").within(at).first_s
    kept = until_done(enhanced, at).dropped()
    return found(
        [
            near("FlightSize", regular.flight_size(at), 39, 1, count),
            near("enhanced, lost segments", len(kept), 0, 0, count),
            near("formula, BDP of 400/150", bdp, 11, 0, count),
        ],
        context=f"Regular loses {len(lost)} segments, the first is {first}; its fast recovery ends "
        f"{recovered - at:.2f} s after the handoff.",
        note=_losses_note(kept, at),
    )


def _losses_note(lost: EventLog, at_s: float) -> str:
    if not len(lost):
        return ""
    return (
        "Losses: "
        + ", ".join(
            f"segment {e.value:.0f} {e.time_s - at_s:.2f} s after the handoff ({e.detail})"
            for e in lost.events()[:6]
        )
        + "."
    )


@LEDGER.claim(
    "D08-F14",
    "6400/9 to 6400/300, break-before-make at 7.0 s: 20 segments are outstanding and nearly all of "
    "them are lost. Regular: RTOs at 7.2 and 7.6 s set ssthresh to 10, then 2, and the new link "
    "stays unused for 100 ms. Enhanced retransmits at 7.5 s.",
    "Regular: RTOs at 7.2 +- 0.05 s and 7.60 +- 0.02 s, ssthresh 10 after the first and 2 after "
    "the second. Enhanced: first retransmission after the break's RTO at 7.50 s (to a "
    "microsecond).",
    figures=("14",),
    needs=sc.FIG14.needs,
)
def f14(runs: Runs) -> Finding:
    at = sc.FIG14.at_s
    regular, enhanced = traced(runs, sc.FIG14), traced(runs, sc.FIG14, ENHANCED)
    times = [t for t, _ in timeouts(regular.within(at))]
    first, second = nth(times, 0), nth(times, 1)
    again = enhanced.of("rexmit").within(
        nth([t for t, _ in timeouts(enhanced.within(at))], 0) + EXACT_S
    )
    lost = regular.within(at, at + 0.2).dropped()
    numbers = np.unique(lost.value).astype(int)
    acks = regular.of("ack").within(0.0, first)
    last = float(acks.time_s[-1]) if len(acks) else float("nan")
    late_ms = 1e3 * (first - 7.2)
    span = f"{numbers[0]} to {numbers[-1]}" if numbers.size else "none"
    return found(
        [
            near("first RTO", first, 7.20, 0.05, lambda v: f"{v:.5f} s"),
            near("second RTO", second, 7.60, 0.02, lambda v: f"{v:.5f} s"),
            near("ssthresh after the first", ssthresh_after(regular, first), 10, 0, count),
            near("ssthresh after the second", ssthresh_after(regular, second), 2, 0, count),
            near("enhanced, retransmission", again.first_s, 7.5, EXACT_S, instant),
        ],
        context=f"Outstanding: {regular.flight_size(at)}; lost at the break: {len(numbers)} "
        f"segments, {span}. The RTO is 200 ms and runs from the last ACK, which had passed the "
        f"link at the break and arrives {1e3 * (last - at):.3f} ms after it; so the first RTO is "
        f"{late_ms:.3f} ms after 7.2 s, in ns-2 as well (7.21004 s).",
        readings=[
            Reading(
                "First RTO at 7.20 +- 0.01 s, though the paper prints one decimal",
                [near("first RTO", first, 7.20, 0.01, lambda v: f"{v:.5f} s")],
            )
        ],
    )
