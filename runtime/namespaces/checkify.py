"""The namespace `untraced.experimental.checkify`: checks that a program makes as it runs, as values or as exceptions.

    def f(x, i):
        checkify.check(i >= 0, "i must not be negative, got {i}", i=i)
        return np.log(x[i])

    error, y = checkify.checkify(f, errors=checkify.all_checks)(x, -1)
    error.throw()

A `check` that fails is an exception, in accelerated functions as in plain ones, and a function may be differentiated
and batched with it. `checkify` is a `try` around a call, which is CPython's: it may be accelerated; what it gives
cannot be differentiated or batched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.transfer import device_get, device_put
from ..trees.tree_util import tree_leaves
from . import errors as of_jax

ErrorCategory = str
user_checks, nan_checks = frozenset({"user"}), frozenset({"nan"})
index_checks, div_checks = frozenset({"index"}), frozenset({"division"})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class JaxRuntimeError(of_jax.JaxRuntimeError, ValueError):
    """A check that failed: a ValueError in JAX."""


class Error:
    """What a checked call has found: `get()` is the message, None where all went well."""

    def __init__(self, message: str | None) -> None:
        self._message = message

    def get(self) -> str | None:
        """The message of the first check that failed; None where none did."""
        return self._message

    def throw(self) -> None:
        """Raises JaxRuntimeError with that message, if there is one."""
        check_error(self)

    def __repr__(self) -> str:
        return f"Error({self._message or ''})"


def check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Raises JaxRuntimeError of `msg.format(...)` unless `pred` holds, all of it where it is an array."""
    if not np.all(pred):
        raise JaxRuntimeError(msg.format(*fmt_args, **fmt_kwargs) + " (`check` failed)")


debug_check = check
init_error = Error(None)


def check_error(error: Error) -> None:
    """Raises what a checked call has found as a JaxRuntimeError."""
    if error.get() is not None:
        raise JaxRuntimeError(error.get())


def checkify(fun: Callable[..., Any], errors: frozenset[str] = user_checks) -> Callable[..., Any]:
    """A function that returns (Error, result of `fun`): what `errors` names is found by the Error instead of being
    raised, and the result is None then.

    user_checks    checks that fail
    nan_checks     NaN made of numbers
    div_checks     divisions by zero
    index_checks   indices out of bounds; without them they are IndexErrors
    """

    @functools.wraps(fun)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        raised = {"user": JaxRuntimeError, "index": IndexError, "division": ZeroDivisionError}
        caught = (FloatingPointError, *(raised[kind] for kind in errors if kind in raised))
        stops: dict[str, Any] = {
            mode: "raise" for kind, mode in (("nan", "invalid"), ("division", "divide")) if kind in errors
        }
        try:
            with np.errstate(**stops):
                result = fun(*device_get(args), **device_get(kwargs))
        except caught as error:
            return Error(str(error)), None
        leaves = tree_leaves((args, kwargs))
        return Error(None), device_put(result) if Array in map(type, leaves) else result

    return checked


__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check", "check_error", "checkify",
    "debug_check", "div_checks", "float_checks", "index_checks", "init_error", "nan_checks", "user_checks",
]  # fmt: skip
