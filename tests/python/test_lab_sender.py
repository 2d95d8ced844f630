"""midflight's sender against the receiver of a Linux kernel; skipped without a kernel."""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from midflight import MidflightError, cli
from midflight.lab import LabError
from midflight.lab.guest import Ran, run_guests
from midflight.lab.programs import run_programs
from midflight.lab.record import RECORD
from midflight.lab.runs import OURS, LabRuns, turns_of
from midflight.lab.store import Kernel, choose
from midflight.scenario import read_plan


def find_kernel() -> Kernel | str:
    try:
        return choose()
    except LabError as error:
        return str(error)


KERNEL = find_kernel()
needs_kernel = pytest.mark.skipif(isinstance(KERNEL, str), reason=f"{KERNEL}")
SYN, FIN, RST, ACK = 2, 1, 4, 16
#: Of a sent packet: what follows the record before the headers.
STATE_BYTES = 64
PORT = 40_001


def ran(kernel: Kernel, sets: dict[str, str], *sysctls: tuple[str, str]) -> tuple[LabRuns, Ran]:
    runs = LabRuns(read_plan("wifi-to-lte", sets=sets), kernel, (OURS,), sysctls, stack=OURS)
    (one,) = run_guests(kernel, [runs.guest(OURS, 0)])
    return runs, one


def segments(packets: bytes) -> Iterator[tuple[bool, int, int, int, int, bytes]]:
    """Yield of each packet sent whether it is ours, its numbers, flags, window and options."""
    place = 0
    while place < len(packets):
        _, _, _, event, words, _, _ = RECORD.unpack_from(packets, place)
        if event == 1:
            ip = packets[place + RECORD.size + STATE_BYTES : place + 8 * words]
            tcp = ip[4 * (ip[0] & 15) :]
            source, _, seq, ack, offset, flags, window = struct.unpack_from(">HHIIBBH", tcp)
            yield source == PORT, seq, ack, flags, window, tcp[20 : 4 * (offset >> 4)]
        place += 8 * words


def options(data: bytes) -> dict[int, bytes]:
    """Return the options of a TCP header by their kinds."""
    found = {}
    while data and data[0]:
        if data[0] == 1:
            data = data[1:]
            continue
        found[data[0]] = data[2 : data[1]]
        data = data[data[1] :]
    return found


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    assert isinstance(KERNEL, Kernel)
    return KERNEL


