"""Where each scheme helps most, and where it hurts most: docs/helps-and-hurts.csv.

    .venv/bin/python bench/helps_and_hurts.py                 print the rows
    .venv/bin/python bench/helps_and_hurts.py --write         write the file
    .venv/bin/python bench/helps_and_hurts.py --name freeze   only these schemes and agents

The grid is the same for all: the situations of examples/helps-and-hurts with every ordered pair of
seven links, and the starters with one transfer of a given size. The rule takes, from the grid with
the profile linux, the run with the largest gain and the one with the largest loss against the plain
sender of that profile; if that is less than 1 per cent, from the grid with the profile ns2, and
then with rfc. The first of equal runs counts. Runs in which the plain sender is done before
the first handoff, or is not done at the end, are no part of the grid.

docs/make_reference.py makes the page from the file.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from midflight import _core as core
from midflight.explain import Step, explain, explain_stall
from midflight.explain.divergence import compare
from midflight.explain.events import listed, setup_of
from midflight.explain.words import clock
from midflight.scenario import Scenario, read_plan, starter_names
from midflight.unmet import handoffs_ns

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import literature  # noqa: E402

FILE = ROOT / "docs" / "helps-and-hurts.csv"
FOLDER = "examples/helps-and-hurts"
LINKS = ("3g", "hsdpa", "lte", "wifi", "5g-nsa", "leo", "geo")
#: With a second link, and without.
MOVES = ("without-gap", "gap")
STAYS = ("outage", "radio-loss", "wired-loss")
#: Some detectors need the two options that linux has and rfc has not.
PROFILES: dict[str, tuple[tuple[str, str], ...]] = {
    "linux": (),
    "ns2": (),
    "rfc": (("set.timestamps", "on"), ("set.dsack", "on")),
}
PLAIN = "sack"
#: What a starter gets in addition to the notice of the first link: one run, and time to end.
STARTER = (("runs", "1"), ("end", "300s"))
PARTS = {one["name"]: list(one["parts"]) for one in core.schemes()}
EFFECTS = ("helps", "hurts")
#: The numbers of a row: seconds, then counts.
NUMBERS = ("plain_s", "seconds", "plain_timeouts", "timeouts", "plain_drops", "drops")
#: An instant after the end of every run.
LONG_NS = 3600 * 10**9
#: A smaller difference is none.
LEAST = 0.01


@dataclass(frozen=True)
class Case:
    """A run but for the scheme: its source, the flow, and the values that are set."""

    source: str
    flow: str
    sets: tuple[tuple[str, str], ...]
    profile: str


@dataclass(frozen=True)
class Way:
    """A scheme or an agent of a node."""

    name: str
    is_agent: bool = False

    def sets(self, case: Case) -> dict[str, str]:
        """Return the values of a run."""
        found = dict(case.sets) | {"profile": case.profile}
        if self.is_agent:
            found["agent"] = self.name
            # A proxy without its state is no transfer.
            return found | ({"set.pep_handover": "on"} if self.name == "pep" else {})
        return found | {f"flows.{case.flow}.scheme": self.name}


@dataclass(frozen=True)
class Outcome:
    """A transfer; without seconds if it did not end. `done_ns` is the instant of its end."""

    seconds: float | None
    timeouts: int
    drops: int
    done_ns: int | None = None


#: The runs that a profile has, and the plain sender in them.
Grid = tuple[list[Case], list[Outcome | None]]


@dataclass(frozen=True)
class Row:
    """A run with the plain sender's beside it; without a source if there is no such run."""

    name: str
    effect: str
    source: str = ""
    flow: str = ""
    profile: str = ""
    sets: str = ""
    plain_s: float | None = None
    seconds: float | None = None
    plain_timeouts: int = 0
    timeouts: int = 0
    plain_drops: int = 0
    drops: int = 0
    #: The first event in which the runs differ.
    why: str = ""
    #: What slowed the slower run down.
    then: str = ""

    @classmethod
    def of(cls, line: dict[str, str]) -> Row:
        """Read a line of the file."""
        values: dict[str, Any] = {one.name: line[one.name] for one in fields(cls)}
        for name in NUMBERS[:2]:
            values[name] = float(line[name]) if line[name] else None
        for name in NUMBERS[2:]:
            values[name] = int(line[name])
        return cls(**values)

    def command(self) -> str:
        """Return the command that runs it."""
        way = next(one for one in ways() if one.name == self.name)
        values = way.sets(self.case())
        if values["profile"] == "linux":
            # As without it.
            del values["profile"]
        sets = [f"--set {name}={value}" for name, value in values.items()]
        return " ".join(["midflight", "run", self.source, *sets])

    def case(self) -> Case:
        """Return the run without its scheme."""
        sets = tuple(tuple(one.split("=", 1)) for one in self.sets.split(" ") if one)
        return Case(self.source, self.flow, sets, self.profile)  # type: ignore[arg-type]


