"""Every claim of Daniel and Kojo (2008) with its pass rule, in the paper's order.

`setup` has the claims about the simulation itself; `problems` (delay) and `problems_bandwidth`
those of section 4, on what a handoff does to regular TCP; `algorithms` section 5, A1 to A5 and the
single runs that show them; `evaluation` sections 6.1 and 6.2 and `same_bdp` section 6.3, regular
against enhanced TCP.  Each has its own ledger; `LEDGER` joins them.
"""

from __future__ import annotations

from midflight.claims import Ledger
from midflight.studies.daniel_kojo_2008.claims import (
    algorithms,
    evaluation,
    problems,
    problems_bandwidth,
    same_bdp,
    setup,
)

__all__ = ["LEDGER"]

LEDGER = Ledger.joined(
    setup.LEDGER,
    problems.LEDGER,
    problems_bandwidth.LEDGER,
    algorithms.LEDGER,
    evaluation.LEDGER,
    same_bdp.LEDGER,
)
