"""BBR as a scheme, policies that order pacing, and rate samples that they see."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from midflight import MidflightError, Order, Scenario, SenderView

MOVE = """
profile = "linux"
end = "25 s"
links.old = { rate = "10 Mbit/s", delay = "10 ms", queue = "20 ms" }
links.new = { rate = "10 Mbit/s", delay = "150 ms", queue = "300 ms" }
flows.download = {}
handoffs = [{ at = "5 s", to = "new" }]
"""


@pytest.fixture
def move(tmp_path):
    file = tmp_path / "move.toml"
    file.write_text(MOVE)
    return str(file)


def megabits(scenario: Scenario, **given) -> list[float]:
    """Return Mbit/s acknowledged in each second."""
    trace = scenario.trace(**given)
    seconds, una = [0.0] * 25, 0
    columns = (trace.column(name) for name in ("time_ns", "event", "value"))
    for at_ns, event, value in zip(*columns, strict=True):
        if event == "ack" and value > una:
            seconds[min(int(at_ns) // 10**9, 24)] += (value - una) * 12e-3
            una = value
    return seconds


def test_bbr_collapses_on_a_longer_path_until_its_least_round_trip_is_ten_seconds_old(move):
    """20 to 300 ms: the window is that of the old path, and the rate follows it down."""
    scenario = Scenario.read(move, sets={"flows.download.scheme": "bbr-linux"})
    rates = megabits(scenario)
    assert all(rate > 9.5 for rate in rates[1:5])
    assert all(rate < 4 for rate in rates[5:12])
    assert min(rates[5:12]) < 1.5
    assert all(rate > 9 for rate in rates[15:20])


def test_the_seed_draws_the_phases_of_bbr_and_a_knob_gives_them(move):
    def digest(**sets):
        given = {
            "flows.download.scheme": "bbr-linux",
            "end": "5 s",
            "handoffs.0.at": "4.9 s",
            **sets,
        }
        return Scenario.read(move, sets=given).run().digests

    assert digest() == digest()
    drawn = {tuple(digest(seed=str(seed))) for seed in range(1, 9)}
    assert len(drawn) > 1
    given = {tuple(digest(**{"set.bbr_linux_phases": str(phase)})) for phase in range(7)}
    assert len(given) > 2
    assert drawn <= given


def test_bbr_says_which_recovery_it_needs(move):
    sets = {"flows.download.scheme": "bbr-linux", "profile": "rfc"}
    with pytest.raises(MidflightError, match="choose recovery linux"):
        Scenario.read(move, sets=sets).run()
    with pytest.raises(MidflightError, match="digits from 0 to 6"):
        Scenario.read(move, sets={**sets, "profile": "linux", "set.bbr_linux_phases": "7"}).run()


#: Rates of delivery, what is delivered in all and by an ACK.
SEEN: list[tuple[float, int | None, int | None]] = []


class AtFive:
    """Paces at 5 Mbit/s from the notice on, and notes what ACKs show."""

    def on_notice(self, notice: Any, view: SenderView) -> list[Order]:
        assert notice.flows == 1
        assert view.delivery_rate is None
        return [Order.pace_at(5_000_000, because="half of the link is ours")]

    def on_ack(self, view: SenderView) -> None:
        if view.delivery_rate is not None:
            assert view.delivery_interval_ns is not None
            assert view.app_limited is not None
            SEEN.append((view.delivery_rate, view.delivered, view.newly_delivered))


@pytest.mark.parametrize("profile", ["rfc", "linux", "ns2"])
def test_a_policy_paces_and_sees_the_rate_of_delivery(move, profile):
    SEEN.clear()
    sets = {
        "flows.download.scheme": "mine",
        "profile": profile,
        "links.new.delay": "10 ms",
        "links.new.queue": "1 s",
        "end": "10 s",
    }
    policies = {"mine": AtFive}
    scenario = Scenario.read(move, sets=sets, policies=policies)
    rates = megabits(scenario, policies=policies)
    assert all(4.9 < rate < 5.1 for rate in rates[7:10])
    # 1500 bytes at 5 Mbit/s: 416.7 segments a second.
    late = SEEN[-200:]
    assert all(400 < rate < 433 for rate, _, _ in late)
    assert all(b[1] == a[1] + b[2] for a, b in pairwise(late))


class OverOneRoundTrip:
    """Spreads a large window over the new round trip."""

    def __init__(self, *, spread: bool):
        self.spread = spread

    def on_notice(self, notice: Any, view: SenderView) -> list[Order]:
        assert notice.new.bdp_packets > view.cwnd
        window = Order.set_cwnd(200, because="the new path holds that")
        pace = Order.pace_window(320_000_000, because="no burst")
        return [window, pace] if self.spread else [window]


def test_a_window_that_is_spread_loses_nothing_where_a_burst_does(move):
    def drops(spread: bool) -> int:
        sets = {"flows.download.scheme": "mine", "links.new.queue": "50 ms", "end": "6 s"}
        policies = {"mine": lambda: OverOneRoundTrip(spread=spread)}
        scenario = Scenario.read(move, sets=sets, policies=policies)
        return scenario.run(policies=policies).flows.column("drops_queue")[0]

    assert drops(spread=True) < drops(spread=False)


def test_orders_that_cannot_be_are_refused():
    with pytest.raises(MidflightError, match="1 bit/s or more"):
        Order.pace_at(0, because="x")
    with pytest.raises(MidflightError, match="1 ns or more"):
        Order.pace_window(0, because="x")
    assert "send without an ordered rate" in repr(Order.end_pacing(because="x"))
