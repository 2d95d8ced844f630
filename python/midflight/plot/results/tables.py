"""Tables that figures of results are drawn from: folders, files, and tables of other libraries."""

from __future__ import annotations

import csv as csv_files
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from midflight.percentiles import PERCENTILES, percentile_columns
from midflight.plot.common.names import FINISHED
from midflight.refusal import refusal
from midflight.results import FOLDER
from midflight.run_tables import plain_text
from midflight.unmet import WHICH, handoff_words, met_handoff

if TYPE_CHECKING:
    from midflight._core import MidflightError

__all__ = [
    "CHANGES",
    "OF_FLOW",
    "Columns",
    "TableSource",
    "column_names",
    "columns_of",
    "missing_column",
    "only_rows",
    "read_columns",
    "read_once",
    "results_of",
    "table_columns",
]

#: The columns of a table by their names.
Columns: TypeAlias = Mapping[str, Sequence[Any]]


#: A folder of results, a table's file, columns by their names, a `Table`, or a table of pandas,
#: polars, pyarrow or another library whose columns have names.
TableSource: TypeAlias = str | Path | Columns | Any

#: Tables of a folder of results, in the order in which they are searched for a measurement.
TABLES = ("flows", "phases")
#: The measurements of a comparison: the change in per cent, and that in the unit of the metric.
CHANGES = ("ratio", "difference")
#: What tells the flows of a sweep's runs apart.
OF_FLOW = ("cell", "run", "flow")


def columns_of(source: TableSource, measured: str) -> Columns:
    """Return the columns of a table, or of that in a folder of results which has a measurement.

    Of a percentile (`midflight.percentiles`) they are those of the entries of flows. Raises
    `MidflightError` for what is no table, and for a measurement that is in another table of the
    same sweep, `OSError` for a file that cannot be read.
    """
    if isinstance(source, str | Path):
        return read_columns(source, measured)
    columns = with_finished(table_columns(source), measured)
    if is_percentile(columns, measured):
        columns = percentile_columns(columns, measured)
    folder = folder_of(source)
    if folder is None or not (folder / "sweep.json").is_file():
        return columns
    if measured and measured not in columns:
        _check_is_here(folder, columns, measured)
    return _with_met(folder, columns, measured)


def with_finished(columns: Columns, measured: str) -> Columns:
    """Return the columns of a table of flows, with whether each finished, in per cent, if that is
    measured.
    """
    if measured != FINISHED or FINISHED in columns or _END not in columns:
        return columns
    shares = [0.0 if one is None or one == "" else 100.0 for one in columns[_END]]
    return {**columns, FINISHED: shares}


def only_rows(columns: Columns, rows: Iterable[int]) -> Columns:
    """Return the columns of a table with these rows only."""
    rows = [*rows]
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _check_is_here(folder: Path, columns: Columns, measured: str) -> None:
    """Refuse a measurement that is not in a table of results, but in another one of its sweep."""
    from midflight._core import MidflightError

    try:
        others = read_columns(folder, measured)
    except (MidflightError, OSError):
        return
    where = "found.flows, or found.to_pandas()"
    if "phase" in others:
        where = "found.phases, or found.to_pandas(phases=True)"
    raise refusal(
        f'--y or --value: the table has no column "{measured}"; it is in the table of '
        f"{'phases' if 'phase' in others else 'flows'} of the sweep: give {where}, if found is "
        "what Sweep.run() returned",
        name="--y or --value",
        value=measured,
        accepted=", ".join(columns),
    )


def folder_of(source: TableSource) -> Path | None:
    """Return the folder of the sweep in which a table's file is, or whose results a table has, that
    of `SweepOutcome` or its DataFrame; a folder itself; None for other sources.
    """
    if isinstance(source, str | Path):
        return Path(source).parent if Path(source).is_file() else Path(source)
    folder = getattr(source, "folder", None)
    if folder is None and isinstance(attrs := getattr(source, "attrs", None), Mapping):
        folder = attrs.get(FOLDER)
    return Path(folder) if isinstance(folder, str | Path) else None


def table_columns(source: Columns | Any) -> Columns:
    """Return the columns of a table, of another library as lists in which None is a missing value.

    Raises `MidflightError` for what is no table.
    """
    if isinstance(source, Mapping):
        return source
    names, column = _columns_by_name(source)
    if names is None or column is None or not all(isinstance(one, str) for one in names):
        accepted = (
            "a folder of results, a Sweep, a CSV or Parquet file, columns by their names, or a "
            "table whose columns have names, of pandas, polars or pyarrow"
        )
        hint = "; its flows are one" if hasattr(source, "flows") else ""
        raise refusal(
            f"source: a value of the type {type(source).__name__} is not a table of results{hint}; "
            f"expected {accepted}",
            name="source",
            value=type(source).__name__,
            accepted=accepted,
        )
    return {name: _values(column(name)) for name in names}


