"""Queues with a discipline, from the command line and from Python."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from midflight import Flow, Handoff, Link, MidflightError, Scenario, Setup
from midflight.cli import main
from midflight.plot import figure_of, plot_over_time
from midflight.plot.over_time.curves import Curve
from midflight.plot.over_time.watched import panels_of, watch
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


@pytest.mark.parametrize(
    "queue",
    ["codel", "codel-linux", "fq-codel no-ecn", "fq-codel-linux no-ecn", "pie", "pie-linux"],
)
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


@pytest.mark.parametrize(
    "queue",
    ["codel ecn", "codel-linux ecn", "fq-codel", "fq-codel-linux", "pie ecn", "pie-linux ecn"],
)
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
    """There are columns for early drops and marks if there are any, and only then."""
    file = tmp_path / "slow.toml"
    file.write_text(
        'end = "10 s"\n[links.cell]\nrate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "codel"\n'
        "[flows.download]\n"
    )
    assert main(["run", str(file)]) == 0
    head = capsys.readouterr().out
    # The head promises only what has a column.
    assert "; dropped early by queues" in " ".join(head.split())
    assert " early" in head.splitlines()[4] + head.splitlines()[5]
    assert "mark" not in head
    assert main(["run", str(file), "--set", "links.cell.queue=100 packets"]) == 0
    assert "early" not in capsys.readouterr().out
    assert main(["explain", str(file), "--what", "loss"]) == 0
    listed = capsys.readouterr().out
    assert "data cell early" in listed
    first = listed.split("--at ", 1)[1].split()[0]
    assert main(["explain", str(file), "--at", first, "--what", "drop"]) == 0
    assert "dropped by the discipline of the queue" in capsys.readouterr().out
    assert {"drops_early", "marks"} <= set(METRICS)


def queue_curves(queue: str, flows: dict[str, Flow]) -> tuple[Setup, list[Curve]]:
    """Return a run and the curves of the panel of queues."""
    link = Link(**{**BLOATED, "queue": queue, "up": {"queue": "1000 packets"}})
    scenario = Scenario(links={"cell": link}, flows=flows, end="10 s")
    (run,) = watch(scenario)
    (panel,) = panels_of([run], ["queue"], (0.0, 10.0))
    return run.setup, list(panel.curves)


@pytest.mark.parametrize(
    ("queue", "ecn", "draw", "column"),
    [
        ("codel", "off", "early", "drops_early"),
        ("codel ecn", "on", "marked", "marks"),
        ("50 packets", "off", "full", "drops_queue"),
    ],
)
def test_the_panel_of_queues_marks_what_they_did(
    queue: str, ecn: str, draw: str, column: str
) -> None:
    """There is a mark for each packet, and none of another kind."""
    flows = {"download": Flow(set={"ecn": ecn})}
    _, curves = queue_curves(queue, flows)
    link = Link(**{**BLOATED, "queue": queue, "up": {"queue": "1000 packets"}})
    table = Scenario(links={"cell": link}, flows=flows, end="10 s").run().flows
    marks = {one.draw: len(one.time_s) for one in curves if one.draw != "queue"}
    assert marks == {draw: table.column(column)[0]}
    assert marks[draw] > 0
    (line,) = (one for one in curves if one.draw == "queue")
    assert line.high is not None
    assert all(one.value.max() <= line.high.max() for one in curves)


def test_flows_with_queues_of_their_own_have_backlogs_of_their_own() -> None:
    """Together they are what waits at the link, without the packet in transmission."""
    flows = {"first": Flow(), "second": Flow(start="3 s"), "slow": Flow(start="5 s", size="9 kB")}
    setup, curves = queue_curves("fq-codel no-ecn", flows)
    links, _ = setup.samples()
    rows = setup.backlogs()
    assert {*rows.column("link")} == {"cell"}
    waiting: dict[int, int] = {}
    for at, flow, packets in zip(
        *(rows.column(name) for name in ("time_ns", "flow", "packets")), strict=True
    ):
        assert flow in ("", *flows)
        waiting[at] = waiting.get(at, 0) + packets
    number = rows.column("number")[0]
    at_link = {
        at: packets
        for at, packets, one in zip(
            *(links.column(name) for name in ("time_ns", "packets", "number")), strict=True
        )
        if one == number and at in waiting
    }
    assert max(at_link.values()) > 20
    assert all(at_link[at] - 1 <= packets <= at_link[at] for at, packets in waiting.items())
    lines = {one.label: one for one in curves if one.draw == "steps"}
    assert set(lines) == set(flows)
    # The interval of its first packet may begin before that.
    begins = lines["second"].time_s
    assert begins[0] > 3.0 - 1.5 * (begins[1] - begins[0])
    assert lines["first"].value.max() > lines["slow"].value.max()
    # Without such queues there are none.
    setup, curves = queue_curves("codel", flows)
    assert len(setup.backlogs()) == 0
    assert not any(one.draw == "steps" for one in curves)


def handoffs(forward: bool, *, to: str = "lte", **queue: str) -> Scenario:
    """Return a download that moves from one link to another and back, with gaps."""
    links = {
        name: Link(rate="20 Mbit/s", delay="15 ms", queue="100 packets", **queue)
        for name in ("wifi", "lte")
    }
    moves = [
        Handoff(at="4 s", to=to, gap="1 s", forward=forward),
        Handoff(at="8 s", to="wifi", gap="500 ms", forward=forward),
    ]
    return Scenario(
        links=links, flows={"download": Flow()}, handoffs=moves, notices=False, end="12 s"
    )


@pytest.mark.parametrize("to", ["lte", "wifi"])
def test_a_station_that_forwards_loses_nothing(to: str) -> None:
    """Packets that it has when the node leaves, and that arrive until the node is back, arrive at
    the node.
    """
    lost = handoffs(False, to=to).run().flows
    kept = handoffs(True, to=to).run().flows
    assert lost.column("drops_break")[0] > 50
    assert kept.column("drops_break")[0] == 0
    # Linux's timer expires in a gap of a second; what was kept shows that it need not have.
    assert kept.column("spurious_timeouts")[0] >= 1
    assert 1e9 < kept.column("stall_ns")[0] < lost.column("stall_ns")[0]
    assert kept.column("goodput_bps")[0] > lost.column("goodput_bps")[0]


def test_what_is_forwarded_is_the_same_in_a_fork() -> None:
    """Runs that share a past, and residents of the link that is left, see what they saw."""
    plans = [handoffs(True).but({"flows.download.scheme": one}) for one in ("sack", "enhanced")]
    alone = [one.but({"notices": "true"}).run().digests for one in plans]
    again = [one.but({"notices": "true"}).run().digests for one in plans]
    assert alone == again
    flows = {"download": Flow(), "resident": Flow(on="wifi", size="1 MB", start="3.9 s")}
    base = Scenario(**{**vars(handoffs(True)), "flows": flows})
    rows = base.run().flows
    assert rows.column("finished_ns")[1] is not None
    # A resident's packets are neither kept nor forwarded.
    assert rows.column("finished_ns")[1] < 6e9


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (
            ["links.cell.queue=codell"],
            '"codel", "codel-linux", "fq-codel", "fq-codel-linux", "pie", "pie-linux"',
        ),
        (["links.cell.queue=codel targt 5 ms"], '"targt" is not known'),
        (["wired.queue=pie"], "the wired links are drop-tail"),
        (
            ['changes=[{at = "5 s", link = "cell", queue = "10 packets"}]'],
            "cannot replace the discipline codel of the downlink",
        ),
        (
            ['changes=[{at = "5 s", link = "cell", up = {queue = "pie"}}]'],
            "cannot replace the discipline codel of the uplink",
        ),
        (
            [
                "links.cell.up.queue=10 packets",
                'changes=[{at = "5 s", link = "cell", up = {queue = "pie"}}]',
            ],
            '"pie" cannot replace the drop-tail queue of the uplink',
        ),
        (["links.cell.queue=codel ecn no-ecn"], '"no-ecn" comes after "ecn"'),
        (
            ['handoffs=[{at = "5 s", to = "cell", forward = true}]'],
            "expected a gap, or no forward",
        ),
        (["profile=rfc", "set.ecn=on"], "choose recovery linux and acks linux"),
    ],
)
def test_what_cannot_be_is_refused(sets: list[str], said: str) -> None:
    """One sentence has what was read and what is accepted."""
    pairs = dict(one.split("=", 1) for one in sets)
    link = Link(rate="10 Mbit/s", delay="20 ms", queue="codel")
    scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="10 s")
    with pytest.raises(MidflightError, match=said.replace("(", r"\(")):
        scenario.but(pairs).run()


def test_harq_delays_in_order() -> None:
    """Retransmissions of the radio make round trips longer, and nothing overtakes."""

    def of(reorder: str | None) -> tuple[dict[str, Any], list[float]]:
        link = Link(rate="500 Mbit/s", delay="15 ms", queue="1000 packets", reorder=reorder)
        flows = {"download": Flow(size="600 kB")}
        scenario = Scenario(links={"cell": link}, flows=flows, end="10 s")
        table, events = scenario.run().flows, scenario.trace()
        kinds, values = events.column("event"), events.column("value")
        rtts = [
            1e3 * value for kind, value in zip(kinds, values, strict=True) if kind == "rtt_sample"
        ]
        return {name: table.column(name)[0] for name in table.column_names}, sorted(rtts)

    plain, rtts = of(None)
    radio, late = of("harq 20% 8ms 1ms")
    assert radio["reordered"] == plain["reordered"] == 0
    assert radio["drops_radio"] == 0
    # Nothing waits in the queue; with a failure in five a row of packets has one that is late.
    assert rtts[len(rtts) // 2] < rtts[0] + 2
    assert late[len(late) // 2] > rtts[len(rtts) // 2] + 4
    assert late[-1] > rtts[0] + 16


def test_flows_open_at_random() -> None:
    """A Poisson process by the scenario's seed: the mean gap, and another one with another seed."""
    link = Link(rate="50 Mbit/s", delay="10 ms")
    many = Flow(size="20 kB", count=200, stagger="poisson 100 ms")
    scenario = Scenario(links={"cell": link}, flows={"page": many}, end="60 s")
    opened = [int(one) for one in scenario.run().flows.column("opened_ns")]
    gaps = [b - a for a, b in itertools.pairwise(opened)]
    assert opened[0] == 0
    assert sum(gaps) / len(gaps) == pytest.approx(100e6, rel=0.25)
    # As many are shorter than the mean as an exponential distribution has, 63 %.
    assert 0.5 < sum(gap < 100e6 for gap in gaps) / len(gaps) < 0.75
    again = [int(one) for one in scenario.run().flows.column("opened_ns")]
    assert again == opened
    other = scenario.but({"seed": 2}).run().flows.column("opened_ns")
    assert [int(one) for one in other] != opened
    with pytest.raises(MidflightError, match="poisson 2 s"):
        scenario.but({"flows.page.stagger": "poison 2 s"}).run()


