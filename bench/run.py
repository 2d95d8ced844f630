"""Measure midflight's speed: every number that it promises, in one table.

    python bench/run.py

Times of the simulator are criterion's (`crates/bench/benches/speed.rs`), those of the Python
package are taken here. Where ns-2 is installed (Debian's `ns2`, whose program is `ns`) it runs the
same scenarios, and the table has its times beside midflight's. The samples are written to
`out/bench.json`.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

import midflight
import workload

OUT = workload.ROOT / "out" / "bench.json"
CRITERION = workload.TARGET / "criterion"
FLOWS_TCL = workload.ROOT / "bench" / "flows.tcl"
BULK = workload.ROOT / "crates" / "bench" / "src" / "bulk.toml"
CELL = workload.ROOT / "crates" / "bench" / "src" / "cell.toml"

# The parameters of ns-2 for a workload: scenario, flows, seconds, and the number of runs.
NS2 = {
    "bulk": ("bottleneck", 1, 60, 5),
    "handoff": ("handoff", 1, 30, 15),
    "flows-10": ("bottleneck", 10, 60, 5),
    "flows-100": ("bottleneck", 100, 60, 5),
}
# By how much the numbers of packets may differ.
SAME_WORK = 0.01


@dataclass(frozen=True)
class Row:
    """A measured quantity, with one or more values, and its target."""

    name: str
    unit: str
    samples: list[float]
    target: float | None = None
    at_least: bool = False
    ns2: list[float] | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def is_met(self) -> bool:
        """Whether the target is met, if there is one."""
        if self.target is None:
            return True
        return self.median >= self.target if self.at_least else self.median <= self.target

    def cells(self) -> Iterator[str]:
        """Yield its cells of the table."""
        sign = "≥" if self.at_least else "≤"
        yield self.name
        yield "" if self.target is None else f"{sign} {short(self.target)} {self.unit}".rstrip()
        yield f"{short(self.median)} {self.unit}".rstrip()
        if len(self.samples) > 1:
            low, _, high = statistics.quantiles(self.samples, method="inclusive")
            yield f"{short(low)} to {short(high)}"
        else:
            yield ""
        if self.target is None:
            yield ""
        else:
            colour = "green" if self.is_met else "red"
            yield f"[{colour}]{self.median / self.target:.2f}[/]"
        if self.ns2 is None:
            yield from ("", "")
        else:
            theirs = statistics.median(self.ns2)
            yield f"{short(theirs)} {self.unit}"
            yield f"{theirs / self.median:.1f}"


def short(number: float) -> str:
    """Return a number with three digits that count."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


# ---------------------------------------------------------------- the simulator


def run_criterion() -> None:
    """Run the benchmarks, which print their results."""
    bench = "cargo bench --locked --package midflight-bench --bench speed".split()
    environment = os.environ | {"CRITERION_HOME": str(CRITERION)}
    subprocess.run(bench, cwd=workload.ROOT, env=environment, check=True)


@dataclass(frozen=True)
class Benchmark:
    """Nanoseconds for each of the elements, packets or runs, that a run of it has."""

    elements: int
    samples: list[float]

    @classmethod
    def read(cls, name: str) -> Benchmark:
        """Read what criterion found last, by `group/function`."""
        found = CRITERION / name / "new"
        sample = json.loads((found / "sample.json").read_text())
        elements = json.loads((found / "benchmark.json").read_text())["throughput"]["Elements"]
        pairs = zip(sample["times"], sample["iters"], strict=True)
        return cls(elements, [took / iterations / elements for took, iterations in pairs])

    def scaled(self, factor: float) -> list[float]:
        return [sample * factor for sample in self.samples]


