"""Online reductions: those that depend on other reductions of the same row are gathered in the same walk.

    m = np.max(x); t = np.sum(np.exp(x - m))     the largest x so far, and the sum of exponentials against it
    c = np.mean(x); v = np.sum((x - c) ** 2)     how many x there were, their mean, the squares around that mean

A row that no block can keep is so read once for both. The recurrences are those of `exponentials` and `spread`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...translator.records import dataclass
from ..source.values import Call, Fold, Scan, Value

if TYPE_CHECKING:
    from ..source.body import Body, Pass


@dataclass(frozen=True, slots=True)
class OnlineSum:
    """A sum of exp(x - largest) along a row, that can be gathered while the largest x is."""

    x: Value
    largest: Value
    total: Value

    @property
    def folds(self) -> tuple[Value, ...]:
        """The reductions that are written with it."""
        return self.largest, self.total


@dataclass(frozen=True, slots=True)
class OnlineSpread:
    """A sum of (x - center) ** 2 along a row, that can be gathered before the center is known."""

    x: Value
    center: Value
    total: Value

    @property
    def folds(self) -> tuple[Value, ...]:
        return (self.total,)


Online = OnlineSum | OnlineSpread


def online_of(values: Sequence[Value]) -> list[Online]:
    """The reductions that need no walk of their own; the stages of all values are those without it.

    Of float32 and float64: in half precision each term is rounded, against the final maximum or mean.
    """
    if any(isinstance(v.source, Scan) for v in values):
        return []
    found: list[Online] = []
    taken: set[int] = set()
    for v in values:
        o = _online(v)
        if o is not None and taken.isdisjoint(map(id, o.folds)):
            taken.update(map(id, o.folds))
            found.append(o)
    totals = {id(o.total): o for o in found}
    for v in values:
        match totals.get(id(v)):
            case OnlineSum(largest=largest):
                v.stage = largest.stage
            case OnlineSpread(x=x, center=center):
                v.stage = max(x.stage + 1, center.stage)
            case None:
                v.stage = max((a.stage for a in v.args), default=0) + isinstance(v.source, Fold)
    return found


def _online(v: Value) -> Online | None:
    if not (isinstance(v.source, Fold) and v.source.op.name == "sum" and v.dtype in (np.float32, np.float64)):
        return None
    exponent = _argument_of(v.args[0], "exp")
    difference = _squared(v.args[0]) if exponent is None else exponent
    if difference is None or not isinstance(difference.source, Call) or difference.source.op.name != "subtract":
        return None
    x, other = difference.args
    if {x.dtype, other.dtype, difference.dtype, v.args[0].dtype} != {v.dtype}:
        return None
    if exponent is None:
        return OnlineSpread(x, other, v) if x.along and not other.along and other.stage > x.stage else None
    is_largest = isinstance(other.source, Fold) and other.source.op.name == "max" and other.args[0] is x
    return OnlineSum(x, other, v) if is_largest else None


def _argument_of(v: Value, name: str) -> Value | None:
    return v.args[0] if isinstance(v.source, Call) and v.source.op.name == name else None


def _squared(v: Value) -> Value | None:
    """The d of d * d."""
    product = isinstance(v.source, Call) and v.source.op.name == "multiply" and v.args[0] is v.args[1]
    return v.args[0] if product else _argument_of(v, "square")


def gather(body: Body, step: Pass, o: Online) -> list[str]:
    """Adds the lines to the walk. The result is what gives the total, at its own stage, where the walk has not."""
    if isinstance(o, OnlineSum):
        _against_maximum(body, step, o)
        return []
    return _around_mean(body, step, o)


def _against_maximum(body: Body, step: Pass, o: OnlineSum) -> None:
    """The largest x and the sum of exp(x - largest) in one walk: what came before is scaled."""
    names, dialect, dtype = body.lowered.names, body.dialect, o.x.dtype
    step.gathering += 2 * dtype.itemsize
    top, total = names.fresh(f"{o.largest.name}_sofar"), names.fresh(f"{o.total.name}_sofar")
    higher, x, kind = names.fresh(f"{o.largest.name}_higher"), body.text(o.x), dialect.type_name(dtype)
    lowest, zero = dialect.literal(dtype.type(-np.inf), dtype), dialect.literal(dtype.type(0), dtype)
    # Of infinite or NaN maxima NumPy's sum is NaN: so is the difference.
    if body.triton:
        full = "tl.full([ROWS, BLOCK], {}, {})"
        step.before += [f"{top} = {full.format(lowest, kind)}", f"{total} = {full.format(zero, kind)}"]
        step.inside += [
            f"{higher} = tl.where(mask, larger_of({top}, {x}), {top})",
            f"{total} = {total} * exp_against({top}, {higher}) + tl.where(mask, exp_against({x}, {higher}), 0.0)",
            f"{top} = {higher}",
        ]
        whole = body.folded("max", top)
        scaled = body.folded("sum", f"{total} * exp_against({top}, {o.largest.name})")
    else:
        step.before += [f"{kind} {top} = {lowest};", f"{kind} {total} = {zero};"]
        step.inside += [
            f"const {kind} {higher} = Largest()({top}, {x});",
            f"{total} = {total} * exp_against({top}, {higher}) + exp_against({x}, {higher});",
            f"{top} = {higher};",
        ]
        whole = f"block_fold<Largest, {kind}>({top}, {lowest})"
        scaled = f"block_fold<Sum, {kind}>({total} * exp_against({top}, {o.largest.name}), {zero})"
    difference = f"({o.largest.name} - {o.largest.name})"
    step.after += [body.declare(o.largest, whole), body.declare(o.total, f"{scaled} + {difference}")]


def _around_mean(body: Body, step: Pass, o: OnlineSpread) -> list[str]:
    """How many x each thread has seen, their mean and the squares around it; then the squares around the row's mean,
    and at last those around the center, which mostly is that mean, rounded otherwise."""
    x, kind, zero = body.text(o.x), body.dialect.type_name(o.x.dtype), body.dialect.literal(0, o.x.dtype)
    name, names = o.x.name, body.lowered.names
    count, mean, squares, off = (names.fresh(f"{name}_{part}") for part in ("count", "mean", "squares", "off"))
    middle, around, center = names.fresh(f"{name}_middle"), names.fresh(f"{name}_around"), body.text(o.center)
    step.gathering += 2 * o.x.dtype.itemsize
    if body.triton:
        step.before += [f"{part} = tl.zeros([ROWS, BLOCK], {kind})" for part in (mean, squares)]
        step.inside += [
            f"{count} = tl.zeros([1, 1], {kind}) + (start // BLOCK + 1)",
            f"{off} = {x} - {mean}",
            f"{mean} = tl.where(mask, {mean} + {off} * (1.0 / {count}), {mean})",
            f"{squares} = tl.where(mask, {squares} + {off} * ({x} - {mean}), {squares})",
        ]
        step.after += [
            f"{count} = tl.zeros([1, BLOCK], {kind}) + (columns + BLOCK - 1 - tl.arange(0, BLOCK)[None, :]) // BLOCK",
            f"{middle} = {body.folded('sum', f'{count} * {mean}')} / columns",
            f"{off} = {mean} - {middle}",
            f"{around} = {body.folded('sum', f'{squares} + {count} * {off} * {off}')}",
        ]
    else:
        step.before += [f"{kind} {part} = {zero};" for part in (count, mean, squares)]
        step.inside += [
            f"{count} += 1;",
            f"const {kind} {off} = {x} - {mean};",
            f"{mean} += {off} * (1 / {count});",
            f"{squares} += {off} * ({x} - {mean});",
        ]
        apart = f"({mean} - {middle})"
        folds = [f"{count} * {mean}", f"{squares} + {count} * {apart} * {apart}"]
        shares, apart = (f"block_fold<Sum, {kind}>({text}, {zero})" for text in folds)
        step.after += [f"const {kind} {middle} = {shares} / columns;", f"const {kind} {around} = {apart};"]
    return [body.declare(o.total, f"{around} + columns * ({middle} - {center}) * ({middle} - {center})")]
