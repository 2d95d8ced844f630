"""Claims of a paper and the verdicts that data gives on them.

A *claim* is one testable statement of a paper in our own words, with a pass rule that a function
evaluates on simulated runs.  The function returns a `Finding`: a list of `Check`, one for each part
of the rule.  The verdict follows from the checks and from nothing else:

==============  =================================================================
all pass        ``reproduced``
some pass       ``partly``
none passes     ``not``
nothing to see  ``undecidable`` (no check could be made; the note says why)
==============  =================================================================

A rule of the form "each of these cells" has one part per cell.  A part that could not be measured
counts as not passed as soon as another part could be measured.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Check",
    "Claim",
    "ClaimResult",
    "Finding",
    "Ledger",
    "Verdict",
    "at_least",
    "at_most",
    "below",
    "between",
    "counted",
    "decide",
    "near",
    "percent",
]


class Verdict(enum.StrEnum):
    """What the data says about a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"
    UNDECIDABLE = "undecidable"


@dataclass(frozen=True)
class Check:
    """One part of a pass rule: what was measured, its value as text, and whether it passed.

    `passed` is None when the part could not be measured.
    """

    what: str
    value: str
    passed: bool | None

    def __str__(self) -> str:
        mark = {True: "", False: " [fails]", None: " [not measured]"}[self.passed]
        return f"{self.what}: {self.value}{mark}" if self.what else f"{self.value}{mark}"


def decide(checks: Iterable[Check]) -> Verdict:
    """The verdict that a list of checks gives (see the table in the module's description)."""
    outcomes = [check.passed for check in checks]
    if not outcomes or all(passed is None for passed in outcomes):
        return Verdict.UNDECIDABLE
    if all(outcomes):
        return Verdict.REPRODUCED
    if any(outcomes):
        return Verdict.PARTLY
    return Verdict.NOT


@dataclass(frozen=True)
class Finding:
    """What one claim's function found: its checks, further measured values, and a note.

    `context` holds measured values that the rule does not ask for but a reader wants to see.
    `note` gives the reason where the claim does not come out as stated.
    """

    checks: Sequence[Check]
    note: str = ""
    context: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the checks give."""
        return decide(self.checks)

    @property
    def measured(self) -> str:
        """The measured values as one text."""
        parts = "; ".join(str(check) for check in self.checks)
        return f"{parts}. {self.context}" if self.context and parts else parts or self.context


@dataclass(frozen=True)
class Claim:
    """A claim with its pass rule.

    `figures` names the figures of the paper it belongs to; `needs` lists the runs that `evaluate`
    reads, so that a study can run them beforehand (and only them).
    """

    id: str
    claim: str
    rule: str
    figures: tuple[str, ...]
    needs: tuple[Any, ...]
    evaluate: Callable[[Any], Finding] = field(repr=False)


@dataclass(frozen=True)
class ClaimResult:
    """A claim with the finding of one reproduction."""

    claim: Claim
    finding: Finding

    @property
    def id(self) -> str:
        """The claim's identifier."""
        return self.claim.id

    @property
    def verdict(self) -> Verdict:
        """The finding's verdict."""
        return self.finding.verdict

    def to_json(self) -> dict[str, str]:
        """What `claims.csv` has of it, by column."""
        return {
            "id": self.claim.id,
            "claim": self.claim.claim,
            "rule": self.claim.rule,
            "measured": self.finding.measured,
            "verdict": str(self.finding.verdict),
            "note": self.finding.note,
        }


class Ledger:
    """The claims of one paper, in the order in which they were registered."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}

    def claim(
        self,
        id: str,
        claim: str,
        rule: str,
        *,
        figures: Sequence[str] = (),
        needs: Iterable[Any] = (),
    ) -> Callable[[Callable[[Any], Finding]], Callable[[Any], Finding]]:
        """Register the decorated function as the evaluation of claim `id`."""

        def register(evaluate: Callable[[Any], Finding]) -> Callable[[Any], Finding]:
            if id in self._claims:
                raise ValueError(f"claim {id} is registered twice")
            self._claims[id] = Claim(id, claim, rule, tuple(figures), tuple(needs), evaluate)
            return evaluate

        return register

    @classmethod
    def joined(cls, *ledgers: Ledger) -> Ledger:
        """One ledger of several, in the order given."""
        whole = cls()
        for ledger in ledgers:
            for claim in ledger:
                if claim.id in whole._claims:
                    raise ValueError(f"claim {claim.id} is registered twice")
                whole._claims[claim.id] = claim
        return whole

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def __len__(self) -> int:
        return len(self._claims)

    def __getitem__(self, id: str) -> Claim:
        return self._claims[id]

    def of_figure(self, figure: str) -> list[Claim]:
        """The claims that belong to `figure`."""
        return [claim for claim in self if figure in claim.figures]


# Checks that rules are made of.  A value that is not a number (no data) gives `passed = None`.


def _check(
    what: str, value: float, passed: Callable[[float], bool], text: Callable[[float], str]
) -> Check:
    if math.isnan(value):
        return Check(what, "no data", None)
    return Check(what, text(value), bool(passed(value)))


def percent(value: float, digits: int = 1) -> str:
    """A fraction as text in per cent."""
    return "no data" if math.isnan(value) else f"{100 * value:.{digits}f} %"


def _plain(value: float) -> str:
    return f"{value:.3g}"


def counted(what: str, passed: Sequence[str], failed: Sequence[str]) -> list[Check]:
    """The parts of a rule over many cells, gathered: those that pass, and those that do not.

    Gives one check for each group that is not empty, so that the verdict is the one that single
    checks would give.
    """
    total = len(passed) + len(failed)
    checks = [Check(what, f"{len(passed)} of {total}", True)] if passed else []
    if failed:
        checks.append(Check(f"{what}, not", f"{len(failed)} of {total}", False))
    return checks


def between(
    what: str, value: float, low: float, high: float, text: Callable[[float], str] = _plain
) -> Check:
    """Passes when low <= value <= high."""
    return _check(what, value, lambda v: low <= v <= high, text)


def near(
    what: str,
    value: float,
    target: float,
    tolerance: float,
    text: Callable[[float], str] = _plain,
) -> Check:
    """Passes when value is at most `tolerance` away from `target`."""
    return _check(what, value, lambda v: abs(v - target) <= tolerance, text)


def at_least(what: str, value: float, low: float, text: Callable[[float], str] = _plain) -> Check:
    """Passes when value >= low."""
    return _check(what, value, lambda v: v >= low, text)


def at_most(what: str, value: float, high: float, text: Callable[[float], str] = _plain) -> Check:
    """Passes when value <= high."""
    return _check(what, value, lambda v: v <= high, text)


def below(what: str, value: float, high: float, text: Callable[[float], str] = _plain) -> Check:
    """Passes when value < high."""
    return _check(what, value, lambda v: v < high, text)
