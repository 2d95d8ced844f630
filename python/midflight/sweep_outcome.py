"""The results of a sweep that was run, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.refusal import refusal
from midflight.results import Columns
from midflight.sweep_tables import read_table

if TYPE_CHECKING:
    import pandas

    import midflight.sweep

__all__ = ["SweepOutcome"]


@dataclass(frozen=True)
class SweepOutcome:
    """The results of a sweep in a folder.

    `flows` has a row for each cell, run and flow, `phases` one for each phase of these; both have a
    column for each axis, and `midflight.run_plans` describes the others. `comparison` is that of
    the sweep's metric, `effects` what each value changes in all, and `compared` returns both of
    others. Tables are read when they are first used; `OSError` if they are not there.
    """

    sweep: midflight.sweep.Sweep
    folder: Path

    @cached_property
    def flows(self) -> Columns:
        """The table of flows."""
        return read_table(self.folder / "flows.csv", self.sweep.axes)

    @cached_property
    def phases(self) -> Columns:
        """The table of phases."""
        return read_table(self.folder / "phases.csv", self.sweep.axes)

    @cached_property
    def summary(self) -> Any:
        """Quartiles and comparison of the sweep's metric, as `midflight sweep` prints them."""
        from midflight.sweep_summary import Summary

        return Summary.of(self.sweep, self.folder)

    @cached_property
    def comparison(self) -> Columns:
        """The table of comparisons, as in comparison.csv; `MidflightError` without any."""
        return self.compared()

    @cached_property
    def effects(self) -> Columns:
        """What each compared value changes in all, as in effects.csv; `MidflightError` without a
        comparison.
        """
        return self.compared(in_all=True)

    def compared(
        self,
        metric: str | None = None,
        *,
        by: Sequence[str] | None = None,
        in_all: bool = False,
    ) -> Columns:
        """The table of comparisons of any metric, or `in_all` that of the effects of each value.

        `by` are the axes that are separated, in addition to the compared one; the defaults are what
        the sweep prints. `MidflightError` without a comparison.
        """
        from midflight.sweep_effects import effect_columns
        from midflight.sweep_folder import check_metric
        from midflight.sweep_summary import Summary, check_by, check_has_measure
        from midflight.unmet import WHICH

        check_metric(metric, None)
        check_has_measure(metric, self.sweep)
        made = self.summary
        if metric is not None or by is not None:
            chosen = check_by(by, self.sweep)
            made = Summary.of(self.sweep, self.folder, metric, chosen)
        if not made.compared:
            accepted = "a sweep that compares an axis: Sweep.of(..., compare=AXIS)"
            raise refusal(
                f"the sweep has no comparison; expected {accepted}",
                name="compare",
                value=self.sweep.compare,
                accepted=accepted,
            )
        if in_all:
            return Columns(effect_columns(made), self.folder)
        compared = made.comparison_columns()
        found = {
            name: [None if cell == "" else cell for cell in cells]
            for name, cells in compared.items()
            if name != WHICH
        }
        return Columns(found, self.folder)

    def to_pandas(self, *, phases: bool = False) -> pandas.DataFrame:
        """The table of flows, or of `phases`, which has `all_new_ns` and `first_new_ns`, as a
        DataFrame; `MidflightError` if pandas is not installed.
        """
        return (self.phases if phases else self.flows).to_pandas()

    def __str__(self) -> str:
        return str(self.summary.text(self.folder))

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: the axes, a figure and the quartiles."""
        from midflight.notebook import sweep_html

        return sweep_html(self.sweep)
