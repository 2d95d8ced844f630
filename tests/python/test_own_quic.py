"""The QUIC sender of the simulator: against quinn, at migrations, in forks, on the command line."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import pytest

import midflight
from midflight import CongestionController, Control, MidflightError, Scenario
from midflight.against import compare_quinn
from midflight.cli import main
from midflight.migration import SENDERS, compare_migration

PROFILE = "flows.download.profile"


def starter(**sets: Any) -> midflight.Plan:
    values = {PROFILE: "quic", **{key.replace("__", "."): value for key, value in sets.items()}}
    return Scenario.read("wifi-to-5g").plan(sets=values)


def rows(plans: list[midflight.Plan], **how: Any) -> tuple[list[dict[str, Any]], ...]:
    tables = midflight.run_plans(plans, **how)
    return tuple(
        [
            {name: table.column(name)[row] for name in table.column_names}
            for row in range(table.num_rows)
        ]
        for table in tables
    )


@pytest.mark.parametrize("cc", ["cubic", "newreno"])
@pytest.mark.parametrize("kind", ["MBB", "BBM"])
@pytest.mark.parametrize("path", ["Wi-Fi to 5G", "LTE to Starlink", "9 ms to 300 ms"])
def test_it_takes_as_long_as_quinn(path: str, kind: str, cc: str) -> None:
    """Medians over instants of the whole transfer and of 100 new packets are within 5 %.

    The row is that of docs/quic.md.
    """
    (row,) = compare_quinn(handoffs=[path], kinds=[kind], controllers=[cc])
    assert row.own_s == pytest.approx(row.quinn_s, rel=0.05)
    assert row.own_hundred_s is not None
    assert row.quinn_hundred_s is not None
    assert row.own_hundred_s == pytest.approx(row.quinn_hundred_s, rel=0.05)
    assert {key: str(value) for key, value in asdict(row).items()} in recorded("against-quinn.csv")


def first_acks(plan: midflight.Plan) -> list[float]:
    """What the first ACKs acknowledge, of those that acknowledge data."""
    trace = plan.setup(0).trace(only=["ack"], until_ns=65_000_000)
    return [value for value in trace.column("value") if value > 0][:4]


def test_a_packet_with_the_handshake_shifts_the_acks() -> None:
    """quinn's client counts the packet with connection identifiers that comes with the handshake.

    Of quinn the first packet with data is a short one, so its ACKs are for one more.
    """
    assert first_acks(starter()) == [2, 4, 6, 8]
    assert first_acks(starter(flows__download__set__handshake_ids="on")) == [1, 3, 5, 7]
    quinn = Scenario.read("wifi-to-5g").plan(sets={"flows.download.stack": "quinn"})
    assert first_acks(quinn) == [3, 5, 7, 9]


def recorded(name: str) -> list[dict[str, str]]:
    """The rows of a file that `midflight compare` wrote for a page."""
    with (Path(__file__).parents[2] / "docs" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_of_the_page_on_migration_is_what_the_command_gives() -> None:
    few = [one for one in SENDERS if one.name in ("as msquic", "quinn (cubic)")]
    got = compare_migration(senders=few, handoffs=["Wi-Fi to 5G"], kinds=["BBM"])
    known = recorded("migration.csv")
    assert all({key: str(v) for key, v in asdict(row).items()} in known for row in got)
    assert {row["sender"] for row in known} == {one.name for one in SENDERS}


def window_after(plan: midflight.Plan) -> float:
    trace = plan.setup(0).trace(only=["cwnd", "migrated"])
    events = trace.column("event")
    place = events.index("migrated")
    later = [
        value
        for event, value, by in zip(
            events[place:], trace.column("value")[place:], trace.column("by")[place:], strict=True
        )
        if event == "cwnd" and by == "path"
    ]
    return later[0]


@pytest.mark.parametrize("gap", [None, "500 ms"])
def test_the_window_after_a_migration_is_quinns(gap: str | None) -> None:
    sets = {"handoffs__0__gap": gap} if gap else {}
    own = starter(flows__download__set__migration="quinn", **sets)
    plan = Scenario.read("wifi-to-5g").plan(
        sets={"flows.download.stack": "quinn", **({"handoffs.0.gap": gap} if gap else {})}
    )
    assert window_after(own) == window_after(plan) == 10.0


def test_forks_and_threads_change_nothing() -> None:
    at = [f"{300 + 40 * i} ms" for i in range(12)]
    plans = [
        starter(handoffs__0__at=one, handoffs__0__gap=gap, flows__download__scheme=scheme)
        for one in at
        for gap in ("none", "300 ms")
        for scheme in ("sack", "careful-resume")
    ]
    digests = [
        midflight.run_plans(plans, **how)[0].column("digest")
        for how in ({"fork": True}, {"fork": False}, {"threads": 3})
    ]
    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests[0])) > 20


def test_events_of_paths_are_those_of_a_stack() -> None:
    names = ["migrates", "migrated", "path_challenge", "path_validated"]
    own = starter().setup(0).trace(only=names).column("event")
    assert own == ["migrates", "migrated", "path_challenge", "path_challenge", "path_validated"]
    port = starter(handoffs__0__rebind="port").setup(0).trace(only=["migrated"])
    assert port.column("detail") == ["port only"]
    none = starter(handoffs__0__rebind="none").setup(0).trace(only=names)
    assert none.num_rows == 0


def test_a_passive_client_is_found_by_its_next_ack() -> None:
    flow = rows([starter(flows__download__migration="passive")])[0][0]
    assert flow["finished_ns"] is not None
    # After a break nothing arrives at a client that has not detected the change: the server has the
    # old address.
    broken = starter(
        flows__download__migration="passive", handoffs__0__gap="500 ms", handoffs__0__at="0.5 s"
    )
    assert rows([broken])[0][0]["finished_ns"] is None


def test_an_upload_keeps_its_address() -> None:
    plan = starter(flows__download__direction="up")
    assert plan.setup(0).trace(only=["migrated"]).num_rows == 0
    assert rows([plan])[0][0]["finished_ns"] is not None


def test_flows_of_other_profiles_run_beside_it() -> None:
    plan = Scenario.read("wifi-to-5g").plan(
        sets={
            PROFILE: "quic",
            "flows.tcp.size": "5 MB",
            "flows.resident.on": "5g",
            "flows.resident.profile": "rfc",
            "flows.resident.size": "5 MB",
        }
    )
    flows = rows([plan])[0]
    assert [row["scheme"] for row in flows] == ["quic-cubic", "sack", "sack"]
    assert all(row["finished_ns"] is not None for row in flows)


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ({"profile": "quick"}, 'there is no profile "quick"'),
        ({"scheme": "eifel"}, "recovery quic knows from packet numbers"),
        ({"scheme": "ld"}, "recovery quic has no duplicate ACKs"),
        ({"scheme": "dcr"}, "recovery quic has ACKs of packet numbers"),
        ({"cc": "bbr"}, "flows of the profile quic have set.congestion"),
        ({"set.migration": "quick"}, "expected rfc9000, quinn"),
        ({"set.acks": "rfc"}, "choose recovery quic with acks quic"),
        ({"profile": "linux", "migration": "passive"}, 'or profile = "quic"'),
        (
            {"profile": "linux", "set.migration": "quinn"},
            'the profile of this flow is "linux"; expected profile = "quic"',
        ),
        ({"profile": "rfc", "set.window_edge": "below"}, 'the profile of this flow is "rfc"'),
    ],
)
def test_what_it_does_not_do_is_refused_in_a_sentence(sets: dict[str, Any], says: str) -> None:
    values = {"profile": "quic", **sets}
    with pytest.raises(MidflightError) as error:
        starter(**{f"flows__download__{key}": value for key, value in values.items()})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_it_has_no_bytes_to_capture() -> None:
    with pytest.raises(MidflightError) as error:
        starter().setup(0).capture()
    assert "would show neither packet numbers nor ACKs" in str(error.value)
    assert 'flow "download" has the profile "quic"' in str(error.value)
    assert "--trace writes the packets" in str(error.value)


@pytest.mark.parametrize(("profile", "wire"), [("quic", 1228), ("linux", 1500)])
def test_a_notice_counts_the_packets_of_the_sender(profile: str, wire: int) -> None:
    seen = []

    class Reads:
        def on_notice(self, notice: Any, view: Any) -> None:
            del view
            seen.append((notice.new.rate_bps, notice.new.round_trip_ns, notice.new.bdp_packets))

    policies = {"reads": Reads}
    sets = {"flows.download.profile": profile, "flows.download.scheme": "reads"}
    scenario = Scenario.read("wifi-to-5g")
    midflight.run_plans([scenario.plan(sets=sets, policies=policies)])
    ((rate, round_trip, packets),) = set(seen)
    assert packets == rate * round_trip // (8_000_000_000 * wire)
    # As `initial-ssthresh` does it in Rust.
    sets["flows.download.scheme"] = "initial-ssthresh"
    trace = scenario.plan(sets=sets).setup(0).trace(only=["ssthresh"])
    assert float(packets) in trace.column("value")


def test_explain_reports_a_migration(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["explain", "wifi-to-5g", "--set", f"{PROFILE}=quic", "--what", "path_validated"]
    assert main(asked) == 0
    assert "path_validated" in capsys.readouterr().out


@pytest.mark.parametrize(("controller", "stack"), [("bbr-linux", "quinn"), ("bbr3", "noq")])
def test_bbr_fills_a_link_that_loses_packets_as_a_stack_does(controller: str, stack: str) -> None:
    """20 MB over 20 Mbit/s, 2 % lost by the radio: at least half of the link, CUBIC a tenth.

    quinn has version 1 and noq version 3.
    """
    seconds = {}
    for name, flow in {
        "cubic": {"profile": "quic"},
        "own": {"profile": "quic", "set": {"congestion": controller}},
        "stack": {"stack": stack, "cc": "bbr"},
    }.items():
        link = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "2 bdp", "loss": "uniform 2%"}
        flows = {"download": {"size": "20 MB", **flow}}
        plan = Scenario.from_dict({"links": {"one": link}, "flows": flows, "end": "60 s"}).plan()
        taken = rows([plan])[0][0]["duration_ns"]
        seconds[name] = inf if taken is None else taken / 1e9
    assert seconds["cubic"] == inf
    assert seconds["own"] < 16
    assert seconds["own"] == pytest.approx(seconds["stack"], rel=0.1)


@pytest.mark.parametrize("gap", [{}, {"gap": "500 ms"}])
def test_bbr_begins_anew_on_a_new_path(gap: dict[str, str]) -> None:
    """Over GEO it sends ten packets first, and soon more than the old path's product of 30. What
    the gap lost on the old path takes nothing from that.
    """
    link = {"rate": "10 Mbit/s", "delay": "18 ms"}
    values = {
        "links": {"near": link, "far": {**link, "delay": "300 ms"}},
        "flows": {"download": {"profile": "quic", "set": {"congestion": "bbr-linux"}}},
        "handoffs": [{"at": "2 s", "to": "far", **gap}],
        "end": "12 s",
    }
    trace = Scenario.from_dict(values).plan().setup(0).trace(only=["cwnd", "migrated"])
    events = [*zip(trace.column("event"), trace.column("value"), trace.column("by"), strict=True)]
    place = [event for event, *_ in events].index("migrated")
    windows = [(value, by) for event, value, by in events[place:] if event == "cwnd"]
    assert windows[0] == (10.0, "path")
    assert min(value for value, _ in windows) >= 10
    assert max(value for value, _ in windows) > 500


def test_a_controller_in_python_is_called_as_with_tcp() -> None:
    """At the opening, at ACKs and losses, and once more when a new path begins."""

    class Halving(CongestionController):
        calls: ClassVar[Counter[str]] = Counter()

        def on_open(self, view: Any) -> None:
            assert view.cwnd == 10
            self.calls["open"] += 1

        def on_ack(self, view: Any) -> Control:
            self.calls["ack"] += 1
            return Control(cwnd=view.cwnd + view.newly_delivered)

        def on_loss(self, view: Any) -> Control:
            self.calls["loss"] += 1
            return Control(ssthresh=max(view.cwnd / 2, 2))

    sets = {
        PROFILE: "quic",
        "flows.download.scheme": "halving",
        "links.wifi.queue": "50 packets",
    }
    policies = {"halving": Halving}
    found = Scenario.read("wifi-to-5g", sets=sets, policies=policies).run(policies=policies)
    assert found.flows.column("finished_ns")[0] is not None
    assert Halving.calls["open"] == 2
    assert Halving.calls["ack"] > 1000
    assert Halving.calls["loss"] > 0


def test_careful_resume_takes_less_time_on_a_long_path() -> None:
    """250 Mbit/s down, 20 up, 600 ms: the window of half a product in place of a slow start."""
    seconds = {}
    for scheme in ("sack", "careful-resume"):
        plan = Scenario.from_dict(
            {
                "profile": "quic",
                "links": {
                    "geo": {"rate": "250 Mbit/s", "delay": "300 ms", "up": {"rate": "20 Mbit/s"}}
                },
                "flows": {
                    "download": {"size": "50 MB", "scheme": scheme, "start_notice": True},
                },
                "end": "60 s",
            }
        ).plan()
        flow = rows([plan])[0][0]
        assert flow["drops_queue"] == 0
        seconds[scheme] = flow["duration_ns"] / 1e9
    assert seconds["careful-resume"] < 0.75 * seconds["sack"]


def test_the_comparison_has_a_row_for_each_sender() -> None:
    few = [one for one in SENDERS if one.name in ("as quinn", "as picoquic", "TCP, reconnecting")]
    got = compare_migration(senders=few, handoffs=["Wi-Fi to 5G"], instants_s=[3.0])
    assert [(row.sender, row.kind) for row in got] == [
        (one.name, kind) for kind in ("MBB", "BBM") for one in few
    ]
    for row in got:
        assert row.seconds_1mb is not None
        assert row.seconds_20mb is not None
        assert row.seconds_1mb < row.seconds_20mb
        assert 0 < row.resident <= 1.0


def test_the_command_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "rows.csv", tmp_path / "rows.svg"
    asked = ["compare", "migration", "--handoff", "LTE to Starlink", "--instants", "1"]
    asked += ["--sender", "as quinn", "--sender", "quinn (bbr)"]
    assert main([*asked, "--csv", str(file), "--figure", str(picture)]) == 0
    assert "LTE to Starlink" in capsys.readouterr().out
    assert len(file.read_text().splitlines()) == 5
    assert picture.read_bytes().startswith(b"<?xml")
    assert main([*asked, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 4


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["handoffs"], 'there is no comparison "handoffs"; expected migration, quinn'),
        (["quinn", "--figure", "a.png"], "--figure is for the comparison migration"),
        (["quinn", "--handoff", "5G"], '--handoff "5G" is not accepted; expected Wi-Fi to 5G'),
        (
            ["migration", "--sender", "quic-go"],
            '--sender "quic-go" is not accepted; expected as quinn',
        ),
        (["migration", "--handoff", "5G"], '--handoff "5G" is not accepted; expected Wi-Fi to 5G'),
        (["migration", "--figure", "a.jpg"], "is not the name of a figure"),
    ],
)
def test_bad_input_is_one_sentence(
    asked: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *asked]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
