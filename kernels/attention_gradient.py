"""The gradient of attention as kernels that make the scores again, block by block, rather than keep their matrix.

p = softmax(x(q @ k.T))             the largest score of each row, and the sum of the exponentials
d_p = d_y @ v.T                     other sums along rows, as np.sum(d_p * p)
d_s = y(p, d_p, np.sum(d_p * p))
d_q = d_s @ k                       what is summed along rows: blocks of rows walk the columns
d_k, d_v = d_s.T @ q, p.T @ d_y     what is summed along columns: blocks of columns walk the rows

Each of these is one kernel. The matrix of scores is what two products make, `first` ones, and elementwise work on it
between them and the `last` products, which take it as an operand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..translator.errors import Diagnostic, UnsupportedError
from ..translator.ir import Apply, Atom, DType, Fused, Shape, Var
from ..translator.ops.core import Contract, ContractAttrs, Reduce, ReduceAttrs
from ..translator.records import dataclass
from .causal import WORTH, Beyond, reach_of, seen_beyond, vanishes_behind
from .contract import SUMMED
from .dialects import accumulator, is_half
from .facts import precision
from .layout import Strides
from .lower import Value
from .program import GroupPlan, Launch, header, make_launch
from .tiles import Held, Index, Tile, Tiles, applies, behind, statements_for

FAR = 1 << 20  # the first of the labels that the scores do not have
WIDEST_HEAD = {True: 128, False: 64}  # in half precision or not: more do not fit into shared memory


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
    """The parts of the pattern; axes are labelled by their places in the scores, whose softmax goes along `column`."""

    firsts: tuple[First, ...]
    lasts: tuple[Last, ...]
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
    if [t.target for t in lasts] != list(fused.body.results):
        raise refused(fused, "products of this form around a softmax")
    total, weight = _total(fused, folds, largest, makers)
    score = largest.args[0]
    assert isinstance(score, Var)
    sums = tuple(s for s in folds if s is not largest and s is not total)
    return Gradient(firsts, lasts, score, weight, largest, total, sums, shape, axes[0])


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


# ---- the kernels ---------------------------------------------------------------------------------


class Indices:
    """The indices of the kernels, and their extents."""

    def __init__(self, fused: Fused, g: Gradient) -> None:
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
        self.j_down = Index((g.column,), "j_down", "columns")
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
        return Index(self.depths[f.depth], f"{ACROSS[f.depth]}_down", f.depth)

    def channel(self, fused: Fused, g: Gradient, t: Last) -> Index:
        """The index of a last product's other axes: one of a first product, with the same operand if there is."""
        others = tuple(n for n in t.other_labels if n >= FAR)
        has = [f.depth for f in g.firsts if (f.right if t.along_rows else f.left) is t.other]
        for depth in (*has, *self.depths):
            if self.extents[depth] == self.count(others):
                return Index(others, ACROSS[depth], depth)
        raise refused(fused, "operands of several widths around a softmax")


ACROSS = {"depth": "k", "channels": "channel"}
BLOCKS = {"depth": "BLOCK_K", "channels": "BLOCK_C"}


def _has(f: First, t: Last) -> bool:
    """Whether a first product has the operand of a last one beside the matrix, along the same axes."""
    atom, labels = (f.right, f.right_labels) if t.along_rows else (f.left, f.left_labels)
    places = [[min(n, FAR) for n in side] for side in (labels, t.other_labels)]
    return atom is t.other and places[0] == places[1] and f.dtype == t.dtype and places[0].count(FAR) == 1


