"""Tiles of a kernel around products: operands and results with the work on them, each over its own indices.

A product `x[i, k] @ w[k, j]` has three tiles: `x` and what it is made of over (i, k), `w` over (k, j), the work on the
product over (i, j). All write into one source, with one list of pointers. Triton's lines are about whole blocks, CUDA's
about one element, or one of several neighbours that a thread loads and stores together (`Neighbours`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..translator.errors import Diagnostic, UnsupportedError
from ..translator.ir import Apply, Atom, Block, DType, Fused, Shape, Var
from ..translator.ops.core import Contract, Reduce
from ..translator.ops.shapes import c_strides
from ..translator.passes.alignment import is_free
from ..translator.records import dataclass
from .source.body import DIALECTS, Body
from .source.dialects import Cuda, Triton
from .source.layout import Access, Space, access_of, decomposition, layout_over
from .source.lower import lower
from .source.maps import FIXED, Map, Strides, Term
from .source.names import Names
from .source.values import Load, Lowered, Number, Output, Position, Value

WORDS = frozenset(
    """accumulator batch block blocks channel_down first k slope score_left score_right slope_left slope_right
     blocks_i reach seen blocks_j columns depth group height i inside j k_across
    k_down rows start top total largest higher rescale shift weight score query channel channels j_down depth each
    edge fetch fetch_keys fetch_values held keys_next left left_next level levels made memory offset products right
    right_next scores shared shifts stripe sums tall turn values_next AHEAD BLOCK_C BLOCK_I BLOCK_J BLOCK_K
    KEYS_EACH LEFT_EACH Operand RIGHT_EACH SHARED STRIPE Shared Sums TALL VALUES_EACH
     WIDEST later odd scores_t send_ahead slopes stage STAGES turned""".split()  # noqa: SIM905
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
        self,
        lowered: Lowered,
        accesses: dict[int, Access],
        indices: Sequence[Index],
        axes: Sequence[Sequence[int]],
        dialect: Triton | Cuda,
        stored: bool,
    ) -> None:
        results = lowered.outputs if stored else []
        stores = [access_of(o.map, o.strides, len(lowered.domain)) for o in results]
        spaces = [(a, i.variable, i.extent_name) for a, i in zip(axes, indices, strict=True)]
        super().__init__(lowered, layout_over(lowered, [*accesses.values(), *stores], spaces), accesses, dialect)
        self.neighbour = "lane"
        self.fast = ""
        self.stored = stored
        self.out = 0  # the place of its first result among the group's
        self.guarded = frozenset(i.variable for i in indices if i.guarded)
        self.held: dict[int, Held] = {}
        self.hints: list[str] = []

    @property
    def value(self) -> Value:
        return self.lowered.outputs[0].value

    def indices(self, spaces: Sequence[Space]) -> list[str]:
        """Lines that split the kernel's indices where one index covers several axes."""
        form = "{} = {}" if self.triton else "const index_t {} = {};"
        return [form.format(v, text) for space in spaces for v, text in decomposition(space, self.dialect.divide)]

    def lines(self) -> list[str]:
        return self.indices(self.layout.spaces) + self.computed()

    def computed(self) -> list[str]:
        return [text for v in self.lowered.values for text in self.line(v)]

    def stores(self) -> list[str]:
        return [self.store(i, o) for i, o in self.results()]

    def results(self) -> list[tuple[int, Output]]:
        """What goes to memory, and its place among the group's results."""
        return list(enumerate(self.lowered.outputs, self.out)) if self.stored else []

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
            return self.dialect.rounded(held.name, held.dtype, v.dtype)
        return super().load(v, source)

    def mask(self, access: Access) -> str:
        walked = [s for s in self.layout.spaces if _walks(s, access)]
        condition = self.condition(walked)
        return f", mask={condition}, other=0" if condition else ""

    def condition(self, spaces: Sequence[Space]) -> str:
        edges = [f"{s.variable} < {s.extent_name}" for s in spaces if s.variable in self.guarded]
        return edges[0] if len(edges) == 1 else " & ".join(f"({e})" for e in edges)

    def store(self, index: int, out: Output) -> str:
        hint, access = self.hints[index], self.stored_at(out)
        pointer = self.pointer("out", index, hint, out.dtype)
        address = self.layout.address(hint, ("out", index), access, self.lowered.names)
        if not self.triton:
            packed = self.packed and self.packs(access)
            place = f"{self.output_pack(index)}.at[lane]" if packed else f"{pointer}[{address}]"
            return f"{place} = {self.text(out.value)};"
        # The address must have the shape of the block, also along axes of one element.
        flat = [s.variable for s in self.layout.spaces if s.variable in self.guarded and not _walks(s, access)]
        address = " + ".join([*([] if address == "0" else [address]), *flat])
        return f"tl.store({pointer} + {address}, {self.text(out.value)}, mask={self.condition(self.layout.spaces)})"

    def packs(self, access: Access) -> bool:
        """Whether an array is walked element by element along the index `fast`."""
        space = self.space(self.fast)
        return len(space.axes) == 1 and access.strides[space.axes[0].members[-1]] == 1

    def space(self, variable: str) -> Space:
        (found,) = [s for s in self.layout.spaces if s.variable == variable]
        return found

    def streams(self) -> list[Access]:
        """The accesses of all loads from memory, and of the stores."""
        loads = [a for v, a in self.loads()]
        return loads + [self.stored_at(o) for _, o in self.results()]

    def loads(self) -> list[tuple[Value, Access]]:
        values = [v for v in self.lowered.values if isinstance(v.source, Load) and v.source.param not in self.held]
        return [(v, self.accesses[id(v)]) for v in values if isinstance(v.source, Load)]

    def operand(self, dtype: DType, block: str, guard: str) -> str:
        """The value as an operand of `tl.dot`: a whole block of this dtype, 0 outside the extents that are summed."""
        v = self.value
        text = self.dialect.convert(self.text(v), v.dtype, dtype)
        walked = self.walked(v)
        if not (isinstance(v.source, Load) and guard.split()[0] in walked):
            text = f"tl.where({guard}, {text}, {self.dialect.literal(0, dtype)})"
        if isinstance(v.source, Number):  # two numbers of Python's are chosen between
            text += f".to({self.dialect.type_name(dtype)})"
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


