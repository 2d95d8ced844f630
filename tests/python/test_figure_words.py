"""What figures over time say: legends with a title, units of what is said, and nothing of fonts."""

from __future__ import annotations

import logging
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from midflight import Flow, Link, Scenario
from midflight.plot import figure_of, plot_over_time, plot_run
from midflight.plot.common.names import column_name
from midflight.plot.common.style import balanced, text_width, wrapped
from midflight.plot.over_time.crowded import without_overlaps
from midflight.plot.over_time.curves import Curve, Panel, Peak
from midflight.plot.over_time.history import RunsOfAxes
from midflight.plot.over_time.panel_scales import peak_words, slow_links, with_one_scale
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.strokes import draw_row_names, rows_of
from midflight.plot.over_time.watched import watch
from midflight.plot.results.axis import axis_data, axis_figure
from midflight.remark import ScenarioWarning


def following(**trace: Any) -> Scenario:
    columns = {"time_s": [0, 4, 6, 20], "rate_mbps": [10, 0, 10, 10]}
    link = Link(trace={"columns": columns, **trace}, delay="20 ms", queue="50 packets")
    return Scenario(links={"cell": link}, flows={"a": Flow()}, end="20 s")


def test_the_title_of_a_legend_stands_before_its_own_entries() -> None:
    name = column_name("links.cell.trace.outage")
    assert name == "Outage of cell's trace"
    assert column_name("links.*.trace.outage") == "Outage of the traces of all links"
    assert column_name("links.cell.trace.offset") == "Start in the recording of cell"
    runs = RunsOfAxes({one: following(outage=one) for one in ("hold", "drop")}, name)
    for size in (None, 3.5):
        figure = figure_of(plot_over_time, runs, ["throughput", "queue"], size=size)
        (legend,) = figure.legends
        assert legend.get_title().get_text() == name
        figure.draw_without_rendering()
        high = {one.get_text(): one.get_window_extent().y0 for one in legend.get_texts()}
        lines, marks = ([*high][:2], [*high][2:])
        assert lines == ["hold", "drop"]
        assert marks
        # What is no value of the axis stands below in rows of its own, and none is hidden.
        assert high["hold"] == high["drop"] > max(high[one] for one in marks)
        assert min(high.values()) > 0
        boxes = [one.get_window_extent() for one in legend.get_texts()]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_the_legend_of_a_narrow_figure_is_lower_than_its_panel() -> None:
    values = {
        f"{scheme}, {gap}": Scenario.read(
            "wifi-to-lte", sets={"flows.download.scheme": scheme, "handoffs.0.gap": gap}
        )
        for scheme in ("sack", "freeze")
        for gap in ("0.5 s", "1 s", "2 s")
    }
    runs = RunsOfAxes(values, "Scheme of download, gap of the handoff")
    figure = figure_of(plot_over_time, runs, ["throughput"], look="paper")
    figure.draw_without_rendering()
    (legend,) = figure.legends
    panel = max(axes.get_window_extent().height for axes in figure.axes)
    assert legend.get_window_extent().height < panel


def test_panels_of_delays_share_the_kind_of_their_scale() -> None:
    def panel(kind: str, value: list[float]) -> Panel:
        time = np.arange(len(value), dtype=np.float64)
        line = Curve("a", "steps", time, np.array(value), 0)
        return Panel(kind, f"{kind} (ms)", "ms", [line])

    wide, narrow = [10.0, 10.0, 10.0, 200.0, 200.0], [100.0, 110.0, 120.0, 200.0, 200.0]
    panels = [panel("delay", wide), panel("rtt", narrow), panel("queue", wide)]
    for given, expected in (({}, ["rtt"]), ({"rtt": "linear"}, [])):
        of: dict[str, str] = given

        def scale_of(one: Panel, of: dict[str, str] = of) -> str | None:
            return of.get(one.kind)

        assert with_one_scale(panels, scale_of) == expected
    assert with_one_scale(panels[1:], scale_of) == []


def test_the_longest_time_has_the_unit_of_its_axis() -> None:
    line = Curve("a", "steps", np.arange(2.0), np.array([10.0, 20.0]), 0)
    for longest, unit, said in (
        (3148.2, "ms", "3,150 ms"),
        (51.27, "ms", "51.3 ms"),
        (8.2, "s", "8.2 s"),
    ):
        value = np.array([0.01, 0.02]) if unit == "s" else line.value
        panel = Panel("rtt", "", unit, [Curve("a", "steps", line.time_s, value, 0)])
        panel = Panel("rtt", "", unit, panel.curves, peaks=[Peak(longest, "a", 1.0, 0)])
        assert peak_words(panel, None) == f"longest: {said}"


