"""What Linux's TCP does at a vertical handoff, on the kernel and in the simulator."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.linux_handoffs.claims import LEDGER
from midflight.studies.linux_handoffs.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="linux-handoffs",
    title="What the kernel's TCP does at a vertical handoff",
    citation="No paper: handoffs of L. Daniel and M. Kojo, Employing cross-layer assisted TCP "
    "algorithms to improve TCP performance with vertical handoffs, IJCNDS 1(4-6), 2008, on the "
    "kernel of midflight lab build",
    summary="Which of the problems that Daniel and Kojo describe for the TCP of 2008 are still "
    "there in Linux, with Reno, CUBIC and BBR.",
    reading="Each point is the median of the handoff instants with its quartiles. A filled dot is "
    "the kernel, an open circle of the same colour the simulator's profile linux; where both agree "
    "the dot is in the circle. Black is the plain sender of 2008 with SACK in the profile ns2, on "
    "the same links at the same instants.",
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
)
