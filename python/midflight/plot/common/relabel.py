"""Names in the texts of figures and reports: tables of TOML by their values, and labels of names by
other ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from midflight.flow_tables import tables_of
from midflight.plot.common.names import column_name, within_text

__all__ = ["parts_of", "relabelled", "split_at", "values_of_tables", "with_words"]

#: A table of TOML in one line, which may have tables in it.
_TABLE = re.compile(r"\{[^{}]*=(?:[^{}]|\{[^{}]*\})*\}")


def values_of_tables(text: str, but: Collection[str] = ()) -> str:
    """Return a text with the values of tables of TOML in place of these: `quinn, bbr` for
    `{stack = "quinn", cc = "bbr"}`; `but` these tables, which have names.
    """

    def values_in(table: Mapping[str, Any]) -> Iterator[str]:
        for one in table.values():
            yield from values_in(one) if isinstance(one, dict) else [str(one)]

    def values(found: re.Match[str]) -> str:
        if found[0] in but:
            return found[0]
        tables = tables_of([found[0]])
        return ", ".join(values_in(tables[0])) if tables else found[0]

    return _TABLE.sub(values, text) if "{" in text else text


def parts_of(text: str) -> list[str]:
    """The parts of a text between commas, but for commas within tables."""
    found, depth = [""], 0
    for word in re.split(r"(, |[{}])", text):
        depth += (word == "{") - (word == "}")
        if word == ", " and depth == 0:
            found.append("")
        else:
            found[-1] += word
    return found


def with_words(labels: dict[str, str]) -> dict[str, str]:
    """Labels with those of columns, such as flows.download.scheme, by their words as well."""
    columns = {column_name(one): label for one, label in labels.items() if "." in one}
    within = {within_text(one): within_text(label) for one, label in columns.items()}
    return within | columns | labels


def split_at(text: str, names: Iterable[str]) -> list[str]:
    """A text split at names: each second part is one."""
    words = "|".join(re.escape(one) for one in sorted(names, key=len, reverse=True))
    return re.split(rf"(?<![\w-])({words})(?![\w-])", text) if words else [text]


def relabelled(label: str, chosen: Mapping[str, str], every: set[str], used: set[str]) -> str:
    """A usual label with the user's own in place of its words: of the whole, of a part, or of the
    name of a sender, which stands for its congestion control, too, if no label has another one.
    """
    senders = {part for one in every for part in one.split(", ")}
    found = []
    for part in [label] if label in chosen else label.split(", "):
        name = part.partition(" (")[0]
        is_only = sum(one.partition(" (")[0] == name for one in senders) == 1
        whole = part if part in chosen or not is_only else name
        words = [""] * (whole in chosen) + ([whole] if whole in chosen else split_at(part, chosen))
        used.update(words[1::2])
        found.append("".join(chosen[one] if odd % 2 else one for odd, one in enumerate(words)))
    return ", ".join(found)
