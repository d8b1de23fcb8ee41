"""The kernels of attention's gradient in CUDA: see `attention/gradient`.

Blocks of rows, or of columns, keep their own operands in shared memory, and walk through those of the others. What the
elementwise work between the products makes goes through shared memory to the last products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...translator.ir import Apply, DType, Fused, Var
from ..contract import Engine
from ..program import Launch, header, make_launch
from ..source.dialects import CUDA, accumulator, is_half
from ..tiles import Held, Neighbours, Tile, Tiles, neighbours
from .causal import Beyond
from .gradient_kernel import GradientKernel
from .gradient_pattern import ACROSS, First, Gradient, Indices, Last, refused

BLOCKS = {"depth": "BLOCK_K", "channels": "BLOCK_C"}
MOST_SHARED = 99 << 10  # bytes of shared memory that a block may have on all devices
Sections = dict[str, object]


class CudaGradient(GradientKernel):
    """A kernel and what its template is filled in with.

    `own`, `turning`: rows of a block, and of those that it walks through: its rows and its columns, or the other way
    round. `shared`: the bytes of what it has in shared memory.
    """

    def __init__(
        self, fused: Fused, g: Gradient, index: Indices, tiles: Tiles, known: Mapping[Var, int], seen: Beyond | None
    ) -> None:
        super().__init__(fused, g, index, tiles, known, seen)
        # Products of several types are taken in one that holds them all: of halves they are exact in float32.
        several = np.dtype(np.float64 if np.float64 in g.types else np.float32)
        self.element = g.types[0] if len({*g.types}) == 1 else several
        self.engine = Engine(self.element)
        self.own, self.turning = {2: (64, 64), 4: (64, 32), 8: (32, 16)}[self.element.itemsize]
        self.shared = 0
        self.parts: list[Neighbours] = []

    # ---- operands ----------------------------------------------------------------------------------

    def neighbours(self, tile: Tile, *choices: str) -> Neighbours:
        found = neighbours(tile, self.element, choices)
        self.parts.append(found)
        return found

    def high(self, along_rows: bool) -> tuple[int, int]:
        """The rows and the columns of the scores that a block has at a time."""
        return (self.own, self.turning) if along_rows else (self.turning, self.own)

    def deep(self, extent_name: str) -> int:
        return max(32, 1 << (self.index.extents[extent_name] - 1).bit_length())

    def operand(self, part: Neighbours, extent: int, summed: int, walked: str) -> Sections:
        """Of an operand that lies in shared memory. `walked`: the index that a product sums along."""
        along = part.fast == walked
        self.shared += self.engine.nbytes(extent, summed, along)
        return {"part": part, "along": "true" if along else "false"}

    def firsts(self, sides: Mapping[First, tuple[Tile, Tile]], along_rows: bool) -> list[Sections]:
        """The first products: what they are called, and their operands."""
        found: list[Sections] = []
        high, broad = self.high(along_rows)
        for f, (left, right) in sides.items():
            across, deep = ACROSS[f.depth], self.deep(f.depth)
            own: Sections = {
                "name": f.name, "type": CUDA.type_name(accumulator(f.dtype)), "across": across, "depth": f.depth,
                "block": BLOCKS[f.depth],
                "left": self.operand(self.neighbours(left, across, "i"), high, deep, across),
                "right": self.operand(self.neighbours(right, across, "j"), broad, deep, across),
            }  # fmt: skip
            found.append(own)
        return found

    def last(self, t: Last, other: Tile | First, stored: Tile, text: str) -> Sections:
        """A last product: what of the scores it takes, its other operand, and its result."""
        channel = self.index.channel(self.fused, self.g, t)
        deep = self.deep(channel.extent_name)
        found: Sections = {
            "factor": self.tiles.names.fresh("factor"), "sums": self.tiles.names.fresh("products"),
            "text": text, "type": CUDA.type_name(accumulator(t.dtype)),
            "channel": channel.variable, "extent": channel.extent_name, "block": BLOCKS[channel.extent_name],
        }  # fmt: skip
        self.shared += self.engine.nbytes(self.own, self.turning, t.along_rows)
        if isinstance(other, First):
            found["turned"] = f"{other.name}_{'right' if t.along_rows else 'left'}"
        else:
            walked = "j" if t.along_rows else "i"
            part = self.neighbours(other, channel.variable, walked)
            found["other"] = self.operand(part, deep, self.turning, walked)
        found["stored"] = self.neighbours(stored, channel.variable, "i" if t.along_rows else "j")
        return found

    def rows_known(self, tile: Tile) -> list[tuple[str, str, str]]:
        """The sums along rows that these lines read, in registers by this name, and where a kernel before this one has
        stored them."""
        fresh = self.tiles.names.fresh
        return [(name, fresh(f"row_{name}"), self.place(tile, k, name)) for name, k in self.rows_read(tile).items()]

    def place(self, tile: Tile, index: int, name: str) -> str:
        pointer = tile.pointer("partial", index, name, self.g.gathered)
        return f"{pointer}[{'batch * rows + i' if self.index.batch.labels else 'i'}]"

    # ---- the three kinds of kernels ----------------------------------------------------------------

    def softmax(self, name: str) -> Launch:
        """The largest score of each row, and the sum of the exponentials."""
        g = self.g
        needed, score = self.needed([g.score]), g.score.aval.dtype
        sides, level = self.sides(needed), accumulator(score)
        scores = self.tiles.tile([g.score], g.labels, self.grid, self.held(needed))
        held = {g.score: Held("level", level, g.labels)}
        held[g.largest.targets[0]] = self.row(g.largest.targets[0], "shift")
        weights = self.tiles.tile([g.weight], g.labels, self.grid, held)
        weights.quick = is_half(g.weight.aval.dtype)
        self.tiles.settle()
        sections: Sections = {
            "firsts": self.firsts(sides, True),
            "score_lines": _lines(scores, score, level),
            "weight_lines": _lines(weights, g.weight.aval.dtype, g.gathered),
            "score_type": CUDA.type_name(accumulator(needed[0].dtype)),
            "level_type": CUDA.type_name(level),
            "level_lowest": CUDA.literal(level.type(-np.inf), level),
            "lowest": CUDA.literal(g.gathered.type(-np.inf), g.gathered),
            "sums": [(n, self.place(weights, k, n)) for k, n in enumerate(("largest", "total"))],
        }
        return self.launch(name, True, "softmax", sections)

    def summed(self, name: str, sums: Sequence[Apply]) -> Launch:
        """Sums along rows that need those that are known."""
        results = [s.args[0] for s in sums]
        sides, inside = self.within(results)
        self.tiles.settle()
        sections: Sections = {"firsts": self.firsts(sides, True), "lines": inside.lines()}
        sections["rows_known"] = self.rows_known(inside)
        found = []
        for k, o in enumerate(inside.lowered.outputs):
            own = self.tiles.names.fresh("sum")
            text = CUDA.convert(inside.text(o.value), o.value.dtype, self.g.gathered)
            found.append((own, self.place(inside, len(self.known) + k, own), text))
        sections["added"] = [(n, text) for n, _, text in found]
        sections["sums"] = [(n, place) for n, place, _ in found]
        return self.launch(name, True, "summed", sections)

    def multiplied(self, name: str, lasts: Sequence[Last], matrices: Sequence[Var], along_rows: bool) -> Launch:
        """The last products of blocks of rows, or of columns; and matrices that are stored."""
        weights = list(dict.fromkeys(t.weight for t in lasts))
        sides, inside = self.within([*weights, *matrices])
        kept = self.kept(inside, matrices)
        shared = list(sides) if self.engine.name == "half" else []  # the others lie in one order only
        parts = [self.part(t, shared, "accumulator") for t in lasts]
        self.tiles.settle()
        stores = [text for tile in kept for text in (*tile.lines(), *tile.stores())]
        sections: Sections = {"firsts": self.firsts(sides, along_rows), "lines": [*inside.lines(), *stores]}
        sections["rows_known"] = self.rows_known(inside)
        found = []
        for t, (other, stored) in zip(lasts, parts, strict=True):
            value = inside.lowered.outputs[weights.index(t.weight)].value
            text = CUDA.convert(CUDA.convert(inside.text(value), value.dtype, t.dtype), t.dtype, self.element)
            found.append(self.last(t, other, stored, text))
        sections["lasts"] = found
        return self.launch(name, along_rows, "multiplied", sections)

    def launch(self, name: str, along_rows: bool, kind: str, sections: Mapping[str, object]) -> Launch:
        extents, (high, broad) = self.index.extents, self.high(along_rows)
        wide, deepest = accumulator(self.element), max(map(self.deep, self.used))
        stripe = self.own * (deepest * wide.itemsize + 16) if kind == "multiplied" else 0
        shared = max(self.shared, stripe)
        if shared > MOST_SHARED:
            raise refused(self.fused, "gradients of attention with operands of such types")
        packs = any(p.loads or p.stores for p in self.parts)
        threads = 256 if self.engine.plain or not along_rows else 2 * self.own
        everything = {
            **self.engine.sections,
            **sections,
            **self.walked(),
            "kind": kind, "along_rows": along_rows, "packs": packs,
            "sum_type": self.sum_type, "stripe_type": CUDA.type_name(wide), "stripe_size": wide.itemsize,
            "sums_type": self.sums_type,
        }  # fmt: skip
        blocks = [(BLOCKS[n], self.deep(n)) for n in self.used]
        constants = (
            ("BLOCK_I", high), ("BLOCK_J", broad), *blocks, ("THREADS", threads),
            *((("STRIPE", self.own), ("WIDEST", deepest)) if kind == "multiplied" else ()), ("SHARED", shared),
        )  # fmt: skip
        grid = extents["batches"] * -(-extents["rows" if along_rows else "columns"] // self.own), 1
        numbers = [(n, extents[n]) for n in ("rows", "columns", *self.used)]
        launch = make_launch(
            self.tiles.collect(), "attention_gradient.cuda.j2", name, header(self.fused), everything, numbers, grid,
            threads, constants, 4,
        )  # fmt: skip
        return replace(launch, packed=4 if packs and all(p.packs_align for p in self.parts) else 0)

    def walked(self) -> Sections:
        tile = self.tiles.made[-1]
        if self.seen is None:
            return {"reaches": []}
        return {"reaches": self.reaches(tile), "beyond": self.beyond(tile)}

    def sums_type(self, high: str, broad: str, along_rows: bool) -> str:
        """The sums of a block of products: along rows each warp has whole ones of 16, else two share them."""
        if self.engine.plain:
            return f"Sums<{CUDA.type_name(self.element)}, {high}, {broad}>"
        return f"Sums<{high}, {broad}, 16, {broad if along_rows else f'16 * {high} * {broad} / THREADS / 8'}>"


def _lines(tile: Tile, source: DType, target: DType) -> Sections:
    return {"lines": tile.lines(), "text": CUDA.convert(tile.text(tile.value), source, target)}
