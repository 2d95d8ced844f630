"""The claims of Izumikawa, Yamaguchi and Katto and their evaluation on the runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from midflight.claims import (
    Check,
    Finding,
    Ledger,
    at_least,
    at_most,
    below,
    between,
    near,
    percent,
)
from midflight.results import EventLog
from midflight.studies.izumikawa_ehn import matrix
from midflight.studies.izumikawa_ehn import scenarios as sc
from midflight.studies.izumikawa_ehn.measures import (
    at_station_bps,
    gain,
    gain_at_least,
    gain_between,
    kbps,
    kbps_text,
    per_run,
    ratio_text,
    resent_share,
    same_runs,
)
from midflight.studies.izumikawa_ehn.scenarios import (
    EHN,
    FREEZE,
    FREEZE_500,
    FREEZE_1000,
    NEWRENO,
    ORIGINAL,
    RENO,
    SACK,
    TCPW,
    TR_ACKS,
    TR_ACKS_SLOW,
    Scheme,
    Tcp,
    cell,
    cells,
)
from midflight.studies.runs import FlowTrace, Roaming, Runs

LEDGER = Ledger()
claim = LEDGER.claim


def yes(what: str, holds: bool, value: str = "") -> Check:
    """A condition that is true or false."""
    return Check(what, value or ("yes" if holds else "no"), bool(holds))


# Table 1


@claim(
    "I03-T1",
    "Table 1: eight properties of I-TCP, Snoop TCP, Freeze-TCP and EHN; only Freeze-TCP needs to "
    "predict a disconnection.",
    f"Each entry for Freeze-TCP and EHN in {sum(row.test is not None for row in matrix.ROWS)} of "
    f"the {len(matrix.ROWS)} rows passes its test. The other rows hold by construction and are not "
    "counted. I-TCP and Snoop TCP are not simulated.",
    needs=matrix.NEEDS,
)
def t1(runs: Runs) -> Finding:
    return Finding(
        [
            Check(f"{row.name}: {check.what}", check.value, check.passed)
            for row, checks in matrix.tested(runs)
            for check in checks.values()
        ],
        note="The matrix with its tests is below the figures.",
    )


# Figure 1


def exchange_checks(log: EventLog) -> list[Check]:
    """The steps of figure 1 in a run; segments have the figure's numbers."""
    first = sc.FIRST_SEGMENT
    leaves = log.of("break").first_s
    mark = log.of("ack").detailed("mark")
    at_s = mark.first_s
    at_s = at_s if math.isfinite(at_s) else leaves

    def numbers(events: EventLog) -> list[int]:
        return [int(value) - first + 1 for value in events.value]

    def listed(values: Sequence[int]) -> str:
        return ", ".join(map(str, values)) or "none"

    def window(until_s: float) -> tuple[int, int]:
        """The send window: first segment not acknowledged, and the last one it allows."""
        una = log.highest_ack(until_s) + 1
        return una - first + 1, una - first + 4

    received = numbers(log.of("rcv").within(leaves - 0.02, leaves))
    lost = numbers(log.dropped().within(leaves, leaves + 0.02))
    lost_acks = numbers(log.dropped("ack").within(leaves - 0.02, leaves + 0.02))
    again = numbers(log.of("rexmit").within(at_s, at_s + 1e-6))
    cwnd = [log.last("cwnd", t) for t in (at_s, at_s + 1e-3)]
    # SW1 holds until the first ACK of the four, SW2 until the notice.
    acked = log.ack_time(first)
    windows = [window(acked), window(at_s), window(at_s + 1e-6)]
    return [
        yes("received before the node leaves", received == [1, 2], listed(received)),
        yes("segments lost", lost == [3, 4], listed(lost)),
        yes("ACK lost", lost_acks == [2], listed(lost_acks)),
        yes(
            "SW1 to SW3",
            windows == [(1, 4), (2, 5), (3, 6)],
            ", ".join(f"{low}-{high}" for low, high in windows),
        ),
        yes("sent again on the notice", again[:1] == [3], listed(again)),
        at_least("cwnd after the notice over cwnd before", cwnd[1] / cwnd[0], 1.0),
        near("timeouts", len(log.of("rto").within(leaves, at_s + 0.5)), 0, 0),
    ]


