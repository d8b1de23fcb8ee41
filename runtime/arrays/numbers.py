"""Python's numbers where JAX has arrays: `lax` gives them to bodies and branches that CPython runs, and returns them.

    lax.fori_loop(0, 3, lambda i, x: x + i.astype(x.dtype), x)      i is an int, and has an array's attributes
    lax.while_loop(lambda i: ~(i > 3), ...)                         i > 3 is NumPy's bool, of which ~ is the other one

They stay ints, floats and complex numbers, weak beside arrays as Python's own are; arithmetic with numbers gives such
numbers again. Every attribute that a Python number lacks is that of the NumPy scalar of the same value.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.tree import tree_map


class _Number:
    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        from .hosted import lifted

        return getattr(lifted(np.result_type(python(self)).type(self)), name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(python, inputs), **options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        return function(*python_tree(args), **python_tree(options))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(python(self)), (python(self),)


class Int(_Number, int):
    """An int with an array's attributes."""

    __slots__ = ()
    __untraced_python__ = int


class Float(_Number, float):
    """A float with an array's attributes."""

    __slots__ = ()
    __untraced_python__ = float


class Complex(_Number, complex):
    """A complex number with an array's attributes."""

    __slots__ = ()
    __untraced_python__ = complex


_OF: dict[type[Any], Callable[[Any], Any]] = {int: Int, float: Float, complex: Complex}
NUMBERS: dict[type[Any], type[Any]] = {cls: cls.__untraced_python__ for cls in (Int, Float, Complex)}


def python(x: Any) -> Any:
    """Python's own number for one of these; all else as it is."""
    kind = NUMBERS.get(type(x))
    return x if kind is None else kind(x)


def number(x: Any) -> Any:
    """One of these for Python's own number; all else as it is."""
    kind = _OF.get(type(x))
    return x if kind is None else kind(x)


def python_tree(x: Any) -> Any:
    """The tree with Python's own numbers."""
    return tree_map(python, x)


def number_tree(x: Any) -> Any:
    """The tree with these for Python's own numbers."""
    return number(x) if type(x) in _OF else tree_map(number, x)


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `lax`, as CPython calls it, that gives these numbers to the functions that it is given, and to its
    caller.
    """

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return number_tree(function(*map(_given, args), **{name: _given(x) for name, x in options.items()}))

    return call


def _given(x: Any) -> Any:
    if isinstance(x, list | tuple) and x and all(map(callable, x)):
        return [_given(f) for f in x]
    if not callable(x) or hasattr(x, "__untraced_numpy__"):
        return x

    @functools.wraps(x, updated=())
    def call(*args: Any) -> Any:
        return python_tree(x(*map(number_tree, args)))

    return call


def _forward(kind: type[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        other = python(other)
        return _result(function, kind(self), other) if type(other) in _ORDINARY else NotImplemented

    return operate


def _reflected(kind: type[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        other = python(other)
        return _result(function, other, kind(self)) if type(other) in _ORDINARY else NotImplemented

    return operate


def _result(function: Callable[..., Any], *operands: Any) -> Any:
    made = function(*operands)
    if type(made) is bool:
        return np.bool_(made)
    return tuple(map(number, made)) if type(made) is tuple else number(made)


def _of_one(kind: type[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: number(function(kind(self)))


def _hash(self: Any) -> int:
    return hash(python(self))


_ORDINARY = frozenset({bool, int, float, complex})
_BINARY: dict[str, tuple[Callable[..., Any], tuple[type[Any], ...]]] = {
    **{name: (getattr(operator, name), (Int, Float, Complex)) for name in ("add", "sub", "mul", "truediv", "pow")},
    **{name: (getattr(operator, name), (Int, Float)) for name in ("floordiv", "mod")},
    **{name: (getattr(operator, name), (Int,)) for name in ("xor", "lshift", "rshift")},
    "divmod": (divmod, (Int, Float)), "and": (operator.and_, (Int,)), "or": (operator.or_, (Int,)),
}  # fmt: skip

for _name, (_function, _classes) in _BINARY.items():
    for _class in _classes:
        setattr(_class, f"__{_name}__", _forward(NUMBERS[_class], _function))
        setattr(_class, f"__r{_name}__", _reflected(NUMBERS[_class], _function))
for _class in (Int, Float, Complex):
    for _name in ("neg", "pos", "abs", *(("invert",) if _class is Int else ())):
        setattr(_class, f"__{_name}__", _of_one(NUMBERS[_class], getattr(operator, _name)))
    for _name in ("eq", "ne", *(() if _class is Complex else ("lt", "le", "gt", "ge"))):
        setattr(_class, f"__{_name}__", _forward(NUMBERS[_class], getattr(operator, _name)))
    setattr(_class, "__hash__", _hash)  # noqa: B010  # which `__eq__` has taken away
