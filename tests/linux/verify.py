"""Compare midflight's `linux` profile with a Linux kernel, packet by packet: make verify-linux.

    python tests/linux/verify.py [--kernel] [--record] [FAMILY...]

The cells are those of `grid.toml`: a scenario file with values for its axes, or the files of a
folder, of which each flow is compared. What the kernel's senders sent and got is recorded in
`tests/data/linux`, a file for each family, so that no kernel is needed. `--kernel` asks the one of
`midflight lab list` instead, and `--record` writes its results to these files.

Prints for each family how many flows agree in every packet (kind, number, and instant to 1 us),
which share of the packets does, and in how many cells the medians of the time, the stall and T100
(from the handoff until 100 segments are acknowledged that were never sent before) are within 2 %;
a cell is all instants or seeds of otherwise equal flows. Then come the flows that do not agree,
with the first packet that differs, and whether the goal holds: 95 % of the flows exact, and the
medians of every cell within 2 %. The family `fuzz` is not counted there: its scenarios were chosen
because they differ. The exit status is 1 if fewer packets of a flow agree than
`agreement.txt` says, which `--record` writes.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import statistics
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from midflight import _core
from midflight.lab import comparison
from midflight.lab.guest import run_guests
from midflight.lab.runs import KernelRun, LabRuns
from midflight.lab.store import Kernel, choose
from midflight.scenario import read_plan

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "linux"
AGREEMENT = DATA / "agreement.txt"
#: By how much medians may differ, and how many flows are to be exact.
CLOSE = 0.02
EXACT = 0.95
#: Segments of T100, and what of a label a cell has several of.
FIRST_SEGMENTS = 100
REPEATED = re.compile(r"(at [0-9.]+ s|seed [0-9]+)")
#: Phases of BBR that are looked for.
MOST_PHASES = 8
KINDS = comparison.PACKETS
#: Families whose cells may have several flows.
SEVERAL = ("flows", "fuzz")
#: The family of random scenarios that have differed.
CORPUS = "fuzz"
MEASURES = ("duration_ns", "stall_ns")

Packet = tuple[int, str, int]


@dataclass(frozen=True)
class Cell:
    """A scenario of the grid."""

    family: str
    label: str
    plan: _core.Plan
    file: str
    sets: tuple[tuple[str, str], ...]

    @property
    def congestion(self) -> str:
        """The kernel's congestion control."""
        chosen = json.loads(self.plan.canonical).get("set", {}).get("congestion", "cubic")
        return chosen.removesuffix("-linux")

    @property
    def made_ns(self) -> int | None:
        """When the new link of the first handoff is there, in nanoseconds; None without handoff."""
        handoffs = json.loads(self.plan.canonical).get("handoffs", [])
        if not handoffs:
            return None
        return sum(nanoseconds(handoffs[0].get(key, "0 s")) for key in ("at", "gap"))

    def with_phases(self, phases: str) -> Cell:
        """Return the same with the phases of BBR that the kernel may have drawn."""
        plan = read_plan(self.file, sets=[*self.sets, ("set.bbr_linux_phases", phases)])
        return replace(self, plan=plan)


@dataclass(frozen=True)
class Flow:
    """The results of a flow of a cell on one side."""

    name: str
    measures: tuple[int, ...]
    packets: list[Packet]


def nanoseconds(time: str) -> int:
    """Return a time with its unit as the canonical scenario writes it."""
    value, unit = time.split()
    return round(float(value) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit])


def time_of_first(packets: list[Packet], made_ns: int) -> int:
    """Return T100 in nanoseconds, or when fewer segments were all there was; -1 if not reached."""
    before = [number for at_ns, kind, number in packets if kind == "send" and at_ns <= made_ns]
    highest = max((number for _, kind, number in packets if kind == "send"), default=0)
    until = min(max(before, default=0) + FIRST_SEGMENTS, highest)
    acked = (at for at, kind, number in packets if kind == "ack" and number > until)
    return next((at - made_ns for at in acked if at >= made_ns), -1)


