"""One self-contained HTML report of a study: results, verdicts, figures, assumptions.

The file holds everything it shows (figures as SVG data) and loads nothing from the network.
"""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.claims import ClaimResult, Verdict

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from midflight.studies.study import FigureResult, Study, StudyResult

__all__ = ["check_page", "data_url", "environment", "image_inches", "prose", "write_report"]

_TEMPLATES = Path(__file__).with_name("templates")


def environment() -> Environment:
    """Return the environment that renders the templates; values are escaped unless marked safe."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["prose"] = prose
    made.filters["inches"] = image_inches
    return made


def check_page(path: Path) -> None:
    """Raise `MidflightError` if a path has the suffix of another kind of file than of a page."""
    from midflight.refusal import refusal

    if path.suffix.lower() not in ("", ".html", ".htm"):
        accepted = ".html or .htm"
        raise refusal(
            f'"{path}" is not the name of a report, which is an HTML file; it may end in {accepted}'
            " (midflight plot draws figures)",
            name="out",
            value=path,
            accepted=accepted,
        )


def data_url(content: bytes, mime: str) -> str:
    """Return a file as a data URL."""
    return f"data:{mime};base64," + base64.b64encode(content).decode("ascii")


#: The width of an SVG file as matplotlib writes it, in points.
_WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)pt"')
#: Bytes in which the head of such a file is.
_HEAD = 3000


def image_inches(url: str) -> float:
    """Return the width of a figure in inches, of the data URL of an SVG file; reports show all of
    them at one scale, so that their letters are as large.
    """
    head = base64.b64decode(url.partition(",")[2][:_HEAD]).decode("utf-8", errors="replace")
    found = _WIDTH.search(head)
    return round(float(found[1]) / 72, 2) if found else 0.0


def _markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable("table").render(text))


#: How plain text writes what print sets with a sign.
_SIGNS = (("+-", "\u00b1"), (">=", "\u2265"), ("<=", "\u2264"), ("->", "\u2192"))

#: A number and its unit stay on one line.
_UNIT = re.compile(r"(\d) (%|ms\b|s\b|kbit/s)")


def prose(text: str) -> Markup:
    """Plain text as HTML: signs for `>=` and the like, code between backticks."""
    from markupsafe import Markup, escape

    for plain, sign in _SIGNS:
        text = text.replace(plain, sign)
    text = _UNIT.sub("\\1\u00a0\\2", text)
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return Markup(escape(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if index % 2 else escape(piece)
        for index, piece in enumerate(pieces)
    )


def _figure(drawn: FigureResult, claims: Sequence[ClaimResult], root: Path) -> dict[str, Any]:
    """The values of one figure for the template."""
    return {
        "id": drawn.id,
        "title": drawn.figure.title,
        "caption": drawn.caption,
        "wide": drawn.figure.wide,
        "image": data_url(drawn.file(".svg").read_bytes(), "image/svg+xml"),
        "files": [path.relative_to(root).as_posix() for path in drawn.files],
        "claims": [result for result in claims if drawn.id in result.claim.figures],
    }


def _failures(claims: Sequence[ClaimResult]) -> list[ClaimResult]:
    """The claims that were not fully reproduced, the worst verdicts first."""
    order = (Verdict.NOT, Verdict.PARTLY, Verdict.UNDECIDABLE)
    failed = [one for one in claims if one.verdict is not Verdict.REPRODUCED]
    return sorted(failed, key=lambda one: (one.beyond, order.index(one.verdict)))


def write_report(study: Study, result: StudyResult, path: Path, *, appendix: str = "") -> Path:
    """Write the report of a study to `path`; `appendix` is Markdown shown after the figures."""
    from markupsafe import Markup

    made = environment()
    made.filters["brief"] = lambda text: textwrap.shorten(text, 110, placeholder=" ...")
    groups = [
        (title, tally, [one for one in result.claims if one.beyond is beyond])
        for title, tally, beyond in (
            ("The paper's claims", result.paper, False),
            ("Beyond the paper", result.beyond, True),
        )
        if tally.rows
    ]
    html = made.get_template("report.html.j2").render(
        study=study,
        result=result,
        verdicts=[str(verdict) for verdict in Verdict],
        counts={str(verdict): result.paper.verdicts.get(verdict, 0) for verdict in Verdict},
        groups=groups,
        failures=_failures(result.claims),
        figures=[_figure(drawn, result.claims, path.parent) for drawn in result.figures],
        appendix=Markup(_markdown(appendix)) if appendix else "",
        assumptions=Markup(_markdown(study.assumptions())),
        files=[file.relative_to(path.parent).as_posix() for file in result.files],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html, encoding="utf-8")
    return path
