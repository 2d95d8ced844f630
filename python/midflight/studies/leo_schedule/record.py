"""Run the study's scenarios on a kernel of the lab, and write the results.

python -m midflight.studies.leo_schedule.record [FILE]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from midflight.studies.leo_schedule.kernel import FILE, measured


def main(path: Path) -> None:
    """Write the file; raises `LabError` without a kernel."""
    rows = list(measured())
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("series", "x", "mbps"))
        writer.writerows((series, x, f"{mbps:.6g}") for series, x, mbps in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name(FILE))
