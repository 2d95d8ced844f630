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
from midflight.explain.applications import SLOW, slow_objects
from midflight.explain.events import History, listed
from midflight.explain.playback import playback_stalls

SLOW_LINK = """\
end = "60 s"
links.wifi = { rate = "30 Mbit/s", delay = "8 ms" }
links.lte = { rate = "2 Mbit/s", delay = "30 ms" }
handoffs = [{ at = "10 s", to = "lte" }]
flows.movie.workload = "video"
"""


@pytest.fixture
def slow(tmp_path: Path) -> str:
    file = tmp_path / "slow.toml"
    file.write_text(SLOW_LINK)
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


LOST = {"handoffs.0.at": "28 s"}


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["explain", *words]) == 0
    return capsys.readouterr().out


def test_a_lost_request_is_named_where_playback_stood_still(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sets = [f"--set={key}={value}" for key, value in LOST.items()]
    request = (
        "request (segment 13 of `video-requests`) was lost at `cell`, which was down, at 28.582 s, "
        "and sent again 7 times, the last time at 46.848 s; it arrived at 46.883 s"
    )
    stalled = told(capsys, "video-tunnel", *sets, "--what", "stalled", "--at", "60s")
    assert f"its {request}; from " in stalled
    assert "the rate of `cell` was the limit (10 Mbit/s, with a queue of " in stalled
    # Without a flow it is what stood still longest.
    stall = told(capsys, "video-tunnel", *sets, "--what", "stall")
    assert f"the {request}." in stall
    assert "18.3009 s and 0.174023 s. This is about the requests" in stall
    own = told(capsys, "video-tunnel", *sets, "--what", "stall", "--flow", "video")
    assert "Causes of the longest time without progress: 0.174023 s" in own
    assert "--flow video-requests is about the requests" in own
    assert "request" not in told(capsys, "wifi-to-lte", "--what", "stall")


def test_what_limited_a_flow_after_its_data_arrived_again_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    video = told(capsys, "video-tunnel", "--what", "stalled", "--at", "60s")
    assert "; from 50.503 s to 51.871 s the rate of `cell` was the limit" in video
    late = told(capsys, "call-handoff", "--what", "late_frame", "--at", "5.741s")
    assert "there was no link from 5 s to 5.3 s; then the sender waited 0.164 s" in late
    assert "the recovery of losses was the limit: 10 segments were sent again from" in late
    page = told(capsys, "web-page", "--what", "slow_object", "--at", "1.4s")
    # What came before is round trips of the slow start, too, which have nothing of the old path.
    assert "In short: from 1.049 s to 1.278 s the slow start was the limit: the window grew" in page
    assert "grew from 1 to 23 segments, in round trips of 50.6 ms" in page


def test_slow_objects_of_a_page_are_listed_and_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    setup = Scenario.read("web-page").plan().setup(0)
    every = listed(setup, "object")[0]
    median = sorted(row.value for row in every)[len(every) // 2]
    slow = slow_objects(setup, "page")
    assert [row.detail for row in slow] == ["2", "3"]
    # They have the same size, but for the document.
    assert {row.detail for row in every if row.value >= SLOW * median} == {"2", "3"}
    out = told(capsys, "web-page", "--what", "slow_object")
    assert out.startswith("2 slow_object of page:\n  1.049276 s  slow_object 2, read after 0.876")
    command = shlex.split(out.splitlines()[-1].partition(": ")[2])
    first = told(capsys, *command[2:])
    assert "object 2 was read 0.876386 s after its request; the median of the page's 21" in first
    assert "there was no link from 0.3 s to 0.8 s; then the sender waited" in first
    # If all take as long, it is the slowest one.
    still = Scenario.read("web-page", sets={"handoffs.0.at": "50 s"}).plan().setup(0)
    assert len(slow_objects(still, "page")) == 1
    # Of several connections the data are those of the one that carried the object.
    sets = {"flows.page.set.web_connections": "3"}
    several = Scenario.read("web-page", sets=sets).plan()
    of_c1 = explain(several, at_ns=1_500_000_000, what="slow_object")
    assert of_c1 is not None
    assert any("`page-c1`: segment 44, sent again" in step.text for step in of_c1.steps)


def test_late_frames_in_a_row_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "call-handoff", "--what", "late_frame").splitlines()
    assert out[0] == "35 late_frame of call in one line (--all lists each):"
    assert "late_frame 250 to 284, 35 frames read until 5.842519 s" in out[1]
    each = told(capsys, "call-handoff", "--what", "late_frame", "--all").splitlines()
    assert each[0] == "35 late_frame of call:"
    assert sum("late_frame" in line for line in each[1:36]) == 35
    assert main(["explain", "call-handoff", "--all", "--at", "5s"]) != 0
    assert "--all lists events" in capsys.readouterr().err


def test_what_an_application_writes_is_not_paced(capsys: pytest.CaptureFixture[str]) -> None:
    page = ("web-page", "--flow", "page-requests", "--what", "send", "--at", "1.3s")
    for words in (page, ("call-handoff", "--what", "send", "--at", "3s")):
        out = told(capsys, *words)
        assert "when the application had written it: the flow is application-limited" in out
        assert "paced" not in out


def test_a_report_names_lost_requests_and_slow_objects() -> None:
    from midflight.run_report import report_html

    def words_of(outcome: object) -> str:
        return " ".join(re.sub("<[^>]+>", " ", report_html(outcome)).split())

    video = words_of(Scenario.read("video-tunnel", sets=LOST).run())
    assert "was lost at cell , which was down, at 28.582 s, and sent again 7 times" in video
    assert "video-requests sack (CUBIC) 121.536" in video
    page = words_of(Scenario.read("web-page").run())
    assert "Object 2 took 0.876 s, from 0.173 s to 1.049 s: from 0.185 s to 0.295 s" in page
    assert "page-requests sack" not in page


def test_a_stalled_video_names_the_timer_that_outlasts_the_gap() -> None:
    """The link was back before the buffer was empty, so that the gap alone is not the reason."""
    plan = Scenario.read("video-tunnel").plan()
    found = explain(plan, at_ns=48_582_442_999, what="stalled")
    assert found is not None
    assert (
        "there was no link from 30 s to 42 s; then the sender waited 8.432 s for its "
        "retransmission timer; the link was back 6.582 s before the buffer was empty"
    ) in found.in_short
    assert found.in_short.count("there was no link") == 1


def test_a_slow_object_names_the_losses_before_the_gap() -> None:
    """Without them it would have been read before the handoff."""
    found = explain(Scenario.read("web-page").plan(), at_ns=1_049_276_000, what="slow_object")
    assert found is not None
    assert "14 segments were sent again from 0.224 s to 0.282 s" in found.in_short
    assert "segment 90 was dropped at the queue of `wifi`, which was full, at 0.195 s" in (
        found.in_short
    )
    assert "it would have been read at 0.248 s, before nothing more arrived." in found.in_short
