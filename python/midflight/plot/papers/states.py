"""State diagrams: the states of a protocol, and how often a run took each transition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.style import DARK, PAGE_IN, save, style, text_width, wrapped
from midflight.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["State", "Transition", "state_plot"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """A state: its name for transitions, its text, and its column and row (downwards; any unit).

    `added` states are grey: a proposal adds these states to the protocol that it extends.
    """

    name: str
    label: str
    x: float
    y: float
    added: bool = False


@dataclass(frozen=True)
class Transition:
    """An arrow between the named states, what triggers it, and how often it was taken.

    One that was never taken (0) is dashed; without a count (None) only the trigger is written.
    """

    source: str
    target: str
    trigger: str
    count: int | None = None


# All lengths are in points (1/72 in).
_STATE_PT, _LABEL_PT = 7.5, 6.0
_LINE = 7.2  # from one line of a label to the next
_ROUND = 4.0  # radius of the corners of a box
_BENDS = (0.0, 0.1, -0.1, 0.2, -0.2, 0.32, -0.32, 0.48, -0.48, 0.7, -0.7)
_ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)
_PASSES = 4
_LEGEND = 12.0  # height of the legend


def state_plot(
    stem: Path,
    states: Sequence[State],
    transitions: Sequence[Transition],
    *,
    added: str = "added state",
    never: str = "never taken",
    label_in: float = 0.95,
    width_in: float = PAGE_IN,
    height_in: float = 3.4,
) -> list[Path]:
    """Draw states as boxes and transitions as curved arrows, each with `trigger (count)` on it.

    The boxes are placed by their columns and rows, which share the size of the figure. The arrows
    bend, and their labels move, so that they do not cover boxes or each other. Lines are thicker if
    a transition was taken more often. Labels are broken into lines of `label_in` inches. `added`
    and `never` are texts of the legend; it has only the kinds that occur.

    Transitions from or to a state that is not given are a `ValueError`.  Returns the files written
    (`stem`.svg and `stem`.png).
    """
    names = {state.name for state in states}
    for one in transitions:
        for name in (one.source, one.target):
            if name not in names:
                accepted = ", ".join(sorted(names))
                raise refusal(
                    f"no state {name!r}; there are {accepted}",
                    name="state",
                    value=name,
                    accepted=accepted,
                )
    size = np.array([width_in * 72, height_in * 72])
    with style():
        from matplotlib.figure import Figure

        boxes = _boxes(states, transitions, size)
        arrows = [
            _candidates(
                boxes[one.source],
                boxes[one.target],
                wrapped(_words(one), _LABEL_PT, label_in * 72),
                [box for name, box in boxes.items() if name not in (one.source, one.target)],
                [*boxes.values()],
                size - np.array([0.0, _LEGEND]),
            )
            for one in transitions
        ]
        figure = Figure(figsize=(width_in, height_in))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(0, size[0])
        axes.set_ylim(size[1], 0)
        axes.set_axis_off()
        most = max((one.count or 0 for one in transitions), default=0)
        for one, arrow in zip(transitions, _chosen(arrows), strict=True):
            _draw_arrow(axes, one, arrow, most)
        for state in states:
            _draw_box(axes, state, boxes[state.name])
        _legend(axes, states, transitions, added, never)
        return save(figure, stem, lay_out=False)


def _words(one: Transition) -> str:
    return one.trigger if one.count is None else f"{one.trigger} ({one.count})".strip()


@dataclass(frozen=True)
class _Box:
    """A box with round corners: its centre and half its size."""

    centre: Floats
    half: Floats

    def distance(self, points: Floats) -> Floats:
        """How far points are from the edge, negative inside."""
        beyond = np.abs(points - self.centre) - (self.half - _ROUND)
        outside: Floats = np.hypot(*np.maximum(beyond, 0.0).T)
        inside: Floats = np.minimum(beyond.max(axis=-1), 0.0) - _ROUND
        return np.add(outside, inside)

    @property
    def bounds(self) -> Floats:
        return np.concatenate([self.centre - self.half, self.centre + self.half])


def _boxes(
    states: Sequence[State], transitions: Sequence[Transition], size: Floats
) -> dict[str, _Box]:
    """Boxes of one size at the columns and rows of the states."""
    if not states:
        return {}
    half = np.array(
        [
            max(text_width(state.label, _STATE_PT) for state in states) / 2 + 6,
            max(state.label.count("\n") + 1 for state in states) * 4.6 + 5,
        ]
    )
    places = np.array([(state.x, state.y) for state in states], dtype=float)
    low, span = places.min(axis=0), np.ptp(places, axis=0)
    loops = 24.0 if any(one.source == one.target for one in transitions) else 8.0
    first = half + np.array([10.0, loops])
    last = size - half - np.array([10.0, max(loops, 8.0) + _LEGEND])
    share = np.divide(places - low, span, out=np.full_like(places, 0.5), where=span > 0)
    centres = first + share * (last - first)
    return {state.name: _Box(centre, half) for state, centre in zip(states, centres, strict=True)}


@dataclass(frozen=True)
class _Arrow:
    """One way to draw a transition.

    `control` are the points of its Bezier curve, `points` lie on it.  For every possible place of
    its label, `labels` has the bounds (left, top, right, bottom) and `costs` its cost without that
    due to other arrows.
    """

    text: str
    control: Floats
    points: Floats
    labels: Floats
    costs: Floats


@dataclass(frozen=True)
class _Placed:
    """An arrow with the place of its label."""

    arrow: _Arrow
    label: Floats


def _bezier(control: Floats, t: Floats) -> Floats:
    """Points of a Bezier curve of any degree."""
    degree = len(control) - 1
    weights = np.stack(
        [math.comb(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)], axis=-1
    )
    points: Floats = weights @ control
    return points


def _between(control: Floats, first: float, last: float) -> Floats:
    """The control points of the part of a quadratic Bezier curve between two parameters."""
    middle = (
        (1 - first) * (1 - last) * control[0]
        + (first * (1 - last) + last * (1 - first)) * control[1]
        + first * last * control[2]
    )
    ends = _bezier(control, np.array([first, last]))
    return np.array([ends[0], middle, ends[1]])


def _curves(source: _Box, target: _Box) -> list[tuple[Floats, float]]:
    """The curves from one box to another (or back to itself), and the cost of each."""
    if source is target:
        curves = []
        sides = ((0.0, -1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.0))
        for number, side in enumerate(np.array(sides)):
            along = np.abs(side[::-1])
            for shift in (0.0, -0.55, 0.55):
                foot = source.centre + side * source.half + along * shift * source.half
                far = foot + 26 * side
                loop = [foot - 5 * along, far - 13 * along, far + 13 * along, foot + 5 * along]
                curves.append((np.array(loop), 0.5 * number + abs(shift)))
        return curves
    t = np.linspace(0, 1, 241)
    line = target.centre - source.centre
    aside = np.array([line[1], -line[0]])
    curves = []
    for bend in _BENDS:
        control = np.array(
            [source.centre, (source.centre + target.centre) / 2 + bend * aside, target.centre]
        )
        points = _bezier(control, t)
        out = np.flatnonzero(source.distance(points) < 0.3)
        into = np.flatnonzero(target.distance(points) < 0.8)
        if out.size and into.size and out[-1] < into[0]:
            part = _between(control, float(t[out[-1]]), float(t[into[0]]))
            curves.append((part, 14 * abs(bend) + (0.3 if bend < 0 else 0.0)))
    if not curves:  # boxes that overlap
        curves.append((np.array([source.centre, source.centre, target.centre]), 0.0))
    return curves


def _inside(points: Floats, bounds: Floats, margin: float = 0.0) -> NDArray[np.intp]:
    """How many points lie in each of the bounds."""
    low, high = bounds[:, None, :2] - margin, bounds[:, None, 2:] + margin
    hits: NDArray[np.intp] = ((points >= low) & (points <= high)).all(axis=-1).sum(axis=1)
    return hits


def _overlaps(bounds: Floats, other: Floats, margin: float) -> NDArray[np.bool_]:
    """Which of the bounds come nearer to another than the margin."""
    near = (bounds[:, :2] < other[2:] + margin) & (bounds[:, 2:] > other[:2] - margin)
    return np.logical_and(near[:, 0], near[:, 1])


def _crossings(points: Floats, others: Floats) -> int:
    """How often a curve crosses others, each a row of points along it."""

    def side(a: Floats, b: Floats, c: Floats) -> NDArray[np.bool_]:
        (ux, uy), (vx, vy) = np.moveaxis(b - a, -1, 0), np.moveaxis(c - a, -1, 0)
        left: NDArray[np.bool_] = ux * vy > uy * vx
        return left

    a, b = points[:-1, None, None], points[1:, None, None]
    c, d = others[None, :, :-1], others[None, :, 1:]
    return int(((side(a, b, c) != side(a, b, d)) & (side(c, d, a) != side(c, d, b))).sum())


def _candidates(
    source: _Box,
    target: _Box,
    text: str,
    others: Sequence[_Box],
    boxes: Sequence[_Box],
    size: Floats,
) -> list[_Arrow]:
    """The ways to draw one transition, with the cost of each, except that due to other arrows."""
    half = np.array([text_width(text, _LABEL_PT) / 2 + 1, (text.count("\n") + 1) * _LINE / 2])
    beside = half + (3.0 if source is target else 1.5)
    anchors = np.array([(0.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.0)])
    arrows = []
    for control, cost in _curves(source, target):
        points = _bezier(control, np.linspace(0, 1, 49))
        for box in others:
            cost += 40.0 * int((box.distance(points) < 4.0).sum())
        cost += 40.0 * int(((points < 3) | (points > size - 3)).any(axis=1).sum())
        along = np.array(_ALONG)
        places = _bezier(control, along)
        centres = (places[:, None, :] + anchors[None, :, :] * beside).reshape(-1, 2)
        labels = np.hstack([centres - half, centres + half])
        costs = cost + (8 * np.abs(along - 0.5)[:, None] + np.array([0, 4, 4, 4, 4])).ravel()
        own = _inside(points, labels) / len(points)
        costs = costs + 60.0 * np.maximum(0.0, own - (0.02 if source is target else 0.3))
        for box in boxes:
            costs = costs + 400.0 * _overlaps(labels, box.bounds, 2.0)
        outside = (labels[:, :2] < 2).any(axis=1) | (labels[:, 2:] > size - 2).any(axis=1)
        arrows.append(_Arrow(text, control, points, labels, costs + 400.0 * outside))
    return arrows


def _chosen(arrows: Sequence[Sequence[_Arrow]]) -> list[_Placed]:
    """Choose a way for every transition: one after the other, then each again given the rest."""
    chosen: list[_Placed | None] = [None] * len(arrows)
    for _ in range(_PASSES):
        before = list(chosen)
        for index, ways in enumerate(arrows):
            rest = [one for k, one in enumerate(chosen) if one is not None and k != index]
            chosen[index] = _best(ways, rest)
        if all(a is not None and _same(a, b) for a, b in zip(before, chosen, strict=True)):
            break
    return [one for one in chosen if one is not None]


def _same(one: _Placed, two: _Placed | None) -> bool:
    return two is not None and one.arrow is two.arrow and bool((one.label == two.label).all())


def _best(ways: Sequence[_Arrow], rest: Sequence[_Placed]) -> _Placed:
    """The way that disturbs the other arrows and labels least."""
    best: tuple[float, _Placed] | None = None
    drawn = np.concatenate([one.arrow.points for one in rest]) if rest else np.empty((0, 2))
    coarse = np.array([one.arrow.points[::4] for one in rest])
    labels = np.array([one.label for one in rest]).reshape(-1, 4)
    for way in ways:
        costs = way.costs + 12.0 * _inside(drawn, way.labels, 1.0)
        for label in labels:
            costs = costs + 300.0 * _overlaps(way.labels, label, 1.5)
        common = 12.0 * float(_inside(way.points, labels, 1.0).sum())
        if len(drawn):
            gaps = np.hypot(*(way.points[:, None, :] - drawn[None, :, :]).transpose(2, 0, 1))
            common += 3.0 * _crossings(way.points[::4], coarse)
            common += 1.5 * float((gaps.min(axis=1) < 6.0).sum())
        costs = np.round(costs + common, 6)
        index = int(costs.argmin())
        if best is None or costs[index] < best[0]:
            best = (float(costs[index]), _Placed(way, way.labels[index]))
    assert best is not None
    return best[1]


def _draw_arrow(axes: Axes, one: Transition, placed: _Placed, most: int) -> None:
    """Draw the arrow and its label."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    control = placed.arrow.control
    code = Curve.CURVE3 if len(control) == 3 else Curve.CURVE4
    often = math.log1p(one.count or 0) / math.log1p(most) if most else 0.0
    never = one.count == 0
    axes.add_patch(
        FancyArrowPatch(
            path=Curve(control, [Curve.MOVETO] + [code] * (len(control) - 1)),
            arrowstyle="-|>,head_length=0.5,head_width=0.22",
            mutation_scale=8,
            linewidth=0.7 if one.count is None else 0.6 + 0.9 * often,
            linestyle=(0, (3.0, 1.8)) if never else "-",
            color="0.5" if never else DARK,
            capstyle="butt",
            shrinkA=0,
            shrinkB=0,
            zorder=2,
        )
    )
    if placed.arrow.text:
        left, top, right, bottom = placed.label
        axes.text(
            (left + right) / 2,
            (top + bottom) / 2,
            placed.arrow.text,
            fontsize=_LABEL_PT,
            color="0.35" if never else "black",
            ha="center",
            va="center",
            linespacing=1.05,
            zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )


