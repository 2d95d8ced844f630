"""The stub of the native module names what the module has."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import midflight
from midflight import _core

# Classes that Python makes objects of.
CLASSES = {"Plan", "HandoffSweep", "Startup", "Radio", "LongFlow", "Probe", "Roaming"}


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


def stub_arguments(node: ast.FunctionDef) -> set[str]:
    return {one.arg for one in node.args.args + node.args.kwonlyargs} - {"cls"}


def test_every_keyword_is_in_the_stub_and_the_other_way_round() -> None:
    tree = ast.parse(Path(midflight.__file__).with_name("_core.pyi").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for one in tree.body:
        if isinstance(one, ast.ClassDef) and one.name in CLASSES:
            methods = [n for n in one.body if isinstance(n, ast.FunctionDef)]
            (functions[one.name],) = (n for n in methods if n.name == "__new__")
            for method in methods:
                of = getattr(getattr(_core, one.name), method.name)
                if not method.name.startswith("__") and callable(of):
                    assert stub_arguments(method) == set(inspect.signature(of).parameters), of
    assert functions.keys() >= CLASSES
    for name, node in functions.items():
        known = set(inspect.signature(getattr(_core, name)).parameters)
        assert stub_arguments(node) == known, name


def test_defaults_in_the_stub_are_those_of_the_module() -> None:
    tree = ast.parse(Path(midflight.__file__).with_name("_core.pyi").read_text())
    told = 0
    for of in tree.body:
        for node in (of, *(of.body if isinstance(of, ast.ClassDef) else ())):
            if not isinstance(node, ast.FunctionDef) or not node.args.kwonlyargs:
                continue
            owner = _core if node is of else getattr(_core, of.name)
            call = owner if node.name == "__new__" else getattr(owner, node.name)
            known = inspect.signature(call).parameters
            for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                default = known[one.arg].default
                if default is inspect.Parameter.empty:
                    assert value is None, (node.name, one.arg)
                # A signature may leave a default to the stub.
                elif default is not ...:
                    assert value is not None
                    assert ast.literal_eval(value) == default, (node.name, one.arg)
                    told += 1
    assert told > 100


def test_handoff_takes_what_a_sweep_and_its_runs_take() -> None:
    def keywords(of: Any) -> set[str]:
        return set(inspect.signature(of).parameters)

    of_both = keywords(_core.HandoffSweep) | keywords(_core.run_handoff_sweeps)
    assert keywords(_core.handoff) == of_both - {"sweeps"}


def test_every_public_name_can_be_had() -> None:
    for name in midflight.__all__:
        assert getattr(midflight, name) is not None


def test_help_says_what_the_stub_says() -> None:
    tree = ast.parse(Path(midflight.__file__).with_name("_core.pyi").read_text())
    told = 0
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name == "MidflightError":
            continue
        of = getattr(_core, node.name, None)
        if of is None:
            continue
        assert inspect.getdoc(of) == ast.get_docstring(node), node.name
        told += 1
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
                doc = inspect.getdoc(getattr(of, member.name))
                assert doc
                assert doc == ast.get_docstring(member), f"{node.name}.{member.name}"
                told += 1
    assert told > 80
