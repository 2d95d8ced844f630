"""The figures of Lim and Jang (2009), drawn from the runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from midflight.plot import (
    COLUMN_IN,
    PAGE_IN,
    Bars,
    Drawing,
    Indicator,
    Judged,
    Mark,
    Message,
    Note,
    State,
    Transition,
    bar_plot,
    indicator_plot,
    sequence_plot,
    state_plot,
)
from midflight.results import Estimate, EventLog
from midflight.studies.lim_jang_2009 import scenarios as sc
from midflight.studies.lim_jang_2009.claims import SCRIPTED, STATE_TRACES, state_counts
from midflight.studies.lim_jang_2009.measures import share
from midflight.studies.lim_jang_2009.scenarios import (
    DCR,
    SACK,
    SCHEME_I,
    SCHEME_II,
    TABLE_1,
    TEXT,
)
from midflight.studies.runs import FlowTrace, Runs
from midflight.studies.study import Figure

# Figures 2 and 3


def _points(log: EventLog, kind: str, *, end_s: float) -> list[tuple[float, float]]:
    events = log.of(kind).within(0, end_s)
    return [(float(t), 1000 * float(v)) for t, v in zip(events.time_s, events.value, strict=True)]


def _indicator(log: EventLog, title: str, window_s: tuple[float, float]) -> Indicator:
    """RTT, threshold, T_min and opinions of one run."""
    end = window_s[1]
    samples = _points(log, "ld_rtt", end_s=end)
    judged = []
    for event in log.of("judge").within(*window_s).events():
        before = [point for point in samples if point[0] <= event.time_s]
        if before:
            judged.append(Judged(event.time_s, before[-1][1], event.detail == "congestion"))
    return Indicator(
        samples=samples,
        threshold=_points(log, "ld_threshold", end_s=end),
        t_min=[p for p in _points(log, "ld_min", end_s=end) if p[1] < 1e6],
        judged=judged,
        title=title,
        log=True,
    )


def _indicator_figure(id: str, to_wlan: bool, caption: str) -> Figure:
    jobs = {
        "modified (proposed II)": sc.indicators(to_wlan, SCHEME_II),
        "unmodified (proposed I)": sc.indicators(to_wlan, SCHEME_I),
    }
    if not to_wlan:
        jobs["unmodified, T_min kept over the timeout"] = sc.indicators(
            False, SCHEME_I, ld_t_min="keep"
        )
    window = (sc.LD_AT_S - 3, sc.LD_AT_S + 12)

    def draw(runs: Runs) -> Drawing:
        logs = {name: runs.trace(job) for name, job in jobs.items()}
        panels = [
            _indicator(log, f"({letter}) {name}", window)
            for letter, (name, log) in zip("abc", logs.items(), strict=False)
        ]
        marks = (Mark(sc.LD_AT_S, "pause"), Mark(sc.LD_AT_S + sc.LD_PAUSE_S, "resumed"))
        plot = partial(
            indicator_plot, panels=panels, window_s=window, marks=marks, width_in=PAGE_IN
        )
        rows = [
            (name, event.time_s, event.kind, event.value, event.detail)
            for name, log in logs.items()
            for event in log.within(*window).events()
        ]
        return Drawing(plot, ("run", "time_s", "event", "value", "detail"), rows)

    way = "3G to WLAN" if to_wlan else "WLAN to 3G"
    return Figure(
        id, f"Loss differentiation, {way}", caption, tuple(jobs.values()), draw, wide=True
    )


# Figure 4

_LABELS = {
    "slow-start": ("slow start", 0.0, 0.0, False),
    "congestion-avoidance": ("congestion\navoidance", 2.0, 0.0, False),
    "classification": ("modified LD", 3.6, 1.3, True),
    "delay": ("DCR: wait\none RTT", 3.6, 3.0, True),
    "fast-recovery": ("fast\nrecovery", 1.8, 3.0, False),
    "probe": ("F-RTO", 1.0, 1.5, True),
    "reset": ("reset\n(cwnd = 1)", 0.0, 3.0, False),
}
#: Transitions taken less often than this are in the CSV only.
_SHOWN_FROM = 3


def _state_figure() -> Figure:
    def draw(runs: Runs) -> Drawing:
        taken = state_counts(runs)
        merged: dict[tuple[str, str], list[tuple[str, int]]] = {}
        rows = []
        for source, trigger, target in runs.core.sender_transitions():
            count = taken[f"{source} -> {target}: {trigger}"]
            rows.append((source, trigger, target, count))
            if count >= _SHOWN_FROM:
                merged.setdefault((source, target), []).append((trigger, count))
        transitions = [
            Transition(a, b, " / ".join(t for t, _ in found), sum(n for _, n in found))
            for (a, b), found in merged.items()
        ]
        states = [State(name, *look) for name, look in _LABELS.items()]
        plot = partial(state_plot, states=states, transitions=transitions, height_in=4.6)
        return Drawing(plot, ("from", "trigger", "to", "count"), rows)

    return Figure(
        "4",
        "The states of proposed scheme II",
        "The sender's own states and the transitions between them, with how often they occurred "
        "in four runs of each scenario of figures 11 to 14 and in the exchanges of figures 5 to 9 "
        "(three times at least; all are in the CSV). Shaded: the scheme's additions. A loss taken "
        "for wireless goes through fast recovery with the window kept.",
        (*STATE_TRACES, *SCRIPTED),
        draw,
        wide=True,
    )


# Figures 5 to 9


@dataclass(frozen=True)
class Exchange:
    """The part of a scripted run that is drawn, with its traces' events."""

    id: str
    title: str
    caption: str
    job: FlowTrace
    window_s: tuple[float, float]
    skip_s: tuple[tuple[float, float], ...] = ()


