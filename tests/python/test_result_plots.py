"""Figures and reports of results: distributions, maps, comparisons, sweeps."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer

import midflight
from midflight.cli import main
from midflight.plot.common.figure import figure_of
from midflight.plot.common.names import column_name
from midflight.plot.common.style import SERIES, looks_of, wrapped
from midflight.plot.results.axis import (
    axis_data,
    axis_figure,
    plot_axis,
)
from midflight.plot.results.maps import decimals
from midflight.plot.results.pooled import pooled_axes, pooled_words
from midflight.plot.results.rows import kept_values, over_words
from midflight.plot.results.spread import plot_spread, spread_figure, spread_of, spread_rows
from midflight.plot.results.tables import read_columns
from midflight.results import mean_ci, quantile
from test_over_time import rows_of

NS = 1_000_000_000


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep with its comparison."""
    folder = tmp_path_factory.mktemp("sweep") / "out"
    axes = ["flows.download.scheme=sack,freeze", "handoffs.0.gap=0.2s,1s", "seed=1,2,3"]
    words = ["sweep", "wifi-to-lte", "--set", "links.lte.loss=uniform 0.5%", "--out", str(folder)]
    words += [word for axis in axes for word in ("--axis", axis)]
    assert main([*words, "--compare", "flows.download.scheme"]) == 0
    return folder


def drawn(folder: Path, *words: str) -> list[dict[str, str]]:
    out, table = folder.parent / "x.png", folder.parent / "x.csv"
    assert main(["plot", str(folder), *words, "--out", str(out), "--csv", str(table)]) == 0
    assert out.stat().st_size > 5000
    return rows_of(table)


def values(folder: Path, **kept: str) -> list[float]:
    rows = rows_of(folder / "flows.csv")
    return [
        float(row["duration_ns"]) / 1e9
        for row in rows
        if all(row[key.replace("__", ".")] == value for key, value in kept.items())
    ]


def test_distributions(swept: Path) -> None:
    by = ("--by", "flows.download.scheme")
    rows = drawn(swept, "--kind", "cdf", "--value", "duration_ns", *by)
    for scheme in ("sack", "freeze"):
        mine = [row for row in rows if row["line"] == scheme]
        expected = sorted(values(swept, flows__download__scheme=scheme))
        assert [float(row["value"]) for row in mine] == pytest.approx(expected)
        assert [float(row["share"]) for row in mine] == pytest.approx(np.arange(1, 7) / 6)
    rows = drawn(swept, "--kind", "box", "--x", "handoffs.0.gap", "--y", "duration_ns", *by)
    for row in rows:
        gap = row["handoffs.0.gap"].removesuffix("s") + "s"
        mine = values(swept, flows__download__scheme=row["line"], handoffs__0__gap=gap)
        for name, share in (("low", 0), ("p25", 0.25), ("median", 0.5), ("high", 1)):
            assert float(row[name]) == pytest.approx(quantile(mine, share))
        # Fewer than ten are drawn one by one.
        assert [float(one) for one in row["points"].split()] == pytest.approx(sorted(mine), 1e-5)
    rows = drawn(swept, "--kind", "interval", "--x", "handoffs.0.gap", "--y", "duration_ns", *by)
    assert len(rows) == 4
    for row in rows:
        gap = row["handoffs.0.gap"].removesuffix("s") + "s"
        mine = values(swept, flows__download__scheme=row["line"], handoffs__0__gap=gap)
        mean, half = mean_ci(mine)
        assert float(row["mean"]) == pytest.approx(mean)
        assert float(row["high"]) == pytest.approx(mean + half)


def test_maps(swept: Path) -> None:
    axes = ("--x", "handoffs.0.gap", "--y", "seed", "--value", "duration_ns")
    only = ("--where", "flows.download.scheme=sack")
    rows = drawn(swept, "--kind", "heatmap", *axes, *only)
    assert len(rows) == 6
    for row in rows:
        gap = row["handoffs.0.gap"].removesuffix("s") + "s"
        kept = {"flows__download__scheme": "sack", "handoffs__0__gap": gap, "seed": row["seed"]}
        assert [float(row["median"])] == pytest.approx(values(swept, **kept))


