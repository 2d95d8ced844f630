"""What limited a flow most of the time, measured over a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from midflight.explain.path import NS_PER_S, PathSamples, Values
from midflight.explain.words import link_text

if TYPE_CHECKING:
    from midflight._core import Setup, Table

__all__ = ["limit_of"]

#: Flows that use this share of a link together are limited by it.
_FULL = 0.85
#: Another flow with less of the link is not named.
_LEAST_OTHER = 0.02
#: Losses from which on they are a reason, and their share of all.
_LEAST_LOST, _MOST_LOST = 3, 0.8
#: Window / RTT explains a goodput that is within this share of it.
_NEAR = 0.25
#: A window is in use if so much of it is in flight on average.
_LEAST_FLIGHT = 0.6
#: A stall longer than this share of the time, and so many round trips, has its own reasons.
_MOST_STILL = 0.15
_STILL_TRIPS = 3
#: A time in a queue that is worth a word.
_LEAST_WAIT_NS = 2e6
#: Events of flows with several paths, whose link in use is not one.
_PATHS = ("path_opened", "path_used")


def limit_of(
    setup: Setup,
    flow: str,
    span: tuple[int, int],
    path: PathSamples,
    *,
    stall_ns: int = 0,
    is_alone: bool = True,
) -> str:
    """Return in a sentence what limited a flow between two instants; "" if that is not known.

    `path` has the links in the flow's direction. A flow of an application is limited by that.
    Unless `is_alone`, the links have cross traffic, and only a full link is told; also if the
    longest stall, `stall_ns`, is much of the time.
    """
    infos = {one["name"]: one for one in setup.flows}
    info = infos[flow]
    if info["workload"] not in (None, "", "bulk") or not info["moves"]:
        return ""
    begin, end = span
    could = path.bits(begin, end)
    names = ("rcv", "drop", "send", "rexmit", *_PATHS)
    trace = setup.trace(flow=flow, only=list(names))
    events = np.array(trace.column("event"))
    if not np.isfinite(could) or could <= 0 or np.isin(events, _PATHS).any():
        return ""
    ours = _bits(trace, events, span)
    others = sum(
        _bits(other, np.array(other.column("event")), span)
        for name, one in infos.items()
        if name != flow and one["moves"] and one["direction"] == info["direction"]
        for other in [setup.trace(flow=name, only=["rcv"])]
    )
    links = " and ".join(map(link_text, path.links(begin, end)))
    packets, causes = np.array(trace.column("packet")), np.array(trace.column("cause"))
    lost = {
        cause: int(np.sum((packets == "data") & (causes == cause)))
        for cause in ("queue", "radio", "break", "node")
    }
    at_queue = f"{lost['queue']} packets were lost at queues" if lost["queue"] else ""
    if ours + others >= _FULL * could:
        share = f"{ours / could:.0%}"
        said = f"the link was the limit: {share} of what {links} could carry was this flow's"
        if others >= _LEAST_OTHER * could:
            said += f", and {(ours + others) / could:.0%} that of all flows together"
        return "; ".join(one for one in (said, _queue(path, span), at_queue) if one)
    if path.wired_bps < np.nanmax(path.rate_bps) or not is_alone:
        return ""
    sent = int(np.isin(events, ("send", "rexmit")).sum())
    rows = np.array(path.senders.column("flow")) == flow
    time = path.senders.numpy("time_ns")[rows]
    within = (time >= begin) & (time <= end)
    cwnd, threshold, flight, trip = (
        np.asarray(path.senders.numpy(name), np.float64)[rows][within]
        for name in ("cwnd", "ssthresh", "flight", "srtt_ns")
    )
    if len(cwnd) < 10 or not np.isfinite(cwnd).all() or not np.isfinite(trip).any():
        return ""
    if stall_ns > max(_MOST_STILL * (end - begin), _STILL_TRIPS * float(np.nanmax(trip))):
        return ""
    of_link = f"{could / (end - begin) * NS_PER_S / 1e6:.3g} Mbit/s of {links}"
    plateau = float(np.max(flight))
    if np.mean((flight >= plateau - 2) & (cwnd > 1.2 * plateau)) > 0.5:
        return (
            f"not the congestion window was the limit, but probably the receiver's: never more "
            f"than {plateau:.0f} segments were in flight, and the congestion window was "
            f"{np.mean(cwnd):.0f} on average"
        )
    grows = (np.diff(cwnd) >= 0).all() and int(np.argmax(cwnd)) > len(cwnd) // 2
    if (
        not sum(lost.values())
        and grows
        and (cwnd < threshold).all()
        and "bbr" not in info["scheme"]
    ):
        return (
            f"the slow start was the limit: it lasted until the end, and the window grew to "
            f"{cwnd[-1]:.0f} segments; the flow used {ours / could:.0%} of what {links} could carry"
        )
    rate = _window_rate(cwnd, trip, info["payload_bytes"])
    goodput = ours / (end - begin) * NS_PER_S
    if (
        not np.isfinite(rate)
        or abs(rate / goodput - 1) > _NEAR
        or np.mean(flight) < _LEAST_FLIGHT * np.mean(cwnd)
    ):
        return ""
    window = (
        f"window was {np.mean(cwnd):.3g} segments on average, and that in each round trip of "
        f"{np.nanmean(trip) / 1e6:.3g} ms is {rate / 1e6:.3g} Mbit/s, where the link had {of_link}"
    )
    is_radio = lost["radio"] >= max(_LEAST_LOST, _MOST_LOST * sum(lost.values()))
    if is_radio and sent:
        return (
            f"losses on the link were probably the limit: {lost['radio']} of {sent} packets "
            f"({lost['radio'] / sent:.1%}) were lost by the radio; the {window}"
        )
    return "; ".join(one for one in (f"the window was the limit: the {window}", at_queue) if one)


def _window_rate(cwnd: Values, trip: Values, payload_bytes: int) -> float:
    """A window of data in each round trip, in bit/s."""
    known = np.isfinite(trip) & (trip > 0)
    if not known.any():
        return float("nan")
    return float(8 * payload_bytes * np.mean(cwnd) / np.mean(trip[known]) * NS_PER_S)


def _bits(trace: Table, events: np.ndarray, span: tuple[int, int]) -> float:
    """What arrived of a flow between two instants, with headers."""
    time = trace.numpy("time_ns")
    sizes = np.array([float(one or 0) for one in trace.column("bytes")])
    return 8 * float(sizes[(events == "rcv") & (time >= span[0]) & (time <= span[1])].sum())


def _queue(path: PathSamples, span: tuple[int, int]) -> str:
    """What waited at the links in use on average; "" if it was little."""
    within = (path.time_ns >= span[0]) & (path.time_ns <= span[1]) & np.isfinite(path.wait_ns)
    if not within.any() or (wait := float(np.mean(path.wait_ns[within]))) < _LEAST_WAIT_NS:
        return ""
    packets = float(np.mean(path.packets[within]))
    return f"its queue had {packets:.3g} packets on average, {wait / 1e6:.3g} ms at the link's rate"
