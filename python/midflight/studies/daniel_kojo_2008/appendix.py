"""Further results of a complete reproduction, beyond the paper's figures.

`grid.csv` has one line for each cell and scheme, including the cells that no figure shows.  The
report also lists the cells in which the enhanced sender is slower, and shows how the assumed delay
of the fixed links affects the reductions, because the paper's figure with that delay is lost.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from midflight.claims import percent
from midflight.plot import write_csv
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.common import median_unused_s
from midflight.studies.daniel_kojo_2008.scenarios import ENHANCED, ENHANCED_A5, REGULAR, sweep
from midflight.studies.runs import Cell, Job, Runs, Sweep

#: Fixed-link delays of the sensitivity, in ms one way; the study itself uses 2 ms.
FIXED_DELAYS_MS = (1, 10)
A5_CELLS = frozenset(cell for cell in sc.CELLS if cell.new == sc.SLOW and cell.kind == sc.MBB)


def schemes(cell: Cell) -> tuple[str, ...]:
    """The schemes that the grid runs in a cell."""
    return (REGULAR, ENHANCED, ENHANCED_A5) if cell in A5_CELLS else (REGULAR, ENHANCED)


def _at_delay(cell: Cell, scheme: str, fixed_ms: int) -> Sweep:
    """The runs of a cell with another delay of the fixed links."""
    usual = sweep(cell, scheme)
    if fixed_ms == usual.fixed_delay_ms:
        return usual
    return replace(usual, fixed_delay_ms=fixed_ms, extra_packets=())


EVERYTHING: tuple[Job, ...] = (
    *(sweep(cell, scheme) for cell in sc.CELLS for scheme in schemes(cell)),
    *(
        _at_delay(cell, scheme, ms)
        for ms in FIXED_DELAYS_MS
        for cell in sc.CELLS
        for scheme in (REGULAR, ENHANCED)
    ),
)

_GRID_HEADER = (
    "family",
    "kind",
    "old_rate_kbps",
    "old_delay_ms",
    "new_rate_kbps",
    "new_delay_ms",
    "scheme",
    "runs",
    "unfinished_runs",
    "q1_s",
    "median_s",
    "q3_s",
    "mean_rtos",
    "mean_spurious_rtos",
    "share_with_spurious_rto",
    "mean_lost_segments",
    "mean_retransmissions",
    "share_in_rto_recovery_at_make",
    "median_unused_s",
)


def _grid_rows(runs: Runs) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for family, cells in sc.FAMILIES.items():
        for cell in cells:
            for scheme in schemes(cell):
                table = runs.sweep(sweep(cell, scheme))
                rows.append(
                    (
                        family,
                        cell.kind,
                        cell.old.kbps,
                        cell.old.ms,
                        cell.new.kbps,
                        cell.new.ms,
                        scheme,
                        len(table),
                        int(np.isnan(table.transfer_time_s).sum()),
                        *table.transfer_time,
                        table.mean("nrto"),
                        table.mean("nspur"),
                        table.share(table["nspur"] >= 1),
                        table.mean("drops_data"),
                        table.mean("rexmits"),
                        table.mean("in_rto_recovery_at_make"),
                        median_unused_s(table),
                    )
                )
    return rows


def _reduction_at(runs: Runs, cell: Cell, fixed_ms: int) -> float:
    regular, enhanced = (
        runs.sweep(_at_delay(cell, scheme, fixed_ms)).transfer_time.median
        for scheme in (REGULAR, ENHANCED)
    )
    return 1.0 - enhanced / regular


def _sensitivity(runs: Runs, rows: list[tuple[object, ...]]) -> str:
    """The Markdown of the sensitivity; appends a line for each cell to `rows`."""
    base = np.array([_reduction_at(runs, cell, 2) for cell in sc.CELLS])
    other = {
        ms: np.array([_reduction_at(runs, cell, ms) for cell in sc.CELLS]) for ms in FIXED_DELAYS_MS
    }
    for index, cell in enumerate(sc.CELLS):
        rows.append(
            (
                cell.kind,
                cell.old.kbps,
                cell.old.ms,
                cell.new.kbps,
                cell.new.ms,
                *(float(v[index]) for v in (other[1], base, other[10])),
            )
        )
    lines = [
        "### Delay of the fixed links",
        "",
        "The study assumes 2 ms one way on each fixed link. With another delay the reduction of "
        f"the median changes as follows over the {len(sc.CELLS)} different cells (per cell: "
        "`sensitivity.csv`).",
        "",
        "| Delay | Median change | Cells that change by 5 points or less | Largest change | Cell |",
        "|---|---|---|---|---|",
    ]
    for ms, values in other.items():
        move = np.abs(values - base)
        most = int(np.nanargmax(move))
        cells = (
            f"{ms} ms",
            f"{100 * np.nanmedian(move):.1f} points",
            percent(float(np.mean(move <= 0.05)), 0),
            f"{percent(float(base[most]), 0)} to {percent(float(values[most]), 0)}",
            str(sc.CELLS[most]),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _slower(runs: Runs) -> str:
    """The Markdown of the cells in which the enhanced sender takes clearly longer."""
    rows = []
    for cell in sc.CELLS:
        regular, enhanced = (runs.sweep(sweep(cell, scheme)) for scheme in (REGULAR, ENHANCED))
        longer = enhanced.transfer_time.median / regular.transfer_time.median - 1.0
        if longer > 0.10:
            rows.append(
                f"| {cell} | {regular.transfer_time.median:.2f} s | "
                f"{enhanced.transfer_time.median:.2f} s | {percent(longer, 0)} | "
                f"{regular.mean('drops_data'):.1f} | {enhanced.mean('drops_data'):.1f} |"
            )
    return "\n".join(
        [
            "### Where the enhanced sender is slower",
            "",
            f"In {len(rows)} of the {len(sc.CELLS)} cells its median is more than 10 % longer. A2 "
            "sets the window to one product of the new access link, which leaves nothing for the "
            "rest of the path and no queue; and it also acts where the new link is the larger one, "
            "when that product is small (1 ms).",
            "",
            "| Cell | Regular | Enhanced | Longer by | Mean losses, regular | enhanced |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "",
        ]
    )


def appendix(runs: Runs, out: Path) -> tuple[str, list[Path]]:
    """Write `grid.csv` and `sensitivity.csv`; return the Markdown for the report and the files."""
    grid = write_csv(out / "grid.csv", _GRID_HEADER, _grid_rows(runs))
    rows: list[tuple[object, ...]] = []
    text = _slower(runs) + _sensitivity(runs, rows)
    header = (
        "kind",
        "old_rate_kbps",
        "old_delay_ms",
        "new_rate_kbps",
        "new_delay_ms",
        "reduction_at_1_ms",
        "reduction_at_2_ms",
        "reduction_at_10_ms",
    )
    return text, [grid, write_csv(out / "sensitivity.csv", header, rows)]
