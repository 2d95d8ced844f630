"""Whether results come out again: manifests and sweeps repeated, digest by digest."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["Verified", "sample", "verify_manifest", "verify_sweep"]


@dataclass(frozen=True)
class Verified:
    """A run repeated."""

    #: Its cell in a sweep; None of a manifest.
    cell: int | None
    run: int
    expected: str
    found: str

    @property
    def same(self) -> bool:
        """Whether it came out the same."""
        return self.expected == self.found


def verify_manifest(
    manifest: Mapping[str, Any],
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
    policies: Policies | None = None,
) -> list[Verified]:
    """Repeat what a manifest says.

    Raises `MidflightError` for what is no manifest, or not accepted.
    """
    from midflight import MidflightError, _core
    from midflight.scenario import Outcome

    digests, scenario = manifest.get("digests"), manifest.get("scenario")
    if not (isinstance(digests, list) and digests and isinstance(scenario, dict)):
        raise MidflightError(
            'the manifest lacks "digests" or "scenario"; accepted is what `midflight run --out` '
            "writes"
        )
    plan = _core.Plan(json.dumps(scenario), name=None, policies=policies)
    found = Outcome.of(plan, threads=threads, progress=progress).digests
    if len(found) != len(digests):
        raise MidflightError(
            f"the manifest has {len(digests)} digests but its scenario {len(found)} runs"
        )
    pairs = zip(digests, found, strict=True)
    return [Verified(None, run, str(was), now) for run, (was, now) in enumerate(pairs)]


def sample(cells: int, wanted: int | None) -> list[int]:
    """Return so many cells of a sweep, spread evenly from the first to the last; all for None."""
    if wanted is None or wanted >= cells:
        return list(range(cells))
    if wanted == 1:
        return [0]
    return [place * (cells - 1) // (wanted - 1) for place in range(wanted)]


def verify_sweep(
    folder: Path,
    wanted: int | None,
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
    policies: Policies | None = None,
) -> Iterator[Verified]:
    """Repeat some cells of a sweep, or all for None, and yield each of their runs.

    Raises `MidflightError` for what is no sweep, `OSError` for what cannot be read.
    """
    from midflight import MidflightError
    from midflight.scenario import Outcome
    from midflight.sweep import Sweep

    sweep = Sweep.read(folder, policies=policies)
    cells = sample(sweep.cells, wanted)
    was: dict[int, dict[int, str]] = {cell: {} for cell in cells}
    with (folder / "flows.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cell = int(row["cell"])
            if cell in was:
                was[cell][int(row["run"])] = row["digest"]
    if progress is not None:
        progress(0, len(cells))
    for done, cell in enumerate(cells, start=1):
        if not was[cell]:
            raise MidflightError(f"{folder / 'flows.csv'} has no cell {cell}; is it complete?")
        found = Outcome.of(sweep.plan(cell), threads=threads).digests
        if progress is not None:
            progress(done, len(cells))
        for run, digest in sorted(was[cell].items()):
            now = found[run] if run < len(found) else "no such run"
            yield Verified(cell, run, digest, now)


def models(of: Mapping[str, Any]) -> Sequence[str]:
    """Return the model's version that results are of, and the one here."""
    import midflight

    return str(of.get("model", "unknown")), midflight.MODEL_VERSION
