"""Random numbers of NumPy that a function draws whose derivative is taken: hidden parameters, drawn at every call.

    def loss(w):                                   def loss_grad(w, *, drawn):
        noise = rng.normal(size=3)                     return 2.0 * (w + drawn)
        return np.sum((w + noise) ** 2)

They do not depend on what is differentiated. The order in which a function draws is kept where every call comes to the
same draws: in front of loops and branches that depend on the run, not in them, and not in a batch, whose lanes would
share them. A generator that the function itself makes, from a known seed, gives the same numbers at every call.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable
from typing import Any

from ..ir import Aval, Capture, Param, Root, Var
from ..tree import LEAF
from .context import Context
from .demand import demand
from .recursion import kept
from .signature import aval_of, is_array_without_axes
from .values import Foreign, Value, is_leaf, leaves_in


class Draw:
    """What stands behind a hidden parameter that is drawn: to read `drawn` is to draw."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs

    @property
    def drawn(self) -> Any:
        return self.function(*self.args, **self.kwargs)


def is_draw(p: Param) -> bool:
    """Whether the value of a hidden parameter is made by asking for it."""
    return p.capture is not None and isinstance(p.capture.function, Root) and isinstance(p.capture.function.owner, Draw)


def may_draw(ctx: Context) -> bool:
    """Whether what is read now runs once in every call of a derivative."""
    return kept.get() and len(ctx.builders) == 1


def drawn(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """What a function of np.random gives to a derivative; NotImplemented where CPython must call it."""
    if not may_draw(ctx):
        return NotImplemented
    owner = getattr(f, "__self__", None)
    if args and (first := _opened(args[0])) is not None:  # Cython's methods are functions of the object
        owner, f, args = first, getattr(first, f.__name__), args[1:]
    given = list(leaves_in([*args, *kwargs.values()]))
    unknown = [v for v in given if is_leaf(v)]
    if unknown:
        if not all(type(v) is Var and v.aval.dtype.kind in "iu" for v in unknown):
            return NotImplemented
        demand(ctx, unknown, node, "an argument of a function that draws random numbers")
    if makes_generator(f):
        return _made(ctx, f(*args, **kwargs)) if any(v is not None for v in given) else NotImplemented
    if not isinstance(owner, _generators()):
        return NotImplemented
    own = id(owner) in ctx.generators
    found = f(*args, **kwargs) if own else getattr(copy.deepcopy(owner), f.__name__)(*args, **kwargs)
    aval = aval_of(found)
    if aval is None or is_array_without_axes(found):
        return NotImplemented
    draw = Draw(copy.copy, (found,), {}) if own else Draw(f, tuple(args), kwargs)
    return hidden_draw(ctx, Capture(ctx.captures.root(draw), "drawn"), aval)


def makes_generator(f: Any) -> bool:
    """Whether it is np.random.RandomState or np.random.default_rng."""
    random = sys.modules.get("numpy.random")
    return random is not None and (f is random.RandomState or f is random.default_rng)


def _generators() -> tuple[type, ...]:
    """NumPy's classes of generators; none where nobody has loaded them."""
    random = sys.modules.get("numpy.random")
    return () if random is None else (random.RandomState, random.Generator)


def _opened(v: Value) -> Any:
    """The generator that a value is; None for anything else."""
    v = v.value if isinstance(v, Foreign) else v
    return v if isinstance(v, _generators()) else None


def _made(ctx: Context, generator: Any) -> Any:
    ctx.generators[id(generator)] = generator
    return generator


def hidden_draw(ctx: Context, capture: Capture, aval: Aval) -> Value:
    """The hidden parameter of a draw; every one has its own, and nobody else sees what is written into it."""
    var = Var(capture.name, aval)
    ctx.captures.params.append((Param(var.hint, LEAF, capture), var, None))
    return ctx.wrap(var)
