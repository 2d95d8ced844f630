"""The parts of a study, and how it is reproduced.

A study is a paper's scenarios, figures and claims.  Reproducing it makes the runs that its figures
and claims list, evaluates the claims, draws the figures and writes one report.  Claims need neither
pictures nor a report, so they need no plotting packages.
"""

from __future__ import annotations

import importlib.util
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from midflight._core import MODEL_VERSION
from midflight.claims import ClaimResult, Ledger, Tally
from midflight.plot import Drawing, write_csv
from midflight.refusal import refusal
from midflight.studies.runs import Job, Progress, Runs

__all__ = ["Figure", "FigureResult", "Study", "StudyResult", "missing", "reproduce_study"]

#: Packages for figures and reports, by module name: installed on request only.
DRAWING = ("matplotlib", "jinja2", "markdown_it")


def missing() -> list[str]:
    """The modules that figures and reports need and that are not installed."""
    return [name for name in DRAWING if importlib.util.find_spec(name) is None]


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: the runs that it needs, and the function that draws it."""

    id: str
    title: str
    caption: str
    needs: tuple[Job, ...] = field(repr=False)
    draw: Callable[[Runs], Drawing] = field(repr=False)
    wide: bool = False

    @property
    def stem(self) -> str:
        """File name without suffix; figures sort as in the paper."""
        digits = "".join(c for c in self.id if c.isdigit())
        return f"fig{int(digits):02d}{self.id[len(digits) :]}"


@dataclass(frozen=True)
class FigureResult:
    """A drawn figure: its files, and a remark from its data that is added to the caption."""

    figure: Figure
    files: Sequence[Path]
    remark: str = ""

    @property
    def id(self) -> str:
        return self.figure.id

    @property
    def caption(self) -> str:
        """The figure's caption and the remark."""
        return f"{self.figure.caption} {self.remark}".rstrip()

    def file(self, suffix: str) -> Path:
        """The file with this suffix, e.g. ``.svg``."""
        return next(path for path in self.files if path.suffix == suffix)


@dataclass(frozen=True)
class Study:
    """One paper: how it is cited, its figures, its claims, and the assumptions made for it.

    `reading` explains how to read the figures.  `assumptions` is a Markdown text.  `everything`
    lists runs that belong to the study although no figure or claim reads them alone.  `extra`
    writes further files of a complete reproduction and returns Markdown for the report
    (sensitivities, for example).  `conclusion` summarises a complete reproduction in one or two
    sentences; it is at the head of the report.  `calibrate` finds the parameters of which the paper
    gives only the effect, and returns its trials.
    """

    name: str
    title: str
    citation: str
    summary: str
    reading: str
    figures: Sequence[Figure]
    claims: Ledger
    assumptions: Callable[[], str]
    everything: tuple[Job, ...] = ()
    extra: Callable[[Runs, Path], tuple[str, list[Path]]] | None = None
    calibrate: Callable[[Runs, Progress | None], Sequence[Any]] | None = None
    conclusion: Callable[[Runs], str] | None = None


@dataclass(frozen=True)
class StudyResult:
    """The result of a reproduction: verdicts, figures, the report, and a digest of all its runs.
    Without pictures there is no `report`, and the files of a figure are its data. `folder` contains
    all files.
    """

    study: str
    model_version: str
    digest: str
    claims: Sequence[ClaimResult]
    figures: Sequence[FigureResult]
    report: Path | None = None
    files: Sequence[Path] = ()
    folder: Path = Path()
    conclusion: str = ""

    @property
    def paper(self) -> Tally:
        """The tally of the paper's own rows."""
        return Tally.of(one for one in self.claims if not one.beyond)

    @property
    def beyond(self) -> Tally:
        """The tally of the rows that go beyond the paper."""
        return Tally.of(one for one in self.claims if one.beyond)

    def to_json(self) -> dict[str, Any]:
        """The result as plain values; figure files are relative to the folder."""
        return {
            "study": self.study,
            "model_version": self.model_version,
            "digest": self.digest,
            "conclusion": self.conclusion,
            "tally": {"paper": self.paper.to_json(), "beyond_paper": self.beyond.to_json()},
            "claims": [result.to_json() for result in self.claims],
            "figures": [
                {
                    "id": drawn.id,
                    "files": [path.relative_to(self.folder).as_posix() for path in drawn.files],
                }
                for drawn in self.figures
            ],
        }


def select_figures(study: Study, figure: str | None) -> list[Figure]:
    """The figures to draw: all, or the one named (`17` selects 17a and 17b)."""
    if figure is None:
        return list(study.figures)
    wanted = figure.strip().lower().removeprefix("figure").removeprefix("fig").strip(" .")
    chosen = [f for f in study.figures if f.id == wanted]
    if not chosen and wanted.isdigit():
        chosen = [f for f in study.figures if f.id.rstrip("abc") == wanted]
    if not chosen:
        accepted = ", ".join(f.id for f in study.figures)
        raise refusal(
            f"study {study.name} has no figure {figure!r}; it has {accepted}",
            name="figure",
            value=figure,
            accepted=accepted,
        )
    return chosen


