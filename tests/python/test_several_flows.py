"""Several flows over one handoff, and how connections start: tables, helpers and command line."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re

import numpy as np
import pytest

import midflight
from midflight import Flow, Link, MidflightError, Scenario
from midflight.cli import main
from midflight.results import Columns, RunTable, StartupTable, by_flow, jain, slowest
from midflight.studies.runs import Cell, Runs, Startup, Sweep, Trace
from midflight.studies.runs import Link as StudyLink

OLD, NEW = "6400 kbit/s, 9 ms", "200 kbit/s, 300 ms"
PAIR = ["--old", OLD, "--new", NEW]
SECOND = 1_000_000_000
LATER = {"loss_wait_max_ns", "loss_wait_mean_ns", "losses_timed_out"}
# Of every column of these sweeps, and of their first run; those of ns2 from before there could be
# several flows.
ALONE = {
    ("mbb", "ns2"): ("ec2e667ad7c6dfe7a8dc134ec6438cf5", "f85e7302f570214eaf9595f6226a23bb"),
    ("mbb", "rfc"): ("b7347cf8d25ea426827e968a16e93376", "24a75f82116013e22654e5bee9f4922c"),
    ("bbm", "ns2"): ("d58b1a206ad0d59e27beb267bbe3b2b1", "b4ffa1ed08a0bb746603f80824e8d524"),
    ("bbm", "rfc"): ("6f99dad143b47d08855aeee8395dab69", "61ceb88aa0609012ca010880b4504932"),
}


@pytest.mark.parametrize(("kind", "profile"), ALONE)
def test_one_flow_is_what_it_was(kind: str, profile: str) -> None:
    table = midflight.handoff(
        old=OLD,
        new=NEW,
        kind=kind,
        profile=profile,
        at_ns=midflight.parse_instants("0.1s,3.3s,8.2s,17s"),
        schemes=["sack", "enhanced", "freeze"],
        packets=60,
        extra_packets=[20, 90],
    )
    added = {"flow": 0, "resident": 0, "acked_window": None}
    columns = hashlib.blake2b(digest_size=16)
    for name in table.column_names:
        if name in added:
            assert set(table.column(name)) == {added[name]}
        elif name not in LATER:
            columns.update(repr((name, table.column(name))).encode())
    assert (columns.hexdigest(), table.column("digest")[0]) == ALONE[kind, profile]


def several(**more: object) -> midflight.Table:
    asked = {"at_ns": [3 * SECOND, 8 * SECOND], "schemes": ["sack", "enhanced"], **more}
    asked = {"profile": "ns2", **asked}
    return midflight.handoff(old=OLD, new="1 Mbit/s, 50 ms", **asked)  # type: ignore[arg-type]


def test_the_clocks_of_flows_tick_alike_unless_set_apart() -> None:
    def digests(step: str, flows: int = 2) -> list[str]:
        # With an RTO this short the estimate affects what is sent.
        knobs = {"min_rto": "10 ms", "rtt_tick_phase_step": step}
        return list(several(flows=flows, schemes=["sack"], knobs=knobs).column("digest"))

    alike = digests("0 ns")
    # A whole tick later is the same phase.
    assert alike == digests("10 ms")
    assert alike != digests("5 ms")
    # Alone a flow is the first.
    assert digests("0 ns", flows=1) == digests("5 ms", flows=1)


def test_rows_are_by_scheme_instant_and_flow() -> None:
    table = several(flows=3, residents=2, stagger_ns=10_000_000, window_ns=5 * SECOND)
    assert table.column("flow") == [0, 1, 2, 3, 4] * 4
    assert table.column("resident") == [0, 0, 0, 1, 1] * 4
    assert table.column("scheme") == ["sack"] * 10 + ["enhanced"] * 10
    assert table.column("th_ns") == ([3 * SECOND] * 5 + [8 * SECOND] * 5) * 2
    digests = table.column("digest")
    assert len(set(digests)) == 4
    assert digests == [one for one in digests[::5] for _ in range(5)]
    acked = by_flow(table, "acked_window")
    assert acked.shape == (4, 5)
    # 5 s at 1 Mbit/s are 416 packets, and what was on its way before them counts too.
    assert (acked.sum(axis=1) < 416 + 60).all()
    assert (acked.sum(axis=1) > 250).all()


COLUMNS = {
    "scheme": ["a"] * 6,
    "flow": [0, 1, 2, 0, 1, 2],
    "resident": [0, 0, 1, 0, 0, 1],
    "t_new_ns": [30, 40, 99, 50, None, 99],
    "t_ack_ns": [35, 20, 99, 50, 70, 99],
    "first_rto_ns": [None, 7, 8, 9, None, 8],
    "nrto": [1, 2, 9, 0, 5, 9],
    "acked_window": [None] * 6,
    "cwnd": [1.5, 2.5, 9.0, 3.5, 4.5, 9.0],
    "digest": ["x"] * 3 + ["y"] * 3,
}


def test_the_slowest_flow_of_a_run() -> None:
    found = slowest(Columns(COLUMNS))
    assert found.column_names == list(COLUMNS)
    assert len(found) == 2
    expected = {
        "flow": [1, 1],
        "t_new_ns": [40, None],
        "t_ack_ns": [35, 70],
        "first_rto_ns": [7, None],
        "nrto": [3, 5],
        "acked_window": [None, None],
        "cwnd": [2.5, 4.5],
        "digest": ["x", "y"],
    }
    assert {name: found.column(name) for name in expected} == expected
    times = RunTable(Columns(COLUMNS)).slowest.transfer_time_s
    assert times[0] == 40e-9
    assert math.isnan(times[1])


def test_the_slowest_of_one_flow_is_that_flow() -> None:
    table = several(extra_packets=[10])
    found = slowest(table)
    for name in table.column_names:
        assert found.column(name) == table.column(name)


def test_the_slowest_of_real_flows() -> None:
    table = several(flows=4, residents=1)
    found = slowest(table)
    times, timeouts = by_flow(table, "t_new_ns")[:, :4], by_flow(table, "timeouts")[:, :4]
    assert found.numpy("t_new_ns").tolist() == times.max(axis=1).tolist()
    assert found.numpy("flow").tolist() == times.argmax(axis=1).tolist()
    assert found.numpy("timeouts").tolist() == timeouts.sum(axis=1).tolist()
    assert found.column("scheme") == ["sack", "sack", "enhanced", "enhanced"]


def test_jains_index_by_hand() -> None:
    assert jain([7, 7, 7, 7]) == 1.0
    assert jain([5]) == 1.0
    assert jain([1, 0, 0, 0]) == 0.25
    assert jain([3, 3, 0, 0]) == 0.5
    # (1 + 2 + 3)^2 / (3 (1 + 4 + 9)) = 36 / 42
    assert jain([1, 2, 3]) == pytest.approx(6 / 7)
    assert all(math.isnan(jain(values)) for values in ([], [0, 0], [1, math.nan]))


def test_a_flow_of_several_is_traced() -> None:
    table = several(flows=2, residents=1, schemes=["sack"], at_ns=[3 * SECOND])
    for flow, maxseq in enumerate(table.column("maxseq")):
        trace = midflight.trace(
            old=OLD,
            new="1 Mbit/s, 50 ms",
            at_ns=None,
            scheme="sack",
            flows=2,
            residents=1,
            profile="ns2",
            flow=flow,
            until_ns=3 * SECOND,
        )
        sent = [
            value
            for event, value in zip(trace.column("event"), trace.column("value"), strict=True)
            if event == "send"
        ]
        assert max(sent) == maxseq
    with pytest.raises(midflight.MidflightError, match="flow to trace 3"):
        midflight.trace(
            old=OLD, new=NEW, at_ns=None, scheme="sack", until_ns=SECOND, flows=3, flow=3
        )


def test_jobs_of_several_flows_and_of_starts() -> None:
    cell = Cell(StudyLink(6400, 9), StudyLink(1000, 50), "bbm")
    sweep = Sweep(cell, "sack", (3 * SECOND, 8 * SECOND), flows=2, residents=1, window_s=4.0)
    slow = Sweep(cell, "sack", (3 * SECOND,), gap_s=2.0, profile="rfc")
    start = Startup(StudyLink(20_000, 15), "sack", flows=3, packets=(10, 200), stagger_s=0.01)
    trace = Trace(cell, "sack", 3.0, 4.0, flows=2, flow=1)
    told: list[tuple[int, int]] = []
    runs = Runs()
    runs.make([sweep, slow, start, trace], lambda _what, done, total: told.append((done, total)))
    assert told[-1] == (5, 5)
    assert {total for _, total in told} == {5}
    table = runs[sweep]
    assert len(table) == 6
    assert table.by_flow("acked_window").shape == (2, 3)
    assert len(table.slowest) == 2
    assert runs[slow]["t_new_ns"][0] > 2 * SECOND
    found = runs[start]
    assert isinstance(found, StartupTable)
    assert (len(found), found.newcomers) == (3, 3)
    times = found.time_s(200)
    assert found.goodput_bit_s(200) == pytest.approx(200 * 1460 * 8 / times)
    assert found.total("drops_data") == sum(found["drops_data"])
    assert len(runs[trace]) > 0
    assert set(runs.made) == {sweep, slow, start, trace}
    again = Runs()
    again.make([start, slow, trace, sweep])
    assert again.digest() == runs.digest()


def test_summary_of_several_flows(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["handoff", *PAIR, "--at", "2s,8s", "--scheme", "sack", "--scheme", "enhanced"]
    more = ["--flows", "4", "--residents", "2", "--stagger", "50ms", "--window", "10s"]
    assert main([*args, *more]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert "flows 4; stagger 50ms; residents 2; window 10s" in lines[0] + " " + lines[1]
    assert "Times are those of the slowest flow" in " ".join(captured.out.split())
    assert lines[-3].split()[-2:] == ["acked", "jain"]
    count = r"\d+(\.\d\d)?"
    for line, scheme in zip(lines[-2:], ["sack", "enhanced"], strict=True):
        assert re.fullmatch(rf"{scheme}( +\d+\.\d{{3}}){{3}}( +{count}){{5}} +0\.\d{{3}}", line)


def test_csv_and_json_of_several_flows(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["handoff", *PAIR, "--at", "2s,8s", "--flows", "2", "--residents", "1"]
    assert main([*args, "--window", "3s", "--csv", "-"]) == 0
    runs = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(runs[0])[:4] == ["scheme", "th_ns", "flow", "resident"]
    assert list(runs[0])[-2:] == ["acked_window", "digest"]
    assert [one["flow"] for one in runs] == ["0", "1", "2"] * 2
    assert main([*args, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["manifest"]["question"]["keywords"]["flows"] == 2
    assert [one["resident"] for one in found["runs"]] == [0, 0, 1] * 2
    slow = max(one["t_new_ns"] for one in found["runs"][:2])
    slower = max(one["t_new_ns"] for one in found["runs"][3:5])
    assert found["schemes"][0]["median_ns"] == pytest.approx((slow + slower) / 2)


STARTUP = ["startup", "--link", "20 Mbit/s, 15 ms", "--profile", "ns2"]


def test_summary_of_starts(capsys: pytest.CaptureFixture[str]) -> None:
    args = [*STARTUP, "--scheme", "sack", "--scheme", "westwood", "--flows", "4"]
    assert main([*args, "--packets", "10,300", "--residents", "1", "--window", "2s"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert "flows 4; packets 10,300; residents 1; window 2s; profile ns2" in lines[0]
    heads = ["scheme", "first_10", "first_300", "drops", "rexmits", "timeouts", "acked", "jain"]
    assert lines[-3].split() == heads
    for line, scheme in zip(lines[-2:], ["sack", "westwood"], strict=True):
        assert re.fullmatch(rf"{scheme}( +\d+\.\d{{3}}){{2}}( +\d+){{4}} +0\.\d{{3}}", line), line


def test_goodput_is_payload_over_the_time_from_the_syn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    args = [*STARTUP, "--flows", "2", "--packets", "10,100", "--stagger", "5ms"]
    assert main([*args, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    times = np.array([one["t_100_ns"] / 1e9 for one in found["runs"]])
    goodput = found["schemes"][0]["first_100_bps"]
    assert goodput == pytest.approx(np.mean(100 * 1460 * 8 / times))
    assert [one["opened_ns"] for one in found["runs"]] == [0, 5_000_000]
    assert main([*args, "--csv", "-"]) == 0
    flows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [int(one["t_100_ns"]) / 1e9 for one in flows] == pytest.approx(times)
    assert [one["digest"] for one in flows] == [one["digest"] for one in found["runs"]]


def test_a_start_that_is_not_over_is_unfinished(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*STARTUP, "--packets", "10,100000", "--end", "1s"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"sack +\d+\.\d{3} +-( +\d+){3} +1", line)
    assert main([*STARTUP, "--packets", "10,100000", "--end", "1s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schemes"][0]["first_100000_bps"] is None


def test_what_has_no_effect_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    idle = ["--stagger", "1ms", "--resident-scheme", "dcr"]
    assert main(["handoff", *PAIR, "--profile", "rfc", "--at", "2s", *idle]) == 0
    assert capsys.readouterr().err.count("has no effect") == 2
    assert main([*STARTUP, "--packets", "10", *idle, "--lead", "1s"]) == 0
    assert capsys.readouterr().err.count("has no effect") == 3


# The wrong input, and the words that the error must contain: what was read, and what is accepted.
HANDOFF = ["handoff", *PAIR, "--at", "2s"]
MISTAKES = {
    "no flows": ([*HANDOFF, "--flows", "0"], ["--flows", '"0"', "1 to 64"]),
    "too many flows": ([*HANDOFF, "--flows", "65"], ["--flows", "64"]),
    "residents in words": ([*HANDOFF, "--residents", "some"], ["--residents", "0 to 64"]),
    "flows that open too late": (
        [*HANDOFF, "--flows", "4", "--stagger", "1s"],
        ["2 s", "3 s", "expected"],
    ),
    "a window that is not over": (
        [*HANDOFF, "--window", "20s", "--end", "20s"],
        ["window of 20 s", "ends at 20 s"],
    ),
    "no window": ([*HANDOFF, "--window", "0s"], ["window 0 s"]),
    "an unknown sender of residents": (
        [*HANDOFF, "--residents", "1", "--resident-scheme", "vegas"],
        ["vegas", "midflight list schemes"],
    ),
    "two ways of output": ([*STARTUP, "--csv", "-", "--json"], ["--csv", "--json"]),
    "no link": (["startup"], ["--link"]),
    "packets that do not ascend": ([*STARTUP, "--packets", "10,10"], ["10, 10", "larger"]),
    "packets in words": ([*STARTUP, "--packets", "10,many"], ["--packets", '"many"']),
    "starts after the end": (
        [*STARTUP, "--flows", "3", "--stagger", "1s", "--end", "2s"],
        ["end of the run 2 s", "after the last flow opens"],
    ),
    "an unknown scheme to start": (
        [*STARTUP, "--scheme", "vegas"],
        ["vegas", "midflight list schemes"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    args, words = MISTAKES[mistake]
    assert main(args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("midflight: ")
    for word in words:
        assert word in captured.err


@pytest.mark.parametrize("scheme", ["sack", "quick-start"])
def test_the_ack_of_the_syn_is_delayed_for_every_scheme_alike(
    scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def goodput(*sets: str) -> float:
        options = [word for each in sets for word in ("--set", each)]
        command = ["startup", "--link", "50 Mbit/s, 15 ms", "--scheme", scheme, "--packets", "2"]
        command += ["--profile", "ns2"]
        assert main([*command, *options, "--json"]) == 0
        schemes = json.loads(capsys.readouterr().out)["schemes"]
        return float(schemes[0]["first_2_bps"]) / 1e3

    # ns-2's 100 ms, from the SYN to the ACK of the first two packets.
    bits = 2 * 1460 * 8
    on, off = (bits / goodput(f"set.delay_syn_ack={value}") for value in ("on", "off"))
    assert on - off == pytest.approx(100.0, abs=0.01)
    assert bits / goodput() == pytest.approx(on)


def test_a_flow_of_a_scenario_has_its_own_clock_and_delay_of_the_syn() -> None:
    def finished(**own: str) -> tuple[list[int], list[str]]:
        outcome = Scenario(
            profile="ns2",
            links={"wifi": Link(preset="wifi"), "lte": Link(preset="lte")},
            flows={"a": Flow(size="20 kB"), "b": Flow(size="20 kB", set=own)},
            end="20 s",
        ).run()
        return list(outcome.flows.column("finished_ns")), outcome.digests

    plain, digests = finished()
    soon, _ = finished(delay_syn_ack="off")
    assert soon[0] == pytest.approx(plain[0], abs=2e7)
    assert plain[1] - soon[1] == pytest.approx(1e8, abs=2e7)
    assert finished(rtt_tick_phase="5.558807 ms") == (plain, digests)
    with pytest.raises(MidflightError, match=r"flows\.b\.set\.rtt_tick_phase_step"):
        finished(rtt_tick_phase_step="soon")
