"""The name of the plain sender in figures, pages and reports: it tells the congestion control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

__all__ = [
    "control_of_question",
    "plain_control",
    "plain_labels",
    "plain_of_flows",
    "plain_of_folder",
    "usual_of_folder",
]

#: The scheme whose name does not say its congestion control, and the setting that replaces that.
_PLAIN, _CONTROL = "sack", "congestion"
#: Congestion controls that nobody would expect by that name, by the profile.
_CONTROLS = {"linux": "CUBIC"}
#: Other keys of a scenario on which it depends.
_KEYS = ("profile", "stack", _CONTROL)


def plain_control(scenario: Mapping[str, Any]) -> str:
    """Return the congestion control that the plain scheme has in all flows of a scenario, in its
    canonical form; "" if it is that of the name, unknown, or not the same in all.
    """
    from midflight._core import QUIC_STACKS

    names, found = [*scenario["links"]], set()
    for name, flow in scenario["flows"].items():
        names.append(name)
        stack, profile = flow.get("stack") or "midflight", flow.get("profile")
        profile = profile or scenario["profile"]
        if stack in QUIC_STACKS or profile == "quic":
            # Such a sender has the name of its stack.
            continue
        is_usual = stack == "midflight" and not {_CONTROL} & {
            *(scenario.get("set") or {}),
            *(flow.get("set") or {}),
        }
        found.add(_CONTROLS.get(profile, "") if is_usual else "")
    return found.pop() if len(found) == 1 and _PLAIN not in names else ""


def control_of_question(question: object) -> str:
    """Return the same of the runs of a question, or of a scenario with midflight's senders in the
    lab; "" of a paper's figure.
    """
    if getattr(question, "stack", "") == "midflight":
        return plain_control(getattr(question, "scenario", {}))
    keywords = getattr(question, "keywords", {})
    if _CONTROL in keywords.get("knobs", {}):
        return ""
    return _CONTROLS.get(keywords.get("profile", ""), "")


def plain_labels(controls: Iterable[str]) -> Mapping[str, str]:
    """Return the label of the plain scheme that has these congestion controls, if they are one."""
    found = {*controls}
    return {_PLAIN: f"{_PLAIN} ({found.pop()})"} if len(found) == 1 and "" not in found else {}


class _Flow(Protocol):
    """What is needed of a flow of a figure (`midflight.plot.history.History`)."""

    plain: str


def plain_of_flows(flows: Iterable[_Flow]) -> Mapping[str, str]:
    """Return the label of the plain scheme in a figure of flows, if it is the same in all."""
    return plain_labels(one.plain for one in flows)


def plain_of_folder(source: object) -> Mapping[str, str]:
    """Return the label of the plain scheme in the results of the folder of a sweep, or in a table
    there, if no axis changes its congestion control; that of other tables is unknown.
    """
    asked = _definition(source)
    if asked is None:
        return {}
    for key in asked["axes"]:
        parts = key.split(".")
        # The values of an axis may be whole flows.
        if parts[-1] in _KEYS or (parts[0] == "flows" and len(parts) == 2):
            return {}
    return plain_labels([plain_control(asked["scenario"])])


def usual_of_folder(source: object) -> AbstractContextManager[None]:
    """Return the context in which figures of the folder of a sweep, or of a table there, have its
    label of the plain sender, and each value of an axis the look that it has among all of them.
    """
    from midflight.plot.style import usually

    asked = _definition(source)
    return usually(plain_of_folder(source), [] if asked is None else asked["axes"].values())


def _definition(source: object) -> dict[str, Any] | None:
    """The definition of the sweep in whose folder a source is; None for other sources."""
    if not isinstance(source, str | Path):
        return None
    folder = Path(source).parent if Path(source).is_file() else Path(source)
    if not (folder / "sweep.json").is_file():
        return None
    from midflight.sweep_folder import read_definition

    return read_definition(folder)
