"""One self-contained HTML report of a scenario: its definition, results and how to repeat it.

The file holds everything it shows (figures as SVG data) and loads nothing from the network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight._core import QUIC_STACKS
from midflight.refusal import names_arguments
from midflight.remark import remarks_of
from midflight.report import check_page, data_url, environment
from midflight.run_tables import RunSummary, measures_of, rows, stacks_of

if TYPE_CHECKING:
    from midflight._core import Plan
    from midflight.plot.watched import WatchedRun
    from midflight.scenario import Outcome

__all__ = ["MOST_FIGURES", "report_html", "report_run"]

#: Flows that are drawn.
MOST_FIGURES = 4

Cells = Sequence[Sequence[str]]

#: The full titles of the columns of results.
_HEADS = {
    "seconds": "time (s)",
    "goodput": "goodput (Mbit/s)",
    "stall": "longest stall (s)",
    "spurious": "of them spurious",
    "rexmits": "retransmissions",
    "queue": "lost to full queues",
    "down": "lost to links down",
    "radio": "lost by the radio",
    "first": "first new packet (s)",
    "all": "all new packets (s)",
    "acked": "segments acknowledged",
}


@names_arguments
def report_run(
    source: Any,
    path: str | Path,
    *,
    threads: int = 0,
    command: str = "",
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """Run a scenario and write its report to a file; return the path.

    `source` is a `Scenario`, a `Plan`, a file, the name of a starter, or the `Outcome` of earlier
    runs. `command` is the command that repeats it, for the report; `threads` and `progress` are
    those of `Outcome.of`. Raises `MidflightError` for invalid input, `OSError` if the file cannot
    be written.
    """
    from midflight.plot.history import plan_of
    from midflight.scenario import Outcome

    path = Path(path)
    check_page(path)
    if isinstance(source, Outcome):
        outcome = source
    else:
        outcome = Outcome.of(plan_of(source), threads=threads, progress=progress)
    path.write_text(report_html(outcome, command=command), encoding="utf-8")
    return path


def report_html(outcome: Outcome, *, command: str = "") -> str:
    """Return the report of runs that were made as a text of HTML.

    `command` is the command in the report that repeats them.
    """
    from midflight.plot.plain import plain_control, plain_labels
    from midflight.plot.style import labelled, usually
    from midflight.scenario import title_of

    scenario = json.loads(outcome.plan.canonical)
    plain = plain_labels([plain_control(scenario)])
    manifest = outcome.manifest(command)
    summary = RunSummary.of(outcome)
    moving = [row["flow"] for row in rows(outcome.flows) if row["moves"] and row["run"] == 0]
    runs, kinds = watched(outcome, moving)
    with usually(plain):
        # As in the legends of the figures.
        results = [[name, labelled(scheme), *rest] for name, scheme, *rest in summary.flow_cells()]
    return (
        environment()
        .get_template("run_report.html.j2")
        .render(
            title=title_of(scenario, command),
            description=" ".join((scenario.get("description") or "").split()),
            scenario=scenario,
            made_by=stacks_of(scenario),
            links=link_cells(scenario["links"]),
            recordings=recording_tables(outcome.plan),
            notes=remarks_of(outcome.plan),
            flows=flow_settings(scenario["flows"]),
            events=event_cells(scenario),
            settings=scenario.get("set", {}),
            results=headed(results),
            workloads={
                name: headed_measures(name, cells)
                for name, cells in summary.workload_cells().items()
            },
            measures={name: measure_words(name) for name in summary.workload_cells()},
            late=late_lines(outcome, runs),
            stalls=stall_lines(outcome, moving[:MOST_FIGURES]),
            phases=headed(summary.phase_cells() or []),
            paths=path_cells(outcome, scenario, moving[:MOST_FIGURES]),
            stacks=sorted({stack_of(flow) for flow in scenario["flows"].values()} & {*QUIC_STACKS}),
            over_time=over_time(runs, kinds),
            figures=list(figures(outcome, moving[:MOST_FIGURES])),
            left_out=moving[MOST_FIGURES:],
            manifest={key: value for key, value in manifest.items() if key != "scenario"},
            document=json.dumps(manifest, indent=2, allow_nan=False),
            command=command,
        )
    )


def headed(cells: Cells) -> Cells:
    """Results with the heads of their columns in full."""
    return [[_HEADS.get(one, one) for one in cells[0]], *cells[1:]] if cells else []


def headed_measures(workload: str, cells: Cells) -> Cells:
    """Measures of a workload with the units in the heads of their columns."""
    units = {"ns": " (s)", "bps": " (Mbit/s)"}
    head = [one["short"] + units.get(one["unit"], "") for one in measures_of(workload)]
    return [[cells[0][0], *head], *cells[1:]]


def measure_words(workload: str) -> str:
    """What the measures of a workload are."""
    return "; ".join(f"{one['short']}: {one['summary']}" for one in measures_of(workload))


def watched(outcome: Outcome, names: Sequence[str]) -> tuple[list[WatchedRun], Sequence[str]]:
    """Run the first run again with the events of as many flows as a figure shows; return it and the
    kinds of its panels.
    """
    from midflight.plot.applications import OF_APPLICATIONS
    from midflight.plot.style import SERIES
    from midflight.plot.watched import watch

    with_one = {row.get("workload") for row in rows(outcome.flows) if row["flow"] in names}
    own = [kind for kind, workload in OF_APPLICATIONS.items() if workload in with_one]
    kinds = ("throughput", *own, "queue")
    return watch(outcome.plan, flows=names[: len(SERIES)], kinds=kinds), kinds


def late_lines(outcome: Outcome, runs: Sequence[WatchedRun]) -> list[str]:
    """How many frames of each call in these runs are late, and when they were made."""
    from midflight.plot.applications import deadlines_of, frames_of, has_events

    calls = {row["flow"] for row in rows(outcome.flows) if row.get("workload") == "call"}
    flows = [flow for one in runs for flow in one.flows if flow.flow in calls]
    if not flows or outcome.plan.stack == "linux":
        return []
    deadlines = deadlines_of(outcome.plan)
    several = json.loads(outcome.plan.canonical)["runs"] > 1
    lines = []
    for flow in flows:
        if not has_events(flow):
            continue
        found = frames_of(flow, deadlines.get(flow.flow))
        of = len(found.made_s) + len(found.lost_s)
        if not of:
            continue
        late = found.made_s[found.is_late]
        if not len(late) and not len(found.lost_s):
            said = f"each of {of} frames was read by its deadline"
        else:
            said = f"{len(late)} of {of} frames ({len(late) / of:.1%}) were late"
            if len(late):
                said += f", made from {late[0]:.3f} s to {late[-1]:.3f} s"
                said += f"; the longest delay is {found.took_s.max():.3f} s"
            said += f"; {len(found.lost_s)} were not read" if len(found.lost_s) else ""
        whose = f"of flow `{flow.flow}` " if len(flows) > 1 else ""
        first = "in the first run, " if several else ""
        lines.append(f"In short: {first}{whose}{said}.")
    return lines


def over_time(runs: Sequence[WatchedRun], kinds: Sequence[str]) -> str:
    """Draw throughputs, applications and queues of the runs; return the image, "" if nothing was
    sent.
    """
    from midflight.plot.panels import over_time_figure, shown_panels
    from midflight.plot.style import figure_bytes

    if not any(len(flow.times("rcv")) for one in runs for flow in one.flows):
        return ""
    window, panels = shown_panels(runs, kinds)
    figure = over_time_figure(runs, panels, window)
    return data_url(figure_bytes(figure, ".svg"), "image/svg+xml")


def figures(outcome: Outcome, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Draw flows in the first run."""
    from midflight.plot.history import histories
    from midflight.plot.plain import plain_of_flows
    from midflight.plot.run import run_figure
    from midflight.plot.style import figure_bytes, labelled, usually

    for name in names:
        runs = histories(outcome.plan, flow=name)
        with usually(plain_of_flows(runs)):
            label = labelled(runs[0].label)
        yield {
            "flow": name,
            "scheme": label,
            "image": data_url(figure_bytes(run_figure(runs), ".svg"), "image/svg+xml"),
            "digest": runs[0].digest,
        }


