"""The claims: RFC 9959 over a geostationary satellite, and the effect of resuming at a handoff."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from midflight.claims import Check, Finding, Ledger, at_least, at_most, between, percent
from midflight.migration import HANDOFFS
from midflight.results import EventLog, RunTable
from midflight.studies.careful_resume.scenarios import (
    BETA,
    CELLS,
    CONTROLLERS,
    DATA,
    DATAGRAM,
    FLIGHT,
    FOUR,
    FOUR_RESUME,
    FOUR_WHOLE,
    GEO,
    INITIAL_WINDOW,
    LONG,
    ON_THE_WIRE,
    OTHER_RTTS,
    PLAIN,
    QUIC,
    QUIC_OF_OLD,
    QUIC_RESUMES,
    QUIC_WRONG,
    RESUME,
    RTT_S,
    SAVED,
    SHORT,
    SIZE,
    TCP,
    TCP_RESUMES,
    WHOLE,
    Mover,
    appendix_b,
    beside,
    holds,
    lost_jump,
    moved,
    other_path,
    satellite,
    slower,
    traced,
)
from midflight.studies.runs import FlowTrace, Runs, Scenarios

LEDGER = Ledger()

#: The anchors at 250 Mbit/s, in seconds, and picoquic's limit for CUBIC with a seed.
PLAIN_S, RESUME_S = 10.0, 5.3
WHOLE_S = (4.4, 5.0)
LIMIT_S = 5.0
TOLERANCE = 0.05


def seconds(value: float) -> str:
    return f"{value:.3g} s"


def took_s(runs: Runs, job: Scenarios) -> float:
    """How long the download took, from its opening."""
    return float(runs.scenarios(job).seconds("duration_ns")[0])


def after_s(table: RunTable) -> float:
    """The median time from the handoff until the data are acknowledged."""
    return table.transfer_time.median


def data_rate(mbps: float) -> float:
    """Bytes of data per second over a link."""
    return mbps * 1e6 / 8 * DATA / ON_THE_WIRE


def computed_plain_s(mbps: float) -> float:
    """A slow start without losses: handshake, a round trip per window, the rest, a round trip."""
    window, product, sent, rounds = INITIAL_WINDOW, mbps * 1e6 * RTT_S / 8 / ON_THE_WIRE, 0, 0
    while window < product:
        sent, rounds, window = sent + window, rounds + 1, 2 * window
    return (2 + rounds) * RTT_S + (SIZE - sent * DATA) / data_rate(mbps)


def computed_resume_s(mbps: float) -> float:
    """Handshake, initial window, half of the product over a round trip, the rest, a round trip."""
    jump = mbps * 1e6 * RTT_S / 8 / 2 / DATAGRAM
    return 4 * RTT_S + (SIZE - (INITIAL_WINDOW + jump) * DATA) / data_rate(mbps)


def events(runs: Runs, job: FlowTrace) -> EventLog:
    return runs.trace(job)


def orders(log: EventLog) -> list[str]:
    """The orders of the policy, without their reasons, in order."""
    mine = log.of("order").detailed("careful-resume: ")
    return [one.removeprefix("careful-resume: ").partition(" because")[0] for one in mine.detail]


_ORDERED = ("send", "ack", "order")
#: Before a probe timeout.
APPENDIX_B = traced(appendix_b(), *_ORDERED, until_s=2.5)


def in_flight(log: EventLog, at: int) -> int:
    """Packets in flight at the event with this index: sent and not acknowledged, without losses."""
    before = log.kind[:at]
    sent = log.value[:at][before == "send"].max(initial=0)
    acked = log.value[:at][before == "ack"].max(initial=0)
    return int(sent - acked)


@LEDGER.claim(
    "CR1",
    "RFC 9959, appendix B: with 29 packets in flight and a saved window of 300 the window becomes "
    "150, and 121 more packets are sent.",
    "Exactly 29, 150 and 121 in a run",
    figures=("2",),
    needs=(APPENDIX_B,),
)
def appendix(runs: Runs) -> Finding:
    log = events(runs, APPENDIX_B)
    at = int(np.flatnonzero(log.kind == "order")[0])
    flight = in_flight(log, at)
    first = orders(log)[0]
    sent = int(np.sum(log.kind[at:] == "send"))
    return Finding(
        [
            Check("packets in flight", str(flight), flight == FLIGHT),
            Check("the jump", first, first == f"set cwnd to {SAVED // 2}"),
            Check("packets more", str(sent), sent == SAVED // 2 - FLIGHT),
        ]
    )


#: The orders of a jump that is not lost, by their first words: window, pacing, no growth; then no
#: pacing ("send without an ordered rate") and the window in flight.
PHASES = ["set cwnd", "spread the", "hold window", "send without", "set cwnd"]
ORDERED = {
    controller: traced(satellite("50/10", RESUME, controller), *_ORDERED, until_s=4.0)
    for controller in CONTROLLERS
}
LOST = {
    controller: traced(lost_jump(controller), *_ORDERED, "recover", "ssthresh", "rcv")
    for controller in CONTROLLERS
}


@LEDGER.claim(
    "CR2",
    "The phases follow each other as RFC 9959 says, and a loss of the jump leads to the safe "
    "retreat.",
    "The orders are those of the phases, in their order and no others; a retreat to at most half "
    "of PipeSize at once, and a threshold of at most 0.5 of it (0.7 with CUBIC) at its end; a part "
    "for each of these and each controller",
    figures=("2",),
    needs=(*ORDERED.values(), *LOST.values()),
)
def phases(runs: Runs) -> Finding:
    checks = []
    for controller, name in CONTROLLERS.items():
        given = [" ".join(one.split()[:2]) for one in orders(events(runs, ORDERED[controller]))]
        text = ", ".join(given)
        checks.append(Check(f"{name}, orders", text, given == PHASES))
        checks += _retreat(events(runs, LOST[controller]), controller)
    return Finding(checks)


def _pipe_size(log: EventLog, jump: int, at: int) -> int:
    """PipeSize at the event with the index `at`: the flight at the jump, and the packets that have
    been received since, without those whose ACK cannot have come yet."""
    acked = log.value[:jump][log.kind[:jump] == "ack"].max(initial=0)
    came = (log.kind == "rcv") & (log.time_s <= log.time_s[at] - RTT_S / 2)
    return in_flight(log, jump) + int(np.sum(np.unique(log.value[came]) >= acked))


def _retreat(log: EventLog, controller: str) -> list[Check]:
    """Checks of a safe retreat."""
    name, beta = CONTROLLERS[controller], float(BETA[controller])
    places = np.flatnonzero(log.kind == "order")
    told = list(zip(map(int, places), log.detail[places], strict=True))

    def step(order: str, reason: str) -> int:
        """The index of the first such order; -1 without one."""
        return next((at for at, one in told if order in one and reason in one), -1)

    def number(at: int) -> float:
        return float(log.detail[at].partition(" to ")[2].split()[0])

    jump = step("set cwnd", "half of what it is known to hold")
    retreat = step("set cwnd", "half of what is validated")
    end = step("set ssthresh", "the last unvalidated segment is acknowledged")
    if min(jump, retreat, end) < 0:
        return [Check(f"{name}, a retreat and its end", "none", False)]
    pipe, pipe_at_end = (_pipe_size(log, jump, at) for at in (retreat, end))
    return [
        at_most(f"{name}, the window of the retreat, PipeSize {pipe}", number(retreat), pipe / 2),
        at_most(
            f"{name}, the threshold at its end, PipeSize {pipe_at_end}",
            number(end),
            beta * pipe_at_end,
        ),
    ]


def of_satellites(*senders: str) -> list[Scenarios]:
    return [
        satellite(link, sender, controller)
        for link in GEO
        for controller in CONTROLLERS
        for sender in senders
    ]


@LEDGER.claim(
    "CR3",
    "Without resuming the download takes as long as a slow start from ten packets.",
    "Within 5 % of 10.0 s at 250 Mbit/s, and of the computed time on the other links; a part for "
    "each link and controller",
    figures=("1",),
    needs=of_satellites(PLAIN),
)
def slow_start(runs: Runs) -> Finding:
    checks = []
    for link, (mbps, _) in GEO.items():
        target = PLAIN_S if link == "250/3" else computed_plain_s(mbps)
        for controller, name in CONTROLLERS.items():
            took = took_s(runs, satellite(link, PLAIN, controller))
            checks.append(_within(f"{link}, {name}", took, target))
    lost = ", ".join(
        f"{runs.scenarios(satellite('250/3', PLAIN, c))['drops_queue'][0]} ({name})"
        for c, name in CONTROLLERS.items()
    )
    return Finding(
        checks,
        "The last round trip of the slow start overflows the queue, which the computed time does "
        "not include. At 250 Mbit/s headers are a twentieth of the bytes sent, which the 10.0 s "
        "do not include.",
        f"with headers 250/3 comes to {computed_plain_s(250):.2f} s; packets lost there: {lost}",
    )


def _within(what: str, took: float, target: float) -> Check:
    low, high = target * (1 - TOLERANCE), target * (1 + TOLERANCE)
    return between(what, took, low, high, lambda v: f"{v:.2f} s of {target:.2f} s")


@LEDGER.claim(
    "CR4",
    "With the whole saved window, without a confirmation by the initial window, the time is "
    "little more than the transfer itself.",
    "4.4 to 5.0 s at 250 Mbit/s, and with CUBIC at most picoquic's limit of 5.0 s; a part for each",
    figures=("1",),
    needs=[satellite("250/3", WHOLE, controller) for controller in CONTROLLERS],
)
def whole_seed(runs: Runs) -> Finding:
    checks = []
    for controller, name in CONTROLLERS.items():
        took = took_s(runs, satellite("250/3", WHOLE, controller))
        checks.append(between(name, took, *WHOLE_S, text=lambda v: f"{v:.2f} s"))
        if controller == "cubic":
            checks.append(at_most(f"{name}, limit", took, LIMIT_S, lambda v: f"{v:.2f} s"))
    return Finding(checks)


@LEDGER.claim(
    "CR5",
    "With half of the saved window, after the initial window, the time is between the two.",
    "Within 5 % of 5.3 s at 250 Mbit/s, and CR4 <= CR5 < CR3; a part for each link and controller",
    figures=("1",),
    needs=of_satellites(PLAIN, RESUME, WHOLE),
)
def half(runs: Runs) -> Finding:
    checks = []
    for link in GEO:
        for controller, name in CONTROLLERS.items():
            plain, resumed, whole = (
                took_s(runs, satellite(link, sender, controller))
                for sender in (PLAIN, RESUME, WHOLE)
            )
            if link == "250/3":
                checks.append(_within(f"{link}, {name}", resumed, RESUME_S))
            text = f"{whole:.2f} s, {resumed:.2f} s, {plain:.2f} s"
            checks.append(Check(f"{link}, {name}, order", text, whole <= resumed < plain))
    return Finding(
        checks,
        "The order is as expected on every link; at 250 Mbit/s a slow start continues after the "
        "jump and overflows the queue, which the 5.3 s do not include; nor do they include "
        "headers.",
        f"with headers 250/3 comes to {computed_resume_s(250):.2f} s",
    )


OTHERS = {rtt: traced(other_path(rtt), "order", until_s=4.0) for rtt in OTHER_RTTS}


@LEDGER.claim(
    "CR6",
    "A round trip that differs from the saved one prevents the jump, and a lost jump costs little.",
    "No jump with a round trip of at most half the saved one or more than ten times it, and one "
    "just inside; on a link of a tenth of the rate at most 10 % more than without resuming; a part "
    "for each round trip and controller",
    figures=("2", "3"),
    needs=(
        *OTHERS.values(),
        *(slower(sender, c) for c in CONTROLLERS for sender in (PLAIN, RESUME)),
    ),
)
def safe(runs: Runs) -> Finding:
    checks = []
    for rtt, jumps in OTHER_RTTS.items():
        given = orders(events(runs, OTHERS[rtt]))
        has = any(one.startswith("set cwnd") for one in given)
        checks.append(Check(f"saved RTT {rtt}", "jump" if has else "no jump", has == jumps))
    for controller, name in CONTROLLERS.items():
        plain, resumed = (took_s(runs, slower(one, controller)) for one in (PLAIN, RESUME))
        what = f"25/3, {name}, without resuming {seconds(plain)}"
        checks.append(at_most(what, resumed, 1.1 * plain, seconds))
    return Finding(
        checks,
        "PipeSize grows until the retreat ends, so that the threshold is half of all that has "
        "arrived since the jump (0.7 of it with CUBIC).",
    )


# Handoffs


def each(
    runs: Runs,
    cells: Iterable[tuple[str, str]],
    check: Callable[[str, Callable[[Mover], RunTable]], Check],
) -> Finding:
    """A check for each cell, given the runs of each mover there."""
    checks = []
    for handoff, kind in cells:

        def table(mover: Mover, cell: tuple[str, str] = (handoff, kind)) -> RunTable:
            return runs.scenarios(moved(mover, *cell))

        checks.append(check(f"{handoff} {kind}", table))
    return Finding(checks)


def of_movers(cells: Iterable[tuple[str, str]], *movers: Mover) -> list[Scenarios]:
    return [moved(mover, *cell) for cell in cells for mover in movers]


def on(handoffs: Sequence[str]) -> list[tuple[str, str]]:
    return [cell for cell in CELLS if cell[0] in handoffs]


@LEDGER.claim(
    "CR-X1",
    "A sender that starts again on a path with a long round trip should resume.",
    "The median time of 5 MB is at least 20 % shorter (Starlink to GEO), 10 % (LTE to Starlink); "
    "a part for each kind",
    figures=("4",),
    needs=of_movers(on(LONG), QUIC, QUIC_RESUMES),
)
def long_paths(runs: Runs) -> Finding:
    def check(what: str, of: Callable[[Mover], RunTable]) -> Check:
        least = 0.2 if what.startswith("Starlink") else 0.1
        return at_least(what, 1 - after_s(of(QUIC_RESUMES)) / after_s(of(QUIC)), least, percent)

    return each(runs, on(LONG), check)


@LEDGER.claim(
    "CR-X2",
    "Where the round trip is short, resuming changes little.",
    "The median time of 5 MB differs by at most 0.1 s; a part for each direction and kind",
    figures=("4",),
    needs=of_movers(on(SHORT), QUIC, QUIC_RESUMES),
)
def short_paths(runs: Runs) -> Finding:
    def check(what: str, of: Callable[[Mover], RunTable]) -> Check:
        return at_most(what, abs(after_s(of(QUIC_RESUMES)) - after_s(of(QUIC))), 0.1, seconds)

    return each(runs, on(SHORT), check)


@LEDGER.claim(
    "CR-X3",
    "TCP, which keeps its window at a handoff, should not resume.",
    "The median time of 5 MB is no shorter with it; a part for each handoff and kind",
    figures=("4",),
    needs=of_movers(CELLS, TCP, TCP_RESUMES),
)
def of_tcp(runs: Runs) -> Finding:
    def check(what: str, of: Callable[[Mover], RunTable]) -> Check:
        with_it, without = after_s(of(TCP_RESUMES)), after_s(of(TCP))
        return Check(what, f"{with_it:.2f} s, {without:.2f} s without", with_it >= without)

    return Finding(
        each(runs, CELLS, check).checks,
        "To a link that holds much more than the kept window, with both links up, the jump is "
        "faster than growth from that window. After a break the timer decides, and most data are "
        "retransmitted in slow start either way.",
    )


#: Handoffs to a link that holds at least twice as much, and at most half.
_RATIOS = {name: holds(new) / holds(old) for name, (old, new) in HANDOFFS.items()}
LARGER = tuple(name for name, ratio in _RATIOS.items() if ratio >= 2)
SMALLER = tuple(name for name, ratio in _RATIOS.items() if ratio <= 0.5)


@LEDGER.claim(
    "CR-X4",
    "The capacity of the old path does not replace a notice.",
    "To a link that holds twice as much or more the median time of 5 MB is at least 10 % longer "
    "than with the notice; to one that holds half or less more packets are lost to the queue; a "
    "part for each such handoff and kind",
    figures=("4", "5"),
    needs=of_movers(on((*LARGER, *SMALLER)), QUIC_OF_OLD, QUIC_RESUMES),
)
def from_the_old(runs: Runs) -> Finding:
    def larger(what: str, of: Callable[[Mover], RunTable]) -> Check:
        longer = after_s(of(QUIC_OF_OLD)) / after_s(of(QUIC_RESUMES)) - 1
        return at_least(f"{what}, longer by", longer, 0.1, percent)

    def smaller(what: str, of: Callable[[Mover], RunTable]) -> Check:
        old, told = (of(one).mean("drops_queue") for one in (QUIC_OF_OLD, QUIC_RESUMES))
        return Check(f"{what}, lost", f"{old:.0f}, {told:.0f} with the notice", old > told)

    checks = [*each(runs, on(LARGER), larger).checks, *each(runs, on(SMALLER), smaller).checks]
    return Finding(
        checks,
        "To a faster link the old window is a smaller jump, and costs most where the round trip "
        "is long. To a slower link the sender finishes the reconnaissance with a queue that a "
        "slow start fills anyway, so the larger jump loses no more packets.",
    )


@LEDGER.claim(
    "CR-X5",
    "The safe retreat limits the cost of a notice of four times the true rate.",
    "The median time of 5 MB is at most 10 % longer than without resuming; a part for each handoff "
    "and kind",
    figures=("4", "5"),
    needs=of_movers(CELLS, QUIC, QUIC_WRONG),
)
def wrong_notice(runs: Runs) -> Finding:
    def check(what: str, of: Callable[[Mover], RunTable]) -> Check:
        longer = after_s(of(QUIC_WRONG)) / after_s(of(QUIC)) - 1
        return at_most(f"{what}, longer by", longer, 0.1, percent)

    return each(runs, CELLS, check)


def resident(runs: Runs, mover: Mover, cell: tuple[str, str]) -> float:
    """The packets of a resident that are acknowledged in the five seconds after the handoff,
    mean."""
    return runs.scenarios(beside(mover, *cell)).mean("acked")


@LEDGER.claim(
    "CR-X6",
    "A newcomer that resumes takes no more from a resident flow than one that does not.",
    "A resident gets at least 90 % of what it gets beside a newcomer that does not resume; a part "
    "for each handoff and kind",
    figures=("6",),
    needs=[beside(mover, *cell) for cell in CELLS for mover in (QUIC, QUIC_RESUMES)],
)
def others(runs: Runs) -> Finding:
    checks = []
    for cell in CELLS:
        share = resident(runs, QUIC_RESUMES, cell) / resident(runs, QUIC, cell)
        checks.append(at_least(" ".join(cell), share, 0.9, percent))
    return Finding(
        checks,
        "Half of the bandwidth-delay product arrives within a round trip at a link that a "
        "resident already fills: the notice states the link's capacity, not the unused part of "
        "it. On short paths a slow start is as fast.",
    )


@LEDGER.claim(
    "CR-X7",
    "Several newcomers at once hurt others if each resumes from the whole link, but not if each "
    "resumes from its share.",
    "With shares a resident gets at least 90 % of what it gets beside four that do not resume, and "
    "at least what it gets beside four that take the whole; a part for each of these, each long "
    "path and kind",
    figures=("7",),
    needs=[beside(mover, *cell) for cell in on(LONG) for mover in (FOUR, FOUR_RESUME, FOUR_WHOLE)],
)
def several(runs: Runs) -> Finding:
    checks = []
    for cell in on(LONG):
        plain, shares, whole = (
            resident(runs, mover, cell) for mover in (FOUR, FOUR_RESUME, FOUR_WHOLE)
        )
        what = " ".join(cell)
        checks.append(at_least(f"{what}, of four that do not", shares / plain, 0.9, percent))
        text = f"{shares:.0f}, {whole:.0f} packets"
        checks.append(Check(f"{what}, shares and the whole", text, shares >= whole))
    return Finding(
        checks,
        "To GEO, shares limit the harm to the resident, but the four still take a third to two "
        "thirds of its throughput. To Starlink after a break, jumps of four whole products "
        "overflow the queue, and the four lose more than the resident.",
    )
