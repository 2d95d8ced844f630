"""Compare midflight's queueing disciplines with those of a Linux kernel: make verify-linux.

    python tests/linux/queues.py [--kernel] [--record] [CELL...]

In a cell of `queues.toml` the same packets arrive at the same instants before a transmitter of a
fixed rate, once at a link of the simulator and once at a device of the lab's kernel. Compared is
what becomes of each packet: it is dropped, or it begins to be sent at an instant, marked or not.
The results of the kernel are recorded in `tests/data/linux/queues.xz`, so that no kernel is needed.
`--kernel` runs the kernel of `midflight lab list` instead (that needs `tc` of iproute2), and
`--record` writes its results.

Prints for each cell how many packets have the same fate (instants to 5 ns), the drops and marks of
both sides, the mean time in the queue, and the first packet that differs. The exit status is 1 if
fewer packets agree than in `queues.txt`, which `--record` writes.

PIE draws random numbers, and the kernel draws others, so of its packets as many fare alike as
happen to. For such a queue the simulator runs with 40 seeds: printed is by how many of their
standard deviations the kernel's drops, marks and mean time in the queue differ from their means.
The exit status is 1 if one differs by more than three.
"""

from __future__ import annotations

import argparse
import lzma
import math
import random
import socket
import statistics
import struct
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from midflight import _core
from midflight.lab.guest import Guest, run_guests
from midflight.lab.store import Kernel, choose
from midflight.scenario import Scenario

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "linux"
RECORD, AGREEMENT = DATA / "queues.xz", DATA / "queues.txt"
#: By how much instants may differ: those of packets on the wire round to nanoseconds.
TOLERANCE_NS = 5
#: The rate of the links around the queue.
WIRE_BPS = 10**12
#: The first packet comes so long after the beginning: programs have started by then.
BEGINS_NS = 1_000_000_000
#: An entry of the record, its events, and what comes before the headers (lab/kernel/midflight.h).
ENTRY = struct.Struct("<QIHBBIi")
SENT, DELIVERED, MARKED = 1, 2, 8
STATE_BYTES = 64
TOLD, ANSWER, FATE_BYTES = struct.Struct("<QII"), struct.Struct("<QII"), 8
#: Number of packets that are passed to the links at once.
BATCH = 256
#: The nodes that packets come from and go to, and the ports of the first flow.
SOURCE, TARGET = 4, 0
PORT = 9000
IP_UDP = 28
CONGESTION = 3
#: How many seeds a queue with random numbers has, and by how many standard deviations the kernel
#: may differ from their mean.
SEEDS, MOST_APART = 40, 3.0
#: What sends the packets in the guest.
REPLAY = """
import ctypes, socket, struct, sys
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
libc = ctypes.CDLL(None)
data, origin, at = open("/mnt/packets", "rb").read(), int(sys.argv[1]), 0
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
out.setsockopt(socket.SOL_SOCKET, 32, 1 << 30)
before = -1
while at < len(data):
    ns, length = struct.unpack_from("<QI", data, at)
    packet = data[at + 12 : at + 12 + length]
    at += 12 + length
    if ns != before:
        # Who sleeps runs a nanosecond late.
        when = Time(*divmod(origin + ns - 1, 10**9))
        libc.clock_nanosleep(1, 1, ctypes.byref(when), None)
    before = ns
    out.sendto(packet, (sys.argv[2], 0))
"""


@dataclass(frozen=True)
class Arrival:
    """A packet that arrives at the queue."""

    at_ns: int
    flow: int
    length: int
    ecn: int

    def packet(self, number: int) -> bytes:
        """Return it as IPv4, with its number as identification: a UDP datagram of zeros."""
        address = 10 << 24 | 77 << 16
        head = struct.pack(
            ">BBHHHBBHII", 0x45, self.ecn, self.length, number + 1, 1 << 14, 64, 17, 0,
            address + SOURCE + 1, address + TARGET + 1,
        )  # fmt: skip
        words = sum(struct.unpack(">10H", head))
        words = (words & 0xFFFF) + (words >> 16)
        head = head[:10] + struct.pack(">H", ~(words + (words >> 16)) & 0xFFFF) + head[12:]
        ports = struct.pack(">HHHH", PORT + self.flow, PORT + self.flow, self.length - 20, 0)
        return head + ports + bytes(self.length - IP_UDP)


