"""What the lab's kernel gives in the same scenarios, recorded in `kernel.csv` (see `record`).

A row is a series, its x (a second from the start of the run, or the length of a cut in ms and the
number of the run), and the goodput in Mbit/s.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from midflight.results import EventLog
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


def measured(runs_of_schedule: tuple[int, ...] = (1,)) -> Iterator[Row]:
    """Yield what a kernel gives; raises `LabError` if there is none."""
    import importlib

    from midflight.lab.store import choose
    from midflight.studies.scenario_runs import kernel_runs

    core, kernel = importlib.import_module("midflight._core"), choose()
    each = [sc.scheduled(run, sender, "linux") for run in runs_of_schedule for sender in sc.KERNEL]
    each += [sc.jump(times, sender, "linux") for times in sc.JUMPS for sender in sc.KERNEL]
    plans = [plan for job in each for plan in job.plans(core)]
    ends = [sc.PERIODS * sc.PERIOD_S if "schedule" in job.name else sc.JUMP_END_S for job in each]
    made = kernel_runs(kernel, plans)
    for job, end_s, (_, _, trace) in zip(each, ends, made, strict=True):
        for second, mbps in enumerate(sc.seconds(EventLog.from_table(trace), 0, end_s)):
            yield job.name, str(second), float(mbps)
    for cut_ms in sc.CUTS_MS:
        for sender in sc.KERNEL:
            job = sc.hard(cut_ms, sender, "linux")
            for place, (flows, _, _) in enumerate(kernel_runs(kernel, job.plans(core))):
                mbps = float(flows.column("goodput_bps")[0]) / 1e6
                yield f"cuts, {sender}", f"{cut_ms}/{place}", mbps
