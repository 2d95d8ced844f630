"""What reports of sweeps say in sentences: the best value and changes."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from midflight import Sweep
from midflight.cli import main
from midflight.plot.common.plain import loss_words, usual_of_axes
from midflight.plot.results.compared import is_unsure
from midflight.sweep_report import headed, sweep_report_html
from midflight.sweep_results import METRICS, compare, groups, is_negligible, is_no_chance
from midflight.sweep_summary import Summary, number, per_cent
from midflight.sweep_verdict import First, _best, _is_ahead, best_lines
from midflight.sweep_where import where_words
from midflight.sweep_words import change_lines, direction_of
from midflight.unmet import Unmet

SCHEME, GAP = "flows.get.scheme", "handoffs.0.gap"
SCHEMES = ("sack", "a")
#: What a summary needs of a scenario.
TWO = '{"handoffs": [{}, {}], "changes": []}'
NONE = float("nan")


def made_of(
    results: dict[str, dict[str, list[float]]],
    metric: str = "duration_ns",
    flow: str = "get",
    early: tuple[str, ...] = (),
    phase: int | None = None,
    by: tuple[str, ...] = (SCHEME, GAP),
) -> Summary:
    """The comparison of schemes with these values, in the metric's shown unit, at each gap, of a
    run each; flows of `early` schemes were done before the handoff. Axes that are not in `by` are
    pooled.
    """
    unit = METRICS[metric][1]
    rows = [
        {
            **{"flow": flow, "entry": flow, "moves": "1", "run": str(run), "digest": f"{value}"},
            **{SCHEME: scheme, GAP: gap, metric: "" if value != value else str(value * unit)},
        }
        for scheme, at in results.items()
        for gap, values in at.items()
        for run, value in enumerate(values)
    ]
    grouped = groups(iter(rows), [SCHEME, GAP], by, metric, lambda row: row[SCHEME] in early)
    schemes, gaps = [*results], [*next(iter(results.values()))]
    axes = {SCHEME: schemes, GAP: gaps}
    asked: Any = type("Asked", (), {"compare": SCHEME, "scenario": TWO, "axes": axes})()
    compared = compare(grouped, by, SCHEME, schemes)
    nothing: Any = None
    return Summary(asked, metric, by, grouped, compared, "x.csv", nothing, phase)


def near(value: float, count: int = 4) -> list[float]:
    """Values that differ a little among runs."""
    return [value * (1 + 0.01 * (-1) ** run * (run + 1)) for run in range(count)]


def test_a_change_says_at_which_values_it_is_the_other_way() -> None:
    """One that is half as large as the mean change or more is no detail."""
    gaps = [f"{gap}s" for gap in range(1, 10)]
    sack = {gap: [4.0] for gap in gaps}
    vho = {gap: [2.0] for gap in gaps} | {"9s": [5.5]}
    (said,) = change_lines(made_of({"sack": sack, "vho": vho}, by=(SCHEME,)))
    assert said.startswith("vho is faster by 40 % (")
    assert said.endswith("), but slower at 1 of 9 gaps (9 s), by 38 %")
    # Then all are counted, but for those that are called no change.
    vho |= {"7s": [4.003], "8s": [4.1]}
    (said,) = change_lines(made_of({"sack": sack, "vho": vho}, by=(SCHEME,)))
    assert said.endswith("), but slower at 2 of 9 gaps (from 8 s on), by 2.5 to 38 %")
    vho |= {"7s": [2.0], "8s": [2.0]}
    vho["9s"] = [4.1]
    (said,) = change_lines(made_of({"sack": sack, "vho": vho}, by=(SCHEME,)))
    assert "slower" not in said


def test_a_change_of_few_pairs_has_no_interval_in_tables() -> None:
    lost = {"1s": [3.0, 3.1, *[math.nan] * 4]}
    made = made_of({"sack": {"1s": near(4.0, 6)}, "vho": lost})
    head, line = made.comparison_lines(1e9)
    shown = dict(zip(head, line, strict=True))
    assert [shown[name] for name in ("+-", "from", "to")] == ["-"] * 3
    assert shown["pairs"] == "2"


def test_the_best_one_is_named_and_is_first() -> None:
    made = made_of(
        {
            "sack": {"1s": near(10), "2s": near(20)},
            "freeze": {"1s": near(11), "2s": near(15)},
            "vho": {"1s": near(5), "2s": near(8)},
        }
    )
    assert [*best_lines(made)] == ["Best is vho: the fastest in both combinations"]
    vho, freeze = change_lines(made)
    assert vho == "vho is faster in both combinations, by 50 to 60 %"
    assert freeze == (
        "freeze is faster in 1 of 2 combinations (at 2 s), by 25 %, and slower in 1 (at 1 s), by "
        "10 %"
    )


def test_more_goodput_is_better_and_more_retransmissions_are_neither() -> None:
    values = {"sack": {"1s": near(10)}, "freeze": {"1s": near(5)}, "vho": {"1s": near(20)}}
    made = made_of(values, "goodput_bps")
    assert [*best_lines(made)] == ["Best is vho: the highest"]
    first, last = change_lines(made)
    assert first.startswith("with vho it is higher by 100 % (")
    assert last.startswith("with freeze it is lower by 50 % (")
    made = made_of(values, "rexmits")
    assert [*best_lines(made)] == []
    # In the order of the axis.
    assert [one.split()[1] for one in change_lines(made)] == ["freeze", "vho"]


#: Both are better than the baseline, and cannot be told apart.
CLOSE = {"sack": near(10), "a": [5, 6, 5, 6], "b": [6, 5, 6, 5.2]}
FIRST_IS_B = {"sack": near(10), "a": [6, 5, 6, 5.2], "b": [5, 6, 5, 6]}


def said_of(
    *combinations: dict[str, list[float]], metric: str = "duration_ns", whole: bool = False
) -> str:
    """What is said to be best of these values at gaps."""
    values = {
        name: {f"{place}s": one[name] for place, one in enumerate(combinations)}
        for name in combinations[0]
    }
    (said,) = best_lines(made_of(values, metric), whole=whole)
    return said


def test_the_first_one_is_named_with_those_that_are_not_apart_from_it() -> None:
    made = made_of({name: {"1s": values} for name, values in CLOSE.items()})
    assert [*best_lines(made)] == ["a has the lowest mean; it cannot be told apart from b"]
    assert all(" is faster by " in one for one in change_lines(made))
    assert said_of(CLOSE, metric="goodput_bps") == "Best is sack: the highest"
    apart = "it cannot be told apart from"
    assert said_of(CLOSE, CLOSE) == f"a has the lowest mean in both combinations; {apart} b"
    clear = {**CLOSE, "a": near(2)}
    assert said_of(clear, CLOSE, CLOSE) == (
        "a has the lowest mean in all 3 combinations, and is clearly the fastest in 1 of them (at "
        f"0 s); in the other 2 {apart} b"
    )
    wide = {**CLOSE, "sack": [5, 6, 7, 6]}
    assert said_of(CLOSE, wide, wide) == (
        f"a has the lowest mean in all 3 combinations; {apart} b, nor from sack in 2 of them"
    )
    assert said_of(wide, wide) == f"a has the lowest mean in both combinations; {apart} sack or b"
    only_sack = {**wide, "b": near(20)}
    assert said_of(CLOSE, only_sack, only_sack) == (
        f"a has the lowest mean in all 3 combinations; {apart} sack in 2 of them, nor from b in 1"
    )


def test_several_that_are_first_are_named_with_those_that_are_never_worse() -> None:
    assert said_of(CLOSE, FIRST_IS_B, CLOSE) == (
        "None is clearly best: a has the lowest mean in 2 of 3 combinations (at 0 s and 2 s), b in "
        "1 (at 1 s), but not clearly; a and b are clearly worse in none"
    )
    clear = {**CLOSE, "a": near(2)}
    assert said_of(clear, FIRST_IS_B) == (
        "Best is a: clearly the fastest in 1 of 2 combinations (at 0 s), and clearly worse in "
        "none; b has the lowest mean in 1 (at 1 s), but not clearly"
    )
    sack = {**CLOSE, "sack": near(1)}
    several = "No single one is best:"
    assert said_of(clear, sack) == (
        f"{several} the fastest is a in 1 of 2 combinations (at 0 s), sack in 1 (at 1 s)"
    )
    # Where it is not clear it is not counted as such.
    assert said_of(clear, sack, FIRST_IS_B, whole=True) == (
        f"{several} clearly the fastest is a in 1 of 3 combinations (at 0 s), sack in 1 (at 1 s); "
        "b has the lowest mean in 1 (at 2 s), but not clearly"
    )
    # Of more than two those are named that are enough.
    assert said_of(clear, sack, FIRST_IS_B) == (
        f"{several} a is the fastest, or not clearly apart from it, in 2 of 3 combinations; sack "
        "in the other 1 (at 1 s)"
    )
    wide = [{name: [9, 3, 5, place] for name in CLOSE} for place in (1.0, 2.0)]
    wide[0]["a"] = [5, 5, 5, 2]
    wide[1]["b"] = [5, 5, 5, 3]
    assert said_of(*wide) == (
        "None is clearly best: a has the lowest mean in 1 of 2 combinations (at 0 s), b in 1 (at "
        "1 s), but not clearly"
    )


def test_all_combinations_are_accounted_for() -> None:
    clear = {**CLOSE, "a": near(2)}
    near_a = {**CLOSE, "sack": [5, 6, 7, 6]}
    lost = {name: [NONE] * 4 for name in CLOSE}
    same = {name: near(5) for name in CLOSE}
    every = (clear, clear, near_a, FIRST_IS_B, lost, same)
    assert said_of(*every) == (
        "Best is a: clearly the fastest in 2 of 6 combinations. It is clearly worse in none"
    )
    assert said_of(*every, whole=True) == (
        "Best is a: clearly the fastest in 2 of 6 combinations (up to 1 s), and clearly worse in "
        "none; a has the lowest mean in 1 (at 2 s), b in 1 (at 3 s), but not clearly; in 1 (at "
        "4 s) no run finished; in 1 (at 5 s) all are the same"
    )


@pytest.mark.parametrize(("finished", "said"), [(2, "Best is a"), (7, "None is clearly best")])
def test_to_finish_is_evidence(finished: int, said: str) -> None:
    """Also where those few runs that finish were faster: the others took longer than all."""
    few = [*near(5, finished), *[NONE] * (15 - finished)]
    assert said_of({"sack": few, "a": near(10, 15)}).startswith(said)


def test_a_verdict_over_settings_that_are_pooled_says_so() -> None:
    made = made_of({"sack": {"1s": near(10)}, "a": {"1s": near(5)}})
    made.asked.axes["links.lte.rate"] = ["1 Mbit/s", "2 Mbit/s"]
    made.asked.axes["handoffs.0.at"] = ["1 s", "2 s"]
    assert [*best_lines(made)] == ["Best is a: the fastest (pooled over 2 rates of lte)"]


def test_some_of_the_best_ones_may_be_first_without_the_others() -> None:
    found = [First(("A", "B"), (), ("C",)), First(("A",), ("B",), ("B", "C"))]
    assert _best(found, direction_of("duration_ns"), has_intervals=True) == (
        "best are A and B: clearly the fastest in 1 of 2 combinations, and clearly worse in none; "
        "A has the lowest mean in 1, but not clearly"
    )


def test_one_that_is_best_everywhere_is_best_where_others_are_as_good() -> None:
    found = [First(("A", "B"), (), ("C",)), First(("A",), (), ("B", "C"))]
    said = _best(found, direction_of("duration_ns"), has_intervals=True)
    words = "clearly the fastest in 2 of 2 combinations (B is the same in 1 of them)"
    assert said == f"best is A: {words}, and clearly worse in none"


def test_numbers_of_tables_have_no_exponents() -> None:
    assert [number(one) for one in (4.4e-05, 0.27531, 1234567.0, 2e-17)] == [
        *("0.000044", "0.2753"),
        *("1235000", "0"),
    ]
    assert [line[0] for line in headed([["median"], ["0.000044"], ["1.27531"], ["-0.00001"]])] == [
        *("median", "<0.001"),
        *("1.275", ">-0.001"),
    ]
    gilbert = "gilbert 1s 0.1% 100ms 10% 50%"
    assert loss_words(gilbert) == "gilbert 0.1 % for 1 s / 10 % for 100 ms"
    assert loss_words("burst 0.5% 3") == "burst 0.5% 3"
    # Those that only the chance of a change tells apart stay as they are.
    axes = {"links.a.loss": [gilbert, gilbert.replace("50%", "20%")]}
    assert usual_of_axes({"links": {}, "flows": {}}, axes).get(gilbert) is None


def test_values_that_are_the_same_are_first_together() -> None:
    same = {"sack": near(10), "a": near(5), "b": near(5)}
    assert said_of(same, same) == "Best are a and b: the fastest in both combinations"
    assert said_of(same, {**same, "sack": [4, 7, 4, 7]}) == (
        "a and b have the lowest mean in both combinations, and are clearly the fastest in 1 of "
        "them (at 0 s); in the other 1 they cannot be told apart from sack"
    )
    every = {name: near(5) for name in same}
    assert said_of(every) == "None is best: all are the same"
    assert said_of(every, every) == "None is best: all are the same in both combinations"


def test_one_with_more_missing_runs_may_be_clearly_better() -> None:
    few = [*near(5, 19), NONE]
    assert said_of({"sack": near(10, 20), "a": few}).startswith("Best is a")
    # A missing value is longer than others, and ahead in no metric of which more is better.
    rates = {"sack": {"1s": near(10, 20)}, "a": {"1s": [*near(5, 4), *[NONE] * 16]}}
    made = made_of(rates, "goodput_bps")
    (one,) = made.compared
    assert one.ended_side == 1
    assert not _is_ahead(one, 1, made, has_intervals=True)


def test_changes_without_an_interval_are_counted_once() -> None:
    values = {
        "sack": {"1s": [10, 10], "2s": near(10), "3s": [10, 10], "4s": [10, 10]},
        "vho": {"1s": [5, 5], "2s": near(5), "3s": [10, 10], "4s": [9.9, 10.2]},
    }
    (said,) = change_lines(made_of(values))
    assert said == (
        "vho is faster in 2 of 4 combinations (up to 2 s), by 50 % (1 of these without an "
        "interval, as all pairs are the same); the same in 1; in 1 unclear, as the interval "
        "contains 0"
    )


def test_changes_at_the_ends_of_an_axis_are_named() -> None:
    gaps = ["0.1s", "0.5s", "1s", "2s"]
    values = {"sack": [10, 10, 10, 10], "vho": [5, 5, 20, 20], "a": [5, 20, 5, 20]}
    made = made_of(
        {name: dict(zip(gaps, map(near, each), strict=True)) for name, each in values.items()}
    )
    a, vho = sorted(change_lines(made))
    assert vho == (
        "vho is faster in 2 of 4 combinations (up to 0.5 s), by 50 %, and slower in 2 (from 1 s "
        "on), by 100 %"
    )
    # Those between others are named.
    assert a == (
        "a is faster in 2 of 4 combinations (at 0.1 s and 1 s), by 50 %, and slower in 2 (at 0.5 s "
        "and 2 s), by 100 %"
    )


@pytest.mark.parametrize(
    ("gaps", "places"),
    [
        (["0.1s", "500ms", "1s", "2s"], (" (up to 500 ms)", " (from 1 s on)")),
        (["100ms", "40ms", "10ms", "5ms"], (" (from 40 ms on)", " (up to 10 ms)")),
        (["100ms", "5ms", "10ms", "40ms"], (" (at 5 ms and 100 ms)", " (at 10 ms and 40 ms)")),
        # Twice the same number, in both parts.
        (["0.5s", "1s", "1000ms", "2s"], ("", "")),
        (["4g", "5g", "6g", "7g"], (" (at 4g and 5g)", " (at 6g and 7g)")),
    ],
)
def test_ends_of_an_axis_are_those_of_its_numbers(gaps: list[str], places: tuple[str, str]) -> None:
    values = {"sack": [10, 10, 10, 10], "vho": [5, 5, 20, 20]}
    made = {name: dict(zip(gaps, map(near, each), strict=True)) for name, each in values.items()}
    first, last = places
    assert [*change_lines(made_of(made))] == [
        f"vho is faster in 2 of 4 combinations{first}, by 50 %, and slower in 2{last}, by 100 %"
    ]


def test_what_holds_for_all_values_is_said_once() -> None:
    values = {
        "sack": {"1s": [*near(10), NONE], "2s": [*near(10), NONE]},
        "a": {"1s": near(5, 5), "2s": near(5, 5)},
        "vho": {"1s": near(4, 5), "2s": near(4, 5)},
    }
    first, second, caveat = change_lines(made_of(values))
    assert "pairs count" not in first + second
    assert caveat == (
        "for each of them in both combinations only some pairs count, 4 of 5 at the least: sack "
        "did not finish"
    )


def test_each_other_first_one_is_said() -> None:
    clear = {**CLOSE, "a": near(2)}
    near_sack = {"sack": [5, 6, 5, 6], "a": [6, 5, 6, 5.2], "b": [6.1, 5, 6, 5.2]}
    assert said_of(clear, FIRST_IS_B, near_sack).endswith(
        "; b has the lowest mean in 1 (at 1 s), sack in 1 (at 2 s), but not clearly"
    )


def test_a_value_that_is_never_clearly_other_is_called_so() -> None:
    made = made_of({"sack": {"1s": near(5), "2s": near(5)}, "a": {"1s": [5, 5.1], "2s": [5, 5.1]}})
    (said,) = change_lines(made)
    assert said == (
        "a is neither faster nor slower for certain in any of 2 combinations: intervals contain 0"
    )


def test_nothing_is_best_by_one_run_of_each() -> None:
    made = made_of({"sack": {"1s": [10], "2s": [20]}, "vho": {"1s": [5], "2s": [8]}})
    (said,) = best_lines(made)
    assert said == (
        "The fastest in both combinations is vho, but a single pair of runs decides nothing"
    )
    made = made_of({"sack": {"1s": [10], "2s": [2]}, "vho": {"1s": [5], "2s": [8]}})
    (said,) = best_lines(made)
    assert said == (
        "The fastest is vho in 1 of 2 combinations (at 1 s), sack in 1 (at 2 s), but a single pair "
        "of runs decides nothing"
    )


def test_pairs_that_do_not_count_are_told() -> None:
    lost = [9.0, 9.1, *[NONE] * 6]
    made = made_of(
        {
            "sack": {"1s": near(10, 8), "2s": near(10, 8), "3s": [NONE] * 8},
            "vho": {"1s": near(5, 8), "2s": lost, "3s": near(5, 8)},
        }
    )
    (said,) = change_lines(made)
    assert said.startswith("vho is faster in ")
    assert said.endswith(
        "; no pair counts in 1 of 3 combinations (at 3 s): sack did not finish; in 1 of 3 only "
        "some pairs count, 2 of 8 at the least: vho did not finish"
    )
    # Runs that are not done are no reason to be best, but those of others are.
    (said,) = best_lines(made)
    assert said.startswith("Best in 2 of 3 combinations (at 1 s and 3 s) is vho")
    alone = made_of({"sack": {"1s": near(10, 8)}, "vho": {"1s": lost}})
    (said,) = change_lines(alone)
    assert said.endswith("; only 2 of 8 pairs count: vho did not finish")
    assert [*best_lines(alone)] == ["None is clearly best"]


def test_all_metrics_have_a_direction_or_none() -> None:
    signs = {name: direction_of(name).sign for name in METRICS}
    assert {signs[name] for name in METRICS if name.endswith("_ns") and name != "played_ns"} == {-1}
    assert {name for name, sign in signs.items() if sign > 0} == {
        *("goodput_bps", "objects_done", "mean_rate_bps", "played_ns")
    }
    assert {name for name, sign in signs.items() if not sign} == {
        *("acked_ahead", "acked_missing", "rexmits", "drops_queue", "drops_early", "node_sent"),
        *("node_kept", "marks", "switches", "frames"),
    }
    assert direction_of("duration_p99_ns").lower == "faster"
    assert direction_of("stall_ns").lower == "lower"


@pytest.mark.parametrize(("ratio", "text"), [(-0.0001, "0.0"), (-0.0006, "-0.1"), (NONE, "-")])
def test_a_change_of_nothing_has_no_sign(ratio: float, text: str) -> None:
    assert per_cent(ratio) == text


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report of 84 combinations and two seeds."""
    folder = tmp_path_factory.mktemp("words") / "out"
    axes = ["flows.download.scheme=sack,enhanced,freeze,vho+bbr3", "seed=1,2"]
    axes += ["handoffs.0.gap=0.2s:0.8s:0.1s", "links.lte.loss=uniform 0%,uniform 0.5%,uniform 1%"]
    words = [word for axis in axes for word in ("--axis", axis)]
    words += ["--compare", "flows.download.scheme", "--out", str(folder)]
    assert main(["sweep", "wifi-to-lte", *words]) == 0
    return sweep_report_html(folder, command="midflight report out")