def cells(families: Iterable[str]) -> Iterator[Cell]:
    """Yield the cells of families; of all if none is named."""
    wanted = set(families)
    grid = tomllib.loads((HERE / "grid.toml").read_text())["family"]
    names = [family["name"] for family in grid]
    if unknown := wanted.difference(names):
        raise SystemExit(f"no family {sorted(unknown)[0]}; expected {', '.join(names)}")
    for family in grid:
        if wanted and family["name"] not in wanted:
            continue
        if "folder" in family:
            for file in sorted((HERE / family["folder"]).glob("*.toml")):
                yield Cell(family["name"], file.stem, read_plan(str(file)), str(file), ())
            continue
        for values in product(*(axis.items() for axis in family["axis"])):
            sets = [word.split("=", 1) for _, words in values for word in words]
            pairs = [(path, value.strip('"')) for path, value in sets]
            label = ", ".join(name for name, _ in values)
            file = str(HERE / "grid" / family["file"])
            plan = read_plan(file, sets=pairs)
            yield Cell(family["name"], label, plan, file, tuple(pairs))


def measures_of(table: _core.Table, place: int) -> tuple[int, ...]:
    """Return the measures of a flow; -1 for none."""
    found = (table.column(name)[place] for name in MEASURES)
    return tuple(-1 if value is None else int(value) for value in found)


def packets_of(trace: _core.Table) -> list[Packet]:
    """Return the packets that a flow's sender sends and gets."""
    return [packet[:3] for packet in comparison.packets_of(trace)]


def simulate(cell: Cell) -> list[Flow]:
    """Run a cell in the simulator."""
    flows, _ = _core.run_plans([cell.plan])
    setup = cell.plan.setup(0)
    return [
        Flow(str(name), measures_of(flows, place), packets_of(setup.trace(flow=name)))
        for place, name in enumerate(flows.column("flow"))
    ]


def run_on(kernel: Kernel, of: list[Cell], at_once: int = 0) -> Iterator[list[Flow]]:
    """Run cells on a kernel, so many at a time; 0 for as many as there are cores."""
    asked = [LabRuns(cell.plan, kernel, (cell.congestion,), sample_ns=0) for cell in of]
    guests = (one.guest(cell.congestion, 0) for one, cell in zip(asked, of, strict=True))
    ran_all = run_guests(kernel, guests, at_once=at_once)
    for one, cell, ran in zip(asked, of, ran_all, strict=True):
        flows, *_ = one.tables(0, 0, ran)
        run = KernelRun(cell.plan.setup(0), ran, cell.congestion)
        yield [
            Flow(str(name), measures_of(flows, place), packets_of(run.trace(flow=name)))
            for place, name in enumerate(flows.column("flow"))
        ]


# ---- records ---------------------------------------------------------------------------------


def written(flow: Flow, label: str) -> Iterator[str]:
    """Yield the lines of a flow: its measures, then each packet with the time since the last."""
    yield "\t".join(["flow", label, flow.name, *map(str, flow.measures)])
    before = 0
    for at_ns, kind, number in flow.packets:
        yield f"{at_ns - before} {KINDS.index(kind)} {number}"
        before = at_ns


def read_record(family: str) -> dict[str, list[Flow]]:
    """Return the recorded flows of a family by the labels of their cells."""
    found: dict[str, list[Flow]] = {}
    at = 0
    with lzma.open(DATA / f"{family}.xz", "rt") as lines:
        for line in lines:
            if line.startswith("flow\t"):
                _, label, name, *measures = line.rstrip("\n").split("\t")
                flow = Flow(name, tuple(map(int, measures)), [])
                found.setdefault(label, []).append(flow)
                at = 0
                continue
            passed, kind, number = map(int, line.split())
            at += passed
            flow.packets.append((at, KINDS[kind], number))
    return found


