"""Handlers of NumPy's elementwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import CutError, Diagnostic, DTypeError
from ..fits import check_holds
from ..ir import Atom, DType
from ..library.checks import check_cast
from ..ops.core import Elementwise
from .arguments import MISSING, array, refuse_out, static, static_dtype, static_int

Direct = Callable[..., Any]


def elementwise(op: Elementwise) -> Direct:
    """The handler of a ufunc: NumPy's call, without `out`. Where `where` is False the result is zero."""

    def handler(b: Builder, *args: Any, where: Any = True, dtype: Any = None, **rest: Any) -> Atom:
        _ignore_casting(op.numpy, rest)
        if len(args) != op.arity:
            raise TypeError(f"{op.numpy} takes {op.arity} arguments, {len(args)} were given")
        atoms = [array(b, a) for a in args]
        target = static_dtype(dtype)
        if target is None:
            _check_inputs(op, atoms, rest.get("casting", "same_kind"))
        else:
            atoms = _in_loop_of(b, op, atoms, target, rest.get("casting", "same_kind"))
        if op.operator and all(a.aval.weak for a in atoms):
            # An operator on Python numbers gives a Python number, the function a NumPy one.
            atoms[0] = make.astype(b, atoms[0], atoms[0].aval.dtype)
        if where is True:
            return make.elementwise(b, op, *atoms)
        mask = make.astype(b, array(b, where), np.bool_)
        safe = _SAFE.get(op.name)
        if safe is not None:
            atoms = [make.where(b, mask, a, safe[1]) if i in safe[0] else a for i, a in enumerate(atoms)]
        result = make.elementwise(b, op, *atoms)
        return make.where(b, mask, result, result.aval.dtype.type(0))

    return handler


# Where a mask says that nothing is computed, these arguments are replaced by a value that is as harmless to the
# derivative as to the result.
_SAFE: dict[str, tuple[tuple[int, ...], Any]] = {
    **dict.fromkeys(("divide", "floor_divide", "remainder", "fmod"), ((1,), 1)),
    **dict.fromkeys(("sqrt", "cbrt", "reciprocal", "log", "log2", "log10", "log1p", "power"), ((0,), 1)),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh", "float_power", "hypot", "arctan2"), ((0,), 1)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), ((0,), 0)),
    "arccosh": ((0,), 2),
}


def _in_loop_of(b: Builder, op: Elementwise, atoms: list[Atom], dtype: Any, casting: Any) -> list[Atom]:
    """The arguments cast to the loop that gives `dtype`. Raises DTypeError where NumPy finds none."""
    if not isinstance(op.evaluate, np.ufunc):
        return [make.astype(b, a, dtype) for a in atoms]
    given = tuple(_PYTHON_TYPES[a.aval.dtype.kind] if a.aval.weak else a.aval.dtype for a in atoms)
    try:
        found = op.evaluate.resolve_dtypes((*given, None), signature=(*[None] * op.arity, dtype), casting=casting)
    except TypeError as error:
        raise DTypeError(str(error)) from None
    return [make.astype(b, a, d) for a, d in zip(atoms, found[:-1], strict=True)]


_PYTHON_TYPES = {"i": int, "f": float, "c": complex}


def _check_inputs(op: Elementwise, atoms: list[Atom], casting: Any) -> None:
    """Raises DTypeError, as NumPy does, for inputs that the rule does not let into the loop that is taken."""
    rule = static(casting, "the casting")
    if rule in ("same_kind", "unsafe"):  # a loop is one that the inputs get into safely
        return
    wanted, _ = op.loop_dtypes([a.aval for a in atoms])
    for i, (atom, dtype) in enumerate(zip(atoms, wanted, strict=True)):
        if not atom.aval.weak and not np.can_cast(atom.aval.dtype, dtype, rule):
            name, have = op.numpy.removeprefix("np."), atom.aval.dtype
            raise DTypeError(
                f"Cannot cast ufunc {name!r} input {i} from {have!r} to {dtype!r} with casting rule {rule!r}"
            )


