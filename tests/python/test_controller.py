"""Congestion controllers in Python: their calls, their decisions, clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from midflight import CongestionController, Control, MidflightError, Scenario
from midflight.cli import main
from midflight.executors import run_local
from midflight.policy import load_policies
from midflight.sweep import Sweep

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_vegas.py"
SCHEME = "flows.download.scheme"


def scenario(scheme: str, policies: Any = None, **sets: Any) -> Scenario:
    """10 MB over 10 Mbit/s and 40 ms with a queue of one BDP."""
    read = {
        "links": {"one": {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "1 bdp"}},
        "flows": {"download": {"size": "10 MB", "scheme": scheme}},
        **sets,
    }
    return Scenario.from_dict(read).but({}, policies=policies)


def trace(scheme: str, policies: Any, **sets: Any) -> Any:
    return scenario(scheme, policies, **sets).trace(policies=policies)


class RenoInPython(CongestionController):
    """Reno as Linux has it (tcp_cong.c): whole packets, one more for each window."""

    def __init__(self) -> None:
        self.count = self.una = 0

    def on_ack(self, view: Any) -> Control | None:
        acked, cwnd = view.newly_delivered, int(view.cwnd)
        advanced, self.una = view.snd_una > self.una, view.snd_una
        if view.in_fast_recovery or not (advanced and view.window_limited):
            return None
        if cwnd < view.ssthresh:
            grown = min(cwnd + acked, int(view.ssthresh))
            acked, cwnd = acked - (grown - cwnd), grown
            if not acked:
                return Control(cwnd=cwnd)
        if self.count >= cwnd:
            self.count, cwnd = 0, cwnd + 1
        self.count += acked
        more, self.count = divmod(self.count, cwnd)
        return Control(cwnd=cwnd + more)

    def on_loss(self, view: Any) -> Control:
        self.count = 0
        return Control(ssthresh=max(int(view.cwnd) // 2, 2))

    on_timeout = on_loss


def test_reno_in_python_is_reno() -> None:
    """Window for window, through a recovery: the kernel's PRR brings both down."""
    mine = {"mine": RenoInPython}
    of = {}
    for name, policies in (("reno-linux", None), ("mine", mine)):
        rows = trace(name, policies)
        pairs = zip(rows.column("event"), rows.column("value"), rows.column("time_ns"), strict=True)
        kinds = {"cwnd", "ssthresh", "send", "rexmit"}
        # Once the connection is open.
        of[name] = [row for row in pairs if row[0] in kinds and row[2] > 61_000_000]
    assert len(of["mine"]) > 7000
    assert of["mine"] == of["reno-linux"]


class Recording(CongestionController):
    """Counts its calls; sets a rate from the start."""

    asked: ClassVar[dict[str, int]] = {}

    def note(self, hook: str) -> None:
        self.asked[hook] = self.asked.get(hook, 0) + 1

    def on_open(self, view: Any) -> Control:
        self.note("open")
        assert view.snd_una == 1
        assert view.cwnd == view.initial_window
        return Control(cwnd=60, pacing_rate=500)

    def on_ack(self, view: Any) -> Control:
        self.note("ack")
        assert view.delivered > view.prior_delivered or view.newly_delivered == 0
        assert view.newly_lost >= 0
        return Control(cwnd=min(view.cwnd + 1, 60))

    def on_loss(self, view: Any) -> Control:
        del view
        self.note("loss")
        return Control(ssthresh=20)

    def on_timeout(self, view: Any) -> None:
        del view
        self.note("timeout")

    def on_undo(self, view: Any) -> None:
        del view
        self.note("undo")

    def on_notice(self, notice: Any, view: Any) -> None:
        del view
        assert notice.old is not None
        self.note("notice")


@pytest.mark.parametrize("profile", ["linux", "rfc", "ns2"])
def test_each_hook_is_called_and_data_is_paced(profile: str) -> None:
    Recording.asked.clear()
    mine = {"mine": Recording}
    links = {
        "one": {"rate": "10 Mbit/s", "delay": "20 ms"},
        "two": {"rate": "10 Mbit/s", "delay": "1.5 s", "loss": "uniform 1%"},
    }
    rows = trace("mine", mine, links=links, profile=profile, handoffs=[{"at": "2 s", "to": "two"}])
    sent = [
        at
        for event, at in zip(rows.column("event"), rows.column("time_ns"), strict=True)
        if event == "send" and 0.5e9 < at < 1.5e9
    ]
    # 500 segments a second.
    assert 490 <= len(sent) <= 505
    wanted = {"open", "ack", "loss", "timeout", "notice"} | (
        {"undo"} if profile == "linux" else set()
    )
    assert set(Recording.asked) == wanted
    assert Recording.asked["open"] == 1


