"""The tables of a sweep: samples, comparisons that are too many to list, and --by."""

from __future__ import annotations

from pathlib import Path

import pytest

from midflight.cli import main
from midflight.sweep_results import is_sample

DRIVE = """
end = "20 s"
links.cell = { trace = "drive.csv", delay = "20 ms" }
flows.download = { size = "200 kB" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    rows = "\n".join(f"{one},{2 + one % 7}" for one in range(30))
    (tmp_path / "drive.csv").write_text(f"time_s,rate_mbps\n{rows}\n")
    file = tmp_path / "drive.toml"
    file.write_text(DRIVE)
    return file


def test_what_is_a_sample() -> None:
    assert all(map(is_sample, ("seed", "handoffs.0.at", "links.a.trace.offset")))
    assert is_sample("links.a.trace.seed")
    assert not any(map(is_sample, ("handoffs.0.gap", "links.a.trace.scale", "links.a.rate")))


def test_starts_in_a_recording_are_samples(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scheme = ["--axis", "flows.download.scheme=sack,bbr-linux"]
    offset = ["--axis", "links.cell.trace.offset=0s:9s:1s", "--compare", "flows.download.scheme"]
    out = scenario.parent / "out"
    assert main(["sweep", str(scenario), *scheme, *offset, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    (row,) = (one for one in said.splitlines() if one.split()[:2] == ["download", "sack"])
    assert row.split()[2] == "10"
    assert "Intervals are over the values of\nlinks.cell.trace.offset" in said


def test_every_value_of_a_long_comparison_is_listed(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ["--axis", "flows.download.scheme=sack,freeze,enhanced"]
    axes += ["--axis", "links.cell.queue=" + ",".join(f"{one} packets" for one in range(20, 60))]
    out, page = scenario.parent / "out", scenario.parent / "a.html"
    words = ["sweep", str(scenario), *axes, "--compare", "flows.download.scheme"]
    assert main([*words, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    table = said.split("Against sack")[1].splitlines()
    listed = [one.split()[3] for one in table if one.startswith("download")]
    assert listed == ["freeze"] * 30 + ["enhanced"] * 30
    assert "... and 20 more lines in comparison.csv" in said
    # The advice is a command that works.
    assert "--by flows.download.scheme takes the values of links.cell.queue as pairs" in " ".join(
        said.split()
    )
    assert main(["report", str(out), "--by", "flows.download.scheme", "--out", str(page)]) == 0
    assert "more lines" not in page.read_text()
    assert main(["report", str(out), "--out", str(page)]) == 0
    assert "... and 20 more lines in comparison.csv" in page.read_text()
    capsys.readouterr()
    assert main(["report", str(out), "--by", "queue", "--out", str(page)]) != 0
    assert '--by "queue" is no axis; there are' in capsys.readouterr().err
