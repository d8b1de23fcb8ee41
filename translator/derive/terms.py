"""Sums that a backward loop would accumulate in every trip are taken once, after it, from accumulated terms.

    for i in reversed(range(n)):             d_k_terms = np.zeros(3)
        d_k += np.sum(d_y * y)               for i in reversed(range(n)):
                                                 d_k_terms += d_y * y
                                             d_k = np.sum(d_k_terms)

An addition of arrays becomes part of the loop's other elementwise work, a sum in each trip does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Block, Statement, Var
from ..ops.core import ReduceAttrs
from ..records import dataclass
from ..rewrite import prune
from .passage import uses

FEW_TERMS = 4096  # so many always fit into the first cache


@dataclass(frozen=True, slots=True)
class Terms:
    """What a carried value has become: terms of type `aval`, of which `attrs` says how they are summed."""

    aval: Aval
    attrs: ReduceAttrs

    def total(self, b: Builder, terms: Atom, so_far: Atom | None) -> Atom:
        summed = make.sum(b, terms, self.attrs.axes, self.attrs.keepdims)
        return summed if so_far is None else make.add(b, so_far, summed)


def collected(body: Block, carried: Sequence[int], most: int) -> tuple[Block, dict[int, Terms]]:
    """`body` with the parameters `carried`, as far as they are nothing but sums added up, changed to terms added up.

    Terms have at most `most` elements. The parameters are those of a backward loop without its index.
    """
    found: dict[int, Terms] = {}
    body = prune(body)
    makers = {t: s for s in body.statements for t in s.targets}
    counts = uses(body)
    replaced: dict[Statement, Statement] = {}
    params, results = list(body.params), list(body.results)
    for k in carried:
        chain = _chain(body.results[k], body.params[k], makers)
        if not chain or any(counts[v] != 1 for v in (body.params[k], *(s.targets[0] for s, _ in chain))):
            continue
        sums = [_sum(summand, makers) for _, summand in chain]
        first = sums[0]
        if first is None or any(s is None or _kind(s) != _kind(first) for s in sums):
            continue
        terms = Terms(_kind(first)[0], _kind(first)[1])
        if terms.aval.size > most or terms.aval.dtype != params[k].aval.dtype or terms.aval.dtype.itemsize < 4:
            continue
        found[k] = terms
        so_far: Var = Var(f"{params[k].hint}_terms", terms.aval)
        params[k] = so_far
        for (s, _), summed in zip(chain, sums, strict=True):
            assert summed is not None
            after = Var(f"{body.params[k].hint}_terms", terms.aval)
            replaced[s] = Apply((after,), s.op, (so_far, summed.args[0]), s.attrs, s.span)
            so_far = after
        results[k] = so_far
    if not found:
        return body, found
    statements = tuple(replaced.get(s, s) for s in body.statements)
    return prune(Block(tuple(params), statements, tuple(results))), found


def _chain(a: Atom, start: Var, makers: dict[Var, Statement]) -> list[tuple[Apply, Atom]]:
    """The additions and subtractions that lead from `start` to `a`, and what each adds; empty where others do."""
    found: list[tuple[Apply, Atom]] = []
    while a is not start:
        s = makers.get(a) if isinstance(a, Var) else None
        if not isinstance(s, Apply) or s.op not in (ops.ADD, ops.SUBTRACT) or s.args[0].aval != s.targets[0].aval:
            return []
        a = s.args[0]
        found.append((s, s.args[1]))
    return found[::-1]


def _sum(a: Atom, makers: dict[Var, Statement]) -> Apply | None:
    s = makers.get(a) if isinstance(a, Var) else None
    return s if isinstance(s, Apply) and s.op is ops.SUM else None


def _kind(s: Apply) -> tuple[Aval, ReduceAttrs]:
    assert isinstance(s.attrs, ReduceAttrs)
    aval = s.args[0].aval
    return Aval(aval.shape, aval.dtype), s.attrs
