"""Make `reno.csv.gz` and `reno_cases.csv`: ns-2's Tahoe, Reno and NewReno with scripted losses.

Needs ns-2.35 (`ns` on the path; Debian's package `ns2`). A few minutes:

    python tests/ns2/make_reno.py

The result depends on nothing but ns-2, `impaired.tcl`, `settings.tcl` and the seed, so a second
run writes the same files. Another seed makes other runs of the same kinds, which `verify.py` can
compare as well:

    python tests/ns2/make_reno.py --seed 7 --each 500 --out /tmp/more
    python tests/ns2/verify.py --only reno --data /tmp/more
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from make_impaired import (
    DATA,
    LOSE,
    TRIAL_END,
    Case,
    Event,
    Link,
    far_packets,
    run_of,
    simulate,
    write_packed,
)

SEED = 1
AGENTS = "Newreno", "Reno", "Tahoe"
#: Runs of each agent.
EACH = 60
SETTINGS = "agent delack limited changes1 deflation".split()
COLUMNS = "case kind rate_kbps delay_ms window".split() + SETTINGS + "end script".split()
LATEST = 320
#: Timeouts make a run long; what comes after this many events is left out.
EVENTS = 800

Script = dict[int, str]


def any_link(rng: random.Random) -> Link:
    """Return a link with a window that fits it, is small, or never limits."""
    rate = rng.choice((200, 500, 1000, 2000, 6400, 10000))
    delay = rng.choice((5, 20, 50, 75, 150, 300))
    return rate, delay, rng.choice((4, 6, 8, 12, 20, 30, 64, 10000))


def any_settings(rng: random.Random, agent: str) -> tuple[tuple[str, str], ...]:
    """Return the agent's settings: mostly the defaults of ns-2.29 and later."""
    newreno = agent == "Newreno"
    values = {
        "agent": agent,
        "delack": int(rng.random() < 0.4),
        "limited": int(rng.random() < 0.7),
        "changes1": int(not newreno or rng.random() < 0.7),
        "deflation": int(not newreno or rng.random() < 0.7),
    }
    return tuple((key, str(value)) for key, value in values.items())


def lateness(rng: random.Random, link: Link) -> str:
    """Return a delay that lets a few packets overtake."""
    delay = rng.choice((1, 2, 3, 5, 10, 20)) * 12.0 / link[0] * rng.uniform(0.8, 1.4)
    return f"{min(max(delay, 0.005), 0.5):.6f}"


def resent(case: Case, lost: int) -> int | None:
    """Return the ordinal at which the segment lost at ordinal `lost` comes again, if it does."""
    packets = far_packets(case, 20.0)
    if len(packets) < lost:
        return None
    again = (n for n, one in enumerate(packets, 1) if one == packets[lost - 1] and n > lost)
    return next(again, None)


def random_losses(rng: random.Random, _case: Case) -> Script:
    """Single losses, at a rate between 0.5 and 10 %."""
    share = rng.choice((0.005, 0.01, 0.03, 0.1))
    return {n: LOSE for n in range(1, LATEST) if rng.random() < share}


def burst_losses(rng: random.Random, _case: Case) -> Script:
    """Bursts of two to ten packets."""
    script: Script = {}
    for _ in range(rng.randrange(1, 5)):
        script |= run_of(rng.randrange(1, LATEST), rng.choice((2, 3, 3, 5, 10)), LOSE)
    return script


def cluster(rng: random.Random, _case: Case) -> Script:
    """Several losses within a window."""
    first = rng.randrange(2, 200)
    span = rng.choice((5, 10, 20, 40))
    return dict.fromkeys(rng.sample(range(first, first + span), rng.randrange(1, 6)), LOSE)


def lost_retransmission(rng: random.Random, case: Case) -> Script:
    """A loss, its retransmission lost or late, and mostly losses after it: timeouts in recovery."""
    first = rng.randrange(5, 150)
    case.script = run_of(first, rng.choice((1, 1, 2, 3)), LOSE)
    again = resent(case, first)
    script = dict(case.script)
    if again is not None:
        script[again] = rng.choice((LOSE, f"{rng.uniform(0.05, 2.0):.6f}"))
        for step in rng.sample(range(1, 12), rng.randrange(0, 4)):
            script[again + step] = rng.choice((LOSE, lateness(rng, case.link)))
    return script


def outage(rng: random.Random, _case: Case) -> Script:
    """Everything is lost or late for a while."""
    first, count = rng.randrange(5, 150), rng.choice((3, 8, 15, 30, 60))
    what = LOSE if rng.random() < 0.5 else f"{rng.uniform(0.3, 3.0):.6f}"
    script = run_of(first, count, what)
    for kept in rng.sample(range(first, first + count), rng.randrange(0, 3)):
        del script[kept]
    return script


def late(rng: random.Random, case: Case) -> Script:
    """Packets overtake each other."""
    share = rng.choice((0.01, 0.03, 0.1, 0.3))
    return {n: lateness(rng, case.link) for n in range(1, LATEST) if rng.random() < share}


def mixed(rng: random.Random, case: Case) -> Script:
    """Losses and delays together."""
    return late(rng, case) | random_losses(rng, case)


KINDS: dict[str, Callable[[random.Random, Case], Script]] = {
    "random": random_losses,
    "burst": burst_losses,
    "cluster": cluster,
    "lost-retransmission": lost_retransmission,
    "outage": outage,
    "late": late,
    "mixed": mixed,
}


def cases(seed: int, each: int) -> Iterator[Case]:
    """Yield every case: the kinds in turn for each agent."""
    for agent in AGENTS:
        rng = random.Random(f"{seed} {agent}")
        for number in range(each):
            kind = list(KINDS)[number % len(KINDS)]
            case = Case(kind, any_link(rng), more=any_settings(rng, agent))
            case.script = KINDS[kind](rng, case)
            yield case
        # Duplicates of the first data segment after a timeout, before anything new is acknowledged.
        script = {2: LOSE, 3: "0.34", 4: "0.34", 5: LOSE}
        settings = (("agent", agent), ("delack", "0"), ("limited", "1"))
        more = (*settings, ("changes1", "1"), ("deflation", "1"))
        yield Case("first-segment", (2000, 50, 30), script, more=more)


def run(case: Case) -> list[Event]:
    """Run a case until enough has happened, and set its end there."""
    for end in 3.0, 12.0, TRIAL_END:
        events = simulate(case, end)
        if len(events) > EVENTS:
            break
    case.end = end
    if len(events) > EVENTS:
        case.end = round(events[EVENTS][0] + 0.0005, 3)
        events = simulate(case, case.end)
    return events


def main() -> int:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Make reno.csv.gz with ns-2.")
    parser.add_argument("--out", type=Path, default=DATA, metavar="DIRECTORY")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--each", type=int, default=EACH, metavar="N", help="runs of each agent")
    options = parser.parse_args()
    table, trace = io.StringIO(), io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(COLUMNS)
    trace.write("case,time,event,value\n")
    for number, case in enumerate(cases(options.seed, options.each), 1):
        events = run(case)
        settings = dict(case.more)
        chosen = [settings[name] for name in SETTINGS]
        rows.writerow([number, case.kind, *case.link, *chosen, f"{case.end:g}", case.words()])
        for time, name, value in events:
            trace.write(f"{number},{time:.9f},{name},{value}\n")
        if number % 50 == 0:
            print(f"{number} cases", file=sys.stderr, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "reno_cases.csv").write_text(table.getvalue())
    write_packed(options.out / "reno.csv.gz", trace.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
