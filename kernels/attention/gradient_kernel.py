"""What the kernels of attention's gradient have in common: the tiles of their operands, and numbers of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...translator.ir import Atom, Fused, Var
from ...translator.ops.core import ReduceAttrs
from ..source.dialects import accumulator
from ..source.values import Load
from ..tiles import Held, Tile, Tiles, applies, statements_for
from .causal import Beyond
from .gradient_pattern import First, Gradient, Indices, Last, has_operand


class GradientKernel:
    """One kernel of a gradient: its tiles. `known`: the sums along rows that kernels before it have
    stored, and in which partial result. `seen`: the diagonal behind which blocks are left out."""

    def __init__(
        self, fused: Fused, g: Gradient, index: Indices, tiles: Tiles, known: Mapping[Var, int], seen: Beyond | None
    ) -> None:
        self.fused, self.g, self.index, self.tiles, self.known, self.seen = fused, g, index, tiles, known, seen
        self.dialect = tiles.dialect
        self.grid = [index.batch, index.i, index.j]
        self.used: dict[str, None] = {}
        hints = {g.largest.targets[0]: "largest", g.total.targets[0]: "total"}
        self.rows = {v: hints.get(v) or tiles.names.fresh("sum") for v in known}
        self.sum_type = self.dialect.type_name(g.gathered)

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

    def within(self, results: Sequence[Atom]) -> tuple[dict[First, tuple[Tile, Tile]], Tile]:
        """The operands of the first products that these values need, and the lines of a block that compute them."""
        sides = self.sides(self.needed(results))
        inside = self.tiles.tile(results, self.g.labels, self.grid, self.held(list(sides)))
        inside.quick = self.g.half
        return sides, inside

    def rows_read(self, tile: Tile) -> dict[str, int]:
        """The sums along rows that these lines read: their names, and in which partial results they are."""
        read = {v.source.param for v in tile.lowered.values if isinstance(v.source, Load)}
        held = {h.name for param, h in tile.held.items() if param in read}
        return {name: self.known[v] for v, name in self.rows.items() if name in held}

    # ---- the last products -------------------------------------------------------------------------

    def part(self, t: Last, firsts: Sequence[First], own: str) -> tuple[Tile | First, Tile]:
        """The operand of a last product beside the matrix, and its result, whose sums are `own`. Where a first product
        has the operand, too, it is there."""
        index = self.index
        channel = index.channel(self.fused, self.g, t)
        self.used[channel.extent_name] = None
        summed, kept = (index.j_down, index.i) if t.along_rows else (index.i, index.j_down)
        other: Tile | First | None = next((f for f in firsts if has_operand(f, t)), None)
        if other is None:
            other = self.tiles.tile([t.other], t.other_labels, [index.batch, summed, channel])
        held = {t.target: Held(own, accumulator(t.dtype), t.out)}
        return other, self.tiles.tile([t.target], t.out, [index.batch, kept, channel], held, stored=True)

    def kept(self, inside: Tile, matrices: Sequence[Var]) -> list[Tile]:
        """The matrices that go to memory as they are; `inside` computes them last."""
        made = inside.lowered.outputs[len(inside.lowered.outputs) - len(matrices) :]
        held = [Held(inside.text(o.value), o.value.dtype, self.g.labels) for o in made]
        own = zip(matrices, held, strict=True)
        return [self.tiles.tile([v], self.g.labels, self.grid, {v: h}, stored=True) for v, h in own]

    # ---- what is left out --------------------------------------------------------------------------

    def reaches(self, tile: Tile) -> list[str]:
        """The arrays that say where operands have numbers that are too large for anything to be left out."""
        count, kind = 2 * len(self.g.firsts), np.dtype(np.int32)
        return [tile.pointer("partial", self.g.numbers + k, f"reach_{k}", kind) for k in range(count)]

    def beyond(self, tile: Tile) -> str:
        """What the last column that a row sees is beyond that row's number; nothing where it is that one."""
        if self.seen is None or not self.seen.last:
            return ""
        return tile.layout.integer("beyond", self.seen.last, tile.lowered.names)
