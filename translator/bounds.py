"""Intervals of the integers of a program: which run-time indices need wrapping, or a check, before memory is touched.

    for i in range(1, n):          # i in [1, n - 1]
        y[i] = x[i - 1] + x[-1]    # i - 1 in [0, n - 2]: inside x, no wrapping, no check
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import assert_never

import numpy as np

from .ir import Apply, Atom, Block, Const, DType, For, Function, Fused, If, Invoke, Raise, Range, Var, While
from .ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    At,
    Cast,
    CastAttrs,
    Collective,
    CollectiveAttrs,
    Concatenate,
    Contract,
    Create,
    CreateAttrs,
    Cumulative,
    Draw,
    Dyn,
    Elementwise,
    Fourier,
    Gather,
    Index,
    Linalg,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Ruled,
    Run,
    Sort,
    SortAttrs,
    Tape,
)
from .ops.pythonic import may_raise
from .records import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `low` to `high`, both included; None is no limit. Of an array: what holds for every element."""

    low: int | None = None
    high: int | None = None

    def __contains__(self, value: int) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    def within(self, low: int, high: int) -> bool:
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


ANYTHING = Interval()
NOTHING = Interval(0, -1)  # of an empty array, or of a loop that makes no turn


# ---- what can fail while it runs -----------------------------------------------------------------


def divides_python_numbers(s: Apply) -> bool:
    """Whether a statement is a division that Python refuses where the divisor is 0."""
    if s.op.name not in ("divide", "floor_divide", "remainder") or not all(a.aval.weak for a in s.args):
        return False
    by = s.args[1]
    return by.aval.dtype.kind in "if" and not (isinstance(by, Const) and by.value)


def is_python_power(s: Apply) -> bool:
    """Whether a statement is a power of Python floats that Python may refuse, or make complex."""
    if s.op.name != "power" or not all(a.aval.weak for a in s.args) or s.targets[0].aval.dtype.kind != "f":
        return False
    exponent = s.args[1]
    if isinstance(exponent, Const) and s.args[0].aval.dtype.kind == "i":  # of 63 bits, 16 of which are a float
        return not (0 <= exponent.value <= 16 and float(exponent.value).is_integer())
    return not (isinstance(exponent, Const) and exponent.value in (0, 1))


def is_natural_power(s: Apply) -> bool:
    """Whether all that Python may refuse of a power of floats is a result that is too large."""
    exponent = s.args[1]
    return isinstance(exponent, Const) and exponent.value >= 0 and float(exponent.value).is_integer()


def is_python_function(s: Apply) -> bool:
    """Whether a statement is a function of `math` that Python may refuse."""
    return isinstance(s.op, Elementwise) and may_raise(s.op)


def is_python_int(s: Apply) -> bool:
    """Whether a statement is int(x) of what 64 bits may not hold: of a float, or of an unsigned number of 64 bits."""
    if not (isinstance(s.attrs, CastAttrs) and s.attrs.weak):
        return False
    given = s.args[0].aval.dtype
    return s.targets[0].aval.dtype.kind == "i" and (given.kind == "f" or given == np.uint64)


def is_dynamic(d: At | Run | Gather) -> bool:
    """Whether only the run knows what an index entry selects."""
    return isinstance(d, Gather) or isinstance(d.index if isinstance(d, At) else d.start, Dyn)


def is_integer_power(s: Apply) -> bool:
    """Whether a statement is a power that NumPy refuses where the exponent is negative."""
    return s.op.name == "power" and s.targets[0].aval.dtype.kind == "i"


def shifts_python_ints(s: Apply) -> bool:
    """Whether a statement is a shift that Python refuses where the number of places is negative."""
    if s.op.name not in ("left_shift", "right_shift") or not all(a.aval.weak for a in s.args):
        return False
    return not (isinstance(s.args[1], Const) and s.args[1].value >= 0)


def refuses_negative(s: Apply) -> str:
    """What is said of a negative second argument, by a statement that takes none; "" where any will do."""
    if is_integer_power(s):
        return "Integers to negative integer powers are not allowed."
    return "negative shift count" if shifts_python_ints(s) else ""


def may_grow(s: Apply) -> bool:
    """Whether a statement computes with Python ints what 64 bits may not hold."""
    target = s.targets[0].aval
    grows = s.op.name in ("add", "subtract", "multiply", "left_shift", "power")
    return grows and target.weak and target.dtype.kind == "i"


