"""Stores that only some lanes perform: the others write back what is there, so that no array is copied.

    if x[i] > x[i + 1]:                  t = x[:, i] > x[:, i + 1]
        x[i] = 0.0                       x[:, i] = np.where(t, 0.0, x[:, i])

So a branch or a loop in lockstep costs what it stores, not the arrays that it stores into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Apply, Atom, Block, For, If, Statement, Var, While, walk
from ..ops.core import Put
from .spread import is_batched

if TYPE_CHECKING:
    from .vmap import Batcher

Makers = dict[Var, tuple[Statement, int]]  # of a variable its statement, and which of the targets it is


def makers_of(block: Block) -> Makers:
    """The statement that makes each variable, and which of its targets it is."""
    return {t: (s, k) for s in walk(block) for k, t in enumerate(s.targets)}


def between(batcher: Batcher, new: Atom, old: Atom) -> set[Var] | None:
    """The stores that alone make `new` of `old` for the elements that run them; None where more than stores does."""
    if new is old:
        return set()
    if not isinstance(new, Var) or new not in batcher.makers or new not in batcher.batched:
        return None
    s, k = batcher.makers[new]
    match s:
        case Apply(op=Put()) if new.aval.dtype.kind in "biufc" and (s.op.name == "put" or new.aval.dtype.kind != "b"):
            found = between(batcher, s.args[0], old)
            return None if found is None else found | {new}
        case If(then=then, orelse=orelse):
            return _both(between(batcher, then.results[k], old), between(batcher, orelse.results[k], old))
        case For(range=r, inits=inits, body=body):
            begun = between(batcher, inits[k], old)
            if any(is_batched(a, batcher.batched) for a in (r.start, r.stop, r.step)):
                return begun  # a loop in lockstep leaves alone what it is not run for
            return _both(begun, between(batcher, body.results[k], body.params[k + 1]))
        case While(inits=inits, condition=test, body=body):
            begun = between(batcher, inits[k], old)
            if is_batched(test.results[0], batcher.batched):
                return begun
            return _both(begun, between(batcher, body.results[k], body.params[k]))
    return None


def _both(a: set[Var] | None, b: set[Var] | None) -> set[Var] | None:
    return None if a is None or b is None else a | b


def stored_into(batcher: Batcher, s: If) -> dict[int, Var]:
    """Of a branch on a batched condition: the results that are an array from before it with stores, and that array.

    Both sides may store: those of the second follow those of the first, which have changed nothing that it reads.
    """
    found: dict[int, Var] = {}
    inside = {t for block in (s.then, s.orelse) for inner in walk(block) for t in inner.targets}
    for k, (x, y) in enumerate(zip(s.then.results, s.orelse.results, strict=True)):
        old = _origin(batcher, x, inside)
        if x is y or old is not _origin(batcher, y, inside) or old in found.values() or not isinstance(old, Var):
            continue
        stores = _both(between(batcher, x, old), between(batcher, y, old))
        if stores is not None and (old in batcher.batched or old in (x, y)):
            batcher.masked_stores |= stores
            found[k] = old
    return found


def _origin(batcher: Batcher, a: Atom, inside: set[Var]) -> Atom:
    """The array that a chain of stores begins with, followed to before the branch."""
    while a in inside:
        assert isinstance(a, Var)
        s, k = batcher.makers[a]
        match s:
            case Apply(op=Put()):
                a = s.args[0]
            case If(then=then):
                a = then.results[k]
            case For(inits=inits) | While(inits=inits):
                a = inits[k]
            case _:
                break
    return a


def kept_by_stores(batcher: Batcher, block: Block, carried: tuple[Var, ...]) -> set[int]:
    """Of a loop body under a mask: which results are their carried value with stores."""
    found: set[int] = set()
    for k, (r, p) in enumerate(zip(block.results, carried, strict=True)):
        stores = between(batcher, r, p)
        if stores is not None:
            batcher.masked_stores |= stores
            found.add(k)
    return found