def _draw_box(axes: Axes, state: State, box: _Box) -> None:
    """Draw one state."""
    from matplotlib.patches import FancyBboxPatch

    corner, (width, height) = box.centre - box.half, 2 * box.half
    axes.add_patch(
        FancyBboxPatch(
            (float(corner[0]), float(corner[1])),
            float(width),
            float(height),
            boxstyle=f"round,pad=0,rounding_size={_ROUND}",
            facecolor="0.85" if state.added else "white",
            edgecolor="black",
            linewidth=0.9,
            zorder=3,
        )
    )
    x, y = box.centre.tolist()
    axes.text(x, y, state.label, fontsize=_STATE_PT, ha="center", va="center_baseline", zorder=5)


def _legend(
    axes: Axes, states: Sequence[State], transitions: Sequence[Transition], added: str, never: str
) -> None:
    """Explain grey boxes and dashed arrows, if there are any."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Line2D] = []
    if any(state.added for state in states):
        handles.append(Patch(facecolor="0.85", edgecolor="black", linewidth=0.6, label=added))
    if any(one.count == 0 for one in transitions):
        dashes = (0, (3.0, 1.8))
        handles.append(Line2D([], [], color="0.5", linestyle=dashes, linewidth=0.8, label=never))
    if handles:
        axes.legend(
            handles=handles, loc="lower right", bbox_to_anchor=(1.0, 0.0), ncols=len(handles)
        )