class Failing(CongestionController):
    def on_ack(self, view: Any) -> Control:
        raise RuntimeError(f"no window at {view.now_ns > 0}")


class Wrong(CongestionController):
    def on_ack(self, view: Any) -> Any:
        return [view.cwnd]


class Misnamed(CongestionController):
    def on_lost(self, view: Any) -> None:
        del view


class Empty(CongestionController):
    pass


def test_errors_are_reported_with_their_place() -> None:
    for made, said in (
        (
            Failing,
            r'the congestion controller "mine" failed in on_ack: RuntimeError: no window at True '
            r"\(.*test_controller.py:\d+\)",
        ),
        (Wrong, "on_ack returned a list; expected None or a midflight.Control"),
        (Misnamed, r'has a method on_lost, which is not a hook \(did you mean "on_loss"\?\)'),
        (
            Empty,
            r"\"mine\" cannot be used: Empty has no on_ack\(view\)",
        ),
    ):
        with pytest.raises(MidflightError, match=said):
            scenario("mine", {"mine": made}).run(policies={"mine": made})
    with pytest.raises(MidflightError, match="westwood and mine are both a congestion controller"):
        scenario("mine+westwood", {"mine": RenoInPython})
    for wrong in ({"cwnd": 0.5}, {"ssthresh": float("nan")}, {"pacing_rate": -1}):
        with pytest.raises(MidflightError, match="is out of range"):
            Control(**wrong)


def test_the_traceback_is_the_cause() -> None:
    with pytest.raises(MidflightError) as caught:
        scenario("mine", {"mine": Failing}).run(policies={"mine": Failing})
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.__cause__.__traceback__ is not None


def test_the_example_keeps_the_queue_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 27
    mine = load_policies([f"mine={EXAMPLE}:MyVegas"])
    lost = {}
    for name in ("reno-linux", "mine"):
        outcome = scenario(name, mine).run(policies=mine)
        lost[name] = (
            outcome.flows.column("drops_queue")[0],
            outcome.flows.column("duration_ns")[0],
        )
    assert lost["mine"][0] < lost["reno-linux"][0]
    assert lost["mine"][1] < 1.1 * lost["reno-linux"][1]


def test_it_works_with_handoff_schemes_workers_and_forks(tmp_path: Path) -> None:
    """The same cells with one worker, with two processes' shards, forked or not."""
    from midflight import _core

    mine = load_policies([f"mine={EXAMPLE}:MyVegas"])
    handoff = Scenario.read("wifi-to-lte", sets={SCHEME: "mine+enhanced"}, policies=mine)
    plans = [handoff.plan(sets={"handoffs.0.at": f"0.{i} s"}, policies=mine) for i in range(2, 6)]
    forked, _ = _core.run_plans(plans, fork=True)
    whole, _ = _core.run_plans(plans, fork=False)
    assert forked.column("digest") == whole.column("digest")
    tables = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        axes = {"handoffs.0.at": "0.2 s : 0.5 s : 0.05 s"}
        sweep = Sweep.of(handoff, axes, policies=mine, shard_cells=3)
        sweep.begin(folder)
        run_local(sweep, folder, sweep.missing(folder), threads=workers)
        sweep.merge(folder)
        tables.append((folder / "phases.csv").read_bytes())
    assert tables[0] == tables[1]


def test_the_command_takes_controllers(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--policy", f"mine={EXAMPLE}:MyVegas", "--set", f"{SCHEME}=mine"]
    assert main(["run", "wifi-to-lte", *flags]) == 0
    assert "mine" in capsys.readouterr().out
    assert main(["explain", "wifi-to-lte", *flags, "--at", "0.1 s", "--what", "cwnd"]) == 0
    assert "cwnd 45 -> 46: growth in slow start" in capsys.readouterr().out
