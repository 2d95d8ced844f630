"""The results of a scenario's runs as the cells of tables: means if there are several runs.

Runs are added some at a time, and none is kept but the times that flows took.
"""

from __future__ import annotations

import csv
import math
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from midflight._core import Table, WorkloadMeasure
    from midflight.results import Columns
    from midflight.scenario import Outcome

__all__ = [
    "RunSummary",
    "agents_of",
    "align",
    "counted",
    "csv_cell",
    "csv_row",
    "csv_text",
    "fitted",
    "is_further_connection",
    "is_kept",
    "is_requests",
    "measures_of",
    "plain_text",
    "rows",
    "stack_summary",
    "stacks_of",
    "summary_text",
    "write_cells",
]

#: Lines of the table of handoffs and changes.
_MOST_LINES = 40


def rows(table: Table | Columns) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    names = table.column_names
    for row in zip(*(table.column(name) for name in names), strict=True):
        yield dict(zip(names, row, strict=True))


def is_requests(row: Mapping[str, Any]) -> bool:
    """Whether a row is that of the flow that carries the requests of an application.

    Without an entry, as in tables of other programs, none is.
    """
    flow, entry = str(row["flow"]), row.get("entry")
    if entry is None or not flow.endswith("-requests"):
        return False
    # One of several alike has its number, and each of several connections has one.
    return re.fullmatch("(-[0-9]+)?(-c[0-9]+)?-requests", flow.removeprefix(str(entry))) is not None


def is_further_connection(row: Mapping[str, Any]) -> bool:
    """Whether a row is that of another connection of an application than its first one, which has
    what the application measures. Without an entry none is.
    """
    flow, entry = str(row["flow"]), row.get("entry")
    if entry is None or "-c" not in flow:
        return False
    return re.fullmatch("(-[0-9]+)?-c[1-9][0-9]*", flow.removeprefix(str(entry))) is not None


def stack_summary(stack: Mapping[str, Any]) -> str:
    """Return what a QUIC stack of the core is, in a line."""
    return f"QUIC: {stack['version']}, unmodified, in virtual time"


def stacks_of(scenario: dict[str, Any]) -> str:
    """Return what makes the runs of a scenario: a profile, or the stacks of its flows."""
    from midflight import QUIC_STACKS

    made_by = (
        QUIC_STACKS.get(
            flow.get("stack", "midflight"),
            f"profile {flow.get('profile') or scenario['profile']}",
        )
        for flow in scenario["flows"].values()
    )
    return ", ".join(dict.fromkeys(made_by))


def csv_cell(value: Any) -> str:
    """Return a value as it is written to a CSV file."""
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else csv_text(str(value))


