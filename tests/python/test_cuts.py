"""Paths in figures over time: means end where a path ends, and recordings show their handovers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from midflight import Change, Flow, Handoff, Link, Scenario
from midflight._core import read_recording
from midflight.cli import main
from midflight.plot import figure_of, plot_over_time
from midflight.plot.over_time.bins import bin_edges, stepped, with_whole_bursts
from midflight.plot.over_time.curves import inside
from midflight.plot.over_time.drained import cuts_of_arrivals
from midflight.plot.over_time.intervals import usual_interval
from midflight.plot.over_time.panels import panel_rows, shown_panels
from midflight.plot.over_time.watched import panels_of, rate_in_use, watch


def moving(at: str = "1.03 s", gap: str = "400 ms") -> Scenario:
    """A download that moves from 20 to 5 Mbit/s within an interval of a tenth of a second."""
    return Scenario(
        links={
            "fast": Link(rate="20 Mbit/s", delay="5 ms", queue="30 packets"),
            "slow": Link(rate="5 Mbit/s", delay="20 ms", queue="30 packets"),
        },
        flows={"download": Flow(scheme="sack")},
        handoffs=[Handoff(at=at, to="slow", gap=gap)],
        end="3 s",
    )


@pytest.mark.parametrize(
    ("cuts", "edges"),
    [
        ([], [0, 1, 2, 3, 4, 5]),
        # An edge of the grid that is near a cut gives way to it.
        ([2.2], [0, 1, 2.2, 3, 4, 5]),
        ([2.5, 2.9], [0, 1, 2.5, 2.9, 4, 5]),
        # Of very near ones the first one counts, and the interval behind them is no sliver.
        ([2.0, 2.04], [0, 1, 2, 3, 4, 5]),
        # A short outage has an interval, and those beside it are no slivers.
        ([2.0, 2.1], [0, 1, 2, 2.1, 3, 4, 5]),
        ([2.6, 2.8], [0, 1, 2.6, 2.8, 4, 5]),
        # Of many the first and the last one.
        ([1.1 + 0.2 * one for one in range(12)], [0, 1.1, 2, 3.3, 5]),
        # Near the beginning and the end, too.
        ([0.1, 4.9], [0, 0.1, 1, 2, 3, 4, 4.9, 5]),
        ([0.04, 4.96], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_intervals_are_cut(cuts: Sequence[float], edges: Sequence[float]) -> None:
    found = bin_edges((0.0, 5.0), 1.0, 5.0, cuts)
    assert found == pytest.approx(edges)
    between = {(a, b) for a, b in itertools.pairwise(found) if {a, b} <= {0.0, *cuts, 5.0}}
    assert all(b - a >= 0.8 - 1e-9 or (a, b) in between for a, b in itertools.pairwise(found))
    assert np.diff(found).max() <= 1.8


def test_intervals_with_any_cuts_and_end_are_neither_short_nor_long() -> None:
    at = np.arange(0.05, 4.0, 0.16)
    for end in np.arange(2.0, 4.0, 0.13):
        for cuts in itertools.combinations([one for one in at if one < end], 3):
            found = bin_edges((0.0, 9.0), 1.0, float(end), cuts)
            assert (found[0], found[-1]) == (0.0, end)
            lasts = np.diff(found)
            for a, b in itertools.pairwise(found.tolist()):
                least = 0.05 - 1e-9 if {a, b} <= {0.0, *cuts, end} else 0.8 * (1 - 1e-9)
                assert b - a >= least, (end, cuts)
            assert lasts.max() <= 1.8 * (1 + 1e-9), (end, cuts)
            # A cut is an edge, or near another cut, the beginning or the end.
            for one in cuts:
                near = min(abs(one - other) for other in cuts if other != one)
                assert one in found or near < 0.25 or min(one, end - one) < 0.05, (end, cuts)


def test_an_outage_that_is_shorter_than_an_interval_is_seen() -> None:
    """Two seconds without a rate, in means of ten."""
    columns = {"time_s": [0, 55, 57, 120], "rate_mbps": [8, 0, 8, 8]}
    scenario = Scenario(
        links={"cell": Link(trace={"columns": columns}, delay="20 ms", queue="50 packets")},
        flows={"a": Flow()},
        end="120 s",
    )
    _, (panel,) = shown_panels(
        watch(scenario, kinds=["throughput"]), ["throughput"], None, None, 10
    )
    rate, line = (next(one for one in panel.curves if one.draw == of) for of in ("area", "steps"))
    for one in (rate, line):
        value = dict(zip(one.time_s.tolist(), one.value.tolist(), strict=True))
        assert value[55.0] == pytest.approx(0, abs=0.5)
        assert value[57.0] > 5
    assert line.value[line.time_s == 40.0] > 5


def test_a_window_begins_with_the_path_that_it_shows() -> None:
    # The cut before the window, not the edge of the grid before that.
    assert bin_edges((2.3, 4.0), 1.0, 9.0, [2.25])[0] == 2.25
    assert bin_edges((2.3, 4.0), 1.0, 9.0, [1.5])[0] == 2.0


def test_steps_end_at_gaps() -> None:
    edges = np.arange(6.0)
    value = np.array([10.0, 11.0, 13.0, 14.0])
    time, (steps,) = stepped(edges, np.array([0, 1, 3, 4]), (value,), [1])
    assert time.tolist() == [0, 1, 2, 2, 3, 4, 5]
    assert steps.tolist() == pytest.approx([10, 11, 11, np.nan, 13, 14, 14], nan_ok=True)
    time, (steps,) = stepped(edges, np.array([0, 1, 3, 4]), (value,))
    assert (time.tolist(), steps.tolist()) == ([0, 1, 3, 4, 5], [10, 11, 13, 14, 14])


@pytest.mark.parametrize("gap", ["400 ms", "0 s", "10 ms"])
def test_no_mean_of_a_throughput_is_of_two_paths(gap: str) -> None:
    (run,) = runs = watch(moving(gap=gap))
    _, (panel,) = shown_panels(runs, ["throughput"], interval_s=0.1)
    (line,) = (one for one in panel.curves if one.draw == "steps")
    assert panel.detail == "means of 0.1 s"
    assert 1.03 in line.time_s
    assert (1.43 in line.time_s) == (gap == "400 ms")
    # The mean of each interval is what arrives in it, whatever its length.
    at, bits = run.flows[0].times("rcv") / 1e9, 8 * run.flows[0].sizes("rcv")
    sums, _ = np.histogram(at, line.time_s, weights=bits)
    assert line.value[:-1] * np.diff(line.time_s) * 1e6 == pytest.approx(sums)
    if gap == "400 ms":
        # In the gap only what was on its way.
        assert line.value[(line.time_s > 1.05) & (line.time_s < 1.42)].max() == 0
    table = [row for row in panel_rows([panel]) if row[2] == line.label]
    assert [row[6] for row in table] == line.time_s.tolist()


def test_an_outage_of_a_recording_has_intervals_of_its_own() -> None:
    outage = {"time_s": [0, 4.3, 5.2], "rate_mbps": [20, 0, 20]}
    scenario = Scenario(
        links={"cell": Link(delay="30 ms", queue="50 packets", trace=outage)},
        flows={"download": Flow()},
        end="10 s",
    )
    runs = watch(scenario)
    for kind in ("throughput", "queue", "rtt"):
        _, (panel,) = shown_panels(runs, [kind], interval_s=1.0)
        for line in (one for one in panel.curves if one.draw in ("steps", "queue")):
            # Samples of the RTT begin again with the first ACK.
            again = 5.2 if kind != "rtt" else runs[0].flows[0].times("rtt_sample") / 1e9
            again = np.min(again, initial=np.inf, where=np.asarray(again) >= 5.2)
            assert {4.3, round(float(again), 9)} <= {*np.round(line.time_s, 9)}, kind


def test_intervals_divide_the_steps_of_a_recording() -> None:
    figure = figure_of(plot_over_time, "drive-test", ["throughput"])
    # Its values are 5 s apart.
    assert figure.axes[-1].get_title("right") == "means of 1 s"
    runs = watch("drive-test")
    _, (panel,) = shown_panels(runs, ["throughput"])
    rate, line, *_ = panel.curves
    change = rate.time_s[1:][np.diff(rate.value) != 0]
    nearest = [np.abs(line.time_s - one).min() for one in change]
    # A rate is known at equal instants only.
    assert max(nearest) <= 120 / 4096


def test_a_queue_is_drawn_as_steps() -> None:
    runs = watch(moving())
    window, (panel,) = shown_panels(runs, ["queue"])
    fast, slow = (one for one in panel.curves if one.draw == "queue")
    assert fast.link == "fast"
    for one in (fast, slow):
        shown = ~np.isnan(one.value)
        assert one.low is not None
        assert one.high is not None
        assert np.all(one.low[shown] <= one.value[shown])
        assert np.all(one.value[shown] <= one.high[shown])
    # The new link is not shown before it is used.
    assert slow.time_s[~np.isnan(slow.value)].min() == pytest.approx(1.43)
    # A part that is too short for means of samples shows the level at each of them.
    _, (close,) = shown_panels(runs, ["queue"], 0.5, 0.502)
    level = next(one for one in close.curves if one.draw == "queue")
    time = runs[0].sampled(runs[0].access["fast"], "time_ns", near=True) / 1e9
    inside = time[(time > 0.5) & (time < 0.502)]
    assert len(inside) > 10
    assert {*inside.tolist()} <= {*level.time_s.tolist()}
    assert close.detail == ""
    figure = figure_of(plot_over_time, moving(), ["queue"])
    lines: list[Any] = [one for one in figure.axes[1].lines if one.get_linestyle() != "None"]
    drawn = [one for one in lines if len(one.get_xdata()) > 20]
    assert drawn
    assert {one.get_drawstyle() for one in drawn} == {"steps-post"}
    assert window[0] == 0.0


def satellite(**trace: Any) -> Scenario:
    return Scenario(
        links={"dish": Link(trace={"model": "starlink", **trace}), "lte": Link(preset="lte")},
        flows={"download": Flow(size="1 MB")},
        handoffs=[Handoff(at="50 s", to="lte")],
        end="60 s",
    )


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        # Those of the link while it is in use.
        ({}, [12, 27, 42]),
        ({"from": "20 s"}, [7, 22, 37]),
        ({"length": "20 s", "repeat": True}, [12, 32]),
        ({"length": "20 s", "repeat": False}, [12]),
    ],
)
def test_handovers_of_a_recording_are_in_the_band(trace: Any, expected: list[int]) -> None:
    (run,) = watch(satellite(**trace), kinds=["throughput"])
    assert run.handovers == expected
    figure = figure_of(plot_over_time, satellite(**trace), ["throughput"], until_s=60.0)
    (ticks,) = (one for one in figure.axes[0].collections if isinstance(one, LineCollection))
    assert [one[0, 0] for one in ticks.get_segments()] == expected
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "handover in the recording" in names
    assert not watch("wifi-to-lte", kinds=["throughput"])[0].handovers


@pytest.mark.parametrize("size", [None, 3.5])
@pytest.mark.parametrize(("every", "is_free"), [(6, True), (1, False)])
def test_no_tick_of_a_handover_is_in_the_name_of_a_link(
    size: float | None, every: int, is_free: bool, tmp_path: Path
) -> None:
    """One handover is in the middle, or so many that no place between them is free."""
    file = tmp_path / "cells.csv"
    rows = [f"{second},20,{second // every}" for second in range(12)]
    file.write_text("time,rate_mbps,cell\n" + "\n".join(rows) + "\n")
    name = "a-link-of-the-phone"
    links = {name: Link(trace=str(file), delay="20 ms")}
    scenario = Scenario(links=links, flows={"download": Flow()}, end="12 s")
    figure = figure_of(plot_over_time, scenario, ["throughput"], size=size)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    (text,) = axes.texts
    box = text.get_window_extent()
    (ticks,) = (one for one in axes.collections if isinstance(one, LineCollection))
    places = [axes.transData.transform(one[0])[0] for one in ticks.get_segments()]
    assert len(places) == 12 / every - 1
    assert any(box.x0 <= at <= box.x1 for at in places) != is_free
    # Otherwise the name interrupts the ticks.
    assert (text.get_bbox_patch() is None) == is_free
    assert is_free or text.get_zorder() > ticks.get_zorder()


def test_handovers_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    rows = [f"{second},{20 + second % 3},{second // 4}" for second in range(12)]
    file.write_text("time,rate_mbps,cell\n" + "\n".join(rows) + "\n")
    scenario = Scenario(
        links={"cell": Link(trace=str(file), delay="20 ms")}, flows={"download": Flow()}, end="12 s"
    )
    recorded = read_recording(str(file))["handovers"]
    (run,) = watch(scenario, kinds=["throughput"])
    assert run.handovers == [at / 1e9 for at, _ in recorded] == [4.0, 8.0]


def test_the_rate_of_a_recording_is_drawn_at_its_instants() -> None:
    """Neither samples nor the time shown move them."""
    columns = {"time_s": [0, 1.2345, 2.5, 7.75], "rate_mbps": [20, 8, 0, 12]}
    trace = {"columns": columns}
    scenario = Scenario(
        links={
            "cell": Link(trace=trace, delay="10 ms"),
            "other": Link(rate="5 Mbit/s", delay="20 ms"),
        },
        flows={"download": Flow()},
        handoffs=[Handoff(at="9.111 s", to="other", gap="0.5 s")],
        end="12 s",
    )
    rate = rate_in_use(watch(scenario)[0], (0.0, 12.0))
    assert rate.time_s.tolist() == [0, 1.2345, 2.5, 7.75, 9.111, 9.611, 12]
    assert rate.value.tolist() == [20, 8, 0, 12, 0, 5, 5]
    rate = rate_in_use(watch(scenario)[0], (1.0, 3.0))
    assert rate.time_s.tolist() == [1, 1.2345, 2.5, 3]
    assert rate.value.tolist() == [20, 8, 0, 0]
    changed = Scenario(
        links={"cell": Link(rate="20 Mbit/s", delay="20 ms")},
        flows={"download": Flow()},
        changes=[Change(at="3.333 s", link="cell", rate="7 Mbit/s")],
        end="6 s",
    )
    rate = rate_in_use(watch(changed)[0], (0.0, 6.0))
    assert rate.time_s.tolist() == [0, 3.333, 6]
    assert rate.value.tolist() == [20, 7, 7]


def test_what_the_old_link_still_delivers_is_in_no_mean_of_the_new_one() -> None:
    """After a handoff without a gap data are on their way over the old link, for 29 ms here."""
    plan = Scenario.read("lte-to-egprs").plan(sets={"runs": 1})
    trace = plan.setup(0).trace(only=["rcv"])
    arrived, link = trace.column("time_ns"), trace.column("link")
    drained = max(at for at, one in zip(arrived, link, strict=True) if one == "lte-mobile")
    assert 1_000_000_000 < drained < 1_100_000_000

    kinds = ("throughput", "delay", "rtt")
    runs = watch(plan, schemes=["sack", "enhanced"])
    found: dict[str, tuple[float, float]] = {}
    for panel in shown_panels(runs, kinds, until_s=30.0)[1]:
        line = next(one for one in panel.curves if one.scheme == "sack")
        # The last ACK of the old link's data is a little later, and alone in its interval.
        begin = 1.05 if panel.kind == "rtt" else (drained + 0.5) / 1e9
        first = int(np.searchsorted(line.time_s, begin, side="right"))
        found[panel.kind] = float(line.time_s[first]), float(line.value[first])
    assert found["throughput"][0] == pytest.approx(drained / 1e9 + 1e-9)
    assert found["delay"][0] > drained / 1e9
    # The new link has 0.2 Mbit/s and 300 ms in each direction.
    assert found["throughput"][1] < 0.2
    assert found["delay"][1] > 300
    assert found["rtt"][1] > 300


def test_what_the_phone_still_sends_over_the_old_link_is_in_no_mean_of_the_new_one() -> None:
    """Its data arrive over a link that is no access link, so that the last link tells nothing."""
    (run,) = runs = watch("upload", kinds=["throughput"])
    (flow,) = run.flows
    arrived, sent = flow.times("rcv") / 1e9, flow.sent_ns("rcv") / 1e9
    drained = arrived[sent < 0.2].max()
    assert 0.205 < drained < 0.25
    line = next(one for one in shown_panels(runs, ["throughput"])[1][0].curves if one.look == 0)
    first = int(np.searchsorted(line.time_s, 0.2, side="right"))
    assert line.time_s[first] == pytest.approx(drained + 1e-9)
    # The new link has 384 kbit/s.
    assert line.value[first] < 0.384


def test_a_call_has_the_same_throughput_from_its_opening_to_its_end() -> None:
    """Intervals that are cut begin with its opening, and end with the time of its last packet."""
    call = Scenario(
        links={"wifi": Link(preset="wifi")},
        flows={"call": Flow(workload="call", set={"call_length": "4 s"})},
        end="6 s",
    )
    (panel,) = shown_panels(watch(call, kinds=["throughput"]), ["throughput"])[1]
    (line,) = (one for one in panel.curves if one.draw == "steps" and one.of_intervals)
    assert line.time_s[0] == 0
    assert line.value == pytest.approx(np.full(len(line.value), np.median(line.value)), rel=0.05)


def test_objects_of_a_page_are_told_apart_below_the_rate_of_the_link() -> None:
    (panel,) = shown_panels(watch("web-page", kinds=["throughput"]), ["throughput"])[1]
    assert panel.detail == "means of 0.02 s"
    (line,) = (one for one in panel.curves if one.draw == "steps" and one.of_intervals)
    # The last objects are equal bursts of 35 packets.
    packets = line.value[:-1] * np.diff(line.time_s) * 1e6 / (8 * 1500)
    assert (np.round(packets[packets > 0.5][-10:]) == 35).all()
    assert np.ptp(line.value[:-1][packets > 0.5][-10:]) < 0.01


@pytest.mark.parametrize("interval_s", [0.01, 0.02, 0.05, 0.057])
def test_equal_bursts_have_equal_means(interval_s: float) -> None:
    """Also the last one, behind which the run ends; the area is that of all bytes."""
    runs = watch("web-page", kinds=["throughput"])
    (panel,) = shown_panels(runs, ["throughput"], interval_s=interval_s)[1]
    (line,) = (one for one in panel.curves if one.draw == "steps" and one.of_intervals)
    (flow,) = runs[0].flows
    area = float((line.value[:-1] * np.diff(line.time_s)).sum())
    assert area == pytest.approx(8e-6 * flow.sizes("rcv")[flow.values("rcv") > 0].sum())
    if interval_s == 0.057:
        # Nothing arrives for less than that between two bursts.
        return
    last = line.time_s[:-1] > 2.06
    means = line.value[:-1][last & (line.value[:-1] > 1)]
    assert len(means) == 10
    assert means == pytest.approx([35 * 1500 * 8e-6 / interval_s] * 10, rel=1e-3)
    assert line.value.max() < 1.005 * 50


@pytest.mark.parametrize("interval_s", [None, 0.05, 0.1, 0.3, 0.5, 1.0])
@pytest.mark.parametrize(
    "name", ["call-handoff", "commute", "web-page", "starlink-to-lte", "ferry", "upload"]
)
def test_no_mean_is_over_a_short_time_that_has_data(name: str, interval_s: float | None) -> None:
    """A few packets in a short interval are a peak that is none. The area is that of all bytes."""
    (run,) = runs = watch(name, kinds=["throughput"])
    window, (panel,) = shown_panels(runs, ["throughput"], interval_s=interval_s)
    usual = interval_s or usual_interval(runs, window, 7.16).length_s
    for flow, label in zip(run.flows, run.labels, strict=True):
        (line,) = (
            one
            for one in panel.curves
            if one.draw == "steps" and one.of_intervals and one.label == label
        )
        at, bits = flow.times("rcv") / 1e9, 8 * flow.sizes("rcv")
        # A line begins with the first data, that of a call as it opens.
        at, bits = at[shown := at >= line.time_s[0]], bits[shown]
        cuts = [*cuts_of_arrivals(run, flow), at[0], flow.end_ns / 1e9, *window]
        lasts = np.diff(line.time_s)
        for a, b, mean in zip(line.time_s, line.time_s[1:], line.value, strict=False):
            is_cut = all(np.abs(np.array(cuts) - end).min() < 1e-9 for end in (a, b))
            # The rest of a time without data, between two bursts.
            is_empty = mean == 0
            assert b - a >= usual * (0.05 if is_cut else 0 if is_empty else 0.25) * (1 - 1e-9)
        if run.workload_of(flow) == "call":
            # Its last mean is of whole frames.
            kept = at < line.time_s[-2]
            bits, lasts = bits[kept], lasts[:-1]
        area = float((line.value[: len(lasts)] * lasts).sum())
        assert area == pytest.approx(1e-6 * bits.sum())


def test_edges_behind_a_burst() -> None:
    """One of the grid that is near is left out, or moved; a cut, or the end of data, ends it."""
    grid = np.arange(6.0)

    def found(begin: float, edges: Any, cuts: Any = (), last: float = 4.5) -> list[float]:
        edges = np.union1d(edges, [begin])
        burst = with_whole_bursts(edges, [begin], 1.0, cuts, np.array([begin, last]))
        return [round(float(one), 6) for one in burst]

    assert found(1.5, grid) == [0, 1, 1.5, 2.5, 4, 5]
    assert found(1.9, grid) == [0, 1, 1.9, 2.9, 4, 5]
    assert found(1.9, [0, 1, 3, 4.8, 5]) == [0, 1, 1.9, 2.9, 3.85, 4.8, 5]
    assert found(1.9, grid, [3.0]) == [0, 1, 1.9, 3, 4, 5]
    assert found(1.9, grid, [2.5]) == [0, 1, 1.9, 2, 3, 4, 5]
    assert found(3.9, grid) == [0, 1, 2, 3, 3.9, 4.9]
    assert found(3.9, grid, last=4.95) == [0, 1, 2, 3, 3.9, 5]


def test_parts_of_a_run_have_whole_round_trips_of_bursts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of ten seconds of a path of 0.7 s had means of half a second, of one burst or none. An
    interval that is asked for is drawn, with a note.
    """
    (run,) = watch("ferry", kinds=["throughput"])
    for window in ((60.0, 70.0), (45.0, 55.0), (60.0, 90.0)):
        run.show(window)
        trips = run.flows[0].values("rtt_sample")[
            inside(run.flows[0].times("rtt_sample") / 1e9, window)
        ]
        usual = usual_interval([run], window, 7.16).length_s / float(np.median(trips))
        assert usual == pytest.approx(round(usual), rel=0.01)
        assert usual >= 0.99
    words = ["plot", "ferry", "--kind", "throughput", "--out", str(tmp_path / "a.png")]
    for interval, has_note in (("1s", True), ("1.55s", False), ("100ms", False), ("5s", False)):
        assert main([*words, "--interval", interval]) == 0
        assert ("sends in bursts" in capsys.readouterr().err) == has_note, interval


