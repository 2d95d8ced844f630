"""The lab with a kernel, that of the cache or of MIDFLIGHT_LAB_KERNEL; else all is skipped."""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from midflight import MidflightError, cli
from midflight.lab import LabError
from midflight.lab.doctor import measure
from midflight.lab.guest import Guest, run_guests
from midflight.lab.record import EVENTS, RECORD, counters, events, late_ns
from midflight.lab.runs import OWN, LabRuns
from midflight.lab.store import Kernel, choose
from midflight.scenario import Scenario, read_plan


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


@pytest.mark.parametrize("queue", ["5 packets", "100 packets"])
@pytest.mark.parametrize("gap", ["0.1 s", "0.3 s", "0.5 s", "1 s"])
def test_the_stalls_of_the_table_in_stack_md_are_the_kernels(
    queue: str, gap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference: Any = importlib.import_module("make_reference")
    file = tmp_path / "stalls.json"
    sets = {"handoffs.0.gap": gap, "links.a.queue": queue}
    file.write_text(reference.scenario_of_stalls().but(sets).plan().canonical, encoding="utf-8")
    assert cli.main(["lab", "compare", str(file), "--profile", "linux", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    ours, theirs = one["measures"]["stall_ns"]
    assert ours == theirs
    packets = one["packets"]
    assert packets["equal"] == packets["simulated"] == packets["kernel"] > 4000


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


def guest(congestion: str, *sysctls: tuple[str, str], seed: str = "1") -> Guest:
    setup = read_plan("wifi-to-lte").setup(0)
    script = setup.lab_script(congestion=[congestion], sysctls=sysctls)
    return Guest(script, seed, setup.lab_serve)


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
    guests = [guest(congestion)] * 3
    found = list(run_guests(kernel, guests))
    with busy():
        found += run_guests(kernel, guests[:1])
    first = found[0]
    assert events(first.packets)["delivered"] > 2000
    assert all(one.packets == first.packets for one in found)
    assert all(one.files == first.files for one in found)


def test_another_seed_is_another_run(kernel: Kernel) -> None:
    one, other = run_guests(kernel, [guest("bbr", seed=seed) for seed in ("1", "2")])
    assert one.packets != other.packets


def test_packets_are_delivered_when_the_links_say(kernel: Kernel) -> None:
    (ran,) = run_guests(kernel, [guest("cubic")])
    assert max(late_ns(ran.packets)) <= 10
    found = events(ran.packets)
    # The handoff breaks the old link during the download; its queue has overflowed in slow start.
    assert found["lost_break"] > 0
    assert found["lost_queue"] > 0
    assert found["lost_route"] == 0


#: Sends at once, ten times until the script begins, and five packets one second later.
EARLY = """
import socket, sys, time
origin, out = int(sys.argv[1]), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begins = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
def send(at_ns, count):
    time.sleep(max(0, at_ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) / 1e9)
    for _ in range(count):
        out.sendto(bytes(1472), (sys.argv[2], 9000))
for step in range(10):
    send(begins + (origin - begins) * step // 10, 3)
send(origin + 10**9, 5)
"""


def test_what_a_device_sends_before_the_script_begins_does_not_hold_up_its_transmitter(
    kernel: Kernel,
) -> None:
    rate_bps, source, target = 1_000_000, 4, 0
    link = {"rate": "100 Mbit/s", "delay": "1 ms", "queue": "100 packets"}
    flow = {"direction": "up", "start": "9 s"}
    values = {"links": {"cell": link}, "flows": {"up": flow}, "end": "10 s"}
    setup = Scenario.from_dict(values).plan().setup(0)
    lines = setup.lab_script(congestion=["cubic"]).splitlines()
    lines = [one for one in lines if not one.startswith("flow ") and one != "go"]
    lines[lines.index(f"namespace {source}")] += f" {rate_bps}"
    origin = next(one.split()[1] for one in lines if one.startswith("origin "))
    # Of the host: a guest has its own /tmp, where an environment may be.
    python = os.path.realpath(sys.executable)
    program = f"{python} /mnt/early {origin} 10.77.0.{target + 1}"
    script = [*lines, "host", f"server {source} {program}", f"client {target} sleep 3", "go", ""]
    files = {"early": EARLY.encode()}
    guest = Guest("\n".join(script), "1", setup.lab_serve, sees_host=True, files=files)
    (ran,) = run_guests(kernel, [guest])
    assert ran.files.get("server.stderr", b"") == b""
    sent, place = [], 0
    while place < len(ran.packets):
        at_ns, _, node, event, words, _, _ = RECORD.unpack_from(ran.packets, place)
        sent += [at_ns] if EVENTS[event] == "sent" and node == source else []
        place += 8 * words
    assert sent[0] == pytest.approx(1e9, abs=1e6)
    steps = [after - before for before, after in pairwise(sent)]
    assert steps == pytest.approx([8e9 * 1500 / rate_bps] * 4, abs=2)


def test_settings_of_the_kernel_reach_both_ends(kernel: Kernel) -> None:
    plain, without = run_guests(
        kernel, [guest("cubic"), guest("cubic", ("net.ipv4.tcp_sack", "0"))]
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
        list(run_guests(kernel, [guest(congestion, *([sysctl] if sysctl else []))]))


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
    assert found["client"] == {"status": 0, "stdout": "10.77.0.7\n1767225655\n", "stderr": ""}
    assert found["server"]["status"] == 4
    assert found["kernel"]["hz"] == kernel.hz
    assert found["packets"]["sent"] == 0


#: Numbers with little in common: what is due at the very same instant the simulator puts in order
#: by how its doubles are rounded, as ns-2 does, which nothing else can.
UP = {"rate": "1013 kbit/s"}
#: Scenarios by their special feature: values that override those of `PLAIN`.
PLAIN: dict[str, Any] = {
    "end": "12 s",
    "links": {
        "one": {"rate": "7919 kbit/s", "delay": "15013719 ns", "queue": "40 packets"},
        "two": {"rate": "2971 kbit/s", "delay": "60012347 ns", "up": UP},
    },
    "flows": {"download": {"size": "3 MB"}},
    "handoffs": [],
    "changes": [],
}
FEATURES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "make before break": {"handoffs": [{"at": "0.7 s, 4 s", "to": ["two", "one"]}]},
    "break before make": {
        "handoffs": [{"at": "0.7 s, 3 s", "to": ["two", "one"], "gap": "200 ms"}]
    },
    "outage": {"handoffs": [{"at": "1.1 s", "to": "one", "gap": "500 ms"}]},
    "pause": {"changes": [{"link": "one", "at": "0.5 s", "pause": "120 ms"}]},
    "pause of a full queue": {
        "links.one.queue": "6 packets",
        "changes": [
            {"link": "one", "at": "0.4 s", "pause": "300 ms", "queue": "4 packets"},
            {
                "link": "one",
                "at": "1 s",
                "pause": "10 ms",
                "rate": "1987 kbit/s",
                "delay": "90010101 ns",
            },
        ],
    },
    "changes of rate": {
        "changes": [
            {"link": "one", "at": "0.5 s", "rate": "1 Mbit/s"},
            {"link": "one", "at": "2 s", "rate": "50 Mbit/s"},
            {"link": "one", "at": "2.5 s", "rate": "7 Mbit/s", "queue": "9 packets"},
        ]
    },
    "changes of delay": {
        "changes": [
            {"link": "one", "at": "0.5 s", "delay": "90 ms"},
            {"link": "one", "at": "1.3 s", "delay": "3 ms"},
            {"link": "one", "at": "1.31 s", "delay": "1 ms", "rate": "9 Mbit/s"},
        ]
    },
    "uniform losses": {"links.one.loss": "uniform 2%"},
    "losses both ways": {
        "links.one.loss": "uniform 1%",
        "links.one.up": {**UP, "loss": "uniform 3%"},
    },
    "burst losses": {"links.one.loss": "burst 0.5% 5"},
    "gilbert": {"links.one.loss": "gilbert 500ms 0.1% 100ms 30% 50%"},
    "gilbert after a change": {
        "links.one.loss": "gilbert 300ms 0.1% 100ms 10% 50%",
        "changes": [{"link": "one", "at": "0.8 s, 1.6 s", "loss": "gilbert 100ms 1% 50ms 20% 40%"}],
    },
    "late packets": {"links.one.reorder": "linkrtx 3% 40003733ns"},
    "late packets that pause": {
        "links.one.reorder": "linkrtx 10% 40003733ns",
        "changes": [{"link": "one", "at": "0.6 s, 0.9 s, 1.4 s", "pause": "25 ms"}],
    },
    "late packets of a node that leaves": {
        "links.one.reorder": "linkrtx 10% 40003733ns",
        "links.one.up": {**UP, "reorder": "linkrtx 10% 70009111ns"},
        "handoffs": [{"at": "0.7 s, 1.5 s", "to": ["two", "one"], "gap": "100 ms"}],
    },
    "late and lost": {
        "links.one.reorder": "linkrtx 5% 30001789ns",
        "links.one.loss": "uniform 2%",
    },
    "even cross traffic": {"links.one.cross": "cbr 2969 kbit/s"},
    "poisson cross traffic": {
        "links.one.cross": "poisson 4 Mbit/s 700 B",
        "links.one.up": {**UP, "cross": "poisson 500 kbit/s"},
    },
    "cross traffic in bursts": {"links.one.cross": "pareto 8 Mbit/s 100ms 200ms 1.5"},
    "cross traffic that changes": {
        "links.one.cross": "on-off 8017 kbit/s 100ms 100ms",
        "changes": [
            {"link": "one", "at": "0.8 s", "cross": "cbr 4973 kbit/s"},
            {"link": "one", "at": "1.6 s", "pause": "40 ms", "cross": "none"},
        ],
    },
    "several flows": {
        "flows": {
            "download": {"size": "1 MB", "count": 3, "stagger": "70 ms"},
            "upload": {"size": "500 kB", "direction": "up"},
            "neighbour": {"on": "two", "size": "1 MB"},
        },
        "handoffs": [{"at": "0.9 s", "to": "two"}],
    },
    "upload": {"flows": {"upload": {"size": "500 kB", "direction": "up"}}},
    "upload over a break": {
        "flows": {"upload": {"size": "1 MB", "direction": "up"}},
        "handoffs": [{"at": "0.9 s, 2.9 s", "to": ["two", "one"], "gap": "150 ms"}],
    },
    "uploads of neighbours over a break": {
        "flows": {
            "upload": {"size": "500 kB", "direction": "up"},
            "other": {"on": "one", "size": "500 kB", "direction": "up"},
            "neighbour": {"on": "two", "size": "300 kB", "direction": "up"},
        },
        "handoffs": [{"at": "0.9 s, 2.9 s", "to": ["two", "one"], "gap": "150 ms"}],
    },
    "queues in bytes and in time": {
        "links.one.queue": "27 kB",
        "links.two.queue": "80 ms",
        "handoffs": [{"at": "0.9 s", "to": "two"}],
    },
    "a trace with an outage": {
        "links.one": {"delay": "15 ms", "queue": "40 packets"},
        "links.one.trace": {
            "time_s": [0, 0.4, 0.7, 1.2],
            "rate_mbps": [8, 0, 3, 11],
            "loss": [0, 0, 0.01, 0],
        },
    },
    "a break of a trace that takes what waits": {
        "links.one": {"delay": "15 ms", "queue": "40 packets"},
        "links.one.trace": {"columns": {"time_s": [0, 0.6, 0.7], "rate_mbps": [8, 0, 3]}}
        | {"outage": "drop", "repeat": True},
    },
    "the queue codel": {"links.one.queue": "codel"},
    "the queue codel that marks": {
        "links.one.queue": "codel ecn",
        "set": {"ecn": "on"},
    },
    "the queue fq-codel of two flows": {
        "links.one.queue": "fq-codel",
        "flows.other": {"size": "800 kB", "start": "100 ms"},
    },
    "the queue pie": {"links.one.queue": "pie"},
    "reordering by swap": {"links.one.reorder": "swap 5%"},
    "delivery in order": {"links.one.reorder": "harq 10% 8 ms"},
    "a break that forwards": {
        "handoffs": [{"at": "0.9 s", "to": "two", "gap": "150 ms", "forward": True}]
    },
    "a queue of one packet": {"links.one.queue": "1 packets", "end": "6 s"},
    "rates that make no nanoseconds": {
        "links.one.rate": "7333333 bit/s",
        "links.two.rate": "2999999 bit/s",
        "handoffs": [{"at": "0.7777777 s", "to": "two"}],
    },
}


def scenario_of(values: dict[str, Any]) -> Scenario:
    found = json.loads(json.dumps(PLAIN))
    for path, value in values.items():
        *tables, last = path.split(".")
        table = found
        for name in tables:
            table = table[name]
        table[last] = value
    return Scenario.from_dict(found)


def links_of(kernel: Kernel, values: dict[str, Any], congestion: str = "cubic") -> dict[str, Any]:
    """The packets of a guest over its links against the same over the simulator's."""
    runs = LabRuns(scenario_of(values).plan(), kernel, (congestion,))
    setup = runs.plan.setup(0)
    (ran,) = run_guests(kernel, [runs.guest(congestion, 0)])
    return setup.lab_links(ran.packets) | events(ran.packets)


@pytest.mark.parametrize("name", FEATURES)
def test_the_links_of_a_guest_are_those_of_the_simulator(kernel: Kernel, name: str) -> None:
    found = links_of(kernel, FEATURES[name])
    assert found["differences"] == []
    assert found["same"] == found["packets"] > 200
    assert found["most_late_ns"] <= 10
    # The purpose of the scenario has occurred.
    if "losses" in name or "gilbert" in name:
        assert found["lost_radio"] > 5
    if "break" in name and "make before" not in name:
        assert found["lost_break"] > 0
    if "queue" in name:
        assert found["lost_queue"] + found["lost_early"] + found["marked"] > 0
    if "marks" in name:
        assert found["marked"] > 0


def some_scenario(number: int) -> dict[str, Any]:
    """A scenario that has some of all features."""
    draw = random.Random(number)

    def some(*values: Any) -> Any:
        return draw.choice(values)

    def way() -> dict[str, Any]:
        found: dict[str, Any] = {"rate": f"{draw.randint(500_000, 20_000_000)} bit/s"}
        found |= some({}, {"queue": some("5 packets", "20 kB", "30 ms", "2 bdp")})
        found |= some({}, {"loss": some("uniform 1%", "burst 0.3% 4", FEATURES_OF_LOSS)})
        found |= some({}, {"reorder": f"linkrtx 4% {draw.randint(5_000_000, 90_000_000)}ns"})
        kind = some("cbr 307 kbit/s 500 B", "poisson 300 kbit/s", "on-off 907 kbit/s 80ms 90ms")
        return found | some({}, {"cross": kind})

    def link() -> dict[str, Any]:
        return way() | {"delay": f"{draw.randint(1_000_000, 120_000_000)} ns", "up": way()}

    def flow() -> dict[str, Any]:
        found: dict[str, Any] = {"size": f"{draw.randint(100, 1500)} kB"}
        found |= some({}, {"direction": "up"}) | some({}, {"on": some("one", "two")})
        return found | {"start": f"{draw.randint(0, 900)} ms"}

    changes = []
    for place in range(draw.randint(0, 4)):
        change: dict[str, Any] = {"link": some("one", "two"), "at": f"{2 + place}.4{number} s"}
        change |= some({}, {"pause": f"{draw.randint(1, 300)} ms"})
        changes.append(change | some({"rate": "3989 kbit/s"}, {"delay": "7001239 ns"}, way()))
    handoffs = [
        {"at": f"{at}.{draw.randint(0, 3)} s", "to": to} | some({}, {"gap": "80 ms"})
        for at, to in ((1, "two"), (6, "one"), (7, "two"))
    ]
    return {
        "seed": number,
        "links": {"one": link(), "two": link()},
        "flows": {f"flow{place}": flow() for place in range(draw.randint(1, 5))},
        "handoffs": handoffs[: draw.randint(0, 3)],
        "changes": changes,
    }


FEATURES_OF_LOSS = "gilbert 300ms 0.1% 80ms 20% 50%"


def test_any_scenario_has_the_links_of_the_simulator(kernel: Kernel) -> None:
    each = [some_scenario(number) for number in range(30)]
    all_runs = [LabRuns(scenario_of(values).plan(), kernel, ("cubic",)) for values in each]
    guests = (runs.guest("cubic", 0) for runs in all_runs)
    found = [
        runs.plan.setup(0).lab_links(ran.packets)
        for runs, ran in zip(all_runs, run_guests(kernel, guests), strict=True)
    ]
    packets = sum(one["packets"] for one in found)
    assert packets > 30_000
    assert sum(one["same"] for one in found) == packets
    assert max(one["most_late_ns"] for one in found) <= 10


def test_samples_tell_what_packets_tell_and_change_nothing(kernel: Kernel) -> None:
    plan = read_plan("wifi-to-lte")
    runs = [LabRuns(plan, kernel, sample_ns=ns) for ns in (0, 20_000_000)]
    without, with_them = run_guests(kernel, [one.guest("cubic", 0) for one in runs])
    assert without.packets == with_them.packets
    *_, samples = runs[1].tables(0, 0, with_them)
    *_, none = runs[0].tables(0, 0, without)
    assert none.num_rows == 0
    # The state that is reported with each packet is in the trace; a sample has the last reported
    # state.
    trace = plan.setup(0).lab_trace(without.packets)
    rows = list(zip(*(trace.column(one) for one in ("time_ns", "event", "value")), strict=True))
    windows = [(at, value) for at, event, value in rows if event == "cwnd"]
    acks = [at for at, event, _ in rows if event == "ack"]
    times, cwnd = samples.column("time_ns"), samples.column("cwnd")
    assert len(times) > 100
    assert {at % 20_000_000 for at in times} == {0}
    compared = 0
    for at, window in zip(times, cwnd, strict=True):
        before = [value for sent, value in windows if sent <= at]
        after = [value for sent, value in windows if sent > at]
        assert window in before[-1:] or not after or min(before[-1], after[0]) <= window
        compared += window in before[-1:]
    assert compared > len(times) / 2
    assert acks
    assert {"open", "recovery"} <= set(samples.column("ca_state"))
    assert samples.column("timeouts")[-1] == plan_timeouts(rows)


def plan_timeouts(rows: list[tuple[int, str, float]]) -> int:
    return sum(event == "rto" for _, event, _ in rows)


LINUX = {"flows.download.stack": "linux", "flows.download.scheme": "cubic"}


def test_a_scenario_names_the_kernel_as_its_stack(
    kernel: Kernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, qlogs = tmp_path / "results", tmp_path / "qlog"
    sets = [word for path, value in LINUX.items() for word in ("--set", f"{path}={value}")]
    words = ["run", "wifi-to-lte", *sets, "--out", str(out), "--qlog", str(qlogs)]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["manifest"]["lab"]["kernel"] == kernel.name
    assert cli.main(["lab", "run", "wifi-to-lte", "--json"]) == 0
    same = json.loads(capsys.readouterr().out)
    assert found["flows"] == same["flows"]
    assert found["phases"] == same["phases"]
    assert cli.main(["verify", str(out / "manifest.json")]) == 0
    records = [json.loads(one) for one in (qlogs / "download.sqlog").read_text().split("\x1e")[1:]]
    assert records[0]["title"] == "download with cubic, run 0"
    told = [one["data"] for one in records[1:] if one["name"].endswith("metrics_updated")]
    keys = {key for one in told for key in one}
    assert {"congestion_window", "ssthresh", "smoothed_rtt", "midflight:rto"} <= keys
    states = [
        one["data"]["new"] for one in records if one.get("name", "").endswith("state_updated")
    ]
    assert {"slow_start", "recovery"} <= set(states)
    capsys.readouterr()

    # From Python, and as pictures and reports.
    outcome = read_scenario_outcome(LINUX)
    assert outcome.flows.column("digest") == [one["digest"] for one in found["flows"]]
    report, figure = tmp_path / "report.html", tmp_path / "run.png"
    assert cli.main(["report", "wifi-to-lte", *sets, "--out", str(report)]) == 0
    assert kernel.name in report.read_text()
    assert "cubic" in report.read_text()
    words = ["plot", "wifi-to-lte", *sets, "--scheme", "cubic", "--scheme", "bbr"]
    assert cli.main([*words, "--out", str(figure)]) == 0
    assert figure.stat().st_size > 10_000


def read_scenario_outcome(sets: dict[str, Any]) -> Any:
    return Scenario.read("wifi-to-lte", sets=sets).run()


def test_a_sweep_runs_guests(
    kernel: Kernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sweep"
    axes = ["--axis", "flows.download.stack=midflight,linux", "--axis", "handoffs.0.at=0.3 s,0.6 s"]
    words = ["sweep", "wifi-to-lte", *axes, "--compare", "flows.download.stack"]
    assert cli.main([*words, "--out", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cells"] == 4
    lines = (folder / "flows.csv").read_text().splitlines()
    head, *rows = [line.split(",") for line in lines]
    place = {name: head.index(name) for name in ("flows.download.stack", "scheme", "digest")}
    schemes = {(row[place["flows.download.stack"]], row[place["scheme"]]) for row in rows}
    assert schemes == {("midflight", "sack"), ("linux", "cubic")}
    alone = read_scenario_outcome({**LINUX, "handoffs.0.at": "0.6 s"})
    assert alone.flows.column("digest") == [rows[3][place["digest"]]]
    # Nothing is run again.
    assert cli.main([*words, "--out", str(folder), "--json"]) == 0
    assert kernel


def test_flows_have_congestion_controls_of_their_own(kernel: Kernel) -> None:
    values = {
        "flows": {
            "a": {"stack": "linux", "scheme": "cubic", "size": "2 MB"},
            "b": {"stack": "linux", "scheme": "bbr", "size": "2 MB"},
        }
    }
    runs = LabRuns(scenario_of(values).plan(), kernel, (OWN,))
    ((flows, _, _, samples),) = runs.pieces()
    assert flows.column("scheme") == ["cubic", "bbr"]
    pacing = dict(zip(samples.column("flow"), samples.column("pacing_bps"), strict=True))
    assert pacing["b"] is not None


def test_a_run_over_a_recording_is_drawn_over_time(tmp_path: Path) -> None:
    words = ["lab", "run", "drive-test", "--set", "end=6 s", "--plot", str(tmp_path / "run.svg")]
    assert cli.main(words) == 0
    drawn = (tmp_path / "run.svg").read_text(encoding="utf-8")
    assert "Throughput" in drawn
    assert "Queue (packets)" in drawn
    assert "Segment number" not in drawn