def plan_gradient(
    fused: Fused, language: str, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]
) -> GroupPlan:
    """Raises UnsupportedError for other patterns, for wide heads, and in CUDA."""
    if language != "triton":
        raise refused(fused, "gradients of attention in CUDA")
    g = match_gradient(fused)
    index = Indices(fused, g)
    if any(dtype.name not in SUMMED for dtype in g.types):
        raise refused(fused, "products of this type")
    most = WIDEST_HEAD[g.half]
    if max(index.extents[n] for n in index.depths) > most:
        raise refused(fused, f"more than {most} elements in a row of attention's operands")
    known: dict[Var, int] = {}

    def kernel() -> Kernel:
        return Kernel(fused, g, index, Tiles(fused, language, strides, scalars), known, seen)

    seen = _seen(fused, g, index, Kernel(fused, g, index, Tiles(fused, language, strides, scalars), known, None))
    launches = [kernel().softmax(f"{name}_softmax")]
    known |= {g.largest.targets[0]: 0, g.total.targets[0]: 1}
    left = list(g.sums)
    while left:
        needed = {s: statements_for(applies(fused), [s.args[0]], frozenset(known)) for s in left}
        ready = [s for s in left if not any(other in needed[s] for other in left)]
        launches.append(kernel().summed(f"{name}_sums", ready))
        known |= {s.targets[0]: len(known) + k for k, s in enumerate(ready)}
        left = [s for s in left if s not in ready]
    for along_rows, told in ((True, "rows"), (False, "columns")):
        lasts = [t for t in g.lasts if t.along_rows == along_rows]
        if lasts:
            launches.append(kernel().multiplied(f"{name}_{told}", lasts, along_rows))
    rows = index.extents["batches"], index.extents["rows"]
    return GroupPlan(name, tuple(launches), ((rows, g.gathered),) * len(known))


def _seen(fused: Fused, g: Gradient, index: Indices, kernel: Kernel) -> Beyond | None:
    """Behind which diagonal nothing adds to any result, while no operand has numbers that are too large."""
    walked = 2.0 * math.prod(index.extents[n] for n in ("batches", "rows", "columns", "depth"))
    firsts = kernel.needed([g.score])
    scores = kernel.tiles.tile([g.score], g.labels, kernel.grid, kernel.held(firsts))
    beyond = seen_beyond(scores)
    if beyond is None or walked < 2 * WORTH or beyond.last < 0:  # a row that sees nothing is NaN behind it, too
        return None
    rows = {s.targets[0]: kernel.row(s.targets[0], "row") for s in (g.largest, g.total, *g.sums)}
    for results in ([t.weight for t in g.lasts], [s.args[0] for s in g.sums]):
        if results:
            tile = kernel.tiles.tile(results, g.labels, kernel.grid, kernel.held(g.firsts) | rows)
            if not vanishes_behind(tile, beyond, g.firsts[0].name):
                return None
    half = any(f.dtype == np.float16 for f in g.firsts)
    most = 2.0**15 if half else 2.0**100
    return Beyond(beyond.last, min(most, most if beyond.most is None else beyond.most))


def reach_groups_of_gradient(fused: Fused, language: str) -> list[Fused]:
    """The groups that find, for the kernels of a causal gradient, whether operands have numbers that are too large."""
    g = match_gradient(fused)
    index = Indices(fused, g)
    seen = _seen(fused, g, index, Kernel(fused, g, index, Tiles(fused, language, {}, frozenset()), {}, None))
    if seen is None or seen.most is None:
        return []
    found = []
    for f in g.firsts:
        for atom, labels in ((f.left, f.left_labels), (f.right, f.right_labels)):
            own = {n: k for k, n in enumerate(labels)}
            largest = math.sqrt(seen.most / max(1, index.extents[f.depth]))
            columns, batch = index.extents["columns"], index.batch.labels
            found.append(reach_of(fused, atom, own, batch, None, columns, "reach", largest))
    return found