def cases(profile: str) -> Iterator[Case]:
    """Yield the grid."""
    options = PROFILES[profile]
    for name in MOVES:
        for old, new in itertools.permutations(LINKS, 2):
            ends = (("links.old.preset", old), ("links.new.preset", new))
            yield Case(f"{FOLDER}/{name}.toml", "download", (*ends, *options), profile)
    for name in STAYS:
        for link in LINKS:
            end = ("links.old.preset", link)
            yield Case(f"{FOLDER}/{name}.toml", "download", (end, *options), profile)
    for name in starter_names():
        one = Scenario.read(name)
        own = [key for key, flow in one.flows.items() if flow.on is None]
        if len(own) == 1 and one.flows[own[0]].size != "unlimited":
            notice = (f"flows.{own[0]}.start_notice", "true")
            yield Case(name, own[0], (*STARTER, notice, *options), profile)


def ways() -> list[Way]:
    """Return the schemes and agents of the literature."""
    known = literature.proposals()
    return [
        *(Way(name) for one in known for name in one.schemes),
        *(Way(name, is_agent=True) for one in known for name in one.agents),
    ]


def plan(case: Case, way: Way) -> core.Plan | None:
    """Return a run; None if the scheme does not go with it."""
    try:
        return read_plan(str(place(case)), sets=way.sets(case))
    except core.MidflightError:
        return None


def place(case: Case) -> str:
    """Return the scenario as a file or a starter."""
    return str(ROOT / case.source) if case.source.endswith(".toml") else case.source


def outcomes(of: Sequence[Case], way: Way) -> list[Outcome | None]:
    """Return the runs of a scheme; None where it is refused."""
    plans = [plan(one, way) for one in of]
    table, _ = core.run_plans([one for one in plans if one is not None], threads=1)
    names = ("cell", "flow", "duration_ns", "finished_ns", "timeouts")
    lost = ("drops_queue", "drops_break", "drops_radio")
    rows = zip(*(table.column(name) for name in (*names, *lost)), strict=True)
    cells: dict[int, dict[str, Outcome]] = {}
    for cell, flow, took, done, timeouts, *drops in rows:
        one = Outcome(None if took is None else took / 1e9, timeouts, sum(drops), done)
        cells.setdefault(cell, {})[flow] = one
    number = itertools.count()
    return [
        None if made is None else cells[next(number)][case.flow]
        for case, made in zip(of, plans, strict=True)
    ]


def ratio(one: Outcome, plain: Outcome) -> float:
    """Return the time relative to the plain sender's; a run that does not end takes for ever."""
    assert plain.seconds is not None
    return float("inf") if one.seconds is None else one.seconds / plain.seconds


def counts(case: Case, plain: Outcome) -> bool:
    """Whether the plain sender is done, and was not before the first handoff, if there is one."""
    if plain.seconds is None:
        return False
    of = plan(case, Way(PLAIN))
    assert of is not None
    assert plain.done_ns is not None
    return plain.done_ns > min(handoffs_ns(of.path_changes), default=0)


def chosen(way: Way, grids: dict[str, Grid]) -> dict[str, tuple[Case, Outcome, Outcome]]:
    """Return the run with the largest gain and that with the largest loss."""
    found: dict[str, tuple[Case, Outcome, Outcome]] = {}
    for profile in PROFILES:
        if len(found) == len(EFFECTS):
            break
        of, plain = grids[profile]
        ran = [
            (ratio(one, other), case, one, other)
            for case, one, other in zip(of, outcomes(of, way), plain, strict=True)
            if one is not None and other is not None and counts(case, other)
        ]
        if not ran:
            continue
        best, worst = min(ran, key=lambda run: run[0]), max(ran, key=lambda run: run[0])
        if best[0] < 1 - LEAST:
            found.setdefault("helps", best[1:])
        if worst[0] > 1 + LEAST:
            found.setdefault("hurts", worst[1:])
    return found


