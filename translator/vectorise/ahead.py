"""Products in a loop that stays which depend on its index alone become one matrix product ahead of the loop.

    for i in range(m):                              t = data.T @ data
        c = data[:, i] @ data                       for i in range(m):
        cov[i, i:] = cov[i:, i] = c[i:]                 c = t[i]
                                                        cov[i, i:] = cov[i:, i] = c[i:]

A product of two matrices reads each of them once or a few times, those of all trips read the second one in every trip.
Where a trip multiplies matrices it stays: the products of all trips would fill memory for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .. import make
from ..bounds import Interval
from ..builder import Builder
from ..ir import Apply, Atom, Block, For, Statement, Var, inputs_of
from ..ops.core import At, Contract, ContractAttrs, Dim, Dyn, Run
from ..rewrite import Substitution, copy_statement, substituted
from .cost import LARGEST, TIMES, Policy
from .stores import Dependence
from .trial import Trial

FEWEST = 1 << 14  # multiplications of one trip: below, they take no longer than the trip itself


def products_ahead(
    loop: For, policy: Policy, known: Callable[[], dict[Var, Interval]]
) -> tuple[Sequence[Statement], For] | None:
    """The statements that take the products, and the loop without them; None where there are none."""
    trips = loop.range.static()
    if trips is None or len(trips) < policy.fewest or abs(trips.step) != 1:
        return None
    ahead: list[Statement] = []
    body = loop.body
    for s, before in _products(loop.body):
        made = _taken(loop, (*before, s), policy, known)
        if made is None:
            continue
        statements, products = made
        ahead += statements
        b = Builder(s.span)
        row = make.index(b, products, *_place(b, loop.body.params[0], trips, products))
        k = body.statements.index(s)
        around = (*body.statements[:k], *b.statements, *body.statements[k + 1 :])
        body = substituted(replace(body, statements=around), {s.targets[0]: row})
    return (ahead, replace(loop, body=body)) if ahead else None


def _products(block: Block) -> Iterator[tuple[Apply, tuple[Apply, ...]]]:
    """Each product of something that follows from the index alone and something that is there before the loop, with
    the statements before it that it needs.
    """
    index, *carried = block.params
    inside = {*carried, *(t for s in block.statements for t in s.targets)}
    behind: dict[Var, tuple[Apply, ...]] = {index: ()}
    for s in block.statements:
        varying = [a for a in inputs_of(s) if a in behind]
        if not isinstance(s, Apply) or any(a in inside and a not in behind for a in s.args):
            continue
        before = tuple(dict.fromkeys(e for a in varying for e in behind[a]))
        one = isinstance(s.op, Contract) and len(varying) == 1 and _multiplications(s) >= FEWEST
        if one and _rows(s, varying[0]) == 1:
            yield s, before
        behind[s.targets[0]] = (*before, s)


def _rows(s: Apply, varying: Atom) -> int:
    """How many vectors a trip multiplies: of many, which are a matrix already, nothing is gained by more of them."""
    assert isinstance(s.attrs, ContractAttrs)
    own, other = (s.attrs.lhs, s.attrs.rhs) if s.args[0] is varying else (s.attrs.rhs, s.attrs.lhs)
    return math.prod(n for label, n in zip(own, varying.aval.shape, strict=True) if label not in other)


def _multiplications(s: Apply) -> int:
    attrs, (x, y) = s.attrs, s.args
    assert isinstance(attrs, ContractAttrs)
    return math.prod(dict(zip((*attrs.lhs, *attrs.rhs), (*x.aval.shape, *y.aval.shape), strict=True)).values())


def _taken(
    loop: For, chain: Sequence[Apply], policy: Policy, known: Callable[[], dict[Var, Interval]]
) -> tuple[Sequence[Statement], Atom] | None:
    """The last of a chain of statements in all trips, one behind the other along a first axis."""
    trips, aval = loop.range.static(), chain[-1].targets[0].aval
    assert trips is not None
    given = [a.aval for s in chain for a in s.args]
    largest = max(a.size * a.dtype.itemsize for a in given)
    if len(trips) * aval.nbytes > max(LARGEST, TIMES * largest):
        return None
    start, b = Builder(loop.span), Builder(loop.span)
    empty = make.empty(start, (len(trips), *aval.shape), aval.dtype)
    index, rows, after = (Var(h, a) for h, a in (("k", loop.body.params[0].aval), ("t", empty.aval), ("t", empty.aval)))
    atoms: Substitution = {loop.body.params[0]: index}
    for s in chain:
        b.append(copy_statement(s, atoms))
    filled = make.put(b, rows, atoms[chain[-1].targets[0]], *_place(b, index, trips, rows))
    one = For((after,), loop.range, (empty,), b.block((index, rows), (filled,)), False, loop.span)
    trial = Trial(one, policy, known)
    try:
        statements, found = trial.made()
    except Dependence:
        return None
    if not all(map(trial.is_safe, chain)) or not all(isinstance(s, Apply) for s in statements):
        return None
    return (*start.statements, *statements), found[after]


def _place(b: Builder, index: Atom, trips: range, rows: Atom) -> tuple[list[Dim], list[Atom]]:
    """Where the row of a trip stands."""
    trip = make.subtract(b, index, trips.start) if trips.step > 0 else make.subtract(b, trips.start, index)
    return [At(Dyn(0)), *(Run(0, n) for n in rows.aval.shape[1:])], [trip]
