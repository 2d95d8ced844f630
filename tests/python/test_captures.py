"""`--pcap`: what tshark makes of the captures, and that it agrees with the simulator."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import midflight
from midflight import Scenario
from midflight.cli import main

HERE_ONLY_WITH_TSHARK = pytest.mark.skipif(
    shutil.which("tshark") is None and "CI" not in os.environ, reason="needs tshark"
)
LINKS = {
    "steep": ("6400 kbit/s, 9 ms", "200 kbit/s, 300 ms"),
    "flat": ("200 kbit/s, 300 ms", "6400 kbit/s, 9 ms"),
}


def tshark(file: Path, *fields: str) -> list[list[str]]:
    """Return fields of each packet; TCP and IP checksums are checked."""
    command = ["tshark", "-r", str(file), "-T", "fields", "-E", "separator=;"]
    for name in ("tcp", "ip"):
        command += ["-o", f"{name}.check_checksum:TRUE"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split(";") for line in done.stdout.splitlines()]


def nanoseconds(text: str) -> int:
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction)


def check_sound(folder: Path, files: Mapping[str, bytes]) -> None:
    for place, data in files.items():
        file = folder / f"{place}.pcapng"
        file.write_bytes(data)
        packets = tshark(file, "_ws.malformed", "tcp.checksum.status", "ip.checksum.status")
        assert packets
        assert all(packet == ["", "1", "1"] for packet in packets), place


def check_analysis(file: Path, trace: midflight.Table) -> tuple[int, int]:
    """Compare tshark's retransmissions and duplicate ACKs with the simulator's."""
    flags = [
        f"tcp.analysis.{name}"
        for name in (
            "retransmission",
            "fast_retransmission",
            "spurious_retransmission",
            "out_of_order",  # so it calls a retransmission that comes soon
            "duplicate_ack",
        )
    ]
    packets = tshark(file, "frame.time_epoch", *flags)
    again = [nanoseconds(time) for time, *seen, _ in packets if any(seen)]
    duplicates = [nanoseconds(time) for time, *_, duplicate in packets if duplicate]
    expected: dict[str, list[int]] = {"rexmit": [], "duplicate": []}
    last, window, outstanding = -1.0, "", -1.0
    columns = (trace.column(name) for name in ("time_ns", "event", "value", "detail"))
    for time_ns, event, value, detail in zip(*columns, strict=True):
        if event == "rexmit":
            expected["rexmit"].append(time_ns)
        elif event == "send":
            outstanding = max(outstanding, value)
        elif event == "ack":
            # RFC 5681, section 2: no data, no other window, something outstanding.
            closed = detail if detail == "zero window" else ""
            if (value, closed) == (last, window) and outstanding > value:
                expected["duplicate"].append(time_ns)
            last, window = value, closed
    assert sorted(again) == expected["rexmit"]
    assert duplicates == expected["duplicate"]
    return len(again), len(duplicates)


@HERE_ONLY_WITH_TSHARK
@pytest.mark.parametrize("profile", ["ns2", "rfc"])
@pytest.mark.parametrize("scheme", ["sack", "enhanced"])
@pytest.mark.parametrize("kind", ["mbb", "bbm"])
@pytest.mark.parametrize("links", LINKS)
def test_tshark_agrees_on_a_handoff(
    tmp_path: Path, profile: str, scheme: str, kind: str, links: str
) -> None:
    old, new = LINKS[links]
    run = {"old": old, "new": new, "kind": kind, "scheme": scheme, "profile": profile}
    run["at_ns"] = 8_200_000_000
    files = midflight.capture(**run, snaplen=0)
    check_sound(tmp_path, files)
    again, duplicates = check_analysis(tmp_path / "sender.pcapng", midflight.trace(**run))
    assert again > 10
    assert duplicates > 10


@HERE_ONLY_WITH_TSHARK
@pytest.mark.parametrize("scheme", ["sack", "tr-acks", "freeze", "ehn"])
def test_tshark_agrees_on_a_node_that_roams(tmp_path: Path, scheme: str) -> None:
    node = midflight.Roaming(
        scheme=scheme,
        loss="uniform 1%",
        every_ns=5_000_000_000,
        end_ns=30_000_000_000,
        profile="ns2",
    )
    files = midflight.capture_roaming(node, snaplen=0)
    assert set(files) == {"sender", "receiver", "station0", "station1"}
    check_sound(tmp_path, files)
    sender = tmp_path / "sender.pcapng"
    again, duplicates = check_analysis(sender, midflight.trace_roaming(node))
    assert again > 30
    assert duplicates > 200
    marks = [one for one in tshark(sender, "tcp.options.experimental.exid") if one[0]]
    assert marks == ([["0x4d46"]] * 5 if scheme == "ehn" else [])
    closed = [one for one in tshark(sender, "tcp.analysis.zero_window") if one[0]]
    assert bool(closed) == (scheme == "freeze")


@HERE_ONLY_WITH_TSHARK
@pytest.mark.parametrize("profile", ["ns2", "rfc"])
@pytest.mark.parametrize("scheme", ["quick-start", "abest-vho"])
def test_tshark_reads_options_of_ip_and_experiments(
    tmp_path: Path, scheme: str, profile: str
) -> None:
    run = {"old": "6 Mbit/s, 50 ms", "new": "50 Mbit/s, 15 ms", "scheme": scheme}
    run |= {"at_ns": 3_000_000_000, "start_notice": True, "profile": profile, "packets": 500}
    check_sound(tmp_path, midflight.capture(**run, snaplen=0))
    sender = tmp_path / "sender.pcapng"
    check_analysis(sender, midflight.trace(**run))
    fields = ["ip.opt.qs_rate", "ip.opt.qs_func", "tcp.options.qs.ttl_diff"]
    rates = [one for one in tshark(sender, *fields) if any(one)]
    trains = [one for one in tshark(sender, "tcp.options.experimental.exid") if one[0]]
    if scheme == "quick-start":
        # A request, its answer and a report, twice.
        assert [[bool(field) for field in one] for one in rates] == 2 * [
            [True, True, False],
            [False, False, True],
            [True, True, False],
        ]
        assert not trains
    else:
        assert not rates
        assert {one[0] for one in trains} == {"0x4d47", "0x4d48"}


@HERE_ONLY_WITH_TSHARK
def test_tshark_reads_times_and_comments(tmp_path: Path) -> None:
    old, new = LINKS["steep"]
    run = {"old": old, "new": new, "at_ns": 8_200_000_000, "scheme": "enhanced"}
    check_sound(tmp_path, midflight.capture(**run, snaplen=0))
    packets = tshark(tmp_path / "sender.pcapng", "frame.time_epoch", "frame.comment")
    comments = [(nanoseconds(time), comment) for time, comment in packets if comment]
    made = [time for time, comment in comments if "the new link is in use" in comment]
    assert len(made) == 1
    assert 8_200_000_000 <= made[0] < 8_300_000_000
    orders = [comment for _, comment in comments if "a1: set the minimum RTO" in comment]
    assert orders
    assert all("because" in order for order in orders)


def test_captures_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "deep" / "captures"
    args = ["roam", "--end", "7s", "--runs", "1", "--scheme", "ehn"]
    assert main([*args, "--pcap", str(folder)]) == 0
    names = {"sender", "receiver", "station0", "station1"}
    assert {file.stem for file in folder.iterdir()} == names
    assert all(file.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a" for file in folder.iterdir())
    small = sum(file.stat().st_size for file in folder.iterdir())
    assert "captures in" in capsys.readouterr().err
    assert main([*args, "--pcap", str(folder), "--snaplen", "0"]) == 0
    assert sum(file.stat().st_size for file in folder.iterdir()) > 3 * small

    args = ["handoff", "--old", "6400 kbit/s, 9 ms", "--new", "200 kbit/s, 300 ms", "--at", "1s,2s"]
    args += ["--profile", "ns2"]
    assert main([*args, "--pcap", str(tmp_path / "handoff")]) == 0
    names = {"sender", "receiver", "bs1", "bs2"}
    assert {file.stem for file in (tmp_path / "handoff").iterdir()} == names

    args = ["flow", "--radio", "2 Mbit/s, 10 ms", "--marks", "3s", "--runs", "1"]
    assert main([*args, "--pcap", str(tmp_path / "flow")]) == 0
    names = {"sender", "receiver", "radio"}
    assert {file.stem for file in (tmp_path / "flow").iterdir()} == names


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--scheme", "ehn", "--scheme", "sack", "--pcap", "{}/x"], "one --scheme"),
        (["--pcap", "{}/file"], "file"),
        (["--pcap", "{}/x", "--snaplen", "-1"], "--snaplen"),
        (["--pcap", "{}/x", "--set", "set.segment_bytes=52", "--set", "set.timestamps=on"], "53"),
    ],
)
def test_what_cannot_be_captured_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    (tmp_path / "file").write_text("")
    words = [word.replace("{}", str(tmp_path)) for word in args]
    assert main(["roam", "--end", "6s", "--runs", "1", *words]) != 0
    assert message in capsys.readouterr().err


@HERE_ONLY_WITH_TSHARK
def test_tshark_sees_ecn(tmp_path: Path) -> None:
    """The handshake asks for ECN; each mark is in the IP header, echoed, and answered."""
    file = tmp_path / "slow.toml"
    file.write_text(
        'end = "10 s"\n[links.cell]\nrate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "codel ecn"\n'
        '[flows.download]\nset = { ecn = "on" }\n'
    )
    assert main(["run", str(file), "--pcap", str(tmp_path / "seen")]) == 0
    fields = ("tcp.dstport", "tcp.flags.syn", "ip.dsfield.ecn", "tcp.flags.ece", "tcp.flags.cwr")

    def seen(place: str) -> list[list[int]]:
        (found,) = (tmp_path / "seen").rglob(f"{place}.pcapng")
        told = tshark(found, *fields)
        return [[int({"True": "1", "False": "0"}.get(v, v), 0) for v in one] for one in told]

    sender, receiver = seen("sender"), seen("receiver")
    assert sender[0][1:] == [1, 0, 1, 1]
    assert receiver[1][1:] == [1, 0, 1, 0]
    of_data = [one for one in receiver if one[0] == 9 and one[1] == 0]
    marks = sum(ecn == 3 for _, _, ecn, _, _ in of_data)
    trace = Scenario.read(str(file)).trace()
    assert marks == list(trace.column("event")).count("mark") > 5
    assert {ecn for _, _, ecn, _, _ in of_data} >= {2, 3}
    assert all(ecn != 3 for port, _, ecn, _, _ in sender if port == 9)
    echoes = [one for one in receiver if one[0] != 9 and one[1] == 0 and one[3] == 1]
    answers = [one for one in sender if one[0] == 9 and one[1] == 0 and one[4] == 1]
    assert len(echoes) >= len(answers) > 2
    (found,) = (tmp_path / "seen").rglob("sender.pcapng")
    remarks = [one[0] for one in tshark(found, "frame.comment") if "marked at" in one[0]]
    assert len(remarks) == marks
