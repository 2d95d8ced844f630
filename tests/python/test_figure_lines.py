"""Lines of figures over time: their intervals, bands and marks."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from midflight import Flow, Handoff, Link, Scenario
from midflight.cli import main
from midflight.plot import figure_of, plot_over_time, plot_run
from midflight.plot.over_time.crowded import with_room
from midflight.plot.over_time.history import histories
from midflight.plot.over_time.marks import EVENTS
from midflight.plot.over_time.panels import over_time_figure, panel_rows, shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.run import run_rows
from midflight.plot.over_time.watched import watch


def test_the_rate_of_a_recording_has_the_means_of_the_throughput() -> None:
    rates = [1 + (7 * one) % 5 for one in range(600)]
    columns = {"time_s": list(range(600)), "rate_mbps": rates}
    scenario = Scenario(
        links={"cell": Link(delay="20 ms", trace={"columns": columns})},
        flows={"download": Flow(scheme="sack")},
        end="600 s",
    )
    runs = watch(scenario, kinds=["throughput"])
    (panel,) = shown_panels(runs, ["throughput"], interval_s=10.0)[1]
    rate = next(one for one in panel.curves if one.draw == "area")
    assert rate.value[:-1] == pytest.approx(np.reshape(rates, (-1, 10)).mean(axis=1))
    # The first interval of a part is whole, too.
    (panel,) = shown_panels(runs, ["throughput"], 204.0, 290.0, 10.0)[1]
    rate = next(one for one in panel.curves if one.draw == "area")
    assert rate.value[0] == pytest.approx(np.mean(rates[200:210]))
    (panel,) = shown_panels(runs, ["throughput"], interval_s=1.0)[1]
    rate = next(one for one in panel.curves if one.draw == "area")
    assert rate.value[:-1].tolist() == rates


def test_intervals_end_where_a_slow_recording_changes() -> None:
    rates = [20, 80, 30, 90, 40, 70, 25, 60]
    columns = {"time_s": [0, *range(12, 117, 15)], "rate_mbps": rates}
    scenario = Scenario(
        links={"dish": Link(delay="20 ms", trace={"columns": columns})},
        flows={"download": Flow(scheme="sack")},
        end="120 s",
    )
    for schemes in ((), ("sack", "cubic", "bbr-linux")):
        runs = watch(scenario, kinds=["throughput"], schemes=schemes)
        (panel,) = shown_panels(runs, ["throughput"])[1]
        # What is under way when a rate falls by 45 Mbit/s is 3.6 % of the next second.
        why = "above a falling rate: data arrives one delay after it left the link"
        assert panel.detail == f"means of 1 s; {why}"


def test_bands_of_many_lines_are_left_to_the_table() -> None:
    scenario = Scenario.read("wifi-to-lte")
    for schemes, asked, expected in (
        (["sack"], None, True),
        (["sack", "enhanced"], None, False),
        (["sack", "enhanced", "freeze"], True, True),
        (["sack"], False, False),
    ):
        runs = watch(scenario, kinds=["rtt"], schemes=schemes)
        window, panels = shown_panels(runs, ["rtt"], bands=asked)
        assert panels[0].has_bands == expected
        assert all(one.low is not None for one in panels[0].curves if one.draw == "steps")
        figure = over_time_figure(runs, panels, window)
        bands = [one for axes in figure.axes for one in axes.collections if one.zorder == 2]
        # The samples of one line are dots.
        assert len(bands) == (len(schemes) if expected and len(schemes) > 1 else 0)


def test_queues_mark_what_a_breaking_link_loses_behind_them() -> None:
    runs = watch("wifi-to-lte", kinds=["queue"])
    _, (panel,) = shown_panels(runs, ["queue"])
    marks = {one.draw: len(one.time_s) for one in panel.curves if one.in_row}
    (flow,) = Scenario.read("wifi-to-lte").run().flows.to_pandas().to_dict("records")
    assert marks["broken"] == flow["drops_break"] > 0
    assert marks["full"] == flow["drops_queue"] > 0


def test_a_window_without_a_limit_is_not_drawn() -> None:
    scenario = Scenario(
        links={"cell": Link(rate="10 Mbit/s", delay="20 ms")},
        flows={"download": Flow(size="10 kB")},
    )
    (panel,) = shown_panels(watch(scenario, kinds=["cwnd"]), ["cwnd"])[1]
    assert "limit" not in {one.draw for one in panel.curves}
    (panel,) = shown_panels(watch("wifi-to-lte", kinds=["cwnd"]), ["cwnd"])[1]
    (limit,) = (one for one in panel.curves if one.draw == "limit")
    assert np.nanmax(limit.value) < 1000


def test_frames_of_several_calls_are_medians_with_rows_of_marks() -> None:
    scenario = Scenario(
        links={"wifi": Link(preset="wifi"), "lte": Link(preset="lte")},
        flows={"call": Flow(workload="call")},
        handoffs=[Handoff(at="10 s", to="lte", gap="3 s")],
        end="20 s",
    )
    (alone,) = shown_panels(watch(scenario, kinds=["frames"]), ["frames"])[1]
    # Frames that are under way when the run ends are not lost.
    assert {one.draw for one in alone.curves} == {"dots", "late", "deadline"}
    runs = watch(scenario, kinds=["frames"], schemes=["sack", "enhanced"])
    window, (panel,) = shown_panels(runs, ["frames"])
    rows = [one for one in panel.curves if one.in_row]
    assert [one.draw for one in rows] == ["late", "late"]
    assert all(len(one.time_s) > 50 for one in rows)
    (sack, _) = (one for one in panel.curves if one.draw == "steps")
    late = next(one for one in alone.curves if one.draw == "late")
    assert sack.most is not None
    assert np.nanmax(sack.most) == pytest.approx(late.value.max())
    figure = over_time_figure(runs, [panel], window)
    assert figure.axes[1].get_yscale() == "log"


def test_an_axis_of_one_of_many_flows_shows_that_flow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, table = tmp_path / "a.toml", tmp_path / "a.csv"
    flows = "\n".join(f"flows.{name} = {{ size = '1 MB' }}" for name in ("a", "b", "c", "d"))
    file.write_text(f'links.wifi.preset = "wifi"\n{flows}\n')
    # Schemes and stacks of a flow can be tables, which the file of the data has as sweeps do.
    axis = 'flows.c=[{scheme="cubic"},{stack="quinn",cc="bbr"}]'
    how = ["--kind", "throughput", "--out", str(tmp_path / "a.png"), "--csv", str(table)]
    assert main(["plot", str(file), "--axis", axis, *how]) == 0
    drawn = {(row["flow"], row["line"]) for row in csv.DictReader(table.open()) if row["flow"]}
    assert {("c", '{scheme = "cubic"}'), ("c", '{stack = "quinn", cc = "bbr"}')} <= drawn
    assert {flow for flow, _ in drawn} == {"c"}
    assert "of the flows a, b, c, d only c is drawn" in capsys.readouterr().err


def test_the_rate_of_a_mahimahi_file_counts_its_opportunities(tmp_path: Path) -> None:
    # 2 Mbit/s up to 1 s, nothing up to 3 s, then 4 Mbit/s up to 5 s, where the file repeats.
    times = [*range(6, 1000, 6), *range(3000, 5001, 3)]
    (tmp_path / "cell.down").write_text("\n".join(map(str, times)) + "\n")
    file = tmp_path / "a.toml"
    file.write_text(
        'end = "12 s"\nlinks.cell = { trace = "cell.down", delay = "5 ms" }\nflows.a = {}\n'
    )
    (panel,) = shown_panels(watch(file, kinds=["throughput"]), ["throughput"], interval_s=0.1)[1]
    rate = next(one for one in panel.curves if one.draw == "area")
    for begin in (0.5, 2.9, 3.0, 4.2, 5.1, 8.2):
        first = 1000 * (begin % 5)
        counted = sum(first <= at < first + 100 for at in times)
        place = int(np.searchsorted(rate.time_s, begin + 0.05, side="right")) - 1
        assert rate.value[place] == pytest.approx(counted * 12e3 / 0.1 / 1e6, abs=1e-9)


def test_a_median_ends_at_the_last_packet_before_an_outage() -> None:
    columns = {"time_s": [0.0, 20.0, 50.0], "rate_mbps": [8.0, 0.0, 8.0]}
    scenario = Scenario(
        links={"cell": Link(delay="20 ms", trace={"columns": columns})},
        flows={"a": Flow()},
        end="100 s",
    )
    runs = watch(scenario, kinds=["delay"], schemes=["sack", "cubic"])
    (panel,) = shown_panels(runs, ["delay"], interval_s=10.0)[1]
    line = next(one for one in panel.curves if one.draw == "steps")
    drawn = line.time_s[~np.isnan(line.value)]
    inside = drawn[(drawn > 20.0) & (drawn < 50.0)]
    assert len(inside) == 0 or inside.max() < 22.0


def test_marks_that_cover_each_other_are_thinned_with_their_number() -> None:
    link = Link(rate="20 Mbit/s", delay="5 ms", queue="20 packets")
    runs = watch(Scenario(links={"cell": link}, flows={"a": Flow()}, end="60 s"), kinds=["queue"])
    window, panels = shown_panels(runs, ["queue"], size=3.5)
    axes = over_time_figure(runs, panels, window, size=3.5).axes[-1]
    # Marks of more losses are larger, and lines of their own.
    crosses = [one for one in axes.lines if one.get_marker() == "x"]
    drawn = np.sort(np.concatenate([np.asarray(one.get_xdata(), float) for one in crosses]))
    (lost,) = (one for one in panels[0].curves if one.draw == "full")
    assert len(drawn) < len(lost.time_s)
    assert [text.get_text() for text in axes.texts] == [f"{len(lost.time_s)} lost"]
    point = (window[1] - window[0]) / (3.5 - 0.65) / 72
    assert np.diff(drawn).min() > EVENTS["full"].size * point
    # Each loss is near a mark, and in the table.
    assert all(np.abs(drawn - at).min() < 2 * EVENTS["full"].size * point for at in lost.time_s)
    written = [row for row in panel_rows(panels) if row[2] == EVENTS["full"].label]
    assert len(written) == len(lost.time_s)


def test_spurious_timeouts_that_overlap_are_hollow() -> None:
    figure = figure_of(plot_over_time, "train", ["throughput", "queue"], look="paper")
    hollow = [one for axes in figure.axes for one in axes.lines if one.get_marker() == "v"]
    assert len(hollow) >= 2
    # Without a fill the outlines of several would be a black patch.
    assert {one.get_markerfacecolor() for one in hollow} == {"white"}


def test_a_short_step_between_gaps_is_as_long_as_the_eye_needs() -> None:
    nan, room = np.nan, Room(3.0, (0.0, 100.0))
    time = np.array([0.0, 10, 10, 20, 20.01, 20.01, 40, 60])
    found = with_room(time, np.array([1.0, 1, nan, 5, 5, nan, 2, 2]), room)
    least = 100 / (3.0 * 72)
    assert found[4] - found[3] == pytest.approx(least)
    assert found[5] == found[4]
    assert (found[3] + found[4]) / 2 == pytest.approx(20.005)
    kept = [0, 1, 2, 6, 7]
    assert found[kept].tolist() == time[kept].tolist()
    # In a figure: one packet gets through between two outages.
    columns = {"time_s": [0, 10, 20, 20.02, 40], "rate_mbps": [10, 0, 1, 0, 10]}
    link = Link(delay="20 ms", trace={"columns": columns})
    scenario = Scenario(links={"cell": link}, flows={"a": Flow(), "b": Flow()}, end="60 s")
    runs = watch(scenario, kinds=["delay"])
    window, panels = shown_panels(runs, ["delay"], size=3.5)
    axes = over_time_figure(runs, panels, window, size=3.5).axes[-1]
    lines = [one for one in axes.lines if one.get_label() in runs[0].labels]
    assert len(lines) == 2
    short = (window[1] - window[0]) / ((3.5 - 0.65) * 72)
    for line in lines:
        at, value = (np.asarray(one, np.float64) for one in line.get_data())
        edges = np.flatnonzero(np.diff(np.isfinite(value).astype(int), prepend=0, append=0))
        lasts = [
            at[end - 1] - at[first] for first, end in zip(edges[::2], edges[1::2], strict=True)
        ]
        assert min(lasts) > 0.99 * short


def test_a_short_step_beside_others_is_no_upright_line() -> None:
    room = Room(3.0, (0.0, 100.0))
    least = 100 / (3.0 * 72)

    def moved(time: list[float], value: list[float]) -> list[float]:
        at = np.array(time)
        assert with_room(at, np.array(value), room).tolist() == time
        return with_room(at, np.array(value), room, of_intervals=True).tolist()

    # Below both neighbours, it takes of the next one: it is not seen before its time.
    found = moved([0.0, 10, 10.1, 20], [5.0, 1, 5, 5])
    assert found == pytest.approx([0, 10, 10 + least, 20])
    # Between them, or as long as they are, steps stay where they are.
    for one in ([0.0, 10, 10.1, 20], [9.0, 5, 1, 1]), ([0.0, 1, 2, 3], [1.0, 0, 1, 1]):
        assert moved(*one) == one[0]
    # A short neighbour keeps some.
    found = moved([0.0, 1, 1.1, 2.1], [5.0, 1, 5, 5])
    assert np.diff(found) == pytest.approx([1.0, least, 1.1 - least])
    # At the edge of a gap, it takes from the only one, and the gap stays.
    nan = np.nan
    found = moved([0.0, 10, 10.1, 10.1, 30, 30.1, 50], [5.0, 9, 9, nan, 1, 5, 5])
    assert found == pytest.approx([0, 10.1 - least, 10.1, 10.1, 30, 30 + least, 50])


def test_the_mean_of_a_short_outage_can_be_seen() -> None:
    schemes = ["bbr-linux", "sack"]
    figure = figure_of(plot_over_time, "starlink-to-lte", "throughput", schemes=schemes, size=3.5)
    (line,) = (one for one in figure.axes[1].lines if one.get_label() == schemes[0])
    at, value = (np.asarray(one, np.float64) for one in line.get_data())
    (low,) = (one for one in np.flatnonzero(value < 40) if 26 < at[one] < 28)
    points = (at[low + 1] - at[low]) / 60 * (3.5 - 0.65) * 72
    # The outage lasts for 0.06 s, which is a fifth of a point. Nothing falls before it.
    assert 0.99 < points < 1.1
    assert at[low] == pytest.approx(27.0, abs=1e-6)


def test_one_line_is_one_entry_of_the_legend() -> None:
    figure = figure_of(plot_over_time, "bufferbloat", ["rates"], schemes=["bbr-linux"])
    (legend,) = figure.legends
    words = [one.get_text() for one in legend.get_texts()]
    assert words == ["bbr-linux", "delivery rate"]
    assert "the solid line is the pacing rate" in figure.axes[1].get_title("right")


def test_only_the_line_of_medians_is_said_to_be_one() -> None:
    """The pacing rate is drawn as it is."""
    (panel,) = shown_panels(watch("bufferbloat", kinds=["rates"], schemes=["bbr3"]), ["rates"])[1]
    said = "the solid line is the pacing rate; dashed: medians of 0.5 s of the delivery rate"
    assert panel.detail == said


def test_the_pipe_is_drawn_where_it_says_more_than_cwnd() -> None:
    figure = figure_of(plot_run, "ping-pong", schemes=["bbr-linux"], kind="window")
    lines = {str(one.get_label()).split(" ")[0]: one for one in figure.axes[0].lines}
    cwnd, pipe, ssthresh = (lines[one] for one in ("cwnd", "pipe", "ssthresh"))
    assert cwnd.get_linewidth() >= 1.5 * pipe.get_linewidth()
    assert cwnd.get_zorder() < pipe.get_zorder()
    assert len({one.get_color() for one in (cwnd, pipe, ssthresh)}) == 3
    # Dots and long dashes can be told apart without colours.
    (dot, _), (dash, _) = (one._unscaled_dash_pattern[1] for one in (pipe, ssthresh))
    assert dash > 5 * dot
    (legend,) = figure.legends
    assert "pipe (sender's estimate)" in [one.get_text() for one in legend.get_texts()]
    # That of CUBIC is cwnd, or the flight, almost always: a line on another one.
    figure = figure_of(plot_run, "ping-pong", schemes=["sack"], kind="window")
    assert not [one for one in figure.axes[0].lines if "pipe" in str(one.get_label())]
    assert not [one for one in run_rows(histories("ping-pong")) if one[2] == "pipe"]
    assert [
        one for one in run_rows(histories("ping-pong", schemes=["bbr-linux"])) if one[2] == "pipe"
    ]


def test_a_legend_that_fits_a_column_is_one_row() -> None:
    figure = figure_of(
        plot_over_time,
        "wifi-to-lte",
        ["throughput"],
        schemes=["sack", "rlci"],
        marks=[],
        until_s=0.25,
        look="paper",
    )
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    (legend,) = figure.legends
    heights = {round(one.get_window_extent(renderer).y0) for one in legend.get_texts()}
    assert len(heights) == 1
    assert len(legend.get_texts()) > 2
    extent = legend.get_window_extent(renderer)
    assert 0 <= extent.x0 < extent.x1 <= figure.bbox.x1


def test_what_is_widened_ends_with_the_link() -> None:
    """A mean just before an outage is not drawn in it, and a delay just after it not either."""
    room = Room(1.0, (0.0, 72.0), (10.0, 20.0))
    # A point is a second.
    at = np.array([0.0, 9.5, 10.0, 20.0, 40.0])
    found = with_room(at, np.array([5.0, 9, 0, 6, 6]), room, of_intervals=True)
    assert found.tolist() == at.tolist()
    free = with_room(at, np.array([5.0, 9, 0, 6, 6]), Room(1.0, (0.0, 72.0)), of_intervals=True)
    assert free[2] == 10.5
    at = np.array([20.1, 20.3, 20.3, 40.0, 50.0])
    found = with_room(at, np.array([8.0, 8.0, np.nan, 1.0, 1.0]), room, of_intervals=True)
    assert found[0] == 20.0
    assert found[1] == pytest.approx(21.0)
