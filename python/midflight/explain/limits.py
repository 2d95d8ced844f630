"""What limited a flow most of the time, measured over a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight.explain.path import NS_PER_S, PathSamples, Values
from midflight.explain.words import link_text, to_ms

if TYPE_CHECKING:
    from midflight.explain.arrivals import FlowEvents, RunEvents

__all__ = [
    "Held",
    "Limit",
    "buffer_setting",
    "held_by_receiver",
    "limit_of",
    "long_uses",
    "stall_within",
]

#: A link that was in use for this share of the time of a flow has a sentence of its own.
_LONG = 0.25
#: The flight is at its plateau if it was that within a round trip, to so many segments, and the
#: congestion window was this many times as large.
_AT_PLATEAU, _ABOVE_PLATEAU = 2, 1.1
#: A window that stands still for so many round trips, of which never more than this share is in
#: flight, has no effect either.
_STILL_WINDOW_TRIPS, _UNFILLED = 10, 0.98
#: It stops at the largest flight that it has for this share of that time, to so few segments.
_LEAST_STOPPED = 0.1
#: It is told if it was that for this share of a time.
_LEAST_HELD = 0.3
#: From this share on it was most of the time.
_MOST, _MOSTLY = 0.5, "most of the time"

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
#: A stall longer than this share of the time, and so many round trips, has its own reasons; so have
#: several together, and a link without a rate for so long.
_MOST_STILL = 0.15
_STILL_TRIPS = 3
#: A time in a queue that is worth a word.
_LEAST_WAIT_NS = 2e6
#: Means of a queue's length in time that are nearer to each other than this are the same.
_LIKE = 0.15
#: A flow that is shorter than these round trips is limited by nothing most of the time.
_LEAST_TRIPS = 10
#: Where packets are lost, by the causes in the events.
_WHERE = {
    "queue": "at queues",
    "radio": "by the radio",
    "break": "to links that were down",
    "node": "at nodes",
}


class Limit(NamedTuple):
    """What limited a flow in a time, in a sentence, and when: "" if for most of it."""

    when: str
    what: str

    def said(self, link: str) -> str:
        """The sentence with when it holds, after the words on the time on a `link`, if any."""
        begin = link or ("" if self.when else _MOSTLY)
        return ": ".join(filter(None, (begin, ", ".join(filter(None, (self.when, self.what))))))

    def when_on(self, link: str) -> str:
        """When it holds, with these words."""
        return ", ".join(filter(None, (link, self.when))) or _MOSTLY


def limit_of(
    run: RunEvents,
    flow: str,
    span: tuple[int, int],
    path: PathSamples,
    *,
    stall_ns: int = 0,
    is_alone: bool = True,
    setting: str = "",
) -> Limit | None:
    """Return what limited a flow between two instants; None if that is not known.

    `path` has the links in the flow's direction. A flow of an application is limited by that.
    Unless `is_alone`, the links have cross traffic, and only a full link and the receiver's window
    are told; also if stalls, of which `stall_ns` is the longest, or times without a rate are much
    of the time. `setting` is the one that sets the receiver's window, if that is known.
    """
    info = run.flows[flow]
    if info["workload"] not in (None, "", "bulk") or not info["moves"]:
        return None
    begin, end = span
    could = path.bits(begin, end)
    if not np.isfinite(could) or could <= 0:
        return None
    events = run.of(flow)
    if events.has_paths:
        return None
    # What passed the link while it is counted what it could carry.
    passing = path.passing(begin, end)
    ours = events.bits_of(passing)
    others = run.bits_of(info["direction"], passing) - ours
    links = " and ".join(map(link_text, path.links(begin, end)))
    lost, sent = events.lost_within(*span), events.sent_within(*span)
    if ours + others >= _FULL * could:
        rate_bps = could / (end - begin) * NS_PER_S
        share = f"{ours / could:.0%}"
        said = (
            f"the link was the limit: {share} of what {links} could carry, with headers, was this "
            "flow's"
        )
        if others >= _LEAST_OTHER * could:
            said += f", and {(ours + others) / could:.0%} that of all flows together"
        held = _held_on(run, flow, span, path)
        with_room = "" if held is None else _full_window(held, span, setting)
        each = said, _queue(path, span, rate_bps), with_room, _losses(lost)
        return Limit("", "; ".join(filter(None, each)))
    since = _flows_from(run, flow, span, path)
    sampled = _Samples.of(path, flow, since, end)
    if not sampled.are_known:
        return None
    _, cwnd, threshold, flight, trip = sampled
    of_use = f"{ours / could:.0%} of what {links} could carry, with headers"
    held = _held_on(run, flow, span, path)
    if held is not None:
        return _of_receiver(held, span, of_use, setting)
    if path.wired_bps < np.nanmax(path.rate_bps) or not is_alone:
        return None
    if (
        stall_ns > max(_MOST_STILL * (end - begin), _STILL_TRIPS * float(np.nanmax(trip)))
        or path.idle_share(begin, end) > _MOST_STILL
        or _still_share(events, span, float(np.nanmedian(trip))) > _MOST_STILL
    ):
        return None
    could_rate = could / (end - begin) * NS_PER_S / 1e6
    of_link = f"{links} could carry {could_rate:.3g} Mbit/s"
    grows = (np.diff(cwnd) >= 0).all() and int(np.argmax(cwnd)) > len(cwnd) // 2
    if not sum(lost.values()) and grows and (cwnd < threshold).all() and not _is_paced(info):
        if end - begin < _LEAST_TRIPS * float(np.nanmean(trip)):
            return None
        return Limit(
            "",
            f"the slow start was the limit: it lasted until the end, and the window grew to "
            f"{cwnd[-1]:,.0f} segments; the flow used {of_use}",
        )
    trips = events.trips_of(begin, end)
    if not len(trips):
        return None
    rate = 8 * info["payload_bytes"] * np.mean(cwnd) / np.mean(trips) * NS_PER_S
    goodput = ours / (end - since) * NS_PER_S
    if abs(rate / goodput - 1) > _NEAR or np.mean(flight) < _LEAST_FLIGHT * np.mean(cwnd):
        return None
    when = f" from {to_ms(since)} on" if since - begin > _MOST_STILL * (end - begin) / 2 else ""
    window = (
        f"{np.mean(cwnd):.3g} segments on average{when}, with a round trip of "
        f"{np.mean(trips) / 1e6:.3g} ms; {goodput / 1e6:.3g} Mbit/s arrived, with headers, while "
        f"{of_link}"
    )
    is_radio = lost["radio"] >= max(_LEAST_LOST, _MOST_LOST * sum(lost.values()))
    if is_radio and sent:
        return Limit(
            "",
            f"losses on the link were probably the limit: {lost['radio']:,} of {sent:,} packets "
            f"({lost['radio'] / sent:.1%}) were lost by the radio; the window had {window}"
            + (f"; {others_lost}" if (others_lost := _losses(lost | {"radio": 0})) else ""),
        )
    said = f"the congestion window was the limit: {window}"
    return Limit("", "; ".join(filter(None, (said, _losses(lost)))))


class Held(NamedTuple):
    """From when to when the receiver's window was the limit of what was in flight, for which share
    of that time, at how many segments the sender stopped, the congestion window on average, and
    whether more were never in flight.
    """

    since_ns: int
    until_ns: int
    share: float
    flight: float
    cwnd: float
    is_most: bool = True

    def when(
        self, span: tuple[int, int], share: float = _MOST_STILL / 2
    ) -> tuple[int | None, int | None]:
        """From when and until when it was in a time; None of an end that it has with that, but for
        a share of it.
        """
        few = share * (span[1] - span[0])
        since = self.since_ns if self.since_ns - span[0] > few else None
        return since, self.until_ns if span[1] - self.until_ns > few else None


class _Samples(NamedTuple):
    """The states of a sender at intervals."""

    time_ns: NDArray[np.int64]
    cwnd: Values
    ssthresh: Values
    flight: Values
    trip_ns: Values

    @classmethod
    def of(cls, path: PathSamples, flow: str, begin_ns: int, end_ns: int) -> _Samples:
        """Those of a flow from one instant to another."""
        table = path.senders
        time = np.asarray(table.numpy("time_ns"), np.int64)
        rows = (np.array(table.column("flow")) == flow) & (time >= begin_ns) & (time <= end_ns)
        names = ("cwnd", "ssthresh", "flight", "srtt_ns")
        columns = [np.asarray(table.numpy(name), np.float64)[rows] for name in names]
        return cls(time[rows], *columns)

    @property
    def are_known(self) -> bool:
        """Whether there are enough of them, with windows and round trips."""
        known = len(self.cwnd) >= 10 and np.isfinite(self.cwnd).all()
        return bool(known and np.isfinite(self.trip_ns).any())


def _is_paced(info: Mapping[str, Any]) -> bool:
    """Whether the pace of a flow keeps its flight below its window, as that of BBR does."""
    return "bbr" in info["scheme"].lower()


def _flows_from(run: RunEvents, flow: str, span: tuple[int, int], path: PathSamples) -> int:
    """From when on data flow in a time. After a handoff the window may be that of a timeout, and
    the round trip that of the old link, until they do.
    """
    first = run.of(flow).first_of(path.passing(*span))
    return span[0] if first is None else max(span[0], first)


def held_by_receiver(
    run: RunEvents, flow: str, span: tuple[int, int], path: PathSamples
) -> list[Held]:
    """Return when the receiver's window was the limit of what was in flight, on each link that a
    flow used for long between two instants; also on one that is full.
    """
    info = run.flows[flow]
    if info["workload"] not in (None, "", "bulk") or not info["moves"] or _is_paced(info):
        return []
    each = (_held_on(run, flow, within, path) for _, within in long_uses(path, span))
    return [one for one in each if one is not None]


def _held_on(run: RunEvents, flow: str, span: tuple[int, int], path: PathSamples) -> Held | None:
    """Return when the receiver's window was the limit, if for much of the time between two
    instants; None if it was not, or of a flow with several paths or a pace.
    """
    sampled = _Samples.of(path, flow, *span)
    # Its events need another run, which few flows are worth.
    has_room = sampled.flight <= _UNFILLED * sampled.cwnd
    if not sampled.are_known or np.mean(has_room) < _LEAST_HELD or _is_paced(run.flows[flow]):
        return None
    if run.of(flow).has_paths:
        return None
    sampled = _Samples.of(path, flow, _flows_from(run, flow, span, path), span[1])
    return _held(sampled, span) if sampled.are_known else None


def _held(sampled: _Samples, span: tuple[int, int]) -> Held | None:
    """Return the same by samples of the sender. No more than a number of segments is in flight,
    which is reached in each round trip, while the congestion window has room for more; or that
    window, which grows only if it is filled, stands still for many round trips.
    """
    time, cwnd, _, flight, trip = sampled
    plateau = float(flight.max())
    at_it = time[flight >= plateau - _AT_PLATEAU]
    last = at_it[np.maximum(np.searchsorted(at_it, time, side="right") - 1, 0)]
    is_at_it = (time >= last) & (time - last <= trip) & (cwnd > _ABOVE_PLATEAU * plateau)
    # Each change of the window, and each filled one, begins another time in which it stands still.
    begins = (np.diff(cwnd, prepend=np.nan) != 0) | (flight > _UNFILLED * cwnd)
    edges = np.append(np.flatnonzero(begins), len(time) - 1)
    least = _STILL_WINDOW_TRIPS * float(np.nanmedian(trip))
    is_still = (np.diff(time[edges]) > least)[np.cumsum(begins) - 1]
    is_still &= flight <= _UNFILLED * cwnd
    for is_held in (is_at_it, is_still):
        if np.mean(is_held) * (time[-1] - time[0]) > _LEAST_HELD * (span[1] - span[0]):
            since, until = int(time[is_held][0]), int(time[is_held][-1])
            # The last data of a short flow are in flight for a round trip or two.
            if until - since < least:
                continue
            stop, is_most = _stop(flight[is_held])
            within = is_held[(time >= since) & (time <= until)]
            mean = float(np.mean(cwnd[is_held]))
            return Held(since, until, float(np.mean(within)), stop, mean, is_most)
    return None


def _stop(flight: Values) -> tuple[float, bool]:
    """Return at which flight a sender stops, and whether it never has a larger one: the segments
    behind a gap may add to it for an instant. Without a flight that lasts it is the largest one.
    """
    ordered = np.sort(flight)
    first = np.searchsorted(ordered, ordered - _AT_PLATEAU, side="left")
    lasting = ordered[np.arange(1, len(ordered) + 1) - first >= _LEAST_STOPPED * len(ordered)]
    most = float(ordered[-1])
    if not len(lasting):
        return most, True
    if most - lasting[-1] <= _AT_PLATEAU:
        return most, True
    near = (ordered >= lasting[-1] - _AT_PLATEAU) & (ordered <= lasting[-1])
    return float(np.median(ordered[near])), False


def _when(held: Held, span: tuple[int, int]) -> str:
    """When the receiver's window was the limit in a time; "" if for most of it."""
    since, until = held.when(span)
    words = "" if since is None else f"from {to_ms(since)} on"
    if until is not None:
        words = f"from {to_ms(held.since_ns)} to {to_ms(until)}"
    some = f"for {held.share:.0%} of the time" if held.share < _MOST else ""
    return " ".join(filter(None, (words, some)))


