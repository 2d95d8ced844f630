"""`midflight explain` and `midflight diff`."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import midflight
from midflight import Scenario
from midflight.cli import main
from midflight.explain import explain
from midflight.explain.bbr import modes_of, probes_of_rtt
from midflight.explain.events import History
from test_explain import plan

SCHEMES = [one["name"] for one in midflight.schemes()]
MOVE = (Path(__file__).parents[1] / "data" / "move.toml").read_text(encoding="utf-8")
WITH_GAP = (Path(__file__).parents[1] / "data" / "gap.toml").read_text(encoding="utf-8")
GAP = {"handoffs.0.gap": "2 s"}


@pytest.fixture
def move(tmp_path: Path) -> str:
    file = tmp_path / "move.toml"
    file.write_text(MOVE)
    return str(file)


def test_events_are_listed(move: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", move, "--what", "timeout", "--set", "handoffs.0.gap=2 s"]) == 0
    *lines, empty, last = capsys.readouterr().out.splitlines()
    rtos = [row for row in History(plan("sack")).rows if row.event == "rto"]
    assert lines == [
        f"{len(rtos)} rto of download:",
        *(f"{row.time_ns / 1e9:>10.6f} s  rto {row.number} {row.detail}" for row in rtos),
    ]
    assert empty == ""
    # The command that it names explains the first one.
    words = shlex.split(last.removeprefix("Why the first one: midflight "))
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"]["row"] == rtos[0].index
    assert main(["explain", move, "--what", "send"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[61].startswith("... and ")
    assert main(["explain", move, "--what", "rto", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["events"]) == 1


def test_an_instant_as_it_is_printed_selects_the_last_event_printed_with_it(
    move: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["explain", move, "--what", "ack", "--json"]
    assert main(asked) == 0
    acks = json.loads(capsys.readouterr().out)["events"]
    # Some are printed with an earlier microsecond than theirs.
    early = [one for one in acks if 0 < one["time_ns"] % 1000 < 500][:5]
    assert early
    for ack in early:
        at = f"{(ack['time_ns'] + 500) // 1000 / 1e6:.6f}s"
        assert main([*asked, "--at", at]) == 0
        assert json.loads(capsys.readouterr().out)["chosen"]["row"] == ack["row"]
        # An instant in nanoseconds is not rounded.
        assert main([*asked, "--at", f"{ack['time_ns'] - 1}ns"]) == 0
        assert json.loads(capsys.readouterr().out)["chosen"]["row"] < ack["row"]


def test_of_several_events_of_an_instant_the_last_is_explained_and_named(
    move: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = ["--set", "flows.download.scheme=enhanced", "--set", "handoffs.0.gap=2 s"]
    assert main(["explain", move, "--what", "order", *sets]) == 0
    _, *lines, _, last = capsys.readouterr().out.splitlines()
    first = lines[0].split()[0]
    together = sum(line.split()[0] == first for line in lines)
    assert together > 1
    said = f"Why the last of the {together} at {first} s: midflight "
    assert last.startswith(said)
    assert main(shlex.split(last.removeprefix(said))) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[2].endswith(lines[together - 1].split("because ")[1])


def test_a_profile_is_given_by_its_option(move: str, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> str:
        main(list(words))
        return capsys.readouterr().out

    for command in (["explain", move, "--what", "stall"], ["diff", move, *A_AND_B]):
        short = said(*command, "--profile", "linux")
        assert short == said(*command, "--set", "profile=linux") != said(*command)
        assert main([*command, "--profile", "linux", "--set", "profile=ns2"]) == 2
        assert "--profile and --set profile give values for the same" in capsys.readouterr().err


def test_where_nothing_notable_happened_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "wifi-to-lte", "--at", "99s"]) == 0
    assert capsys.readouterr().out.startswith(
        "Nothing notable happened just before 99 s. Causes of the last event before it, newest"
    )


def test_a_handoff_after_the_loss_is_no_cause_of_the_timeout() -> None:
    one = Scenario.read("wifi-to-lte").plan(
        sets={
            "profile": "rfc",
            "handoffs.0.gap": "1.5 s",
            "handoffs.1.at": "2.2 s",
            "handoffs.1.to": "wifi",
        }
    )
    times = [row.time_ns for row in History(one).rows if row.event == "rto"]
    lost_before = [time for time in times if time > 2_200_000_000]
    assert lost_before
    told = explain(one, at_ns=lost_before[0], what="rto")
    texts = [step.text for step in told.steps]
    assert any("had been lost" in text for text in texts)
    assert any("the timer was set" in text and "back-off" in text for text in texts)
    assert not [text for text in texts if "from lte to wifi" in text]


@pytest.mark.parametrize("scheme", ["sack", "enhanced", "vho-qs", "freeze", "dcr-frto-ld"])
@pytest.mark.parametrize("end", ["30 s", "0.92 s"])
def test_a_stall_is_the_one_that_run_tells(scheme: str, end: str) -> None:
    from midflight.explain import explain_stall
    from midflight.scenario import Outcome

    one = plan(scheme, end=end, handoffs__0__gap="600 ms")
    flows = Outcome.of(one).flows
    (length,), (begin,) = flows.column("stall_ns"), flows.column("stalled_at_ns")
    stall = History(one).stall(begin, begin + length)
    assert stall.is_ended == (end == "30 s")
    told_of = explain_stall(one)
    assert told_of is not None
    texts = [step.text for step in told_of.steps]
    assert len({(step.time_ns, step.text) for step in told_of.steps}) == len(texts)
    times = [step.time_ns for step in told_of.steps]
    assert times == sorted(times, reverse=True)
    rtos = [row.time_ns for row in History(one).rows if row.event == "rto"]
    during = [at for at in rtos if stall.begin_ns < at <= stall.end_ns]
    timeouts = [step.time_ns for step in told_of.steps if "timer expired for" in step.text]
    assert sorted(set(timeouts)) == during
    waited = f"nothing new was acknowledged from then on: segment {stall.waited} was waited for"
    assert (stall.begin_ns, waited) in [(step.time_ns, step.text) for step in told_of.steps]
    if stall.is_ended:
        assert texts[0].startswith("progress again: ACK ")
    else:
        assert texts[0].startswith("the run ended")


def test_what_cannot_be_explained_without_an_instant_is_reported(
    move: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for args, expected in (
        ([], "give --at TIME to explain an event, --what EVENT"),
        (["--what", "stall", "--at", "1s"], "leave out --at"),
        (["--what", "window_probe"], "there is no window_probe of download in this run"),
        (["--what", "rto", "--run", "5"], "there is no run 5: the scenario has one"),
        (["--at", "1s", "--run", "1"], "there is no run 1: the scenario has one"),
    ):
        assert main(["explain", move, *args]) == 2
        said = capsys.readouterr().err
        assert expected in said
        assert said.count("\n") == 1
    assert main(["diff", move, "--b", "seed=2", "--run", "3"]) == 2
    assert "there is no run 3" in capsys.readouterr().err


def test_explain_prints_sentences_or_json(move: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["explain", move, "--at", "0.81s", "--set", "flows.download.scheme=enhanced"]
    assert main(args) == 0
    text = capsys.readouterr().out
    assert "  1  0.800000 s  a notice of the handoff at 0.3 s came" in text
    assert ">   0.800000 s  notice" in text
    assert main([*args, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["chosen"]["event"] == "notice"
    assert found["steps"][0]["row"] == found["chosen"]["row"]
    assert len(found["digest"]) == 32


A_AND_B = ["--a", "flows.download.scheme=sack", "--b", "flows.download.scheme=enhanced"]


def test_the_manual_shows_real_output(capsys: pytest.CaptureFixture[str]) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "explain.md").read_text()
    shown = re.findall(
        r"```console\n\$ midflight ((?:explain|diff) (?:[^\n]*\\\n)*[^\n]*)\n(.*?)```", manual, re.S
    )
    assert len(shown) >= 4
    for command, output in shown:
        assert main(shlex.split(command.replace("\\\n", " "))) in (0, 1)
        # Of some the neighbours are left out.
        assert capsys.readouterr().out.startswith(output.rstrip() + "\n")


def test_diff_finds_where_runs_part(move: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["diff", move, *A_AND_B, "--set", "handoffs.0.gap=2 s"]
    assert main(args) == 1
    text = capsys.readouterr().out
    assert "part at 2.300000 s, after " in text
    assert "Orders that only B was given so far:" in text
    assert main([*args, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["divergence"]
    assert found["a"]["sender_before"] == found["b"]["sender_before"]
    assert found["a"]["sender_after"]["rto_ns"] == 2_000_000_000
    assert found["b"]["sender_after"]["rto_ns"] == 1_000_000_000
    # The same from two plain traces.
    traces = [plan(scheme).setup().trace() for scheme in ("sack", "enhanced")]
    names = ("time_ns", "event", "value", "detail")
    rows = [list(zip(*(t.column(name) for name in names), strict=True)) for t in traces]
    other = next(i for i, (a, b) in enumerate(zip(*rows, strict=False)) if a != b)
    assert rows[1][other][:2] == (2_300_000_000, "order")
    assert rows[0][other][0] == found["a"]["event"]["time_ns"] == 3_309_407_458


def test_diff_of_equal_runs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = ["diff", "wifi-to-lte", *A_AND_B, "--set", "notices=false"]
    assert main(same) == 0
    digest = Scenario.read("wifi-to-lte").but({"notices": False}).run().digests[0]
    assert digest in capsys.readouterr().out
    other = tmp_path / "other.toml"
    other.write_text((midflight.scenario.STARTERS / "wifi-to-lte.toml").read_text())
    assert main(["diff", "wifi-to-lte", str(other)]) == 0
    assert main(["diff", "wifi-to-lte", str(other), "--b", "seed=2"]) == 0
    assert main(["diff", "wifi-to-lte", str(other), "--b", "links.wifi.delay=5 ms"]) == 1
    assert "part at" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["explain", "wifi-to-lte", "--at", "soon"], '--at: time "soon"'),
        (
            ["explain", "wifi-to-lte", "--at", "1s", "--what", "x"],
            '--what "x" is not an event; there are cwnd, ',
        ),
        (
            ["explain", "wifi-to-lte", "--at", "0.1s", "--what", "rto"],
            "there is no rto of this flow at or before 0.1s",
        ),
        (
            ["explain", "wifi-to-lte", "--what", "window_probe", "--set", "runs=5"],
            "there is no window_probe of download in this run and none of the later ones",
        ),
        (
            ["explain", "wifi-to-lte", "--at", "1s", "--flow", "dwnload"],
            'there is no flow "dwnload"',
        ),
        (["explain", "wifi-to-lte", "--at", "1s", "--run", "x"], '--run "x" is not a whole'),
        (["diff", "wifi-to-lte"], "both runs are the same"),
        (["diff", "wifi-to-lte", *A_AND_B, "--flow", "x"], 'there is no flow "x"'),
        (["diff", "wifi-to-lte", "nothing"], 'there is no file "nothing"'),
        (["verify", "nothing.json"], 'cannot read "nothing.json"'),
    ],
)
def test_mistakes_are_one_sentence(
    args: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


#: The mode after Drain.
NEXT = {"bbr3": "ProbeBW_CRUISE", "bbr-linux": "ProbeBW"}


@pytest.mark.parametrize(
    ("scheme", "sets", "at", "said"),
    [
        ("bbr3", {}, "5.6s", "from 5.481232 s to 5.788376 s: it held its window at 35 segments"),
        ("bbr-linux", {"flows.download.size": "40 MB"}, "", "it held its window at 4 segments"),
    ],
)
def test_the_time_in_which_bbr_measures_the_round_trip_is_named(
    scheme: str, sets: dict[str, str], at: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "gap.toml"
    file.write_text(WITH_GAP)
    one = Scenario.read(str(file)).plan(sets={**sets, "flows.download.scheme": scheme})
    modes = modes_of(one.setup(0), "download")
    assert [mode.name for mode in modes[:3]] == ["Startup", "Drain", NEXT[scheme]]
    (probe, *_) = probes_of_rtt(modes)
    assert said in probe.words
    at_ns = (probe.begin_ns + probe.end_ns) // 2
    then = explain(one, at_ns=midflight.parse_duration(at) if at else at_ns)
    assert then is not None
    assert probe.words in then.remark
    begun = explain(one, at_ns=probe.begin_ns, what="cwnd")
    assert begun is not None
    assert begun.steps[0].text.endswith(probe.words)
    over = explain(one, at_ns=probe.end_ns, what="cwnd")
    assert over is not None
    assert "the end of BBR's ProbeRTT, which began at" in over.steps[0].text
    # No other controller has it.
    assert not modes_of(Scenario.read(str(file)).plan().setup(0), "download")


def test_a_pace_below_the_rate_of_a_link_is_what_limits_bbr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = range(20)
    rates = [40, 38, 25, 12, 5, 1.5, 0, 0, 0, 4, 18, 30, 45, 50, 8, 6, 0, 20, 35, 40]
    delays = [22, 23, 26, 30, 40, 60, 60, 60, 60, 45, 35, 28, 24, 22, 35, 38, 38, 30, 25, 22]
    up_rates = [12, 11, 10, 8, 4, 1, 0, 0, 0, 2, 6, 8, 10, 12, 4, 3, 0, 5, 8, 10]
    columns = zip(times, rates, delays, up_rates, strict=True)
    lines = [
        "time_s,rate_mbps,delay_ms,up_rate_mbps",
        *(",".join(map(str, one)) for one in columns),
    ]
    (tmp_path / "drive.csv").write_text("\n".join(lines) + "\n")
    file = tmp_path / "rec.toml"
    link = 'links.cell = { trace = "drive.csv", queue = "200 packets" }'
    file.write_text(f'end = "20 s"\n{link}\nflows.download.scheme = "bbr3"\n')
    assert main(["explain", str(file), "--at", "19.5s"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The sender's pace was the limit, ")
    assert "from BBR's estimate of the bandwidth" in out
