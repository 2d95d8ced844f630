"""The measures of the claims and figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from midflight.claims import Check, at_least, below, between
from midflight.results import Estimate, EventLog, Ratio, difference_ci, mean_ci, ratio_ci
from midflight.studies.izumikawa_ehn import scenarios as sc
from midflight.studies.runs import Roaming, Runs

Values = NDArray[np.float64]


def throughput_bps(runs: Runs, job: Roaming, node: int = 0) -> Values:
    """Acknowledged data of a node over the whole run, in bit/s, for each run."""
    bps: Values = runs.roaming(job).total("acked", node) * (sc.SEGMENT_BITS / job.end_s)
    return bps


def kbps(runs: Runs, job: Roaming) -> Estimate:
    """The mobile node's throughput in kbit/s with its 95 % interval."""
    return mean_ci(throughput_bps(runs, job) / 1000)


def gain(runs: Runs, better: Roaming, worse: Roaming) -> Ratio:
    """Mean throughput over that of another scheme, minus one, with a 95 % interval."""
    return ratio_ci(throughput_bps(runs, better), throughput_bps(runs, worse))


def at_station_bps(runs: Runs, job: Roaming, station: int | None, fixed: bool) -> Values:
    """Throughput of the nodes at a station (from 0; None: at all), in bit/s, for each run.

    Of the mobile node while it is there, or the mean of the fixed nodes there.
    """
    table = runs.roaming(job)
    here = table["node"] > 0 if fixed else table["node"] == 0
    if station is not None:
        here = here & (table["station"] == station)
    seconds = (table["until_ns"] - table["from_ns"]) / 1e9
    bits = table["acked"] * sc.SEGMENT_BITS
    total = np.where(here, seconds, 0.0).sum(axis=(1, 2))
    carried = np.where(here, bits, 0.0).sum(axis=(1, 2))
    bps: Values = np.full(len(table), np.nan)
    np.divide(carried, total, out=bps, where=total > 0)
    return bps


def total(runs: Runs, job: Roaming, name: str) -> float:
    """A column of the mobile node added up over all runs."""
    return float(runs.roaming(job).total(name).sum())


def per_run(runs: Runs, job: Roaming, name: str) -> float:
    """A column of the mobile node, the mean of all runs."""
    return float(runs.roaming(job).total(name).mean())


def same_runs(runs: Runs, one: Roaming, other: Roaming) -> int:
    """The number of runs that are identical."""
    pairs = zip(runs.roaming(one).digests(), runs.roaming(other).digests(), strict=True)
    return sum(a == b for a, b in pairs)


def ratio_text(ratio: Ratio) -> str:
    """A gain in per cent with its interval."""
    interval = f"[{100 * ratio.low:+.1f}, {100 * ratio.high:+.1f}]"
    return f"{100 * ratio.value:+.1f} % {interval}"


def gain_at_least(what: str, ratio: Ratio, low: float) -> Check:
    """Passes when the gain is at least `low`."""
    return at_least(what, ratio.value, low, lambda _: ratio_text(ratio))


def gain_above(what: str, ratio: Ratio) -> Check:
    """Passes when the whole interval of the gain is above zero."""
    return below(what, -ratio.low, 0.0, lambda _: ratio_text(ratio))


def gain_between(what: str, ratio: Ratio, low: float, high: float) -> Check:
    """Passes when the gain lies between `low` and `high`."""
    return between(what, ratio.value, low, high, lambda _: ratio_text(ratio))


def kbps_text(estimate: Estimate) -> str:
    """A throughput in kbit/s with the half width of its 95 % interval."""
    return f"{estimate.mean:.0f} \N{PLUS-MINUS SIGN} {estimate.half_width:.0f}"


def resent_share(runs: Runs, job: Roaming) -> float:
    """Segments sent for each one acknowledged, minus one."""
    return total(runs, job, "sent") / total(runs, job, "acked") - 1


def ack_ahead_of_data(log: EventLog) -> int:
    """ACKs that the sender got of a segment that the node did not have in order by then."""
    have: set[int] = set()
    next_segment, ahead = 0, 0
    for event in log.of("rcv", "ack").events():
        number = int(event.value)
        if event.kind == "rcv":
            have.add(number)
            while next_segment in have:
                have.remove(next_segment)
                next_segment += 1
        else:
            ahead += number >= next_segment
    return ahead


__all__ = [
    "Values",
    "ack_ahead_of_data",
    "at_station_bps",
    "difference_ci",
    "gain",
    "gain_above",
    "gain_at_least",
    "gain_between",
    "kbps",
    "kbps_text",
    "per_run",
    "ratio_text",
    "resent_share",
    "same_runs",
    "throughput_bps",
    "total",
]
