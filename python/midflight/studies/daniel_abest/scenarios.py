"""The world of Daniel and Kojo's report: access links, senders, start-ups, handoffs and outages.

What the paper does not specify is a constant here; README.md justifies it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from midflight.studies.runs import Cell, Kind, Link, Startup, Sweep, Trace

Knobs = tuple[tuple[str, str], ...]

# Table 1.

EGPRS = Link(200, 300)
HSDPA_2, HSDPA_6 = Link(2000, 50), Link(6000, 50)
LTE = Link(50_000, 15)
WLAN_2, WLAN_4 = Link(54_000, 2), Link(54_000, 4)
#: The caption of figure 13 has LTE's rate and HSDPA's delay.
LTE_50 = Link(50_000, 50)
#: The capacity of the links in packets, by the paper (sections 4.1 and 4.2).
HELD = {EGPRS: 10, HSDPA_6: 50, LTE: 125, WLAN_2: 18, WLAN_4: 38}

#: Delay of each of the two fixed links in ms: 5.5 to 40 ms in all. A rule selects one.
PATHS_MS = (2.75, 4.0, 5.0, 7.5, 10.0, 20.0)
FIXED_MS = 2.75
#: The axis printed with figure 6, in seconds, and its step.
AXIS_S, AXIS_STEP_S = (0.2, 1.8), 0.2
FLOWS = (1, 2, 4)

#: Settings of all senders and receivers (section 4). Settings that the profile has already are
#: repeated.
KNOBS: Knobs = (
    ("chirp_estimator", "pathchirp"),
    ("delay_syn_ack", "on"),
    ("delayed_ack", "100ms"),
    ("dsack", "on"),
    ("initial_window", "3"),
    ("limited_transmit", "on"),
    ("receiver_window", "5000"),  # segments
    ("recovery", "sack1"),
    ("segment_bytes", "1500"),
)


@dataclass(frozen=True)
class Scheme:
    """A version of TCP: the paper's name, and its scheme and settings in the core."""

    name: str
    core: str


TCP = Scheme("TCP", "sack")
QS = Scheme("QS", "quick-start")
IW10 = Scheme("Iw10", "iw10")
VHO = Scheme("Vho", "vho")
ABEST = Scheme("AbestVho", "abest-vho")
STARTING = (TCP, QS, IW10, VHO, ABEST)
MOVING = (TCP, QS, ABEST, VHO)


def with_knobs(knobs: Knobs, **changes: str) -> Knobs:
    """Settings with some of them changed."""
    return tuple(sorted({**dict(knobs), **changes}.items()))


# Figures 2 to 5: the start of connections.

PACKETS = (10, 100, 200, 300, 400)
#: The numbers of packets at which schemes are compared: with ten all but Iw10 are in slow start.
COMPARED = PACKETS[1:]
#: Figure, access link and number of flows. Figure 3 is lost; the text states its link and its
#: number of flows.
STARTS = {"2": (LTE, 1), "3": (WLAN_2, 1), "4": (LTE, 4), "5": (WLAN_2, 4)}


def start(figure: str, scheme: Scheme, **changes: Any) -> Startup:
    """The connections of a start-up figure under a scheme."""
    link, flows = STARTS[figure]
    job = Startup(link, scheme.core, flows, PACKETS, fixed_delay_ms=FIXED_MS, knobs=KNOBS)
    return replace(job, **changes)


def starts(figure: str) -> tuple[Startup, ...]:
    """The lines of a start-up figure."""
    return tuple(start(figure, scheme) for scheme in STARTING)


def start_trace(link: Link, flows: int = 1, scheme: Scheme = ABEST, until_s: float = 3.0) -> Trace:
    """The first of this many flows that start over a link, with all events and no handoff."""
    return Trace(
        Cell(link, link, "mbb"),
        scheme.core,
        None,
        until_s,
        KNOBS,
        flows,
        fixed_delay_ms=FIXED_MS,
        start_notice=True,
    )


# Figures 6 to 13: handoffs, and outages, which are handoffs to the link that was left.

#: Handoff instants go from this number of round trips of the idle old path to this number of
#: seconds, in steps of equal ratio.
FIRST_RTTS, LAST_S, INSTANTS = 4, 10.0, 24


def idle_rtt_s(link: Link, fixed_ms: float = FIXED_MS) -> float:
    """Round trip of a segment over an access link and the fixed links, without serialisation."""
    return 2e-3 * (link.ms + 2 * fixed_ms)


def instants_ns(old: Link, fixed_ms: float = FIXED_MS) -> tuple[int, ...]:
    """The handoff instants of flows that start on a link, in nanoseconds, whole milliseconds."""
    first = FIRST_RTTS * idle_rtt_s(old, fixed_ms)
    ratio = (LAST_S / first) ** (1 / (INSTANTS - 1))
    return tuple(round(1e3 * first * ratio**n) * 1_000_000 for n in range(INSTANTS))


def over_path(job: Sweep, fixed_ms: float) -> Sweep:
    """The same handoffs over another fixed path, at the instants of its own round trip."""
    return replace(job, fixed_delay_ms=fixed_ms, at_ns=instants_ns(job.cell.old, fixed_ms))


#: Equal steps, as in the authors' paper of 2008.
EVEN_INSTANTS_NS = tuple(n * 500_000_000 for n in range(1, 21))


@dataclass(frozen=True)
class Experiment:
    """A figure of section 4.2 or 4.3: the links, the kind of handoff, the packets timed."""

    figure: str
    old: Link
    new: Link
    kind: Kind
    packets: int
    gap_s: float = 0.5

    @property
    def cell(self) -> Cell:
        return Cell(self.old, self.new, self.kind)

    def sweep(self, scheme: Scheme, flows: int = 1, **changes: Any) -> Sweep:
        """All handoff instants under a scheme."""
        job = Sweep(
            self.cell,
            scheme.core,
            instants_ns(self.old),
            packets=self.packets,
            fixed_delay_ms=FIXED_MS,
            knobs=KNOBS,
            flows=flows,
            start_notice=True,
            gap_s=self.gap_s,
        )
        return replace(job, **changes)

    def sweeps(self) -> Iterator[Sweep]:
        """All bars of the figure."""
        for flows in FLOWS:
            for scheme in MOVING:
                yield self.sweep(scheme, flows)

    def trace(self, scheme: Scheme, at_s: float, flows: int = 1, more_s: float = 10.0) -> Trace:
        """One run with all events, until this time after the handoff."""
        return Trace(
            self.cell,
            scheme.core,
            at_s,
            at_s + more_s,
            KNOBS,
            flows,
            fixed_delay_ms=FIXED_MS,
            start_notice=True,
            gap_s=self.gap_s,
        )


EXPERIMENTS = {
    experiment.figure: experiment
    for experiment in (
        Experiment("6", WLAN_4, HSDPA_6, "mbb", 100),
        Experiment("7", HSDPA_6, WLAN_4, "mbb", 500),
        Experiment("8", WLAN_4, LTE, "mbb", 1000),
        Experiment("9", LTE, WLAN_4, "mbb", 1000),
        Experiment("10", EGPRS, LTE, "bbm", 500, gap_s=1.0),
        Experiment("11", HSDPA_2, LTE, "bbm", 500),
        Experiment("12", HSDPA_2, HSDPA_2, "bbm", 100, gap_s=1.0),
        Experiment("13", LTE_50, LTE_50, "bbm", 1000),
    )
}
#: The text of section 4.3 says that figure 13 is about the LTE link, which has 15 ms.
FIG13_TEXT = Experiment("13", LTE, LTE, "bbm", 1000)
