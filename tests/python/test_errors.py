"""Exceptions in Python have the name of the argument, the value, and the accepted values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import midflight
from midflight import Link, MidflightError, Scenario, Setup, Sweep
from midflight.lab.errors import LabError
from midflight.lab.programs import check_command
from midflight.lab.source import find_source
from midflight.plot import plot_axis, plot_run
from midflight.policy import load_policies, sources
from midflight.results import difference_ci
from midflight.studies import load
from midflight.sweep_report import sweep_report_html
from midflight.verify import sweep_digests, verify_manifest
from midflight.verify_tables import read_rows

PACKAGE = Path(midflight.__file__).parent


def handoff(**more: Any) -> Setup:
    asked = {"scheme": "sack", "old": "1 Mbit/s, 1 ms", "new": "1 Mbit/s, 1 ms", **more}
    return Setup.handoff(**asked)


def set_to(key: str, value: str) -> Callable[[], object]:
    return lambda: Scenario.read("wifi-to-lte").plan(sets={key: value})


def trace_column(name: str) -> object:
    return Scenario.read("wifi-to-lte").plan().setup(0).trace().column(name)


class Misspelt:
    """A policy with a method that is almost a hook."""

    def on_notice(self, notice: object, view: object) -> None: ...

    def on_timeuot(self, before: object, view: object) -> None: ...


# The call; the name in the error, the value, and a word of the accepted values.
REFUSED: dict[str, tuple[Callable[[], object], str, str, str]] = {
    "an unknown key": (set_to("ends", "1 s"), "ends", "1 s", '"end"'),
    "an unknown key of a link": (set_to("links.lte.rat", "1"), "links.lte.rat", "1", '"rate"'),
    "an unknown key of a flow": (
        set_to("flows.download.sizes", "3"),
        "flows.download.sizes",
        "3",
        '"size"',
    ),
    "an unknown setting": (set_to("set.min_rtt", "1 s"), "set.min_rtt", "1 s", '"min_rto"'),
    "a number of no entry": (set_to("handoffs.9.to", "lte"), "handoffs.9.to", "", "0 to 1"),
    "an unknown key of a mapping": (
        lambda: Scenario.from_dict({"endd": "3 s"}),
        "endd",
        "3 s",
        "end",
    ),
    "an unknown scheme": (lambda: handoff(scheme="sak"), "scheme", "sak", "midflight.schemes()"),
    "an unknown profile": (lambda: handoff(profile="ns3"), "profile", "ns3", "ns2"),
    "an unknown column": (lambda: trace_column("tim"), "column", "tim", "time_ns"),
    "a link without a delay": (lambda: handoff(old="6400"), "link", "6400", "9 ms"),
    "an unknown axis": (
        lambda: Sweep.of(Scenario.read("wifi-to-lte"), {"links.lte.rat": "1,2"}),
        "links.lte.rat",
        "1",
        '"rate"',
    ),
    "an unknown study": (lambda: load("daniel-koj"), "study", "daniel-koj", "daniel-kojo-2008"),
    "runs that are no pairs": (
        lambda: difference_ci(np.zeros(3), np.zeros(4)),
        "b",
        "(4,)",
        "(3,)",
    ),
    "a policy that is no file": (
        lambda: load_policies(["mine=nowhere.py:Mine"]),
        "policy",
        "nowhere.py",
        "Python file",
    ),
    "a policy that is no name": (
        lambda: load_policies(["mine"]),
        "policy",
        "mine",
        "NAME=FILE.py:CLASS",
    ),
    "a hook with a slip": (
        lambda: Scenario.read("wifi-to-lte").plan(
            sets={"flows.download.scheme": "mine"}, policies={"mine": Misspelt}
        ),
        "mine",
        "on_timeuot",
        "on_timeout",
    ),
    "a policy made by a call": (
        lambda: sources({"mine": lambda: Misspelt()}),
        "mine",
        "",
        "a class at the top of a module",
    ),
    "a manifest without digests": (lambda: verify_manifest({}), "digests", "", "a list"),
    "a manifest of nothing": (
        lambda: verify_manifest({"digests": ["a"]}),
        "scenario",
        "",
        "a question",
    ),
    "a trace that is a number": (
        lambda: Scenario.from_dict({"links": {"a": {"trace": 3}}}).plan(),
        "trace",
        "",
        "",
    ),
    "a kernel's source that is not there": (
        lambda: find_source("nowhere.tar.xz"),
        "source",
        "nowhere.tar.xz",
        "linux-source",
    ),
    "a command of two lines": (
        lambda: check_command("server", "a\nb"),
        "server",
        "a\nb",
        "one line",
    ),
}


def about(of: Callable[[], object]) -> MidflightError:
    with pytest.raises(MidflightError) as raised:
        of()
    assert "\n" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("what", REFUSED)
def test_an_error_says_name_value_and_what_is_accepted(what: str) -> None:
    of, name, value, accepted = REFUSED[what]
    error = about(of)
    assert name in str(error.name)
    assert value in str(error.value)
    assert accepted in str(error.accepted)
    assert "did you mean" not in str(error.accepted)


def test_errors_on_files_name_them(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("{", encoding="utf-8")
    assert about(lambda: Sweep.read(tmp_path)).accepted == "JSON in UTF-8"
    (tmp_path / "sweep.json").write_text('{"scenario": {}}', encoding="utf-8")
    error = about(lambda: Sweep.read(tmp_path))
    assert (error.name, error.value, error.accepted) == ("axes", None, "a table")
    (tmp_path / "sweep.json").unlink()
    Sweep.of(Scenario.read("wifi-to-lte"), {"seed": "1,2"}).begin(tmp_path)
    error = about(lambda: sweep_report_html(tmp_path))
    assert (error.name, error.value) == ("folder", str(tmp_path))
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    error = about(lambda: sweep_digests(table, [0]))
    assert (error.name, error.value) == ("cell", "a, b")
    table.write_bytes(b"\xff\xfe,")
    error = about(lambda: list(read_rows(table)))
    assert (error.name, error.value, error.accepted) == ("table", str(table), "CSV in UTF-8")


def test_python_names_arguments_and_not_options(tmp_path: Path) -> None:
    for draw, name, said in (
        (lambda: plot_axis({"a": [1]}, "a.png", x="b", y="a"), "x", 'x: there is no column "b"'),
        (
            lambda: plot_run("wifi-to-lte", "a.png", look="papr"),
            "look",
            'look: "papr" is not one of',
        ),
        (lambda: plot_run("wifi-to-lte", "a.png", size="big"), "size", 'size: "big" is not a size'),
    ):
        error = about(draw)
        assert error.name == name
        assert str(error).startswith(said)
    assert not (tmp_path / "a.png").exists()


def test_an_unknown_keyword_of_a_scenario_is_suggested() -> None:
    of_link: Any = Link
    with pytest.raises(TypeError, match=r'a Link has no "dealy" \(did you mean "delay"\?\)'):
        of_link(rate="1 Mbit/s", dealy="1 ms")
    with pytest.raises(FileNotFoundError, match=r'no starter .* \(did you mean "wifi-to-lte"\?\)'):
        Scenario.read("wifi-to-ltee")


def test_the_errors_of_the_lab_say_it_too() -> None:
    error = about(lambda: find_source("nowhere"))
    assert isinstance(error, LabError)


def plain_errors(file: Path) -> list[str]:
    """Return where a file raises an error for bad input that has only a message."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    raised = [one.exc for one in ast.walk(tree) if isinstance(one, ast.Raise)]
    calls = [one.func for one in raised if isinstance(one, ast.Call)]
    names = [one.id for one in calls if isinstance(one, ast.Name)]
    return [f"{file.name}: {name}" for name in names if name in ("MidflightError", "ValueError")]


def test_no_error_of_the_package_has_only_a_message() -> None:
    found = [one for file in PACKAGE.rglob("*.py") for one in plain_errors(file)]
    # A study that registers a claim twice is a mistake of the study.
    assert found == ["claims.py: ValueError"] * 2