def test_comparisons_have_intervals_of_their_own(swept: Path) -> None:
    table = swept / "comparison.csv"
    words = ("--kind", "interval", "--x", "handoffs.0.gap", "--by", "value")
    rows = drawn(table, *words, "--y", "ratio")
    # Numbers in the unit of `x_unit`.
    assert {row["x_unit"] for row in rows} == {"s"}
    assert all(float(row["handoffs.0.gap"]) > 0 for row in rows)
    for row, known in zip(rows, rows_of(table), strict=True):
        for name, column in (("mean", "ratio"), ("low", "ratio_low"), ("high", "ratio_high")):
            found = float(row[name])
            assert found == pytest.approx(100 * float(known[column]))
    rows = drawn(table, *words, "--y", "difference")
    for row, known in zip(rows, rows_of(table), strict=True):
        high = float(known["difference"]) + float(known["half_width"])
        found = float(row["high"])
        assert found == pytest.approx(high / 1e9)

    assert {(row["over"], row["samples"], row["pairs"]) for row in rows} == {("runs", "3", "3")}


def instants_of_runs(runs: int) -> dict[str, list[Any]]:
    """Runs with values 0, 1, 2, ... at three instants, which add tens; and their digests."""
    each = [(run, at) for run in range(runs) for at in range(3)]
    return {
        "handoffs.0.at": [f"{at} s" for _, at in each],
        "a.x": ["1"] * len(each),
        "run": [run for run, _ in each],
        "sent": [float(10 * at + run) for run, at in each],
        "digest": [str(each_one) for each_one in each],
    }


def interval_of(columns: Any, **how: Any) -> tuple[Any, list[dict[Any, Any]]]:
    data = spread_of(columns, "interval", value="sent", x="a.x", **how)
    head, *rows = spread_rows(data)
    return data, [dict(zip(head, row, strict=True)) for row in rows]


def test_the_instants_of_a_run_are_one_sample() -> None:
    """As in a comparison: they share the run's random numbers."""
    columns = instants_of_runs(4)
    data, (row,) = interval_of(columns)
    mean, half = mean_ci([10.0, 11.0, 12.0, 13.0])
    assert (row["mean"], row["high"]) == pytest.approx((mean, mean + half))
    assert (row["over"], row["samples"], row["values"]) == ("runs", 4, 12)
    every = "all 4 seeds \N{MULTIPLICATION SIGN} 3 instants"
    assert data.detail == f"mean and 95 % interval over 4 seeds; each point: {every}"
    said = [one.get_text() for one in spread_figure(data).axes[0].texts]
    assert said == [data.detail]
    # So it is in a table without digests, such as phases.csv, and by seeds.
    without = {name: column for name, column in columns.items() if name != "digest"}
    by_seed = {("seed" if name == "run" else name): column for name, column in without.items()}
    for other in (without, by_seed):
        assert interval_of(other)[1] == [row]
    # Instants that are told apart are not averaged.
    apart = interval_of(columns, by=["handoffs.0.at"])[1]
    assert [(one["samples"], one["values"]) for one in apart] == [(4, 4)] * 3


def test_without_chance_an_interval_is_over_the_other_axes() -> None:
    columns = instants_of_runs(1)
    data, (row,) = interval_of(columns)
    mean, half = mean_ci([0.0, 10.0, 20.0])
    assert (row["mean"], row["high"]) == pytest.approx((mean, mean + half))
    assert (row["over"], row["samples"]) == ("axes", 3)
    assert data.detail.endswith("each point: all 3 instants")
    # Runs that are all the same are no evidence.
    twice = {name: [*column, *column] for name, column in columns.items()}
    twice["run"] = [0, 0, 0, 1, 1, 1]
    assert interval_of(twice)[1][0]["samples"] == 3


def test_one_sample_has_no_interval_and_the_figure_says_why() -> None:
    columns = instants_of_runs(2)
    data, rows = interval_of(columns, by=["run"])
    # Each run is a line, and its instants are a sample of instants.
    assert [one["samples"] for one in rows] == [1, 1]
    assert all(np.isnan(one["low"]) for one in rows)
    assert data.detail == "mean; no interval, as each is of one seed; each point: all 3 instants"
    kept = {"run": "0", "handoffs.0.at": "1 s"}
    data, (row,) = interval_of(columns, where=kept)
    assert (row["mean"], row["samples"], row["values"]) == (10.0, 1, 1)
    assert data.detail == "mean; no interval, as each is of one sample"


