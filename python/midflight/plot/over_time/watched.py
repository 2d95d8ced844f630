"""The numbers of figures over time: of flows, links and the path between them, for each kind of
panel.

`midflight.plot.over_time.panels` draws these numbers, the interactive page shows them, and `--csv`
writes them. No quantity is required: a flow with a stack that reports no window has none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from midflight.plot.common.line_looks import looks_of_flows
from midflight.plot.common.options import as_names, time_words
from midflight.plot.common.relabel import parts_of
from midflight.plot.common.style import PAGE_IN, SERIES, looks_of
from midflight.plot.over_time.application_panels import (
    bitrate_panel,
    buffer_panel,
    frames_panel,
    objects_panel,
)
from midflight.plot.over_time.applications import (
    OF_APPLICATIONS,
    calls_of,
    end_of_segments,
    has_events,
    segments_of,
    spans_of_segments,
)
from midflight.plot.over_time.bins import (
    LEAST_PAUSE,
    NEAR,
    at_bursts,
    at_instants,
    bin_edges,
    with_whole_bursts,
)
from midflight.plot.over_time.company import company_of, late_words
from midflight.plot.over_time.curves import (
    Curve,
    Panel,
    Values,
    WatchedRun,
    each_line,
    inside,
    is_alone,
    longest,
    nice,
    seconds_text,
)
from midflight.plot.over_time.drained import cuts_of_arrivals, cuts_of_round_trips
from midflight.plot.over_time.followed import followed_of
from midflight.plot.over_time.history import (
    NS_PER_S,
    History,
    RunSource,
    SetupSource,
    names_of,
    plan_of,
    setups_of,
    usual_flow,
    usual_of,
)
from midflight.plot.over_time.intervals import LEAST_INTERVALS, has_whole_bursts, usual_interval
from midflight.plot.over_time.link_rates import rate_in_use, rates_of
from midflight.plot.over_time.marks import GROUPS, TIMEOUTS, check_marks, timeouts
from midflight.plot.over_time.queues import queue_panel
from midflight.plot.over_time.requests import request_rows
from midflight.plot.over_time.sender_panels import (
    cwnd_panel,
    pipe_panel,
    rates_panel,
    sequence_panel,
)
from midflight.plot.over_time.stalls import (
    MOST_EARLY,
    Heard,
    least_stall_s,
    received_from,
    silences,
    stalls_of,
    waits_of,
)
from midflight.plot.over_time.timed import Times, lines_of, unit_of
from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import Setup
    from midflight.policy import Policies

__all__ = [
    "OVER_TIME",
    "WatchedRun",
    "check_interval",
    "delay_of",
    "list_kinds",
    "longest",
    "name_lines",
    "nice",
    "opened_s",
    "panels_of",
    "rate_in_use",
    "watch",
    "watched_runs",
    "without_requests",
]

#: The kinds of panels, in the order in which help lists them.
OVER_TIME = (
    *("throughput", "rates", "queue", "delay", "rtt", "cwnd", "pipe", "sequence"),
    *OF_APPLICATIONS,
)

#: What to say of means that are more than so many times what the link carries in that time, and
#: more by two packets.
_ABOVE = "above a falling rate: data arrives one delay after it left the link"
_MOST_ABOVE, _PACKETS_MBIT = 1.03, 0.024
#: The events that panels of a kind show; others are not recorded. Samples of the RTT are for the
#: interval of means.
_EVENTS: Mapping[str, Sequence[str]] = {
    "throughput": ("rcv", "rto", "request", "object", "segment", "frame", "late_frame", "done"),
    "rates": ("pacing_rate", "delivery_rate"),
    "queue": ("drop", "mark", "rto", "request", "object"),
    "delay": ("rcv",),
    "rtt": (),
    "cwnd": ("cwnd", "ssthresh", "rto"),
    "pipe": ("rto",),
    "sequence": ("ack", "rexmit", "drop", "rto"),
    "bitrate": ("request", "segment", "playing", "stalled"),
    "buffer": ("request", "buffer", "playing", "stalled", "done"),
    "frames": ("frame", "late_frame", "done"),
    "objects": ("request", "object", "rto", "done"),
}
_OF_INTERVALS = "rtt_sample"

#: Of several runs all flows are shown if these are no more lines.
_MOST_ALL = 6
#: However short requested intervals are, a figure has no more, many for each of its pixels.
_MOST_INTERVALS = 100_000


def watch(
    source: RunSource | Mapping[str, RunSource],
    *,
    flows: Sequence[str] = (),
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    kinds: Sequence[str] = (),
    progress: Callable[[int, int], object] | None = None,
) -> list[WatchedRun]:
    """Return one run, or one for each of the `schemes`, which replace that of the flows.

    `flows` are names of flows, and each gets the schemes. The default is all flows of one run, and
    of several sources if these are up to six lines; otherwise it is one: that in which the sources
    differ, if it is known, or the first flow. Several sources by their names are runs with these
    names. If `kinds` of panels are given, only their events are recorded; if all of them are for
    applications, the flows are those with such an application. `progress` is called with the
    numbers of runs that are done and of all. Raises `MidflightError` for invalid arguments, and for
    more lines than a reader can distinguish.
    """
    kinds = list_kinds(kinds)
    how: Any = {"run": run, "schemes": schemes, "policies": policies, "kinds": kinds}
    found = list(watched_runs(source, flows=flows, progress=progress, **how))
    name_lines(found)
    return found


def name_lines(runs: Sequence[WatchedRun]) -> None:
    """Give each flow of each run the name and the look of its line.

    Raises `MidflightError` for more lines than a reader can distinguish.
    """
    _check_lines(sum(len(one.flows) for one in runs))
    # What the looks go by: a flow may have the name of a scheme.
    senders: list[str] = []
    flows: list[str] = []
    for one in runs:
        several = len(one.flows) > 1
        differ = len({history.label for history in one.flows}) > 1
        labels = []
        for history, way in zip(one.flows, one.directions, strict=True):
            words = [history.flow] if several else []
            is_named = len(runs) > 1 or not several or differ
            words += [history.label] * is_named
            sender, of_flow = _sender_of(history, one.names)
            senders.append(sender * (is_named or len(runs) == 1))
            flows.append(of_flow)
            other = f" ({way})" if way != one.directions[0] else ""
            labels.append(", ".join(words) + other)
        one.labels = labels
    # In one run a colour is a flow's, in several a scheme's.
    looks = iter(looks_of(senders) if len(runs) == 1 else looks_of_flows(senders, flows))
    for one in runs:
        one.looks = [next(looks) for _ in one.labels]


def _check_lines(lines: int) -> None:
    """Refuse more lines than a reader can distinguish."""
    if lines > len(SERIES):
        accepted = f"1 to {len(SERIES)}"
        raise refusal(
            f"{lines} lines cannot be told apart; give {accepted}: choose with --flow or --scheme",
            name="lines",
            value=lines,
            accepted=accepted,
        )


def _sender_of(history: History, of_labels: str) -> tuple[str, str]:
    """What has the colour of a line, and what its line style: of a run over several axes
    (`of_labels`) the scheme, and its other values with the flow; of other runs the label, and the
    flow.
    """
    names, values = of_labels.split(", "), parts_of(history.label)
    schemes = [place for place, name in enumerate(names) if name.split(" of ")[0] == "Scheme"]
    if len(names) < 2 or len(names) != len(values) or len(schemes) != 1:
        return history.label, history.flow
    (at,) = schemes
    return values[at], ", ".join([*values[:at], *values[at + 1 :], history.flow])


def list_kinds(kinds: str | Sequence[str]) -> list[str]:
    """Return kinds of panels, each once; a text is one kind.

    Raises `MidflightError` for a kind that does not exist.
    """
    from midflight.meant import did_you_mean

    found = [kinds] if isinstance(kinds, str) else list(dict.fromkeys(kinds))
    accepted = ", ".join(OVER_TIME)
    for kind in found:
        if kind not in OVER_TIME:
            raise refusal(
                f'there is no kind "{kind}"{did_you_mean(str(kind), OVER_TIME)}; expected '
                f"{accepted}",
                name="kinds",
                value=kind,
                accepted=accepted,
            )
    return found


def watched_runs(
    source: RunSource | Mapping[str, RunSource],
    *,
    flows: Sequence[str] = (),
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    most_flows: int | None = None,
    kinds: Sequence[str] = (),
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[WatchedRun]:
    """Yield the runs of `watch` as they are made, with `most_flows` flows at the most."""
    flows, schemes = as_names(flows), as_names(schemes)
    # Each scenario is checked once.
    by_name: dict[str, RunSource] = {
        name: one if isinstance(one, SetupSource) else plan_of(one, policies=policies)
        for name, one in (source if isinstance(source, Mapping) else {"": source}).items()
    }
    calls = {name: calls_of(one, policies) for name, one in by_name.items()}
    segments = {name: segments_of(one, policies) for name, one in by_name.items()}
    recorded = {name: followed_of(one, policies) for name, one in by_name.items()}
    company = {name: company_of(one, run, policies) for name, one in by_name.items()}
    paths = _paths(by_name, policies) if isinstance(source, Mapping) else {}
    listed = [event for kind in kinds for event in (*_EVENTS[kind], _OF_INTERVALS)]
    of = max(1, len(dict.fromkeys(schemes))) * len(by_name)
    made_of = by_name if isinstance(source, Mapping) else by_name[""]
    setups = setups_of(made_of, flows, run, schemes, policies)
    of_applications = not flows and len(kinds) > 0 and {*kinds} <= {*OF_APPLICATIONS}
    wanted = {OF_APPLICATIONS[kind] for kind in kinds} if of_applications else set[str]()

    def names_in(setup: Setup) -> list[str]:
        names = list(dict.fromkeys(flows)) or without_requests(setup)
        names = [one["name"] for one in setup.flows if one["workload"] in wanted] or names
        if not flows and of > 1:
            # Schemes replace that of the first flow.
            few = not schemes and len(names) * len(by_name) <= _MOST_ALL
            names = names if few else names[:1] if schemes else [usual_flow(source, names)]
        return names[:most_flows]

    if not of_applications:
        # Some of these flows may turn out to have none.
        _check_lines(sum(len(names_in(one.setup)) for one in setups))
    for done, (scheme, setup, name_of_source, plain) in enumerate(setups):
        described = {one["name"]: one["scheme"] for one in setup.flows}
        names = names_in(setup)
        how_run: Any = {"path": paths.get(name_of_source, "")}
        how_run |= {"calls": calls[name_of_source], "recorded": recorded[name_of_source]}
        how_run |= {"segments": segments[name_of_source], "company": company[name_of_source]}
        one = WatchedRun(scheme, setup, [], names=names_of(source), **how_run)
        # A run is simulated for each flow, and once more for the links.
        steps = len(names) + 1
        for place, name in enumerate(names):
            if progress:
                progress(done * steps + place, of * steps)
            how: Any = {"flow": name, "alone": len(described) == 1, "senders": one.senders}
            how["setup"] = setup
            how |= {"plain": plain, "usual": usual_of(source)}
            # The core refuses a name that is no flow's.
            trace = setup.trace(flow=name, only=[*dict.fromkeys(listed)])
            label = scheme if isinstance(source, Mapping) else described[name]
            history = History(label, trace, one.moments, **how)
            if not of_applications or has_events(history):
                one.flows.append(history)
        if not one.flows:
            one.flows.append(history)
        # Until there are names for them all.
        one.labels, one.looks = [history.label for history in one.flows], range(len(one.flows))
        if progress:
            progress(done * steps + len(names), of * steps)
            # They are made when they are first used.
            _ = one.samples
            progress((done + 1) * steps, of * steps)
        yield one


def without_requests(setup: Setup) -> list[str]:
    """The names of all flows but those that carry only the requests of an application."""
    names = [one["name"] for one in setup.flows]
    asks = {f"{one['name']}-requests" for one in setup.flows if one["workload"] is not None}
    return [name for name in names if name not in asks]


#: What of a scenario says nothing of its links and handoffs.
_NO_PATH = ("title", "description", "flows", "set", "profile", "runs", "seed", "policies")


def _paths(sources: Mapping[str, RunSource], policies: Policies | None) -> dict[str, str]:
    """The links and handoffs of sources that are scenarios, by their names."""
    found = {}
    for name, one in sources.items():
        if not isinstance(one, SetupSource):
            scenario = json.loads(plan_of(one, policies=policies).canonical)
            kept = {key: value for key, value in scenario.items() if key not in _NO_PATH}
            found[name] = json.dumps(kept, sort_keys=True)
    return found


def panels_of(
    runs: Sequence[WatchedRun],
    kinds: Sequence[str],
    window: tuple[float, float],
    interval_s: float | None = None,
    *,
    may_lack: bool = False,
    width_in: float = PAGE_IN,
    marks: Sequence[str] | None = None,
) -> list[Panel]:
    """Return the panels of these kinds, with their values in a window of time in seconds.

    `interval_s` is the length of the intervals of mean throughputs and, if given, of quantiles. The
    usual one depends on the width of the figure. A panel has no curves if the runs have no values
    for it, and the reason in `lacks`. `marks` are the events that are marked
    (`midflight.plot.over_time.marks`), by default all. Raises `MidflightError` if no panel has
    curves, unless they `may_lack` them.
    """
    check_interval(interval_s, window, longest(runs).end_ns / NS_PER_S)
    if interval_s is None:
        interval, is_fixed = usual_interval(runs, window, width_in)
        # Medians of the times of packets need no whole round trips, as means of bursts do.
        interval = nice(interval) if {*kinds} <= {"delay", "rtt"} else interval
    else:
        interval, is_fixed = interval_s, True
    marked = check_marks(marks)
    left_out = {
        draw
        for group in GROUPS
        if marked is not None and group not in marked
        for draw in GROUPS[group]
    }
    found = []
    for kind in dict.fromkeys(kinds):
        given: Any = {"width_in": width_in} if kind in ("queue", "cwnd") else {}
        given |= {"is_fixed": is_fixed} if kind == "queue" else {}
        panel = _KINDS[kind](runs, window, interval, **given)
        curves = [one for one in panel.curves if len(one.time_s) and one.draw not in left_out]
        if not any(one.draw != "area" for one in curves):
            curves = []
        lacks = _lacks(panel, runs, window, interval)
        how: Any = {"lacks": lacks, "are_marks_asked": marked is not None}
        found.append(replace(panel, curves=curves, **how))
    if not may_lack and not any(panel.curves for panel in found):
        names = [one.kind for one in found]
        why = [why.removeprefix(f"{one.kind}: ") for one in found for why in one.lacks]
        raise refusal(
            f"there is nothing to draw of {', '.join(names)}: {'; '.join(dict.fromkeys(why))}",
            name="kind",
            value=", ".join(names),
            accepted=", ".join(one for one in OVER_TIME if one not in names),
        )
    return found


def check_interval(interval_s: float | None, window: tuple[float, float], end_s: float) -> None:
    """Raise `MidflightError` for an interval of means that is no time above 0, or with which a
    window of time would have more than `_MOST_INTERVALS`; None is the usual one. The runs end at
    `end_s`.
    """
    if interval_s is None:
        return
    least = nice((window[1] - window[0]) / _MOST_INTERVALS)
    if not least <= interval_s < math.inf:
        raise refusal(
            f"--interval {time_words(interval_s)} is not accepted; to show {window[0]:g} s to "
            f"{min(window[1], end_s):g} s give {1000 * least:g} ms or more",
            name="--interval",
            value=time_words(interval_s),
            accepted=f"{1000 * least:g} ms or more",
        )


#: Why the lines of a kind may have no values in the whole run.
_UNTOLD: Mapping[str, str] = {
    "rates": "no pacing rate and no samples of the delivery rate (BBR has both)",
    "rtt": "no samples of the RTT",
    "cwnd": "no window is reported",
    "pipe": "no pipe is reported",
}


def _lacks(
    panel: Panel, runs: Sequence[WatchedRun], window: tuple[float, float], interval: float
) -> list[str]:
    """Which lines have no values in a panel, and why."""
    end = min(window[1], longest(runs).end_ns / NS_PER_S)
    outside = f"no values from {window[0]:g} s to {end:g} s"
    if panel.kind == "queue" or panel.kind in OF_APPLICATIONS:
        # Links are no flows, and few flows have a requested application.
        if any(len(one.time_s) for one in panel.curves):
            return []
        workload = OF_APPLICATIONS.get(panel.kind)
        has_one = any(one["workload"] == workload for run in runs for one in run.setup.flows)
        names_workload = workload is None or has_one
        return [f"{panel.kind}: {outside if names_workload else f'no flow is a {workload}'}"]
    named = [how for _, _, how in each_line(runs)]

    def lines_of(one: Panel) -> set[tuple[str, str]]:
        shown = (curve for curve in one.curves if curve.draw != "area" and len(curve.time_s))
        return {(curve.flow, curve.scheme) for curve in shown}

    there = lines_of(panel)
    if all((how["flow"], how["scheme"]) in there for how in named):
        return []
    whole = (0.0, max(longest(runs).end_ns / NS_PER_S, 1e-6))
    # A short window has fine intervals, of which a whole run would have millions.
    ever = lines_of(_KINDS[panel.kind](runs, whole, max(interval, whole[1] / LEAST_INTERVALS)))
    why: dict[str, list[str]] = {}
    for how in named:
        key = how["flow"], how["scheme"]
        if key not in there:
            untold = _UNTOLD.get(panel.kind, "no values")
            why.setdefault(outside if key in ever else untold, []).append(how["label"])
    words = []
    for reason, labels in why.items():
        words.append(f"{panel.kind}: {', '.join(labels)}: {reason}")
    return words


def _throughput(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    longest_run = longest(runs)
    edges = bin_edges(window, interval, longest_run.end_ns / NS_PER_S, longest_run.cuts)
    curves, found = rates_of(runs, window, edges), []
    lines: list[tuple[WatchedRun, History, Curve]] = []
    marked: list[list[Curve]] = []
    for run, flow, how in each_line(runs):
        at, bits = flow.times("rcv") / NS_PER_S, 8 * flow.sizes("rcv")
        # Where the packets' sizes are unknown, all segments are full.
        payload = {one["name"]: one["payload_bytes"] for one in run.setup.flows}[flow.flow]
        bits = np.where(np.isnan(bits), 8.0 * payload, bits)
        edges = _edges(run, flow, window, interval)
        if len(edges) > 1:
            sums, _ = np.histogram(at, bins=edges, weights=bits)
            means = sums / _lengths(run, flow, at, edges) / 1e6
            # The last one holds to the end of its interval.
            value = np.append(means, means[-1])
            line = Curve(draw="steps", time_s=edges, value=value, of_intervals=True, **how)
            lines.append((run, flow, line))
            marks = timeouts(flow, line, window, alone=is_alone(runs))
            least, waits = least_stall_s(run, flow), waits_of(run, flow)
            # What waits to the end of the run may arrive after it.
            heard = np.append(at, [flow.end_ns / NS_PER_S] if flow.is_waiting else [])
            at_timeouts = [one for one in marks if one.draw in TIMEOUTS]
            found.append(Heard(heard, line, at_timeouts, least, waits, run.gaps))
            marked.append([*marks, *request_rows(run, flow, how, window, alone=is_alone(runs))])
    each_stalls = stalls_of(found, alone=is_alone(runs))
    for one, stalls, marks in zip(found, each_stalls, marked, strict=True):
        curves += [one.line, *stalls, *marks]
    drawn = [one for one in curves if len(one.time_s)]
    said = f"means of {seconds_text(interval)}"
    are_whole = [interval >= run.segments.get(flow.flow, math.inf) for run, flow, _ in lines]
    if any(are_whole):
        whole = "means per video segment, pauses included"
        said = whole if all(are_whole) else f"{said}, of videos per segment"
    rate = next((one for one in curves if one.exact is not None), None)
    # What the old link still carries after a handoff is told by itself.
    above = rate is not None and any(
        len(run.recorded_rates) > 0
        and run.direction_of(flow) == longest_run.directions[0]
        and _is_above(line, rate)
        for run, flow, line in lines
    )
    detail = "; ".join(filter(None, (said, _ABOVE * above, late_words(lines))))
    return Panel("throughput", "Throughput\n(Mbit/s)", "Mbit/s", drawn, detail)


def _is_above(line: Curve, rate: Curve) -> bool:
    """Whether a mean of a throughput is above that of the rate of the link in the same time."""
    assert rate.exact is not None
    time, value = rate.exact
    if len(time) < 2 or np.isnan(value).any():
        return False
    sums = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time))])
    lengths = np.diff(line.time_s)
    carried = np.diff(np.interp(line.time_s, time, sums))
    arrived = line.value[:-1] * lengths
    is_above = arrived > _MOST_ABOVE * carried + _PACKETS_MBIT
    # Outages are marked.
    return bool((is_above & (carried > 0)).any())


def _edges(run: WatchedRun, flow: History, window: tuple[float, float], interval: float) -> Values:
    """The edges of the intervals of a throughput in a window, in seconds: the first one begins with
    the first data that arrive, the last one ends with the last data of a flow that is done, and one
    begins where data arrive after nothing did for longer than an interval. A mean across these
    would be seen before its data arrive. Bursts have whole intervals.
    """
    begin, silent, again = silences(flow, window)
    if (opened := opened_s(run, flow)) is not None:
        begin = max(window[0], min(begin, opened))
    received = received_from(flow, again)
    cuts = np.array(at := cuts_of_arrivals(run, flow, NEAR * interval))
    own = [
        early if one - early <= MOST_EARLY * interval else one
        for one, early in zip(again[silent > interval], received[silent > interval], strict=True)
        if not (np.abs(cuts - one) < NEAR * interval).any()
    ]
    segment_s = run.segments.get(flow.flow, math.inf)
    requested, read = spans_of_segments(flow)
    is_whole = interval >= segment_s
    # Where a video waits before its next request, its mean ends with what has been read.
    waits = np.append(requested[1 : len(read) + 1], np.inf)[: len(read)] - read > interval
    parts = [] if is_whole else [one for one in read[waits] if one > begin]
    ends = sorted([*at, begin, *own, *parts])
    # The last segment of a video may be over a time as long as the others.
    end_ns = flow.end_ns if is_whole else flow.received_ns
    edges = bin_edges((begin, window[1]), interval, end_ns / NS_PER_S, ends)
    if is_whole:
        last = end_of_segments(flow, segment_s)
        return at_instants(edges, np.append(requested, last), ends, interval)
    # The first data are a burst if nothing arrives then for longer than an interval.
    data = flow.times("rcv")[flow.values("rcv") > 0] / NS_PER_S
    following = np.append(data, np.inf)[behind := int(np.searchsorted(data, begin + interval))]
    is_burst = behind > 0 and following - data[behind - 1] > interval
    begins = [begin, *own] if is_burst else own
    # Of data that arrive after the window none are drawn.
    whole = with_whole_bursts(edges, begins, interval, at, data[data <= edges[-1]])
    if not has_whole_bursts(run, flow, interval):
        return whole
    is_pause = silent >= LEAST_PAUSE * interval
    near = again - received <= MOST_EARLY * interval
    bursts = np.where(near, received, again)[is_pause].tolist()
    # A run may end in a burst.
    last_s = math.inf if flow.received_ns < flow.end_ns else flow.end_ns / NS_PER_S
    return at_bursts(whole, bursts, interval, [*at, begin, *own], last_s)


def opened_s(run: WatchedRun, flow: History) -> float | None:
    """When a flow opened that sends as much in all times, in seconds: a call; None of others."""
    sent = flow.sent_ns("rcv") if run.workload_of(flow) == "call" else np.empty(0)
    return float(np.nanmin(sent)) / NS_PER_S if len(sent) and not np.isnan(sent).all() else None


def _lengths(run: WatchedRun, flow: History, arrivals_s: Values, edges: Values) -> Values:
    """The times that the means of intervals are over: their lengths, and of the last one of a call,
    which ends with a frame, that for which its frames are.
    """
    lengths: Values = np.diff(edges)
    frame_s = run.calls[flow.flow].interval_s if flow.flow in run.calls else 0.0
    if frame_s and len(arrivals_s) and edges[-1] >= arrivals_s[-1]:
        lengths[-1] = frame_s * math.ceil(lengths[-1] / frame_s - 1e-6)
    return lengths


def _timed(
    kind: str,
    title: str,
    of: Callable[[History], tuple[Values, Values]],
    cuts: Callable[[WatchedRun, History], list[float]],
    runs: Sequence[WatchedRun],
    window: tuple[float, float],
    interval: float,
) -> Panel:
    """Times in seconds that packets take."""
    found = []
    for run, flow, how in each_line(runs):
        time, value = of(flow)
        seen = inside(time, window)
        edges = bin_edges(window, interval, flow.end_ns / NS_PER_S, cuts(run, flow))
        found.append(Times(how, edges, time[seen], value[seen], run.gaps))
    unit, scale = unit_of(found)
    curves, detail = lines_of(found, interval, scale)
    return Panel(kind, f"{title}\n({unit})", unit, curves, detail)


def delay_of(flow: History) -> tuple[Values, Values]:
    """When each segment arrives, and its one-way delay, in seconds."""
    at, sent = flow.times("rcv"), flow.sent_ns("rcv")
    known = ~np.isnan(sent)
    return at[known] / NS_PER_S, (at[known] - sent[known]) / NS_PER_S


def _delay(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    return _timed("delay", "One-way delay", delay_of, cuts_of_arrivals, runs, window, interval)


def _rtt(runs: Sequence[WatchedRun], window: tuple[float, float], interval: float) -> Panel:
    def samples(flow: History) -> tuple[Values, Values]:
        return flow.times("rtt_sample") / NS_PER_S, flow.values("rtt_sample")

    return _timed("rtt", "RTT samples", samples, cuts_of_round_trips, runs, window, interval)


_KINDS: Mapping[str, Callable[[Sequence[WatchedRun], tuple[float, float], float], Panel]] = {
    "throughput": _throughput,
    "rates": rates_panel,
    "queue": queue_panel,
    "delay": _delay,
    "rtt": _rtt,
    "cwnd": cwnd_panel,
    "pipe": pipe_panel,
    "sequence": sequence_panel,
    "bitrate": bitrate_panel,
    "buffer": buffer_panel,
    "frames": frames_panel,
    "objects": objects_panel,
}