@dataclass(slots=True)
class Neighbours:
    """How a thread handles neighbouring elements of a tile along its fastest index (CUDA).

    `before` is for all of them together. `loads` and `stores` are (name, type, address) of packs of them. `text`: the
    value of one of them. `copied`: it is an array's own element, with no work on it.
    """

    tile: Tile
    width: int
    text: str
    before: list[str]
    lines: list[str]
    packed: list[str]
    loads: list[tuple[str, str, str]]
    stores: list[tuple[str, str, str]]
    copied: bool

    @property
    def fast(self) -> str:
        return self.tile.fast

    @property
    def extent(self) -> str:
        """The name of the extent of the fastest index."""
        return self.tile.space(self.fast).extent_name

    @property
    def packs_align(self) -> bool:
        """Whether packs lie within rows and begin at multiples of their width, if the arrays do."""
        tile, own = self.tile, self.tile.space(self.fast)
        others = [a.members[-1] for s in tile.layout.spaces if s is not own for a in s.axes]
        packed = [a for a in tile.streams() if tile.packs(a)]
        odd = any(a.offset % self.width or any(a.strides[k] % self.width for k in others) for a in packed)
        return not odd and not (packed and own.size % self.width)


def neighbours(tile: Tile, dtype: DType, choices: Sequence[str]) -> Neighbours:
    """The lines of a tile whose fastest index is the one of `choices` along which most is read, or stored, in order.

    `dtype`: the one that the value is wanted in, 16 bytes of which are taken together.
    """

    def walked(variable: str) -> int:
        tile.fast = variable
        steps = [(a, sum(map(bool, a.strides))) for a in tile.streams() if tile.packs(a)]
        return sum(n for _, n in steps)

    tile.fast = max(choices, key=walked)  # the first of equals
    width = 16 // dtype.itemsize
    own = tile.space(tile.fast)
    before, inside = tile.indices([s for s in tile.layout.spaces if s is not own]), tile.indices([own])
    plain = [*inside, *tile.computed(), *tile.stores()]
    text = tile.dialect.convert(tile.text(tile.value), tile.value.dtype, dtype)
    tile.packed = True
    packed = [*inside, *tile.computed(), *tile.stores()]
    tile.packed = False
    loads = []
    for v, access in tile.loads():
        assert isinstance(v.source, Load)
        if tile.packs(access):
            pointer = tile.pointers["in", v.source.param].name
            loads.append(_pack(tile, f"{v.name}_pack", pointer, v.source.param, access, v.dtype))
    stores = []
    for k, o in tile.results():
        if tile.packs(tile.stored_at(o)):
            pointer = tile.pointers["out", k].name
            stores.append(_pack(tile, tile.output_pack(k), pointer, ("out", k), tile.stored_at(o), o.dtype))
    v = tile.value
    copied = not tile.stored and v.dtype == dtype and [n for n, *_ in loads] == [f"{v.name}_pack"]
    return Neighbours(tile, width, text, before, plain, packed, loads, stores, copied)


