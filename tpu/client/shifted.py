"""Arguments that a program reads where they lie, though NumPy's arrays lack the 64-byte alignment XLA asks for.

    x at address 16 mod 64:    %x_raw: tensor<1000002xf64>            from 16 bytes in front of x: in the same page
                               %x = stablehlo.slice %x_raw [2:1000002]

XLA fuses the slice into elementwise operations; functions of NumPy (`host_calls`) and native loops, of what they do not
write, skip what comes before. A library function of XLA's, a reduction or a loop of its own would get a copy made by
XLA, which takes longer than one made here into memory that is kept: for those the argument is copied as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import assert_never

from ...kernels.loops.native import arguments_of
from ...translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    inputs_of,
)
from ...translator.ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    At,
    Cast,
    Concatenate,
    Contract,
    ContractAttrs,
    Create,
    Cumulative,
    CumulativeAttrs,
    Elementwise,
    Fourier,
    Index,
    IndexAttrs,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Run,
    Sort,
    SortAttrs,
    indexed_shape,
)
from ...translator.records import dataclass
from ..emit.guarded import is_slow
from ..emit.moved import moved
from . import host_calls

SMALLEST = 1 << 20
"""Bytes of an argument: a copy of fewer takes less than 0.1 ms."""
NEGLIGIBLE = 1 << 16
"""Bytes of a value whose copy does not matter."""


def read_in_place(function: Function, donated: Sequence[int] = ()) -> frozenset[int]:
    """Positions of the parameters that may be given with elements in front of them."""
    params = function.body.params
    known = [k for k, p in enumerate(params) if p.aval.dtype.kind in "fciub" and k not in donated]
    large = [k for k in known if _bytes(params[k].aval) >= SMALLEST]
    if not large:
        return frozenset()
    reach = _Reach({params[k]: frozenset((k,)) for k in large}, moved(function))
    reach.block(function.body)
    return frozenset(large) - reach.copied


def _bytes(aval: Aval) -> int:
    return aval.nbytes


@dataclass
class _Reach:
    """How a large parameter is used: `whole`, as it is; `streamed`, read element by element into something else.
    `moved`: transposes that are native code, which skips what is in front.
    """

    whole: dict[Var, frozenset[int]]
    moved: frozenset[Var]
    streamed: dict[Var, frozenset[int]] = field(default_factory=dict)
    copied: frozenset[int] = frozenset()

    def block(self, block: Block) -> None:
        for s in block.statements:
            self.statement(s)

    def statement(self, s: Statement) -> None:
        match s:
            case Apply():
                self.apply(s)
            case Fused(kind="loops"):
                carried, _ = arguments_of(s)
                self._copy(a for p, a in zip(s.body.params, s.args, strict=True) if p in carried)
            case Fused():
                if any(isinstance(inner, Apply) and is_slow(inner) for inner in s.body.statements):
                    self._keep(s.args)
                for p, a in zip(s.body.params, s.args, strict=True):
                    self._rename(p, a)
                self.block(s.body)
                for t, r in zip(s.targets, s.body.results, strict=True):
                    self._rename(t, r)
            case If() | For() | While() | Raise() | Invoke():
                self._copy((*inputs_of(s), *(v for b in blocks_of(s) for v in free_variables(b))))
            case _:
                assert_never(s)

    def apply(self, s: Apply) -> None:
        """A reduction or product is fused with elementwise work before it and must find its input in one piece."""
        match s.op:
            case Elementwise() if is_slow(s):
                self._keep(s.args)
            case Elementwise() | Cast() | Concatenate():
                self._stream(s)
            case Reshape(name="reshape" | "squeeze" | "expand_dims"):
                self._rename(s.targets[0], s.args[0])
            case Reshape(name="broadcast_to"):
                self._stream(s)
            case Reshape(name="transpose") if s.targets[0] in self.moved:
                self._fuse(s.args)
            case Index():  # XLA fuses a slice into elements that are looked up, too
                self._stream(s)
            case Put() if _is_static(s):
                self._stream(s)
            case Put() | ArgReduce() | Cumulative() | Sort() if is_host_call(s):
                pass
            case Reduce() | Contract() if is_host_call(s):
                if s.args[0].aval.dtype.kind not in "iub":
                    self._fuse(s.args)
            case Contract() if _is_native(s):
                self._fuse(s.args)
            case Linalg() | Fourier():
                self._copy(s.args)
            case Reduce() if s.args[0].aval.dtype.kind in "iub":  # of these XLA writes out what is reduced
                self._copy(s.args)
            case Create():
                pass
            case _:
                self._keep(s.args)

    def _rename(self, var: Var, a: Atom) -> None:
        if isinstance(a, Var):
            self.whole[var] = self.whole.get(a, frozenset())
            self.streamed[var] = self.streamed.get(a, frozenset())

    def _stream(self, s: Apply) -> None:
        (target,) = s.targets
        if _bytes(target.aval) > NEGLIGIBLE:
            of = [m.get(a, frozenset()) for a in s.args if isinstance(a, Var) for m in (self.whole, self.streamed)]
            self.streamed[target] = frozenset().union(*of)

    def _keep(self, atoms: Iterable[Atom]) -> None:
        """Read more than once, as the branches of `emit/guarded` do, or by what is not known here."""
        self._copy(atoms)
        self._fuse(atoms)

    def _copy(self, atoms: Iterable[Atom]) -> None:
        """Read as arrays in memory, which the parameters themselves are not."""
        for a in atoms:
            if isinstance(a, Var):
                self.copied |= self.whole.get(a, frozenset())

    def _fuse(self, atoms: Iterable[Atom]) -> None:
        """Read together with the elementwise work before, by what cannot skip elements."""
        for a in atoms:
            if isinstance(a, Var):
                self.copied |= self.streamed.get(a, frozenset())


def is_host_call(s: Apply) -> bool:
    """Whether `emit` writes a call of NumPy's function for a statement of a parameter that is shifted."""
    if not host_calls.AVAILABLE:
        return False
    out, avals, attrs = s.targets[0].aval, [a.aval for a in s.args], s.attrs
    match s.op, attrs:
        case Put(), IndexAttrs(dims=dims):
            return host_calls.scatters(avals[0], dims, math.prod(indexed_shape(attrs, avals)))
        case ArgReduce(), ArgReduceAttrs(axis=axis):
            return host_calls.searches(avals[0], axis)
        case Cumulative(), CumulativeAttrs(axis=axis):
            return host_calls.accumulates(avals[0], axis, out.dtype)
        case Sort(), SortAttrs():
            return host_calls.sorts(avals[0], attrs)
        case Reduce(name=name), _:
            return host_calls.reduces(name, avals[0], out.dtype)
        case Contract(), ContractAttrs():
            known = (host_calls.multiplies, host_calls.sums_products)
            return any(takes(attrs, avals[0], avals[1], out.dtype) for takes in known)
    return False


def _is_native(s: Apply) -> bool:
    """A product of many small matrices, which skips what is in front of its operands, if they have its dtype."""
    from ..loops.native import small_product  # which most programs do without

    out = s.targets[0].aval
    return small_product(s) is not None and all(a.aval.dtype == out.dtype for a in s.args)


def _is_static(s: Apply) -> bool:
    """A region that is known: slices and elements at fixed places."""
    return isinstance(s.attrs, IndexAttrs) and all(
        (isinstance(d, Run) and isinstance(d.start, int)) or (isinstance(d, At) and isinstance(d.index, int))
        for d in s.attrs.dims
    )
