"""`closure_convert` as the reader sees it: what an inner function finds outside itself becomes arguments.

    def f(x): return x * x - p                  g(x, p), [p]
    g, consts = closure_convert(f, x)

A rule that speaks of the arguments of a function so speaks of all that the function depends on.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any

from ... import tree
from ...ir import Param, Var
from ...rewrite import copy_block
from ..core.context import Context
from ..core.values import Bound, Closure, Partial, Value, is_leaf, is_runtime
from ..text.signature import Signature, abstract_with_leaves
from .inner import Argument, outside


def closure_converted(ctx: Context, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """(the function of its arguments and of the numbers that it finds outside, list of these). Integers, and what
    else has no derivative, stay outside.
    """
    f, *examples = args
    if not isinstance(f, Closure | Bound | Partial):
        return (f, [])
    made = Converted(Argument(ctx, f, node), len(examples))
    flat, structure = tree.flatten(examples, is_leaf=is_leaf)
    avals = tree.unflatten(structure, [v.aval if is_runtime(v) else v for v in flat])
    signature, _ = abstract_with_leaves(made, avals, {})
    made.free = [v for p in made.read(signature).function.params if (v := outside(p)) and v.aval.dtype.kind in "fc"]
    return (made, [ctx.wrap(v) for v in made.free])


class Converted:
    """A function of the arguments of another one and of what that finds outside itself."""

    __signature__ = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    __name__ = __qualname__ = "converted"

    def __init__(self, inner: Argument, count: int) -> None:
        self.inner, self.count = inner, count
        self.free: list[Var] = []

    def __call__(self, *args: Any) -> Any:
        raise TypeError("a converted function exists only inside the function that is read")

    def read(self, signature: Signature) -> Any:
        """The inner function alone, for the first of the arguments."""
        ((_, given),) = signature.params
        own = given.children[: self.count]
        leaves = sum(t.leaf_count for t in own)
        known = self.inner.__signature__.parameters.values()
        names = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        params = [*zip(names, own, strict=False)]
        for p in known if len(own) > len(names) else ():
            if p.kind is p.VAR_POSITIONAL:
                params.append((p.name, dataclasses.replace(given, children=own[len(names) :])))
        return self.inner.__untraced_read__(Signature(tuple(params), signature.avals[:leaves], (None,) * leaves))

    def __untraced_read__(self, signature: Signature) -> Any:
        reading = self.read(signature)
        function = reading.function
        ((_, given),) = signature.params
        own = sum(t.leaf_count for t in given.children[: self.count])
        body, hidden = function.body, [p for p in function.params if p.capture is not None]
        places = {outside(p): v for p, v in zip(hidden, body.params[own:], strict=True)}
        consts = [Var(v.hint, a) for v, a in zip(self.free, signature.avals[own:], strict=True)]
        left = [p for p in hidden if outside(p) not in self.free]
        others = [v for p, v in zip(hidden, body.params[own:], strict=True) if p in left]
        mapping: dict[Var, Any] = {places[v]: c for v, c in zip(self.free, consts, strict=True) if v in places}
        copied = copy_block(dataclasses.replace(body, params=(*body.params[:own], *others)), mapping)
        params = (*copied.params[:own], *consts, *copied.params[own:])
        trees = (Param("args", given), *left)
        made = dataclasses.replace(function, params=trees, body=dataclasses.replace(copied, params=params))
        return dataclasses.replace(reading, function=made)
