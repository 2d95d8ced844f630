"""What the commands that run long-lived flows make of the core's tables, interval by interval."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight._core import Table

__all__ = ["columns", "link_values", "run_values", "segment_bits", "write_csv", "write_trace"]


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
            cells = (f"{value:.12g}" if isinstance(value, float) else value for value in row)
            writer.writerow([scheme, *cells])


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
        writer.writerow([time_ns, event, f"{value:.12g}", detail])


def link_values(link: tuple[int, int]) -> dict[str, int]:
    """Return a link as values for JSON."""
    return {"rate_bit_s": link[0], "delay_ns": link[1]}
