"""Multihomed clients, programs of the examples, and the machine's own kernel in the lab."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from midflight import MidflightError, cli
from midflight.lab import LabError, host
from midflight.lab.guest import Guest, Ran
from midflight.lab.host import Lateness, check_host, run_on_host
from midflight.lab.record import RECORD
from midflight.lab.runs import LabRuns
from midflight.lab.store import Kernel, choose
from midflight.scenario import read_plan

EXAMPLES = Path(__file__).parents[2] / "examples" / "lab"


def find_kernel() -> Kernel | str:
    try:
        return choose()
    except LabError as error:
        return str(error)


KERNEL = find_kernel()
needs_kernel = pytest.mark.skipif(isinstance(KERNEL, str), reason=f"{KERNEL}")


def why_no_host() -> str:
    """Return why this machine cannot make runs in real time, or nothing."""
    try:
        check_host()
    except LabError as error:
        return str(error)
    words = ["unshare", "-n", "true"] if os.geteuid() == 0 else ["unshare", "-Urn", "true"]
    if shutil.which("unshare") and subprocess.run(words, check=False).returncode:
        return "this machine does not let this user make network namespaces"
    return ""


def exec_example(
    capfd: pytest.CaptureFixture[str], name: str, server: str, client: str, *words: str
) -> tuple[int, str]:
    file = str(EXAMPLES / f"{name}.py")
    all_words = ["lab", "exec", "wifi-to-lte", "--file", file, *words]
    all_words += [f"--server=python3 -B {name}.py {server}"]
    status = cli.main([*all_words, f"--client=python3 -B {name}.py {client}"])
    return status, capfd.readouterr().out


@needs_kernel
def test_mptcp_goes_on_where_plain_tcp_ends(capfd: pytest.CaptureFixture[str]) -> None:
    # Wi-Fi breaks after 0.3 s, and the first address with it.
    status, said = exec_example(capfd, "mptcp", "server tcp", "client tcp", "--multihomed")
    assert (status, said) == (124, "")
    for kind in ("mptcp", "backup"):
        words = (f"server {kind}", f"client {kind}", "--multihomed")
        results = [exec_example(capfd, "mptcp", *words) for _ in range(2)]
        assert results[0] == results[1]
        status, said = results[0]
        assert status == 0
        size, _, _, seconds, *_, stall, _ = said.split()
        assert size == "3000000"
        assert 0.3 < float(seconds) < 5
        # It is over before the gap of a node with one address is.
        assert float(stall) < 1


@needs_kernel
def test_a_bulk_transfer_is_reported_second_by_second(capfd: pytest.CaptureFixture[str]) -> None:
    status, said = exec_example(capfd, "bulk", "server 8", "client")
    assert status == 0
    rates = [float(line.split()[-2]) for line in said.splitlines()]
    assert len(rates) >= 9
    # The gap is from 0.3 to 2.3 s, and plain TCP waits for its timer then.
    assert rates[1] == 0
    assert max(rates[5:-1]) > 5


@needs_kernel
def test_a_multihomed_client_has_its_addresses(capfd: pytest.CaptureFixture[str]) -> None:
    program = "echo $CLIENT, $CLIENTS; ls /sys/class/net"
    words = ["--multihomed", "--server=true", f"--client={program}"]
    assert cli.main(["lab", "exec", "wifi-to-lte", *words]) == 0
    said = capfd.readouterr().out.split("\n")
    first, both = said[0].split(", ")
    assert both.split() == [first, "10.77.0.9"]
    assert first == "10.77.0.8"


def test_a_node_with_one_link_is_not_multihomed() -> None:
    plan = read_plan("rate-change")
    with pytest.raises(MidflightError, match="multihomed node in a scenario with one link"):
        plan.setup(0).lab_script(congestion=["cubic"], multihomed=True)


def test_a_host_that_sends_does_not_merge_what_arrives() -> None:
    up = {"flows.up.direction": "up", "flows.up.size": "1 MB"}
    plan = read_plan("wifi-to-lte", sets={"set.gro_flush_timeout": "20 us", **up})
    with pytest.raises(MidflightError, match="gro_flush_timeout at a host that also sends"):
        plan.setup(0).lab_script(congestion=["cubic"])


def test_flows_of_a_host_have_the_same_bursts() -> None:
    other = {"flows.other.size": "1 MB", "flows.other.set.gso_max_segs": "4"}
    plan = read_plan("wifi-to-lte", sets=other)
    with pytest.raises(MidflightError, match="differs from others of its host in the size of"):
        plan.setup(0).lab_script(congestion=["cubic"])


@pytest.mark.skipif(bool(why_no_host()), reason=why_no_host() or "-")
def test_a_scenario_on_the_machines_own_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine that runs tests is busy; its lateness is reported.
    monkeypatch.setattr(host, "LATE_NS", 10**12)
    out = tmp_path / "results"
    words = ["lab", "run", "wifi-to-lte", "--host", "--cc", "reno", "--out", str(out), "--json"]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    assert "in real time: half of the packets were delivered within" in said.err
    (flow,) = json.loads(said.out)["flows"]
    assert flow["acked"] == 2072
    assert flow["drops_break"] > 0
    assert 2.3 < flow["duration_ns"] / 1e9 < 20
    assert 0 < flow["rexmits"] < 500
    assert cli.main(["verify", str(out / "manifest.json")]) == 2
    assert "never the same again" in capsys.readouterr().err


@pytest.mark.skipif(bool(why_no_host()), reason=why_no_host() or "-")
def test_what_this_kernel_refuses_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "run", "wifi-to-lte", "--host", "--cc", "nope"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert "cannot use congestion control nope" in said
    assert len(said.strip().splitlines()) == 1


def test_a_run_that_is_late_is_made_again_and_then_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(by_ns: int) -> Ran:
        packets = RECORD.pack(0, 0, 0, 2, RECORD.size // 8, 0, by_ns) * 100
        return Ran(packets, {}, 1.0, 0.0)

    made: list[int] = []
    kinds = [5_000_000, 2_000_000, 400_000]

    def once(_guest: Guest, _end_s: float) -> Ran:
        made.append(1)
        return late(kinds[min(len(made), len(kinds)) - 1])

    monkeypatch.setattr(host, "check_host", lambda: None)
    monkeypatch.setattr(host, "run_once", once)
    _, found, attempt = run_on_host(Guest(""), 1.0)
    assert (found.most, attempt) == (400_000, 3)
    kinds[2] = 3_000_000
    made.clear()
    with pytest.raises(LabError, match=r"was late 5 times, .*99 % within 3000 us.*too busy"):
        run_on_host(Guest(""), 1.0)
    assert len(made) == 5


def test_lateness_has_ranks() -> None:
    assert Lateness.of(b"") == Lateness(0, 0, 0)
    packets = b"".join(RECORD.pack(0, 0, 0, 2, 3, 0, number) for number in range(1, 201))
    assert Lateness.of(packets) == Lateness(100, 198, 200)


def test_no_device_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _path: False)
    with pytest.raises(LabError, match="needs /dev/net/tun, and there is none"):
        check_host()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "wifi-to-lte", "--host", "--stack", "midflight"], "leave out --stack"),
        (["exec", "wifi-to-lte", "--server=a", "--client=b", "--file=/no"], "No such file"),
    ],
)
def test_bad_options(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert cli.main(["lab", *words]) == 2
    assert said in capsys.readouterr().err


@needs_kernel
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    text = """
import sys, tempfile
from midflight.lab import LabError
from midflight.lab.guest import run_guests
from midflight.lab.runs import LabRuns
from midflight.lab.store import choose
from midflight.scenario import read_plan
tempfile.tempdir = sys.argv[1]
runs = LabRuns(read_plan("wifi-to-lte"), choose())
try:
    list(run_guests(runs.kernel, [runs.guest("cubic", 0)]))
except LabError as error:
    print(error)
"""
    command = f"mount -t tmpfs -o size=1200k none {tmp_path} && exec {sys.executable} - {tmp_path}"
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", command],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if "mount" in ran.stderr:
        pytest.skip("no disk can be mounted")
    assert ran.stderr == ""
    (said,) = ran.stdout.splitlines()
    assert "No space left" in said
    assert not LabRuns.__doc__ or list(tmp_path.iterdir()) == []
