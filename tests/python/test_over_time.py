"""Links and senders at intervals, panels over time, the spread of results: as it happened."""

from __future__ import annotations

import csv
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import midflight
from midflight import Flow, Handoff, Link, LinkDirection, Scenario, Setup, Wired
from midflight.cli import main
from midflight.plot import figure_of, plot_delay_cdf
from midflight.plot.common.style import (
    LINKS,
    SERIES,
)
from midflight.plot.over_time.history import histories
from midflight.plot.over_time.panels import (
    over_time_figure,
    panel_rows,
    plot_over_time,
    shown_panels,
)
from midflight.plot.over_time.run import run_figure
from midflight.plot.over_time.watched import OVER_TIME, nice, panels_of, watch

NS = 1_000_000_000


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def one_link(**flow: Any) -> Scenario:
    return Scenario(
        links={"cell": Link(rate="10 Mbit/s", delay="20 ms", queue="40 packets")},
        flows={"download": Flow(scheme="sack", size="3 MB", **flow)},
        wired=Wired(rate="1 Gbit/s", delay="5 ms"),
        profile="rfc",
        end="20 s",
    )


def moving() -> Scenario:
    return Scenario(
        links={"wifi": Link(preset="wifi"), "lte": Link(preset="lte")},
        flows={"download": Flow(scheme="sack", size="1 MB"), "other": Flow(size="500 kB")},
        handoffs=[Handoff(at="0.15 s", to="lte", gap="300 ms")],
        profile="rfc",
        end="20 s",
    )


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


Stay = tuple[float, float, float]


def fifo(arrivals: Iterable[tuple[float, float]], rate: float, limit: int) -> list[Stay]:
    """When packets, of some bits each, come to a drop-tail queue and leave it, in seconds."""
    stays: list[Stay] = []
    for at, bits in arrivals:
        here = [end for _, end, _ in stays[-limit:] if end > at]
        if len(here) < limit:
            stays.append((at, max([at, *here[-1:]]) + bits / rate, bits))
    return stays


def test_queues_are_those_of_a_queue_by_hand() -> None:
    setup = one_link().plan().setup(0)
    trace = setup.trace()
    event, time, size = (trace.numpy(name) for name in ("event", "time_ns", "bytes"))
    out = (event == "send") | (event == "rexmit")
    packets_sent = list(zip(time[out] / NS, 8 * size[out], strict=True))
    for _ in range(2):
        stays_there = fifo(packets_sent, 1e9, 10**4)
        packets_sent = [(end + 0.005, bits) for _, end, bits in stays_there]
    # The link takes 40 packets, that in transmission included.
    stays = np.array(fifo(packets_sent, 10e6, 40))[:, :2]
    links, senders = setup.samples(every_ns=1_000_000)
    assert links.digest == senders.digest == trace.digest
    mine = links.numpy("number") == setup.access_links[0]["down"]
    at = links.numpy("time_ns")[mine] / NS
    packets = links.numpy("packets")[mine]
    expected = np.array([((stays[:, 0] <= one) & (stays[:, 1] > one)).sum() for one in at])
    # If a packet arrives or leaves at the same instant, either count is right.
    clear = np.array([np.abs(stays - one).min() > 2e-9 for one in at])
    assert clear.sum() > 2000
    assert list(packets[clear]) == list(expected[clear])
    assert packets.max() == 40
    assert np.all(links.numpy("bytes")[mine][20:] == 1500 * packets[20:])
    assert np.all(links.numpy("least")[mine] <= packets)
    assert np.all(links.numpy("most")[mine] >= packets)
    assert set(links.numpy("rate_bps")[mine]) == {10_000_000}
    assert set(links.numpy("delay_ns")[mine]) == {20_000_000}


