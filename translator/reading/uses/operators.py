"""Operators: arithmetic, comparisons, membership and boolean logic of values."""

from __future__ import annotations

import ast
import collections
import enum
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ... import make, ops
from ...errors import CutError, DTypeError
from ...ir import Atom, Aval, Const, Var
from ...ops.core import Elementwise, promote
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import as_key, static
from ..core.growing import Pile, repeated
from ..core.layout import note_elementwise
from ..core.values import (
    DictView,
    Foreign,
    Masked,
    Ref,
    RunRange,
    Undefined,
    Value,
    describe,
    has_runtime,
    is_number,
    is_runtime,
    is_weak,
    leaves_in,
)
from ..facts import identity
from ..facts.booleans import is_bool, is_python_bool, marked, may_be_python_bool, python_bool
from ..facts.maybes import Remembered, connected, negated, some
from ..parts import agreeing, selection
from ..parts.known import run_known
from ..parts.piled import added
from . import protocols, selected
from .conditions import branch_values, truth
from .powers import is_int_power

_BINARY: dict[type[ast.operator], tuple[Callable[[Any, Any], Any], Elementwise | None]] = {
    ast.Add: (operator.add, ops.ADD),
    ast.Sub: (operator.sub, ops.SUBTRACT),
    ast.Mult: (operator.mul, ops.MULTIPLY),
    ast.Div: (operator.truediv, ops.DIVIDE),
    ast.FloorDiv: (operator.floordiv, ops.FLOOR_DIVIDE),
    ast.Mod: (operator.mod, ops.REMAINDER),
    ast.Pow: (operator.pow, ops.POWER),
    ast.LShift: (operator.lshift, ops.LEFT_SHIFT),
    ast.RShift: (operator.rshift, ops.RIGHT_SHIFT),
    ast.BitAnd: (operator.and_, ops.BITWISE_AND),
    ast.BitOr: (operator.or_, ops.BITWISE_OR),
    ast.BitXor: (operator.xor, ops.BITWISE_XOR),
    ast.MatMult: (operator.matmul, None),
}
_UNARY: dict[type[ast.unaryop], tuple[Callable[[Any], Any], Elementwise]] = {
    ast.USub: (operator.neg, ops.NEGATIVE),
    ast.UAdd: (operator.pos, ops.POSITIVE),
    ast.Invert: (operator.invert, ops.INVERT),
}
_COMPARE: dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], Elementwise]] = {
    ast.Eq: (operator.eq, ops.EQUAL),
    ast.NotEq: (operator.ne, ops.NOT_EQUAL),
    ast.Lt: (operator.lt, ops.LESS),
    ast.LtE: (operator.le, ops.LESS_EQUAL),
    ast.Gt: (operator.gt, ops.GREATER),
    ast.GtE: (operator.ge, ops.GREATER_EQUAL),
}
_DUNDERS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip


