"""The data of the interactive page: lines and packets as the page reads them, thinned if they are
too many.

Times are nanoseconds. A column of whole numbers is written as deltas in numbers of variable length
(seven bits to a byte, the sign in the lowest bit), in base64. The code that reads them is
`templates/page_data.js`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.style import labelled
from midflight.plot.over_time.applications import (
    OF_APPLICATIONS,
    bitrate_of,
    buffer_of,
    end_of_segments,
    frames_of,
    has_events,
    objects_of,
    spans_of_segments,
    stalls_of,
)
from midflight.plot.over_time.bins import LEAST_PAUSE
from midflight.plot.over_time.curves import Curve, WatchedRun
from midflight.plot.over_time.drained import cuts_of_arrivals, drains
from midflight.plot.over_time.history import NS_PER_S, History, Steps
from midflight.plot.over_time.intervals import has_whole_bursts
from midflight.plot.over_time.marks import GROUPS
from midflight.plot.over_time.requests import lost_requests
from midflight.plot.over_time.room import extremes
from midflight.plot.over_time.stalls import MOST_EARLY, received_from, silences
from midflight.plot.over_time.watched import opened_s
from midflight.plot.page.means import Intervals

__all__ = [
    "Line",
    "Thinning",
    "near_widths",
    "packed",
    "path_data",
    "queues_data",
    "silent_data",
    "steps_data",
]

#: Of all lines of a thinned page: segments lost or sent again, and steps of a line that are never
#: thinned.
_MOST_SPECIAL = 60_000
_LEAST_STEPS = 8_000

#: Kinds of packets, by the page's numbers.
_SENT = ("send", "rexmit", "window_probe")
#: Events that are passed on unchanged.
_NOTES = (
    "rto",
    "fast_retransmit",
    "recovery_exit",
    "min_rto",
    "judge",
    "reordered",
    "spurious",
)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Thinning:
    """What a page leaves out of its runs: nothing, or all but every so many of the usual packets
    that are further than these times from what the reader looks for: from what happens to the path
    and timeouts, and from fast retransmits.
    """

    every: int = 1
    near_ns: tuple[int, int] = (0, 0)
    #: The lines that share the page.
    lines: int = 1

    @property
    def most_special(self) -> float:
        """Lost and retransmitted segments that a line keeps."""
        return _MOST_SPECIAL / self.lines * max(1.0, self.every / 64)

    @property
    def least_steps(self) -> int:
        """Steps that a line of the graph keeps in any case."""
        return max(40, _LEAST_STEPS // self.lines)


class Line:
    """A flow of a run on the page."""

    def __init__(self, run: WatchedRun, place: int, intervals: Intervals) -> None:
        """Take a run, the place of the flow in it, and the intervals of means of the page."""
        self.run, self.place, self.flow = run, place, run.flows[place]
        self._intervals = intervals

    @cached_property
    def instants(self) -> tuple[Ints, Ints]:
        """What a reader looks for, in ascending order: when links break and come into use, when
        outages begin and end, and timeouts; and fast retransmits. Other changes of a link are not
        among them.
        """
        changes = self.run.setup.path_changes
        changes = [one for one in changes if one["breaks"] or one["kind"] != "change"]
        path = [time for one in changes for time in (one["at_ns"], one["make_ns"])]
        path += [time for outage in self.flow.outages for time in outage]
        found = np.unique(np.concatenate([np.array(path, np.int64), self.flow.times("rto")]))
        return found[found <= self.flow.end_ns], self.flow.times("fast_retransmit")

    @cached_property
    def packets(self) -> _Packets:
        """All segments that were sent, and all ACKs that arrived."""
        return _packets_of(self.flow)

    @cached_property
    def _steps(self) -> dict[str, Steps]:
        """Windows and timers."""
        flow = self.flow
        return {
            "cwnd": flow.steps("cwnd"),
            "ssthresh": flow.steps("ssthresh"),
            "pipe": flow.pipe,
            "rto": flow.steps("rto_value"),
            "rtt": Steps(flow.times("rtt_sample"), flow.values("rtt_sample")),
            "flight": flow.flight,
        }

    @cached_property
    def _same(self) -> dict[str, Any]:
        """What is never thinned: among it the bytes of `_arrived`."""
        flow = self.flow
        payload = {one["name"]: one["payload_bytes"] for one in self.run.setup.flows}[flow.flow]
        return {
            "label": labelled(self.run.labels[self.place]),
            "flow": labelled(flow.flow),
            "look": self.run.looks[self.place],
            "end": flow.end_ns,
            # From when to when requests are lost that have not arrived.
            "unheard": [
                [_whole(begin), _whole(end)]
                for one in self._requests
                for begin, end in lost_requests(one)
            ],
            **_arrived(self.run, flow, self._intervals, payload),
        }

    @cached_property
    def _marked(self) -> tuple[Ints, Ints]:
        """When segments are marked (ECN), and their numbers."""
        return self.flow.times("mark"), self.flow.values("mark").astype(np.int64)

    @cached_property
    def _at_queues(self) -> dict[str, Ints]:
        """When packets are lost or marked at the links whose queues are shown, by the kinds of
        `midflight.plot.over_time.marks`.
        """
        names = self.run.labels_along([*self.run.shown_links, *self.run.other_links])
        found: dict[str, Ints] = {}
        for kind in (*GROUPS["losses"], *GROUPS["ecn"]):
            time, where = self.flow.at_queues[kind]
            if len(time := time[[one in names for one in where]]):
                found[kind] = time
        return found

    @property
    def _requests(self) -> list[History]:
        """The flow that carries the requests of this one, if there is one."""
        own = self.run.requests(self.flow).get(self.flow.flow)
        return [] if own is None else [own]

    @property
    def _at_timeouts(self) -> dict[str, Ints]:
        """When timeouts are undone, and when requests are sent again after one."""
        found = {"undone": self.flow.undone}
        for one in self._requests:
            found["request_timeout"] = one.times("rto")
        return {kind: times for kind, times in found.items() if len(times)}

    @cached_property
    def _told(self) -> tuple[list[list[Any]], list[list[Any]]]:
        """What else the sender found and did, and the orders of policies."""
        return _notes(self.flow), [list(order) for order in self.flow.orders]

    def data(self, thinning: Thinning) -> dict[str, Any]:
        """The packets of the flow, its windows and timers, and its application."""
        spans = _spans(self.instants, thinning.near_ns)
        steps = {
            name: steps_data(_thinned(one, thinning, spans))
            for name, one in self._steps.items()
            # The page knows it from all packets.
            if name != "flight" or thinning.every > 1
        }
        return {
            **self._same,
            "every": thinning.every,
            "near": spans.tolist() if thinning.every > 1 else [],
            **_packets_data(self.packets, spans, thinning),
            "marked": [packed(one) for one in _some(self._marked, spans, thinning)],
            "events": {
                kind: packed(*_some((times,), spans, thinning))
                for kind, times in (self._at_queues | self._at_timeouts).items()
            },
            **{
                name: _thinned_rows(rows, spans, thinning.every)
                for name, rows in zip(("notes", "orders"), self._told, strict=True)
            },
            **steps,
            **_application(self.run, self.flow, thinning.every),
        }


def _spans(instants: tuple[Ints, Ints], near_ns: tuple[int, int]) -> Ints:
    """The times near instants of both kinds: ascending beginnings and ends that do not overlap."""
    kinds = [(one, near) for one, near in zip(instants, near_ns, strict=True) if near]
    begins = np.concatenate([np.empty(0, np.int64), *(one - near for one, near in kinds)])
    ends = np.concatenate([np.empty(0, np.int64), *(one + near for one, near in kinds)])
    order = np.argsort(begins, kind="stable")
    begins, ends = np.maximum(begins[order], 0), np.maximum.accumulate(ends[order])
    # A span begins beyond the ends of all before it.
    first = np.flatnonzero(np.concatenate([[True], begins[1:] > ends[:-1]])[: len(begins)])
    last = np.append(first[1:], len(begins)) - 1
    return np.stack([begins[first], ends[last[: len(first)]]], axis=1)


def _within(time_ns: Ints, spans: Ints) -> Bools:
    """Which times are in one of the spans."""
    places = np.searchsorted(spans[:, 0], time_ns, side="right") - 1
    if not len(spans):
        return np.zeros(len(time_ns), np.bool_)
    found: Bools = (places >= 0) & (time_ns <= spans[places, 1])
    return found


def near_widths(lines: Sequence[Line], most: int) -> tuple[int, int]:
    """The greatest distances from the instants of all lines, in nanoseconds, within which there are
    no more than `most` packets: half of them near what happens to the path and timeouts, and the
    rest near fast retransmits.
    """
    of_path, of_retransmits = (any(len(one.instants[kind]) for one in lines) for kind in (0, 1))
    path = _greatest(lines, most // 2, lambda near: (near, 0)) if of_path else 0
    again = _greatest(lines, most, lambda near: (path, near)) if of_retransmits else 0
    return path, again


def _greatest(lines: Sequence[Line], most: int, of: Callable[[int], tuple[int, int]]) -> int:
    """The greatest width, of which there are those of both kinds, with no more packets."""
    each = [(one.instants, one.packets.sent, one.packets.acks) for one in lines]

    def count(width: int) -> int:
        found, near_ns = 0, of(width)
        for instants, *columns in each:
            spans = _spans(instants, near_ns).ravel()
            for times in columns:
                places = np.searchsorted(times, spans)
                found += int((places[1::2] - places[::2]).sum())
        return found

    low, high = 0, max(one.flow.end_ns for one in lines)
    # Shorter times show nothing.
    while high - low > 10_000_000:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) <= most else (low, middle)
    return low


def path_data(run: WatchedRun, rate: Curve) -> dict[str, Any]:
    """What a run's flows share: the rate of the link in use, the links and the handovers of their
    recordings, what happens to the path, and the instants at which the intervals of means are cut.
    """
    known = np.isfinite(rate.value)
    first, end = run.flows[0], run.end_ns
    # A page ends with its runs.
    stretches = [one for one in run.stretches if one.from_ns < end]
    handovers = _ns(np.array(run.handovers, np.float64))
    return {
        "rate": steps_data(Steps(_ns(rate.time_s[known]), rate.value[known])),
        # The direction of the rate, where flows go both ways.
        "way": run.way,
        "links": [[a, min(b, end), labelled(link)] for a, b, link in stretches],
        "handovers": packed(handovers[handovers < end]),
        "recorded": bool(run.recorded or run.recorded_rates),
        "moments": [[time, kind, labelled(label)] for time, kind, label in first.moments],
        "outages": [list(outage) for outage in run.moments.outages if outage[0] < end],
        "holes": [[*one] for _, one in run.holes],
        "cuts": _ns(np.array(run.cuts, np.float64)).tolist(),
        "end": end,
    }


def queues_data(runs: Sequence[WatchedRun], curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """The queues that a figure shows (`curves` of its panel), as they are sampled: the packets at a
    link, of several runs those at all links of the path, and of flows that have a queue each.

    The packets of links are means from each sample to the next one, with the `least` and the `most`
    in that time. `every` is the time between samples, in nanoseconds, and `used` are the times in
    which a single run uses the link.
    """
    found = []
    for curve in curves:
        if curve.draw not in ("queue", "steps"):
            continue
        path = next(
            place for place, run in enumerate(runs) if len(runs) == 1 or run.scheme == curve.scheme
        )
        run, is_alone = runs[path], len(runs) == 1
        named = {name: number for number, name in run.queue_links.items()}
        links = [named[curve.link]] if is_alone else [*run.shown_links]
        line, least, most = None, None, None
        if curve.draw == "queue":
            packets, least, most = _sampled(run, links)
        else:
            line = [flow.flow for flow in run.flows].index(curve.flow)
            packets = _backlog(run, named[curve.link], curve.flow)
        found.append(
            {
                "path": path,
                "line": line,
                "label": labelled(curve.label),
                "look": curve.look,
                "packets": steps_data(packets),
                "least": None if least is None else steps_data(least),
                "most": None if most is None else steps_data(most),
                "used": [one[:2] for one in run.used(named[curve.link])] if is_alone else None,
                # More often the queue is not known.
                "every": int(np.median(np.diff(packets.time_ns)))
                if len(packets.time_ns) > 1
                else 0,
            }
        )
    return found


def silent_data(line: Line, curves: Sequence[Curve]) -> list[list[int]]:
    """From when to when nothing arrives, as a figure of throughputs (`curves`) shows it."""
    flow = line.flow
    return [
        [_whole(low), _whole(high)]
        for one in curves
        if one.draw == "stalled" and (one.flow, one.scheme) == (flow.flow, flow.label)
        if one.low is not None and one.high is not None
        for low, high in zip(one.low, one.high, strict=True)
    ]


def _backlog(run: WatchedRun, link: int, flow: str) -> Steps:
    """The packets of a flow that wait at a link with a queue for each flow."""
    rows = run.backlogs
    is_mine = (rows.numpy("number") == link) & (rows.numpy("flow").astype(str) == flow)
    mine = np.flatnonzero(is_mine & (rows.numpy("time_ns") <= run.end_ns))
    return Steps(rows.numpy("time_ns")[mine], rows.numpy("packets")[mine].astype(np.float64))


def _sampled(run: WatchedRun, links: Sequence[int]) -> tuple[Steps, Steps, Steps]:
    """The packets at some links together: their mean from each sample to the next one, and the
    least and the most in that time.
    """
    time = run.sampled(links[0], "time_ns").astype(np.int64)
    packets, *rest = (
        np.sum([run.sampled(one, column) for one in links], axis=0)
        for column in ("packets", "mean", "least", "most")
    )
    # A sample has what was since the one before.
    mean, least, most = (np.append(one[1:], packets[-1:]) for one in rest)
    least, most = np.minimum(packets, least), np.maximum(packets, most)
    seen = time <= run.end_ns
    mean, least, most = (one[seen] for one in (mean, least, most))
    time = time[seen]
    return Steps(time, mean), Steps(time, least), Steps(time, most)


def _arrived(run: WatchedRun, flow: History, intervals: Intervals, payload: int) -> dict[str, Any]:
    """The bytes that have arrived by each multiple of a unit of time, the last ones by the end; the
    instants at which the intervals of means are cut, if they are not those of the path, and the
    bytes by each; when the first data arrive, and data after each of the longest times without any;
    when the last data arrive; and of each length of intervals the bytes by the end of those that
    begin with these data.
    """
    unit_ns = intervals.unit_ns
    cuts = _ns(np.array(own := cuts_of_arrivals(run, flow, 0.0), np.float64))
    # A page leaves out those at handoffs that are near their second ones.
    drained = [_ns(np.array(one[:2])).tolist() for one in drains(run, flow)]
    call = run.calls.get(flow.flow)
    # Where the packets' sizes are unknown, all segments are full.
    sizes = flow.sizes("rcv")
    sums = np.concatenate([[0.0], np.cumsum(np.where(np.isnan(sizes), payload, sizes))])
    edges = np.arange(0, flow.end_ns + unit_ns, unit_ns)
    by_unit, by_cut = (
        sums[np.searchsorted(flow.times("rcv"), times, side="left")] for times in (edges, cuts)
    )
    by_unit[-1] = sums[-1]
    begin, lengths, again = silences(flow, (0.0, math.inf))
    if (opened := opened_s(run, flow)) is not None:
        begin = min(begin, opened)
    instants = _ns(np.append(begin, again))
    # Of each the time without arrivals before it, the bytes that have arrived by then, and from
    # when on the next ones were received.
    resumed = np.column_stack(
        [
            _ns(np.append(begin, lengths)),
            instants,
            sums[np.searchsorted(flow.times("rcv"), instants, side="left")].astype(np.int64),
            _ns(np.append(begin, received_from(flow, again))),
        ]
    )
    # Of other flows a pause that is shorter than an interval is none.
    of_bursts = [one for one in intervals.lengths if has_whole_bursts(run, flow, one / NS_PER_S)]
    share = LEAST_PAUSE if of_bursts else 1.0
    is_seen = resumed[:, 0] >= share * min(intervals.lengths)
    is_seen[0] = True
    resumed = resumed[is_seen]
    wholes = {}
    for length in intervals.lengths:
        is_early = resumed[:, 1] - resumed[:, 3] <= MOST_EARLY * length
        ends = np.where(is_early, resumed[:, 3], resumed[:, 1]) + length
        by_end = sums[np.searchsorted(flow.times("rcv"), ends, side="left")]
        # Other ones do not begin there.
        is_long = (resumed[:, 0] >= share * length) | (np.arange(len(ends)) == 0)
        wholes[length] = np.where(is_long, by_end, 0).astype(np.int64).tolist()
    return {
        "bytes": packed(by_unit),
        **({} if own == run.cuts else {"cuts": cuts.tolist(), "drained": drained}),
        "cutBytes": packed(by_cut),
        "resumed": resumed.tolist(),
        "wholes": wholes,
        # Those that end where bursts begin.
        "ofBursts": of_bursts,
        "last": int(flow.times("rcv")[-1]) if len(flow.times("rcv")) else 0,
        # Means end with the data of a flow that is done.
        **({} if flow.received_ns == flow.end_ns else {"received": flow.received_ns}),
        **_segments_of(run, flow, sums),
        # The last mean of a call, which ends with a frame, is over the time of its frames.
        **({"frame": round(call.interval_s * NS_PER_S)} if call is not None else {}),
    }


def _segments_of(run: WatchedRun, flow: History, sums: NDArray[np.float64]) -> dict[str, Any]:
    """Of a video how long a segment plays, and when each one is requested and read, each with the
    bytes that have arrived by then: the means of figures begin and end there. Behind the last
    request is the end of its mean.
    """
    if (length := run.segments.get(flow.flow)) is None:
        return {}
    requested, read = spans_of_segments(flow)
    if not len(requested):
        return {}
    last = end_of_segments(flow, length)

    def with_bytes(times: NDArray[np.float64]) -> list[list[int]]:
        at = _ns(times)
        return [[*one] for one in zip(at.tolist(), _by(flow, sums, at), strict=True)]

    return {
        "segments": {
            "length": round(length * NS_PER_S),
            "requested": with_bytes(np.append(requested, last)),
            "read": with_bytes(read),
        }
    }


def _by(flow: History, sums: NDArray[np.float64], at: NDArray[np.int64]) -> list[int]:
    """The bytes that have arrived before instants."""
    found = sums[np.searchsorted(flow.times("rcv"), at, side="left")]
    return [int(one) for one in found]


def _application(run: WatchedRun, flow: History, every: int) -> dict[str, Any]:
    """What the panel below shows of a video, a call or a page, if the flow is one.

    Of a thinned page's frames in time there is only every so many; late and lost ones are all
    there.
    """
    found = dict[str, Any]()
    workload = run.workload_of(flow)
    # A flow of a workload that only carries its requests has no events of it.
    if not has_events(flow):
        return found
    if workload == OF_APPLICATIONS["buffer"]:
        time, level = buffer_of(flow)
        found["buffer"] = steps_data(Steps(_ns(time), level))
        at, rate = bitrate_of(flow)
        found["bitrate"] = steps_data(Steps(_ns(at), rate))
        found["stalls"] = [[_whole(begin), _whole(end)] for begin, end in stalls_of(flow)]
    if workload == OF_APPLICATIONS["frames"]:
        call = run.calls.get(flow.flow)
        frames = frames_of(flow, call)
        kept = frames.is_late | (np.arange(len(frames.made_s)) % every == 0)
        took_ms = (frames.took_s[kept] * 1e3).astype("<f4")
        found["frames"] = {
            "made": packed(_ns(frames.made_s[kept])),
            "took": base64.b64encode(took_ms.tobytes()).decode("ascii"),
            "late": packed(frames.is_late[kept]),
            "lost": packed(_ns(frames.lost_s)),
            "deadline": 1e3 * call.deadline_s if call else None,
        }
    if workload == OF_APPLICATIONS["objects"]:
        numbers, begins, ends = objects_of(flow)
        until = np.where(np.isnan(ends), -1 / NS_PER_S, ends)
        columns = {"number": numbers, "begin": _ns(begins), "end": _ns(until)}
        found["objects"] = {name: packed(column) for name, column in columns.items()}
        found["objects"] |= _of_connections(run, flow)
    return found


def _of_connections(run: WatchedRun, flow: History) -> dict[str, Any]:
    """The timeouts of all connections of a page and of their requests, when some were undone, and
    the times in which requests that were lost had not arrived.
    """
    events: dict[str, list[Ints]] = {}
    for one in run.connections(flow):
        at, said = one.times("rto"), np.array(one.details("rto"), np.str_)
        events.setdefault("timeout", []).append(at[said != "spurious"])
        events.setdefault("spurious", []).append(at[said == "spurious"])
        events.setdefault("undone", []).append(one.undone)
    requests = run.requests(flow).values()
    events["request_timeout"] = [one.times("rto") for one in requests]
    unheard = sorted(span for one in requests for span in lost_requests(one))
    return {
        "events": {
            kind: packed(np.sort(np.concatenate(times)))
            for kind, times in events.items()
            if sum(map(len, times))
        },
        "unheard": [[_whole(begin), _whole(end)] for begin, end in unheard],
    }


def _ns(time_s: NDArray[np.float64]) -> Ints:
    found: Ints = np.round(time_s * NS_PER_S).astype(np.int64)
    return found


def _whole(time_s: float) -> int:
    return round(time_s * NS_PER_S)


@dataclass(frozen=True)
class _Packets:
    """The segments of a flow that were sent, with their fates, and the ACKs that arrived."""

    sent: Ints
    segment: NDArray[np.float64]
    #: The place of the event in `_SENT`.
    kind: Ints
    #: What the trace says of some of them, by their places.
    said: dict[int, str]
    #: What `_fates` says.
    fates: dict[str, Any]
    #: Whether a segment was lost or sent more than once.
    special: Bools
    acks: Ints
    acked: NDArray[np.float64]
    acks_said: dict[int, str]
    lost_acks: list[list[Any]]


def _packets_of(flow: History) -> _Packets:
    rows, segment = flow.rows(*_SENT), flow.values(*_SENT)
    kind = np.zeros(len(rows), np.int64)
    for number, event in enumerate(_SENT):
        kind[np.isin(rows, flow.rows(event), assume_unique=True)] = number
    fates = _fates(flow)
    is_lost = np.array([name.startswith("lost ") for name in fates["ends"]] + [False])
    return _Packets(
        sent=flow.times(*_SENT),
        segment=segment,
        kind=kind,
        said=_said(flow.details(*_SENT)),
        fates=fates,
        special=is_lost[fates["how"]] | (kind > 0) | np.isin(segment, segment[kind > 0]),
        acks=flow.times("ack"),
        acked=flow.values("ack"),
        acks_said=_said(flow.details("ack")),
        lost_acks=_lost_acks(flow),
    )


def _kept(packets: _Packets, spans: Ints, thinning: Thinning) -> tuple[Ints, Ints]:
    """The places of the segments that were sent, and of the ACKs, that a page keeps.

    It keeps all near what one looks for, and all losses and retransmissions, unless the latter
    alone are more than the page may have.
    """
    every, special = thinning.every, packets.special
    if every == 1:
        return np.arange(len(packets.sent)), np.arange(len(packets.acks))
    of_special = max(1, math.ceil(special.sum() / thinning.most_special))
    keep = np.where(special, np.cumsum(special) % of_special == 0, np.cumsum(~special) % every == 0)
    acks = np.arange(len(packets.acks)) % every == 0
    acks[-1:] = True
    keep |= _within(packets.sent, spans)
    acks |= _within(packets.acks, spans)
    return np.flatnonzero(keep), np.flatnonzero(acks)


def _some(columns: tuple[Ints, ...], spans: Ints, thinning: Thinning) -> list[Ints]:
    """Columns of events, the first one their times; of those of a thinned page that are too many
    every so many, and all in spans.
    """
    count = len(columns[0])
    every = math.ceil(count / (thinning.most_special / 10)) if thinning.every > 1 and count else 1
    kept = (np.arange(count) % every == 0) | _within(columns[0], spans)
    return [one[kept] for one in columns]


def _thinned(steps: Steps, thinning: Thinning, spans: Ints) -> Steps:
    """Steps thinned to the first, least, greatest and last value of each short interval; in spans
    all are kept.
    """
    least = thinning.least_steps
    if thinning.every == 1 or len(steps.value) < least:
        return steps
    bins = max(least // 4, len(steps.value) // (4 * thinning.every))
    end = max(1, int(steps.time_ns[-1]) - int(steps.time_ns[0]))
    column = ((steps.time_ns - steps.time_ns[0]) * (bins / end)).astype(np.int64)
    kept = np.zeros(len(steps.value), np.bool_)
    kept[extremes(column, steps.value)] = True
    kept |= _within(steps.time_ns, spans)
    return Steps(steps.time_ns[kept], steps.value[kept])


def _thinned_rows(rows: list[list[Any]], spans: Ints, every: int) -> list[list[Any]]:
    """Notes or orders, thinned as usual packets are; timeouts and fast retransmits are all kept."""
    if every == 1 or not rows:
        return rows
    near = _within(np.array([row[0] for row in rows], np.int64), spans)
    special = ("rto", "fast_retransmit")
    return [
        row
        for place, row in enumerate(rows)
        if near[place] or row[1] in special or (place + 1) % every == 0
    ]


def _packets_data(packets: _Packets, spans: Ints, thinning: Thinning) -> dict[str, Any]:
    """The packets that a page keeps."""
    fates, lost_acks = packets.fates, packets.lost_acks
    keep, acks = _kept(packets, spans, thinning)
    if thinning.every > 1:
        most = max(1, _MOST_SPECIAL // (10 * thinning.lines))
        lost_acks = lost_acks[:: max(1, len(lost_acks) // most)]
    return {
        "sent": packed(packets.sent[keep]),
        "segment": packed(packets.segment[keep]),
        "kind": packed(packets.kind[keep]),
        "said": _said_of(packets.said, keep),
        "after": packed(fates["after"][keep]),
        "how": packed(fates["how"][keep]),
        "ends": fates["ends"],
        "unsure": packed(np.flatnonzero(np.isin(keep, fates["unsure"], assume_unique=True))),
        "ack": packed(packets.acks[acks]),
        "acked": packed(packets.acked[acks]),
        "ackSaid": _said_of(packets.acks_said, acks),
        "ackLost": lost_acks,
    }


def _notes(flow: History) -> list[list[Any]]:
    """What else the sender found and did: when, what, its value and its detail."""
    return sorted(
        [int(time), event, value, detail]
        for event in _NOTES
        for time, value, detail in zip(
            flow.times(event), flow.values(event).tolist(), flow.details(event), strict=True
        )
    )


def _said(details: Sequence[str]) -> dict[int, str]:
    """Texts of the packets that have one, by their index."""
    return {place: detail for place, detail in enumerate(details) if detail}


def _said_of(said: dict[int, str], kept: Ints) -> dict[int, str]:
    """The same of those that are kept, by their new indices."""
    if not said:
        return said
    return {new: said[old] for new, old in enumerate(kept.tolist()) if old in said}


def _lost_acks(flow: History) -> list[list[Any]]:
    """Lost ACKs: when, which number, where and why."""
    each = zip(*flow.lost_acks(), strict=True)
    return [[int(time), int(value), _where(how)] for time, value, how in each]


def _where(how: str) -> str:
    """A link and why something was lost there, with the chosen label of the link."""
    link, _, why = how.rpartition(" ")
    return f"{labelled(link)} {why}"


def _fates(flow: History) -> dict[str, Any]:
    """When each copy of a segment arrived or was lost, and which: the index of a name in `ends`.

    The trace has numbers of segments, not of copies. If several copies are in flight at the same
    time, the first one sent is assumed to be the first to arrive or be lost; `unsure` marks these.
    """
    sent, segment = flow.times(*_SENT), flow.values(*_SENT).astype(np.int64)
    lost, lost_segment, why = flow.lost_segments()
    time = np.concatenate([flow.times("rcv"), lost])
    number = np.concatenate([flow.values("rcv"), lost_segment]).astype(np.int64)
    links = flow.details("rcv")
    received, causes = dict.fromkeys(links), dict.fromkeys(why)
    names = [f"received {labelled(link)}" for link in received]
    names += [f"lost {_where(how)}" for how in causes]
    # A link may be called as a place and cause of losses are.
    of_links = {link: place for place, link in enumerate(received)}
    of_causes = {how: place for place, how in enumerate(causes, len(received))}
    end = np.array([*map(of_links.get, links), *map(of_causes.get, why)], dtype=np.int64)
    copies, ends = np.lexsort((sent, segment)), np.lexsort((time, number))
    copy_rank, end_rank = _ranks(segment[copies]), _ranks(number[ends])
    # The k-th copy of a segment to be sent is the k-th to end; a copy that has not has no partner.
    most = int(max(copy_rank.max(initial=0), end_rank.max(initial=0))) + 1
    copy_key = segment[copies] * most + copy_rank
    end_key = number[ends] * most + end_rank
    places = np.searchsorted(copy_key, end_key)
    found = copies[np.minimum(places, max(0, len(copies) - 1))]
    after = np.zeros(len(sent), np.int64)
    how = np.full(len(sent), -1, np.int64)
    after[found] = time[ends] - sent[found]
    how[found] = end[ends]
    # Another copy was under way when this one ended.
    following = np.full(len(sent), np.iinfo(np.int64).max)
    same = np.flatnonzero(np.diff(segment[copies]) == 0)
    following[copies[same]] = sent[copies[same + 1]]
    before = np.zeros(len(sent), np.bool_)
    overlaps = (how >= 0) & (sent + after > following) | (how < 0) & (
        following < np.iinfo(np.int64).max
    )
    before[copies[same + 1]] = overlaps[copies[same]]
    return {
        "after": after,
        "how": how,
        "ends": names,
        "unsure": np.flatnonzero(overlaps | before),
    }


def _ranks(ordered: Ints) -> Ints:
    """The place of each of ordered values among those equal to it."""
    if len(ordered) == 0:
        return ordered
    places = np.arange(len(ordered))
    starts = np.concatenate([[True], np.diff(ordered) != 0])
    ranks: Ints = places - np.maximum.accumulate(np.where(starts, places, 0))
    return ranks


def steps_data(steps: Steps) -> list[Any]:
    """Return times and values of steps as the page reads them, and whether the values are whole
    numbers, which are shorter.
    """
    value = steps.value
    if (np.abs(value) < 2**31).all() and (value == np.round(value)).all():
        return [packed(steps.time_ns), packed(value), 1]
    values = base64.b64encode(value.astype("<f4").tobytes()).decode("ascii")
    return [packed(steps.time_ns), values, 0]


def packed(values: NDArray[Any]) -> str:
    """Return whole numbers as the page reads them: deltas, zigzag, seven bits to a byte."""
    whole = np.asarray(values).astype(np.int64)
    deltas = np.diff(whole, prepend=np.int64(0))
    left = ((deltas << 1) ^ (deltas >> 63)).astype(np.uint64)
    columns, kept = [], []
    more = np.ones(len(left), np.bool_)
    while more.any():
        rest = left >> np.uint64(7)
        byte = (left & np.uint64(0x7F)) | np.where(rest > 0, np.uint64(0x80), np.uint64(0))
        columns.append(byte.astype(np.uint8))
        kept.append(more)
        more, left = more & (rest > 0), rest
    if not columns:
        return ""
    data = np.stack(columns, axis=1)[np.stack(kept, axis=1)]
    return base64.b64encode(data.tobytes()).decode("ascii")
