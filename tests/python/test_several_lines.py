"""Figures over time with several lines: names, marks of their own, and how a figure looks."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import midflight
from midflight import Flow, Handoff, Link, Scenario
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_over_time, plot_run, plot_spread
from midflight.plot.common.style import SERIES
from midflight.plot.over_time.curves import Curve
from midflight.plot.over_time.marks import EVENTS, STALL
from midflight.plot.over_time.panels import over_time_figure, shown_panels
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.stalls import Heard, stalls_of, without_short_stalls
from midflight.plot.over_time.watched import watch


def fast_and_slow() -> Scenario:
    """Two downloads that move from 50 to 1 Mbit/s after two seconds."""
    return Scenario(
        links={
            "fast": Link(rate="50 Mbit/s", delay="5 ms", queue="40 packets"),
            "slow": Link(rate="1 Mbit/s", delay="60 ms", queue="12 packets"),
        },
        flows={"a": Flow(scheme="sack"), "b": Flow(scheme="sack", start="0.3 s")},
        handoffs=[Handoff(at="2 s", to="slow", gap="200 ms")],
        end="6 s",
    )


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_schemes_replace_those_of_every_named_flow(tmp_path: Path) -> None:
    table = tmp_path / "lines.csv"
    schemes = ["sack", "bbr-linux"]
    plot_over_time(
        fast_and_slow(),
        tmp_path / "lines.svg",
        ["throughput", "queue"],
        flows=["a", "b"],
        schemes=schemes,
        csv=table,
    )
    expected = {f"{flow}, {scheme}" for flow in "ab" for scheme in schemes}
    rows = [one for one in rows_of(table) if one["kind"] == "throughput" and one["flow"]]
    marks = {"timeout", "spurious timeout", "timeout undone", STALL}
    rows = [one for one in rows if one["line"] not in marks]
    assert {one["line"] for one in rows} == expected
    assert all(one["line"] == f"{one['flow']}, {one['scheme']}" for one in rows)
    # No line has two values at an instant.
    assert max(Counter((one["line"], one["time_s"]) for one in rows).values()) == 1
    runs = watch(fast_and_slow(), flows=["a", "b"], schemes=schemes, kinds=["throughput"])
    assert [one["scheme"] for one in runs[1].setup.flows] == ["bbr-linux"] * 2
    drawn = (tmp_path / "lines.svg").read_text()
    shown = {name.replace("sack", "sack (CUBIC)") for name in expected}
    assert all(f">{name}</text>" in drawn for name in shown)


def test_losses_and_timeouts_of_each_line_have_a_row() -> None:
    runs = watch("wifi-to-lte", schemes=["sack", "enhanced", "vho"], kinds=["queue", "cwnd"])
    window, panels = shown_panels(runs, ["queue", "cwnd"])
    for panel, what in zip(panels, ("full", "timeout"), strict=True):
        axes = over_time_figure(runs, [panel], window).axes[1]
        looks = {one.look for one in panel.curves if one.draw == what}
        assert looks == {*(one.looks[0] for one in runs)}
        colours = {SERIES[look].colour for look in looks if look is not None}
        heights = {
            line.get_markeredgecolor(): float(np.asarray(line.get_ydata())[0])
            for line in axes.lines
            if line.get_linestyle() == "None" and line.get_markeredgecolor() in colours
            if 0.5 < float(np.asarray(line.get_ydata(), dtype=float).max(initial=0)) < 1
        }
        assert heights.keys() == colours
        assert len(set(heights.values())) == len(colours)


def test_timeouts_and_stalls_are_in_throughputs_and_queues() -> None:
    kinds = ["throughput", "queue"]
    (run,) = runs = watch("wifi-to-lte", kinds=kinds)
    _, panels = shown_panels(runs, kinds)
    (flow,) = run.flows
    expected = (flow.times("rto") / 1e9).tolist()
    assert len(expected) == 4
    for panel in panels:
        found = [one for one in panel.curves if one.draw in ("timeout", "spurious")]
        assert sorted(at for one in found for at in one.time_s) == pytest.approx(expected)
        assert all(one.in_row for one in found)
    (stall,) = (one for one in panels[0].curves if one.draw == "stalled")
    # All timeouts are in one stall, in which nothing arrives.
    assert stall.low is not None
    assert stall.high is not None
    ((begins,), (ends,)) = stall.low, stall.high
    at = flow.times("rcv") / 1e9
    assert not ((at > begins) & (at < ends)).any()
    assert {begins, ends} <= {*at.tolist()}
    assert begins < expected[0] < expected[-1] < ends
    _, panels = shown_panels(runs, kinds, marks=["losses"])
    drawn = {one.draw for panel in panels for one in panel.curves}
    assert not drawn & {"timeout", "spurious", "stalled"}


def test_stalls_at_the_same_time_are_drawn_for_all_lines() -> None:
    """A gap of half a second stalls all senders; Freeze-TCP has no timeout in it."""
    schemes = ["sack", "freeze", "enhanced", "vho"]
    source = Scenario.read("wifi-to-lte", sets={"handoffs.0.gap": "500 ms"})
    runs = watch(source, schemes=schemes, kinds=["throughput"])
    for width in (7.16, 3.5, 1.5):
        window, (panel,) = shown_panels(runs, ["throughput"], size=width)
        stalls = [one for one in panel.curves if one.draw == "stalled"]
        assert [one.scheme for one in stalls] == schemes
        drawn = without_short_stalls(panel, Room(width - 0.65, window)).curves
        assert {len(one.time_s) for one in drawn if one.draw == "stalled"} == {1}


@pytest.mark.parametrize(
    ("starter", "schemes"),
    [
        ("web-page", ["sack", "a3", "freeze"]),
        ("call-handoff", ["sack", "freeze", "enhanced", "bbr-linux"]),
    ],
)
def test_an_application_waits_also_while_its_sender_is_told_to_stop(
    starter: str, schemes: list[str]
) -> None:
    """Freeze-TCP has nothing in the network then, and what a page or a call waits for is late."""
    runs = watch(starter, schemes=schemes, kinds=["throughput"])
    (panel,) = shown_panels(runs, ["throughput"])[1]
    stalls = [one for one in panel.curves if one.draw == "stalled"]
    assert [one.scheme for one in stalls] == schemes
    for one, run in zip(stalls, runs, strict=True):
        assert one.low is not None
        assert one.high is not None
        ((begin, end),) = run.gaps
        assert one.low[0] <= begin < end <= one.high[0]
        at = run.flows[0].times("rcv") / 1e9
        assert one.high[0] - one.low[0] == pytest.approx(np.diff(at).max())


def _words(figure: Figure) -> list[str]:
    """What stands beside and above the panels of a figure."""
    beside = [one.get_text() for axes in figure.axes for one in axes.texts]
    return beside + [axes.get_title("right") for axes in figure.axes]


def test_four_lines_have_rows_and_more_have_numbers_of_each() -> None:
    schemes = ["sack", "freeze", "enhanced", "bbr-linux", "vho"]
    kinds = ["throughput", "frames"]
    runs = watch("call-handoff", schemes=schemes, kinds=kinds)
    late = [int((one.flows[0].rows("late_frame")).size) for one in runs]
    assert min(late) > 0
    window, panels = shown_panels(runs[:4], kinds)
    texts = _words(over_time_figure(runs[:4], panels, window))
    assert [one for one in texts if one.endswith(" late")] == [f"{one} late" for one in late[:4]]
    window, panels = shown_panels(runs, kinds)
    said = " ".join(" ".join(_words(over_time_figure(runs, panels, window))).split())
    each = zip((label for run in runs for label in run.labels), late, strict=True)
    numbers = ", ".join(f"{label} {count}" for label, count in each)
    assert f"not marked: late frames ({numbers})".replace("sack ", "sack (CUBIC) ") in said


def test_a_stall_that_lasts_to_the_end_of_the_run_is_drawn() -> None:
    """BBR's tail probe waits for a multiple of an RTT sample of eight seconds."""
    for scheme, expected in (("bbr-linux", 2), ("sack", 1)):
        runs = watch("train", schemes=[scheme], kinds=["throughput"])
        (panel,) = shown_panels(runs, ["throughput"])[1]
        (stalls,) = (one for one in panel.curves if one.draw == "stalled")
        assert stalls.high is not None
        assert len(stalls.high) == expected
        assert (stalls.high[-1] == 40.0) == (scheme == "bbr-linux")


