"""Which values of columns the rows of a figure are kept or left out by, as they are written on the
command line and in Python: one value, several with commas between them, or a range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from midflight._core import MidflightError
from midflight.plot.results.rows import kept_values, quantity, text_of
from midflight.plot.results.tables import TableSource, columns_of, missing_column, table_columns
from midflight.refusal import refusal

__all__ = ["chosen_values", "words_by_column"]


def words_by_column(option: str, words: Iterable[str]) -> dict[str, list[str]]:
    """Return the texts of an option that are column=value, by their columns."""
    found: dict[str, list[str]] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not (equals and key):
            raise refusal(
                f'{option} "{word}" is not column=value; write for example {option} run=0',
                name=option,
                value=word,
                accepted="column=value",
            )
        found.setdefault(key, []).append(text)
    return found


def chosen_values(
    source: TableSource,
    where: Mapping[str, Any] | None,
    without: Mapping[str, Any] | None = None,
    baseline: str | None = None,
) -> dict[str, list[str]]:
    """Return the values that the rows of a source are kept by: those of `where`, each of which may
    be several, as `axis_values` has them, or from:to for all in between; and of `without` all
    others. `baseline` is what the values of a comparison are against, if not the first one.

    Raises `MidflightError` for a value or a column that is left out but not there, or if no value
    is left.
    """
    kept = {}
    for key, given in (where or {}).items():
        kept[key] = _values(key, given, _present(source, key, baseline))
    for key, given in (without or {}).items():
        there = kept.get(key) or _present(source, key, baseline)
        if not there:
            raise missing_column("--without", key, columns_of(source, "flow"))
        out = _values(key, given, there)
        rest = [one for one in there if one not in out]
        if (unknown := [one for one in out if one not in there]) or not rest:
            why = f"no row has {unknown[0]}" if unknown else "no row is left"
            accepted = ", ".join(there)
            raise refusal(
                f'--without {key}: {why}; "{key}" is {accepted}',
                name="--without",
                value=given,
                accepted=accepted,
            )
        kept[key] = rest
    return kept


def _present(source: TableSource, key: str, baseline: str | None = None) -> list[str]:
    """The values of a column of a source, of an axis of a sweep in their order; none of a column
    that it lacks.
    """
    from midflight.plot.results.linked import axes_in, sweep_of
    from midflight.sweep_folder import read_definition

    folder = sweep_of(source)
    asked: Mapping[str, Any] = {} if folder is None else read_definition(folder)
    axes = asked.get("axes", {})
    # A table of results may have some of the rows.
    is_table = folder is not None and not isinstance(source, str | Path)
    columns = table_columns(source) if is_table else {}
    there = axes_in(columns, axes) if is_table else axes
    if key in there:
        return [*there[key]]
    if key == "value" and key not in columns and asked.get("compare") in axes:
        first, *_ = every = axes[asked["compare"]]
        return [one for one in every if one != (baseline or first)]
    try:
        return list(dict.fromkeys(map(text_of, columns_of(source, key).get(key, ()))))
    except (MidflightError, OSError):
        return []


def _values(key: str, given: Any, present: Sequence[str]) -> list[str]:
    """The values that are meant, each once."""
    one = isinstance(given, str) or not isinstance(given, Iterable)
    texts = map(text_of, [given] if one else given)
    values = list(dict.fromkeys(value for text in texts for value in _meant(key, text, present)))
    return kept_values({key: present}, {key: values})[key]


def _meant(key: str, text: str, present: Sequence[str]) -> Sequence[str]:
    from midflight.sweep import axis_values

    # A value may have commas and colons itself.
    if kept_values({key: present}, {key: text})[key][0] in present:
        return [text]
    if "," in text:
        return [one for part in text.split(",") for one in _meant(key, part.strip(), present)]
    if text.count(":") == 1:
        low, high = map(quantity, text.split(":"))
        if isinstance(low, tuple) and isinstance(high, tuple) and low[0] == high[0]:
            between = [
                one
                for one in present
                if isinstance(of := quantity(one), tuple)
                and of[0] == low[0]
                and low[1] <= of[1] <= high[1]
            ]
            if between:
                return between
    return axis_values(key, text) if text.count(":") == 2 else [text]
