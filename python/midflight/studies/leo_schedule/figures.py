"""The figures: the schedule, the jumps, the cuts, and BBRv3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from midflight.plot import PAGE_IN, Drawing, Line, LinePanel, line_plot
from midflight.plot.common.style import SERIES
from midflight.results import Estimate, mean_ci
from midflight.studies.leo_schedule import scenarios as sc
from midflight.studies.leo_schedule.claims import BBR3, CUTS, HOST, JUMPS, SCHEDULES, of_cuts
from midflight.studies.leo_schedule.kernel import recorded
from midflight.studies.runs import Runs
from midflight.studies.study import Figure

__all__ = ["FIGURES"]

KERNEL_NAMES = {sender: f"{sc.NAMES[sender]}, kernel" for sender in sc.KERNEL}


def _points(values: Sequence[float] | np.ndarray) -> list[Estimate]:
    return [Estimate(float(value), float("nan")) for value in values]


def _schedule() -> Figure:
    end_s = sc.PERIODS * sc.PERIOD_S
    # The mean of five seconds: three in a period.
    step_s = 5

    def draw(runs: Runs) -> Drawing:
        x = [float(second) + step_s / 2 for second in range(0, end_s, step_s)]
        rates = [sc.schedule(1)[int(at // sc.PERIOD_S)][0] * sc.DATA / sc.WIRE for at in x]
        lines = [Line("link's rate for data", SERIES[0], x, _points(rates))]
        rows: list[tuple[object, ...]] = [
            ("link", at, rate) for at, rate in zip(x, rates, strict=True)
        ]
        looks = iter(SERIES[1:])
        for sender in sc.KERNEL:
            job = sc.scheduled(1, sender)
            ours = sc.seconds(runs.trace(sc.acks(job)), 0, end_s)
            told = recorded()[job.name]
            theirs = np.asarray([told.get(str(second), np.nan) for second in range(end_s)])
            for name, got in ((sc.NAMES[sender], ours), (KERNEL_NAMES[sender], theirs)):
                means = np.nanmean(got.reshape(-1, step_s), axis=1)
                lines.append(Line(name, next(looks), x, _points(means)))
                rows += [(name, at, float(mbps)) for at, mbps in zip(x, means, strict=True)]
        plot = partial(
            line_plot,
            panels=[LinePanel("Time (s)", lines)],
            y_title="Goodput (Mbit/s)",
            width_in=PAGE_IN,
            height_in=3.0,
            legend_columns=5,
        )
        return Drawing(plot, ("series", "time_s", "mbps"), rows)

    needs = (*(sc.acks(sc.scheduled(1, sender)) for sender in sc.KERNEL), *SCHEDULES)
    return Figure(
        "1",
        "A schedule of fifteen seconds",
        "Goodput over the schedule of run 1, in means of five seconds, by the simulator and by the "
        "kernel.",
        needs,
        draw,
        wide=True,
    )


def _jumps() -> Figure:
    shown = 18

    def draw(runs: Runs) -> Drawing:
        panels, rows = [], []
        x = [float(second) for second in range(-1, shown + 1)]
        for times, (before, after) in sc.JUMPS.items():
            looks, lines = iter(SERIES), []
            for sender in sc.KERNEL:
                job = sc.jump(times, sender)
                ours = sc.seconds(runs.trace(sc.acks(job)), sc.JUMP_S - 2, sc.JUMP_S + shown)
                theirs = [recorded()[job.name][str(sc.JUMP_S + int(second) - 1)] for second in x]
                for name, got in ((sc.NAMES[sender], ours), (KERNEL_NAMES[sender], theirs)):
                    lines.append(Line(name, next(looks), x, _points(got)))
                    rows += [(times, name, at, float(v)) for at, v in zip(x, got, strict=True)]
            if times == 4:
                for sender, measured in HOST.items():
                    name = f"{sc.NAMES[sender]}, Linux 6.18 host"
                    at = [float(second) for second in measured]
                    lines.append(Line(name, next(looks), at, _points(list(measured.values()))))
                    rows += [(times, name, s, v) for s, v in measured.items()]
            title = f"Round trip {before} to {after} ms"
            panels.append(LinePanel("Second after the jump", lines, title))
        plot = partial(
            line_plot,
            panels=panels,
            y_title="Goodput (Mbit/s)",
            width_in=PAGE_IN,
            height_in=3.0,
            legend_columns=6,
        )
        return Drawing(plot, ("times", "series", "second", "mbps"), rows)

    return Figure(
        "2",
        "A jump of the delay",
        "Goodput in each second around a jump of the round trip at 10 Mbit/s, by the simulator and "
        "by the kernel, and what was measured on a Linux 6.18 host.",
        JUMPS,
        draw,
        wide=True,
    )


def _cuts() -> Figure:
    def draw(runs: Runs) -> Drawing:
        lines, rows = [], []
        looks = iter(SERIES)
        x = [float(cut_ms) for cut_ms in sc.CUTS_MS]
        for sender in (*sc.KERNEL, sc.TOLD):
            found = [of_cuts(runs, cut_ms, sender) for cut_ms in sc.CUTS_MS]
            both = [(sc.NAMES[sender], found)]
            if sender in sc.KERNEL:
                series = recorded()[f"cuts, {sender}"]
                theirs = [np.asarray([series[str(ms)]]) for ms in sc.CUTS_MS]
                both.append((KERNEL_NAMES[sender], theirs))
            for name, each in both:
                estimates = [mean_ci(one) for one in each]
                lines.append(Line(name, next(looks), x, estimates))
                rows += [
                    (name, ms, place, float(mbps))
                    for ms, one in zip(sc.CUTS_MS, each, strict=True)
                    for place, mbps in enumerate(one)
                ]
        plot = partial(
            line_plot,
            panels=[LinePanel("Length of a cut (ms)", lines)],
            y_title="Goodput (Mbit/s)",
            width_in=PAGE_IN,
            height_in=3.0,
            legend_columns=5,
        )
        return Drawing(plot, ("series", "cut_ms", "run", "mbps"), rows)

    return Figure(
        "3",
        "Hard handovers",
        "Goodput of 100 s in which the link is cut every five seconds. Means of five starts with "
        "their 95 % confidence intervals; for the kernel the first one.",
        CUTS,
        draw,
        wide=True,
    )


def _bbr3() -> Figure:
    step_s, shown_s = 0.5, 12.0

    def draw(runs: Runs) -> Drawing:
        panels, rows = [], []
        edges = np.arange(-1.0, shown_s + step_s / 2, step_s)
        x = [float(at) + step_s / 2 for at in edges[:-1]]
        for rtt_ms in sc.BBR3_RTTS_MS:
            lines = []
            for told, look in zip((False, True), SERIES, strict=False):
                log = runs.trace(sc.acks(sc.bbr3(rtt_ms, told)))
                got = sc.goodput(log, sc.JUMP_S + edges)
                name = "with a notice" if told else "without a notice"
                lines.append(Line(name, look, x, _points(got)))
                rows += [(rtt_ms, name, at, float(v)) for at, v in zip(x, got, strict=True)]
            title = f"{rtt_ms} to {sc.TIMES * rtt_ms} ms"
            panels.append(LinePanel("Time after the jump (s)", lines, title))
        plot = partial(
            line_plot,
            panels=panels,
            y_title="Goodput (Mbit/s)",
            width_in=PAGE_IN,
            height_in=2.8,
        )
        return Drawing(plot, ("rtt_ms", "series", "time_s", "mbps"), rows)

    return Figure(
        "4",
        "BBRv3 on a longer path",
        "Goodput in each half second around a jump of the round trip to four times its length, at "
        "100 Mbit/s.",
        BBR3,
        draw,
        wide=True,
    )


def _instants() -> Figure:
    def draw(runs: Runs) -> Drawing:
        lines, rows = [], []
        x = [float(at_s) for at_s in sc.INSTANTS_S]
        for sender, look in zip(sc.KERNEL, SERIES, strict=False):
            took = [
                sc.reaction_s(
                    runs.trace(sc.acks(sc.jump_at(at_s, sender))), 10, sc.INSTANTS_END_S, at_s
                )
                for at_s in sc.INSTANTS_S
            ]
            lines.append(Line(sc.NAMES[sender], look, x, _points(took)))
            rows += [(sc.NAMES[sender], at, s) for at, s in zip(sc.INSTANTS_S, took, strict=True)]
        plot = partial(
            line_plot,
            panels=[LinePanel("Instant of the jump (s)", lines)],
            y_title="Reaction (s)",
        )
        return Drawing(plot, ("series", "at_s", "seconds"), rows)

    return Figure(
        "5",
        "The instant of the jump",
        "From a jump of the round trip from 20 to 80 ms at 10 Mbit/s to the first half second of "
        "full goodput, by the instant of the jump.",
        tuple(sc.acks(sc.jump_at(at_s, s)) for s in sc.KERNEL for at_s in sc.INSTANTS_S),
        draw,
    )


FIGURES: tuple[Figure, ...] = (_schedule(), _jumps(), _cuts(), _bbr3(), _instants())
