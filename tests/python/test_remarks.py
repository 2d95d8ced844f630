"""Notes on scenarios, beside errors and in reports, and what reports say of links and flows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from midflight import Scenario, ScenarioWarning, Sweep
from midflight.cli import main
from midflight.link_cells import link_cells, room_of, trace_words
from midflight.recordings import event_lines
from midflight.remark import remarks_of
from midflight.run_report import report_html
from midflight.scenario import Outcome, read_plan, title_of
from midflight.scenario_cells import flow_settings

RECORDED = """
end = "100 s"
links.cell = { trace = "drive.csv", delay = "20 ms" }
"""
LASTS = 'flows.it: the {} lasts {} s, and the run may last until 100 s; set.{}_length = "{} s"'


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    rows = "\n".join(f"{one},9" for one in range(100))
    (tmp_path / "drive.csv").write_text(f"time_s,rate_mbps\n{rows}\n")
    file = tmp_path / "drive.toml"
    file.write_text(RECORDED + 'flows.it = { workload = "call", start = "1 s" }\n')
    return file


def lengths(file: Path, **sets: str) -> list[str]:
    plan = read_plan(file, sets=[(key.replace("__", "."), text) for key, text in sets.items()])
    return [one for one in remarks_of(plan) if "_length" in one]


def test_an_application_that_ends_before_the_run_is_noted(scenario: Path) -> None:
    (said,) = lengths(scenario)
    assert said.startswith(LASTS.format("call", 30, "call", 99))
    (said,) = lengths(scenario, flows__it__workload="video")
    assert said.startswith(LASTS.format("video", 60, "video", 99))
    # A length that was chosen, and a run that ends with the application, have no note.
    assert not lengths(scenario, flows__it__set__call_length="20 s")
    assert not lengths(scenario, set__call_length="20 s")
    assert not lengths(scenario, end="31 s")
    assert not lengths(scenario, flows__it__workload="web")
    # The advice is a value that is accepted and leaves no note.
    assert not lengths(scenario, flows__it__set__call_length="99 s")


def test_commands_note_it(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(scenario)]) == 0
    assert "the call lasts 30 s" in capsys.readouterr().err
    axis = ["--axis", "flows.it.set.call_length=1s,2s", "--out", str(scenario.parent / "out")]
    assert main(["sweep", str(scenario), *axis]) == 0
    assert "the call lasts" not in capsys.readouterr().err
    axis = ["--axis", "links.cell.queue=20 packets,40 packets"]
    assert main(["sweep", str(scenario), *axis, "--out", str(scenario.parent / "two")]) == 0
    assert "the call lasts 30 s" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--style", "papr"], ["--from", "5000s"]])
def test_an_error_of_a_figure_stands_alone(
    scenario: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    out = ["--out", str(scenario.parent / "a.png")]
    assert main(["plot", str(scenario), "--kind", "throughput", *words, *out]) == 2
    assert "note:" not in capsys.readouterr().err
    assert main(["plot", str(scenario), "--kind", "throughput", *out]) == 0
    assert "note: flows.it: the call lasts 30 s" in capsys.readouterr().err


def test_an_error_of_a_sweep_stands_alone(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(scenario.parent / "out")]
    assert main(["sweep", str(scenario), "--axis", "links.cel.queue=1 packets", *out]) == 2
    assert "note:" not in capsys.readouterr().err


def test_a_report_has_the_notes(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = scenario.parent / "a.html"
    assert main(["report", str(scenario), "--out", str(page)]) == 0
    assert "note: flows.it: the call lasts 30 s" in capsys.readouterr().err
    assert "flows.it: the call lasts 30 s" in page.read_text()


def test_a_report_names_the_recording_and_its_options(scenario: Path) -> None:
    sets = [("links.cell.trace", '{ file = "drive.csv", from = "10 s", holes = "outage" }')]
    links = json.loads(read_plan(scenario, sets=sets).canonical)["links"]
    head, (_, *cells) = link_cells(links)
    said = dict(zip(head[1:], cells, strict=True))["trace"]
    assert said.startswith("drive.csv, ")
    assert {"from = 10 s", "holes = outage"} <= {*said.split(", ")}
    assert trace_words({"model": "starlink", "seed": 3}) == "model starlink, seed = 3"
    columns = {"loss": [0.0, 0.1], "rate_mbps": [1.0, 2.0], "time_s": [0.0, 1.0]}
    trace = {"columns": columns, "interpolation": "linear", "outage": "drop"}
    said = "loss, rate over time, listed in the scenario, linear between its rows"
    assert trace_words(trace) == f"{said}, outages lose packets"


def test_a_report_of_another_recording_is_not_called_as_that_of_the_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does its table give the rates of the preset without saying that the trace has others."""
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("time_s,rate_mbps\n0,5\n1,3\n")
    sets = {"links.lte.trace": "own.csv", "end": "2 s"}
    plan = Scenario.read("drive-test", sets=sets).plan()
    scenario = json.loads(plan.canonical)
    change = ", but with links.lte.trace=own.csv, end=2 s"
    assert title_of(scenario, "midflight report drive-test") == f"drive-test{change}"
    assert title_of(scenario, "") == f"Scenario{change}"
    head, line = link_cells(scenario["links"], recordings=plan.recordings())
    said = dict(zip(head, line, strict=True))
    assert said["rate"] == "50 Mbit/s (the trace overrides it)"
    assert said["delay"] == "15 ms"
    # Of the scenario's own one all are overridden, and its title is right.
    own = Scenario.read("drive-test").plan()
    scenario = json.loads(own.canonical)
    assert title_of(scenario, "midflight report drive-test") == scenario["title"]
    _, line = link_cells(scenario["links"], recordings=own.recordings())
    assert sum(one.endswith("(the trace overrides it)") for one in line) == 3
    # A title without numbers stays.
    other = {"title": "A long trip, but with end=2 s"}
    assert title_of(other, "midflight report trip.toml") == other["title"]


