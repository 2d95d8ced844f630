"""The looks of the lines of results: where two columns tell lines apart, one has the colours, and
the other one the line styles and markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from midflight.plot.style import SERIES, Look, looks_of

#: With more lines the legend has the colours and the line styles, not every line.
_MOST_ENTRIES = 5

__all__ = ["few_entries", "line_looks"]

#: Flows have no colours where something else does.
_FLOW = "flow"
#: The looks whose line styles and markers tell values apart that have the same colour.
_STYLES = SERIES[:4]


def line_looks(
    by: Sequence[str], keys: Sequence[Sequence[str]], labels: Sequence[str]
) -> list[tuple[Look, int]]:
    """Return the look of each line, and the place in `SERIES` of the look of its line style, by the
    values that it has in the columns `by`, and its label.

    A value of the first column with several values but flows has one colour in all lines, and a
    combination of the values of the others one line style and marker. Lines that these cannot tell
    apart, and those that differ in one column, have the looks of their labels (`looks_of`).
    """
    usual = [(SERIES[one], one) for one in looks_of(labels)]
    if any(len(key) != len(by) for key in keys):
        return usual
    varied = [place for place in range(len(by)) if len({key[place] for key in keys}) > 1]
    coloured = next((place for place in varied if by[place] != _FLOW), None)
    others = [place for place in varied if place != coloured]
    if coloured is None or not others:
        return usual
    values = list(dict.fromkeys(key[coloured] for key in keys))
    rest = list(dict.fromkeys(tuple(key[place] for place in others) for key in keys))
    if len(values) > len(SERIES) or len(rest) > len(_STYLES):
        return usual
    colours = dict(zip(values, looks_of(values), strict=True))
    found = []
    for key in keys:
        style = rest.index(tuple(key[place] for place in others))
        colour = SERIES[colours[key[coloured]]].colour
        found.append((replace(_STYLES[style], colour=colour), style))
    return found


def few_entries(
    by: Sequence[str], keys: Sequence[Sequence[str]], looks: Sequence[Look]
) -> dict[str, Any]:
    """Return the entries of a legend that has the colours of one column and, in grey, the line
    styles of another one in place of an entry for each line; none if lines are few, or if not all
    combinations are lines that differ so.
    """
    from matplotlib.lines import Line2D

    varied = [place for place in range(len(by)) if len({key[place] for key in keys}) > 1]
    coloured = next((place for place in varied if by[place] != _FLOW), None)
    rest = [place for place in varied if place != coloured]
    if len(keys) <= _MOST_ENTRIES or coloured is None or len(rest) != 1:
        return {}
    colours = {key[coloured]: look.colour for key, look in zip(keys, looks, strict=True)}
    styles = {key[rest[0]]: look for key, look in zip(keys, looks, strict=True)}
    told = {(look.colour, look.line, look.marker) for look in looks}
    is_apart = len({*colours.values()}) == len(colours) and len(told) == len(keys)
    alike = all(
        look.colour == colours[key[coloured]] and look.line == styles[key[rest[0]]].line
        for key, look in zip(keys, looks, strict=True)
    )
    if not is_apart or not alike or {*colours} & {*styles}:
        return {}
    found: dict[str, Any] = {}
    for name, colour in colours.items():
        found[name] = Line2D([], [], color=colour, linewidth=2.2)
    for name, look in styles.items():
        how: Any = {"linestyle": look.line, "marker": look.marker, "markersize": look.size}
        how["markerfacecolor"] = "0.35" if look.filled else "white"
        found[name] = Line2D([], [], color="0.35", linewidth=1.0, **how)
    return found
