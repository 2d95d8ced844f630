"""All schemes on one grid of handoffs: docs/comparison.md and docs/comparison-rfc.md.

    .venv/bin/python bench/compare.py                  print the tables of the profile linux
    .venv/bin/python bench/compare.py --profile rfc    those of the profile rfc
    .venv/bin/python bench/compare.py --write          write the page and its picture too
    .venv/bin/python bench/compare.py --draw           draw the picture from the page's table

Every pair of six links, both ways of handing off, the same instants for every scheme.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from midflight import _core as core

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from literature import needs  # noqa: E402

MARK = "<!-- What follows is written by bench/compare.py. -->\n"


@dataclass(frozen=True)
class Grid:
    """Links that a node moves between, and the senders."""

    profile: str
    #: kbit/s and one-way ms.
    links: dict[str, tuple[int, int]]
    settings: dict[str, str]
    name: str
    #: Between two instants of the handoff, which is no multiple of a round trip.
    apart_ns: int

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All ordered pairs of two links."""
        return list(itertools.permutations(self.links, 2))

    @property
    def page(self) -> Path:
        """The page of the documentation."""
        return ROOT / "docs" / f"{self.name}.md"

    @property
    def picture(self) -> Path:
        """The picture on it."""
        return ROOT / "docs" / "images" / f"{self.name}.png"

    def name_of(self, pair: int) -> str:
        """Return a pair of links as text."""
        return " to ".join(self.pairs[pair])


GRIDS = {
    "linux": Grid(
        "linux",
        # Orders of magnitude of today's links; the rates are our choice.
        {
            "HSPA": (6_000, 50),
            "GEO": (20_000, 300),
            "LTE": (50_000, 15),
            "LEO": (100_000, 30),
            "5G": (200_000, 15),
            "Wi-Fi 6": (300_000, 3),
        },
        {},
        "comparison",
        613_000_000,
    ),
    "rfc": Grid(
        "rfc",
        # EGPRS, HSDPA, LTE and WLAN are those of the report on available bandwidth.
        {
            "EGPRS": (200, 300),
            "GEO": (2_000, 300),
            "HSDPA": (6_000, 50),
            "LTE": (50_000, 15),
            "WLAN": (54_000, 2),
            "UMTS": (384, 150),
        },
        # Some schemes need them; the profile linux has them.
        {"dsack": "on", "timestamps": "on"},
        "comparison-rfc",
        1_913_000_000,
    ),
}
KINDS = ("mbb", "bbm")
#: Losses without a handoff: by the radio, and at a wired bottleneck.
LOSSES = ("1 % lost by the radio", "a wired bottleneck")
LOST = "uniform 1%"
LOSS_SEEDS = 5
PLAIN = "sack"
#: Parts that are a half of a scheme, or a tool.
APART = {
    *("ehn-restore", "ehn-notify", "ho-resume", "ho-notify", "reinitialise", "lmdr-respond"),
    *("probe-train", "probe-gap", "wbest", "ld-handover"),
}
PACKETS = 300
INSTANTS = 10
WINDOW_NS = 5_000_000_000
#: A scheme is unsafe if it leaves a flow on the new link less than this share of the capacity that
#: a plain newcomer would leave.
HARMS, HARMS_AT_WORST = 0.95, 0.75
#: Of the picture: what is no change, the times relative to the plain sender's that its axis has,
#: and the colours (Okabe and Ito) of what is faster and slower.
SAME = 0.01
RANGE = (0.33, 3.0)
TICKS = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
ARROWS = "\u2190 faster, slower \u2192"
GAIN, LOSS = "#0072b2", "#d55e00"


@dataclass(frozen=True)
class Outcome:
    """A scheme over the grid: an entry for each kind and pair."""

    scheme: str
    #: Medians over the instants, in seconds; infinite where most runs did not end.
    times: Array
    timeouts: Array
    drops: Array
    #: The packets of a resident that are acknowledged in the window, and those lost;
    #: make-before-break only.
    left: Array
    resident_drops: Array
    #: Medians of transfers without a handoff: an entry for each kind of loss and each link.
    lossy: Array


def schemes() -> list[str]:
    """Return the schemes that are whole, the plain one first."""
    return [one["name"] for one in core.schemes() if one["name"] not in APART]


