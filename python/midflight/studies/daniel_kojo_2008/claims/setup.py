"""The setup of sections 1, 3 and 4: phases, counting, notifications, buffers (S1-S4)."""

from __future__ import annotations

import math

import numpy as np

from midflight.claims import Finding, Ledger, Reading, at_least, between, counted, percent
from midflight.results import EventLog, quantile
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.common import (
    count,
    found,
    reduction,
    table,
    yes,
)
from midflight.studies.daniel_kojo_2008.scenarios import (
    ENHANCED,
    ENHANCED_A5,
    MBB,
    REGULAR,
    sweep,
    sweeps,
)
from midflight.studies.runs import Link, Runs

LEDGER = Ledger()

PHASES = {
    "slow start": ("slow-start",),
    "overshoot": ("overshoot",),
    "loss recovery": ("fast-recovery", "rto-recovery"),
    "congestion avoidance": ("congestion-avoidance",),
}
S1_CELLS = (sc.high_to_low_bandwidth(200, 300, MBB), sc.low_to_high_bandwidth(800, 300, MBB))


@LEDGER.claim(
    "D08-S1",
    "The 200 handoff instants meet a connection in all its phases: slow start, the overshoot that "
    "ends it, loss recovery and congestion avoidance.",
    "With the old link 6400/300 and with 800/300, each of the four phases holds at one or more of "
    "the 200 instants (overshoot: cwnd below ssthresh and a lost segment outstanding; loss "
    "recovery: fast recovery or RTO recovery).",
    needs=sweeps(S1_CELLS, REGULAR),
)
def s1(runs: Runs) -> Finding:
    checks = []
    for cell in S1_CELLS:
        phase = table(runs, cell)["phase"]
        for name, values in PHASES.items():
            share = int(np.isin(phase, values).sum())
            checks.append(at_least(f"{cell.old} {name}", share, 1, count))
    return found(checks)


@LEDGER.claim(
    "D08-S2",
    "It does not matter whether 50, 100 or 200 segments are counted: the comparison of regular "
    "and enhanced TCP gives the same result.",
    "In at least 95 % of the cells whose median changes by more than 15 % at n = 100, the change "
    "has the same sign at n = 50 and at n = 200 (all cells of the grid).",
    needs=sweeps(sc.CELLS, REGULAR, ENHANCED),
)
def s2(runs: Runs) -> Finding:
    alike, differ = [], []
    for cell in sc.CELLS:
        at_100 = reduction(runs, cell)
        if not abs(at_100) > 0.15:
            continue
        others = {}
        for column, n in enumerate(sc.OTHER_COUNTS):
            regular, enhanced = (
                quantile(table(runs, cell, scheme).seconds(f"t_new_extra{column}_ns"), 0.5)
                for scheme in (REGULAR, ENHANCED)
            )
            others[n] = 1 - enhanced / regular
        if any(math.copysign(1, red) != math.copysign(1, at_100) for red in others.values()):
            changes = ", ".join(f"n = {n}: {percent(red)}" for n, red in others.items())
            drops = (table(runs, cell, s).mean("drops_data") for s in (REGULAR, ENHANCED))
            lost = " to ".join(f"{value:.1f}" for value in drops)
            differ.append(f"{cell} (n = 100: {percent(at_100)}, {changes}; mean losses {lost})")
        else:
            alike.append(str(cell))
    total = len(alike) + len(differ)
    share = len(alike) / total
    return found(
        [
            at_least(
                "cells with the same sign",
                share,
                0.95,
                lambda v: f"{len(alike)} of {total}, {percent(v)}",
            )
        ],
        context="The sign differs in "
        + ("; ".join(differ) or "none")
        + ". There A2 sends less at first and avoids losses that regular TCP has to repair later.",
        readings=[Reading("Every such cell", counted("cells with the same sign", alike, differ))],
    )


@LEDGER.claim(
    "D08-S3",
    "Without a notification the enhanced sender is the regular one.",
    "With notifications off, `enhanced` and `enhanced-a5` give the same digest as `sack` in every "
    "run of every cell (exact).",
    needs=(
        *sweeps(sc.CELLS, REGULAR),
        *sweeps(sc.CELLS, ENHANCED, ENHANCED_A5, notify=False),
    ),
)
def s3(runs: Runs) -> Finding:
    checks = []
    for scheme in (ENHANCED, ENHANCED_A5):
        total = same = 0
        for cell in sc.CELLS:
            plain = table(runs, cell)["digest"]
            other = runs.sweep(sweep(cell, scheme, notify=False))["digest"]
            total += len(plain)
            same += int((plain == other).sum())
        checks.append(yes(f"{scheme}, equal digests", same == total, f"{same} of {total} runs"))
    return found(checks)


#: The limits that the rule lists, in packets, by bandwidth (kbit/s) over 300, 150, ... 1 ms.
LIMITS = {
    6400: (320, 160, 80, 40, 20, 10, 5),
    1600: (80, 40, 20, 10, 5, 5, 5),
    200: (10, 5, 5, 5, 5, 5, 5),
}
LIMIT_LINKS = {
    Link(kbps, ms): limit
    for kbps, limits in LIMITS.items()
    for ms, limit in zip((sc.LONG_DELAY, *sc.DELAYS), limits, strict=True)
}
#: Serialisation of a data segment (1500 bytes) on the last fixed link (100 Mbit/s), in seconds.
LAST_HOP_S = 12_000 / 100e6


def measured_limit(log: EventLog, link: Link) -> float:
    """Packets in a link's queue and transmitter when the queue first drops one; nan if it does not.

    Counted from the trace: data segments sent before the dropped one, less those that had left the
    transmitter, which is when they reach the mobile node less the propagation delay and the last
    hop.  An arrival is dropped when the queue and the transmitter hold `limit` packets together.
    """
    lost = log.dropped().where(np.char.endswith(log.dropped().detail, "queue"))
    if not len(lost):
        return float("nan")
    drop_s, segment = lost.time_s[0], lost.value[0]
    sent = log.of("send")
    ahead = int((sent.value < segment).sum())
    left_s = log.of("rcv").time_s - link.ms * 1e-3 - LAST_HOP_S
    return float(ahead - int((left_s <= drop_s + 1e-9).sum()))


@LEDGER.claim(
    "D08-S4",
    "A link's buffer holds the link's bandwidth-delay product (twice the one-way delay), or five "
    "packets where that is less.",
    "The limit measured at the first overflow of the old link, at 300, 150, 75, 37, 18, 9, 1 ms, "
    "is the product rounded up: 320, 160, 80, 40, 20, 10, 5 at 6400 kbit/s; 80, 40, 20, 10, 5, 5, "
    "5 at 1600; 10, 5, 5, 5, 5, 5, 5 at 200 (each).",
    needs=tuple(sc.start_of(link) for link in LIMIT_LINKS),
)
def s4(runs: Runs) -> Finding:
    checks, floors, products = [], [], []
    for link, limit in LIMIT_LINKS.items():
        value = measured_limit(runs.trace(sc.start_of(link)), link)
        checks.append(between(str(link), value, limit, limit, count))
        floor = max(5, math.floor(link.bdp))
        floors.append(between(str(link), value, floor, floor, count))
        if floor != limit:
            products.append(f"{link} {link.bdp:.2f}")
    return found(
        checks,
        context="A limit is a whole number of packets, and the paper does not say how it rounds; "
        "only rounding up agrees with ns-2's losses. Products that are not whole: "
        + ", ".join(products)
        + ".",
        readings=[Reading("The product rounded down (39, 19, 9, 9)", floors)],
    )
