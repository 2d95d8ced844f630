"""The profile `linux` and the queueing disciplines agree with recorded runs of a kernel as well as
when they were recorded.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LINUX = Path(__file__).parents[1] / "linux"
VERIFY, QUEUES = LINUX / "verify.py", LINUX / "queues.py"


def test_no_flow_agrees_less_than_recorded() -> None:
    done = subprocess.run([sys.executable, str(VERIFY)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "exact" in done.stdout


def test_the_disciplines_of_linux_do_what_the_kernel_did() -> None:
    """CoDel and FQ-CoDel of Linux, to the nanosecond: drops, marks and departures. PIE in sums."""
    done = subprocess.run([sys.executable, str(QUEUES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (LINUX.parent / "data" / "linux" / "queues.txt").read_text().splitlines()
    pairs = (line.rsplit(": ", 1) for line in lines)
    counts = {name: told.split(" of ") for name, told in pairs}
    of_linux = {name: count for name, count in counts.items() if "codel-linux" in name}
    apart = [name for name, (equal, packets) in of_linux.items() if equal != packets]
    # There the guest is once 98 ns late (docs/linux-behaviour.md).
    assert apart == ["fq-codel-linux, four-flows, 100 Mbit/s"]
    assert len(of_linux) == 22
    # The random numbers of PIE differ, so its line has by how much the sums do.
    of_pie = [line for line in lines if line.startswith("pie-linux")]
    apart = [float(value) for line in of_pie for value in re.findall(r"[+-][0-9.]+", line)]
    assert len(apart) == 3 * 7
    assert max(map(abs, apart)) <= 3
