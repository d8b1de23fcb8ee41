"""Short loops over whole arrays, turn behind turn: what one makes of an element, the next takes from a register.

    before                               after
    for k in range(3):                   y = y + w[0] * x[0:998]
        y = y + w[k] * x[k : k + 998]    y = y + w[1] * x[1:999]
                                         y = y + w[2] * x[2:1000]

As a loop each turn reads and writes all of `y`, and on a device each is a launch. Only where element by element is all
that happens to what the loop carries, but for a tape on which each turn has its place: other turns would find more to
compute again than they save. A backward loop behind it takes from registers, too, what was on the tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import ops
from ..builder import Builder
from ..checked import Checked
from ..ir import Apply, Atom, Block, For, Function, Statement, Var, const, uses_of, walk, with_blocks, with_statements
from ..ops.core import At, Cast, Create, Dyn, Elementwise, Index, IndexAttrs, Reshape
from ..rewrite import splice_block, substitute, substituted
from .simplify import simplify

LARGE = 1 << 14  # elements of an array: a pass over fewer takes as long as starting one
MOST_TURNS = 16
MOST = 96  # statements: XLA compiles as many in 0.1 s
_FUSED = Cast | Create | Elementwise | Index | Reshape


def turns(function: Function) -> Function:
    """Apply to the loops of a program; the same function object where there is none such."""
    if not any(isinstance(s, For) and _is_short(s) for s in walk(function.body)):
        return function
    writer = _Writer(Checked(function))
    body = writer.block(function.body)
    return simplify(replace(function, body=body)) if writer.written else function


def _is_short(s: For) -> bool:
    known = s.range.static()
    return known is not None and len(known) <= MOST_TURNS and any(p.aval.size >= LARGE for p in s.body.params[1:])


def only_stored(loop: For) -> dict[int, Apply]:
    """The stores into those of the values that a loop carries into which its turns store once, and do nothing else."""
    body, uses = loop.body, uses_of(loop.body)
    made = {s.targets[0]: s for s in body.statements if isinstance(s, Apply) and s.op is ops.PUT}
    found: dict[int, Apply] = {}
    for k, (place, kept) in enumerate(zip(body.params[1:], body.results, strict=True)):
        store = made.get(kept) if isinstance(kept, Var) else None
        if store is not None and store.args[0] is place and uses[place] == uses[store.targets[0]] == 1:
            found[k] = store
    return found


def _tapes(loop: For) -> set[Var]:
    """What a loop carries only to store at the place of the turn in it."""
    index, *carried = loop.body.params
    return {carried[k] for k, store in only_stored(loop).items() if _stores_at(store, index)}


def _stores_at(s: Apply, index: Var) -> bool:
    assert isinstance(s.attrs, IndexAttrs)
    places = [d.index for d in s.attrs.dims if isinstance(d, At)]
    return len(s.args) == 3 and s.args[2] is index and places == [Dyn(2)]


class _Writer:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self.written = False

    def block(self, block: Block) -> Block:
        known: dict[Var, Atom] = {}
        statements = [t for s in block.statements for t in self._statement(with_blocks(s, self.block), known)]
        return substituted(with_statements(block, tuple(statements)), known)

    def _statement(self, s: Statement, known: dict[Var, Atom]) -> Sequence[Statement]:
        if not isinstance(s, For) or not _is_short(s) or not self._is_even(s):
            return (s,)
        b = Builder(s.span)
        values: tuple[Atom, ...] = s.inits
        for k in s.range.static() or ():
            values = splice_block(b, s.body, (const(k), *values))
        known.update((t, substitute(v, known)) for t, v in zip(s.targets, values, strict=True))
        self.written = True
        return b.statements

    def _is_even(self, s: For) -> bool:
        """Whether nothing may fail in the loop, and each element that it carries meets none of the others."""
        if len(s.range.static() or ()) * len(s.body.statements) > MOST or self._checked.block(s.body):
            return False
        tapes = _tapes(s)
        varying: set[Var] = {*s.body.params[1:]} - tapes
        if not any(v.aval.size >= LARGE for v in varying):
            return False
        for inner in s.body.statements:
            if isinstance(inner, Apply) and inner.op is ops.PUT and inner.args[0] in tapes:
                continue
            if not isinstance(inner, Apply) or not isinstance(inner.op, _FUSED):
                return False
            met = [a for a in inner.args if isinstance(a, Var) and a in varying]
            if met and not (isinstance(inner.op, Elementwise | Cast) or all(a.aval.size == 1 for a in met)):
                return False
            varying.update(inner.targets if met else ())
        return True
