"""Make `tests/data/ns2/extra_pairs.csv.gz`: ns-2 runs of link pairs that the grid does not have.

Needs ns-2.35 (`ns` on the path; Debian's package `ns2`). One process, about a quarter of an hour:

    python tests/ns2/make_extra.py

The result depends on nothing but ns-2, `handoff.tcl` and `settings.tcl`, so a second run writes the
same rows.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent / "data" / "ns2" / "extra_pairs.csv.gz"

COLUMNS = (
    "fig ho bw1 d1 bw2 d2 th t_new100 t_new100_make t_ack100 t_newpath100 nrto nspur first_rto "
    "drops_data drops_all rexmits cwnd ssthresh flight rto hiack maxseq sent_in_outage dupacks "
    "backoff rto_times gap"
).split()

Link = tuple[str, str]

# Instants that hit slow start, its overshoot, recovery and congestion avoidance of slow and fast
# links alike. Pairs take the three sets in turn.
INSTANTS = (
    "0.1 0.3 0.7 1.1 1.6 2.2 2.9 3.33 4.05 4.8 5.55 6.4 7 7.77 8.6 9.3 9.9 10.7 11.5 12.345 13.6 "
    "15.1 16.66 18.2 20",
    "0.15 0.4 0.9 1.3 1.9 2.5 3.1 3.7 4.321 5 5.8 6.66 7.25 8.1 8.88 9.45 10.2 11.03 11.9 13 "
    "14.142 15.7 17.3 18.9 19.99",
    "0.2 0.6 0.8 1.25 1.75 2.4 2.718 3.14159 4.6 5.3 6.1 6.75 7.5 8.3 9 9.6 10.4 11.111 12.2 "
    "13.3 14.7 16.2 17.77 19.1 19.7",
)

# Delay of both links, then the rates that meet 6400 kbit/s in both directions.
SAME_DELAY = (("300", "75", "9", "1"), ("200", "400", "800", "1600", "3200"))
SAME_BDP = [
    ("200", "300"),
    ("400", "150"),
    ("800", "75"),
    ("1600", "37"),
    ("3200", "18"),
    ("6400", "9"),
]
ODD: tuple[tuple[Link, Link], ...] = (
    (("54000", "2"), ("2000", "50")),
    (("2000", "50"), ("54000", "2")),
    (("54000", "4"), ("6000", "50")),
    (("6000", "50"), ("54000", "4")),
    (("200", "300"), ("50000", "15")),
    (("50000", "15"), ("54000", "4")),
    (("2000", "50"), ("50000", "15")),
    (("137", "211"), ("5333", "17")),
    (("5333", "17"), ("137", "211")),
    (("1234", "61"), ("777", "3")),
    (("100", "500"), ("10000", "30")),
    (("10000", "30"), ("100", "500")),
    (("9.6", "300"), ("200", "50")),
    (("200", "50"), ("9.6", "300")),
    (("28.8", "150"), ("9.6", "400")),
)
ODD_GAPS = ("0.05", "0.2", "1", "2.5")
# From a link to one like it: packets arrive over both at one instant.
SAME_LINK = (("6400", "9"), ("3200", "18"), ("12800", "4"))
SAME_LINK_INSTANTS = "8.9 9 9.1 9.2 9.3 9.4 9.5 9.6 9.7 9.8 9.9 10 10.1 10.2 10.3"


class Run(NamedTuple):
    """One ns-2 run: a family name and what `handoff.tcl` is told."""

    family: str
    kind: str
    old: Link
    new: Link
    at: str
    gap: str


def pairs() -> Iterator[tuple[str, Link, Link]]:
    """Yield every link pair with its family name."""
    for delay in SAME_DELAY[0]:
        for rate in SAME_DELAY[1]:
            yield "same-delay", ("6400", delay), (rate, delay)
            yield "same-delay", (rate, delay), ("6400", delay)
    for link in SAME_BDP[1:]:
        yield "same-bdp", link, SAME_BDP[0]
    for link in SAME_BDP[:-1]:
        yield "same-bdp", link, SAME_BDP[-1]
    for old, new in ODD:
        yield "odd", old, new


def runs() -> Iterator[Run]:
    """Yield every run: both kinds; the odd pairs again with other gaps."""
    for number, (family, old, new) in enumerate(pairs()):
        instants = INSTANTS[number % len(INSTANTS)].split()
        for kind in ("mbb", "bbm"):
            for at in instants:
                yield Run(family, kind, old, new, at, "0.5")
        if family == "odd":
            for position, at in enumerate(instants):
                gap = ODD_GAPS[position % len(ODD_GAPS)]
                yield Run("odd-gap", "bbm", old, new, at, gap)
    for link in SAME_LINK:
        for at in SAME_LINK_INSTANTS.split():
            yield Run("same-link", "mbb", link, link, at, "0.5")


def simulate(run: Run) -> list[str]:
    """Run ns-2 once and return the row."""
    slow = min(float(run.old[0]), float(run.new[0])) < 100
    words = [
        f"kind={run.kind}",
        f"bw1={run.old[0]}",
        f"d1={run.old[1]}",
        f"bw2={run.new[0]}",
        f"d2={run.new[1]}",
        f"at={run.at}",
        f"gap={run.gap}",
        f"limit={2000 if slow else 200}",
        "out=row",
    ]
    done = subprocess.run(
        ["ns", str(HERE / "handoff.tcl"), *words], capture_output=True, text=True, check=False
    )
    row = [run.family, *done.stdout.strip().split(",")]
    if done.returncode != 0 or len(row) != len(COLUMNS):
        raise RuntimeError(f"ns-2 failed on {run}: {done.stderr or done.stdout}")
    return row


def main() -> int:
    """Write the file; `--every N` takes each Nth run only (for a quick look)."""
    parser = argparse.ArgumentParser(description="Make extra_pairs.csv.gz with ns-2.")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--out", type=Path, default=OUTPUT)
    options = parser.parse_args()
    todo = list(runs())[:: options.every]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, run in enumerate(todo, 1):
        writer.writerow(simulate(run))
        if number % 100 == 0 or number == len(todo):
            print(f"{number} of {len(todo)}", file=sys.stderr, flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.getvalue().encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
