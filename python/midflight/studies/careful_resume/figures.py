"""The figures: times over the satellite, windows, wrong saved windows, and handoffs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from midflight.plot import PAGE_IN, Drawing, Line, LinePanel, Series, line_plot, quartile_plot
from midflight.plot.common.style import SERIES
from midflight.results import Estimate, Quartiles, RunTable, quartiles
from midflight.studies.careful_resume.claims import (
    APPENDIX_B,
    LOST,
    ORDERED,
    OTHERS,
    PLAIN_S,
    RESUME_S,
    WHOLE_S,
    of_satellites,
)
from midflight.studies.careful_resume.scenarios import (
    AT_S,
    CELLS,
    CONTROLLERS,
    FOUR,
    FOUR_RESUME,
    FOUR_WHOLE,
    GEO,
    LONG,
    MOVERS,
    PLAIN,
    QUIC,
    QUIC_RESUMES,
    RATIO_LINK,
    RATIOS,
    RESUME,
    SENDERS,
    WHOLE,
    Mover,
    beside,
    known,
    moved,
    satellite,
    slower,
    traced,
)
from midflight.studies.runs import Runs, Scenarios
from midflight.studies.study import Figure

__all__ = ["FIGURES"]


def _exactly(value: float) -> Quartiles:
    return Quartiles(value, value, value)


def _times() -> Figure:
    bars = [(link, controller) for link in GEO for controller in CONTROLLERS]
    expected: dict[str, tuple[float, float]] = {
        PLAIN: (PLAIN_S, PLAIN_S),
        RESUME: (RESUME_S, RESUME_S),
        WHOLE: WHOLE_S,
    }

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for sender, look in zip(SENDERS, SERIES, strict=False):
            points = []
            for link, controller in bars:
                table = runs.scenarios(satellite(link, sender, controller))
                points.append(_exactly(float(table.seconds("duration_ns")[0])))
                lost = int(table["drops_queue"][0])
                rows.append((link, CONTROLLERS[controller], SENDERS[sender], points[-1][0], lost))
            due = [expected[sender] if link == "250/3" else None for link, _ in bars]
            series.append(Series(SENDERS[sender], look, points, due))
        plot = partial(
            quartile_plot,
            categories=[f"{link}\n{CONTROLLERS[controller]}" for link, controller in bars],
            x_title="Down and up (Mbit/s), controller",
            y_title="Time of 100 MB (s)",
            series=series,
            width_in=PAGE_IN,
            legend_columns=3,
            expected="RFC 9959 and picoquic",
        )
        return Drawing(plot, ("link", "controller", "sender", "seconds", "lost"), rows)

    return Figure(
        "1",
        "100 MB over a geostationary satellite",
        "Without resuming, with half of the saved window after the initial window, and with all "
        "of it at the first sample of the round trip. One run each.",
        tuple(of_satellites(*SENDERS)),
        draw,
        wide=True,
    )


#: Interval and end of the window's curve, in seconds.
STEP_S, UNTIL_S = 0.2, 10.0


def _windows() -> Figure:
    jobs = {
        SENDERS[PLAIN]: traced(satellite("250/3", PLAIN, "cubic"), "cwnd", until_s=UNTIL_S),
        SENDERS[RESUME]: traced(satellite("250/3", RESUME, "cubic"), "cwnd", until_s=UNTIL_S),
        SENDERS[WHOLE]: traced(satellite("250/3", WHOLE, "cubic"), "cwnd", until_s=UNTIL_S),
        "half of ten times the true window (25/3)": traced(
            slower(RESUME, "cubic"), "cwnd", until_s=UNTIL_S
        ),
    }

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        lines = []
        for (name, job), look in zip(jobs.items(), SERIES, strict=False):
            log = runs.trace(job).of("cwnd")
            times = np.arange(STEP_S, UNTIL_S, STEP_S)
            places = np.searchsorted(log.time_s, times, side="right") - 1
            windows = log.value[places]
            rows += [
                (name, round(float(at), 3), float(window))
                for at, window in zip(times, windows, strict=True)
            ]
            estimates = [Estimate(float(window) / 1000, float("nan")) for window in windows]
            lines.append(Line(name, look, [float(at) for at in times], estimates))
        plot = partial(
            line_plot,
            panels=[LinePanel("Time (s)", lines)],
            y_title="Congestion window (1000 packets)",
            width_in=PAGE_IN,
            height_in=3.0,
            legend_columns=2,
        )
        return Drawing(plot, ("sender", "time_s", "cwnd_packets"), rows)

    return Figure(
        "2",
        "The window over time",
        "CUBIC at 250 Mbit/s down and 3 up, and the safe retreat where the link has a tenth of "
        "the saved rate.",
        (*jobs.values(), APPENDIX_B, *ORDERED.values(), *LOST.values(), *OTHERS.values()),
        draw,
        wide=True,
    )


def _ratios() -> Figure:
    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        points = []
        plain = runs.scenarios(known(None))
        plain_s = float(plain.seconds("duration_ns")[0])
        rows.append(("none", plain_s, int(plain["drops_queue"][0])))
        for ratio in RATIOS:
            table = runs.scenarios(known(ratio))
            points.append(_exactly(float(table.seconds("duration_ns")[0])))
            rows.append((ratio, points[-1][0], int(table["drops_queue"][0])))
        plot = partial(
            quartile_plot,
            categories=[f"{ratio:g}" for ratio in RATIOS],
            x_title="Saved window / true window",
            y_title="Time of 20 MB (s)",
            series=[Series("half of the saved window", SERIES[0], points)],
            reference=plain_s,
        )
        return Drawing(plot, ("ratio", "seconds", "lost"), rows)

    losing = (slower(one, controller) for one in (PLAIN, RESUME) for controller in CONTROLLERS)
    needs = (known(None), *map(known, RATIOS), *losing)
    return Figure(
        "3",
        "A wrong saved window",
        f"20 MB over GEO {RATIO_LINK} Mbit/s over the saved window; the line is the time without "
        "resuming. One run each.",
        needs,
        draw,
    )


HEADER = ("handoff", "kind", "sender", "runs", "q1", "median", "q3", "mean")


def _handoffs(
    id: str,
    title: str,
    caption: str,
    y_title: str,
    cells: Sequence[tuple[str, str]],
    movers: Sequence[Mover],
    job: Callable[[Mover, str, str], Scenarios],
    values: Callable[[RunTable], np.ndarray],
) -> Figure:
    """Quartiles of a measure for each handoff, kind and sender."""

    def draw(runs: Runs) -> Drawing:
        rows: list[tuple[object, ...]] = []
        series = []
        for mover, look in zip(movers, SERIES, strict=False):
            points: list[Quartiles] = []
            for cell in cells:
                found = values(runs.scenarios(job(mover, *cell)))
                points.append(quartiles(found))
                rows.append((*cell, mover.name, len(found), *points[-1], float(np.nanmean(found))))
            series.append(Series(mover.name, look, points))
        categories = ["\n".join([*handoff.split(" to "), kind]) for handoff, kind in cells]
        plot = partial(
            quartile_plot,
            categories=categories,
            x_title="Handoff",
            y_title=y_title,
            series=series,
            width_in=PAGE_IN,
            height_in=3.0,
            legend_columns=3,
        )
        return Drawing(plot, HEADER, rows)

    needs = tuple(job(mover, *cell) for mover in movers for cell in cells)
    text = f"{caption} Medians and quartiles of {len(AT_S)} instants."
    return Figure(id, title, text, needs, draw, wide=True)


def _seconds(table: RunTable) -> np.ndarray:
    return table.seconds("t_new_ns")


def _lost(table: RunTable) -> np.ndarray:
    return np.asarray(table["drops_queue"], dtype=float)


def _acked(table: RunTable) -> np.ndarray:
    return np.asarray(table["acked"], dtype=float)


_LONG_CELLS = [cell for cell in CELLS if cell[0] in LONG]

FIGURES: tuple[Figure, ...] = (
    _times(),
    _windows(),
    _ratios(),
    _handoffs(
        "4",
        "5 MB after a handoff",
        "From the handoff until 5 MB of new data are acknowledged.",
        "Time of 5 MB (s)",
        CELLS,
        MOVERS,
        moved,
        _seconds,
    ),
    _handoffs(
        "5",
        "Packets lost to the queue",
        "From the handoff until 5 MB of new data are acknowledged.",
        "Packets lost",
        CELLS,
        MOVERS,
        moved,
        _lost,
    ),
    _handoffs(
        "6",
        "What a resident gets",
        "Packets of a TCP flow on the new link that are acknowledged in the five seconds after the "
        "handoff, beside one newcomer.",
        "Packets of the resident",
        CELLS,
        (QUIC, QUIC_RESUMES),
        beside,
        _acked,
    ),
    _handoffs(
        "7",
        "A resident flow beside four newcomers",
        "The same beside four newcomers at once.",
        "Packets of the resident",
        _LONG_CELLS,
        (FOUR, FOUR_RESUME, FOUR_WHOLE),
        beside,
        _acked,
    ),
)