def write_records(of: list[Cell], kernel: list[list[Flow]]) -> None:
    """Write the results of the kernel."""
    DATA.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    for cell, flows in zip(of, kernel, strict=True):
        for flow in flows:
            lines.setdefault(cell.family, []).extend(written(flow, cell.label))
    for family, text in lines.items():
        data = lzma.compress(("\n".join(text) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME)
        (DATA / f"{family}.xz").write_bytes(data)


# ---- comparison ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """A flow on both sides."""

    family: str
    name: str
    packets: int
    equal: int
    is_exact: bool
    ours: tuple[int, ...]
    theirs: tuple[int, ...]
    first: tuple[Packet | None, Packet | None] | None

    @property
    def cell(self) -> tuple[str, str]:
        """The name of its cell: its family and the rest of its name."""
        parts = [part for part in self.name.split(", ") if not REPEATED.fullmatch(part)]
        return self.family, ", ".join(parts)

    @property
    def line(self) -> str:
        """Its line in `agreement.txt`."""
        return f"{self.family}: {self.name}: {self.equal} of {self.packets}"


def is_close(ours: float, theirs: float) -> bool:
    """Whether a measure is the same within 2 %."""
    return abs(ours - theirs) <= CLOSE * max(abs(ours), abs(theirs))


def compare(cell: Cell, ours: Flow, theirs: Flow) -> Compared:
    """Compare a flow."""
    sides = [[(*packet, {}) for packet in flow.packets] for flow in (ours, theirs)]
    equal = comparison.count_equal(*sides)
    first = comparison.first_difference(*sides)
    measured = [flow.measures for flow in (ours, theirs)]
    if (made_ns := cell.made_ns) is not None:
        firsts = (time_of_first(flow.packets, made_ns) for flow in (ours, theirs))
        measured = [(*of, first) for of, first in zip(measured, firsts, strict=True)]
    name = cell.label + (f", {ours.name}" if cell.family in SEVERAL else "")
    most = max(map(len, sides))
    pair = first and (first[0] and first[0][:3], first[1] and first[1][:3])
    return Compared(cell.family, name, most, equal, first is None, *measured, pair)


def equal_at_first(ours: list[Flow], theirs: list[Flow]) -> int:
    """Return how many packets agree before the first that does not."""
    pairs = zip(ours[0].packets, theirs[0].packets, strict=False)
    for place, (a, b) in enumerate(pairs):
        if a[1:] != b[1:] or abs(a[0] - b[0]) > comparison.TOLERANCE_NS:
            return place
    return min(len(ours[0].packets), len(theirs[0].packets))


def simulate_bbr(cell: Cell, theirs: list[Flow]) -> list[Flow]:
    """Run a cell with BBR in the simulator, with the phases that the kernel has drawn.

    They are found one after the other: that of the seven with which the runs agree for longest.
    """
    phases, best, reached = "", simulate(cell), -1
    while len(phases) < MOST_PHASES:
        tries = [(simulate(cell.with_phases(phases + str(n))), n) for n in range(7)]
        found, phase = max(tries, key=lambda one: equal_at_first(one[0], theirs))
        if equal_at_first(found, theirs) <= reached:
            break
        phases, best, reached = phases + str(phase), found, equal_at_first(found, theirs)
    return best


def compare_all(of: list[Cell], kernel: Iterable[list[Flow]]) -> Iterator[Compared]:
    """Simulate each cell and compare its flows with the kernel's."""
    for cell, theirs in zip(of, kernel, strict=True):
        ours = simulate_bbr(cell, theirs) if cell.congestion == "bbr" else simulate(cell)
        if [flow.name for flow in ours] != [flow.name for flow in theirs]:
            raise SystemExit(f"{cell.family}, {cell.label}: the record has other flows")
        yield from (compare(cell, a, b) for a, b in zip(ours, theirs, strict=True))


def report(found: list[Compared]) -> None:
    """Print the table, and what does not agree."""
    console = Console(width=max(120, Console().width))
    table = Table("family", *("flows", "exact", "packets", "equal", "cells", "medians within 2 %"))
    for family in dict.fromkeys(one.family for one in found):
        table.add_row(family, *sums([one for one in found if one.family == family]))
    table.add_section()
    table.add_row("all", *sums(found))
    console.print(table)
    for one in found:
        if one.first is not None:
            ours, theirs = map(told, one.first)
            console.print(f"{one.line}; midflight: {ours}; Linux: {theirs}", highlight=False)
    grid = [one for one in found if one.family != CORPUS] or found
    exact = sum(one.is_exact for one in grid) / len(grid)
    apart = [name for name, (close, _) in medians(grid).items() if not close]
    for name in apart:
        console.print(f"medians of {': '.join(name)}: {medians(found)[name][1]}", highlight=False)
    holds = exact >= EXACT and not apart
    console.print(
        f"{exact:.1%} of the flows are exact, the medians of {len(apart)} cells differ by more "
        f"than 2 %: the goal {'holds' if holds else 'does not hold'}",
        highlight=False,
    )


def medians(found: list[Compared]) -> dict[tuple[str, str], tuple[bool, str]]:
    """Return for each cell whether its medians are close, and these in milliseconds."""
    of: dict[tuple[str, str], list[Compared]] = {}
    for one in found:
        of.setdefault(one.cell, []).append(one)
    result = {}
    for name, flows in of.items():
        sides = ([one.ours for one in flows], [one.theirs for one in flows])
        ours, theirs = ([statistics.median(m) for m in zip(*s, strict=True)] for s in sides)
        pairs = list(zip(ours, theirs, strict=True))
        told = ", ".join(f"{a / 1e6:.1f} and {b / 1e6:.1f} ms" for a, b in pairs)
        result[name] = (all(is_close(a, b) for a, b in pairs), told)
    return result


def told(packet: Packet | None) -> str:
    """Return a packet as words."""
    return "nothing" if packet is None else f"{packet[1]} {packet[2]} at {packet[0]} ns"


def sums(of: list[Compared]) -> list[str]:
    """Return the columns of a row."""
    exact = sum(one.is_exact for one in of)
    close = [is_near for is_near, _ in medians(of).values()]
    packets, equal = sum(one.packets for one in of), sum(one.equal for one in of)
    return [
        str(len(of)),
        f"{exact} ({exact / len(of):.1%})",
        str(packets),
        f"{equal / max(packets, 1):.2%}",
        str(len(close)),
        f"{sum(close)} ({sum(close) / len(close):.1%})",
    ]


def agreement(found: list[Compared]) -> str:
    """Return the text of `agreement.txt`."""
    exact = sum(one.is_exact for one in found)
    return "\n".join([f"{exact} of {len(found)} flows are exact.", *(o.line for o in found), ""])


def expected() -> dict[str, int]:
    """Return how many packets of each flow agreed when the record was made."""
    found = {}
    for line in AGREEMENT.read_text().splitlines()[1:]:
        name, count = line.rsplit(": ", 1)
        found[name] = int(count.split()[0])
    return found


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("family", nargs="*", help="only these families of the grid")
    parser.add_argument("--kernel", action="store_true", help="ask the kernel, not the record")
    parser.add_argument("--record", action="store_true", help="write what the kernel says")
    asked = parser.parse_args()
    of = list(cells(asked.family))
    if asked.kernel or asked.record:
        said = run_on(choose(), of)
        kernel = list(track(said, "kernel", total=len(of), disable=not sys.stderr.isatty()))
    else:
        records = {family: read_record(family) for family in {cell.family for cell in of}}
        kernel = [records[cell.family][cell.label] for cell in of]
    if asked.record:
        write_records(of, kernel)
    found = list(compare_all(of, kernel))
    report(found)
    if asked.record:
        if asked.family:
            raise SystemExit(f"{AGREEMENT.name} is written of all families")
        AGREEMENT.write_text(agreement(found))
        return
    before = expected()
    worse = [one for one in found if one.equal < before[f"{one.family}: {one.name}"]]
    for one in worse:
        print(f"worse than recorded: {one.line}", file=sys.stderr)
    raise SystemExit(1 if worse else 0)


if __name__ == "__main__":
    main()
