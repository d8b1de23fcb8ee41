"""Deciding what becomes a kernel on this device, and what a library call: products, running sums, choices, stores.

    before                                      after, where the library wins
    def contract(x, w, b):                      h = x @ w
        h = x @ w                               y = pointwise(h, b)
        return np.tanh(h + b)
    y = contract(x, w, b)

Where a kernel wins it takes in the elementwise work that makes its operands, too. So does a running sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...translator.bounds import is_dynamic, narrowed_numbers
from ...translator.errors import Diagnostic, DTypeError
from ...translator.ir import (
    Apply,
    Atom,
    Block,
    For,
    Function,
    Fused,
    If,
    Shape,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    inputs_of,
    may_raise,
    walk,
    with_blocks,
)
from ...translator.ops.core import (
    At,
    Cast,
    Contract,
    Create,
    Cumulative,
    CumulativeAttrs,
    Elementwise,
    Index,
    IndexAttrs,
    Put,
    Reduce,
    Run,
    indexed_shape,
)
from ...translator.passes.alignment import is_free, nbytes, reduction_kind
from ...translator.passes.groups import LONGEST, close
from ...translator.routines import everywhere
from ..attention.forward import is_worth_fusing
from ..attention.recomputed import with_recomputed_scores
from ..contract import is_worth, stages
from ..facts import H200, Facts
from ..grouping import fits, inline, is_elementwise, is_pointwise, replaced, users_of
from ..loops.groups import as_kernel
from ..rows.beside_groups import with_rows_beside
from ..rows.parts import parted_of
from ..source.body import DIALECTS
from ..source.dialects import C_TYPES
from ..source.lower import gathers
from ..tiles import statements_for
from .joined import with_joined
from .one_each import counting_in, with_one_each
from .remade import with_remade
from .slices import with_slices

SHORT_LINE, MANY_LINES = 1024, 1 << 14


def settle(function: Function, language: str, facts: Facts = H200) -> Function:
    """The fused program with every product either a kernel's or the library's. DTypeError for what no GPU has."""
    return everywhere(function, lambda f: replace(f, body=_in_block(_typed(f, language).body, language, facts)))


def _typed(function: Function, language: str) -> Function:
    """The function, after checking that all its values have types that kernels know."""
    found = [(function.span, p) for p in function.body.params]
    found += [(s.span, t) for s in walk(function.body) for t in s.targets]
    for span, v in found if language in DIALECTS else ():
        if v.aval.dtype.name not in C_TYPES:
            instead = 'astype(np.float64) first, or target="numpy"'
            raise DTypeError(Diagnostic(f"GPUs have no type for NumPy's {v.aval.dtype}", span, instead=instead))
    return function


def _in_block(block: Block, language: str, facts: Facts, around: frozenset[Var] = frozenset()) -> Block:
    """`around`: values of the blocks around this one that are 0, 1, 2 and so on."""
    statements: list[Statement] = []
    counting = counting_in(block, around)
    made: set[Var] = set()  # by kernels of loops, which take in the work after them
    for k, s in enumerate(block.statements):
        if s.targets and made.issuperset(s.targets):
            continue
        kernel = None
        if isinstance(s, For | While) and language in DIALECTS:  # what one loop has taken in is not there for the next
            rest = [r for r in block.statements[k:] if not r.targets or not made.issuperset(r.targets)]
            kernel = as_kernel(s, replace(block, statements=(*statements, *rest)), facts)
        if kernel is not None:
            statements += kernel
            made.update(t for m in kernel for t in m.targets)
            continue
        if isinstance(s, If | For | While):
            s = with_blocks(s, lambda inner: _in_block(inner, language, facts, counting))
        statements.append(s)
    block = replace(block, statements=_read(block, statements))
    block = with_one_each(block, language, counting) if language in DIALECTS else block
    block = with_recomputed_scores(block, language, facts) if language in DIALECTS else block
    for s in block.statements if language in DIALECTS else ():
        if _is_product(s):
            block = _with_attention(block, s, language, facts)
    for s in block.statements if language in DIALECTS else ():
        if isinstance(s, Fused) and s.kind == "reduce":
            block = _computed_again(block, s, language)
    for s in block.statements if language in DIALECTS else ():
        if isinstance(s, Fused) and s.kind == "reduce":
            block = _with_center(block, s, language)
    for s in block.statements if language in DIALECTS else ():
        if isinstance(s, Apply) and isinstance(s.op, Cumulative):
            block = _with_neighbours(block, s, language)
    for s in block.statements if language in DIALECTS else ():
        if isinstance(s, Apply) and gathers(s) and isinstance(s.op, Index):
            block = _with_chosen(block, s, language)
    for s in block.statements if language in DIALECTS else ():
        if isinstance(s, Apply) and gathers(s) and isinstance(s.op, Put):
            block = _with_stored(block, s, language)
    for s in block.statements:
        if _is_product(s):
            block = _settled(block, s, language, facts)
    known = {id(s) for s in block.statements}
    block = with_remade(block, language, facts) if language in DIALECTS else block
    for s in block.statements:
        if id(s) not in known and _is_product(s):
            block = _settled(block, s, language, facts)
    block = with_rows_beside(block, language) if language in DIALECTS else block
    block = with_joined(block, language) if language in DIALECTS else block
    return with_slices(block, language, facts) if language in DIALECTS else block


def _read(block: Block, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Without what kernels of loops make for themselves: the memory that they fill, and the work in front of them."""
    live = {a for a in block.results if isinstance(a, Var)}
    kept: list[Statement] = []
    for s in reversed(statements):
        if isinstance(s, Apply | Fused) and s.targets and live.isdisjoint(s.targets) and not may_raise(s):
            continue
        live.update(a for a in inputs_of(s) if isinstance(a, Var))
        live.update(v for inner in blocks_of(s) for v in free_variables(inner))
        kept.append(s)
    return tuple(reversed(kept))


