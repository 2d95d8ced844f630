"""Every question has every service: a table of 5 questions and 10 services, each used once.

docs/command-line.md describes the services. A question or a service that is new belongs here.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import midflight
import midflight.studies
from midflight.cli import main
from midflight.cli.source import DEFINITIONS
from midflight.plot.common.style import check_format

SCENARIO = """
end = "6 s"
[links]
old = { rate = "2 Mbit/s", delay = "20 ms" }
new = { rate = "1 Mbit/s", delay = "50 ms" }
[flows.download]
scheme = "sack"
[[handoffs]]
at = "2 s"
to = "new"
gap = "500 ms"
"""
POLICY = """
from midflight import Order


class Mine:
    def on_notice(self, notice, view):
        return [Order.set_cwnd(2.0, because="this is a test")]

    on_start = on_notice
"""
#: The command of each question at small size, with a loss or a handoff.
QUESTIONS = {
    "handoff": (
        'handoff --old "2 Mbit/s, 20 ms" --new "1 Mbit/s, 50 ms" --kind bbm --at 2s --end 20s'
    ),
    "startup": 'startup --link "5 Mbit/s, 20 ms" --packets 10,100 --flows 2',
    "flow": (
        'flow --radio "2 Mbit/s, 20 ms" --then "1 Mbit/s, 50 ms" --at 2s --pause 500ms --end 6s '
        '--loss "uniform 1%"'
    ),
    "roam": "roam --every 3s --gap 500ms --end 8s",
    "scenario": "",
}
#: The tables, the first flow, and an event that there is in each question.
TABLES = {name: ["runs"] for name in DEFINITIONS} | {"scenario": ["flows", "phases"]}
FLOWS = {
    "handoff": "flow-0",
    "startup": "flow-0",
    "flow": "flow",
    "roam": "mobile",
    "scenario": "download",
}
#: Where a policy changes the run; a roaming node sends no notice, so that there it changes nothing.
UNTOLD = "roam"


class Question:
    """A question in its own folder."""

    def __init__(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.name, self.capsys = name, capsys
        Path("move.toml").write_text(SCENARIO)
        Path("mine.py").write_text(POLICY)
        #: The sources of `explain`, and their commands.
        self.words = shlex.split(QUESTIONS[name]) or ["move.toml"]
        self.command = shlex.split(QUESTIONS[name]) or ["run", "move.toml"]

    def ask(self, *more: str) -> str:
        """Run the command with more options; return its output."""
        return self.say(*self.command, *more)

    def say(self, *words: str, status: int = 0) -> str:
        assert main(list(words)) == status, self.capsys.readouterr().err
        return self.capsys.readouterr().out

    def scheme(self, name: str) -> list[str]:
        """The value by its path that gives the flow another scheme."""
        path = "flows.download.scheme" if self.name == "scenario" else "scheme"
        return ["--set", f"{path}={name}"]


def table(question: Question) -> None:
    out = question.ask()
    assert "profile linux" in out
    assert "sack" in out
    assert "timeouts" in out


def as_json(question: Question) -> None:
    found = json.loads(question.ask("--json"))
    for name in TABLES[question.name]:
        assert found[name]
        assert not any(key.endswith("_s") for key in found[name][0])
    digests = {row["digest"] for row in found[TABLES[question.name][0]]}
    assert digests == set(found["manifest"]["digests"])


def files(question: Question) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    question.ask("--out", "results")
    for name in TABLES[question.name]:
        text = Path(f"results/{name}.csv").read_text()
        head, *rows = csv.reader(io.StringIO(text))
        found = pq.read_table(f"results/{name}.parquet")
        assert found.column_names == head
        assert found.num_rows == len(rows) > 0
    first = Path(f"results/{TABLES[question.name][0]}.csv").read_text()
    assert question.ask("--csv", "-").startswith(first.splitlines()[0])
    question.ask("--csv", "all.csv")
    assert Path("all.csv").read_text() == first


def trace(question: Question) -> None:
    question.ask("--trace", "events")
    head, *rows = csv.reader(io.StringIO(Path(f"events/{FLOWS[question.name]}.csv").read_text()))
    assert (
        head == "time_ns event value detail by link packet cause order reason sent_ns bytes".split()
    )
    assert {"send", "ack", "cwnd"} <= {row[1] for row in rows}
    assert Path("events/manifest.json").is_file()


def pcap(question: Question) -> None:
    question.ask("--pcap", "captures")
    found = {path.stem: path.read_bytes() for path in Path("captures").iterdir()}
    assert {"sender", "receiver"} < set(found)
    assert all(data[:4] == b"\x0a\x0d\x0d\x0a" for data in found.values())


def qlog(question: Question) -> None:
    question.ask("--qlog", "qlogs")
    text = Path(f"qlogs/{FLOWS[question.name]}.sqlog").read_text()
    records = [json.loads(one) for one in text.split("\x1e") if one]
    assert any(one.get("name") == "quic:packet_sent" for one in records)


def explain(question: Question) -> None:
    out = question.say("explain", *question.words, "--what", "stall")
    assert "longest time without progress" in out
    listed = question.say("explain", *question.words, "--what", "ack")
    _, _, again = listed.rpartition("Why the first one: ")
    assert "newest first" in question.say(*shlex.split(again)[1:])


def diff(question: Question) -> None:
    same = ["--a", question.scheme("sack")[1], "--b", question.scheme("sack")[1]]
    assert "identical" in question.say("diff", *question.words, *same)
    other = ["--a", "set.initial_window=2", "--b", "set.initial_window=4"]
    assert "part at" in question.say("diff", *question.words, *other, status=1)


def plot(question: Question) -> None:
    question.ask("--plot", "run.svg")
    assert "<svg" in Path("run.svg").read_text()
    for name in ("figure.svg", "page.html"):
        question.say("plot", "--out", name, *question.words)
    assert "<svg" in Path("figure.svg").read_text()
    page = Path("page.html").read_text()
    assert "--out page.html" in page
    assert f"midflight plot {'' if question.name in DEFINITIONS else 'move.toml '}" in page


def verify(question: Question) -> None:
    question.ask("--out", "results")
    assert "all the same" in question.say("verify", "results")
    file = Path(f"results/{TABLES[question.name][0]}.csv")
    file.write_text(file.read_text().replace(",sack,", ",tahoe,").replace("sack,", "tahoe,"))
    assert "not come out again" in question.say("verify", "results", status=1)


def policy(question: Question) -> None:
    own = ["--policy", "mine=mine.py:Mine"]
    mine = [*own, *question.scheme("sack+mine")]
    question.ask(*mine, "--out", "results", "--trace", "events")
    assert "all the same" in question.say("verify", "results", *own)
    assert main(["verify", "results"]) == 2
    assert "--policy mine=" in question.capsys.readouterr().err
    events = Path(f"events/{FLOWS[question.name]}.csv").read_text()
    assert ("this is a test" in events) == (question.name != UNTOLD)
    question.say("explain", *question.words, *mine, "--what", "stall")


#: What every question has: 10 services.
SERVICES: dict[str, Callable[[Question], None]] = {
    "table and JSON": lambda question: (table(question), as_json(question)),  # type: ignore[dict-item]
    "CSV and Parquet": files,
    "trace": trace,
    "pcap": pcap,
    "qlog": qlog,
    "explain": explain,
    "diff": diff,
    "figure and page": plot,
    "verify": verify,
    "own policy": policy,
}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_service(
    name: str,
    service: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    SERVICES[service](Question(name, capsys))


def test_there_are_50_of_50() -> None:
    # Every question that the command line has, and the scenario.
    assert set(QUESTIONS) == {*DEFINITIONS, "scenario"}
    assert len(QUESTIONS) * len(SERVICES) == 50


def test_errors_say_what_they_are_about() -> None:
    def about(of: Callable[[], object]) -> tuple[str | None, str | None, str | None]:
        with pytest.raises(midflight.MidflightError) as raised:
            of()
        return raised.value.name, raised.value.value, raised.value.accepted

    def handoff(**more: object) -> Callable[[], object]:
        asked = {"scheme": "sack", "old": "1 Mbit/s, 1 ms", "new": "1 Mbit/s, 1 ms", **more}
        return lambda: midflight.Setup.handoff(**asked)  # type: ignore[arg-type]

    assert about(handoff(kind="mmb"))[1:] == (
        "mmb",
        "mbb (make before break) or bbm (break before make)",
    )
    name, value, accepted = about(handoff(knobs={"min_rto": "soon"}))
    assert (name, value) == ("min_rto", "soon")
    assert accepted
    assert about(handoff(profile="ns3"))[:2] == ("profile", "ns3")
    assert about(lambda: midflight.parse_duration("9 hours"))[1] == "9 hours"
    scenario = midflight.Scenario.read("wifi-to-lte")
    name, value, accepted = about(lambda: scenario.plan(sets={"handoffs.0.to": "lt"}))
    assert (name, value) == ("handoffs.0.to", "lt")
    assert accepted is not None
    assert "lte" in accepted
    name, value, accepted = about(lambda: scenario.plan(sets={"links.lte.rate": "5"}))
    assert (name, value) == ("links.lte.rate", "5")
    assert about(lambda: scenario.plan().setup(3)) == ("run", "3", "0 to 0")
    # Errors in Python are reported in the same way.
    name, value, accepted = about(lambda: midflight.studies.load("daniel-koj"))
    assert (name, value) == ("study", "daniel-koj")
    assert "daniel-kojo-2008" in str(accepted)
    axes = {"links.lte.rate": "1 Mbit/s,1 Mbit/s"}
    assert about(lambda: midflight.Sweep.of(scenario, axes))[:2] == ("links.lte.rate", "1 Mbit/s")
    assert about(lambda: check_format(Path("figure.doc")))[:2] == ("plot", "figure.doc")
    assert midflight.MidflightError("plain").name is None


@pytest.mark.parametrize(
    ("words", "new"),
    [
        ('handoff --old "1 Mbit/s, 1 ms" --new "1 Mbit/s, 1 ms" --at 1s --fixed x', "--wired"),
        ('startup --link "1 Mbit/s, 1 ms" --fixed x', "--wired"),
        ("handoff --notify-delay=1ms --old x --new x --at 1s", "--notice-delay"),
        ('flow --radio "1 Mbit/s, 1 ms" --limit 5', "--queue"),
        ('flow --radio "1 Mbit/s, 1 ms" --until 5s', "--marks"),
        ("roam --fixed 1", "--residents"),
        ("roam --blackout 1s", "--gap"),
        ("roam --back-loss x", "--up-loss"),
        ("roam --set min_rto=1s", "set.min_rto"),
        ("drill x.pkt --set min_rto=1s", "set.min_rto"),
        ("explain roam --fixed 1 --what rto", "--residents"),
        ("diff --study daniel-kojo-2008 --figure 8 --job 0 --a min_rto=1s", "set.min_rto"),
        ("roam --trace events.csv", "folder"),
    ],
)
def test_an_old_spelling_is_refused_with_the_new_one(
    words: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(words)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert new in captured.err
    assert captured.err.count("\n") == 1
