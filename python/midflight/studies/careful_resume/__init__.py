"""Careful Resume (RFC 9959) over a geostationary satellite, and at handoffs."""

from __future__ import annotations

from importlib.resources import files

from midflight.studies.careful_resume.claims import LEDGER
from midflight.studies.careful_resume.figures import FIGURES
from midflight.studies.study import Study

__all__ = ["STUDY"]


def _assumptions() -> str:
    """The study's README without its title."""
    text = files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    return text.partition("\n")[2]


STUDY = Study(
    name="careful-resume",
    title="Careful Resume: who should resume, from what, and when does it hurt others?",
    citation="N. Kuhn, E. Stephan, G. Fairhurst, R. Secchi and C. Huitema, Convergence of "
    "congestion control from retained state, RFC 9959, 2026; limits of the satellite tests of "
    "picoquic",
    summary="Resuming from a saved window over a geostationary satellite, and from a notice at a "
    "handoff.",
    reading="Over the satellite each bar is one run; at handoffs each point is the median of four "
    "instants with its quartiles.",
    figures=FIGURES,
    claims=LEDGER,
    assumptions=_assumptions,
)
