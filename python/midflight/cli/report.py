"""`midflight report`: a scenario and its results, or a sweep, as one HTML file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from midflight.cli.input import own_policies, read_whole
from midflight.cli.options import (
    BaselineOption,
    FileArgument,
    PoliciesOption,
    SetsOption,
    ThreadsOption,
    WhereOption,
    WithoutOption,
    scheme_names,
)
from midflight.cli.output import QUIET_S, UserError, note, open_result, progress_display
from midflight.cli.plot import with_schemes
from midflight.cli.result_files import note_folder
from midflight.cli.run import idle_notes, scenario_plan
from midflight.remark import equal_runs, remarks_of
from midflight.unmet import unmet_notes

__all__ = ["report"]


def report(
    file: FileArgument,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="The file to write, such as report.html.")
    ],
    schemes: Annotated[
        list[str] | None,
        typer.Option(
            "--scheme",
            metavar="NAME",
            autocompletion=scheme_names,
            help="A sender in place of that of the first flow. May be repeated, also with commas: "
            "then all of them are side by side.",
        ),
    ] = None,
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    threads: ThreadsOption = "0",
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="COLUMN",
            help="For a sweep: the measurement, such as goodput_bps.  [default: that of the sweep]",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="KEYS",
            help="For a sweep: the axes that the tables separate.  [default: those of the sweep]",
        ),
    ] = None,
    where: WhereOption = None,
    without: WithoutOption = None,
    baseline: BaselineOption = None,
) -> None:
    """Run a scenario, or read a sweep, and write a report: one HTML file that needs no network.

    The report has the scenario, the measurements, figures of the mobile node's flows over time, and
    the command and the manifest for repeating it. That of a folder of a sweep has the axes, the
    quartiles, the comparison, and figures.

    \b
    Examples:
      midflight report wifi-to-lte --out report.html
      midflight report wifi-to-lte --scheme sack,enhanced,bbr3 --out three.html
      midflight report sweep --metric goodput_bps --out sweep.html
    """
    from midflight.report import check_page
    from midflight.scenario import starter_names

    check_page(Path(out))
    is_starter = file in starter_names() and metric is None and by is None
    if (Path(file) / "sweep.json").is_file():
        if is_starter:
            note_folder(file)
        given = {
            "--scheme": schemes,
            "--set": sets,
            "--threads": None if threads == "0" else threads,
        }
        for option, value in given.items():
            if value is not None:
                raise UserError(f'"{file}" holds a sweep that was run; {option} is for a scenario')
        write_sweep(file, out, metric, by, where, without, baseline, policies)
        return
    if Path(file).is_dir() and not is_starter:
        raise UserError(f'"{file}" is a folder without sweep.json; a sweep has one')
    given = {
        "--metric": metric,
        "--by": by,
        "--where": where,
        "--without": without,
        "--baseline": baseline,
    }
    for option, value in given.items():
        if value is not None:
            raise UserError(f'"{file}" is a scenario; {option} is for a folder of a sweep')
    thread_count = read_whole("--threads", threads, 0, 1024)
    own = own_policies(policies)
    plan = scenario_plan(file, sets, own)
    if schemes and len({*schemes}) == 1:
        sets = [*(sets or []), scheme_set(schemes[0], json.loads(plan.canonical))]
        plan, schemes = scenario_plan(file, sets, own), None
    from midflight.run_report import outcomes_of, report_html

    command = shlex.join(
        [
            "midflight",
            "report",
            file,
            *(f"--scheme={one}" for one in schemes or []),
            *(f"--set={one}" for one in sets or []),
            *(f"--policy={one}" for one in policies or []),
            "--out",
            out,
        ]
    )
    with open_result(Path(out)) as target:
        with progress_display(quiet_s=QUIET_S) as progress:
            outcomes = outcomes_of(
                plan,
                schemes or (),
                own,
                threads=thread_count,
                progress=lambda done, total: progress("runs", done, total),
            )
        target.write(report_html(outcomes, command=command))
    used = with_schemes(json.loads(plan.canonical), None, schemes or ())
    run = (made.plan for made in outcomes.values())
    notes = [*remarks_of(plan, run=run), *idle_notes(used), equal_runs([plan])]
    notes += unmet_notes((made.plan, made.flows, made.phases) for made in outcomes.values())
    for one in filter(None, notes):
        note(one)
    note(f"written to {out}")


def scheme_set(scheme: str, scenario: Mapping[str, Any]) -> str:
    """Return `--scheme` as a value by its path, as `midflight plot` takes it for the first flow."""
    return f"flows.{next(iter(scenario['flows']))}.scheme={scheme}"


def write_sweep(
    folder: str,
    out: str,
    metric: str | None,
    by: str | None,
    where: Sequence[str] | None,
    without: Sequence[str] | None,
    baseline: str | None,
    policies: Sequence[str] | None,
) -> None:
    """Write the report of a sweep."""
    from midflight.plot.results.choice import words_by_column
    from midflight.sweep_report import sweep_report_html

    given = {
        "--metric": [metric],
        "--by": [by],
        "--where": where,
        "--without": without,
        "--baseline": [baseline],
    }
    words = ["midflight", "report", folder]
    words += [
        word
        for option, values in given.items()
        for one in values or ()
        if one is not None
        for word in (option, one)
    ]
    words += [f"--policy={one}" for one in policies or []]
    how: Any = {
        "command": shlex.join([*words, "--out", out]),
        "metric": metric,
        "by": None if by is None else [key.strip() for key in by.split(",")],
        "where": words_by_column("--where", where or ()),
        "without": words_by_column("--without", without or ()),
        "baseline": baseline,
    }
    try:
        html = sweep_report_html(Path(folder), policies=own_policies(policies), **how)
    except OSError as error:
        raise UserError(f'cannot read "{folder}": {error.strerror or error}') from error
    with open_result(Path(out)) as target:
        target.write(html)
    note(f"written to {out}")
