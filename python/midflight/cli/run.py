"""`midflight run`: run a scenario."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.cli.input import check_run, idle_knobs, own_policies, read_pairs, read_whole
from midflight.cli.options import (
    FileArgument,
    OwnProfileOption,
    OwnRunsOption,
    OwnSeedOption,
    PoliciesOption,
    SetsOption,
    ThreadsOption,
)
from midflight.cli.output import UserError, note
from midflight.cli.result_files import CsvOption, FolderOption, JsonOption, produce
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
from midflight.remark import equal_runs, remarks_of
from midflight.run_tables import RunSummary, agents_of, summary_text
from midflight.unmet import UnmetRuns

if TYPE_CHECKING:
    from midflight._core import Plan
    from midflight.policy import Policies

__all__ = ["idle_notes", "idle_notes_of", "run", "scenario_plan", "with_shorthands"]

# Controllers that are not what their names mean in Linux.
NOT_OF_LINUX = {
    "cubic": "cubic is RFC 9438's, without HyStart; Linux's is the scheme sack or cubic-linux",
    "reno": "reno is RFC 5681's; Linux's is the scheme reno-linux",
}


def run(
    file: FileArgument,
    profile: OwnProfileOption = None,
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    runs: OwnRunsOption = None,
    seed: OwnSeedOption = None,
    threads: ThreadsOption = "0",
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
    snaplen: SnaplenOption = "128",
) -> None:
    """Run a scenario: a file with links, flows, handoffs and changes.

    Prints for each flow its duration, goodput, longest time without progress, timeouts and losses;
    and for each handoff or change the time until each of the mobile node's flows made progress on
    the new link. With several runs these are means per run.

    The keys of a scenario are in docs/scenarios.md; `midflight list links` shows the presets.

    \b
    Examples:
      midflight run wifi-to-lte
      midflight run wifi-to-lte --set flows.download.scheme=enhanced --runs 20
      midflight run leo-handoffs --set links.dish.queue=bdp --json
      midflight run wifi-to-lte --trace events --pcap captures --out results
      midflight run wifi-to-lte --plot run.png
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
    thread_count = read_whole("--threads", threads, 0, 1024)
    sets = with_shorthands(sets, profile, runs, seed)
    own = own_policies(policies)
    plan = scenario_plan(file, sets, own)
    values = json.loads(plan.canonical)
    check_run(watched.run, values["runs"])
    for one in (*remarks_of(plan), *idle_notes(values)):
        note(one)
    flags = [*(f"--set={one}" for one in sets), *(f"--policy={one}" for one in policies or [])]
    command = shlex.join(["midflight", "run", file, *flags])
    made: dict[str, Any] = {
        "threads": thread_count,
        "out": out,
        "csv_file": csv_file,
        "as_json": as_json,
    }
    if plan.stack == "linux":
        from midflight.cli.lab_run import LabResults
        from midflight.lab.runs import OWN, LabRuns
        from midflight.lab.store import choose

        produce(LabResults(LabRuns(plan, choose(), (OWN,))), watched, command=command, **made)
        return
    if said := equal_runs([plan]):
        note(said)
    produce(ScenarioRuns(plan, own), watched, command=command, **made)


class ScenarioRuns:
    """`Results` of a scenario."""

    tables = ("flows", "phases")
    #: The flows of one run have different ones.
    schemes = ("",)

    def __init__(self, plan: Plan, policies: Policies) -> None:
        self.source, self.policies = plan, policies
        self.summary, self.unmet = RunSummary(), UnmetRuns(plan)

    def pieces(self, *, threads: int, progress: Callable[[int, int], object]) -> Iterator[Any]:
        """Run all; yield the tables of some runs at a time."""
        from midflight.scenario import run_pieces

        return run_pieces(self.source, threads=threads, progress=progress)

    def digests(self, *tables: Any) -> Sequence[str]:
        """Return the digest of each run."""
        flows = tables[0]
        return list(dict(zip(flows.column("run"), flows.column("digest"), strict=True)).values())

    def manifest(self, command: str) -> dict[str, Any]:
        """Return what repeats the runs."""
        from midflight.scenario import manifest_of

        return manifest_of(self.source, [], command, policies=self.policies)

    def add(self, *tables: Any) -> None:
        """Take some runs into the summary."""
        self.summary.add(*tables)
        self.unmet.add(*tables)

    def notes(self) -> Iterator[str]:
        """Yield the handoffs that no flow met."""
        return self.unmet.notes()

    def values(self) -> dict[str, Any]:
        """The summary is not in JSON: it follows from the tables."""
        return {}

    def text(self) -> str:
        """Return the measurements."""
        return summary_text(json.loads(self.source.canonical), self.summary)


