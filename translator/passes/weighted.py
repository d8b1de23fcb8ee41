"""Products of a matrix that is made element by element with a vector, as sums of rows: the matrix is not stored.

    def f(x, y, w):                              def f(x, y, w):
        k = np.exp(-np.abs(x[:, None] - y))          k = np.exp(-np.abs(x[:, None] - y))
        return k @ w                                 return np.sum(k * w, axis=1)

A library's product would read what a kernel has written: such a product is as fast as memory is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import make
from ..builder import Builder
from ..ir import Apply, Atom, Function, Statement, Var, uses_of, walk
from ..ops.core import Cast, Contract, ContractAttrs, Elementwise
from ..rewrite import spelled_out

DTYPES = "fd"  # half precision would be rounded before it is added


def weighted(function: Function) -> Function:
    """Apply to every such product of single and double precision."""
    if not any(isinstance(s, Apply) and isinstance(s.op, Contract) for s in walk(function.body)):
        return function
    makers = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    uses = uses_of(function.body)

    def is_made(a: Atom) -> bool:
        return isinstance(a, Var) and uses[a] == 1 and a in makers and isinstance(makers[a].op, Elementwise | Cast)

    def written(s: Apply) -> Sequence[Statement]:
        if not isinstance(s.op, Contract) or s.targets[0].aval.dtype.char not in DTYPES:
            return (s,)
        assert isinstance(s.attrs, ContractAttrs)
        (x, y), lhs, rhs = s.args, s.attrs.lhs, s.attrs.rhs
        if is_made(x) and _is_weight(rhs, lhs, s.attrs.out):
            return _sum(s, x, lhs, y, rhs)
        if is_made(y) and _is_weight(lhs, rhs, s.attrs.out):
            return _sum(s, y, rhs, x, lhs)
        return (s,)

    return replace(function, body=spelled_out(function.body, written))


def _is_weight(labels: Sequence[int], whole: Sequence[int], out: Sequence[int]) -> bool:
    """Whether an operand has a part of the other's axes, and the result the others in the same order."""
    return set(labels) <= set(whole) and tuple(out) == tuple(n for n in whole if n in out) and len(out) < len(whole)


def _sum(s: Apply, x: Atom, whole: Sequence[int], y: Atom, labels: Sequence[int]) -> Sequence[Statement]:
    assert isinstance(s.attrs, ContractAttrs)
    b = Builder(s.span)
    turned = make.transpose(b, y, sorted(range(len(labels)), key=lambda k: whole.index(labels[k])))
    beside = make.expand_dims(b, turned, tuple(k for k, n in enumerate(whole) if n not in labels))
    axes = tuple(k for k, n in enumerate(whole) if n not in s.attrs.out)
    total = make.sum(b, make.multiply(b, x, beside), axes)
    last = b.statements[-1]
    if not isinstance(last, Apply) or last.targets != (total,) or total.aval != s.targets[0].aval:
        return (s,)  # a product that is added in a wider type
    return (*b.statements[:-1], replace(last, targets=s.targets))
