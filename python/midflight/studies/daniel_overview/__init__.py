"""Daniel, Järvinen and Kojo: an overview of TCP's problems with vertical handoffs."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.daniel_overview.appendix import EVERYTHING, appendix
from midflight.studies.daniel_overview.claims import LEDGER
from midflight.studies.daniel_overview.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="daniel-overview",
    title="TCP with vertical handoffs: six problems, and several flows",
    citation=(
        "L. Daniel, I. Järvinen and M. Kojo, TCP performance with vertical handoffs, poster of "
        "the project WISEciti, University of Helsinki, about 2010."
    ),
    summary=(
        "An overview of what a vertical handoff does to TCP and of what the authors propose: six "
        "problems with an enhancement each, graphs for one flow and for several that move "
        "together, 50 to 200 handoff instants in each cell."
    ),
    reading=(
        "In the quartile plots markers are medians and bars run from the lower to the upper "
        "quartile over the handoff instants; of several flows it is the slowest one's time. In the "
        "bars and lines whiskers are 95 % intervals of the mean over the instants."
    ),
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
    everything=EVERYTHING,
    extra=appendix,
)