def test_a_much_shorter_wait_is_no_stall() -> None:
    def heard(number: int, wait_s: float, least_s: float = 1.0) -> Heard:
        at = np.concatenate([np.arange(0, 2, 0.1), np.arange(2 + wait_s, 6, 0.1)])
        ends = np.array([0.0, 6.0])
        how: Any = {"scheme": str(number), "look": number}
        return Heard(at, Curve("", "steps", ends, np.zeros(2), **how), [], least_s)

    def lasts(*lines: Heard) -> list[list[float]]:
        each = stalls_of(lines, alone=len(lines) == 1)
        return [
            [
                round(float(b - a), 6)
                for one in stalls
                for a, b in zip(one.low, one.high, strict=True)
            ]
            for stalls in each
        ]

    assert lasts(heard(0, 0.8)) == [[]]
    assert lasts(heard(0, 0.8), heard(1, 0.9)) == [[], []]
    # The last one may have nothing to send.
    waits = [heard(0, 1.2), heard(1, 0.8), heard(2, 0.3), heard(3, 0.9, math.inf)]
    # A line has the same beside others as alone.
    assert lasts(*waits) == [[1.3], [], [], []]
    # A shorter one is a stall if there was no link.
    gaps = [(1.9, 2.2), (4.0, 4.01)]
    waits = [one._replace(gaps=gaps) for one in waits]
    assert lasts(*waits) == [[1.3, 0.1], [0.9, 0.1], [0.4, 0.1], []]
    assert lasts(waits[1]) == [[0.9, 0.1]]


