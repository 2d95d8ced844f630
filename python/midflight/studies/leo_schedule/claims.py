"""The rows of the study; their rules are in its README and were written before the first run."""

from __future__ import annotations

import numpy as np

from midflight.claims import Check, Finding, Ledger, at_least, at_most, between
from midflight.studies.leo_schedule import scenarios as sc
from midflight.studies.leo_schedule.kernel import ABOUT, recorded
from midflight.studies.runs import Job, Runs

LEDGER = Ledger()

#: The goodput of a Linux 6.18 host in these seconds after the jump, in Mbit/s.
HOST = {
    sc.CUBIC: {1: 4.8, 2: 5.6, 3: 6.5, 4: 7.3, 5: 8.2, 6: 8.9, 7: 9.6},
    sc.BBR: {1: 7.5, 6: 4.05},
}
NEAR = 0.15
FULL_MBPS = 9.0

SCHEDULES: tuple[Job, ...] = tuple(sc.scheduled(run, sc.CUBIC) for run in sc.RUNS)
JUMPS: tuple[Job, ...] = tuple(
    sc.acks(sc.jump(times, sender)) for times in sc.JUMPS for sender in sc.KERNEL
)
CUTS: tuple[Job, ...] = tuple(
    sc.hard(cut_ms, sender) for cut_ms in sc.CUTS_MS for sender in (*sc.KERNEL, sc.TOLD)
)
BBR3: tuple[Job, ...] = tuple(
    sc.acks(sc.bbr3(rtt_ms, told)) for rtt_ms in sc.BBR3_RTTS_MS for told in (False, True)
)


def after_jump(runs: Runs, times: int, sender: str) -> np.ndarray:
    """Goodput in each second from the jump on."""
    log = runs.trace(sc.acks(sc.jump(times, sender)))
    return sc.seconds(log, sc.JUMP_S, sc.JUMP_END_S)


@LEDGER.claim(
    "LE1",
    "The same run number gives the same rates and round trips as in the script.",
    "Rate and twice the delay of the link in the middle of each period; exact; a part for each run",
    figures=("1",),
    needs=SCHEDULES,
)
def same_schedule(runs: Runs) -> Finding:
    checks = []
    half_ns = sc.PERIOD_S * 10**9 // 2
    for run in sc.RUNS:
        setup = sc.scheduled(run, sc.CUBIC).core(runs.core).setup(0)
        links, _ = setup.samples(every_ns=half_ns)
        columns = ("number", "link", "time_ns", "rate_bps", "delay_ns")
        rows = list(zip(*(links.column(one) for one in columns), strict=True))
        # The first of its two directions, down.
        down = min(number for number, name, *_ in rows if name == "leo")
        found = [
            (rate / 1e6, 2 * delay / 1e6)
            for number, _, at_ns, rate, delay in rows
            if number == down and at_ns % (2 * half_ns) == half_ns
        ]
        expected = [(float(rate), float(rtt)) for rate, rtt in sc.schedule(run)]
        same = sum(got == due for got, due in zip(found, expected, strict=True))
        told = f"{same} of {len(expected)} periods"
        checks.append(Check(f"run {run}", told, same == len(expected)))
    return Finding(checks)


@LEDGER.claim(
    "LE2",
    "After a jump of the delay the senders are as slow as on a Linux 6.18 host.",
    "Seconds within 15 % of those measured; a part for each second and bound",
    figures=("2",),
    needs=JUMPS,
)
def as_slow_as_a_host(runs: Runs) -> Finding:
    checks = []
    for sender, measured in HOST.items():
        got = after_jump(runs, 4, sender)
        for second, mbps in measured.items():
            what = f"x4, {sc.NAMES[sender]}, second {second}"
            least, most = (1 - NEAR) * mbps, (1 + NEAR) * mbps
            checks.append(between(what, float(got[second - 1]), least, most))
        if sender == sc.BBR:
            slowest = float(got[7:12].min())
            what = f"x4, {sc.NAMES[sender]}, slowest of seconds 8 to 12"
            checks.append(at_least(what, slowest, FULL_MBPS))
    for sender in sc.KERNEL:
        got = after_jump(runs, 15, sender)
        full = np.flatnonzero(got >= FULL_MBPS)
        first = int(full[0]) + 1 if len(full) else float("inf")
        name = f"x15, {sc.NAMES[sender]}"
        checks.append(at_most(f"{name}, worst second", float(got.min()), 1.4))
        checks.append(between(f"{name}, first full second", float(first), 11, 14))
    return Finding(checks)


def of_cuts(runs: Runs, cut_ms: int, sender: str) -> np.ndarray:
    """Goodput of each run in Mbit/s."""
    table = runs.scenarios(sc.hard(cut_ms, sender))
    return np.asarray(table["goodput_bps"], dtype=float) / 1e6


