"""The first of two stages: what chunks of each row come to, in any number of blocks; the order of sums is fixed.

    total = np.sum(x * y)        part[k] = np.sum(x[k] * y[k]) for chunks k
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from ..translator.ir import Var
from ..translator.records import dataclass
from .body import Body, Gathered, Pass
from .layout import Layout
from .neighbours import Neighbours
from .program import Launch, make_launch
from .spread import PARTS

MANY_BLOCKS = 1024  # enough to fill any device several times


@dataclass(frozen=True, slots=True)
class Chunks:
    """`count` chunks of `length` columns for each row, the last one shorter; a block takes `rows` rows, `block` columns
    at a time."""

    rows: int
    block: int
    count: int
    length: int


def chunks_of(layout: Layout, by_rows: bool, language: str) -> Chunks:
    """As many as fill a device. `by_rows`: rows lie beside each other."""
    if language == "triton":
        rows, block = (64, 32) if by_rows else (1, 1024)
    else:
        rows, block = (32, 8) if by_rows else (1, 256)
    tiles = max(1, -(-layout.rows // rows))
    count = max(1, min(-(-layout.columns // (4 * block)), -(-MANY_BLOCKS // tiles)))
    length = max(block, -(-layout.columns // (count * block)) * block)
    return Chunks(rows, block, max(1, -(-layout.columns // length)), length)


@dataclass(slots=True)
class Step(Pass):
    """A pass with the arrays that it leaves its results in. `loads`, `packs`: as those of `Neighbours`."""

    partials: list[tuple[Gathered, str]] = field(default_factory=list)
    spreads: list[tuple[Gathered, list[str], list[str]]] = field(default_factory=list)
    loads: list[tuple[str, str, str]] = field(default_factory=list)
    packs: list[tuple[str, str, str]] = field(default_factory=list)


def first_stage(
    body: Body,
    heading: list[str],
    name: str,
    chunks: Chunks,
    counts: tuple[int, int],
    targets: Sequence[Var] = (),
    stored: Sequence[Var] = (),
) -> Launch:
    """The launch. Of the body's outputs the first are reductions, `counts`: plain ones, and sums of squared distances;
    the others, `stored`, are results of the group, whose `targets` are these."""
    layout, together = body.layout, not body.triton and chunks.rows == 1
    body = Neighbours(body) if together else body
    sections: dict[str, object] = {"fold": body.fold, "twin": None, "pack": 0}
    taken = set(body.lowered.names.taken)
    sections["plain"] = _step(body, counts)
    if isinstance(body, Neighbours) and body.packable:
        body.lowered.names.taken = taken  # both kernels have the same names
        sections |= {"twin": _step(body, counts, packed=True), "pack": body.widest_pack(8)}
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    extents += [("chunks", chunks.count), ("chunk_length", chunks.length)]
    if not body.triton:
        extents.append(("row_threads", chunks.rows))
    constants = (("ROWS", chunks.rows), ("BLOCK", chunks.block)) if body.triton else ()
    grid = (max(1, -(-layout.rows // chunks.rows)), chunks.count)
    template = f"reduce.{body.dialect.name}.j2"
    launch = make_launch(body, template, f"{name}_parts", heading, sections, extents, grid, 256, constants, 4)
    places = {sum(counts) + i: targets.index(t) for i, t in enumerate(stored)}
    moved = tuple(replace(a, index=places[a.index]) if a.role == "out" else a for a in launch.arguments)
    pack = body.widest_pack(8) if isinstance(body, Neighbours) and body.packable else 0
    aligns = isinstance(body, Neighbours) and pack and body.packs_align(pack)
    return replace(launch, arguments=moved, packed=layout.columns if aligns else 0, pack=pack or 4)


def _step(body: Body, counts: tuple[int, int], packed: bool = False) -> Step:
    """What is done for each element; the body's outputs begin with so many plain reductions and spreads."""
    body.packed = packed
    steps = body.passes()
    body.packed = False
    by_value = {id(g.value): g for g in steps[0].gathered}
    found = [by_value[id(o.value)] for o in body.lowered.outputs[: sum(counts)]]
    plain, spread = found[: counts[0]], found[counts[0] :]
    step = Step(list(steps[0].before), [g for g in steps[0].gathered if g in plain], steps[0].inside, steps[0].stores)
    step.partials = [(g, body.pointer("partial", i, f"{g.value.name}_part", g.dtype)) for i, g in enumerate(plain)]
    for k, g in enumerate(spread):
        first, name_of = counts[0] + len(PARTS) * k, g.value.args[0].name
        pointers = [body.pointer("partial", first + i, f"{name_of}_{p}", g.dtype) for i, p in enumerate(PARTS)]
        names = [body.lowered.names.fresh(f"{name_of}_{p}_sofar") for p in PARTS]
        step.spreads.append((g, names, pointers))
    if isinstance(body, Neighbours) and packed:
        values = body.along([g.value.args[0] for g in found] + [o.value for o in body.lowered.outputs[len(found) :]])
        step.loads = body.packs_loaded(values)
        step.packs = [body.pack_stored(i) for i, a in body.stored.items() if body.packs(a)]
    return step