class Kernel:
    """One kernel of a gradient: its tiles and its lines. `known`: the sums along rows that kernels before it have
    stored, and in which partial result. `seen`: the diagonal behind which blocks are left out."""

    def __init__(
        self, fused: Fused, g: Gradient, index: Indices, tiles: Tiles, known: Mapping[Var, int], seen: Beyond | None
    ) -> None:
        self.fused, self.g, self.index, self.tiles, self.known, self.seen = fused, g, index, tiles, known, seen
        self.dialect = tiles.dialect
        self.grid = [index.batch, index.i, index.j]
        self.size = 64 if g.half else 32 if g.gathered.itemsize == 4 else 16
        self.used: dict[str, None] = {}
        hints = {g.largest.targets[0]: "largest", g.total.targets[0]: "total"}
        self.rows = {v: hints.get(v) or tiles.names.fresh("sum") for v in known}
        self.sum_type = self.dialect.type_name(g.gathered)
        self.operands: dict[tuple[First, bool], str] = {}  # of the first products, left and right: their names
        self.before: list[str] = []  # the lines before the walk, in it, and behind it
        self.walk: list[str] = []
        self.after: list[str] = []

    # ---- operands ----------------------------------------------------------------------------------

    def needed(self, results: Sequence[Atom]) -> list[First]:
        """The first products that these values need."""
        made = statements_for(applies(self.fused), results, frozenset(self.known))
        return [f for f in self.g.firsts if any(f.target in s.targets for s in made)]

    def sides(self, firsts: Sequence[First]) -> dict[First, tuple[Tile, Tile]]:
        index, found = self.index, {}
        for f in firsts:
            self.used[f.depth] = None
            left = self.tiles.tile([f.left], f.left_labels, [index.batch, index.i, index.across(f)])
            found[f] = left, self.tiles.tile([f.right], f.right_labels, [index.batch, index.down(f), index.j])
        return found

    def held(self, firsts: Sequence[First]) -> dict[Var, Held]:
        """What the lines of a block find: the first products, and the sums along rows that are known."""
        found = {f.target: Held(f.name, accumulator(f.dtype), self.g.labels) for f in firsts}
        return found | {v: self.row(v, name) for v, name in self.rows.items()}

    def row(self, v: Var, name: str) -> Held:
        (attrs,) = [s.attrs for s in applies(self.fused) if v in s.targets]
        assert isinstance(attrs, ReduceAttrs)
        kept = [n for n in self.g.labels if attrs.keepdims or n != self.g.column]
        return Held(name, self.g.gathered, tuple(-1 if n == self.g.column else n for n in kept))

    def operand(self, f: First, tile: Tile, is_left: bool) -> list[str]:
        """Lines that make an operand of a first product; its name is kept."""
        across = ACROSS[f.depth] + ("" if is_left else "_down")
        block = f"[BLOCK_I, {BLOCKS[f.depth]}]" if is_left else f"[{BLOCKS[f.depth]}, BLOCK_J]"
        lines, text = tile.lines(), tile.operand(f.dtype, block, f"{across} < {f.depth}")
        if not text.isidentifier():
            name = f"{f.name}_{'left' if is_left else 'right'}"
            lines, text = [*lines, f"{name} = {text}"], name
        self.operands[f, is_left] = text
        return lines

    def multiply(self, sides: Mapping[First, tuple[Tile, Tile]], along_rows: bool) -> None:
        """Lines that take the first products: one operand stays, of the other one block comes after the other."""
        own, turning = (self.before, self.walk) if along_rows else (self.walk, self.before)
        for f, (left, right) in sides.items():
            own += self.operand(f, left, True)
            turning += self.operand(f, right, False)
        self.walk += [f"{f.name} = {self.dot(self.operands[f, True], self.operands[f, False], f.dtype)}" for f in sides]

    def dot(self, left: str, right: str, dtype: DType, sums: str = "") -> str:
        kind = self.dialect.type_name(accumulator(dtype))
        given = ", ".join(filter(None, (left, right, sums)))
        return f'tl.dot({given}, input_precision="{precision()}", out_dtype={kind})'

    # ---- numbers of rows ---------------------------------------------------------------------------

    def place(self, tile: Tile, index: int, name: str) -> str:
        pointer = tile.pointer("partial", index, name, self.g.gathered)
        return f"{pointer} + {'batch * rows + i' if self.index.batch.labels else 'i'}"

    def loaded(self, tile: Tile) -> list[str]:
        places = [(name, self.place(tile, self.known[v], name)) for v, name in self.rows.items()]
        return [f"{name} = tl.load({place}, mask=i < rows, other=0)" for name, place in places]

    def store(self, tile: Tile, index: int, name: str) -> None:
        self.after.append(f"tl.store({self.place(tile, index, name)}, {name}, mask=i < rows)")

    def row_sum(self, tile: Tile, v: Value) -> str:
        text = self.dialect.convert(tile.text(v), v.dtype, self.g.gathered)
        return f"tl.sum(tl.where(j < columns, {text}, 0.0), axis=1, keep_dims=True)"

    # ---- the three kinds of kernels ----------------------------------------------------------------

    def softmax(self, name: str) -> Launch:
        """The largest score of each row, and the sum of the exponentials."""
        g, convert = self.g, self.dialect.convert
        firsts = self.needed([g.score])
        sides = self.sides(firsts)
        scores = self.tiles.tile([g.score], g.labels, self.grid, self.held(firsts))
        score = g.score.aval.dtype
        held = {g.score: Held(scores.text(scores.value), score, g.labels)}
        held[g.largest.targets[0]] = self.row(g.largest.targets[0], "shift")
        weights = self.tiles.tile([g.weight], g.labels, self.grid, held)
        weights.quick = is_half(g.weight.aval.dtype)
        self.tiles.settle()
        self.before += [
            f'largest = tl.full([BLOCK_I, 1], float("-inf"), {self.sum_type})',
            f"total = tl.zeros([BLOCK_I, 1], {self.sum_type})",
        ]
        self.multiply(sides, True)
        self.walk += [
            *scores.lines(),
            f'inside = tl.where(j < columns, {convert(scores.text(scores.value), score, g.gathered)}, float("-inf"))',
            "# What was summed against a smaller maximum is scaled down.",
            "higher = larger_of(largest, tl.reduce(inside, 1, larger_of, keep_dims=True))",
            'shift = tl.where(higher == float("-inf"), 0.0, higher)',
            "total *= libdevice.exp(largest - shift)",
            "largest = higher",
            *weights.lines(),
            f"total += {self.row_sum(weights, weights.value)}",
        ]
        self.store(weights, 0, "largest")
        self.store(weights, 1, "total")
        return self.launch(name, True)

    def summed(self, name: str, sums: Sequence[Apply]) -> Launch:
        """Sums along rows that need those that are known."""
        results = [s.args[0] for s in sums]
        sides = self.sides(self.needed(results))
        inside = self.tiles.tile(results, self.g.labels, self.grid, self.held(list(sides)))
        inside.quick = self.g.half
        self.tiles.settle()
        self.before += self.loaded(inside)
        self.multiply(sides, True)
        self.walk += inside.lines()
        for k, o in enumerate(inside.lowered.outputs):
            own = self.tiles.names.fresh("sum")
            self.before.append(f"{own} = tl.zeros([BLOCK_I, 1], {self.sum_type})")
            self.walk.append(f"{own} += {self.row_sum(inside, o.value)}")
            self.store(inside, len(self.known) + k, own)
        return self.launch(name, True)

    def multiplied(self, name: str, lasts: Sequence[Last], along_rows: bool) -> Launch:
        """The last products of blocks of rows, or of columns."""
        weights = list(dict.fromkeys(t.weight for t in lasts))
        sides = self.sides(self.needed(weights))
        inside = self.tiles.tile(weights, self.g.labels, self.grid, self.held(list(sides)))
        inside.quick = self.g.half
        parts = [self.part(t, list(sides), along_rows) for t in lasts]
        self.tiles.settle()
        (self.before if along_rows else self.walk).extend(self.loaded(inside))
        self.multiply(sides, along_rows)
        self.walk += inside.lines()
        for t, (own, other, stored) in zip(lasts, parts, strict=True):
            value = inside.lowered.outputs[weights.index(t.weight)].value
            text = self.dialect.convert(inside.text(value), value.dtype, t.dtype)
            block = f"tl.where((i < rows) & (j < columns), {text}, {self.dialect.literal(0, t.dtype)})"
            operand = self.other(t, other, along_rows)
            kind, channel = self.dialect.type_name(accumulator(t.dtype)), self.index.channel(self.fused, self.g, t)
            shape = f"[{'BLOCK_I' if along_rows else 'BLOCK_J'}, {BLOCKS[channel.extent_name]}]"
            self.before.append(f"{own} = tl.zeros({shape}, {kind})")
            factor = self.tiles.names.fresh("factor")
            self.walk += [f"{factor} = {block}"]
            self.walk += [f"{own} = {self.dot(factor if along_rows else f'tl.trans({factor})', operand, t.dtype, own)}"]
            (out,) = stored.lowered.outputs
            self.after += [*stored.lines(), stored.store(self.fused.body.results.index(t.target), out)]
        return self.launch(name, along_rows)

    def part(self, t: Last, firsts: Sequence[First], along_rows: bool) -> tuple[str, Tile | First, Tile]:
        """The sums of a last product, its operand beside the matrix, and its result."""
        index, own = self.index, self.tiles.names.fresh(t.target.hint)
        channel = index.channel(self.fused, self.g, t)
        self.used[channel.extent_name] = None
        summed, kept = (index.j_down, index.i) if along_rows else (index.i, index.j_down)
        other: Tile | First | None = next((f for f in firsts if _has(f, t)), None)
        if other is None:
            other = self.tiles.tile([t.other], t.other_labels, [index.batch, summed, channel])
        held = {t.target: Held(own, accumulator(t.dtype), t.out)}
        return own, other, self.tiles.tile([t.target], t.out, [index.batch, kept, channel], held, stored=True)

    def other(self, t: Last, other: Tile | First, along_rows: bool) -> str:
        """The operand beside the matrix. Where a first product has it, too, it is there."""
        if isinstance(other, First):
            found = self.operands[other, not along_rows]
            return f"tl.trans({found})" if along_rows else found
        channel = self.index.channel(self.fused, self.g, t)
        high, guard = ("BLOCK_J", "j_down < columns") if along_rows else ("BLOCK_I", "i < rows")
        self.walk += other.lines()
        return other.operand(t.dtype, f"[{high}, {BLOCKS[channel.extent_name]}]", guard)

    def walked(self, along_rows: bool) -> tuple[str, str]:
        """From where to where a block goes; under a causal mask no further than to the diagonal, or from there on."""
        if self.seen is None:
            return "0", "columns" if along_rows else "rows"
        tile = self.tiles.made[-1]
        batch = " + batch" if self.index.batch.labels else ""
        reaches = [
            f"tl.load({tile.pointer('partial', self.g.numbers + k, f'reach_{k}', np.dtype(np.int32))}{batch})"
            for k in range(2 * len(self.g.firsts))
        ]
        beyond = ""
        if self.seen.last:
            beyond = tile.layout.integer("beyond", self.seen.last, tile.lowered.names)
        self.before.append("# Nothing is to be added from behind the diagonal, but for operands with huge numbers.")
        self.before.append(f"odd = {reaches[0]}")
        self.before += [f"odd = tl.maximum(odd, {reach})" for reach in reaches[1:]]
        if along_rows:
            last = f"first + BLOCK_I + {beyond}" if beyond else "first + BLOCK_I"
            self.before.append(f"end = tl.minimum(columns, tl.maximum({last}, odd))")
            return "0", "end"
        above = f"tl.maximum(first - {beyond}, 0)" if beyond else "first"
        self.before.append(f"begin = tl.where(odd > 0, 0, {above} // BLOCK_I * BLOCK_I)")
        return "begin", "rows"

    def launch(self, name: str, along_rows: bool) -> Launch:
        extents = self.index.extents
        begin, end = self.walked(along_rows)
        blocks = {"BLOCK_I": self.size, "BLOCK_J": self.size}
        blocks |= {BLOCKS[n]: max(16, 1 << (extents[n] - 1).bit_length()) for n in self.used}
        sections = {
            "before": self.before, "walk": self.walk, "after": self.after, "along_rows": along_rows,
            "down": any("j_down" in line for line in (*self.walk, *self.after)),
            "begin": begin, "end": end, "last_first": along_rows and self.seen is not None,
            "ranges": [(ACROSS[n], BLOCKS[n]) for n in self.used], "blocks": list(blocks),
        }  # fmt: skip
        own = extents["rows" if along_rows else "columns"]
        grid = extents["batches"] * -(-own // self.size), 1
        numbers = [(n, extents[n]) for n in ("rows", "columns", *self.used)]
        return make_launch(
            self.tiles.collect(), "attention_gradient.triton.j2", name, header(self.fused), sections, numbers, grid, 0,
            tuple(blocks.items()), 4 if along_rows else 8,
        )  # fmt: skip
