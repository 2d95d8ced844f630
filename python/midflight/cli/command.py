"""A command that refuses superfluous words, options given twice, and options of earlier versions.

The words of a question's source, such as `handoff --old ...` of `midflight explain`, become one.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from midflight.cli.output import UserError
from midflight.meant import meant

__all__ = ["Command", "usage_message"]

#: Placeholders of repeatable options that name something.
NAMING = ("KEY=", "NAME=", "PATH=")
#: Commands for one run; its source may be a question with its own options.
OF_SOURCES = ("explain", "diff", "plot")
#: Commands whose --set takes the paths of a scenario.
OF_SCENARIOS = ("run", "report", "sweep", "compare", *OF_SOURCES)
#: Options that may be repeated, or have several names with commas between them.
LISTS = ("--scheme", "--flow")

#: Options of earlier versions and their replacements, by command.
OLD = {
    "check": {"--knob": "--set", "--column": "--columns"},
    "handoff": {"--fixed": "--wired", "--notify-delay": "--notice-delay"},
    "startup": {"--fixed": "--wired"},
    "flow": {
        "--limit": "--queue",
        "--wired-limit": "--wired-queue",
        "--then-limit": "--then-queue",
        "--until": "--marks",
        "--notify-delay": "--notice-delay",
    },
    "roam": {
        "--fixed": "--residents",
        "--limit": "--queue",
        "--blackout": "--gap",
        "--back-loss": "--up-loss",
    },
}


#: How commands for a scenario set what is an option elsewhere.
BY_PATH = {
    "--delay": "--set links.NAME.delay=TIME",
    "--loss": "--set links.NAME.loss=MODEL",
    "--queue": "--set links.NAME.queue=SIZE",
    "--rate": "--set links.NAME.rate=RATE",
    "--scheme": "--set flows.NAME.scheme=NAME",
    "--size": "--set flows.NAME.size=SIZE",
    "--stack": "--set flows.NAME.stack=NAME",
    "--trace": "--set links.NAME.trace=FILE",
}

#: What an option of `midflight sweep` and `midflight report` is called in another command.
_ELSEWHERE = {("plot", "--metric"): "--y"}


def usage_message(error: Any) -> str:
    """Return the sentence on a command line that is not accepted, with the page that helps."""
    context = getattr(error, "ctx", None)
    help_page = f"{context.command_path if context is not None else 'midflight'} --help"
    option = getattr(error, "option_name", None)
    if option is None or context is None or not hasattr(error, "possibilities"):
        message = error.format_message().rstrip(".")
        return f"{message}{' See' if message.endswith('?') else '; see'} {help_page}"
    known = [name for one in context.command.params for name in (*one.opts, *one.secondary_opts)]
    names = {name.lstrip("-"): name for name in known if name.startswith("--")}
    same = _ELSEWHERE.get((str(context.command.name), option))
    near = meant(option.lstrip("-"), names)
    if context.command.name in OF_SCENARIOS and "--set" in known and option in BY_PATH:
        several = "; midflight report and midflight plot compare several"
        hint = f" ({BY_PATH[option]} sets it{several if option == '--scheme' else ''})"
    elif same is not None:
        hint = f" ({same} does that)"
    elif near is not None:
        hint = f" (did you mean {names[near]}?)"
    else:
        hint = ""
    return f"{context.command_path} has no option {option}{hint}; see {help_page}"


class Command(TyperCommand):
    """A command of the program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; refuse options given twice, because the last one would win
        silently.
        """
        if not ctx.resilient_parsing:
            if self.name in OF_SOURCES:
                args = self.with_source(args)
            self.refuse_old(args)
            values, left, given = self.make_parser(ctx).parse_args(args=list(args))
            if left:
                raise UserError(self.too_much(ctx.command_path, left))
            for what, count in repeated(values, given):
                raise UserError(f"{what} is given {count} times; once is accepted")
        left_over = super().parse_args(ctx, args)
        for option in self.params:
            if is_list(option) and ctx.params.get(option.name):
                ctx.params[option.name] = split(ctx.params[option.name])
        return left_over

    def refuse_old(self, args: Sequence[str]) -> None:
        """Refuse an option of an earlier version, naming the one that has taken its place."""
        for word in args:
            option = word.partition("=")[0]
            new = OLD.get(str(self.name), {}).get(option)
            if new is not None:
                raise UserError(f"{option} has another name now; {new} is accepted")

    def takes_value(self, option: str) -> bool | None:
        """Whether an option has a value; None if there is no such option."""
        for one in self.params:
            if isinstance(one, TyperOption) and option in (*one.opts, *one.secondary_opts):
                return not one.is_flag
        return None

    def with_source(self, args: Sequence[str]) -> list[str]:
        """Return the words with those of each question as one.

        After the name of a question an option that the question has is the question's.
        """
        from midflight.cli.source import DEFINITIONS

        own: list[str] = []
        questions: list[list[str]] = []
        left = list(args)
        while left:
            word = left.pop(0)
            option, has_value, _ = word.partition("=")
            of_question = DEFINITIONS[questions[-1][0]].source if questions else None
            taker, into = self, own
            if word.startswith("-") and of_question is not None:
                if of_question.takes_value(option) is not None or self.takes_value(option) is None:
                    taker, into = of_question, questions[-1]
            elif word in DEFINITIONS:
                questions.append([word])
                own.append(word)
                continue
            into.append(word)
            takes = taker.takes_value(option)
            if takes is None and of_question is not None:
                # An unknown option takes a possible value along, so that the error names it.
                takes = bool(left) and not left[0].startswith("-")
            if word.startswith("-") and not has_value and left and takes:
                into.append(left.pop(0))
        for question in questions:
            own[own.index(question[0])] = shlex.join(question)
        return own

    def too_much(self, command: str, left: list[str]) -> str:
        """Return a message for superfluous words, with the accepted ones."""
        arguments = [one for one in self.params if isinstance(one, TyperArgument)]
        names = [one.metavar or str(one.name) for one in arguments]
        accepted = " ".join([command, *names])
        words = ", ".join(f'"{word}"' for word in left)
        return (
            f"{words} {'is' if len(left) == 1 else 'are'} too much; {accepted} with options is "
            f"accepted; see {command} --help"
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
            words = values[param.name]
            words = split(words) if is_list(param) else words
            counts.update(f"{param.opts[0]} {named(param, word)}" for word in words)
    return [(what, count) for what, count in counts.items() if count > 1]


def has_one_value(option: TyperOption) -> bool:
    """Whether an option that is given twice has two values, and only one is used."""
    return not (option.multiple or option.count or (option.is_flag and not option.secondary_opts))


def is_list(option: Any) -> bool:
    """Whether an option takes several names with commas between them."""
    return isinstance(option, TyperOption) and option.multiple and option.opts[0] in LISTS


def split(words: Sequence[str]) -> list[str]:
    """Return names that have commas between them."""
    return [name.strip() for word in words for name in word.split(",")]


def named(option: TyperOption, word: str) -> str:
    """Return the name of a value: the key of KEY=VALUE, or else the value itself."""
    is_naming = (option.metavar or "").startswith(NAMING)
    return (word.partition("=")[0] if is_naming else word).strip()
