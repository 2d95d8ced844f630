"""What a sweep's verdict says first: in short sentences, and before the tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from midflight.cli import main
from midflight.plot import plot_best
from midflight.sweep import Sweep
from midflight.sweep_effects import effect_notes
from midflight.sweep_summary import Summary
from midflight.sweep_verdict import First, _comparable, _few, _short, _Where, best_lines
from midflight.sweep_words import direction_of
from test_sweep_words import made_of, near

AT = "handoffs.0.at"


@pytest.fixture(scope="module")
def tunnel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six combinations of which none has a clearly best scheme."""
    out = tmp_path_factory.mktemp("tunnel") / "out"
    words = [
        "--axis",
        "flows.video.scheme=sack,enhanced,freeze,bbr3",
        "--axis",
        f"{AT}=28s,30s,33s",
    ]
    words += ["--axis", "flows.video.set.video_buffer=8 s,16 s,24 s"]
    words += ["--axis", "handoffs.0.gap=5s,12s", "--compare", "flows.video.scheme"]
    assert main(["sweep", "video-tunnel", *words, "--out", str(out)]) == 0
    return out


def test_a_verdict_on_many_combinations_is_two_short_sentences(tunnel: Path) -> None:
    made = Summary.of(Sweep.read(tunnel), tunnel)
    (said,) = best_lines(made)
    assert said == (
        "None is clearly best in any of 6 combinations. enhanced, sack and freeze are clearly "
        "worse in none"
    )
    # The whole one stands below, folded.
    (whole,) = best_lines(made, whole=True)
    assert "everywhere with buffer of video 8 s" in whole


def test_the_verdict_is_before_the_tables(tunnel: Path) -> None:
    made = Summary.of(Sweep.read(tunnel), tunnel)
    (said,) = best_lines(made)
    text = made.text(tunnel)
    head = text[: text.index(f"72 cells in {tunnel}")]
    assert " ".join(head.split()) == f"{said}."


def test_the_mean_change_is_said_to_be_of_all_combinations() -> None:
    unclear = [5.0, 20.0, 9.0, 12.0]
    made = made_of({"sack": {"1s": near(10), "2s": near(10)}, "a": {"1s": unclear, "2s": near(5)}})
    assert any("over all combinations together" in one for one in effect_notes(made))


@pytest.mark.parametrize(
    ("axes", "found"),
    [
        (["links.lte.rate", "links.lte.queue", AT], "links.lte.queue"),
        (["links.lte.rate", "links.lte.delay", "flows.f.size", "handoffs.0.gap", AT], None),
        (["links.lte.queue", "flows.f.scheme"], "flows.f.scheme"),
        (["links.lte.rate", "flows.f.set.min_rto"], "flows.f.set.min_rto"),
        (["set.controller", "links.lte.rate"], "set.controller"),
    ],
)
def test_what_one_chooses_may_be_compared(axes: list[str], found: str | None) -> None:
    asked = SimpleNamespace(axes={one: ["1", "2"] for one in axes})
    made: Any = SimpleNamespace(asked=asked)
    assert _comparable(made) == found


def test_a_map_of_what_is_best_of_a_table_is_refused(tmp_path: Path) -> None:
    table = {"scheme": ["a", "b"], "duration_ns": [1, 2]}
    with pytest.raises(TypeError, match=r"source: dict is a table; .* folder of a sweep"):
        plot_best(table, tmp_path / "x.png")


def test_values_that_are_the_same_are_counted_once() -> None:
    """The numbers of a sentence are of different combinations."""
    tied, alone = First(("sack", "a"), (), ("b", "c")), First(("b",), (), ("sack", "a", "c"))
    other = First(("c",), (), ("sack", "a", "b"))
    said = _short([alone, alone, alone, tied, tied, other], direction_of("duration_ns"))
    assert said == (
        "no single one is best: clearly the fastest is b in 3 of 6 combinations, sack and a (the "
        "same there) in 2, c in 1"
    )


def test_what_ties_somewhere_is_said_where_few_values_are_named() -> None:
    places = [str(one) for one in range(5)]
    firsts = [First(("b",), (), ("sack", "a"), (one,)) for one in places[:2]]
    firsts += [First(("a",), (), ("sack", "b"), (one,)) for one in places[2:4]]
    firsts.append(First(("sack", "a"), (), ("b",), (places[4],)))
    said = _few(firsts, direction_of("duration_ns"), _Where(firsts, ["seed"]))
    assert said.startswith("no single one is best: a is the fastest in 3 of 5 combinations, and ")
    assert "sack is the same in 1 of them; b in the other 2" in said