@claim(
    "I03-F1",
    "Figure 1: segments 1 and 2 are received; 3, 4 and ACK 2 are lost by the handover; the notice "
    "moves the window on by one, and the sender goes on from 3 without reducing cwnd.",
    "In the run that is drawn the same segments and the same ACK are lost, the send window is 1-4, "
    "2-5 and 3-6, sending resumes at 3, and cwnd is not less afterwards.",
    figures=("1",),
    needs=(sc.EXCHANGE,),
)
def f1(runs: Runs) -> Finding:
    log = runs.trace(sc.EXCHANGE)
    at_s = log.of("ack").detailed("mark").first_s
    before, after = (log.last("cwnd", t) for t in (at_s, at_s + 1e-3))
    return Finding(
        exchange_checks(log),
        context=f"cwnd is {before:.0f} before the notice and {after:.0f} after it, because the "
        "notice acknowledges segment 2, and in slow start an ACK opens the window by a segment. "
        "Segment 5, which ACK 1 releases while the node is away, is also lost and retransmitted. "
        f"The figure's 1 is segment {sc.FIRST_SEGMENT} of the run.",
    )


# Figures 3 and 4: throughput


def means(runs: Runs, figure: str, schemes: Iterable[Scheme]) -> str:
    """Throughput of schemes in kbit/s, for the context of a claim."""
    parts = []
    for tcp in sc.TCPS:
        values = ", ".join(
            f"{scheme.name} {kbps_text(kbps(runs, cell(figure, tcp, scheme)))}"
            for scheme in schemes
        )
        parts.append(f"{tcp.name}: {values}")
    return "kbit/s. " + "; ".join(parts)


def over(
    runs: Runs, figure: str, scheme: Scheme, low: float, high: float, label: str = ""
) -> list[Check]:
    """EHN over a scheme on each TCP, one check each."""
    return [
        gain_between(
            f"{tcp.name}{label}",
            gain(runs, cell(figure, tcp, EHN), cell(figure, tcp, scheme)),
            low,
            high,
        )
        for tcp in sc.TCPS
    ]


Limits = tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """A claim of section 4.2 A: EHN over a scheme, and the ranges in which it counts.

    `limits` are for each TCP, `mean` for the mean of the gains on the four, if that is judged.
    """

    number: int
    text: str
    scheme: Scheme
    limits: Limits
    mean: Limits | None = None


def in_figure(limits: Limits, figure: str) -> Limits:
    """A range in a figure: 15 points wider under burst errors."""
    wider = 0.15 if figure == "4" else 0.0
    return limits[0] - wider, limits[1] + wider


COMPARISONS = (
    Comparison(1, "EHN about equals Freeze-TCP with a warning of one RTT", FREEZE, (-0.05, 0.05)),
    Comparison(
        2, "EHN is about 50 % above the original TCP", ORIGINAL, (0.35, 0.75), mean=(0.40, 0.60)
    ),
    Comparison(3, "EHN is about 30 % above Freeze-TCP with RTT + 1.0 s", FREEZE_1000, (0.20, 0.60)),
    Comparison(4, "EHN is about 15 % above Freeze-TCP with RTT + 0.5 s", FREEZE_500, (0.08, 0.25)),
    Comparison(5, "EHN is 10 to 15 % above TR-ACKs", TR_ACKS_SLOW, (0.05, 0.25)),
)