def binary(ctx: Context, kind: type[ast.operator], left: Value, right: Value, node: ast.AST) -> Value:
    """`left op right`: run by Python where both are known, a statement otherwise."""
    python, op = _BINARY[kind]
    left, right = some(ctx, left), some(ctx, right)
    if DictView in (type(left), type(right)):
        left, right = _as_set(ctx, left, node), _as_set(ctx, right, node)
    if kind is ast.Mod and isinstance(left, str | bytes):
        protocols.check_text(ctx, right, node)
        return run_known(ctx, node, python, left, static(ctx, right, node, "a formatted value"))
    if isinstance(left, Masked) or isinstance(right, Masked):
        if kind is ast.MatMult:
            found = selected.product(ctx, "matmul", left, right, node)
            if found is not NotImplemented:
                return found
            what = "a product of x[mask]"
            x, y = (selection.concrete(ctx, v, node, what) if isinstance(v, Masked) else v for v in (left, right))
            return binary(ctx, kind, x, y, node)
        what = "x[mask] with an array of another size"
        return agreeing.elementwise(ctx, lambda x, y: binary(ctx, kind, x, y, node), [left, right], node, what)
    if type(left) is Pile and kind is ast.Add:
        return added(ctx, left, right, node)
    left_runs, right_runs = is_runtime(left), is_runtime(right)
    if not left_runs and not right_runs:
        return _known_binary(ctx, kind, python, left, _beside_complex(ctx, left, right), node)
    if kind is ast.Mult and isinstance(right if left_runs else left, list | tuple | str):
        scalar, items = (left, right) if left_runs else (right, left)
        if type(scalar) is Var and (tape := repeated(ctx, node, items, scalar)) is not None:
            return tape
        if type(scalar) is Var and (scalar.aval.weak or scalar.aval.dtype.kind in "iu"):
            return items * static(ctx, scalar, node, "the number of repetitions")
        if is_bool(scalar) and not is_python_bool(ctx, scalar):
            raise TypeError("can't multiply sequence by non-int of type 'numpy.bool'")
        if ctx.boxes and type(scalar) is Var and scalar.aval.dtype.kind in "fc":  # else it may be an array without axes
            raise TypeError(f"can't multiply sequence by non-int of type {scalar.aval.dtype.name!r}")
    _check_sequences(kind, left, right)
    method = _user_operator(ctx, kind, left, right, node)
    if method is not NotImplemented:
        return method
    right = _beside_complex(ctx, left, right)
    if is_bool(left) or is_bool(right) or type(left) is bool or type(right) is bool:
        left, right = _numbers_of_bools(ctx, kind, left, right)
    ctx.at(node)
    x, y = _operand(ctx, left, right), _operand(ctx, right, left)
    ctx.at(node)
    if op is None:
        return ctx.wrap(make.matmul(ctx.b, x, y))
    if kind is ast.Pow and x.aval.dtype.kind == "b" and type(left) is Ref and type(right) is int and right == 2:
        return _elementwise(ctx, ops.SQUARE, [x], left)  # gives int8; other powers of bools give int64
    of_ints = all(a.aval.weak and a.aval.dtype.kind == "i" for a in (x, y))
    if of_ints:
        _cut_wide(ctx, left, right, node)
    of_ints = of_ints and kind is ast.Pow
    if of_ints and not is_int_power(ctx, left, right, node):
        x = make.number(ctx.b, x, np.float64)
    return _elementwise(ctx, op, [x, y], left, right)


def _elementwise(ctx: Context, op: Elementwise, atoms: list[Atom], *operands: Value) -> Value:
    """The operation on `atoms`, which are the lowered `operands`."""
    value = ctx.wrap(make.elementwise(ctx.b, op, *atoms))
    if not ctx.frame.fixed:
        note_elementwise(value, *operands)
    return value


def _check_sequences(kind: type[ast.operator], left: Value, right: Value) -> None:
    """Raises TypeError where Python has no operator: NumPy takes sequences for arrays only beside its own values."""
    if any(isinstance(v, list | tuple) for v in (left, right)) and any(map(is_weak, (left, right))):
        name = _BINARY[kind][0].__name__
        raise DTypeError(f"unsupported operand type(s) for {name}: {describe(left)} and {describe(right)}")


def _operand(ctx: Context, v: Value, other: Value) -> Atom:
    """An operand; a number of undecided dtype only where the other operand decides the dtype of the result."""
    if type(other) is Var and other.aval.weak and isinstance(v, int | float | complex):
        return ctx.atom(_python_number(v))
    if type(v) is not Undefined or v.number is None or not (type(other) is Var or type(other) is Ref):
        return ctx.atom(v)
    decided = {promote([Aval((), d), other.aval]) for d in v.dtypes} == {other.aval.dtype}
    return make.astype(ctx.b, v.number, other.aval.dtype) if decided else ctx.atom(v)


def _python_number(v: Value) -> Value:
    """A member of an IntEnum or its like as the Python number that it is; NumPy would take it for an array."""
    kinds = (k for k in (int, float, complex) if isinstance(v, k) and not isinstance(v, bool | np.generic))
    kind: Any = next(kinds, None)
    return v if kind is None else kind.__pos__(v)


def _beside_complex(ctx: Context, left: Value, right: Value) -> Value:
    """The right operand of a Python complex: of an np.float64, which is a float, Python takes the float."""
    if ctx.frame.fixed or not ctx.boxes:  # the library's numbers may be arrays of shape ()
        return right
    if type(left) is not complex and not (is_weak(left) and left.aval.dtype.kind == "c"):
        return right
    if type(right) is np.float64:
        return float(right)
    strong = type(right) is Var and right.aval == Aval((), np.dtype(np.float64))
    return make.number(ctx.b, right, np.float64) if strong else right


