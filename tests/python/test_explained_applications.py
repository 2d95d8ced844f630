"""`midflight explain` of videos and web pages: what they waited for, and what ended that."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from midflight import Scenario
from midflight.cli import main
from midflight.explain import CHOICES, explain, explain_stall
from midflight.explain.events import History
from midflight.explain.playback import playback_stalls

SLOW = """\
end = "60 s"
links.wifi = { rate = "30 Mbit/s", delay = "8 ms" }
links.lte = { rate = "2 Mbit/s", delay = "30 ms" }
handoffs = [{ at = "10 s", to = "lte" }]
flows.movie.workload = "video"
"""


@pytest.fixture
def slow(tmp_path: Path) -> str:
    file = tmp_path / "slow.toml"
    file.write_text(SLOW)
    return str(file)


def test_a_stall_whose_causes_go_far_back_is_explained(
    slow: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its chain looks for an order among all events before it, of which there are more than in the
    first window.
    """
    one = Scenario.read(slow).plan()
    assert len(History(one)) > 65_536
    *_, last = playback_stalls(one.setup(0), "movie")
    at = f"--at={-(-last.begin_ns // 1_000_000) / 1e3}s"
    for more in ([], ["--what=stalled"]):
        assert main(["explain", slow, at, *more]) == 0
        said = capsys.readouterr().out.splitlines()[1]
        assert said == f"In short: {last.why}."
        assert "too slow for a video of " in said
    assert main(["explain", slow, at, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"]["event"] == "stalled"


@pytest.mark.parametrize("stack", ["midflight", "noq", "quinn"])
def test_a_stall_ends_with_what_was_waited_for_and_not_with_the_run(stack: str) -> None:
    """An application waits until it has what was sent to it: before the ACK of that arrives."""
    sets = {"flows.page.stack": stack}
    if stack == "quinn":
        # The server reads the first request before it is acknowledged.
        sets["handoffs.0.at"] = "4 s"
    one = Scenario.read("web-page").plan(sets=sets)
    setup = one.setup(0)
    for flow in (each["name"] for each in setup.flows):
        longest = setup.stall(flow=flow)
        assert longest is not None
        told = explain_stall(one, flow=flow)
        assert told is not None
        texts = [step.text for step in told.steps]
        assert not [text for text in texts if "the run ended" in text]
        assert texts[0].startswith("progress again: ")
        assert told.steps[0].time_ns == longest["until_ns"]
        trace = setup.trace(flow=flow, only=["ack", "rcv"])
        both = zip(trace.column("time_ns"), trace.column("event"), strict=True)
        then = [event for at, event in both if at == longest["until_ns"]]
        other = "a message in the other direction was read or written"
        ended = {"ack": "ACK ", "rcv": "segment "}.get(then[-1] if then else "", other)
        assert texts[0].removeprefix("progress again: ").startswith(ended)


def test_the_segment_that_an_application_waited_for_is_named() -> None:
    told = explain_stall(Scenario.read("web-page").plan())
    assert told is not None
    first, *steps = (step.text for step in told.steps)
    found = re.fullmatch(
        r"progress again: segment (\d+) arrived over `lte`, sent at \S+ s; the application then "
        "had all that had been sent to it",
        first,
    )
    assert found is not None
    assert f"nothing new was acknowledged from then on: segment {found[1]} was waited for" in steps
    assert any("timer was set for" in text for text in steps)
    assert len({(step.time_ns, step.text) for step in told.steps}) == len(told.steps)


@pytest.mark.parametrize("starter", ["video-tunnel", "web-page"])
def test_all_commands_that_a_report_and_explanations_print_run(
    starter: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", starter, "--out", "run.html"]) == 0
    page = html.unescape(Path("run.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    commands = [*dict.fromkeys(re.findall(r">\s*(midflight [^<]*[^<\s])\s*<", page))]
    assert {shlex.split(one)[1] for one in commands} == {"report", "explain", "plot"}
    setup = Scenario.read(starter).plan().setup(0)
    for flow in (one["name"] for one in setup.flows):
        kinds = ("rto", "drop", "stalled", "object", "fast_retransmit")
        found = {*setup.trace(flow=flow, only=list(kinds)).column("event")} & {*CHOICES}
        explain_flow = f"midflight explain {starter} --flow {flow}"
        commands += [f"{explain_flow} --what {what}" for what in ["stall", *sorted(found)]]
        commands += [f"{explain_flow} --at {at}s" for at in range(0, 60, 5)]
    done = set[str]()
    capsys.readouterr()
    while commands:
        command = commands.pop()
        if command in done:
            continue
        done.add(command)
        assert main(shlex.split(command)[1:]) == 0, command
        printed = capsys.readouterr().out
        assert "Traceback" not in printed
        commands += re.findall(r"^Why the first one: (midflight .*)$", printed, re.MULTILINE)
    assert [one for one in done if "--at" in one and "--what" in one]


def test_there_is_an_explanation_at_each_instant(slow: str) -> None:
    one = Scenario.read(slow).plan()
    for second in range(0, 60, 6):
        told = explain(one, at_ns=second * 10**9, flow="movie")
        assert told is not None
        assert told.steps
