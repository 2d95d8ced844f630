"""What `midflight trace check` takes and says: the options of a trace, its part, rows that are
missing, and values that are hardly right.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import midflight
from midflight import Flow, Link, MidflightError, Scenario, ScenarioWarning
from midflight._core import read_recording
from midflight.cli import main
from midflight.cli.trace import trace
from midflight.trace_table import TRACE_KEYS

HEAD = "time_s,rate_mbps,delay_ms\n"


def recorded(folder: Path, rows: dict[float, float], name: str = "drive.csv") -> Path:
    file = folder / name
    file.write_text(HEAD + "".join(f"{at},{rate},20\n" for at, rate in rows.items()))
    return file


def checked(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["trace", "check", *map(str, words)]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["trace", "check", *map(str, words)]) == 2
    return capsys.readouterr().err


def test_each_key_of_a_trace_is_an_option() -> None:
    """And each is known to Python; a model and a file are the argument, a hash is no choice."""
    schema = json.loads(midflight.scenario_schema())
    keys = {*schema["$defs"]["TraceTable"]["properties"]}
    assert keys == TRACE_KEYS
    group: Any = get_command(trace)
    options = {name for one in group.commands["check"].params for name in one.opts}
    assert {f"--{key}" for key in keys - {"file", "model", "hash"}} <= options


def test_check_takes_delays_of_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a scenario takes them: for both directions, cut as the recording is."""
    link, delays = tmp_path / "bw.txt", tmp_path / "delay.txt"
    link.write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    delays.write_text("".join(f"{10 if place < 50 else 30}\n" for place in range(100)))
    printed = checked(capsys, link, "--delay", delays)
    assert "down delay, ms" in printed
    assert "up delay, ms" in printed
    means = [line.split()[-4:-2] for line in printed.splitlines() if line.startswith("down delay")]
    assert means[0] == ["20.000", "30.000"]
    words = (link, "--delay", delays, "--from", "0.5s")
    cut = checked(capsys, *words)
    line = next(line for line in cut.splitlines() if line.startswith("down delay"))
    assert line.split()[4:7] == ["30.000", "30.000", "30.000"]
    table = {"file": str(link), "delay": str(delays), "from": "0.5 s"}
    plan = Scenario(links={"a": Link(trace=table)}, flows={"b": Flow(size="10 kB")})
    with pytest.warns(ScenarioWarning):
        ((found, _),) = plan.plan().recordings().values()
    assert found["down"]["delay_s"][1] == [0.03] * 50
    assert '"nowhere.txt" cannot be read' in refused(capsys, link, "--delay", "nowhere.txt")
    with pytest.raises(MidflightError) as raised:
        read_recording(str(link), delay="nowhere.txt")
    assert (raised.value.name, raised.value.accepted) == ("delay", "a file of delays in ms")


def test_check_takes_an_outage_and_an_interpolation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recorded(tmp_path, {0: 8, 2: 0, 4: 8, 6: 8})
    assert "packets are held" in checked(capsys, file)
    assert "packets are lost" in checked(capsys, file, "--outage", "drop")
    assert "expected hold or drop" in refused(capsys, file, "--outage", "lose")
    linear = checked(capsys, file, "--interpolation", "linear", "--from", "1s", "--until", "3s")
    rates = next(line for line in linear.splitlines() if line.startswith("down rate"))
    # Half-way from 8 to 0 at the beginning.
    assert rates.split()[6] == "4.000"
    assert "expected step or linear" in refused(capsys, file, "--interpolation", "cubic")
    link = tmp_path / "link.down"
    link.write_text("1\n2\n3\n")
    assert "has no outages that lose them" in refused(capsys, link, "--outage", "drop")


def test_a_part_beyond_the_recording_says_where_that_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recorded(tmp_path, dict.fromkeys(range(20), 8))
    past = refused(capsys, file, "--from", "700s")
    assert "from 700 s is at or after the end of the recording, which lasts 20 s" in past
    assert "expected a time before 20 s" in past
    past = refused(capsys, file, "--until", "21s")
    assert "until 21 s is after the end of the recording, which lasts 20 s" in past
    assert "from 5 s is not before until 5 s" in refused(
        capsys, file, "--from", "5s", "--until", "5s"
    )


