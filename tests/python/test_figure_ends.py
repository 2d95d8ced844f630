"""What figures over time say of the ends of flows and lines, and of handoffs after them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from midflight import Flow, Handoff, Link, Scenario
from midflight.cli import main
from midflight.plot.over_time.curves import inside
from midflight.plot.over_time.panel_scales import end_of_axis, peaks_off, with_peaks
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.watched import watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def to_satellite(size: str = "40 MB", at: str = "3 s") -> Scenario:
    """From LTE to a satellite with a gap of 1.5 s."""
    return Scenario(
        links={
            "lte": Link(rate="20 Mbit/s", delay="30 ms"),
            "sat": Link(rate="20 Mbit/s", delay="100 ms"),
        },
        handoffs=[Handoff(at=at, to="sat", gap="1.5 s")],
        flows={"download": Flow(size=size)},
    )


@pytest.mark.parametrize("kind", ["throughput", "window", "delay-cdf"])
def test_a_handoff_that_no_flow_meets_is_told_with_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    late = ["wifi-to-lte", "--set", "handoffs.0.at=5s"]
    assert main(["run", *late]) == 0
    (said,) = [one for one in capsys.readouterr().err.splitlines() if "every flow" in one]
    out = ["--kind", kind, "--out", str(tmp_path / "a.svg")]
    assert main(["plot", *late, *out]) == 0
    assert said in capsys.readouterr().err
    assert main(["plot", "wifi-to-lte", *out]) == 0
    assert "every flow" not in capsys.readouterr().err


def test_it_is_told_with_a_page_several_schemes_and_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = ["wifi-to-lte", "--set", "handoffs.0.at=5s"]
    assert main(["plot", *late, "--out", str(tmp_path / "a.html")]) == 0
    assert "note: handoff at 5 s: every flow was done at 0.9" in capsys.readouterr().err
    two = ["--scheme", "sack", "--scheme", "bbr3", "--kind", "cwnd"]
    assert main(["plot", *late, *two, "--out", str(tmp_path / "a.svg")]) == 0
    assert "handoff at 5 s: every flow was done in 2 of 2 runs" in capsys.readouterr().err
    instants = ["--axis", "handoffs.0.at=1 s,4 s,5 s", "--kind", "throughput"]
    assert main(["plot", "wifi-to-lte", *instants, "--out", str(tmp_path / "a.svg")]) == 0
    said = capsys.readouterr().err
    assert [f"handoff at {one} s: every" in said for one in (4, 5)] == [True, True]
    report = tmp_path / "report.html"
    assert main(["report", *late, "--out", str(report)]) == 0
    assert "note: handoff at 5 s: every flow was done at 0.9" in capsys.readouterr().err
    assert "handoff at 5 s: every flow was done at 0.9" in report.read_text()


def test_a_line_of_maxima_leaves_and_returns_where_its_longest_sample_is() -> None:
    """The first sample after a gap is the longest one, and far above the axis."""
    runs = watch(to_satellite(), kinds=["rtt"])
    window, panels = shown_panels(runs, ["rtt"])
    figure = over_time_figure(runs, panels, window)
    panel = with_peaks(panels[0])
    top = end_of_axis(panel, None, 0.0)
    (peak,) = peaks_off(panel, top, Room(7.0, window))
    axes = figure.axes[-1]
    (thin,) = [one for one in axes.lines if one.get_linewidth() == 0.5]
    x, y = (np.asarray(one, np.float64) for one in thin.get_data())
    over = np.flatnonzero(y > top)
    # It goes up at the sample, and down at the end of its interval.
    assert x[over[0]] == pytest.approx(peak.time_s, abs=0.02)
    assert y[over[0] - 1] < 300
    assert x[over[0] - 1] == x[over[0]]
    assert y[over[-1] + 1] < 300
    (head,) = [one for one in axes.lines if one.get_marker() == "^" and one.get_gid()]
    assert head.get_xdata()[0] == peak.time_s


def test_a_window_around_the_longest_sample_shows_it() -> None:
    runs = watch(to_satellite(), kinds=["rtt"])
    window, panels = shown_panels(runs, ["rtt"], 5.2, 6.6)
    (dots,) = panels[0].curves
    assert dots.draw == "dots"
    axes = over_time_figure(runs, panels, window).axes[-1]
    assert dots.value.max() > 10 * np.median(dots.value)
    assert axes.get_ylim()[1] > dots.value.max()


def test_the_last_mean_is_over_the_time_until_the_last_data() -> None:
    """Until the sender has the last ACK nothing arrives, which is no collapse."""
    schemes = ["sack", "enhanced", "freeze"]
    runs = watch(to_satellite(), kinds=["throughput"], schemes=schemes)
    _, (panel,) = shown_panels(runs, ["throughput"])
    for run in runs:
        (flow,) = run.flows
        (line,) = [one for one in panel.curves if one.draw == "steps" and one.scheme == flow.label]
        assert flow.end_ns - flow.received_ns == pytest.approx(110e6, abs=12e6)
        assert line.time_s[-1] == pytest.approx(flow.received_ns / 1e9)
        # The link is full to the end.
        assert line.value[-2] == pytest.approx(20.0, rel=0.02)
        at, sizes = flow.times("rcv") / 1e9, flow.sizes("rcv")
        last = at[inside(at, (line.time_s[-2], np.inf))]
        span = line.time_s[-1] - line.time_s[-2]
        assert line.value[-2] == pytest.approx(8 * sizes[-len(last) :].sum() / span / 1e6)


def test_a_flow_that_waits_has_means_to_the_end_of_the_run() -> None:
    runs = watch(to_satellite("400 MB"), kinds=["throughput"])
    (flow,) = runs[0].flows
    assert flow.is_waiting
    assert flow.received_ns == flow.end_ns


def legend_of(figure: Figure) -> list[str]:
    """The texts of a figure's legend."""
    return [text.get_text() for one in figure.legends for text in one.get_texts()]


