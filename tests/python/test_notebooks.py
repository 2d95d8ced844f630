"""What runs, scenarios and sweeps show of themselves in a notebook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import midflight
from midflight import Scenario
from midflight.cli import main
from midflight.sweep import Sweep
from midflight.sweep_report import headed

SCHEME = "flows.download.scheme"

pytestmark = pytest.mark.filterwarnings("error")


def test_notebooks_show_runs_and_sweeps() -> None:
    outcome = Scenario.read("wifi-to-lte").run()
    text = outcome._repr_html_()
    assert "<td>download</td>" in text
    assert "goodput in Mbit/s" in text
    assert "seconds until the first and until 100 packets" in text
    assert "<svg" in text
    assert ">Throughput<" in text
    run = outcome.plan.setup(0)._repr_html_()
    assert "<td>handoff</td><td>wifi</td><td>lte</td>" in run
    assert "<svg" in run
    axes = {"flows.download.scheme": ["sack", "<b>"], "seed": [1, 2, 3]}
    with pytest.raises(midflight.MidflightError):
        midflight.Sweep.of(Scenario.read("wifi-to-lte"), axes)
    axes["flows.download.scheme"] = ["sack", "freeze"]
    sweep = midflight.Sweep.of(Scenario.read("wifi-to-lte"), axes)
    assert "6 cells" in sweep._repr_html_()
    assert (
        '<td>Seed</td><td style="text-align: right">3</td><td>1, 2, 3</td>' in sweep._repr_html_()
    )
    text = Scenario.read("wifi-to-lte")._repr_html_()
    for cell in ("lte", "download", "handoff to lte", "break before make, 2 s without a link"):
        assert f"<td>{cell}</td>" in text
    assert "no link for 2 s" in text
    own = midflight.Scenario.from_dict(
        {"links": {"a": {"preset": "lte"}}, "flows": {"b": {"scheme": "mine"}}}
    )
    assert "there is no scheme &quot;mine&quot;" in own._repr_html_()


def test_a_sweep_in_a_notebook_names_what_has_all_lines(tmp_path: Path) -> None:
    axes = {SCHEME: ["sack", "enhanced", "freeze"], "handoffs.0.gap": "0.1s:2s:0.1s"}
    sweep = Sweep.of(Scenario.read("wifi-to-lte"), axes, compare=SCHEME)
    text = sweep.run(tmp_path / "out")._repr_html_()
    table, effects = re.findall("<table>.*?</table>", text)
    assert effects.count("<tr>") == 4
    # As many of each value, the first and the last ones, and a line of dots.
    assert table.count("<tr>") == 23
    assert table.count("<td>freeze</td>") == table.count("<td>enhanced</td>") == 10
    folder = tmp_path / "out"
    said = "20 of 40 lines are left out where &quot;...&quot; is (gap: 0.6 s to 1.5 s)"
    assert said in text
    assert f"; the report (midflight report {folder}) has all</p>" in text
    assert main(["report", str(folder), "--out", str(tmp_path / "report.html")]) == 0


def test_tables_of_results_show_their_first_rows(tmp_path: Path) -> None:
    axes = {SCHEME: ["sack", "enhanced"], "handoffs.0.at": "0.05s:0.6s:0.05s"}
    made = Sweep.of(Scenario.read("wifi-to-lte"), axes, compare=SCHEME).run(tmp_path / "out")
    text = made.flows._repr_html_()
    assert text.count("<tr>") == 21
    assert text.endswith("<p>... and 4 more</p>")
    compared = made.comparison._repr_html_()
    (ratio,) = made.comparison.column("ratio")
    assert f">{ratio:.6g}</td>" in compared
    assert "None" not in compared


def test_numbers_of_a_column_of_results_have_as_many_decimals() -> None:
    head = ["flow", "links.lte.rate", "runs", "difference", "+-", "%"]
    lines = [
        ["a", "0.25", "9", "-0.2773", "0.0001462", "-3.0"],
        ["a", "1", "10", "-3e-05", "-", "1"],
    ]
    found = headed([head, *lines])
    assert found[1:] == [
        ["0.25", "9", "-0.2773", "0.0001", "-3.0"],
        # Not 0.0000, which it is not.
        ["1", "10", ">-0.0001", "-", "1"],
    ]