@pytest.mark.parametrize("command", ["run", "plot", "report"])
def test_runs_that_are_equal_have_a_note(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is random in the first one."""
    out = {"plot": "a.png", "report": "a.html"}.get(command)
    to = ["--out", str(tmp_path / out)] if out else []
    words = [command, "wifi-to-lte", *to, "--set", "flows.download.size=100 kB"]
    said = "all 3 runs are equal: nothing is random"
    assert main([*words, "--set", "runs=3"]) == 0
    assert capsys.readouterr().err.count(said) == 1
    for sets in (["runs=1"], ["runs=3", "links.lte.loss=uniform 1%"]):
        assert main([*words, *(word for one in sets for word in ("--set", one))]) == 0
        assert said not in capsys.readouterr().err


def test_a_sweep_whose_runs_are_equal_has_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", "wifi-to-lte", "--runs", "2", "--set", "flows.download.size=100 kB"]
    said = "all 2 runs are equal: nothing is random"
    for axis, count in (("handoffs.0.gap=1s,2s", 1), ("links.lte.loss=none,uniform 1%", 0)):
        out = ["--out", str(tmp_path / str(count))]
        assert main([*words, "--axis", axis, *out]) == 0
        assert capsys.readouterr().err.count(said) == count


def test_a_report_says_how_many_packets_queues_have_room_for() -> None:
    def queues(**links: dict[str, object]) -> dict[str, str]:
        made = Scenario.from_dict({"links": links, "flows": {"a": {}}, "end": "1 s"})
        values = json.loads(made.plan().canonical)["links"]
        head, *lines = link_cells(values, has_rooms=True)
        return {name: dict(zip(head[1:], cells, strict=True))["queue"] for name, *cells in lines}

    slow: dict[str, object] = {"rate": "1 Mbit/s", "delay": "10 ms"}
    assert queues(
        cell={"rate": "50 Mbit/s", "delay": "15 ms"},
        slow=slow,
        timed={**slow, "queue": "1 s", "up": {"rate": "0.5 Mbit/s"}},
        other={**slow, "queue": "40 packets", "up": {"queue": "2 bdp"}},
        lte={"preset": "lte"},
    ) == {
        "cell": "bdp: 125 packets",
        "slow": "bdp: 5 packets",
        "timed": "1 s: 84 packets, up 42",
        "other": "40 packets",
        "lte": "bdp: 125 packets",
    }
    # As many as the simulator has room for.
    for queue in ("bdp", "2.5 bdp", "50 ms"):
        cell = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": queue}
        full = Scenario.from_dict({"links": {"cell": cell}, "flows": {"a": {}}, "end": "3 s"})
        most = full.plan().setup(0).samples()[0].numpy("most").max()
        assert most == room_of(queue, "10 Mbit/s", "20 ms")
    assert room_of("fq-codel", "1 Mbit/s", "1 ms") is None
    html = report_html(Scenario.read("wifi-to-lte").run())
    assert "bdp: 125 packets" in html


def test_a_report_says_what_flows_are() -> None:
    scenario = {
        "links": {"cell": {"rate": "20 Mbit/s", "delay": "20 ms"}},
        "description": "`vho` is a sender.",
        "flows": {"page": {"workload": "web"}, "file": {"size": "100 kB"}},
        "end": "20 s",
    }
    outcome = Scenario.from_dict(scenario).run()
    html = report_html(outcome, command="midflight report drive.toml --out a.html")
    assert "<h1>drive.toml</h1>" in html
    assert "<code>vho</code> is a sender." in html
    assert "How to repeat this" in html
    assert "Hash of the scenario" in html
    head, page, file = flow_settings(json.loads(outcome.plan.canonical)["flows"])
    assert page[head.index("workload")] == "web"
    assert page[head.index("size")] == "-"
    assert file[head.index("size")] == "100 kB"
    # Words of a table's head are not broken.
    on_screen, printed = re.findall(r"table.numbers thead th \{.*?\}", html)
    assert "anywhere" not in on_screen + printed


def test_a_report_has_what_was_recorded_and_why_the_flow_stalled(tmp_path: Path) -> None:
    """The part from 20 s on: its rates, its outage from 10 s to 13 s, and the stall in it."""
    rows = "\n".join(f"{one},{0 if 30 <= one < 33 else 9}" for one in range(60))
    (tmp_path / "drive.csv").write_text(f"time_s,rate_mbps\n{rows}\n")
    file = tmp_path / "drive.toml"
    file.write_text(
        'end = "20 s"\nflows.it = {}\n[links.cell]\ndelay = "20 ms"\n'
        'trace = { file = "drive.csv", from = "20 s" }\n'
    )
    plan = read_plan(file)
    ((found, uplink),) = plan.recordings().values()
    assert uplink is None
    assert (found["span_ns"], found["drops"]) == (40_000_000_000, False)
    assert list(event_lines(found))[1].strip() == "10-13 s"
    html = report_html(Outcome.of(plan))
    assert "Recording of link cell" in html
    # It has no title, so that its flows and links are named below the name of its file.
    assert "<p>Flow it (unlimited, down); link cell (" in html
    (line,) = re.findall("<p>(In short: .* The longest stall lasted .*)</p>", html)
    assert "<code>cell</code> had no rate from 10\xa0s to 13\xa0s" in line
    # Lost packets are those of a link that loses them.
    lost = read_plan(file, sets={"links.cell.trace.outage": "drop"}).recordings()["cell"][0]
    assert "are lost" in next(event_lines(lost))


def test_ack_opportunities_of_one_mahimahi_file_are_noted(tmp_path: Path) -> None:
    for name in ("a.down", "a.up"):
        (tmp_path / name).write_text("".join(f"{one}\n" for one in range(1, 400)))
    file = tmp_path / "m.toml"
    file.write_text('end = "5 s"\nflows.it = {}\n[links.cell]\ndelay = "9 ms"\ntrace = "a.down"\n')
    said = "its opportunities are those of the uplink, too"
    assert any(said in one for one in read_plan(file).remarks)
    for key, value in (("trace", '{ file = "a.down", up = "a.up" }'), ("up.rate", "9 Mbit/s")):
        plan = read_plan(file, sets={f"links.cell.{key}": value})
        assert not any(said in one for one in plan.remarks)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A scenario over a recording with two cells, and none of the notes on it."""
    rows = "".join(f"{k},9,{k // 4}\n" for k in range(8))
    (tmp_path / "cells.csv").write_text(f"time_s,rate_mbps,cell\n{rows}")
    file = tmp_path / "plain.toml"
    link = '{ trace = "cells.csv", delay = "20 ms" }'
    file.write_text(f'end = "8 s"\nlinks.cell = {link}\nflows.it = {{ size = "1 MB" }}\n')
    return file


IDLE = '"{}" acts only on notices or signals of handoffs, and this flow gets none'


def idle(source: Path | str, **sets: str) -> list[str]:
    """The notes on schemes of a scenario with these values."""
    plan = read_plan(source, sets=[(key.replace("__", "."), text) for key, text in sets.items()])
    return [one for one in plan.remarks if "acts only on" in one]


@pytest.mark.parametrize("scheme", ["vho", "enhanced", "freeze", "tr-acks", "ehn", "cubic+a2"])
def test_a_scheme_without_its_handoffs_is_noted(plain: Path, scheme: str) -> None:
    (said,) = idle(plain, flows__it__scheme=scheme)
    assert said.startswith("flows.it: " + IDLE.format(scheme))
    assert "a trace has none, even where its recording has handovers" in said
    assert not idle("wifi-to-lte", flows__download__scheme=scheme)


def test_a_scheme_that_can_act_is_not_noted(plain: Path) -> None:
    for profile, schemes in {"linux": "sack cubic bbr3", "rfc": "westwood dcr-frto-ld ld"}.items():
        for scheme in schemes.split():
            assert not idle(plain, profile=profile, flows__it__scheme=scheme), scheme
    rate = {"links__cell": '{ rate = "5 Mbit/s", delay = "20 ms" }'}
    (said,) = idle(plain, **rate, flows__it__scheme="vho")
    assert said.endswith("[[handoffs]], or [[changes]] with notice = {}, have them")
    change = 'at = "2 s", link = "cell", rate = "1 Mbit/s"'
    (said,) = idle(plain, **rate, flows__it__scheme="vho", changes=f"[{{ {change} }}]")
    assert said.endswith("notice = {} gives a change a notice, and [[handoffs]] have them")
    noticed = f"[{{ {change}, notice = {{}} }}]"
    assert not idle(plain, **rate, flows__it__scheme="vho", changes=noticed)
    # The start of a flow has a notice, too, which some of them use; and who leaves all out knows.
    start = {"flows__it__start_notice": "true"}
    assert not idle(plain, flows__it__scheme="vho", **start)
    assert idle(plain, flows__it__scheme="enhanced", **start)
    assert not idle(plain, flows__it__scheme="vho", notices="false")
    # A flow of a node that does not move.
    stays = {"flows__download__scheme": "vho", "flows__download__on": "wifi"}
    (said,) = idle("wifi-to-lte", **stays)
    assert said.endswith('it stays on "wifi"; without on it moves with the mobile node')


def test_commands_note_schemes_without_handoffs(
    plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That which is run, once each, and no other."""

    def noted(*words: str) -> list[str]:
        assert main([*words]) == 0
        error = capsys.readouterr().err
        return [one for one in ("vho", "freeze", "enhanced") if IDLE.format(one) in error]

    file, vho = str(plain), ("--set", "flows.it.scheme=vho")
    assert noted("run", file) == []
    assert noted("run", file, *vho) == ["vho"]
    png, page = str(plain.with_suffix(".png")), str(plain.with_suffix(".html"))
    assert noted("plot", file, *vho, "--out", png) == ["vho"]
    both = ("--scheme", "cubic,freeze", "--out")
    assert noted("plot", file, *vho, *both, png) == ["freeze"]
    assert noted("report", file, *vho, *both, page) == ["freeze"]
    axis = ("--axis", "flows.it.scheme=cubic,freeze,enhanced", "--out")
    assert noted("sweep", file, *axis, str(plain.parent / "one")) == ["freeze", "enhanced"]
    axis = ("--axis", "seed=1,2", "--out")
    assert noted("sweep", file, *vho, *axis, str(plain.parent / "two")) == ["vho"]


def test_schemes_without_handoffs_are_warned_of(plain: Path) -> None:
    scenario = Scenario.read(plain)
    with pytest.warns(ScenarioWarning, match="acts only on notices") as said:
        scenario.but({"flows.it.scheme": "vho"}).run()
    assert len(said) == 1
    with pytest.warns(ScenarioWarning, match='"freeze" acts only') as said:
        Sweep.of(scenario, {"flows.it.scheme": ["cubic", "freeze"]})
    assert len(said) == 1


def test_notes_that_change_nothing_are_counted(
    plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the commands that run it; trace check has them in full, and one alone needs no count."""
    recording = plain.with_name("cells.csv")
    rows = "".join(f"{k},{9 + k},40\n" for k in range(8))
    recording.write_text(f"time_s,tput_mbps,ping_ms\n{rows}7,8,40\n")
    (same, count) = read_plan(plain).remarks
    assert (
        count == f"links.cell.trace: midflight trace check {recording.name} has 2 more notes on it"
    )
    assert "1 row has the time of the row above" in same
    assert main(["trace", "check", str(recording)]) == 0
    printed = capsys.readouterr().out
    assert "may be the throughput of a transfer" in printed
    assert "takes half of" in printed
    assert "1 row has the time of the row above" in printed
    recording.write_text(f"time_s,rate_mbps,ping_ms\n{rows}")
    (alone,) = read_plan(plain).remarks
    assert alone.startswith("links.cell.trace: not used: ping_ms; columns = { rtt")
