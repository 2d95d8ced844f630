"""Options of figures: the ends and scales of their axes, intervals, sizes and senders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_delay_cdf, plot_over_time, plot_spread
from midflight.plot.curves import Curve
from midflight.plot.panels import _least_rate


def least_drawn(axes: Axes) -> float:
    """The least value above 0 of the lines of a panel."""
    lines = [one for one in axes.lines if one.get_transform() == axes.transData]
    values = np.concatenate([np.asarray(one.get_ydata(), dtype=float) for one in lines])
    return float(values[values > 0].min())


@pytest.mark.parametrize("source", ["wifi-to-lte", "lossy-wifi"])
def test_a_logarithmic_axis_shows_the_least_value(source: str) -> None:
    kinds = ["throughput", "cwnd"]
    figure = figure_of(plot_over_time, source, kinds, yscale="log")
    for axes in figure.axes[-2:]:
        assert axes.get_yscale() == "log"
        assert axes.get_ylim()[0] < least_drawn(axes)


def test_the_usual_logarithmic_axis_shows_the_least_throughput() -> None:
    """Also if it is less than a hundredth of the least rate of the link."""
    columns: Any = [Curve("link", "area", np.arange(4.0), np.array([900.0, 50, 50, 50]))]
    columns += [Curve("sack", "steps", np.arange(4.0), np.array([40.0, 20, 0.0, 0.01]))]
    assert _least_rate(columns) == pytest.approx(0.01 / 1.3)


@pytest.mark.parametrize("more", [["--kind", "throughput"], [], ["--flow", "download"]])
def test_an_axis_of_schemes_excludes_other_schemes(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.svg"
    words = ["plot", "wifi-to-lte", "--scheme", "vho", "--out", str(out), *more]
    assert main([*words, "--axis", "flows.download.scheme=sack,freeze"]) == 2
    said = capsys.readouterr().err
    assert "--axis flows.download.scheme and --scheme vho give schemes for the same flow" in said
    assert not out.exists()


def test_schemes_of_another_flow_may_be_an_axis(tmp_path: Path) -> None:
    words = ["plot", "household", "--kind", "throughput", "--until", "1s", "--scheme", "vho"]
    words += ["--flow", "film", "--axis", "flows.page.scheme=sack,freeze"]
    assert main([*words, "--out", str(tmp_path / "x.svg")]) == 0


def test_a_line_looks_as_in_the_legend() -> None:
    figure = figure_of(
        plot_over_time, "wifi-to-lte", ["throughput", "queue"], schemes=["sack", "enhanced"]
    )
    for axes in figure.axes[1:]:
        drawn = {
            one.get_label(): one for one in axes.lines if one.get_label() in ("sack", "enhanced")
        }
        assert len(drawn) == 2
        for handle, text in zip(
            figure.legends[0].legend_handles, figure.legends[0].get_texts(), strict=True
        ):
            if text.get_text() in drawn:
                line: Any = drawn.pop(text.get_text())
                assert handle is not None
                # Lengths of dashes in widths of the line.
                assert line._unscaled_dash_pattern == handle._unscaled_dash_pattern  # type: ignore[attr-defined]
        assert not drawn


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["throughput=0:9", "0:5"], "--ylim 0:5: the ends of this axis are given twice"),
        (["0:5", "throughput=0:9"], "the ends of this axis are given twice"),
        (["=0:5"], '--ylim "=0:5" is not LOW:HIGH'),
        (["delay-cdf=0:1"], "the figure has no panel delay-cdf"),
    ],
)
def test_ends_that_are_refused(
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plot", "wifi-to-lte", "--kind", "throughput", "--out", str(tmp_path / "x.png")]
    assert main([*words, *(word for one in given for word in ("--ylim", one))]) == 2
    assert said in capsys.readouterr().err


def test_ends_of_a_figure_with_one_panel_may_have_its_kind() -> None:
    ends = (0.0, 0.5)
    figure = figure_of(plot_delay_cdf, "wifi-to-lte", ylim={"delay-cdf": ends})
    assert figure.axes[0].get_ylim() == ends
    columns = {"a.x": ["1", "2"] * 2, "sent": [1.0, 2.0, 3.0, 4.0]}
    figure = figure_of(plot_axis, columns, x="a.x", y="sent", ylim={"median": ends})
    assert figure.axes[0].get_ylim() == ends
    figure = figure_of(plot_spread, columns, "cdf", value="sent", ylim={"cdf": ends})
    assert figure.axes[0].get_ylim() == ends
    with pytest.raises(MidflightError, match="has no panel box; expected cdf=LOW:HIGH"):
        figure_of(plot_spread, columns, "cdf", value="sent", ylim={"box": ends})


@pytest.mark.parametrize("interval", [0, -1, 1e-7, float("inf"), float("nan")])
def test_intervals_that_cannot_be(interval: float) -> None:
    """The least one that is accepted depends on the time shown."""
    how: Any = {"until_s": 2.0}
    said = f"--interval {interval:g} s is not accepted; to show 0 s to 2 s give 0.02 ms or more"
    with pytest.raises(MidflightError, match=re.escape(said)):
        figure_of(plot_over_time, "wifi-to-lte", ["throughput"], interval_s=interval, **how)
    with pytest.raises(MidflightError, match=re.escape("0.02 ms or more")):
        figure_of(plot_over_time, "wifi-to-lte", ["throughput"], interval_s=1.9e-5, **how)
    figure_of(plot_over_time, "wifi-to-lte", ["throughput"], interval_s=2e-5, **how)


@pytest.mark.parametrize("size", ["3.5x1.5", "1.5x4"])
def test_the_size_that_is_advised_is_accepted(
    size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schemes = [word for one in ("sack", "enhanced", "vho") for word in ("--scheme", one)]
    kinds = "throughput,queue,cwnd,sequence"
    words = ["plot", "wifi-to-lte", "--kind", kinds, *schemes, "--out", str(tmp_path / "x.png")]
    assert main([*words, "--size", size]) == 2
    said = capsys.readouterr().err
    found = re.search(r"give --size (\S+) or more", said)
    if found is None:
        assert "give a larger width or fewer panels" in said
        assert main([*words, "--size", f"{size.partition('x')[0]}x40"]) == 2
    else:
        assert main([*words, "--size", found[1]]) == 0


def test_help_names_what_options_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    for said in (
        "throughput, rates, queue, delay, rtt, cwnd and pipe over time: linear or log",
        "interval of mean throughputs and queues, and of medians of delays and RTTs",
    ):
        assert said in words