def _cut_wide(ctx: Context, left: Value, right: Value, node: ast.AST) -> None:
    """Cut the function where a Python int may exceed the 64 bits that compiled programs have."""
    if any(type(v) is int and not -(2**63) <= v < 2**63 for v in (left, right)):
        ctx.cut(node, "a Python int of over 64 bits beside one that is known at run time only")


def as_number(ctx: Context, v: Value) -> Value:
    """A Python bool as the int that Python computes with."""
    if type(v) is bool:
        return int(v)
    return make.number(ctx.b, v, np.int64) if is_bool(v) and is_python_bool(ctx, v) else v


def operand_of_one(ctx: Context, v: Value) -> Value:
    """The operand of `-`, `+`, `~` or abs, which compute with a Python bool as an int."""
    if may_be_python_bool(ctx, v):
        _ask_kinds(ctx, ast.unaryop, [v])
    return as_number(ctx, v)


def operands_of_two(ctx: Context, left: Value, right: Value) -> tuple[Value, Value]:
    """The operands of divmod, which computes with Python's bools among Python's numbers as ints."""
    return _numbers_of_bools(ctx, ast.Mod, left, right)


def _numbers_of_bools(ctx: Context, kind: type[ast.operator], left: Value, right: Value) -> tuple[Value, Value]:
    """Python's bools among Python's numbers are 0 and 1; beside NumPy's values they promote as NumPy's do."""
    mine = [type(v) in (int, float, complex) or is_python_bool(ctx, v) or is_weak(v) for v in (left, right)]
    if all(is_mine or may_be_python_bool(ctx, v) for is_mine, v in zip(mine, (left, right), strict=True)):
        _ask_kinds(ctx, kind, [v for is_mine, v in zip(mine, (left, right), strict=True) if not is_mine])
    both = all(type(v) is bool or is_bool(v) for v in (left, right))
    if not all(mine) or (both and kind in (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return left, right
    return as_number(ctx, left), as_number(ctx, right)


def _ask_kinds(ctx: Context, kind: type[ast.AST], bools: Sequence[Value]) -> None:
    """Before arithmetic of bools that the data may have made Python's: with those it is arithmetic of 0 and 1. `&`, `|`
    and `^` have the same values either way.
    """
    if not ctx.frame.fixed and kind not in (ast.BitAnd, ast.BitOr, ast.BitXor):
        for v in bools:
            make.ask_kind(ctx.b, v)


def _known_binary(
    ctx: Context, kind: type[ast.operator], python: Callable[[Any, Any], Any], left: Value, right: Value, node: ast.AST
) -> Value:
    if isinstance(left, np.generic) or isinstance(right, np.generic):
        op = _BINARY[kind][1]
        if op is not None and all(isinstance(v, int | float | complex | np.generic) for v in (left, right)):
            ctx.at(node)
            return ctx.wrap(make.elementwise(ctx.b, op, left, right))
    method = _user_operator(ctx, kind, left, right, node)
    if method is not NotImplemented:
        return method
    return run_known(ctx, node, python, left, right)


_PLAIN = frozenset({int, float, complex, bool, str, tuple, list, Var, Ref})


def in_place_name(kind: type[ast.operator]) -> str:
    """The special method of `x op= y`."""
    return f"__i{_DUNDERS[kind]}__"


def _user_operator(ctx: Context, kind: type[ast.operator], left: Value, right: Value, node: ast.AST) -> Value:
    """An operator that a user's class defines, read like a call."""
    if type(left) in _PLAIN and type(right) in _PLAIN:
        return NotImplemented
    word = _DUNDERS[kind]
    for owner, other, prefix in ((left, right, "__"), (right, left, "__r")):
        obj = owner.value if isinstance(owner, Foreign) else owner
        function = ctx.captures.part(type(obj), f"{prefix}{word}__")
        if function is not None and hasattr(function, "__code__"):
            return ctx.call(function, [owner, other], {}, node)
    return NotImplemented


def unary(ctx: Context, kind: ast.unaryop, operand: Value, node: ast.AST) -> Value:
    if isinstance(kind, ast.Not):
        known = truth(ctx, operand, node)
        if isinstance(known, bool):
            return not known
        ctx.at(node)
        opposite = marked(ctx, ctx.wrap(make.logical_not(ctx.b, known)))
        return negated(ctx, known, opposite)
    python, op = _UNARY[type(kind)]
    operand = some(ctx, operand)
    if protocols.is_instance(operand):
        result = protocols.special(ctx, operand, f"__{python.__name__}__", [], node)
        if result is not NotImplemented:
            return result
    if isinstance(operand, Masked):
        return agreeing.elementwise(ctx, lambda x: _unary(ctx, op, x, node), [operand], node, "")
    if is_runtime(operand) or isinstance(operand, np.generic):
        return _unary(ctx, op, operand, node)
    return run_known(ctx, node, python, operand)


def _unary(ctx: Context, op: Elementwise, operand: Value, node: ast.AST) -> Value:
    x = ctx.atom(operand_of_one(ctx, operand))
    ctx.at(node)
    return _elementwise(ctx, op, [x], operand)


def _as_set(ctx: Context, v: Value, node: ast.AST) -> Value:
    """The keys of a dict as a set, for operators; values and items of a dict are left to CPython."""
    if type(v) is not DictView:
        return v
    if v.kind != "keys":
        ctx.cut(node, f"arithmetic or a comparison with d.{v.kind}()", instead="make a list of it first, list(...)")
    return set(v.owner)


# ---- comparisons and logic -----------------------------------------------------------------------


def compare_pair(ctx: Context, kind: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
    match kind:
        case ast.Is() | ast.IsNot():
            return identity.compared(ctx, left, right, isinstance(kind, ast.Is), node)
        case ast.In() | ast.NotIn():
            found = contains(ctx, right, left, node)
            if isinstance(found, bool):
                return found is isinstance(kind, ast.In)
            return marked(ctx, ctx.wrap(found if isinstance(kind, ast.In) else make.logical_not(ctx.b, found)))
    python, op = _COMPARE[type(kind)]
    left, right = some(ctx, left), some(ctx, right)
    if DictView in (type(left), type(right)):
        left, right = _as_set(ctx, left, node), _as_set(ctx, right, node)
    if protocols.is_instance(left) or protocols.is_instance(right):
        result = protocols.compared(ctx, kind, left, right, node)
        if result is not NotImplemented:
            return result
    if isinstance(left, Masked) or isinstance(right, Masked):
        what = "a comparison of x[mask] with an array of another size"
        return agreeing.elementwise(
            ctx, lambda x, y: compare_pair(ctx, kind, x, y, node), [left, right], node, what
        )
    if is_runtime(left) or is_runtime(right):
        if any(v is None or isinstance(v, str | type) for v in (left, right)):
            return _compare_unlike(ctx, kind, left, right, node)
        if any(isinstance(v, list | tuple) for v in (left, right)) and any(map(is_weak, (left, right))):
            return _compare_unlike(ctx, kind, left, right, node)
        ctx.at(node)
        x, y = ctx.atom(left), ctx.atom(_beside_complex(ctx, left, right))
        if x.aval.weak and y.aval.weak and x.aval.dtype.kind == y.aval.dtype.kind == "i":
            _cut_wide(ctx, left, right, node)
        pythons = all(a.aval.weak or is_python_bool(ctx, v) for a, v in ((x, left), (y, right)))
        if pythons and "c" in x.aval.dtype.kind + y.aval.dtype.kind and op.operator[0] in "<>":
            raise TypeError(f"{op.operator!r} not supported between {describe(left)} and {describe(right)}")
        ctx.at(node)
        return _elementwise(ctx, op, [x, y], left, right)
    if isinstance(left, slice) and isinstance(right, slice):
        left, right = ((v.start, v.stop, v.step) for v in (left, right))
    if RunRange in (type(left), type(right)) and all(isinstance(v, range | RunRange) for v in (left, right)):
        ctx.cut(node, "a comparison of ranges whose bounds are known at run time only", instead="compare the bounds")
    if protocols.has_undecided(left) or protocols.has_undecided(right):
        return _compare_containers(ctx, kind, left, right, node)
    return run_known(ctx, node, python, left, right)


def _compare_unlike(
    ctx: Context, kind: ast.cmpop, left: Value, right: Value, node: ast.AST
) -> bool | np.bool_:
    """Compare a run-time value with None, a string, a class, or a value in a Python list."""
    if Ref in (type(left), type(right)):
        instead = "use `is None`" if left is None or right is None else "compare with numbers or arrays"
        ctx.cut(node, f"a comparison of {describe(left)} with {describe(right)}", instead=instead)
    if not isinstance(kind, ast.Eq | ast.NotEq):
        raise TypeError(f"{describe(left)} and {describe(right)} have no order")
    differs = isinstance(kind, ast.NotEq)
    is_of_numpy = any(type(v) is Var and not v.aval.weak and not is_python_bool(ctx, v) for v in (left, right))
    return np.bool_(differs) if is_of_numpy and any(isinstance(v, str) for v in (left, right)) else differs


def _compare_containers(ctx: Context, kind: ast.cmpop, left: Any, right: Any, node: ast.AST) -> Value:
    """Compare containers that hold run-time numbers: items in order, or what two dicts have under the same keys."""
    equality = isinstance(kind, ast.Eq | ast.NotEq)
    if all(isinstance(v, dict) for v in (left, right)) and equality:
        ordered = all(isinstance(v, collections.OrderedDict) for v in (left, right))
        if list(left) != list(right) if ordered else left.keys() != right.keys():
            return isinstance(kind, ast.NotEq)
        return _same_items(ctx, kind, list(left.values()), [right[k] for k in left], node)
    if not any(all(isinstance(v, base) for v in (left, right)) for base in (tuple, list)):
        return _compare_unlike(ctx, kind, left, right, node)
    if equality:
        return _same_items(ctx, kind, left, right, node)
    if any(protocols.is_instance(x) and not isinstance(x, enum.Enum) for x in (*leaves_in(left), *leaves_in(right))):
        ctx.cut(node, "the order of containers that hold objects", instead="compare what they are ordered by")
    if not ctx.transforms:  # CPython answers with the bool of the items that decide, its own or NumPy's
        left, right = (static(ctx, v, node, "a compared container") for v in (left, right))
        return run_known(ctx, node, _COMPARE[type(kind)][0], left, right)
    return _order(ctx, kind, list(left), list(right), node)


def _order(ctx: Context, kind: ast.cmpop, left: list[Value], right: list[Value], node: ast.AST) -> Value:
    """The order of items, some of them run-time numbers: the first two that differ decide."""
    if not left or not right:
        return run_known(ctx, node, _COMPARE[type(kind)][0], len(left), len(right))
    x, y = left[0], right[0]

    def of_rest() -> Value:
        return _order(ctx, kind, left[1:], right[1:], node)

    def of_these() -> Value:
        return python_truth(ctx, compare_pair(ctx, kind, x, y, node), node)

    if identity.identical(ctx, x, y):
        return of_rest()
    if len(left) == len(right) == 1:
        return of_these()
    equal = truth(ctx, compare_pair(ctx, ast.Eq(), x, y, node), node)
    if isinstance(equal, bool):
        return of_rest() if equal else of_these()
    ctx.at(node)
    return branch_values(ctx, equal, of_rest, of_these, node)


def _same_items(ctx: Context, kind: ast.cmpop, left: Any, right: Any, node: ast.AST) -> Value:
    """Equality of items that are run-time numbers: one by one, up to the first difference, as Python's bool."""
    equal: Value = len(left) == len(right)
    if equal:
        for x, y in zip(left, right, strict=True):
            if identity.identical(ctx, x, y):
                continue
            equal = logic(ctx, equal, functools.partial(_same_item, ctx, x, y, node), True, node)
    return equal if isinstance(kind, ast.Eq) else unary(ctx, ast.Not(), equal, node)


def _same_item(ctx: Context, x: Value, y: Value, node: ast.AST) -> Value:
    return python_truth(ctx, compare_pair(ctx, ast.Eq(), x, y, node), node)


def python_truth(ctx: Context, v: Value, node: ast.AST) -> Value:
    """bool(v), which is Python's own bool."""
    known = truth(ctx, v, node)
    return known if isinstance(known, bool) else python_bool(ctx, ctx.wrap(known))


def contains(ctx: Context, container: Value, item: Value, node: ast.AST) -> Any:
    """`item in container`: a bool, or an atom where it depends on run-time numbers."""
    container = container.elements if type(container) is DictView else container
    if protocols.is_instance(container):
        answer = protocols.membership(ctx, container, item, node)
        if answer is not NotImplemented:
            return truth(ctx, answer, node)
    if isinstance(container, set | frozenset | dict) and protocols.is_instance(item):
        as_key(ctx, item, node, "an element of a set")
    if isinstance(container, set | frozenset | dict) and type(item) is Ref:
        raise TypeError("unhashable type: 'numpy.ndarray'")
    hashed = isinstance(container, dict | str | range | set | frozenset | enum.Flag | enum.EnumType)
    if hashed and not has_runtime(item):
        return bool(run_known(ctx, node, operator.contains, container, item))
    if type(container) is Ref:
        ctx.cut(node, "`in` over an array", instead="use np.any(x == value)")
    if isinstance(container, range | RunRange) and (is_number(item) or type(item) is Var):
        return _in_range(ctx, container, ctx.atom(item), node)
    if isinstance(container, list | tuple | set | frozenset | range):
        if not (is_runtime(item) or protocols.has_undecided(item) or protocols.has_undecided(container)):
            return bool(run_known(ctx, node, operator.contains, container, item))
        if isinstance(container, set | frozenset):  # tuples and numbers have other hashes
            container = [v for v in container if isinstance(v, tuple) is isinstance(item, tuple)]
            if type(item) is Var and item.aval.dtype.kind in "fc":  # as their hashes: by exact values
                item = make.astype(ctx.b, item, np.result_type(item.aval.dtype, float))
        if all(_is_small_number(v) for v in (item, *container)):
            return any(v is item for v in container) or _among(ctx, item, container)
        found: Any = False
        for other in container:
            equal = functools.partial(_is_or_equals, ctx, item, other, node)
            found = logic(ctx, found, equal, False, node)
        return truth(ctx, found, node)
    static(ctx, item, node, "the key")
    raise ctx.error(CutError, node, f"`in` over {describe(container)} is not in the language")


def _is_or_equals(ctx: Context, item: Value, other: Value, node: ast.AST) -> Value:
    return identity.identical(ctx, item, other) or compare_pair(ctx, ast.Eq(), item, other, node)


def _is_small_number(v: Value) -> bool:
    """A number that compares without a branch, and exactly as a float, too."""
    return type(v) is Var or type(v) is float or (type(v) is int and abs(v) <= 2**53)


def _among(ctx: Context, item: Value, others: Iterable[Value]) -> Atom:
    """Whether a number is one of these. All are compared, which has no side effects; known ones while reading.

    Numbers of NumPy's narrower dtypes are compared one by one: `np.float32(0.1) in [0.1]`.
    """
    x, candidates = ctx.atom(item), [ctx.atom(v) for v in others]
    known = [c.value for c in candidates if isinstance(c, Const)]
    if known and x.aval.weak:
        candidates = [make.lift(np.array(known)), *(c for c in candidates if isinstance(c, Var))]
    found: Atom = make.lift(False)
    for other in candidates:
        found = make.logical_or(ctx.b, found, make.any(ctx.b, make.equal(ctx.b, x, other)))
    return found


def _in_range(ctx: Context, container: range | RunRange, item: Atom, node: ast.AST) -> Atom:
    """`item in range(...)` of run-time numbers, as Python's bool."""
    step = static(ctx, container.step, node, "the step of a range")
    b = ctx.b
    start, stop = (as_python(b, ctx.atom(v)) for v in (container.start, container.stop))
    if item.aval.dtype.kind in "iu" and item.aval.dtype != np.uint64:
        item = ctx.atom(as_python(b, item))
    low, high = (start, stop) if step > 0 else (stop, start)
    less, before = (make.less_equal, make.less) if step > 0 else (make.less, make.less_equal)
    found = make.logical_and(b, less(b, low, item), before(b, item, high))
    if abs(step) != 1 or item.aval.dtype.kind not in "iu":
        met = make.equal(b, make.remainder(b, make.subtract(b, item, start), abs(step)), 0)
        found = make.logical_and(b, found, met)
    return ctx.atom(marked(ctx, found))


def logic(ctx: Context, left: Value, rest: Callable[[], Value], conjunction: bool, node: ast.AST) -> Value:
    """`left and rest()` or `left or rest()`: Python's short circuit, as a statement where `left` is not known."""
    known = truth(ctx, left, node)
    if isinstance(known, bool):
        return rest() if known is conjunction else left
    ctx.at(node)
    right = Remembered(rest)
    then, orelse = (right, lambda: left) if conjunction else (lambda: left, right)
    return connected(ctx, known, right, branch_values(ctx, known, then, orelse, node), conjunction)