def first_effect(case: Case, way: Way) -> str:
    """Return what the scheme did first, explained."""
    own, plain = plan(case, way), plan(case, Way(PLAIN))
    if own is None or plain is None:
        return ""
    parted = compare(plain, own, flow=case.flow).divergence
    if parted is None:
        return ""
    names = PARTS.get(way.name, [way.name])
    _, side = parted.sides
    for step in side.why:
        if any(name in step.text for name in names):
            return line(step)
    causes = None
    if side.orders:
        # The orders have no effect yet, or an effect that has other causes too.
        causes = explain(own, at_ns=side.orders[0].time_ns, flow=case.flow, what="order")
    for what in ("signal", "node_send"):
        first = None if causes else first_of(own, case, what)
        if first is not None:
            causes = explain(own, at_ns=first, flow=case.flow, what=what)
    if causes is not None:
        return line(causes.steps[0])
    any_step = next(iter([*side.why, *parted.sides[0].why]), None)
    return "" if any_step is None else line(any_step)


def first_of(of: core.Plan, case: Case, what: str) -> int | None:
    """Return when the first event of a kind was."""
    found, _ = listed(setup_of(of, 0), what, flow=case.flow)
    return found[0].time_ns if found else None


def line(step: Step) -> str:
    """Return a step as `midflight explain` prints it."""
    return f"{clock(step.time_ns)}  {step.text}"


def turning_point(case: Case, way: Way, *, timeout: bool) -> str:
    """Return what slowed a run down: its last timeout, its last threshold, or its longest stall."""
    of = plan(case, way)
    if of is None:
        return ""
    told = explain(of, at_ns=LONG_NS, flow=case.flow, what="rto") if timeout else None
    if told is None:
        told = explain(of, at_ns=LONG_NS, flow=case.flow, what="ssthresh")
    if told is None or "the connection opened" in told.steps[0].text:
        told = explain_stall(of, flow=case.flow)
    if told is None:
        return ""
    return line(told.steps[0])


def rows(grids: dict[str, Grid], names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of the schemes, or of all."""
    for way in ways():
        if names and way.name not in names:
            continue
        print(way.name, file=sys.stderr, flush=True)
        found = chosen(way, grids)
        for effect in EFFECTS:
            if effect not in found:
                yield Row(way.name, effect)
                continue
            case, one, plain = found[effect]
            yield row(way, effect, case, one, plain)


def row(way: Way, effect: str, case: Case, one: Outcome, plain: Outcome) -> Row:
    """Return a row with its explanation."""
    slower, faults = (Way(PLAIN), plain) if effect == "helps" else (way, one)
    timeout = faults.timeouts > min(one.timeouts, plain.timeouts)
    return Row(
        way.name,
        effect,
        case.source,
        case.flow,
        case.profile,
        " ".join("=".join(pair) for pair in case.sets),
        **measured(one, plain),
        why=first_effect(case, way),
        then=turning_point(case, slower, timeout=timeout),
    )


def measured(one: Outcome, plain: Outcome) -> dict[str, Any]:
    """Return the numbers of a row."""
    return {
        "plain_s": rounded(plain.seconds),
        "seconds": rounded(one.seconds),
        "plain_timeouts": plain.timeouts,
        "timeouts": one.timeouts,
        "plain_drops": plain.drops,
        "drops": one.drops,
    }


def rounded(seconds: float | None) -> float | None:
    """Return seconds as the file has them."""
    return None if seconds is None else round(seconds, 3)


def again(kept: Row) -> Row:
    """Return a row of the file, measured and explained again."""
    case, way = kept.case(), next(one for one in ways() if one.name == kept.name)
    (one,), (plain,) = outcomes([case], way), outcomes([case], Way(PLAIN))
    assert one is not None
    assert plain is not None
    return row(way, kept.effect, case, one, plain)


def read() -> list[Row]:
    """Return the rows of the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [Row.of(line) for line in csv.DictReader(file)]


def main() -> None:
    """Sweep, choose, and print or write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write docs/helps-and-hurts.csv")
    parser.add_argument("--name", action="append", help="only these; with --write the others stay")
    given = parser.parse_args()
    grids = {}
    for profile in PROFILES:
        of = list(cases(profile))
        plain = outcomes(of, Way(PLAIN))
        if None in plain:
            raise SystemExit(f"the plain sender is refused: {of[plain.index(None)]}")
        grids[profile] = (of, plain)
    made = list(rows(grids, given.name or []))
    if not given.write:
        for one in made:
            print(asdict(one))
        return
    if given.name:
        known = {(one.name, one.effect): one for one in [*read(), *made]}
        order = itertools.product((way.name for way in ways()), EFFECTS)
        made = [known[one] for one in order if one in known]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        names = [*(one.name for one in fields(Row)), "command"]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for one in made:
            writer.writerow(asdict(one) | {"command": one.command() if one.source else ""})


if __name__ == "__main__":
    main()
