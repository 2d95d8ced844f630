"""A user's mistake gives one sentence on standard error and exit status 2, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight.cli import main

PAIR = {"--old": "6400 kbit/s, 9 ms", "--new": "200 kbit/s, 300 ms", "--at": "8.2s"}


def complaint(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run the command line, check the form of its complaint, and return it."""
    assert main(args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("midflight: ")
    return captured.err


def handoff(*more: str, **changed: str) -> list[str]:
    options = {**PAIR, **{f"--{name}": text for name, text in changed.items()}}
    return ["handoff", *[word for pair in options.items() for word in pair], *more]


# The wrong input, and the words that the error must contain: what was read, and what is accepted.
MISTAKES = {
    "a rate without a unit": (handoff(old="6400, 9 ms"), ["6400", "kbit/s"]),
    "a rate in an unknown unit": (handoff(old="6400 kB/s, 9 ms"), ["kB", "kbit/s"]),
    "a rate of zero": (handoff(old="0 kbit/s, 9 ms"), ["0 kbit/s", "1 bit/s"]),
    "a delay without a unit": (handoff(new="200 kbit/s, 300"), ["300", "ms"]),
    "a negative delay": (handoff(old="6400 kbit/s, -9 ms"), ["-9 ms", "9 ms"]),
    "a link without a delay": (handoff(old="6400 kbit/s"), ["6400 kbit/s", "ms"]),
    "an unknown scheme": (handoff(scheme="vegas"), ["vegas", "midflight list schemes"]),
    "an unknown part of a scheme": (
        handoff(scheme="sack+vegas"),
        ["vegas", "midflight list schemes"],
    ),
    "two responses to duplicate ACKs": (
        handoff(scheme="dcr+ncr-careful"),
        ["dcr and ncr-careful", "a sender has one"],
    ),
    "a detector without what it needs": (
        handoff("--profile", "ns2", scheme="eifel"),
        ["eifel", "timestamps=on"],
    ),
    "an unknown kind": (handoff(kind="mmb"), ["mmb", "mbb", "bbm"]),
    "an option given twice": (
        ["run", "wifi-to-lte", "--flow", "a", "--flow", "b"],
        ["--flow is given 2 times", "once"],
    ),
    "a figure asked for twice": (
        ["run", "wifi-to-lte", "--plot", "a.png", "--plot", "b.png"],
        ["--plot is given 2 times"],
    ),
    "an option of another command given twice": (
        handoff("--packets", "1", "--packets", "2"),
        ["--packets is given 2 times"],
    ),
    "a value set twice": (
        ["run", "wifi-to-lte", "--set", "runs=2", "--set", " runs =3"],
        ["--set runs is given 2 times", "once is accepted"],
    ),
    "a value set twice in another spelling": (
        ["run", "wifi-to-lte", "--set", "handoffs.0.at=1s", "--set", "handoffs.00.at=2s"],
        ["handoffs.00.at", "set twice, also by handoffs.0.at", "once is accepted"],
    ),
    "a table set over a value of it": (
        ["run", "wifi-to-lte", "--set", "set.min_rto=1s", "--set", "set={max_rto='2s'}"],
        ["set: this is set twice, also by set.min_rto"],
    ),
    "a knob set twice": (
        handoff("--set", "set.min_rto=1s", "--set", "set.min_rto=2s"),
        ["--set set.min_rto is given 2 times"],
    ),
    "a value of one run set twice": (
        ["diff", "wifi-to-lte", "--a", "seed=1", "--a", "seed=2"],
        ["--a seed is given 2 times"],
    ),
    "a value of both runs and of one": (
        ["diff", "wifi-to-lte", "--set", "seed=1", "--b", "seed=2"],
        ["seed: this is set twice"],
    ),
    "two policies of one name": (
        ["run", "wifi-to-lte", "--policy", "a=a.py:A", "--policy", "a=b.py:B"],
        ["--policy a is given 2 times"],
    ),
    "a scheme given twice": (
        handoff("--scheme", "sack", "--scheme", "sack"),
        ["--scheme sack is given 2 times"],
    ),
    "an axis given twice": (
        ["sweep", "wifi-to-lte", "--axis", "seed=1", "--axis", "seed=2", "--out", "x"],
        ["--axis seed is given 2 times"],
    ),
    "an axis that is set": (
        ["sweep", "wifi-to-lte", "--axis", "seed=1,2", "--set", "seed=3", "--out", "x"],
        ["--set seed", "the axis seed", "one of them is accepted"],
    ),
    "an axis over every name that is set for one": (
        [
            *("sweep", "wifi-to-lte", "--axis", "flows.*.scheme=sack,a2", "--out", "x"),
            *("--set", "flows.download.scheme=sack"),
        ],
        ["--set flows.download.scheme", "the axis flows.*.scheme"],
    ),
    "two axes of one value": (
        [
            *("sweep", "wifi-to-lte", "--axis", "flows.*.scheme=sack,a2", "--out", "x"),
            *("--axis", "flows.download.scheme=sack,a1"),
        ],
        ["flows.download.scheme: this is set twice"],
    ),
    "a request of a slurm job given twice": (
        [
            *("sweep", "wifi-to-lte", "--axis", "seed=1,2", "--out", "x", "--executor", "slurm"),
            *("--job", "mem_gb=4", "--job", "mem_gb=8"),
        ],
        ["--job mem_gb is given 2 times"],
    ),
    "a setting of senders without its place": (
        ["run", "wifi-to-lte", "--set", "abc_limit=1"],
        ["abc_limit", "set.abc_limit", "flows.NAME.set.abc_limit"],
    ),
    "a setting of senders without its table": (
        handoff("--set", "abc_limit=1"),
        ['"abc_limit" cannot be set', "set.abc_limit"],
    ),
    "two files": (
        ["run", "wifi-to-lte", "b.toml", "c.toml"],
        ['"b.toml", "c.toml" are too much; midflight run FILE with options is accepted'],
    ),
    "an argument that there is not": (
        handoff("more"),
        ['"more" is too much; midflight handoff with options is accepted'],
    ),
    "an endless file": (["run", "/dev/zero"], ["/dev/zero", "10 MB"]),
    "a timer that never rests": (
        ["run", "wifi-to-lte", "--set", "set.max_rto=1 ns"],
        ["max_rto", "1 ns", "at least 1 ms"],
    ),
    "states that change without end": (
        ["run", "wifi-to-lte", "--set", "links.lte.loss=gilbert 1ns 0% 1ns 1% 50%"],
        ["gilbert 1ns", "at least 10 us"],
    ),
    "an axis with too many values": (
        ["sweep", "wifi-to-lte", "--axis", "seed=1:1e9:1", "--out", "x"],
        ["1:1e9:1", "more than 1000000 values"],
    ),
    "an axis beyond all numbers": (
        ["sweep", "wifi-to-lte", "--axis", "seed=1:1e9999999:1", "--out", "x"],
        ["1e9999999"],
    ),
    "a scheme of plot": (
        ["plot", "wifi-to-lte", "--scheme", "dctcp", "--out", "x.png"],
        ['midflight: scheme "dctcp": "dctcp" is not modelled'],
    ),
    "an unknown profile": (handoff(profile="ns3"), ["ns3", "ns2", "rfc"]),
    "a handoff too late": (handoff(at="1000h"), ["3600000 s", "3600 s"]),
    "an instant without a unit": (handoff(at="8.2"), ["8.2", "s"]),
    "a range with two parts": (handoff(at="1s:2s"), ["1s:2s", "0.1s:20s:0.1s"]),
    "a range with a step of zero": (handoff(at="1s:2s:0s"), ["1s:2s:0s", "step"]),
    "a range that ends before it starts": (handoff(at="2s:1s:1s"), ["2s:1s:1s", "ends"]),
    "no packets": (handoff(packets="0"), ["--packets", '"0"', "1"]),
    "a negative number of packets": (handoff(packets="-5"), ["--packets", '"-5"', "1"]),
    "packets in words": (handoff(packets="many"), ["--packets", '"many"', "1"]),
    "a negative gap": (handoff(kind="bbm", gap="-1s"), ["-1s"]),
    "a negative delay of the notice": (handoff("--notice-delay=-1ms"), ["-1ms"]),
    "threads in words": (handoff(threads="all"), ["--threads", '"all"', "0"]),
    "a knob without a value": (handoff("--set", "set.min_rto"), ["min_rto", "PATH=VALUE"]),
    "an unknown knob": (handoff("--set", "set.speed=9"), ["speed"]),
    "a knob with a wrong value": (handoff("--set", "set.min_rto=soon"), ["soon"]),
    "two ways of output": (handoff("--csv", "-", "--json"), ["--csv", "--json"]),
    "a missing option": (["handoff", "--at", "1s", "--new", "1 Mbit/s, 1 ms"], ["--old"]),
    "an unknown option": (handoff("--fast"), ["--fast", "--help"]),
    "an unknown command": (["fly"], ["fly", "--help"]),
    "an unknown list": (["list", "ships"], ["ships", "schemes", "policies", "studies"]),
    "an unknown study": (["reproduce", "smith-1999"], ["smith-1999", "daniel-kojo-2008"]),
    "an unknown figure": (
        ["reproduce", "daniel-kojo-2008", "--figure", "99", "--out", "/dev/null/x"],
        ["99", "17a"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    args, words = MISTAKES[mistake]
    text = complaint(args, capsys)
    for word in words:
        assert word in text


# Places that nobody can write to, not even root.
PLACES = ["below/file.csv", "/proc/midflight/runs.csv", "/dev/null/runs.csv"]


@pytest.mark.parametrize("place", PLACES)
def test_unwritable_csv(
    place: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("below").write_text("a file, not a directory")
    text = complaint(handoff("--csv", place), capsys)
    assert place in text
    assert "cannot write" in text
    assert [path.name for path in tmp_path.iterdir()] == ["below"]


def test_csv_onto_a_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert str(tmp_path) in complaint(handoff("--csv", str(tmp_path)), capsys)


def test_a_failed_run_leaves_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    complaint(handoff("--csv", str(file), scheme="vegas"), capsys)
    assert list(tmp_path.iterdir()) == []
    file.write_text("kept")
    complaint(handoff("--csv", str(file), scheme="vegas"), capsys)
    assert file.read_text() == "kept"


def test_unwritable_study(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    out = file / "results"
    args = ["reproduce", "daniel-kojo-2008", "--figure", "8", "--out", str(out)]
    assert str(out) in complaint(args, capsys)


def test_mistake_from_the_shell() -> None:
    command = [sys.executable, "-m", "midflight", *handoff(old="6400, 9 ms")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("midflight: ")
    assert "Traceback" not in done.stderr


def test_the_same_mistake_in_python_is_a_value_error() -> None:
    with pytest.raises(midflight.MidflightError, match="6400"):
        midflight.parse_link("6400, 9 ms")
    with pytest.raises(ValueError, match="vegas"):
        midflight.handoff(
            old=(6_400_000, 9_000_000),
            new=(200_000, 300_000_000),
            kind="mbb",
            at_ns=[8_200_000_000],
            schemes=["vegas"],
        )


def test_a_wrong_keyword_is_named_with_the_function_that_was_called() -> None:
    with pytest.raises(TypeError, match=r"^handoff\(\) got an unexpected keyword argument 'forks'"):
        midflight.handoff(old="1 Mbit/s, 1 ms", new="1 Mbit/s, 1 ms", forks=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^handoff\(\) missing .*'schemes'"):
        midflight.handoff(old="1 Mbit/s, 1 ms", new="1 Mbit/s, 1 ms")  # type: ignore[call-arg]


def test_what_is_no_mapping_is_refused_in_python() -> None:
    for wrong in (None, 3, "x", ["links"]):
        with pytest.raises(midflight.MidflightError, match="mapping"):
            midflight.Scenario.from_dict(wrong)  # type: ignore[arg-type]
    with pytest.raises(midflight.MidflightError, match=r"Link.*None"):
        midflight.Scenario.from_dict({"links": {"lte": None}})
    for sets in (-1, "runs=2", ["runs"]):
        with pytest.raises(midflight.MidflightError, match="sets is"):
            midflight.Scenario.read("wifi-to-lte", sets=sets)  # type: ignore[arg-type]


def test_options_that_may_be_given_twice_still_may(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["run", "wifi-to-lte", "--json", "--json", "--set", "runs=1", "--set", "seed=2"]
    assert main(args) == 0
    assert capsys.readouterr().err == ""


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with its words, those of groups too."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


def options() -> list[tuple[tuple[str, ...], str, bool]]:
    """Every option with one value of every command, and whether it takes one."""
    from typer.core import TyperOption
    from typer.main import get_command

    from midflight.cli import app

    return [
        (words, param.opts[0], not param.is_flag)
        for words, command in commands(get_command(app))
        for param in command.params
        if isinstance(param, TyperOption) and not param.multiple and param.opts[0] != "--help"
        if not param.is_flag or param.secondary_opts
    ]


@pytest.mark.parametrize(("command", "option", "takes"), options())
def test_an_option_with_one_value_is_given_once(
    command: tuple[str, ...], option: str, takes: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    once = [option, "1"] if takes else [option]
    found = complaint([*command, *once, *once], capsys)
    assert f"{option} is given 2 times; once is accepted" in found
