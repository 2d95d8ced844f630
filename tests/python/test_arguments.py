"""Arguments of Python functions that are not accepted, policies that cannot be used, and what is
left of runs that fail.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from midflight import CongestionController, MidflightError, Scenario, Sweep
from midflight.cli import main
from midflight.plot import plot_axis, plot_over_time, plot_run
from midflight.policy import sources

SCHEME = "flows.download.scheme"
COLUMNS = {"x": ["1", "2"], "sent": [1.0, 2.0]}
FAILING = """\
from midflight import CongestionController

class Bad(CongestionController):
    def on_ack(self, view):
        return {}
"""


def scenario() -> Scenario:
    return Scenario.read("wifi-to-lte")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: scenario().run(threads=-1), "threads: -1 is not accepted; expected a whole"),
        (lambda: Sweep.of(scenario(), {"seed": "1,2"}).run("x", threads=-1), "threads: -1"),
        (lambda: scenario().run(policies=cast("Any", {"x": 3})), 'policies: "x" is 3 of the type'),
        (lambda: scenario().run(policies=cast("Any", ["x"])), "policies: .* a mapping of names"),
        (lambda: Sweep.of(scenario(), cast("Any", [("k", ["a"])])), "axes: .* a mapping of paths"),
        (
            lambda: Sweep.of(scenario(), {"seed": "1,2"}, compare=cast("Any", 3)),
            "compare: 3 is not accepted; expected the path",
        ),
        (
            lambda: plot_run("wifi-to-lte", "x.png", until_s=cast("Any", "3 s")),
            'until_s: "3 s" is not accepted; expected a number of seconds',
        ),
        (lambda: plot_run("wifi-to-lte", cast("Any", 3)), "path: 3 is not accepted"),
        (
            lambda: plot_over_time("wifi-to-lte", "x.png", from_s=float("nan")),
            "from_s: nan is not accepted",
        ),
        (
            lambda: plot_axis(COLUMNS, "x.png", x="x", y="sent", xlim=cast("Any", "0:3")),
            "xlim: '0:3' is not accepted; expected two numbers",
        ),
    ],
)
def test_other_arguments_are_refused(
    call: Callable[[], Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MidflightError, match=said) as caught:
        call()
    assert caught.value.accepted
    assert not list(tmp_path.iterdir())


class Empty(CongestionController):
    pass


class Whole(CongestionController):
    def on_ack(self, view: Any) -> None:
        del view


class Heir(Whole):
    pass


def test_a_controller_without_on_ack_is_refused_when_it_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MidflightError, match="Empty has no on_ack\\(view\\)"):
        scenario().run(policies={"x": Empty})
    file = tmp_path / "own.py"
    file.write_text(
        "from midflight import CongestionController\nclass A(CongestionController): 1\n"
    )
    words = ["run", "wifi-to-lte", "--policy", f"x={file}:A", "--set", f"{SCHEME}=x"]
    assert main(words) == 2
    assert "A has no on_ack(view), which returns a midflight.Control" in capsys.readouterr().err
    # A class whose hooks are those of another one has its source.
    assert sources({"x": Heir})
    file.write_text("class A(:\n")
    assert main(words) == 2
    assert '.py" cannot be loaded: invalid syntax in line 1\n' in capsys.readouterr().err


def test_runs_that_fail_leave_no_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("own.py")
    file.write_text(FAILING.format("view.nothing"))
    own = ["--policy", "x=own.py:Bad"]
    words = ["run", "wifi-to-lte", *own, "--set", f"{SCHEME}=x", "--out", "a/b", "--trace", "c"]
    assert main(words) == 2
    assert "failed in on_ack: AttributeError" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir() if one.name != "__pycache__"] == ["own.py"]
    # What was there stays.
    Path("a").mkdir()
    assert main(words) == 2
    assert Path("a").is_dir()
    assert not list(Path("a").iterdir())


def test_a_sweep_without_cells_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Sweep.of("wifi-to-lte", {"seed": "1,2"}).begin(Path("out"))
    for command in (["plot", "out", "--out", "x.png"], ["report", "out", "--out", "x.html"]):
        capsys.readouterr()
        assert main(command) == 2
        assert '"out" has no tables yet; `midflight sweep` makes them' in capsys.readouterr().err
    assert main(["sweep", "wifi-to-lte", "--axis", "seed=3,4", "--out", "out"]) == 0
    # Results are not replaced.
    assert main(["sweep", "wifi-to-lte", "--axis", "seed=5,6", "--out", "out"]) == 2
    assert "has another sweep" in capsys.readouterr().err


def test_what_is_no_table_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("not.parquet").write_text("\n")
    for source, said in (
        ("empty", '"empty" is not a folder of results: it has neither flows nor phases'),
        ("not.parquet", '"not.parquet" is not a table in Parquet'),
    ):
        assert main(["plot", source, "--out", "x.png"]) == 2
        assert said in capsys.readouterr().err
