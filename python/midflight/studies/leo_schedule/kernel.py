"""The results of the lab's kernel in the same scenarios, recorded in `kernel.csv` (see `record`).

A row is a series, its x (a second from the start of the run, or the length of a cut in ms), and
the goodput in Mbit/s.
"""

from __future__ import annotations

import csv
from collections.abc import Container, Iterator
from functools import cache
from importlib.resources import files

from midflight.studies.leo_schedule import scenarios as sc

__all__ = ["ABOUT", "FILE", "Row", "measured", "recorded"]

FILE = "kernel.csv"
#: The kernel of the record.
ABOUT = "Linux 6.12.117, HZ 250"
Row = tuple[str, str, float]


@cache
def recorded() -> dict[str, dict[str, float]]:
    """The series by their names: goodput in Mbit/s by x."""
    found: dict[str, dict[str, float]] = {}
    with files(__package__).joinpath(FILE).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["series"], {})[row["x"]] = float(row["mbps"])
    return found


def measured(only: Container[str] | None = None) -> Iterator[Row]:
    """Yield a kernel's results, for all series or for some; raises `LabError` if there is no
    kernel.

    The data acknowledged in each second are those that the kernel's sender reports (TCP_INFO).
    """
    import importlib

    from midflight.lab.runs import OWN, LabRuns
    from midflight.lab.store import choose

    core, kernel = importlib.import_module("midflight._core"), choose()
    by_second = [sc.scheduled(1, sender, "linux") for sender in sc.KERNEL]
    by_second += [sc.jump(times, sender, "linux") for times in sc.JUMPS for sender in sc.KERNEL]
    for job in by_second:
        if only is not None and job.name not in only:
            continue
        (plan,) = job.plans(core)
        ((_, _, _, samples),) = LabRuns(plan, kernel, (OWN,), sample_ns=10**9).pieces()
        told = zip(samples.column("time_ns"), samples.column("bytes_acked"), strict=True)
        acked = {round(at_ns / 1e9): float(count) for at_ns, count in told}
        for second in range(round(plan.setup().end_ns / 1e9)):
            # The last sample may be missing at the very end.
            if second + 1 in acked:
                mbps = 8e-6 * (acked[second + 1] - acked.get(second, 0.0))
                yield job.name, str(second), mbps
    for sender in sc.KERNEL:
        if only is not None and f"cuts, {sender}" not in only:
            continue
        for cut_ms in sc.CUTS_MS:
            plan = sc.hard(cut_ms, sender, "linux").plans(core)[0]
            ((flows, _, _, _),) = LabRuns(plan, kernel, (OWN,), sample_ns=0).pieces()
            yield f"cuts, {sender}", str(cut_ms), float(flows.column("goodput_bps")[0]) / 1e6
