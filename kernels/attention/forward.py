"""Two products with a softmax between them as one kernel: the matrix of scores is never in memory.

s = np.where(mask, q @ k.T * scale, -np.inf)
e = np.exp(s - np.max(s, axis=1, keepdims=True))         one kernel: each block of rows of q walks along k and v,
y = e / np.sum(e, axis=1, keepdims=True) @ v             and keeps the softmax of the columns that it has seen
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...translator.errors import Diagnostic, UnsupportedError
from ...translator.ir import Apply, Atom, DType, Fused, Var
from ...translator.ops.core import Cast, Contract, ContractAttrs, Elementwise, Reduce, ReduceAttrs
from ...translator.passes.alignment import nbytes
from ...translator.records import dataclass
from ..contract import SUMMED, Engine, Roles, library_rate
from ..facts import Facts, precision
from ..program import GroupPlan, Launch, header, make_launch
from ..rows.parts import ENOUGH_BLOCKS
from ..source.dialects import CUDA, accumulator, is_half
from ..source.maps import Strides
from ..tiles import Held, Index, Tile, Tiles, applies, behind, neighbours, statements_for
from .causal import WORTH, reach_of, seen_beyond
from .gradient import plan_gradient, reach_groups_of_gradient
from .gradient_pattern import match_gradient, times_made

WIDE_HEAD = 128  # elements of a row of q, k or v; of more, in half precision, fewer rows are taken at a time
WIDEST_HEAD = {True: 256, False: WIDE_HEAD}  # in half precision or not: more do not fit into shared memory
SUMMED_OVER = {"queries": "k", "keys": "k", "values": "j"}
REACHES = ("reach", "reach_of_keys", "reach_of_queries")
FAR = 1 << 20  # the first of the labels that only the scores' product has


@dataclass(frozen=True, slots=True)
class Attention:
    """The parts of the pattern. Axes of the scores are labelled as the second product labels its operand.

    `score` is what the softmax is of, `weight` its exponential; `divided`: the second product takes it over its sum.
    """

    first: Apply
    second: Apply
    query: Atom
    key: Atom
    value: Atom
    query_labels: tuple[int, ...]
    key_labels: tuple[int, ...]
    value_labels: tuple[int, ...]
    scores: tuple[int, ...]
    column: int
    score: Var
    largest: Apply
    weight: Var
    divided: bool


def match_attention(fused: Fused) -> Attention:
    """Raises UnsupportedError where the group is anything else than softmax(x(q @ k)) @ v with elementwise x."""
    makers = {s.targets[0]: s for s in applies(fused)}
    products = [s for s in applies(fused) if isinstance(s.op, Contract)]
    folds = [s for s in applies(fused) if isinstance(s.op, Reduce)]
    if len(products) != 2 or sorted(s.op.name for s in folds) != ["max", "sum"]:
        raise _refused(fused, "this softmax between products")
    first, second = products
    largest, total = sorted(folds, key=lambda s: s.op.name)
    assert isinstance(first.attrs, ContractAttrs) and isinstance(second.attrs, ContractAttrs)
    assert isinstance(largest.attrs, ReduceAttrs) and isinstance(total.attrs, ReduceAttrs)
    operands = list(zip(second.args, (second.attrs.lhs, second.attrs.rhs), strict=True))
    operands.sort(key=lambda pair: largest not in statements_for(applies(fused), [pair[0]], frozenset()))
    (share, scores), (value, value_labels) = operands
    weight, divided = _weight(fused, share, total, makers)
    score = _exponent(fused, weight, largest, makers)
    summed = [n for n in scores if n not in second.attrs.out]
    if largest.attrs.axes != total.attrs.axes or [scores.index(n) for n in summed] != list(largest.attrs.axes):
        raise _refused(fused, "a softmax along other axes than the product after it sums")
    if len(summed) != 1 or total.args[0] is not weight or first.targets[0].aval.shape != share.aval.shape:
        raise _refused(fused, "a softmax over several axes between products")
    names = dict(zip(first.attrs.out, scores, strict=True))
    renamed = [tuple(names.get(n, FAR + n) for n in labels) for labels in (first.attrs.lhs, first.attrs.rhs)]
    sides = sorted(zip(first.args, renamed, strict=True), key=lambda side: summed[0] in side[1])
    (query, query_labels), (key, key_labels) = sides
    return Attention(
        first, second, query, key, value, query_labels, key_labels, value_labels, scores, summed[0], score, largest,
        weight, divided,
    )  # fmt: skip


def in_one_pass(fused: Fused) -> bool:
    """Whether it is what the kernel of this file computes; the rest is of `attention/gradient`."""
    try:
        match_attention(fused)
    except UnsupportedError:
        return False
    return True


def products_of(fused: Fused) -> list[tuple[Apply, int]]:
    """The products of a group of attention, and how many times its kernels make them."""
    products = [s for s in applies(fused) if isinstance(s.op, Contract)]
    again = {} if in_one_pass(fused) else times_made(match_gradient(fused))
    return [(s, again.get(s.targets[0], 1)) for s in products]


def _weight(fused: Fused, share: Atom, total: Apply, makers: Mapping[Var, Apply]) -> tuple[Var, bool]:
    """The exponentials in what the second product takes: over their sum, or as they are; rounded to its type or not."""
    share = _uncast(share, makers)
    maker = makers.get(share) if isinstance(share, Var) else None
    if maker is not None and isinstance(maker.op, Elementwise) and maker.op.name == "divide":
        dividend, divisor = maker.args
        if isinstance(dividend, Var) and behind(divisor, makers) is total.targets[0]:
            return dividend, True
    if maker is None or not isinstance(share, Var):
        raise _refused(fused, "this softmax between products")
    return share, False


def _uncast(a: Atom, makers: Mapping[Var, Apply]) -> Atom:
    """The value before its cast to the type of the second product's operands; the kernel casts the weights itself."""
    maker = makers.get(a) if isinstance(a, Var) else None
    return maker.args[0] if maker is not None and isinstance(maker.op, Cast) and a.aval.dtype.kind in "fV" else a


