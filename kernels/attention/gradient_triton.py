"""The kernels of attention's gradient in Triton: see `attention/gradient`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...translator.ir import Apply, DType, Fused, Var
from ..facts import precision
from ..program import Launch, header, make_launch
from ..source.dialects import accumulator, is_half
from ..source.values import Value
from ..tiles import Held, Tile, Tiles
from .causal import Beyond
from .gradient_kernel import GradientKernel
from .gradient_pattern import ACROSS, First, Gradient, Indices, Last

BLOCKS = {"depth": "BLOCK_K", "channels": "BLOCK_C"}


class TritonGradient(GradientKernel):
    """A kernel and its lines: those before the walk, in it, and behind it."""

    def __init__(
        self, fused: Fused, g: Gradient, index: Indices, tiles: Tiles, known: Mapping[Var, int], seen: Beyond | None
    ) -> None:
        super().__init__(fused, g, index, tiles, known, seen)
        self.size = 64 if g.half else 32 if g.gathered.itemsize == 4 else 16
        self.operands: dict[tuple[First, bool], str] = {}  # of the first products, left and right: their names
        self.before: list[str] = []
        self.walk: list[str] = []
        self.after: list[str] = []

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
        places = {name: self.place(tile, k, name) for name, k in self.rows_read(tile).items()}
        return [f"{name} = tl.load({place}, mask=i < rows, other=0)" for name, place in places.items()]

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
        sides, inside = self.within(results)
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

    def multiplied(self, name: str, lasts: Sequence[Last], matrices: Sequence[Var], along_rows: bool) -> Launch:
        """The last products of blocks of rows, or of columns; and matrices that are stored."""
        weights = list(dict.fromkeys(t.weight for t in lasts))
        sides, inside = self.within([*weights, *matrices])
        kept = self.kept(inside, matrices)
        parts = []
        for t in lasts:
            own = self.tiles.names.fresh(t.target.hint)
            parts.append((own, *self.part(t, list(sides), own)))
        self.tiles.settle()
        (self.before if along_rows else self.walk).extend(self.loaded(inside))
        self.multiply(sides, along_rows)
        self.walk += [*inside.lines(), *(text for tile in kept for text in (*tile.lines(), *tile.stores()))]
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
            self.after += [*stored.lines(), *stored.stores()]
        return self.launch(name, along_rows)

    def other(self, t: Last, other: Tile | First, along_rows: bool) -> str:
        """The operand beside the matrix."""
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
        reaches, beyond = [f"tl.load({reach}{batch})" for reach in self.reaches(tile)], self.beyond(tile)
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
