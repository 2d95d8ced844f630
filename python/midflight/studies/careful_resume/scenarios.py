"""The runs of the study: downloads over a geostationary satellite, and handoffs.

The download is that of picoquic's satellite tests: 100 MB over 250 Mbit/s down and 3 Mbit/s up, 300
ms one way, with a queue of twice the latency.  Handoffs are between presets, with a notice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from midflight._core import link_presets
from midflight.migration import HANDOFFS, KINDS
from midflight.studies.runs import FlowTrace, Scenarios
from midflight.studies.scenario_runs import scenario_text

#: Bytes of a datagram, of the data in it, and of it with the headers of IPv4 and UDP.
DATAGRAM, DATA, ON_THE_WIRE = 1200, 1167, 1228
#: Data bytes of a TCP segment of Linux.
TCP_DATA = 1448

# The satellite

DELAY_S = 0.3
RTT_S = 2 * DELAY_S
SIZE = 100_000_000
INITIAL_WINDOW = 10
#: Rates down and up, in Mbit/s.
GEO = {"250/3": (250, 3), "50/10": (50, 10), "10/2": (10, 2)}
CONTROLLERS = {"cubic": "CUBIC", "reno": "NewReno"}
#: Share of PipeSize after a safe retreat.
BETA = {"cubic": "0.7", "reno": "0.5"}

PLAIN, RESUME, WHOLE = "plain", "resume", "whole"
#: The senders over the satellite: slow start, RFC 9959, and picoquic's method.
SENDERS = {
    PLAIN: "slow start",
    RESUME: "half after the initial window (RFC 9959)",
    WHOLE: "all after a sample (picoquic)",
}


def saved(mbps: float) -> int:
    """The bandwidth-delay product of a satellite link in datagrams."""
    return int(mbps * 1e6 * RTT_S / 8 / DATAGRAM)


def _satellite(
    mbps: float,
    up_mbps: float,
    sender: str,
    *,
    controller: str = "cubic",
    size: int = SIZE,
    **settings: str | int,
) -> dict[str, Any]:
    """A download over a satellite; `settings` are of its flow."""
    values: dict[str, Any] = {"congestion": controller, "ack_threshold": 10}
    if sender != PLAIN:
        values |= {"resume_window": saved(mbps), "resume_beta": BETA[controller]}
    if sender == WHOLE:
        values |= {"resume_jump": 100, "resume_after": "sample"}
    values |= settings
    return {
        "profile": "quic",
        "end": "600 s",
        "wired": {"rate": "10 Gbit/s", "delay": "0 s"},
        "links": {
            "geo": {
                "rate": f"{mbps:g} Mbit/s",
                "delay": f"{DELAY_S * 1e3:g} ms",
                "queue": "bdp",
                "up": {"rate": f"{up_mbps:g} Mbit/s"},
            }
        },
        "flows": {
            "download": {
                "scheme": "sack" if sender == PLAIN else "careful-resume",
                "size": f"{size} B",
                "start_notice": sender != PLAIN,
                "set": {name: str(value) for name, value in values.items()},
            }
        },
    }


@cache
def satellite(link: str, sender: str, controller: str) -> Scenarios:
    """The download of 100 MB over a link of `GEO`."""
    values = _satellite(*GEO[link], sender, controller=controller)
    name = f"GEO {link}, {SENDERS[sender]}, {CONTROLLERS[controller]}"
    return Scenarios(name, (scenario_text(values),), traced=False)


#: Saved round trips of CR6, and whether the sender jumps: the path's 0.6 s must be more than half
#: of it and at most ten times it.
OTHER_RTTS = {"1.21 s": False, "1.19 s": True, "61 ms": True, "59 ms": False}


@cache
def other_path(rtt: str) -> Scenarios:
    """The download with another saved round trip."""
    values = _satellite(*GEO["250/3"], RESUME, resume_rtt=rtt)
    return Scenarios(f"GEO 250/3, saved RTT {rtt}", (scenario_text(values),), traced=False)


#: A link of a tenth of the saved rate, Mbit/s.
SLOWER = (25, 3)


@cache
def slower(sender: str, controller: str) -> Scenarios:
    """The download over that link, the saved window being that of 250 Mbit/s."""
    more = {} if sender == PLAIN else {"resume_window": saved(GEO["250/3"][0])}
    values = _satellite(*SLOWER, sender, controller=controller, **more)
    name = f"GEO 25/3, {SENDERS[sender]} of ten times that, {CONTROLLERS[controller]}"
    return Scenarios(name, (scenario_text(values),), traced=False)


#: Saved window divided by the true window.
RATIOS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
RATIO_LINK = "50/10"
RATIO_SIZE = 20_000_000


@cache
def known(ratio: float | None) -> Scenarios:
    """A download of 20 MB with a saved window of `ratio` times the true one; None: without
    resuming."""
    rates = GEO[RATIO_LINK]
    if ratio is None:
        values = _satellite(*rates, PLAIN, size=RATIO_SIZE)
        return Scenarios("20 MB over GEO 50/10", (scenario_text(values),), traced=False)
    window = round(saved(rates[0]) * ratio)
    values = _satellite(*rates, RESUME, size=RATIO_SIZE, resume_window=window)
    return Scenarios(f"20 MB over GEO 50/10, {ratio:g}", (scenario_text(values),), traced=False)


def traced(of: Scenarios, *events: str, until_s: float | None = None) -> FlowTrace:
    """Some events of a run."""
    return FlowTrace(of, until_s=until_s, events=events)


#: Appendix B: the packets in flight and the saved window; an initial window of 28 results in this
#: flight.
FLIGHT, SAVED = 29, 300


@cache
def appendix_b() -> Scenarios:
    """A run in which 29 packets are in flight when the initial window is acknowledged.

    The link breaks before any of the 29 is acknowledged, so the packets sent are those for which
    the window has room.
    """
    values = _satellite(
        *GEO["250/3"],
        RESUME,
        size=2_000_000,
        resume_window=SAVED,
        initial_window=28,
        ack_threshold=1,
    )
    # A break without a notice to the sender.
    values["handoffs"] = [{"at": "1.5 s", "to": "geo", "gap": "5 s", "notice": {"lost": "100%"}}]
    return Scenarios("appendix B", (scenario_text(values),), traced=False)


#: Half of the saved window is more than a link of 5 Mbit/s and its queue hold: the jump is lost.
@cache
def lost_jump(controller: str) -> Scenarios:
    """A run in which the jump is lost."""
    values = _satellite(5, 3, RESUME, controller=controller, size=5_000_000, resume_window=4000)
    name = f"a jump that is lost, {CONTROLLERS[controller]}"
    return Scenarios(name, (scenario_text(values),), traced=False)


# Handoffs

AT_S = (1.5, 1.583, 1.671, 1.754)
GAP_S = 0.5
#: Bytes whose transfer time is measured after a handoff.
AFTER_BYTES = 5_000_000
LONGEST_S = 60
RESIDENT_S = 5.0
#: The factor by which a wrong notice overstates the rate.
WRONG = 4


@dataclass(frozen=True)
class Mover:
    """A sender that is handed over: its name, its profile, and how it resumes."""

    name: str
    profile: str
    resumes: bool = False
    #: The saved window is the old link's bandwidth-delay product.
    of_old: bool = False
    wrong: bool = False
    flows: int = 1
    #: Each of several flows resumes from the whole link.
    whole: bool = False


QUIC = Mover("QUIC", "quic")
QUIC_RESUMES = Mover("QUIC, resumes", "quic", resumes=True)
QUIC_OF_OLD = Mover("QUIC, from the old link's window", "quic", resumes=True, of_old=True)
QUIC_WRONG = Mover("QUIC, told four times the rate", "quic", resumes=True, wrong=True)
TCP = Mover("TCP", "linux")
TCP_RESUMES = Mover("TCP, resumes", "linux", resumes=True)
MOVERS = (QUIC, QUIC_RESUMES, QUIC_OF_OLD, QUIC_WRONG, TCP, TCP_RESUMES)
FOUR = Mover("four of QUIC", "quic", flows=4)
FOUR_RESUME = Mover("four of QUIC, resume from shares", "quic", resumes=True, flows=4)
FOUR_WHOLE = Mover("four of QUIC, resume from the whole", "quic", resumes=True, flows=4, whole=True)
CELLS = tuple((handoff, kind) for handoff in HANDOFFS for kind in KINDS)
#: Handoffs whose new path has a long round trip.
LONG = ("LTE to Starlink", "Starlink to GEO")
SHORT = ("Wi-Fi to 5G", "5G to Wi-Fi")

_PRESETS = {one["name"]: one for one in link_presets()}


def holds(link: str) -> int:
    """The bandwidth-delay product of a preset in packets of 1500 bytes, as a notice counts it."""
    one = _PRESETS[link]
    return int(one["down_bps"] * 2 * one["delay_ns"] / 1e9 / 12_000)


def _handoff(mover: Mover, handoff: str, kind: str, at_s: float) -> dict[str, Any]:
    old, new = HANDOFFS[handoff]
    step: dict[str, Any] = {"at": f"{at_s:.3f} s", "to": new}
    if KINDS[kind]:
        step["gap"] = KINDS[kind]
    if mover.wrong:
        step["notice"] = {"says_rate": f"{WRONG * _PRESETS[new]['down_bps']} bit/s"}
    flow: dict[str, Any] = {
        "profile": mover.profile,
        "scheme": "careful-resume" if mover.resumes else "sack",
    }
    settings: dict[str, str] = {}
    if mover.of_old or mover.whole:
        settings["resume_window"] = str(holds(old if mover.of_old else new))
    if mover.resumes:
        settings["resume_beta"] = "0.7"
    if settings:
        flow["set"] = settings
    if mover.flows > 1:
        flow["count"] = mover.flows
    return {
        "links": {name: {"preset": name} for name in (old, new)},
        "start": old,
        "flows": {"mover": flow},
        "handoffs": [step],
    }


def make_s(kind: str, at_s: float) -> float:
    """When the new link is in use."""
    return at_s + (GAP_S if KINDS[kind] else 0.0)


@cache
def moved(mover: Mover, handoff: str, kind: str) -> Scenarios:
    """The mover alone, until 5 MB of new data are acknowledged."""
    texts = []
    payload = DATA if mover.profile == "quic" else TCP_DATA
    for at_s in AT_S:
        values = _handoff(mover, handoff, kind, at_s)
        values |= {
            "packets": -(-AFTER_BYTES // payload),
            "stop": "measured",
            "end": f"{make_s(kind, at_s) + LONGEST_S:.3f} s",
        }
        texts.append(scenario_text(values))
    return Scenarios(f"{handoff} {kind}, {mover.name}", tuple(texts), traced=False)


@cache
def beside(mover: Mover, handoff: str, kind: str) -> Scenarios:
    """A resident TCP flow on the new link, and the mover that is handed over to it."""
    texts = []
    for at_s in AT_S:
        values = _handoff(mover, handoff, kind, at_s)
        resident = {"profile": "linux", "scheme": "sack", "on": HANDOFFS[handoff][1]}
        values["flows"] = {"resident": resident, **values["flows"]}
        values["end"] = f"{make_s(kind, at_s) + RESIDENT_S:.3f} s"
        texts.append(scenario_text(values))
    name = f"{handoff} {kind}, a resident beside {mover.name}"
    return Scenarios(name, tuple(texts), traced=False)
