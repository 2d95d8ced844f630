"""Lines of figures over time that lie over each other, and runs that are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from midflight import Flow, Link, Scenario
from midflight.cli import main
from midflight.plot import figure_of, plot_delay_cdf, plot_over_time, plot_page
from midflight.plot.common.line_looks import look_of, looks_of_flows, plain_look
from midflight.plot.common.style import SERIES, looks_of
from midflight.plot.over_time.curves import Curve
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.strokes import Stroke, draw_curve, draw_whole_markers
from midflight.plot.over_time.together import LINE_PT, repeated_lines, styles_of, widths_of
from midflight.plot.over_time.watched import watch
from pages import data_of


def full_link() -> Scenario:
    """A download that fills its link; nothing tells CUBIC and Freeze-TCP apart."""
    link = Link(rate="10 Mbit/s", delay="20 ms", queue="100 packets")
    return Scenario(links={"cell": link}, flows={"download": Flow()}, end="20 s")


def steps(value: list[float], look: int = 0) -> Curve:
    time = np.arange(len(value), dtype=np.float64)
    return Curve("", "steps", time, np.array(value, dtype=np.float64), look)


def lines_named(figure: Any, label: str) -> list[Any]:
    """The lines of a label in all panels, with what is drawn."""
    each = (line for axes in figure.axes for line in axes.lines if line.get_label() == label)
    return [line for line in each if len(line.get_xdata())]


def test_a_line_has_its_dashes_in_any_order_and_one_is_solid() -> None:
    for looks in ([5, 4, 2], [4, 0, 1], [0, 1, 2], [8, 0], [3]):
        styles = styles_of(looks)
        assert [*styles] == looks
        assert styles == styles_of(looks[::-1])
        assert len({*map(str, styles.values())}) == len(looks)
        # That of CUBIC, or the first of all looks.
        assert [look for look in looks if styles[look] == "-"] == [min(looks)]
        assert all(styles[look] == SERIES[look].line for look in looks if look != min(looks))
    assert styles_of([]) == {}


def test_the_strokes_of_schemes_do_not_depend_on_their_order() -> None:
    """The solid line is beneath the others, and the widest where they coincide."""
    found = []
    for schemes in (["sack", "bbr-linux"], ["bbr-linux", "sack"]):
        how: Any = {"schemes": schemes}
        figure = figure_of(plot_over_time, full_link(), ["throughput"], **how)
        names = {one.get_text().split()[0] for one in figure.legends[0].get_texts()}
        assert {*schemes} <= names
        lines = {name: lines_named(figure, name)[0] for name in schemes}
        assert lines["sack"].get_linestyle() == "-"
        assert lines["bbr-linux"].get_linestyle() == "--"
        assert lines["sack"].get_zorder() < lines["bbr-linux"].get_zorder()
        found.append({name: one.get_linewidth() for name, one in lines.items()})
    assert found[0] == found[1]
    assert found[0]["sack"] > found[0]["bbr-linux"]


def test_dashes_leave_no_gap_in_which_a_drop_is_lost() -> None:
    for look in SERIES:
        gaps = [] if isinstance(look.line, str) else look.line[1][1::2]
        assert max(gaps, default=0.0) * LINE_PT < 2.0, look


def test_markers_on_the_axis_are_whole() -> None:
    axes = Figure(figsize=(5.0, 2.0)).add_subplot()
    axes.set(xlim=(0.0, 100.0), ylim=(0.0, 10.0))
    line = steps([5.0] * 50 + [0.0] * 50, look=4)
    how: Any = {"several": True, "marked": True}
    draw_curve(axes, line, Room(5.0, (0.0, 100.0)), 0, Stroke("-", 1.0), **how)
    draw_whole_markers(axes, 100.0)
    drawn, whole = axes.lines
    on_axis = [one for one in drawn.get_markevery() if line.value[one] == 0]
    assert 0 < len(on_axis) < len(drawn.get_markevery())
    assert list(whole.get_xdata()) == on_axis
    assert (whole.get_clip_on(), whole.get_clip_path()) == (False, None)
    assert (whole.get_linestyle(), whole.get_marker()) == ("None", drawn.get_marker())
    assert whole.get_markersize() == drawn.get_markersize()


def widths(values: Sequence[list[float]], *, is_log: bool = False) -> Any:
    """The widths of the lines of a panel with these values."""
    lines = [replace(steps(one), label=str(place)) for place, one in enumerate(values)]
    return [*widths_of([(lines, is_log)]).values()]


def test_lines_that_coincide_are_narrower_from_line_to_line() -> None:
    level = [10.0, 12.0, 11.0, 10.0, 13.0, 12.0, 10.0, 11.0, 10.0, 10.0]
    other = [one + 5 for one in level]
    near = [one + 0.05 for one in level]
    first, apart, second = widths([level, other, near])
    assert 1.8 * second > first > 1.5 * second
    assert apart == LINE_PT
    three = widths([level, near, level])
    assert three[0] > 1.25 * three[1] > 1.25 * 1.25 * three[2]
    # For less than half of the time they are told apart where they are not the same.
    half = level[:4] + other[4:]
    assert widths([level, half]) == [LINE_PT] * 2
    assert widths([level]) == [LINE_PT]
    # Where both are 0 does not count.
    resting, other_resting = [0.0] * 8 + [10.0, 5.0], [0.0] * 8 + [5.0, 10.0]
    assert widths([resting, other_resting]) == [LINE_PT] * 2
    assert widths([[], level]) == [LINE_PT] * 2
    # On a logarithmic axis small values that differ are apart.
    small, large = [0.1, 0.1, 0.1, 0.1, 10.0, 10.0], [0.2, 0.2, 0.2, 0.2, 10.0, 10.0]
    assert widths([small, large])[0] > LINE_PT
    assert widths([small, large], is_log=True) == [LINE_PT] * 2


def test_a_line_has_one_width_in_all_panels_and_in_the_legend() -> None:
    """Those that coincide in one panel, with different lines in another one, too."""
    level, other = np.full(9, 10.0), np.full(9, 20.0)
    panels = [
        [
            replace(steps(value.tolist()), label=label)
            for label, value in zip("abc", each, strict=True)
        ]
        for each in ((level, level, other), (other, level, level), (level, 2 * level, 3 * level))
    ]
    found = widths_of([(one, False) for one in panels])
    assert found["a"] > found["b"] > found["c"]
    assert widths_of([(panels[-1], False)]) == dict.fromkeys("abc", LINE_PT)
    how: Any = {"schemes": ["sack", "bbr-linux", "enhanced"]}
    figure = figure_of(plot_over_time, "starlink-to-lte", ["rtt", "throughput"], **how)
    entries = zip(figure.legends[0].get_texts(), figure.legends[0].legend_handles, strict=True)
    labels = tuple(how["schemes"])
    lines = [handle for text, handle in entries if text.get_text().startswith(labels)]
    legend = {one.get_color(): one.get_linewidth() for one in lines}
    for name in how["schemes"]:
        drawn = lines_named(figure, name)
        assert len(drawn) == 2
        assert len({one.get_linewidth() for one in drawn}) == 1
        assert legend[drawn[0].get_color()] == drawn[0].get_linewidth()
    assert max(legend.values()) < 1.5 * LINE_PT


def test_throughputs_of_a_full_link_are_all_seen() -> None:
    how: Any = {"schemes": ["cubic-linux", "bbr-linux"]}
    figure = figure_of(plot_over_time, full_link(), ["throughput", "queue"], **how)
    (cubic, of_queue), (bbr, _) = (lines_named(figure, one) for one in how["schemes"])
    assert cubic.get_linewidth() > 1.5 * bbr.get_linewidth()
    assert cubic.get_zorder() < bbr.get_zorder()
    assert (cubic.get_linestyle(), bbr.get_linestyle()) == ("-", "--")
    # Their queues are apart, and as wide as they are above; that of a single run is narrower.
    assert of_queue.get_linewidth() == cubic.get_linewidth()
    alone = figure_of(plot_over_time, full_link(), ["queue"]).axes[-1]
    assert 0 < min(one.get_linewidth() for one in alone.lines if len(one.get_xdata()) > 9) < LINE_PT
    samples = [one for one in figure.legends[0].get_lines() if one.get_linestyle() == "-"]
    assert {one.get_linewidth() for one in samples if one.get_marker() == "o"} == {
        cubic.get_linewidth()
    }


def test_a_run_that_is_the_same_as_another_one_has_markers_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schemes = ["cubic-linux", "bbr-linux", "freeze"]
    assert repeated_lines(watch(full_link(), schemes=schemes)) == {"freeze": "cubic-linux"}
    figure = figure_of(plot_over_time, full_link(), ["throughput"], schemes=schemes)
    (freeze,) = lines_named(figure, "freeze")
    assert freeze.get_linestyle() == "None"
    assert freeze.get_marker() == SERIES[2].marker
    names = [one.get_text() for one in figure.legends[0].get_texts()]
    assert "freeze (same as cubic-linux)" in names
    assert "freeze" not in names
    # In a legend in a corner it is among the lines.
    how: Any = {"schemes": schemes, "legend": "upper-right"}
    figure = figure_of(plot_over_time, full_link(), ["throughput"], **how)
    inside = [one.get_text() for one in figure.axes[0].get_legend().get_texts()]
    assert inside == ["cubic-linux", "bbr-linux", "freeze (same as cubic-linux)"]
    scenario = tmp_path / "a.toml"
    link = 'rate = "10 Mbit/s", delay = "20 ms", queue = "100 packets"'
    scenario.write_text(f'end = "20 s"\nlinks.cell = {{ {link} }}\n[flows.download]\n')
    words = ["plot", str(scenario), "--kind", "throughput", "--out", str(tmp_path / "a.png")]
    assert main([*words, *(word for one in schemes for word in ("--scheme", one))]) == 0
    said = capsys.readouterr().err
    assert "freeze: its run is the same as that of cubic-linux, event by event" in said


def test_the_page_has_the_dashes_of_figures(tmp_path: Path) -> None:
    schemes = ["bbr-linux", "sack"]
    page = plot_page(full_link(), tmp_path / "a.html", schemes=schemes)
    data = data_of(page.read_text(encoding="utf-8"))
    first, second = (data["dashes"][one["look"]] for one in data["runs"])
    assert tuple(first) == SERIES[data["runs"][0]["look"]].line[1]
    assert second == []


def test_a_rate_that_goes_up_and_down_is_a_median_with_a_band() -> None:
    trace = {"columns": {"time_s": [0, 30], "rate_mbps": [20, 20]}}
    link = Link(trace=trace, delay="20 ms", queue="100 packets")
    scenario = Scenario(
        links={"cell": link}, flows={"a": Flow(scheme="bbr-linux")}, end="60 s", seed=1
    )
    _, (panel,) = shown_panels(watch(scenario, kinds=["rates"]), ["rates"])
    pacing, delivery = panel.curves
    assert (pacing.draw, delivery.draw) == ("steps", "steps")
    assert panel.has_bands
    assert pacing.low is not None
    assert pacing.high is not None
    # The gains of its cycle, 3/4 to 5/4, are in the band, and not in the line.
    late = (pacing.time_s > 5) & (pacing.time_s < 55)
    assert np.median(pacing.high[late]) > 1.2 * np.median(pacing.value[late])
    assert np.ptp(pacing.value[late]) < 0.2 * np.median(pacing.value[late])
    assert delivery.low is None
    assert pacing.look != delivery.look
    figure = figure_of(plot_over_time, scenario, ["rates"])
    (rates,) = (axes for axes in figure.axes if axes.get_ylabel())
    (band,) = (one for one in rates.collections if isinstance(one, PolyCollection))
    # The band of a black line is no grey area, and has no dots, which would be samples.
    assert band.get_hatch() is None
    assert len({round(one, 2) for one in band.get_facecolor()[0][:3]}) > 1
    words = [one.get_text() for one in figure.legends[0].get_texts()]
    assert words == ["bbr-linux", "delivery rate"]
    assert rates.get_title("right").endswith("band: 5 to 95 %")


def test_the_objects_of_each_line_have_a_panel() -> None:
    schemes = ["sack", "bbr-linux"]
    how: Any = {"schemes": schemes}
    figure = figure_of(plot_over_time, "web-page", ["objects", "throughput"], **how)
    first, second, rate = (axes for axes in figure.axes if axes.get_ylabel())
    assert [one.get_title("left") for one in (first, second, rate)] == [
        "sack (CUBIC): page in 2.60 s",
        "bbr-linux: page in 2.30 s",
        "",
    ]
    assert first.get_title("right") == "bars: request until read"
    assert first.get_ylabel() == second.get_ylabel() != rate.get_ylabel()
    for axes in (first, second):
        heights = [one.get_height() for one in axes.patches if isinstance(one, Rectangle)]
        assert len(heights) > 10
        assert min(heights) > 0.5
    assert len({one.get_facecolor() for axes in (first, second) for one in axes.patches}) >= 2
    # Both have the ends that are asked for, and a single line has one panel.
    how["ylim"] = {"objects": (0.0, 5.0)}
    figure = figure_of(plot_over_time, "web-page", ["objects"], **how)
    assert {axes.get_ylim() for axes in figure.axes if axes.get_ylabel()} == {(0.0, 5.0)}
    figure = figure_of(plot_over_time, "web-page", ["objects"])
    (alone,) = (axes for axes in figure.axes if axes.get_ylabel())
    assert alone.get_title("left") == ""


def two_flows() -> Scenario:
    """A download, and an update that begins later."""
    link = Link(rate="10 Mbit/s", delay="20 ms", queue="60 packets")
    flows = {"download": Flow(), "update": Flow(start="0.5 s")}
    return Scenario(links={"cell": link}, flows=flows, end="4 s")


def test_flows_of_a_scheme_have_its_colour(tmp_path: Path) -> None:
    flows, schemes = ["download", "update"], ["enhanced", "bbr-linux"]
    how: Any = {"flows": flows, "schemes": schemes}
    looks = [SERIES[one] for one in looks_of(schemes)]
    figure = figure_of(plot_over_time, two_flows(), ["throughput", "queue"], **how)
    named = {one.get_text(): one for one in figure.legends[0].get_texts()}
    drawn = {name: lines_named(figure, name)[0] for name in named if lines_named(figure, name)}
    assert {*drawn} >= {f"{flow}, {scheme}" for flow in flows for scheme in schemes}
    for scheme, look in zip(schemes, looks, strict=True):
        mine = {name: one for name, one in drawn.items() if name.endswith(scheme)}
        assert {*mine} == {*(f"{one}, {scheme}" for one in (*flows, "queue"))}
        assert {one.get_color() for one in mine.values()} == {look.colour}
        shown = [
            (one.get_marker(), str(one._unscaled_dash_pattern))
            for one in (mine[f"{name}, {scheme}"] for name in (*flows, "queue"))
        ]
        assert [len({*each}) for each in zip(*shown, strict=True)] == [2, 2]
        assert shown[2] == shown[0]
    # A flow has the same line and marker with both schemes.
    for flow in flows:
        both = [drawn[f"{flow}, {scheme}"] for scheme in schemes]
        assert len({(str(one._unscaled_dash_pattern), one.get_marker()) for one in both}) == 1
    data = data_of(
        plot_page(two_flows(), tmp_path / "a.html", flow=flows, schemes=schemes).read_text()
    )
    places = [one["look"] for one in data["runs"]]
    assert [data["colours"][0][one] for one in places] == [
        look.colour for look in looks for _ in flows
    ]
    assert len({str(data["dashes"][one]) for one in places}) == 2
    delays = figure_of(plot_delay_cdf, two_flows(), **how).axes[0]
    colours = [line.get_color() for line in delays.lines if len(line.get_xdata())]
    assert colours == [look.colour for look in looks for _ in flows]


@pytest.mark.parametrize("first", ["flows.download.scheme=sack,vho", "handoffs.0.gap=0.5s,2s"])
def test_runs_over_schemes_and_another_axis_have_the_colours_of_schemes(
    tmp_path: Path, first: str
) -> None:
    both = ["flows.download.scheme=sack,vho", "handoffs.0.gap=0.5s,2s"]
    axes = [word for one in sorted(both, key=lambda one: one != first) for word in ("--axis", one)]
    out = tmp_path / "x.svg"
    assert main(["plot", "wifi-to-lte", *axes, "--kind", "cwnd", "--out", str(out)]) == 0
    text = out.read_text().lower()
    sack, vho = (SERIES[one].colour.lower() for one in looks_of(["sack", "vho"]))
    assert sack in text
    assert vho in text
    others = {one.colour.lower() for one in SERIES} - {sack, vho, "black", "#000000"}
    assert not [one for one in others if one in text]


def test_looks_of_flows_by_the_number_of_their_senders() -> None:
    # Without names of senders, or with more flows than line styles, each line has its colour.
    assert looks_of_flows([""] * 3, ["a", "b", "c"]) == [0, 1, 2]
    assert looks_of_flows(["sack", "vho"], ["a", "b"]) == looks_of(["sack", "vho"])
    many = ["sack"] * 5 + ["vho"]
    assert len({*looks_of_flows(many, list("abcdef"))}) == 6
    # Of one run a scheme with one flow has its own look.
    mixed = looks_of_flows(["sack", "vho", "sack"], ["a", "b", "c"])
    assert mixed[1] == looks_of(["vho"])[0]
    assert plain_look(mixed[0]) == plain_look(mixed[2]) == looks_of(["sack"])[0]
    apart = [look_of(one) for one in mixed]
    assert len({one.line for one in apart}) == len({one.marker for one in apart}) == 3


def test_flows_of_one_run_have_their_own_colours() -> None:
    """The first one of a scheme has the look of that."""
    links = {"cell": Link(rate="20 Mbit/s", delay="20 ms", queue="50 packets")}
    flows = {name: Flow(scheme="bbr-linux") for name in "ab"} | {"c": Flow(), "d": Flow()}
    for names in ("ab", "abcd"):
        used = {name: flows[name] for name in names}
        (run,) = watch(Scenario(links=links, flows=used, end="3 s"), kinds=["throughput"])
        colours = [look_of(one).colour for one in run.looks]
        assert len({*colours}) == len(names)
        assert run.looks[0] == looks_of(["bbr-linux"])[0]
        assert names == "ab" or run.looks[2] == looks_of(["sack"])[0]


def test_a_queue_of_several_runs_has_the_look_of_their_first_flows() -> None:
    links = {"cell": Link(rate="20 Mbit/s", delay="20 ms", queue="50 packets")}
    source = Scenario(links=links, flows={"a": Flow(), "b": Flow()}, end="3 s")
    schemes = ["sack", "vho"]
    runs = watch(source, kinds=["queue"], schemes=schemes, flows=["a", "b"])
    # A colour is a scheme, a line style a flow.
    assert [[plain_look(one) for one in run.looks] for run in runs] == [
        [look] * 2 for look in looks_of(schemes)
    ]
    lines = [[look_of(one).line for one in run.looks] for run in runs]
    assert lines[0] == lines[1]
    assert len({*map(str, lines[0])}) == 2
    _, (panel,) = shown_panels(runs, ["queue"])
    queues = [one.look for one in panel.curves if one.draw == "queue"]
    assert queues == [run.looks[0] for run in runs]


def test_all_lines_are_seen_on_the_rate_of_the_link_in_a_grey_print() -> None:
    figure = figure_of(plot_over_time, full_link(), ["throughput"])
    (area,) = (one for axes in figure.axes for one in axes.collections if one.get_zorder() == 0.3)
    grey = np.array([0.299, 0.587, 0.114])
    behind = float(grey @ area.get_facecolor()[0][:3])
    for look in SERIES:
        assert behind - float(grey @ to_rgb(look.colour)) > 0.28, look
