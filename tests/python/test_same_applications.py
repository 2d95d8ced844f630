"""Schemes whose applications do the same are said to, and each compared scheme has its reason."""

from __future__ import annotations

import re

import pytest

from midflight import Scenario
from midflight.plot import figure_of, plot_over_time
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.same_runs import same_applications
from midflight.plot.over_time.watched import watch
from midflight.run_report import report_html

LOST = {"handoffs.0.at": "28 s"}


def words_of(html: str) -> str:
    return " ".join(re.sub("<[^>]+>", " ", html).split())


def test_a_video_that_is_the_same_is_called_so() -> None:
    scenario = Scenario.read("video-tunnel", sets=LOST)
    runs = watch(scenario, schemes=["sack", "freeze"], kinds=["bitrate", "buffer"])
    first, second = (run.labels[0] for run in runs)
    assert runs[0].flows[0].digest != runs[1].flows[0].digest
    assert same_applications(runs) == {second: f"same video as {first}"}
    window, panels = shown_panels(runs, ["bitrate", "buffer"])
    figure = over_time_figure(runs, panels, window)
    names = [text.get_text() for one in figure.legends for text in one.get_texts()]
    assert any(one.startswith("freeze (same video as sack") for one in names)
    # Those in the scenario's own tunnel differ.
    assert not same_applications(watch("web-page", schemes=["sack", "a3"], kinds=["objects"]))
    outcomes = {
        name: Scenario.read("video-tunnel", sets=LOST | {"flows.video.scheme": name}).run()
        for name in ("sack", "freeze")
    }
    html = words_of(report_html(outcomes))
    assert "all measures of the video are the same with sack (CUBIC) and freeze" in html
    assert "video-requests freeze 121.536" in html


def test_a_part_of_a_page_has_an_axis_of_its_objects() -> None:
    figure = figure_of(plot_over_time, "web-page", ["objects"], from_s=2.0, until_s=2.3)
    low, high = figure.axes[-1].get_ylim()
    assert low < 16
    assert high > 8


@pytest.mark.parametrize(("count", "scale"), [(1, "linear"), (2, "log")])
def test_rates_below_an_eighth_have_a_logarithmic_axis_if_a_flow_is_slower(
    count: int, scale: str
) -> None:
    # From 50 to 6 Mbit/s: a flow that fills the link is seen on a linear axis.
    scenario = Scenario.read("bufferbloat", sets={"flows.download.count": count})
    figure = figure_of(plot_over_time, scenario, ["throughput"])
    assert figure.axes[-1].get_yscale() == scale


@pytest.mark.parametrize(("starter", "is_there"), [("wifi-to-lte", True), ("call-handoff", False)])
def test_a_caption_names_the_grey_area_where_there_is_one(starter: str, is_there: bool) -> None:
    html = words_of(report_html(Scenario.read(starter).run()))
    assert ("the rate of the link in use in grey" in html) == is_there


def test_each_compared_scheme_has_a_sentence_on_what_limited_it() -> None:
    # A stall is most of the time of one of them.
    sets = {"handoffs.0.to": "wifi", "handoffs.0.at": "0.1 s", "flows.download.size": "1 MB"}
    outcomes = {
        name: Scenario.read("wifi-to-lte", sets=sets | {"flows.download.scheme": name}).run()
        for name in ("sack", "freeze")
    }
    html = words_of(report_html(outcomes))
    said = "With sack (CUBIC) , the longest stall took 85% of the time (3.536 s of 4.138 s); in all"
    assert f"{said} of it the flow used 7% of what wifi could carry, with headers." in html
    assert "With freeze , " in html