def rule(comparison: Comparison, figure: str) -> str:
    """The pass rule of a comparison in words."""

    def words(limits: Limits) -> str:
        low, high = (100 * limit for limit in in_figure(limits, figure))
        return f"between {low:+.0f} and {high:+.0f} %"

    text = f"On each of the four TCPs {words(comparison.limits)}"
    if comparison.mean is not None:
        text += f", and the mean of the four gains {words(comparison.mean)}"
    if figure == "4":
        text += "; 15 points wider than under random errors"
    if comparison.scheme is TR_ACKS_SLOW:
        text += (
            ". TR-ACKs as section 2.3 defines them: fast retransmission, then slow start from a "
            "window of one"
        )
    return f"{text}."


def compare(comparison: Comparison, figure: str) -> Callable[[Runs], Finding]:
    """The evaluation of a comparison in a figure."""

    def evaluate(runs: Runs) -> Finding:
        limits = in_figure(comparison.limits, figure)
        checks = over(runs, figure, comparison.scheme, *limits)
        if comparison.mean is not None:
            checks.insert(0, mean_gain(runs, figure, comparison))
        if comparison.scheme is TR_ACKS_SLOW:
            context = means(runs, figure, (TR_ACKS_SLOW, TR_ACKS, EHN))
            return Finding(checks, context=context, note=tr_acks_note(runs, figure, limits))
        return Finding(
            checks,
            context=means(runs, figure, (comparison.scheme, EHN)),
            note=reason(runs, comparison, figure, checks),
        )

    return evaluate


def mean_gain(runs: Runs, figure: str, comparison: Comparison) -> Check:
    """The mean of EHN's gains over a scheme on the four TCPs."""
    assert comparison.mean is not None
    low, high = in_figure(comparison.mean, figure)
    gains = [
        gain(runs, cell(figure, tcp, EHN), cell(figure, tcp, comparison.scheme)).value
        for tcp in sc.TCPS
    ]
    return between("mean of the four TCPs", float(np.mean(gains)), low, high, percent)


def tr_acks_note(runs: Runs, figure: str, limits: Limits) -> str:
    """The result with the other interpretation of TR-ACKs, and why three duplicates do not help
    there."""
    other = over(runs, figure, TR_ACKS, *limits)
    passed = sum(bool(check.passed) for check in other)
    gains = "; ".join(map(str, other))
    timeouts = ", ".join(
        "{} {:.0f} and {:.0f}".format(
            tcp.name,
            *(per_run(runs, cell(figure, tcp, s), "timeouts") for s in (TR_ACKS, ORIGINAL)),
        )
        for tcp in sc.TCPS
    )
    return (
        "The other interpretation, which an earlier version of this study also judged, is that "
        f"each TCP reacts to three duplicates with its own fast retransmit: {passed} of "
        f"{len(other)} parts would pass ({gains}). The handover loses everything in flight. Fast "
        "recovery retransmits one segment and halves the window, which is then full of lost "
        "segments: Reno waits for the timeout, NewReno repairs one loss in each round trip "
        "(figure 12), and Sack gets no report of a segment beyond the gap. Timeouts in a run with "
        f"that interpretation, and of the original: {timeouts}."
    )


def reason(runs: Runs, comparison: Comparison, figure: str, checks: Sequence[Check]) -> str:
    """The cause where a comparison is not reproduced."""
    if all(check.passed for check in checks):
        return ""
    if comparison.scheme is ORIGINAL and figure == "3":
        waits, large = (
            ", ".join(f"{tcp.name} {kbps(runs, alone(tcp)).mean:.0f}" for tcp in sc.TCPS)
            for alone in (stay, stay_64)
        )
        return (
            "A handover costs the original at least 1 s of waiting, and its window. The faster a "
            f"TCP is without handovers ({waits} kbit/s), the more it loses. With a window of "
            f"{sc.OTHER_WINDOW} segments they have {large} kbit/s."
        )
    if comparison.scheme is FREEZE and figure == "3":
        slow = ratio_text(gain(runs, *TAU_1S))
        lost = ", ".join(
            f"{tcp.name} {drops_of_a_handover(runs, cell(figure, tcp, FREEZE)):.2f}"
            for tcp in sc.TCPS
        )
        return (
            "The warning of one idle round trip is too short for a window that waits in the queue. "
            f"Segments that Freeze-TCP loses in a handover: {lost}. On TCPW the gain depends on "
            f"the time constant of the bandwidth estimate, {sc.TAU_S:g} s here. With 1 s, which "
            f"its authors' ns-2 code has, it is {slow}."
        )
    return ""


