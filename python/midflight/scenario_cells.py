"""What a scenario is, as tables of a report: its flows, and its handoffs and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from midflight._core import QUIC_STACKS
from midflight.link_cells import word

__all__ = ["event_cells", "flow_settings", "over_quic", "stack_of"]

Cells = Sequence[Sequence[str]]


def over_quic(flow: Mapping[str, Any], scenario: Mapping[str, Any]) -> bool:
    """Whether a flow is over QUIC: that of a stack, or the simulator's own."""
    profile = flow.get("profile") or scenario["profile"]
    stack = stack_of(flow)
    return stack in QUIC_STACKS or (stack == "midflight" and profile == "quic")


def stack_of(flow: Mapping[str, Any]) -> str:
    """The transport of a flow."""
    return str(flow.get("stack", "midflight"))


def flow_settings(flows: Mapping[str, Any]) -> Cells:
    """The description of the flows."""
    of_stack = ("cc", "tls", "streams", "idle", "migration", "multipath", "resume")
    of_run = ("direction", "size", "start", "count", "stagger", "on")
    keys = ("workload", "stack", "profile", "scheme", *of_stack, *of_run)
    usual = {"start": "0 s", "count": "1", "stagger": "0 s"}
    usual |= dict.fromkeys(("on", "workload", "stack", "profile", *of_stack), "None")
    # A flow with a stack has no scheme, and an application determines what it sends.
    flows = {
        name: flow
        | ({"scheme": None} if stack_of(flow) in QUIC_STACKS else {})
        | ({"size": None} if flow.get("workload") else {})
        for name, flow in flows.items()
    }
    used = [
        key for key in keys if any(str(flow.get(key)) != usual.get(key) for flow in flows.values())
    ]
    lines = []
    for name, flow in flows.items():
        more = ", ".join(f"{key}={value}" for key, value in (flow.get("set") or {}).items())
        lines.append([name, *(word(flow.get(key)) for key in used), more])
    if any(line[-1] for line in lines):
        return [["flow", *used, "settings"], *lines]
    return [["flow", *used], *(line[:-1] for line in lines)]


#: The change of the address of a flow over QUIC.
_REBINDS = {
    "address": "another address",
    "port": "another port",
    "none": "the address stays",
}


def _stays(handoff: Mapping[str, Any], before: str) -> bool:
    """Whether a handoff is an outage: a gap, and the same link."""
    return bool(handoff.get("gap")) and handoff["to"] == before


def event_cells(scenario: Mapping[str, Any]) -> Cells:
    """Handoffs and changes in the order of time, by the first of several alike."""
    from midflight import parse_instants

    lines = []
    before = scenario.get("start") or next(iter(scenario["links"]))
    for handoff in scenario.get("handoffs", ()):
        to = handoff["to"] if isinstance(handoff["to"], str) else ", ".join(handoff["to"])
        what = (
            f"break before make, {handoff['gap']} without a link"
            if handoff.get("gap")
            else ("make before break")
        )
        if any(over_quic(flow, scenario) for flow in scenario["flows"].values()):
            rebind = handoff.get("rebind") or ("none" if _stays(handoff, before) else "address")
            what += f", {_REBINDS[rebind]}"
        before = to
        lines.append([handoff["at"], f"handoff to {to}", what, _notice_text(handoff, scenario)])
    for change in scenario.get("changes", ()):
        keys = ("rate", "delay", "queue", "loss", "reorder", "cross")
        new = ", ".join(f"{key} {change[key]}" for key in keys if change.get(key))
        pause = change.get("pause")
        waits = f"after a pause of {pause}" if pause and not pause.startswith("0 ") else ""
        what = " ".join(filter(None, (new, waits)))
        lines.append(
            [change["at"], f"{change['link']} changes", what, _notice_text(change, scenario)]
        )
    lines.sort(key=lambda line: min(parse_instants(line[0])))
    return [["at", "what", "how", "notice"], *lines] if lines else []


def _notice_text(event: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    """The time and the content of the senders' notice."""
    notice = event.get("notice")
    if notice is None or not scenario.get("notices", True):
        return "nothing"
    delay = notice.get("delay") or "0 s"
    words = ["at once" if delay.startswith("0 ") else f"{delay} later"]
    if notice.get("source") == "scone":
        words.append("throughput advice")
    for key, text in (("says_rate", "a rate of"), ("says_delay", "a delay of")):
        if notice.get(key):
            words.append(f"{text} {notice[key]}")
    lost = notice.get("lost")
    if lost and lost != "0%":
        words.append(f"lost in {lost}")
    return ", ".join(words)