@LEDGER.claim(
    "LE3",
    "Longer cuts cost more, and a notice never hurts.",
    "The mean falls from each length to the next, for CUBIC and BBR; with a notice at least the "
    "goodput of CUBIC in all five runs of a length",
    figures=("3",),
    needs=CUTS,
)
def cuts_cost(runs: Runs) -> Finding:
    checks = []
    for sender in sc.KERNEL:
        means = [float(of_cuts(runs, cut_ms, sender).mean()) for cut_ms in sc.CUTS_MS]
        for place, cut_ms in enumerate(sc.CUTS_MS[1:]):
            before, after = means[place : place + 2]
            what = f"{sc.NAMES[sender]}, {sc.CUTS_MS[place]} to {cut_ms} ms"
            checks.append(Check(what, f"{before:.3g} to {after:.3g} Mbit/s", after < before))
    for cut_ms in sc.CUTS_MS:
        plain, told = (of_cuts(runs, cut_ms, sender) for sender in (sc.CUBIC, sc.TOLD))
        better = int(np.sum(told >= plain))
        text = f"{better} of {len(plain)} runs, {told.mean():.3g} over {plain.mean():.3g} Mbit/s"
        checks.append(Check(f"a notice, {cut_ms} ms", text, better == len(plain)))
    return Finding(checks)


@LEDGER.claim(
    "LE4",
    "BBRv3 notices a longer path only at its next ProbeRTT, unless it gets a notice.",
    "Reaction at least 4 s without a notice, at most 1 s with one; a part for each round trip",
    figures=("4",),
    needs=BBR3,
)
def bbr3_reacts(runs: Runs) -> Finding:
    checks = []
    for rtt_ms in sc.BBR3_RTTS_MS:
        for told in (False, True):
            log = runs.trace(sc.acks(sc.bbr3(rtt_ms, told)))
            took = sc.reaction_s(log, sc.BBR3_MBPS, sc.BBR3_END_S)
            what = f"{rtt_ms} to {sc.TIMES * rtt_ms} ms, {'told' if told else 'not told'} (s)"
            checks.append(at_most(what, took, 1.0) if told else at_least(what, took, 4.0))
    return Finding(checks)


INSTANTS: tuple[Job, ...] = tuple(sc.acks(sc.jump_at(at_s, sc.BBR)) for at_s in sc.INSTANTS_S)


@LEDGER.claim(
    "LE-X2",
    "How long BBR is slow depends on where the jump falls between two of its PROBE_RTT phases.",
    "Over jumps at 15 to 24 s the least and the greatest reaction are at least 6 s apart, and none "
    "is more than 11 s",
    figures=("5",),
    needs=INSTANTS,
)
def phase_of_bbr(runs: Runs) -> Finding:
    took = [
        sc.reaction_s(runs.trace(sc.acks(sc.jump_at(at_s, sc.BBR))), 10, sc.INSTANTS_END_S, at_s)
        for at_s in sc.INSTANTS_S
    ]
    return Finding(
        [
            at_least("greatest less least (s)", max(took) - min(took), 6.0),
            at_most("greatest (s)", max(took), 11.0),
        ]
    )


#: The allowed difference of two values, as a share of the greater one.
SAME = 0.02


def apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The greatest difference, as a share of the greater value."""
    greater = np.maximum(np.maximum(ours, theirs), 1e-9)
    return float(np.max(np.abs(ours - theirs) / greater))


@LEDGER.claim(
    "LE-X1",
    "The lab's kernel does what the simulator does.",
    "At most 2 % apart in each second of the jumps and of the schedule of run 1, and in the first "
    "run of each length of a cut; a part for each sender and kind",
    figures=("1", "2", "3"),
    needs=(*(sc.acks(sc.scheduled(1, sender)) for sender in sc.KERNEL), *JUMPS, *CUTS),
)
def as_the_kernel(runs: Runs) -> Finding:
    kernel, checks = recorded(), []
    kinds = [(sc.scheduled, 1, sc.PERIODS * sc.PERIOD_S)]
    kinds += [(sc.jump, times, sc.JUMP_END_S) for times in sc.JUMPS]
    for sender in sc.KERNEL:
        for make, number, end_s in kinds:
            job = make(number, sender)
            theirs = np.asarray(list(kernel[job.name].values()))
            ours = sc.seconds(runs.trace(sc.acks(job)), 0, end_s)[: len(theirs)]
            checks.append(at_most(f"{job.name} (share)", apart(ours, theirs), SAME))
        series = kernel[f"cuts, {sender}"]
        ours = np.asarray([of_cuts(runs, cut_ms, sender)[0] for cut_ms in sc.CUTS_MS])
        theirs = np.asarray([series[str(cut_ms)] for cut_ms in sc.CUTS_MS])
        most = apart(ours, theirs)
        checks.append(at_most(f"cuts, {sender} (share)", most, SAME))
    return Finding(checks, note=f"The kernel is {ABOUT}.")
