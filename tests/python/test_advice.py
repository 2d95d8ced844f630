"""Throughput advice (SCONE) in place of a notice: a rate without a delay, which expires."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

import midflight
from midflight import MidflightError, Order, Scenario
from midflight.cli import main

SCHEME = "flows.download.scheme"
SOURCE = "handoffs.0.notice.source"
#: To 300 ms: a sender that starts over needs many rounds to fill the path.
FAR: dict[str, Any] = {
    "links": {
        "near": {"rate": "20 Mbit/s", "delay": "10 ms"},
        "far": {"rate": "20 Mbit/s", "delay": "300 ms", "queue": "2000 packets"},
    },
    "flows": {"download": {"size": "30 MB"}},
    "handoffs": [{"at": "2 s", "to": "far"}],
    "end": "60 s",
}


def far(**sets: Any) -> midflight.Plan:
    return Scenario.from_dict(FAR).plan(sets=sets)


@pytest.mark.parametrize("profile", ["linux", "quic"])
def test_a_sender_resumes_from_advice(profile: str) -> None:
    """The jump is half of the advised rate over the round trip that the new path shows."""
    sets = {SCHEME: "careful-resume", SOURCE: "scone", "flows.download.profile": profile}
    plan = Scenario.from_dict(FAR).plan(sets=sets)
    trace = plan.setup(0).trace(only=["cwnd"])
    rows = zip(trace.column("time_ns"), trace.column("value"), trace.column("by"), strict=True)
    jumps = [value for at, value, by in rows if by == "careful-resume" and at > 2.5e9]
    # 20 Mbit/s is signalled as 19.95 Mbit/s; over 0.6 to 0.7 s in packets of 1,228 or 1,500 bytes.
    packet = 8 * (1500 if profile == "linux" else 1228)
    least, most = (19_952_623 * rtt / packet / 2 for rtt in (0.62, 0.75))
    assert any(least <= value <= most for value in jumps), jumps
    plain = Scenario.from_dict(FAR).plan(sets={"flows.download.profile": profile})
    times = [midflight.run_plans([one])[0].column("duration_ns")[0] for one in (plan, plain)]
    assert times[0] < times[1]


def test_a_plain_sender_has_no_use_for_advice() -> None:
    with_notice, with_advice = (far(**{SOURCE: source}) for source in ("link", "scone"))
    times = [plan.setup(0).trace().column("time_ns") for plan in (with_notice, with_advice)]
    assert times[0] == times[1]


class Told:
    """A policy that records its calls."""

    seen: ClassVar[list[tuple[int, int, bool]]] = []

    def on_notice(self, _notice: Any, _view: Any) -> None:
        raise AssertionError("no notice was expected")

    def on_advice(self, advice: midflight.Advice, view: midflight.SenderView) -> list[Order]:
        Told.seen.append((advice.rate_bps, advice.expires_ns - view.now_ns, advice.anew))
        return [Order.set_ssthresh(50, because="advice")]


def test_a_policy_in_python_gets_the_lowest_rate_of_its_life() -> None:
    values = {
        **FAR,
        "flows": {"download": {"scheme": "told"}},
        "handoffs": [{"at": "2 s", "to": "far", "notice": {"source": "scone"}}],
        "changes": [
            {"at": at, "link": "far", "rate": rate, "notice": {"source": "scone"}}
            for at, rate in (("10 s", "5 Mbit/s"), ("20 s", "15 Mbit/s"), ("80 s", "15.1 Mbit/s"))
        ],
        "end": "90 s",
    }
    Told.seen.clear()
    Scenario.from_dict(values).run(policies={"told": Told}, threads=1)
    life = 67_000_000_000
    assert Told.seen == [
        (19_952_623, life, True),
        (4_466_836, life, False),
        (4_466_836, life - 10_000_000_000, False),
        (14_125_375, life, False),
    ]


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ({SCHEME: "a3"}, 'the policy "a3" takes no throughput advice, which has no delay of the'),
        ({SCHEME: "a3"}, "expected careful-resume, tcp-ho, a policy in Python with on_advice, or"),
        ({"handoffs.0.notice.says_delay": "1 s"}, "throughput advice has no delay; expected no"),
        ({"handoffs.0.notice.says_rate": "50 kbit/s"}, "expected 100 kbit/s or more"),
        ({"flows.download.stack": "quinn", "flows.download.resume": True}, "resume = false"),
        ({SOURCE: "ecn"}, '"ecn" is not accepted; expected "link" or "scone"'),
    ],
)
def test_what_advice_has_not_is_reported_in_a_sentence(sets: dict[str, Any], says: str) -> None:
    with pytest.raises(MidflightError) as error:
        Scenario.from_dict(FAR).plan(sets={SOURCE: "scone", **sets})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command_line_runs_and_sweeps_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["wifi-to-5g", "--set", f"{SOURCE}=scone"]
    assert main(["run", *asked, "--set", f"{SCHEME}=tcp-ho"]) == 0
    assert "tcp-ho" in capsys.readouterr().out
    swept = ["--axis", f"{SCHEME}=sack,tcp-ho,careful-resume", "--out", str(tmp_path / "out")]
    assert main(["sweep", *asked, *swept]) == 0
    assert (tmp_path / "out" / "flows.csv").is_file()
    capsys.readouterr()
    assert main(["run", *asked, "--set", f"{SCHEME}=a3"]) != 0
    assert "takes no throughput advice" in capsys.readouterr().err
