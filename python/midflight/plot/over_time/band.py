"""The band of links above panels over time: the links in use, and the handovers of recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from midflight.plot.common.figure import SMALL_PT
from midflight.plot.common.style import Look, labelled, text_width
from midflight.plot.over_time.curves import Stretch, WatchedRun
from midflight.plot.over_time.history import NS_PER_S
from midflight.plot.over_time.room import NARROW_NO_LINK, NO_LINK, WITHOUT, Room, is_narrow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "band_height",
    "draw_band",
    "draw_handovers",
    "has_changes",
    "names_above",
    "unnamed_entries",
]

#: The heights of the bands of a few runs and of more in inches, and the sizes of their letters.
_FEW, _BAND_IN, _BAND_OF_MANY_IN, _OF_MANY_PT = 4, 0.14, 0.105, 5.5
#: How far the marker of a line is from its band, in points.
_MARKER_PT = 6.0
#: More handovers in an inch of the band could not be told apart.
_MOST_TICKS_PER_IN = 25
#: Fills of links in the band, by their order in the scenario.
_LINK_FILLS = ("0.86", "0.72", "0.93", "0.79")


def band_height(rows: int) -> float:
    """The height of the bands of so many runs, in inches."""
    return rows * (_BAND_IN if rows <= _FEW else _BAND_OF_MANY_IN)


def _letters(rows: int) -> float:
    """The size of the letters in so many bands."""
    return SMALL_PT if rows <= _FEW else _OF_MANY_PT


def has_changes(runs: Sequence[WatchedRun], window: tuple[float, float]) -> bool:
    """Whether there is anything to tell in the band: a single link in use all the time has no need
    of its name.
    """
    start, end = window
    links = {one.link for run in runs for one in run.stretches if one.from_ns < end * NS_PER_S}
    return len(links) > 1 or any(start <= at < end for run in runs for at in run.handovers)


def _ticks_at(run: WatchedRun, room: Room) -> list[float]:
    """When the handovers are that are shown as ticks: none of too many."""
    start, end = room.window
    shown = [at for at in run.handovers if start <= at < end]
    return shown if len(shown) <= _MOST_TICKS_PER_IN * room.width_in else []


def draw_handovers(axes: Axes, run: WatchedRun, room: Room, row: tuple[int, int]) -> dict[str, Any]:
    """Draw the handovers of the recording of the link in use as ticks at the lower edge of a row of
    the band; return their entry of the legend, if there are some and they can be told apart.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    shown = _ticks_at(run, room)
    if not shown:
        return {}
    number, of = row
    low = 1 - (number + 1) / of
    ticks = [[(at, low), (at, low + 0.45 / of)] for at in shown]
    how: Any = {"colors": "0.1", "linewidths": 0.8}
    axes.add_collection(LineCollection(ticks, zorder=3, **how), autolim=False)
    tick: Any = {"ls": "none", "marker": "|", "ms": 6, "mec": "0.1", "mew": 0.8}
    return {"handover in the recording": Line2D([], [], **tick)}


def _fill(run: WatchedRun, link: str) -> Mapping[str, Any]:
    """How a link is filled in the band. Its frame tells it from an area."""
    if not link:
        return NO_LINK
    number = run.link_of(link)
    place = 0 if number is None else run.place_of(number)
    colour = _LINK_FILLS[place % len(_LINK_FILLS)]
    return {"facecolor": colour, "edgecolor": "0.35", "linewidth": 0.5}


def _seen(one: Stretch, room: Room) -> tuple[float, float]:
    """From when to when a stretch is shown, in seconds; not at all if that is no time."""
    start, end = room.window
    return max(one.from_ns / NS_PER_S, start), min(one.until_ns / NS_PER_S, end)


def _width(one: Stretch, room: Room, size: float, around_pt: float = 4.0) -> float:
    """How wide the name of a stretch is in letters of a size with the room around it, in
    seconds.
    """
    return (text_width(labelled(one.link or WITHOUT), size) + around_pt) * room.point_s


def _fits(one: Stretch, room: Room, size: float) -> bool:
    """Whether the band has room for the name of a stretch."""
    begins, ends = _seen(one, room)
    return _width(one, room, size) <= ends - begins


def _place(one: Stretch, room: Room, ticks: Sequence[float], size: float) -> tuple[float, bool]:
    """The middle of the name of a stretch: as near as possible to that of the stretch without a
    tick in the name; and whether there is such a place.
    """
    (begins, ends), least = _seen(one, room), _width(one, room, size)
    middle = (begins + ends) / 2
    edges = [begins, *(at for at in ticks if begins < at < ends), ends]
    free = []
    for a, b in (each for each in pairwise(edges) if each[1] - each[0] >= least):
        # A name close to a tick would look like a part of it.
        half = min(_width(one, room, size, 12.0), b - a) / 2
        free.append(min(max(middle, a + half), b - half))
    return min(free, key=lambda at: abs(at - middle), default=middle), bool(free)