@dataclass(frozen=True)
class Fate:
    """What became of a packet that was not dropped: when it began to be sent."""

    at_ns: int
    is_marked: bool


Fates = Mapping[int, Fate]


@dataclass(frozen=True)
class Cell:
    """A queue and what arrives at it."""

    name: str
    rate_bps: int
    #: As the simulator and as `tc` have it.
    queue: str
    tc: str
    arrivals: tuple[Arrival, ...]

    @property
    def is_random(self) -> bool:
        """Whether the queue draws random numbers."""
        return self.queue.startswith("pie")

    def setup(self, queue: str, seed: int = 1) -> _core.Setup:
        """Return a network whose access link, upwards, has the rate and a queue."""
        end_s = (self.arrivals[-1].at_ns + BEGINS_NS) // 10**9 + 130
        up = {"rate": f"{self.rate_bps} bit/s", "queue": queue}
        link = {"rate": "100 Gbit/s", "delay": "1 ms", "queue": "1000 packets", "up": up}
        wired = {"rate": f"{WIRE_BPS} bit/s", "delay": "1 ms", "queue": "100000 packets"}
        flow = {"direction": "up", "start": f"{end_s - 1} s"}
        values = {"wired": wired, "links": {"cell": link}, "flows": {"up": flow}, "seed": seed}
        return Scenario.from_dict({**values, "end": f"{end_s} s"}).plan().setup(0)


# ---- arrivals --------------------------------------------------------------------------------


def poisson(draw: random.Random, begin_s: float, end_s: float, per_s: float) -> Iterator[float]:
    """Yield instants at random."""
    at_s = begin_s
    while (at_s := at_s + draw.expovariate(per_s)) < end_s:
        yield at_s