def test_losses_of_several_flows_are_told_apart() -> None:
    (run,) = runs = watch(fast_and_slow(), kinds=["queue"])
    _, (panel,) = shown_panels(runs, ["queue"])
    lost = Counter[str]()
    for one in panel.curves:
        lost[one.flow] += len(one.time_s) if one.draw == "full" else 0
    trace = {
        flow.flow: sum(why == "queue" for why in flow.column("cause", "drop")) for flow in run.flows
    }
    assert {flow: lost[flow] for flow in trace} == trace
    assert min(trace.values()) > 0


def test_no_mark_of_an_event_is_that_of_a_line() -> None:
    of_events = {event.marker for event in EVENTS.values()}
    assert len({(one.marker, one.is_filled) for one in EVENTS.values()}) == len(EVENTS)
    assert not of_events & {look.marker for look in SERIES}


@pytest.mark.parametrize(
    ("source", "kinds", "how"),
    [
        (fast_and_slow(), ["queue", "cwnd", "sequence"], {}),
        ("wifi-to-lte", ["queue", "cwnd", "sequence"], {"schemes": ["bbr-linux", "cubic-linux"]}),
        ("wifi-to-lte", ["throughput", "cwnd"], {"schemes": ["enhanced"]}),
        ("lossy-wifi", ["queue", "sequence", "rtt"], {}),
        ("starlink-to-lte", ["throughput", "queue", "cwnd"], {}),
        ("call-handoff", ["frames", "queue", "sequence"], {}),
        ("web-page", ["objects", "queue", "sequence"], {}),
    ],
)
def test_no_two_entries_of_a_legend_look_alike(source: Any, kinds: list[str], how: Any) -> None:
    figure = figure_of(plot_over_time, source, kinds, **how)
    seen: dict[Any, str] = {}
    for handle, text in zip(
        figure.legends[0].legend_handles, figure.legends[0].get_texts(), strict=True
    ):
        if isinstance(handle, Line2D):
            line = handle.get_linestyle() != "None"
            looks: Any = (
                handle.is_dashed() if line else None,
                handle.get_color() if line else None,
                str(handle.get_marker()),
                to_rgba(handle.get_markerfacecolor()),
                to_rgba(handle.get_markeredgecolor()),
            )
        else:
            assert isinstance(handle, Patch)
            looks = (handle.get_facecolor(), handle.get_edgecolor(), handle.get_hatch())
        assert looks not in seen, (text.get_text(), seen[looks])
        seen[looks] = text.get_text()
    assert len(seen) > 2


def test_losses_in_a_sequence_are_marked_by_their_cause() -> None:
    (run,) = runs = watch("starlink-to-lte", kinds=["queue", "sequence"])
    _, (queue, sequence) = shown_panels(runs, ["queue", "sequence"])
    lost = Counter(run.flows[0].column("cause", "drop").astype(str))
    drawn = {
        panel.kind: {one.draw: len(one.time_s) for one in panel.curves if one.draw in EVENTS}
        for panel in (queue, sequence)
    }
    for draw, cause in (("full", "queue"), ("broken", "break")):
        # Of the sequence only data, of the queue also what is lost behind the access link's queue.
        assert 0 < drawn["sequence"][draw] <= lost[cause]
    assert {one.label for one in sequence.curves} >= {EVENTS["full"].label, EVENTS["broken"].label}


def test_the_interval_follows_the_round_trip_of_the_time_shown() -> None:
    runs = watch(fast_and_slow(), kinds=["throughput"])
    detail = {
        window: shown_panels(runs, ["throughput"], *window)[1][0].detail
        for window in ((0.0, 2.0), (2.5, 6.0))
    }
    # A round trip is 10 to 30 ms on the fast link, and more than 120 ms on the slow one. There a
    # flow has the link for a part of each of its round trips, and an interval has one.
    assert detail == {(0.0, 2.0): "means of 0.035 s", (2.5, 6.0): "means of 0.28 s"}


def test_means_of_a_window_in_bursts_have_whole_round_trips() -> None:
    """A window grows slowly on a satellite, and so do means of whole round trips; those of other
    intervals have one burst and two by turns.
    """
    links = {"lte": Link(preset="lte"), "satellite": Link(rate="20 Mbit/s", delay="300 ms")}
    away = Handoff(at="1 s", to="satellite", gap="3 s")
    flows = {"a": Flow(size="10 MB", scheme="sack")}
    runs = watch(Scenario(links=links, flows=flows, handoffs=[away], end="600 s"))
    kept = runs[0].flows[0]
    # But for that of a segment that was sent before the outage.
    trips = kept.values("rtt_sample")[kept.times("rtt_sample") > 4e9]
    # Not the round number beside it: means of that dip where an interval has no burst.
    assert np.median(trips) == pytest.approx(0.62, rel=0.01)
    for begin in (4.0, None):
        (panel,) = shown_panels(runs, ["throughput"], begin)[1]
        assert panel.detail == "means of 0.62 s"
        (line,) = (one for one in panel.curves if one.label == runs[0].labels[0])
        means = line.value[(line.time_s > 7) & (line.time_s < 15)]
        assert len(means) > 10
        assert (np.diff(means) > -0.1).all()


