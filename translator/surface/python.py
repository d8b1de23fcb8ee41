"""Handlers of Python's builtins, of the `math` module, and of questions about dtypes; attributes of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import CutError, Diagnostic, DTypeError, ShapeError, UnsupportedError
from ..ir import Atom, Aval, Const, Shape, Var
from ..ops.core import At, Dyn, Elementwise, promote
from ..ops.pythonic import MATH as MATH_ROWS
from .arguments import MISSING, array, arrays, is_atom, static, static_int
from .elementwise import round_ as numpy_round

Direct = Callable[..., Any]
_PYTHON_EXAMPLES = {"i": 0, "f": 0.0, "c": 0j}
_WRITTEN_OUT = 16  # elements of a vector that are compared one after the other


def scalar(b: Builder, x: Any, what: str) -> Atom:
    """A single number; DTypeError for an array."""
    atom = array(b, x)
    if atom.aval.shape:
        message = f"{what} of an array of shape {atom.aval.shape}"
        why = "only arrays without axes can be converted to Python numbers"
        raise DTypeError(Diagnostic(message, why=why, instead="take one element, x[0], or use NumPy's function"))
    return atom


def truth_of_many(shape: Shape, instead: str) -> ShapeError:
    """The error of a condition that is an array."""
    what = "the truth value of an array with more than one element is ambiguous"
    return ShapeError(Diagnostic(what, why=f"its shape is {shape}", instead=instead))


def _known(x: Any) -> bool:
    return not isinstance(x, Var | list | tuple)


# ---- numbers -------------------------------------------------------------------------------------


def float_(b: Builder, x: Any = 0.0) -> Any:
    if _known(x):
        return float(static(x, "float"))
    return make.number(b, _real(b, x, "float()"), np.float64)


def _real(b: Builder, x: Any, what: str) -> Atom:
    """A single number that is no complex one of Python's."""
    atom = scalar(b, x, what)
    if atom.aval.weak and atom.aval.dtype.kind == "c":
        raise DTypeError(f"{what} argument must be a real number, not 'complex'")
    return atom


def int_(b: Builder, x: Any = 0, *base: Any) -> Any:
    if _known(x):
        return int(static(x, "int"), *base)
    if base:
        raise DTypeError("int() can't convert non-string with explicit base")
    return make.number(b, _real(b, x, "int()"), np.int64)


def complex_(b: Builder, real: Any = 0, imag: Any = 0) -> Any:
    if isinstance(real, str):
        return complex(real)
    if _known(real) and _known(imag):
        return complex(static(real, "complex"), static(imag, "complex"))
    re, im = scalar(b, real, "complex()"), scalar(b, imag, "complex()")
    along, across = (make.elementwise(b, ops.REAL, x) if _is_complex(x) else x for x in (re, im))
    if _is_complex(im):
        along = make.subtract(b, along, make.elementwise(b, ops.IMAG, im))
    if _is_complex(re):
        across = make.add(b, across, make.elementwise(b, ops.IMAG, re))
    return make.number(b, make.elementwise(b, ops.OF_PARTS, along, across), np.complex128)


def _is_complex(x: Atom) -> bool:
    return x.aval.dtype.kind == "c"


def bool_(b: Builder, x: Any = False) -> Any:
    if not isinstance(x, Var):
        return bool(x.value if isinstance(x, Const) else x)
    atom = scalar(b, x, "bool()")
    return atom if atom.aval.dtype.kind == "b" else make.not_equal(b, atom, 0)


def item(b: Builder, x: Any, *index: Any) -> Any:
    """x.item(): the one element of an array as a Python number."""
    atom = array(b, x)
    if index:
        where = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        flat = int(np.ravel_multi_index(where, atom.aval.shape)) if len(where) > 1 else static_int(where[0], "an index")
        atom = make.index(b, make.reshape(b, atom, (-1,)), (At(flat),))
    if atom.aval.size != 1:
        raise ShapeError(
            Diagnostic(
                f"item() of an array of shape {atom.aval.shape}",
                why="only an array of size 1 can be converted to a Python number",
                instead="take one element: x[0] or x.item(0)",
            )
        )
    return as_item(b, make.reshape(b, atom, ()))


def as_item(b: Builder, x: Atom) -> Any:
    """A scalar as item() and tolist() give it: NumPy's longest floats stay NumPy's, as no Python number holds them."""
    return x if x.aval.dtype.char in "gG" else as_python(b, x)


def as_python(b: Builder, x: Atom) -> Any:
    """A scalar as the Python number of its kind; a bool stays NumPy's."""
    if x.aval.dtype.kind == "b":
        return x
    kind = {"u": "i", "V": "f"}.get(x.aval.dtype.kind, x.aval.dtype.kind)
    number = make.number(b, x, {"i": np.int64, "f": np.float64, "c": np.complex128}[kind])
    return number.value if isinstance(number, Const) else number


