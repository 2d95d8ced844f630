"""Classes with the keys of a scenario's tables as keywords."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

__all__ = ["part"]

Part = TypeVar("Part")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def part(of: type[Part]) -> type[Part]:
    """Make a class a part of a scenario, with its keys as keywords; one that it does not have is a
    `TypeError` that suggests a similar one.
    """
    made: Any = dataclass(frozen=True, kw_only=True)(of)
    init = made.__init__

    @functools.wraps(init)
    def suggesting(self: Any, *args: Any, **keys: Any) -> None:
        known = [one.name for one in fields(made)]
        for key in keys:
            if key not in known:
                from midflight.meant import did_you_mean

                near = did_you_mean(key, known)
                raise TypeError(f'a {of.__name__} has no "{key}"{near}; it has {", ".join(known)}')
        init(self, *args, **keys)

    made.__init__ = suggesting
    found: type[Part] = made
    return found