def _is_product(s: Statement) -> bool:
    return (isinstance(s, Fused) and s.kind == "contract") or (isinstance(s, Apply) and isinstance(s.op, Contract))


def _with_neighbours(block: Block, s: Apply, language: str) -> Block:
    """The block with a running reduction and the work along the same rows before and after it as one kernel."""
    assert isinstance(s.attrs, CumulativeAttrs)
    (x,), (target,) = s.args, s.targets
    joins = _is_along_rows if _fills_device(target.aval.shape, s.attrs.axis) else is_pointwise
    users = users_of(block)
    before = [b for b in block.statements if b.targets == (x,) and joins(b) and users[b.targets[0]] == {id(s)}]
    after = [b for b in block.statements if users.get(target) == {id(b)} and joins(b)]
    others = [b for b in block.statements if _runs_beside(b, s) and after and users.get(b.targets[0]) == {id(after[0])}]
    for chosen in ([*before, s, *others, *after], [*before, s, *after], [s, *after], [*before, s], [s]):
        group = close([b for c in chosen for b in inline(c)], chosen[-1].targets, "scan")
        if len(group.body.statements) <= LONGEST and fits(group, language):
            return replaced(block, {**{id(c): [] for c in chosen}, id(chosen[-1]): [group]})
    return block


def _runs_beside(b: Statement, s: Apply) -> bool:
    """Whether another running reduction goes along the same rows, so that both fit one kernel."""
    same = isinstance(b, Apply) and isinstance(b.op, Cumulative) and b is not s and b.attrs == s.attrs
    return same and b.targets[0].aval.shape == s.targets[0].aval.shape


def _computed_again(block: Block, s: Fused, language: str) -> Block:
    """The block with what a reduction stores besides computed again by the one kernel that reads it, of arrays no
    larger: exp(x - m) of a long softmax is neither written nor read, and the sum may be found with the maximum."""
    users, own = users_of(block), inline(s)
    for t in s.targets:
        readers = [b for b in block.statements if users.get(t) == {id(b)} and is_elementwise(b)]
        again = statements_for(own, [t], frozenset())
        others = [r for r in s.targets if r is not t]
        if not (readers and others) or any(not is_free(b) and not isinstance(b.op, Elementwise | Cast) for b in again):
            continue
        made = {v for b in again for v in b.targets}
        read = {a for b in again for a in b.args if isinstance(a, Var) and a not in made}
        if sum(nbytes(a) for a in read) > 1.01 * nbytes(t):  # but for a number a row
            continue
        (reader,) = readers
        whole = close([*again, *inline(reader)], reader.targets, "pointwise")
        rest = close(statements_for(own, others, frozenset()), others, "reduce")
        if len(whole.body.statements) <= LONGEST and fits(whole, language) and fits(rest, language):
            return replaced(block, {id(s): [rest], id(reader): [whole]})
    return block