def drops_of_a_handover(runs: Runs, job: Roaming) -> float:
    """Segments per handover that arrive at the station that the node has left."""
    return per_run(runs, job, "drops_break") / sc.HANDOVERS


def stay(tcp: Tcp) -> Roaming:
    """The original TCP without handovers under random errors."""
    return sc.roaming(tcp, ORIGINAL, sc.ERRORS["3"], every_s=None)


def stay_64(tcp: Tcp) -> Roaming:
    """The same with the other interpretation of the window."""
    return sc.with_knobs(stay(tcp), receiver_window=str(sc.OTHER_WINDOW))


#: EHN and Freeze-TCP on TCPW with the time constant of the authors' ns-2 code.
TAU_1S = tuple(
    sc.with_knobs(cell("3", TCPW, scheme), westwood_tau="1s") for scheme in (EHN, FREEZE)
)
STAYS = tuple(alone(tcp) for alone in (stay, stay_64) for tcp in sc.TCPS)


def _register_comparisons(figure: str) -> None:
    for comparison in COMPARISONS:
        claim(
            f"I03-F{figure}-{comparison.number}",
            f"{sc.ERROR_NAMES[figure].capitalize()}: {comparison.text}.",
            rule(comparison, figure),
            figures=(figure,),
            needs=(*cells(figure), *((*STAYS, *TAU_1S) if figure == "3" else ())),
        )(compare(comparison, figure))


def order(
    runs: Runs, figure: str, better: Sequence[Tcp], worse: Sequence[Tcp]
) -> tuple[list[Check], str]:
    """Checks, for every scheme, that each of some TCPs is above each of others; and the gains."""
    checks, gains = [], []
    for scheme in sc.SCHEMES:
        ratios = {
            (high, low): gain(runs, cell(figure, high, scheme), cell(figure, low, scheme))
            for high in better
            for low in worse
        }
        least = min(ratios, key=lambda pair: ratios[pair].value)
        value = ratios[least]
        checks.append(
            gain_at_least(f"{scheme.name}, {least[0].name} over {least[1].name}", value, 0)
        )
        gains.append(f"{scheme.name} {ratio_text(value)}")
    return checks, "; ".join(gains)


_register_comparisons("3")


@claim(
    "I03-F3-6",
    "Random errors: TCPW has the highest throughput.",
    "With every scheme above Reno, NewReno and Sack; the least of the three gains is shown.",
    figures=("3",),
    needs=cells("3"),
)
def f3_6(runs: Runs) -> Finding:
    checks, _ = order(runs, "3", (TCPW,), (RENO, NEWRENO, SACK))
    return Finding(checks)


_register_comparisons("4")


@claim(
    "I03-F4-6",
    "Burst errors: TCPW has less throughput than NewReno and Sack.",
    "With every scheme NewReno and Sack above TCPW; the lesser of the two gains is shown.",
    figures=("4",),
    needs=cells("4"),
)
def f4_6(runs: Runs) -> Finding:
    checks, _ = order(runs, "4", (NEWRENO, SACK), (TCPW,))
    return Finding(checks)


# Figure 5, table 2, figure 6: four domains

MOBILITY = sc.mobility(TCPW, EHN)


