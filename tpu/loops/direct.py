"""Programs that are native loops and little else, called with NumPy arrays: XLA has no part in them.

    def relax(a):                               steps of `relax`, a 400 x 400 matrix that it writes:
        for i in range(1, 399):                     untraced_a_82f2..._on_addresses([address of a])
            for j in range(1, 399):
                a[i, j] = 0.5 * (a[i - 1, j] + a[i, j - 1])
        return a[0, 0]                              the element, by NumPy

XLA would copy what is written into memory of its own and back, and asks 50 us for a call. Here loops work where the
caller's arrays lie, unless something may fail after the first store: then CPython is to make the call again, from
what was there before, and the loops have copies. What stands around the loops is made by NumPy, so it must be little.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import signal
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, TypeGuard

import numpy as np

from ...kernels.loops.interrupts import INTERRUPTED, MESSAGE, alarm_is_set, is_main_thread
from ...kernels.loops.native import NO_MEMORY, NativeLoop, arguments_of, loop_of, write_loop
from ...translator.bounds import Interval
from ...translator.checked import Checked
from ...translator.errors import tell_written
from ...translator.evaluate import apply_op, as_aval, run_block
from ...translator.ir import Apply, Atom, Block, Const, DType, Function, Fused, Statement, Var
from ...translator.ops.core import Cast, Concatenate, Create, CreateAttrs, Elementwise, Index, Reduce, Reshape
from .. import compiler
from ..client.profile import Step
from .lanes import blocked
from .native import native_loops, wanted

LIGHT = 1 << 10
"""Elements: operations on more of them are better fused."""
MOST_STEPS = 64
"""Statements, at 1 to 3 us each in NumPy, from which on they are better compiled."""
_signal: Any = import_module("_signal")  # `signal` makes enumerations of the answers: 2 us a call
_WIDEST = 1 << 31  # what is assumed of numbers that decide no index: sums of so many do not outgrow 64 bits
_AROUND = (Elementwise, Cast, Reduce, Reshape, Index, Concatenate)

_Values = dict[Var, Any]


def loops_alone(function: Function, checks: bool) -> tuple[Function, Checked] | None:
    """The program with its native loops as groups, and which statements need checks; None where much else is done."""
    if not wanted():
        return None
    parted, blocks = blocked(function)
    grouped = native_loops(parted, checks, blocks)
    statements = grouped.body.statements
    if len(statements) > MOST_STEPS or not any(map(_is_loop, statements)):
        return None
    doubted = Checked(grouped)  # with checks off too NumPy raises, when loops may have worked in the caller's arrays
    if not all(_is_loop(s) or (_is_light(s) and not doubted.statement(s)) for s in statements):
        return None
    return grouped, Checked(grouped, checks)


def without_checks(function: Function, checks: bool, values: Sequence[Any]) -> dict[int, Interval]:
    """What has to be assumed of the whole numbers among the parameters, by their places, so that no check is left, and
    holds for these values. Empty where there are none, or some checks would be left.

        for i in range(1, n): a[i] += a[i - 1]          of 100 numbers: n is in [1, 100]
    """
    params = function.body.params
    numbers = {k: int(values[k]) for k, p in enumerate(params) if is_whole(p)}
    extents = sorted({n for p in params for n in p.aval.shape})
    widest = {k: max(x, _WIDEST) for k, x in numbers.items()}
    up_to_extents = {k: next((n for n in extents if n >= x), x) for k, x in numbers.items()}
    for most, least in itertools.product((widest, up_to_extents, numbers), (0, 1)):
        assumed = {k: Interval(min(x, least), most[k]) for k, x in numbers.items()}
        if not Checked(function, checks, {params[k]: i for k, i in assumed.items()}).block(function.body):
            return assumed
    return {}


def is_whole(p: Var) -> bool:
    return not p.aval.shape and p.aval.dtype.kind in "iu"


def _is_loop(s: Statement) -> TypeGuard[Fused]:
    return isinstance(s, Fused) and s.kind == "loops"


def _is_light(s: Statement) -> bool:
    """Whether NumPy makes little of it; arrays that are filled with one value, and other shapes of them, are little."""
    match s:
        case Fused(body=Block(statements=inside)):
            return all(map(_is_light, inside))
        case Apply(op=Create()):
            return True
        case Apply(op=Reshape(name="reshape")):
            return True
        case Apply(op=op, args=args, targets=targets):
            arrays = () if isinstance(op, Index) else args
            return isinstance(op, _AROUND) and all(x.aval.size <= LIGHT for x in (*targets, *arrays))
    return False


class Direct:
    """A program of native loops. The results of a call: the leaves of the result, then for each parameter that is
    written its last value: the caller's own array, where the loops have worked in it.
    """

    def __init__(self, function: Function, checked: Checked) -> None:
        body = function.body
        self.params, self.results = body.params, body.results
        uses = Counter(a for s in body.statements if isinstance(s, Apply | Fused) for a in s.args if isinstance(a, Var))
        uses.update(r for r in body.results if isinstance(r, Var))
        mutated = {body.params[k] for k in function.mutated}
        free = mutated | {t for s in body.statements if _is_made(s) for t in s.targets}
        once = {v for v in free if uses[v] == 1}
        groups = [s for s in body.statements if _is_loop(s)]
        natives = [write_loop(s, checked) for s in groups]
        functions = compiler.on_addresses(natives)
        calls = iter([Call(function.name, s, n, f, once) for s, n, f in zip(groups, natives, functions, strict=True)])
        self.steps: list[Call | Made | Around] = [
            next(calls) if _is_loop(s) else Made(s) if _is_filled(s) else Around(s) for s in body.statements
        ]
        self.first = next(step for step in self.steps if isinstance(step, Call))
        self.calm = all(isinstance(step, Call | Made) for step in self.steps)  # nothing that might warn
        self.written = {p: k for k, p in enumerate(body.params) if p in mutated}
        last = list(body.results[len(body.results) - len(function.mutated) :])
        self.last = [(body.params[k], r) for k, r in zip(function.mutated, last, strict=True)]
        self.leaves = len(body.results) - len(last)
        allocating = [n.allocates for n in natives[1:]]
        self.in_place = not any(n.failures for n in natives) and not any(allocating)
        self._runs = itertools.count(1)
        self.listens = any(n.listens for n in natives)

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """The results for NumPy arrays and numbers. Raises what a loop raises, and RuntimeError with
        `interrupts.MESSAGE` after Ctrl-C where Python's handler has raised nothing and the call can be made again.
        """
        in_place = self.in_place and (not self.listens or ends_by_interrupt())
        env: _Values = {}
        own: list[np.ndarray[Any, Any]] = []
        for p, x in zip(self.params, values, strict=True):
            if not p.aval.shape:
                env[p] = x if p.aval.weak else np.asarray(x, p.aval.dtype)[()]
            elif p not in self.written:
                env[p] = _rows(x, p.aval.dtype)
            elif in_place and _lies_well(x, p.aval.dtype):
                env[p] = x
                own.append(x)
            else:
                env[p] = np.array(x, p.aval.dtype, order="C")
        try:
            if self.calm:
                self._run(env, in_place)
            else:
                with np.errstate(all="ignore"):
                    self._run(env, in_place)
            return self._results(env, own, values)
        except Exception as error:  # no memory for a later array, or a handler of a signal has raised it
            if own and (type(error) is not MemoryError or any(t in env for t, _ in self.first.targets)):
                tell_written(error)
            raise

    def _run(self, env: _Values, in_place: bool) -> None:
        run = next(self._runs)
        for step in self.steps:
            if isinstance(step, Call):
                with step.shown.running(run):
                    code = step.run(env)
            else:
                code = step.run(env)
            if not code:
                continue
            assert isinstance(step, Call)
            self.failed(step, code, in_place)

    def failed(self, step: Call, code: int, in_place: bool = True) -> NoReturn:
        """Raise what a loop means by this number."""
        if code == INTERRUPTED:
            _handle_signals()
            raise KeyboardInterrupt if in_place and self.written else RuntimeError(MESSAGE)
        if code == NO_MEMORY:
            raise MemoryError("no memory for a loop")
        raise step.native.failures[(code & 0xFFFF) - 1].exception(code)

    def _results(self, env: _Values, own: list[np.ndarray[Any, Any]], values: Sequence[Any]) -> list[Any]:
        """Results in memory of their own, but for what was written in place."""
        given = [x for x in (*values, *own) if isinstance(x, np.ndarray) and x.ndim]
        made: list[Any] = []
        for r in self.results[: self.leaves]:
            made.append(_apart(_array(r, env), [*given, *made]))
        for p, r in self.last:
            x, mine = _array(r, env), values[self.written[p]]
            made.append(x if x is mine else _apart(x, [g for g in given if g is not mine]))
        return made


def _is_made(s: Statement) -> bool:
    """Whether its results lie in memory of their own."""
    return _is_loop(s) or (isinstance(s, Apply) and isinstance(s.op, Create))


def _is_filled(s: Statement) -> bool:
    return isinstance(s, Apply) and isinstance(s.op, Create) and s.op.name != "iota"


def _array(r: Atom, env: _Values) -> np.ndarray[Any, Any]:
    if isinstance(r, Const):
        return np.array(r.value, r.aval.dtype)
    x = env[r]
    return x if isinstance(x, np.ndarray) else np.asarray(x, r.aval.dtype)


def _apart(x: np.ndarray[Any, Any], others: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The array itself, or a copy where its memory is another's or not all its own."""
    if x.base is not None or not x.flags.writeable or any(np.may_share_memory(x, y) for y in others):
        return x.copy()
    return x


