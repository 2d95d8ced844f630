"""`midflight verify`: repeat recorded results and compare them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import own_policies, read_whole
from midflight.cli.options import PoliciesOption, ThreadsOption
from midflight.cli.output import QUIET_S, UserError, note, progress_display
from midflight.cli.result_files import MANIFEST
from midflight.run_tables import counted

if TYPE_CHECKING:
    from midflight.verify import VerifiedResults

__all__ = ["verify"]

# Lines about tables at most.
MOST_DIFFERENCES = 10

SWEEP = "sweep.json"


def verify(
    path: Annotated[
        str,
        typer.Argument(
            metavar="MANIFEST",
            help="A manifest, the folder it is in, or the folder of a sweep or its sweep.json.",
        ),
    ],
    cells: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="For a sweep: cells to repeat, evenly spread, or all.  [default: 10]",
        ),
    ] = None,
    policies: PoliciesOption = None,
    threads: ThreadsOption = "0",
    as_json: Annotated[bool, typer.Option("--json", help="Print the runs as JSON.")] = False,
) -> int:
    """Repeat results and compare digests and tables: of a command with --out, or of a sweep.

    Prints a line for each run, and one for each value of the tables beside the results that
    differs. Exit status: 0 if everything is equal, 1 if not, 2 for an error. Another version of the
    model may give other digests; a note says so.

    \b
    Examples:
      midflight verify results/manifest.json
      midflight verify sweep --cells all
    """
    from midflight.verify import models, other_policies, verify_manifest, verify_sweep

    thread_count = read_whole("--threads", threads, 0, 1024)
    own = own_policies(policies)
    file = find(path)
    of = read_json(file)
    is_sweep = file.name == SWEEP or "axes" in of
    wanted = read_cells(cells, is_sweep=is_sweep)
    was, now = models(of)
    if "model" in of and was != now:
        note(
            f"{file} is of model {was}, and this is model {now}: other digests would not be "
            "surprising"
        )
    changed = other_policies(of, own)
    for name in changed:
        note(f'the policy "{name}" is not that of the results: its file has another hash')
    with progress_display(quiet_s=QUIET_S) as progress:

        def show(done: int, total: int) -> None:
            progress("cells" if is_sweep else "runs", done, total)

        if is_sweep:
            try:
                found = verify_sweep(
                    file.parent, wanted, threads=thread_count, progress=show, policies=own
                )
            except OSError as error:
                raise UserError(
                    f'cannot read "{error.filename}": {error.strerror}; a sweep is verified when '
                    "it is put together"
                ) from error
        else:
            found = verify_manifest(
                of, file.parent, threads=thread_count, progress=show, policies=own
            )
    if as_json:
        json.dump(values(found, was, changed), sys.stdout, indent=2)
        print()
    else:
        print("\n".join(lines(found, of.get("cells") if is_sweep else None)))
        compared = [path.name for path in sorted(file.parent.glob("comparison*.csv"))]
        if compared:
            note(
                f"not looked at: {', '.join(compared)}, which the sweep's command makes of the "
                "tables"
            )
    return 0 if found.same else 1


def find(path: str) -> Path:
    """Return the file that describes the source of results."""
    given = Path(path)
    if given.is_dir():
        for name in (MANIFEST, SWEEP):
            if (given / name).is_file():
                return given / name
        raise UserError(f'"{path}" has neither {MANIFEST} nor {SWEEP}; give a folder with results')
    return given


def read_json(file: Path) -> dict[str, Any]:
    """Read a manifest."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f'cannot read "{file}": {error.strerror or error}') from error
    except ValueError as error:
        raise UserError(f'"{file}" is not a manifest: it is not JSON in UTF-8') from error
    if not isinstance(found, dict):
        raise UserError(f'"{file}" is not a manifest: it holds no object')
    return found


def read_cells(text: str | None, *, is_sweep: bool) -> int | None:
    """Read --cells; None for all."""
    if text is not None and not is_sweep:
        raise UserError("--cells is for sweeps; a manifest is repeated as a whole")
    if text == "all":
        return None
    return read_whole("--cells", text or "10", 1, 100_000_000)


def values(found: VerifiedResults, model: str, changed: Sequence[str]) -> dict[str, Any]:
    """Return the results as values for JSON."""
    return {
        "same": found.same,
        "model": model,
        "other_policies": list(changed),
        "runs": [{**asdict(one), "same": one.same} for one in found.runs],
        "differences": [asdict(one) for one in found.differences],
    }


def lines(found: VerifiedResults, cells: int | None) -> list[str]:
    """Return a line for each run and one for all, and what differs in tables.

    Of a sweep of this many `cells` only runs that differ have a line.
    """
    result = []
    for one in found.runs:
        if cells is not None and one.same:
            continue
        where = f"run {one.run}" if one.cell is None else f"cell {one.cell} run {one.run}"
        verdict = "the same" if one.same else f"differs: now {one.found}"
        result.append(f"{where}  {one.expected}  {verdict}")
    wrong, total = sum(not one.same for one in found.runs), len(found.runs)
    runs = counted(total, "run")
    if cells is not None:
        runs += f" of {len({one.cell for one in found.runs})} of {counted(cells, 'cell')}"
    result.append(f"{runs} repeated, {'all the same' if not wrong else f'{wrong} differ'}.")
    differ = found.differences
    if differ:
        many = "1 value does" if len(differ) == 1 else f"{len(differ)} values do"
        result += ["", f"In tables {many} not come out again:"]
        result += [one.text() for one in differ[:MOST_DIFFERENCES]]
    if len(differ) > MOST_DIFFERENCES:
        result.append(f"... and {len(differ) - MOST_DIFFERENCES} more; --json has all")
    return result