#: Events of a connection over QUIC and its paths, as named in a trace.
PATH_EVENTS = (
    "established",
    "migrates",
    "migrated",
    "path_opened",
    "path_found",
    "path_challenge",
    "amplification_limit",
    "path_validated",
    "path_failed",
    "path_used",
    "path_closed",
    "persistent_congestion",
    "closed",
)


def over_quic(flow: Mapping[str, Any], scenario: Mapping[str, Any]) -> bool:
    """Whether a flow is over QUIC: that of a stack, or the simulator's own."""
    profile = flow.get("profile") or scenario["profile"]
    stack = stack_of(flow)
    return stack in QUIC_STACKS or (stack == "midflight" and profile == "quic")


def stack_of(flow: Mapping[str, Any]) -> str:
    """The transport of a flow."""
    return str(flow.get("stack", "midflight"))


def path_cells(outcome: Outcome, scenario: Mapping[str, Any], names: Sequence[str]) -> Cells:
    """The events of the paths of flows over QUIC in the first run; several equal ones are one
    line."""
    entries = {row["flow"]: row["entry"] for row in rows(outcome.flows)}
    lines: list[list[str]] = []
    for name in names:
        if not over_quic(scenario["flows"][entries[name]], scenario):
            continue
        trace = outcome.plan.setup(0).trace(flow=name, only=[*PATH_EVENTS])
        columns = (trace.column(one) for one in ("time_ns", "event", "detail"))
        last, count = ("", ""), 0
        for time_ns, event, detail in zip(*columns, strict=True):
            count = count + 1 if (event, detail) == last else 1
            if count > 1:
                lines[-1][-1] = str(count)
                continue
            last = (event, detail)
            lines.append([name, f"{time_ns / 1e9:.3f}", event, detail or "-", "1"])
    return [["flow", "at (s)", "event", "detail", "times"], *lines] if lines else []


