"""RAPID in the study of Daniel and Kojo's report: its versions, its rules, its tables."""

from __future__ import annotations

from typing import Any

import pytest

from midflight.claims import Verdict
from midflight.results import Quartiles
from midflight.studies.daniel_abest import rapid
from midflight.studies.runs import Runs


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_every_version_differs_from_the_plain_one_somewhere(runs: Runs) -> None:
    jobs = rapid.EVERYTHING
    runs.make(jobs)
    links, figures = len(rapid.START_LINKS), len(rapid.NAMES)

    def digests(version: rapid.Version) -> list[str]:
        of = [
            runs.startup(rapid.start(link, version)).digest for link in rapid.START_LINKS.values()
        ]
        for figure in rapid.NAMES:
            of += runs.sweep(rapid.sweep(figure, version))["digest"].tolist()
        return of

    plain = digests(rapid.RAPID)
    assert len(jobs) == len(rapid.VARIANTS) * (links + figures)
    for version in rapid.VARIANTS[1:]:
        assert digests(version) != plain, version.name
    # What a notice does is nothing before it comes.
    assert digests(rapid.TOLD)[:links] == plain[:links]


def test_the_average_of_a_chirp_is_found_from_its_rates() -> None:
    # 1 + 1/2 gaps are two on average.
    assert rapid._average(3, 0.75, 1.5) == pytest.approx(1.0)
    assert rapid._average(2, 5.0, 5.0) == pytest.approx(5.0)
    assert rapid._average(30, 0.2058506, 33.933378) == pytest.approx(1.0, rel=1e-5)


def test_a_gigabit_is_reached_in_four_round_trips_or_not(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = rapid.LEDGER["A11-X3"]
    for trips, verdict in ((4.0, Verdict.REPRODUCED), (4.1, Verdict.NOT)):
        monkeypatch.setattr(rapid, "round_trips", lambda _runs, _ms, trips=trips: trips)
        assert claim.evaluate(runs).verdict is verdict


def test_reports_are_off_when_a_quartile_is(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = rapid.LEDGER["A11-X6"]
    for found, verdict in (
        (Quartiles(0.81, 1.0, 1.19), Verdict.NOT),
        (Quartiles(0.79, 1.0, 1.1), Verdict.REPRODUCED),
        (Quartiles(0.9, 1.0, 1.21), Verdict.REPRODUCED),
    ):

        def told(*_of: Any, found: Quartiles = found) -> Quartiles:
            return found

        monkeypatch.setattr(rapid, "told", told)
        assert claim.evaluate(runs).verdict is verdict


def test_the_tables_have_a_row_for_every_version(runs: Runs) -> None:
    starts, handoffs = rapid.tables(runs)
    assert [row[0] for row in starts] == [row[0] for row in handoffs]
    assert len(starts) == 4 + len(rapid.VARIANTS)
    assert all(len(row) == len(rapid.NAMES) + 1 for row in handoffs)
    assert "LTE, outage" in handoffs[0]
