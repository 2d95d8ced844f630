"""qlog agrees with the trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from midflight import Plan
from midflight.cli import main
from midflight.explain.events import History, Row

MOVE = Path(__file__).parents[1] / "data" / "move.toml"


def test_qlog_says_what_the_trace_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "flows.download.scheme=enhanced", "--set", "handoffs.0.gap=2 s"]
    assert main(["run", str(MOVE), *sets, "--qlog", str(tmp_path)]) == 0
    assert "download.sqlog" in capsys.readouterr().err
    text = (tmp_path / "download.sqlog").read_text()
    # JSON text sequences, RFC 7464: a record separator before each, a line feed after it.
    before, *records = text.split("\x1e")
    assert before == ""
    assert all(record.endswith("}\n") for record in records)
    head, *events = [json.loads(record) for record in records]
    assert head["serialization_format"] == "application/qlog+json-seq"
    values = {"flows.download.scheme": "enhanced", "handoffs.0.gap": "2 s"}
    history = History(Plan(MOVE.read_text(encoding="utf-8"), sets=list(values.items())))
    assert history.digest in head["description"]
    assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    times = [event["time"] for event in events]
    assert times == sorted(times)

    def rows(*names: str) -> list[Row]:
        return [row for row in history.rows if row.event in names]

    def of(name: str) -> list[dict[str, Any]]:
        return [event for event in events if event["name"] == name]

    def numbers(name: str) -> list[tuple[float, int]]:
        return [(one["time"], one["data"]["header"]["packet_number"]) for one in of(name)]

    sent = [(round(row.time_ns / 1e6, 6), row.number) for row in rows("send", "rexmit")]
    assert numbers("quic:packet_sent") == sent
    again = [(round(row.time_ns / 1e6, 6), row.number) for row in rows("rexmit")]
    assert numbers("quic:packet_lost") == again
    received = of("quic:packet_received")
    assert [one["data"]["frames"][0]["acked_ranges"][0][1] for one in received] == [
        row.number for row in rows("ack")
    ]
    assert len(of("quic:timer_updated")) == len(rows("rto"))
    assert len(of("midflight:packet_dropped")) == len(rows("drop"))
    orders = [one["data"] for one in of("midflight:order")]
    assert [f"{o['author']}: {o['order']} because {o['reason']}" for o in orders] == [
        row.detail for row in rows("order")
    ]
    assert [one["data"] for one in of("midflight:notice")] == [
        {"of": "handoff", "from": "wifi", "to": "lte"}
    ]
    # The metrics give the state of the sender at the end, and in between.
    metrics: dict[str, Any] = {}
    by_time: dict[float, dict[str, Any]] = {}
    for one in of("quic:recovery_metrics_updated"):
        metrics |= one["data"]
        by_time[one["time"]] = dict(metrics)
    for time, values in list(by_time.items())[:: len(by_time) // 25]:
        then = history.sender(round(time * 1e6) + 1)
        assert values["congestion_window"] == round(then["cwnd"] * 1448)
        assert values["bytes_in_flight"] == then["flight_size"] * 1448
        assert values["midflight:rto"] * 1e6 == pytest.approx(then["rto_ns"])
    states = [one["data"]["new"] for one in of("quic:congestion_state_updated")]
    assert states[0] == "slow_start"
    assert "recovery" in states
    assert "midflight:timeout_recovery" in states
