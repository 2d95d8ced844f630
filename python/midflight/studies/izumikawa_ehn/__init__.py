"""Izumikawa, Yamaguchi and Katto: TCP with explicit handover notification (EHN)."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.izumikawa_ehn import scenarios as sc
from midflight.studies.izumikawa_ehn.appendix import EVERYTHING, appendix
from midflight.studies.izumikawa_ehn.claims import LEDGER
from midflight.studies.izumikawa_ehn.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="izumikawa-ehn",
    title="An efficient TCP with explicit handover notification for mobile networks",
    citation=(
        "H. Izumikawa, I. Yamaguchi and J. Katto, An efficient TCP with explicit handover "
        "notification for mobile networks, Waseda University, about 2003."
    ),
    summary=(
        "A node that changes its base station every 5 s, on a wireless link that loses packets: "
        "four TCPs, each as it is, with TR-ACKs, with Freeze-TCP and with EHN; "
        f"{min(sc.RUN_COUNTS)} to {max(sc.RUN_COUNTS)} runs of {sc.END_S:g} s each."
    ),
    reading=(
        "Figures 7 and beyond are not the paper's. Bars and points are means with 95 % confidence "
        "intervals. In figure 1 time runs downwards, and a cross is a loss."
    ),
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
    everything=EVERYTHING,
    extra=appendix,
)
