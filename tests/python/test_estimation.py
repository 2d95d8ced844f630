"""Estimates of a path against the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

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
    for sent, told in zip(table.column("sent_ns"), table.column("told_ns"), strict=True):
        assert 108e6 < told - sent < 108.2e6


def test_a_chirp_that_loses_a_segment_has_no_estimate() -> None:
    knobs = {"probe_segments": "20", "probe_low": "1 Mbit/s", "probe_high": "100 Mbit/s"}
    probe = Probe(bottleneck="2 Mbit/s, 10 ms", scheme="probe-train", queue=3, knobs=knobs)
    (table,) = run_probes([probe])
    assert table.column("estimate_bps") == [None]
    assert table.column("told_ns") != [None]
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


def test_a_share_that_leaves_nothing_is_refused() -> None:
    probe = Probe(bottleneck="6 Mbit/s, 50 ms", scheme="abest", share=1.0)
    with pytest.raises(midflight.MidflightError, match=r"0 to 0\.95"):
        run_probes([probe])


def test_figures_are_drawn_with_their_data(tmp_path: Path) -> None:
    few = []
    for axis in estimation.AXES:
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
