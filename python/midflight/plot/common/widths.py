"""How wide a text will be drawn."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["line_width"]


def line_width(line: str, size_pt: float, families: Sequence[str]) -> float:
    """Return the width of a line of text in points, up to where a next letter would begin, in the
    first of these families that has its letters.
    """
    from matplotlib.cbook import is_math_text
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=list(families), size=size_pt)
    if is_math_text(line):
        try:
            return float(text_to_path.get_text_width_height_descent(line, font, True)[0])
        except ValueError:
            # Dollar signs of data are no mathematics.
            pass
    else:
        line = line.replace(r"\$", "$")
    return float(text_to_path.get_text_width_height_descent(line, font, False)[0])
