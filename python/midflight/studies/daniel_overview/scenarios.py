"""The handoffs of the overview of Daniel, Järvinen and Kojo, and the runs that it reads.

The graphs for a single flow are those of Daniel and Kojo (2008), with the same cells.  Four graphs
are for several flows, which move together; their notices state the number of flows.  Links are
written rate/delay in kbit/s and ms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from midflight.studies.daniel_kojo_2008 import scenarios as single
from midflight.studies.daniel_kojo_2008.scenarios import BBM, INSTANTS_NS, MBB
from midflight.studies.runs import Cell, Link, Sweep

#: The plain sender, A1 to A4, and all enhancements of the table of problems.
REGULAR, ENHANCED, VHO = "sack", "enhanced", "vho-qs"
SCHEMES = (REGULAR, ENHANCED, VHO)

#: Receivers report duplicates (DSACK), as the table requires.
DSACK = (("dsack", "on"),)

#: The numbers of flows of the graphs and the claims.
FLOWS = (1, 2, 4, 8)
#: The numbers of flows in the figure of fairness.
ALL_FLOWS = (1, 2, 3, 4, 5, 6, 7, 8)

#: The transfer time counts 100 new segments of each flow; 500, which the report on available
#: bandwidth has for the links of G6 and G7, are recorded beside it.
MORE_PACKETS = 500


def sweep(
    cell: Cell,
    scheme: str,
    flows: int = 1,
    *,
    window_s: float | None = None,
    extra_packets: tuple[int, ...] = (),
    at_ns: tuple[int, ...] = INSTANTS_NS,
    profile: str = "ns2",
    stagger_s: float = 0.0,
) -> Sweep:
    """The runs of a cell under a scheme, one for each instant."""
    return Sweep(
        cell,
        scheme,
        at_ns,
        extra_packets=extra_packets,
        knobs=DSACK,
        flows=flows,
        stagger_s=stagger_s,
        window_s=window_s,
        profile=profile,
    )


#: The instants of the graphs for several flows: every second one, or every fourth where the old
#: link has 54 Mbit/s, which takes longer to simulate.
FEWER_NS = INSTANTS_NS[1::2]
FEWEST_NS = INSTANTS_NS[3::4]


@dataclass(frozen=True)
class Graph:
    """A graph for several flows: its row in the ledger, its handoff, a window, and its instants.

    The segments of each flow are counted in `window_s` from the handoff on.
    """

    id: str
    cell: Cell
    window_s: float
    extra_packets: tuple[int, ...] = ()
    at_ns: tuple[int, ...] = FEWER_NS

    def sweep(
        self,
        scheme: str,
        flows: int,
        *,
        at_ns: tuple[int, ...] | None = None,
        profile: str = "ns2",
        stagger_s: float = 0.0,
    ) -> Sweep:
        """The runs under a scheme with this number of flows."""
        return sweep(
            self.cell,
            scheme,
            flows,
            window_s=self.window_s,
            extra_packets=self.extra_packets,
            at_ns=self.at_ns if at_ns is None else at_ns,
            profile=profile,
            stagger_s=stagger_s,
        )

    def sweeps(self, *schemes: str, flows: tuple[int, ...] = FLOWS) -> tuple[Sweep, ...]:
        """The runs under several schemes with several numbers of flows."""
        return tuple(self.sweep(scheme, n) for scheme in schemes for n in flows)


G4 = Graph("G4", Cell(Link(6400, 9), Link(200, 300), MBB), 12.0)
G5 = Graph("G5", Cell(Link(54_000, 2), Link(2000, 50), MBB), 3.0, at_ns=FEWEST_NS)
G6 = Graph("G6", Cell(Link(6000, 50), Link(54_000, 4), MBB), 1.0, (MORE_PACKETS,))
G7 = Graph("G7", Cell(Link(6000, 50), Link(54_000, 4), BBM), 1.5, (MORE_PACKETS,))
GRAPHS = {graph.id: graph for graph in (G4, G5, G6, G7)}

#: The graphs for one flow: the cells of the figures of the paper of 2008, by the varied link.
SINGLE: dict[str, dict[str, Cell]] = {
    "G1": {str(ms): single.low_to_high_delay(6400, ms, BBM) for ms in single.DELAYS},
    "G2": {str(link): single.to_slow(link, MBB) for link in single.SLOW_PARTNERS},
    "G3": {str(link): single.to_slow(link, BBM) for link in single.SLOW_PARTNERS},
}


def alone(cell: Cell, scheme: str) -> Sweep:
    """The runs of a cell with one flow: those of the study of 2008.

    Under the overview's scheme receivers also report duplicates.
    """
    usual = single.sweep(cell, scheme)
    return replace(usual, knobs=DSACK) if scheme == VHO else usual
