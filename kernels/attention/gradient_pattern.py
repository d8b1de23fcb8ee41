"""What the gradient of attention is: products, a softmax, and sums along its rows, as kernels take them.

The matrix of scores is what two products make, `first` ones, and elementwise work on it between them and the `last`
products, which take it as an operand. Nothing else sees it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...translator.errors import Diagnostic, UnsupportedError
from ...translator.ir import Apply, Atom, DType, Fused, Shape, Var
from ...translator.ops.core import Contract, ContractAttrs, Reduce, ReduceAttrs
from ...translator.records import dataclass
from ..source.dialects import accumulator, is_half
from ..tiles import Index, applies, behind, statements_for

FAR = 1 << 20  # the first of the labels that the scores do not have


@dataclass(frozen=True, slots=True)
class First:
    """A product that makes a matrix like the scores: `left` has its rows, `right` its columns."""

    target: Var
    left: Atom
    right: Atom
    left_labels: tuple[int, ...]
    right_labels: tuple[int, ...]
    name: str
    depth: str

    @property
    def dtype(self) -> DType:
        return self.target.aval.dtype


@dataclass(frozen=True, slots=True)
class Last:
    """A product of such a matrix, `weight`, with `other`: along the rows of the matrix or along its columns."""

    target: Var
    weight: Atom
    other: Atom
    other_labels: tuple[int, ...]
    out: tuple[int, ...]
    along_rows: bool

    @property
    def dtype(self) -> DType:
        return self.target.aval.dtype


@dataclass(frozen=True, slots=True)
class Gradient:
    """The parts of the pattern; axes are labelled by their places in the scores, whose softmax goes along `column`.

    `kept`: matrices like the scores that go to memory.
    """

    firsts: tuple[First, ...]
    lasts: tuple[Last, ...]
    kept: tuple[Var, ...]
    score: Var
    weight: Var
    largest: Apply
    total: Apply
    sums: tuple[Apply, ...]
    shape: Shape
    column: int

    @property
    def labels(self) -> tuple[int, ...]:
        return tuple(range(len(self.shape)))

    @property
    def numbers(self) -> int:
        """How many numbers there are of each row, in partial results of their own."""
        return 2 + len(self.sums)

    @property
    def types(self) -> list[DType]:
        """Of all products."""
        return [f.dtype for f in self.firsts] + [t.dtype for t in self.lasts]

    @property
    def half(self) -> bool:
        return all(map(is_half, self.types))

    @property
    def gathered(self) -> DType:
        """The type of sums along rows."""
        return max((accumulator(f.dtype) for f in self.firsts), key=lambda d: d.itemsize)


def match_gradient(fused: Fused) -> Gradient:
    """Raises UnsupportedError where the group is anything else."""
    statements = applies(fused)
    makers = {s.targets[0]: s for s in statements}
    folds = [s for s in statements if isinstance(s.op, Reduce)]
    tops = [s for s in folds if s.op.name == "max"]
    if len(tops) != 1 or any(s.op.name not in ("max", "sum") for s in folds):
        raise refused(fused, "other reductions between products")
    (largest,) = tops
    assert isinstance(largest.attrs, ReduceAttrs)
    shape, axes = largest.args[0].aval.shape, largest.attrs.axes
    along = [s.attrs.axes for s in folds if isinstance(s.attrs, ReduceAttrs)]
    if len(axes) != 1 or set(along) != {axes} or any(s.args[0].aval.shape != shape for s in folds):
        raise refused(fused, "reductions along several axes between products")
    products = [s for s in statements if isinstance(s.op, Contract)]
    made = [s for s in products if s.targets[0].aval.shape == shape and s.targets[0] not in fused.body.results]
    if not 1 <= len(made) <= 2:
        raise refused(fused, "so many products around a softmax")
    firsts = tuple(_first(fused, s, axes[0], k) for k, s in enumerate(made))
    others = [s for s in products if s not in made]
    lasts = tuple(_last(fused, s, shape, axes[0], firsts, k) for k, s in enumerate(others))
    kept = tuple(r for r in fused.body.results[len(lasts) :] if isinstance(r, Var))
    if (*(t.target for t in lasts), *kept) != fused.body.results or any(v.aval.shape != shape for v in kept):
        raise refused(fused, "products of this form around a softmax")
    if kept and not any(t.along_rows for t in lasts):
        raise refused(fused, "a matrix of scores beside products along its columns alone")
    total, weight = _total(fused, folds, largest, makers)
    score = largest.args[0]
    assert isinstance(score, Var)
    sums = tuple(s for s in folds if s is not largest and s is not total)
    return Gradient(firsts, lasts, kept, score, weight, largest, total, sums, shape, axes[0])


def _first(fused: Fused, s: Apply, column: int, place: int) -> First:
    assert isinstance(s.attrs, ContractAttrs)
    names = {n: k for k, n in enumerate(s.attrs.out)}
    labels = [tuple(names.get(n, FAR + 100 * place + n) for n in side) for side in (s.attrs.lhs, s.attrs.rhs)]
    sides = sorted(zip(labels, s.args, strict=True), key=lambda side: column in side[0])
    if column in sides[0][0] or column not in sides[1][0]:
        raise refused(fused, "products of this form around a softmax")
    (left_labels, left), (right_labels, right) = sides
    named = (("score", "depth"), ("slope", "channels"))[place]
    return First(s.targets[0], left, right, left_labels, right_labels, *named)


def _last(fused: Fused, s: Apply, shape: Shape, column: int, firsts: Sequence[First], place: int) -> Last:
    assert isinstance(s.attrs, ContractAttrs)
    sides = list(zip(s.args, (s.attrs.lhs, s.attrs.rhs), strict=True))
    made = [bool(statements_for(applies(fused), [a], frozenset())) for a, _ in sides]
    if made.count(True) != 1 or sides[made.index(True)][0].aval.shape != shape:
        raise refused(fused, "operands of this form beside a softmax")
    (weight, inside), (other, labels) = sides[made.index(True)], sides[made.index(False)]
    names = {n: k for k, n in enumerate(inside)}
    other_labels, out = (tuple(names.get(n, FAR * (place + 2) + n) for n in side) for side in (labels, s.attrs.out))
    summed = {k for k in range(len(shape)) if k not in out}
    rows = {k for k in range(len(shape)) if any(k in f.left_labels and k not in f.right_labels for f in firsts)}
    if summed not in ({column}, rows):
        raise refused(fused, "sums of this form beside a softmax")
    return Last(s.targets[0], weight, other, other_labels, out, summed == {column})


def _total(fused: Fused, folds: Sequence[Apply], largest: Apply, makers: Mapping[Var, Apply]) -> tuple[Apply, Var]:
    """The sum of the exponentials of what the maximum is taken from, and the exponentials."""
    for s in folds:
        weight = s.args[0]
        maker = makers.get(weight) if isinstance(weight, Var) else None
        if maker is None or maker.op.name != "exp" or not isinstance(maker.args[0], Var) or not isinstance(weight, Var):
            continue
        difference = makers.get(maker.args[0])
        if difference is not None and difference.op.name == "subtract":
            x, top = difference.args
            if x is largest.args[0] and behind(top, makers) is largest.targets[0]:
                return s, weight
    raise refused(fused, "a softmax without its maximum between products")


def times_made(g: Gradient) -> Mapping[Var, int]:
    """How many times the kernels make each of the first products."""
    walks = len({t.along_rows for t in g.lasts}) + bool(g.sums)
    return {f.target: walks + (k == 0) for k, f in enumerate(g.firsts)}


def refused(fused: Fused, what: str) -> UnsupportedError:
    return UnsupportedError(Diagnostic(f"kernels do not support {what}", fused.span))


# ---- indices -------------------------------------------------------------------------------------


class Indices:
    """The indices of the kernels, and their extents. In Triton an operand that lies across another one has its own."""

    def __init__(self, fused: Fused, g: Gradient, language: str) -> None:
        first = g.firsts[0]
        sizes = dict(enumerate(g.shape))
        self.sizes = sizes
        for f in g.firsts:
            sizes.update(zip(f.left_labels, f.left.aval.shape, strict=True))
        for last in g.lasts:
            sizes.update(zip(last.other_labels, last.other.aval.shape, strict=True))
        batch = tuple(n for n in g.labels if n in first.left_labels and n in first.right_labels)
        rows = tuple(n for n in g.labels if n not in first.right_labels)
        for f in g.firsts:
            if {n for n in f.left_labels if n < FAR} != {*batch, *rows}:
                raise refused(fused, "products of this form around a softmax")
            if {n for n in f.right_labels if n < FAR} != {*batch, g.column}:
                raise refused(fused, "products of this form around a softmax")
        self.batch = Index(batch, "batch", "batches", guarded=False)
        self.i, self.j = Index(rows, "i", "rows"), Index((g.column,), "j", "columns")
        self.end = "_down" if language == "triton" else ""
        self.j_down = Index((g.column,), f"j{self.end}", "columns")
        self.depths = {f.depth: tuple(n for n in f.left_labels if n >= FAR) for f in g.firsts}
        self.extents = {i.extent_name: self.count(i.labels) for i in (self.batch, self.i, self.j)}
        for t in g.lasts:
            others = tuple(n for n in t.other_labels if n >= FAR)
            if self.count(others) not in map(self.count, self.depths.values()):
                self.depths.setdefault("channels", others)
        self.extents |= {name: self.count(labels) for name, labels in self.depths.items()}

    def count(self, labels: Sequence[int]) -> int:
        return math.prod(self.sizes[n] for n in labels)

    def across(self, f: First) -> Index:
        return Index(self.depths[f.depth], ACROSS[f.depth], f.depth)

    def down(self, f: First) -> Index:
        return Index(self.depths[f.depth], f"{ACROSS[f.depth]}{self.end}", f.depth)

    def channel(self, fused: Fused, g: Gradient, t: Last) -> Index:
        """The index of a last product's other axes: one of a first product, with the same operand if there is."""
        others = tuple(n for n in t.other_labels if n >= FAR)
        has = [f.depth for f in g.firsts if (f.right if t.along_rows else f.left) is t.other]
        for depth in (*has, *self.depths):
            if self.extents[depth] == self.count(others):
                return Index(others, ACROSS[depth], depth)
        raise refused(fused, "operands of several widths around a softmax")


ACROSS = {"depth": "k", "channels": "channel"}


def has_operand(f: First, t: Last) -> bool:
    """Whether a first product has the operand of a last one beside the matrix, along the same axes."""
    atom, labels = (f.right, f.right_labels) if t.along_rows else (f.left, f.left_labels)
    places = [[min(n, FAR) for n in side] for side in (labels, t.other_labels)]
    return atom is t.other and places[0] == places[1] and f.dtype == t.dtype and places[0].count(FAR) == 1
