"""Carried values that a loop only adds to: their cotangent is the same in every trip, and is not carried backwards.

    for i in range(n):
        s = s + x[i] * y         # s passes through; d_s is one value for the whole loop
        if x[i] > 0.0:
            z[i] += y            # z too
        y = y * s_other          # y does not
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .. import ops
from ..ir import Apply, Atom, Block, For, If, Invoke, Statement, Var, inputs_of, walk


def passes_through(body: Block, k: int) -> bool:
    """Whether carried value `k` of the loop body is used for nothing but to be added to, and comes out as the sum."""
    chain: Counter[Var] = Counter()
    makers = {t: s for s in walk(body) for t in s.targets}
    carried = body.params[k + 1]
    if not _follow(body.results[k], carried, makers, chain):
        return False
    counts = uses(body)
    return all(counts[v] == n for v, n in chain.items())


def _follow(a: Atom, start: Var, makers: dict[Var, Statement], chain: Counter[Var]) -> bool:
    """Whether `a` is `start` plus something; `chain` counts the uses of the values on the way."""
    if not isinstance(a, Var):
        return False
    chain[a] += 1
    if a is start:
        return True
    if chain[a] > 1:
        return False
    match makers.get(a):
        case Apply(op=op, args=args):
            places = {ops.ADD: (0, 1), ops.SUBTRACT: (0,), ops.PUT_ADD: (0,)}.get(op, ())
            return any(args[i].aval == a.aval and _attempt(args[i], start, makers, chain) for i in places)
        case If(targets=targets, then=then, orelse=orelse):
            i = targets.index(a)
            return all(_follow(block.results[i], start, makers, chain) for block in (then, orelse))
        case For(targets=targets, inits=inits, body=body):
            i = targets.index(a)
            inner = body.params[i + 1]
            return _follow(body.results[i], inner, makers, chain) and _follow(inits[i], start, makers, chain)
        case _:
            return False


def _attempt(a: Atom, start: Var, makers: dict[Var, Statement], chain: Counter[Var]) -> bool:
    """`_follow` that leaves no trace where it fails."""
    before = chain.copy()
    if _follow(a, start, makers, chain):
        return True
    chain.clear()
    chain.update(before)
    return False


def uses(body: Block) -> Counter[Var]:
    """How often each value is used in the block and inside its statements."""
    counts: Counter[Var] = Counter()

    def count(atoms: Iterable[Atom]) -> None:
        counts.update(a for a in atoms if isinstance(a, Var))

    count(body.results)
    for s in walk(body):
        count(inputs_of(s))
        match s:
            case If(then=then, orelse=orelse):
                count((*then.results, *orelse.results))
            case Apply() | Invoke():
                pass
            case _:
                count(s.body.results)
    return counts
