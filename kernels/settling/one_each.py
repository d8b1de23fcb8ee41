"""Stores of one element in each row of a matrix, at columns that integers choose, as a comparison of columns.

    p[np.arange(n), y] -= 1        p = np.where(np.arange(m) == np.arange(m)[y][:, None], p - 1, p)

So the gradient of `log_p[np.arange(n), y]`, or a softmax written out by hand, joins the kernel that makes the matrix or
reads it; on its own it would be a matrix of zeros written, stored into, and read again. `np.arange(m)[y]` is y, but for
negative columns; columns out of range raise as in any choice of elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from ...translator import make
from ...translator.bounds import narrowed_numbers
from ...translator.builder import Builder
from ...translator.ir import Apply, Atom, Aval, Block, Fused, Statement, Var
from ...translator.ops import INDEX, IOTA
from ...translator.ops.core import Create, Elementwise, Gather, IndexAttrs, Put, Reduce, Reshape
from ...translator.passes.groups import LONGEST, close
from ..grouping import fits, inline, is_pointwise, replaced, users_of

Makers = Mapping[Var, Statement]


def with_one_each(block: Block, language: str, counting: Set[Var]) -> Block:
    """The block with such stores in the kernels of the matrix's makers and readers, where there are any. `counting`:
    the values that are 0, 1, 2 and so on, those of the blocks around this one too.
    """
    for s in block.statements:
        users, makers = users_of(block), {t: b for b in block.statements for t in b.targets}
        if not (isinstance(s, Apply) and _is_one_each(s, counting)):
            continue
        (target,), x = s.targets, s.args[0]
        if not isinstance(x, Var) or (made := makers.get(x)) is None or not (_joins(made) or _is_filled(made)):
            continue
        update = _updated(s, makers, users)
        if users[x] != {id(s), *map(id, update[:1])}:
            continue
        reader = [b for b in block.statements if users.get(target) == {id(b)} and _joins(b)]
        before = _reshaped(s, made, makers, users)
        for chosen in ([made, *before, *update, s, *reader], [made, *before, *update, s]):
            if not reader and s.op.name == "put_add" and _is_filled(made):
                continue  # zeros and atomic sums move no more than a kernel that writes them all
            table, own = _compared(s, update)
            statements = [b for c in chosen if not any(c is u for u in update) for b in (own if c is s else inline(c))]
            targets = _read_outside(block, chosen, users)
            group = close(statements, targets, _kind(statements, chosen)) if targets else None
            if group is not None and len(statements) <= LONGEST and fits(group, language):
                block = replaced(block, {**{id(c): [] for c in chosen}, id(chosen[-1]): [table, group]})
                break
    return block


def _read_outside(block: Block, chosen: Sequence[Statement], users: Mapping[Var, set[int]]) -> list[Var]:
    """The results of these that others read; none where one of those comes before the last of these."""
    inside, places = {id(c) for c in chosen}, {id(b): k for k, b in enumerate(block.statements)}
    others = {t: users.get(t, set()) - inside for c in chosen for t in c.targets}
    last = places[id(chosen[-1])]
    if any(places.get(u, len(places)) < last for found in others.values() for u in found):
        return []
    return [t for t, found in others.items() if found]


def _updated(s: Apply, makers: Makers, users: Mapping[Var, set[int]]) -> list[Apply]:
    """Where what is stored is made of the elements that were there, as in `p[i, y] -= 1`: their choice, and the
    operation on them and on numbers."""
    assert isinstance(s.attrs, IndexAttrs)
    x, given, *places = s.args
    there = IndexAttrs(tuple(Gather(d.arg - 1) for d in s.attrs.dims if isinstance(d, Gather)))
    operation = makers.get(given) if isinstance(given, Var) else None
    if not (isinstance(operation, Apply) and isinstance(operation.op, Elementwise)):
        return []
    if users[operation.targets[0]] != {id(s)} or given.aval.dtype != x.aval.dtype:
        return []
    for a in operation.args:
        choice = makers.get(a) if isinstance(a, Var) else None
        if not (isinstance(choice, Apply) and choice.op is INDEX and choice.attrs == there):
            continue
        if any(p is not q for p, q in zip(choice.args, (x, *places), strict=True)):
            continue
        if users[choice.targets[0]] == {id(operation)} and all(b is a or not b.aval.shape for b in operation.args):
            return [choice, operation]
    return []


def _reshaped(s: Apply, made: Statement, makers: Makers, users: Mapping[Var, set[int]]) -> list[Apply]:
    """Where what is stored is a result of the matrix's maker with other axes, as in `p[i, y[:, None]] -= v[:, None]`:
    the statement that gives it those."""
    given = s.args[1]
    other = makers.get(given) if isinstance(given, Var) else None
    if not (isinstance(other, Apply) and isinstance(other.op, Reshape)) or users[other.targets[0]] != {id(s)}:
        return []
    return [other] if any(a in made.targets for a in other.args) else []


def _joins(s: Statement) -> bool:
    return is_pointwise(s) or (isinstance(s, Fused) and s.kind in ("row", "reduce"))


def _is_filled(s: Statement) -> bool:
    return isinstance(s, Apply) and isinstance(s.op, Create) and s.op.name == "full"


def _kind(statements: Sequence[Apply], chosen: Sequence[Statement]) -> str:
    kinds = {c.kind for c in chosen if isinstance(c, Fused)}
    reduces = any(isinstance(b.op, Reduce) for b in statements)
    return ("row" if "row" in kinds else "reduce") if reduces else "pointwise"


def _is_one_each(s: Apply, counting: Set[Var]) -> bool:
    """Whether a store goes to one element of each row of a matrix, with the column as NumPy's integer."""
    if not (isinstance(s.op, Put) and isinstance(s.attrs, IndexAttrs) and s.args[0].aval.ndim == 2):
        return False
    if narrowed_numbers(s):
        return False
    match s.attrs.dims:
        case (Gather(arg=first), Gather(arg=second)):
            rows, columns = s.args[first], s.args[second]
        case _:
            return False
    n, m = s.args[0].aval.shape
    whole = rows.aval.shape == columns.aval.shape and rows.aval.size == n and rows.aval.shape[0] == n
    stored = s.args[1].aval
    fitting = stored.size == 1 or (stored.shape == columns.aval.shape)
    counted = isinstance(rows, Var) and rows in counting
    return whole and fitting and counted and min(n, m) > 1 and columns.aval.dtype.kind in "iu"


