"""Percentiles over the flows of an entry: by hand, as a metric of a sweep, and in figures."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from midflight.cli import main
from midflight.percentiles import PERCENTILES, alike, percentile_columns, percentile_rows
from midflight.results import quantile

LOAD = """\
end = "20 s"
links.lte.preset = "lte"
[flows.load]
size = "exponential 50 kB"
count = 40
stagger = "poisson 100 ms"
[flows.background]
size = "200 kB"
"""


PAGES = """\
workload = "web"
count = 2
set = { web_connections = 2 }
"""


def test_percentiles_by_hand() -> None:
    rows = [
        {"cell": cell, "run": "0", "flow": flow, "entry": flow[0], "duration_ns": took}
        | {"finished_ns": took}
        for cell, times in (("0", ["1", "2", "3", "4", "5"]), ("1", ["7", "9", "", "8", "6"]))
        for flow, took in zip(["a-0", "a-1", "a-2", "a-3", "b"], times, strict=True)
    ]

    def found(metric: str) -> list[tuple[str, str, str, str]]:
        each = percentile_rows(rows, metric)
        return [(row["cell"], row["flow"], row[metric], row["finished_ns"]) for row in each]

    first = [("0", "a", "2.5", "4"), ("0", "b", "5.0", "5")]
    # 7, 8, 9 and one that never ended: their median is between two that did.
    assert found("duration_median_ns") == [*first, ("1", "a", "8.5", ""), ("1", "b", "6.0", "6")]
    assert [one[2] for one in found("duration_max_ns")] == ["4.0", "5.0", "", "6.0"]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert percentile_columns(columns, "duration_max_ns")["duration_max_ns"] == [
        *("4.0", "5.0", "", "6.0")
    ]
    names = [("load", "load-12"), ("load-1", "load-1"), ("load-1", "load-1-2"), ("p", "p-3-c1")]
    assert [alike(*one) for one in names] == ["load", "load-1", "load-1", "p-c1"]


def test_entries_with_numbered_names_are_not_alike(tmp_path: Path) -> None:
    """A number at the end of an entry's name is not that of a flow of a `count`."""
    flows = "".join(f'[flows.tcp-{n}]\nsize = "{n}00 kB"\n' for n in (1, 2))
    file = tmp_path / "two.toml"
    file.write_text(f'end = "20 s"\nlinks.lte.preset = "lte"\n{flows}[flows.web]\n{PAGES}')
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 0
    with (tmp_path / "out" / "flows.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    found = {row["flow"]: row for row in percentile_rows(rows, "duration_max_ns")}
    for one in ("tcp-1", "tcp-2"):
        (row,) = (row for row in rows if row["flow"] == one)
        assert float(found[one]["duration_max_ns"]) == float(row["duration_ns"]) > 0
    assert found["tcp-1"]["duration_max_ns"] != found["tcp-2"]["duration_max_ns"]
    # Both pages have two connections; the first one has the load time.
    loads = {row["flow"]: row for row in percentile_rows(rows, "load_max_ns")}
    assert list(loads) == ["web-c0", "web-c1"]
    each = [float(row["load_ns"]) for row in rows if row["load_ns"]]
    assert len(each) == 2
    assert float(loads["web-c0"]["load_max_ns"]) == max(each)


def test_a_sweep_summarises_and_draws_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary has one line for the entry, with the percentiles of what flows.csv says."""
    (tmp_path / "load.toml").write_text(LOAD)
    out = tmp_path / "swept"
    words = ["sweep", str(tmp_path / "load.toml"), "--axis", "seed=1,2,3", "--out", str(out)]
    words += ["--axis", "flows.load.scheme=sack"]
    assert main([*words, "--metric", "duration_p95_ns", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [(one["flow"], one["runs"]) for one in groups] == [("load", 3), ("background", 3)]
    with (out / "flows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    each = []
    for seed in "123":
        took = [
            float(row["duration_ns"] or math.inf)
            for row in rows
            if row["seed"] == seed and row["flow"].startswith("load-")
        ]
        assert len(took) == 40
        each.append(quantile(took, 0.95))
    assert len(set(each)) == 3
    assert groups[0]["median"] == pytest.approx(sorted(each)[1])
    # A figure has the same values, and lines by the entries.
    table = tmp_path / "drawn.csv"
    plot = ["plot", str(out), "--kind", "cdf", "--value", "duration_p95_ns", "--csv", str(table)]
    assert main([*plot, "--where", "flow=load", "--out", str(tmp_path / "a.png")]) == 0
    with table.open(newline="") as file:
        drawn = [float(row["value"]) for row in csv.DictReader(file)]
    assert drawn == pytest.approx([one / 1e9 for one in sorted(each)])
    for metric in PERCENTILES:
        if metric.startswith("duration"):
            assert main([*words, "--metric", metric]) == 0
    assert "the longest of the completion times" in capsys.readouterr().out


def test_load_times_are_of_pages_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The requests of a page, which are a flow of their own, have no load time."""
    (tmp_path / "pages.toml").write_text(
        'end = "30 s"\nlinks.lte.preset = "lte"\n[flows.page]\nworkload = "web"\ncount = 3\n'
        'stagger = "1 s"\n[flows.bulk]\nsize = "1 MB"\n'
    )
    words = ["sweep", str(tmp_path / "pages.toml"), "--axis", "seed=1,2"]
    words += ["--axis", "flows.page.scheme=sack"]
    out = ["--out", str(tmp_path / "pages")]
    assert main([*words, *out, "--metric", "load_max_ns", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [one["flow"] for one in groups] == ["page"]
    assert groups[0]["missing"] == 0
    with (tmp_path / "pages" / "flows.csv").open(newline="") as file:
        loads = [float(row["load_ns"]) for row in csv.DictReader(file) if row["load_ns"]]
    assert len(loads) == 6
    assert groups[0]["median"] <= max(loads)
