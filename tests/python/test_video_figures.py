"""Figures of a video, and of a page: bit rates, and no combs of what is on and off."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from midflight import Flow, Link, Scenario
from midflight.plot.over_time.applications import buffer_of, cycle_of, objects_of
from midflight.plot.over_time.curves import Curve, Panel
from midflight.plot.over_time.marks import PLAYBACK
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.teeth import without_teeth
from midflight.plot.over_time.watched import WatchedRun, watch

KINDS = ["throughput", "bitrate", "buffer", "queue"]


@pytest.fixture(scope="module")
def tunnel() -> Sequence[WatchedRun]:
    return watch("video-tunnel", kinds=KINDS)


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Sequence[WatchedRun]:
    """Five minutes by a recording with a row for each second, and a tunnel."""
    folder: Path = tmp_path_factory.mktemp("drive")
    rows = [f"{at},{0.5 if 150 <= at < 190 else 30 + at % 7},30" for at in range(300)]
    (folder / "drive.csv").write_text("\n".join(["time,rate_mbps,delay_ms", *rows]))
    link = Link(trace=str(folder / "drive.csv"), queue="200 packets")
    film = Flow(workload="video", set={"video_length": "5 min"})
    return watch(Scenario(links={"cell": link}, flows={"film": film}, end="300 s"), kinds=KINDS)


def line_of(panel: Panel, draw: str = "line") -> Curve:
    (found,) = (one for one in panel.curves if one.draw == draw)
    return found


def test_the_bit_rate_is_that_of_each_segment_from_its_request(
    tunnel: Sequence[WatchedRun],
) -> None:
    _, (panel,) = shown_panels(tunnel, ["bitrate"])
    line = line_of(panel, "steps")
    flow = tunnel[0].flows[0]
    assert (line.time_s[:-1] == flow.times("request") / 1e9).all()
    assert line.time_s[-1] == flow.times("segment")[-1] / 1e9
    table = Scenario.read("video-tunnel").run().flows
    rates = line.value[:-1]
    assert {*rates} <= {0.75, 1.5, 3.0, 6.0}
    assert rates.mean() == pytest.approx(table.column("mean_rate_bps")[0] / 1e6, rel=1e-6)
    assert sum(a != b for a, b in pairwise(rates)) == table.column("switches")[0] > 0
    # A part begins with what holds then, and has nothing after the last segment.
    _, (part,) = shown_panels(tunnel, ["bitrate"], 20.25, 60.0)
    some = line_of(part, "steps")
    assert (some.time_s[0], some.value[0]) == (20.25, 6.0)
    assert some.time_s[-1] == 60.0
    stalls = line_of(part, "stalls")
    assert [*stalls.time_s] == [one / 1e9 for one in flow.times("stalled")]


def test_a_segment_that_was_not_read_has_its_rate_to_the_end() -> None:
    (run,) = watch(Scenario.read("video-tunnel", sets={"end": "45 s"}), kinds=["bitrate"])
    _, (panel,) = shown_panels([run], ["bitrate"])
    assert line_of(panel, "steps").time_s[-1] == 45.0


def test_stalls_of_several_videos_have_one_row_in_a_figure() -> None:
    """Above the buffers, or above the bit rates if these are alone."""
    runs = watch("video-tunnel", schemes=["sack", "bbr-linux"], kinds=["bitrate", "buffer"])
    for kinds, has_row in ((["bitrate", "buffer"], [False, True]), (["bitrate"], [True])):
        window, panels = shown_panels(runs, kinds)
        figure = over_time_figure(runs, panels, window)
        axes = [one for one in figure.axes if "ideo" in one.get_ylabel()]
        found = [PLAYBACK in one.get_legend_handles_labels()[1] for one in axes]
        assert found == has_row


def test_narrow_teeth_of_a_buffer_are_their_tops_and_a_band(drive: Sequence[WatchedRun]) -> None:
    window, (panel,) = shown_panels(drive, ["buffer"])
    time, level = buffer_of(drive[0].flows[0])
    exact = line_of(panel)
    assert exact.low is None
    wide, narrow = Room(6.5, window), Room(2.85, window)
    assert without_teeth(panel, wide) is panel
    blunt = without_teeth(panel, narrow)
    assert blunt.detail.startswith("maxima per segment, band: down to minima; ")
    line = line_of(blunt)
    assert line.low is not None
    assert line.high is not None
    assert np.abs(np.diff(line.value)).sum() < 0.3 * np.abs(np.diff(exact.value)).sum()
    # The range has the line in it, everywhere.
    at = np.linspace(0.1, line.time_s[-1] - 0.1, 5003)
    low, high, true = (
        np.interp(at, one, of)
        for one, of in ((line.time_s, line.low), (line.time_s, line.high), (time, level))
    )
    assert (low <= true + 1e-6).all()
    assert (true <= high + 1e-6).all()
    assert (line.value == line.high).all()
    # Where the buffer runs empty there is only the line.
    runs_empty = (at > 160) & (at < 165)
    assert true[runs_empty].min() > 0
    assert high[runs_empty] == pytest.approx(low[runs_empty])
    assert line.value.min() == 0


def test_buffers_of_several_lines_have_no_bands_unless_asked(drive: Sequence[WatchedRun]) -> None:
    """Their teeth are too narrow sooner, as they cover each other."""
    window, (panel,) = shown_panels(drive, ["buffer"])
    two = Panel("buffer", "", "s", [line_of(panel), line_of(panel)], has_bands=False)
    found = without_teeth(two, Room(6.5, window))
    assert found.detail == "maxima per segment"
    assert all(one.low is None for one in found.curves)
    runs = watch("video-tunnel", schemes=["sack", "freeze"], kinds=["buffer"])
    for bands, has in ((None, False), (True, True)):
        _, (several,) = shown_panels(runs, ["buffer"], bands=bands)
        assert several.has_bands is has


def test_many_segments_have_means_of_whole_ones(drive: Sequence[WatchedRun]) -> None:
    """Also where the recording has shorter steps; the queue has the same intervals."""
    _, (rate, queue) = shown_panels(drive, ["throughput", "queue"])
    assert rate.detail == "means per video segment, pauses included"
    assert queue.detail == "means of 4 s, band: smallest to largest"
    steady = line_of(rate, "steps")
    values = steady.value[(steady.time_s > 50) & (steady.time_s < 140)]
    assert values.max() < 1.1 * values.min()
    # Few are wide enough to show when they load.
    _, (rate, queue) = shown_panels(drive, ["throughput", "queue"], 60.0, 80.0)
    assert rate.detail == "means of 0.1 s"
    assert line_of(rate, "steps").value.min() == 0
    assert queue.detail.startswith("means of 0.")


def test_narrow_segments_have_means_of_whole_ones_by_a_fine_recording(tmp_path: Path) -> None:
    rows = [f"{at / 5},{30 + at % 7},30" for at in range(1000)]
    (tmp_path / "fine.csv").write_text("\n".join(["time,rate_mbps,delay_ms", *rows]))
    link = Link(trace=str(tmp_path / "fine.csv"), queue="200 packets")
    film = Flow(workload="video", set={"video_length": "3 min"})
    scenario = Scenario(links={"cell": link}, flows={"film": film}, end="200 s")
    runs = watch(scenario, kinds=["throughput"])
    for until, said in (
        (180.0, "means per video segment, pauses included"),
        (60.0, "means of 0.2 s"),
    ):
        _, (panel,) = shown_panels(runs, ["throughput"], 0.0, until)
        assert panel.detail == said


def test_objects_that_are_asked_for_one_after_the_other_are_seen_or_have_means_of_two() -> None:
    """The flow is on and off; with all requests at once it is not. In a narrow figure the bursts
    would be a comb.
    """
    kinds = ["throughput", "queue"]
    (run,) = watch("web-page", kinds=kinds)
    begins, ends = objects_of(run.flows[0])[1:]
    assert cycle_of(run.flows[0]) == np.median(np.diff(begins)) == pytest.approx(0.086, abs=1e-3)
    assert (begins[1:] == ends[:-1]).all()
    _, (rate, queue) = shown_panels([run], kinds)
    assert rate.detail == "means of 0.02 s"
    assert queue.detail.startswith("means of 0.01 s, ")
    _, (rate, queue) = shown_panels([run], kinds, size="single")
    assert rate.detail == "means of 0.2 s"
    assert queue.detail.startswith("means of 0.2 s, ")
    _, (part,) = shown_panels([run], ["throughput"], 1.8, 2.2)
    assert part.detail == "means of 0.02 s"
    (at_once,) = watch(
        Scenario.read("web-page", sets={"flows.page.set.web_http": "2"}), kinds=kinds
    )
    assert cycle_of(at_once.flows[0]) == 0
    _, (rate,) = shown_panels([at_once], ["throughput"])
    assert rate.detail == "means of 0.05 s"
    # Other flows have no requests.
    (plain,) = watch("wifi-to-lte", kinds=kinds)
    assert cycle_of(plain.flows[0]) == 0


def test_a_late_segment_among_blunt_teeth_is_no_event() -> None:
    """It came after 5.2 s instead of 4 s, and alone of them was drawn down to its smallest value.
    The row of stalls says what it is.
    """
    runs = watch("video-tunnel", schemes=["sack", "enhanced"], kinds=["buffer"])
    window, panels = shown_panels(runs, ["buffer"], size=3.5)
    figure = over_time_figure(runs, panels, window, size=3.5)
    (axes,) = (one for one in figure.axes if one.get_ylabel())
    (line,) = (one for one in axes.lines if one.get_label() == "enhanced" and len(one.get_xdata()))
    time, level = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert level[(time > 51) & (time < 90)].min() > 21
    exact_s, exact = buffer_of(runs[1].flows[0])
    assert exact[(exact_s > 50) & (exact_s < 60)].min() < 18
    assert "1 stall" in [one.get_text() for one in axes.texts]


@pytest.mark.parametrize("end", ["150 s", "200 s"])
def test_the_last_mean_of_a_video_that_loads_all_the_time_ends_with_its_data(end: str) -> None:
    """Otherwise it would be as if the link had been slower; also where playback goes on."""
    link = Link(rate="850 kbit/s", delay="20 ms")
    film = Flow(workload="video", set={"video_length": "2 min"})
    runs = watch(Scenario(links={"dsl": link}, flows={"film": film}, end=end), kinds=["throughput"])
    _, (panel,) = shown_panels(runs, ["throughput"])
    assert panel.detail == "means per video segment, pauses included"
    line, flow = line_of(panel, "steps"), runs[0].flows[0]
    requested, read = flow.times("request") / 1e9, flow.times("segment") / 1e9
    assert len(requested) == len(read) == 30
    assert (requested[1:] == read[:-1]).all()
    (place,) = np.flatnonzero(np.abs(line.time_s - read[-1]) < 1e-6)
    assert line.value[place - 1] == pytest.approx(np.median(line.value[:place]), rel=0.02)
    assert (line.value[place:] == 0).all()
    # All that arrived is in them.
    mbit = 8e-6 * flow.sizes("rcv").sum()
    assert (line.value[:-1] * np.diff(line.time_s)).sum() == pytest.approx(mbit, rel=1e-5)