def test_tables_of_a_report_have_all_rows(page: str) -> None:
    for name, count in (("changes", 63), ("quartiles", 84)):
        after = page.split(f"<summary>All {name}: a table of {count} lines</summary>")[1]
        assert after.split("</table>")[0].count("<tr>") == 1 + count


def test_a_report_has_no_hints_for_a_terminal(page: str) -> None:
    text = re.sub('<pre.*?</pre>|<style.*?</style>| style=".*?"', "", page, flags=re.DOTALL)
    assert "--" not in text
    assert "comparison.csv" not in text


def test_a_report_says_what_is_run_and_what_its_values_are(page: str) -> None:
    assert "<h1>Sweep over scheme of download, gap of the handoff and loss of lte</h1>" in page
    head = page.split("<nav>")[0]
    assert "handoff to lte at 0.3\N{NO-BREAK SPACE}s.</p>" in head
    assert "168 runs: 84 combinations, each with 2 seeds" in head
    assert "<b>freeze</b>: a zero window before a predicted handoff" in page
    assert re.search("<b>vho\\+bbr3</b>: A1, .*; with BBR version 3", page)
    assert "<b>a3</b>: in RTO recovery, retransmit as soon as the link is back" in page


def test_a_figure_that_pools_settings_is_left_out(page: str) -> None:
    captions = [
        one.strip() for one in re.findall("<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    ]
    assert captions == [
        "Transfer time: change against sack (CUBIC), pair by pair.",
        "Transfer time: which value is best, and its median.",
        "Transfer time over gap of the handoff and loss of lte: medians.",
    ]


def test_settings_have_lines_while_there_are_few(tmp_path: Path) -> None:
    axes = ["flows.download.scheme=sack,freeze", "handoffs.0.gap=0.2s,0.5s,1s", "seed=1,2"]
    axes += ["links.lte.loss=uniform 0%,uniform 0.5%,uniform 1%"]
    words = [word for axis in axes for word in ("--axis", axis)]
    words += ["--compare", "flows.download.scheme", "--out", str(tmp_path / "out")]
    assert main(["sweep", "wifi-to-lte", *words]) == 0
    assert "Transfer time over gap of the handoff: medians." in sweep_report_html(tmp_path / "out")


def test_a_change_that_is_too_small_to_matter_is_called_none() -> None:
    """Of one part in ten thousand, however clear it is."""
    small = [1.00005 * one for one in near(10)]
    at = {"1s": near(10), "2s": near(20)}
    made = made_of({"sack": {"1s": near(10)}, "a": {"1s": small}, "b": {"1s": near(5)}})
    b, a = change_lines(made)
    assert b.startswith("b is faster by 50 %")
    assert a == "a is no different (|change| < 0.1 %)"
    # One of a single pair is so, too.
    (a,) = change_lines(made_of({"sack": {"1s": [10.0]}, "a": {"1s": [10.0005]}}))
    assert a == "a is no different (|change| < 0.1 %)"
    (a,) = change_lines(made_of({"sack": at, "a": {"1s": small, "2s": near(10)}}))
    words = "by 50 %; no different in 1 (|change| < 0.1 %)"
    assert a == f"a is faster in 1 of 2 combinations (at 2 s), {words}"
    (a,) = change_lines(made_of({"sack": at, "a": {"1s": small, "2s": near(20)}}))
    words = "(|change| < 0.1 %), and the same in 1 of these"
    assert a == f"a is no different in both combinations {words}"
    # Neither is the best one.
    assert said_of({"sack": near(10), "a": small, "b": near(20)}) == (
        "Best are sack and a: the fastest"
    )
    # An unclear one is not known to be none.
    unclear = [9.9, 10.1, 9.8, 10.21]
    (a,) = change_lines(made_of({"sack": {"1s": [10.0] * 4}, "a": {"1s": unclear}}))
    assert a.startswith("a is neither faster nor slower for certain: +0.025 % (")


@pytest.mark.parametrize(
    ("ratio", "low", "high", "is_none"),
    [
        (0.0005, 0.0001, 0.0009, True),
        (0.0005, math.nan, math.nan, True),
        (0.0, 0.0, 0.0, True),
        (0.0002, -0.0004, 0.0008, True),
        (0.0002, -0.0024, 0.0028, False),
        (0.0002, -math.inf, math.inf, False),
        (0.002, 0.001, 0.003, False),
        (math.nan, math.nan, math.nan, False),
    ],
)
def test_which_changes_are_none(ratio: float, low: float, high: float, is_none: bool) -> None:
    assert is_negligible(ratio, low, high) == is_none


def test_without_a_complete_pair_it_is_said_which_runs_finished() -> None:
    made = made_of(
        {
            "sack": {"1s": [NONE] * 10, "2s": [NONE] * 10},
            "bbr3": {"1s": [*near(10, 8), NONE, NONE], "2s": [NONE] * 10},
            "freeze": {"1s": [NONE] * 10, "2s": [NONE] * 10},
        }
    )
    for text in (made.comparison_head(), made.comparison_head(for_terminal=False)):
        said = " ".join(text.split())
        assert said.startswith("No pair of runs against sack is complete")
        assert "finished: sack in none of 20 runs, bbr3 in 8 of 20 runs" in said
        assert "a later end of the runs" in said
        assert "more runs" not in said
    # Eight that finish where none of the others does are no chance.
    (said,) = best_lines(made)
    assert "told apart" not in said
    assert "chance" not in said
    assert "best in 1 of 2 combinations (at 1 s) is bbr3" in said.lower()
    assert said.endswith("bbr3 in 8 of 20 runs, freeze in none of 20 runs")
    assert not any("without a complete pair" in one for one in made.comparison_foot())


def test_values_with_only_early_flows_are_no_results() -> None:
    values = {"sack": {"1s": near(5)}, "a": {"1s": near(1)}, "b": {"1s": near(10)}}
    made = made_of(values, early=("a",))
    assert [*best_lines(made)] == ["Best is sack: the fastest"]
    assert [one.value for one in made.finished()] == ["sack", "b"]
    # Of a single one that is left nothing is best.
    assert [*best_lines(made_of(values, early=("a", "b")))] == []


def test_a_mean_that_is_of_some_runs_says_of_which() -> None:
    values = {"sack": {"1s": near(10)}, "a": {"1s": near(5)}, "b": {"1s": [5.2, 4.7, 5.1, 4.9]}}
    made = made_of(values, by=(SCHEME,))
    (alone,) = best_lines(made)
    assert "means" not in alone
    of_a = next(one for one in made.grouped if one.values == ("a",))
    of_a.early = {next(iter(of_a.runs))}
    made.compared = compare(made.grouped, made.by, SCHEME, [*SCHEMES, "b"])
    (said,) = best_lines(made)
    assert " cannot be told apart from " in said
    words = "; the means are of the 3 of 4 runs in which no flow was done before the handoff"
    assert said.endswith(words)


def test_without_a_pair_as_flows_are_early_it_is_said_so() -> None:
    def said(other: float, phase: int | None = None) -> str:
        values = {"sack": {"1s": near(5)}, "a": {"1s": near(1)}, "b": {"1s": [other] * 4}}
        early = ("a", "b") if other == other else ("a",)
        made = made_of(values, early=early, phase=phase)
        return " ".join(made.comparison_head().split())

    start = "No pair of runs against sack is complete, so there is no difference: "
    assert said(1.0) == f"{start}a flow of each pair was done before the handoff."
    assert said(1.0, 2) == f"{start}a flow of each pair was done before handoff 2."
    assert said(NONE) == f"{start}in each a run has no value or a flow was done before the handoff."


def test_sentences_on_early_flows_name_the_handoff_of_the_numbers() -> None:
    values = {"sack": {"1s": near(5)}, "a": {"1s": near(1)}, "b": {"1s": near(10)}}
    for phase, which in ((None, "the handoff"), (2, "handoff 2")):
        made = made_of(values, "all_new_ns", early=("a",), phase=phase)
        early = f"done with fewer new packets after {which}"
        assert [*change_lines(made)][-1] == f"a: no pair counts: flows were {early}"
        made.unmet = Unmet()
        assert made.unmet_notes() == [f"Left out: 4 of 12 flows, which were {early}."]


def test_few_runs_that_finish_are_not_clearly_faster() -> None:
    made = made_of({"sack": {"1s": [NONE] * 10}, "bbr3": {"1s": [*near(10, 2), *[NONE] * 8]}})
    (said,) = best_lines(made)
    # Of two runs of ten there is no mean of bbr3.
    assert said.startswith("None is clearly best; finished:")


def test_the_sign_test_counts_unfinished_runs_as_longer() -> None:
    """Of pairs that differ: 6 of 6 are clear, 5 of 5 are not; both unfinished are left out."""
    for count, best in ((6, "Best is a: the fastest"), (5, "None is clearly best")):
        ends = [*near(9, count), *[NONE] * (20 - count)]
        made = made_of({"sack": {"1s": [NONE] * 20}, "a": {"1s": ends}})
        (said,) = best_lines(made)
        assert said.startswith(best)
        (change,) = change_lines(made)
        told = "a is faster in 6 of the 6 pairs that differ, counting unfinished runs as longer;"
        assert change.startswith(told) == (count == 6)
    # Those pairs that count are of fast runs of sack; in most others it did not finish.
    made = made_of(
        {
            "sack": {"1s": [*near(5, 3), *[NONE] * 17], "2s": near(10, 20)},
            "a": {"1s": [*near(6, 3), *near(9, 17)], "2s": near(5, 20)},
        }
    )
    assert [*best_lines(made)] == ["Best is a: the fastest in both combinations"]
    (change,) = change_lines(made)
    assert change.startswith(
        "a is faster in 1 of 2 combinations (at 2 s), by 50 %; faster in 1 of 2 combinations (at "
        "1 s) in 17 of the 20 pairs that differ, counting unfinished runs as longer; "
    )
    assert "unclear" not in change
    columns = made.comparison_columns()
    assert not {"lower", "higher"} & {*columns}


def test_the_pairs_of_a_run_are_one_sample_of_a_sign_test() -> None:
    """Six pairs of one run, which share its random numbers, are no six runs."""
    rows = [
        {
            **{"flow": "get", "entry": "get", "moves": "1", "run": run, "digest": f"{run}{scheme}"},
            **{SCHEME: scheme, "handoffs.0.at": f"{at}s"},
            "duration_ns": "5e9" if scheme == "a" and run == "0" else "",
        }
        for scheme in ("sack", "a")
        for at in range(6)
        for run in ("0", "1")
    ]
    axes = [SCHEME, "handoffs.0.at"]
    (one,) = compare(groups(iter(rows), axes, [SCHEME], "duration_ns"), [SCHEME], SCHEME, SCHEMES)
    assert (one.lower, one.higher, one.ended_side) == (1, 0, 0)


def test_a_sign_test_is_of_any_number_of_pairs() -> None:
    """More than 1000 have more outcomes than the largest float."""
    assert [is_no_chance(more, 0) for more in (5, 6)] == [False, True]
    assert [is_no_chance(20 - less, less) for less in (5, 6, 15)] == [True, False, False]
    sure = [is_no_chance(20_000, less) for less in (19_000, 19_900, 21_000)]
    assert sure == [True, False, False]


POINTS = [
    (rate, gap) for rate in ("2 Mbit/s", "5 Mbit/s", "10 Mbit/s") for gap in ("1s", "2s", "4s")
]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (lambda _, gap: gap != "1s", " (gap from 2 s on)"),
        (lambda rate, gap: rate == "2 Mbit/s" and gap == "2s", " (rate of lte 2 Mbit/s, gap 2 s)"),
        (lambda rate, _: rate != "5 Mbit/s", " (rate of lte 2 Mbit/s or 10 Mbit/s)"),
        (
            lambda rate, gap: gap == "4s" or (gap == "2s" and rate == "2 Mbit/s"),
            " (everywhere with gap 4 s, nowhere with gap 1 s)",
        ),
        (
            lambda rate, gap: (rate, gap) in (("2 Mbit/s", "2s"), ("5 Mbit/s", "4s")),
            " (only with rate of lte up to 5 Mbit/s)",
        ),
        (
            lambda rate, gap: (gap == "4s" and rate != "2 Mbit/s") or (rate, gap) == POINTS[0],
            " (only with gap 1 s or 4 s)",
        ),
        (lambda *_: True, ""),
        (lambda *_: False, ""),
    ],
)
def test_where_something_is_so_is_named_by_few_values(chosen: Any, words: str) -> None:
    some = [one for one in POINTS if chosen(*one)]
    assert where_words(some, POINTS, ["links.lte.rate", GAP]) == words


