"""`midflight roam`, run as a user runs it, and the same from Python."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from pathlib import Path

import pytest

import midflight
from midflight.cli import main

SHORT = ["--end", "30s", "--runs", "3", "--profile", "ns2"]
SCHEMES = [word for name in ("sack", "tr-acks", "freeze", "ehn") for word in ("--scheme", name)]


def roam(*more: str) -> list[str]:
    return ["roam", *SHORT, *more]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    args = [
        "--residents",
        "0,2",
        "--loss",
        "uniform 1%",
        "--gap",
        "500ms",
        "--set",
        "set.min_rto=1s",
    ]
    spoiled = ["--signal-lost", "20%", "--signal-delay", "50ms", "--foresight-error", "-20ms"]
    assert main(roam(*SCHEMES, *args, *spoiled)) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    heading = " ".join(lines[:3])
    assert "residents 0,2; loss uniform 1%; gap 500ms; foresight-error -20ms;" in heading
    assert "runs 3; seed 1; profile ns2; min_rto 1s" in heading
    place = next(n for n, line in enumerate(lines) if line.startswith("scheme"))
    head = "scheme node throughput +- timeouts spurious fast queue radio down"
    assert lines[place].split() == head.split()
    number = r"( +\d+\.\d{3}){2}( +\d+(\.\d\d)?){6}"
    starts = [
        start
        for scheme in ("sack", "tr-acks", "freeze", "ehn")
        for start in (f"{scheme} +mobile", " +2 at station 1")
    ]
    for line, start in zip(lines[place + 1 :], starts, strict=True):
        assert re.fullmatch(rf"{start}{number}", line), line
    assert captured.err == ""


def test_csv_has_a_row_for_each_run_interval_and_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(roam("--scheme", "ehn", "--residents", "1", "--csv", "-")) == 0
    captured = capsys.readouterr()
    found = rows(captured.out)
    assert len(found) == 3 * 6 * 2
    of_mobile = [row for row in found if row["node"] == "0" and row["run"] == "0"]
    assert [row["station"] for row in of_mobile] == ["0", "1"] * 3
    assert [int(row["until_ns"]) / 1e9 for row in of_mobile] == [5, 10, 15, 20, 25, 30]
    for row in found:
        span = (int(row["until_ns"]) - int(row["from_ns"])) / 1e9
        expected = int(row["acked"]) * 12_000 / span
        assert float(row["throughput_bps"]) == pytest.approx(expected)


def test_json_and_python_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(roam("--scheme", "freeze", "--loss", "burst 0.5% 3", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    node = midflight.Roaming(
        scheme="freeze", loss="burst 0.5% 3", end_ns=30_000_000_000, runs=range(3), profile="ns2"
    )
    (table,) = midflight.run_roaming([node])
    assert [run["digest"] for run in found["runs"]] == table.column("digest")
    (mobile,) = found["schemes"]
    mean = sum(table.column("acked")) / 3 * 12_000 / 30
    assert mobile["throughput_bps"] == pytest.approx(mean)
    assert mobile["timeouts"] == pytest.approx(sum(table.column("timeouts")) / 3)


def test_a_trace_shows_marks_windows_and_probes(tmp_path: Path) -> None:
    events = tmp_path / "mobile.csv"
    gap = ["--every", "10s", "--gap", "4s"]
    assert main(roam("--scheme", "ehn", *gap, "--trace", str(tmp_path))) == 0
    marks = [row for row in rows(events.read_text()) if row["detail"].startswith("mark ")]
    assert [(row["event"], row["detail"]) for row in marks] == [
        ("ack", "mark 1"),
        ("ack", "mark 2"),
    ]
    assert main(roam("--scheme", "freeze", *gap, "--trace", str(tmp_path))) == 0
    found = rows(events.read_text())
    closed = [row for row in found if row["detail"] == "zero window"]
    probes = [int(row["time_ns"]) for row in found if row["event"] == "window_probe"]
    assert closed
    assert len(probes) >= 4
    # The first waits for the retransmission timeout, the others twice as long each.
    waits = [b - a for a, b in itertools.pairwise(probes)]
    assert waits[1] == pytest.approx(2 * waits[0], rel=0.01)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--residents", "1,1,1"], "3"),
        (["--residents", "x"], '--residents "x"'),
        (["--signal-lost", "2"], '--signal-lost "2" is not a share from 0% to 100%'),
        (["--foresight-missed", "nan"], '--foresight-missed "nan" is not a share'),
        (["--foresight-error", "soon"], "--foresight-error"),
        (["--every", "100ms"], "a handoff every 100 ms is too frequent"),
        (["--loss", "foo"], "--loss"),
        (["--up-loss", "foo"], "--up-loss"),
        (["--stations", "9"], '--stations "9"'),
        (["--scheme", "ehm"], 'did you mean "ehn"?'),
        (["--trace", "x", "--scheme", "sack", "--scheme", "ehn"], "give one --scheme"),
        (["--csv", "-", "--json"], "exclude each other"),
    ],
)
def test_bad_input(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(roam(*args)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("midflight: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"forged": "new"}, "old, current or unsent"),
        ({"script": [(1, "drop")]}, '"lose" or a delay'),
        ({"wireless": "fast"}, "fast"),
        ({"scheme": "ehm"}, "ehn"),
    ],
)
def test_bad_input_from_python(wrong: dict[str, object], message: str) -> None:
    asked: dict[str, object] = {"scheme": "sack", "end_ns": 10**10, **wrong}
    with pytest.raises(midflight.MidflightError, match=re.escape(message)):
        midflight.run_roaming([midflight.Roaming(**asked)])  # type: ignore[arg-type]
