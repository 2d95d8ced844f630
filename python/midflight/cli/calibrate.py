"""`midflight calibrate`: find the parameters that a paper gives by their effect only."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from midflight.cli.output import UserError, align, progress_display


def calibrate(
    name: Annotated[
        str, typer.Argument(metavar="STUDY", help="A study, see `midflight list studies`.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the trials as JSON to standard output.")
    ] = False,
) -> None:
    """Search for the parameters that a study's paper gives only by their effect.

    Repeats the search whose result the study uses, and prints every trial. The last line of each
    search is the result.

    \b
    Examples:
      midflight calibrate lim-jang-2009
      midflight calibrate lim-jang-2009 --json
    """
    from midflight import studies
    from midflight.studies.runs import Runs

    search = studies.load(name).calibrate
    if search is None:
        able = [one for one in studies.STUDIES if studies.load(one).calibrate is not None]
        raise UserError(f'there is nothing to calibrate in "{name}"; there is in {", ".join(able)}')
    with progress_display() as progress:
        trials = [asdict(trial) for trial in search(Runs(), progress)]
    if as_json:
        json.dump(trials, sys.stdout, indent=2)
        print()
        return
    rows = [list(trials[0])]
    rows += [[text(value) for value in trial.values()] for trial in trials]
    print(align(rows))


def text(value: object) -> str:
    """Return a value as text; shares in per cent."""
    return f"{100 * value:.2f} %" if isinstance(value, float) else str(value)