def test_rows_above_a_single_line_have_their_numbers() -> None:
    """Of marks that cover each other one is drawn; the number is of all."""

    def marks(draw: Any, count: int) -> Curve:
        time = np.linspace(0, 10, count)
        return Curve(draw, draw, time, np.zeros(count), in_row=True)

    panel = Panel("queue", "", "", [marks("full", 500), marks("marked", 400), marks("timeout", 3)])
    panel = without_overlaps(panel, Room(3.0, (0.0, 10.0)))
    full, ecn, timeout = (len(one.time_s) for one in panel.curves)
    assert full < 500
    assert ecn < 400
    assert timeout == 3
    axes = Figure().add_subplot()
    draw_row_names(axes, panel, rows_of(panel))
    assert [one.get_text() for one in axes.texts] == ["500 lost", "400 marked"]


def test_nothing_is_said_of_the_times_in_fonts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("fontTools.ttLib.tables._h_e_a_d")
    with caplog.at_level(logging.WARNING):
        plot_over_time(following(), tmp_path / "a.pdf", ["throughput"], font="latex")
        assert not [one for one in caplog.records if one.name.startswith("fontTools")]
        # It speaks again afterwards.
        logger.warning("heard")
    assert "heard" in caplog.text


def test_texts_above_figures_are_broken_evenly_and_the_only_flow_needs_no_legend() -> None:
    text = "change of the mean and 95 % interval over 5 runs of several instants each"
    for width in (150.0, 220.0, 259.0):
        lines = balanced(text, 6.5, width).split("\n")
        assert len(lines) == len(wrapped(text, 6.5, width).split("\n"))
        assert " ".join(lines) == text
        widths = [text_width(one, 6.5) for one in lines]
        assert max(widths) <= width
        assert min(widths) > 0.6 * max(widths)
    assert balanced("short", 6.5, 259.0) == "short"
    columns = {"flows.get.size": ["1 MB", "2 MB"], "flow": ["get"] * 2, "duration_ns": [1e9, 2e9]}
    figure = axis_figure(axis_data(columns, x="flows.get.size", y="duration_ns"))
    assert (figure.axes[0].get_xlabel(), figure.legends) == ("Size of get (MB)", [])
    # Another axis does not name it: the words above do.
    columns["links.a.rate"] = columns.pop("flows.get.size")
    figure = axis_figure(axis_data(columns, x="links.a.rate", y="duration_ns"))
    assert figure.legends == []
    assert [one.get_text() for one in figure.axes[0].texts] == ["get"]


def test_the_rate_of_a_slow_link_does_not_depend_on_the_width_of_a_figure() -> None:
    columns = {"time_s": [0, 20, 20.4, 25, 40], "rate_mbps": [50, 0.25, 0.75, 50, 50]}
    link = Link(trace={"columns": columns}, delay="20 ms", queue="50 packets")
    scenario = Scenario(links={"cell": link}, flows={"a": Flow()}, end="40 s")
    runs = watch(scenario, kinds=["throughput"])
    for size, interval in ((2.5, None), (3.5, None), (7.16, None), (7.16, 1.0)):
        _, (panel,) = shown_panels(runs, ["throughput"], interval_s=interval, size=size)
        assert slow_links(panel, "linear", runs[0].stretches) == ("cell: down to 0.25 Mbit/s"), (
            size,
            interval,
        )


def test_a_narrow_figure_of_several_runs_recommends_a_wide_one() -> None:
    schemes = ["sack", "enhanced"]
    with pytest.warns(ScenarioWarning, match="2 panels side by side in 3.5 in .* --size double"):
        figure_of(plot_run, "wifi-to-lte", schemes=schemes, look="paper", until_s=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScenarioWarning)
        figure_of(plot_run, "wifi-to-lte", schemes=["sack"], look="paper", until_s=1.0)
        figure_of(plot_run, "wifi-to-lte", schemes=schemes, look="paper", size="double")
        figure_of(plot_run, "wifi-to-lte", schemes=[*schemes, "vho", "freeze"], until_s=1.0)


def test_a_number_and_its_unit_stay_in_one_line() -> None:
    from midflight.plot.common.style import wrapped

    text = "Delay of lte: 20 ms; rate 5 Mbit/s, over 3 s and up to 95 % of 40 kB"
    lines = wrapped(text, 7, 1).split("\n")
    assert {"20 ms;", "5 Mbit/s,", "3 s", "95 %", "40 kB"} < {*lines}


@pytest.mark.parametrize("style", ["plain", "paper"])
def test_the_usual_figure_names_the_scheme_and_marks_where_a_timeout_is_undone(style: str) -> None:
    """The window jumps there, and falls again."""
    (run,) = watch("wifi-to-lte", kinds=["cwnd"])
    events = run.setup.events(flow="download", name="spurious").rows()
    undone = [row[1] / 1e9 for row in events if row[4] == "timeout"]
    figure = figure_of(plot_run, "wifi-to-lte", look=style)
    assert "sack (CUBIC)" in [axes.get_title(loc="left") for axes in figure.axes]
    drawn = [line for axes in figure.axes for line in axes.lines]
    (marks,) = [line for line in drawn if line.get_label() == "timeout undone"]
    assert undone
    assert list(marks.get_xdata()) == undone
