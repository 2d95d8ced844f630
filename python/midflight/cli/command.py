"""A command that refuses what is too much, or given twice where it can be meant only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from midflight.cli.output import UserError

__all__ = ["Command"]

#: What an option that may be repeated says of something that it names.
NAMING = ("KEY=", "NAME=")


class Command(TyperCommand):
    """A command of the program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; of what is given twice the last would win silently."""
        if not ctx.resilient_parsing:
            values, left, given = self.make_parser(ctx).parse_args(args=list(args))
            if left:
                raise UserError(self.too_much(left))
            for what, count in repeated(values, given):
                raise UserError(f"{what} is given {count} times; once is accepted")
        return super().parse_args(ctx, args)

    def too_much(self, left: list[str]) -> str:
        """Return what is wrong with words that are left over, and what is accepted."""
        arguments = [one for one in self.params if isinstance(one, TyperArgument)]
        names = [one.metavar or str(one.name) for one in arguments]
        accepted = " ".join(["midflight", str(self.name), *names])
        words = ", ".join(f'"{word}"' for word in left)
        return (
            f"{words} {'is' if len(left) == 1 else 'are'} too much; {accepted} with options is "
            f"accepted; see midflight {self.name} --help"
        )


def repeated(values: Mapping[str, Any], given: list[Any]) -> list[tuple[str, int]]:
    """Return the options, and what options that may be repeated name, that are given again."""
    counts: Counter[str] = Counter()
    for param, count in Counter(given).items():
        if not isinstance(param, TyperOption):
            continue
        if has_one_value(param):
            counts[param.opts[0]] = count
        elif param.multiple and param.name is not None:
            counts.update(f"{param.opts[0]} {named(param, word)}" for word in values[param.name])
    return [(what, count) for what, count in counts.items() if count > 1]


def has_one_value(option: TyperOption) -> bool:
    """Whether an option that is given twice says two things, of which one counts."""
    return not (option.multiple or option.count or (option.is_flag and not option.secondary_opts))


def named(option: TyperOption, word: str) -> str:
    """Return what a value is of: the key of KEY=VALUE, or else the value itself."""
    is_naming = (option.metavar or "").startswith(NAMING)
    return (word.partition("=")[0] if is_naming else word).strip()