def _exponent(fused: Fused, weight: Var, largest: Apply, makers: Mapping[Var, Apply]) -> Var:
    """The x of exp(x - max(x))."""
    maker = makers.get(weight)
    if maker is not None and maker.op.name == "exp" and isinstance(maker.args[0], Var):
        difference = makers.get(maker.args[0])
        if difference is not None and difference.op.name == "subtract":
            x, top = difference.args
            if x is largest.args[0] and isinstance(x, Var) and behind(top, makers) is largest.targets[0]:
                return x
    raise _refused(fused, "a softmax without its maximum between products")


def _refused(fused: Fused, what: str) -> UnsupportedError:
    return UnsupportedError(Diagnostic(f"kernels do not support {what}", fused.span))


class _Indices:
    """The indices of the kernel, and their extents."""

    def __init__(self, fused: Fused, a: Attention, language: str) -> None:
        sizes: dict[int, int] = {}
        for labels, atom in ((a.query_labels, a.query), (a.key_labels, a.key), (a.value_labels, a.value)):
            sizes.update(zip(labels, atom.aval.shape, strict=True))
        assert isinstance(a.second.attrs, ContractAttrs)
        batch = tuple(n for n in a.scores if n in a.query_labels and n in a.key_labels)
        rows = tuple(n for n in a.scores if n not in a.key_labels)
        depth = tuple(n for n in a.query_labels if n not in a.scores)
        channels = tuple(n for n in a.value_labels if n not in a.scores)
        if {*a.key_labels} - {*batch, *depth} != {a.column} or {*a.value_labels} & {*a.scores} != {*batch, a.column}:
            raise _refused(fused, "products of this form around a softmax")
        self.batch = Index(batch, "batch", "batches", guarded=False)
        self.i, self.j = Index(rows, "i", "rows"), Index((a.column,), "j", "columns")
        across, down, j_down = ("k_across", "k_down", "j_down") if language == "triton" else ("k", "k", "j")
        self.j_down = Index((a.column,), j_down, "columns")
        self.across, self.down = Index(depth, across, "depth"), Index(depth, down, "depth")
        self.channel = Index(channels, "channel", "channels")
        self.extents = {
            i.extent_name: math.prod(sizes[n] for n in i.labels)
            for i in (self.batch, self.i, self.j, self.across, self.channel)
        }

    @property
    def products(self) -> int:
        """How many there are of numbers."""
        n = self.extents
        return n["batches"] * n["rows"] * n["columns"] * (n["depth"] + n["channels"])


