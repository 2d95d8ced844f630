"""noq with two paths at a time: which packets use which path, twice alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight import MidflightError, Scenario
from midflight.cli import main
from midflight.run_report import report_run

OLD, NEW = "10.1.0.1", "10.2.0.1"
HANDOFF_NS = 1_000_000_000
ON = {"flows.download.stack": "noq", "flows.download.multipath": True}


def plan(**sets: Any) -> midflight.Plan:
    return Scenario.read("wifi-to-5g").plan(sets={**ON, **sets})


def events(one: midflight.Plan, **of: Any) -> list[dict[str, Any]]:
    trace = one.setup(0).trace(**of)
    columns = {name: trace.column(name) for name in trace.column_names}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def path_events(one: midflight.Plan) -> list[tuple[str, str, float]]:
    """Events of paths, with their address and the time since the handoff."""
    return [
        (row["event"], row["detail"], (row["time_ns"] - HANDOFF_NS) / 1e9)
        for row in events(one, from_ns=HANDOFF_NS)
        if row["event"].startswith(("path_", "migrat"))
    ]


@pytest.mark.parametrize("gap", ["none", "500 ms"])
@pytest.mark.parametrize("tls", [False, True])
def test_two_runs_are_equal_to_the_byte(gap: str, tls: bool) -> None:
    def run(seed: int) -> list[Any]:
        setup = plan(**{"handoffs.0.gap": gap, "flows.download.tls": tls, "seed": seed}).setup(0)
        captures = setup.capture()
        return [setup.stack_log(), captures]

    assert run(1) == run(1)
    assert run(1)[1] != run(2)[1]


def test_a_second_path_is_opened_and_data_stay_on_the_old_one_until_it_is_validated() -> None:
    """Wi-Fi has 10 ms one way and 5G 16 ms: a round trip validates each end's path."""
    seen = path_events(plan())
    names = [name for name, _, _ in seen if name != "path_challenge"]
    assert names == [
        "path_opened",
        "path_found",
        "path_validated",
        "path_closed",
        "path_validated",
        "path_used",
    ]
    first = {name: (detail.split(":")[0], s) for name, detail, s in reversed(seen)}
    assert first["path_opened"] == (NEW, 0.0)
    assert first["path_found"] == (NEW, pytest.approx(0.016, abs=0.001))
    assert first["path_closed"] == (OLD, pytest.approx(0.032, abs=0.001))
    assert first["path_used"] == (NEW, pytest.approx(0.048, abs=0.001))
    arrived = [
        (row["sent_ns"] > HANDOFF_NS + 48_400_000, row["link"])
        for row in events(plan(), from_ns=HANDOFF_NS)
        if row["event"] == "rcv"
    ]
    assert set(arrived) == {(False, "wifi-mobile"), (True, "5g-mobile")}
    # Without another path nothing goes over the old one after the server knows the new address.
    alone = plan(**{"flows.download.multipath": False})
    assert "path_opened" not in [name for name, _, _ in path_events(alone)]


def test_packets_have_the_address_of_their_link() -> None:
    captures = plan().setup(0).capture(snaplen=40)
    for link, own, other in [("wifi", OLD, NEW), ("5g", NEW, OLD)]:
        address = bytes(map(int, own.split(".")))
        assert captures[link].count(address) > 100
        assert bytes(map(int, other.split("."))) not in captures[link]


def test_a_hundred_packets_come_sooner_than_after_a_migration() -> None:
    def hundred(multipath: bool) -> float:
        _, phases = midflight.run_plans([plan(**{"flows.download.multipath": multipath})])
        seconds: float = phases.column("all_new_ns")[1] / 1e9
        return seconds

    assert hundred(multipath=True) < 0.5 * hundred(multipath=False)


def test_after_a_break_the_new_path_replaces_the_old_one() -> None:
    seen = path_events(plan(**{"handoffs.0.gap": "500 ms"}))
    names = [name for name, _, _ in seen if name != "path_challenge"]
    assert names == ["migrates", "path_closed", "path_found", "path_validated", "path_used"]


def test_several_handoffs_open_several_paths() -> None:
    sets = {
        "handoffs.0.at": "0.4 s, 0.9 s",
        "handoffs.0.to": ["5g", "wifi"],
        "flows.download.size": "8 MB",
    }
    used = [row["detail"] for row in events(plan(**sets)) if row["event"] == "path_used"]
    assert [address.split(":")[0] for address in used] == [NEW, OLD]


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ({"stack": "quinn", "multipath": True}, 'the stack "quinn" has one path at a time'),
        ({"stack": "aioquic", "multipath": True}, 'the stack "aioquic" has one path at a time'),
        ({"stack": "noq", "multipath": True, "migration": "passive"}, "knows its address"),
        ({"multipath": True}, "this is for a flow over QUIC"),
        ({"stack": "noq", "multipath": "yes"}, "yes"),
    ],
)
def test_what_has_no_paths_is_refused_in_a_sentence(sets: dict[str, Any], says: str) -> None:
    with pytest.raises(MidflightError) as error:
        Scenario.read("wifi-to-5g").plan(
            sets={f"flows.download.{key}": value for key, value in sets.items()}
        )
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_explain_and_report_show_the_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = [word for key, value in ON.items() for word in ("--set", f"{key}={str(value).lower()}")]
    assert main(["explain", "wifi-to-5g", *sets, "--what", "path_used", "--at", "1.06 s"]) == 0
    assert f"on which the client is {NEW}" in capsys.readouterr().out
    page = report_run(plan(), tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(word in page for word in ("path_opened", "path_used", "path_closed", NEW))


@pytest.mark.parametrize("ms", [3025, 3030, 3040, 3045])
def test_a_handoff_within_the_handshake_leaves_the_old_link(ms: int) -> None:
    """No path can be opened yet, so the connection migrates as one with a single path does."""
    early = {"flows.download.start": "3 s", "handoffs.0.at": f"{ms} ms"}

    def duration(*, multipath: bool) -> float:
        one = plan(**early, **{"flows.download.multipath": multipath})
        flows, _ = midflight._core.run_plans([one])
        return float(flows.column("duration_ns")[0])

    assert duration(multipath=True) < 1.2 * duration(multipath=False)
