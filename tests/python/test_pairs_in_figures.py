"""What figures of comparisons say of places without pairs, with few of them, and with intervals
that are far longer than the others.
"""

from __future__ import annotations

import base64
import csv
import math
import re
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.common.coincide import widths_of_joined
from midflight.plot.common.line_looks import line_looks
from midflight.plot.common.place_scale import LINEAR, LOG
from midflight.plot.common.style import SERIES
from midflight.plot.results import panels, tables
from midflight.plot.results.axis import axis_data, lines_name
from midflight.plot.results.compared import usual_ends
from midflight.plot.results.dodge import ASIDE, beside, dodge, has_seen, whiskers_of
from midflight.plot.results.spans import Span, draw_span
from midflight.plot.results.spread import spread_of
from midflight.plot.results.tables import read_columns
from midflight.plot.usual import after_handoff
from midflight.results import ratio_ci
from midflight.sweep import Sweep
from midflight.sweep_report import sweep_figures
from midflight.sweep_summary import Summary
from test_over_time import rows_of

DELAY, GAP = "links.lte.delay", "handoffs.0.gap"
SCHEME, AT = "flows.download.scheme", "handoffs.0.at"
GAPS, DELAYS, SCHEMES = ("1s", "2s", "4s", "6s"), ("10ms", "40ms", "160ms"), ("enhanced", "freeze")
Point = tuple[str, str, str]


def compared(
    pairs: dict[Point, int],
    far: dict[Point, tuple[float, float]] | None = None,
    metric: str = "duration_ns",
    early: bool = False,
) -> dict[str, list[Any]]:
    """A comparison at all gaps and delays with 4 pairs, or these."""
    points = [(scheme, delay, gap) for scheme in SCHEMES for gap in GAPS for delay in DELAYS]
    count = [pairs.get(one, 4) for one in points]
    ends = [(far or {}).get(one, (-0.3, -0.1)) for one in points]
    lost = [0 if early else 4 - one for one in count]
    return {
        "flow": ["download"] * len(points),
        GAP: [gap for _, _, gap in points],
        DELAY: [delay for _, delay, _ in points],
        "metric": [metric] * len(points),
        "compared": ["flows.download.scheme"] * len(points),
        "value": [scheme for scheme, _, _ in points],
        "baseline": ["sack"] * len(points),
        "pairs": count,
        "left_out": lost,
        "done_before": [4 - one if early else 0 for one in count],
        "over": ["runs"] * len(points),
        "samples": count,
        "ratio": [-0.2 if one else None for one in count],
        "ratio_low": [low if one else None for (low, _), one in zip(ends, count, strict=True)],
        "ratio_high": [high if one else None for (_, high), one in zip(ends, count, strict=True)],
    }