@needs_kernel
@pytest.mark.parametrize("profile", ["rfc", "linux", "ns2"])
def test_a_download_is_the_same_again_and_can_be_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str
) -> None:
    out, traces = tmp_path / "results", tmp_path / "trace"
    words = ["lab", "run", "wifi-to-lte", "--stack", OURS, "--set", f"profile={profile}"]
    assert cli.main([*words, "--out", str(out), "--trace", str(traces), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (flow,) = found["flows"]
    assert flow["scheme"] == "sack"
    assert flow["acked"] == {"ns2": 2055}.get(profile, 2072)
    assert flow["drops_break"] > 0
    assert cli.main(["verify", str(out / "manifest.json")]) == 0
    capsys.readouterr()
    # The values that only our own sender reports are there.
    with (traces / "download.csv").open(encoding="utf-8") as file:
        by = {row["by"] for row in csv.DictReader(file)}
    assert {"handshake", "controller", "timeout"} <= by


@needs_kernel
def test_an_event_of_our_sender_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "explain", "wifi-to-lte"]
    assert cli.main([*words, "--what", "rto", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    timeouts = listed["events"]
    assert {one["event"] for one in timeouts} == {"rto"}
    at_ns = timeouts[0]["time_ns"]
    assert cli.main([*words, "--what", "rto", "--at", f"{at_ns} ns", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["digest"] == listed["digest"]
    assert told["chosen"]["time_ns"] == at_ns
    # Each step follows from the next one, which is no later.
    times = [step["time_ns"] for step in told["steps"]]
    assert len(times) > 1
    assert times == sorted(times, reverse=True)
    assert cli.main([*words, "--what", "stall"]) == 0
    text = capsys.readouterr().out
    assert "the longest time without progress" in text
    assert "progress again" in text
    assert cli.main([*words, "--what", "nothing"]) == 2
    assert "is not an event" in capsys.readouterr().err
    assert cli.main([*words, "--what", "rto", "--run", "9"]) == 2
    assert "--run 9: the scenario has 1 run, numbered from 0" in capsys.readouterr().err


@needs_kernel
def test_handshake_options_and_numbers_that_wrap(kernel: Kernel) -> None:
    _, one = ran(kernel, {})
    seen = list(segments(one.packets))
    syn, answer = seen[0], seen[1]
    assert (syn[0], syn[3], answer[0], answer[3]) == (True, SYN, False, SYN | ACK)
    ours, theirs = options(syn[5]), options(answer[5])
    assert struct.unpack(">H", ours[2]) == struct.unpack(">H", theirs[2]) == (1460,)
    assert set(ours) == set(theirs) == {2, 3, 4, 8}
    numbers = [seq for is_ours, seq, *_ in seen if is_ours]
    assert numbers[0] == 2**32 - 10_000
    assert 0 < min(numbers) < 2_000
    assert [flags & FIN for is_ours, _, _, flags, *_ in seen if is_ours][-2:].count(FIN) == 1
    last = seen[-1]
    assert not any(flags & RST for _, _, _, flags, *_ in seen)
    # The kernel has acknowledged the FIN.
    assert last[2] if not last[0] else seen[-2][2] == (numbers[0] + 2 + 2072 * 1448) % 2**32
    assert list(turns_of(one)) == [0]


@needs_kernel
@pytest.mark.parametrize(
    ("sysctl", "missing", "acked"),
    [
        ("net.ipv4.tcp_sack", 4, 2072),
        ("net.ipv4.tcp_timestamps", 8, 2072),
        ("net.ipv4.tcp_window_scaling", 3, 2072),
    ],
)
def test_what_the_receiver_does_not_agree_to_is_not_used(
    kernel: Kernel, sysctl: str, missing: int, acked: int
) -> None:
    runs, one = ran(kernel, {}, (sysctl, "0"))
    seen = list(segments(one.packets))
    assert missing in options(seen[0][5])
    assert missing not in options(seen[1][5])
    later = {kind for *_, data in seen[2:] for kind in options(data)}
    assert later <= {5, 8} - {missing + 1, missing}
    flows, *_ = runs.tables(0, 0, one)
    assert flows.column("acked") == [acked]


@needs_kernel
def test_a_receiver_that_compresses_sacks(kernel: Kernel) -> None:
    losses = {"links.wifi.loss": "uniform 1%", "links.lte.loss": "uniform 1%", "end": "60 s"}
    runs, one = ran(kernel, losses)
    flows, _, counters, *_ = runs.tables(0, 0, one)
    assert flows.column("acked") == [2072]
    by_name = dict(zip(counters.column("counter"), counters.column("value"), strict=True))
    assert by_name["TCPAckCompressed"] > 0
    assert any(5 in options(data) for *_, data in segments(one.packets))
    assert flows.column("drops_radio")[0] > 10


#: A program that takes the flow: it reads late, with a small buffer, and says what it got.
READS_LATE = """\
import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
s.bind(("", 5001)); s.listen()
c, _ = s.accept()
time.sleep(3)
pattern = bytes(range(251)) * 100
size, good, part = 0, True, memoryview(bytearray(16384))
while length := c.recv_into(part):
    good &= part[:length] == pattern[size % 251 : size % 251 + length]
    size += length
c.close()
print(size, good)
"""
#: One that closes with unread data, which resets the connection.
RESETS = """\
import socket, time
s = socket.socket(); s.bind(("", 5001)); s.listen()
c, _ = s.accept(); c.recv(1000); time.sleep(0.2); c.close()
time.sleep(5)
"""


def program(kernel: Kernel, text: str) -> tuple[list[tuple[bool, int, int, int, int, bytes]], str]:
    """Send a download to a program; return the segments and its output."""
    plan = read_plan("wifi-to-lte", sets={"end": "60 s"})
    found = run_programs(
        plan.setup(0),
        kernel,
        server=None,
        client="python3 -B receiver.py",
        scenario=json.loads(plan.canonical),
        files={"receiver.py": text.encode()},
    )
    assert found.client.status == 0, found.client.stderr
    return list(segments(found.packets)), found.client.stdout.decode()


@needs_kernel
def test_a_window_that_closes_is_probed_and_every_byte_arrives(kernel: Kernel) -> None:
    seen, said = program(kernel, READS_LATE)
    assert said == f"{2072 * 1448} True\n"
    closed = [flags for is_ours, _, _, flags, window, _ in seen if not is_ours and window == 0]
    assert closed.count(ACK) > 0
    flags = [of for is_ours, _, _, of, *_ in seen if is_ours]
    assert sum(of & FIN for of in flags) >= 1
    # Both sides close.
    assert any(of & FIN for is_ours, _, _, of, *_ in seen if not is_ours)


@needs_kernel
def test_resets_end_the_sender(kernel: Kernel) -> None:
    seen, _ = program(kernel, RESETS)
    resets = [place for place, (is_ours, _, _, flags, *_) in enumerate(seen) if flags & RST]
    assert resets
    assert not seen[resets[0]][0]
    # What was on its way is answered by others; ours sends no more than that.
    assert len(seen) < 200


@needs_kernel
def test_nobody_listens(kernel: Kernel) -> None:
    seen, _ = program(kernel, "import time; time.sleep(5)")
    assert [flags for _, _, _, flags, *_ in seen] == [SYN, RST | ACK]


def test_what_the_kernels_receiver_lacks_is_refused() -> None:
    plan = read_plan("wifi-to-lte", sets={"flows.download.scheme": "freeze"})
    with pytest.raises(MidflightError, match="its receiver has a handoff signal"):
        plan.setup(0).lab_script(congestion=["cubic"], stack=OURS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "wifi-to-lte", "--stack", "bsd"], "not linux or midflight"),
        (["run", "wifi-to-lte", "--stack", OURS, "--cc", "bbr"], "is for the kernel's senders"),
        (["exec", "wifi-to-lte", "--client", "true"], "--server is for --stack linux"),
    ],
)
def test_bad_options_are_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert cli.main(["lab", *words]) == 2
    assert said in capsys.readouterr().err
