"""The effect of expecting reordering: the measurements of docs/reordering.md.

    .venv/bin/python bench/reordering.py
    .venv/bin/python bench/reordering.py --packets 1000 --scheme a2 --scheme a2+reordering

A scheme may have its own settings after a colon, separated by commas. The pairs of links are
in two halves, as the fields of a chessboard: the rule was decided on with the one, and is checked
with the other.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
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

DERIVED = "reordering_rule=derived"
SCHEMES = (
    "sack:limited_transmit=off",
    "sack",
    "reordering",
    f"reordering:{DERIVED}",
    f"reordering:{DERIVED},reordering_queue=no",
    "ncr-careful",
    "ncr-aggressive",
    "dcr",
    "a2",
    "a2+reordering",
    f"a2+reordering:{DERIVED}",
)
INSTANTS = 40
HALVES = ("deciding", "checking")
GROUPS = ("equal", "slower", "faster")


@dataclass(frozen=True)
class Pair:
    """An old and a new link, each a rate in kbit/s and a one-way delay in ms."""

    old: Link
    new: Link
    half: str

    @property
    def group(self) -> str:
        """How the new link's rate relates to the old one's."""
        if self.new[0] == self.old[0]:
            return "equal"
        return "slower" if self.new[0] < self.old[0] else "faster"


def pairs() -> list[Pair]:
    """Return every pair of the grid with a decrease of the delay."""
    found = []
    for i, old in enumerate((kbps, ms) for kbps in OLD_KBPS for ms in OLD_MS):
        for j, new in enumerate((kbps, ms) for kbps in NEW_KBPS for ms in NEW_MS):
            if new[1] < old[1]:
                found.append(Pair(old, new, HALVES[(i + i // len(OLD_MS) + j) % 2]))
    return [*found, Pair(*G6, "checking")]


def instants() -> list[int]:
    """Return handoff instants in nanoseconds, at intervals of 497 ms, which is no multiple of a
    round trip.
    """
    return [200_000_000 + i * 497_000_000 for i in range(INSTANTS)]


def core_link(link: Link) -> Link:
    """Return a link as the core takes it."""
    return link[0] * 1000, link[1] * 1_000_000


@dataclass(frozen=True)
class Setup:
    """The settings of a grid, besides its schemes."""

    profile: str
    kind: str
    notice_ms: int
    packets: int
    knobs: tuple[tuple[str, str], ...] = ()

    def run(self, chosen: Sequence[Pair], schemes: Sequence[str]) -> dict[str, list[Any]]:
        """Return for each scheme a table for each pair."""
        sweeps = []
        for scheme in schemes:
            name, _, own = scheme.partition(":")
            settings = dict(setting.split("=") for setting in own.split(",") if setting)
            sweeps += [
                core.HandoffSweep(
                    old=core_link(pair.old),
                    new=core_link(pair.new),
                    kind=self.kind,
                    at_ns=instants(),
                    schemes=[name],
                    profile=self.profile,
                    packets=self.packets,
                    notice_delay_ns=self.notice_ms * 1_000_000,
                    knobs={"dsack": "on", **dict(self.knobs), **settings},
                )
                for pair in chosen
            ]
        tables = core.run_handoff_sweeps(sweeps)
        n = len(chosen)
        return {scheme: tables[i * n : (i + 1) * n] for i, scheme in enumerate(schemes)}


def column(tables: Iterable[Any], name: str) -> Array:
    """Return a column over all tables."""
    return np.concatenate([table.numpy(name).astype(float) for table in tables])


def base(scheme: str) -> str:
    """Return the scheme that another is measured against."""
    return "a2" if scheme.startswith("a2") else "sack"


def false(tables: list[Any], _: list[Any]) -> str:
    """Return how many handoffs have a false fast retransmit, in per cent."""
    return f"{100 * np.mean(column(tables, 'false_fast_rexmits') > 0):.1f}"


def later(tables: list[Any], plain: list[Any]) -> str:
    """Return how much later lost segments are retransmitted than with the plain sender, in ms."""
    late = (column(tables, "loss_wait_mean_ns") - column(plain, "loss_wait_mean_ns")) / 1e6
    late = late[np.isfinite(late)]
    return f"{np.mean(late):+.0f}" if late.size else "-"


def mean(name: str, digits: int) -> Callable[[list[Any], list[Any]], str]:
    """Return what gives the mean of a column."""
    return lambda tables, _: f"{np.mean(column(tables, name)):.{digits}f}"


def time(tables: list[Any], plain: list[Any]) -> str:
    """Return the transfer time over the plain sender's at the same instant, geometric mean."""
    return f"{np.exp(np.mean(np.log(column(tables, 't_new_ns') / column(plain, 't_new_ns')))):.3f}"