def reproduce_study(
    study: Study,
    *,
    figure: str | None,
    out: Path,
    progress: Progress | None,
    processes: int = 1,
    runs: Runs | None = None,
    pictures: bool = True,
) -> StudyResult:
    """Make the runs, evaluate the claims, draw the figures and write the report of one study.

    With `figure`, only that figure and the claims about it are run, drawn and evaluated.  Figures
    are drawn in that many `processes`.  Without `pictures` there are the claims and the data of the
    figures.

    Raises `MidflightError` before anything runs when pictures cannot be made.
    """
    figures = select_figures(study, figure)
    if pictures and (lacking := missing()):
        raise refusal(
            f"figures and reports need {', '.join(lacking)}, not installed: "
            'pip install "midflight[plots]"',
            name="pictures",
            value=pictures,
            accepted="False without these packages",
        )
    claims = (
        list(study.claims)
        if figure is None
        else [c for c in study.claims if any(f.id in c.figures for f in figures)]
    )
    runs = runs if runs is not None else Runs()
    jobs = [job for drawn in figures for job in drawn.needs]
    jobs += [job for claim in claims for job in claim.needs]
    if figure is None:
        jobs += study.everything
    runs.make(jobs, progress)

    with unfinished(out) as work:
        drawings = [one.draw(runs) for one in figures]
        stems = [work / "figures" / one.stem for one in figures]
        with drawing(drawings, stems, processes, pictures=pictures) as written:
            results = [ClaimResult(claim, claim.evaluate(runs)) for claim in claims]
            appendix = conclusion = ""
            files = [write_claims(work / "claims.csv", results)]
            if figure is None and study.extra is not None:
                appendix, more = study.extra(runs, work)
                files += more
            if figure is None and study.conclusion is not None:
                conclusion = study.conclusion(runs)
            drawn = gather(figures, drawings, written, progress)
        result = StudyResult(
            study=study.name,
            model_version=MODEL_VERSION,
            digest=runs.digest(),
            claims=results,
            figures=drawn,
            report=work / "report.html" if pictures else None,
            files=files,
            folder=work,
            conclusion=conclusion,
        )
        if result.report is not None:
            from midflight.report import write_report

            write_report(study, result, result.report, appendix=appendix)

    def finished(path: Path) -> Path:
        return out / path.relative_to(work)

    return replace(
        result,
        figures=[replace(one, files=[finished(path) for path in one.files]) for one in drawn],
        report=finished(result.report) if result.report is not None else None,
        files=[finished(path) for path in files],
        folder=out,
    )


def write_claims(path: Path, results: Sequence[ClaimResult]) -> Path:
    """Write a table of claims, verdicts with their parts, and measured values."""
    header = (
        *("id", "verdict", "parts_passed", "parts", "beyond_paper"),
        *("claim", "rule", "measured", "note"),
    )
    rows = [{**one.to_json(), "beyond_paper": "yes" if one.beyond else "no"} for one in results]
    return write_csv(path, header, ([row[name] for name in header] for row in rows))


def _data(drawing: Drawing, stem: Path) -> list[Path]:
    """Write the data of a figure alone."""
    return [write_csv(stem.with_suffix(".csv"), drawing.header, drawing.rows)]


@contextmanager
def drawing(
    drawings: Sequence[Drawing], stems: Sequence[Path], processes: int, *, pictures: bool = True
) -> Iterator[Iterator[list[Path]]]:
    """The files of drawings, in order; without `pictures` their data alone.

    With more than one process several are drawn at a time, while the caller continues.
    """
    processes = min(processes, len(drawings))
    if processes < 2 or not pictures:
        yield map(Drawing.write if pictures else _data, drawings, stems)
        return
    with ProcessPoolExecutor(
        processes,
        mp_context=get_context("spawn"),  # a fork would keep the locks of lost threads
        initializer=signal.signal,  # an interrupt is for this process to handle
        initargs=(signal.SIGINT, signal.SIG_IGN),
    ) as pool:
        try:
            yield pool.map(Drawing.write, drawings, stems)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def gather(
    figures: Sequence[Figure],
    drawings: Sequence[Drawing],
    written: Iterator[list[Path]],
    progress: Progress | None,
) -> list[FigureResult]:
    """Wait for the files of each figure, in order."""
    tell = progress or (lambda _what, _done, _total: None)
    drawn = []
    for done, (one, content) in enumerate(zip(figures, drawings, strict=True)):
        tell(f"figure {one.id}", done, len(figures))
        drawn.append(FigureResult(one, next(written), content.remark))
    tell("figures", len(figures), len(figures))
    return drawn


@contextmanager
def unfinished(out: Path) -> Iterator[Path]:
    """A temporary folder; its files are moved to `out` when all are written."""
    out.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=out))
    try:
        (work / "figures").mkdir()
        yield work
        for path in sorted(p for p in work.rglob("*") if p.is_file()):
            target = out / path.relative_to(work)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
