"""The figures of Izumikawa, Yamaguchi and Katto, and further ones, drawn from the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from midflight.plot import (
    LOOKS,
    PAGE_IN,
    Bars,
    Drawing,
    Line,
    LinePanel,
    Mark,
    Message,
    Note,
    Panel,
    bar_plot,
    line_plot,
    sequence_plot,
    time_sequence_plot,
)
from midflight.results import Estimate, EventLog, Ratio, mean_ci
from midflight.studies.izumikawa_ehn import scenarios as sc
from midflight.studies.izumikawa_ehn.claims import STRATEGY_JOBS
from midflight.studies.izumikawa_ehn.measures import (
    at_station_bps,
    gain,
    kbps,
    per_run,
    resent_share,
)
from midflight.studies.izumikawa_ehn.scenarios import (
    EHN,
    FREEZE,
    NEWRENO,
    ORIGINAL,
    TCPW,
    TR_ACKS,
    TR_ACKS_SLOW,
    Scheme,
    Tcp,
)
from midflight.studies.runs import Roaming, Runs
from midflight.studies.study import Figure

KBPS = "Throughput (kbit/s)"

# Figure 1


def messages(log: EventLog, first: int = 1) -> list[Message]:
    """Segments, ACKs and notices of a run without delayed ACKs, as arrows.

    Segment `first` is called 1, and an ACK has the number of the segment that it acknowledges, as
    in the paper's figure.
    """
    found: list[Message] = []
    sent: dict[int, list[tuple[float, Literal["data", "retransmission"]]]] = {}
    waiting: list[tuple[float, int]] = []  # ACKs on their way: when they left, their numbers
    have: set[int] = set()
    next_segment, highest = 0, -1

    def name(number: int) -> str:
        return str(number - first + 1)

    for event in log.events():
        number = int(event.value)
        if event.kind in ("send", "rexmit"):
            kind: Literal["data", "retransmission"] = (
                "data" if event.kind == "send" else "retransmission"
            )
            sent.setdefault(number, []).append((event.time_s, kind))
        elif event.kind == "rcv" or (event.kind == "drop" and event.detail.startswith("data")):
            if not sent.get(number):  # sent before the trace began
                continue
            start, kind = sent[number].pop(0)
            arrived = event.time_s if event.kind == "rcv" else None
            found.append(Message(start, arrived, name(number), kind))
            if arrived is not None:
                have.add(number)
                while next_segment in have:
                    next_segment += 1
                waiting.append((event.time_s, next_segment - 1))
        elif event.kind == "drop":
            place = next((i for i, (_, ack) in enumerate(waiting) if ack == number), None)
            if place is not None:
                left, _ = waiting.pop(place)
                found.append(Message(left, None, f"ACK {name(number)}", "ack"))
        elif event.kind == "ack":
            new = number > highest
            highest = max(highest, number)
            if event.detail.startswith("mark"):
                # The links are idle after a handover, so no packet is queued before it.
                left = event.time_s - sc.BACK_S
                found.append(Message(left, event.time_s, f"EHN, ACK {name(number)}", "ack"))
            elif waiting:
                left, _ = waiting.pop(0)
                kind_of: Literal["ack", "dupack"] = "ack" if new else "dupack"
                found.append(Message(left, event.time_s, f"ACK {name(number)}", kind_of))
    return sorted(found, key=lambda m: m.sent_s)


def _exchange() -> Figure:
    def draw(runs: Runs) -> Drawing:
        log = runs.trace(sc.EXCHANGE)
        leaves = log.of("break").first_s
        mark_s = log.of("ack").detailed("mark").first_s
        window = (leaves - 0.085, mark_s + 0.155)
        first = sc.FIRST_SEGMENT
        acked = log.ack_time(first)
        # The router sends packets to BS2 that have left the backbone's other end since then.
        switched = log.of("make").first_s - sc.LINKS[0][1]
        before, after = (log.last("cwnd", at) for at in (mark_s, mark_s + 1e-6))

        def allowed(until_s: float) -> str:
            una = log.highest_ack(until_s) + 1 - first + 1
            return f"{una}-{una + 3}"

        notes = [
            Note(log.ack_time(first - 4) - 0.004, "sender", f"SW1: segments {allowed(acked)}"),
            Note(acked, "sender", f"SW2: {allowed(mark_s)}"),
            Note(
                mark_s,
                "sender",
                f"SW3: {allowed(mark_s + 1e-6)}, again from 3; cwnd {before:.0f} is not reduced, "
                f"ACK 2 makes it {after:.0f}",
            ),
            Note(switched, "sender", "from now on to BS2"),
            Note(leaves, "receiver", "leaves BS1"),
            Note(mark_s - sc.BACK_S, "receiver", "advertisement of BS2"),
        ]
        plot = partial(
            sequence_plot,
            messages=messages(log, first),
            notes=[note for note in notes if window[0] <= note.time_s],
            window_s=window,
            ends=("sender", "mobile node"),
        )
        rows = [
            (event.time_s, event.kind, event.value - first + 1, event.detail)
            for event in log.within(*window).of("send", "rexmit", "rcv", "ack", "drop").events()
        ]
        return Drawing(plot, ("time_s", "event", "segment", "detail"), rows)

    return Figure(
        "1",
        "The notice",
        "A window of four segments. The node gets two of them before it leaves; the other two, "
        "the ACK of the second, and the segment that the ACK of the first releases are lost. The "
        "notice repeats the lost ACK, which opens the congestion window by a segment as any ACK "
        "does in slow start. The registration comes with it: packets that leave the sender's end "
        "of the backbone after it go to BS2.",
        (sc.EXCHANGE,),
        draw,
        wide=True,
    )


# Figures 3 and 4


def _bar_figure(id: str) -> Figure:
    tcps = (*sc.TCPS, sc.TCPW_PLUS)

    def draw(runs: Runs) -> Drawing:
        values = {
            (tcp, scheme): kbps(runs, sc.cell(id, tcp, scheme))
            for scheme in sc.SCHEMES
            for tcp in tcps
        }
        plot = partial(
            bar_plot,
            groups=[tcp.name for tcp in tcps],
            series=[Bars(s.name, [values[tcp, s] for tcp in tcps]) for s in sc.SCHEMES],
            y_title=KBPS,
            width_in=PAGE_IN,
            height_in=2.7,
        )
        rows = [
            (tcp.name, scheme.name, sc.RUNS, value.mean, value.half_width)
            for (tcp, scheme), value in values.items()
        ]
        return Drawing(plot, ("tcp", "scheme", "runs", "mean_kbps", "ci95_half_width"), rows)

    return Figure(
        id,
        f"Throughput, {sc.ERROR_NAMES[id]}",
        f"Means of {sc.RUNS} runs of 300 s with 95 % confidence intervals, a handover every 5 s. "
        "TR-ACKs as the paper describes them, and, as another interpretation, with each TCP's own "
        "fast retransmit. TCPW+ is not in the paper.",
        tuple(sc.cell(id, tcp, scheme) for tcp in tcps for scheme in sc.SCHEMES),
        draw,
        wide=True,
    )


# Figure 6


def _strategy_figure() -> Figure:
    places: list[tuple[str, int | None, bool]] = [("MN_ave", None, False)]
    places += [(f"MN_BS{n + 1}", n, False) for n in range(sc.STATIONS)]
    places += [("FN_ave", None, True)]
    places += [(f"FN_BS{n + 1}", n, True) for n in range(sc.STATIONS) if sc.FIXED[n]]

    def draw(runs: Runs) -> Drawing:
        values: dict[str, list[Estimate]] = {
            name: [
                mean_ci(at_station_bps(runs, sc.mobility(TCPW, scheme), station, fixed) / 1000)
                for _, station, fixed in places
            ]
            for name, scheme in sc.STRATEGIES.items()
        }
        plot = partial(
            bar_plot,
            groups=[place[0] for place in places],
            series=[Bars(name, estimates) for name, estimates in values.items()],
            y_title=KBPS,
            width_in=PAGE_IN,
        )
        rows = [
            (place[0], name, sc.MOBILITY_RUNS, one.mean, one.half_width)
            for name, estimates in values.items()
            for place, one in zip(places, estimates, strict=True)
        ]
        return Drawing(plot, ("node", "strategy", "runs", "mean_kbps", "ci95_half_width"), rows)

    return Figure(
        "6",
        "How a sender resumes after a handover",
        "TCPW in the four domains of figure 5, whose stations have "
        + ", ".join(map(str, sc.FIXED))
        + " fixed nodes. MN: the mobile node on average and while it is at a station; FN: the "
        f"fixed nodes. Means of {sc.MOBILITY_RUNS} runs with 95 % confidence intervals.",
        STRATEGY_JOBS,
        draw,
        wide=True,
    )


# Beyond the paper


def with_min_rto(tcp: Tcp, scheme: Scheme, min_rto: str) -> Roaming:
    """The runs of a scheme with this minimum RTO."""
    return sc.with_knobs(sc.beyond(tcp, scheme), min_rto=min_rto)


def _min_rto_figure() -> Figure:
    jobs = {
        (tcp, scheme, least): with_min_rto(tcp, scheme, least)
        for tcp in sc.TCPS
        for scheme in (ORIGINAL, EHN)
        for least in sc.MIN_RTOS
    }

    def draw(runs: Runs) -> Drawing:
        series = []
        rows = []
        for least in sc.MIN_RTOS:
            estimates = []
            for tcp in sc.TCPS:
                ratio = gain(runs, jobs[tcp, EHN, least], jobs[tcp, ORIGINAL, least])
                half = (ratio.high - ratio.low) / 2
                estimates.append(Estimate(100 * ratio.value, 100 * half))
                rows.append((tcp.name, least, sc.BEYOND_RUNS, *ratio))
            series.append(Bars(sc.MIN_RTO_NAMES[least], estimates))
        plot = partial(
            bar_plot,
            groups=[tcp.name for tcp in sc.TCPS],
            series=series,
            y_title="EHN over the original TCP (%)",
            height_in=2.5,
        )
        header = ("tcp", "min_rto", "runs", "gain", "ci95_low", "ci95_high")
        return Drawing(plot, header, rows)

    return Figure(
        "7",
        "Beyond the paper: the minimum RTO",
        "EHN's gain under random errors depends on how long the original waits for its timeout. "
        f"Means of {sc.BEYOND_RUNS} runs with 95 % confidence intervals.",
        tuple(jobs.values()),
        draw,
    )


_LINES: Sequence[tuple[Scheme, str]] = (
    (ORIGINAL, "dashed circle"),
    (TR_ACKS, "dotted triangle"),
    (TR_ACKS_SLOW, "dashed-dark square"),
    (FREEZE, "solid-light square"),
    (EHN, "solid circle"),
)


def _line_figure(
    id: str,
    title: str,
    caption: str,
    tcps: Sequence[Tcp],
    x_title: str,
    x: Sequence[float],
    jobs: dict[tuple[Tcp, Scheme, float], Roaming],
    repeated: int = sc.SWEEP_RUNS,
    remark: Callable[[Runs], str] = lambda _runs: "",
    beside: Sequence[Roaming] = (),
) -> Figure:
    """Lines of schemes, a panel for each TCP; `remark` also reads the runs `beside`."""

    def draw(runs: Runs) -> Drawing:
        panels = []
        rows = []
        for tcp in tcps:
            lines = []
            for scheme, look in _LINES:
                if (tcp, scheme, x[0]) not in jobs:
                    continue
                values = [kbps(runs, jobs[tcp, scheme, value]) for value in x]
                lines.append(Line(scheme.name, LOOKS[look], x, values))
                rows += [
                    (tcp.name, scheme.name, at, repeated, *value)
                    for at, value in zip(x, values, strict=True)
                ]
            panels.append(LinePanel(x_title, lines, tcp.name))
        plot = partial(line_plot, panels=panels, y_title=KBPS, width_in=PAGE_IN, legend_columns=5)
        header = ("tcp", "scheme", x_title, "runs", "mean_kbps", "ci95_half_width")
        return Drawing(plot, header, rows, remark(runs))

    caption += f" Means of {repeated} runs of {sc.END_S:g} s with 95 % confidence intervals."
    return Figure(
        id, title, caption, tuple(dict.fromkeys((*jobs.values(), *beside))), draw, wide=True
    )


_SHOWN_TCPS = (NEWRENO, TCPW)


#: Freeze-TCP on TCPW that opens the window with a single ACK, disconnected for as long as the
#: minimum RTO.
_ONE_ACK = sc.with_knobs(sc.swept(TCPW, FREEZE, blackout_s=1.0), freeze_thaw_copies="1")


def _overtaking(runs: Runs) -> str:
    """Where Freeze-TCP is above EHN in figure 8, and why."""

    def jobs(tcp: Tcp, length: float) -> list[Roaming]:
        return [sc.swept(tcp, scheme, blackout_s=length) for scheme in (FREEZE, EHN)]

    gains = {
        tcp.name: {f"{s:g}": gain(runs, *jobs(tcp, s)) for s in sc.BLACKOUTS_S}
        for tcp in _SHOWN_TCPS
    }

    def where(passed: Callable[[Ratio], bool]) -> str:
        found = {
            tcp: [at for at, ratio in ratios.items() if passed(ratio)]
            for tcp, ratios in gains.items()
        }
        return ", ".join(f"on {tcp} at {', '.join(at)} s" for tcp, at in found.items() if at)

    above = where(lambda ratio: ratio.value > 0)
    if not above:
        return "Freeze-TCP is above EHN at no point."
    surely = where(lambda ratio: ratio.low > 0) or "nowhere"
    freeze, ehn = (
        per_run(runs, job, "timeouts") / sc.HANDOVERS for job in jobs(TCPW, _ONE_ACK.blackout_s)
    )
    values = [kbps(runs, job) for job in (_ONE_ACK, *jobs(TCPW, _ONE_ACK.blackout_s))]
    one, three, other = (f"{value.mean:.0f}" for value in values)
    return (
        f"Freeze-TCP's mean is above EHN's {above}; by the whole interval of the gain {surely}. "
        "Disconnected for longer than the RTO, 1 s at least, EHN's sender has a timeout, while "
        f"Freeze-TCP's timer is stopped: at {_ONE_ACK.blackout_s:g} s on TCPW {ehn:.1f} and "
        f"{freeze:.1f} timeouts in a handover. Also, the three ACKs that open Freeze-TCP's window "
        "raise TCPW's bandwidth estimate, as copies of a notice do (I03-X2): with one ACK it has "
        f"{one} kbit/s there, with three {three}, and EHN {other}."
    )


def _disconnection_figure() -> Figure:
    jobs = {
        (tcp, scheme, length): sc.swept(tcp, scheme, blackout_s=length)
        for tcp in _SHOWN_TCPS
        for scheme, _ in _LINES
        for length in sc.BLACKOUTS_S
    }
    return _line_figure(
        "8",
        "Beyond the paper: the length of the disconnection",
        "At each handover, every 5 s, the node hears no station for this long before it waits for "
        "an advertisement. Random errors.",
        _SHOWN_TCPS,
        "Without a station (s)",
        sc.BLACKOUTS_S,
        jobs,
        remark=_overtaking,
        beside=(_ONE_ACK,),
    )


def _foresight_figure() -> Figure:
    errors = sc.FORESIGHT_ERRORS_S
    jobs: dict[tuple[Tcp, Scheme, float], Roaming] = {}
    for tcp in _SHOWN_TCPS:
        for error in errors:
            jobs[tcp, FREEZE, error] = sc.swept(tcp, FREEZE, foresight_error_s=error)
            for scheme in (ORIGINAL, EHN):
                jobs[tcp, scheme, error] = sc.swept(tcp, scheme)
    return _line_figure(
        "9a",
        "Beyond the paper: Freeze-TCP warns too early or too late",
        "The warning should come one idle round trip (121 ms) before the node leaves; it comes "
        "this much later, or earlier if below zero. EHN and the original do not predict anything. "
        "Random errors.",
        _SHOWN_TCPS,
        "Warning too late by (s)",
        errors,
        jobs,
    )


def _missed_figure() -> Figure:
    jobs: dict[tuple[Tcp, Scheme, float], Roaming] = {}
    for tcp in _SHOWN_TCPS:
        for share in sc.MISSED:
            jobs[tcp, FREEZE, share] = sc.swept(tcp, FREEZE, foresight_missed=share)
            for scheme in (ORIGINAL, EHN):
                jobs[tcp, scheme, share] = sc.swept(tcp, scheme)
    return _line_figure(
        "9b",
        "Beyond the paper: Freeze-TCP misses handovers",
        "The node does not predict this share of handovers: it closes no window before them, but "
        "still repeats its last ACK three times afterwards. Random errors.",
        _SHOWN_TCPS,
        "Share of handovers missed",
        sc.MISSED,
        jobs,
    )


def _spoiled_figure() -> Figure:
    jobs: dict[tuple[sc.Spoiled, Tcp, Scheme], Roaming] = {
        (case, tcp, scheme): case.node(tcp, scheme)
        for case in sc.SPOILED
        for tcp in sc.TCPS
        for scheme in (ORIGINAL, EHN)
    }

    def draw(runs: Runs) -> Drawing:
        rows = []
        series = []
        for tcp in sc.TCPS:
            estimates = []
            for case in sc.SPOILED:
                one, plain = jobs[case, tcp, EHN], jobs[case, tcp, ORIGINAL]
                ratio = gain(runs, one, plain)
                half = (ratio.high - ratio.low) / 2
                estimates.append(Estimate(100 * ratio.value, 100 * half))
                more = resent_share(runs, one), resent_share(runs, plain)
                rows.append((case.name, tcp.name, sc.BEYOND_RUNS, *ratio, *more))
            series.append(Bars(tcp.name, estimates))
        plot = partial(
            bar_plot,
            groups=[case.name for case in sc.SPOILED],
            series=series,
            y_title="EHN over the original TCP\nthat meets the same (%)",
            width_in=PAGE_IN,
            height_in=3.0,
        )
        header = (
            "notices",
            "tcp",
            "runs",
            "gain",
            "ci95_low",
            "ci95_high",
            "sent_in_vain_per_acked",
            "sent_in_vain_per_acked_original",
        )
        return Drawing(plot, header, rows)

    return Figure(
        "10",
        "Beyond the paper: notices that are lost, repeated, late or forged",
        "EHN over the original TCP under the same random errors, handovers and forgeries; forged "
        f"notices come ten a second. Means of {sc.BEYOND_RUNS} runs with 95 % confidence "
        "intervals.",
        tuple(jobs.values()),
        draw,
        wide=True,
    )


def _window_figure() -> Figure:
    jobs: dict[tuple[Tcp, Scheme, float], Roaming] = {
        (tcp, scheme, window): sc.with_knobs(
            sc.beyond(tcp, scheme, None, runs=sc.CLEAN_RUNS), receiver_window=str(window)
        )
        for tcp in _SHOWN_TCPS
        for scheme in (ORIGINAL, TR_ACKS_SLOW, FREEZE, EHN)
        for window in sc.WINDOWS
    }
    return _line_figure(
        "11",
        "Beyond the paper: a whole window at once",
        "Without radio losses the receiver's window determines the amount in flight. EHN resends "
        "it all at once: more than 50 packets overflow the queue, and part of the segments that "
        "the handover has lost is lost again. And the longer the queue, the more a warning of one "
        "idle round trip comes too late for Freeze-TCP.",
        _SHOWN_TCPS,
        "Receiver's window (segments)",
        sc.WINDOWS,
        jobs,
        sc.CLEAN_RUNS,
    )


def _near_figure() -> Figure:
    jobs = {s: sc.near(s) for s in (ORIGINAL, TR_ACKS, TR_ACKS_SLOW, EHN)}
    window = (sc.EVERY_S - 0.2, sc.EVERY_S + 1.6)

    def draw(runs: Runs) -> Drawing:
        logs = {scheme: runs.trace(job) for scheme, job in jobs.items()}
        shown = ("send", "rexmit", "ack", "drop", "rto", "fast_retransmit")
        panels = [
            Panel(scheme.name, log, (Mark(log.of("break").first_s, ""),))
            for scheme, log in logs.items()
        ]
        first = logs[ORIGINAL].highest_ack(sc.EVERY_S)
        segments = (first - sc.NEAR_WINDOW, first + 7 * sc.NEAR_WINDOW)
        plot = partial(time_sequence_plot, panels=panels, window_s=window, segments=segments)
        rows = [
            (scheme.name, event.time_s, event.kind, event.value, event.detail)
            for scheme, log in logs.items()
            for event in log.within(*window).of(*shown).events()
        ]
        return Drawing(plot, ("scheme", "time_s", "event", "segment", "detail"), rows)

    return Figure(
        "12",
        "Beyond the paper: one handover in detail",
        "NewReno without radio losses and with a window of 16. The node leaves at 5 s (dashed). "
        "With three duplicates a sender repairs one loss per round trip, which takes longer than "
        "to wait for the timeout; slow start and EHN retransmit everything that was lost.",
        tuple(jobs.values()),
        draw,
        wide=True,
    )


def _figures() -> Sequence[Figure]:
    return (
        _exchange(),
        _bar_figure("3"),
        _bar_figure("4"),
        _strategy_figure(),
        _min_rto_figure(),
        _disconnection_figure(),
        _foresight_figure(),
        _missed_figure(),
        _spoiled_figure(),
        _window_figure(),
        _near_figure(),
    )


FIGURES = _figures()
