"""The interactive page: one HTML file that needs no network.

A page has one or several runs, each with one or several flows. A flow of a run is a line of its
graph, with the name and the colour that it has in a figure over time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.plot.common.line_looks import look_of, plain_look
from midflight.plot.common.options import check_scales
from midflight.plot.common.plain import usual_of_flows
from midflight.plot.common.style import LINKS, SERIES, chosen_style, labelled, usually
from midflight.plot.over_time.followed import time_title
from midflight.plot.over_time.history import (
    NS_PER_S,
    History,
    RunSource,
    SetupSource,
    names_of,
    plan_of,
    time_shown,
)
from midflight.plot.over_time.marks import EVENTS, LASTING_WORDS
from midflight.plot.over_time.together import styles_of
from midflight.plot.over_time.watched import (
    WatchedRun,
    check_interval,
    name_lines,
    panels_of,
    rate_in_use,
    watched_runs,
)
from midflight.plot.page.data import (
    Line,
    Thinning,
    near_widths,
    path_data,
    queues_data,
    silent_data,
)
from midflight.plot.page.means import intervals_of
from midflight.refusal import names_arguments, refusal

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["page_html", "plot_page"]

#: The data of a page is no longer than that: the page stays under 5 MB.
MOST_CHARACTERS = 4_800_000
#: Of the room of a thinned page this share is for packets near what one looks for.
_NEAR = 0.5
#: The data of a segment and its ACK, about.
_CHARACTERS = 20

#: The lower panels whose axis has a scale, by the kinds of panels of figures.
_PANELS = {
    **{"throughput": "throughput", "queue": "queue"},
    **{"rtt": "timer", "cwnd": "window", "pipe": "pipe"},
}

#: The colours of `SERIES` in front of a dark background.
DARK_SERIES = (
    *("#5cb3f0", "#f2b134", "#3fce9f", "#e6a0c8", "#f2f2f2"),
    *("#ff8f57", "#a5dcff", "#bb92ff", "#c9a07a"),
)
#: Those of `LINKS`.
DARK_LINKS = ("#c3cad1", "#838c95")


@names_arguments
def plot_page(
    source: RunSource | Mapping[str, RunSource],
    path: str | Path,
    *,
    flow: str | Sequence[str] | None = None,
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    from_s: float | None = None,
    until_s: float | None = None,
    segments: tuple[int, int] | None = None,
    labels: Mapping[str, str] | None = None,
    interval_s: float | None = None,
    yscale: str | Mapping[str, str] | None = None,
    command: str = "",
) -> Path:
    """Write the interactive page of a scenario's run, or of several; return its path.

    `source`, `run`, `schemes` and `policies` are as for `plot_over_time`; several sources by their
    names are runs with these names. `flow` is a name or several, with the default of
    `plot_over_time`. The page contains the whole runs; the requested time and segments are its
    first view. `labels` are other names for lines, flows and links, by the usual ones. Means are of
    `interval_s` seconds, or else of those of figures, and of shorter times the closer the reader
    looks. `yscale`, as for `plot_over_time`, is the first scale of the axes of the lower panels.
    `command` is the command
    that makes the page again; the page shows it.

    Raises `MidflightError` for an invalid argument, `OSError` for a file that cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".html":
        raise refusal(
            f'"{path}" is not the name of a page; it ends in .html',
            name="path",
            value=str(path),
            accepted=".html",
        )
    with chosen_style(labels=labels):
        html = page_html(
            source,
            flows=() if flow is None else (flow,) if isinstance(flow, str) else flow,
            run=run,
            schemes=schemes,
            policies=policies,
            view=(from_s, until_s, segments),
            interval_s=interval_s,
            yscale=yscale,
            command=command,
        )
    path.write_text(html, encoding="utf-8")
    return path


