"""The texts of the starters agree with their runs: every number in them is measured or given.

Each line of `MEASURED` is made from what `midflight run` prints, and has to be in the starter's
text as it is. A number in no such line has to be in `GIVEN`: a parameter or a source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from statistics import median
from typing import Any

import pytest

from midflight import Scenario
from midflight.cli import main
from midflight.run_tables import RunSummary
from midflight.scenario import Outcome, starter_names
from midflight.sweep import Sweep

STARTER = "wifi-to-lte"
SCHEME = "flows.download.scheme"


@cache
def outcome(name: str, *sets: str) -> Outcome:
    pairs = (one.partition("=") for one in sets)
    return Scenario.read(name, sets={path: value for path, _, value in pairs}).run()


@cache
def summary(name: str, *sets: str) -> RunSummary:
    return RunSummary.of(outcome(name, *sets))


def number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


class Printed:
    """Runs of a starter: a column of the first flow in the table, or `after` the handoff."""

    def __init__(self, name: str, sets: tuple[str, ...], flow: str | None = None) -> None:
        self.name, self.sets = name, sets
        head, *lines = summary(name, *sets).flow_cells()
        line = next(one for one in lines if flow in (None, one[0]))
        self.values = {key: number(cell) for key, cell in zip(head, line, strict=True)}

    def __getattr__(self, key: str) -> Any:
        return self.values[key]

    def flow(self, name: str) -> Printed:
        return Printed(self.name, self.sets, name)

    def after(self, key: str, place: int = 0) -> Any:
        head, *lines = summary(self.name, *self.sets).phase_cells() or []
        return number(lines[place][head.index(key)])

    def workload(self, key: str) -> Any:
        (cells,) = summary(self.name, *self.sets).workload_cells().values()
        return number(cells[1][cells[0].index(key)])

    @property
    def median_s(self) -> float:
        return float(median(outcome(self.name, *self.sets).flows.column("duration_ns"))) / 1e9

    @property
    def timeouts_after_s(self) -> list[float]:
        """When the timer expired, in seconds after the first handoff."""
        setup = outcome(self.name, *self.sets).plan.setup(0)
        began = setup.path_changes[0]["at_ns"]
        return [(at - began) / 1e9 for at in setup.trace(only=["rto"]).column("time_ns")]


Run = Callable[..., Printed]


def less(share: float) -> str:
    return f"{100 * (1 - share):.0f} %"


WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight"]

MEASURED: dict[str, list[Callable[[Run, Callable[..., Printed]], str]]] = {
    "background": [
        lambda run, _: (
            f"30 MB take {run('links.lte.cross=none').seconds:.1f} s without it, "
            f"{run('links.lte.cross=cbr 20 Mbit/s').seconds:.1f} s with an even stream, and "
            f"{run().seconds:.1f} s with Pareto bursts of the same mean"
        ),
        lambda _, of: (
            f"ld, which attributes some losses to the radio, finishes after {of('ld').seconds:.1f} "
            "s at the cost of others"
        ),
        lambda run, of: f"it loses over {WORDS[int(of('ld').queue / run().queue)]} times as much",
    ],
    "bufferbloat": [
        lambda run, of: (
            f"plain TCP loses {run().queue:.0f} packets, and with RFC 9438's CUBIC, which has no "
            f"HyStart and a larger window, {of('cubic').queue:.0f} (cubic). A2 (`enhanced`) loses "
            f"{of('enhanced').queue:.0f}."
        ),
        lambda run, _: (
            f'profile="rfc", where plain TCP loses {round(run("profile=rfc").queue, -3):,.0f}'
        ),
    ],
    "busy-cell": [
        lambda run, _: (
            f"the newcomer gets {run().goodput:.1f} Mbit/s with plain TCP, "
            f"{run('flows.mine.scheme=enhanced').goodput:.1f} with A2 (`enhanced`), which sets the "
            f"window for an empty link, {run('flows.mine.scheme=rlci').goodput:.1f} with rlci and "
            f"{run('flows.mine.scheme=westwood').goodput:.1f} with westwood"
        ),
    ],
    "call-handoff": [
        lambda run, _: (
            f"In all {run().workload('late'):.0f} of {run().workload('frames'):.0f} are late."
        ),
        lambda run, _: (
            "trigger, which retransmits at the notice "
            f"({run('flows.call.scheme=trigger').workload('late'):.0f} late), and ehn, which "
            f"keeps the window ({run('flows.call.scheme=ehn').workload('late'):.0f});"
        ),
        lambda run, _: (
            "A3 in `enhanced` changes nothing"
            if run("flows.call.scheme=enhanced").workload("late") == run().workload("late")
            else "A3 in `enhanced` helps"
        ),
    ],
    "commute": [
        lambda run, _: f"out of the valley stalls plain TCP for {run().stall:.0f} s",
        lambda run, of: (
            f"lower, {of('enhanced').goodput:.0f} instead of {run().goodput:.0f} Mbit/s"
        ),
        lambda _, of: f"which requests a rate, gets {of('quick-start').goodput:.0f}.",
        lambda run, of: (
            f"westwood, which gets {'less' if of('westwood').goodput < run().goodput else 'more'}."
        ),
    ],
    "drive-test": [
        lambda run, _: f"Linux has {run().goodput:.1f} of 23.4 Mbit/s",
        lambda run, _: f"its longest stall is the outage, {run().stall:.0f} s",
        lambda run, _: (
            "the only timeout in it is spurious"
            if (run().timeouts, run().spurious) == (1, 1)
            else "the timeouts are not spurious"
        ),
        lambda run, _: (
            "which keeps it short, for "
            f"{less(run('links.lte.queue=codel').goodput / run().goodput)} of the goodput"
        ),
        lambda run, _: (
            "queued packets are lost and the stall lasts "
            f"{run('links.lte.trace.outage=drop').stall:.1f} s"
        ),
    ],
    "egprs-to-lte": [
        lambda run, of: (
            f"finishes {run().seconds - of('quick-start').seconds:.1f} s earlier, as does vho-qs"
        ),
        lambda _, of: (
            "as does vho-qs" if of("vho-qs").seconds == of("quick-start").seconds else "not vho-qs"
        ),
        lambda run, of: (
            "vho sets the threshold to the capacity of LTE and finishes "
            f"{run().seconds - of('vho').seconds:.1f} s earlier"
        ),
        *(
            lambda run, of, scheme=scheme: (
                f"freeze and tr-acks take {of(scheme).seconds - run().seconds:.0f} s longer"
            )
            for scheme in ("freeze", "tr-acks")
        ),
    ],
    "ferry": [
        lambda run, _: (
            f"the first new packet is acknowledged {run().after('first'):.1f} s after the break, "
            f"and the goodput is {run().goodput:.1f} Mbit/s"
        ),
        lambda _, of: f"at the notice of the new link ({of('enhanced').goodput:.1f})",
        lambda _, of: f"also requests a rate then ({of('vho-qs').goodput:.1f})",
        lambda _, of: (
            f"westwood ({of('westwood').goodput:.1f}) and reno-linux "
            f"({of('reno-linux').goodput:.1f})"
        ),
    ],
    "geo-to-lte": [
        lambda run, _: f"for 125 packets, which loses {run().queue:.0f}.",
        lambda run, of: (
            f"reduces the window and loses {WORDS[int(of('enhanced').queue)]}, but takes "
            f"{of('enhanced').seconds:.1f} s instead of {run().seconds:.1f}"
        ),
        lambda _, of: f"alone keeps the window and takes {of('reordering').seconds:.1f} s",
        lambda _, of: (
            f"westwood+vho-qs, which loses {WORDS[int(of('westwood+vho-qs').queue)]} packets and "
            f"takes {of('westwood+vho-qs').seconds:.1f} s"
        ),
    ],
    "household": [
        *(
            lambda run, _, scheme=scheme: (
                "it gets about "
                f"{run(f'flows.page.scheme={scheme}').flow('page').goodput:.0f} Mbit/s"
            )
            for scheme in ("sack", "enhanced")
        ),
        lambda run, _: (
            f"with A2 it loses {run().flow('page').queue:.0f} packets instead of "
            f"{run('flows.page.scheme=sack').flow('page').queue:.0f}"
        ),
        lambda run, _: (
            f"westwood gets {run('flows.page.scheme=westwood').flow('page').goodput:.0f}, at the "
            f"cost of the others, and loses "
            f"{run('flows.page.scheme=westwood').flow('page').queue:.0f}"
        ),
    ],
    "late-notice": [
        lambda run, of: (
            "with an immediate notice `enhanced` loses "
            f"{run(*late('0 s')).queue:.0f} packets, after 50 ms {run(*late('50 ms')).queue:.0f}, "
            f"after a second {run(*late('1 s')).queue:.0f}, and plain TCP loses "
            f"{of('sack').queue:.0f}."
        ),
        lambda _, of: f"plain TCP takes {of('sack').seconds:.1f} s",
        lambda run, _: (
            f"waits for a timeout and takes {run(*late('50 ms')).seconds:.1f} s"
            if run(*late("50 ms")).timeouts
            else "needs no timeout"
        ),
    ],
    "leo-handoffs": [
        lambda run, of: f"has {less(of('enhanced').goodput / run().goodput)} less goodput",
        lambda run, of: (
            f"plain TCP gets {run(BURSTS).goodput:.0f} Mbit/s, ld {of('ld', BURSTS).goodput:.0f}, "
            f"westwood {of('westwood', BURSTS).goodput:.0f}."
        ),
    ],
    "lossy-wifi": [
        lambda run, of: (
            f"30 MB take {of('ld').median_s:.1f} and {of('westwood').median_s:.1f} s instead of "
            f"{run().median_s:.1f} (medians of 10 runs). vho-qs takes {of('vho-qs').median_s:.1f} s"
        ),
    ],
    "lte-to-egprs": [
        lambda run, _: f"Plain TCP loses {run().after('queue'):.0f} of them.",
        lambda run, _: "Linux needs no timeout" if not run().timeouts else "Linux has timeouts",
        lambda run, of: (
            f"it loses {of('a2').after('queue'):.0f}, and its next 100 packets take "
            f"{of('a2').after('all'):.1f} s instead of {run().after('all'):.1f}"
        ),
        lambda _, of: f"westwood, whose 100 packets take {of('westwood').after('all'):.1f} s",
        lambda _, of: f"and A1 alone takes {of('a1', 'profile=rfc').after('all'):.0f} s",
    ],
    "lte-to-geo": [
        lambda run, _: f"Plain TCP has {WORDS[int(run().timeouts)]} timeouts",
        lambda run, of: (
            f"50 MB take {run().seconds:.1f} s, with Reno (reno-linux) "
            f"{'more' if of('reno-linux').seconds == '-' else 'less'} than the 60 s of the run"
        ),
        lambda run, of: (
            "A1 to A4 save half a second"
            if abs(run().seconds - of("a1+a2+a3+a4").seconds - 0.5) < 0.05
            else "A1 to A4 save another time"
        ),
        lambda _, of: f"requests a rate and finishes after {of('quick-start').seconds:.0f} s",
        lambda _, of: f"in vho-qs after {of('vho-qs').seconds:.0f} s",
        lambda _, of: f"ehn, which keeps the window, after {of('ehn').seconds:.0f}, and freeze",
        lambda _, of: f"for each timeout that has passed, after {of('freeze').seconds:.0f}.",
    ],
    "lte-to-wifi": [
        lambda run, _: f"fills the short queue, which loses {run().queue:.0f}.",
        lambda run, of: (
            f"reduces the window and loses {of('enhanced').queue:.0f}, but takes "
            f"{of('enhanced').seconds:.1f} s instead of {run().seconds:.1f}"
        ),
        lambda _, of: f"rlci, which restarts, takes {of('rlci').seconds:.1f} s",
        lambda run, _: (
            "where plain TCP has a timeout"
            if run("profile=rfc").timeouts == 1
            else "where plain TCP has no timeout"
        ),
    ],
    "lying-notice": [
        lambda run, _: f"three times too large, and {run().queue:.0f} packets are lost",
        lambda run, _: f"With the correct rate {run(says('2 Mbit/s')).queue:.0f} are lost",
        lambda run, of: (
            f"behaves like plain TCP, which loses {run(says('50 Mbit/s')).queue:.0f}."
            if run(says("50 Mbit/s")).queue == of("sack").queue
            else "does not behave like plain TCP"
        ),
        lambda run, of: "All take {:.1f} to {:.1f} s".format(
            *(
                bound(
                    one.seconds
                    for one in (
                        run(),
                        of("sack"),
                        *(run(says(rate)) for rate in ("2 Mbit/s", "500 kbit/s", "50 Mbit/s")),
                    )
                )
                for bound in (min, max)
            )
        ),
    ],
    "ping-pong": [
        lambda run, _: f"plain TCP takes {run().seconds:.1f} s for 30 MB",
        lambda _, of: f"every other second, and takes {of('enhanced').seconds:.1f} s",
        lambda _, of: f"waits for overtaken segments and takes {of('vho').seconds:.1f} s",
        lambda _, of: f"before each handoff, takes {of('freeze').seconds:.1f} s",
        lambda _, of: (
            f"takes {of('quick-start').seconds:.1f} s and loses {of('quick-start').queue:.0f} "
            "packets"
        ),
        lambda run, _: (
            f"with which plain TCP takes {run('handoffs.0.gap=50 ms').seconds:.1f} s too"
        ),
    ],
    "rate-change": [
        lambda run, of: (
            f"Plain TCP loses {run().queue:.0f} packets, and A2 (`enhanced`), which reduces the "
            f"window at the notice, {of('enhanced').queue:.0f}."
        ),
        lambda run, of: (
            f"`enhanced` gets {of('enhanced').goodput / run().goodput - 1:.0%} more, and rlci, "
            "which restarts in slow start, "
            f"{of('rlci').goodput / run().goodput - 1:.0%} more"
        ).replace("%", " %"),
        lambda run, of: (
            f"where plain TCP gets {'more' if run(SLOWER).goodput > slower(of) else 'less'} than "
            "`enhanced`"
        ),
    ],
    "starlink-to-lte": [
        lambda run, _: (
            f"Linux has {run().goodput:.0f} Mbit/s and stalls for at most {run().stall:.1f} s"
        ),
        lambda run, _: (
            "nine of ten of its losses"
            if round(10 * run().down / (run().down + run().queue)) == 9
            else "some of its losses"
        ),
        lambda run, _: f"not lost ({run('links.dish.trace.outage=hold').goodput:.0f})",
        lambda _, of: (
            f"bbr-linux ({of('bbr-linux').goodput:.0f}), reno-linux "
            f"({of('reno-linux').goodput:.0f}) and westwood ({of('westwood').goodput:.0f})"
        ),
    ],
    "train": [
        lambda run, _: f"The stall is {run().stall:.1f} s",
        lambda run, _: (
            f"has expired {WORDS[int(run().timeouts)]} times, each time spuriously"
            if run().timeouts == run().spurious
            else "has expired, not always spuriously"
        ),
        lambda run, _: f"the stall lasts {run('links.cell.trace.outage=drop').stall:.0f} s",
        lambda run, _: (
            f"({run('links.cell.queue=20 packets').goodput:.1f} Mbit/s instead of "
            f"{run().goodput:.1f})"
        ),
        lambda _, of: f"as a round trip, and stalls for {of('bbr-linux').stall:.0f} s",
    ],
    "tunnel": [
        lambda run, _: (
            "Linux's timer expires {:.1f}, {:.1f}, {:.1f} and {:.1f} s after the break".format(
                *run().timeouts_after_s
            )
        ),
        lambda run, _: f"it lasts {run('handoffs.0.gap=3 s').stall:.1f} s too",
        lambda run, _: f"lasts {run().stall:.1f} s too",
        lambda _, of: f"and needs {'no timeout' if of('freeze').timeouts == 0 else 'timeouts'}",
        lambda run, _: (
            "retransmits into a closed window, and takes "
            f"{run('flows.download.scheme=freeze', 'set.freeze_warning=50 ms').seconds:.1f} s"
        ),
        lambda run, _: "whose timer expires after {:.0f}, {:.0f} and {:.0f} s".format(
            *run("profile=rfc").timeouts_after_s
        ),
    ],
    "upload": [
        lambda run, _: f"TCP loses {run().queue:.0f} packets",
        lambda run, _: (
            f"loses {run(A2_UP).queue:.0f}, but takes {run(A2_UP).seconds:.1f} s, "
            f"{'no less' if run(A2_UP).seconds >= run().seconds else 'less'} than plain TCP"
        ),
        lambda run, _: (
            "with westwood, which is slower"
            if run("flows.photos.scheme=westwood").seconds > run().seconds
            else "with westwood, which is faster"
        ),
        lambda run, _: f"plain TCP has {WORDS[int(run('profile=rfc').timeouts)]} timeouts",
    ],
    "video-tunnel": [
        lambda run, _: f"playback stalls for {run().workload('stalled'):.1f} s",
        lambda run, _: (
            "sends at the notice and avoids the stall"
            if run("flows.video.scheme=enhanced").workload("stalls") == 0
            else "does not avoid the stall"
        ),
        lambda run, _: (
            'as does handoffs.0.gap="10 s"'
            if run("handoffs.0.gap=10 s").workload("stalls") == 0
            else "not with a shorter gap"
        ),
        lambda run, _: (
            "with which the stall lasts "
            f"{run('flows.video.set.video_buffer=8 s').workload('stalled'):.0f} s"
        ),
    ],
    "walk-out-of-wifi": [
        lambda run, _: f"Linux reaches {run().goodput:.0f} Mbit/s",
        lambda run, _: f"The radio loses {run().radio:.0f} packets",
        lambda run, _: f'handoffs.0.at="10 s": {run("handoffs.0.at=10 s").goodput:.0f} Mbit/s',
        lambda _, of: (
            f"bbr-linux ({of('bbr-linux').goodput:.0f} Mbit/s) and westwood "
            f"({of('westwood').goodput:.0f} Mbit/s)"
        ),
        lambda run, of: f"stalls for {of('rlci').stall:.2f} s instead of {run().stall:.2f} s",
    ],
    "wifi-to-3g": [
        lambda run, of: (
            f"{of('enhanced').queue:.0f} packets are lost instead of {run().queue:.0f}, and the 20 "
            f"MB take {100 * (of('enhanced').seconds / run().seconds - 1):.0f} % longer"
        ),
        *(
            lambda run, of, scheme=scheme: (
                "westwood, rlci and freeze take longer too"
                if of(scheme).seconds > run().seconds
                else f"{scheme} takes less"
            )
            for scheme in ("westwood", "rlci", "freeze")
        ),
    ],
    "wifi-to-lte": [
        lambda run, _: f"with a gap of 2 s the stall lasts {run().stall:.1f} s",
        lambda run, of: (
            "sends at the notice and finishes "
            f"{run().seconds - of('enhanced').seconds:.1f} s earlier"
        ),
        lambda run, of: (
            "requests a rate from the routers, "
            f"{run().seconds - of('vho-qs').seconds:.1f} s earlier"
        ),
        lambda run, of: f"where A3 saves {run(SHORT).seconds - of('a3', SHORT).seconds:.1f} s",
    ],
}

BURSTS = "links.dish.loss=burst 0.1% 4"
SLOWER = "changes.0.rate=10 Mbit/s"
SHORT = "handoffs.0.gap=500 ms"
A2_UP = "flows.photos.scheme=enhanced"


def slower(of: Callable[..., Printed]) -> float:
    goodput: float = of("enhanced", SLOWER).goodput
    return goodput


def late(delay: str) -> tuple[str, str]:
    return f"handoffs.0.notice.delay={delay}", "handoffs.0.notice.lost=0%"


def says(rate: str) -> str:
    return f"handoffs.0.notice.says_rate={rate}"


#: Parameters, and numbers of sources, as the texts have them.
GIVEN: dict[str, list[str]] = {
    "background": ["20 of the new link's 50 Mbit/s", "(30 runs)"],
    "bufferbloat": ["a queue of 1 s", "holds 500.", "1 s is our choice"],
    "busy-cell": ["150 Mbit/s"],
    "call-handoff": [
        "1200 bytes every 20 ms",
        "150 ms after it was made",
        "after 5 s",
    ],
    "commute": ["The gap of 4 s", "4 s: a field trial measured 4.5 s", "500 ms:"],
    "drive-test": ["every 5 s", "3 Mbit/s", "for 2 s the rate is 0"],
    "egprs-to-lte": ["The gap of 1 s"],
    "ferry": ["10th second", "from 40 to 1 Mbit/s", "5 % of all", "after 40 s", "3 s later"],
    "geo-to-lte": ["falls from 670 ms to 50 ms"],
    "household": ["the 30 s"],
    "late-notice": ["20 runs", "after 50 ms"],
    "leo-handoffs": ["15 s", "140 ms", "160 ms of queue", "10 to 30 ms"],
    "lossy-wifi": ["For 20 s", "0.1 % and 10 %"],
    "lte-to-egprs": ["a factor of 250", "a factor of 20"],
    "lte-to-geo": ["620 ms longer", "2700 packets"],
    "lte-to-wifi": ["13 ms less delay"],
    "lying-notice": ["50 Mbit/s", "500 kbit/s"],
    "operators": ["300 new packets", "800 cells"],
    "rate-change": ["the 40 s"],
    "starlink-to-lte": [
        "12, 27, 42 and 57 s",
        "60 ms",
        "After 50 s",
        "500 ms",
        "StarQUIC 2024",
    ],
    "train": ["within 3 s", "for 8 s", "within 1 s", "4 s that loses", "measures the 8 s"],
    "tunnel": ["1 s and 500 ms are", "4 s is our choice"],
    "upload": ["384 kbit/s", "150 Mbit/s"],
    "video-tunnel": ["4 s, at 0.75 to 6 Mbit/s", "24 s", "30 s on", "12 s"],
    "walk-out-of-wifi": [
        "the 5th second",
        "from 54 to 2 Mbit/s",
        "5 %, then to 30 %",
        "17 s",
        "200 ms",
    ],
    "web-page": ["30 kB", "20 objects of 50 kB", "0.3 s", "0.5 s"],
    "wifi-to-3g": ["150 Mbit/s", "holds 50 and its queue 50"],
    "wifi-to-lte": ["for 2 s", "gap of 2 s", "1 s, Lim", "3 s."],
}

#: Texts with numbers that are no measurements.
NAMES = re.compile(
    r'(?:[\w.*]+=)?(?:"[^"]*"|\{[^}]*\})|[\w.*]+=[\w-]+|handoffs\.0\.\w+'  # settings
    r"|\b(?:RFC \d+|[aA][1-5]|HTTP/1\.1|IMC 2012|[35]G|wifi-to-3g|links\.3g)\b"
    r"|(?:section|table) \d+(?:\.\d+)?"
    r"|draft-[\w-]+|arXiv [\d.]+|github\.com/\S+"
    r"|\((?:19|20)\d\d(?:, section \d+)?\)|(?:Jang|Companion) 20\d\d"
)


def described(name: str) -> str:
    return " ".join((Scenario.read(name).description or "").split())


@pytest.mark.parametrize("name", starter_names())
def test_numbers_in_the_text_of_a_starter_are_measured(name: str) -> None:
    def run(*sets: str) -> Printed:
        return Printed(name, sets)

    def of(scheme: str, *sets: str) -> Printed:
        return run(f"{SCHEME}={scheme}", *sets)

    text = described(name)
    rest = text
    for make in MEASURED.get(name, ()):
        phrase = make(run, of)
        assert phrase in text, f"{name} measures: {phrase}"
        rest = rest.replace(phrase, "")
    for phrase in GIVEN.get(name, ()):
        assert phrase in text, f"{name} no longer says: {phrase}"
        rest = rest.replace(phrase, "")
    rest = NAMES.sub("", rest)
    assert not re.search(r"\d", rest), f"{name}: numbers that nothing holds: {rest}"


def test_a_title_names_the_values_that_are_not_the_scenarios() -> None:
    starter = Scenario.read("wifi-to-lte")
    assert starter.title
    assert starter.description
    other = Scenario.read("wifi-to-lte", sets={"handoffs.0.gap": "500 ms", "seed": 2})
    assert other.title == f"{starter.title}, but with handoffs.0.gap=500 ms"
    assert other.description == f"About the scenario with its own values: {described(STARTER)}"
    assert starter.but({"handoffs.0.gap": "500 ms", "seed": 2}) == other
    assert Scenario.read(STARTER, sets={SCHEME: "a3"}).title == starter.title
    # What is printed in any case is not named, and own words stay.
    assert Scenario.read(STARTER, sets={"profile": "rfc"}).title == starter.title
    assert Scenario.read(STARTER, sets={"title": "Mine", "notices": False}).title == "Mine"
    swept = json.loads(Sweep.of(starter, {"handoffs.0.gap": "1 s, 2 s"}).scenario)
    assert swept["title"] == f"{starter.title}, over handoffs.0.gap"
    # The axes that a file has are part of it.
    own = json.loads(Sweep.of(Scenario.read("operators")).scenario)
    assert own["title"] == Scenario.read("operators").title


def test_the_command_line_prints_that_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", STARTER, "--set", "handoffs.0.gap=500 ms", "--seed", "2"]) == 0
    assert ", but with handoffs.0.gap=500 ms\n" in capsys.readouterr().out
