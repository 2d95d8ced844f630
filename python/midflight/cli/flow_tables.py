"""What the commands that run long-lived flows make of the core's tables, interval by interval."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from midflight.cli.captures import Captures
from midflight.cli.output import QUIET_S, UserError, open_result, progress_display
from midflight.run_tables import csv_cell, csv_text

if TYPE_CHECKING:
    from midflight._core import Table

    Made: TypeAlias = Sequence[Table]
    Report: TypeAlias = Callable[[int, int], object]

__all__ = ["Outputs", "columns", "link_values", "run_values", "segment_bits"]

STANDARD_OUTPUT = ("-", "/dev/stdout")


class Outputs:
    """Where results go: a summary or JSON to standard output, runs and events to files."""

    def __init__(
        self,
        csv_file: str | None,
        trace_file: str | None,
        captures: Captures,
        *,
        as_json: bool,
    ) -> None:
        """Refuse outputs that are in each other's way."""
        if as_json and csv_file is not None:
            raise UserError("--csv and --json exclude each other; give one of them")
        on_output = [
            option
            for option, used in (
                ("--csv -", csv_file in STANDARD_OUTPUT),
                ("--trace -", trace_file in STANDARD_OUTPUT),
                ("--json", as_json),
            )
            if used
        ]
        if len(on_output) > 1:
            raise UserError(
                f"{' and '.join(on_output)} exclude each other on standard output; "
                "write one of them to a file"
            )
        if csv_file is not None and csv_file == trace_file:
            raise UserError(
                f'--csv and --trace both name "{csv_file}"; give each a file of its own'
            )
        self.csv_file, self.trace_file, self.as_json = csv_file, trace_file, as_json
        self.taken = bool(on_output)
        self.captures = captures

    def check_traced(self, schemes: Sequence[str]) -> None:
        """Refuse to trace more than one scheme."""
        if self.trace_file is not None and len(schemes) > 1:
            raise UserError(
                f"--trace writes the events of one scheme, not of {len(schemes)} "
                f"({', '.join(schemes)}); give one --scheme"
            )

    def make(
        self,
        schemes: Sequence[str],
        bits: int,
        run: Callable[[Report], Made],
        trace: Callable[[], Table],
        capture: Callable[[int], Mapping[str, bytes]],
        *,
        summary: Callable[[Made], str],
        values: Callable[[Made], dict[str, Any]],
    ) -> None:
        """Run, and write what is asked for; `run` gets what to tell of its progress."""
        # Opened before the runs, so that a place that cannot be written to shows at once.
        with destination(self.csv_file) as csv_to, destination(self.trace_file) as trace_to:
            self.captures.write(capture)
            with progress_display(quiet_s=QUIET_S) as progress:
                tables = run(lambda done, total: progress("runs", done, total))
            if csv_to is not None:
                write_csv(schemes, tables, bits, csv_to)
            if trace_to is not None:
                write_trace(trace(), trace_to)
        if self.as_json:
            json.dump(values(tables), sys.stdout, indent=2, allow_nan=False)
            print()
        else:
            sys.stdout.flush()
            print(summary(tables), file=sys.stderr if self.taken else sys.stdout)


def destination(file: str | None) -> AbstractContextManager[IO[str] | None]:
    """Return where an output goes: nowhere, to standard output, or to a file."""
    if file is None:
        return nullcontext(None)
    return nullcontext(sys.stdout) if file in STANDARD_OUTPUT else open_result(Path(file))


def segment_bits(profile: str, knobs: Mapping[str, str]) -> int:
    """Return the size of a data segment on the wire."""
    from midflight import _core

    of_profile = {one["name"]: one["values"] for one in _core.settings()}["segment_bytes"]
    return 8 * int(knobs.get("segment_bytes", of_profile.get(profile, 0)))


def columns(table: Table, bits: int) -> dict[str, list[Any]]:
    """Return the columns of a scheme's runs; instants in seconds, throughput in kbit/s."""
    found: dict[str, list[Any]] = {}
    for name in table.column_names:
        values = table.column(name)
        if name.endswith("_ns"):
            name, values = f"{name[:-3]}_s", [value / 1e9 for value in values]
        found[name] = values
        if name == "until_s":
            of = zip(table.column("acked"), found["from_s"], values, strict=True)
            found["throughput_kbit_s"] = [
                acked * bits / (until - start) / 1e3 for acked, start, until in of
            ]
    return found


def write_csv(schemes: Sequence[str], tables: Sequence[Table], bits: int, file: IO[str]) -> None:
    """Write one row per scheme and row of its table."""
    writer = csv.writer(file, lineterminator="\n")
    for number, (scheme, table) in enumerate(zip(schemes, tables, strict=True)):
        found = columns(table, bits)
        if number == 0:
            writer.writerow(["scheme", *found])
        for row in zip(*found.values(), strict=True):
            writer.writerow(map(csv_cell, (scheme, *row)))


def run_values(schemes: Sequence[str], tables: Sequence[Table], bits: int) -> list[dict[str, Any]]:
    """Return the same rows as values for JSON."""
    runs = []
    for scheme, table in zip(schemes, tables, strict=True):
        found = columns(table, bits)
        for row in zip(*found.values(), strict=True):
            runs.append({"scheme": scheme, **dict(zip(found, row, strict=True))})
    return runs


def write_trace(table: Table, file: IO[str]) -> None:
    """Write one row per event."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["time_ns", "event", "value", "detail"])
    each = (table.column(name) for name in ("time_ns", "event", "value", "detail"))
    for time_ns, event, value, detail in zip(*each, strict=True):
        writer.writerow([time_ns, event, f"{value:.12g}", csv_text(detail)])


def link_values(link: tuple[int, int]) -> dict[str, int]:
    """Return a link as values for JSON."""
    return {"rate_bit_s": link[0], "delay_ns": link[1]}
