"""Pictures of runs and sweeps show what the runs did; mistakes are told in one sentence."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import midflight
from midflight import Change, Flow, Handoff, Link, MidflightError, Plan, Scenario
from midflight.cli import main
from midflight.plot import plot_axis, plot_run
from midflight.plot.axis import axis_data, axis_figure
from midflight.plot.history import Moment, flow_key, histories
from midflight.plot.run import run_figure
from midflight.results import EventLog


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def moving(**more: Any) -> Scenario:
    return Scenario(
        links={"wifi": Link(preset="wifi"), "lte": Link(preset="lte")},
        flows={"download": Flow(scheme="sack", size="1 MB"), "other": Flow(size="200 kB", count=2)},
        handoffs=[Handoff(at="0.15 s", to="lte", gap="300 ms")],
        end="20 s",
        **more,
    )


def lines_of(axes: Any) -> dict[str, Any]:
    """What is drawn by its name in the legend."""
    handles, labels = axes.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def test_a_history_is_what_the_trace_says() -> None:
    table = moving().trace()
    (one,) = histories(moving())
    log = EventLog.from_table(table)
    assert one.label == "sack"
    assert one.digest == table.digest
    assert len(one) == len(table)
    for at in (0.05, 0.149, 0.2, 0.9, 1.2):
        # A step holds from its instant on; the log's functions ask for what was before.
        assert one.flight.at(int(at * 1e9)) == log.flight_size(at + 1e-9)
        assert one.steps("cwnd").at(int(at * 1e9)) == log.last("cwnd", at + 1e-9)
    assert len(one.lost) == len(log.dropped()) > 0
    times, segments, why = one.lost_segments()
    assert list(times) == list(log.dropped().time_ns)
    assert list(segments) == list(log.dropped().value)
    assert set(why) == {"wifi-mobile break"} | {w for w in why if w.endswith(" queue")}
    assert one.moments == [
        Moment(150_000_000, "break", "wifi lost"),
        Moment(450_000_000, "make", "to lte"),
        Moment(450_000_000, "notice", "notice"),
    ]


def test_the_rto_is_told_when_it_changes() -> None:
    (one,) = histories(moving())
    rto = one.steps("rto_value")
    assert rto.time_ns[0] == 0
    assert rto.value[0] == 1.0
    assert np.all(np.diff(rto.value) != 0)
    first = int(one.times("rto")[0])
    # RFC 6298 (5.5): the timer backs off to twice what it was when it expires.
    assert rto.at(first) == 2 * rto.at(first - 1)
    # Whatever it is, it expires that much after something restarted it.
    restarts = np.concatenate([one.times("send"), one.times("ack"), one.times("rexmit")])
    assert first - round(1e9 * rto.at(first - 1)) in restarts


def test_names_of_what_happens_to_the_path() -> None:
    one = Scenario(
        links={name: Link(rate="20 Mbit/s", delay="20 ms") for name in "ab"},
        flows={"bulk": Flow(scheme="enhanced")},
        handoffs=[
            Handoff(at="1 s : 3 s : 1 s", to=["b", "a"]),
            Handoff(at="3.5 s", to="b", gap="100 ms"),
            Handoff(at="4 s", to="b", gap="100 ms"),
        ],
        changes=[
            Change(at="4.5 s", link="b", pause="50 ms", rate="5 Mbit/s", notice=midflight.Notice())
        ],
        end="5 s",
    )
    (found,) = histories(one)
    assert [(m.time_ns / 1e9, m.kind, m.label) for m in found.moments if m.kind != "notice"] == [
        (1.0, "make", "to b"),
        (2.0, "make", "to a"),
        (3.0, "make", "to b"),
        (3.5, "break", "b lost"),
        (3.6, "make", "b is back"),
        (4.0, "break", "b lost"),
        (4.1, "make", "b is back"),
        (4.5, "break", "b pauses"),
        (4.55, "make", "b changes"),
    ]
    assert sum(m.kind == "notice" for m in found.moments) == 6
    # The flow has no end: it goes on to that of the run.
    assert found.end_ns == 5_000_000_000
    assert all(order.author and order.reason for order in found.orders)
    assert found.orders


def test_flows_by_their_names() -> None:
    flows = {"a": 1, "a-1": 2}
    assert flow_key(flows, None) is None
    assert flow_key(flows, "a-1") == "a-1"
    assert flow_key(flows, "a-1-12") == "a-1"
    assert flow_key(flows, "a-7") == "a"
    assert flow_key(flows, "b-1") is None
    runs = histories(moving(), flow="other-1", schemes=["sack", "a1", "sack"])
    assert [one.label for one in runs] == ["sack", "a1"]
    assert runs[0].digest == histories(moving(), flow="other-1")[0].digest
    with pytest.raises(MidflightError, match='no flow "x"'):
        histories(moving(), flow="x")


def test_the_figure_of_a_run_has_its_packets() -> None:
    (one,) = histories(moving())
    figure = run_figure([one])
    sequence, window, timer = figure.axes
    drawn = lines_of(sequence)
    for name, event in (("new segment", "send"), ("ACK", "ack"), ("retransmission", "rexmit")):
        assert list(drawn[name].get_ydata()) == list(one.values(event)), name
        assert list(drawn[name].get_xdata()) == list(one.times(event) / 1e9), name
    assert len(drawn["lost"].get_xdata()) == len(one.lost)
    assert drawn["link in use"].get_xdata() == [0.45, 0.45]
    assert {text.get_text() for text in sequence.texts} >= {"wifi lost", "to lte", "RTO"}
    band = drawn["no link"].get_window_extent()
    left, right = sequence.transData.inverted().transform([(band.x0, 0), (band.x1, 0)])[:, 0]
    assert (left, right) == (pytest.approx(0.15), pytest.approx(0.45))
    cwnd = lines_of(window)["cwnd"]
    # The last value is held to the end of the flow.
    assert list(cwnd.get_ydata())[:-1] == list(one.values("cwnd"))
    assert cwnd.get_xdata()[-1] == one.end_ns / 1e9
    assert list(lines_of(timer)["RTO"].get_ydata())[:-1] == list(one.values("rto_value"))
    assert len(lines_of(timer)["RTT sample"].get_xdata()) == len(one.times("rtt_sample"))
    assert len(lines_of(timer)["timeout"].get_xdata()) == len(one.times("rto")) > 0


def test_schemes_stand_side_by_side() -> None:
    runs = histories(moving(), schemes=["sack", "freeze"])
    figure = run_figure(runs, kind="time-sequence", from_s=0.1, until_s=2.0, segments=(50, 300))
    left, right = figure.axes
    assert [left.get_title(loc="left"), right.get_title(loc="left")] == ["sack", "freeze"]
    assert left.get_xlim() == right.get_xlim() == (0.1, 2.0)
    assert left.get_ylim() == right.get_ylim() == (40.0, 310.0)
    sent = [lines_of(axes)["new segment"].get_ydata() for axes in (left, right)]
    assert list(sent[0]) != list(sent[1])
    assert "retransmission" in lines_of(left)
    assert len(run_figure(runs, kind="window").axes) == 4
    many = [*runs, *runs, *runs]
    with pytest.raises(MidflightError, match="6 runs do not fit side by side; give 1 to 4"):
        run_figure(many)


def test_a_million_events_are_thinned_to_what_can_be_seen(tmp_path: Path) -> None:
    text = """
    end = "120 s"
    [links]
    fast.rate = "100 Mbit/s"
    fast.delay = "20 ms"
    [flows.bulk]
    """
    (one,) = histories(Plan(text))
    assert len(one.rows("send", "ack")) > 900_000
    figure = run_figure([one])
    sequence, window, _ = figure.axes
    dots = lines_of(sequence)["new segment"]
    assert 500 < len(dots.get_xdata()) < 20_000
    assert max(dots.get_ydata()) > 0.999 * max(one.values("send"))
    # The greatest window stays, however few of the steps do.
    steps = lines_of(window)["cwnd"]
    assert max(steps.get_ydata()) == max(one.values("cwnd"))
    assert len(steps.get_xdata()) < 6_000
    for name in ("long.svg", "long.pdf"):
        assert plot_run(Plan(text), tmp_path / name).stat().st_size < 1_500_000


def test_files_are_of_their_kind_and_the_same_twice(tmp_path: Path) -> None:
    heads = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for suffix, head in heads.items():
        first, second = (tmp_path / f"{number}{suffix}" for number in (1, 2))
        plot_run("wifi-to-lte", first, kind="window")
        plot_run("wifi-to-lte", second, kind="window")
        assert first.read_bytes().startswith(head)
        assert first.read_bytes() == second.read_bytes()


def test_run_draws_what_plot_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, three = (tmp_path / f"{name}.svg" for name in "abc")
    assert main(["run", "wifi-to-lte", "--plot", str(one)]) == 0
    assert "download" in capsys.readouterr().out
    assert main(["plot", "wifi-to-lte", "--out", str(two)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert str(two) in said.err
    assert one.read_bytes() == two.read_bytes()
    args = ["plot", "wifi-to-lte", "--set", "flows.download.scheme=freeze", "--out", str(three)]
    assert main(args) == 0
    assert three.read_bytes() != two.read_bytes()


def swept(tmp_path: Path) -> Path:
    """A folder of results: two schemes at three instants with five runs; one never finishes."""
    folder = tmp_path / "swept"
    folder.mkdir()
    with (folder / "flows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["flows.a.scheme", "handoffs.0.at", "run", "flow", "duration_ns", "sent"])
        for scheme, slower in (("sack", 2), ("a1", 1)):
            for at in ("100 ms", "0.2 s", "300 ms"):
                for run in range(5):
                    ns = slower * (10 + run) * 100_000_000
                    missing = (scheme, at, run) == ("sack", "300 ms", 4)
                    writer.writerow([scheme, at, run, "a", "" if missing else ns, 100 + run])
    return folder


def test_quartiles_over_an_axis(tmp_path: Path) -> None:
    folder = swept(tmp_path)
    columns = midflight.plot.axis.read_columns(folder, "duration_ns")
    data = axis_data(columns, x="handoffs.0.at", y="duration_ns", by=["flows.a.scheme"])
    assert data.x_title == "handoffs.0.at (ms)"
    assert data.y_title == "Duration (s)"
    sack, a1 = data.lines
    assert (sack.label, sack.x) == ("sack", [100.0, 200.0, 300.0])
    assert sack.points[0] == (pytest.approx(2.2), pytest.approx(2.4), pytest.approx(2.6))
    assert a1.points[0] == (pytest.approx(1.1), pytest.approx(1.2), pytest.approx(1.3))
    # What never finishes is slower than what does, and does not drop out.
    assert sack.missing == [0, 0, 1]
    assert sack.points[2].median == pytest.approx(2.4)
    axes = axis_figure(data).axes[0]
    drawn = lines_of(axes)
    assert list(drawn) == ["sack", "a1"]
    assert list(drawn["a1"].get_ydata()) == [pytest.approx(1.2)] * 3
    one = axis_data(
        columns, x="flows.a.scheme", y="sent", where={"handoffs.0.at": "0.2 s", "run": "3"}
    )
    assert list(one.categories or ()) == ["sack", "a1"]
    assert [point.median for point in one.lines[0].points] == [103.0, 103.0]
    assert one.lines[0].runs == [1, 1]


def test_bands_where_there_are_many_values() -> None:
    columns = {"x": list(range(20)) * 4, "v_bps": [1e6 * (k // 20) for k in range(80)]}
    data = axis_data(columns, x="x", y="v_bps")
    assert data.y_title == "V (Mbit/s)"
    assert data.lines[0].points[7] == (0.75, 1.5, 2.25)
    axes = axis_figure(data).axes[0]
    assert len(axes.collections) == 1
    assert axis_figure(axis_data(columns, x="v_bps", y="x")).axes[0].collections


def test_a_real_sweep_is_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    axes = ["--axis", "flows.download.scheme=sack,freeze", "--axis", "seed=1,2,3"]
    lossy = ["--set", "links.lte.loss=uniform 1%"]
    assert main(["sweep", "wifi-to-lte", *axes, *lossy, "--out", str(folder)]) == 0
    for y, more in (("duration_ns", []), ("all_new_ns", ["--where", "phase=1"])):
        out = tmp_path / f"{y}.svg"
        args = ["--x", "flows.download.scheme", "--y", y, *more, "--out", str(out)]
        assert main(["plot", str(folder), *args]) == 0
        assert out.stat().st_size > 5000
    path = plot_axis(folder / "flows.csv", tmp_path / "a.png", x="seed", y="sent", by=["scheme"])
    assert path.read_bytes().startswith(b"\x89PNG")
    # A table of one's own runs is as good: its flows are told apart.
    table = moving(runs=2).run().flows
    assert plot_axis(table, tmp_path / "b.png", x="run", y="goodput_bps").stat().st_size > 5000
    columns = {name: table.column(name) for name in table.column_names}
    assert len(axis_data(columns, x="run", y="goodput_bps").lines) == 3


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["run", "wifi-to-lte", "--plot", "x.gif"], '"x.gif" is not the name of a figure; it may'),
        (["run", "wifi-to-lte", "--plot", "x.html"], "it may end in .png, .svg or .pdf"),
        (["run", "wifi-to-lte", "--plot", "/proc/x.png"], 'cannot write "/proc/x.png"'),
        (["plot", "wifi-to-lte", "--out", "x"], "it may end in .png, .svg, .pdf or .html"),
        (["plot", "nothing", "--out", "x.png"], 'there is no file "nothing"'),
        (["plot", "wifi-to-lte", "--kind", "x", "--out", "x.png"], "there are time-sequence, win"),
        (["plot", "wifi-to-lte", "--kind", "both", "--out", "x.html"], "a page shows both"),
        (["plot", "wifi-to-lte", "--scheme", "x", "--out", "x.png"], 'there is no scheme "x"'),
        (["plot", "wifi-to-lte", "--flow", "x", "--out", "x.png"], 'no flow "x"'),
        (["plot", "wifi-to-lte", "--run", "-1", "--out", "x.png"], '--run "-1" is not a whole'),
        (["plot", "wifi-to-lte", "--from", "9 s", "--out", "x.png"], "from 9 s until"),
        (["plot", "wifi-to-lte", "--until", "x", "--out", "x.png"], '--until: time "x" does not'),
        (["plot", "wifi-to-lte", "--segments", "9:3", "--out", "x.png"], '--segments "9:3"'),
        (["plot", "wifi-to-lte", "--x", "run", "--out", "x.png"], "--x is for a folder of results"),
        (
            ["plot", "none", "--x", "run", "--out", "x.png"],
            'there is no folder and no table "none"',
        ),
        (["plot", "DIR", "--out", "x.png"], "give --x, the axis, and --y"),
        (["plot", "DIR", "--out", "x.html"], "it may end in .png, .svg or .pdf"),
        (["plot", "DIR", "--flow", "a", "--out", "x.png"], "--flow is for a scenario"),
        (
            ["plot", "DIR", "--x", "a", "--y", "sent", "--out", "x.png"],
            '--x: there is no column "a"',
        ),
        (
            ["plot", "DIR", "--x", "run", "--y", "b", "--out", "x.png"],
            '--y: there is no column "b"',
        ),
        (["plot", "DIR", "--x", "run", "--y", "flow", "--out", "x.png"], '"flow" has no numbers'),
        (
            ["plot", "DIR", "--x", "run", "--y", "sent", "--where", "run=9", "--out", "x.png"],
            '--where run=9: no row has that; "run" is 0, 1, 2, 3, 4',
        ),
        (
            ["plot", "DIR", "--x", "run", "--y", "sent", "--where", "run", "--out", "x.png"],
            '--where "run" is not column=value',
        ),
        (["plot", ".", "--x", "run", "--y", "sent", "--out", "x.png"], "is no folder of results"),
    ],
)
def test_mistakes_are_one_sentence(
    args: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = swept(tmp_path)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert main([str(folder) if one == "DIR" else one for one in args]) == 2
    said = capsys.readouterr()
    assert expected in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert list(here.iterdir()) == []