def sweep(
    grid: Grid, scheme: str, kind: str, pair: tuple[str, str], *, residents: int
) -> core.HandoffSweep:
    """Return the handoffs between two links."""
    old, new = (grid.links[name] for name in pair)
    return core.HandoffSweep(
        old=(old[0] * 1000, old[1] * 1_000_000),
        new=(new[0] * 1000, new[1] * 1_000_000),
        kind=kind,
        at_ns=[5_000_000_000 + i * grid.apart_ns for i in range(INSTANTS)],
        schemes=[scheme],
        profile=grid.profile,
        packets=PACKETS,
        wired=(1_000_000_000, 10_000_000),
        knobs=grid.settings,
        residents=residents,
        window_ns=WINDOW_NS if residents else None,
        start_notice=True,
        end_ns=600_000_000_000,
    )


def lossy(grid: Grid, scheme: str) -> Array:
    """Return the seconds that a transfer without a handoff takes, for each kind of loss and link.

    The bottleneck has two thirds of the link's rate and a queue of 10 to 50 packets.
    """
    plans = []
    for kind, (rate, delay), seed in itertools.product(
        LOSSES, grid.links.values(), range(LOSS_SEEDS)
    ):
        link = {"rate": f"{rate} kbit/s", "delay": f"{delay} ms", "queue": "1 bdp"}
        values: dict[str, Any] = {
            "profile": grid.profile,
            "seed": 1 + seed,
            "end": "600 s",
            "links": {"access": link},
            "flows": {"download": {"scheme": scheme, "size": "3 MB"}},
            "set": grid.settings,
        }
        if kind == LOSSES[0]:
            link["loss"] = LOST
        else:
            queue = f"{10 * (1 + seed)} packets"
            values["wired"] = {"rate": f"{2 * rate // 3} kbit/s", "queue": queue}
        plans.append(core.Plan(json.dumps(values), name=None))
    flows, _ = core.run_plans(plans)
    took = [np.inf if one is None else one / 1e9 for one in flows.column("duration_ns")]
    medians: np.ndarray = np.median(np.array(took).reshape(len(LOSSES), -1, LOSS_SEEDS), axis=2)
    return medians


