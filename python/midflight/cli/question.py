"""One harness for the questions of the papers: `handoff`, `startup`, `flow` and `roam`.

A command defines its options, their conversion to the keywords of the core's class, and its
summary. Everything else is here: reading, errors, notes, tables, files, and the same options after
the name of a source for `explain`, `diff` and `plot`.
"""

from __future__ import annotations

import inspect
import math
import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.command import Command
from midflight.cli.input import idle_knobs, own_policies, read, read_pairs, read_whole
from midflight.cli.options import (
    PoliciesOption,
    ProfileOption,
    SchemesOption,
    SettingsOption,
    ThreadsOption,
)
from midflight.cli.output import UserError, align, note
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
from midflight.run_tables import count_cell, rate_cell, time_cell

if TYPE_CHECKING:
    from midflight.policy import Policies
    from midflight.question import Question

__all__ = [
    "Definition",
    "Option",
    "Part",
    "end",
    "flag",
    "link",
    "link_is_slow",
    "means",
    "model",
    "runs_and_seed",
    "share",
    "signed",
    "time",
    "times",
    "whole",
    "wholes",
]

WIDTH = 100
#: The one default of all commands and of the Python functions.
PROFILE = "linux"
#: The titles of a summary's columns, where they are not their names without the unit.
HEADINGS = {
    "detected_timeouts": "detected",
    "drops_break": "down",
    "drops_data": "drops",
    "drops_queue": "queue",
    "drops_radio": "radio",
    "false_fast_rexmits": "false",
    "fast_rexmits": "fast",
    "half_width_bps": "+-",
    "nspur": "spurious",
    "spurious_timeouts": "spurious",
}


@dataclass(frozen=True)
class Option:
    """An option of a question; `read` makes a value of its name and text, for a flag it is None."""

    name: str
    metavar: str
    help: str
    read: Callable[[str, str], Any] | None
    default: str | None = None
    needed: bool = False
    #: The keyword of the core's class.
    key: str = ""

    @property
    def option(self) -> str:
        """The name as given on the command line."""
        return f"--{self.name}"

    @property
    def param(self) -> str:
        """The name of the parameter."""
        return self.name.replace("-", "_")

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter of the command's function."""
        default: Any = self.default
        if self.read is None:
            of, default = Annotated[bool, typer.Option(self.option, help=self.help)], False
        else:
            kind: Any = str if self.needed or self.default is not None else str | None
            of = Annotated[kind, typer.Option(self.option, metavar=self.metavar, help=self.help)]
        return parameter(self.param, of, inspect.Parameter.empty if self.needed else default)


def parameter(name: str, of: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=of)


def core(function: str) -> Callable[[str, str], Any]:
    """Return a reader that is a function of the core."""

    def read_it(option: str, text: str) -> Any:
        from midflight import _core

        found = read(option, getattr(_core, function), text)
        return list(found) if isinstance(found, tuple) else found

    return read_it


def link(name: str, about: str, default: str | None = None, *, needed: bool = False) -> Option:
    """An option that is a link: rate and one-way delay."""
    return Option(name, "LINK", about, core("parse_link"), default, needed, name)


def time(name: str, about: str, default: str | None = None) -> Option:
    """An option that is a time."""
    key = f"{name.replace('-', '_')}_ns"
    return Option(name, "TIME", about, core("parse_duration"), default, key=key)


def times(name: str, about: str, *, needed: bool = False) -> Option:
    """An option that is instants: one, a list or a range."""
    return Option(name, "TIMES", about, core("parse_instants"), None, needed, f"{name}_ns")


def signed(name: str, about: str, default: str) -> Option:
    """An option that is a time, which may be negative."""

    def read_signed(option: str, text: str) -> int:
        size: int = core("parse_duration")(option, text.removeprefix("-"))
        return -size if text.startswith("-") else size

    return Option(name, "TIME", about, read_signed, default, key=f"{name.replace('-', '_')}_ns")