@pytest.fixture(autouse=True)
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six lines in one panel, as the tests are of what is said of lines, and of one axis."""
    monkeypatch.setattr(panels, "MOST_CHANGES", 6)


def interval(columns: dict[str, list[Any]], **how: Any) -> Any:
    how = {"x": GAP, "value": "ratio", "by": ["value", DELAY], **how}
    (axes,) = figure_of(plot_spread, columns, "interval", **how).axes
    return axes


def said_in(axes: Any) -> str:
    return " ".join(one.get_text().replace("\n", " ") for one in axes.texts)


def lost(*delays: str, gaps: tuple[str, ...] = GAPS) -> dict[Point, int]:
    return {(one, delay, gap): 0 for one in SCHEMES for delay in delays for gap in gaps}


def test_places_without_pairs_say_why() -> None:
    said = said_in(interval(compared(lost("160ms") | lost("40ms", gaps=("4s", "6s")))))
    why = "no pairs: \N{MULTIPLICATION SIGN} (sack or the other one did not finish)"
    # Which lines and places these are is seen from the marks.
    assert f"; {why}; lines a little aside" in said
    assert "no pairs" not in said_in(interval(compared({})))
    # Combinations of flows that were done before the handoff are left out.
    said = said_in(interval(compared(lost("160ms"), early=True)))
    assert "left out: 32 pairs done before the handoff" in said
    assert "no pairs" not in said
    every = compared(lost(*DELAYS), early=True)
    every["ratio"][0], every["pairs"][0], every["done_before"][0] = -0.2, 4, 0
    every["ratio_low"][0], every["ratio_high"][0] = -0.3, -0.1
    assert "left out: 92 pairs done before" in said_in(interval(every))
    # What no run has to finish.
    said = said_in(interval(compared(lost("160ms"), metric="acked")))
    assert "(sack or the other one has no value)" in said


def test_a_map_says_why_a_cell_has_no_pairs() -> None:
    columns = compared(lost("160ms"))
    how: Any = {"x": GAP, "y": DELAY, "value": "ratio", "where": {"value": "freeze"}}
    axes, _ = figure_of(plot_spread, columns, "heatmap", **how).axes
    assert "grey: no pairs, as sack or the other one did not finish" in said_in(axes)


def test_a_cell_where_only_one_side_finished_has_an_arrow() -> None:
    columns = compared(lost("160ms", gaps=("1s", "2s", "4s")))
    sides = {"1s": (0, 4), "2s": (4, 4), "4s": (4, 0)}
    lacking = [
        gap if count == 0 else "" for gap, count in zip(columns[GAP], columns["pairs"], strict=True)
    ]
    for side, name in enumerate(("value_missing", "baseline_missing")):
        columns[name] = [sides.get(gap, (0, 0))[side] for gap in lacking]
    how: Any = {"x": GAP, "y": DELAY, "value": "ratio"}
    axes, _ = figure_of(plot_spread, columns, "heatmap", where={"value": "freeze"}, **how).axes
    alone = [one for one in axes.lines if len(one.get_xdata()) == 1]
    marks = [(int(one.get_xdata()[0]), one.get_marker()) for one in alone]
    assert marks == [(0, "$\N{DOWNWARDS ARROW}$"), (2, "$\N{UPWARDS ARROW}$")]
    said = said_in(axes)
    assert (
        "arrows up (only sack finished), arrows down (sack never finished), no arrow (neither"
        in said
    )
    *maps, _ = figure_of(plot_spread, columns, "heatmap", by=["value"], **how).axes
    assert [len(one.lines) for one in maps] == [len(axes.lines)] * 2


@pytest.mark.parametrize(("pairs", "marks"), [(1, 1), (2, 0), (3, 0)])
def test_points_of_fewer_pairs_than_are_left_out_are_pale(pairs: int, marks: int) -> None:
    """By the rule of maps, where they are in brackets, and of reports."""
    columns = compared({("freeze", "40ms", "2s"): pairs})
    axes = interval(columns)
    pale = [one for one in axes.lines if one.get_alpha() and one.get_marker() not in ("", "None")]
    assert [[round(one) for one in line.get_xdata()] for line in pale] == [[2]] * marks
    words = "of one run, or of fewer pairs than are left out"
    assert (f"pale: {words}" in said_in(axes)) == bool(marks)
    how: Any = {"x": GAP, "y": DELAY, "value": "ratio", "where": {"value": "freeze"}}
    cells, _ = figure_of(plot_spread, columns, "heatmap", **how).axes
    assert sum(one.get_text().endswith(")") for one in cells.texts) == marks
    assert (f"in brackets: {words}" in said_in(cells)) == bool(marks)


def test_a_few_long_intervals_do_not_take_the_axis() -> None:
    columns = compared({}, {("freeze", "40ms", "2s"): (-1.19, 0.645)})
    axes = interval(columns)
    low, high = axes.get_ylim()
    assert -40 < low < -30
    assert 0 < high < 10
    arrows = [one.get_marker() for one in axes.lines if "arrow" in str(one.get_marker())]
    assert sorted(arrows) == [r"$\downarrow$", r"$\uparrow$"]
    # No time falls by more than all of it, also in older tables.
    assert "arrows: intervals beyond the axis, from \N{MINUS SIGN}100 to +64 %" in said_in(axes)
    # The user's own axis has no others beyond it.
    axes = interval(columns, ylim=(-120.0, 80.0))
    assert not [one for one in axes.lines if "arrow" in str(one.get_marker())]
    assert "arrows" not in said_in(axes)
    assert "arrows" not in said_in(interval(compared({})))


@pytest.mark.parametrize(("pairs", "is_pale"), [(1, True), (4, False)])
def test_an_interval_of_few_pairs_is_pale_where_the_axis_cuts_it(pairs: int, is_pale: bool) -> None:
    place = ("freeze", "40ms", "2s")
    axes = interval(compared({place: pairs}, {place: (-1.19, 0.645)}))
    arrows = [one for one in axes.lines if "arrow" in str(one.get_marker())]
    (colour,) = {to_hex(one.get_color()) for one in arrows}
    strong = {to_hex(one.get_color()) for one in axes.lines if one.get_label()[0] != "_"}
    assert (colour not in strong) == is_pale
    # So is the stroke between them.
    strokes = [one for one in axes.collections if isinstance(one, LineCollection)]
    assert colour in {to_hex(one) for of in strokes for one in of.get_colors()}


def test_intervals_are_far_only_beside_many_shorter_ones() -> None:
    usual = [(-30.0, -10.0)] * 9
    assert usual_ends([-20.0], [*usual, (-100.0, 64.0)]) == (-30.0, 0.0)
    assert usual_ends([-20.0], usual) is None
    # An axis that is little longer shows all.
    assert usual_ends([-20.0], [*usual, (-41.0, -5.0)]) is None
    assert usual_ends([-20.0], [*usual[:4], *[(-100.0, 64.0)] * 4]) is None
    assert usual_ends([-20.0], [*usual[:2], (-100.0, 64.0)]) is None
    # Beside these no means would be seen, however many they are.
    means, short = [27.0, -4.0, 4.0, 1.0, -6.0], (-7.0, 8.0)
    long = [(5.0, 223.0), (-9.0, 1263.0), (-4.0, 174.0)]
    assert usual_ends(means, [short, *long, (-math.inf, math.inf)]) == (-7.0, 27.0)
    assert usual_ends(means, [short, long[0], long[2]]) is None
    # Where all that are not 0 are long, their length is what the figure says.
    assert usual_ends(means, [(0.0, 0.0), *[long[1]] * 2]) is None
    assert usual_ends([1.0, 2.0], [(-99.0, 101.0), (-98.0, 102.0), (-499.0, 503.0)]) is None
    assert usual_ends([0.0], [(0.0, 0.0)] * 3) is None
    assert usual_ends([], []) is None


def test_arrows_name_intervals_without_an_end_and_beyond_the_axis() -> None:
    long = {"2s": (-0.3, 14.0), "4s": (-math.inf, math.inf)}
    columns = compared({}, {("freeze", "40ms", gap): ends for gap, ends in long.items()})
    axes = interval(columns)
    assert axes.get_ylim()[1] < 10
    far = "beyond the axis, from \N{MINUS SIGN}30 to +1400 %"
    assert f"arrows: intervals without an end or {far}" in said_in(axes)
    marks = [one for one in axes.lines if "arrow" in str(one.get_marker())]
    up = [len(one.get_xdata()) for one in marks if "up" in str(one.get_marker())]
    down = [len(one.get_xdata()) for one in marks if "down" in str(one.get_marker())]
    assert (up, down) == ([2], [1])


def test_no_interval_of_a_ratio_of_times_begins_below_0() -> None:
    mine, theirs = np.array([9.0, 1.5]), np.array([5.0, 5.1])
    assert ratio_ci(mine, theirs).low == -1.0
    assert ratio_ci(-mine, theirs).high > -1.0
    # That of what may be negative does.
    assert ratio_ci(np.array([9.0, -1.5]), theirs).low < -1.0


@pytest.fixture(scope="module")
def instants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes, compared over instants of which one is after the end of the transfer."""
    folder = tmp_path_factory.mktemp("instants") / "out"
    words = ["--axis", f"{SCHEME}=sack,freeze", "--axis", f"{AT}=0.2s,0.4s,8s"]
    words += ["--compare", SCHEME, "--out", str(folder)]
    assert main(["sweep", "wifi-to-lte", *words]) == 0
    return folder


