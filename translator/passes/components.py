"""Values along an axis of few elements, which a reduction then folds, as a value for each element of the axis.

    def f(p):                        def f(p):
        d = p[:, None] - p               t = p[:, None]
        r = np.sum(d * d, axis=2)        d = t[:, :, 0] - p[:, 0]
        f = d / r[..., None]             d_1 = t[:, :, 1] - p[:, 1]
        return np.sum(f, axis=1)         t1 = d * d + d_1 * d_1 + 0.0
                                         f = d / t1
                                         t2 = np.sum(d_1 / t1, axis=1, keepdims=True)
                                         return np.concatenate([np.sum(f, axis=1, keepdims=True), t2], axis=1)

A kernel that folds along one axis cannot fold along another what it has folded: the distances of all pairs would go
through memory. Only where there are more values than what they are made of: the rows of an array that is there lie in
one piece, and kernels read them as they lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .. import make
from ..builder import Builder
from ..ir import Apply, Atom, Block, Function, Statement, Var, blocks_of, free_variables, inputs_of, with_blocks
from ..ops import ADD, LOGICAL_AND, LOGICAL_OR, MAXIMUM, MINIMUM, MULTIPLY, SUM
from ..ops.core import At, Cast, CastAttrs, Elementwise, Reduce, ReduceAttrs, Run
from ..ops.structural import ASTYPE
from ..records import dataclass

MOST = 16  # elements of the axis
LONGEST = 160  # statements that take the place of all
SPREAD = 4  # times as many elements as what they are made of
IN_TURN = 8  # so few are added one after the other, as NumPy does; of more, halves are
FOLDS = {"sum": ADD, "prod": MULTIPLY, "max": MAXIMUM, "min": MINIMUM, "any": LOGICAL_OR, "all": LOGICAL_AND}


def components(function: Function) -> Function:
    """Apply to the blocks of a program."""
    body = _in_block(function.body)
    return function if body is function.body else replace(function, body=body)


def _in_block(block: Block) -> Block:
    statements = tuple(with_blocks(s, _in_block) if blocks_of(s) else s for s in block.statements)
    if any(new is not old for new, old in zip(statements, block.statements, strict=True)):
        block = replace(block, statements=statements)
    if not any(map(_folds_few, block.statements)):
        return block
    found = _Families(block).all()
    return replace(block, statements=tuple(_Apart(found).statements(block))) if found else block


def _folds_few(s: Statement) -> bool:
    """Whether it folds along one axis of few elements."""
    if not isinstance(s, Apply) or not isinstance(s.op, Reduce) or s.op.name not in FOLDS:
        return False
    assert isinstance(s.attrs, ReduceAttrs)
    x = s.args[0].aval
    return len(s.attrs.axes) == 1 and 1 < x.shape[s.attrs.axes[0]] <= MOST and x.dtype.itemsize >= 4


@dataclass(frozen=True, slots=True)
class _Family:
    """Values made of each other element by element. `last`: how many axes come behind the one of `count` elements."""

    last: int
    count: int

    def axis(self, a: Atom) -> int:
        """The axis of a value that lies along it, negative where the value has too few axes."""
        return a.aval.ndim - 1 - self.last

    def has(self, a: Atom) -> bool:
        return self.axis(a) >= 0 and a.aval.shape[self.axis(a)] == self.count


class _Families:
    """The values of a block that are better apart."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.makers = {t: s for s in block.statements if isinstance(s, Apply) for t in s.targets}
        self.users: dict[Var, list[Statement]] = {}
        self.kept = {a for a in block.results if isinstance(a, Var)}  # that something needs as they are
        for s in block.statements:
            for a in inputs_of(s):
                if isinstance(a, Var):
                    self.users.setdefault(a, []).append(s)
            self.kept.update(v for inner in blocks_of(s) for v in free_variables(inner))

    def all(self) -> dict[Var, _Family]:
        """By value the family that it belongs to."""
        found: dict[Var, _Family] = {}
        for s in self.block.statements:
            if not isinstance(s, Apply) or not _folds_few(s):
                continue
            assert isinstance(s.attrs, ReduceAttrs)
            (x,), (axis,) = s.args, s.attrs.axes
            if not isinstance(x, Var) or x in found:
                continue
            family = _Family(x.aval.ndim - 1 - axis, x.aval.shape[axis])
            members = self.members(x, family)
            if members and members.isdisjoint(found) and self.may_part(members, family):
                found.update(dict.fromkeys(members, family))
        return found

    def members(self, x: Var, family: _Family) -> set[Var]:
        """What `x` is made of, and what is made of that, of as many elements."""
        least, found, todo = x.aval.size, set[Var](), [x]
        while todo:
            v = todo.pop()
            if v in found or v.aval.size < least or not family.has(v) or not self.is_elementwise(v):
                continue
            found.add(v)
            todo += [a for a in self.makers[v].args if isinstance(a, Var)]
            todo += [t for s in self.users.get(v, ()) if isinstance(s, Apply) for t in s.targets]
        return found

    def is_elementwise(self, v: Var) -> bool:
        return v in self.makers and isinstance(self.makers[v].op, Elementwise | Cast)

    def may_part(self, members: set[Var], family: _Family) -> bool:
        if len(members) * family.count > LONGEST or not members.isdisjoint(self.kept):
            return False
        leaves = {a for v in members for a in self.makers[v].args if isinstance(a, Var)} - members
        size = max(v.aval.size for v in members)
        if size < SPREAD * sum(a.aval.size for a in leaves if family.has(a)):
            return False
        return all(_parts(s, family, members) for v in members for s in self.users.get(v, ()))


