"""The single runs of a paper's figure: to explain, compare, draw and capture them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from midflight.policy import Policies
from midflight.refusal import refusal
from midflight.studies.runs import (
    Flow,
    FlowTrace,
    Job,
    Probing,
    Roaming,
    Scenarios,
    Startup,
    Sweep,
    Trace,
)

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["FigureRun", "figure_runs"]


@dataclass(frozen=True)
class FigureRun:
    """Runs that a figure needs, all of one kind: one for each instant or seed.

    `number` is their place among those of the figure, from 0.
    """

    study: str
    figure: str
    number: int
    job: Job
    #: User policies by name.
    policies: Policies | None = None

    def __str__(self) -> str:
        return f"{self.study}, figure {self.figure}, job {self.number}: {self.job}"

    @property
    def runs(self) -> int:
        """How many runs there are."""
        job = self.job.flow if isinstance(self.job, FlowTrace) else self.job
        if isinstance(job, Sweep):
            return len(job.at_ns)
        if isinstance(job, Scenarios):
            return len(job.texts)
        return job.runs if isinstance(job, Flow | Roaming | Probing) else 1

    @property
    def schemes(self) -> tuple[str, ...]:
        """The scheme of the observed flow."""
        job = self.job.flow if isinstance(self.job, FlowTrace) else self.job
        return (job.scheme,)

    @property
    def headings(self) -> tuple[str, str, int | None]:
        """Title, description and seed, for a page."""
        return f"Figure {self.figure} of {self.study}", str(self.job), None

    def but(self, sets: Iterable[tuple[str, str]]) -> FigureRun:
        """Return a copy with values changed by their paths: `scheme`, `profile`, `set.NAME`.

        Raises `MidflightError` for a path that the kind of run does not have.
        """
        from midflight.question import apart

        job: Any = self.job.flow if isinstance(self.job, FlowTrace) else self.job
        if isinstance(job, Scenarios):
            for key, value in sets:
                # A plot requests the existing scheme.
                if (key, value) != ("scheme", job.scheme):
                    raise refusal(
                        f'the runs of {self} have no "{key}" to set', name=key, value=value
                    )
            return self
        chosen, settings = apart(sets, str(self))
        for key in chosen:
            if key not in {one.name for one in fields(job)}:
                raise refusal(
                    f'the runs of {self} have no "{key}" to set', name=key, value=chosen[key]
                )
        others = tuple(pair for pair in job.knobs if pair[0] not in settings)
        job = replace(job, **chosen, knobs=(*others, *settings.items()))
        if isinstance(self.job, FlowTrace):
            job = replace(self.job, flow=job)
        return replace(self, job=job)

    def setup(self, run: int = 0) -> Setup:
        """Return the run of a number, from 0: of a sweep that at the instant of that place.

        Raises `MidflightError` for a run that does not exist.
        """
        core = importlib.import_module("midflight._core")
        if run >= self.runs:
            raise refusal(
                f"there is no run {run} of {self}: it has {self.runs}, numbered from 0",
                name="run",
                value=run,
                accepted=f"0 to {self.runs - 1}",
            )
        job = self.job
        of = job.flow if isinstance(job, FlowTrace) else job
        if isinstance(of, Scenarios):
            return of.core(core).setup(run)
        core = _with_policies(core, self.policies)
        if isinstance(job, FlowTrace):
            return _setup(job.flow.core(core), run)
        if isinstance(job, Trace):
            return _setup(job, core)
        if isinstance(job, Sweep):
            asked = replace(job, at_ns=(job.at_ns[run],)).core(core)
            setup: Setup = asked.setups()[0]
            return setup
        return _setup(job.core(core), 0 if isinstance(job, Startup) else run)


def _with_policies(core: Any, policies: Policies | None) -> Any:
    """Return the core with classes whose objects have these policies."""
    if not policies:
        return core
    names = ("HandoffSweep", "LongFlow", "Roaming", "Startup")
    made = {name: partial(getattr(core, name), policies=policies) for name in names}
    of_handoff = partial(core.Setup.handoff, policies=policies)
    return SimpleNamespace(
        **made, Radio=core.Radio, Probe=core.Probe, Setup=SimpleNamespace(handoff=of_handoff)
    )


def _setup(question: Any, of: Any) -> Setup:
    setup: Setup = question.setup(of)
    return setup


def figure_runs(study: str, figure: str) -> list[FigureRun]:
    """Return the runs that a figure of a study needs.

    Raises `MidflightError` for a study or a figure that does not exist.
    """
    from midflight.studies import load
    from midflight.studies.study import select_figures

    found: list[FigureRun] = []
    for one in select_figures(load(study), figure):
        for job in one.needs:
            found.append(FigureRun(study, one.id, len(found), job))
    return found
