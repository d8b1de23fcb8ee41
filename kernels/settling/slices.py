"""Stores into slices, and joins of slices, as part of the pointwise kernels around them.

    before                                         after
    t = pointwise(u)                               def pointwise(u):
    v[1:-1, 1:-1] += t                                 t = ...
    v[0] = 0                                           v[1:-1, 1:-1] += t
                                                       v[0] = 0
                                                   v = pointwise(u)
    left = np.concatenate([u[-1:], u[:-1]])        def pointwise(u):
    y = pointwise(u, left)                             left = np.concatenate([u[-1:], u[:-1]])

Where each of them is on its own what is stored goes out to memory and comes back, and so does each np.roll. The kernel
makes a new array: for a few elements of a large array stores in place move less.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...translator.bounds import narrowed_numbers
from ...translator.errors import UnsupportedError
from ...translator.ir import Apply, Atom, Block, Fused, Statement, Var
from ...translator.ops.core import At, Concatenate, Create, Elementwise, IndexAttrs, Put, Run, indexed_shape
from ...translator.passes.alignment import is_free, nbytes
from ...translator.passes.groups import LONGEST, close
from ..facts import Facts
from ..grouping import fits, inline, is_pointwise, replaced, users_of
from ..source.lower import lower

AGAIN = 2.5  # values that a kernel computes for each of its parts: neighbours of what it makes are made again
FEW = 8
MOST_PIECES = 4  # of what is joined: each is asked for at every element


def with_slices(block: Block, language: str, facts: Facts) -> Block:
    """The block with stores into slices in the kernels that make what they store, and what is stored or joined in the
    kernels that read it, where that moves less."""
    taken: set[int] = set()
    for s in reversed(block.statements):
        if id(s) in taken or not (_is_static(s) or is_pointwise(s)):
            continue
        for chosen in (_gathered(block, s, every=True), _gathered(block, s, every=False)):
            if not any(_is_static(c) or _is_joined(c) for c in chosen):
                break
            group = close([b for c in chosen for b in inline(c)], s.targets, "pointwise")
            if _is_worth(chosen, group, facts) and not _repeats(group) and fits(group, language):
                block = replaced(block, {**{id(c): [] for c in chosen}, id(s): [group]})
                taken.update(map(id, chosen))
                break
    return block


def _is_static(s: Statement) -> bool:
    """A store at places that are known, one element beside the other."""
    if not (isinstance(s, Apply) and isinstance(s.op, Put) and isinstance(s.attrs, IndexAttrs)):
        return False
    known = all(
        isinstance(d.index if isinstance(d, At) else d.start, int) and (isinstance(d, At) or d.step == 1)
        for d in s.attrs.dims
        if isinstance(d, At | Run)
    )
    runs = all(isinstance(d, At | Run) for d in s.attrs.dims)
    return runs and known and isinstance(s.args[0], Var) and bool(s.args[0].aval.size) and not narrowed_numbers(s)


def _is_joined(s: Statement) -> bool:
    return isinstance(s, Apply) and isinstance(s.op, Concatenate) and len(s.args) <= MOST_PIECES


def _gathered(block: Block, last: Statement, every: bool) -> list[Statement]:
    """The statement and the work that is done for it alone, in order; with `every` the stores before it as well."""
    users = users_of(block)
    makers = {t: b for b in block.statements for t in b.targets}
    inside = {id(last): last}
    todo: list[Statement] = [last]
    while todo:
        joined = [m for s in inside.values() for a in s.args if (m := makers.get(a)) is not None]  # type: ignore
        todo = [m for m in joined if id(m) not in inside and _joins(m, every) and _is_only_for(m, users, inside)]
        todo = [m for m in todo if not (_is_dear(m) and 4 * _size(m) < _size(last))]
        inside.update((id(m), m) for m in todo)
    return [b for b in block.statements if id(b) in inside]


def _joins(m: Statement, every: bool) -> bool:
    return is_pointwise(m) or _is_joined(m) or (isinstance(m, Apply) and is_free(m)) or (every and _is_static(m))


def _is_dear(m: Statement) -> bool:
    """Whether it calls functions that should not be called for every element where few need them."""
    return any(isinstance(b.op, Elementwise) and "libdevice" in b.op.triton for b in inline(m))


def _size(s: Statement) -> int:
    return max(t.aval.size for t in s.targets)


def _is_only_for(m: Statement, users: Mapping[Var, set[int]], inside: Mapping[int, Statement]) -> bool:
    return all(users.get(t, set()) <= inside.keys() for t in m.targets)


def _is_worth(chosen: list[Statement], group: Fused, facts: Facts) -> bool:
    """Whether the kernel takes less time than its parts, each launched on its own, with its stores in place."""
    moved, launches = 0, 0
    for s in chosen:
        if isinstance(s, Apply) and is_free(s) and not isinstance(s.op, Create):
            continue
        launches += 1
        moved += _bytes_stored(s) if isinstance(s, Apply) and isinstance(s.op, Put) else _bytes(s)
    return _bytes(group) / facts.bandwidth + facts.launch < moved / facts.bandwidth + launches * facts.launch


def _bytes(s: Statement) -> int:
    given: set[Atom] = set(s.args) if isinstance(s, Apply | Fused) else set()
    return sum(nbytes(a) for a in (*given, *s.targets))


def _bytes_stored(s: Apply) -> int:
    assert isinstance(s.attrs, IndexAttrs)
    size = 1
    for n in indexed_shape(s.attrs, [a.aval for a in s.args]):
        size *= n
    return nbytes(s.args[1]) + size * s.targets[0].aval.dtype.itemsize * (1 if s.op.name == "put" else 2)


def _repeats(group: Fused) -> bool:
    """Whether the kernel computes the same values at too many positions: each of several steps of a stencil needs its
    neighbours' values of the step before."""
    numbers = frozenset(i for i, p in enumerate(group.body.params) if not p.aval.shape)
    count = len(group.body.statements)
    try:
        lower(group, numbers, most=int(AGAIN * count + FEW))
    except UnsupportedError:
        return True
    return count > LONGEST