@dataclass(frozen=True, slots=True)
class Parts:
    """The tiles of a kernel, and the types in which scores and results are gathered."""

    tiles: Tiles
    queries: Tile
    keys: Tile
    scores: Tile
    weights: Tile
    values: Tile
    after: Tile
    scored: DType
    summed: DType
    seen: Mapping[str, Any]
    """Of a causal mask: the arrays that say how far odd numbers reach, what the last column is beyond that row's, and
    how large products may be."""

    def text(self, tile: Tile, source: DType, target: DType) -> str:
        """The tile's value in another type than its own."""
        return tile.dialect.convert(tile.text(tile.value), source, target)


def plan_attention(
    fused: Fused, language: str, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]
) -> GroupPlan:
    """The kernel of an attention group. Raises UnsupportedError for other patterns and for wide heads."""
    if not in_one_pass(fused):
        return plan_gradient(fused, language, name, strides, scalars)
    a = match_attention(fused)
    index = _Indices(fused, a, language)
    dtype, score_dtype = a.second.targets[0].aval.dtype, a.first.targets[0].aval.dtype
    if dtype.name not in SUMMED or score_dtype.name not in SUMMED:
        raise _refused(fused, f"products of {dtype.name}")
    most = WIDEST_HEAD[is_half(dtype) and is_half(score_dtype)]
    if _head(index.extents) > most:
        raise _refused(fused, f"more than {most} elements in a row of attention's operands")
    parts = _parts(fused, a, index, Tiles(fused, language, strides, scalars))
    launch = (_triton if language == "triton" else _cuda)(parts, a, index.extents, name)
    return GroupPlan(name, (launch,))


def _parts(fused: Fused, a: Attention, index: _Indices, tiles: Tiles) -> Parts:
    assert isinstance(a.second.attrs, ContractAttrs) and isinstance(a.largest.attrs, ReduceAttrs)
    scored, summed = (accumulator(p.targets[0].aval.dtype) for p in (a.first, a.second))
    queries = tiles.tile([a.query], a.query_labels, [index.batch, index.i, index.across])
    keys = tiles.tile([a.key], a.key_labels, [index.batch, index.down, index.j])
    grid = [index.batch, index.i, index.j]
    scores = tiles.tile([a.score], a.scores, grid, {a.first.targets[0]: Held("score", scored, a.scores)})
    score = a.score.aval.dtype
    held = Held(scores.text(scores.value), score, a.scores)
    if tiles.dialect is CUDA:  # kept in registers, in a type that holds it
        held = Held("level", accumulator(score), a.scores)
    kept = tuple(-1 if n == a.column else n for n in a.scores if a.largest.attrs.keepdims or n != a.column)
    shift = Held("shift", summed, kept)
    weights = tiles.tile([a.weight], a.scores, grid, {a.score: held, a.largest.targets[0]: shift})
    weights.quick = is_half(a.second.targets[0].aval.dtype)
    values = tiles.tile([a.value], a.value_labels, [index.batch, index.j_down, index.channel])
    out, gathered = a.second.attrs.out, Held("accumulator", summed, a.second.attrs.out)
    over = [index.batch, index.i, index.channel]
    after = tiles.tile(fused.body.results, out, over, {a.second.targets[0]: gathered}, stored=True)
    tiles.settle()
    seen = _seen(scores, 2 * index.products)
    return Parts(tiles, queries, keys, scores, weights, values, after, scored, summed, seen)


def _seen(scores: Tile, operations: int) -> Mapping[str, Any]:
    beyond = seen_beyond(scores) if operations >= WORTH else None
    asked = 1 if beyond is None or beyond.most is None else len(REACHES)
    if beyond is None or operations < asked * WORTH:
        return {}
    reaches = [scores.pointer("partial", k, name, np.dtype(np.int32)) for k, name in enumerate(REACHES[:asked])]
    text = f" + {scores.layout.integer('beyond', beyond.last, scores.lowered.names)}" if beyond.last else ""
    return {"reaches": reaches, "beyond": text, "most": beyond.most}


