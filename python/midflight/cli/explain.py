"""`midflight explain`: the chain of causes of an event."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import read, read_whole
from midflight.cli.options import PoliciesOption, SetsOption, SourceProfileOption
from midflight.cli.output import QUIET_S, UserError, note, progress_display
from midflight.cli.run import with_shorthands
from midflight.cli.source import (
    DEFINITIONS,
    FigureOption,
    JobOption,
    OptionalFile,
    StudyOption,
    is_figure,
    next_runs,
    one_run,
    read_asked,
    source_words,
)

if TYPE_CHECKING:
    from midflight._core import Plan, Setup
    from midflight.explain import Explanation
    from midflight.explain.events import Row

__all__ = [
    "FlowOption",
    "RunOption",
    "answer",
    "explain",
    "read_question",
    "read_run",
]

FlowOption = Annotated[
    str | None, typer.Option("--flow", metavar="NAME", help="The flow.  [default: the first]")
]
RunOption = Annotated[
    str, typer.Option("--run", metavar="N", help="The run, if there are several.")
]
MOST_RUNS = 2**63 - 1
MOST_LISTED = 60


def explain(
    file: OptionalFile = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="The instant, such as 6.23s; all events printed with that instant count.",
        ),
    ] = None,
    profile: SourceProfileOption = None,
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    flow: FlowOption = None,
    run: RunOption = "0",
    study: StudyOption = None,
    figure: FigureOption = None,
    job: JobOption = None,
    what: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="The kind of event: explains the last cwnd, ssthresh, rto, send, rexmit, ack, "
            "drop, order, notice ... at or before that instant; without --at lists all of "
            "them. stall explains the longest time without progress.  [default: the most "
            "significant event in the 0.1 s before --at]",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="List each event; without it late frames in a row are one line."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Explain an event of a run: the chain of its causes, newest first.

    Each line has its instant, and follows from the next one. A change of the window follows from an
    order with its author and reason, which follows from a notice, an ACK or a timer; an ACK from
    the segment that caused it; a timeout from the setting of the timer and from what happened to
    the segment. The chain ends at an external event (the opening, a handoff, a notice, a loss) or
    after 12 steps. Numbers are segment numbers. The source is a scenario, a question with the
    options of its command, or a run of a study. After the name of a question, an option that the
    question has, such as --at, belongs to the question.

    \b
    Examples:
      midflight explain wifi-to-lte --at 0.8s --set flows.download.scheme=enhanced
      midflight explain wifi-to-lte --at 2s --what rto
      midflight explain wifi-to-lte --what rto
      midflight explain wifi-to-lte --what stall
      midflight explain web-page --what slow_object
      midflight explain --study daniel-kojo-2008 --figure 8 --what rto
      midflight explain --at 9.8s handoff --old "6400 kbit/s, 9 ms" \\
          --new "200 kbit/s, 300 ms" --at 8.2s --profile ns2
    """
    from midflight import Plan

    is_figure(study, figure, job, file)
    sets = with_shorthands(sets, profile)
    question = read_question(at, what, every=every)
    run_number = read_run(run)
    of_figure = {"study": study, "figure": figure, "job": job}
    asked = read_asked(file, sets, policies, **of_figure)
    setup = one_run(asked, run_number)
    words = again(source_words(file, **of_figure), sets, policies, flow, run)
    others = next_runs(asked, run_number, sets, one_job=job is not None)
    source = (asked, run_number) if isinstance(asked, Plan) else None
    answer(setup, question, flow, words, source=source, others=others, as_json=as_json)


@dataclass(frozen=True)
class Question:
    """The event to explain: its instant and its kind, as given."""

    at: str | None
    at_ns: int | None
    what: str | None
    #: Whether a list has each event, or one line for late frames in a row.
    every: bool = False


