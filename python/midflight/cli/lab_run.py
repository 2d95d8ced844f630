"""`midflight lab run` and `midflight lab compare`: a scenario on the kernel."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from midflight.cli.input import check_run, read, read_whole
from midflight.cli.lab_exec import (
    KernelOption,
    LimitOption,
    SysctlsOption,
    read_limit,
    read_sysctls,
)
from midflight.cli.options import FileArgument, OwnSeedOption, SetsOption
from midflight.cli.output import QUIET_S, UserError, align, progress_display
from midflight.cli.result_files import CsvOption, FolderOption, JsonOption, produce
from midflight.cli.run import scenario_plan, with_shorthands
from midflight.cli.watched import (
    FlowOption,
    PcapOption,
    PlotOption,
    QlogOption,
    RunFiles,
    RunOption,
    SamplesOption,
    SnaplenOption,
    TraceOption,
)
from midflight.run_tables import RunSummary, summary_text
from midflight.unmet import UnmetRuns

if TYPE_CHECKING:
    from midflight import Plan
    from midflight.lab.comparison import Compared
    from midflight.lab.runs import LabRuns
    from midflight.lab.store import Kernel

__all__ = ["compare", "run"]

CongestionOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--cc",
        metavar="NAMES",
        help="Congestion controls of the kernel, separated by commas: cubic, reno, bbr.  "
        '[default: cubic; the schemes of flows with stack = "linux"; in a comparison that of the '
        "simulator's flows, such as bbr for bbr-linux]",
    ),
]
SampleOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Interval at which the state of the kernel's senders (TCP_INFO) is sampled, for "
        "samples.csv; 0 for never. There are no samples with --host.",
    ),
]
StackOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The senders of the flows: linux, or midflight (profile and schemes of the "
        "scenario). The receivers are the kernel's.",
    ),
]
RunsOption: TypeAlias = Annotated[
    str | None, typer.Option("--runs", metavar="N", help="As --set runs=N.")
]
GuestsOption: TypeAlias = Annotated[
    str,
    typer.Option("--threads", metavar="N", help="Guests at a time; 0 for one on each core."),
]


def read_congestion(text: str | None, stack: str) -> tuple[str, ...]:
    """Read the names of congestion controls for flows of a stack."""
    if text is None:
        from midflight.lab.runs import OWN

        return (OWN,) if stack == "linux" else ("cubic",)
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise UserError(f'--cc "{text}" is not a list of different names, such as cubic,reno,bbr')
    return names


#: The kernel's congestion controls by the names of midflight's controllers.
_OF_KERNEL = {"cubic-linux": "cubic", "reno-linux": "reno", "bbr-linux": "bbr"}


def congestion_of(plan: Plan) -> str | None:
    """Return the kernel's congestion control that all flows of a scenario have in the simulator;
    None if there is not one, or if the flows are the kernel's.
    """
    scenario = json.loads(plan.canonical)
    found = set()
    for flow in scenario["flows"].values():
        settings = {**(scenario.get("set") or {}), **(flow.get("set") or {})}
        parts = [*str(flow.get("scheme", "")).split("+"), str(settings.get("congestion", ""))]
        found.add(next((_OF_KERNEL[one] for one in parts if one in _OF_KERNEL), None))
    return found.pop() if len(found) == 1 and plan.stack != "linux" else None


def requested_runs(
    file: str,
    sets: Sequence[str],
    congestion: str | None,
    sysctls: list[str] | None,
    kernel: str | None,
    limit: str,
    stack: str,
    sample: str = "0 s",
    *,
    host: bool = False,
) -> LabRuns:
    """Return the requested runs."""
    from midflight import parse_duration
    from midflight.lab.host import check_host, host_kernel
    from midflight.lab.runs import OURS, STACKS, LabRuns
    from midflight.lab.store import Kernel, choose

    if host:
        if stack == OURS or kernel is not None:
            raise UserError(
                "--host has the kernel of this machine and its senders; leave out --stack and "
                "--kernel"
            )
        check_host()
    if stack not in STACKS:
        raise UserError(f'--stack "{stack}" is not {" or ".join(STACKS)}')
    if stack == OURS and congestion is not None:
        raise UserError(
            f"--cc {congestion} is for the kernel's senders, and --stack {OURS} has the schemes of "
            "the scenario; give --set flows.NAME.scheme=SCHEME"
        )
    settings = tuple(read_sysctls(sysctls))
    limit_s, sample_ns = read_limit(limit), int(read("--sample", parse_duration, sample))
    if host or stack == OURS:
        # Only the guest's kernel gives samples.
        sample_ns = 0
    plan = scenario_plan(file, sets)
    names = (OURS,) if stack == OURS else read_congestion(congestion, plan.stack)
    # A setup that the lab cannot run is refused before a kernel is searched.
    nowhere = LabRuns(
        plan,
        Kernel(Path(), "", 0, ""),
        names,
        settings,
        limit_s=limit_s,
        stack=stack,
        sample_ns=sample_ns,
    )
    nowhere.guest(names[0], 0)
    if host:
        return replace(nowhere, kernel=host_kernel())
    chosen = choose(kernel)
    if congestion is not None:
        check_congestion(names, chosen)
    return replace(nowhere, kernel=chosen)


def check_congestion(names: Sequence[str], kernel: Kernel) -> None:
    """Refuse a congestion control that a kernel lacks, as far as its configuration is there."""
    try:
        config = kernel.path.with_name("config").read_text(encoding="utf-8")
    except (OSError, ValueError):
        # The guest reports it.
        return
    built = re.findall(r"^CONFIG_TCP_CONG_(\w+)=y$", config, re.MULTILINE)
    has = sorted({"reno", *(one.lower() for one in built)} - {"advanced"})
    for name in names:
        if name not in has:
            raise UserError(
                f'the kernel has no congestion control "{name}"; it has ' + ", ".join(has)
            )


def run(
    file: FileArgument,
    sets: SetsOption = None,
    congestion: CongestionOption = None,
    stack: StackOption = "linux",
    sysctls: SysctlsOption = None,
    sample: SampleOption = "100 ms",
    runs: RunsOption = None,
    seed: OwnSeedOption = None,
    kernel: KernelOption = None,
    limit: LimitOption = "10min",
    threads: GuestsOption = "0",
    host: Annotated[
        bool,
        typer.Option("--host", help="On this machine's own kernel, in real time (root, or TUN)."),
    ] = False,
    out: FolderOption = None,
    csv_file: CsvOption = None,
    as_json: JsonOption = False,
    trace: TraceOption = None,
    pcap: PcapOption = None,
    qlog: QlogOption = None,
    samples: SamplesOption = None,
    plot: PlotOption = None,
    flow: FlowOption = None,
    of_run: RunOption = "0",
    snaplen: SnaplenOption = "0",
) -> None:
    """Run a scenario on the TCP of the Linux kernel, in virtual time.

    Links, handoffs, changes, losses and cross traffic are those of `midflight run`; senders and
    receivers are the kernel's, whatever profile and scheme the scenario names. With --stack
    midflight the senders are midflight's, with that profile and those schemes, and send real
    segments to the kernel's receivers. A flow of n segments sends n full segments. Tables and
    summary are as for `midflight run`, with the congestion control as scheme. The table of counters
    has the kernel's counters, the table of samples the state of its senders over time
    (docs/lab.md).

    \b
    Examples:
      midflight lab run wifi-to-lte
      midflight lab run wifi-to-lte --cc cubic,reno,bbr --out results
      midflight lab run wifi-to-lte --sysctl net.ipv4.tcp_sack=0 --pcap captures
      midflight lab run wifi-to-lte --plot run.png
      midflight lab run wifi-to-lte --stack midflight --set flows.download.scheme=enhanced
    """
    watched = RunFiles(
        trace=trace,
        pcap=pcap,
        qlog=qlog,
        samples=samples,
        plot=plot,
        flow=flow,
        run=of_run,
        snaplen=snaplen,
    )
    guests = read_whole("--threads", threads, 0, 1024)
    all_sets = with_shorthands(sets, None, runs, seed)
    asked = requested_runs(
        file, all_sets, congestion, sysctls, kernel, limit, stack, sample, host=host
    )
    check_run(watched.run, asked.runs)
    words = [f"--set={one}" for one in all_sets]
    words += [] if congestion is None else [f"--cc={congestion}"]
    words += [] if stack == "linux" else [f"--stack={stack}"]
    words += ["--host"] * host
    words += [f"--sysctl={one}" for one in sysctls or []]
    produce(
        LabResults(asked),
        watched,
        command=shlex.join(["midflight", "lab", "run", file, *words]),
        threads=guests,
        out=out,
        csv_file=csv_file,
        as_json=as_json,
    )


class LabResults:
    """`Results` of runs on a kernel."""

    tables = ("flows", "phases", "counters", "samples")

    def __init__(self, source: LabRuns) -> None:
        """Take the runs."""
        self.source = source
        self.schemes: tuple[str, ...] = source.congestion
        self.summaries = {name: RunSummary() for name in source.congestion}
        self.unmet = UnmetRuns(source.plan)

    def pieces(self, *, threads: int, progress: Callable[[int, int], object]) -> Iterator[Any]:
        """Run all; yield the tables of each run."""
        return self.source.pieces(threads=threads, progress=progress)

    def digests(self, *tables: Any) -> Sequence[str]:
        """Return the digest of the run."""
        return list(dict.fromkeys(tables[0].column("digest")))

    def manifest(self, command: str) -> dict[str, Any]:
        """Return what repeats the runs."""
        from midflight.scenario import manifest_head

        return {**manifest_head([], command, None), "lab": self.source.values()}

    def add(self, *tables: Any) -> None:
        """Take a run into the summary."""
        flows, phases, *_ = tables
        self.summaries[self.schemes[flows.column("cell")[0]]].add(flows, phases)
        self.unmet.add(flows, phases)

    def notes(self) -> Iterator[str]:
        """Yield the handoffs that no flow met."""
        yield from self.unmet.notes()
        for (name, run), (late, attempts) in self.source.lateness.items():
            again = f", the {attempts - 1} before were late" if attempts > 1 else ""
            of = f"{name}, run {run}" if name else f"run {run}"
            yield f"{of}, in real time: {late.text()}{again}"

    def values(self) -> dict[str, Any]:
        """The summary is not in JSON: it follows from the tables."""
        return {}

    def text(self) -> str:
        """Return the measurements with each congestion control."""
        kernel, scenario = self.source.kernel, self.source.scenario
        hz = "real time" if self.source.is_host else f"HZ {kernel.hz}"
        stack = f"Linux {kernel.version}, {hz}"
        texts = [
            summary_text(scenario, summary, with_sender(stack, self.source, name))
            for name, summary in self.summaries.items()
        ]
        return "\n\n".join(texts)


def with_sender(stack: str, source: LabRuns, name: str) -> str:
    """Return the stack of runs with the name of its senders, if that is the same for all flows."""
    from midflight.lab.runs import OURS

    if source.stack == OURS:
        name = f"sender midflight, {source.scenario['profile']}"
    return f"{stack}, {name}" if name else stack


def compare(
    file: FileArgument,
    sets: SetsOption = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The simulator's profile.  [default: the scenario's]"),
    ] = None,
    congestion: CongestionOption = None,
    stack: StackOption = "linux",
    sysctls: SysctlsOption = None,
    runs: RunsOption = None,
    seed: OwnSeedOption = None,
    kernel: KernelOption = None,
    limit: LimitOption = "10min",
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Compare a scenario in the simulator with the same on the Linux kernel.

    Each flow's measures side by side, and its packets at the sender one by one: those that are
    the same in kind, number and instant (to 1 us), and the first that are not, with both
    senders' state there.

    \b
    Examples:
      midflight lab compare wifi-to-lte
      midflight lab compare wifi-to-lte --profile linux --cc cubic --json
      midflight lab compare wifi-to-lte --profile rfc --stack midflight
    """
    from midflight.lab.comparison import compare_runs

    all_sets = with_shorthands(sets, profile, runs, seed)
    if congestion is None and stack == "linux":
        congestion = congestion_of(scenario_plan(file, all_sets))
    asked = requested_runs(file, all_sets, congestion, sysctls, kernel, limit, stack)
    found: list[Compared] = []
    total = asked.runs * len(asked.congestion) * len(asked.scenario["flows"])
    with progress_display(quiet_s=QUIET_S) as progress:
        for one in compare_runs(asked):
            found.append(one)
            progress("flows", len(found), max(total, len(found)))
    if as_json:
        from dataclasses import asdict

        json.dump([asdict(one) for one in found], sys.stdout, indent=2)
        print()
        return
    of_profile = asked.scenario["profile"]
    stack = f"Linux {asked.kernel.version}, HZ {asked.kernel.hz}"
    texts = (
        compared_text(one, of_profile, with_sender(stack, asked, one.congestion)) for one in found
    )
    print("\n\n".join(texts))


