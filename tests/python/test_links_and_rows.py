"""Figures over time: what users of applications see, rows of losses, and the looks of links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from midflight import Flow, Link, Scenario
from midflight.cli import main
from midflight.plot import figure_of, plot_over_time
from midflight.plot.common.line_looks import look_of
from midflight.plot.common.style import LINKS, SERIES
from midflight.plot.over_time.panel_scales import slow_links
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.watched import watch
from midflight.plot.usual import usual_kinds


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("video-tunnel", ("throughput", "bitrate", "buffer")),
        ("call-handoff", ("throughput", "frames", "queue")),
        ("web-page", ("throughput", "objects", "queue")),
        ("drive-test", ("throughput", "queue", "delay")),
        ("wifi-to-lte", ("both",)),
    ],
)
def test_the_usual_figure_shows_what_a_user_sees(source: str, kinds: tuple[str, ...]) -> None:
    assert tuple(usual_kinds(Scenario.read(source).plan())) == kinds


def test_the_usual_figure_is_that_of_the_flows_that_are_named() -> None:
    flows = {"bulk": Flow(), "film": Flow(workload="video", count=2)}
    plan = Scenario(links={"a": Link(rate="9 Mbit/s", delay="9 ms")}, flows=flows, end="9 s").plan()
    assert tuple(usual_kinds(plan)) == ("throughput", "bitrate", "buffer")
    assert tuple(usual_kinds(plan, ["bulk"])) == ("both",)
    assert tuple(usual_kinds(plan, ["bulk", "film-1"])) == ("throughput", "bitrate", "buffer")


def test_means_begin_with_their_data() -> None:
    """A video's are as long as its segments: 4 s."""
    (run,) = watch(Scenario.read("video-tunnel"), kinds=["throughput"])
    _, (panel,) = shown_panels([run], ["throughput"])
    (line,) = (one for one in panel.curves if one.draw == "steps")
    flow = run.flows[0]
    at = flow.times("rcv")[flow.values("rcv") > 0] / 1e9
    assert line.time_s[0] == at[0]
    # Nothing arrives from the outage until after 50 s.
    again = at[1:][np.argmax(np.diff(at))]
    # That interval begins with the time in which its first packet was received.
    (begin,) = line.time_s[(line.time_s > again - 0.2) & (line.time_s <= again)]
    before = line.value[(line.time_s > 31) & (line.time_s < begin)]
    assert len(before) > 1
    assert not before.any()
    assert line.value[line.time_s == begin][0] > 5


def test_rows_of_losses_have_their_number() -> None:
    """They are of data; lost ACKs are marked if they are asked for."""
    runs = watch(Scenario.read("household"), kinds=["queue"])
    lost = [len(flow.lost) for flow in runs[0].flows]
    window, panels = shown_panels(runs, ["queue"])
    axes = over_time_figure(runs, panels, window).axes[-1]
    assert [text.get_text() for text in axes.texts] == [f"{one} lost" for one in lost]
    assert sum(len(flow.lost_acks()[0]) for flow in runs[0].flows) > 0
    assert "ACK" not in axes.get_title("right")
    window, panels = shown_panels(runs, ["queue"], marks=["losses", "acks"])
    axes = over_time_figure(runs, panels, window).axes[-1]
    texts = [text.get_text() for text in axes.texts]
    assert all("lost, " in one and one.endswith(" ACKs lost") for one in texts)


@pytest.mark.parametrize("schemes", [["sack"], ["bbr-linux"], ["enhanced"]])
def test_a_link_has_one_look_that_no_scheme_has(schemes: list[str]) -> None:
    assert {one.colour for one in LINKS}.isdisjoint(one.colour for one in SERIES)
    found: dict[str, Any] = {}
    for start in (None, 3.0):
        runs = watch(Scenario.read("wifi-to-lte"), kinds=["queue"], schemes=schemes)
        _, (panel,) = shown_panels(runs, ["queue"], from_s=start)
        for one in (one for one in panel.curves if one.draw == "queue"):
            assert one.look is not None
            assert found.setdefault(one.link, look_of(one.look)) == look_of(one.look)
    assert len({one.line for one in found.values()}) == 2
    assert {one.colour for one in found.values()} == {LINKS[0].colour}


def test_a_link_that_a_linear_axis_hides_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        """
        end = "20 s"
        [links]
        wifi = { rate = "200 Mbit/s", delay = "5 ms", queue = "300 packets" }
        sat = { rate = "400 kbit/s", delay = "300 ms", queue = "50 packets" }
        [flows.a]
        [[handoffs]]
        at = "18 s"
        to = "sat"
        """,
        encoding="utf-8",
    )
    words = ["plot", str(file), "--kind", "throughput", "--out", str(tmp_path / "a.svg")]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "sat: 0.4 Mbit/s, which can hardly be seen; --yscale throughput=log" in said
    above = "sat: 0.4 Mbit/s"

    def text_above(**how: Any) -> str:
        axes = figure_of(plot_over_time, Scenario.read(file), ["throughput"], **how).axes[-1]
        return str(axes.get_title("right"))

    assert text_above().endswith(f"; {above}")
    others: list[dict[str, Any]]
    others = [{"yscale": "log"}, {"ylim": (0, 1)}, {"until_s": 17.0}, {"from_s": 18.5}]
    for how in others:
        assert "sat:" not in text_above(**how)
    assert main([*words, "--yscale", "log"]) == 0
    assert "--yscale" not in capsys.readouterr().err
    assert main([*words, "--from", "18.5 s"]) == 0
    assert "--yscale" not in capsys.readouterr().err
    runs = watch(Scenario.read("wifi-to-lte"), kinds=["throughput"])
    _, (panel,) = shown_panels(runs, ["throughput"])
    assert slow_links(panel, None, runs[0].stretches) == ""
