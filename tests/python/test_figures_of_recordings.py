"""Figures of runs whose links follow a recording: times without rows, and which part it is."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from midflight import Flow, Handoff, Link, Scenario
from midflight._core import read_recording
from midflight.cli import main
from midflight.plot import figure_of, plot_over_time, plot_run
from midflight.plot.over_time.holes import Hole
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.recorded import Row, recording_figure
from midflight.plot.over_time.room import NO_ROWS, Room, seen_holes, unseen_holes
from midflight.plot.over_time.watched import watch
from midflight.recordings import quantities

if TYPE_CHECKING:
    from midflight._core import Recording

TITLE = "Time (s)"


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """A minute at 1 Hz, without rows from 20 to 30 s, and without the one at 45 s."""
    file = tmp_path / "drive.csv"
    seconds = [one for one in range(60) if not 20 <= one < 30 and one != 45]
    rows = "".join(f"{one},{5 + one % 3},20\n" for one in seconds)
    file.write_text("time_s,rate_mbps,delay_ms\n" + rows)
    return file


def following(**trace: Any) -> Scenario:
    return Scenario(links={"cell": Link(trace=trace)}, flows={"a": Flow()}, end="50 s")


def hatched(axes: Axes) -> list[tuple[float, float]]:
    """The times that are hatched, all over the height of a panel."""
    found = []
    for one in axes.patches:
        if one.get_hatch() == "////":
            extent = one.get_path().get_extents(one.get_patch_transform())
            assert (extent.y0, extent.y1) == (0, 1)
            found.append((extent.x0, extent.x1))
    return found


def test_times_without_rows_are_hatched_as_in_the_figure_of_the_recording(
    drive: Path, tmp_path: Path
) -> None:
    scenario, table = following(file=str(drive)), tmp_path / "drawn.csv"
    found = read_recording(str(drive))
    rates = [("down", "rate", *found["down"]["rate_bps"])]
    expected = hatched(recording_figure(found, rates, [], holes=found["holes"]).axes[0])
    assert expected == [(20, 30), (45, 46)]
    figures = [
        figure_of(plot_over_time, scenario, ["throughput", "queue"], csv=table),
        figure_of(plot_run, scenario),
    ]
    for figure in figures:
        panels = [axes for axes in figure.axes if axes.get_ylabel()]
        assert len(panels) >= 2
        assert all(hatched(axes) == expected for axes in panels)
        assert NO_ROWS in [text.get_text() for text in figure.legends[0].get_texts()]
    rows = [row for row in csv.DictReader(table.open()) if row["kind"] == "path"]
    assert {row["line"] for row in rows} == {NO_ROWS}
    assert {row["link"] for row in rows} == {"cell"}
    assert [(float(row["low"]), float(row["high"])) for row in rows] == expected
    # A single row that is missing is drawn two points wide in a small figure.
    small = figure_of(plot_over_time, scenario, ["throughput"], size=1.6, legend="none", csv=table)
    first, (begin, end) = hatched(small.axes[-1])
    assert first == (20, 30)
    assert (begin + end) / 2 == pytest.approx(45.5)
    assert end - begin == pytest.approx(2 * 50 / (72 * (1.6 - 0.65)), rel=0.02)
    rows = [row for row in csv.DictReader(table.open()) if row["kind"] == "path"]
    assert [(float(row["low"]), float(row["high"])) for row in rows] == expected


def test_many_narrow_times_without_rows_are_told_not_hatched() -> None:
    time_s = [second for second in range(300) if second % 12 != 6]
    recorded = {"time_s": time_s, "rate_mbps": [20.0] * len(time_s)}
    cell = Link(delay="30 ms", trace=recorded)
    for end_s, are_seen in ((290, False), (60, True)):
        scenario = Scenario(links={"cell": cell}, flows={"a": Flow()}, end=f"{end_s} s")
        figure = figure_of(plot_over_time, scenario, ["throughput"], size=3.5)
        said = " ".join(" ".join(axes.get_title("right") for axes in figure.axes).split())
        assert bool(hatched(figure.axes[-1])) == are_seen
        assert ("short times without rows are not hatched" in said) != are_seen


def test_hardly_any_time_after_the_end_of_a_recording_is_not_hatched() -> None:
    holes = [Hole(300_000_000_000, 301_000_000_000, True), Hole(100_000_000_000, 101_000_000_000)]
    room = Room(3.0, (0.0, 300.5))
    assert seen_holes(holes, room) == [(100, 101)]
    assert unseen_holes(holes, room) == 0


def test_only_a_link_in_use_lacks_rows(drive: Path) -> None:
    scenario = Scenario(
        links={"cell": Link(trace=str(drive)), "lte": Link(preset="lte")},
        flows={"a": Flow()},
        handoffs=[Handoff(at="25 s", to="lte")],
        end="50 s",
    )
    assert hatched(figure_of(plot_over_time, scenario, ["throughput"]).axes[-1]) == [(20, 25)]


def test_a_recording_that_repeats_lacks_the_same_rows_again(drive: Path) -> None:
    trace = {"file": str(drive), "from": "10 s", "until": "40 s", "repeat": True}
    figure = figure_of(plot_over_time, following(**trace), ["throughput"])
    assert hatched(figure.axes[-1]) == [(10, 20), (40, 50)]


def test_a_run_after_the_end_of_a_recording_is_hatched(drive: Path) -> None:
    figure = figure_of(plot_over_time, following(file=str(drive), until="18 s"), ["throughput"])
    ((begin, end),) = hatched(figure.axes[-1])
    assert begin == 18
    assert end > 40


def test_the_axis_of_time_says_which_part_of_a_recording_is_followed(drive: Path) -> None:
    def title(plot: Any = plot_over_time, *kinds: str, **trace: Any) -> str:
        figure = figure_of(plot, following(file=str(drive), **trace), *kinds)
        return str(figure.axes[-1].get_xlabel())

    part = {"from": "5 s"}
    for plot in (plot_over_time, plot_run):
        assert title(plot, **part) == "Time after 5 s of the recording (s)"
        assert title(plot) == TITLE
    both = {"from": "5 s", "offset": "2 s"}
    assert title(**both) == "Time after 7 s of the recording (s)"
    # Where it starts again in the run no second of it is that of the axis.
    again = "Time (s), with 5 s to 30 s of the recording repeated"
    assert title(**part, until="30 s", repeat=True) == again
    sources = {name: following(file=str(drive), **{"from": name}) for name in ("5 s", "9 s")}
    assert figure_of(plot_over_time, sources, ["throughput"]).axes[-1].get_xlabel() == TITLE
    figure = figure_of(plot_run, sources)
    assert [axes.get_xlabel() for axes in figure.axes[-2:]] == [
        f"Time after {name} of the recording (s)" for name in sources
    ]
    model = Scenario(
        links={"dish": Link(trace={"model": "starlink", "from": "20 s"})},
        flows={"a": Flow(size="1 MB")},
        end="20 s",
    )
    assert figure_of(plot_over_time, model, ["throughput"]).axes[-1].get_xlabel() == TITLE


def test_runs_over_different_parts_hatch_nothing_and_say_so(drive: Path) -> None:
    sources = {name: following(file=str(drive), **{"from": name}) for name in ("5 s", "9 s")}
    figure = figure_of(plot_over_time, sources, ["throughput"])
    assert not hatched(figure.axes[-1])
    said = " ".join(" ".join(axes.get_title("right") for axes in figure.axes).split())
    assert "times without rows are not hatched, as they differ between the runs" in said
    same = figure_of(
        plot_over_time, following(file=str(drive)), ["throughput"], schemes=["sack", "vho"]
    )
    assert hatched(same.axes[-1]) == [(20, 30), (45, 46)]


def test_notebooks_show_times_without_rows(drive: Path) -> None:
    text = following(file=str(drive)).run()._repr_html_()
    assert f">{NO_ROWS}</text>" in text


def test_intervals_are_those_of_a_recording() -> None:
    rates = [20.0 + 5 * (second % 4) for second in range(120)]
    recorded = {"time_s": list(range(120)), "rate_mbps": rates}
    cell = Link(delay="30 ms", queue="200 packets", trace=recorded)
    flows = {"download": Flow(direction="down")}
    scenario = Scenario(links={"cell": cell}, flows=flows, end="120 s")
    (panel,) = shown_panels(watch(scenario), ["throughput"])[1]
    assert panel.detail == "means of 1 s"
    # A rate that goes evenly up and down has no such step, nor a path with long round trips, of
    # which an interval is one.
    slope = {"time_s": [0, 60, 120], "rate_mbps": [40, 4, 40]}
    even = {"columns": slope, "interpolation": "linear"}
    for trace, link, means in ((even, "30 ms", "1 s"), (recorded, "700 ms", "1.4 s")):
        sloping = Scenario(
            links={"cell": Link(delay=link, queue="200 packets", trace=trace)},
            flows=flows,
            end="120 s",
        )
        (panel,) = shown_panels(watch(sloping), ["throughput"])[1]
        assert panel.detail == f"means of {means}"
    # Without a recording: the next round number above a 200th.
    steady = Scenario(
        links={"cell": Link(rate="20 Mbit/s", delay="30 ms")}, flows=flows, end="120 s"
    )
    (panel,) = shown_panels(watch(steady), ["throughput"])[1]
    assert panel.detail == "means of 1 s"


def test_a_narrow_figure_of_a_recording_has_longer_intervals() -> None:
    times = list(range(600))
    trace = {"time_s": times, "rate_mbps": [1 + (7 * one) % 5 for one in times]}
    scenario = Scenario(
        links={"cell": Link(delay="20 ms", trace={"columns": trace})},
        flows={"download": Flow(scheme="sack")},
        end="600 s",
    )
    one = watch(scenario, kinds=["throughput"])
    two = watch(scenario, kinds=["throughput"], schemes=["sack", "bbr-linux"])
    three = watch(scenario, kinds=["throughput"], schemes=["sack", "bbr-linux", "bbr3"])
    # Panels of several lines would be a tangle with more means an inch.
    of_three = ((three, "double", 2), (three, "single", 5))
    of_less = ((one, "double", 1), (one, "single", 2), (two, "single", 5))
    for runs, size, expected in (*of_less, *of_three):
        (panel,) = shown_panels(runs, ["throughput"], size=size)[1]
        assert panel.detail.partition(";")[0] == f"means of {expected} s"


def test_a_run_over_a_recording_is_drawn_over_time(tmp_path: Path) -> None:
    """Without `--kind`, by both commands; segments are drawn if they are asked for."""
    usual, asked, of_run, segments = (tmp_path / f"{n}.svg" for n in range(4))
    run = ["train", "--set", "end=12 s"]
    assert main(["plot", *run, "--out", str(usual)]) == 0
    assert main(["plot", *run, "--kind", "throughput,queue,delay", "--out", str(asked)]) == 0
    assert main(["run", *run, "--plot", str(of_run)]) == 0
    assert main(["plot", *run, "--segments", "1:50", "--out", str(segments)]) == 0
    assert usual.read_bytes() == asked.read_bytes() == of_run.read_bytes()
    assert "Throughput" in usual.read_text(encoding="utf-8")
    assert "Segment number" in segments.read_text(encoding="utf-8")


def rows_of(found: Recording) -> Iterator[Row]:
    """What the figure of a recording draws of it."""
    for way, what, _, (times, values), _ in quantities(found, None):
        if times:
            yield way, what, times, values


def test_empty_cells_are_not_drawn_as_measured(tmp_path: Path) -> None:
    """Rows without a rate and a round trip: what holds there is dotted."""
    file = tmp_path / "drive.csv"
    cells = [f"{20 + k % 3},{50 + k % 2}" if not 20 <= k < 26 else "," for k in range(60)]
    rows = [f"{k},{one},0.{k % 2}" for k, one in enumerate(cells)]
    file.write_text("time_s,rate_mbps,RTT (ms),loss_pct\n" + "\n".join(rows) + "\n")
    found = read_recording(str(file), columns={"rtt": "RTT (ms)"})
    figure = recording_figure(found, [*rows_of(found)], [])
    for axes in figure.axes:
        line, *dotted = (one for one in axes.lines if len(one.get_xdata()) > 0)
        time, value = (np.asarray(one, float) for one in line.get_data())
        if axes.get_ylabel().startswith("Losses"):
            assert not dotted
            assert np.isfinite(value).all()
            continue
        # The value of 19 s ends after its second.
        assert time[np.isnan(value)].tolist() == [20.0]
        (held,) = dotted
        assert held.get_xdata().tolist() == [20.0, 26.0]
        assert {*held.get_ydata()} == {value[time == 19.0][0]}
    names = [one.get_text() for one in figure.legends[0].get_texts()]
    assert names == ["no value: the one before holds"]
    assert {one.get_title("left") for one in figure.axes} == {"down", "both directions"}
    # A quantity that is measured less often than others lacks nothing.
    rows = [f"{k},{20 + k % 3},{50 + k % 2 if k % 5 == 0 else ''}" for k in range(200)]
    file.write_text("time_s,rate_mbps,RTT (ms)\n" + "\n".join(rows) + "\n")
    found = read_recording(str(file), columns={"rtt": "RTT (ms)"})
    figure = recording_figure(found, [*rows_of(found)], [])
    # Lines that look the same are named above their panels.
    assert not figure.legends
    assert [one.get_title("left") for one in figure.axes] == ["down", "both directions"]
    assert {one.get_linestyle() for axes in figure.axes for one in axes.lines} == {"-"}
