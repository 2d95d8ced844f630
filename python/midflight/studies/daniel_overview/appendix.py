"""Further results of a complete reproduction, beyond the graphs. The table of problems in numbers;
the effect of each part where all together are not the best; the fairness among flows; and the key
rows under the other profile and with flows that open one after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from midflight.claims import percent
from midflight.plot import write_csv
from midflight.studies.daniel_kojo_2008.scenarios import INSTANTS_NS
from midflight.studies.daniel_overview.claims import amount
from midflight.studies.daniel_overview.measures import (
    carried,
    fairness,
    reduction,
    slowest_of,
)
from midflight.studies.daniel_overview.problems import PROBLEMS
from midflight.studies.daniel_overview.scenarios import (
    ENHANCED,
    FEWER_NS,
    G4,
    G6,
    GRAPHS,
    REGULAR,
    SINGLE,
    VHO,
    Graph,
    alone,
)
from midflight.studies.runs import Cell, Job, Runs, Sweep

#: Instants of the report's further tables: every eighth, from 1.2 s on, when staggered flows are
#: all open. The graphs have them too.
OTHER_NS = INSTANTS_NS[11::8]
#: The numbers of flows there.
OTHER_FLOWS = (1, 2, 4)


@dataclass(frozen=True)
class Setting:
    """Another setting: its name, the profile, and the time between the flows' starts."""

    name: str
    profile: str = "ns2"
    stagger_s: float = 0.0

    @property
    def usual(self) -> bool:
        """Whether it is the setting of the graphs, whose runs are then used."""
        return self.profile == "ns2" and not self.stagger_s

    def single(self, cell: Cell, scheme: str) -> Sweep:
        """The runs of one flow."""
        job = alone(cell, scheme)
        return job if self.usual else replace(job, at_ns=OTHER_NS, profile=self.profile)

    def several(self, graph: Graph, scheme: str, flows: int) -> Sweep:
        """The runs of several flows."""
        if self.usual:
            return graph.sweep(scheme, flows)
        return graph.sweep(
            scheme, flows, at_ns=OTHER_NS, profile=self.profile, stagger_s=self.stagger_s
        )


SETTINGS = (
    Setting("as taken"),
    Setting("profile `rfc`", profile="rfc"),
    Setting("flows open 0.1 s apart", stagger_s=0.1),
)


#: The parts that explain a graph: the graph, the number of flows, and the schemes.
PARTS: tuple[tuple[Graph, int, tuple[str, ...]], ...] = (
    (G4, 4, (REGULAR, "a1", "a2", ENHANCED, VHO)),
    (G6, 1, (REGULAR, "a2", "reordering", "quick-start", "a2+reordering", ENHANCED, VHO)),
    (G6, 4, (REGULAR, "a2", "reordering", "quick-start", "a2+reordering", ENHANCED, VHO)),
)


def _everything() -> Iterable[Job]:
    for graph, flows, schemes in PARTS:
        yield from (graph.sweep(scheme, flows) for scheme in schemes)
    for setting in SETTINGS:
        for scheme in (REGULAR, ENHANCED, VHO):
            for graph in GRAPHS.values():
                yield from (setting.several(graph, scheme, n) for n in OTHER_FLOWS)
            if not setting.stagger_s:
                for cells in SINGLE.values():
                    yield from (setting.single(cell, scheme) for cell in cells.values())
    for problem in PROBLEMS:
        yield from problem.needs("rfc")


EVERYTHING: tuple[Job, ...] = tuple(_everything())


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _problems(runs: Runs) -> str:
    """The table of problems in numbers, under both profiles."""
    rows = []
    for problem in PROBLEMS:
        for profile in ("ns2", "rfc"):
            single, whole = (problem.against(runs, s, profile) for s in (problem.scheme, VHO))
            if not problem.jobs(REGULAR, profile):
                continue
            unit = problem.unit

            def sure(estimate: tuple[float, float], unit: str = unit) -> str:
                known = not np.isnan(estimate[0])
                return " ± ".join(amount(value, unit) for value in estimate) if known else "-"

            rows.append(
                [
                    problem.name,
                    problem.enhancement,
                    f"{problem.cell}" + (f", {problem.flows} flows" if problem.flows > 1 else ""),
                    problem.what + (f" ({unit})" if unit == "per handoff" else ""),
                    profile,
                    sure(single.first),
                    sure(single.second),
                    sure(whole.second),
                    f"{sure(single.saved)}; {single.better} better, {single.worse} worse of "
                    f"{single.n}"
                    if single.n
                    else "at no instant",
                ]
            )
    header = (
        "Problem",
        "Enhancement",
        "Handoff",
        "Measure",
        "Profile",
        "SACK",
        "Enhancement alone",
        "All",
        "SACK less the enhancement, same instants",
    )
    return _table(header, rows)


