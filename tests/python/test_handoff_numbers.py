"""Figures and reports of a sweep count handoffs in the order of time, and say since which one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from midflight import Scenario, Sweep
from midflight.cli import main
from midflight.plot.common.handoff_names import handoff_labels
from midflight.plot.common.plain import usual_of_folder
from midflight.plot.common.style import labelled, usually
from midflight.plot.results.axis import panels_name
from midflight.sweep_report import sweep_report_html

#: The third entry has two handoffs: the fourth one is the fifth handoff.
ENTRIES = [("8 s", None), ("16 s", None), ("26 s, 38 s", ["valley", "street"]), ("50 s", None)]
GAP = "handoffs.3.gap"


def labels(scenario: dict[str, Any], *keys: str) -> list[str]:
    found = handoff_labels(scenario, {key: ["1s", "2s"] for key in keys})
    return [name for name in found.values() if name[:1].isupper()]


def test_an_entry_is_named_by_its_handoffs_in_time() -> None:
    handoffs = [{"at": at} for at, _ in ENTRIES]
    named = labels({"handoffs": handoffs}, GAP, "handoffs.2.to", "handoffs.0.gap")
    assert named == ["Gap of handoff 5", "New link of handoffs 3 and 4", "Gap of handoff 1"]
    # Results count changes, too.
    assert labels({"handoffs": handoffs, "changes": [{"at": "1 s"}]}, GAP) == ["Gap of handoff 6"]
    assert not labels({"handoffs": [{"at": "1 s"}]}, "handoffs.0.gap")
    many = {"handoffs": [{"at": "1 s : 5 s : 1 s"}]}
    assert labels(many, "handoffs.0.gap") == ["Gap of handoffs 1 to 5"]
    # With some instants of the axis another one is first.
    axes = {"handoffs.0.at": ["1 s", "20 s"], "handoffs.1.gap": ["0s", "1s"]}
    found = handoff_labels({"handoffs": handoffs[:2]}, axes)
    assert found["Gap of handoff 2"] == "Gap of entry 2 of handoffs"


def test_panels_of_a_setting_of_one_of_several_handoffs_name_it() -> None:
    first, second = "handoffs.0.gap", "handoffs.1.gap"
    known = handoff_labels({"handoffs": [{"at": "1 s"}, {"at": "9 s"}]}, {first: [], second: []})
    assert (
        panels_name([first, "links.lte.rate"], ["0s", "1Mbit/s"]) == "Gap 0 s, rate of lte 1 Mbit/s"
    )
    with usually(known):
        said = panels_name([first, second], ["0s", "1s"])
    assert said == "Gap of handoff 1: 0 s, gap of handoff 2: 1 s"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two handoffs, of which the second one is measured."""
    folder = tmp_path_factory.mktemp("numbers") / "out"
    document = json.loads(Scenario.read("wifi-to-lte").plan().canonical)
    first = document["handoffs"][0] | {"at": "200 ms", "gap": "100 ms"}
    back = first | {"to": next(iter(document["links"])), "at": "1 s"}
    document |= {"packets": 20, "end": "4 s", "handoffs": [first, back]}
    document["flows"]["download"] |= {"size": "unlimited"}
    axes = {"handoffs.1.gap": ["0s", "200ms"], "flows.download.scheme": ["sack", "freeze"]}
    how: Any = {"compare": "flows.download.scheme", "metric": "all_new_ns", "phase": 2}
    file = folder.parent / "two.json"
    file.write_text(json.dumps(document))
    Sweep.of(file, axes, **how).run(folder)
    return folder


def text_of(folder: Path, tmp_path: Path, *more: str) -> str:
    out = tmp_path / "x.svg"
    assert main(["plot", str(folder), "--kind", "median", "--out", str(out), *more]) == 0
    return " ".join(re.findall(r"<!-- (.*?) -->", out.read_text())) or out.read_text()


def test_times_say_since_which_handoff(swept: Path, tmp_path: Path) -> None:
    said = text_of(swept, tmp_path)
    assert "Time from handoff 2 until" in said
    assert "Gap of handoff 2" in said
    assert "Time from handoff 1 until" in text_of(swept, tmp_path, "--where", "phase=1")
    # Of both of them.
    assert "Time until" in text_of(swept, tmp_path, "--by", "phase")
    html = sweep_report_html(swept)
    assert html.count("ime from handoff 2 until 20 new packets are acknowledged") >= 3
    assert not re.findall(r"ime until", html)
    # The first one of several is named as such.
    with usual_of_folder(swept, "the handoff"):
        assert labelled("Time until a new packet is acknowledged").startswith(
            "Time from the first handoff until"
        )
