"""Figures over time of several runs: whose links and marks are drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from midflight import Flow, Link, MidflightError, Scenario
from midflight.plot import figure_of, plot_over_time
from midflight.plot.common.line_looks import look_of
from midflight.plot.over_time.band import band_height
from midflight.plot.over_time.panel_scales import CUT
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.row_ticks import BELOW_ROWS
from midflight.plot.over_time.watched import watch
from midflight.plot.page.html import page_html


def _gaps(count: int) -> dict[str, Any]:
    each = [f"{100 * (one + 1)} ms" for one in range(count)]
    return {gap: Scenario.read("wifi-to-lte", sets={"handoffs.0.gap": gap}) for gap in each}


@pytest.mark.parametrize("count", [2, 5])
def test_each_run_has_its_links_and_its_rate(count: int) -> None:
    runs = watch(_gaps(count), kinds=["throughput"])
    window, panels = shown_panels(runs, ["throughput"])
    rates = [one for one in panels[0].curves if one.draw == "area"]
    assert [one.look for one in rates] == [run.looks[0] for run in runs]
    for number, one in enumerate(rates):
        # There is none in its own gap.
        at = np.array([0.29, 0.31, 0.29 + 0.1 * (number + 1), 0.31 + 0.1 * (number + 1)])
        held = one.value[np.searchsorted(one.time_s, at, side="right") - 1]
        assert (held > 0).tolist() == [True, False, False, True]
    figure = over_time_figure(runs, panels, window)
    band, axes = figure.axes
    # The names of the links, one above the other, and the marker of each line.
    assert [text.get_text() for text in band.texts].count("lte") == count
    markers = [one for one in band.lines if one.get_marker() != "None"]
    assert len(markers) == count
    assert band_height(5) < 5 * band_height(1)
    thin = {one.get_color() for one in axes.lines if one.get_linewidth() == 0.6}
    assert {look_of(run.looks[0]).colour for run in runs} <= thin
    assert axes.get_title("right").splitlines()[0].startswith("means of")


def test_rates_that_change_often_are_not_drawn_over_each_other() -> None:
    drive = {"time_s": [*range(60)], "rate_mbps": [5.0 + one % 7 for one in range(60)]}
    link = Link(delay="20 ms", queue="50 packets", trace=drive)
    named = {
        delay: Scenario(
            links={"cell": Link(delay=delay, queue=link.queue, trace={**drive, "rate_mbps": rate})},
            flows={"a": Flow()},
            end="30 s",
        )
        for delay, rate in (("20 ms", drive["rate_mbps"]), ("30 ms", drive["rate_mbps"][::-1]))
    }
    _, (panel,) = shown_panels(watch(named, kinds=["throughput"]), ["throughput"])
    assert "area" not in {one.draw for one in panel.curves}


def test_a_run_that_is_the_same_as_another_shares_its_rows(tmp_path: Path) -> None:
    table = tmp_path / "x.csv"
    schemes = ["sack", "freeze", "bbr-linux"]
    how: Any = {"schemes": schemes, "csv": table}
    figure = figure_of(plot_over_time, "drive-test", ["throughput", "queue"], **how)
    counts = [text.get_text() for text in figure.axes[-1].texts]
    assert len([one for one in counts if one.endswith("lost")]) == 2
    # The table has those of each.
    assert "lost: queue full,download,freeze" in table.read_text()


def test_rows_say_how_many_packets_are_lost_to_the_queue_and_to_the_link() -> None:
    runs = watch("wifi-to-lte", kinds=["queue"], schemes=["sack", "enhanced"])
    window, panels = shown_panels(runs, ["queue"])
    figure = over_time_figure(runs, panels, window)
    causes = [run.flows[0].lost_by_cause() for run in runs]
    expected = [f"\u00d7 {len(one['full'][0])} + // {len(one['broken'][0])} lost" for one in causes]
    assert [text.get_text() for text in figure.axes[-1].texts] == expected
    # A narrow figure has room for all of them together.
    figure = over_time_figure(runs, panels, window, size=2.2)
    expected = [f"{len(one['full'][0]) + len(one['broken'][0])} lost" for one in causes]
    assert [text.get_text() for text in figure.axes[-1].texts] == expected
    figure = over_time_figure(runs, panels, window)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names.index("lost: queue full") < names.index("lost: link down")


def test_each_row_of_losses_has_its_sign_if_one_has_several() -> None:
    schemes = ["bbr-linux", "sack"]
    runs = watch("starlink-to-lte", kinds=["queue"], schemes=schemes)
    window, panels = shown_panels(runs, ["queue"], 25.0, 30.0)
    texts = [one.get_text() for one in over_time_figure(runs, panels, window).axes[-1].texts]
    assert re.fullmatch(r"// \d+ lost", texts[0])
    assert re.fullmatch(r"\u00d7 \d+ \+ // \d+ lost", texts[1])


@pytest.mark.parametrize("draw", [watch, page_html])
def test_too_many_lines_are_refused_before_they_are_simulated(
    draw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulated(*_: Any, **__: Any) -> None:
        pytest.fail("simulated")

    monkeypatch.setattr("midflight.plot.over_time.watched.History", simulated)
    cell = Link(rate="20 Mbit/s", delay="20 ms", queue="80 packets")
    scenario = Scenario(links={"cell": cell}, flows={"a": Flow(count=40)}, end="60 s")
    named = [f"a-{one}" for one in range(12)]
    with pytest.raises(MidflightError, match="12 lines cannot be told apart"):
        draw(scenario, flows=named)
    if draw is watch:
        with pytest.raises(MidflightError, match="40 lines cannot be told apart"):
            watch(scenario)


def test_a_queue_that_flows_share_says_so() -> None:
    cell = Link(rate="20 Mbit/s", delay="20 ms", queue="80 packets")
    links, own = {"cell": cell}, {"cell": Link(**(vars(cell) | {"queue": "fq-codel"}))}

    def title(of: dict[str, Link], flows: dict[str, Flow], **how: Any) -> str:
        runs = watch(Scenario(links=of, flows=flows, end="2 s"), kinds=["queue"], **how)
        return shown_panels(runs, ["queue"])[1][0].what

    both = {"a": Flow(), "b": Flow()}
    assert title(links, {"a": Flow()}) == "Queue (packets)"
    assert title(links, both) == "Queue of all flows\n(packets)"
    # Also if only one of them is drawn.
    assert title(links, both, schemes=["sack", "vho"]) == "Queue of all flows\n(packets)"
    # What goes the other way has a queue of its own.
    assert title(links, {"a": Flow(), "b": Flow(direction="up")}) == "Queue (packets)"
    # Each flow has a line of its own.
    assert title(own, both) == "Queue (packets)"


def test_the_thin_line_of_maxima_is_explained_above_the_panel() -> None:
    """An entry of the legend would be one of nine."""
    figure = figure_of(plot_over_time, "starlink-to-lte", ["queue", "delay"])
    said = [axes.get_title("right") for axes in figure.axes]
    assert said[-1].startswith("medians of ")
    assert said[-1].endswith("s, band: 5 to 95 %, thin line: maximum")
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert not [one for one in names if "maximum" in one]
    # Without bands there is no such line.
    figure = figure_of(plot_over_time, "starlink-to-lte", ["delay"], bands=False)
    assert figure.axes[-1].get_title("right").startswith("medians of ")
    assert "maximum" not in figure.axes[-1].get_title("right")


def test_a_narrow_time_without_a_link_has_a_name_or_its_colour_in_the_legend() -> None:
    for source, named in (("starlink-to-lte", "outage"), ("lossy-wifi", None)):
        figure = figure_of(plot_over_time, source, ["throughput"], size=2.5)
        legend = figure.legends[0]
        names = [text.get_text() for text in legend.get_texts()]
        # That between two links has a name above the band.
        assert "no link" not in names
        assert "no link" in [one.get_text() for one in figure.axes[0].texts]
        shades = [one for one in figure.axes[1].collections if isinstance(one, PolyCollection)]
        shown = {tuple(colour) for one in shades for colour in one.get_facecolor()}
        assert len(shown) > 1
        if named is not None:
            patch = dict(zip(names, legend.legend_handles, strict=True))[named]
            assert patch.get_facecolor() in shown


def test_arrowheads_stand_below_the_rows_of_gaps() -> None:
    runs = watch(_gaps(3), kinds=["rtt"])
    window, panels = shown_panels(runs, ["rtt"])
    figure = over_time_figure(runs, panels, window)
    axes = figure.axes[-1]
    heads = [one for one in axes.lines if one.get_gid() == CUT]
    assert heads
    (line,) = (one for one in axes.lines if one.get_gid() == BELOW_ROWS)
    below = float(line.get_ydata()[0]) * axes.get_ylim()[1]
    assert below < 0.8 * axes.get_ylim()[1]
    assert max(float(one.get_ydata()[0]) for one in heads) <= below + 1e-9
