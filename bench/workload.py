"""The workloads of `crates/bench`, run one at a time, each in its own process."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


@dataclass(frozen=True)
class Done:
    """The output of a run of a workload."""

    count: int
    unit: str
    peak_mb: float
    stderr: str


def build() -> Path:
    """Build the release binary of the workloads and return its path."""
    cargo = ["cargo", "build", "--quiet", "--release", "--locked"]
    subprocess.run([*cargo, "--package", "midflight-bench"], cwd=ROOT, check=True)
    return TARGET / "release" / "workload"


def run(binary: Path, name: str, times: int = 1, under: tuple[str, ...] = ()) -> Done:
    """Run a workload, under another program where that is given.

    It gets no environment, because the size of the environment would move its stack.
    """
    command = [*under, str(binary), name, str(times)]
    done = subprocess.run(command, env={}, capture_output=True, text=True)
    said = re.fullmatch(r"(\d+) (\w+)s, .*?(?:, peak memory (\d+) kB)?\n", done.stdout)
    if done.returncode != 0 or said is None:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr or done.stdout}")
    count, unit, peak_kb = said.groups()
    return Done(int(count), unit, int(peak_kb or 0) / 1000, done.stderr)


def rustc() -> dict[str, str]:
    """Return the compiler's version and the machine it compiles for."""
    command = ["rustc", "--version", "--verbose"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    fields = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    return {"rustc": fields["release"], "host": fields["host"]}
