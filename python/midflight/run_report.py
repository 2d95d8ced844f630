"""One self-contained HTML report of a scenario: its definition, results and how to repeat it.

The file holds everything it shows (figures as SVG data) and loads nothing from the network.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight._core import QUIC_STACKS
from midflight.explain.words import to_ms
from midflight.link_cells import link_cells
from midflight.listing import joined
from midflight.recording_use import recording_tables
from midflight.refusal import names_arguments, refusal
from midflight.remark import remarks_of
from midflight.report import check_page, environment
from midflight.report_figures import figures, means_ns, over_time
from midflight.report_reasons import reasons_of
from midflight.report_words import apart, happened, late_words, lost_words, unfinished
from midflight.report_words import compared as compared_words
from midflight.run_tables import RunSummary, is_requests, measures_of, rows, stacks_of
from midflight.scenario_cells import event_cells, flow_settings, over_quic, stack_of
from midflight.simulated import simulated_words
from midflight.unmet import unmet_notes

if TYPE_CHECKING:
    from midflight._core import Plan, Setup
    from midflight.plot.over_time.watched import WatchedRun
    from midflight.policy import Policies
    from midflight.scenario import Outcome

__all__ = ["MOST_FIGURES", "outcomes_of", "report_html", "report_run"]

#: Flows that are drawn.
MOST_FIGURES = 4

#: Times in which playback stood still that a report explains, the longest first.
MOST_STALLS = 3

#: Shorter stalls than this share of the time of a flow are only in its table.
LEAST_STALL = 0.01

_LONG_TIME = re.compile(r"(?<![\w.`])(\d+\.\d{4,}) s\b")

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
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    command: str = "",
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """Run a scenario and write its report to a file; return the path.

    `source` is a `Scenario`, a `Plan`, a file, the name of a starter, or the `Outcome` of earlier
    runs. `schemes` replace that of the first flow, and several are beside each other; `policies`
    are your own policies, which schemes can name. `command` is the command that repeats it, for the
    report; `threads` and `progress` are those of `Outcome.of`. Raises `MidflightError` for invalid
    input, `OSError` if the file cannot be written.
    """
    from midflight.plot.over_time.history import plan_of
    from midflight.scenario import Outcome

    path = Path(path)
    check_page(path)
    if isinstance(source, Outcome):
        if schemes:
            raise refusal(
                "the runs of an Outcome have their schemes; give schemes with a scenario",
                name="schemes",
                value=", ".join(schemes),
                accepted="no schemes",
            )
        found: Outcome | Mapping[str, Outcome] = source
    else:
        plan = plan_of(source, policies=policies)
        found = outcomes_of(plan, schemes, policies, threads=threads, progress=progress)
    path.write_text(report_html(found, command=command), encoding="utf-8")
    return path


def outcomes_of(
    plan: Plan,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Mapping[str, Outcome]:
    """Run a scenario, or its first flow with each of the schemes; return the results by scheme.

    All are checked first, as for `midflight plot`. Raises `MidflightError` for an invalid scheme,
    and for more than a figure can show.
    """
    from midflight.plot.common.style import SERIES
    from midflight.plot.over_time.history import planned
    from midflight.scenario import Outcome

    if len({*schemes}) > len(SERIES):
        accepted = f"1 to {len(SERIES)}"
        raise refusal(
            f"{len({*schemes})} schemes are too many for a report; expected {accepted}, and "
            "midflight sweep compares any number of them",
            name="schemes",
            value=len({*schemes}),
            accepted=accepted,
        )
    first = next(iter(json.loads(plan.canonical)["flows"]))
    plans = dict(planned(plan, [first], schemes, policies))
    found = {}
    for place, (name, one) in enumerate(plans.items()):

        def part(done: int, total: int, place: int = place) -> None:
            if progress is not None:
                progress(place * total + done, len(plans) * total)

        found[name] = Outcome.of(one, threads=threads, progress=part)
    return found


def report_html(outcome: Outcome | Mapping[str, Outcome], *, command: str = "") -> str:
    """Return the report of runs that were made as a text of HTML; of several schemes for the first
    flow by their names, beside each other.

    `command` is the command in the report that repeats them.
    """
    from midflight.plot.common.plain import plain_control, plain_labels
    from midflight.plot.common.style import labelled, usually
    from midflight.scenario import title_of

    several = dict(outcome) if isinstance(outcome, Mapping) else {"": outcome}
    outcome = next(iter(several.values()))
    scenario = json.loads(outcome.plan.canonical)
    plain = plain_labels([plain_control(scenario)])
    compared = next(iter(scenario["flows"]))
    if len(several) > 1:
        scenario["flows"][compared]["scheme"] = ", ".join(several)
    manifests = {name: one.manifest(command) for name, one in several.items()}
    manifest = next(iter(manifests.values()))
    summaries = {name: RunSummary.of(one) for name, one in several.items()}
    first = [row for row in rows(outcome.flows) if row["run"] == 0]
    entries = {row["flow"]: row["entry"] for row in first}
    # The flow that carries the requests of an application has nothing of its own to show.
    asking = {row["flow"] for row in first if is_requests(row)}
    # But for what was lost of it.
    every = [row for one in several.values() for row in rows(one.flows)]
    quiet = asking - {row["flow"] for row in every if row["timeouts"] or row["rexmits"]}
    moving = [row["flow"] for row in first if row["moves"] and row["flow"] not in asking]
    shown = moving
    if len(several) > 1:
        # As in figures, where the schemes are those of one flow.
        shown = [row["flow"] for row in first if row["entry"] == compared][:1]
    drawn = {name: one.plan for name, one in several.items()}
    of_flows = list(figures(drawn, shown[:MOST_FIGURES]))
    too_long = [one["flow"] for one in of_flows if not one["image"]]
    runs, kinds = watched(outcome, shown, drawn, has_delays=bool(too_long))
    with usually(plain):
        # As in the legends of the figures.
        names = {name: labelled(name) for name in several}

        def table(cells: Mapping[str, Cells], keys: int, *, is_named: bool = True) -> Cells:
            """Return one table of those of all schemes."""
            head = "scheme" if len(scenario["flows"]) == 1 else f"scheme of {compared}"
            by_label = {names[name]: one for name, one in cells.items() if one}
            return side_by_side(by_label, keys, head if is_named and len(several) > 1 else "")

        is_one = len(scenario["flows"]) == 1

        results = {
            key: with_unfinished(
                [
                    [name, names[key] if key and name in asking else labelled(scheme), *rest]
                    for name, scheme, *rest in one.flow_cells()
                    if name not in quiet
                ],
                {
                    name: unfinished(one.flows[name], scenario["flows"][entry], scenario["end"])
                    for name, entry in entries.items()
                },
            )
            for key, one in summaries.items()
        }
        # The only flow has the scheme in its own column.
        result_table = table(results, 1, is_named=not is_one)
        measured = {key: one.workload_cells() for key, one in summaries.items()}
        workloads = {
            workload: table(
                {
                    key: headed_measures(workload, cells[workload])
                    for key, cells in measured.items()
                    if workload in cells
                },
                1,
            )
            for workload in measured[next(iter(measured))]
        }
        versus = comparison(
            {names[key]: one for key, one in summaries.items()},
            shown[:MOST_FIGURES],
            {name: str(scenario["flows"][entry].get("size")) for name, entry in entries.items()},
        )
        same = same_measures({names[key]: cells for key, cells in measured.items()})
        late = late_lines([*several.values()], runs)
        phases = table(
            {
                key: [line for line in one.phase_cells() or [] if line[2] not in asking]
                for key, one in summaries.items()
            },
            3,
        )
        stalls = [
            {
                **line,
                "scheme": names[key] if len(several) > 1 else "",
                "command": explain_command(
                    command,
                    line,
                    [f"--set=flows.{compared}.scheme={key}"] if len(several) > 1 else [],
                ),
            }
            for key, one in several.items()
            for line in stall_lines(one, shown[:MOST_FIGURES])
        ]
        if len(several) > 1:
            stalls = longest_stalls(stalls)
        reasons = reasons_of(
            {names[key] if len(several) > 1 else "": one for key, one in several.items()},
            shown[:MOST_FIGURES],
            means_ns(runs),
        )
        limits = alike_limits(reasons.limits)
        became = []
        for key, one in summaries.items():
            scheme = names[key] if len(several) > 1 else ""
            for name in shown[:MOST_FIGURES]:
                own = one.flows[name]
                what = happened(own, scenario["flows"][entries[name]], scenario["end"])
                still = [
                    line for line in stalls if (line["scheme"], line["flow"]) == (scheme, name)
                ]
                slow = reasons.slowest.get((scheme, name), "")
                if what or still or slow:
                    became.append(
                        {
                            "flow": name,
                            "scheme": scheme,
                            "what": what,
                            "stalls": still,
                            "slow": slow,
                        }
                    )
    image, has_band, no_queues, has_rate = over_time(runs, kinds)
    unmet = unmet_notes((one.plan, one.flows, one.phases) for one in several.values())
    return (
        environment()
        .get_template("run_report.html.j2")
        .render(
            title=title_of(scenario, command),
            description=_description([one.plan for one in several.values()]),
            simulated="" if scenario.get("title") else simulated_words(scenario, {}),
            scenario=scenario,
            made_by=stacks_of(scenario),
            links=link_cells(
                scenario["links"], has_rooms=True, recordings=outcome.plan.recordings()
            ),
            recordings=recording_tables(outcome),
            notes=[
                *dict.fromkeys(said for one in several.values() for said in remarks_of(one.plan)),
                *unmet,
            ],
            flows=flow_settings(scenario["flows"]),
            events=event_cells(scenario),
            settings=scenario.get("set", {}),
            results=headed(result_table),
            workloads=workloads,
            only_objects=[*kinds] == ["objects"],
            measures={name: measure_words(name) for name in workloads},
            late=late,
            became=became,
            versus="; ".join(filter(None, (versus, same))),
            stalls=stalls,
            limits=limits,
            recoveries=reasons.recoveries,
            phases=headed(phases),
            paths=path_cells(outcome, scenario, shown[:MOST_FIGURES]),
            stacks=sorted({stack_of(flow) for flow in scenario["flows"].values()} & {*QUIC_STACKS}),
            over_time=image,
            has_band=has_band,
            has_rate=has_rate,
            no_queues=no_queues,
            figures=[one for one in of_flows if one["image"]],
            too_long=too_long,
            digests=[(names[key], one.digests[0]) for key, one in several.items()],
            left_out=[name for name in moving if name not in shown[:MOST_FIGURES]],
            manifest={key: value for key, value in manifest.items() if key != "scenario"},
            documents=[
                (name, one["address"], json.dumps(one, indent=2, allow_nan=False))
                for name, one in manifests.items()
            ],
            command=command,
            page=page_command(command),
        )
    )


def side_by_side(tables: Mapping[str, Cells], keys: int, head: str) -> Cells:
    """Return one table of several by their names: rows with the same first `keys` cells follow each
    other, with the name of their table in a column of this head behind these; without a head
    without it. A column that only some have is 0 in others.
    """
    columns = list(dict.fromkeys(name for cells in tables.values() for name in cells[0]))
    if not columns:
        return []
    found: dict[tuple[str, ...], list[list[str]]] = {}
    for name, (own, *lines) in tables.items():
        for line in lines:
            by_column = dict(zip(own, line, strict=True))
            row = [by_column.get(column, "0") for column in columns]
            of = [name] if head else []
            found.setdefault(tuple(row[:keys]), []).append([*row[:keys], *of, *row[keys:]])
    top = [*columns[:keys], *([head] if head else []), *columns[keys:]]
    return [top, *(line for lines in found.values() for line in lines)]


def with_unfinished(cells: Cells, moved: Mapping[str, str]) -> Cells:
    """Results with what flows moved in place of the time that they did not take."""
    place = cells[0].index("seconds")
    return [
        cells[0],
        *(
            [*line[:place], moved.get(line[0]) or line[place], *line[place + 1 :]]
            for line in cells[1:]
        ),
    ]


def comparison(
    summaries: Mapping[str, RunSummary], shown: Sequence[str], sizes: Mapping[str, str]
) -> str:
    """How the schemes compare: of one flow in several runs by their names, or of the shown flows of
    one that have several; "" without several, or if moving flows are not shown. `sizes` are those
    of flows.
    """
    if len(summaries) > 1:
        flows = {name: one.flows[shown[0]] for name, one in summaries.items()} if shown else {}
        return compared_words(flows, [], is_one_run=False)
    (summary,) = summaries.values()
    if any(one.first["moves"] and name not in shown for name, one in summary.flows.items()):
        return ""
    found = {f"`{name}`": summary.flows[name] for name in shown}
    schemes, directions = (
        {one.first[key] for one in found.values()} for key in ("scheme", "direction")
    )
    if len(schemes) < 2 or len(directions) > 1:
        return ""
    return compared_words(found, [sizes[name] for name in shown], is_one_run=True)


def same_measures(tables: Mapping[str, Mapping[str, Cells]]) -> str:
    """Return of which schemes all measures of an application are the same, as far as its table has
    them; "" of none.
    """
    said = []
    for workload in next(iter(tables.values()), {}):
        alike: dict[str, list[str]] = {}
        for name, cells in tables.items():
            alike.setdefault(repr(cells.get(workload)), []).append(name)
        for those in (one for one in alike.values() if len(one) > 1):
            of = "page" if workload == "web" else workload
            said.append(f"all measures of the {of} are the same with {joined(those)}")
    return "; ".join(said)


def headed(cells: Cells) -> Cells:
    """Results with the heads of their columns in full."""
    if not cells:
        return []
    return [
        [_HEADS.get(one, one) for one in cells[0]],
        *(list(map(apart, one)) for one in cells[1:]),
    ]


def headed_measures(workload: str, cells: Cells) -> Cells:
    """Measures of a workload with the units in the heads of their columns."""
    units = {"ns": " (s)", "bps": " (Mbit/s)"}
    head = [one["short"] + units.get(one["unit"], "") for one in measures_of(workload)]
    return [[cells[0][0], *head], *(list(map(apart, one)) for one in cells[1:])]


def measure_words(workload: str) -> str:
    """What the measures of a workload are."""
    return "; ".join(f"{one['short']}: {one['summary']}" for one in measures_of(workload))


def _description(plans: Sequence[Plan]) -> str:
    """The description of a scenario; "" if it has numbers and options have changed the scenario:
    of several `plans` with their own schemes no more than one has that of the description.
    """
    from midflight.scenario import OWN_VALUES, description_of_changed

    description = json.loads(plans[0].canonical).get("description") or ""
    if len(plans) > 1 or description.startswith(OWN_VALUES):
        return description_of_changed(description)
    return " ".join(description.split())


def watched(
    outcome: Outcome,
    names: Sequence[str],
    plans: Mapping[str, Plan] | None = None,
    *,
    has_delays: bool = False,
) -> tuple[list[WatchedRun], Sequence[str]]:
    """Run the first run again with the events of as many flows as a figure shows, of several
    `plans` by their names that of each; return them and the kinds of their panels. `has_delays`
    adds one-way delays, for runs whose segments are not drawn.
    """
    from midflight.plot.common.style import SERIES
    from midflight.plot.over_time.applications import OF_APPLICATIONS
    from midflight.plot.over_time.watched import watch

    with_one = {row.get("workload") for row in rows(outcome.flows) if row["flow"] in names}
    own = [kind for kind, workload in OF_APPLICATIONS.items() if workload in with_one]
    kinds = ("throughput", *own, "queue", *(["delay"] if has_delays else []))
    # Each page has a panel; throughputs and queues would be as many again.
    is_of_pages = own == ["objects"] and plans is not None and len(plans) > 1
    shown = own if is_of_pages else kinds
    source = plans if plans is not None and len(plans) > 1 else outcome.plan
    # An only flow has the name of its scheme, as in figures.
    is_only = len(names) == 1 and len({row["flow"] for row in rows(outcome.flows)}) == 1
    return watch(source, flows=() if is_only else names[: len(SERIES)], kinds=kinds), shown


def late_lines(outcomes: Sequence[Outcome], runs: Sequence[WatchedRun]) -> list[str]:
    """How many frames of each call in these runs, of an outcome each, are late, and when they were
    made; nothing of one without such frames.
    """
    from midflight.plot.common.style import labelled
    from midflight.plot.over_time.applications import frames_of, has_events

    outcome = outcomes[0]
    calls = {row["flow"] for row in rows(outcome.flows) if row.get("workload") == "call"}
    flows = [(one, flow) for one in runs for flow in one.flows if flow.flow in calls]
    if not flows or outcome.plan.stack == "linux":
        return []
    several = json.loads(outcome.plan.canonical)["runs"] > 1
    lines = []
    made = [
        row["frames"]
        for own, one in zip(outcomes, runs, strict=True)
        for flow in one.flows
        if flow.flow in calls
        for row in rows(own.flows)
        if row["run"] == 0 and row["flow"] == flow.flow
    ]
    for (run, flow), of in zip(flows, made, strict=True):
        if not has_events(flow):
            continue
        found = frames_of(flow, run.calls.get(flow.flow))
        late = found.made_s[found.is_late]
        if not len(late) and not len(found.lost_s):
            continue
        said = []
        if len(late):
            said.append(
                f"{late_words(len(late), of)}, made from {late[0]:.3f} s to {late[-1]:.3f} s; "
                f"the longest delay is {found.took_s.max():.3f} s"
            )
        said += [lost_words(len(found.lost_s))] if len(found.lost_s) else []
        whose = f"of flow `{flow.flow}` " if len({one.flow for _, one in flows}) > 1 else ""
        whose += f"with {labelled(flow.label)}, " if len(runs) > 1 else ""
        first = "in the first run, " if several else ""
        line = f"{first}{whose}{'; '.join(said)}."
        lines.append(line[0].upper() + line[1:])
    return lines


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


def stall_lines(outcome: Outcome, names: Sequence[str]) -> list[dict[str, Any]]:
    """What stood still in the first run, and why, as far as that is known: the longest times of
    playback of a video, and the longest stall of each flow that an application waited for.
    """
    from midflight.explain import explain_stall
    from midflight.explain.playback import playback_stalls

    if outcome.plan.stack == "linux":
        # The events of a kernel's run are those of its own programs.
        return []
    lines = []
    setup = outcome.plan.setup(0)
    own = {row["flow"]: row for row in rows(outcome.flows) if row["run"] == 0}
    for name in names:
        if is_requests(own[name]):
            continue
        is_video = own[name].get("workload") == "video"
        playback = playback_stalls(setup, name) if is_video else []
        longest = sorted(playback, key=lambda one: one.begin_ns - one.end_ns)[:MOST_STALLS]
        for one in longest:
            span = f"from {to_ms(one.begin_ns)} to {to_ms(one.end_ns)}"
            length = to_ms(one.end_ns - one.begin_ns)
            what = f"the video stood still for {length}, {span}"
            why = f"{one.why}." if one.why else ""
            lines.append(
                {
                    "flow": name,
                    "what": what,
                    "why": why,
                    "event": "stalled",
                    "length": one.end_ns - one.begin_ns,
                    "at": at_text(one.begin_ns),
                }
            )
        lines += slow_lines(setup, name) if own[name].get("workload") == "web" else []
        begin_ns, length_ns = own[name]["stalled_at_ns"], own[name]["stall_ns"]
        ended = own[name]["finished_ns"]
        span = (setup.end_ns if ended is None else ended) - own[name]["opened_ns"]
        if length_ns < LEAST_STALL * span:
            continue
        found = explain_stall(outcome.plan, flow=name)
        if found is None:
            continue
        covered = ""
        if is_video and not any(
            one.since_ns < begin_ns + length_ns and begin_ns < one.end_ns for one in longest
        ):
            covered = "; the buffer had enough for it, and the video went on"
        said = found.in_short.removeprefix("In short: ")
        until = "the end of the run" if begin_ns + length_ns >= setup.end_ns else ""
        until = until or to_ms(begin_ns + length_ns)
        lines.append(
            {
                "flow": name,
                "what": (
                    f"the longest stall lasted {to_ms(length_ns)}, from {to_ms(begin_ns)} to "
                    f"{until}{covered}"
                ),
                "why": rounded(said),
                "event": "stall",
                "length": length_ns,
                "at": "",
            }
        )
    return lines


def longest_stalls(stalls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The longest time in which each flow with each scheme stood still: of its application, if it
    has one. The report of a single scheme has all of them.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in stalls:
        key = one["scheme"], one["flow"]
        old = found.get(key)
        if old is None or _weight(one) > _weight(old):
            found[key] = one
    return [*found.values()]


def _weight(stall: Mapping[str, Any]) -> tuple[bool, float]:
    return stall["event"] != "stall", stall["length"]


def slow_lines(setup: Setup, name: str) -> list[dict[str, Any]]:
    """The slowest of the slow objects of a page, in the order of time, and why they were slow, if
    that is known.
    """
    from midflight.explain import explain_object
    from midflight.explain.applications import slow_objects

    slow = sorted(slow_objects(setup, name), key=lambda row: -row.value)[:MOST_STALLS]
    lines = []
    for row in sorted(slow, key=lambda row: row.time_ns):
        found = explain_object(setup, row, flow=name)
        if not found.in_short:
            continue
        what = "the document" if row.detail == "0" else f"object {row.detail}"
        span = f"from {to_ms(row.time_ns - row.value)} to {to_ms(row.time_ns)}"
        lines.append(
            {
                "flow": name,
                "what": f"{what} took {to_ms(row.value)}, {span}",
                "why": rounded(found.in_short.removeprefix("In short: ")),
                "event": "slow_object",
                "length": row.value,
                "at": at_text(row.time_ns),
            }
        )
    return lines


def alike_limits(limits: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """What limited flows, once for all schemes of which the same is true."""
    found: dict[tuple[str, str], list[str]] = {}
    for scheme, flow, what in limits:
        found.setdefault((flow, what), []).append(scheme)
    return [
        {"schemes": [one for one in schemes if one], "flow": flow, "what": what}
        for (flow, what), schemes in found.items()
    ]


def at_text(time_ns: int) -> str:
    """The first millisecond at or after an instant, for `--at`."""
    return f"{-(-time_ns // 1_000_000) / 1e3:.12g}s"


def asked_with(command: str) -> tuple[str, list[str], list[str], str] | None:
    """The scenario of a command of a report, its settings and policies, its schemes, and the file
    that it writes; None if it is no such command.
    """
    from midflight.scenario import command_words

    words = command_words(command)
    if words[:2] != ["midflight", "report"] or len(words) < 3:
        return None
    options = iter(words[3:])
    settings, schemes, out = [], [], ""
    for option in options:
        name, _, value = option.partition("=")
        value = value or next(options, "")
        if name == "--out":
            out = value
        elif name == "--scheme":
            schemes.append(f"{name}={value}")
        elif name in ("--set", "--policy"):
            settings.append(f"{name}={value}")
    return words[2], settings, schemes, out


def explain_command(command: str, line: Mapping[str, str], of_scheme: Sequence[str]) -> str:
    """The command that explains a stall in steps; "" without a command of the report."""
    asked = asked_with(command)
    if asked is None:
        return ""
    file, settings, _, _ = asked
    at = ["--at", line["at"]] if line["at"] else []
    # A setting may be given once, and the scheme that is asked for is the last one.
    keys = {"=".join(one.split("=", 2)[:2]) for one in of_scheme}
    settings = [one for one in settings if not any(one.startswith(f"{key}=") for key in keys)]
    own = [*settings, *of_scheme, "--flow", line["flow"], "--what", line["event"], *at]
    return shlex.join(["midflight", "explain", file, *own])


def page_command(command: str) -> str:
    """The command that makes the interactive page of the same runs; "" as above."""
    asked = asked_with(command)
    if asked is None:
        return ""
    file, settings, schemes, out = asked
    page = f"{Path(out or 'run').stem}-page.html"
    return shlex.join(["midflight", "plot", file, *settings, *schemes, "--out", page])


def rounded(text: str) -> str:
    """A sentence whose times in seconds have at most three decimals."""
    return _LONG_TIME.sub(lambda found: to_ms(float(found[1]) * 1e9), text)
