"""The profile `linux` and the queueing disciplines agree with recorded runs of a kernel as well as
when they were recorded.
"""

from __future__ import annotations

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
    """CoDel and FQ-CoDel of Linux, to the nanosecond: drops, marks and departures."""
    done = subprocess.run([sys.executable, str(QUEUES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (LINUX.parent / "data" / "linux" / "queues.txt").read_text().splitlines()
    counts = {line.rsplit(": ", 1)[0]: line.rsplit(": ", 1)[1].split(" of ") for line in lines}
    of_linux = {name: count for name, count in counts.items() if "codel-linux" in name}
    apart = [name for name, (equal, packets) in of_linux.items() if equal != packets]
    # There the guest is once 98 ns late (docs/linux-behaviour.md).
    assert apart == ["fq-codel-linux, four-flows, 100 Mbit/s"]
    assert len(of_linux) == 22