def test_each_direction_changes_by_itself() -> None:
    """A drop-tail direction takes another size where the other one has a discipline."""
    codel, tail = "codel", "100 packets"
    for queue, up, change in [
        (codel, tail, 'up = {queue = "50 packets"}'),
        (tail, codel, 'queue = "50 packets"'),
    ]:
        link = Link(rate="10 Mbit/s", delay="20 ms", queue=queue, up={"queue": up})
        scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="10 s")
        changes = f'[{{at = "5 s", link = "cell", {change}}}]'
        assert scenario.but({"changes": changes}).run().flows.num_rows == 1


def test_explain_names_the_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reduction that answers an echo leads to the marked segment and its queue."""
    file = tmp_path / "slow.toml"
    file.write_text(
        'end = "10 s"\n[links.cell]\nrate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "codel ecn"\n'
        '[flows.download]\nset = { ecn = "on" }\n'
    )
    assert main(["explain", str(file), "--what", "mark"]) == 0
    marks = capsys.readouterr().out.splitlines()
    assert marks[1].endswith("data cell")
    assert main(["explain", str(file), "--at", "10 s", "--what", "ssthresh"]) == 0
    _, _, first, *others = capsys.readouterr().out.splitlines()
    assert "the reduction that answers an echo of congestion" in first
    last = marks[int(marks[0].split()[0])].split()
    named = f"segment {last[3]} was marked (CE) by the discipline of the queue of `cell`"
    assert any(named in line and last[0] in line for line in others[:4])
    assert main(["explain", str(file), "--at", last[0] + "s", "--what", "mark"]) == 0
    assert named in capsys.readouterr().out
    assert main(["run", str(file), "--qlog", str(tmp_path / "logs")]) == 0
    text = (tmp_path / "logs" / "download.sqlog").read_text()
    assert text.count("midflight:packet_marked") == int(marks[0].split()[0])


@pytest.mark.parametrize(
    ("starter", "said"),
    [
        ("background", "cross traffic on lte: pareto 40 Mbit/s 500 ms 500 ms 1.5; run 0 of 30"),
        ("busy-cell", "theirs: always on hsdpa; the links on top are those of mine"),
        ("bufferbloat", "after a handoff data of the old link arrive for 0.32 s"),
        ("wifi-to-lte", ""),
    ],
)
def test_figures_name_what_is_beside_their_lines(starter: str, said: str) -> None:
    figure = figure_of(plot_over_time, starter, ["throughput"])
    head = figure.axes[1].get_title("right").replace("\n", " ")
    assert said in head
    if not said:
        assert head.startswith("means of ")
        assert "old link" not in head
