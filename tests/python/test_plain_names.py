"""The plain sender in legends and titles: its name tells its congestion control."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from midflight import Flow, Scenario
from midflight.cli import main
from midflight.plot import figure_of, plot_delay_cdf, plot_over_time, plot_run
from midflight.plot.common.plain import plain_of_flows, stack_labels
from midflight.plot.common.style import looks_of
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.watched import watch


def test_the_plain_scheme_tells_its_congestion_control(tmp_path: Path) -> None:
    """CUBIC with the profile linux, and nothing where it is another one, or unknown."""
    scenario = Scenario.read("wifi-to-lte")

    def names(source: Any, kinds: Any = ("throughput",), **how: Any) -> list[str]:
        figure = figure_of(plot_over_time, source, list(kinds), **how)
        return [one.get_text() for one in figure.legends[0].get_texts()]

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
    assert not plain_of_flows(flow for one in watch(mixed) for flow in one.flows)
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
    shown = " ".join(re.findall(r">([^<>]+)</text>", picture.read_text()))
    assert "against TCP (CUBIC)" in shown
    assert "quinn (CUBIC)" in shown


def test_tables_have_the_looks_of_their_senders() -> None:
    tables = ['{scheme = "bbr3"}', '{stack = "quinn", cc = "bbr"}', '{scheme = "sack"}']
    assert looks_of(tables) == looks_of(["bbr3", "quinn, bbr", "sack"])
    assert looks_of(tables[::2]) == looks_of(["bbr3", "sack"])