def test_what_the_median_depends_on_is_seen_at_the_same_values_of_other_axes() -> None:
    """The median of all stalls of each scheme is 0; at the same gap it is not."""
    gaps = [f"{one}s" for one in range(1, 4)]
    made = made_of(
        {
            "sack": dict(zip(gaps, ([0.0], [0.0], [3.0]), strict=True)),
            "a": {key: [0.0] for key in gaps},
        }
    )
    made.asked.compare = None
    _, effects, _ = best_lines(made)
    assert effects.startswith(
        "The median depends most on scheme of get (0 to 3 s), then on gap (0 to 3 s)"
    )


def test_a_sweep_that_compares_nothing_says_where_its_median_is_least() -> None:
    made = made_of(
        {"sack": {"1s": near(5), "2s": near(10)}, "a": {"1s": near(1), "2s": [NONE] * 4}}
    )
    made.asked.compare = None
    said, effects, hint = best_lines(made)
    assert said.startswith("Median transfer time: least 0.995 s with scheme of get a, gap 1 s; ")
    assert "; largest 9.95 s with" in said
    assert "with scheme of get sack, gap 2 s; in 1 of 4 combinations half of the" in said
    # With a and a gap of 2 s no run finished.
    assert effects == (
        "The median depends most on scheme of get (9.95 to no end), then on gap (0.995 to no end), "
        "at the same values of the others"
    )
    assert hint.startswith("Nothing is compared: a comparison of scheme of get needs no new run")