def is_comparison(op: Elementwise) -> bool:
    return op.operator in ("<", "<=", ">", ">=", "==", "!=")


def narrowed_numbers(s: Apply) -> list[tuple[int, DType]]:
    """Which arguments are Python numbers of the run that take a dtype with less room, which NumPy refuses to overflow,
    or compares exactly.

    These are ints for integers of fewer bits, and floats for integers.
    """
    match s.op, s.attrs:
        case (Cast() | Create()), (CastAttrs(dtype=dtype) | CreateAttrs(dtype=dtype)):
            taken = [dtype] * len(s.args)
        case Put(), _:
            taken = [s.args[0].aval.dtype] * 2
        case Elementwise(), _ if s.op.name != "where" and s.targets[0].aval.dtype.kind in "iu":
            taken = list(s.op.loop_dtypes([a.aval for a in s.args])[0])
        case Elementwise(), _ if is_comparison(s.op):
            taken = [d for d in s.op.loop_dtypes([a.aval for a in s.args])[0] if d == np.uint64]
        case _:
            return []
    weak = [i for i, a in enumerate(s.args[: len(taken)]) if isinstance(a, Var) and a.aval.weak]
    return [(i, taken[i]) for i in weak if _is_narrower(taken[i], s.args[i].aval.dtype)]


def _is_narrower(dtype: DType, given: DType) -> bool:
    return given.kind in "if" and dtype.kind in "iu" and dtype != given


class Status(Enum):
    IN_RANGE = "in range"  # in [0, n)
    MAY_BE_NEGATIVE = "may be negative"  # in [-n, n): the target must wrap it
    UNKNOWN = "unknown"  # a run-time check decides


def index_status(interval: Interval, size: int) -> Status:
    """What must be done with an index of this interval before it selects from an axis of `size` elements."""
    if interval.within(0, size - 1) or interval == NOTHING:
        return Status.IN_RANGE
    return Status.MAY_BE_NEGATIVE if interval.within(-size, size - 1) else Status.UNKNOWN


def analyse(
    function: Function, *, refine: bool = True, known: Mapping[Var, Interval] | None = None
) -> dict[Var, Interval]:
    """The interval of every bool or integer variable, loop indices and arrays included, that is known to have one.

    Comparisons refine what they compare, inside the branch and the loop body that they guard; not so when `refine` is
    False: then the intervals also hold where a branch is computed for all and its result chosen afterwards. `known` are
    those of variables that the function uses and does not define.
    """
    walker = _Walker(refine)
    walker.known.update(known or {})
    walker.block(function.body)
    return {v: i for v, i in walker.known.items() if i != ANYTHING}


def interval_of(atom: Atom, known: dict[Var, Interval]) -> Interval:
    """The interval of a variable or of a constant; of its dtype where nothing better is known."""
    if isinstance(atom, Var):
        found = known.get(atom)
        return _of_dtype(atom.aval.dtype) if found is None else found
    if atom.aval.dtype.kind not in "biu":
        return ANYTHING
    values = np.asarray(atom.value)
    return Interval(int(values.min()), int(values.max())) if values.size else NOTHING


def join(a: Interval, b: Interval) -> Interval:
    """The smallest interval around both."""
    if a == NOTHING or b == NOTHING:
        return b if a == NOTHING else a
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return Interval(low, high)


def meet(a: Interval, b: Interval) -> Interval:
    """What is in both."""
    low = a.low if b.low is None else b.low if a.low is None else max(a.low, b.low)
    high = a.high if b.high is None else b.high if a.high is None else min(a.high, b.high)
    return NOTHING if low is not None and high is not None and low > high else Interval(low, high)


# ---- the walk ------------------------------------------------------------------------------------


