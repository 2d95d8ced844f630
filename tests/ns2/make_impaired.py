"""Make `impaired.csv.gz` and `impaired_cases.csv`: ns-2 with scripted losses and delays.

Needs ns-2.35 (`ns` on the path; Debian's package `ns2`). A few minutes:

    python tests/ns2/make_impaired.py

The result depends on nothing but ns-2, `impaired.tcl`, `settings.tcl` and the seed here, so a
second run writes the same files. What a script must hit (a retransmission, a whole flight) is
looked up in a trial run of the script so far. The files go to `tests/data/ns2`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "ns2"
SEED = 20081

# Rate in kbit/s, one-way delay in ms, `window_`.
Link = tuple[int, int, int]
LONG, FAST, MIDDLE = (1000, 200, 10000), (10000, 20, 10000), (2000, 50, 10000)
LINKS: tuple[Link, ...] = (
    LONG,
    FAST,
    MIDDLE,
    (1000, 200, 30),
    (10000, 20, 30),
    (2000, 50, 30),
    (1000, 200, 60),
    (10000, 20, 60),
)
FRTO = 0, 1, 2
RESPONSES = 1, 2, 3

LOSE = "lose"
NEVER = "1000"
CASE_COLUMNS = "case kind rate_kbps delay_ms window frto response end script".split()
TRIAL_END = 40.0

Event = tuple[float, str, str]


@dataclass
class Case:
    """One ns-2 run. `script` tells by ordinal what befalls a packet."""

    kind: str
    link: Link
    script: dict[int, str] = field(default_factory=dict)
    frto: int = 0
    response: int = 1
    segments: int = 250
    end: float = TRIAL_END
    #: Further words for `impaired.tcl`.
    more: tuple[tuple[str, str], ...] = ()

    def words(self) -> str:
        """Return the script as it is written."""
        return " ".join(f"{ordinal}:{what}" for ordinal, what in sorted(self.script.items()))


def simulate(case: Case, end: float, far: bool = False) -> list[Event]:
    """Run ns-2 once and return the events."""
    rate, delay, window = case.link
    words = [
        f"rate={rate}",
        f"delay={delay}",
        f"window={window}",
        f"frto={case.frto}",
        f"response={case.response}",
        f"end={end:g}",
        f"script={case.words()}",
        f"far={int(far)}",
        *(f"{key}={value}" for key, value in case.more),
    ]
    done = subprocess.run(
        ["ns", str(HERE / "impaired.tcl"), *words], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    if done.returncode != 0 or done.stderr or not lines or lines[0] != "time,event,value":
        raise RuntimeError(f"ns-2 failed on {case}: {done.stderr or done.stdout}")
    events = []
    for line in lines[1:]:
        time, name, value = line.split(",")
        events.append((float(time), name, value))
    return events


def far_packets(case: Case, end: float = 10.0) -> list[int]:
    """Return the segments in the order in which they reach the far end; ordinal 1 comes first."""
    return [int(value) for _, name, value in simulate(case, end, far=True) if name == "far"]


def flight(link: Link, first: int) -> int:
    """Return how many packets from `first` on come before the first retransmission by timeout."""
    case = Case("trial", link, dict.fromkeys(range(first, first + 1000), NEVER))
    packets = far_packets(case)
    for count, segment in enumerate(packets[first - 1 :]):
        if segment in packets[: first - 1 + count]:
            return count
    raise RuntimeError(f"no timeout on {link} after {first}")


def resent(case: Case, lost: int, times: int = 1) -> int:
    """Return the ordinal at which the segment lost at ordinal `lost` comes again."""
    packets = far_packets(case)
    segment = packets[lost - 1]
    later = [n for n, one in enumerate(packets, 1) if one == segment and n > lost]
    return later[times - 1]


def set_end(case: Case) -> None:
    """End the run where `segments` new segments are sent, or after 40 s."""
    for end in 3.0, 6.0, 12.0, TRIAL_END:
        for time, name, value in simulate(case, end):
            if name == "send" and int(value) >= case.segments:
                case.end = round(time + 0.005, 2)
                return


def run_of(first: int, count: int, what: str) -> dict[int, str]:
    """Return the script for consecutive packets."""
    return dict.fromkeys(range(first, first + count), what)


# ---------------------------------------------------------------- the cases
def loss_cases(rng: random.Random) -> Iterator[Case]:
    """Yield single, double and clustered losses, lost retransmissions and lost new data."""
    for number, first in enumerate((1, 2, 3, 4, 7, 12, 23, 40, 60, 95, 130, 171)):
        for link in (LINKS[number % 8], LINKS[(number + 3) % 8]) if first > 4 else LINKS[:1]:
            yield Case("loss-single", link, {first: LOSE})
    for number in range(8):
        first = rng.randrange(15, 150)
        second = first + rng.choice((1, 2, 3, 5, 9, 20))
        yield Case("loss-double", LINKS[number], {first: LOSE, second: LOSE})
    for number in range(12):
        first = rng.randrange(15, 150)
        count, span = rng.choice(((3, 3), (5, 5), (8, 8), (4, 10), (8, 16), (12, 24)))
        hit = rng.sample(range(first, first + span), count)
        yield Case("loss-cluster", LINKS[number % 8], dict.fromkeys(hit, LOSE))
    for number in range(6):
        hit = rng.sample(range(10, 250), rng.choice((5, 10, 20)))
        yield Case("loss-random", LINKS[number], dict.fromkeys(hit, LOSE))
    for number in range(8):
        first = rng.randrange(30, 120)
        case = Case("loss-of-retransmission", LINKS[number], run_of(first, 1 + number % 3, LOSE))
        case.script[resent(case, first + number % 3)] = LOSE
        yield case
    for number in range(8):
        # What follows the retransmission in the recovery, new data most of it.
        first = rng.randrange(30, 120)
        case = Case("loss-in-recovery", LINKS[number], {first: LOSE})
        again = resent(case, first)
        for step in (rng.randrange(1, 4), rng.randrange(4, 9))[: 1 + number % 2]:
            case.script[again + step] = LOSE
        yield case


def lateness(rng: random.Random, link: Link) -> str:
    """Return a delay that lets about 1 to 20 packets overtake, from 5 to 300 ms."""
    packet = 12.0 / link[0]
    delay = rng.choice((1, 2, 3, 5, 10, 20)) * packet * rng.uniform(0.8, 1.4)
    return f"{min(max(delay, 0.005), 0.3):.6f}"


def reorder_cases(rng: random.Random) -> Iterator[Case]:
    """Yield delays of some packets: random ones, one, neighbours, a retransmission."""
    for number in range(24):
        link = LINKS[number % 8]
        late = [n for n in range(5, 300) if rng.random() < 0.05]
        if number >= 16:
            script = {n: f"{rng.uniform(0.005, 0.3):.6f}" for n in late}
        else:
            script = {n: lateness(rng, link) for n in late}
        yield Case("reorder-random", link, script)
    for number in range(8):
        first = rng.randrange(30, 120)
        count = (1, 1, 1, 2, 3, 4, 6, 10)[number]
        yield Case("reorder-run", LINKS[number], run_of(first, count, lateness(rng, LINKS[number])))
    for number in range(4):
        first = rng.randrange(30, 120)
        case = Case("reorder-retransmission", LINKS[number], {first: LOSE})
        case.script[resent(case, first)] = f"{rng.uniform(0.02, 0.1):.6f}"
        yield case


def mixed_cases(rng: random.Random) -> Iterator[Case]:
    """Yield losses and delays together."""
    for number in range(24):
        link = LINKS[number % 8]
        script = {}
        for n in range(8, 300):
            drawn = rng.random()
            if drawn < (0.01, 0.03)[number % 2]:
                script[n] = LOSE
            elif drawn < (0.06, 0.05)[number % 2]:
                script[n] = lateness(rng, link)
        yield Case("mixed", link, script, frto=FRTO[number // 8])


def spikes(rng: random.Random) -> Iterator[Case]:
    """Yield runs of delayed packets that keep their order, and timeouts that are needed."""
    for number, link in enumerate((*LINKS[:6], *LINKS[:3])):
        first = rng.randrange(60, 80)
        window = flight(link, first)
        spike = f"{rng.uniform(0.5, 2.5):.6f}"
        # The flight; with the retransmission; with what the first ACKs release; a longer one.
        for extra in (0, 1, 2 + number % 2, 8, 200 - first - window):
            yield Case("spike", link, run_of(first, window + extra, spike))
    for number, link in enumerate((LONG, FAST, MIDDLE)):
        # A spike of which the packets arrive together, as after an outage.
        first = 60 + number
        window = flight(link, first)
        script = {
            first + n: f"{1.5 + 0.1 * number - n * 12.0 / link[0] * 0.9:.6f}"
            for n in range(window + 3)
        }
        yield Case("spike-burst", link, script)
    for number, link in enumerate((LONG, FAST, MIDDLE, LINKS[3], LINKS[6])):
        # With a loss: the first, the second, one in the middle, the last, all but the last.
        first = rng.randrange(60, 80)
        window = flight(link, first)
        spike = f"{rng.uniform(0.6, 2.0):.6f}"
        for lost in ((0,), (1,), (window // 2, window // 2 + 1), (window - 1,), range(window - 1)):
            if number > 2 and len(lost) != 1:
                continue
            # The retransmission is delayed like the rest in some, in others it overtakes.
            script = run_of(first, window + (0, 3)[(number + len(lost)) % 2], spike)
            script.update(dict.fromkeys((first + n for n in lost), LOSE))
            yield Case("spike-and-loss", link, script)
    for number, link in enumerate(LINKS[:6]):
        # The whole window and up to three retransmissions of it are lost.
        first = rng.randrange(60, 80)
        window = flight(link, first)
        yield Case("outage", link, run_of(first, window + (0, 1, 2, 3)[number % 4], LOSE))
    for number, link in enumerate(LINKS[:6]):
        # The tail is lost from somewhere in the flight on: ACKs advance, then a timeout.
        first = rng.randrange(60, 80)
        window = flight(link, first)
        keep = rng.sample(range(window), 2 + number % 2)
        hit = [first + n for n in range(window) if n not in keep]
        yield Case("timeout-and-holes", link, dict.fromkeys(hit, LOSE))
    for number, link in enumerate(LINKS[:6]):
        # In fast recovery: the retransmission is lost or delayed.
        first = rng.randrange(60, 80)
        case = Case("timeout-in-recovery", link, run_of(first, 1 + number % 2, LOSE))
        again = resent(case, first)
        case.script[again] = (LOSE, f"{rng.uniform(1.0, 2.0):.6f}")[number // 3]
        yield case
    for link in LINKS[:4]:
        # Twice: a second spike soon after the first; and one that outlasts several timeouts.
        first = rng.randrange(60, 80)
        window = flight(link, first)
        script = run_of(first, window + 2, f"{rng.uniform(0.6, 1.2):.6f}")
        script.update(run_of(first + window + 6, 40, f"{rng.uniform(0.6, 1.2):.6f}"))
        yield Case("spike-twice", link, script)
        yield Case("spike-long", link, run_of(first, window + 5, f"{rng.uniform(3.0, 5.0):.6f}"))


def sack_cases() -> Iterator[Case]:
    """Yield a flight of which all is lost but one packet, which comes after the retransmission.

    Its duplicate ACK reaches the sender between the first new ACK and those of the new data: the
    one place where F-RTO looks at blocks. The last packet of the flight is a special case. So is
    the last of the new data: there the whole flight is lost, and the first new segment.
    """
    for link in LINKS[:3]:
        first = 40
        window = flight(link, first)
        trial = Case("trial", link, run_of(first, window, LOSE))
        events = simulate(trial, 10.0, far=True)
        timeout = next(time for time, name, _ in events if name == "rto")
        reached = [time for time, name, _ in events if name == "far"]
        round_trip = 2 * link[1] / 1000 + 0.002 + 12.0 / link[0]
        for kept in window - 1, window - 2, window // 2, None:
            script = run_of(first, window, LOSE)
            if kept is None:
                script[first + window + 1] = LOSE
            else:
                late = timeout + 1.05 * round_trip - reached[first + kept - 1]
                script[first + kept] = f"{late:.6f}"
            for frto in FRTO:
                yield Case("dupack-in-frto", link, dict(script), frto)


def spike_cases(rng: random.Random) -> Iterator[Case]:
    """Yield the spikes with F-RTO in its variants, the responses in turn."""
    for number, case in enumerate(spikes(rng)):
        yield case
        for frto in FRTO[1:]:
            response = RESPONSES[(number + frto) % 3] if number % 2 else 1
            yield Case(case.kind, case.link, dict(case.script), frto, response)


def cases() -> Iterator[Case]:
    """Yield every case."""
    rng = random.Random(SEED)
    random_cases = (loss_cases, reorder_cases, mixed_cases, spike_cases)
    for case in chain(*(make(rng) for make in random_cases), sack_cases()):
        case.segments = max(160, min(max(case.script) + 60, 300))
        set_end(case)
        yield case


def write_packed(path: Path, text: str) -> None:
    """Write a gzip file that has neither name nor time in it."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode())


def main() -> int:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Make impaired.csv.gz with ns-2.")
    parser.add_argument("--out", type=Path, default=DATA, metavar="DIRECTORY")
    options = parser.parse_args()
    table, trace = io.StringIO(), io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(CASE_COLUMNS)
    trace.write("case,time,event,value\n")
    for number, case in enumerate(cases(), 1):
        rows.writerow(
            [number, case.kind, *case.link, case.frto, case.response, f"{case.end:g}", case.words()]
        )
        for time, name, value in simulate(case, case.end):
            trace.write(f"{number},{time:.9f},{name},{value}\n")
        if number % 50 == 0:
            print(f"{number} cases", file=sys.stderr, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "impaired_cases.csv").write_text(table.getvalue())
    write_packed(options.out / "impaired.csv.gz", trace.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
