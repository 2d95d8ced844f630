"""The interactive time-sequence page: one HTML file that needs no network.

The packets of a run are in the page as deltas in numbers of variable length (seven bits to a byte,
the sign in the lowest bit), in base64. What the page does with them is in `templates/page.js`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.history import (
    NS_PER_S,
    History,
    RunSource,
    SetupSource,
    Steps,
    histories,
    plan_of,
    time_shown,
)
from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["MOST_EVENTS", "page_html", "plot_page"]

#: Above this a page opens slowly.
MOST_EVENTS = 6_000_000

#: What was put on the network, in the page's numbers of kinds.
_SENT = ("send", "rexmit", "window_probe")
#: Events that are told as they are.
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

    The arguments are those of `plot_run`; the page has the whole run, of which it first shows the
    time and the segments asked for. `command` is what makes it again, as the page says.

    Raises `MidflightError` for what is not accepted, `OSError` for a place that cannot be written.
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
    """Return the page of `plot_page`; `view` is what it first shows: from, until, segments."""
    from markupsafe import Markup

    import midflight
    from midflight.report import environment

    title, description, seed = headings(source, policies)
    runs = histories(source, flow=flow, run=run, schemes=schemes, policies=policies)
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
    data = {
        "runs": [_run(one) for one in runs],
        "from": from_s,
        "until": until_s,
        "segments": segments,
    }
    # "<" would let a name end the element that holds the data.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
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
            data=Markup(text),
        )
    )


def headings(source: RunSource, policies: Policies | None) -> tuple[str, str, int | None]:
    """Return title, description and seed of what is shown."""
    if isinstance(source, SetupSource):
        return source.headings
    scenario = json.loads(plan_of(source, policies=policies).canonical)
    description = " ".join((scenario.get("description") or "").split())
    return scenario.get("title") or "A run", description, scenario["seed"]


def _facts(one: History) -> dict[str, Any]:
    """What the table of runs says of one."""
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


def _run(one: History) -> dict[str, Any]:
    """One run as the page takes it; times in nanoseconds."""
    rows = one.rows(*_SENT)
    kinds = np.zeros(len(rows), np.int64)
    for number, event in enumerate(_SENT):
        kinds[np.isin(rows, one.rows(event), assume_unique=True)] = number
    fates = _fates(one)
    acks, value = one.times("ack"), one.values("ack")
    return {
        "label": one.label,
        "end": one.end_ns,
        "sent": packed(one.times(*_SENT)),
        "segment": packed(one.values(*_SENT)),
        "kind": packed(kinds),
        "said": _said(one.details(*_SENT)),
        **fates,
        "ack": packed(acks),
        "acked": packed(value),
        "ackSaid": _said(one.details("ack")),
        "ackLost": _lost_acks(one),
        "cwnd": _steps(one.steps("cwnd")),
        "ssthresh": _steps(one.steps("ssthresh")),
        "rto": _steps(one.steps("rto_value")),
        "rtt": _steps(Steps(one.times("rtt_sample"), one.values("rtt_sample"))),
        "notes": sorted(
            [int(time), event, value, detail]
            for event in _NOTES
            for time, value, detail in zip(
                one.times(event), one.values(event).tolist(), one.details(event), strict=True
            )
        ),
        "orders": [list(order) for order in one.orders],
        "moments": [list(moment) for moment in one.moments],
    }


def _said(details: Sequence[str]) -> dict[int, str]:
    """What the few packets say that say something, by their place."""
    return {place: detail for place, detail in enumerate(details) if detail}


def _lost_acks(one: History) -> list[list[Any]]:
    """Lost ACKs: when, which number, where and why."""
    each = zip(*one.lost_acks(), strict=True)
    return [[int(time), int(value), where_and_why] for time, value, where_and_why in each]


def _fates(one: History) -> dict[str, Any]:
    """When each copy of a segment ended its way, and how: the place of a name in `ends`.

    The trace has numbers of segments. Of copies that are under way at the same time, the first one
    sent is taken for the first to end; those it may be wrong of are `unsure`.
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
        "after": packed(after),
        "how": packed(how),
        "ends": names,
        "unsure": packed(np.flatnonzero(overlaps | before)),
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