def _unnamed(
    runs: Sequence[WatchedRun], room: Room
) -> Iterator[tuple[str, WatchedRun, list[Stretch]]]:
    """Yield what has no room for its name anywhere in the bands of some runs, with one of these and
    its stretches.
    """
    size = _letters(len(runs))
    found: dict[str, WatchedRun] = {}
    for run in runs:
        for one in run.stretches:
            begins, ends = _seen(one, room)
            if ends > begins:
                found.setdefault(one.link, run)
    for link, run in found.items():
        each = (one for run in runs for one in run.stretches if one.link == link)
        shown = [one for one in each if (seen := _seen(one, room))[1] > seen[0]]
        if not any(_fits(one, room, size) for one in shown):
            yield link, run, shown


def names_above(runs: Sequence[WatchedRun], room: Room) -> dict[str, float]:
    """Return what has no room for its name in the only band but above it, with the middle of the
    name, in seconds.
    """
    found: dict[str, float] = {}
    taken: list[tuple[float, float]] = []
    for link, _, stretches in _unnamed(runs, room) if len(runs) == 1 else ():
        widest = max(stretches, key=lambda one: one.until_ns - one.from_ns)
        half = _width(widest, room, SMALL_PT) / 2
        low, high = room.window[0] + half, room.window[1] - half
        at = min(max(sum(_seen(widest, room)) / 2, low), high)
        if low <= high and all(at + half < a or at - half > b for a, b in taken):
            taken.append((at - half, at + half))
            found[link] = at
    return found


def unnamed_entries(runs: Sequence[WatchedRun], room: Room) -> Iterator[tuple[str, Any]]:
    """Yield entries of the legend for what has no name in or above the bands of some runs."""
    from matplotlib.patches import Patch

    named = names_above(runs, room)
    for link, run, shown in _unnamed(runs, room):
        if link in named:
            continue
        if link:
            yield f"link in use: {link}", Patch(**_fill(run, link))
        else:
            # As in the panels, where it is wider.
            narrow = any(is_narrow(_seen(one, room), room) for one in shown)
            yield WITHOUT, Patch(**NARROW_NO_LINK if narrow else NO_LINK)


def draw_band(
    axes: Axes,
    run: WatchedRun,
    room: Room,
    row: tuple[int, int],
    look: Look | None,
) -> None:
    """The links in use, one after the other, with their names where there is room, between the
    ticks of handovers or else in front of them: in a row of so many, with the marker of the line
    whose links they are, if it has a `look`.
    """
    ticks = _ticks_at(run, room)
    number, of = row
    axes.set_ylim(0, 1)
    bottom = 1 - (number + 1) / of
    height, size = (1 if of == 1 else 0.86) / of, _letters(of)
    centred: Any = {"ha": "center", "va": "center", "fontsize": size, "parse_math": False}
    for one in run.stretches:
        begins, ends = _seen(one, room)
        if ends <= begins:
            continue
        fill = _fill(run, one.link)
        axes.axvspan(begins, ends, bottom, bottom + height, zorder=0, **fill)
        if _fits(one, room, size):
            at, is_free = _place(one, room, ticks, size)
            box: Any = {"facecolor": fill["facecolor"], "linewidth": 0, "pad": 0.5}
            how = centred if is_free else centred | {"bbox": box, "zorder": 3.5}
            axes.text(at, bottom + 0.44 * height, labelled(one.link or WITHOUT), **how)
    for link, at in (names_above([run], room) if of == 1 else {}).items():
        above: Any = {"xytext": (0, 1.5), "textcoords": "offset points", "va": "bottom"}
        above |= {"ha": "center", "fontsize": size, "annotation_clip": False, "parse_math": False}
        axes.annotate(labelled(link or WITHOUT), (at, 1.0), **above)
    if look is not None:
        from matplotlib.transforms import offset_copy

        figure = axes.get_figure(root=True)
        axes.plot(
            [0.0],
            [bottom + height / 2],
            transform=offset_copy(axes.transAxes, figure, x=-_MARKER_PT, units="points"),
            clip_on=False,
            marker=look.marker,
            ms=look.size * size / SMALL_PT,
            mfc=look.colour if look.filled else "white",
            mec=look.colour,
            mew=0.8,
        )
    axes.set_yticks([])
    axes.tick_params(axis="x", length=0, labelbottom=False, which="both")
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
