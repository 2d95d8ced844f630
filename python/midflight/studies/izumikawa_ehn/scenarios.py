"""The world of Izumikawa, Yamaguchi and Katto: base stations, TCP versions, handover schemes.

What the paper does not specify is a constant here; README.md justifies it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from midflight.studies.runs import FlowTrace, Roaming

Knobs = tuple[tuple[str, str], ...]

#: Figure 2 from the sender to the node: bit/s, and seconds one way.
LINKS = ((100e6, 0.050), (10e6, 0.003), (2e6, 0.005))
SEGMENT_BITS, ACK_BITS = 8000, 320
#: Idle round trip of a segment in seconds: 116 ms of propagation, and serialisation.
RTT_S = 0.121
#: From the node to the sender, an ACK on idle links.
BACK_S = sum(delay + ACK_BITS / rate for rate, delay in LINKS)

END_S, EVERY_S, ADVERTISEMENT_S = 300.0, 5.0, 0.1
#: In a run; it ends when the next one would be.
HANDOVERS = 59
#: The receiver's window, its other interpretation, and the capacity of the wireless link between
#: two handovers, in segments.
WINDOW, OTHER_WINDOW = 20, 64
CARRIED = round(LINKS[-1][0] * EVERY_S / SEGMENT_BITS)
#: The paper has five runs of everything.
RUNS, MOBILITY_RUNS, BEYOND_RUNS, SWEEP_RUNS, READING_RUNS = 20, 10, 10, 5, 5
#: Without radio losses runs differ in the time at which the node hears an advertisement, and in
#: little else.
CLEAN_RUNS = 3
RUN_COUNTS = (RUNS, MOBILITY_RUNS, BEYOND_RUNS, SWEEP_RUNS, READING_RUNS, CLEAN_RUNS)

KNOBS: Knobs = (
    ("delayed_ack", "off"),
    ("initial_window", "2"),
    ("min_rto", "1s"),
    ("receiver_window", str(WINDOW)),  # segments
    ("segment_bytes", "1000"),
)


@dataclass(frozen=True)
class Tcp:
    """A version of TCP: its name, and its differences from the others."""

    name: str
    knobs: Knobs


RENO = Tcp("Reno", (("recovery", "reno"),))
NEWRENO = Tcp("NewReno", (("recovery", "newreno"),))
SACK = Tcp("Sack", (("count_sackless_dupacks", "on"), ("recovery", "sack1")))
#: Time constant of Westwood's filter in seconds.
TAU_S = 0.5
TCPW = Tcp(
    "TCPW",
    (("congestion", "westwood"), ("recovery", "reno"), ("westwood_tau", f"{TAU_S * 1000:.0f}ms")),
)
TCPS = (RENO, NEWRENO, SACK, TCPW)
#: Beyond the paper: the estimator of Westwood+.
TCPW_PLUS = Tcp("TCPW+", (("congestion", "westwood-plus"), ("recovery", "reno")))


@dataclass(frozen=True)
class Scheme:
    """How a mobile node and its sender handle a handover: its name, and its scheme in the core."""

    name: str
    core: str
    knobs: Knobs = ()


def freeze(name: str, warning_s: float) -> Scheme:
    """Freeze-TCP with a warning this long before the node leaves."""
    return Scheme(name, "freeze", (("freeze_warning", f"{round(warning_s * 1000)}ms"),))


ORIGINAL = Scheme("original", "sack")
#: Section 2.3: fast retransmission after the handover, followed by slow start from a window of one.
TR_ACKS_SLOW = Scheme("TR-ACKs", "ehn", (("ehn_window", "slow-start"),))
#: The other interpretation: three duplicate ACKs, to which each TCP reacts in its usual way.
TR_ACKS = Scheme("TR-ACKs, own fast retransmit", "tr-acks")
FREEZE = freeze("Freeze, RTT", RTT_S)
FREEZE_500 = freeze("Freeze, RTT + 0.5 s", RTT_S + 0.5)
FREEZE_1000 = freeze("Freeze, RTT + 1.0 s", RTT_S + 1.0)
EHN = Scheme("EHN", "ehn")
SCHEMES = (ORIGINAL, TR_ACKS_SLOW, TR_ACKS, FREEZE_1000, FREEZE_500, FREEZE, EHN)

#: Loss model of the wireless links in figures 3 and 4, for packets to the nodes.
ERRORS = {"3": "uniform 1%", "4": "burst 0.5% 3"}
ERROR_NAMES = {"3": "random errors", "4": "burst errors"}


def with_knobs(node: Roaming, **knobs: str) -> Roaming:
    """The node with these settings changed."""
    return replace(node, knobs=tuple(sorted({**dict(node.knobs), **knobs}.items())))


def roaming(tcp: Tcp, scheme: Scheme, loss: str | None, **changes: Any) -> Roaming:
    """The runs of a scheme on a TCP between two stations."""
    node = Roaming(
        scheme.core,
        END_S,
        every_s=EVERY_S,
        advertisement_s=ADVERTISEMENT_S,
        loss=loss,
        knobs=tuple(sorted((*KNOBS, *tcp.knobs, *scheme.knobs))),
        runs=RUNS,
    )
    return replace(node, **changes)


def cell(figure: str, tcp: Tcp, scheme: Scheme) -> Roaming:
    """A bar of figure 3 or 4."""
    return roaming(tcp, scheme, ERRORS[figure])


def cells(figure: str) -> tuple[Roaming, ...]:
    """All bars of figure 3 or 4."""
    return tuple(cell(figure, tcp, scheme) for tcp in TCPS for scheme in SCHEMES)


# Figure 5: four domains.

#: Fixed nodes at the stations BS1 to BS4.
FIXED = (1, 2, 3, 0)
STATIONS = len(FIXED)
PREVIOUS = EHN
SLOW_START = TR_ACKS_SLOW
ADJUSTED = Scheme("EHN, adjusted", "ehn", (("ehn_window", "adjusted"),))
#: The strategies of section 4.2 B in the order of its text.
STRATEGIES = {
    "slow start": SLOW_START,
    "previous values": PREVIOUS,
    "adjusted": ADJUSTED,
}


def mobility(tcp: Tcp, scheme: Scheme, **changes: Any) -> Roaming:
    """The runs of a scheme on a TCP in the model of figure 5; the fixed nodes have the same TCP."""
    changes = {"runs": MOBILITY_RUNS, **changes}
    return roaming(tcp, scheme, ERRORS["3"], stations=STATIONS, fixed=FIXED, **changes)


#: Table 2 in kbit/s: the fixed node at BS1.
TABLE_2 = {
    TR_ACKS_SLOW: (566.43, 611.67, 608.70, 871.30),
    FREEZE: (562.20, 612.03, 607.71, 872.06),
    EHN: (563.70, 610.57, 609.05, 871.60),
}


# Figure 1: a window of four segments, of which the node gets two before it leaves.

#: Number of the segment that the figure calls 1.
FIRST_SEGMENT = 35
#: The node leaves between its second and its third segment; the ACK of the second is the packet
#: after the SYN's ACK and those of all segments before.
LEAVES_S, SECOND_ACK = 1.275, FIRST_SEGMENT + 2
EXCHANGE = FlowTrace(
    with_knobs(
        roaming(
            RENO,
            EHN,
            None,
            end_s=2.5,
            every_s=LEAVES_S,
            back_script=((SECOND_ACK, "lose"),),
            runs=1,
        ),
        receiver_window="4",
    )
)


# Beyond the paper.

MIN_RTO_NAMES = {"200ms": "min. RTO 0.2 s", "500ms": "0.5 s", "1s": "1.0 s"}
MIN_RTOS = tuple(MIN_RTO_NAMES)
WINDOWS = (16, 20, 24, 32, 48, 56, 64, 80, 100)
BLACKOUTS_S = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
#: Delay of a warning beyond its intended time, in seconds; below zero it comes earlier.
FORESIGHT_ERRORS_S = (-0.5, -0.3, -0.2, -0.1, -0.05, 0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
MISSED = (0.0, 0.25, 0.5, 0.75, 1.0)
LONG_BLACKOUT_S = 2.0


def beyond(tcp: Tcp, scheme: Scheme, loss: str | None = ERRORS["3"], **changes: Any) -> Roaming:
    """The runs of a scheme on a TCP beyond what the paper has."""
    return roaming(tcp, scheme, loss, **{"runs": BEYOND_RUNS, **changes})


#: One handover in detail, without radio losses, with so few segments in flight that a figure shows
#: them and no queue fills.
NEAR_WINDOW = 16


def near(scheme: Scheme) -> FlowTrace:
    """The first handover of a scheme on NewReno."""
    node = roaming(NEWRENO, scheme, None, end_s=7.0, runs=1)
    return FlowTrace(with_knobs(node, receiver_window=str(NEAR_WINDOW)), from_s=EVERY_S - 1)


def swept(tcp: Tcp, scheme: Scheme, **changes: Any) -> Roaming:
    """The runs of a point of a line."""
    return beyond(tcp, scheme, **{"runs": SWEEP_RUNS, **changes})


@dataclass(frozen=True)
class Spoiled:
    """A disturbance of notices: its name, and what it changes in a node's runs."""

    name: str
    changes: tuple[tuple[str, Any], ...]

    def node(self, tcp: Tcp, scheme: Scheme, loss: str | None = ERRORS["3"]) -> Roaming:
        """The runs of a scheme on a TCP with this disturbance."""
        runs = BEYOND_RUNS if loss else CLEAN_RUNS
        return beyond(tcp, scheme, loss, runs=runs, **dict(self.changes))


