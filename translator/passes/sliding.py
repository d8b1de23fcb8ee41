"""Sums over sliding windows, taken slice by slice of the array: the windows themselves are never built.

    before                                        after
    t = x[np.arange(98)[:, None] + np.arange(3)]  y = x[:98] + x[1:99] + x[2:]
    y = np.sum(t, axis=1)

Other reductions likewise, products with the weights of a window, and what windows are added up to in a derivative.
Long windows are gone through in a loop. This is for XLA: NumPy's windows are views, those of a GPU part of the kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Const, For, Function, Range, Statement, Var, const, walk
from ..ops.core import (
    At,
    AxesAttrs,
    Cast,
    Contract,
    ContractAttrs,
    CreateAttrs,
    Dim,
    Dyn,
    Elementwise,
    Gather,
    IndexAttrs,
    Put,
    Reduce,
    ReduceAttrs,
    Run,
    ShapeAttrs,
)
from ..progressions import Made, Windows, windows_read_by
from ..records import dataclass
from ..remake import remake
from ..rewrite import prune, spelled_out

LEAST = 1 << 12  # elements of the result
MOST = 64  # places of a window that are written out
TOGETHER = 8  # places along an axis that one iteration of a loop goes through
WRITTEN = 512  # operations that are written out

Place = int | Atom  # in a window
COMBINE: dict[str, Elementwise] = {
    "sum": ops.ADD,
    "prod": ops.MULTIPLY,
    "max": ops.MAXIMUM,
    "min": ops.MINIMUM,
    "any": ops.LOGICAL_OR,
    "all": ops.LOGICAL_AND,
}


def sliding(function: Function) -> Function:
    """Apply to every such sum; the same function object where there is none."""
    while (made := _once(function)) is not function:
        function = made
    return function


def _once(function: Function) -> Function:
    """One round of the pass. What it makes of a sum over windows may be read as windows of another axis in turn."""
    changed = False
    makers = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    if not any(windows_read_by(makers.get, s) for s in makers.values() if s.op in (ops.INDEX, ops.PUT_ADD)):
        return function

    def written(s: Apply) -> Sequence[Statement]:
        nonlocal changed
        new = _written(makers.get, s)
        changed |= new is not None
        return new or (s,)

    body = spelled_out(function.body, written)
    return replace(function, body=prune(body)) if changed else function


@dataclass(frozen=True, slots=True)
class _Sum:
    """What is added up: `term` for each place along axes of these sizes, by `combine`, from `start` if there is one;
    `finish` makes the result of it."""

    sizes: tuple[int, ...]
    term: Callable[[Builder, Sequence[Place]], Atom | None]
    combine: Callable[[Builder, Atom | None, Sequence[Place], Atom], Atom]
    start: Atom | None
    finish: Callable[[Builder, Atom], Atom]


def _written(made: Made, s: Apply) -> Sequence[Statement] | None:
    match s.op, s.attrs:
        case Reduce(), ReduceAttrs():
            found = _reduction(made, s, s.op, s.attrs)
        case Contract(), ContractAttrs():
            found = _product(made, s, s.attrs) or _product(made, _swapped(s, s.attrs), _turned(s.attrs))
        case Put(), _ if s.op is ops.PUT_ADD:
            found = _addition(made, s)
        case _:
            return None
    if found is None:
        return None
    b = Builder(s.span)
    whole = _summed(b, found)
    if whole is None:
        return None
    result = found.finish(b, whole)
    last = b.statements[-1]
    assert result.aval == s.targets[0].aval and isinstance(last, Apply | For) and last.targets == (result,)
    return (*b.statements[:-1], replace(last, targets=s.targets))


def _summed(b: Builder, found: _Sum) -> Atom | None:
    """The terms added up; those of long windows in a loop along their longest axis."""
    first = found.term(Builder(b.span), (0,) * len(found.sizes))
    if first is None:
        return None
    trial = Builder(b.span)
    found.term(trial, (0,) * len(found.sizes))
    places = math.prod(found.sizes)
    if places <= MOST and places * len(trial.statements) <= WRITTEN:
        return _added(b, found, found.start, [range(n) for n in found.sizes])
    long = max(range(len(found.sizes)), key=found.sizes.__getitem__)
    others = math.prod(n for k, n in enumerate(found.sizes) if k != long)
    step = min(TOGETHER, MOST // others)
    if not step:
        return None
    whole = found.sizes[long] - found.sizes[long] % step
    ranges = [range(n) for n in found.sizes]
    so_far = _added(b, found, found.start, _with(ranges, long, range(whole, found.sizes[long])))
    if so_far is None:
        so_far = _added(b, found, found.start, _with(ranges, long, range(step)))
        start = step
    else:
        start = 0
    assert so_far is not None
    at, carried = Var("c", Aval((), np.dtype(np.int64), weak=True)), Var("s", so_far.aval)
    inner = Builder(b.span)
    together = [at, *(make.add(inner, at, u) for u in range(1, step))]
    after = _added(inner, found, carried, _with(ranges, long, together))
    assert after is not None
    target = Var("s", so_far.aval)
    body = inner.block((at, carried), (after,))
    b.append(For((target,), Range(const(start), const(whole), const(step)), (so_far,), body, span=b.span))
    return target


def _with(ranges: Sequence[Sequence[Place]], axis: int, places: Sequence[Place]) -> list[Sequence[Place]]:
    return [places if k == axis else r for k, r in enumerate(ranges)]


def _added(b: Builder, found: _Sum, so_far: Atom | None, ranges: Sequence[Sequence[Place]]) -> Atom | None:
    for places in itertools.product(*ranges):
        term = found.term(b, places)
        assert term is not None
        so_far = found.combine(b, so_far, places, term)
    return so_far


# ---- what is added up ----------------------------------------------------------------------------


def _reduction(made: Made, s: Apply, op: Reduce, attrs: ReduceAttrs) -> _Sum | None:
    (x,), out = s.args, s.targets[0].aval
    axes = sorted(_axes_of_windows(made, x) & set(attrs.axes))
    half = out.dtype.itemsize == 2 and out.dtype.kind not in "iu"  # they are added up in float32
    if op.name not in COMBINE or half or not _is_worth(axes, x.aval):
        return None
    rest = [a - sum(w < a for w in axes) for a in attrs.axes if a not in axes]

    def term(b: Builder, places: Sequence[Place]) -> Atom | None:
        part = _Windowed(b, made).at(x, dict(zip(axes, places, strict=True)))
        return part if op.name in ("max", "min") else make.astype(b, part, out.dtype)

    def combine(b: Builder, so_far: Atom | None, places: Sequence[Place], part: Atom) -> Atom:
        return part if so_far is None else make.elementwise(b, COMBINE[op.name], so_far, part)

    def finish(b: Builder, whole: Atom) -> Atom:
        if rest:
            whole = make.reduce(b, op, whole, rest)
        return make.expand_dims(b, whole, attrs.axes) if attrs.keepdims else whole

    return _Sum(tuple(x.aval.shape[a] for a in axes), term, combine, None, finish)


def _turned(attrs: ContractAttrs) -> ContractAttrs:
    return ContractAttrs(attrs.rhs, attrs.lhs, attrs.out)


def _swapped(s: Apply, attrs: ContractAttrs) -> Apply:
    return replace(s, args=s.args[::-1], attrs=_turned(attrs))


def _product(made: Made, s: Apply, attrs: ContractAttrs) -> _Sum | None:
    """The windows of the first operand times what has no axes of its own."""
    (x, y), out = s.args, s.targets[0].aval
    lhs, rhs = attrs.lhs, attrs.rhs
    known = _axes_of_windows(made, x)
    axes = [i for i, label in enumerate(lhs) if i in known and label not in attrs.out]
    own = any(label not in lhs for label in rhs)
    if own or not _is_worth(axes, x.aval) or out.dtype.kind not in "fc" or out.dtype.itemsize < 4:
        return None
    gone = [lhs[i] for i in axes]
    left = [label for label in lhs if label not in gone]
    right = [label for label in rhs if label not in gone]
    rest = [i for i, label in enumerate(left) if label not in attrs.out]

    def term(b: Builder, places: Sequence[Place]) -> Atom:
        of = dict(zip(gone, places, strict=True))
        part = _Windowed(b, made).at(x, dict(zip(axes, places, strict=True)))
        weight = _Windowed(b, made).at(y, {i: of[label] for i, label in enumerate(rhs) if label in of})
        weight = make.transpose(b, weight, sorted(range(len(right)), key=lambda i: left.index(right[i])))
        weight = make.expand_dims(b, weight, [i for i, label in enumerate(left) if label not in right])
        return make.multiply(b, make.astype(b, part, out.dtype), make.astype(b, weight, out.dtype))

    def combine(b: Builder, so_far: Atom | None, places: Sequence[Place], part: Atom) -> Atom:
        return part if so_far is None else make.add(b, so_far, part)

    def finish(b: Builder, whole: Atom) -> Atom:
        kept = [label for label in left if label in attrs.out]
        summed = make.sum(b, whole, rest) if rest else whole
        return make.transpose(b, summed, [kept.index(label) for label in attrs.out])

    return _Sum(tuple(x.aval.shape[a] for a in axes), term, combine, None, finish)


def _addition(made: Made, s: Apply) -> _Sum | None:
    """An addition to each place of an array, done slice by slice."""
    windows = windows_read_by(made, s)
    base, value = s.args[:2]
    if windows is None or windows.starts.step < 0 or value.aval.size < LEAST:
        return None
    assert isinstance(s.attrs, IndexAttrs)
    g = windows.axis
    shape = (*base.aval.shape[:g], len(windows.starts), len(windows.within), *base.aval.shape[g + 1 :])
    value_axis = g + 1 - (len(shape) - value.aval.ndim)

    def term(b: Builder, places: Sequence[Place]) -> Atom:
        if value_axis < 0:
            return value
        place = 0 if value.aval.shape[value_axis] == 1 else places[0]
        return _Windowed(b, made, deep=True).at(value, {value_axis: place})

    def combine(b: Builder, so_far: Atom | None, places: Sequence[Place], part: Atom) -> Atom:
        assert so_far is not None
        dim, dynamic = _slice_of(b, windows, places[0])
        return make.put_add(b, so_far, part, _with_dim(so_far.aval.shape, g, dim), dynamic)

    return _Sum((len(windows.within),), term, combine, base, lambda b, whole: whole)


def _is_worth(axes: Sequence[int], x: Aval) -> bool:
    places = math.prod(x.shape[a] for a in axes)
    return places > 1 and x.size // places >= max(LEAST, places)


# ---- windows at one place ------------------------------------------------------------------------


def _axes_of_windows(made: Made, a: Atom) -> set[int]:
    """The axes along which a value goes through windows."""
    s = made(a) if isinstance(a, Var) else None
    if s is None:
        return set()
    if s.op is ops.INDEX:
        windows = windows_read_by(made, s)
        if windows is None or windows.starts.step < 0:
            return set()
        g = windows.axis
        return {i + (i > g) for i in _axes_of_windows(made, s.args[0]) if i != g} | {g + 1}
    match s.op, s.attrs:
        case ops.TRANSPOSE, AxesAttrs(axes=order):
            return {order.index(i) for i in _axes_of_windows(made, s.args[0])}
        case ops.EXPAND_DIMS, AxesAttrs(axes=new):
            kept = [i for i in range(s.targets[0].aval.ndim) if i not in new]
            return {kept[i] for i in _axes_of_windows(made, s.args[0])}
        case (Elementwise() | Cast()), _:
            found: set[int] = set()
            for x in s.args:
                shift = s.targets[0].aval.ndim - x.aval.ndim
                found |= {i + shift for i in _axes_of_windows(made, x) if x.aval.shape[i] != 1}
            return found
    return set()


class _Windowed:
    """Values at one place of their windows, made in `b`. `deep`: what is no window is so, too."""

    def __init__(self, b: Builder, made: Made, deep: bool = False) -> None:
        self.b, self.made, self.deep = b, made, deep
        self.done: dict[tuple[Var, tuple[tuple[int, Place], ...]], Atom] = {}

    def at(self, a: Atom, places: Mapping[int, Place]) -> Atom:
        """`a` without these axes, of which it is taken at the places."""
        if not places:
            return a
        if isinstance(a, Const):
            return self._taken(a, places)
        key = a, tuple(sorted(places.items(), key=lambda t: t[0]))
        if key not in self.done:
            self.done[key] = self._at(a, places)
        return self.done[key]

    def _at(self, a: Var, places: Mapping[int, Place]) -> Atom:
        b, s = self.b, self.made(a)
        if s is None or not (self.deep or _axes_of_windows(self.made, a) & set(places)):
            return self._taken(a, places)
        match s.op, s.attrs:
            case ops.INDEX, _ if (windows := windows_read_by(self.made, s)) is not None:
                return self._window(s, windows, places)
            case ops.PUT_ADD, _ if (windows := windows_read_by(self.made, s)) and windows.axis not in places:
                return self._addition(s, windows, places)
            case ops.FULL, CreateAttrs(shape=shape, dtype=dtype):
                left_over = [n for i, n in enumerate(shape) if i not in places]
                return make.full(b, left_over, s.args[0], dtype)
            case Contract(), ContractAttrs() as attrs if set(attrs.lhs) | set(attrs.rhs) == set(attrs.out):
                return self._outer(s, attrs, {attrs.out[i]: p for i, p in places.items()})
            case ops.TRANSPOSE, AxesAttrs(axes=order):
                inner = self.at(s.args[0], {order[i]: p for i, p in places.items()})
                left = [i for k, i in enumerate(order) if k not in places]
                return make.transpose(b, inner, [sorted(left).index(i) for i in left])
            case ops.EXPAND_DIMS, AxesAttrs(axes=new):
                kept = [i for i in range(a.aval.ndim) if i not in new]
                inner = self.at(s.args[0], {kept.index(i): p for i, p in places.items() if i in kept})
                return make.expand_dims(b, inner, [i - sum(k < i for k in places) for i in new if i not in places])
            case ops.BROADCAST_TO, ShapeAttrs(shape=shape):
                inner = self._operand(s.args[0], a.aval.ndim, places)
                return make.broadcast_to(b, inner, [n for i, n in enumerate(shape) if i not in places])
            case (Elementwise() | Cast()), _:
                return remake(b, s.op, [self._operand(x, a.aval.ndim, places) for x in s.args], s.attrs)
        return self._taken(a, places)

    def _outer(self, s: Apply, attrs: ContractAttrs, places: Mapping[int, Place]) -> Atom:
        """A product in which nothing is summed, at places of its labels."""
        x, y = (
            self.at(operand, {i: places[label] for i, label in enumerate(labels) if label in places})
            for operand, labels in zip(s.args, (attrs.lhs, attrs.rhs), strict=True)
        )
        left = ([label for label in labels if label not in places] for labels in (attrs.lhs, attrs.rhs, attrs.out))
        return make.contract(self.b, x, y, *left)

    def _addition(self, s: Apply, windows: Windows, places: Mapping[int, Place]) -> Atom:
        base = self.at(s.args[0], places)
        wide = {i + (i > windows.axis): p for i, p in places.items()}
        value = self._operand(s.args[1], s.args[0].aval.ndim + 1, wide)
        here = windows.axis - sum(i < windows.axis for i in places)
        return make.put_add(self.b, base, value, _with_dim(base.aval.shape, here, Gather(0)), s.args[2:])

    def _operand(self, x: Atom, ndim: int, places: Mapping[int, Place]) -> Atom:
        """An operand that broadcasts to an array of `ndim` axes."""
        shift = ndim - x.aval.ndim
        own = {i - shift: p for i, p in places.items() if i >= shift}
        return self.at(x, {i: 0 if x.aval.shape[i] == 1 else p for i, p in own.items()})

    def _window(self, s: Apply, windows: Windows, places: Mapping[int, Place]) -> Atom:
        g, base = windows.axis, s.args[0]
        inner = self.at(base, {i - (i > g): p for i, p in places.items() if i not in (g, g + 1)})
        here = g - sum(i < g for i in places)
        if g + 1 not in places:
            taken = make.index(self.b, inner, _with_dim(inner.aval.shape, here, Gather(0)), s.args[1:])
            return self._taken(taken, {here: places[g]}) if g in places else taken
        dim, dynamic = _slice_of(self.b, windows, places[g + 1])
        taken = make.index(self.b, inner, _with_dim(inner.aval.shape, here, dim), dynamic)
        return self._taken(taken, {here: places[g]}) if g in places else taken

    def _taken(self, a: Atom, places: Mapping[int, Place]) -> Atom:
        dims: list[Dim] = [Run(0, n) for n in a.aval.shape]
        dynamic: list[Atom] = []
        for axis, place in places.items():
            dims[axis] = At(place) if isinstance(place, int) else At(Dyn(len(dynamic)))
            dynamic += [] if isinstance(place, int) else [place]
        return make.index(self.b, a, dims, dynamic)


def _slice_of(b: Builder, windows: Windows, place: Place) -> tuple[Dim, list[Atom]]:
    """The elements of all windows at one place, as a slice of the axis."""
    count, step = len(windows.starts), windows.starts.step
    if isinstance(place, int):
        return Run(windows.starts.start + windows.within[place], count, step), []
    start = make.multiply(b, place, windows.within.step)
    return Run(Dyn(0), count, step), [make.add(b, start, windows.starts.start + windows.within.start)]


def _with_dim(shape: Sequence[int], axis: int, dim: Dim) -> list[Dim]:
    return [dim if i == axis else Run(0, n) for i, n in enumerate(shape)]
