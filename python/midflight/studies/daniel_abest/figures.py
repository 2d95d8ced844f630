"""The figures of Daniel and Kojo's report, and some beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from midflight.plot import (
    LOOKS,
    PAGE_IN,
    Bars,
    Drawing,
    Line,
    LinePanel,
    Series,
    bar_plot,
    line_plot,
    quartile_plot,
)
from midflight.results import Estimate
from midflight.studies.daniel_abest import estimation, fairness, rapid
from midflight.studies.daniel_abest import scenarios as sc
from midflight.studies.daniel_abest.measures import drops, goodput_mbps, goodputs_mbps, slowest
from midflight.studies.daniel_abest.scenarios import ABEST, IW10, QS, TCP, VHO, Scheme
from midflight.studies.runs import Link, Runs
from midflight.studies.study import Figure

_LOOKS: Mapping[Scheme, str] = {
    TCP: "dashed circle",
    QS: "dashed-dark square",
    IW10: "dotted triangle",
    VHO: "solid-light square",
    ABEST: "solid circle",
}


def in_words(link: Link) -> str:
    """A link in the form of the captions."""
    return f"{link.kbps / 1000:g} Mbit/s and {link.ms} ms"


def flows_in_words(flows: int) -> str:
    return "one flow" if flows == 1 else f"{flows} flows"


#: Lines that are this close to each other overlap in the figure.
_HIDES = 0.02


def _start_remark(runs: Runs, figure: str) -> str:
    """A remark on lines that overlap, and on losses."""

    def values(scheme: Scheme) -> list[float]:
        return [goodput_mbps(runs, sc.start(figure, scheme), n) for n in sc.COMPARED]

    plain = values(TCP)
    near = [
        s.name
        for s in sc.STARTING[1:]
        if all(abs(a / b - 1) < _HIDES for a, b in zip(values(s), plain, strict=True))
    ]
    hidden = (
        f"Within {100 * _HIDES:.0f} % of TCP throughout: {' and '.join(near)}. " if near else ""
    )
    lost = ", ".join(f"{s.name} {drops(runs, sc.start(figure, s))}" for s in sc.STARTING)
    return f"{hidden}Packets lost until 400 are acknowledged: {lost}."


def _start_figure(figure: str) -> Figure:
    link, flows = sc.STARTS[figure]

    def draw(runs: Runs) -> Drawing:
        lines, rows = [], []
        for scheme in sc.STARTING:
            job = sc.start(figure, scheme)
            values = [Estimate(goodput_mbps(runs, job, n), float("nan")) for n in sc.PACKETS]
            lines.append(Line(scheme.name, LOOKS[_LOOKS[scheme]], sc.PACKETS, values))
            for n, value in zip(sc.PACKETS, values, strict=True):
                least = float(goodputs_mbps(runs, job, n).min())
                rows.append((scheme.name, n, value.mean, least, drops(runs, job)))
        plot = partial(
            line_plot,
            panels=[LinePanel("Packets", lines)],
            y_title="Goodput (Mbit/s)" if flows == 1 else "Goodput of a flow, mean (Mbit/s)",
            legend_columns=5,
        )
        header = ("scheme", "packets", "goodput_mbps", "slowest_flow_mbps", "packets_lost")
        return Drawing(plot, header, rows, _start_remark(runs, figure))

    return Figure(
        figure,
        f"Start of {flows_in_words(flows)} over {'LTE' if link == sc.LTE else 'WLAN'}",
        f"{in_words(link)}, {flows_in_words(flows)}; goodput over the first packets, from the SYN.",
        sc.starts(figure),
        draw,
    )


_KINDS = {"mbb": "Make-before-break handoff", "bbm": "Break-before-make handoff"}


def _title(e: sc.Experiment) -> str:
    if e.old == e.new:
        return f"Outage of {e.gap_s:g} s on {in_words(e.old)}"
    return f"{_KINDS[e.kind]} from {in_words(e.old)} to {in_words(e.new)}"


def _handoff_figure(figure: str) -> Figure:
    e = sc.EXPERIMENTS[figure]

    def draw(runs: Runs) -> Drawing:
        series, rows = [], []
        for scheme in sc.MOVING:
            points = []
            for flows in sc.FLOWS:
                table = slowest(runs, e.sweep(scheme, flows))
                points.append(table.transfer_time)
                more = (len(table), table.mean("nrto"), table.mean("drops_data"))
                rows.append((scheme.name, flows, *table.transfer_time, *more))
            series.append(Series(scheme.name, LOOKS[_LOOKS[scheme]], points))
        plot = partial(
            quartile_plot,
            categories=[str(flows) for flows in sc.FLOWS],
            x_title="Flows",
            y_title=f"Time for {e.packets} packets (s)",
            series=series,
            legend_columns=4,
        )
        header = ("scheme", "flows", "q1_s", "median_s", "q3_s", "runs", "mean_rtos", "mean_lost")
        return Drawing(plot, header, rows)

    gap = f", {e.gap_s:g} s without a link, from the break" if e.kind == "bbm" else ""
    return Figure(
        figure,
        _title(e),
        f"Time until {e.packets} new packets of the slowest flow are acknowledged{gap}; "
        f"{sc.INSTANTS} handoff instants.",
        tuple(e.sweeps()),
        draw,
    )


def _fairness_figure() -> Figure:
    def draw(runs: Runs) -> Drawing:
        series, rows = [], []
        for scheme in sc.STARTING:
            shares = [e.share(runs, scheme) for e in fairness.ENCOUNTERS]
            series.append(Bars(scheme.name, [Estimate(100 * a, 100 * b) for a, b in shares]))
            for e, share in zip(fairness.ENCOUNTERS, shares, strict=True):
                rows.append((e.name, scheme.name, *share, *e.lost(runs, scheme)))
        plot = partial(
            bar_plot,
            groups=[e.name for e in fairness.ENCOUNTERS],
            series=series,
            y_title="The plain flow's share (%)",
            top=100.0,
            width_in=PAGE_IN,
            legend_columns=5,
        )
        header = (
            "encounter",
            "newcomer",
            "resident_share",
            "ci95_half_width",
            "newcomer_lost",
            "resident_lost",
        )
        return Drawing(plot, header, rows)

    return Figure(
        "14",
        "Beyond the paper: beside a plain flow",
        "Share of a plain flow, which had the link for itself, of all packets acknowledged in "
        f"{fairness.WINDOW_S:g} s from when another one starts on it (left), or moves to it "
        "(right; figures 8 and 9). A fair share is one half. Means with 95 % confidence intervals.",
        fairness.NEEDS,
        draw,
        wide=True,
    )


#: The number of the first figure of the estimators, and of the tools of others.
_FIRST_AXIS = 15
_FIRST_TOOL = _FIRST_AXIS + len(estimation.AXES) + len(rapid.FIGURES)


def _axis_figure(number: int, axis: estimation.Axis) -> Figure:
    return Figure(
        str(number),
        "Beyond the paper: " + axis.title,
        axis.caption,
        axis.jobs(),
        axis.draw,
    )


def _figures() -> Sequence[Figure]:
    return (
        *map(_start_figure, sc.STARTS),
        *map(_handoff_figure, sc.EXPERIMENTS),
        _fairness_figure(),
        *(_axis_figure(n, axis) for n, axis in enumerate(estimation.AXES, _FIRST_AXIS)),
        *rapid.figures(_FIRST_TOOL - len(rapid.FIGURES)),
        *(_axis_figure(n, axis) for n, axis in enumerate(estimation.BESIDE, _FIRST_TOOL)),
    )


FIGURES = _figures()
