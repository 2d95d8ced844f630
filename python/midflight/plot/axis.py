"""Quartiles of what a sweep measured over one of its axes, from a folder of results or any table.

A table has a row for each run (and flow, and phase), a column for each axis, named by the axis's
key, and columns of measurements (`flows.csv`, `phases.csv`).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from midflight.plot.quartiles import mark_endless
from midflight.plot.style import (
    COLUMN_IN,
    LOOKS,
    Look,
    check_format,
    figure_bytes,
    style,
    text_width,
)
from midflight.results import Quartiles, quartiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from midflight._core import Table

__all__ = ["AxisData", "axis_data", "axis_figure", "plot_axis", "read_columns"]

Columns: TypeAlias = Mapping[str, Sequence[Any]]

#: Tables of a folder of results, in the order in which a measurement is looked for.
TABLES = ("flows", "phases")

#: Units by what they measure, as factors of the first of them.
_UNITS: Sequence[Mapping[str, float]] = (
    {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    {"Mbit/s": 1.0, "kbit/s": 1e-3, "bit/s": 1e-6, "Gbit/s": 1e3},
    {"MB": 1.0, "kB": 1e-3, "B": 1e-6, "GB": 1e3, "bytes": 1e-6, "byte": 1e-6},
    {"packets": 1.0, "packet": 1.0},
    {"bdp": 1.0},
    {"%": 1.0},
    {"": 1.0},
)
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z/%]*)\s*")
#: With fewer values, or more series, whiskers say more than bands.
_LEAST_FOR_BANDS, _MOST_BANDS = 8, 3
_MOST_MARKERS = 25
#: Looks in the order in which lines take them: as different as they can be first.
_LOOKS: Sequence[Look] = [
    LOOKS[name]
    for name in (
        "solid circle",
        "dashed square",
        "dotted triangle",
        "dashed-dark square",
        "solid-light circle",
        "solid square",
        "dashed circle",
        "dashed-dark circle",
        "solid-light square",
    )
]


@dataclass
class Line:
    """The quartiles of one series, in the order of the axis."""

    label: str
    x: list[float] = field(default_factory=list)
    points: list[Quartiles] = field(default_factory=list)
    #: Runs at each point, and those of them that have no value.
    runs: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class AxisData:
    """What is drawn: series over an axis, which is of numbers or of names (`categories`)."""

    x_title: str
    y_title: str
    lines: Sequence[Line]
    categories: Sequence[str] | None = None


def plot_axis(
    source: str | Path | Columns | Table,
    path: str | Path,
    *,
    x: str,
    y: str,
    by: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
) -> Path:
    """Draw the quartiles of a measurement over an axis into a .png, .svg or .pdf file; return it.

    `source` is a folder of results, a CSV or Parquet file, columns by their names, or a
    `Table`. `x` is the column along the axis, such as "handoffs.0.at"; `y` the measurement, of
    which times (`_ns`) are shown in seconds and rates (`_bps`) in Mbit/s; there is a line for
    each value of the columns `by` (default: of the flow's name, if there are several). `where`
    keeps the rows with these values. A time that is missing, of a run that did not finish,
    counts as longer than every other; other missing values are left out.

    Raises `MidflightError` for what is not accepted, `OSError` for what cannot be read or written.
    """
    path = Path(path)
    suffix = check_format(path)
    if isinstance(source, str | Path):
        columns = read_columns(source, y)
    elif isinstance(source, Mapping):
        columns = source
    else:
        columns = {name: source.column(name) for name in source.column_names}
    figure = axis_figure(axis_data(columns, x=x, y=y, by=by, where=where))
    path.write_bytes(figure_bytes(figure, suffix))
    return path


def read_columns(source: str | Path, y: str) -> Columns:
    """Return the columns of a table, or of that in a folder of results which has a measurement."""
    from midflight import MidflightError

    place = Path(source)
    if not place.is_dir():
        return _read_table(place)
    seen: list[str] = []
    for name in TABLES:
        for suffix in (".parquet", ".csv"):
            file = place / f"{name}{suffix}"
            if not file.is_file() or (suffix == ".parquet" and not _has_pyarrow()):
                continue
            columns = _read_table(file)
            if y in columns:
                return columns
            seen += [one for one in columns if one not in seen]
            break
    if not seen:
        raise MidflightError(
            f'"{place}" is no folder of results: it has neither {" nor ".join(TABLES)} '
            "as .csv or .parquet"
        )
    raise MidflightError(f'--y: there is no column "{y}"; there are {", ".join(seen)}')


def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def _read_table(file: Path) -> Columns:
    """Return the columns of a CSV or Parquet file."""
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(file)
        return {name: table.column(name).to_pylist() for name in table.column_names}
    with file.open(newline="", encoding="utf-8") as text:
        reader = csv.reader(text)
        names = next(reader, [])
        rows = list(reader)
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def axis_data(
    columns: Columns,
    *,
    x: str,
    y: str,
    by: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
) -> AxisData:
    """Return the quartiles that `plot_axis` draws."""
    from midflight import MidflightError

    where = dict(where or {})
    options = {x: "--x", y: "--y"} | dict.fromkeys(by, "--by") | dict.fromkeys(where, "--where")
    for name, option in options.items():
        if name not in columns:
            raise MidflightError(
                f'{option}: there is no column "{name}"; there are {", ".join(columns)}'
            )
    rows = list(range(len(columns[y])))
    for name, value in where.items():
        present = dict.fromkeys(_text(one) for one in columns[name])
        rows = [row for row in rows if _text(columns[name][row]) == value]
        if not rows:
            raise MidflightError(
                f'--where {name}={value}: no row has that; "{name}" is {_some(present)}'
            )
    flows = {columns["flow"][row] for row in rows} if "flow" in columns else set()
    if not by and x != "flow" and len(flows) > 1:
        by = ["flow"]
    values = {row: _number(columns[y][row], y) for row in rows}
    texts = list(dict.fromkeys(_text(columns[x][row]) for row in rows))
    places, categories, unit = _axis(texts)
    grouped: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        label = ", ".join(_text(columns[name][row]) for name in by)
        grouped.setdefault(label, {}).setdefault(_text(columns[x][row]), []).append(values[row])
    if len(grouped) > len(_LOOKS):
        raise MidflightError(
            f"{len(grouped)} lines cannot be told apart; a figure has up to {len(_LOOKS)}: "
            "keep fewer with --where, or give another --by"
        )
    is_time, lines = y.endswith("_ns"), []
    for label, found in grouped.items():
        line = Line(label)
        for text in sorted(found, key=lambda text: places[text]):
            known = [one for one in found[text] if not math.isnan(one)]
            if not known and not is_time:
                continue
            line.x.append(places[text])
            line.points.append(quartiles(found[text] if is_time else known))
            line.runs.append(len(found[text]))
            line.missing.append(len(found[text]) - len(known))
        lines.append(line)
    return AxisData(_titled(x, unit), _y_title(y), lines, categories)


def _text(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _some(values: Iterable[str], most: int = 12) -> str:
    values = list(values)
    return ", ".join(values[:most]) + (" ..." if len(values) > most else "")


def _number(value: Any, name: str) -> float:
    """A measurement in the unit that it is shown in; nan where it is missing."""
    from midflight import MidflightError

    if value is None or value == "":
        return math.nan
    scale = 1e-9 if name.endswith("_ns") else 1e-6 if name.endswith("_bps") else 1.0
    try:
        return float(value) * scale
    except ValueError:
        raise MidflightError(
            f'--y: "{name}" has no numbers, but for example "{value}"; '
            "a measurement is such as duration_ns"
        ) from None


def _y_title(name: str) -> str:
    for suffix, unit in (("_ns", "s"), ("_bps", "Mbit/s"), ("_s", "s")):
        if name.endswith(suffix):
            return f"{name.removesuffix(suffix).replace('_', ' ').capitalize()} ({unit})"
    return name.replace("_", " ").capitalize()


def _titled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _axis(texts: Sequence[str]) -> tuple[dict[str, float], Sequence[str] | None, str]:
    """The place of each value on the axis; its names if they are no numbers; the unit."""
    found = [_QUANTITY.fullmatch(text) for text in texts]
    for units in _UNITS:
        if texts and all(match and match[2] in units for match in found):
            exact = {m[0]: float(m[1]) * units[m[2]] for m in found if m}
            # Shown in the unit of most values.
            used = [m[2] for m in found if m]
            unit = max(units, key=used.count)
            places = {text: exact[text] / units[unit] for text in texts}
            return places, None, unit
    return {text: float(place) for place, text in enumerate(texts)}, list(texts), ""


def axis_figure(data: AxisData) -> Figure:
    """Return the figure of `plot_axis`."""
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(COLUMN_IN * 1.25, 2.9))
        axes = figure.add_subplot()
        finite = [
            value
            for line in data.lines
            for point in line.points
            for value in point
            if math.isfinite(value)
        ]
        top = 1.06 * max(finite, default=1.0) or 1.0
        values = max((len(line.x) for line in data.lines), default=0)
        bands = (
            data.categories is None
            and values >= _LEAST_FOR_BANDS
            and len(data.lines) <= _MOST_BANDS
        )
        step = _dodge(data)
        for number, (line, look) in enumerate(zip(data.lines, _LOOKS, strict=False)):
            offset = 0.0 if bands else (number - (len(data.lines) - 1) / 2) * step
            joined = data.categories is None
            _line(axes, line, look, np.array(line.x) + offset, top, bands=bands, joined=joined)
        if data.categories is not None:
            _name_categories(axes, data.categories)
        axes.set_ylim(min(0.0, 1.06 * min(finite, default=0.0)), top)
        axes.set_xlabel(data.x_title)
        axes.set_ylabel(data.y_title)
        if len(data.lines) > 1:
            widest = max(text_width(line.label, 6.5) for line in data.lines) + 40
            columns = max(1, min(len(data.lines), int(COLUMN_IN * 1.25 * 72 / widest)))
            figure.legend(loc="outside upper center", ncols=columns)
    return figure


def _dodge(data: AxisData) -> float:
    """How far the series of one value stand apart, in the unit of the axis."""
    if data.categories is not None:
        return min(0.17, 0.6 / max(1, len(data.lines)))
    values = sorted({x for line in data.lines for x in line.x})
    if len(values) < 2:
        return 0.0
    return (values[-1] - values[0]) * 0.012


def _name_categories(axes: Axes, categories: Sequence[str]) -> None:
    room = (COLUMN_IN * 1.25 - 0.6) * 72 / max(1, len(categories))
    turned = any(text_width(name, 7) > room for name in categories)
    axes.set_xticks(
        range(len(categories)),
        list(categories),
        rotation=30 if turned else 0,
        ha="right" if turned else "center",
        rotation_mode="anchor",
    )
    axes.set_xlim(-0.5, len(categories) - 0.5)
    axes.tick_params(axis="x", length=0)


def _line(
    axes: Axes, line: Line, look: Look, x: Any, top: float, *, bands: bool, joined: bool
) -> None:
    """Draw the median of one series, and its quartiles as a band or as whiskers.

    Between names there is nothing, so that a line over names is not `joined`.
    """
    data = np.array(line.points, dtype=float).reshape(-1, 3)
    q1, median, q3 = np.minimum(data, 1.02 * top).T
    every = max(1, math.ceil(len(x) / _MOST_MARKERS))
    axes.plot(
        x,
        median,
        color=look.colour,
        linestyle=look.line if joined else "none",
        linewidth=1.0,
        marker=look.marker,
        markersize=look.size * (0.75 if bands else 1),
        markevery=every,
        markerfacecolor=look.colour if look.filled else "white",
        markeredgecolor=look.colour,
        markeredgewidth=0.9,
        label=line.label,
        zorder=4,
    )
    if bands:
        axes.fill_between(x, q1, q3, color=look.colour, alpha=0.18, linewidth=0, zorder=2)
        for edge in (q1, q3):
            axes.plot(x, edge, color=look.colour, linestyle=look.line, linewidth=0.35, zorder=3)
    else:
        axes.errorbar(
            x,
            median,
            yerr=np.vstack([median - q1, q3 - median]),
            fmt="none",
            ecolor=look.colour,
            elinewidth=0.9,
            capsize=2.0,
            capthick=0.9,
            zorder=3,
        )
    mark_endless(axes, x, data[:, 2], top, look)
