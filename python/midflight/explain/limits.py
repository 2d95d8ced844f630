"""What limited a flow most of the time, measured over a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from midflight.explain.bbr import modes_of, probes_of_rtt
from midflight.explain.causes import Samples, cause_of, has_pace
from midflight.explain.path import NS_PER_S, PathSamples, Values
from midflight.explain.use_of_link import FULL, Span, length_of, times_words, uses_of_link
from midflight.explain.words import link_text, short_time, to_ms

if TYPE_CHECKING:
    from midflight.explain.arrivals import FlowEvents, RunEvents

__all__ = [
    "LEAST_WAIT_NS",
    "Flowing",
    "Held",
    "Limit",
    "buffer_setting",
    "has_own_links",
    "held_by_receiver",
    "limit_at",
    "limits_of",
    "long_uses",
    "sentence",
    "use_of",
]

#: A link that was in use for this share of the time of a flow has a sentence of its own.
#: A means' interval asks for less (`main_uses`): of `commute` and `ping-pong` reports would have
#: six or seven sentences for each scheme.
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

#: A time has parts with limits of their own if its link was full for this share of it, and was not
#: for this share.
_LEAST_PART = 0.1
#: Another flow with less of the link is not named.
_LEAST_OTHER = 0.02
#: Losses from which on they are told.
_LEAST_LOST = 3
#: A window that is smaller than this share of the mean for a round trip is not like it.
_SMALLER = 0.5
#: A stall longer than this share of the time, and so many round trips, has its own reasons; so have
#: several together, and a link without a rate for so long.
_MOST_STILL = 0.15
_STILL_TRIPS = 3
#: A time in a queue that is worth a word.
LEAST_WAIT_NS = 2e6
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
    """What limited a flow in a time, in a sentence, and when: "" if for most of it. The first part
    of the sentence has all of its finding unless `is_long`.
    """

    when: str
    what: str
    is_long: bool = False

    @property
    def finding(self) -> str:
        """The finding without its details."""
        return self.what if self.is_long else self.what.split("; ")[0]

    def within(self, spans: Sequence[Span]) -> Limit:
        """The limit of some times, which are named."""
        return self._replace(when=", ".join(filter(None, (times_words(spans), self.when))))

    def said(self, link: str) -> str:
        """The sentence with when it holds, after the words on the time on a `link`, if any."""
        begin = link or ("" if self.when else _MOSTLY)
        return ": ".join(filter(None, (begin, ", ".join(filter(None, (self.when, self.what))))))

    def when_on(self, link: str) -> str:
        """When it holds, with these words on a link, whose own time it may be a part of."""
        _, has_place, place = link.partition(" on ")
        if self.when and has_place:
            link = f"on {place}"
        return ", ".join(filter(None, (link, self.when))) or _MOSTLY


class Flowing(NamedTuple):
    """A flow of a run, and the links in its direction. Unless it `is_alone`, these have cross
    traffic, and only a full link and the receiver's window are told; also if stalls, of which
    `stall` is the longest, or times without a rate are much of a time. `setting` is the one that
    sets the receiver's window, if that is known.
    """

    run: RunEvents
    flow: str
    path: PathSamples
    stall: Span = (0, 0)
    is_alone: bool = True
    setting: str = ""


def limits_of(of: Flowing, span: Span) -> list[Limit]:
    """Return what limited a flow between two instants; nothing if that is not known. If its link
    was full for a part of that time, and had room in another one, each has its limits.
    """
    parts = _parts(of, span)
    if not parts:
        found = _limit(of, [span])
        return [] if found is None else [found]
    told: list[tuple[int, Limit]] = []
    for spans in parts:
        limit = _limit(of, spans) or _with_room(of, spans)
        told.append((spans[0][0], limit.within(spans)))
    return [limit for _, limit in sorted(told, key=lambda one: one[0])]


def limit_at(of: Flowing, span: Span, at_ns: int) -> Limit | None:
    """Return what limited a flow at an instant of a time: in that part of it, if it has some, also
    of one in which the link was full on the whole.
    """
    parts = _parts(of, span, is_instant=True)
    if not parts:
        found = _limit(of, [span])
        return found and (_smaller_window(of, [span], at_ns) or found)
    near = [(spans, one) for spans in parts for one in spans if one[0] <= at_ns <= one[1]]
    if not near:
        return None
    spans, own = near[0]
    for some in ([own], spans):
        if limit := _limit(of, some):
            return (_smaller_window(of, some, at_ns) or limit).within(some)
    return None


def _smaller_window(of: Flowing, spans: Sequence[Span], at_ns: int) -> Limit | None:
    """Return what the window of a flow was in the round trip before an instant, if that was much
    smaller than in all of some times, so that what limited it in these is no answer.
    """
    sampled = Samples.of(of.path, of.flow, spans)
    if not sampled.are_known:
        return None
    since = at_ns - float(np.nanmedian(sampled.trip_ns))
    within = (sampled.time_ns >= since) & (sampled.time_ns <= at_ns)
    then, mean = sampled.cwnd[within], float(np.mean(sampled.cwnd))
    if not len(then) or float(np.max(then)) >= _SMALLER * mean:
        return None
    return Limit("", f"the window was {then[-1]:,.0f} segments, and {mean:.3g} on average")


def _parts(of: Flowing, span: Span, *, is_instant: bool = False) -> list[list[Span]]:
    """Return the times in which the link in use was full, and those in which it had room: each that
    is long, and all others together; nothing if it was one of both for almost all of a time, but
    for an instant.
    """
    run, flow, path = of.run, of.flow, of.path
    if not _is_bulk(run.flows[flow]) or run.of(flow).has_paths or not of.is_alone:
        return []
    # What a link that is used as a whole had at times tells no more.
    passing, could = path.passing(*span), path.bits(*span)
    is_full = run.bits_of(run.flows[flow]["direction"], passing) >= FULL * could
    if is_full and not is_instant:
        return []
    used = uses_of_link(run, flow, span, path)
    full, rest = ([one.span for one in used if one.kind == kind] for kind in ("full", "open"))
    least = _LEAST_PART * (span[1] - span[0])
    least_of_all = 1 if is_instant else least
    if min(length_of(full), length_of(rest)) < least_of_all:
        return []
    parts = [full, *([one] for one in rest if one[1] - one[0] >= least)]
    short = [one for one in rest if one[1] - one[0] < least]
    return [*parts, short] if length_of(short) >= least_of_all else parts


def _with_room(of: Flowing, spans: Sequence[Span]) -> Limit:
    """Return what a flow used of a link with room, if it is not known what the limit was."""
    could = sum(of.path.bits(*one) for one in spans)
    ours = sum(of.run.of(of.flow).bits_of(of.path.passing(*one)) for one in spans)
    links = _links(of, spans)
    return Limit("", f"the flow used {ours / could:.0%} of what {links} could carry, with headers")


def use_of(of: Flowing, span: Span) -> str:
    """Return what a flow of bulk data used of its links between two instants, and how long it stood
    still, if no single limit held for most of the time; "" if that is not known.
    """
    could = of.path.bits(*span)
    if not _is_bulk(of.run.flows[of.flow]) or not could > 0 or not np.isfinite(could):
        return ""
    still = _stall_within(of.stall, span)
    share = still / (span[1] - span[0])
    said = f"nothing was the limit {_MOSTLY}: {_with_room(of, [span]).what}"
    if share < _MOST_STILL:
        return said
    return (
        f"the longest stall took {share:.0%} of the time ({to_ms(still)} of "
        f"{to_ms(span[1] - span[0])}); in all of it {_with_room(of, [span]).what}"
    )


def _links(of: Flowing, spans: Sequence[Span]) -> str:
    """The links that are in use in some times."""
    names = dict.fromkeys(name for one in spans for name in of.path.links(*one))
    return " and ".join(map(link_text, names))


def _is_bulk(info: Mapping[str, Any]) -> bool:
    """Whether a flow of the mobile node is no application's, which would limit it."""
    return bool(info["workload"] in (None, "", "bulk") and info["moves"])


