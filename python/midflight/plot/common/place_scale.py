"""How places lie along an axis of numbers: linear, logarithmic, or one with a place for 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LINEAR", "LOG", "PlaceScale", "log_with_zero"]

#: 0 stands a step of the others before the least of them, or this share of their extent if that is
#: more.
_LEAST_STEP = 1 / 12

_Values = NDArray[np.float64]


@dataclass(frozen=True)
class PlaceScale:
    """The scale of an axis; with a `step`, a logarithmic one has 0 so far before its `least` place
    above 0, in natural logarithms.
    """

    is_log: bool = False
    least: float = 0.0
    step: float = 0.0

    @property
    def has_zero(self) -> bool:
        """Whether a logarithmic axis has a place for 0."""
        return self.step > 0

    def along(self, places: Any) -> _Values:
        """Where places are along the axis; nan for those that it cannot have."""
        found = np.array(places, dtype=np.float64)
        if not self.is_log:
            return found
        above = np.where(found > self.least, found, np.nan)
        if not self.has_zero:
            return np.asarray(np.log(above))
        far = self.step + np.log(above / self.least)
        return np.asarray(np.where(found > self.least, far, found / self.least * self.step))

    def moved(self, places: Any, aside: float) -> _Values:
        """The places so far beside these along the axis."""
        found = np.array(places, dtype=np.float64)
        if not self.is_log or aside == 0:
            return found + aside
        if not self.has_zero:
            return np.asarray(found * np.exp(aside))
        at = self.along(found) + aside
        above = np.exp(np.maximum(at - self.step, 0.0))
        return np.asarray(self.least * np.where(at > self.step, above, at / self.step))


LINEAR, LOG = PlaceScale(), PlaceScale(is_log=True)


def log_with_zero(above: Sequence[float]) -> PlaceScale:
    """Return the logarithmic scale of 0 and of these places above it, in ascending order."""
    steps = [math.log(b / a) for a, b in pairwise(above)]
    extent = math.log(above[-1] / above[0])
    step = max(median(steps), _LEAST_STEP * extent) if steps else 1.0
    return PlaceScale(is_log=True, least=above[0], step=step)
