"""The simulator's own QUIC sender against quinn itself, in the same handoffs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any

from midflight._core import QUIC_STACKS, Plan, run_plans
from midflight.migration import KINDS
from midflight.refusal import refusal
from midflight.scenario import Scenario

__all__ = ["PATHS", "AgainstRow", "compare_quinn"]

#: The links before and after, and what is downloaded.
PATHS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "Wi-Fi to 5G": ({"preset": "wifi"}, {"preset": "5g-nsa"}, "20 MB"),
    "5G to Wi-Fi": ({"preset": "5g-nsa"}, {"preset": "wifi"}, "60 MB"),
    "LTE to Starlink": ({"preset": "lte"}, {"preset": "leo"}, "20 MB"),
    "9 ms to 300 ms": (
        {"rate": "6400 kbit/s", "delay": "9 ms", "queue": "20 packets"},
        {"rate": "6400 kbit/s", "delay": "300 ms", "queue": "320 packets"},
        "3 MB",
    ),
}
#: quinn's flow control, 1.25 MB of a stream (1,071 packets), its window less a packet, and the
#: packet with connection identifiers that its server sends with the handshake.
SETTINGS = {
    "migration": "quinn",
    "receiver_window": 1071,
    "window_edge": "below",
    "handshake_ids": "on",
}
#: Controllers by quinn's names, with the settings of ours. quinn's CUBIC is that of RFC 8312.
CONTROLLERS = {
    "cubic": {"congestion": "cubic", "cubic_rules": "rfc8312"},
    "newreno": {"congestion": "reno"},
}
NAMES = {"cubic": "CUBIC", "newreno": "NewReno"}
#: The first handoff, and the time in which the others are.
FIRST_S, WITHIN_S = 1.0, 1.08


def instants_of(count: int) -> tuple[float, ...]:
    """Return when so many handoffs are, in seconds."""
    return tuple(FIRST_S + WITHIN_S * number / count for number in range(count))


#: So many that a median does not depend on a few of them: some times have two modes, by the number
#: of rounds of packets.
INSTANTS_S = instants_of(60)


@dataclass(frozen=True)
class AgainstRow:
    """Medians over some instants of a handoff, in seconds.

    `own_s` and `quinn_s` are of the whole download; `own_hundred_s` and `quinn_hundred_s` from the
    handoff until 100 packets are acknowledged that were never sent before it. None where most runs
    took longer than 60 s.
    """

    handoff: str
    kind: str
    controller: str
    own_s: float | None
    quinn_s: float | None
    own_hundred_s: float | None
    quinn_hundred_s: float | None


def plan(path: str, kind: str, flow: dict[str, Any], at_s: float) -> Plan:
    """A download over a path of `PATHS`, with a handoff at that instant."""
    old, new, size = PATHS[path]
    gap = KINDS[kind]
    return Scenario.from_dict(
        {
            "links": {"old": old, "new": new},
            "start": "old",
            "flows": {"download": {"size": size, **flow}},
            "handoffs": [{"at": f"{at_s:.3f} s", "to": "new", **({"gap": gap} if gap else {})}],
            "end": "60 s",
        }
    ).plan()


def flows_of(cc: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The flow of our own sender and that of quinn, with one congestion control."""
    own = {"profile": "quic", "set": {**SETTINGS, **CONTROLLERS[cc]}}
    return own, {"stack": "quinn", "cc": cc}


def compare_quinn(
    *,
    handoffs: Sequence[str] = tuple(PATHS),
    kinds: Sequence[str] = tuple(KINDS),
    controllers: Sequence[str] = tuple(CONTROLLERS),
    instants_s: Sequence[float] = INSTANTS_S,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[AgainstRow]:
    """Run both through every handoff; one row for each handoff, kind and controller.

    `handoffs` are names of `PATHS`, `kinds` of `KINDS`, `controllers` those of quinn; `instants_s`
    are when the handoffs are, in seconds. `threads` and `progress` are as for `run_plans`. Raises
    `MidflightError` where quinn is not built in.
    """
    if "quinn" not in QUIC_STACKS:
        raise refusal(
            "quinn is not built in; expected a build of midflight with the feature quinn",
            name="stack",
            value="quinn",
            accepted=", ".join(QUIC_STACKS) or "none",
        )
    cells = [(path, kind, cc) for path in handoffs for kind in kinds for cc in controllers]
    plans = [
        plan(path, kind, flow, at_s)
        for path, kind, cc in cells
        for flow in flows_of(cc)
        for at_s in instants_s
    ]
    flows, phases = run_plans(plans, threads=threads, progress=progress)
    whole = dict(zip(flows.column("cell"), flows.column("duration_ns"), strict=True))
    # The last row of a cell is that of the handoff.
    hundred = dict(zip(phases.column("cell"), phases.column("all_new_ns"), strict=True))
    rows = []
    count = len(instants_s)
    for place, (path, kind, cc) in enumerate(cells):
        own, quinn = (
            range((2 * place + side) * count, (2 * place + side + 1) * count) for side in (0, 1)
        )
        rows.append(
            AgainstRow(
                path,
                kind,
                NAMES[cc],
                *(
                    _median_s([found[cell] for cell in of])
                    for found in (whole, hundred)
                    for of in (own, quinn)
                ),
            )
        )
    return rows


def _median_s(times_ns: Sequence[int | None]) -> float | None:
    value = median(inf if one is None else one for one in times_ns)
    return None if value == inf else value / 1e9


def changes(row: AgainstRow) -> tuple[float | None, float | None]:
    """By how much our sender's times differ from quinn's, as a share of these."""
    pairs = ((row.own_s, row.quinn_s), (row.own_hundred_s, row.quinn_hundred_s))
    whole, hundred = (
        None if own is None or quinn is None else own / quinn - 1 for own, quinn in pairs
    )
    return whole, hundred
