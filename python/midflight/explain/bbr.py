"""The times in which BBR measured the round trip, from what its window did."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["ProbeRtt", "is_bbr", "probes_of_rtt"]

#: BBR holds a small window for so long, and for a round trip, once so little is in flight.
_HELD_NS = 200_000_000
#: The window falls below this share at once, and returns at once to this share of what it was.
_FALLEN, _RETURNED = 0.5, 0.9


class ProbeRtt(NamedTuple):
    """From when to when BBR was in ProbeRTT, and at which window."""

    begin_ns: int
    end_ns: int
    cwnd: float

    def holds(self, at_ns: int) -> bool:
        """Whether it was in it at an instant."""
        return self.begin_ns <= at_ns < self.end_ns

    @property
    def words(self) -> str:
        """What it did then."""
        from midflight.explain.words import number, when

        return (
            f"BBR was in ProbeRTT from {when(self.begin_ns)} to {when(self.end_ns)}: it held its "
            f"window at {number(self.cwnd)} segments, to measure the round trip without a queue"
        )


def is_bbr(scheme: object) -> bool:
    """Whether a scheme has BBR, by its name."""
    return "bbr" in str(scheme).lower()


def probes_of_rtt(setup: Setup, flow: str) -> list[ProbeRtt]:
    """Return the times in which a flow with BBR was in ProbeRTT, in their order.

    Events do not have the state. But nothing else makes its window fall to less than a half at
    once, stay there for 200 ms or more, and return at once to what it was.
    """
    scheme = next(one["scheme"] for one in setup.flows if one["name"] == flow)
    if not is_bbr(scheme):
        return []
    trace = setup.trace(flow=flow, only=["cwnd"])
    columns = (trace.column(one) for one in ("time_ns", "value", "by"))
    rows = list(zip(*columns, strict=True))
    found = []
    following = zip(rows, rows[1:], rows[2:], strict=False)
    for (_, before, _), (begin, cwnd, by), (end, after, of) in following:
        is_held = by == of == "controller" and end - begin >= _HELD_NS
        if is_held and cwnd < _FALLEN * before and after >= _RETURNED * before:
            found.append(ProbeRtt(begin, end, cwnd))
    return found
