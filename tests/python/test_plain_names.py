"""The plain sender in legends and titles: its name tells its congestion control."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from midflight import Flow, Scenario
from midflight.cli import main
from midflight.plot import figure_of, plot_delay_cdf, plot_over_time, plot_run
from midflight.plot.panels import shown_panels
from midflight.plot.plain import plain_of_flows
from midflight.plot.watched import watch


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
