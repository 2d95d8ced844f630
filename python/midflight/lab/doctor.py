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
from midflight.scenario import Scenario

__all__ = ["Finding", "Measured", "findings", "measure"]

#: A link of 100 Mbit/s and 10 ms; its delay changes to 50 ms. CUBIC for 5 s.
SCENARIO = {
    "end": "5 s",
    "links": {"link": {"rate": "100 Mbit/s", "delay": "10 ms", "queue": "200 packets"}},
    "flows": {"download": {"stack": "linux"}},
    "changes": [{"at": "2 s", "link": "link", "delay": "50 ms", "queue": "400 packets"}],
}
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
    #: The largest delay of a delivery relative to the model of the links.
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
    """Yield the requirements of the lab, in the order in which you install them."""
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
    """Boot a kernel, and measure the time for a packet and the precision of its delivery.

    Raises `LabError` if it does not boot.
    """
    setup = Scenario.from_dict(SCENARIO).plan().setup(0)
    script = setup.lab_script()
    idle_script = "".join(f"{one}\n" for one in script.splitlines() if one[:5] != "flow ")
    what = [(idle_script, "1"), (script, "1"), (script, "1"), (script, "2")]
    guests = [Guest(text, seed, setup.lab_serve) for text, seed in what]
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
