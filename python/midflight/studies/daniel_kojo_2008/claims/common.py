"""Functions that the claims share: measures, and the text form of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from midflight.claims import Check, Finding, Reading, between, percent
from midflight.results import EventLog, RunTable, quantile
from midflight.studies.daniel_kojo_2008.scenarios import (
    ENHANCED,
    REGULAR,
    Example,
    as_listed,
    sweep,
    sweeps,
)
from midflight.studies.runs import Cell, Runs, Sweep

# Text


def milliseconds(value: float) -> str:
    """A time in seconds as milliseconds."""
    return "no data" if math.isnan(value) else f"{1e3 * value:.0f} ms"


def instant(value: float) -> str:
    """The time of a single event, to the millisecond."""
    return "no event" if math.isnan(value) else f"{value:.3f} s"


def number(value: float) -> str:
    """A mean count with two decimals."""
    return f"{value:.2f}"


def count(value: float) -> str:
    """A whole count."""
    return f"{value:.0f}"


def ratio(value: float) -> str:
    """A dimensionless ratio."""
    return f"{value:.2f}"


def medians_text(pairs: Iterable[tuple[object, float]]) -> str:
    """`150: 0.95 s, 75: 1.02 s, ...`"""
    return ", ".join(f"{name}: {value:.2f} s" for name, value in pairs)


def yes(what: str, passed: bool, value: str) -> Check:
    """A check on a condition that is true or false."""
    return Check(what, value, bool(passed))


def found(
    checks: list[Check],
    *,
    note: str = "",
    context: str = "",
    why: str = "",
    readings: Sequence[Reading] = (),
) -> Finding:
    """A finding whose note is kept only where the claim is not reproduced in full."""
    if all(check.passed for check in checks) and checks:
        note = why = ""
    return Finding(checks, note, context, why, readings)


# Measures over a cell


def table(runs: Runs, cell: Cell, scheme: str = REGULAR) -> RunTable:
    """The 200 runs of a cell under a scheme."""
    return runs.sweep(sweep(cell, scheme))


def median(runs: Runs, cell: Cell, scheme: str = REGULAR) -> float:
    """Median transfer time in seconds."""
    return table(runs, cell, scheme).transfer_time.median


def _reduction(regular: float, enhanced: float) -> float:
    if math.isinf(regular):
        return float("nan") if math.isinf(enhanced) else 1.0
    return 1.0 - enhanced / regular


def reduction(runs: Runs, cell: Cell, scheme: str = ENHANCED) -> float:
    """1 - enhanced / regular of the median transfer times."""
    return _reduction(median(runs, cell), median(runs, cell, scheme))


def upper_reduction(runs: Runs, cell: Cell, scheme: str = ENHANCED) -> float:
    """The same for the upper quartiles."""
    return _reduction(
        table(runs, cell).transfer_time.q3, table(runs, cell, scheme).transfer_time.q3
    )


#: A1 as the listing of figure 11 has it, for `reduction_as_listed`.
AS_LISTED = (
    "A1 triggered by a longer delay or a smaller bandwidth (the listing of figure 11; "
    "`a1_trigger=delay-or-bandwidth`)"
)


def reduction_as_listed(runs: Runs, cell: Cell, *, upper: bool = False) -> float:
    """The reduction of the median (or of the upper quartile) with the listing's trigger of A1."""
    regular = table(runs, cell).transfer_time
    enhanced = runs.sweep(as_listed(cell)).transfer_time
    if upper:
        return _reduction(regular.q3, enhanced.q3)
    return _reduction(regular.median, enhanced.median)


def with_spurious_rto(runs: Runs, cell: Cell, scheme: str = REGULAR) -> float:
    """Fraction of handoff instants with at least one spurious RTO."""
    rows = table(runs, cell, scheme)
    return rows.share(rows["nspur"] >= 1)


def unused_s(rows: RunTable) -> NDArray[np.float64]:
    """Unused connection times in seconds: from the make to the next retransmission by timer.

    Only the instants in RTO recovery at the make have one.
    """
    waiting: NDArray[np.float64] = rows.seconds("unused_ns")
    known: NDArray[np.float64] = waiting[
        ~np.isnan(waiting) & (rows["in_rto_recovery_at_make"] == 1)
    ]
    return known


