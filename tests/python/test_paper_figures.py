"""Figures for papers: fonts, sizes, PGF, and styles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight.cli import main
from midflight.plot import figure_of, plot_over_time, plot_run
from midflight.plot.common.pgf import tex_width
from midflight.plot.common.style import COLUMN_IN, FONTS, STYLES, chosen_style, figure_bytes
from midflight.plot.over_time.history import histories
from midflight.plot.over_time.run import run_figure

pytestmark = pytest.mark.filterwarnings("error")


def test_figures_for_papers(tmp_path: Path) -> None:
    files = {}
    for name in ("a.pdf", "a.svg", "a.pgf", "b.pgf"):
        files[name] = tmp_path / name
        words = ["plot", "wifi-to-lte", "--kind", "throughput,queue", "--style", "paper"]
        assert main([*words, "--out", str(files[name])]) == 0
    pdf = files["a.pdf"].read_bytes()
    assert b"STIXGeneral" in pdf
    assert b"/Type3" not in pdf
    svg = files["a.svg"].read_text()
    assert re.search(r"<text[^>]*>Throughput</text>", svg)
    assert re.search(r'width="(\d+)pt"', svg)[1] == f"{72 * COLUMN_IN:.0f}"  # type: ignore[index]
    pgf = files["a.pgf"].read_text()
    assert pgf == files["b.pgf"].read_text()
    assert pgf.count(r"\begin{pgfscope}") == pgf.count(r"\end{pgfscope}")
    assert r"\pgfqpoint{3.500000in}" in pgf
    assert "Time (s)" in pgf
    assert "includegraphics" not in pgf
    out = tmp_path / "latex.pdf"
    plot_run("wifi-to-lte", out, size="single", look="paper", font="latex")
    data = out.read_bytes()
    assert b"Cmr10" in data or b"cmr10" in data
    assert b"/Type3" not in data


def test_a_figure_for_a_paper_names_its_schemes_as_others_do() -> None:
    runs = histories("wifi-to-lte", schemes=["sack", "freeze"])
    titles = []
    for look in STYLES:
        with chosen_style(look):
            drawn = run_figure(runs[:1]), run_figure(runs, size="double")
        titles.append([[axes.get_title(loc="left") for axes in one.axes[:2]] for one in drawn])
    both = ["sack (CUBIC)", "freeze"]
    assert titles == [[["sack (CUBIC)", ""], both]] * 2


@pytest.mark.parametrize("font", FONTS)
def test_lines_of_a_label_are_as_far_apart_in_each_font(font: str) -> None:
    figure = figure_of(plot_over_time, "wifi-to-lte", ["throughput"], font=font)
    figure.set_layout_engine("none")
    with chosen_style(font=font):
        drawn = figure_bytes(figure, ".svg").decode()
    places = re.findall(r'<text [^>]*transform="translate\(([\d.]+) [^>]*>(\w+|\(Mbit/s\))<', drawn)
    found = {text: float(at) for at, text in places}
    assert found["(Mbit/s)"] - found["Throughput"] == pytest.approx(1.2 * 7.5, abs=0.3)


def test_a_document_has_room_for_its_letters() -> None:
    """Widths of cmr7 and cmr6, which LaTeX takes for letters of 6.5 pt, from their metrics."""
    # a, c, d, e, h, n in units of their sizes.
    cmr = {
        7.0: dict(zip("acdehn", (0.5694, 0.5069, 0.6319, 0.5069, 0.6319, 0.6319), strict=True)),
        6.0: dict(zip("acdehn", (0.6111, 0.5463, 0.6759, 0.5463, 0.6759, 0.6759), strict=True)),
    }
    for size, widths in cmr.items():
        expected = size * sum(widths[one] for one in "enhanced")
        assert tex_width("enhanced", size) == pytest.approx(expected, rel=0.03)
    for font in ("serif", "latex"):
        how: Any = {
            "look": "paper",
            "font": font,
            "legend": "inside",
            "labels": {"sack": "enhanced"},
        }
        figure = figure_of(plot_over_time, "wifi-to-lte", ["throughput"], **how)
        figure.set_layout_engine("none")
        with chosen_style("paper", font):
            drawn = figure_bytes(figure, ".pgf").decode()
        legend = figure.axes[1].get_legend()
        assert legend is not None
        names = [text.get_text() for text in legend.get_texts()]
        wide = max(tex_width(one, 6.5) for one in names)
        frame = legend.get_frame().get_width() * 72 / figure.dpi
        assert frame > wide + 6.5 * 2.6
        # The two lines of a label: 1.2 sizes apart.
        places = re.findall(r"\\pgftext\[x=([\d.]+)in.*?(?:Throughput|\(Mbit/s\))\}", drawn)
        first, second = (float(one) * 72 for one in places)
        assert second - first == pytest.approx(1.2 * 7.5, rel=0.05)


def test_letters_that_latex_takes_for_its_own(tmp_path: Path) -> None:
    out = tmp_path / "a.pgf"
    columns = {"x#_%": ["a&b", "c$d"], "sent": [1.0, 2.0]}
    midflight.plot.plot_axis(columns, out, x="x#_%", y="sent")
    text = out.read_text()
    assert r"a\&b" in text
    assert r"c\$d" in text
    assert r"X\#" in text


def test_the_style_ends_with_its_context() -> None:
    import matplotlib as mpl

    from midflight.plot.common.style import style

    with chosen_style("paper"), style():
        assert mpl.rcParams["font.family"][0] == "STIXGeneral"
    with style():
        assert mpl.rcParams["font.family"][0] == "DejaVu Sans"


@pytest.mark.parametrize(
    ("kinds", "most_in"), [(["throughput"], 2.5), (["throughput", "cwnd"], 3.2)]
)
def test_panels_of_a_paper_are_low_and_its_legend_has_short_words(
    kinds: list[str], most_in: float
) -> None:
    """Lines have a row of their own, and marks the words that fit a column."""
    how: Any = {"schemes": ["sack", "enhanced"], "look": "paper"}
    figure = figure_of(plot_over_time, "wifi-to-lte", kinds, **how)
    width, height = figure.get_size_inches()
    assert width == 3.5
    assert height < most_in
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words[:2] == ["sack (CUBIC)", "enhanced"]
    assert not any(one.startswith(("done at", "rate of the link")) for one in words)
    named = {**how, "labels": {"rate of the link": "capacity"}}
    (legend,) = figure_of(plot_over_time, "wifi-to-lte", ["throughput"], **named).legends
    assert "capacity" in [text.get_text() for text in legend.get_texts()]