class _Walker:
    """Visits definitions before uses; loops are visited until what they carry is stable.

    In a loop, those inside are visited again with intervals that have only grown: they begin with what was `stable`
    before, so that a nest is not visited some 3 ** depth times.
    """

    def __init__(self, conditions: bool = True) -> None:
        self.conditions = conditions
        self.stable: dict[Var, Interval] = {}
        self.known: dict[Var, Interval] = {}
        self.definitions: dict[Var, Apply] = {}

    def of(self, atom: Atom) -> Interval:
        return interval_of(atom, self.known)

    def bind(self, var: Var, interval: Interval) -> None:
        if var.aval.dtype.kind in "biu":
            self.known[var] = NOTHING if var.aval.size == 0 else fit(interval, var.aval.dtype)

    def block(self, block: Block) -> None:
        for s in block.statements:
            match s:
                case Apply():
                    self.apply(s)
                case If():
                    self.branch(s)
                case For():
                    self.for_loop(s)
                case While():
                    self.while_loop(s)
                case Fused(args=args, body=body):
                    for p, a in zip(body.params, args, strict=True):
                        self.bind(p, self.of(a))
                    self.block(body)
                    for t, r in zip(s.targets, body.results, strict=True):
                        self.bind(t, self.of(r))
                case Invoke():
                    for t in s.targets:
                        self.bind(t, ANYTHING)
                case Raise(body=body):  # what follows may be computed, to no effect, where it raises too
                    self.block(body)
                case _:
                    assert_never(s)

    def apply(self, s: Apply) -> None:
        for t in s.targets:
            self.definitions[t] = s
            if t.aval.dtype.kind in "biu":
                self.bind(t, _of_apply(s, [self.of(a) for a in s.args]))

    def branch(self, s: If) -> None:
        results: list[list[Interval]] = []
        for block, truth in ((s.then, True), (s.orelse, False)):
            outside = self.refine(s.condition, truth, {})
            self.block(block)
            results.append([self.of(r) for r in block.results])
            self.known.update(outside)
        for t, a, b in zip(s.targets, *results, strict=True):
            self.bind(t, join(a, b))

    def for_loop(self, s: For) -> None:
        index, *carried = s.body.params
        self.bind(index, _of_range(s.range, self.of))
        final = self.stabilise(carried, s.inits, s.body, lambda: self.block(s.body))
        for t, interval in zip(s.targets, final, strict=True):
            self.bind(t, interval)

    def while_loop(self, s: While) -> None:
        pairs = dict(zip(s.condition.params, s.body.params, strict=True))

        def visit() -> None:
            for c, p in pairs.items():
                self.bind(c, self.of(p))
            self.block(s.condition)
            outside = self.refine(s.condition.results[0], True, pairs)
            self.block(s.body)
            self.known.update((v, i) for v, i in outside.items() if v not in pairs.values())

        final = self.stabilise(s.body.params, s.inits, s.body, visit)
        for c, interval in zip(s.condition.params, final, strict=True):
            self.bind(c, interval)
        self.block(s.condition)
        inside = self.refine(s.condition.results[0], False, {})
        for t, c, interval in zip(s.targets, s.condition.params, final, strict=True):
            self.bind(t, meet(interval, self.of(c)))
        self.known.update(inside)

    def stabilise(
        self, carried: Sequence[Var], inits: Sequence[Atom], body: Block, visit: Callable[[], None]
    ) -> list[Interval]:
        """Visit the body until the carried intervals contain its results; a limit that moves twice is given up."""
        state = [join(self.of(a), self.stable.get(p, NOTHING)) for a, p in zip(inits, carried, strict=True)]
        moved = False
        while True:
            for p, interval in zip(carried, state, strict=True):
                self.bind(p, interval)
            visit()
            results = [fit(self.of(r), p.aval.dtype) for r, p in zip(body.results, carried, strict=True)]
            after = [join(a, r) for a, r in zip(state, results, strict=True)]
            if after == state:
                self.stable.update(zip(carried, state, strict=True))
                return state
            if moved:
                after = [_widen(a, b, p.aval.dtype) for a, b, p in zip(state, after, carried, strict=True)]
            state = after
            moved = True

    def refine(self, condition: Atom, truth: bool, pairs: dict[Var, Var]) -> dict[Var, Interval]:
        """Narrow what a condition of this truth compares (and its twin in `pairs`); returns what was known before."""
        before: dict[Var, Interval] = {}
        if self.conditions:
            self._refine_into(condition, truth, pairs, before)
        return before

    def _refine_into(self, condition: Atom, truth: bool, pairs: dict[Var, Var], before: dict[Var, Interval]) -> None:
        s = self.definitions.get(condition) if isinstance(condition, Var) else None
        if s is None:
            return
        name = s.op.name
        if name in (_CONJUNCTIONS if truth else _DISJUNCTIONS):
            for a in s.args:
                self._refine_into(a, truth, pairs, before)
        elif name == "logical_not" or (name == "invert" and s.args[0].aval.dtype.kind == "b"):
            self._refine_into(s.args[0], not truth, pairs, before)
        elif name in _NEGATED:
            x, y = s.args
            if x.aval.dtype.kind in "iu" and y.aval.dtype.kind in "iu":
                low_x, low_y = _compared(name if truth else _NEGATED[name], self.of(x), self.of(y))
                self._narrow(x, low_x, pairs, before)
                self._narrow(y, low_y, pairs, before)

    def _narrow(self, atom: Atom, interval: Interval, pairs: dict[Var, Var], before: dict[Var, Interval]) -> None:
        if not isinstance(atom, Var):
            return
        for v in (atom, pairs.get(atom)):
            if v is not None:
                before.setdefault(v, self.of(v))
                self.known[v] = meet(self.of(v), interval)
        s = self.definitions.get(atom)
        if s is None or s.op.name not in ("add", "subtract") or not isinstance(s.args[1], Const):
            return
        x, shift = s.args[0], self.of(s.args[1])
        forth, back = (_add, _subtract) if s.op.name == "add" else (_subtract, _add)
        if fit(forth(self.of(x), shift), atom.aval.dtype) == forth(self.of(x), shift):  # it has not wrapped around
            self._narrow(x, back(interval, shift), pairs, before)