def _rows(x: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """In C order and aligned, as the loops read it."""
    if type(x) is np.ndarray and x.dtype == dtype and x.flags.c_contiguous and x.flags.aligned:
        return x
    y: np.ndarray[Any, Any] = np.asarray(x, dtype, order="C")
    return y if y.flags.aligned else y.copy()


def _lies_well(x: Any, dtype: DType) -> bool:
    flags = x.flags
    return x.dtype == dtype and bool(flags.c_contiguous and flags.aligned and flags.writeable)


def ends_by_interrupt() -> bool:
    """Whether Ctrl-C is sure to end the call, so that it is not made again, or is heard by nobody; nor is an alarm."""
    handler = _signal.getsignal(signal.SIGINT)
    sure = handler in (_signal.SIG_IGN, _signal.SIG_DFL) or (handler is signal.default_int_handler and is_main_thread())
    return sure and not alarm_is_set()


def _handle_signals() -> None:
    """Let Python's handlers of signals run, which may raise."""
    if ctypes.pythonapi.PyErr_CheckSignals():
        raise KeyboardInterrupt  # not reached: ctypes raises what is set


class Around:
    """A statement for NumPy."""

    __slots__ = ("statement",)

    def __init__(self, s: Statement) -> None:
        self.statement = s

    def run(self, env: _Values) -> int:
        s = self.statement
        if isinstance(s, Apply):
            made: Sequence[Any] = (apply_op(s.op, [_value(a, env) for a in s.args], s.attrs),)
        else:
            assert isinstance(s, Fused)
            made = run_block(s.body, [_value(a, env) for a in s.args], {})
        for t, x in zip(s.targets, made, strict=True):
            env[t] = as_aval(x, t)
        return 0


class Made:
    """An array that is filled with one value, or with none."""

    __slots__ = ("attrs", "target", "value")

    def __init__(self, s: Statement) -> None:
        assert isinstance(s, Apply) and isinstance(s.attrs, CreateAttrs)
        (self.target,), self.attrs = s.targets, s.attrs
        self.value = s.args[0] if s.args else None

    def run(self, env: _Values) -> int:
        shape, dtype = self.attrs.shape, self.attrs.dtype
        if self.value is None:
            made = np.empty(shape, dtype)
        elif isinstance(self.value, Const) and is_nothing(self.value.value):
            made = np.zeros(shape, dtype)  # memory that the system has cleared
        else:
            made = np.full(shape, _value(self.value, env), dtype)
        env[self.target] = made if shape else made[()]
        return 0


def is_nothing(x: Any) -> bool:
    """Whether it is zero, and not -0.0."""
    return not x and all(math.copysign(1.0, part) > 0 for part in (np.real(x), np.imag(x)))


class Call:
    """A call of a native loop: addresses of what it carries, which it works in, then of what it reads."""

    __slots__ = ("carried", "function", "native", "others", "shown", "targets", "values")

    def __init__(self, program: str, s: Fused, native: NativeLoop, function: Any, once: set[Var]) -> None:
        self.native, self.function = native, function
        self.shown = Step(program, native.name.removeprefix("untraced_"), s.span)
        given = dict(zip(s.body.params, s.args, strict=True))
        carried, others = arguments_of(s)
        self.carried = [(given[p], p.aval.dtype, bool(p.aval.shape) and given[p] in once) for p in carried]
        self.others = [(given[p], p.aval.dtype) for p in others]
        made = {t: k for k, t in enumerate(loop_of(s).targets)}
        self.targets = [(t, made[r]) for t, r in zip(s.targets, s.body.results, strict=True) if isinstance(r, Var)]
        self.values = (ctypes.c_void_p * (len(carried) + len(others)))

    def run(self, env: _Values) -> int:
        held: list[np.ndarray[Any, Any]] = []
        for a, dtype, free in self.carried:
            x = _value(a, env)
            held.append(x if free and x.flags.c_contiguous else np.array(x, dtype, order="C"))
        for a, dtype in self.others:
            held.append(_rows(_value(a, env), dtype))
        code = int(self.function(self.values(*map(_address, held))))
        if not code:
            for t, k in self.targets:
                x = held[k]
                env[t] = x if t.aval.shape else x.item() if t.aval.weak else x[()]
        return code


def _address(x: np.ndarray[Any, Any]) -> int:
    """The address of an array in C order: through its buffer in a quarter of the time, if it can be written."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(x))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is read-only, or empty
        return x.ctypes.data


def _value(a: Atom, env: _Values) -> Any:
    return a.value if isinstance(a, Const) else env[a]