def median_unused_s(rows: RunTable) -> float:
    """Median unused connection time in seconds; nan when no run was in RTO recovery."""
    waiting = unused_s(rows)
    return float(np.median(waiting)) if waiting.size else float("nan")


def by_timeouts(rows: RunTable) -> str:
    """Instants and median transfer time by number of RTOs: `1 RTO 67 x 4.09 s, 2 RTOs ...`."""
    parts = []
    for n, instants in zip(*np.unique(rows["nrto"], return_counts=True), strict=True):
        middle = quantile(rows.transfer_time_s[rows["nrto"] == n], 0.5)
        parts.append(f"{n:.0f} RTO{'s' if n != 1 else ''} {instants} x {middle:.2f} s")
    return ", ".join(parts)


#: The sender's phase at the handoff, in coarse classes.
STAGES = {
    "slow start": ("slow-start",),
    "overshoot and recovery": ("overshoot", "fast-recovery", "rto-recovery"),
    "congestion avoidance": ("congestion-avoidance",),
}


def by_stage(runs: Runs, cell: Cell, q: float = 0.5, scheme: str = ENHANCED) -> str:
    """Quantiles of the transfer time, regular to enhanced, by the sender's phase."""
    regular, other = table(runs, cell), table(runs, cell, scheme)
    parts = []
    for stage, phases in STAGES.items():
        at = np.isin(regular["phase"], phases)
        if at.any():
            before, after = (quantile(rows.transfer_time_s[at], q) for rows in (regular, other))
            parts.append(f"{stage} ({at.sum()} instants) {before:.2f} to {after:.2f} s")
    return ", ".join(parts)


def steps(values: dict[int, float], unit: str, *, rising: bool) -> list[Check]:
    """One check for each step of a sequence that should rise (or fall) strictly."""
    names = list(values)
    return [
        Check(
            f"{a} to {b} {unit}",
            f"{values[a]:.2f} to {values[b]:.2f} s",
            values[b] > values[a] if rising else values[b] < values[a],
        )
        for a, b in pairwise(names)
    ]


def reductions_text(runs: Runs, cells: dict[str, Cell], scheme: str = ENHANCED) -> str:
    """`150 ms: 3.1 %, ...` of the medians."""
    return ", ".join(
        f"{name}: {percent(reduction(runs, cell, scheme))}" for name, cell in cells.items()
    )


# Measures on a single run

#: The minimum RTO that regular TCP uses throughout, in seconds.
MIN_RTO_S = 0.2
#: Times from a nanosecond clock and a floating-point formula count as equal within a microsecond.
EXACT_S = 1e-6


def traced(runs: Runs, example: Example, scheme: str = REGULAR) -> EventLog:
    """The events of a single run that the paper shows."""
    return runs.trace(example.trace(scheme))


def until_done(log: EventLog, at_s: float, segments: int = 100) -> EventLog:
    """The events from the handoff until that many new segments are acknowledged."""
    done = log.ack_time(log.highest_sent(at_s) + segments, at_s)
    return log.within(at_s, float("inf") if math.isnan(done) else done)


def timeouts(log: EventLog) -> list[tuple[float, bool]]:
    """The retransmission timeouts: time in seconds, and whether it was spurious."""
    return [(e.time_s, e.detail.startswith("spurious")) for e in log.of("rto").events()]


def timeouts_text(log: EventLog) -> str:
    """`8.412 s (spurious), 9.691 s`, or `none`."""
    return (
        ", ".join(
            f"{instant(time_s)}{' (spurious)' if spurious else ''}"
            for time_s, spurious in timeouts(log)
        )
        or "none"
    )


def nth(values: list[float], n: int) -> float:
    """The value with index `n`, or nan."""
    return values[n] if n < len(values) else float("nan")


