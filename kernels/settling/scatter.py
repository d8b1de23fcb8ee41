"""Scatters: stores at places that integer arrays name, `x[i] = v`, `np.add.at(x, i, v)`, histograms.

put_add    one kernel: each thread adds its element by an atomic operation; where many elements go to few places, as
           in a histogram, to sums of its block in shared memory first
           in order, where sums of floats are asked to be the same in every run (`facts.deterministic`): the
           places, a stable sort of them by the library, a kernel whose threads each add the elements of one place
put        the last of several elements for one place stays, as in NumPy: a kernel in which each element claims its
           place for the largest position, and one in which those that hold their claim are stored
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...translator.bounds import Status
from ...translator.ir import DType, Fused
from ...translator.ops.shapes import c_strides
from ..facts import deterministic
from ..program import GroupPlan, Launch, header, make_launch
from ..rows.parts import MANY_BLOCKS
from ..source.body import DIALECTS, Body
from ..source.dialects import is_half, working
from ..source.layout import INT32, Access, access_of, layout_over
from ..source.looks import choices_of, chosen_address, size_of
from ..source.lower import lower, store_of
from ..source.maps import Strides
from ..source.values import Load, Look, Lowered, Value

THREADS = 256
MOST_BLOCKS = 1 << 16
MOST_IN_BLOCK = 32 << 10  # bytes of sums that a block has of its own
FEWEST_IN_BLOCK = 1 << 15  # elements
EACH_IN_BLOCK = 16  # elements of a block for each of its sums: fewer go to memory as fast
IN_BLOCK = frozenset(("float32", "float64", "int32", "int64", "uint32", "uint64"))
TRITON_ADDS = frozenset(("float32", "float64", "int32", "int64", "uint32", "uint64"))
"""The dtypes that `tl.atomic_add` takes on all devices; others are added by the CUDA kernel."""


def plan_scatter(
    fused: Fused, language: str, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]
) -> GroupPlan:
    """The kernels of a scatter, whose result begins as a copy of its first argument."""
    store = store_of(fused)
    dtype = store.args[0].aval.dtype
    lowered = lower(fused, scalars)
    adds = store.op.name == "put_add" and dtype.kind != "b"
    if adds and dtype.kind in "fVc" and deterministic():
        return _in_order(fused, name, strides, scalars)
    size, count = store.args[0].aval.size, math.prod(lowered.domain)
    in_block = adds and dtype.name in IN_BLOCK and size * dtype.itemsize <= MOST_IN_BLOCK
    in_block = in_block and count >= max(EACH_IN_BLOCK * size, FEWEST_IN_BLOCK)
    if language == "triton" and adds and (in_block or dtype.name not in TRITON_ADDS):
        language = "cuda"
    scatter = _Scatter(fused, lowered, language, strides)
    if in_block:
        return scatter.plan(name, [scatter.in_blocks(name)])
    if store.op.name == "put_add":
        return scatter.plan(name, [scatter.launch(name, scatter.added())])
    if scatter.positions <= 1:
        return scatter.plan(name, [scatter.launch(name, scatter.stored())])
    slots = math.prod(c.size for c in scatter.place.chosen if c is not None)
    wide = np.dtype(np.int64 if scatter.positions > INT32 else np.int32)
    claims = _Scatter(fused, lower(fused, scalars), language, strides, only_places=True)
    launches = [claims.launch(f"{name}_claims", claims.claimed(wide)), scatter.launch(name, scatter.won(wide))]
    return scatter.plan(name, launches, ((slots,), wide), zeros=1)


class _Scatter:
    """The lines of one kernel. `only_places`: it runs over the positions of the integers alone."""

    def __init__(
        self,
        fused: Fused,
        lowered: Lowered,
        language: str,
        strides: Mapping[int, Strides],
        only_places: bool = False,
    ) -> None:
        assert lowered.place is not None
        self.fused, self.lowered, self.language, self.place = fused, lowered, language, lowered.place
        ndim, own = len(lowered.domain), self.place.positions
        rest = [i for i in range(ndim) if i not in own]
        accesses: dict[int, Access] = {}
        looked: dict[int, Strides] = {}
        for v in lowered.values:
            if isinstance(v.source, Load | Look):
                shape = fused.body.params[v.source.param].aval.shape
                held = strides.get(v.source.param, c_strides(shape))
                accesses[id(v)] = access_of(v.source.map, held, ndim)
                if isinstance(v.source, Look):
                    looked[v.source.param] = held
        (self.output,) = lowered.outputs
        self.strides = c_strides(self.output.aval_shape)
        self.target = access_of(self.place.map, self.strides, ndim)
        spaces = [(list(own), "position", "positions"), ([] if only_places else rest, "i", "n")]
        layout = layout_over(lowered, [*accesses.values(), self.target], spaces)
        sizes = [fused.body.params[p].aval.size for p in looked] + [self.output_size]
        sizes.append(layout.rows * layout.columns)  # one index counts them all
        layout.wide = layout.wide or any(n > INT32 for n in sizes)
        self.body = Body(lowered, layout, accesses, DIALECTS[language], looked)
        self.positions, self.name, self.written = layout.rows, fused.targets[0].hint, set[int]()
        choices = [self.place.chosen, *(v.source.chosen for v in lowered.values if isinstance(v.source, Look))]
        self.looks = any(c is not None and c.inside is Status.UNKNOWN for chosen in choices for c in chosen)
        self.found = choices_of(self.body, self.name, "place", self.place.chosen, self.place.args, "mask")

    @property
    def output_size(self) -> int:
        return math.prod(self.output.aval_shape)

    @property
    def triton(self) -> bool:
        return self.language == "triton"

    # ---- lines -------------------------------------------------------------------------------------

    def values(self, *roots: Value) -> list[str]:
        """The lines that compute the roots, as far as they were not written before."""
        needed, todo = set[int](), list(roots)
        while todo:
            v = todo.pop()
            if id(v) not in needed and id(v) not in self.written:
                needed.add(id(v))
                todo += v.args
        self.written |= needed
        return [text for v in self.lowered.values if id(v) in needed for text in self.body.line(v)]

    def places(self, tell: bool = True) -> list[str]:
        """The place of an element. With `tell`, the flag is set where that is out of bounds."""
        lines = [*self.values(*self.place.args), *self.found.lines]
        if not self.found.tests:
            return lines
        if not tell:
            inside = (" & " if self.triton else " && ").join(self.found.tests)
            return [*lines, f"inside = {inside}" if self.triton else f"const bool inside = {inside};"]
        flag = self.body.pointer("partial", 0, "outside", np.dtype(np.int32))
        if self.triton:
            return [
                *lines,
                f"inside = {' & '.join(self.found.tests)}",
                f"tl.store({flag} + tl.zeros_like(inside).to(tl.int32), 1, mask=mask & (inside == 0))",
            ]
        return [*lines, f"const bool inside = {' && '.join(self.found.tests)};", f"if (!inside) *{flag} = 1;"]

    @property
    def pointer(self) -> str:
        return self.body.pointer("out", 0, self.name, self.output.dtype)

    def address(self) -> str:
        plain = self.body.layout.address(self.name, ("out", 0), self.target, self.lowered.names)
        return chosen_address(self.body, self.name, "place", plain, self.found, self.strides)

    def slot(self) -> str:
        """The place as one number over the axes along which integers choose."""
        (_, text), *others = self.found.places
        for axis, at in others:
            text = f"{text if text.isidentifier() else f'({text})'} * {self.size(axis)} + {at}"
        return text

    def size(self, axis: int) -> str:
        chosen = self.place.chosen[axis]
        assert chosen is not None
        return size_of(self.body, self.name, "place", axis, chosen)

    @property
    def guard(self) -> str:
        """Triton's mask, or CUDA's condition in front of a statement."""
        if self.triton:
            return "mask & inside" if self.found.tests else "mask"
        return "if (inside) " if self.found.tests else ""

    def text(self) -> str:
        return self.body.text(self.output.value)

    def added(self) -> list[str]:
        lines = [*self.places(), *self.values(self.output.value)]
        address, dtype = self.address(), self.output.dtype
        if dtype.kind == "b":  # the sum of bools is their or; whoever writes writes the same
            if self.triton:
                return [*lines, f"tl.store({self.pointer} + {address}, True, mask={self.guard} & {self.text()})"]
            condition = f"inside && {self.text()}" if self.found.tests else self.text()
            return [*lines, f"if ({condition}) {self.pointer}[{address}] = true;"]
        if self.triton:
            return [
                *lines,
                f'tl.atomic_add({self.pointer} + {address}, {self.text()}, mask={self.guard}, sem="relaxed")',
            ]
        add = "add_half_at" if is_half(dtype) else "add_narrow_at" if dtype.itemsize < 4 else "add_at"
        add = "add_parts_at" if dtype.kind == "c" else add
        return [*lines, f"{self.guard}{add}({self.pointer} + {address}, {self.text()});"]

    def in_blocks(self, name: str) -> Launch:
        """Sums of each block in shared memory, then those of all blocks by atomic operations."""
        names, dtype = self.lowered.names, self.output.dtype
        lines = [*self.places(), *self.values(self.output.value)]
        sums, slots = names.fresh("block_sums"), self.body.layout.integer("slots", self.output_size, names)
        lines.append(f"{self.guard}add_in_block({sums} + {self.address()}, {self.text()});")
        sections = {
            "block_sums": sums, "slots": slots, "pointer": self.pointer, "type": self.body.dialect.type_name(dtype)
        }  # fmt: skip
        made = self.launch(name, lines, **sections)
        least = max(1, EACH_IN_BLOCK * max(self.output_size, THREADS))
        blocks = self.body.layout.rows * self.body.layout.columns // least
        shared = 1 << max(10, (self.output_size * dtype.itemsize - 1).bit_length())  # few sizes
        program = replace(made.program, constants=(("SHARED", shared),))
        return replace(made, program=program, grid=(max(1, min(blocks, MANY_BLOCKS)), 1))

    def stored(self, condition: str = "") -> list[str]:
        """The store itself. `condition`: of those whose claim holds."""
        lines = [*([] if condition else self.places()), *self.values(self.output.value)]
        address = self.address()
        if self.triton:
            mask = condition or self.guard
            return [*lines, f"tl.store({self.pointer} + {address}, {self.text()}, mask={mask})"]
        store = f"{self.pointer}[{address}] = {self.text()};"
        return [*lines, f"if ({condition}) {store}" if condition else f"{self.guard}{store}"]

    def claimed(self, wide: DType) -> list[str]:
        """Each position claims its place; the largest holds it. 0 is nobody's."""
        lines, slot = self.places(), self.slot()
        last = self.body.pointer("partial", int(self.looks), "last", wide)
        if self.triton:
            own = f"(position + 1).to(tl.{wide.name})"
            return [*lines, f'tl.atomic_max({last} + {slot}, {own}, mask={self.guard}, sem="relaxed")']
        kind = self.body.dialect.type_name(wide)
        return [*lines, f"{self.guard}atomicMax({last} + ({slot}), ({kind})position + 1);"]

    def won(self, wide: DType) -> list[str]:
        lines, slot = self.places(tell=False), self.slot()
        last = self.body.pointer("partial", int(self.looks), "last", wide)
        if self.triton:
            lines.append(f"holds = tl.load({last} + {slot}, mask={self.guard}, other=0) == position + 1")
            return [*lines, *self.stored(f"{self.guard} & holds")]
        condition = f"{last}[{slot}] == position + 1"
        return [*lines, *self.stored(f"inside && {condition}" if self.found.tests else condition)]

    # ---- launches ----------------------------------------------------------------------------------

    def launch(self, name: str, lines: list[str], template: str = "scatter", **sections: object) -> Launch:
        layout = self.body.layout
        extents = [("positions", layout.rows)]
        if layout.inner:
            extents.append(("n", layout.columns))
        size = layout.rows * layout.columns
        block = 512 if self.triton else THREADS
        blocks = -(-size // block)
        grid = (blocks if self.triton else min(blocks, MOST_BLOCKS), 1)
        made: dict[str, object] = {"lines": lines, "rest": bool(layout.inner), **sections}
        constants = (("BLOCK", block),) if self.triton else ()
        file = f"{template}.{self.language}.j2"
        return make_launch(self.body, file, name, header(self.fused), made, extents, grid, block, constants, 4)

    def plan(
        self,
        name: str,
        launches: Sequence[Launch],
        *partials: tuple[tuple[int, ...], DType],
        zeros: int = 0,
        sorts: tuple[int, int] | None = None,
    ) -> GroupPlan:
        flag = (((1,), np.dtype(np.int32)),) if self.looks else ()
        zeros += len(flag)
        begins = ((0, 0),)
        return GroupPlan(name, tuple(launches), (*flag, *partials), begins, looks=self.looks, zeros=zeros, sorts=sorts)


# ---- in order ------------------------------------------------------------------------------------


def _in_order(fused: Fused, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]) -> GroupPlan:
    """The places; the library sorts their positions by them; a thread for each first one of a place adds them all."""
    places = _Scatter(fused, lower(fused, scalars), "cuda", strides, only_places=True)
    adding = _Scatter(fused, lower(fused, scalars), "cuda", strides)
    wide, first = np.dtype(np.int64), int(places.looks)
    lines, slot = places.places(), places.slot()
    slots = places.body.pointer("partial", first, "slots", wide)
    lines.append(f"{slots}[position] = {f'inside ? {slot} : -1' if places.found.tests else slot};")
    value, dtype = adding.output.value, adding.output.dtype
    rest, total = "", adding.lowered.names.fresh("total")
    taken = []
    for k, (axis, at) in reversed(list(enumerate(adding.found.places))):
        size = adding.size(axis) if k else ""
        taken.append(f"const long long {at} = slot{rest}{f' % {size}' if k else ''};")
        rest = f"{rest} / {size}"
    real = working(dtype)
    whole = adding.body.dialect.convert
    summed = f"{whole(total, dtype, real)} + {whole(adding.text(), dtype, real)}"
    sections = {
        "slots": adding.body.pointer("partial", first, "slots", wide),
        "order": adding.body.pointer("partial", first + 1, "order", wide),
        "places": taken,
        "type": adding.body.dialect.type_name(dtype),
        "total": total,
        "summed": whole(f"({summed})" if real != dtype else summed, real, dtype),
        "target": f"{adding.pointer}[{adding.address()}]",
    }
    launches = [
        places.launch(f"{name}_places", lines),
        adding.launch(name, adding.values(value), "scatter_in_order", **sections),
    ]
    n = adding.positions
    return adding.plan(name, launches, ((n,), wide), ((n,), wide), sorts=(first, first + 1))
