"""The looks of lines: of results where two columns tell lines apart, of which one has the colours,
and the other one the line styles and markers; and of runs over time with several flows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from midflight.plot.common.style import LINKS, SERIES, Look, axis_of, looks_of

#: With more lines the legend has the colours and the line styles, not every line.
_MOST_ENTRIES = 5

__all__ = [
    "few_entries",
    "is_of_schemes",
    "line_looks",
    "line_named_by",
    "link_look",
    "look_of",
    "looks_of_flows",
    "of_same_colour",
    "plain_look",
    "schemes_apart",
]

#: Flows have no colours where something else does.
_FLOW = "flow"
#: The ends of the names of columns whose values have their own looks in all figures.
_OF_SCHEMES = ("scheme", "cc", "stack", "congestion")

#: The colours of numbers, and the part of them that is neither black nor too light on white.
_SCALE, _DARKEST, _LIGHTEST = "magma", 0.2, 0.75

_Line = TypeVar("_Line", bound=Any)

#: The looks whose line styles and markers tell values apart that have the same colour.
_STYLES = SERIES[:4]


def line_looks(
    by: Sequence[str], keys: Sequence[Sequence[str]], labels: Sequence[str]
) -> list[tuple[Look, int]]:
    """Return the look of each line, and the place in `SERIES` of the look of its line style, by the
    values that it has in the columns `by`, and its label.

    A value of the column of schemes, or else of the first one with several values but flows, has
    one colour in all lines (numbers those of a scale), and a combination of the values of the
    others one line style and marker, which that of a single column has in all figures of a sweep.
    Lines that these cannot tell apart, and those that differ in one column, have the looks of their
    labels, or of their values of the last column (`looks_of`); if it has numbers, with the colours
    of the scale. A value of an axis of a sweep has the look that it has among all values of it.
    """
    usual = [(SERIES[one], one) for one in looks_of(_values(keys) or labels)]
    if all(len(key) == len(by) for key in keys) and len(varied := _varied(by, keys)) == 1:
        shades = _colours([key[varied[0]] for key in keys])
        usual = [
            (replace(look, colour=one), n) for (look, n), one in zip(usual, shades, strict=True)
        ]
    if any(len(key) != len(by) for key in keys):
        return usual
    coloured, others = _coloured(by, keys)
    if coloured is None or not others:
        return usual
    values = list(dict.fromkeys(key[coloured] for key in keys))
    rest = list(dict.fromkeys(tuple(key[place] for place in others) for key in keys))
    if len(values) > len(SERIES) or len(rest) > len(_STYLES):
        return usual
    colours = dict(zip(values, _colours(values), strict=True))
    every = rest
    if len(others) == 1:
        every = [(one,) for one in axis_of([one for one, *_ in rest])]
    styles = every if len(every) <= len(_STYLES) else rest
    found = []
    for key in keys:
        style = styles.index(tuple(key[place] for place in others))
        found.append((replace(_STYLES[style], colour=colours[key[coloured]]), style))
    return found


def _values(keys: Sequence[Sequence[str]]) -> list[str]:
    """The last values of lines, if these differ and are values of an axis of a sweep."""
    values = [key[-1] for key in keys if key]
    is_one_each = len({*values}) == len(values) == len(keys)
    return values if is_one_each and axis_of(values) is not values else []


def _coloured(by: Sequence[str], keys: Sequence[Sequence[str]]) -> tuple[int | None, Sequence[int]]:
    """The place of the column that has the colours, and those of the others with several values."""
    varied = _varied(by, keys)
    some = [place for place in varied if by[place] != _FLOW]
    coloured = next((one for one in some if is_of_schemes(by[one])), next(iter(some), None))
    return coloured, [place for place in varied if place != coloured]


def _varied(by: Sequence[str], keys: Sequence[Sequence[str]]) -> list[int]:
    """The places of the columns with several values."""
    return [place for place in range(len(by)) if len({key[place] for key in keys}) > 1]


def _colours(values: Sequence[str]) -> list[str]:
    """The colours of different values: of numbers those of a scale, lighter ones for larger ones,
    so that none is taken for the one of a scheme; of others those of their looks.
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    from midflight.plot.results.places import axis_places

    among = list(dict.fromkeys(axis_of(values)))
    if len(among) > len(SERIES):
        # Neighbours of so many could not be told apart.
        among = list(dict.fromkeys(values))
    places, names, _ = axis_places(among, "")
    if names is not None or len({*places.values()}) < len(among):
        return [SERIES[one].colour for one in looks_of(values)]
    ordered = sorted(among, key=places.__getitem__)
    step = (_LIGHTEST - _DARKEST) / (len(among) - 1)
    steps = {one: _DARKEST + step * n for n, one in enumerate(ordered)}
    return [to_hex(colormaps[_SCALE](steps[one])) for one in values]


