"""Queues with a discipline, from the command line and from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from midflight import Flow, Link, MidflightError, Scenario
from midflight.cli import main
from midflight.sweep_results import METRICS

#: A long queue on a slow link: half a second of it.
BLOATED = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "500 ms"}


def run(queue: str, flows: dict[str, Flow] | None = None, **more: Any) -> list[dict[str, Any]]:
    """Return the rows of a run's flows over a link with a queue."""
    link = Link(**{**BLOATED, "queue": queue, "up": {"queue": "1000 packets"}})
    scenario = Scenario(
        links={"cell": link}, flows=flows or {"download": Flow()}, end="30 s", **more
    )
    table = scenario.run().flows
    names = table.column_names
    columns = (table.column(name) for name in names)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def rtts(queue: str, ecn: str = "off") -> list[float]:
    """Return the round trips of a download, from ten seconds on, in milliseconds."""
    link = Link(**{**BLOATED, "queue": queue, "up": {"queue": "1000 packets"}})
    flow = Flow(set={"ecn": ecn})
    scenario = Scenario(links={"cell": link}, flows={"download": flow}, end="30 s")
    rows = scenario.trace()
    return [
        1e3 * value
        for at, event, value in zip(
            rows.column("time_ns"), rows.column("event"), rows.column("value"), strict=True
        )
        if event == "rtt_sample" and at > 10e9
    ]


@pytest.mark.parametrize("queue", ["codel", "fq-codel no-ecn", "pie"])
def test_a_discipline_keeps_the_delay_short(queue: str) -> None:
    """A standing queue of half a second becomes one of some tens of milliseconds, at full rate."""
    (plain,) = run("500 ms")
    (row,) = run(queue)
    assert row["goodput_bps"] > 0.9 * plain["goodput_bps"]
    assert row["drops_early"] > 0
    assert row["drops_queue"] == row["marks"] == 0
    # The path alone has 40 ms and the wired part.
    median = sorted(rtts(queue))[len(rtts(queue)) // 2]
    standing = sorted(rtts("500 ms"))[len(rtts("500 ms")) // 2]
    assert median < 100 < 250 < standing


@pytest.mark.parametrize("queue", ["codel ecn", "fq-codel", "pie ecn"])
def test_marks_take_the_place_of_losses(queue: str) -> None:
    """With ECN at both ends nothing is lost, and the window is reduced all the same."""
    (row,) = run(queue, {"download": Flow(set={"ecn": "on"})})
    assert row["marks"] > 5
    assert row["drops_early"] == row["rexmits"] == row["timeouts"] == 0
    assert row["goodput_bps"] > 0.9 * 10e6 * 1448 / 1500
    without = run(queue)[0]
    assert without["marks"] == 0
    assert without["drops_early"] > 0
    values = rtts(queue, "on")
    assert sorted(values)[len(values) // 2] < 100


def test_flows_of_their_own_queues_share_evenly() -> None:
    """Behind fq-codel a flow that begins late has half at once; behind drop-tail it has not."""
    flows = {"first": Flow(), "second": Flow(start="15 s", size="5 MB")}
    shared = {row["flow"]: row for row in run("500 ms", flows)}
    apart = {row["flow"]: row for row in run("fq-codel", flows)}
    assert apart["second"]["goodput_bps"] > 1.3 * shared["second"]["goodput_bps"]
    assert apart["second"]["goodput_bps"] == pytest.approx(0.5 * 10e6 * 1448 / 1500, rel=0.15)


def test_a_threshold_marks_at_once() -> None:
    """Marking above 1 ms keeps the queue near that, without early drops."""
    (row,) = run("codel ce-threshold 1 ms", {"download": Flow(set={"ecn": "on"})})
    assert row["marks"] > 100
    assert row["drops_early"] == 0
    # Senders here have ECT(0), which is none of L4S.
    (other,) = run("codel l4s-threshold 1 ms", {"download": Flow(set={"ecn": "on"})})
    assert other["marks"] == 0


def test_the_table_shows_what_queues_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns for early drops and marks are there where there are some, and only there."""
    file = tmp_path / "slow.toml"
    file.write_text(
        'end = "10 s"\n[links.cell]\nrate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "codel"\n'
        "[flows.download]\n"
    )
    assert main(["run", str(file)]) == 0
    head = capsys.readouterr().out
    assert "dropped early and marked by queues" in head
    assert "early" in head
    assert "marks" not in head.split("marked by queues", 1)[1]
    assert main(["run", str(file), "--set", "links.cell.queue=100 packets"]) == 0
    assert "early" not in capsys.readouterr().out
    assert main(["explain", str(file), "--what", "loss"]) == 0
    listed = capsys.readouterr().out
    assert "data cell early" in listed
    first = listed.split("--at ", 1)[1].split()[0]
    assert main(["explain", str(file), "--at", first, "--what", "drop"]) == 0
    assert "dropped by the discipline of the queue" in capsys.readouterr().out
    assert {"drops_early", "marks"} <= set(METRICS)


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["links.cell.queue=codell"], '"codel", "fq-codel", "pie"'),
        (["links.cell.queue=codel targt 5 ms"], '"targt" is not known'),
        (["wired.queue=pie"], "the wired links are drop-tail"),
        (
            ['changes=[{at = "5 s", link = "cell", queue = "10 packets"}]'],
            "a queue with a discipline keeps it",
        ),
        (["profile=rfc", "set.ecn=on"], "choose recovery linux and acks linux"),
    ],
)
def test_what_cannot_be_is_refused(sets: list[str], said: str) -> None:
    """One sentence names what was read and what is accepted."""
    pairs = dict(one.split("=", 1) for one in sets)
    link = Link(rate="10 Mbit/s", delay="20 ms", queue="codel")
    scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="10 s")
    with pytest.raises(MidflightError, match=said.replace("(", r"\(")):
        scenario.but(pairs).run()
