"""Tables of a sweep's results in Python are drawn as the folder is, without arguments."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from midflight import MidflightError, Sweep
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.sweep import SweepOutcome

SCHEME, GAP, AT = "flows.download.scheme", "handoffs.0.gap", "handoffs.0.at"
AXES = {SCHEME: ["sack", "freeze", "enhanced"], GAP: ["0.2 s", "0.5 s", "1 s"], AT: ["0.4 s"]}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SweepOutcome:
    """A sweep with a comparison, whose metric is in the table of phases."""
    sweep = Sweep.of("wifi-to-lte", {**AXES, "seed": "1:2:1"}, compare=SCHEME, metric="all_new_ns")
    return sweep.run(tmp_path_factory.mktemp("sweep") / "out")


def texts(source: Any, kind: str | None = None, **how: Any) -> list[str]:
    """All texts of a figure."""
    if kind is None:
        drawn = figure_of(plot_axis, source, **how)
    else:
        drawn = figure_of(plot_spread, source, kind, **how)
    return [one.get_text() for one in drawn.findobj(Text)]


@pytest.mark.parametrize("kind", [None, "cdf", "box", "interval", "heatmap"])
def test_a_whole_table_is_drawn_as_its_folder_is(found: SweepOutcome, kind: str | None) -> None:
    """With its measurement, its axis and its lines, in any order of the rows."""
    flows, phases = found.to_pandas(), found.to_pandas(phases=True)
    expected = texts(found.folder, kind)
    for source in (found.flows, found.phases, flows, phases, flows.sort_values("digest")):
        assert texts(source, kind) == expected


def test_a_part_of_a_table_shows_its_values(found: SweepOutcome) -> None:
    """Over the usual axis, with a line for each scheme that is in it, as with --where."""
    flows, phases = found.to_pandas(), found.to_pandas(phases=True)
    some = {SCHEME: ["sack", "freeze"]}
    for table, metric in ((flows, "duration_ns"), (phases, "all_new_ns")):
        part = table[table[SCHEME].isin(some[SCHEME])]
        how: dict[str, Any] = {"x": GAP, "y": metric, "by": [SCHEME]}
        assert texts(part) == texts(part, y=metric) == texts(part, **how)
        # Gaps are the only axis that is left.
        alone = table[table[SCHEME] == "freeze"]
        assert texts(alone) == texts(alone, x=GAP, y=metric, by=[])
    part = flows[flows[SCHEME].isin(some[SCHEME])]
    kept = texts(found.folder, "box", value="duration_ns", where=some)
    assert {*texts(part, "box")} == {*kept}
    # Another value is no result of the folder.
    changed = flows.assign(duration_ns=flows["duration_ns"] * 2)
    assert texts(changed) == texts(changed, x=GAP, y="duration_ns", by=[SCHEME])
    # So is a column of one's own.
    own = flows.assign(mine=flows["timeouts"] + 1)
    assert "mine" in " ".join(texts(own, x="mine")).lower()


def test_the_comparison_is_a_table_that_is_drawn_as_its_file_is(found: SweepOutcome) -> None:
    """With the columns of the file, as a table of the sweep or of another library."""
    table = found.comparison
    frame, file = table.to_pandas(), found.folder / "comparison-all_new_ns.csv"
    with file.open(newline="") as text:
        head, *rows = csv.reader(text)
    assert list(frame.columns) == head
    assert len(frame) == len(rows) == 6
    assert [*frame["ratio"]] == [float(row[head.index("ratio")]) for row in rows]
    expected = texts(found.folder)
    assert texts(file) == texts(table) == texts(frame) == texts(table, y="ratio") == expected
    # Some rows, and a table that knows no sweep, are drawn so, too.
    some = frame[frame["value"] == "freeze"]
    assert any("freeze" in one for one in texts(some))
    assert not any("enhanced" in one for one in texts(some))
    plain = {name: list(frame[name]) for name in frame}
    assert texts(plain, "interval", value="difference")[-3:] == texts(frame, y="difference")[-3:]
    bare = Sweep.of("wifi-to-lte", {AT: ["0.4 s", "0.5 s"]}).run(found.folder.parent / "bare")
    with pytest.raises(MidflightError, match=r"no comparison.*compare=AXIS"):
        _ = bare.comparison


def test_the_only_axis_of_a_table_is_drawn_and_of_several_the_error_names_them() -> None:
    times = {"duration_ns": [1e9, 2e9, 3e9, 4e9]}
    one = {"size": [1, 2, 1, 2], "same": [5] * 4, **times}
    assert texts(one, y="duration_ns") == texts(one, x="size", y="duration_ns")
    assert texts(one, "box", value="duration_ns") == texts(
        one, "box", x="size", value="duration_ns"
    )
    several = {**one, "links.a.rate": ["1 Mbit/s", "2 Mbit/s"] * 2, "seed": [1, 2, 3, 4]}
    with pytest.raises(
        MidflightError, match=r"^x is missing; expected one of links\.a\.rate, seed$"
    ):
        figure_of(plot_axis, several, y="duration_ns")
    kept = texts(several, y="duration_ns", by=["seed"])
    assert kept == texts(several, x="links.a.rate", y="duration_ns", by=["seed"])


def test_the_error_for_a_measurement_names_the_table_that_has_it(found: SweepOutcome) -> None:
    """Only if there is one."""
    flows, phases = found.to_pandas(), found.to_pandas(phases=True)
    assert "all_new_ns" in phases
    assert "all_new_ns" not in flows
    for source, metric, where in (
        (found.flows, "all_new_ns", r"found\.phases, or found\.to_pandas\(phases=True\)"),
        (flows, "first_new_ns", r"found\.phases"),
        (phases, "duration_ns", r"found\.flows, or found\.to_pandas\(\)"),
    ):
        with pytest.raises(MidflightError, match=f'no column "{metric}".*{where}'):
            figure_of(plot_axis, source, y=metric)
        with pytest.raises(MidflightError, match=where):
            figure_of(plot_spread, source, "cdf", value=metric)
    with pytest.raises(MidflightError, match=r'^y: there is no column "nonsense"'):
        figure_of(plot_axis, flows, y="nonsense")


def test_maps_of_a_paper_that_are_higher_than_a_page_have_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schemes, gaps = ("sack", "vho", "freeze", "vho-qs"), range(8)
    places = [(one, gap, at) for one in schemes for gap in gaps for at in range(11)]
    rows = [f"{one},{gap} s,{at} s,{gap + 1}131000000" for one, gap, at in places]
    table = tmp_path / "flows.csv"
    table.write_text("\n".join(["scheme,gap,at,duration_ns", *rows]))
    words = ["plot", str(table), "--kind", "heatmap", "--x", "gap", "--y", "at", "--style", "paper"]
    words += ["--value", "duration_ns", "--by", "scheme", "--out", str(tmp_path / "a.pdf")]
    for more, is_high in (([], True), (["--size", "double"], False)):
        assert main([*words, *more]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert ("more than a page of a paper; --size double" in said) == is_high
