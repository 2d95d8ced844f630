"""Names of events and links in figures of runs: where they stand, and what they say."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from midflight import Flow, Handoff, Link, Scenario
from midflight.plot.common.labels import EventNames
from midflight.plot.over_time.history import History, histories
from midflight.plot.over_time.room import OUTAGE, Room, shade_spans
from midflight.plot.over_time.run import run_figure


def at_sea() -> Scenario:
    """A run with four timeouts of one segment, after each other."""
    return Scenario(
        links={
            "lte": Link(preset="lte"),
            "satellite": Link(rate="20 Mbit/s", delay="300 ms", up={"rate": "2 Mbit/s"}),
        },
        flows={"download": Flow(scheme="sack", size="10 MB")},
        handoffs=[Handoff(at="1 s", to="satellite", gap="3 s")],
        end="20 s",
    )


def names_of(axes: Any) -> list[Any]:
    return [one for one in axes.texts if one.get_text().replace("\n", " ").endswith(_WORDS)]


_WORDS = ("timeout", "timeouts", "fast retransmit")


def box_of(text: Any) -> Bbox:
    """A text's own box, not that of its line."""
    return Bbox(super(type(text), text).get_window_extent())


def line_of(text: Any) -> np.ndarray[Any, Any]:
    """Places along the line from a name to its event, without its ends."""
    box, at = box_of(text), text.axes.transData.transform(text.xy)
    near = np.clip(at, [box.x0, box.y0], [box.x1, box.y1])
    return np.linspace(at, near, 60)[10:-10]


def covered(axes: Any, box: Bbox) -> int:
    """How many places of data, and upright lines, are in a box."""
    found = 0
    for line in axes.lines:
        if line.get_transform() == axes.transData:
            at = axes.transData.transform(line.get_xydata())
            found += int(((at > box.min) & (at < box.max)).all(axis=1).sum())
        elif line.get_transform() == axes.get_xaxis_transform(which="grid"):
            across = axes.transData.transform((line.get_xdata()[0], 0))[0]
            found += box.x0 < across < box.x1
    return found


_CASES: list[tuple[Any, dict[str, str], list[str]]] = [
    # The first of them are at the lower edge; the last are close together.
    ("ping-pong", {}, ["sack", "enhanced"]),
    (
        "wifi-to-lte",
        {"handoffs.0.gap": "4 s", "links.lte.loss": "uniform 0.3%"},
        ["sack", "freeze"],
    ),
    ("web-page", {}, ["sack"]),
]


@pytest.mark.parametrize("size", [None, (6.0, 3.5)])
@pytest.mark.parametrize(("name", "sets", "schemes"), _CASES)
def test_names_of_events_cover_nothing(
    name: str, sets: dict[str, str], schemes: list[str], size: tuple[float, float] | None
) -> None:
    found = histories(Scenario.read(name, sets=sets), schemes=schemes)
    _check_names(found, size)


def test_names_of_timeouts_at_sea() -> None:
    found = histories(at_sea(), schemes=["sack", "vho-qs"])
    assert _check_names(found[:1], None) == 3
    assert _check_names(found, None) >= 4


def _check_names(runs: list[History], size: Any) -> int:
    figure = run_figure(runs, size=size)
    figure.draw_without_rendering()
    written = 0
    for axes in figure.axes[: len(runs)]:
        edge = axes.get_window_extent()
        names = names_of(axes)
        assert len(names) <= 3
        for text in names:
            box = box_of(text)
            assert edge.x0 <= box.x0
            assert box.x1 <= edge.x1
            assert edge.y0 < box.y0
            assert box.y1 <= edge.y1
            assert covered(axes, box) == 0, text.get_text()
        for one, two in combinations(names, 2):
            assert not box_of(one).overlaps(box_of(two))
            for line, other in ((one, two), (two, one)):
                assert not any(box_of(other).contains(*at) for at in line_of(line))
            apart = line_of(one)[:, None, :] - line_of(two)[None, :, :]
            assert np.hypot(*np.moveaxis(apart, -1, 0)).min() > 1
        written += len(names)
    return written


def test_timeouts_after_each_other_share_a_name() -> None:
    (one,) = histories(at_sea())
    assert len(one.times("rto")) == 4
    axes = run_figure([one]).axes[0]
    words = [text.get_text().replace("\n", " ") for text in names_of(axes)]
    assert words == ["4 timeouts", "fast retransmit", "fast retransmit"]
    (first,) = (text for text in axes.texts if text.get_text() == "4 timeouts")
    assert first.xy == (one.times("rto")[0] / 1e9, one.values("rto")[0])


def test_narrow_panels_have_no_names_of_events() -> None:
    runs = histories(at_sea(), schemes=["sack", "vho-qs"])
    assert not any(names_of(axes) for axes in run_figure(runs, size="single").axes[:2])
    assert all(names_of(axes) for axes in run_figure(runs).axes[:2])


@pytest.mark.parametrize(("count", "size"), [(1, "single"), (1, None), (2, "single"), (3, None)])
def test_names_of_links_do_not_touch(count: int, size: Any) -> None:
    runs = histories(at_sea(), schemes=["sack", "vho-qs", "freeze"][:count])
    figure = run_figure(runs, size=size)
    figure.draw_without_rendering()
    found = [
        text
        for axes in figure.axes[:count]
        for text in axes.texts
        if text.get_text() in ("lte lost", "to satellite")
    ]
    assert len(found) == 2 * count
    gap = 2 / 72 * figure.dpi
    for one, two in combinations(map(box_of, found), 2):
        wide = Bbox([[one.x0 - gap, one.y0], [one.x1 + gap, one.y1]])
        assert not wide.overlaps(two)


def test_a_name_without_room_is_left_out() -> None:
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    grid = np.linspace(0, 1, 60)
    axes.plot(*(one.ravel() for one in np.meshgrid(grid, grid)), "o")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    assert not EventNames(axes).write(0.5, 0.5, "RTO")
    axes.set(xlim=(0, 1), ylim=(0, 3))
    assert EventNames(axes).write(0.5, 0.9, "RTO")
    (name,) = axes.texts
    figure.draw_without_rendering()
    assert axes.transData.inverted().transform(box_of(name).min)[1] > 1


def test_names_stand_rather_beside_a_shade_than_on_it() -> None:
    def middle(shaded: tuple[float, float] | None) -> float:
        figure = Figure(figsize=(5, 3))
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8), xlim=(0, 10), ylim=(0, 10))
        axes.plot([5], [5], marker="o")
        if shaded:
            shade_spans(axes, [shaded], OUTAGE, Room(4.0, (0.0, 10.0)))
        assert EventNames(axes).write(5, 5, "timeout")
        (text,) = axes.texts
        figure.draw_without_rendering()
        box = box_of(text)
        return float(axes.transData.inverted().transform(((box.x0 + box.x1) / 2, 0.0))[0])

    free = middle(None)
    assert abs(free - 5) < 2
    # The shade is where the name would be.
    assert middle((5.0, 10.0)) < 5
    assert middle((0.0, 5.0)) > 5
