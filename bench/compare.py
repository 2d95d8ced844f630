"""All schemes on one grid of handoffs: the measurements of docs/comparison.md.

    .venv/bin/python bench/compare.py            print the tables
    .venv/bin/python bench/compare.py --write    write docs/comparison.md and its picture too

Every pair of six links, both ways of handing off, the same instants for every scheme.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from midflight import _core as core

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "comparison.md"
PICTURE = ROOT / "docs" / "images" / "comparison.png"
MARK = "<!-- What follows is written by bench/compare.py. -->\n"

#: kbit/s and one-way ms. EGPRS, HSDPA, LTE and WLAN are those of the report on available bandwidth.
LINKS = {
    "EGPRS": (200, 300),
    "GEO": (2_000, 300),
    "HSDPA": (6_000, 50),
    "LTE": (50_000, 15),
    "WLAN": (54_000, 2),
    "UMTS": (384, 150),
}
PAIRS = list(itertools.permutations(LINKS, 2))
KINDS = ("mbb", "bbm")
PLAIN = "sack"
#: Parts that are a half of a scheme, or a tool.
APART = {"ehn-restore", "ehn-notify", "probe-train", "ld-handover"}
SETTINGS = {"dsack": "on", "timestamps": "on"}
PACKETS = 300
INSTANTS = 10
WINDOW_NS = 5_000_000_000
#: A scheme that leaves a flow on the new link less than this share of what a plain newcomer would.
HARMS, HARMS_AT_WORST = 0.95, 0.75


@dataclass(frozen=True)
class Outcome:
    """A scheme over the grid: an entry for each kind and pair."""

    scheme: str
    #: Medians over the instants, in seconds; infinite where most runs did not end.
    times: Array
    timeouts: Array
    drops: Array
    #: What a resident gets acknowledged in the window, and loses; make-before-break only.
    left: Array
    resident_drops: Array


def schemes() -> list[str]:
    """Return the schemes that are whole, the plain one first."""
    return [one["name"] for one in core.schemes() if one["name"] not in APART]


def sweep(scheme: str, kind: str, pair: tuple[str, str], *, residents: int) -> core.HandoffSweep:
    """Return the handoffs between two links."""
    old, new = (LINKS[name] for name in pair)
    return core.HandoffSweep(
        old=(old[0] * 1000, old[1] * 1_000_000),
        new=(new[0] * 1000, new[1] * 1_000_000),
        kind=kind,
        # 1,913 ms apart, which is no multiple of a round trip.
        at_ns=[5_000_000_000 + i * 1_913_000_000 for i in range(INSTANTS)],
        schemes=[scheme],
        profile="rfc",
        packets=PACKETS,
        wired=(1_000_000_000, 10_000_000),
        knobs=SETTINGS,
        residents=residents,
        window_ns=WINDOW_NS if residents else None,
        start_notice=True,
        end_ns=600_000_000_000,
    )


def measure(names: Sequence[str]) -> list[Outcome]:
    """Run the grid."""
    outcomes = []
    for number, scheme in enumerate(names):
        print(f"{number} of {len(names)}: {scheme}", file=sys.stderr, flush=True)
        try:
            alone = [sweep(scheme, kind, pair, residents=0) for kind in KINDS for pair in PAIRS]
            tables = core.run_handoff_sweeps(alone)
        except core.MidflightError as error:
            print(f"{scheme} is left out: {error}", file=sys.stderr)
            continue
        beside = core.run_handoff_sweeps(
            [sweep(scheme, "mbb", pair, residents=1) for pair in PAIRS]
        )

        def grid(tables: Sequence[core.Table], name: str, of: Any) -> Array:
            cells = [of(np.asarray(table.numpy(name), dtype=float)) for table in tables]
            return np.array(cells).reshape(-1, len(PAIRS))

        def median(values: Array) -> float:
            return float(np.median(np.where(np.isnan(values), np.inf, values)))

        outcomes.append(
            Outcome(
                scheme,
                times=grid(tables, "t_new_ns", median) / 1e9,
                timeouts=grid(tables, "timeouts", np.mean),
                drops=grid(tables, "drops_data", np.mean),
                left=grid(beside, "acked_window", lambda v: float(np.mean(v[1::2]))),
                resident_drops=grid(beside, "drops_data", lambda v: float(np.mean(v[1::2]))),
            )
        )
    return outcomes


def ratios(one: Outcome, plain: Outcome) -> Array:
    """Return times relative to the plain sender's."""
    with np.errstate(invalid="ignore"):
        found = one.times / plain.times
    return np.where(np.isnan(found), 1.0, found)


def percent(ratio: float) -> str:
    """Return how much less or more than all."""
    return "never" if np.isinf(ratio) else f"{100 * (ratio - 1):+.0f}"


def name_of(pair: int) -> str:
    """Return a pair of links as text."""
    return " to ".join(PAIRS[pair])


