"""`midflight report`: a scenario and what its runs gave, as one HTML file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from midflight.cli.input import own_policies, read_whole
from midflight.cli.options import FileArgument, PoliciesOption, SetsOption, ThreadsOption
from midflight.cli.output import QUIET_S, note, open_result, progress_display
from midflight.cli.run import idle_notes, scenario_plan

__all__ = ["report"]


def report(
    file: FileArgument,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="The file to write, such as report.html.")
    ],
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    threads: ThreadsOption = "0",
) -> None:
    """Run a scenario and write a report: one HTML file that needs no network.

    The report has the scenario, the measurements, figures of the mobile node's flows over time, and
    the command and the manifest for repeating it.

    \b
    Examples:
      midflight report wifi-to-lte --out report.html
      midflight report wifi-to-lte --set flows.download.scheme=enhanced --out enhanced.html
    """
    thread_count = read_whole("--threads", threads, 0, 1024)
    plan = scenario_plan(file, sets, own_policies(policies))
    for one in idle_notes(json.loads(plan.canonical)):
        note(one)
    from midflight.run_report import report_html
    from midflight.scenario import Outcome

    command = shlex.join(
        [
            "midflight",
            "report",
            file,
            *(f"--set={one}" for one in sets or []),
            *(f"--policy={one}" for one in policies or []),
            "--out",
            out,
        ]
    )
    with open_result(Path(out)) as target:
        with progress_display(quiet_s=QUIET_S) as progress:
            outcome = Outcome.of(
                plan,
                threads=thread_count,
                progress=lambda done, total: progress("runs", done, total),
            )
        target.write(report_html(outcome, command=command))
    note(f"written to {out}")