@claim(
    "I03-F5",
    "Figure 5: a node moves at random in four domains, whose base stations have zero to three "
    "fixed nodes.",
    "The configuration says so; in the runs each move leads to another station, each of the twelve "
    "ways taken by 6 to 11 % of the moves (8.3 % if they are equal), one every 5 s.",
    figures=("6",),
    needs=(MOBILITY,),
)
def f5(runs: Runs) -> Finding:
    table = runs.roaming(MOBILITY)
    stations = table["station"][:, :, 0].astype(int)
    ways = Counter((a, b) for run in stations.tolist() for a, b in pairwise(run))
    total = sum(ways.values())
    moved = [way for way in ways if way[0] != way[1]]
    shares = [ways[way] / total for way in moved]
    length = (table["until_ns"] - table["from_ns"])[:, :, 0] / 1e9
    return Finding(
        [
            yes("stations", MOBILITY.stations == 4, f"{MOBILITY.stations}"),
            yes(
                "fixed nodes",
                sorted(MOBILITY.fixed) == [0, 1, 2, 3],
                ", ".join(f"BS{n + 1} {k}" for n, k in enumerate(MOBILITY.fixed)),
            ),
            yes("ways taken", len(moved) == len(ways) == 12, f"{len(moved)} of 12"),
            between("rarest way", min(shares), 0.06, 0.11, percent),
            between("most frequent way", max(shares), 0.06, 0.11, percent),
            yes("time at a station", bool(np.all(length == 5.0)), f"{length.mean():g} s"),
        ]
    )


def fixed_node(runs: Runs, tcp: Tcp, scheme: Scheme) -> float:
    """Throughput of the fixed node at BS1 in kbit/s, the mean of the runs."""
    return float(at_station_bps(runs, sc.mobility(tcp, scheme), 0, fixed=True).mean()) / 1000


@claim(
    "I03-T2",
    "Table 2: the fixed node at BS1 has almost the same throughput whether the mobile node uses "
    "TR-ACKs, Freeze-TCP or EHN: 562 to 566 (Reno), 611 to 612 (NewReno), 608 to 609 (Sack), 871 "
    "to 872 kbit/s (TCPW).",
    "On each TCP the three differ by less than 2 %, and each is within 25 % of the paper's value.",
    needs=(
        *(sc.mobility(tcp, scheme) for tcp in sc.TCPS for scheme in sc.TABLE_2),
        *STAYS,
    ),
)
def t2(runs: Runs) -> Finding:
    checks = []
    rows = []
    for place, tcp in enumerate(sc.TCPS):
        values = {scheme: fixed_node(runs, tcp, scheme) for scheme in sc.TABLE_2}
        spread = max(values.values()) / min(values.values()) - 1
        off = [value / sc.TABLE_2[scheme][place] - 1 for scheme, value in values.items()]
        worst = max(off, key=abs)
        checks.append(below(f"{tcp.name}, largest difference", spread, 0.02, percent))
        checks.append(
            between(f"{tcp.name}, furthest from the paper's", worst, -0.25, 0.25, percent)
        )
        rows.append(f"{tcp.name} " + "/".join(f"{value:.0f}" for value in values.values()))
    return Finding(
        checks,
        context="kbit/s with TR-ACKs/Freeze-TCP/EHN: " + ", ".join(rows),
        note=t2_note(runs),
    )


def t2_note(runs: Runs) -> str:
    """The throughput of a flow alone with either window: the evidence for the one that is used."""
    alone, large = (
        ", ".join(f"{tcp.name} {kbps(runs, one(tcp)).mean:.0f}" for tcp in sc.TCPS)
        for one in (stay, stay_64)
    )
    return (
        f"A flow alone at a station that stays there has {alone} kbit/s; with a window of "
        f"{sc.OTHER_WINDOW} segments it has {large}. The table of interpretations has this claim "
        "with both."
    )


def strategy_values(runs: Runs, station: int | None, fixed: bool) -> dict[str, float]:
    """Throughput in kbit/s under each strategy on TCPW, the mean of the runs."""
    return {
        name: float(at_station_bps(runs, sc.mobility(TCPW, scheme), station, fixed).mean()) / 1000
        for name, scheme in sc.STRATEGIES.items()
    }


