"""Scenarios as objects, with the keys of a scenario file.

A key that is None takes the default of the scenario reference. The core reads, checks and runs;
nothing is checked twice.

    >>> from midflight import Flow, Handoff, Link, Scenario
    >>> scenario = Scenario(
    ...     links={"wifi": Link(preset="wifi"), "lte": Link(preset="lte")},
    ...     flows={"download": Flow(scheme="enhanced", size="3 MB")},
    ...     handoffs=[Handoff(at="0.3 s", to="lte")],
    ... )
    >>> outcome = scenario.run()
    >>> outcome.flows.column("scheme")
    ['enhanced']
"""

from __future__ import annotations

import errno
import json
import platform
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from midflight.argument import check_threads
from midflight.meant import did_you_mean, meant
from midflight.policy import check_policies
from midflight.recordings import check_is_no_recording
from midflight.refusal import refusal
from midflight.remark import ScenarioWarning, remarks_of, warn_of
from midflight.scenario_part import part
from midflight.trace_table import trace_table

if TYPE_CHECKING:
    from midflight._core import Plan, Table
    from midflight.policy import Policies
    from midflight.results import Columns

__all__ = [
    "STARTERS",
    "Change",
    "Flow",
    "Handoff",
    "Link",
    "LinkDirection",
    "Notice",
    "Outcome",
    "Scenario",
    "ScenarioWarning",
    "Signal",
    "SweepAxes",
    "Wired",
    "starter_names",
]

#: Bytes of a scenario file at most.
MOST_BYTES = 10_000_000
#: Rows of results that are held at a time where results are written as they come, unless
#: `RUNS_AT_A_TIME` runs, which keep the processors busy, have more.
ROWS_AT_A_TIME = 20_000
RUNS_AT_A_TIME = 32
#: Values that a title does not name, how many it names, how these, and a description, then begin.
_UNNAMED = ("title", "description", "profile", "runs", "seed")
_MOST_LISTED = 6
_BUT = ", but with "
OWN_VALUES = "About the scenario with its own values:"
#: The starter scenarios that come with the package.
STARTERS = Path(__file__).with_name("scenarios")

Value: TypeAlias = str | float | bool


@part
class Wired:
    """The two wired links, server - router - base station, alike in both directions."""

    rate: str | None = None
    delay: str | None = None
    queue: str | None = None


@part
class LinkDirection:
    """One direction of an access link."""

    rate: str | None = None
    delay: str | None = None
    queue: str | None = None
    loss: str | None = None
    reorder: str | None = None
    cross: str | None = None


@part
class Link(LinkDirection):
    """An access link; rate and delay are needed unless a preset or a trace has them.

    `trace` is a recording that the link follows: the path of a file, the table of a scenario file
    as a mapping, or the columns themselves, with units in their names, as a mapping of lists or
    arrays or as a DataFrame: `{"time_s": [0, 1], "rate_mbps": [20, 0]}`. The `file` of a table may
    be such columns, too, with `columns` that name them: `{"file": frame, "columns": {"rtt":
    "RTT (ms)"}}`.
    """

    def __post_init__(self) -> None:
        """Make columns a table of a scenario file."""
        if self.trace is not None and not isinstance(self.trace, str | Path):
            object.__setattr__(self, "trace", trace_table(self.trace))

    preset: str | None = None
    trace: Any = None
    agent: str | None = None
    up: LinkDirection | None = None


@part
class Flow:
    """One flow, or several alike."""

    scheme: str | None = None
    stack: Literal["midflight", "linux", "quinn", "noq", "aioquic"] | None = None
    profile: Literal["rfc", "linux", "quic", "ns2"] | None = None
    cc: Literal["cubic", "bbr", "newreno"] | None = None
    idle: str | None = None
    streams: int | None = None
    tls: bool | None = None
    migration: Literal["active", "passive"] | None = None
    multipath: bool | None = None
    resume: bool | None = None
    direction: Literal["down", "up"] | None = None
    workload: str | None = None
    size: str | None = None
    start: str | None = None
    count: int | None = None
    stagger: str | None = None
    on: str | None = None
    start_notice: bool | None = None
    set: Mapping[str, Value] | None = None


