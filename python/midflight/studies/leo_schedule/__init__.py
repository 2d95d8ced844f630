"""Congestion control on the schedule of a low-orbit path: 15 s, jumps, cuts."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.leo_schedule.claims import LEDGER
from midflight.studies.leo_schedule.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="leo-schedule",
    title="Congestion control on the schedule of a low-orbit path",
    citation="Mazilu, Valentine and Parisis, arXiv 2510.25498, 2025, and their scripts "
    "mininettestbed; measurements on a Linux 6.18 host",
    summary="CUBIC, BBR and BBRv3 where rate and delay change every 15 s, where the delay jumps, "
    "and where the link is cut.",
    reading="Lines are the goodput of acknowledged data. The kernel's were recorded in the lab.",
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
)
