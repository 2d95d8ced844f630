"""Verdicts, statistics and plots that every study uses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from midflight.claims import (
    Check,
    Finding,
    Ledger,
    Verdict,
    at_least,
    below,
    between,
    counted,
    decide,
    near,
)
from midflight.plot import LOOKS, Mark, Panel, Series, quartile_plot, time_sequence_plot, write_csv
from midflight.results import EventLog, Quartiles, quantile, quartiles, rank_correlation


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


def test_csv_is_plain(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a" / "b.csv", ("name", "time_s"), [("x", 1.5), ("y", math.inf)])
    assert path.read_text() == "name,time_s\nx,1.500000\ny,inf\n"
