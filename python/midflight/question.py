"""The questions of the papers as values: which runs are made, and their tables.

A `Question` represents `midflight handoff`, `startup`, `flow` or `roam`: the keywords of the core's
class of that name as JSON values, and the schemes to compare. It returns the table of all its runs,
and each run as a `Setup`.

    >>> from midflight.question import Question
    >>> links = {"old": "6400 kbit/s, 9 ms", "new": "200 kbit/s, 300 ms"}
    >>> at = {"at_ns": [8_200_000_000], "profile": "ns2"}
    >>> asked = Question("handoff", {**links, **at}, ("sack",))
    >>> asked.table().column("timeouts")
    [2]
    >>> asked.setup().trace(only=["rto"]).num_rows
    2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import Setup, Table
    from midflight.policy import Policies
    from midflight.results import Columns

__all__ = ["QUESTIONS", "Question", "apart"]

#: The questions: the core's class, what runs objects of it, and whether one has all schemes.
QUESTIONS = {
    "handoff": ("HandoffSweep", "run_handoff_sweeps", True),
    "startup": ("Startup", "run_startups", True),
    "flow": ("LongFlow", "run_long_flows", False),
    "roam": ("Roaming", "run_roaming", False),
}
#: The paths that can be set in a question and in a figure's runs, besides `set.NAME`.
PATHS = ("scheme", "profile")


def apart(sets: Iterable[tuple[str, str]], what: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return values by their paths as `scheme` and `profile`, and as settings by their names.

    Raises `MidflightError` for another path, which `what` does not have.
    """

    chosen: dict[str, str] = {}
    settings: dict[str, str] = {}
    for path, value in sets:
        table, _, name = path.partition(".")
        if path in PATHS:
            chosen[path] = value
        elif table == "set" and name:
            settings[name] = value
        else:
            accepted = f"scheme, profile and set.NAME, such as set.{table}"
            raise refusal(
                f'"{path}" cannot be set in {what}; expected {accepted}',
                name=path,
                value=value,
                accepted=accepted,
            )
    return chosen, settings


