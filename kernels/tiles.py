"""Blocks of a kernel around products (Triton): operands and results with the work on them, each over its own indices.

A product `x[i, k] @ w[k, j]` has three tiles: `x` and what it is made of over (i, k), `w` over (k, j), the work on the
product over (i, j). All write into one source, with one list of pointers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..translator.errors import Diagnostic, UnsupportedError
from ..translator.ir import Apply, Atom, Block, DType, Fused, Shape, Var
from ..translator.ops.core import Contract, Reduce
from ..translator.records import dataclass
from .body import Body
from .dialects import TRITON
from .layout import Access, Space, Strides, access_of, contiguous, decomposition, layout_over
from .lower import FIXED, Load, Lowered, Map, Names, Output, Position, Term, Value, lower

WORDS = frozenset(
    """accumulator batch block blocks_i blocks_j columns depth group height i inside j k_across k_down rows start top
    total largest higher rescale shift weight score query channel channels j_down""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Index:
    """An index of the kernel: it walks the axes with these labels. An unguarded one never leaves its extent."""

    labels: tuple[int, ...]
    variable: str
    extent_name: str
    guarded: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """A value that the kernel has in registers: the name and dtype of the block, the labels of the value's axes."""

    name: str
    dtype: DType
    labels: tuple[int, ...]


class Tile(Body):
    """The lines of one tile."""

    def __init__(
        self, lowered: Lowered, accesses: dict[int, Access], indices: Sequence[Index], axes: Sequence[Sequence[int]]
    ) -> None:
        stores = [access_of(o.map, contiguous(o.aval_shape), len(lowered.domain)) for o in lowered.outputs]
        spaces = [(a, i.variable, i.extent_name) for a, i in zip(axes, indices, strict=True)]
        super().__init__(lowered, layout_over(lowered, [*accesses.values(), *stores], spaces), accesses, TRITON)
        self.guarded = frozenset(i.variable for i in indices if i.guarded)
        self.held: dict[int, Held] = {}
        self.hints: list[str] = []

    @property
    def value(self) -> Value:
        return self.lowered.outputs[0].value

    def indices(self) -> list[str]:
        """What takes the kernel's indices apart where an index walks several axes."""
        return [f"{v} = {text}" for space in self.layout.spaces for v, text in decomposition(space, "//")]

    def lines(self) -> list[str]:
        return self.indices() + [text for v in self.lowered.values for text in self.line(v)]

    def stores(self) -> list[str]:
        return [self.store(i, o) for i, o in enumerate(self.lowered.outputs)]

    def hold(self, held: dict[int, Held]) -> None:
        """What the kernel has of the value's dtype needs no name of its own."""
        self.held = held
        for v in self.lowered.values:
            if isinstance(v.source, Load) and v.source.param in held and held[v.source.param].dtype == v.dtype:
                v.name = held[v.source.param].name

    def line(self, v: Value) -> list[str]:
        if isinstance(v.source, Load) and v.source.param in self.held and v.name == self.held[v.source.param].name:
            return []
        return super().line(v)

    def load(self, v: Value, source: Load) -> str:
        if source.param in self.held:
            held = self.held[source.param]
            return self.dialect.convert(held.name, held.dtype, v.dtype)
        return super().load(v, source)

    def mask(self, access: Access) -> str:
        walked = [s for s in self.layout.spaces if _walks(s, access)]
        condition = self.condition(walked)
        return f", mask={condition}, other=0" if condition else ""

    def condition(self, spaces: Sequence[Space]) -> str:
        edges = [f"{s.variable} < {s.extent_name}" for s in spaces if s.variable in self.guarded]
        return edges[0] if len(edges) == 1 else " & ".join(f"({e})" for e in edges)

    def store(self, index: int, out: Output) -> str:
        hint = self.hints[index]
        pointer = self.pointer("out", index, hint, out.dtype)
        access = access_of(out.map, contiguous(out.aval_shape), len(self.lowered.domain))
        address = self.layout.address(hint, ("out", index), access, self.lowered.names)
        # The address must have the shape of the block, also along axes of one element.
        flat = [s.variable for s in self.layout.spaces if s.variable in self.guarded and not _walks(s, access)]
        address = " + ".join([*([] if address == "0" else [address]), *flat])
        return f"tl.store({pointer} + {address}, {self.text(out.value)}, mask={self.condition(self.layout.spaces)})"

    def operand(self, dtype: DType, block: str, guard: str) -> str:
        """The value as an operand of `tl.dot`: a whole block of this dtype, 0 outside the extents that are summed."""
        v = self.value
        text = self.dialect.convert(self.text(v), v.dtype, dtype)
        walked = self.walked(v)
        if not (isinstance(v.source, Load) and guard.split()[0] in walked):
            text = f"tl.where({guard}, {text}, {self.dialect.literal(0, dtype)})"
        return text if self.guarded <= walked else f"tl.broadcast_to({text}, {block})"

    def walked(self, v: Value) -> frozenset[str]:
        """The indices along which a value varies."""
        if isinstance(v.source, Load) and v.source.param not in self.held:
            return frozenset(s.variable for s in self.layout.spaces if _walks(s, self.accesses[id(v)]))
        if isinstance(v.source, Load):
            return self.guarded
        if isinstance(v.source, Position):
            axis = v.source.term.axis
            return frozenset(s.variable for s in self.layout.spaces if any(axis in a.members for a in s.axes))
        return frozenset().union(*map(self.walked, v.args))


