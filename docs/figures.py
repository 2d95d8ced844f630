"""Draw the figures of pages that show the commands which make them, and put them into docs/images.

.venv/bin/python docs/figures.py
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import make_reference
from midflight.cli import main as midflight

#: Pages with commands `midflight plot ... --out NAME.png` that make their figures.
PAGES = ("docs/path-change.md",)
IMAGES = make_reference.ROOT / "docs" / "images"


def draw(page: str) -> None:
    """Run the plots of a page."""
    text = (make_reference.ROOT / page).read_text(encoding="utf-8")
    for block in make_reference.FENCED.finditer(text):
        for command in make_reference.commands(block["text"]):
            _, *arguments = shlex.split(command.replace("\\\n", " "))
            if arguments[0] == "plot":
                at = arguments.index("--out") + 1
                arguments[at] = str(IMAGES / Path(arguments[at]).name)
                midflight(arguments)


if __name__ == "__main__":
    os.chdir(make_reference.ROOT)
    for name in PAGES:
        draw(name)
