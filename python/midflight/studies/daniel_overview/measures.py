"""What is measured: reductions, fairness, and the retransmission timeout over a trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from midflight.results import Estimate, EventLog, RunTable, difference_ci, jain, mean_ci, quantile
from midflight.studies.daniel_overview.scenarios import REGULAR, VHO, Graph
from midflight.studies.runs import Runs, Sweep

Values = NDArray[np.float64]


def slowest_of(runs: Runs, job: Sweep) -> RunTable:
    """The runs of a sweep with one row each."""
    return runs.sweep(job).slowest


def reduction(
    runs: Runs,
    regular: Sweep,
    other: Sweep,
    column: str = "t_new_ns",
    at_ns: tuple[int, ...] | None = None,
) -> float:
    """1 - other / regular of the medians of the slowest flow's time; nan if neither transfer ends.

    Over all instants of the runs, or over those of `at_ns` only.
    """
    medians = []
    for job in (regular, other):
        rows = slowest_of(runs, job)
        here = np.isin(rows["th_ns"], rows["th_ns"] if at_ns is None else at_ns)
        medians.append(quantile(rows.seconds(column)[here], 0.5))
    if np.isinf(medians[0]):
        return float("nan") if np.isinf(medians[1]) else 1.0
    return 1.0 - medians[1] / medians[0]


def graph_reduction(
    runs: Runs, graph: Graph, flows: int, scheme: str = VHO, column: str = "t_new_ns"
) -> float:
    """The reduction in a graph for several flows."""
    return reduction(runs, graph.sweep(REGULAR, flows), graph.sweep(scheme, flows), column)


def mean_window(runs: Runs, job: Sweep) -> float:
    """The mean number of segments that a flow has outstanding at the handoff."""
    return float(np.mean(runs.sweep(job)["flight"]))


def fairness(runs: Runs, job: Sweep) -> Values:
    """Jain's index of the flows' acknowledged segments in the window of each run, where there are
    any."""
    shares = runs.sweep(job).by_flow("acked_window")
    return np.array([jain(row) for row in shares if row.any()])


def carried(runs: Runs, job: Sweep) -> Values:
    """The segments acknowledged in the window, all flows of each run together."""
    total: Values = runs.sweep(job).by_flow("acked_window").sum(axis=1)
    return total


@dataclass(frozen=True)
class Pairs:
    """Two schemes at the same instants: means, the mean difference, and how often each is better.

    Instants without a value under both schemes are left out; `n` is the number of the others.
    Less is better.
    """

    n: int
    first: Estimate
    second: Estimate
    saved: Estimate
    better: int
    worse: int

    @property
    def reduced(self) -> bool:
        """Whether the second is lower by more than its 95 % interval."""
        return bool(self.saved.mean - self.saved.half_width > 0)

    @property
    def there(self) -> bool:
        """Whether the problem exists: the first is above zero by its interval."""
        return bool(self.first.mean - self.first.half_width > 0)


def paired(first: Values, second: Values) -> Pairs:
    """Compare two schemes at the same instants."""
    known = np.isfinite(first) & np.isfinite(second)
    a, b = first[known], second[known]
    return Pairs(
        n=int(known.sum()),
        first=mean_ci(a),
        second=mean_ci(b),
        saved=difference_ci(a, b),
        better=int((b < a).sum()),
        worse=int((b > a).sum()),
    )


# The retransmission timeout


@dataclass(frozen=True)
class Timeouts:
    """The retransmission timeout without back-off: from when on, and its value, in seconds."""

    since_s: Values
    rto_s: Values

    def at(self, time_s: float) -> float:
        """The timeout just after an instant; nan before the first value."""
        index = int(np.searchsorted(self.since_s, time_s, side="right")) - 1
        return float(self.rto_s[index]) if index >= 0 else float("nan")

    def settled_after(self, start_s: float, limit_s: float) -> float:
        """From an instant until the timeout is at most `limit_s` and stays so; nan if never."""
        high = np.flatnonzero(self.rto_s > limit_s)
        if not high.size:
            return 0.0
        if high[-1] + 1 == self.rto_s.size:
            return float("nan")
        return max(0.0, float(self.since_s[high[-1] + 1]) - start_s)


def retransmission_timeouts(log: EventLog) -> Timeouts:
    """The timeout of a run without back-off; its trace has it with back-off."""
    since, values, backoff = [], [], 1.0
    changes = log.where(np.isin(log.kind, ("rto_value", "backoff")))
    for time_ns, kind, value in zip(
        changes.time_ns.tolist(), changes.kind.tolist(), changes.value.tolist(), strict=True
    ):
        if kind == "backoff":
            backoff = value
        else:
            since.append(time_ns / 1e9)
            values.append(value / backoff)
    return Timeouts(np.array(since), np.array(values))