def test_in_a_table_without_runs_each_row_is_a_sample() -> None:
    data, (row,) = interval_of({"a.x": ["1"] * 3, "sent": [1.0, 2.0, 6.0]})
    assert (row["over"], row["samples"], row["mean"]) == ("values", 3, 3.0)
    assert data.detail.endswith("over 3 values")
    columns = {"a.x": ["1", "1", "2"], "sent": [1.0, 2.0, 6.0]}
    assert interval_of(columns)[0].detail.endswith(
        "1 to 2 values; none where there is only one value"
    )


def test_a_comparison_names_the_axis_that_it_compares(swept: Path) -> None:
    columns = read_columns(swept / "comparison.csv", "ratio")
    data = spread_of(columns, "interval", value="ratio", x="handoffs.0.gap", by=["value"])
    assert data.detail == "change of the mean and 95 % interval over 3 runs"
    assert data.lines_title == "Scheme of download"
    assert data.measure == ("ratio", "%")


def test_a_map_says_what_it_keeps_and_what_it_takes_together(swept: Path) -> None:
    columns = read_columns(swept, "duration_ns")
    how: Any = {"value": "duration_ns", "x": "handoffs.0.gap", "y": "seed"}
    kept = spread_of(columns, "heatmap", where={"flows.download.scheme": "sack"}, **how)
    axes = spread_figure(kept).axes[0]
    assert (axes.get_title(), axes.texts[-1].get_text()) == ("", "Scheme of download: sack")
    axes = spread_figure(spread_of(columns, "heatmap", **how), title="A").axes[0]
    said = axes.texts[-1].get_text()
    assert (axes.get_title(), said) == ("A", "medians; each cell: both schemes of download")


def test_a_measure_of_an_application_is_missing_in_no_other_flow() -> None:
    columns = {
        "flow": ["page", "page-requests"] * 2,
        "workload": ["web", None] * 2,
        "gap": ["a", "a", "b", "b"],
        "load_ns": [1e9, None, None, None],
    }
    for kind in ("box", "cdf", "interval"):
        x = None if kind == "cdf" else "gap"
        data = spread_of(columns, kind, value="load_ns", x=x)
        assert [one.label for one in data.groups] == ["page"]
    (line,) = axis_data(columns, x="gap", y="load_ns").lines
    # A page that was never complete is missing.
    assert line.missing == [0, 1]


def test_lines_of_a_cdf_that_coincide_are_all_seen() -> None:
    """Each is narrower than those beneath it, has its own dashes, and a marker at its last step."""
    schemes, values = ["sack", "enhanced", "vho"], [(3, 4, 5), (3, 4, 8), (1, 2, 8)]
    columns = {
        "scheme": [one for one in schemes for _ in range(3)],
        "a_ns": [1e9 * one for each in values for one in each],
    }
    axes = spread_figure(spread_of(columns, "cdf", value="a_ns", by=["scheme"])).axes[0]
    lines = [one for one in axes.lines if len(one.get_xdata()) > 1]
    widths = [one.get_linewidth() for one in lines]
    assert widths == sorted({*widths}, reverse=True)
    assert [one.get_linestyle() for one in lines] == ["-", "--", "--"]
    lasts = [(one.get_xdata()[at], one.get_ydata()[at]) for one in lines for at in _last_mark(one)]
    assert lasts == [(5, 1), (8, 1), (8, 1)]


def _last_mark(line: Any) -> list[int]:
    return list(line.get_markevery()[-1:])


def test_a_cdf_of_values_far_apart_is_logarithmic() -> None:
    columns = {"a_ns": [1e9 * one for one in (1, 1.1, 1.2, 1.3, 40)]}
    axes = spread_figure(spread_of(columns, "cdf", value="a_ns")).axes[0]
    assert (axes.get_xscale(), axes.get_xlabel()) == ("log", "A (s, log)")
    columns = {"a_ns": [1e9 * one for one in (1, 1.1, 1.2, 1.3, 4)]}
    assert spread_figure(spread_of(columns, "cdf", value="a_ns")).axes[0].get_xscale() == "linear"


