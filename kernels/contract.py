"""Matrix products as one kernel with the work on their operands and result, where that beats the library.

y = gelu((x * scale) @ w + b)      one kernel: x and scale are read block by block, the sum never leaves the registers
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..translator.errors import Diagnostic, UnsupportedError
from ..translator.ir import Apply, Atom, DType, Fused, Var
from ..translator.ops.core import Cast, Contract, ContractAttrs, Elementwise
from ..translator.passes.alignment import is_free, nbytes
from ..translator.passes.units import COSTLY
from ..translator.records import dataclass
from .facts import Facts, precision
from .program import GroupPlan, Launch, header, make_launch
from .source.dialects import CUDA, accumulator, is_half
from .source.maps import Strides
from .tiles import Held, Index, Tile, Tiles, applies, neighbours, statements_for

SUMMED = {"float16": 64, "bfloat16": 64, "float32": 16, "float64": 16}  # summed elements a step
STAGES = 4  # blocks of operands in shared memory, where they are copied there past the registers (CUDA)
WIDEST = {"float16": 128, "bfloat16": 128, "float32": 64, "float64": 32}


def product_of(fused: Fused) -> Apply:
    (found,) = [s for s in applies(fused) if isinstance(s.op, Contract)]
    return found


def plan_contract(
    fused: Fused, language: str, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]
) -> GroupPlan:
    """The kernel of a contract group.

    Raises UnsupportedError for products of integers, and for results that are not the product's elements in place.
    """
    product = product_of(fused)
    (target,), (x, y), attrs = product.targets, product.args, product.attrs
    assert isinstance(attrs, ContractAttrs)
    dtype = target.aval.dtype
    if dtype.name not in SUMMED:
        raise UnsupportedError(Diagnostic(f"kernels do not support products of {dtype.name}", product.span))
    if any(t.aval.shape != target.aval.shape for t in fused.targets):
        raise UnsupportedError(Diagnostic("kernels do not support results of several shapes", product.span))
    tiles = Tiles(fused, language, strides, scalars)
    roles = Roles(product)
    across, down = ("k_across", "k_down") if language == "triton" else ("k", "k")
    batch = Index(roles.batch, "batch", "batches", guarded=False)
    i, j = Index(roles.left, "i", "rows"), Index(roles.right, "j", "columns")
    left = tiles.tile([x], attrs.lhs, [batch, i, Index(roles.summed, across, "depth")])
    right = tiles.tile([y], attrs.rhs, [batch, Index(roles.summed, down, "depth"), j])
    gathered = Held("accumulator", accumulator(dtype), attrs.out)
    after = tiles.tile(fused.body.results, attrs.out, [batch, i, j], {target: gathered}, stored=True)
    tiles.settle()
    launch = _triton if language == "triton" else _cuda
    return GroupPlan(name, (launch(tiles, (left, right, after), roles, name, dtype),))


Operands = tuple[Tile, Tile, Tile]
"""Of the left operand, the right one, and the work on the product."""


def _triton(tiles: Tiles, operands: Operands, roles: Roles, name: str, dtype: DType) -> Launch:
    left, right, after = operands
    high, broad = _block(roles.rows, dtype), _block(roles.columns, dtype)
    sections = {
        "operands": [*left.lines(), *right.lines()],
        "left": left.operand(dtype, "[BLOCK_I, BLOCK_K]", "k_across < depth"),
        "right": right.operand(dtype, "[BLOCK_K, BLOCK_J]", "k_down < depth"),
        "precision": precision(),
        "sum_type": after.dialect.type_name(accumulator(dtype)),
        "epilogue": [*after.lines(), *after.stores()],
    }
    warps = 8 if is_half(dtype) and high * broad > 64 * 64 else 4
    constants = (("BLOCK_I", high), ("BLOCK_J", broad), ("BLOCK_K", SUMMED[dtype.name]))
    body, heading, grid = tiles.collect(), header(tiles.group), roles.grid(high, broad)
    launch = make_launch(body, "contract.triton.j2", name, heading, sections, roles.extents, grid, 0, constants, warps)
    return replace(launch, choices=(4, 8))


def _cuda(tiles: Tiles, operands: Operands, roles: Roles, name: str, dtype: DType) -> Launch:
    left, right, after = operands
    engine, (high, broad) = Engine(dtype), (engine_block(n, dtype) for n in (roles.rows, roles.columns))
    parts = [
        neighbours(left, dtype, ("k", "i")),
        neighbours(right, dtype, ("j", "k")),
        neighbours(after, dtype, ("j", "i")),
    ]
    packs = any(p.loads or p.stores for p in parts)
    wide, sums = accumulator(dtype), "Sums<BLOCK_I, BLOCK_J, TALL, 32>"
    sections = {
        **engine.sections,
        **dict(zip(("left", "right", "epilogue"), parts, strict=True)),
        "sum_type": after.dialect.type_name(wide),
        "sum_size": wide.itemsize,
        "sums_type": f"Sums<{after.dialect.type_name(dtype)}, BLOCK_I, BLOCK_J>" if engine.plain else sums,
        "packs": packs,
        "ahead": any(p.copied for p in parts),
    }
    stripe = min(high, 64)
    shared = sum(
        (STAGES if part.copied else 2) * engine.nbytes(n, engine.deep, part.fast == "k")
        for n, part in zip((high, broad), parts, strict=False)
    )
    tall = 64 if high == 128 else 32  # of the rows that a warp has
    threads = 256 if engine.plain else 32 * (high // tall) * (broad // 32)
    # Blocks that fit a multiprocessor's registers, where operands do not pass through them: sums take most.
    taken = high * broad * wide.itemsize // 4 // threads + 32 + 4 * wide.itemsize
    together = min(8, (1 << 16) // (threads * taken))
    constants = (
        ("BLOCK_I", high), ("BLOCK_J", broad), ("BLOCK_K", engine.deep), ("THREADS", threads),
        ("STRIPE", stripe), *([] if engine.plain else [("TALL", tall)]),
        *([("STAGES", STAGES), ("TOGETHER", together)] if sections["ahead"] else []),
        ("SHARED", max(shared, stripe * (broad * wide.itemsize + 16))),
    )  # fmt: skip
    body, heading, grid = tiles.collect(), header(tiles.group), roles.grid(high, broad)
    extents, template = roles.extents, "contract.cuda.j2"
    launch = make_launch(body, template, name, heading, sections, extents, grid, threads, constants, 4)
    return replace(launch, packed=4 if packs and all(p.packs_align for p in parts) else 0)


@dataclass(frozen=True, slots=True)
class Engine:
    """The arithmetic of a CUDA kernel: tensor cores for half precision and tf32, plain multiplication for the rest."""

    dtype: DType

    @property
    def name(self) -> str:
        if is_half(self.dtype):
            return "half"
        return "tf32" if self.dtype == np.float32 and precision() == "tf32" else "plain"

    @property
    def plain(self) -> bool:
        return self.name == "plain"

    @property
    def deep(self) -> int:
        """Elements that are summed between two barriers."""
        return 32 if is_half(self.dtype) else 16

    def nbytes(self, extent: int, summed: int, along: bool) -> int:
        """The bytes of an `Operand` in shared memory."""
        size, free = self.dtype.itemsize, 16 // self.dtype.itemsize
        if self.plain or not along:
            return summed * (extent + (free if self.plain else 8)) * size
        return extent * (summed + free) * size

    @property
    def sections(self) -> dict[str, object]:
        mma = {"float16": "f16", "bfloat16": "bf16"}.get(self.dtype.name)
        return {"engine": self.name, "element": CUDA.type_name(self.dtype), "mma_type": mma}


def engine_block(extent: int, dtype: DType) -> int:
    """Few sizes, so that a new extent seldom compiles anew."""
    widest = 64 if dtype.itemsize == 8 else 128
    return next((b for b in (32, 64) if extent <= b < widest), widest)


def _block(extent: int, dtype: DType) -> int:
    """Few sizes, so that a new extent seldom compiles anew; 16 is the least that `tl.dot` takes."""
    return next((b for b in (16, 64) if extent <= b < WIDEST[dtype.name]), WIDEST[dtype.name])


class Roles:
    """The labels of a product as those of a batch of matrix products, and their extents."""

    def __init__(self, product: Apply) -> None:
        attrs = product.attrs
        assert isinstance(attrs, ContractAttrs)
        lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
        sizes: dict[int, int] = {}
        for labels, a in zip((lhs, rhs), product.args, strict=True):
            sizes.update(zip(labels, a.aval.shape, strict=True))
        self.batch = tuple(n for n in out if n in lhs and n in rhs)
        self.left = tuple(n for n in out if n not in rhs)
        self.right = tuple(n for n in out if n not in lhs)
        self.summed = tuple(n for n in lhs if n not in out)
        self.batches, self.rows, self.columns, self.depth = (
            math.prod(sizes[n] for n in labels) for labels in (self.batch, self.left, self.right, self.summed)
        )

    @property
    def extents(self) -> list[tuple[str, int]]:
        return [("rows", self.rows), ("columns", self.columns), ("depth", self.depth)]

    def grid(self, high: int, broad: int) -> tuple[int, int]:
        return self.batches * -(-self.rows // high) * -(-self.columns // broad), 1

    @property
    def operations(self) -> float:
        return 2.0 * self.batches * self.rows * self.columns * self.depth


def is_worth(fused: Fused, language: str, facts: Facts) -> bool:
    """Whether the kernel beats the library's product with kernels before and after it: by a model of the device.

    The library multiplies faster; the kernel saves what would go through memory between them.
    """
    product = product_of(fused)
    before, after = stages(applies(fused), product, fused.body.results)
    roles = Roles(product)
    widest = max(roles.rows, roles.columns, 1)
    if min(roles.rows, roles.columns) < facts.narrowest or roles.depth > facts.deepest * roles.batches * widest:
        return False
    (target,) = product.targets
    saved = 2 * sum(nbytes(v) for v in before)
    if after:
        saved += nbytes(target) * (1 if target in fused.body.results else 2)
    name = target.aval.dtype.name
    slower = roles.operations * (1 / facts.kernel_rate(name, language) - 1 / library_rate(roles, target, facts))
    for operand, other in zip(product.args, (roles.columns, roles.rows), strict=True):
        again = -(-other // WIDEST.get(name, 64)) - 1  # each block of the other operand has this one made again
        slower += again * _work(statements_for(applies(fused), [operand], frozenset())) / facts.rates["float32"]
    return saved / facts.bandwidth + facts.launch * (len(before) + bool(after)) > slower


def library_rate(roles: Roles, target: Var, facts: Facts) -> float:
    """The rate of the library's product, which it computes in float32 for batches of half precision (`arrays`)."""
    single = roles.batches > 1 and is_half(target.aval.dtype)
    return facts.library_rate("float32" if single else target.aval.dtype.name)


def _work(statements: Sequence[Apply]) -> float:
    """Operations of elementwise work, roughly."""
    computed = [s for s in statements if isinstance(s.op, Elementwise | Cast)]
    return sum(s.targets[0].aval.size * (32.0 if s.op.name in COSTLY else 4.0) for s in computed)


def stages(statements: Sequence[Apply], product: Apply, results: Sequence[Atom]) -> tuple[list[Var], list[Apply]]:
    """The computed values that the product's operands are views of, and the work that results need after it."""
    makers = {s.targets[0]: s for s in statements}
    before: list[Var] = []
    for a in product.args:
        while isinstance(a, Var) and a in makers and is_free(makers[a]) and makers[a].args:
            a = makers[a].args[0]
        if isinstance(a, Var) and a in makers and makers[a].args and a not in before:
            before.append(a)
    (target,) = product.targets
    after = statements_for(statements, results, frozenset((target,)))
    return before, after if any(target in s.args for s in after) else []