def windows(draw: random.Random, until_s: float, rtt_s: float, most: int) -> Iterator[float]:
    """Yield the instants of a window of packets in each round trip: it doubles, and is halved."""
    # Not at the instant at which another packet has been sent.
    at_s, window = rtt_s * draw.random(), 4
    while at_s < until_s:
        for number in range(window):
            yield at_s + number * rtt_s / (2 * window)
        window = min(2 * window, window + 8)
        if window > most:
            window = draw.randint(most // 4, most // 2)
        at_s += rtt_s


def arrivals_of(pattern: Mapping[str, Any], rate_bps: int, lasts_s: float) -> tuple[Arrival, ...]:
    """Return the packets of the flows of a pattern, in the order of their arrival."""
    draw = random.Random(str(pattern["seed"]))
    found = []
    for number, flow in enumerate(pattern["flow"]):
        length, ecn = flow.get("bytes", 1500), flow.get("ecn", 0)
        per_s = rate_bps / 8 / length
        begin_s, end_s = (lasts_s * flow.get(key, usual) for key, usual in (("from", 0), ("to", 1)))
        if "load" in flow:
            instants = poisson(draw, begin_s, end_s, flow["load"] * per_s)
        else:
            rtt_s = flow["rtt"] / 1000
            instants = windows(draw, lasts_s, rtt_s, round(flow["most"] * rtt_s * per_s) + 8)
        found += [Arrival(BEGINS_NS + round(1e9 * at), number, length, ecn) for at in instants]
    found.sort(key=lambda one: one.at_ns)
    if len(found) >= 1 << 16:
        raise SystemExit(f"{len(found)} packets are too many to be numbered")
    return tuple(found)


def cells(names: Iterable[str]) -> list[Cell]:
    """Return the cells that are named; all if none is."""
    wanted = set(names)
    of = tomllib.loads((HERE / "queues.toml").read_text())
    found = []
    for queue in of["queue"]:
        for pattern in queue["patterns"]:
            for rate in queue["rates"]:
                name = f"{queue['queue']}, {pattern}, {rate} Mbit/s"
                if wanted and name not in wanted and queue["queue"] not in wanted:
                    continue
                bps = round(rate * 1e6)
                lasts_s = of["seconds"][str(rate)]
                arrivals = arrivals_of(of["pattern"][pattern], bps, lasts_s)
                found.append(Cell(name, bps, queue["queue"], queue["tc"], arrivals))
    if not found:
        raise SystemExit("no such cell")
    return found


# ---- both sides ------------------------------------------------------------------------------


def entries(record: bytes) -> Iterator[tuple[int, int, int, int, bytes]]:
    """Yield instant, packet, event, length and headers of each entry of a record."""
    at = 0
    while at < len(record):
        at_ns, packet, _, event, words, value, _ = ENTRY.unpack_from(record, at)
        yield at_ns, packet, event, value, record[at + ENTRY.size + STATE_BYTES : at + 8 * words]
        at += 8 * words


def simulate(cell: Cell, seed: int = 1) -> Fates:
    """Send the packets over the simulator's link, as a guest's driver tells them."""
    setup = cell.setup(cell.queue, seed)
    ours, theirs = socket.socketpair()
    with ThreadPoolExecutor(1) as pool, ours, theirs:
        served = pool.submit(setup.lab_serve, theirs.fileno())
        tell(ours, cell.arrivals)
        record = served.result()
    # What the packet takes from there on: the transmitter, three delays, and two fast links.
    found: dict[int, Fate] = {}
    marked = set()
    for at_ns, packet, event, _, _ in entries(record):
        if event == MARKED:
            marked.add(packet)
        elif event == DELIVERED:
            takes = 8e9 * cell.arrivals[packet].length * (1 / cell.rate_bps + 2 / WIRE_BPS)
            begun = at_ns - round(takes) - 3 * 1_000_000
            found[packet] = Fate(begun, packet in marked)
    return found


def tell(driver: socket.socket, arrivals: tuple[Arrival, ...]) -> None:
    """Pass the sent packets to the links, and read their fate."""
    sent_ns = 0
    for first in range(0, len(arrivals) + 1, BATCH):
        told = b""
        batch = arrivals[first : first + BATCH]
        for number, one in enumerate(batch, first):
            words = (ENTRY.size + STATE_BYTES + IP_UDP + 7) // 8
            # It is at the queue when it has passed a wire.
            sent_ns = max(sent_ns, one.at_ns - round(8e9 * one.length / WIRE_BPS))
            entry = ENTRY.pack(sent_ns, number, SOURCE, SENT, words, one.length, 0)
            told += (entry + bytes(STATE_BYTES) + one.packet(number)[:IP_UDP]).ljust(8 * words)
        is_last = first + BATCH > len(arrivals)
        now = batch[-1].at_ns if not is_last else arrivals[-1].at_ns + 120 * 10**9
        driver.sendall(TOLD.pack(now, len(told), int(is_last)) + told)
        _, fates, _ = ANSWER.unpack(driver.recv(ANSWER.size, socket.MSG_WAITALL))
        if fates:
            driver.recv(fates * FATE_BYTES, socket.MSG_WAITALL)


def guest_of(cell: Cell) -> Guest:
    """Return a guest whose device has the kernel's discipline and sends the packets."""
    setup = cell.setup("100000 packets")
    lines = setup.lab_script(congestion=["cubic"]).splitlines()
    lines = [one for one in lines if not one.startswith("flow ") and one != "go"]
    device = lines.index(f"namespace {SOURCE}")
    lines[device] += f" {cell.rate_bps}"
    origin = next(one.split()[1] for one in lines if one.startswith("origin "))
    qdisc = f"tc qdisc replace dev mf0 root {cell.tc}"
    program = f"{qdisc} && python3 /mnt/replay {origin} $SERVER && sleep 120"
    script = [*lines, "host", f"server {TARGET} true", f"client {SOURCE} {program}", "go", ""]
    told = b"".join(
        struct.pack("<QI", one.at_ns, one.length) + one.packet(number)
        for number, one in enumerate(cell.arrivals)
    )
    files = {"replay": REPLAY.encode(), "packets": told}
    return Guest(
        "\n".join(script), "1", setup.lab_serve, sees_host=True, files=files, name=cell.name
    )


def run_on(kernel: Kernel, of: list[Cell]) -> Iterator[Fates]:
    """Send the packets through the kernel's qdiscs."""
    for ran in run_guests(kernel, map(guest_of, of)):
        said = ran.files.get("client.stderr", b"").decode()
        if ran.files.get("client.status") != b"0":
            raise SystemExit(f"a guest's program failed: {said.strip()}")
        found = {}
        for at_ns, _, event, _, headers in entries(ran.packets):
            if event == SENT and headers[9] == socket.IPPROTO_UDP:
                (number,) = struct.unpack_from(">H", headers, 4)
                found[number - 1] = Fate(at_ns, headers[1] & 3 == CONGESTION)
        yield found


# ---- comparison ------------------------------------------------------------------------------


def is_same(ours: Fate | None, theirs: Fate | None) -> bool:
    """Whether a packet fared the same."""
    if ours is None or theirs is None:
        return ours is theirs
    return ours.is_marked == theirs.is_marked and abs(ours.at_ns - theirs.at_ns) <= TOLERANCE_NS


@dataclass(frozen=True)
class Compared:
    """A cell on both sides: drops, marks and mean milliseconds in the queue of each."""

    cell: Cell
    equal: int
    ours: tuple[int, int, float]
    theirs: tuple[int, int, float]
    first: int | None
    #: By how many standard deviations drops, marks and milliseconds differ from those of all seeds.
    apart: tuple[float, float, float] | None

    @property
    def line(self) -> str:
        """Its line in `queues.txt`."""
        if self.apart is None:
            return f"{self.cell.name}: {self.equal} of {len(self.cell.arrivals)}"
        drops, marks, wait = self.apart
        return f"{self.cell.name}: drops {drops:+.1f}, marks {marks:+.1f}, wait {wait:+.1f}"

    def is_worse(self, before: Mapping[str, int]) -> bool:
        """Whether it agrees less than recorded, or than chance allows."""
        if self.apart is None:
            return self.equal < before[self.cell.name]
        return any(abs(one) > MOST_APART for one in self.apart)


def sums(cell: Cell, fates: Fates) -> tuple[int, int, float]:
    """Return drops, marks and mean milliseconds in the queue."""
    waits = [fate.at_ns - cell.arrivals[number].at_ns for number, fate in fates.items()]
    marks = sum(fate.is_marked for fate in fates.values())
    return len(cell.arrivals) - len(fates), marks, sum(waits) / max(1, len(waits)) / 1e6


def score(value: float, of: Sequence[float]) -> float:
    """Return by how many standard deviations a value differs from the mean of others."""
    spread, apart = statistics.pstdev(of), value - statistics.fmean(of)
    if spread == 0:
        return 0.0 if abs(apart) < 1e-6 else math.copysign(math.inf, apart)
    return apart / spread


def compare(cell: Cell, ours: Fates, theirs: Fates) -> Compared:
    """Compare the fates of all packets."""
    same = [is_same(ours.get(n), theirs.get(n)) for n in range(len(cell.arrivals))]
    first = None if all(same) else same.index(False)
    kernel, apart = sums(cell, theirs), None
    if cell.is_random:
        seeds = [sums(cell, simulate(cell, seed)) for seed in range(1, SEEDS + 1)]
        drops, marks, wait = map(score, kernel, zip(*seeds, strict=True))
        apart = (drops, marks, wait)
    return Compared(cell, sum(same), sums(cell, ours), kernel, first, apart)


# ---- records ---------------------------------------------------------------------------------


def write_record(of: list[Cell], kernel: list[Fates]) -> None:
    """Write the results of the kernel: number, instant and mark of each packet that was sent."""
    lines = []
    for cell, fates in zip(of, kernel, strict=True):
        lines.append(f"cell\t{cell.name}")
        at_ns = number = 0
        for one, fate in sorted(fates.items(), key=lambda item: item[1].at_ns):
            lines.append(f"{one - number} {fate.at_ns - at_ns} {int(fate.is_marked)}")
            at_ns, number = fate.at_ns, one
    data = ("\n".join(lines) + "\n").encode()
    RECORD.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def read_record() -> dict[str, Fates]:
    """Return the results of the kernel by the names of cells."""
    found: dict[str, dict[int, Fate]] = {}
    of: dict[int, Fate] = {}
    at_ns = number = 0
    with lzma.open(RECORD, "rt") as lines:
        for line in lines:
            if line.startswith("cell\t"):
                of = found.setdefault(line.rstrip("\n").split("\t")[1], {})
                at_ns = number = 0
                continue
            step, passed, mark = map(int, line.split())
            at_ns, number = at_ns + passed, number + step
            of[number] = Fate(at_ns, bool(mark))
    return found


def expected() -> dict[str, int]:
    """Return how many packets of each cell agreed when the record was made."""
    lines = (line.rsplit(": ", 1) for line in AGREEMENT.read_text().splitlines())
    return {name: int(count.split()[0]) for name, count in lines if " of " in count}


def told(fate: Fate | None) -> str:
    """Return what became of a packet as words."""
    if fate is None:
        return "dropped"
    return f"sent at {fate.at_ns} ns" + (", marked" if fate.is_marked else "")


def report(found: list[Compared], sides: list[tuple[Fates, Fates]]) -> None:
    """Print the table, and what does not agree."""
    console = Console(width=max(120, Console().width))
    columns = ("cell", "packets", "equal", "drops", "marks", "mean wait (ms)")
    table = Table(*columns, "standard deviations apart")
    for one in found:
        pairs = zip(one.ours, one.theirs, strict=True)
        drops, marks, waits = (f"{a:.6g} / {b:.6g}" for a, b in pairs)
        count = len(one.cell.arrivals)
        apart = "" if one.apart is None else ", ".join(f"{value:+.1f}" for value in one.apart)
        equal = f"{one.equal / count:.2%}"
        table.add_row(one.cell.name, str(count), equal, drops, marks, waits, apart)
    console.print(table)
    for one, (ours, theirs) in zip(found, sides, strict=True):
        if one.first is not None and one.apart is None:
            a, b = told(ours.get(one.first)), told(theirs.get(one.first))
            where = f"{one.cell.name}: packet {one.first}"
            console.print(f"{where}: midflight: {a}; Linux: {b}", highlight=False)
    sure = [one for one in found if one.apart is None]
    exact = sum(one.first is None for one in sure)
    console.print(f"{exact} of {len(sure)} cells agree in every packet", highlight=False)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cell", nargs="*", help="only these, by name or by queue")
    parser.add_argument("--kernel", action="store_true", help="ask the kernel, not the record")
    parser.add_argument("--record", action="store_true", help="write what the kernel does")
    asked = parser.parse_args()
    if asked.record and asked.cell:
        raise SystemExit("a record is of all cells")
    of = cells(asked.cell)
    if asked.kernel or asked.record:
        did = run_on(choose(), of)
        kernel = list(track(did, "kernel", total=len(of), disable=not sys.stderr.isatty()))
    else:
        recorded = read_record()
        kernel = [recorded[cell.name] for cell in of]
    if asked.record:
        write_record(of, kernel)
    sides = [(simulate(cell), theirs) for cell, theirs in zip(of, kernel, strict=True)]
    found = [compare(cell, *both) for cell, both in zip(of, sides, strict=True)]
    report(found, sides)
    if asked.record:
        AGREEMENT.write_text("".join(f"{one.line}\n" for one in found))
        return
    before = expected()
    worse = [one for one in found if one.is_worse(before)]
    for one in worse:
        print(f"worse than recorded: {one.line}", file=sys.stderr)
    raise SystemExit(1 if worse else 0)


if __name__ == "__main__":
    main()
