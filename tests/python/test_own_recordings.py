"""Recordings as strangers have them: from the file to `trace check`, a run and a report."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from midflight import Flow, Link, MidflightError, Scenario
from midflight._core import read_recording
from midflight.cli import main
from midflight.recordings import outages, value_cells

BEGIN = datetime(2026, 3, 14, 9, 12, 3)
TIMES = [BEGIN + timedelta(seconds=k) for k in range(20)]
#: Mbit/s, with an outage of three seconds.
RATES = [0 if 8 <= k < 11 else 8 + k % 5 for k in range(20)]
EACH = [*zip(TIMES, RATES, strict=True)]


def table(head: str, row: Callable[[datetime, int], str], end: str = "\n") -> str:
    """The text of a table with these rows."""
    return end.join([head, *(row(*one) for one in EACH), ""])


FILES: dict[str, str | bytes] = {
    "g-net-track.csv": table(
        "Timestamp;Longitude;Operatorname;CellID;DL_bitrate;UL_bitrate;PINGAVG",
        lambda at, rate: f"{at:%Y.%m.%d_%H.%M.%S};8,41;Telekom;7;{rate}000,0;900;40,5",
    ),
    "zone.csv": table(
        "timestamp,bandwidth_mbps", lambda at, rate: f"{at.isoformat()}.250+01:00,{rate}"
    ),
    "ms.csv": table(
        "ts,capacity_kbps,loss", lambda at, rate: f"{at.timestamp() * 1000:.0f},{rate}000,0.5%"
    ),
    "excel.csv": "\ufeff"
    + table(
        "sep=;\r\nDatum;Uhrzeit;Download (Mbit/s);Ping (ms)",
        lambda at, rate: f"{at:%d.%m.%Y};{at:%H:%M:%S};{rate},0;45",
        "\r\n",
    )
    + ";;;\r\n;;;\r\n",
    "us.csv": table("Date,Time,DL Mbps", lambda at, rate: f"{at:%m/%d/%Y},{at:%I:%M:%S %p},{rate}"),
    "tabs.tsv": table(
        "Time [s]\tDL Throughput [Mbps]\tLatency [ms]\tPacket Loss [%]",
        lambda at, rate: f"{(at - BEGIN).seconds}\t{rate}\t20\t1.5",
    ),
    "packed.csv.gz": gzip.compress(
        table("date,rate_mbps", lambda at, rate: f"{at},{rate}").encode()
    ),
    "index.csv": table(",rate_mbps,Operator", lambda at, rate: f"{at},{rate},n/a"),
    "spaces.txt": table("time_s rate_mbps", lambda at, rate: f"{(at - BEGIN).seconds} {rate}"),
    "newest.csv": "time,rate_mbps\n"
    + "".join(f"{k},{rate}\n" for k, rate in reversed([*enumerate(RATES)])),
    "pensieve.log": "".join(f"{k}.0 {rate}\n" for k, rate in enumerate(RATES)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_stranger_is_checked_run_and_reported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an option for its columns; the rates are those of the file, at their times."""
    content = FILES[name]
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    times, rates = read_recording(str(file))["down"]["rate_bps"]
    changes = [(k, rate) for k, rate in enumerate(RATES) if not k or rate != RATES[k - 1]]
    found = [(at / 1e9, bps / 1e6) for at, bps in zip(times, rates, strict=True)]
    steps = [one for k, one in enumerate(found) if not k or one[1] != found[k - 1][1]]
    assert steps == [(at, pytest.approx(rate)) for at, rate in changes]
    assert main(["trace", "check", str(file)]) == 0
    assert "outages: 1, 3 s in all" in capsys.readouterr().out
    sets = ["--set", f"links.lte.trace={file}", "--set", "end=20 s"]
    assert main(["run", "drive-test", *sets]) == 0
    page = tmp_path / "report.html"
    assert main(["report", "drive-test", *sets, "--out", str(page)]) == 0
    text = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page.read_text()))
    assert "lte had no rate from 8 s to 11 s" in text.replace("\u00a0", " ")
    assert "Traceback" not in capsys.readouterr().err


