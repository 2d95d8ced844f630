"""Why nothing of a flow arrived between two instants, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from midflight.explain.events import History, Stall, widening
from midflight.explain.steps import Steps
from midflight.explain.waits import FirstLoss, in_short

if TYPE_CHECKING:
    from midflight._core import Setup

__all__ = ["first_loss", "why_silent"]


def first_loss(history: History, stall: Stall) -> FirstLoss | None:
    """Return where the segment that a sender waited for was lost at first; None if it was not."""
    for copy in history.copies(stall.waited, stall.end_ns)[:1]:
        if copy.dropped is not None:
            text = f"segment {stall.waited} was {Steps(history).loss_text(copy.dropped)}"
            return FirstLoss(copy.dropped.time_ns, text)
    return None


def why_silent(setup: Setup, flow: str, begin_ns: int, end_ns: int) -> str:
    """Return why nothing arrived from one instant until an arrival at another; "" if that is not
    known, or if nothing arrived then.
    """

    def look(size: int) -> str:
        history = History(setup, flow=flow, near_ns=end_ns, size=size)
        came = [one for one in history.instant(end_ns) if one.event == "rcv"]
        if not came:
            return ""
        gap = Stall(begin_ns, end_ns, came[0].index, is_ended=True, waited=came[0].number)
        return in_short(history, gap, first_loss(history, gap))

    return widening(look)