def test_a_figure_says_that_flows_were_done_before_the_handoff(instants: Path) -> None:
    words = "left out: 1 flow of sack (CUBIC) and 1 of freeze done before the handoff"
    how: Any = {"by": [SCHEME]}
    (axes,) = figure_of(plot_axis, instants, x=AT, y="duration_ns", **how).axes
    assert words in said_in(axes)
    assert {len(one.get_xdata()) for one in axes.lines if one.get_label()[0] != "_"} == {2}
    for kind in ("box", "cdf", "interval"):
        more: Any = {} if kind == "cdf" else {"x": AT}
        (axes,) = figure_of(plot_spread, instants, kind, value="duration_ns", **more, **how).axes
        assert words in said_in(axes)
    sides: Any = {"x": AT, "y": SCHEME, "value": "duration_ns"}
    axes, _ = figure_of(plot_spread, instants, "heatmap", **sides).axes
    assert "left out: 2 flows done before the handoff" in said_in(axes)
    where = {"met_handoff": "1"}
    (axes,) = figure_of(plot_axis, instants, x=AT, y="duration_ns", where=where).axes
    assert "left out" not in said_in(axes)
    assert "Flows that were not done before the handoff" in said_in(axes)
    # Both of them are all flows.
    where = {"met_handoff": ["0", "1"]}
    (axes,) = figure_of(plot_axis, instants, x=AT, y="duration_ns", where=where, **how).axes
    assert "done before" not in said_in(axes)
    assert {len(one.get_xdata()) for one in axes.lines if one.get_label()[0] != "_"} == {3}
    # Without any other flow they are shown.
    where = {AT: "8s"}
    (axes,) = figure_of(plot_axis, instants, x=SCHEME, y="duration_ns", where=where).axes
    assert "all 2 flows done before the handoff" in said_in(axes)


@pytest.mark.parametrize("kind", ["median", "box", "cdf", "interval"])
def test_a_figure_has_the_rows_of_the_comparison(instants: Path, kind: str) -> None:
    """As many as it has pairs, of times after the handoff, whose table lacks the ends, too."""
    for metric in ("duration_ns", "all_new_ns"):
        columns = read_columns(instants, metric)
        if metric == "all_new_ns":
            columns = after_handoff(columns, metric, None)
        pairs = Summary.of(Sweep.read(instants), instants, metric).compared[0].pairs
        if kind == "median":
            data = axis_data(columns, x=SCHEME, y=metric)
            counts = [count for one in data.lines for count in one.runs]
        else:
            x = None if kind == "cdf" else SCHEME
            spread = spread_of(columns, kind, value=metric, x=x, by=[] if x else [SCHEME])
            counts = [len(values) for one in spread.groups for values in one.values]
        assert counts == [pairs, pairs] == [2, 2]


