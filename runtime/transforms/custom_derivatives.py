"""The namespace `untraced.custom_derivatives`: derivatives given by users, under JAX's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..trees.tree import map as tree_map
from .custom import CustomVJPPrimal, SymbolicZero, custom_jvp, custom_vjp
from .transforms import vjp

Fun = Callable[..., Any]


def custom_gradient(fun: Fun) -> Any:
    """Make a differentiable function of one that returns its value and its pullback: `value, pull = fun(*args)`.

    `pull(ct)` returns the cotangent of the argument, or a tuple of them, one for each argument.

    >>> @custom_gradient
    ... def clipped(x):
    ...     return x * x, lambda ct: np.clip(2.0 * x * ct, -1.0, 1.0)
    >>> grad(clipped)(3.0)
    np.float64(1.0)
    """

    def pair(*args: Any) -> Any:
        made = fun(*args)
        if not isinstance(made, tuple) or len(made) != 2:
            raise TypeError("a function under custom_gradient returns its value and a function of a cotangent")
        return made

    def value(*args: Any) -> Any:
        return pair(*args)[0]

    def forward(*args: Any) -> Any:
        return pair(*args)[0], args

    def backward(args: Any, ct: Any) -> Any:
        pulled = pair(*args)[1](ct)
        return pulled if isinstance(pulled, tuple) else (pulled,)

    made = custom_vjp(value)
    made.defvjp(forward, backward)
    return made


def closure_convert(fun: Fun, *example_args: Any) -> tuple[Fun, list[Any]]:
    """Turn what an inner function finds outside itself into arguments: (g, consts) with
    g(*args, *consts) == fun(*args).

    Under CPython, where derivatives need no such arguments, the result is (fun, []).
    """
    return fun, []


def linear_transpose(fun: Fun, *primals: Any) -> Fun:
    """The transpose of a linear function: a function of a cotangent of the result that returns a tuple with one
    cotangent for each argument.

    `primals` (numbers, arrays or ShapeDtypeStructs) give the shapes and dtypes of the arguments. Raises
    UnsupportedError, at once, where `fun` is not seen to be linear.
    """

    linear = custom_jvp(lambda *args: fun(*args))
    linear.defjvp(lambda points, tangents: (fun(*points), fun(*tangents)))
    pull: Fun = vjp(linear, *tree_map(_zero_like, primals))[1]
    return pull


def _zero_like(x: Any) -> Any:
    return np.zeros(x.shape, x.dtype) if hasattr(x, "shape") else 0 * x


def pure_callback(
    callback: Fun,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    vectorized: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function on the host, in CPython, from the middle of a function: `callback(*args, **kwargs)`.

    Its results have the shapes and dtypes of the tree `result_shape_dtypes` (ShapeDtypeStructs or arrays); ValueError
    where a result has another shape. `accelerate` reads the callback where it can, and else leaves the call to CPython.
    """
    return tree_map(_of_kind, result_shape_dtypes, callback(*args, **kwargs))


def io_callback(
    callback: Fun, result_shape_dtypes: Any, *args: Any, sharding: Any = None, ordered: bool = False, **kwargs: Any
) -> Any:
    """Like `pure_callback`, for a function with side effects: it is called once, in program order, and
    `result_shape_dtypes` may be None. Derivatives and batches refuse what CPython must do.
    """
    return tree_map(_of_kind, result_shape_dtypes, callback(*args, **kwargs))


def _of_kind(kind: Any, x: Any) -> Any:
    found, told = np.asarray(x, dtype=kind.dtype), tuple(kind.shape)
    if found.shape != told:
        raise ValueError(f"the function that was called back gave shape {found.shape}, not {told} as told")
    return found


custom_gradient.__dict__["__untraced_static__"] = True
closure_convert.__dict__["__untraced_converts__"] = True

def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The tree with the values of its CustomVJPPrimals in their places."""
    return tree_map(_value, tree, is_leaf=_is_primal)


def _value(x: Any) -> Any:
    return x.value if _is_primal(x) else x


def _is_primal(x: Any) -> bool:
    return isinstance(x, CustomVJPPrimal)


def zero_from_primal(x: Any, symbolic_zeros: bool = False) -> Any:
    """A zero tangent of an array or a number: an array, or a SymbolicZero."""
    return SymbolicZero(np.shape(x), np.result_type(x)) if symbolic_zeros else np.zeros_like(x)


__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_transpose",
    "pure_callback",
    "zero_from_primal",
]
