"""Runs of a figure that are the same, or in which the application is: what its legend says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from midflight.plot.over_time.applications import (
    bitrate_of,
    frames_of,
    has_events,
    objects_of,
    stalls_of,
)
from midflight.plot.over_time.together import repeated_lines

if TYPE_CHECKING:
    from midflight.plot.over_time.curves import Values, WatchedRun
    from midflight.plot.over_time.history import History

__all__ = ["same_applications", "same_words"]


def same_applications(runs: Sequence[WatchedRun]) -> Mapping[str, str]:
    """Return the lines of runs in which an application is the same as in an earlier one, to the
    millisecond, although their events differ: the label of each, with what is the same.
    """
    found: dict[str, str] = {}
    known: dict[tuple[str, str, bytes], str] = {}
    repeated = repeated_lines(runs)
    for run in runs:
        for flow, label in zip(run.flows, run.labels, strict=True):
            workload = run.workload_of(flow) or ""
            if workload not in _APPLICATIONS or label in repeated or not has_events(flow):
                continue
            what, of = _APPLICATIONS[workload]
            told = b"".join(np.round(one * 1e3).tobytes() for one in of(flow))
            earlier = known.setdefault((flow.flow, what, told), label)
            if earlier != label:
                found[label] = f"same {what} as {earlier}"
    return found


def same_words(runs: Sequence[WatchedRun]) -> dict[str, str]:
    """Return the names of lines in a legend that say of which other one they, or their
    applications, are the same.
    """
    found = {name: f"{name} (same as {other})" for name, other in repeated_lines(runs).items()}
    return found | {name: f"{name} ({what})" for name, what in same_applications(runs).items()}


def _of_video(flow: History) -> Sequence[Values]:
    return [*bitrate_of(flow), np.array(stalls_of(flow), np.float64).ravel()]


def _of_call(flow: History) -> Sequence[Values]:
    frames = frames_of(flow)
    return [frames.made_s, frames.took_s, frames.lost_s]


#: What is compared of applications, and what these are called.
_APPLICATIONS: Mapping[str, tuple[str, Callable[[History], Sequence[Values]]]] = {
    "video": ("video", _of_video),
    "call": ("call", _of_call),
    "web": ("page", objects_of),
}