def medians(tables: list[Any], plain: list[Any]) -> str:
    """Return the least and the largest ratio of a pair's median time to the plain sender's."""
    both = zip(tables, plain, strict=True)
    ratios = [np.median(a.numpy("t_new_ns")) / np.median(b.numpy("t_new_ns")) for a, b in both]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


COLUMNS: Mapping[str, Callable[[list[Any], list[Any]], str]] = {
    "false, %": false,
    "resent": mean("rexmits", 1),
    "later, ms": later,
    "timed out": mean("losses_timed_out", 2),
    "timeouts": mean("timeouts", 3),
    "time": time,
    "medians": medians,
}


def kept(of: Mapping[str, list[Any]], keep: Sequence[bool]) -> dict[str, list[Any]]:
    """Return the tables of the pairs to keep."""
    return {s: [t for t, k in zip(tables, keep, strict=True) if k] for s, tables in of.items()}


def line(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def show(title: str, parts: Sequence[Mapping[str, list[Any]]], schemes: Sequence[str]) -> None:
    """Print a table with one value for each part in every cell."""
    print(f"\n{title}\n")
    print(line(["scheme", *COLUMNS]))
    print("|---|" + "---:|" * len(COLUMNS))
    for scheme in schemes:
        cells = []
        for cell in COLUMNS.values():
            plain = (part.get(base(scheme), part[scheme]) for part in parts)
            cells.append(
                " / ".join(cell(part[scheme], p) for part, p in zip(parts, plain, strict=True))
            )
        print(line([f"`{scheme}`", *cells]))


def grid(setup: Setup, schemes: Sequence[str]) -> None:
    """Print the halves of the grid beside each other, then the groups of all pairs."""
    chosen = pairs()
    of = setup.run(chosen, schemes)
    halves = [kept(of, [pair.half == half for pair in chosen]) for half in HALVES]
    sizes = " / ".join(str(sum(pair.half == half for pair in chosen)) for half in HALVES)
    name = f"{setup.profile}, {setup.kind}, {setup.packets} segments, notice +{setup.notice_ms} ms"
    show(f"{name}: deciding / checking half ({sizes} pairs)", halves, schemes)
    groups = [kept(of, [pair.group == group for pair in chosen]) for group in GROUPS]
    sizes = " / ".join(str(sum(pair.group == group for pair in chosen)) for group in GROUPS)
    show(f"{name}: equal / slower / faster new link ({sizes} pairs)", groups, schemes)
    show(f"{name}: 6000/50 to 54000/4", [kept(of, [(p.old, p.new) == G6 for p in chosen])], schemes)


def main() -> None:
    """Run the requested measurements."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument(
        "--scheme", action="append", help="a scheme, perhaps with settings after a colon"
    )
    parser.add_argument("--profile", action="append", choices=["ns2", "rfc"])
    parser.add_argument("--kind", action="append", choices=["mbb", "bbm"])
    parser.add_argument("--notice-ms", action="append", type=int, help="when the notice comes")
    parser.add_argument("--packets", type=int, default=100, help="new segments that are timed")
    parser.add_argument("--set", action="append", default=[], help="a setting for all schemes")
    args = parser.parse_args()
    knobs = tuple(tuple(setting.split("=")) for setting in args.set)
    for profile in args.profile or ["ns2", "rfc"]:
        for kind in args.kind or ["mbb", "bbm"]:
            for notice_ms in args.notice_ms or [0]:
                setup = Setup(profile, kind, notice_ms, args.packets, knobs)
                grid(setup, args.scheme or SCHEMES)


if __name__ == "__main__":
    main()