@part
class Notice:
    """The notice that a sender gets of a handoff or of a change, and when."""

    source: Literal["link", "scone"] | None = None
    delay: str | None = None
    lost: str | None = None
    says_rate: str | None = None
    says_delay: str | None = None


@part
class Signal:
    """Faults of a mobile node's own signals of a handoff (Freeze-TCP, TR-ACKs, EHN)."""

    missed: str | None = None
    lost: str | None = None


@part
class Handoff:
    """The mobile node moves to another link, or has no link for a while."""

    at: str
    to: str | Sequence[str]
    gap: str | None = None
    rebind: Literal["address", "port", "none"] | None = None
    forward: bool | None = None
    notice: Notice | None = None
    signal: Signal | None = None


@part
class Change(LinkDirection):
    """A link pauses for a while and continues with other parameters."""

    at: str
    link: str
    pause: str | None = None
    up: LinkDirection | None = None
    notice: Notice | None = None


@part
class SweepAxes:
    """The axes of a sweep, and the compared axis."""

    axes: Mapping[str, str | Sequence[Value]]
    compare: str | None = None


#: What keys of a scenario are: the key, its type, that in words, and an example.
_CONTAINERS: Sequence[tuple[str, Any, str, str]] = (
    ("links", Mapping, "a mapping of names", 'links={"lte": Link(preset="lte")}'),
    ("flows", Mapping, "a mapping of names", 'flows={"download": Flow(size="3 MB")}'),
    ("handoffs", Sequence, "a list", 'handoffs=[Handoff(at="1 s", to="lte")]'),
    ("changes", Sequence, "a list", 'changes=[Change(at="1 s", link="lte", rate="1 Mbit/s")]'),
)


