"""Usual figures leave out queues in which hardly a packet waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from midflight import Scenario
from midflight.cli import main
from midflight.plot.over_time.curves import Curve, Panel
from midflight.plot.over_time.idle import without_idle_queues
from midflight.plot.over_time.watched import watch
from midflight.plot.usual import usual_figure
from midflight.report_figures import over_time


def kept(*curves: Curve, kind: str = "queue", **how: Any) -> bool:
    """Whether a panel of a usual figure is kept."""
    line = Curve("a", "steps", np.array([0.0, 9.0]), np.array([1.0, 1.0]))
    panels = [Panel("throughput", "", "", [line]), Panel(kind, "", "", curves, **how)]
    found, why = without_idle_queues(panels)
    assert (why == "") == (len(found) == 2)
    assert found[0].kind == "throughput"
    return len(found) == 2


def queue(*high: float) -> Curve:
    most = np.array(high)
    return Curve("q", "queue", np.arange(len(most)) * 1.0, most * 0, low=most * 0, high=most)


def test_a_queue_is_kept_in_which_packets_wait_or_something_happens() -> None:
    idle = queue(*[1.0] * 40, 4.0, *[1.0] * 40)
    assert not kept(idle)
    assert kept(idle, kind="delay")
    assert kept(idle, queue(*[1.0] * 40, 9.0, *[1.0] * 40))
    assert kept(queue(*[1.0] * 40, *[2.0] * 40))
    # The user asks for its marks, or packets are lost at a full queue of one.
    assert kept(idle, are_marks_asked=True)
    for draw, is_kept in (("full", True), ("early", True), ("marked", True), ("broken", False)):
        mark = Curve("", draw, np.array([3.0]), np.array([1.0]), in_row=True)  # type: ignore[arg-type]
        assert kept(idle, mark) == is_kept, draw
    # Without any other panel a figure would be empty.
    alone = [Panel("queue", "", "", [idle])]
    assert without_idle_queues(alone) == (alone, "")


def test_the_queue_of_a_call_is_left_out_everywhere_unless_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Scenario.read("call-handoff").plan()
    titles = [one.get_ylabel() for one in usual_figure(plan, flow=None, run=0).axes]
    assert not any("Queue" in one for one in titles)
    assert any("Frame" in one for one in titles)
    kinds = ["throughput", "frames", "queue"]
    _, _, left_out, _ = over_time(watch(plan, kinds=kinds), kinds)
    assert left_out == "the panel of queues is left out, as there are at most 4 packets in one"
    for options, is_kept in (
        ([], False),
        (["--kind", ",".join(kinds)], True),
        (["--ylim", "queue=0:5"], True),
        (["--yscale", "queue=log"], True),
    ):
        table = tmp_path / "a.csv"
        out = ["--out", str(tmp_path / "a.svg"), "--csv", str(table)]
        assert main(["plot", "call-handoff", *options, *out]) == 0
        assert ("\nqueue," in table.read_text()) == is_kept, options
        said = f"{left_out}; --kind throughput,frames,queue shows it"
        assert (said in capsys.readouterr().err) == (not is_kept)
