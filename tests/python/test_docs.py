"""The documentation agrees with the program: generated parts, command output, verdicts, numbers."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from click import Command, Context

from midflight import _core
from midflight.claims import ClaimResult
from midflight.cli import app
from midflight.lab.store import available
from midflight.studies import KERNEL_STUDIES, STUDIES, load
from midflight.studies.runs import Runs

ROOT = Path(__file__).parents[2]


REFERENCE: Any = importlib.import_module("make_reference")
VERDICTS: Any = importlib.import_module("verdicts")


@pytest.mark.parametrize("name", REFERENCE.PAGES)
def test_generated_parts_of_pages_are_up_to_date(name: str) -> None:
    """If not: .venv/bin/python docs/make_reference.py"""
    assert REFERENCE.made(name) == (ROOT / name).read_text(encoding="utf-8")


def test_every_scheme_is_described_once() -> None:
    page = (ROOT / "docs/schemes.md").read_text(encoding="utf-8")
    described = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    assert sorted(described) == sorted(one["name"] for one in _core.schemes())


def shell_commands() -> list[str]:
    found = []
    for name in REFERENCE.PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        for block in REFERENCE.FENCED.finditer(text):
            if block["of"] == "sh":
                lines = block["text"].replace("\\\n", " ").splitlines()
                found += [line for line in lines if line.startswith("midflight ")]
    return found


@pytest.mark.parametrize("line", shell_commands())
def test_commands_that_are_not_run_have_options_that_exist(line: str) -> None:
    _, name, *arguments = shlex.split(line, comments=True)
    group = typer.main.get_command(app)
    command: Command = group.commands[name]  # type: ignore[attr-defined]
    with Context(command) as context:
        command.parse_args(context, arguments)


@pytest.mark.parametrize("name", ["docs/policies.md", "docs/sweeps.md", "docs/papers.md"])
def test_python_on_a_page_runs(name: str, tmp_path: Path) -> None:
    last = ""
    for block in REFERENCE.FENCED.finditer((ROOT / name).read_text(encoding="utf-8")):
        if block["of"] == "python":
            last = block["text"].split()[1]
            (tmp_path / last).write_text(block["text"], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, last], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_links_between_pages_lead_somewhere() -> None:
    for page in (*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_readme_quotes_the_speed_that_was_measured() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ((runs, took),) = re.findall(r"([\d,]+) handoffs take (.*?) on one core", readme)
    table = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    (row,) = (line for line in table.splitlines() if f"grid of {runs} runs, one thread" in line)
    assert row.split("|")[3].strip() == took


def test_the_table_of_stacks_has_a_column_for_every_profile() -> None:
    page = (ROOT / "docs/stack.md").read_text(encoding="utf-8")
    (head,) = re.findall(r"^\| What \|(.*)\|$", page, re.MULTILINE)
    columns = [cell.strip() for cell in head.split("|")]
    assert columns[:3] == ["Linux 6.12 to 6.18", "Windows", "Apple"]
    # QUIC has its own table.
    profiles = {f"`{one['name']}`" for one in _core.profiles()}
    assert sorted(columns[3:]) == sorted(profiles - {"`quic`"})
    assert "profile `quic`" in page


def test_every_claim_of_every_study_has_its_verdict() -> None:
    claims = [
        (name, claim.id, "yes" if claim.beyond else "no")
        for name in STUDIES
        for claim in load(name).claims
    ]
    assert [(row[0], row[1], row[-1]) for row in VERDICTS.expected()] == claims


# The other one takes minutes; `make demo` compares it too. What needs a kernel is left out.
@pytest.mark.parametrize("name", sorted({*STUDIES} - {"lim-jang-2009"}))
def test_verdicts_are_those_of_the_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MIDFLIGHT_LAB_KERNEL", raising=False)
    study, runs = load(name), Runs()
    runs.make([job for claim in study.claims for job in claim.needs])
    results = [ClaimResult(claim, claim.evaluate(runs)) for claim in study.claims]
    known = [row for row in VERDICTS.expected() if row[0] == name]
    found = VERDICTS.rows(name, results)
    lacking = [row[1] for row in found if row[2] == "undecidable" and row not in known]
    is_without = name in KERNEL_STUDIES and available() is None
    assert lacking == (VERDICTS.kernel_rows() if is_without else [])
    assert VERDICTS.differences(VERDICTS.with_kernel(found, known), known) == []


def test_only_rows_that_need_a_kernel_may_lack_it() -> None:
    need = [*(f"LH-{number}" for number in range(1, 12)), "LH-X12"]
    assert VERDICTS.kernel_rows() == need
    known = [row for row in VERDICTS.expected() if row[0] == "linux-handoffs"]
    without = [(*row[:2], "undecidable", "0", "0", row[5]) for row in known]
    found = VERDICTS.with_kernel(without, known)
    assert [row[1] for row in found if row in known] == need
    assert [row for row in found if row not in known] == [
        row for row in without if row[1] not in need
    ]


def test_a_verdict_that_differs_is_named() -> None:
    known = [("s", "A-1", "reproduced", "2", "2", "no"), ("s", "A-2", "not", "0", "1", "no")]
    found = [("s", "A-1", "partly", "1", "2", "no"), ("s", "A-3", "not", "0", "1", "no")]
    assert VERDICTS.differences(found, known) == [
        "A-1: partly (1 of 2); docs/verdicts.csv: reproduced (2 of 2)",
        "A-2: missing; docs/verdicts.csv: not (0 of 1)",
        "A-3: not (0 of 1); docs/verdicts.csv: missing",
    ]
    assert VERDICTS.differences(known, known) == []


def test_make_demo_reproduces_every_study() -> None:
    script = (ROOT / "examples/demo.sh").read_text(encoding="utf-8")
    (names,) = re.findall(r"^for study in (.*); do$", script, re.MULTILINE)
    assert names.split() == [*STUDIES]