def test_it_is_told_which_of_two_finished_where_no_pair_counts() -> None:
    lost, done = [NONE] * 4, near(5)
    made = made_of(
        {
            "sack": {"1s": near(10), "2s": near(10), "3s": lost, "4s": lost, "5s": done},
            "vho": {"1s": done, "2s": done, "3s": done, "4s": lost, "5s": lost},
        }
    )
    (said,) = change_lines(made)
    assert said == (
        "vho is faster in both that count (up to 2 s), by 50 %; no pair counts in 3 of 5 "
        "combinations (from 3 s on): vho finished, sack never did, in 1; neither finished, in 1; "
        "sack finished, vho never did, in 1"
    )


def test_ties_are_not_told_as_a_single_one() -> None:
    stalls = {
        "sack": {"4s": [0.0], "8s": [0.0], "12s": [3.0]},
        "a": {"4s": [0.0], "8s": [0.0], "12s": [0.0]},
        "b": {"4s": [0.0], "8s": [1.0], "12s": [3.0]},
    }
    made = made_of(stalls, "stall_ns")
    made.asked.compare = None
    said, *_ = best_lines(made)
    assert said.endswith(
        ": least 0 s in 6 of 9 combinations (everywhere with scheme of get "
        "a); largest 3 s in 2 of 9 combinations (scheme of get sack or b, gap 12 s)"
    )