@part
class Scenario:
    """Flows of a mobile node that moves between access links, and of its neighbours."""

    def __post_init__(self) -> None:
        """Refuse lists where there are names, and other things where there are lists."""
        for key, kind, what, example in _CONTAINERS:
            given = getattr(self, key)
            if not isinstance(given, kind) or isinstance(given, str):
                raise refusal(
                    f"{key} is of the type {type(given).__name__}; expected {what}: {example}",
                    name=key,
                    value=type(given).__name__,
                    accepted=f"{what}: {example}",
                )
            part_of = {**_NAMED, **_LISTED}[key]
            for one in given.values() if kind is Mapping else given:
                if not isinstance(one, part_of | Mapping):
                    raise refusal(
                        f"{key} has a value of the type {type(one).__name__}; expected a "
                        f"{part_of.__name__}, such as {example}",
                        name=key,
                        value=type(one).__name__,
                        accepted=f"a {part_of.__name__}, such as {example}",
                    )

    links: Mapping[str, Link]
    flows: Mapping[str, Flow]
    title: str | None = None
    description: str | None = None
    profile: Literal["rfc", "linux", "quic", "ns2"] | None = None
    set: Mapping[str, Value] | None = None
    end: str | None = None
    seed: int | None = None
    runs: int | None = None
    packets: int | None = None
    stop: Literal["done", "measured"] | None = None
    notices: bool | None = None
    start: str | None = None
    agent: str | None = None
    wired: Wired | None = None
    handoffs: Sequence[Handoff] = field(default_factory=tuple)
    changes: Sequence[Change] = field(default_factory=tuple)
    sweep: SweepAxes | None = None

    @classmethod
    def read(
        cls,
        file: str | Path,
        *,
        sets: Mapping[str, Value] | None = None,
        policies: Policies | None = None,
    ) -> Self:
        """Read a scenario file, or a starter scenario by its name.

        The bare name of a starter is the starter, even if the working directory has a file of that
        name; "./ferry" is the file. `sets` are values by the path to them, such as
        {"links.lte.rate": "5 Mbit/s"}; `policies` are your own policies by name (see
        `midflight.policy`), here and wherever a scenario is checked or run. The result has every
        default. Raises `MidflightError` for invalid input and for a folder, `OSError` for a file
        that cannot be read.
        """
        plan = read_plan(file, sets=sets, policies=policies)
        return cls.from_dict(json.loads(plan.canonical))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the scenario of a mapping with the keys of a scenario file.

        Raises `MidflightError` for an unknown key; `plan` checks the values.
        """
        found: Self = _build(cls, values)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a scenario file that are set."""
        found = _plain(self)
        assert isinstance(found, dict)
        return found

    def plan(
        self, *, sets: Mapping[str, Value] | None = None, policies: Policies | None = None
    ) -> Plan:
        """Check the scenario; raises `MidflightError` for invalid input.

        Each note on it is a `ScenarioWarning`, once for each scenario.
        """
        plan = self._checked(sets, policies)
        said = vars(self).setdefault("_said", set())
        new = [one for one in remarks_of(plan) if one not in said]
        said.update(new)
        warn_of(new)
        return plan

    def _checked(self, sets: Mapping[str, Value] | None, policies: Policies | None) -> Plan:
        """Check the scenario, without warnings."""
        from midflight import _core

        words = {"title": self.title, "description": self.description}
        texts = with_words(words, set_texts(sets))
        text = json.dumps(self.to_dict())
        return _core.Plan(text, name=None, sets=texts, policies=check_policies(policies))

    def but(self, sets: Mapping[str, Value], *, policies: Policies | None = None) -> Self:
        """Return the same scenario with these values, given by their paths, and every default.

        Raises `MidflightError` for invalid input.
        """
        return self.from_dict(json.loads(self._checked(sets, policies).canonical))

    def run(
        self,
        *,
        threads: int = 0,
        progress: Callable[[int, int], object] | None = None,
        policies: Policies | None = None,
    ) -> Outcome:
        """Run the scenario on a number of threads, 0 for one on each processor.

        `progress` is called with the numbers of finished and of all runs. Notes on the scenario are
        warnings as in `plan`. Raises `MidflightError` for invalid input, or when a policy fails.
        """
        return Outcome.of(self.plan(policies=policies), threads=threads, progress=progress)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: links, flows, and handoffs and changes."""
        from midflight.notebook import scenario_html

        return scenario_html(self)

    def trace(
        self, *, run: int = 0, flow: str | None = None, policies: Policies | None = None
    ) -> Table:
        """Return every event of a flow in one run, with the columns of `Setup.trace`.

        `flow` is the flow's name (default: the first), `run` the number of the run, from 0.
        """
        return self.plan(policies=policies).setup(run).trace(flow=flow)

    def capture(
        self,
        *,
        run: int = 0,
        flow: str | None = None,
        snaplen: int = 128,
        policies: Policies | None = None,
    ) -> dict[str, bytes]:
        """Return pcapng files of a flow in one run by the place of the capture.

        The places are "sender", "receiver" and the base station of each link by the link's name. Of
        each packet there are the first `snaplen` bytes; 0 keeps all.
        """
        return self.plan(policies=policies).setup(run).capture(flow=flow, snaplen=snaplen)


@dataclass(frozen=True)
class Outcome:
    """The results of a scenario's runs.

    `flows` has a row for each run and flow, `phases` one for each run, flow and time between two
    handoffs or changes; `midflight.run_plans` describes their columns.
    """

    plan: Plan
    flows: Table | Columns
    phases: Table | Columns

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        threads: int = 0,
        progress: Callable[[int, int], object] | None = None,
    ) -> Self:
        """Run a plan; `threads` and `progress` are as for `Scenario.run`."""
        flows, phases = run_tables([plan], threads=threads, progress=progress)
        return cls(plan, flows, phases)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: the tables, and the first run over time."""
        from midflight.notebook import outcome_html

        return outcome_html(self)

    def __str__(self) -> str:
        """The tables as `midflight run` prints them."""
        from midflight.run_tables import RunSummary, summary_text

        return summary_text(json.loads(self.plan.canonical), RunSummary.of(self))

    @property
    def digests(self) -> list[str]:
        """The digest of each run, in the order of their numbers."""
        by_run = zip(self.flows.column("run"), self.flows.column("digest"), strict=True)
        return [digest for _, digest in sorted(dict(by_run).items())]

    def manifest(self, command: str = "", *, policies: Policies | None = None) -> dict[str, Any]:
        """Return the manifest, from which `midflight verify` repeats and compares the runs.

        `policies` are your own ones that the runs used.
        """
        return manifest_of(self.plan, self.digests, command, policies=policies)


