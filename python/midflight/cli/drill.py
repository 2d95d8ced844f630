"""`midflight drill`: scripts in packetdrill's notation, run against the sender in virtual time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import idle_knobs, read, read_pairs
from midflight.cli.options import PROFILES, SettingsOption
from midflight.cli.output import UserError

if TYPE_CHECKING:
    from midflight._core import Drill

# No script is longer; a device that never ends is read no further.
MOST_BYTES = 1_000_000


def drill(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Scripts; a directory stands for all *.pkt in and below it."
        ),
    ],
    scheme: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A sender, see `midflight list schemes`, or several joined by +.  [default: the "
            "script's, or sack]",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{PROFILES}  [default: the script's, or rfc]",
        ),
    ] = None,
    sets: SettingsOption = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How early or late a segment may be.  [default: the script's, or 4ms]",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also show the notes of scripts that pass.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Run scripts in packetdrill's notation against the sender, without root, in virtual time.

    A script states which packets arrive, what the application does, and the expected segments,
    their times and the sender's state. A comment `// midflight: recovery=sack,newreno
    min_rto=200ms` names the senders it is for; each combination is one run. Features that the
    sender does not have are errors with file and line; lines without effect are noted. See
    docs/drills.md.

    Exit status: 0 if every run passes, 1 if one fails, 2 if a script cannot be run; the others are
    still run.

    \b
    Examples:
      midflight drill drills/rfc5681
      midflight drill slow-start.pkt --set set.min_rto=200ms
      midflight drill my.pkt --scheme frto --profile rfc --json
    """
    from midflight import MidflightError, _core
    from midflight.question import apart

    chosen, knobs = apart(read_pairs(sets or []), "a script")
    request: dict[str, Any] = {"scheme": scheme, "profile": profile, "knobs": knobs}
    for name, value in chosen.items():
        raise UserError(f"--set {name}={value}: give --{name} {value}")
    if tolerance is not None:
        request["tolerance_ns"] = read("--tolerance", _core.parse_duration, tolerance)
    if scheme is not None:
        tell(idle_knobs([scheme], request["knobs"]))

    results: list[dict[str, Any]] = []
    for path in scripts(files):
        try:
            runs = _core.run_drill(read_script(path), str(path), **request)
            results.append({"file": str(path), "runs": runs, "error": None})
        except (MidflightError, UserError) as error:
            results.append({"file": str(path), "runs": [], "error": str(error)})
        if not as_json:
            show(results[-1], verbose=verbose)
    if scheme is None:
        tell(idle_everywhere([run for one in results for run in one["runs"]], request["knobs"]))
    failed = sum(not run["passed"] for one in results for run in one["runs"])
    unusable = sum(one["error"] is not None for one in results)
    if as_json:
        json.dump({"model_version": _core.MODEL_VERSION, "scripts": results}, sys.stdout, indent=2)
        print()
    elif len(results) > 1 or any(len(one["runs"]) > 1 for one in results):
        passed = sum(run["passed"] for one in results for run in one["runs"])
        counts = f"{passed} passed, {failed} failed"
        print(counts + (f", {unusable} cannot be run" if unusable else ""))
    if unusable:
        raise typer.Exit(2)
    if failed:
        raise typer.Exit(1)


def tell(notes: Iterable[str]) -> None:
    """Print notes."""
    for note in notes:
        print(f"midflight: note: {note}", file=sys.stderr)


def idle_everywhere(runs: Sequence[Drill], knobs: Mapping[str, str]) -> Iterator[str]:
    """Yield a note for each knob without effect in all runs, where scripts chose the schemes."""
    # A controller that scripts chose has its knobs.
    chosen = [run["knobs"]["congestion"] for run in runs if "congestion" in run["knobs"]]
    if runs:
        yield from idle_knobs([run["scheme"] for run in runs], knobs, chosen)


def scripts(files: Sequence[str]) -> Iterator[Path]:
    """Yield the scripts, those of directories in the order of their names."""
    for name in files:
        path = Path(name)
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.rglob("*.pkt"))
        if not found:
            raise UserError(f'there is no script in "{name}"; scripts are files *.pkt')
        yield from found


def read_script(path: Path) -> str:
    """Return the text of a script."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f'cannot read "{path}": {error.strerror or error}') from error
    if len(raw) > MOST_BYTES:
        raise UserError(f'"{path}" is not a script: it has more than {MOST_BYTES} bytes')
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: this is not UTF-8 text") from error


def show(result: dict[str, Any], *, verbose: bool) -> None:
    """Print what became of a script."""
    if result["error"] is not None:
        print(f"midflight: {' '.join(result['error'].split())}", file=sys.stderr)
    notes: set[tuple[int, str]] = set()
    for run in result["runs"]:
        print("\n".join(described(result["file"], run)))
        new = {(note["line"], note["text"]) for note in run["notes"]}
        if run["passed"] and not verbose:
            # The open end of a script is noted although it passes.
            new = {note for note in new if note[1].startswith("the script ends")}
        if new:
            for line, text in sorted(new - notes):
                print(f"      note: {result['file']}:{line}: {text}")
            notes |= new


def described(file: str, run: Drill) -> Iterator[str]:
    """Yield the lines that describe a run."""
    sender = " ".join(
        [
            run["scheme"],
            run["profile"],
            *(f"{name}={value}" for name, value in run["knobs"].items()),
        ]
    )
    failure = run["failure"]
    yield f"{'ok  ' if failure is None else 'FAIL'}  {file}  [{sender}]"
    if failure is None:
        return
    first, *rest = failure["statement"].splitlines()
    yield f"      {file}:{failure['line']}: {first}{' ...' if rest else ''}"
    yield f"      expected: {failure['expected']}"
    yield f"      seen:     {failure['seen']}"
    state = ", ".join(f"{name} {value}" for name, value in failure["state"].items())
    yield f"      state:    {state}"
