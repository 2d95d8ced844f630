"""Figures of papers, one module for each kind, and figures of your own runs.

`plot_run` draws a flow of a scenario over time, `plot_over_time` throughput, queues, delays and
windows of several flows, `plot_delay_cdf` how delays are distributed, and `plot_page` writes the
interactive page; `plot_axis` draws the measurements of a sweep over an axis, `plot_spread` how
they are distributed, and `plot_best` which compared value is best where.

Sizes are those of two-column journals: 3.5 in for one column, 7.16 in for both.  Schemes and
kinds of handoff differ by marker, fill and line style as well as by colour, and the colours differ
in lightness, so that figures remain readable in greyscale.  Every figure is written as SVG and PNG
without dates or random identifiers: the same data gives the same bytes with the same version of
matplotlib.

matplotlib is imported when the first figure is drawn, not before.
"""

from midflight.plot.common.figure import Dress, figure_of
from midflight.plot.common.style import (
    COLUMN_IN,
    DARK,
    LIGHT,
    LOOKS,
    MIDDLE,
    PAGE_IN,
    Drawing,
    Look,
    Size,
    write_csv,
)
from midflight.plot.over_time.panels import plot_over_time
from midflight.plot.over_time.run import plot_run
from midflight.plot.page.html import plot_page
from midflight.plot.papers.bars import BarPanel, Bars, bar_panels, bar_plot
from midflight.plot.papers.indicator import Curve, Curves, Indicator, Judged, indicator_plot
from midflight.plot.papers.lines import Line, LinePanel, line_plot
from midflight.plot.papers.messages import Message, Note, sequence_plot
from midflight.plot.papers.states import State, Transition, state_plot
from midflight.plot.papers.time_sequence import Mark, Panel, time_sequence_plot
from midflight.plot.results.axis import plot_axis
from midflight.plot.results.best import plot_best
from midflight.plot.results.delays import plot_delay_cdf
from midflight.plot.results.quartiles import Series, quartile_plot
from midflight.plot.results.spread import plot_spread

__all__ = [
    "COLUMN_IN",
    "DARK",
    "LIGHT",
    "LOOKS",
    "MIDDLE",
    "PAGE_IN",
    "BarPanel",
    "Bars",
    "Curve",
    "Curves",
    "Drawing",
    "Dress",
    "Indicator",
    "Judged",
    "Line",
    "LinePanel",
    "Look",
    "Mark",
    "Message",
    "Note",
    "Panel",
    "Series",
    "Size",
    "State",
    "Transition",
    "bar_panels",
    "bar_plot",
    "figure_of",
    "indicator_plot",
    "line_plot",
    "plot_axis",
    "plot_best",
    "plot_delay_cdf",
    "plot_over_time",
    "plot_page",
    "plot_run",
    "plot_spread",
    "quartile_plot",
    "sequence_plot",
    "state_plot",
    "time_sequence_plot",
    "write_csv",
]
