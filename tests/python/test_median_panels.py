"""Medians of sweeps over several settings: panels, not settings together."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from midflight import MidflightError
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread

SCHEME, GAP, RATE = "flows.download.scheme", "handoffs.0.gap", "links.lte.rate"
SCHEMES, GAPS = ("sack", "freeze", "enhanced"), ("0.2s", "0.5s", "1s")


def swept(folder: Path, rates: int) -> Path:
    each = ",".join(f"{2 + one}Mbit/s" for one in range(rates))
    axes = [f"{SCHEME}={','.join(SCHEMES)}", f"{GAP}=0.2s:3s:0.4s", f"{RATE}={each}"]
    words = ["sweep", "wifi-to-lte", "--out", str(folder)]
    assert main([*words, *(word for axis in axes for word in ("--axis", axis))]) == 0
    return folder


def table_of(rates: dict[str, float], **more: float) -> dict[str, list[object]]:
    """Transfer times, of about these seconds at each rate."""
    each = [*product(rates, SCHEMES, range(1, 4))]
    return {
        RATE: [rate for rate, _, _ in each],
        SCHEME: [scheme for _, scheme, _ in each],
        GAP: [f"{gap} s" for _, _, gap in each],
        "duration_ns": [
            1e9 * (rates[rate] + more.get(rate, 0.1) * gap + 0.02 * SCHEMES.index(scheme))
            for rate, scheme, gap in each
        ],
    }


HOW: Any = {"x": GAP, "y": "duration_ns", "by": [SCHEME, RATE]}


def test_a_setting_with_few_values_has_panels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out, table = swept(tmp_path / "out", 3), tmp_path / "x.svg", tmp_path / "x.csv"
    capsys.readouterr()
    words = ["plot", str(folder), "--out", str(out), "--csv", str(table)]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert f"--x {GAP} --y duration_ns --by {SCHEME} --by {RATE}" in said
    assert "pooled" not in said
    names = [f"Rate of lte {one} Mbit/s" for one in (2, 3, 4)]
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "flows.csv").open(newline="") as file:
        known = list(csv.DictReader(file))
    assert len(rows) == len(known)
    for row in known:
        (mine,) = (
            one
            for one in rows
            if one[RATE] == row[RATE]
            and one["line"] == row[SCHEME]
            and float(one[GAP]) == pytest.approx(float(row[f"{GAP}_ns"]) / 1e9)
        )
        assert float(mine["median"]) == pytest.approx(float(row["duration_ns"]) / 1e9)
    # The options of the note, and Python, draw the same.
    again = tmp_path / "again.svg"
    options = ["--x", GAP, "--y", "duration_ns", "--by", SCHEME, "--by", RATE]
    assert main([*words[:2], *options, "--out", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()
    figure = figure_of(plot_axis, folder)
    assert [axes.get_title() for axes in figure.axes] == names
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    (legend,) = figure.legends
    shown = [one.get_text() for one in legend.get_texts()]
    assert [one for one in shown if one in ("freeze", "enhanced")] == ["freeze", "enhanced"]
    assert len({to_hex(one.get_color()) for one in figure.axes[0].lines}) == len(SCHEMES)


def test_a_setting_with_many_values_is_pooled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = swept(tmp_path / "out", 7)
    capsys.readouterr()
    assert main(["plot", str(folder), "--out", str(tmp_path / "x.png")]) == 0
    assert "pooled: 7 rates of lte; --where" in capsys.readouterr().err


def test_few_lines_are_in_one_panel() -> None:
    table = table_of({"2 Mbit/s": 3.0, "3 Mbit/s": 2.0})
    assert len(figure_of(plot_axis, table, **HOW).axes) == 1
    table = table_of({"2 Mbit/s": 3.0, "3 Mbit/s": 2.0, "4 Mbit/s": 1.0})
    assert len(figure_of(plot_axis, table, **HOW).axes) == 3
    with pytest.raises(MidflightError, match="21 lines cannot be distinguished"):
        figure_of(plot_axis, table_of({f"{one} Mbit/s": 2.0 for one in range(2, 9)}), **HOW)


def test_panels_whose_lines_would_be_flat_have_axes_of_their_own() -> None:
    rates = {"2 Mbit/s": 90.0, "3 Mbit/s": 40.0, "4 Mbit/s": 10.0}
    figure = figure_of(plot_axis, table_of(rates), **HOW)
    assert len({axes.get_ylim() for axes in figure.axes}) == 3
    for axes in figure.axes:
        values = [float(one) for line in axes.lines for one in line.get_ydata()]
        assert max(values) - min(values) > 0.8 * (axes.get_ylim()[1] - axes.get_ylim()[0])
    said = "".join(one.get_text() for one in figure.findobj(Text) if isinstance(one, Text))
    assert "each panel has an axis of its own" in said
    for more in ({"yscale": "linear"}, {"ylim": (0, 100)}):
        figure = figure_of(plot_axis, table_of(rates), **HOW, **more)
        assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_the_legend_of_panels_does_not_cover_their_title() -> None:
    table = table_of({"2 Mbit/s": 3.0, "3 Mbit/s": 2.0, "4 Mbit/s": 1.0})
    figure = figure_of(plot_axis, table, **HOW, title="Three rates")
    figure.draw_without_rendering()
    (legend,) = figure.legends
    (title,) = (one for one in figure.findobj(Text) if one.get_text() == "Three rates")
    assert not legend.get_window_extent().overlaps(title.get_window_extent())


def test_a_line_is_the_same_as_another_one_only_if_it_is_in_all_panels() -> None:
    table = table_of({"2 Mbit/s": 3.0, "3 Mbit/s": 2.0, "4 Mbit/s": 1.0})
    sack = [float(str(one)) for one in table["duration_ns"]]
    for apart in (False, True):
        table["duration_ns"] = [
            sack[place - 3]
            if scheme == "freeze" and not (apart and rate[0] == "3")
            else sack[place]
            for place, (scheme, rate) in enumerate(
                zip(map(str, table[SCHEME]), map(str, table[RATE]), strict=True)
            )
        ]
        figure = figure_of(plot_axis, table, **HOW)
        shown = [one.get_text() for one in figure.legends[0].get_texts()]
        assert ("freeze (same as sack)" in shown) == (not apart)


def test_a_line_has_one_width_in_all_panels() -> None:
    table = table_of({"1 Mbit/s": 20.0, "2 Mbit/s": 10.0, "4 Mbit/s": 5.0}, **{"1 Mbit/s": 5.0})
    # Lines coincide in the first panel alone.
    table["duration_ns"] = [
        time * (1 + (rate != "1 Mbit/s") * SCHEMES.index(str(scheme)))
        for time, rate, scheme in zip(
            map(float, map(str, table["duration_ns"])), table[RATE], table[SCHEME], strict=True
        )
    ]
    axes = figure_of(plot_axis, table, **HOW).axes
    widths = [[one.get_linewidth() for one in each.get_legend_handles_labels()[0]] for each in axes]
    assert len(widths) == 3
    assert widths[0] == widths[1] == widths[2]
    assert len({*widths[0]}) > 1


def test_panels_of_phases_say_what_they_follow() -> None:
    table = table_of({"1": 3.0, "2": 5.0, "3": 8.0})
    table["phase"], table["kind"] = table.pop(RATE), ["handoff"] * len(table[GAP])
    how: Any = {"x": GAP, "by": [SCHEME, "phase"]}
    names = ["After handoff 1", "After handoff 2", "After handoff 3"]
    figure = figure_of(plot_axis, table, y="duration_ns", **how)
    assert [axes.get_title() for axes in figure.axes] == names
    figure = figure_of(plot_spread, table, "box", value="duration_ns", **how)
    assert [axes.get_title() for axes in figure.axes] == names
