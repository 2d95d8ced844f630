"""The looks of lines: colours and markers that tell senders apart, and samples in legends."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from numpy.typing import NDArray

from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.common.style import SERIES, Look, looks_of
from midflight.remark import ScenarioWarning

SCHEME, GAP = "flows.download.scheme", "handoffs.0.gap"

#: How people without one kind of cones see linear RGB (Machado and others, 2009), by that kind.
SEEN = {
    "all": np.eye(3),
    "no L": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no M": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no S": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
#: Linear RGB as X, Y and Z of the light that is white.
XYZ = [[0.4339, 0.3762, 0.1899], [0.2127, 0.7152, 0.0722], [0.0178, 0.1095, 0.8727]]


def lab(colour: str, seen: str = "all") -> NDArray[np.float64]:
    """A colour in CIELAB: its lightness of 100, and its hue."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(np.array(XYZ) @ np.clip(np.array(SEEN[seen]) @ linear, 0, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)]).clip(min=-200)


def looks(*names: str) -> list[Look]:
    return [SERIES[one] for one in looks_of(names)]


def rows(schemes: Sequence[str]) -> dict[str, Sequence[object]]:
    """Four runs of each scheme with each of three gaps."""
    each = [*itertools.product(schemes, ("0.2 s", "0.5 s", "1 s"), range(4))]
    times = [(1 + schemes.index(scheme)) * float(gap[:-2]) + run for scheme, gap, run in each]
    return {
        SCHEME: [scheme for scheme, *_ in each],
        GAP: [gap for _, gap, _ in each],
        "duration_ns": [1e9 * one for one in times],
    }


@pytest.mark.parametrize("seen", SEEN)
def test_colours_can_be_told_apart_by_everyone(seen: str) -> None:
    for a, b in itertools.combinations(SERIES, 2):
        assert np.linalg.norm(lab(a.colour, seen) - lab(b.colour, seen)) > 14


@pytest.mark.parametrize("seen", SEEN)
def test_senders_that_are_often_compared_differ_more(seen: str) -> None:
    for names in (
        ["sack", "cubic-linux", "reno-linux", "bbr-linux", "bbr3"],
        ["sack", "freeze", "vho-qs", "ehn"],
        ["sack", "enhanced", "vho-qs", "ehn"],
    ):
        each = [(one, lab(one.colour, seen)) for one in looks(*names)]
        for (a, first), (b, second) in itertools.combinations(each, 2):
            assert np.linalg.norm(first - second) > 16
            assert (a.marker, a.line) != (b.marker, b.line)


def test_both_versions_of_bbr_differ_in_grey() -> None:
    bbr, bbr3 = looks("bbr-linux", "bbr3")
    assert lab(bbr3.colour)[0] - lab(bbr.colour)[0] > 50
    assert bbr.filled != bbr3.filled


def test_no_marker_looks_like_a_box_or_a_bar() -> None:
    for look in SERIES:
        style = MarkerStyle(look.marker)
        sides = style.get_path().transformed(style.get_transform()).get_extents()
        assert 0.8 <= sides.width / sides.height <= 1.25


def test_lines_of_shares_have_their_dashes() -> None:
    """Solid ones would hide the long steps of those beneath them."""
    table = rows(["sack", "freeze", "vho-qs"])
    figure = figure_of(plot_spread, table, "cdf", value="duration_ns", by=[SCHEME])
    lines = [one for one in figure.axes[0].get_lines() if len(one.get_xdata()) > 2]
    assert len(lines) == 3
    assert [one.is_dashed() for one in lines] == [False, True, True]
    assert len({(one.get_color(), str(one.get_marker())) for one in lines}) == 3


def test_samples_of_broken_lines_show_their_gaps() -> None:
    table = rows(["sack", "vho-qs", "cubic-linux"])
    figure = figure_of(plot_axis, table, x=GAP, y="duration_ns", by=[SCHEME])
    samples = figure.legends[0].get_lines()
    assert sum(one.is_dashed() for one in samples) == 2
    for one in samples:
        ends = np.ptp(one.get_xdata())
        # The marker hides the middle, of a broken line less than half.
        assert not one.is_dashed() or ends > 3 * one.get_markersize()


def crowded(**how: object) -> Figure:
    """Lines at every height of the panel, with a legend inside."""
    schemes = ["sack", "freeze", "vho-qs", "enhanced"]
    each = [*itertools.product(schemes, (f"{one} s" for one in range(1, 10)))]
    table = {
        SCHEME: [scheme for scheme, _ in each],
        GAP: [gap for _, gap in each],
        "duration_ns": [1e9 * (1 + schemes.index(scheme)) for scheme, _ in each],
    }
    more: Any = {"x": GAP, "y": "duration_ns", "by": [SCHEME], "legend": "inside", **how}
    figure = figure_of(plot_axis, table, size=(4, 2.5), **more)
    figure.canvas.draw()
    return figure


@pytest.mark.parametrize("yscale", ["linear", "log"])
def test_an_axis_grows_where_a_legend_would_cover_data(yscale: str) -> None:
    (axes,) = crowded(yscale=yscale).axes
    legend = axes.get_legend()
    assert legend is not None
    assert axes.get_ylim()[1] > 5
    box = legend.get_window_extent()
    for line in axes.get_lines():
        x, y = axes.transData.transform(line.get_xydata()).T
        assert not ((x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)).any()


def test_a_command_prints_a_note_on_a_legend_without_room(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "results.csv", tmp_path / "out.png"
    each = itertools.product(["sack", "freeze", "vho-qs", "enhanced"], range(1, 10))
    lines = [f"{scheme},{gap} s,{gap}e9" for scheme, gap in each]
    table.write_text("\n".join([f"{SCHEME},{GAP},duration_ns", *lines, ""]))
    args = ["plot", str(table), "--kind", "cdf", "--value", "duration_ns", "--by", SCHEME]
    assert main([*args, "--size", "3", "--legend", "inside", "--out", str(out)]) == 0
    said = capfd.readouterr().err.splitlines()
    assert "midflight: note: --legend inside: there is no room that is free of data" in said[0]
    assert all(line.startswith("midflight: note: ") for line in said)


def test_a_legend_without_room_inside_is_outside() -> None:
    with pytest.warns(ScenarioWarning, match="--legend inside: there is no room"):
        figure = crowded(ylim=(0, 4.2))
    assert figure.axes[0].get_legend() is None
    assert figure.axes[0].get_ylim() == (0, 4.2)
    (legend,) = figure.legends
    # The panel makes room for it.
    figure.draw_without_rendering()
    assert legend.get_window_extent().y0 > figure.axes[0].get_window_extent().y1
    # A corner is where it is asked for.
    (axes,) = crowded(legend="upper-left").axes
    assert axes.get_legend() is not None
    assert axes.get_ylim()[1] < 5
