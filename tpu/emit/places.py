"""Run-time indices: wrapped where negative, checked where nothing is known of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...translator.bounds import Status
from ...translator.ir import Apply
from ...translator.ops.core import IndexAttrs, Run
from ...translator.records import dataclass
from .checks import out_of_bounds
from .control import emit_branches
from .writer import BOOL, I64, Value, Writer

if TYPE_CHECKING:
    from .program import Emitter


def normalisers(e: Emitter, s: Apply, operand: int) -> tuple[OnePlace, Places]:
    """Functions that make in-range places of a statement's indices, for the axes of one of its operands."""
    return OnePlace(e, s, operand), Places(e, s, operand)


@dataclass(frozen=True, slots=True)
class OnePlace:
    """Indices of one element or of the start of a run: int64, wrapped where negative, checked where unknown."""

    emitter: Emitter
    statement: Apply
    operand: int

    def __call__(self, arg: int, axis: int, low: int, high: int) -> Value:
        e, s = self.emitter, self.statement
        w, n = e.writer, s.args[self.operand].aval.shape[axis]
        i = w.convert(e.value(s.args[arg]), I64)
        interval = e.checked.interval(s.args[arg])
        if interval.within(low, high):
            return i
        if isinstance(s.attrs, IndexAttrs) and isinstance(s.attrs.dims[axis], Run):  # its start never wraps
            message = f"a slice that starts at {{index}} leaves axis {axis} with size {n}"
            _check_inside(e, i, low, high, message, s)
            return i
        if not interval.within(-n, n - 1):
            _check_inside(e, i, -n, n - 1, out_of_bounds(axis, n), s)
        return i if interval.within(0, 2**63 - 1) else _wrapped(w, i, n)


@dataclass(frozen=True, slots=True)
class Places:
    """Arrays of indices, the same."""

    emitter: Emitter
    statement: Apply
    operand: int

    def __call__(self, arg: int, axis: int, n: int) -> Value:
        e, s = self.emitter, self.statement
        w = e.writer
        i = w.convert(e.value(s.args[arg]), I64)
        status = e.checked.status(s, s.attrs.dims[axis], n) if isinstance(s.attrs, IndexAttrs) else Status.UNKNOWN
        if status is Status.UNKNOWN:
            _check_inside(e, i, -n, n - 1, out_of_bounds(axis, n), s)
        return i if e.checked.interval(s.args[arg]).within(0, 2**63 - 1) else _wrapped(w, i, n)


def _wrapped(w: Writer, i: Value, n: int) -> Value:
    return w.select(w.compare("LT", i, w.splat(0, i)), w.add(i, w.splat(n, i)), i)


def _check_inside(e: Emitter, i: Value, low: int, high: int, message: str, s: Apply) -> None:
    """Fails when any of the indices is outside; the one reported is the largest of those."""
    if not e.checked.enabled:
        return
    w = e.writer
    outside = w.either(w.compare("LT", i, w.splat(low, i)), w.compare("GT", i, w.splat(high, i)))
    bad, worst = outside, i
    if i.shape:
        bad = w.reduce(outside, w.constant(False, (), BOOL), "or", range(len(i.shape)))
        if math.prod(i.shape) < _MANY:
            worst = _worst(w, i, outside)
        else:
            (worst,) = w.several("worst", [((), I64)])
            emit_branches(w, [worst], bad, lambda: [_worst(w, i, outside)], lambda: [w.integer(0)])
    e.fail_where(bad, worst, IndexError, message, s)


_MANY = 4_096  # indices: of more, the one to report is looked for only when there is one


def _worst(w: Writer, i: Value, outside: Value) -> Value:
    least = int(np.iinfo(np.int64).min)
    return w.reduce(w.select(outside, i, w.splat(least, i)), w.integer(least), "maximum", range(len(i.shape)))