def write_cells(file: IO[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table to a CSV file, each value as `csv_cell` does."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(map(csv_cell, row) for row in rows)


def csv_text(text: str) -> str:
    """Return a text as it is written to a CSV file: a quote is put before a formula.

    This is OWASP's remedy against formula injection: a spreadsheet would run the formula. Numbers
    are unchanged. Text that begins with a quote gets another one, so that `plain_text` can remove
    it.
    """
    return f"'{text}" if text.startswith("'") or is_formula(text) else text


def csv_row(row: Iterable[Any]) -> list[Any]:
    """Return a row as it is written to a CSV file."""
    return [csv_text(cell) if isinstance(cell, str) else cell for cell in row]


def plain_text(text: str) -> str:
    """Return what `csv_text` made a text in a CSV file of."""
    return text.removeprefix("'")


def is_kept(row: Mapping[str, Any], where: Mapping[str, Collection[Any]]) -> bool:
    """Whether a row has one of these values in each of these columns."""
    return all(row[name] in values for name, values in where.items())


def is_formula(text: str) -> bool:
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def align(rows: Sequence[Sequence[str]], *, right: bool = True) -> str:
    """Return rows of text as columns; all but the first column are set flush right if `right`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if right and number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def fitted(rows: Sequence[Sequence[str]], most: int) -> list[list[list[str]]]:
    """Return the lines of each of some rows of text whose columns (`align`) have `most` characters
    in all, if words of the widest ones can be wrapped: the first row, which is the head, ends at
    the bottom.
    """
    columns = [*zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    least = [max(len(word) for cell in each for word in cell.split() or [""]) for each in columns]
    # Heads are wrapped before what stands below them.
    bodies = [max([len(cell) for cell in each[1:]], default=0) for each in columns]
    for ends in ([*map(max, least, bodies)], least):
        while sum(widths) + 2 * (len(widths) - 1) > most:
            room, place = max((width - ends[at], at) for at, width in enumerate(widths))
            if room <= 0:
                break
            widths[place] -= 1
    found = []
    for number, row in enumerate(rows):
        each = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        height = max(map(len, each))
        filled = [[""] * (height - len(one)) for one in each]
        parts = [
            [*blank, *one] if number == 0 else [*one, *blank]
            for blank, one in zip(filled, each, strict=True)
        ]
        found.append([[*line] for line in zip(*parts, strict=True)])
    return found


def _wrapped(cell: str, width: int) -> list[str]:
    options: Any = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(cell, width, **options) if len(cell) > width else [cell]


def counted(count: int, one: str) -> str:
    """Return a number of things in words: 1 cell, 2 cells."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


@dataclass
class Mean:
    """A mean of values, of which some may be missing."""

    total: float = 0
    there: int = 0
    missing: int = 0

    def add(self, value: float | None) -> None:
        if value is None:
            self.missing += 1
        else:
            self.total += value
            self.there += 1

    @property
    def value(self) -> float | None:
        """The mean, or None if a value is missing."""
        if self.missing or not self.there:
            return None
        return float(self.total) / self.there

    @property
    def some(self) -> str | None:
        """Of how many there is a value, if it is not none and not all."""
        if not self.missing or not self.there:
            return None
        return f"{self.there} of {self.there + self.missing}"


class Means:
    """Means of some columns over rows, and the first of the rows."""

    def __init__(self, first: Mapping[str, Any], columns: tuple[str, ...]) -> None:
        self.first = dict(first)
        self.columns = {name: Mean() for name in columns}

    def add(self, row: Mapping[str, Any]) -> None:
        for name, mean in self.columns.items():
            # Results that were stored before there were disciplines and agents lack their counts.
            mean.add(row[name] if name not in _LATER else row.get(name, 0))

    def __getitem__(self, name: str) -> Mean:
        return self.columns[name]


def time_cell(nanoseconds: float | None, decimals: int = 3) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds / 1e9:.{decimals}f}"


def count_cell(count: float | None) -> str:
    return "-" if count is None else f"{count:.2f}".removesuffix(".00")


def rate_cell(bits_per_second: float) -> str:
    return f"{bits_per_second / 1e6:.3f}"


def measure_cell(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "ns":
        return time_cell(value)
    return rate_cell(value) if unit == "bps" else count_cell(value)


_TIMEOUTS = ("timeouts", "spurious_timeouts", "rexmits")
_DROPS = ("drops_queue", "drops_break", "drops_radio")
#: Counts that only disciplines of queues and agents of nodes have; in tables if one is above zero.
_MANAGED = {
    "drops_early": "early",
    "marks": "marks",
    "node_sent": "sent-by-nodes",
    "node_kept": "kept-by-nodes",
}
_FALSE = ("false_fast_rexmits", "fast_rexmits")
#: The fate of data that nodes acknowledged themselves.
_DELIVERY = ("delivered_ns", "acked_ahead", "acked_missing")
_LATER = (*_MANAGED, *_DELIVERY)
_COUNTS = (*_TIMEOUTS, *_DROPS, *_MANAGED)
_OF_FLOWS = ("duration_ns", "goodput_bps", "stall_ns", *_COUNTS, *_FALSE, *_DELIVERY)
_OF_PHASES = ("first_new_ns", "all_new_ns", "acked", *_COUNTS)


def measures_of(workload: str | None) -> Sequence[WorkloadMeasure]:
    """Return the measures of a workload; nothing for a flow without one."""
    from midflight import _core

    if not workload:
        return ()
    return next(one["measures"] for one in _core.workloads() if one["name"] == workload)


class RunSummary:
    """The mean results of runs: of each flow, and of each flow after a handoff or change."""

    def __init__(self) -> None:
        self.flows: dict[str, Means] = {}
        #: Of flows of the mobile node, by the phase's number and the flow.
        self.phases: dict[tuple[int, str], Means] = {}
        #: Of each flow: how long it took in each run, None without end.
        self.took_ns: dict[str, list[float | None]] = {}

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        """Return the summary of runs that are held in memory."""
        summary = cls()
        summary.add(outcome.flows, outcome.phases)
        return summary

    def add(self, flows: Table | Columns, phases: Table | Columns) -> None:
        """Add some runs."""
        for row in rows(flows):
            found = self.flows.get(row["flow"])
            if found is None:
                measures = tuple(one["name"] for one in measures_of(row.get("workload")))
                found = self.flows[row["flow"]] = Means(row, (*_OF_FLOWS, *measures))
            found.add(row)
            self.took_ns.setdefault(row["flow"], []).append(row["duration_ns"])
        moving = {name for name, found in self.flows.items() if found.first["moves"]}
        for row in rows(phases):
            if row["flow"] in moving and row["phase"] > 0:
                key = row["phase"], row["flow"]
                after = self.phases.get(key)
                if after is None:
                    after = self.phases[key] = Means(row, _OF_PHASES)
                after.add(row)

    def flow_cells(self) -> list[list[str]]:
        """Return a head, and a line for each flow: means per run."""
        head = "flow scheme seconds goodput stall timeouts spurious rexmits queue down radio"
        managed = self._managed(self.flows.values())
        cells = [[*head.split(), *managed.values()]]
        for name, found in self.flows.items():
            took = found["duration_ns"]
            cells.append(
                [
                    name,
                    found.first["scheme"],
                    took.some or time_cell(took.value),
                    rate_cell(found["goodput_bps"].value or 0.0),
                    time_cell(found["stall_ns"].value),
                    *(count_cell(found[key].value) for key in (*_TIMEOUTS, *_DROPS, *managed)),
                ]
            )
        return cells

    @staticmethod
    def _managed(found: Iterable[Means]) -> dict[str, str]:
        """Return the columns of what queues and nodes did, by their keys, if any did."""
        all_of_them = list(found)
        did = {key for key in _MANAGED for one in all_of_them if one[key].value}
        return {key: head for key, head in _MANAGED.items() if key in did}

    @property
    def managed_text(self) -> str:
        """The description of the additional columns; empty if there are none."""
        found = self._managed(self.flows.values())
        said = []
        for what, did, who in (
            ("", {"drops_early": "dropped early", "marks": "marked"}, "by queues"),
            ("packets ", {"node_sent": "sent", "node_kept": "kept back"}, "by nodes"),
        ):
            words = " and ".join(word for key, word in did.items() if key in found)
            said += [f"; {what}{words} {who}"] if words else []
        return "".join(said)

    def flow_text(self, runs: int) -> str:
        """Return what the columns of the flows are."""
        return (
            "Seconds from the opening to the end and of the longest time without progress; goodput "
            "in Mbit/s;\nlosses to a full queue, a link that was down, and the radio"
            + self.managed_text
            + ("." if runs == 1 else "; means per run.")
        )

    @staticmethod
    def workload_text(workload: str) -> str:
        """Return what the table of a workload's measures is."""
        units = {"ns": "times in seconds", "bps": "rates in Mbit/s"}
        there = dict.fromkeys(one["unit"] for one in measures_of(workload))
        return f"Workload {workload}: {', '.join(units[unit] for unit in there if unit)}."

    @staticmethod
    def phase_text(packets: int) -> str:
        """Return what the columns of the phases are; `packets` is how many they measure."""
        return (
            f"From each handoff or change on: seconds until the first and until {packets} packets "
            "are acknowledged\nthat were never sent before the new link was in use or the change "
            "was complete."
        )

    def delivery_line(self) -> str | None:
        """Return the amount that was acknowledged and had not arrived, or None if there is none."""
        said = []
        for name, found in self.flows.items():
            took, ahead, missing = (found[key].value for key in _DELIVERY)
            if not ahead:
                continue
            there = "" if not took else f", and all data had arrived after {time_cell(took)} s"
            lost = f", {count_cell(missing)} never did" if missing else ""
            said.append(f"{count_cell(ahead)} of {name}{lost}{there}")
        if not said:
            return None
        return f"Segments acknowledged before they had arrived, at most at once: {'; '.join(said)}."

    def completion_lines(self, entries: Mapping[str, int]) -> Iterator[str]:
        """Yield how long the flows of entries took, as quantiles of all runs; an entry by its name
        with its count of flows.
        """
        from midflight.results import quantile

        for entry, count in entries.items():
            took = [ns for i in range(count) for ns in self.took_ns.get(f"{entry}-{i}", ())]
            ended = [one for one in took if one is not None]
            if not ended:
                continue
            every = [math.inf if one is None else one for one in took]
            shares = {"median": 0.5, "95 %": 0.95, "99 %": 0.99, "longest": 1.0}
            said = ((name, quantile(every, share)) for name, share in shares.items())
            times = (f"{name} {'-' if ns == math.inf else time_cell(ns)}" for name, ns in said)
            left = len(took) - len(ended)
            open_ones = f"; {left} had not ended" if left else ""
            yield (
                f"Completion times of the {counted(len(took), 'flow')} {entry} in seconds: "
                f"{', '.join(times)}{open_ones}."
            )

    def false_fast_line(self) -> str | None:
        """Return which flows sent segments again that were only late, or None if none did."""
        said = []
        for name, found in self.flows.items():
            false, all_of_them = (found[count].value for count in _FALSE)
            if false:
                said.append(f"{name} {count_cell(false)} of {count_cell(all_of_them)}")
        if not said:
            return None
        return f"Fast retransmits that were false, as the segment was only late: {', '.join(said)}."

    def workload_cells(self) -> dict[str, list[list[str]]]:
        """Return for each workload a head, and a line for each flow that has it: means per run."""
        cells: dict[str, list[list[str]]] = {}
        for name, found in self.flows.items():
            workload = found.first.get("workload")
            if not workload:
                continue
            measures = measures_of(workload)
            head = [["flow", *(one["short"] for one in measures)]]
            line = [name]
            for one in measures:
                mean = found[one["name"]]
                line.append(mean.some or measure_cell(mean.value, one["unit"]))
            cells.setdefault(workload, head).append(line)
        return cells

    def phase_cells(self) -> list[list[str]] | None:
        """Return a head, and a line for each handoff or change and flow of the node, or None."""
        if not self.phases:
            return None
        head = "at link flow first all acked timeouts spurious rexmits queue down radio"
        managed = self._managed(self.phases.values())
        cells = [[*head.split(), *managed.values()]]
        place = {name: number for number, name in enumerate(self.flows)}
        for (_, name), found in sorted(
            self.phases.items(), key=lambda one: (one[0][0], place[one[0][1]])
        ):
            times = found["first_new_ns"], found["all_new_ns"]
            cells.append(
                [
                    f"{found.first['from_ns'] / 1e9:.12g} s",
                    found.first["link"],
                    name,
                    *(time.some or time_cell(time.value) for time in times),
                    *(
                        count_cell(found[key].value)
                        for key in ("acked", *_TIMEOUTS, *_DROPS, *managed)
                    ),
                ]
            )
        return cells


def agents_of(scenario: dict[str, Any]) -> list[str]:
    """Return the agents at nodes on the path, each once."""
    named = (one.get("agent", "none") for one in (scenario, *scenario["links"].values()))
    return [name for name in dict.fromkeys(named) if name != "none"]


def summary_text(scenario: dict[str, Any], summary: RunSummary, stack: str | None = None) -> str:
    """Return the measurements as text; `stack` is the stack that made the runs, if it is not a
    profile.
    """
    runs = scenario["runs"]
    lines = [scenario["title"]] if scenario.get("title") else []
    made_by = stack if stack is not None else stacks_of(scenario)
    agents = agents_of(scenario)
    made_by += f", agent {' and '.join(agents)} on the path" if agents else ""
    lines.append(f"{counted(runs, 'run')}, seed {scenario['seed']}, {made_by}")
    lines.append(summary.flow_text(runs))
    lines += ["", align(summary.flow_cells())]
    false_fast = summary.false_fast_line()
    if false_fast is not None:
        lines.append(false_fast)
    delivery = summary.delivery_line()
    if delivery is not None:
        lines.append(delivery)
    counts = {name: flow.get("count", 1) for name, flow in scenario["flows"].items()}
    several = {name: count for name, count in counts.items() if count > 1}
    lines += summary.completion_lines(several)
    for workload, cells in summary.workload_cells().items():
        lines += ["", summary.workload_text(workload), "", align(cells)]
    phases = summary.phase_cells()
    if phases is not None:
        lines += [
            "",
            summary.phase_text(scenario["packets"]),
            "",
            align(phases[: _MOST_LINES + 1]),
        ]
        left = len(phases) - 1 - _MOST_LINES
        if left > 0:
            lines.append(f"... and {left} more; --out DIR and --json give all")
    return "\n".join(lines)