def manifest_head(
    digests: Iterable[str], command: str, policies: Policies | None = None
) -> dict[str, Any]:
    """Return the manifest of runs with these digests, without the scenario or question."""
    import midflight
    from midflight.policy import sources

    return {
        "midflight": midflight.__version__,
        "model": midflight.MODEL_VERSION,
        "digests": list(digests),
        "policies": sources(policies),
        "command": command,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def manifest_of(
    plan: Plan, digests: Sequence[str], command: str = "", *, policies: Policies | None = None
) -> dict[str, Any]:
    """Return what repeats the runs of a plan, which have these digests."""
    scenario = json.loads(plan.canonical)
    lab: dict[str, Any] = {}
    if plan.stack == "linux":
        from midflight.lab.runs import OWN, LabRuns
        from midflight.lab.store import choose

        lab["lab"] = LabRuns(plan, choose(), (OWN,), sample_ns=0).values()
    return {
        **manifest_head(digests, command, policies),
        **lab,
        "address": plan.address,
        "seed": str(scenario["seed"]),
        "scenario": scenario,
    }


def run_tables(
    plans: Sequence[Plan],
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
    runs: tuple[int, int] | None = None,
) -> tuple[Table | Columns, Table | Columns]:
    """Run scenarios side by side in the simulator or, by the stack of their flows, on a kernel.

    Arguments and tables are those of `midflight.run_plans`. Raises `MidflightError` also if there
    is no kernel.
    """
    from midflight import _core

    check_threads(threads)
    places = enumerate(plans)
    of_kernel = [(place, plan) for place, plan in places if plan.stack == "linux"]
    if not of_kernel:
        return _core.run_plans(plans, threads=threads, progress=progress, runs=runs)
    from midflight.lab.runs import kernel_plans
    from midflight.results import Columns

    rest = [(place, plan) for place, plan in enumerate(plans) if plan.stack != "linux"]
    tables: dict[int, list[Sequence[Table | Columns]]] = {}
    for place, plan in rest:
        tables[place] = [_core.run_plans([plan], threads=threads, runs=runs)]
    made = kernel_plans(of_kernel, threads=threads, progress=progress, runs=runs)
    for flows, phases in made:
        place = flows.column("cell")[0]
        tables.setdefault(place, []).append((flows, phases))
    joined: list[dict[str, list[Any]]] = [{}, {}]
    for place in range(len(plans)):
        for pair in tables.get(place, ()):
            for columns, table in zip(joined, pair, strict=True):
                cells = [place] * len(table.column("cell"))
                for name in table.column_names:
                    values = cells if name == "cell" else table.column(name)
                    columns.setdefault(name, []).extend(values)
    flow_columns, phase_columns = joined
    return Columns(dict(flow_columns)), Columns(dict(phase_columns))


def run_pieces(
    plan: Plan,
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[tuple[Table | Columns, Table | Columns]]:
    """Run a plan; yield the tables of flows and of phases of some runs at a time, in their order.

    However many runs there are, a bounded number of rows is held in memory. `threads` and
    `progress` are as for `Scenario.run`.
    """
    runs = json.loads(plan.canonical)["runs"]
    piece = max(ROWS_AT_A_TIME * runs // plan.rows, RUNS_AT_A_TIME)
    for first in range(0, runs, piece):

        def report(done: int, _of: int, first: int = first) -> object:
            return progress(first + done, runs) if progress else None

        some = first, min(first + piece, runs)
        yield run_tables([plan], threads=threads, progress=progress and report, runs=some)


def starter_names() -> list[str]:
    """Return the names of the starter scenarios in alphabetical order."""
    return sorted(path.stem for path in STARTERS.glob("*.toml"))


def read_plan(
    file: str | Path,
    *,
    sets: Mapping[str, Value] | Sequence[tuple[str, Value]] | None = None,
    policies: Policies | None = None,
) -> Plan:
    """Read and check a scenario file, or a starter scenario by its name.

    `sets`, `policies` and exceptions are those of `Scenario.read`. `sets` may also be a list of
    pairs of a path and a value; a repeated path is then refused.
    """
    from midflight import _core

    is_starter = str(file) in starter_names()
    path = STARTERS / f"{file}.toml" if is_starter else Path(file)
    if path.is_dir():
        accepted = "a scenario file in TOML, or the name of a starter"
        raise refusal(
            f'"{path}" is a folder; expected {accepted}',
            name="file",
            value=path,
            accepted=accepted,
        )
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, no_such_file(str(file)))
    if path.suffix not in (".toml", ".json"):
        check_is_no_recording(path)
        check_is_no_table(path)
    text = read_limited(path)
    # JSON, such as a canonical form, is recognised by its name. The files that a user gives to a
    # starter are in the working directory, not in the package.
    name = None if path.suffix == ".json" else path.name if is_starter else str(path)
    texts = set_texts(sets)
    if texts:
        texts = with_words(_parsed(text, name), texts)
    return _core.Plan(text, name=name, sets=texts, policies=check_policies(policies))


def check_is_no_table(path: Path) -> None:
    """Refuse a file of results where a scenario is expected. Raises `MidflightError`."""
    kind = {".csv": "CSV", ".parquet": "Parquet"}.get(path.suffix.lower())
    if kind is not None:
        raise refusal(
            f'"{path}" is a table in {kind}, and a scenario is in TOML; `midflight plot` draws '
            "results in tables",
            name="file",
            value=path,
            accepted="a scenario file in TOML, or the name of a starter",
        )


def no_such_file(file: str) -> str:
    """Return what is said of a scenario that is neither a file nor a starter."""
    # An extension that both have makes no name near.
    files = {path.stem: path.name for path in sorted(Path().glob("*.toml"))}
    names = {**files, **{name: name for name in starter_names()}}
    found = meant(Path(file).stem, names)
    near = "" if found is None else f' (did you mean "{names[found]}"?)'
    return f'there is no file "{file}", and no starter scenario of that name{near}'


def _parsed(text: str, name: str | None) -> Mapping[str, Any]:
    """Return a scenario's keys; none for a text that the core will refuse."""
    import tomllib

    try:
        found = json.loads(text) if name is None else tomllib.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def with_words(words: Mapping[str, Any], sets: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return values by their paths, with a title and a description that name them.

    `words` has the scenario's own title and description.
    """
    paths = {path for path, _ in sets}
    new = changed_words(words, _listed(sets)) if sets else {}
    return [*sets, *((key, _quoted(one)) for key, one in new.items() if key not in paths)]


def _listed(sets: Sequence[tuple[str, str]]) -> str:
    """Return values by their paths as the end of a title; "" if a title does not name them."""
    # The tables of a run have its profile, seed, number and senders in any case.
    listed = [
        f"{path}={value}"
        for path, value in sets
        if path not in _UNNAMED and not path.endswith((".scheme", ".profile"))
    ]
    some = ", ".join(listed[:_MOST_LISTED])
    more = f" and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
    return f"{_BUT.removeprefix(', ')}{some}{more}" if listed else ""


def title_of(scenario: Mapping[str, Any], command: str, name: str = "") -> str:
    """Return the title of a scenario; without one the name of its file, and the values that a
    command sets in it.

    The file is the first argument of the command, if it has one, or else `name`. It is in place of
    a title with numbers, or on a recording, that values which were set may contradict.
    """
    words = command_words(command)
    if len(words) > 2 and not words[2].startswith("-"):
        name = words[2]
    if title := scenario.get("title"):
        own, but, change = str(title).partition(_BUT)
        if but and (has_quantity(own) or re.search(r"\.trace(\.file)?=", change)):
            return f"{Path(name).name or 'Scenario'}{but}{change}"
        return str(title)
    pairs = [word.partition("=") for option, word in pairwise(words) if option == "--set"]
    change = _listed([(path, value) for path, _, value in pairs])
    name = Path(name).name or "Scenario without a title"
    return f"{name}, {change}" if change else name


def command_words(command: str) -> list[str]:
    """Return the words of a command as a shell has them; none if a quote in it is open."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def changed_words(words: Mapping[str, Any], change: str) -> dict[str, str]:
    """Return the title and the description, where there is one, of a scenario that was changed.

    They are about its own values: the title names the change, unless that is "".
    """
    found = {}
    title, description = words.get("title"), words.get("description")
    if isinstance(title, str) and change:
        found["title"] = f"{title}, {change}"
    if isinstance(description, str) and not description.startswith(OWN_VALUES):
        found["description"] = f"{OWN_VALUES} {' '.join(description.split())}"
    return found


#: A digit of a number, and not of a name: 5G, 802.11n, H264, Wi-Fi 6.
_DIGIT = re.compile(r"(?<![\w.])(?<!Wi-Fi )(?!802\.11|[0-9]+[A-Z]\b)[0-9]")


def has_quantity(text: str) -> bool:
    """Whether a text has a number, which may be the value of a setting; names have digits, too."""
    return _DIGIT.search(text) is not None


def description_of_changed(description: str) -> str:
    """Return the description of a scenario that was changed, as a report has it: "" if it has
    numbers, which are of the scenario's own values.
    """
    about = " ".join(description.split()).removeprefix(OWN_VALUES).strip()
    return "" if has_quantity(about) else about


def _quoted(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False)


def read_limited(path: Path) -> str:
    """Return a file's text, up to a maximum size.

    Raises `MidflightError` for a file that is too large, `OSError` and `UnicodeDecodeError`.
    """

    with path.open("rb") as file:
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        accepted = f"at most {MOST_BYTES // 1_000_000} MB"
        raise refusal(
            f'"{path}" is too large; expected {accepted}',
            name="file",
            value=path,
            accepted=accepted,
        )
    return found.decode("utf-8").replace("\r\n", "\n")


def set_texts(
    sets: Mapping[str, Value] | Sequence[tuple[str, Value]] | None,
) -> list[tuple[str, str]]:
    """Return values by their paths as the core takes them: texts that TOML could have.

    Raises `MidflightError` for anything but a mapping or a list of pairs.
    """

    is_pairs = isinstance(sets, list) and all(isinstance(one, tuple) for one in sets)
    if not (sets is None or is_pairs or isinstance(sets, Mapping)):
        accepted = "a mapping of paths to values, or None"
        raise refusal(
            f"sets is {sets!r}; expected {accepted}", name="sets", value=sets, accepted=accepted
        )

    def text(value: Value) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    pairs = sets.items() if isinstance(sets, Mapping) else sets or []
    return [(path, text(value)) for path, value in pairs]


_PARTS: dict[str, Any] = {
    "wired": Wired,
    "up": LinkDirection,
    "notice": Notice,
    "signal": Signal,
    "sweep": SweepAxes,
}
_NAMED: dict[str, Any] = {"links": Link, "flows": Flow}
_LISTED: dict[str, Any] = {"handoffs": Handoff, "changes": Change}


def _build(of: Any, values: Mapping[str, Any]) -> Any:
    """Return a mapping as an object of this class."""

    if not isinstance(values, Mapping):
        raise refusal(
            f"a {of.__name__} is made of a mapping with the keys of a scenario file, not of "
            f"{values!r}",
            name=of.__name__,
            value=values,
            accepted="a mapping with the keys of a scenario file",
        )
    known = [one.name for one in fields(of)]
    found = {}
    for key, value in values.items():
        if key not in known:
            accepted = ", ".join(sorted(known))
            raise refusal(
                f'a {of.__name__} has no "{key}"{did_you_mean(key, known)}; it may have {accepted}',
                name=key,
                value=value,
                accepted=accepted,
            )
        if key in _PARTS and isinstance(value, Mapping):
            value = _build(_PARTS[key], value)
        elif key in _NAMED and isinstance(value, Mapping):
            value = {name: _build(_NAMED[key], one) for name, one in value.items()}
        elif key in _LISTED and isinstance(value, Sequence):
            value = tuple(_build(_LISTED[key], one) for one in value)
        found[key] = value
    return of(**found)


def _plain(of: Any) -> Any:
    """Return an object as JSON values, without unset keys."""
    if hasattr(of, "__dataclass_fields__"):
        each = ((one.name, getattr(of, one.name)) for one in fields(of))
        return {name: _plain(value) for name, value in each if value is not None}
    if isinstance(of, Path):
        return str(of)
    if isinstance(of, Mapping):
        return {str(key): _plain(value) for key, value in of.items()}
    if isinstance(of, Sequence) and not isinstance(of, str):
        return [_plain(one) for one in of]
    return of