def measure(grid: Grid, names: Sequence[str]) -> list[Outcome]:
    """Run the grid."""
    outcomes, pairs = [], grid.pairs
    for number, scheme in enumerate(names):
        print(f"{number} of {len(names)}: {scheme}", file=sys.stderr, flush=True)
        try:
            alone = [
                sweep(grid, scheme, kind, pair, residents=0) for kind in KINDS for pair in pairs
            ]
            tables = core.run_handoff_sweeps(alone)
        except core.MidflightError as error:
            print(f"{scheme} is left out: {error}", file=sys.stderr)
            continue
        beside = core.run_handoff_sweeps(
            [sweep(grid, scheme, "mbb", pair, residents=1) for pair in pairs]
        )

        def cells(tables: Sequence[core.Table], name: str, of: Any) -> Array:
            found = [of(np.asarray(table.numpy(name), dtype=float)) for table in tables]
            return np.array(found).reshape(-1, len(pairs))

        def median(values: Array) -> float:
            return float(np.median(np.where(np.isnan(values), np.inf, values)))

        outcomes.append(
            Outcome(
                scheme,
                times=cells(tables, "t_new_ns", median) / 1e9,
                timeouts=cells(tables, "timeouts", np.mean),
                drops=cells(tables, "drops_data", np.mean),
                left=cells(beside, "acked_window", lambda v: float(np.mean(v[1::2]))),
                resident_drops=cells(beside, "drops_data", lambda v: float(np.mean(v[1::2]))),
                lossy=lossy(grid, scheme),
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


def times_table(grid: Grid, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return who is faster and slower than the plain sender, where, and by how much."""
    plain = outcomes[0]
    head = ["scheme"]
    for kind in ("make-before-break", "break-before-make"):
        head += [f"{kind}: median", "10 to 90 %", "best", "worst"]
    rows = [[*head, "needs"]]
    for one in outcomes:
        cells = [f"`{one.scheme}`"]
        for relative in ratios(one, plain):
            low, middle, high = np.quantile(relative, [0.1, 0.5, 0.9], method="nearest")
            best, worst = int(relative.argmin()), int(relative.argmax())
            cells += [
                percent(middle),
                f"{percent(low)} to {percent(high)}",
                f"{percent(relative[best])}, {grid.name_of(best)}",
                f"{percent(relative[worst])}, {grid.name_of(worst)}",
            ]
        rows.append([*cells, needs(one.scheme)])
    return rows


def loss_table(grid: Grid, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return who is faster and slower where packets are lost without a handoff.

    A scheme that changes nothing there has no row.
    """
    names = list(grid.links)
    rows = [["scheme"]]
    for kind in LOSSES:
        rows[0] += [f"{kind}: median", "best", "worst"]
    rows[0].append("needs")
    for one in outcomes[1:]:
        if {percent(ratio)[1:] for ratio in (one.lossy / outcomes[0].lossy).flat} == {"0"}:
            continue
        cells = [f"`{one.scheme}`"]
        for relative in one.lossy / outcomes[0].lossy:
            best, worst = int(relative.argmin()), int(relative.argmax())
            cells += [
                percent(float(np.median(relative))),
                f"{percent(relative[best])}, {names[best]}",
                f"{percent(relative[worst])}, {names[worst]}",
            ]
        rows.append([*cells, needs(one.scheme)])
    return rows


def harm_table(grid: Grid, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return timeouts and losses of a scheme, and the capacity that it leaves a flow on the new
    link.
    """
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
                f"{percent(share[least])}, {grid.name_of(least)}",
                f"{one.resident_drops.mean():.1f}",
                "yes" if unsafe else "",
            ]
        )
    return rows


def winners_table(grid: Grid, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the fastest scheme of each pair and kind, unless the plain one is within 5 %."""
    plain = outcomes[0]
    rows = [["from", "to", "make-before-break", "break-before-make"]]
    for pair, (old, new) in enumerate(grid.pairs):
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


@dataclass(frozen=True)
class Range:
    """A scheme's times relative to the plain sender's, over the pairs of links."""

    scheme: str
    best: float
    low: float
    median: float
    high: float
    worst: float


def ranges(page: str, kind: int) -> list[Range]:
    """Return what the first table of a page says of a way of handing off, by scheme."""

    def ratio(cell: str) -> float:
        said = cell.strip().partition(",")[0]
        return np.inf if said == "never" else 1 + float(said) / 100

    found = []
    for line in page.partition("| scheme |")[2].splitlines()[2:]:
        if not line.startswith("|"):
            break
        name, *cells = [one.strip() for one in line.strip("|").split("|")]
        median, middle, best, worst = cells[4 * kind : 4 * kind + 4]
        low, high = middle.split(" to ")
        values = [ratio(one) for one in (best, low, median, high, worst)]
        found.append(Range(name.strip("`"), *values))
    return found


def draw(grid: Grid, page: str) -> None:
    """Draw the first table of a page: a row for each scheme, two panels for each way.

    Each way has its own order, whose first half is on the left. A scheme that changes the time of
    no pair by more than `SAME` has no row.
    """
    from matplotlib.figure import Figure

    from midflight.plot.common.style import PAGE_IN, style

    both = [ranges(page, kind) for kind in range(2)]
    moved = {
        one.scheme for found in both for one in found if max(1 - one.best, one.worst - 1) > SAME
    }
    alike = [one.scheme for one in both[0] if one.scheme not in moved and one.scheme != PLAIN]
    least, most = RANGE
    with style():
        half = -(-len(moved) // 2)
        figure = Figure(figsize=(PAGE_IN, 2.1 + 2 * 0.165 * half), layout="constrained")
        titles = ("Make before break", "Break before make, 0.5 s without a link")
        panels = []
        for sides, found, title in zip(figure.subplots(2, 2), both, titles, strict=True):
            # The fastest is above.
            ranked = [one for one in found if one.scheme in moved]
            ranked.sort(key=lambda one: (one.median, one.low + one.high, one.scheme))
            panels += [
                (sides[0], ranked[:half], title),
                (sides[1], ranked[half:], f"{title.partition(',')[0]}, continued"),
            ]
        for axes, shown, title in panels:
            for place, one in enumerate(shown):
                if place % 2:
                    axes.axhspan(place - 0.5, place + 0.5, color="0.955", lw=0, zorder=0)
                colour = GAIN if one.median < 1 - SAME else LOSS if one.median > 1 + SAME else "0.3"
                best, low, median, high, worst = np.clip(
                    [one.best, one.low, one.median, one.high, one.worst], least, most
                )
                axes.plot([best, worst], [place] * 2, color=colour, lw=0.8, zorder=2)
                axes.plot([low, high], [place] * 2, color=colour, lw=3.6, alpha=0.4, zorder=3)
                how = {"mfc": colour, "mec": "white", "mew": 0.6, "clip_on": False}
                axes.plot(median, place, "o", ms=5, zorder=5, **how)
                for beyond, end, mark in (
                    (one.worst > most, most, ">"),
                    (one.best < least, least, "<"),
                ):
                    if beyond:
                        axes.plot(end, place, mark, ms=3.4, color=colour, clip_on=False, zorder=4)
            axes.axvline(1, color="black", lw=0.9, zorder=1)
            axes.set_xscale("log")
            axes.set_xlim(least, most)
            axes.set_xticks(TICKS, [percent(one) if one != 1 else "0" for one in TICKS])
            axes.set_xticks([], minor=True)
            axes.set_yticks(range(len(shown)), [one.scheme for one in shown])
            axes.set_ylim(half - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.grid(False, axis="y")
            axes.grid(True, axis="x")
            axes.set_title(title, loc="left", fontweight="bold")
            axes.set_xlabel(f"Time against {PLAIN} (%, log): " + ARROWS)
        looks: list[tuple[str, dict[str, Any]]] = [
            (
                "median over the pairs of links: faster",
                {"marker": "o", "ls": "none", "color": GAIN},
            ),
            ("the same", {"marker": "o", "ls": "none", "color": "0.3"}),
            ("slower", {"marker": "o", "ls": "none", "color": LOSS}),
            ("10 to 90 %", {"lw": 3.6, "color": "0.5", "alpha": 0.6}),
            ("best to worst", {"lw": 0.8, "color": "0.3"}),
        ]
        for label, look in looks:
            axes.plot([], [], label=label, ms=5, **look)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False)
        if alike:
            words = f"Without a row, as they change no pair by more than {100 * SAME:g} %: "
            figure.supxlabel(words + ", ".join(alike), fontsize=7, color="0.3", x=0.02, ha="left")
        figure.savefig(grid.picture, dpi=200, metadata={"Software": None})


def report(grid: Grid, outcomes: Sequence[Outcome]) -> str:
    """Return the measured part of the page."""
    return "\n".join(
        [
            "## How long a transfer takes",
            "",
            "Per cent more or less than the plain sender (`sack`); medians over the instants, then "
            f"over the {len(grid.pairs)} pairs of links. Needs: *S* the sender changes, *R* the "
            "receiver, *N* a network gives notices ([more](related-work.md)).",
            "",
            markdown(times_table(grid, outcomes)),
            "## Losses without a handoff",
            "",
            "The time of 3 MB over each of the links, as above: with a radio that loses 1 % of the "
            "packets, and through wired links of two thirds of the link's rate with a queue of 10 "
            "to 50 packets. Medians of five runs, then over the links. Schemes that change nothing "
            "here have no row.",
            "",
            markdown(loss_table(grid, outcomes)),
            "## Who is unsafe",
            "",
            "Timeouts and lost data packets of a handoff, means of all; and what a plain flow on "
            "the new link gets in the five seconds after a make-before-break handoff, per cent "
            "more or less than beside a plain newcomer, and loses (packets).",
            "",
            markdown(harm_table(grid, outcomes)),
            "## Who wins where",
            "",
            "The fastest schemes of each pair, those within 2 % of the best, and how much less "
            'than the plain sender they take. "The plain sender" where nobody beats it by 5 %.',
            "",
            markdown(winners_table(grid, outcomes)),
        ]
    )


def main() -> None:
    """Measure, print, and write if requested."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true", help="write the page and its picture")
    arguments.add_argument("--profile", choices=GRIDS, default="linux", help="of all senders")
    arguments.add_argument("--scheme", action="append", help="only these, after sack")
    arguments.add_argument("--draw", action="store_true", help="draw the page's table, and no more")
    given = arguments.parse_args()
    if given.draw:
        draw(GRIDS[given.profile], GRIDS[given.profile].page.read_text(encoding="utf-8"))
        return
    names = [PLAIN, *(n for n in given.scheme or schemes() if n != PLAIN)]
    grid = GRIDS[given.profile]
    outcomes = measure(grid, names)
    text = report(grid, outcomes)
    print(text)
    if given.write:
        kept = grid.page.read_text(encoding="utf-8").partition(MARK)[0]
        grid.page.write_text(kept + MARK + "\n" + text, encoding="utf-8")
        draw(grid, text)


if __name__ == "__main__":
    main()
