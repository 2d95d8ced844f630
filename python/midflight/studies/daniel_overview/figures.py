"""The figures: the graphs of the overview, its table of problems, and the fairness among flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from midflight.plot import (
    LOOKS,
    PAGE_IN,
    BarPanel,
    Drawing,
    Line,
    LinePanel,
    Series,
    bar_panels,
    line_plot,
    quartile_plot,
)
from midflight.results import mean_ci
from midflight.studies.daniel_kojo_2008 import scenarios as single
from midflight.studies.daniel_overview.measures import carried, fairness, slowest_of
from midflight.studies.daniel_overview.problems import PROBLEMS
from midflight.studies.daniel_overview.scenarios import (
    ALL_FLOWS,
    ENHANCED,
    FLOWS,
    G4,
    G5,
    G6,
    G7,
    REGULAR,
    SCHEMES,
    SINGLE,
    VHO,
    Graph,
    alone,
)
from midflight.studies.runs import Runs, Sweep
from midflight.studies.study import Figure

SCHEME_NAMES = {REGULAR: "SACK", ENHANCED: "A1 to A4", VHO: "all enhancements"}
SCHEME_LOOKS = {REGULAR: "dashed circle", ENHANCED: "solid square", VHO: "dotted triangle"}


def _quartile_figure(
    id: str,
    title: str,
    caption: str,
    x_title: str,
    categories: Sequence[str],
    job: Callable[[int, str], Sweep],
    *,
    y_title: str = "Time to transfer 100 segments (s)",
) -> Figure:
    """Transfer times of the three schemes; `job` has the runs of a category (by its place)."""
    places = range(len(categories))

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for scheme in SCHEMES:
            tables = [slowest_of(runs, job(place, scheme)) for place in places]
            points = [table.transfer_time for table in tables]
            series.append(Series(SCHEME_NAMES[scheme], LOOKS[SCHEME_LOOKS[scheme]], points))
            for place, table, point in zip(places, tables, points, strict=True):
                one = job(place, scheme)
                rows.append(
                    (
                        scheme,
                        one.cell.kind,
                        one.cell.old.kbps,
                        one.cell.old.ms,
                        one.cell.new.kbps,
                        one.cell.new.ms,
                        one.flows,
                        len(table),
                        *point,
                        *(table.mean(name) for name in COUNTS),
                    )
                )
        plot = partial(
            quartile_plot,
            categories=categories,
            x_title=x_title,
            y_title=y_title,
            series=series,
            legend_columns=3,
        )
        return Drawing(plot, _HEADER, rows)

    needs = tuple(job(place, scheme) for scheme in SCHEMES for place in places)
    return Figure(id, title, caption, needs, draw)


#: Means beside the quartiles, of all flows of a run together.
COUNTS = ("timeouts", "nspur", "false_fast_rexmits", "drops_data", "rexmits")
_HEADER = (
    "scheme",
    "kind",
    "old_rate_kbps",
    "old_delay_ms",
    "new_rate_kbps",
    "new_delay_ms",
    "flows",
    "runs",
    "q1_s",
    "median_s",
    "q3_s",
    *(f"mean_{name}" for name in COUNTS),
)


def _single(id: str, graph: str, title: str, caption: str, x_title: str) -> Figure:
    """A graph for one flow."""
    cells = list(SINGLE[graph].values())
    names = [name.replace("/", "\n") for name in SINGLE[graph]]
    return _quartile_figure(
        id, title, caption, x_title, names, lambda place, scheme: alone(cells[place], scheme)
    )


def _several(id: str, graph: Graph, title: str, caption: str) -> Figure:
    """A graph for several flows."""
    return _quartile_figure(
        id,
        title,
        f"{caption} {len(graph.at_ns)} instants.",
        "Number of flows",
        [str(n) for n in FLOWS],
        lambda place, scheme: graph.sweep(scheme, FLOWS[place]),
        y_title="Time of the slowest flow (s)",
    )


# The table of problems


def _problems() -> Figure:
    def draw(runs: Runs) -> Drawing:
        panels, rows = [], []
        for letter, problem in zip("abcdef", PROBLEMS, strict=True):
            single, whole = (problem.against(runs, scheme) for scheme in (problem.scheme, VHO))
            estimates = [single.first, single.second, whole.second]
            unit = "" if problem.unit == "share" else f"({problem.unit})"
            flows = f" ({problem.flows} flows)" if problem.flows > 1 else ""
            panels.append(
                BarPanel(
                    f"({letter}) {problem.name}{flows}: {problem.enhancement}",
                    f"{problem.what}\n{unit}".rstrip(),
                    estimates,
                )
            )
            for scheme, estimate in zip((REGULAR, problem.scheme, VHO), estimates, strict=True):
                pairs = single if scheme == problem.scheme else whole
                against = (*pairs.saved, pairs.better, pairs.worse) if scheme != REGULAR else ()
                rows.append(
                    (
                        problem.name,
                        str(problem.cell),
                        problem.flows,
                        f"{problem.what} {unit}".rstrip(),
                        scheme,
                        single.n,
                        *estimate,
                        *(against or ("", "", "", "")),
                    )
                )
        plot = partial(
            bar_panels, panels=panels, labels=("SACK", "the enhancement alone", "all enhancements")
        )
        header = (
            "problem",
            "handoff",
            "flows",
            "measure",
            "scheme",
            "instants",
            "mean",
            "ci95_half_width",
            "mean_saved",
            "saved_ci95_half_width",
            "instants_better",
            "instants_worse",
        )
        remark = (
            "In (c) all enhancements take longer than A4 alone. A4 waits until everything sent "
            "before the handoff is acknowledged, and the needless fast retransmit, which the "
            "policy for reordering avoids, would have got it acknowledged earlier, over the new "
            "link."
        )
        return Drawing(plot, header, rows, remark)

    return Figure(
        "8",
        "The table of problems",
        "Six problems, each in a handoff of its own, with the plain sender, the enhancement that "
        "the table names, and all of them. Less is better in every panel.",
        tuple(job for problem in PROBLEMS for job in problem.needs()),
        draw,
        wide=True,
    )


# Fairness


def _numbers(graph: Graph, scheme: str) -> tuple[int, ...]:
    """The numbers of flows at which a scheme is drawn.

    Numbers between those of the graph take long on the fast new link, and with all enhancements.
    """
    return FLOWS if scheme == VHO or graph in (G6, G7) else ALL_FLOWS


def _evenness() -> Figure:
    graphs = (G4, G5, G6, G7)

    def draw(runs: Runs) -> Drawing:
        panels, rows = [], []
        for letter, graph in zip("abcd", graphs, strict=True):
            lines = []
            for scheme in SCHEMES:
                numbers = _numbers(graph, scheme)
                jobs = [graph.sweep(scheme, n) for n in numbers]
                estimates = [mean_ci(fairness(runs, job)) for job in jobs]
                look = LOOKS[SCHEME_LOOKS[scheme]]
                lines.append(Line(SCHEME_NAMES[scheme], look, numbers, estimates))
                rows += [
                    (graph.id, scheme, n, *estimate, *mean_ci(carried(runs, job)))
                    for n, job, estimate in zip(numbers, jobs, estimates, strict=True)
                ]
            panels.append(LinePanel("Number of flows", lines, f"({letter}) {graph.id}"))
        plot = partial(
            line_plot,
            panels=panels,
            y_title="Jain's index",
            width_in=PAGE_IN,
            height_in=2.3,
            legend_columns=3,
        )
        header = (
            "graph",
            "scheme",
            "flows",
            "jain",
            "jain_ci95_half_width",
            "acked_segments",
            "acked_ci95_half_width",
        )
        return Drawing(plot, header, rows)

    return Figure(
        "9",
        "Fairness on the new link",
        "Jain's index of the segments of each flow that are acknowledged from the handoff on, in "
        + ", ".join(f"{graph.window_s:g} s ({graph.id})" for graph in graphs)
        + ". Quick-Start grants most to the first of simultaneous requests. Not in the overview.",
        tuple(
            graph.sweep(scheme, n)
            for graph in graphs
            for scheme in SCHEMES
            for n in _numbers(graph, scheme)
        ),
        draw,
        wide=True,
    )


_SLOWER = "Handoff to 200/300; transfer time over the old link. All links hold ten packets."

#: The graphs in the overview's order (it does not number them), then the table and the figures
#: beyond it.
FIGURES: tuple[Figure, ...] = (
    _single(
        "1",
        "G1",
        "G1: from a short to a long delay, break-before-make, one flow",
        "Handoff to 300 ms at 6400 kbit/s; transfer time, counted from the break, over the old "
        f"link's delay. {len(single.INSTANTS_NS)} instants.",
        "Delay of the old link (ms)",
    ),
    _single(
        "2",
        "G2",
        "G2: to 200 kbit/s and 300 ms at equal BDP, make-before-break, one flow",
        _SLOWER,
        "Old link (kbit/s, ms)",
    ),
    _single(
        "3",
        "G3",
        "G3: to 200 kbit/s and 300 ms at equal BDP, break-before-make, one flow",
        f"{_SLOWER} It counts from the break.",
        "Old link (kbit/s, ms)",
    ),
    _several(
        "4",
        G4,
        "G4: from 6400 kbit/s and 9 ms to 200 kbit/s and 300 ms, several flows",
        "Make-before-break; the slowest flow's time for 100 segments.",
    ),
    _several(
        "5",
        G5,
        "G5: from 54 Mbit/s and 2 ms to 2 Mbit/s and 50 ms, several flows",
        "Make-before-break; the slowest flow's time for 100 segments.",
    ),
    _several(
        "6",
        G6,
        "G6: from 6 Mbit/s and 50 ms to 54 Mbit/s and 4 ms, several flows",
        "Make-before-break; the slowest flow's time for 100 segments.",
    ),
    _several(
        "7",
        G7,
        "G7: the same links, break-before-make",
        "The slowest flow's time for 100 segments, counted from the break.",
    ),
    _problems(),
    _evenness(),
)
