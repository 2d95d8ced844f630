"""Requirements of the lab, and the exactness and speed of its kernel on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from midflight.lab.build import PACKAGES, missing_tools
from midflight.lab.errors import LabError
from midflight.lab.guest import Guest, cores, run_guests
from midflight.lab.record import late_ns
from midflight.lab.source import DEBIAN, HOW_TO_GET
from midflight.lab.store import Kernel, choose, guest_init, kernels, store_folder

__all__ = ["Finding", "Measured", "findings", "measure"]

#: Two nodes with links of 100 Mbit/s and 10 ms, whose delay changes to 50 ms; CUBIC for 5 s.
LINKS = """\
nodes 2
link 0 0 1 100000000 10000000 200
link 1 1 0 100000000 10000000 200
route 0 1 0
route 1 0 1
at 2000000000 change 0 100000000 50000000 400
at 2000000000 change 1 100000000 50000000 400
namespace 0
namespace 1
"""
FLOW = "flow 0 0 1 0 0 cubic\n"
END = "origin 2000000000\nend {}\ngo\n"
BULK_NS, IDLE_NS = 5 * 10**9, 10**9
#: How long a guest of these may take.
LIMIT_S = 60.0


@dataclass(frozen=True)
class Finding:
    """Something that the lab needs: whether it is there, and how to get it if not."""

    what: str
    is_there: bool
    text: str


@dataclass(frozen=True)
class Measured:
    """Measurements of a kernel on this machine."""

    #: Wall time of a guest without traffic, from its start to its end.
    idle_s: float
    #: Packets that the links delivered in the guest with traffic, and its wall and CPU time.
    packets: int
    wall_s: float
    cpu_s: float
    #: How much later than the model of the links says the latest packet was delivered.
    most_late_ns: int
    #: Of all packets how many were delivered at the very nanosecond.
    exact: int
    #: Whether two runs of the same script gave the same record, and one of another seed not.
    repeats: bool
    seeds_differ: bool

    @property
    def cost_us(self) -> float:
        """CPU time a packet, in microseconds."""
        return self.cpu_s / max(self.packets, 1) * 1e6


def findings() -> Iterator[Finding]:
    """Yield what the lab needs, in the order in which one gets it."""
    missing = missing_tools()
    yield Finding(
        "tools to build a kernel",
        not missing,
        f"missing: {', '.join(missing)}; {PACKAGES}" if missing else "all there",
    )
    yield Finding(
        "source of a kernel",
        DEBIAN.is_file(),
        str(DEBIAN) if DEBIAN.is_file() else f"not at {DEBIAN}; {HOW_TO_GET}",
    )
    found = [one.name for one in kernels()]
    yield Finding("kernels", bool(found), ", ".join(found) or f"none in {store_folder()}")
    try:
        kernel = choose()
        yield Finding("kernel that is used", True, f"{kernel.name}, {kernel.path}")
    except LabError as error:
        yield Finding("kernel that is used", False, str(error))
    try:
        yield Finding("first program of a guest", True, str(guest_init()))
    except LabError as error:
        yield Finding("first program of a guest", False, str(error))
    count = len(cores())
    yield Finding("cores", True, f"{count}; so many guests run side by side")


def measure(kernel: Kernel) -> Measured:
    """Boot a kernel and measure what a packet costs and how exactly it is delivered.

    Raises `LabError` if it does not boot.
    """
    idle_script = LINKS + END.format(IDLE_NS)
    script = LINKS + FLOW + END.format(BULK_NS)
    guests = [Guest(idle_script), *(Guest(script, seed) for seed in ("1", "1", "2"))]
    idle, first, again, other = run_guests(kernel, guests, limit_s=LIMIT_S, at_once=1)
    late = list(late_ns(first.packets))
    return Measured(
        idle.wall_s,
        len(late),
        first.wall_s,
        first.cpu_s - idle.cpu_s,
        max(late, default=0),
        late.count(0),
        first.packets == again.packets,
        first.packets != other.packets,
    )
