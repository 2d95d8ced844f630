"""Means, differences and ratios with their confidence intervals."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import midflight
from midflight import Scenario
from midflight.results import (
    Columns,
    difference_ci,
    mean_ci,
    ratio_ci,
    t_quantile,
    weighted_quantile,
)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, 12.7062047362),
        (2, 4.3026527297),
        (3, 3.1824463053),
        (4, 2.7764451052),
        (10, 2.2281388520),
        (29, 2.0452296421),
        (100, 1.9839715185),
        (999, 1.9623414611),
    ],
)
def test_the_quantiles_of_student_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(freedom) == pytest.approx(quantile, rel=1e-9)


def test_other_shares_of_student_are_those_of_the_tables() -> None:
    assert t_quantile(9, 0.99) == pytest.approx(3.2498355416, rel=1e-9)
    assert t_quantile(30, 0.90) == pytest.approx(1.6972608866, rel=1e-9)


def test_a_mean_has_the_interval_of_student() -> None:
    mean, half_width = mean_ci([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3.0
    assert half_width == pytest.approx(2.7764451052 * math.sqrt(2.5 / 5))


def test_what_has_no_interval_says_so() -> None:
    assert all(math.isnan(value) for value in mean_ci([]))
    assert mean_ci([2.0]).mean == 2.0
    assert math.isnan(mean_ci([2.0]).half_width)
    assert math.isnan(mean_ci([1.0, math.nan]).mean)
    assert all(math.isnan(value) for value in ratio_ci([], []))
    assert ratio_ci([3.0], [2.0]).value == 0.5
    # The mean of 0.1, 9 and 30 is not told from 0, but nothing has changed.
    assert ratio_ci([0.1, 9.0, 30.0], [0.1, 9.0, 30.0]) == (0.0, 0.0, 0.0)
    assert math.isinf(ratio_ci([0.1, 9.0, 31.0], [0.1, 9.0, 30.0]).high)
    # Of nothing there is no share.
    assert all(math.isnan(value) for value in ratio_ci([0.0, 0.0], [0.0, 0.0]))
    assert math.isnan(ratio_ci([3.0], [2.0]).low)


def test_widths_of_intervals_that_are_only_rounding_are_0() -> None:
    base = np.array([10.1, 11.2, 12.3])
    assert difference_ci(base + 0.1, base).half_width == 0.0
    assert mean_ci([0.1 + 0.2, 0.3, 0.3]).half_width == 0.0
    found = ratio_ci(1.7 * base, base)
    assert found.low == found.value == found.high
    found = ratio_ci([0.1 + 0.2, 0.3, 0.3], [0.1, 0.1, 0.1])
    assert found.low == found.value == found.high
    # What is small beside the values, but more than rounding, is no 0.
    assert difference_ci([1.0, 1.0, 1.0 + 1e-7], [1.0, 1.0, 1.0]).half_width > 0


def test_differences_are_taken_run_by_run() -> None:
    a = np.array([10.0, 20.0, 30.0, 40.0])
    assert difference_ci(a + 1, a) == (1.0, 0.0)
    with pytest.raises(ValueError, match="paired runs"):
        difference_ci(a, a[:2])


def test_a_fixed_ratio_has_no_width() -> None:
    b = np.array([3.0, 4.0, 5.0])
    assert ratio_ci(1.25 * b, b) == pytest.approx((0.25, 0.25, 0.25))


def test_the_bounds_of_a_ratio_are_where_the_difference_meets_zero() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    b = rng.normal(60.0, 6.0, 30)
    a = 1.1 * b + rng.normal(0.0, 4.0, 30)
    ratio = ratio_ci(a, b)
    assert ratio.low < ratio.value < ratio.high
    assert ratio.value == pytest.approx(a.mean() / b.mean() - 1)
    for bound in (ratio.low, ratio.high):
        mean, half_width = difference_ci(a, (1 + bound) * b)
        assert abs(mean) == pytest.approx(half_width)


def test_a_ratio_to_what_may_be_zero_is_not_bounded() -> None:
    _, low, high = ratio_ci([1.0, 2.0, 3.0], [-1.0, 1.0, 0.5])
    assert (low, high) == (-math.inf, math.inf)


def test_a_weighted_quantile_of_nothing_is_missing() -> None:
    assert weighted_quantile(np.array([3.0, 1.0]), np.array([1.0, 3.0]), 0.5) == 1
    assert math.isnan(weighted_quantile(np.array([]), np.array([]), 0.5))


def test_tables_become_frames_of_pandas() -> None:
    plan = Scenario.read("wifi-to-lte", sets={"runs": 2, "end": "5 s"}).plan()
    flows, phases = midflight.run_plans([plan])
    columns = Columns({"n": [1, 2], "some": [1, None], "text": ["a", None]})
    for table in (flows, phases, plan.setup(0).trace(), columns):
        frame = table.to_pandas()
        assert list(frame.columns) == table.column_names
        assert len(frame) == table.num_rows
        for name in table.column_names:
            read = [None if one != one else one for one in frame[name]]
            assert read == table.column(name)
    assert columns.to_pandas()["n"].dtype == np.int64


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(midflight.MidflightError, match=r"pip install 'midflight\[pandas\]'") as of:
        Columns({"n": [1]}).to_pandas()
    assert of.value.name == "pandas"
