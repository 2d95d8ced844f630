"""Notes on scenarios, beside errors and in reports, and what reports say of links and flows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from midflight import Scenario
from midflight.cli import main
from midflight.recordings import event_lines
from midflight.remark import remarks_of
from midflight.run_report import flow_settings, link_cells, report_html, trace_words
from midflight.scenario import Outcome, read_plan

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
    assert trace_words({"columns": {"time_s": [0.0, 1.0]}}) == "columns of numbers: time_s"


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
    (rule,) = re.findall(r"table.numbers thead th \{.*?\}", html)
    assert "anywhere" not in rule


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
    (line,) = re.findall("<p>(The longest time without progress.*)</p>", html)
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
