"""Functions that `Setup` replaces, under their earlier names; the next release removes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import LongFlow, Roaming, Setup, Table

__all__ = [
    "capture",
    "capture_long_flow",
    "capture_roaming",
    "trace",
    "trace_long_flow",
    "trace_roaming",
]


def _setup(until_ns: int | None, keywords: dict[str, Any]) -> tuple[Setup, str]:
    """Return the run of a handoff, and the name of the flow of a number."""
    from midflight import _core

    flow = keywords.pop("flow", 0)
    if until_ns is not None:
        keywords["end_ns"] = until_ns
    elif keywords.get("at_ns") is None:
        raise refusal(
            "a run without a handoff needs an end: give at_ns or until_ns",
            name="until_ns",
            accepted="at_ns or until_ns",
        )
    setup = _core.Setup.handoff(**keywords)
    names = [one["name"] for one in setup.flows]
    if not 0 <= flow < len(names):
        accepted = f"0 to {len(names) - 1}"
        raise refusal(
            f"the flow to trace {flow} is out of range; expected {accepted}, the numbers of the "
            "flows of the run",
            name="flow",
            value=flow,
            accepted=accepted,
        )
    return setup, names[flow]


def trace(*, until_ns: int | None = None, **keywords: Any) -> Table:
    """Return `Setup.handoff(...).trace(...)` of the flow of number `flow`."""
    setup, flow = _setup(until_ns, keywords)
    return setup.trace(flow=flow)


def capture(
    *, until_ns: int | None = None, snaplen: int = 128, **keywords: Any
) -> dict[str, bytes]:
    """Return `Setup.handoff(...).capture(...)` of the flow of number `flow`."""
    setup, flow = _setup(until_ns, keywords)
    return setup.capture(flow=flow, snaplen=snaplen)


def _trace(
    of: LongFlow | Roaming,
    *,
    run: int = 0,
    from_ns: int = 0,
    until_ns: int | None = None,
    events: Sequence[str] = (),
) -> Table:
    """Return `setup(run).trace(...)`."""
    return of.setup(run).trace(from_ns=from_ns, until_ns=until_ns, only=list(events))


def _capture(
    of: LongFlow | Roaming, *, run: int = 0, until_ns: int | None = None, snaplen: int = 128
) -> dict[str, bytes]:
    """Return `setup(run).capture(...)`."""
    return of.setup(run).capture(until_ns=until_ns, snaplen=snaplen)


trace_long_flow = trace_roaming = _trace
capture_long_flow = capture_roaming = _capture