def page_html(
    source: RunSource | Mapping[str, RunSource],
    *,
    flows: Sequence[str] = (),
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    view: tuple[float | None, float | None, tuple[int, int] | None] = (None, None, None),
    interval_s: float | None = None,
    yscale: str | Mapping[str, str] | None = None,
    command: str = "",
    titled: RunSource | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> str:
    """Return the page of `plot_page`; `view` is its first view: from, until, segments. The page has
    the title of `titled`, or else of the first source. `progress` is called with the numbers of
    simulations that are done and of all.
    """
    from markupsafe import Markup

    import midflight
    from midflight.report import environment

    scales = {
        _PANELS.get(kind, ""): scale == "log"
        for kind, scale in check_scales(yscale, list(_PANELS), list(_PANELS)).items()
    }
    how: Any = {"run": run, "schemes": schemes, "policies": policies, "progress": progress}
    # A default has no more lines than there are colours; named flows that are too many are refused.
    how["most_flows"] = None if flows else len(SERIES)
    runs = list(watched_runs(source, flows=flows, **how))
    name_lines(runs)
    if titled is None:
        titled = next(iter(source.values())) if isinstance(source, Mapping) else source
    title, description, seed = headings(titled, policies, command)
    lines = [(one, flow) for one in runs for flow in one.flows]
    from_s, until_s, segments = view
    time_shown([flow for _, flow in lines], from_s, until_s)
    with usually(usual_of_flows(flow for _, flow in lines)):
        data, thinning = _data(runs, interval_s)
        settings = {"from": from_s, "until": until_s, "segments": segments, "scales": scales}
        # "<" would let a name end the element that holds the data.
        text = _text(data | settings).replace("<", "\\u003c")
        flows_shown = list(dict.fromkeys(flow.flow for _, flow in lines))
        others = [one["name"] for one in runs[0].setup.flows if one["name"] not in flows_shown]
        return (
            environment()
            .get_template("page.html.j2")
            .render(
                title=title,
                description=description,
                flows=[labelled(one) for one in flows_shown],
                names=names_of(source),
                others=[] if flows else others,
                run=run,
                seed=seed,
                runs=[
                    _facts(labelled(label), flow)
                    for one in runs
                    for label, flow in zip(one.labels, one.flows, strict=True)
                ],
                version=midflight.__version__,
                model=midflight.MODEL_VERSION,
                command=command,
                thinned=_thinned_text(thinning) if thinning.every > 1 else "",
                data=Markup(text),
            )
        )


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _data(runs: Sequence[WatchedRun], interval_s: float | None) -> tuple[dict[str, Any], Thinning]:
    """The data of a page that is not too long, and how it was thinned for that."""
    count = sum(len(one.flows) for one in runs)
    whole = (0.0, max(one.end_ns for one in runs) / NS_PER_S)
    queues, throughput = panels_of(runs, ("queue", "throughput"), whole, may_lack=True)
    # Of many lines each has fewer means.
    check_interval(interval_s, (0.0, count * whole[1]), count * whole[1])
    intervals = intervals_of(runs, interval_s)
    lines = [Line(one, place, intervals) for one in runs for place in range(len(one.flows))]
    # Lines have the dashes of figures.
    places = [look for one in runs for look in one.looks]
    own = styles_of(places)
    places += [one.look for one in queues.curves if one.look is not None]
    looks = [look_of(place) for place in range(max(len(SERIES), 1 + max(places)))]
    styles = [own.get(place, look.line) for place, look in enumerate(looks)]
    dark = [
        DARK_LINKS[LINKS.index(look) * 2 // len(LINKS)]
        if look in LINKS
        else DARK_SERIES[plain_look(place)]
        for place, look in enumerate(looks)
    ]

    same = {
        "colours": [[look.colour for look in looks], dark],
        "dashes": [[] if isinstance(one, str) else one[1] for one in styles],
        "filled": [look.filled for look in looks],
        "events": {kind: [event.label, event.row] for kind, event in EVENTS.items()}
        | {draw: [label, EVENTS["timeout"].row] for draw, label in LASTING_WORDS.items()},
        "time": time_title((one.recorded, one.end_ns) for one in runs),
        "paths": [path_data(one, rate_in_use(one, whole)) for one in runs],
        "queues": queues_data(runs, queues.curves),
        **intervals.data,
    }

    def thinned(thinning: Thinning) -> tuple[dict[str, Any], int]:
        each = [
            {"path": runs.index(one.run), "silent": silent_data(one, throughput.curves)}
            | one.data(thinning)
            for one in lines
        ]
        found = same | {"runs": each}
        return found, len(_text(found))

    packets = sum(len(one.packets.sent) + len(one.packets.acks) for one in lines)
    # More than that is thinned in any case.
    every = max(1, packets * _CHARACTERS // (3 * MOST_CHARACTERS))
    thinning = Thinning(every, (0, 0), count)
    found, size = thinned(thinning)
    if every == 1 and size <= MOST_CHARACTERS:
        return found, thinning
    # What cannot be thinned, then the usual packets with their share, then what is near with the
    # rest.
    _, least = thinned(replace(thinning, every=packets + 1))
    share = max(1.0, (1 - _NEAR) * (MOST_CHARACTERS - least))
    while size - least > share and every <= packets:
        every = max(every + 1, math.ceil(every * (size - least) / share))
        thinning = replace(thinning, every=every)
        found, size = thinned(thinning)
    most = 2 * max(0, MOST_CHARACTERS - size) // _CHARACTERS
    while most > 0:
        near = replace(thinning, near_ns=near_widths(lines, most))
        larger, size = thinned(near)
        if size <= MOST_CHARACTERS:
            return larger, near
        most = int(min(0.95, MOST_CHARACTERS / size) * most)
    return found, thinning


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


def _facts(label: str, one: History) -> dict[str, Any]:
    """The row of a line in the table of runs."""
    return {
        "label": label,
        "sent": len(one.rows("send")),
        "rexmits": len(one.rows("rexmit")),
        "lost": len(one.lost),
        "timeouts": len(one.rows("rto")),
        "spurious": one.details("rto").count("spurious"),
        "end_s": one.end_ns / NS_PER_S,
        "digest": one.digest,
    }


def _thinned_text(thinning: Thinning) -> str:
    every = thinning.every
    number = {2: "second", 3: "third"}.get(every, f"{every}th")
    path, again = (f"{one / NS_PER_S:.2g} s" if one else "" for one in thinning.near_ns)
    near = [f"{path} before and after links that break or come into use, outages and timeouts"]
    near = [*(near if path else []), *([f"{again} around fast retransmits"] if again else [])]
    all_near = (
        f"every packet up to {' and '.join(near)} (a bar at the lower edge marks these times), and "
        "elsewhere "
    )
    return (
        f"To stay small, the page has {all_near if near else ''}every {number} new segment "
        "and ACK, beside all that was lost or sent again while that is not too much. Windows, "
        "timers, queues and flight keep the least and the greatest value of each short time."
    )
