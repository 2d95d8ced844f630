"""What figures over time say of the ends of flows and lines, and of handoffs after them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from midflight import Flow, Handoff, Link, Scenario
from midflight.cli import main
from midflight.plot.over_time.curves import inside
from midflight.plot.over_time.panel_scales import end_of_axis, peaks_off, with_peaks
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.watched import watch


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