def test_where_all_flows_were_done_before_the_handoff_nothing_is_best() -> None:
    made = made_of({"sack": {"1s": near(5)}, "a": {"1s": near(1)}}, early=("sack", "a"))
    assert [*best_lines(made)] == ["All flows were done before the handoff: no number is about it"]
    assert [*change_lines(made)] == []


def test_one_pair_of_many_shows_no_change() -> None:
    """Neither in a sentence nor in a figure, however large it is."""
    lone, other = [*near(5, 1), *[NONE] * 19], [*near(10, 1), *[NONE] * 19]
    made = made_of(
        {
            "sack": {"1s": other, "2s": near(10, 20)},
            "vho": {"1s": lone, "2s": near(5, 20)},
            "a": {"1s": lone, "2s": [*near(5, 9), *[NONE] * 11]},
            "same": {"1s": other, "2s": near(10, 20)},
        }
    )
    said = {one.split()[0]: one for one in change_lines(made)}
    assert said["vho"].startswith(
        "vho is faster in 1 of 2 combinations (at 2 s), by 50 %; in 1 unclear, as most pairs do "
        "not count; "
    )
    assert said["a"].startswith(
        "a is neither faster nor slower for certain in any of 2 combinations: most pairs do not "
    )
    assert "the same in 1; in 1 unclear, as most" in said["same"]
    columns = made.comparison_columns()
    unsure = [is_unsure(columns, row, "ratio") for row in range(len(columns["value"]))]
    assert unsure == [True, False, True, True, True, False]
    alone = made_of({"sack": {"1s": other}, "vho": {"1s": lone}})
    assert [*change_lines(alone)] == [
        "vho is neither faster nor slower for certain, as most pairs do not count; only 1 of 20 "
        "pairs count: sack or vho did not finish"
    ]


def test_fewer_pairs_than_are_left_out_show_no_change() -> None:
    few = [*near(5, 9), *[NONE] * 11]
    (said,) = change_lines(made_of({"sack": {"1s": near(10, 20)}, "vho": {"1s": few}}))
    assert said.startswith("vho is neither faster nor slower for certain, as most pairs do not")
    half = [*near(5, 10), *[NONE] * 10]
    (said,) = change_lines(made_of({"sack": {"1s": near(10, 20)}, "vho": {"1s": half}}))
    assert said.startswith("vho is faster by ")


def test_seeds_that_change_nothing_are_no_places_of_a_change(tmp_path: Path) -> None:
    scheme, folder = "flows.download.scheme", tmp_path / "out"
    words = ["--axis", f"{scheme}=sack,freeze", "--axis", "handoffs.0.at=0.1s:0.8s:0.1s"]
    words += ["--axis", "seed=1,2", "--set", "flows.download.size=20 MB", "--compare", scheme]
    assert main(["sweep", "wifi-to-lte", *words, "--out", str(folder)]) == 0
    (said,) = change_lines(Summary.of(Sweep.read(folder), folder))
    assert said.endswith("), but slower at 1 of 8 instants (0.4 s), by 18 %")
