"""Other interpretations of the paper: every claim about throughput, judged on changed runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from midflight.claims import Finding, Verdict
from midflight.results import RoamingTable
from midflight.studies.izumikawa_ehn import scenarios as sc
from midflight.studies.izumikawa_ehn.claims import LEDGER
from midflight.studies.runs import Roaming, Runs

Change = Callable[[Roaming], Roaming]

AS_TAKEN = "as taken"
#: Claims of figure 3, and the others that one interpretation is judged on too.
RANDOM = tuple(f"I03-F3-{n}" for n in range(1, 7))
REST = (*(f"I03-F4-{n}" for n in range(1, 7)), "I03-T2", "I03-F6-1", "I03-F6-2")


@dataclass(frozen=True)
class Reading:
    """Another interpretation: its name, what it changes in a node's runs, and whether it is judged
    on all claims."""

    name: str
    change: Change
    whole: bool = False

    def node(self, job: Roaming) -> Roaming:
        """The same runs under this interpretation, as many as in the paper."""
        changed = self.change(job)
        if changed == job and self.name == AS_TAKEN:
            return job
        return replace(changed, runs=min(job.runs, sc.READING_RUNS))

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims that are judged under it."""
        return (*RANDOM, *REST) if self.whole else RANDOM

    def needs(self) -> Iterable[Roaming]:
        """The runs that judging takes."""
        for id in self.claims:
            for job in LEDGER[id].needs:
                assert isinstance(job, Roaming)
                yield self.node(job)

    def judge(self, runs: Runs) -> dict[str, Finding]:
        """The finding of each claim."""
        changed = _Changed(runs, self)
        return {id: LEDGER[id].evaluate(changed) for id in self.claims}


class _Changed(Runs):
    """Runs as a claim sees them under an interpretation."""

    def __init__(self, runs: Runs, reading: Reading) -> None:
        super().__init__(runs.core)
        self._runs, self._reading = runs, reading

    def roaming(self, job: Roaming) -> RoamingTable:
        return self._runs.roaming(self._reading.node(job))


def _knobs(**knobs: str) -> Change:
    return lambda node: sc.with_knobs(node, **knobs)


def _of(recovery: str, **knobs: str) -> Change:
    """These settings for the TCPs with this recovery only."""

    def change(node: Roaming) -> Roaming:
        concerned = dict(node.knobs)["recovery"] == recovery
        return sc.with_knobs(node, **knobs) if concerned else node

    return change


def _cumulative(**knobs: str) -> Change:
    """These settings for the TCPs without SACK only."""

    def change(node: Roaming) -> Roaming:
        concerned = dict(node.knobs)["recovery"] in ("reno", "newreno")
        return sc.with_knobs(node, **knobs) if concerned else node

    return change


def _both_earlier(node: Roaming) -> Roaming:
    rules = _cumulative(recovery_rules="rfc")
    return sc.with_knobs(rules(node), receiver_window=str(sc.OTHER_WINDOW))


def _westwood(**knobs: str) -> Change:
    """These settings for TCPW only."""

    def change(node: Roaming) -> Roaming:
        concerned = dict(node.knobs).get("congestion") == "westwood"
        return sc.with_knobs(node, **knobs) if concerned else node

    return change


def _core(scheme: str, **knobs: str) -> Change:
    """These settings for one scheme of the core only."""
    return lambda node: sc.with_knobs(node, **knobs) if node.scheme == scheme else node


def _acks_lost(node: Roaming) -> Roaming:
    return replace(node, back_loss=node.loss)


READINGS = (
    Reading(AS_TAKEN, lambda node: node, whole=True),
    Reading(
        f"window of {sc.OTHER_WINDOW} segments (earlier interpretation)",
        _knobs(receiver_window=str(sc.OTHER_WINDOW)),
        whole=True,
    ),
    Reading(
        "Reno and NewReno by RFC 5681 and 6582 (earlier interpretation)",
        _cumulative(recovery_rules="rfc"),
        whole=True,
    ),
    Reading(
        f"both: window of {sc.OTHER_WINDOW} segments, Reno and NewReno by the RFCs",
        _both_earlier,
        whole=True,
    ),
    Reading(
        "NewReno as in ns-2 before May 2003 (each partial ACK restarts the timer and takes back "
        "what duplicates added)",
        _of("newreno", newreno_timer="every-partial-ack", newreno_deflation="off"),
    ),
    Reading("minimum RTO 0.2 s", _knobs(min_rto="200ms")),
    Reading("minimum RTO 0.5 s", _knobs(min_rto="500ms")),
    Reading("ACKs are lost like segments", _acks_lost),
    Reading("delayed ACKs (100 ms)", _knobs(delayed_ack="100ms")),
    Reading("Westwood's time constant 1 s (its authors' ns-2 code)", _westwood(westwood_tau="1s")),
    Reading("no limited transmit", _knobs(limited_transmit="off")),
    Reading(
        "Sack counts duplicates with SACK news only", _of("sack1", count_sackless_dupacks="off")
    ),
    Reading("an ACK that opens the window is no duplicate", _knobs(count_window_updates="off")),
    Reading("EHN sets the RTT too", _core("ehn", ehn_rtt="one-way")),
)

EVERYTHING: tuple[Roaming, ...] = tuple(
    dict.fromkeys(job for reading in READINGS for job in reading.needs())
)


def cell(finding: Finding) -> str:
    """How many parts of a rule pass, bold if all do."""
    passed = sum(bool(check.passed) for check in finding.checks)
    text = f"{passed} of {len(finding.checks)}"
    return f"**{text}**" if finding.verdict is Verdict.REPRODUCED else text