def test_a_peak_does_not_depend_on_where_a_bin_is_cut() -> None:
    """Behind the gap of a call one of 0.11 s had 1.9 Mbit/s, which means of 0.1 s had never."""
    (run,) = watch("call-handoff", kinds=["throughput"])
    tops = []
    for interval in (0.1, 0.2):
        (panel,) = panels_of([run], ["throughput"], (0.0, 10.1), interval)
        line = next(one for one in panel.curves if one.draw == "steps")
        tops.append(float(line.value.max()))
        cuts = [*run.cuts, line.time_s[0], line.time_s[-1]]
        for begin, end, mean in zip(line.time_s, line.time_s[1:], line.value, strict=False):
            is_cut = all(np.abs(np.array(cuts) - one).min() < 0.02 for one in (begin, end))
            assert end - begin >= 0.79 * interval or is_cut or mean == 0
    assert tops[1] <= tops[0]


def test_a_pipe_is_not_drawn_before_data_is_sent_after_a_stall() -> None:
    (run,) = watch("video-tunnel", kinds=["cwnd"])
    (panel,) = panels_of([run], ["cwnd"], (0.0, 125.0), 4.0)
    pipe = next(one for one in panel.curves if one.label == "pipe")
    assert pipe.of_intervals
    during = (pipe.time_s > 32) & (pipe.time_s < 50)
    assert (pipe.value[during] < 2).all()


