"""Workloads through the command line: what a page, a video and a call measure."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from midflight import Scenario, workloads

FAST = """\
wired = { rate = "100 Gbit/s", delay = "0 ms" }
[links.wifi]
rate = "100 Gbit/s"
delay = "50 ms"
queue = "10000 packets"
[flows.page]
workload = "web"
set = { web_objects = 3, web_object_size = "1 kB", web_document = "1 kB" }
"""


def midflight(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "midflight", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "page.toml").write_text(FAST, encoding="utf-8")
    return tmp_path


def test_a_run_prints_what_the_workload_measures(page: Path) -> None:
    """A handshake, a document and three objects, each a round trip of 100 ms."""
    done = midflight("run", "page.toml", "--out", "out", cwd=page)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("Workload web"))
    assert lines[head + 2].split() == ["flow", "load", "objects", "median", "p95", "longest"]
    assert lines[head + 3].split()[:3] == ["page", "0.500", "4"]
    with (page / "out" / "flows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["flow"], row["workload"], row["direction"]) for row in rows] == [
        ("page", "web", "down"),
        ("page-requests", "", "up"),
    ]
    assert rows[0]["load_ns"].startswith("500")
    assert rows[1]["load_ns"] == ""


def test_a_sweep_summarises_the_load_time(page: Path) -> None:
    axis = "flows.page.set.web_objects=1,3"
    done = midflight("sweep", "page.toml", "--axis", axis, "--out", "out", "--json", cwd=page)
    assert done.returncode == 0, done.stderr
    assert "load_ns" in done.stdout
    text = midflight("sweep", "page.toml", "--axis", axis, "--out", "out", cwd=page).stdout
    assert "page-requests" not in text
    refused = midflight("run", "page.toml", "--set", "flows.page.workload=wep", cwd=page)
    assert refused.returncode == 2
    assert 'did you mean "web"?' in refused.stderr


@pytest.mark.parametrize(
    ("starter", "measure"),
    [("web-page", "load_ns"), ("video-tunnel", "startup_ns"), ("call-handoff", "frames_late")],
)
@pytest.mark.parametrize("stack", ["midflight", "quinn"])
def test_starters_measure_something(starter: str, measure: str, stack: str) -> None:
    scenario = Scenario.read(starter)
    flow = next(iter(json.loads(scenario.plan().canonical)["flows"]))
    one = Scenario.read(starter, sets={f"flows.{flow}.stack": stack})
    flows = one.run().flows
    found = [value for value in flows.column(measure) if value is not None]
    assert len(found) == 1
    assert found[0] > 0


def test_a_scenario_without_a_workload_has_no_columns_of_any() -> None:
    names = Scenario.read("wifi-to-lte").run().flows.column_names
    assert "workload" not in names
    for workload in workloads():
        assert not {one["name"] for one in workload["measures"]} & set(names)


def test_workloads_are_listed(tmp_path: Path) -> None:
    done = midflight("list", "workloads", "--json", cwd=tmp_path)
    listed = json.loads(done.stdout)
    assert [one["name"] for one in listed] == ["web", "video", "call"]
    assert all(one["measures"] and one["knobs"] for one in listed)