def test_the_end_of_a_fast_link_does_not_make_the_axis_logarithmic() -> None:
    runs = watch(fast_and_slow(), kinds=["throughput"])
    for start, scale in ((0.0, "log"), (2.0, "linear"), (2.001, "linear")):
        window, panels = shown_panels(runs, ["throughput"], start, 6.0)
        assert over_time_figure(runs, panels, window).axes[1].get_yscale() == scale


def test_a_rate_above_the_axis_is_written() -> None:
    figure = figure_of(plot_over_time, "wifi-to-5g", ["throughput"])
    said = figure.axes[1].get_title("right")
    assert said.endswith("the link's rate is 54 to 200 Mbit/s, above the axis")
    assert figure.axes[1].get_ylim()[1] < 54
    # A grey panel would say nothing.
    assert "rate of the link" not in figure.axes[1].get_legend_handles_labels()[1]


def test_a_rate_that_no_flow_needs_makes_no_axis_logarithmic() -> None:
    """Of a slow and a fast link with a call a hundredth as fast the axis is that of the call."""
    sets = {"links.wifi.rate": "600 Mbit/s", "links.lte.rate": "20 Mbit/s"}
    runs = watch(Scenario.read("call-handoff", sets=sets), kinds=["throughput"])
    window, panels = shown_panels(runs, ["throughput"])
    axes = over_time_figure(runs, panels, window).axes[1]
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[1] < 5
    assert "20 to 600 Mbit/s, above the axis" in axes.get_title("right")
    # What is near the flows is drawn.
    near = Scenario.read("call-handoff", sets=sets | {"links.lte.rate": "1 Mbit/s"})
    runs = watch(near, kinds=["throughput"])
    window, panels = shown_panels(runs, ["throughput"])
    axes = over_time_figure(runs, panels, window, yscale="linear").axes[1]
    said = axes.get_title("right")
    assert said.endswith("the link's rate is 600 Mbit/s for a part of the time, above the axis")
    assert "rate of the link" in axes.get_legend_handles_labels()[1]


def test_a_rate_above_the_axis_for_a_part_of_the_time_fills_the_panel_there() -> None:
    sets = {"links.wifi.rate": "600 Mbit/s", "links.lte.rate": "1 Mbit/s"}
    runs = watch(Scenario.read("call-handoff", sets=sets), kinds=["throughput"])
    window, panels = shown_panels(runs, ["throughput"])
    axes = over_time_figure(runs, panels, window, yscale="linear").axes[1]
    filled = [one.get_paths()[0].vertices for one in axes.collections if one.get_label()]
    area = max(filled, key=lambda one: one[:, 1].max())
    # White would mean that there is no link.
    assert area[:, 1].max() == 600
    assert not np.isnan(area).any()


def test_an_axis_that_is_asked_for_has_the_rates_that_it_reaches() -> None:
    name = "rate of the link"
    figure = figure_of(plot_over_time, "wifi-to-5g", ["throughput"], ylim=(0, 250))
    axes = figure.axes[1]
    assert name in axes.get_legend_handles_labels()[1]
    assert "above the axis" not in axes.get_title("right")
    figure = figure_of(plot_over_time, "wifi-to-5g", ["throughput"], ylim={"throughput": (0, 100)})
    axes = figure.axes[1]
    assert name in axes.get_legend_handles_labels()[1]
    said = axes.get_title("right")
    assert said.endswith("the link's rate is 200 Mbit/s for a part of the time, above the axis")


def test_an_idle_link_has_no_queue() -> None:
    runs = watch(fast_and_slow(), kinds=["queue"])
    for window, links in (((0.0, 1.9), ["fast"]), ((3.0, 6.0), ["slow"])):
        _, (panel,) = shown_panels(runs, ["queue"], *window)
        assert [one.link for one in panel.curves if one.draw == "queue"] == links


