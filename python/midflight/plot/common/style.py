"""The common parts of all figures: sizes, fonts, looks, and the writing of files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from midflight.argument import check_path
from midflight.plot.common.names import OF_THE_HANDOFF, column_name, within_text
from midflight.plot.common.relabel import relabelled, split_at, values_of_tables, with_words
from midflight.plot.common.widths import line_width
from midflight.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from midflight.plot.common.options import AxesChoice

__all__ = [
    "COLUMN_IN",
    "CORNERS",
    "DARK",
    "FONTS",
    "FORMATS",
    "LEGENDS",
    "LIGHT",
    "LINKS",
    "LOOKS",
    "MIDDLE",
    "MOST_IN",
    "PAGE_IN",
    "SERIES",
    "STYLES",
    "Drawing",
    "Look",
    "Marker",
    "Size",
    "arrange",
    "axis_of",
    "balanced",
    "captioned",
    "check_format",
    "chosen_axes",
    "chosen_style",
    "figure_bytes",
    "is_paper",
    "labelled",
    "legend_place",
    "lighter",
    "looks_of",
    "save",
    "short_label",
    "size_in",
    "style",
    "text_width",
    "typeset",
    "unused_labels",
    "usually",
    "wrapped",
    "write_csv",
]

COLUMN_IN = 3.5
PAGE_IN = 7.16

#: The size of a figure: "single" or "double" column, or inches: a width, or width and height
#: ("5", "5x3", 5.0, (5.0, 3.0)).
Size: TypeAlias = str | float | tuple[float, float]

_WIDTHS = {"single": COLUMN_IN, "double": PAGE_IN}
#: The sides of a figure, in inches.
_LEAST_IN, MOST_IN = 1.5, 40.0

_STYLE: Any = {
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "figure.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    # A million segments are written so.
    "axes.formatter.limits": (-4, 8),
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 6.5,
    "legend.title_fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.borderaxespad": 0.2,
    "legend.handletextpad": 0.8,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.0,
    "hatch.linewidth": 0.6,
    "figure.dpi": 100,
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "savefig.dpi": 300,
    # Text that can be searched and edited; publishers refuse the Type 3 fonts of a PDF.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "midflight",
    "figure.facecolor": "white",
    "axes.facecolor": "white",
}


#: Styles of figures: for a screen and a report, or for a paper (letters with serifs, the width of a
#: column, and a frame).
STYLES = ("plain", "paper")

_PAPER: Any = {
    "axes.spines.top": True,
    "axes.spines.right": True,
    "axes.grid": False,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "xtick.top": True,
    "ytick.right": True,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.0,
    "legend.labelspacing": 0.3,
}

#: The letters of a figure, all from files that come with matplotlib. Those of "latex" are Computer
#: Modern, as in LaTeX; missing letters are taken from the next font.
FONTS: Mapping[str, Any] = {
    "sans": {"font.family": ["DejaVu Sans"]},
    "serif": {"font.family": ["STIXGeneral", "DejaVu Serif"], "mathtext.fontset": "stix"},
    "latex": {
        "font.family": ["cmr10", "STIXGeneral", "DejaVu Serif"],
        "mathtext.fontset": "cm",
        "axes.formatter.use_mathtext": True,
    },
}

#: The families behind those of an SVG's letters.
_LAST: Mapping[str, str] = {
    "sans": "Verdana, sans-serif",
    "serif": "'Times New Roman', Times, serif",
    "latex": "serif",
}

#: Corners of the first panel, as matplotlib calls them.
CORNERS: Mapping[str, str] = {
    one: one.replace("-", " ") for one in ("upper-left", "upper-right", "lower-left", "lower-right")
}
#: Places of the legend: beside the panels, in the first panel where there is most room or in a
#: corner of it, or nowhere.
LEGENDS = ("outside", "inside", *CORNERS, "none")


@dataclass(frozen=True)
class _Choice:
    """What `chosen_style` has chosen."""

    style: str = "plain"
    font: str = "sans"
    legend: str = "outside"
    labels: tuple[tuple[str, str], ...] = ()
    #: Labels that hold unless the user has chosen others for these names.
    usual: tuple[tuple[str, str], ...] = ()
    #: All values of each axis of the sweep that is drawn.
    values: tuple[tuple[str, ...], ...] = ()
    #: Ends and labels of axes.
    axes: AxesChoice | None = None
    #: Whether small letters say what the values are.
    captions: bool = True
    #: Whether a LaTeX document sets its texts.
    is_tex: bool = False
    #: The names that the figure has shown, and those of the labels that it has used.
    shown: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)


_USUAL = _Choice()
_CHOSEN: ContextVar[_Choice] = ContextVar("chosen", default=_USUAL)


@contextmanager
def chosen_style(
    name: str | None = None,
    font: str | None = None,
    *,
    legend: str | None = None,
    labels: Mapping[str, str] | None = None,
    axes: AxesChoice | None = None,
    captions: bool | None = None,
    suffix: str = "",
) -> Iterator[None]:
    """Draw the figures of this context in one of `STYLES`, with the letters of one of `FONTS`.

    Without a font a paper has "serif". `legend` is one of `LEGENDS`. `labels` are other names for
    lines and links, by the usual ones. `axes` has ends and labels of axes. Without `captions`
    nothing above the panels says what the values are. `suffix` is that of the file, if it is known.
    Raises `MidflightError` for a value that is not accepted.
    """
    for option, value, known in (
        ("--style", name, STYLES),
        ("--font", font, FONTS),
        ("--legend", legend, LEGENDS),
    ):
        if value is not None and value not in known:
            accepted = ", ".join(known)
            raise refusal(
                f'{option}: "{value}" is not one of {accepted}',
                name=option,
                value=value,
                accepted=accepted,
            )
    for text in (labels or {}).values():
        typeset("--label", text)
    name = name or "plain"
    font = font or ("serif" if name == "paper" else "sans")
    token = _CHOSEN.set(
        _Choice(
            name,
            font,
            legend or "outside",
            tuple((labels or {}).items()),
            _CHOSEN.get().usual,
            _CHOSEN.get().values,
            axes,
            captions is not False,
            is_tex=suffix == ".pgf",
        )
    )
    try:
        yield
    finally:
        _CHOSEN.reset(token)


@contextmanager
def usually(labels: Mapping[str, str], values: Iterable[Sequence[str]] = ()) -> Iterator[None]:
    """Show names under these labels in the figures of this context, where none are chosen.

    `values` are all values of each axis of a sweep: one of them has the same look in every figure
    (`axis_of`), whichever others that shows.
    """
    each = tuple(map(tuple, values))
    token = _CHOSEN.set(replace(_CHOSEN.get(), usual=tuple(labels.items()), values=each))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def axis_of(names: Sequence[str]) -> Sequence[str]:
    """Return all values of the axis of a sweep that these names are values of; the names themselves
    if there is no such axis.
    """
    return next((one for one in _CHOSEN.get().values if {*names} <= {*one}), names)


def chosen_axes() -> AxesChoice | None:
    """Return the chosen ends and labels of axes."""
    return _CHOSEN.get().axes


def captioned(text: str) -> str:
    """Return what small letters say of the values, or nothing if the user wants none."""
    return text if _CHOSEN.get().captions else ""


def legend_place() -> str:
    """Return the chosen place of legends."""
    return _CHOSEN.get().legend


def is_paper() -> bool:
    """Whether figures are drawn as for a paper."""
    return _CHOSEN.get().style == "paper"


def labelled(text: str, *, plain: Callable[[str], str] = str) -> str:
    """A name of a figure, with the chosen labels in place of its words, and the rest as `plain`
    returns it.
    """
    choice = _CHOSEN.get()
    chosen, usual = with_words(dict(choice.labels)), with_words(dict(choice.usual))
    text = values_of_tables(text, but={*usual, *chosen})
    parts = split_at(text, {*usual, *chosen})
    choice.shown.update(text.split(", "))
    for place, part in enumerate(parts):
        if not place % 2:
            parts[place] = _spaced(plain(part))
        elif part in chosen:
            choice.used.add(part)
            parts[place] = chosen[part]
        else:
            choice.shown.add(usual[part])
            parts[place] = relabelled(usual[part], chosen, {*usual.values()}, choice.used)
    return "".join(parts)


def short_label(name: str) -> str:
    """What an axis is called within a short text of a figure: "gap" for handoffs.0.gap, and "gap
    of handoff 1" where there are several.
    """
    return labelled(within_text(column_name(name))).removesuffix(OF_THE_HANDOFF)


#: A quantity that a user wrote without a space before its unit.
_QUANTITY = re.compile(
    r"(?<![\w.+/-])(\d+(?:\.\d+)?)((?:[kMG]?bit/s|[kMG]?B|[mun]?s|min|h|%)(?![\w/-]))"
)


def _spaced(text: str) -> str:
    return _QUANTITY.sub(r"\1 \2", text)


def unused_labels() -> dict[str, set[str]]:
    """Return the names of the chosen labels that no figure of this context has shown until now, and
    for each the names that were.
    """
    chosen = _CHOSEN.get()
    return {
        name: chosen.shown
        for name, _ in chosen.labels
        if not {name, column_name(name)} & chosen.used
    }


def style() -> AbstractContextManager[None]:
    import matplotlib as mpl

    chosen = _CHOSEN.get()
    paper = _PAPER if chosen.style == "paper" else {}
    return mpl.rc_context({**_STYLE, **paper, **FONTS[chosen.font]})


#: A marker of matplotlib by its name, or the corners of one.
Marker: TypeAlias = str | tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Look:
    """How one series is drawn: colour, line style, marker, and whether the marker is filled."""

    colour: str
    line: str | tuple[int, tuple[float, ...]]
    marker: Marker
    filled: bool
    size: float = 4.2


# Two hues far apart in lightness (dark blue 0.27, orange 0.62 of white) and one between them.
DARK, LIGHT, MIDDLE = "#08417a", "#e07b00", "#2f8f6f"
_DASH = (0, (4.0, 1.6))
_DOT = (0, (1.0, 1.4))

#: Named looks. The first word is the meaning of colour and line, the second that of the marker.
LOOKS: Mapping[str, Look] = {
    "solid circle": Look(DARK, "-", "o", True),
    "solid square": Look(DARK, "-", "s", True, 3.9),
    "dashed circle": Look(LIGHT, _DASH, "o", False),
    "dashed square": Look(LIGHT, _DASH, "s", False, 3.9),
    "dotted triangle": Look(MIDDLE, _DOT, "^", True, 4.4),
    "dashed-dark circle": Look(DARK, _DASH, "o", False),
    "dashed-dark square": Look(DARK, _DASH, "s", False, 3.9),
    "solid-light circle": Look(LIGHT, "-", "o", True),
    "solid-light square": Look(LIGHT, "-", "s", True, 3.9),
}

#: Half of a disc, on its flat side.
_DOME = (
    *((1.0, -0.8), (0.9, 0.03), (0.55, 0.64), (0.0, 0.85)),
    *((-0.55, 0.64), (-0.9, 0.03), (-1.0, -0.8), (1.0, -0.8)),
)
#: The looks of many lines, in the order in which they are used. No colour, line style or marker
#: occurs twice. No marker is that of an event (`midflight.plot.over_time.marks`), nor an upright or
#: flat bar, which among boxes and whiskers would be a range. The colours are those of Okabe and Ito
#: (2008), which colour-blind people can distinguish. Their yellow is hardly visible on white paper,
#: so a violet and a brown that are as far from the others replace it. The first ones are similar to
#: `DARK`, `LIGHT` and `MIDDLE`.
SERIES: Sequence[Look] = (
    Look("#0072b2", "-", "o", True),
    Look("#e69f00", _DASH, "s", False, 3.9),
    Look("#009e73", _DOT, "D", True, 3.6),
    Look("#cc79a7", (0, (6.0, 1.4, 1.2, 1.4)), "p", False, 4.8),
    Look("#000000", (0, (2.0, 1.2)), _DOME, True, 4.8),
    Look("#d55e00", (0, (7.0, 1.4)), "*", True, 6.2),
    Look("#56b4e9", (0, (5.0, 1.2, 1.2, 1.2, 1.2, 1.2)), "<", False, 4.8),
    Look("#7700dd", (0, (8.0, 1.4, 3.0, 1.4)), ">", True, 4.8),
    Look("#663311", (0, (1.2, 1.2, 1.2, 1.2, 4.0, 1.2)), "H", False, 4.8),
)

#: The lines of links in a figure, and their colours: in the direction of the data, and lighter in
#: the other one.
_OF_LINKS: Sequence[Any] = ("-", _DASH, (0, (6.0, 1.4, 1.2, 1.4)), _DOT)
_LINK_COLOURS = ("#444b52", "#939ba3")
#: The looks of links by their order in a scenario, first in the direction of the data. No scheme
#: has their colours; areas of rates and the band of links are grey, too.
LINKS: Sequence[Look] = tuple(
    replace(SERIES[place], colour=colour, line=line)
    for place, (colour, line) in enumerate(product(_LINK_COLOURS, _OF_LINKS))
)

#: The places in `SERIES` of the looks that common schemes, controllers, stacks and profiles have.
#: Those that are often compared differ, and of versions of one the lightness does.
_PREFERRED: Mapping[str, int] = {
    **{"sack": 0, "enhanced": 1, "freeze": 2, "vho": 3, "vho-qs": 5, "careful-resume": 7},
    **{"bbr-linux": 4, "cubic-linux": 0, "reno-linux": 7, "bbr3": 3, "westwood": 8},
    **{"bbr": 4, "cubic": 5, "reno": 7, "newreno": 7},
    **{"midflight": 0, "quic": 0, "quinn": 1, "noq": 2, "aioquic": 3, "linux": 5},
}
#: Stacks whose senders are called by the stack and its congestion control, such as `quinn-bbr`.
_STACKS = ("quic", "quinn", "noq", "aioquic")


def lighter(colour: str, share: float = 0.5) -> tuple[float, ...]:
    """Return this share of a colour on white."""
    from matplotlib.colors import to_rgb

    return tuple(1 - share * (1 - one) for one in to_rgb(colour))


def looks_of(names: Sequence[str]) -> list[int]:
    """Return for the name of each line the place of its look in `SERIES`.

    A scheme, congestion controller, stack or profile has one look in all figures: common ones by a
    fixed table, other schemes by their place in the catalogue (`midflight.schemes`), and schemes
    joined by + by the sum of these places. A name may have parts separated by ", ", such as flow
    and scheme; the last part that is a scheme counts. If two names of a figure prefer the same
    look, the first one has it, and the other one takes the next free look. Names without a scheme,
    such as gaps, take free looks in the order of `SERIES`. Beyond `len(SERIES)` names the looks
    repeat. Values of an axis of a sweep prefer the looks that they have among all of its values.
    """
    among, wanted = axis_of(names), [_preferred(name) for name in names]
    if among is not names and len({*names}) == len(names):
        of_all = dict(zip(among, _without_repeats([*map(_preferred, among)]), strict=True))
        wanted = [of_all[one] for one in names]
    return _without_repeats(wanted)


def _without_repeats(wanted: Sequence[int | None]) -> list[int]:
    """The looks of names that prefer these; the first of several that prefer one has it."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    for place, look in enumerate(wanted):
        if look is not None and look not in taken:
            found[place] = look
            taken.add(look)
    # Schemes whose look another one has choose before names without a scheme.
    others = (place for place in range(len(wanted)) if place not in found)
    for place in sorted(others, key=lambda place: wanted[place] is None):
        if len(taken) == len(SERIES):
            taken.clear()
        first = wanted[place] or 0
        turns = (one % len(SERIES) for one in range(first, first + len(SERIES)))
        found[place] = next(one for one in turns if one not in taken)
        taken.add(found[place])
    return [found[place] for place in range(len(wanted))]


