"""The stub of the native module names what the module has."""

from __future__ import annotations

import ast
from pathlib import Path

import midflight
from midflight import _core


def stub_names() -> set[str]:
    text = Path(midflight.__file__).with_name("_core.pyi").read_text()
    names: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.value is None  # an alias of a type has a value
        ):
            names.add(node.target.id)
        elif isinstance(node, ast.ClassDef) and not any(
            ast.unparse(one) == "type_check_only" for one in node.decorator_list
        ):
            names.add(node.name)
    return names


def test_every_name_is_in_the_stub_and_the_other_way_round() -> None:
    assert stub_names() == {name for name in vars(_core) if not name.startswith("__")}


def test_every_keyword_is_in_the_stub() -> None:
    tree = ast.parse(Path(midflight.__file__).with_name("_core.pyi").read_text())
    of_sweep = _core.Sweep.__text_signature__
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            signature = getattr(_core, node.name).__text_signature__
            signature = signature.replace("**sweep", of_sweep)
            for argument in node.args.args + node.args.kwonlyargs:
                assert argument.arg in signature
        elif isinstance(node, ast.ClassDef) and node.name == "Sweep":
            (new,) = (one for one in node.body if isinstance(one, ast.FunctionDef))
            for argument in new.args.kwonlyargs:
                assert argument.arg in of_sweep


def test_every_public_name_can_be_had() -> None:
    for name in midflight.__all__:
        assert getattr(midflight, name) is not None
