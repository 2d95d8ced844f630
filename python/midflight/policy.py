"""Your own policies, in Python.

A policy is a class. Each sender creates an object of it, calls its hooks when something happens,
and executes its orders. The object is copied where runs fork, so its state must be in the object.
No hook is called before the first notice: without notices the sender is the plain one.

    >>> from midflight import Order, Scenario
    >>> class Half:
    ...     def on_notice(self, notice, view):
    ...         return [Order.set_cwnd(max(view.cwnd / 2, 1), because="the link has changed")]
    >>> scenario = Scenario.read("wifi-to-lte", sets={"flows.download.scheme": "sack+half"},
    ...                          policies={"half": Half})
    >>> scenario.run(policies={"half": Half}).flows.column("scheme")
    ['sack+half']
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from midflight.argument import wrong
from midflight.controller import CongestionController
from midflight.meant import did_you_mean
from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import HandoffNotice, Order, SenderView

__all__ = ["Policies", "Policy", "load_policies", "sources"]


#: The hooks of a policy; other methods whose names begin with on_ are refused.
HOOKS = ("on_notice", "on_advice", "on_start", "on_ack", "on_timeout", "on_recovery")
#: Where a class keeps what `sources` found of it.
SOURCE = "_midflight_source"


class Policy(Protocol):
    """The hooks of a policy; all but `on_notice` are optional.

    Each hook returns orders, or None for none:

    - `on_notice(notice, view)`: a notice of a handoff has arrived
    - `on_advice(advice, view)`: throughput advice has arrived in place of a notice (`Advice`); a
      scenario with advice refuses a policy without this hook
    - `on_start(notice, view)`: the connection is about to open, and the sender gets a notice of its
      link; a policy with this hook is called from then on
    - `on_ack(view)`: an ACK has been processed
    - `on_timeout(before, view)`: the timer has expired; window and threshold are already reduced
    - `on_recovery(view)`: the sender is about to enter fast recovery, and has not yet reduced
    """

    def on_notice(self, notice: HandoffNotice, view: SenderView) -> Iterable[Order] | None:
        """React to a notice."""


#: Your own policies and congestion controllers by the names of schemes; each is a class, or a
#: function that makes an object.
Policies: TypeAlias = Mapping[str, Callable[[], Policy | CongestionController]]


def check_policies(policies: Policies | None) -> Policies | None:
    """Return your own policies; raises `MidflightError` for what makes none, and for a congestion
    controller without `on_ack`.
    """
    if policies is None:
        return None
    accepted = 'a mapping of names to classes, such as {"mine": MyPolicy}'
    if not isinstance(policies, Mapping):
        raise wrong("policies", policies, accepted)
    for name, made in policies.items():
        if not callable(made):
            shown = f"{made!r} of the type {type(made).__name__}"
            raise refusal(
                f'policies: "{name}" is {shown}; expected {accepted}',
                name="policies",
                value=made,
                accepted=accepted,
            )
        if _lacks_on_ack(made):
            value = getattr(made, "__name__", str(made))
            raise refusal(
                f'the congestion controller "{name}" cannot be used: {value} has no on_ack(view), '
                "which returns a midflight.Control or None",
                name=name,
                value=value,
                accepted="a class with on_ack(view)",
            )
    return policies


def _lacks_on_ack(made: object) -> bool:
    """Whether this is a congestion controller without `on_ack`. A method with another name that
    begins with on_ is refused first, by the core.
    """
    base = CongestionController
    if not (inspect.isclass(made) and issubclass(made, base)) or made.on_ack is not base.on_ack:
        return False
    return not any(name.startswith("on_") and not hasattr(base, name) for name in dir(made))


def load_policies(words: Sequence[str]) -> dict[str, Callable[[], Any]]:
    """Load policies written as NAME=FILE.py:CLASS, and return the classes by their names.

    Raises `MidflightError` for anything else.
    """

    def refuse(why: str, value: object, accepted: str) -> Exception:
        return refusal(why, name="policy", value=value, accepted=accepted)

    from midflight import _core

    taken = {str(one["name"]) for one in _core.schemes()}
    found: dict[str, Callable[[], Any]] = {}
    for word in words:
        name, equals, where = word.partition("=")
        file, colon, wanted = where.rpartition(":")
        if not (equals and colon and name and file and wanted):
            form = "NAME=FILE.py:CLASS, such as mine=mine.py:MyPolicy"
            raise refuse(f'"{word}" is not {form}', word, form)
        if name in taken:
            why = f'"{name}" is a scheme of midflight; give your policy another name'
            raise refuse(why, name, "a name that no scheme has")
        path = Path(file)
        if not path.is_file():
            raise refuse(f'there is no file "{file}"', file, "a Python file")
        # It is the same for the same file: other processes identify the policy by it.
        module_name = f"midflight_policy_{path.stem}"
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise refuse(f'"{file}" is not a Python file', file, "a Python file")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            why = f'"{file}" cannot be loaded: {_words(error)}'
            raise refuse(why, file, "a Python file that can be imported") from error
        made = getattr(module, wanted, None)
        if not inspect.isclass(made):
            names = [name for name, one in vars(module).items() if is_policy(one, module_name)]
            has = f"it has {', '.join(names)}" if names else "it has no policy of its own"
            near = did_you_mean(wanted, names)
            why = f'"{file}" has no class "{wanted}"{near}; {has}'
            raise refuse(why, wanted, ", ".join(names) or "a class with a hook")
        if not hasattr(made, "on_notice") and not issubclass(made, CongestionController):
            raise refuse(
                f'"{wanted}" has no on_notice(notice, view); a policy needs one, and a congestion '
                "controller is a midflight.CongestionController",
                wanted,
                "a class with on_notice(notice, view), or a midflight.CongestionController",
            )
        found[name] = made
    check_policies(found)
    return found


def _words(error: Exception) -> str:
    """What an error while a file is loaded says."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} in line {error.lineno}"
    return f"{type(error).__name__}: {error}"