def _limit(of: Flowing, spans: Sequence[Span]) -> Limit | None:
    """Return what limited a flow in some times, by data of these; None if that is not known."""
    run, flow, path = of.run, of.flow, of.path
    info = run.flows[flow]
    if not _is_bulk(info):
        return None
    span = begin, end = spans[0][0], spans[-1][1]
    length = length_of(spans)
    could = sum(path.bits(*one) for one in spans)
    if not np.isfinite(could) or could <= 0:
        return None
    events = run.of(flow)
    if events.has_paths:
        return None
    # What passed the link while it is counted what it could carry.
    passing = [path.passing(*one) for one in spans]
    ours = sum(map(events.bits_of, passing))
    others = sum(run.bits_of(info["direction"], one) for one in passing) - ours
    links = _links(of, spans)
    each_lost = [events.lost_within(*one) for one in spans]
    lost = {cause: sum(one[cause] for one in each_lost) for cause in each_lost[0]}
    could_bps = could / length * NS_PER_S
    held = _held_on(run, flow, spans, path)
    if ours + others >= FULL * could:
        said = (
            f"the link was the limit: {ours / could:.0%} of what {links} could carry, with "
            "headers, was this flow's"
        )
        if others >= _LEAST_OTHER * could:
            said += f", and {(ours + others) / could:.0%} that of all flows together"
        with_room = "" if held is None else _full_window(held, span, of.setting)
        each = said, _queue(path, spans, could_bps), with_room, _losses(lost)
        return Limit("", "; ".join(filter(None, each)))
    since = _flows_from(run, flow, spans[0], path)
    flowing = [(since, spans[0][1]), *spans[1:]]
    sampled = Samples.of(path, flow, flowing)
    if not sampled.are_known:
        return None
    of_use = f"{ours / could:.0%} of what {links} could carry, with headers"
    if held is not None:
        return _of_receiver(held, span, of_use, of.setting)
    if path.wired_bps < np.nanmax(path.rate_bps) or not of.is_alone:
        return None
    cause = cause_of(run, flow, path, spans, since)
    if cause is None:
        return None
    # The longest stall may be at another time; times without arrivals are seen.
    trip = sampled.trip_ns
    still_ns = max(_stall_within(of.stall, one) for one in flowing)
    is_still = (
        still_ns > max(_MOST_STILL * length, _STILL_TRIPS * float(np.nanmax(trip)))
        or sum(path.idle_share(*one) * (one[1] - one[0]) for one in spans) > _MOST_STILL * length
        or _still_share(events, flowing, float(np.nanmedian(trip))) > _MOST_STILL
    )
    is_short = cause.kind == "growth" and length < _LEAST_TRIPS * float(np.nanmean(trip))
    if is_short or (is_still and cause.kind != "recovery"):
        return None
    if cause.kind in ("recovery", "growth"):
        return Limit("", f"{cause.words}; the flow used {of_use}")
    arrived = sum(events.bits_of(path.arriving(*one)) for one in flowing)
    goodput = arrived / length_of(flowing) * NS_PER_S
    came = (
        f"{goodput / 1e6:.3g} Mbit/s arrived, with headers, while {links} could carry "
        f"{could_bps / 1e6:.3g} Mbit/s"
    )
    if cause.kind == "pace":
        probes = probes_of_rtt(modes_of(run.setup, flow))
        probes = [p for p in probes if any(b < p.end_ns and p.begin_ns < e for b, e in flowing)]
        told = (f"it was in ProbeRTT from {to_ms(p.begin_ns)} to {to_ms(p.end_ns)}" for p in probes)
        return Limit("", "; ".join([cause.words, *told, came]), is_long=True)
    when = f" from {to_ms(since)} on" if since - begin > _MOST_STILL * (end - begin) / 2 else ""
    trips = np.concatenate([events.trips_of(*one) for one in spans])
    window = f"{when}, with a round trip of {short_time(float(np.mean(trips)))}; {came}"
    by_others = _losses(lost | {"radio": 0} if cause.kind == "radio" else lost)
    return Limit("", "; ".join(filter(None, (f"{cause.words}{window}", by_others))), is_long=True)


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


