"""Figures of results that tests draw with the command, and what is in them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from midflight.cli import main


def texts_of(figure: Path) -> str:
    """The texts of an SVG figure."""
    return " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", figure.read_text()))


def rows_drawn(source: Path, into: Path, *words: str) -> list[dict[str, str]]:
    """The rows of the table of a figure that is written into a folder."""
    table = into / "x.csv"
    assert (
        main(["plot", str(source), *words, "--out", str(into / "x.png"), "--csv", str(table)]) == 0
    )
    with table.open(newline="") as file:
        return [*csv.DictReader(file)]
