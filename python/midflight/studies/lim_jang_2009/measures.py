"""The measures of the claims and figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from midflight.claims import Check, at_least, between, percent
from midflight.results import Estimate, EventLog, Ratio, mean_ci, ratio_ci
from midflight.studies.lim_jang_2009 import scenarios as sc
from midflight.studies.runs import Flow, Radio, Runs


def throughput_bps(runs: Runs, job: Flow, after: bool) -> NDArray[np.float64]:
    """Acknowledged data over the 250 s before or after the handover, in bit/s, for each run."""
    intervals = (sc.PAUSE, sc.AFTER) if after else (sc.BEFORE,)
    seconds = sc.END_S - sc.AT_S if after else sc.AT_S
    bits = int(dict(job.knobs)["segment_bytes"]) * 8
    return runs.flow(job).total("acked", *intervals) * bits / seconds


def share(runs: Runs, job: Flow, after: bool) -> Estimate:
    """Throughput as a share of the radio link's bandwidth then in force, with a 95 % interval."""
    radio: Radio | None = job.then if after else job.radio
    assert radio is not None
    return mean_ci(throughput_bps(runs, job, after) / (radio.kbps * 1000))


def gain(runs: Runs, better: Flow, worse: Flow, after: bool) -> Ratio:
    """Mean throughput over that of another scheme, minus one, with a 95 % interval."""
    return ratio_ci(throughput_bps(runs, better, after), throughput_bps(runs, worse, after))


def ratio_text(ratio: Ratio) -> str:
    """A gain in per cent with its interval."""
    interval = f"[{100 * ratio.low:+.1f}, {100 * ratio.high:+.1f}]"
    return f"{100 * ratio.value:+.1f} % {interval}"


def gain_at_least(what: str, ratio: Ratio, low: float) -> Check:
    """Passes when the gain is at least `low`."""
    return at_least(what, ratio.value, low, lambda _: ratio_text(ratio))


def gain_between(what: str, ratio: Ratio, low: float, high: float) -> Check:
    """Passes when the gain lies between `low` and `high`."""
    return between(what, ratio.value, low, high, lambda _: ratio_text(ratio))


def estimate_text(estimate: Estimate) -> str:
    """A share in per cent with the half width of its 95 % interval."""
    return f"{100 * estimate.mean:.1f} \N{PLUS-MINUS SIGN} {100 * estimate.half_width:.1f} %"


def kbps_text(runs: Runs, job: Flow, after: bool) -> str:
    """Throughput in kbit/s with its 95 % interval."""
    estimate = mean_ci(throughput_bps(runs, job, after) / 1000)
    return f"{estimate.mean:.0f} \N{PLUS-MINUS SIGN} {estimate.half_width:.0f} kbit/s"


def own_drops(runs: Runs, jobs: Iterable[Flow]) -> float:
    """The share of the flow's own packets that the wired queue drops."""
    tables = [runs.flow(job) for job in jobs]
    dropped = sum(t.total("drops_wired").sum() for t in tables)
    return float(dropped / sum(t.total("sent").sum() for t in tables))


def wired_drops(runs: Runs, jobs: Iterable[Flow]) -> float:
    """The share of all packets that the wired queue drops, the pause left out."""
    tables = [runs.flow(job) for job in jobs]
    names = ("wired_dropped", "wired_offered")
    dropped, offered = (
        sum(t.total(name, sc.BEFORE, sc.AFTER).sum() for t in tables) for name in names
    )
    return float(dropped / offered)


# The loss differentiation, RTT by RTT.


def base_rtt_s(radio: Radio) -> float:
    """Round trip of a segment over the wired link and an idle radio link, in seconds."""
    links = ((radio.kbps, radio.ms), sc.WIRED[:2])
    bits = sc.SEGMENT_BITS + sc.ACK_BITS
    return sum(2 * ms / 1000 + bits / (kbps * 1000) for kbps, ms in links)


class Samples:
    """RTTs of segments sent after the first timeout of a handover, as a classifier saw them."""

    def __init__(self, log: EventLog, second: Radio, pause_end_s: float) -> None:
        timeouts = log.of("rto")
        first = float(timeouts.time_s[0]) if len(timeouts) else pause_end_s
        rtt = log.of("ld_rtt")
        threshold = log.of("ld_threshold")
        least = log.of("ld_min")
        new = (rtt.time_s - rtt.value >= first) & (rtt.time_s >= pause_end_s)
        self.time_s = rtt.time_s[new]
        self.rtt_s = rtt.value[new]
        self.least_s = least.value[new]
        self.congested = (rtt.value > threshold.value)[new]
        self.base_s = base_rtt_s(second)
        assert second.limit > 0
        full = self.base_s + (second.limit - 1) * sc.SEGMENT_BITS / (second.kbps * 1000)
        #: Ground truth where it is beyond doubt: an idle queue, and a full one.
        self.is_idle = self.rtt_s <= 1.1 * self.base_s
        self.is_full = self.rtt_s >= 0.9 * full

    def __len__(self) -> int:
        return len(self.rtt_s)

    def misclassified(self, count: int) -> float:
        """The share of wrong opinions where the truth is beyond doubt, among the first `count`."""
        idle, full = self.is_idle[:count], self.is_full[:count]
        wrong = (idle & self.congested[:count]) | (full & ~self.congested[:count])
        known = int((idle | full).sum())
        return float(wrong.sum() / known) if known else float("nan")

    def settles_s(self) -> float:
        """How long after the first RTT T_min is within 10 % of the idle round trip, in seconds."""
        settled = np.flatnonzero(self.least_s <= 1.1 * self.base_s)
        return float(self.time_s[settled[0]] - self.time_s[0]) if len(settled) else float("inf")


def samples(runs: Runs, to_wlan: bool, scheme: str, **knobs: str) -> Samples:
    """The samples of a scheme's loss differentiation after the handover of figure 2 or 3."""
    job = sc.indicators(to_wlan, scheme, **knobs)
    assert isinstance(job.flow, Flow)
    assert job.flow.then is not None
    return Samples(runs.trace(job), job.flow.then, sc.LD_AT_S + sc.LD_PAUSE_S)


def transitions(log: EventLog) -> Iterator[str]:
    """The changes of state in a trace: `from -> to: trigger`."""
    yield from log.of("state").detail.tolist()


def accuracy(confusion: NDArray[np.float64]) -> float:
    """The share of congestion losses taken for congestion, among those classified."""
    answered = confusion[0, :3].sum()
    return float(confusion[0, 0] / answered) if answered else float("nan")


__all__ = [
    "Samples",
    "accuracy",
    "base_rtt_s",
    "estimate_text",
    "gain",
    "gain_at_least",
    "gain_between",
    "kbps_text",
    "own_drops",
    "percent",
    "ratio_text",
    "samples",
    "share",
    "throughput_bps",
    "transitions",
    "wired_drops",
]
