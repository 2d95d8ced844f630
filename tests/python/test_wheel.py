"""The wheel, which `make .venv/installed` builds, installs and runs where there is no Rust."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import midflight

ROOT = Path(__file__).parents[2]
WHEELS = list((ROOT / ".venv" / "wheel").glob("*.whl"))

# What a kernel of the lab is built of; these are links to folders of the repository.
LAB = ("lab/kernel/*", "lab/guest/*")

pytestmark = pytest.mark.skipif(not WHEELS, reason="no wheel was built: make .venv/installed")


@pytest.fixture(scope="module")
def wheel() -> Path:
    (only,) = WHEELS
    return only


def test_one_wheel_is_for_every_python_from_the_oldest(wheel: Path) -> None:
    name, version, python, abi, _ = wheel.stem.split("-", 4)
    assert (name, version) == ("midflight", midflight.__version__)
    assert (python, abi) == ("cp311", "abi3")
    # Two QUIC stacks with TLS take 2 MB of it.
    assert wheel.stat().st_size < 9_000_000


def test_what_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(about))
    needed = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert {text.split(">")[0] for text in needed} == {"numpy", "rich", "typer"}
    extras = {"plots", "parquet", "polars", "pandas", "dask", "slurm"}
    assert extras <= set(metadata.get_all("Provides-Extra", []))
    folder = ROOT / "python" / "midflight"
    for pattern in ("scenarios/*.toml", "templates/*", "py.typed", "_core.pyi", "**/*.py", *LAB):
        for path in folder.glob(pattern):
            if path.is_file():
                assert path.relative_to(folder.parent).as_posix() in names
    for name in ("LICENSE-MIT", "lab/kernel/COPYING"):
        assert any(one.endswith(f".dist-info/licenses/{name}") for one in names)
    assert not [name for name in names if "tests/" in name or "__pycache__" in name]


def test_it_runs_without_rust_and_without_extras(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    # Neither a compiler nor the packages of this environment can be found.
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV", "CARGO_HOME", "RUSTUP_HOME")
    }
    clean["PATH"] = f"{tmp_path / 'venv' / 'bin'}:/usr/bin:/bin"

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )

    installed = run("pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    assert installed.returncode == 0, installed.stderr
    assert "cargo" not in installed.stderr
    assert run("midflight", "list").returncode == 0
    here = midflight.Scenario.read("wifi-to-lte").run().digests
    there = json.loads(run("midflight", "run", "wifi-to-lte", "--json").stdout)
    assert there["manifest"]["digests"] == list(here)
    (tmp_path / "mine.py").write_text(
        "import midflight\nprint(midflight.Scenario.read('wifi-to-lte').run().digests[0])\n"
    )
    assert run("python", "mine.py").stdout.strip() == here[0]
    figure = run("midflight", "plot", "wifi-to-lte", "--out", "figure.png")
    assert figure.returncode == 2
    assert "midflight[plots]" in figure.stderr
    assert not (tmp_path / "figure.png").exists()
