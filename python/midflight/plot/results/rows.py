"""Which rows of a table a figure of results shows: those that are asked for, of flows that have
what is measured, and were not done before the handoff.

A flow that was done before the handoff, or had too few packets after it to be measured, says
nothing about it. Figures leave it out as a comparison does (`midflight.sweep_results`), and say how
many flows these are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from midflight.plot.common.names import column_name
from midflight.plot.results.tables import Columns, missing_column
from midflight.plot.results.unfinished import counted_flows
from midflight.refusal import refusal
from midflight.run_tables import is_further_connection, is_requests
from midflight.sweep_results import SEED, WORKLOAD_OF
from midflight.unmet import MET, WHICH, done_early

__all__ = [
    "NONE_POOLED",
    "Choice",
    "Pooled",
    "Rows",
    "all_words",
    "compared_name",
    "counted_as",
    "done_early_in",
    "early_words",
    "is_early_pair",
    "is_key",
    "kept_rows",
    "kept_text",
    "kept_values",
    "measured_flows",
    "measured_rows",
    "number_of",
    "ordered",
    "over_words",
    "product_words",
    "quantity",
    "rows_of",
    "selection_words",
    "text_of",
    "with_selection",
]

#: The pairs of a comparison that have a value, those that lack it, and those before the handoff.
_PAIRS = ("pairs", "left_out", "done_before")
#: What is said of flows that are kept by whether they were done before the handoff.
_MET_WORDS: Mapping[str, str] = {
    "1": "flows that were not done before",
    "0": "only flows that were done before",
}


class Pooled(NamedTuple):
    """The axes that a figure pools in words, such as "6 instants", the number of combinations of
    their values at a point, and the flows that it takes together. It `is_whole` if each point has
    all of these combinations, equally often.
    """

    axes: Sequence[str] = ()
    number: int = 0
    flows: str = ""
    is_whole: bool = True


_TIMES = "\N{MULTIPLICATION SIGN}"
#: Of more values that rows are kept by the first two and the last are named.
_MOST_KEPT = 4
#: Of a figure that pools nothing.
NONE_POOLED = Pooled()


class Choice(str):
    """Some values of an axis that a comparison takes together, as the text of a cell."""

    values: tuple[str, ...]

    def __new__(cls, values: Iterable[str]) -> Choice:
        """Return the text of these values."""
        each = tuple(values)
        made = super().__new__(cls, _kept_names(each))
        made.values = each
        return made


class Rows(NamedTuple):
    """The rows that a figure shows, and the `early` ones that it leaves out: their flows were done
    before the handoff.
    """

    shown: Sequence[int]
    early: Sequence[int] = ()
    #: Whether all flows were done before the handoff, so that these are shown.
    is_all_early: bool = False


def rows_of(
    columns: Columns,
    measured: str,
    kept: Mapping[str, Sequence[str]],
    apart: Collection[str | None] = (),
) -> Rows:
    """Return the rows of a figure of a measurement that have these values.

    Flows that were done before the handoff are left out unless all were, and unless that is what
    rows are kept by or told `apart` by.
    """
    rows = measured_rows(columns, kept_rows(columns, len(columns[measured]), kept), measured)
    if {*_PAIRS} <= {*columns}:
        is_early = [is_early_pair(columns, row) for row in rows]
    elif MET not in columns or MET in {*apart, *kept}:
        return Rows(rows)
    else:
        is_early = [text_of(columns[MET][row]) == "0" for row in rows]
    if all(is_early):
        return Rows(rows, is_all_early=bool(rows))
    each = [*zip(rows, is_early, strict=True)]
    return Rows([row for row, early in each if not early], [row for row, early in each if early])


def is_early_pair(columns: Columns, row: int) -> bool:
    """Whether a comparison has no pair only because flows were done before the handoff."""
    if not {*_PAIRS} <= {*columns}:
        return False
    pairs, left_out, early = (int(columns[name][row] or 0) for name in _PAIRS)
    return early > 0 and not pairs and not left_out


def which_handoff(columns: Columns) -> str:
    """Return which handoff a table is about, as far as it says it."""
    each = columns.get(WHICH, ())
    return str(each[0]) if len(each) else "the handoff"


def done_early_in(columns: Columns, measured: str) -> str:
    """Return in words which flows of a table do not measure its handoff."""
    return done_early(measured, which_handoff(columns))


def early_words(columns: Columns, rows: Rows, measured: str, by: Sequence[str]) -> str:
    """Return how many flows of which lines, told apart by these columns, a figure leaves out; "" if
    there are none.
    """
    if "done_before" in columns:
        # Of a comparison pairs are counted, with the other ones that are left out.
        return ""
    why = done_early_in(columns, measured)
    if rows.is_all_early:
        return f"all {counted_flows({'': len(rows.shown)}, why)}"
    every = [*rows.shown, *rows.early]
    lines = {row: ", ".join(text_of(columns[name][row]) for name in by) for row in every}
    counts = dict.fromkeys((lines[row] for row in sorted(every)), 0)
    for row in rows.early:
        counts[lines[row]] += 1
    return f"left out: {counted_flows(counts, why)}" if rows.early else ""


def counted_as(columns: Columns, rows: Sequence[int], apart: Collection[str | None]) -> str:
    """Return what is counted behind the points of a figure that tells these columns apart: "runs",
    or "values" if a run has several there, as of flows that are taken together, or in a table
    without runs.
    """
    if not {SEED, "run", "cell"} & {*columns}:
        return "values"
    names = [name for name in columns if name in apart or name in ("cell", "run") or is_key(name)]
    each = {tuple(text_of(columns[name][row]) for name in names) for row in rows}
    return "runs" if len(each) == len(rows) else "values"


def over_words(
    what: str,
    counts: Iterable[int],
    counted: str,
    pooled: Pooled = NONE_POOLED,
    one: str = "point",
) -> str:
    """Return over how many runs, values or other samples each point, or `one` of another kind, is
    `what` it is, and which axes are pooled in it: "medians over 3 to 5 runs", or "medians; each
    point: 30 runs (5 seeds x 6 instants)", or "all 6 instants x 3 gaps" if each has one run.
    """
    some = [count for count in counts if count > 0]
    number = number_of(some, counted)
    if not pooled.axes:
        return f"{what} over {number}"
    every = product_words(pooled.axes)
    is_whole = pooled.is_whole and len({*some}) == 1
    seeds, rest = divmod(max(some, default=0), pooled.number)
    if is_whole and (seeds, rest) == (1, 0):
        behind = all_words(pooled.axes)
    elif is_whole and counted == "runs" and not rest:
        behind = f"{number} ({product_words((f'{seeds} seeds', *pooled.axes))})"
    else:
        behind = f"{number} of {every}"
    return f"{what}; each {one}: {behind}"


def number_of(counts: Collection[int], counted: str) -> str:
    """Return how many runs, or others that are counted, there are: "3 to 5 runs"."""
    least, most = min(counts, default=0), max(counts, default=0)
    number = f"{most}" if least == most else f"{least} to {most}"
    return f"{number} {counted.removesuffix('s') if most == 1 else counted}"


def all_words(axes: Sequence[str]) -> str:
    """Return that all combinations of values of axes are meant, with the numbers of these."""
    if len(axes) == 1 and axes[0].startswith("2 "):
        return f"both {axes[0].removeprefix('2 ')}"
    return f"all {product_words(axes)}"


def product_words(axes: Iterable[str]) -> str:
    """Return all combinations of values of axes in words: "11 instants x 3 gaps"."""
    return f" {_TIMES} ".join(axes)


#: Keys of a scenario that are no tables, and can be axes.
_PLAIN_KEYS = ("agent", "end", "packets", "profile", SEED, "stop")


def is_key(name: str) -> bool:
    """Whether a column may have the values of an axis of a sweep."""
    return "." in name or name in _PLAIN_KEYS


def compared_name(name: str, columns: Columns) -> str:
    """The compared axis for the values of a comparison; the names of other columns as they are."""
    compared = {str(one) for one in columns.get("compared", ())} if name == "value" else ()
    return next(iter(compared)) if len(compared) == 1 else name


def selection_words(
    kept: Mapping[str, Sequence[str]], shown: Collection[str | None], columns: Columns
) -> Iterator[str]:
    """Yield in words what rows are kept by, but for the columns that a figure shows."""
    for name, values in kept.items():
        if name in shown:
            # The places of an axis and the names of lines and maps have these.
            continue
        if name == MET and {*values} <= {*_MET_WORDS}:
            some = f"{_MET_WORDS[values[0]]} {which_handoff(columns)}"
            yield some if len({*values}) == 1 else "all flows"
        else:
            yield f"{column_name(compared_name(name, columns))}: {_kept_names(values)}"


def _kept_names(values: Sequence[str]) -> str:
    """The values that rows are kept by, in few words."""
    if len(values) <= _MOST_KEPT:
        return " or ".join(values)
    return f"{', '.join(values[:2])}, ... {values[-1]} ({len(values)} values)"


def kept_text(kept: Mapping[str, Sequence[str]]) -> str:
    """Return what rows are kept by, as it is written in a table of the data of a figure."""
    return "; ".join(f"{name}={' or '.join(values)}" for name, values in kept.items())


def with_selection(table: Iterable[Sequence[object]], kept: str) -> Iterator[Sequence[object]]:
    """Yield the head and the rows of a table with what its rows are kept by as the last column, if
    they are.
    """
    each = iter(table)
    head = next(each)
    yield (*head, "where") if kept else head
    for row in each:
        yield (*row, kept) if kept else row


def kept_values(
    columns: Columns, where: Mapping[str, str | Sequence[str]] | None
) -> dict[str, list[str]]:
    """Return the values that rows are kept by, as the table writes them.

    A quantity may be written in another way: `100ms` keeps rows with `0.1 s`. A value that the
    table does not have stays as it is.
    """
    kept = {}
    for name, values in (where or {}).items():
        texts = [values] if isinstance(values, str) else [text_of(one) for one in values]
        together = next(iter(columns.get(name, ())), None)
        if isinstance(together, Choice) and {*together.values} == {*texts}:
            kept[name] = [str(together)]
            continue
        present = dict.fromkeys(map(text_of, columns.get(name, ())))
        alike: dict[Any, list[str]] = {}
        if any(text not in present for text in texts):
            for one in present:
                alike.setdefault(quantity(one), []).append(one)
        kept[name] = [
            one
            for text in texts
            for one in ([text] if text in present else alike.get(quantity(text)) or [text])
        ]
    return kept


def quantity(text: str) -> tuple[str, float] | str:
    """The unit and the number of a quantity; another text is itself."""
    from midflight import _core

    try:
        return _core.in_column_unit(text) or ("", float(text))
    except ValueError:
        return text


def kept_rows(columns: Columns, count: int, kept: Mapping[str, Sequence[str]]) -> list[int]:
    """The rows that have one of the values of each column."""

    rows = list(range(count))
    for name, values in kept.items():
        if name not in columns:
            raise missing_column("--where", name, columns)
        present = dict.fromkeys(text_of(columns[name][row]) for row in rows)
        for value in values:
            if value not in present:
                raise refusal(
                    f'--where {name}={value}: no row has that; "{name}" is {_some(present)}',
                    name=name,
                    value=value,
                    accepted=_some(present),
                )
        rows = [row for row in rows if text_of(columns[name][row]) in values]
    return rows


def measured_rows(columns: Columns, rows: Sequence[int], measured: str) -> list[int]:
    """The rows of flows that a measurement is made of: those of an application have only flows
    with that application, and in other flows it is not missing. Flows that only carry the requests
    of an application count if there are no others.
    """
    of = WORKLOAD_OF.get(measured)
    rows = _without(columns, rows, is_requests) or list(rows)
    if of is None or "workload" not in columns:
        return rows
    own = [row for row in rows if text_of(columns["workload"][row]) == of]
    return _without(columns, own, is_further_connection)


def _without(
    columns: Columns, rows: Sequence[int], is_such: Callable[[Mapping[str, Any]], bool]
) -> list[int]:
    """The rows that are not of such flows; of a table without entries all."""
    if "entry" not in columns or "flow" not in columns:
        return list(rows)
    flows = [(columns["flow"][row], columns["entry"][row]) for row in rows]
    # There are many rows of few flows.
    are_such = {one: is_such({"flow": one[0], "entry": one[1]}) for one in {*flows}}
    return [row for row, flow in zip(rows, flows, strict=True) if not are_such[flow]]


def measured_flows(columns: Columns, measured: str, kept: Mapping[str, Sequence[str]]) -> list[str]:
    """The flows whose measurement a figure shows."""
    if any(name not in columns for name in ("flow", measured, *kept)):
        return []
    rows = rows_of(columns, measured, kept).shown
    return list(dict.fromkeys(str(columns["flow"][row]) for row in rows))


def ordered(
    columns: Columns, rows: Sequence[int], name: str, kept: Mapping[str, Sequence[str]]
) -> list[str]:
    """The values of a column in the order to show them: as requested, or as in the table."""
    present = [text_of(columns[name][row]) for row in rows]
    return list(dict.fromkeys([*kept.get(name, ()), *present]))


def text_of(value: Any) -> str:
    # Twelve digits: nanoseconds of a column with missing values are floats.
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def _some(values: Iterable[str], most: int = 12) -> str:
    values = list(values)
    return ", ".join(values[:most]) + (" ..." if len(values) > most else "")
