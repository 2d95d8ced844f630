"""The figures of Daniel and Kojo (2008): which runs they read and how they are drawn.

Quartile plots show the time to transfer 100 new segments after the handoff over the varied link
parameter; time-sequence graphs show one run under regular TCP beside the same run under enhanced
TCP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from midflight.plot import (
    LOOKS,
    Drawing,
    Mark,
    Panel,
    Series,
    quartile_plot,
    time_sequence_plot,
)
from midflight.results import Quartiles, RunTable, quartiles
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.scenarios import (
    BBM,
    ENHANCED,
    ENHANCED_A5,
    MBB,
    REGULAR,
    Example,
    sweep,
)
from midflight.studies.runs import Cell, Kind, Runs
from midflight.studies.study import Figure

TRANSFER_TIME = "Time to transfer 100 segments (s)"
SCHEME_NAMES = {
    REGULAR: "regular",
    ENHANCED: "enhanced",
    ENHANCED_A5: "enhanced with A5",
}
OUTAGE_S = 0.5


@dataclass(frozen=True)
class Line:
    """One series of a quartile figure: legend, look, scheme, and one cell per category.

    `paper` has the reduction of the median that the paper's text gives, from and to, by the number
    of the category; it is drawn on the median that regular TCP has here.
    """

    label: str
    look: str
    scheme: str
    cells: tuple[Cell, ...]
    paper: Mapping[int, tuple[float, float]] = field(default_factory=dict)


def _expected(runs: Runs, line: Line) -> list[tuple[float, float] | None]:
    """The medians of a line that follow from the paper's reductions."""
    if not line.paper:
        return []
    regular = [runs.sweep(sweep(cell, REGULAR)).transfer_time.median for cell in line.cells]
    ranges = (line.paper.get(number) for number in range(len(line.cells)))
    return [
        one and ((1 - one[1]) * median, (1 - one[0]) * median)
        for one, median in zip(ranges, regular, strict=True)
    ]


def _transfer_time(runs: RunTable) -> Quartiles:
    return runs.transfer_time


def _drops(runs: RunTable) -> Quartiles:
    return quartiles(runs["drops_data"])


def _quartile_figure(
    id: str,
    title: str,
    caption: str,
    x_title: str,
    categories: Sequence[str],
    lines: Sequence[Line],
    *,
    y_title: str = TRANSFER_TIME,
    statistic: Callable[[RunTable], Quartiles] = _transfer_time,
    unit: str = "s",
) -> Figure:
    """A figure of quartiles over the cells of each line."""

    def draw(runs: Runs) -> Drawing:
        tables = [[runs.sweep(sweep(cell, line.scheme)) for cell in line.cells] for line in lines]
        points = [[statistic(table) for table in row] for row in tables]
        plot = partial(
            quartile_plot,
            categories=categories,
            x_title=x_title,
            y_title=y_title,
            series=[
                Series(line.label, LOOKS[line.look], row, _expected(runs, line))
                for line, row in zip(lines, points, strict=True)
            ],
            legend_columns=2 if len(lines) % 2 == 0 else len(lines),
            expected="the paper's reduction",
        )
        rows = [
            (
                line.label,
                line.scheme,
                cell.kind,
                cell.old.kbps,
                cell.old.ms,
                cell.new.kbps,
                cell.new.ms,
                len(table),
                int((table["t_new_ns"] != table["t_new_ns"]).sum()),
                *point,
            )
            for line, row, values in zip(lines, tables, points, strict=True)
            for cell, table, point in zip(line.cells, row, values, strict=True)
        ]
        header = (
            "series",
            "scheme",
            "kind",
            "old_rate_kbps",
            "old_delay_ms",
            "new_rate_kbps",
            "new_delay_ms",
            "runs",
            "unfinished_runs",
            f"q1_{unit}",
            f"median_{unit}",
            f"q3_{unit}",
        )
        return Drawing(plot, header, rows)

    needs = tuple(sweep(cell, line.scheme) for line in lines for cell in line.cells)
    if any(line.paper for line in lines):
        caption += (
            " Boxes and thick lines show the enhanced median that follows from the reductions in "
            "the paper's text and the regular median found here."
        )
    return Figure(id, title, caption, needs, draw)