@pytest.mark.parametrize(
    ("names", "looks"),
    [
        # Of schemes each has its own, whatever stands beside it.
        (["sack", "enhanced", "freeze"], [0, 1, 2]),
        (["freeze", "sack"], [2, 0]),
        (["download, freeze", "backup, bbr-linux"], [2, 4]),
        # The first of two has it, and the other one takes none that a third scheme has.
        (["sack", "midflight", "enhanced"], [0, 2, 1]),
        (["mine", "sack", "1 s"], [1, 0, 2]),
        # Of a stack it is that of its controllers' senders.
        (["midflight", "quinn", "noq", "linux"], [0, 1, 2, 5]),
        (["noq-bbr", "download, quinn-cubic", "quic-newreno"], [2, 1, 0]),
        (["0.5 s", "1 s", "2 s"], [0, 1, 2]),
        ([str(one) for one in range(11)], [*range(9), 0, 1]),
        ([], []),
    ],
)
def test_looks_of_lines(names: list[str], looks: list[int]) -> None:
    assert looks_of(names) == looks


def test_a_scheme_has_one_look_in_every_figure() -> None:
    """Each scheme of the catalogue has a look of its own place, alone or joined by +."""
    for one in midflight.schemes():
        assert looks_of([one["name"]]) == looks_of(["1 s", one["name"]])[1:]
    assert looks_of(["freeze+westwood"]) == looks_of(["westwood+freeze"])
    columns: dict[str, list[Any]] = {
        "flows.download.scheme": ["freeze", "sack"] * 20,
        "handoffs.0.gap": ["1 s", "1 s", "2 s", "2 s"] * 10,
        "duration_ns": [one * 1e9 for one in (1, 2, 2, 3, 2, 3, 3, 4)] * 5,
    }
    colours = {SERIES[2].colour: "freeze", SERIES[0].colour: "sack"}
    how: Any = {"x": "handoffs.0.gap", "by": ["flows.download.scheme"]}
    figures = [axis_figure(axis_data(columns, y="duration_ns", **how))]
    for kind in ("box", "interval"):
        figures.append(spread_figure(spread_of(columns, kind, value="duration_ns", **how)))
    for figure in figures:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        drawn = {}
        for handle, label in zip(handles, labels, strict=True):
            # Of boxes it is that of their edges.
            box = isinstance(handle, BarContainer) and to_hex(handle.patches[0].get_edgecolor())
            drawn[box or handle.get_color()] = label
        assert drawn == colours


def test_texts_of_the_user_may_have_mathematics(tmp_path: Path) -> None:
    columns = {"a.$x$": ["$1$", "$2$"], "sent": [1.0, 2.0]}
    how: Any = {"x": "a.$x$", "y": "sent"}
    texts: Any = {"xlabel": "Gap $g + 1$ (s)", "ylabel": "$n$ or $m$", "title": "From $t_0$ on"}
    (axes,) = figure_of(plot_axis, columns, **how, **texts).axes
    for one in (axes.xaxis.label, axes.yaxis.label, axes.title):
        assert one.get_parse_math()
    (axes,) = axis_figure(axis_data(columns, **how)).axes
    assert not axes.xaxis.label.get_parse_math()
    out = tmp_path / "a.svg"
    plot_axis(columns, out, **how, **texts)
    # Comments have the texts as they were given.
    drawn = re.sub(r"<!--.*?-->", "", out.read_text(), flags=re.DOTALL)
    assert "$2$" in drawn
    assert drawn.count("$") == 4
    out = tmp_path / "a.pgf"
    plot_axis(columns, out, **how, **texts)
    assert r"\$2\$" in out.read_text()
    assert r"\$g" not in out.read_text()
    # A line is not broken within it, and a single dollar sign is none.
    assert wrapped("one $a + b$ two", 7.5, 1.0).splitlines() == ["one", "$a + b$", "two"]
    assert wrapped("5 $ or more", 7.5, 1.0).splitlines() == ["5", "$", "or", "more"]
    with pytest.raises(midflight.MidflightError, match=r"--title: .* cannot be typeset") as caught:
        axis_figure(axis_data(columns, **how), title=r"A $\nonsense$")
    assert (caught.value.name, "\n" in str(caught.value)) == ("--title", False)