def messages(log: EventLog, window_s: tuple[float, float]) -> list[Message]:
    """Segments and ACKs of a run without delayed ACKs and without lost ACKs, as arrows."""
    found: list[Message] = []
    sent: dict[int, list[tuple[float, Literal["data", "retransmission"]]]] = {}
    arrivals: list[float] = []
    highest = -1
    acks = 0
    for event in log.events():
        number = int(event.value)
        if event.kind in ("send", "rexmit"):
            first = event.kind == "send"
            sent.setdefault(number, []).append(
                (event.time_s, "data" if first else "retransmission")
            )
        elif event.kind == "rcv":
            start, kind = sent[number].pop(0)
            found.append(Message(start, event.time_s, f"{number}", kind))
            arrivals.append(event.time_s)
        elif event.kind == "drop":
            start, kind = sent[number].pop(0)
            found.append(Message(start, None, f"{number}", kind))
        elif event.kind == "ack":
            new = number > highest
            highest = max(highest, number)
            label = f"ACK {number + 1}"
            found.append(Message(arrivals[acks], event.time_s, label, "ack" if new else "dupack"))
            acks += 1
    start, end = window_s
    return sorted(
        (m for m in found if start <= m.sent_s and (m.arrived_s or m.sent_s) < end),
        key=lambda m: (m.sent_s, int(m.label.split()[-1])),
    )


