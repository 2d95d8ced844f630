"""Figures as PGF: drawings whose text the LaTeX document that holds them sets in its own fonts.

matplotlib's backend asks a LaTeX for the width of every text, and needs one to be installed. Here
the layout leaves the room that the figure's font or Computer Modern needs, whichever is more, and
the document has the last word on the letters.
"""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from midflight.plot.common.widths import line_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["pgf_bytes", "tex_width"]

#: By how much letters of Computer Modern are wider at a size than those of its 10 pt (cmr5 to
#: cmr10): of small letters there are drawings of their own. The sizes are in points.
_SIZES = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
_WIDER = (1.362, 1.222, 1.139, 1.063, 1.028, 1.0)
#: Heights above and below a base line, and from there to the next one, in sizes of letters.
_ABOVE, _BELOW, _APART = 0.75, 0.25, 1.2

_SPECIAL = {
    **{one: rf"\{one}" for one in "#$&_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
    "\N{MICRO SIGN}": r"\ensuremath{\mu}",
}

_HEAD = r"""%% A figure by midflight. In the document:
%%   \usepackage{pgf}
%%   \input{this file}
\begingroup%
\makeatletter%
\begin{pgfpicture}%
"""
_TAIL = r"""\end{pgfpicture}%
\makeatother%
\endgroup%
"""


@cache
def tex_width(line: str, size_pt: float) -> float:
    """Return the width of a line of text in Computer Modern, in points."""
    import numpy as np

    if not line.strip():
        return 0.0
    wider: float = np.interp(size_pt, _SIZES, _WIDER)
    # Letters that it lacks, and mathematics, are about as wide as those of other fonts with serifs.
    return wider * line_width(line, size_pt, ("cmr10", "STIXGeneral", "DejaVu Serif"))


def pgf_bytes(figure: Figure) -> bytes:
    """Lay a figure out and return it as PGF code."""
    import matplotlib as mpl
    from matplotlib.artist import Artist
    from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
    from matplotlib.backends.backend_pgf import RendererPgf

    from midflight.plot.common.style import arrange

    width, height = figure.get_size_inches()
    agg: Any = RendererAgg
    base: Any = RendererPgf
    metrics = agg(width * figure.dpi, height * figure.dpi, figure.dpi)
    pixel = figure.dpi / 72

    class Measured:
        """What a renderer says of texts."""

        def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> Any:
            wide, high, below = metrics.get_text_width_height_descent(s, prop, ismath)
            return max(wide, tex_width(s, prop.get_size_in_points()) * pixel), high, below

        def _get_font_height_metrics(self, prop: Any) -> tuple[float, float, float]:
            size = prop.get_size_in_points() * pixel
            return _ABOVE * size, _BELOW * size, 0.0

    class Metrics(Measured, agg):  # type: ignore[misc]
        """Measures the texts of a layout."""

    class Canvas(FigureCanvasAgg):
        def get_renderer(self) -> Any:
            return Metrics(width * figure.dpi, height * figure.dpi, figure.dpi)

    class Renderer(Measured, base):  # type: ignore[misc]
        def draw_text(self, gc: Any, x: Any, y: Any, s: str, *more: Any, **named: Any) -> None:
            is_math = named.get("ismath", more[2] if len(more) > 2 else False)
            text = s if is_math else "".join(_SPECIAL.get(one, one) for one in s)
            super().draw_text(gc, x, y, text, *more, **named)

    Canvas(figure)
    # Of what a renderer says is the height of a line.
    arrange(figure, _APART / (_ABOVE + _BELOW))
    for artist in figure.findobj(Artist):
        # An image would be a second file.
        artist.set_rasterized(False)
    code = io.StringIO()
    code.write(_HEAD)
    code.write(
        rf"\pgfpathrectangle{{\pgfpointorigin}}{{\pgfqpoint{{{width:f}in}}{{{height:f}in}}}}%"
        "\n"
        r"\pgfusepath{use as bounding box, clip}%"
        "\n"
    )
    with mpl.rc_context({"pgf.rcfonts": False}):
        figure.draw(Renderer(figure, code))
    code.write(_TAIL)
    return code.getvalue().encode()