def simulator_rows(ns2: dict[str, Benchmark]) -> Iterator[Row]:
    """Yield the times of criterion beside those of ns-2."""
    packet = {
        name: Benchmark.read(f"packet/{name}").samples
        for name in (
            "bulk",
            "bulk-undigested",
            "bulk-rfc",
            "bulk-linux",
            "bulk-scheduled",
            "loss-burst",
            "handoff",
            "handoff-linux",
            "flows-10",
            "flows-100",
            "flows-1000",
        )
    }
    for name, label, target in (
        ("bulk", "bulk flow, a packet", 40),
        ("bulk-undigested", "the same without a digest", None),
        ("bulk-rfc", "bulk flow, profile rfc, a packet", None),
        ("bulk-linux", "bulk flow, profile linux, a packet", None),
        ("bulk-scheduled", "bulk flow over links by a schedule, a packet", None),
        ("loss-burst", "burst of losses, a packet", None),
        ("handoff", "handoff, a packet", 60),
        ("handoff-linux", "handoff, profile linux, a packet", None),
        ("flows-10", "10 flows, a packet", 80),
        ("flows-100", "100 flows, a packet", 80),
        ("flows-1000", "1000 flows, a packet", None),
    ):
        beside = ns2[name].samples if name in ns2 else None
        yield Row(label, "ns", packet[name], target, ns2=beside)
    over_ten = statistics.median(packet["flows-10"])
    over_ns2 = statistics.median(packet["bulk"])
    yield Row("bulk flow, linux over ns2", "", [t / over_ns2 for t in packet["bulk-linux"]], 1.3)
    yield Row("1000 flows over 10 flows", "", [t / over_ten for t in packet["flows-1000"]], 2)

    set_up = Benchmark.read("run/set-up")
    yield Row("setting a run up", "µs", set_up.scaled(1e-3), 10)
    yield Row("a cell of a sweep", "µs", Benchmark.read("run/cell").scaled(1e-3))
    cells = Benchmark.read("run/cell-linux")
    yield Row("a cell of a sweep, profile linux", "µs", cells.scaled(1e-3))
    yield Row("a change of a link", "µs", Benchmark.read("run/changes").scaled(1e-3))
    one, two = Benchmark.read("run/grid"), Benchmark.read("run/grid-two-threads")
    grid = [Row("", "s", g.scaled(g.elements * 1e-9)) for g in (one, two)]
    runs = f"grid of {one.elements:,} runs"
    yield Row(f"{runs}, one thread", "s", grid[0].samples, 2)
    yield Row(f"{runs}, two threads", "s", grid[1].samples, 1.1)
    yield Row("two threads over one", "", [grid[0].median / grid[1].median], 1.8, at_least=True)


def window_row() -> Row:
    """Compare bursts of losses from a queue of 83,333 packets and of 8333, in processor time."""
    binary = str(workload.build())

    def packet(name: str) -> float:
        before = os.times().children_user
        done = subprocess.run([binary, name], capture_output=True, text=True, check=True)
        return (os.times().children_user - before) / int(done.stdout.split()[0])

    pairs = [packet("loss-burst-10g") / packet("loss-burst-10g-short-queue") for _ in range(5)]
    return Row("a packet at 10 Gbit/s, a long queue over a short one", "", pairs, 2)


def memory_rows() -> Iterator[Row]:
    """Yield the memory of worlds and sweeps, in fresh processes."""
    binary = workload.build()

    def peak(name: str) -> float:
        return workload.run(binary, name).peak_mb

    more_flows = [(peak("flows-1000") - peak("flows-10")) * 1000 / 990 for _ in range(5)]
    yield Row("memory of a flow", "kB", more_flows, 64)
    yield Row("memory of the grid", "MB", [peak("grid-two-threads")], 200)


def machine_row() -> Row:
    """Measure the speed-up by a second processor for two processes that share nothing."""
    command = [str(workload.build()), "grid"]

    def at_once(processes: int) -> float:
        start = time.perf_counter()
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(processes)]
        for process in running:
            if process.wait() != 0:
                raise subprocess.CalledProcessError(process.returncode, command)
        return time.perf_counter() - start

    worth = [2 * at_once(1) / at_once(2) for _ in range(3)]
    return Row("two processes over one", "", worth)


# ---------------------------------------------------------------- ns-2


def run_ns2(name: str) -> Benchmark:
    """Run a workload in ns-2, which leaves out its start-up."""
    scenario, flows, seconds, times = NS2[name]
    command = ["ns", str(FLOWS_TCL), scenario, str(flows), str(seconds)]
    sent, samples = 0, []
    for _ in range(times):
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        sent, microseconds = map(int, run.stdout.split())
        samples.append(microseconds * 1000 / sent)
    return Benchmark(sent, samples)


def ns2_beside() -> tuple[dict[str, Benchmark], str]:
    """Return the time of ns-2, where it does the same work, and the notes on it."""
    if shutil.which("ns") is None:
        return {}, "ns-2 is not installed (Debian's package ns2): there is nothing beside it."
    try:
        theirs = {name: run_ns2(name) for name in NS2}
    except (subprocess.CalledProcessError, ValueError) as problem:
        return (
            {},
            f"The program ns did not do what ns-2 does, so there is nothing beside: {problem}",
        )
    same, said = {}, []
    for name, benchmark in theirs.items():
        ours = Benchmark.read(f"packet/{name}").elements
        said.append(f"{name}: midflight sends {ours:,} packets, ns-2 {benchmark.elements:,}")
        if abs(benchmark.elements / ours - 1) <= SAME_WORK:
            same[name] = benchmark
        else:
            said[-1] += ", too different to compare"
    return same, "\n".join(said)


