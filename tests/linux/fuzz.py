"""Random scenarios in the simulator and on a kernel, held against each other packet by packet.

    python tests/linux/fuzz.py [--cases 2000] [--seed 1] [--first 0] [--keep FOLDER] [--no-shrink]

Case N of a seed is always the same scenario, whatever else is run. One whose flows are not the same
in every packet is made smaller as long as it remains one: parts of it are left out, numbers become
rounder. What is left is printed with its first packets that differ, and written to `--keep` as a
scenario file. `verify.py` holds the simulator to those of `tests/linux/fuzz` in every test run.

Needs a kernel (`midflight lab build`). The exit status is 1 if a run fails on either side.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from midflight import MidflightError, _core
from midflight.lab.store import Kernel, choose
from verify import Cell, Compared, Flow, compare, run_on, simulate, told

#: The parts of a scenario: TOML values by their paths.
Parts = dict[str, str]

#: A run ends here; what is not done by then is compared as far as it went.
END_S = 40
#: Most trials to make a scenario smaller.
TRIALS = 120
CASES = 2000


@dataclass(frozen=True)
class Case:
    """A scenario."""

    parts: Parts

    @property
    def text(self) -> str:
        """The scenario file."""
        return "".join(f"{path} = {value}\n" for path, value in self.parts.items())

    @property
    def cell(self) -> Cell:
        """What `verify.py` compares; raises `ValueError` for no scenario."""
        plan = _core.Plan(self.text, name="case.toml")
        return Cell("fuzz", "case", plan)


# ---- what there is ---------------------------------------------------------------------------


def text(value: object) -> str:
    """Return a TOML string."""
    return f'"{value}"'


def rate_of(draw: random.Random, least: float = 1e5, most: float = 3e8) -> int:
    """Return a rate in kbit/s, any of which is as likely as its double."""
    kilobits = least * (most / least) ** draw.random() / 1000
    digits = draw.choice((1, 2, 6))
    return max(1, int(float(f"{kilobits:.{digits}g}")))


def delay_of(draw: random.Random) -> str:
    """Return a delay from 1 to 400 ms."""
    ms = 400 ** draw.random()
    return f"{ms:.3f} ms" if draw.random() < 0.3 else f"{max(1, round(ms))} ms"


def queue_of(draw: random.Random) -> str:
    """Return a queue."""
    if draw.random() < 0.3:
        return f"{round(3 * 100 ** draw.random())} packets"
    return f"{round(5 * 160 ** draw.random())} ms"


def loss_of(draw: random.Random) -> str:
    """Return losses."""
    share = f"{0.02 * 250 ** draw.random():.2g}%"
    kind = draw.choice(("uniform", "uniform", "burst", "gilbert"))
    if kind == "uniform":
        return f"uniform {share}"
    if kind == "burst":
        return f"burst {share} {draw.randint(2, 8)}"
    times = f"{draw.randint(100, 2000)}ms 0.1% {draw.randint(20, 300)}ms"
    return f"gilbert {times} {draw.randint(5, 60)}% 50%"


def reordering_of(draw: random.Random) -> str:
    """Return late packets."""
    return f"linkrtx {0.05 * 100 ** draw.random():.2g}% {draw.randint(1, 120)}ms"


def cross_of(draw: random.Random, kilobits: int) -> str:
    """Return traffic of others on a link of a rate."""
    share = max(1, round(kilobits * draw.uniform(0.05, 0.7)))
    kind = draw.choice(("cbr", "poisson", "on-off"))
    if kind == "on-off":
        return f"on-off {max(200, kilobits)} kbit/s 200ms {draw.randint(100, 900)}ms"
    return f"{kind} {share} kbit/s"


def link_parts(draw: random.Random, name: str) -> tuple[Parts, int]:
    """Return a link, and its rate in kbit/s."""
    kilobits = rate_of(draw)
    at = f"links.{name}"
    parts = {
        f"{at}.rate": text(f"{kilobits} kbit/s"),
        f"{at}.delay": text(delay_of(draw)),
        f"{at}.queue": text(queue_of(draw)),
    }
    if draw.random() < 0.35:
        parts[f"{at}.loss"] = text(loss_of(draw))
    if draw.random() < 0.2:
        parts[f"{at}.reorder"] = text(reordering_of(draw))
    if draw.random() < 0.1:
        parts[f"{at}.cross"] = text(cross_of(draw, kilobits))
    if draw.random() < 0.2:
        parts[f"{at}.up.rate"] = text(f"{rate_of(draw, 5e4, 5e7)} kbit/s")
    if draw.random() < 0.15:
        parts[f"{at}.up.loss"] = text(f"uniform {draw.randint(1, 20)}%")
    return parts, kilobits


def case_of(seed: int, number: int) -> Case:
    """Return a case of a seed."""
    draw = random.Random(f"{seed}.{number}")
    parts: Parts = {"profile": text("linux"), "end": text(f"{END_S} s"), "seed": str(number + 1)}
    moves = draw.choices((0, 1, 2), (4, 5, 1))[0]
    rates = []
    for name in ("a", "b")[: 2 if moves else 1]:
        link, kilobits = link_parts(draw, name)
        parts |= link
        rates.append(kilobits)
    if draw.random() < 0.15:
        parts["wired.delay"] = text(f"{draw.randint(1, 40)} ms")
    if draw.random() < 0.2:
        parts["set.congestion"] = text("reno-linux")
    flows = draw.choices((1, 2, 3), (8, 1, 1))[0]
    for number_of_flow in range(flows):
        at = f"flows.f{number_of_flow}"
        most = min(rates) * 125 * 8 / flows
        size = max(3, min(3000, round(draw.uniform(0.02, 1) * most / 1000)))
        parts[f"{at}.size"] = text(f"{size} kB")
        if draw.random() < 0.15:
            parts[f"{at}.direction"] = text("up")
        if number_of_flow > 0 or draw.random() < 0.1:
            parts[f"{at}.start"] = text(f"{draw.randint(0, 1500)} ms")
    instant = 0.0
    for number_of_move in range(moves):
        instant += draw.uniform(0.05, 2.0)
        handoff = {"at": f"{instant:.3f} s", "to": "ba"[number_of_move % 2]}
        if draw.random() < 0.5:
            gap = 0.02 * 150 ** draw.random()
            handoff["gap"] = f"{gap:.3f} s"
            instant += gap
        words = ", ".join(f'{key} = "{value}"' for key, value in handoff.items())
        parts[f"handoffs.{number_of_move}"] = f"{{ {words} }}"
    if moves == 0 and draw.random() < 0.25:
        words = f'at = "{draw.uniform(0.05, 2.0):.3f} s", link = "a"'
        words += f', rate = "{rate_of(draw)} kbit/s"'
        if draw.random() < 0.5:
            words += f', delay = "{delay_of(draw)}"'
        if draw.random() < 0.5:
            words += f', pause = "{draw.randint(1, 500)} ms"'
        parts["changes.0"] = f"{{ {words} }}"
    return Case(in_lists(parts))


def in_lists(parts: Parts) -> Parts:
    """Return the parts with handoffs and changes as lists."""
    found = {path: value for path, value in parts.items() if path.split(".")[0] not in LISTS}
    for name in LISTS:
        entries = [value for path, value in parts.items() if path.startswith(f"{name}.")]
        if entries:
            found[name] = f"[{', '.join(entries)}]"
    return found


LISTS = ("handoffs", "changes")


# ---- both sides ------------------------------------------------------------------------------


def sides(kernel: Kernel, case: Case) -> tuple[list[Flow], list[Flow]]:
    """Return the flows of a case in the simulator and on the kernel."""
    cell = case.cell
    (theirs,) = run_on(kernel, [cell], at_once=1)
    return simulate(cell), theirs


def differing(kernel: Kernel, case: Case) -> Compared | None:
    """Return the flow of a case that differs first, if one does."""
    cell = case.cell
    ours, theirs = sides(kernel, case)
    found = [compare(cell, a, b) for a, b in zip(ours, theirs, strict=True)]
    inexact = [one for one in found if one.first is not None]
    return min(inexact, key=when, default=None)


def when(one: Compared) -> int:
    """Return when a flow differs first."""
    return min(packet[0] for packet in one.first or () if packet is not None)


def has_partial(flow: Flow) -> bool:
    """Whether a kernel's sender has sent a part of a segment: its number comes twice."""
    sent = Counter(number for _, kind, number in flow.packets if kind == "send")
    return any(count > 1 for count in sent.values())


