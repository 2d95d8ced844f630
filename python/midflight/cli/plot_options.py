"""The options of `midflight plot`: what they accept, and together with what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from midflight.cli.input import read
from midflight.cli.output import UserError, note

__all__ = [
    "check_schemes",
    "check_yscale",
    "kinds_of",
    "note_labels",
    "read_by_kind",
    "read_ends",
    "read_labels",
    "read_limits",
    "read_one",
    "read_segments",
    "read_time",
    "refuse",
    "result_kind",
    "split_kinds",
]


def split_kinds(words: Sequence[str]) -> list[str]:
    """Return the words of `--kind`; one may have several, separated by commas."""
    return [one.strip() for word in words for one in word.split(",")]


def kinds_of(found: Sequence[str]) -> list[str]:
    """Return the kinds of a figure of runs."""
    from midflight.meant import or_all
    from midflight.plot.over_time.run import KINDS
    from midflight.plot.over_time.watched import OVER_TIME
    from midflight.plot.results.delays import DELAY_CDF
    from midflight.plot.results.spread import SPREADS

    found = list(dict.fromkeys(found))
    of_its_own = (*KINDS, DELAY_CDF)
    known = (*of_its_own, *OVER_TIME)
    for one in found:
        if one in ("median", *SPREADS):
            raise UserError(f"--kind {one} is for a folder of results; one run is shown")
        if one not in known:
            others = or_all(one, known, "midflight plot --help has all")
            raise UserError(f'--kind "{one}" is not a kind of figure{others}')
    if len(found) > 1 and (alone := [one for one in found if one in of_its_own]):
        raise UserError(
            f"--kind {alone[0]} is a figure of its own; together go {', '.join(OVER_TIME)}"
        )
    return found


def check_schemes(
    axes: Sequence[str], schemes: Sequence[str], flows: Sequence[str], scenario: str
) -> None:
    """Refuse `--scheme` for flows whose schemes are an axis, whose names the lines would have.

    `flows` are the names of the flows that get the schemes, by default the first one, `scenario` is
    the scenario in JSON; a study or a question has none, and one scheme.
    """
    from midflight.plot.over_time.history import flow_key

    defined = json.loads(scenario)["flows"] if scenario else {}
    keys = [key for flow in flows if (key := flow_key(defined, flow)) is not None]
    keys = keys or list(defined)[:1]
    replaced = {"scheme", "flows.*.scheme", *(f"flows.{key}.scheme" for key in keys)}
    for word in axes:
        path = word.partition("=")[0].strip()
        if path in replaced:
            raise UserError(
                f"--axis {path} and --scheme {schemes[0]} give schemes for the same flow; give one "
                "of them"
            )


def check_yscale(scales: Mapping[str, str], kinds: Sequence[str]) -> None:
    """Refuse a scale that does not exist, and one for panels that have only one."""
    from midflight.plot.common.options import check_scales
    from midflight.plot.over_time.panel_scales import SCALED

    if scales and {*kinds}.isdisjoint(SCALED):
        raise UserError(f"--yscale is for panels over time: --kind {', '.join(SCALED)}")
    check_scales(scales, kinds, SCALED)


def result_kind(words: Sequence[str]) -> str:
    """Return the kind of a figure of results; exactly one is accepted."""
    from midflight.meant import did_you_mean
    from midflight.plot.over_time.run import KINDS
    from midflight.plot.over_time.watched import OVER_TIME
    from midflight.plot.results.delays import DELAY_CDF
    from midflight.plot.results.spread import SPREADS

    accepted = ("median", *SPREADS)
    found = list(dict.fromkeys(words)) or ["median"]
    for one in found:
        if one in (*KINDS, DELAY_CDF, *OVER_TIME):
            raise UserError(
                f"--kind {one} is for a scenario; of results there are {', '.join(accepted)}"
            )
        if one not in accepted:
            raise UserError(
                f'--kind "{one}" is not a kind of figure of results{did_you_mean(one, accepted)}; '
                f"there are {', '.join(accepted)}"
            )
    if len(found) > 1:
        raise UserError(f"--kind {', '.join(found)}: a figure of results is of one kind")
    return found[0]


def refuse(options: dict[str, Any], why: str, what: str) -> None:
    """Refuse options that are for something else."""
    for option, value in options.items():
        if value is not None:
            raise UserError(f"{why}, and {option} {what}")


def read_time(option: str, text: str) -> float:
    """Read a time as seconds."""
    from midflight import parse_duration

    return float(read(option, parse_duration, text)) / 1e9


def read_labels(words: Sequence[str]) -> dict[str, str]:
    """Read other names of lines and links."""
    found: dict[str, str] = {}
    for word in words:
        # A table, as a value of an axis is, has such signs of its own.
        table, brace, rest = word.rpartition("}=") if word.startswith("{") else ("", "", word)
        name, equals, text = (table + brace[:1], brace[1:], rest) if brace else word.partition("=")
        if not (name and equals and text):
            raise UserError(f'--label "{word}" is not name=text; write for example sack=CUBIC')
        found[_as_shown(name)] = text
    return found


def _as_shown(name: str) -> str:
    """A table as sweeps write it, whichever spaces the user has in it; other names as they are."""
    from midflight.flow_tables import tables_of
    from midflight.sweep import toml_text

    tables = tables_of([name]) if name.startswith("{") else []
    return toml_text(tables[0]) if tables else name


def note_labels(labels: Mapping[str, str]) -> None:
    """Print a note for each label whose name the figure does not show, and for each text that it
    shows for several names.
    """
    from midflight.meant import did_you_mean
    from midflight.plot.common.style import unused_labels

    unused = unused_labels()
    for text in dict.fromkeys(labels.values()):
        names = [name for name, one in labels.items() if one == text and name not in unused]
        if len(names) > 1:
            note(f'--label: the figure shows "{text}" for {" and for ".join(names)}')
    for name, shown in unused.items():
        note(f'--label {name}: the figure shows no "{name}"{did_you_mean(name, sorted(shown))}')


def read_limits(words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Read the ends of axes by the kinds of their panels, "" without a kind."""
    found: dict[str, tuple[float, float]] = {}
    for word in words:
        kind, equals, text = word.rpartition("=")
        if equals and not kind:
            raise UserError(f'--ylim "{word}" has no kind before "="; write for example queue=0:50')
        ends = read_ends("--ylim", text, word, " or KIND=LOW:HIGH", " or queue=0:50")
        if kind in found:
            raise UserError(f"--ylim {word}: the ends of this axis are given twice")
        found[kind] = ends
    return found