def read_question(at: str | None, what: str | None, *, every: bool = False) -> Question:
    """Read --at and --what."""
    from midflight.explain import ALIASES, CHOICES, STALL
    from midflight.meant import or_all

    at_ns = None if at is None else read_instant(at)
    known = (*CHOICES, *ALIASES, STALL)
    if what is not None and what not in known:
        others = or_all(what, known, "docs/explain.md has all")
        raise UserError(f'--what "{what}" is not an event{others}')
    if what == STALL and at is not None:
        raise UserError("--what stall is the longest time of the whole run; leave out --at")
    if what is None and at is None:
        raise UserError(
            "give --at TIME to explain an event, --what EVENT (such as rto) to list events, or "
            "--what stall for the longest time without progress"
        )
    if every and (at is not None or what is None or what == STALL):
        raise UserError("--all lists events: give --what EVENT, and leave out --at")
    return Question(at, at_ns, what, every)


def answer(
    setup: Setup,
    question: Question,
    flow: str | None,
    words: list[str],
    *,
    source: tuple[Plan, int] | None = None,
    others: tuple[int, Iterable[tuple[Sequence[str], Setup]]] = (0, ()),
    as_json: bool,
) -> None:
    """Explain or list events of a run; `words` are the command for another event of it. The
    `source` is its plan and its number in that, if it has one, which tells more.

    Of a list without an event it searches the `others`: their number, and the runs with the options
    that name them.
    """
    from midflight.explain import ALIASES, STALL, explain_stall
    from midflight.explain import explain as tell
    from midflight.explain.events import listed
    from midflight.explain.words import when

    at, at_ns, what = question.at, question.at_ns, question.what
    name = "event" if what is None else ALIASES.get(what, what)
    if what == STALL:
        found = explain_stall(setup, flow=flow)
    elif at_ns is None:
        of = flow if flow is not None else setup.flows[0]["name"]
        rows, digest = listed(setup, name, flow=flow)
        if not rows and not as_json:
            options, rows, digest = first_listed(others, name, flow)
            if not rows:
                more = "" if options is None else " and none of the later ones"
                raise UserError(f"there is no {name} of {of} in this run{more}")
            named = shlex.join(options or ())
            note(f"there is no {name} of {of} in this run; this is the next one with it, {named}")
            # The options of the last one count.
            words = with_options(words, options or ())
        print_list(of, (rows, digest), name, words, every=question.every, as_json=as_json)
        return
    else:
        of_run, number = (setup, 0) if source is None else source
        found = tell(of_run, run=number, at_ns=at_ns, flow=flow, what=what)
        if found is not None and found.ended_ns is not None and at_ns > found.ended_ns:
            note(f"--at {at} is after the end of the run, which was over at {when(found.ended_ns)}")
    if found is None:
        where = "" if at is None else f" at or before {at}; give a later --at"
        raise UserError(f"there is no {name} of this flow{where}")
    if as_json:
        json.dump(values(found), sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        print(text(found))


def first_listed(
    others: tuple[int, Iterable[tuple[Sequence[str], Setup]]], name: str, flow: str | None
) -> tuple[Sequence[str] | None, list[Row], str]:
    """Return the options, events and digest of the first run with events of a kind.

    Without one there are no events; without any run there are no options either.
    """
    from midflight.explain.events import listed

    options: Sequence[str] | None = None
    count, runs = others
    with progress_display(quiet_s=QUIET_S) as progress:
        for place, (options, setup) in enumerate(runs):
            progress("searching", place, count)
            rows, digest = listed(setup, name, flow=flow)
            if rows:
                return options, rows, digest
    return options, [], ""


def with_options(words: list[str], options: Sequence[str]) -> list[str]:
    """Return the words of a command with more options, in place of those of the same names."""
    names = {*options[::2]}
    # Options after the name of a question belong to the question.
    end = next((at for at, word in enumerate(words) if word in DEFINITIONS), len(words))
    pairs = zip(words[:end], ["", *words], strict=False)
    kept = [word for word, before in pairs if not {word, before} & names]
    if end < len(words):
        return [*kept[:2], *options, *kept[2:], *words[end:]]
    return [*kept, *options]


def again(
    source: list[str],
    sets: list[str] | None,
    policies: list[str] | None,
    flow: str | None,
    run: str,
) -> list[str]:
    """Return the words of the command for the same run."""
    words: list[str] = []
    for option, values in (("--set", sets), ("--policy", policies)):
        words += [word for value in values or [] for word in (option, value)]
    words += [] if flow is None else ["--flow", flow]
    words += [] if run == "0" else ["--run", run]
    if source[0] in DEFINITIONS:
        return ["midflight", "explain", *words, *source]
    return ["midflight", "explain", *source, *words]


def print_list(
    flow: str,
    of_run: tuple[list[Row], str],
    name: str,
    words: list[str],
    *,
    every: bool,
    as_json: bool,
) -> None:
    """Print the events of a kind, late frames in a row as one line unless `every` one is listed,
    and the command that explains one of them.
    """
    from midflight.explain import neighbour_lines
    from midflight.explain.applications import burst_lines
    from midflight.explain.words import clock

    found, digest = of_run
    if as_json:
        events = [row_values(row) for row in found]
        json.dump({"events": events, "digest": digest}, sys.stdout, indent=2)
        print()
        return
    lines = neighbour_lines(found) if every or name != "late_frame" else burst_lines(found)
    count = "one line" if len(lines) == 1 else f"{len(lines)} lines"
    few = f" in {count} (--all lists each)" if len(lines) < len(found) else ""
    print(f"{len(found)} {name} of {flow}{few}:")
    most = len(lines) if every else MOST_LISTED
    print("\n".join(lines[:most]))
    if len(lines) > most:
        print(f"... and {len(lines) - most} more; --all and --json have all")
    # Of the events with the same printed instant, the last one is explained.
    first = clock(found[0].time_ns)
    together = sum(clock(row.time_ns) == first for row in found)
    words = with_options(words, ["--at", first.replace(" ", ""), "--what", name])
    which = "first one" if together == 1 else f"last of the {together} at {first}"
    print(f"\nWhy the {which}: {shlex.join(words)}")


def read_instant(text: str) -> int:
    """Read --at; a whole microsecond includes all events that are printed with that instant."""
    from midflight import parse_duration

    at_ns = int(read("--at", parse_duration, text))
    # Instants are printed rounded to the nearest microsecond.
    return at_ns + 499 if at_ns % 1000 == 0 else at_ns


def read_run(text: str) -> int:
    """Read --run."""
    return read_whole("--run", text, 0, MOST_RUNS)


def text(found: Explanation) -> str:
    """Return an explanation as numbered lines with what happened around them."""
    from midflight.explain import neighbour_lines
    from midflight.explain.words import clock

    times = [clock(step.time_ns) for step in found.steps]
    width = max(map(len, times))
    lines = [f"{found.remark} Causes of {found.why_chosen}, newest first.".lstrip()]
    lines += [found.in_short, ""] if found.in_short else [""]
    for place, (time, step) in enumerate(zip(times, found.steps, strict=True), start=1):
        lines.append(f"{place:>3}  {time:>{width}}  {step.text}")
    lines += ["", "Events around it:"]
    around = neighbour_lines([*found.before, found.chosen, *found.after])
    for place, line in enumerate(around):
        lines.append(f"{'>' if place == len(found.before) else ' '} {line}")
    return "\n".join(lines)


def values(found: Explanation) -> dict[str, Any]:
    """Return an explanation as values for JSON."""
    return {
        "chosen": row_values(found.chosen),
        "why_chosen": found.why_chosen,
        "steps": [
            {"time_ns": step.time_ns, "text": step.text, "row": step.row} for step in found.steps
        ],
        "before": [row_values(row) for row in found.before],
        "after": [row_values(row) for row in found.after],
        "digest": found.digest,
        **({} if found.ended_ns is None else {"ended_ns": found.ended_ns}),
        **({"remark": found.remark} if found.remark else {}),
        **({"in_short": found.in_short} if found.in_short else {}),
    }


def row_values(row: Row) -> dict[str, Any]:
    """Return an event as values for JSON, its causes as far as it has them."""
    causes = {"segment": row.segment, "sent_ns": row.sent_ns, "since_ns": row.since_ns}
    return {
        "row": row.index,
        "time_ns": row.time_ns,
        "event": row.event,
        "value": row.value,
        "detail": row.detail,
        **{name: value for name, value in causes.items() if value is not None},
        **({"sack": row.sack} if row.sack else {}),
    }