def _preferred(name: str) -> int | None:
    """The place of the look of a scheme; None for other names."""
    catalogue = _catalogue()
    for part in reversed(values_of_tables(name).split(", ")):
        stack, _, controller = part.partition("-")
        if stack in _STACKS and controller in _PREFERRED:
            part = stack
        if part in _PREFERRED:
            return _PREFERRED[part]
        schemes = part.split("+")
        if all(one in catalogue for one in schemes):
            return sum(catalogue[one] for one in schemes) % len(SERIES)
    return None


@cache
def _catalogue() -> Mapping[str, int]:
    from midflight import _core

    return {one["name"]: place for place, one in enumerate(_core.schemes())}


def text_width(text: str, size_pt: float) -> float:
    """The width of the widest line of a text in points."""
    chosen = _CHOSEN.get()
    width = _text_width(text, size_pt, chosen.font)
    if chosen.is_tex:
        from midflight.plot.common.pgf import tex_width

        lines = [one for one in text.split("\n") if one.strip()]
        return max([width, *(tex_width(one, size_pt) for one in lines)])
    return width


@cache
def _text_width(text: str, size_pt: float, name: str) -> float:
    families = FONTS[name]["font.family"]
    lines = [line for line in text.split("\n") if line.strip()]
    return max((line_width(line, size_pt, families) for line in lines), default=0.0)


