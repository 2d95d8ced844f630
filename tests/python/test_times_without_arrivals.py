"""When nothing arrives: bars in throughputs over time, of flows of applications."""

from __future__ import annotations

import numpy as np

from midflight import Flow, Handoff, Link, Scenario
from midflight.plot.over_time.curves import Curve
from midflight.plot.over_time.panels import shown_panels
from midflight.plot.over_time.stalls import Heard, stalls_of
from midflight.plot.over_time.watched import watch


def test_nothing_arrives_for_a_video_only_from_a_request_on() -> None:
    """With BBR all that is requested before the gap is lost, and the buffer was full before."""
    rates = {"video_rates": "1.5 3 6 12 25 Mbit/s", "video_buffer": "12 s"}
    up = {"rate": "40 Mbit/s"}
    source = Scenario(
        links={
            "nr": Link(rate="150 Mbit/s", delay="8 ms", queue="60 ms", up=up),
            "sat": Link(rate="4 Mbit/s", delay="290 ms", queue="600 ms"),
        },
        flows={"movie": Flow(workload="video", set=rates)},
        handoffs=[Handoff(at="4.32 s", to="sat", gap="5 s")],
        end="16 s",
    )
    runs = watch(source, schemes=["sack", "bbr3"], kinds=["throughput"])
    (panel,) = shown_panels(runs, ["throughput"])[1]
    stalls = [one for one in panel.curves if one.draw == "stalled"]
    assert [one.scheme for one in stalls] == ["sack", "bbr3"]
    lasts = []
    for one, run in zip(stalls, runs, strict=True):
        assert one.low is not None
        assert one.high is not None
        at = run.flows[0].times("rcv") / 1e9
        request = run.flows[0].times("request") / 1e9
        ((begin, end),) = run.gaps
        (low,), (high,) = one.low, one.high
        assert low < begin < end < high
        last = at[at < begin][-1]
        assert low == max(last, request[request < begin][-1])
        lasts.append(begin - last)
    # Only of one the last data before the gap came long before the last request.
    assert lasts[0] < 0.1
    assert lasts[1] > 2


def test_a_time_without_arrivals_begins_with_the_wait_for_what_ends_it() -> None:
    at = np.concatenate([np.arange(0, 2, 0.1), np.arange(6, 8, 0.1)])
    ends = np.array([0.0, 8.0])
    line = Curve("", "steps", ends, np.zeros(2))

    def spans(waits: list[tuple[float, float]], *timeouts: float) -> list[tuple[float, float]]:
        marks = Curve("timeout", "timeout", np.array(timeouts), np.zeros(len(timeouts)))
        heard = Heard(at, line, [marks], 1.0, waits)
        return [
            (round(float(a), 6), round(float(b), 6))
            for each in stalls_of([heard], alone=True)
            for one in each
            if one.low is not None and one.high is not None
            for a, b in zip(one.low, one.high, strict=True)
        ]

    assert spans([(0, 8)]) == [(1.9, 6.0)]
    assert spans([(0, 2), (4, 8)]) == [(4.0, 6.0)]
    # Of less than a second only a timeout makes a stall, ...
    assert spans([(0, 2), (5.5, 8)]) == []
    assert spans([(0, 2), (5.5, 8)], 5.7) == [(5.5, 6.0)]
    # ... and one that is before the last wait belongs to that before.
    assert spans([(0, 2), (3, 4), (5.5, 8)], 3.2) == [(3.0, 6.0)]
    # What is not waited for at the end is none without a timeout.
    assert spans([(0, 2), (3, 4), (6.5, 8)]) == []
    assert spans([(0, 2), (3, 4), (6.5, 8)], 3.2) == [(3.0, 6.0)]