def link_cells(links: Mapping[str, Any]) -> Cells:
    """The links' parameters, with the description of a preset."""
    from midflight import link_presets

    presets = {one["name"]: one for one in link_presets()}
    keys = ("preset", "trace", "rate", "up", "delay", "queue", "loss", "reorder", "cross")
    lines = []
    for name, link in links.items():
        known = presets.get(link.get("preset") or "")
        usual = (
            {}
            if known is None
            else {
                "rate": f"{known['down_bps'] / 1e6:.12g} Mbit/s",
                "up": f"{known['up_bps'] / 1e6:.12g} Mbit/s",
                "delay": f"{known['delay_ns'] / 1e6:.12g} ms",
            }
        )
        up = link.get("up") or {}
        own = {key: link[key] for key in keys if key not in ("up", "trace") and link.get(key)}
        if link.get("trace"):
            own["trace"] = trace_words(link["trace"])
        if up:
            own["up"] = ", ".join(
                f"{value}" if key in ("rate", "delay") else f"{key} {value}"
                for key, value in up.items()
            )
        elif link.get("rate"):
            own["up"] = link["rate"]
        queue = "bdp" if known is None else known["queue"]
        # An uplink without a queue of its own has that of the link, if the link has one.
        if (
            known is not None
            and known["up_queue"] != queue
            and not (link.get("queue") or up.get("queue"))
        ):
            queue += f", up {known['up_queue']}"
        lines.append((name, {"queue": queue, **usual, **own}))
    used = [key for key in keys if any(key in line for _, line in lines)]
    return [
        ["link", *used],
        *([name, *(line.get(key, "-") for key in used)] for name, line in lines),
    ]


def recording_tables(plan: Plan) -> list[dict[str, Any]]:
    """The values of each recording that a link follows, its outages and its handovers."""
    from midflight.recordings import event_lines, part_words, value_cells

    links = json.loads(plan.canonical)["links"]
    return [
        {
            "link": name,
            "part": part_words("the recording", links[name]["trace"], found["span_ns"]),
            "span": f"{found['span_ns'] / 1e9:g} s",
            "cells": value_cells(found, uplink),
            "lines": [" ".join(one.split()) for one in event_lines(found, uplink)],
        }
        for name, (found, uplink) in plan.recordings().items()
    ]


def stall_lines(outcome: Outcome, names: Sequence[str]) -> list[dict[str, str]]:
    """The longest stall of each flow in the first run, and why it was so long, if that is known."""
    from midflight.explain import explain_stall

    if outcome.plan.stack == "linux":
        # The events of a kernel's run are those of its own programs.
        return []
    lines = []
    for name in names:
        found = explain_stall(outcome.plan, flow=name)
        if found is not None and found.in_short:
            lines.append({"flow": name, "what": found.why_chosen, "why": found.in_short})
    return lines


