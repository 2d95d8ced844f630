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
    """1 - other / regular of the medians of the slowest flow's time; nan when neither ends.

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
    """Jain's index of what the flows of each run get in the window, if they get anything."""
    shares = runs.sweep(job).by_flow("acked_window")
    return np.array([jain(row) for row in shares if row.any()])


def carried(runs: Runs, job: Sweep) -> Values:
    """What all flows of each run get in the window, in segments."""
    total: Values = runs.sweep(job).by_flow("acked_window").sum(axis=1)
    return total


@dataclass(frozen=True)
class Pairs:
    """Two schemes at the same instants: means, the mean difference, and who is better how often.

    Instants without a value under either scheme are left out; `n` is the number of the others.
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
        """Whether there is something to be reduced: the first is above zero by its interval."""
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


# The retransmission timeout, which a trace does not say

#: Clock tick of the `ns2` profile and its phase, in nanoseconds (`midflight list settings`).
TICK_NS, PHASE_NS = 10_000_000, 5_558_807


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
    """The timeout that the samples, restarts and minima of a run under `ns2` give.

    A trace has all that the timeout is made of, but not the timeout; it is worked out here as the
    sender does it: Jacobson's filter over clock ticks (1988, appendix A), raised to the minimum
    RTO.
    """
    srtt_x8 = rttvar_x4 = 0
    estimate, minimum = 6.0, 0.2
    backoff = 1
    since = [0.0]
    values = [estimate]
    of_interest = log.where(np.isin(log.kind, ("rtt_sample", "min_rto", "backoff", "order")))
    for time_ns, kind, value, detail in zip(
        of_interest.time_ns.tolist(),
        of_interest.kind.tolist(),
        of_interest.value.tolist(),
        of_interest.detail.tolist(),
        strict=True,
    ):
        if kind == "rtt_sample":
            rtt_ns = round(value * 1e9)
            into_tick = (time_ns - rtt_ns + PHASE_NS) % TICK_NS
            ticks = max(1, (rtt_ns + into_tick) // TICK_NS)
            if srtt_x8 == 0:
                srtt_x8, rttvar_x4 = ticks << 3, ticks << 1
            else:
                error = ticks - (srtt_x8 >> 3)
                srtt_x8 = max(1, srtt_x8 + error)
                rttvar_x4 = max(1, rttvar_x4 + abs(error) - (rttvar_x4 >> 2))
            estimate = (((rttvar_x4 << 3) + srtt_x8) >> 3) * TICK_NS / 1e9
        elif kind == "min_rto":
            minimum = value
        elif kind == "backoff":
            if value > backoff and value > 8:  # the mean is not trusted any more
                rttvar_x4, srtt_x8 = rttvar_x4 + (srtt_x8 >> 3), 0
            backoff = int(value)
            continue
        elif RESTART in detail:
            srtt_x8 = rttvar_x4 = 0
            estimate = 3.0
        else:
            continue
        since.append(time_ns / 1e9)
        values.append(max(estimate, minimum))
    return Timeouts(np.array(since), np.array(values))


#: How an order says that the estimate starts afresh, at 3 s.
RESTART = "restart RTT estimation with an RTO of 3 s"
