"""The schedule of a low-orbit path: rows, runs, and the services of its figures."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from midflight.cli import app
from midflight.results import EventLog
from midflight.studies import reproduce
from midflight.studies.figure_runs import figure_runs
from midflight.studies.leo_schedule import claims, kernel
from midflight.studies.leo_schedule import scenarios as sc
from midflight.studies.runs import Runs

NAME = "leo-schedule"


def test_the_schedule_is_what_the_script_draws() -> None:
    # As the script does it: the module's own generator, a rate, a round trip, an unused loss.
    state = random.getstate()
    try:
        for run in sc.RUNS:
            random.seed(run)
            drawn = [
                (random.randint(50, 100), random.randint(5, 100), random.uniform(0, 5))[:2]
                for _ in range(300 // 15)
            ]
            assert sc.schedule(run) == drawn
    finally:
        random.setstate(state)
    assert sc.schedule(1)[:3] == FIRST


#: Of run 1, as Python 3.11 gives it.
FIRST = [(58, 77), (98, 13), (81, 62)]


def test_goodput_is_what_is_acknowledged() -> None:
    # 10 segments by 0.5 s, 30 by 1.5 s, and an old ACK.
    times, values = [500_000_000, 1_500_000_000, 1_700_000_000], [10, 30, 20]
    log = EventLog(times, ["ack"] * 3, values, [""] * 3)
    per_segment = sc.BITS / 1e6
    found = sc.seconds(log, 0, 3)
    assert found == pytest.approx([10 * per_segment, 20 * per_segment, 0])


def test_a_reaction_is_the_first_full_half_second() -> None:
    # One segment each millisecond from 22 s on, a tenth of that before.
    times = np.concatenate((np.arange(19.0, 22.0, 0.01), np.arange(22.0, 30.0, 0.001)))
    log = EventLog(
        np.round(times * 1e9), ["ack"] * len(times), np.arange(1, len(times) + 1), [""] * len(times)
    )
    full = 1000 * 8 * sc.WIRE / 1e6
    assert sc.reaction_s(log, full, 30) == pytest.approx(2.0, abs=0.06)
    assert sc.reaction_s(log, 2 * full, 30) == float("inf")


def test_the_record_has_every_series() -> None:
    found = kernel.recorded()
    jobs = [sc.scheduled(1, sender).name for sender in sc.KERNEL]
    jobs += [sc.jump(times, sender).name for times in sc.JUMPS for sender in sc.KERNEL]
    assert set(found) == {*jobs, *(f"cuts, {sender}" for sender in sc.KERNEL)}
    assert all(len(found[name]) >= sc.JUMP_END_S - 1 for name in jobs)
    assert [len(found[f"cuts, {sender}"]) for sender in sc.KERNEL] == [len(sc.CUTS_MS)] * 2


def test_the_kernel_gives_what_is_recorded() -> None:
    from midflight.lab.errors import LabError
    from midflight.lab.store import choose

    try:
        about = choose()
    except LabError as error:
        pytest.skip(str(error))
    if f"Linux {about.version}, HZ {about.hz}" != kernel.ABOUT:
        pytest.skip(f"the kernel is {about.name}")
    name = sc.jump(4, sc.CUBIC).name
    found = {x: mbps for _, x, mbps in kernel.measured({name})}
    assert found == pytest.approx(kernel.recorded()[name], rel=1e-5)


def test_a_notice_is_one_of_the_scenarios() -> None:
    told, not_told = (sc.bbr3(20, one).core(Runs().core).setup(0) for one in (True, False))
    assert told.flows[0]["scheme"] == sc.TOLD
    assert not_told.flows[0]["scheme"] != sc.TOLD


def test_the_worst_second_is_found() -> None:
    runs = Runs()
    got = claims.after_jump(runs, 4, sc.CUBIC)
    assert len(got) == sc.JUMP_END_S - sc.JUMP_S
    assert got.min() < 6 < got.max() < 10


def test_figures_are_written(tmp_path: Path) -> None:
    got = reproduce(NAME, figure="2", out=tmp_path)
    assert all(file.stat().st_size > 100 for one in got.figures for file in one.files)
    assert got.report is not None
    assert got.report.stat().st_size > 10_000


@pytest.mark.parametrize("figure", ["2", "3", "4"])
def test_the_commands_take_a_figure(figure: str, tmp_path: Path) -> None:
    of = ["--study", NAME, "--figure", figure]
    run = CliRunner().invoke
    listed = run(app, ["explain", *of, "--job", "all"]).stdout.splitlines()
    assert len(listed) == len(figure_runs(NAME, figure))
    told = run(app, ["explain", *of, "--job", "1", "--what", "cwnd", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["events"]
    out = tmp_path / "run.png"
    drawn = run(app, ["plot", *of, "--job", "1", "--out", str(out)])
    assert drawn.exit_code == 0, drawn.output
    assert out.stat().st_size > 10_000