def orders(log: EventLog, author: str) -> EventLog:
    """The orders of one policy (`a1`, `a2`, ...)."""
    return log.of("order").detailed(author + ":")


def highest_min_rto(log: EventLog, start_s: float) -> tuple[float, float]:
    """The last raised minimum RTO after an instant: when it was set, and its value in seconds."""
    raised = log.of("min_rto").within(start_s)
    raised = raised.where(raised.value > MIN_RTO_S + EXACT_S)
    if not len(raised):
        return float("nan"), float("nan")
    return float(raised.time_s[-1]), float(raised.value[-1])


def ssthresh_after(log: EventLog, time_s: float) -> float:
    """ssthresh after all events of an instant."""
    return log.last("ssthresh", time_s + 1e-6)


def resent_window(log: EventLog, timeout_s: float) -> tuple[int, int, int]:
    """What the sender retransmits after a timeout and before the next one.

    Returns the segments outstanding at the timeout, how many of them were retransmitted, and how
    many of those had not been lost.
    """
    una, top = log.highest_ack(timeout_s) + 1, log.highest_sent(timeout_s)
    later = [time_s for time_s, _ in timeouts(log) if time_s > timeout_s + 1e-9]
    again = log.of("rexmit").within(timeout_s, min(later, default=float("inf"))).value
    again = np.unique(again[(again >= una) & (again <= top)])
    lost = set(log.dropped().within(0.0, timeout_s).value.tolist())
    needless = len(set(again.tolist()) - lost)
    return top - una + 1, len(again), needless


# Rules on the reduction of the median

Cells = Mapping[str, Cell]
Test = Callable[[str, float], Check]


def both(cells: Iterable[Cell]) -> tuple[Sweep, ...]:
    """The runs of cells under regular and enhanced TCP."""
    return sweeps(cells, REGULAR, ENHANCED)


def by_link(cells: Iterable[Cell], new: bool = False) -> dict[str, Cell]:
    """Cells named by their old (or new) link."""
    return {str(cell.new if new else cell.old): cell for cell in cells}


def each(runs: Runs, cells: Cells, test: Test) -> list[Check]:
    """One check on the reduction of the median for each cell."""
    return [test(name, reduction(runs, cell)) for name, cell in cells.items()]


def at_most_either_way(limit: float) -> Test:
    """The reduction is smaller than a limit in either direction."""
    return lambda name, red: Check(
        name, percent(red), None if math.isnan(red) else abs(red) < limit
    )


def inside(low: float, high: float) -> Test:
    """The reduction is between two values."""
    return lambda name, red: between(name, red, low, high, percent)


def largest(runs: Runs, cells: Cells) -> tuple[str, float]:
    """The cell with the largest reduction."""
    values = {name: reduction(runs, cell) for name, cell in cells.items()}
    name = max(values, key=lambda n: values[n])
    return name, values[name]


def what_happened(runs: Runs, cells: Cells, scheme: str = ENHANCED) -> str:
    """Medians, RTOs and losses under both schemes, which explain a reduction."""
    parts = []
    for name, cell in cells.items():
        regular, other = table(runs, cell), table(runs, cell, scheme)
        parts.append(
            f"{name}: {regular.transfer_time.median:.2f} to {other.transfer_time.median:.2f} s, "
            f"RTOs {regular.mean('nrto'):.2f} to {other.mean('nrto'):.2f}, "
            f"losses {regular.mean('drops_data'):.1f} to {other.mean('drops_data'):.1f}"
        )
    return (
        "Regular to enhanced, median transfer time, mean RTOs, mean losses: "
        + "; ".join(parts)
        + "."
    )


def outside(runs: Runs, cells: Cells, checks: list[Check]) -> str:
    """What happened in the cells whose check failed, and at which instants."""
    failed = {check.what for check in checks if not check.passed}
    chosen = {name: cell for name, cell in cells.items() if name in failed}
    if not chosen:
        return ""
    stages = "; ".join(f"{name}: {by_stage(runs, cell)}" for name, cell in chosen.items())
    return f"{what_happened(runs, chosen)} By what the sender was doing at the handoff, {stages}."
