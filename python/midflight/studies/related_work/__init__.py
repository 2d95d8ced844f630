"""Related work: the papers' statements on proxies, caches and other mechanisms, and the results."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.related_work.claims import LEDGER
from midflight.studies.related_work.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="related-work",
    title="Related work: who helps over a lossy link, at a handoff, and at what price?",
    citation="Section 2 and table 1 of H. Izumikawa, I. Yamaguchi and J. Katto, An efficient TCP "
    "with explicit handover "
    "notification for mobile networks, about 2003; section 2 of L. Daniel and M. Kojo, IJCNDS "
    "1(4-6), 2008",
    summary="The statements of two papers on I-TCP, Snoop, Freeze-TCP and the handoff option, "
    "each measured on one network.",
    reading="Points are medians, bars run from the lower to the upper quartile, over seeds or "
    "instants.",
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
)