def _parts(runs: Runs) -> tuple[str, list[tuple[object, ...]]]:
    """The effect of each part in the graphs that need an explanation."""
    text: list[list[str]] = []
    found: list[tuple[object, ...]] = []
    for graph, flows, schemes in PARTS:
        for scheme in schemes:
            job = graph.sweep(scheme, flows)
            rows = slowest_of(runs, job)
            values = (
                rows.transfer_time.median,
                reduction(runs, graph.sweep(REGULAR, flows), job),
                rows.mean("timeouts"),
                rows.mean("nspur"),
                rows.mean("false_fast_rexmits"),
                rows.mean("drops_data"),
                float(carried(runs, job).mean()),
                float(np.mean(fairness(runs, job))),
            )
            found.append((graph.id, flows, scheme, len(rows), *values))
            text.append(
                [
                    f"{graph.id}, {flows}",
                    f"`{scheme}`",
                    f"{values[0]:.2f} s",
                    percent(values[1]),
                    *(f"{value:.2f}" for value in values[2:5]),
                    f"{values[5]:.1f}",
                    f"{values[6]:.0f}",
                    f"{values[7]:.2f}",
                ]
            )
    header = (
        "Graph, flows",
        "Scheme",
        "Slowest flow",
        "Reduction",
        "Timeouts",
        "Spurious",
        "False fast retransmits",
        "Lost",
        "Acknowledged in the window",
        "Jain",
    )
    return _table(header, text), found


def _settings(runs: Runs) -> tuple[str, list[tuple[object, ...]]]:
    """The reductions of the key rows under every setting."""
    text: list[list[str]] = []
    found: list[tuple[object, ...]] = []
    for setting in SETTINGS:
        for scheme in (ENHANCED, VHO):
            cells = [setting.name, f"`{scheme}`"]
            for graph, of in SINGLE.items():
                if setting.stagger_s:
                    cells.append("")
                    continue
                values = {}
                for name, cell in of.items():
                    regular, other = (setting.single(cell, s) for s in (REGULAR, scheme))
                    values[name] = reduction(runs, regular, other, at_ns=OTHER_NS)
                    found.append((setting.name, scheme, graph, name, 1, values[name]))
                best = max(values, key=lambda name: values[name])
                cells.append(f"{percent(values[best], 0)} ({best})")
            for several in GRAPHS.values():
                gains = []
                for flows in OTHER_FLOWS:
                    regular, other = (setting.several(several, s, flows) for s in (REGULAR, scheme))
                    gains.append(reduction(runs, regular, other, at_ns=OTHER_NS))
                    found.append((setting.name, scheme, several.id, "", flows, gains[-1]))
                cells.append(", ".join(percent(value, 0) for value in gains))
            text.append(cells)
    numbers = ", ".join(map(str, OTHER_FLOWS))
    header = (
        "Setting",
        "Scheme",
        *(f"{graph}: largest" for graph in SINGLE),
        *(f"{graph}: {numbers} flows" for graph in GRAPHS),
    )
    return _table(header, text), found


def appendix(runs: Runs, out: Path) -> tuple[str, list[Path]]:
    """The tables as Markdown for the report, and the files with all their values."""
    parts, part_rows = _parts(runs)
    settings, setting_rows = _settings(runs)
    files = [
        write_csv(
            out / "parts.csv",
            (
                "graph",
                "flows",
                "scheme",
                "runs",
                "median_s",
                "reduction",
                "mean_timeouts",
                "mean_spurious",
                "mean_false_fast_rexmits",
                "mean_lost_segments",
                "mean_acked_in_window",
                "mean_jain",
            ),
            part_rows,
        ),
        write_csv(
            out / "settings.csv",
            ("setting", "scheme", "graph", "old_link", "flows", "reduction"),
            setting_rows,
        ),
    ]
    text = f"""### The table of problems

Means over the handoff instants with 95 % intervals; of the {len(INSTANTS_NS)} instants every second
one under `rfc`. The RTO is followed in traces, at every fifth instant, under
`ns2` only.

{_problems(runs)}
### What each part does

{len(FEWER_NS)} instants. In G4 with four flows A1 alone makes the slowest flow slower and the
fastest faster; A2 takes most of that back.

In G6 with one flow the needless retransmissions do not slow the plain sender down: they go over the
new link, which is faster, and overtake the segments that are still on the old one. A sender that
correctly waits for the old link gets its first 100 new segments acknowledged later, with a window
that has not been halved, and uses the link better from then on; A2 stops sending until half of the
outstanding segments are acknowledged. With four flows, which retransmit needlessly more than once
each, the policy for reordering alone is the fastest. A2 and Quick-Start cancel that gain: A2 stops
every flow, Quick-Start grants one of them most of the link, and the measure is the slowest flow.

{parts}
### Other settings

Reductions of the median, {len(OTHER_NS)} instants in every row of this table: for G1 to G3 the
largest one with its old link, for G4 to G7 those with 1, 2 and 4 flows. Every value is in
`settings.csv`.

The profile has a larger effect than the algorithms. Under `rfc` the minimum RTO is 1 s: with one
flow an RTO is rarely spurious after these handoffs, hardly any sender has timed out when a link is
back after 0.5 s (in G3 from 400 kbit/s and 150 ms one instant in 24 finds one), and nearly all of
the gain of A1 and A3 in G1 to G3 and G7 is lost. The remaining gains are the losses that A2 avoids
with several flows, the fast retransmits that the policy for reordering avoids, and the increase of
a small window by Quick-Start.

{settings}
"""
    return text, files
