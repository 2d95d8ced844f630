"""A policy in Rust is one file and two lines, as CONTRIBUTING.md says; tried in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "data" / "recipe" / "halve.rs"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_a_policy_is_one_file_and_two_lines(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    shutil.copy(FILE, tmp_path / "crates/control/src/policy/halve.rs")
    registry = tmp_path / "crates/control/src/policy/mod.rs"
    text = registry.read_text()
    text = text.replace("mod iw10;\n", "mod halve;\nmod iw10;\n")
    text = text.replace(
        "    Iw10: iw10::Iw10,\n", "    Halve: halve::Halve,\n    Iw10: iw10::Iw10,\n"
    )
    registry.write_text(text)
    # What is built for the project itself is built anew only where it changed.
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    for package, tests, only in (
        ("midflight-control", ["--lib"], "every_policy_is_found_by_name"),
        ("midflight-tcp", ["--test", "properties"], "every_policy_ends_its_flow"),
    ):
        done = subprocess.run(
            ["cargo", "test", "--locked", "--package", package, *tests, "--", only],
            cwd=tmp_path,
            env={**os.environ, "CARGO_TARGET_DIR": target},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert "1 passed" in done.stdout
