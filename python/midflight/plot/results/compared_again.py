"""The comparison of a sweep that is made again from its values: where the one that it printed pools
an axis of a figure, or has another baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from midflight._core import MidflightError
from midflight.plot.results.rows import Choice, kept_values
from midflight.plot.results.tables import Columns

__all__ = ["separated_again"]


def separated_again(
    folder: Path,
    axes: Sequence[str],
    where: Mapping[str, Any] | None,
    baseline: str | None,
) -> Columns | None:
    """Return the comparison of a sweep, against this `baseline` or its own, that separates these
    axes, and those that rows are kept by, of samples only if by one value; None if these are no
    axes of it, or if it needs policies that are not here.
    """
    from midflight.sweep import Sweep
    from midflight.sweep_results import is_sample
    from midflight.sweep_summary import Summary

    try:
        sweep = Sweep.read(folder).against(baseline)
        apart = {*axes, *(where or {})} - {"value", "flow", sweep.compare}
        if not apart <= {*sweep.axes} or sweep.compare in axes:
            return None
        chosen = kept_values(sweep.axes, where)
        together = {
            key: values
            for key, values in chosen.items()
            if key in apart and is_sample(key) and key not in axes and len(values) > 1
        }
        if any(not {*values} <= {*sweep.axes[key]} for key, values in together.items()):
            return None
        apart -= {*together}
        by = [key for key in sweep.axes if key in apart or key == sweep.compare]
        made = Summary.of(sweep, folder, sweep.metric, by)
        if together:
            made = made.kept(together).separated(by)
        columns = made.comparison_columns()
        count = len(columns.get("flow", ()))
        # They are no axis of the figure, but what it is of.
        for key, values in together.items():
            columns[key] = [Choice(values)] * count
        return columns or None
    except MidflightError:
        return None
