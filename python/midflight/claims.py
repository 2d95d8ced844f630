"""Claims of a paper and the verdicts that data gives on them.

A *claim* is one testable statement of a paper in our own words, with a pass rule that a function
evaluates on simulated runs.  The function returns a `Finding`: a list of `Check`, one for each part
of the rule.  The verdict follows from the checks alone:

==============  =================================================================
all pass        ``reproduced``
some pass       ``partly``
none passes     ``not``
no checks       ``undecidable`` (no check could be made; the note says why)
==============  =================================================================

A rule of the form "each of these cells" has one part per cell.  A part that could not be decided
counts as not passed as soon as another part could be decided.  A verdict is shown with its score,
the number of parts that pass: 3 of 10 and 11 of 12 are both ``partly`` but differ.

Rows that go beyond a paper have an identifier with an X after the paper's (``A11-X1``).  They are
counted separately: the tally of a paper has the paper's own rows only.

Where an interpretation of the paper was corrected, the earlier one is kept as a `Reading`, with the
rule or setup that it concerns and its own parts. It is shown, but does not affect the verdict.
"""

from __future__ import annotations

import enum
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Check",
    "Claim",
    "ClaimResult",
    "Finding",
    "Ledger",
    "Reading",
    "Tally",
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
    """The verdict of the data on a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"
    UNDECIDABLE = "undecidable"


@dataclass(frozen=True)
class Check:
    """One part of a pass rule: the measured quantity, its value as text, and whether it passed.

    `passed` is None when the part could not be decided.  `parts` is above one where a check
    represents several parts with the same outcome.
    """

    what: str
    value: str
    passed: bool | None
    parts: int = 1

    @property
    def text(self) -> str:
        """The measured quantity and its value, without the outcome."""
        return f"{self.what}: {self.value}" if self.what else self.value

    def __str__(self) -> str:
        return self.text + {True: "", False: " [fails]", None: " [undecided]"}[self.passed]


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


class _Parts:
    """Verdict and score of an object with checks."""

    checks: Sequence[Check]

    @property
    def verdict(self) -> Verdict:
        """The verdict that the checks give."""
        return decide(self.checks)

    @property
    def passed(self) -> int:
        """How many parts of the rule pass."""
        return sum(check.parts for check in self.checks if check.passed)

    @property
    def parts(self) -> int:
        """How many parts the rule has."""
        return sum(check.parts for check in self.checks)

    @property
    def score(self) -> str:
        """`11 of 12 parts`; empty for a rule without parts."""
        if not self.parts:
            return ""
        return f"{self.passed} of {self.parts} part{'s' if self.parts > 1 else ''}"

    @property
    def outcome(self) -> str:
        """Verdict and score: `partly, 11 of 12 parts`."""
        return f"{self.verdict}, {self.score}" if self.score else str(self.verdict)


@dataclass(frozen=True)
class Reading(_Parts):
    """Another interpretation of a claim: its reading of the paper, and its checks."""

    what: str
    checks: Sequence[Check]

    def __str__(self) -> str:
        parts = "; ".join(str(check) for check in self.checks)
        return f"{self.what}: {self.outcome} ({parts})"


@dataclass(frozen=True)
class Finding(_Parts):
    """The result of one claim's function: its checks, further measured values, and a note.

    `context` holds further measured values for the reader, which the rule does not use.
    `note` gives the reason where the claim is not reproduced in full; `why` is that reason in one
    sentence for the summary of a report, by default the first sentence of the note.  `readings` are
    other interpretations of the claim, which do not affect the verdict.
    """

    checks: Sequence[Check]
    note: str = ""
    context: str = ""
    why: str = ""
    readings: Sequence[Reading] = ()

    @property
    def measured(self) -> str:
        """The measured values as one text, with the other interpretations at its end."""
        parts = "; ".join(str(check) for check in self.checks)
        text = f"{parts}. {self.context}" if self.context and parts else parts or self.context
        return " | ".join(filter(None, [text, *map(str, self.readings)]))

    @property
    def reason(self) -> str:
        """Why the claim is not reproduced, in one sentence."""
        return self.why or _SENTENCE_END.split(self.note, maxsplit=1)[0].rstrip(".:")

    def failures(self, most: int = 3) -> str:
        """The parts that do not pass, `most` of them in full: empty where all pass."""
        failed = [check for check in self.checks if not check.passed]
        shown = [check.text + (" (undecided)" if check.passed is None else "") for check in failed]
        rest = sum(check.parts for check in failed[most:])
        return "; ".join([*shown[:most], *([f"{rest} more"] if rest else [])])


#: A full stop, and a capital after it: not the one in a number or in "Fig. 8".
_SENTENCE_END = re.compile(r"(?<!\bFig)(?<!\bFigs)\.\s+(?=[A-Z])")


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

    @property
    def beyond(self) -> bool:
        """Whether the row goes beyond the paper."""
        return self.id.partition("-")[2].startswith("X")


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

    @property
    def beyond(self) -> bool:
        """Whether the row goes beyond the paper."""
        return self.claim.beyond

    def to_json(self) -> dict[str, str | int | bool]:
        """Its row of `claims.csv`, by column."""
        return {
            "id": self.claim.id,
            "beyond_paper": self.beyond,
            "claim": self.claim.claim,
            "rule": self.claim.rule,
            "measured": self.finding.measured,
            "verdict": str(self.finding.verdict),
            "parts_passed": self.finding.passed,
            "parts": self.finding.parts,
            "note": self.finding.note,
        }


@dataclass(frozen=True)
class Tally:
    """The number of rows with each verdict, and the numbers of their parts and of the parts that
    pass.
    """

    verdicts: Mapping[Verdict, int]
    passed: int
    parts: int

    @classmethod
    def of(cls, results: Iterable[ClaimResult]) -> Tally:
        """The tally of these rows."""
        findings = [result.finding for result in results]
        return cls(
            Counter(finding.verdict for finding in findings),
            sum(finding.passed for finding in findings),
            sum(finding.parts for finding in findings),
        )

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.verdicts.values())

    def __str__(self) -> str:
        """`16 reproduced, 2 partly (98 of 110 parts)`."""
        counts = ", ".join(f"{self.verdicts[v]} {v}" for v in Verdict if self.verdicts.get(v))
        return f"{counts} ({self.passed} of {self.parts} parts)"

    def to_json(self) -> dict[str, int]:
        """Counts by name."""
        counts = {str(verdict): self.verdicts.get(verdict, 0) for verdict in Verdict}
        return {
            "rows": self.rows,
            **counts,
            "parts_passed": self.passed,
            "parts": self.parts,
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
        """One ledger with the claims of several, in the given order."""
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

    Gives one check for each group that is not empty, so that verdict and score are those that
    single checks would give.
    """
    total = len(passed) + len(failed)
    checks = [Check(what, f"{len(passed)} of {total}", True, len(passed))] if passed else []
    if failed:
        checks.append(Check(f"{what}, not", f"{len(failed)} of {total}", False, len(failed)))
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