# ---- smaller ones ----------------------------------------------------------------------------

#: Values that are tried in the place of others, by how their paths end.
ROUNDER = {
    "rate": ('"1 Mbit/s"', '"10 Mbit/s"', '"100 Mbit/s"'),
    "delay": ('"10 ms"', '"50 ms"', '"200 ms"'),
    "queue": ('"50 ms"', '"200 ms"'),
}
NEEDED = ("profile", "end", "seed", "links.a.rate", "links.a.delay", "flows.f0.size")


def smaller(parts: Parts) -> Iterator[Parts]:
    """Yield scenarios that are a little smaller than one."""
    names = {path.split(".")[1] for path in parts if path.startswith("flows.")}
    for name in sorted(names - {"f0"}):
        yield {p: v for p, v in parts.items() if not p.startswith(f"flows.{name}.")}
    for path in parts:
        if path not in NEEDED and not (path.startswith("flows.") and path.endswith("size")):
            left = {p: v for p, v in parts.items() if p != path}
            if path == "handoffs":
                left = {p: v for p, v in left.items() if not p.startswith("links.b.")}
            yield left
    for path, value in parts.items():
        if path.endswith(".size"):
            size = int(value.strip('"').split()[0])
            for part in (0.3, 0.7, 0.9):
                if 3 <= int(size * part) < size:
                    yield parts | {path: text(f"{int(size * part)} kB")}
        for rounder in ROUNDER.get(path.rsplit(".", 1)[-1], ()):
            if value not in ROUNDER[path.rsplit(".", 1)[-1]]:
                yield parts | {path: rounder}