STRATEGY_JOBS = tuple(sc.mobility(TCPW, scheme) for scheme in sc.STRATEGIES.values())


@claim(
    "I03-F6-1",
    "TCPW in four domains: the mobile node is slowest when it resumes with slow start; previous "
    "and adjusted values are comparable.",
    "On average and at each station slow start below both others; on average the two differ by "
    "less than 10 %.",
    figures=("6",),
    needs=STRATEGY_JOBS,
)
def f6_1(runs: Runs) -> Finding:
    checks = []
    for station in (None, *range(sc.STATIONS)):
        values = strategy_values(runs, station, fixed=False)
        slow, rest = values["slow start"], min(values["previous values"], values["adjusted"])
        where = "average" if station is None else f"BS{station + 1}"
        checks.append(below(f"{where}, slow start over the lesser of the others", slow / rest, 1.0))
    previous, adjusted = (
        sc.mobility(TCPW, sc.STRATEGIES[name]) for name in ("previous values", "adjusted")
    )
    ratio = gain(runs, adjusted, previous)
    checks.append(gain_between("adjusted over previous values", ratio, -0.10, 0.10))
    parts = "; ".join(
        f"{name} {kbps_text(kbps(runs, sc.mobility(TCPW, scheme)))}"
        for name, scheme in sc.STRATEGIES.items()
    )
    return Finding(checks, context=f"kbit/s: {parts}")


@claim(
    "I03-F6-2",
    "TCPW in four domains: fixed nodes hardly notice how the mobile node resumes.",
    "On average and at each station with fixed nodes the three strategies differ by less than 10 "
    "%.",
    figures=("6",),
    needs=STRATEGY_JOBS,
)
def f6_2(runs: Runs) -> Finding:
    checks = []
    for station in (None, 0, 1, 2):
        values = strategy_values(runs, station, fixed=True)
        spread = max(values.values()) / min(values.values()) - 1
        where = "average" if station is None else f"BS{station + 1}"
        checks.append(below(where, spread, 0.10, percent))
    return Finding(checks)


# Beyond the paper: notices that are lost, repeated, late or forged.


def spoiled(*cases: sc.Spoiled, loss: str | None = sc.ERRORS["3"]) -> tuple[Roaming, ...]:
    """The runs of EHN and of plain TCP with these disturbances and without any."""
    return tuple(
        case.node(tcp, scheme, loss)
        for case in (sc.INTACT, *cases)
        for tcp in sc.TCPS
        for scheme in (ORIGINAL, EHN)
    )


def over_plain(
    runs: Runs, case: sc.Spoiled, loss: str | None = sc.ERRORS["3"], label: str = ""
) -> list[Check]:
    """EHN with disturbed notices compared with the original under the same conditions, on each
    TCP."""
    return [
        gain_at_least(
            f"{label}{case.name}, {tcp.name}",
            gain(runs, case.node(tcp, EHN, loss), case.node(tcp, ORIGINAL, loss)),
            0.0,
        )
        for tcp in sc.TCPS
    ]


@claim(
    "I03-X1",
    "Beyond the paper: with a lost notice EHN behaves like plain TCP.",
    "If all are lost, every run equals the original's bit for bit; if half are, EHN is not below "
    "it.",
    figures=("10",),
    needs=spoiled(sc.ALL_LOST, sc.HALF_LOST),
)
def x1(runs: Runs) -> Finding:
    pairs = [(sc.ALL_LOST.node(t, EHN), sc.INTACT.node(t, ORIGINAL)) for t in sc.TCPS]
    same = sum(same_runs(runs, *pair) for pair in pairs)
    whole = sum(one.runs for one, _ in pairs)
    identical = near(
        "runs equal to the original's", same, whole, 0, lambda v: f"{v:.0f} of {whole}"
    )
    return Finding([identical, *over_plain(runs, sc.HALF_LOST)])


