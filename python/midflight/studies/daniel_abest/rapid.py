"""Beyond the paper: RAPID, which sends chirps all the time, beside the paper's versions of TCP.

The paper proposes this comparison and expects little of RAPID in wireless networks (sections 2 and
5). The rules of the claims were written down before the runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from midflight.claims import Check, Finding, Ledger, at_least, at_most
from midflight.plot import (
    LOOKS,
    PAGE_IN,
    Drawing,
    Line,
    LinePanel,
    Series,
    line_plot,
    quartile_plot,
)
from midflight.results import Estimate, Quartiles, quartiles
from midflight.studies.daniel_abest import scenarios as sc
from midflight.studies.daniel_abest.measures import goodput_mbps
from midflight.studies.daniel_abest.scenarios import ABEST, IW10, QS, TCP, Scheme
from midflight.studies.runs import Job, Link, Probing, Runs, Startup, Sweep
from midflight.studies.study import Figure

LEDGER = Ledger()


@dataclass(frozen=True)
class Version:
    """A scheme with settings."""

    scheme: Scheme
    knobs: Mapping[str, str]
    look: str = ""

    @property
    def name(self) -> str:
        return self.scheme.name

    def settings(self) -> sc.Knobs:
        return sc.with_knobs(sc.KNOBS, **self.knobs)


def _rapid(name: str, look: str = "", **knobs: str) -> Version:
    return Version(Scheme(name, "rapid"), knobs, look)


PLAIN, ASKED, TEN, MEASURED = (
    Version(scheme, {}, look)
    for scheme, look in (
        (TCP, "dashed circle"),
        (QS, "dashed-dark square"),
        (IW10, "dotted triangle"),
        (ABEST, "solid circle"),
    )
)
RAPID = _rapid("RAPID", "solid-light square")
TOLD = _rapid("RAPID, told", "dotted triangle", rapid_notice="jump")
BELOW = _rapid("RAPID, a step lower", "solid-light circle", rapid_estimate="below")
SPREAD = _rapid("RAPID, narrow start-up", rapid_startup="spread")
AGAIN = _rapid("RAPID, start-up at a notice", rapid_notice="restart")
ANEW = _rapid("RAPID, start-up after a timeout", rapid_timeout="restart")
NARROW = _rapid("RAPID, receiver's window of 200", receiver_window="200")

# The start.

STARTED = (PLAIN, ASKED, TEN, MEASURED, RAPID, BELOW)
START_LINKS: Mapping[str, Link] = {
    "HSDPA, 6 Mbit/s": sc.HSDPA_6,
    "LTE": sc.LTE,
    "WLAN": sc.WLAN_2,
}
PACKETS = (100, 400, 1000, 2000, 4000)
#: The number of packets at which claims and table compare, as in the paper.
COMPARED = 400


def start(link: Link, version: Version) -> Startup:
    """One connection that starts over a link."""
    return Startup(
        link,
        version.scheme.core,
        packets=PACKETS,
        fixed_delay_ms=sc.FIXED_MS,
        knobs=version.settings(),
    )


def _starts(versions: Sequence[Version]) -> tuple[Startup, ...]:
    return tuple(start(link, version) for link in START_LINKS.values() for version in versions)


# The handoffs and outages of the paper's figures, one flow.

MOVED = (PLAIN, ASKED, MEASURED, RAPID, TOLD)
NAMES = {
    "6": "WLAN\nHSDPA",
    "7": "HSDPA\nWLAN",
    "8": "WLAN\nLTE",
    "9": "LTE\nWLAN",
    "10": "EGPRS\nLTE, b",
    "11": "HSDPA\nLTE, b",
    "12": "HSDPA\noutage",
    "13": "LTE\noutage",
}


def in_words(figure: str) -> str:
    """A handoff or an outage of the paper in words."""
    first, second = NAMES[figure].split("\n")
    return f"{first}, outage" if second == "outage" else f"{first} to {second}"


def sweep(figure: str, version: Version) -> Sweep:
    """The handoffs of a figure of the paper under a version."""
    return sc.EXPERIMENTS[figure].sweep(version.scheme, knobs=version.settings())


def mean(runs: Runs, figure: str, version: Version, name: str) -> float:
    """Mean of a count over the runs."""
    return runs.sweep(sweep(figure, version)).mean(name)


def transfer(runs: Runs, figure: str, version: Version) -> Quartiles:
    """Quartiles of the transfer time in seconds."""
    return runs.sweep(sweep(figure, version)).transfer_time


def _sweeps(versions: Sequence[Version]) -> tuple[Sweep, ...]:
    return tuple(sweep(figure, version) for version in versions for figure in NAMES)


# A gigabit path, and the reports of chirps.

GIGABIT = 1_000_000
ROUND_TRIPS_MS = (50, 100, 200)
#: The rate counts as reached from this share of it on.
REACHED = 0.9
SHARES = (0.0, 0.3, 0.6)
TELLING: Mapping[str, Link] = {"HSDPA, 6 Mbit/s": sc.HSDPA_6, "LTE": sc.LTE}
#: Either way, for half of the reports.
ACCURATE = 0.2
WHOLE = 30


def gigabit(round_trip_ms: int) -> Probing:
    """A start over an idle path of a gigabit a second."""
    return Probing(Link(GIGABIT, round_trip_ms // 2), "rapid", 6000, limit=2000)


def telling(link: Link, share: float) -> Probing:
    """A flow beside irregular cross traffic."""
    return Probing(link, "rapid", 4000, limit=200, share=share, irregular=True, runs=4)


def _average(segments: int, low: float, high: float) -> float:
    """The average rate of a chirp from its lowest and highest rate."""
    gaps = segments - 1
    factor = (high / low) ** (1 / (gaps - 1)) if gaps > 1 else 1.0
    return gaps * low / sum(factor**-k for k in range(gaps))


def round_trips(runs: Runs, round_trip_ms: int) -> float:
    """From the first chirp on to the first one at a gigabit a second, in round trips."""
    table = runs.probe(gigabit(round_trip_ms))
    names = ("sent_ns", "segments", "low_bps", "high_bps")
    rows = list(zip(*map(table.column, names), strict=True))
    for sent, *chirp in rows:
        if _average(*chirp) >= REACHED * GIGABIT * 1e3:
            return float(sent - rows[0][0]) / (round_trip_ms * 1e6)
    return math.inf


def told(runs: Runs, link: Link, share: float) -> Quartiles:
    """Quartiles of the estimates of whole chirps, divided by the available bandwidth."""
    table = runs.probe(telling(link, share))
    names = ("segments", "estimate_bps", "available_bps")
    rows = zip(*map(table.column, names), strict=True)
    return quartiles([a / b for segments, a, b in rows if segments == WHOLE and a is not None])


# Figures.


def _start_figure(number: str) -> Figure:
    def draw(runs: Runs) -> Drawing:
        panels = []
        rows: list[tuple[Any, ...]] = []
        for name, link in START_LINKS.items():
            lines = []
            for version in STARTED:
                job = start(link, version)
                rates = [goodput_mbps(runs, job, n) * 1e3 / link.kbps for n in PACKETS]
                lost = runs.startup(job).total("drops_data")
                rows += [
                    (name, version.name, n, r, lost) for n, r in zip(PACKETS, rates, strict=True)
                ]
                estimates = [Estimate(100 * rate, math.nan) for rate in rates]
                lines.append(Line(version.name, LOOKS[version.look], PACKETS, estimates))
            panels.append(LinePanel("Packets", lines, name))
        plot = partial(
            line_plot,
            panels=panels,
            y_title="Goodput (% of the link's rate)",
            width_in=PAGE_IN,
            legend_columns=6,
        )
        header = ("link", "scheme", "packets", "goodput_share", "packets_lost")
        return Drawing(plot, header, rows)

    return Figure(
        number,
        "Beyond the paper: RAPID's start-up",
        "Goodput over the first packets of one connection, from the SYN. RAPID begins with two "
        "segments at 100 kbit/s.",
        _starts(STARTED),
        draw,
        wide=True,
    )


def _handoff_figure(number: str) -> Figure:
    def draw(runs: Runs) -> Drawing:
        series, rows = [], []
        for version in MOVED:
            points = []
            for figure in NAMES:
                times = transfer(runs, figure, version)
                plain = transfer(runs, figure, PLAIN).median
                points.append(Quartiles(*(time / plain for time in times)))
                counts = [mean(runs, figure, version, name) for name in ("drops_data", "nrto")]
                rows.append((figure, version.name, *times, *counts))
            series.append(Series(version.name, LOOKS[version.look], points))
        plot = partial(
            quartile_plot,
            categories=list(NAMES.values()),
            x_title="From, to (b: break-before-make)",
            y_title="Time, TCP's median = 1",
            series=series,
            legend_columns=5,
            reference=1.0,
            width_in=PAGE_IN,
        )
        header = ("figure", "scheme", "q1_s", "median_s", "q3_s", "mean_lost", "mean_rtos")
        return Drawing(plot, header, rows)

    return Figure(
        number,
        "Beyond the paper: RAPID in handoffs and outages",
        "The handoffs and outages of figures 6 to 13, one flow: time for as many packets as there, "
        "by the median of TCP. RAPID does nothing at a handoff; with a notice, its next chirp "
        "sets the rate.",
        _sweeps(MOVED),
        draw,
        wide=True,
    )


def figures(first: int) -> tuple[Figure, Figure]:
    """The figures, from this number on."""
    return _start_figure(str(first)), _handoff_figure(str(first + 1))


# Claims.

FIGURES = ("24", "25")


def _mbps(value: float) -> str:
    return f"{value:.2f} Mbit/s"


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


def _times(value: float) -> str:
    return f"{value:.1f}"


def _ratio(value: float) -> str:
    return f"{value:.2f}"


@LEDGER.claim(
    "A11-X3",
    "A connection with RAPID reaches a path's gigabit a second in four round trips (section 2, of "
    "RAPID's authors).",
    "At most four round trips pass from its first chirp until a chirp with an average rate of 0.9 "
    "Gbit/s, on idle paths with a round trip of 50, 100 and 200 ms.",
    needs=(gigabit(ms) for ms in ROUND_TRIPS_MS),
)
def x3(runs: Runs) -> Finding:
    checks = [
        at_most(f"{ms} ms, round trips", round_trips(runs, ms), 4, _times) for ms in ROUND_TRIPS_MS
    ]
    return Finding(
        checks,
        note="Four reports suffice, since chirps of 2, 4, 8 and 16 segments cover the range of a "
        "whole one here: this choice makes the claim possible. But two segments at 100 kbit/s are "
        "120 ms apart, four take 360 ms, the next chirp starts when the current one is over, and "
        "by then several round trips have passed.",
    )


@LEDGER.claim(
    "A11-X4",
    "Beyond the paper: AbestVho starts faster than RAPID.",
    f"The goodput over {COMPARED} packets on HSDPA (6 Mbit/s), LTE and the WLAN is at least "
    "RAPID's.",
    figures=FIGURES[:1],
    needs=_starts((MEASURED, RAPID)),
)
def x4(runs: Runs) -> Finding:
    checks = []
    for name, link in START_LINKS.items():
        rapid = goodput_mbps(runs, start(link, RAPID), COMPARED)
        abest = goodput_mbps(runs, start(link, MEASURED), COMPARED)
        checks.append(at_least(f"{name} (RAPID: {_mbps(rapid)})", abest, rapid, _mbps))
    return Finding(checks)


@LEDGER.claim(
    "A11-X5",
    "Beyond the paper: AbestVho gets over handoffs and outages faster than RAPID.",
    "One flow: its median time is at most RAPID's in each of the handoffs and outages of figures 6 "
    "to 13.",
    figures=FIGURES[1:],
    needs=(*_sweeps((MEASURED, RAPID)), *(sweep("6", v) for v in (PLAIN, NARROW))),
)
def x5(runs: Runs) -> Finding:
    checks = []
    for figure in NAMES:
        rapid, abest = (transfer(runs, figure, v).median for v in (RAPID, MEASURED))
        what = f"{in_words(figure)} (RAPID: {_seconds(rapid)})"
        checks.append(at_most(what, abest, rapid, _seconds))
    lost = {
        version.name: mean(runs, "6", version, "drops_data")
        for version in (PLAIN, MEASURED, RAPID, NARROW)
    }
    return Finding(
        checks,
        note="Where the new link is faster, or comes after a break, RAPID's chirps find its rate "
        "without a notice, and on LTE soon. Where it is slower, RAPID sends at its old rate for a "
        "round trip of the full queue, since nothing but the receiver's window limits it, and "
        "lowers it by a quarter a report at most. Packets lost from the WLAN to HSDPA, means: "
        + ", ".join(f"{name} {count:.0f}" for name, count in lost.items())
        + ". From EGPRS it is slow because a chirp there takes seconds.",
    )


@LEDGER.claim(
    "A11-X6",
    "pathChirp, on which RAPID relies, may not give accurate estimates (section 2, of wireless "
    "networks; here beside others on a wired link).",
    "Estimates of RAPID's whole chirps: the quartiles are within 20 % of the available bandwidth "
    "on HSDPA (6 Mbit/s) and LTE, idle and beside irregular cross traffic of 30 and 60 %. A part "
    "passes where they are not.",
    needs=(telling(link, share) for link in TELLING.values() for share in SHARES),
)
def x6(runs: Runs) -> Finding:
    checks = []
    for name, link in TELLING.items():
        for share in SHARES:
            found = told(runs, link, share)
            off = any(abs(value - 1) > ACCURATE for value in (found.q1, found.q3))
            value = f"{found.q1:.2f} to {found.q3:.2f}"
            checks.append(Check(f"{name}, {100 * share:.0f} % taken: beyond 20 %", value, off))
    return Finding(
        checks,
        note="On an idle link the report is the first of the chirp's rates above the available "
        "bandwidth, and these are a fifth apart: RAPID settles above the link's rate and "
        "occasionally loses segments. With cross traffic half of the reports have a larger error, "
        "on the slower link upwards: few packets of others arrive between those of a chirp there, "
        "and a rise that they end does not count as the last one.",
    )


# For the report.

VARIANTS = (RAPID, BELOW, SPREAD, TOLD, AGAIN, ANEW, NARROW)
_SHOWN = (PLAIN, ASKED, MEASURED, *VARIANTS)
EVERYTHING: tuple[Job, ...] = (*_starts(VARIANTS), *_sweeps(VARIANTS))


def tables(runs: Runs) -> tuple[list[list[str]], list[list[str]]]:
    """Start-ups, and handoffs and outages, under every version: tables with a header."""
    starts = [["", *START_LINKS]]
    handoffs = [["", *map(in_words, NAMES)]]
    for version in _SHOWN:
        rates = [
            goodput_mbps(runs, start(link, version), COMPARED) for link in START_LINKS.values()
        ]
        starts.append([version.name, *(f"{rate:.1f}" for rate in rates)])
        cells = [
            f"{transfer(runs, figure, version).median:.2f} "
            f"({mean(runs, figure, version, 'drops_data'):.0f})"
            for figure in NAMES
        ]
        handoffs.append([version.name, *cells])
    return starts, handoffs