def _flows_from(run: RunEvents, flow: str, span: tuple[int, int], path: PathSamples) -> int:
    """From when on data flow in a time. After a handoff the window may be that of a timeout, and
    the round trip that of the old link, until they do.
    """
    first = run.of(flow).first_of(path.arriving(*span))
    return span[0] if first is None else max(span[0], first)


def held_by_receiver(
    run: RunEvents, flow: str, span: tuple[int, int], path: PathSamples
) -> list[Held]:
    """Return when the receiver's window was the limit of what was in flight, on each link that a
    flow used for long between two instants; also on one that is full.
    """
    if not _is_bulk(run.flows[flow]):
        return []
    each = (_held_on(run, flow, [within], path) for _, within in long_uses(path, span))
    return [one for one in each if one is not None]


def _held_on(run: RunEvents, flow: str, spans: Sequence[Span], path: PathSamples) -> Held | None:
    """Return when the receiver's window was the limit, if for much of some times; None if it was
    not, or of a flow with several paths or a pace.
    """
    sampled = Samples.of(path, flow, spans)
    # Its events need another run, which few flows are worth.
    has_room = sampled.flight <= _UNFILLED * sampled.cwnd
    if not sampled.are_known or np.mean(has_room) < _LEAST_HELD:
        return None
    if has_pace(run, flow) or run.of(flow).has_paths:
        return None
    first = _flows_from(run, flow, spans[0], path), spans[0][1]
    sampled = Samples.of(path, flow, [first, *spans[1:]])
    share = length_of([first, *spans[1:]]) / length_of(spans)
    return _held(sampled, share) if sampled.are_known else None


