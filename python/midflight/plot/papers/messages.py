"""Message sequence diagrams: what sender and receiver sent each other in a run, time downwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from midflight.plot.common.style import (
    DARK,
    LIGHT,
    MIDDLE,
    PAGE_IN,
    save,
    style,
    text_width,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["Message", "Note", "sequence_plot"]

Kind = Literal["data", "retransmission", "ack", "dupack"]
Side = Literal["sender", "receiver"]


@dataclass(frozen=True)
class Message:
    """A segment or an acknowledgment: when it was sent and when it arrived (s; None when lost).

    Data and retransmissions go from the sender to the receiver, acknowledgments the other way.
    """

    sent_s: float
    arrived_s: float | None
    label: str
    kind: Kind


@dataclass(frozen=True)
class Note:
    """A remark beside the line of the sender or the receiver, at an instant (s)."""

    time_s: float
    side: Side
    text: str


@dataclass(frozen=True)
class _Arrow:
    """How a kind of message is drawn."""

    name: str
    colour: str
    text: str
    line: Any
    width: float
    rightwards: bool


_ARROWS: dict[str, _Arrow] = {
    "data": _Arrow("data", DARK, DARK, "-", 0.7, True),
    "retransmission": _Arrow("retransmission", LIGHT, "#a85a00", (0, (5.0, 1.5)), 1.2, True),
    "ack": _Arrow("ACK", "0.5", "0.3", "-", 0.55, False),
    "dupack": _Arrow("duplicate ACK", MIDDLE, "#1c6a50", (0, (1.2, 1.2)), 0.9, False),
}

# All lengths are in points (1/72 in).
_LABEL_PT, _NOTE_PT = 6.0, 6.0
_LINE = 7.4  # from one line of text to the next
_BREAK = 15.0  # height of a stretch that is left out
_GUTTER = 13.0  # between a line and the texts beside it
_TOP, _BOTTOM = 30.0, 8.0
_FAR = 1.3 * _LINE  # labels further away than this from their arrow are put together


def sequence_plot(
    stem: Path,
    messages: Sequence[Message],
    *,
    notes: Sequence[Note] = (),
    skip_s: Sequence[tuple[float, float]] = (),
    window_s: tuple[float, float] | None = None,
    ends: tuple[str, str] = ("sender", "receiver"),
    width_in: float = PAGE_IN,
    height_in: float | None = None,
) -> list[Path]:
    """Draw each message as an arrow between two vertical lines, time downwards and to scale.

    A lost message ends in a cross midway, at the slope of the message next to it that arrived.
    Labels stand beside the line where their arrow starts.  Where many start together, their labels
    become one: `21 … 40` for the first and the last of a kind, `ACK 20` with a number of times for
    equal ones.  Labels for which there is no room at all are left out; notes never are.

    `skip_s` are stretches of time (s) that are cut out; each is a grey band with its duration.
    `window_s` is the time shown (default: everything), `ends` the words above the lines.
    `height_in` defaults to what the texts and arrows need, at most 8.5 in.

    Returns the files written (`stem`.svg and `stem`.png).
    """
    messages = sorted(
        (m for m in messages if math.isfinite(m.sent_s)), key=lambda message: message.sent_s
    )
    notes = sorted((n for n in notes if math.isfinite(n.time_s)), key=lambda note: note.time_s)
    start, end = window_s or _extent(messages, notes)
    messages = [m for m in messages if m.sent_s <= end and _last_seen(m) >= start]
    notes = [n for n in notes if start <= n.time_s <= end]
    width = width_in * 72
    with style():
        from matplotlib.figure import Figure

        note_width = 0.19 * width if width_in > 5 else 0.22 * width
        texts = {side: _texts(messages, notes, side, start, note_width) for side in _SIDES}
        cuts = _cuts(skip_s, start, end)
        handles = _legend_handles(messages)
        named = sum(text_width(str(handle.get_label()), 6.5) + 32 for handle in handles)
        rows = math.ceil(named / width) if handles else 1
        top = _TOP + 9.5 * (rows - 1)
        height = 72 * height_in if height_in else top + _natural_height(texts, messages, cuts)
        scale = _Scale(start, end, cuts, top, height - _BOTTOM)
        placed: dict[Side, list[_Text]] = {
            side: _placed(texts[side], scale, top - 2, height - _BOTTOM + 4) for side in _SIDES
        }
        left, right = (
            max(_column(placed[side]), text_width(name, 7.5) / 2)
            for side, name in zip(_SIDES, ends, strict=True)
        )
        figure = Figure(figsize=(width_in, height / 72))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        x = (_time_axis(axes, scale) + left, width - right - 4)
        _lines(axes, scale, x, ends)
        for message in messages:
            _arrow(axes, scale, x, message, messages)
        for side, place, outwards in zip(_SIDES, x, (-1, 1), strict=True):
            for text in placed[side]:
                _write(axes, scale, text, place, outwards)
        if handles:
            axes.legend(
                handles=handles,
                loc="upper center",
                bbox_to_anchor=(0.5, 1.0),
                ncols=math.ceil(len(handles) / rows),
                borderpad=0.3,
            )
        return save(figure, stem, lay_out=False)


_SIDES: tuple[Side, Side] = ("sender", "receiver")


def _arrival(message: Message) -> float | None:
    """When a message arrives; None when it never does."""
    arrived = message.arrived_s
    return arrived if arrived is not None and math.isfinite(arrived) else None


def _last_seen(message: Message) -> float:
    arrived = _arrival(message)
    return message.sent_s if arrived is None else max(arrived, message.sent_s)


def _extent(messages: Sequence[Message], notes: Sequence[Note]) -> tuple[float, float]:
    """The time in which anything happens (s)."""
    times = [t for m in messages for t in (m.sent_s, _last_seen(m))] + [n.time_s for n in notes]
    if not times:
        return 0.0, 1.0
    return min(times), max(times) if max(times) > min(times) else min(times) + 1.0


def _cuts(
    skip_s: Sequence[tuple[float, float]], start: float, end: float
) -> list[tuple[float, float]]:
    """The stretches to leave out: inside the window, in order, joined where they overlap."""
    cuts: list[tuple[float, float]] = []
    for low, high in sorted(skip_s):
        low, high = max(low, start), min(high, end)
        if not low < high:
            continue
        if cuts and low <= cuts[-1][1]:
            cuts[-1] = (cuts[-1][0], max(cuts[-1][1], high))
        else:
            cuts.append((low, high))
    return cuts


class _Scale:
    """From time (s) to height (points, downwards), with stretches left out."""

    def __init__(
        self,
        start: float,
        end: float,
        cuts: Sequence[tuple[float, float]],
        top: float,
        bottom: float,
    ) -> None:
        self.cuts, self.top, self.bottom = cuts, top, bottom
        shown = (end - start) - sum(high - low for low, high in cuts)
        room = bottom - top - _BREAK * len(cuts)
        self.per_s = room / shown if shown > 1e-12 else 0.0
        times, places = [start], [top]
        for low, high in cuts:
            places.append(places[-1] + (low - times[-1]) * self.per_s)
            times.append(low)
            places.append(places[-1] + _BREAK)
            times.append(high)
        places.append(places[-1] + (end - times[-1]) * self.per_s)
        times.append(end)
        self.times, self.places = times, places

    def __call__(self, time_s: float) -> float:
        if time_s < self.times[0]:
            return self.top - (self.times[0] - time_s) * self.per_s
        if time_s > self.times[-1]:
            return self.places[-1] + (time_s - self.times[-1]) * self.per_s
        return float(np.interp(time_s, self.times, self.places))

    def stretches(self) -> list[tuple[float, float]]:
        """The stretches of time that are shown to scale."""
        return list(zip(self.times[::2], self.times[1::2], strict=True))


@dataclass(frozen=True)
class _Text:
    """A label or a note beside a line: when it starts and ends (s), and where it is put."""

    first_s: float
    last_s: float
    labels: tuple[str, ...]
    kind: str
    y: float = 0.0

    @property
    def text(self) -> str:
        return _joined(self.labels)

    @property
    def height(self) -> float:
        lines = self.text.count("\n") + 1
        return lines * _LINE + (3.5 if self.kind == "note" else 0.0)


def _joined(labels: tuple[str, ...]) -> str:
    """One label for several messages: the words that all share are written once."""
    first, last = labels[0], labels[-1]
    if len(labels) == 1:
        return first
    if len(set(labels)) == 1:
        return f"{first} \N{MULTIPLICATION SIGN}{len(labels)}"
    ours, theirs = first.split(" "), last.split(" ")
    while len(ours) > 1 and len(theirs) > 1 and ours[0] == theirs[0]:
        ours, theirs = ours[1:], theirs[1:]
    return f"{first} … {' '.join(theirs)}" if len(labels) > 2 else f"{first}, {' '.join(theirs)}"


def _texts(
    messages: Sequence[Message], notes: Sequence[Note], side: Side, start: float, width: float
) -> list[_Text]:
    """The texts of one side, in the order of time; at the same instant notes are first."""
    texts = [
        _Text(n.time_s, n.time_s, (wrapped(n.text, _NOTE_PT, width),), "note")
        for n in notes
        if n.side == side
    ]
    texts += [
        _Text(m.sent_s, m.sent_s, (m.label,), m.kind)
        for m in messages
        if _ARROWS[m.kind].rightwards == (side == "sender") and m.label and m.sent_s >= start
    ]
    return sorted(texts, key=lambda text: text.first_s)


def _natural_height(
    texts: dict[Side, list[_Text]],
    messages: Sequence[Message],
    cuts: Sequence[tuple[float, float]],
) -> float:
    """A height (points) below the legend that leaves some space on the side with more texts."""
    need = 0.0
    for side in _SIDES:
        apart: list[_Text] = []
        for text in texts[side]:
            again = apart and text.kind == apart[-1].kind != "note"
            if again and text.first_s - apart[-1].first_s < 1e-9:
                continue
            apart.append(text)
        need = max(need, sum(text.height for text in apart))
    need = max(1.35 * need, 5.0 * len(messages)) + _BREAK * len(cuts)
    return min(8.0 * 72, max(2.0 * 72, need + _BOTTOM))


def _spread(
    wanted: Sequence[float], heights: Sequence[float], top: float, bottom: float
) -> list[float]:
    """Places as near as possible to the wanted ones without overlap (least squares)."""
    offsets = np.concatenate([[0.0], np.cumsum([(a + b) / 2 for a, b in pairwise(heights)])])
    blocks: list[tuple[float, int]] = []  # mean, count
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - float(offset), 1
        while blocks and blocks[-1][0] >= mean:
            other, n = blocks.pop()
            mean, count = (mean * count + other * n) / (count + n), count + n
        blocks.append((mean, count))
    bases = [mean for mean, count in blocks for _ in range(count)]
    low = top + heights[0] / 2
    high = max(low, bottom - heights[-1] / 2 - float(offsets[-1]))
    return [min(max(b, low), high) + float(o) for b, o in zip(bases, offsets, strict=True)]


def _placed(texts: Sequence[_Text], scale: _Scale, top: float, bottom: float) -> list[_Text]:
    """Put the texts of one side so that none overlaps; join labels that crowd."""
    texts = list(texts)
    while texts:
        wanted = [(scale(text.first_s) + scale(text.last_s)) / 2 for text in texts]
        heights = [text.height for text in texts]
        places = _spread(wanted, heights, top, bottom)
        pair = _crowded(texts, wanted, heights, places)
        if pair is None and sum(heights) > bottom - top:  # whatever their distance
            pair = _nearest(texts, range(len(texts) - 1))
            if pair is None and any(text.kind != "note" for text in texts):
                del texts[_dispensable(texts, wanted)]
                continue
        if pair is None:
            return [replace(text, y=y) for text, y in zip(texts, places, strict=True)]
        run = _evenly(texts, pair, scale)
        together = tuple(label for text in texts[run] for label in text.labels)
        last_s = max(text.last_s for text in texts[run])
        texts[run] = [replace(texts[run.start], last_s=last_s, labels=together)]
    return texts


def _dispensable(texts: Sequence[_Text], wanted: Sequence[float]) -> int:
    """The label that is nearest to the previous one: it is removed first if room is short."""
    labels = [i for i in range(len(texts)) if texts[i].kind != "note"]
    return min(labels, key=lambda i: wanted[i] - wanted[i - 1] if i else math.inf)


def _evenly(texts: Sequence[_Text], pair: int, scale: _Scale) -> slice:
    """The labels around a pair that follow each other at about its distance."""

    def joins(index: int) -> bool:
        one, two = texts[index], texts[index + 1]
        return one.kind == two.kind and scale(two.first_s) - scale(one.last_s) <= limit

    limit = 1.5 * (scale(texts[pair + 1].first_s) - scale(texts[pair].last_s)) + 0.5
    low, high = pair, pair + 1
    while low > 0 and joins(low - 1):
        low -= 1
    while high + 1 < len(texts) and joins(high):
        high += 1
    return slice(low, high + 1)


def _crowded(
    texts: Sequence[_Text],
    wanted: Sequence[float],
    heights: Sequence[float],
    places: Sequence[float],
) -> int | None:
    """Which label to join with the next one, because one near them had to move too far."""
    start = 0
    for index in range(1, len(texts) + 1):
        touching = (
            index < len(texts)
            and places[index] - places[index - 1] < (heights[index] + heights[index - 1]) / 2 + 1e-6
        )
        if touching:
            continue
        block = range(start, index)
        if any(abs(places[i] - wanted[i]) > _FAR for i in block if texts[i].kind != "note"):
            near = _nearest(texts, range(start, index - 1))
            if near is not None:
                return near
        start = index
    return None


def _nearest(texts: Sequence[_Text], among: range) -> int | None:
    """The pair of neighbours of one kind that start nearest to each other."""
    pairs = [i for i in among if texts[i].kind == texts[i + 1].kind != "note"]
    return min(pairs, key=lambda i: texts[i + 1].first_s - texts[i].last_s, default=None)


def _column(placed: Sequence[_Text]) -> float:
    """The width (points) that the texts beside a line take."""
    widths = [text_width(t.text, _NOTE_PT) + (5 if t.kind == "note" else 0) for t in placed]
    return max(widths, default=0.0) + _GUTTER + 2


def _time_axis(axes: Axes, scale: _Scale) -> float:
    """Draw the axis of time at the left; return where it ends (points)."""
    from matplotlib.ticker import MaxNLocator

    shown = sum(high - low for low, high in scale.stretches())
    room = scale.bottom - scale.top
    locator = MaxNLocator(max(2, int(room / 34)), steps=[1, 2, 5, 10])
    step = float(np.diff(locator.tick_values(0.0, max(shown, 1e-9)))[0])
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    ticks = [
        number * step
        for low, high in scale.stretches()
        for number in range(math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6) + 1)
    ]
    apart: list[float] = []
    for tick in ticks:  # two stretches may end near each other
        if not apart or scale(tick) - scale(apart[-1]) > 8:
            apart.append(tick)
    names = [f"{tick:.{digits}f}" for tick in apart]
    x = 12 + max((text_width(name, 6.5) for name in names), default=0.0) + 6
    for low, high in scale.stretches():
        axes.plot([x, x], [scale(low), scale(high)], color="black", linewidth=0.6)
    for tick, name in zip(apart, names, strict=True):
        y = scale(tick)
        axes.plot([x - 2.5, x], [y, y], color="black", linewidth=0.6)
        axes.text(x - 4.5, y, name, fontsize=6.5, ha="right", va="center_baseline")
    axes.text(2, (scale.top + scale.bottom) / 2, "Time (s)", fontsize=7.5, rotation=90, va="center")
    return x + 4


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def _lines(axes: Axes, scale: _Scale, x: tuple[float, float], ends: tuple[str, str]) -> None:
    """Draw the lines of both ends, and the bands of omitted times."""
    for place, name in zip(x, ends, strict=True):
        axes.text(place, scale.top - 5, name, fontsize=7.5, ha="center", va="bottom")
        for low, high in scale.stretches():
            axes.plot([place, place], [scale(low), scale(high)], color="black", linewidth=1.0)
    for low, high in scale.cuts:
        top, bottom = scale(low), scale(high)
        axes.fill_between(x, top, bottom, color="0.94", linewidth=0, zorder=0)
        axes.text(
            sum(x) / 2,
            (top + bottom) / 2,
            f"{_duration(high - low)} not shown",
            fontsize=6,
            style="italic",
            ha="center",
            va="center",
            zorder=6,
            bbox={"facecolor": "0.94", "edgecolor": "none", "pad": 1.0},
        )
        zigzag = np.linspace(top, bottom, 7)
        for place in x:
            sway = [0, 2.2, -2.2, 2.2, -2.2, 2.2, 0]
            axes.plot(place + np.array(sway), zigzag, color="black", linewidth=0.7)


def _arrow(
    axes: Axes,
    scale: _Scale,
    x: tuple[float, float],
    message: Message,
    messages: Sequence[Message],
) -> None:
    """Draw one message, as far as the window shows it."""
    look = _ARROWS[message.kind]
    x0, x1 = x if look.rightwards else x[::-1]
    arrived = _arrival(message)
    y0 = scale(message.sent_s)
    lost = arrived is None
    if arrived is None:
        arrived = message.sent_s + _flight(message, messages, scale)
    y1 = scale(arrived)
    reach = 0.5 if lost else 1.0
    x1, y1 = x0 + reach * (x1 - x0), y0 + reach * (y1 - y0)

    def cut(limit: float) -> float:
        return min(1.0, max(0.0, (limit - y0) / (y1 - y0)))

    first, last = (cut(scale.top), cut(scale.bottom)) if y1 > y0 else (0.0, 1.0)
    begin = (x0 + first * (x1 - x0), y0 + first * (y1 - y0))
    end = (x0 + last * (x1 - x0), y0 + last * (y1 - y0))
    axes.plot(
        *zip(begin, end, strict=True),
        color=look.colour,
        linestyle=look.line,
        linewidth=look.width,
        zorder=3,
        solid_capstyle="butt",
    )
    if last < 1.0:
        return
    if lost:
        axes.plot(*end, marker="x", color="black", markersize=4.5, markeredgewidth=1.0, zorder=5)
        return
    axes.annotate(
        "",
        end,
        xytext=(end[0] - 0.02 * (x1 - x0), end[1] - 0.02 * (y1 - y0)),
        arrowprops={
            "arrowstyle": "-|>,head_length=0.5,head_width=0.2",
            "mutation_scale": 7.5,
            "color": look.colour,
            "linewidth": 0.4,
            "shrinkA": 0,
            "shrinkB": 0.5,
        },
        zorder=4,
    )


def _flight(lost: Message, messages: Sequence[Message], scale: _Scale) -> float:
    """How long a lost message might have taken (s): as the nearest one that arrived."""
    flights = [
        (abs(m.sent_s - lost.sent_s), arrived - m.sent_s)
        for m in messages
        if _ARROWS[m.kind].rightwards == _ARROWS[lost.kind].rightwards
        and (arrived := _arrival(m)) is not None
    ]
    if flights:
        return min(flights)[1]
    return 24.0 / scale.per_s if scale.per_s > 0 else 0.0


def _write(axes: Axes, scale: _Scale, text: _Text, x: float, outwards: int) -> None:
    """Write one text beside its line, and draw what leads from the line to it."""
    note = text.kind == "note"
    colour = "black" if note else _ARROWS[text.kind].text
    y0, y1 = scale(text.first_s), scale(text.last_s)
    near, far = x + outwards * 1.5, x + outwards * (_GUTTER - 2)
    if y1 - y0 > 1.0:  # a bracket around all that the label is about
        bend = x + outwards * 3.5
        axes.plot([near, bend, bend, near], [y0, y0, y1, y1], color=colour, linewidth=0.5)
        axes.plot([bend, far], [(y0 + y1) / 2, text.y], color=colour, linewidth=0.5)
    elif note or abs(text.y - y0) > 0.7:
        axes.plot([near, far], [y0, text.y], color=colour, linewidth=0.5)
    if note:
        axes.plot(x, y0, marker="o", markersize=2.4, color="black", zorder=6)
    axes.text(
        x + outwards * (_GUTTER + (1 if note else -1)),
        text.y,
        text.text,
        fontsize=_NOTE_PT if note else _LABEL_PT,
        color=colour,
        ha="right" if outwards < 0 else "left",
        va="center",
        multialignment="left",
        linespacing=1.1,
        bbox={
            "facecolor": "0.93" if note else "white",
            "edgecolor": "0.6" if note else "none",
            "linewidth": 0.4,
            "boxstyle": "round,pad=0.25" if note else "square,pad=0",
        },
        zorder=7,
    )


def _legend_handles(messages: Sequence[Message]) -> list[Line2D]:
    """The kinds of messages that occur."""
    from matplotlib.lines import Line2D

    kinds = {message.kind for message in messages}
    handles = [
        Line2D([], [], color=a.colour, linestyle=a.line, linewidth=a.width + 0.2, label=a.name)
        for kind, a in _ARROWS.items()
        if kind in kinds
    ]
    if any(_arrival(message) is None for message in messages):
        handles.append(
            Line2D([], [], linestyle="none", marker="x", color="black", markersize=4, label="lost")
        )
    return handles
