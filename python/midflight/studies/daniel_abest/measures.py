"""The measures of the claims and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from midflight.results import EventLog, Quartiles, RunTable
from midflight.studies.daniel_abest.scenarios import AXIS_S
from midflight.studies.runs import Link, Runs, Startup, Sweep

#: Payload of a segment in bytes: 1500 less the headers of IP and TCP (section 4).
PAYLOAD_BYTES = 1460
PACKET_BITS = 12_000


def goodputs_mbps(runs: Runs, job: Startup, packets: int) -> NDArray[np.float64]:
    """The goodput of each flow over its first packets in Mbit/s."""
    each: NDArray[np.float64] = runs.startup(job).goodput_bit_s(packets, PAYLOAD_BYTES) / 1e6
    return each


def goodput_mbps(runs: Runs, job: Startup, packets: int) -> float:
    """The mean goodput of the flows over their first packets in Mbit/s."""
    return float(goodputs_mbps(runs, job, packets).mean())


def drops(runs: Runs, job: Startup) -> int:
    """Data packets lost by the flows until all have the most packets acknowledged."""
    return int(runs.startup(job).total("drops_data"))


def slowest(runs: Runs, job: Sweep) -> RunTable:
    """The runs of a sweep with the times of the slowest flow."""
    return runs.sweep(job).slowest


def transfer(runs: Runs, job: Sweep) -> Quartiles:
    """Quartiles of the slowest flow's transfer time in seconds."""
    return slowest(runs, job).transfer_time


def median_s(runs: Runs, job: Sweep) -> float:
    """Median of the slowest flow's transfer time in seconds."""
    return transfer(runs, job).median


def inside_axis(runs: Runs, jobs: Sequence[Sweep]) -> tuple[int, int, float, float]:
    """Quartiles within the axis of figure 6, all of them, the least and the greatest in seconds."""
    low, high = AXIS_S
    values = [value for job in jobs for value in transfer(runs, job)]
    return sum(low <= v <= high for v in values), len(values), min(values), max(values)


def ideal_s(job: Sweep) -> float:
    """How long the packets of all flows take over the new link at its rate, and one round trip.

    For handoffs without a gap: no sender whose window is empty at the handoff can be faster.
    """
    new = job.cell.new
    sending = job.flows * job.packets * PACKET_BITS / (new.kbps * 1000)
    return sending + 2e-3 * (new.ms + 2 * job.fixed_delay_ms)


def most_timeouts(runs: Runs, job: Sweep) -> NDArray[np.float64]:
    """Timeouts after the handoff of the flow that has the most, for each run."""
    most: NDArray[np.float64] = runs.sweep(job).by_flow("nrto").max(axis=1)
    return most


def unused_s(runs: Runs, job: Sweep) -> float:
    """Median time from the make to the next retransmission, of flows in RTO recovery at the make;
    nan if there is none.
    """
    waits = runs.sweep(job).seconds("unused_ns")
    waits = waits[~np.isnan(waits)]
    return float(np.median(waits)) if waits.size else float("nan")


#: The last hop: a packet at 100 Mbit/s, without delay.
LAST_HOP_NS = 120_000


def queue_limit(log: EventLog, link: Link) -> float:
    """Packets in a link's queue and transmitter at its first loss; nan if it loses none.

    Counted are the packets sent before the lost one, less those that had left the transmitter: they
    leave it before they reach the node, by the delay and the last hop. A packet that leaves at the
    instant of the loss counts as still there; otherwise there would have been room for the lost
    one.
    """
    lost = log.dropped().where(np.char.endswith(log.dropped().detail, "queue"))
    if not len(lost):
        return float("nan")
    sent = log.of("send")
    ahead = int((sent.value < lost.value[0]).sum())
    left_ns = log.of("rcv").time_ns - link.ms * 1_000_000 - LAST_HOP_NS
    return float(ahead - int((left_ns < lost.time_ns[0]).sum()))


# Trains, from the events of a run.

_REPORT = re.compile(r"train (\d+): (.*)")
_SENT = re.compile(r"train (\d+): (\d+) of (\d+)")
_RATE = re.compile(r"([\d.]+) ([kMG]?)bit/s")
_UNIT = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class SentTrain:
    """A measured train: when its segments left and its report arrived, in seconds.

    `rate_bps` is the reported rate in bit/s, nan if a segment was missing.
    """

    sent_s: tuple[float, ...]
    reported_s: float
    rate_bps: float

    @property
    def rates_bps(self) -> NDArray[np.float64]:
        """The rate of each gap."""
        rates: NDArray[np.float64] = PACKET_BITS / np.diff(self.sent_s)
        return rates

    @property
    def rtt_s(self) -> float:
        """Time from the last segment's departure to the report."""
        return self.reported_s - self.sent_s[-1]


def rate_bps(text: str) -> float:
    """A rate in words in bit/s; nan if there is none."""
    found = _RATE.search(text)
    return float(found[1]) * _UNIT[found[2]] if found else float("nan")


def trains(log: EventLog) -> list[SentTrain]:
    """The trains that were reported, in the order in which they were sent."""
    sent: dict[int, list[float]] = {}
    reported: dict[int, tuple[float, float]] = {}
    for event in log.of("send", "rexmit").detailed("train").events():
        if found := _SENT.match(event.detail):
            sent.setdefault(int(found[1]), []).append(event.time_s)
    for event in log.of("ack").detailed("train").events():
        if found := _REPORT.match(event.detail):
            reported.setdefault(int(found[1]), (event.time_s, rate_bps(found[2])))
    return [SentTrain(tuple(sent[n]), *reported[n]) for n in sorted(sent) if n in reported]