#: The instants in the paper's text for the runs of its time-sequence graphs.
TOLD: Mapping[tuple[str, str], Sequence[tuple[float, str]]] = {
    ("8", REGULAR): ((8.4, "RTO"), (8.5, "ACKs"), (8.8, "new path"), (9.7, "RTO")),
    ("9", REGULAR): ((5.9, "FR"), (6.3, "RTO")),
    ("10", REGULAR): ((11.6, "FR"), (12.4, "RTO")),
    ("14", REGULAR): ((7.2, "RTO"), (7.6, "RTO")),
    ("14", ENHANCED): ((7.5, "retransmission"),),
    ("20", REGULAR): ((15.62, "FR"), (17.08, "RTO"), (20.01, "RTO"), (25.77, "RTO")),
    ("24", REGULAR): ((9.1, "RTO"), (9.2, "ACKs"), (9.6, "new path"), (10.18, "RTO")),
    ("24", ENHANCED): ((9.2, "burst"), (10.7, "FR")),
}


def _told(example: Example, scheme: str) -> tuple[Mark, ...]:
    """An event of a run in the paper's text, with its time."""
    return tuple(Mark(*one) for one in TOLD.get((example.figure, scheme), ()))


def _sequence_figure(title: str, caption: str, example: Example) -> Figure:
    """A figure of time-sequence graphs, one panel per scheme."""

    def draw(runs: Runs) -> Drawing:
        logs = {
            scheme: runs.trace(example.trace(scheme)).within(*example.window_s)
            for scheme in example.schemes
        }
        marks: tuple[Mark, ...]
        if example.cell.kind == BBM:
            marks = (Mark(example.at_s, "break"), Mark(example.at_s + OUTAGE_S, "make"))
        else:
            marks = (Mark(example.at_s, "handoff"),)
        panels = [
            Panel(f"({letter}) {SCHEME_NAMES[scheme]}", log, marks, _told(example, scheme))
            for letter, (scheme, log) in zip("abc", logs.items(), strict=False)
        ]
        plot = partial(
            time_sequence_plot,
            panels=panels,
            window_s=example.window_s,
            segments=example.segments,
        )
        shown = ("send", "rexmit", "ack", "drop", "rto", "fast_retransmit", "order")
        rows = [
            (scheme, event.time_s, event.kind, event.value, event.detail)
            for scheme, log in logs.items()
            for event in log.of(*shown).events()
        ]
        header = ("scheme", "time_s", "event", "value", "detail")
        return Drawing(plot, header, rows)

    return Figure(example.figure, title, caption, example.needs, draw, wide=True)


def _delays(make: Callable[[int, int, Kind], Cell], kbps: int, kind: Kind) -> tuple[Cell, ...]:
    return tuple(make(kbps, ms, kind) for ms in sc.DELAYS)


def _bandwidths(make: Callable[[int, int, Kind], Cell], ms: int, kind: Kind) -> tuple[Cell, ...]:
    return tuple(make(kbps, ms, kind) for kbps in sc.BANDWIDTHS)


DELAY_NAMES = [str(ms) for ms in sc.DELAYS]
BANDWIDTH_NAMES = [str(kbps) for kbps in sc.BANDWIDTHS]
UP, DOWN = sc.low_to_high_delay, sc.high_to_low_delay
NARROWER, WIDER = sc.high_to_low_bandwidth, sc.low_to_high_bandwidth


def _two_kinds(cells: Callable[[str, Kind], tuple[Cell, ...]], names: dict[str, str]) -> list[Line]:
    """Regular TCP: two link values (keys of `names`), each with both kinds of handoff."""
    (first, first_name), (second, second_name) = names.items()
    return [
        Line(f"{first_name}, MBB", "solid circle", REGULAR, cells(first, MBB)),
        Line(f"{first_name}, BBM", "dashed-dark square", REGULAR, cells(first, BBM)),
        Line(f"{second_name}, MBB", "solid-light circle", REGULAR, cells(second, MBB)),
        Line(f"{second_name}, BBM", "dashed square", REGULAR, cells(second, BBM)),
    ]


def _each(low: float, high: float, *categories: int) -> dict[int, tuple[float, float]]:
    """The same range for several categories."""
    return dict.fromkeys(categories, (low, high))


def _two_schemes(
    lines: dict[str, tuple[Cell, ...]],
    paper: Mapping[str, Mapping[int, tuple[float, float]]] | None = None,
) -> list[Line]:
    """Regular and enhanced TCP for each named row of cells (one or two).

    `paper` has the reductions of the paper's text for some of the rows.
    """
    paper = paper or {}
    markers = ("circle", "square")
    return [
        line
        for marker, (name, cells) in zip(markers, lines.items(), strict=False)
        for line in (
            Line(f"{name}, regular", f"dashed {marker}", REGULAR, cells),
            Line(f"{name}, enhanced", f"solid {marker}", ENHANCED, cells, paper.get(name, {})),
        )
    ]


