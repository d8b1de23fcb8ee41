"""Two-stage reductions: the first stage reduces chunks of rows in many blocks, in a fixed order.

    total = np.sum(x * y)        part[k] = np.sum(x[k] * y[k]) for chunks k
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from ...translator.ir import Apply, Fused, Var
from ...translator.ops.core import Reduce
from ...translator.records import dataclass
from ..program import Launch, make_launch
from ..source.body import Body, Gathered, Pass
from ..source.layout import Layout
from .exponentials import Exponentials, exponentials_of
from .firsts import First, firsts_of
from .neighbours import Neighbours
from .spread import Spread, spreads_of

MANY_BLOCKS = 1024  # enough to fill any device several times
MOST_GATHERED = 1 << 15  # bytes of what a Triton program's 128 threads gather: half of their registers
ENOUGH_BLOCKS = 128  # about one for each multiprocessor of a large device


Parted = Spread | First | Exponentials
"""A reduction of what another one gives: chunks leave several parts, which are put together when that is known."""


def parted_of(statements: Sequence[Apply], known: Sequence[Var]) -> list[Parted]:
    """The reductions by parts (`spread`, `firsts`, `exponentials`) that depend on some of these variables."""
    return [*spreads_of(statements, known), *firsts_of(statements, known), *exponentials_of(statements, known)]


def own_parted(fused: Fused) -> list[Parted]:
    """The reductions by parts of a group that depend on other reductions of it."""
    statements = [s for s in fused.body.statements if isinstance(s, Apply)]
    return parted_of(statements, [s.targets[0] for s in statements if isinstance(s.op, Reduce)])


@dataclass(frozen=True, slots=True)
class Chunks:
    """`count` chunks of `length` columns for each row, the last one shorter; a block takes `rows` rows, `block` columns
    at a time."""

    rows: int
    block: int
    count: int
    length: int


def chunks_of(layout: Layout, by_rows: bool, language: str, gathering: int = 0) -> Chunks:
    """As many as fill a device. `by_rows`: rows lie beside each other. `gathering`: bytes gathered for each column."""
    if language == "triton":
        rows, block = (64, 32) if by_rows else (1, 1024)
        while rows * block * gathering > MOST_GATHERED and block > 4:
            block //= 2
    else:
        rows, block = (32, 8) if by_rows else (1, 256)
    tiles = max(1, -(-layout.rows // rows))
    count = max(1, min(-(-layout.columns // (4 * block)), -(-MANY_BLOCKS // tiles)))
    length = max(block, -(-layout.columns // (count * block)) * block)
    return Chunks(rows, block, max(1, -(-layout.columns // length)), length)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a reduction under way: which, its accumulator, the array that it is left in, its type."""

    member: str
    name: str
    pointer: str
    type: str


Kept = tuple[Parted, list[Gathered], list[Part]]


@dataclass(slots=True)
class Step(Pass):
    """A pass with the arrays that it leaves its results in. `loads`, `packs`: as those of `Neighbours`."""

    partials: list[tuple[Gathered, str]] = field(default_factory=list)
    spreads: list[Kept] = field(default_factory=list)
    firsts: list[Kept] = field(default_factory=list)
    exponentials: list[Kept] = field(default_factory=list)
    loads: list[tuple[str, str, str]] = field(default_factory=list)
    packs: list[tuple[str, str, str]] = field(default_factory=list)


def first_stage(
    body: Body,
    heading: list[str],
    name: str,
    chunks: Chunks,
    plain: int,
    parted: Sequence[Parted] = (),
    targets: Sequence[Var] = (),
    stored: Sequence[Var] = (),
) -> Launch:
    """The launch. Of the body's outputs the first are so many `plain` reductions, then what is gathered for those that
    are `parted`; the others, `stored`, are results of the group, whose `targets` are these."""
    layout, together = body.layout, not body.triton and chunks.rows == 1
    body = Neighbours(body) if together else body
    sections: dict[str, object] = {"fold": body.fold, "extreme": body.extreme, "twin": None, "pack": 0}
    sections["joined"] = _joined
    taken = set(body.lowered.names.taken)
    sections["plain"] = _step(body, plain, parted)
    if isinstance(body, Neighbours) and body.packable:
        body.lowered.names.restart(taken)  # both kernels have the same names
        sections |= {"twin": _step(body, plain, parted, packed=True), "pack": body.widest_pack(8)}
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    extents += [("chunks", chunks.count), ("chunk_length", chunks.length)]
    if not body.triton:
        extents.append(("row_threads", chunks.rows))
    constants = (("ROWS", chunks.rows), ("BLOCK", chunks.block)) if body.triton else ()
    grid = (max(1, -(-layout.rows // chunks.rows)), chunks.count)
    template = f"reduce.{body.dialect.name}.j2"
    launch = make_launch(body, template, f"{name}_parts", heading, sections, extents, grid, 256, constants, 4)
    gathered = plain + sum(p.folds for p in parted)
    places = {gathered + i: targets.index(t) for i, t in enumerate(stored)}
    moved = tuple(replace(a, index=places[a.index]) if a.role == "out" else a for a in launch.arguments)
    pack = body.widest_pack(8) if isinstance(body, Neighbours) and body.packable else 0
    aligns = isinstance(body, Neighbours) and pack and chunks.length % pack == 0 and body.packs_align(pack)
    return replace(launch, arguments=moved, packed=layout.columns if aligns else 0, pack=pack or 4)


def _joined(step: Step) -> list[tuple[str, *Kept]]:
    """The partial results of a reduction, with the function that joins those of two threads (CUDA)."""
    joins = (("Together", step.spreads), ("Earlier", step.firsts), ("Rescaled", step.exponentials))
    return [(join, *kept) for join, every in joins for kept in every]


def _step(body: Body, plain: int, parted: Sequence[Parted], packed: bool = False) -> Step:
    """The work on one element."""
    body.packed = packed
    steps = body.passes()
    body.packed = False
    by_value = {id(g.value): g for g in steps[0].gathered}
    found = [by_value[id(o.value)] for o in body.lowered.outputs if id(o.value) in by_value]
    step = Step(list(steps[0].before), found[:plain], steps[0].inside, steps[0].stores)
    step.partials = [
        (g, body.pointer("partial", i, f"{g.value.name}_part", g.dtype)) for i, g in enumerate(found[:plain])
    ]
    first, others = plain, iter(found[plain:])
    for p in parted:
        own = [next(others) for _ in range(p.folds)]
        name_of = own[0].value.args[0].name
        parts = [
            Part(
                name,
                body.lowered.names.fresh(f"{name_of}_{name}_sofar"),
                body.pointer("partial", first + i, f"{name_of}_{name}", dtype),
                body.dialect.type_name(dtype),
            )
            for i, (name, dtype) in enumerate(p.parts)
        ]
        first += len(parts)
        kept = step.spreads if isinstance(p, Spread) else step.firsts if isinstance(p, First) else step.exponentials
        kept.append((p, own, parts))
    if isinstance(body, Neighbours) and packed:
        values = body.along([g.value.args[0] for g in found] + [o.value for o in body.lowered.outputs if o.along])
        step.loads = body.packs_loaded(values)
        step.packs = [body.pack_stored(i) for i, a in body.stored.items() if body.packs(a)]
    return step
