"""The statements of two papers on related work, as claims.

Section 2 and table 1 of Izumikawa et al., and the handoff option in Daniel & Kojo 2008.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from midflight.claims import Check, Finding, Ledger, at_least, at_most, percent
from midflight.results import RunTable
from midflight.studies.related_work.scenarios import (
    EHN,
    FREEZE,
    GAP_S,
    HIGH,
    I_TCP,
    LONG_GAP_S,
    PLAIN,
    PROFILES,
    SNOOP,
    Way,
    encrypted,
    handoff,
    lossy,
    make_before_break,
    outage,
)
from midflight.studies.runs import Job, Runs, Scenarios

__all__ = ["LEDGER", "after_s", "took_s"]

LEDGER = Ledger()

Array: TypeAlias = NDArray[np.float64]

#: A mechanism is robust if it takes at most the first share of the plain sender's time, and not
#: robust if it takes at least the second.
ROBUST, NOT_ROBUST = 0.67, 0.95
#: A handoff is supported if it takes at most this share of the plain sender's time.
SUPPORTED = 0.8
#: After a long disconnection: the share of the time from when the link is back.
LONG = 0.5
#: The share of the sender's fast retransmits that may remain with Snoop.
LEFT = 0.25
#: "Many" packets.
MANY = 10


def took_s(runs: Runs, job: Scenarios) -> Array:
    """Seconds until all data had arrived, or were acknowledged where no node is in between."""
    table = runs.scenarios(job)
    return table.seconds("delivered_ns" if '"agent"' in job.texts[0] else "duration_ns")


def after_s(runs: Runs, job: Scenarios) -> Array:
    """Seconds from the handoff until new packets are acknowledged; infinite if they never are."""
    found = runs.scenarios(job).seconds("t_new_ns")
    return np.where(np.isnan(found), np.inf, found)


def share(runs: Runs, job: Scenarios, plain: Scenarios) -> float:
    """The median time of a mechanism divided by that of the plain sender."""
    return _ratio(took_s(runs, job), took_s(runs, plain))


def _ratio(times: Array, plain: Array) -> float:
    times = np.where(np.isnan(times), np.inf, times)
    return float(np.median(times) / np.median(plain))


def total(table: RunTable, name: str) -> int:
    return int(sum(table[name]))


def _jobs(make: object, ways: tuple[Way, ...], *more: object) -> tuple[Job, ...]:
    return tuple(make(way, *more) for way in ways)  # type: ignore[operator]


@LEDGER.claim(
    "RW1",
    "I-TCP and Snoop are robust at a high bit error rate (table 1).",
    "With 1 % of packets lost by the radio the download arrives in at most 0.67 of the plain "
    "sender's time: medians of "
    "five seeds, profile ns2; a part for each",
    figures=("1",),
    needs=_jobs(lossy, (PLAIN, I_TCP, SNOOP), "ns2", HIGH),
)
def robust(runs: Runs) -> Finding:
    plain = lossy(PLAIN, "ns2", HIGH)
    parts = [(way.name, share(runs, lossy(way, "ns2", HIGH), plain)) for way in (I_TCP, SNOOP)]
    note = (
        "The wireless half of I-TCP is the TCP of the profile here, whose window the losses "
        "halve; its gain is the shorter round trip, 46 instead of 66 ms."
    )
    return Finding([at_most(name, value, ROBUST, percent) for name, value in parts], note=note)


@LEDGER.claim(
    "RW2",
    "Freeze-TCP and TCP with EHN are not (table 1).",
    "There they take at least 0.95 of the plain sender's time; a part for each",
    figures=("1",),
    needs=_jobs(lossy, (PLAIN, FREEZE, EHN), "ns2", HIGH),
)
def not_robust(runs: Runs) -> Finding:
    plain = lossy(PLAIN, "ns2", HIGH)
    parts = [(way.name, share(runs, lossy(way, "ns2", HIGH), plain)) for way in (FREEZE, EHN)]
    return Finding([at_least(name, value, NOT_ROBUST, percent) for name, value in parts])


@LEDGER.claim(
    "RW3",
    "With I-TCP transmission errors on the wireless link are not propagated to the wired network "
    "(section 2.1).",
    "At 1 % the sender behind the base station retransmits nothing and has no timeout, under any "
    "seed",
    figures=("1",),
    needs=_jobs(lossy, (I_TCP,), "ns2", HIGH),
)
def not_propagated(runs: Runs) -> Finding:
    table = runs.scenarios(lossy(I_TCP, "ns2", HIGH))
    counts = [(name, total(table, name)) for name in ("rexmits", "timeouts")]
    return Finding([Check(name, str(count), count == 0) for name, count in counts])


@LEDGER.claim(
    "RW4",
    "Snoop avoids unnecessary fast retransmissions and congestion control at the sender (section "
    "2.2).",
    "At 1 % the sender has at most a quarter of the fast retransmits of the plain one, over all "
    "seeds",
    figures=("1",),
    needs=_jobs(lossy, (PLAIN, SNOOP), "ns2", HIGH),
)
def fast(runs: Runs) -> Finding:
    plain, snoop = (
        total(runs.scenarios(lossy(way, "ns2", HIGH)), "fast_rexmits") for way in (PLAIN, SNOOP)
    )
    return Finding([Check("fast retransmits", f"{snoop} of {plain}", snoop <= LEFT * plain)])


@LEDGER.claim(
    "RW5",
    "A timeout at the sender might occur due to the retransmissions of Snoop (section 2.2).",
    "At 5 % a sender behind Snoop has a timeout under some seed",
    figures=("1",),
    needs=_jobs(lossy, (SNOOP,), "ns2", 5.0),
)
def timeouts(runs: Runs) -> Finding:
    count = total(runs.scenarios(lossy(SNOOP, "ns2", 5.0)), "timeouts")
    return Finding([at_least("timeouts", count, 1)])


SEMANTICS = (lossy(I_TCP, "ns2", HIGH), handoff(I_TCP, "ns2", handover=False))


@LEDGER.claim(
    "RW6",
    "I-TCP loses the end-to-end semantics of TCP (section 2.1, table 1).",
    "Segments are acknowledged to the sender before they have arrived, in every run; and where "
    "the state is not handed "
    "over, some of them never arrive, in every run",
    figures=("2",),
    needs=SEMANTICS,
)
def split(runs: Runs) -> Finding:
    ahead, missing = (
        min(runs.scenarios(job)[name])
        for job, name in zip(SEMANTICS, ("acked_ahead", "acked_missing"), strict=True)
    )
    return Finding(
        [
            at_least("acknowledged ahead, least of the runs", ahead, 1),
            at_least("never arrived, least of the runs", missing, 1),
        ]
    )


KEPT = (lossy(SNOOP, "ns2", HIGH), handoff(SNOOP, "ns2", handover=False))


def _most_ahead(runs: Runs) -> int:
    return max(int(max(runs.scenarios(job)["acked_ahead"])) for job in KEPT)


@LEDGER.claim(
    "RW7",
    "Snoop preserves the end-to-end semantics of TCP (section 2.2).",
    "No segment is acknowledged to the sender before it has arrived, in the runs of RW1 and in "
    "handoffs without a handover of "
    "the cache",
    figures=("2",),
    needs=KEPT,
)
def kept(runs: Runs) -> Finding:
    most = _most_ahead(runs)
    return Finding([Check("acknowledged ahead, most of the runs", str(most), most == 0)])


@LEDGER.claim(
    "RW8",
    "Snoop has no end-to-end semantics (table 1).",
    "In these runs a segment is acknowledged to the sender before it has arrived",
    figures=("2",),
    needs=KEPT,
)
def contradicted(runs: Runs) -> Finding:
    note = (
        "The table contradicts section 2.2, which is right: only data that the mobile node has "
        "acknowledged are acknowledged to the sender."
    )
    return Finding(
        [at_least("acknowledged ahead, most of the runs", _most_ahead(runs), 1)], note=note
    )


def _handoff_share(runs: Runs, way: Way) -> float:
    handover = way in (FREEZE, EHN)
    times = after_s(runs, handoff(way, "ns2", handover=handover))
    return _ratio(times, after_s(runs, handoff(PLAIN, "ns2")))


@LEDGER.claim(
    "RW9",
    "Freeze-TCP and TCP with EHN support handovers; I-TCP and Snoop do not (table 1).",
    f"With {GAP_S:g} s without a link 100 new packets take at most 0.8 of the plain sender's "
    "time from the handoff on "
    "(Freeze-TCP, EHN), or at least 0.95 of it or never come (I-TCP, Snoop; nothing is handed "
    "over): medians of five "
    "instants, profile ns2; a part for each",
    figures=("3",),
    needs=(
        *_jobs(handoff, (PLAIN, FREEZE, EHN), "ns2"),
        *(handoff(way, "ns2", handover=False) for way in (I_TCP, SNOOP)),
    ),
)
def handovers(runs: Runs) -> Finding:
    yes = [at_most(w.name, _handoff_share(runs, w), SUPPORTED, percent) for w in (FREEZE, EHN)]
    no = [at_least(w.name, _handoff_share(runs, w), NOT_ROBUST, percent) for w in (I_TCP, SNOOP)]
    return Finding([*yes, *no])


def waited_s(runs: Runs, way: Way) -> Array:
    """Seconds from when the link is back until the new packets are acknowledged."""
    return after_s(runs, outage(way, "ns2")) - LONG_GAP_S


@LEDGER.claim(
    "RW10",
    "Freeze-TCP and TCP with EHN are robust in long disconnections; I-TCP and Snoop are not "
    "(table 1).",
    f"After {LONG_GAP_S:g} s without the link 100 new packets take at most half of the plain "
    "sender's time from when it is back "
    "(Freeze-TCP, EHN), or at least 0.95 of it (I-TCP, Snoop): medians of five instants, profile "
    "ns2; a part for each",
    figures=("3",),
    needs=_jobs(outage, (PLAIN, FREEZE, EHN, I_TCP, SNOOP), "ns2"),
)
def long_outages(runs: Runs) -> Finding:
    plain = waited_s(runs, PLAIN)
    shares = {way: _ratio(waited_s(runs, way), plain) for way in (FREEZE, EHN, I_TCP, SNOOP)}
    yes = [at_most(way.name, shares[way], LONG, percent) for way in (FREEZE, EHN)]
    no = [at_least(way.name, shares[way], NOT_ROBUST, percent) for way in (I_TCP, SNOOP)]
    note = (
        "Both stations retransmit by their own timers. Behind Snoop the sender has three timeouts "
        "instead of four at four of the five instants, behind I-TCP none."
    )
    return Finding([*yes, *no], note=note)


@LEDGER.claim(
    "RW11",
    "I-TCP and Snoop do not support encrypted traffic (table 1).",
    "Over QUIC with 1 % lost the runs are the same with them and without, event for event; a "
    "part for each",
    figures=("1",),
    needs=tuple(encrypted(way) for way in (PLAIN, I_TCP, SNOOP)),
)
def encryption(runs: Runs) -> Finding:
    plain = list(runs.scenarios(encrypted(PLAIN))["digest"])
    checks = []
    for way in (I_TCP, SNOOP):
        same = list(runs.scenarios(encrypted(way))["digest"]) == plain
        checks.append(Check(way.name, "the same" if same else "another run", same))
    return Finding(checks)


OPTION = tuple(make_before_break(scheme) for scheme in ("sack", "handoff-option"))


@LEDGER.claim(
    "RW12",
    "With a make-before-break handoff, entering slow start (the handoff option of Kim and "
    "Copeland) retransmits many packets "
    "unnecessarily (Daniel & Kojo 2008, section 2).",
    "Moving from 200 ms to 20 ms with both links up at least 10 segments arrive twice in the "
    "median of five instants, and more "
    "than with the plain sender",
    figures=("3",),
    needs=OPTION,
)
def option(runs: Runs) -> Finding:
    plain, with_option = (float(np.median(runs.scenarios(job)["needless"])) for job in OPTION)
    return Finding(
        [
            at_least("segments that arrive twice", with_option, MANY),
            Check("the plain sender's", f"{plain:g}", plain < with_option),
        ],
        note="They are twice as many as with the plain sender, but few.",
    )


def _today(number: int, profile: str = "linux") -> tuple[Job, ...]:
    return _jobs(lossy, (PLAIN, I_TCP, SNOOP), profile, HIGH)[:number]


@LEDGER.claim(
    "RW-X1",
    "I-TCP and Snoop still help a sender of Linux over a link that loses packets.",
    "As RW1, profile linux; a part for each",
    figures=("1",),
    needs=_today(3),
)
def today(runs: Runs) -> Finding:
    plain = lossy(PLAIN, "linux", HIGH)
    parts = [(way.name, share(runs, lossy(way, "linux", HIGH), plain)) for way in (I_TCP, SNOOP)]
    return Finding([at_most(name, value, ROBUST, percent) for name, value in parts])


HANDED = tuple(handoff(way, profile) for way in (PLAIN, SNOOP) for profile in PROFILES)


@LEDGER.claim(
    "RW-X2",
    "A cache that is handed over supports a handoff.",
    "As RW9 for Freeze-TCP, with Snoop whose cache moves; a part for each profile",
    figures=("3",),
    needs=HANDED,
)
def handed(runs: Runs) -> Finding:
    checks = []
    for profile, name in PROFILES.items():
        plain, snoop = (after_s(runs, handoff(way, profile)) for way in (PLAIN, SNOOP))
        checks.append(at_most(name, _ratio(snoop, plain), SUPPORTED, percent))
    return Finding(checks)