def whole(
    name: str, about: str, default: str | None, least: int, most: int, *, key: str = ""
) -> Option:
    """An option that is a whole number."""
    return Option(
        name,
        "N",
        about,
        lambda option, text: read_whole(option, text, least, most),
        default,
        key=key or name.replace("-", "_"),
    )


def wholes(name: str, about: str, default: str, least: int, most: int) -> Option:
    """An option that is whole numbers with commas between them."""

    def read_wholes(option: str, text: str) -> list[int]:
        return [read_whole(option, word, least, most) for word in text.split(",")]

    return Option(name, "N,N,...", about, read_wholes, default, key=name)


def share(name: str, about: str) -> Option:
    """An option that is a share, such as 20% or 0.2."""

    def read_share(option: str, text: str) -> float:
        try:
            found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            found = -1.0
        if not 0 <= found <= 1:
            raise UserError(f'{option} "{text}" is not a share from 0% to 100%')
        return found

    return Option(name, "SHARE", about, read_share, "0%", key=name.replace("-", "_"))


def model(name: str, about: str, kind: str = "loss") -> Option:
    """An option that is a model of losses, or of reordering, in words."""

    def read_model(option: str, text: str) -> str:
        from midflight import _core

        asked: Any = {kind: text}
        read(option, lambda _: _core.Radio((1_000_000, 0), **asked), text)
        return text

    return Option(name, "MODEL", about, read_model, key=name.replace("-", "_"))


def word(name: str, metavar: str, about: str, default: str) -> Option:
    """An option that is a word which the core checks."""
    return Option(name, metavar, about, lambda _, text: text, default, key=name.replace("-", "_"))


def flag(name: str, about: str) -> Option:
    """An option without a value."""
    return Option(name, "", about, None, key=name.replace("-", "_"))


def end(about: str, default: str) -> Option:
    """When runs end."""
    return time("end", about, default)


def runs_and_seed(about: str) -> list[Option]:
    """The options of a question with random numbers."""
    return [
        whole("runs", "Number of runs of each scheme, numbered from 0.", "1", 1, 100_000),
        whole("seed", f"Seed of the random numbers; {about}.", "1", 0, 2**64 - 1),
    ]


#: Further inputs of runs, besides the options of a question: parameters, their options and
#: defaults.
SENDERS: tuple[tuple[str, Any, Any], ...] = (
    ("scheme", SchemesOption, None),
    ("profile", ProfileOption, PROFILE),
    ("sets", SettingsOption, None),
    ("policies", PoliciesOption, None),
)
#: How runs are made, and which files are written.
OUTPUTS: tuple[tuple[str, Any, Any], ...] = (
    ("threads", ThreadsOption, "0"),
    ("out", FolderOption, None),
    ("csv_file", CsvOption, None),
    ("as_json", JsonOption, False),
    ("trace", TraceOption, None),
    ("pcap", PcapOption, None),
    ("qlog", QlogOption, None),
    ("samples", SamplesOption, None),
    ("plot", PlotOption, None),
    ("flow", FlowOption, None),
    ("run", RunOption, "0"),
    ("snaplen", SnaplenOption, "128"),
)
WATCHED = ("trace", "pcap", "qlog", "samples", "plot", "flow", "run", "snaplen")


@dataclass(frozen=True)
class Part:
    """A table of a summary: its name in JSON, its description, and its rows.

    The unit of a column is the end of its name: `_ns` and `_bps` are printed as seconds and Mbit/s.
    """

    name: str
    caption: str
    rows: Sequence[Mapping[str, Any]]

    def text(self) -> str:
        """Return the table, with its description above it."""
        head = list(self.rows[0])
        cells = [[HEADINGS.get(name, unitless(name)) for name in head]]
        last = None
        for row in self.rows:
            first = "" if row[head[0]] == last else str(row[head[0]])
            last = row[head[0]]
            cells.append([first, *(cell(name, row[name]) for name in head[1:])])
        return f"{textwrap.fill(self.caption, WIDTH)}\n\n{align(cells)}"

    def values(self) -> list[dict[str, Any]]:
        """Return the rows as values for JSON; infinite and missing values are None."""
        return [{name: finite(value) for name, value in row.items()} for row in self.rows]


