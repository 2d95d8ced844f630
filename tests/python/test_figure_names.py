"""What the lines, rows and legends of figures are called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from midflight import Flow, Handoff, Link, Scenario
from midflight.plot import figure_of, plot_axis, plot_over_time, plot_run, plot_spread
from midflight.plot.common.names import column_name, within_text
from midflight.plot.common.style import SERIES, chosen_style, labelled, looks_of, unused_labels
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.strokes import rows_of
from midflight.plot.over_time.watched import watch
from midflight.plot.results.axis import axis_data


def shared(**schemes: str) -> Scenario:
    flows = {name: Flow(scheme=scheme) for name, scheme in schemes.items()}
    cell = Link(rate="20 Mbit/s", delay="20 ms", queue="40 packets")
    return Scenario(profile="linux", links={"cell": cell}, flows=flows, end="4 s")


def test_flows_with_different_schemes_all_have_theirs() -> None:
    (run,) = watch(shared(alice="sack", bob="bbr-linux", carol="sack"))
    assert [*run.labels] == ["alice, sack", "bob, bbr-linux", "carol, sack"]
    (alike,) = watch(shared(alice="sack", bob="sack"))
    assert [*alike.labels] == ["alice", "bob"]


def test_a_scheme_keeps_its_look_whatever_its_flow_is_called() -> None:
    sack, bbr, cubic = (looks_of([one])[0] for one in ("sack", "bbr-linux", "cubic"))
    (run,) = watch(shared(cubic="sack", reno="bbr-linux"))
    assert [*run.looks] == [sack, bbr]
    (alike,) = watch(shared(cubic="sack", bbr="sack"))
    assert cubic not in alike.looks
    assert [*alike.looks] == [0, 1]


def test_what_a_panel_lacks_has_the_names_of_the_lines() -> None:
    kinds = ["throughput", "rates"]
    figure = figure_of(plot_over_time, shared(alice="sack", bob="bbr-linux"), kinds)
    (said,) = [one for axes in figure.axes if "no pacing" in (one := axes.get_title("right"))]
    assert "alice, sack (CUBIC): no pacing rate" in " ".join(said.split())


def test_rows_of_marks_have_the_order_of_the_legend() -> None:
    """A look that comes later in `SERIES` may be that of an earlier line."""
    runs = watch(shared(first="bbr-linux", second="sack"), kinds=["cwnd"])
    (panel,) = shown_panels(runs, ["cwnd"])[1]
    looks = [*runs[0].looks]
    assert looks == sorted(looks, reverse=True)
    curves: Any = list(panel.curves)
    for curve in panel.curves[:1]:
        for look in sorted(looks):
            how: Any = {"label": "timeout", "draw": "timeout", "in_row": True, "look": look}
            curves.append(type(curve)(time_s=np.array([1.0]), value=np.array([1.0]), **how))
    heights = rows_of(type(panel)(panel.kind, panel.what, panel.unit, curves))
    assert heights[looks[0]] > heights[looks[1]]
    assert [*heights] == looks


@pytest.mark.parametrize("legend", ["outside", "inside"])
def test_a_column_has_the_chosen_label(legend: str) -> None:
    columns: dict[str, list[Any]] = {
        "flows.dl.scheme": ["sack", "vho"] * 6,
        "links.cell.queue": ["100 packets"] * 6 + ["200 packets"] * 6,
        "duration_ns": [1e9 * (1 + one) for one in range(12)],
    }
    how: Any = {"value": "duration_ns", "x": "links.cell.queue", "by": ["flows.dl.scheme"]}
    labels = {"flows.dl.scheme": "Sender", "links.cell.queue": "Buffer"}
    figure = figure_of(plot_spread, columns, "box", labels=labels, legend=legend, **how)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "Buffer (packets)"
    found = axes.get_legend() if legend == "inside" else figure.legends[0]
    assert found is not None
    words = [found.get_title().get_text(), *(one.get_text() for one in found.get_texts())]
    assert "Sender" in {one.rstrip(":") for one in words}
    assert not [one for one in words if "Scheme" in one]


def test_boxes_of_schemes_have_their_colours_and_no_legend() -> None:
    schemes = ["vho", "sack", "freeze"]
    columns: dict[str, list[Any]] = {
        "flow": ["dl"] * 60,
        "flows.dl.scheme": [one for one in schemes for _ in range(20)],
        "handoffs.0.gap": ["1 s"] * 10 + ["2 s"] * 10 + (["1 s", "2 s"] * 20),
        "duration_ns": [1e9 * (1 + one) for one in range(60)],
    }
    columns["duration_ns"][10:19] = [None] * 9
    how: Any = {"value": "duration_ns", "x": "flows.dl.scheme"}

    def drawn(**more: Any) -> tuple[dict[str, str], str, Any]:
        figure = figure_of(plot_spread, columns, "box", **how, **more)
        (axes,) = figure.axes
        names = [one.get_text() for one in axes.get_xticklabels()]
        # The first ones of the bars are the fills.
        boxes = [
            one.patches[0] for one in axes.containers if one.patches[0].get_hatch() is not None
        ]
        colours = {names[round(one.get_center()[0])]: one.get_edgecolor() for one in boxes}
        return {k: to_hex(v) for k, v in colours.items()}, axes.texts[0].get_text(), figure

    colours, said, figure = drawn()
    expected = {
        one: SERIES[look].colour for one, look in zip(schemes, looks_of(schemes), strict=True)
    }
    assert len({*expected.values()}) == 3
    assert colours == expected
    assert not figure.legends
    assert said.startswith("boxes")
    # What the legend would say stands above.
    _, said, figure = drawn(where={"handoffs.0.gap": ["1 s"]})
    assert said.startswith("Gap of the handoff: 1 s; boxes")
    assert not figure.legends
    # Several lines have their own colours.
    colours, _, figure = drawn(by=["handoffs.0.gap"])
    assert figure.legends
    # The second box of the first one is above the axis, and only an arrow.
    (only,) = {colours[one] for one in schemes[1:]}
    assert only not in {one.colour.lower() for one in SERIES}


def test_a_label_of_a_column_counts_as_used() -> None:
    labels = {"flows.dl.scheme": "Sender", "flows.ul.scheme": "Other"}
    with chosen_style(labels=labels):
        assert labelled("Scheme of dl: sack") == "Sender: sack"
        assert [*unused_labels()] == ["flows.ul.scheme"]


def moving() -> Scenario:
    cell: Any = {"rate": "4 Mbit/s", "delay": "30 ms", "queue": "40 packets"}
    flows = {"movie": Flow(size="1 MB"), "backup": Flow(scheme="vho", size="1 MB")}
    handoff = Handoff(at="1 s", to="umts", gap="0.3 s")
    links = {"dsl": Link(**cell), "umts": Link(**cell)}
    return Scenario(profile="linux", links=links, flows=flows, handoffs=[handoff], end="8 s")


@pytest.mark.parametrize("schemes", [(), ("sack", "vho")])
@pytest.mark.parametrize(
    "kind", ["both", "window", "throughput", "queue", "delay", "cwnd", "sequence"]
)
def test_every_name_of_a_figure_has_its_label(kind: str, schemes: Sequence[str]) -> None:
    names = ("dsl", "umts", "movie", "backup", "sack", "vho")
    how: Any = {
        "schemes": schemes,
        "labels": {name: f"N{place}" for place, name in enumerate(names)},
    }
    if kind in ("both", "window"):
        figure = figure_of(plot_run, moving(), kind=kind, **how)
    else:
        figure = figure_of(plot_over_time, moving(), [kind], **how)
    words = " ".join(one.get_text() for one in figure.findobj(Text))
    raw = re.findall(rf"(?<![\w-])(?:{'|'.join(names)})(?![\w-])", words)
    assert not raw, words
    assert "N1" in words


def test_notes_of_pooled_values_have_the_labels() -> None:
    columns: dict[str, list[Any]] = {
        "flows.dl.scheme": ["sack", "vho"] * 6,
        "links.cell.queue": ["100 packets"] * 6 + ["200 packets"] * 6,
        "duration_ns": [1e9 * (1 + one) for one in range(12)],
    }
    how: Any = {"value": "duration_ns", "x": "links.cell.queue", "labels": {"dl": "film"}}
    figure = figure_of(plot_spread, columns, "box", **how)
    (said,) = [one for one in figure.findobj(Text) if "film" in one.get_text()]
    assert "dl" not in said.get_text().split()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flows.page.set.web_http", "HTTP version of page"),
        ("links.DSL.up.rate", "uplink rate of DSL"),
        ("handoffs.0.gap", "gap of the handoff"),
    ],
)
def test_abbreviations_keep_their_capitals_within_text(name: str, text: str) -> None:
    assert within_text(column_name(name)) == text
    columns: dict[str, list[Any]] = {name: ["1", "2"], "x": ["1", "2"], "sent": [1.0, 2.0]}
    data = axis_data(columns, x="x", y="sent", where={name: ["1"]})
    assert data.remark.endswith(f"{text[1:]}: 1")


def test_colours_and_line_styles_have_rows_of_their_own_in_a_legend() -> None:
    schemes, rates = ["sack", "freeze", "enhanced"], ["5 Mbit/s", "20 Mbit/s"]
    cells = [(one, rate, gap) for one in schemes for rate in rates for gap in ("1 s", "2 s")]
    columns: dict[str, list[Any]] = {
        "scheme": [one for one, _, _ in cells],
        "rate": [rate for _, rate, _ in cells],
        "gap": [gap for *_, gap in cells],
        "duration_ns": [1e9 * (1 + place) for place in range(len(cells))],
    }
    how: Any = {"x": "gap", "y": "duration_ns", "by": ["scheme", "rate"]}
    for size in ("single", 4.4, "double"):
        figure = figure_of(plot_axis, columns, size=size, **how)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        places = {
            one.get_text(): one.get_window_extent().extents.round()[:2]
            for one in legend.get_texts()
        }
        rows = {name: -low for name, (_, low) in places.items()}
        # In a wide figure both are in one row, the colours first, as its title is theirs.
        across = {name: left for name, (left, _) in places.items()}
        order = across if len({*map(round, rows.values())}) == 1 else rows
        assert max(order[one] for one in schemes) < min(order[one] for one in rates)