def test_the_legend_says_when_each_flow_is_done() -> None:
    schemes = ["sack", "enhanced", "freeze"]
    runs = watch(to_satellite(), kinds=["cwnd"], schemes=schemes)
    window, panels = shown_panels(runs, ["cwnd"])
    told = legend_of(over_time_figure(runs, panels, window))
    ends = {run.scheme: run.flows[0].end_ns / 1e9 for run in runs}
    assert [one for one in told if "done at" in one] == [
        f"sack (CUBIC), done at {ends['sack']:.3g} s",
        f"enhanced, done at {ends['enhanced']:.3g} s",
        f"freeze, done at {ends['freeze']:.3g} s",
    ]
    # Also of one, but not before it is done, and not of a flow that goes on.
    runs = watch(to_satellite(), kinds=["cwnd"])
    window, panels = shown_panels(runs, ["cwnd"])
    assert "sack (CUBIC), done at 25.5 s" in legend_of(over_time_figure(runs, panels, window))
    window, panels = shown_panels(runs, ["cwnd"], 0.0, 20.0)
    assert "sack (CUBIC)" in legend_of(over_time_figure(runs, panels, window))
    runs = watch(to_satellite("400 MB"), kinds=["cwnd"])
    window, panels = shown_panels(runs, ["cwnd"])
    assert "sack (CUBIC)" in legend_of(over_time_figure(runs, panels, window))


def test_the_ends_of_applications_are_not_in_the_legend() -> None:
    runs = watch("video-tunnel", kinds=["throughput"])
    window, panels = shown_panels(runs, ["throughput"])
    assert "done at" not in " ".join(legend_of(over_time_figure(runs, panels, window)))


