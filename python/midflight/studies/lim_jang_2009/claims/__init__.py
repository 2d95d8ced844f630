"""The claims of Lim and Jang (2009) and their evaluation on the runs, in the paper's order.

`mechanisms` holds table 1, section 4.1 and figures 2 to 9: what loss differentiation, the delayed
response and F-RTO do; `throughput` figures 11 to 14 and the abstract: what they gain.  Each has its
own ledger; `LEDGER` joins them.
"""

from __future__ import annotations

from midflight.claims import Ledger
from midflight.studies.lim_jang_2009.claims import mechanisms, throughput
from midflight.studies.lim_jang_2009.claims.mechanisms import SCRIPTED, STATE_TRACES, state_counts
from midflight.studies.lim_jang_2009.claims.throughput import above_zero

__all__ = ["LEDGER", "SCRIPTED", "STATE_TRACES", "above_zero", "state_counts"]

LEDGER = Ledger.joined(mechanisms.LEDGER, throughput.LEDGER)