def test_runs_of_an_axis_share_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "gaps.csv"
    words = ["plot", "wifi-to-lte", "--kind", "throughput,cwnd", "--csv", str(table)]
    words += ["--axis", "handoffs.0.gap=0.5s,2s", "--out", str(tmp_path / "gaps.svg")]
    assert main(words) == 0
    rows = rows_of(table)
    lines = {one["line"] for one in rows if one["kind"] == "cwnd"}
    assert lines == {"0.5 s", "2 s", "timeout", "timeout undone"}
    timeouts = Counter(one["scheme"] for one in rows if one["line"] == "timeout")
    assert timeouts["0.5 s"] < timeouts["2 s"]
    drawn = (tmp_path / "gaps.svg").read_text()
    # Each line has the rate of its own links.
    assert {one["scheme"] for one in rows if one["line"] == "rate of the link"} == {"0.5 s", "2 s"}
    assert ">no link</text>" in drawn
    assert re.search(">Gap of the handoff:?</text>", drawn)
    capsys.readouterr()
    for more, said in (
        (["--axis", "handoffs.0.at=1s:12s:1s"], "have 24 combinations"),
        (["--set", "handoffs.0.gap=1s"], "--set handoffs.0.gap and --axis handoffs.0.gap"),
        (["--axis", "handoffs.0.at"], "is not KEY=VALUES"),
    ):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err


def test_notes_of_all_runs_are_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "drive.csv"
    recording.write_text("time,rate_mbps\n0,20\n1,0\n2,20\n9,10\n10,20\n")
    words = ["plot", "wifi-to-lte", "--set", f"links.lte.trace={recording}"]
    words += ["--out", str(tmp_path / "x.png")]
    assert main(words) == 0
    alone = [line for line in capsys.readouterr().err.splitlines() if "note" in line]
    assert len(alone) > 1
    assert main([*words, "--axis", "handoffs.0.gap=0.5s,2s"]) == 0
    # Those of both runs, once.
    assert [line for line in capsys.readouterr().err.splitlines() if "note" in line] == alone
    # A setting is without effect if no run uses it.
    for schemes, count in (("sack,freeze", 1), ("sack,enhanced", 0)):
        axis = ["--axis", f"flows.download.scheme={schemes}", "--set", "set.a1_trigger=delay"]
        assert main(["plot", "wifi-to-lte", *axis, "--out", str(tmp_path / "x.png")]) == 0
        assert capsys.readouterr().err.count("a1_trigger has no effect") == count


def test_each_run_shows_its_own_gap() -> None:
    gaps = {"0.5 s": 0.5, "2 s": 2.0}
    named = {
        name: Scenario.read("wifi-to-lte", sets={"handoffs.0.gap": name, "end": "6 s"})
        for name in gaps
    }
    figure = figure_of(plot_over_time, named, ["throughput", "cwnd"])
    band, *panels = figure.axes
    names = Counter(text.get_text() for text in band.texts)
    assert (names["no link"], names["lte"]) == (2, 2)
    for axes in panels:
        lines = [one for one in axes.collections if isinstance(one, LineCollection)]
        # Thin ones are stalls.
        spans = [one for one in lines if one.get_linewidth()[0] > 1]
        lasts = [float(np.diff(one.get_segments()[0][:, 0])[0]) for one in spans]
        assert lasts == pytest.approx([*gaps.values()])
        # In rows of their own, in the colours of their lines, and without shading.
        heights = {one.get_segments()[0][0, 1] for one in spans}
        assert len(heights) == 2
        assert [to_hex(one.get_color()) for one in spans] == [
            SERIES[look].colour for look in (0, 1)
        ]
        assert not [one for one in axes.collections if one.zorder < 0.2]
    same = figure_of(plot_over_time, {"a": "wifi-to-lte", "b": "wifi-to-lte"}, ["throughput"])
    assert len([one for one in same.axes[1].collections if one.zorder < 0.2]) == 1


def test_titles_and_legends_say_what_an_axis_is(tmp_path: Path) -> None:
    words = ["plot", "wifi-to-lte", "--axis", "handoffs.0.gap=0.5s,2s"]
    for kind, said in (
        ("both", ("Gap of the handoff: 0.5 s", "Gap of the handoff: 2 s")),
        ("delay-cdf", ("Gap of the handoff",)),
    ):
        out = tmp_path / f"{kind}.svg"
        assert main([*words, "--kind", kind, "--out", str(out)]) == 0
        assert all(re.search(f">{one}:?</text>", out.read_text()) for one in said)


def test_two_stacks_share_a_figure() -> None:
    scenarios = {
        stack: Scenario.read("wifi-to-5g", sets={"flows.download.stack": stack})
        for stack in ("midflight", "quinn")
    }
    runs = watch(scenarios, kinds=["throughput"])
    assert [label for one in runs for label in one.labels] == ["midflight", "quinn"]
    assert [flow["stack"] for one in runs for flow in one.setup.flows] == ["midflight", "quinn"]


