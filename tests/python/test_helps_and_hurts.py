"""The page on where schemes help and hurt has the runs of the program."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from midflight import _core

ROOT = Path(__file__).parents[2]


BENCH: Any = importlib.import_module("helps_and_hurts")
COMPARE: Any = importlib.import_module("compare")
LITERATURE: Any = importlib.import_module("literature")
ROWS = BENCH.read()
#: The controllers of a profile, halves of schemes, and tools.
APART = {"sack", "cubic-linux", "reno-linux", *COMPARE.APART}


def test_the_literature_has_every_scheme_and_agent_once() -> None:
    names = [name for one in LITERATURE.proposals() for name in one.names]
    schemes = {one["name"] for one in _core.schemes()} - APART
    assert sorted(names) == sorted({*schemes, *(one["name"] for one in _core.agents())})


def test_what_is_taken_up_is_older() -> None:
    known = LITERATURE.by_name()
    for one in LITERATURE.proposals():
        assert {*one.where} <= {*LITERATURE.WORDS}, one.name
        for parent in one.takes_up:
            assert known[parent].year <= one.year, (one.name, parent)


def test_every_scheme_has_two_rows() -> None:
    expected = [(way.name, effect) for way in BENCH.ways() for effect in BENCH.EFFECTS]
    assert [(row.name, row.effect) for row in ROWS] == expected


def some(every: int) -> list[Any]:
    """Return every so many rows, if they have runs, as parameters."""
    return [pytest.param(row, id=f"{row.name}-{row.effect}") for row in ROWS[::every] if row.source]


@pytest.mark.parametrize("kept", some(every=9))
def test_a_row_has_the_explanation_of_its_runs(kept: Any) -> None:
    """If not: .venv/bin/python bench/helps_and_hurts.py --write, then docs/make_reference.py"""
    assert BENCH.again(kept) == kept


@pytest.mark.parametrize("kept", some(every=1))
def test_a_row_has_the_numbers_of_its_runs(kept: Any) -> None:
    """If not: as above."""
    case, way = kept.case(), next(one for one in BENCH.ways() if one.name == kept.name)
    (one,), (plain,) = BENCH.outcomes([case], way), BENCH.outcomes([case], BENCH.Way(BENCH.PLAIN))
    assert BENCH.counts(case, plain)
    assert BENCH.measured(one, plain) == {name: getattr(kept, name) for name in BENCH.NUMBERS}
    change = BENCH.ratio(kept, BENCH.Outcome(kept.plain_s, 0, 0)) - 1
    assert (change < 0) == (kept.effect == "helps")
    assert abs(change) >= BENCH.LEAST


def test_no_run_of_the_grid_beats_the_rows() -> None:
    """For one scheme, as the whole sweep takes minutes."""
    (way,) = (one for one in BENCH.ways() if one.name == "trigger")
    of = list(BENCH.cases("linux"))
    plain = BENCH.outcomes(of, BENCH.Way(BENCH.PLAIN))
    pairs = zip(BENCH.outcomes(of, way), plain, strict=True)
    ran = zip(of, pairs, strict=True)
    ratios = [BENCH.ratio(*both) for case, both in ran if BENCH.counts(case, both[1])]
    rows = {row.effect: row.seconds / row.plain_s for row in ROWS if row.name == "trigger"}
    assert min(ratios) == pytest.approx(rows["helps"], abs=1e-3)
    assert max(ratios) == pytest.approx(rows["hurts"], abs=1e-3)


def test_commands_of_the_page_are_those_of_the_rows() -> None:
    page = (ROOT / "docs" / "helps-and-hurts.md").read_text(encoding="utf-8")
    commands = re.findall(r"^midflight run .*", page, re.MULTILINE)
    assert commands == [row.command() for row in ROWS if row.source]


def accepted(profile: str) -> list[str]:
    """Return the schemes that are compared and that a profile accepts."""
    link = {"rate": "1 Mbit/s", "delay": "1 ms"}
    found = []
    for name in COMPARE.schemes():
        settings = COMPARE.GRIDS[profile].settings if profile in COMPARE.GRIDS else {}
        values = {"profile": profile, "links": {"a": link}, "flows": {"f": {"scheme": name}}}
        values |= {"set": settings}
        try:
            _core.Plan(json.dumps({"end": "1 s"} | values), name=None)
        except _core.MidflightError:
            continue
        found.append(name)
    return found


def tables(page: str) -> list[list[list[str]]]:
    """Return the cells of each table of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    ]


@pytest.mark.parametrize(("page", "profile"), [("comparison", "linux"), ("comparison-rfc", "rfc")])
def test_the_comparison_has_every_scheme_and_who_has_to_change(page: str, profile: str) -> None:
    """If not: .venv/bin/python bench/compare.py --write"""
    found = [rows for rows in tables(f"{page}.md") if rows[0][0] == "scheme"]
    times, losses, harm = found
    expected = accepted(profile)
    for rows in (times, harm):
        assert [row[0].strip("`") for row in rows[2:]] == expected
    # Those that change something.
    assert {row[0].strip("`") for row in losses[2:]} <= {*expected}
    for rows in (times, losses):
        assert rows[0][-1] == "needs"
        assert all(row[-1] == LITERATURE.needs(row[0].strip("`")) for row in rows[2:])


def test_the_comparison_of_nodes_has_every_scheme_and_agent() -> None:
    """If not: .venv/bin/python bench/compare_nodes.py --write"""
    found = [rows for rows in tables("comparison-nodes.md") if rows[0][1] == "needs"]
    agents = [one["name"] for one in _core.agents()]
    for profile, rows in zip(("linux", "ns2"), found, strict=True):
        assert [row[0].strip("`") for row in rows[2:]] == [*accepted(profile), *agents]
        assert all(row[1] == LITERATURE.needs(row[0].strip("`")) for row in rows[2:])
