"""`midflight reproduce`: run a study, draw its figures, judge its claims, write its report."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from midflight.cli.output import UserError, align, note, progress_display, shorten
from midflight.cli.source import JobOption, job_text, jobs_of, read_figure_run
from midflight.cli.watched import (
    FlowOption,
    PcapOption,
    QlogOption,
    RunFiles,
    RunOption,
    SamplesOption,
    SnaplenOption,
    TraceOption,
)

if TYPE_CHECKING:
    from midflight.studies import StudyResult
    from midflight.studies.figure_runs import FigureRun

#: More processes would take longer to start than the figures of a study to draw.
MOST_PROCESSES = 4


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="STUDY", help="A study, see `midflight list studies`.")
    ],
    figure: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only this figure and the claims about it, such as 17a."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the results.  [default: out/STUDY, or out/STUDY-figure-ID]",
        ),
    ] = None,
    values: Annotated[
        bool,
        typer.Option("--values", help="Print the measured values and the reason under each claim."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print claims and verdicts as JSON to standard output.")
    ] = False,
    job: JobOption = None,
    trace: TraceOption = None,
    pcap: PcapOption = None,
    qlog: QlogOption = None,
    samples: SamplesOption = None,
    flow: FlowOption = None,
    of_run: RunOption = "0",
    snaplen: SnaplenOption = "128",
) -> None:
    """Reproduce a study and write its report.

    Runs every scenario, evaluates the claims, draws the figures, and writes an HTML report. Each
    verdict has the number of parts of its rule that pass. With --trace, --pcap or --qlog the events
    or packets of one run of --figure are written too: run --run of job --job.

    \b
    Examples:
      midflight reproduce daniel-kojo-2008
      midflight reproduce daniel-kojo-2008 --figure 8 --out /tmp/figure-8
      midflight reproduce lim-jang-2009 --figure 12 --values
      midflight reproduce daniel-kojo-2008 --figure 8 --pcap captures
      midflight reproduce daniel-kojo-2008 --json > claims.json
    """
    from midflight import studies
    from midflight.studies.study import missing, select_figures

    select_figures(studies.load(name), figure)
    watched = RunFiles(
        trace=trace,
        pcap=pcap,
        qlog=qlog,
        samples=samples,
        plot=None,
        flow=flow,
        run=of_run,
        snaplen=snaplen,
    )
    one_run = run_to_watch(name, figure, job, watched)
    lacking = missing()
    if lacking:
        text = f"{', '.join(lacking)} not installed"
        if figure is not None and not as_json:
            raise UserError(
                f'figure {figure} cannot be drawn: {text}; pip install "midflight[plots]", or ask '
                "for its claims alone with --json"
            )
        note(
            f"{text}: claims and the data of figures only, no figures and no report; "
            'pip install "midflight[plots]"'
        )
    if out is None:
        # One figure must not take the place of the report of the whole study.
        out = Path("out") / (name if figure is None else f"{name}-figure-{figure.strip()}")
    if one_run is not None:
        with watched.places() as places:
            watched.write(places, one_run.setup, one_run)
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK | os.X_OK):
            raise PermissionError(None, "Permission denied")
        with progress_display() as progress:
            result = studies.reproduce(
                name,
                figure=figure,
                out=out,
                progress=progress,
                processes=min(os.cpu_count() or 1, MOST_PROCESSES),
                pictures=not lacking,
            )
    except OSError as error:
        raise UserError(
            f'cannot write to "{error.filename or out}": {error.strerror or error}; '
            "give a directory that can be written to with --out"
        ) from error

    if as_json:
        json.dump(result.to_json(), sys.stdout, indent=2)
        print()
    else:
        print(verdicts(result, values=values))
        if result.report is not None:
            print(f"Report: {result.report}")
        else:
            print(f"Claims: {result.folder / 'claims.csv'}")


def run_to_watch(
    study: str, figure: str | None, job: str | None, watched: RunFiles
) -> FigureRun | None:
    """Return the runs for which files are requested; None if there are none."""
    asked = [option for option, folder in watched.folders.items() if folder is not None]
    if figure is None:
        for option in [*asked, *(["--job"] if job is not None else [])]:
            raise UserError(f"{option} is for one run of a figure; give --figure as well")
        return None
    if job == "all":
        for one in jobs_of(study, figure):
            print(job_text(one))
        raise typer.Exit
    return read_figure_run(study, figure, job) if asked else None


def verdicts(result: StudyResult, *, values: bool = False) -> str:
    """Return the verdict table, with the measurements if `values`, and the counts under it."""
    if not result.claims:
        return "No claim is about this figure."
    lines, counts = [["claim", "verdict", "parts", "what the paper says"]], []
    for beyond, tally in ((False, result.paper), (True, result.beyond)):
        rows = [one for one in result.claims if one.beyond is beyond]
        if not rows:
            continue
        if beyond:
            lines.append(["", "", "", "beyond the paper:"])
        for one in rows:
            score = f"{one.finding.passed} of {one.finding.parts}" if one.finding.parts else ""
            lines.append([one.id, str(one.verdict), score, shorten(one.claim.claim)])
            if values:
                text = textwrap.wrap(f"{one.finding.measured}", 100)
                text += textwrap.wrap(f"Note: {one.finding.note}", 100) if one.finding.note else []
                lines += [["", "", "", line] for line in text]
        kind = "row" if beyond else "claim"
        plural = "s" if len(rows) > 1 else ""
        counts.append(f"{len(rows)} {kind}{plural}{' beyond the paper' * beyond}: {tally}")
    conclusion = textwrap.wrap(result.conclusion, 100)
    return "\n".join([align(lines, right=False), "", *conclusion, *counts])
