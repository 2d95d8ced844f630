"""How the cross traffic's delay is found: `midflight calibrate lim-jang-2009`.

The paper gives the cross traffic's loss rate, 1.5 %, but not the round trip that determines it.
The one-way delay of the cross host is searched in steps until the drops at the wired queue are
nearest to the target, for two interpretations of it: as a share of all packets that arrive at the
queue, and of the flow's own. The flow is plain SACK, the mean is over both handovers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from midflight.studies.lim_jang_2009 import scenarios as sc
from midflight.studies.lim_jang_2009.measures import own_drops, wired_drops
from midflight.studies.runs import Flow, Progress, Runs

#: Runs of each handover, and the smallest step of the search in microseconds.
RUNS = 12
STEP_US = 1000
LONGEST_US = 128_000

READINGS = {"all packets": "CROSS_DELAY_US", "the flow's packets": "CROSS_DELAY_OWN_US"}


@dataclass(frozen=True)
class Trial:
    """The result of one delay: drops at the wired queue, of all packets and of the flow's."""

    reading: str
    delay_us: int
    all_packets: float
    own_packets: float

    @property
    def rate(self) -> float:
        """The share that the interpretation concerns."""
        return self.all_packets if self.reading == "all packets" else self.own_packets


def trial_flows(delay_us: int) -> tuple[Flow, ...]:
    """The runs that measure one delay."""
    flows = (sc.scenario(figure, sc.SACK) for figure in ("13", "14"))
    return tuple(replace(flow, runs=RUNS, cross_delay_us=delay_us) for flow in flows)


def calibrate(runs: Runs, progress: Progress | None = None) -> list[Trial]:
    """All trials in the order in which they were made; the last one of an interpretation is its
    result."""
    return [trial for reading in READINGS for trial in _search(runs, reading, progress)]


def _search(runs: Runs, reading: str, progress: Progress | None) -> list[Trial]:
    """Halve the range of delays until the target lies between two neighbours; take the nearer."""
    trials: dict[int, Trial] = {}
    measure = _measure(runs, reading, progress, trials)
    low, high = 0, LONGEST_US // STEP_US
    while high - low > 1:
        middle = (low + high) // 2
        # More delay, less load, fewer drops.
        if measure(middle).rate > sc.DROP_TARGET:
            low = middle
        else:
            high = middle
    best = min((measure(low), measure(high)), key=lambda t: abs(t.rate - sc.DROP_TARGET))
    return [*(t for t in trials.values() if t != best), best]


def _measure(
    runs: Runs, reading: str, progress: Progress | None, trials: dict[int, Trial]
) -> Callable[[int], Trial]:
    def measure(steps: int) -> Trial:
        if steps not in trials:
            delay_us = steps * STEP_US
            flows = trial_flows(delay_us)
            runs.make(flows, progress)
            trials[steps] = Trial(
                reading, delay_us, wired_drops(runs, flows), own_drops(runs, flows)
            )
        return trials[steps]

    return measure
