"""Which flows were done before a handoff: those whose data had all arrived when it began."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from midflight.cli import main
from midflight.link_cells import least_delay_ns
from midflight.percentiles import percentile_rows
from midflight.plot.results.tables import read_columns
from midflight.sweep import Sweep
from midflight.sweep_summary import Summary
from midflight.sweep_verdict import best_lines
from midflight.unmet import MET, PathChanges

SCHEME, AT = "flows.download.scheme", "handoffs.0.at"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """At 0.6 s the last ACK of bbr3 is under way; freeze is done after 1 s, the others before."""
    out = tmp_path_factory.mktemp("done") / "out"
    words = ["--axis", f"{SCHEME}=sack,freeze,bbr3,vho-qs", "--axis", f"{AT}=0.1s:1s:0.1s"]
    assert main(["sweep", "wifi-to-lte", *words, "--compare", SCHEME, "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("metric", [None, "stall_ns"])
def test_a_flow_whose_last_ack_is_under_way_is_done(folder: Path, metric: str | None) -> None:
    made = Summary.of(Sweep.read(folder), folder, metric)
    (of_bbr3,) = [one for one in made.compared if one.value == "bbr3"]
    assert (of_bbr3.pairs, of_bbr3.done_before) == (5, 5)
    (group,) = [one for one in made.grouped if "bbr3" in one.values]
    assert [key[0] for key in group.counted] == [f"0.{tenth} s" for tenth in range(1, 6)]
    columns = read_columns(folder, metric or "duration_ns")
    row = next(
        row
        for row, one in enumerate(zip(columns[SCHEME], columns[AT], strict=True))
        if one == ("bbr3", "0.6 s")
    )
    assert (columns["finished_ns"][row] > 600_000_000, columns[MET][row]) == (True, "0")


def test_two_values_are_compared_at_all_instants_that_both_have(folder: Path) -> None:
    """Not only at those at which every other value was handed over, too."""
    made = Summary.of(Sweep.read(folder), folder)
    assert [*best_lines(made)] == ["Best is vho-qs: the fastest"]


def test_where_an_arrival_is_recorded_it_counts(folder: Path) -> None:
    changes = PathChanges(Sweep.read(folder))
    rows = csv.DictReader((folder / "flows.csv").open())
    row = next(one for one in rows if (one[SCHEME], one[AT]) == ("sack", "0.5 s"))
    assert not changes.is_early(row, "duration_ns")
    late = {**row, "opened_ns": "100000000"}
    assert changes.is_early({**late, "delivered_ns": "400000000"}, "duration_ns")
    assert not changes.is_early({**late, "delivered_ns": "400000001"}, "duration_ns")


def test_a_path_delay_before_the_last_ack_came_it_had_left(folder: Path) -> None:
    """Two wired links of 5 ms and the access link of 2 ms."""
    changes = PathChanges(Sweep.read(folder))
    rows = csv.DictReader((folder / "flows.csv").open())
    row = next(one for one in rows if one[AT] == "0.5 s")
    for end, is_done in ((512_000_000, True), (512_000_001, False)):
        assert changes.is_early({**row, "finished_ns": f"{end}"}, "duration_ns") is is_done


@pytest.mark.parametrize(
    ("link", "ms"),
    [
        ({"delay": "20 ms", "rate": "1 Mbit/s"}, 20),
        ({"preset": "wifi"}, 2),
        ({"preset": "wifi", "delay": "7 ms"}, 7),
        ({"delay": "20 ms", "up": {"delay": "5 ms"}}, 5),
        ({"delay": "20 ms", "trace": "drive.csv"}, 0),
    ],
)
def test_least_delay_of_a_link(link: dict[str, object], ms: int) -> None:
    assert least_delay_ns(link) == ms * 1_000_000
    assert least_delay_ns(link, [{"delay": "1 ms"}]) == min(ms, 1) * 1_000_000


def test_data_of_an_entry_have_arrived_when_those_of_its_last_flow_have() -> None:
    flows = [
        {"entry": "f", "flow": f"f-{n}", "duration_ns": "9", "opened_ns": f"{n}"} for n in (1, 3)
    ]
    for last, said in (("7", "9"), ("", "")):
        given = [
            {**one, "finished_ns": "12", "delivered_ns": took}
            for one, took in zip(flows, ("8", last), strict=True)
        ]
        (row,) = percentile_rows(given, "duration_max_ns")
        assert row["delivered_ns"] == said
        assert math.isfinite(float(row["finished_ns"]))


def test_another_baseline_moves_no_handoff(tmp_path: Path) -> None:
    folder, at = tmp_path / "out", "handoffs.0.at"
    words = ["--axis", f"{at}=0.1s,0.2s,9s", "--compare", at, "--out", str(folder)]
    assert main(["sweep", "wifi-to-lte", *words]) == 0

    def early(baseline: str | None) -> dict[tuple[str, ...], int]:
        made = Summary.of(Sweep.read(folder).against(baseline), folder)
        return {one.values: len(one.early) for one in made.grouped}

    assert early("9s") == early(None) == {("0.1s",): 0, ("0.2s",): 0, ("9s",): 1}
