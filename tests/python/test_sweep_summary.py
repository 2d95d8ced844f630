"""The tables of a sweep: samples, comparisons that are too many to list, and --by."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from midflight.cli import main
from midflight.results import mean_ci
from midflight.sweep_results import Comparison, compare, groups, is_sample
from midflight.sweep_summary import Summary

SCHEME, AT = "flows.download.scheme", "handoffs.0.at"

DRIVE = """
end = "20 s"
links.cell = { trace = "drive.csv", delay = "20 ms" }
flows.download = { size = "200 kB" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    rows = "\n".join(f"{one},{2 + one % 7}" for one in range(30))
    (tmp_path / "drive.csv").write_text(f"time_s,rate_mbps\n{rows}\n")
    file = tmp_path / "drive.toml"
    file.write_text(DRIVE)
    return file


def test_what_is_a_sample() -> None:
    assert all(map(is_sample, ("seed", "handoffs.0.at", "links.a.trace.offset")))
    assert is_sample("links.a.trace.seed")
    assert not any(map(is_sample, ("handoffs.0.gap", "links.a.trace.scale", "links.a.rate")))


def test_starts_in_a_recording_are_samples(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scheme = ["--axis", "flows.download.scheme=sack,bbr-linux"]
    offset = ["--axis", "links.cell.trace.offset=0s:9s:1s", "--compare", "flows.download.scheme"]
    out = scenario.parent / "out"
    assert main(["sweep", str(scenario), *scheme, *offset, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    (row,) = (one for one in said.splitlines() if one.split()[:2] == ["download", "sack"])
    assert row.split()[2] == "10"
    assert "Intervals are over starts in the recording of cell, not over chance" in " ".join(
        said.split()
    )


def test_every_value_of_a_long_comparison_is_listed(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ["--axis", "flows.download.scheme=sack,freeze,enhanced"]
    axes += ["--axis", "links.cell.queue=" + ",".join(f"{one} packets" for one in range(20, 60))]
    out, page = scenario.parent / "out", scenario.parent / "a.html"
    words = ["sweep", str(scenario), *axes, "--compare", "flows.download.scheme"]
    assert main([*words, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    table = said.split("Against sack")[1].split("Combinations")[0].splitlines()
    listed = [one.split()[3] for one in table if one.startswith("download")]
    assert listed == ["freeze"] * 12 + ["enhanced"] * 12
    # The first and the last of each, and what is missing is told where it would be.
    ends = [str(one) for one in (*range(20, 26), *range(54, 60))]
    dots = [place for place, one in enumerate(table) if one.startswith("...")]
    assert [table[place - 1].split()[1] for place in dots] == ["25", "25"]
    assert [table[place + 1].split()[1] for place in dots] == ["54", "54"]
    assert [one.split()[1] for one in table if one.startswith("download")] == 2 * ends
    words = '56 of 80 lines are left out where "..." is (queue of cell: 26 packets to 53 packets)'
    assert f"{words}; comparison.csv has all, and --by AXES lists fewer." in " ".join(said.split())
    # So it is with the quartiles.
    table = said.split("Against sack")[0].splitlines()
    listed = [one.split()[1] for one in table if one.startswith("download")]
    assert listed == ["sack"] * 8 + ["freeze"] * 8 + ["enhanced"] * 8
    assert '96 of 120 lines are left out where "..." is; --json prints all' in said
    # The advice is a command that works.
    assert "--by flows.download.scheme takes the queues of cell as pairs" in " ".join(said.split())
    assert main(["report", str(out), "--by", "flows.download.scheme", "--out", str(page)]) == 0
    assert "more lines" not in page.read_text()
    assert main(["report", str(out), "--out", str(page)]) == 0
    # Tables of a report have all rows.
    assert "more lines" not in page.read_text()
    assert "All changes: a table of 80 lines" in page.read_text()
    capsys.readouterr()
    assert main(["report", str(out), "--by", "queue", "--out", str(page)]) != 0
    assert (
        '--by "queue" is not an axis (did you mean "links.cell.queue"?); expected'
        in capsys.readouterr().err
    )


def made_summary(
    schemes: list[str], others: dict[str, list[str]], flows: tuple[str, ...] = ("a",)
) -> Summary:
    """A comparison of many lines, in the order of a sweep whose first axis is the compared one."""
    compare_by = "flows.*.scheme"
    axes = {compare_by: schemes, **others}
    rows = [
        {"flow": flow, "entry": flow, "moves": "1", "run": "0", "digest": "", "duration_ns": "1e9"}
        | dict(zip(axes, values, strict=True))
        for values in product(*axes.values())
        for flow in flows
    ]
    grouped = groups(iter(rows), [*axes], [*axes], "duration_ns")
    asked: Any = type("Asked", (), {"compare": compare_by, "axes": axes})()
    found = compare(grouped, [*axes], compare_by, schemes)
    nothing: Any = None
    return Summary(asked, "duration_ns", [*axes], grouped, found, "x.csv", nothing, None)


def test_the_same_lines_of_each_flow_are_left_out() -> None:
    delays = [f"{one}ms" for one in range(1, 31)]
    made = made_summary(["sack", "vho"], {"links.l.delay": delays}, ("a", "b"))
    shown = made.shown(24)
    for flow in ("a", "b"):
        listed = [one.values[0] for one in shown if one is not None and one.flow == flow]
        assert listed == [*delays[:6], *delays[-6:]]
    assert shown.count(None) == 1
    assert made.left_out_words(24) == (
        '36 of 60 lines are left out where "..." is (one-way delay of l: 7ms to 24ms)'
    )


def test_ends_of_what_is_left_out_are_those_of_the_only_other_axis() -> None:
    delays = [f"{one}ms" for one in range(1, 31)]
    one, two = {"links.l.delay": delays, "links.l.rate": ["1mbps"]}, ["1mbps", "2mbps"]
    said = made_summary(["sack", "vho", "enhanced"], one).left_out_words(24)
    assert said.endswith(" is (one-way delay of l: 7ms to 24ms)")
    several = {"links.l.delay": delays, "links.l.rate": two}
    assert made_summary(["sack", "vho"], several).left_out_words(24) == (
        '36 of 60 lines are left out where "..." is'
    )


def test_a_single_line_is_not_left_out() -> None:
    schemes = ["sack", *(f"s{one}" for one in range(20))]
    made = made_summary(schemes, {"links.l.delay": ["1ms", "2ms", "3ms"]})
    assert made.shown(24) == made.compared
    assert not made.left_out_words(24)


def test_quartiles_of_each_scheme_are_listed() -> None:
    """Of many lines of a few schemes the first and the last ones of each."""
    delays = [f"{one}ms" for one in range(1, 31)]
    made = made_summary(["sack", "vho", "enhanced"], {"links.l.delay": delays})
    head, *lines = made.quartile_cells(1e9, 24)
    for scheme in ("sack", "vho", "enhanced"):
        listed = [line[2] for line in lines if line[1] == scheme]
        assert listed == [*delays[:4], *delays[-4:]]
    assert lines.count(["..."] * len(head)) == 3
    assert made.left_out_groups(24) == '66 of 90 lines are left out where "..." is'
    assert not made.left_out_groups(90)


def made_rows(runs: int, seeds: str, value: Any) -> list[dict[str, str]]:
    """Rows of two schemes, three instants and some runs; `value` of scheme, instant, seed, run."""
    return [
        {
            "flow": "download",
            "moves": "1",
            SCHEME: scheme,
            AT: at,
            "seed": seed,
            "run": str(run),
            "duration_ns": str(value(scheme, at, seed, run)),
            "digest": str(value("", "", seed, run)) if runs > 1 or len(seeds) > 1 else "0",
        }
        for scheme in ("sack", "enhanced")
        for seed in seeds
        for at in ("1 s", "2 s", "3 s")
        for run in range(runs)
    ]


def compared(rows: list[dict[str, str]], axes: list[str]) -> Comparison:
    grouped = groups(iter(rows), axes, [SCHEME], "duration_ns")
    (found,) = compare(grouped, [SCHEME], SCHEME, ["sack", "enhanced"])
    return found


def test_an_interval_is_over_runs_whose_pairs_are_not_independent() -> None:
    gained = [5.0, 1.0, 9.0, 3.0]

    def value(scheme: str, at: str, _seed: str, run: int) -> float:
        return (100 if at else 0) + 7 * run + (gained[run] if scheme == "enhanced" else 0)

    found = compared(made_rows(4, "1", value), [SCHEME, AT])
    mean, half_width = mean_ci(gained)
    assert (found.over, found.samples, found.pairs) == ("runs", 4, 12)
    assert found.difference == pytest.approx(mean)
    assert found.half_width == pytest.approx(half_width)
    # With every pair taken for independent it would be less than half of that.
    assert found.half_width > 1.9 * mean_ci(gained * 3).half_width
    # The ratio is of the same samples: twice the instants say no more about chance.
    doubled = compared(
        made_rows(4, "1", value) + [{**row, AT: f"{row[AT]}!"} for row in made_rows(4, "1", value)],
        [SCHEME, AT],
    )
    assert (doubled.ratio_low, doubled.ratio_high) == pytest.approx(
        (found.ratio_low, found.ratio_high)
    )


def test_seeds_are_runs_where_they_are_taken_together() -> None:
    gained = {"1": 2.0, "2": 8.0}

    def value(scheme: str, _at: str, seed: str, _run: int) -> float:
        return 50 + 100 * int(seed) + (gained[seed] if scheme == "enhanced" else 0)

    found = compared(made_rows(1, "12", value), [SCHEME, "seed", AT])
    assert (found.over, found.samples, found.pairs) == ("runs", 2, 6)
    assert found.half_width == pytest.approx(mean_ci([2.0, 8.0]).half_width)


@pytest.mark.parametrize("runs", [1, 5])
def test_without_chance_the_values_of_the_other_axes_are_the_sample(runs: int) -> None:
    gained = {"": 0.0, "1 s": 1.0, "2 s": 3.0, "3 s": 8.0}

    def value(scheme: str, at: str, _seed: str, _run: int) -> float:
        return 100 + (gained[at] if scheme == "enhanced" else 0)

    found = compared(made_rows(runs, "1", value), [SCHEME, AT])
    # Runs that are all the same are no evidence.
    assert (found.over, found.samples, found.pairs) == ("axes", 3, 3 * runs)
    assert found.half_width == pytest.approx(mean_ci([1.0, 3.0, 8.0]).half_width)
