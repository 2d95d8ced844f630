"""What a sweep simulates, in a line without the values of its axes."""

from __future__ import annotations

import json
import re

import pytest

from midflight import Scenario
from midflight.simulated import replaced, simulated_words


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        (
            [],
            "Flow download (3 MB, down); links wifi (54 Mbit/s, 2 ms) and lte (50 Mbit/s, 15 ms); "
            "handoff to lte at 0.3 s with a gap of 2 s.",
        ),
        (
            ["handoffs.*.gap", "links.lte.rate", "flows.download.size", "seed"],
            "Flow download (down); links wifi (54 Mbit/s, 2 ms) and lte (15 ms); handoff to lte at "
            "0.3 s.",
        ),
        (
            ["links.lte", "links.wifi.preset", "flows.download", "handoffs.0.at"],
            "Flow download; links wifi and lte; handoff to lte with a gap of 2 s.",
        ),
    ],
)
def test_what_is_simulated_is_without_what_axes_replace(axes: list[str], said: str) -> None:
    scenario = json.loads(Scenario.read("wifi-to-lte").plan().canonical)
    assert simulated_words(scenario, {key: ["1"] for key in axes}) == said


def test_losses_and_queue_disciplines_are_simulated() -> None:
    changed = Scenario.read("wifi-to-lte").but(
        {
            "links.lte.loss": "uniform 0.3%",
            "links.lte.up.loss": "burst 0.5% 3",
            "links.lte.up.queue": "codel",
            "links.wifi.loss": "uniform 0%",
            "links.wifi.queue": "fq-codel limit 500 packets",
        }
    )
    scenario = json.loads(changed.plan().canonical)
    wifi, lte = "wifi (54 Mbit/s, 2 ms, queue fq-codel limit 500 packets)", "lte (50 Mbit/s, 15 ms"
    said = simulated_words(scenario, [])
    assert f"links {wifi} and {lte}, 0.3 % loss, up loss burst 0.5% 3, up queue codel);" in said
    said = simulated_words(scenario, ["links.lte.loss", "links.*.queue"])
    assert f"links wifi (54 Mbit/s, 2 ms) and {lte}, up loss burst 0.5% 3, up queue codel);" in said
    assert f"{lte}, 0.3 % loss);" in simulated_words(scenario, ["links.lte.up"])


@pytest.mark.parametrize("name", ["operators", "drive-test", "video-tunnel", "rate-change"])
def test_other_scenarios_have_such_a_line(name: str) -> None:
    said = simulated_words(json.loads(Scenario.read(name).plan().canonical), {})
    assert len(said) < 220
    assert not re.search("None|[{}]", said)


def test_an_axis_replaces_what_is_below_it() -> None:
    assert replaced("links.lte.rate", ["links.lte"])
    assert replaced("links.lte.rate", ["links.*.rate"])
    assert not replaced("links.lte.rate", ["links.lte.rate.x", "links.wifi"])
    assert not replaced("links.lte.trace", ["links.lte.trace.offset"])