def test_other_names_and_the_place_of_the_legend(tmp_path: Path) -> None:
    def drawn(**how: object) -> str:
        out = tmp_path / "named.svg"
        plot_over_time("wifi-to-lte", out, ["throughput"], schemes=["sack", "vho"], **how)
        return out.read_text()

    text = drawn(labels={"sack": "CUBIC", "lte": "LTE"})
    assert ">CUBIC, done at" in text
    assert ">LTE</text>" in text
    assert ">sack" not in text
    assert ">vho, done at" in text
    assert ">sack (CUBIC)" not in drawn(legend="none")
    inside = figure_of(plot_over_time, "wifi-to-lte", ["throughput"], legend="inside")
    assert not any("sack" in text.get_text() for text in inside.legends[0].get_texts())
    assert inside.axes[1].get_legend() is not None
    with pytest.raises(
        midflight.MidflightError,
        match="outside, inside, upper-left, upper-right, lower-left, lower-right, none",
    ):
        drawn(legend="left")


def test_labels_without_effect_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plot", "wifi-to-lte", "--kind", "throughput", "--out", str(tmp_path / "x.svg")]
    words += ["--scheme", "sack", "--scheme", "vho"]
    labels = ["sak=CUBIC", "lte=LTE", "wifi=Wi-Fi", "queue=Queue", "sack=TCP", "vho=TCP"]
    assert main([*words, *(word for one in labels for word in ("--label", one))]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "--label" in line]
    assert notes == [
        'midflight: note: --label: the figure shows "TCP" for sack and for vho',
        'midflight: note: --label sak: the figure shows no "sak" (did you mean "sack"?)',
        'midflight: note: --label queue: the figure shows no "queue"',
    ]
    # Both lines keep their entries in the legend.
    assert (tmp_path / "x.svg").read_text().count(">TCP, done at") == 2
    assert ">LTE</text>" in (tmp_path / "x.svg").read_text()


def test_the_ends_of_an_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Those of panels with rows of marks are those of the values (test_row_ticks.py).
    figure = figure_of(plot_over_time, "wifi-to-lte", ["throughput"], ylim=(0, 30), marks=[])
    assert figure.axes[1].get_ylim() == (0, 30)
    words = ["plot", "wifi-to-lte", "--out", str(tmp_path / "x.png")]
    for more, said in (
        (["--kind", "throughput,queue", "--ylim", "0:30"], "the figure has 2 panels"),
        (["--kind", "throughput", "--ylim", "30:0"], "the low end must be below the high one"),
        (["--kind", "throughput", "--ylim", "30"], "is not LOW:HIGH"),
        (["--kind", "throughput", "--yscale", "log", "--ylim", "0:9"], "begins above 0"),
    ):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()


def test_each_panel_has_ends_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ["throughput", "queue", "cwnd"]
    ends: dict[str, tuple[float, float]] = {"throughput": (0, 30), "cwnd": (10, 99)}
    figure = figure_of(plot_over_time, "wifi-to-lte", kinds, ylim=ends, marks=[])
    plain = figure_of(plot_over_time, "wifi-to-lte", kinds, marks=[])
    assert [axes.get_ylim() for axes in figure.axes[1:]] == [
        (0, 30),
        plain.axes[2].get_ylim(),
        (10, 99),
    ]
    (_, window, timer) = figure_of(plot_run, "wifi-to-lte", ylim={"window": (0, 50)}).axes
    assert (window.get_ylim(), timer.get_yscale()) == ((0, 50), "log")
    out = str(tmp_path / "x.png")
    words = ["plot", "wifi-to-lte", "--kind", "throughput,queue", "--out", out]
    assert main([*words, "--ylim", "throughput=0:30", "--ylim", "queue=0:9"]) == 0
    capsys.readouterr()
    for given, said in (
        (["cwnd=0:9"], "the figure has no panel cwnd; expected throughput=LOW:HIGH"),
        (["queue=9:0"], "--ylim queue=9:0: the low end must be below the high one"),
        (["queue=0:9", "queue=0:8"], "are given twice"),
        (["0:9"], "write throughput=LOW:HIGH, queue=LOW:HIGH"),
    ):
        assert main([*words, *(word for one in given for word in ("--ylim", one))]) == 2
        assert said in capsys.readouterr().err


def test_marks_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ["queue", "cwnd", "sequence"]
    everything = {"retransmissions", "full", "timeout", "undone"}
    for marks, expected in (
        (None, everything),
        (["losses"], {"full"}),
        (["timeouts", "retransmissions"], {"retransmissions", "timeout", "undone"}),
        ([], set()),
        (["none"], set()),
    ):
        runs = watch("wifi-to-lte", kinds=kinds)
        _, panels = shown_panels(runs, kinds, marks=marks)
        drawn = {one.draw for panel in panels for one in panel.curves} & EVENTS.keys()
        assert drawn - {"broken"} == expected
    table, out = tmp_path / "t.csv", str(tmp_path / "x.svg")
    words = ["plot", "wifi-to-lte", "--kind", "cwnd,sequence", "--out", out, "--csv", str(table)]
    assert main([*words, "--marks", "none"]) == 0
    assert {row["line"] for row in rows_of(table)} == {"sack", "pipe", "ssthresh"}
    assert main([*words, "--marks", "timeouts,retransmissions"]) == 0
    assert {row["line"] for row in rows_of(table)} >= {"timeout", "retransmission"}
    assert not {"lost: queue full"} & {row["line"] for row in rows_of(table)}
    capsys.readouterr()
    for wrong, kind in (("loss", "cwnd"), ("none,losses", "cwnd"), ("none", "both")):
        assert main(["plot", "wifi-to-lte", "--kind", kind, "--out", out, "--marks", wrong]) == 2
        assert "--marks" in capsys.readouterr().err