def test_a_kept_quantity_may_be_written_in_another_way(swept: Path) -> None:
    """The axis is `0.2s` and `1s`; the figure names the values as the table does."""
    words = ["--x", "seed", "--y", "duration_ns", "--where"]
    usual = drawn(swept, *words, "handoffs.0.gap=0.2s")
    for other in ("200ms", "0.2 s", "0.20s"):
        assert drawn(swept, *words, f"handoffs.0.gap={other}") == usual
    assert drawn(swept, *words, "seed=2.0") == drawn(swept, *words, "seed=2")
    columns = read_columns(swept, "duration_ns")
    assert kept_values(columns, {"handoffs.0.gap": ["1000 ms", "3 s"]}) == {
        "handoffs.0.gap": ["1s", "3 s"]
    }
    with pytest.raises(midflight.MidflightError, match="=3 s: no row has that"):
        axis_data(columns, x="seed", y="duration_ns", where={"handoffs.0.gap": "3 s"})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_of_other_libraries_are_drawn(library: str, tmp_path: Path) -> None:
    made = pytest.importorskip(library)
    columns: dict[str, list[Any]] = {
        "handoffs.0.gap": ["1 s", "1 s", "2 s", "2 s"],
        "duration_ns": [1e9, None, 3e9, 4e9],
        "workload": [None] * 4,
    }
    of: Any = made.table if library == "pyarrow" else made.DataFrame
    files = []
    for number, source in enumerate((columns, of(columns))):
        csv = tmp_path / f"{number}.csv"
        plot_axis(source, tmp_path / "a.svg", x="handoffs.0.gap", y="duration_ns", csv=csv)
        files.append(csv.read_text())
        plot_spread(source, tmp_path / "a.svg", "cdf", value="duration_ns", csv=csv)
        files.append(csv.read_text())
    assert files[:2] == files[2:]
    assert "inf" in files[0]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    for source in (1, [1, 2], {"a"}, np.zeros((2, 2))):
        with pytest.raises(midflight.MidflightError, match="is not a table of results; expected"):
            plot_axis(source, tmp_path / "a.svg", x="a", y="b")


def test_names_of_columns_are_words() -> None:
    assert column_name("flows.download.cc") == "Congestion control of download"
    settings = [knob["name"] for one in midflight.workloads() for knob in one["knobs"]]
    assert settings
    for one in settings:
        assert "_" not in column_name(f"flows.page.set.{one}")


