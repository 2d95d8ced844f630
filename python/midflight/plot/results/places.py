"""The places of the values of an axis: numbers in one unit, or names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from midflight.plot.common.names import SCALES, counted_of, with_unit

__all__ = [
    "QUANTITY",
    "axis_places",
    "change_unit",
    "place_title",
    "shared_words",
    "spaced",
    "unit_of",
    "zero_name",
]

#: Units of each quantity, as factors of the first one.
_UNITS: Sequence[Mapping[str, float]] = (
    {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    {"Mbit/s": 1.0, "kbit/s": 1e-3, "bit/s": 1e-6, "Gbit/s": 1e3},
    {"MB": 1.0, "kB": 1e-3, "B": 1e-6, "GB": 1e3, "bytes": 1e-6, "byte": 1e-6},
    {"packets": 1.0, "packet": 1.0},
    {"bdp": 1.0},
    {"%": 1.0},
    {"": 1.0},
)
QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z/%]*)\s*")
#: Words before a number.
_WORDS = re.compile(r"(?:[A-Za-z][\w-]*\s+)+(?=[-+.\d])")
#: What stands for no quantity.
_NO_NUMBER = ("none", "off")


def spaced(text: str) -> str:
    """Return a quantity, such as `20ms`, with a space before its unit; other texts as they are."""
    match = QUANTITY.fullmatch(text)
    if match is None or not any(match[2] in units for units in _UNITS):
        return text
    return f"{match[1]} {match[2]}".strip()


def unit_of(name: str) -> tuple[str, float]:
    """The unit in which a column is shown, and its size in units of the column."""
    return next((SCALES[end] for end in SCALES if name.endswith(end)), ("", 1.0))


def change_unit(name: str) -> tuple[str, float]:
    """The unit of a difference of values of a column, of counts what they count, and its size in
    units of the column.
    """
    unit, scale = unit_of(name)
    return unit or counted_of(name), scale


def axis_places(
    texts: Sequence[str], name: str
) -> tuple[dict[str, float], Sequence[str] | None, str]:
    """The place of each value on the axis; its names if they are no numbers; the unit.

    A number that stands alone makes no axis, and is a name. Words that all values begin with, such
    as "uniform" in `uniform 0.1%`, are no part of the numbers; `place_title` has them. Beside
    several numbers above 0 `none` has the place of 0 (`zero_name`).
    """
    if (zero := zero_name(texts, name)) and (rest := [one for one in texts if one != zero]):
        numbers, names, unit = axis_places(rest, name)
        if names is None and min(numbers.values()) > 0:
            return {text: numbers.get(text, 0.0) for text in texts}, None, unit
    words = len(shared_words(texts))
    found = [QUANTITY.fullmatch(text[words:]) for text in texts]
    for units in _UNITS:
        if len(texts) > 1 and all(match and match[2] in units for match in found):
            each = zip(texts, found, strict=True)
            exact = {text: float(m[1]) * units[m[2]] for text, m in each if m}
            # Shown in the unit of most values.
            used = [m[2] for m in found if m]
            unit = max(units, key=used.count)
            scaled = unit_of(name) if unit == "" else (unit, 1 / units[unit])
            return {text: exact[text] * scaled[1] for text in texts}, None, scaled[0]
    return {text: float(place) for place, text in enumerate(texts)}, list(texts), ""


def zero_name(texts: Iterable[str], name: str = "") -> str:
    """Return the value of an axis of numbers that is no number, as a gap or a loss of `none`; ""
    without one, or with several, and for a setting, where it may stand for no limit.
    """
    if "set" in name.split("."):
        return ""
    found = {*texts} & {*_NO_NUMBER}
    return found.pop() if len(found) == 1 else ""


def shared_words(texts: Sequence[str]) -> str:
    """Return the words that several values begin with before their numbers; "" without any."""
    found = {match[0] if (match := _WORDS.match(text)) else "" for text in texts}
    words = found.pop() if len(found) == 1 and len(texts) > 1 else ""
    # A number without a unit, as in "sender 1", is a part of a name.
    each = [QUANTITY.fullmatch(text[len(words) :]) for text in texts]
    return words if all(match and match[2] for match in each) else ""


def place_title(name: str, unit: str, texts: Iterable[str]) -> str:
    """Return the title of an axis of places, of its values as texts: "Loss of lte (%), uniform"."""
    texts = list(texts)
    has_names = axis_places(texts, "")[1] is not None
    numbers = [one for one in texts if one != zero_name(texts)]
    words = "" if has_names else shared_words(numbers).strip()
    return ", ".join(filter(None, (with_unit(name, unit), words)))