_CONJUNCTIONS = ("logical_and", "bitwise_and")
_DISJUNCTIONS = ("logical_or", "bitwise_or")
_NEGATED = {
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
    "equal": "not_equal",
    "not_equal": "equal",
}


def _compared(name: str, x: Interval, y: Interval) -> tuple[Interval, Interval]:
    """What x and y are known to be when `x name y` holds."""
    match name:
        case "less" | "less_equal":
            gap = 1 if name == "less" else 0
            high = None if y.high is None else y.high - gap
            low = None if x.low is None else x.low + gap
            return meet(x, Interval(None, high)), meet(y, Interval(low, None))
        case "greater" | "greater_equal":
            new_y, new_x = _compared("less" if name == "greater" else "less_equal", y, x)
            return new_x, new_y
        case "equal":
            both = meet(x, y)
            return both, both
    return x, y


def _widen(old: Interval, new: Interval, dtype: DType) -> Interval:
    """A limit that moved becomes the dtype's own, so that a comparison in the body can still narrow it."""
    whole = _of_dtype(dtype)
    return Interval(old.low if old.low == new.low else whole.low, old.high if old.high == new.high else whole.high)


def fit(interval: Interval, dtype: DType) -> Interval:
    """What a dtype holds: an interval that may overflow it says nothing, since integers wrap around."""
    whole = _of_dtype(dtype)
    if whole.low is None or whole.high is None:
        return interval
    return interval if interval == NOTHING or interval.within(whole.low, whole.high) else whole


@cache
def _of_dtype(dtype: DType) -> Interval:
    """Asked several times for every statement that an analysis visits."""
    if dtype.kind == "b":
        return Interval(0, 1)
    if dtype.kind not in "iu":
        return ANYTHING
    info = np.iinfo(dtype)
    return Interval(int(info.min), int(info.max))


def _of_range(r: Range, of: Callable[[Atom], Interval]) -> Interval:
    known = r.static()
    if known is not None:
        return Interval(min(known[0], known[-1]), max(known[0], known[-1])) if known else NOTHING
    start, stop, step = of(r.start), of(r.stop), of(r.step)
    if step.low is not None and step.low > 0:
        return meet(Interval(start.low, None), Interval(None, None if stop.high is None else stop.high - 1))
    if step.high is not None and step.high < 0:
        return meet(Interval(None, start.high), Interval(None if stop.low is None else stop.low + 1, None))
    low, high = join(start, stop).low, join(start, stop).high
    return Interval(low, high)


# ---- one operation -------------------------------------------------------------------------------


def _of_apply(s: Apply, args: list[Interval]) -> Interval:
    match s.op:
        case Elementwise(name=name):
            if any(a.aval.dtype.kind not in "biu" for a in s.args):
                return ANYTHING
            return _elementwise(name, args)
        case Cast():
            return args[0] if s.args[0].aval.dtype.kind in "biu" else ANYTHING
        case Reduce(name=name):
            return _reduced(name, s, args[0])
        case ArgReduce():
            assert isinstance(s.attrs, ArgReduceAttrs)
            return Interval(0, s.args[0].aval.shape[s.attrs.axis] - 1)
        case Sort(name="argsort"):
            assert isinstance(s.attrs, SortAttrs)
            return Interval(0, max(0, s.args[0].aval.shape[s.attrs.axis] - 1))
        case Reshape() | Index() | Sort():
            return args[0]
        case Concatenate():
            return _join_all(args)
        case Put(name="put"):
            return join(args[0], args[1])
        case Create(name=name):
            assert isinstance(s.attrs, CreateAttrs)
            if name == "iota":
                return Interval(0, s.attrs.shape[0] - 1)
            return args[0] if args and s.args[0].aval.dtype.kind in "biu" else ANYTHING
        case Collective(name="axis_index"):
            assert isinstance(s.attrs, CollectiveAttrs)
            return Interval(0, s.attrs.size - 1)
        case Tape(name="length"):
            return Interval(0, None)
        case Cumulative(name="cummax" | "cummin"):
            return args[0]
        case Put() | Contract() | Cumulative() | Fourier() | Linalg() | Ruled() | Collective() | Tape() | Draw():
            return ANYTHING
        case _:
            assert_never(s.op)


