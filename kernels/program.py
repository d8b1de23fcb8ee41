"""Kernels ready to launch, and how their sources are assembled.

A `Program` is what a compiler sees: it holds no extent, so that arrays of other lengths, planned anew in microseconds,
find it compiled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..translator.ir import DType, Fused, Shape
from ..translator.ops.shapes import c_strides
from ..translator.passes.groups import spans_of
from ..translator.records import dataclass
from .source.body import DIALECTS, Body
from .source.dialects import Cuda, Triton, carrier
from .source.layout import INT32, Access, Layout, access_of, decomposition, divider, make_layout
from .source.maps import Strides
from .source.render import render
from .source.values import Load, Look, Lowered

if TYPE_CHECKING:
    from .loops.checks import Failure


@dataclass(frozen=True, slots=True)
class Program:
    """One kernel's source and how to compile it. `constants` are known to the compiler; `num_warps` is Triton's.

    `regular`: the parameters of which a launch can promise that they are multiples of 16: arrays, and numbers that the
    plan knows. Of a number of the user's nothing is known.
    """

    name: str
    language: str
    source: str
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, int], ...] = ()
    num_warps: int = 4
    regular: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument:
    """`role`: in, out, partial (arrays; `index` is the place there), scalar (an `in` by value) or number (`value`)."""

    role: str
    index: int
    dtype: DType
    value: Any = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch. `packed`: the extent that must be a multiple of `pack` for a CUDA kernel's twin, whose threads
    take so many neighbours at a time; 0: no twin.

    `reread`: bytes that it reads again from device memory, of rows that no cache is likely to hold till then.
    `choices`: numbers of warps (Triton) or threads (CUDA) that a block may as well have; none for a kernel that reads
    what it writes, which cannot be tried.
    """

    program: Program
    arguments: tuple[Argument, ...]
    grid: tuple[int, int]
    block: int
    packed: int = 0
    pack: int = 4
    reread: int = 0
    choices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The launches of one group, in order, and the arrays that hold partial results between them.

    `starts`: (result, argument) where a result begins as a copy of an argument. `failures`: what the kernel may report
    in its first partial result, one element a lane: 0, or `index * 65536 + number` of the failure. `looks`: the first
    partial result is 1 where an index was out of range: the library then says which. `zeros`: so many partial results
    begin as 0. `sorts`: after the first launch the library makes the second of these partial results the stable order
    of the first.
    """

    name: str
    launches: tuple[Launch, ...]
    partials: tuple[tuple[Shape, DType], ...] = ()
    starts: tuple[tuple[int, int], ...] = ()
    failures: tuple[Failure, ...] = ()
    looks: bool = False
    zeros: int = 0
    sorts: tuple[int, int] | None = None

    @property
    def bytes_between(self) -> int:
        """Bytes that the plan moves beyond the group's arguments and results, such as partial results."""
        partial = sum(math.prod(shape) * dtype.itemsize for shape, dtype in self.partials)
        return 2 * partial + sum(launch.reread for launch in self.launches)


# ---- addresses -----------------------------------------------------------------------------------


def prepare(fused: Fused, lowered: Lowered, language: str, strides: Mapping[int, Strides]) -> Body:
    """Addresses of all loads and stores, the layout that they allow, and the writer of the kernel's lines.

    `strides`: in elements, of argument i, and of result k by `~k`, where they are not in C order.
    """
    ndim = len(lowered.domain)
    accesses: dict[int, Access] = {}
    looked: dict[int, Strides] = {}
    for v in lowered.values:
        if isinstance(v.source, Load | Look):
            shape = fused.body.params[v.source.param].aval.shape
            own = strides.get(v.source.param, c_strides(shape))
            accesses[id(v)] = access_of(v.source.map, own, ndim)
            if isinstance(v.source, Look):
                looked[v.source.param] = own
    for k, o in enumerate(lowered.outputs):
        lowered.outputs[k] = replace(o, strides=strides.get(~k, o.strides))
    stores = [access_of(o.map, o.strides, ndim) for o in lowered.outputs]
    layout = make_layout(lowered, [*accesses.values(), *stores])
    layout.wide = layout.wide or any(fused.body.params[p].aval.size > INT32 for p in looked)
    return Body(lowered, layout, accesses, DIALECTS[language], looked)


