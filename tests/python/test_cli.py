"""The command line, run as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import midflight
from midflight.cli import main

PAIR = ["--old", "6400 kbit/s, 9 ms", "--new", "200 kbit/s, 300 ms", "--profile", "ns2"]
COLUMNS = (
    "scheme,th_ns,flow,resident,t_new_ns,t_new_make_ns,t_ack_ns,t_newpath_ns,nrto,nspur,"
    "first_rto_ns,rto_times,timeouts,drops_data,drops_all,rexmits,cwnd,ssthresh,flight,rto_ns,"
    "hiack,maxseq,sent_in_outage,dupacks,backoff,phase,drops_queue,drops_break,reordered,"
    "fast_rexmits,false_fast_rexmits,loss_wait_max_ns,loss_wait_mean_ns,losses_timed_out,"
    "ssthresh_min,cwnd_min,in_rto_recovery_at_make,unused_ns,orders,acked_window,digest"
)


def run(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "midflight", *args], capture_output=True, text=True, **options
    )


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_summary_has_a_line_for_each_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handoff", *PAIR, "--at", "8.2s", "--scheme", "sack", "--scheme", "enhanced"]) == 0
    out = capsys.readouterr().out
    assert "at 8.2s; profile ns2" in out
    assert re.search(r"^scheme +q1 +median +q3 +timeouts +spurious +drops +rexmits$", out, re.M)
    assert re.search(r"^sack +10\.910 +10\.910 +10\.910 +2 +2 +14 +31$", out, re.M)
    assert re.search(r"^enhanced ", out, re.M)


def test_csv_has_the_columns_of_the_core(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    at = "0.1s:2s:0.1s"
    assert main(["handoff", *PAIR, "--at", at, "--scheme", "sack", "--csv", str(file)]) == 0
    text = file.read_text()
    assert text.splitlines()[0] == COLUMNS
    assert "\r" not in text
    runs = rows(text)
    assert [run["th_ns"] for run in runs] == [f"{n}00000000" for n in range(1, 21)]
    for one in runs:
        for name in ("t_new_ns", "t_new_make_ns", "t_ack_ns", "t_newpath_ns", "rto_ns"):
            assert re.fullmatch(r"\d+", one[name])
        assert re.fullmatch(r"(-?\d+)?", one["first_rto_ns"])
    assert [file.name for file in tmp_path.iterdir()] == ["runs.csv"]


def test_csv_agrees_with_ns2_at_one_instant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handoff", *PAIR, "--at", "8.2s", "--csv", "-"]) == 0
    captured = capsys.readouterr()
    (one,) = rows(captured.out)
    expected = {
        "t_new_ns": "10.910438",
        "nrto": "2",
        "nspur": "2",
        "first_rto_ns": "0.212083",
        "drops_data": "14",
        "drops_all": "14",
        "rexmits": "31",
        "cwnd": "22.730",
        "ssthresh": "12",
        "flight": "22",
        "hiack": "4030",
        "maxseq": "4052",
    }
    one |= {name: f"{int(one[name]) / 1e9:.6f}" for name in expected if name.endswith("_ns")}
    one["cwnd"] = f"{float(one['cwnd']):.3f}"
    assert {name: one[name] for name in expected} == expected
    assert "median" in captured.err


def test_columns_keep_their_names_for_other_numbers_of_packets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = []
    for packets in ("50", "200"):
        assert main(["handoff", *PAIR, "--at", "8.2s", "--packets", packets, "--csv", "-"]) == 0
        (one,) = rows(capsys.readouterr().out)
        times.append(float(one["t_new_ns"]))
    assert times[0] < times[1]


def test_json_holds_summary_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["handoff", *PAIR, "--kind", "bbm", "--gap", "1s", "--at", "7s,8s", "--json"]
    assert main(args) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["manifest"]["model"] == midflight.MODEL_VERSION
    assert found["manifest"]["question"]["keywords"]["gap_ns"] == 1_000_000_000
    assert [one["scheme"] for one in found["schemes"]] == ["sack"]
    assert [one["th_ns"] for one in found["runs"]] == [7_000_000_000, 8_000_000_000]


def test_results_do_not_depend_on_the_number_of_threads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = []
    for threads in ("1", "2"):
        args = ["handoff", *PAIR, "--at", "1s:3s:0.5s", "--threads", threads, "--csv", "-"]
        assert main(args) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_without_a_notice_enhanced_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["handoff", *PAIR, "--at", "8.2s", "--scheme", "sack", "--scheme", "enhanced"]
    assert main([*args, "--no-notice", "--csv", "-"]) == 0
    plain, enhanced = rows(capsys.readouterr().out)
    assert plain.pop("scheme") != enhanced.pop("scheme")
    assert plain == enhanced


def test_knobs_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handoff", *PAIR, "--at", "8.2s", "--set", "set.min_rto=1 s", "--csv", "-"]) == 0
    (one,) = rows(capsys.readouterr().out)
    assert int(one["rto_ns"]) >= 1_000_000_000


def test_an_existing_file_is_replaced_and_a_device_is_not(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("old")
    assert main(["handoff", *PAIR, "--at", "8.2s", "--csv", str(file)]) == 0
    assert file.read_text().startswith(COLUMNS)
    assert main(["handoff", *PAIR, "--at", "8.2s", "--csv", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


LISTS = (
    "schemes policies controllers responses classifiers detectors settings profiles studies"
).split()


@pytest.mark.parametrize("what", LISTS)
def test_list(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", what, "--json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)]
    assert main(["list", what]) == 0
    text = capsys.readouterr().out
    assert names
    assert all(name in text for name in names)


def test_list_names_every_scheme_that_handoff_takes(capsys: pytest.CaptureFixture[str]) -> None:
    # The requirements of a scheme on the profile and on another part.
    needs = [
        "--set",
        "set.timestamps=on",
        "--set",
        "set.rtt_sampling=timestamps",
        "--set",
        "set.dsack=on",
    ]
    partner = {"ld-handover": "+frto"}
    # BBR works only with the recovery of Linux.
    bbr = {"bbr-linux", "bbr3"}
    schemes = [one["name"] for one in midflight.schemes() if one["name"] not in bbr]
    names = [name + partner.get(name, "") for name in schemes]
    words = [word for name in names for word in ("--scheme", name)]
    assert main(["handoff", *PAIR, "--at", "8.2s", *words, *needs, "--csv", "-"]) == 0
    assert [one["scheme"] for one in rows(capsys.readouterr().out)] == names


def test_list_shows_knobs_of_every_kind_of_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    kinds = (
        midflight.controllers(),
        midflight.responses(),
        midflight.classifiers(),
        midflight.detectors(),
    )
    for knob in (knob for kind in kinds for part in kind for knob in part["knobs"]):
        assert f"  {knob['name']}={knob['default']}  accepts {knob['accepts']}" in text


def test_the_list_says_how_every_command_spells_a_knob(capsys: pytest.CaptureFixture[str]) -> None:
    from typer.main import get_command

    from midflight.cli import app

    assert main(["list", "settings"]) == 0
    _, _, told = capsys.readouterr().out.partition("How to set a KNOB\n")
    lines = told.splitlines()
    assert lines[0].split("  --set")[0].strip() == "every command"
    of_scenarios = lines[1].split("  --set")[0].strip().split(", ")
    commands = get_command(app).commands  # type: ignore[attr-defined]
    with_sets = {
        name
        for name, command in commands.items()
        if any("--set" in param.opts for param in command.params)
    }
    assert with_sets == {*of_scenarios, "handoff", "startup", "flow", "roam", "drill"}
    assert main(["handoff", *PAIR, "--at", "8.2s", "--set", "set.abc_limit=1"]) == 0
    for key in ("set.abc_limit", "flows.download.set.abc_limit"):
        assert main(["run", "wifi-to-lte", "--set", f"{key}=1"]) == 0
    assert main(["list", "links"]) == 0
    assert "KNOB" not in capsys.readouterr().out.rpartition("Presets")[2]


def test_schemes_are_joined_by_plus(capsys: pytest.CaptureFixture[str]) -> None:
    joined = "enhanced+dcr-frto"
    args = ["handoff", *PAIR, "--at", "8.2s", "--scheme", "sack", "--scheme", joined]
    assert main([*args, "--set", "set.frto_2003_response=reduce", "--set", "set.ld_k=2"]) == 0
    captured = capsys.readouterr()
    head, plain, both = captured.out.splitlines()[-3:]
    assert len(head) == len(plain) == len(both)
    assert both.startswith(joined)
    assert captured.err == (
        "midflight: note: ld_k has no effect: no scheme of this run has ld or ld-handover\n"
    )


def test_a_controller_that_is_not_linuxs_of_that_name_is_noted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def notes(*words: str) -> list[str]:
        assert main(["run", "wifi-to-lte", *words]) == 0
        return capsys.readouterr().err.splitlines()

    linux = ("--set",)
    cubic = (
        "midflight: note: cubic is RFC 9438's, without HyStart; Linux's is the scheme sack or "
        "cubic-linux"
    )
    assert notes(*linux, "flows.download.scheme=cubic+a1") == [cubic]
    assert notes(*linux, "set.congestion=cubic") == [cubic]
    assert notes(*linux, "set.congestion=reno") == [
        "midflight: note: reno is RFC 5681's; Linux's is the scheme reno-linux"
    ]
    assert notes(*linux, "flows.download.scheme=cubic-linux") == []
    rfc = ("--profile", "rfc", "--set")
    assert notes(*rfc, "flows.download.scheme=cubic") == []


def test_a_sweep_notes_the_controllers_of_its_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cubic.toml"
    file.write_text(
        'links.a = { rate = "5 Mbit/s", delay = "20 ms" }\n'
        'links.b = { rate = "5 Mbit/s", delay = "20 ms" }\n'
        'flows.download = { size = "100 kB", scheme = "cubic" }\n'
        'handoffs = [{ at = "0.1 s", to = "b" }]\n'
    )

    def notes(axis: str, command: str) -> str:
        out = ["--out", str(tmp_path / f"{command}.png")]
        forecast = {"sweep": ["--forecast"], "plot": ["--kind", "throughput"]}[command]
        words = [command, str(file), "--axis", axis]
        assert main([*words, *out, *forecast]) == 0
        return capsys.readouterr().err

    noted = "cubic is RFC 9438's"
    for command in ("sweep", "plot"):
        assert noted not in notes("flows.download.scheme=cubic-linux,freeze", command)
        assert noted in notes("flows.download.scheme=cubic-linux,cubic", command)
        assert noted in notes("handoffs.0.gap=1s,2s", command)


def test_a_controller_is_a_scheme_or_a_setting(capsys: pytest.CaptureFixture[str]) -> None:
    def of(*words: str) -> dict[str, str]:
        assert main(["handoff", *PAIR, "--at", "8.2s", *words, "--csv", "-"]) == 0
        captured = capsys.readouterr()
        assert "no effect" not in captured.err
        (row,) = rows(captured.out)
        return {name: value for name, value in row.items() if name != "scheme"}

    knob = ("--set", "set.westwood_tau=2s")
    scheme = of("--scheme", "westwood", *knob)
    assert scheme == of("--scheme", "sack", "--set", "set.congestion=westwood", *knob)
    assert scheme != of("--scheme", "westwood")
    assert scheme != of("--scheme", "sack")


def test_reproduce_one_figure(tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = run("reproduce", "daniel-kojo-2008", "--figure", "8", "--out", str(out))
    assert done.returncode == 0, done.stderr
    report = re.search(r"^Report: (.+)$", done.stdout, re.M)
    assert report is not None
    assert Path(report[1]).is_file()
    assert "verdict" in done.stdout
    assert re.search(r"^1 claim: 1 ", done.stdout, re.M)
    assert re.search(r": \d+ of \d+$", done.stderr, re.M)
    assert "\x1b" not in done.stderr


def test_reproduce_json_is_all_of_standard_output(tmp_path: Path) -> None:
    done = run("reproduce", "daniel-kojo-2008", "--figure", "8", "--out", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["study"] == "daniel-kojo-2008"
    assert {"id", "claim", "verdict", "measured"} <= set(found["claims"][0])


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in "handoff flow reproduce list explain diff verify".split())],
    ids=lambda words: " ".join(words) or "-",
)
def test_help_has_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    assert "Examples:" in capsys.readouterr().out


def examples(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    main([command, "--help"])
    text = capsys.readouterr().out.replace("\\\n", " ")
    return re.findall(rf"^ +midflight ({command}\b.*)$", text, re.M)


@pytest.mark.parametrize("command", ["handoff", "flow", "list"])
def test_examples_of_the_help_work(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import shlex

    found = examples(command, capsys)
    assert len(found) >= 3
    for line in found:
        done = run(*shlex.split(line), cwd=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"


def test_help_and_import_load_nothing_heavy() -> None:
    script = (
        "import sys, midflight, midflight.cli\n"
        "midflight.cli.main(['handoff', '--help'])\n"
        "heavy = {'numpy', 'matplotlib', 'rich', 'jinja2', 'midflight._core'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    out = capsys.readouterr().out
    assert midflight.__version__ in out
    assert midflight.MODEL_VERSION in out


def test_a_closed_pipe_is_not_an_error() -> None:
    command = [sys.executable, "-m", "midflight", "handoff", *PAIR]
    with subprocess.Popen(
        [*command, "--at", "1s:20s:10ms", "--csv", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().strip() == COLUMNS
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def test_interrupt_ends_with_130(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "midflight", "reproduce", "daniel-kojo-2008"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A background job of a shell starts with interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert "Traceback" not in process.stderr.read()


def test_what_has_no_effect_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    extra = ["--gap", "2s", "--set", "set.a2_flight=highest"]
    assert main(["handoff", *PAIR, "--at", "8.2s", *extra]) == 0
    captured = capsys.readouterr()
    assert "--gap has no effect" in captured.err
    assert "a2_flight has no effect" in captured.err
    assert "a2_flight highest" in captured.out


def test_a_link_as_fast_as_the_fixed_ones_is_pointed_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fast = ["--old", "300 Mbit/s, 2 ms", "--new", "20 Mbit/s, 30 ms", "--at", "2s"]
    assert main(["handoff", *fast]) == 0
    assert '--wired "100 Gbit/s, 2 ms"' in capsys.readouterr().err
    assert main(["handoff", *fast, "--wired", "10 Gbit/s, 2 ms"]) == 0
    assert "bottleneck" not in capsys.readouterr().err


def test_an_end_leaves_runs_unfinished(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handoff", *PAIR, "--at", "8.2s", "--end", "9s"]) == 0
    assert re.search(r"unfinished\n.* 1$", capsys.readouterr().out.rstrip(), re.S)


def test_full_disk_behind_standard_output_is_one_sentence() -> None:
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("no /dev/full here")
    with device.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "midflight", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("midflight: cannot write to standard output")
    assert "Traceback" not in done.stderr


def test_a_terminated_run_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    many = ["--at", "0.1s:3000s:0.01s", "--csv", str(file)]
    process = subprocess.Popen([sys.executable, "-m", "midflight", "handoff", *PAIR, *many])
    deadline = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 143
    assert list(tmp_path.iterdir()) == []
