"""The proposals of the literature: who has to change, and on which idea each builds.

.venv/bin/python docs/literature.py

draws docs/images/family-tree.png from docs/literature.toml. make_reference.py and the scripts in
bench that compare schemes take their tables from here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PICTURE = HERE / "images" / "family-tree.png"
#: The idea of combinations.
TOGETHER = "several ideas together"
WORDS = {"S": "sender", "R": "receiver", "B": "base station", "routers": "every router"}


@dataclass(frozen=True)
class Proposal:
    """A proposal with the schemes and agents of nodes that implement it."""

    name: str
    year: int
    where: Sequence[str]
    source: str
    schemes: Sequence[str] = ()
    agents: Sequence[str] = ()
    #: What implements it if it is neither.
    setting: str = ""
    needs: Sequence[str] = ()
    idea: str = ""
    #: Schemes and agents whose idea it takes up; `from` in the file.
    takes_up: Sequence[str] = ()
    about: bool = False

    @property
    def names(self) -> list[str]:
        """Schemes and agents, in the order of the file."""
        return [*self.schemes, *self.agents]

    @property
    def when(self) -> str:
        """The year, as a page shows it."""
        return f"about {self.year}" if self.about else str(self.year)

    @property
    def hosts(self) -> str:
        """Which hosts have to change, in words."""
        return ", ".join(WORDS[one] for one in self.where)

    @property
    def codes(self) -> str:
        """The same in letters, with N for a network that gives notices."""
        notice = any(one.startswith("notice") for one in self.needs)
        found = [one for one in self.where if one in "SR"] + ["N"] * notice
        found += [WORDS[one] if one == "routers" else one for one in self.where if one not in "SR"]
        return ", ".join(found)


def proposals() -> list[Proposal]:
    """Return the proposals, the oldest first."""
    file = tomllib.loads((HERE / "literature.toml").read_text(encoding="utf-8"))
    found = [
        Proposal(takes_up=one.pop("from", ()), **one) for one in (dict(p) for p in file["proposal"])
    ]
    return sorted(found, key=lambda one: one.year)


def by_name() -> dict[str, Proposal]:
    """Return the proposal of each scheme and each agent."""
    return {name: one for one in proposals() for name in one.names}


def needs(name: str) -> str:
    """Return who has to change for a scheme or an agent, in letters."""
    one = by_name().get(name)
    if one is not None:
        return one.codes
    # The plain sender is no proposal; what else is none is a controller.
    return "-" if name == "sack" else "S"


def draw(path: Path) -> None:
    """Draw the family tree: a row for each idea, years from left to right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import MultipleLocator

    known = [one for one in proposals() if one.idea]
    ideas = sorted({one.idea for one in known}, key=lambda idea: first_year(known, idea))
    place: dict[str, tuple[float, float]] = {}
    rows: list[tuple[Proposal, float, float]] = []
    top = 0.0
    bands: list[tuple[str, float, float]] = []
    for idea in ideas:
        own = [one for one in known if one.idea == idea]
        lanes = lanes_of(own)
        for one in own:
            lane = lanes[one.name]
            rows.append((one, one.year, top + lane))
            place |= dict.fromkeys(one.names, (one.year, top + lane))
        count = 1 + max(lanes.values())
        bands.append((idea, top, top + count))
        top += count + 0.4
    figure, axis = plt.subplots(figsize=(13, 0.33 * top + 1), constrained_layout=True)
    for number, (idea, low, high) in enumerate(bands):
        if number % 2 == 0:
            axis.axhspan(low - 0.7, high - 0.3, color="0.95", zorder=0)
        axis.text(1994.2, (low + high - 1) / 2, idea, ha="right", va="center", fontsize=9)
    for one, x, y in rows:
        # Arrows from all the parts of a combination would hide the rest.
        for parent in () if one.idea == TOGETHER else one.takes_up:
            px, py = place[parent]
            axis.annotate(
                "",
                (x, y),
                (px, py),
                arrowprops={"arrowstyle": "->", "color": "#b35806", "lw": 0.9, "shrinkB": 4},
                zorder=1,
            )
        colour = {"B": "#542788", "R": "#1b7837"}.get(one.where[0], "black")
        axis.plot(x, y, "o", color=colour, markersize=4, zorder=2)
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
        axis.text(x + 0.18, y, label(one), color=colour, va="center", fontsize=8, bbox=box)
    axis.set_xlim(1994.4, max(one.year for one in known) + 6)
    axis.set_ylim(top, -1)
    axis.set_yticks([])
    axis.xaxis.set_major_locator(MultipleLocator(2))
    axis.tick_params(axis="x", top=True, labeltop=True)
    for side in ("left", "right"):
        axis.spines[side].set_visible(False)
    axis.grid(axis="x", color="0.85", lw=0.5)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def lanes_of(own: Sequence[Proposal]) -> dict[str, int]:
    """Return the line of each proposal of an idea: an arrow passes no other point."""
    taken: list[list[tuple[float, float]]] = []
    found: dict[str, int] = {}
    # Those that others take up first, with all that follow.
    for one in sorted(own, key=lambda one: (one.year, not followers(one, own))):
        if one.name in found:
            continue
        chain = [one]
        while after := [
            each
            for each in followers(chain[-1], own)
            if each.name not in found and each.year > chain[-1].year + width(chain[-1])
        ]:
            chain.append(after[0])
        ends = one.year - 0.3, chain[-1].year + width(chain[-1])
        lane = 0
        while any(low < ends[1] and ends[0] < high for low, high in [*taken, []][lane]):
            lane += 1
        taken[lane:] = taken[lane:] or [[]]
        taken[lane].append(ends)
        found |= dict.fromkeys((each.name for each in chain), lane)
    return found


def width(one: Proposal) -> float:
    """Return the years that a point with its label takes."""
    return 0.4 + 0.13 * len(label(one))


def followers(one: Proposal, own: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals of the same idea that take this one up."""
    if one.idea == TOGETHER:
        return []
    return [each for each in own if set(each.takes_up) & set(one.names)]


def label(one: Proposal) -> str:
    """Return what stands beside the point of a proposal."""
    parts = f" (from {', '.join(one.takes_up)})" if one.idea == TOGETHER else ""
    return ", ".join(one.names) + parts


def first_year(known: Sequence[Proposal], idea: str) -> tuple[int, str]:
    """Return by what ideas are sorted."""
    return min(one.year for one in known if one.idea == idea), idea


if __name__ == "__main__":
    draw(PICTURE)