def notes(log: EventLog, window_s: tuple[float, float]) -> list[Note]:
    """Labels beside the sender's line: its conclusions and actions."""
    found = []
    for event in log.within(*window_s).events():
        cwnd = log.last("cwnd", event.time_s + 1e-7)
        text = {
            "judge": f"third duplicate ACK: {event.detail}",
            "reordered": f"late, not lost: cwnd {cwnd:.1f} kept",
            "fast_retransmit": "one RTT later: retransmit",
            "rto": f"timeout: segment {event.value:.0f} again",
            "spurious": f"two new ACKs: spurious, cwnd {cwnd:.1f} kept",
        }.get(event.kind)
        if text:
            found.append(Note(event.time_s, "sender", text))
        if event.kind == "fast_retransmit":
            settled = log.last("cwnd", event.time_s + 1e-3)
            before = log.last("cwnd", event.time_s)
            done = "kept" if settled >= before else f"to {settled:.0f}"
            found.append(Note(event.time_s + 0.004, "sender", f"cwnd {before:.1f} {done}"))
        if event.kind == "cwnd" and event.value == cwnd == 1.0:
            found.append(Note(event.time_s, "sender", "cwnd 1"))
        if event.kind in ("break", "make"):
            text = "the link pauses" if event.kind == "break" else "resumed as WLAN"
            found.append(Note(event.time_s, "receiver", text))
    return found


def _around(job: FlowTrace, before_s: float, after_s: float, runs: Runs) -> tuple[float, float]:
    """The time around the first event that the exchange shows."""
    log = runs.trace(job)
    first = min(
        (log.of(kind).first_s for kind in ("judge", "rto", "break") if len(log.of(kind))),
        default=0.0,
    )
    return first - before_s, first + after_s


def _exchange_figure(
    id: str,
    title: str,
    caption: str,
    job: FlowTrace,
    before_s: float,
    after_s: float,
    skip_s: tuple[tuple[float, float], ...] = (),
) -> Figure:
    def draw(runs: Runs) -> Drawing:
        log = runs.trace(job)
        window = _around(job, before_s, after_s, runs)
        start = window[0]
        skips = tuple((start + a, start + b) for a, b in skip_s)
        plot = partial(
            sequence_plot,
            messages=messages(log, window),
            notes=notes(log, window),
            skip_s=skips,
            window_s=window,
        )
        rows = [
            (event.time_s, event.kind, event.value, event.detail)
            for event in log.within(*window).events()
        ]
        return Drawing(plot, ("time_s", "event", "value", "detail"), rows)

    return Figure(id, title, caption, (job,), draw, wide=True)


# Figures 11 to 14


#: The paper's text on a bar: the gain over another scheme's bar, by figure and interval.
GAINS: Mapping[tuple[str, bool], Mapping[str, tuple[str, float]]] = {
    ("11", False): {SCHEME_I: (DCR, 0.26), SCHEME_II: (DCR, 0.26)},
    ("11", True): {SCHEME_I: (DCR, 0.60), SCHEME_II: (DCR, 0.60)},
    ("12", False): {SCHEME_I: (DCR, 0.85), SCHEME_II: (DCR, 0.85)},
    ("12", True): {DCR: (SACK, 1.00), SCHEME_I: (DCR, 0.87), SCHEME_II: (DCR, 0.87)},
    ("14", True): {SCHEME_II: (SCHEME_I, 0.045)},
}
#: Throughput in kbit/s where the text gives it: figure 13, by interval.
KBPS: Mapping[bool, Mapping[str, float]] = {
    False: {SCHEME_I: 238, SCHEME_II: 229},
    True: {SCHEME_I: 459, SCHEME_II: 734},
}


def paper_bars(figure: str, after: bool, shares: Mapping[str, float]) -> list[float]:
    """The value of each bar by the paper's text, as a share of the link; nan without one."""
    wanted = dict.fromkeys(sc.SCHEMES, math.nan)
    for scheme, (other, gain) in GAINS.get((figure, after), {}).items():
        wanted[scheme] = (1 + gain) * shares[other]
    if figure == "13":
        link = (sc.WLAN if after else sc.G3).kbps
        wanted |= {scheme: kbps / link for scheme, kbps in KBPS[after].items()}
    return list(wanted.values())


