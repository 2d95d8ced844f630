"""The lab with a kernel, that of the cache or of MIDFLIGHT_LAB_KERNEL; else all is skipped."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from midflight import MidflightError, cli
from midflight.lab import LabError
from midflight.lab.doctor import measure
from midflight.lab.guest import Guest, run_guests
from midflight.lab.record import counters, events, late_ns
from midflight.lab.store import Kernel, choose
from midflight.scenario import read_plan


def find_kernel() -> Kernel | str:
    try:
        return choose()
    except LabError as error:
        return str(error)


KERNEL = find_kernel()

pytestmark = pytest.mark.skipif(isinstance(KERNEL, str), reason=f"{KERNEL}")


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    assert isinstance(KERNEL, Kernel)
    return KERNEL


def test_a_scenario_is_run_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results"
    words = ["lab", "run", "wifi-to-lte", "--cc", "cubic,bbr", "--out", str(out)]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["scheme"] for row in found["flows"]] == ["cubic", "bbr"]
    for flow, phases in zip(
        found["flows"], (found["phases"][:2], found["phases"][2:]), strict=True
    ):
        # The scenario has 2072 segments, which it takes after the gap.
        assert flow["acked"] == sum(phase["acked"] for phase in phases) == 2072
        assert flow["sent"] - flow["rexmits"] == 2073
        lost = sum(flow[name] for name in ("drops_queue", "drops_break", "drops_radio"))
        assert 0 < lost <= flow["rexmits"] + 1
        assert flow["duration_ns"] > 2.3e9
    counted = [row for row in found["counters"] if row["counter"] == "TCPTimeouts"]
    assert [row["value"] for row in counted] == [row["timeouts"] for row in found["flows"]]
    assert cli.main(["verify", str(out / "manifest.json")]) == 0
    capsys.readouterr()

    words = ["lab", "compare", "wifi-to-lte", "--profile", "linux", "--json"]
    assert cli.main(words) == 0
    (one,) = json.loads(capsys.readouterr().out)
    ours, theirs = one["measures"]["duration_ns"]
    assert theirs == pytest.approx(found["flows"][0]["duration_ns"] / 1e9)
    assert ours == pytest.approx(theirs, rel=0.05)


def test_files_of_a_run_are_the_kernels(tmp_path: Path) -> None:
    places = {one: tmp_path / one for one in ("trace", "pcap")}
    options = [word for one, place in places.items() for word in (f"--{one}", str(place))]
    figure = tmp_path / "run.png"
    words = ["lab", "run", "wifi-to-lte", "--plot", str(figure), *options]
    assert cli.main(words) == 0
    assert figure.stat().st_size > 10_000
    events = (places["trace"] / "download.csv").read_text()
    assert ",rcv," in events
    assert "queue" in events
    assert {one.name for one in places["pcap"].iterdir()} == {"sender.pcapng", "receiver.pcapng"}


def script(congestion: str, *sysctls: tuple[str, str]) -> str:
    setup = read_plan("wifi-to-lte").setup(0)
    return setup.lab_script(congestion=[congestion], sysctls=sysctls)


@contextmanager
def busy() -> Iterator[None]:
    """Keep all cores busy."""
    words = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(words) for _ in range(4)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


@pytest.mark.parametrize("congestion", ["cubic", "bbr", "reno"])
def test_a_run_is_the_same_again_and_on_a_busy_machine(kernel: Kernel, congestion: str) -> None:
    guests = [Guest(script(congestion))] * 3
    found = list(run_guests(kernel, guests))
    with busy():
        found += run_guests(kernel, guests[:1])
    first = found[0]
    assert events(first.packets)["delivered"] > 2000
    assert all(one.packets == first.packets for one in found)
    assert all(one.files == first.files for one in found)


def test_another_seed_is_another_run(kernel: Kernel) -> None:
    one, other = run_guests(kernel, [Guest(script("bbr"), seed) for seed in ("1", "2")])
    assert one.packets != other.packets


def test_packets_are_delivered_when_the_links_say(kernel: Kernel) -> None:
    (ran,) = run_guests(kernel, [Guest(script("cubic"))])
    assert max(late_ns(ran.packets)) <= 10
    found = events(ran.packets)
    # The handoff breaks the old link under the download, whose queue has overflowed in slow start.
    assert found["lost_break"] > 0
    assert found["lost_queue"] > 0
    assert found["lost_route"] == 0


def test_settings_of_the_kernel_reach_both_ends(kernel: Kernel) -> None:
    plain, without = run_guests(
        kernel, [Guest(script("cubic")), Guest(script("cubic", ("net.ipv4.tcp_sack", "0")))]
    )
    names = [{one.counter for one in counters(ran.files)} for ran in (plain, without)]
    assert "TCPSackRecovery" in names[0]
    assert not [one for one in names[1] if "Sack" in one or "SACK" in one]


@pytest.mark.parametrize(
    ("congestion", "sysctl", "said"),
    [
        ("nope", None, "cannot use congestion control nope"),
        ("cubic", ("net.ipv4.nope", "1"), "cannot set /proc/sys/net/ipv4/nope"),
    ],
)
def test_what_the_kernel_refuses_is_one_sentence(
    kernel: Kernel, congestion: str, sysctl: tuple[str, str] | None, said: str
) -> None:
    with pytest.raises(LabError, match=f"the guest failed: {said}"):
        list(run_guests(kernel, [Guest(script(congestion, *([sysctl] if sysctl else [])))]))


def test_a_sender_that_the_kernel_lacks_is_refused() -> None:
    plan = read_plan("wifi-to-lte", sets={"flows.download.scheme": "enhanced"})
    with pytest.raises(MidflightError, match="the kernel has its own sender"):
        plan.setup(0).lab_script(congestion=["cubic"])


def test_a_kernel_is_measured(kernel: Kernel) -> None:
    found = measure(kernel)
    assert found.repeats
    assert found.seeds_differ
    assert found.most_late_ns <= 10
    assert found.packets > 10_000


def run_exec(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, bytes, str]:
    status = cli.main(["lab", "exec", "wifi-to-lte", *words])
    said = capfdbinary.readouterr()
    return status, said.out, said.err.decode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl_gets_a_file_over_the_handoff(
    kernel: Kernel, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert kernel
    program = "head -c 3000000 /dev/zero > big; exec python3 -m http.server 80"
    get = "curl -sS -o got -w '%{size_download} %{time_total}' http://$SERVER/big; exit 3"
    words = ["--server", program, "--client", get]
    results = [run_exec(capfdbinary, *words, "--out", str(tmp_path / one)) for one in ("a", "b")]
    assert results[0] == results[1]
    status, out, _ = results[0]
    assert status == 3
    size, seconds = out.split()
    assert int(size) == 3_000_000
    # The gap of the handoff is 2 s.
    assert 2.3 < float(seconds) < 20
    for name in ("packets.bin", "counters.csv", "client.stdout", "server.stderr", "files/got"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "a" / "files" / "got").read_bytes() == bytes(3_000_000)


def test_programs_write_nothing_of_the_host(
    kernel: Kernel, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert kernel
    place = tmp_path / "written"
    tries = f"touch {place}; touch /etc/written; mount -t tmpfs none /tmp; cp /bin/true /mnt/kept"
    status, _, said = run_exec(capfdbinary, "--server", "true", "--client", tries)
    assert status == 0
    assert not place.exists()
    assert "Read-only file system" in said
    assert "mount" in said


def test_programs_that_do_not_end(
    kernel: Kernel, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert kernel
    status, _, said = run_exec(capfdbinary, "--server", "sleep 99", "--client", "sleep 31")
    assert status == 124
    assert "still running when the scenario ended" in said
    begun = time.monotonic()
    loop = "while :; do :; done"
    status, _, said = run_exec(capfdbinary, "--server", "true", "--client", loop, "--limit", "1.5s")
    assert status == 2
    assert "was ended after 1.5 s: it hangs" in said
    assert time.monotonic() - begun < 10


def test_what_programs_did_is_json(
    kernel: Kernel, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = ("--server", "exit 4", "--client", "echo $CLIENT; sleep 1; date +%s", "--json")
    status, out, _ = run_exec(capfdbinary, *words)
    assert status == 0
    found = json.loads(out)
    assert found["client"] == {"status": 0, "stdout": "10.77.0.7\n1767225603\n", "stderr": ""}
    assert found["server"]["status"] == 4
    assert found["kernel"]["hz"] == kernel.hz
    assert found["packets"]["sent"] == 0