def test_a_figure_without_room_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "small.png"
    words = ["plot", "wifi-to-lte", "--kind", "throughput,queue", "--style", "paper"]
    assert main([*words, "--size", "3.5x1.5", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert not out.exists()
    found = re.search(r"give --size (\S+) or more", said)
    assert found is not None
    assert main([*words, "--size", found[1], "--out", str(out)]) == 0


def test_segments_behind_the_last_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(midflight.MidflightError, match="the last segment of the run is 2072"):
        plot_run("wifi-to-lte", tmp_path / "x.png", segments=(5000, 6000))


def test_an_svg_has_the_letters_that_it_needs(tmp_path: Path) -> None:
    texts = []
    for name in ("one.svg", "two.svg"):
        plot_over_time("wifi-to-lte", tmp_path / name, ["throughput"], look="paper")
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    assert "@font-face {font-family: 'STIXGeneral'" in texts[0]
    assert ">no link</text>" in texts[0]
    assert len(texts[0]) < 60_000


def test_a_dollar_sign_of_data_begins_no_mathematics() -> None:
    columns = {"gap": [1, 2, 1, 2], "price": ["$5", "$5", "$6", "$6"], "cost": [1.0, 2.0, 3.0, 4.0]}
    how: Any = {"x": "gap", "y": "cost", "by": ["price"]}
    figure = figure_of(plot_axis, columns, labels={"$6": r"six $\beta$"}, **how)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["Price:", r"\$5", r"six $\beta$"]


def test_losses_on_the_radio_are_beside_those_of_the_queue() -> None:
    runs = watch("lossy-wifi", kinds=["queue"])
    _, (panel,) = shown_panels(runs, ["queue"])
    (flow,) = runs[0].flows
    causes = Counter(flow.column("cause", "drop").astype(str))
    shown = {one.draw: len(one.time_s) for one in panel.curves if one.draw != "queue"}
    assert shown["radio"] == causes["radio"] > 0


def test_what_differs_between_the_runs_of_an_axis_is_written() -> None:
    def heads(
        kinds: Sequence[str] = ("throughput", "sequence"), **sources: dict[str, Any]
    ) -> list[str]:
        named = {name: Scenario.read("wifi-to-5g", sets=sets) for name, sets in sources.items()}
        figure = figure_of(plot_over_time, named, kinds)
        return [axes.get_title("right") for axes in figure.axes[1:]]

    _, sequence = heads(tcp={}, quic={"flows.download.stack": "quinn"})
    assert re.fullmatch(r"tcp: segments of 1448 bytes; quic: segments of \d+ bytes", sequence)


def test_a_run_has_the_path_of_its_own_source() -> None:
    """Also if the name of another one begins like its own, or is that of a scheme."""
    rates = {"1": "1 Mbit/s", "1, sack": "2 Mbit/s", "10": "3 Mbit/s"}
    named = {
        name: Scenario.read("wifi-to-5g", sets={"links.5g.rate": rate, "end": "2 s"})
        for name, rate in rates.items()
    }
    runs = watch(named, schemes=["sack", "enhanced"], kinds=["cwnd"])
    assert [one.scheme for one in runs] == [
        f"{a}, {b}" for a in named for b in ("sack", "enhanced")
    ]
    for number, rate in enumerate(rates.values()):
        for one in runs[2 * number : 2 * number + 2]:
            assert json.loads(one.path)["links"]["5g"]["rate"] == rate


def test_calls_have_their_own_deadlines() -> None:
    named = {
        text: Scenario.read("call-handoff", sets={"set.call_deadline": text})
        for text in ("100 ms", "250 ms")
    }
    runs = watch(named, kinds=["frames"])
    _, (panel,) = shown_panels(runs, ["frames"])
    found = {one.look: float(one.value[0]) for one in panel.curves if one.draw == "deadline"}
    assert found == {0: 100.0, 1: 250.0}


def test_labels_are_written_on_axes_of_names() -> None:
    columns = {"s": ["sack", "sack", "vho", "vho"], "g": [1, 2, 1, 2], "c": [1.0, 2.0, 3.0, 4.0]}
    how: Any = {"value": "c", "x": "g", "y": "s", "labels": {"sack": "CUBIC"}}
    (axes, *_) = figure_of(plot_spread, columns, "heatmap", **how).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["CUBIC", "vho"]
    how = {"value": "c", "x": "s", "labels": {"sack": "CUBIC"}}
    (axes,) = figure_of(plot_spread, columns, "box", **how).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["CUBIC", "vho"]


def test_a_legend_inside_keeps_the_order_of_the_lines() -> None:
    schemes = ["sack", "freeze", "enhanced"]
    how: Any = {"schemes": schemes, "legend": "inside"}
    how["size"] = (7, 5)
    legend = figure_of(plot_over_time, "ferry", ["throughput"], **how).axes[1].get_legend()
    words = [text.get_text() for text in legend.get_texts()] if legend else []
    assert [one.split(" (")[0] for one in words] == schemes


@pytest.mark.parametrize(
    "how", [{"ylim": (0, float("inf"))}, {"labels": {"sack": r"$\foo$"}}], ids=["ylim", "label"]
)
def test_values_that_cannot_be_drawn_are_refused(tmp_path: Path, how: dict[str, Any]) -> None:
    with pytest.raises(midflight.MidflightError, match=r"ylim 0:inf|cannot be typeset"):
        plot_over_time("wifi-to-lte", tmp_path / "x.png", ["throughput"], **how)
    assert not (tmp_path / "x.png").exists()


def test_results_that_did_not_finish_are_drawn_again(tmp_path: Path) -> None:
    columns = {"x": [1, 2], "s": ["a", "a"], "duration_ns": [1e9, None]}
    table = tmp_path / "map.csv"
    how: Any = {"x": "x", "y": "s", "value": "duration_ns", "csv": table}
    plot_spread(columns, tmp_path / "map.png", "heatmap", **how)
    assert "inf" in table.read_text()
    words = ["plot", str(table), "--kind", "cdf", "--value", "median"]
    assert main([*words, "--out", str(tmp_path / "cdf.png")]) == 0


def test_close_places_of_an_axis_stay_apart(tmp_path: Path) -> None:
    at = [1000001000.0, 1000002000.0, 1000003000.0, None]
    columns = {"handoffs.0.at_ns": at, "goodput_bps": [1e6, 2e6, 3e6, 4e6]}
    how: Any = {"x": "handoffs.0.at_ns", "y": "goodput_bps", "csv": tmp_path / "p.csv"}
    plot_axis(columns, tmp_path / "p.png", **how)
    assert len({row["handoffs.0.at_ns"] for row in rows_of(tmp_path / "p.csv")} - {""}) == 3


def test_a_figure_is_not_written_without_its_data(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        plot_over_time(
            "wifi-to-lte", tmp_path / "x.png", ["throughput"], csv=tmp_path / "file" / "x.csv"
        )
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize("kind", ["throughput", "sequence"])
def test_only_some_runs_of_an_axis_have_a_gap(tmp_path: Path, kind: str) -> None:
    words = ["plot", "wifi-to-lte", "--axis", "handoffs.0.gap=0s,2s", "--kind", kind]
    assert main([*words, "--marks", "none", "--out", str(tmp_path / "gaps.svg")]) == 0
    assert ">no link</text>" in (tmp_path / "gaps.svg").read_text()


def test_a_legend_inside_covers_no_marks_and_is_above_the_panels_without_room() -> None:
    schemes = ["sack", "vho-qs"]
    how: Any = {"schemes": schemes, "legend": "inside"}
    # Timeouts are in rows above all lines.
    roomy = figure_of(plot_over_time, "ferry", ["throughput"], size=(7, 4), **how)
    axes = next(one for one in roomy.axes if one.get_legend() is not None)
    box = axes.get_legend().get_window_extent()
    for line in axes.get_lines():
        if line.get_marker() in ("v", "|"):
            points = line.get_transform().transform(line.get_xydata())
            assert not any(box.contains(*one) for one in points)
    with pytest.warns(midflight.ScenarioWarning, match="the legend is above the panels"):
        full = figure_of(plot_over_time, "ferry", ["throughput"], size=(2.5, 2.5), **how)
    assert all(one.get_legend() is None for one in full.axes)
    (above,) = (one for one in full.legends if one.get_texts()[0].get_text().startswith("sack"))
    assert above.get_window_extent().y0 > full.axes[-1].get_window_extent().y1


def test_retransmissions_of_several_lines_are_one_mark_where_they_cover_each_other() -> None:
    how: Any = {"schemes": ["sack", "vho-qs"], "size": 3.5, "marks": ["retransmissions"]}
    figure = figure_of(plot_over_time, "wifi-to-lte", ["sequence"], **how)
    axes = figure.axes[-1]
    marks = [one for one in axes.get_lines() if one.get_marker() == "^" and len(one.get_xdata())]
    assert marks
    for one in marks:
        across = one.get_transform().transform(one.get_xydata())[:, 0] * 72 / figure.dpi
        assert (np.diff(np.sort(across)) > one.get_markersize()).all()
