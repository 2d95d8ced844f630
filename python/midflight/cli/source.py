"""Which run a command looks at: of a scenario, or of a paper's figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from midflight.cli.input import read_pairs, read_whole
from midflight.cli.output import UserError, note
from midflight.cli.run import own_policies, scenario_plan

if TYPE_CHECKING:
    from midflight._core import Plan, Setup
    from midflight.studies.figure_runs import FigureRun

__all__ = [
    "FigureOption",
    "JobOption",
    "OptionalFile",
    "StudyOption",
    "is_figure",
    "read_figure_run",
    "read_source",
    "source_words",
]

OptionalFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="A scenario in TOML, or the name of a starter (midflight list scenarios); not with "
        "--study.",
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
    """Return whether a run of a study is asked for; refuse what does not go together.

    `--job all` prints the jobs, and nothing else is done.
    """
    if study is None:
        for option, value in (("--figure", figure), ("--job", job)):
            if value is not None:
                raise UserError(f"{option} is for --study; give --study as well")
        if file is None:
            raise UserError("give a scenario (a file or a starter), or --study and --figure")
        return False
    if file is not None:
        raise UserError(f'--study takes the place of "{file}"; give one of them')
    if figure is None:
        raise UserError("--study needs --figure; `midflight list studies` has all")
    if job == "all":
        for one in jobs_of(study, figure):
            print(job_text(one))
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


def read_figure_run(study: str, figure: str, job: str | None) -> FigureRun:
    """Return the runs of a job of a figure, by default the first."""
    found = jobs_of(study, figure)
    if job is None and len(found) > 1:
        note(
            f"figure {figure} has {len(found)} jobs; this is {job_text(found[0])}; "
            "--job all lists them"
        )
    return found[read_whole("--job", job if job is not None else "0", 0, len(found) - 1)]


def read_source(
    file: str | None,
    sets: Sequence[str] | None,
    policies: list[str] | None,
    *,
    study: str | None,
    figure: str | None,
    job: str | None,
    run: int,
) -> Setup:
    """Return the run that a command looks at.

    Of a study `sets` are settings and knobs by name, `scheme` or `profile`.
    """
    if not is_figure(study, figure, job, file):
        plan: Plan = scenario_plan(file or "", sets, own_policies(policies))
        return plan.setup(run)
    if policies:
        raise UserError(
            "--policy is for a scenario; the runs of a study have the schemes of midflight"
        )
    assert study is not None
    assert figure is not None
    asked = read_figure_run(study, figure, job)
    return asked.but([(key, str(value)) for key, value in read_pairs(sets or [])]).setup(run)


def source_words(
    file: str | None, *, study: str | None, figure: str | None, job: str | None
) -> list[str]:
    """Return the words of a command line that name the same source."""
    if study is None:
        return [file or ""]
    words = ["--study", study, "--figure", figure or ""]
    return words if job is None else [*words, "--job", job]