def with_shorthands(
    sets: Sequence[str] | None,
    profile: str | None,
    runs: str | None = None,
    seed: str | None = None,
) -> list[str]:
    """Return the values of --set with those of options that are short for one.

    Raises `UserError` for a value that is given both ways, and for a profile that does not exist.
    """
    from midflight import _core
    from midflight.meant import or_all

    found = list(sets or [])
    for key, value in (("profile", profile), ("runs", runs), ("seed", seed)):
        if value is not None and any(path == key for path, _ in read_pairs(found)):
            raise UserError(f"--{key} and --set {key} give values for the same; give one of them")
        if value is not None and key != "profile":
            read_whole(f"--{key}", value, 1 if key == "runs" else 0, 2**63 - 1)
        found += [] if value is None else [f"{key}={value}"]
    known = [one["name"] for one in _core.profiles()] if profile is not None else []
    if profile is not None and profile not in known:
        others = or_all(profile, known, "`midflight list profiles` has all")
        raise UserError(f'--profile "{profile}" is not a profile{others}')
    return found


def scenario_plan(file: str, sets: Sequence[str] | None, policies: Policies | None = None) -> Plan:
    """Read and check a scenario file with values that go over its own."""
    from midflight.scenario import no_such_file, read_plan, starter_names

    pairs: list[tuple[str, Any]] = [*read_pairs(sets or [])]
    if file in starter_names() and Path(file).exists():
        what = "folder" if Path(file).is_dir() else "file"
        note(f"{file} is the starter of that name, not the {what} here, which is ./{file}")
    try:
        return read_plan(file, sets=pairs, policies=policies)
    except FileNotFoundError as error:
        raise UserError(f"{no_such_file(file)}; `midflight list scenarios` has all") from error
    except UnicodeDecodeError as error:
        raise UserError(f'"{file}" is not text in UTF-8: {error.reason}') from error
    except OSError as error:
        raise UserError(f'cannot read "{file}": {error.strerror or error}') from error


def idle_notes_of(scenarios: Iterable[dict[str, Any]]) -> list[str]:
    """Return the notes on several scenarios that are run: on each setting that none of them uses,
    and on each controller that one of them has.
    """
    each = [[*idle_notes(one)] for one in scenarios]
    known = {*NOT_OF_LINUX.values()}
    every = dict.fromkeys(said for one in each for said in one)
    return [said for said in every if said in known or all(said in one for one in each)]


def idle_notes(scenario: dict[str, Any]) -> Iterator[str]:
    """Yield a note for each setting that none of the flows it is for can use.

    And, with the profile of Linux, for each controller that is not the one of that name in Linux.
    """
    flows = scenario["flows"]
    if any(one.get("stack") == "linux" for one in flows.values()):
        # No setting is for the kernel's sender.
        return
    ours = [one for one in flows.values() if one.get("stack", "midflight") == "midflight"]
    if not ours:
        return
    schemes = [one["scheme"] for one in ours]
    if scenario["profile"] == "linux":
        named = {part for scheme in schemes for part in scheme.split("+")}
        every = (scenario.get("set", {}), *(one.get("set", {}) for one in flows.values()))
        named |= {one.get("congestion") for one in every}
        yield from (text for name, text in NOT_OF_LINUX.items() if name in named)
    yield from idle_knobs(schemes, scenario.get("set", {}), agents_of(scenario))
    for one in ours:
        yield from idle_knobs([one["scheme"]], one.get("set", {}))