def _held(sampled: Samples, of_all: float) -> Held | None:
    """Return the same by samples of the sender in a share of all times. No more than a number of
    segments is in flight, which is reached in each round trip, while the congestion window has room
    for more; or that window, which grows only if it is filled, stands still for many round trips.
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
        if np.mean(is_held) * of_all > _LEAST_HELD:
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


def sentence(limits: Sequence[Limit], link: str) -> str:
    """What limited a flow on a link, after the words on the time on it, in sentences for each part
    of that, without the last full stop.
    """
    first, *more = limits
    rest = (f"{one.when}, {one.what}" for one in more)
    return ". ".join([first.said(link), *(f"{one[0].upper()}{one[1:]}" for one in rest)])


def has_own_links(scenario: Mapping[str, Any], run: RunEvents) -> bool:
    """Whether nothing but the flows of the mobile node uses the links of a scenario."""
    # Flows of other nodes in a cell share its link, too.
    return all(one["moves"] for one in run.flows.values()) and not any(
        link.get("cross")
        or any(
            isinstance(way := link.get(name), dict) and way.get("cross") for name in ("up", "down")
        )
        for link in scenario["links"].values()
    )


def buffer_setting(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> str:
    """Return the setting of the receiver's window of a flow of a scenario; "" of a stack's."""
    if flow.get("stack") not in (None, "midflight"):
        return ""
    profile = flow.get("profile") or scenario["profile"]
    return {"linux": "tcp_rmem_max", "quic": ""}.get(profile, "receiver_window")


def long_uses(path: PathSamples, span: Span, least: float = _LONG) -> list[tuple[str, Span]]:
    """Return the times within a span in which the flows were on one link for long, which is this
    share of it at `least`, or else the longest one, and when each was in words; if there is only
    one link, the span and "".
    """
    used = [
        (max(begin, span[0]), min(end, span[1]), name)
        for begin, end, name in path.used
        if name and begin < span[1] and end > span[0]
    ]
    if len({name for *_, name in used}) < 2:
        return [("", span)]
    long = [one for one in used if one[1] - one[0] >= least * (span[1] - span[0])]
    found = []
    for begin, end, name in long or [max(used, key=lambda one: one[1] - one[0])]:
        on = f"from {to_ms(begin)} to {to_ms(end)} on {link_text(name)}"
        found.append((on, (begin, end)))
    return found


def _stall_within(stall: Span, span: Span) -> int:
    """The part of a stall that is within a span."""
    return max(0, min(stall[1], span[1]) - max(stall[0], span[0]))


def _losses(lost: Mapping[str, int]) -> str:
    """Return how many packets were lost where; "" without a cause that has more than a few."""
    found = [f"{lost[one]:,} {where}" for one, where in _WHERE.items() if lost[one] >= _LEAST_LOST]
    if not found:
        return ""
    count, where = found[0].split(" ", 1)
    return " and ".join([f"{count} packets were lost {where}", *found[1:]])


def _still_share(events: FlowEvents, spans: Sequence[Span], trip_ns: float) -> float:
    """The share of some times in which nothing arrived for several round trips."""
    still, times = 0.0, events.arrived_ns
    for begin, end in spans:
        gaps = np.diff(np.concatenate([[begin], times[(times > begin) & (times < end)], [end]]))
        still += float(gaps[gaps > _STILL_TRIPS * trip_ns].sum())
    return still / length_of(spans)


def _queue(path: PathSamples, spans: Sequence[Span], rate_bps: float) -> str:
    """Return what waited at the links in use on average, and how long that takes at their mean
    rate; "" if it was little. A queue at a rate that varies may last much longer on average.
    """
    time = path.time_ns
    within = np.any([(time >= begin) & (time <= end) for begin, end in spans], axis=0)
    within &= np.isfinite(path.wait_ns)
    if not within.any() or (wait := float(np.mean(path.wait_ns[within]))) < LEAST_WAIT_NS:
        return ""
    packets = float(np.mean(path.packets[within]))
    # The bits that waited, which are what the wait is of at the rate of each sample.
    bits = float(np.mean((path.wait_ns * path.rate_bps)[within])) / NS_PER_S
    mean_ms = bits / rate_bps * 1e3
    count = f"{packets:,.0f}" if packets >= 1000 else f"{packets:.3g}"
    said = f"its queue had {count} packets on average, which is {short_time(1e6 * mean_ms)} at "
    if abs(wait / 1e6 / mean_ms - 1) < _LIKE:
        return f"{said}the link's rate"
    return (
        f"{said}the link's mean rate of {rate_bps / 1e6:.3g} Mbit/s, and more where the link was "
        "slower"
    )
