"""Checks of the arguments of Python functions that the core or a library would refuse in its own
words.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import MidflightError
    from midflight.policy import Policies

__all__ = [
    "check_axes",
    "check_path",
    "check_policies",
    "check_seconds",
    "check_threads",
    "check_whole",
]


def _wrong(name: str, value: object, accepted: str) -> MidflightError:
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return refusal(
        f"{name}: {shown} is not accepted; expected {accepted}",
        name=name,
        value=value,
        accepted=accepted,
    )


def check_whole(name: str, value: object, least: int, more: str = "") -> None:
    """Raise `MidflightError` for what is not a whole number of at least so much."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < least:
        raise _wrong(name, value, f"a whole number from {least}{more}")


def check_threads(threads: object) -> None:
    """Raise `MidflightError` for what is not a number of threads."""
    check_whole("threads", threads, 0, " (0 is one for each processor)")


def check_seconds(name: str, value: object) -> None:
    """Raise `MidflightError` for what is neither None nor a finite number."""
    if value is None:
        return
    number = isinstance(value, int | float) or hasattr(value, "__float__")
    if isinstance(value, bool) or not number or not math.isfinite(float(value)):  # type: ignore[arg-type]
        raise _wrong(name, value, "a number of seconds, such as 0.5")


def check_path(name: str, value: Any) -> Path:
    """Return the path of a file; raises `MidflightError` for what names none."""
    if not isinstance(value, str | os.PathLike):
        raise _wrong(name, value, 'the path of a file, such as "figure.png"')
    return Path(value)


def check_policies(policies: Policies | None) -> Policies | None:
    """Return your own policies; raises `MidflightError` for what makes none, and for a congestion
    controller without `on_ack`.
    """
    from midflight.controller import CongestionController

    if policies is None:
        return None
    accepted = 'a mapping of names to classes, such as {"mine": MyPolicy}'
    if not isinstance(policies, Mapping):
        raise _wrong("policies", policies, accepted)
    for name, made in policies.items():
        if not callable(made):
            shown = f"{made!r} of the type {type(made).__name__}"
            raise refusal(
                f'policies: "{name}" is {shown}; expected {accepted}',
                name="policies",
                value=made,
                accepted=accepted,
            )
        is_controller = inspect.isclass(made) and issubclass(made, CongestionController)
        if is_controller and made.on_ack is CongestionController.on_ack:  # type: ignore[attr-defined]
            raise refusal(
                f'the congestion controller "{name}" cannot be used: {made.__name__} has no '
                "on_ack(view), which returns a midflight.Control or None",
                name=name,
                value=made.__name__,
                accepted="a class with on_ack(view)",
            )
    return policies


def check_axes(axes: object, compare: object) -> None:
    """Refuse axes that are no values by the paths to them."""
    accepted = 'a mapping of paths to values, such as {"links.lte.rate": ["5 Mbit/s"]}'
    is_table = isinstance(axes, Mapping) and all(isinstance(key, str) for key in axes)
    if axes is not None and not is_table:
        raise _wrong("axes", axes, accepted)
    if not isinstance(compare, str | None):
        raise _wrong("compare", compare, "the path of an axis")
