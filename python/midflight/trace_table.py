"""What a link's `trace` may be in Python: a table of a scenario file, or columns of a program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from midflight.meant import did_you_mean
from midflight.refusal import refusal

__all__ = ["TRACE_KEYS", "trace_table"]

#: Keys of a trace's table in a scenario file.
TRACE_KEYS = frozenset(
    "file up delay format dates columns model seed length set from until offset repeat scale "
    "interpolation outage holes hash".split()
)


def trace_table(of: Any) -> dict[str, Any]:
    """Return a trace as the table of a scenario file.

    Raises `MidflightError` for an object that is neither a table nor columns.
    """
    if isinstance(of, Mapping) and any(isinstance(of.get(key), str) for key in ("file", "model")):
        for key in of:
            if key not in TRACE_KEYS:
                accepted = ", ".join(sorted(TRACE_KEYS))
                near = did_you_mean(str(key), TRACE_KEYS)
                raise refusal(
                    f'a trace has no "{key}"{near}; it may have {accepted}',
                    name=str(key),
                    value=of[key],
                    accepted=accepted,
                )
    if not isinstance(of, Mapping) or not of or not set(of) <= TRACE_KEYS:
        accepted = "a path, a table of a scenario file, or columns as a mapping or a DataFrame"
        return {"columns": _columns_of(of, "a trace", accepted)}
    table = dict(of)
    named = table.get("columns", {})
    if not isinstance(named, Mapping):
        named = _columns_of(named, "columns", "a mapping or a DataFrame")
    named = {key: one if isinstance(one, str) else _numbers(key, one) for key, one in named.items()}
    file = table.get("file")
    if file is not None and not isinstance(file, str | Path):
        del table["file"]
        values = _columns_of(file, "the file of a trace", "a path, or columns as a DataFrame")
        for key in [key for key in named if key in values]:
            # The names of columns and what they have are keys of one table.
            values[f"{key}_"] = values.pop(key)
            for of, text in named.items():
                name, _, unit = str(text).partition(" ")
                if name == key and text not in values:
                    named[of] = f"{key}_ {unit}".strip()
        named = {**values, **named}
    if named:
        table["columns"] = named
    for key in ("file", "up", "delay"):
        if not isinstance(table.get(key, ""), str | Path):
            raise _not_accepted(f"{key} of a trace", table[key], "a path")
    return table


def _not_accepted(what: str, value: Any, accepted: str) -> Exception:
    """Return the refusal of an object of another type."""
    kind = type(value).__name__
    return refusal(
        f"{what} is {kind}; expected {accepted}", name="trace", value=kind, accepted=accepted
    )


def _columns_of(of: Any, what: str, accepted: str) -> dict[str, list[float | None]]:
    """Return the columns of a mapping or a DataFrame as numbers.

    Raises `MidflightError` for another object.
    """
    names = of.columns if hasattr(of, "columns") and not isinstance(of, Mapping) else of
    try:
        each = {str(name): of[name] for name in names}
    except (TypeError, KeyError, IndexError):
        raise _not_accepted(what, of, accepted) from None
    index = getattr(of, "index", None)
    is_clock = getattr(getattr(index, "dtype", None), "kind", "") == "M"
    if is_clock and not any(name.lower() in _TIMES for name in each):
        # The index of a DataFrame or a Series has the times.
        each = {"time": index, **each}
    each = _with_dates(each)
    return {name: _numbers(name, one) for name, one in each.items()}


#: Names of columns of times.
_TIMES = ("time", "timestamp", "datetime", "date")
#: Texts that stand for no value, as in a file.
_MISSING = frozenset("- -- n/a na #n/a #na <na> nan -nan nat null none nil".split()) | {""}


def _is_missing(value: object) -> bool:
    """Whether a value stands for none, as pandas and spreadsheets have it."""
    return value is None or str(value).strip().lower() in _MISSING


def _with_dates(each: dict[str, Any]) -> dict[str, Any]:
    """Return columns in which times of day, `time`, have the dates of the column `date`."""
    names = {name.lower(): name for name in each}
    if not {"date", "time"} <= names.keys():
        return each
    clocks = [str(one).strip() for one in each[names["time"]]]
    if not all(":" in one and len(one.split()) == 1 and "T" not in one for one in clocks):
        return each
    days = [str(one).strip() for one in each[names["date"]]]
    if len(days) != len(clocks):
        # The lengths are refused with those of all columns.
        return each
    # A date without a time of day, from one that may have midnight.
    joined = [
        "" if _is_missing(day) else f"{day.split()[0]} {clock}"
        for day, clock in zip(days, clocks, strict=True)
    ]
    others = {name: one for name, one in each.items() if name != names["date"]}
    return {**others, names["time"]: joined}


def _numbers(name: str, values: Any) -> list[float | None]:
    """Return a column as numbers, None where there is none; times of a clock in seconds, also in
    ISO 8601, and durations. A column of nothing but text has no numbers, like an operator's name.
    """
    import math

    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if getattr(getattr(values, "dtype", None), "tz", None) is not None:
        # Times of a time zone, of pandas: those of UTC have the same differences.
        local = getattr(values, "dt", values)
        values = local.tz_convert("UTC")
        values = getattr(values, "dt", values).tz_localize(None)
    if kind == "M":
        values = values.astype("datetime64[ns]").astype("int64") / 1e9
    elif kind == "m":
        values = values.astype("timedelta64[ns]").astype("int64") / 1e9
    accepted = "numbers, times of a clock (datetime, or text in ISO 8601), or None"

    def refused(what: str, value: Any) -> Exception:
        text = f'column "{name}" of a trace {what}; expected {accepted}'
        return refusal(text, name=name, value=value, accepted=accepted)

    numbers = []
    texts = []
    try:
        for one in values:
            try:
                numbers.append(math.nan if _is_missing(one) else _seconds(one))
            except (TypeError, ValueError):
                numbers.append(math.nan)
                texts.append(one)
    except TypeError:
        raise refused(f"is of the type {type(values).__name__}", values) from None
    is_text = all(isinstance(one, str) for one in texts) and not any(map(math.isfinite, numbers))
    if texts and not (is_text and _is_other(name)):
        raise refused(f"has {texts[0]!r}", texts[0])
    return [one if math.isfinite(one) else None for one in numbers]


#: Beginnings of words in the names of columns that have numbers or times.
_NUMBERS = re.compile(
    r"(^|[^a-z])(time|date|rate|band|bw|bit|through|good|capac|delay|laten|owd|rtt|ping|loss|plr"
    r"|down|up|dl|ul|sec|elapsed|t$)"
)


def _is_other(name: str) -> bool:
    """Whether a column is none of numbers or times by its name."""
    return _NUMBERS.search(name.lower()) is None


def _seconds(value: Any) -> float:
    """A number, or a duration or a time of a clock in seconds; without a time zone it is of UTC."""
    from datetime import UTC, datetime, timedelta

    if isinstance(value, timedelta):
        return value.total_seconds()
    try:
        return float(value)
    except (TypeError, ValueError):
        clock = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return clock.replace(tzinfo=clock.tzinfo or UTC).timestamp()