def test_a_few_missing_rows_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line and not as a note; rows that are late are none, and a hole has its own note."""
    seconds = [second for second in range(60) if second not in (20, 33, 34)]
    file = recorded(tmp_path, dict.fromkeys(seconds, 8))
    printed = checked(capsys, file)
    said = "short holes: 2, with 3 missing rows, 3 s in all, the longest 2 s at 33 s"
    assert said in printed.splitlines()
    assert "note" not in printed
    assert "with 1 missing row, 1 s in all, the longest 1 s at 10 s" in checked(
        capsys, file, "--from", "10s", "--until", "30s"
    )
    jitter = {second + 0.4 * (second % 2): 8.0 for second in range(60)}
    assert "short holes" not in checked(capsys, recorded(tmp_path, jitter))
    hole = {second: 8.0 for second in range(60) if not 20 <= second < 30}
    printed = checked(capsys, recorded(tmp_path, hole))
    assert "short holes" not in printed
    assert "it has no rows from 20 s to 30 s" in printed


def test_a_rate_of_no_access_link_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the column, and what reads it in the unit below, which is then as it should be."""
    file = recorded(tmp_path, {second: 30_000 + second for second in range(10)})
    printed = checked(capsys, file)
    assert "its highest rate of the downlink is 30.009 Gbit/s, over 10 Gbit/s" in printed
    assert 'columns.rate = "rate_mbps kbit/s"' in printed
    printed = checked(capsys, file, "--columns", "rate=rate_mbps kbit/s")
    assert "note" not in printed
    assert "30.009" in printed
    link = Link(trace=str(file))
    with pytest.warns(ScenarioWarning, match=r"over 10 Gbit/s: check the unit of \"rate_mbps\""):
        Scenario(links={"a": link}, flows={"b": Flow()}, end="10 s").plan()
    fast = recorded(tmp_path, dict.fromkeys(range(10), 9999), "fast.csv")
    assert "note" not in checked(capsys, fast)
    slow = tmp_path / "slow.csv"
    slow.write_text("time_s,delay_s\n0,20\n1,30\n")
    assert 'columns.delay = "delay_s ms"' in checked(capsys, slow)
    pensieve = tmp_path / "pensieve.txt"
    pensieve.write_text("0 30000\n1 40000\n")
    assert "scale = 0.001 takes its numbers for kbit/s" in checked(capsys, pensieve)


def test_a_short_row_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "drive.csv"
    file.write_text(HEAD + "0,8,20\n1,9\n2,8,20\n")
    said = 'line 3 has 2 cells, and the header 3: "delay_ms" is missing'
    assert said in refused(capsys, file)
    # What no column in use needs may be missing.
    file.write_text("time_s,rate_mbps,comment\n0,8,ok\n1,9\n")
    assert "drive.csv: csv, 2 s" in checked(capsys, file)


def test_what_is_not_csv_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content, said in (
        (b"PK\x03\x04\0\0", "it is a ZIP archive, as spreadsheets are"),
        (b'{"time_s": [0]}', "it begins as JSON does; expected CSV"),
        (b"PAR1\0\0", 'as pandas.read_parquet("OLD").to_csv("NEW") writes it'),
        (b"time_s rate_mbps\n0 1 2\n", 'with ",", ";" or tabs between the cells'),
    ):
        (tmp_path / "drive").write_bytes(content)
        assert said in refused(capsys, tmp_path / "drive")
    assert "it is a folder" in refused(capsys, tmp_path)
    assert 'no format "CSV" (did you mean "csv"?)' in refused(
        capsys, recorded(tmp_path, {0: 1, 1: 2}), "--format", "CSV"
    )


def test_a_trace_without_a_delay_says_so(tmp_path: Path) -> None:
    file = tmp_path / "drive.csv"
    file.write_text("time_s,rate_mbps\n0,8\n1,9\n")
    with pytest.raises(MidflightError, match="the trace has no delay, so that the link needs a"):
        Scenario(links={"a": Link(trace=str(file))}, flows={"b": Flow()}).plan()
    table = {"file": str(file), "from": "700 s"}
    with pytest.raises(MidflightError) as raised:
        Scenario(links={"a": Link(trace=table, delay="1 ms")}, flows={"b": Flow()}).plan()
    assert raised.value.name == "links.a.trace.from"


def test_only_a_near_file_is_suggested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The extension alone makes none near; another extension of the same name is."""
    for name in ("up.csv", "drive.csv", "walk.csv.gz"):
        (tmp_path / name).write_text("")
    for asked, near in (
        ("no.csv", None),
        ("drve.csv", "drive.csv"),
        ("Drive.txt", "drive.csv"),
        ("walk.csv", "walk.csv.gz"),
    ):
        said = refused(capsys, tmp_path / asked)
        assert (f'(did you mean "{near}"?)' in said) == (near is not None)
        assert ("did you mean" in said) == (near is not None)


def test_check_shows_bursts_of_losses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "check", "starlink"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.startswith("down loss, %, the most of each")]
    # A mean of 0.2 % beside a burst of 47 % would be the lowest bar everywhere.
    assert {"▁", "█"} <= set(lines[at + 1])


def test_check_shows_holes_and_what_is_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hole is hatched and not part of the usual distance; a round trip is one line."""
    rows = "\n".join(f"{k},20,{50 + k % 2}" for k in [*range(12), *range(30, 42)])
    file = tmp_path / "drive.csv"
    file.write_text("time_s,rate_mbps,RTT (ms)\n" + rows + "\n")
    words = [str(file), "--columns", "rtt=RTT (ms)"]
    picture = tmp_path / "drive.svg"
    assert main(["trace", "check", *words, "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"(\S+) s$", out.split("outages")[0], re.MULTILINE)[1:4] == ["1", "1", "1"]
    assert 'wired.delay = "0 ms" adds nothing' in out
    drawn = picture.read_text()
    assert drawn.count(">no rows<") == 1
    assert drawn.count(">both directions<") == 1
    assert drawn.count(">up<") == 0