def counting_in(block: Block, around: frozenset[Var]) -> frozenset[Var]:
    """The values that are 0, 1, 2 and so on, whatever their shape, with those of the blocks around this one."""
    found = set(around)
    for s in block.statements:
        if not isinstance(s, Apply):
            continue
        x = s.args[0] if isinstance(s.op, Reshape) else None
        reshaped = isinstance(x, Var) and x in found and x.aval.size == s.targets[0].aval.size
        if s.op is IOTA or reshaped:
            found.update(s.targets)
    return frozenset(found)


def _compared(s: Apply, update: Sequence[Apply]) -> tuple[Apply, list[Apply]]:
    """The statement that makes the columns' numbers, and those that make what the store leaves behind."""
    assert isinstance(s.attrs, IndexAttrs)
    x, given = s.args[:2]
    (target,), (n, m) = s.targets, x.aval.shape
    gathered = s.attrs.dims[1]
    assert isinstance(gathered, Gather)
    y, b = s.args[gathered.arg], Builder(s.span)
    table = make.iota(b, m)
    assert isinstance(table, Var)
    column = Var("column", Aval(y.aval.shape, np.dtype(np.int64)))
    b.append(Apply((column,), INDEX, (table, y), IndexAttrs((Gather(1),)), s.span))
    mask = make.equal(b, make.iota(b, m), make.reshape(b, column, (n, 1)))
    if update:
        choice, operation = update
        value: Atom = b.apply(operation.op, *(x if a in choice.targets else a for a in operation.args))
    else:
        value = make.astype(b, make.reshape(b, given, (n, 1) if given.aval.size == n else ()), x.aval.dtype)
    stored = make.where(b, mask, make.add(b, x, value) if s.op.name == "put_add" else value, x)
    assert isinstance(stored, Var) and stored.aval == target.aval
    first, *own = (a for a in b.statements if isinstance(a, Apply))
    assert own[-1].targets == (stored,)
    return first, [*own[:-1], replace(own[-1], targets=s.targets)]
