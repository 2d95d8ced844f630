"""`midflight drill`, run as a user runs it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import midflight
from midflight import _core
from midflight.cli import main

ROOT = Path(__file__).parents[2]
DRILLS = ROOT / "drills"
GOOD = """\
// One segment that is lost.
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 9000
+0 accept(3, ..., ...) = 4
+0 setsockopt(4, SOL_SOCKET, SO_PRIORITY, [6], 4) = 0
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+1 > . 1:1001(1000) ack 1
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.pkt"
    file.write_text(GOOD)
    return file


def test_a_script_that_passes(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", str(good)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"ok    {good}  [sack rfc]\n"
    assert captured.err == ""
    assert main(["drill", str(good), "-v"]) == 0
    note = f"      note: {good}:9: SO_PRIORITY has no effect here\n"
    assert note in capsys.readouterr().out


def test_a_script_that_fails(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", str(good), "--set", "set.min_rto=300ms", "--profile", "rfc"]) == 1
    assert capsys.readouterr().out.splitlines()[:5] == [
        f"FAIL  {good}  [sack rfc min_rto=300ms]",
        f"      {good}:12: +1 > . 1:1001(1000) ack 1",
        "      expected: . 1:1001(1000) ack 1 at 1.1 s, to within 4 ms",
        "      seen:     . 1:1001(1000) ack 1 at 0.4 s",
        "      state:    time 0.4 s, state reset, cwnd 1, ssthresh 2, snd_una 1 (segment 1), "
        "snd_nxt 1001 (segment 2), snd_max 1001 (segment 2), pipe 1, dupacks 0, rto 600 ms, "
        "timer due at 1 s",
    ]
    assert main(["drill", str(good), "--set", "set.min_rto=300ms", "--tolerance", "1s"]) == 0


def test_a_setting_of_a_part_that_no_script_has(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "midflight: note: freeze_warning has no effect: no scheme of this run has freeze\n"
    setting = ["--set", "set.freeze_warning=1s"]
    assert main(["drill", str(good), *setting]) == 0
    assert capsys.readouterr().err == note
    assert main(["drill", str(good), *setting, "--scheme", "sack"]) == 0
    assert capsys.readouterr().err == note
    has_it = tmp_path / "freeze.pkt"
    has_it.write_text(f"// midflight: scheme=freeze\n{GOOD}")
    assert main(["drill", str(good), str(has_it), *setting]) == 0
    assert capsys.readouterr().err == ""
    # A controller that a script chose has its own.
    has_it.write_text(f"// midflight: congestion=westwood\n{GOOD}")
    assert main(["drill", str(has_it), "--set", "set.westwood_tau=1s"]) == 0
    assert capsys.readouterr().err == ""


def test_several_scripts_of_which_one_cannot_be_run(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.pkt"
    bad.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 tee(4, 5, 9, 0) = 9\n")
    assert main(["drill", str(bad), str(good)]) == 2
    captured = capsys.readouterr()
    assert captured.out == f"ok    {good}  [sack rfc]\n1 passed, 0 failed, 1 cannot be run\n"
    assert captured.err.startswith(f"midflight: {bad}:2: the call tee is refused: ")
    assert captured.err.count("\n") == 1


def test_json(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = tmp_path / "failing.pkt"
    failing.write_text(
        f"// midflight: recovery=sack,reno\n{GOOD}+0 %{{ assert tcpi_backoff == 2 }}%\n"
    )
    missing = tmp_path / "missing.pkt"
    assert main(["drill", str(good), str(failing), str(missing), "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert found["model_version"] == midflight.MODEL_VERSION
    first, second, third = found["scripts"]
    assert [run["passed"] for run in first["runs"]] == [True]
    assert first["runs"][0]["segments"] == 3
    assert first["runs"][0]["end_ns"] == 1_100_000_000
    assert [run["knobs"] for run in second["runs"]] == [{"recovery": "sack"}, {"recovery": "reno"}]
    for run in second["runs"]:
        assert run["failure"]["line"] == 14
        assert run["failure"]["statement"] == "assert tcpi_backoff == 2"
        assert run["failure"]["seen"] == "tcpi_backoff = 1"
        assert run["failure"]["state"]["cwnd"] == "1"
    assert third["error"] == f'cannot read "{missing}": No such file or directory'


def test_the_drills_of_the_repository(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", str(DRILLS)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"(\d+) passed, 0 failed", lines[-1])
    assert len(lines) > 100
    # A line may have a note below it.
    passed = {Path(line.split()[1]) for line in lines[:-1] if line.startswith("ok")}
    assert passed == set(DRILLS.rglob("*.pkt"))


MISTAKES = {
    "no such file": (["nowhere.pkt"], 'cannot read "nowhere.pkt"'),
    "an unknown scheme": (["FILE", "--scheme", "vegas"], "vegas"),
    "an unknown profile": (["FILE", "--profile", "ns3"], "ns3"),
    "an unknown setting": (["FILE", "--set", "set.rto=1s"], "rto"),
    "a setting without a value": (["FILE", "--set", "set.min_rto"], "PATH=VALUE"),
    "a tolerance without a unit": (["FILE", "--tolerance", "4"], "--tolerance"),
    "no script": ([], "FILE"),
}


@pytest.mark.parametrize(("args", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes(
    args: list[str], words: str, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drill", *(str(good) if one == "FILE" else one for one in args)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("midflight: ")
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_what_is_no_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", str(tmp_path)]) == 2
    assert "there is no script in" in capsys.readouterr().err
    for name, raw, words in (
        ("latin.pkt", b"// one\n// caf\xe9\n", "latin.pkt:2: this is not UTF-8 text"),
        ("long.pkt", b"/" * 1_000_001, "has more than 1000000 bytes"),
        ("empty.pkt", b"", "empty.pkt: there is nothing to run in this script"),
        ("zero.pkt", b"\0", "is not understood"),
    ):
        (tmp_path / name).write_bytes(raw)
        assert main(["drill", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err


def test_from_the_shell(good: Path) -> None:
    command = [sys.executable, "-m", "midflight", "drill", str(good)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    changed = GOOD.replace("+1 >", "+2 >")
    good.write_text(changed)
    assert subprocess.run(command, capture_output=True).returncode == 1


def test_in_python() -> None:
    (run,) = midflight.run_drill(GOOD, "good.pkt", scheme="frto", knobs={"min_rto": "1 s"})
    assert (run["scheme"], run["profile"], run["passed"]) == ("frto", "rfc", True)
    with pytest.raises(midflight.MidflightError, match=r"^x:1: "):
        midflight.run_drill("hello", "x")


def test_the_fields_are_documented() -> None:
    text = (ROOT / "docs" / "drills.md").read_text()
    documented = re.findall(r"^\| `(tcpi_\w+)` \| (.+) \|$", text, re.M)
    assert documented == [(name, meaning) for name, meaning in _core.drill_fields()]