def _ignore_casting(name: str, options: dict[str, Any]) -> None:
    for option in options:
        if option not in ("casting", "order", "subok", "out"):
            raise TypeError(f"{name} got an unexpected keyword argument {option!r}")


def where(b: Builder, condition: Any, x: Any = MISSING, y: Any = MISSING) -> Atom:
    if x is MISSING or y is MISSING:
        raise CutError(
            Diagnostic(
                "np.where with one argument is left to NumPy",
                why="the number of indices is known only at run time",
                instead="np.where(condition, x, y)",
            )
        )
    chosen, other = array(b, x), array(b, y)
    result = make.where(b, array(b, condition), chosen, other)
    check_holds(result.aval.dtype, chosen)
    check_holds(result.aval.dtype, other)
    return result


def clip(
    b: Builder,
    a: Any,
    a_min: Any = MISSING,
    a_max: Any = MISSING,
    out: Any = None,
    *,
    min: Any = MISSING,
    max: Any = MISSING,
) -> Atom:
    """np.clip with None for a bound that is not there."""
    refuse_out("np.clip", out)
    if a_min is MISSING and a_max is MISSING:
        a_min, a_max = min, max
    elif a_min is MISSING or a_max is MISSING:
        raise TypeError(f"clip() missing 1 required positional argument: '{'a_min' if a_min is MISSING else 'a_max'}'")
    elif min is not MISSING or max is not MISSING:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    low, high = a_min, a_max
    x = array(b, a)
    x = make.astype(b, x, x.aval.dtype)  # a Python number becomes an array
    if x.aval.dtype.kind in "iu":
        info = np.iinfo(x.aval.dtype)
        low = None if type(low) is int and low <= info.min else low
        high = None if type(high) is int and high >= info.max else high
    bounds = [None if bound is MISSING or bound is None else array(b, bound) for bound in (low, high)]
    match bounds:
        case [None, None]:
            return x
        case [None, upper]:
            return make.minimum(b, x, upper)
        case [lower, None]:
            return make.maximum(b, x, lower)
        case [lower, upper]:
            return make.elementwise(b, ops.CLIP, x, lower, upper)
    raise AssertionError("two bounds")


def clip_method(b: Builder, a: Any, min: Any = None, max: Any = None, out: Any = None) -> Atom:
    return clip(b, a, min, max, out)


def round_(b: Builder, a: Any, decimals: Any = 0, out: Any = None, *, _into: DType | None = None) -> Atom:
    """NumPy's rounding: scale, round half to even, scale back; each step in the dtype of the array written into. Of
    complex numbers the parts are rounded, before they are written.
    """
    refuse_out("np.round", out)
    x, places = array(b, a), static_int(decimals, "the number of decimals")
    kind = x.aval.dtype.kind
    if kind == "b" and places:
        raise DTypeError("np.round of bool to decimals: NumPy scales them, and cannot cast that to bool")
    if kind in "iu" and places >= 0:
        return make.astype(b, x, x.aval.dtype)
    if places == 0:
        return make.elementwise(b, ops.RINT, x)
    if kind in "iu":
        return make.astype(b, _scaled(b, make.astype(b, x, np.float64), places, np.dtype(np.float64)), x.aval.dtype)
    if kind == "c":
        parts = [make.elementwise(b, part, x) for part in (ops.REAL, ops.IMAG)]
        return make.elementwise(b, ops.OF_PARTS, *(_scaled(b, part, places, part.aval.dtype) for part in parts))
    into = x.aval.dtype if _into is None or not np.can_cast(x.aval.dtype, _into, "same_kind") else _into
    return _scaled(b, x, places, into)