def _bar_figure(id: str) -> Figure:
    congested = sc.SCENARIOS[id][1]
    readings = {"table": TABLE_1, "text": TEXT} if congested else {"": TABLE_1}

    def draw(runs: Runs) -> Drawing:
        series, rows = [], []
        for name, reading in readings.items():
            for after in (False, True):
                found = {s: share(runs, sc.scenario(id, s, reading), after) for s in sc.SCHEMES}
                told = paper_bars(id, after, {s: one.mean for s, one in found.items()})
                when = "after" if after else "before"
                series.append(
                    Bars(
                        f"{when}, by the {name}" if congested else f"{when} handover",
                        [Estimate(100 * e.mean, 100 * e.half_width) for e in found.values()],
                        [100 * value for value in told],
                    )
                )
                rows += [
                    (scheme, when, str(reading) if congested else "", sc.RUNS, *e, value)
                    for (scheme, e), value in zip(found.items(), told, strict=True)
                ]
        plot = partial(
            bar_plot,
            groups=[sc.SCHEME_NAMES[scheme] for scheme in sc.SCHEMES],
            series=series,
            y_title="Throughput (% of the link)",
            reference="paper" if id == "13" else "paper's gain, on the bar it refers to",
            legend_columns=5 if congested else 2,
            width_in=PAGE_IN if congested else COLUMN_IN,
        )
        header = ("scheme", "interval", "reading", "runs", "mean_share", "ci95_half_width", "paper")
        return Drawing(plot, header, rows)

    caption = (
        "Share of the radio link's bandwidth in the 250 s before and the 250 s after the handover "
        f"begins, means of {sc.RUNS} runs with 95 % confidence intervals"
    )
    if congested:
        caption += (
            "; ten cross flows, which lose 1.5 % at the wired link (by the table) or have a path "
            "of 1 ms (by the text)"
        )
    caption += (
        ". Short lines show the kbit/s in the paper's text."
        if id == "13"
        else ". Short lines show the gain in the paper's text, applied to the bar here that it "
        "refers to."
    )
    return Figure(
        id,
        f"Throughput, {sc.SCENARIO_NAMES[id]}",
        caption,
        sc.scenarios(id, *readings.values()),
        draw,
        wide=congested,
    )


def _figures() -> Sequence[Figure]:
    exchange = _exchange_figure
    return (
        _indicator_figure(
            "2",
            True,
            "RTTs, threshold and T_min around a handover with a pause of 3 s, without losses on "
            "the radio link; the losses that are judged are the queue's.",
        ),
        _indicator_figure(
            "3",
            False,
            "As figure 2, in the other direction. By the paper's definition the timeout resets "
            "T_min in the unmodified version too; the last panel keeps it.",
        ),
        _state_figure(),
        exchange(
            "5",
            "Reordering",
            "A segment comes 60 ms late. Its ACK arrives before the wait of one RTT is over.",
            sc.REORDERED,
            0.19,
            0.10,
        ),
        exchange(
            "6",
            "Wireless loss",
            "A segment is lost by the radio. One RTT after the third duplicate ACK it is "
            "retransmitted, with the window kept.",
            sc.LOST,
            0.19,
            0.22,
        ),
        exchange(
            "7",
            "Congestion loss",
            "A full queue drops a segment. One RTT after the third duplicate ACK it is "
            "retransmitted, and the window is halved.",
            sc.OVERFLOW,
            0.24,
            0.26,
        ),
        exchange(
            "8",
            "Handover",
            "The link pauses for 3 s. After it two ACKs of new data show that the timeout was "
            "spurious: T_min, T_avg and T_dev start afresh, the window is kept.",
            sc.HANDOVER,
            0.06,
            3.12,
            ((0.20, 0.98), (1.18, 2.98)),
        ),
        exchange(
            "9",
            "Genuine timeout",
            "A whole window is lost. After the timeout the second ACK is a duplicate: the window "
            "is set to one and the lost segments are retransmitted.",
            sc.OUTAGE,
            1.12,
            0.42,
            ((0.24, 1.10),),
        ),
        *(_bar_figure(id) for id in sc.SCENARIOS),
    )


FIGURES = _figures()