def _columns_by_name(source: Any) -> tuple[Any, Any]:
    """The names of the columns of a table, and what returns a column by its name; None without."""
    names, column = (getattr(source, one, None) for one in ("column_names", "column"))
    if names is None or column is None:
        names, column = getattr(source, "columns", None), getattr(source, "__getitem__", None)
    return names, column


def column_names(source: Columns | Any) -> list[Any]:
    """Return the names of the columns of a table; none of what is no table."""
    names = source if isinstance(source, Mapping) else _columns_by_name(source)[0]
    return [] if names is None else list(names)


def _values(column: Any) -> list[Any]:
    if hasattr(column, "notna"):
        # pandas has a missing value of each kind of column.
        column = column.astype(object).where(column.notna(), None)
    for convert in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, convert):
            return list(getattr(column, convert)())
    return list(column)


def results_of(source: TableSource) -> TableSource:
    """Return a source of results, of a sweep and its results their folder.

    Raises `MidflightError` for a sweep without results, and for a path at which there is nothing.
    """
    from midflight.sweep import Sweep, SweepOutcome

    accepted = (
        "the folder of a run or a sweep, a Sweep with results, a CSV or Parquet file, or a table"
    )
    if isinstance(source, Sweep) and source.folder is None:
        raise refusal(
            "source: the sweep has no results yet, which Sweep.run(folder) makes",
            name="source",
            value="a Sweep",
            accepted=accepted,
        )
    if isinstance(source, Sweep | SweepOutcome):
        source = source.folder
    if isinstance(source, str | Path) and not Path(source).exists():
        raise refusal(
            f'source: there is no folder or file "{source}"; expected {accepted}',
            name="source",
            value=source,
            accepted=accepted,
        )
    return source


#: The tables that are read for one figure or report, by their files, and those of measurements by
#: their sources and these.
_READ: ContextVar[dict[tuple[str, ...], Columns] | None] = ContextVar("read", default=None)


@contextmanager
def read_once() -> Iterator[None]:
    """Read each table once, for a figure or a report that looks at it several times."""
    if _READ.get() is not None:
        yield
        return
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def read_columns(source: str | Path, y: str) -> Columns:
    """Return the columns of a table, or of that in a folder of results which has a measurement.

    Of a percentile (`midflight.percentiles`) they are those of the entries of flows.
    """
    return _known((str(source), y), lambda: _read_columns(Path(source), y))


def _known(key: tuple[str, ...], read: Callable[[], Columns]) -> Columns:
    """Return the table with a key, which is read if it is not known."""
    known = _READ.get()
    if known is None:
        return read()
    if key not in known:
        known[key] = read()
    return known[key]


def _read_columns(place: Path, y: str) -> Columns:
    if place.is_dir():
        return _with_met(place, _columns_in(place, y), y)
    columns = with_finished(_read_table(place), y)
    columns = percentile_columns(columns, y) if is_percentile(columns, y) else columns
    if not (place.parent / "sweep.json").is_file():
        return columns
    if place.stem in TABLES:
        return _with_met(place.parent, columns, y)
    found = _OF_PHASE.fullmatch(place.name)
    if found is None:
        return columns
    from midflight.sweep_folder import read_definition

    # The name of a comparison after a later handoff says after which one.
    which = handoff_words(read_definition(place.parent)["scenario"], int(found[1]))
    return {**columns, WHICH: [which] * len(columns["flow"])}


def _columns_in(place: Path, y: str) -> Columns:
    """Return the columns of the table in a folder of results which has a measurement."""
    seen: list[str] = []
    for name in TABLES:
        for suffix in (".parquet", ".csv"):
            file = place / f"{name}{suffix}"
            if not file.is_file() or (suffix == ".parquet" and not _has_pyarrow()):
                continue
            columns = with_finished(_read_table(file), y)
            if is_percentile(columns, y):
                columns = percentile_columns(columns, y)
            if y in columns:
                return columns
            seen += [one for one in columns if one not in seen]
            break
    if not seen:
        raise _no_results(place)
    if y in CHANGES:
        raise _only_compared(place, y, seen)
    raise missing_column("--y or --value", y, seen)


#: The file of a comparison after a later handoff.
_OF_PHASE = re.compile(r"comparison-.*-phase([1-9][0-9]*)\.csv")
#: When a flow was done, a column of the table of flows; and those that say whether that was before
#: a handoff.
_END = "finished_ns"
_ENDS = (_END, "opened_ns", "delivered_ns")


def _with_met(place: Path, columns: Columns, measured: str) -> Columns:
    """The columns of results of a sweep in its folder, with that of flows that met the handoff, if
    it is known.
    """
    ends = columns if _END in columns else _with_ends(place, columns)
    return {**columns, **met_handoff(place, ends, measured)}