def _of_receiver(held: Held, span: tuple[int, int], of_use: str, setting: str) -> Limit:
    """Return that the receiver's window was the limit in a time, and what a flow used."""
    is_later = held.when(span)[0] is not None
    grown = "; before, the congestion window was smaller; in all of that time" if is_later else ";"
    sets = f" (`{setting}` sets it)" if setting else ""
    stops = f"no more than {held.flight:,.0f} segments were in flight"
    if not held.is_most:
        stops = f"the sender stopped at {held.flight:,.0f} segments in flight"
    return Limit(
        _when(held, span),
        f"probably the receiver's window was the limit{sets}: {stops}, while the congestion window "
        f"had room for "
        f"{held.cwnd:,.0f} on average{grown} the flow used {of_use}",
    )


def _full_window(held: Held, span: tuple[int, int], setting: str) -> str:
    """Return that the receiver's window was the limit of what a full link and its queue had."""
    sets = f" (`{setting}` sets it)" if setting else ""
    words = " ".join(filter(None, ("probably the receiver's window", _when(held, span))))
    return f"{words} was the limit of what was in flight{sets}, {held.flight:,.0f} segments"


def buffer_setting(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> str:
    """Return the setting of the receiver's window of a flow of a scenario; "" of a stack's."""
    if flow.get("stack") not in (None, "midflight"):
        return ""
    profile = flow.get("profile") or scenario["profile"]
    return {"linux": "tcp_rmem_max", "quic": ""}.get(profile, "receiver_window")


def long_uses(path: PathSamples, span: tuple[int, int]) -> list[tuple[str, tuple[int, int]]]:
    """Return the times within a span in which the flows were on one link for long, or else the
    longest one, and when each was in words; if there is only one link, the span and "".
    """
    used = [
        (max(begin, span[0]), min(end, span[1]), name)
        for begin, end, name in path.used
        if name and begin < span[1] and end > span[0]
    ]
    if len({name for *_, name in used}) < 2:
        return [("", span)]
    long = [one for one in used if one[1] - one[0] >= _LONG * (span[1] - span[0])]
    found = []
    for begin, end, name in long or [max(used, key=lambda one: one[1] - one[0])]:
        # A flow may open long after the start of the run.
        part, length = (f"{(b - a) / 1e9:.3g} s" for a, b in ((begin, end), span))
        on = f"from {to_ms(begin)} to {to_ms(end)} on {link_text(name)}"
        found.append((f"for {part} of its {length}, {on}", (begin, end)))
    return found


def stall_within(stall: tuple[int, int], span: tuple[int, int]) -> int:
    """Return the part of a stall that is within a span."""
    return max(0, min(stall[1], span[1]) - max(stall[0], span[0]))


def _losses(lost: Mapping[str, int]) -> str:
    """Return how many packets were lost where; "" without a cause that has more than a few."""
    found = [f"{lost[one]:,} {where}" for one, where in _WHERE.items() if lost[one] >= _LEAST_LOST]
    if not found:
        return ""
    count, where = found[0].split(" ", 1)
    return " and ".join([f"{count} packets were lost {where}", *found[1:]])


def _still_share(events: FlowEvents, span: tuple[int, int], trip_ns: float) -> float:
    """The share of the time in which nothing arrived for several round trips."""
    begin, end = span
    times = events.arrived_ns
    gaps = np.diff(np.concatenate([[begin], times[(times > begin) & (times < end)], [end]]))
    return float(gaps[gaps > _STILL_TRIPS * trip_ns].sum()) / (end - begin)


def _queue(path: PathSamples, span: tuple[int, int], rate_bps: float) -> str:
    """Return what waited at the links in use on average, and how long that takes at their mean
    rate; "" if it was little. A queue at a rate that varies may last much longer on average.
    """
    within = (path.time_ns >= span[0]) & (path.time_ns <= span[1]) & np.isfinite(path.wait_ns)
    if not within.any() or (wait := float(np.mean(path.wait_ns[within]))) < _LEAST_WAIT_NS:
        return ""
    packets = float(np.mean(path.packets[within]))
    # The bits that waited, which are what the wait is of at the rate of each sample.
    bits = float(np.mean((path.wait_ns * path.rate_bps)[within])) / NS_PER_S
    mean_ms = bits / rate_bps * 1e3
    count = f"{packets:,.0f}" if packets >= 1000 else f"{packets:.3g}"
    said = f"its queue had {count} packets on average, which is {mean_ms:.3g} ms at "
    if abs(wait / 1e6 / mean_ms - 1) < _LIKE:
        return f"{said}the link's rate"
    return (
        f"{said}the link's mean rate of {rate_bps / 1e6:.3g} Mbit/s, and more where the link was "
        "slower"
    )
