"""Workloads through the command line: the measures of a page, a video and a call."""

from __future__ import annotations

import csv
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from midflight import Scenario, _core, workloads
from midflight.plot.over_time.watched import panels_of, watch
from midflight.sweep import Sweep

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


#: Kinds of panels of applications.
PANELS = ("objects", "bitrate", "buffer", "frames")


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
    [("web-page", "load_ns"), ("video-tunnel", "startup_ns"), ("call-handoff", "frames_missed")],
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


def drawn(tmp_path: Path, *words: str) -> list[dict[str, str]]:
    """Return the table of a figure."""
    table, picture = tmp_path / "drawn.csv", tmp_path / "drawn.png"
    done = midflight("plot", *words, "--out", str(picture), "--csv", str(table), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 5_000
    with table.open() as file:
        return list(csv.DictReader(file))


def test_the_buffer_of_a_video_is_drawn(tmp_path: Path) -> None:
    """It shrinks by a second in each, and stalls last as long as the measures say."""
    sets = ["handoffs.0.gap=6 s", "flows.movie.set.video_startup=4 s"]
    sets += ["flows.movie.set.video_buffer=8 s", "flows.movie.set.video_length=40 s"]
    scenario = tmp_path / "video.toml"
    scenario.write_text(
        'end = "90 s"\nlinks.wifi.preset = "wifi"\nlinks.lte.preset = "lte"\n'
        'handoffs = [{ at = "8 s", to = "lte" }]\nflows.movie = { workload = "video" }\n'
    )
    rows = drawn(
        tmp_path, str(scenario), "--kind", "buffer", *(w for s in sets for w in ("--set", s))
    )
    line = [(float(r["time_s"]), float(r["value"])) for r in rows if not r["low"]]
    falls = [(b[1] - a[1], b[0] - a[0]) for a, b in itertools.pairwise(line) if b[1] < a[1]]
    assert len(falls) > 5
    assert all(fall == pytest.approx(-passed, abs=1e-6) for fall, passed in falls)
    still = [r for r in rows if r["line"] == "playback stands still"]
    stalled = sum(float(r["high"]) - float(r["low"]) for r in still)
    table = Scenario.read(scenario).but(dict(one.split("=", 1) for one in sets)).run().flows
    place = list(table.column("flow")).index("movie")
    assert stalled == pytest.approx(table.column("rebuffer_ns")[place] / 1e9, abs=1e-6)
    assert stalled > 1


def test_frames_and_objects_are_drawn(tmp_path: Path) -> None:
    """All frames and all objects, those that are late as many as the measures say."""
    frames = drawn(tmp_path, "call-handoff", "--kind", "frames")
    table = Scenario.read("call-handoff").run().flows
    late = [row for row in frames if row["line"].startswith("late")]
    assert len(late) == table.column("frames_late")[0] > 0
    deadline = [row for row in frames if row["line"].startswith("deadline")]
    assert [(row["line"], float(row["value"])) for row in deadline] == [
        ("deadline, 150 ms", 150.0)
    ] * 2
    # What is late is above the line, and all else below.
    took = [(row["line"].startswith("late"), float(row["value"])) for row in frames]
    assert all(is_late == (ms > 150) for is_late, ms in took[: -len(deadline)])
    assert len(frames) - len(deadline) == table.column("frames")[0]
    page = "\n".join(
        [
            'end = "20 s"\nlinks.lte.preset = "lte"\n[flows.page]\nworkload = "web"',
            "set = { web_objects = 12, web_connections = 8, web_http = 2 }",
        ]
    )
    (tmp_path / "page.toml").write_text(page)
    objects = drawn(tmp_path, str(tmp_path / "page.toml"), "--kind", "objects")
    assert [int(float(row["value"])) for row in objects] == list(range(13))
    table = Scenario.read(tmp_path / "page.toml").run().flows
    last = max(float(row["high"]) for row in objects)
    assert last == pytest.approx(table.column("load_ns")[0] / 1e9, abs=1e-6)
    assert float(objects[1]["low"]) == float(objects[0]["high"])


@pytest.mark.parametrize("end", ["9.97 s", "9.98 s", "9.99 s", "10 s", "10.01 s", "20 s"])
def test_a_figure_has_as_many_frames_as_the_table(end: str) -> None:
    """Of a call of 10 s, also those that were made just before the end of the run."""
    scenario = Scenario.read(
        "call-handoff", sets={"end": end, "flows.call.set.call_length": "10 s"}
    )
    (panel,) = panels_of(watch(scenario, kinds=["frames"]), ["frames"], (0.0, 30.0))
    table = scenario.run().flows
    made, late = (table.column(name)[0] for name in ("frames", "frames_late"))
    assert panel.detail == f"{late} of {made} frames late"


APPS = """\
end = "30 s"
links.wifi.preset = "wifi"
links.lte = { preset = "lte", rate = "8 Mbit/s" }
[flows.page]
workload = "web"
set = { web_objects = 10, web_object_size = "40 kB" }
[flows.movie]
workload = "video"
[flows.talk]
workload = "call"
[[handoffs]]
at = "0.5 s"
to = "lte"
gap = "500 ms"
"""


def test_a_panel_of_an_application_shows_flows_with_that_workload(tmp_path: Path) -> None:
    (tmp_path / "apps.toml").write_text(APPS)
    rows = drawn(tmp_path, str(tmp_path / "apps.toml"), "--kind", ",".join(PANELS))
    by = {kind: {r["flow"] for r in rows if r["kind"] == kind and r["flow"]} for kind in PANELS}
    assert by == {
        "objects": {"page"},
        "bitrate": {"movie"},
        "buffer": {"movie"},
        "frames": {"talk"},
    }
    # The video plays on after its last segment, until the end of the run.
    assert max(float(row["time_s"]) for row in rows if row["kind"] == "buffer") == 30


def test_a_sweep_names_the_metrics_of_other_workloads(tmp_path: Path) -> None:
    """The main measure of a call and of a video is one that a handoff changes."""
    (tmp_path / "apps.toml").write_text(APPS)
    words = ["sweep", "apps.toml", "--axis", "handoffs.0.gap=0.2s,2s", "--out", "out"]
    text = midflight(*words, cwd=tmp_path).stdout
    assert "--metric rebuffer_ns or frames_missed" in text
    for only, metric in (("talk", "frames_missed"), ("movie", "rebuffer_ns")):
        scenario = re.sub(rf"\[flows\.(?!{only})\w+\]\n(?:\w+ = .*\n)+", "", APPS)
        (tmp_path / f"{only}.toml").write_text(scenario)
        words = ["sweep", f"{only}.toml", "--axis", "handoffs.0.gap=0.2s,2s"]
        done = midflight(*words, "--out", only, "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["metric"] == metric


def test_an_outcome_prints_what_run_prints(tmp_path: Path) -> None:
    (tmp_path / "apps.toml").write_text(APPS)
    printed = midflight("run", "apps.toml", cwd=tmp_path).stdout
    assert str(Scenario.read(tmp_path / "apps.toml").run()) == printed.rstrip("\n")


def test_a_figure_of_another_workload_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "no.png"
    done = midflight("plot", "wifi-to-lte", "--kind", "buffer", "--out", str(out), cwd=tmp_path)
    assert done.returncode != 0
    assert "nothing to draw of buffer" in done.stderr
    assert not out.exists()


DRAWN = """\
end = "60 s"
links.lte.preset = "lte"
[flows.load]
size = "exponential 50 kB"
count = 300
stagger = "poisson 100 ms"
"""


def test_sizes_of_transfers_are_drawn(tmp_path: Path) -> None:
    """Sizes depend only on the seed, with the requested mean; all others are the same."""
    (tmp_path / "load.toml").write_text(DRAWN)
    scenario = Scenario.read(tmp_path / "load.toml")

    def segments(**sets: str) -> list[int]:
        flows = scenario.but(sets).run().flows
        assert None not in flows.column("duration_ns")
        return [int(one) for one in flows.column("acked")]

    plain = segments()
    mean_bytes = 1448 * (sum(plain) / len(plain) - 0.5)
    # Its standard deviation is the mean over the root of 300.
    assert mean_bytes == pytest.approx(50_000, rel=4 / 300**0.5)
    assert plain == segments(**{"flows.load.scheme": "a3"})
    assert plain != segments(seed="2")
    assert len(set(plain)) > 50
    done = midflight("run", "load.toml", cwd=tmp_path)
    assert "Completion times of the 300 flows load in seconds: median " in done.stdout
    refused = midflight("run", "load.toml", "--set", "flows.load.size=pareto 1 9 kB", cwd=tmp_path)
    assert refused.returncode != 0
    assert "pareto 1.5 100 kB" in refused.stderr
    heavy = segments(**{"flows.load.size": "lognormal 2 50 kB"})
    # Its median is the mean divided by exp(2^2 / 2): most are small, as of no exponential.
    assert sum(one <= 9 for one in heavy) > 140 > sum(one <= 9 for one in plain)
    assert max(heavy) > max(plain)


def test_shards_of_bulk_and_of_workloads_go_together(tmp_path: Path) -> None:
    """The flows of one have measures that those of the other have not."""
    (tmp_path / "page.toml").write_text(FAST)
    scenario = Scenario.read(tmp_path / "page.toml").but({"flows.page.set": "{}", "end": "2 s"})
    sweep = Sweep.of(scenario, {"flows.page.workload": ["bulk", "web", "call"]}, shard_cells=1)
    (tmp_path / "shards").mkdir()
    for shard in sweep.shards():
        sweep.keep(tmp_path, shard, sweep.run_shard(shard))
    sweep.merge(tmp_path)
    with (tmp_path / "flows.csv").open() as file:
        rows = list(csv.DictReader(file))
    data = [row for row in rows if row["flow"] == "page"]
    assert [row["workload"] for row in data] == ["", "web", "call"]
    assert all(None not in row and None not in row.values() for row in rows)
    assert all(len(row["digest"]) == 32 for row in rows)
    assert [row["frames"] != "" for row in data] == [False, False, True]
    assert [row["objects_done"] != "" for row in data] == [False, True, False]


@pytest.mark.parametrize("profile", ["linux", "rfc"])
@pytest.mark.parametrize("agent", [one["name"] for one in _core.agents()])
def test_workloads_go_through_agents(agent: str, profile: str) -> None:
    """Each agent lets all of each workload through, over a link that loses packets."""
    knobs = {
        "web": {"web_objects": "8", "web_connections": "2"},
        "video": {"video_length": "12 s", "video_startup": "4 s"},
        "call": {"call_length": "6 s"},
    }
    radio = {"rate": "5 Mbit/s", "delay": "30 ms", "loss": "uniform 0.5%", "queue": "100 packets"}
    for workload, sets in knobs.items():
        flow = {"workload": workload, "set": sets}
        values = {"end": "60 s", "profile": profile, "agent": agent, "links": {"a": radio}}
        flows = Scenario.from_dict({**values, "flows": {"f": flow, "g": flow}}).run().flows
        names = flows.column_names
        columns = (flows.column(name) for name in names)
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        ends = [row for row in rows if row["flow"] in ("f", "g", "f-c0", "g-c0")]
        assert len(ends) == 2
        for row in ends:
            if workload == "web":
                assert row["objects_done"] == 9
            elif workload == "video":
                assert row["played_ns"] == 12 * 10**9
            else:
                assert (row["frames"], row["frames_lost"]) == (300, 0)
        if agent in ("i-tcp", "pep"):
            assert all(row["acked_ahead"] for row in ends), "every connection is split"
