"""Data that still arrive over the link before a handoff, when the node is on the next one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from midflight.plot.over_time.history import NS_PER_S, History

if TYPE_CHECKING:
    from midflight.plot.over_time.curves import WatchedRun

__all__ = ["cuts_of_arrivals", "cuts_of_round_trips", "drains"]

#: An interval begins with its first edge.
_AFTER_S = 1 / NS_PER_S
#: Samples of the RTT may be whole microseconds.
_ROUNDED_S = 1e-6


def cuts_of_arrivals(run: WatchedRun, flow: History, least_s: float = np.inf) -> list[float]:
    """The cuts of a run, in seconds, for means of the data of a flow that arrive: where the last
    data over the old link arrive after a handoff, the cut is there, and also at the handoff if that
    is at least `least_s` before: data of both links are a throughput of their own.
    """
    drained = {make: at for make, at, _ in drains(run, flow)}
    own = [one for one in run.cuts if drained.get(one, one) - one >= least_s]
    return sorted({*own, *(drained.get(one, one) for one in run.cuts)})


def cuts_of_round_trips(run: WatchedRun, flow: History) -> list[float]:
    """The same for the samples of the RTT: the cut is where the last ACK over the old link arrives,
    which is that of the data before the last before the handoff: that of the last may be delayed.
    """
    at = flow.times("rtt_sample") / NS_PER_S
    sent = at - flow.values("rtt_sample")
    drained = {make: before for make, _, before in drains(run, flow)}
    cuts = []
    for one in run.cuts:
        old = at[(at > one) & (sent < drained.get(one, 0.0) - _ROUNDED_S)]
        cuts.append(float(old[-1]) + _AFTER_S if len(old) else one)
    return sorted(cuts)


def drains(run: WatchedRun, flow: History) -> Sequence[tuple[float, float, float]]:
    """What a run keeps of a flow (`_found`)."""
    if flow.flow not in run.drains:
        run.drains[flow.flow] = _found(run, flow)
    return run.drains[flow.flow]


def _found(run: WatchedRun, flow: History) -> list[tuple[float, float, float]]:
    """For each handoff after which data arrive over the old link: when it was, when the last of
    these arrive, and when the data were sent that arrived last before the handoff; in seconds.
    """
    arrived, sent = flow.times("rcv") / NS_PER_S, flow.sent_ns("rcv") / NS_PER_S
    links = flow.link_codes(flow.rows("rcv"))
    # Data of the mobile node itself arrive over the last link, which is no access link; they are in
    # the queue of the access link in use as soon as they are sent.
    is_up = run.direction_of(flow) == "up"
    makes = sorted({one["make_ns"] / NS_PER_S for one in run.setup.path_changes})
    found = []
    for make, until in pairwise([*makes, np.inf]):
        first, end = np.searchsorted(arrived, (make, until), side="right").tolist()
        if not first:
            continue
        is_old = sent[first:end] < make if is_up else links[first:end] == links[first - 1]
        if is_old.any() and not is_old.all():
            last = first + int(np.flatnonzero(is_old)[-1])
            found.append((make, float(arrived[last]) + _AFTER_S, float(sent[first - 1])))
    return found