def _figure_list() -> list[Figure]:
    quartile = _quartile_figure
    old_delay, new_delay = "Delay of the old link (ms)", "Delay of the new link (ms)"
    old_rate, new_rate = "Rate of the old link (kbit/s)", "Rate of the new link (kbit/s)"
    old_link = "Old link (kbit/s, ms)"
    slow_names = [f"{p.kbps}\n{p.ms}" for p in sc.SLOW_PARTNERS]
    fast_names = [f"{p.kbps}\n{p.ms}" for p in sc.FAST_PARTNERS]
    slow = {kind: tuple(sc.to_slow(p, kind) for p in sc.SLOW_PARTNERS) for kind in sc.KINDS}
    fast = {kind: tuple(sc.to_fast(p, kind) for p in sc.FAST_PARTNERS) for kind in sc.KINDS}
    names = {"6400": "6400 kbit/s", "1600": "1600 kbit/s", "200": "200 kbit/s"}
    delays = {"300": "300 ms", "9": "9 ms"}

    def three(cells: tuple[Cell, ...]) -> list[Line]:
        return [
            Line("regular", "dashed circle", REGULAR, cells),
            Line("enhanced (A2)", "solid square", ENHANCED, cells),
            Line("enhanced with A5", "dotted triangle", ENHANCED_A5, cells),
        ]

    return [
        quartile(
            "2",
            "Regular TCP, from a short to a long delay",
            "Handoff to 300 ms at equal bandwidth; transfer time over the old link's delay.",
            old_delay,
            DELAY_NAMES,
            _two_kinds(
                lambda k, kind: _delays(UP, int(k), kind), {k: names[k] for k in ("6400", "200")}
            ),
        ),
        quartile(
            "3",
            "Regular TCP, from a long to a short delay",
            "Handoff from 300 ms at equal bandwidth; transfer time over the new link's delay.",
            new_delay,
            DELAY_NAMES,
            _two_kinds(
                lambda k, kind: _delays(DOWN, int(k), kind), {k: names[k] for k in ("1600", "200")}
            ),
        ),
        quartile(
            "4",
            "Regular TCP, to a lower bandwidth",
            "Handoff from 6400 kbit/s at equal delay; transfer time over the new link's rate.",
            new_rate,
            BANDWIDTH_NAMES,
            _two_kinds(lambda k, kind: _bandwidths(NARROWER, int(k), kind), delays),
        ),
        quartile(
            "5",
            "Regular TCP, to a higher bandwidth",
            "Handoff to 6400 kbit/s at equal delay; transfer time over the old link's rate.",
            old_rate,
            BANDWIDTH_NAMES,
            _two_kinds(lambda k, kind: _bandwidths(WIDER, int(k), kind), delays),
        ),
        quartile(
            "6",
            "Regular TCP, to 200 kbit/s and 300 ms at equal BDP",
            "Handoff to 200/300; transfer time over the old link. All links hold ten packets.",
            old_link,
            slow_names,
            [
                Line("MBB", "solid circle", REGULAR, slow[MBB]),
                Line("BBM", "dashed square", REGULAR, slow[BBM]),
            ],
        ),
        quartile(
            "7",
            "Regular TCP, to 6400 kbit/s and 9 ms at equal BDP",
            "Handoff to 6400/9; transfer time over the old link. All links hold ten packets.",
            old_link,
            fast_names,
            [
                Line("MBB", "solid circle", REGULAR, fast[MBB]),
                Line("BBM", "dashed square", REGULAR, fast[BBM]),
            ],
        ),
        _sequence_figure(
            "A1, case 1: the delay grows",
            "6400/9 to 200/300, make-before-break at 8.2 s. Regular TCP times out spuriously and "
            "sends a window again; A1 raises the minimum RTO and only what is lost is sent again.",
            sc.FIG8,
        ),
        _sequence_figure(
            "A1, case 2: handoff during fast recovery",
            "800/75 to 200/300, make-before-break at 6.0 s, shortly after a fast retransmit.",
            sc.FIG9,
        ),
        _sequence_figure(
            "A1, case 3: fast recovery after the handoff",
            "400/150 to 200/300, make-before-break at 10.9 s; a loss on the old link is noticed "
            "after the handoff.",
            sc.FIG10,
        ),
        _sequence_figure(
            "A2: the new path holds less",
            "1600/75 to 400/150, make-before-break at 6.5 s. A2 sets the window to the new path's "
            "bandwidth-delay product.",
            sc.FIG12,
        ),
        _sequence_figure(
            "A3: disconnection",
            "6400/9 to 6400/300, break-before-make at 7.0 s with 500 ms without a link. A3 "
            "retransmits at the make and restores ssthresh.",
            sc.FIG14,
        ),
        quartile(
            "17a",
            "Regular and enhanced TCP, from a short to a long delay, make-before-break",
            "Handoff to 300 ms at equal bandwidth; transfer time over the old link's delay.",
            old_delay,
            DELAY_NAMES,
            _two_schemes(
                {names[k]: _delays(UP, int(k), MBB) for k in ("6400", "1600")},
                {names["6400"]: _each(0.35, 0.65, 2, 3, 4, 5)},
            ),
        ),
        quartile(
            "17b",
            "Regular and enhanced TCP, from a short to a long delay, break-before-make",
            "As 17a with a disconnection of 500 ms; transfer time counts from the break.",
            old_delay,
            DELAY_NAMES,
            _two_schemes(
                {names[k]: _delays(UP, int(k), BBM) for k in ("6400", "1600")},
                {names["6400"]: _each(0.55, 0.55, 1)},
            ),
        ),
        quartile(
            "18",
            "Regular and enhanced TCP, from a long to a short delay, 1600 kbit/s",
            "Handoff from 300 ms; transfer time over the new link's delay.",
            new_delay,
            DELAY_NAMES,
            _two_schemes(
                {kind.upper(): _delays(DOWN, 1600, kind) for kind in sc.KINDS},
                {"BBM": {**_each(-0.10, -0.10, 0, 1), **_each(0.35, 0.50, 2, 3, 4, 5)}},
            ),
        ),
        quartile(
            "19",
            "Regular and enhanced TCP, from a long to a short delay, 200 kbit/s",
            "Handoff from 300 ms; transfer time over the new link's delay.",
            new_delay,
            DELAY_NAMES,
            _two_schemes(
                {kind.upper(): _delays(DOWN, 200, kind) for kind in sc.KINDS},
                {"MBB": _each(0.15, 0.15, 0, 1, 2, 3, 4, 5)},
            ),
        ),
        _sequence_figure(
            "A2 and A4: a large decrease of the BDP",
            "1600/300 to 1600/1, make-before-break at 15.0 s. The new path holds about six "
            "packets.",
            sc.FIG20,
        ),
        quartile(
            "21",
            "Regular and enhanced TCP, to a lower bandwidth, make-before-break",
            "Handoff from 6400 kbit/s at equal delay; transfer time over the new link's rate.",
            new_rate,
            BANDWIDTH_NAMES,
            _two_schemes(
                {delays[k]: _bandwidths(NARROWER, int(k), MBB) for k in delays},
                {
                    delays["300"]: _each(0.25, 0.35, 0, 1, 2, 3, 4),
                    delays["9"]: _each(0.05, 0.05, 0, 1, 2, 3, 4),
                },
            ),
        ),
        quartile(
            "22",
            "Regular and enhanced TCP, to a higher bandwidth, 9 ms",
            "Handoff to 6400 kbit/s; transfer time over the old link's rate.",
            old_rate,
            BANDWIDTH_NAMES,
            _two_schemes(
                {kind.upper(): _bandwidths(WIDER, 9, kind) for kind in sc.KINDS},
                {"BBM": {0: (0.40, 0.40), **_each(0.10, 0.10, 1, 2, 3, 4)}},
            ),
        ),
        quartile(
            "23a",
            "Transfer time with A2 and with A5 at equal BDP, make-before-break",
            "Handoff to 200/300; transfer time over the old link.",
            old_link,
            slow_names,
            three(slow[MBB]),
        ),
        quartile(
            "23b",
            "Lost segments with A2 and with A5 at equal BDP, make-before-break",
            "Data segments lost from the handoff until 100 new ones are acknowledged.",
            old_link,
            slow_names,
            three(slow[MBB]),
            y_title="Lost data segments per handoff",
            statistic=_drops,
            unit="segments",
        ),
        _sequence_figure(
            "A5: less bandwidth at equal BDP",
            "1600/37 to 200/300, make-before-break at 8.9 s, with A2 and with A5.",
            sc.FIG24,
        ),
        quartile(
            "26",
            "Regular and enhanced TCP, to 200 kbit/s and 300 ms at equal BDP, break-before-make",
            "Handoff to 200/300; transfer time, counted from the break, over the old link.",
            old_link,
            slow_names,
            _two_schemes({"BBM": slow[BBM]}),
        ),
        quartile(
            "27",
            "Regular and enhanced TCP, to 6400 kbit/s and 9 ms at equal BDP",
            "Handoff to 6400/9; transfer time over the old link.",
            old_link,
            fast_names,
            _two_schemes(
                {kind.upper(): fast[kind] for kind in sc.KINDS},
                {"BBM": _each(0.20, 0.45, 2, 3, 4)},
            ),
        ),
    ]


#: Every figure of the paper that shows data, in the paper's order.
FIGURES: tuple[Figure, ...] = tuple(_figure_list())
