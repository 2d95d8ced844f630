"""The error for a value that is not accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from midflight import MidflightError

Refusal = TypeVar("Refusal", bound="MidflightError")


def refusal(
    message: str, *, name: str | None = None, value: object = None, accepted: str | None = None
) -> MidflightError:
    """Return the error to raise, with the same attributes as the core's errors.

    `name` is the setting, option or column, `value` the value that was given, `accepted` the
    accepted values.
    """
    from midflight import MidflightError

    return about(MidflightError(message), name=name, value=value, accepted=accepted)


def about(error: Refusal, *, name: str | None, value: object, accepted: str | None) -> Refusal:
    """Return an error with the attributes that describe it."""
    error.name, error.accepted = name, accepted
    error.value = None if value is None else str(value)
    return error
