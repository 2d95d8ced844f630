"""Verdicts, statistics and plots that every study uses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from midflight.claims import (
    Check,
    Claim,
    ClaimResult,
    Finding,
    Ledger,
    Reading,
    Tally,
    Verdict,
    at_least,
    below,
    between,
    counted,
    decide,
    near,
)
from midflight.cli.reproduce import verdicts
from midflight.plot import LOOKS, Mark, Panel, Series, quartile_plot, time_sequence_plot, write_csv
from midflight.plot.common.style import MIDDLE
from midflight.results import EventLog, Quartiles, quantile, quartiles, rank_correlation
from midflight.studies import load
from midflight.studies.study import StudyResult


@pytest.mark.parametrize(
    ("name", "ids", "figures"),
    [
        (
            "careful-resume",
            [*(f"CR{n}" for n in range(1, 7)), *(f"CR-X{n}" for n in range(1, 8))],
            "1234567",
        ),
        ("related-work", [*(f"RW{n}" for n in range(1, 13)), "RW-X1", "RW-X2"], "123"),
        ("leo-schedule", ["LE1", "LE2", "LE3", "LE4", "LE-X2", "LE-X1"], "12345"),
    ],
)
def test_every_row_has_its_rule_in_the_readme(name: str, ids: list[str], figures: str) -> None:
    study = load(name)
    assert [claim.id for claim in study.claims] == ids
    assert [figure.id for figure in study.figures] == list(figures)
    assert {figure for claim in study.claims for figure in claim.figures} == set(figures)
    rules = study.assumptions()
    assert all(f"| {id} | " in rules for id in ids)
    needed = {job for figure in study.figures for job in figure.needs}
    assert all(set(claim.needs) <= needed for claim in study.claims)


def check(passed: bool | None) -> Check:
    return Check("part", "1", passed)


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([True, True], Verdict.REPRODUCED),
        ([True, False], Verdict.PARTLY),
        ([False, False], Verdict.NOT),
        ([], Verdict.UNDECIDABLE),
        ([None, None], Verdict.UNDECIDABLE),
        ([True, None], Verdict.PARTLY),
        ([False, None], Verdict.NOT),
    ],
)
def test_the_verdict_follows_from_the_parts(parts: list[bool | None], verdict: Verdict) -> None:
    assert decide([check(passed) for passed in parts]) is verdict


def test_limits_are_as_their_names_say() -> None:
    assert between("", 5, 5, 5).passed
    assert near("", 7.21, 7.2, 0.02).passed
    assert not near("", 7.210036, 7.2, 0.01).passed
    assert at_least("", 0.85, 0.85).passed
    assert not below("", 0.2, 0.2).passed
    assert at_least("", math.nan, 0.0).passed is None
    assert not below("", math.inf, 2.0).passed


def test_gathered_parts_decide_as_single_ones_do() -> None:
    assert decide(counted("cells", ["a", "b"], [])) is Verdict.REPRODUCED
    assert decide(counted("cells", ["a"], ["b"])) is Verdict.PARTLY
    assert decide(counted("cells", [], ["a", "b"])) is Verdict.NOT


def test_a_finding_says_which_part_fails() -> None:
    finding = Finding([Check("37 ms", "41.0 %", True), Check("1 ms", "71.0 %", False)])
    assert finding.measured == "37 ms: 41.0 %; 1 ms: 71.0 % [fails]"


def test_a_verdict_has_a_score() -> None:
    partly = Finding([*counted("cells", list("abc"), list("de")), check(None)])
    assert (partly.passed, partly.parts, partly.score) == (3, 6, "3 of 6 parts")
    assert partly.outcome == "partly, 3 of 6 parts"
    assert Finding([check(False)]).outcome == "not, 0 of 1 part"
    assert Finding([]).outcome == "undecidable"


def test_another_reading_is_shown_and_decides_nothing() -> None:
    finding = Finding([check(True)], readings=[Reading("as before", [check(False), check(None)])])
    assert finding.outcome == "reproduced, 1 of 1 part"
    assert finding.measured == (
        "part: 1 | as before: not, 0 of 2 parts (part: 1 [fails]; part: 1 [undecided])"
    )


def test_what_failed_and_why_fits_a_line() -> None:
    checks = [Check(f"{n} ms", "1.0 %", n == 5) for n in range(6)]
    checks.append(Check("last", "0.1 %", None, 2))
    note = "In Fig. 8 the RTO is 0.2 s. Then more is said."
    finding = Finding(checks, note)
    assert finding.failures(2) == "0 ms: 1.0 %; 1 ms: 1.0 %; 5 more"
    assert finding.failures(9).endswith("4 ms: 1.0 %; last: 0.1 % (undecided)")
    assert finding.reason == "In Fig. 8 the RTO is 0.2 s"
    assert Finding(checks, note, why="It is so").reason == "It is so"
    assert Finding([check(True)]).failures() == ""


def result(id: str, *passed: bool | None) -> ClaimResult:
    claim = Claim(id, "claim", "rule", (), (), lambda _: Finding([]))
    return ClaimResult(claim, Finding([check(one) for one in passed]))


def test_rows_beyond_a_paper_are_not_in_its_tally() -> None:
    rows = [result("P1-F1", True, False), result("P1-X1", True), result("P1-X2", False)]
    assert [one.beyond for one in rows] == [False, True, True]
    whole = StudyResult("study", "1", "", rows, ())
    assert str(whole.paper) == "1 partly (1 of 2 parts)"
    assert str(whole.beyond) == "1 reproduced, 1 not (1 of 2 parts)"
    tally = whole.to_json()["tally"]
    assert tally["paper"]["rows"] == 1
    assert tally["beyond_paper"] == {
        "rows": 2,
        "reproduced": 1,
        "partly": 0,
        "not": 1,
        "undecidable": 0,
        "parts_passed": 1,
        "parts": 2,
    }
    text = verdicts(whole)
    assert "1 claim: 1 partly (1 of 2 parts)" in text
    assert "2 rows beyond the paper: 1 reproduced, 1 not (1 of 2 parts)" in text
    assert text.index("P1-F1") < text.index("beyond the paper:") < text.index("P1-X1")
    assert Tally.of([]).rows == 0


def test_a_ledger_keeps_the_order_and_refuses_a_second_row() -> None:
    first, second = Ledger(), Ledger()
    first.claim("B", "claim", "rule", figures=("2",))(lambda _: Finding([check(True)]))
    second.claim("A", "claim", "rule")(lambda _: Finding([check(True)]))
    joined = Ledger.joined(first, second)
    assert [claim.id for claim in joined] == ["B", "A"]
    assert [claim.id for claim in joined.of_figure("2")] == ["B"]
    with pytest.raises(ValueError, match="registered twice"):
        Ledger.joined(first, first)


def test_quantiles_are_those_of_numpy() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=200)
    assert quartiles(values) == pytest.approx(np.percentile(values, [25, 50, 75]), rel=1e-12)


def test_a_run_that_never_finishes_counts_as_infinite() -> None:
    assert quantile([1.0, 2.0, math.nan], 0.5) == 2.0
    assert quantile([1.0, 2.0, math.nan, math.nan], 0.5) == math.inf
    assert quartiles([1.0, 1.0, 1.0, math.nan]) == (1.0, 1.0, math.inf)
    assert math.isnan(quantile([], 0.5))


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3], [10, 100, 1000]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert rank_correlation([1, 2, 3, 4], [1, 1, 2, 2]) == pytest.approx(0.894427191)
    assert math.isnan(rank_correlation([1, 2], [5, 5]))


@pytest.fixture
def log() -> EventLog:
    """Three segments sent, one lost and sent again."""
    events = [
        (0.0, "send", 1, ""),
        (0.1, "send", 2, ""),
        (0.2, "send", 3, ""),
        (0.25, "drop", 2, "data bs1-wir1 queue"),
        (0.3, "ack", 1, ""),
        (0.4, "drop", 1, "ack mn-wir1 break"),
        (0.6, "rto", 2, "needed"),
        (0.6, "rexmit", 2, ""),
        (0.6, "ssthresh", 2, ""),
        (0.9, "ack", 3, ""),
    ]
    time_s, kind, value, detail = zip(*events, strict=True)
    return EventLog([round(t * 1e9) for t in time_s], kind, value, detail)


def test_the_log_knows_the_state_of_the_sender(log: EventLog) -> None:
    assert log.highest_sent(0.15) == 2
    assert log.flight_size(0.35) == 2
    assert log.ack_time(2) == pytest.approx(0.9)
    assert log.last("ssthresh", 1.0) == 2
    assert log.dropped().value.tolist() == [2]
    assert len(log.dropped("ack")) == 1
    assert math.isnan(log.ack_time(4))


def test_the_same_data_gives_the_same_files(tmp_path: Path, log: EventLog) -> None:
    points = [Quartiles(1.0, 2.0, 3.0), Quartiles(2.0, 3.0, math.inf)]

    def draw(where: Path) -> list[bytes]:
        files = quartile_plot(
            where / "quartiles",
            categories=["150", "75"],
            x_title="Delay of the old link (ms)",
            y_title="Time (s)",
            series=[
                Series("regular", LOOKS["dashed circle"], points),
                Series("enhanced", LOOKS["solid circle"], points),
            ],
        )
        files += time_sequence_plot(
            where / "sequence",
            [Panel("(a) regular", log, [Mark(0.2, "handoff")])],
            window_s=(0.0, 1.0),
        )
        return [path.read_bytes() for path in files]

    assert draw(tmp_path / "one") == draw(tmp_path / "two")


def test_what_a_paper_says_is_drawn(tmp_path: Path, log: EventLog) -> None:
    points = [Quartiles(1.0, 2.0, 3.0)] * 3
    look = LOOKS["solid circle"]

    def quartile_svg(name: str, expected: list[tuple[float, float] | None]) -> str:
        series = [Series("enhanced", look, points, expected)]
        files = quartile_plot(
            tmp_path / name, categories=list("abc"), x_title="x", y_title="y", series=series
        )
        return files[0].read_text()

    plain = quartile_svg("plain", [])
    assert plain == quartile_svg("none", [None, None, None])
    told = quartile_svg("told", [(1.5, 2.5), None, (2.0, 2.0)])
    boxes = told.count(MIDDLE) - plain.count(MIDDLE)
    assert boxes == 3  # two categories and the legend
    assert quartile_svg("high", [(8.0, 9.0)]) != told

    def sequence_svg(name: str, expected: tuple[Mark, ...]) -> str:
        panel = Panel("(a)", log, [Mark(0.2, "handoff")], expected)
        return time_sequence_plot(tmp_path / name, [panel], window_s=(0.0, 1.0))[0].read_text()

    assert MIDDLE not in sequence_svg("bare", ())
    assert MIDDLE in sequence_svg("marked", (Mark(0.5, "RTO"), Mark(0.52, "ACKs")))


def test_csv_is_plain(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a" / "b.csv", ("name", "time_s"), [("x", 1.5), ("y", math.inf)])
    assert path.read_text() == "name,time_s\nx,1.500000\ny,inf\n"
