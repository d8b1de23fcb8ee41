"""Checking and converting the arguments of NumPy's functions: arrays, shapes, axes, dtypes, refused options."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import CutError, Diagnostic, DTypeError, ObjectsError, ShapeError, UnsupportedError
from ..float0 import FLOAT0
from ..ir import Atom, Const, Shape, Var
from ..ops.core import At, Run, promote

MISSING: Any = object()  # the default of options that are refused when given


class NeedStatic(UnsupportedError):
    """A run-time number where one is needed that is known now: `atoms` hold it, `what` names its place."""

    def __init__(self, atoms: Sequence[Atom], what: str) -> None:
        self.atoms = tuple(atoms)
        self.what = what
        super().__init__(
            Diagnostic(
                f"{what} must be known when the function is translated",
                why="shapes, axes and container indices are part of the program",
                instead="pass a Python int, or take it from a shape",
            )
        )


def is_atom(x: Any) -> bool:
    return isinstance(x, Var | Const)


def array(b: Builder, x: Any) -> Atom:
    """`x` as an operand: an atom, a number, or nested lists of those, joined as np.array joins them."""
    if isinstance(x, Var | Const):
        return x
    if isinstance(x, list | tuple | range):
        return _joined(b, x)
    if isinstance(x, bool | int | float | complex | np.generic | np.ndarray):
        return make.lift(x)
    refusal = Diagnostic(
        f"a {type(x).__name__} is not an array or a number",
        why="objects and strings have no form in compiled code",
        instead="use numbers or bool, or keep it outside the function",
    )
    converts = isinstance(x, str | bytes) or hasattr(type(x), "__array__")
    raise CutError(refusal) if converts else ObjectsError(refusal)


def _joined(b: Builder, items: Sequence[Any]) -> Atom:
    if not holds_atoms(items):
        return make.lift(np.array([plain(x) for x in items]))
    if any(type(x) is int and not -(2**63) <= x < 2**63 for x in items):
        raise CutError(Diagnostic("a Python int of over 64 bits in an array with numbers of the run"))
    rows = [array(b, x) for x in items]
    shapes = {r.aval.shape for r in rows}
    if len(shapes) > 1:
        raise ShapeError(f"an array of rows of different shapes: {sorted(shapes)}")
    strong = [make.astype(b, r, r.aval.dtype) for r in rows]  # inside np.array a Python float is a float64
    return make.concatenate(b, [make.expand_dims(b, r, 0) for r in strong], 0)


def holds_atoms(x: Any) -> bool:
    return any(map(holds_atoms, x)) if isinstance(x, list | tuple) else isinstance(x, Var)


def plain(x: Any) -> Any:
    if isinstance(x, list | tuple | range):
        return [plain(item) for item in x]
    return x.value if isinstance(x, Const) else x


def arrays(b: Builder, xs: Any) -> list[Atom]:
    """The arrays of a sequence; the rows of an array."""
    if isinstance(xs, list | tuple):
        return [array(b, x) for x in xs]
    x = array(b, xs)
    if not x.aval.ndim:
        raise DTypeError("a sequence of arrays is needed, not a number")
    return rows(b, x)


def rows(b: Builder, x: Atom) -> list[Atom]:
    rest = [Run(0, n) for n in x.aval.shape[1:]]
    return [make.index(b, x, (At(i), *rest)) for i in range(x.aval.shape[0])]


def static(x: Any, what: str) -> Any:
    """The plain value of `x`. Raises NeedStatic for run-time numbers."""
    if isinstance(x, Const):
        return x.value
    if isinstance(x, Var):
        raise NeedStatic([x], what)
    if type(x) is tuple or type(x) is list:
        return type(x)(static(item, what) for item in x)
    return x


def static_int(x: Any, what: str) -> int:
    value = static(x, what)
    if isinstance(value, float | bool | np.bool_):
        raise DTypeError(f"{what} must be an integer, not {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"{what} must be an integer, not {value!r}") from None


def static_shape(x: Any, what: str = "a shape") -> Shape:
    """A shape from an int, a tuple, a range or a known array of ints."""
    value = static(x, what)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, tuple | list | range):
        return tuple(static_int(n, what) for n in value)
    return (static_int(value, what),)


def static_axis(x: Any, what: str = "an axis") -> int | tuple[int, ...] | None:
    value = static(x, what)
    if value is None:
        return None
    if isinstance(value, tuple | list):
        return tuple(static_int(n, what) for n in value)
    return static_int(value, what)


def static_bool(x: Any, what: str) -> bool:
    return bool(static(x, what))


def static_dtype(x: Any) -> Any:
    """A dtype, or None for None. Python's int, float, bool and complex are dtypes."""
    if x is None:
        return None
    found = _any_dtype(static(x, "a dtype"))
    if found == FLOAT0:
        why = "its elements have no size: they stand for derivatives of integers"
        raise CutError(Diagnostic("an array of dtype float0 is made by np.zeros, np.empty or np.zeros_like", why=why))
    return found


def _any_dtype(value: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(value)
    except TypeError:
        raise DTypeError(f"{value!r} is not a dtype") from None
    return found


def wants_float0(dtype: Any) -> bool:
    """Whether the dtype that a constructor is given is float0."""
    return isinstance(dtype, np.dtype | list) and _any_dtype(dtype) == FLOAT0


def refuse(function: str, instead: str = "", **options: Any) -> None:
    """Raise CutError for the first option that was given: those left alone are MISSING or None."""
    for name, value in options.items():
        if value is not MISSING and value is not None:
            what = f"{function}: the argument `{name}` is not in the language"
            raise CutError(Diagnostic(what, instead=instead))


def refuse_out(function: str, out: Any) -> None:
    refuse(function, instead=f"x[...] = {function}(...)", out=out)


def common_dtype(atoms: Sequence[Atom]) -> Any:
    return promote([a.aval for a in atoms])
