"""The heading of a sweep, and the description below it."""

from __future__ import annotations

import pytest

from midflight import Scenario, Sweep
from midflight.sweep_report import sweep_heading


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Which sender recovers soonest", "Which sender recovers soonest"),
        # It may be one of the values of the axis.
        ("A gap of 2 s", "Sweep over gap of the handoff"),
    ],
)
def test_the_heading_of_a_sweep_is_the_title_of_its_scenario(title: str, heading: str) -> None:
    scenario = Scenario.read("wifi-to-lte", sets={"title": title})
    swept = Sweep.of(scenario, {"handoffs.0.gap": ["1 s", "2 s"]})
    found, over, _ = sweep_heading(swept)
    assert found == heading
    assert over == ("Sweep over gap of the handoff" if found == title else "")


@pytest.mark.parametrize(
    ("about", "shown"), [("A phone leaves the room.", True), ("The stall lasts 3.6 s.", False)]
)
def test_numbers_of_the_scenario_itself_are_no_words_of_a_sweep(about: str, shown: bool) -> None:
    scenario = Scenario.read("wifi-to-lte", sets={"description": about})
    swept = Sweep.of(scenario, {"handoffs.0.gap": ["1 s", "2 s"]})
    assert sweep_heading(swept)[2] == (about if shown else "")


def test_a_title_on_senders_is_not_that_of_a_sweep_over_schemes() -> None:
    scenario = Scenario.read("household")
    found, over, _ = sweep_heading(Sweep.of(scenario, {"flows.*.scheme": ["sack", "enhanced"]}))
    assert found.startswith("Sweep over scheme")
    assert not over
    found, over, _ = sweep_heading(Sweep.of(scenario, {"handoffs.0.gap": ["1 s", "2 s"]}))
    assert found == "Two downloads and an upload move together, with different senders"