def _walks(space: Space, access: Access) -> bool:
    return any(access.strides[a.members[-1]] for a in space.axes)


class Tiles:
    """The tiles of one kernel, over the body of one group."""

    def __init__(self, group: Fused, strides: Mapping[int, Strides], scalars: frozenset[int]) -> None:
        self.group = group
        self.strides = strides
        self.scalars = scalars
        self.names = Names(set(WORDS))
        self.made: list[Tile] = []

    def tile(
        self,
        results: Sequence[Atom],
        labels: Sequence[int],
        indices: Sequence[Index],
        held: Mapping[Var, Held] | None = None,
    ) -> Tile:
        """The tile that makes `results`, whose axes have these labels. `held`: what it finds in registers."""
        held = held or {}
        own = self.group.body.params
        params = (*own, *held)
        if any(not isinstance(r, Var) or r.aval.shape != results[0].aval.shape for r in results):
            raise self.refused("results of several shapes from one product")
        needed = statements_for(applies(self.group), results, frozenset(held))
        if any(isinstance(s.op, Reduce | Contract) for s in needed):
            raise self.refused("another reduction beside this product")
        targets = tuple(Var(r.hint, r.aval) for r in results if isinstance(r, Var))
        piece = Fused(targets, params, Block(params, tuple(needed), tuple(results)), "pointwise", self.group.span)
        lowered = lower(piece, self.scalars, self.names)
        accesses: dict[int, Access] = {}
        for v in lowered.values:
            if isinstance(v.source, Load) and v.source.param < len(own):
                shape = own[v.source.param].aval.shape
                own_strides = self.strides.get(v.source.param, contiguous(shape))
                accesses[id(v)] = access_of(v.source.map, own_strides, len(lowered.domain))
            elif isinstance(v.source, Load):
                block = list(held.values())[v.source.param - len(own)]
                if v.source.map != _in_place(block.labels, labels, lowered.domain):
                    raise self.refused("a product used along another axis than its own")
        axes = [[labels.index(n) for n in i.labels if n in labels] for i in indices]
        tile = Tile(lowered, accesses, indices, axes)
        tile.hold({len(own) + k: h for k, h in enumerate(held.values())})
        tile.hints = [t.hint for t in self.group.targets]
        if self.made:
            first = self.made[0]
            tile.pointers, tile.scalars, tile.counts = first.pointers, first.scalars, first.counts
        self.made.append(tile)
        return tile

    def settle(self) -> None:
        """One width of indices for all tiles; asked before lines are written."""
        wide = any(t.layout.wide for t in self.made)
        for t in self.made:
            t.layout.wide = wide

    def collect(self) -> Tile:
        """The last tile, with the integer arguments of all."""
        last = self.made[-1]
        for t in self.made[:-1]:
            last.layout.integers.update(t.layout.integers)
        return last

    def refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(Diagnostic(f"kernels do not support {what}", self.group.span))


def applies(fused: Fused) -> list[Apply]:
    return [s for s in fused.body.statements if isinstance(s, Apply)]


def statements_for(statements: Sequence[Apply], results: Sequence[Atom], known: frozenset[Var]) -> list[Apply]:
    """Those that `results` need beyond what is known and what none of the statements makes, in order."""
    makers = {s.targets[0]: s for s in statements}
    found: set[Var] = set()
    todo = [r for r in results if isinstance(r, Var)]
    while todo:
        v = todo.pop()
        if v in makers and v not in found and v not in known:
            found.add(v)
            todo += [a for a in makers[v].args if isinstance(a, Var)]
    return [s for s in statements if s.targets[0] in found]


def _in_place(own: Sequence[int], labels: Sequence[int], domain: Shape) -> Map:
    """Where a value with these labels lies in a domain with those, nothing moved; it has one element along others."""
    places = [labels.index(n) if n in labels else -1 for n in own]
    return tuple(FIXED if p < 0 or domain[p] == 1 else Term(p) for p in places)