def reach_groups(fused: Fused, language: str) -> list[Fused]:
    """The groups of what a causal kernel asks first (see `causal`): their results are the kernel's last partial ones,
    of values, keys and queries."""
    if not in_one_pass(fused):
        return reach_groups_of_gradient(fused, language)
    a = match_attention(fused)
    index = _Indices(fused, a, language)
    columns, batch = index.extents["columns"], index.batch.labels
    seen = _parts(fused, a, index, Tiles(fused, language, {}, frozenset())).seen
    if not seen:
        return []
    own = [{n: k for k, n in enumerate(labels)} for labels in (a.value_labels, a.key_labels, a.query_labels)]
    found = [reach_of(fused, a.value, own[0], batch, a.column, columns, REACHES[0])]
    if (most := seen["most"]) is not None:
        largest = math.sqrt(most / max(1, index.extents["depth"]))
        found.append(reach_of(fused, a.key, own[1], batch, a.column, columns, REACHES[1], largest))
        found.append(reach_of(fused, a.query, own[2], batch, None, columns, REACHES[2], largest))
    return found


def _triton(parts: Parts, a: Attention, extents: Mapping[str, int], name: str) -> Launch:
    dtype, score_dtype = a.second.targets[0].aval.dtype, a.first.targets[0].aval.dtype
    high, broad = _blocks(dtype, extents)
    blocks = {
        "BLOCK_I": high,
        "BLOCK_J": broad,
        "BLOCK_K": _power(extents["depth"]),
        "BLOCK_C": _power(extents["channels"]),
    }
    scores, weights, after = parts.scores, parts.weights, parts.after
    queries = _operand(parts.queries, score_dtype, "[BLOCK_I, BLOCK_K]", "k_across < depth")
    sections = {
        "queries": queries,
        "query": queries["operand"] if str(queries["operand"]).isidentifier() else "query",
        "keys": _operand(parts.keys, score_dtype, "[BLOCK_K, BLOCK_J]", "k_down < depth"),
        "scores": {"lines": scores.lines(), "text": parts.text(scores, a.score.aval.dtype, parts.summed)},
        "weights": {
            "lines": weights.lines(),
            "text": parts.text(weights, a.weight.aval.dtype, parts.summed),
            "operand": weights.dialect.convert("weight", parts.summed, dtype),
        },
        "values": _operand(parts.values, dtype, "[BLOCK_J, BLOCK_C]", "j_down < columns"),
        "divided": a.divided,
        "seen": parts.seen,
        "precision": precision(),
        "sum_type": after.dialect.type_name(parts.summed),
        "score_type": after.dialect.type_name(parts.scored),
        "epilogue": [*after.lines(), *after.stores()],
    }
    tiles, few = parts.tiles, high <= (64 if is_half(dtype) and _head(extents) <= WIDE_HEAD else 16)
    launch = make_launch(
        tiles.collect(), "attention.triton.j2", name, header(tiles.group), sections, _arguments(extents),
        _grid(extents, high), 0, tuple(blocks.items()), 4 if few else 8,
    )  # fmt: skip
    return replace(launch, choices=(4, 8))


def _arguments(extents: Mapping[str, int]) -> list[tuple[str, int]]:
    """The kernel's arguments; the number of matrices follows from the grid."""
    return [(name, n) for name, n in extents.items() if name != "batches"]


