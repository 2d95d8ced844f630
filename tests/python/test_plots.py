"""Every kind of figure is drawn, is the same twice, and takes odd data."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from midflight.plot import (
    COLUMN_IN,
    LOOKS,
    Bars,
    Curve,
    Curves,
    Drawing,
    Indicator,
    Judged,
    Line,
    LinePanel,
    Mark,
    Message,
    Note,
    State,
    Transition,
    bar_plot,
    figure_of,
    indicator_plot,
    line_plot,
    plot_axis,
    plot_delay_cdf,
    plot_over_time,
    plot_run,
    plot_spread,
    sequence_plot,
    state_plot,
)
from midflight.plot.common.style import text_width, wrapped
from midflight.plot.papers.messages import _cuts, _joined, _Scale, _spread
from midflight.results import Estimate, mean_ci

NAN = math.nan
Plot = Callable[[Path], list[Path]]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def bars() -> Plot:
    """Seven schemes with thirty runs each; the paper has a value for most."""
    rng = np.random.Generator(np.random.PCG64(7))
    schemes = ["Reno", "NewReno", "Vegas", "Westwood", "SACK", "Freeze-TCP", "DTCP"]
    before = [mean_ci(rng.normal(mean, 6, 30)) for mean in (62, 66, 71, 83, 68, 70, 85)]
    after = [mean_ci(rng.normal(mean, 9, 30)) for mean in (31, 36, 40, 55, 38, 60, 78)]
    return partial(
        bar_plot,
        groups=schemes,
        series=[
            Bars("before handover", before, [60, 64, 70, 84, 66, NAN, 86]),
            Bars("after handover", after, [28, 38, 41, 50, 39, NAN, 80]),
        ],
        y_title="Share of the link's bandwidth (%)",
        top=100,
    )


def lines() -> Plot:
    """Two panels with the same two schemes."""
    x = (0.0, 0.5, 2.0)
    looks = [LOOKS["solid circle"], LOOKS["dashed square"]]
    values = [Estimate(700.0, 20.0), Estimate(640.0, 25.0), Estimate(410.0, 8.0)]
    panel = LinePanel(
        "Without a station (s)",
        [Line(name, look, x, values) for name, look in zip(("a", "b"), looks, strict=True)],
        "NewReno",
    )
    return partial(line_plot, panels=[panel, panel], y_title="Throughput (kbit/s)")


def messages() -> tuple[list[Message], list[Note]]:
    """A window lost in a break, a timeout, and a second loss that duplicates repair."""
    sent: list[Message] = []
    for k in range(12):
        start, lost = 10 + 0.012 * k, k > 5
        sent.append(Message(start, None if lost else start + 0.05, f"{100 + k}", "data"))
        if not lost:
            sent.append(Message(start + 0.05, start + 0.1, f"ACK {101 + k}", "ack"))
    sent.append(Message(11.0, 11.15, "106", "retransmission"))
    sent.append(Message(11.15, 11.3, "ACK 107", "ack"))
    for k in range(10):
        arrived = None if k == 1 else 11.45 + 0.03 * k
        sent.append(Message(11.3, arrived, f"{107 + k}", "retransmission" if k < 5 else "data"))
        if arrived is not None:
            kind: Any = "dupack" if k else "ack"
            sent.append(Message(arrived, arrived + 0.15, "ACK 108", kind))
    notes = [
        Note(10.072, "sender", "break of the old link"),
        Note(10.9, "receiver", "new link: 200 kbit/s, 300 ms"),
        Note(11.0, "sender", "RTO after 880 ms; cwnd 1"),
        Note(11.72, "sender", "3rd dupack: timer tau = 403 ms; cwnd 20 kept"),
    ]
    return sent, notes


def sequence(**options: Any) -> Plot:
    sent, notes = messages()
    return partial(sequence_plot, messages=sent, notes=notes, skip_s=[(10.2, 10.85)], **options)


def states() -> Plot:
    """Seven states, two of them added, with loops and a pair of arrows in both directions."""
    boxes = [
        State("start", "slow start", 0, 0),
        State("avoidance", "congestion\navoidance", 2, 0),
        State("recovery", "fast recovery", 4, 0),
        State("timeout", "timeout", 2, 2),
        State("wait", "wait for\nhandoff", 0, 1, added=True),
        State("probe", "probe", 4, 1, added=True),
    ]
    arrows = [
        Transition("start", "avoidance", "cwnd > ssthresh", 412),
        Transition("start", "recovery", "3 dupacks", 120),
        Transition("avoidance", "recovery", "3 dupacks", 388),
        Transition("recovery", "avoidance", "full ACK", 470),
        Transition("recovery", "recovery", "partial ACK", 93),
        Transition("start", "start", "ACK", 6021),
        Transition("avoidance", "timeout", "RTO", 17),
        Transition("timeout", "start", "ACK", 103),
        Transition("avoidance", "wait", "notice: link going down", 90),
        Transition("wait", "probe", "link up", 118),
        Transition("probe", "timeout", "RTO", 0),
    ]
    return partial(state_plot, states=boxes, transitions=arrows)


def indicator() -> Plot:
    """Twenty seconds with a handover from 40 to 300 ms, and five losses."""
    rng = np.random.Generator(np.random.PCG64(3))
    times = np.arange(0, 20, 0.05).tolist()
    rtts = [(t, (40 if t < 10 else 300) * (1 + t % 1.25 / 2.5) + rng.gamma(2, 3)) for t in times]
    judged = [Judged(3.2, 70, True), Judged(10.6, 310, False), Judged(14.0, 350, True)]
    return partial(
        indicator_plot,
        panels=[
            Indicator(rtts, [(0, 60), (10.5, 160), (12, 310)], [(0, 45), (3, 40.5)], judged),
            Curves("Segments", [Curve("cwnd", [(0, 2), (5, 20)]), Curve("ssthresh", [(0, 30)])]),
        ],
        window_s=(0, 20),
        marks=[Mark(10.0, "break"), Mark(10.5, "make")],
    )


@pytest.mark.parametrize(
    "plot",
    [bars(), lines(), sequence(), sequence(width_in=COLUMN_IN), states(), indicator()],
    ids=["bars", "lines", "sequence", "sequence in a column", "states", "indicator"],
)
def test_the_same_data_gives_the_same_files(tmp_path: Path, plot: Plot) -> None:
    drawing = Drawing(plot, ("value",), [(1,)])
    one = drawing.write(tmp_path / "one" / "figure")
    assert [path.name for path in one] == ["figure.svg", "figure.png", "figure.csv"]
    two = pickle.loads(pickle.dumps(drawing)).write(tmp_path / "two" / "figure")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert b"date" not in one[0].read_bytes()


@pytest.mark.parametrize(
    ("groups", "series"),
    [
        ([], []),
        (["Reno"], []),
        (["Reno"], [Bars("before", [Estimate(50.0, NAN)])]),
        (["Reno", "SACK"], [Bars("before", [Estimate(NAN, NAN), Estimate(0.0, 0.0)], [NAN, NAN])]),
        (["Reno"], [Bars("change", [Estimate(-20.0, 3.0)], [-25.0])]),
        (["Reno"], [Bars(str(k), [Estimate(math.inf, 1.0)]) for k in range(5)]),
    ],
)
def test_bars_take_odd_data(tmp_path: Path, groups: list[str], series: list[Bars]) -> None:
    files = bar_plot(tmp_path / "bars", groups=groups, series=series, y_title="Share (%)")
    assert all(path.stat().st_size for path in files)


@pytest.mark.parametrize(
    ("sent", "options"),
    [
        ([], {}),
        ([Message(1.0, 1.0, "1", "data")], {}),
        ([Message(1.0, None, "1", "ack")], {}),
        ([Message(NAN, 2.0, "1", "data"), Message(1.0, NAN, "", "data")], {}),
        ([Message(1.0, 1.2, "1", "data")], {"skip_s": [(0, 5), (4, 6)]}),
        ([Message(1.0, 1.2, "1", "data")], {"window_s": (1.1, 1.15), "skip_s": [(3, 2)]}),
        ([Message(1.0, 1.2, "1", "data")], {"notes": [Note(NAN, "sender", "never")]}),
        (
            [Message(1.0, 1.2, str(k), ("data", "retransmission")[k % 2]) for k in range(300)],
            {"height_in": 2.0},
        ),
    ],
)
def test_sequences_take_odd_data(
    tmp_path: Path, sent: list[Message], options: dict[str, Any]
) -> None:
    files = sequence_plot(tmp_path / "sequence", sent, **options)
    assert all(path.stat().st_size for path in files)


@pytest.mark.parametrize(
    ("boxes", "arrows"),
    [
        ([], []),
        ([State("a", "", 0, 0)], [Transition("a", "a", "x")]),
        ([State("a", "A", 0, 0), State("b", "B", 0, 0)], [Transition("a", "b", "", 0)]),
        (
            [State("a", "A", 0, 0), State("b", "B", 1, 0)],
            [Transition("a", "b", f"event {k}", k) for k in range(9)],
        ),
    ],
)
def test_states_take_odd_data(tmp_path: Path, boxes: list[State], arrows: list[Transition]) -> None:
    files = state_plot(tmp_path / "states", boxes, arrows)
    assert all(path.stat().st_size for path in files)


def test_a_transition_to_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no state 'b'; there are a"):
        state_plot(tmp_path / "states", [State("a", "A", 0, 0)], [Transition("a", "b", "x")])


@pytest.mark.parametrize(
    "panels",
    [
        [],
        [LinePanel("x", [])],
        [LinePanel("x", [Line("a", LOOKS["solid circle"], (), ())])],
        [LinePanel("x", [Line("a", LOOKS["solid circle"], (1.0,), [Estimate(NAN, NAN)])])],
        [LinePanel("x", [Line("a", LOOKS["solid circle"], (1.0, 2.0), [Estimate(3.0, NAN)])])],
        [LinePanel("x", [Line("a", LOOKS["solid circle"], (1.0,), [Estimate(0.0, 0.0)])])],
    ],
)
def test_lines_take_odd_data(tmp_path: Path, panels: list[LinePanel]) -> None:
    assert len(line_plot(tmp_path / "figure", panels, y_title="y")) == 2


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "panels",
    [
        [],
        [Indicator([])],
        [Indicator([(1.0, 50.0)], [(0.0, NAN)], [(0.0, 0.0)], [Judged(NAN, 1.0, True)])],
        [Indicator([(1.0, 0.0)]), Curves("cwnd", [Curve("cwnd", [(1.0, 2.0)], steps=False)])],
        [Curves("nothing"), Indicator([(30.0, 50.0)], [(0.0, math.inf)])],
    ],
)
def test_indicators_take_odd_data(tmp_path: Path, panels: list[Any], log: bool) -> None:
    panels = [type(one)(**{**vars(one), "log": log}) for one in panels]
    files = indicator_plot(tmp_path / "indicator", panels, window_s=(0, 10), marks=[Mark(5, "x")])
    assert all(path.stat().st_size for path in files)


def test_labels_of_many_messages_become_one() -> None:
    assert _joined(("21",)) == "21"
    assert _joined(("ACK 21", "ACK 22")) == "ACK 21, 22"
    assert _joined(("ACK 21", "ACK 22", "ACK 23")) == "ACK 21 … 23"
    assert _joined(("ACK 20",) * 3) == "ACK 20 \N{MULTIPLICATION SIGN}3"


def test_texts_are_spread_without_overlap_and_as_little_as_possible() -> None:
    assert _spread([10, 50], [8, 8], 0, 100) == [10, 50]
    assert _spread([50, 50, 50], [8, 8, 8], 0, 100) == [42, 50, 58]
    assert _spread([0, 0, 99], [8, 10, 8], 0, 100) == [4, 13, 96]


def test_time_is_to_scale_except_where_it_is_left_out() -> None:
    cuts = _cuts([(6, 7), (2, 4), (3, 5), (9, 12), (1, 1)], 0, 10)
    assert cuts == [(2, 5), (6, 7), (9, 10)]
    scale = _Scale(0, 10, [(2, 5)], 0, 85)
    assert [scale(t) for t in (0, 2, 5, 10)] == [0, 20, 35, 85]
    assert scale(1) - scale(0) == scale(8) - scale(7) == 10


def test_lines_are_broken_between_words() -> None:
    text = "3rd dupack: timer tau = 403 ms"
    lines = wrapped(text, 6, 50).split("\n")
    assert " ".join(lines) == text
    assert all(text_width(line, 6) <= 50 for line in lines)
    assert wrapped("unbreakable", 6, 1) == "unbreakable"


@pytest.mark.parametrize(
    ("plot", "rest", "near"),
    [
        (plot_run, (), "flow, run, schemes"),
        (plot_over_time, (), "kinds, flows, run"),
        (plot_delay_cdf, (), "flows, run, schemes"),
        (plot_axis, (), "x, y, by, where"),
        (plot_spread, ("cdf",), "kind, value, x, y"),
    ],
)
def test_unknown_keywords_are_refused(
    plot: Callable[..., Path], rest: tuple[str, ...], near: str, tmp_path: Path
) -> None:
    needed: Any = {plot_axis: {"x": "a", "y": "b"}, plot_spread: {"value": "b"}}.get(plot, {})
    # Before anything is read.
    for call in (
        lambda **how: plot("no-such-source", tmp_path / "x.png", *rest, **needed, **how),
        lambda **how: figure_of(plot, "no-such-source", *rest, **needed, **how),
    ):
        with pytest.raises(TypeError) as caught:
            call(lgend="none", foo=1)
        said = str(caught.value)
        assert said.startswith(
            f'{plot.__name__} does not accept "lgend" (did you mean "legend"?), "foo"; its keywords'
            f" are {near}"
        )
        assert said.endswith(
            "look, font, labels, legend, xlim, ylim, vlim, xlabel, ylabel, captions, csv"
        )
        assert not list(tmp_path.iterdir())
