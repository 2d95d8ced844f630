"""A command that refuses an option which is given more than once and can have one value only."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption

from midflight.cli.output import UserError

__all__ = ["Command"]


class Command(TyperCommand):
    """A command of the program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; the last value of an option would win silently."""
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for param, count in Counter(given).items():
                if count > 1 and isinstance(param, TyperOption) and has_one_value(param):
                    raise UserError(f"{param.opts[0]} is given {count} times; accepted is once")
        return super().parse_args(ctx, args)


def has_one_value(option: TyperOption) -> bool:
    """Whether an option that is given twice says two things, of which one counts."""
    return not (option.multiple or option.count or (option.is_flag and not option.secondary_opts))