def test_rates_that_are_probably_of_another_unit_are_noted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By each command, in one note for all links that follow the file."""
    file = tmp_path / "drive.csv"
    file.write_text("time_s,dl_mbps\n" + "".join(f"{k},{5000 + 100 * k}\n" for k in range(30)))
    said = "half of its rates of the downlink are 6.5 Gbit/s or more"
    remedy = '--columns rate="dl_mbps kbit/s"'
    assert main(["trace", "check", str(file)]) == 0
    printed = capsys.readouterr().out
    assert said in printed
    assert remedy in printed
    assert main(["trace", "check", str(file), "--columns", "rate=dl_mbps kbit/s"]) == 0
    assert "half of its rates" not in capsys.readouterr().out
    sets = [
        *("--set", f"links.lte.trace={file}", "--set", f"links.wifi.trace={file}"),
        *("--set", "end=1 s", "--set", "handoffs.0.at=0.2s", "--set", "handoffs.0.gap=0.1s"),
    ]
    assert main(["run", "wifi-to-lte", *sets]) == 0
    error = capsys.readouterr().err
    assert error.count(said) == 1
    assert "note: links.wifi.trace, links.lte.trace: half" in error
    slow = tmp_path / "slow.csv"
    slow.write_text("time_s,rate_bps\n0,20\n1,42\n")
    assert main(["trace", "check", str(slow)]) == 0
    assert 'columns.rate = "rate_bps Mbit/s"' in capsys.readouterr().out


def test_the_length_of_a_recording_is_noted_where_nobody_chose_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{k},8\n" for k in range(301))
    (tmp_path / "drive.csv").write_text(f"time_s,rate_mbps\n{rows}")
    scenario = tmp_path / "drive.toml"
    links = '[links.cell]\ntrace = "drive.csv"\ndelay = "20 ms"\n[flows.it]\nsize = "1 MB"\n'

    def noted(end: str, *words: str, file: str = str(scenario)) -> list[str]:
        scenario.write_text(f"{end}\n{links}")
        assert main(["run", file, *words]) == 0
        lines = capsys.readouterr().err.splitlines()
        return [one for one in lines if "recording lasts" in one or "trace ends" in one]

    assert not noted('end = "20 s"')
    assert "the recording lasts 301 s, and the run at most 60 s" in "".join(noted(""))
    # A step more or less is not said.
    assert not noted('end = "302 s"')
    assert "the trace ends at 301 s" in "".join(noted('end = "303 s"'))
    other = ["--set", f"links.cell.trace={tmp_path / 'drive.csv'}"]
    (said,) = noted('end = "20 s"', *other)
    assert "the recording lasts 301 s, and the run at most 20 s" in said
    assert not noted('end = "20 s"', *other, "--set", "end=30 s")
    assert not noted('end = "300 s"', *other)


def test_tables_of_pandas_are_taken_as_they_are() -> None:
    """Dates and times of day in two columns, missing values of all kinds, names of operators."""
    pandas = pytest.importorskip("pandas")
    rates: list[Any] = [8, None, 4, 8]
    plain = {"time_s": [0, 1, 2, 3], "rate_mbps": rates}
    times = [str(one) for one in TIMES[:4]]
    days, clocks = ([one.split()[place] for one in times] for place in (0, 1))
    nullable = pandas.array(rates, dtype="Int64")
    unix_ms = [1709290000000 + 1000 * k for k in range(4)]
    elapsed = pandas.to_timedelta(range(4), unit="s")
    digests = set()
    for trace in (
        plain,
        pandas.DataFrame({"date": days, "Time": clocks, "rate_mbps": rates, "Operator": "A"}),
        pandas.DataFrame({"Date": pandas.to_datetime(times), "rate_mbps": nullable}),
        {"date": times, "rate_mbps": [8, "n/a", "4", 8]},
        {"timestamp": unix_ms, "rate_mbps": [8, "-", 4, 8]},
        pandas.DataFrame({"elapsed": elapsed, "rate_mbps": rates}),
    ):
        link = Link(delay="20 ms", trace=trace)
        scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="4 s")
        with pytest.warns(UserWarning, match='1 of 4 rows has no value in "rate_mbps"'):
            digests |= {*scenario.run().digests}
    assert len(digests) == 1
    for values, why in (
        (
            {"time_s": [0, 1], "rate_mbps": [1, "fast"]},
            "column \"rate_mbps\" of a trace has 'fast'",
        ),
        ({"time_s": [0, 1], "DL rate Mbit/s": ["a", "b"]}, "of a trace has 'a'"),
        ({"time_s": [0, 1], "rate_mbps": [1, -1]}, "where there is no value"),
        ({"time_s": [0, 1], "DL": [1, 1]}, 'columns.rate = "DL Mbit/s"'),
    ):
        with pytest.raises(MidflightError, match=why):
            Scenario(
                links={"cell": Link(delay="20 ms", trace=values)}, flows={"download": Flow()}
            ).plan()


def test_the_beginning_of_several_presets_leads_to_them() -> None:
    """Not to one that differs in a letter."""
    near = r'no preset "5G" \(did you mean "5g-nsa", "5g-nsa-mmwave" or "5g-sa"\?\)'
    with pytest.raises(MidflightError, match=near):
        Scenario(links={"cell": Link(preset="5G")}, flows={"download": Flow()}).plan()


def test_a_recording_given_as_a_scenario_leads_to_a_command_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drive.csv"
    file.write_text("time_s,rate_mbps\n0,8\n1,4\n2,8\n")
    assert main(["run", str(file)]) == 2
    (command,) = re.findall(r"midflight (run .*) runs a download", capsys.readouterr().err)
    assert main([*command.split(), "--set", "end=2 s"]) == 0
    assert "download" in capsys.readouterr().out


def test_linear_rates_are_zero_between_zeros(tmp_path: Path) -> None:
    file = tmp_path / "fade.csv"
    file.write_text("time_s,rate_mbps\n0,8\n10,0\n14,0\n20,4\n")
    linear = read_recording(str(file), part={"interpolation": "linear"})
    assert outages(linear) == [(10_000_000_000, 14_000_000_000)]
    # 40, 0, 12 and 24 Mbit in 26 s: the last row is as long as the one before it.
    assert float(value_cells(linear)[1][3]) == pytest.approx(76 / 26, abs=1e-3)
    held = read_recording(str(file))
    assert outages(held) == [(10_000_000_000, 20_000_000_000)]


def test_columns_with_the_unit_of_a_rate_are_named(tmp_path: Path) -> None:
    file = tmp_path / "drive.csv"
    file.write_text("Elapsed (s),RSRP dBm,PHY DL [Mbps],PHY UL [Mbps]\n0,-98,35,7\n1,-90,30,6\n")
    with pytest.raises(MidflightError) as found:
        read_recording(str(file))
    assert '"PHY DL [Mbps]", "PHY UL [Mbps]" have the unit of a rate' in str(found.value)
    assert '--columns rate="PHY DL [Mbps]"' in str(found.value)
    named = read_recording(str(file), columns={"rate": "PHY DL [Mbps]"})
    assert named["down"]["rate_bps"][1] == [35e6, 30e6]


def test_holes_that_nothing_is_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "drive.csv"
    file.write_text("time_s,rate_mbps\n" + "".join(f"{t},8\n" for t in range(20)))
    found = read_recording(str(file), part={"holes": "outage"})
    assert any('holes = "outage" changes nothing' in one for one in found["remarks"])


def test_a_time_of_day_without_its_date_is_refused() -> None:
    trace = {"date": ["2026-03-14", ""], "time": ["07:00:00", "07:00:01"], "rate_mbps": [1, 2]}
    links = {"cell": Link(delay="20 ms", trace=trace)}
    with pytest.raises(MidflightError, match='row 1: NaN in column "time" is not a time'):
        Scenario(links=links, flows={"a": Flow()}, end="1 s").plan()