def test_means_of_several_queues_do_not_hide_the_burst_after_a_handoff() -> None:
    runs = watch(to_satellite(), kinds=["queue"], schemes=["sack", "vho"])
    window, (panel,) = shown_panels(runs, ["queue"])
    assert "thin line: maxima" in panel.detail
    (queue,) = [one for one in panel.curves if one.draw == "queue" and one.scheme == "vho"]
    assert queue.most is not None
    assert queue.high is not None
    after = (queue.time_s >= 4.5) & (queue.time_s < 5)
    assert queue.high[after].max() > 5 * queue.value[after].max()
    assert queue.most[after].max() == queue.high[after].max()
    # They are there all the time.
    assert np.array_equal(queue.most, queue.high, equal_nan=True)
    axes = over_time_figure(runs, [panel], window).axes[-1]
    thin = [one for one in axes.lines if one.get_linewidth() == 0.5]
    assert any(queue.most[after].max() in one.get_ydata() for one in thin)
    # The axis has room for the means, too.
    assert axes.get_ylim()[1] > max(one.value.max() for one in panel.curves if not one.in_row)
    _, (bare,) = shown_panels(runs, ["queue"], bands=False)
    assert "thin line" not in bare.detail
    assert all(one.most is None for one in bare.curves)
    # Thin lines of three would be a tangle with their means.
    runs = watch(to_satellite(), kinds=["queue"], schemes=["sack", "vho", "freeze"])
    _, (many,) = shown_panels(runs, ["queue"])
    assert "thin line" not in many.detail
    assert "; maxima not drawn" in many.detail
    assert all(one.most is None for one in many.curves)


@pytest.mark.parametrize("size", [7.16, 3.5])
def test_a_queue_that_is_full_and_empty_all_the_time_is_no_black_area(size: float) -> None:
    """A drive of ten minutes whose rate changes each second."""
    rng = np.random.default_rng(1)
    rates = [20.0]
    for _ in range(400):
        rates.append(float(np.clip(rates[-1] * rng.uniform(0.7, 1.42), 1, 30)))
    columns = {"time_s": [*range(len(rates))], "rate_mbps": rates}
    link = Link(delay="30 ms", queue="300 packets", trace={"columns": columns})
    runs = watch(Scenario(links={"lte": link}, flows={"a": Flow()}, end="400 s"), kinds=["queue"])
    _, (panel,) = shown_panels(runs, ["queue"], size=size)
    (queue,) = [one for one in panel.curves if one.draw == "queue"]
    assert queue.high is not None
    ways = np.abs(np.diff(queue.value)).sum() / queue.high.max()
    assert ways < 8 * size
    # The band has what the means do not, and intervals that are asked for stay.
    assert queue.high.max() == 300
    _, (asked,) = shown_panels(runs, ["queue"], interval_s=1.0, size=size)
    assert asked.detail.startswith("means of 1 s")


def test_a_burst_of_losses_in_a_sequence_is_no_black_block() -> None:
    runs = watch("busy-cell", kinds=["sequence"], flows=["mine"])
    window, panels = shown_panels(runs, ["sequence"], size="single")
    axes = over_time_figure(runs, panels, window, size="single").axes[-1]
    lost = [one for one in panels[0].curves if one.draw == "full"]
    (crosses,) = [one for one in axes.lines if one.get_marker() == "x" and len(one.get_xdata())]
    drawn = axes.transData.transform(np.column_stack(crosses.get_data()))
    points = 72 * drawn / axes.figure.dpi
    assert len(points) < 0.5 * sum(len(one.time_s) for one in lost)
    # No field of the size of a few marks has more than these.
    fields = np.unique(points // 10, axis=0, return_counts=True)[1]
    assert fields.max() <= 16


def test_timeouts_of_all_connections_of_a_page_are_at_their_objects() -> None:
    source = Scenario.read("web-page", sets={"flows.page.set.web_connections": 6})
    (run,) = watch(source, kinds=["objects"])
    _, (panel,) = shown_panels([run], ["objects"])
    (marks,) = [one for one in panel.curves if one.draw == "timeout"]
    (bars,) = [one for one in panel.curves if one.draw == "bars"]
    assert bars.low is not None
    assert bars.high is not None
    each = [source.trace(flow=f"page-c{number}") for number in range(6)]
    expired = [one.numpy("time_ns")[one.numpy("event") == "rto"] / 1e9 for one in each]
    assert sorted(marks.time_s) == pytest.approx(sorted(np.concatenate(expired)))
    # The six connections wait for six objects, each of which is under way.
    assert len({*marks.value.tolist()}) == 6
    for at, number in zip(marks.time_s, marks.value, strict=True):
        (place,) = np.flatnonzero(bars.value == number)
        assert bars.low[place] <= at < bars.high[place]
