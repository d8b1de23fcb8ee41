"""`print_saved_residuals`: what the forward half of a derivative keeps for the backward half."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...translator.errors import NOWHERE
from ...translator.ir import Apply, Atom, Aval, Function, Param, Statement
from ...translator.pipeline import Positions
from ...translator.reading.text.signature import Signature, abstract
from ...translator.rewrite import without_rules
from ...translator.tree import leaf_paths
from ..calls.callables import readable
from ..calls.shapes import abstracted
from .pullback import Forward


class Kept(Forward):
    """The forward half of a vjp, which is looked at."""

    made: Function

    def rule(self, function: Function, positions: Positions, signature: Signature) -> Function:
        self.made = super().rule(function, positions, signature)
        return self.made


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints one line for each array that the forward pass of a reverse derivative of f(*args, **kwargs) keeps: its
    type, and the argument or the operation and the line that it comes from. Arguments may be ShapeDtypeStructs.

    >>> print_saved_residuals(lambda x: np.sum(np.sin(x)), np.ones(3))
    f64[3] from the argument x
    """
    for line in saved_residuals(f, *args, **kwargs):
        print(line)


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[str]:
    """The lines that `print_saved_residuals` prints."""
    fun = readable(getattr(f, "__untraced_function__", f))
    given, named = abstracted((args, kwargs))
    signature = abstract(fun, given, named)
    kept = Kept(fun, len(signature.params), False)
    kept.__untraced_read__(signature)
    made = without_rules(kept.made)
    main, _, residuals, _ = made.out.children
    results = made.body.results[main.leaf_count : main.leaf_count + residuals.leaf_count]
    origins = dict(_origins(made))
    return [f"{_short(a.aval)} {origins.get(a, 'from a literal')}" for a in results]


def _origins(function: Function) -> Iterator[tuple[Atom, str]]:
    """For each value of the program where it comes from."""
    paths = [(p, path) for p in function.params for path in leaf_paths(p.tree, p.name)]
    for v, (p, path) in zip(function.body.params, paths, strict=True):
        yield v, _of_parameter(p, path)
    for s in function.body.statements:
        for t in getattr(s, "targets", ()):
            yield t, f"output of {_named(s)}{_place(s)}"


def _of_parameter(p: Param, path: str) -> str:
    return f"from the argument {path}" if p.capture is None else f"from {path}, outside the function"


def _named(s: Statement) -> str:
    return s.op.name if isinstance(s, Apply) else f"the {type(s).__name__.lower()}"


def _place(s: Statement) -> str:
    if s.span == NOWHERE:
        return ""
    return f" from {s.span}:{s.span.column}" + (f": {s.span.text}" if s.span.text else "")


def _short(aval: Aval) -> str:
    """f32[3,4], as JAX spells it."""
    kind, bits = aval.dtype.kind, 8 * aval.dtype.itemsize
    name = aval.dtype.name if kind not in "fiuc" else f"{kind}{bits}"
    return f"{name}[{','.join(map(str, aval.shape))}]"
