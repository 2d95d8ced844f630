"""How RTT samples change the estimate of a sender."""

from __future__ import annotations

from typing import Any

from midflight.explain.words import seconds_text

__all__ = ["sample_parts"]


def sample_parts(sample_ns: int, before: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """Return the effect of an RTT sample on the estimate."""
    text = f"a sample of {seconds_text(sample_ns)}"
    was, now = before["srtt_ns"], then["srtt_ns"]
    if was is None:
        text = f"the first sample, {seconds_text(sample_ns)}"
    elif share := weight(sample_ns, was, now):
        text += f" counted 1/{share}"
        if share > 8:
            text += f" ({share // 8} samples a window, RFC 7323 appendix G)"
    changes = []
    for name, key in (("smoothed RTT", "srtt_ns"), ("deviation", "rttvar_ns")):
        if then[key] is not None:
            first = "" if before[key] is None else f"{seconds_text(before[key])} -> "
            changes.append(f"{name} {first}{seconds_text(then[key])}")
    return [text, *changes]


def weight(sample_ns: int, was_ns: int, now_ns: int | None) -> int | None:
    """Return the divisor of a sample's weight, if it is one of RFC 6298: 8, or 8 for each."""
    moved = 0 if now_ns is None else now_ns - was_ns
    if moved == 0:
        return None
    share = (sample_ns - was_ns) / moved
    near = 8 * round(share / 8)
    # The mean is kept in whole nanoseconds.
    return near if near > 0 and abs(share - near) * abs(moved) <= near else None
