"""Print the instructions of a workload by the parts of the simulator.

    python bench/parts.py [WORKLOAD]

Callgrind counts the instructions at each address. Optimised code is inlined code, so an address is
followed through its inlined callers, innermost first, to the first source file that belongs to a
part: a step of a ring buffer is the link's when a link takes it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

import workload

PARTS = {
    "event loop": ("sim/src/world", "sim/src/chain.rs", "sim/src/moment.rs"),
    "agenda": ("sim/src/agenda.rs",),
    "links": (
        "sim/src/link",
        "sim/src/packet.rs",
        "sim/src/announcement.rs",
        "sim/src/special.rs",
        "sim/src/impairment.rs",
        "sim/src/random.rs",
    ),
    "digest": ("sim/src/digest.rs",),
    "sender": ("tcp/src/sender/", "control/src/"),
    "loss recovery": ("tcp/src/recovery/",),
    "receiver": ("tcp/src/receiver",),
    "sweep and metrics": ("study/src/",),
}


def part_of(frames: list[str]) -> str:
    """Return the part of an address from the source files of its frames, innermost first."""
    for frame in frames:
        for part, files in PARTS.items():
            if any(f"crates/{file}" in frame for file in files):
                return part
    return "other"


def costs(record: Path, binary: Path) -> Iterator[tuple[int | None, int]]:
    """Yield addresses with their instructions; those outside the program have no address."""
    objects: dict[str, str] = {}
    ours = skip = False
    address = 0
    for line in record.read_text().splitlines():
        if found := re.match(r"(c?ob)=(\(\d+\))(?: (.*))?", line):
            kind, number, path = found.groups()
            objects.setdefault(number, path)
            if kind == "ob":
                ours = objects[number] == str(binary)
        elif line.startswith("calls="):
            skip = True  # the next line has the callee's cost, which is counted in the callee
        elif found := re.match(r"(0x[0-9a-f]+|[+-]\d+|\*) \S+ (\d+)$", line):
            place, instructions = found.groups()
            if place.startswith("0x"):
                address = int(place, 16)
            elif place != "*":
                address += int(place)
            if not skip:
                yield (address if ours else None), int(instructions)
            skip = False


def frames_of(addresses: list[int], binary: Path) -> Iterator[list[str]]:
    """Yield for each address its source files, innermost first."""
    command = ["addr2line", "--inlines", "--addresses", "--exe", str(binary)]
    asked = "\n".join(map(hex, addresses))
    said = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    for block in re.split(r"^0x[0-9a-f]+\n", said, flags=re.MULTILINE)[1:]:
        yield block.splitlines()


def main() -> None:
    """Count and print."""
    name = sys.argv[1] if len(sys.argv) > 1 else "bulk"
    valgrind = shutil.which("valgrind")
    if valgrind is None or shutil.which("addr2line") is None:
        raise SystemExit("A profile needs valgrind and addr2line (binutils).")
    binary = workload.build()
    record = workload.TARGET / "callgrind" / f"{name}-parts.out"
    record.parent.mkdir(exist_ok=True)
    tool = ("--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={record}")
    done = workload.run(binary, name, under=(valgrind, *tool))

    at: Counter[int | None] = Counter()
    for address, instructions in costs(record, binary):
        at[address] += instructions
    outside = at.pop(None, 0)
    addresses = [address for address in at if address is not None]
    parts = Counter({"system libraries": outside})
    for address, frames in zip(addresses, frames_of(addresses, binary), strict=True):
        parts[part_of(frames)] += at[address]

    total = parts.total()
    table = Table(name)
    table.add_column(f"instructions a {done.unit}", justify="right")
    table.add_column("share", justify="right")
    for part, instructions in parts.most_common():
        table.add_row(part, f"{instructions / done.count:,.1f}", f"{instructions / total:.1%}")
    table.add_section()
    table.add_row("all", f"{total / done.count:,.1f}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