def thresholds(case: sc.Spoiled) -> FlowTrace:
    """The thresholds that EHN on TCPW sets in its first run."""
    return FlowTrace(case.node(TCPW, EHN), events=("ssthresh", "fast_retransmit"))


@claim(
    "I03-X2",
    "Beyond the paper: further copies of a notice have no effect.",
    "With 2 and 5 copies throughput on each TCP is within 1 % of that with one.",
    figures=("10",),
    needs=(*spoiled(*sc.DUPLICATED), *(thresholds(case) for case in (sc.INTACT, *sc.DUPLICATED))),
)
def x2(runs: Runs) -> Finding:
    checks = []
    for case in sc.DUPLICATED:
        for tcp in sc.TCPS:
            ratio = gain(runs, case.node(tcp, EHN), sc.INTACT.node(tcp, EHN))
            checks.append(gain_between(f"{case.name}, {tcp.name}", ratio, -sc.NOTHING, sc.NOTHING))
    return Finding(checks, note=copies_note(runs))


def copies_note(runs: Runs) -> str:
    """The measured effect of further copies of a notice on TCPW."""
    means = []
    for case in (sc.INTACT, *sc.DUPLICATED):
        log = runs.trace(thresholds(case))
        # A threshold is set as the recovery begins.
        set_s = log.of("fast_retransmit").time_s + 1e-6
        mean = np.mean([log.last("ssthresh", float(at)) for at in set_s])
        timeouts = per_run(runs, case.node(TCPW, EHN), "timeouts")
        means.append(f"{case.name} {mean:.0f} and {timeouts:.0f}")
    return (
        "No copy after the first has an effect on the sender's recovery, and on Reno, whose "
        "recovery TCPW has, none changes anything. TCPW's estimate counts each copy as an ACK: "
        "one segment in the time since the copy before, in which a link sends 40 bytes. The "
        "filter averages a sample with the one before, so this bandwidth counts for the whole "
        "wait until the next ACK. The thresholds become too high. Their mean after a fast "
        f"retransmit of the first run, in segments, and timeouts in a run: {'; '.join(means)}."
    )


@claim(
    "I03-X3",
    "Beyond the paper: a notice that comes late does no harm.",
    "With notices 0.1 to 4 s late EHN is not below the original on the same radio, with random "
    "errors and without.",
    figures=("10",),
    needs=(*spoiled(*sc.LATE), *spoiled(*sc.LATE, loss=None)),
)
def x3(runs: Runs) -> Finding:
    checks = [check for late in sc.LATE for check in over_plain(runs, late)]
    for late in sc.LATE:
        checks += over_plain(runs, late, None, "without errors, ")
    return Finding(
        checks,
        note="When a notice arrives after the timeout, the sender has recovered. It then takes "
        "the segments in flight for lost and retransmits a window; the duplicates that come back "
        "cause a fast retransmit, which halves the window. A notice does not tell the sender how "
        "long ago the handover was: a node should not send one after the timeout.",
    )


#: EHN on the SACK recovery of RFC 6675 with forged notices, and without.
OTHER_PIPE = tuple(
    sc.with_knobs(case.node(SACK, EHN), recovery="sack") for case in (sc.FORGED_OLD, sc.INTACT)
)