def is_policy(one: Any, module: str) -> bool:
    """Return whether something is a class of this module with a hook."""
    is_own = inspect.isclass(one) and one.__module__ == module
    return is_own and any(hasattr(one, hook) for hook in HOOKS)


def sources(policies: Policies | None) -> dict[str, str]:
    """Return a hash of the file of each policy, which identifies its version.

    For a class that is in no file, as in a notebook, it is the hash of its cell. Raises
    `MidflightError` if there is neither, or if the class is made by a call.
    """

    def of(name: str, policy: Any) -> str:
        called = getattr(policy, "__qualname__", "")
        if not inspect.isclass(policy) or "<locals>" in called:
            raise refusal(
                f'what the policy "{name}" is cannot be written down with results; expected a '
                "class at the top of a module",
                name=name,
                value=policy,
                accepted="a class at the top of a module",
            )
        if (known := vars(policy).get(SOURCE)) is not None:
            return str(known)
        # A class without methods of its own has those of another one.
        bases = (one for one in policy.__mro__ if one not in (object, CongestionController))
        methods = [one for base in bases for one in vars(base).values() if inspect.isfunction(one)]
        file = Path(methods[0].__code__.co_filename) if methods else Path()
        try:
            if file.is_file():
                text = file.read_text()
            else:
                # A cell of a notebook is no file, but its lines are kept for its functions.
                text = "".join(inspect.findsource(methods[0] if methods else policy)[0])
        except (OSError, TypeError) as error:
            raise refusal(
                f'the source of the policy "{name}" is not available',
                name=name,
                value=called,
                accepted="a class in a file, or in a cell of a notebook",
            ) from error
        found = hashlib.blake2b(f"{called}\n{text}".encode(), digest_size=16).hexdigest()
        # A class that other processes get by value does not have its file name there.
        setattr(policy, SOURCE, found)
        return found

    return {name: of(name, policy) for name, policy in sorted((policies or {}).items())}
