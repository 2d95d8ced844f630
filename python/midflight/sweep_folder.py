"""The folder of a sweep: what it says of the sweep, and which comparison it keeps."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from midflight.refusal import refusal

__all__ = [
    "AFTER",
    "TABLES",
    "check_metric",
    "comparison_file",
    "forget_ended",
    "host_name",
    "is_running",
    "kept_comparison",
    "read_definition",
    "refuse_another",
    "running_mark",
    "shard_cells_of",
]

TABLES = ("flows", "phases")
COMPARISON, EFFECTS = "comparison", "effects"
#: What is printed of the tables of a sweep, and drawn unless something else is asked for.
_PRINTED = ("compare", "metric", "phase", "by")
#: The measurements that are taken after a handoff or change.
AFTER = ("all_new_ns", "first_new_ns")


def shard_cells_of(folder: Path) -> int | None:
    """Return the number of cells of a shard in a folder; None if there is no sweep."""
    try:
        return int(json.loads((folder / "sweep.json").read_text(encoding="utf-8"))["shard_cells"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def comparison_file(metric: str | None, phase: int | None = None) -> str:
    """Return the name of the file with the comparison by a metric, after a handoff or change.

    None is the usual metric, and the first handoff.
    """
    after = None if phase is None else f"phase{phase}"
    return "-".join(filter(None, (COMPARISON, metric, after))) + ".csv"


def refuse_another(file: Path, definition: Mapping[str, Any]) -> None:
    """Refuse the folder of a sweep with other results."""
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return  # It was damaged, and is written again.
    if not _has_cells(file.parent) and not any(one for _, one in _others_running(file.parent)):
        return  # It was begun, as with a policy that failed, and has no results to lose.
    there = there if isinstance(there, dict) else {}
    # Changes that give the same tables: another summary, shards of another size, other words.
    same = (*_PRINTED, "midflight", "shard_cells")
    keys = [key for key in definition if key not in same]
    different = [key for key in keys if _bare(there.get(key)) != _bare(definition[key])]
    if different:
        raise refusal(
            f'"{file.parent}" has another sweep: its {", ".join(different)} '
            f"{'differs' if len(different) == 1 else 'differ'}; choose another folder, or "
            "remove this one",
            name="out",
            value=file.parent,
            accepted="a folder without a sweep, or that of the same sweep",
        )


def _has_cells(folder: Path) -> bool:
    """Whether the folder of a sweep has tables, or a shard that is complete or being written."""
    tables = (folder / f"{table}.csv" for table in TABLES)
    return any(one.is_file() for one in tables) or any((folder / "shards").glob("*"))


def host_name() -> str:
    """The name of this machine in names of files."""
    return "".join(c if c.isalnum() else "-" for c in socket.gethostname())


def is_running(pid: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


#: What the file begins with that says which process runs a sweep in its folder.
_RUNNING = ".running"


def running_mark(folder: Path) -> Path:
    """The file that says that this process runs the sweep in a folder."""
    return folder / f"{_RUNNING}+{host_name()}+{os.getpid()}"


def _others_running(folder: Path) -> list[tuple[Path, bool]]:
    """The marks of other processes, and whether they may run; of other machines that is unknown."""
    found = []
    for mark in folder.glob(f"{_RUNNING}+*"):
        _, host, pid, *_ = [*mark.name.split("+"), "", ""]
        is_here = host == host_name() and pid.isdigit()
        if mark != running_mark(folder):
            found.append((mark, not is_here or is_running(int(pid))))
    return found


def forget_ended(folder: Path) -> None:
    """Remove the marks of processes that have ended."""
    for mark, runs in _others_running(folder):
        if not runs:
            mark.unlink(missing_ok=True)


def _bare(value: Any) -> Any:
    """Return a scenario without its words."""
    if not isinstance(value, Mapping):
        return value
    return {key: one for key, one in value.items() if key not in ("title", "description")}


def read_definition(folder: Path) -> dict[str, Any]:
    """Return the definition of the sweep in a folder, checked as far as its parts.

    `metric` and `phase` are those with which it was run last, None for the usual ones; of a folder
    that does not say it, those of the comparison that it has. `by` are the axes that it separated
    then, None for the usual ones.
    Raises `MidflightError` if it is not one, `OSError` if it cannot be read.
    """
    # The core is loaded when it is needed.
    from midflight import MidflightError

    file = folder / "sweep.json"

    def refuse(why: str, name: str, value: object, accepted: str) -> Exception:
        return refusal(f'"{file}" is not a sweep: {why}', name=name, value=value, accepted=accepted)

    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise refuse("it is not JSON in UTF-8", "file", file, "JSON in UTF-8") from error
    found = found if isinstance(found, dict) else {}
    for key, kind in (("scenario", dict), ("axes", dict), ("shard_cells", int)):
        if not isinstance(found.get(key), kind):
            what = {dict: "a table", int: "a whole number"}[kind]
            raise refuse(f'it lacks "{key}", or has none there', key, found.get(key), what)
    axes = found["axes"]
    if not axes or not all(isinstance(one, list) and one for one in axes.values()):
        raise refuse('"axes" has an axis without values', "axes", axes, "lists of values")
    by = found.setdefault("by", None)
    if by is not None and not (isinstance(by, list) and all(one in axes for one in by)):
        raise refuse('"by" is no list of its axes', "by", by, f"a list of {', '.join(axes)}")
    if "metric" not in found:
        return {**found, **_compared_by(folder)}
    metric, phase = found["metric"], found.get("phase")
    try:
        check_metric(metric, phase)
    except MidflightError as error:
        raise refuse(str(error), "metric", metric, "a measurement of a sweep, or none") from error
    return found


def check_metric(metric: object, phase: object, option: str = "") -> None:
    """Refuse what is no measurement of a sweep, and a phase after which nothing is measured.

    `option` is what options of the command begin with.
    """
    from midflight.meant import or_all
    from midflight.sweep_results import METRICS

    if metric is not None and not (isinstance(metric, str) and metric in METRICS):
        others = or_all(str(metric), METRICS, "`midflight list metrics` has all")
        raise refusal(
            f'{option}metric "{metric}" is not a measurement{others}',
            name=f"{option}metric",
            value=metric,
            accepted=", ".join(METRICS),
        )
    if phase is None:
        return
    if metric not in AFTER:
        raise refusal(
            f"{option}phase is for {option}metric {' and '.join(AFTER)}",
            name=f"{option}phase",
            value=phase,
            accepted="none, for another metric",
        )
    if not isinstance(phase, int) or isinstance(phase, bool) or phase < 1:
        raise refusal(
            f"{option}phase is {phase!r}; expected a whole number from 1",
            name=f"{option}phase",
            value=phase,
            accepted="a whole number from 1",
        )


def _compared_by(folder: Path) -> dict[str, Any]:
    """Return the metric and the phase of the comparison in a folder that does not say them: the
    usual one if it has that, and else the first in the order of the measurements.
    """
    from midflight.sweep_results import METRICS

    usual = {"metric": None, "phase": None}
    there = {file.name for file in folder.glob(f"{COMPARISON}-*.csv")}
    if not there or (folder / comparison_file(None)).is_file():
        return usual
    for metric in METRICS:
        if comparison_file(metric) in there:
            return {"metric": metric, "phase": None}
        after = re.compile(rf"{COMPARISON}-{metric}-phase([1-9][0-9]*)\.csv")
        phases = [int(found[1]) for name in there if (found := after.fullmatch(name))]
        if phases:
            return {"metric": metric, "phase": min(phases)}
    return usual


def kept_comparison(folder: Path) -> Path | None:
    """Return the file with the comparison that the sweep in a folder printed last, if it has one.

    Raises `MidflightError` for what is no sweep, `OSError` if it cannot be read.
    """
    asked = read_definition(folder)
    metric, compared = asked["metric"], asked.get("compare")
    if compared is None:
        return None
    for named in dict.fromkeys((metric, None)):
        file = folder / comparison_file(named, asked["phase"])
        if not file.is_file():
            continue
        with file.open(newline="", encoding="utf-8") as text:
            first = next(csv.DictReader(text), {})
        # Files of other summaries stay.
        if first.get("compared") == compared and metric in (None, first.get("metric")):
            return file
    return None