@claim(
    "I03-X4",
    "Beyond the paper: a forged notice with an old ACK number, or with that of a segment never "
    "sent, changes nothing.",
    "Ten a second: on each TCP the throughput and the segments sent per segment acknowledged are "
    "within 1 % of those without.",
    figures=("10",),
    needs=(*spoiled(sc.FORGED_OLD, sc.FORGED_UNSENT), *OTHER_PIPE),
)
def x4(runs: Runs) -> Finding:
    checks = []
    for case in (sc.FORGED_OLD, sc.FORGED_UNSENT):
        for tcp in sc.TCPS:
            forged, intact = (one.node(tcp, EHN) for one in (case, sc.INTACT))
            ratio = gain(runs, forged, intact)
            again, before = (1 + resent_share(runs, one) for one in (forged, intact))
            more = again / before - 1
            checks.append(
                Check(
                    f"{case.name}, {tcp.name}",
                    f"throughput {ratio_text(ratio)}, sent per acknowledged {100 * more:+.1f} %",
                    abs(ratio.value) <= sc.NOTHING and abs(more) <= sc.NOTHING,
                )
            )
    return Finding(checks, note=pipe_note(runs))


def pipe_note(runs: Runs) -> str:
    """The measured effect of an old ACK number, whose mark is ignored."""
    plain = gain(runs, *(one.node(SACK, ORIGINAL) for one in (sc.FORGED_OLD, sc.INTACT)))
    other = gain(runs, *OTHER_PIPE)
    return (
        "The mark is ignored, but the ACK is not. In fast recovery ns-2's Sack1 counts one "
        "segment less in flight for any ACK, even one below the first unacknowledged segment, and "
        "sends another; ns-2's NewReno, which sends at most two segments for a duplicate, "
        "responds to an old ACK with the segments that it held back. A plain Sack sender, which "
        f"does not know marks, gets {ratio_text(plain)} throughput from the same ACKs; EHN on the "
        "SACK recovery of RFC 6675, which counts the segments in flight from the SACK blocks, "
        f"{ratio_text(other)}."
    )


def most_sent(runs: Runs, job: Roaming) -> float:
    """The most segments that the mobile node's sender sends in an interval of any run."""
    return float(runs.roaming(job)["sent"][:, :, 0].max())


@claim(
    "I03-X5",
    "Beyond the paper: a forged notice with the right ACK number does not make a sender send more "
    "than plain TCP may.",
    f"Ten a second: in none of the {sc.HANDOVERS + 1} intervals of {sc.EVERY_S:g} s more segments "
    f"than the wireless link carries in it and one window, {sc.CARRIED} + {sc.WINDOW} = "
    f"{sc.CARRIED + sc.WINDOW}; no flow stalls for a whole interval; throughput not below that of "
    "the original with the same notices.",
    figures=("10",),
    needs=spoiled(sc.FORGED_CURRENT),
)
def x5(runs: Runs) -> Finding:
    checks = []
    still = 0
    for tcp in sc.TCPS:
        job = sc.FORGED_CURRENT.node(tcp, EHN)
        most = sc.CARRIED + sc.WINDOW
        checks.append(
            at_most(f"{tcp.name}, most in an interval", most_sent(runs, job), most, "{:.0f}".format)
        )
        still += int((runs.roaming(job)["acked"][:, :, 0] == 0).sum())
    checks.append(near("intervals without progress", still, 0, 0))
    checks += over_plain(runs, sc.FORGED_CURRENT)
    shares = ", ".join(
        f"{tcp.name} {resent_share(runs, sc.FORGED_CURRENT.node(tcp, EHN)):.1f}" for tcp in sc.TCPS
    )
    plain = ", ".join(
        f"{tcp.name} {most_sent(runs, sc.FORGED_CURRENT.node(tcp, ORIGINAL)):.0f}"
        for tcp in sc.TCPS
    )
    return Finding(
        checks,
        context=f"Needless retransmissions per segment acknowledged: {shares}. The most that the "
        f"original sends in an interval: {plain}",
        note="Plain TCP sends a segment when an ACK releases it, and there are no more ACKs than "
        "segments that the link carries; or it resends what a handover has lost, at most a "
        "window. A forger who knows the ACK number can make the sender go back repeatedly: it "
        "resends segments that the node has, and the duplicates that come back halve its window. "
        "A mark needs the same protection as a reset (RFC 5961).",
    )


__all__ = ["LEDGER", "STRATEGY_JOBS", "exchange_checks"]
