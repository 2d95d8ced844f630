"""What the runs of a scenario gave, as the cells of tables: means if there are several runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight._core import Table
    from midflight.scenario import Outcome

__all__ = ["csv_cell", "false_fast_line", "flow_cells", "phase_cells", "rows"]


def rows(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    names = table.column_names
    for row in zip(*(table.column(name) for name in names), strict=True):
        yield dict(zip(names, row, strict=True))


def csv_cell(value: Any) -> str:
    """Return a value as it is in a CSV file."""
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else csv_text(str(value))


def csv_text(text: str) -> str:
    """Return a text as it is in a CSV file: with a quote before what a spreadsheet would run.

    That is the remedy that OWASP has against formula injection. Numbers stay as they are.
    """
    return f"'{text}" if is_formula(text) else text


def plain_text(text: str) -> str:
    """Return what `csv_text` made a text in a CSV file of."""
    return text[1:] if text[:1] == "'" and is_formula(text[1:]) else text


def is_formula(text: str) -> bool:
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def mean(values: Sequence[Any]) -> float | None:
    """Return the mean, or None if a value is missing."""
    if not values or any(value is None for value in values):
        return None
    return float(sum(values)) / len(values)


def time_cell(nanoseconds: float | None, decimals: int = 3) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds / 1e9:.{decimals}f}"


def some_cell(times: Sequence[float | None]) -> str:
    """Return the mean of times, or of how many runs there are some, if not of all."""
    there = sum(one is not None for one in times)
    if 0 < there < len(times):
        return f"{there} of {len(times)}"
    return time_cell(mean(times))


def count_cell(count: float | None) -> str:
    return "-" if count is None else f"{count:.2f}".removesuffix(".00")


def rate_cell(bits_per_second: float) -> str:
    return f"{bits_per_second / 1e6:.3f}"


def flow_cells(outcome: Outcome) -> list[list[str]]:
    """Return a head, and a line for each flow: means per run."""
    by_flow: dict[str, list[dict[str, Any]]] = {}
    for row in rows(outcome.flows):
        by_flow.setdefault(row["flow"], []).append(row)
    head = "flow scheme seconds goodput stall timeouts spurious rexmits queue down radio"
    cells = [head.split()]
    for name, found in by_flow.items():
        runs = len(found)
        unfinished = sum(one["finished_ns"] is None for one in found)
        took = time_cell(mean([one["duration_ns"] for one in found]))
        if unfinished and unfinished < runs:
            took = f"{runs - unfinished} of {runs}"
        counts = (
            "timeouts",
            "spurious_timeouts",
            "rexmits",
            "drops_queue",
            "drops_break",
            "drops_radio",
        )
        cells.append(
            [
                name,
                found[0]["scheme"],
                took,
                rate_cell(mean([one["goodput_bps"] for one in found]) or 0.0),
                time_cell(mean([one["stall_ns"] for one in found])),
                *(count_cell(mean([one[count] for one in found])) for count in counts),
            ]
        )
    return cells


def false_fast_line(outcome: Outcome) -> str | None:
    """Return which flows sent segments again that were only late, or None if none did."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows(outcome.flows):
        found.setdefault(row["flow"], []).append(row)
    said = []
    for name, of_runs in found.items():
        false = mean([one["false_fast_rexmits"] for one in of_runs])
        all_of_them = mean([one["fast_rexmits"] for one in of_runs])
        if false:
            said.append(f"{name} {count_cell(false)} of {count_cell(all_of_them)}")
    if not said:
        return None
    return f"Fast retransmits that were false, as the segment was only late: {', '.join(said)}."


def phase_cells(outcome: Outcome) -> list[list[str]] | None:
    """Return a head, and a line for each handoff or change and flow of the mobile node, or None."""
    moving = {row["flow"] for row in rows(outcome.flows) if row["moves"]}
    by_phase: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in rows(outcome.phases):
        if row["flow"] in moving and row["phase"] > 0:
            by_phase.setdefault((row["phase"], row["flow"]), []).append(row)
    if not by_phase:
        return None
    cells = ["at link flow first all acked timeouts spurious rexmits queue down radio".split()]
    counts = ("timeouts", "spurious_timeouts", "rexmits")
    drops = ("drops_queue", "drops_break", "drops_radio")
    for (_, name), found in sorted(by_phase.items()):
        cells.append(
            [
                f"{found[0]['from_ns'] / 1e9:.12g} s",
                found[0]["link"],
                name,
                some_cell([one["first_new_ns"] for one in found]),
                some_cell([one["all_new_ns"] for one in found]),
                *(
                    count_cell(mean([one[key] for one in found]))
                    for key in ("acked", *counts, *drops)
                ),
            ]
        )
    return cells
