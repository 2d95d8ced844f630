"""Notes on what a scenario does not use or takes in another way, as warnings of Python."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

__all__ = ["ScenarioWarning", "warn_of"]


class ScenarioWarning(UserWarning):
    """A note on a scenario, which the command line prints: a column that is not used, a time
    without rows in a recording, a run that ends before it.
    """


def warn_of(remarks: Iterable[str]) -> None:
    """Issue notes as warnings at the line that called midflight."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_own(str(frame.f_globals.get("__name__"))):
        level, frame = level + 1, frame.f_back
    for one in remarks:
        warnings.warn(one, ScenarioWarning, stacklevel=level)


def _is_own(module: str) -> bool:
    """Whether a module is one of this package."""
    return module.partition(".")[0] == "midflight"