def walks_neighbours(body: Body) -> bool:
    """Whether rows lie beside each other in memory, element by element, rather than one behind the other."""
    outer = body.layout.outer
    return bool(outer) and any(a.strides[outer[-1].members[-1]] == 1 for a in body.accesses.values())


# ---- the launch ----------------------------------------------------------------------------------


def make_launch(
    body: Body,
    template: str,
    name: str,
    heading: list[str],
    sections: Mapping[str, object],
    extents: Sequence[tuple[str, int]],
    grid: tuple[int, int],
    block: int,
    constants: tuple[tuple[str, int], ...],
    num_warps: int,
) -> Launch:
    """Render the source and list its arguments: arrays, scalars, strides and offsets, extents."""
    layout, dialect = body.layout, body.dialect
    index = np.dtype(np.int64 if layout.wide else np.int32)
    names: list[tuple[str, Argument]] = []
    for p in body.pointers.values():
        names.append((p.name, Argument(p.role, p.index, p.dtype)))
    for param, (scalar, dtype) in body.scalars.items():
        names.append((scalar, Argument("scalar", param, carrier(dtype))))
    for count, (number, dtype) in body.counts.items():
        names.append((count, Argument("number", 0, carrier(dtype), number)))
    dividers = _dividers(body, names) if _divides_each(layout, dialect) else None
    for integer, value in (*layout.integers.items(), *extents):
        names.append((integer, Argument("number", 0, index, value)))
    signature = tuple((n, _type(dialect, a)) for n, a in names)
    parameters = [n for n, _ in signature] if isinstance(dialect, Triton) else [_declare(body, n, a) for n, a in names]
    source = render(
        template,
        name=name,
        header=heading,
        parameters=parameters,
        wide=layout.wide,
        outer_indices=decomposition(layout.spaces[0], dialect.divide, dividers),
        inner_indices=decomposition(layout.spaces[1], dialect.divide) if len(layout.spaces) > 1 else [],
        dialect=dialect.name,
        **sections,
    )
    regular = tuple(n for n, a in names if a.role != "scalar" and (a.role != "number" or a.dtype.kind == "i"))
    program = Program(name, dialect.name, source, signature, constants, num_warps, regular)
    return Launch(program, tuple(a for _, a in names), grid, block)


def _divides_each(layout: Layout, dialect: Triton | Cuda) -> bool:
    """Whether a kernel takes the index of each element apart by the host's multipliers: 3 instructions a division
    instead of 20. Triton finds neighbours in what is a division of its own, and needs one for all of them.
    """
    return isinstance(dialect, Cuda) and not layout.wide and len(layout.spaces) == 1


def _dividers(body: Body, names: list[tuple[str, Argument]]) -> dict[str, str]:
    """By an extent's name the call that divides by it; the arguments that it needs are added."""
    calls: dict[str, str] = {}
    for axis in body.layout.outer[1:]:
        by = body.lowered.names.fresh(f"{axis.extent_name}_multiplier")
        shift = body.lowered.names.fresh(f"{axis.extent_name}_shift")
        multiplier, bits = divider(axis.extent)
        names.append((by, Argument("number", 0, np.dtype(np.uint32), multiplier)))
        names.append((shift, Argument("number", 0, np.dtype(np.int32), bits)))
        calls[axis.extent_name] = f"whole_quotient({{}}, {by}, {shift})"
    return calls


def _type(dialect: Triton | Cuda, a: Argument) -> str:
    """Triton's names of types; CUDA's compiler reads them in the source."""
    if not isinstance(dialect, Triton):
        return a.dtype.name
    return dialect.signature(a.dtype) if a.role in ("scalar", "number") else dialect.pointer(a.dtype)


def _declare(body: Body, name: str, a: Argument) -> str:
    if a.role == "number" and a.dtype.kind == "i":
        return f"index_t {name}"
    if a.role in ("scalar", "number"):
        return f"{body.dialect.type_name(a.dtype)} {name}"
    const = "const " if a.role == "in" else ""
    return f"{const}{body.dialect.type_name(a.dtype)}* __restrict__ {name}"


def header(fused: Fused) -> list[str]:
    """The source lines that a group covers, as they stand in the user's file."""
    seen = {span.line: f"line {span.line}: {span.text}" for span in spans_of(fused)}
    return [text for _, text in sorted(seen.items())][:24]
