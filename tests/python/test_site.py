"""The site of the documentation: it builds without a warning, and everything is on it."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
import zlib
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

import midflight
from browser import Browser, find_chromium
from midflight import _core
from test_docs import REFERENCE

ROOT = Path(__file__).parents[2]
COMMAND = (
    "python -m sphinx --fresh-env --fail-on-warning --keep-going --show-traceback --quiet -c docs"
)
MODULES = """
    scenario sweep sweep_results executors policy results plot run_report explain explain.divergence
    explain.events qlog verify claims
""".split()
NOTEBOOKS = [page.stem for page in ROOT.glob("docs/notebooks/*.md")]
CONTENT = re.compile(r"<article.*</article>", re.DOTALL)


def sphinx(source: Path, target: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run what `make docs` runs for other folders."""
    _, *options = COMMAND.split()
    places = ["-d", str(target.with_name(f"{target.name}-doctrees")), str(source), str(target)]
    return subprocess.run(
        [sys.executable, *options, *more, *places],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("docs") / "site"
    done = sphinx(ROOT, target)
    assert done.returncode == 0, done.stderr
    return target


def page(site: Path, name: str) -> str:
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_make_runs_this_command() -> None:
    assert COMMAND in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_page_of_the_repository_is_on_the_site(site: Path) -> None:
    places = ("*.md", "docs/**/*.md", "python/midflight/studies/*/*.md", "tests/data/**/*.md")
    pages = [page.relative_to(ROOT) for place in places for page in ROOT.glob(place)]
    assert len(pages) > 30
    for one in pages:
        assert (site / one).with_suffix(".html").is_file(), one


OTHER = "# Other\n\n## A heading\n"
RIGHT = "[a page](other.md) and [a heading](other.md#a-heading)"
WRONG = """[a page](nowhere.md), [a heading](other.md#nowhere) and

```{eval-rst}
.. autofunction:: midflight.lost
```
"""
FAILS = """---
file_format: mystnb
kernelspec:
  name: python3
---

# Other

```{code-cell} ipython3
1 / 0
```
"""


@pytest.mark.parametrize(
    ("text", "other", "complaints"),
    [
        (RIGHT, OTHER, ()),
        (WRONG, OTHER, ("nowhere.md'", "nowhere'", "'lost'")),
        ("No link", FAILS, ("ZeroDivisionError",)),
    ],
    ids=["right", "links", "notebook"],
)
def test_a_mistake_on_a_page_ends_the_build(
    text: str, other: str, complaints: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "pages" / "docs"
    folder.mkdir(parents=True)
    (folder / "other.md").write_text(other, encoding="utf-8")
    toctree = "```{toctree}\nother\n```"
    (folder / "index.md").write_text(f"# Index\n\n{text}\n\n{toctree}\n", encoding="utf-8")
    done = sphinx(tmp_path / "pages", tmp_path / "made", "-b", "dummy")
    assert (done.returncode == 0) == (not complaints), done.stderr
    for one in complaints:
        assert one in done.stderr


def test_every_scheme_has_its_place_with_source_and_knobs(site: Path) -> None:
    text = page(site, "docs/schemes")
    for one in _core.schemes():
        found = re.search(rf'<section id="{one["name"]}">(.*?)</section>', text, re.DOTALL)
        assert found is not None, one["name"]
        assert "Source: " in found[1]
    knobs = [knob["name"] for _, part in REFERENCE.each_part() for knob in part["knobs"]]
    assert len(knobs) > 20
    for name in knobs:
        assert f">{name}</span>" in text or f">{name}<" in text, name


def test_every_table_of_a_scenario_file_is_there(site: Path) -> None:
    text = re.sub(r"<[^>]+>", "", page(site, "docs/scenarios"))
    for title in REFERENCE.TABLES.values():
        assert title.replace("`", "") in text
    for name in midflight.scenario.starter_names():
        assert name in text


def public_names() -> list[tuple[str, str]]:
    modules = {"": midflight, **{n: importlib.import_module(f"midflight.{n}") for n in MODULES}}
    return [(where, name) for where, module in modules.items() for name in module.__all__]


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    told = {line.split()[0] for line in text.splitlines() if " py:" in line}
    missing = [
        f"{where}.{name}"
        for where, name in public_names()
        if {f"midflight.{where}.{name}", f"midflight.{name}"}.isdisjoint(told)
    ]
    assert missing == []


def test_every_public_function_and_class_says_what_it_is() -> None:
    silent = []
    for where, name in public_names():
        of = getattr(importlib.import_module(f"midflight.{where}".rstrip(".")), name)
        if not (inspect.isclass(of) or inspect.isroutine(of)):
            continue
        # A dataclass without a docstring is given its signature as one.
        if not of.__doc__ or of.__doc__.startswith(f"{name}("):
            silent.append(f"{where}.{name}")
        for key, member in vars(of).items() if inspect.isclass(of) else ():
            inner = getattr(member, "__func__", getattr(member, "func", member))
            told = inner.fget if isinstance(inner, property) else inner
            if not key.startswith("_") and inspect.isroutine(told) and not told.__doc__:
                silent.append(f"{where}.{name}.{key}")
    assert silent == []


def test_compiled_functions_have_types_on_the_site(site: Path) -> None:
    found = re.search(r'id="midflight\.handoff">(.*?)</dt>', page(site, "docs/api/networks"), re.S)
    assert found is not None
    signature = " ".join(unescape(re.sub(r"<[^>]+>", "", found[1])).split())
    assert "at_ns: Sequence[int]" in signature
    assert "→ Table" in signature


def test_no_page_loads_anything_from_the_network(site: Path) -> None:
    loads = re.compile(r'<(?!a\b)[^>]*?\b(?:src|href|data)="((?:https?:)?//[^"]+)')
    for one in site.rglob("*.html"):
        assert loads.findall(one.read_text(encoding="utf-8")) == [], one
    for one in site.rglob("*.css"):
        text = one.read_text(encoding="utf-8")
        assert not re.search(r"""(url\(|@import\s+)["']?(https?:)?//""", text), one


def test_every_link_and_picture_on_a_page_is_there(site: Path) -> None:
    seen = 0
    for one in site.rglob("*.html"):
        text = one.read_text(encoding="utf-8")
        for target in re.findall(r'(?:href|src)="([^"#?]+)[^"]*"', text):
            if re.match(r"[a-z]+:", target) or "/rust/" in target:
                continue
            seen += 1
            assert (one.parent / unquote(target)).exists(), (one, target)
    assert seen > 1000


def test_every_crate_has_a_link() -> None:
    text = (ROOT / "docs/rust-api.md").read_text(encoding="utf-8")
    crates = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    # The binding has its own pages, and pcg takes the place of a published crate.
    crates -= {"python", "pcg"}
    assert set(re.findall(r'href="\.\./rust/midflight_(\w+)/index\.html"', text)) == crates


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_has_its_outputs(name: str, site: Path) -> None:
    text = page(site, f"docs/notebooks/{name}")
    found = CONTENT.search(text)
    assert found is not None
    assert found[0].count('class="cell_output') >= 5
    assert found[0].count('class="dataframe"') >= 2
    assert re.search(r'<img[^>]*src="[^"]*\.svg"', found[0])
    assert "Traceback" not in found[0]
    downloads = re.findall(r'href="([^"]*\.ipynb)"', found[0])
    assert downloads
    for one in downloads:
        assert '"outputs"' in (site / f"docs/notebooks/{one}").read_text(encoding="utf-8")


@pytest.mark.skipif(find_chromium() is None and "CI" not in os.environ, reason="needs chromium")
def test_a_browser_opens_it_from_the_disk(site: Path) -> None:
    program = find_chromium()
    assert program is not None
    browser = Browser(program, 500, 800)
    try:
        for name in ("docs/index", "docs/schemes", "docs/api/networks", "docs/notebooks/my-policy"):
            browser.open(site / f"{name}.html")
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.run(wide) == 0, name
        assert [one for one in browser.requests if not one.startswith(("file:", "data:"))] == []
        assert browser.complaints == []
    finally:
        browser.close()


def test_what_the_build_leaves_is_not_in_the_sources(site: Path) -> None:
    left = [*ROOT.glob("docs/notebooks/*.svg"), *ROOT.glob("docs/**/*.ipynb")]
    assert left == []
    assert site.is_dir()