def unitless(name: str) -> str:
    return name.removesuffix("_ns").removesuffix("_bps")


def finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cell(name: str, value: Any) -> str:
    """Return a value of a column as text."""
    value = finite(value)
    if value is None or isinstance(value, str):
        return value or "-"
    if name.endswith("_ns"):
        return time_cell(value)
    if name.endswith("_bps"):
        return rate_cell(value)
    return f"{value:.3f}" if name == "jain" else count_cell(value)


def means(table: Any, columns: Iterable[str], mine: slice) -> dict[str, float]:
    """Return the means of some columns over some rows."""
    import numpy as np

    return {name: float(np.mean(table.numpy(name)[mine])) for name in columns}


def link_is_slow(values: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Yield a note for each access link that is no bottleneck."""
    for name in names:
        if values[name][0] >= values["wired"][0]:
            yield (
                f"--{name} is as fast as the wired links before it, which then are the "
                'bottleneck, with an unlimited queue; give faster ones, such as --wired "100 '
                'Gbit/s, 2 ms"'
            )


def several_flows(values: Mapping[str, Any], given: frozenset[str]) -> Iterator[str]:
    """Yield a note for each option of several flows, or of residents, that has no effect."""
    if "stagger" in given and max(values["flows"], values["residents"]) == 1:
        yield "--stagger has no effect on a single flow"
    for name in ("resident-scheme", "lead"):
        if name in given and not values["residents"]:
            yield f"--{name} has no effect without --residents"


@dataclass(frozen=True)
class Definition:
    """A question: its options, and what makes of them keywords, notes and a summary."""

    name: str
    about: str
    options: Sequence[Option]
    summary: Callable[[Question, Any], Sequence[Part]]
    #: From the values of the options by their names, and the names that were given.
    notes: Callable[[Mapping[str, Any], frozenset[str]], Iterator[str]] = lambda *_: iter(())
    keywords: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    #: Schemes of other flows, by the values of the options.
    others: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _: ()
    #: Further notes, from the question.
    idle: Callable[[Question, frozenset[str]], Iterator[str]] = lambda *_: iter(())

    def function(self, *, outputs: bool = True) -> Callable[..., None]:
        """Return the function of the command, or without `outputs` that of a source."""
        extra = [*SENDERS, *(OUTPUTS if outputs else ())]
        ordered = sorted(self.options, key=lambda one: not one.needed)
        parameters = [one.parameter for one in ordered] + [parameter(*one) for one in extra]

        def command(**params: Any) -> None:
            if outputs:
                Asked.of(self, params).produce(params)

        command.__name__ = self.name
        command.__doc__ = self.about
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    @cached_property
    def source(self) -> Command:
        """The command that reads the words of a source."""
        app = typer.Typer(add_completion=False)
        app.command(self.name, cls=Command)(self.function(outputs=False))
        found = typer.main.get_command(app)
        assert isinstance(found, Command)
        return found

    def read(self, words: Sequence[str]) -> Asked:
        """Read the words of a source."""
        context = self.source.make_context(f"midflight {self.name}", list(words))
        return Asked.of(self, context.params)


class Asked:
    """A question from the command line: `Results` of its runs."""

    tables = ("runs",)

    def __init__(self, definition: Definition, question: Question, words: list[str]) -> None:
        self.definition, self.source, self.words = definition, question, words
        self.schemes = question.schemes
        self.parts: Sequence[Part] = ()

    @classmethod
    def of(cls, definition: Definition, params: Mapping[str, Any]) -> Asked:
        """Read the options; notes those without an effect."""
        from midflight.question import Question

        own: Policies = own_policies(params["policies"])
        values: dict[str, Any] = {}
        for one in definition.options:
            text = params[one.param]
            is_text = one.read is not None and text is not None
            values[one.name] = one.read(one.option, text) if one.read and is_text else text
        given = {one.name for one in definition.options if params[one.param] != one.default}
        given = {one for one in given if params[one.replace("-", "_")] not in (None, False)}
        for text in definition.notes(values, frozenset(given)):
            note(text)
        if definition.keywords is not None:
            keywords = definition.keywords(values)
        else:
            keywords = {one.key: values[one.name] for one in definition.options}
        keywords |= {"profile": params["profile"], "knobs": {}}
        question = Question(
            definition.name, keywords, tuple(params["scheme"] or ["sack"]), own or None
        ).but(read_pairs(params["sets"] or []))
        schemes = [*question.schemes, *definition.others(values)]
        for text in (
            *idle_knobs(schemes, question.keywords["knobs"]),
            *definition.idle(question, frozenset(given)),
        ):
            note(text)
        return cls(definition, question, list(words_of(definition, params, given)))

    def produce(self, params: Mapping[str, Any]) -> None:
        """Make the runs, and write the requested results."""
        watched = RunFiles(**{name: params[name] for name in WATCHED})
        produce(
            self,
            watched,
            command=shlex.join(self.command),
            threads=read_whole("--threads", params["threads"], 0, 1024),
            out=params["out"],
            csv_file=params["csv_file"],
            as_json=params["as_json"],
        )

    @property
    def command(self) -> list[str]:
        """The words of the command of this question."""
        return ["midflight", self.definition.name, *(one for one in self.words if one)]

    def pieces(self, *, threads: int, progress: Callable[[int, int], object]) -> Iterator[Any]:
        """Run all."""
        yield (self.source.table(threads=threads, progress=progress),)

    def digests(self, *tables: Any) -> Sequence[str]:
        """Return the digest of each run."""
        return self.source.digests(tables[0])

    def manifest(self, command: str) -> dict[str, Any]:
        """Return what repeats the runs."""
        return self.source.manifest((), command)

    def add(self, *tables: Any) -> None:
        """Make the summary."""
        self.parts = self.definition.summary(self.source, tables[0])

    def notes(self) -> Iterator[str]:
        """No notes on the runs."""
        return iter(())

    def text(self) -> str:
        """Return the question, and the tables."""
        heading = textwrap.fill("; ".join(self.heading()), WIDTH, break_on_hyphens=False)
        return "\n".join([heading, "\n\n".join(one.text() for one in self.parts)])

    def heading(self) -> Iterator[str]:
        """Yield the question, in the words of the options."""
        keywords = self.source.keywords
        words = zip(self.words[::2], self.words[1::2], strict=True)
        for option, value in words:
            if option not in ("--scheme", "--profile", "--set", "--policy", "--runs", "--seed"):
                yield f"{option.removeprefix('--')} {value}".strip()
        if "runs" in keywords:
            yield f"runs {keywords['runs']}; seed {keywords['seed']}"
        yield f"profile {keywords['profile']}"
        yield from (f"{name} {value}" for name, value in keywords["knobs"].items())

    def values(self) -> dict[str, Any]:
        """Return the tables of the summary as values for JSON."""
        return {one.name: one.values() for one in self.parts}


def words_of(
    definition: Definition, params: Mapping[str, Any], given: Iterable[str]
) -> Iterator[str]:
    """Yield the words of the same question: options, each followed by its value, "" for a flag."""
    for one in definition.options:
        if one.name in given:
            yield from (one.option, "" if one.read is None else str(params[one.param]))
    for option, name in (("--scheme", "scheme"), ("--set", "sets"), ("--policy", "policies")):
        for value in params[name] or []:
            yield from (option, value)
    yield from ("--profile", params["profile"])
