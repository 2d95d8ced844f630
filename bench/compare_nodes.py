"""All schemes and all agents of nodes on one network: docs/comparison-nodes.md.

    .venv/bin/python bench/compare_nodes.py            print the tables
    .venv/bin/python bench/compare_nodes.py --write    write the page

Five situations, in the profiles linux and ns2; the same seeds and instants for each.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from midflight import _core as core

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from literature import needs  # noqa: E402

PAGE = ROOT / "docs" / "comparison-nodes.md"
MARK = "<!-- What follows is written by bench/compare_nodes.py. -->\n"
PROFILES = ("linux", "ns2")
PLAIN = "sack"
#: Halves of schemes, and tools.
APART = {
    *("ehn-restore", "ehn-notify", "ho-resume", "ho-notify", "reinitialise", "lmdr-respond"),
    *("probe-train", "probe-gap", "wbest", "ld-handover"),
}
#: kbit/s and one-way ms, both ways from each to each.
LINKS = {"Wi-Fi": (20_000, 10), "cell": (5_000, 40)}
RUNS = 5
#: The losses of the radio.
LOST = "uniform 1%"
GAP = "500 ms"
SITUATIONS = {
    "losses": "1 % lost by the radio",
    "wired": "a wired bottleneck",
    "make": "make-before-break",
    "break": f"break-before-make, {GAP}",
    "outage": "an outage of 3 s",
}


@dataclass(frozen=True)
class Way:
    """A scheme or an agent, and who needs it."""

    name: str
    where: str
    scheme: str = PLAIN
    agent: str = "none"


def ways() -> list[Way]:
    """Return the compared schemes and agents, the plain sender first."""
    found = [
        Way(one["name"], needs(one["name"]), scheme=one["name"])
        for one in core.schemes()
        if one["name"] not in APART
    ]
    agents = [Way(one["name"], needs(one["name"]), agent=one["name"]) for one in core.agents()]
    return [*found, *agents]


def scenarios(way: Way, profile: str, situation: str) -> list[str]:
    """Return the scenarios of a situation as JSON."""
    found = []
    for number in range(RUNS):
        for old, new in (("Wi-Fi", "cell"), ("cell", "Wi-Fi")):
            links: dict[str, Any] = {
                name.lower(): {
                    "rate": f"{LINKS[name][0]} kbit/s",
                    "delay": f"{LINKS[name][1]} ms",
                    "queue": "2 bdp",
                }
                for name in (old, new)
            }
            flow = {"scheme": way.scheme, "size": "3 MB"}
            if situation == "losses":
                links[old.lower()]["loss"] = LOST
            if situation == "wired":
                # Losses before the base station, by a full queue; its size makes the runs differ.
                bottleneck = LINKS[old][0] * 2 // 3
                queue = f"{10 * (1 + number)} packets"
                wired = {"rate": f"{bottleneck} kbit/s", "queue": queue}
            values: dict[str, Any] = {
                "profile": profile,
                "seed": 1 + number,
                "end": "120 s",
                "links": links,
                "start": old.lower(),
                "flows": {"download": flow},
                "agent": way.agent,
                # A proxy without its state is no transfer.
                "set": {"pep_handover": "on"},
            }
            if situation == "wired":
                values["wired"] = wired
            at = f"{0.5 + 0.0613 * number:.4f} s"
            step = {"at": at, "to": new.lower()}
            if situation == "break":
                step["gap"] = GAP
            if situation == "outage":
                step |= {"to": old.lower(), "gap": "3 s"}
            if situation not in ("losses", "wired"):
                values["handoffs"] = [step]
            found.append(json.dumps(values))
    return found


def times(way: Way, profile: str, situation: str) -> np.ndarray[Any, Any] | None:
    """Return seconds until all data is acknowledged and has arrived; None for a refused
    combination.
    """
    try:
        plans = [core.Plan(text, name=None) for text in scenarios(way, profile, situation)]
    except core.MidflightError:
        return None
    flows, _ = core.run_plans(plans)
    found = np.array([np.inf if one is None else one for one in flows.column("duration_ns")])
    return found / 1e9


def percent(ratio: float) -> str:
    """Return how much less or more."""
    return "never" if np.isinf(ratio) else f"{100 * (ratio - 1):+.0f}"


def table(profile: str) -> str:
    """Return the table of a profile in Markdown."""
    plain: dict[str, np.ndarray[Any, Any]] = {}
    rows = []
    for way in ways():
        print(f"{profile}: {way.name}", file=sys.stderr, flush=True)
        cells = [f"`{way.name}`", way.where]
        for situation in SITUATIONS:
            found = times(way, profile, situation)
            if found is None:
                cells.append("refused")
                continue
            plain.setdefault(situation, found)
            ratios = found / plain[situation]
            worst = float(np.max(ratios))
            cells.append(f"{percent(float(np.median(ratios)))} ({percent(worst)})")
        if set(cells[2:]) != {"refused"}:
            rows.append(cells)
    head = ["", "needs", *SITUATIONS.values()]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(one)} |" for one in lines)


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    given = parser.parse_args()
    made = "\n\n".join(f"## Profile `{name}`\n\n{table(name)}" for name in PROFILES)
    if not given.write:
        print(made)
        return
    text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{text}{MARK}\n{made}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
