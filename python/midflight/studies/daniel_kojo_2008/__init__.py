"""Daniel and Kojo (2008): cross-layer assisted TCP algorithms for vertical handoffs."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.daniel_kojo_2008.appendix import EVERYTHING, appendix
from midflight.studies.daniel_kojo_2008.claims import LEDGER
from midflight.studies.daniel_kojo_2008.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="daniel-kojo-2008",
    title="TCP over vertical handoffs with cross-layer notifications",
    citation=(
        "L. Daniel and M. Kojo, Employing cross-layer assisted TCP algorithms to improve TCP "
        "performance with vertical handoffs, International Journal of Communication Networks and "
        "Distributed Systems 1(4/5/6), 433-465, 2008."
    ),
    summary=(
        "One bulk TCP flow, one handoff between two access links, 200 handoff instants in each of "
        "192 cells, regular TCP and a sender that gets a notice of the handoff."
    ),
    reading=(
        "In the quartile plots markers are medians and bars run from the lower to the upper "
        "quartile over 200 handoff instants. In the time-sequence graphs RTO marks a "
        "retransmission timeout and FR a fast retransmit."
    ),
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
    everything=EVERYTHING,
    extra=appendix,
)
