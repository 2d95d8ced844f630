"""Lost requests of videos and pages, and timeouts that are undone, are seen in their figures."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from matplotlib.figure import Figure

from midflight import Scenario
from midflight.plot import figure_of, plot_over_time
from midflight.plot.over_time.marks import EVENTS, UNHEARD
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.requests import lost_requests
from midflight.plot.over_time.watched import watch
from midflight.plot.page.data import _application, packed
from midflight.plot.page.html import page_html

LOST = {"handoffs.0.at": "28 s"}
TIMEOUT, UNDONE = EVENTS["request_timeout"].label, EVENTS["undone"].label


@pytest.fixture(scope="module")
def video() -> Scenario:
    """A video whose request is lost in the tunnel."""
    return Scenario.read("video-tunnel", sets=LOST)


def names_of(figure: Figure) -> list[str]:
    return [text.get_text() for one in figure.legends for text in one.get_texts()]


def test_a_lost_request_is_in_the_buffer_of_a_video(video: Scenario) -> None:
    (run,) = watch(video, kinds=["throughput", "buffer"])
    (requests,) = run.requests(run.flows[0]).values()
    ((begin, end),) = lost_requests(requests)
    assert 28 < begin < 29 < 46 < end < 47
    _, panels = shown_panels([run], ["throughput", "buffer"])
    for panel in panels:
        spans = [one for one in panel.curves if one.draw == "unheard"]
        marks = [one for one in panel.curves if one.draw == "request_timeout"]
        assert [one.low is not None and one.low[0] for one in spans] == [begin]
        assert [len(one.time_s) for one in marks] == [6]
        assert (marks[0].time_s >= begin).all()
    # A figure has them once, and its legend names them.
    figure = figure_of(plot_over_time, video, ["throughput", "buffer"])
    assert {TIMEOUT, UNHEARD} <= {*names_of(figure)}
    # Without an application's panel they are above the throughput.
    assert {TIMEOUT, UNHEARD} <= {*names_of(figure_of(plot_over_time, video, ["throughput"]))}
    asked = figure_of(plot_over_time, video, ["buffer"], marks=["timeouts"])
    assert not {TIMEOUT, UNHEARD} & {*names_of(asked)}


def test_those_of_a_page_are_at_its_objects() -> None:
    sets = {"handoffs.0.at": "0.17 s", "handoffs.0.gap": "1 s"}
    scenario = Scenario.read("web-page", sets=sets | {"flows.page.set.web_connections": "3"})
    (run,) = watch(scenario, kinds=["objects"])
    _, (panel,) = shown_panels([run], ["objects"])
    (bars,) = (one for one in panel.curves if one.draw == "bars")
    marks = [one for one in panel.curves if one.draw == "request_timeout"]
    assert len(run.requests(run.flows[0])) == 3
    assert sum(len(one.time_s) for one in marks) == sum(
        len(one.times("rto")) for one in run.requests(run.flows[0]).values()
    )
    assert bars.low is not None
    assert bars.high is not None
    for one in marks:
        for at, number in zip(one.time_s, one.value, strict=True):
            (place,) = np.flatnonzero(bars.value == number)
            assert bars.low[place] <= at <= bars.high[place]


def test_the_panel_of_a_page_with_several_connections_has_only_the_first() -> None:
    kinds = ["throughput", "objects"]
    scenario = Scenario.read("web-page", sets={"flows.page.set.web_connections": "3"})
    assert len(figure_of(plot_over_time, scenario, kinds).axes) == 3


def test_a_timeout_that_is_undone_has_a_mark() -> None:
    (run,) = watch("video-tunnel", kinds=["throughput"])
    (undone,) = run.flows[0].undone
    events = run.setup.events(flow="video", name="spurious").rows()
    assert undone == next(iter(events))[1]
    _, (panel,) = shown_panels([run], ["throughput"])
    (mark,) = (one for one in panel.curves if one.draw == "undone")
    assert mark.time_s.tolist() == [undone / 1e9]
    assert UNDONE in names_of(figure_of(plot_over_time, "video-tunnel", ["throughput"]))


def test_pages_have_both(video: Scenario) -> None:
    html = page_html(video)
    assert '"request_timeout":"' in html
    assert '"unheard":[[285' in html
    assert '"undone":"' in page_html("video-tunnel")


def test_a_page_has_the_timeouts_of_all_connections_at_its_objects() -> None:
    sets = {"handoffs.0.at": "0.17 s", "handoffs.0.gap": "1 s"}
    sets |= {"flows.page.set.web_connections": "3"}
    (run,) = watch(Scenario.read("web-page", sets=sets), kinds=["objects"])
    (flow,) = run.flows
    found = _application(run, flow, 1)["objects"]["events"]
    shown = {kind: len(base64.b64decode(times)) for kind, times in found.items()}
    assert shown["request_timeout"] == _packed_size(
        [one.times("rto") for one in run.requests(flow).values()]
    )
    first = run.requests(flow)["page-c0"].times("rto")
    assert shown["request_timeout"] > _packed_size([first])


def _packed_size(times: list[np.ndarray]) -> int:
    return len(base64.b64decode(packed(np.sort(np.concatenate(times)))))
