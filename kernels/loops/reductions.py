"""Reductions, running sums and small products as C++ loops."""

from __future__ import annotations

import math

import numpy as np

from ...translator.ir import Apply, DType, Shape
from ...translator.ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    ContractAttrs,
    Cumulative,
    CumulativeAttrs,
    Reduce,
    ReduceAttrs,
)
from .checks import INT
from .host import HOST, Scalar
from .stretches import LANES, Stretches, in_pairs
from .values import Array, Indices, Lazy, NotNative, Stored, address_of

MOST_MULTIPLICATIONS = 1 << 15
"""Of a product inside a loop: larger ones are the library's."""
_FOLDS = {
    "sum": "{a} + {x}",
    "prod": "{a} * {x}",
    "max": "larger({a}, {x})",
    "min": "smaller({a}, {x})",
    "any": "{a} || {x}",
    "all": "{a} && {x}",
}
RUNNING = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}
"""The reductions that running ones are of."""


class Reductions(Stretches):
    """Operations that combine the elements of an array into fewer."""

    def reduce(self, s: Apply, op: Reduce) -> Scalar | Array:
        assert isinstance(s.attrs, ReduceAttrs)
        (target,) = s.targets
        x, axes, dtype = self.array(s.args[0]), s.attrs.axes, target.aval.dtype
        if dtype.kind == "c" and op.name not in ("sum",):
            raise NotNative(f"{op.numpy} of complex numbers")
        kept = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
        reduced = tuple(n if k in axes else 1 for k, n in enumerate(x.shape))

        def total(where: Indices) -> Scalar:
            return self._folded(op, x, dtype, where, reduced, axes, target.hint)

        if not target.aval.shape:
            return total(("0",) * len(x.shape))
        out = self.fresh(target.hint, dtype, target.aval.shape)
        if 0 in out.shape:
            return out
        with self.nest(kept) as indices:
            own = indices if s.attrs.keepdims else tuple(i for k, i in enumerate(indices) if k not in axes)
            made = total(indices)
            self.line(f"{out.buffer.name}[{address_of(out.shape, own)}] = {made.text};")
        return out

    def _folded(
        self, op: Reduce, x: Array, dtype: DType, where: Indices, reduced: Shape, axes: tuple[int, ...], hint: str
    ) -> Scalar:
        """The reduction of the elements at `where`, but for the reduced axes."""
        start = HOST.literal(_start(op.name, x.dtype), dtype)
        if op.name == "sum" and dtype.kind == "f" and reduced and reduced[-1] >= 2 * LANES:
            return self._long_sum(x, dtype, where, reduced, axes, hint)
        held = self.declare(hint, start, dtype, fixed=False)
        with self.nest(reduced) as indices:
            at = tuple(i if k in axes else w for k, (i, w) in enumerate(zip(indices, where, strict=True)))
            found = self.element(x, at).as_type(dtype)
            self.line(f"{held.text} = {_FOLDS[op.name].format(a=held.text, x=found)};")
        return held

    def _long_sum(
        self, x: Array, dtype: DType, where: Indices, reduced: Shape, axes: tuple[int, ...], hint: str
    ) -> Scalar:
        """A sum by partial sums, as NumPy does it: more accurate than one by one, and vectorised."""
        kind, n = self.type_name(dtype), reduced[-1]
        parts, held = self.names.fresh(f"{hint}_parts"), self.declare(hint, "0", dtype, fixed=False)
        with self.nest((*reduced[:-1], 1)) as outer:
            at = [i if k in axes else w for k, (i, w) in enumerate(zip(outer, where, strict=True))]
            self.line(f"{kind} {parts}[{LANES}] = {{}};")
            block, lane = self.names.fresh("i"), self.names.fresh("i")
            for first, last, step in ((0, n - n % LANES, LANES), (n - n % LANES, n, n % LANES)):
                if first == last:
                    continue
                head = f"for (long long {block} = {first}; {block} < {last}; {block} += {step})"
                with self.braces(head), self.lanes(block, step, lane) as place:
                    self.line(f"{parts}[{lane}] += {self.element(x, (*at[:-1], place)).as_type(dtype)};")
            self.line(f"{held.text} += {in_pairs(parts)};")
        return held

    def arg_reduce(self, s: Apply, op: ArgReduce) -> Scalar | Array:
        assert isinstance(s.attrs, ArgReduceAttrs)
        (target,) = s.targets
        x, axis = self.array(s.args[0]), s.attrs.axis
        if x.dtype.kind == "c":
            raise NotNative(f"{op.numpy} of complex numbers")
        out = self.fresh(target.hint, target.aval.dtype, target.aval.shape)
        if 0 in out.shape:
            return out
        kept = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
        order = ">" if op.name == "argmax" else "<"
        with self.nest(kept) as indices:
            own = indices if s.attrs.keepdims else tuple(i for k, i in enumerate(indices) if k != axis)
            best = self.declare("best", self.element(x, indices).text, x.dtype, fixed=False).text
            place = self.declare("place", "0", INT, fixed=False).text
            with self.nest(tuple(n if k == axis else 1 for k, n in enumerate(x.shape))) as along:
                at = tuple(along[k] if k == axis else i for k, i in enumerate(indices))
                found = self.element(x, at).text
                test = f"{found} {order} {best}"
                if x.dtype.kind == "f":
                    test = f"{best} == {best} && ({test} || {found} != {found})"
                self.line(f"if ({test}) {best} = {found}, {place} = {along[axis]};")
            self.line(f"{out.buffer.name}[{address_of(out.shape, own)}] = {place};")
        return out

    def cumulative(self, s: Apply, op: Cumulative) -> Array:
        assert isinstance(s.attrs, CumulativeAttrs)
        (target,) = s.targets
        x, axis, dtype = self.array(s.args[0]), s.attrs.axis, target.aval.dtype
        out = self.fresh(target.hint, dtype, target.aval.shape)
        if 0 in out.shape:
            return out
        fold = RUNNING[op.name]
        start = _start(fold, dtype)
        with self.nest(tuple(1 if k == axis else n for k, n in enumerate(x.shape))) as indices:
            held = self.declare(target.hint, HOST.literal(start, dtype), dtype, fixed=False).text
            with self.nest(tuple(n if k == axis else 1 for k, n in enumerate(x.shape))) as along:
                at = tuple(along[k] if k == axis else i for k, i in enumerate(indices))
                self.line(f"{held} = {_FOLDS[fold].format(a=held, x=self.element(x, at).as_type(dtype))};")
                self.line(f"{out.buffer.name}[{address_of(out.shape, at)}] = {held};")
        return out

    def contract(self, s: Apply) -> Scalar | Array:
        """A small product: with the last axis innermost where it is the second operand's, else sum by sum."""
        assert isinstance(s.attrs, ContractAttrs)
        (target,) = s.targets
        labels, dtype = s.attrs, target.aval.dtype
        sizes = dict(zip((*labels.lhs, *labels.rhs), (*s.args[0].aval.shape, *s.args[1].aval.shape), strict=True))
        if math.prod(sizes.values()) > MOST_MULTIPLICATIONS:
            raise NotNative("a large product is a library's")
        x, y = (self.array(a) for a in s.args)
        if len(x.shape) == len(y.shape) == 1 and not labels.out:
            found = self.inner_product(x, y, dtype, target.hint)
            if found is not None:
                return found
        x, y = (v if isinstance(v, Stored) or v.view else self.stored(v, "x") for v in (x, y))
        summed = tuple(k for k in sizes if k not in labels.out)
        out = self.fresh(target.hint, dtype, target.aval.shape)
        if 0 in out.shape:
            return out

        def product(at: dict[int, str]) -> str:
            a = self.element(x, tuple("0" if n == 1 else at[k] for k, n in zip(labels.lhs, x.shape, strict=True)))
            b = self.element(y, tuple("0" if n == 1 else at[k] for k, n in zip(labels.rhs, y.shape, strict=True)))
            if dtype.kind == "b":
                return f"({a.text} && {b.text})"
            return f"{a.as_type(dtype)} * {b.as_type(dtype)}"

        def add(place: str, text: str) -> None:
            self.line(f"{place} = {place} {'||' if dtype.kind == 'b' else '+'} {text};")

        zero = HOST.literal(0, dtype)
        if labels.out and labels.out[-1] == labels.rhs[-1] and summed:
            self.fill(out, Lazy(out.shape, dtype, lambda _: Scalar(zero, dtype), frozenset()))
            order = (*labels.out[:-1], *summed, labels.out[-1])
            with self.nest(tuple(sizes[k] for k in order)) as indices:
                at = dict(zip(order, indices, strict=True))
                add(f"{out.buffer.name}[{address_of(out.shape, tuple(at[k] for k in labels.out))}]", product(at))
            return out
        with self.nest(out.shape) as indices:
            at = dict(zip(labels.out, indices, strict=True))
            held = self.declare(target.hint, zero, dtype, fixed=False).text
            with self.nest(tuple(sizes[k] for k in summed)) as along:
                add(held, product({**at, **dict(zip(summed, along, strict=True))}))
            self.line(f"{out.buffer.name}[{address_of(out.shape, indices)}] = {held};")
        return out


def _start(fold: str, dtype: DType) -> object:
    """The result of a reduction of no elements."""
    if fold not in ("max", "min"):
        return fold in ("prod", "all")
    if dtype.kind == "b":
        return fold == "min"
    if dtype.kind == "f":
        return -np.inf if fold == "max" else np.inf
    info = np.iinfo(dtype)
    return info.min if fold == "max" else info.max