#: Allowed difference for notices that should change nothing. The runs are paired, so any difference
#: is caused by the notice, not by chance. The paper calls 562 to 566 kbit/s "almost the same"
#: (table 2: 0.8 %).
NOTHING = 0.01
INTACT = Spoiled("as sent", ())
HALF_LOST = Spoiled("half of them lost", (("signal_lost", 0.5),))
ALL_LOST = Spoiled("all lost", (("signal_lost", 1.0),))
DUPLICATED = tuple(Spoiled(f"{n} copies", (("signal_copies", n),)) for n in (2, 5))
DELAYS_S = (0.1, 0.5, 1.0, 2.0, 4.0)
LATE = tuple(Spoiled(f"{s:g} s late", (("signal_delay_s", s),)) for s in DELAYS_S)
#: Forged notices come ten times a second: once in a round trip, and twenty times an honest one.
FORGED_EVERY_S = 0.1


def forged(kind: str, name: str) -> Spoiled:
    """Forged notices with this kind of ACK number."""
    return Spoiled(f"forged, {name}", (("forged", kind), ("forged_every_s", FORGED_EVERY_S)))


FORGED_OLD = forged("old", "old number")
FORGED_UNSENT = forged("unsent", "number never sent")
FORGED_CURRENT = forged("current", "right number")
SPOILED = (
    INTACT,
    HALF_LOST,
    ALL_LOST,
    *DUPLICATED,
    *LATE,
    FORGED_OLD,
    FORGED_UNSENT,
    FORGED_CURRENT,
)
