"""Further results of a complete reproduction: other interpretations, the path, fairness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from midflight.claims import Verdict, percent
from midflight.plot import write_csv
from midflight.studies.daniel_abest import fairness, rapid, readings
from midflight.studies.daniel_abest import scenarios as sc
from midflight.studies.daniel_abest.measures import ideal_s, inside_axis, median_s, trains
from midflight.studies.runs import Job, Runs, Sweep

#: The candidates for the fixed path, with the delay of each of its two links.
PATHS = {f"{2 * fixed_ms:g} ms": fixed_ms for fixed_ms in sc.PATHS_MS}


def figure_6(fixed_ms: float) -> tuple[Sweep, ...]:
    """The runs of figure 6 over a fixed path."""
    return tuple(sc.over_path(job, fixed_ms) for job in sc.EXPERIMENTS["6"].sweeps())


def chosen_path(runs: Runs) -> str:
    """The fixed path that README.md's rule selects."""
    (low, high), step = sc.AXIS_S, sc.AXIS_STEP_S

    def merit(name: str) -> tuple[int, int]:
        inside, _, least, most = inside_axis(runs, figure_6(PATHS[name]))
        ends = (low <= least < low + step) + (high - step < most <= high)
        return inside, ends

    return max(PATHS, key=merit)  # of equals the first, which is the shortest


def _from_near(instant_s: float) -> float:
    return abs(instant_s - NEAR_S)


#: A handoff of one flow in congestion avoidance in detail: the instant next to 5 s.
NEAR_S = 5.0
EXAMPLES = {
    figure: e.trace(sc.ABEST, min((t / 1e9 for t in sc.instants_ns(e.old)), key=_from_near), 1, 2.0)
    for figure, e in sc.EXPERIMENTS.items()
    if e.kind == "mbb"
}

EVERYTHING: tuple[Job, ...] = (
    *EXAMPLES.values(),
    *readings.EVERYTHING,
    *rapid.EVERYTHING,
    *(job for fixed_ms in PATHS.values() for job in figure_6(fixed_ms)),
)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _readings(runs: Runs, found: list[tuple[object, ...]]) -> tuple[str, str, str]:
    """The interpretations over the claims about start-ups, and over those about handoffs. Then the
    claims that are reproduced under every interpretation, and those under none.
    """
    starts, handoffs = [], []
    whole: dict[str, int] = dict.fromkeys((*readings.STARTS, *readings.HANDOFFS), 0)
    for reading in readings.READINGS:
        judged = reading.judge(runs)
        starts.append([reading.name, *(readings.cell(judged[id]) for id in readings.STARTS)])
        handoffs.append([reading.name, *(readings.cell(judged[id]) for id in readings.HANDOFFS)])
        for id, finding in judged.items():
            whole[id] += finding.verdict is Verdict.REPRODUCED
            found += [(reading.name, id, c.what, c.value, c.passed) for c in finding.checks]

    def header(ids: Sequence[str]) -> list[str]:
        return ["reading", *(id.removeprefix("A11-") for id in ids)]

    def listed(times: int) -> str:
        return ", ".join(id.removeprefix("A11-") for id in whole if whole[id] == times) or "none"

    return (
        _table(header(readings.STARTS), starts),
        _table(header(readings.HANDOFFS), handoffs),
        f"All parts pass under every interpretation: {listed(len(readings.READINGS))}. Under none: "
        f"{listed(0)}.",
    )


def _path(runs: Runs) -> str:
    rows = []
    for name, fixed_ms in PATHS.items():
        inside, of, least, most = inside_axis(runs, figure_6(fixed_ms))
        rows.append([name, f"{inside} of {of}", f"{least:.2f} s", f"{most:.2f} s"])
    return _table(["fixed path", "quartiles within 0.2 to 1.8 s", "least", "greatest"], rows)


