"""The plain sender in legends and titles: its name tells its congestion control."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from drawn import texts_of
from midflight import Flow, Scenario, Sweep
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_delay_cdf, plot_over_time, plot_run
from midflight.plot.common.names import column_name, plural_name
from midflight.plot.common.plain import stack_labels, table_titles, usual_of_flows
from midflight.plot.common.relabel import parts_of
from midflight.plot.common.style import SERIES, looks_of
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.watched import watch


def test_the_plain_scheme_tells_its_congestion_control(tmp_path: Path) -> None:
    """CUBIC with the profile linux, and nothing where it is another one, or unknown."""
    scenario = Scenario.read("wifi-to-lte")

    def names(source: Any, kinds: Any = ("throughput",), **how: Any) -> list[str]:
        figure = figure_of(plot_over_time, source, list(kinds), **how)
        # What a name is followed by is when its transfer was done.
        texts = [one.get_text() for one in figure.legends[0].get_texts()]
        return [one.partition(", done at")[0] for one in texts]

    assert "sack (CUBIC)" in names(scenario, schemes=["sack", "enhanced"])
    for sets in (
        {"profile": "rfc"},
        {"set.congestion": "reno-linux"},
        {"flows.download.set.congestion": "bbr-linux"},
        {"flows.download.profile": "ns2"},
    ):
        assert "sack" in names(scenario.but(sets))
    # Where several runs differ the name is that of the scheme.
    both = {"linux": scenario, "rfc": scenario.but({"profile": "rfc"})}
    assert {"linux, sack", "rfc, sack"} < {*names(both, schemes=["sack", "vho"])}
    mixed = Scenario(
        links=scenario.links,
        flows={"a": Flow(scheme="sack"), "b": Flow(scheme="sack", profile="rfc")},
        end="1 s",
    )
    (panel,) = shown_panels(watch(mixed), ["throughput"])[1]
    assert {one.scheme for one in panel.curves if one.flow} == {"sack"}
    assert not usual_of_flows(flow for one in watch(mixed) for flow in one.flows)
    # The user has the last word, and a table has the scheme.
    labels = {"sack": "Linux"}
    assert "Linux" in names(scenario, labels=labels, csv=tmp_path / "x.csv")
    assert ",sack," in (tmp_path / "x.csv").read_text()
    figure = figure_of(plot_run, scenario, schemes=["sack", "enhanced"])
    titles = [axes.get_title(loc="left") for axes in figure.axes[:2]]
    assert titles == ["sack (CUBIC)", "enhanced"]
    figure = figure_of(plot_delay_cdf, scenario, schemes=["sack", "enhanced"])
    assert [one.get_text() for one in figure.legends[0].get_texts()] == ["sack (CUBIC)", "enhanced"]


def test_figures_of_a_sweep_name_the_plain_scheme_alike(tmp_path: Path) -> None:
    axes = ["--axis", "flows.download.scheme=sack,freeze", "--axis", "handoffs.0.at=0.1s,0.2s"]
    for folder, more, expected in (
        ("a", [], "sack (CUBIC)"),
        ("b", ["--set", "profile=rfc"], "sack"),
        ("c", ["--axis", "profile=linux,rfc"], "sack, linux"),
    ):
        out = tmp_path / folder
        assert main(["sweep", "wifi-to-lte", *axes, *more, "--out", str(out)]) == 0
        picture = tmp_path / f"{folder}.svg"
        assert main(["plot", str(out), "--out", str(picture)]) == 0
        texts = re.findall(r">([^<>]+)</text>", picture.read_text())
        assert expected in texts


STACKS = ["midflight", "quinn", "aioquic"]
NAMED = {"midflight": "TCP (CUBIC)", "quinn": "quinn (CUBIC)", "aioquic": "aioquic (NewReno)"}


@pytest.mark.parametrize(
    ("changed", "axes", "expected"),
    [
        ({}, {"flows.download.stack": STACKS}, NAMED),
        ({}, {"flows.*.stack": STACKS, "handoffs.0.gap": ["1 s", "2 s"]}, NAMED),
        ({"profile": "rfc"}, {"flows.download.stack": STACKS}, {**NAMED, "midflight": "TCP"}),
        (
            {"set.congestion": "bbr-linux"},
            {"flows.download.stack": STACKS},
            {**NAMED, "midflight": "TCP (bbr-linux)"},
        ),
        (
            {"flows.download.scheme": "enhanced"},
            {"flows.download.stack": STACKS},
            {**NAMED, "midflight": "TCP (enhanced)"},
        ),
        # What another axis has is not in the name.
        (
            {},
            {"flows.download.stack": STACKS, "flows.download.cc": ["cubic", "newreno"]},
            {"midflight": "TCP (CUBIC)", "quinn": "quinn", "aioquic": "aioquic"},
        ),
        (
            {},
            {"flows.download.stack": STACKS, "flows.download.scheme": ["sack", "freeze"]},
            {**NAMED, "midflight": "TCP"},
        ),
        (
            {},
            {
                "flows.download": [
                    '{scheme = "sack"}',
                    '{scheme = "bbr3"}',
                    '{stack = "noq", idle = "9 s"}',
                ]
            },
            {
                '{scheme = "sack"}': "sack (CUBIC)",
                '{scheme = "bbr3"}': "bbr3",
                '{stack = "noq", idle = "9 s"}': "noq (CUBIC), 9 s",
            },
        ),
        # What all tables have is in no name.
        (
            {},
            {
                "flows.download": [
                    '{size = "3 MB", scheme = "sack"}',
                    '{size = "3 MB", stack = "quinn", cc = "bbr"}',
                ]
            },
            {
                '{size = "3 MB", scheme = "sack"}': "sack (CUBIC)",
                '{size = "3 MB", stack = "quinn", cc = "bbr"}': "quinn (BBR)",
            },
        ),
        (
            {},
            {"flows.*": ['{scheme = "bbr3", size = "1 MB"}', '{scheme = "bbr3", count = 2}']},
            {
                '{scheme = "bbr3", size = "1 MB"}': "1 MB",
                '{scheme = "bbr3", count = 2}': "count 2",
            },
        ),
        # A table replaces the flow with its scheme.
        (
            {"flows.download.scheme": "freeze"},
            {"flows.download": ['{size = "1 MB"}', '{size = "1 MB", scheme = "bbr3"}']},
            {'{size = "1 MB"}': "sack (CUBIC)", '{size = "1 MB", scheme = "bbr3"}': "bbr3"},
        ),
        # These names would be the same.
        ({}, {"flows.download": ['{stack = "quinn"}', '{stack = "quinn", cc = "cubic"}']}, {}),
        ({}, {"flows.download.scheme": ["sack", "freeze"]}, {}),
    ],
)
def test_names_of_stacks_tell_the_congestion_control(
    changed: dict[str, Any], axes: dict[str, list[str]], expected: dict[str, str]
) -> None:
    scenario = json.loads(Scenario.read("wifi-to-lte").but(changed).plan().canonical)
    assert stack_labels(scenario, axes) == expected


def test_figures_of_a_sweep_name_stacks_and_tables(tmp_path: Path) -> None:
    axes = ["--axis", "flows.download.stack=midflight,quinn", "--axis", "seed=1,2,3"]
    loss = ["--set", "links.lte.loss=uniform 1%"]
    more = ["--compare", "flows.download.stack"]
    assert main(["sweep", "wifi-to-lte", *axes, *loss, *more, "--out", str(tmp_path / "a")]) == 0
    picture = tmp_path / "a.svg"
    assert main(["plot", str(tmp_path / "a"), "--out", str(picture)]) == 0
    shown = texts_of(picture)
    assert "against TCP (CUBIC)" in shown
    assert "quinn (CUBIC)" in shown


TABLES = [
    '{size="3 MB", scheme="sack"}',
    '{size="3 MB", scheme="reno-linux"}',
    '{size="3 MB", stack="quinn", cc="cubic"}',
    '{size="3 MB", stack="quinn", cc="bbr"}',
]


def test_flows_that_are_tables_have_one_name_in_figures_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ["--axis", f"flows.download=[{', '.join(TABLES)}]", "--axis", "seed=1,2,3"]
    axes += ["--axis", "handoffs.0.gap=0.5s,1s", "--compare", "flows.download"]
    loss = ["--set", "links.lte.loss=uniform 1%"]
    folder, picture, page = tmp_path / "a", tmp_path / "a.svg", tmp_path / "a.html"
    assert main(["sweep", "wifi-to-lte", *axes, *loss, "--out", str(folder)]) == 0
    assert main(["plot", str(folder), "--out", str(picture)]) == 0
    shown = texts_of(picture)
    assert "Sender of download" in shown
    assert "sack (CUBIC)" in shown
    assert "quinn (BBR)" in shown
    assert "3 MB" not in shown
    assert main(["report", str(folder), "--out", str(page)]) == 0
    words = re.sub(r"<[^>]+>", "", page.read_text().partition("How to repeat this</h2>")[0])
    said = " ".join(unescape(words).split())
    assert "Sweep over sender of download and gap" in said
    assert "Flow download (3 MB)" in said
    assert "sack (CUBIC), reno-linux, quinn (CUBIC), quinn (BBR)" in said
    assert "quinn (BBR) is faster" in said
    assert "quinn (BBR): QUIC: " in said
    assert "MB, " not in said
    assert "quinn, " not in said
    # Labels are for names that are shown, for the scheme, and for tables with any spaces.
    labels = ["quinn (BBR)=QUIC BBR", "sack=Cubic", f"{TABLES[1]}=a=b", "reno=x"]
    more = [word for one in labels for word in ("--label", one)]
    capsys.readouterr()
    assert main(["plot", str(folder), *more, "--out", str(picture)]) == 0
    shown = texts_of(picture)
    assert "QUIC BBR" in shown
    assert "against Cubic" in shown
    assert "a=b" in shown
    assert "sack" not in shown
    assert "quinn (CUBIC)" in shown
    notes = [one for one in capsys.readouterr().err.splitlines() if "--label" in one]
    assert notes == ['midflight: note: --label reno: the figure shows no "reno"']


def test_axes_of_tables_are_called_by_what_differs() -> None:
    titles = table_titles(
        {
            "flows.a": ['{scheme = "sack"}', '{stack = "quinn"}'],
            "flows.*": ['{size = "1 MB"}', '{size = "2 MB"}'],
            "flows.b": ['{size = "1 MB"}', '{size = "2 MB", scheme = "bbr3"}'],
            "flows.c": ['{size = "1 MB"}'],
            "flows.d.scheme": ["sack", "vho"],
        }
    )
    assert titles == {
        "flows.a": "Sender of a",
        "flows.*": "Size of all flows",
        "flows.b": "Settings of b",
    }


def test_congestion_controls_have_the_words_and_looks_of_schemes(tmp_path: Path) -> None:
    assert column_name("set.congestion") == "Congestion control"
    assert plural_name("flows.dl.set.congestion") == "congestion controls of dl"
    axes = ["--axis", "set.congestion=cubic-linux,reno-linux,bbr3", "--axis", "seed=1,2,3"]
    loss = ["--set", "links.lte.loss=uniform 1%"]
    folder = tmp_path / "a"
    assert main(["sweep", "wifi-to-lte", *axes, *loss, "--out", str(folder)]) == 0
    figure = figure_of(plot_axis, folder, x="set.congestion", y="duration_ns")
    assert not figure.legends
    assert figure.axes[0].get_xlabel() == "Congestion control"
    drawn = {line.get_color() for line in figure.axes[0].lines if line.get_marker() in "o>p"}
    assert {SERIES[one].colour for one in looks_of(["sack", "reno-linux", "bbr3"])} <= drawn
    assert "sack" not in " ".join(one.get_text() for one in figure.findobj(Text))


def test_flows_without_a_size_have_no_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*tables: str) -> str:
        axis, folder = f"flows.download=[{', '.join(tables)}]", tmp_path / str(len(tables[0]))
        assert main(["sweep", "wifi-to-lte", "--axis", axis, "--out", str(folder)]) == 0
        return " ".join(capsys.readouterr().out.split())

    without = said('{scheme="sack"}', '{scheme="bbr3"}')
    assert "the flows have no size, as the values of flows.download replace all" in without
    assert "later end" not in without
    assert "later end" in said('{size="9 GB"}', '{size="8 GB"}')


def test_tables_have_the_looks_of_their_senders() -> None:
    tables = ['{scheme = "bbr3"}', '{stack = "quinn", cc = "bbr"}', '{scheme = "sack"}']
    assert looks_of(tables) == looks_of(["bbr3", "quinn, bbr", "sack"])
    assert looks_of(tables[::2]) == looks_of(["bbr3", "sack"])


def test_runs_of_axes_have_the_short_names_of_results(tmp_path: Path) -> None:
    """Tables of flows and stacks have the names, and the looks, of figures of sweeps."""
    one, other = '{size="3 MB", scheme="bbr3"}', '{size="3 MB", stack="quinn", cc="bbr"}'
    tables = f"flows.download=[{one}, {other}]"
    out = tmp_path / "a.svg"

    def drawn(axis: str, *more: str) -> set[str]:
        words = ["plot", "wifi-to-lte", "--axis", axis, "--until", "0.5s", "--out", str(out)]
        assert main([*words, *more]) == 0
        return {unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)<", out.read_text())}

    panels = ("--kind", "throughput")
    assert {"Sender of download:", "bbr3", "quinn (BBR)"} <= drawn(tables, *panels)
    assert {"TCP (CUBIC)", "quinn (CUBIC)"} <= drawn(
        "flows.download.stack=midflight,quinn", *panels
    )
    titles = drawn(tables, "--size", "double")
    assert {"Sender of download: bbr3", "Sender of download: quinn (BBR)"} <= titles
    assert "QUIC" in drawn(tables, *panels, "--label", f"{other}=QUIC")
    assert "Rust (BBR)" in drawn(tables, *panels, "--label", "quinn=Rust (BBR)")
    out = tmp_path / "a.html"
    page = ["plot", "wifi-to-lte", "--axis", tables, "--out", str(out)]
    assert main(page) == 0
    assert '"quinn (BBR)"' in out.read_text()


def test_commas_within_tables_part_no_names() -> None:
    assert parts_of("{a = 1, b = {c = 2, d = 3}}, 0.5 s, up") == [
        "{a = 1, b = {c = 2, d = 3}}",
        "0.5 s",
        "up",
    ]


def test_tables_of_a_sweep_are_drawn_as_its_folder_is(tmp_path: Path) -> None:
    """With the same names and rows, of which one transfer is done before the handoff."""
    scheme, at = "flows.download.scheme", "handoffs.0.at"
    axes = {scheme: ["sack", "freeze"], at: ["0.2 s", "0.4 s", "8 s"]}
    found = Sweep.of("wifi-to-lte", axes).run(tmp_path / "out")
    frame = found.to_pandas()
    sources = [tmp_path / "out", found.flows, frame, frame[frame["run"] == 0]]
    of_phases = "done with fewer new packets after the handoff"
    for metric, table, early in (
        ("duration_ns", sources, "done before the handoff"),
        ("all_new_ns", [sources[0], found.phases], of_phases),
    ):
        said = []
        for source in table:
            figure = figure_of(plot_axis, source, x=scheme, y=metric, by=[at])
            texts = [one.get_text() for one in figure.findobj(Text)]
            assert "sack (CUBIC)" in texts
            said.append(texts)
        assert all(one == said[0] for one in said)
        assert any(early in one.replace("\n", " ") for one in said[0])