def _pack(tile: Tile, name: str, pointer: str, array: object, access: Access, dtype: DType) -> tuple[str, str, str]:
    hint = tile.hints[array[1]] if isinstance(array, tuple) else pointer.removesuffix("_ptr")
    address = tile.layout.address(hint, array, access, tile.lowered.names)
    first = re.sub(rf"\b{tile.fast}\b", "first", address)
    return name, tile.dialect.type_name(dtype), f"{pointer} + {first}"


class Tiles:
    """The tiles of one kernel, over the body of one group."""

    def __init__(
        self, group: Fused, language: str, strides: Mapping[int, Strides], scalars: frozenset[int]
    ) -> None:
        self.group = group
        self.dialect = DIALECTS[language]
        self.strides = strides
        self.scalars = scalars
        self.names = Names(set(WORDS))
        self.made: list[Tile] = []
        self.extents: dict[tuple[int, ...], str] = {}

    def tile(
        self,
        results: Sequence[Atom],
        labels: Sequence[int],
        indices: Sequence[Index],
        held: Mapping[Var, Held] | None = None,
        stored: bool = False,
    ) -> Tile:
        """The tile that makes `results`, whose axes have these labels. `held`: what it finds in registers.
        `stored`: the results go to memory."""
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
                own_strides = self.strides.get(v.source.param, c_strides(shape))
                accesses[id(v)] = access_of(v.source.map, own_strides, len(lowered.domain))
            elif isinstance(v.source, Load):
                block = list(held.values())[v.source.param - len(own)]
                if v.source.map != _in_place(block.labels, labels, lowered.domain):
                    raise self.refused("a product used along another axis than its own")
        axes = [[labels.index(n) for n in i.labels if n in labels] for i in indices]
        tile = Tile(lowered, accesses, indices, axes, self.dialect, stored)
        tile.out = self.group.body.results.index(results[0]) if stored else 0
        self.share_extents(tile, labels)
        tile.hold({len(own) + k: h for k, h in enumerate(held.values())})
        tile.hints = [t.hint for t in self.group.targets]
        if self.made:
            first = self.made[0]
            tile.pointers, tile.scalars, tile.counts = first.pointers, first.scalars, first.counts
        self.made.append(tile)
        return tile

    def share_extents(self, tile: Tile, labels: Sequence[int]) -> None:
        """One argument for the extent of the same axes, in whichever tiles an index covers them besides others."""
        for axis in (a for space in tile.layout.spaces for a in space.axes[1:]):
            own = axis.extent_name
            axis.extent_name = self.extents.setdefault(tuple(labels[m] for m in axis.members), own)
            if axis.extent_name != own:
                del tile.layout.integers[own]
                self.names.taken.discard(own)

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
    """The statements that `results` need, beyond known values and those that no statement makes, in order."""
    makers = {s.targets[0]: s for s in statements}
    found: set[Var] = set()
    todo = [r for r in results if isinstance(r, Var)]
    while todo:
        v = todo.pop()
        if v in makers and v not in found and v not in known:
            found.add(v)
            todo += [a for a in makers[v].args if isinstance(a, Var)]
    return [s for s in statements if s.targets[0] in found]


def behind(a: Atom, makers: Mapping[Var, Apply]) -> Atom:
    """The value that this one is a view of."""
    while isinstance(a, Var) and a in makers and is_free(makers[a]) and makers[a].args:
        a = makers[a].args[0]
    return a


def _in_place(own: Sequence[int], labels: Sequence[int], domain: Shape) -> Map:
    """The place of a value with these labels in a domain with those, without moving it; other axes get one element."""
    places = [labels.index(n) if n in labels else -1 for n in own]
    return tuple(FIXED if p < 0 or domain[p] == 1 else Term(p) for p in places)
