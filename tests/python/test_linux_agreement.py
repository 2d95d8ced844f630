"""The profile `linux` agrees with recorded runs of a kernel as well as when they were recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

VERIFY = Path(__file__).parents[1] / "linux" / "verify.py"


def test_no_flow_agrees_less_than_recorded() -> None:
    done = subprocess.run([sys.executable, str(VERIFY)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "exact" in done.stdout