def shrink(kernel: Kernel, case: Case) -> Case:
    """Return the smallest scenario that is found and differs."""
    trials = 0
    goes_on = True
    while goes_on:
        goes_on = False
        for parts in smaller(case.parts):
            trials += 1
            if trials > TRIALS:
                return case
            try:
                differs = differing(kernel, Case(parts))
            except (MidflightError, ValueError):
                continue
            if differs is not None:
                case, goes_on = Case(parts), True
                break
    return case


# ---- the command -----------------------------------------------------------------------------


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=CASES, help="how many scenarios")
    parser.add_argument("--seed", type=int, default=1, help="of the scenarios")
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("--keep", type=Path, help="where scenarios that differ are written")
    parser.add_argument("--no-shrink", action="store_true", help="leave them as they are")
    asked = parser.parse_args()
    kernel, console = choose(), Console(width=120)
    numbers = range(asked.first, asked.first + asked.cases)
    cases = [case_of(asked.seed, number) for number in numbers]
    cells = [case.cell for case in cases]
    exact = flows = packets = equal = partial = 0
    ran = track(run_on(kernel, cells, at_once=1), total=len(cells), disable=not sys.stderr.isatty())
    for number, case, cell, theirs in zip(numbers, cases, cells, ran, strict=True):
        ours = simulate(cell)
        found = [compare(cell, a, b) for a, b in zip(ours, theirs, strict=True)]
        flows += len(found)
        exact += sum(one.is_exact for one in found)
        packets += sum(one.packets for one in found)
        equal += sum(one.equal for one in found)
        inexact = [one for one in found if one.first is not None]
        if not inexact:
            continue
        one = min(inexact, key=when)
        is_partial = any(map(has_partial, theirs))
        partial += is_partial
        first = "; ".join(map(told, one.first or ()))
        note = " (a part of a segment)" if is_partial else ""
        console.print(
            f"case {number}: {one.equal} of {one.packets}: {first}{note}", highlight=False
        )
        if asked.keep is not None:
            if not asked.no_shrink:
                case = shrink(kernel, case)
            asked.keep.mkdir(parents=True, exist_ok=True)
            (asked.keep / f"{asked.seed}-{number}.toml").write_text(case.text)
    console.print(
        f"{len(cells)} scenarios of seed {asked.seed}: {exact} of {flows} flows exact "
        f"({exact / max(flows, 1):.1%}), {equal / max(packets, 1):.2%} of {packets} packets; "
        f"{partial} scenarios with parts of segments that differ",
        highlight=False,
    )


if __name__ == "__main__":
    main()
