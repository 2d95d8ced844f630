"""Figures as PGF: drawings whose text the LaTeX document that holds them sets in its own fonts.

matplotlib's backend asks a LaTeX for the width of every text, and needs one to be installed. Here
widths are those of the figure's font: they decide how much room there is beside the panels, and the
document has the last word on the letters.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["pgf_bytes"]

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


def pgf_bytes(figure: Figure) -> bytes:
    """Return a figure that is laid out as PGF code."""
    import matplotlib as mpl
    from matplotlib.artist import Artist
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.backends.backend_pgf import RendererPgf

    width, height = figure.get_size_inches()
    agg: Any = RendererAgg
    base: Any = RendererPgf
    metrics = agg(width * figure.dpi, height * figure.dpi, figure.dpi)

    class Renderer(base):  # type: ignore[misc]
        def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> Any:
            return metrics.get_text_width_height_descent(s, prop, ismath)

        def draw_text(self, gc: Any, x: Any, y: Any, s: str, *more: Any, **named: Any) -> None:
            is_math = named.get("ismath", more[2] if len(more) > 2 else False)
            text = s if is_math else "".join(_SPECIAL.get(one, one) for one in s)
            super().draw_text(gc, x, y, text, *more, **named)

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
