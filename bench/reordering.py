"""What expecting reordering does: the grid of docs/reordering.md.

    .venv/bin/python bench/reordering.py            every table of that page
    .venv/bin/python bench/reordering.py --half deciding --scheme sack --scheme "reordering:reordering_rule=derived"

A scheme may carry settings of its own after a colon, separated by commas. The pairs of links are in two
halves, as the fields of a chessboard: the rule was decided on with one and is checked on the other.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from midflight import _core as core

Link = tuple[int, int]
Array = np.ndarray[Any, Any]

OLD_KBPS = (200, 800, 1600, 6400)
OLD_MS = (50, 150, 300, 600)
NEW_KBPS = (200, 800, 1600, 6400, 54_000)
NEW_MS = (1, 25, 100)
#: P10-G6: from WiMAX to WLAN.
G6 = ((6000, 50), (54_000, 4))

SCHEMES = (
    "sack:limited_transmit=off",
    "sack",
    "reordering",
    "reordering:reordering_rule=derived",
    "reordering:reordering_rule=derived,reordering_queue=no",
    "ncr-careful",
    "ncr-aggressive",
    "dcr",
)
INSTANTS = 40
PACKETS = 100


@dataclass(frozen=True)
class Pair:
    """An old and a new link, each a rate in kbit/s and a one-way delay in ms."""

    old: Link
    new: Link
    half: str

    @property
    def group(self) -> str:
        """Where in the tables the pair belongs."""
        ratio = self.new[0] / self.old[0]
        if ratio == 1:
            return "equal rate"
        return "slower" if ratio < 1 else "faster"


def pairs() -> list[Pair]:
    """Every pair of the grid whose delay shrinks."""
    found = []
    for i, old in enumerate((kbps, ms) for kbps in OLD_KBPS for ms in OLD_MS):
        for j, new in enumerate((kbps, ms) for kbps in NEW_KBPS for ms in NEW_MS):
            if new[1] < old[1]:
                half = ("deciding", "checking")[(i + i // len(OLD_MS) + j) % 2]
                found.append(Pair(old, new, half))
    return [*found, Pair(*G6, "checking")]


def instants() -> list[int]:
    """Return handoff instants from 0.2 s on, half a second and a bit apart: no multiple of a round trip."""
    return [200_000_000 + i * 497_000_000 for i in range(INSTANTS)]


def run(
    chosen: Sequence[Pair], schemes: Sequence[str], profile: str, kind: str, knobs: dict[str, str], delay_ms: int
) -> dict[str, list[Any]]:
    """Return for each scheme a table for each pair."""
    sweeps = []
    for scheme in schemes:
        name, _, own = scheme.partition(":")
        settings = {"dsack": "on", **knobs, **dict(s.split("=") for s in own.split(",") if s)}
        for pair in chosen:
            sweeps.append(
                core.Sweep(
                    old=tuple_of(pair.old),
                    new=tuple_of(pair.new),
                    kind=kind,
                    at_ns=instants(),
                    schemes=[name],
                    profile=profile,
                    packets=PACKETS,
                    notify_delay_ns=delay_ms * 1_000_000,
                    knobs=settings,
                )
            )
    tables = core.run_sweeps(sweeps)
    n = len(chosen)
    return {scheme: tables[i * n : (i + 1) * n] for i, scheme in enumerate(schemes)}


def tuple_of(link: Link) -> Link:
    """Return a link as the core takes it."""
    return link[0] * 1000, link[1] * 1_000_000


def column(tables: Iterable[Any], name: str) -> Array:
    """Return a column over all tables."""
    return np.concatenate([table.numpy(name).astype(float) for table in tables])


def row(scheme: str, tables: list[Any], plain: list[Any]) -> str:
    """Return a line of a table: a scheme over a group of pairs."""
    false = column(tables, "false_fast_rexmits")
    time = column(tables, "t_new_ns") / column(plain, "t_new_ns")
    both = column(tables, "loss_wait_mean_ns"), column(plain, "loss_wait_mean_ns")
    late = np.nanmean((both[0] - both[1]) / 1e6) if np.isfinite(both[0] - both[1]).any() else np.nan
    medians = [np.median(a.numpy("t_new_ns")) / np.median(b.numpy("t_new_ns")) for a, b in zip(tables, plain, strict=True)]
    cells = [
        scheme,
        f"{100 * np.mean(false > 0):.1f} %",
        f"{np.mean(column(tables, 'fast_rexmits')):.3f}",
        f"{np.mean(column(tables, 'rexmits')):.1f}",
        f"{np.nanmean(both[0]) / 1e6:.0f}",
        f"{late:+.0f}",
        f"{np.mean(column(tables, 'losses_timed_out')):.2f}",
        f"{np.mean(column(tables, 'timeouts')):.3f}",
        f"{np.exp(np.mean(np.log(time))):.3f}",
        f"{min(medians):.2f} to {max(medians):.2f}",
        f"{np.mean(column(tables, 't_new_ns')) / 1e9:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| scheme | false | fast retransmits | retransmissions | loss to resent, ms | later than plain, ms "
    "| timed out | timeouts | time | medians | seconds |\n" + "|---|" + "---:|" * 10
)


def show(title: str, of: dict[str, list[Any]], keep: Sequence[bool]) -> None:
    """Print a table of the pairs to keep."""
    if not any(keep):
        return
    print(f"\n{title}, {sum(keep)} pairs\n\n{HEAD}")
    kept = {s: [t for t, k in zip(tables, keep, strict=True) if k] for s, tables in of.items()}
    plain = kept.get("sack") or next(iter(kept.values()))
    for scheme, tables in kept.items():
        print(row(scheme, tables, plain))


def main() -> None:
    """Run what the command line asks for."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--half", choices=["deciding", "checking", "both"], default="both")
    p.add_argument("--scheme", action="append", help="a scheme, perhaps with settings after a colon")
    p.add_argument("--profile", action="append", choices=["ns2", "rfc"])
    p.add_argument("--kind", action="append", choices=["mbb", "bbm"])
    p.add_argument("--notice-ms", type=int, default=0)
    p.add_argument("--set", action="append", default=[], help="a setting for all schemes")
    args = p.parse_args()
    schemes = args.scheme or list(SCHEMES)
    chosen = [pair for pair in pairs() if args.half in ("both", pair.half)]
    knobs = dict(s.split("=") for s in args.set)
    for profile in args.profile or ["ns2", "rfc"]:
        for kind in args.kind or ["mbb", "bbm"]:
            of = run(chosen, schemes, profile, kind, knobs, args.notice_ms)
            for group in ("equal rate", "slower", "faster"):
                show(f"{profile}, {kind}, {group}", of, [pair.group == group for pair in chosen])
            show(f"{profile}, {kind}, 6000/50 to 54000/4", of, [(pair.old, pair.new) == G6 for pair in chosen])


if __name__ == "__main__":
    main()