@dataclass(frozen=True)
class Question:
    """The runs of some schemes; `policies` are user policies by name.

    `keywords` are those of the core's class except the schemes and policies; `radio` and `then`
    are mappings with the keywords of `Radio`, `runs` is how many runs there are. All are values
    that JSON can hold.
    """

    name: str
    keywords: Mapping[str, Any]
    schemes: tuple[str, ...]
    policies: Policies | None = None

    @classmethod
    def of(cls, values: Any, policies: Policies | None = None) -> Self:
        """Return the question of `values()`; raises `MidflightError` for anything else."""
        found = values if isinstance(values, Mapping) else {}
        name, keywords, schemes = (found.get(key) for key in ("name", "keywords", "schemes"))
        if name not in QUESTIONS or not isinstance(keywords, Mapping) or not schemes:
            raise refusal(
                f"the question is not one: it needs a name ({', '.join(QUESTIONS)}), keywords and "
                "schemes",
                name="question",
                value=values,
                accepted="a name, keywords and schemes",
            )
        return cls(name, keywords, tuple(schemes), policies)

    def values(self) -> dict[str, Any]:
        """Return the question as values for JSON."""
        return {"name": self.name, "schemes": list(self.schemes), "keywords": dict(self.keywords)}

    def __str__(self) -> str:
        return f"midflight {self.name}, {', '.join(self.schemes)}"

    @property
    def runs(self) -> int:
        """How many runs there are of each scheme."""
        if self.name == "handoff":
            return len(self.keywords["at_ns"])
        return int(self.keywords.get("runs", 1))

    @property
    def headings(self) -> tuple[str, str, int | None]:
        """Title, description and seed, for a page."""
        return str(self), "", self.keywords.get("seed")

    def but(self, sets: Iterable[tuple[str, str]]) -> Self:
        """Return the same with other values by their paths: `scheme`, `profile`, `set.NAME`.

        Raises `MidflightError` for another path.
        """
        chosen, settings = apart(sets, f"`midflight {self.name}`")
        knobs = {**self.keywords.get("knobs", {}), **settings}
        keywords = {**self.keywords, "knobs": knobs}
        if "profile" in chosen:
            keywords["profile"] = chosen["profile"]
        schemes = (chosen["scheme"],) if "scheme" in chosen else self.schemes
        return replace(self, keywords=keywords, schemes=schemes)

    def setup(self, run: int = 0) -> Setup:
        """Return the run of a number, from 0, of the first scheme.

        That of a handoff is the run at the instant of that place. Raises `MidflightError` for a run
        that there is not.
        """
        from midflight import _core

        if not 0 <= run < self.runs:
            raise refusal(
                f"there is no run {run} of {self}: it has {self.runs}, numbered from 0",
                name="run",
                value=run,
                accepted=f"0 to {self.runs - 1}",
            )
        keywords = self._keywords()
        if self.name == "handoff":
            keywords["at_ns"] = keywords["at_ns"][run]
        elif "runs" in keywords:
            keywords |= {"run": run, "runs": [run]}
        setup: Setup = getattr(_core.Setup, self.name)(scheme=self.schemes[0], **keywords)
        return setup

    def table(
        self, *, threads: int = 0, progress: Callable[[int, int], object] | None = None
    ) -> Columns:
        """Run all; return one table, with the columns of the core's.

        The rows of a scheme are those of its runs in their order. `throughput_bps` of an interval
        is the amount acknowledged in it, with headers, divided by its length. `threads` and
        `progress` are those of the core's functions. Raises `MidflightError` for an invalid
        argument.
        """
        from midflight import _core

        kind, runner, has_all = QUESTIONS[self.name]
        of, keywords = getattr(_core, kind), self._keywords()
        if has_all:
            asked = [of(schemes=list(self.schemes), **keywords)]
        else:
            keywords["runs"] = list(range(self.runs))
            asked = [of(scheme=scheme, **keywords) for scheme in self.schemes]
        tables = getattr(_core, runner)(asked, threads=threads, progress=progress)
        return self._joined(tables)

    def _joined(self, tables: list[Table]) -> Columns:
        from midflight.results import Columns

        names = tables[0].column_names
        found = {name: [value for one in tables for value in one.column(name)] for name in names}
        if "scheme" not in names:
            each = zip(self.schemes, tables, strict=True)
            found = {"scheme": [s for s, one in each for _ in range(one.num_rows)], **found}
        if "interval" in names:
            bits = self.segment_bits * 1e9
            spans = zip(found["acked"], found["from_ns"], found["until_ns"], strict=True)
            throughput = [acked * bits / (until - start) for acked, start, until in spans]
            found["throughput_bps"] = throughput
            found["digest"] = found.pop("digest")
        return Columns(found)

    @property
    def segment_bits(self) -> int:
        """The size of a data segment on the wire."""
        from midflight import _core

        of_profile = next(s for s in _core.settings() if s["name"] == "segment_bytes")["values"]
        usual = of_profile[self.keywords["profile"]]
        return 8 * int(self.keywords.get("knobs", {}).get("segment_bytes", usual))

    def digests(self, table: Any) -> list[str]:
        """Return the digest of each run of a table, in their order."""
        each: list[str] = table.column("digest")
        return each[:: len(each) // (len(self.schemes) * self.runs)]

    def manifest(
        self, digests: Iterable[str] = (), command: str = "", *, policies: Policies | None = None
    ) -> dict[str, Any]:
        """Return what repeats the runs, which have these digests."""
        from midflight.scenario import manifest_head

        head = manifest_head(digests, command, self.policies if policies is None else policies)
        return {**head, "question": self.values()}

    def _keywords(self) -> dict[str, Any]:
        """Return the keywords as the core takes them."""
        from midflight import _core

        def of_core(name: str, value: Any) -> Any:
            if name in ("radio", "then") and value is not None:
                return _core.Radio(**{key: of_core(key, one) for key, one in value.items()})
            is_link = isinstance(value, list) and name in LINKS
            return tuple(value) if is_link else value

        found = {name: of_core(name, value) for name, value in self.keywords.items()}
        return {**found, "policies": dict(self.policies or {}) or None}


#: Keywords that are links: rate in bit/s and one-way delay in nanoseconds, a list in JSON.
LINKS = ("old", "new", "wired", "link", "backbone", "access", "wireless")
