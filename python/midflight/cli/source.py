"""The run that a command shows: of a scenario, of a question, or of a paper's figure."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.flow import FLOW
from midflight.cli.handoff import HANDOFF
from midflight.cli.input import own_policies, read_pairs, read_whole
from midflight.cli.output import UserError, note
from midflight.cli.question import Asked
from midflight.cli.roam import ROAM
from midflight.cli.run import scenario_plan
from midflight.cli.startup import STARTUP

if TYPE_CHECKING:
    from midflight._core import Plan, Setup
    from midflight.question import Question
    from midflight.studies.figure_runs import FigureRun

__all__ = [
    "DEFINITIONS",
    "FigureOption",
    "JobOption",
    "OptionalFile",
    "StudyOption",
    "is_figure",
    "next_runs",
    "one_run",
    "question_of",
    "read_asked",
    "read_figure_run",
    "read_source",
    "runs_of_axes",
    "source_words",
]

#: The questions by their names, which are words of a source.
DEFINITIONS = {one.name: one for one in (HANDOFF, STARTUP, FLOW, ROAM)}

OptionalFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[SOURCE]",
        help="A scenario in TOML, the name of a starter (midflight list scenarios), or handoff, "
        "startup, flow or roam with the options of that command; not with --study.",
        show_default=False,
    ),
]
StudyOption = Annotated[
    str | None,
    typer.Option(metavar="STUDY", help="Instead of a scenario: a run of this study (--figure)."),
]
FigureOption = Annotated[
    str | None, typer.Option(metavar="ID", help="The figure of --study, such as 8 or 17a.")
]
JobOption = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Which job of --figure; all lists them.  [default: 0, the first]",
    ),
]


def is_figure(study: str | None, figure: str | None, job: str | None, file: str | None) -> bool:
    """Return whether a run of a study is requested; refuse options that exclude each other.

    `--job all` prints the jobs, and nothing else is done.
    """
    if study is None:
        for option, value in (("--figure", figure), ("--job", job)):
            if value is not None:
                raise UserError(f"{option} is for --study; give --study as well")
        if file is None:
            raise UserError(
                "give a scenario (a file or a starter), a question (handoff, startup, flow or "
                "roam), or --study and --figure"
            )
        return False
    if file is not None:
        raise UserError(f'--study takes the place of "{file}"; give one of them')
    if figure is None:
        raise UserError("--study needs --figure; `midflight list studies` has all")
    if job == "all":
        found = jobs_of(study, figure)
        print("\n".join(map(job_text, found)))
        if terms := job_terms(found):
            print(f"({terms})")
        raise typer.Exit
    return True


def jobs_of(study: str, figure: str) -> list[FigureRun]:
    """Return the runs of a figure; refuse one that needs none."""
    from midflight.studies.figure_runs import figure_runs

    found = figure_runs(study, figure)
    if not found:
        raise UserError(f"figure {figure} of {study} needs no runs")
    return found


def job_text(one: FigureRun) -> str:
    """Return the line of a list of jobs."""
    return f"{one.number}: {one.job}, {'1 run' if one.runs == 1 else f'{one.runs} runs'}"


def job_terms(jobs: Sequence[FigureRun]) -> str:
    """Return what the short words in the names of jobs mean; "" if there are none."""
    names = " ".join(str(one.job) for one in jobs)
    terms = {
        r"\d+/\d+": "links: kbit/s / one-way delay in ms",
        r"\bMBB\b": "MBB: make-before-break",
        r"\bBBM\b": "BBM: break-before-make",
    }
    return "; ".join(text for pattern, text in terms.items() if re.search(pattern, names))


def read_figure_run(study: str, figure: str, job: str | None) -> FigureRun:
    """Return the runs of a job of a figure, by default the first."""
    found = jobs_of(study, figure)
    if job is None and len(found) > 1:
        terms = job_terms(found[:1])
        note(
            f"figure {figure} has {len(found)} jobs; this is {job_text(found[0])}"
            f"{f' ({terms})' if terms else ''}; --job all lists them"
        )
    return found[read_whole("--job", job if job is not None else "0", 0, len(found) - 1)]


def question_of(text: str) -> Asked | None:
    """Return the question of a source, or None for one that is a scenario."""
    name, space, _ = text.partition(" ")
    if name not in DEFINITIONS or not (space or text == name):
        return None
    return DEFINITIONS[name].read(shlex.split(text)[1:])


def read_asked(
    file: str | None,
    sets: Sequence[str] | None,
    policies: Sequence[str] | None,
    *,
    study: str | None,
    figure: str | None,
    job: str | None,
) -> Plan | FigureRun | Question:
    """Return the runs that a command uses.

    Of a study or a question `sets` are `scheme`, `profile` and `set.NAME`.
    """
    own = own_policies(policies)
    if is_figure(study, figure, job, file):
        found = replace(read_figure_run(str(study), str(figure), job), policies=own)
        return found.but(read_pairs(sets or []))
    asked = question_of(file or "")
    if asked is None:
        return scenario_plan(file or "", sets, own)
    every = {**(asked.source.policies or {}), **own}
    return replace(asked.source, policies=every).but(read_pairs(sets or []))


def runs_of_axes(
    axes: Sequence[str],
    sets: Sequence[str],
    source: str | None,
    policies: Sequence[str] | None,
    of_study: tuple[str | None, str | None, str | None],
    scenario: str,
) -> Mapping[str, Any]:
    """Return what is drawn for each combination of the values of axes, by these values; `scenario`
    is what has them, in JSON, or "" for a study or a question.
    """
    from midflight.cli.sweep import read_axes
    from midflight.plot.common.names import column_name
    from midflight.plot.common.plain import usual_of_axes
    from midflight.plot.common.relabel import values_of_tables
    from midflight.plot.common.style import SERIES
    from midflight.plot.over_time.history import RunsOfAxes
    from midflight.plot.results.places import spaced
    from midflight.sweep import axis_values

    values = {key: axis_values(key, one) for key, one in read_axes(axes).items()}
    given = {path for path, _ in read_pairs(sets)}
    for key in values:
        if key in given:
            raise UserError(f"--set {key} and --axis {key} give values for the same")
    combinations = list(itertools.product(*values.values()))
    if len(combinations) > len(SERIES):
        raise UserError(
            f"the axes have {len(combinations)} combinations, and a figure has up to "
            f"{len(SERIES)} lines; midflight sweep runs any number of them"
        )
    study, figure, job = of_study
    how: Any = {"study": study, "figure": figure, "job": job}
    found = {}
    usual = usual_of_axes(json.loads(scenario), values) if scenario else {}
    names = [
        ", ".join(one if one in usual else values_of_tables(spaced(one)) for one in chosen)
        for chosen in combinations
    ]
    if len({*names}) < len(names):
        # Tables may differ in their keys alone.
        names = [", ".join(chosen) for chosen in combinations]
    for name, chosen in zip(names, combinations, strict=True):
        own = [*sets, *(f"{key}={value}" for key, value in zip(values, chosen, strict=True))]
        found[name] = read_asked(source, own, policies, **how)
    flows = {key.split(".")[1] for key in values if key.startswith("flows.")}
    return RunsOfAxes(found, ", ".join(map(column_name, values)), next(iter(flows), ""), usual)


def read_source(
    file: str | None,
    sets: Sequence[str] | None,
    policies: Sequence[str] | None,
    *,
    study: str | None,
    figure: str | None,
    job: str | None,
    run: int,
) -> Setup:
    """Return the run that a command uses; it has exactly one scheme."""
    return one_run(read_asked(file, sets, policies, study=study, figure=figure, job=job), run)


def one_run(found: Plan | FigureRun | Question, run: int) -> Setup:
    """Return one of the runs that a command uses; they have exactly one scheme."""
    from midflight.question import Question

    if isinstance(found, Question) and len(found.schemes) > 1:
        raise UserError(
            f"one run has one scheme, not {len(found.schemes)} ({', '.join(found.schemes)}); "
            "give one --scheme"
        )
    return found.setup(run)


def next_runs(
    found: Plan | FigureRun | Question, run: int, sets: Sequence[str] | None, *, one_job: bool
) -> tuple[int, Iterator[tuple[list[str], Setup]]]:
    """Return the number of the runs after one of those that a command uses, and these, each with
    the options that name it: the later ones of its job and, unless that was chosen (`one_job`),
    those of later jobs.
    """
    from midflight import Plan
    from midflight.studies.figure_runs import FigureRun

    runs = json.loads(found.canonical)["runs"] if isinstance(found, Plan) else found.runs
    jobs: list[FigureRun] = []
    if isinstance(found, FigureRun) and not one_job:
        jobs = jobs_of(found.study, found.figure)[found.number + 1 :]

    def each() -> Iterator[tuple[list[str], Setup]]:
        for number in range(run + 1, runs):
            yield ["--run", str(number)], found.setup(number)
        for job in jobs:
            own = replace(job, policies=getattr(found, "policies", None))
            own = own.but(read_pairs(sets or []))
            for number in range(own.runs):
                yield ["--job", str(own.number), "--run", str(number)], own.setup(number)

    return max(0, runs - run - 1) + sum(job.runs for job in jobs), each()


def source_words(
    file: str | None, *, study: str | None, figure: str | None, job: str | None
) -> list[str]:
    """Return the words of a command line that name the same source."""
    if study is None:
        name = file or ""
        return shlex.split(name) if name.partition(" ")[0] in DEFINITIONS else [name]
    words = ["--study", study, "--figure", figure or ""]
    return words if job is None else [*words, "--job", job]