def _scaled(b: Builder, x: Atom, places: int, into: DType) -> Atom:
    scale = 10.0 ** abs(places)
    there, back = (make.multiply, make.divide) if places > 0 else (make.divide, make.multiply)

    def rounded(y: Atom) -> Atom:  # bfloat16 times 10.0 is float32
        return y if y.aval.dtype == into else make.astype(b, y, into)

    return rounded(back(b, make.elementwise(b, ops.RINT, rounded(there(b, x, scale))), scale))


def fix(b: Builder, x: Any, out: Any = None) -> Atom:
    refuse_out("np.fix", out)
    return make.elementwise(b, ops.TRUNC, array(b, x))


def real(b: Builder, val: Any) -> Any:
    if type(val) is bool:  # of Python, whose real part is an int
        return int(val)
    x = array(b, val)
    if x.aval.dtype.kind != "c":
        return x
    part = make.elementwise(b, ops.REAL, x)
    return make.number(b, part, np.float64) if x.aval.weak else part


def imag(b: Builder, val: Any) -> Any:
    if type(val) is bool:
        return 0
    x = array(b, val)
    if x.aval.weak:
        part = make.elementwise(b, ops.IMAG, x)
        return make.number(b, part, part.aval.dtype)
    if x.aval.dtype.kind != "c":
        return make.zeros(b, x.aval.shape, x.aval.dtype)
    return make.elementwise(b, ops.IMAG, x)


def conjugate(b: Builder, x: Any) -> Atom:
    atom = array(b, x)
    if atom.aval.dtype.kind in "iufV":  # bfloat16 calls itself void
        return make.astype(b, atom, atom.aval.dtype)  # of a Python number NumPy's
    return make.elementwise(b, ops.CONJUGATE, atom)


def conjugate_method(b: Builder, x: Any) -> Atom:
    """x.conj(): the array itself where it is not complex, a bool one too."""
    atom = array(b, x)
    return conjugate(b, atom) if atom.aval.dtype.kind == "c" else atom


def stop_gradient(b: Builder, x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x)(stop_gradient(b, item) for item in x)
    if isinstance(x, dict):
        return {k: stop_gradient(b, item) for k, item in x.items()}
    return make.elementwise(b, ops.STOP_GRADIENT, array(b, x))


def i0(b: Builder, x: Any) -> Atom:
    """np.i0, which takes what is no float for a float64."""
    given = array(b, x)
    return make.elementwise(b, ops.I0, given if given.aval.dtype.kind in "fc" else make.astype(b, given, np.float64))


def astype(
    b: Builder, a: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
) -> Atom:
    if isinstance(a, list | tuple):
        raise TypeError(f"Input should be a NumPy array or scalar. It is a {type(a)} instead.")
    given, target = array(b, a), static_dtype(dtype)
    rule = static(casting, "the casting")
    if rule == "same_value":
        raise CutError(
            Diagnostic(
                "astype with casting='same_value' is left to NumPy",
                why="whether it may be done depends on each element",
                instead="leave the casting out, and compare the result with what it was made of",
            )
        )
    if target is not None and rule != "unsafe":
        check_cast("array data" if given.aval.shape else "scalar", given.aval.dtype, target, rule, False)
    return make.astype(b, given, target)


def divmod_(b: Builder, x: Any, y: Any) -> tuple[Atom, Atom]:
    """np.divmod: of Python numbers, NumPy's."""
    p, q = array(b, x), array(b, y)
    if p.aval.weak and q.aval.weak:
        p, q = (make.astype(b, a, a.aval.dtype) for a in (p, q))
    return make.floor_divide(b, p, q), make.remainder(b, p, q)


def modf(b: Builder, x: Any) -> tuple[Atom, Atom]:
    atom = array(b, x)
    atom = make.astype(b, atom, np.modf.resolve_dtypes((atom.aval.dtype, None, None))[0])
    whole = make.elementwise(b, ops.TRUNC, atom)
    infinite = make.elementwise(b, ops.ISINF, atom)
    part = make.where(b, infinite, 0.0, make.subtract(b, atom, whole))
    return make.elementwise(b, ops.COPYSIGN, part, atom), whole
