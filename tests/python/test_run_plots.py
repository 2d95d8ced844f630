"""Figures of runs and sweeps agree with the runs; errors are one sentence."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import midflight
from midflight import Change, Flow, Handoff, Link, MidflightError, Plan, Scenario
from midflight.cli import main
from midflight.migration import MigrationRow
from midflight.plot import figure_of, plot_axis, plot_run
from midflight.plot.common.log_ticks import number_text
from midflight.plot.common.names import column_name
from midflight.plot.common.style import SERIES, size_in
from midflight.plot.over_time.history import History, Moment, flow_key, histories
from midflight.plot.over_time.run import run_figure, run_rows
from midflight.plot.results.axis import axis_data, axis_figure
from midflight.plot.results.migration import migration_figure
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
    """The drawn objects by their names in the legend."""
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
        # A step holds from its instant on; the log's functions need the previous value.
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


def test_the_rto_is_noted_when_it_changes() -> None:
    (one,) = histories(moving(profile="rfc"))
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
    # The flow has no end: it continues to the end of the run.
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
    # A panel names its flow if there are several.
    (panel,) = run_figure(runs[1:], kind="time-sequence").axes
    assert panel.get_title(loc="left") == "other-1, a1"
    (first,) = histories(moving())
    assert first.title == "download, sack"
    assert [one.title for one in histories("wifi-to-lte", schemes=["freeze"])] == ["freeze"]
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
    assert [0.45, 0.45] in [[*line.get_xdata()] for line in sequence.lines]
    assert {text.get_text() for text in sequence.texts} >= {"wifi lost", "to lte", "2 timeouts"}
    # These have their names above, and none in the legend.
    assert {"no link", "link in use"}.isdisjoint(drawn)
    (gap,) = (one for one in sequence.collections if isinstance(one, PolyCollection))
    (area,) = gap.get_paths()
    assert (area.get_extents().x0, area.get_extents().x1) == pytest.approx((0.15, 0.45))
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
    assert [left.get_title(loc="left"), right.get_title(loc="left")] == [
        "download, sack (CUBIC)",
        "download, freeze",
    ]
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
    columns = midflight.plot.results.tables.read_columns(folder, "duration_ns")
    data = axis_data(columns, x="handoffs.0.at", y="duration_ns", by=["flows.a.scheme"])
    assert data.x_title == "Instant of the handoff (ms)"
    assert data.y_title == "Transfer time (s)"
    assert data.lines_title == "Scheme of a"
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


def many_lines(lines: int, values: int, runs: int = 3) -> dict[str, list[Any]]:
    """Columns of a measurement of some schemes, a line each, over a numeric axis."""
    return {
        "links.a.rate": [f"{1 + k} Mbit/s" for _ in range(lines) for k in range(values)] * runs,
        "flows.a.scheme": [f"sender {n}" for n in range(lines) for _ in range(values)] * runs,
        "duration_ns": [
            (5 + n + 0.1 * k + 0.3 * run) * 1e9
            for run in range(runs)
            for n in range(lines)
            for k in range(values)
        ],
    }


@pytest.mark.parametrize(("lines", "values"), [(2, 5), (6, 5), (6, 41), (9, 41)])
def test_points_stand_near_their_number(lines: int, values: int) -> None:
    columns = many_lines(lines, values)
    data = axis_data(columns, x="links.a.rate", y="duration_ns", by=["flows.a.scheme"])
    (axes,) = axis_figure(data).axes
    for name, line in lines_of(axes).items():
        off = [abs(x - 1 - k) for k, x in enumerate(line.get_xdata())]
        assert max(off) <= (0.2 if values < 8 else 0), name
    # Whiskers are at their point; bands are where the points are.
    places = {x for line in lines_of(axes).values() for x in line.get_xdata()}
    bars = (bar for one in axes.containers for bar in one[2][0].get_segments())
    assert all(bar[0][0] == bar[1][0] in places for bar in bars)
    assert len(axes.containers if values < 8 else axes.collections) == lines
    for band in axes.collections if values >= 8 else []:
        assert {*band.get_paths()[0].vertices[:, 0]} == {1.0 + k for k in range(values)}


def test_points_over_names_stand_side_by_side() -> None:
    columns = many_lines(3, 2)
    (axes,) = axis_figure(
        axis_data(columns, x="flows.a.scheme", y="duration_ns", by=["links.a.rate"])
    ).axes
    left, right = (line.get_xdata() for line in lines_of(axes).values())
    assert all(a < round(a) + 0.5 and a < b < a + 0.5 for a, b in zip(left, right, strict=True))
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        "sender 0",
        "sender 1",
        "sender 2",
    ]


def test_one_number_is_a_name_and_zeros_are_seen() -> None:
    columns = many_lines(3, 1) | {"timeouts": [0] * 9}
    how: Any = {"x": "links.a.rate", "by": ["flows.a.scheme"]}
    data = axis_data(columns, y="timeouts", **how)
    assert list(data.categories or ()) == ["1 Mbit/s"]
    (axes,) = axis_figure(data).axes
    assert len({line.get_xdata()[0] for line in lines_of(axes).values()}) == 3
    assert axes.get_ylim()[0] == 0
    # Markers at 0 are whole.
    corner = axes.transAxes.inverted().transform(lines_of(axes)["sender 0"].get_clip_box().min)
    assert (corner < 0).all()
    (axes,) = axis_figure(axis_data(columns, y="duration_ns", **how)).axes
    assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize("values", [5, 20])
def test_a_single_value_has_no_quartiles(values: int) -> None:
    columns = many_lines(2, values, runs=1)
    data = axis_data(columns, x="links.a.rate", y="duration_ns", by=["flows.a.scheme"])
    (axes,) = axis_figure(data).axes
    assert len(axes.lines) == 2
    assert all(not one[2][0].get_segments() for one in axes.containers)
    assert not [one for one in axes.collections if one not in {c[2][0] for c in axes.containers}]


def test_nine_lines_differ_visibly() -> None:
    """By each of marker, line and colour; by the colour also by those who see fewer of them."""
    assert len(SERIES) == 9
    for look in ("colour", "line", "marker"):
        assert len({getattr(one, look) for one in SERIES}) == 9
    # What is seen without one of the three kinds of cones (Machado, Oliveira and Fernandes 2009).
    seen = {
        "all": np.eye(3),
        "red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        "green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        "blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    }
    for missing, matrix in seen.items():
        colours = [cie_lab(np.clip(np.array(matrix) @ linear(one.colour), 0, 1)) for one in SERIES]
        for a, one in enumerate(colours):
            assert 100 - one[0] > 25, "too light for white paper"
            for other in colours[:a]:
                assert np.linalg.norm(one - other) > 14, (missing, a)


def linear(colour: str) -> Any:
    """A colour's shares of light."""
    shares = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def cie_lab(light: Any) -> Any:
    """The place of a colour in CIE Lab, in which distances are as people see them."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.array(to_xyz) @ light / (0.9505, 1.0, 1.089)
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def read_legend(figure: Any) -> list[str]:
    """The names in the legend as one reads them: line by line, from the left."""
    figure.draw_without_rendering()
    texts = figure.legends[0].get_texts()
    boxes = [(one.get_window_extent(), one.get_text()) for one in texts]
    return [name for _, _, name in sorted((-round(box.y0), box.x0, name) for box, name in boxes)]


def test_the_legend_reads_in_the_order_of_the_lines() -> None:
    columns = many_lines(7, 3)
    how: Any = {"x": "links.a.rate", "y": "duration_ns", "by": ["flows.a.scheme"]}
    figure = axis_figure(axis_data(columns, **how))
    assert read_legend(figure) == [f"sender {n}" for n in range(7)]
    assert figure.legends[0].get_title().get_text() == "Scheme of a"
    rows = {round(one.get_window_extent().y0) for one in figure.legends[0].get_texts()}
    assert len(rows) == 2
    # Requested values have the order of the request.
    wanted = [f"sender {n}" for n in (5, 0, 3, 1, 6)]
    data = axis_data(columns, **how, where={"flows.a.scheme": wanted})
    assert [line.label for line in data.lines] == wanted
    assert read_legend(axis_figure(data)) == wanted
    names = axis_data(
        columns, x="flows.a.scheme", y="duration_ns", where={"flows.a.scheme": wanted}
    )
    assert list(names.categories or ()) == wanted


def test_where_with_several_values_keeps_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = many_lines(11, 3)
    how: Any = {"x": "links.a.rate", "y": "duration_ns", "by": ["flows.a.scheme"]}
    with pytest.raises(
        MidflightError, match="11 lines cannot be distinguished; a figure has up to 9"
    ):
        axis_data(columns, **how)
    kept = [f"sender {n}" for n in range(2, 11)]
    assert len(axis_data(columns, **how, where={"flows.a.scheme": kept}).lines) == 9
    with pytest.raises(MidflightError, match=r"--where flows\.a\.scheme=x: no row has"):
        axis_data(columns, **how, where={"flows.a.scheme": ["sender 1", "x"]})
    table = tmp_path / "t.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    words = ["plot", str(table), "--x", "links.a.rate", "--y", "duration_ns"]
    words += ["--by", "flows.a.scheme"]
    one, two = tmp_path / "1.svg", tmp_path / "2.svg"
    wanted = [
        word for name in ("sender 4", "sender 2") for word in ("--where", f"flows.a.scheme={name}")
    ]
    assert main([*words, *wanted, "--out", str(one)]) == 0, capsys.readouterr().err
    where = {"flows.a.scheme": ["sender 4", "sender 2"]}
    assert one.read_bytes() == plot_axis(table, two, **how, where=where).read_bytes()


def test_a_line_that_stands_alone_says_what_it_is() -> None:
    columns = many_lines(3, 4)
    count = len(columns["duration_ns"])
    columns |= {"flow": ["a"] * count, "seed": [str(1 + n // 12) for n in range(count)]}
    how: Any = {"x": "links.a.rate", "y": "duration_ns"}
    for where, expected in (
        ({"flows.a.scheme": "sender 1"}, "Scheme of a: sender 1"),
        (
            {"flows.a.scheme": ["sender 1", "sender 2"], "seed": "2"},
            "Scheme of a: sender 1 or sender 2; seed: 2",
        ),
        ({}, ""),
    ):
        data = axis_data(columns, **how, where=where)
        assert ([line.label for line in data.lines], data.remark) == (["a"], expected)
        # "Rate of a" names the flow, too.
        assert not axis_figure(data).legends


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("handoffs.0.gap", "Gap of the handoff"),
        ("handoffs.2.at", "Instant of handoff 3"),
        ("handoffs.*.notice.delay", "Delay of the notice of all handoffs"),
        ("links.lte.rate", "Rate of lte"),
        ("links.*.up.rate", "Uplink rate of all links"),
        ("links.new.preset", "Preset of new"),
        ("flows.download.scheme", "Scheme of download"),
        ("flows.*.set.a1_trigger", "a1_trigger of all flows"),
        ("set.min_rto", "min_rto"),
        ("seed", "Seed"),
        ("all_new_ns", "Time until the counted new packets are acknowledged"),
        ("spurious_timeouts", "Spurious timeouts"),
        ("my_own_bps", "My own"),
        ("handoffs.0.gap_ns", "Gap of the handoff"),
        ("links.lte.up.rate_bps", "Uplink rate of lte"),
        ("my.own", "my.own"),
    ],
)
def test_columns_have_names_for_readers(column: str, expected: str) -> None:
    assert column_name(column) == expected


def test_every_column_of_results_has_a_name_of_its_own() -> None:
    outcome = moving().run()
    columns = dict.fromkeys([*outcome.flows.column_names, *outcome.phases.column_names])
    names = [column_name(one) for one in columns]
    assert len(set(names)) == len(names)
    assert all(name[0].isupper() and "_" not in name for name in names)


def test_titles_and_sizes_are_as_asked(tmp_path: Path) -> None:
    for size, expected in (
        (None, (4.0, 3.0)),
        ("single", (3.5, 3.0)),
        ("double", (7.16, 3.0)),
        ("5.5", (5.5, 3.0)),
        ("5 in", (5.0, 3.0)),
        ("5x2 in", (5.0, 2.0)),
        (6, (6.0, 3.0)),
        ((6.0, 2.5), (6.0, 2.5)),
    ):
        assert size_in(size, (4.0, 3.0)) == expected
    texts: Any = {"title": "A title", "xlabel": "Rate", "ylabel": "Time", "size": "single"}
    how: Any = {"x": "links.a.rate", "y": "duration_ns", "by": ["flows.a.scheme"]}
    figure = figure_of(plot_axis, many_lines(3, 3), **how, **texts)
    (axes,) = figure.axes
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("A title", "Rate", "Time")
    assert figure.get_size_inches()[0] == 3.5
    run = run_figure(histories(moving()), title="A run", size=(6.0, 5.0))
    assert run.get_suptitle() == "A run"
    assert list(run.get_size_inches()) == [6.0, 5.0]
    words = ["--title", "A title", "--xlabel", "Rate", "--ylabel", "Time", "--size", "single"]
    folder, args = swept(tmp_path), ["--x", "handoffs.0.at", "--y", "sent"]
    one, two = tmp_path / "1.svg", tmp_path / "2.svg"
    assert main(["plot", str(folder), *args, *words, "--out", str(one)]) == 0
    plot_axis(folder, two, x="handoffs.0.at", y="sent", **texts)
    assert one.read_bytes() == two.read_bytes()
    words = ["--title", "A title", "--size", "6x5", "--kind", "window"]
    assert main(["plot", "wifi-to-lte", *words, "--out", str(one)]) == 0
    plot_run("wifi-to-lte", two, kind="window", title="A title", size=(6.0, 5.0))
    assert one.read_bytes() == two.read_bytes()


def test_a_profile_is_given_by_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def drawn(*words: str) -> bytes:
        out = tmp_path / "run.svg"
        assert main(["plot", "wifi-to-lte", *words, "--out", str(out)]) == 0
        return out.read_bytes()

    short = drawn("--profile", "rfc")
    assert short == drawn("--set", "profile=rfc")
    assert short != drawn()
    capsys.readouterr()
    args = ["--x", "handoffs.0.at", "--y", "sent", "--profile", "linux"]
    assert main(["plot", str(swept(tmp_path)), *args, "--out", str(tmp_path / "a.svg")]) == 2
    assert "and --profile is for a scenario" in capsys.readouterr().err


def test_shapes_of_a_figure_mean_one_thing() -> None:
    (one,) = histories(moving(), schemes=["enhanced"])
    figure = run_figure([one])
    markers = {}
    for axes in figure.axes:
        for name, line in lines_of(axes).items():
            marker = getattr(line, "get_marker", lambda: "None")()
            if marker != "None":
                markers[name.removesuffix(", spurious")] = marker
    assert len(set(markers.values())) == len(markers) > 5


def test_settings_without_effect_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["plot", "wifi-to-lte", "--set", "set.a1_trigger=delay", "--kind", "window"]
    args += ["--out", str(tmp_path / "a.svg")]
    told = "note: a1_trigger has no effect: no scheme of this run has a1"
    assert main(args) == 0
    assert told in capsys.readouterr().err
    assert main([*args, "--scheme", "sack", "--scheme", "freeze"]) == 0
    assert told in capsys.readouterr().err
    assert main([*args, "--scheme", "sack", "--scheme", "enhanced"]) == 0
    assert "no effect" not in capsys.readouterr().err


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
    # A table of your own runs works too: its flows are distinguished.
    table = moving(runs=2).run().flows
    assert plot_axis(table, tmp_path / "b.png", x="run", y="goodput_bps").stat().st_size > 5000
    columns = {name: table.column(name) for name in table.column_names}
    assert len(axis_data(columns, x="run", y="goodput_bps").lines) == 3


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["run", "wifi-to-lte", "--plot", "x.gif"], '"x.gif" is not the name of a figure; it may'),
        (["run", "wifi-to-lte", "--plot", "x.html"], "it may end in .png, .svg, .pdf or .pgf"),
        (["run", "wifi-to-lte", "--plot", "/proc/x.png"], 'cannot write "/proc/x.png"'),
        (["plot", "wifi-to-lte", "--out", "x"], "it may end in .png, .svg, .pdf, .pgf or .html"),
        (["plot", "nothing", "--out", "x.png"], 'there is no file "nothing"'),
        (["plot", "wifi-to-lte", "--kind", "x", "--out", "x.png"], "there are time-sequence, win"),
        (["plot", "wifi-to-lte", "--kind", "both", "--out", "x.html"], "--kind is for figures"),
        (["plot", "wifi-to-lte", "--size", "5", "--out", "x.html"], "--size is for figures"),
        (["plot", "wifi-to-lte", "--scheme", "x", "--out", "x.png"], 'there is no scheme "x"'),
        (["plot", "wifi-to-lte", "--flow", "x", "--out", "x.png"], 'no flow "x"'),
        (["plot", "wifi-to-lte", "--run", "-1", "--out", "x.png"], '--run "-1" is not a whole'),
        (["plot", "wifi-to-lte", "--from", "9 s", "--out", "x.png"], "from 9 s on there is"),
        (
            ["plot", "wifi-to-lte", "--from", "2 s", "--until", "1 s", "--out", "x.png"],
            "--from 2 s is not before --until 1 s",
        ),
        (
            ["plot", "wifi-to-lte", "--from", "2 s", "--until", "1 s", "--out", "x.html"],
            "--from 2 s is not before --until 1 s",
        ),
        (["plot", "wifi-to-lte", "--from", "9 s", "--out", "x.html"], "from 9 s on there is"),
        (["plot", "../a.pdf", "--out", "x.png"], "is not a scenario in TOML, and cannot be drawn;"),
        (["plot", "../a.html", "--out", "x.png"], "the name of a starter, a folder of results, or"),
        (
            ["plot", "../bytes.csv", "--x", "a", "--y", "b", "--out", "x.png"],
            '"../bytes.csv" is not a table in CSV, in UTF-8',
        ),
        (
            ["plot", "wifi-to-lte", "--size", "a4", "--out", "x.png"],
            '"a4" is not a size of a figure',
        ),
        (
            ["plot", "wifi-to-lte", "--size", "5x", "--out", "x.png"],
            '"5x" is not a size of a figure',
        ),
        (["plot", "wifi-to-lte", "--size", "90", "--out", "x.png"], "inches from 1.5 to 40"),
        (
            ["plot", "DIR", "--x", "run", "--y", "sent", "--size", "nan", "--out", "x.png"],
            '"nan" is not a size of a figure',
        ),
        (
            ["plot", "wifi-to-lte", "--xlim", "0:1", "--out", "x.png"],
            "--xlim is for a folder of results",
        ),
        (["plot", "wifi-to-lte", "--until", "x", "--out", "x.png"], '--until: time "x" does not'),
        (["plot", "wifi-to-lte", "--segments", "9:3", "--out", "x.png"], '--segments "9:3"'),
        (["plot", "wifi-to-lte", "--x", "run", "--out", "x.png"], "--x is for a folder of results"),
        (
            ["plot", "none", "--x", "run", "--out", "x.png"],
            'there is no folder and no table "none"',
        ),
        (["plot", "DIR", "--out", "x.png"], "give --x, the axis, and --y"),
        (["plot", "DIR", "--out", "x.html"], "it may end in .png, .svg, .pdf or .pgf"),
        (["plot", "DIR", "--flow", "a", "--out", "x.png"], "--flow is for a scenario"),
        (
            ["plot", "DIR", "--x", "a", "--y", "sent", "--out", "x.png"],
            '--x: there is no column "a"',
        ),
        (
            ["plot", "DIR", "--x", "run", "--y", "b", "--out", "x.png"],
            '--y or --value: there is no column "b"',
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
        (
            ["plot", ".", "--x", "run", "--y", "sent", "--out", "x.png"],
            "is not a folder of results",
        ),
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
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n\xe2\xe3")
    (tmp_path / "a.html").write_text("<!DOCTYPE html>")
    (tmp_path / "bytes.csv").write_bytes(b"a,b\n\xff,1\n")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert main([str(folder) if one == "DIR" else one for one in args]) == 2
    said = capsys.readouterr()
    assert expected in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert list(here.iterdir()) == []


def test_fonts_are_those_that_publishers_take(tmp_path: Path) -> None:
    pdf, svg = (plot_run("wifi-to-lte", tmp_path / f"run{end}") for end in (".pdf", ".svg"))
    assert b"/Type3" not in pdf.read_bytes()
    assert b"/TrueType" in pdf.read_bytes() or b"/CIDFontType2" in pdf.read_bytes()
    text = svg.read_text()
    assert "<text" in text
    assert ">Time (s)</text>" in text


def test_hundreds_of_changes_are_one_band() -> None:
    from midflight.plot.over_time.run import run_figure

    values = {"changes": '[{at = "0.1 s : 20 s : 0.05 s", link = "lte", delay = "20 ms"}]'}
    values |= {"start": "lte", "handoffs": "[]", "flows.download.size": "unlimited"}
    values |= {"links.lte.rate": "500 kbit/s"}
    runs = histories(Scenario.read("wifi-to-lte", sets=values).plan())
    assert len(runs[0].moments) > 300
    figure = run_figure(runs)
    (top, *_) = figure.axes
    names = [one.get_text() for one in top.texts]
    assert len([one for one in names if "handoffs or changes" in one]) == 1
    assert all(len(axes.lines) + len(axes.patches) < 40 for axes in figure.axes)


def test_window_probes_are_no_retransmissions() -> None:
    (run,) = histories("wifi-to-lte", schemes=["freeze"])
    assert len(run.rows("window_probe")) > 0
    figure = run_figure([run])
    marks = {line.get_label(): line for line in figure.axes[0].lines}
    assert list(marks["window probe"].get_ydata()) == list(run.values("window_probe"))
    assert list(marks["retransmission"].get_ydata()) == list(run.values("rexmit"))
    lines = [row[2] for row in run_rows([run])]
    assert lines.count("window probe") == len(run.rows("window_probe"))
    # A sender that never probes has no entry in the legend.
    (plain,) = histories("wifi-to-lte", schemes=["sack"])
    words = [text.get_text() for text in run_figure([plain]).legends[0].get_texts()]
    assert "window probe" not in words


def test_a_stack_without_a_timer_has_no_rto_in_the_legend() -> None:
    (run,) = histories("wifi-to-lte", schemes=["sack"])

    class Silent(History):
        def __init__(self) -> None:
            self.__dict__ |= vars(run)
            self._rows = {name: rows for name, rows in run._rows.items() if name != "rto_value"}

    figure = run_figure([Silent()], kind="window")
    assert "RTO" not in [text.get_text() for text in figure.legends[0].get_texts()]
    assert figure.axes[-1].get_ylabel() == "RTT (s)"


def test_axes_of_migrations_have_plain_numbers() -> None:
    rows = [
        MigrationRow("quinn", "row", "LTE to Starlink", kind, 0.3, 4.0, 0.1, 0, 0, 1.0)
        for kind in ("MBB", "BBM")
    ]
    text = migration_figure(rows, ".svg").decode()
    shown = re.findall(r">([^<>]+)</text>", text)
    assert {"0.5", "1", "2"} <= set(shown)
    assert {"LTE to Starlink, make before break", "LTE to Starlink, break before make"} <= set(
        shown
    )
    # Neither powers of ten nor numbers of minor ticks.
    assert "10" not in shown
    assert all("times" not in one and "mathdefault" not in one for one in shown)


def test_the_axis_of_windows_leaves_out_a_short_peak() -> None:
    def window_of(source: str) -> tuple[Any, float]:
        axes = figure_of(plot_run, source, kind="window").axes[0]
        (one,) = histories(source)
        return axes, float(max(one.steps("cwnd").value.max(), one.flight.value.max()))

    axes, most = window_of("starlink-to-lte")
    assert axes.get_ylim()[1] < 0.7 * most
    assert axes.get_ylim()[1] > lines_of(axes)["cwnd"].get_ydata().max()
    assert [one.get_text() for one in axes.texts if "segments" in one.get_text()] == [
        f"{float(f'{most:.3g}'):,.0f} segments"
    ]
    # A peak that is a visible part of a short run is no outlier.
    axes, most = window_of("wifi-to-lte")
    assert axes.get_ylim()[1] == pytest.approx(1.1 * most)
    assert not [one for one in axes.texts if "segments" in one.get_text()]


def test_numbers_at_linear_axes_have_separators() -> None:
    for how in ({}, {"font": "latex"}):
        figure = figure_of(plot_run, "starlink-to-lte", kind="time-sequence", **how)
        axis = figure.axes[0].yaxis
        (text,) = [axis.get_major_formatter()(400_000.0, 0)]
        assert text.replace("{,}", ",").strip("$").removeprefix("\\mathdefault{").rstrip("}") == (
            "400,000"
        )
    assert [number_text(one) for one in (0.25, 300.0, 2e3, 1.6e6, 1234.5)] == [
        *("0.25", "300", "2,000", "1,600,000", "1234.5")
    ]
