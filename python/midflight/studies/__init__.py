"""Studies: one module for each paper, with its scenarios, figures and claims.

`STUDIES` is the registry: the name on the command line and the module that holds `STUDY`.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from midflight.refusal import refusal
from midflight.studies.runs import Progress
from midflight.studies.study import Study, StudyResult, reproduce_study

__all__ = ["KERNEL_STUDIES", "STUDIES", "StudyResult", "load", "reproduce"]

STUDIES: dict[str, str] = {
    "daniel-kojo-2008": "midflight.studies.daniel_kojo_2008",
    "lim-jang-2009": "midflight.studies.lim_jang_2009",
    "izumikawa-ehn": "midflight.studies.izumikawa_ehn",
    "daniel-overview": "midflight.studies.daniel_overview",
    "daniel-abest": "midflight.studies.daniel_abest",
    "careful-resume": "midflight.studies.careful_resume",
    "related-work": "midflight.studies.related_work",
    "leo-schedule": "midflight.studies.leo_schedule",
    "linux-handoffs": "midflight.studies.linux_handoffs",
}
#: Studies with a side that needs a kernel (`midflight lab build`), and is left out without one.
KERNEL_STUDIES = frozenset({"linux-handoffs"})


def load(name: str) -> Study:
    """The study with this name; raises `MidflightError` when there is none."""
    if name not in STUDIES:
        accepted = ", ".join(STUDIES)
        raise refusal(
            f"there is no study {name!r}; there is {accepted}",
            name="study",
            value=name,
            accepted=accepted,
        )
    study: Study = importlib.import_module(STUDIES[name]).STUDY
    return study


def reproduce(
    name: str,
    *,
    figure: str | None = None,
    out: Path | None = None,
    progress: Progress | None = None,
    processes: int = 1,
    pictures: bool = True,
) -> StudyResult:
    """Reproduce a study and write its figures, data and report under `out` (default: out/<name>).

    With `figure`, run, draw and judge only what belongs to that figure.  `progress` is called with
    (what, done, total) as the work continues.  Without `pictures` there are the claims and the data
    of the figures, which need no packages for figures or reports.

    Figures are drawn in that many `processes`.  A script that asks for more than one needs the
    usual `if __name__ == "__main__":`, since each of them imports it.

    Raises `MidflightError` for a study or figure that does not exist, and, before anything runs,
    where pictures cannot be made.
    """
    study = load(name)
    where = Path("out") / name if out is None else Path(out)
    return reproduce_study(
        study,
        figure=figure,
        out=where,
        progress=progress,
        processes=processes,
        pictures=pictures,
    )