def _with_ends(place: Path, columns: Columns) -> Columns:
    """The columns of phases in a folder, with the ends of their flows."""
    if not {*OF_FLOW} <= {*columns}:
        return columns
    flows = _columns_in(place, _END)
    of = [tuple(map(str, one)) for one in zip(*(flows[name] for name in OF_FLOW), strict=True)]
    rows = {one: row for row, one in enumerate(of)}
    each = zip(*(columns[name] for name in OF_FLOW), strict=True)
    places = [rows.get(tuple(map(str, one))) for one in each]
    found = {
        name: [None if row is None else flows[name][row] for row in places]
        for name in _ENDS
        if name in flows
    }
    return {**columns, **found}


def _only_compared(place: Path, y: str, columns: Sequence[str]) -> MidflightError:
    """Return the error for a column of comparisons that is asked for of a folder's flows."""
    files = sorted(place.glob("comparison*.csv"))
    why = "the folder has no comparison, which midflight sweep makes with --compare KEY"
    if files:
        why = f'it is in "{files[0]}", which can be given in place of the folder'
    return refusal(
        f'--y or --value: the tables of flows have no column "{y}", which is of comparisons; {why}',
        name="--y or --value",
        value=y,
        accepted=", ".join(columns),
    )


def check_is_table(source: str | Path) -> None:
    """Raise `MidflightError` for a folder without results, and for a file that is no table."""
    place = Path(source)
    if place.is_dir():
        files = (place / f"{name}{suffix}" for name in TABLES for suffix in (".parquet", ".csv"))
        if not any(one.is_file() for one in files):
            raise _no_results(place)
    elif place.is_file():
        _read_table(place)


def _no_results(place: Path) -> MidflightError:
    return refusal(
        f'"{place}" is not a folder of results: it has neither {" nor ".join(TABLES)} '
        "as .csv or .parquet",
        name="results",
        value=place,
        accepted="a folder of a run or a sweep",
    )


def is_percentile(columns: Columns, measured: str) -> bool:
    """Whether a measurement is a percentile over the flows of a table's entries."""
    return (
        measured in PERCENTILES
        and measured not in columns
        and {"flow", "entry", PERCENTILES[measured].of} <= set(columns)
    )


def missing_column(option: str, name: str, columns: Columns | Iterable[str]) -> MidflightError:
    """Return the error for a column that a table does not have; an axis is not a measurement."""
    from midflight.meant import or_all
    from midflight.plot.common.names import is_measured
    from midflight.sweep_results import WORKLOAD_OF

    compared = columns.get("compared", ()) if isinstance(columns, Mapping) else ()
    columns = list(columns)
    accepted = ", ".join(columns)
    if name in compared and "value" in columns:
        return refusal(
            f'{option}: there is no column "{name}"; this is the compared axis, and its values are '
            'in the column "value"',
            name=option,
            value=name,
            accepted=accepted,
        )
    if workload := WORKLOAD_OF.get(name):
        return refusal(
            f'{option}: {name} is measured on flows with workload = "{workload}", and no flow '
            "has it",
            name=option,
            value=name,
            accepted=accepted,
        )
    where = f"the table has {len(columns)} columns, which its first line names"
    of_measurement = option.startswith(("--y", "--value"))
    alike = [one for one in columns if of_measurement or not is_measured(one)]
    others = or_all(name, alike, where)
    return refusal(
        f'{option}: there is no column "{name}"{others}',
        name=option,
        value=name,
        accepted=accepted,
    )


def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def _read_table(file: Path) -> Columns:
    """Return the columns of a CSV or Parquet file."""
    return _known((str(file),), lambda: _read_file(file))


def _read_file(file: Path) -> Columns:
    try:
        columns = _read_parquet(file) if file.suffix == ".parquet" else _read_csv(file)
    except (ValueError, IndexError, csv_files.Error) as error:
        kind = "Parquet" if file.suffix == ".parquet" else "CSV, in UTF-8 and with all columns"
        raise refusal(
            f'"{file}" is not a table in {kind}', name="table", value=file, accepted=kind
        ) from error
    if not columns:
        accepted = "a table, whose first line names its columns"
        raise refusal(
            f'"{file}" is empty; expected {accepted}', name="table", value=file, accepted=accepted
        )
    return columns


def _read_parquet(file: Path) -> Columns:
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _read_csv(file: Path) -> Columns:
    with file.open(newline="", encoding="utf-8") as text:
        reader = csv_files.reader(text)
        names = next(reader, [])
        rows = list(reader)
    return {name: [plain_text(row[place]) for row in rows] for place, name in enumerate(names)}
