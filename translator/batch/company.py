"""What lanes outside a mask compute with where a derivative of the batch is taken: the values of the first lane in it.

    if x < 1.0:                      if np.any(taken):
        for _ in range(9):               first = np.argmax(taken)
            y = y * y                    y1 = np.where(taken, y, untraced.stop_gradient(y[first]))
                                         for _ in range(9):
                                             y1 = y1 * y1
                                     y = np.where(taken, y1, y)

Their own values may run on to infinity, or make a matrix singular, where the program of one element never goes; their
cotangent of zero times such a slope is NaN. In company of a lane that does go there they meet nothing that it does not.

A choice of the results is enough where the branch is elementwise: the cotangent is chosen last (`derive/choices`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import make, ops
from ..ir import Apply, Atom, Block, For, If, Raise, Statement, Var, While, blocks_of, const, inputs_of, walk
from ..ops.core import (
    TAPE_AVAL,
    At,
    Cast,
    Concatenate,
    Create,
    Dim,
    Dyn,
    Elementwise,
    Index,
    Linalg,
    Put,
    Reshape,
    Run,
    Tape,
)
from ..records import dataclass
from .rules import Value, pad, renamed

if TYPE_CHECKING:
    from .vmap import Batcher

_MOVES = Index | Reshape | Concatenate | Create | Cast


def is_needed(batcher: Batcher, block: Block) -> bool:
    """Whether a choice of the block's results does not keep cotangents from what only other lanes come to."""
    return batcher.lanes.derived and batcher.size > 0 and _has_hidden_slopes(block)


def _has_hidden_slopes(block: Block) -> bool:
    """Whether a cotangent of zero may meet a slope behind something else than operations on the same elements."""
    made: set[Atom] = set()
    for s in block.statements:
        match s:
            case Raise():
                continue
            case Apply(op=Linalg()):
                return True
            case Apply(op=Elementwise() | Cast(), args=args, targets=(t, *_)):
                if any(a in made and a.aval.shape != t.aval.shape for a in args):
                    return True
            case Apply(args=args):
                if any(a in made for a in args):
                    return True
            case _:
                return True
        if not isinstance(s.op, _MOVES) or any(a in made for a in s.args):
            made.update(t for t in s.targets if t.aval.dtype.kind in "fc")
    return False


@dataclass(frozen=True, slots=True)
class Company:
    """`first` is the first lane of `lanes`, which is what the others compute with. What is `own` stays each lane's."""

    lanes: Atom
    first: Atom
    own: frozenset[Atom]


@contextmanager
def kept(batcher: Batcher, block: Block, arrays: Collection[Atom] = ()) -> Iterator[None]:
    """Inside, what the block reads is that of the first lane for all that are outside the mask, in which there is one.
    `arrays` are stored into, and stay each lane's own; what is read from them is not.
    """
    mask = batcher.mask
    assert mask is not None
    own = _stored_into(block, arrays)
    if mask.company is not None:
        own |= mask.company.own
    first = renamed(batcher.b, make.argmax(batcher.b, mask.lanes, 0), "first")
    company = Company(mask.lanes, first, own)
    batcher.mask = replace(mask, some=const(True), company=company)
    read = dict.fromkeys(a for a in _read_in(block) if isinstance(a, Var) and a in batcher.batched and a not in own)
    outer = {v: batcher.atom(v) for v in read if v not in _defined(block)}
    batcher.mapping.update({v: _joined(batcher, atom, company) for v, atom in outer.items()})
    try:
        yield
    finally:
        batcher.mapping.update(outer)
        batcher.mask = mask


def of_arrays(batcher: Batcher, s: Apply, values: Sequence[Value]) -> Sequence[Value]:
    """The arguments of an operation on whole arrays that are the lanes' own."""
    company = _company(batcher)
    if company is None or isinstance(s.op, Index | Tape):
        return values
    keeps = isinstance(s.op, Put)
    return [
        replace(v, atom=_joined(batcher, v.atom, company)) if v.batched and a in company.own and (k or not keeps) else v
        for k, (a, v) in enumerate(zip(s.args, values, strict=True))
    ]


def of_element(batcher: Batcher, s: Apply, made: Atom) -> Atom:
    """What an index, or a list, has given of what is the lanes' own."""
    company = _company(batcher)
    is_own = company is not None and isinstance(s.op, Index | Tape) and s.args[0] in company.own
    return in_company(batcher, made) if is_own and made.aval != TAPE_AVAL else made


def in_company(batcher: Batcher, atom: Atom) -> Atom:
    """A value of each lane, that of the first one for those outside the mask; as it is where that does not matter."""
    company = _company(batcher)
    return atom if company is None else _joined(batcher, atom, company)


def _company(batcher: Batcher) -> Company | None:
    return None if batcher.mask is None else batcher.mask.company


def _joined(batcher: Batcher, atom: Atom, company: Company) -> Atom:
    """The value of each lane in the mask, and that of the first of them for the others."""
    b = batcher.b
    dims: tuple[Dim, ...] = (At(Dyn(0)), *(Run(0, n) for n in atom.aval.shape[1:]))
    of_first = make.index(b, atom, dims, (company.first,))
    if atom.aval.dtype.kind in "fc":
        of_first = make.elementwise(b, ops.STOP_GRADIENT, of_first)
    made = make.where(b, pad(b, company.lanes, atom.aval.ndim - 1), atom, of_first)
    return renamed(b, made, atom.hint) if isinstance(atom, Var) else made


def _read_in(block: Block) -> Iterator[Atom]:
    for s in walk(block):
        yield from inputs_of(s)
        for inner in blocks_of(s):
            yield from inner.results


def _defined(block: Block) -> set[Var]:
    """What the block's statements define."""
    found: set[Var] = set()
    for s in walk(block):
        found.update(s.targets)
        for inner in blocks_of(s):
            found.update(inner.params)
    return found


def _stored_into(block: Block, arrays: Collection[Atom]) -> frozenset[Atom]:
    """`arrays`, the lists, and what becomes of them in the block."""
    own: set[Atom] = {*arrays}

    def follow(statements: tuple[Statement, ...]) -> None:
        for s in statements:
            match s:
                case Apply(op=Put()) if s.args[0] in own:
                    own.update(s.targets)
                case If(then=then, orelse=orelse):
                    follow(then.statements)
                    follow(orelse.statements)
                    rows = zip(s.targets, then.results, orelse.results, strict=True)
                    own.update(t for t, x, y in rows if x in own or y in own)
                case For(inits=inits, body=body) | While(inits=inits, body=body):
                    params = body.params[1:] if isinstance(s, For) else body.params
                    own.update(p for p, a in zip(params, inits, strict=True) if a in own)
                    if isinstance(s, While):
                        own.update(p for p, a in zip(s.condition.params, inits, strict=True) if a in own)
                        follow(s.condition.statements)
                    follow(body.statements)
                    own.update(t for t, p in zip(s.targets, params, strict=True) if p in own)

    follow(block.statements)
    lists = {a for a in _read_in(block) if a.aval == TAPE_AVAL}
    return frozenset(own | lists)