def is_of_schemes(column: str) -> bool:
    """Whether a column has schemes, stacks or congestion controllers, or whole flows."""
    table, _, rest = column.partition(".")
    is_flow = table == "flows" and rest != "" and "." not in rest
    return is_flow or column.rpartition(".")[2] in _OF_SCHEMES


def schemes_apart(
    column: str, categories: Sequence[str] | None, lines: Sequence[_Line]
) -> list[tuple[_Line, Look, int]]:
    """Return what is at each place of a single line over an axis of schemes (`column`) as a line of
    its own, with the look that this scheme has in all figures and its place in `SERIES`; it has no
    label, as the axis names it. Of other lines nothing.

    A line is a dataclass with a `label`, and lists with an entry for each place.
    """
    if not is_of_schemes(column) or len(lines) != 1:
        return []
    if categories is None or len(categories) > len(SERIES):
        return []
    (line,) = lines
    lists = [one.name for one in fields(line) if isinstance(getattr(line, one.name), list)]
    looks = looks_of(categories)
    found = []
    for at, place in enumerate(line.x):
        own = {name: getattr(line, name)[at : at + 1] for name in lists}
        number = looks[int(place)]
        found.append((replace(line, label="", **own), SERIES[number], number))
    return found


def line_named_by(label: str, x_title: str) -> list[str]:
    """Return what a title has to say in place of the legend of `schemes_apart`: the label of the
    line, if the axis does not have it.
    """
    return [] if label in ("", *x_title.split()) else [label]


def look_of(place: int) -> Look:
    """Return the look of a place: one of `SERIES`, or beyond its end the colour of one of them with
    the line style and the marker of another one (`of_same_colour`), or the look of a link
    (`link_look`).
    """
    style, plain = divmod(place, len(SERIES))
    if style > len(SERIES):
        return LINKS[plain]
    return SERIES[plain] if style == 0 else replace(SERIES[style - 1], colour=SERIES[plain].colour)


def link_look(number: int, *, is_other_way: bool = False) -> int:
    """Return the place of the look of a link by its number in its scenario: in all figures of that
    it has the same.
    """
    each = len(LINKS) // 2
    return len(SERIES) * (len(SERIES) + 1) + number % each + each * is_other_way


def plain_look(place: int) -> int:
    """Return the place in `SERIES` of the colour of a look."""
    return place % len(SERIES)


def of_same_colour(look: int, style: int) -> int:
    """Return the place of a look with the colour of another one, and the line style and the marker
    of the place `style` in `SERIES`.
    """
    return len(SERIES) * (style + 1) + plain_look(look)


def looks_of_flows(senders: Sequence[str], flows: Sequence[str]) -> list[int]:
    """Return for each line over time, with its sender (a scheme, a value) and its flow, the place
    of its look (`look_of`).

    Several flows of one of several senders have its colour, and each flow a line style and a
    marker, none of a sender with a single line. With more flows than there are styles, and without
    names of senders, each line has its own colour (`looks_of`).
    """
    lines, names = Counter(senders), list(dict.fromkeys(senders))
    several = [sender for sender in names if lines[sender] > 1]
    if len(names) == 1 or not several or max(lines.values()) > len(_STYLES):
        return looks_of(senders)
    colours = dict(zip(names, looks_of(names), strict=True))
    each = list(zip(senders, flows, strict=True))
    # A flow has the same style with all senders, if there are enough.
    shared = list(dict.fromkeys(flow for sender, flow in each if sender in several))
    taken = {colours[sender] for sender in names if sender not in several}
    styles = [one for one in range(len(SERIES)) if one not in taken]
    found = []
    for sender, flow in each:
        if sender not in several:
            found.append(colours[sender])
            continue
        own = [one for name, one in each if name == sender]
        style = (shared if len(shared) <= len(_STYLES) else own).index(flow)
        found.append(of_same_colour(colours[sender], styles[style]))
    return found


def few_entries(
    by: Sequence[str], keys: Sequence[Sequence[str]], looks: Sequence[Look]
) -> dict[str, Any]:
    """Return the entries of a legend that has the colours of one column and, in grey, the line
    styles of another one in place of an entry for each line; none if lines are few, or if not all
    combinations are lines that differ so.
    """
    from matplotlib.lines import Line2D

    coloured, rest = _coloured(by, keys)
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