def test_senders_at_intervals_are_the_senders() -> None:
    setup = moving().plan().setup(0)
    _, senders = setup.samples(every_ns=10_000_000)
    for name in ("download", "other"):
        rows = [row for row, flow in enumerate(senders.column("flow")) if flow == name]
        for row in rows[:: len(rows) // 20]:
            then = setup.sender(senders.column("time_ns")[row], flow=name)
            for column, key in (
                ("cwnd", "cwnd"),
                ("ssthresh", "ssthresh"),
                ("flight", "flight_size"),
                ("srtt_ns", "srtt_ns"),
                ("rto_ns", "rto_ns"),
            ):
                assert senders.column(column)[row] == then[key], (name, row, column)


def test_a_link_that_is_down_says_so() -> None:
    setup = moving().plan().setup(0)
    links, _ = setup.samples(every_ns=10_000_000)
    time, name, up = (links.numpy(one) for one in ("time_ns", "link", "up"))
    # What breaks is the mobile node's interface; its link still sends what waits there.
    assert set(up[(name == "wifi-mobile") & (time <= 150_000_000)]) == {1}
    assert set(up[(name == "wifi-mobile") & (time > 150_000_000)]) == {0}
    assert set(up[(name == "wifi") | (name == "lte-mobile")]) == {1}


def test_there_are_so_many_samples_however_long_a_run_is() -> None:
    for end in ("1 s", "40 s", "700 s"):
        setup = one_link().plan(sets={"end": end, "flows.download.size": "1 GB"}).setup(0)
        links, _ = setup.samples()
        (down,) = (one["down"] for one in setup.access_links)
        time = links.numpy("time_ns")[links.numpy("number") == down]
        assert 4096 <= len(time) <= 8193, end
        assert len(set(np.diff(time))) == 1
        # Values between two samples are not lost.
        assert links.numpy("most")[links.numpy("number") == down].max() == 40


def test_samples_of_packets_that_are_sent_at_regular_times() -> None:
    """Extremes are exact, and the mean follows Little's law, whatever the interval is."""
    link = Link(rate="20 Mbit/s", delay="10 ms", queue="40 packets")
    call = Flow(workload="call", set={"call_frame": "3000 B", "call_interval": "20 ms"})
    run = Scenario(links={"cell": link}, flows={"a": call}, end="20 s")
    setup = run.plan().setup(0)
    trace = setup.trace(only=["rcv"])
    took = trace.numpy("time_ns") - trace.numpy("sent_ns")
    # The rest of the path takes as long for each packet; this is for 20 Mbit/s.
    waited = took - (took - 400 * trace.numpy("bytes")).min()
    for every in (20_000_000, 10_000_000, 4_000_000, None):
        links, _ = setup.samples(every_ns=every)
        (down,) = (one["down"] for one in setup.access_links)
        mine = links.numpy("number") == down
        time, most, least, mean = (
            links.numpy(one)[mine] for one in ("time_ns", "most", "least", "mean")
        )
        span = time[-1] - time[0]
        assert mean.mean() * span == pytest.approx(waited.sum(), rel=0.05)
        # A frame has several packets, and nothing is left of it when the next one begins.
        assert most[time > 1e9].max() == 3
        assert set(least[time > 1e9]) == {0}


@pytest.mark.parametrize(
    ("every", "said"), [(7, "8 ns or more"), (8, "more than 20000000 samples")]
)
def test_an_interval_that_cannot_be(every: int, said: str) -> None:
    with pytest.raises(midflight.MidflightError, match=said):
        one_link().plan().setup(0).samples(every_ns=every)


def test_a_trace_has_sizes_and_when_a_copy_was_sent() -> None:
    trace = one_link().trace()
    event, time = trace.numpy("event"), trace.numpy("time_ns")
    sent, size = trace.numpy("sent_ns"), trace.numpy("bytes")
    came = event == "rcv"
    # The SYN has no data.
    assert set(size[came][1:]) == {1500.0}
    assert size[came][0] == 40.0
    came[np.flatnonzero(came)[0]] = False
    delay = time[came] - sent[came]
    # Propagation, and a transmission on each of four links.
    least = 30_000_000 + 1_200_000 + 3 * 12_000
    assert least <= delay.min() <= least + 10
    assert delay.max() <= least + 40 * 1_200_000
    outgoing = {*time[(event == "send") | (event == "rexmit")]}
    assert {*sent[came]} <= outgoing


def test_a_throughput_is_what_arrives(tmp_path: Path) -> None:
    out, drawn = tmp_path / "a.png", tmp_path / "a.csv"
    words = ["plot", "wifi-to-lte", "--kind", "throughput,queue", "--kind", "delay"]
    assert main([*words, "--interval", "50ms", "--out", str(out), "--csv", str(drawn)]) == 0
    rows = rows_of(drawn)
    assert {row["kind"] for row in rows} == {"throughput", "queue", "delay"}
    trace = Scenario.read("wifi-to-lte").trace()
    came = trace.numpy("event") == "rcv"
    # All but the SYN.
    data = came & (trace.numpy("value") > 0)
    bits = 8 * trace.numpy("bytes")[data].sum()
    mine = [r for r in rows if r["kind"] == "throughput" and r["line"] == "sack"]
    time = np.array([float(row["time_s"]) for row in mine])
    value = np.array([float(row["value"]) for row in mine])
    # It begins with the first data.
    assert 0 < time[0] < 0.05
    odd = np.abs(np.diff(time) - 0.05) > 1e-6
    # An interval begins where data arrive after the outage, too.
    at = trace.numpy("time_ns")[came] / 1e9
    again = at[1:][np.argmax(np.diff(at))]
    # Others are no multiples only where bursts begin.
    bursts = at[1:][np.diff(at) >= 0.01]
    is_burst = np.abs(time[:-1, None] - bursts).min(axis=1) < 1e-3
    assert (odd[~is_burst]).sum() <= 5
    assert float(np.abs(time - again).min()) < 1e-6
    assert (value[:-1] * np.diff(time)).sum() * 1e6 == pytest.approx(bits, rel=1e-6)
    rate = [row for row in rows if row["line"] == "rate of the link"]
    # The Wi-Fi, none for two seconds, then LTE.
    assert [float(row["value"]) for row in rate] == [54.0, 0.0, 50.0, 50.0]
    assert [float(row["time_s"]) for row in rate][:3] == pytest.approx([0.0, 0.3, 2.3])
    delays = [float(row["value"]) for row in rows if row["kind"] == "delay"]
    assert len(delays) == came.sum()
    queue = [row for row in rows if row["kind"] == "queue" and row["line"].startswith("queue")]
    assert {row["link"] for row in queue} == {"wifi", "lte"}
    assert all(float(r["low"]) <= float(r["value"]) <= float(r["high"]) for r in queue)


def test_lines_are_flows_or_schemes() -> None:
    one = watch(moving())
    assert [list(run.labels) for run in one] == [["download", "other"]]
    several = watch(moving(), schemes=["sack", "freeze"])
    assert [list(run.labels) for run in several] == [["sack"], ["freeze"]]
    both = watch(moving(), flows=["download", "other"], schemes=["sack", "freeze"])
    assert [list(run.labels) for run in both] == [
        ["download, sack", "other, sack"],
        ["download, freeze", "other, freeze"],
    ]
    assert len({look for run in both for look in run.looks}) == 4
    window, panels = shown_panels(both, ["queue", "throughput", "cwnd", "pipe", "sequence", "rtt"])
    # A line for each scheme: the packets that wait on the way.
    queues = [one for one in panels[0].curves if one.draw == "queue"]
    assert [one.label for one in queues] == ["queue, sack", "queue, freeze"]
    figure = over_time_figure(both, panels, window)
    assert len(figure.axes) == 1 + len(panels)
    band = figure.axes[0]
    assert {text.get_text() for text in band.texts} >= {"no link", "lte"}
    with pytest.raises(midflight.MidflightError, match="10 lines cannot be told apart"):
        watch(moving(), schemes=[str(one["name"]) for one in midflight.schemes()][:10])


def test_the_largest_delays_of_an_interval_are_shown() -> None:
    outage = {"time_s": [0, 10, 13, 30], "rate_mbps": [20, 0, 20, 20]}
    scenario = Scenario(
        links={"cell": Link(delay="30 ms", queue="200 packets", trace=outage)},
        flows={"download": Flow(direction="down")},
        end="30 s",
    )
    (run,) = runs = watch(scenario)
    _, panels = shown_panels(runs, ["delay"], interval_s=1.0)
    (line,) = panels[0].curves
    at, sent = run.flows[0].times("rcv"), run.flows[0].sent_ns("rcv")
    delay = (at - sent) / 1e6
    assert delay.max() > 3000
    assert line.most is not None
    assert np.nanmax(line.most) == pytest.approx(delay.max())
    steps = [*zip(line.time_s, line.most, strict=True)]
    for (begins, most), (ends, _) in itertools.pairwise(steps):
        mine = delay[(at / 1e9 >= begins) & (at / 1e9 < ends)]
        if begins < ends:
            assert np.isnan(most) if len(mine) == 0 else most == pytest.approx(mine.max())
    # Nothing arrives in the outage: the line ends with what was under way, and begins after it.
    ended = line.time_s[np.isnan(line.value)]
    assert 10.0 < ended[0] < 10.2
    assert not np.isnan(line.value[line.time_s >= 13.0][0])
    assert not ((line.time_s > ended[0]) & (line.time_s < 13)).any()
    most = max(float(row[-1] or 0) for row in panel_rows(panels))
    assert most == pytest.approx(delay.max())


def test_delays_as_a_cdf(tmp_path: Path) -> None:
    out, table = tmp_path / "a.svg", tmp_path / "a.csv"
    words = ["plot", "bufferbloat", "--kind", "delay-cdf", "--from", "2s", "--until", "8s"]
    schemes = ["--scheme", "sack", "--scheme", "bbr-linux"]
    assert main([*words, *schemes, "--out", str(out), "--csv", str(table)]) == 0
    assert out.stat().st_size < 1_000_000
    rows = rows_of(table)
    for scheme in ("sack", "bbr-linux"):
        plan = Scenario.read("bufferbloat", sets={"flows.download.scheme": scheme}).plan()
        trace = plan.setup(0).trace(only=["rcv"])
        at, sent = trace.numpy("time_ns"), trace.numpy("sent_ns")
        inside = (at >= 2_000_000_000) & (at <= 8_000_000_000)
        delay = np.sort((at - sent)[inside] / 1e9)
        mine = [row for row in rows if row["line"] == scheme]
        scale = 1.0 if mine[0]["unit"] == "s" else 1e3
        assert [float(row["value"]) for row in mine] == pytest.approx(scale * delay)
        assert {row["segments"] for row in mine} == {str(len(delay))}
        assert float(mine[-1]["share"]) == 1.0
    plot_delay_cdf("bufferbloat", tmp_path / "b.svg", schemes=["sack"], from_s=2.0, until_s=8.0)


def test_uploads_show_their_own_links() -> None:
    scenario = Scenario(
        links={
            "cell": Link(
                rate="10 Mbit/s", delay="20 ms", up=LinkDirection(rate="2 Mbit/s", delay="20 ms")
            )
        },
        flows={"up": Flow(size="500 kB", direction="up")},
        end="20 s",
    )
    (run,) = watch(scenario)
    _, (rate, queue) = shown_panels([run], ["throughput", "queue"])
    (of_link,) = (one for one in rate.curves if one.draw == "area")
    assert set(of_link.value) == {2.0}
    assert queue.curves[0].value.max() > 5


def test_a_flow_that_gives_no_window_is_no_error() -> None:
    class Silent:
        """A run with senders that report nothing, like another stack."""

        def __init__(self, setup: Setup) -> None:
            self.setup = setup

        def __getattr__(self, name: str) -> Any:
            return getattr(self.setup, name)

        def trace(self, *, flow: str | None = None, only: Sequence[str] = ()) -> Any:
            told = ["send", "rcv", "drop", "break", "make"]
            return self.setup.trace(flow=flow, only=[one for one in told if one in (only or told)])

        def samples(self) -> Any:
            links, senders = self.setup.samples()
            return links, _without_rows(senders)

    class Source:
        schemes = ("other",)
        headings = ("", "", None)

        def but(self, _sets: Any) -> Source:
            return self

        def setup(self, _run: int = 0) -> Any:
            return Silent(moving().plan().setup(0))

    runs = watch(Source(), flows=["download"])
    _, panels = shown_panels(runs, ["throughput", "queue", "delay"])
    assert all(len(one.time_s) for panel in panels for one in panel.curves)
    for kind in ("cwnd", "pipe", "rtt"):
        with pytest.raises(midflight.MidflightError, match=f"nothing to draw of {kind}"):
            shown_panels(runs, [kind])


def _without_rows(table: Any) -> Any:
    class Empty:
        column_names = table.column_names

        def numpy(self, name: str) -> Any:
            return table.numpy(name)[:0]

    return Empty()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["--kind", "queu"],
            'not a kind of figure (did you mean "queue"?); midflight plot --help has all',
        ),
        (["--kind", "thruput"], '(did you mean "throughput"?)'),
        (["--kind", "throughput,box"], "and --kind box is for a folder of results"),
        (["--kind", "queue,both"], "--kind both is a figure of its own"),
        (["--kind", "cdf", "--value", "delay"], "of one run --kind delay-cdf is the CDF of delays"),
        (["--kind", "delay-cdf,rtt"], "--kind delay-cdf is a figure of its own"),
        (["--kind", "delay-cdf", "--from", "29.9999s"], "nothing to draw of delay-cdf"),
        (["--kind", "queue", "--segments", "1:9"], "--segments is for the kinds"),
        (["--interval", "1s"], "--interval is for panels over time"),
        (["--kind", "queue", "--interval", "0s"], "--interval 0 s is not accepted"),
        (["--flow", "film", "--flow", "page"], "of one flow, not of 2 (film, page)"),
        (["--kind", "rtt", "--flow", "films"], 'no flow "films" (did you mean "film"?)'),
        (["--style", "glossy"], '--style: "glossy" is not one of plain, paper'),
        (["--font", "comic"], '--font: "comic" is not one of sans, serif, latex'),
        (["--value", "duration_ns"], '"household" is a scenario, and --value is for a folder'),
        (["--kind", "rtt", "--from", "29.999s", "--until", "29.9991s"], "nothing to draw of rtt"),
    ],
)
def test_mistakes_are_one_sentence(
    args: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.png"
    assert main(["plot", "household", *args, "--out", str(out)]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert error.count("\n") == 0
    assert not out.exists()


def test_the_pipe_is_small_after_a_timeout_and_flight_is_large() -> None:
    (plain,) = histories("bufferbloat")
    # After the timeout all is lost and little is in the network.
    pipe = plain.pipe
    assert pipe.value.max() > 1000
    assert pipe.at(39 * NS) <= plain.steps("cwnd").at(39 * NS) + 1


@pytest.mark.parametrize(
    "words",
    [
        ["run", "wifi-to-lte"],
        ["handoff", "--old", "6400kbit/s,9ms", "--new", "200kbit/s,300ms", "--at", "2s"],
        ["startup", "--link", "50Mbit/s,15ms"],
        ["roam", "--end", "9s"],
        ["flow", "--radio", "5Mbit/s,30ms", "--end", "9s"],
    ],
)
def test_every_question_has_samples_and_panels(words: list[str], tmp_path: Path) -> None:
    scheme = [] if words[0] == "run" else ["--scheme", "sack"]
    assert main([*words, *scheme, "--samples", str(tmp_path / "out")]) == 0
    links = rows_of(tmp_path / "out" / "links.csv")
    senders = rows_of(tmp_path / "out" / "senders.csv")
    assert len(links) > 500
    assert {"time_ns", "link", "packets", "most", "rate_bps", "up"} <= links[0].keys()
    assert max(float(row["pipe"]) for row in senders) > 5
    source = words[1:] if words[0] == "run" else [*words, *scheme]
    out, table = tmp_path / "a.png", tmp_path / "a.csv"
    plot = ["plot", "--kind", "throughput,queue,delay", "--out", str(out), "--csv", str(table)]
    assert main([*plot, *source]) == 0
    rows = rows_of(table)
    # The path has a rate, and its link a queue.
    rates = {float(row["value"]) for row in rows if row["line"] == "rate of the link"}
    assert max(rates) > 0.1
    assert max(float(row["high"]) for row in rows if row["kind"] == "queue" and row["high"]) > 1


def test_kinds_in_python(tmp_path: Path) -> None:
    """A text is one kind; no kind is a mistake, as is one that does not exist."""
    out, table = tmp_path / "a.svg", tmp_path / "a.csv"
    midflight.plot.plot_over_time("wifi-to-lte", out, "cwnd", csv=table)
    assert {row["kind"] for row in rows_of(table)} == {"cwnd"}
    with pytest.raises(midflight.MidflightError, match="no kind of panel is given; expected one"):
        midflight.plot.plot_over_time("wifi-to-lte", out, [])
    with pytest.raises(midflight.MidflightError, match='did you mean "queue"') as caught:
        midflight.plot.plot_over_time("wifi-to-lte", out, ["cwnd", "queu"])
    assert caught.value.name == "kinds"


def test_nice_numbers() -> None:
    assert [nice(one) for one in (0.011, 0.02, 0.021, 0.9, 1.0, 3.3, 51)] == [
        0.02, 0.02, 0.05, 1.0, 1.0, 5.0, 100.0,
    ]  # fmt: skip


def test_python_draws_what_the_command_does(tmp_path: Path) -> None:
    words = ["plot", "wifi-to-lte", "--kind", "throughput,cwnd", "--scheme", "sack"]
    assert main([*words, "--scheme", "freeze", "--out", str(tmp_path / "a.svg")]) == 0
    kinds = ["throughput", "cwnd"]
    schemes = ["sack", "freeze"]
    plot_over_time("wifi-to-lte", tmp_path / "b.svg", kinds, schemes=schemes)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_rates_of_a_sender_that_paces() -> None:
    # BBR fills the link: it paces at the link's rate, and measures it, each without headers.
    sets = {"profile": "linux", "set.congestion": "bbr-linux", "flows.download.size": "6 MB"}
    scenario = one_link().but(sets)
    (rates,) = shown_panels(watch(scenario), ["rates"], 2.0)[1]
    paced, delivered = rates.curves
    assert (delivered.quantity, delivered.draw) == ("sample of the delivery rate", "dots")
    assert (paced.quantity, paced.draw) == ("pacing rate", "steps")
    data = 10.0 * 1448 / 1500
    assert np.median(delivered.value) == pytest.approx(data, rel=0.01)
    assert delivered.value.max() <= data * 1.001
    assert paced.value.max() == pytest.approx(1.25 * data, rel=0.02)
    assert paced.value.min() == pytest.approx(0.75 * data, rel=0.02)
    with pytest.raises(midflight.MidflightError, match="of rates: sack: no pacing rate"):
        shown_panels(watch(scenario.but({"set.congestion": "cubic-linux"})), ["rates"])


def test_many_pacing_rates_are_medians_over_time() -> None:
    # In an outage of 3 s the rate does not change, but holds.
    rates = {"time_s": [0, 20, 23, 40], "rate_mbps": [40, 0, 40, 40]}
    scenario = Scenario(
        links={"cell": Link(delay="20 ms", trace={"columns": rates})},
        flows={"a": Flow(scheme="bbr-linux")},
        end="40 s",
    )
    (panel,) = shown_panels(watch(scenario), ["rates"], 10.0, 35.0, 1.0)[1]
    (paced,) = (one for one in panel.curves if one.quantity == "pacing rate")
    assert paced.draw == "steps"
    assert not np.isnan(paced.value[inside(paced.time_s, 20.5, 22.5)]).any()


def inside(time: Any, start: float, end: float) -> Any:
    return (time >= start) & (time <= end)


def test_a_legend_explains_each_quantity_of_several_senders() -> None:
    runs = watch("bufferbloat", schemes=["bbr-linux", "cubic"])
    window, panels = shown_panels(runs, ["rates", "queue"], until_s=8.0)
    figure = over_time_figure(runs, panels, window)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    rates_of = ["pacing rate", "sample of the delivery rate"]
    marks = ["lost: queue full"]
    assert words == ["bbr-linux", "cubic", *rates_of, *marks]
    # Medians of samples have another colour than the line, and lie on it.
    rates = figure.axes[1]
    line, dots = (
        next(one for one in rates.lines if len(one.get_xdata()) and one.get_marker() == marker)
        for marker in (SERIES[runs[0].looks[0]].marker, ".")
    )
    assert dots.get_markerfacecolor() != line.get_color()
    assert dots.get_zorder() > line.get_zorder()
    # A sender without such values is not left out in silence.
    assert rates.get_title(loc="right") == (
        "cubic: no pacing rate and no samples of the delivery rate (BBR has both)\nmedians of 0.2 s"
    )
    assert {row[2] for row in panel_rows(panels[:1])} == {
        "pacing rate",
        "sample of the delivery rate",
    }


def test_a_panel_without_values_becomes_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.svg"
    words = ["plot", "wifi-to-lte", "--kind", "throughput,rates,cwnd", "--out", str(out)]
    assert main(words) == 0
    why = "rates: sack (CUBIC): no pacing rate and no samples of the delivery rate (BBR has both)"
    assert f"note: {why}\n" in capsys.readouterr().err
    # Above another panel it would look like a part of that.
    assert f"not drawn: {why}" in out.read_text()
    # What there is at other times has another reason.
    with pytest.raises(midflight.MidflightError, match=re.escape("from 1 s to 1.0001 s")):
        shown_panels(watch(moving()), ["rtt"], 1.0, 1.0001)


def test_lines_end_where_nothing_arrives() -> None:
    """The maxima too, which have no part of the gap."""
    runs = watch("tunnel")
    ((panel,),) = (shown_panels(runs, ["rtt"])[1],)
    (line,) = panel.curves
    assert line.most is not None
    missing = np.flatnonzero(np.isnan(line.most))
    # From 2 s to 6 s there is no link.
    assert len(missing) == 1
    (ends,) = line.time_s[missing]
    assert 2.0 <= ends == line.time_s[missing[0] - 1] < 2.6
    assert line.time_s[missing[0] + 1] >= 6.0


def test_what_has_no_room_in_the_band_is_above_it() -> None:
    runs = watch("starlink-to-lte")
    for window, place in ((None, 1.0), ((49.0, 52.0), 0.44)):
        ends, panels = shown_panels(runs, ["throughput", "queue"], *(window or ()))
        figure = over_time_figure(runs, panels, ends)
        band = {one.get_text(): one for one in figure.axes[0].texts}
        assert [*band] == ["dish", "no link", "lte"] if window else ["dish", "lte", "no link"]
        assert getattr(band["no link"], "xy", band["no link"].get_position())[1] == place
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        # What the band tells is not named again: its links, and whose queue that of each is.
        assert not {"no link", "queue of dish", "queue of lte"} & {*names}
    # Bands of several runs have no room above.
    both = watch(
        {
            "a": "starlink-to-lte",
            "b": Scenario.read("starlink-to-lte", sets={"handoffs.0.at": "45 s"}),
        }
    )
    window, panels = shown_panels(both, ["throughput"])
    figure = over_time_figure(both, panels, window)
    assert "no link" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_queues_have_entries_for_what_neither_the_band_nor_the_axis_tells() -> None:
    def names(source: str, **how: Any) -> list[str]:
        figure = figure_of(plot_over_time, source, ["queue"], **how)
        return [
            one.get_text() for one in figure.legends[0].get_texts() if "queue" in one.get_text()
        ]

    assert names("train") == ["lost: queue full"]
    assert names("wifi-to-lte") == ["lost: queue full"]
    assert names("household") == ["queue, down", "queue, up", "lost: queue full"]
    assert "queue of cell" not in names("train", schemes=["sack", "enhanced"])


def test_queues_without_entries_have_no_dashes() -> None:
    figure = figure_of(plot_over_time, "wifi-to-lte", ["queue"])
    names = [one.get_text() for one in figure.legends[0].get_texts()]
    assert not [one for one in names if "queue of" in one]
    queues = [one for one in figure.axes[-1].lines if "queue of" in str(one.get_label())]
    assert [one.get_linestyle() for one in queues] == ["-", "-"]


def test_labels_of_axes_stay_within_their_panels() -> None:
    runs = watch("bufferbloat", schemes=["bbr-linux"])
    kinds = ["throughput", "rates", "queue", "delay", "rtt", "cwnd", "sequence"]
    window, panels = shown_panels(runs, kinds)
    for size in (None, "single", (7.16, 8.0)):
        figure = over_time_figure(runs, panels, window, size=size)
        figure.draw_without_rendering()
        boxes = [axes.yaxis.label.get_window_extent() for axes in figure.axes[1:]]
        for upper, lower in itertools.pairwise(boxes):
            assert upper.y0 > lower.y1


@pytest.mark.parametrize(
    ("flows", "size", "is_of_means"),
    [(2, None, False), (3, "double", False), (2, "single", True), (4, None, True)],
)
def test_few_windows_keep_their_teeth(flows: int, size: Any, is_of_means: bool) -> None:
    """Means of losses every second or so would hide them, where there is room for these."""
    scenario = Scenario(
        links={"cell": Link(rate="10 Mbit/s", delay="15 ms", queue="20 packets")},
        flows={f"f{one}": Flow(start=f"{3 * one} s") for one in range(flows)},
        end="60 s",
    )
    (panel,) = shown_panels(watch(scenario, kinds=["cwnd"]), ["cwnd"], size=size)[1]
    assert panel.detail.startswith("means of") == is_of_means


def test_what_goes_the_other_way_is_said() -> None:
    (run,) = watch("household")
    assert list(run.labels) == ["film, sack", "page, enhanced", "backup, sack (up)"]
    _, (rate, queue) = shown_panels([run], ["throughput", "queue"])
    assert rate.curves[0].label == "rate of the link, down"
    queues = {one.label for one in queue.curves if one.draw == "queue"}
    links = {f"queue of {link}, {way}" for link in ("wifi", "hsdpa") for way in ("down", "up")}
    assert queues == links
    # Links of the other way are told apart in the table, and by the band.
    assert {one.link for one in queue.curves} >= {"wifi", "wifi (up)"}
    figure = figure_of(plot_over_time, "household", ["queue"])
    drawn = [one for one in figure.axes[1].lines if str(one.get_label()) in links]
    assert [one.get_linestyle() for one in drawn] == ["-"] * 4
    dark, light = LINKS[0].colour, LINKS[4].colour
    assert [one.get_color() for one in drawn] == [dark, dark, light, light]
    assert {one.get_marker() for one in drawn} == {"None"}
    up = run.sampled(run.setup.access_links[0]["up"], "mean")
    (wifi,) = (one for one in queue.curves if one.label == "queue of wifi, up")
    assert float(up.max()) >= np.nanmax(wifi.value) > 0


def test_the_rate_of_a_link_is_that_of_the_way_of_the_flow_that_is_shown() -> None:
    """Also if the first flow of the scenario goes the other way."""
    link = Link(rate="20 Mbit/s", delay="10 ms", up={"rate": "4 Mbit/s"})
    flows = {"get": Flow(), "put": Flow(direction="up")}
    both = Scenario(links={"cell": link}, flows=flows, end="3 s")
    for shown, rate in (("get", 20), ("put", 4)):
        _, (panel,) = shown_panels(watch(both, flows=[shown]), ["throughput"])
        (area,) = (one for one in panel.curves if one.draw == "area")
        assert area.label == "rate of the link"
        assert {*area.value.tolist()} == {rate}


def test_the_window_has_the_name_of_its_line() -> None:
    runs = watch(one_link())
    window, panels = shown_panels(runs, ["throughput", "cwnd"])
    figure = over_time_figure(runs, panels, window)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["sack, done at 2.77 s", "rate of the link", "pipe", "ssthresh"]
    (rate,), (pipe,) = (axes.collections for axes in figure.axes)
    # One is a hatched area, the other a grey one.
    assert (rate.get_hatch(), pipe.get_hatch()) == (None, "//////")


def test_the_events_of_other_kinds_are_not_needed() -> None:
    """A figure of some kinds records only their events, and shows the same."""
    for name in ("starlink-to-lte", "video-tunnel", "call-handoff", "web-page"):
        whole = watch(name)
        names = [flow.flow for flow in whole[0].flows]
        for kind in OVER_TIME:
            (few,) = watch(name, kinds=[kind], flows=names)
            assert [one.end_ns for one in few.flows] == [one.end_ns for one in whole[0].flows]
            how: Any = {"window": (0.0, 8.0), "interval_s": 0.1, "may_lack": True}
            found = [panels_of(runs, [kind], **how) for runs in (whole, [few])]
            first, second = (list(panel_rows(panels)) for panels in found)
            assert first == second, (name, kind)


def test_progress_is_that_of_the_runs() -> None:
    seen: list[tuple[int, int]] = []
    watch(
        moving(),
        kinds=["throughput"],
        schemes=["sack", "freeze"],
        progress=lambda done, of: seen.append((done, of)),
    )
    # For each scheme its flow and the links.
    assert seen == [(0, 4), (1, 4), (2, 4), (2, 4), (3, 4), (4, 4)]


def test_the_axis_of_values_has_the_requested_scale(tmp_path: Path) -> None:
    runs = watch("wifi-to-3g", kinds=["throughput", "rtt"])
    window, panels = shown_panels(runs, ["throughput", "rtt"])
    for scale in ("linear", "log"):
        axes = over_time_figure(runs, panels, window, yscale=scale).axes[1:]
        assert [one.get_yscale() for one in axes] == [scale] * 2
    usual = over_time_figure(runs, panels, window).axes[1]
    # 6 of 150 Mbit/s for most of the time: the axis begins a decade below.
    assert usual.get_yscale() == "log"
    assert usual.get_ylim()[0] == pytest.approx(0.6, rel=0.1)
    words = ["plot", "wifi-to-3g", "--out", str(tmp_path / "x.png"), "--yscale"]
    assert main([*words, "log", "--kind", "sequence"]) == 2
    assert main([*words, "log", "--kind", "cwnd"]) == 0
    assert main([*words, "lin", "--kind", "rtt"]) == 2
    assert main([*words, "linear", "--kind", "throughput"]) == 0


def test_names_beside_segments_and_lines_need_no_legend() -> None:
    def named(**how: Any) -> tuple[set[str], list[str]]:
        figure = run_figure(histories("bufferbloat", schemes=["sack"]), **how)
        texts = {text.get_text() for axes in figure.axes for text in axes.texts}
        return texts, [text.get_text() for text in figure.legends[0].get_texts()]

    beside, legend = named()
    assert {"fast retransmit", "cwnd", "ssthresh", "RTO", "RTT", "to hsdpa"} <= beside
    assert beside.isdisjoint(legend)
    assert {"link in use", "no link", "RTT sample"}.isdisjoint(legend)
    assert "fast retransmit" not in named(kind="window")[0]
    assert "fast retransmit" not in named(until_s=0.1)[0]
    # Of several runs the last one has them.
    figure = run_figure(histories("bufferbloat", schemes=["sack", "freeze"]))
    ends = [{text.get_text() for text in axes.texts} for axes in figure.axes[2:]]
    assert [bool(one) for one in ends] == [False, True, False, True]
    words = {text.get_text() for text in figure.legends[0].get_texts()}
    assert words.isdisjoint({"cwnd", "ssthresh", "RTO", "RTT sample"})


def test_a_pipe_that_would_be_a_comb_is_a_mean_with_a_band() -> None:
    runs = watch("ferry", kinds=["pipe", "cwnd"])
    _, (pipe, cwnd) = shown_panels(runs, ["pipe", "cwnd"])
    assert pipe.detail.split("; ")[0] == "means of 1 s, band: smallest to largest"
    assert cwnd.detail.split("; ")[0] == "pipe: means of 1 s"
    (line,) = (one for one in pipe.curves if one.draw == "steps")
    (area,) = (one for one in cwnd.curves if one.draw == "area")
    assert line.low is not None
    assert line.high is not None
    assert area.low is None
    assert area.value.tolist() == line.value.tolist()
    # All steps are within the band.
    steps = runs[0].flows[0].pipe
    at = np.linspace(0.1, 89.9, 997)
    true = steps.value[np.searchsorted(steps.time_ns / 1e9, at, side="right") - 1]
    places = np.searchsorted(line.time_s, at, side="right") - 1
    assert (line.low[places] <= true).all()
    assert (true <= line.high[places]).all()
    late = at > 70
    assert np.ptp(line.value[places][late]) < 0.2 * np.ptp(true[late])
    # One that can be followed is exact.
    _, (exact,) = shown_panels(watch("bufferbloat", kinds=["pipe"]), ["pipe"])
    assert all(one.low is None for one in exact.curves)
    assert exact.detail == ""
