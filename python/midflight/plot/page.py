"""The interactive time-sequence page: one HTML file that needs no network.

The page contains the packets of a run as deltas in numbers of variable length (seven bits to a
byte, the sign in the lowest bit), in base64. The code that reads them is `templates/page.js`.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.applications import (
    OF_APPLICATIONS,
    buffer_of,
    frames_of,
    has_events,
    objects_of,
    stalls_of,
)
from midflight.plot.history import (
    NS_PER_S,
    History,
    RunSource,
    SetupSource,
    Steps,
    plan_of,
    time_shown,
)
from midflight.plot.room import extremes
from midflight.plot.watched import WatchedRun, nice, panels_of, watched_runs
from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["MOST_EVENTS", "page_html", "plot_page"]

#: Above this a page opens slowly.
MOST_EVENTS = 6_000_000

#: The data of a page is no longer than that: the page stays under 5 MB.
MOST_CHARACTERS = 4_800_000
#: Of a thinned page: segments lost or sent again, and steps of a line that are never thinned.
_MOST_SPECIAL = 60_000
_LEAST_STEPS = 8_000
#: Means of the throughput.
_INTERVALS = 200

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


def plot_page(
    source: RunSource,
    path: str | Path,
    *,
    flow: str | None = None,
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    from_s: float | None = None,
    until_s: float | None = None,
    segments: tuple[int, int] | None = None,
    command: str = "",
) -> Path:
    """Write the interactive time-sequence page of a flow of a scenario's run; return its path.

    The arguments are those of `plot_run`. The page contains the whole run; the requested time and
    segments are its first view. `command` is the command that makes the page again; the page shows
    it.

    Raises `MidflightError` for an invalid argument, `OSError` for a file that cannot be written.
    """
    html = page_html(
        source,
        flow=flow,
        run=run,
        schemes=schemes,
        policies=policies,
        view=(from_s, until_s, segments),
        command=command,
    )
    path = Path(path)
    path.write_text(html, encoding="utf-8")
    return path


def page_html(
    source: RunSource,
    *,
    flow: str | None = None,
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    view: tuple[float | None, float | None, tuple[int, int] | None] = (None, None, None),
    command: str = "",
) -> str:
    """Return the page of `plot_page`; `view` is its first view: from, until, segments."""
    from markupsafe import Markup

    import midflight
    from midflight.report import environment

    title, description, seed = headings(source, policies, command)
    watched = list(
        watched_runs(
            source,
            flows=() if flow is None else (flow,),
            run=run,
            schemes=schemes,
            policies=policies,
            most_flows=1,
        )
    )
    runs = [one.flows[0] for one in watched]
    events = sum(map(len, runs))
    if events > MOST_EVENTS:
        accepted = "fewer schemes, an earlier end, or a figure (.png, .svg, .pdf)"
        raise refusal(
            f"{events} events are too many for a page, which holds {MOST_EVENTS}; give {accepted}",
            name="events",
            value=events,
            accepted=accepted,
        )
    from_s, until_s, segments = view
    time_shown(runs, from_s, until_s)
    whole = (0.0, max(one.end_ns for one in runs) / NS_PER_S)
    interval = nice(max(whole[1], 1e-6) / _INTERVALS)
    panels = [_below(one, whole, interval) for one in watched]
    text, every = "", 1
    while not text or len(text) > MOST_CHARACTERS:
        if text:
            # So many times too large, and a little for what is always there.
            every = max(every + 1, math.ceil(1.05 * every * len(text) / MOST_CHARACTERS))
        settings = {"from": from_s, "until": until_s, "segments": segments, "interval": interval}
        parts = zip(runs, panels, watched, strict=True)
        each = [_run(one, every) | below | _application(of, every) for one, below, of in parts]
        # "<" would let a name end the element that holds the data.
        text = json.dumps({"runs": each, **settings}, separators=(",", ":"), allow_nan=False)
        text = text.replace("<", "\\u003c")
        if every > 10 * events:
            break
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            description=description,
            flow=runs[0].flow,
            run=run,
            seed=seed,
            runs=[_facts(one) for one in runs],
            version=midflight.__version__,
            model=midflight.MODEL_VERSION,
            command=command,
            thinned=_thinned_text(every) if every > 1 else "",
            data=Markup(text),
        )
    )


def headings(
    source: RunSource, policies: Policies | None, command: str
) -> tuple[str, str, int | None]:
    """Return title, description and seed of the scenario or question."""
    from midflight.scenario import title_of

    if isinstance(source, SetupSource):
        return source.headings
    scenario = json.loads(plan_of(source, policies=policies).canonical)
    description = " ".join((scenario.get("description") or "").split())
    name = str(source) if isinstance(source, (str, Path)) else ""
    return title_of(scenario, command, name), description, scenario["seed"]


def _facts(one: History) -> dict[str, Any]:
    """The row of a run in the table of runs."""
    return {
        "label": one.label,
        "sent": len(one.rows("send")),
        "rexmits": len(one.rows("rexmit")),
        "lost": len(one.lost),
        "timeouts": len(one.rows("rto")),
        "spurious": one.details("rto").count("spurious"),
        "end_s": one.end_ns / NS_PER_S,
        "digest": one.digest,
    }


def _thinned_text(every: int) -> str:
    number = {2: "second", 3: "third"}.get(every, f"{every}th")
    return (
        f"To stay small, the page has every {number} new segment and ACK, beside all that was lost "
        "or sent again while that is not too much. Windows, timers and flight keep the least and "
        "the greatest value of each short time."
    )


def _below(one: WatchedRun, window: tuple[float, float], interval: float) -> dict[str, Any]:
    """The data of the lower panels of a run other than its windows and its timer."""
    none = Steps(np.empty(0, np.int64), np.empty(0))
    found = {"throughput": none, "rate": none, "queue": none, "queueMost": none}
    for panel in panels_of([one], ("throughput", "queue"), window, interval, may_lack=True):
        for curve in panel.curves:
            time = np.round(curve.time_s * NS_PER_S).astype(np.int64)
            name = "rate" if curve.draw == "area" else panel.kind
            if panel.kind == "queue" and curve.draw != "queue":
                continue
            if panel.kind == "queue":
                most = curve.value if curve.high is None else curve.high
                found["queue"] = _added(found["queue"], time, curve.value)
                found["queueMost"] = _added(found["queueMost"], time, most)
            else:
                known = np.isfinite(curve.value)
                found[name] = Steps(time[known], curve.value[known])
    return {name: _steps(steps) for name, steps in found.items()}


def _application(run: WatchedRun, every: int) -> dict[str, Any]:
    """What the panel below shows of a video, a call or a page, if the flow is one.

    Of a thinned page's frames in time there is only every so many; late and lost ones are all
    there.
    """
    flow, found = run.flows[0], dict[str, Any]()
    workload = run.workload_of(flow)
    # A flow of a workload that only carries its requests has no events of it.
    if not has_events(flow):
        return found
    if workload == OF_APPLICATIONS["buffer"]:
        time, level = buffer_of(flow)
        found["buffer"] = _steps(Steps(_ns(time), level))
        found["stalls"] = [[_whole(begin), _whole(end)] for begin, end in stalls_of(flow)]
    if workload == OF_APPLICATIONS["frames"]:
        frames = frames_of(flow)
        kept = frames.is_late | (np.arange(len(frames.made_s)) % every == 0)
        order = np.argsort(frames.made_s[kept], kind="stable")
        took_ms = (frames.took_s[kept][order] * 1e3).astype("<f4")
        found["frames"] = {
            "made": packed(_ns(frames.made_s[kept][order])),
            "took": base64.b64encode(took_ms.tobytes()).decode("ascii"),
            "late": packed(frames.is_late[kept][order]),
            "lost": packed(_ns(frames.lost_s)),
            "deadline": 1e3 * run.deadlines[flow.flow] if flow.flow in run.deadlines else None,
        }
    if workload == OF_APPLICATIONS["objects"]:
        numbers, begins, ends = objects_of(flow)
        until = np.where(np.isnan(ends), -1 / NS_PER_S, ends)
        columns = {"number": numbers, "begin": _ns(begins), "end": _ns(until)}
        found["objects"] = {name: packed(column) for name, column in columns.items()}
    return found


def _ns(time_s: NDArray[np.float64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.round(time_s * NS_PER_S).astype(np.int64)
    return found


def _whole(time_s: float) -> int:
    return round(time_s * NS_PER_S)


def _added(so_far: Steps, time: NDArray[np.int64], value: NDArray[np.float64]) -> Steps:
    """Steps with those of another link, sampled at the same times, added to them."""
    return Steps(time, value + so_far.value if len(so_far.value) else value)


def _kept(one: History, kinds: NDArray[np.int64], lost: NDArray[np.bool_], every: int) -> Any:
    """The segments that were sent, and the ACKs, that a thinned page keeps.

    It keeps all losses and retransmissions, unless they alone are more than the page may have.
    """
    segment = one.values(*_SENT)
    special = lost | (kinds > 0) | np.isin(segment, segment[kinds > 0])
    place = np.cumsum(~special)
    of_special = max(1, math.ceil(special.sum() / (_MOST_SPECIAL / max(1.0, every / 64))))
    keep = np.where(special, np.cumsum(special) % of_special == 0, place % every == 0)
    acks = np.arange(len(one.rows("ack"))) % every == 0
    acks[-1:] = True
    return keep, acks


def _thinned(steps: Steps, every: int) -> Steps:
    """Steps thinned to the first, least, greatest and last value of each short interval."""
    if every == 1 or len(steps.value) < _LEAST_STEPS:
        return steps
    bins = max(_LEAST_STEPS // 4, len(steps.value) // (4 * every))
    end = max(1, int(steps.time_ns[-1]) - int(steps.time_ns[0]))
    column = ((steps.time_ns - steps.time_ns[0]) * (bins / end)).astype(np.int64)
    kept = extremes(column, steps.value)
    return Steps(steps.time_ns[kept], steps.value[kept])


def _run(one: History, every: int = 1) -> dict[str, Any]:
    """One run in the form that the page reads, with a thinned number of usual packets; times in
    nanoseconds.
    """
    rows = one.rows(*_SENT)
    kinds = np.zeros(len(rows), np.int64)
    for number, event in enumerate(_SENT):
        kinds[np.isin(rows, one.rows(event), assume_unique=True)] = number
    fates = _fates(one)
    acks, value = one.times("ack"), one.values("ack")
    sent, segment, said = one.times(*_SENT), one.values(*_SENT), one.details(*_SENT)
    ack_said, lost_acks = one.details("ack"), _lost_acks(one)
    more: dict[str, Any] = {}
    if every > 1:
        is_lost = np.array([name.startswith("lost ") for name in fates["ends"]] + [False])
        keep, kept_acks = _kept(one, kinds, is_lost[fates["how"]], every)
        unsure = np.zeros(len(sent), np.bool_)
        unsure[fates["unsure"]] = True
        fates |= {name: fates[name][keep] for name in ("after", "how")}
        fates["unsure"] = np.flatnonzero(unsure[keep])
        sent, segment, kinds = sent[keep], segment[keep], kinds[keep]
        said = [said[place] for place in np.flatnonzero(keep)]
        acks, value = acks[kept_acks], value[kept_acks]
        ack_said = [ack_said[place] for place in np.flatnonzero(kept_acks)]
        lost_acks = lost_acks[:: max(1, len(lost_acks) // (_MOST_SPECIAL // 10))]
        more["flight"] = _steps(_thinned(one.flight, every))
    for name in ("after", "how", "unsure"):
        fates[name] = packed(fates[name])
    return {
        "label": one.label,
        "end": one.end_ns,
        "every": every,
        "sent": packed(sent),
        "segment": packed(segment),
        "kind": packed(kinds),
        "said": _said(said),
        **fates,
        "ack": packed(acks),
        "acked": packed(value),
        "ackSaid": _said(ack_said),
        "ackLost": lost_acks,
        "cwnd": _steps(_thinned(one.steps("cwnd"), every)),
        "ssthresh": _steps(_thinned(one.steps("ssthresh"), every)),
        "rto": _steps(_thinned(one.steps("rto_value"), every)),
        "rtt": _steps(_thinned(Steps(one.times("rtt_sample"), one.values("rtt_sample")), every)),
        **more,
        "notes": sorted(
            [int(time), event, value, detail]
            for event in _NOTES
            for time, value, detail in zip(
                one.times(event), one.values(event).tolist(), one.details(event), strict=True
            )
        ),
        "orders": [list(order) for order in one.orders],
        "moments": [list(moment) for moment in one.moments],
        "outages": [list(outage) for outage in one.outages],
    }


def _said(details: Sequence[str]) -> dict[int, str]:
    """Texts of the packets that have one, by their index."""
    return {place: detail for place, detail in enumerate(details) if detail}


def _lost_acks(one: History) -> list[list[Any]]:
    """Lost ACKs: when, which number, where and why."""
    each = zip(*one.lost_acks(), strict=True)
    return [[int(time), int(value), where_and_why] for time, value, where_and_why in each]


def _fates(one: History) -> dict[str, Any]:
    """When each copy of a segment arrived or was lost, and which: the index of a name in `ends`.

    The trace has numbers of segments, not of copies. If several copies are in flight at the same
    time, the first one sent is assumed to be the first to arrive or be lost; `unsure` marks these.
    """
    sent, segment = one.times(*_SENT), one.values(*_SENT).astype(np.int64)
    lost, lost_segment, why = one.lost_segments()
    time = np.concatenate([one.times("rcv"), lost])
    number = np.concatenate([one.values("rcv"), lost_segment]).astype(np.int64)
    words = [f"received {link}" for link in one.details("rcv")] + [f"lost {how}" for how in why]
    names = list(dict.fromkeys(words))
    place_of = {name: place for place, name in enumerate(names)}
    end = np.array([place_of[word] for word in words], dtype=np.int64)
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


def _ranks(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each of ordered values among those equal to it."""
    if len(ordered) == 0:
        return ordered
    places = np.arange(len(ordered))
    starts = np.concatenate([[True], np.diff(ordered) != 0])
    ranks: NDArray[np.int64] = places - np.maximum.accumulate(np.where(starts, places, 0))
    return ranks


def _steps(steps: Steps) -> list[str]:
    values = base64.b64encode(steps.value.astype("<f4").tobytes()).decode("ascii")
    return [packed(steps.time_ns), values]


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
