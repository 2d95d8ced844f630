"""Fonts within an SVG: its text stays text, and has the widths for which it was laid out also where
the font is not installed.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["with_fonts"]

_TEXT = re.compile(r"<text[^>]*>.*?</text>", re.DOTALL)
_TAGS = re.compile(r"<[^>]*>")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}


def with_fonts(svg: str, families: Sequence[str], last: str) -> str:
    """Return an SVG of matplotlib with the letters that it uses of these font families, and with
    the generic family `last` behind them for other letters.
    """
    used: dict[tuple[str, str], set[str]] = {}
    for text in _TEXT.findall(svg):
        plain = _TAGS.sub("", text)
        for entity, one in _ENTITIES.items():
            plain = plain.replace(entity, one)
        # Mathematics has upright and italic letters.
        styles = ("normal", "italic") if "italic" in text else ("normal",)
        weight = "bold" if "bold" in text else "normal"
        for style in styles:
            used.setdefault((weight, style), set()).update(plain)
    rules = [rule for key in sorted(used) for rule in _rules(families, used[key], *key)]
    named = ", ".join(f"'{one}'" for one in families)
    svg = svg.replace(named, f"{named}, {last}")
    return svg.replace('<style type="text/css">', f'<style type="text/css">{"".join(rules)}', 1)


def _rules(families: Sequence[str], letters: set[str], weight: str, style: Any) -> Iterator[str]:
    """Yield a rule for each family that has some of the letters."""
    from fontTools import subset
    from fontTools.ttLib import TTFont
    from matplotlib.font_manager import FontProperties, findfont

    left = {ord(one) for one in letters if not one.isspace()}
    for family in families:
        found = findfont(FontProperties(family=family, weight=weight, style=style))
        font = TTFont(found, recalcTimestamp=False)
        have = left & set(font.getBestCmap())
        if not have:
            continue
        left -= have
        options = subset.Options(hinting=False, recalc_timestamp=False, layout_features=["kern"])
        options.drop_tables += ["FFTM"]
        maker = subset.Subsetter(options)
        maker.populate(unicodes=[*sorted(have), ord(" ")])
        maker.subset(font)
        font.flavor = "woff"
        file = io.BytesIO()
        font.save(file)
        data = base64.b64encode(file.getvalue()).decode()
        yield (
            f"@font-face {{font-family: '{family}'; font-weight: {weight}; font-style: {style}; "
            f"src: url(data:font/woff;base64,{data})}}\n"
        )
