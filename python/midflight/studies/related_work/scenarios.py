"""The runs of the study: one lossy link, an outage, and handoffs, under each of the mechanisms.

The links are alike, 6 Mbit/s and 20 ms with a queue of 100 packets, behind the usual wired links.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from midflight.studies.runs import Scenarios
from midflight.studies.scenario_runs import scenario_text

#: Profiles: ns-2's TCP of the papers' time, and Linux.
PROFILES = {"ns2": "ns-2", "linux": "Linux"}
LINK = {"rate": "6 Mbit/s", "delay": "20 ms", "queue": "100 packets"}
SEEDS = (1, 2, 3, 4, 5)
#: Loss rates of the radio, in per cent of packets.
LOSSES = (0.1, 0.5, 1.0, 2.0, 5.0)
#: "High BER" of the rows.
HIGH = 1.0
SIZE = "3 MB"
GAP_S, LONG_GAP_S = 0.5, 5.0
#: Instants of handoffs and outages.
AT_S = (2.0, 2.137, 2.271, 2.413, 2.554)


@dataclass(frozen=True)
class Way:
    """A mechanism of the table: a scheme at the ends, or an agent at the base stations."""

    name: str
    scheme: str = "sack"
    agent: str = "none"


PLAIN = Way("plain")
I_TCP, SNOOP = Way("I-TCP", agent="i-tcp"), Way("Snoop", agent="snoop")
M_TCP, WTCP = Way("M-TCP", agent="m-tcp"), Way("WTCP", agent="wtcp")
FREEZE, EHN = Way("Freeze-TCP", scheme="freeze"), Way("EHN", scheme="ehn")
#: The columns of the table, and two more.
WAYS = (PLAIN, I_TCP, SNOOP, M_TCP, WTCP, FREEZE, EHN)
#: The nodes as in the table: no state is handed over.
WITHOUT_HANDOVER = {"snoop_handover": "off", "i_tcp_handover": "off"}


def _scenario(way: Way, profile: str, **more: Any) -> dict[str, Any]:
    links = {"links": {"one": dict(LINK), "other": dict(LINK)}, "start": "one"}
    flow = {"scheme": way.scheme, "size": SIZE}
    found: dict[str, Any] = {"profile": profile, "end": "120 s", **links}
    found |= {"flows": {"download": flow}}
    if way.agent != "none":
        found["agent"] = way.agent
    return found | more


@cache
def lossy(way: Way, profile: str, percent: float) -> Scenarios:
    """A download over a link that loses this percentage of packets, under each seed."""
    texts = []
    for seed in SEEDS:
        values = _scenario(way, profile, seed=seed)
        values["links"]["one"]["loss"] = f"uniform {percent}%"
        texts.append(scenario_text(values))
    name = f"{percent:g} % lost, {way.name}, {PROFILES.get(profile, profile)}"
    return Scenarios(name, tuple(texts), traced=False)


@cache
def outage(way: Way, profile: str) -> Scenarios:
    """A download whose link is gone for a long time, and comes back."""
    texts = []
    for at_s in AT_S:
        step = {"at": f"{at_s:.3f} s", "to": "one", "gap": f"{LONG_GAP_S:g} s"}
        texts.append(scenario_text(_scenario(way, profile, handoffs=[step])))
    return Scenarios(f"outage, {way.name}, {PROFILES[profile]}", tuple(texts), traced=False)


@cache
def handoff(way: Way, profile: str, *, handover: bool = True) -> Scenarios:
    """A download that moves to a link of the same kind after a short gap."""
    texts = []
    for at_s in AT_S:
        step = {"at": f"{at_s:.3f} s", "to": "other", "gap": f"{GAP_S:g} s"}
        values = _scenario(way, profile, handoffs=[step])
        if not handover:
            values["set"] = {k: v for k, v in WITHOUT_HANDOVER.items() if _is_of(k, way)}
        texts.append(scenario_text(values))
    how = "" if handover else ", nothing handed over"
    name = f"handoff, {way.name}{how}, {PROFILES[profile]}"
    return Scenarios(name, tuple(texts), traced=False)


def _is_of(knob: str, way: Way) -> bool:
    return knob.startswith(way.agent.replace("-", "_"))


@cache
def encrypted(way: Way) -> Scenarios:
    """The download with losses over QUIC, which no node can read."""
    return lossy(way, "quic", HIGH)


@cache
def make_before_break(scheme: str) -> Scenarios:
    """A handoff with both links up, from 200 ms to 20 ms: what is in flight arrives late."""
    texts = []
    for at_s in AT_S:
        values = _scenario(Way(scheme, scheme=scheme), "ns2")
        values["links"]["one"]["delay"] = "200 ms"
        values["handoffs"] = [{"at": f"{at_s:.3f} s", "to": "other"}]
        texts.append(scenario_text(values))
    return Scenarios(f"both links up, {scheme}", tuple(texts), traced=True)
