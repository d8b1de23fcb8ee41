"""Values without axes that are certainly numbers, which no `x *= y` changes.

A value of shape () that comes from outside, or from np.where, may be an array without axes. `x *= y` changes such an
array, and with it what else holds it: the caller's argument, a list to which it was appended.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from .. import ops
from ..ir import Apply, Atom, Block, Const, For, If, Statement, Var, While, walk
from ..ops.core import Cast, Contract, Elementwise, Index, Reduce, Tape, is_store

VIEWS = frozenset({"real", "imag", "stop_gradient", "positive", "conjugate", "diag", "diagonal"})


def computes_numbers(s: Statement, elements_are_views: bool) -> bool:
    """Whether what the statement gives is a number where it has no axes. `elements_are_views`: x[i] is an array without
    axes, as CuPy's are."""
    if not isinstance(s, Apply) or not isinstance(s.op, Elementwise | Index | Reduce | Contract):
        return False
    return s.op is not ops.WHERE and s.op.name not in VIEWS and not (isinstance(s.op, Index) and elements_are_views)


def entries_may_be_arrays(body: Block, elements_are_views: bool) -> bool:
    """Whether an array without axes may be an entry of a list of numbers."""
    statements = list(walk(body))
    kept = [
        s.args[1]
        for s in statements
        if isinstance(s, Apply) and isinstance(s.op, Tape) and is_store(s.op) and not s.args[1].aval.shape
    ]
    if not kept:
        return False
    handed = {v: sources for s in statements for v, sources in _handed_on(s)}
    numbers = {t for s in statements if computes_numbers(s, elements_are_views) for t in s.targets}
    entries = {t for s in statements if isinstance(s, Apply) and s.op is ops.ITEM for t in s.targets}
    return not all(_is_number(a, numbers | entries, handed) for a in kept)


def _handed_on(s: Statement) -> Iterator[tuple[Var, tuple[Atom, ...]]]:
    """Variables that are one of other values, with these."""
    match s:
        case Apply(op=Cast()):
            yield s.targets[0], (s.args[0],)
        case If():
            for t, a, b in zip(s.targets, s.then.results, s.orelse.results, strict=True):
                yield t, (a, b)
        case For() | While():
            params = s.body.params[1:] if isinstance(s, For) else s.body.params
            for t, p, init, r in zip(s.targets, params, s.inits, s.body.results, strict=True):
                yield p, (init, r)
                yield t, (init, r)
        case _:
            pass


def _is_number(a: Atom, numbers: Set[Var], handed: dict[Var, tuple[Atom, ...]]) -> bool:
    """Whether all that `a` may be is a number."""
    waiting, seen = [a], set[Var]()
    while waiting:
        b = waiting.pop()
        if isinstance(b, Const) or b in numbers or b in seen:
            continue
        if b not in handed:
            return False
        seen.add(b)
        waiting += handed[b]
    return True
