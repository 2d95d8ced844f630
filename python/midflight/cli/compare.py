"""`midflight compare`: predefined comparisons."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import read_whole
from midflight.cli.options import ThreadsOption
from midflight.cli.output import UserError, align, note, open_result, progress_display
from midflight.cli.result_files import CsvOption, destination

if TYPE_CHECKING:
    from midflight.against import AgainstRow
    from midflight.migration import MigrationRow

__all__ = ["compare"]

Progress = Callable[[int, int], object]
COMPARISONS = ("migration", "quinn")


def compare(
    what: Annotated[
        str,
        typer.Argument(
            metavar="COMPARISON",
            help="migration: stacks at a handoff; quinn: our own QUIC sender against quinn.",
        ),
    ],
    handoff: Annotated[
        list[str] | None,
        typer.Option(
            "--handoff",
            metavar="NAME",
            help='Only this handoff, such as "Wi-Fi to 5G"; may be repeated.',
        ),
    ] = None,
    sender: Annotated[
        list[str] | None,
        typer.Option(
            "--sender", metavar="NAME", help='Only this row, such as "as quinn"; may be repeated.'
        ),
    ] = None,
    instants: Annotated[
        str,
        typer.Option(
            "--instants",
            metavar="N",
            help="At so many instants of a handoff, 1 to 200 (migration: 3, quinn: 60).",
        ),
    ] = "",
    threads: ThreadsOption = "0",
    csv_file: CsvOption = None,
    figure: Annotated[
        str | None,
        typer.Option("--figure", metavar="FILE", help="Draw it, as .png, .svg or .pdf."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Compare the cost of a handoff over QUIC and TCP.

    The rows are the choices of seven QUIC stacks at a migration in the simulator's own sender, the
    stacks themselves, and Linux's TCP under Mobile IP and with a new connection.
    Each goes through four handoffs, make before break and with a break of half a second. The
    columns are described in docs/migration.md. The comparison with quinn is in docs/quic.md.

    \b
    Examples:
      midflight compare migration
      midflight compare quinn
      midflight compare migration --handoff "Starlink to GEO" --csv geo.csv --figure geo.png
    """
    if what not in COMPARISONS:
        raise UserError(f'there is no comparison "{what}"; expected {", ".join(COMPARISONS)}')
    thread_count = read_whole("--threads", threads, 0, 1024)
    rows: Any
    with destination(csv_file) as file, progress_display(quiet_s=20.0) as display:

        def progress(done: int, of: int) -> None:
            display("runs", done, of)

        if what == "quinn":
            for option, given in (("--sender", sender), ("--figure", figure)):
                if given:
                    raise UserError(f"{option} is for the comparison migration")
            rows = _against_quinn(handoff, instants or "60", thread_count, progress)
        else:
            rows = _migration(handoff, sender, instants or "3", thread_count, figure, progress)
        if file is not None:
            _write(rows, file)
    if figure is not None:
        from midflight.plot.results.migration import migration_figure

        with open_result(Path(figure), binary=True) as picture:
            picture.write(migration_figure(rows, Path(figure).suffix))
    if as_json:
        json.dump([asdict(row) for row in rows], sys.stdout, indent=2, allow_nan=False)
        print()
    elif csv_file not in ("-", "/dev/stdout"):
        print(quinn_text(rows) if what == "quinn" else text(rows))


def _migration(
    handoffs: Sequence[str] | None,
    senders: Sequence[str] | None,
    instants: str,
    threads: int,
    figure: str | None,
    progress: Progress,
) -> list[MigrationRow]:
    from midflight import migration

    names = _chosen("--handoff", handoffs, list(migration.HANDOFFS))
    known = {one.name: one for one in migration.SENDERS}
    chosen = [known[name] for name in _chosen("--sender", senders, list(known))]
    if not senders:
        # A row that nobody has named is left out if its stack is not installed.
        reasons = dict.fromkeys(one.missing for one in chosen if one.missing)
        chosen = [one for one in chosen if not one.missing]
        for why in reasons:
            note(f"left out: {why}")
    count = read_whole("--instants", instants, 1, 200)
    first, last = migration.INSTANTS_S[0], migration.INSTANTS_S[0] + 0.4
    places = (
        migration.INSTANTS_S
        if count == len(migration.INSTANTS_S)
        else [first + (last - first) * i / count for i in range(count)]
    )
    if figure is not None:
        from midflight.plot.results.migration import check_file

        check_file(Path(figure))
    return migration.compare_migration(
        senders=chosen, handoffs=names, instants_s=places, threads=threads, progress=progress
    )


def _against_quinn(
    handoffs: Sequence[str] | None, instants: str, threads: int, progress: Progress
) -> list[AgainstRow]:
    from midflight import against

    names = _chosen("--handoff", handoffs, list(against.PATHS))
    count = read_whole("--instants", instants, 1, 200)
    places = against.instants_of(count)
    return against.compare_quinn(
        handoffs=names, instants_s=places, threads=threads, progress=progress
    )


def _chosen(option: str, given: Sequence[str] | None, known: list[str]) -> list[str]:
    for name in given or []:
        if name not in known:
            raise UserError(f'{option} "{name}" is not accepted; expected {", ".join(known)}')
    return [name for name in known if not given or name in given]


def _write(rows: Sequence[Any], file: Any) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(one.name for one in fields(rows[0]))
    writer.writerows(asdict(row).values() for row in rows)


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def text(rows: Sequence[MigrationRow]) -> str:
    """Return the rows as tables, one for each handoff."""
    parts = [
        "Seconds from the handoff until 1 MB and 20 MB of new data are acknowledged, and of the\n"
        "longest time without progress; packets lost to a full queue and to a link that was down;\n"
        "what a TCP flow on the new link gets in the next 5 s, of what it has alone. Medians.\n"
        'Rows "as X" are the QUIC sender of midflight with the choices of X at a migration, not\n'
        'X itself; "X (cubic)" is the stack itself.',
    ]
    for handoff in dict.fromkeys(row.handoff for row in rows):
        lines = [["sender", "kind", "1 MB", "20 MB", "stall", "queue", "down", "resident"]]
        lines += [migration_cells(row) for row in rows if row.handoff == handoff]
        parts.append(f"{handoff}\n{align(lines)}")
    return "\n\n".join(parts)


def migration_cells(row: MigrationRow) -> list[str]:
    """Return a row in words: its sender and kind, then the values."""
    return [
        row.sender,
        row.kind,
        _number(row.seconds_1mb),
        _number(row.seconds_20mb),
        _number(row.stall_s),
        _number(row.lost_queue, 0),
        _number(row.lost_down, 0),
        f"{100 * row.resident:.0f} %",
    ]


def quinn_text(rows: Sequence[AgainstRow]) -> str:
    """Return the rows as a table."""
    head = ["handoff", "kind", "controller", "whole: ours", "quinn", "", "100: ours", "quinn", ""]
    return align([head, *quinn_cells(rows)])


def quinn_cells(rows: Sequence[AgainstRow]) -> list[list[str]]:
    """Return the rows in words: times in seconds, and by how much ours differ."""
    from midflight.against import changes

    lines = []
    for row in rows:
        whole, hundred = (
            "-" if change is None else f"{100 * change:+.1f} %" for change in changes(row)
        )
        lines.append(
            [
                *(row.handoff, row.kind, row.controller),
                *(_number(row.own_s, 3), _number(row.quinn_s, 3), whole),
                *(_number(row.own_hundred_s, 3), _number(row.quinn_hundred_s, 3), hundred),
            ]
        )
    return lines
