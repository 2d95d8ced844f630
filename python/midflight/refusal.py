"""The error for a value that is not accepted."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from midflight import MidflightError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
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


#: Options that have another name as arguments of functions.
_ARGUMENTS = {"--style": "look", "--y or --value": "y or value"}
_OPTION = re.compile(r"--y or --value|--[a-z][a-z-]*")


def names_arguments(call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function for Python of code that is also behind a command: its errors have the names
    of arguments, not those of options.
    """

    def argument(option: str) -> str:
        return _ARGUMENTS.get(option) or option.removeprefix("--").replace("-", "_")

    @functools.wraps(call)
    def named(*args: Arguments.args, **keys: Arguments.kwargs) -> Result:
        from midflight import MidflightError

        try:
            return call(*args, **keys)
        except MidflightError as error:
            text = _OPTION.sub(lambda found: argument(found[0]), str(error))
            name = error.name and _OPTION.sub(lambda found: argument(found[0]), error.name)
            raise refusal(text, name=name, value=error.value, accepted=error.accepted) from None

    return named
