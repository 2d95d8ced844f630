"""`midflight flow`, run as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import midflight
from midflight.cli import main

RADIO = ["--radio", "1 Mbit/s, 50 ms", "--loss", "uniform 1%", "--reorder", "linkrtx 2% 100ms"]
HANDOFF = ["--then", "2 Mbit/s, 20 ms", "--at", "6s", "--pause", "2s"]
SHORT = ["--end", "12s", "--runs", "3", "--profile", "ns2"]
COLUMNS = (
    "scheme,run,interval,from_ns,until_ns,acked,sent,rexmits,timeouts,"
    "spurious_timeouts,detected_timeouts,fast_rexmits,false_fast_rexmits,undone_fast_rexmits,"
    "drops_queue,drops_wired,drops_radio,reordered,"
    "congestion_as_congestion,congestion_as_wireless,congestion_as_reordering,"
    "congestion_unanswered,"
    "wireless_as_congestion,wireless_as_wireless,wireless_as_reordering,wireless_unanswered,"
    "reordering_as_congestion,reordering_as_wireless,reordering_as_reordering,"
    "reordering_unanswered,wired_offered,wired_dropped,throughput_bps,digest"
)


def flow(*more: str) -> list[str]:
    """The arguments of a short run; options of `more` replace those of the same name."""
    usual = [*RADIO, *SHORT]
    pairs = zip(usual[::2], usual[1::2], strict=True)
    kept = [word for pair in pairs if pair[0] not in more for word in pair]
    return ["flow", *kept, *more]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--scheme", "sack", "--scheme", "dcr-frto-ld", "--cross", "2", "--overhead", "400us"]
    assert main(flow(*HANDOFF, *args, "--set", "set.min_rto=1 s")) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    heading = " ".join(lines[:3])
    for words in (
        "radio 1 Mbit/s, 50 ms; loss uniform 1%; reorder linkrtx 2% 100ms;",
        "then 2 Mbit/s, 20 ms; at 6s; pause 2s;",
        "cross 2; overhead 400us;",
        "runs 3; seed 1; profile ns2; min_rto 1 s",
    ):
        assert words in heading
    head = "scheme from until throughput +- percent timeouts spurious detected fast false queue"
    place = next(n for n, line in enumerate(lines) if line.startswith("scheme"))
    assert lines[place].split() == [*head.split(), "radio"]
    number = r"\d+\.\d{3}"
    spans = ("0.000 +6.000", "6.000 +8.000", "8.000 +12.000")
    starts = [f"{one} +{span}" for one in ("sack", "dcr-frto-ld") for span in spans]
    starts = [
        one if place % 3 == 0 else " +" + one.split(" +", 1)[1] for place, one in enumerate(starts)
    ]
    for line, start in zip(lines[place + 1 : place + 7], starts, strict=True):
        percent = "-" if "6.000 +8" in start else r"\d+(\.\d\d)?"
        pattern = rf"{start} +{number} +{number} +{percent}( +\d+(\.\d\d)?){{7}}"
        assert re.fullmatch(pattern, line), line
    truths = r"scheme +cause +congestion +wireless +reordering +unanswered\n"
    for scheme in ("sack", "dcr-frto-ld"):
        truths += rf"{scheme} +congestion( +\d+){{4}}\n +wireless( +\d+){{4}}\n"
        truths += r" +reordering( +\d+){4}\n"
    assert re.search(truths, captured.out)
    assert captured.err == ""


def test_a_notice_reaches_the_sender_that_heeds_it(capsys: pytest.CaptureFixture[str]) -> None:
    def throughputs(*more: str) -> dict[str, list[str]]:
        schemes = ["--scheme", "sack", "--scheme", "enhanced"]
        assert main(flow(*HANDOFF, *schemes, "--csv", "-", *more)) == 0
        captured = capsys.readouterr()
        assert ("no-notice" in captured.err) == ("--no-notice" in more)
        assert ("notice-delay 300ms" in captured.err) == ("300ms" in more)
        found: dict[str, list[str]] = {"sack": [], "enhanced": []}
        for row in rows(captured.out):
            found[row["scheme"]].append(row["throughput_bps"])
        return found

    told, untold = throughputs(), throughputs("--no-notice")
    late = throughputs("--notice-delay", "300ms")
    assert untold["enhanced"] == untold["sack"] == told["sack"]
    assert told["enhanced"] not in (untold["enhanced"], late["enhanced"])


def test_throughput_is_that_of_the_link(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--radio", "1 Mbit/s, 20 ms", "--then", "2 Mbit/s, 20 ms", "--at", "10s"]
    assert main(["flow", *args, "--marks", "5s,10s,15s", "--end", "20s", "--json"]) == 0
    intervals = json.loads(capsys.readouterr().out)["schemes"]
    spans = [(one["from_ns"] / 1e9, one["until_ns"] / 1e9) for one in intervals]
    assert spans == [(0, 5), (5, 10), (10, 15), (15, 20)]
    for interval, rate in ((intervals[1], 1_000_000), (intervals[3], 2_000_000)):
        throughput = interval["throughput_bps"]
        assert 0.95 * rate < throughput <= 1.01 * rate
        assert interval["percent"] == pytest.approx(100 * throughput / rate)


def test_an_interval_over_a_handoff_is_measured_by_both_links(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(flow(*HANDOFF, "--marks", "12s", "--json")) == 0
    (interval,) = json.loads(capsys.readouterr().out)["schemes"]
    possible = (6 * 1e6 + 0 + 4 * 2e6) / 12
    mean = interval["throughput_bps"]
    assert interval["percent"] == pytest.approx(100 * mean / possible)


def test_json_holds_request_summary_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(flow(*HANDOFF, "--scheme", "sack", "--scheme", "dcr-ld", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["manifest"]["model"] == midflight.MODEL_VERSION
    keywords = found["manifest"]["question"]["keywords"]
    assert keywords["radio"] == {
        "link": [1_000_000, 50_000_000],
        "queue": 50,
        "loss": "uniform 1%",
        "reorder": "linkrtx 2% 100ms",
    }
    assert keywords["then"]["loss"] is None
    assert keywords["marks_ns"] == [6_000_000_000, 8_000_000_000, 12_000_000_000]
    assert [one["scheme"] for one in found["schemes"]] == ["sack"] * 3 + ["dcr-ld"] * 3
    assert len(found["runs"]) == 2 * 3 * 3
    assert list(found["runs"][0]) == COLUMNS.split(",")
    for place, one in enumerate(found["schemes"]):
        mine = [run for run in found["runs"] if run["scheme"] == one["scheme"]]
        of_interval = [run for run in mine if run["interval"] == place % 3]
        assert (one["percent"] is None) == (place % 3 == 1)
        mean = sum(run["drops_radio"] for run in of_interval) / 3
        assert one["drops_radio"] == pytest.approx(mean)
    assert len(found["suspected"]) == 2 * 3
    for one in found["suspected"]:
        mine = [run for run in found["runs"] if run["scheme"] == one["scheme"]]
        for taken in ("as_congestion", "as_wireless", "as_reordering", "unanswered"):
            expected = sum(run[f"{one['cause']}_{taken}"] for run in mine)
            assert one[taken.removeprefix("as_")] == expected


def test_one_run_has_no_confidence_interval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(flow("--runs", "1", "--json")) == 0
    (one,) = json.loads(capsys.readouterr().out)["schemes"]
    assert one["half_width_bps"] is None
    assert main(flow("--runs", "1")) == 0
    out = capsys.readouterr().out
    assert "runs 1; seed 1" in out
    assert re.search(r"^sack +0\.000 +12\.000 +\d+\.\d{3} +- +\d", out, re.M)


def test_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.csv"
    schemes = ["--scheme", "sack", "--scheme", "dcr+frto"]
    assert main(flow(*schemes, "--marks", "5s", "--csv", str(file))) == 0
    assert "throughput" in capsys.readouterr().out.lower()
    text = file.read_text()
    assert text.splitlines()[0] == COLUMNS
    assert "\r" not in text
    runs = rows(text)
    assert [one["scheme"] for one in runs] == ["sack"] * 6 + ["dcr+frto"] * 6
    assert [(one["run"], one["from_ns"], one["until_ns"]) for one in runs[:3]] == [
        ("0", "0", "5000000000"),
        ("0", "5000000000", "12000000000"),
        ("1", "0", "5000000000"),
    ]
    for one in runs:
        assert re.fullmatch(r"[0-9a-f]{32}", one["digest"])
        seconds = (int(one["until_ns"]) - int(one["from_ns"])) / 1e9
        expected = int(one["acked"]) * 1500 * 8 / seconds
        assert float(one["throughput_bps"]) == pytest.approx(expected)
    assert main(flow(*schemes, "--marks", "5s", "--csv", "-", "--threads", "1")) == 0
    captured = capsys.readouterr()
    assert captured.out == text
    assert "Suspected losses" in captured.err


def test_schemes_meet_the_same_radio_and_seeds_differ(
    capsys: pytest.CaptureFixture[str],
) -> None:
    digests = []
    for args in (["--scheme", "sack", "--scheme", "a1"], ["--seed", "2"]):
        assert main(flow(*args, "--csv", "-")) == 0
        digests.append([one["digest"] for one in rows(capsys.readouterr().out)])
    # There are no notices here, so a1 is the plain sender.
    assert digests[0][:3] == digests[0][3:]
    assert len({*digests[0], *digests[1]}) == 6


def test_segments_have_the_size_that_was_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(flow("--set", "set.segment_bytes=500", "--csv", "-")) == 0
    for one in rows(capsys.readouterr().out):
        expected = int(one["acked"]) * 500 * 8 / 12
        assert float(one["throughput_bps"]) == pytest.approx(expected)


def test_trace_has_the_events_of_run_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, runs = tmp_path / "events", tmp_path / "runs.csv"
    args = flow("--scheme", "dcr-frto-ld", "--trace", str(folder), "--csv", str(runs))
    assert main(args) == 0
    assert sorted(one.name for one in folder.iterdir()) == ["flow.csv", "manifest.json"]
    assert "Suspected losses" in capsys.readouterr().out
    text = (folder / "flow.csv").read_text()
    assert (
        text.splitlines()[0]
        == "time_ns,event,value,detail,by,link,packet,cause,order,reason,sent_ns,bytes"
    )
    events = rows(text)
    first = rows(runs.read_text())[0]
    assert sum(one["event"] in ("send", "rexmit") for one in events) == int(first["sent"])
    times = [int(one["time_ns"]) for one in events]
    assert times == sorted(times)
    assert times[-1] < 12_000_000_000


def test_what_has_no_effect_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(flow("--cross-delay", "5ms", "--set", "set.dcr_wait=50", "--runs", "1")) == 0
    assert capsys.readouterr().err.splitlines() == [
        "midflight: note: --cross-delay has no effect without cross traffic; it is for --cross",
        "midflight: note: dcr_wait has no effect: no scheme of this run has dcr",
    ]


THEN = ["--then", "2 Mbit/s, 20 ms"]
# The wrong input, and the words that the error must contain: what was read, and what is accepted.
MISTAKES = {
    "no radio link": (["flow", "--end", "1s"], ["--radio"]),
    "a radio link without a delay": (flow("--radio", "1 Mbit/s"), ["--radio", "1 Mbit/s", "ms"]),
    "a rate of zero": (flow("--radio", "0 Mbit/s, 1 ms"), ["--radio", "0 Mbit/s", "1 bit/s"]),
    "an unknown loss model": (flow("--loss", "poisson 1%"), ["--loss", "poisson 1%", "uniform"]),
    "losses above 100 %": (flow("--loss", "uniform 101%"), ["--loss", "101%", "at most 100 %"]),
    "an unknown reordering": (flow("--reorder", "shuffle"), ["--reorder", "shuffle", "swap 5%"]),
    "a queue without a place": (flow("--queue", "0"), ["--queue", '"0"', "1"]),
    "a wired link without a unit": (flow("--wired", "20, 1 ms"), ["--wired", "20", "kbit/s"]),
    "a wired queue in words": (flow("--wired-queue", "few"), ["--wired-queue", '"few"', "1"]),
    "too many cross flows": (flow("--cross", "10001"), ["--cross", '"10001"', "10000"]),
    "a negative delay": (flow("--cross-delay=-1ms"), ["--cross-delay", "-1ms"]),
    "an overhead without a unit": (flow("--overhead", "400"), ["--overhead", "400", "us"]),
    "an unknown scheme": (flow("--scheme", "vegas"), ["vegas", "midflight list schemes"]),
    "an unknown part": (flow("--scheme", "sack+vegas"), ["vegas", "midflight list schemes"]),
    "two responses": (flow("--scheme", "dcr+ncr-careful"), ["dcr and ncr-careful", "one"]),
    "a detector without timestamps": (flow("--scheme", "eifel"), ["eifel", "timestamps"]),
    "an unknown profile": (flow("--profile", "ns3"), ["ns3", "ns2", "rfc"]),
    "an unknown knob": (flow("--set", "set.speed=9"), ["speed"]),
    "a knob without a value": (flow("--set", "set.min_rto"), ["min_rto", "PATH=VALUE"]),
    "no runs": (flow("--runs", "0"), ["--runs", '"0"', "1"]),
    "a negative seed": (flow("--seed=-1"), ["--seed", '"-1"', "0"]),
    "threads in words": (flow("--threads", "all"), ["--threads", '"all"', "0"]),
    "an end without a unit": (flow("--end", "500"), ["--end", "500", "s"]),
    "an end at the start": (flow("--end", "0s"), ["--end", "0 s", "above zero"]),
    "an interval end after the end": (flow("--marks", "5s,13s"), ["--marks", "13 s", "12 s"]),
    "an interval end at the start": (flow("--marks", "0s"), ["--marks", "0 s", "above"]),
    "an interval end without a unit": (flow("--marks", "5"), ["--marks", "5", "s"]),
    "a second link without a time": (flow(*THEN), ["--then", "--at"]),
    "a second link without a delay": (
        flow("--then", "2 Mbit/s", "--at", "1s"),
        ["--then:", "2 Mbit/s", "ms"],
    ),
    "a time without a second link": (flow("--at", "5s"), ["--at", "--then"]),
    "a pause without a second link": (flow("--pause", "5s"), ["--pause", "--then"]),
    "losses of no second link": (
        flow("--then-loss", "uniform 1%"),
        ["--then-loss", "--then"],
    ),
    "a queue of no second link": (flow("--then-queue", "9"), ["--then-queue", "--then"]),
    "wrong losses of the second link": (
        flow(*THEN, "--at", "1s", "--then-loss", "all"),
        ["--then-loss:", '"all"', "uniform"],
    ),
    "wrong reordering of the second link": (
        flow(*THEN, "--at", "1s", "--then-reorder", "all"),
        ["--then-reorder:", '"all"', "swap"],
    ),
    "a second queue without a place": (
        flow(*THEN, "--at", "1s", "--then-queue", "0"),
        ["--then-queue", '"0"', "1"],
    ),
    "a handoff after the end": (
        flow(*THEN, "--at", "11s", "--pause", "1s"),
        ["11 s", "12 s", "shorter", "later end"],
    ),
    "a trace of two schemes": (
        flow("--scheme", "sack", "--scheme", "dcr", "--trace", "x"),
        ["--trace", "sack, dcr", "one --scheme"],
    ),
    "two ways of output": (flow("--csv", "runs.csv", "--json"), ["--csv", "--json"]),
    "a trace as a file": (flow("--trace", "a.csv"), ["--trace", '"a.csv"', "folder"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named_and_leaves_nothing(
    mistake: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    args, words = MISTAKES[mistake]
    assert main(args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("midflight: ")
    for word in words:
        assert word in captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--csv", "--trace"])
def test_unwritable_file(option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "file" / "out"
    place.parent.write_text("a file, not a directory")
    assert main(flow(option, str(place))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cannot write" in captured.err
    assert str(place) in captured.err


def test_interrupt_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    # Each run is short; all would take a minute.
    words = [*flow("--runs", "100000"), "--csv", str(tmp_path / "runs.csv")]
    words = ["60s" if word == "12s" else word for word in words]
    with subprocess.Popen(
        [sys.executable, "-m", "midflight", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A background job of a shell starts with interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        deadline = time.monotonic() + 30
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        said = process.stderr.read()
    assert "Traceback" not in said
    assert said.endswith("midflight: interrupted\n")
    assert list(tmp_path.iterdir()) == []
