"""Flows over QUIC: the stack itself runs, twice alike, and is measured as TCP is."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight import MidflightError, Scenario, aioquic_stack
from midflight.cli import main
from midflight.run_report import report_run
from midflight.sweep import Sweep

STACK = "flows.download.stack"
STACKS = ("quinn", "noq", "aioquic")
#: Every stack, with each of its controllers, with and without encryption where it can do both.
CASES = [
    *(
        (stack, cc, tls)
        for stack in ("quinn", "noq")
        for cc in ("cubic", "newreno", "bbr")
        for tls in (False, True)
    ),
    *(("aioquic", cc, True) for cc in ("cubic", "newreno")),
]
TSHARK = shutil.which("tshark")


def starter(**sets: Any) -> midflight.Plan:
    values = {STACK: "quinn", **{key.replace("__", "."): value for key, value in sets.items()}}
    return Scenario.read("wifi-to-5g").plan(sets=values)


def flow_of(plan: midflight.Plan) -> dict[str, Any]:
    flows, _ = midflight.run_plans([plan])
    return {name: flows.column(name)[0] for name in flows.column_names}


@pytest.mark.parametrize(("stack", "cc", "tls"), CASES)
def test_two_runs_of_every_controller_are_equal(stack: str, cc: str, tls: bool) -> None:
    sets = {
        "flows__download__stack": stack,
        "flows__download__cc": cc,
        "flows__download__tls": tls,
        "handoffs__0__gap": "500 ms",
    }
    first, again = (flow_of(starter(**sets)) for _ in range(2))
    assert first == again
    assert first["scheme"] == f"{stack}-{cc}"
    assert first["finished_ns"] is not None
    # A packet has 1,167 bytes of data.
    assert first["acked"] == -(-10_000_000 // 1167)
    assert first["sent"] >= first["acked"] * 0.99
    other = flow_of(starter(**sets, seed=2))
    assert other["digest"] != first["digest"]


def test_the_bbr_of_every_stack_draws_from_the_seed() -> None:
    """Both draw when to probe for bandwidth, and have no interface for a seed."""
    for stack in ("quinn", "noq"):
        sets = {"flows__download__stack": stack, "flows__download__cc": "bbr", "handoffs": []}
        runs = [starter(**sets, flows__download__size="60 MB", end="30 s") for _ in range(3)]
        digests = {flow_of(plan)["digest"] for plan in runs}
        assert len(digests) == 1, stack


def test_sizes_are_the_same_with_and_without_encryption() -> None:
    plain, encrypted = (flow_of(starter(flows__download__tls=tls)) for tls in (False, True))
    # The handshakes differ by some bytes; later packets do not.
    assert abs(plain["duration_ns"] - encrypted["duration_ns"]) < 0.03 * plain["duration_ns"]


@pytest.mark.parametrize("stack", ["quinn", "aioquic"])
def test_threads_and_forks_change_nothing(stack: str) -> None:
    size = {"flows.download.size": "2 MB"} if stack == "aioquic" else {}
    at = [{"handoffs.0.at": f"{200 + 50 * i} ms", STACK: stack, **size} for i in range(6)]
    plans = [Scenario.read("wifi-to-5g").plan(sets=sets) for sets in at]
    digests = [
        midflight.run_plans(plans, threads=threads)[0].column("digest") for threads in (1, 3)
    ]
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == len(at)


@pytest.mark.parametrize("stack", STACKS)
def test_a_handoff_without_another_address_is_no_migration(stack: str) -> None:
    events = {}
    for rebind in ("address", "port", "none"):
        sets = {"flows__download__stack": stack, "handoffs__0__rebind": rebind}
        trace = starter(**sets).setup(0).trace()
        rows = zip(trace.column("event"), trace.column("detail"), strict=True)
        events[rebind] = [
            row for row in rows if row[0] in ("migrates", "migrated", "path_validated")
        ]
    assert [name for name, _ in events["address"]] == ["migrates", "migrated", "path_validated"]
    assert ("migrated", "port only") in events["port"]
    assert events["none"] == []


def test_aioquic_does_not_depend_on_the_process(tmp_path: Path) -> None:
    """Neither on the seed of hashes, nor on where objects are in memory: streams are in a set."""
    run = ["run", "wifi-to-5g", "--set", f"{STACK}=aioquic", "--set", "flows.download.size=1 MB"]
    files = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        asked = [*run, "--set", "flows.download.streams=9", "--pcap", str(folder)]
        subprocess.run(
            [sys.executable, "-m", "midflight", *asked],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        files.append({one.name: one.read_bytes() for one in folder.iterdir()})
    assert files[0] == files[1]
    assert len(files[0]["sender.pcapng"]) > 1_000_000


@pytest.mark.parametrize("where", ["dask", "slurm"])
def test_aioquic_gives_the_same_in_other_processes(where: str, tmp_path: Path) -> None:
    """A sweep of it in this process, in two processes of a Dask cluster, and in two local jobs."""
    from distributed import LocalCluster

    from midflight.executors import run_dask, run_local, run_slurm

    scenario = Scenario.read("wifi-to-5g", sets={STACK: "aioquic", "flows.download.size": "1 MB"})
    axes = {"flows.download.cc": ["cubic", "newreno"], "seed": "1,2"}
    sweep = Sweep.of(scenario, axes, shard_cells=1)
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        sweep.begin(folder)
    run_local(sweep, here, sweep.missing(here))
    if where == "dask":
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            run_dask(sweep, there, sweep.missing(there), cluster=cluster)
    else:
        options = {"timeout_min": 5}
        run_slurm(sweep, there, sweep.missing(there), jobs=2, cluster="local", options=options)
    for folder in (here, there):
        sweep.merge(folder)
    tables = [(folder / "flows.csv").read_text(encoding="utf-8") for folder in (here, there)]
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) == 1 + sweep.cells


def test_aioquic_keeps_its_window_on_a_new_address() -> None:
    sets = {"flows__download__stack": "aioquic", "handoffs__0__at": "1 s"}
    trace = starter(**sets).setup(0).trace(only=["cwnd", "migrated", "path_validated"])
    rows = [*zip(trace.column("event"), trace.column("value"), trace.column("by"), strict=True)]
    events = [event for event, *_ in rows]
    assert events.index("migrated") < events.index("path_validated")
    windows = [(value, by) for event, value, by in rows if event == "cwnd"]
    # The first window is that of the handshake; no path begins with another one.
    assert windows[0] == (10.0, "handshake")
    assert "path" not in {by for _, by in windows}
    before = [value for event, value, _ in rows[: events.index("migrated")] if event == "cwnd"][-1]
    after = [value for event, value, _ in rows[events.index("migrated") :] if event == "cwnd"]
    assert before > 20
    assert all(value > 20 for value in after)


def test_without_aioquic_the_scenario_is_refused() -> None:
    """A process without the package, as after `pip install midflight`."""
    program = (
        "import sys; sys.modules['aioquic'] = None\n"
        "from midflight.cli import main\n"
        f"sys.exit(main(['run', 'wifi-to-5g', '--set', '{STACK}=aioquic']))"
    )
    refused = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert refused.returncode == 2
    assert 'the stack "aioquic" is not installed; expected aioquic 1.7.2' in refused.stderr
    assert "pip install 'midflight[aioquic]'" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_another_version_of_aioquic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: "1.6.0")
    assert "is installed as version 1.6.0; expected aioquic 1.7.2" in str(aioquic_stack.check())
    monkeypatch.undo()
    assert aioquic_stack.check() is None


def test_a_folder_named_aioquic_is_not_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "aioquic").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: aioquic_stack.VERSION)
    monkeypatch.delitem(sys.modules, "aioquic", raising=False)
    assert "is not installed; expected aioquic 1.7.2" in str(aioquic_stack.check())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_of_aioquic_is_no_failure_of_it(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def interrupted(*_: object, **_named: object) -> None:
        raise error

    sets = {"flows__download__stack": "aioquic", "flows__download__size": "100 kB"}
    setup = starter(**sets).setup(0)
    for method in ("__init__", "receive", "transmit"):
        with monkeypatch.context() as patch:
            patch.setattr(aioquic_stack.End, method, interrupted)
            with pytest.raises(error):
                setup.trace(flow="download")
            with pytest.raises(error):
                flow_of(starter(**sets))
    # It is raised once.
    assert flow_of(starter(**sets))["finished_ns"] is not None


def test_an_exception_of_aioquic_ends_its_run_and_not_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_args: Any) -> None:
        raise RuntimeError("no such path")

    monkeypatch.setattr(aioquic_stack.End, "migrate", fail)
    with pytest.raises(MidflightError, match="no such path"):
        flow_of(starter(flows__download__stack="aioquic"))
    monkeypatch.undo()
    done = flow_of(starter(flows__download__stack="aioquic", flows__download__size="1 MB"))
    assert done["finished_ns"] is not None


def test_a_program_that_uses_aioquic_gets_random_keys() -> None:
    """The simulator has a copy of the modules, whose random numbers are seeded."""
    flow_of(starter(flows__download__stack="aioquic", flows__download__size="100 kB"))
    connection = importlib.import_module("aioquic.quic.connection")
    assert connection.os is os
    assert importlib.import_module("aioquic.tls").os is os


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_a_new_address_has_a_new_window_and_another_port_keeps_it(stack: str) -> None:
    """RFC 9000 section 9.4; 12,000 bytes are left of the window, which are ten packets."""
    windows = {}
    for rebind in ("address", "port"):
        sets = {"flows__download__stack": stack, "handoffs__0__rebind": rebind}
        trace = starter(**sets).setup(0).trace(only=["cwnd", "migrated"])
        rows = [*zip(trace.column("event"), trace.column("value"), trace.column("by"), strict=True)]
        place = [event for event, *_ in rows].index("migrated")
        windows[rebind] = [(value, by) for event, value, by in rows[place - 1 : place + 3]]
    assert (10.0, "path") in windows["address"]
    assert all(by != "path" for _, by in windows["port"])


def test_a_passive_client_is_found_by_what_it_sends() -> None:
    """An upload shows its new address with its next packet; a download with its next ACK."""
    active, passive = (
        flow_of(starter(flows__download__migration=kind, flows__download__direction="up"))
        for kind in ("active", "passive")
    )
    assert active["finished_ns"] is not None
    assert passive["finished_ns"] is not None


def test_a_connection_without_packets_is_over_after_its_idle_time() -> None:
    plan = starter(
        flows__download__idle="1 s", handoffs__0__gap="5 s", handoffs__0__at="0.5 s", end="20 s"
    )
    flow = flow_of(plan)
    assert flow["finished_ns"] is None
    trace = plan.setup(0).trace(only=["closed"])
    assert trace.column("detail")[0] == "timed out"


def test_tcp_runs_beside_it() -> None:
    plan = Scenario.read("wifi-to-5g").plan(
        sets={
            "flows.quic.stack": "quinn",
            "flows.quic.size": "5 MB",
            "flows.resident.on": "5g",
            "flows.resident.stack": "quinn",
            "flows.resident.cc": "bbr",
            "flows.resident.size": "5 MB",
        }
    )
    flows, _ = midflight.run_plans([plan])
    assert flows.column("flow") == ["download", "quic", "resident"]
    assert flows.column("scheme") == ["sack", "quinn-cubic", "quinn-bbr"]
    assert None not in flows.column("finished_ns")


def test_several_streams_carry_the_same_data() -> None:
    flow = flow_of(starter(flows__download__streams=10, flows__download__size="2 MB"))
    assert flow["acked"] == -(-2_000_000 // 1167)


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (
            {"cc": "vegas"},
            '"vegas" is not a congestion control of the stack "quinn"; expected cubic',
        ),
        ({"scheme": "enhanced"}, '"enhanced" is a scheme of the simulator\'s own sender'),
        ({"profile": "quic"}, '"quic" is a profile of the simulator\'s own sender'),
        ({"streams": 101}, "101 is out of range; expected 1 to 100"),
        ({"idle": "0 s"}, "a connection that is over after less than 1 ms cannot begin"),
        ({"start_notice": True}, "a notice is for a policy of the simulator's own sender"),
        ({"set__initial_window": 4}, "this is a setting of the simulator's own sender"),
        ({"stack": "midflight", "cc": "bbr"}, 'this flow\'s stack is "midflight"'),
        ({"stack": "picoquic"}, "is not accepted; expected"),
        ({"stack": 7}, '"7" is not accepted; expected one of "midflight", "linux", "quinn"'),
        ({"stack": True}, '"true" is not accepted; expected one of "midflight"'),
        ({"migration": 1}, '"1" is not accepted; expected "active" or "passive"'),
        ({"stack": "aioquic", "cc": "bbr"}, 'of the stack "aioquic"; expected newreno, cubic'),
        ({"stack": "aioquic", "tls": False}, "always encrypts, without a null session"),
        ({"stack": "aioquic", "resume": True}, "keeps its window at a migration"),
    ],
)
def test_what_a_stack_lacks_is_refused_in_a_sentence(sets: dict[str, Any], says: str) -> None:
    with pytest.raises(MidflightError) as error:
        starter(**{f"flows__download__{key}": value for key, value in sets.items()})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command_line_reports_who_made_the_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "wifi-to-5g", "--set", f"{STACK}=quinn"]) == 0
    out = capsys.readouterr().out
    assert midflight.QUIC_STACKS["quinn"] in out
    assert "quinn-cubic" in out


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
@pytest.mark.parametrize("stack", STACKS)
def test_tshark_decrypts_a_capture(stack: str, tmp_path: Path) -> None:
    assert TSHARK is not None
    small = {
        "flows__download__size": "300 kB",
        "handoffs__0__at": "0.05 s",
        "flows__download__stack": stack,
    }
    setup = starter(flows__download__tls=True, **small).setup(0)
    captures = setup.capture(snaplen=0)
    for place in ("sender", "receiver", "wifi", "5g"):
        file = tmp_path / f"{place}.pcapng"
        file.write_bytes(captures[place])
    fields = ["-T", "json", "-e", "quic.frame_type", "-e", "quic.stream_data", "-e", "ip.src"]
    told = subprocess.run(
        [TSHARK, "-r", str(tmp_path / "sender.pcapng"), *fields, "-e", "_ws.malformed"],
        check=True,
        capture_output=True,
        text=True,
    )
    packets = [one["_source"]["layers"] for one in json.loads(told.stdout)]
    kinds = [kind for one in packets for kind in one.get("quic.frame_type", ())]
    assert len(packets) > 300
    # Path challenges and their answers are encrypted, and so is every stream.
    assert {"26", "27"} <= set(kinds)
    assert sum(8 <= int(kind) <= 15 for kind in kinds) > 250
    assert not any("_ws.malformed" in one for one in packets)
    assert len({source for one in packets for source in one["ip.src"]}) == 3


def long_delay(cc: str, gap: str, *, at: str = "5.03 s") -> midflight.Plan:
    """Return a download that goes to a link with 300 ms, both links of 6.4 Mbit/s."""
    return Scenario.from_dict(
        {
            "wired": {"delay": "0 s"},
            "links": {
                "near": {"rate": "6400 kbit/s", "delay": "9 ms", "queue": "20 packets"},
                "far": {"rate": "6400 kbit/s", "delay": "300 ms", "queue": "320 packets"},
            },
            "flows": {"download": {"stack": "quinn", "cc": cc}},
            "handoffs": [{"at": at, "to": "far", "gap": gap}],
            "end": "25 s",
        }
    ).plan()


@pytest.mark.parametrize(
    ("cc", "gap", "seconds"),
    [
        ("cubic", "none", 2.98),
        ("newreno", "none", 3.03),
        ("bbr", "none", 1.91),
        ("cubic", "500 ms", 4.18),
        ("newreno", "500 ms", 4.03),
        ("bbr", "500 ms", 2.24),
    ],
)
def test_a_hundred_packets_take_as_long_as_with_another_driver(
    cc: str, gap: str, seconds: float
) -> None:
    """Another driver of quinn-proto took so long, with 0.3 s for the last ACK."""
    _, phases = midflight.run_plans([long_delay(cc, gap)])
    assert phases.column("all_new_ns")[1] / 1e9 == pytest.approx(seconds, rel=0.05)


def test_a_path_is_validated_over_both_links() -> None:
    """The same driver found the address at +0.300 s and the path validated at +0.903 s."""
    trace = long_delay("cubic", "none").setup(0).trace(from_ns=5_000_000_000)
    first = {}
    for event, time_ns in zip(trace.column("event"), trace.column("time_ns"), strict=True):
        first.setdefault(event, (time_ns - 5_030_000_000) / 1e9)
    assert first["migrated"] == pytest.approx(0.300, abs=0.005)
    assert first["path_validated"] == pytest.approx(0.903, abs=0.01)
    assert first["amplification_limit"] < first["path_validated"]


@pytest.mark.parametrize("stack", STACKS)
def test_the_stack_writes_its_own_qlog_beside_ours(stack: str, tmp_path: Path) -> None:
    asked = ["run", "wifi-to-5g", "--set", f"{STACK}={stack}", "--qlog", str(tmp_path)]
    assert main([*asked, "--set", "flows.download.size=1 MB"]) == 0
    files = {one.name: one.read_text(encoding="utf-8") for one in tmp_path.iterdir()}
    assert sorted(files) == sorted([f"download.{stack}.sqlog", "download.sqlog"])
    for text in files.values():
        records = [json.loads(record) for record in text.split("\x1e") if record.strip()]
        names = {record["name"] for record in records if "name" in record}
        assert any(name.endswith("packet_sent") for name in names)
    assert Scenario.read("wifi-to-lte").plan().setup(0).stack_log() is None


@pytest.mark.parametrize("stack", STACKS)
def test_what_happens_to_a_path_is_explained(
    stack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = ["--set", f"{STACK}={stack}", "--set", "handoffs.0.gap=500 ms"]
    explain = ["explain", "wifi-to-5g", *sets, "--at", "1.6 s", "--what"]
    assert main([*explain, "migrated"]) == 0
    assert "the server found that the client had another address" in capsys.readouterr().out
    assert main([*explain, "pto"]) == 0
    out = capsys.readouterr().out
    assert "the probe timeout expired for segment" in out
    assert "the probe timeout counts from then" in out
    assert main(["explain", "wifi-to-5g", *sets, "--what", "stall"]) == 0
    assert "progress again" in capsys.readouterr().out


def test_two_stacks_part_where_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    values = ["--a", "flows.download.cc=cubic", "--b", "flows.download.cc=newreno"]
    assert main(["diff", "wifi-to-5g", "--set", f"{STACK}=quinn", *values]) == 1
    assert "events that are the same" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sets", "shows"),
    [
        ({STACK: "quinn", "flows.download.tls": True}, ["quinn", "yes", "another address"]),
        ({STACK: "noq", "flows.download.cc": "bbr"}, ["noq", "another address"]),
        ({STACK: "aioquic"}, ["aioquic", "another address"]),
        (
            {"flows.download.profile": "quic", "handoffs.0.rebind": "port"},
            ["quic-cubic", "another port", "port only"],
        ),
    ],
)
def test_a_report_describes_the_stack_and_paths(
    sets: dict[str, Any], shows: list[str], tmp_path: Path
) -> None:
    page = report_run(
        Scenario.read("wifi-to-5g").plan(sets=sets), tmp_path / "report.html"
    ).read_text(encoding="utf-8")
    assert "Connections and paths" in page
    assert all(word in page for word in [*shows, "path_validated", "migrated"])
    tells = f"{sets.get(STACK)} tells neither a slow-start threshold nor a timer" in page
    assert tells == (STACK in sets)


def test_a_report_of_tcp_has_no_paths(tmp_path: Path) -> None:
    page = report_run(Scenario.read("wifi-to-5g").plan(), tmp_path / "report.html")
    text = page.read_text(encoding="utf-8")
    assert "Connections and paths" not in text
    assert "make before break, another" not in text