@pytest.mark.parametrize("kind", ["median", "box", "cdf", "interval", "heatmap"])
@pytest.mark.parametrize("look", ["plain", "paper"])
def test_a_figure_says_which_rows_are_kept(
    instants: Path, tmp_path: Path, kind: str, look: str
) -> None:
    out, table = tmp_path / "x.svg", tmp_path / "x.csv"
    words = ["plot", str(instants), "--kind", kind, "--out", str(out), "--csv", str(table)]
    words += ["--style", look, "--where", f"{AT}=400ms", "--where", "met_handoff=1"]
    words += ["--value" if kind in ("cdf", "heatmap") else "--y", "duration_ns"]
    words += ["--x", SCHEME] if kind == "heatmap" else ["--by", SCHEME] if kind == "cdf" else []
    words += ["--y", "flow"] if kind == "heatmap" else []
    words += ["--x", SCHEME] if kind not in ("cdf", "heatmap") else []
    assert main(words) == 0
    said = " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", out.read_text()))
    assert "Instant of the handoff: 0.4 s; flows that were not done before the handoff" in said
    head, *rows = csv.reader(table.read_text().splitlines())
    assert head[-1] == "where"
    assert {row[-1] for row in rows} == {f"{AT}=0.4s; met_handoff=1"}


def test_the_flows_that_were_done_are_counted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text above, the note and the tables count the same; flows of requests are none."""
    axes = ["--axis", f"{AT}=0.1s,1s,1.9s", "--axis", "handoffs.0.gap=0s,0.5s"]
    words = ["sweep", "web-page", *axes, "--out", str(tmp_path / "out")]
    assert main(words) == 0
    table = capsys.readouterr().out
    out = tmp_path / "x.svg"
    assert main(["plot", str(tmp_path / "out"), "--out", str(out)]) == 0
    said = capsys.readouterr().err
    found = re.search(r"(\d+) of 6 flows were done before the handoff", said)
    assert found
    assert f"left out: {found[1]} flows done before the handoff" in out.read_text()
    assert f"In {found[1]} cells a handoff came when every flow was done" in table


@pytest.mark.parametrize("count", [7, 8])
def test_many_instants_alone_are_the_axis_of_the_usual_changes(
    count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "out", tmp_path / "x.svg"
    words = ["--axis", f"{SCHEME}=sack,freeze,enhanced", "--axis", "seed=1,2"]
    words += ["--axis", f"{AT}=0.1s:{count / 10}s:0.1s", "--set", "flows.download.size=20 MB"]
    assert main(["sweep", "wifi-to-lte", *words, "--compare", SCHEME, "--out", str(folder)]) == 0
    capsys.readouterr()
    assert main(["plot", str(folder), "--out", str(out)]) == 0
    said, is_curve = capsys.readouterr().err, count == 8
    assert (f"--kind interval --x {AT} --y ratio;" in said) == is_curve
    assert ("--x value shows one change over all instants" in said) == is_curve
    assert (f"--x {AT} shows it at each of them" in said) != is_curve
    assert ("Instant of the handoff (s)" in out.read_text()) == is_curve
    made = Summary.of(Sweep.read(folder), folder)
    first = next(sweep_figures(Sweep.read(folder), folder, made))
    drawn = base64.b64decode(first["image"].split(",", 1)[1]).decode()
    assert ("Instant of the handoff (s)" in drawn) == is_curve
    # The pooled one, and the one of a few of the instants, stay.
    few = ["--where", f"{AT}=0.1s,0.2s"]
    for more in (["--x", "value"], ["--kind", "interval"], few):
        assert main(["plot", str(folder), *more, "--out", str(out)]) == 0
        assert "Instant of the handoff (s)" not in out.read_text()


def test_what_gives_a_curve_over_pooled_instants_is_named(
    instants: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plot", str(instants), "--out", str(tmp_path / "x.png")]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert f"each change is over all instants; --x {AT} shows it at each of them" in said
    assert main([*words, "--x", AT]) == 0
    assert "over all values" not in capsys.readouterr().err
    asked = ["--kind", "heatmap", "--x", AT, "--y", "value", "--value", "ratio"]
    assert main([*words, *asked]) == 0
    capsys.readouterr()
    # Another file of a comparison than that of the sweep has no such axis.
    folder = tmp_path / "out"
    copytree(instants, folder)
    file = (folder / "comparison.csv").rename(folder / "comparison-before.csv")
    assert main(["plot", str(file), *words[2:], *asked]) == 2
    said = capsys.readouterr().err
    assert f"--x {AT}: the comparison" in said
    assert f"--by {AT}, which compares at each of them" in said
    with pytest.raises(MidflightError, match="pools its values; run the sweep again"):
        plot_spread(file, tmp_path / "x.png", "heatmap", x=AT, y="value", value="ratio")


@pytest.mark.parametrize("done", [4, 3, 2, 0])
def test_arrows_of_boxes_say_how_many_runs_did_not_finish(done: int) -> None:
    times = [1e9, 2e9, 3e9, 4e9]
    columns = {
        "x": [*"aaaabbbb"],
        "duration_ns": [*times, *times[:done], *([None] * (4 - done))],
    }
    detail = spread_of(columns, "box", x="x", value="duration_ns").detail
    lost = f"{4 - done} run{'s' * (done < 3)} that did not finish count{'s' * (done == 3)}"
    assert detail.endswith(f"; arrows: {lost} as longest") == (done < 4)
    assert ("arrows" in detail) == (done < 4)


def test_names_have_capitals_at_the_beginning_only() -> None:
    assert lines_name(["flows.download.scheme", DELAY], {}) == (
        "Scheme of download, one-way delay of lte"
    )
    columns: dict[str, list[Any]] = {
        "x": ["a", "a"],
        DELAY: ["1ms", "2ms"],
        "duration_ns": [1e9, 2e9],
    }
    assert axis_data(columns, x="x", y="duration_ns").pooled.axes == ["2 one-way delays of lte"]
    columns |= {"y": ["a", "a"], "z": ["c", "c"]}
    how: Any = {"x": "x", "y": "y", "value": "duration_ns"}
    kept = {"where": {"z": "c"}}
    said = spread_of(columns, "heatmap", **how).detail
    assert said == "medians; each cell: both one-way delays of lte"
    remark = spread_of(columns, "heatmap", **how, **kept).remark
    assert remark == "Z: c"


def test_only_lines_whose_whiskers_cover_each_other_stand_side_by_side() -> None:
    inf, nan = float("inf"), float("nan")
    lines = [
        [(1.0, 0.0, 1.0), (2.0, 5.0, 6.0), (3.0, 1.0, inf)],
        [(1.0, 9.0, 9.8), (2.0, 5.2, 5.4), (3.0, inf, inf)],
        [(1.0, 0.9, 3.0), (2.0, nan, nan), (3.0, -inf, inf)],
    ]
    # The second one of the second line is within its marker.
    assert beside(lines, 0.5) == [-1.0, 0.0, 1.0]
    assert beside(lines[:1], 0.5) == [0.0]
    apart = [[one[0]] for one in lines]
    assert beside(apart[:2], 0.5) == [0.0, 0.0]
    assert beside(apart, 0.5) == [-0.5, 0.0, 0.5]
    found = whiskers_of(apart, 0.5, 3.5, LINEAR)
    assert found.at[1].tolist() == [1.0]
    found = whiskers_of(lines, 0.5, 3.5, LINEAR)
    # Everywhere as far.
    assert (found.at[2] - [1, 2, 3]).tolist() == pytest.approx([found.at[2][0] - 1] * 3)
    assert found.at[0][0] < 1.0 < found.at[2][0]
    assert has_seen([[(1.0, 2.0, 2.6)]], 0.5, bands=False)
    assert not has_seen([[(1.0, 2.0, 2.4), (2.0, nan, nan)]], 0.5, bands=False)
    assert has_seen([[(1.0, 2.0, 2.4)]], 0.5, bands=True)


@pytest.mark.parametrize("lines", [2, 4, 9])
@pytest.mark.parametrize("is_log", [False, True])
def test_caps_of_whiskers_are_narrower_than_the_way_between_them(lines: int, is_log: bool) -> None:
    places = [1.0, 2.0, 4.0, 8.0]
    apart = dodge(places, lines, 3.5, LOG if is_log else LINEAR)
    ends = [math.log(one) if is_log else one for one in (places[0], places[-1])]
    step_pt = apart.step / (ends[1] - ends[0]) * (3.5 - 0.8) * 72
    assert 0 < 2 * apart.cap_pt < step_pt
    # Close to the number, and far from the next one.
    assert step_pt <= 4.01
    # Many have a little more room.
    assert (lines - 1) * step_pt / 2 < 4.01 + (lines - 2) / 2
    nearest = math.log(2) if is_log else 1.0
    share = 1 / 6 if lines >= 5 else 1 / 8
    assert (lines - 1) * apart.step / 2 < nearest * share + 1e-9


def test_lines_stand_at_their_numbers_or_close_to_them_with_their_whiskers() -> None:
    columns = compared({})
    columns["ratio"] = [-0.2 if one == "freeze" else 0.4 for one in columns["value"]]
    columns["ratio_low"] = [one - 0.1 for one in columns["ratio"]]
    columns["ratio_high"] = [one + 0.1 for one in columns["ratio"]]
    rows = [place for place, delay in enumerate(columns[DELAY]) if delay == "10ms"]
    columns = {name: [values[row] for row in rows] for name, values in columns.items()}
    numbers = [1.0, 2.0, 4.0, 6.0]
    axes = interval(columns, by=["value"])
    drawn = [line for line in axes.lines if line.get_label() in SCHEMES]
    assert [line.get_xdata().tolist() for line in drawn] == [numbers] * 2
    assert whiskers_at(axes) == [numbers] * 2
    # At one number they would cover each other.
    columns["ratio_high"] = [
        1.0 if gap == "4s" else one
        for gap, one in zip(columns[GAP], columns["ratio_high"], strict=True)
    ]
    axes = interval(columns, by=["value"])
    drawn = [line for line in axes.lines if line.get_label() in SCHEMES]
    one, two = whiskers_at(axes)
    # Whole lines are close to their numbers, with their markers and whiskers.
    assert [line.get_xdata().tolist() for line in drawn] == [one, two]
    assert said_in(axes).endswith(f"; {ASIDE}")
    assert 4.0 - 1 / 8 <= one[2] < 4.0 < two[2] <= 4.0 + 1 / 8
    assert np.array(numbers) - one == pytest.approx(np.array(two) - numbers)
    # Medians and quartiles, too.
    for above, is_aside in ((0.1e9, True), (0.0, False), (9e9, False)):
        table = {
            "x": [1, 1, 2, 2] * 2,
            "s": [*"aaaabbbb"],
            "duration_ns": [1e9, 3e9, 1e9, 3e9] + [above + one for one in (1e9, 3e9, 1e9, 3e9)],
        }
        # Lines that are the same are one.
        (axes,) = figure_of(plot_axis, table, x="x", y="duration_ns", by=["s"]).axes
        first = next(line for line in axes.lines if str(line.get_label()).startswith("a"))
        assert first.get_xdata().tolist() == whiskers_at(axes)[0]
        assert (whiskers_at(axes)[0] != [1.0, 2.0]) == is_aside


def of_places(count: int, apart_ns: float, lines: str = "ab") -> dict[str, list[Any]]:
    """Times at so many numbers of lines that are this far apart, with quartiles of 4 s."""
    times = [10e9, 12e9, 14e9, 16e9, 18e9]
    each = [(x, line, one) for line in lines for x in range(1, count + 1) for one in times]
    return {
        "a.x": [f"{x}s" for x, _, _ in each],
        "s": [line for _, line, _ in each],
        "duration_ns": [one + x * 1e9 + lines.index(line) * apart_ns for x, line, one in each],
    }


@pytest.mark.parametrize(("count", "is_band"), [(7, False), (8, True)])
def test_intervals_over_many_numbers_are_bands_as_quartiles_are(count: int, is_band: bool) -> None:
    table = of_places(count, 1e9)
    mean = figure_of(plot_spread, table, "interval", x="a.x", value="duration_ns", by=["s"])
    median = figure_of(plot_axis, table, x="a.x", y="duration_ns", by=["s"])
    for figure in (mean, median):
        (axes,) = figure.axes
        bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
        assert len(bands) == (2 if is_band else 0)
        assert (len(axes.collections) - len(bands)) == (0 if is_band else 2)
        for one in (line for line in axes.lines if line.get_label() in ("a", "b")):
            near = 1e-9 if is_band else 1 / 8
            assert one.get_xdata() == pytest.approx(np.arange(1, count + 1), abs=near)


def test_a_place_without_neighbours_has_a_whisker_among_bands() -> None:
    x = np.arange(4.0)
    ends = np.array([1.0, 1.0, np.nan, 1.0])
    axes = Figure().add_subplot()
    draw_span(axes, Span(x, x, x - ends, x + ends), SERIES[0], x, 2.0, bands=True)
    (whisker,) = [one for one in axes.collections if isinstance(one, LineCollection)]
    assert [one[0, 0] for one in whisker.get_segments()] == [3.0]
    (band,) = [one for one in axes.collections if isinstance(one, PolyCollection)]
    assert band.get_paths()[0].vertices[:, 0].max() == 1.0


@pytest.mark.parametrize("kind", ["median", "interval"])
@pytest.mark.parametrize("yscale", ["linear", "log"])
def test_a_line_that_others_cover_is_wide_beneath_them(kind: str, yscale: str) -> None:
    def drawn(apart_ns: float) -> tuple[list[float], list[str]]:
        table = of_places(5, apart_ns)
        if kind == "median":
            how: Any = {"x": "a.x", "y": "duration_ns", "by": ["s"]}
            figure = figure_of(plot_axis, table, yscale=yscale, **how)
        else:
            how = {"x": "a.x", "value": "duration_ns", "by": ["s"]}
            figure = figure_of(plot_spread, table, kind, yscale=yscale, **how)
        (axes,) = figure.axes
        lines = [one for one in axes.lines if str(one.get_label())[0] in "ab"]
        handles = figure.legends[0].get_lines()
        assert len({one.get_linewidth() for one in handles}) == 1
        return [one.get_linewidth() for one in lines], [str(one.get_label()) for one in lines]

    # By 1 ns, and not at all.
    for apart in (1.0, 0.0):
        (wide, narrow), names = drawn(apart)
        # Seen behind it, and not so wide that it seems to be the important one.
        assert 1.5 * narrow < wide < 2 * narrow
        assert names == ["a", "b" if apart else "b (same as a)"]
    (one, two), _ = drawn(2e9)
    assert one == two


def test_changes_below_0_that_coincide_are_seen() -> None:
    lines = [([1.0, 2.0, 3.0], [-30.0, -20.0, -10.0]), ([1.0, 2.0, 3.0], [-30.1, -20.1, -10.1])]
    how: Any = {"scale_x": LINEAR, "log_y": False}
    wide, narrow = widths_of_joined(lines, (-40.0, 0.0), 1.0, **how)
    assert 1.5 * narrow < wide <= 1.6
    assert widths_of_joined(lines, (-30.1, -29.1), 1.0, **how) == [1.0] * 2
    # A line that is elsewhere does not count, nor one without values.
    assert (
        widths_of_joined([lines[0], ([4.0, 5.0], [-30.0, -30.0])], (-40.0, 0.0), 1.0, **how)
        == [1.0] * 2
    )
    assert widths_of_joined([lines[0], ([], [])], (-40.0, 0.0), 1.0, **how) == [1.0] * 2


@pytest.mark.parametrize(("spread_ns", "is_seen"), [(1e6, False), (8e9, True)])
def test_quartiles_are_named_only_if_they_are_seen(spread_ns: float, is_seen: bool) -> None:
    table = {
        "x": ["1s", "2s"] * 3,
        "duration_ns": [10e9 + one * spread_ns for one in (0, 0, 0.5, 0.5, 1, 1)],
    }
    (axes,) = figure_of(plot_axis, table, x="x", y="duration_ns").axes
    said = said_in(axes)
    assert ("medians and quartiles over 3 values" in said) == is_seen
    assert ("medians over 3 values" in said) != is_seen


def whiskers_at(axes: Any) -> list[list[float]]:
    """The places of the whiskers of each line."""
    return [[float(one[0, 0]) for one in each.get_segments()] for each in axes.collections]


def test_lines_of_numbers_have_the_colours_of_a_scale() -> None:
    delays = ["40ms", "10ms", "160ms"]
    looks = [look for look, _ in line_looks([DELAY], [(one,) for one in delays], delays)]
    lightness = {one: mean_of(look.colour) for one, look in zip(delays, looks, strict=True)}
    assert lightness["10ms"] < lightness["40ms"] - 0.1 < lightness["160ms"] - 0.2
    assert not {look.colour for look in looks} & {one.colour for one in SERIES}
    # Styles and markers tell them apart in print, as before.
    assert [(one.line, one.marker) for one in looks] == [
        (one.line, one.marker) for one in SERIES[:3]
    ]
    # Schemes keep their own, also beside numbers.
    keys = [(scheme, delay) for scheme in ("sack", "freeze") for delay in delays]
    found = line_looks(["value", DELAY], keys, [", ".join(key) for key in keys])
    assert {look.colour for look, _ in found} == {SERIES[0].colour, SERIES[2].colour}
    (only,) = [look for look, _ in line_looks(["value"], [("sack",)], ["sack"])]
    assert only == SERIES[0]


def mean_of(colour: str) -> float:
    """The lightness of a colour in grey."""
    red, green, blue = to_rgb(colour)
    return 0.3 * red + 0.59 * green + 0.11 * blue


def test_far_ends_of_small_changes_have_digits() -> None:
    far = {("freeze", "40ms", "2s"): (-0.0284, 0.0111)}
    near = {
        (scheme, delay, gap): (-0.003, -0.001)
        for scheme in SCHEMES
        for gap in GAPS
        for delay in DELAYS
    }
    columns = compared({}, near | far)
    columns["ratio"] = [-0.002] * len(columns["ratio"])
    assert "from \N{MINUS SIGN}2.84 to +1.11 %" in said_in(interval(columns))


def test_changes_over_a_chosen_axis_and_lines_are_those_of_the_comparison(tmp_path: Path) -> None:
    scheme, out = "flows.download.scheme", tmp_path / "out"
    axes = [f"{scheme}=sack,enhanced", f"{GAP}=0.5s,2s", "handoffs.0.at=0.2s,0.3s"]
    axes.append(f"{DELAY}=20ms,40ms")
    words = [word for one in axes for word in ("--axis", one)]
    assert main(["sweep", "wifi-to-lte", *words, "--compare", scheme, "--out", str(out)]) == 0
    table = tmp_path / "x.csv"
    words = ["--value", "ratio", "--x", DELAY, "--by", GAP, "--csv", str(table)]
    assert main(["plot", str(out), *words, "--out", str(tmp_path / "x.png")]) == 0
    rows = rows_of(table)
    assert {row["unit"] for row in rows} == {"%"}
    assert {row["line"] for row in rows} == {"0.5s", "2s"}
    assert {"low", "high"} <= {*rows[0]}


@pytest.mark.parametrize(
    ("scale", "places", "ticks"),
    [
        ("linear", [1, 3, 6, 10], [0, 1, 3, 6, 10]),
        ("linear", [20, 23, 26, 40], [20, 23, 26, 40]),
        ("log", [0.01, 0.1, 0.5, 1, 2], [0.01, 0.1, 0.5, 1, 2]),
        ("log", [20, 23, 26, 40], [20, 23, 26, 40]),
        # No room between the first two, and too many.
        ("linear", [1, 1.1, 60], None),
        ("log", [1, 1.1, 60], None),
        ("linear", [*range(1, 11)], None),
        ("log", [*range(1, 11)], None),
    ],
)
def test_ticks_of_an_axis_are_its_few_values(
    scale: str, places: list[float], ticks: list[float] | None
) -> None:
    table = {"x": [str(one) for one in places], "duration_ns": [1e9 + one for one in places]}

    def shown(axes: Axes) -> bool:
        is_bare = not len(axes.get_xticks(minor=True))
        assert is_bare or ticks is None
        return bool(axes.get_xticks().tolist() == ticks)

    (axes,) = figure_of(plot_axis, table, x="x", y="duration_ns", xscale=scale).axes
    assert shown(axes) == (ticks is not None)
    table = {name: values * 2 for name, values in table.items()}
    how: Any = {"value": "duration_ns", "x": "x", "xscale": scale}
    (axes,) = figure_of(plot_spread, table, "interval", **how).axes
    assert shown(axes) == (ticks is not None)


@pytest.mark.parametrize(("high", "is_hatched"), [(-0.02, False), (0.1, True)])
def test_the_bar_of_changes_ends_with_them(high: float, is_hatched: bool) -> None:
    columns = compared({})
    # More columns than there is room for numbers.
    columns["ratio"] = [high if place % 2 else -0.3 for place in range(len(columns["value"]))]
    how: Any = {"value": "ratio", "x": GAP, "y": DELAY, "by": ["value"]}
    figure = figure_of(plot_spread, columns, "heatmap", size="1.9x1.5", **how)
    bar = figure.axes[-1]
    assert bar.get_ylim() == pytest.approx((-30.0, max(0.0, 100 * high)))
    shown = " ".join(one.get_text() for one in figure.findobj(Text))
    assert ("hatched: below 0" in " ".join(shown.split())) == is_hatched
    assert any(one.get_hatch() == "////" for one in bar.patches) == is_hatched


def test_numbers_of_a_map_that_are_too_small_to_matter_have_brackets() -> None:
    columns = compared({})
    for row, scheme in enumerate(columns["value"]):
        if scheme == "freeze" and columns[GAP][row] == "2s":
            columns["ratio"][row], columns["ratio_low"][row] = 0.0004, 0.0003
            columns["ratio_high"][row] = 0.0005
    how: Any = {"x": GAP, "y": DELAY, "value": "ratio", "where": {"value": "freeze"}}
    axes, _ = figure_of(plot_spread, columns, "heatmap", **how).axes
    assert [one.get_text() for one in axes.texts].count("(0.0)") == len(DELAYS)
    assert "in brackets: |change| < 0.1 %" in said_in(axes)


@pytest.mark.parametrize("value", ["ratio", "difference"])
def test_intervals_of_differences_without_a_width_are_named(value: str) -> None:
    """All pairs differ by the same time, and so by other shares of it."""
    columns = compared({})
    columns["half_width"] = [0.0 for _ in columns["value"]]
    columns["difference"] = [-1e8 for _ in columns["value"]]
    said = said_in(interval(columns, value=value))
    words = "intervals of zero width where all pairs differ by the same"
    assert (words in said) == (value == "difference")


def test_a_table_is_read_once_for_a_figure_or_a_report(
    instants: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    found = tables._read_table

    def counted(file: Path) -> tables.Columns:
        read.append(file.stem)
        return found(file)

    monkeypatch.setattr(tables, "_read_table", counted)
    for words in (["plot", "x.png"], ["plot", "x.png", "--kind", "box"], ["report", "x.html"]):
        command, name, *more = words
        assert main([command, str(instants), "--out", str(tmp_path / name), *more]) == 0
        assert read
        assert len({*read}) == len(read)
        read.clear()


def test_a_legend_inside_does_not_cover_the_line_at_0() -> None:
    changes = [-0.1, -0.2, -0.3, -0.3]
    columns: dict[str, list[Any]] = {"ratio": changes, "ratio_low": [-0.4] * 4}
    columns |= {"ratio_high": [-0.02] * 4, GAP: ["1 s", "2 s", "3 s", "4 s"], "value": ["a"] * 4}
    columns |= {"metric": ["duration_ns"] * 4, "baseline": ["sack"] * 4, "flow": ["get"] * 4}
    how: Any = {"value": "ratio", "x": GAP, "by": ["value"], "legend": "inside"}
    figure = figure_of(plot_spread, columns, "interval", **how)
    (axes,) = figure.axes
    figure.canvas.draw()
    box = axes.get_legend().get_window_extent()
    _, at_0 = axes.transData.transform((0, 0))
    assert not box.y0 <= at_0 <= box.y1