def abs_(b: Builder, x: Any) -> Any:
    if isinstance(x, bool | int | float | complex):
        return abs(x)
    if isinstance(x, list | tuple):
        raise DTypeError(f"bad operand type for abs(): {type(x).__name__!r}")
    atom = array(b, x)
    result = make.elementwise(b, ops.ABSOLUTE, atom)
    return as_python(b, result) if atom.aval.weak else result


def round_(b: Builder, number: Any, ndigits: Any = None) -> Any:
    if isinstance(number, bool | int | float):
        return round(number, static(ndigits, "ndigits"))
    atom = array(b, number)
    if atom.aval.dtype.kind == "c":
        raise DTypeError("type complex doesn't define __round__ method")
    if atom.aval.dtype.kind == "b":
        raise CutError(Diagnostic("round() of a truth value", why="Python rounds its own, and none of NumPy's"))
    if atom.aval.weak and ndigits is not None and atom.aval.dtype.kind == "f":
        what = "round() of a Python float to decimals"
        raise CutError(Diagnostic(what, why="Python rounds the decimal text", instead="np.round"))
    is_int = atom.aval.weak and atom.aval.dtype.kind == "i"
    if is_int and static(0 if ndigits is None else ndigits, "ndigits") >= 0:
        return atom
    rounded = numpy_round(b, scalar(b, atom, "round()"), 0 if ndigits is None else ndigits)
    return make.number(b, rounded, np.int64) if ndigits is None or is_int else rounded


