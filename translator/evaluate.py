"""The reference interpreter: what a program means, in NumPy.

Values of weak type are Python scalars, other 0-d values are NumPy scalars, everything else is an array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np

from .errors import UnsupportedError
from .ir import Apply, Atom, Block, Const, For, Function, Fused, If, Invoke, Raise, Var, While
from .library.streams import drawing
from .ops.core import (
    TAPE_AVAL,
    ArgReduce,
    ArgReduceAttrs,
    At,
    Attrs,
    AxesAttrs,
    Cast,
    CastAttrs,
    Collective,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    ContractAttrs,
    Create,
    CreateAttrs,
    Cumulative,
    CumulativeAttrs,
    Draw,
    Dyn,
    Elementwise,
    Fourier,
    FourierAttrs,
    Gather,
    Index,
    IndexAttrs,
    Linalg,
    LinalgAttrs,
    Op,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Ruled,
    Run,
    ShapeAttrs,
    Sort,
    SortAttrs,
    Tape,
)
from .rewrite import without_rules

_PYTHON_OPERATORS: dict[str, tuple[Callable[..., Any], ...]] = {
    "+": (operator.pos, operator.add),
    "-": (operator.neg, operator.sub),
    "*": (operator.mul, operator.mul),
    "/": (operator.truediv, operator.truediv),
    "//": (operator.floordiv, operator.floordiv),
    "%": (operator.mod, operator.mod),
    "**": (operator.pow, operator.pow),
    "~": (operator.invert, operator.invert),
    "&": (operator.and_, operator.and_),
    "|": (operator.or_, operator.or_),
    "^": (operator.xor, operator.xor),
    "<<": (operator.lshift, operator.lshift),
    ">>": (operator.rshift, operator.rshift),
    "==": (operator.eq, operator.eq),
    "!=": (operator.ne, operator.ne),
    "<": (operator.lt, operator.lt),
    "<=": (operator.le, operator.le),
    ">": (operator.gt, operator.gt),
    ">=": (operator.ge, operator.ge),
}
_PYTHON_NUMBERS = (int, float, complex)
_PYTHON_TYPES: dict[str, Callable[[Any], Any]] = {"i": int, "f": float, "c": complex, "b": bool}


def apply_op(op: Op, values: Sequence[Any], attrs: Attrs) -> Any:
    """One operation on NumPy values; a weak result is a Python scalar, as it is in the printed source."""
    match op:
        case Elementwise():
            return _elementwise(op, values)
        case Cast():
            assert isinstance(attrs, CastAttrs)
            if attrs.weak:
                return _PYTHON_TYPES[attrs.dtype.kind](values[0])
            return _scalar(np.asarray(values[0]).astype(attrs.dtype))
        case Reduce():
            assert isinstance(attrs, ReduceAttrs)
            return _scalar(op.evaluate(values[0], axis=attrs.axes, keepdims=attrs.keepdims))
        case ArgReduce():
            assert isinstance(attrs, ArgReduceAttrs)
            return _scalar(op.evaluate(values[0], axis=attrs.axis, keepdims=attrs.keepdims))
        case Cumulative():
            assert isinstance(attrs, CumulativeAttrs)
            return op.evaluate(values[0], axis=attrs.axis)
        case Sort():
            assert isinstance(attrs, SortAttrs)
            if attrs.places:
                return op.partial(values[0], attrs.places, axis=attrs.axis)
            kind = {"kind": attrs.kind} if op.name == "argsort" else {}
            return op.evaluate(values[0], axis=attrs.axis, **kind)
        case Fourier():
            assert isinstance(attrs, FourierAttrs)
            sizes = None
            if op.name == "irfft":
                sizes = (*(values[0].shape[a] for a in attrs.axes[:-1]), attrs.size)
            return op.evaluate(values[0], s=sizes, axes=attrs.axes)
        case Linalg():
            assert isinstance(attrs, LinalgAttrs)
            return op.evaluate(np, *values, full=attrs.full)
        case Contract():
            assert isinstance(attrs, ContractAttrs)
            return _contract(values[0], values[1], attrs)
        case Reshape():
            return _scalar(_reshape(op.name, np.asarray(values[0]), attrs))
        case Concatenate():
            assert isinstance(attrs, ConcatenateAttrs)
            return np.concatenate(values, axis=attrs.axis)
        case Create():
            assert isinstance(attrs, CreateAttrs)
            return _scalar(_create(op.name, values, attrs))
        case Index():
            assert isinstance(attrs, IndexAttrs)
            return _scalar(_index(np.asarray(values[0]), values, attrs))
        case Put():
            assert isinstance(attrs, IndexAttrs)
            return _put(op.name, values, attrs)
        case Collective(name=name):
            raise UnsupportedError(f"lax.{name} has no value outside the function that is mapped")
        case Tape(name=name):
            return _taped(name, values)
        case Draw():
            return _drawn(op, values)
        case Ruled():
            raise AssertionError("rules are taken out of a program before")
        case _:
            assert_never(op)


def _drawn(op: Draw, values: Sequence[Any]) -> Any:
    words = values[0].copy()
    last = drawing(op)(words, *values[1:])
    return words if op.result is None else last


def _taped(name: str, values: Sequence[Any]) -> Any:
    match name:
        case "tape":
            return ()
        case "append":
            return (*values[0], np.array(values[1]) if isinstance(values[1], np.ndarray) else values[1])
        case "length":
            return len(values[0])
        case "blank" | "zeros":
            return (0.0 if name == "zeros" else None,) * values[0]
        case "set_item" | "add_item":
            tape, value, k = values
            value = np.array(value) if isinstance(value, np.ndarray) else value
            return (*tape[:k], value if name == "set_item" else tape[k] + value, *tape[k + 1 :])
        case _:
            return values[0][values[1]]


def _scalar(x: Any) -> Any:
    """A 0-d array as the NumPy scalar that Python code would see."""
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def _elementwise(op: Elementwise, values: Sequence[Any]) -> Any:
    if op.operator and all(type(v) in _PYTHON_NUMBERS for v in values):
        result = _PYTHON_OPERATORS[op.operator][len(values) - 1](*values)
        return np.bool_(result) if type(result) is bool else result
    return _scalar(op.evaluate(*values))


def _contract(x: Any, y: Any, attrs: ContractAttrs) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype:
        dtype = np.result_type(x, y)
        x, y = x.astype(dtype), y.astype(dtype)
    if x.dtype.name == "bfloat16":  # which NumPy's einsum does not take
        return _contract(x.astype(np.float32), y.astype(np.float32), attrs).astype(x.dtype)
    lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
    summed = [label for label in lhs if label not in out]
    if not set(lhs) & set(rhs) & set(out):
        z = np.tensordot(x, y, ([lhs.index(s) for s in summed], [rhs.index(s) for s in summed]))
        have = [s for s in (*lhs, *rhs) if s not in summed]
        return _scalar(np.transpose(z, [have.index(s) for s in out]))
    return _scalar(np.asarray(np.einsum(x, list(lhs), y, list(rhs), list(out))))


def _reshape(name: str, x: Any, attrs: Attrs) -> Any:
    match attrs:
        case ShapeAttrs(shape=shape):
            return np.reshape(x, shape) if name == "reshape" else np.broadcast_to(x, shape)
        case AxesAttrs(axes=axes):
            return getattr(np, name)(x, axes)
    raise AssertionError(f"{name} with {attrs}")


def _create(name: str, values: Sequence[Any], attrs: CreateAttrs) -> Any:
    if name == "full":
        return np.full(attrs.shape, values[0], attrs.dtype)
    if name == "iota":
        return np.arange(attrs.shape[0], dtype=attrs.dtype)
    return np.empty(attrs.shape, attrs.dtype)


def numpy_index(attrs: IndexAttrs, args: Sequence[Any]) -> tuple[Any, ...]:
    """The tuple that NumPy indexes with; every `Run` is a slice. `args` are all arguments of the operation."""
    key: list[Any] = []
    for d in attrs.dims:
        match d:
            case At(index=i):
                key.append(int(args[i.arg]) if isinstance(i, Dyn) else i)
            case Gather(arg=a):
                key.append(args[a])
            case Run(start=start, size=size, step=step):
                first = int(args[start.arg]) if isinstance(start, Dyn) else start
                stop = first + size * step
                key.append(slice(first, stop if stop >= 0 else None, step) if size else slice(0, 0))
            case _:
                assert_never(d)
    return tuple(key)


def _index(x: Any, args: Sequence[Any], attrs: IndexAttrs) -> Any:
    check_runs(x.shape, attrs, args)
    result = x[numpy_index(attrs, args)]
    return result.copy() if result.base is not None else result


def check_runs(shape: tuple[int, ...], attrs: IndexAttrs, args: Sequence[Any]) -> None:
    """Slices never raise in NumPy; a dynamic run outside its axis would shrink instead."""
    for n, d in zip(shape, attrs.dims, strict=True):
        if isinstance(d, Run) and isinstance(d.start, Dyn) and d.size:
            first = int(args[d.start.arg])
            last = first + (d.size - 1) * d.step
            if not (0 <= first < n and 0 <= last < n):
                raise IndexError(f"a slice of {d.size} elements from {first} is outside an axis of size {n}")


def _put(name: str, values: Sequence[Any], attrs: IndexAttrs) -> Any:
    x = np.array(values[0])
    check_runs(x.shape, attrs, values)
    key = numpy_index(attrs, values)
    if name == "put":
        x[key] = values[1]
    elif attrs.gathers:
        np.add.at(x, key, values[1])
    else:
        x[key] += values[1]
    return _scalar(x)


# ---- whole programs ------------------------------------------------------------------------------

_Environment = dict[Var, Any]


def evaluate(function: Function, leaves: Sequence[Any]) -> list[Any]:
    """The results of a program: leaves of `out`, then the final values of mutated parameters.

    `leaves` are the values of `function.body.params`; they are not written.
    """
    return run_block(without_rules(function).body, leaves, {})


def run_block(block: Block, arguments: Sequence[Any], outer: _Environment) -> list[Any]:
    """The results of a block that sees the variables of `outer`."""
    env = dict(outer)
    env.update(zip(block.params, arguments, strict=True))
    for statement in block.statements:
        results: Sequence[Any]
        match statement:
            case Apply(op=op, args=args, attrs=attrs):
                results = (apply_op(op, [_value(a, env) for a in args], attrs),)
            case If(condition=condition, then=then, orelse=orelse):
                results = run_block(then if _value(condition, env) else orelse, (), env)
            case For():
                results = _run_for(statement, env)
            case While(inits=inits, condition=test, body=body):
                results = [_value(a, env) for a in inits]
                while run_block(test, results, env)[0]:
                    results = run_block(body, results, env)
            case Fused(args=args, body=body):
                results = run_block(body, [_value(a, env) for a in args], {})
            case Invoke(args=args, routine=routine):
                results = evaluate(routine.function, [_value(a, env) for a in args])
            case Raise(condition=condition, body=body, error=error):
                if _value(condition, env):
                    raise error.made(run_block(body, (), env))
                results = ()
            case _:
                assert_never(statement)
        for target, result in zip(statement.targets, results, strict=True):
            env[target] = as_aval(result, target)
    return [_value(a, env) for a in block.results]


def _run_for(loop: For, env: _Environment) -> list[Any]:
    r = loop.range
    indices = range(*(int(_value(a, env)) for a in (r.start, r.stop, r.step)))
    carried = [_value(a, env) for a in loop.inits]
    for i in reversed(indices) if r.reverse else indices:
        carried = run_block(loop.body, [i, *carried], env)
    return carried


def _value(a: Atom, env: _Environment) -> Any:
    return a.value if isinstance(a, Const) else env[a]


def as_aval(value: Any, target: Var) -> Any:
    """Check a value against its type, so that a wrong type rule is found where it is wrong."""
    aval = target.aval
    if aval.weak:
        assert type(value) in (bool, *_PYTHON_NUMBERS), f"{target!r} is weak, its value is {type(value).__name__}"
        return value
    if aval == TAPE_AVAL:
        assert type(value) is tuple, f"{target!r} is a tape, its value is {type(value).__name__}"
        return value
    if type(value) in (bool, *_PYTHON_NUMBERS):
        value = aval.dtype.type(value)
    assert np.shape(value) == aval.shape, f"{target!r} has a value of shape {np.shape(value)}"
    assert value.dtype == aval.dtype, f"{target!r} has a value of dtype {value.dtype}"
    return value
