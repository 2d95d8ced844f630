"""Compare the instructions of midflight's workloads with their budget.

    python bench/budget.py             compare; the exit status is 1 when one is 3 % above
    python bench/budget.py --update    count and write the budget

Instructions, unlike times, do not depend on the machine's load: two counts of one binary are equal,
but for a part in a thousand where threads wait for each other. The budget is
`crates/bench/budget.toml`. The counts are callgrind's, whose files stay in `target/callgrind` for a
closer look. Where counts cannot be compared that is said and the exit status is 0, unless the
environment variable CI is set.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

import workload

BUDGET = workload.ROOT / "crates" / "bench" / "budget.toml"
TOLERANCE_PERCENT = 3

# How often each is run. A process takes 200,000 instructions or so before the first run, which must
# be less than 1 % of the count.
WORKLOADS = {
    "bulk": 1,
    "bulk-rfc": 1,
    "bulk-linux": 1,
    "run": 1,
    "run-linux": 1,
    "bulk-scheduled": 10,
    "loss-burst": 1,
    "handoff": 20,
    "handoff-linux": 20,
    "flows-10": 1,
    "flows-100": 1,
    "set-up": 5000,
    "grid-part": 1,
    "cell": 1,
    "cell-linux": 1,
    "changes": 1,
}


@dataclass(frozen=True)
class Budget:
    """Instructions by workload, and the compiler and machine that they are for."""

    rustc: str
    host: str
    instructions: dict[str, int]

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read what `render` wrote."""
        return cls(**tomllib.loads(text))

    def render(self) -> str:
        """Return the text of the budget's file."""
        lines = [
            "# Instructions for each packet or, where a workload is counted in runs, each run.",
            f"# `make budget` fails above it by {TOLERANCE_PERCENT} %; "
            "`make budget-update` writes this file.",
            f'rustc = "{self.rustc}"',
            f'host = "{self.host}"',
            "",
            "[instructions]",
            *(f"{name} = {count}" for name, count in self.instructions.items()),
        ]
        return "\n".join(lines) + "\n"


def verdict(counted: Budget, budget: Budget) -> tuple[int, list[str]]:
    """Return the exit status and the messages about the counts."""
    if counted.instructions.keys() != budget.instructions.keys():
        return 1, [f"{BUDGET.name} has other workloads: write it with `make budget-update`."]

    def percent(name: str) -> float:
        return 100 * counted.instructions[name] / budget.instructions[name] - 100

    def told(names: list[str]) -> str:
        return ", ".join(
            f"{name} by {abs(percent(name)):.1f} % "
            f"({counted.instructions[name]:,} instructions for {budget.instructions[name]:,})"
            for name in names
        )

    above = [name for name in budget.instructions if percent(name) > TOLERANCE_PERCENT]
    below = [name for name in budget.instructions if percent(name) < -TOLERANCE_PERCENT]
    messages = []
    if above:
        messages.append(f"Above the budget: {told(above)}.")
    if below:
        messages.append(
            f"Below the budget: {told(below)}; `make budget-update` lowers it to what was counted."
        )
    if counted.rustc != budget.rustc:
        messages.append(
            f"The budget is for rustc {budget.rustc}, this is {counted.rustc}: "
            "other compilers need other numbers of instructions."
        )
    return (1 if above else 0), messages


def obstacle(budget_host: str, host: str) -> str | None:
    """Return why counts cannot be compared here, if so."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if host != budget_host:
        return f"the budget is for {budget_host} and this is {host}"
    return None


def count() -> tuple[dict[str, int], dict[str, str]]:
    """Return for every workload its instructions for each unit, and the name of the unit."""
    binary = workload.build()
    records = workload.TARGET / "callgrind"
    records.mkdir(exist_ok=True)

    def count_one(name: str) -> tuple[int, str]:
        record = f"--callgrind-out-file={records / name}.out"
        valgrind = (shutil.which("valgrind") or "valgrind", "--tool=callgrind", record)
        done = workload.run(binary, name, WORKLOADS[name], under=valgrind)
        collected = re.search(r"Collected : (\d+)", done.stderr)
        if collected is None:
            raise SystemExit(f"callgrind did not tell what it collected: {done.stderr}")
        return round(int(collected[1]) / done.count), done.unit

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = dict(zip(WORKLOADS, pool.map(count_one, WORKLOADS), strict=True))
    counts = {name: instructions for name, (instructions, _) in found.items()}
    return counts, {name: unit for name, (_, unit) in found.items()}


def show(counted: Budget, budget: Budget, units: dict[str, str]) -> None:
    """Print the counts beside the budget."""
    table = Table("workload", "for each")
    for heading in ("instructions", "budget", "of budget"):
        table.add_column(heading, justify="right")
    for name, instructions in counted.instructions.items():
        allowed = budget.instructions.get(name)
        beside = ("", "") if allowed is None else (f"{allowed:,}", f"{instructions / allowed:.1%}")
        table.add_row(name, units[name], f"{instructions:,}", *beside)
    Console().print(table)


def main() -> int:
    """Compare or update."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--update", action="store_true", help="write the budget")
    update = parser.parse_args().update

    compiler = workload.rustc()
    budget = Budget.parse(BUDGET.read_text())
    hindrance = obstacle(compiler["host"] if update else budget.host, compiler["host"])
    if hindrance is not None:
        print(f"Instructions are not counted: {hindrance}.", file=sys.stderr)
        return 1 if update or os.environ.get("CI") else 0

    counts, units = count()
    counted = Budget(**compiler, instructions=counts)
    show(counted, budget, units)
    if update:
        BUDGET.write_text(counted.render())
        print(f"Written: {BUDGET.relative_to(workload.ROOT)}")
        return 0
    status, messages = verdict(counted, budget)
    for message in messages:
        print(message, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