def wrapped(text: str, size_pt: float, width_pt: float) -> str:
    """A text with its lines broken between words so that each fits the width, if words do."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in _words(paragraph):
            longer = f"{line} {word}".strip()
            if line and text_width(longer, size_pt) > width_pt:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return "\n".join(lines)


def balanced(text: str, size_pt: float, width_pt: float) -> str:
    """A text that is wrapped into as few lines as `wrapped` makes of it, of about the same length,
    so that no word is left alone.
    """
    found = wrapped(text, size_pt, width_pt)
    lines = found.count("\n")
    low, high = width_pt / 2, width_pt
    while high - low > size_pt / 4:
        middle = (low + high) / 2
        narrower = wrapped(text, size_pt, middle)
        if narrower.count("\n") > lines or text_width(narrower, size_pt) > middle:
            low = middle
        else:
            high, found = middle, narrower
    return found


#: Units, which stay in the line of their number.
_UNITS = (
    *("ns", "us", "µs", "ms", "s", "min", "h"),
    *("B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB"),
    *("bit/s", "kbit/s", "Mbit/s", "Gbit/s"),
)
#: A word; between two dollar signs of mathematics spaces do not end it.
_WORD = re.compile(r"(?:(?<!\\)\$(?:\\.|[^$\\])*\$|\\.|\S)+")


def _words(text: str) -> list[str]:
    words: list[str] = []
    for word in _WORD.findall(text) if _has_math(text) else text.split():
        # What a name has in brackets, as sack (CUBIC) has, and units stay with what is before.
        is_unit = word.startswith("%") or (
            word.rstrip(";,.:)") in _UNITS and words and words[-1][-1:].isdigit()
        )
        if words and (is_unit or (word.startswith("(") and word.endswith(")"))):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def _has_math(text: str) -> bool:
    """Whether matplotlib takes parts of a text for mathematics: its dollar signs are in pairs."""
    signs = len(re.findall(r"(?<!\\)\$", text))
    return signs > 0 and signs % 2 == 0


def typeset(option: str, text: str) -> str:
    """Return a text of the user, which may have mathematics between dollar signs: `Gap $g$ (s)`.

    Raises `MidflightError` for mathematics that cannot be typeset.
    """
    from matplotlib.mathtext import MathTextParser

    for line in text.split("\n"):
        if not _has_math(line):
            continue
        try:
            MathTextParser("path").parse(line)
        except ValueError as error:
            # The parser shows the text, the place and what it expected, on lines of their own.
            why = str(error).strip().splitlines()[-1]
            raise refusal(
                f'{option}: "{line}" has mathematics that cannot be typeset: {why}',
                name=option,
                value=text,
                accepted="mathematics as matplotlib typesets it, such as $g$ or $10^3$",
            ) from error
    return text


def size_in(size: Size | None, usual: tuple[float, float]) -> tuple[float, float]:
    """Width and height of a figure in inches; the defaults are `usual`, and in a paper at most the
    width of a column.

    Raises `MidflightError` for an invalid size.
    """

    if is_paper():
        usual = (min(usual[0], COLUMN_IN), usual[1])
    if size is None:
        return usual
    words: Sequence[Any]
    if isinstance(size, str):
        text = size.strip().removesuffix("in").strip()
        words = [_WIDTHS[text]] if text in _WIDTHS else text.split("x")
    else:
        words = [size] if isinstance(size, int | float) else size
    try:
        sides = [float(one) for one in words]
    except (TypeError, ValueError):
        sides = []
    if len(sides) not in (1, 2) or not all(_LEAST_IN <= one <= MOST_IN for one in sides):
        accepted = (
            f"single or double (column), or inches from {_LEAST_IN:g} to {MOST_IN:g}, width or "
            "widthxheight, such as 5x3"
        )
        raise refusal(
            f'--size: "{size}" is not a size of a figure; write {accepted}',
            name="--size",
            value=size,
            accepted=accepted,
        )
    return sides[0], sides[1] if len(sides) == 2 else usual[1]


#: The distance of the base lines of two lines of a text, in sizes of its letters.
_LINES_APART = 1.2


@cache
def _line_spacing(font: str) -> float:
    """Matplotlib's spacing of lines with which they are `_LINES_APART` in a font: its unit is a
    height that each font has in its file, which may be large or too small.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Texts are measured only: a large drawing would take a tenth of a second to be there.
    figure = Figure(figsize=(0.1, 0.1), dpi=720)
    canvas: Any = FigureCanvasAgg(figure)

    def apart(spacing: float) -> float:
        how: Any = {"fontsize": 10, "linespacing": spacing, "family": FONTS[font]["font.family"]}
        heights = [
            figure.text(0, 0, text, **how).get_window_extent(canvas.get_renderer()).height
            for text in ("lp\nlp", "lp\nlp\nlp")
        ]
        return float(heights[1] - heights[0]) / 100

    one, two = apart(1.0), apart(2.0)
    return 1 + (_LINES_APART - one) / (two - one)


