"""Agents at nodes on the path: scenario keys, knobs, sweeps, tables and explanations."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight import Scenario, _core
from midflight.cli import main

#: A lossy link, and one of the same kind after a time without a link.
LOSSY = """\
[links.a]
rate = "6 Mbit/s"
delay = "20 ms"
queue = "100 packets"
loss = "uniform 1%"

[links.b]
rate = "6 Mbit/s"
delay = "20 ms"
queue = "100 packets"
loss = "uniform 1%"

[flows.download]
size = "3 MB"

[[handoffs]]
at = "3 s"
to = "b"
gap = "500 ms"
"""


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    file = tmp_path / "lossy.toml"
    file.write_text(LOSSY, encoding="utf-8")
    return file


def flow(file: Path, **sets: Any) -> dict[str, Any]:
    """Return the results of the flow of a scenario."""
    flows = Scenario.read(file, sets=sets).run().flows
    return {name: flows.column(name)[0] for name in flows.column_names}


def test_no_agent_is_no_agent(lossy: Path) -> None:
    plain = flow(lossy)
    assert plain["node_sent"] == plain["node_kept"] == 0
    assert flow(lossy, agent="none") == plain
    assert flow(lossy, **{"links.a.agent": "none"}) == plain
    assert flow(lossy, **{"set.snoop_cache": 7}) == plain
    # Equal scenarios have the same key in a cache of results.
    assert "agent" not in Scenario.read(lossy, sets={"agent": "none"}).to_dict()


def test_snoop_hides_the_losses_of_the_radio(lossy: Path) -> None:
    plain, snoop = flow(lossy, handoffs=[]), flow(lossy, handoffs=[], agent="snoop")
    assert plain["rexmits"] >= plain["drops_radio"] > 0
    assert snoop["drops_radio"] > 0
    assert snoop["rexmits"] < snoop["drops_radio"] / 2
    assert snoop["node_sent"] >= snoop["drops_radio"] - snoop["rexmits"]
    assert snoop["duration_ns"] < 0.6 * plain["duration_ns"]


def test_a_supervisor_closes_the_window_over_a_gap(lossy: Path) -> None:
    clean = {f"links.{one}.loss": "uniform 0.0001%" for one in "ab"}
    queues = {f"links.{one}.queue": "1000 packets" for one in "ab"}
    sets = {**clean, **queues, "handoffs.0.at": "1 s", "handoffs.0.gap": "2 s"}
    for profile in ("linux", "ns2"):
        sets["profile"] = profile
        plain, choked = flow(lossy, **sets), flow(lossy, **sets, agent="m-tcp")
        assert plain["timeouts"] > 0
        assert plain["rexmits"] > 50
        # Each timeout of Linux probes the closed window with the first segment.
        assert choked["timeouts"] == choked["rexmits"] == (2 if profile == "linux" else 0)
        assert choked["stall_ns"] < plain["stall_ns"] - 500_000_000
        assert choked["duration_ns"] < plain["duration_ns"]


def test_the_cache_is_handed_over_or_not(lossy: Path) -> None:
    sets = {"agent": "snoop", "links.a.loss": "uniform 0%", "links.b.loss": "uniform 0%"}
    kept, lost = flow(lossy, **sets), flow(lossy, **sets, **{"set.snoop_handover": "off"})
    assert kept["node_sent"] > lost["node_sent"]
    assert kept["rexmits"] <= lost["rexmits"]


def test_a_station_may_have_another_agent_than_the_rest(lossy: Path) -> None:
    one = flow(lossy, **{"links.a.agent": "snoop"})
    other = flow(lossy, agent="snoop", **{"links.b.agent": "none"})
    assert one["digest"] == other["digest"]
    assert one["digest"] != flow(lossy, agent="snoop")["digest"]


def test_without_losses_a_cache_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "clean.toml"
    text = LOSSY.replace('loss = "uniform 1%"\n', "").partition("[[handoffs]]")[0]
    file.write_text(text.replace('"3 MB"', '"100 kB"'), encoding="utf-8")
    snoop, plain = flow(file, agent="snoop"), flow(file)
    assert snoop.pop("delivered_ns") is not None
    assert plain.pop("delivered_ns") is None
    assert snoop == plain


def test_quic_passes_as_it_is(lossy: Path) -> None:
    sets = {"profile": "quic"}
    assert flow(lossy, **sets, agent="snoop")["digest"] == flow(lossy, **sets)["digest"]


def test_an_axis_of_a_sweep(lossy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    axis = "agent=none,snoop,m-tcp"
    assert main(["sweep", str(lossy), "--axis", axis, "--out", str(out)]) == 0
    with (out / "flows.csv").open(encoding="utf-8", newline="") as file:
        found = {row["agent"]: float(row["node_sent"]) for row in csv.DictReader(file)}
    assert found["none"] == 0
    assert found["snoop"] > 0
    assert found["m-tcp"] > 0


def test_a_run_says_what_nodes_did(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(lossy), "--set", "agent=snoop"]) == 0
    said = capsys.readouterr().out
    assert "profile linux, agent snoop on the path" in said
    assert "packets sent and kept back by nodes" in said
    assert "sent-by-nodes" in said
    asked = ["explain", str(lossy), "--set", "agent=snoop", "--what", "node_send"]
    assert main(asked) == 0
    first = capsys.readouterr().out.splitlines()[1].split()[0]
    assert main([*asked, "--at", f"{first}s"]) == 0
    said = capsys.readouterr().out
    assert "a node on the path sent segment" in said


def test_a_knob_without_its_agent_is_reported(
    lossy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(lossy), "--set", "set.snoop_cache=7"]) == 0
    assert "snoop_cache has no effect: no node of this run has snoop" in capsys.readouterr().err
    assert main(["run", str(lossy), "--set", "set.snoop_cache=7", "--set", "agent=snoop"]) == 0
    assert "no effect" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ({"agent": "snopp"}, 'no agent "snopp" (did you mean "snoop"?)'),
        ({"set.snoop_cache": 0}, "expected a whole number of segments from 1 to 100000"),
        ({"flows.download.set.snoop_cache": 7}, "expected it in [set]"),
        (
            {"agent": "snoop", "flows.download.scheme": "quick-start"},
            "expected another scheme, or no agent",
        ),
        (
            {"agent": "snoop", "flows.download.stack": "linux"},
            "expected another stack, or no agent",
        ),
    ],
)
def test_bad_input(lossy: Path, sets: dict[str, Any], says: str) -> None:
    with pytest.raises(midflight.MidflightError) as refused:
        Scenario.read(lossy, sets=sets)
    assert says in str(refused.value)


def test_every_agent_is_reported_with_its_source() -> None:
    for one in _core.agents():
        assert one["source"]
        assert all(knob["name"].startswith(one["name"].replace("-", "_")) for knob in one["knobs"])


def test_a_split_connection_hides_the_losses_of_the_radio(lossy: Path) -> None:
    plain, split = flow(lossy, handoffs=[]), flow(lossy, handoffs=[], agent="i-tcp")
    assert split["drops_radio"] > 0
    assert split["rexmits"] == split["timeouts"] == 0
    assert split["delivered_ns"] <= split["duration_ns"] <= plain["duration_ns"]
    # No more than the station has room for.
    assert 0 < split["acked_ahead"] <= 200
    less = flow(lossy, handoffs=[], agent="i-tcp", **{"set.i_tcp_buffer": 20})
    assert 0 < less["acked_ahead"] <= 20
    assert split["acked_missing"] == 0
    assert plain["delivered_ns"] is None


def test_a_state_moves_or_is_lost_with_what_was_acknowledged(lossy: Path) -> None:
    moved = flow(lossy, agent="i-tcp")
    assert moved["delivered_ns"] is not None
    assert moved["acked_missing"] == 0
    slow = flow(lossy, agent="i-tcp", **{"set.i_tcp_transfer": "2 s"})
    assert slow["delivered_ns"] > moved["delivered_ns"] + 1_000_000_000
    lost = flow(lossy, agent="i-tcp", **{"set.i_tcp_handover": "off"})
    assert lost["delivered_ns"] is None
    assert lost["acked_missing"] > 0


def test_uploads_are_split_too(lossy: Path) -> None:
    up = flow(lossy, agent="i-tcp", **{"flows.download.direction": "up"})
    assert up["delivered_ns"] is not None
    assert up["acked_missing"] == 0


def test_a_gateway_answers_before_the_satellite_does(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    text = '[links.geo]\npreset = "geo"\n\n[flows.download]\nsize = "2 MB"\n'
    file.write_text(text, encoding="utf-8")
    plain, pep = flow(file), flow(file, agent="pep")
    forward = flow(file, agent="pep", **{"set.pep_syn": "forward"})
    assert pep["delivered_ns"] < forward["delivered_ns"] < plain["duration_ns"]
    # A round trip less for the handshake, and windows of 10, 20 and 40 less.
    assert pep["delivered_ns"] < 0.75 * plain["duration_ns"]


def test_a_failed_route_is_reported_and_found_again(lossy: Path) -> None:
    clean = {f"links.{one}.loss": "uniform 0.0001%" for one in "ab"}
    sets = {**clean, "handoffs.0.gap": "3 s", "profile": "ns2"}
    plain, told = flow(lossy, **sets), flow(lossy, **sets, agent="elfn")
    assert told["timeouts"] < plain["timeouts"]


@pytest.mark.parametrize("profile", ["rfc", "ns2", "linux"])
@pytest.mark.parametrize("agent", [one["name"] for one in _core.agents()])
def test_every_agent_ends_its_flows(lossy: Path, agent: str, profile: str) -> None:
    for sets in (
        {},
        {"handoffs": []},
        {"flows.download.direction": "up"},
        {"flows.download.count": 3},
    ):
        # The data that a proxy has acknowledged is lost with its state.
        sets = {**sets, "set.pep_handover": "on", "flows.download.size": "300 kB"}
        scenario = Scenario.read(lossy, sets={**sets, "agent": agent, "profile": profile})
        flows = scenario.run().flows
        assert None not in flows.column("finished_ns"), (agent, sets)
        assert None not in flows.column("delivered_ns"), (agent, sets)
        assert set(flows.column("acked_missing")) == {0}
        again = scenario.run().flows
        assert again.column("digest") == flows.column("digest")


#: A page over two links, with a break after 100 ms.
PAGE = """\
end = "120 s"