def _parts(s: Statement, family: _Family, members: set[Var]) -> bool:
    """Whether a reader of members can be told what to do for each element of the axis."""
    if not isinstance(s, Apply):
        return False
    if not isinstance(s.op, Reduce):
        return members.issuperset(s.targets)
    assert isinstance(s.attrs, ReduceAttrs)
    return family.axis(s.args[0]) not in s.attrs.axes or s.op.name in FOLDS


class _Apart:
    """Writes the block with a value for each element of the axes."""

    def __init__(self, family: dict[Var, _Family]) -> None:
        self.family = family
        self.parts: dict[Var, list[Atom]] = {}  # of members
        self.read: dict[tuple[Atom, int], list[Atom]] = {}  # of what they are made of, by how many axes come behind

    def statements(self, block: Block) -> Iterator[Statement]:
        for s in block.statements:
            if isinstance(s, Apply) and s.targets[0] in self.family:
                yield from self.member(s, self.family[s.targets[0]])
            elif isinstance(s, Apply) and isinstance(s.op, Reduce) and s.args[0] in self.family:
                yield from self.reduction(s, self.family[s.args[0]])
            else:
                yield s

    def member(self, s: Apply, family: _Family) -> Sequence[Statement]:
        b, (target,) = Builder(s.span), s.targets
        args = [self.of(b, a, family) for a in s.args]
        self.parts[target] = [
            b.apply(s.op, *(each[k] for each in args), attrs=s.attrs, hint=target.hint) for k in range(family.count)
        ]
        return b.statements

    def of(self, b: Builder, a: Atom, family: _Family) -> list[Atom]:
        """What is for each element of the axis in the place of an operand."""
        if isinstance(a, Var) and a in self.parts:
            return self.parts[a]
        axis = family.axis(a)
        if axis < 0:
            return [a] * family.count
        key = (a, family.last)
        if key not in self.read:
            if a.aval.shape[axis] == 1:
                self.read[key] = [make.squeeze(b, a, axis)] * family.count
            else:
                rest = [Run(0, n) for n in a.aval.shape]
                self.read[key] = [
                    make.index(b, a, [*rest[:axis], At(k), *rest[axis + 1 :]]) for k in range(family.count)
                ]
        return self.read[key]

    def reduction(self, s: Apply, family: _Family) -> Sequence[Statement]:
        assert isinstance(s.op, Reduce) and isinstance(s.attrs, ReduceAttrs)
        (x,), (target,), b = s.args, s.targets, Builder(s.span)
        assert isinstance(x, Var)
        axis, axes, keepdims = family.axis(x), s.attrs.axes, s.attrs.keepdims
        others = tuple(k - (k > axis) for k in axes if k != axis)
        parts = self.parts[x]
        if axis in axes:
            dtype = target.aval.dtype
            cast = [p if p.aval.dtype == dtype else b.apply(ASTYPE, p, attrs=CastAttrs(dtype)) for p in parts]
            parts = [self.folded(b, FOLDS[s.op.name], cast)]
            if s.op is SUM and dtype.kind in "fc":  # of -0.0 alone it is 0.0
                parts = [b.apply(ADD, parts[0], make.lift(0.0))]
        if others:
            parts = [b.apply(s.op, p, attrs=ReduceAttrs(others, keepdims), hint=target.hint) for p in parts]
        place = axis if keepdims else axis - sum(k < axis for k in axes)
        if axis not in axes:
            made = make.concatenate(b, [make.expand_dims(b, p, place) for p in parts], place)
        else:
            made = make.expand_dims(b, parts[0], place) if keepdims else parts[0]
        last = b.statements[-1]
        assert isinstance(last, Apply) and last.targets == (made,) and made.aval == target.aval
        return (*b.statements[:-1], replace(last, targets=s.targets))

    def folded(self, b: Builder, op: Elementwise, parts: Sequence[Atom]) -> Atom:
        if len(parts) >= IN_TURN:
            half = len(parts) // 2
            return b.apply(op, self.folded(b, op, parts[:half]), self.folded(b, op, parts[half:]))
        total = parts[0]
        for p in parts[1:]:
            total = b.apply(op, total, p)
        return total