def trace_words(trace: Mapping[str, Any]) -> str:
    """The recording or the model that a link follows, and how."""
    names = [Path(str(trace[key])).name for key in ("file", "up") if trace.get(key)]
    given = {k: v for k, v in trace.items() if k not in ("file", "up", "hash", "model")}
    words = (
        [f"model {trace['model']}"] if trace.get("model") else [" and ".join(names) or "columns"]
    )
    for key, value in given.items():
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for name, one in inner:
            shown = "its numbers" if isinstance(one, list) else word(one)
            words.append(f"{key} {name} = {shown}" if name else f"{key} = {shown}")
    return ", ".join(words)


def word(value: Any) -> str:
    """A value of a scenario as a report shows it."""
    return {None: "-", True: "yes", False: "no"}.get(value, str(value))


def flow_settings(flows: Mapping[str, Any]) -> Cells:
    """The description of the flows."""
    of_stack = ("cc", "tls", "streams", "idle", "migration", "multipath", "resume")
    of_run = ("direction", "size", "start", "count", "stagger", "on")
    keys = ("workload", "stack", "profile", "scheme", *of_stack, *of_run)
    usual = {"start": "0 s", "count": "1", "stagger": "0 s"}
    usual |= dict.fromkeys(("on", "workload", "stack", "profile", *of_stack), "None")
    # A flow with a stack has no scheme, and an application determines what it sends.
    flows = {
        name: flow
        | ({"scheme": None} if stack_of(flow) in QUIC_STACKS else {})
        | ({"size": None} if flow.get("workload") else {})
        for name, flow in flows.items()
    }
    used = [
        key for key in keys if any(str(flow.get(key)) != usual.get(key) for flow in flows.values())
    ]
    lines = []
    for name, flow in flows.items():
        more = ", ".join(f"{key}={value}" for key, value in (flow.get("set") or {}).items())
        lines.append([name, *(word(flow.get(key)) for key in used), more])
    if any(line[-1] for line in lines):
        return [["flow", *used, "settings"], *lines]
    return [["flow", *used], *(line[:-1] for line in lines)]


#: The change of the address of a flow over QUIC.
_REBINDS = {
    "address": "another address",
    "port": "another port",
    "none": "the address stays",
}


def _stays(handoff: Mapping[str, Any], before: str) -> bool:
    """Whether a handoff is an outage: a gap, and the same link."""
    return bool(handoff.get("gap")) and handoff["to"] == before


def event_cells(scenario: Mapping[str, Any]) -> Cells:
    """Handoffs and changes in the order of time, by the first of several alike."""
    from midflight import parse_instants

    lines = []
    before = scenario.get("start") or next(iter(scenario["links"]))
    for handoff in scenario.get("handoffs", ()):
        to = handoff["to"] if isinstance(handoff["to"], str) else ", ".join(handoff["to"])
        what = (
            f"break before make, {handoff['gap']} without a link"
            if handoff.get("gap")
            else ("make before break")
        )
        if any(over_quic(flow, scenario) for flow in scenario["flows"].values()):
            rebind = handoff.get("rebind") or ("none" if _stays(handoff, before) else "address")
            what += f", {_REBINDS[rebind]}"
        before = to
        lines.append([handoff["at"], f"handoff to {to}", what, notice_text(handoff, scenario)])
    for change in scenario.get("changes", ()):
        keys = ("rate", "delay", "queue", "loss", "reorder", "cross")
        new = ", ".join(f"{key} {change[key]}" for key in keys if change.get(key))
        pause = change.get("pause")
        waits = f"after a pause of {pause}" if pause and not pause.startswith("0 ") else ""
        what = " ".join(filter(None, (new, waits)))
        lines.append(
            [change["at"], f"{change['link']} changes", what, notice_text(change, scenario)]
        )
    lines.sort(key=lambda line: min(parse_instants(line[0])))
    return [["at", "what", "how", "notice"], *lines] if lines else []


def notice_text(event: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    """The time and the content of the senders' notice."""
    notice = event.get("notice")
    if notice is None or not scenario.get("notices", True):
        return "nothing"
    delay = notice.get("delay") or "0 s"
    words = ["at once" if delay.startswith("0 ") else f"{delay} later"]
    if notice.get("source") == "scone":
        words.append("throughput advice")
    for key, text in (("says_rate", "a rate of"), ("says_delay", "a delay of")):
        if notice.get(key):
            words.append(f"{text} {notice[key]}")
    lost = notice.get("lost")
    if lost and lost != "0%":
        words.append(f"lost in {lost}")
    return ", ".join(words)