def compared_text(of: Compared, profile: str, stack: str) -> str:
    """Return a comparison as text."""
    rows = [[f"{of.flow}, run {of.run}", f"midflight, {profile}", stack]]
    for name, values in of.measures.items():
        rows.append([name.replace("_ns", "_s").replace("_bps", "_mbps"), *map(cell, values)])
    packets = of.packets
    most = max(packets.simulated, packets.kernel, 1)
    lines = [
        align(rows),
        "",
        f"Packets at the sender: {packets.simulated} and {packets.kernel}; {packets.equal} are "
        f"the same ({100 * packets.equal / most:.1f} %).",
    ]
    if packets.first is not None:
        lines.append("The first that differ:")
        for name, packet in zip(("midflight", "Linux"), packets.first, strict=True):
            lines.append(f"  {name}: {packet_text(packet)}")
    return "\n".join(lines)


def cell(value: float | None) -> str:
    """Return a measure as text."""
    return "-" if value is None else f"{value:.9g}"


def packet_text(packet: dict[str, Any] | None) -> str:
    """Return a packet and its sender's state as text."""
    if packet is None:
        return "none"
    state = {key: value for key, value in packet.items() if key not in ("time_ns", "packet")}
    number = state.pop("number")
    texts = ", ".join(f"{name} {value:g}" for name, value in state.items())
    return f"{packet['packet']} {number} at {packet['time_ns'] / 1e9:.9f} s ({texts})"
