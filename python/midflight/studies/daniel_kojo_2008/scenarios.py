"""The cells of Daniel and Kojo (2008) and the runs that its figures and claims read.

Three families of link pairs (sections 4.1 to 4.3 and 6.1 to 6.3 of the paper), each in both
directions and for both kinds of handoff:

* same bandwidth: a delay of 150 to 1 ms against 300 ms, at 200, 1600 and 6400 kbit/s (72 cells);
* same delay: a bandwidth of 200 to 3200 kbit/s against 6400, at 300, 75, 9 and 1 ms (80 cells);
* same bandwidth-delay product of ten packets, against 200/300 and against 6400/9 (40 cells).

Links are written rate/delay in kbit/s and ms.  The pair 200/300 and 6400/9 belongs to both anchors
of the third family, so the 192 cells are 188 different ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from midflight.studies.runs import Cell, Kind, Link, Sweep, Trace

#: Handoff instants: 0.1 s to 20.0 s in steps of 0.1 s (section 4), in nanoseconds.
INSTANTS_NS = tuple(n * 100_000_000 for n in range(1, 201))

REGULAR, ENHANCED, ENHANCED_A5 = "sack", "enhanced", "enhanced-a5"
MBB: Kind = "mbb"
BBM: Kind = "bbm"
KINDS: tuple[Kind, Kind] = (MBB, BBM)

#: Makes a cell from a bandwidth (kbit/s), a delay (ms) and the kind of handoff.
CellOfDelay = Callable[[int, int, Kind], Cell]

#: The varied delays (ms) against LONG_DELAY, from ratio 2 to ratio 300 (section 4.1).
DELAYS = (150, 75, 37, 18, 9, 1)
LONG_DELAY = 300
DELAY_BANDWIDTHS = (200, 1600, 6400)
#: The varied bandwidths (kbit/s) against HIGH_BANDWIDTH (section 4.2).
BANDWIDTHS = (200, 400, 800, 1600, 3200)
HIGH_BANDWIDTH = 6400
BANDWIDTH_DELAYS = (300, 75, 9, 1)
#: The links with a bandwidth-delay product of ten packets (section 4.3).
SAME_BDP = (
    Link(200, 300),
    Link(400, 150),
    Link(800, 75),
    Link(1600, 37),
    Link(3200, 18),
    Link(6400, 9),
)
SLOW, FAST = SAME_BDP[0], SAME_BDP[-1]
#: The partners of SLOW, and those of FAST, in the order of the paper's figures.
SLOW_PARTNERS = SAME_BDP[1:]
FAST_PARTNERS = SAME_BDP[:-1]


def delay_ratio(ms: int) -> float:
    """Ratio of the long delay to `ms` as the paper counts it: 37 ms is `eight`, 18 ms `sixteen`."""
    return LONG_DELAY / ms


def low_to_high_delay(kbps: int, ms: int, kind: Kind) -> Cell:
    """Same bandwidth, from `ms` to 300 ms."""
    return Cell(Link(kbps, ms), Link(kbps, LONG_DELAY), kind)


def high_to_low_delay(kbps: int, ms: int, kind: Kind) -> Cell:
    """Same bandwidth, from 300 ms to `ms`."""
    return Cell(Link(kbps, LONG_DELAY), Link(kbps, ms), kind)


def high_to_low_bandwidth(kbps: int, ms: int, kind: Kind) -> Cell:
    """Same delay, from 6400 kbit/s to `kbps`."""
    return Cell(Link(HIGH_BANDWIDTH, ms), Link(kbps, ms), kind)


def low_to_high_bandwidth(kbps: int, ms: int, kind: Kind) -> Cell:
    """Same delay, from `kbps` to 6400 kbit/s."""
    return Cell(Link(kbps, ms), Link(HIGH_BANDWIDTH, ms), kind)


def to_slow(old: Link, kind: Kind) -> Cell:
    """Same bandwidth-delay product, to 200/300."""
    return Cell(old, SLOW, kind)


def to_fast(old: Link, kind: Kind) -> Cell:
    """Same bandwidth-delay product, to 6400/9."""
    return Cell(old, FAST, kind)


def _cells() -> dict[str, tuple[Cell, ...]]:
    return {
        "same bandwidth": tuple(
            make(kbps, ms, kind)
            for kbps in DELAY_BANDWIDTHS
            for make in (low_to_high_delay, high_to_low_delay)
            for ms in DELAYS
            for kind in KINDS
        ),
        "same delay": tuple(
            make(kbps, ms, kind)
            for ms in BANDWIDTH_DELAYS
            for make in (high_to_low_bandwidth, low_to_high_bandwidth)
            for kbps in BANDWIDTHS
            for kind in KINDS
        ),
        "same bandwidth-delay product": tuple(
            cell
            for anchor, partners in ((SLOW, SLOW_PARTNERS), (FAST, FAST_PARTNERS))
            for partner in partners
            for kind in KINDS
            for cell in (Cell(partner, anchor, kind), Cell(anchor, partner, kind))
        ),
    }


#: Every cell by family: 72 + 80 + 40.
FAMILIES = _cells()
#: The different cells of the grid, in order.
CELLS: tuple[Cell, ...] = tuple(dict.fromkeys(cell for f in FAMILIES.values() for cell in f))


#: The transfer time counts 100 new segments (section 4); 50 and 200 are recorded beside it.
OTHER_COUNTS = (50, 200)


def sweep(cell: Cell, scheme: str = REGULAR, *, notify: bool = True) -> Sweep:
    """The 200 runs of a cell under a scheme."""
    return Sweep(cell, scheme, INSTANTS_NS, notify=notify, extra_packets=OTHER_COUNTS)


def sweeps(cells: Iterable[Cell], *schemes: str, notify: bool = True) -> tuple[Sweep, ...]:
    """The runs of several cells under several schemes."""
    return tuple(sweep(cell, scheme, notify=notify) for cell in cells for scheme in schemes)


#: A1 with the triggers of its listing; the text of section 5.2 names only the longer delay.
LISTED = (("a1_trigger", "delay-or-bandwidth"),)


def as_listed(cell: Cell) -> Sweep:
    """The runs of a cell under enhanced TCP, A1 triggered as listed."""
    return replace(sweep(cell, ENHANCED), knobs=LISTED)


def start_of(link: Link, until_s: float = 20.0) -> Trace:
    """A run over one link without a handoff, from the start of the connection."""
    return Trace(Cell(link, link, MBB), REGULAR, None, until_s)


#: How long after the handoff a single run is traced, in seconds.
TRACED_S = 30.0


class Example:
    """A single handoff that the paper shows as a time-sequence graph.

    `window_s` is the time shown, in seconds, `segments` the segment numbers shown (default: all
    that are sent and acknowledged).  The run is traced for TRACED_S after the handoff, long enough
    for 100 new segments to be acknowledged.
    """

    def __init__(
        self,
        figure: str,
        cell: Cell,
        at_s: float,
        window_s: tuple[float, float],
        schemes: Sequence[str] = (REGULAR, ENHANCED),
        segments: tuple[int, int] | None = None,
    ) -> None:
        self.figure = figure
        self.cell = cell
        self.at_s = at_s
        self.window_s = window_s
        self.schemes = tuple(schemes)
        self.segments = segments

    def trace(self, scheme: str) -> Trace:
        """The run of this example under a scheme."""
        return Trace(self.cell, scheme, self.at_s, self.at_s + TRACED_S)

    @property
    def needs(self) -> tuple[Trace, ...]:
        return tuple(self.trace(scheme) for scheme in self.schemes)


FIG8 = Example("8", Cell(FAST, SLOW, MBB), 8.2, (8.0, 11.5))
FIG9 = Example("9", Cell(Link(800, 75), SLOW, MBB), 6.0, (5.3, 9.0))
FIG10 = Example("10", Cell(Link(400, 150), SLOW, MBB), 10.9, (10.5, 15.0))
FIG12 = Example("12", Cell(Link(1600, 75), Link(400, 150), MBB), 6.5, (6.3, 10.5))
FIG14 = Example("14", Cell(FAST, Link(6400, 300), BBM), 7.0, (6.8, 12.0))
FIG20 = Example(
    "20", Cell(Link(1600, 300), Link(1600, 1), MBB), 15.0, (14.5, 28.0), segments=(1220, 1780)
)
FIG24 = Example(
    "24",
    Cell(Link(1600, 37), SLOW, MBB),
    8.9,
    (8.7, 12.5),
    (REGULAR, ENHANCED, ENHANCED_A5),
)
EXAMPLES = {e.figure: e for e in (FIG8, FIG9, FIG10, FIG12, FIG14, FIG20, FIG24)}
