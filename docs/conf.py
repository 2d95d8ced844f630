"""How Sphinx makes the site of these pages; `make docs` calls it.

The source folder is the root of the repository, so that a link between pages is the same on the
site and on a Git host. No page loads anything from the network.
"""

from __future__ import annotations

import sys
import typing
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType
from typing import Any

import midflight

ROOT = Path(__file__).parents[1]


class Stub(SourceFileLoader):
    """The stub of the compiled module as a module, for autodoc: it has the types."""

    def source_to_code(self, data: Any, path: Any) -> CodeType:  # type: ignore[override]
        """Compile it without evaluating annotations, which use names that are defined later."""
        code: CodeType = compile(data, path, "exec", annotations.compiler_flag)
        return code

    def set_data(self, path: str, data: Any, *, _mode: int = 0) -> None:
        """Keep no byte code beside the sources."""


# Autodoc also needs the imports for type checkers: those of this package, not those of others,
# which are imported before. The notebooks are run by another process, with the compiled module.
for name in ("jinja2", "matplotlib.figure", "numpy.typing", "pandas"):
    import_module(name)
vars(typing).update(TYPE_CHECKING=True, type_check_only=lambda of: of)
loader = Stub("midflight._core", str(ROOT / "python/midflight/_core.pyi"))
spec = spec_from_loader(loader.name, loader)
assert spec is not None
stub = module_from_spec(spec)
loader.exec_module(stub)
vars(stub).update(MODEL_VERSION=midflight.MODEL_VERSION, QUIC_STACKS=midflight.QUIC_STACKS)
compiled = {name: getattr(midflight, name) for name in ("workloads", "quic_stacks")}
vars(midflight)["_core"] = sys.modules[loader.name] = stub
# Imported modules call the functions for workloads and stacks; the stub only describes them.
described = {name: vars(stub)[name] for name in compiled}
vars(stub).update(compiled)
for name in (
    *(
        "executors",
        "migration",
        "plot",
        "qlog",
        "run_report",
        "studies",
        "sweep_report",
        "sweep_results",
    ),
    "verify",
):
    import_module(f"midflight.{name}")
vars(stub).update(described)
vars(typing)["TYPE_CHECKING"] = False
# This alias is a text, with names that the modules which use it do not have.
for name in ("page.html", "over_time.panels", "over_time.run", "over_time.watched"):
    source = midflight.Scenario | midflight.Plan | str | Path
    vars(import_module(f"midflight.plot.{name}")).update(Source=source, RunSource=source)

project = "midflight"
author = "The midflight authors"
copyright = author
release = midflight.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
source_suffix = {".md": "myst-nb"}
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**.md",
    "python/midflight/studies/*/README.md",
    "tests/data/ns2/README.md",
    "tests/data/leoem/README.md",
    "tests/data/linux/README.md",
]
exclude_patterns = [".*", "bench", "crates", "drills", "examples", "out", "target"]

highlight_language = "none"
# Links to headings are those of a Git host.
myst_heading_anchors = 4
# Pages of studies begin at the third level: reports have them under their own heading.
suppress_warnings = ["myst.header"]

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120

# Docstrings have code in single backquotes.
default_role = "literal"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "numpy.typing.ArrayLike"}
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
add_module_names = False
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", r"pandas\.DataFrame"),
    ("py:class", r"midflight\._core\.Document"),
    # Types of other projects; their inventories would have to be loaded from the network.
    ("py:.*", r"(collections|matplotlib|numpy|pathlib|typing)\..*"),
    # Shapes of the core's results, and the parts of explanations.
    ("py:class", r"midflight\._core\.(Events|StallTold|DivergenceFields|Recording)"),
    ("py:class", r"midflight\.explain\.(bbr\.Mode|events\.Found)"),
    ("py:class", r"midflight\.sweep_summary\.Summary"),
    # Names in annotations, as they are written.
    ("py:class", r"(RunSource|Path)"),
    # The parts of studies are not public.
    ("py:class", r"midflight\.studies\..*"),
]

html_theme = "furo"
html_title = "midflight"
html_static_path = ["static/site.css"]
html_css_files = ["site.css"]
# The front page, which leads to docs/index.html.
html_extra_path = ["static/extra"]
html_copy_source = False
# A summary is fetched, which pages from the disk may not do.
html_show_search_summary = False
html_show_sphinx = False


def skip(_app: Any, _what: str, _name: str, of: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out fields of named tuples, which the signature describes."""
    return True if str(of.__doc__).startswith("Alias for field number") else None


def tidy(
    _app: Any, _what: str, _name: str, _of: Any, _options: Any, signature: str | None, returned: Any
) -> tuple[str | None, Any]:
    """Write the default of a field that has a factory as Python, so that the types are links."""
    return (signature and signature.replace("<factory>", "()"), returned)


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", tidy)