def arrange(figure: Figure, line_spacing: float | None = None) -> None:
    """Place the panels, as large as the texts around them allow; lines of a text have a distance
    that does not depend on the font, or this spacing.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.text import Text

    spacing = _line_spacing(_CHOSEN.get().font) if line_spacing is None else line_spacing
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if "\n" in text.get_text():
            text.set_linespacing(spacing)
    ConstrainedLayoutEngine().execute(figure)
    # The solver's last digits differ from process to process, and names in an SVG with them.
    for axes in figure.axes:
        left, low, width, height = (round(one, 9) for one in axes.get_position().bounds)
        axes.set_position((left, low, width, height))


def save(figure: Figure, stem: Path, *, lay_out: bool = True) -> list[Path]:
    """Write `stem`.svg and `stem`.png without anything that changes from run to run.

    Without `lay_out` everything stays where the caller has put it.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stem.parent.mkdir(parents=True, exist_ok=True)
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    # Both files share the layout that the letters of the SVG need.  As the figure's own, the layout
    # would cost each file a drawing more.
    FigureCanvasSVG(figure)
    if lay_out:
        arrange(figure)
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    figure.savefig(png, metadata={"Software": None})
    return [svg, png]


#: The formats of single figures by the suffix of a file, and the metadata that would make two
#: drawings of it differ.
FORMATS: Mapping[str, Mapping[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".pgf": {},
}


def check_format(path: str | Path, others: Sequence[str] = ()) -> str:
    """The suffix of a file that a figure can be written to; raises `MidflightError` for others."""
    path = check_path("path", path)
    suffix, accepted = path.suffix.lower(), [*FORMATS, *others]
    if suffix not in accepted:
        ends = f"{', '.join(accepted[:-1])} or {accepted[-1]}"
        raise refusal(
            f'"{path}" is not the name of a figure; it may end in {ends}',
            name="plot",
            value=path,
            accepted=ends,
        )
    return suffix


def figure_bytes(figure: Figure, suffix: str) -> bytes:
    """Lay a figure out and return it as a file of this suffix would hold it."""
    from midflight.plot.common.quiet import quiet_fonts

    file = io.BytesIO()
    with style(), quiet_fonts():
        if suffix == ".pgf":
            from midflight.plot.common.pgf import pgf_bytes

            return pgf_bytes(figure)
        arrange(figure)
        metadata: Any = FORMATS[suffix]
        figure.savefig(file, format=suffix[1:], metadata=metadata)
    if suffix == ".svg":
        from midflight.plot.common.svg import with_fonts

        font = _CHOSEN.get().font
        families = FONTS[font]["font.family"]
        return with_fonts(file.getvalue().decode(), families, _LAST[font]).encode()
    return file.getvalue()


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Write a CSV file; floats get six decimals, infinity is `inf`, no data is `nan`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{v:.6f}" if isinstance(v, float) else v for v in row] for row in rows)
    return path


@dataclass(frozen=True)
class Drawing:
    """A plot and the data beside it, ready to be written: plain values, which can be passed to any
    process.

    `plot` takes a path without suffix and returns the files it wrote. `remark` is a statement on
    the data that continues the caption.
    """

    plot: Callable[[Path], list[Path]]
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    remark: str = ""

    def write(self, stem: Path) -> list[Path]:
        """Write the plot and `stem`.csv; return the files."""
        return [*self.plot(stem), write_csv(stem.with_suffix(".csv"), self.header, self.rows)]
