"""A run that is watched is the run that is measured, of every question and every figure."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import midflight
from midflight import MidflightError, Setup
from midflight.cli import app
from midflight.explain import explain_stall
from midflight.studies import STUDIES, load
from midflight.studies.figure_runs import figure_runs

LINKS = {"old": "6400 kbit/s, 9 ms", "new": "200 kbit/s, 300 ms"}
RADIO = midflight.Radio("1 Mbit/s, 100 ms", loss="uniform 1%")


def measured() -> list[tuple[Setup, midflight.Table]]:
    """Return a run of each question, and its measurements."""
    at_ns = 5_000_000_000
    handoff = {**LINKS, "kind": "bbm", "window_ns": 30_000_000_000}
    long_flow = midflight.LongFlow(radio=RADIO, scheme="sack", marks_ns=[4 * 10**9, 9 * 10**9])
    roaming = midflight.Roaming(
        scheme="ehn", end_ns=20 * 10**9, every_ns=5 * 10**9, forged="old", residents=[1]
    )
    starts = {"link": "2 Mbit/s, 50 ms", "flows": 2, "residents": 1, "lead_ns": 3 * 10**9}
    probe = midflight.Probe(
        bottleneck="20 Mbit/s, 15 ms", scheme="probe-train", segments=40, share=0.3
    )
    startup = midflight.Startup(schemes=["vho"], **starts)
    return [
        (
            Setup.handoff(scheme="enhanced", at_ns=at_ns, **handoff),
            midflight.handoff(schemes=["enhanced"], at_ns=[at_ns], **handoff),
        ),
        (long_flow.setup(), midflight.run_long_flows([long_flow])[0]),
        (roaming.setup(), midflight.run_roaming([roaming])[0]),
        (Setup.startup(scheme="vho", **starts), midflight.run_startups([startup])[0]),
        (probe.setup(), midflight.run_probes([probe])[0]),
    ]


def test_a_run_that_is_watched_is_the_run_that_is_measured() -> None:
    for setup, table in measured():
        digest = table.column("digest")[0]
        assert setup.trace().digest == digest
        assert setup.causes().digest == digest
        last = setup.flows[-1]["name"]
        assert setup.trace(flow=last).digest == digest
        assert {"sender", "receiver", *setup.places} == set(setup.capture(snaplen=64))
        (same, _), flows = setup.compare(setup, [setup.flows[0]["name"]])
        assert same == digest
        assert flows[0][1] is None
        told = explain_stall(setup)
        assert told is not None
        assert told.digest == digest
        assert len(setup.address) == 64


@pytest.mark.parametrize("study", STUDIES)
def test_the_first_run_of_every_figure_can_be_traced(study: str) -> None:
    traced = 0
    for figure in load(study).figures:
        if figure.needs:
            run = figure_runs(study, figure.id)[0]
            traced += len(run.setup().trace(until_ns=3_000_000_000)) > 0
    assert traced


def test_the_commands_take_a_figure(tmp_path: Path) -> None:
    of = ["--study", "daniel-kojo-2008", "--figure", "8"]
    run = CliRunner().invoke
    *listed, terms = run(app, ["explain", *of, "--job", "all"]).stdout.splitlines()
    assert [line.partition(":")[0] for line in listed] == ["0", "1"]
    assert terms == "(links: kbit/s / one-way delay in ms; MBB: make-before-break)"
    found = json.loads(run(app, ["explain", *of, "--what", "rto", "--json"]).stdout)
    assert [row["detail"] for row in found["events"]] == ["spurious", "spurious"]
    parted = run(app, ["diff", *of, "--a", "scheme=sack", "--b", "scheme=enhanced"])
    assert "part at 8.200000 s" in parted.stdout
    for name in ("run.png", "run.html"):
        out = tmp_path / name
        assert run(app, ["plot", *of, "--scheme", "a1", "--out", str(out)]).exit_code == 0
        assert out.stat().st_size > 10_000


def test_an_event_is_searched_in_the_other_runs() -> None:
    """The note, and the command below the list, name the first run that has it."""
    of = ["explain", "--study", "daniel-kojo-2008", "--figure", "8", "--what"]
    run = CliRunner().invoke
    # Only the second job has orders.
    found = run(app, [*of, "order"])
    assert found.exit_code == 0
    assert "this is the next one with it, --job 1" in found.stderr
    last = found.stdout.splitlines()[-1].partition(": midflight ")[2]
    assert "--job 1" in last
    again = run(app, shlex.split(last))
    assert again.exit_code == 0
    assert "order" in again.stdout
    none = str(run(app, [*of, "order", "--job", "0"]).exception)
    assert none == "there is no order of flow-0 in this run"
    none = str(run(app, [*of, "window_probe"]).exception)
    assert none == "there is no window_probe of flow-0 in this run and none of the later ones"


def test_files_of_a_figures_run_are_written(tmp_path: Path) -> None:
    words = ["reproduce", "daniel-kojo-2008", "--figure", "8", "--out", str(tmp_path / "out")]
    folders = {one: tmp_path / one for one in ("trace", "pcap", "qlog")}
    options = [word for one, folder in folders.items() for word in (f"--{one}", str(folder))]
    run = CliRunner().invoke
    assert run(app, [*words, "--job", "1", *options]).exit_code == 0
    traced = next(folders["trace"].glob("*.csv")).read_text()
    setup = figure_runs("daniel-kojo-2008", "8")[1].setup()
    assert traced.count("\n") == setup.trace().num_rows + 1
    assert list(folders["pcap"].glob("*.pcapng"))
    assert list(folders["qlog"].glob("*.sqlog"))
    refused = run(app, ["reproduce", "daniel-kojo-2008", "--pcap", str(tmp_path / "none")])
    assert refused.exit_code != 0
    assert "--pcap is for one run of a figure" in str(refused.exception)


def test_mistakes_are_reported() -> None:
    run = figure_runs("daniel-kojo-2008", "8")[0]
    with pytest.raises(MidflightError, match="there is no run 1 of daniel-kojo-2008, figure 8"):
        run.setup(1)
    with pytest.raises(MidflightError, match='have no "profile" to set'):
        run.but([("profile", "rfc")])
    with pytest.raises(MidflightError, match="no_knob"):
        run.but([("no_knob", "1")]).setup()
    with pytest.raises(MidflightError, match="has no figure"):
        figure_runs("daniel-kojo-2008", "99")
