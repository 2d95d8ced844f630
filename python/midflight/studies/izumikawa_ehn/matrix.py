"""Table 1 of the paper, with a test of every entry that a run can confirm.

Two rows hold for every scheme in this simulator: the network of these runs has no part that could
read a header or help a scheme. They are stated and not tested.

I-TCP and Snoop TCP are not simulated: their columns repeat the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from midflight.claims import Check, at_least, near
from midflight.studies.izumikawa_ehn import scenarios as sc
from midflight.studies.izumikawa_ehn.measures import (
    ack_ahead_of_data,
    gain,
    gain_above,
    same_runs,
)
from midflight.studies.izumikawa_ehn.scenarios import EHN, FREEZE, ORIGINAL, Scheme
from midflight.studies.runs import FlowTrace, Job, Roaming, Runs

Test = Callable[[Runs, Scheme], Check]


@dataclass(frozen=True)
class Row:
    """A property of schemes.

    `stated` has the paper's entries for I-TCP, Snoop TCP, Freeze-TCP and EHN; `how` and `test`
    describe the test, or, without a test, why the row holds by construction.
    """

    name: str
    stated: tuple[bool, bool, bool, bool]
    how: str
    test: Test | None = None
    needs: Callable[[Scheme], tuple[Job, ...]] = lambda _scheme: ()


#: Schemes that are simulated, with their place in a row.
SIMULATED = {FREEZE: 2, EHN: 3}


def _few(scheme: Scheme, **changes: Any) -> Roaming:
    """NewReno under random errors."""
    return sc.beyond(sc.NEWRENO, scheme, **changes)


def _trace(scheme: Scheme) -> FlowTrace:
    """Thirty seconds with five handovers."""
    return FlowTrace(sc.beyond(sc.NEWRENO, scheme, runs=1, end_s=30.0))


def _in_favour(scheme: Scheme, blackout_s: float) -> tuple[Roaming, Roaming]:
    return _few(scheme, blackout_s=blackout_s), _few(ORIGINAL, blackout_s=blackout_s)


def _handover_support(runs: Runs, scheme: Scheme) -> Check:
    ratio = gain(runs, *_in_favour(scheme, 0.0))
    return gain_above(f"{scheme.core}, throughput over the original's", ratio)


def _robust_to_errors(runs: Runs, scheme: Scheme) -> Check:
    jobs = [_few(one, every_s=None) for one in (scheme, ORIGINAL)]
    same = same_runs(runs, *jobs)
    what = f"{scheme.core}, runs without handovers that are the original's, bit for bit"
    return near(what, same, sc.BEYOND_RUNS, 0, lambda v: f"{v:.0f} of {sc.BEYOND_RUNS}")


def _end_to_end(runs: Runs, scheme: Scheme) -> Check:
    ahead = ack_ahead_of_data(runs.trace(_trace(scheme)))
    return near(f"{scheme.core}, ACKs of data that the node did not have", ahead, 0, 0)


def _long_disconnection(runs: Runs, scheme: Scheme) -> Check:
    ratio = gain(runs, *_in_favour(scheme, sc.LONG_BLACKOUT_S))
    what = (
        f"{scheme.core}, disconnected for {sc.LONG_BLACKOUT_S:g} s, throughput over the original's"
    )
    return gain_above(what, ratio)


def _other_path(runs: Runs, scheme: Scheme) -> Check:
    """ACKs from the new station while the router still sends data to the old one."""
    # Packets that have left the old station are at the sender by then, because no queue builds up
    # on the return path.
    log = runs.trace(_trace(scheme))
    heard = 0
    for leaves, switched in zip(log.of("break").time_s, log.of("make").time_s, strict=False):
        between = log.of("ack").within(leaves + 1.01 * sc.BACK_S, switched)
        resumed = log.of("rcv").within(switched, switched + sc.RTT_S)
        heard += len(between) > 0 and len(resumed) > 0
    what = (
        f"{scheme.core}, handovers in which an ACK came by the new path ahead of the data's switch"
    )
    return at_least(what, heard, 1)


def _prediction(runs: Runs, scheme: Scheme) -> Check:
    jobs = [_few(scheme, foresight_missed=share) for share in (0.0, 1.0)]
    if scheme is EHN:
        same = same_runs(runs, *jobs)
        what = "ehn, runs that are the same if no handover is predicted"
        return near(what, same, sc.BEYOND_RUNS, 0, lambda v: f"{v:.0f} of {sc.BEYOND_RUNS}")
    ratio = gain(runs, *jobs)
    return gain_above("freeze, throughput over that without any prediction", ratio)


def _both(scheme: Scheme, **changes: Any) -> tuple[Job, ...]:
    return (_few(scheme, **changes), _few(ORIGINAL, **changes))


ROWS = (
    Row(
        "Handover support",
        (False, False, True, True),
        "more throughput than the original, the whole interval above zero",
        _handover_support,
        _both,
    ),
    Row(
        "High BER robustness",
        (True, True, False, False),
        "without handovers 1 % losses cost exactly what they cost the original",
        _robust_to_errors,
        lambda scheme: _both(scheme, every_s=None),
    ),
    Row(
        "Encrypted traffic support",
        (False, False, True, True),
        "not tested: links and router of the simulator forward packets by flow and station, and "
        "none of them looks into one",
    ),
    Row(
        "Need intermediate node",
        (True, True, False, False),
        "not tested: a scheme is made of parts of the sender and of the node, and there is no "
        "place for one between them",
    ),
    Row(
        "End-to-end semantics",
        (False, False, True, True),
        "no ACK reaches the sender before the node has the data",
        _end_to_end,
        lambda scheme: (_trace(scheme),),
    ),
    Row(
        "Long disconnection robustness",
        (False, False, True, True),
        "disconnected for 2 s at each handover: more throughput than the original",
        _long_disconnection,
        lambda scheme: _both(scheme, blackout_s=sc.LONG_BLACKOUT_S),
    ),
    Row(
        "ACKs can be routed along different paths from data",
        (False, False, True, True),
        "after a handover ACKs come by the new station while data still goes to the old one",
        _other_path,
        lambda scheme: (_trace(scheme),),
    ),
    Row(
        "Need impending disconnection prediction",
        (False, False, True, False),
        "without any prediction Freeze-TCP loses throughput and EHN does not change",
        _prediction,
        lambda scheme: (_few(scheme), _few(scheme, foresight_missed=1.0)),
    ),
)

NEEDS: tuple[Job, ...] = tuple(
    dict.fromkeys(job for row in ROWS for scheme in SIMULATED for job in row.needs(scheme))
)


def tested(runs: Runs) -> list[tuple[Row, dict[Scheme, Check]]]:
    """Each row with the test of each scheme that is simulated: whether the paper's entry is
    confirmed.

    A row that holds by construction has no tests.
    """
    return [
        (row, {} if row.test is None else {scheme: row.test(runs, scheme) for scheme in SIMULATED})
        for row in ROWS
    ]
