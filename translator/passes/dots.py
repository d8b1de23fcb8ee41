"""Sums of products of large arguments as scalar products, which read them where they lie.

    before                       after
    s = np.sum(x * y)            s = x.reshape(-1) @ y.reshape(-1)

XLA reads arguments where NumPy put them only if it goes over them element by element, and copies for a sum: the norm of
4,000,000 doubles took 6 ms, of which the sum itself takes 1. BLAS takes them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Function, Statement, Var, is_number, uses_of, walk
from ..ops.core import Reduce, ReduceAttrs
from ..rewrite import prune, spelled_out, substituted
from .alignment import is_free

LEAST = 1 << 17
"""Elements: a copy of fewer takes little."""


def dots(function: Function) -> Function:
    """Apply to every such sum of floats; the same function object where there is none."""
    makers = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    given = _Given(frozenset(function.body.params), makers)
    uses = uses_of(function.body)
    known: dict[Var, Atom] = {}

    def written(s: Apply) -> Sequence[Statement]:
        product = makers.get(s.args[0]) if s.args and isinstance(s.args[0], Var) else None
        factors = given.multiplied(product) if product is not None and _sums_all(s) else None
        if product is None or factors is None or uses[product.targets[0]] != 1:
            return (s,)
        b, (target,) = Builder(s.span), s.targets
        x, y = (make.reshape(b, a, (-1,)) for a in factors)
        known[target] = make.reshape(b, make.contract(b, x, y, (0,), (0,), ()), target.aval.shape)
        return b.statements

    body = spelled_out(function.body, written)
    return replace(function, body=prune(substituted(body, known))) if known else function


def _sums_all(s: Apply) -> bool:
    (x, *_), attrs = s.args, s.attrs
    whole = isinstance(attrs, ReduceAttrs) and len(attrs.axes) == x.aval.ndim and x.aval.size >= LEAST
    return isinstance(s.op, Reduce) and s.op.name == "sum" and whole and s.targets[0].aval.dtype == x.aval.dtype


class _Given:
    """Which values lie in memory before the program runs: its parameters, and those in other shapes."""

    def __init__(self, params: frozenset[Var], makers: Mapping[Var, Apply]) -> None:
        self._params, self._makers = params, makers

    def multiplied(self, s: Apply) -> tuple[Atom, Atom] | None:
        """The two factors of a product of such values, element by element; None for anything else."""
        factors = s.args
        if s.op is ops.SQUARE or (s.op is ops.POWER and is_number(s.args[1], 2)):
            factors = (s.args[0],) * 2
        elif s.op is not ops.MULTIPLY:
            return None
        same = all(a.aval.shape == s.targets[0].aval.shape and self._is_given(a) for a in factors)
        return (factors[0], factors[1]) if same and s.targets[0].aval.dtype.char in "fd" else None

    def _is_given(self, a: Atom) -> bool:
        while a not in self._params:
            made = self._makers.get(a) if isinstance(a, Var) else None
            if made is None or not (is_free(made) and made.op.name in ("reshape", "squeeze", "expand_dims")):
                return False
            a = made.args[0]
        return True
