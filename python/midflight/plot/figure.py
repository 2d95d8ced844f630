"""Common code of the figures of runs and of results: writing, labels and layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.plot.style import (
    arrange,
    check_format,
    chosen_style,
    figure_bytes,
    legend,
    typeset,
    wrapped,
    write_csv,
)
from midflight.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SCALES", "SMALL_PT", "check_scale", "finish_panels", "label_axes", "write_figure"]

#: Size of the letters of what is said beside a plot.
SMALL_PT = 6.5
#: The scales of an axis.
SCALES = ("linear", "log")


def check_scale(option: str, scale: str | None) -> None:
    """Raise `MidflightError` for a scale that does not exist; None is the usual one."""
    if scale not in (None, *SCALES):
        accepted = " or ".join(SCALES)
        raise refusal(
            f'{option} "{scale}" is not accepted; expected {accepted}',
            name=option,
            value=scale,
            accepted=accepted,
        )


def write_figure(
    path: str | Path,
    draw: Callable[[], Figure],
    table: Iterable[Sequence[object]],
    *,
    look: str | None,
    font: str | None,
    csv: str | Path | None,
) -> Path:
    """Draw a figure in a style, write it, and write the table with its head if a file is given.

    Nothing is written if it cannot be drawn. Returns the path of the figure.
    """
    path = Path(path)
    suffix = check_format(path)
    with chosen_style(look, font):
        drawn = figure_bytes(draw(), suffix)
    path.write_bytes(drawn)
    if csv is not None:
        head, *rows = table
        write_csv(Path(csv), [str(one) for one in head], rows)
    return path


def label_axes(
    figure: Figure,
    axes: Axes,
    x_title: str,
    y_title: str,
    lines_title: str,
    *,
    title: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    remark: str = "",
    detail: str = "",
) -> None:
    """Write what the axes are, wrapped to the figure, and name the lines above them.

    `title`, `xlabel` and `ylabel` are the user's texts, which may have mathematics between dollar
    signs; the labels replace the titles of the axes. `remark` stands below the title. `detail` says
    what the marks are, such as "medians and quartiles", in small letters.
    """
    width, height = figure.get_size_inches()
    for put, option, given, text, room in (
        (axes.set_xlabel, "--xlabel", xlabel, x_title, width - 0.6),
        (axes.set_ylabel, "--ylabel", ylabel, y_title, height - 0.9),
    ):
        is_math = given is not None
        shown = text if given is None else typeset(option, given)
        put(wrapped(shown, 7.5, room * 72), parse_math=is_math)
    # The dollar signs of data are no mathematics.
    above = "\n".join(filter(None, (typeset("--title", title or ""), remark.replace("$", r"\$"))))
    axes.set_title(wrapped(above, 7.5, (width - 0.6) * 72), parse_math=True)
    if detail:
        # Above it stands the title, if there is one.
        detail = wrapped(detail, SMALL_PT, (width - 0.6) * 72)
        how: Any = {"fontsize": SMALL_PT, "color": "0.35", "parse_math": False}
        places: Any = {"xycoords": "axes fraction", "textcoords": "offset points"}
        places |= {"ha": "right", "va": "bottom", "annotation_clip": False}
        axes.annotate(detail, (1.0, 1.0), xytext=(0, 2), **places, **how)
        pad = 4 + 1.3 * SMALL_PT * len(detail.splitlines())
        axes.set_title(axes.get_title(), pad=pad)
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        entries = dict(zip(labels, handles, strict=True))
        legend(figure, entries, loc="outside upper center", title=lines_title)


def finish_panels(figure: Figure, entries: Mapping[str, Any], title: str | None) -> None:
    """Put a title above panels over time and a legend below them, and give them their places."""
    if title:
        room = (figure.get_size_inches()[0] - 0.6) * 72
        figure.suptitle(wrapped(typeset("--title", title), 7.5, room), parse_math=True)
    legend(figure, entries, loc="outside lower center", most=6)
    arrange(figure)
