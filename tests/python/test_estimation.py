"""Estimates of a path against the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight import Probe, run_probes
from midflight.studies.daniel_abest import estimation
from midflight.studies.runs import Runs


def test_pairs_on_an_idle_path_tell_its_rate() -> None:
    probe = Probe(bottleneck="6 Mbit/s, 50 ms", scheme="probe-train", runs=[0, 1])
    (table,) = run_probes([probe])
    assert table.column("run") == [0, 1]
    assert table.column("measure") == ["capacity"] * 2
    assert all(abs(rate / 6e6 - 1) < 1e-5 for rate in table.column("estimate_bps"))
    assert table.column("available_bps") == [6e6] * 2
    # A round trip, and the transmission of four segments and an ACK.
    for sent, told in zip(table.column("sent_ns"), table.column("reported_ns"), strict=True):
        assert 108e6 < told - sent < 108.2e6


def test_a_chirp_that_loses_a_segment_has_no_estimate() -> None:
    knobs = {"probe_segments": "20", "probe_low": "1 Mbit/s", "probe_high": "100 Mbit/s"}
    probe = Probe(bottleneck="2 Mbit/s, 10 ms", scheme="probe-train", queue=3, knobs=knobs)
    (table,) = run_probes([probe])
    assert table.column("estimate_bps") == [None]
    assert table.column("reported_ns") != [None]
    assert table.column("drops")[0] > 0


def test_abest_ends_with_the_bandwidth_delay_product_of_an_idle_path() -> None:
    knobs = {"chirp_estimator": "first-rise", "initial_window": "3"}
    probe = Probe(bottleneck="50 Mbit/s, 50 ms", scheme="abest", segments=400, knobs=knobs)
    (table,) = run_probes([probe])
    assert table.column("measure")[:2] == ["capacity", "available"]
    assert table.column("segments")[0] == 4
    # 50 Mbit/s x 100 ms and a few packets hold 417 segments and a few.
    assert all(400 < ssthresh < 430 for ssthresh in table.column("ssthresh"))
    assert set(table.column("drops")) == {0}


@pytest.mark.parametrize(
    ("scheme", "rows", "knobs"),
    [
        ("wbest", [("capacity", 60), ("available", 30)], {}),
        ("probe-gap", [("capacity", 4), ("available", 200)], {"probe_gap_knee": "1 us"}),
    ],
)
def test_tools_measure_the_capacity_first(
    scheme: str, rows: list[tuple[str, int]], knobs: dict[str, str]
) -> None:
    probe = Probe(
        bottleneck="20 Mbit/s, 15 ms",
        scheme=scheme,
        segments=300,
        profile="rfc",
        knobs=knobs,
        share=0.4,
        irregular=True,
        runs=list(range(20)),
    )
    (table,) = run_probes([probe])
    both = zip(table.column("measure"), table.column("segments"), strict=True)
    assert list(both) == rows * 20
    ratios = [
        told / 12e6
        for told, measure in zip(table.column("estimate_bps"), table.column("measure"), strict=True)
        if measure == "available"
    ]
    assert abs(sum(ratios) / 20 - 1) < 0.2, ratios


def test_a_known_capacity_takes_the_place_of_the_pairs() -> None:
    sets: dict[str, Any] = {"bottleneck": "20 Mbit/s, 15 ms", "scheme": "probe-gap"}
    sets |= {"segments": 300, "profile": "rfc"}
    (found,) = run_probes([Probe(**sets)])
    (told,) = run_probes([Probe(**sets, knobs={"probe_gap_capacity": "5 Mbit/s"})])
    # The probes are a twentieth of the capacity, and as many meet another one of them.
    assert found.column("estimate_bps")[1] == pytest.approx(0.95 * 20e6, rel=0.02)
    share = found.column("estimate_bps")[1] / found.column("estimate_bps")[0]
    assert told.column("estimate_bps")[1] == pytest.approx(share * 5e6, rel=1e-4)


def test_early_marks_lower_an_estimate() -> None:
    knobs = {
        "probe_segments": "16",
        "probe_low": "2 Mbit/s",
        "probe_high": "20 Mbit/s",
        "chirp_estimator": "nf-tcp",
        "ecn": "on",
    }
    sets: dict[str, Any] = {"bottleneck": "10 Mbit/s, 15 ms", "scheme": "probe-train"}
    sets |= {"knobs": knobs, "profile": "linux"}
    (plain, marked) = (run_probes([Probe(**sets, mark_after=at)])[0] for at in (None, "1 us"))
    low, high = marked.column("estimate_bps")[0], plain.column("estimate_bps")[0]
    # The first wait is that of the first gap above 10 Mbit/s, whose rate the plain chirp names.
    assert low < 10e6 < high < 12e6


def test_a_share_that_leaves_nothing_is_refused() -> None:
    probe = Probe(bottleneck="6 Mbit/s, 50 ms", scheme="abest", share=1.0)
    with pytest.raises(midflight.MidflightError, match=r"0 to 0\.95"):
        run_probes([probe])


def test_figures_are_drawn_with_their_data(tmp_path: Path) -> None:
    few = []
    for axis in (*estimation.AXES, *estimation.BESIDE):
        paths = [(name, replace(path, runs=2)) for name, path in axis.paths[:2]]
        few.append(replace(axis, paths=paths))
    runs = Runs()
    runs.make(job for axis in few for job in axis.jobs())
    for axis in few:
        drawing = axis.draw(runs)
        assert len(drawing.rows) == 2 * len(axis.rules)
        assert all(row[-1] == 2 for row in drawing.rows)
    files = drawing.write(tmp_path / "drawn")
    assert {file.suffix for file in files} == {".svg", ".png", ".csv"}
