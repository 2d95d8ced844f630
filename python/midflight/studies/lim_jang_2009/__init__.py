"""Lim and Jang (2009): loss differentiation, delayed response and F-RTO over 3G/WLAN handover."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.lim_jang_2009.appendix import EVERYTHING, appendix, conclusion
from midflight.studies.lim_jang_2009.calibration import calibrate
from midflight.studies.lim_jang_2009.claims import LEDGER
from midflight.studies.lim_jang_2009.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="lim-jang-2009",
    title="TCP throughput over vertical handover between 3G and wireless LANs",
    citation=(
        "C. H. Lim and J. W. Jang, A new scheme to improve overall TCP throughput with vertical "
        "handover between 3G cellular packet networks and wireless LANs, EURASIP Journal on "
        "Wireless Communications and Networking, article 524960, 2009."
    ),
    summary=(
        "One TCP flow of 500 s over a radio link that loses and reorders, a handover with a "
        "pause of 30 s, with and without cross traffic; five schemes, 30 runs each."
    ),
    reading=(
        "Bars are means of 30 runs with 95 % confidence intervals. In the exchanges time runs "
        "downwards; an ACK names the segment expected next, and a cross is a loss."
    ),
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
    everything=EVERYTHING,
    extra=appendix,
    calibrate=calibrate,
    conclusion=conclusion,
)
