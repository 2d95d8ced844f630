"""The documentation says what the program does: its made parts, and what its commands print."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from click import Command, Context

from midflight import _core
from midflight.cli import app

ROOT = Path(__file__).parents[2]


def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs/make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE: Any = reference()


@pytest.mark.parametrize("name", REFERENCE.PAGES)
def test_pages_are_as_the_program_makes_them(name: str) -> None:
    """If not: .venv/bin/python docs/make_reference.py"""
    assert REFERENCE.made(name) == (ROOT / name).read_text(encoding="utf-8")


def test_every_scheme_is_described_once() -> None:
    page = (ROOT / "docs/schemes.md").read_text(encoding="utf-8")
    described = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    assert sorted(described) == sorted(one["name"] for one in _core.schemes())


def shell_commands() -> list[str]:
    found = []
    for name, begin in REFERENCE.PAGES.items():
        _, text, _ = REFERENCE.section((ROOT / name).read_text(encoding="utf-8"), begin)
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


@pytest.mark.parametrize("name", ["docs/policies.md", "docs/sweeps.md"])
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