def _grid(extents: Mapping[str, int], high: int) -> tuple[int, int]:
    return extents["batches"] * -(-extents["rows"] // high), 1


def _cuda(parts: Parts, a: Attention, extents: Mapping[str, int], name: str) -> Launch:
    dtype, level, tiles = a.second.targets[0].aval.dtype, accumulator(a.score.aval.dtype), parts.tiles
    # Products of two types are taken in one that holds both: of halves they are exact in float32.
    mixed = {dtype, a.first.targets[0].aval.dtype} - {dtype}
    element = np.dtype(np.float64 if np.float64 in (dtype, *mixed) else np.float32) if mixed else dtype
    engine = Engine(element)
    operands = {
        "queries": neighbours(parts.queries, element, ("k", "i")),
        "keys": neighbours(parts.keys, element, ("k", "j")),
        "values": neighbours(parts.values, element, ("channel", "j")),
        "epilogue": neighbours(parts.after, element, ("channel", "i")),
    }
    packs = any(p.loads or p.stores for p in operands.values())
    real = tiles.dialect.type_name
    lowest = [tiles.dialect.literal(t.type(-np.inf), t) for t in (parts.summed, level)]
    high, broad = _cuda_blocks(element, extents)
    deep, channels = _power(extents["depth"]), _power(extents["channels"])
    along = {part: operands[part].fast == summed for part, summed in SUMMED_OVER.items()}
    shared = (
        engine.nbytes(high, deep, along["queries"]) + engine.nbytes(broad, deep, along["keys"])
        + engine.nbytes(channels, broad, along["values"]) + engine.nbytes(high, broad, True)
    )  # fmt: skip
    stripe = min(high, 64)
    size = parts.summed.itemsize
    sums = "Sums<{}, BLOCK_I, {}>" if engine.plain else "Sums<BLOCK_I, {1}, 16, {1}>"
    sections = {
        **engine.sections,
        **operands,
        "score_lines": {"lines": parts.scores.lines(), "text": parts.text(parts.scores, a.score.aval.dtype, level)},
        "weight_lines": {
            "lines": parts.weights.lines(),
            "text": parts.text(parts.weights, a.weight.aval.dtype, parts.summed),
            "operand": tiles.dialect.convert(tiles.dialect.convert("weight", parts.summed, dtype), dtype, element),
        },
        "divided": a.divided,
        "seen": parts.seen,
        "packs": packs,
        "sum_type": real(parts.summed), "sum_size": size, "score_type": real(parts.scored), "level_type": real(level),
        "lowest": lowest[0], "level_lowest": lowest[1],
        "sums_type": sums.format(real(element), "BLOCK_C"), "scores_type": sums.format(real(element), "BLOCK_J"),
    }  # fmt: skip
    threads = 256 if engine.plain else 2 * high
    constants = (
        ("BLOCK_I", high), ("BLOCK_J", broad), ("BLOCK_K", deep), ("BLOCK_C", channels), ("THREADS", threads),
        ("STRIPE", stripe), ("SHARED", max(shared, stripe * (channels * size + 16))),
        # Where a multiprocessor has but one block, whose threads would wait for loads and have registers for them.
        ("AHEAD", int(_grid(extents, high)[0] <= ENOUGH_BLOCKS and _head(extents) <= WIDE_HEAD)),
    )  # fmt: skip
    launch = make_launch(
        tiles.collect(), "attention.cuda.j2", name, header(tiles.group), sections, _arguments(extents),
        _grid(extents, high), threads, constants, 4,
    )  # fmt: skip
    return replace(launch, packed=4 if packs and all(p.packs_align for p in operands.values()) else 0)


def _operand(tile: Tile, dtype: DType, block: str, guard: str) -> dict[str, object]:
    return {"lines": tile.lines(), "operand": tile.operand(dtype, block, guard)}


def _head(extents: Mapping[str, int]) -> int:
    return max(extents["depth"], extents["channels"])


def _blocks(dtype: DType, extents: Mapping[str, int]) -> tuple[int, int]:
    """Rows of the result and columns of the scores that a program works on at a time."""
    if _head(extents) > WIDE_HEAD:
        return (64 if extents["rows"] > 16 else 16), 32
    high, broad = (128, 64) if is_half(dtype) else (64, 32) if dtype.itemsize == 4 else (16, 16)
    return (_lowered(high, 64, extents) if extents["rows"] > 16 else 16), broad


def _cuda_blocks(dtype: DType, extents: Mapping[str, int]) -> tuple[int, int]:
    """Like `_blocks`; tiles of so many elements take less than 99 KB of shared memory, which all devices have."""
    if _head(extents) > WIDE_HEAD:
        return 64, 32
    if is_half(dtype):
        return _lowered(128, 64, extents), 64
    return (64, 32) if dtype.itemsize == 4 else (32, 16)


def _lowered(high: int, least: int, extents: Mapping[str, int]) -> int:
    """Half of `high` where blocks of so many rows would leave multiprocessors idle: one head of 8,192 rows has 64."""
    few = extents["batches"] * -(-extents["rows"] // high) < ENOUGH_BLOCKS
    return max(min(high, least), high // 2) if few else high


def _power(extent: int) -> int:
    return max(16, 1 << (extent - 1).bit_length())


def is_worth_fusing(fused: Fused, language: str, facts: Facts) -> bool:
    """Whether keeping the scores out of memory makes up for products that are slower than the library's, or are made
    twice."""
    slower = sum(
        Roles(s).operations
        * (times / facts.kernel_rate(_type_of(s), language) - 1 / library_rate(Roles(s), s.targets[0], facts))
        for s, times in products_of(fused)
    )
    saved = 4 * nbytes(products_of(fused)[0][0].targets[0])
    return saved / facts.bandwidth + 2 * facts.launch > slower


def _type_of(s: Apply) -> str:
    return s.targets[0].aval.dtype.name
