"""Checks of the arguments of Python functions that the core or a library would refuse in its own
words.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import MidflightError

__all__ = [
    "check_axes",
    "check_path",
    "check_seconds",
    "check_threads",
    "check_whole",
    "wrong",
]


def wrong(name: str, value: object, accepted: str) -> MidflightError:
    """Return the error for an argument that is not what is accepted."""
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
        raise wrong(name, value, f"a whole number from {least}{more}")


def check_threads(threads: object) -> None:
    """Raise `MidflightError` for what is not a number of threads."""
    check_whole("threads", threads, 0, " (0 is one for each processor)")


def check_seconds(name: str, value: object) -> None:
    """Raise `MidflightError` for what is neither None nor a finite number."""
    if value is None:
        return
    number = isinstance(value, int | float) or hasattr(value, "__float__")
    if isinstance(value, bool) or not number or not math.isfinite(float(value)):  # type: ignore[arg-type]
        raise wrong(name, value, "a number of seconds, such as 0.5")


def check_path(name: str, value: Any) -> Path:
    """Return the path of a file; raises `MidflightError` for what names none."""
    if not isinstance(value, str | os.PathLike):
        raise wrong(name, value, 'the path of a file, such as "figure.png"')
    return Path(value)


def check_axes(axes: object, compare: object) -> None:
    """Refuse axes that are no values by the paths to them."""
    accepted = 'a mapping of paths to values, such as {"links.lte.rate": ["5 Mbit/s"]}'
    is_table = isinstance(axes, Mapping) and all(isinstance(key, str) for key in axes)
    if axes is not None and not is_table:
        raise wrong("axes", axes, accepted)
    if not isinstance(compare, str | None):
        raise wrong("compare", compare, "the path of an axis")