def test_a_mean_is_above_a_falling_rate_of_a_recording(tmp_path: Path) -> None:
    rows = ["time_s,rate_mbps", *(f"{at},{40 if at < 3 else 5}" for at in range(7))]
    (tmp_path / "fall.csv").write_text("\n".join(rows) + "\n")
    link = Link(trace=str(tmp_path / "fall.csv"), delay="60 ms", queue="200 packets")
    runs = watch(
        Scenario(links={"cell": link}, flows={"download": Flow(scheme="sack")}, end="6 s"),
        kinds=["throughput"],
    )
    (panel,) = panels_of(runs, ["throughput"], (0.0, 6.0), 0.2)
    assert "above a falling rate: data arrives one delay after it left the link" in panel.detail
    (panel,) = panels_of(watch(moving(), kinds=["throughput"]), ["throughput"], (0.0, 3.0), 0.1)
    assert "above" not in panel.detail


def test_data_of_both_links_are_a_mean_of_their_own_if_they_arrive_for_long() -> None:
    """The old link of 50 Mbit/s has a queue for 0.32 s, while the new one is in use."""
    runs = watch("bufferbloat", kinds=["throughput"])
    _, (panel,) = shown_panels(runs, ["throughput"], interval_s=0.5)
    line = next(one for one in panel.curves if one.draw == "steps" and one.look == 0)
    (at,) = np.flatnonzero(line.time_s == 6.0)
    assert line.value[at - 1] < 50.1
    assert line.value[at] > 50.1
    assert 6.3 < line.time_s[at + 1] < 6.4
    assert line.value[at + 1] < 6.1
    # Of longer intervals that is a small part.
    _, (panel,) = shown_panels(runs, ["throughput"], interval_s=2.0)
    line = next(one for one in panel.curves if one.draw == "steps" and one.look == 0)
    assert 6.0 not in line.time_s