def test_what_never_ended_is_longer_than_all(tmp_path: Path) -> None:
    columns = {"a": ["x"] * 4, "duration_ns": [1e9, 2e9, None, None], "sent": [1, 2, None, None]}
    table = tmp_path / "a.csv"
    plot_spread(columns, tmp_path / "a.svg", "cdf", value="duration_ns", csv=table)
    assert [row["share"] for row in rows_of(table)] == ["0.25", "0.5"]
    plot_spread(columns, tmp_path / "a.svg", "cdf", value="sent", csv=table)
    assert [row["share"] for row in rows_of(table)] == ["0.5", "1"]
    plot_spread(columns, tmp_path / "a.svg", "box", x="a", value="duration_ns", csv=table)
    (row,) = rows_of(table)
    assert (row["high"], row["points"]) == ("inf", "1 2 inf inf")
    # The text above the figure says so, of the times alone.
    said = {
        (kind, value): spread_of(columns, kind, x="a", value=value).detail
        for kind in ("box", "interval")
        for value in ("duration_ns", "sent")
    }
    words = "; arrows: 2 runs that did not finish count as longest"
    assert said["box", "duration_ns"].endswith(words)
    assert said["interval", "duration_ns"].endswith("too short, without 2 runs that did not finish")
    assert not any("finish" in said[kind, "sent"] for kind in ("box", "interval"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--kind", "pie", "--value", "sent"], "there are median, cdf, box, interval, heatmap"),
        (["--kind", "boxes", "--x", "seed", "--y", "sent"], '(did you mean "box"?); there are med'),
        (["--kind", "cwnd,box", "--value", "sent"], "--kind cwnd is for a scenario; of results"),
        (["--kind", "cdf", "--value", "sent", "--x", "seed"], "the axis of a CDF is the measure"),
        (["--kind", "cdf", "--kind", "box", "--value", "sent"], "is of one kind"),
        (
            ["--kind", "cdf", "--value", "sentt"],
            '--y or --value: there is no column "sentt" (did you mean "sent"?)',
        ),
        (["--y", "sent", "--value", "sent", "--x", "seed"], "--y and --value name the same"),
        (["--x", "seed", "--y", "sent", "--xscale", "square"], '--xscale "square" is not accepted'),
        (["--x", "flow", "--y", "sent", "--xscale", "log"], "the axis has names, not numbers"),
        (["--x", "seed", "--y", "drops_early", "--yscale", "log"], "no value is above 0"),
        (["--kind", "cdf", "--value", "sent", "--yscale", "log"], "shares have a linear axis"),
        (
            ["--kind", "box", "--x", "seed", "--value", "sent", "--xscale", "log"],
            "--xscale log: boxes stand side by side",
        ),
    ],
)
def test_mistakes_with_results(
    args: list[str], said: str, swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.png"
    assert main(["plot", str(swept), *args, "--out", str(out)]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert said in error
    assert not out.exists()


def test_what_is_pooled_is_said_in_each_figure(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note says what a figure pools, and a map itself, too, unless nothing is pooled."""
    words = ["plot", str(swept), "--out", str(tmp_path / "some.png"), "--y"]
    of_map = [*words, "seed", "--kind", "heatmap", "--value", "duration_ns", "--x"]
    scheme, gap = "flows.download.scheme", "handoffs.0.gap"
    columns = read_columns(swept, "duration_ns")
    for axis, other in ((gap, "schemes"), (scheme, "gaps"), (f"{gap}_ns", "schemes")):
        assert main([*of_map, axis]) == 0
        # The compared schemes have a map each, unless they are an axis.
        assert ("note: pooled" in capsys.readouterr().err) == (axis == scheme)
        shown = spread_of(columns, "heatmap", value="duration_ns", x=axis, y="seed")
        assert f"medians; each cell: both {other}" in shown.detail
    assert main([*words, "duration_ns", "--x", gap, "--by", "flow"]) == 0
    # The compared schemes have lines beside those that are asked for.
    said = capsys.readouterr().err
    assert f"--by {scheme} --by flow" in said
    assert "note: pooled" not in said
    for by in ([], ["--by", scheme], ["--by", "scheme"]):
        assert main([*words, "duration_ns", "--x", gap, *by]) == 0
        said = capsys.readouterr().err
        assert "note: pooled" not in said
        assert f"--by {scheme} --by scheme" not in said
    assert main([*words, "duration_ns", "--x", "seed", "--by", scheme]) == 0
    note = f"note: pooled: 2 gaps; --where {gap}=VALUE keeps one"
    assert note in capsys.readouterr().err


def test_a_sweep_has_usual_figures(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its metric over the longest axis of numbers, the compared schemes apart; a note says so."""
    scheme, gap, out = "flows.download.scheme", "handoffs.0.gap", str(tmp_path / "usual.png")
    lines = f"--by {scheme}"
    for kind, what in (
        ("median", f"--x {gap} --y duration_ns {lines}"),
        ("box", f"--x {gap} --y duration_ns {lines}"),
        ("cdf", f"--value duration_ns {lines} --by {gap}"),
        ("heatmap", f"--x {gap} --y {scheme} --value duration_ns"),
    ):
        assert main(["plot", str(swept), "--kind", kind, "--out", out]) == 0
        assert f"note: the figure shows {what}\n" in capsys.readouterr().err
    # A setting that is kept has no line.
    words = ["plot", str(swept), "--where", f"{scheme}=sack", "--out", out]
    assert main(words) == 0
    assert f"note: the figure shows --x {gap} --y duration_ns\n" in capsys.readouterr().err
    # Python has the same; a table alone has none.
    for path in (plot_axis(swept, out, csv=tmp_path / "a.csv"), plot_spread(swept, out, "box")):
        assert path == Path(out)
    assert {row["measure"] for row in rows_of(tmp_path / "a.csv")} == {"ratio"}
    for draw in (
        lambda: plot_axis(swept / "flows.csv", out, y="sent"),
        lambda: plot_spread(swept / "flows.csv", out, "cdf"),
    ):
        with pytest.raises(midflight.MidflightError, match=" is missing; "):
            draw()
    assert main(["plot", str(swept / "flows.csv"), "--kind", "cdf", "--out", out]) == 2
    assert "give --value, the measurement" in capsys.readouterr().err
    assert main(["plot", str(swept / "flows.csv"), "--kind", "box", "--out", out]) == 2
    assert "give --x, the axis, and --y" in capsys.readouterr().err


def test_a_sweep_over_instants_has_a_line_for_each_scheme_over_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scheme, at, out = "flows.download.scheme", "handoffs.0.at", str(tmp_path / "x.png")
    axes = ["--axis", f"{scheme}=sack,enhanced", "--axis", f"{at}=0.1s:0.3s:0.1s"]
    assert main(["sweep", "wifi-to-lte", *axes, "--out", str(tmp_path / "out")]) == 0
    assert main(["plot", str(tmp_path / "out"), "--out", out]) == 0
    assert f"the figure shows --x {at} --y duration_ns --by {scheme}" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["median", "interval", "box"])
def test_schemes_on_an_axis_have_their_looks_and_no_legend(kind: str) -> None:
    schemes = ["sack", "freeze", "enhanced"]
    table = {
        "flows.download.scheme": [one for one in schemes for _ in range(12)],
        "seed": [str(one) for one in range(12)] * 3,
        "duration_ns": [1e9 * (first + one / 6) for first in (4, 2, 1) for one in range(12)],
    }
    scheme: Any = {"x": "flows.download.scheme"}
    if kind == "median":
        figure = figure_of(plot_axis, table, y="duration_ns", **scheme)
    else:
        figure = figure_of(plot_spread, table, kind, value="duration_ns", **scheme)
    assert figure.legends == []
    expected = {SERIES[one].colour for one in looks_of(schemes)}
    marks = [one for one in figure.axes[0].lines if one.get_marker() not in ("", "None", None)]
    if kind == "box":
        found = {to_hex(one.get_edgecolor()) for one in figure.axes[0].patches}
    else:
        found = {to_hex(one.get_markeredgecolor()) for one in marks}
    assert expected <= found
    assert len(expected) == 3


def test_a_figure_says_what_it_pools_of_the_rows_that_are_kept(swept: Path) -> None:
    scheme, gap = "flows.download.scheme", "handoffs.0.gap"
    columns = read_columns(swept, "duration_ns")
    behind = {
        False: "; each {}: 6 runs (3 seeds \N{MULTIPLICATION SIGN} 2 gaps)",
        True: " over 3 runs",
    }
    how: Any = {"value": "duration_ns"}
    for is_kept, words in behind.items():
        where = {gap: "1s"} if is_kept else {}
        # The same words in all kinds of figures.
        (axes,) = figure_of(plot_axis, columns, x=scheme, y="duration_ns", where=where).axes
        assert axes.texts[-1].get_text().replace("\n", " ").endswith(words.format("point"))
        shares = spread_of(columns, "cdf", by=[scheme], where=where, **how).detail
        assert shares == f"shares{words}".format("line")
        boxes = spread_of(columns, "box", x=scheme, where=where, **how).detail
        assert boxes == f"a point for each run and a line at the median{words}".format("line")
        means = spread_of(columns, "interval", x=scheme, where=where, **how).detail
        # Of each seed the gaps are averaged.
        behind_means = "3 seeds; each point: all 3 seeds \N{MULTIPLICATION SIGN} 2 gaps"
        over = "3 runs" if is_kept else behind_means
        assert means == f"mean and 95 % interval over {over}"
        one = spread_of(columns, "heatmap", x=scheme, y="flow", where=where, **how)
        assert one.detail == f"medians{words}".format("cell")
        assert "gaps" not in one.remark


def test_seeds_are_counted_only_where_all_points_have_all_combinations() -> None:
    """Two instants are left out with one of the rates, as of flows that were done before."""
    gaps, rates = ["1 s", "2 s", "3 s", "4 s"], ["5 Mbit/s", "9 Mbit/s"]
    cells = [(gap, rate, seed) for gap in gaps for rate in rates for seed in (1, 2, 3, 4)]
    for kept, words in (
        (cells, "each point: 32 runs (4 seeds x 4 gaps x 2 rates of a)"),
        (
            [one for one in cells if one[0] in gaps[:2] or one[1] == rates[0]],
            "each point: 24 runs of 4 gaps x 2 rates of a",
        ),
    ):
        gap, rate, seed = zip(*kept, strict=True)
        columns = {"handoffs.0.gap": gap, "links.a.rate": rate, "seed": seed}
        columns["duration_ns"] = [*range(1, len(kept) + 1)]
        pooled = pooled_words(columns, "duration_ns", set(), {}, counted="runs")
        said = over_words("medians", [len(kept)], "runs", pooled)
        assert said.replace("\N{MULTIPLICATION SIGN}", "x") == f"medians; {words}"


def test_an_axis_that_changes_with_a_shown_one_is_not_pooled() -> None:
    columns = {
        "handoffs.0.gap": ["1 s", "1 s", "2 s", "2 s"],
        "links.a.rate": ["5 Mbit/s", "5 Mbit/s", "9 Mbit/s", "9 Mbit/s"],
        "links.b.rate": ["1 Mbit/s", "2 Mbit/s", "1 Mbit/s", "2 Mbit/s"],
        "duration_ns": [1, 2, 3, 4],
    }
    found = pooled_axes(columns, "duration_ns", {"handoffs.0.gap"}, {})
    assert found == [("links.b.rate", 2)]


def test_a_report_does_not_pool_what_is_compared(tmp_path: Path) -> None:
    """Of several flows and schemes the figures show each flow; of a workload's metric its flow."""
    scenario = tmp_path / "two.toml"
    scenario.write_text(
        'end = "8 s"\nlinks.wifi.preset = "wifi"\nlinks.lte.preset = "lte"\n'
        'handoffs = [{ at = "1 s", to = "lte" }]\nflows.page.workload = "web"\n'
        'flows.bulk = { size = "1 MB", count = 6 }\n'
    )
    folder, out = tmp_path / "out", tmp_path / "sweep.html"
    words = ["sweep", str(scenario), "--compare", "flows.page.scheme", "--out", str(folder)]
    words += ["--axis", "flows.page.scheme=sack,enhanced", "--axis", "handoffs.0.gap=0.1s,1s"]
    assert main(words) == 0
    assert main(["report", str(folder), "--out", str(out)]) == 0
    # One run in each cell has no median.
    assert "<figcaption>Page load time over gap of the handoff.</figcaption>" in out.read_text()
    assert main(["report", str(folder), "--metric", "duration_ns", "--out", str(out)]) == 0
    # Each flow has its panel.
    text = out.read_text()
    assert "<figcaption>Transfer time over gap of the handoff.</figcaption>" in text


def test_the_report_of_a_sweep(swept: Path, tmp_path: Path) -> None:
    out = tmp_path / "sweep.html"
    assert main(["report", str(swept), "--out", str(out)]) == 0
    text = out.read_text()
    assert "12 runs: 4 combinations" in text
    # The comparison and the values; shares of runs would be of both gaps together.
    assert text.count("data:image/svg+xml") == 2
    # The output of the sweep: the medians of each group, and the comparison.
    for row in rows_of(swept / "comparison.csv"):
        assert f"{float(row['difference']) / 1e9:.4g}" in text
    for gap in ("0.2s", "1s"):
        mine = values(swept, flows__download__scheme="freeze", handoffs__0__gap=gap)
        assert f"<td>{quantile(mine, 0.5):.4g}</td>" in text
    assert re.search(r"https?://", text) is None
    assert main(["report", str(swept), "--metric", "goodput_bps", "--out", str(out)]) == 0
    assert "goodput in Mbit/s" in out.read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["SWEEP", "--metric", "speed"],
            '--metric "speed" is not a measurement; there are duration_ns',
        ),
        (["SWEEP", "--set", "end=1 s"], "holds a sweep that was run; --set is for a scenario"),
        (["SWEEP", "--out", "x.pdf"], '"x.pdf" is not the name of a report, which is an HTML file'),
        (["wifi-to-lte", "--out", "x.png"], "it may end in .html or .htm"),
        (["wifi-to-lte", "--metric", "rexmits"], "is a scenario; --metric is for a folder"),
        (["/proc", "--metric", "rexmits"], "is a folder without sweep.json"),
    ],
)
def test_mistakes_with_reports(
    args: list[str],
    said: str,
    swept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [str(swept) if one == "SWEEP" else one for one in args]
    words += [] if "--out" in words else ["--out", "x.html"]
    assert main(["report", *words]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("cells", "digits"),
    [
        ([4.731, 12.3, 5.0], 2),
        ([0.123, 120.0], 1),
        ([3.0, 120.0], 0),
        ([123.4, 245.6], 0),
        ([0.0], 0),
        ([-0.0512, 0.25], 4),
    ],
)
def test_the_numbers_of_a_map_have_as_many_decimals(cells: list[float], digits: int) -> None:
    assert decimals(np.array(cells)) == digits


def test_a_map_of_single_runs_has_no_medians() -> None:
    columns = {
        "a.x": ["1", "1", "2", "2"],
        "b.y": ["1", "2", "1", "2"],
        "duration_ns": [1, 2, 3, 4],
    }
    how: Any = {"value": "duration_ns", "x": "a.x", "y": "b.y"}
    assert spread_of(columns, "heatmap", **how).value_title == "Transfer time (s)"
    twice = {name: [*values, *values] for name, values in columns.items()}
    assert spread_of(twice, "heatmap", **how).value_title == "Transfer time (s), medians"
