"""What limited a flow while its link had room: one cause for reports and for applications."""

from __future__ import annotations

import re

from midflight import Flow, Handoff, Link, Scenario
from midflight.explain.afterwards import limit_after
from midflight.explain.arrivals import RunEvents
from midflight.explain.path import PathSamples
from midflight.report_reasons import reasons_of

NS_PER_S = 1_000_000_000


def test_the_recovery_of_losses_is_the_limit_in_reports_and_of_applications() -> None:
    # After a gap, and a wait for the timer, losses are repaired while the link has room.
    links = {
        "wifi": Link(rate="30 Mbit/s", delay="10 ms", queue="60 packets"),
        "lte": Link(rate="12 Mbit/s", delay="35 ms", queue="150 packets"),
    }
    handoffs = [Handoff(at="1.2 s", to="lte", gap="1.5 s")]
    flow = Flow(size="8 MB", scheme="sack")
    one = Scenario(links=links, flows={"get": flow}, handoffs=handoffs, end="20 s").run()
    ((_, _, said),) = reasons_of({"": one}, ["get"]).limits
    first, second = re.split(r"(?<=headers)\. ", said, maxsplit=1)
    found = re.search(
        r"the recovery of losses was the limit: (\d+) segments were sent again from (\S+) s to "
        r"(\S+) s, with a window of (\d+) to (\d+) segments; the flow used \d+% of what `lte`",
        first,
    )
    assert found is not None
    assert "the link was the limit" in second
    count, begin, end, least, most = (float(text) for text in found.groups())
    setup = one.plan.setup(0)
    # Instants are told to a millisecond.
    margin = NS_PER_S // 2000
    span = begin * NS_PER_S - margin, end * NS_PER_S + margin
    again, windows = (
        [row[3] for row in setup.events(flow="get", name=name).rows() if span[0] < row[1] < span[1]]
        for name in ("rexmit", "cwnd")
    )
    assert len(again) == count
    assert min(windows) == least
    assert most <= max(windows)
    after = limit_after(RunEvents(setup), "get", 0, 3_250_000_000, 3_780_000_000)
    # The same words on the same cause.
    assert found[0].partition(", with")[0] in after


def test_bbr_has_no_slow_start_and_losses_by_the_radio_are_no_recovery() -> None:
    link = {"cell": Link(rate="40 Mbit/s", delay="40 ms", queue="400 packets")}
    small = Scenario(links=link, flows={"get": Flow(size="400 kB", scheme="bbr3")}, end="5 s").run()
    run = RunEvents(small.plan.setup(0))
    after = limit_after(run, "get", 0, 0, int(small.flows.numpy("finished_ns")[0]))
    assert re.search(r"the growth of the window was the limit: from \d+ to \d+ segments", after)
    assert "slow start" not in after
    lossy = {"cell": Link(rate="40 Mbit/s", delay="40 ms", queue="400 packets", loss="uniform 2%")}
    one = Scenario(links=lossy, flows={"get": Flow(scheme="sack")}, end="20 s").run()
    ((_, _, said),) = reasons_of({"": one}, ["get"]).limits
    assert "losses on the link were probably the limit: " in said
    setup = one.plan.setup(0)
    after = limit_after(RunEvents(setup), "get", 0, 0, PathSamples(setup).end_ns)
    assert "losses on the link were probably the limit: " in after
