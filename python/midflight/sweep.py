"""Sweeps over scenarios: every combination of some values, in resumable shards.

A sweep is a scenario and axes; a cell is one combination. Cells are run in shards. A shard is
stored under a hash of its content and of the model version, it is written completely or not at all,
and existing shards are not run again: an interrupted sweep can be resumed, and any number of
machines can each run a share of it::

    DIR/sweep.json             the scenario, the axes, how many cells there are, and what is
    compared by which metric
    DIR/shards/ADDRESS/        flows.csv and phases.csv of the cells of one shard, and their sums
    DIR/flows.csv, phases.csv  all of them together, and as Parquet where pyarrow is installed
    DIR/comparison.csv         the values of one axis against each other; of another metric than the
    usual one it is comparison-METRIC.csv
    DIR/effects.csv            what each of these values changes in all
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, DecimalException, InvalidOperation
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from midflight.argument import check_axes, check_path, check_threads, check_whole
from midflight.meant import did_you_mean
from midflight.policy import sources
from midflight.refusal import refusal
from midflight.remark import remarks_of, warn_of
from midflight.results import Columns
from midflight.run_tables import csv_row
from midflight.sweep_folder import (
    TABLES,
    check_metric,
    forget_ended,
    host_name,
    is_running,
    read_definition,
    refuse_another,
    running_mark,
    shard_cells_of,
)
from midflight.sweep_outcome import SweepOutcome
from midflight.sweep_tables import concatenate, write_parquet

if TYPE_CHECKING:
    from midflight._core import Document, Plan, Table
    from midflight.policy import Policies
    from midflight.scenario import Scenario, Value

__all__ = ["Shard", "Sweep", "SweepOutcome", "axis_values"]

#: Default number of cells of a shard.
SHARD_CELLS = 500
#: Maximum number of rows of results that the core holds at a time, unless one cell has more.
ROWS_AT_A_TIME = 500_000
MOST_CELLS = 100_000_000
#: Values of an axis, which are held in memory.
MOST_VALUES = 1_000_000
#: Version of the columns of shards' tables: shards of other versions are not merged with them.
COLUMNS = 2
#: The file with the hashes of a shard's tables: a damaged shard is run again.
SUMS = "sums.json"

Progress = Callable[[int, int], object]


def axis_values(key: str, values: str | Sequence[Value]) -> list[str]:
    """Return the values of an axis as texts.

    A list is used unchanged. A text has values separated by commas, or a range that includes its
    end, "from : to : step" with one unit, as in "0.1 s : 20 s : 0.1 s" and "1 : 10 : 1", or `from :
    to : *factor`, as in `64 kbit/s : 65536 kbit/s : *4`.
    """

    if not isinstance(values, str | Sequence):
        accepted = f'a list, such as [{values!r}], or a text, such as "{values}"'
        raise refusal(
            f"axis {key}: the values are {values!r}; expected {accepted}",
            name=key,
            value=values,
            accepted=accepted,
        )
    if isinstance(values, str) and values.count('"') == 2 and values[:1] == values[-1:] == '"':
        # The quotes that TOML and --set have around a text.
        values = values[1:-1]
    if not isinstance(values, str):
        found = [value if isinstance(value, str) else toml_text(value) for value in values]
    elif ":" in values:
        found = list(_range(key, values))
    else:
        found = [value.strip() for value in values.split(",")]
    if not found or "" in found:
        raise refusal(
            f'axis {key}: "{values}" has an empty value; give at least one',
            name=key,
            value=values,
            accepted="at least one value",
        )
    if len(set(found)) < len(found):
        counts = Counter(found)
        twice = next(value for value in found if counts[value] > 1)
        raise refusal(
            f'axis {key}: "{twice}" is there twice; give different values',
            name=key,
            value=twice,
            accepted="different values",
        )
    return found


def toml_text(value: Any) -> str:
    """Return a value as TOML has it on one line, such as `[{at = "1 s", to = "lte"}]`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        pairs = (f"{key} = {toml_text(one)}" for key, one in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _range(key: str, text: str) -> Iterator[str]:
    def refuse(why: str) -> Exception:
        example = '"0.1 s : 20 s : 0.1 s" or "64 kbit/s : 65536 kbit/s : *4"'
        return refusal(
            f'axis {key}: "{text}" is not a range: {why}; write for example {example}',
            name=key,
            value=text,
            accepted=example,
        )

    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3:
        raise refuse("it needs from, to and step")
    numbers, units = [], set()
    is_factor = parts[2].startswith("*")
    parts[2] = parts[2].removeprefix("*").strip()
    for place, part in enumerate(parts):
        digits = part.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/%\u00b5 ")
        try:
            numbers.append(Decimal(digits))
        except InvalidOperation:
            raise refuse(f'"{part}" does not start with a number') from None
        if place < 2 or not is_factor:
            units.add(part[len(digits) :].strip())
        elif part != digits:
            raise refuse(f'the factor "*{part}" has a unit')
    if len(units) > 1:
        raise refuse(f"its parts have different units ({', '.join(sorted(units))})")
    (unit,) = units
    start, end, step = numbers
    try:
        yield from _steps(start, end, step, unit, is_factor=is_factor, refuse=refuse)
    except DecimalException:
        raise refuse("its numbers are too large") from None


def _steps(
    start: Decimal,
    end: Decimal,
    step: Decimal,
    unit: str,
    *,
    is_factor: bool,
    refuse: Callable[[str], Exception],
) -> Iterator[str]:
    """Yield the values of a range."""
    if is_factor:
        if step <= 1 or start <= 0 or end < start:
            raise refuse("its factor is not above one, it starts at zero, or ends before it starts")
        steps = (end / start).ln() / step.ln() + Decimal("1e-6")
        if steps >= MOST_VALUES:
            raise refuse(f"it has more than {MOST_VALUES} values")
        count = int(steps) + 1
        for i in range(count):
            # Six digits: a factor such as 1.58489 gives five values a decade.
            value = start if i == 0 else min(end, Decimal(f"{start * step**i:.6g}"))
            yield f"{value.normalize():f} {unit}".strip()
        return
    if step <= 0 or end < start:
        raise refuse("its step is not above zero, or it ends before it starts")
    steps = (end - start) / step
    if steps >= MOST_VALUES:
        raise refuse(f"it has more than {MOST_VALUES} values")
    count = int(steps) + 1
    for i in range(count):
        yield f"{(start + i * step).normalize():f} {unit}".strip()


@dataclass(frozen=True)
class Shard:
    """Some cells of a sweep, by their numbers."""

    number: int
    cells: range
    address: str


@dataclass(frozen=True)
class Sweep:
    """A scenario in its canonical form, and axes: values by the path to them."""

    scenario: str
    axes: Mapping[str, Sequence[str]]
    compare: str | None = None
    shard_cells: int = SHARD_CELLS
    policies: Policies | None = None
    #: The folder with its results, if it was read from one or run there.
    folder: Path | None = field(default=None, compare=False)
    #: What is summarised, and the handoff or change after which; None is the usual one.
    metric: str | None = None
    phase: int | None = None
    #: The axes that a summary separates, and the compared one; None for all that are no samples.
    by: Sequence[str] | None = None
    #: The axes by which cells are numbered, if `axes` have other orders or some of their values.
    numbered: Mapping[str, Sequence[str]] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """The axes with their numbers of values, without the text of the scenario."""
        axes = ", ".join(f"{key}: {len(values)} values" for key, values in self.axes.items())
        words = [axes or "no axes", f"compare={self.compare}" if self.compare else ""]
        words.append(f"folder={str(self.folder)!r}" if self.folder is not None else "")
        return f"<Sweep over {', '.join(filter(None, words))}>"

    @classmethod
    def of(
        cls,
        scenario: Scenario | Plan | str | Path,
        axes: Mapping[str, str | Sequence[Value]] | None = None,
        *,
        compare: str | None = None,
        metric: str | None = None,
        phase: int | None = None,
        by: Sequence[str] | None = None,
        shard_cells: int = SHARD_CELLS,
        policies: Policies | None = None,
    ) -> Self:
        """Return the sweep of a scenario over its own axes and these, which replace those of the
        same name.

        The scenario may be a file, or the name of a starter. A path may have a `*` for every name,
        as in `flows.*.scheme`. `metric`, `phase` and `by` are what the results are summarised by,
        as the options of the command. Raises `MidflightError` for invalid axes; every value is
        checked once.
        """
        from midflight import _core
        from midflight.plot.over_time.history import plan_of
        from midflight.scenario import changed_words
        from midflight.sweep_summary import check_by, check_has_measure

        check_axes(axes, compare)
        check_whole("shard_cells", shard_cells, 1)
        check_metric(metric, phase)
        plan = plan_of(scenario, policies=policies)
        values = json.loads(plan.canonical)
        own = values.pop("sweep", None) or {}
        wanted: dict[str, str | Sequence[Value]] = dict(own.get("axes", {}))
        wanted.update(axes or {})
        if not wanted:
            raise refusal(
                "the sweep has no axis; give one, for example "
                "--axis flows.download.scheme=sack,enhanced, or a [sweep.axes] table in the file",
                name="axis",
                accepted="at least one axis",
            )
        # Cells that differ in instants only share their past: they come one after the other.
        ordered = sorted(wanted, key=lambda key: key.endswith(".at"))
        if axes:
            values |= changed_words(values, f"over {', '.join(axes)}")
        sweep = cls(
            json.dumps(values),
            {key: axis_values(key, wanted[key]) for key in ordered},
            compare or own.get("compare"),
            shard_cells,
            policies,
            metric=metric,
            phase=phase,
        )
        if sweep.compare is not None and sweep.compare not in sweep.axes:
            accepted = ", ".join(sweep.axes)
            near = did_you_mean(sweep.compare, sweep.axes)
            raise refusal(
                f'"{sweep.compare}" to compare is not an axis{near}; expected {accepted}',
                name="compare",
                value=sweep.compare,
                accepted=accepted,
            )
        if sweep.cells > MOST_CELLS:
            raise refusal(
                f"{sweep.cells} cells are too many; expected at most {MOST_CELLS}",
                name="cells",
                value=sweep.cells,
                accepted=f"at most {MOST_CELLS}",
            )
        sweep.check()
        check_has_measure(metric, sweep)
        sweep = replace(sweep, by=check_by(by, sweep))
        if not isinstance(scenario, _core.Plan):
            said, every = remarks_of(plan), remarks_of(plan, run=plans_of_flows(sweep))
            warn_of(one for one in every if one not in said)
        return sweep

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: what is simulated, and the axes or results."""
        from midflight.notebook import sweep_html

        return sweep_html(self)

    @property
    def cells(self) -> int:
        """The number of combinations."""
        return math.prod(map(len, self.axes.values()))

    def values(self, cell: int) -> dict[str, str]:
        """Return the values of a cell by their paths; the last axis changes first."""
        places = []
        axes = self.axes if self.numbered is None else self.numbered
        for values in reversed(list(axes.values())):
            cell, place = divmod(cell, len(values))
            places.append(place)
        each = zip(axes.items(), reversed(places), strict=True)
        return {key: values[place] for (key, values), place in each}

    def sets(self, cell: int) -> list[tuple[str, str]]:
        """Return the values of a cell for the core, without `*` in a path."""
        each = self.values(cell).items()
        return [(path, value) for key, value in each for path in self.paths[key]]

    @cached_property
    def paths(self) -> dict[str, list[str]]:
        """The paths that each axis represents."""
        from midflight import _core

        document = _core.Document(self.scenario)
        return {key: document.paths(key) for key in self.axes}

    @cached_property
    def numbers(self) -> dict[str, list[int | float]]:
        """Columns of numbers for the axes that have quantities of one kind as values.

        The name of such a column ends in its unit, as in `handoffs.0.at_ns` and
        `links.lte.rate_bps`; it has a number for each value of its axis.
        """
        from midflight import _core

        found: dict[str, list[int | float]] = {}
        for key, values in self.axes.items():
            read = [_core.in_column_unit(value) for value in values]
            some = [one for one in read if one is not None]
            if len(some) == len(values) and len({unit for unit, _ in some}) == 1:
                unit = some[0][0]
                each = [number if unit == "percent" else int(number) for _, number in some]
                found[f"{key}_{unit}"] = each
        return found

    def plan(self, cell: int, document: Document | None = None) -> Plan:
        """Return a cell as a scenario that can be run; `document` is the parsed `scenario`."""
        from midflight import _core

        document = document or _core.Document(self.scenario)
        try:
            return document.plan(self.sets(cell), self.policies)
        except _core.MidflightError as error:
            # These keys are set by the axes.
            text = str(error)
            if not text.startswith("--set "):
                raise
            text = text.replace("--set ", "axis ", 1)
            raise refusal(
                text, name=error.name, value=error.value, accepted=error.accepted
            ) from error

    def check(self) -> None:
        """Check every value of every axis, with the first values of the other axes."""
        scenario = json.loads(self.scenario)
        for key in self.axes:
            if not self.paths[key]:
                raise refusal(f'axis "{key}" fits nothing in the scenario', name="axis", value=key)
            table, name, *_ = [*key.split("."), ""]
            known = list(scenario[table]) if table in ("links", "flows") else [name]
            if name not in ("*", *known):
                accepted, near = ", ".join(known), did_you_mean(name, known)
                raise refusal(
                    f'axis "{key}": there is no {table[:-1]} "{name}"{near}; expected {accepted}',
                    name="axis",
                    value=key,
                    accepted=accepted,
                )
        for _ in self.plans(self.axes):
            pass

    def plans(self, keys: Collection[str]) -> Iterator[Plan]:
        """Yield a scenario for every value of these axes, with the first values of the others."""
        from midflight import _core

        document = _core.Document(self.scenario)
        stride = self.cells
        for key, values in self.axes.items():
            stride //= len(values)
            # Instants are many, and alike.
            some = range(len(values)) if len(values) <= 1000 else (0, len(values) - 1)
            for place in some if key in keys else ():
                yield self.plan(place * stride, document)

    def definition(self) -> dict[str, Any]:
        """Return the sweep as values for JSON."""
        import midflight

        return {
            "midflight": midflight.__version__,
            "model": midflight.MODEL_VERSION,
            "cells": self.cells,
            "shard_cells": self.shard_cells,
            "compare": self.compare,
            "metric": self.metric,
            "phase": self.phase,
            "by": None if self.by is None else list(self.by),
            "policies": sources(self.policies),
            "axes": {key: list(values) for key, values in self.axes.items()},
            "scenario": json.loads(self.scenario),
        }

    @classmethod
    def read(cls, folder: str | Path, *, policies: Policies | None = None) -> Self:
        """Return the sweep of a folder.

        Raises `MidflightError` if it is not one, `OSError` if it cannot be read.
        """
        folder = Path(folder)
        found = read_definition(folder)
        axes = found["axes"]
        scenario = json.dumps(found["scenario"])
        printed: Any = {key: found.get(key) for key in ("compare", "metric", "phase", "by")}
        cells = found["shard_cells"]
        return cls(scenario, axes, shard_cells=cells, policies=policies, folder=folder, **printed)

    def against(self, baseline: str | None) -> Self:
        """Return the sweep with this value of the compared axis as the one that others are compared
        with, for figures and reports; itself for None.

        Raises `MidflightError` for a sweep without a compared axis, and for another value.
        """
        if baseline is None:
            return self
        from midflight.plot.results.rows import kept_values

        values = [] if self.compare is None else [*self.axes[self.compare]]
        (baseline, *_) = kept_values({"value": values}, {"value": baseline})["value"]
        if baseline not in values:
            accepted = ", ".join(values) or "a sweep with --compare AXIS"
            raise refusal(
                f'baseline "{baseline}" is not one that the sweep compares; expected {accepted}',
                name="baseline",
                value=baseline,
                accepted=accepted,
            )
        order = [baseline, *(one for one in values if one != baseline)]
        return self.showing({str(self.compare): order})

    def showing(self, values: Mapping[str, Sequence[str]]) -> Self:
        """Return the sweep with some values of axes, in an order of their own, for figures and
        reports. The numbers of its cells stay.
        """
        numbered = self.axes if self.numbered is None else self.numbered
        return replace(self, axes={**self.axes, **values}, numbered=numbered)

    def shards(self) -> Iterator[Shard]:
        """Yield the shards, each with its address."""
        from midflight import MODEL_VERSION, _core

        bare = json.loads(self.scenario)
        for key in ("title", "description"):
            bare.pop(key, None)
        # The values of a preset may change with the program.
        presets = _core.link_presets()
        stacks = [*self.kernel(), *self.quic_stacks(), *self.traces()]
        same = json.dumps([MODEL_VERSION, COLUMNS, presets, bare, sources(self.policies), *stacks])
        of_all = hashlib.blake2b(same.encode(), digest_size=16)
        for number, first in enumerate(range(0, self.cells, self.shard_cells)):
            cells = range(first, min(first + self.shard_cells, self.cells))
            address = of_all.copy()
            for cell in cells:
                address.update(repr((cell, self.values(cell))).encode())
            yield Shard(number, cells, address.hexdigest())

    def traces(self) -> list[str]:
        """Return an address for each recording that an axis names; it depends on the recording's
        content.
        """
        found = []
        stride = self.cells
        for key, values in self.axes.items():
            stride //= len(values)
            if key.endswith((".trace", ".trace.file", ".trace.up", ".trace.delay")):
                found += [self.plan(place * stride).address for place in range(len(values))]
        return found

    def quic_stacks(self) -> list[str]:
        """Return the versions of the QUIC stacks that some cells run."""
        from midflight import QUIC_STACKS

        flows = json.loads(self.scenario)["flows"].values()
        named = {str(one.get("stack")) for one in flows}
        for key, values in self.axes.items():
            if key.endswith(".stack"):
                named |= set(map(str, values))
        return [version for name, version in QUIC_STACKS.items() if name in named]

    def kernel(self) -> list[str]:
        """Return the name of the kernel that some cells are run on, if any are.

        Raises `LabError` if there is none.
        """
        flows = json.loads(self.scenario)["flows"].values()
        on_axes = ("linux" in values for key, values in self.axes.items() if key.endswith(".stack"))
        if not any(one.get("stack") == "linux" for one in flows) and not any(on_axes):
            return []
        from midflight.lab.store import choose

        return [choose().name]

    def run_shard(
        self, shard: Shard, *, threads: int = 0, progress: Progress | None = None
    ) -> dict[str, str]:
        """Run the cells of a shard; return its tables as CSV by their names.

        Cells with many rows of results are run some at a time, so that the core holds a bounded
        number of rows.
        """

        from midflight.scenario import run_tables

        texts = {name: io.StringIO() for name in TABLES}
        pieces = list(self.pieces(shard.cells))
        for number, (cells, plans) in enumerate(pieces):

            def report(done: int, total: int, number: int = number) -> object:
                # Of the pieces alike: how many runs the others have is not known to this one.
                return progress(number * total + done, len(pieces) * total) if progress else None

            tables = run_tables(plans, threads=threads, progress=progress and report)
            for text, table in zip(texts.values(), tables, strict=True):
                rows = self.rows(cells, table)
                if number > 0:
                    next(rows)
                csv.writer(text, lineterminator="\n").writerows(map(csv_row, rows))
        return {name: text.getvalue() for name, text in texts.items()}

    def pieces(self, cells: Sequence[int]) -> Iterator[tuple[list[int], list[Plan]]]:
        """Yield cells that are run at a time, and their scenarios."""
        from midflight import _core

        document = _core.Document(self.scenario)
        some: list[int] = []
        plans: list[Plan] = []
        rows = 0
        for cell in cells:
            plan = self.plan(cell, document)
            rows += plan.rows
            if some and rows > ROWS_AT_A_TIME:
                yield some, plans
                some, plans, rows = [], [], plan.rows
            some.append(cell)
            plans.append(plan)
        yield some, plans

    def table(self, cells: Sequence[int], table: Table | Columns) -> str:
        """Return the results of these cells as CSV, with the number and the values of each cell."""

        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(map(csv_row, self.rows(cells, table)))
        return text.getvalue()

    def rows(self, cells: Sequence[int], table: Table | Columns) -> Iterator[list[Any]]:
        """Yield the head and the rows of the results of these cells."""
        names = [name for name in table.column_names if name != "cell"]
        yield ["cell", *self.axes, *self.numbers, *names]
        numbers = {
            name: dict(zip(self.axes[name.rpartition("_")[0]], column, strict=True))
            for name, column in self.numbers.items()
        }

        def of(cell: int) -> list[Any]:
            texts = self.values(cell)
            each = (column[texts[name.rpartition("_")[0]]] for name, column in numbers.items())
            return [*texts.values(), *each]

        values = [of(cell) for cell in cells]
        columns = (table.column(name) for name in names)
        for place, *row in zip(table.column("cell"), *columns, strict=True):
            yield [cells[place], *values[place], *row]

    def cells_of(self, share: tuple[int, int]) -> int:
        """The number of cells of a share; (i, n) is every n-th shard from i on."""
        i, n = share
        firsts = range(0, self.cells, self.shard_cells)[i::n]
        return sum(min(self.shard_cells, self.cells - first) for first in firsts)

    def missing(self, folder: Path, share: tuple[int, int] = (0, 1)) -> list[Shard]:
        """Return the missing shards of a share; (i, n) is every n-th shard from i on."""
        i, n = share
        mine = islice(self.shards(), i, None, n)
        return [shard for shard in mine if not _is_whole(shard_folder(folder, shard))]

    def waiting(self, folder: Path) -> int:
        """The number of cells in missing shards; the content of other shards is not checked."""
        absent = (one for one in self.shards() if not shard_folder(folder, one).is_dir())
        return sum(len(one.cells) for one in absent)

    def begin(self, folder: Path) -> None:
        """Make the folder of the sweep, or check that an existing folder has this sweep.

        Incomplete files of this machine are removed. Raises `MidflightError` for a folder with
        another sweep, also while that runs its first shard, or with this sweep of another version;
        such a folder is not changed.
        """
        definition = self.definition()
        file = folder / "sweep.json"
        forget_ended(folder)
        if file.is_file():
            refuse_another(file, definition)
        else:
            tables = [folder / f"{table}.csv" for table in TABLES]
            for table in (table for table in tables if table.is_file()):
                raise refusal(
                    f'"{folder}" has a {table.name} that is not a sweep\'s; choose another folder',
                    name="out",
                    value=folder,
                    accepted="a folder without results",
                )
        (folder / "shards").mkdir(parents=True, exist_ok=True)
        for left in (folder / "shards").glob("*.tmp"):
            _, host, pid, *_ = [*left.name.split("+"), "", "", ""]
            if host == host_name() and pid.isdigit() and not is_running(int(pid)):
                shutil.rmtree(left, ignore_errors=True)
        running_mark(folder).touch()
        text = json.dumps(definition, indent=2) + "\n"
        if not file.is_file() or file.read_bytes() != text.encode():
            write_whole(file, text)

    def keep(self, folder: Path, shard: Shard, tables: Mapping[str, str]) -> None:
        """Write the tables of a shard, completely or not at all."""
        target = shard_folder(folder, shard)
        mark = f"{host_name()}+{os.getpid()}+{secrets.token_hex(4)}"
        unfinished = target.with_name(f"{shard.address}+{mark}+.tmp")
        try:
            unfinished.mkdir()
            for name, text in tables.items():
                _write_synced(unfinished / f"{name}.csv", text)
            sums = {name: _sum(text.encode()) for name, text in tables.items()}
            _write_synced(unfinished / SUMS, json.dumps(sums))
            if target.is_dir() and not _is_whole(target):
                shutil.rmtree(target)
            try:
                unfinished.rename(target)
            except OSError:
                # Another worker was first, with the same result.
                if not _is_whole(target):
                    raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def merge(self, folder: Path) -> None:
        """Merge the tables of all shards, in the order of the cells."""
        for name in TABLES:
            files = [shard_folder(folder, shard) / f"{name}.csv" for shard in self.shards()]
            concatenate(files, folder / f"{name}.csv")
            write_parquet(folder / f"{name}.csv", self.axes)
        running_mark(folder).unlink(missing_ok=True)

    def run(
        self, folder: str | Path, *, threads: int = 0, progress: Progress | None = None
    ) -> SweepOutcome:
        """Run the cells that a folder does not have, on this machine; return the results.

        The folder then has the files of `midflight sweep --out FOLDER`. An interrupted run goes on
        where it was. `threads` are 0 for one on each processor; `progress` is called with the
        numbers of finished and of all missing cells. Raises `MidflightError` for a folder with
        other results, `OSError` if it cannot be written.
        """
        from midflight.executors import run_local

        check_threads(threads)
        place = check_path("folder", folder)
        # A sweep that was begun there keeps its shards.
        asked = replace(self, shard_cells=shard_cells_of(place) or self.shard_cells, folder=place)
        asked.begin(place)
        run_local(asked, place, asked.missing(place), threads=threads, progress=progress)
        asked.merge(place)
        found = SweepOutcome(asked, place)
        for name, text in found.summary.tables().items():
            write_whole(place / name, text)
        return found


def plans_of_flows(sweep: Sweep) -> Iterator[Plan]:
    """Yield a scenario for each value of a sweep's axes on flows, or one for all its cells."""
    keys = [key for key in sweep.axes if key.startswith("flows.")]
    return sweep.plans(keys) if keys else iter((sweep.plan(0),))


def shard_folder(folder: Path, shard: Shard) -> Path:
    """Return where a shard is kept."""
    return folder / "shards" / shard.address


def _is_whole(shard: Path) -> bool:
    """Whether a shard is there as it was written."""
    try:
        sums = json.loads((shard / SUMS).read_bytes())
        return all(_sum((shard / f"{name}.csv").read_bytes()) == sums[name] for name in TABLES)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _sum(table: bytes) -> str:
    return hashlib.blake2b(table, digest_size=16).hexdigest()


def _write_synced(path: Path, text: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write_synced(unfinished, text)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
