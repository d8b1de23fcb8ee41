"""The first of two stages: what chunks of each row come to, in any number of blocks; the order of sums is fixed.

    total = np.sum(x * y)        part[k] = np.sum(x[k] * y[k]) for chunks k
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..translator.ir import Var
from ..translator.records import dataclass
from .body import Body, Pass
from .layout import Layout
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
    layout = body.layout
    count = sum(counts)
    places = {count + i: targets.index(t) for i, t in enumerate(stored)}
    steps = body.passes()
    by_value = {id(g.value): g for g in steps[0].gathered}
    found = [by_value[id(o.value)] for o in body.lowered.outputs[:count]]
    plain, spread = found[: counts[0]], found[counts[0] :]
    step = Pass(list(steps[0].before), [g for g in steps[0].gathered if g in plain], steps[0].inside, steps[0].stores)
    partials = [(g, body.pointer("partial", i, f"{g.value.name}_part", g.dtype)) for i, g in enumerate(plain)]
    spreads = []
    for k, g in enumerate(spread):
        first, name_of = counts[0] + len(PARTS) * k, g.value.args[0].name
        pointers = [body.pointer("partial", first + i, f"{name_of}_{p}", g.dtype) for i, p in enumerate(PARTS)]
        names = [body.lowered.names.fresh(f"{name_of}_{p}_sofar") for p in PARTS]
        spreads.append((g, names, pointers))
    sections = {"step": step, "partials": partials, "spreads": spreads, "fold": body.fold}
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    extents += [("chunks", chunks.count), ("chunk_length", chunks.length)]
    if not body.triton:
        extents.append(("row_threads", chunks.rows))
    constants = (("ROWS", chunks.rows), ("BLOCK", chunks.block)) if body.triton else ()
    grid = (max(1, -(-layout.rows // chunks.rows)), chunks.count)
    template = f"reduce.{body.dialect.name}.j2"
    launch = make_launch(body, template, f"{name}_parts", heading, sections, extents, grid, 256, constants, 4)
    moved = tuple(replace(a, index=places[a.index]) if a.role == "out" else a for a in launch.arguments)
    return replace(launch, arguments=moved)
