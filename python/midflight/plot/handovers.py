"""Handovers of the recordings that the links of a scenario follow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from midflight.plot.history import RunSource, SetupSource, plan_of

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["Handovers", "handovers_of"]

#: The options of a trace that select a part of a recording.
_PART = ("from", "until", "offset", "repeat", "scale", "interpolation", "holes")

#: The instants of the handovers of a recording in nanoseconds, and after what time they repeat, if
#: they do.
Handovers = tuple[list[int], int | None]


def handovers_of(source: RunSource, policies: Policies | None = None) -> dict[str, Handovers]:
    """Return the handovers of the recordings of a scenario's links, by the links' names.

    A recording that the scenario contains has none, nor have questions and figures of papers.
    """
    from midflight import _core

    if isinstance(source, SetupSource):
        return {}
    links: Mapping[str, Any] = json.loads(plan_of(source, policies=policies).canonical)["links"]
    found: dict[str, Handovers] = {}
    for name, link in links.items():
        trace = link.get("trace") or {}
        options: Any = {"part": {key: _text(trace[key]) for key in _PART if key in trace}}
        if "model" in trace:
            for key in ("seed", "length"):
                if key in trace:
                    options[key] = trace[key]
            knobs = {key: _text(value) for key, value in (trace.get("set") or {}).items()}
            recording = _core.draw_recording(trace["model"], set=knobs, **options)
        elif "file" in trace and trace.get("format") != "mahimahi":
            columns = trace.get("columns")
            recording = _core.read_recording(
                trace["file"], format=trace.get("format"), columns=columns, **options
            )
        else:
            continue
        instants = [at for at, _ in recording["handovers"]]
        if instants:
            found[name] = instants, recording["span_ns"] if trace.get("repeat") else None
    return found


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