def times_table(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return who is faster and slower than the plain sender, where, and by how much."""
    plain = outcomes[0]
    head = ["scheme"]
    for kind in ("make-before-break", "break-before-make"):
        head += [f"{kind}: median", "10 to 90 %", "best", "worst"]
    rows = [head]
    for one in outcomes:
        cells = [f"`{one.scheme}`"]
        for relative in ratios(one, plain):
            low, middle, high = np.quantile(relative, [0.1, 0.5, 0.9], method="nearest")
            best, worst = int(relative.argmin()), int(relative.argmax())
            cells += [
                percent(middle),
                f"{percent(low)} to {percent(high)}",
                f"{percent(relative[best])}, {name_of(best)}",
                f"{percent(relative[worst])}, {name_of(worst)}",
            ]
        rows.append(cells)
    return rows


def harm_table(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return timeouts and losses of a scheme, and what it leaves a flow on the new link."""
    plain = outcomes[0]
    rows = [
        [
            "scheme",
            "timeouts",
            "drops",
            "a resident gets: median",
            "least",
            "a resident loses",
            "unsafe",
        ]
    ]
    for one in outcomes:
        share = (one.left / plain.left)[0]
        least = int(share.argmin())
        middle = float(np.median(share))
        unsafe = middle < HARMS or share[least] < HARMS_AT_WORST
        rows.append(
            [
                f"`{one.scheme}`",
                f"{one.timeouts.mean():.2f}",
                f"{one.drops.mean():.1f}",
                percent(middle),
                f"{percent(share[least])}, {name_of(least)}",
                f"{one.resident_drops.mean():.1f}",
                "yes" if unsafe else "",
            ]
        )
    return rows


def winners_table(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the fastest scheme of each pair and kind, unless the plain one is within 5 %."""
    plain = outcomes[0]
    rows = [["from", "to", "make-before-break", "break-before-make"]]
    for pair, (old, new) in enumerate(PAIRS):
        cells = [old, new]
        for kind in range(len(KINDS)):
            times = np.array([one.times[kind, pair] for one in outcomes])
            best = times.min()
            within = [o.scheme for o, t in zip(outcomes, times, strict=True) if t <= 1.02 * best]
            gain = percent(best / plain.times[kind, pair])
            some = ", ".join(f"`{name}`" for name in within[:3])
            more = f" and {len(within) - 3} more" if len(within) > 3 else ""
            plain_too = times[0] <= 1.05 * best
            cells.append("the plain sender" if plain_too else f"{gain} %: {some}{more}")
        rows.append(cells)
    return rows


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table."""
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"


def draw(outcomes: Sequence[Outcome]) -> None:
    """Draw times relative to the plain sender's, a field for each scheme and pair."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import colors
    from matplotlib import pyplot as plt

    relative = np.array([ratios(one, outcomes[0]) for one in outcomes[1:]])
    figure, axes = plt.subplots(1, 2, figsize=(13, 9), sharey=True, constrained_layout=True)
    scale = colors.SymLogNorm(linthresh=0.1, vmin=-2, vmax=2)
    for kind, title in enumerate(("make before break", "break before make, 0.5 s")):
        axis = axes[kind]
        shown = np.log2(np.clip(relative[:, kind], 0.25, 4))
        image = axis.imshow(shown, norm=scale, cmap="PuOr_r", aspect="auto")
        axis.set_title(title)
        axis.set_xticks(range(len(PAIRS)), [f"{a}-{b}" for a, b in PAIRS], rotation=90, fontsize=7)
        axis.set_yticks(range(len(outcomes) - 1), [o.scheme for o in outcomes[1:]], fontsize=8)
    bar = figure.colorbar(image, ax=axes, ticks=[-2, -1, -0.3, 0, 0.3, 1, 2], shrink=0.5)
    bar.ax.set_yticklabels(["1/4", "1/2", "0.8", "1", "1.2", "2", "4"])
    bar.set_label("transfer time, plain sender = 1")
    figure.savefig(PICTURE, dpi=110)


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the measured part of the page."""
    return "\n".join(
        [
            "## How long a transfer takes",
            "",
            "Per cent more or less than the plain sender (`sack`); medians over the instants, then "
            f"over the {len(PAIRS)} pairs of links.",
            "",
            markdown(times_table(outcomes)),
            "## Who is unsafe",
            "",
            "Timeouts and lost data packets of a handoff, means of all; and what a plain flow on "
            "the new link gets in the five seconds after a make-before-break handoff, per cent "
            "more or less than beside a plain newcomer, and loses (packets).",
            "",
            markdown(harm_table(outcomes)),
            "## Who wins where",
            "",
            "The fastest schemes of each pair, those within 2 % of the best, and how much less "
            'than the plain sender they take. "The plain sender" where nobody beats it by 5 %.',
            "",
            markdown(winners_table(outcomes)),
        ]
    )


def main() -> None:
    """Measure, print, and write if asked to."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true", help="write docs/comparison.md")
    arguments.add_argument("--scheme", action="append", help="only these, after sack")
    given = arguments.parse_args()
    names = [PLAIN, *(n for n in given.scheme or schemes() if n != PLAIN)]
    outcomes = measure(names)
    text = report(outcomes)
    print(text)
    if given.write:
        kept = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(kept + MARK + "\n" + text, encoding="utf-8")
        draw(outcomes)


if __name__ == "__main__":
    main()
