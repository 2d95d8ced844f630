"""`midflight reproduce`: run a study, draw its figures, judge its claims, write its report."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from midflight.cli.output import UserError, align, progress_display, shorten

if TYPE_CHECKING:
    from midflight.studies import StudyResult

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
            metavar="DIR", help="Where results go.  [default: out/STUDY, or out/STUDY-figure-ID]"
        ),
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Print under each claim what was measured, and why.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print claims and verdicts as JSON to standard output.")
    ] = False,
) -> None:
    """Reproduce a study and write its report.

    Runs every scenario, draws the figures, judges the claims, and writes a report to open in a
    browser.

    \b
    Examples:
      midflight reproduce daniel-kojo-2008
      midflight reproduce daniel-kojo-2008 --figure 8 --out /tmp/figure-8
      midflight reproduce lim-jang-2009 --figure 12 --values
      midflight reproduce daniel-kojo-2008 --json > claims.json
    """
    from midflight import studies
    from midflight.studies.study import select_figures

    select_figures(studies.load(name), figure)
    if out is None:
        # One figure must not take the place of the report of the whole study.
        out = Path("out") / (name if figure is None else f"{name}-figure-{figure.strip()}")
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
        print(f"Report: {result.report}")


def verdicts(result: StudyResult, *, values: bool = False) -> str:
    """Return the verdict table, with what was measured if `values`, and the counts under it."""
    from midflight.claims import Verdict

    lines = [["claim", "verdict", "what the paper says"]]
    for one in result.claims:
        lines.append([one.id, str(one.verdict), shorten(one.claim.claim)])
        if values:
            text = textwrap.wrap(f"{one.finding.measured}", 100)
            text += textwrap.wrap(f"Note: {one.finding.note}", 100) if one.finding.note else []
            lines += [["", "", line] for line in text]
    if not result.claims:
        return "No claim is about this figure."
    counts = Counter(one.verdict for one in result.claims)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    claims = "1 claim" if len(result.claims) == 1 else f"{len(result.claims)} claims"
    return f"{align(lines, right=False)}\n\n{claims}: {tally}"
