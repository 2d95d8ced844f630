"""The runs of the study: the schedule of the script, jumps of the delay, hard handovers, and BBRv3.

Each is a scenario that the simulator runs with the profile `linux`, and with the stack "linux" the
kernel of the lab.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from midflight.results import EventLog
from midflight.studies.runs import FlowTrace, Scenarios
from midflight.studies.scenario_runs import scenario_text

#: Bytes of data of a segment, and of all of it.
DATA, WIRE = 1448, 1500
BITS = 8 * DATA

CUBIC, BBR, TOLD = "cubic", "bbr", "enhanced"
#: The kernel's senders, and the simulator's names of their congestion control.
KERNEL = {CUBIC: "cubic-linux", BBR: "bbr-linux"}
NAMES = {CUBIC: "CUBIC", BBR: "BBR", TOLD: "CUBIC with a notice"}

# The schedule

PERIODS, PERIOD_S = 20, 15
RUNS = (1, 2, 3, 4, 5)
QUEUE_PACKETS = 327


def schedule(run: int) -> list[tuple[int, int]]:
    """The rate (Mbit/s) and the round trip (ms) of each period, as the script draws them."""
    draw = random.Random(run)
    found = []
    for _ in range(PERIODS):
        found.append((draw.randint(50, 100), draw.randint(5, 100)))
        # A loss that the script draws but does not use.
        draw.uniform(0, 5)
    return found


def flow(sender: str, stack: str, **more: Any) -> dict[str, Any]:
    """A download with a sender, whose stack is "midflight" or "linux"."""
    if stack == "linux":
        return {"stack": stack, "scheme": sender, **more}
    scheme = TOLD if sender == TOLD else "sack"
    settings = {"congestion": KERNEL.get(sender, "cubic-linux")}
    return {"scheme": scheme, "set": settings, **more}


def scenario(end_s: float, **more: Any) -> str:
    wired = {"rate": "10 Gbit/s", "delay": "0 s"}
    return scenario_text({"profile": "linux", "end": f"{end_s:g} s", "wired": wired, **more})


@cache
def scheduled(run: int, sender: str, stack: str = "midflight") -> Scenarios:
    """A download for 300 s over the schedule of a run."""
    drawn = schedule(run)
    trace = {
        "columns": {
            "time_s": [PERIOD_S * place for place in range(PERIODS)],
            "rate_mbps": [rate for rate, _ in drawn],
            "delay_ms": [rtt / 2 for _, rtt in drawn],
        }
    }
    text = scenario(
        PERIODS * PERIOD_S,
        links={"leo": {"trace": trace, "queue": f"{QUEUE_PACKETS} packets"}},
        flows={"download": flow(sender, stack)},
    )
    return Scenarios(f"schedule {run}, {sender}", (text,), traced=False)


# Jumps of the delay

JUMP_S, JUMP_END_S = 20, 40
JUMPS = {4: (20, 80), 15: (20, 300)}


def changed(
    mbps: int,
    before_ms: int,
    after_ms: int,
    download: dict[str, Any],
    end_s: float,
    at_s: float = JUMP_S,
    **more: Any,
) -> str:
    """A download whose round trip jumps; the queue is a bandwidth-delay product of each path."""
    rate = f"{mbps} Mbit/s"
    change = {"link": "leo", "at": f"{at_s:g} s", "delay": f"{after_ms / 2:g} ms", "queue": "bdp"}
    return scenario(
        end_s,
        links={"leo": {"rate": rate, "delay": f"{before_ms / 2:g} ms", "queue": "bdp"}},
        flows={"download": download},
        changes=[change | more],
    )


@cache
def jump(times: int, sender: str, stack: str = "midflight") -> Scenarios:
    """A jump of the round trip by this factor at 10 Mbit/s."""
    text = changed(10, *JUMPS[times], flow(sender, stack), JUMP_END_S)
    return Scenarios(f"jump x{times}, {sender}", (text,), traced=False)


#: Instants of the same jump, in seconds.
INSTANTS_S = tuple(range(15, 25))
INSTANTS_END_S = 40


@cache
def jump_at(at_s: int, sender: str) -> Scenarios:
    """A jump to four times the round trip at another instant."""
    text = changed(10, *JUMPS[4], flow(sender, "midflight"), INSTANTS_END_S, at_s)
    return Scenarios(f"jump x4 at {at_s} s, {sender}", (text,), traced=False)


# Hard handovers

CUT_MBPS, CUT_RTT_MS, CUT_END_S, CUT_EVERY_S = 20, 50, 100, 5
CUTS_MS = (50, 100, 200, 500, 1000)
STARTS_MS = (0, 200, 400, 600, 800)


@cache
def hard(cut_ms: int, sender: str, stack: str = "midflight") -> Scenarios:
    """A link that is cut for this long every five seconds; five starts."""
    link = {"rate": f"{CUT_MBPS} Mbit/s", "delay": f"{CUT_RTT_MS / 2:g} ms", "queue": "bdp"}
    at = range(CUT_EVERY_S, CUT_END_S, CUT_EVERY_S)
    handoffs = [
        {"at": f"{second} s", "to": "other" if place % 2 == 0 else "one", "gap": f"{cut_ms} ms"}
        for place, second in enumerate(at)
    ]
    texts = [
        scenario(
            CUT_END_S,
            start="one",
            links={"one": link, "other": link},
            flows={"download": flow(sender, stack, start=f"{start} ms")},
            handoffs=handoffs,
        )
        for start in STARTS_MS
    ]
    return Scenarios(f"cuts of {cut_ms} ms, {sender}", tuple(texts), traced=False)


# BBRv3

BBR3_MBPS, BBR3_END_S = 100, 40
BBR3_RTTS_MS = (10, 20, 50)
TIMES = 4


@cache
def bbr3(rtt_ms: int, is_told: bool) -> Scenarios:
    """BBRv3 over a jump of the round trip by four times, with a notice or without one."""
    download = {"scheme": TOLD if is_told else "sack", "set": {"congestion": "bbr3"}}
    more: dict[str, Any] = {"notice": {}} if is_told else {}
    text = changed(BBR3_MBPS, rtt_ms, TIMES * rtt_ms, download, BBR3_END_S, **more)
    name = f"BBRv3, {rtt_ms} to {TIMES * rtt_ms} ms{', told' if is_told else ''}"
    return Scenarios(name, (text,), traced=False)


# What is measured


def acks(of: Scenarios) -> FlowTrace:
    """The acknowledgments of a run."""
    return FlowTrace(of, events=("ack",))


def megabits(log: EventLog, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Data acknowledged before each instant, in Mbit."""
    seen = log.of("ack")
    highest = np.concatenate(([0.0], np.maximum.accumulate(seen.value)))
    found: NDArray[np.float64] = highest[np.searchsorted(seen.time_s, at_s)] * BITS / 1e6
    return found


def goodput(log: EventLog, edges_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Goodput in Mbit/s between each instant and the next."""
    found: NDArray[np.float64] = np.diff(megabits(log, edges_s)) / np.diff(edges_s)
    return found


def seconds(log: EventLog, from_s: int, until_s: int) -> NDArray[np.float64]:
    """Goodput in Mbit/s in each second."""
    return goodput(log, np.arange(from_s, until_s + 1, dtype=float))


#: A sender has reacted when it reaches this share of the rate over this time.
SHARE, WINDOW_S, STEP_S = 0.9, 0.5, 0.05


def reaction_s(log: EventLog, mbps: float, until_s: float, at_s: float = JUMP_S) -> float:
    """Seconds from the jump to the first half second of full goodput; inf if there is none."""
    starts = np.arange(at_s, until_s - WINDOW_S, STEP_S)
    got = (megabits(log, starts + WINDOW_S) - megabits(log, starts)) / WINDOW_S
    full = np.flatnonzero(got >= SHARE * mbps * DATA / WIRE)
    return float(starts[full[0]]) - at_s if len(full) else float("inf")