def pow_(b: Builder, base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is not None:
        if all(map(_known, (base, exp, mod))):
            return pow(static(base, "pow()"), static(exp, "pow()"), static(mod, "pow()"))
        raise CutError(Diagnostic("pow() with a modulus of run-time numbers", instead="write x**y % m"))
    if isinstance(base, int | float | complex) and isinstance(exp, int | float | complex):
        return base**exp
    return make.power(b, array(b, base), array(b, exp))


def _name(x: Any) -> str:
    """The name of Python's type."""
    return type(x.aval.dtype.type(0).item() if is_atom(x) else x).__name__


def divmod_(b: Builder, x: Any, y: Any) -> tuple[Any, Any]:
    if isinstance(x, int | float) and isinstance(y, int | float):
        return divmod(x, y)
    if not any(is_atom(v) and not v.aval.weak for v in (x, y)) and any(isinstance(v, list | tuple) for v in (x, y)):
        names = " and ".join(repr(_name(v)) for v in (x, y))
        raise DTypeError(f"unsupported operand type(s) for divmod(): {names}")
    p, q = array(b, x), array(b, y)
    return make.floor_divide(b, p, q), make.remainder(b, p, q)


# ---- containers ----------------------------------------------------------------------------------


def len_(b: Builder, x: Any) -> int:
    if not is_atom(x):
        return len(x)
    if not x.aval.shape:
        raise DTypeError("a number has no len()")
    size: int = x.aval.shape[0]
    return size


def chosen(second_first: Callable[[Builder, Any, Any], Atom], builtin: Callable[..., Any]) -> Direct:
    """Python's min and max of numbers: the second where `second_first(second, first)`, else the first."""

    def handler(b: Builder, *args: Any, default: Any = MISSING, key: Any = None) -> Any:
        if key is not None:
            raise UnsupportedError(f"{builtin.__name__}() with a key is not in the language")
        items = list(args) if len(args) > 1 else args[0]
        if isinstance(items, dict):
            items = list(items)
        if isinstance(items, list | tuple) and not any(map(is_atom, items)):
            return builtin(items) if default is MISSING else builtin(items, default=default)
        if _is_long(items):
            return _extreme(b, items, builtin)
        atoms = arrays(b, items)
        wide = next((a.aval.shape for a in atoms if a.aval.size > 1), None)
        if wide is not None and len(atoms) > 1:
            raise truth_of_many(wide, f"np.{builtin.__name__}imum(a, b), or np.{builtin.__name__}(x)")
        if not atoms:
            return builtin(()) if default is MISSING else builtin((), default=default)
        atoms = [scalar(b, a, f"{builtin.__name__}()") for a in atoms]
        if all(a.aval.weak for a in atoms) and len(atoms) > 1 and any(a.aval.dtype.kind == "c" for a in atoms):
            raise DTypeError(f"{builtin.__name__}() of complex numbers, which have no order")
        best, mixed = atoms[0], len({a.aval for a in atoms}) > 1
        for atom in atoms[1:]:
            weak = best.aval.weak and atom.aval.weak
            if not (_fits(best, atom) and _fits(atom, best)):
                what = f"{builtin.__name__}() of a {best.aval.dtype} and {atom.aval.dtype} that is out of its range"
                raise CutError(Diagnostic(what, why="which of the two it is decides its type"))
            aval = _common(best.aval, atom.aval)
            picked = make.where(b, second_first(b, atom, best), _as(b, aval, atom), _as(b, aval, best))
            best = _as(b, aval, picked) if weak and mixed else array(b, as_python(b, picked)) if weak else picked
        return best

    return handler


def _is_long(x: Any) -> TypeGuard[Atom]:
    """Whether it is a vector of so many elements that they are not compared one after the other."""
    return is_atom(x) and x.aval.ndim == 1 and x.aval.size > _WRITTEN_OUT and x.aval.dtype.kind in "biuf"


def _extreme(b: Builder, x: Atom, builtin: Callable[..., Any]) -> Atom:
    """min(x) or max(x) of a vector: the first of the least numbers; NaN if that comes first, else no NaN."""
    if x.aval.dtype.kind != "f":
        return make.min(b, x) if builtin is min else make.max(b, x)
    never = make.lift(x.aval.dtype.type(np.inf if builtin is min else -np.inf))
    numbers = make.where(b, make.elementwise(b, ops.ISNAN, x), never, x)
    place = (make.argmin if builtin is min else make.argmax)(b, numbers, 0)
    first = make.index(b, x, (At(0),))
    return make.where(b, make.elementwise(b, ops.ISNAN, first), first, make.index(b, x, (At(Dyn(0)),), (place,)))


def _common(x: Aval, y: Aval) -> Aval:
    """The type of what is one of two numbers."""
    if x.weak and y.weak:
        return max(x, y, key=lambda a: "bifc".index(a.dtype.kind))
    return Aval((), promote([x, y]))


def _as(b: Builder, aval: Aval, x: Atom) -> Atom:
    return x if x.aval == aval or x.aval.shape else make.widened(b, x, aval)


def _fits(number: Atom, other: Atom) -> bool:
    """Whether the dtype of `other` can hold what is known to be a Python int."""
    kinds = number.aval.dtype.kind + other.aval.dtype.kind
    if not isinstance(number, Const) or not number.aval.weak or kinds not in ("ii", "iu"):
        return True
    info = np.iinfo(other.aval.dtype)
    return int(info.min) <= int(number.value) <= int(info.max)


min_ = chosen(make.less, min)
max_ = chosen(make.greater, max)


def sum_(b: Builder, iterable: Any, start: Any = 0) -> Any:
    """Python's sum: from left to right over a container, along the first axis of an array."""
    if not is_atom(iterable):
        total = start
        for x in iterable:
            total = _plus(b, total, x)
        return total
    x = array(b, iterable)
    if not x.aval.ndim:
        raise DTypeError("sum() of a number")
    if not x.aval.shape[0]:
        return start
    dtype = x.aval.dtype if x.aval.dtype.kind != "b" else np.dtype(np.int64)
    total = make.astype(b, make.sum(b, x, 0), dtype)
    return total if isinstance(start, int) and start == 0 else _plus(b, start, total)


def _plus(b: Builder, x: Any, y: Any) -> Any:
    if not is_atom(x) and not is_atom(y):
        return x + y
    q = array(b, y)
    if isinstance(x, int) and x == 0 and q.aval.dtype.kind in "iu":
        return q  # 0 + q has the type of q; of a float it is 0.0 where q is -0.0
    return make.add(b, array(b, x), q)


def truth(combine: Callable[[Builder, Any, Any], Atom], builtin: Callable[..., Any]) -> Direct:
    """Python's any and all."""

    def handler(b: Builder, iterable: Any) -> Any:
        if isinstance(iterable, dict):
            iterable = list(iterable)
        if isinstance(iterable, list | tuple) and not any(map(is_atom, iterable)):
            return builtin(iterable)
        if _is_long(iterable):
            return (make.any if builtin is any else make.all_)(b, make.not_equal(b, iterable, 0))
        atoms = arrays(b, iterable)
        wide = next((a.aval.shape for a in atoms if a.aval.size > 1), None)
        if wide is not None:
            raise truth_of_many(wide, f"np.{builtin.__name__}(x)")
        if not atoms:
            return builtin(())
        atoms = [scalar(b, a, f"{builtin.__name__}()") for a in atoms]
        result = bool_(b, atoms[0])
        for atom in atoms[1:]:
            result = combine(b, result, atom)
        return result

    return handler


any_ = truth(make.logical_or, any)
all_ = truth(make.logical_and, all)


# ---- the math module -----------------------------------------------------------------------------


def math_function(op: Elementwise, function: Callable[..., Any], result: Any = np.float64) -> Direct:
    """A function of `math`: of known numbers at once; else in double precision, as a Python number."""

    def handler(b: Builder, *args: Any) -> Any:
        if all(_known(a) for a in args):
            return function(*(static(a, function.__name__) for a in args))
        name = f"math.{function.__name__}"
        atoms = [scalar(b, a, name) for a in args]
        if len(atoms) != op.arity:
            raise TypeError(f"{name} takes {op.arity} run-time numbers, {len(atoms)} were given")
        for a in atoms:
            if a.aval.dtype.kind == "c":
                raise DTypeError(f"{name} takes real numbers, not {a.aval.dtype}")
        if op.plain is not None:
            return make.elementwise(b, op, *atoms)
        found = make.elementwise(b, op, *(make.astype(b, a, np.float64) for a in atoms))
        return found if result is bool else make.number(b, found, result)

    return handler


def math_log(b: Builder, x: Any, base: Any = None) -> Any:
    if _known(x) and _known(base):
        return math.log(static(x, "x")) if base is None else math.log(static(x, "x"), static(base, "base"))
    log = math_function(MATH_ROWS["log"], math.log)
    return log(b, x) if base is None else make.divide(b, log(b, x), log(b, base))


def math_hypot(b: Builder, *coordinates: Any) -> Any:
    """math.hypot of any number of coordinates."""
    if all(map(_known, coordinates)):
        return math.hypot(*(static(x, "a coordinate") for x in coordinates))
    hypot = math_function(MATH_ROWS["hypot"], math.hypot)
    return functools.reduce(functools.partial(hypot, b), coordinates if len(coordinates) > 1 else (0.0, *coordinates))


MATH: dict[Callable[..., Any], Direct] = {
    **{getattr(math, name): math_function(op, getattr(math, name)) for name, op in MATH_ROWS.items()},
    **{
        getattr(math, name): math_function(op, getattr(math, name), result)
        for name, op, result in (
            ("floor", ops.FLOOR, np.int64),
            ("ceil", ops.CEIL, np.int64),
            ("trunc", ops.TRUNC, np.int64),
            ("isnan", ops.ISNAN, bool),
            ("isinf", ops.ISINF, bool),
            ("isfinite", ops.ISFINITE, bool),
        )
    },
    math.hypot: math_hypot,
}
MATH[math.log] = math_log


# ---- dtypes --------------------------------------------------------------------------------------


def _example(b: Builder, x: Any) -> Any:
    """What np.result_type takes for an argument."""
    if not is_atom(x):
        return x
    return _PYTHON_EXAMPLES[x.aval.dtype.kind] if x.aval.weak else x.aval.dtype


def result_type(b: Builder, *args: Any) -> Any:
    return np.result_type(*(_example(b, a) for a in args))


def can_cast(b: Builder, from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_example(b, from_), to, casting)


def isscalar(b: Builder, element: Any) -> bool:
    return not element.aval.shape if is_atom(element) else bool(np.isscalar(element))


def of_kind(kinds: str, function: Callable[[Any], bool]) -> Direct:
    """np.iscomplexobj and np.isrealobj, which answer for None and strings, too."""

    def handler(b: Builder, x: Any) -> bool:
        return function(x) if x is None or isinstance(x, str) else array(b, x).aval.dtype.kind in kinds

    return handler


def is_weak(b: Builder, x: Any) -> bool:
    """Whether the program has it for a Python number."""
    return x.aval.weak if isinstance(x, Var | Const) else type(x) in (int, float, complex)


def is_known(b: Builder, x: Any) -> bool:
    """Whether no run-time value is in it."""
    return all(map(functools.partial(is_known, b), x)) if isinstance(x, list | tuple) else not isinstance(x, Var)


def at_once(function: Callable[..., Any]) -> Direct:
    """A function of known values, called while the program is read."""

    def handler(b: Builder, *args: Any, **kwargs: Any) -> Any:
        known = [static(a, f"an argument of {function.__name__}") for a in args]
        return function(*known, **{k: static(v, k) for k, v in kwargs.items()})

    return handler


# ---- attributes ----------------------------------------------------------------------------------


def shape(b: Builder, x: Any) -> tuple[int, ...]:
    return array(b, x).aval.shape


def ndim(b: Builder, x: Any) -> int:
    return array(b, x).aval.ndim


def size(b: Builder, x: Any) -> int:
    return array(b, x).aval.size


def dtype(b: Builder, x: Any) -> Any:
    return array(b, x).aval.dtype


def itemsize(b: Builder, x: Any) -> int:
    return int(array(b, x).aval.dtype.itemsize)


def nbytes(b: Builder, x: Any) -> int:
    aval = array(b, x).aval
    return aval.size * int(aval.dtype.itemsize)


def refused_method(name: str, why: str, instead: str) -> Direct:
    """A method that arrays have and the language has not."""

    def handler(b: Builder, *args: Any, **kwargs: Any) -> Any:
        raise CutError(Diagnostic(f"x.{name}() is left to NumPy", why=why, instead=instead))

    return handler
