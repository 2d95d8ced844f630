"""`midflight run --out` writes its tables as the runs come: whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from midflight import MidflightError, scenario
from midflight.cli import main

SMALL = """
end = "20 s"
[links.a]
rate = "10 Mbit/s"
delay = "5 ms"
loss = "uniform 5%"
[links.b]
rate = "10 Mbit/s"
delay = "5 ms"
[flows.one]
size = "2 packets"
[flows.late]
size = "2 packets"
start = "1 s"
[[handoffs]]
at = "0.1 s"
to = "b"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_runs_some_at_a_time_give_the_same_files_and_summary(
    small: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    args = ["run", str(small), "--set", "runs=20", "--out"]
    assert main([*args, str(tmp_path / "whole")]) == 0
    whole = capsys.readouterr()
    asked: list[Any] = []
    run_plans = scenario_core().run_plans

    def noted(*plans: Any, **how: Any) -> Any:
        asked.append(how.get("runs"))
        return run_plans(*plans, **how)

    monkeypatch.setattr(scenario, "ROWS_AT_A_TIME", 18)
    monkeypatch.setattr(scenario, "RUNS_AT_A_TIME", 1)
    monkeypatch.setattr(scenario_core(), "run_plans", noted)
    assert main([*args, str(tmp_path / "some")]) == 0
    # A run has two flows and two phases of each.
    assert asked == [(first, min(first + 3, 20)) for first in range(0, 20, 3)]
    assert capsys.readouterr() == whole
    found, expected = results(tmp_path / "some"), results(tmp_path / "whole")
    assert sorted(found) == sorted(expected)
    for name, content in expected.items():
        if not name.endswith(".parquet"):
            assert found[name] == content, name
    monkeypatch.undo()
    assert main(["verify", str(tmp_path / "some")]) == 0


def scenario_core() -> Any:
    from midflight import _core

    return _core


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MidflightError("no more")])
def test_nothing_is_half_written_when_it_ends_early(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    folder = tmp_path / "out"
    args = ["run", str(small), "--set", "runs=20", "--out", str(folder), "--trace", str(folder)]
    assert main(args) == 0
    before = results(folder)
    run_pieces = scenario.run_pieces

    def some(*plan: Any, **how: Any) -> Iterator[Any]:
        for number, piece in enumerate(run_pieces(*plan, **how)):
            if number == 2:
                assert len(list(folder.glob(".flows.csv.*.tmp"))) == 1
                raise error
            yield piece

    monkeypatch.setattr(scenario, "ROWS_AT_A_TIME", 18)
    monkeypatch.setattr(scenario, "RUNS_AT_A_TIME", 1)
    monkeypatch.setattr(scenario, "run_pieces", some)
    assert main([*args, "--set", "seed=7"]) != 0
    assert results(folder) == before
    monkeypatch.undo()
    assert main([*args, "--set", "seed=7"]) == 0
    assert results(folder) != before


def test_runs_that_are_all_equal_are_said_to_be(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "all 3 runs are equal: nothing is random"
    run = ["run", str(small), "--set", "runs=3"]
    assert main(run) == 0
    assert note not in capsys.readouterr().err
    small.write_text(SMALL.replace('loss = "uniform 5%"', ""))
    assert main(run) == 0
    assert note in capsys.readouterr().err
    for more in (
        "links.b.up={reorder='swap 5%'}",
        "links.b.cross=poisson 1 Mbit/s",
        "handoffs.0.notice={lost='50%'}",
        "handoffs.0.signal={missed='50%'}",
    ):
        assert main([*run, "--set", more]) == 0
        assert note not in capsys.readouterr().err, more
    assert main(run[:2]) == 0
    assert "equal" not in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_memory_does_not_grow_with_the_number_of_runs(small: Path, tmp_path: Path) -> None:
    program = """
import resource, sys
from midflight.cli import main
status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""

    def peak_mb(runs: int) -> float:
        args = ["run", str(small), "--set", f"runs={runs}", "--out", str(tmp_path / "out")]
        done = subprocess.run(
            [sys.executable, "-c", program, *args], capture_output=True, text=True, check=True
        )
        unit = 1e6 if sys.platform == "darwin" else 1e3
        return int(done.stderr.split()[-1]) / unit

    assert peak_mb(40_000) < peak_mb(8_000) + 25
