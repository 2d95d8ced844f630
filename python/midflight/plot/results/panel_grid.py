"""Panels of a figure of results in rows, with what is written around them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from midflight.plot.common.band_above import make_room_above, room_above
from midflight.plot.common.coincide import usual_line
from midflight.plot.common.figure import is_only_line, label_panels, only_line_words
from midflight.plot.common.legends import legend
from midflight.plot.common.style import PAGE_IN, Size, size_in
from midflight.remark import ScenarioWarning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Grid", "warn_dense"]

#: The most panels in a row, and the least width of one in inches.
_MOST_IN_ROW, _PANEL_IN = 3, 1.4
#: The height of a row of panels by the kind, that of one as wide as the figure, and the room for
#: the legend and the texts, in inches.
_ALONE_IN, _AROUND_IN = 1.2, 0.8
_ROWS_IN = {"cdf": 1.5, "box": 1.8, "interval": 1.8, "median": 1.8}
#: Panels with more lines have higher rows, and two in a row of a page, if there are no more than so
#: many panels; narrower ones with so many lines cannot be read.
_MOST_LINES, _HIGHER_IN, _MOST_IN_PAIRS, _DENSE_IN = 5, 2.0, 8, 1.9
#: What is beside and below the panels of a figure that has one, in inches.
_BESIDE_IN, _BELOW_IN = 0.6, 0.9


@dataclass(frozen=True)
class Grid:
    """The panels of a figure of a kind, in rows, which share axes but for those that are own."""

    figure: Figure
    panels: Sequence[Axes]
    kind: str
    in_row: int
    room_in: tuple[float, float]
    own_x: bool
    own_y: bool
    size: Size | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        count: int,
        size: Size | None,
        *,
        in_row: int = 0,
        lines: int = 0,
        own_x: bool = False,
        own_y: bool = False,
    ) -> Grid:
        """Return one with so many panels, `in_row` if there is room, which share an axis or have
        own ones; the panels of shares have up to so many `lines`.
        """
        from matplotlib.figure import Figure

        width = size_in(size, (PAGE_IN, _ROWS_IN[kind]))[0]
        is_dense = kind == "cdf" and lines > _MOST_LINES
        most = 2 if is_dense and count <= _MOST_IN_PAIRS else _MOST_IN_ROW
        is_usual = not 0 < in_row <= _room(width)
        in_row = _in_row(count, width, most) if is_usual else in_row
        rows = math.ceil(count / in_row)
        row_in = _ALONE_IN if is_usual and in_row == 1 < count else _ROWS_IN[kind]
        if is_dense:
            row_in = _HIGHER_IN
            if (width - _BESIDE_IN) / in_row < _DENSE_IN:
                warn_dense(f"{lines} lines in each of {count} panels", width)
        width, height = size_in(size, (PAGE_IN, row_in * rows + _AROUND_IN))
        figure = Figure(figsize=(width, height))
        how: Any = {"squeeze": False, "sharex": not own_x, "sharey": not own_y}
        grid = figure.subplots(rows, in_row, **how).flatten()
        for axes in grid[count:]:
            axes.remove()
        room = (width - _BESIDE_IN) / in_row, (height - _AROUND_IN) / rows
        return cls(figure, list(grid[:count]), kind, in_row, room, own_x, own_y, size)

    @property
    def panel_in(self) -> tuple[float, float]:
        """The size of a figure of one panel with as much room, in inches."""
        return self.room_in[0] + _BESIDE_IN, self.room_in[1] + _BELOW_IN

    def _rows(self) -> list[Sequence[Axes]]:
        starts = range(0, len(self.panels), self.in_row)
        return [self.panels[first : first + self.in_row] for first in starts]

    def _raise_names(self) -> None:
        """Put the names of the panels of a row as high as the marks above one of them need."""
        from matplotlib.transforms import ScaledTranslation

        for row in self._rows():
            if above := max(map(room_above, row)):
                raised = ScaledTranslation(0, above / 72, self.figure.dpi_scale_trans)
                for axes in row:
                    axes.title.set_transform(axes.title.get_transform() + raised)

    def finish(
        self,
        x_title: str,
        y_title: str,
        lines_title: str,
        *,
        entries: Mapping[str, Any] | None = None,
        **texts: Any,
    ) -> None:
        """Write what the axes and the lines are, by these `entries` or the lines themselves, with
        the `texts` of `label_panels`.
        """
        lines: dict[str, Any] = {}
        named = []
        for place, axes in enumerate(self.panels):
            # Each column ends with a panel that has numbers.
            is_last, is_first = place + self.in_row >= len(self.panels), place % self.in_row == 0
            axes.tick_params(labelbottom=is_last or self.own_x, labelleft=is_first or self.own_y)
            # Of panels below each other the one in the middle has the title for all.
            is_titled = is_first if self.in_row > 1 else place == len(self.panels) // 2
            named.append((axes, x_title if is_last else "", y_title if is_titled else ""))
            handles, labels = axes.get_legend_handles_labels()
            lines |= dict(zip(labels, map(usual_line, handles), strict=True))
        make_room_above(self.figure, self._rows(), self.size)
        across, up = self.room_in
        names = [*(entries or lines)]
        is_alone = is_only_line(names)
        if is_alone:
            remark = only_line_words(names[0], lines_title, x_title, texts.get("remark", ""))
            texts = {**texts, "remark": remark}
        label_panels(self.figure, named, (across * 72, up * 72), self.kind, **texts)
        self._raise_names()
        if not is_alone:
            legend(self.figure, entries or lines, loc="outside upper center", title=lines_title)


def _room(width_in: float) -> int:
    """How many panels have room in a row of a figure so wide."""
    return max(1, int((width_in - 0.5) / _PANEL_IN))


def warn_dense(what: str, width_in: float) -> None:
    """Say that so much in a figure so wide is hard to read, and what to do."""
    wider = "" if width_in >= PAGE_IN else ", and --size double has more room"
    warnings.warn(
        f"{what} in {width_in:g} in are hard to read: --where COLUMN=VALUE, repeated, keeps some "
        f"of the values{wider}",
        ScenarioWarning,
        stacklevel=2,
    )


def _in_row(count: int, width_in: float, most_in_row: int = _MOST_IN_ROW) -> int:
    """The number of panels in a row of a figure so wide: three are not two and one, and none is
    alone in the last row if each of the others has room for one more.
    """
    room = _room(width_in)
    most = min(most_in_row, room)
    if count == _MOST_IN_ROW > most:
        return 1
    if most == _MOST_IN_ROW < room and count > most and count % most == 1 and count != most + 1:
        return most + 1
    return math.ceil(count / math.ceil(count / most))