def _with_center(block: Block, s: Fused, language: str) -> Block:
    """The block with a sum of squared distances, or a place of an extreme, and the reduction that gives what they are
    from, or the extreme, as one kernel."""
    makers = {t: b for b in block.statements for t in b.targets}
    for a in s.args:
        chain: list[Statement] = []
        maker = makers.get(a) if isinstance(a, Var) else None
        while isinstance(maker, Apply) and is_free(maker) and maker.args:
            chain.append(maker)
            maker = makers.get(maker.args[0]) if isinstance(maker.args[0], Var) else None
        reduces = isinstance(maker, Apply) and isinstance(maker.op, Reduce)
        if maker is None or not (reduces or (isinstance(maker, Fused) and maker.kind == "reduce")):
            continue
        if not isinstance(a, Var) or not parted_of(inline(s), [a]):
            continue
        users, chosen = users_of(block), [maker, *reversed(chain), s]
        inside = {id(c) for c in chosen}
        places = {id(b): k for k, b in enumerate(block.statements)}
        others = {t: users.get(t, set()) - inside for c in chosen for t in c.targets}
        if any(0 < places.get(u, len(places)) < places[id(s)] for found in others.values() for u in found):
            continue
        targets = [t for c in chosen for t in c.targets if others[t]]
        group = close([b for c in chosen for b in inline(c)], targets, "reduce")
        if len(group.body.statements) <= LONGEST and fits(group, language):
            return replaced(block, {**{id(c): [] for c in chosen}, id(s): [group]})
    return block


def _fills_device(shape: Shape, axis: int) -> bool:
    """Whether rows along this axis keep a device busy, with a block for each, or a thread where they lie beside each
    other. Longer ones are divided among blocks, which reductions of whole rows in the same kernel would not allow."""
    others = (*shape[:axis], *shape[axis + 1 :])
    if axis == len(shape) - 1:
        return reduction_kind((*others, shape[axis]), (axis,)) == "row"
    return shape[axis] <= SHORT_LINE or math.prod(others) >= MANY_LINES


def _with_chosen(block: Block, s: Apply, language: str) -> Block:
    """The block with a choice of elements as a kernel, with the work that makes its indices and the work on it."""
    users, (target,) = users_of(block), s.targets
    indices = [a for a in s.args[1:] if target.aval.size <= 4 * a.aval.size]  # others would be made again too often
    before = _makers_for(block, s, indices, users)[:-1]
    after = [b for b in block.statements if users.get(target) == {id(b)} and _is_along_rows(b)]
    for chosen in ([*before, s, *after], [s, *after], [*before, s], [s]):
        group = close([b for c in chosen for b in inline(c)], chosen[-1].targets, "gather")
        if len(group.body.statements) <= LONGEST and fits(group, language):
            return replaced(block, {**{id(c): [] for c in chosen}, id(chosen[-1]): [group]})
    return block


def _with_stored(block: Block, s: Apply, language: str) -> Block:
    """The block with a store at chosen places as a kernel, with the work that makes its values and its indices."""
    assert isinstance(s.attrs, IndexAttrs)
    x = s.args[0]
    moved = any(isinstance(d, At | Run) and is_dynamic(d) for d in s.attrs.dims)
    if not isinstance(x, Var) or not x.aval.shape or moved or narrowed_numbers(s):
        return block
    users, size = users_of(block), math.prod(indexed_shape(s.attrs, [a.aval for a in s.args]))
    operands = [a for a in s.args[1:] if size <= 4 * a.aval.size and a is not x]
    before = _makers_for(block, s, operands, users)[:-1]
    for chosen in ([*before, s], [s]):
        statements = [b for c in chosen for b in inline(c)]
        group = first_argument(close(statements, s.targets, "scatter"), x)
        own = [b for b in statements if b is not s and x in b.args]
        if not own and s.args.count(x) == 1 and len(statements) <= LONGEST and fits(group, language):
            return replaced(block, {**{id(c): [] for c in chosen}, id(s): [group]})
    return block


def first_argument(group: Fused, x: Var) -> Fused:
    """The group with this one as its first argument."""
    k = group.args.index(x)
    order = [k, *(i for i in range(len(group.args)) if i != k)]
    params = tuple(group.body.params[i] for i in order)
    return replace(group, args=tuple(group.args[i] for i in order), body=replace(group.body, params=params))


