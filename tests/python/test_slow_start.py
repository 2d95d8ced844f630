"""What ends slow start, and how a recovery reduces the window, as settings of every sender."""

from __future__ import annotations

from typing import Any

import pytest

from midflight import MidflightError, Scenario


def run(**sets: str) -> dict[str, Any]:
    """10 MB over 50 Mbit/s and 60 ms with a queue of four BDP."""
    read = {
        "links": {"one": {"rate": "50 Mbit/s", "delay": "20 ms", "queue": "4 bdp"}},
        "flows": {"download": {"size": "10 MB"}},
    }
    flows = Scenario.from_dict(read).but(sets).run().flows
    return {name: flows.column(name)[0] for name in ("drops_queue", "duration_ns", "digest")}


@pytest.mark.parametrize("profile", ["linux", "rfc"])
@pytest.mark.parametrize("controller", ["reno", "cubic", "reno-linux"])
def test_hystart_plus_loses_a_half_at_most(controller: str, profile: str) -> None:
    """A queue of four BDP overflows in the standard slow start; HyStart++ ends it by the delay."""
    sets = {"profile": profile, "set.congestion": controller}
    standard = run(**sets)
    plus = run(**sets, **{"set.slow_start": "hystart++"})
    assert plus["drops_queue"] < 0.5 * standard["drops_queue"]
    assert plus["duration_ns"] < 1.05 * standard["duration_ns"]


def test_hystart_plus_takes_the_place_of_linux_hystart() -> None:
    """With the kernel's own switched off it is the same run."""
    plus = {"set.slow_start": "hystart++"}
    assert run(**plus)["digest"] == run(**plus, **{"set.cubic_linux_hystart": "off"})["digest"]
    assert run(**plus)["digest"] != run()["digest"]
    with pytest.raises(MidflightError, match=r"expected controller, hystart\+\+"):
        run(**{"set.slow_start": "none"})


def test_the_rfcs_reduction_is_the_kernels_where_the_window_is_in_use() -> None:
    assert run(**{"set.prr": "rfc9937"})["digest"] == run()["digest"]
    with pytest.raises(MidflightError, match="expected linux, rfc9937"):
        run(**{"set.prr": "rfc6937"})
