"""Write `behaviour.txt`: what schemes do in every starter scenario under two profiles, for review.

    python tests/golden/behaviour.py

Only the first run of each starter is made. The scheme is that of the scenario's first flow; the
other flows keep theirs. `tests/python/test_golden.py` compares the file with what the program does.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import midflight
from midflight import MidflightError, Scenario
from midflight.scenario import starter_names

FILE = Path(__file__).with_name("behaviour.txt")

# Those of `rfc` have together a part of every kind: none, policies, a policy with a signal, a
# signal alone, a response to duplicate ACKs with a detector and a classifier, and another
# congestion controller. `linux` has its own loss detection, which refuses such a response.
SCHEMES = {
    "linux": ("sack", "enhanced", "ehn", "freeze", "vho", "reno-linux"),
    "rfc": ("sack", "enhanced", "ehn", "freeze", "dcr-frto-ld", "cubic"),
}

COUNTS = {
    "timeouts": "timeouts",
    "spurious": "spurious_timeouts",
    "rexmits": "rexmits",
    "queue": "drops_queue",
    "break": "drops_break",
    "radio": "drops_radio",
}
HEADINGS = ("scheme", "done_s", "Mbit/s", *COUNTS)
WIDTHS = (12, 9, 9, 9, 9, 9, 7, 7, 7)

INTRODUCTION = """\
What six schemes do in the first run of every starter scenario, under the profiles `linux` and
`rfc`. `make golden` writes this file; a change of it is reviewed as a diff. The scheme is that of
the scenario's first flow, to which the columns belong; the other flows keep theirs.

  done_s    seconds from the opening of the flow until all its data was acknowledged;
            - if the run ended before
  Mbit/s    data acknowledged per second until then, or until the end of the run
  timeouts  all timeouts
  spurious  timeouts of a segment that was then acknowledged by what was sent before the timeout
  rexmits   retransmissions sent
  queue     data packets lost to a full queue
  break     data packets lost to a link that was down
  radio     data packets lost to the radio

The digest is a hash of the digests of the runs under one profile, in this order. It changes with
any event of any flow.
"""


def line(cells: tuple[str, ...]) -> str:
    first, *others = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    return "  " + first + "".join(others)


def first_flow(plan: midflight.Plan) -> dict[str, Any]:
    """The row of the first flow in a plan's only run."""
    flows, _ = midflight.run_plans([plan])
    return {name: flows.column(name)[0] for name in flows.column_names}


def row(scheme: str, flow: dict[str, Any]) -> str:
    done = flow["finished_ns"] is not None
    time = f"{flow['duration_ns'] / 1e9:.3f}" if done else "-"
    goodput = f"{flow['goodput_bps'] / 1e6:.3f}"
    return line((scheme, time, goodput, *(str(flow[column]) for column in COUNTS.values())))


def starter(name: str, profile: str) -> str:
    """The rows of a starter under a profile, and their digest."""
    scenario = Scenario.read(name)
    flow = next(iter(scenario.flows))
    rows, digests = [], []
    for scheme in SCHEMES[profile]:
        sets = {"runs": 1, "profile": profile, f"flows.{flow}.scheme": scheme}
        try:
            plan = scenario.plan(sets=sets)
        except MidflightError:
            # A signal is the mobile node's as a receiver: its scheme is for flows towards it.
            if scenario.flows[flow].direction != "up":
                raise
            rows.append(f"  {scheme.ljust(WIDTHS[0])}     refused: the flow goes up")
            continue
        found = first_flow(plan)
        assert (found["flow"], found["scheme"]) == (flow, scheme)
        rows.append(row(scheme, found))
        digests.append(found["digest"])
    together = hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]
    title = f"{name}, {profile}: flow {flow}, digest {together}"
    return "\n".join((title, line(HEADINGS), *rows)) + "\n"


def table() -> str:
    """The whole file."""
    model = f"Model version {midflight.MODEL_VERSION}.\n"
    tables = (starter(name, profile) for name in starter_names() for profile in SCHEMES)
    return "\n".join((INTRODUCTION, model, *tables))


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
    print(FILE)