def _is_along_rows(s: Statement) -> bool:
    return is_pointwise(s) or (isinstance(s, Fused) and s.kind == "row")


def _with_attention(block: Block, s: Statement, language: str, facts: Facts) -> Block:
    """The block with a product, the softmax that makes its operand, and the product before that as one kernel."""
    users = users_of(block)
    makers = {t: b for b in block.statements for t in b.targets}
    for softmax in {id(m): m for a in _operands(s) if isinstance(a, Var) and (m := makers.get(a)) is not None}.values():
        if not (isinstance(softmax, Fused) and softmax.kind == "row"):
            continue
        for a in softmax.args:
            scores = makers.get(a) if isinstance(a, Var) else None
            if scores is None or not _is_product(scores):
                continue
            chosen = (scores, softmax, s)
            inside = {id(c) for c in chosen}
            if any(not users.get(t, set()) <= inside for c in chosen[:2] for t in c.targets):
                continue
            group = close([b for c in chosen for b in inline(c)], s.targets, "attention")
            short = len(group.body.statements) <= LONGEST
            if short and fits(group, language) and is_worth_fusing(group, language, facts):
                return replaced(block, {id(scores): [], id(softmax): [], id(s): [group]})
    return block


def _settled(block: Block, s: Statement, language: str, facts: Facts) -> Block:
    """The block with one product settled: with its operands' work or without it a kernel, or else the library's."""
    if language in DIALECTS:
        inside = _with_operands(block, s)
        for chosen in ([inside] if len(inside) > 1 else []) + [[s]]:
            statements = [b for c in chosen for b in inline(c)]
            group = close(statements, s.targets, "contract")
            if len(statements) <= LONGEST and fits(group, language) and is_worth(group, language, facts):
                return replaced(block, {**{id(c): [] for c in chosen}, id(s): [group]})
    return replaced(block, {id(s): parts(s)}) if isinstance(s, Fused) else block


# ---- operands ------------------------------------------------------------------------------------


def _with_operands(block: Block, s: Statement) -> list[Statement]:
    """The product's statement and those whose elementwise work makes operands for it alone, in order."""
    return _makers_for(block, s, _operands(s), users_of(block))


def _makers_for(block: Block, s: Statement, operands: Sequence[Atom], users: Mapping[Var, set[int]]) -> list[Statement]:
    """The statement and those whose elementwise work makes some of its operands for it alone, in order."""
    makers = {t: b for b in block.statements for t in b.targets}
    inside = {id(s)}
    for a in operands:
        chain: list[Statement] = []
        maker = makers.get(a) if isinstance(a, Var) else None
        while isinstance(maker, Apply) and is_free(maker) and maker.args and not isinstance(maker.op, Create):
            chain.append(maker)
            a = maker.args[0]
            maker = makers.get(a) if isinstance(a, Var) else None
        counted = isinstance(maker, Apply) and isinstance(maker.op, Create) and is_free(maker)
        if maker is None or not (counted or is_elementwise(maker)):
            continue
        chain.append(maker)
        there = inside | {id(c) for c in chain}
        if all(users.get(t, set()) <= there for c in chain for t in c.targets):
            inside = there
    return [b for b in block.statements if id(b) in inside]


def _operands(s: Statement) -> list[Atom]:
    """The values outside a group that its product reads, views skipped."""
    own = inline(s)
    (product,) = [b for b in own if isinstance(b.op, Contract)]
    known = {b.targets[0]: b for b in own}
    found: list[Atom] = []
    for a in product.args:
        while isinstance(a, Var) and a in known and is_free(known[a]) and known[a].args:
            a = known[a].args[0]
        found.append(a)
    return found


# ---- the library's -------------------------------------------------------------------------------


def parts(s: Fused) -> list[Statement]:
    """The work before a product, the product with the views that it needs, and the work after it."""
    statements = inline(s)
    (product,) = [b for b in statements if isinstance(b.op, Contract)]
    before, after = stages(statements, product, s.targets)
    found: list[Statement] = [close(statements_for(statements, [v], frozenset()), [v], "pointwise") for v in before]
    found += statements_for(statements, product.args, frozenset(before))
    found.append(product)
    if after:
        targets = [t for t in s.targets if t is not product.targets[0]]
        found.append(close(after, targets, "pointwise"))
    return found
