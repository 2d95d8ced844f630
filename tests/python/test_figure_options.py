"""Options of figures: the ends and scales of their axes, intervals, sizes and senders."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from midflight import Flow, Link, MidflightError, Scenario
from midflight.cli import main
from midflight.plot import (
    figure_of,
    plot_axis,
    plot_delay_cdf,
    plot_over_time,
    plot_run,
    plot_spread,
)
from midflight.plot.over_time.curves import Curve, Panel
from midflight.plot.over_time.panel_scales import _least_rate
from midflight.plot.over_time.watched import panels_of, watch
from midflight.plot.results.tables import read_columns


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
    assert _least_rate(Panel("throughput", "", "Mbit/s", columns)) == pytest.approx(0.01 / 1.3)


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
        drawn = {{"sack": "sack (CUBIC)"}.get(name, name): one for name, one in drawn.items()}
        assert len(drawn) == 2
        for handle, text in zip(
            figure.legends[0].legend_handles, figure.legends[0].get_texts(), strict=True
        ):
            if (name := text.get_text().partition(", done at")[0]) in drawn:
                line: Any = drawn.pop(name)
                assert handle is not None
                # Lengths of dashes in widths of the line.
                assert line._unscaled_dash_pattern == handle._unscaled_dash_pattern  # type: ignore[attr-defined]
        assert not drawn


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["throughput=0:9", "0:5"], "--ylim 0:5: this axis is given twice"),
        (["0:5", "throughput=0:9"], "this axis is given twice"),
        (["=0:5"], '--ylim "=0:5" has no kind before "="'),
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
    figure = figure_of(plot_axis, columns, x="a.x", y="sent", ylim={"median": (0.0, 2.0)})
    assert figure.axes[0].get_ylim() == (0.0, 2.0)
    figure = figure_of(plot_spread, columns, "cdf", value="sent", ylim={"cdf": ends})
    assert figure.axes[0].get_ylim() == ends
    with pytest.raises(MidflightError, match="has no panel box; expected cdf=LOW:HIGH"):
        figure_of(plot_spread, columns, "cdf", value="sent", ylim={"box": ends})


def test_panels_have_labels_and_scales_of_their_own(tmp_path: Path) -> None:
    kinds = ["throughput", "queue", "rtt"]
    labels = {"queue": "Queue of the $n$-th modem", "rtt": "RTT (ms)"}
    scales = {"queue": "log", "rtt": "linear"}
    figure = figure_of(
        plot_over_time, "wifi-to-lte", kinds, ylabel=labels, yscale=scales, xlabel="Seconds"
    )
    _, throughput, queue, rtt = figure.axes
    assert throughput.get_ylabel().startswith("Throughput")
    assert " ".join(queue.get_ylabel().split()) == labels["queue"]
    assert queue.yaxis.label.get_parse_math()
    assert rtt.get_ylabel() == labels["rtt"]
    assert [one.get_yscale() for one in (throughput, queue, rtt)] == ["linear", "log", "linear"]
    assert [one.get_xlabel() for one in figure.axes] == ["", "", "", "Seconds"]
    figure = figure_of(plot_run, "wifi-to-lte", schemes=["sack", "freeze"], ylabel={"window": "W"})
    assert [one.get_ylabel() for one in figure.axes].count("W") == 1
    out = str(tmp_path / "x.svg")
    words = ["plot", "wifi-to-lte", "--kind", "queue,rtt", "--out", out, "--xlabel", "When"]
    assert main([*words, "--ylabel", "queue=At a=b", "--yscale", "rtt=log"]) == 0
    text = Path(out).read_text()
    assert ">When<" in text
    assert ">At a=b<" in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--ylabel", "Packets"], "--ylabel Packets: the figure has 2 panels; write queue=TEXT"),
        (["--ylabel", "cwnd=W"], "--ylabel cwnd=W: the figure has no panel cwnd"),
        (["--ylabel", "queue=$a_$"], "--ylabel: "),
        (["--yscale", "sequence=log"], "--yscale sequence=log: its axis is linear"),
        (["--yscale", "rtt=log"], "the figure has no panel rtt; expected queue=SCALE"),
        (["--yscale", "queue=ln"], '--yscale "ln" is not accepted'),
        (["--yscale", "log", "--yscale", "linear"], "--yscale linear: the one of this axis"),
        (["--yscale", "queu=log"], 'there is no kind "queu" (did you mean "queue"?)'),
        (["--xlim", "0:1"], "given by --from and --until, and --xlim is for a folder of results"),
        (["--legend", "left"], '--legend: "left" is not one of outside, inside, upper-left'),
    ],
)
def test_labels_and_scales_that_are_refused(
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.png"
    words = ["plot", "wifi-to-lte", "--kind", "queue,sequence", "--out", str(out)]
    assert main([*words, *given]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_the_ends_of_the_axis_of_results() -> None:
    columns = {"a.x": ["1", "2"] * 2, "sent": [1.0, 2.0, 3.0, 4.0]}
    ends = (0.5, 3.0)
    figure = figure_of(plot_spread, columns, "cdf", value="sent", xlim=ends, ylim=(0.2, 0.9))
    assert (figure.axes[0].get_xlim(), figure.axes[0].get_ylim()) == (ends, (0.2, 0.9))
    figure = figure_of(plot_axis, columns, x="a.x", y="sent", xlim=ends)
    assert figure.axes[0].get_xlim() == ends
    with pytest.raises(MidflightError, match=r"xlim 0\.5:3: boxes stand side by side"):
        figure_of(plot_spread, columns, "box", value="sent", x="a.x", xlim=ends)
    with pytest.raises(MidflightError, match="xlim 0:3: the axis is logarithmic"):
        figure_of(plot_axis, columns, x="a.x", y="sent", xlim=(0.0, 3.0), xscale="log")
    named = {"a.x": ["p", "q"] * 2, "sent": [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(MidflightError, match=r"xlim 0\.5:3: the axis has names"):
        figure_of(plot_axis, named, x="a.x", y="sent", xlim=ends)


def test_a_legend_in_a_corner() -> None:
    places = {}
    for corner in ("upper-left", "lower-right"):
        figure = figure_of(plot_over_time, "wifi-to-lte", ["cwnd", "rtt"], legend=corner)
        legend = figure.axes[1].get_legend()
        assert legend is not None
        assert [one.get_text() for one in legend.get_texts()] == ["sack (CUBIC)"]
        # What marks and areas are stands below the panels.
        below = [one.get_text() for one in figure.legends[0].get_texts()]
        assert "timeout" in below
        assert "sack" not in below
        figure.canvas.draw()
        box = legend.get_window_extent().transformed(figure.axes[1].transAxes.inverted())
        places[corner] = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    assert places["upper-left"][0] < 0.5 < places["lower-right"][0]


def test_a_given_interval_is_that_of_queues_too() -> None:
    def times(interval_s: float | None) -> Any:
        runs = watch("bufferbloat", kinds=["queue"])
        (panel,) = panels_of(runs, ["queue"], (0.0, 10.0), interval_s)
        return panel.detail, min(
            float(np.diff(one.time_s).max()) for one in panel.curves if one.draw == "queue"
        )

    assert "means of 1 s" in times(1.0)[0]
    assert times(1.0)[1] == pytest.approx(1.0)
    assert times(None)[1] < 0.5


@pytest.mark.parametrize(
    ("interval", "text"),
    [(0, "0 s"), (-1, "-1 s"), (1e-7, "100 ns"), (float("inf"), "inf s"), (float("nan"), "nan s")],
)
def test_intervals_that_cannot_be(interval: float, text: str) -> None:
    """The least one that is accepted depends on the time shown."""
    how: Any = {"until_s": 2.0}
    said = f"interval {text} is not accepted; to show 0 s to 2 s give 0.02 ms or more"
    with pytest.raises(MidflightError, match=re.escape(said)):
        figure_of(plot_over_time, "wifi-to-lte", ["throughput"], interval_s=interval, **how)
    with pytest.raises(MidflightError, match=re.escape("0.02 ms or more")):
        figure_of(plot_over_time, "wifi-to-lte", ["throughput"], interval_s=1.9e-5, **how)
    figure_of(plot_over_time, "wifi-to-lte", ["throughput"], interval_s=2e-5, **how)
    # The axis is a little longer than the run, which is not told.
    runs = watch("bufferbloat", kinds=["throughput"])
    with pytest.raises(MidflightError, match=r"interval 1 us is .* to show 0 s to 40 s give"):
        panels_of(runs, ["throughput"], (0.0, 40.4), 1e-6)


def test_a_text_is_one_name() -> None:
    """Schemes, flows and columns may be given as one text, which is not its letters."""
    for runs in (
        watch("wifi-to-lte", schemes="sack", flows="download"),
        watch("wifi-to-lte", schemes=["sack"], flows=["download"]),
    ):
        assert [one.labels for one in runs] == [["sack"]]
    figure = figure_of(plot_run, "wifi-to-lte", schemes="enhanced")
    assert (
        figure.axes[0].get_title()
        == figure_of(plot_run, "wifi-to-lte", schemes=["enhanced"]).axes[0].get_title()
    )
    columns = {"a.x": ["1", "2"] * 2, "kind": ["k", "k", "l", "l"], "sent": [1.0, 2.0, 3.0, 4.0]}
    for draw, how in ((plot_axis, {"x": "a.x", "y": "sent"}), (plot_spread, {"value": "sent"})):
        words = ["cdf"] if draw is plot_spread else []
        one = figure_of(draw, columns, *words, by="kind", **how)
        same = figure_of(draw, columns, *words, by=["kind"], **how)
        assert len(one.axes[0].lines) == len(same.axes[0].lines) > 0


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


def test_a_figure_without_bands_and_captions(tmp_path: Path) -> None:
    kinds = ["throughput", "queue", "rtt"]
    how: Any = {"schemes": ["sack", "freeze"]}
    usual = figure_of(plot_over_time, "wifi-to-lte", kinds, bands=True, **how)
    plain = figure_of(
        plot_over_time,
        "wifi-to-lte",
        kinds,
        schemes=["sack", "freeze"],
        bands=False,
        captions=False,
    )
    for figure, has in ((usual, True), (plain, False)):
        _, throughput, queue, rtt = figure.axes
        assert bool(throughput.get_title("right")) == has
        # What is filled are bands, and the time without a link.
        assert any(one.zorder == 2 for one in queue.collections) == has
        assert any(one.zorder == 2 for one in rtt.collections) == has
    # A line of maxima for each scheme; what has one point is an arrowhead.
    lines = [sum(len(one.get_xdata()) > 2 for one in fig.axes[3].lines) for fig in (usual, plain)]
    assert lines == [4, 2]
    out, columns = tmp_path / "x.svg", {"a.x": ["1", "2"] * 3, "sent": [1.0, 2, 3, 4, 5, 6]}
    plot_axis(columns, out, x="a.x", y="sent")
    assert "medians and quartiles" in out.read_text()
    plot_axis(columns, out, x="a.x", y="sent", captions=False)
    assert "medians and quartiles" not in out.read_text()


def test_all_flows_of_few_runs_are_shown() -> None:
    """Runs of an axis show all flows; with schemes it is the flow that has them."""
    links = {"cell": Link(rate="20 Mbit/s", delay="20 ms", queue="80 packets")}
    flows = {"a": Flow(), "b": Flow(scheme="bbr-linux", start="1 s")}
    one = Scenario(links=links, flows=flows, end="3 s")
    two = Scenario(links={"cell": replace(links["cell"], queue="codel")}, flows=flows, end="3 s")
    runs = watch({"fifo": one, "codel": two}, kinds=["throughput", "queue"])
    labels = [label for run in runs for label in run.labels]
    assert labels == ["a, fifo", "b, fifo", "a, codel", "b, codel"]
    assert [len(run.flows) for run in watch(one, schemes=["sack", "vho"])] == [1, 1]
    # The queue of both flows has the look of the first one.
    (panel,) = panels_of(runs, ["queue"], (0.0, 3.0))
    queues = [curve for curve in panel.curves if curve.draw == "queue"]
    assert [curve.look for curve in queues] == [run.looks[0] for run in runs]
    assert len({curve.look for curve in queues}) == 2
    # Both have the same link.
    slow = Scenario(links={"cell": replace(links["cell"], rate="9 Mbit/s")}, flows=flows, end="3 s")
    for other, is_one in ((two, True), (slow, False)):
        runs = watch({"fifo": one, "other": other}, kinds=["throughput"])
        (panel,) = panels_of(runs, ["throughput"], (0.0, 3.0))
        looks = [curve.look for curve in panel.curves if curve.draw == "area"]
        assert looks == ([None] if is_one else [run.looks[0] for run in runs])


def test_a_long_wait_without_a_timeout_is_a_stall() -> None:
    """A closed window stops the sender, whose timer does not expire; a call has nothing to send."""
    columns = {"time_s": [0, 2, 4.5], "rate_mbps": [10, 0, 10]}
    trace = {"columns": columns}
    links = {"cell": Link(trace=trace, delay="20 ms", queue="50 packets")}
    bulk = Scenario(links=links, flows={"a": Flow(set={"min_rto": "20 s"})}, end="8 s")
    (panel,) = panels_of(watch(bulk, kinds=["throughput"]), ["throughput"], (0.0, 8.0))
    assert not [one for one in panel.curves if one.draw in ("timeout", "spurious")]
    (stall,) = [one for one in panel.curves if one.draw == "stalled"]
    assert stall.low is not None
    assert stall.high is not None
    assert stall.low[0] == pytest.approx(2, abs=0.1)
    assert stall.high[0] == pytest.approx(4.5, abs=0.1)
    figure_of(plot_over_time, bulk, ["throughput"])


def test_flows_that_were_done_before_the_handoff_can_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "sweep")
    words = ["sweep", "wifi-to-lte", "--axis", "handoffs.0.at=0.3s,0.9s,20s", "--out", folder]
    assert main(words) == 0
    columns = read_columns(folder, "duration_ns")
    assert columns["met_handoff"] == ["1", "1", "0"]
    out = ["--out", str(tmp_path / "x.png")]
    drawn = ["plot", folder, "--kind", "cdf", "--value", "duration_ns"]
    capsys.readouterr()
    assert main([*drawn, *out]) == 0
    assert "1 of 3 flows were done before the handoff" in capsys.readouterr().err
    assert main([*drawn, "--where", "met_handoff=1", *out, "--csv", "-"]) == 0
    said = capsys.readouterr()
    assert "done before" not in said.err
    assert len(said.out.splitlines()) == 3


def test_each_of_several_videos_has_its_stalls() -> None:
    runs = watch("video-tunnel", schemes=["sack", "bbr-linux"], kinds=["buffer"])
    (panel,) = panels_of(runs, ["buffer"], (0.0, 130.0))
    stalls = {one.scheme: one for one in panel.curves if one.draw == "stalled"}
    assert [one.draw for one in panel.curves].count("stalls") == 0
    assert set(stalls) == {"sack", "bbr-linux"}
    assert stalls["sack"].look != stalls["bbr-linux"].look
    (alone,) = panels_of(watch("video-tunnel", kinds=["buffer"]), ["buffer"], (0.0, 130.0))
    (one,) = (one for one in alone.curves if one.draw == "stalls")
    assert np.array_equal(one.time_s, stalls["sack"].time_s)