[links.a]
rate = "20 Mbit/s"
delay = "10 ms"

[links.b]
rate = "5 Mbit/s"
delay = "40 ms"

[flows.page]
workload = "web"
set = { web_objects = 30, web_object_size = "40 kB" }

[[handoffs]]
at = "100 ms"
to = "b"
gap = "500 ms"
"""


@pytest.mark.parametrize("profile", ["linux", "rfc"])
def test_a_page_needs_the_state_of_a_gateway(tmp_path: Path, profile: str) -> None:
    file = tmp_path / "page.toml"
    file.write_text(PAGE, encoding="utf-8")
    lost = flow(file, agent="pep", profile=profile)
    assert lost["load_ns"] is None
    assert lost["acked_missing"] > 0
    # Its requests have no knobs of agents.
    moved = flow(file, agent="pep", profile=profile, **{"set.pep_handover": "on"})
    assert moved["load_ns"] is not None
    assert moved["acked_missing"] == 0


@pytest.mark.parametrize("gap", [None, "3 s"])
def test_a_supervisor_repairs_what_a_queue_has_dropped(lossy: Path, gap: str | None) -> None:
    """Its segments have new timestamps: with the old ones Linux would discard them (PAWS), and the
    transfer would never end. With the gap it takes 62.5 s.
    """
    sets: dict[str, Any] = {"flows.download.size": "1 MB", "end": "120 s"}
    if gap is None:
        sets["handoffs"] = []
    else:
        sets |= {"handoffs.0.at": "500 ms", "handoffs.0.to": "a", "handoffs.0.gap": gap}
    for one in "ab":
        path = {"rate": "1 Mbit/s", "delay": "100 ms", "queue": "3 packets"}
        sets |= {f"links.{one}.{name}": value for name, value in path.items()}
        sets[f"links.{one}.loss"] = "uniform 0.0001%"
    done = flow(lossy, **sets, agent="m-tcp")
    assert done["duration_ns"] is not None
    assert done["delivered_ns"] is not None


def test_a_transfer_with_local_recovery_ends_after_a_handoff(lossy: Path) -> None:
    """Both links are up: the old station keeps nothing of what still comes to it."""
    sets: dict[str, Any] = {
        "links.a.rate": "20 Mbit/s",
        "links.a.delay": "10 ms",
        "links.a.queue": "2 bdp",
        "links.b.rate": "5 Mbit/s",
        "links.b.delay": "40 ms",
        "links.b.queue": "2 bdp",
        "handoffs.0.at": "500 ms",
        "handoffs.0.gap": "0 s",
    }
    sets |= {f"links.{one}.loss": "uniform 0.0001%" for one in "ab"}
    for profile in ("linux", "rfc", "ns2"):
        done = flow(lossy, **sets, agent="wtcp", profile=profile)
        assert done["duration_ns"] is not None
        assert done["duration_ns"] < 60_000_000_000
