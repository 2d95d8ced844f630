"""The figure of `midflight compare migration`: the time of 1 MB and of 20 MB after a handoff."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from midflight.plot.common.legends import legend
from midflight.plot.common.log_ticks import plain_log
from midflight.plot.common.style import PAGE_IN, check_format, figure_bytes, style

if TYPE_CHECKING:
    from midflight.migration import MigrationRow

__all__ = ["check_file", "migration_figure"]

#: Kinds of handoffs in words.
_KINDS = {"MBB": "make before break", "BBM": "break before make"}


def check_file(path: Path) -> None:
    """Refuse a file of a format that no figure has."""
    check_format(path)


def migration_figure(rows: Sequence[MigrationRow], suffix: str) -> bytes:
    """Draw a panel for each handoff and kind: for each sender the times of 1 MB and of 20 MB.

    The time axis is logarithmic; a sender that took longer than was waited for has no mark.
    Returns the file of this suffix.
    """
    with style():
        from matplotlib.figure import Figure

        kinds = list(dict.fromkeys(row.kind for row in rows))
        handoffs = list(dict.fromkeys(row.handoff for row in rows))
        senders = list(dict.fromkeys(row.sender for row in rows))
        height = len(handoffs) * (0.16 * len(senders) + 0.55) + 0.3
        figure = Figure(figsize=(PAGE_IN, height))
        grid = figure.subplots(len(handoffs), len(kinds), squeeze=False, sharex="row")
        for line, handoff in enumerate(handoffs):
            for place, kind in enumerate(kinds):
                axes = grid[line][place]
                of = {r.sender: r for r in rows if (r.handoff, r.kind) == (handoff, kind)}
                for index, sender in enumerate(senders):
                    row = of[sender]
                    y = len(senders) - 1 - index
                    both = (row.seconds_1mb, row.seconds_20mb)
                    known = [one for one in both if one is not None]
                    axes.plot(known, [y] * len(known), color="0.7", linewidth=0.8, zorder=1)
                    for value, mark, label in zip(both, ("o", "s"), ("1 MB", "20 MB"), strict=True):
                        if value is not None:
                            axes.plot(
                                [value],
                                [y],
                                mark,
                                markersize=3.2,
                                color="black",
                                markerfacecolor="white" if mark == "o" else "black",
                                label=label if index == 0 else None,
                            )
                plain_log(axes.xaxis, (1.0, 2.0, 5.0))
                axes.grid(True, axis="x")
                axes.set_ylim(-0.6, len(senders) - 0.4)
                axes.set_yticks(range(len(senders)), senders[::-1] if place == 0 else [])
                axes.set_title(f"{handoff}, {_KINDS.get(kind, kind)}", loc="left")
                if line == len(handoffs) - 1:
                    axes.set_xlabel("Seconds from the handoff")
        handles, labels = grid[0][0].get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True))
        legend(figure, entries, loc="outside upper center")
        return figure_bytes(figure, suffix)
