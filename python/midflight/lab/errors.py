"""Errors of the lab."""

from __future__ import annotations

from midflight import MidflightError

__all__ = ["LabError"]


class LabError(MidflightError):
    """There is no kernel, it cannot be built, or a guest failed; the message is one sentence."""