def _join_all(intervals: Sequence[Interval]) -> Interval:
    result = NOTHING
    for i in intervals:
        result = join(result, i)
    return result


def _reduced(name: str, s: Apply, x: Interval) -> Interval:
    if name in ("max", "min"):
        return x
    if name != "sum":
        return ANYTHING
    assert isinstance(s.attrs, ReduceAttrs)
    count = 1
    for axis in s.attrs.axes:
        count *= s.args[0].aval.shape[axis]
    return _multiply(x, Interval(count, count)) if x != NOTHING else Interval(0, 0)


def _elementwise(name: str, args: list[Interval]) -> Interval:
    if NOTHING in args:
        return NOTHING
    match name, args:
        case "add", [x, y]:
            return _add(x, y)
        case "subtract", [x, y]:
            return _subtract(x, y)
        case "multiply", [x, y]:
            return _multiply(x, y)
        case "floor_divide", [x, y] if y.low is not None and y.low > 0:
            return _floor_divide(x, y)
        case "remainder", [x, y] if y.low is not None and y.low > 0 and y.high is not None:
            return x if x.within(0, y.low - 1) else Interval(0, y.high - 1)
        case "negative", [x]:
            return _subtract(Interval(0, 0), x)
        case "absolute", [x]:
            return _extreme(max, Interval(0, 0), _extreme(max, x, _subtract(Interval(0, 0), x)))
        case "sign", [_]:
            return Interval(-1, 1)
        case "positive" | "stop_gradient" | "conjugate" | "real", [x]:
            return x
        case "maximum", [x, y]:
            return _extreme(max, x, y)
        case "minimum", [x, y]:
            return _extreme(min, x, y)
        case "clip", [x, low, high]:
            return _extreme(min, _extreme(max, x, low), high)
        case "where", [_, x, y]:
            return join(x, y)
        case "bitwise_and", [x, y] if _natural(x) or _natural(y):
            highs = [i.high for i in (x, y) if _natural(i) and i.high is not None]
            return Interval(0, min(highs) if highs else None)
    return ANYTHING


def _natural(x: Interval) -> bool:
    return x.low is not None and x.low >= 0


def _add(x: Interval, y: Interval) -> Interval:
    low = None if x.low is None or y.low is None else x.low + y.low
    high = None if x.high is None or y.high is None else x.high + y.high
    return Interval(low, high)


def _subtract(x: Interval, y: Interval) -> Interval:
    return _add(x, Interval(None if y.high is None else -y.high, None if y.low is None else -y.low))


def _multiply(x: Interval, y: Interval) -> Interval:
    if x.low is None or x.high is None or y.low is None or y.high is None:
        return Interval(0, None) if _natural(x) and _natural(y) else ANYTHING
    corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    return Interval(min(corners), max(corners))


def _floor_divide(x: Interval, y: Interval) -> Interval:
    """y is positive."""
    if y.low is None or y.high is None or x.low is None or x.high is None:
        return Interval(0, x.high) if _natural(x) else ANYTHING
    corners = [a // b for a in (x.low, x.high) for b in (y.low, y.high)]
    return Interval(min(corners), max(corners))


def _extreme(of: Callable[[int, int], int], x: Interval, y: Interval) -> Interval:
    """The interval of max(x, y) or min(x, y): a missing limit wins on its own side and loses on the other."""
    is_max = of is max
    low = _limit(of, x.low, y.low, missing_wins=not is_max)
    high = _limit(of, x.high, y.high, missing_wins=is_max)
    return Interval(low, high)


def _limit(of: Callable[[int, int], int], a: int | None, b: int | None, *, missing_wins: bool) -> int | None:
    if a is not None and b is not None:
        return of(a, b)
    return None if missing_wins else b if a is None else a
