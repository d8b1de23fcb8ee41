"""The contents of arrays that are known before the run: constants, and what is computed from constants alone.

    x[np.arange(4) > 1]             the mask holds False, False, True, True: x[[2, 3]]
    x[~MASK]                        under a derivative the contents of MASK, from outside the function, are known, too
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...errors import UntracedError
from ...evaluate import apply_op
from ...ir import Apply, Atom, Const, Var
from ...ops.core import Collective, Ruled
from ...surface.sort import DATA_DEPENDENT
from ..core.context import Context
from ..core.detours import Restart
from ..core.values import Outside, Ref, Value, is_leaf, is_object, leaves_in

_LARGEST = 1 << 16  # elements, of which the program holds a copy


def known_arrays(ctx: Context, atoms: Iterable[Atom]) -> list[np.ndarray[Any, Any]] | None:
    """The contents of the arrays; None where the run decides. Arrays of bool from outside a function that is read to be
    transformed, of which CPython can run no part, are asked for: raises Restart.
    """
    walker = _Walker(ctx)
    values = [walker.visit(a) for a in atoms]
    if any(v is None for v in values):
        return None
    if walker.outside:
        raise Restart(known=frozenset(walker.outside))
    return [np.asarray(v) for v in values]


class _Walker:
    """Evaluates what atoms are computed of. A mask from outside counts as all False, and is noted."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.outside: set[Outside] = set()
        self.found: dict[Var, Any] = {}

    def visit(self, atom: Atom) -> Any:
        if isinstance(atom, Const):
            return atom.value
        if atom not in self.found:
            self.found[atom] = self._value(atom) if atom.aval.size <= _LARGEST else None
        return self.found[atom]

    def _value(self, v: Var) -> Any:
        place = self.ctx.captures.masks.get(v)
        if place is not None and self.ctx.transforms:
            self.outside.add(place)
            return np.zeros(v.aval.shape, bool)
        made = self.ctx.definition(v)
        if not isinstance(made, Apply) or isinstance(made.op, Ruled | Collective) or len(made.targets) != 1:
            return None
        args = [self.visit(a) for a in made.args]
        if any(a is None for a in args):
            return None
        try:
            with np.errstate(all="ignore"):
                return apply_op(made.op, args, made.attrs)
        except (ArithmeticError, LookupError, TypeError, ValueError, UntracedError):
            return None  # the run raises it


def call_of_known(ctx: Context, f: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]) -> Any:
    """The result of a NumPy function whose size depends on the values of its arguments, where these are known;
    NotImplemented where they are not, and for other functions.
    """
    if f is np.where and len(args) == 1 and not kwargs:
        f = np.nonzero
    if getattr(f, "__name__", None) not in DATA_DEPENDENT or getattr(np, f.__name__, None) is not f:
        return NotImplemented
    if any(is_leaf(x) for v in (*args, *kwargs.values()) if type(v) is not Ref for x in leaves_in(v)):
        return NotImplemented
    if any(type(v) is Ref for v in kwargs.values()) or any(map(is_object, (*args, *kwargs.values()))):
        return NotImplemented
    places = [i for i, v in enumerate(args) if type(v) is Ref]
    arrays = known_arrays(ctx, [ctx.read(args[i]) for i in places])
    if arrays is None:
        return NotImplemented
    given = dict(enumerate(args)) | dict(zip(places, arrays, strict=True))
    return ctx.wrap(f(*given.values(), **kwargs))