def read_ends(
    option: str, text: str, word: str | None = None, or_form: str = "", or_example: str = ""
) -> tuple[float, float]:
    """Read the ends of an axis; `word` is the whole text, which may have other forms."""
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise UserError(
            f'{option} "{text if word is None else word}" is not LOW:HIGH{or_form}; write for '
            f"example 0:50{or_example}"
        ) from None


def read_by_kind(option: str, words: Sequence[str], *, is_text: bool = True) -> dict[str, str]:
    """Read values by the kinds of their panels, "" without a kind. Of a text, what is before an
    equals sign and no kind belongs to it.
    """
    from midflight.meant import or_all
    from midflight.plot.over_time.run import PANELS
    from midflight.plot.over_time.watched import OVER_TIME

    known = (*OVER_TIME, *PANELS)
    found: dict[str, str] = {}
    for word in words:
        kind, equals, text = word.partition("=")
        if equals and kind not in known and not is_text:
            others = or_all(kind, known, "midflight plot --help has all")
            raise UserError(f'{option} {word}: there is no kind "{kind}"{others}')
        kind, text = (kind, text) if equals and kind in known else ("", word)
        if kind in found:
            raise UserError(f"{option} {word}: the one of this axis is given twice")
        found[kind] = text
    return found


def read_one(option: str, words: Sequence[str] | None) -> str | None:
    """Return the only word of an option that may be repeated for panels."""
    if words is not None and len(words) > 1:
        raise UserError(f"{option} {words[1]}: the figure has one panel; give {option} once")
    return words[0] if words else None


def read_segments(text: str) -> tuple[int, int]:
    """Read a range of segment numbers."""
    low, colon, high = text.partition(":")
    if not (colon and low.strip().isdigit() and high.strip().isdigit() and int(low) < int(high)):
        raise UserError(
            f'--segments "{text}" is not a range of segments; write for example 100:250'
        )
    return int(low), int(high)