# ---------------------------------------------------------------- Python


def seconds(of: Callable[[], object], times: int) -> list[float]:
    """Return how long something takes, several times."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        of()
        took.append(time.perf_counter() - start)
    return took


def handoff_row() -> Row:
    """Measure one handoff in a batch."""
    at_ns = midflight.parse_instants("0.1s:20s:0.1s")

    def batch() -> None:
        midflight.handoff(
            old="6400 kbit/s, 9 ms",
            new="200 kbit/s, 300 ms",
            at_ns=at_ns,
            schemes=["sack"],
            profile="ns2",
            threads=1,
        )

    batch()
    samples = [took / len(at_ns) * 1e6 for took in seconds(batch, 50)]
    return Row("a handoff from Python", "µs", samples, 20)


def run_row() -> Row:
    """Compare the command for a long bulk flow under `linux` and `ns2`, in processor time."""
    command = [sys.executable, "-m", "midflight", "run", str(BULK), "--profile"]

    def took(profile: str) -> float:
        before = os.times()
        subprocess.run([*command, profile], capture_output=True, check=True)
        after = os.times()
        return after.children_user + after.children_system - sum(before[2:4])

    pairs = [took("linux") / took("ns2") for _ in range(5)]
    return Row("midflight run, a bulk flow of 3000 s, linux over ns2", "", pairs, 1.3)


def cell_row() -> Row:
    """Measure a cell of a sweep over scenarios: from its values to its rows as text."""
    from midflight import Scenario
    from midflight.sweep import Sweep

    scenario = Scenario.from_dict(tomllib.loads(CELL.read_text()))
    axes = {"flows.download.scheme": "sack,enhanced", "handoffs.0.at": "0.1 s : 20 s : 0.1 s"}
    sweep = Sweep.of(scenario, axes)
    shards = list(sweep.shards())

    def cells() -> None:
        for shard in shards:
            sweep.run_shard(shard, threads=1)

    cells()
    samples = [took / sweep.cells * 1e6 for took in seconds(cells, 20)]
    return Row("a cell of a sweep from Python", "µs", samples)


def quic_plan(seconds: int, **flow: Any) -> midflight.Plan:
    """Return a download over QUIC from a link to one with a longer delay, both of 6.4 Mbit/s."""
    from midflight import Flow, Handoff, Link, Scenario

    rate = "6400 kbit/s"
    scenario = Scenario(
        links={
            "near": Link(rate=rate, delay="9 ms", queue="20 packets"),
            "far": Link(rate=rate, delay="300 ms", queue="320 packets"),
        },
        flows={"download": Flow(**flow)},
        handoffs=[Handoff(at="5 s", to="far")],
        end=f"{seconds} s",
    )
    return scenario.plan()


def quic_rows() -> Iterator[Row]:
    """Yield the time of a datagram of a QUIC stack, ACKs included, and of a sweep over instants."""
    kinds = ((False, 3.5), (True, 5.0))
    # Those in the core: aioquic runs in Python.
    stacks = [one for one in midflight.QUIC_STACKS if one != "aioquic"]
    for stack, (tls, target) in itertools.product(stacks, kinds):
        plan = quic_plan(30, stack=stack, tls=tls)
        events = plan.setup(0).causes().column("event")
        datagrams = sum(event in ("send", "rexmit", "ack_sent") for event in events)

        def run(plan: midflight.Plan = plan) -> None:
            midflight.run_plans([plan], threads=1)

        samples = [took / datagrams * 1e6 for took in seconds(run, 15)]
        name = f"a datagram of {stack}{', encrypted' if tls else ''}"
        yield Row(name, "µs", samples, target)
    for stack in stacks:
        plan = quic_plan(20, stack=stack)
        plans = [
            midflight.Scenario.from_dict(json.loads(plan.canonical)).plan(
                sets={"handoffs.0.at": f"{4000 + 10 * i} ms"}
            )
            for i in range(200)
        ]

        def sweep(plans: list[midflight.Plan] = plans) -> None:
            midflight.run_plans(plans, threads=2)

        samples = seconds(sweep, 5)
        yield Row(f"200 instants over {stack}, two threads", "s", samples, 8)


def import_rows() -> Iterator[Row]:
    """Yield what importing costs a fresh interpreter; the core, which is loaded late, included."""

    def interpreter(statement: str) -> tuple[float, float]:
        code = "\n".join(
            [
                "import time",
                "start = time.perf_counter()",
                statement,
                "took = time.perf_counter() - start",
                "status = open('/proc/self/status').read()",
                "print(took, status.split('VmHWM:')[1].split()[0])",
            ]
        )
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        took, kilobytes = run.stdout.split()
        return float(took), float(kilobytes) / 1000

    bare = statistics.median(interpreter("pass")[1] for _ in range(11))
    took, megabytes = zip(
        *(interpreter("from midflight import handoff") for _ in range(11)), strict=True
    )
    yield Row("import midflight and its core", "s", list(took), 0.1)
    yield Row("its memory over bare Python", "MB", [m - bare for m in megabytes], 30)


def study_row() -> Row:
    """Measure a whole study with its figures and the report."""

    def reproduce() -> None:
        with tempfile.TemporaryDirectory() as out:
            command = [
                sys.executable,
                "-m",
                "midflight",
                "reproduce",
                "daniel-kojo-2008",
                "--out",
                out,
            ]
            subprocess.run(command, capture_output=True, check=True)

    return Row("reproduce daniel-kojo-2008", "s", seconds(reproduce, 3), 20)


def long_flow_rows() -> Iterator[Row]:
    """Measure the 600 runs of 500 s of the second study, on all processors."""
    from midflight.studies.lim_jang_2009 import scenarios as sc
    from midflight.studies.runs import Runs

    jobs = [job for figure in sc.SCENARIOS for job in sc.scenarios(figure)]
    runs = Runs()
    took = seconds(lambda: runs.make(jobs), 1)
    packets = sum(runs.flow(job).total("wired_offered").sum() for job in jobs)
    yield Row("600 long flows of lim-jang-2009", "s", took, 60)
    yield Row("the same, a data packet", "ns", [s / packets * 1e9 for s in took])


# ---------------------------------------------------------------- everything


# ---------------------------------------------------------------- the lab

#: The scenario of a sweep on the kernel: its links have 6.4 Mbit/s.
LAB_LINKS = {
    name: {"rate": "6400 kbit/s", "delay": delay, "queue": "bdp"}
    for name, delay in (("old", "9 ms"), ("new", "300 ms"))
}
LAB_INSTANTS = 200


def lab_rows() -> Iterator[Row]:
    """Yield the times of the lab; nothing without a kernel."""
    from midflight.lab.doctor import measure
    from midflight.lab.store import choose

    found = [measure(choose()) for _ in range(3)]
    yield Row("guest without traffic", "s", [one.idle_s for one in found], 0.1)
    yield Row("kernel, a packet", "us", [one.cost_us for one in found], 20)
    yield Row("kernel, latest delivery", "ns", [float(one.most_late_ns) for one in found], 10)
    scenario = {
        "end": "20 s",
        "links": LAB_LINKS,
        "flows": {"download": {"stack": "linux", "scheme": "cubic"}},
        "handoffs": [{"at": "1 s", "to": "new"}],
    }
    at = f"0.05 s : {0.05 * LAB_INSTANTS:g} s : 0.05 s"
    sweep = midflight.Sweep.of(midflight.Scenario.from_dict(scenario), {"handoffs.0.at": at})
    begun = time.perf_counter()
    for shard in sweep.shards():
        sweep.run_shard(shard)
    took = time.perf_counter() - begun
    yield Row(f"kernel, {LAB_INSTANTS} instants of 20 s", "s", [took], 30)


def rows_of_lab() -> tuple[list[Row], str]:
    """Return the same, and the notes on it."""
    try:
        return list(lab_rows()), ""
    except midflight.MidflightError as error:
        return [], f"The lab was left out: {error}."


def main() -> None:
    """Measure and print."""
    run_criterion()
    ns2, said = ns2_beside()
    of_lab, said_of_lab = rows_of_lab()
    rows = [
        *simulator_rows(ns2),
        window_row(),
        machine_row(),
        *memory_rows(),
        handoff_row(),
        run_row(),
        cell_row(),
        *quic_rows(),
        *import_rows(),
        study_row(),
        *long_flow_rows(),
        *of_lab,
    ]

    table = Table("")
    for heading in ("target", "median", "quartiles", "of target", "ns-2", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row.cells())
    # A table in a file is as wide as it needs to be.
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    console.print(table)
    console.print(said)
    if said_of_lab:
        console.print(said_of_lab)

    taken = {
        **workload.rustc(),
        "processors": os.cpu_count(),
        "rows": [asdict(row) for row in rows],
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(taken, indent=1) + "\n")
    console.print(f"Samples: {OUT.relative_to(workload.ROOT)}")


if __name__ == "__main__":
    main()