def _measuring(runs: Runs) -> str:
    rows = []
    for figure, job in EXAMPLES.items():
        assert job.at_s is not None
        e, log = sc.EXPERIMENTS[figure], runs.trace(job)
        found = [train for train in trains(log) if train.sent_s[0] >= job.at_s]
        rows.append(
            [
                figure,
                ", ".join(str(len(train.sent_s)) for train in found),
                ", ".join(f"{1e3 * (train.sent_s[0] - job.at_s):.0f}" for train in found),
                ", ".join(f"{1e3 * (train.reported_s - job.at_s):.0f}" for train in found),
                f"{log.last('ssthresh', found[-1].reported_s + 1e-6):.0f}",
                f"{1e3 * median_s(runs, e.sweep(sc.VHO)):.0f}",
                f"{1e3 * ideal_s(e.sweep(sc.VHO)):.0f}",
            ]
        )
    header = [
        "figure",
        "packets of the trains",
        "sent from (ms)",
        "reported at (ms)",
        "threshold",
        "Vho's median (ms)",
        "ideal (ms)",
    ]
    return _table(header, rows)


def _fairness(runs: Runs) -> tuple[str, list[tuple[object, ...]]]:
    rows = []
    found: list[tuple[object, ...]] = []
    for e in fairness.ENCOUNTERS:
        for scheme in sc.STARTING:
            newcomer, resident = e.lost(runs, scheme)
            share, index = e.share(runs, scheme), e.index(runs, scheme)
            found.append((e.name, scheme.name, newcomer, resident, *share, index))
            rows.append(
                [
                    e.name,
                    scheme.name,
                    f"{newcomer:.1f}",
                    f"{resident:.1f}",
                    percent(share.mean, 0),
                    f"{index:.3f}",
                ]
            )
    header = ["", "newcomer", "it loses", "resident loses", "resident's share", "Jain's index"]
    return _table(header, rows), found


def appendix(runs: Runs, folder: Path) -> tuple[str, list[Path]]:
    """The interpretations, the choice of the path and the fairness: Markdown for the report,
    files."""
    judged: list[tuple[object, ...]] = []
    starts, handoffs, whole = _readings(runs, judged)
    shares, beside = _fairness(runs)
    rapid_starts, rapid_handoffs = (_table(head, rows) for head, *rows in rapid.tables(runs))
    files = [
        write_csv(
            folder / "readings.csv", ("reading", "claim", "part", "measured", "passed"), judged
        ),
        write_csv(
            folder / "fairness.csv",
            (
                "encounter",
                "newcomer",
                "newcomer_lost",
                "resident_lost",
                "resident_share",
                "ci95_half_width",
                "jain",
            ),
            beside,
        ),
    ]
    text = f"""
## Choice of the fixed path

The quartiles of figure 6, four schemes with one, two and four flows, compared with the axis that
the paper prints with it.

{_path(runs)}
## Claims under other interpretations

What the paper does not state: how many parts of each rule pass under other interpretations; bold
where all do. "As taken" means the claims above. All values are in `readings.csv`.

Start-up:

{starts}
Handoffs and outages:

{handoffs}
{whole}

Several flows measure at once. A chirp that meets the packets of another flow's chirp early has its
first rise early; with the rate of the first rise, this is the estimate: a flow whose slow first
packets meet such a chirp reports a few hundred kbit/s of 50 Mbit/s, and gets a threshold of two.
pathChirp's complete rule, which the study uses, ignores a temporary rise; in the average weighted
by gaps the slow packets have the largest weight even on an idle link. "As first read" is the
interpretation of the first version of this study.

## Time to measure after a handoff

AbestVho with one flow, the handoff instant next to {NEAR_S:g} s of each make-before-break figure.
Times from the handoff. A train waits until the window has room for it; sending after its last
packet is as usual. Ideal: all packets at the new link's rate, and one round trip.

{_measuring(runs)}
## Beside a plain flow

Means over {len(fairness.LEADS_S)} instants at which the newcomer starts, and over
{fairness.HANDOFFS_EACH} handoffs; packets lost and shares within {fairness.WINDOW_S:g} s.

{shares}
## RAPID

One flow. Goodput over {rapid.COMPARED} packets from the SYN, in Mbit/s:

{rapid_starts}
Median time in seconds for the packets of figures 6 to 13, and in brackets the mean number of
packets lost (b: break-before-make):

{rapid_handoffs}
"A step lower": the highest of the chirp's rates at which the delay did not rise, instead of the
first at which it did. "Narrow start-up": chirps of fewer segments have the spread of whole ones,
not their range. "At a notice": the next chirp after a notice sets the rate at once; or the start-up
begins anew.
"""
    return text, files
