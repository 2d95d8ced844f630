"""Daniel and Kojo, report on available bandwidth: measuring a path with trains of segments."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.daniel_abest.appendix import EVERYTHING, appendix
from midflight.studies.daniel_abest.claims import LEDGER
from midflight.studies.daniel_abest.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="daniel-abest",
    title="Estimating the available bandwidth of a TCP connection with cross-layer notifications",
    citation=(
        "L. Daniel and M. Kojo, a report of the University of Helsinki on finding the available "
        "bandwidth of a TCP connection with packet pairs, chirps and cross-layer notifications, "
        "about 2011."
    ),
    summary=(
        "How connections start, and how they continue after a handoff or an outage, when a sender "
        "measures the available bandwidth with trains of its segments: compared with plain TCP, "
        "Quick-Start, an initial window of ten, and a threshold taken from the access link; one "
        "to four flows."
    ),
    reading=(
        "In the quartile plots markers are medians and bars run from the lower to the upper "
        "quartile over the handoff instants, of the slowest flow where there are several. Figures "
        "14 and beyond are not the paper's."
    ),
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
    everything=EVERYTHING,
    extra=appendix,
)
